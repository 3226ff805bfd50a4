/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive buffers: order, what blocks whom, thresholds and the pause frames that they send, headroom, overflow, the
 * priority of a received frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By path: the tests' rig follows it. */
#include "model/qos/qos.h"
#include "model/wire/wire.h"

#include "qos_rig.h"

#define US UINT64_C(1000)
#define RX 40u /* QPN of the receiver on port 1 */
#define FOREVER MLX4_DELAY_DROP_FOREVER
#define LEN 996u /* with FCS 1000 */

/* scapy: pause of priority 3, and of all, for 65535 quanta; the source is the first port's address */
static const uint8_t pfc3_max[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x00, 0x02, 0xc9, 0xa1, 0xb2, 0x01, 0x88,
				     0x08, 0x01, 0x01, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff};
static const uint8_t global_max[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x00, 0x02, 0xc9,
				       0xa1, 0xb2, 0x01, 0x88, 0x08, 0x00, 0x01, 0xff, 0xff};

struct fix {
	struct qos_rig x;
	struct rig_q rx, other; /* other: a second receiver, for frames to 02:..:03 */
	uint16_t posted;
};

static void
thresholds(struct fix *f, unsigned int port, uint32_t size, uint32_t xoff, uint32_t xon)
{
	struct tpm_qos *q = f->x.r.m->port[port - 1].qos;

	q->rx_size = size;
	q->rx_xoff = xoff;
	q->rx_xon = xon;
}

static int
up(void **state)
{
	static const uint8_t mac2[6] = {2, 0, 0, 0, 0, 2}, mac3[6] = {2, 0, 0, 0, 0, 3};
	struct fix *f = calloc(1, sizeof(*f));
	uint64_t id;

	*state = f;
	if (f == NULL || qos_up(&f->x, 0) != 0)
		return -1;
	rig_qp(&f->x.r, &f->rx, RX, 1, 256, true);
	rig_qp(&f->x.r, &f->other, RX + 1, 1, 256, true);
	*f->rx.dbrec = 0;
	f->rx.qp->delay_drop = FOREVER;
	thresholds(f, 1, 16000, 10000, 4000);
	return rig_rule(&f->x.r, 1, mac2, RX, &id) + rig_rule(&f->x.r, 1, mac3, RX + 1, &id);
}

static int
down(void **state)
{
	struct fix *f = *state;

	rig_close(&f->x.r);
	free(f);
	return 0;
}

/* A frame to 02:..:to, tagged with prio (8: no tag), with a number. */
static void
arrive(struct fix *f, uint8_t to, unsigned int prio, uint16_t number)
{
	uint8_t b[LEN] = {2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 9, 0x88, 0xb5};

	if (prio < 8) {
		tpm_store16(b + 12, TPM_ETYPE_CVLAN);
		tpm_store16(b + 14, (uint16_t)(prio << 13 | 5));
		tpm_store16(b + 16, 0x88b5);
	}
	tpm_store16(b + 20, number);
	qos_arrive(&f->x, 1, b, sizeof(b));
}

static void
post(struct fix *f, unsigned int n)
{
	f->posted = (uint16_t)(f->posted + n);
	*f->rx.dbrec = rte_cpu_to_be_32(f->posted);
	qos_time(&f->x, f->x.now);
}

/* The number of the next frame that a queue received, or -1. */
static int
next(struct rig_q *q)
{
	uint32_t i = q->rci & (q->n - 1);
	const struct mlx4_cqe *c = rig_poll(q->rcq, q->n, &q->rci, q->rcq_rec);
	const uint8_t *d = q->bufs + (size_t)i * RIG_BUF;

	if (c == NULL)
		return -1;
	/* A stripped tag moves the number. */
	return (rte_be_to_cpu_32(c->vlan_my_qpn) & MLX4_CQE_CVLAN) != 0 ? tpm_load16(d + 16) : tpm_load16(d + 20);
}

static void
assert_fill(struct fix *f, unsigned int prio, uint32_t lossless, uint32_t lossy, uint32_t waiting)
{
	struct tp_model_qos s;

	assert_int_equal(tp_model_get_qos(f->x.r.m, 1, &s), 0);
	assert_int_equal(s.rx_lossless_fill[prio], lossless);
	assert_int_equal(s.rx_lossy_fill, lossy);
	assert_int_equal(s.rx_waiting[prio], waiting);
}

/* Thresholds to the byte: XOFF, its refresh, XON; all frames in order in the end. */
static void
xoff_xon(void **state)
{
	struct fix *f = *state;
	struct qos_rig *x = &f->x;
	uint8_t xon[60];

	assert_int_equal(qos_general(x, 1, false, 1u << 3, false, 0), 0);
	for (uint16_t i = 0; i < 9; i++)
		arrive(f, 2, 3, i);
	assert_int_equal(x->tap.controls, 0);
	assert_fill(f, 3, 9000, 0, 9);
	arrive(f, 2, 3, 9);
	assert_int_equal(x->tap.controls, 1);
	assert_int_equal(x->tap.control_len, 60);
	assert_memory_equal(x->tap.control, pfc3_max, 60);
	arrive(f, 2, 3, 10);
	arrive(f, 2, 3, 11);
	assert_int_equal(x->tap.controls, 1);
	/* Half of 65535 quanta at 40 Gb/s are 419.4 us. */
	qos_time(x, x->now + 419 * US);
	assert_int_equal(x->tap.controls, 1);
	qos_time(x, x->now + 1 * US);
	assert_int_equal(x->tap.controls, 2);
	assert_memory_equal(x->tap.control, pfc3_max, 60);
	post(f, 7);
	assert_fill(f, 3, 5000, 0, 5);
	assert_int_equal(x->tap.controls, 2);
	post(f, 1);
	assert_int_equal(x->tap.controls, 3);
	memcpy(xon, pfc3_max, sizeof(xon));
	tpm_store16(xon + 24, 0);
	assert_memory_equal(x->tap.control, xon, 60);
	qos_time(x, x->now + 1000 * US);
	assert_int_equal(x->tap.controls, 3);
	post(f, 100);
	for (int i = 0; i < 12; i++)
		assert_int_equal(next(&f->rx), i);
	assert_int_equal(next(&f->rx), -1);
	assert_false(x->r.m->port[0].rx_waits);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, 3 * MLX4_FLOW_ENTRY + MLX4_FLOW_TX_PAUSE), 3);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, 3 * MLX4_FLOW_ENTRY + MLX4_FLOW_TX_DURATION), 420);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, 3 * MLX4_FLOW_ENTRY + MLX4_FLOW_TX_TRANSITION), 1);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_RX_FRAMES(3)), 12);
	assert_int_equal(tp_model_violations_total(x->r.m), 0);
}

static void
global_pause(void **state)
{
	struct fix *f = *state;
	struct qos_rig *x = &f->x;

	assert_int_equal(qos_general(x, 1, true, 0, false, 0), 0);
	/* All priorities fill the one buffer, tagged or not. */
	for (uint16_t i = 0; i < 10; i++)
		arrive(f, 2, i % 2 == 0 ? 8 : i % 8, i);
	assert_fill(f, 0, 10000, 0, 5);
	assert_int_equal(x->tap.controls, 1);
	assert_memory_equal(x->tap.control, global_max, 60);
	/* Generation goes off: no more frames, not even to go on; what waits stays. */
	assert_int_equal(qos_general(x, 1, false, 0, false, 0), 0);
	qos_time(x, x->now + 1000 * US);
	assert_int_equal(x->tap.controls, 1);
	/* On again, the buffer still is full. */
	assert_int_equal(qos_general(x, 1, true, 0, false, 0), 0);
	qos_time(x, x->now + 1);
	assert_int_equal(x->tap.controls, 2);
	post(f, 10);
	assert_int_equal(x->tap.controls, 3);
	assert_int_equal(tpm_load16(x->tap.control + 16), 0);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, MLX4_FLOW_TX_PAUSE), 3);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, MLX4_FLOW_TX_TRANSITION), 2);
}

/* What waits holds up its own priority, whoever it is for, and nobody else. */
static void
head_of_line(void **state)
{
	struct fix *f = *state;

	arrive(f, 2, 3, 0);
	arrive(f, 3, 3, 1);
	arrive(f, 3, 4, 2);
	arrive(f, 3, 8, 3);
	assert_int_equal(next(&f->other), 2);
	assert_int_equal(next(&f->other), 3);
	assert_int_equal(next(&f->other), -1);
	assert_fill(f, 3, 0, 2000, 2);
	post(f, 1);
	assert_int_equal(next(&f->rx), 0);
	assert_int_equal(next(&f->other), 1);
	assert_false(f->x.r.m->port[0].rx_waits);
}

/* Bursts of plain frames for two queues, one of which runs dry in the middle: each keeps its order. */
static void
bursts(void **state)
{
	struct fix *f = *state;
	uint8_t data[64][60];
	struct tp_frame_seg seg[64];
	struct tp_frame fr[64];
	int a = 0, b = 0;

	f->rx.qp->delay_drop = FOREVER;
	post(f, 10);
	for (unsigned int k = 0; k < 3; k++) {
		for (unsigned int i = 0; i < 64; i++) {
			memset(data[i], 0, sizeof(data[i]));
			memcpy(data[i], "\2\0\0\0\0\2\2\0\0\0\0\11\x88\xb5", 14);
			data[i][5] = i % 8 < 5 ? 2 : 3;
			tpm_store16(data[i] + 20, (uint16_t)(i % 8 < 5 ? a++ : b++));
			seg[i] = (struct tp_frame_seg){.data = data[i], .len = 60};
			fr[i] = (struct tp_frame){.seg = &seg[i], .nseg = 1, .len = 60};
		}
		tpm_port_arrive(f->x.r.m, &f->x.r.m->port[0], fr, 64);
		post(f, 20);
	}
	post(f, 100);
	for (int i = 0; i < a; i++)
		assert_int_equal(next(&f->rx), i);
	for (int i = 0; i < b; i++)
		assert_int_equal(next(&f->other), i);
	assert_int_equal(a + b, 3 * 64);
	assert_int_equal(qos_counter(&f->x, 1, 0, MLX4_STATS_RX_FRAMES(MLX4_STATS_NOVLAN)), 3 * 64);
	assert_int_equal(f->x.r.m->port[0].rx_no_wqe, 0);
}

static void
overflow(void **state)
{
	struct fix *f = *state;
	struct tp_model_qos s;

	assert_int_equal(qos_general(&f->x, 1, false, 1u << 3, false, 0), 0);
	for (uint16_t i = 0; i < 20; i++) {
		arrive(f, 2, 3, i);
		arrive(f, 2, 5, (uint16_t)(100 + i));
	}
	/* 16 frames fill either buffer to the last byte. */
	assert_int_equal(tp_model_get_qos(f->x.r.m, 1, &s), 0);
	assert_int_equal(s.rx_overflow[3], 4);
	assert_int_equal(s.rx_overflow[5], 4);
	assert_int_equal(s.rx_lossless_fill[3], 16000);
	assert_int_equal(s.rx_lossy_fill, 16000);
	assert_int_equal(f->x.r.m->port[0].c.rx_overflow, 8);
	assert_int_equal(f->x.r.m->port[0].c.rx_drop, 0);
	/* What is there is not lost with what was not. */
	post(f, 32);
	for (unsigned int i = 0; i < 32; i++)
		assert_true(next(&f->rx) >= 0);
	/* A queue that is taken away takes what waits for it along. */
	arrive(f, 2, 3, 1);
	arrive(f, 3, 3, 2);
	tpm_qp_free(f->x.r.m, f->rx.qp);
	qos_time(&f->x, f->x.now);
	assert_int_equal(next(&f->other), 2);
	assert_int_equal(f->x.r.m->port[0].qos->rx_fill[3], 0);
}

/* Without delay drop nothing waits, whatever the port's flow control. */
static void
drop_mode(void **state)
{
	struct fix *f = *state;

	assert_int_equal(qos_general(&f->x, 1, false, 0xff, false, 0), 0);
	f->rx.qp->delay_drop = 0;
	arrive(f, 2, 3, 0);
	arrive(f, 2, 8, 0);
	assert_fill(f, 3, 0, 0, 0);
	assert_int_equal(f->x.r.m->port[0].rx_no_wqe, 2);
	assert_int_equal(f->x.r.m->port[0].c.rx_drop, 2);
	assert_int_equal(f->x.tap.controls, 0);
}

static void
ip(uint8_t *b, bool tag, bool v6, uint8_t dscp)
{
	uint8_t *h = b + (tag ? 18 : 14);

	memset(b, 0, 100);
	memcpy(b, "\2\0\0\0\0\2\2\0\0\0\0\11", 12);
	tpm_store16(b + 12, tag ? TPM_ETYPE_CVLAN : v6 ? TPM_ETYPE_IPV6 : TPM_ETYPE_IPV4);
	if (tag) {
		tpm_store16(b + 14, 2u << 13 | 5);
		tpm_store16(b + 16, v6 ? TPM_ETYPE_IPV6 : TPM_ETYPE_IPV4);
	}
	if (v6) {
		tpm_store16(h, (uint16_t)(6u << 12 | (unsigned int)dscp << 6));
		h[6] = 59;
	} else {
		h[0] = 0x45;
		h[1] = (uint8_t)(dscp << 2);
		tpm_store16(h + 2, 40);
		h[9] = 253;
	}
}

/* PCP, the default of untagged frames, DSCP. */
static void
trust(void **state)
{
	static const struct {
		uint8_t trust, untagged;
		bool lossless, tag, v6;
		uint8_t dscp, prio;
		bool pfc; /* in the lossless buffer */
	} t[] = {
		{0, 0, false, true, false, 46, 2, true},   {1, 6, false, true, false, 46, 2, true},
		{1, 6, false, false, false, 46, 6, false}, {1, 6, true, false, false, 46, 6, true},
		{2, 6, false, false, false, 46, 5, false}, {2, 6, true, false, false, 46, 5, true},
		{2, 6, true, false, true, 26, 3, true},    {2, 6, false, true, true, 63, 7, true},
		{2, 6, true, false, false, 10, 4, true}, /* the table says 4 for DSCP 10 */
	};
	struct fix *f = *state;
	struct qos_rig *x = &f->x;
	uint8_t in[MLX4_MAILBOX_SIZE], b[100], *short_frame;

	assert_int_equal(qos_general(x, 1, false, 0xff, false, 0), 0);
	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		memset(in, 0, sizeof(in));
		prm_set(in, MLX4_PRIOMAP_TRUST, t[i].trust);
		prm_set(in, MLX4_PRIOMAP_UNTAGGED_LOSSLESS, t[i].lossless);
		prm_set(in, MLX4_PRIOMAP_UNTAGGED_PRIO, t[i].untagged);
		for (unsigned int d = 0; d < 64; d += 2)
			in[MLX4_PRIOMAP_DSCP + d / 2] = (uint8_t)(d / 8 << 4 | d / 8);
		in[MLX4_PRIOMAP_DSCP + 5] = 0x41;
		assert_int_equal(qos_set_port(x, 1, MLX4_SET_PORT_PRIO_MAP, in), 0);
		ip(b, t[i].tag, t[i].v6, t[i].dscp);
		qos_arrive(x, 1, b, sizeof(b));
		assert_fill(f, t[i].prio, t[i].pfc ? 104 : 0, t[i].pfc ? 0 : 104, 1);
		post(f, 1);
		assert_fill(f, t[i].prio, 0, 0, 0);
	}
	/* A frame that ends before the header that its type promises has the priority of others without a tag. */
	short_frame = malloc(14);
	assert_non_null(short_frame);
	ip(b, false, false, 46);
	memcpy(short_frame, b, 14);
	qos_arrive(x, 1, short_frame, 14);
	free(short_frame);
	assert_fill(f, 6, 18, 0, 1);
	post(f, 1);
	in[MLX4_PRIOMAP_DSCP + 5] = 0x48;
	assert_int_equal(qos_set_port(x, 1, MLX4_SET_PORT_PRIO_MAP, in), MLX4_STAT_BAD_PARAM);
	prm_set(in, MLX4_PRIOMAP_TRUST, 3);
	assert_int_equal(qos_set_port(x, 1, MLX4_SET_PORT_PRIO_MAP, in), MLX4_STAT_BAD_PARAM);
	assert_int_equal(rig_violations(&x->r, "cmd-param"), 2);
}

/*
 * A sender on port 2 at 10 Gb/s, 10 us of cable. After XOFF a whole round trip of frames still comes: 20 us are 25000
 * octets of the wire, 24675 of them in frames of 1518 (each takes 1538); and the frames that both ends had begun.
 * Returns what was lost of the frames that left.
 */
static uint64_t
long_cable(struct fix *f, uint32_t headroom, uint32_t *peak, uint32_t *sent)
{
	static const uint8_t tagged[18] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x81, 0x00, 0x60, 0x05, 0x88, 0xb5};
	struct tp_impair delay = {.delay_us = 10};
	struct tp_model *m = f->x.r.m;
	struct rig_q tx;
	uint32_t total = 0;

	m->port[1].open = true;
	m->port[1].qos->rate_kbps = 10000000;
	tpm_sched_update(m, &m->port[1]);
	tp_model_wire_cross(m);
	tp_model_impair(m, 1, &delay);
	tp_model_impair(m, 2, &delay);
	thresholds(f, 1, 100000, 100000 - headroom, 50000);
	assert_int_equal(qos_general(&f->x, 1, false, 1u << 3, false, 0), 0);
	assert_int_equal(qos_general(&f->x, 2, false, 0, false, 1u << 3), 0);
	rig_qp(&f->x.r, &tx, RX + 2, 2, 256, false);
	tx.qp->prio = 3;
	memcpy(tx.bufs, tagged, sizeof(tagged));
	*peak = 0;
	/* 2 ms: a receive WQE each 4 us, so that the sender is three times too fast, and at last none. */
	for (unsigned int k = 0; k < 20000; k++) {
		for (; tx.prod - tx.qp->sq_head < 200; total++) {
			rig_data(&tx, 1, tx.bufs, 1514);
			rig_post(&tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
		}
		rig_ring(&f->x.r, &tx);
		if (k % 40 == 0 && k < 10000)
			post(f, 1);
		while (next(&f->rx) >= 0)
			continue;
		qos_time(&f->x, f->x.now + 100);
		if (m->port[0].qos->rx_fill[3] > *peak)
			*peak = m->port[0].qos->rx_fill[3];
	}
	*sent = tx.qp->sq_head;
	assert_int_equal(m->port[0].rx_no_wqe, 0);
	return m->port[0].qos->rx_overflow[3];
}

static void
headroom_enough(void **state)
{
	struct fix *f = *state;
	uint32_t peak, sent;

	assert_int_equal(long_cable(f, 24675 + 2 * 1518, &peak, &sent), 0);
	/* It was needed: XOFF, a round trip, and at most the two frames. */
	assert_in_range(peak, 100000 - 2 * 1518, 100000);
	/* Every frame that left is there or waits. */
	assert_int_equal(sent, 250 + f->x.r.m->port[0].qos->rx_held[3].count);
	assert_true(f->x.r.m->port[1].qos->rx[3].transitions > 3);
	assert_int_equal(f->x.r.m->port[1].qos->rx[3].frames, f->x.r.m->port[0].qos->tx[3].frames);
	assert_int_equal(tp_model_violations_total(f->x.r.m), 0);
}

static void
headroom_short(void **state)
{
	struct fix *f = *state;
	uint32_t peak, sent;

	assert_true(long_cable(f, 15000, &peak, &sent) > 0);
}

/* Sizes that a card is not made with. */
static void
config(void **state)
{
	static const struct {
		uint32_t size, xoff, xon;
		bool ok;
	} t[] = {
		{0, 0, 0, true},
		{16384, 0, 0, true},
		{16383, 0, 0, false},
		{16777216, 0, 0, true},
		{16777217, 0, 0, false},
		{100000, 100000, 100000, true},
		{100000, 100001, 0, false},
		{100000, 5000, 5001, false},
		{100000, 20000, 0, true}, /* XON is no more than XOFF, though a quarter of the buffer would be */
		{24000, 6001, 6000, true},
		{0, 524289, 0, false},
	};
	struct tp_model_config cfg;

	(void)state;
	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct tp_model *m = NULL;

		tp_model_config_default(&cfg);
		cfg.rxbuf_bytes = t[i].size;
		cfg.xoff_bytes = t[i].xoff;
		cfg.xon_bytes = t[i].xon;
		assert_int_equal(tp_model_create(&cfg, &m), t[i].ok ? 0 : -EINVAL);
		tp_model_destroy(m);
	}
	/* Where XON is when only the size is said, or XOFF, too: a quarter, or where XOFF is. */
	for (unsigned int i = 0; i < 3; i++) {
		static const uint32_t xoff[] = {0, 30000, 20000}, want_xoff[] = {60000, 30000, 20000},
				      want_xon[] = {30000, 30000, 20000};
		struct tp_model *m;

		tp_model_config_default(&cfg);
		cfg.rxbuf_bytes = 120000;
		cfg.xoff_bytes = xoff[i];
		assert_int_equal(tp_model_create(&cfg, &m), 0);
		assert_int_equal(m->port[1].qos->rx_xoff, want_xoff[i]);
		assert_int_equal(m->port[1].qos->rx_xon, want_xon[i]);
		tp_model_destroy(m);
	}
	tp_model_config_default(&cfg);
	cfg.rate_mbps[1] = TP_RATE_MAX_MBPS + 1;
	assert_int_equal(tp_model_create(&cfg, &(struct tp_model *){NULL}), -EINVAL);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {
		T(xoff_xon),  T(global_pause), T(head_of_line),    T(bursts),         T(overflow),
		T(drop_mode), T(trust),        T(headroom_enough), T(headroom_short), cmocka_unit_test(config)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
