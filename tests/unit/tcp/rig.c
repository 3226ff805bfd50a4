/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_mempool.h>

#include "lib/tcp/tcp_priv.h"
#include "heap.h"
#include "path.h"
#include "rig.h"
#include "watch.h"
#include "tests/unit/eal.h"

#define TX_MBUFS 8191u
#define RX_MBUFS 8191u
#define MINUTE UINT64_C(60000000)

static struct rte_mempool *tx_pool, *rx_pool;

void
rig_init(void)
{
	if (tx_pool != NULL)
		return;
	if (unit_eal("tcp", "128", "--log-level=error") < 0)
		abort();
	tx_pool = rte_pktmbuf_pool_create("tx", TX_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	rx_pool = rte_pktmbuf_pool_create("rx", RX_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (tx_pool == NULL || rx_pool == NULL)
		abort();
}

void
rig_fail(struct rig *r, const char *fmt, ...)
{
	va_list ap;

	if (r->why[0] != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
}

uint32_t
rig_random(struct rig *r, uint32_t below)
{
	/* xorshift64* */
	r->random ^= r->random >> 12;
	r->random ^= r->random << 25;
	r->random ^= r->random >> 27;
	return below == 0 ? 0 : (uint32_t)((r->random * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

uint8_t
rig_byte(int side, uint64_t i)
{
	const uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)side * 77;

	return (uint8_t)(x >> 56 ^ x >> 29);
}

/* --- the wire --- */

static bool
chance(struct rig *r, uint32_t of_65536)
{
	return of_65536 != 0 && rig_random(r, 65536) < of_65536;
}

static struct rte_mbuf *
frame_mbuf(const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = NULL, *last = NULL, *k;
	uint32_t n;

	/* Large frames come in chains. */
	for (; len != 0; len -= n, frame += n) {
		k = rte_pktmbuf_alloc(rx_pool);
		if (k == NULL) {
			rte_pktmbuf_free(m);
			return NULL;
		}
		n = RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(k));
		memcpy(rte_pktmbuf_append(k, (uint16_t)n), frame, n);
		if (m == NULL) {
			m = k;
		} else {
			last->next = k;
			m->nb_segs++;
			m->pkt_len += n;
		}
		last = k;
	}
	return m;
}

static void
carry(struct rig_side *from, const uint8_t *frame, uint32_t len)
{
	struct rig *r = from->r;
	const struct rig_wire *w = &r->wire[from->n];
	uint64_t at = r->now;
	struct rig_frame f;
	int copies = chance(r, w->dup) ? 2 : 1;
	bool mark = chance(r, w->mark);
	uint8_t told[PATH_ICMP_LEN];

	if (chance(r, w->loss))
		return;
	if (w->mtu != 0 && len > w->mtu + 14u) {
		from->too_large++;
		if (w->icmp == RIG_SILENT)
			return;
		path_too_large(frame, w->icmp == RIG_ICMP_OLD ? 0 : w->mtu, told);
		f = (struct rig_frame){
			.at = at + w->delay_us, .order = r->order++, .m = frame_mbuf(told, sizeof(told))};
		if (f.m != NULL) {
			f.m->port = from->n;
			push(r, f);
		}
		return;
	}
	if (w->bytes_per_ms != 0) {
		const uint64_t start = RTE_MAX(from->busy_until, r->now);

		if (w->queue_bytes != 0 && (start - r->now) * w->bytes_per_ms / 1000 + len > w->queue_bytes) {
			from->dropped++;
			return;
		}
		mark |= w->mark_bytes != 0 && (start - r->now) * w->bytes_per_ms / 1000 > w->mark_bytes;
		from->busy_until = start + (uint64_t)len * 1000 / w->bytes_per_ms;
		at = from->busy_until;
	}
	while (copies-- > 0) {
		f.m = frame_mbuf(frame, len);
		if (f.m == NULL)
			return;
		f.at = at + w->delay_us;
		if (chance(r, w->reorder))
			f.at += rig_random(r, (uint32_t)(w->delay_us + 1000));
		if (w->jitter_us != 0)
			f.at += rig_random(r, (uint32_t)w->jitter_us);
		f.order = r->order++;
		f.m->port = !from->n;
		if (mark)
			path_mark(rte_pktmbuf_mtod_offset(f.m, uint8_t *, 14));
		from->marked += mark && (frame[15] & 3) != 0;
		if (r->hold) /* a card that looks at checksums, too */
			f.m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		push(r, f);
	}
}

/* --- what each frame must be --- */

static void
read_options(struct rig_side *a, const uint8_t *t, uint32_t thl, bool syn)
{
	const uint8_t *p = t + 20, *end = t + thl;

	while (p < end && p[0] != 0) {
		if (p[0] == 1) {
			p++;
			continue;
		}
		if (end - p < 2 || p[1] < 2 || p[1] > end - p) {
			rig_fail(a->r, "side %u: option %u of bad length", a->n, p[0]);
			return;
		}
		if (syn && p[0] == 3) {
			a->scale = p[2];
			a->scale_said = true;
		}
		if (syn && p[0] == 4)
			a->sack_said = true;
		if (syn && p[0] == 8)
			a->ts_said = true;
		p += p[1];
	}
}

/* RFC 9293 3.4, 3.8.6: what leaves lies in the window that the peer told; one octet may ask a closed one. */
static void
check_window(struct rig_side *a, uint32_t seq, uint32_t space, bool syn)
{
	const struct rig_side *b = &a->r->side[!a->n];

	if (syn || space == 0 || a->r->free_window)
		return;
	if ((int32_t)(seq + space - a->high_seq) <= 0) {
		a->rtx_bytes += space;
		return;
	}
	if (b->edge_set && (int32_t)(seq + space - b->edge) > 0 && !(space == 1 && seq == b->edge))
		rig_fail(a->r, "side %u sends [%u, +%u) beyond the window's edge %u", a->n, seq - a->syn_seq, space,
			 b->edge - a->syn_seq);
	if ((int32_t)(seq - a->high_seq) > 0)
		rig_fail(a->r, "side %u leaves a gap of %u octets", a->n, seq - a->high_seq);
}

static void
check_frame(struct rig_side *a, const uint8_t *frame, uint32_t len)
{
	struct rig_side *b = &a->r->side[!a->n];
	const uint8_t *ip = frame + 14, *t = ip + 20;
	const uint32_t total = get16(ip + 2), thl = (uint32_t)(t[12] >> 4) * 4;
	const bool syn = (t[13] & 2) != 0, ack = (t[13] & 16) != 0, rst = (t[13] & 4) != 0;
	const char *wrong;
	uint32_t space, edge;

	if (len != 14 + total || thl < 20 || total < 20 + thl || total > a->mtu) {
		rig_fail(a->r, "side %u: frame of %u octets, IP says %u, MTU %u", a->n, len, total, a->mtu);
		return;
	}
	if (fold(add(ip, 20, 0)) != 0xffff || segment_sum(ip, total - 20) != 0xffff)
		rig_fail(a->r, "side %u: bad checksum", a->n);
	a->frames++;
	read_options(a, t, thl, syn);
	space = total - 20 - thl + syn + (t[13] & 1);
	a->data_frames += total - 20 - thl != 0;
	wrong = path_wrong(a, ip, total - 20 - thl);
	if (wrong != NULL)
		rig_fail(a->r, "side %u: %s", a->n, wrong);
	if (rst)
		return;
	if (syn && !a->syn_seen) {
		a->syn_seen = true;
		a->syn_seq = a->high_seq = get32(t + 4);
	}
	check_window(a, get32(t + 4), space, syn);
	if ((int32_t)(get32(t + 4) + space - a->high_seq) > 0)
		a->high_seq = get32(t + 4) + space;
	if (!ack)
		return;
	if (b->syn_seen && !a->r->free_window && (int32_t)(get32(t + 8) - b->high_seq) > 0)
		rig_fail(a->r, "side %u acknowledges %u octets that were not sent", a->n, get32(t + 8) - b->high_seq);
	edge = get32(t + 8) + (get16(t + 14) << (syn || !a->scale_said || !b->scale_said ? 0 : a->scale));
	if (a->edge_set && !a->r->free_window && (int32_t)(edge - a->edge) < 0) {
		/* Older acknowledgements do not exist before the wire. */
		rig_fail(a->r, "side %u takes its window back by %u octets", a->n, a->edge - edge);
	}
	a->edge = edge;
	a->edge_set = true;
}

static void
one_frame(struct rig_side *a, const uint8_t *frame, uint32_t len)
{
	check_frame(a, frame, len);
	if (a->tap != NULL && a->tap(a, frame, len))
		return;
	carry(a, frame, len);
}

/* What a card that writes the checksum goes by: the pseudo-header's sum, which of a large send is without the length. */
static void
check_pseudo(struct rig_side *a, const uint8_t *ip, uint32_t len)
{
	const uint32_t is = get16(ip + 36), should = fold(add(ip + 12, 8, 6 + len));

	if (is != should)
		rig_fail(a->r, "side %u: %#x instead of the pseudo-header's sum %#x", a->n, is, should);
	if (get16(ip + 10) != 0)
		rig_fail(a->r, "side %u: the sum of the IP header is not the card's", a->n);
}

/* As a card does: one frame, or many. */
static void
cut(struct rig_side *a, const struct rte_mbuf *m)
{
	static uint8_t all[65536 + 256], one[16384];
	uint32_t len = m->pkt_len, hlen, off, n;
	const uint8_t *p = rte_pktmbuf_read(m, 0, len, all);

	if (p != all)
		memcpy(all, p, len);
	if ((m->ol_flags & RTE_MBUF_F_TX_TCP_CKSUM) != 0 && m->l2_len != (a->vlan != 0 ? 18 : 14))
		rig_fail(a->r, "side %u: Ethernet of %u octets", a->n, m->l2_len);
	if (a->vlan != 0) {
		if (get16(all + 12) != 0x8100 || get16(all + 14) != a->vlan)
			rig_fail(a->r, "side %u: a tag of %#x", a->n, get32(all + 12));
		len -= 4;
		memmove(all + 12, all + 16, len - 12);
	}
	if ((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) {
		if ((m->ol_flags & RTE_MBUF_F_TX_TCP_CKSUM) != 0) {
			check_pseudo(a, all + 14, get16(all + 16) - 20);
			write_sums(all + 14);
		}
		one_frame(a, all, len);
		return;
	}
	hlen = 14 + m->l3_len + m->l4_len;
	check_pseudo(a, all + 14, 0);
	for (off = hlen; off < len; off += n) {
		n = RTE_MIN(len - off, (uint32_t)m->tso_segsz);
		memcpy(one, all, hlen);
		memcpy(one + hlen, all + off, n);
		put16(one + 14 + 2, hlen + n - 14);
		put32(one + 14 + 24, get32(all + 14 + 24) + off - hlen);
		if (off + n < len)
			one[14 + 33] &= (uint8_t) ~(1 | 8);
		write_sums(one + 14);
		one_frame(a, one, hlen + n);
	}
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct rig_side *a = home;
	struct rig *r = a->r;
	uint16_t i;

	if (a->stopped)
		return 0;
	if (a->tx_room != 0)
		n = RTE_MIN(n, (uint16_t)rig_random(r, a->tx_room + 1));
	for (i = 0; i < n; i++) {
		const char *reason = "";

		if (rte_mbuf_check(m[i], 1, &reason) != 0)
			rig_fail(r, "side %u: mbuf: %s", a->n, reason);
		cut(a, m[i]);
		if (!r->hold) {
			rte_pktmbuf_free(m[i]);
			continue;
		}
		if (r->nheld == RIG_HELD) {
			const uint32_t k = rig_random(r, RIG_HELD);

			rte_pktmbuf_free(r->held[k]);
			r->held[k] = r->held[--r->nheld];
		}
		r->held[r->nheld++] = m[i];
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	struct rig_side *a = home;

	(void)local, (void)remote;
	path->local = a->ip;
	path->mtu = a->mtu;
	path->vlan = a->vlan;
	memset(&path->src, 2 + a->n * 2, sizeof(path->src));
	memset(&path->dst, 2 + !a->n * 2, sizeof(path->dst));
	return a->path_error;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	return ip == ((struct rig_side *)home)->ip;
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	struct rig_side *a = home;

	(void)user;
	a->events |= events;
	a->event_conn = conn;
}

static uint32_t
home_random(void *home)
{
	struct rig *r = ((struct rig_side *)home)->r;

	return rig_random(r, 1u << 31) << 1 ^ rig_random(r, 1u << 31);
}

static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};

void
rig_start(struct rig *r, uint64_t seed, const struct tcp_conf conf[2], const struct rig_wire wire[2],
	  const uint16_t mtu[2])
{
	int i, err;

	memset(r, 0, sizeof(*r));
	r->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	r->q = malloc(RIG_FRAMES * sizeof(r->q[0]));
	/* Clocks are at any place, also before a wrap of the 32 bits that TCP has. */
	r->now = rig_random(r, 2) != 0 ? UINT64_C(4294967296) * 1000 - 1000000 : UINT64_C(1) << 32;
	r->hold = rig_random(r, 2) != 0;
	for (i = 0; i < 2; i++) {
		struct rig_side *a = &r->side[i];

		r->wire[i] = wire[i];
		a->r = r;
		a->n = (uint8_t)i;
		a->ip = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 1 + i));
		a->mtu = mtu[i];
		a->conf = conf[i];
		a->conf.pool = tx_pool;
		a->s = tcp_stack_create(&a->conf, &ops, a, r->now, &err);
		if (a->s == NULL)
			rig_fail(r, "stack %d: %d", i, err);
	}
}

bool
rig_end(struct rig *r)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		tcp_stack_destroy(r->side[i].s);
	while (r->nq != 0)
		rte_pktmbuf_free(pop(r).m);
	for (i = 0; i < r->nheld; i++)
		rte_pktmbuf_free(r->held[i]);
	free(r->q);
	if (rte_mempool_avail_count(tx_pool) != TX_MBUFS || rte_mempool_avail_count(rx_pool) != RX_MBUFS)
		rig_fail(r, "mbufs are missing: %u of %u sent, %u of %u received", rte_mempool_in_use_count(tx_pool),
			 TX_MBUFS, rte_mempool_in_use_count(rx_pool), RX_MBUFS);
	return r->why[0] == 0;
}

static struct rte_mbuf *taken[TX_MBUFS + 1];
static uint32_t num_taken;

void
rig_pool_leave(struct rig *r, uint32_t left)
{
	int i;

	for (i = 0; i < 2; i++)
		while (r->side[i].s->nspare != 0)
			taken[num_taken++] = r->side[i].s->spare[--r->side[i].s->nspare];
	while (rte_mempool_avail_count(tx_pool) > left && (taken[num_taken] = rte_pktmbuf_alloc(tx_pool)) != NULL)
		num_taken++;
	while (rte_mempool_avail_count(tx_pool) < left && num_taken != 0)
		rte_pktmbuf_free(taken[--num_taken]);
}

void
rig_pool_empty(struct rig *r, bool empty)
{
	if (empty)
		rig_pool_leave(r, 0);
	while (!empty && num_taken != 0)
		rte_pktmbuf_free(taken[--num_taken]);
}

static void
give_back(struct rig *r)
{
	while (r->nheld != 0 && rig_random(r, 4) != 0) {
		const uint32_t k = rig_random(r, r->nheld);

		rte_pktmbuf_free(r->held[k]);
		r->held[k] = r->held[--r->nheld];
	}
}

/* The next moment at which something happens. */
static uint64_t
next_time(const struct rig *r)
{
	uint64_t at = r->nq != 0 ? r->q[0].at : TCP_NEVER;
	int i;

	for (i = 0; i < 2; i++)
		at = RTE_MIN(at,
			     r->side[i].asleep_until > r->now ? r->side[i].asleep_until : tcp_deadline(r->side[i].s));
	return at == TCP_NEVER ? at : RTE_MAX(at, r->now);
}

static void
advance(struct rig *r, uint64_t at)
{
	struct rte_mbuf *m[2][32];
	uint16_t n[2] = {0, 0};
	int i;

	r->now = at;
	while (r->nq != 0 && r->q[0].at <= r->now && n[0] < 32 && n[1] < 32) {
		struct rig_frame f = pop(r);

		if (r->side[f.m->port].asleep_until > r->now) {
			f.at = r->side[f.m->port].asleep_until;
			push(r, f);
			continue;
		}
		m[f.m->port][n[f.m->port]++] = f.m;
	}
	for (i = 0; i < 2; i++) {
		if (r->side[i].asleep_until > r->now)
			continue;
		if (n[i] != 0)
			tcp_input(r->side[i].s, m[i], n[i], r->now);
		tcp_run(r->side[i].s, r->now);
		/* What could not be sent for want of room is tried again; else nothing is due any more. */
		if (r->side[i].tx_room == 0 && !r->side[i].stopped && tcp_deadline(r->side[i].s) <= r->now)
			rig_fail(r, "side %d: still due after tcp_run", i);
		watch_timer(&r->side[i]);
	}
	give_back(r);
}

bool
rig_step(struct rig *r)
{
	const uint64_t at = next_time(r);

	if (at == TCP_NEVER)
		return false;
	/* With no room the time goes on by itself. */
	advance(r, at == r->now && (r->side[0].tx_room + r->side[1].tx_room != 0 || r->side[0].stopped ||
				    r->side[1].stopped)
			   ? at + 10
			   : at);
	return true;
}

void
rig_until(struct rig *r, uint64_t us)
{
	uint64_t at;

	while ((at = next_time(r)) <= us && r->why[0] == 0)
		rig_step(r);
	if (r->why[0] == 0)
		advance(r, RTE_MAX(r->now, us));
}

void
rig_frame(struct rig *r, int to, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = frame_mbuf(frame, len);

	if (m == NULL)
		abort();
	tcp_input(r->side[to].s, &m, 1, r->now);
	tcp_run(r->side[to].s, r->now);
}

void
rig_inject(struct rig *r, int to, const uint8_t *frame, uint32_t len)
{
	uint8_t all[2048];

	memcpy(all, frame, len);
	write_sums(all + 14);
	rig_frame(r, to, all, len);
}

bool
rig_connect(struct rig *r, struct tcp_conn *c[2])
{
	const struct tcp_addr at = {0, RTE_BE16(80)}, to = {r->side[1].ip, RTE_BE16(80)};
	struct tcp_conn *l;
	/* A bad wire may lose a SYN, or its answer, many times; between the last tries are two minutes. */
	const uint64_t limit = r->now + 60 * MINUTE;
	int err;

	c[1] = NULL;
	l = tcp_listen(r->side[1].s, &at, 4, NULL, &err);
	if (l == NULL) {
		rig_fail(r, "listen: %d", err);
		return false;
	}
	c[0] = tcp_connect(r->side[0].s, NULL, &to, NULL, &err);
	if (c[0] == NULL) {
		rig_fail(r, "connect: %d", err);
		return false;
	}
	r->port = c[0]->n.lport;
	while (r->why[0] == 0 && r->now < limit && c[1] == NULL && rig_step(r))
		c[1] = tcp_accept(l, NULL);
	tcp_close(l);
	if (c[1] == NULL)
		rig_fail(r, "no connection; state %d, error %d", tcp_state(c[0]), tcp_error(c[0]));
	return c[1] != NULL;
}
