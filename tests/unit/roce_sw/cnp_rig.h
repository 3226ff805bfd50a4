/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Marked packets on the wire of a pair, and CNPs made here. */
#ifndef RSW_CNP_RIG_H
#define RSW_CNP_RIG_H

#include <rte_mbuf.h>

#include "frame_sums.h"
#include "lib/roce/soft/sw.h"
#include "pair.h"

static uint8_t kept[2048];
static uint32_t kept_len;

#define UDP_BTH 42 /* where the BTH of RoCE v2 over IPv4 is in a frame */

/* A switch that marks what may be marked (RFC 3168): neither the sum nor the ICRC, which leaves these bits out, changes else. */
static inline unsigned int
mark(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	(void)p;
	if (from == 0 && (f[15] & 3) == 2) {
		f[15] |= 3;
		ib_put16(f + 24, 0);
		ib_put16(f + 24, ip_sum(f + 14));
	} else if (from == 1 && f[UDP_BTH] == 0x81) {
		kept_len = m->data_len;
		memcpy(kept, f, kept_len);
	}
	return 1;
}

#define CNP_LEN (UDP_BTH + 12 + 16 + 4)

/* One for a queue pair of node 0, from node 1's address. */
static inline void
cnp_make(uint8_t *f, uint32_t qpn, uint8_t tos)
{
	static const uint8_t head[] = {
		2,    0,    0,    0,    0,    1,    2,    0, 0,  0,  0, 2, 0x08, 0x00, /* Ethernet */
		0x45, 0,    0,    60,   0x71, 0x8c, 0x40, 0, 64, 17, 0, 0, 192,  0,    2, 2, 192, 0, 2, 1, /* IPv4 */
		0xc0, 0x01, 0x12, 0xb7, 0,    40,   0,    0,                                               /* UDP */
		0x81, 0x00, 0xff, 0xff, 0x40};

	memset(f, 0, CNP_LEN);
	memcpy(f, head, sizeof(head));
	f[15] = tos;
	ib_put16(f + 24, ip_sum(f + 14));
	ib_put24(f + UDP_BTH + 5, qpn);
	icrc(f, CNP_LEN, TROCE_ICRC_IPV4_UDP);
}

static uint64_t roce_frames;

/* Neighbours may ask for each other meanwhile. */
static inline unsigned int
count(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	(void)p;
	(void)from;
	roce_frames += ib_get16(f + 12) == 0x8915 || (ib_get16(f + 12) == 0x0800 && f[23] == 17);
	return 1;
}

/* By node 0 as a frame from the wire; nobody says anything to it. */
static inline void
hear(struct pair *p, const uint8_t *f, uint32_t len)
{
	uint64_t before = roce_frames;

	p->wire = count;
	pair_inject(p, 0, f, len);
	pair_run(p, 1);
	p->wire = NULL;
	assert_int_equal(roce_frames, before);
}

static inline void
cc_set(struct pair *p, unsigned int node, const char *name, uint64_t value)
{
	assert_int_equal(tp_roce_cc_set(p->n[node].ctx, 1, name, value), 0);
}

/* A first CNP sets the rate, each one halves it, and nothing raises it. */
static inline void
cc_steady(struct pair *p, unsigned int node, uint64_t first, uint64_t least)
{
	cc_set(p, node, "rate-on-first-cnp", first);
	cc_set(p, node, "min-rate", least);
	cc_set(p, node, "initial-alpha", 1023);
	cc_set(p, node, "dce-tcp-rtt", 0);
	cc_set(p, node, "rate-reduce-monitor-period", 0);
	cc_set(p, node, "time-reset", 0);
	cc_set(p, node, "byte-reset", 0);
	assert_int_equal(tp_roce_cc_enable(p->n[node].ctx, 1, true), 0);
}

/* Marks what has a GRH and goes to node 1, and keeps it; what comes back has no CNP. */
static inline unsigned int
mark_v1(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	(void)p;
	if (ib_get16(f + 12) != 0x8915)
		return 1;
	if (from != 0) {
		assert_int_equal(f[54], 0x11);
		return 1;
	}
	f[15] |= 0x30;
	kept_len = m->data_len;
	memcpy(kept, f, kept_len);
	return 1;
}

/* What mark_v1() kept becomes a CNP for a queue pair of node 1, which ignores it. */
static inline void
ignore_v1(struct pair *p, uint32_t qpn)
{
	assert_int_equal(pair_stat(p, 1, "ecn_marked"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 0);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 0);
	assert_true(kept_len >= 54 + 32);
	memset(kept + 54, 0, 32);
	kept[54] = 0x81;
	ib_put16(kept + 56, 0xffff);
	kept[58] = 0x40;
	ib_put24(kept + 59, qpn);
	ib_put16(kept + 18, 32);
	icrc(kept, 54 + 32, TROCE_ICRC_GRH);
	pair_inject(p, 1, kept, 54 + 32);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "cnps"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_ignored"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_limited_qps"), 0);
}

/* A node has this address, too, and the connections of the test. */
static inline void
take_address(struct pair *p, unsigned int node, const uint8_t *addr)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	struct ibv_gid_entry e;
	uint32_t i = 0;

	memcpy(&a.sin_addr, addr, 4);
	assert_int_equal(tp_roce_addr_add(p->n[node].ctx, (struct sockaddr *)&a, 16, TP_ROCE_NO_VLAN), 0);
	while (tp_roce_query_gid_ex(p->n[node].ctx, 1, i, &e) != 0 || memcmp(e.gid.raw + 12, addr, 4) != 0 ||
	       e.gid_type != IBV_GID_TYPE_ROCE_V2)
		assert_true(++i < TP_ROCE_GIDS);
	p->gid[node][PAIR_V4] = (int)i;
}

#endif /* RSW_CNP_RIG_H */
