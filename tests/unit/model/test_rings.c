/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames of many flows to a parent of many rings: what a burst brings to each ring is what the same frames bring one by one, entry for
 * entry, octet for octet, counter for counter, also where rings have no buffers, too small ones, or are not ready. DPDK's hash says
 * which ring is whose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_thash.h>

#include "dp_rig.h"

#include "frames.h"

#define SEEDS 60u
#define BURSTS 24u
#define RINGS 32u
#define RING 64u
#define FIRST_QPN 0x10u
#define PARENT 0x08u
#define OTHER 0x09u /* a QP that a rule names beside the parent */
#define TX 0x31u
#define SMALL 40u /* octets of a buffer that is too small for any frame here */

enum kind { PLAIN, EMPTY, SCARCE, SMALL_BUFFERS, NOT_READY, DROPLESS, WITH_FCS, ARMED, KINDS };

struct side {
	struct rig r;
	struct rig_q tx, parent, rx[RINGS + 1]; /* the last one is OTHER */
	uint16_t posted[RINGS + 1];
};

static struct side together, alone;
static enum kind kind[RINGS + 1];
static unsigned int rings;
static uint64_t dice;
static uint8_t key[MLX4_RSS_KEY_SIZE] __rte_aligned(4);

/* What was sent. Each frame has its number in its last octets. */
static struct sent {
	unsigned int ring; /* RINGS: of OTHER */
	uint32_t len;
	uint8_t d[1514];
} sent[BURSTS * TPM_BURST];
static uint32_t num, next[RINGS + 1]; /* next: of each ring, the least number that may come */

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(tpm_random(&dice) >> 33) % n;
}

/* --- the card --- */

static void
open_ring(struct side *s, unsigned int i)
{
	struct rig_q *q = &s->rx[i];

	rig_qp(&s->r, q, i == RINGS ? OTHER : FIRST_QPN + i, 2, RING, true);
	s->posted[i] = kind[i] == EMPTY ? 0 : kind[i] == SCARCE || kind[i] == DROPLESS ? 2 : RING;
	*q->dbrec = rte_cpu_to_be_32(s->posted[i]);
	if (kind[i] == SMALL_BUFFERS)
		for (uint32_t k = i % 3; k < RING; k += 3)
			prm_set32(q->rq, k * 16, SMALL);
	if (kind[i] == NOT_READY)
		q->qp->state = MLX4_QP_INIT;
	q->qp->delay_drop = kind[i] == DROPLESS ? 1000 : 0;
	q->qp->fcs_keep = kind[i] == WITH_FCS;
	if (kind[i] == ARMED)
		q->qp->rcq->arm = MLX4_CQ_STATE_ARMED;
}

static void
open_side(struct side *s)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2}, other[6] = {2, 0, 0, 0, 0, 3};
	struct tpm_qp *p;
	uint64_t id;

	assert_int_equal(rig_open(&s->r), 0);
	rig_qp(&s->r, &s->tx, TX, 1, RING, false);
	rig_qp(&s->r, &s->parent, PARENT, 2, RING, false);
	p = s->parent.qp;
	p->is_rss = true;
	p->rss.lg_rings = (uint8_t)__builtin_ctz(rings);
	p->rss.base_qpn = p->rss.base_qpn_udp = p->rss.default_qpn = FIRST_QPN;
	p->rss.fn = MLX4_RSS_FN_TOEPLITZ;
	p->rss.flags = MLX4_RSS_F_UDP_IPV4 | MLX4_RSS_F_UDP_IPV6;
	tpm_rss_key(p, key);
	for (unsigned int i = 0; i <= RINGS; i++)
		if (i < rings || i == RINGS)
			open_ring(s, i);
	rig_up(&s->r);
	assert_int_equal(rig_rule(&s->r, 2, mac, PARENT, &id), 0);
	assert_int_equal(rig_rule(&s->r, 2, other, OTHER, &id), 0);
}

static void
close_side(struct side *s)
{
	tpm_rss_unload(s->parent.qp);
	rig_close(&s->r);
}

/* --- frames --- */

static unsigned int
ring_by_dpdk(const uint8_t *d, bool v6)
{
	const unsigned int addrs = v6 ? 8 : 2;
	uint32_t tuple[9];

	for (unsigned int i = 0; i < addrs; i++)
		tuple[i] = prm_get32(d, (v6 ? 22 : 26) + 4 * i);
	tuple[addrs] = prm_get32(d, v6 ? 54 : 34);
	return rte_softrss(tuple, addrs + 1, key) & (rings - 1);
}

/* One in four has a wrong checksum, or none. */
static void
make_frame(struct sent *f)
{
	static const uint32_t lens[] = {66, 67, 80, 128, 300, 513, 1514};
	static const uint8_t v4[12] = {0x45, 0, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0};
	const bool v6 = below(5) == 0, plain = below(12) != 0;
	const uint32_t l4 = v6 ? 54 : 34, sum_at = l4 + 6, len = lens[below(sizeof(lens) / sizeof(lens[0]))];
	uint8_t *d = f->d;
	uint16_t sum;

	f->len = len;
	for (uint32_t i = 0; i < len; i++)
		d[i] = (uint8_t)below(256);
	memset(d, 0, 12);
	d[0] = d[6] = 2;
	d[5] = below(10) == 0 ? 3 : 2;
	tpm_store16(d + 12, !plain ? 0x0806 : v6 ? TPM_ETYPE_IPV6 : TPM_ETYPE_IPV4);
	if (v6) {
		prm_set32(d, 14, 0x60000000);
		tpm_store16(d + 18, (uint16_t)(len - l4));
		d[20] = 17;
	} else {
		memcpy(d + 14, v4, sizeof(v4));
		tpm_store16(d + 16, (uint16_t)(len - 14));
		tpm_store16(d + 24, (uint16_t)~plain_sum(0, d + 14, 20));
	}
	tpm_store16(d + l4 + 4, (uint16_t)(len - l4));
	prm_set32(d, len - 4, num);
	tpm_store16(d + sum_at, 0);
	sum = (uint16_t)~plain_sum(plain_sum(17 + len - l4, d + (v6 ? 22 : 26), v6 ? 32 : 8), d + l4, len - l4);
	tpm_store16(d + sum_at, sum == 0 ? 0xffff : sum);
	if (below(4) == 0)
		tpm_store16(d + sum_at, (uint16_t)(below(2) * below(0xffff)));
	f->ring = d[5] == 3 ? RINGS : plain ? ring_by_dpdk(d, v6) : 0;
}

static void
post(struct side *s, const struct sent *f)
{
	uint8_t *buf = s->tx.bufs + (size_t)(s->tx.prod % RING) * RIG_BUF;

	memcpy(buf, f->d, f->len);
	rig_data(&s->tx, 1, buf, f->len);
	rig_post(&s->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
}

static void
send_all(struct side *s)
{
	const uint32_t from = s->tx.prod;

	rig_ring(&s->r, &s->tx);
	for (unsigned int i = 0; i < 3; i++)
		tp_model_step(s->r.m, 64);
	assert_int_equal(s->tx.qp->sq_head, from);
}

/* --- what arrived --- */

/* The same on both sides, and what was sent to this ring, in order. Returns how many entries there were. */
static unsigned int
look(unsigned int i)
{
	struct rig_q *a = &together.rx[i], *b = &alone.rx[i];
	const struct mlx4_cqe *c, *o;
	unsigned int found = 0;

	while ((c = rig_poll(a->rcq, RING, &a->rci, a->rcq_rec)) != NULL) {
		const uint32_t at = rte_be_to_cpu_16(c->wqe_index) % RING, fcs = kind[i] == WITH_FCS ? 4 : 0;
		const uint32_t len = rte_be_to_cpu_32(c->byte_cnt) - fcs;
		const uint8_t *d = a->bufs + (size_t)at * RIG_BUF;
		uint32_t number;

		o = rig_poll(b->rcq, RING, &b->rci, b->rcq_rec);
		assert_non_null(o);
		assert_memory_equal(c, o, sizeof(*c));
		found++;
		if ((c->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR)
			continue;
		assert_memory_equal(d, b->bufs + (size_t)at * RIG_BUF, len + fcs);
		number = prm_get32(d, len - 4);
		assert_true(number >= next[i] && number < num);
		assert_int_equal(sent[number].ring, i);
		assert_int_equal(sent[number].len, len);
		assert_memory_equal(sent[number].d, d, len);
		next[i] = number + 1;
	}
	assert_null(rig_poll(b->rcq, RING, &b->rci, b->rcq_rec));
	assert_int_equal(a->qp->rq_head, b->qp->rq_head);
	assert_int_equal(a->qp->rcq->arm, b->qp->rcq->arm);
	return found;
}

static void
same_counters(void)
{
	const struct tp_model *a = together.r.m, *b = alone.r.m;

	assert_memory_equal(&a->port[1].c, &b->port[1].c, sizeof(a->port[1].c));
	assert_memory_equal(&a->counter[0], &b->counter[0], sizeof(a->counter[0]));
	assert_memory_equal(a->violation, b->violation, sizeof(a->violation));
	assert_int_equal(a->port[1].rx_no_wqe, b->port[1].rx_no_wqe);
	assert_int_equal(a->port[1].rx_no_rule, b->port[1].rx_no_rule);
	assert_int_equal(a->port[1].rx_waits, b->port[1].rx_waits);
	assert_int_equal(a->st.port[1].rx_frames, b->st.port[1].rx_frames);
	assert_int_equal(a->st.port[1].rx_bytes, b->st.port[1].rx_bytes);
}

/* A ring gets back what it used; one that is to have few gets some. What waited for them is given to it at once. */
static void
give_buffers(unsigned int i, unsigned int used)
{
	const uint16_t has = (uint16_t)(together.posted[i] - together.rx[i].qp->rq_head);
	const unsigned int n = kind[i] == SCARCE || kind[i] == DROPLESS ? below(RTE_MIN(RING - has, 12u) + 1) : used;

	for (struct side *s = &together; s != NULL; s = s == &together ? &alone : NULL) {
		s->posted[i] = (uint16_t)(s->posted[i] + n);
		*s->rx[i].dbrec = rte_cpu_to_be_32(s->posted[i]);
		tp_model_step(s->r.m, 64);
	}
}

/* Returns how many entries there were. */
static unsigned int
one_burst(void)
{
	unsigned int found = 0, got;

	for (unsigned int n = 1 + below(TPM_BURST); n != 0; n--) {
		make_frame(&sent[num]);
		post(&together, &sent[num]);
		post(&alone, &sent[num]);
		num++;
		send_all(&alone);
	}
	send_all(&together);
	same_counters();
	for (unsigned int i = 0; i <= RINGS; i++) {
		if (i >= rings && i != RINGS)
			continue;
		got = look(i);
		found += got;
		give_buffers(i, got);
	}
	return found;
}

static void
as_one_by_one(void **state)
{
	unsigned int found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		dice = seed;
		num = 0;
		memset(next, 0, sizeof(next));
		rings = 2u << below(5);
		for (unsigned int i = 0; i < MLX4_RSS_KEY_SIZE; i++)
			key[i] = (uint8_t)below(256);
		for (unsigned int i = 0; i <= RINGS; i++)
			kind[i] = seed % 3 == 0 || below(3) != 0 ? PLAIN : (enum kind)below(KINDS);
		open_side(&together);
		open_side(&alone);
		for (unsigned int b = 0; b < BURSTS; b++)
			found += one_burst();
		close_side(&together);
		close_side(&alone);
	}
	assert_true(found > SEEDS * BURSTS * TPM_BURST / 4);
}

/*
 * Two rings complete to one queue, which has no room for all: it fails, and both rings with it. What was found for the second one in
 * the first pass is not written any more.
 */
static void
queue_that_fails(void **state)
{
	struct side *s = &together;
	unsigned int n[2] = {0, 0}, got = 0, mine = 0;
	const struct mlx4_cqe *c;

	(void)state;
	dice = 77;
	num = 0;
	rings = 2;
	memset(kind, 0, sizeof(kind));
	for (unsigned int i = 0; i < MLX4_RSS_KEY_SIZE; i++)
		key[i] = (uint8_t)below(256);
	open_side(s);
	s->rx[1].qp->rcq = s->rx[0].qp->rcq;
	s->rx[0].qp->rcq->mask = 3;
	for (unsigned int i = 0; i < 2; i++)
		memset(s->rx[i].bufs, 0xee, (size_t)RING * RIG_BUF);
	while (n[0] < 8 || n[1] < 8) {
		struct sent *f = &sent[num];

		do
			make_frame(f);
		while (f->ring > 1 || n[f->ring] == 8);
		n[f->ring]++;
		num++;
		post(s, f);
	}
	send_all(s);
	assert_int_equal(rig_violations(&s->r, "cq-overrun"), 1);
	assert_int_equal(s->rx[0].qp->state, MLX4_QP_ERR);
	assert_int_equal(s->rx[1].qp->state, MLX4_QP_ERR);
	while ((c = rig_poll(s->rx[0].rcq, 4, &s->rx[0].rci, s->rx[0].rcq_rec)) != NULL) {
		got++;
		mine += rte_be_to_cpu_32(c->vlan_my_qpn) == s->rx[0].qp->qpn;
	}
	/* The run of the first frame came first. */
	assert_int_equal(got, 4);
	assert_true(mine == 0 || mine == 4);
	for (uint32_t k = 0; k < RING * RIG_BUF; k++)
		assert_int_equal(s->rx[mine == 4].bufs[k], 0xee);
	close_side(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_one_by_one), cmocka_unit_test(queue_that_fails)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
