/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The HCA core: one struct mlx4_hca owns a card. Ethernet, RoCE and DCB are clients of it.
 *
 * Life: mlx4_hca_open resets the card, boots the firmware, maps ICM, makes the EQs; mlx4_hca_close is the exact
 * reverse and leaves the card reset. Nothing here is on a datapath; calls are serialised by the hca's own lock where
 * they touch shared state. Errors are negative errno.
 */
#ifndef MLX4_HCA_HCA_H
#define MLX4_HCA_HCA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_ether.h>
#include <rte_memzone.h>
#include <rte_spinlock.h>

#include "drivers/mlx4/bus/bus.h"
#include "drivers/mlx4/bus/log.h"
#include "lib/quirk/quirk.h"
#include "mlx4_prm.h"
#include "mlx4_prm_cc.h"
#include "mlx4_prm_cmd.h"
#include "mlx4_prm_ctx.h"
#include "mlx4_prm_ib.h"
#include "mlx4_prm_qos.h"
#include "mlx4_prm_regs.h"
#include "mlx4_prm_wqe.h"

#define MLX4_MAX_PORTS 2
#define MLX4_RX_EQS_PORT 32 /* most completion EQs for the receive queues of a port */

/* What the firmware said about itself and the limits that follow; in plain numbers. */
struct mlx4_caps {
	uint16_t fw_major, fw_minor, fw_subminor;
	uint64_t catas_off, clock_off;
	uint32_t catas_dwords, fw_pages, max_cmds;
	uint16_t cmd_if_rev;
	uint8_t num_ports;
	uint64_t flags; /* enum mlx4_dev_flag bits */
	uint32_t rsvd_qps, rsvd_cqs, rsvd_mpts, rsvd_mtts, rsvd_srqs, rsvd_eqs, rsvd_uars, rsvd_pds;
	uint32_t sys_eqs; /* EQs that the firmware shares out, 0: all are ours */
	uint32_t max_qps, max_cqs, max_eqs, max_mpts;
	uint32_t max_qp_wqes, max_cqes, max_sq_sge, max_sq_desc, max_rq_sge, max_rq_desc;
	uint32_t max_gso; /* bytes, 0: none */
	uint32_t max_rss; /* entries of an RSS table, 0: none */
	bool rss_toeplitz, rss_xor, udp_rss, dmfs, bf, vxlan, pfc_counters, cq_timestamp, ets, config_dev, ignore_fcs;
	uint32_t bf_reg_size, bf_regs_page;
	uint32_t num_uars;
	uint16_t dmfs_max_qps; /* QPs of one steering entry */
	bool update_qp, lb_src_check;
	bool recover_event;  /* tells of recoverable errors */
	bool port_mng_event; /* tells what the subnet manager changed */
	bool roce, roce_v2;  /* RDMA over Ethernet: at all, over UDP too */
	bool dcqcn, qcn;     /* congestion control of RoCE v2; 802.1Qau */
	bool mw, mw2, mw2b;  /* memory windows: at all, type 2, bound to a queue pair */
	bool local_inv, fast_reg, diag_port;
	bool beacon;           /* a port's light can blink */
	bool eth_speeds;       /* the register of a port's types and speeds */
	uint16_t static_rates; /* bit n: code n of a path's rate */
	uint16_t num_qp_rates; /* rate limits of queue pairs, 0: none */
	uint32_t max_srq_wqes, max_rdma_req, max_rdma_rsp, ack_delay, lg_max_msg;
	uint16_t sz_qpc, sz_rdmarc, sz_altc, sz_auxc, sz_srqc, sz_cqc, sz_eqc, sz_cmpt, sz_mtt, sz_dmpt;
	uint64_t max_icm;
	uint32_t max_counters;
	char board_id[MLX4_ADAPTER_BOARD_ID_LEN + 1];
};

/* What QUERY_PORT says. */
struct mlx4_port_info {
	bool link_up, type_eth, type_ib, suggested_eth, autoneg, autoneg_done;
	uint16_t eth_mtu; /* largest L3 MTU */
	uint32_t speed;   /* Mb/s, 0: link down or unknown */
	uint64_t mac;     /* 48 bits */
	uint8_t lg_macs, lg_vlans, max_tc;
	uint8_t lg_pkeys, lg_gids; /* of InfiniBand */
};

/* Pause frames of a port: 802.3x, or 802.1Qbb by priority (bit n: priority n); a direction has one of both. */
struct mlx4_pause {
	bool rx, tx;            /* honour, send */
	uint8_t rx_pfc, tx_pfc; /* bits */
};

/* Where memory comes from that is not a memzone: zeroed, its IO address that of this process. */
struct mlx4_dma_pool {
	void *(*get)(void *arg, size_t len, size_t align);
	void (*put)(void *arg, void *mem, size_t len);
	void *arg;
};

/* DMA memory that the card can see: a memzone, or of a pool. */
struct mlx4_dma {
	const struct rte_memzone *mz;
	struct mlx4_dma_pool pool; /* get NULL: of none */
	void *va;
	uint64_t iova;
	size_t len;
};

struct mlx4_cq {
	uint32_t cqn;
	uint32_t entries; /* power of two */
	struct mlx4_dma buf;
	struct mlx4_cqe *cqes;
	volatile rte_be32_t *dbrec; /* MLX4_CQ_DBREC_* */
	uint32_t uar;               /* page index */
	int vector;                 /* interrupt vector, -1: none */
	struct mlx4_dma first; /* the ring before the first other size, while it has the doorbell record; else empty */
	uint64_t mtt_off;
	uint32_t mtt_pages;
};

struct mlx4_qp_attr {
	unsigned int port;   /* 1..2 */
	uint32_t sq_txbbs;   /* 64-byte blocks, power of two, 0: no send queue */
	uint32_t rq_entries; /* power of two, 0: no receive queue */
	uint32_t rq_stride;  /* bytes, power of two >= 16 */
	struct mlx4_cq *scq, *rcq;
	uint32_t uar;
	bool vlan_strip, keep_fcs;
	uint16_t delay_drop; /* how long frames wait for a receive WQE, see mlx4_qp_delay_drop */
	int numa_node;
};

struct mlx4_qp {
	uint32_t qpn;
	enum mlx4_qp_state state;
	struct mlx4_dma buf;        /* NULL mz for an RSS parent */
	uint8_t *sq, *rq;           /* ring addresses in buf */
	volatile rte_be32_t *dbrec; /* receive doorbell record */
	struct mlx4_dma db;
	uint64_t mtt_off;
	uint32_t mtt_pages;
	uint8_t ctx[MLX4_QPC_SIZE]; /* for the next transition */
};

/* A queue pair with a transport. */
struct mlx4_vqp_attr {
	unsigned int port;
	bool ib;         /* the port is InfiniBand */
	uint8_t service; /* enum mlx4_qp_service */
	uint32_t pd;
	uint32_t cqn_send, cqn_recv, uar;
	uint8_t lg_sq, lg_sq_stride; /* strides, bytes of a stride (6 or more) */
	uint8_t lg_rq_stride;        /* bytes (4 or more) */
	uint32_t rq_entries;         /* power of two, 0: none of its own */
	bool srq;
	uint32_t srqn;
	int numa_node;
	const struct mlx4_dma_pool *pool; /* of the rings, NULL: none */
};

struct mlx4_srq {
	uint32_t srqn;
	uint32_t entries, stride; /* powers of two */
	struct mlx4_dma buf;
	uint8_t *wqes;
	volatile rte_be32_t *dbrec;
	uint64_t mtt_off;
	uint32_t mtt_pages;
};

/* A memory key: of a region, or of a window over one. */
struct mlx4_mkey {
	uint32_t index, key;
	uint64_t mtt_off;
	uint32_t mtt_pages; /* 0: a window */
};

struct mlx4_rss_attr {
	unsigned int port;
	uint32_t base_qpn; /* of 1 << lg_rings consecutive ring QPs */
	uint8_t lg_rings;
	uint8_t fn;    /* MLX4_RSS_FN_* */
	uint8_t flags; /* MLX4_RSS_F_* */
	uint32_t default_qpn;
	uint8_t key[MLX4_RSS_KEY_SIZE];
	struct mlx4_cq *cq; /* ring 0's */
};

/* PortInfo (14.2.5.6), in its own codes. */
struct mlx4_port_ib_info {
	uint64_t prefix;
	uint32_t cap_mask;
	uint16_t lid, sm_lid, bad_pkeys, bad_qkeys;
	uint8_t width, speed, ext_speed, state, phys_state, lmc, mtu, mtu_cap, sm_sl, vl_cap, init_reply, guids,
		subnet_timeout;
};

/* Where a management datagram came from. */
#define MLX4_MAD_GRH_SIZE 40u
struct mlx4_mad_from {
	uint32_t my_qpn, remote_qpn;
	uint16_t slid, pkey_index;
	uint8_t sl, path_bits;
	const void *grh; /* MLX4_MAD_GRH_SIZE bytes, NULL: none */
};

/* An entry of a port's GID table; zeros: it is empty. */
struct mlx4_gid {
	uint8_t gid[MLX4_GID_SIZE];
	bool v2;
};

struct mlx4_cmd_if;
struct mlx4_history;
struct mlx4_icm;
struct mlx4_eq;
struct mlx4_numbers; /* allocator of object numbers */

#define MLX4_OWN_VECTORS 32u /* of other processes */
struct mlx4_hca;
/* An entry of the asynchronous EQ; seq: its number there, counted from 0. An event of the driver's own has none. */
struct mlx4_async_event {
	const uint8_t *eqe;
	uint64_t seq;
	uint8_t type;
};
typedef void (*mlx4_event_fn)(struct mlx4_hca *hca, unsigned int port, const struct mlx4_async_event *e, void *arg);
/* Who uses a port. */
enum mlx4_client { MLX4_CLIENT_ETH, MLX4_CLIENT_ROCE, MLX4_CLIENTS };
struct mlx4_eth_args; /* of port/port.h */
struct mlx4_client_ops {
	/* Of a port of a card that was opened; nothing to do when the port is of another type. */
	int (*create)(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args);
	/* The port's card is about to go: takes back from it whatever is left there. Nothing may be left that it knows. */
	void (*down)(struct mlx4_hca *hca, unsigned int port);
	/* The card is back, under the same ports; NULL: it does not matter. */
	int (*up)(struct mlx4_hca *hca, unsigned int port);
	/* All ports of a device, and with the last reference the card. */
	int (*remove)(const struct rte_device *dev);
};

struct mlx4_hca {
	struct mlx4_bus *bus;
	struct mlx4_caps caps;
	struct mlx4_quirks quirks; /* what this card is expected to be */
	uint64_t node_guid;
	struct mlx4_cmd_if *cmd;
	struct mlx4_icm *icm;
	struct mlx4_eq *async_eq;
	struct mlx4_eq **comp_eq; /* one per port for its verbs queues, then one per Rx interrupt vector */
	unsigned int num_comp_eq, num_verbs_eq, num_own_eq, own_eqn; /* own_eqn: of the first */
	struct {
		struct mlx4_eq *eq; /* NULL: nobody has it */
		const void *owner;
		unsigned int port; /* of the owner */
	} own_eq[MLX4_OWN_VECTORS];
	unsigned int
		num_vectors; /* that are connected: the asynchronous EQ's, behind it those of comp_eq in their order */
	struct mlx4_numbers *qpns, *cqns, *srqns, *mpts, *mtts, *uars, *pds;
	uint8_t key_byte;                   /* of the last memory key */
	uint32_t pd, rules[MLX4_MAX_PORTS]; /* the core's own domain; steering rules of each port */
	uint32_t pa_key; /* key of the region that covers all DMA windows, physical addressing: lkey of every WQE */
	struct mlx4_port_info port[MLX4_MAX_PORTS];
	struct mlx4_pause pause[MLX4_MAX_PORTS]; /* as the card was told, or will be with the port's start */
	uint8_t numa_node;
	bool up;                            /* from the end of bring-up to the begin of teardown, dead or not */
	bool dead;                          /* a command timed out or the card reported a catastrophic error */
	bool quiet;                         /* in reset: the card touches no memory */
	bool gone;                          /* nothing answered the last reset */
	uint64_t qp_errors;                 /* queue pairs that the card said went to the error state */
	uint64_t cmd_timeouts, lost_events; /* commands never answered; events of which nobody was told in time */
	uint64_t cmd_failures;              /* commands that the firmware refused or did not answer */
	struct mlx4_history *history;       /* history.h; NULL: nothing is kept */
	struct mlx4_trace *trace;           /* bus/trace.h; NULL: none */
	rte_spinlock_t lock;
	struct {
		mlx4_event_fn fn;
		void *arg;
		unsigned int busy; /* it is running */
	} event[MLX4_MAX_PORTS][MLX4_CLIENTS];
	pthread_mutex_t shared; /* of what follows: settings that the ports of the card share */
	struct {
		uint16_t udp_port; /* of VXLAN */
		uint8_t users;     /* bit n: port n */
	} tunnel;
	struct {
		uint8_t version;                       /* that the port's home of RoCE uses, 1 or 2; 0: none is open */
		struct mlx4_gid gid[MLX4_GID_ENTRIES]; /* as the card was told */
	} roce[MLX4_MAX_PORTS];
	unsigned int refs;    /* ethdevs and InfiniBand ports */
	uint8_t ib_ports;     /* bit 0: port 1 is InfiniBand, bit 1: port 2 */
	uint8_t sensed_ports; /* likewise: nobody asked for a type of the port, which can have both */
	uint32_t special_qp_base;
	struct mlx4_events *events;            /* event.c's own */
	void (*on_dead)(struct mlx4_hca *hca); /* told that the card died; NULL: nobody */
	struct mlx4_dma *fw_area;              /* pieces given to the firmware */
	unsigned int num_fw_area;
	TAILQ_ENTRY(mlx4_hca) next;
};

/*
 * Called for the events of a port (port change) and, with every port in turn, for those of the card (queue errors,
 * fatal error), from the interrupt thread. After the return with NULL the port's function does not run any more; so
 * it may not be called from within that function.
 */
void mlx4_hca_on_event(struct mlx4_hca *hca, unsigned int port, enum mlx4_client client, mlx4_event_fn fn, void *arg);
/*
 * The seq of the card's next event. Each event that the card wrote before the last command of this thread was done has a lower one,
 * even if no function was called for it yet. So who resets an object knows later which of its events are of the time before.
 */
uint64_t mlx4_events_seq(struct mlx4_hca *hca);
/* The EQ's part of arming a receive interrupt: what is in the EQ is taken, each CQ's event told, the EQ re-armed. */
typedef void (*mlx4_cq_event_fn)(void *arg, uint32_t cqn);
void mlx4_comp_eq_rearm(struct mlx4_hca *hca, unsigned int vector, mlx4_cq_event_fn fn, void *arg);
/* Has the interrupt thread look whether an event waits of which it was not told, and then take it; lost_events says so. */
void mlx4_events_check(struct mlx4_hca *hca);
/*
 * Connects the vectors of receive queues, too, for the first port that wants receive interrupts: others are spared them, since the
 * kernel (and a hypervisor in front of it) sets each up on its own. 0 or a negative errno, which was said.
 */
int mlx4_rx_vectors_connect(struct mlx4_hca *hca);
/* Vector of a port's verbs queues; -1: none. */
static inline int
mlx4_verbs_vector(const struct mlx4_hca *hca, unsigned int port)
{
	return port <= hca->num_verbs_eq ? (int)port - 1 : -1;
}
/* The variant, 0: a. */
static inline uint8_t
mlx4_quirk(const struct mlx4_hca *hca, enum mlx4_quirk_id id)
{
	return hca->quirks.v[id];
}
/*
 * A vector of CQs of another process, whose interrupts go to fd, which stays open until it is given back; its CQs go before it.
 * owner: an address of nobody else. -ENOSPC: all are taken, or the bus has none to lend. A card that was down has none any more.
 */
int mlx4_own_vector_get(struct mlx4_hca *hca, unsigned int port, const void *owner, int fd, int *vector);
void mlx4_own_vector_put(struct mlx4_hca *hca, const void *owner, int vector);
/* How many objects there can be, with those of the firmware; powers of two. */
struct mlx4_limits {
	uint32_t qps, cqs, srqs, keys, pds, mtts;
};
void mlx4_hca_limits(const struct mlx4_hca *hca, struct mlx4_limits *limits);
/* Objects in use, event queues and commands executed, for reports. */
void mlx4_hca_usage(struct mlx4_hca *hca, struct mlx4_limits *used, uint32_t *eqs, uint64_t *commands);
enum mlx4_object { MLX4_OBJ_QP, MLX4_OBJ_CQ, MLX4_OBJ_SRQ, MLX4_OBJ_KEY, MLX4_OBJ_PD, MLX4_OBJ_UAR, MLX4_OBJS };
/* Objects that were taken are those of a port from now on, for reports; what nobody says that of is the card's. */
void mlx4_belongs(struct mlx4_hca *hca, enum mlx4_object what, uint32_t first, uint32_t n, unsigned int port);
struct mlx4_port_usage {
	uint32_t object[MLX4_OBJS], eqs, rules;
};
void mlx4_hca_port_usage(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_usage *used);

struct mlx4_hca_config {
	bool check_fw; /* refuse firmware below the supported versions */
	bool poll_cmd; /* stay with polled commands */
	struct mlx4_quirks quirks;
	const char *trace; /* path of a file that takes what is done to the card; NULL or "": none */
};

/* --- life (life/life.c) --- */
/* A card whose GUID another open card has is refused: the two would answer to the same addresses. */
int mlx4_hca_open(struct mlx4_bus *bus, const struct mlx4_hca_config *cfg, struct mlx4_hca **out);
void mlx4_hca_close(struct mlx4_hca *hca);
/* Drops one port's reference; the last one closes the card and its bus. */
void mlx4_hca_put(struct mlx4_hca *hca);
/*
 * Resets a card that was given up and brings it up again, with the same ports and event functions. No object of a client
 * may be left. On failure (negative errno, with a line that says why) it stays given up; another try is allowed. Not from
 * the interrupt thread.
 */
int mlx4_hca_revive(struct mlx4_hca *hca, const struct mlx4_hca_config *cfg);

/* --- clients (life/client.c) --- */
/* Before any card is opened. */
void mlx4_client_register(enum mlx4_client client, const struct mlx4_client_ops *ops);
/* All ports of a card that was opened. On failure some may be there: remove them. */
int mlx4_clients_create(struct mlx4_hca *hca, const struct mlx4_eth_args *args);
/* Around mlx4_hca_revive(); up goes on after a failure, and returns the first. */
void mlx4_clients_down(struct mlx4_hca *hca);
int mlx4_clients_up(struct mlx4_hca *hca);
/* The port is closed by its owner: the other clients of it go down. */
void mlx4_clients_leave(struct mlx4_hca *hca, unsigned int port, enum mlx4_client owner);
int mlx4_clients_remove(const struct rte_device *dev);

/* --- commands (cmd.c): MLX4_CMD(...) carries opcode and mailbox kinds --- */
int mlx4_cmd(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, const void *in,
	     size_t in_len, void *out, size_t out_len);
int mlx4_cmd_imm(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, uint64_t in,
		 uint64_t *out);

/* --- memory (dma.c) --- */
int mlx4_dma_alloc(struct mlx4_hca *hca, const char *what, size_t len, size_t align, int numa_node, struct mlx4_dma *d);
/* pool NULL: as mlx4_dma_alloc(). */
int mlx4_dma_alloc_of(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, const char *what, size_t len,
		      size_t align, int numa_node, struct mlx4_dma *d);
void mlx4_dma_free(struct mlx4_dma *d);

/* --- UAR pages (uar.c): one per queue --- */
int mlx4_uar_alloc(struct mlx4_hca *hca, uint32_t *page);
void mlx4_uar_free(struct mlx4_hca *hca, uint32_t page);
static inline volatile uint8_t *
mlx4_uar_addr(const struct mlx4_hca *hca, uint32_t page)
{
	return hca->bus->uar + (size_t)page * MLX4_UAR_PAGE_SIZE;
}
/* BlueFlame page of a UAR page. */
static inline volatile uint8_t *
mlx4_bf_addr(const struct mlx4_hca *hca, uint32_t page)
{
	return hca->bus->uar + (size_t)(hca->caps.num_uars + page) * MLX4_UAR_PAGE_SIZE;
}

/* --- completion queues (cq.c); vector: index of a completion EQ or -1 --- */
int mlx4_cq_create(struct mlx4_hca *hca, uint32_t entries, uint32_t uar, int vector, int numa_node, struct mlx4_cq *cq);
/* The same with memory of a pool, NULL: of none. */
int mlx4_cq_create_of(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, uint32_t uar,
		      int vector, int numa_node, struct mlx4_cq *cq);
/* Entries of Ethernet queue pairs carry the card's time (MLX4_CQE_STAMP_*) in place of the VLAN. */
int mlx4_cq_create_stamped(struct mlx4_hca *hca, uint32_t entries, uint32_t uar, int vector, int numa_node,
			   struct mlx4_cq *cq);
int mlx4_cq_destroy(struct mlx4_hca *hca, struct mlx4_cq *cq);
/* Takes it back from the card; its memory stays readable until mlx4_cq_free(). */
int mlx4_cq_retire(struct mlx4_hca *hca, struct mlx4_cq *cq);
void mlx4_cq_free(struct mlx4_cq *cq);
/*
 * Gives it a ring of another size, a power of two, 2..max_cqes, where the card goes on behind one entry of MLX4_CQE_RESIZE in the
 * old one [DP 6.7]. What was not read lies in the old one, until mlx4_cq_drop(). -EINVAL: it would not fit; -ENOMEM: no memory.
 */
int mlx4_cq_resize(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, int numa_node,
		   struct mlx4_cq *cq, struct mlx4_dma *old);
void mlx4_cq_drop(struct mlx4_cq *cq, struct mlx4_dma *old);
int mlx4_cq_moderate(struct mlx4_hca *hca, struct mlx4_cq *cq, uint16_t count, uint16_t period_us);

/* --- queue pairs (qp.c) --- */
/* Reserves n consecutive QPNs; align a power of two; BlueFlame: bits 7:6 of every number are clear. */
int mlx4_qpn_reserve(struct mlx4_hca *hca, uint32_t n, uint32_t align, bool bf, uint32_t *base);
/*
 * A number for a queue pair that peers know: it was not used lately, or they would take it for the one before (IBTA 12.9.8.4).
 * frames: it sends Ethernet frames, which wants bits 7:6 clear [CP 5.10].
 */
int mlx4_qpn_reserve_fresh(struct mlx4_hca *hca, bool frames, uint32_t *qpn);
void mlx4_qpn_release(struct mlx4_hca *hca, uint32_t base, uint32_t n);
/*
 * Allocates the rings and doorbell record and fills the context; the QP stays in RST. The SQ ring is zeroed, to be
 * stamped by its owner; RX entries are the owner's to fill.
 */
int mlx4_qp_create(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_qp_attr *attr, struct mlx4_qp *qp);
int mlx4_qp_create_rss(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_rss_attr *attr, struct mlx4_qp *qp);
/* RST -> INIT -> RTR -> RTS; back to RST; any -> RST on failure. */
int mlx4_qp_start(struct mlx4_hca *hca, struct mlx4_qp *qp);
int mlx4_qp_stop(struct mlx4_hca *hca, struct mlx4_qp *qp);
/* Live changes; a QP in RST takes them with its start. -ENOTSUP without UPDATE_QP; on failure the old value holds. */
/* The priority of what is sent: 0..7. */
int mlx4_qp_prio(struct mlx4_hca *hca, struct mlx4_qp *qp, uint8_t prio);
/* The most that is sent, Mb/s, 0: no limit; up to 4095 exact, above in steps of 1000, rounded down. */
int mlx4_qp_rate(struct mlx4_hca *hca, struct mlx4_qp *qp, uint32_t mbps);
/* How long a frame waits for a receive WQE: units of 100 us, 0: dropped at once, 65535: for ever. */
int mlx4_qp_delay_drop(struct mlx4_hca *hca, struct mlx4_qp *qp, uint16_t units);
/* The send queue's position as the card has it, in blocks modulo 65536. */
int mlx4_qp_sent(struct mlx4_hca *hca, const struct mlx4_qp *qp, uint16_t *pos);
/* RTS -> ERR: nothing more is sent, what waits is completed with errors. mlx4_qp_stop follows. */
int mlx4_qp_flush(struct mlx4_hca *hca, struct mlx4_qp *qp);
/* Frees what create allocated; the QP must be in RST. */
void mlx4_qp_destroy(struct mlx4_hca *hca, struct mlx4_qp *qp);

/* --- queue pairs with a transport (qp_verbs.c) --- */
/* Rings and the fixed part of the context; in RST. What a transition needs is the caller's to write into qp->ctx. */
int mlx4_vqp_create(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_vqp_attr *attr, struct mlx4_qp *qp);
/* One step of the state machine, optpar: MLX4_OPTPAR_* of what changed; -EINVAL: there is no such step. */
int mlx4_qp_step(struct mlx4_hca *hca, struct mlx4_qp *qp, enum mlx4_qp_state to, uint32_t optpar, bool tell_drained);
/* The context as the card has it: MLX4_QPC_SIZE bytes. */
int mlx4_qp_query(struct mlx4_hca *hca, const struct mlx4_qp *qp, uint8_t *ctx);
/* The QP is in RST: what it had of the card is given back; its memory stays until mlx4_dma_free(&qp->buf). */
void mlx4_qp_retire(struct mlx4_hca *hca, struct mlx4_qp *qp);

/* --- shared receive queues (srq.c) --- */
/* WQEs of stride bytes, a power of two from 32 on, are chained and empty. */
int mlx4_srq_create(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t pd, uint32_t entries,
		    uint32_t stride, int numa_node, struct mlx4_srq *srq);
/* Event when fewer WQEs are left, once; 0: none. */
int mlx4_srq_arm(struct mlx4_hca *hca, struct mlx4_srq *srq, uint32_t limit);
/* The limit that is in force. */
int mlx4_srq_query(struct mlx4_hca *hca, struct mlx4_srq *srq, uint32_t *limit);
/* Takes it back from the card; its memory stays until mlx4_dma_free(&srq->buf). */
int mlx4_srq_retire(struct mlx4_hca *hca, struct mlx4_srq *srq);

/* --- protection domains and memory keys (mkey.c) --- */
int mlx4_pd_alloc(struct mlx4_hca *hca, uint32_t *pd);
void mlx4_pd_free(struct mlx4_hca *hca, uint32_t pd);
#define MLX4_KEY_LOCAL_WRITE 1u
#define MLX4_KEY_REMOTE_READ 2u
#define MLX4_KEY_REMOTE_WRITE 4u
#define MLX4_KEY_ATOMIC 8u
#define MLX4_KEY_BIND 16u
#define MLX4_KEY_OPENED 32u /* the memory is not the EAL's: the card has it at its address */
/*
 * A region of memory of the EAL, or that it was told of, addressed from va on. -EFAULT: the EAL does not know some page;
 * -EINVAL: va lies elsewhere in its page than addr; -ENOSPC: too many pages.
 */
int mlx4_region_create(struct mlx4_hca *hca, uint32_t pd, const void *addr, size_t len, uint64_t va, uint32_t access,
		       struct mlx4_mkey *key);
/*
 * A region gets other memory, rights or another protection domain under its key [CP 5.8]. Errors as of mlx4_region_create(), and
 * -EBUSY: windows are bound to it. It stays as it was then, unless *lost: the card has it no more, and its key was given back.
 */
int mlx4_region_change(struct mlx4_hca *hca, uint32_t pd, const void *addr, size_t len, uint64_t va, uint32_t access,
		       struct mlx4_mkey *key, bool *lost);
/* A region with room for pages translation entries and no memory: free until a work request registers some [DP 11.3]. */
int mlx4_fast_region_create(struct mlx4_hca *hca, uint32_t pd, uint32_t pages, struct mlx4_mkey *key);
/*
 * What such a work request says of [addr, addr + len), to be reached at va: the entries of the page list, and log2 of the
 * pages' size. Any thread. Errors as of mlx4_region_create(); -ENOSPC: more pages than the region has entries.
 */
int mlx4_fast_region_pages(struct mlx4_hca *hca, const struct mlx4_mkey *key, const void *addr, size_t len, uint64_t va,
			   rte_be64_t *list, uint32_t *lg_page);
/* A window; type 2 is free until a work request binds it. */
int mlx4_window_create(struct mlx4_hca *hca, uint32_t pd, bool type2, struct mlx4_mkey *key);
/* -EBUSY: windows are bound to it, it stays. */
int mlx4_mkey_destroy(struct mlx4_hca *hca, struct mlx4_mkey *key);

/* --- ports (port/port.c) --- */
int mlx4_port_query(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_info *info);
int mlx4_port_init(struct mlx4_hca *hca, unsigned int port);
int mlx4_port_close(struct mlx4_hca *hca, unsigned int port);
/* max_frame: largest frame with header, tags and FCS; mtu: what the firmware reports to others; pause frames stay as hca->pause says. */
int mlx4_port_set_mtu(struct mlx4_hca *hca, unsigned int port, uint16_t max_frame, uint16_t mtu);
/* Frames with a bad FCS are passed up instead of dropped. */
int mlx4_port_ignore_fcs(struct mlx4_hca *hca, unsigned int port, bool on);
/* The port looks for frames inside frames, steered by their outer addresses. */
int mlx4_port_tunnels(struct mlx4_hca *hca, unsigned int port, bool on);
/* The UDP port of VXLAN, of all ports. */
int mlx4_vxlan_udp_port(struct mlx4_hca *hca, uint16_t udp_port);
/* The whole table of the port's own addresses. */
int mlx4_port_set_macs(struct mlx4_hca *hca, unsigned int port, const struct rte_ether_addr *mac, unsigned int n);
/* VIDs that pass: bit v % 32 of word v / 32. */
int mlx4_port_vlan_filter(struct mlx4_hca *hca, unsigned int port, const uint32_t bitmap[4096 / 32]);
/* The multicast filter in front of the steering rules: off, the rules decide alone. */
int mlx4_port_mcast_filter_off(struct mlx4_hca *hca, unsigned int port);
/* out: MLX4_STATS_SIZE bytes. */
int mlx4_port_stats(struct mlx4_hca *hca, unsigned int port, bool reset, uint8_t *out);
/* What RoCE has of a port (port/roce.c): v1 alone, or v1 and v2. */
int mlx4_port_roce_mode(struct mlx4_hca *hca, unsigned int port, bool v2);
/* Lanes of an Ethernet port at this speed; 10 Gb/s is one. */
static inline unsigned int
mlx4_port_lanes(uint32_t mbps)
{
	return mbps >= 20000 ? 4 : 1;
}
/* All MLX4_GID_ENTRIES of the table. */
int mlx4_port_gids(struct mlx4_hca *hca, unsigned int port, const struct mlx4_gid *gids);
/* What was told last. */
void mlx4_port_gid_get(struct mlx4_hca *hca, unsigned int port, unsigned int i, struct mlx4_gid *gid);
/* For reports: the version of RoCE that is open on a port, 0: none. */
void mlx4_port_roce_version_set(struct mlx4_hca *hca, unsigned int port, uint8_t version);
uint8_t mlx4_port_roce_version(struct mlx4_hca *hca, unsigned int port);
/* The table of VLANs, all MLX4_VLAN_TABLE_ENTRIES; 0: empty, MLX4_VLAN_PRIO_TAG: VLAN 0. The first two stay empty. */
#define MLX4_VLAN_PRIO_TAG 0x1000u
int mlx4_port_vlans(struct mlx4_hca *hca, unsigned int port, const uint16_t *vids);
/* Counters of the transport: MLX4_DIAG_SIZE bytes. Firmware without counters of a port gives the card's. */
int mlx4_port_diag(struct mlx4_hca *hca, unsigned int port, uint8_t *out);
/* The UDP port of RoCE v2, of all ports. */
int mlx4_port_roce_udp_port(struct mlx4_hca *hca, uint16_t udp_port);
/* Wake-on-LAN (port/wol.c): the firmware knows it; what is set. */
bool mlx4_wol_offered(const struct mlx4_hca *hca, unsigned int port);
int mlx4_wol_get(struct mlx4_hca *hca, unsigned int port, bool *on);
int mlx4_wol_set(struct mlx4_hca *hca, unsigned int port, bool on);
/* 0 nothing, MLX4_SENSE_IB, MLX4_SENSE_ETH. */
int mlx4_port_sense(struct mlx4_hca *hca, unsigned int port, uint32_t *type);

/* --- steering (rule.c) --- */
/*
 * prio: among the NIC's rules, a smaller number goes first; rules of one priority that say the same share a frame, each
 * QP gets a copy. So a rule moves to another QP by a second one of the neighbouring priority, and no frame comes twice.
 */
int mlx4_rule_mac(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const struct rte_ether_addr *mac,
		  uint32_t qpn, uint64_t *id);
/* Frames with a tag whose VID agrees with vid in the bits of vid_mask. */
int mlx4_rule_tagged(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const struct rte_ether_addr *mac,
		     uint16_t vid, uint16_t vid_mask, uint32_t qpn, uint64_t *id);
int mlx4_rule_default(struct mlx4_hca *hca, unsigned int port, uint16_t prio, enum mlx4_dmfs_type type, uint32_t qpn,
		      uint64_t *id);
int mlx4_rule_remove(struct mlx4_hca *hca, unsigned int port, uint64_t id);
#define MLX4_NO_RULE UINT64_MAX
/* Removes the rule that *id names, if it names one, and sets it to MLX4_NO_RULE. */
void mlx4_rule_drop(struct mlx4_hca *hca, unsigned int port, uint64_t *id);
/* A rule of the application: any specifications; prio: 0..4095 and MLX4_DMFS_PRIO_USER or _ETHTOOL, in front of all rules of the NIC. */
int mlx4_rule_specs(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const uint8_t *specs, size_t len,
		    uint32_t qpn, uint64_t *id);
/* Datagrams to a multicast GID, to a queue pair. */
int mlx4_rule_gid(struct mlx4_hca *hca, unsigned int port, const uint8_t gid[MLX4_GID_SIZE], uint32_t qpn,
		  uint64_t *id);

#endif /* MLX4_HCA_HCA_H */
