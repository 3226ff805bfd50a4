/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * An IPoIB port: an ethdev on queue pairs of an InfiniBand port. The datapath (rx.c, tx.c) belongs to the application's
 * lcores; it hands what it does not understand over rings to the control thread of the device (device.c), which has the
 * interface (core.h) under the device's lock and sends by a queue pair of its own.
 *
 * The datapath's snapshot is replaced by the control thread, which then waits until no burst that began before is at work:
 * bursts count their begin and end, and membarrier(2) makes the fence for both sides.
 */
#ifndef IPOIB_PORT_PORT_H
#define IPOIB_PORT_PORT_H

#include <pthread.h>
#include <stdatomic.h>

#include <ethdev_driver.h>
#include <rte_ring.h>
#include <rte_version.h>

#include "lib/reta/reta.h"

#include "lib/ipoib/iface/core.h"
#include "counts.h"
#include "tp_ipoib.h"
#include "tp_roce.h"
#include "lib/ipoib/iface/view.h"

extern int ipoib_logtype;
#define IPOIB_LOG(level, fmt, ...) rte_log(RTE_LOG_##level, ipoib_logtype, "ipoib: " fmt "\n", ##__VA_ARGS__)

#define IPOIB_BURST 32u
#define IPOIB_QUEUES 16u /* of each direction */
#define IPOIB_DESC_MIN 64u
#define IPOIB_DESC_MAX 4096u
#define IPOIB_DESC_DEFAULT 512u
#define IPOIB_SLOW_RING 512u  /* packets between a queue and the control thread */
#define IPOIB_SLOW_SENDS 256u /* of the control thread, in flight */
#define IPOIB_TSO_HEADER 128u /* of large sends, with the encapsulation */
#define IPOIB_TSO_SEGS 18u    /* with these headers a request has 496 octets */
#define IPOIB_UD_HEAD (IB_GRH_LEN + IPOIB_ENCAP_LEN)
#define IPOIB_TX_CHECKSUMS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK) /* a frame that asks for any gets both */
/* Where the Ethernet header comes to lie, behind the beginning of a received packet. */
#define IPOIB_RX_SHIFT (IPOIB_UD_HEAD - RTE_ETHER_HDR_LEN)

struct ipoib_port;
struct ipoib_device;
struct ipoib_cm;

/* Bursts of a queue: odd while one is at work. */
struct ipoib_turn {
	_Atomic uint32_t n;
};

struct ipoib_rxq {
	struct ipoib_turn turn;
	struct ibv_cq *cq;
	struct ibv_qp *qp;   /* NULL: rings of the port's table receive for it, from srq */
	struct ibv_srq *srq; /* NULL: the queue pair has a queue of its own */
	struct ipoib_port *port;
	struct rte_mempool *pool;
	struct rte_ring *slow;       /* to the control thread */
	struct rte_ring *inject;     /* from it, frames for the application */
	uint64_t rearm;              /* what begins an mbuf that is received: rearm_data */
	uint32_t lkey, offset, room; /* of buffers: where packets begin, how long they may be */
	uint16_t id, size;
	bool started, deferred; /* the queue alone; the port does not start it */
	uint32_t missing;       /* work requests that had no buffer */
	struct ibv_recv_wr wr[IPOIB_BURST];
	struct ibv_sge sge[IPOIB_BURST];
	struct ipoib_rx_counts n, base; /* base: at the last reset */
};

struct ipoib_txq {
	struct ipoib_turn turn;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ipoib_port *port;
	struct rte_ring *slow;
	struct rte_mbuf **sent; /* that the card may still read; size of them */
	uint32_t head, tail, size, mask;
	_Atomic(struct rte_mempool *) last_pool; /* its thread sets it; who frees the pool takes it away */
	uint32_t qkey;
	uint32_t rekey; /* requests before this one have the key of another pool than the last one */
	uint32_t mixed; /* requests before this one may have buffers of other pools than the last one */
	uint16_t id;
	uint16_t tso_segs; /* buffers of a large send, 0: there is none */
	bool deferred;
	_Atomic bool broken;  /* the queue pair has stopped */
	_Atomic bool stopped; /* the queue alone */
	struct ibv_send_wr wr[IPOIB_BURST];
	struct ibv_sge sge[IPOIB_BURST];
	struct ibv_sge tso_sge[IPOIB_TSO_SEGS];
	struct ipoib_tx_counts n, base; /* as there */
};

/* What came with a packet that goes to the control thread; in front of its data, at the beginning of its buffer. */
static inline struct ipoib_meta *
ipoib_meta_of(struct rte_mbuf *m)
{
	return m->buf_addr;
}

/* Octets of a frame's headers, when it is to be cut. */
static inline uint32_t
ipoib_tx_header(const struct rte_mbuf *m)
{
	return (uint32_t)m->l2_len + m->l3_len + m->l4_len;
}

/* Something that the datapath may still look at. */
struct ipoib_retired {
	struct ipoib_retired *next;
	struct ibv_ah *ah;
	void *memory;
};

/* How packets are spread over receive queues, as the application wants it. */
struct ipoib_rss {
	uint64_t hf; /* RTE_ETH_RSS_*, 0: all go to the queue of entry 0 */
	uint8_t key[RETA_RSS_KEY_LEN];
	uint16_t reta[RETA_MAX], size;
};

struct ipoib_pool_mr; /* pool.c */
struct ipoib_answer;  /* io.c */
TAILQ_HEAD(ipoib_answers, ipoib_answer);

struct ipoib_port {
	TAILQ_ENTRY(ipoib_port) next; /* in the device's list, and its lock */
	struct ipoib_device *device;
	struct rte_eth_dev *eth;
	uint16_t port_id;
	struct tp_ipoib_conf conf;
	uint16_t pkey_used; /* as it is in the port's table; 0: not there */
	int pkey_index;     /* -1: not there */
	bool started, port_active;
	uint32_t speed; /* of the InfiniBand port, Mb/s */
	uint32_t mtu;
	bool mtu_open;            /* nobody chose it: it is what mbufs have room for */
	uint64_t too_long_ms;     /* no word about a packet that is too long before */
	uint64_t odd_ms;          /* nor about one of an unknown type */
	struct rte_mempool *pool; /* of packets that the control thread writes */
	struct ipoib_core core;
	_Atomic(struct ipoib_view *) view;
	struct ipoib_retired *retired;
	struct ipoib_rxq *rxq[IPOIB_QUEUES];
	struct ipoib_txq *txq[IPOIB_QUEUES];
	uint16_t num_rx, num_tx; /* as configured */
	uint16_t deliver_to; /* queue of frames from the control thread: the one that has received them, or the first */
	struct ipoib_rss rss;
	struct ibv_qp *qp; /* of the hardware address: queue 0's, or with several receive queues their RSS parent */
	struct tp_roce_table *table;                 /* of that, NULL: it is none */
	uint32_t own_qpn[IPOIB_QUEUES + 2], num_own; /* that packets are sent by */
	struct ibv_pd *pd;
	struct ibv_cq *slow_cq;
	struct ibv_qp *slow_qp;
	uint32_t slow_inflight, qkey;
	bool ready;              /* the queue pairs are in RTS */
	pthread_mutex_t mr_lock; /* of mrs */
	SLIST_HEAD(, ipoib_pool_mr) mrs;
	pthread_mutex_t answer_lock; /* of the next two */
	struct ipoib_answers answers, asked;
	struct ipoib_port_counts n, base;  /* as those of queues */
	struct ipoib_core_stats core_base; /* of core.stats */
	struct ipoib_cm *cm;               /* connected mode; NULL: datagram mode */
	struct rte_ether_addr mcast[TP_IPOIB_MAC_GROUPS];
	uint32_t num_mcast;
};

/* --- turns ----------------------------------------------------------------------------------------------------------- */

static inline void
ipoib_turn_begin(struct ipoib_turn *t)
{
	atomic_store_explicit(&t->n, atomic_load_explicit(&t->n, memory_order_relaxed) + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}
static inline void
ipoib_turn_end(struct ipoib_turn *t)
{
	atomic_store_explicit(&t->n, atomic_load_explicit(&t->n, memory_order_relaxed) + 1, memory_order_release);
}
static inline const struct ipoib_view *
ipoib_view_now(struct ipoib_port *p)
{
	return atomic_load_explicit(&p->view, memory_order_acquire);
}
/* Replaces the snapshot (NULL: bursts do nothing), and waits for bursts that have the old one. Any control thread. */
void ipoib_publish(struct ipoib_port *p, struct ipoib_view *v);
/* Frees what was retired before the last ipoib_publish(). */
void ipoib_retired_free(struct ipoib_port *p);
int ipoib_turns_init(void);

/* --- rx.c, tx.c ------------------------------------------------------------------------------------------------------ */

uint16_t ipoib_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t ipoib_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
/* Of each mbuf that is received: where its frame begins, and whose it is. q->offset is known. */
static inline uint64_t
ipoib_rx_rearm(const struct ipoib_rxq *q)
{
	struct rte_mbuf m = {
		.data_off = (uint16_t)(q->offset + IPOIB_RX_SHIFT), .nb_segs = 1, .port = q->port->port_id};
	uint64_t v;

	rte_mbuf_refcnt_set(&m, 1);
	memcpy(&v, (const uint8_t *)&m + offsetof(struct rte_mbuf, data_off), sizeof(v));
	return v;
}
/*
 * What has completed goes to the application by the ring of injected frames, while no burst is at work; v: what they had. For
 * queue pairs that are about to go.
 */
void ipoib_rx_drain(struct ipoib_rxq *q, const struct ipoib_view *v);
/* Posts buffers as far as there are any. */
void ipoib_rx_fill(struct ipoib_rxq *q);
/* Frees what the card has sent. */
void ipoib_tx_reap(struct ipoib_txq *q);
/* Frees what was posted and will not complete. */
void ipoib_tx_forget(struct ipoib_txq *q);

/* --- cm_rx.c, cm_tx.c: for bursts with a snapshot of connected mode ------------------------------------------------------ */

uint16_t ipoib_cm_rx(struct ipoib_rxq *q, const struct ipoib_view *v, struct rte_mbuf **pkts, uint16_t n);
/* Of n packets so many are taken, as many as the result says; num_rest of them are datagrams and in rest, for the caller. */
uint16_t ipoib_cm_tx(struct ipoib_txq *q, const struct ipoib_view *v, struct rte_mbuf **pkts, uint16_t n,
		     struct rte_mbuf **rest, uint16_t *num_rest);

/* Nothing that was sent by connections is the card's any more. While no burst sends. */
bool ipoib_cm_all_sent(struct ipoib_cm *cm);

/* --- queue.c: queue pairs and memory, with the device's lock --------------------------------------------------------- */

int ipoib_queues_open(struct ipoib_port *p);
void ipoib_queues_close(struct ipoib_port *p);
/* INIT to RTS, with the P_Key that the port has now; receives are posted. */
int ipoib_queues_ready(struct ipoib_port *p);
/* Takes back what the card has, and leaves the queue pairs in RESET; bursts must have nothing to look at. */
void ipoib_queues_reset(struct ipoib_port *p);
int ipoib_queues_qkey(struct ipoib_port *p, uint32_t qkey);
/* A queue pair of the application's has stopped. */
bool ipoib_queues_broken(const struct ipoib_port *p);

/* --- pool.c ---------------------------------------------------------------------------------------------------------- */

/* The key of a pool's memory; registers it at its first packet, until the pool goes. 0 or a negative errno. */
int ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey);
/* Registrations of pools that go are taken back. 0 or a negative errno. */
int ipoib_pools_watch(struct ipoib_port *p);
/* Takes back all registrations. */
void ipoib_pools_free(struct ipoib_port *p);

/* --- qp_ready.c ------------------------------------------------------------------------------------------------------ */

/* RESET, INIT, RTR, RTS of p->qp and of a table; 0 or a negative errno. */
int ipoib_qp_ready(struct ipoib_port *p, struct ibv_qp *qp);
int ipoib_table_ready(struct ipoib_port *p, struct tp_roce_table *table);

/* --- slow.c ---------------------------------------------------------------------------------------------------------- */

/* The control thread gets a burst's packet; takes it. */
void ipoib_tx_hand_over(struct ipoib_txq *q, struct rte_mbuf *m);
/* Sends a packet of the control thread; takes it. */
void ipoib_slow_send(struct ipoib_port *p, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m);
void ipoib_slow_reap(struct ipoib_port *p);

/* --- link.c ---------------------------------------------------------------------------------------------------------- */

/* Tells ethdev whether the link is up. */
void ipoib_link_update(struct ipoib_port *p);

/* --- rss.c ------------------------------------------------------------------------------------------------------------- */

/* RTE_ETH_RSS_* that the card has; 0: one receive queue is all. */
uint64_t ipoib_rss_types(const struct ipoib_port *p);
/* Entries of the indirection table, 0: there is none. */
uint16_t ipoib_reta_size(const struct ipoib_port *p);
/* As dev_conf says. */
int ipoib_rss_configure(struct rte_eth_dev *dev);
/* Parent and table of p->rss, in RESET; p->qp and p->table. With the device's lock. */
int ipoib_rss_open(struct ipoib_port *p);
/* Who receives what the table has for a queue: that, or the next one that is started; itself when none is. */
uint16_t ipoib_rss_serving(const struct ipoib_port *p, uint16_t queue);
/* Queues have been started or stopped: the card follows. With the device's lock; 0 or a negative errno, then nothing has changed. */
int ipoib_rss_again(struct ipoib_port *p);
int ipoib_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int ipoib_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size);
int ipoib_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int ipoib_rss_hash_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);

/* --- qstate.c: single queues, which nobody polls while they are started or stopped ------------------------------------ */

/* A port starts: all but those that are deferred. 0, -ENOTSUP: one is not to be deferred. */
int ipoib_qstate_begin(struct ipoib_port *p);
/* Tells ethdev. */
void ipoib_qstate_tell(struct rte_eth_dev *dev);
int ipoib_rxq_start(struct rte_eth_dev *dev, uint16_t id);
int ipoib_rxq_stop(struct rte_eth_dev *dev, uint16_t id);
int ipoib_txq_start(struct rte_eth_dev *dev, uint16_t id);
int ipoib_txq_stop(struct rte_eth_dev *dev, uint16_t id);

/* --- io.c: what the interface asks for -------------------------------------------------------------------------------- */

void ipoib_io_init(struct ipoib_port *p, struct ipoib_io *io);
/* Answers that came since; frames that queues handed over. Returns how much was done. */
unsigned int ipoib_io_work(struct ipoib_port *p);
/* No answer comes any more. */
void ipoib_io_cancel(struct ipoib_port *p);

/* --- device.c --------------------------------------------------------------------------------------------------------- */

struct tp_sa;
uint64_t ipoib_now_ms(void);
/* A thread that may run on any CPU. 0 or a negative errno. */
int ipoib_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
void ipoib_device_lock(struct ipoib_device *d);
void ipoib_device_unlock(struct ipoib_device *d);
struct ibv_context *ipoib_device_ctx(struct ipoib_device *d);
struct tp_sa *ipoib_device_sa(struct ipoib_device *d);
const char *ipoib_device_name(const struct ipoib_device *d);
uint64_t ipoib_device_guid(struct ipoib_device *d);
/* --- devices.c -------------------------------------------------------------------------------------------------------- */

struct ipoib_device *ipoib_device_get(const char *name, int *err);
void ipoib_device_put(struct ipoib_device *d);
int ipoib_device_add(struct ipoib_device *d, struct ipoib_port *p);
void ipoib_device_del(struct ipoib_device *d, struct ipoib_port *p);

/* --- worker.c --------------------------------------------------------------------------------------------------------- */

/* Looks at the port's state anew, for a port that starts. */
void ipoib_device_look(struct ipoib_device *d, struct ipoib_port *p);

/* --- ethdev.c ---------------------------------------------------------------------------------------------------------- */

extern const struct eth_dev_ops ipoib_eth_ops;
/* NULL: it is another driver's. */
struct ipoib_port *ipoib_port_of(uint16_t port_id);

/* --- stats.c ----------------------------------------------------------------------------------------------------------- */

/* Counters of queues stand beside the port's in later releases of DPDK. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define IPOIB_STATS_GET_ARGS struct rte_eth_dev *dev, struct rte_eth_stats *stats, struct eth_queue_stats *qstats
#define IPOIB_QSTATS qstats
#define IPOIB_QSTATS_ARG struct eth_queue_stats *q
#else
#define IPOIB_QSTATS stats
#define IPOIB_QSTATS_ARG struct rte_eth_stats *q
#define IPOIB_STATS_GET_ARGS struct rte_eth_dev *dev, struct rte_eth_stats *stats
#endif
/* In all, or since the last reset. */
void ipoib_port_totals(const struct ipoib_port *p, bool all, struct tp_ipoib_totals *t);
void ipoib_stats_fill(const struct tp_ipoib_totals *t, struct rte_eth_stats *stats);
int ipoib_stats_get(IPOIB_STATS_GET_ARGS);
int ipoib_stats_reset(struct rte_eth_dev *dev);
/* All but the card's. */
void ipoib_own_counters(const struct ipoib_port *p, tp_ipoib_counter_fn fn, void *arg);
int ipoib_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n);
int ipoib_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n);

#endif /* IPOIB_PORT_PORT_H */
