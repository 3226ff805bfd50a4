/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The last firmware commands of a card, and what all of them cost, for those who want to know what happened. */
#ifndef MLX4_HCA_HISTORY_H
#define MLX4_HCA_HISTORY_H

#include <stdint.h>

#include <rte_spinlock.h>

#define MLX4_HISTORY 64u
#define MLX4_HISTORY_BOX 256u /* bytes of a mailbox that are kept */

struct mlx4_cmd_record {
	uint64_t number; /* of the card's commands, from 1 on */
	uint64_t at_us;  /* when it ended, since 1970 */
	uint64_t took_ns;
	uint64_t in_imm, out_imm;
	uint32_t in_modifier;
	int32_t rc; /* 0 or negative errno */
	uint16_t opcode;
	uint16_t in_len, out_len; /* bytes of the mailboxes that are here */
	uint8_t op_modifier, status;
	uint8_t in[MLX4_HISTORY_BOX], out[MLX4_HISTORY_BOX];
};

/* Of one opcode. */
struct mlx4_cmd_cost {
	uint16_t opcode;
	uint64_t count, failed, unanswered; /* failed: refused by the firmware */
	uint64_t total_ns, worst_ns;
};
#define MLX4_HISTORY_OPCODES 128u

struct mlx4_history {
	rte_spinlock_t lock;
	uint64_t number;
	struct mlx4_cmd_record record[MLX4_HISTORY];
	struct mlx4_cmd_cost cost[MLX4_HISTORY_OPCODES]; /* in the order of opcodes, those that were given */
	unsigned int num_costs;
};

/* NULL: no memory; then nothing is kept. */
struct mlx4_history *mlx4_history_create(void);
/* in, out: the mailboxes, of which as much is kept as there is room for. number and at_us are filled here. h may be NULL. */
void mlx4_history_add(struct mlx4_history *h, const struct mlx4_cmd_record *r, const void *in, const void *out);
/* Copies the last of them, the oldest first. */
unsigned int mlx4_history_get(struct mlx4_history *h, struct mlx4_cmd_record out[MLX4_HISTORY]);
/* Copies what opcodes cost, in their order; how many. */
unsigned int mlx4_history_costs(struct mlx4_history *h, struct mlx4_cmd_cost out[MLX4_HISTORY_OPCODES]);
/* They begin at zero again; the last commands stay. */
void mlx4_history_costs_reset(struct mlx4_history *h);
void mlx4_history_free(struct mlx4_history *h);

#endif /* MLX4_HCA_HISTORY_H */
