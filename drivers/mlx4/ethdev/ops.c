/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table of ethdev operations; what changes a port, or reads what a change takes apart, holds its control lock. */
#include "ethdev.h"
#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/qos/tm/tm.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/timestamp.h"
#include "drivers/mlx4/steer/filter.h"
#include "drivers/mlx4/steer/rss.h"
#include "drivers/mlx4/steer/vlan.h"

#define LOCKED(op, call, ...)                                                                                          \
	static int op(struct rte_eth_dev *dev, ##__VA_ARGS__)                                                          \
	{                                                                                                              \
		int ret;                                                                                               \
                                                                                                                       \
		mlx4_control_lock(mlx4_eth_of(dev));                                                                   \
		ret = call;                                                                                            \
		mlx4_control_unlock(mlx4_eth_of(dev));                                                                 \
		return ret;                                                                                            \
	}
#define LOCKED_VOID(op, call, ...)                                                                                     \
	static void op(struct rte_eth_dev *dev, ##__VA_ARGS__)                                                         \
	{                                                                                                              \
		mlx4_control_lock(mlx4_eth_of(dev));                                                                   \
		call;                                                                                                  \
		mlx4_control_unlock(mlx4_eth_of(dev));                                                                 \
	}

LOCKED(dev_configure, mlx4_eth_configure(dev))
LOCKED(dev_start, mlx4_eth_start(dev))
LOCKED(dev_stop, mlx4_eth_stop(dev))
LOCKED(dev_reset, mlx4_eth_reset(dev))
LOCKED(dev_set_link_up, mlx4_link_up(dev))
LOCKED(dev_set_link_down, mlx4_link_down(dev))
LOCKED(mtu_set, mlx4_mtu_set(dev, mtu), uint16_t mtu)
LOCKED(promiscuous_enable, mlx4_promiscuous_enable(dev))
LOCKED(promiscuous_disable, mlx4_promiscuous_disable(dev))
LOCKED(allmulticast_enable, mlx4_allmulticast_enable(dev))
LOCKED(allmulticast_disable, mlx4_allmulticast_disable(dev))
LOCKED(mac_addr_add, mlx4_mac_add(dev, mac, index, pool), struct rte_ether_addr *mac, uint32_t index, uint32_t pool)
LOCKED(mac_addr_set, mlx4_mac_set(dev, mac), struct rte_ether_addr *mac)
LOCKED(set_mc_addr_list, mlx4_mc_list_set(dev, mc, n), struct rte_ether_addr *mc, uint32_t n)
LOCKED(vlan_filter_set, mlx4_vlan_filter_set(dev, vid, on), uint16_t vid, int on)
LOCKED(vlan_offload_set, mlx4_vlan_offload_set(dev, mask), int mask)
LOCKED(vlan_pvid_set, mlx4_vlan_pvid_set(dev, vid, on), uint16_t vid, int on)
LOCKED(reta_update, mlx4_reta_update(dev, conf, size), struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
LOCKED(reta_query, mlx4_reta_query(dev, conf, size), struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
LOCKED(rss_hash_update, mlx4_rss_hash_update(dev, conf), struct rte_eth_rss_conf *conf)
LOCKED(rss_hash_conf_get, mlx4_rss_hash_conf_get(dev, conf), struct rte_eth_rss_conf *conf)
LOCKED(stats_reset, mlx4_stats_reset(dev))
LOCKED(rx_queue_setup, mlx4_eth_rxq_setup(dev, idx, n, socket, conf, mp), uint16_t idx, uint16_t n, unsigned int socket,
       const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
LOCKED(rx_queue_start, mlx4_rx_queue_start(dev, idx), uint16_t idx)
LOCKED(rx_queue_stop, mlx4_rx_queue_stop(dev, idx), uint16_t idx)
LOCKED(tx_queue_setup, mlx4_eth_txq_setup(dev, idx, n, socket, conf), uint16_t idx, uint16_t n, unsigned int socket,
       const struct rte_eth_txconf *conf)
LOCKED(tx_queue_start, mlx4_eth_txq_start(dev, idx), uint16_t idx)
LOCKED(tx_queue_stop, mlx4_eth_txq_stop(dev, idx), uint16_t idx)
LOCKED(flow_ctrl_set, mlx4_flow_ctrl_set(dev, fc), struct rte_eth_fc_conf *fc)
LOCKED(priority_flow_ctrl_set, mlx4_pfc_set(dev, pfc), struct rte_eth_pfc_conf *pfc)
LOCKED(set_queue_rate_limit, mlx4_queue_rate_limit(dev, idx, rate), uint16_t idx, uint32_t rate)
LOCKED(udp_tunnel_port_add, mlx4_tunnel_port_add(dev, tunnel), struct rte_eth_udp_tunnel *tunnel)
LOCKED(udp_tunnel_port_del, mlx4_tunnel_port_del(dev, tunnel), struct rte_eth_udp_tunnel *tunnel)
LOCKED_VOID(mac_addr_remove, mlx4_mac_remove(dev, index), uint32_t index)
LOCKED_VOID(vlan_strip_queue_set, mlx4_vlan_strip_queue_set(dev, idx, on), uint16_t idx, int on)
LOCKED_VOID(rx_queue_release, mlx4_eth_rxq_release(dev, idx), uint16_t idx)
LOCKED_VOID(tx_queue_release, mlx4_eth_txq_release(dev, idx), uint16_t idx)

const struct eth_dev_ops mlx4_eth_ops = {
	.dev_configure = dev_configure,
	.dev_start = dev_start,
	.dev_stop = dev_stop,
	.dev_close = mlx4_eth_close,
	.dev_reset = dev_reset,
	.is_removed = mlx4_eth_is_removed,
	.dev_set_link_up = dev_set_link_up,
	.dev_set_link_down = dev_set_link_down,
	.link_update = mlx4_link_update,
	.mtu_set = mtu_set,
	.promiscuous_enable = promiscuous_enable,
	.promiscuous_disable = promiscuous_disable,
	.allmulticast_enable = allmulticast_enable,
	.allmulticast_disable = allmulticast_disable,
	.mac_addr_add = mac_addr_add,
	.mac_addr_remove = mac_addr_remove,
	.mac_addr_set = mac_addr_set,
	.set_mc_addr_list = set_mc_addr_list,
	.vlan_filter_set = vlan_filter_set,
	.vlan_offload_set = vlan_offload_set,
	.vlan_strip_queue_set = vlan_strip_queue_set,
	.vlan_pvid_set = vlan_pvid_set,
	.reta_update = reta_update,
	.reta_query = reta_query,
	.rss_hash_update = rss_hash_update,
	.rss_hash_conf_get = rss_hash_conf_get,
	.stats_get = mlx4_stats_get,
	.stats_reset = stats_reset,
	.xstats_get = mlx4_xstats_get,
	.xstats_get_names = mlx4_xstats_names,
	.xstats_reset = stats_reset,
	.dev_infos_get = mlx4_infos_get,
	.dev_supported_ptypes_get = mlx4_ptypes_get,
	.buffer_split_supported_hdr_ptypes_get = mlx4_rx_split_types,
	.rxq_info_get = mlx4_rxq_info,
	.txq_info_get = mlx4_txq_info,
	.rx_burst_mode_get = mlx4_rx_burst_mode,
	.tx_burst_mode_get = mlx4_tx_burst_mode,
	.fw_version_get = mlx4_fw_version,
	.get_reg = mlx4_regs_get,
	.get_module_info = mlx4_module_info,
	.get_module_eeprom = mlx4_module_eeprom,
	.get_eeprom_length = mlx4_eeprom_length,
	.get_eeprom = mlx4_eeprom_get,
	.set_eeprom = mlx4_eeprom_set,
	.dev_led_on = mlx4_led_on,
	.dev_led_off = mlx4_led_off,
	.read_clock = mlx4_read_clock,
	.rx_queue_setup = rx_queue_setup,
	.rx_queue_release = rx_queue_release,
	.rx_queue_start = rx_queue_start,
	.rx_queue_stop = rx_queue_stop,
	.tx_queue_setup = tx_queue_setup,
	.tx_queue_release = tx_queue_release,
	.tx_queue_start = tx_queue_start,
	.tx_queue_stop = tx_queue_stop,
	.tx_done_cleanup = mlx4_tx_done_cleanup,
	.flow_ctrl_get = mlx4_flow_ctrl_get,
	.flow_ctrl_set = flow_ctrl_set,
	.priority_flow_ctrl_set = priority_flow_ctrl_set,
	.get_dcb_info = mlx4_dcb_info,
	.tm_ops_get = mlx4_tm_ops_get,
	.flow_ops_get = mlx4_flow_ops_get,
	.set_queue_rate_limit = set_queue_rate_limit,
	.udp_tunnel_port_add = udp_tunnel_port_add,
	.udp_tunnel_port_del = udp_tunnel_port_del,
	.rx_queue_intr_enable = mlx4_rx_intr_enable,
	.rx_queue_intr_disable = mlx4_rx_intr_disable,
};

RTE_INIT(mlx4_ops_give)
{
	mlx4_port_ops_set(&mlx4_eth_ops);
}
