/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The program's state: options, ports, forwarding. Owned by main; everything here runs on the main lcore. */
#ifndef TRI_APP_H
#define TRI_APP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "cmd.h"
#include "gen.h"
#include "out.h"
#include "rxwait.h"

#define APP_BURST_DEFAULT 32
#define APP_BURST_MAX 512
#define APP_RX_DESC 512
#define APP_TX_DESC 512
#define APP_RING_MIN 64 /* buffers of one ring where a queue has several */
#define APP_MAX_QUEUES 256
#define APP_RING_LEAST 256 /* descriptors that a ring may have, E-6 */
#define APP_RING_MOST 4096
#define APP_MTU_MIN 600
#define APP_MTU_MAX 9600
#define APP_RSS_KEY_MAX 64
#define APP_RSS_QUEUES_MOST 64 /* E-1 */
#define APP_TABLE_MAX 512      /* RTE_ETH_RSS_RETA_SIZE_512 */
#define APP_VLAN_WORDS 64      /* of 64 ids */
#define APP_RESERVATION 150
#define APP_RESERVATION_MOST 5000000 /* E-15 */
#define APP_INTR_QUEUES 32           /* receive queues of a port that have an interrupt each */

struct fwd;
struct roce_port;
struct tp_dcbx_port;
struct app_settings;

enum app_topology {
	APP_TOPOLOGY_PAIRED,  /* 0 <-> 1, 2 <-> 3 */
	APP_TOPOLOGY_CHAINED, /* 0 -> 1 -> 2 -> 0 */
	APP_TOPOLOGY_LOOP,    /* back where it came from */
};

struct app_options {
	uint16_t rxq, txq, rxd, txd, burst, mtu, mbuf_size;
	uint32_t total_mbufs;
	uint64_t rx_offloads, tx_offloads;
	enum app_topology topology;
	const char *mode;
	const char *corelist, *txpkts;
	uint32_t flows;
	uint64_t seed;
	bool no_promisc, interactive, json;
	bool live;
	uint32_t live_seconds;
	const char *file;
	const char *commands[64];
	unsigned int num_commands;
};

struct app_port {
	bool present, configured, started, dirty;
	bool guest; /* a vhost-user port that belongs to a group */
	uint16_t id;
	uint16_t rxq, txq, rxd, txd, mtu; /* mtu 0: the device's own */
	uint16_t rxq_up, txq_up;          /* that are set up now; rxq and txq are what the next start makes */
	uint64_t rx_offloads, tx_offloads;
	uint16_t mtu_made; /* that its buffers were made for */
	bool promisc, allmulti;
	bool allmulti_known, allmulti_fixed; /* whether the device has a switch for it was tried; it has none */
	bool intr;                           /* its receive queues can interrupt */
	struct rxwait_conf wait;             /* how they are waited for */
	unsigned int tx_choice;              /* TP_TXQ_BY_*: how it chooses among its transmit queues, 0: it does not */
	bool burst_buffer;                   /* packets wait in reserves, of so many for each queue */
	uint32_t reservation;
	uint16_t rss_queues;                      /* that RSS spreads over, 0: all */
	uint16_t table[APP_TABLE_MAX], table_len; /* queues that entries of its table have in turn instead; 0: none */
	uint64_t vlans[APP_VLAN_WORDS],
		vlans_put[APP_VLAN_WORDS]; /* that pass its filter, and what the device was told */
	struct rte_eth_dev_info info;
	struct rte_mempool *pool;
	uint64_t rss_hf;
	uint8_t rss_key[APP_RSS_KEY_MAX];
	uint8_t rss_key_len; /* 0: the device's own key */
	unsigned int mode;   /* index of fwd_modes */
	uint32_t work;       /* cycles that each packet of its streams is made to cost */
	uint16_t peer;
	struct rte_ether_addr eth_peer; /* destination in mac, txonly and flowgen modes */
	bool dcbx_on, dcbx_willing;     /* what the user wants */
	uint16_t dcbx_interval, dcbx_hold;
	struct tp_dcbx_port *dcbx; /* while the port is started */
	uint64_t dcbx_untaken;     /* frames of others that came while nobody else polled */
	struct roce_port *roce;    /* NULL: never asked for */
	struct app_flow *flows;    /* cmd_flow.c: rules that were made here */
	uint32_t flow_ids;
};

/* A group of queues with a guest behind it (guest.h). */
#define APP_GUESTS 16
struct app_guest {
	char name[32];  /* of the group, "": free */
	uint16_t port;  /* that has the group */
	uint16_t vhost; /* the guest's */
};

#define APP_POOLS 32
struct app_pool {
	struct rte_mempool *mp;
	int socket;
	uint32_t n;
	bool gen; /* prepared for the generator */
};

struct app {
	struct app_options opt;
	struct cmd_reg *reg;
	struct app_settings *settings;
	struct app_port port[RTE_MAX_ETHPORTS];
	struct app_guest guest[APP_GUESTS];
	struct app_pool pool[APP_POOLS];
	unsigned int num_pools, pool_seq;
	struct gen_conf gen;
	uint16_t burst;
	uint32_t cores[RTE_MAX_LCORE]; /* forwarding lcores in the order of use */
	unsigned int num_cores;
	struct fwd *fwd; /* while forwarding and after, until the next start */
	bool fwd_runs;
	pthread_mutex_t fwd_lock; /* both of them, for telemetry's thread */
	bool json;
	bool quit;
};

/*
 * settings_telemetry.c: a command has control while it runs, but not while it sleeps; who reads settings for others takes it,
 * too. give: whether the caller had it.
 */
void app_control_take(void);
bool app_control_give(void);

/* True when the user or a signal asked for the end. */
bool app_stopping(const struct app *app);
void app_signals(void);

/*
 * One line on stderr; its value is err, a negative errno, for return statements. A macro, so that compilers and
 * analysers of other files see that the value is not 0.
 */
#define app_err(err, ...) (app_err_line(__VA_ARGS__), app_err_value(err))
void app_err_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int
app_err_value(int err)
{
	return err;
}
/* Progress for people: stdout, or stderr when stdout carries JSON. */
void app_say(const struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* options.c: 0, 1 (help was printed), -EINVAL (said why). */
int options_parse(int argc, char **argv, struct app_options *opt);
int options_default_cores(struct app *app);
/* All lcores that may forward: those that take no commands and are no service's. Returns their number. */
unsigned int app_all_cores(uint32_t ids[RTE_MAX_LCORE]);
/* 0, or -EINVAL with a line in err; nothing changed. */
int app_set_cores(struct app *app, const uint32_t *ids, unsigned int n, char *err, size_t len);
extern const char *const app_topology_names[];

/* pool.c: a pool with at least n buffers on a socket; made when there is none large enough. NULL was said, unless it may fail. */
struct rte_mempool *pool_get(struct app *app, int socket, uint32_t n, bool gen, bool may_fail);
void pool_free_all(struct app *app);

/* port.c */
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
/* port_reset.c: logs what happens to a port by itself: its link comes and goes, its device is removed. */
void port_listen(uint16_t id);
/* What to tell of an error of a port's operation: whether its device is gone, or what the error means. */
const char *port_error(uint16_t id, int err);
/*
 * Brings ports back by a reset of their devices, with settings, groups, rules and tables; those that were started are started
 * again. 0 or a negative errno, which was said; ports whose device does not come back are stopped then.
 */
int ports_reset(struct app *app, const uint32_t *ids, unsigned int n);
/* port_table.c: the pool that all ports receive into; NULL: which was said. */
struct rte_mempool *ports_pool(struct app *app, int socket);
/* Gives a started port a redirection table of info.reta_size entries. 0 or a negative errno; the port has the old one then. */
int port_reta_put(struct app *app, const struct app_port *p, struct rte_eth_rss_reta_entry64 *reta);
/* What to tell of its errors. */
const char *port_table_error(int err);
/* The table that it was given, or that spreads over rss_queues, or all; 0 where there is nothing to spread. */
int port_spread(struct app *app, const struct app_port *p);
/* cmd_rss.c: n 0: the default. A stopped port keeps it for its start. 0, or a negative errno with a line in err. */
int port_table_set(struct app *app, struct app_port *p, const uint16_t *queue, uint16_t n, char *err, size_t len);
/* The started port has the table that it was given. */
int port_table_put(struct app *app, struct app_port *p, char *err, size_t len);
/* cmd_port_filter.c: VLANs that pass the filter, also while there is none; tells the device once it has one. */
int port_vlans_set(struct app_port *p, const uint64_t vlans[APP_VLAN_WORDS]);
int port_vlans_put(struct app_port *p);
/* cmd_flow.c: the port's rules are gone. */
void flows_forget(struct app_port *p);
/* 0, or -EBUSY with a line in err. */
int port_check_stopped(const struct app *app, const struct app_port *p, char *err, size_t len);
void ports_topology(struct app *app, enum app_topology topology);
/* The peers of the ports that are there, as a topology has them. */
void ports_peers(struct app *app, enum app_topology topology, uint16_t peers[RTE_MAX_ETHPORTS]);
unsigned int ports_list(void *app, uint32_t ids[CMD_MAX_LIST]);
extern const struct app_offload {
	const char *name;
	uint64_t bit;
	const char *setting, *vendor, *help; /* as a setting */
} app_rx_offloads[], app_tx_offloads[];
extern const unsigned int app_num_rx_offloads, app_num_tx_offloads;

/* Command tables. */
int commands_register(struct app *app);
int cmd_general_register(struct app *app);
int cmd_port_register(struct app *app);
int cmd_port_filter_register(struct app *app);
int cmd_fwd_register(struct app *app);
int cmd_show_register(struct app *app);
int cmd_perf_register(struct app *app);
int cmd_rss_register(struct app *app);
int cmd_flow_register(struct app *app);
int cmd_device_register(struct app *app);
int cmd_dcbx_register(struct app *app);
int cmd_qos_register(struct app *app);
int cmd_roce_register(struct app *app);
int cmd_roce_qp_register(struct app *app);
int cmd_roce_capture_register(struct app *app);
int cmd_ib_register(struct app *app);
int cmd_ib_show_register(struct app *app);
int cmd_sm_register(struct app *app);
int cmd_ipoib_register(struct app *app);
int cmd_ipoib_pair_register(struct app *app);
/* The IPoIB port that carries for a pair; another port itself. */
uint16_t ipoib_pair_carrier(uint16_t id);
int cmd_switch_register(struct app *app);

/* console.c */
int console_string(struct app *app, const char *text, const char *where);
int console_file(struct app *app, const char *path);
int console_interact(struct app *app);

/* live.c: tables each second until the time is over (0: no end), a key or a signal. */
int live_run(struct app *app, uint32_t seconds);
void live_summary(struct app *app, bool json);
/* Sets the counters of a port to zero; table and summary go on from where they were. */
int live_clear(const struct app *app, uint16_t port, bool xstats);
/* Waits without missing a signal; false when the program is asked to end. */
bool app_sleep_ms(const struct app *app, unsigned int ms);

#endif /* TRI_APP_H */
