/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Device arguments: one table entry per key, one line of error per mistake. */
#ifndef MLX4_PMD_DEVARGS_H
#define MLX4_PMD_DEVARGS_H

#include <stddef.h>
#include <stdint.h>

#include <rte_kvargs.h>

#include "drivers/mlx4/port/port.h"

struct mlx4_arg {
	const char *key;
	/* Reads a value into what arg points to; 0, or -EINVAL after one line that says what was wanted. */
	int (*parse)(const char *dev, const char *key, const char *value, void *arg);
	size_t off;                             /* of the field in the structure that is filled */
	const char *values, *unit, *def, *help; /* as in struct rte_pmd_mlx4_arg */
};

/* Fills obj from "key=value,..." by the tables; an unknown or repeated key is refused. */
struct mlx4_arg_table {
	const struct mlx4_arg *args;
	unsigned int num;
	void *obj;
};
int mlx4_devargs_parse(const char *dev, const char *text, const struct mlx4_arg_table *tables, unsigned int n);

/* A number in [min, max], decimal or with 0x; base 16 also without. */
int mlx4_arg_number(const char *dev, const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *out);
/* -EINVAL after the line that every mistake gets. */
int mlx4_arg_refuse(const char *dev, const char *key, const char *value, const char *wanted);

/*
 * A list of quirks has commas, which stand between arguments, too: pair i has no value and goes on with the list before it. list:
 * all that the list of pair i says; -ENOSPC.
 */
#define MLX4_ARG_LIST MLX4_QUIRK_TEXT
extern const char mlx4_quirk_values[];
bool mlx4_arg_continues(const struct rte_kvargs *kv, unsigned int i);
int mlx4_arg_list(const struct rte_kvargs *kv, unsigned int i, char list[MLX4_ARG_LIST]);

/* What both buses take, with the defaults. */
void mlx4_eth_args_default(struct mlx4_eth_args *a);
extern const struct mlx4_arg mlx4_eth_arg_table[];
extern const unsigned int mlx4_num_eth_args;
/* What a card in software takes beside them. */
extern const struct mlx4_arg mlx4_model_arg_table[];
extern const unsigned int mlx4_num_model_args;

#endif /* MLX4_PMD_DEVARGS_H */
