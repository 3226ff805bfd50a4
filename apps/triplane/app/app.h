/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The program's state: options, ports, forwarding. Owned by main; commands run on the main lcore. */
#ifndef TRIPLANE_APP_APP_H
#define TRIPLANE_APP_APP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "apps/triplane/cli/cmd.h"
#include "apps/triplane/traffic/gen.h"
#include "apps/triplane/cli/out.h"
#include "apps/triplane/traffic/rxwait.h"

#define APP_BURST_DEFAULT 32
#define APP_BURST_MAX 512
#define APP_IDLE_SLEEP_MAX 100000 /* us */
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
#define APP_MCAST_MOST 1024    /* multicast addresses of a port, E-7 */
#define APP_VLAN_WORDS 64      /* of 64 ids */
#define APP_RESERVATION 150
#define APP_RESERVATION_MOST 5000000 /* E-15 */
#define APP_INTR_QUEUES 32           /* receive queues of a port that have an interrupt each */

struct fwd;
struct kernel_port;
struct roce_port;
struct tp_dcbx_port;
struct app_settings;

enum app_topology {
	APP_TOPOLOGY_PAIRED,  /* 0 <-> 1, 2 <-> 3 */
	APP_TOPOLOGY_CHAINED, /* 0 -> 1 -> 2 -> 0 */
	APP_TOPOLOGY_LOOP,    /* back where it came from */
	APP_TOPOLOGIES,
};

struct app_options {
	uint16_t rxq, txq, rxd, txd, burst, mtu, mbuf_size;
	uint32_t total_mbufs;
	uint64_t rx_offloads, tx_offloads;
	enum app_topology topology;
	unsigned int mode; /* index of fwd_modes */
	const char *corelist, *txpkts;
	uint32_t flows;
	uint64_t seed;
	bool no_promisc, interactive;
	bool json, json_array; /* array: its documents are elements of one */
	bool live;
	bool wait; /* for a signal, in the end */
	uint32_t live_seconds;
	const char *file;
	const char *commands[64];
	unsigned int num_commands;
};

struct app_port {
	bool present, configured, started, dirty;
	bool recovering; /* its driver restarts it; set by the thread that tells of it */
	bool guest;      /* a vhost-user port that belongs to a group */
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
		vlans_put[APP_VLAN_WORDS];           /* that pass its filter, and what the device was told */
	struct rte_ether_addr mcast[APP_MCAST_MOST]; /* that it receives, in order */
	unsigned int mcast_num;
	bool mcast_lldp;          /* and that of LLDP */
	uint8_t sums_tx, sums_rx; /* SWAP_*: of the checksums in its offloads, those that its device makes and checks */
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
	struct tp_dcbx_port *dcbx;  /* while the port is started */
	uint64_t dcbx_untaken;      /* frames of others that came while nobody else polled */
	struct roce_port *roce;     /* NULL: never asked for */
	struct kernel_port *kernel; /* NULL: it has no interface of the kernel */
	struct app_flow *flows;     /* flow_rules.h: rules that were made here */
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
	uint32_t idle_sleep;           /* us, of lcores to which nothing comes */
	uint32_t cores[RTE_MAX_LCORE]; /* forwarding lcores in the order of use */
	unsigned int num_cores;
	struct fwd *fwd; /* while forwarding and after, until the next start */
	bool fwd_runs;
	pthread_mutex_t fwd_lock; /* both of them, for telemetry's thread */
	bool json;
	bool quit;
};

/* say.c: a command has control while it runs, but not while it sleeps; who reads settings for others takes it, too. */
void app_control_take(void);
/* Whether the caller had it. */
bool app_control_give(void);
/* Takes it within so many seconds, or does not: false. */
bool app_control_ask(unsigned int seconds);

/* True when the user or a signal asked for the end. */
bool app_stopping(const struct app *app);
/* After a command at a prompt: one Ctrl-C ended that command and nothing else. False: there was none, or the program ends. */
bool app_resume(const struct app *app);
void app_signals(void);
/* Waits without missing a signal; false when the program is asked to end. */
bool app_sleep_ms(const struct app *app, unsigned int ms);

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
/* From now on the last such line of this thread goes into text, which begins empty, and not to stderr; NULL: no longer. */
void app_err_catch(char *text, size_t len);
/* Progress for people: stdout, or stderr when stdout carries JSON. */
void app_say(const struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The program's log: what happened, by a name that is the same in all versions. */
void app_event(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* cores.c: all lcores that may forward, those that take no commands and are no service's. Returns their number. */
unsigned int app_all_cores(uint32_t ids[RTE_MAX_LCORE]);
/* 0, or -EINVAL with a line in err; nothing changed. */
int app_set_cores(struct app *app, const uint32_t *ids, unsigned int n, char *err, size_t len);

#endif /* TRIPLANE_APP_APP_H */
