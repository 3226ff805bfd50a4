/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand ports of a card: known to lib/roce by name, opened there. */
#ifndef MLX4_VERBS_IB_PORT_H
#define MLX4_VERBS_IB_PORT_H

#include "verbs.h"

/* It holds the card open, as an ethdev does. */
struct mlx4_ib_port {
	struct mlx4_hca *hca;
	unsigned int port;
	bool bf, check_fw;
	char name[IBV_SYSFS_NAME_MAX]; /* of the card, with the port's number */
	TAILQ_ENTRY(mlx4_ib_port) next;
};

/* --- ib_port.c --- */
int mlx4_ib_port_create(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args,
			const struct troce_provider *prov);
/*
 * Brings a card that was given up up again, when it has InfiniBand ports alone and none of them is open; one with Ethernet
 * ports is brought up by them (rte_eth_dev_reset()). 0, -EIO with a line.
 */
int mlx4_ib_port_revive(struct mlx4_ib_port *p);
/* Calls it with the port of that name, which does not go meanwhile. -ENODEV: there is none. */
int mlx4_ib_port_look(const char *name, void (*look)(struct mlx4_ib_port *p, void *arg), void *arg);
/* Takes a port of a device off the list; NULL: there is none left. */
struct mlx4_ib_port *mlx4_ib_port_take(const struct rte_device *dev);

/* --- ib.c --- */
int mlx4_ib_query_port(struct mlx4_roce *r, struct ibv_port_attr *a);
int mlx4_ib_query_gid(struct troce_dev *dev, uint32_t index, union ibv_gid *gid);
int mlx4_ib_query_pkey(struct troce_dev *dev, uint32_t index, uint16_t *pkey);
int mlx4_ib_port_caps(struct troce_dev *dev, uint32_t set, uint32_t clear);
int mlx4_ib_packet_send(struct troce_dev *dev, const struct tp_mad_packet *p);
int mlx4_ib_packet_process(struct troce_dev *dev, const struct tp_mad_packet *in, struct tp_mad_packet *out);
int mlx4_ib_qp0(struct troce_dev *dev, bool on);
int mlx4_ib_mads_start(struct mlx4_roce *r);
void mlx4_ib_mads_stop(struct mlx4_roce *r);

#endif /* MLX4_VERBS_IB_PORT_H */
