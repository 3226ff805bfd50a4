/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * RoCE in software on any ethdev: a home of the transport engine, and a provider of lib/roce.
 *
 * One thread drives a port: it calls tp_roce_progress() or tp_roce_input(), and it alone touches engines, timers, keys
 * and the transmit queue. Where a port has several lanes, this is so of each of them, but for keys (lane.c). Others reach it so:
 *  - work requests go through the rings of their queue pair, which have one writer and one reader each. The port's
 *    thread takes its own at once and transmits before ibv_post_send() returns; from another thread the queue pair is
 *    pushed on a list that the port's thread looks at (kick.h).
 *  - completions go through the ring of their completion queue, to whichever thread polls it.
 *  - control calls stop the port's thread at its gate (gate.h) while they change what it uses.
 */
#ifndef ROCE_SOFT_SW_H
#define ROCE_SOFT_SW_H

#include <stdatomic.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/roce/engine/engine.h"
#include "lib/roce/wire/icrc.h"
#include "lib/roce/port/provider.h"

#define RSW_QPS 0x100000u /* queue pairs of a port; the index is the low 20 bits of a number */
#define RSW_QPN_INDEX(qpn) ((qpn) & (RSW_QPS - 1))
#define RSW_LANE_QPS(lanes) (RSW_QPS / (lanes)-3) /* queue pairs of a lane */
#define RSW_LG_KEYS 18u                           /* regions and windows of a port */
#define RSW_KEYS (1u << RSW_LG_KEYS)
#define RSW_KEY_INDEX(key) ((key) >> 8 & (RSW_KEYS - 1))
#define RSW_OTHERS 0x10000u /* completion queues, shared receive queues, protection domains of a port */
#define RSW_MAX_WR 32768u
#define RSW_MAX_SGE 32u
#define RSW_MAX_INLINE 1024u
/* With one more, which queues of guests have, a power of two. */
#define RSW_MAX_CQE ((1u << 22) - 1)
#define RSW_GROUPS 256u    /* multicast groups */
#define RSW_GROUP_QPS 128u /* queue pairs of one */
#define RSW_TX 64u         /* packets that are handed to the ethdev at once */
#define RSW_FRESH 32u      /* packets that are taken from the pool at once */
#define RSW_LOOP 1024u     /* packets to the port itself that wait; a power of two */
#define RSW_PASS 1024u     /* packets from one lane to another that wait; a power of two */
#define RSW_BURST 32u      /* packets that a lane takes from its queue, and from each other lane, at once */
#define RSW_MADS 64u       /* datagrams for QP1 that wait */
#define RSW_MAD_TX 256u    /* datagrams of other threads that wait */
#define RSW_BUDGET 32u     /* packets of a queue pair in its turn */
#define RSW_WINDOW 128u    /* packets of a queue pair that are not acknowledged */
#define RSW_HDR_MAX 80u    /* in front of the BTH: Ethernet, tag, IPv6, UDP; with room to copy in blocks */
#define RSW_PACKET_MAX 4608u
#define RSW_QP1_QKEY 0x80010000u
#define RSW_PKEY 0xffffu
#define RSW_PRIOS 8u
#define RSW_VENDOR 0xffffffu /* no maker's OUI: what devices in software say, the kernel's among them */

struct rsw_dev;
struct rsw_qp;
struct rsw_guest; /* guest.h, with the next three */
struct rsw_guest_qp;
struct rsw_guest_cq;
struct rsw_guest_srq;

/* --- objects ---------------------------------------------------------------------------------------------------- */

/* What a key opens: a region, or the window over a part of one. */
struct rsw_key {
	uint64_t start, len; /* as remote and local addresses name it */
	uintptr_t shift;     /* address in this process less that */
	const struct ibv_pd *pd;
	uint32_t key, access; /* IBV_ACCESS_*; 0 of a window that is not bound */
	uint32_t qpn;         /* type 2: the queue pair it was bound by */
	uint8_t window;       /* enum ibv_mw_type, 0: a region */
	bool fast;            /* a region for fast registration */
	bool valid;
	struct rsw_mr *mr; /* of a window: the region below */
};

struct rsw_mr {
	struct troce_mr m;
	struct rsw_key k;
};

struct rsw_mw {
	struct troce_mw m;
	struct rsw_key k;
};

struct rsw_cq {
	struct troce_cq c;
	struct rsw_dev *d;
	struct rsw_guest_cq *g; /* of another process, NULL: of this one */
	struct ibv_wc *ring;
	uint32_t depth, ring_mask; /* of a guest, the ring has the completion that is being made */
	/* The port's thread writes. */
	uint32_t head_seen;
	bool broken; /* it overran */
	bool held;   /* an event waits, in the port's list */
	_Atomic uint32_t tail;
	/* Moderation: an event waits so long after its first completion, or for so many of them; 0: for no number. */
	uint16_t mod_count, mod_num;
	uint32_t mod_ns;
	uint64_t mod_due;
	TAILQ_ENTRY(rsw_cq) next_held;
	/* Who polls writes. */
	uint8_t apart[RTE_CACHE_LINE_SIZE];
	_Atomic uint32_t head;
	_Atomic uint8_t armed; /* RSW_ARM_* */
};
#define RSW_ARM_NONE 0u
#define RSW_ARM_SOLICITED 1u
#define RSW_ARM_ANY 2u

/* A receive request in a ring. */
struct rsw_rqe {
	uint64_t wr_id;
	uint32_t len, num_sge;
	struct tre_sge sge[];
};

/* Receive requests: one thread posts, the port's takes. */
struct rsw_rq {
	uint8_t *ring;
	uint32_t depth, stride, max_sge;
	_Atomic uint32_t head;
	uint8_t apart[RTE_CACHE_LINE_SIZE];
	_Atomic uint32_t tail;
};

struct rsw_srq {
	struct troce_srq s;
	struct rsw_dev *d;
	struct rsw_guest_srq *g;
	struct rsw_rq rq; /* of a guest, its sizes alone */
	uint32_t limit;   /* 0: nobody wants to know */
};

/* The headers of a path up to the BTH, ready but for lengths. */
struct rsw_route {
	uint8_t hdr[RSW_HDR_MAX];
	uint8_t len, l3, sgid_index, prio;
	enum troce_icrc_net kind;
	uint32_t ip_sum; /* IPv4: sum of the header without length and number */
	uint16_t ip_id;  /* IPv4: of the next packet; counted, as those are that somebody cuts from a longer frame */
	/* The CRC over what precedes the BTH, for the last length and number 0. */
	uint32_t crc_len, crc;
	uint32_t gen; /* of the GID table, when the source was seen in it */
	uint16_t vlan;
	enum ibv_gid_type type;
	union ibv_gid sgid, dgid;
	uint64_t ol_flags; /* of its packets */
	uint16_t tci;      /* of what they say to the port's rules */
	bool group, to_self, ready;
	bool ect; /* of datagrams: their address says that they know ECN */
};

/* Lanes keep what they know of a route in it, so each has its own. */
struct rsw_ah {
	struct troce_ah a;
	struct rsw_route route;
	struct rsw_route *more; /* of the lanes behind the first; NULL: there are none */
};

/* What a send request is besides what the engine has of it. */
struct rsw_slot {
	uint64_t wr_id;
	uint8_t wc_opcode; /* enum ibv_wc_opcode */
	bool signaled;
	enum ibv_wr_opcode local; /* of a TRE_WR_LOCAL: IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, TROCE_WR_FAST_REG */
	uint32_t lkey;            /* of a guest to bind: of its region; mw and info.mr are found when its turn comes */
	struct rsw_mw *mw;
	struct ibv_mw_bind_info info;
};

struct rsw_qp {
	struct troce_qp q;
	struct rsw_dev *d;
	TAILQ_ENTRY(rsw_qp) next; /* of the port's */
	struct tre_qp e;
	struct rsw_route route;
	struct rsw_guest_qp *g;
	struct rsw_cq *scq, *rcq;
	struct rsw_srq *srq;
	bool all_signaled, taken, cq_failed, tell_drained;
	/* Send requests. */
	struct tre_wqe *sq;
	struct rsw_slot *slot;
	uint8_t *data; /* lists or inline data, data_stride each */
	uint32_t data_stride, sq_depth;
	_Atomic uint32_t done; /* requests that ended; the port's thread writes */
	uint8_t apart[RTE_CACHE_LINE_SIZE];
	_Atomic uint32_t posted; /* the posting thread writes */
	/* Receive requests; the one at hand of a shared queue or a guest is copied. */
	struct rsw_rq rq;
	struct rsw_rqe *mine;
	/* The port's thread. */
	struct rsw_qp *run_next;
	bool queued;
	uint32_t heap_at; /* place among the timers, from 1; 0: none */
	/* Congestion control, of the port's thread. */
	uint8_t cc_prio;  /* whose parameters limit it; of datagrams that of the last one that says ECT */
	uint32_t cc_kbps; /* its part of the port's cc_kbps */
	struct tcc_rp rp;
	struct tcc_np np;    /* of one with a peer */
	uint64_t held_until; /* what it has to send waits for that; 0: for nothing */
	/* Towards it from others. */
	struct rsw_qp *kick_next;
	atomic_bool kicked;
};

struct rsw_group {
	union ibv_gid gid;
	unsigned int num;
	struct rsw_qp *qp[RSW_GROUP_QPS];
};

struct rsw_timer {
	uint64_t due;
	struct rsw_qp *qp;
};

/* Counters besides the engine's. */
struct rsw_stats {
	uint64_t rx_no_qp, rx_bad_icrc, rx_malformed, rx_bad_ip, rx_bad_udp, rx_ip_options, rx_fragments,
		rx_bad_address, rx_no_group, rx_ecn, rx_mads, rx_mad_dropped, rx_groups;
	uint64_t cc_marks, cc_cnps_sent, cc_cnps_handled, cc_cnps_ignored, cc_limited, cc_kbps;
	uint64_t tx_no_gid, tx_no_mbuf, tx_full, tx_mads, looped, cq_overruns, srq_limits, guest_bad_wqe;
	uint64_t passed, pass_full;
};

/* Packets from one lane to another, which alone takes them. */
struct rsw_pass {
	struct rte_mbuf *pkts[RSW_PASS];
	/* Who takes writes. */
	_Atomic uint32_t head;
	uint8_t apart[RTE_CACHE_LINE_SIZE];
	/* Who passes writes. */
	_Atomic uint32_t tail;
	uint32_t head_seen;
	uint8_t apart_too[RTE_CACHE_LINE_SIZE];
};

/*
 * Headers of IPv4 and UDP that came, as they count for the invariant CRC, and its register behind them with number 0. Those of one
 * path and length are the same but for the number.
 */
#define RSW_NETS 4u
struct rsw_net {
	uint64_t word[3];
	uint32_t rest, reg;
};

/*
 * A port: dev->home. With several lanes each of them is one of these, and the first is the port: keys, groups, datagrams of QP1 and
 * guests are its alone. Settings, such as GIDs, are the same in all.
 */
struct rsw_dev {
	/* The gate. */
	_Atomic uint32_t inside, want;
	bool strong; /* the gate needs a fence on the way in */
	_Atomic(uintptr_t) owner;
	_Atomic(struct rsw_qp *) kicks;

	struct troce_dev *dev;
	uint16_t port, txq, num_tx, num_fresh;
	uint16_t lane, num_lanes;
	uint16_t away;            /* the lane that the packet at hand is for */
	struct rsw_dev **lanes;   /* the same list in all */
	struct rsw_pass *pass_in; /* by the lane that passes; NULL: there is one lane */
	const uint32_t *full_polls;
	uint32_t own_full_polls; /* of a lane behind the first */
	uint16_t tx_shown;       /* of tx, to a capture */
	uint16_t udp_port;
	uint64_t decided; /* ol_flags of packets whose priority is that of their connection */
	struct rte_mempool *pool;
	struct rsw_qp **qps;      /* by index, RSW_QPS; the lane's own */
	TAILQ_HEAD(, rsw_qp) all; /* changed with the gate closed */
	struct rsw_key **keys;    /* the port's; changed with all gates closed */
	struct rsw_qp *run_first, *run_last;
	struct rsw_timer *heap; /* from 1 */
	uint32_t heap_len;
	struct tre_stats st;
	struct rsw_stats sw;
	_Atomic uint64_t refused; /* work requests that could not be posted, of any thread */
	struct rte_mbuf *tx[RSW_TX];
	struct rte_mbuf *fresh[RSW_TX];
	struct rte_mbuf *loop[RSW_LOOP];
	uint32_t loop_head, loop_tail;
	struct rsw_net nets[RSW_NETS];

	struct troce_cc cc[RSW_PRIOS];
	struct tcc_np_flows np; /* of datagrams */

	uint32_t gid_gen, num_gids;
	struct troce_gid gids[TP_ROCE_GIDS];
	uint8_t gid_valid[TP_ROCE_GIDS]; /* indices of those that are */
	struct rsw_group *groups;
	uint32_t num_groups;
	bool allmulti; /* set by us */

	struct rte_ring *mad_tx;
	_Atomic uint32_t mad_psn;
	struct troce_mad *mads;
	uint32_t num_mads;

	uint32_t next_qp, num_qps; /* next_qp: a place of the lane, from 1 */
	uint32_t next_key, num_keys;
	struct rte_flow *flow[3];
	bool overran;              /* some completion queue, just now */
	TAILQ_HEAD(, rsw_cq) held; /* completion queues whose event waits */
	TAILQ_HEAD(, rsw_guest) guests;
	atomic_bool gone; /* the ethdev was reset or removed; it stays so until the port is closed */
	bool flushed;     /* because of that */
	uint8_t bounce[RSW_PACKET_MAX];
};

static inline struct rsw_dev *
rsw_dev_of(struct ibv_context *ctx)
{
	return troce_dev_of(ctx)->home;
}

/* What a lane knows of an address. */
static inline struct rsw_route *
rsw_ah_route(struct rsw_ah *ah, const struct rsw_dev *d)
{
	return __builtin_expect(d->lane == 0, 1) ? &ah->route : &ah->more[d->lane - 1];
}

static inline uint64_t
rsw_now(const struct rsw_dev *d)
{
	return troce_now_ns(d->dev);
}

/* --- key.c ------------------------------------------------------------------------------------------------------ */

int rsw_reg_mr(struct troce_mr *mr);
int rsw_rereg_mr(struct troce_mr *mr, const struct troce_mr *to);
int rsw_dereg_mr(struct troce_mr *mr);
int rsw_alloc_mr(struct troce_mr *mr);
int rsw_alloc_mw(struct troce_mw *mw);
int rsw_dealloc_mw(struct troce_mw *mw);
int rsw_local(struct tre_qp *e, const struct tre_wqe *w);
int rsw_invalidate(struct tre_qp *e, uint32_t key);

/* --- mem.c ------------------------------------------------------------------------------------------------------ */

int rsw_gather(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov);
int rsw_scatter_wqe(struct tre_qp *e, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len);
int rsw_scatter_recv(struct tre_qp *e, const struct tre_rwqe *w, uint32_t off, const void *data, uint32_t len);
int rsw_remote_check(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, int access);
int rsw_remote_write(struct tre_qp *e, uint32_t rkey, uint64_t va, const void *data, uint32_t len);
int rsw_remote_read(struct tre_qp *e, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov);
int rsw_remote_atomic(struct tre_qp *e, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add,
		      uint64_t swap, uint64_t *old);

/* --- cq.c ------------------------------------------------------------------------------------------------------- */

int rsw_create_cq(struct troce_cq *c, int vector);
int rsw_destroy_cq(struct troce_cq *c);
int rsw_poll_cq(struct ibv_cq *v, int num, struct ibv_wc *wc);
int rsw_req_notify_cq(struct ibv_cq *v, int solicited_only);
/* A place for a completion; NULL: it overran, and the queue pair is to fail. */
struct ibv_wc *rsw_cq_slot(struct rsw_cq *cq, struct rsw_qp *qp);
void rsw_cq_commit(struct rsw_cq *cq, bool solicited);
/* Of a guest: it may have been armed. Returns how many events that made. */
unsigned int rsw_cq_look(struct rsw_cq *cq);
int rsw_modify_cq(struct troce_cq *c, uint16_t count, uint16_t period_us);
int rsw_resize_cq(struct troce_cq *c, int cqe);
/* Tells the events that are due. Returns how many. */
unsigned int rsw_cq_run_held(struct rsw_dev *d, uint64_t now);

/* --- rq.c ------------------------------------------------------------------------------------------------------- */

int rsw_rq_init(struct rsw_rq *rq, uint32_t depth, uint32_t max_sge);
void rsw_rq_free(struct rsw_rq *rq);
/* 0, or a positive errno and *bad. */
int rsw_rq_post(struct rsw_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rsw_create_srq(struct troce_srq *s, struct ibv_srq_attr *attr);
int rsw_modify_srq(struct troce_srq *s, const struct ibv_srq_attr *attr, int mask);
int rsw_query_srq(struct troce_srq *s, struct ibv_srq_attr *attr);
int rsw_destroy_srq(struct troce_srq *s);
int rsw_post_srq_recv(struct ibv_srq *v, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Operations of the engine. */
bool rsw_recv_next(struct tre_qp *e, struct tre_rwqe *r);
uint32_t rsw_recv_count(struct tre_qp *e);
void rsw_recv_done(struct tre_qp *e, const struct tre_rwqe *r, const struct tre_recv *wc, const void *in_home);

static inline struct rsw_rqe *
rsw_rq_at(const struct rsw_rq *rq, uint32_t i)
{
	return (struct rsw_rqe *)(void *)(rq->ring + (size_t)(i & (rq->depth - 1)) * rq->stride);
}

/* --- qp.c, post.c ----------------------------------------------------------------------------------------------- */

extern const struct tre_ops rsw_ops;
int rsw_create_qp(struct troce_qp *q);
int rsw_modify_qp(struct troce_qp *q, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
		  enum ibv_qp_state to);
int rsw_query_qp(struct troce_qp *q, struct ibv_qp_attr *attr);
int rsw_destroy_qp(struct troce_qp *q);
int rsw_post_send(struct ibv_qp *v, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int rsw_post_recv(struct ibv_qp *v, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void rsw_send_done(struct tre_qp *e, struct tre_wqe *w, enum ibv_wc_status status);

/* --- run.c ------------------------------------------------------------------------------------------------------ */

/* Takes what was posted, runs the engine, keeps the timer. */
void rsw_qp_run(struct rsw_qp *qp, uint64_t now);
/* The queue pair has a turn in the next progress. */
void rsw_qp_queue(struct rsw_qp *qp);
/* A packet for it was dealt with: it gets a turn if that left something to do. */
void rsw_qp_heard(struct rsw_qp *qp);
/* From a thread that is not the port's: it has something to do. */
void rsw_qp_kick(struct rsw_qp *qp);
/* Nothing of the port refers to it any more. */
void rsw_qp_forget(struct rsw_qp *qp);
unsigned int rsw_progress(struct troce_dev *dev);
/* Of a lane behind the first: receiving, too. */
unsigned int rsw_lane_progress(struct troce_dev *dev, uint16_t lane);

/* --- lane.c ------------------------------------------------------------------------------------------------------ */

/* The lanes of a port, of which the first is there. 0 or a positive errno. */
int rsw_lanes_open(struct rsw_dev *d);
void rsw_lanes_close(struct rsw_dev *d);
/* Whose a number of a queue pair is. */
uint16_t rsw_lane_of(const struct rsw_dev *d, uint32_t qpn);
/* A packet for another lane; when there is no room it is lost. */
void rsw_pass(struct rsw_dev *d, uint16_t to, struct rte_mbuf *m);
/* What lane from passed to this one. */
uint16_t rsw_pass_take(struct rsw_dev *d, uint16_t from, struct rte_mbuf **pkts, uint16_t n);
uint16_t rsw_passed(struct troce_dev *dev, uint16_t from, struct rte_mbuf **pkts, uint16_t n);

/* --- route.c, tx.c ---------------------------------------------------------------------------------------------- */

void rsw_route_set(struct rsw_route *r, const struct rsw_dev *d, const struct troce_path *p);
/* The source is (still) an address of the port. */
bool rsw_route_check(const struct rsw_dev *d, struct rsw_route *r);
/* The traffic class's lowest two bits, of v2 (RFC 3168, 5). */
void rsw_route_ecn(struct rsw_route *r, uint8_t ecn);
bool rsw_xmit(struct tre_qp *e, struct tre_out *out);
/* The packet in m, which is empty. */
void rsw_build(const struct rsw_dev *d, struct rsw_route *r, const struct tre_out *out, struct rte_mbuf *m);
/* m towards the wire or back to the port; false: no room. */
bool rsw_tx_put(struct rsw_dev *d, const struct rsw_route *r, struct rte_mbuf *m);
void rsw_tx_flush(struct rsw_dev *d);
void rsw_tx_free(struct rsw_dev *d);

/* --- rx.c, group.c, mad.c, stats.c -------------------------------------------------------------------------------- */

/* What a packet brings besides itself. */
struct rsw_rx {
	const uint8_t *net; /* IP header or GRH */
	uint8_t *bth;
	const uint8_t *smac;
	uint32_t len; /* from the BTH through the ICRC */
	enum troce_icrc_net kind;
	uint16_t vlan;
	uint8_t prio;
	uint8_t grh[IB_GRH_LEN]; /* as UD receivers get it */
};
uint16_t rsw_input(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n);
/* The same of a lane, from inside its gate. */
uint16_t rsw_rx(struct rsw_dev *d, struct rte_mbuf **pkts, uint16_t n, uint64_t now);
/* A packet that went out comes in. */
void rsw_rx_loop(struct rsw_dev *d, struct rte_mbuf *m, uint64_t now);
void rsw_deliver(struct rsw_qp *qp, struct rsw_rx *rx, uint64_t now);

struct rsw_group *rsw_group_find(const struct rsw_dev *d, const union ibv_gid *gid);
int rsw_attach_mcast(struct troce_qp *q, const union ibv_gid *gid, const struct rte_ether_addr *mac);
int rsw_detach_mcast(struct troce_qp *q, const union ibv_gid *gid, const struct rte_ether_addr *mac);

void rsw_mad_rx(struct rsw_dev *d, const struct rsw_rx *rx, const union ibv_gid *dgid);
/* Hands received datagrams over; outside the gate. Returns how many. */
unsigned int rsw_mad_deliver(struct rsw_dev *d);
int rsw_mad_send(struct troce_dev *dev, const struct troce_mad *mad);
/* Datagrams of other threads. */
void rsw_mad_drain(struct rsw_dev *d);

int rsw_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg);

/* --- cc.c ------------------------------------------------------------------------------------------------------- */

/* What a priority has before anything is set. */
void rsw_cc_first(const struct troce_dev *dev, struct troce_cc *cc);
void rsw_cc_init(struct rsw_dev *d);
void rsw_cc_limited(struct troce_dev *dev, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n);
int rsw_cc_get(struct troce_dev *dev, unsigned int prio, struct troce_cc *cc);
/*
 * A priority was set: if it is the queue pair's, its packets say what is on now. True: it was limited, and is no more. With the gate
 * closed.
 */
bool rsw_cc_look(struct rsw_qp *qp, unsigned int prio);
/* The rate of a queue pair that is or was limited changed. */
void rsw_cc_note(struct rsw_qp *qp);
/* A packet to one of the port's addresses, still to be judged, came marked; its priority listens to marks. */
void rsw_cc_marked(struct rsw_dev *d, const struct rsw_rx *rx);
/* What the engine tells. */
void rsw_cc_congested(struct tre_qp *e, const struct tre_in *in, uint64_t now);
/* A new path, or another state: what was known of it is over. */
void rsw_cc_reset(struct rsw_qp *qp);
/* A packet for a queue pair that is not there: CNPs are counted. */
void rsw_cc_lost(struct rsw_dev *d, const struct rsw_rx *rx);

/* --- ethdev.c ---------------------------------------------------------------------------------------------------- */

/* Rules that bring packets. */
void rsw_flow_open(struct rsw_dev *d);
void rsw_flow_close(struct rsw_dev *d);

/* Link and loss of the ethdev become events. 0 or a positive errno. */
int rsw_link_open(struct rsw_dev *d);
void rsw_link_close(struct rsw_dev *d);

#endif /* ROCE_SOFT_SW_H */
