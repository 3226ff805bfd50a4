/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Datagrams between two InfiniBand ports of one card that nothing lies between become no packets. All that software can see is as
 * if they did: the same is done to two cards, one whose ports are joined so, and one with a wire of the rig between, which keeps
 * each packet and whose receiver verifies its CRCs. Where somebody can look at packets, there are some, by the book.
 */
#include "ib_rig.h"
#include "mlx4_prm_stats.h"
#include "model/card/model_priv.h"

#define QPS 3u
#define PART (VR_BUF / (1u << VR_LG_RQ)) /* of memory, for each datagram and each receive request */
#define ROUNDS 40u
#define MOST 12u /* datagrams in a round */
#define NOBODY 0x7fu

/* Two cards, and what of them has to be the same. */
struct pair {
	struct vr *v[2];
	uint64_t dice;
};

/* splitmix64 */
static uint32_t
pick(uint64_t *s, uint32_t n)
{
	uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) % n);
}

static void
cross(struct vr *v)
{
	assert_int_equal(tp_model_wire_cross(v->c->m), 0);
	v->end[0] = v->end[1] = NULL;
}

static int
pair_up(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	for (unsigned int i = 0; i < 2; i++) {
		void *of = NULL;
		struct vr *v;

		ir_up(&of);
		v = p->v[i] = of;
		/* One sends, two receive. */
		for (unsigned int k = 0; k < QPS; k++)
			vr_qp_up(v, ir_qp(v, k == 0 ? 1 : 2, MLX4_QP_ST_UD));
	}
	cross(p->v[0]);
	p->dice = 1;
	*state = p;
	return 0;
}

static int
pair_down(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 0; i < 2; i++) {
		void *of = p->v[i];

		vr_down(&of);
	}
	free(p);
	return 0;
}

/* What a round does, by the same throws for both cards. */

enum sort { GOOD, IP_SUM, UDP_SUM, NO_SUM, NO_IP, LONGER, SHORTER, IMM, ASK_SUMS, TWO_PIECES, SORTS };
enum to { FIRST, SECOND, UNKNOWN, OTHER_KEY, OTHER_LANE, OTHER_LID, WAYS };

static uint8_t *
wqe_at(struct vr *v, const struct vr_qp *q, uint32_t prod)
{
	return card_ptr(v->c, q->ring) + (size_t)(prod & ((1u << VR_LG_SQ) - 1)) * 64;
}

/* The address of a datagram, as the rig's, in the WQE at hand. */
static void
address(struct vr *v, enum to to)
{
	struct vr_qp *a = &v->q[0];
	uint8_t *d = vr_wqe(v, a) + 16;

	memset(d, 0, MLX4_DGRAM_SIZE);
	prm_set32(d, 0, CARD_PD);
	prm_set(d, MLX4_AV_DLID, to == OTHER_LID ? IR_LID2 + 1 : IR_LID2);
	prm_set(d, MLX4_AV_SL, to == OTHER_LANE ? 5 : 3);
	prm_set32(d, 32, to == UNKNOWN ? NOBODY : v->q[to == SECOND ? 2 : 1].qpn);
	prm_set32(d, 36, to == OTHER_KEY ? VR_QKEY + 1 : VR_QKEY);
}

static void
post(struct vr *v, uint32_t i, uint64_t *dice)
{
	struct vr_qp *a = &v->q[0];
	uint32_t len = 28 + pick(dice, 3) * 18 + pick(dice, 4) * pick(dice, 250);
	/* Mostly what is in rows. */
	enum sort sort = pick(dice, 4) != 0 ? GOOD : (enum sort)pick(dice, SORTS);
	enum to to = pick(dice, 6) != 0 ? FIRST : (enum to)pick(dice, WAYS);
	uint32_t told = pick(dice, 3), flags = told == 0 ? 0 : MLX4_CTRL_CQE;
	uint32_t pass = (a->prod >> VR_LG_SQ & 1) != 0 ? MLX4_CTRL_OWN : 0,
		 first = sort == TWO_PIECES ? 20 : IR_IP + len;
	uint8_t *d = vr_mem(v, a) + i * PART, *ip = d + IR_IP, *w = vr_wqe(v, a);

	ir_ip_packet(d, len);
	switch (sort) {
	case IP_SUM: ip[10] ^= 1; break;
	case UDP_SUM: ip[26] ^= 1; break;
	case NO_SUM: ip[26] = ip[27] = 0; break;
	case NO_IP: d[1] = 6; break;
	/* Of IP's length and the datagram's one is wrong. */
	case LONGER: ip[3]++; break;
	case SHORTER: ip[3]--; break;
	default: break;
	}
	if (sort == LONGER || sort == SHORTER) {
		ip[10] = ip[11] = 0;
		ir_put_sum(ip + 10, ir_ones(0, ip, 20));
	}
	if (told == 1 && pick(dice, 4) == 0)
		flags |= MLX4_CTRL_SOLICITED;
	if (sort == ASK_SUMS)
		flags |= MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM;
	address(v, to);
	vr_data(v, a, 4, VR_RW_KEY, a->mem + i * PART, first);
	if (sort == TWO_PIECES)
		vr_data(v, a, 5, VR_RW_KEY, a->mem + i * PART + first, IR_IP + len - first);
	vr_post(v, a, (sort == IMM ? MLX4_OP_SEND_IMM : MLX4_OP_SEND) | pass, sort == TWO_PIECES ? 6 : 5, 0,
		0xabcd0000 + i);
	prm_set32(w, 8, flags);
}

/* Mostly of one length, some in two pieces. */
static void
post_recv(struct vr *v, unsigned int k, uint64_t *dice)
{
	struct vr_qp *q = &v->q[k];
	uint32_t at = (q->rprod & ((1u << VR_LG_RQ) - 1)), len = pick(dice, 8) != 0 ? PART : PART - pick(dice, 100);
	uint8_t *w = card_ptr(v->c, q->rq) + (size_t)at * 64;

	vr_post_recv(v, q, VR_RW_KEY, q->mem + at * PART, len);
	if (pick(dice, 8) != 0)
		return;
	prm_set32(w, 0, 60);
	prm_set32(w, 16, len - 60);
	prm_set32(w, 20, VR_RW_KEY);
	prm_set64(w, 24, q->mem + at * PART + 60);
	prm_set32(w, 36, MLX4_LKEY_INVALID);
}

static void
drain(struct vr *v)
{
	for (unsigned int k = 0; k < QPS; k++)
		while (vr_poll_cq(v, &v->q[k]) != NULL)
			continue;
}

/* By commands and in memory. */
static void
check_same(struct pair *p)
{
	struct tp_model_stats st[2];
	uint8_t seen[2][256];

	memset(st, 0, sizeof(st));
	for (unsigned int k = 0; k < QPS; k++) {
		struct vr_qp *q[2] = {&p->v[0]->q[k], &p->v[1]->q[k]};

		assert_memory_equal(card_ptr(p->v[0]->c, q[0]->cq), card_ptr(p->v[1]->c, q[1]->cq), 32u << VR_LG_CQ);
		assert_memory_equal(vr_mem(p->v[0], q[0]), vr_mem(p->v[1], q[1]), VR_BUF);
		assert_int_equal(q[0]->ci, q[1]->ci);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(card_cmd_out(p->v[i]->c, MLX4_CMD_QUERY_QP, 0, q[i]->qpn), 0);
			memcpy(seen[i], card_out(p->v[i]->c) + 8, MLX4_QPC_SIZE);
		}
		assert_memory_equal(seen[0], seen[1], MLX4_QPC_SIZE);
	}
	for (unsigned int i = 0; i < 2; i++)
		tp_model_get_stats(p->v[i]->c->m, &st[i]);
	for (unsigned int port = 1; port <= 2; port++) {
		st[0].port[port - 1].wire = st[1].port[port - 1].wire;
		assert_memory_equal(&st[0].port[port - 1], &st[1].port[port - 1], sizeof(st[0].port[0]));
		for (unsigned int i = 0; i < 2; i++) {
			ir_mad(p->v[i], 4, 1, 0x12, 0)[1] = (uint8_t)port;
			assert_int_equal(ir_mad_ifc(p->v[i], port), 0);
			memcpy(seen[i], card_out(p->v[i]->c) + 0x40, 192);
		}
		assert_memory_equal(seen[0], seen[1], 192);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(card_cmd_out(p->v[i]->c, MLX4_CMD_DIAG_RPRT, 2, port), 0);
			memcpy(seen[i], card_out(p->v[i]->c) + 0x100, 64);
		}
		assert_memory_equal(seen[0], seen[1], 64);
	}
	assert_memory_equal(p->v[0]->c->m->counter, p->v[1]->c->m->counter, sizeof(p->v[0]->c->m->counter));
	assert_int_equal(tp_model_violations_total(p->v[0]->c->m), tp_model_violations_total(p->v[1]->c->m));
}

/* Rings wrap round several times; requests to receive are too few in some rounds. */
static void
test_as_by_packets(void **state)
{
	struct pair *p = *state;
	uint32_t received = 0, posted = 0, sent = 0;

	assert_ptr_equal(p->v[0]->c->m->port[0].direct, &p->v[0]->c->m->port[1]);
	assert_null(p->v[1]->c->m->port[0].direct);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		uint64_t dice = 0;

		for (unsigned int i = 0; i < 2; i++) {
			struct vr *v = p->v[i];
			uint32_t recvs, sends;

			dice = p->dice;
			recvs = pick(&dice, 4) == 0 ? 2 : MOST;
			sends = 1 + pick(&dice, MOST);
			for (unsigned int k = 1; k < QPS; k++) {
				/* What is posted and not used yet stays. */
				uint32_t has = v->q[k].rprod - (uint32_t)tpm_qp_get(v->c->m, v->q[k].qpn)->rq_head;

				for (; has < recvs; has++)
					post_recv(v, k, &dice);
			}
			for (unsigned int n = 0; n < sends; n++)
				post(v, n, &dice);
			vr_step(v);
			posted += sends * (i == 0);
			drain(v);
		}
		p->dice = dice;
		check_same(p);
	}
	for (unsigned int k = 1; k < QPS; k++)
		received += p->v[0]->q[k].ci;
	sent = p->v[1]->end[0]->sent;
	/* Most of them went their way, and in the other card as packets; some were for nobody, others found no request. */
	assert_true(vr_diag(p->v[0], 2, MLX4_DIAG_RQ_UD_DROPPED) > 3);
	assert_int_equal(sent, posted);
	assert_true(received > posted / 2 && received < posted);
	for (uint32_t i = 0; i < sent; i++)
		ir_check_crcs(&p->v[1]->end[0]->frame[i]);
	card_expect_clean(p->v[0]->c);
	card_expect_clean(p->v[1]->c);
}

/* Nobody reads the completions of a receiver: the queue overflows at the same datagram, with the same end. */
static void
test_no_room_for_completions(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 0; i < 2; i++) {
		struct vr *v = p->v[i];

		for (unsigned int r = 0; r < 6; r++) {
			for (unsigned int n = 0; n < MOST; n++) {
				vr_post_recv(v, &v->q[1], VR_RW_KEY, v->q[1].mem + n * PART, PART);
				ir_ip_packet(vr_mem(v, &v->q[0]) + n * PART, 60);
				ir_post_ud(v, &v->q[0], IR_LID2, v->q[1].qpn, NULL, IR_IP + 60);
			}
			vr_step(v);
			while (vr_poll_cq(v, &v->q[0]) != NULL)
				continue;
		}
		assert_int_equal(tp_model_violations_total(v->c->m), 1);
		assert_int_equal(vr_state(v, &v->q[1]), MLX4_QP_ERR);
	}
	check_same(p);
}

/* Three datagrams to the first receiver. */
static void
three(struct vr *v)
{
	for (unsigned int n = 0; n < 3; n++) {
		vr_post_recv(v, &v->q[1], VR_RW_KEY, v->q[1].mem + (v->q[1].rprod % 16) * PART, PART);
		ir_ip_packet(vr_mem(v, &v->q[0]) + n * PART, 61 + n);
		ir_post_ud(v, &v->q[0], IR_LID2, v->q[1].qpn, NULL, IR_IP + 61 + n);
		prm_set64(wqe_at(v, &v->q[0], v->q[0].prod - 2), 72, v->q[0].mem + n * PART);
	}
	vr_step(v);
	for (unsigned int n = 0; n < 3; n++)
		vr_expect(v, &v->q[0], VR_SENT | MLX4_OP_SEND, (uint16_t)(v->q[0].prod - 6 + 2 * n));
}

static void
arrived(struct vr *v)
{
	for (unsigned int n = 0; n < 3; n++) {
		uint16_t index = (uint16_t)(v->q[1].rprod - 3 + n);
		const uint8_t *e = vr_expect(v, &v->q[1], 1, index);

		assert_int_equal(prm_get32(e, 0x14), 40 + IR_IP + 61 + n);
		assert_int_equal(prm_get32(e, 0x10) >> 28 & 1, 1);
		assert_memory_equal(vr_mem(v, &v->q[1]) + index % 16 * PART + 40, vr_mem(v, &v->q[0]) + n * PART,
				    IR_IP + 61 + n);
	}
	assert_null(vr_poll_cq(v, &v->q[1]));
}

/* An impaired cable has packets: each is damaged, or held back and whole. Then nobody looks again. */
static void
test_impaired(void **state)
{
	struct tp_impair bad = {.corrupt_ppm = 1000000, .seed = 1}, late = {.delay_us = 5}, none = {0};
	struct vr *v = ((struct pair *)*state)->v[0];
	struct tp_model_stats st;

	three(v);
	arrived(v);
	assert_int_equal(tp_model_impair(v->c->m, 2, &bad), 0);
	three(v);
	assert_null(vr_poll_cq(v, &v->q[1]));
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].impair_corrupts, 3);
	assert_int_equal(st.port[1].rx_bad_fcs, 3);
	assert_int_equal(tp_model_impair(v->c->m, 2, &late), 0);
	v->q[1].rprod -= 3; /* those that nobody used */
	three(v);
	assert_null(vr_poll_cq(v, &v->q[1]));
	vr_wait(v, 5000);
	arrived(v);
	assert_int_equal(tp_model_impair(v->c->m, 2, &none), 0);
	three(v);
	arrived(v);
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[0].tx_frames, 12);
	card_expect_clean(v->c);
}

/* Another wire in the place of the one between the ports, at one of them first: packets, whose CRCs are right. */
static void
test_other_wires(void **state)
{
	struct vr *v = ((struct pair *)*state)->v[0];

	three(v);
	arrived(v);
	for (unsigned int p = 1; p <= 2; p++)
		vr_wire_end(v, p);
	v->end[0]->peer = v->end[1];
	v->end[1]->peer = v->end[0];
	assert_int_equal(tp_model_wire_attach(v->c->m, 1, &v->end[0]->w), 0);
	assert_null(v->c->m->port[0].direct);
	assert_null(v->c->m->port[1].direct);
	assert_int_equal(tp_model_wire_attach(v->c->m, 2, &v->end[1]->w), 0);
	vr_step(v);
	/* That port's link was down for a moment. */
	assert_int_equal(ir_state(v, 1), 4);
	assert_int_equal(ir_state(v, 2), 2);
	assert_int_equal(ir_set_state(v, 2, 3), 0);
	assert_int_equal(ir_set_state(v, 2, 4), 0);
	three(v);
	arrived(v);
	assert_int_equal(v->end[0]->sent, 3);
	for (unsigned int n = 0; n < 3; n++)
		ir_check_crcs(&v->end[0]->frame[n]);
	cross(v);
	three(v);
	arrived(v);
	card_expect_clean(v->c);
}

/* Without a cable, and to a port that is not active, datagrams are lost as ever. */
static void
test_not_up(void **state)
{
	struct vr *v = ((struct pair *)*state)->v[0];
	struct tp_model_stats st;

	assert_int_equal(tp_model_cable(v->c->m, 2, false), 0);
	three(v);
	assert_null(vr_poll_cq(v, &v->q[1]));
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[0].tx_frames, 0);
	assert_int_equal(tp_model_cable(v->c->m, 2, true), 0);
	ir_activate(v);
	v->q[1].rprod -= 3;
	three(v);
	arrived(v);
	card_expect_clean(v->c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_by_packets, pair_up, pair_down),
		cmocka_unit_test_setup_teardown(test_no_room_for_completions, pair_up, pair_down),
		cmocka_unit_test_setup_teardown(test_impaired, pair_up, pair_down),
		cmocka_unit_test_setup_teardown(test_other_wires, pair_up, pair_down),
		cmocka_unit_test_setup_teardown(test_not_up, pair_up, pair_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
