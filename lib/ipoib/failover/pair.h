/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A failover pair: an ethdev in front of two IPoIB ports. Bursts go to the active one; a thread that is called by link changes
 * decides which one that is (pair_state.h) and moves what belongs to the traffic (carry.h). Locks: the pair's, then a device's,
 * never two devices'.
 */
#ifndef IPOIB_FAILOVER_PAIR_H
#define IPOIB_FAILOVER_PAIR_H

#include "pair_state.h"
#include "lib/ipoib/port/port.h"
#include "tp_ipoib.h"

struct ipoib_pair;

struct ipoib_pair_counts {
	uint64_t packets, bytes; /* that the application received */
	uint64_t dropped;        /* what came to the port that does not carry */
};

struct ipoib_pair_queue {
	struct ipoib_pair *pair;
	uint16_t id;
	uint16_t turn;
	struct ipoib_pair_counts n, base; /* of a receive queue; base: at the last reset */
};

struct ipoib_pair {
	struct rte_eth_dev *eth;
	uint16_t port_id, member[IPOIB_PAIR_MEMBERS];
	_Atomic unsigned int active; /* for bursts */
	bool failback;
	uint32_t failback_ms;
	pthread_mutex_t lock; /* of what follows, and of the life of the members */
	bool started;
	struct ipoib_pair_state state;
	uint64_t failovers, failbacks, asked, announced;
	struct rte_ether_addr mcast[TP_IPOIB_MAC_GROUPS];
	uint32_t num_mcast;
	pthread_t thread;
	_Atomic bool stop;
	int bell; /* eventfd: there is something to look at */
};

/* The pair's thread, and what the members are looked at for; the members are started. 0 or a negative errno. */
int ipoib_pair_run(struct ipoib_pair *p);
void ipoib_pair_halt(struct ipoib_pair *p);
/* Hears of link changes of the members. */
int ipoib_pair_listen(struct ipoib_pair *p);
void ipoib_pair_unlisten(struct ipoib_pair *p);
/* NULL: it is no pair. */
struct ipoib_pair *ipoib_pair_of(uint16_t port_id);

/* --- pair_rss.c */
int ipoib_pair_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int ipoib_pair_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int ipoib_pair_hash_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int ipoib_pair_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);

/* --- pair_stats.c */
/* In all, or since the last reset. */
void ipoib_pair_totals(const struct ipoib_pair *p, bool all, struct tp_ipoib_totals *t);
uint64_t ipoib_pair_dropped(const struct ipoib_pair *p);
int ipoib_pair_stats_get(IPOIB_STATS_GET_ARGS);
int ipoib_pair_stats_reset(struct rte_eth_dev *dev);
int ipoib_pair_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n);
int ipoib_pair_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n);

/* --- pair_burst.c, pair_eth.c */
extern const struct eth_dev_ops ipoib_pair_ops;
uint16_t ipoib_pair_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t ipoib_pair_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);

#endif /* IPOIB_FAILOVER_PAIR_H */
