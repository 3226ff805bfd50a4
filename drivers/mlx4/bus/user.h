/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card behind a vfio-user socket as a bus, shared by its own files. */
#ifndef MLX4_BUS_USER_H
#define MLX4_BUS_USER_H

#include "irq_fds.h"
#include "open.h"
#include "user_sock.h"

#define USER_NAME_LEN 64

struct user_bus {
	struct mlx4_bus bus;
	struct user_sock sock;
	char name[USER_NAME_LEN];
	char path[MLX4_USER_PATH_LEN];
	char mem_name[USER_NAME_LEN]; /* of the memory event callback */
	bool mem_events;
	struct irq_fds irq;
};

/* user_mem.c: opens the memory of the EAL to the card, and follows its changes. */
int mlx4_user_mem_start(struct user_bus *b);
void mlx4_user_mem_stop(struct user_bus *b);

#endif /* MLX4_BUS_USER_H */
