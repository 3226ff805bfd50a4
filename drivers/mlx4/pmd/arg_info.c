/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The device arguments, for those who want to show them, and what a card was made with. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_kvargs.h>

#include "devargs.h"
#include "drivers/mlx4/port/compat.h"
#include "rte_pmd_mlx4.h"

int
rte_pmd_mlx4_arg(unsigned int i, struct rte_pmd_mlx4_arg *arg)
{
	const bool model = i >= mlx4_num_eth_args;
	const struct mlx4_arg *a;

	if (i >= mlx4_num_eth_args + mlx4_num_model_args)
		return -ENOENT;
	a = model ? &mlx4_model_arg_table[i - mlx4_num_eth_args] : &mlx4_eth_arg_table[i];
	*arg = (struct rte_pmd_mlx4_arg){
		.name = a->key, .values = a->values, .unit = a->unit, .def = a->def, .help = a->help, .model = model};
	return 0;
}

/* The value of a key; of a list all of it. */
static const char *
whole(const struct rte_kvargs *kv, const char *name, const char *text, char list[MLX4_ARG_LIST])
{
	unsigned int i = 0;

	while (i < kv->count && strcmp(kv->pairs[i].key, name) != 0)
		i++;
	return i + 1 < kv->count && mlx4_arg_continues(kv, i + 1) && kv->pairs[i + 1].value == NULL &&
			       mlx4_arg_list(kv, i, list) == 0
		       ? list
		       : text;
}

int
rte_pmd_mlx4_arg_get(uint16_t port_id, const char *name, char *value, size_t len)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct rte_devargs *given;
	struct rte_pmd_mlx4_arg arg;
	struct rte_kvargs *kv = NULL;
	const char *text = NULL;
	char list[MLX4_ARG_LIST];
	unsigned int i = 0;
	int ret;

	if (eth == NULL)
		return -ENODEV;
	while ((ret = rte_pmd_mlx4_arg(i, &arg)) == 0 && strcmp(arg.name, name) != 0)
		i++;
	if (ret != 0)
		return ret;
	if (arg.model && eth->hca->bus->ops->model == NULL)
		return -ENOTSUP;
	given = eth->dev->device->devargs;
	if (given != NULL && given->args != NULL && given->args[0] != '\0')
		kv = rte_kvargs_parse(given->args, NULL);
	if (kv != NULL)
		text = rte_kvargs_get(kv, name);
	if (text != NULL)
		text = whole(kv, name, text, list);
	if (text == NULL)
		text = arg.def;
	if (text[0] == '\0')
		ret = -ENOTSUP;
	else if ((size_t)snprintf(value, len, "%s", text) >= len)
		ret = -ENOSPC;
	rte_kvargs_free(kv);
	return ret;
}
