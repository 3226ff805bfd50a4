/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Dumps of a port: a folder with all that is known of it at one moment, as text for people and as JSON for programs, of the same
 * content. What the driver believes and what the card says of one thing stand beside each other, and where they differ, that is
 * said. Reading costs the datapath nothing: contexts are asked of the card, rings are looked at from beside.
 */
#ifndef MLX4_DUMP_DUMP_H
#define MLX4_DUMP_DUMP_H

#include "drivers/mlx4/port/port.h"
#include "out.h"

#define MLX4_DUMP_FOLDERS 128u /* that stay in the folder of dumps ... */
#define MLX4_DUMP_FIRST 8u     /* ... of which the oldest are never replaced */

/*
 * Writes an incident's folder dmn-<device>-<type>-<source>-<reason>--<time> below base, which is made when it is not there. It
 * appears whole or not at all. With the control lock. path: where it is. 0, or a negative errno and one line.
 */
int mlx4_dump(struct mlx4_eth *eth, const char *base, const char *source, const char *reason,
	      char path[RTE_PMD_MLX4_DUMP_PATH], char err[TP_ERR_LEN]);

/* --- folder.c --- */
struct mlx4_dump_folder {
	char base[RTE_PMD_MLX4_PATH];
	char name[RTE_PMD_MLX4_DUMP_PATH - RTE_PMD_MLX4_PATH - 1];
	char working[32]; /* its name while it is written; dumps of a process are written one by one */
	int base_fd, fd;
};
int mlx4_dump_folder_begin(struct mlx4_dump_folder *f, const char *base, const char *device, const char *source,
			   const char *reason, const char *time, char err[TP_ERR_LEN]);
/* A file to write in it; NULL and one line. */
FILE *mlx4_dump_folder_file(struct mlx4_dump_folder *f, const char *name, char err[TP_ERR_LEN]);
/* ok: it gets its name, and the oldest that may go make room. Else nothing of it stays. rc is handed on. */
int mlx4_dump_folder_end(struct mlx4_dump_folder *f, int rc, char err[TP_ERR_LEN]);

/* --- rules.c: rules of rte_flow, groups. 0, -ENOMEM. --- */
int mlx4_dump_rules(const struct mlx4_eth *eth, struct mlx4_dump_out *o);

/* --- queues.c --- */
void mlx4_dump_queues(struct mlx4_eth *eth, struct mlx4_dump_out *o);
void mlx4_dump_eqs(struct mlx4_hca *hca, struct mlx4_dump_out *o);

#endif /* MLX4_DUMP_DUMP_H */
