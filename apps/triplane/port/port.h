/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports: their life, tables, filters and buffers. */
#ifndef TRIPLANE_PORT_PORT_H
#define TRIPLANE_PORT_PORT_H

#include "apps/triplane/app/app.h"

extern const char *const app_topology_names[APP_TOPOLOGIES];
extern const struct app_offload {
	const char *name;
	uint64_t bit;
	const char *setting, *vendor, *help; /* as a setting */
} app_rx_offloads[], app_tx_offloads[];
extern const unsigned int app_num_rx_offloads, app_num_tx_offloads;

void ports_init(struct app *app);
/* A port that came while the program runs, with the program's options. */
void port_add(struct app *app, uint16_t id);
int port_start(struct app *app, struct app_port *p);
int port_stop(struct app *app, struct app_port *p);
int port_close(struct app *app, struct app_port *p);
/* DPDK's bonding driver, which stops the ports of a bond with it: a bond goes before them. */
bool port_is_bond(const struct app_port *p);
/* Whether the port, while it is started, surely takes this MTU. */
bool port_mtu_live(const struct app *app, const struct app_port *p, uint16_t mtu);
/* 0, or -EBUSY with a line in err. */
int port_check_stopped(const struct app *app, const struct app_port *p, char *err, size_t len);
void ports_topology(struct app *app, enum app_topology topology);
/* The peers of the ports that are there, as a topology has them. */
void ports_peers(struct app *app, enum app_topology topology, uint16_t peers[RTE_MAX_ETHPORTS]);
unsigned int ports_list(void *app, uint32_t ids[CMD_MAX_LIST]);

/* --- port_reset.c ----------------------------------------------------------------------------------------------- */

/* Logs what happens to a port by itself: its link comes and goes, its device is removed. */
void port_listen(struct app_port *p);
/* Waits until its driver has restarted it, if that is under way. */
void port_settle(const struct app_port *p);
/* What to tell of an error of a port's operation: whether its device is gone, or what the error means. */
const char *port_error(uint16_t id, int err);
/*
 * Brings ports back by a reset of their devices, with settings, groups, rules and tables; those that were started are started
 * again. 0 or a negative errno, which was said; ports whose device does not come back are stopped then.
 */
int ports_reset(struct app *app, const uint32_t *ids, unsigned int n);

/* --- port_table.c: redirection tables and their buffers ---------------------------------------------------------- */

/* The pool that all ports receive into; NULL: which was said. */
struct rte_mempool *ports_pool(struct app *app, int socket);
/* Gives a started port a redirection table of info.reta_size entries. 0 or a negative errno; the port has the old one then. */
int port_reta_put(struct app *app, const struct app_port *p, struct rte_eth_rss_reta_entry64 *reta);
/* What to tell of its errors. */
const char *port_table_error(int err);
/* The table that it was given, or that spreads over rss_queues, or all; 0 where there is nothing to spread. */
int port_spread(struct app *app, const struct app_port *p);
/* n 0: the default. A stopped port keeps it for its start. 0, or a negative errno with a line in err. */
int port_table_set(struct app *app, struct app_port *p, const uint16_t *queue, uint16_t n, char *err, size_t len);
/* The started port has the table that it was given. */
int port_table_put(struct app *app, struct app_port *p, char *err, size_t len);

/* The port lacks that receive queue: says so, and what gives it more. -EINVAL. */
int port_queue_refuse(const struct app_port *p, const char *what, unsigned int queue, char *err, size_t len);
/* What gives a port so many receive queues. */
const char *port_queues_advice(const struct app_port *p, unsigned int queues, char *buf, size_t len);

/* --- taken.c: what a port takes in --------------------------------------------------------------------------- */

/* Another MTU, asked for by other than a command. 0, or a negative errno with a line in err. */
int port_mtu_put(struct app_port *p, uint16_t mtu, char *err, size_t len);
/* Tells the device what the user wants, or the kernel's interface does. 0 or a negative errno. */
int port_promisc_put(const struct app_port *p, bool user);
int port_allmulti_put(const struct app_port *p, bool user);

/* VLANs that pass the filter, also while there is none. */
int port_vlans_set(struct app_port *p, const uint64_t vlans[APP_VLAN_WORDS]);
/* Tells the device once it has a filter. */
int port_vlans_put(struct app_port *p);

static inline uint64_t
port_mac_num(const struct rte_ether_addr *mac)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		v = v << 8 | mac->addr_bytes[i];
	return v;
}

static inline void
port_mac_of(uint64_t v, struct rte_ether_addr *mac)
{
	unsigned int i;

	for (i = RTE_ETHER_ADDR_LEN; i > 0; i--, v >>= 8)
		mac->addr_bytes[i - 1] = (uint8_t)v;
}

/* What may be listed: broadcast comes anyway. */
static inline bool
port_mcast_ok(const struct rte_ether_addr *mac)
{
	return rte_is_multicast_ether_addr(mac) && !rte_is_broadcast_ether_addr(mac);
}

/* Puts n addresses in order, each once. Their number. */
unsigned int port_mcast_sort(struct rte_ether_addr *mac, unsigned int n);
bool port_mcast_has(const struct app_port *p, const struct rte_ether_addr *mac);
/* The port receives these n addresses, at most APP_MCAST_MOST. 0 or a negative errno, and nothing changed. */
int port_mcast_set(struct app_port *p, const struct rte_ether_addr *mac, unsigned int n);
/* Tells the device which they are. */
int port_mcast_put(const struct app_port *p);

/* --- pool.c ------------------------------------------------------------------------------------------------------ */

/* A pool with at least n buffers on a socket; made when there is none large enough. NULL was said, unless it may fail. */
struct rte_mempool *pool_get(struct app *app, int socket, uint32_t n, bool gen, bool may_fail);
void pool_free_all(struct app *app);

#endif /* TRIPLANE_PORT_PORT_H */
