/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Many datagrams at once on an InfiniBand port: each is on the wire, and in memory, as if it had been alone, whatever is between
 * them. CRCs and sums are made by the book.
 */
#include "ib_rig.h"

#define HEAD 28u /* LRH, BTH, DETH */
#define PSN 0xfffff8u
#define PART 1200u /* of the sender's memory for each datagram */
#define IP IR_IP

/* The length of a datagram is patched in behind its WQE's back: nothing runs until the next step. */
static uint8_t *
post(struct vr *v, struct vr_qp *a, uint32_t i, uint32_t qpn, uint32_t len)
{
	uint8_t *w = vr_wqe(v, a);

	ir_post_ud(v, a, IR_LID2, qpn, NULL, len);
	prm_set64(w, 72, a->mem + i * PART);
	return w;
}

/* Lengths with each pad, shorter and longer than what is folded or copied at once; two destinations, in turns and in rows. */
static const uint16_t lengths[] = {1, 2, 3, 4, 31, 32, 33, 36, 64, 65, 500, 1024};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* What the sender asks for between them is none of a row: a checksum, two pieces, an immediate; quiet ones have no completion. */
static void
test_sent(void **state)
{
	enum { SUM = 3, PIECES = 5, IMM = 7, QUIET = 8, LANE = 10 };
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t *w;

	prm_set(a->ctx, MLX4_QPC_NEXT_SEND_PSN, PSN);
	vr_qp_up(v, a);
	vr_fill(vr_mem(v, a), LENGTHS * PART, 3);
	memset(vr_mem(v, a) + SUM * PART + 2, 0, 2); /* behind a type, which the sum is for */
	for (uint32_t i = 0; i < LENGTHS; i++) {
		w = post(v, a, i, 0x100 + (i / 2 & 1), lengths[i]);
		if (i == SUM)
			prm_set32(w, 8, MLX4_CTRL_CQE | MLX4_CTRL_IP_CSUM);
		if (i == PIECES) {
			prm_set32(w, 64, 20);
			prm_set32(w, 80, lengths[i] - 20);
			prm_set32(w, 84, VR_RW_KEY);
			prm_set64(w, 88, a->mem + i * PART + 20);
			prm_set32(w, 4, 6);
		}
		if (i == IMM) {
			prm_set32(w, 12, 0xabcdef01);
			prm_set32(w, 0, MLX4_OP_SEND_IMM);
		}
		if (i == QUIET)
			prm_set32(w, 8, MLX4_CTRL_SOLICITED);
		if (i == LANE)
			prm_set(w + 16, MLX4_AV_SL, 5);
	}
	vr_step(v);
	assert_int_equal(v->end[0]->sent, LENGTHS);
	for (uint32_t i = 0; i < LENGTHS; i++) {
		const struct vr_frame *f = &v->end[0]->frame[i];
		uint32_t pad = -(uint32_t)lengths[i] & 3u, imm = i == IMM ? 4 : 0;

		assert_int_equal(f->len, HEAD + imm + lengths[i] + pad + IR_WIRE_TAIL);
		ir_check_crcs(f);
		assert_int_equal(f->data[1] >> 4, i == LANE ? 5 : 3);
		assert_int_equal(f->data[8], i == IMM ? 0x65 : 0x64);
		assert_int_equal(f->data[9], 0x40 | pad << 4 | (i == QUIET ? 0x80 : 0));
		assert_int_equal(prm_get32(f->data, 12), 0x100 + (i / 2 & 1));
		assert_int_equal(prm_get32(f->data, 16), (PSN + i) & 0xffffff);
		assert_int_equal(prm_get32(f->data, 20), VR_QKEY);
		assert_int_equal(prm_get32(f->data, 24), a->qpn);
		assert_memory_equal(f->data + HEAD + imm, vr_mem(v, a) + i * PART, lengths[i]);
		assert_memory_equal(f->data + HEAD + imm + lengths[i], "\0\0\0", pad);
		if (i != QUIET)
			vr_expect(v, a, VR_SENT | (i == IMM ? MLX4_OP_SEND_IMM : MLX4_OP_SEND), (uint16_t)(2 * i));
	}
	assert_null(vr_poll_cq(v, a));
	/* What comes later goes on where these end. */
	post(v, a, 0, 0x100, 40);
	vr_step(v);
	assert_int_equal(prm_get32(ir_last(v, 1)->data, 16), (PSN + LENGTHS) & 0xffffff);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 2 * LENGTHS);
	assert_int_equal(card_cmd_out(v->c, MLX4_CMD_QUERY_QP, 0, a->qpn), 0);
	assert_int_equal(prm_get(card_out(v->c) + 8, MLX4_QPC_NEXT_SEND_PSN), (PSN + LENGTHS + 1) & 0xffffff);
	vr_quiet(v);
}

/* The second of three is refused: what was before it is sent, what is behind it is flushed. */
static void
test_refused_between(void **state)
{
	enum { LENGTH, KEY, BOUNDS, DOMAIN, CASES };
	static const uint8_t syndrome[CASES] = {MLX4_SYND_LOCAL_LENGTH, MLX4_SYND_LOCAL_PROT, MLX4_SYND_LOCAL_PROT,
						MLX4_SYND_LOCAL_QP_OP};

	for (unsigned int c = 0; c < CASES; c++) {
		struct vr *v;
		struct vr_qp *a;
		uint8_t *w;

		assert_int_equal(ir_up(state), 0);
		v = *state;
		a = ir_qp(v, 1, MLX4_QP_ST_UD);
		vr_qp_up(v, a);
		post(v, a, 0, 0x100, 64);
		w = post(v, a, 1, 0x100, 64);
		post(v, a, 2, 0x100, 64);
		switch (c) {
		case LENGTH: prm_set32(w, 64, 1025); break;
		case KEY: prm_set32(w, 68, VR_PD_KEY); break;
		case BOUNDS: prm_set64(w, 72, CARD_IOVA + CARD_MEM_SIZE - 63); break;
		default: prm_set(w + 16, MLX4_AV_PD, CARD_PD + 1); break;
		}
		vr_step(v);
		assert_int_equal(v->end[0]->sent, 1);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
		vr_expect_error(v, a, true, syndrome[c], 2);
		vr_expect_error(v, a, true, MLX4_SYND_WR_FLUSH, 4);
		assert_int_equal(vr_state(v, a), MLX4_QP_SQER);
		vr_down(state);
	}
	assert_int_equal(ir_up(state), 0);
}

/* --- receiving --- */

/* Both CRCs anew; icrc: the first, too. */
static void
seal(struct vr_frame *f, bool icrc)
{
	uint8_t m[VR_FRAME_MAX];
	uint32_t len = f->len - IR_WIRE_TAIL, crc;
	uint16_t link;

	memcpy(m, f->data, len);
	m[0] |= 0xf0;
	m[12] = 0xff;
	crc = ir_crc32(m, len);
	for (unsigned int i = 0; i < 4 && icrc; i++)
		f->data[len + i] = (uint8_t)(crc >> 8 * i);
	link = ir_crc16(f->data, len + 4);
	f->data[len + 4] = (uint8_t)link;
	f->data[len + 5] = (uint8_t)(link >> 8);
}

enum what {
	GOOD,
	LINK_CRC,
	OWN_CRC,
	WORDS,
	NO_QP,
	OTHER_QKEY,
	OTHER_PKEY,
	OTHER_LID,
	PAD,
	SHORT_BUFFER,
	SOLICITED,
	IP_SUM,
	UDP_SUM,
	NO_SUM,
	NO_IP,
	TWO_BUFFERS,
	WHATS
};
/* What its receiver has of it: a completion with these sums, an error, nothing. */
enum gets { BOTH_SUMS, ONLY_IP, ONLY_UDP, NO_SUMS, TOO_LONG, NOTHING };
static const enum gets gets[WHATS] = {
	[LINK_CRC] = NOTHING,      [OWN_CRC] = NOTHING,    [WORDS] = NOTHING,     [NO_QP] = NOTHING,
	[OTHER_QKEY] = NOTHING,    [OTHER_PKEY] = NOTHING, [OTHER_LID] = NOTHING, [PAD] = NOTHING,
	[SHORT_BUFFER] = TOO_LONG, [IP_SUM] = ONLY_UDP,    [UDP_SUM] = ONLY_IP,   [NO_SUM] = ONLY_IP,
	[NO_IP] = NO_SUMS};

/* Makes of a good packet what it is to be. */
static void
change(struct vr_frame *f, enum what what)
{
	uint8_t *d = f->data, *ip = d + HEAD + IP;

	switch (what) {
	case LINK_CRC: d[40] ^= 1; return;
	case OWN_CRC:
		d[40] ^= 1;
		seal(f, false);
		return;
	case WORDS: d[5]++; break;
	case NO_QP: d[15] += 50; break;
	case OTHER_QKEY: d[23] ^= 1; break;
	case OTHER_PKEY: d[11] ^= 1; break;
	case OTHER_LID: d[3] ^= 1; break;
	case PAD:
		f->len = HEAD + IR_WIRE_TAIL;
		d[5] = (HEAD + 4) / 4;
		d[9] |= 0x30;
		break;
	case SOLICITED: d[9] |= 0x80; break;
	case IP_SUM: ip[10] ^= 1; break;
	case UDP_SUM: ip[26] ^= 1; break;
	case NO_SUM: ip[26] = ip[27] = 0; break;
	case NO_IP: d[HEAD + 1] = 6; break;
	default: break;
	}
	seal(f, true);
}

static void
check_message(struct vr *v, struct vr_qp *q, const uint8_t *e, const struct vr_frame *f, enum gets what, uint32_t from)
{
	uint32_t pad = f->data[9] >> 4 & 3u, len = f->len - HEAD - IR_WIRE_TAIL - pad, status = prm_get32(e, 0x10);
	const uint8_t *to = vr_mem(v, q) + from;

	assert_int_equal(prm_get32(e, 4), 0);
	assert_int_equal(prm_get32(e, 8), prm_get32(f->data, 24));
	assert_int_equal(prm_get32(e, 12), 3u << 28 | IR_LID1);
	assert_int_equal(prm_get32(e, 0x14), 40 + len);
	assert_memory_equal(to + 40, f->data + HEAD, len);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(to[i], 0);
	assert_int_equal((status >> 28 & 1) != 0, what == BOTH_SUMS || what == ONLY_IP);
	assert_int_equal((status & 4) != 0, what == BOTH_SUMS || what == ONLY_UDP);
	assert_int_equal(prm_get32(e, 0x18) & 0xffff, what == BOTH_SUMS || what == ONLY_UDP ? 0xffff : 0);
}

/*
 * Packets to two queue pairs in one call. Between good ones, one of each sort: it alone is treated otherwise, and has the
 * receive request that is its turn.
 */
static void
test_received(void **state)
{
	enum { AT = 2, N = 5 };

	for (enum what what = GOOD; what < WHATS; what++) {
		static struct vr_frame f[N];
		struct tp_frame_seg seg[N];
		struct tp_frame in[N];
		struct vr_qp *a, *q[2];
		struct vr *v;
		uint8_t *w;

		assert_int_equal(ir_up(state), 0);
		v = *state;
		a = ir_qp(v, 1, MLX4_QP_ST_UD);
		for (unsigned int i = 0; i < 2; i++)
			q[i] = ir_qp(v, 2, MLX4_QP_ST_UD);
		vr_qp_up(v, a);
		vr_qp_up(v, q[0]);
		vr_qp_up(v, q[1]);
		v->end[0]->lose = N;
		for (uint32_t i = 0; i < N; i++) {
			/* The last but one is for the other one; lengths are the same in rows, and are not. */
			uint32_t ip = 46 + (i == 4 ? 3 : 0);

			ir_ip_packet(vr_mem(v, a) + i * PART, ip);
			post(v, a, i, q[i == 3]->qpn, IP + ip);
		}
		vr_step(v);
		for (uint32_t i = 0; i < N; i++) {
			f[i] = v->end[0]->frame[i];
			if (i == AT)
				change(&f[i], what);
			seg[i] = (struct tp_frame_seg){.data = f[i].data, .len = f[i].len};
			in[i] = (struct tp_frame){.seg = &seg[i], .nseg = 1, .len = f[i].len};
			w = card_ptr(v->c, q[i == 3]->rq) + q[i == 3]->rprod * 64;
			vr_post_recv(v, q[i == 3], VR_RW_KEY, q[i == 3]->mem + i * PART,
				     i == AT && what == SHORT_BUFFER ? 80 : 1000);
			if (i == AT && what == TWO_BUFFERS) {
				prm_set32(w, 0, 60);
				prm_set32(w, 16, 900);
				prm_set32(w, 20, VR_RW_KEY);
				prm_set64(w, 24, q[0]->mem + i * PART + 60);
				prm_set32(w, 36, MLX4_LKEY_INVALID);
			}
		}
		assert_int_equal(tp_model_port_receive(v->c->m, 2, in, N), N);
		for (uint32_t i = 0, k = 0; i < N; i++) {
			enum gets got = i == AT ? gets[what] : BOTH_SUMS;
			/* Without it the next one takes its request and place. */
			uint32_t at = gets[what] == NOTHING && i > AT && i != 3 ? AT : i;

			if (got == NOTHING)
				continue;
			if (got == TOO_LONG)
				vr_expect_error(v, q[0], false, MLX4_SYND_LOCAL_LENGTH, (uint16_t)k++);
			else
				check_message(v, q[i == 3], vr_expect(v, q[i == 3], 1, (uint16_t)(i == 3 ? 0 : k++)),
					      &f[i], got, at * PART);
		}
		assert_null(vr_poll_cq(v, q[0]));
		assert_null(vr_poll_cq(v, q[1]));
		vr_down(state);
	}
	assert_int_equal(ir_up(state), 0);
}

/* As many as there are receive requests; the others are lost without a word. */
static void
test_more_than_requests(void **state)
{
	enum { N = 6, POSTED = 4 };
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);
	struct tp_frame_seg seg[N];
	struct tp_frame in[N];

	vr_qp_up(v, a);
	vr_qp_up(v, b);
	v->end[0]->lose = N;
	for (uint32_t i = 0; i < N; i++)
		post(v, a, i, b->qpn, 100);
	vr_step(v);
	for (uint32_t i = 0; i < N; i++) {
		const struct vr_frame *f = &v->end[0]->frame[i];

		seg[i] = (struct tp_frame_seg){.data = f->data, .len = f->len};
		in[i] = (struct tp_frame){.seg = &seg[i], .nseg = 1, .len = f->len};
		if (i < POSTED)
			vr_post_recv(v, b, VR_RW_KEY, b->mem + i * PART, 1000);
	}
	assert_int_equal(tp_model_port_receive(v->c->m, 2, in, N), N);
	for (uint32_t i = 0; i < POSTED; i++)
		vr_expect(v, b, 1, (uint16_t)i);
	assert_null(vr_poll_cq(v, b));
	ir_mad(v, 4, 1, 0x12, 0)[1] = 2; /* performance management: all came over the link */
	assert_int_equal(ir_mad_ifc(v, 2), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x64), N);
	vr_quiet(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sent, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_refused_between, NULL, vr_down),
		cmocka_unit_test_setup_teardown(test_received, NULL, vr_down),
		cmocka_unit_test_setup_teardown(test_more_than_requests, ir_up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
