/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The switches that models in this process are plugged into, for applications. */
#include <errno.h>
#include <stdio.h>

#include "rte_pmd_mlx4.h"
#include "tp_switch.h"

_Static_assert(RTE_PMD_MLX4_SWITCH_NAME == TP_SWITCH_NAME, "names have one size");

unsigned int
rte_pmd_mlx4_switch_list(char names[][RTE_PMD_MLX4_SWITCH_NAME], unsigned int max)
{
	return tp_switch_list(names, max);
}

int
rte_pmd_mlx4_switch_counters(const char *name, rte_pmd_mlx4_switch_fn fn, void *arg)
{
	struct tp_switch *sw = tp_switch_find(name);

	if (sw == NULL)
		return -ENOENT;
	tp_switch_each_counter(sw, fn, arg);
	tp_switch_put(sw);
	return 0;
}

int
rte_pmd_mlx4_switch_set(const char *name, unsigned int port, const char *word, char *err, size_t err_len)
{
	struct tp_switch *sw = tp_switch_find(name);
	char text[TP_SWITCH_TEXT] = "";
	int rc;

	if (sw == NULL) {
		snprintf(err, err_len, "there is no switch '%s'", name);
		return -ENOENT;
	}
	rc = tp_switch_word(sw, port, word, text);
	if (rc != 0)
		snprintf(err, err_len, "%s", text);
	tp_switch_put(sw);
	return rc;
}
