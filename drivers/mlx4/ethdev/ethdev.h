/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The ethdev operations of this folder: its files are made by idea, not by operation. */
#ifndef MLX4_ETHDEV_ETHDEV_H
#define MLX4_ETHDEV_ETHDEV_H

#include "drivers/mlx4/port/compat.h"
#include "drivers/mlx4/port/port.h"

#define MLX4_ETH_RX_VECTORS MLX4_RX_EQS_PORT /* interrupt vectors of a port */
#define MLX4_ETH_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN)

/* ops.c */
extern const struct eth_dev_ops mlx4_eth_ops;

/* life.c */
int mlx4_eth_configure(struct rte_eth_dev *dev);
int mlx4_eth_start(struct rte_eth_dev *dev);
int mlx4_eth_stop(struct rte_eth_dev *dev);
int mlx4_eth_rxq_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t n, unsigned int socket,
		       const struct rte_eth_rxconf *conf, struct rte_mempool *mp);
void mlx4_eth_rxq_release(struct rte_eth_dev *dev, uint16_t idx);
int mlx4_eth_txq_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t n, unsigned int socket,
		       const struct rte_eth_txconf *conf);
void mlx4_eth_txq_release(struct rte_eth_dev *dev, uint16_t idx);
int mlx4_eth_txq_start(struct rte_eth_dev *dev, uint16_t idx);
int mlx4_eth_txq_stop(struct rte_eth_dev *dev, uint16_t idx);
void mlx4_eth_queues_release(struct rte_eth_dev *dev);
/* The card is lost: bursts of running pollers find nothing and take nothing from now on. */
void mlx4_eth_removed(struct rte_eth_dev *dev);
/* The port has no bursts: before its first start, and after a stop. */
void mlx4_bursts_clear(struct rte_eth_dev *dev);

/* client.c */
int mlx4_eth_close(struct rte_eth_dev *dev);
int mlx4_eth_reset(struct rte_eth_dev *dev);
int mlx4_eth_is_removed(struct rte_eth_dev *dev);

/* rss_ops.c */
/* All rings of a started port become as their queues shall have them; 0, or a negative errno: some may be. */
int mlx4_rss_refresh(struct mlx4_eth *eth);
int mlx4_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mlx4_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mlx4_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mlx4_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mlx4_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx);
int mlx4_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx);

/* vlan_strip.c */
int mlx4_vlan_offload_set(struct rte_eth_dev *dev, int mask);
void mlx4_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue, int on);

/* fcs.c: a card that was reset learns again what it shall take. */
int mlx4_fcs_start(struct mlx4_eth *eth);

/* stats.c */
int mlx4_stats_get(MLX4_STATS_GET_ARGS);
int mlx4_stats_reset(struct rte_eth_dev *dev);
int mlx4_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xs, unsigned int n);
int mlx4_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n);

/* info.c */
int mlx4_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info);
const uint32_t *mlx4_ptypes_get(MLX4_PTYPES_GET_ARGS);
void mlx4_rxq_info(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_rxq_info *info);
void mlx4_txq_info(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_txq_info *info);
int mlx4_rx_burst_mode(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_burst_mode *mode);
int mlx4_tx_burst_mode(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_burst_mode *mode);
int mlx4_fw_version(struct rte_eth_dev *dev, char *text, size_t len);
int mlx4_regs_get(struct rte_eth_dev *dev, struct rte_dev_reg_info *regs);

/* module.c */
/*
 * One datagram's worth of the EEPROM, at most MLX4_CABLE_DATA_MAX bytes; those from 256 on are at the second I2C address. 0, or a
 * negative errno; why: the firmware's answer in words, NULL: it is the command that failed. Says nothing.
 */
int mlx4_module_read(struct mlx4_eth *eth, uint32_t off, uint32_t len, uint8_t *out, const char **why);
int mlx4_module_info(struct rte_eth_dev *dev, struct rte_eth_dev_module_info *info);
int mlx4_module_eeprom(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info);
int mlx4_eeprom_set(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info);
/* vpd.c: the card's vital product data */
/* Octets of the vital product data to the end of its last resource; -ENOTSUP: the card has none. Any thread. */
int mlx4_vpd_length(struct mlx4_bus *bus);
int mlx4_vpd_read(struct mlx4_bus *bus, uint32_t at, uint32_t len, uint8_t *data);
int mlx4_eeprom_length(struct rte_eth_dev *dev);
int mlx4_eeprom_get(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info);
int mlx4_led_on(struct rte_eth_dev *dev);
int mlx4_led_off(struct rte_eth_dev *dev);

/*
 * tunnel.c: what the card offers; the port's start; ethdev's operations. A UDP port is one of 1..65535, for VXLAN, and the same for
 * both ports of a card (-EBUSY).
 */
uint64_t mlx4_tunnel_rx_offloads(const struct mlx4_eth *eth);
uint64_t mlx4_tunnel_tx_offloads(const struct mlx4_eth *eth);
int mlx4_tunnel_start(struct mlx4_eth *eth);
/* The port has no tunnels any more. */
void mlx4_tunnel_close(struct mlx4_eth *eth);
int mlx4_tunnel_port_add(struct rte_eth_dev *dev, struct rte_eth_udp_tunnel *t);
int mlx4_tunnel_port_del(struct rte_eth_dev *dev, struct rte_eth_udp_tunnel *t);

/* link.c */
int mlx4_link_update(struct rte_eth_dev *dev, int wait);
/* Whether the link is the card's, or down because the port is stopped; a query that runs at the same time is repeated. */
void mlx4_link_on(struct mlx4_eth *eth, bool on);
int mlx4_link_up(struct rte_eth_dev *dev);
int mlx4_link_down(struct rte_eth_dev *dev);
int mlx4_mtu_set(struct rte_eth_dev *dev, uint16_t mtu);
int mlx4_mtu_apply(struct mlx4_eth *eth, uint16_t mtu);
void mlx4_eth_event(struct mlx4_hca *hca, unsigned int port, const struct mlx4_async_event *e, void *arg);

/* intr.c */
int mlx4_eth_intr_init(struct mlx4_eth *eth);
/* Around a new bring-up, which makes other event fds: nobody waits for the old ones any more. */
void mlx4_eth_intr_disconnect(struct mlx4_eth *eth);
void mlx4_eth_intr_connect(struct mlx4_eth *eth);
/* The port's vectors, when its configuration has receive interrupts. 0 or a negative errno, which was said. */
int mlx4_eth_intr_configure(struct mlx4_eth *eth);
void mlx4_eth_intr_fini(struct mlx4_eth *eth);
int mlx4_rx_vector(const struct mlx4_eth *eth, uint16_t queue);
int mlx4_rx_intr_enable(struct rte_eth_dev *dev, uint16_t queue);
int mlx4_rx_intr_disable(struct rte_eth_dev *dev, uint16_t queue);

#endif /* MLX4_ETHDEV_ETHDEV_H */
