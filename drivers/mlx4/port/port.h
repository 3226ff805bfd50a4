/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One Ethernet port of a card as an ethdev: dev_private. */
#ifndef MLX4_ETH_H
#define MLX4_ETH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>

#include "mlx4_hca.h"
#include "mlx4_rxtx.h"
#include "port_type.h"
#include "rte_pmd_mlx4_tx.h"
#include "tp_qos.h"

#define MLX4_ETH_MAX_RXQ 256 /* a default set and 127 groups of two */
#define MLX4_ETH_MAX_TXQ 256
#define MLX4_ETH_MIN_DESC 256
#define MLX4_ETH_MAX_DESC 8192 /* E-6 asks for up to 4096 */
#define MLX4_ETH_MAX_UC_MACS 127
#define MLX4_ETH_MAX_MC_MACS 1024
#define MLX4_ETH_RETA_MAX 128
#define MLX4_ETH_MTU_MIN 600
#define MLX4_ETH_MTU_MAX 9600

/* Device arguments, common to all buses. */
struct mlx4_eth_args {
	bool check_fw;      /* check-fw-version */
	bool bf;            /* BlueFlame */
	uint16_t tx_inline; /* bytes */
	bool rss_udp, rss_raw_ip;
	bool vmq;                                      /* rss-or-vmq: what no group takes goes to one queue */
	enum mlx4_port_want port_type[MLX4_MAX_PORTS]; /* port-type0, port-type1 */
	bool mac_loopback; /* put the destination MAC in the control segment, so that the card may loop frames back */
};

struct mlx4_roce;

/* Frames that the card lost or refused, as ethdev counts them. */
struct mlx4_card_counts {
	uint64_t missed, rx_errors, tx_errors;
};

struct mlx4_eth {
	struct mlx4_hca *hca;
	unsigned int port; /* 1..2 */
	struct rte_eth_dev *dev;
	struct mlx4_eth_args args;
	struct mlx4_rxq *rxqs[MLX4_ETH_MAX_RXQ];
	struct mlx4_txq *txqs[MLX4_ETH_MAX_TXQ];
	uint8_t rx_way, tx_way; /* of bursts.h */

	/* RSS as configured (rss.c) */
	uint16_t reta[MLX4_ETH_RETA_MAX];
	uint16_t reta_size;
	bool reta_is_default; /* nobody asked for this table */
	uint8_t rss_key[MLX4_RSS_KEY_SIZE];
	uint64_t rss_hf;
	uint16_t rss_default_queue; /* of frames that the hash does not cover; 0: that of the first entry */
	struct mlx4_spread *rss;    /* what the queues without a group have on the card now */
	struct mlx4_groups *groups;
	struct mlx4_flows *flows;       /* flow.h */
	const struct mlx4_flood *flood; /* who gets copies by software, NULL: nobody */
	struct mlx4_flood_slots *flood_slots;
	bool mc_hidden; /* multicast is received for the sake of such copies only */

	uint32_t target_qpn; /* what the steering rules name: an RSS parent or the only ring */
	bool promisc, allmulti, mc_overflow;
	bool ignore_fcs; /* frames with a wrong FCS are received */
	uint64_t rule_promisc, rule_allmulti, rule_bcast;
	struct rte_ether_addr mc[MLX4_ETH_MAX_MC_MACS];
	uint32_t num_mc;
	uint32_t vlan_filter[4096 / 32];
	uint16_t mtu;
	struct rte_pmd_mlx4_lso lso;     /* limits of large sends */
	bool tunnels;                    /* the card looks into tunnels */
	uint16_t tunnel_port;            /* UDP port of VXLAN that the application asked for, 0: none */
	struct mlx4_card_counts cleared; /* what resets have set to zero in the card */
	struct mlx4_filter *filter;      /* filter.c's own: addresses and rule ids */
	struct mlx4_qos *qos;            /* qos.h */
	struct mlx4_rx_kinds *rx_kinds;  /* rx_kinds.c; NULL: it never counted */
	bool counts_kinds;
	pthread_mutex_t control;   /* control.c */
	pthread_mutex_t sets_lock; /* chains of sets of receive queues, for those who look at them beside rss.c */
	uint64_t link_downs;       /* how often the link went down */
	bool link_on;              /* between start and stop: the link is what the card says */
	uint32_t link_events;      /* tells who asks the card that what it heard may be old */
	uint64_t qp_errors_base;   /* what hca->qp_errors was at the last reset of counters */
	/* frames that queues lost by being stopped: received and not polled, posted and not sent */
	uint64_t rx_stop_drops, tx_stop_drops;
	struct mlx4_roce *roce; /* open for RoCE, or NULL */
};

/*
 * rss.c: starts the receive queues that are not deferred, makes the RSS parent when there is more than one ring and
 * sets target_qpn; an update builds the new rings beside the old ones, moves the rules and lets the old ones drain.
 */
int mlx4_rss_configure(struct mlx4_eth *eth); /* from dev_configure: default RETA, key, types */
int mlx4_rss_start(struct mlx4_eth *eth);
void mlx4_rss_stop(struct mlx4_eth *eth);
void mlx4_rss_close(struct mlx4_eth *eth);
int mlx4_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mlx4_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int mlx4_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mlx4_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mlx4_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx);
int mlx4_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx);
uint64_t mlx4_rss_types(const struct mlx4_eth *eth); /* RTE_ETH_RSS_* that the card can hash */

/*
 * filter.c: MAC addresses, multicast list, promiscuous and all-multicast, VLAN filter. start installs every rule
 * with target_qpn; retarget moves them to another QPN without a gap (new rules first).
 */
int mlx4_filter_start(struct mlx4_eth *eth);
void mlx4_filter_stop(struct mlx4_eth *eth);
/*
 * Only frames that rules of rte_flow name are received; what the settings ask for holds again afterwards. A port with groups is
 * never isolated: their rules would stay, and those that guard them go.
 */
int mlx4_filter_isolate(struct mlx4_eth *eth, bool on);
bool mlx4_filter_is_isolated(const struct mlx4_eth *eth);
int mlx4_filter_retarget(struct mlx4_eth *eth, uint32_t qpn);
/* A group of queues has this address; untagged: and wants frames without a VLAN only. Frames that it leaves are ours. */
int mlx4_filter_group_add(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged);
void mlx4_filter_group_remove(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged);
/* One group more (or less) gets copies of multicast: while there is one, the port takes all of it or none. */
int mlx4_filter_flood(struct mlx4_eth *eth, bool more);
/* The same for copies by software: the port receives all multicast for them. */
int mlx4_filter_copies(struct mlx4_eth *eth, bool more);

#define MLX4_NO_RULE UINT64_MAX
extern const struct rte_ether_addr mlx4_broadcast;
/* The order of steering rules. Each kind has a second place behind its own, for the successor of a rule that moves. */
enum mlx4_rule_order {
	MLX4_RULE_GROUP_TAGGED = 0, /* groups with a VLAN */
	MLX4_RULE_GUARD = 2,        /* tagged frames of groups that want untagged ones */
	MLX4_RULE_GROUP = 4,
	MLX4_RULE_PORT = 6,       /* the port's own addresses, broadcast */
	MLX4_RULE_GROUP_MISS = 8, /* addresses of groups, what no group takes */
};

/* roce.c: an open port loses its card. NULL: none is open. */
void mlx4_roce_detach(struct mlx4_roce *roce);

/* qos.c: with the port. */
int mlx4_qos_create(struct mlx4_eth *eth);
void mlx4_qos_destroy(struct mlx4_eth *eth);

#endif /* MLX4_ETH_H */
