/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The network side of an open RoCE port: its addresses and GIDs (gid.c), its neighbours (neigh.c), its paths (path.c). */
#ifndef TP_ROCE_NET_H
#define TP_ROCE_NET_H

#include "provider.h"

/* With the port; the table is given to the provider's set_gids. 0 or a positive errno. */
int tp_roce_net_init(struct tp_roce_dev *dev);
void tp_roce_net_fini(struct tp_roce_dev *dev);
/* Requests that are due again, addresses of the kernel's interface. The port's thread. Returns how much was done. */
unsigned int tp_roce_net_progress(struct tp_roce_dev *dev, uint64_t now_ns);
/* ARP and neighbour discovery: takes what is for the port's addresses and answers; as tp_roce_input. */
uint16_t tp_roce_net_input(struct tp_roce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns);

/* Counters of the network side, as tp_roce_stats. */
void tp_roce_net_stats(struct tp_roce_dev *dev, tp_roce_stat_fn fn, void *arg);

/* An entry of the GID table. false: no such entry, or empty. */
bool tp_roce_gid_get(struct tp_roce_dev *dev, uint32_t index, struct tp_roce_gid *gid);
/* The entry with this GID, type and VLAN; -1: none. */
int tp_roce_gid_find(struct tp_roce_dev *dev, const union ibv_gid *gid, enum ibv_gid_type type, uint16_t vlan);

/*
 * The path that an address vector describes; without waiting. sport: 0 is the one of the queue pair's or handle's hash.
 * 0; EINPROGRESS: the neighbour was asked; EHOSTUNREACH: it does not answer, or there is no route; EINVAL with a line that
 * names the attribute. A multicast GID has the MAC of RFC 1112 or 2464.
 */
int tp_roce_path_resolve(struct tp_roce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
			 struct tp_roce_path *path);
void tp_roce_mcast_mac(const union ibv_gid *gid, struct rte_ether_addr *mac);
/*
 * The UDP source port of a flow label; where that is 0, of the label that Linux computes of the queue pairs' numbers. A
 * queue pair whose application chose no port has this one.
 */
uint16_t tp_roce_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);

/* The largest RoCE MTU that fits an Ethernet MTU with all headers: 256..4096, 0: none does. */
uint16_t tp_roce_mtu_fit(uint16_t eth_mtu);

#endif /* TP_ROCE_NET_H */
