/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One Ethernet port of a card as an ethdev: dev_private. */
#ifndef MLX4_PORT_PORT_H
#define MLX4_PORT_PORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>

#include "drivers/mlx4/hca/hca.h"
#include "rte_pmd_mlx4.h"
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
	bool vmq;                          /* rss-or-vmq: what no group takes goes to one queue */
	uint8_t port_type[MLX4_MAX_PORTS]; /* port-type0, port-type1: enum mlx4_port_want */
	bool mac_loopback; /* put the destination MAC in the control segment, so that the card may loop frames back */
	struct rte_pmd_mlx4_health_conf health;
	struct mlx4_quirks quirks;     /* quirks, quirks-file */
	char trace[RTE_PMD_MLX4_PATH]; /* "": none */
};

struct mlx4_rxq;
struct mlx4_txq;

/* Frames that the card lost or refused, as ethdev counts them. */
struct mlx4_card_counts {
	uint64_t missed, rx_errors, tx_errors;
};

/* A queue without buffers: frames that rules send to it count as missed (steer/drop_queue.c). */
struct mlx4_drop_queue {
	bool up;
	uint32_t uar;
	struct mlx4_cq cq;
	struct mlx4_qp qp;
};

/* How the group of queues that is the default set is declared. */
struct mlx4_default_set {
	bool declared; /* there is such a group */
	uint16_t n;
	uint16_t queue[TP_GROUP_QUEUES];
	uint64_t rss_hf; /* RTE_ETH_RSS_* that it asks for */
};

struct rte_flow_error;

struct mlx4_eth {
	struct mlx4_hca *hca;
	unsigned int port; /* 1..2 */
	struct rte_eth_dev *dev;
	struct mlx4_eth_args args;
	struct mlx4_rxq *rxqs[MLX4_ETH_MAX_RXQ];
	struct mlx4_txq *txqs[MLX4_ETH_MAX_TXQ];
	uint8_t rx_way, tx_way; /* of rx/choose.h, tx/choose.h */

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
	uint32_t num_mc;    /* of mc: 0 when more than it has room for were listed */
	uint32_t mc_listed; /* addresses that the application listed */
	uint32_t mc_size;   /* more than that many overflow */
	uint32_t vlan_filter[4096 / 32];
	uint16_t mtu;
	struct rte_pmd_mlx4_lso lso;     /* limits of large sends */
	bool tunnels;                    /* the card looks into tunnels */
	uint16_t tunnel_port;            /* UDP port of VXLAN that the application asked for, 0: none */
	struct mlx4_card_counts cleared; /* what resets have set to zero in the card */
	struct mlx4_filter *filter;      /* steer/filter.c's own: addresses and rule ids */
	struct mlx4_qos *qos;            /* qos.h */
	struct mlx4_health *health;      /* health.h */
	struct mlx4_rx_kinds *rx_kinds;  /* rx/kinds.c; NULL: it never counted */
	bool counts_kinds;
	bool splits_headers;       /* rx/burst_headers.c */
	pthread_mutex_t control;   /* mlx4_control_lock() */
	pthread_mutex_t qos_lock;  /* mlx4_qos_lock() */
	pthread_mutex_t sets_lock; /* chains of sets of receive queues, for those who look at them beside rss.c */
	uint64_t link_downs;       /* how often the link went down */
	uint64_t bad_modules;      /* how often the card said that it cannot use a module */
	uint64_t bad_modules_old;  /* of them, those of modules that were seen to be gone */
	bool link_set_down;        /* by the application, while it is started */
	bool link_on;              /* between start and stop: the link is what the card says */
	uint32_t link_events;      /* tells who asks the card that what it heard may be old */
	uint64_t qp_errors_base;   /* what hca->qp_errors was at the last reset of counters */
	uint64_t commands_base, command_failures_base; /* the same of commands */
	/* frames that queues lost by being stopped: received and not polled, posted and not sent */
	uint64_t rx_stop_drops, tx_stop_drops;
	struct mlx4_drop_queue drop;
	bool running; /* the port is started; with the lock of quality of service */
	/* what groups of queues make of the port: written by mlx4_groups_assign only */
	bool taken[MLX4_ETH_MAX_RXQ]; /* the queue is in a group other than the default one */
	struct mlx4_default_set default_set;
	uint32_t group_vlans[4096 / 32]; /* VLANs that groups name */
	/* Whether only rte_flow may steer, with e filled if not. Set by groups, NULL: it may. For the primary process alone. */
	int (*may_isolate)(const struct mlx4_eth *eth, struct rte_flow_error *e);
};

/* The port behind an ethdev of this driver. */
static inline struct mlx4_eth *
mlx4_eth_of(const struct rte_eth_dev *dev)
{
	return dev->data->dev_private;
}

/* --- port.c --- */
/* The operations that ports of this driver have in this process: they tell its ports from others. */
void mlx4_port_ops_set(const struct eth_dev_ops *ops);
/* NULL: not a port of this driver. */
struct mlx4_eth *mlx4_eth_by_port(uint16_t port_id);
/* The same for a function that says why not: err is empty, or names the port. */
struct mlx4_eth *mlx4_eth_asked(uint16_t port_id, char err[TP_ERR_LEN]);

/*
 * Whatever changes a port, or reads what a change takes apart, holds the port's control lock: operations of ethdev and the
 * functions of rte_pmd_mlx4_*.h may then come from several threads. It is taken before the lock of quality of service; the
 * interrupt thread never takes it, and no burst does.
 */
void mlx4_control_lock(struct mlx4_eth *eth);
void mlx4_control_unlock(struct mlx4_eth *eth);
/* Covers the declaration of quality of service, what hangs on it and the watch over stalls; no burst takes it. */
void mlx4_qos_lock(struct mlx4_eth *eth);
void mlx4_qos_unlock(struct mlx4_eth *eth);
/* All locks, before anybody may know the port and after everybody forgot it. */
void mlx4_port_locks_init(struct mlx4_eth *eth);
void mlx4_port_locks_fini(struct mlx4_eth *eth);

#endif /* MLX4_PORT_PORT_H */
