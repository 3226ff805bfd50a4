/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of receive queues of a port. */
#ifndef TRIPLANE_PORT_GROUP_H
#define TRIPLANE_PORT_GROUP_H

#include "apps/triplane/app/app.h"
#include "rte_pmd_mlx4_group.h"

/* The group of that name. 0, -ENOENT, -ENODEV. */
int group_find(uint16_t port, const char *name, struct tp_group *g);
/*
 * After a change of groups. A queue goes over to its new rings, and gives the old ones back, when it is polled and has
 * no frames left; while nobody polls it, this does, and takes no frame.
 */
void group_settle(struct app *app, uint16_t port);

#endif /* TRIPLANE_PORT_GROUP_H */
