/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames inside frames, of which a ConnectX-3 Pro knows the checksums, the hash and the segments: the UDP port of VXLAN, which
 * the ports of a card share [CP 4.10], and each port's switch [CP 4.3].
 */
#include <errno.h>

#include <rte_vxlan.h>

#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "ethdev.h"
#include "rte_pmd_mlx4.h"
#include "drivers/mlx4/rx/choose.h"

#define RX_TUNNEL (RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM)
#define TX_TUNNEL                                                                                                      \
	(RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO)

uint64_t
mlx4_tunnel_rx_offloads(const struct mlx4_eth *eth)
{
	return eth->hca->caps.vxlan ? RX_TUNNEL : 0;
}

uint64_t
mlx4_tunnel_tx_offloads(const struct mlx4_eth *eth)
{
	uint64_t tso = RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO;

	if (!eth->hca->caps.vxlan)
		return 0;
	return eth->hca->caps.max_gso != 0 ? TX_TUNNEL : TX_TUNNEL & ~tso;
}

/* Tells bursts. The one that knows of tunnels is there before the card speaks of them. */
static void
tell_queues(struct mlx4_eth *eth)
{
	const struct rte_eth_dev_data *data = eth->dev->data;
	uint16_t i;

	for (i = 0; i < data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			mlx4_rxq_tunnels(eth->rxqs[i], eth->tunnels);
	for (i = 0; i < data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_txq_tunnels(eth->txqs[i], eth->tunnels);
	mlx4_rx_burst_update(eth);
}

/* udp_port 0: the port knows no tunnels any more. Under the lock of what the card's ports share. */
static int
apply(struct mlx4_eth *eth, uint16_t udp_port)
{
	struct mlx4_hca *hca = eth->hca;
	uint8_t self = (uint8_t)(1u << eth->port), others = hca->tunnel.users & (uint8_t)~self;
	bool before = eth->tunnels;
	int rc = 0;

	if (udp_port != 0 && others != 0 && udp_port != hca->tunnel.udp_port) {
		MLX4_LOG(ERR, "port %u: UDP port %u for VXLAN, but the card's ports share one, and the other has %u",
			 eth->dev->data->port_id, udp_port, hca->tunnel.udp_port);
		return -EBUSY;
	}
	if (udp_port != 0 && udp_port != hca->tunnel.udp_port)
		rc = mlx4_vxlan_udp_port(hca, udp_port);
	if (rc != 0)
		return rc;
	if (udp_port != 0)
		hca->tunnel.udp_port = udp_port;
	eth->tunnels = udp_port != 0;
	if (eth->tunnels)
		tell_queues(eth);
	rc = mlx4_port_tunnels(hca, eth->port, eth->tunnels);
	if (rc != 0)
		eth->tunnels = before;
	tell_queues(eth);
	hca->tunnel.users = others | (eth->tunnels ? self : 0);
	return rc;
}

/* The UDP port that the application asked for; else, with an offload of tunnels, the other port's or IANA's; else 0. */
static uint16_t
wanted(const struct mlx4_eth *eth)
{
	const struct rte_eth_dev_data *data = eth->dev->data;
	uint64_t rx = data->dev_conf.rxmode.offloads, tx = data->dev_conf.txmode.offloads;
	uint8_t others = eth->hca->tunnel.users & (uint8_t) ~(1u << eth->port);
	uint16_t i;

	if (eth->tunnel_port != 0)
		return eth->tunnel_port;
	for (i = 0; i < data->nb_rx_queues; i++)
		rx |= eth->rxqs[i] != NULL ? eth->rxqs[i]->offloads : 0;
	for (i = 0; i < data->nb_tx_queues; i++)
		tx |= eth->txqs[i] != NULL ? eth->txqs[i]->offloads : 0;
	if ((rx & RX_TUNNEL) == 0 && (tx & TX_TUNNEL) == 0)
		return 0;
	return others != 0 ? eth->hca->tunnel.udp_port : RTE_VXLAN_DEFAULT_PORT;
}

static int
apply_wanted(struct mlx4_eth *eth)
{
	uint16_t udp_port;
	int rc;

	pthread_mutex_lock(&eth->hca->shared);
	udp_port = eth->hca->caps.vxlan ? wanted(eth) : 0;
	rc = udp_port != 0 || eth->tunnels ? apply(eth, udp_port) : 0;
	pthread_mutex_unlock(&eth->hca->shared);
	return rc;
}

int
mlx4_tunnel_start(struct mlx4_eth *eth)
{
	/* Queues that were set up since. */
	tell_queues(eth);
	return apply_wanted(eth);
}

void
mlx4_tunnel_close(struct mlx4_eth *eth)
{
	struct mlx4_hca *hca = eth->hca;

	pthread_mutex_lock(&hca->shared);
	if (eth->tunnels && !hca->dead)
		(void)apply(eth, 0);
	/* Whatever the card said: the other port may have another UDP port now. */
	hca->tunnel.users &= (uint8_t) ~(1u << eth->port);
	pthread_mutex_unlock(&hca->shared);
}

static int
check(const struct mlx4_eth *eth, const struct rte_eth_udp_tunnel *t)
{
	if (!eth->hca->caps.vxlan) {
		MLX4_LOG(ERR, "port %u: this card knows no tunnels, a ConnectX-3 Pro does", eth->dev->data->port_id);
		return -ENOTSUP;
	}
	if (t->prot_type != RTE_ETH_TUNNEL_TYPE_VXLAN) {
		MLX4_LOG(ERR, "port %u: a UDP port for tunnels of type %u, wanted %d (VXLAN)", eth->dev->data->port_id,
			 t->prot_type, RTE_ETH_TUNNEL_TYPE_VXLAN);
		return -ENOTSUP;
	}
	if (t->udp_port == 0) {
		MLX4_LOG(ERR, "port %u: UDP port 0 for VXLAN, wanted 1..65535", eth->dev->data->port_id);
		return -EINVAL;
	}
	return 0;
}

int
mlx4_tunnel_port_add(struct rte_eth_dev *dev, struct rte_eth_udp_tunnel *t)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t before = eth->tunnel_port;
	int rc = check(eth, t);

	if (rc != 0)
		return rc;
	if (eth->tunnel_port != 0 && eth->tunnel_port != t->udp_port) {
		MLX4_LOG(ERR, "port %u: UDP port %u for VXLAN, but it has %u: delete that first", dev->data->port_id,
			 t->udp_port, eth->tunnel_port);
		return -EBUSY;
	}
	eth->tunnel_port = t->udp_port;
	rc = apply_wanted(eth);
	if (rc != 0)
		eth->tunnel_port = before;
	return rc;
}

int
mlx4_tunnel_port_del(struct rte_eth_dev *dev, struct rte_eth_udp_tunnel *t)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t before = eth->tunnel_port;
	int rc = check(eth, t);

	if (rc != 0)
		return rc;
	if (t->udp_port != eth->tunnel_port) {
		MLX4_LOG(ERR, "port %u: UDP port %u for VXLAN was not added, %u was", dev->data->port_id, t->udp_port,
			 eth->tunnel_port);
		return -ENOENT;
	}
	eth->tunnel_port = 0;
	rc = apply_wanted(eth);
	if (rc != 0)
		eth->tunnel_port = before;
	return rc;
}

int
rte_pmd_mlx4_vxlan_port_get(uint16_t port_id, uint16_t *udp_port)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	if (!eth->hca->caps.vxlan)
		return -ENOTSUP;
	*udp_port = eth->tunnel_port;
	return 0;
}
