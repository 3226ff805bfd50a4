/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the engine's files share: its objects, and who offers what to whom, from the ground up. */
#ifndef TCP_TCP_PRIV_H
#define TCP_TCP_PRIV_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "base/seq.h"
#include "base/siphash.h"
#include "base/slab.h"
#include "base/wheel.h"
#include "common.h"
#include "tcp.h"

#define TCP_US_PER_MS UINT64_C(1000)
#define TCP_US_PER_S UINT64_C(1000000)

#define TCP_MSS_MAX 9560u
#define TCP_MSS_MIN 48u /* room for options beside data */
#define TCP_MTU_MIN (TCP_MSS_MIN + 40u)
#define TCP_BUF_MIN 4096u
#define TCP_BUF_MAX 16777216u
#define TCP_WSCALE_MAX 14u
#define TCP_RTO_INITIAL (1 * TCP_US_PER_S) /* RFC 6298 2.1 */
#define TCP_RTO_MAX (120 * TCP_US_PER_S)
#define TCP_TX_BATCH 64u
#define TCP_SPARE 64u
#define TCP_SPARE_MORE 32u
#define TCP_TSO_MAX 57344u /* payload of one large send */
#define TCP_TSO_SEGS 40u
#define TCP_DUPTHRESH 3u

/* --- option.c (RFC 9293 3.1, 7323, 2018) --- */
#define TCP_SACK_MAX 4u
struct tcp_opts {
	bool has_ts, has_mss, has_wscale, sack_ok;
	uint8_t wscale, nsack;
	uint16_t mss;
	uint32_t tsval, tsecr;
	uint32_t sack[TCP_SACK_MAX][2];
};
/* false: an option of impossible length; what stood before it is valid. */
bool tcp_opts_read(const struct rte_tcp_hdr *th, uint32_t hlen, struct tcp_opts *o);

/* --- objects --- */

/* What a tuple leads to. */
enum tcp_kind { TCP_NODE_CONN, TCP_NODE_TIME_WAIT };
struct tcp_node {
	struct tcp_node *next;
	rte_be32_t raddr, laddr; /* as in a packet that arrives */
	rte_be16_t rport, lport;
	uint8_t kind;
	uint8_t state;
};

/* Data that is sent or will be; stands at the front of the mbuf's buffer. */
struct tcp_tseg {
	struct tcp_tseg *next;
	struct rte_mbuf *m;
	uint32_t seq, sent_us;
	uint16_t len, off; /* of payload; off from the buffer's start */
	uint8_t flags;
	uint8_t sends;
};
#define TSEG_FIN 0x01u
#define TSEG_PSH 0x02u
#define TSEG_SACKED 0x04u
#define TSEG_LOST 0x08u   /* to be sent again */
#define TSEG_FLIGHT 0x10u /* counted in pipe */
#define TSEG_RETX 0x20u   /* was sent again: no RTT (Karn) */

static inline uint32_t
tseg_end(const struct tcp_tseg *t)
{
	return t->seq + t->len + (t->flags & TSEG_FIN);
}

/* A run of data with something missing in front of it. Each segment looks at all of a connection's: there are not many. */
#define TCP_OOO_RUNS 128u
struct tcp_ooo {
	struct tcp_ooo *next;
	struct rte_mbuf *head, *tail;
	uint32_t seq, end;
	uint32_t touched, mbufs;
};

enum tcp_timer { TCP_T_RTX, TCP_T_ACK, TCP_T_KEEP, TCP_TIMERS };
/* What TCP_T_RTX stands for. */
enum tcp_rtx { TCP_RTX_NONE, TCP_RTX_RTO, TCP_RTX_PROBE, TCP_RTX_REORDER, TCP_RTX_PERSIST };
enum tcp_phase { TCP_PH_OPEN, TCP_PH_RECOVERY, TCP_PH_LOSS };

/* Sorted by use; the first part is all that a segment in order needs. */
struct tcp_conn {
	struct tcp_node n;
	struct tcp_stack *s;
	struct tcp_conn *dirty_next;

	/* Receiving (RFC 9293 3.3.1) */
	uint32_t rcv_nxt;
	uint32_t rcv_adv;    /* right edge that was told */
	uint32_t rcv_acked;  /* last that was acknowledged */
	uint32_t rcv_queued; /* bytes to read */
	struct rte_mbuf *rx_head, *rx_tail;
	struct tcp_ooo *ooo;
	uint32_t ts_recent;

	/* Sending */
	uint32_t snd_una, snd_nxt;
	uint32_t snd_small; /* end of the last segment that was not full */
	uint32_t snd_wnd, snd_wl1, snd_wl2, snd_wnd_max;
	uint32_t cwnd, ssthresh, pipe;
	uint32_t ecn_end; /* snd_nxt when the window was cut last */
	struct tcp_tseg *tx_head, *tx_tail, *unsent;
	uint32_t snd_queued; /* bytes that are not acknowledged, sent or not */
	uint32_t ts_offset;
	uint16_t mss;  /* payload of a full segment */
	uint16_t unit; /* payload of an mbuf */
	uint8_t snd_wscale, rcv_wscale;
	uint8_t ect;  /* ECN field of new data */
	uint8_t echo; /* RTE_TCP_ECE_FLAG from a marked segment on until the peer's CWR (RFC 3168 6.1.3) */

	bool dirty : 1, ack_now : 1, ack_delayed : 1, opt_ts : 1, opt_sack : 1;
	bool probe_due : 1; /* something must go out whatever the peer's window says */
	bool cwr_due : 1;   /* the next new data says that the window was cut */
	bool opt_ecn : 1, opt_wscale : 1;
	bool nodelay : 1, cork : 1, quickack : 1, keepalive : 1, passive : 1, orphan : 1;
	bool fin_wanted : 1; /* FIN goes behind the data */
	bool fin_queued : 1; /* it has a place in the queue */
	bool fin_ooo : 1;    /* FIN came, and what is in front of it has not */
	bool fin_rcvd : 1, read_shut : 1, want_write : 1, more : 1;
	bool syn_out : 1; /* SYN is to be sent (again) */
	bool in_accept : 1, hashed : 1, timed : 1, dsack : 1, probe_retx : 1, cwnd_limited : 1, reorder_seen : 1;
	bool force : 1; /* one retransmission whatever cwnd says */
	bool push : 1;  /* what waits goes, whatever holds it back */
	bool ecn_asked : 1;
	bool mtu_search : 1;  /* the path is narrower than it could be: larger segments are tried at times */
	bool mtu_lost : 1;    /* what is lost may be a probe of the path alone */
	bool mtu_top : 1;     /* mtu_high itself is tried next, else the middle */
	bool probe_blind : 1; /* since the last tail probe no round trip was measured */

	struct wheel_entry wheel;
	uint64_t at[TCP_TIMERS];
	uint8_t rtx_kind, phase, backoff, cc, dupacks;
	uint8_t reorder_mult, reorder_round;
	uint8_t hy_samples,
		hy_css; /* HyStart++: round trips of this round; rounds of conservative slow start, from 1 */

	/* Round trips (RFC 6298), us, eighths and quarters; srtt8 0: none measured */
	uint32_t srtt8, rttvar4, min_rtt, min_rtt_ms, rto;
	uint64_t
		progress_us; /* when the peer last acknowledged something new, or data came and none waited before it */
	uint64_t acked_us;   /* the former alone */
	uint32_t timeout_ms; /* of the last retransmission time-out */
	/* Loss (RFC 6675, 8985, 6937) */
	uint32_t recover;      /* snd_nxt when the phase began */
	uint32_t sacked, lost; /* bytes */
	uint32_t high_sacked;  /* end of the highest that was selectively acknowledged */
	uint32_t rack_sent, rack_end, rack_rtt;
	uint32_t probe_end; /* RFC 8985 7.4: end of the tail probe */
	uint32_t prr_delivered, prr_out, prr_flight;
	struct tcp_tseg *sack_hint, *lost_hint; /* the last SACKed; none before it is lost */
	union {
		struct { /* CUBIC (RFC 9438) */
			float w_max, w_est, cubic_k;
			uint32_t epoch_ms; /* 0: none */
		};
		struct { /* HyStart++ (RFC 9406) in the first slow start: the round's end, least round trips, 0: none */
			uint32_t hy_end, hy_last, hy_now, hy_base;
		};
	};
	union {
		uint32_t acked_part; /* Reno: of the window */
		float cwnd_prior;    /* CUBIC: segments before the last cut (9438 4.1.2) */
	};
	uint32_t note; /* its place among the notes, from 1 on; 0: none */

	/* Seldom used */
	void *user;
	uint32_t iss, irs, fin_seq;
	uint32_t ts_recent_ms;
	uint32_t dsack_seq, dsack_end, ooo_touch;
	uint32_t sndbuf, rcvbuf, rx_mbufs;
	uint32_t user_timeout_ms;
	uint32_t chal_ms;
	uint32_t path_gen;
	uint32_t addr_sum; /* of the pseudo-header, without the length */
	uint16_t mss_set, mss_peer;
	uint16_t mtu, mtu_path;       /* of the packets that are sent, and what the home says */
	uint16_t mtu_high, mtu_probe; /* largest that may pass, 0: no search; of the packet that tries it, 0: none */
	uint16_t mtu_len;             /* payload of the probe */
	uint32_t mtu_end;             /* sequence number behind the probe */
	uint32_t mtu_next_ms;         /* when the next may go */
	uint16_t keep_idle_s, keep_intvl_s, linger2_s;
	uint16_t ip_id;
	uint8_t keep_cnt, keep_sent, chal_n, retries;
	uint8_t syn_waits; /* times that SYN could not be sent */
	uint8_t ooo_runs;
	uint8_t error;     /* errno */
	uint64_t heard_us; /* when the peer was last heard */
	uint8_t l2_len;
	uint8_t l2[RTE_ETHER_HDR_LEN + 4];
	struct tcp_listener *listener; /* of a connection that is not accepted yet; or itself */
	struct tcp_conn *accept_next;
};

/* The part that only a listener has. */
struct tcp_listener {
	struct tcp_conn c;
	struct tcp_listener *next;    /* of the same bucket */
	struct tcp_conn *head, *tail; /* to accept */
	uint32_t backlog;
	uint32_t waiting, ready; /* not accepted yet: all, and those that are there */
	uint32_t cookie_ms;      /* when the last cookie went out */
	bool cookies;            /* ever */
};

/* RFC 9293 3.6.1; at most 64 octets. */
struct tcp_tw {
	struct tcp_node n;
	struct tcp_tw *next, **prev;
	uint32_t rcv_nxt, snd_nxt;
	uint32_t ts_recent, ts_offset;
	uint32_t end_ms;
	uint16_t wnd;
	bool ts; /* the connection had timestamps */
};

#define TCP_LISTEN_BUCKETS 256u
struct tcp_stack {
	const struct tcp_home *ops;
	void *home;
	uint64_t now, ms_end;        /* ms_end: of the millisecond */
	uint64_t away_from, away_us; /* when nobody ran it last, as a timer that was late told, and how long */
	uint32_t now_ms;
	struct tcp_node **table;
	uint64_t key_hash[2];
	uint32_t mask, conns, tws, path_gen, ooo_mbufs;
	struct tcp_conn *dirty_head, *dirty_tail;
	struct rte_mbuf *tx[TCP_TX_BATCH];
	struct rte_mbuf *spare[TCP_SPARE]; /* of the pool, taken many at a time */
	uint32_t nspare, ntx, sent;
	bool blocked, tx_scarce, rx_scarce, starved; /* few mbufs (mbuf.c); a program was refused since all were told */
	uint32_t rx_left;                            /* mbufs of rx_pool above the reserve, at the last look */
	uint32_t rx_room;                            /* octets that copies may still take, then */
	size_t rx_copied;                            /* octets of copies */
	struct tcp_conf conf;
	struct tcp_stats st;
	uint64_t key[2], key_ts[2];
	uint32_t port_step;
	uint32_t note_free; /* a free place of notes, from 1 on; 0: none before their end */
	struct slab conn_slab, tw_slab, ooo_slab;
	struct tcp_tw *tw_head, **tw_tail;
	struct tcp_listener *listener[TCP_LISTEN_BUCKETS];
	struct wheel wheel;
};

/* A segment that arrived. */
struct tcp_seg {
	struct rte_mbuf *m; /* NULL: taken */
	struct tcp_tw *tw;  /* the entry that a SYN makes a connection of */
	const struct rte_ether_hdr *eth;
	const struct rte_ipv4_hdr *ip;
	const struct rte_tcp_hdr *th;
	uint32_t seq, ack, len; /* len of payload */
	uint32_t wnd;
	uint32_t l2_len, hdr_len; /* of Ethernet; of all headers */
	uint8_t flags;
	struct tcp_opts o;
};

/* --- mbuf.c --- */
struct rte_mbuf *tcp_mbuf_more(struct tcp_stack *s);
/* NULL: the pool is empty; it is counted. */
static inline struct rte_mbuf *
tcp_mbuf(struct tcp_stack *s)
{
	return likely(s->nspare != 0) ? s->spare[--s->nspare] : tcp_mbuf_more(s);
}
/* One that tcp_mbuf gave, and that nobody chained: for the next, if the device is done with it. */
static inline void
tcp_mbuf_done(struct tcp_stack *s, struct rte_mbuf *m)
{
	if (unlikely(rte_mbuf_refcnt_read(m) != 1 || s->nspare == TCP_SPARE)) {
		rte_pktmbuf_free_seg(m);
		return;
	}
	m->next = NULL;
	m->nb_segs = 1;
	m->ol_flags = 0;
	m->data_len = 0;
	m->pkt_len = 0;
	s->spare[s->nspare++] = m;
}
void tcp_tx_look(struct tcp_stack *s);
void tcp_rx_look(struct tcp_stack *s);
/* --- stack.c --- */
/* Time never goes back. */
static inline void
tcp_clock(struct tcp_stack *s, uint64_t now_us)
{
	if (now_us <= s->now)
		return;
	s->now = now_us;
	if (now_us < s->ms_end)
		return;
	s->now_ms = (uint32_t)(now_us / TCP_US_PER_MS);
	s->ms_end = (now_us / TCP_US_PER_MS + 1) * TCP_US_PER_MS;
}
/* Checksums of IP and TCP, by the device, or by ourselves where it did not look; len octets of TCP from off on. */
bool tcp_sums_check(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len);
static inline bool
tcp_sums_good(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len)
{
	return likely((m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) ==
		      (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)) ||
	       tcp_sums_check(m, ip, off, len);
}

/* --- table.c: tuples, listeners, life of connections --- */
/* Addresses and ports as they lie in struct tcp_node; with a key, so that others cannot tell what falls together. */
static inline uint32_t
tcp_hash(const struct tcp_stack *s, uint64_t addrs, uint32_t ports)
{
	const unsigned __int128 p = (unsigned __int128)(addrs ^ s->key_hash[0]) * (ports ^ s->key_hash[1]);
	const uint64_t h = (uint64_t)p ^ (uint64_t)(p >> 64);

	return (uint32_t)(h ^ h >> 32) & s->mask;
}
static inline uint32_t
tcp_slot(const struct tcp_stack *s, rte_be32_t laddr, rte_be32_t raddr, rte_be16_t lport, rte_be16_t rport)
{
	return tcp_hash(s, (uint64_t)laddr << 32 | raddr, (uint32_t)lport << 16 | rport);
}
static inline struct tcp_node *
tcp_find(const struct tcp_stack *s, rte_be32_t laddr, rte_be32_t raddr, rte_be16_t lport, rte_be16_t rport)
{
	struct tcp_node *n = s->table[tcp_slot(s, laddr, raddr, lport, rport)];

	while (n != NULL && (n->rport != rport || n->raddr != raddr || n->lport != lport || n->laddr != laddr))
		n = n->next;
	return n;
}
/* Whose a packet is, by the 12 octets of its addresses and ports. */
static inline struct tcp_node *
tcp_find_packet(const struct tcp_stack *s, const void *tuple)
{
	uint64_t a, na;
	uint32_t b, nb;
	struct tcp_node *n;

	memcpy(&a, tuple, sizeof(a));
	memcpy(&b, (const uint8_t *)tuple + sizeof(a), sizeof(b));
	n = s->table[tcp_hash(s, a, b)];
	for (; n != NULL; n = n->next) {
		memcpy(&na, &n->raddr, sizeof(na));
		memcpy(&nb, &n->rport, sizeof(nb));
		if (likely(na == a && nb == b))
			break;
	}
	return n;
}
struct tcp_listener *tcp_find_listener(const struct tcp_stack *s, rte_be32_t laddr, rte_be16_t lport);
void tcp_node_add(struct tcp_stack *s, struct tcp_node *n);
void tcp_node_del(struct tcp_stack *s, struct tcp_node *n);
/* What a connection and a listener begin with. */
void tcp_conn_presets(struct tcp_stack *s, struct tcp_conn *c);
struct tcp_conn *tcp_conn_new(struct tcp_stack *s, const struct tcp_conn *like);
/* Work for tcp_run. */
static inline void
tcp_dirty(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;

	if (c->dirty)
		return;
	c->dirty = true;
	c->dirty_next = NULL;
	if (s->dirty_head == NULL)
		s->dirty_head = c;
	else
		s->dirty_tail->dirty_next = c;
	s->dirty_tail = c;
}
/* --- note.c: whether a peer may believe in a connection has changed --- */
void tcp_note_look(struct tcp_conn *c);
static inline void
tcp_note(struct tcp_conn *c)
{
	if (c->s->conf.notes != NULL)
		tcp_note_look(c);
}
static inline void
tcp_enter(struct tcp_conn *c, uint8_t state)
{
	c->n.state = state;
	tcp_note(c);
	if (c->s->ops->state != NULL && c->user != NULL && !c->orphan)
		c->s->ops->state(c->s->home, c->user, state);
}
static inline void
tcp_event(struct tcp_conn *c, unsigned int events)
{
	if (!c->orphan && !c->in_accept)
		c->s->ops->event(c->s->home, c, c->user, events);
}
/* The wheel holds the earliest of three, or something earlier that was put off since: it is looked at when it comes. */
static inline void
tcp_timer(struct tcp_conn *c, enum tcp_timer t, uint64_t at)
{
	c->at[t] = at;
	if (at != TCP_NEVER && (!c->timed || at < c->wheel.tick << WHEEL_SHIFT)) {
		wheel_add(&c->s->wheel, &c->wheel, at);
		c->timed = true;
	}
}
/* Out of all tables, into CLOSED; queues are emptied, but what can be read stays when keep_rx. */
void tcp_end(struct tcp_conn *c, int error, bool keep_rx);
/* Memory goes back: it is the last use of c. */
void tcp_conn_free(struct tcp_conn *c);
uint32_t tcp_isn(const struct tcp_stack *s, const struct tcp_node *n);
uint32_t tcp_ts_offset(const struct tcp_stack *s, const struct tcp_node *n);
/* The payload of a full segment by path, peer and options. */
void tcp_mss_set(struct tcp_conn *c);
/* What both ends agreed on has come with the peer's SYN. */
void tcp_syn_options(struct tcp_conn *c, const struct tcp_seg *g);

/* What keeps a call from its work: 0 or a negative errno. */
static inline int
tcp_told_error(struct tcp_conn *c, int other)
{
	const int error = c->error;

	c->error = 0;
	return error != 0 ? -error : other;
}

#include "rxq.h"

/* --- txq.c: what is to be sent --- */
/* A place for FIN; false: no mbuf. */
bool tcp_tx_fin(struct tcp_conn *c);
/* The first len bytes become a segment of their own; false: no mbuf. */
bool tcp_tx_split(struct tcp_conn *c, struct tcp_tseg *t, uint32_t len);
/* Up to ack is acknowledged. */
void tcp_tx_acked(struct tcp_conn *c, uint32_t ack);
void tcp_tx_free(struct tcp_conn *c);

/* --- frame.c: segments as frames --- */
int tcp_path_ask(struct tcp_conn *c);
/* Finds the way again if it changed; 0 or a negative errno. */
static inline int
tcp_path_get(struct tcp_conn *c)
{
	return likely(c->path_gen == c->s->path_gen) ? 0 : tcp_path_ask(c);
}
static inline uint16_t
tcp_path_mtu(const struct tcp_path *p)
{
	return RTE_MAX(RTE_MIN(p->mtu, (uint16_t)(TCP_MSS_MAX + 40)), (uint16_t)TCP_MTU_MIN);
}
/* The MSS that we tell. */
static inline uint32_t
tcp_mss_ours(uint16_t mtu, uint16_t mss_set)
{
	return RTE_MIN((uint32_t)mtu - 40, mss_set != 0 ? mss_set : TCP_MSS_MAX);
}
void tcp_flush(struct tcp_stack *s);
/* false: no path, no mbuf, or the home takes no more (s->blocked). */
bool tcp_send_control(struct tcp_conn *c, uint32_t seq, uint8_t flags);
bool tcp_send_ack(struct tcp_conn *c);
/* n segments of the queue from t on, of len octets, as one frame, which the device cuts behind cut octets; 0: it does not. */
bool tcp_send_data(struct tcp_conn *c, struct tcp_tseg *t, uint32_t n, uint32_t len, uint32_t cut);
/* An answer without a connection, on the way that the segment came. */
struct tcp_answer {
	uint32_t seq, ack, olen;
	const uint8_t *opt; /* olen octets of options, a multiple of 4 */
	uint16_t wnd;
	uint8_t flags;
};
void tcp_send_answer(struct tcp_stack *s, const struct tcp_seg *g, const struct tcp_answer *a);
/* RFC 9293 3.10.7.1: RST for a segment that belongs nowhere. */
void tcp_send_reset(struct tcp_stack *s, const struct tcp_seg *g);
/* RFC 5961 7: an ACK that asks whether the peer means it, 10 in 5 s at most. */
void tcp_challenge(struct tcp_conn *c);

#include "path/path.h"

/* --- loss.c: scoreboard --- */
/* An acceptable acknowledgement: queue, SACK, RTT, windows, losses. */
void tcp_ack(struct tcp_conn *c, const struct tcp_seg *g);
void tcp_loss_timeout(struct tcp_conn *c);
void tcp_loss_reorder_timeout(struct tcp_conn *c);
void tcp_mark_lost(struct tcp_conn *c, struct tcp_tseg *t);
/* Sent after: by time, then by sequence (8985 3.2). */
static inline bool
tcp_sent_after(uint32_t t1, uint32_t end1, uint32_t t2, uint32_t end2)
{
	return seq_lt(t2, t1) || (t1 == t2 && seq_lt(end2, end1));
}

/* --- output.c --- */
void tcp_output(struct tcp_conn *c);
/* n segments from t on, the first that was not sent, have gone. */
void tcp_new_sent(struct tcp_conn *c, struct tcp_tseg *t, uint32_t n);

/* --- timewait.c --- */
void tcp_tw_enter(struct tcp_conn *c);
/* true: the segment may open a connection anew (RFC 6191), whose first number is so far behind the last one. */
#define TCP_TW_AHEAD 65537u
bool tcp_tw_input(struct tcp_stack *s, struct tcp_tw *tw, struct tcp_seg *g);
void tcp_tw_expire(struct tcp_stack *s);
void tcp_tw_free(struct tcp_stack *s, struct tcp_tw *tw);

/* --- cookie.c: RFC 4987 3.6 --- */
/* The answer to a SYN for which there is no room. */
void tcp_cookie_send(struct tcp_listener *l, const struct tcp_seg *g);
/* The segment acknowledges a cookie of ours: the MSS that the peer named, about; 0: it does not. */
uint16_t tcp_cookie_check(const struct tcp_listener *l, const struct tcp_seg *g);

/* --- segment.c, open.c: RFC 9293 3.10.7 --- */
void tcp_open(struct tcp_conn *c, uint32_t isn);
void tcp_fin_input(struct tcp_conn *c, uint32_t seq);
void tcp_listen_input(struct tcp_listener *l, struct tcp_seg *g);
void tcp_syn_sent_input(struct tcp_conn *c, struct tcp_seg *g);
/* A connection that a listener made is there. */
void tcp_established(struct tcp_conn *c);
void tcp_segment_input(struct tcp_conn *c, struct tcp_seg *g);
/* RFC 9293 3.8.6.3: what arrived is acknowledged at once for the second full segment, else within the time. */
static inline void
tcp_plan_ack(struct tcp_conn *c)
{
	const uint32_t n = c->rcv_nxt - c->rcv_acked;

	if (n == 0)
		return;
	if (n >= 2u * c->mss || c->quickack)
		c->ack_now = true;
	if (c->ack_now || c->ack_delayed)
		return;
	c->ack_delayed = true;
	tcp_timer(c, TCP_T_ACK, c->s->now + c->s->conf.delack_ms * TCP_US_PER_MS);
}

/* --- stack.c: any frame; takes m --- */
void tcp_slow_input(struct tcp_stack *s, struct rte_mbuf *m);

static inline uint32_t
tcp_ts_now(const struct tcp_conn *c)
{
	return c->s->now_ms + c->ts_offset;
}

/* Sequence space that is sent and not acknowledged. */
static inline uint32_t
tcp_flight(const struct tcp_conn *c)
{
	return c->snd_nxt - c->snd_una;
}

/* Bytes that may be queued for sending now. */
static inline uint32_t
tcp_room(const struct tcp_conn *c)
{
	if ((c->n.state != TCP_ESTABLISHED && c->n.state != TCP_CLOSE_WAIT) || c->fin_wanted)
		return 0;
	return c->sndbuf > c->snd_queued ? c->sndbuf - c->snd_queued : 0;
}

/* What is believed to be on the way; without SACK each duplicate stands for a segment that left (RFC 6582 3.2). */
static inline uint32_t
tcp_pipe(const struct tcp_conn *c)
{
	return c->opt_sack ? c->pipe : c->pipe - RTE_MIN(c->pipe, (uint32_t)c->dupacks * c->mss);
}

#endif /* TCP_TCP_PRIV_H */
