/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Priorities and marks of frames to send, frame by frame: what the headers say up to the last byte that is looked at, what is
 * written, and what is copied before. Wanted values are counted by hand in the frames' bytes.
 */
#include "mark_rig.h"

/* Where the protocol and the ports are, and how long a frame must be that they are looked at. */
static void
headers(void **state)
{
	static const struct {
		uint16_t len;
		uint8_t n;     /* of these bytes */
		uint8_t ports; /* where the destination port is, 0: there is none */
		uint8_t prio;
		uint8_t bytes[24];
	} t[] = {
#define V4(first, f0, f1, proto) 0x08, 0x00, first, 0, 0, 0, 0, 0, f0, f1, 64, proto
#define V6(first, proto) 0x86, 0xdd, first, 0, 0, 0, 0, 0, proto
		{LEN, 12, 36, 5, {V4(0x45, 0, 0, 17)}},
		{LEN, 12, 36, 3, {V4(0x45, 0, 0, 6)}},
		{LEN, 12, 35, 2, {V4(0x45, 0, 0, 17)}},
		{LEN, 12, 36, 6, {V4(0x45, 0, 0, 1)}},
		{LEN, 12, 40, 5, {V4(0x46, 0, 0, 17)}}, /* options */
		{LEN, 12, 76, 5, {V4(0x4f, 0, 0, 17)}},
		{LEN, 12, 36, 5, {V4(0x45, 0x60, 0, 17)}}, /* first fragment, must not be fragmented */
		{LEN, 12, 36, 2, {V4(0x45, 0x20, 1, 17)}}, /* not the first */
		{LEN, 12, 36, 2, {V4(0x45, 0x10, 0, 17)}},
		{LEN, 12, 36, 6, {V4(0x55, 0, 0, 17)}},
		{38, 12, 36, 5, {V4(0x45, 0, 0, 17)}}, /* the ports are the last bytes, one is missing */
		{37, 12, 36, 2, {V4(0x45, 0, 0, 17)}},
		{34, 12, 0, 2, {V4(0x45, 0, 0, 17)}}, /* the header is, and is not all there */
		{33, 12, 0, 6, {V4(0x45, 0, 0, 17)}},
		{LEN, 9, 56, 5, {V6(0x60, 17)}},
		{LEN, 9, 56, 3, {V6(0x6f, 6)}},
		{LEN, 9, 56, 6, {V6(0x40, 17)}},
		{LEN, 9, 56, 6, {V6(0x60, 58)}},
		{58, 9, 56, 5, {V6(0x60, 17)}},
		{57, 9, 56, 2, {V6(0x60, 17)}},
		{54, 9, 0, 2, {V6(0x60, 17)}},
		{53, 9, 0, 6, {V6(0x60, 17)}},
		{LEN, 4, 36, 6, {0x88, 0xb5, 0x45}},
	};
	struct rings *r = *state;
	uint32_t i, at;

	rules(r);
	for (i = 0; i < RTE_DIM(t); i++) {
		struct rte_mbuf *m = frame(r, t[i].len, t[i].bytes, t[i].n);

		if (t[i].ports != 0)
			put(m, t[i].ports, "\x12\x34", 2);
		at = send_one(r, m);
		if (inserted(&r->txq, at) != t[i].prio << 13)
			fail_msg("case %u: tag %d", i, inserted(&r->txq, at));
	}
}

/* Behind one tag and two, of either kind, also when headers of the greatest length end with the ports. */
static void
behind_tags(void **state)
{
	static const struct {
		uint16_t len;
		uint8_t ports, tag; /* tag: what its first byte becomes */
		uint8_t n;
		uint8_t bytes[32];
	} t[] = {
		{LEN, 40, 0xb0, 16, {0x81, 0x00, 0x10, 0x64, V4(0x45, 0, 0, 17)}},
		{LEN, 40, 0x7f, 16, {0x88, 0xa8, 0xff, 0xff, V4(0x45, 0, 0, 6)}},
		{LEN, 44, 0xa0, 20, {0x88, 0xa8, 0x20, 1, 0x81, 0x00, 0xe0, 2, V4(0x45, 0, 0, 17)}},
		{LEN, 84, 0xa0, 20, {0x88, 0xa8, 0x20, 1, 0x81, 0x00, 0xe0, 2, V4(0x4f, 0, 0, 17)}},
		{86, 84, 0xa0, 20, {0x88, 0xa8, 0x20, 1, 0x81, 0x00, 0xe0, 2, V4(0x4f, 0, 0, 17)}},
		{85, 84, 0x40, 20, {0x88, 0xa8, 0x20, 1, 0x81, 0x00, 0xe0, 2, V4(0x4f, 0, 0, 17)}},
		{LEN, 64, 0xa0, 17, {0x88, 0xa8, 0x20, 1, 0x81, 0x00, 0xe0, 2, V6(0x60, 17)}},
		/* behind a third one nothing is looked for */
		{LEN, 48, 0xc0, 24, {0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, V4(0x45, 0, 0, 17)}},
		/* the second tag is not all there */
		{21, 0, 0xc0, 8, {0x81, 0x00, 0x20, 1, 0x81, 0x00, 0xe0, 2}},
		{18, 0, 0xc0, 4, {0x81, 0x00, 0x20, 1}},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = rules(r);
	uint32_t i, at;

	for (i = 0; i < RTE_DIM(t); i++) {
		struct rte_mbuf *m = frame(r, t[i].len, t[i].bytes, t[i].n);

		if (t[i].ports != 0)
			put(m, t[i].ports, "\x12\x34", 2);
		at = send_one(r, m);
		if (inserted(&r->txq, at) != -1 || sent(&r->txq, at)[14] != t[i].tag ||
		    sent(&r->txq, at)[15] != t[i].bytes[3])
			fail_msg("case %u: tag %d, first byte 0x%02x", i, inserted(&r->txq, at), sent(&r->txq, at)[14]);
	}
	/* A frame that ends within its first tag has none. */
	for (p->look = true;; p->look = false) {
		at = send_one(r, frame(r, 17, "\x81\x00\x20", 3));
		assert_int_equal(inserted(&r->txq, at), DEFAULT_PRIO << 13);
		assert_int_equal(sent(&r->txq, at)[14], 0x20);
		at = send_one(r, frame(r, 18, "\x88\xa8\x20", 3));
		assert_int_equal(inserted(&r->txq, at), -1);
		assert_int_equal(sent(&r->txq, at)[14], DEFAULT_PRIO << 5);
		if (!p->look)
			break;
	}
}

/* Frames of one link alone have no tag, by the first four, the fifth and the last byte of the address. */
static void
link_local(void **state)
{
	static const struct {
		uint8_t dst[6];
		bool tagged;
	} t[] = {
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}, false}, {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0f}, false},
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x10}, true},  {{0x01, 0x80, 0xc2, 0x00, 0x01, 0x00}, true},
		{{0x01, 0x80, 0xc2, 0x01, 0x00, 0x00}, true},  {{0x00, 0x80, 0xc2, 0x00, 0x00, 0x00}, true},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	uint32_t i, k, at;

	for (k = 0; k < 3; k++) {
		p->look = k == 0;
		for (i = 0; i < RTE_DIM(t); i++) {
			struct rte_mbuf *m = frame(r, LEN, "\x88\xcc", 2);

			put(m, 0, t[i].dst, 6);
			if (k == 2) /* others look at it, too: the usual frame has one owner */
				rte_mbuf_refcnt_update(m, 1);
			at = send_one(r, m);
			assert_int_equal(inserted(&r->txq, at), t[i].tagged ? DEFAULT_PRIO << 13 : -1);
			if (k == 2) {
				assert_true((r->txq.elts[at] == m) == !t[i].tagged);
				assert_int_equal(m->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
				rte_pktmbuf_free(m);
			}
		}
	}
}

/* A priority that gets no tag; and a tag that the card inserts in any case. */
static void
tags(void **state)
{
	static const struct {
		uint8_t prio;
		bool vlan;
		uint16_t had;
		int tci;
	} t[] = {
		{3, false, 0, 0x6000},     {4, false, 0, -1},         {3, true, 0x1064, 0x7064},
		{3, true, 0x7064, 0x7064}, {4, true, 0x0fff, 0x8fff}, /* no tag of its own, but another priority */
		{0, true, 0xb064, 0xb064},                            /* priority 0 takes none away */
		{5, true, 0x0123, 0x0123},                            /* the port's own, which it had got before */
		{5, true, 0x0124, 0xa124},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	uint32_t i, k, at;

	p->tags = 0xef;
	p->tci[5] = 0x0123;
	for (k = 0; k < 2; k++) {
		p->look = k == 0;
		for (i = 0; i < RTE_DIM(t); i++) {
			struct rte_mbuf *m = frame(r, LEN, "\x88\xb5", 2);

			p->prio = t[i].prio;
			if (t[i].vlan) {
				m->ol_flags |= RTE_MBUF_F_TX_VLAN;
				m->vlan_tci = t[i].had;
			}
			at = send_one(r, m);
			if (inserted(&r->txq, at) != t[i].tci)
				fail_msg("case %u: tag %d", i, inserted(&r->txq, at));
		}
	}
	/* A tag in the frame: priority 0 changes nothing, nor does the one that it has. */
	p->prio = 0;
	at = send_one(r, frame(r, LEN, "\x81\x00\xf2\x34", 4));
	assert_int_equal(sent(&r->txq, at)[14], 0xf2);
	p->prio = 7;
	at = send_one(r, frame(r, LEN, "\x81\x00\xf2\x34", 4));
	assert_int_equal(sent(&r->txq, at)[14], 0xf2);
	p->prio = 1;
	at = send_one(r, frame(r, LEN, "\x81\x00\xf2\x34", 4));
	assert_int_equal(sent(&r->txq, at)[14], 0x32);
}

/* Which DSCP: a rule's, else the queue's, else that of the priority, else its own; and what of it decides the priority. */
static void
which_dscp(void **state)
{
	static const struct {
		int8_t rule, table; /* -1: none */
		uint8_t fixed;      /* + 1 */
		bool by_dscp;
		uint8_t tos, prio, tos_out;
	} t[] = {
		{-1, -1, 0, false, 0x2b, 2, 0x2b}, {-1, 46, 0, false, 0x2b, 2, 0xbb},
		{-1, 46, 9, false, 0x2b, 2, 0x23}, /* 8 << 2 | 3 */
		{63, 46, 9, false, 0x2b, 2, 0xff}, {0, 46, 9, false, 0x2b, 2, 0x03},
		{-1, -1, 1, false, 0x2b, 2, 0x03}, {-1, -1, 0, true, 0x1f, 0, 0x1f}, /* DSCP 7 */
		{-1, -1, 0, true, 0x20, 1, 0x20},                                    /* 8 */
		{-1, -1, 0, true, 0xff, 7, 0xff},  {-1, 46, 0, true, 0x00, 5, 0xb8},
		{0, 46, 0, true, 0xff, 0, 0x03},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = rules(r);
	uint32_t i, at;

	for (i = 0; i < RTE_DIM(t); i++) {
		p->classes.rule[1].dscp = t[i].rule;
		p->dscp[2] = t[i].table;
		p->fixed_dscp = t[i].fixed;
		p->by_dscp = t[i].by_dscp;
		at = send_one(r, ipv4(r, t[i].tos));
		if (inserted(&r->txq, at) != t[i].prio << 13 || sent(&r->txq, at)[15] != t[i].tos_out)
			fail_msg("case %u: tag %d, TOS 0x%02x", i, inserted(&r->txq, at), sent(&r->txq, at)[15]);
		assert_int_equal(rte_raw_cksum(sent(&r->txq, at) + 14, 20), 0xffff);
	}
	/* Not by the DSCP of what is no IP: its priority is the queue's. */
	at = send_one(r, frame(r, LEN, "\x88\xb5\xff\xff", 4));
	assert_int_equal(inserted(&r->txq, at), DEFAULT_PRIO << 13);
	/* IPv6: the class is in two bytes, the flow label beside it stays, as does the version. */
	p = marks(r);
	p->fixed_dscp = 42 + 1;
	at = send_one(r, frame(r, LEN, "\x86\xdd\x69\x9f\xab\xcd", 6));
	assert_memory_equal(sent(&r->txq, at) + 12, "\x86\xdd\x6a\x9f\xab\xcd", 6); /* 42 << 2 | 1 = 0xa9 */
	p->by_dscp = true;
	p->fixed_dscp = 0;
	at = send_one(r, frame(r, LEN, "\x86\xdd\x69\x9f\xab\xcd", 6)); /* 0x99 >> 2 = 38 */
	assert_int_equal(inserted(&r->txq, at), 4 << 13);
	/* Frames that come decided keep everything. */
	p->decided = RTE_MBUF_F_TX_UDP_CKSUM;
	p->dscp[7] = 1;
	{
		struct rte_mbuf *m = ipv4(r, 0xab);

		m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 0xe005;
		at = send_one(r, m);
		assert_int_equal(inserted(&r->txq, at), 0xe005);
		assert_int_equal(sent(&r->txq, at)[15], 0xab);
	}
}

/* Who makes the sum of the IPv4 header. */
static void
checksums(void **state)
{
	static const struct {
		uint64_t flags;
		bool ours;
	} t[] = {
		{0, true},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, true},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, false},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG, false},
		/* of a tunnel the outer header, whatever is asked for the inner one */
		{RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, true},
		{RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM, false},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;
	uint32_t i, at;

	p->fixed_dscp = 46 + 1;
	r->txq.tunnels = true;
	for (i = 0; i < RTE_DIM(t); i++) {
		m = ipv4(r, 0);
		m->ol_flags |= t[i].flags;
		m->l2_len = 14;
		m->l3_len = 20;
		m->l4_len = 8;
		m->tso_segsz = 100;
		ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
		ip->hdr_checksum = RTE_BE16(0x5555);
		at = r->txq.sq_pi;
		send_one(r, m);
		ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
		assert_int_equal(ip->type_of_service, 0xb8);
		/* 0x4500 has become 0x45b8, so the sum is less by 0xb8. */
		assert_int_equal(rte_be_to_cpu_16(ip->hdr_checksum), t[i].ours ? 0x5555 - 0xb8 : 0x5555);
		assert_int_not_equal(r->txq.sq_pi, at);
	}
	/*
	 * Every sum that such a header can have, by its identification: one of them is all ones in the middle of the
	 * addition, which carries twice.
	 */
	for (i = 0; i < 0x10000; i += i < 0x100 || i > 0xff00 ? 1 : 0x7f) {
		m = ipv4(r, 0);
		ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
		ip->hdr_checksum = rte_cpu_to_be_16((uint16_t)i);
		ip->packet_id = 0;
		ip->packet_id = rte_ipv4_cksum(ip); /* fills up what is missing to all ones */
		ip->hdr_checksum = rte_cpu_to_be_16((uint16_t)i);
		assert_int_equal(rte_raw_cksum(ip, 20), 0xffff);
		at = send_one(r, m);
		assert_int_equal(sent(&r->txq, at)[15], 0xb8);
		assert_int_equal(rte_raw_cksum(sent(&r->txq, at) + 14, 20), 0xffff);
		if (r->txq.ends_pi != r->card_tx_pi)
			rings_tx_done(r, 0, MLX4_OP_SEND);
	}
}

/* Marks in headers that lie in pieces, up to the last byte that is written to; who else has the frame sees nothing of it. */
static void
pieces(void **state)
{
	static const struct {
		uint8_t cut; /* bytes in the first segment */
		bool dscp, copied;
	} t[] = {{34, true, false}, {33, true, true}, {16, false, false}, {15, false, true}, {13, false, true}};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_mbuf *m, *tail;
	uint8_t all[LEN];
	uint32_t i, at;

	for (i = 0; i < RTE_DIM(t); i++) {
		m = t[i].dscp ? ipv4(r, 0) : frame(r, LEN, "\x81\x00\x02\x34\x88\xb5", 6);
		memcpy(all, rte_pktmbuf_mtod(m, void *), LEN);
		tail = rings_mbuf(r, (uint16_t)(LEN - t[i].cut), 0);
		put(tail, 0, all + t[i].cut, LEN - t[i].cut);
		m->pkt_len = m->data_len = t[i].cut;
		assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
		p->fixed_dscp = t[i].dscp ? 2 + 1 : 0;
		at = send_one(r, m);
		if ((r->txq.elts[at] == m) == t[i].copied)
			fail_msg("case %u", i);
		if (t[i].copied || t[i].cut > 20)
			assert_int_equal(sent(&r->txq, at)[t[i].dscp ? 15 : 14], t[i].dscp ? 8 : 0xc2);
		if (t[i].copied)
			assert_memory_equal(sent(&r->txq, at) + 34, all + 34, LEN - 34);
	}
	/* A DSCP that it has already is not written: it stays whose it was. */
	p->fixed_dscp = 2 + 1;
	p->tags = 0;
	m = ipv4(r, 8);
	rte_mbuf_refcnt_update(m, 1);
	at = send_one(r, m);
	assert_ptr_equal(r->txq.elts[at], m);
	rte_mbuf_refcnt_update(m, -1);
}

/* A frame of the flows below, and what is to become of it. */
struct flowing {
	uint8_t proto, tos, options;
	bool fragment, tagged, shared, port;
};

static struct rte_mbuf *
flowing(struct rings *r, const struct flowing *f)
{
	struct rte_mbuf *m = ipv4(r, 0);
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *);
	struct rte_ipv4_hdr *ip;

	if (f->tagged) {
		memmove(h + 16, h + 12, 60);
		put(m, 12, "\x81\x00\x00\x07", 4);
		h += 4;
	}
	ip = (struct rte_ipv4_hdr *)(void *)(h + 14);
	ip->version_ihl = (uint8_t)(0x45 + f->options);
	ip->type_of_service = f->tos;
	ip->next_proto_id = f->proto;
	ip->fragment_offset = f->fragment ? RTE_BE16(0x2001) : 0;
	memcpy(h + 14 + 20 + 4 * f->options + 2, f->port ? "\x12\x34" : "\x43\x21", 2);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, 20u + 4u * f->options);
	if (f->shared)
		rte_mbuf_refcnt_update(m, 1);
	return m;
}

/* By the rules of mark_rig.h. */
static uint8_t
prio_of(const struct flowing *f)
{
	const bool port = f->port && !f->fragment;

	return f->proto == 17 ? (port ? 5 : 2) : f->proto == 6 ? (port ? 3 : 1) : DEFAULT_PRIO;
}

static void
flow_is(const struct mlx4_txq *q, uint32_t at, const struct flowing *f, const int8_t *dscp)
{
	const uint8_t prio = prio_of(f), *h = sent(q, at);
	const int8_t d = dscp[prio];

	if (f->tagged) {
		assert_int_equal(inserted(q, at), -1);
		assert_int_equal(h[14], prio << 5);
		h += 4;
	} else {
		assert_int_equal(inserted(q, at), prio << 13);
	}
	assert_int_equal(h[15], d < 0 ? f->tos : (d << 2 | (f->tos & 3)));
	assert_int_equal(h[23], f->proto);
	assert_int_equal(rte_raw_cksum(h + 14, 20u + 4u * f->options), 0xffff);
}

/* Bursts of several flows, in runs and in turns: what was found for one frame is not for another that differs in a field. */
static void
flows(void **state)
{
	enum { BURST = 16 };
	struct rings *r = *state;
	struct mlx4_tx_policy *p = rules(r);
	struct flowing f[BURST], now = {.proto = 17};
	struct rte_mbuf *m[BURST];
	uint32_t round, i, at, rnd = 7;

	p->dscp[5] = 46;
	p->dscp[2] = 10;
	p->dscp[6] = 0;
	for (round = 0; round < 400; round++) {
		for (i = 0; i < BURST; i++) {
			rnd = rnd * 1103515245 + 12345;
			switch (rnd >> 16 & 31) {
			case 0: now.proto = now.proto == 17 ? 6 : 17; break;
			case 1: now.proto = 1; break;
			case 2: now.tos = (uint8_t)(rnd >> 8); break;
			case 3: now.options = now.options == 0 ? 1 : 0; break;
			case 4: now.fragment = !now.fragment; break;
			case 5: now.tagged = !now.tagged; break;
			case 6: now.port = !now.port; break;
			case 7:
				now.proto = 17;
				now.options = 0;
				now.tagged = now.fragment = false;
				break;
			default: break;
			}
			f[i] = now;
			f[i].shared = (rnd >> 24 & 15) == 0;
			m[i] = flowing(r, &f[i]);
		}
		at = r->txq.sq_pi;
		assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, BURST), BURST);
		for (i = 0; i < BURST; i++) {
			flow_is(&r->txq, at + i, &f[i], p->dscp);
			/* The other owner's frame is as it was. */
			if (f[i].shared && r->txq.elts[(at + i) % TX_BLOCKS] != m[i])
				assert_int_equal(rte_pktmbuf_mtod(m[i], uint8_t *)[f[i].tagged ? 19 : 15], f[i].tos);
			if (f[i].shared)
				rte_pktmbuf_free(m[i]);
		}
		while (r->txq.ends_pi != r->card_tx_pi)
			rings_tx_done(r, 0, MLX4_OP_SEND);
	}
}

/* Frames without all of a header are for the checks further on, and harm nobody. */
static void
too_short(void **state)
{
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);

	for (p->look = true;; p->look = false) {
		uint64_t errors = r->txq.errors, packets = r->txq.packets;

		send_one(r, frame(r, 13, "\x81", 1));
		assert_int_equal(r->txq.errors, errors + 1);
		send_one(r, frame(r, 14, "\x88\xb5", 2));
		assert_int_equal(r->txq.errors, errors + 1);
		assert_int_equal(r->txq.packets, packets + 1);
		if (!p->look)
			break;
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {
		T(headers),   T(behind_tags), T(link_local), T(tags),  T(which_dscp),
		T(checksums), T(pieces),      T(too_short),  T(flows),
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
