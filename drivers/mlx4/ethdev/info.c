/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port says about itself: limits, offloads, queues, firmware, registers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ethdev.h"
#include "drivers/mlx4/hca/fw_needs.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/lro.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/steer/rss.h"
#include "drivers/mlx4/tx/queue.h"

#define RX_OFFLOADS                                                                                                    \
	(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER |                \
	 RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT |                  \
	 RTE_ETH_RX_OFFLOAD_TCP_LRO)
/* May differ between the queues of a port. */
#define RX_QUEUE_OFFLOADS                                                                                              \
	(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER |                    \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_TCP_LRO)
#define TX_OFFLOADS                                                                                                    \
	(RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |               \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
#define DEFAULT_RING 1024
#define DEFAULT_BURST 32
#define DEFAULT_RX_QUEUES 8
#define MIN_RX_BUF 256
/* Registers in a dump: the HCR, then the catastrophic error buffer. */
#define DUMP_CATAS_MAX 64u

int
mlx4_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	const struct mlx4_caps *c = &eth->hca->caps;
	uint64_t stamp = c->cq_timestamp && c->clock_off != 0 ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0;
	uint64_t fcs = (c->flags >> MLX4_DEV_FLAG_FCS_KEEP) & 1 ? RTE_ETH_RX_OFFLOAD_KEEP_CRC : 0;
	struct rte_eth_desc_lim lim = {
		.nb_max = MLX4_ETH_MAX_DESC,
		.nb_min = MLX4_ETH_MIN_DESC,
		.nb_align = 1,
		.nb_seg_max = c->max_sq_sge,
		.nb_mtu_seg_max = c->max_sq_sge,
	};

	info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE;
	info->min_mtu = MLX4_ETH_MTU_MIN;
	info->max_mtu = RTE_MIN(MLX4_ETH_MTU_MAX, eth->hca->port[eth->port - 1].eth_mtu);
	info->min_rx_bufsize = MIN_RX_BUF;
	info->max_rx_pktlen = info->max_mtu + MLX4_ETH_FRAME_OVERHEAD;
	info->max_lro_pkt_size = MLX4_LRO_MAX_LEN;
	info->max_rx_queues = MLX4_ETH_MAX_RXQ;
	info->max_tx_queues = MLX4_ETH_MAX_TXQ;
	info->max_mac_addrs = MLX4_ETH_MAX_UC_MACS;
	info->rx_offload_capa = RX_OFFLOADS | fcs | stamp | mlx4_tunnel_rx_offloads(eth);
	info->rx_queue_offload_capa = RX_QUEUE_OFFLOADS | fcs | stamp | mlx4_tunnel_rx_offloads(eth);
	info->tx_offload_capa =
		TX_OFFLOADS | (c->max_gso != 0 ? RTE_ETH_TX_OFFLOAD_TCP_TSO : 0) | mlx4_tunnel_tx_offloads(eth);
	info->tx_queue_offload_capa = info->tx_offload_capa;
	info->reta_size = RTE_MIN((uint32_t)MLX4_ETH_RETA_MAX, c->max_rss);
	info->hash_key_size = MLX4_RSS_KEY_SIZE;
	info->flow_type_rss_offloads = mlx4_rss_types(eth);
	info->rx_seg_capa.multi_pools = 1;
	info->rx_seg_capa.max_nseg = 2;
	info->rx_desc_lim = lim;
	info->tx_desc_lim = lim;
	info->speed_capa = RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_40G |
			   (mlx4_fw_serves(c, MLX4_FW_56G) ? RTE_ETH_LINK_SPEED_56G : 0);
	info->dev_capa = RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP | RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP |
			 RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
	info->default_rxportconf.ring_size = DEFAULT_RING;
	info->default_txportconf.ring_size = DEFAULT_RING;
	info->default_rxportconf.burst_size = DEFAULT_BURST;
	info->default_txportconf.burst_size = DEFAULT_BURST;
	info->default_rxportconf.nb_queues = DEFAULT_RX_QUEUES;
	info->default_txportconf.nb_queues = DEFAULT_RX_QUEUES;
	return 0;
}

const uint32_t *
mlx4_ptypes_get(MLX4_PTYPES_GET_ARGS)
{
	static const uint32_t plain[] = {
		RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4, RTE_PTYPE_L3_IPV4_EXT, RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L4_FRAG,  RTE_PTYPE_L4_TCP,  RTE_PTYPE_L4_UDP,      RTE_PTYPE_UNKNOWN,
	};
	static const uint32_t tunnels[] = {
		RTE_PTYPE_L2_ETHER,
		RTE_PTYPE_L3_IPV4,
		RTE_PTYPE_L3_IPV4_EXT,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L4_FRAG,
		RTE_PTYPE_L4_TCP,
		RTE_PTYPE_L4_UDP,
		RTE_PTYPE_TUNNEL_GRENAT,
		RTE_PTYPE_INNER_L2_ETHER,
		RTE_PTYPE_INNER_L3_IPV4,
		RTE_PTYPE_INNER_L3_IPV4_EXT,
		RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_INNER_L4_FRAG,
		RTE_PTYPE_INNER_L4_TCP,
		RTE_PTYPE_INNER_L4_UDP,
		RTE_PTYPE_UNKNOWN,
	};
	bool pro = mlx4_eth_of(dev)->hca->caps.vxlan;

	MLX4_PTYPES_COUNT((pro ? RTE_DIM(tunnels) : RTE_DIM(plain)) - 1);
	return pro ? tunnels : plain;
}

void
mlx4_rxq_info(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_rxq_info *info)
{
	const struct mlx4_rxq *q = mlx4_eth_of(dev)->rxqs[queue];

	if (q == NULL)
		return;
	info->mp = q->mp;
	info->nb_desc = q->nb_desc;
	info->rx_buf_size = q->buf_len;
	info->scattered_rx = q->lg_sges != 0;
	info->conf.offloads = q->offloads;
	info->conf.rx_deferred_start = q->deferred;
	info->conf.rx_drop_en = 1;
}

void
mlx4_txq_info(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_txq_info *info)
{
	const struct mlx4_txq *q = mlx4_eth_of(dev)->txqs[queue];

	if (q == NULL)
		return;
	info->nb_desc = q->nb_desc;
	info->conf.offloads = q->offloads;
	info->conf.tx_deferred_start = q->deferred;
}

int
mlx4_rx_burst_mode(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_burst_mode *mode)
{
	const struct mlx4_eth *eth = mlx4_eth_of(dev);
	bool flood = eth->flood != NULL, sides = eth->rxqs[queue] != NULL && eth->rxqs[queue]->sides != NULL;
	bool scattered = dev->data->scattered_rx || flood || sides;
	bool lro = eth->rxqs[queue] != NULL && eth->rxqs[queue]->lro != NULL;
	bool avx2 = !scattered && !lro && mlx4_rx_burst_plain() != mlx4_rx_burst;

	snprintf(mode->info, sizeof(mode->info), "%s%s%s%s%s", avx2 ? "Vector AVX2" : "Scalar",
		 dev->data->scattered_rx ? ", scattered" : "", flood ? ", copies to groups" : "",
		 sides ? ", flow rules" : "", lro ? ", LRO" : "");
	return 0;
}

int
mlx4_tx_burst_mode(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_burst_mode *mode)
{
	const struct mlx4_txq *q = mlx4_eth_of(dev)->txqs[queue];

	snprintf(mode->info, sizeof(mode->info), "Scalar%s%s", q != NULL && q->bf != NULL ? ", BlueFlame" : "",
		 q != NULL && q->inline_max != 0 ? ", inline" : "");
	return 0;
}

int
mlx4_fw_version(struct rte_eth_dev *dev, char *text, size_t len)
{
	const struct mlx4_caps *c = &mlx4_eth_of(dev)->hca->caps;
	int n = snprintf(text, len, "%u.%u.%u", c->fw_major, c->fw_minor, c->fw_subminor);

	return (size_t)n < len ? 0 : n + 1;
}

int
mlx4_regs_get(struct rte_eth_dev *dev, struct rte_dev_reg_info *regs)
{
	struct mlx4_hca *hca = mlx4_eth_of(dev)->hca;
	uint32_t catas = hca->caps.catas_off == 0 ? 0 : RTE_MIN(hca->caps.catas_dwords, DUMP_CATAS_MAX);
	uint32_t i, n = 0, hcr = MLX4_HCR_SIZE / 4, *out = regs->data;

	regs->width = sizeof(uint32_t);
	regs->version = hca->bus->device_id;
	if (out == NULL) {
		regs->length = hcr + catas;
		return 0;
	}
	if (regs->length != 0 && regs->length < hcr + catas)
		return -ENOSPC;
	for (i = 0; i < hcr; i++)
		out[n++] = hca->bus->ops->read32(hca->bus, MLX4_REG_HCR + i * 4);
	for (i = 0; i < catas; i++)
		out[n++] = hca->bus->ops->read32(hca->bus, hca->caps.catas_off + i * 4);
	regs->length = n;
	return 0;
}
