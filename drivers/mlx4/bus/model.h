/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The in-process card as a bus, shared by its own files. */
#ifndef MLX4_BUS_MODEL_H
#define MLX4_BUS_MODEL_H

#include "bus.h"
#include "irq_fds.h"
#include "model_conf.h"

#define MODEL_MEM_NAME_LEN 64

struct model_bus {
	struct mlx4_bus bus;
	struct tp_model *model;
	struct mlx4_model_conf conf;
	char name[MODEL_ARG_LEN];
	char mem_name[MODEL_MEM_NAME_LEN]; /* of the memory event callback */
	bool mem_events;
	struct irq_fds irq;
	struct model_calls *calls[TP_MODEL_PORTS];
	uint32_t service;
	bool has_service;
	/* what is said of broken rules */
	uint32_t lines;
	uint64_t lines_since, unsaid;
};

/* model_mem.c: opens the memory of the EAL to the card, and follows its changes. */
int mlx4_model_mem_start(struct model_bus *b);
void mlx4_model_mem_stop(struct model_bus *b);

/* model_poll.c: a card that is run by who polls it; and what the bursts of a card's ports call. */
extern const struct mlx4_bus_polled mlx4_model_polled;
int mlx4_model_join(struct mlx4_bus *bus, struct rte_eth_dev *dev);
void mlx4_model_leave(struct mlx4_bus *bus, struct rte_eth_dev *dev);

#endif /* MLX4_BUS_MODEL_H */
