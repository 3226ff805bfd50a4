/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The network side of an open RoCE port: its addresses and GIDs (gid.c), its neighbours (neigh.c), its paths (path.c). */
#ifndef ROCE_NET_NET_H
#define ROCE_NET_NET_H

#include "lib/roce/port/provider.h"

/*
 * Addresses and neighbours of a port. init gives the provider's set_gids the table. input answers ARP and neighbour
 * discovery; progress sends requests that are due again and follows addresses of the kernel's interface.
 */
extern const struct troce_side_ops troce_net_side;

/* An entry of the GID table. false: no such entry, or empty. */
bool troce_gid_get(struct troce_dev *dev, uint32_t index, struct troce_gid *gid);
/* The entry with this GID, type and VLAN; -1: none. */
int troce_gid_find(struct troce_dev *dev, const union ibv_gid *gid, enum ibv_gid_type type, uint16_t vlan);

/*
 * The path that an address vector describes; without waiting. sport: 0 is the one of the queue pair's or handle's hash; service:
 * RDMA port of the connection, by which the port's rules find its priority, 0: none.
 * 0; EINPROGRESS: the neighbour was asked; EHOSTUNREACH: it does not answer, or there is no route; EINVAL with a line that
 * names the attribute. A multicast GID has the MAC of RFC 1112 or 2464.
 */
int troce_path_resolve(struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, uint16_t service,
		       struct troce_path *path);
/* A network of the port's has the destination, or there is a router for it. False, too, where the entry of the table is empty. */
bool troce_routed(struct troce_dev *dev, uint32_t sgid_index, const union ibv_gid *dgid);
void troce_mcast_mac(const union ibv_gid *gid, struct rte_ether_addr *mac);
/*
 * The UDP source port of a flow label; where that is 0, of the label that Linux computes of the queue pairs' numbers. A
 * queue pair whose application chose no port has this one.
 */
uint16_t troce_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);

/*
 * Ports are shared from now on, or no more; calls count. Meanwhile connections of TCP to addresses that ports have by themselves are
 * refused where no program takes them.
 */
void troce_refuse_tcp(bool on);
/* Connections of a program that is gone, and whose queue pair and rules are, too: their peers hear of it soon. */
struct troce_tcp_pair {
	rte_be32_t local_ip, remote_ip;
	rte_be16_t local_port, remote_port;
};
void troce_tcp_ended(struct troce_dev *dev, const struct troce_tcp_pair *pair, unsigned int n);

/* The largest RoCE MTU that fits an Ethernet MTU with all headers: 256..4096, 0: none does. */
uint16_t troce_mtu_fit(uint16_t eth_mtu);

#endif /* ROCE_NET_NET_H */
