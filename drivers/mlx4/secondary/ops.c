/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The table of ethdev operations in a secondary process. What data shared by the processes tells is read here; what the card
 * has to tell, the primary is asked for; what changes the port is refused with a line. Operations for which ethdev itself
 * changes shared data first are not there at all, so that it refuses them before it does (-ENOTSUP).
 */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/ethdev/ethdev.h"
#include "drivers/mlx4/port/share.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"

static int
ask(struct rte_eth_dev *dev, enum mlx4_ask_what what, void *out, size_t len, uint32_t *told)
{
	struct mlx4_answer a;
	struct mlx4_ask q;
	int rc;

	if (!mlx4_second_alive(dev))
		return -ENODEV;
	mlx4_ask_init(&q, what, dev->data->port_id, MLX4_SHARE_SIZES);
	rc = mlx4_second_ask(&q, &a, out, len, NULL);
	if (told != NULL)
		*told = a.len;
	return rc;
}

static int
second_stats_get(MLX4_STATS_GET_ARGS)
{
	struct mlx4_stats_box box = {0};
	int rc = ask(dev, MLX4_ASK_STATS, &box, sizeof(box), NULL);

	if (rc != 0)
		return rc;
	*stats = box.port;
	MLX4_QSTATS_COPY(&box);
	return 0;
}

static int
second_stats_reset(struct rte_eth_dev *dev)
{
	return ask(dev, MLX4_ASK_STATS_RESET, NULL, 0, NULL);
}

static int
second_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xs, unsigned int n)
{
	int all = mlx4_xstats_names(dev, NULL, 0), rc;
	uint32_t told = 0;

	if (xs == NULL || n < (unsigned int)all)
		return all;
	rc = ask(dev, MLX4_ASK_XSTATS, xs, n * sizeof(*xs), &told);
	return rc != 0 ? rc : (int)(told / sizeof(*xs));
}

static int
second_link_update(struct rte_eth_dev *dev, int wait)
{
	RTE_SET_USED(wait);
	return ask(dev, MLX4_ASK_LINK, NULL, 0, NULL);
}

static int
second_read_clock(struct rte_eth_dev *dev, uint64_t *cycles)
{
	return ask(dev, MLX4_ASK_CLOCK, cycles, sizeof(*cycles), NULL);
}

static int
second_close(struct rte_eth_dev *dev)
{
	mlx4_second_release(dev);
	return 0;
}

static int
second_is_removed(struct rte_eth_dev *dev)
{
	return !mlx4_second_alive(dev) || mlx4_eth_is_removed(dev);
}

/* --- what the primary left in shared memory --- */

#define READ(op, call, ...)                                                                                            \
	static int op(struct rte_eth_dev *dev, __VA_ARGS__)                                                            \
	{                                                                                                              \
		return mlx4_second_alive(dev) ? call : -ENODEV;                                                        \
	}

READ(second_infos, mlx4_infos_get(dev, info), struct rte_eth_dev_info *info)
READ(second_fw_version, mlx4_fw_version(dev, text, len), char *text, size_t len)
READ(second_rx_mode, mlx4_rx_burst_mode(dev, idx, mode), uint16_t idx, struct rte_eth_burst_mode *mode)
READ(second_tx_mode, mlx4_tx_burst_mode(dev, idx, mode), uint16_t idx, struct rte_eth_burst_mode *mode)

static void
second_rxq_info(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_rxq_info *info)
{
	if (mlx4_second_alive(dev))
		mlx4_rxq_info(dev, idx, info);
}

static void
second_txq_info(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_txq_info *info)
{
	if (mlx4_second_alive(dev))
		mlx4_txq_info(dev, idx, info);
}

static const uint32_t *
second_ptypes(MLX4_PTYPES_GET_ARGS)
{
	return mlx4_second_alive(dev) ? mlx4_ptypes_get(MLX4_PTYPES_PASS) : NULL;
}

/* --- what only the primary does --- */

static int
refuse(const struct rte_eth_dev *dev, const char *what)
{
	MLX4_LOG(ERR, "port %u: %s: only the primary process can do this", dev->data->port_id, what);
	return -EPERM;
}

#define REFUSE(op, what, ...)                                                                                          \
	static int op(struct rte_eth_dev *dev, ##__VA_ARGS__)                                                          \
	{                                                                                                              \
		return refuse(dev, what);                                                                              \
	}

REFUSE(refuse_start, "start")
REFUSE(refuse_reset, "reset")
REFUSE(refuse_link_up, "link up")
REFUSE(refuse_link_down, "link down")
REFUSE(refuse_promisc, "promiscuous mode")
REFUSE(refuse_allmulti, "all-multicast mode")
REFUSE(refuse_mtu, "MTU", __rte_unused uint16_t mtu)
REFUSE(refuse_mac_add, "another MAC address", __rte_unused struct rte_ether_addr *mac, __rte_unused uint32_t index,
       __rte_unused uint32_t pool)
REFUSE(refuse_mac_set, "the MAC address", __rte_unused struct rte_ether_addr *mac)
REFUSE(refuse_mc_list, "multicast addresses", __rte_unused struct rte_ether_addr *mc, __rte_unused uint32_t n)
REFUSE(refuse_vlan, "VLAN filter", __rte_unused uint16_t vid, __rte_unused int on)
REFUSE(refuse_reta, "RSS indirection table", __rte_unused struct rte_eth_rss_reta_entry64 *conf,
       __rte_unused uint16_t size)
REFUSE(refuse_rss, "RSS hash", __rte_unused struct rte_eth_rss_conf *conf)
REFUSE(refuse_queue, "start or stop of a queue", __rte_unused uint16_t idx)
REFUSE(refuse_intr, "receive interrupts", __rte_unused uint16_t idx)
REFUSE(refuse_pause, "flow control", __rte_unused struct rte_eth_fc_conf *fc)
REFUSE(refuse_pfc, "priority flow control", __rte_unused struct rte_eth_pfc_conf *pfc)
REFUSE(refuse_rate, "rate limit of a queue", __rte_unused uint16_t idx, __rte_unused uint32_t rate)
REFUSE(refuse_tunnel, "UDP port of tunnels", __rte_unused struct rte_eth_udp_tunnel *tunnel)

/* Ethdev has taken the bursts away before it asks. */
static int
refuse_stop(struct rte_eth_dev *dev)
{
	mlx4_second_poll(dev);
	return refuse(dev, "stop");
}

const struct eth_dev_ops mlx4_second_ops = {
	.dev_close = second_close,
	.is_removed = second_is_removed,
	.link_update = second_link_update,
	.stats_get = second_stats_get,
	.stats_reset = second_stats_reset,
	.xstats_get = second_xstats_get,
	.xstats_get_names = mlx4_xstats_names,
	.xstats_reset = second_stats_reset,
	.dev_infos_get = second_infos,
	.dev_supported_ptypes_get = second_ptypes,
	.rxq_info_get = second_rxq_info,
	.txq_info_get = second_txq_info,
	.rx_burst_mode_get = second_rx_mode,
	.tx_burst_mode_get = second_tx_mode,
	.fw_version_get = second_fw_version,
	.read_clock = second_read_clock,
	.dev_start = refuse_start,
	.dev_stop = refuse_stop,
	.dev_reset = refuse_reset,
	.dev_set_link_up = refuse_link_up,
	.dev_set_link_down = refuse_link_down,
	.mtu_set = refuse_mtu,
	.promiscuous_enable = refuse_promisc,
	.promiscuous_disable = refuse_promisc,
	.allmulticast_enable = refuse_allmulti,
	.allmulticast_disable = refuse_allmulti,
	.mac_addr_add = refuse_mac_add,
	.mac_addr_set = refuse_mac_set,
	.set_mc_addr_list = refuse_mc_list,
	.vlan_filter_set = refuse_vlan,
	.reta_update = refuse_reta,
	.rss_hash_update = refuse_rss,
	.rx_queue_start = refuse_queue,
	.rx_queue_stop = refuse_queue,
	.tx_queue_start = refuse_queue,
	.tx_queue_stop = refuse_queue,
	.rx_queue_intr_enable = refuse_intr,
	.rx_queue_intr_disable = refuse_intr,
	.flow_ctrl_set = refuse_pause,
	.priority_flow_ctrl_set = refuse_pfc,
	.set_queue_rate_limit = refuse_rate,
	.udp_tunnel_port_add = refuse_tunnel,
	.udp_tunnel_port_del = refuse_tunnel,
};
