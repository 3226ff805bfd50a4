/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The InfiniBand transport engine: requester and responder of RC, UC and UD as code on packets and queue state (IBTA
 * 1.4, chapter 9). No I/O, no threads, no clock: packets come in by tre_input, go out by an operation of the home, and
 * time is an argument. Two homes use it: the model of the card, as its hardware transport, and the software provider.
 *
 * A home owns memory, keys, rings and completion queues and offers them as operations. One QP is used by one thread at a
 * time. The order of calls is free: tre_input for each packet that arrived, then tre_run to send what is due (answers
 * first), and again when tre_deadline has passed.
 *
 * Words are those of verbs: opcodes, states, completion statuses and events are libibverbs' own numbers.
 */
#ifndef ROCE_ENGINE_ENGINE_H
#define ROCE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <infiniband/verbs.h>

#include "lib/roce/wire/opcode.h"
#include "lib/roce/wire/wire.h"

#define TRE_MAX_IOV 40u       /* pieces of one packet's payload */
#define TRE_MAX_RD_ATOMIC 16u /* READs and atomics at a time, per direction; a power of two */
#define TRE_NEVER UINT64_MAX

struct tre_qp;

struct tre_sge {
	uint64_t addr;
	uint32_t len, lkey;
};

/* A send request. The home fills the first part; it stays valid until send_done. */
struct tre_wqe {
	uint64_t home;   /* the home's own: work request id, ring index */
	uint64_t remote; /* virtual address */
	uint64_t compare_add, swap;
	const struct tre_sge *sge;
	const uint8_t *inline_data; /* instead of sge */
	const void *av;             /* UD: the home's address vector */
	uint32_t len;               /* bytes of sge or inline_data together */
	uint32_t rkey;
	uint32_t imm; /* immediate data as a number, or the R_Key to invalidate */
	uint32_t ud_qpn, ud_qkey;
	uint16_t num_sge;
	uint8_t opcode; /* enum ibv_wr_opcode; TRE_WR_LOCAL: the home executes it by local() */
	uint8_t flags;  /* IBV_SEND_FENCE, IBV_SEND_SOLICITED; others are the home's */
	/* The engine's. */
	uint32_t first_psn, num_psn;
	uint32_t got;   /* bytes of a READ that arrived */
	uint8_t status; /* enum ibv_wc_status to report when its turn comes */
	bool started, answered;
};
#define TRE_WR_LOCAL 0xffu

/* A receive request that recv_next handed out. */
struct tre_rwqe {
	uint64_t home;
	const struct tre_sge *sge;
	uint32_t len;
	uint16_t num_sge;
};

/* What a receive completion says. */
struct tre_recv {
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode; /* IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM */
	uint32_t len;
	uint32_t imm; /* number, or the key that was invalidated */
	uint32_t src_qpn;
	bool has_imm, invalidated, solicited, grh;
};

/* A packet to send: headers from the BTH on, pieces of payload, pad bytes of zero; the ICRC is the home's. */
struct tre_out {
	uint8_t hdr[IB_HDR_MAX];
	uint32_t hlen;
	struct iovec iov[TRE_MAX_IOV];
	uint32_t num_iov, len; /* payload */
	uint32_t pad;
	const struct tre_wqe *wqe; /* UD: whose address vector; else NULL */
};

/* A packet that arrived and whose ICRC is good. */
struct tre_in {
	const uint8_t *bth; /* contiguous up to the end of payload and pad */
	uint32_t len;       /* from the BTH through payload and pad, without ICRC */
	const uint8_t *grh; /* UD: the 40 bytes that go in front of the payload, NULL: zero bytes */
	const void *home;   /* handed through to the home's operations */
};

enum tre_atomic { TRE_CMP_SWAP, TRE_FETCH_ADD };

/* Operations of a home. Those that return int: 0 or more, or a negative enum ibv_wc_status. */
struct tre_ops {
	/* Gives the packet to the wire; false: no room now, tre_run stops and is called again. */
	bool (*xmit)(struct tre_qp *qp, struct tre_out *out);
	/* len bytes from off of a send request's list as pieces to read; how many. */
	int (*gather)(struct tre_qp *qp, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov);
	/* Writes what a READ or atomic brought into a send request's list. */
	int (*scatter_wqe)(struct tre_qp *qp, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len);
	/* A request that ends, in order, each exactly once. */
	void (*send_done)(struct tre_qp *qp, struct tre_wqe *w, enum ibv_wc_status status);
	/* TRE_WR_LOCAL: local invalidate, bind, fast register. */
	int (*local)(struct tre_qp *qp, const struct tre_wqe *w);
	/* The oldest receive request; false: none. *r is good until recv_done. */
	bool (*recv_next)(struct tre_qp *qp, struct tre_rwqe *r);
	/* How many receive requests there are, for credits; UINT32_MAX: not counted. */
	uint32_t (*recv_count)(struct tre_qp *qp);
	int (*scatter_recv)(struct tre_qp *qp, const struct tre_rwqe *r, uint32_t off, const void *data, uint32_t len);
	void (*recv_done)(struct tre_qp *qp, const struct tre_rwqe *r, const struct tre_recv *wc, const void *in_home);
	/* Is [va, va + len) open for this access (IBV_ACCESS_REMOTE_*)? 0 or a negative number */
	int (*remote_check)(struct tre_qp *qp, uint32_t rkey, uint64_t va, uint32_t len, int access);
	int (*remote_write)(struct tre_qp *qp, uint32_t rkey, uint64_t va, const void *data, uint32_t len);
	int (*remote_read)(struct tre_qp *qp, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov);
	int (*remote_atomic)(struct tre_qp *qp, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add,
			     uint64_t swap, uint64_t *old);
	int (*invalidate)(struct tre_qp *qp, uint32_t rkey);
	/* Asynchronous: IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_QP_FATAL, _REQ_ERR, _ACCESS_ERR, ... */
	void (*event)(struct tre_qp *qp, enum ibv_event_type type);
	/* A congestion notification packet came (A17.9). NULL: it is counted, no more. */
	void (*congested)(struct tre_qp *qp, const struct tre_in *in, uint64_t now_ns);
};

/* Counters by cause: requester and responder. */
struct tre_stats {
	uint64_t rq_len_err, rq_op_err, rq_prot_err, rq_flush_err, rq_bind_err;
	uint64_t rq_remote_invalid, rq_remote_access, rq_remote_op;
	uint64_t rq_rnr_nak, rq_out_of_order, rq_timeout, rq_retry_exceeded, rq_rnr_exceeded, rq_bad_response, rq_ghost;
	uint64_t rq_resent;
	uint64_t rs_len_err, rs_op_err, rs_prot_err, rs_flush_err;
	uint64_t rs_remote_invalid, rs_remote_access, rs_remote_op, rs_rnr_nak; /* said by a NAK */
	uint64_t rs_out_of_order, rs_duplicate, rs_uc_discarded, rs_ud_discarded, rs_bad_qkey, rs_bad_pkey,
		rs_bad_opcode;
	uint64_t rs_malformed, cnp;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
};

/* Attributes that the engine works with; the verbs layer validated them (tp_qp_attr.h). */
struct tre_attr {
	enum ibv_qp_type type; /* IBV_QPT_RC, _UC, _UD */
	uint32_t qpn, dest_qpn;
	uint32_t mtu;  /* bytes, 256..4096 */
	uint32_t qkey; /* UD */
	uint16_t pkey; /* of the table, for RC, UC and UD */
	int access;    /* IBV_ACCESS_REMOTE_* */
	uint32_t sq_psn, rq_psn;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer; /* codes */
	uint8_t max_rd_atomic, max_dest_rd_atomic;            /* 0..TRE_MAX_RD_ATOMIC */
	bool credits;                                         /* end-to-end flow control: count receive requests */
	uint32_t window;                                      /* unacknowledged packets at most, 1..2^20 */
};

/* A READ or atomic that the responder answers or may be asked for again (9.7.5.1.5, 9.7.8). */
struct tre_res {
	uint64_t va, old;
	uint32_t rkey, len, sent; /* sent: bytes of a READ that went out */
	uint32_t psn, num_psn, msn;
	bool atomic, due, under_way;
	bool done; /* answered once, whatever is asked again */
};

/* Sorted by use: requester, responder, what both need. The home may read all and writes none but home and stats. */
struct tre_qp {
	const struct tre_ops *ops;
	void *home;
	struct tre_stats *stats; /* may be shared by QPs of one thread */
	enum ibv_qp_state state;
	struct tre_attr a;
	uint32_t lg_mtu;

	/* Requester: sq[una .. tail) are posted; next is the one to send from, at next_psn. */
	struct tre_wqe *sq;
	uint32_t sq_mask;
	uint32_t una, next, tail;
	uint32_t next_psn;          /* of the next packet */
	uint32_t high_psn;          /* first that was never sent */
	uint32_t una_psn;           /* oldest that is not acknowledged */
	uint32_t rd_out;            /* READs and atomics that are not answered */
	uint32_t ssn, credit_limit; /* messages that needed a receive request: sent, allowed */
	bool credits_on, sq_draining;
	bool implied; /* went back for a lost response and heard nothing new since */
	uint8_t retries, rnr_retries;
	uint64_t rnr_until, timer; /* TRE_NEVER: off */

	/* Responder */
	uint32_t epsn, msn;
	uint8_t msg_op; /* IB_F_SEND, IB_F_WRITE: a message is under way; 0: none */
	bool nak_sent, ack_due, in_recv, drop_msg, fatal_nak, established;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	struct tre_rwqe rwqe;
	uint32_t got; /* bytes of the message */
	uint64_t wr_va;
	uint32_t wr_rkey, wr_len;
	struct tre_res res[TRE_MAX_RD_ATOMIC]; /* the last max_dest_rd_atomic ones can be asked for again */
	uint32_t num_res;                      /* accepted so far */
	uint8_t due[TRE_MAX_RD_ATOMIC];        /* answers that are due, by PSN */
	uint32_t num_due;
};

/*
 * Makes a QP in the RESET state. sq: 1 << lg_sq requests, the home's memory. max_iov pieces per gather call never exceed
 * TRE_MAX_IOV: a home that cannot promise that splits its requests.
 */
void tre_qp_init(struct tre_qp *qp, const struct tre_ops *ops, void *home, struct tre_stats *stats, struct tre_wqe *sq,
		 unsigned int lg_sq);

/*
 * Moves the QP to a state that the verbs layer allowed. INIT to RTR takes receiver's attributes of a, RTR to RTS those of the sender;
 * ERR flushes, RESET forgets. SQD stops sending behind what was started; the event tells when all is acknowledged.
 */
void tre_qp_state(struct tre_qp *qp, enum ibv_qp_state state, const struct tre_attr *a);

/* The next free send request, NULL: the queue is full; then tre_post makes it known. */
static inline struct tre_wqe *
tre_sq_slot(struct tre_qp *qp)
{
	return qp->tail - qp->una > qp->sq_mask ? NULL : &qp->sq[qp->tail & qp->sq_mask];
}
static inline void
tre_post(struct tre_qp *qp)
{
	struct tre_wqe *w = &qp->sq[qp->tail++ & qp->sq_mask];

	w->started = w->answered = false;
	w->got = 0;
	w->status = IBV_WC_SUCCESS;
}

/*
 * Datagrams that a home sends and receives by itself, since they wait for nothing: it asks whether it may, does what the engine
 * would have done, and says so. bytes: of their payload.
 */
static inline bool
tre_can_receive(const struct tre_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       (qp->state == IBV_QPS_SQE && qp->a.type != IBV_QPT_RC);
}
static inline bool
tre_ud_may_receive(const struct tre_qp *qp)
{
	return qp->a.type == IBV_QPT_UD && tre_can_receive(qp) && !qp->in_recv;
}
static inline void
tre_ud_received(struct tre_qp *qp, uint32_t n, uint64_t bytes)
{
	qp->stats->rx_packets += n;
	qp->stats->rx_bytes += bytes;
}
/* Of those received, so many found no receive request. */
static inline void
tre_ud_discarded(struct tre_qp *qp, uint32_t n)
{
	qp->stats->rs_ud_discarded += n;
}
static inline bool
tre_ud_may_send(const struct tre_qp *qp)
{
	return qp->a.type == IBV_QPT_UD && qp->state == IBV_QPS_RTS && qp->una == qp->tail;
}
static inline void
tre_ud_sent(struct tre_qp *qp, uint32_t n, uint64_t bytes)
{
	qp->next_psn = qp->high_psn = qp->una_psn = ib_psn_add(qp->next_psn, n);
	qp->ssn = (qp->ssn + n) & IB_MSN_MASK;
	qp->stats->tx_packets += n;
	qp->stats->tx_bytes += bytes;
}

/* A packet for this QP. What cannot be for it is counted and dropped. */
void tre_input(struct tre_qp *qp, const struct tre_in *in, uint64_t now_ns);

/* Sends what is due, at most budget packets; how many were sent. Handles timers. */
unsigned int tre_run(struct tre_qp *qp, unsigned int budget, uint64_t now_ns);

/*
 * The home lets no packet out before at, since the QP's rate is limited: the ACK time-out of what waits for it runs from then on.
 * A long message at a low rate would be sent again and again otherwise.
 */
void tre_held(struct tre_qp *qp, uint64_t at_ns);

/* Packets have arrived that tre_input has not had yet, perhaps with the answer: an ACK time-out that is due waits for the next call. */
void tre_not_yet(struct tre_qp *qp, uint64_t now_ns);

/* When tre_run must be called again if nothing else happens; TRE_NEVER. */
uint64_t tre_deadline(const struct tre_qp *qp);

/* Something waits to be sent now. */
bool tre_busy(const struct tre_qp *qp);

/* The QP goes to the error state because of its home (a completion queue overran). */
void tre_qp_fail(struct tre_qp *qp, enum ibv_event_type event);

/* Timer codes in nanoseconds (9.7.6.1.3, 9.7.5.2.8). ACK time-out 0: TRE_NEVER. */
uint64_t tre_timeout_ns(uint8_t code);
uint64_t tre_rnr_ns(uint8_t code);
/* Credits: the code for a number of receive requests, rounded down, and back (table 46). */
uint8_t tre_credit_code(uint32_t count);
uint32_t tre_credit_count(uint8_t code);

#endif /* ROCE_ENGINE_ENGINE_H */
