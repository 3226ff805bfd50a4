/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * CNPs that nobody asked for: for queue pairs that send nothing or are not there, marked ones, a flood of them, a card's own. Marks on
 * packets that have no CNPs.
 */
#include "cc_rig.h"
#include "lib/roce/wire/icrc.h"

#define IP 14u
#define BTH (IP + 28u)
#define CNP_LEN (BTH + 12u + 16u + 4u)

static void
put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* Sums of a frame of RoCE v2 over IPv4 whose IP header is at ip. */
static void
sums(uint8_t *ip, uint32_t len)
{
	uint8_t *bth = ip + 28;
	uint32_t sum = 0;

	put16(ip + 10, 0);
	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)));
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_IPV4_UDP, ip, bth), bth + 12, len - 28 - 16),
		       ip + len - 4);
}

static void
eth(const struct vr *v, uint8_t *f)
{
	memcpy(f, v->mac[0], 6);
	memcpy(f + 6, v->mac[1], 6);
	put16(f + 12, 0x0800);
}

/* One for a queue pair of port 1, from port 2's address. */
static void
cnp_make(const struct vr *v, uint8_t *f, uint32_t qpn, uint8_t tos)
{
	static const uint8_t head[] = {0x45, 0,    0, 60, 0x71, 0x8c, 0x40, 0, 64,   17,   0,
				       0,    192,  0, 2,  2,    192,  0,    2, 1,    0xc0, 0x01,
				       0x12, 0xb7, 0, 40, 0,    0,    0x81, 0, 0xff, 0xff, 0x40};

	memset(f, 0, CNP_LEN);
	eth(v, f);
	memcpy(f + IP, head, sizeof(head));
	f[IP + 1] = tos;
	put16(f + BTH + 6, qpn);
	f[BTH + 5] = (uint8_t)(qpn >> 16);
	sums(f + IP, CNP_LEN - IP);
}

/* By port 1 from the wire, so many times at once; it says nothing to it. */
static void
hear(struct vr *v, const uint8_t *f, uint32_t len, uint32_t times)
{
	struct vr_end *from = v->end[1];
	uint32_t answers = v->end[0]->sent;

	assert_in_range(times, 1, VR_FRAMES);
	for (uint32_t i = 0; i < times; i++) {
		memcpy(from->frame[i].data, f, len);
		from->frame[i].len = len;
	}
	from->taken = 0;
	from->sent = times;
	vr_step(v);
	assert_int_equal(from->taken, times);
	assert_int_equal(v->end[0]->sent, answers);
}

/* CNPs that were ignored; those of packets without a tag have priority 0. */
static uint32_t
ignored(struct vr *v, unsigned int prio)
{
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(1, 0, RP)), 0);
	return prm_get32(card_out(v->c), prio * 0x40 + 0x0c);
}

/* For a queue pair that sends nothing, or for none: counted, and ignored. One that sends is limited. */
static void
test_nobody(void **state)
{
	enum { NONE, RESET, INIT, RTR, RTS, ERR };
	static const uint16_t steps[] = {MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2RTR_QP, MLX4_CMD_RTR2RTS_QP};
	struct vr *v = *state;
	struct vr_qp *q = vr_qp(v, 1, MLX4_QP_ST_RC), *a, *b;
	uint8_t f[CNP_LEN];

	on(v);
	/* A port without queue pairs of RoCE leaves its packets to Ethernet. */
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	vr_to(v, q, 2, 99, VR_GID_V4);
	prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(1, PRIO));
	for (unsigned int at = NONE; at <= ERR; at++) {
		uint32_t handled = counter(v, 1, RP, 0x24), of_qp = ignored(v, PRIO), of_packet = ignored(v, 0);
		bool receives = at == RTR || at == RTS;

		if (at == RESET) {
			assert_int_equal(card_qp_up(v->c, q->qpn, q->ctx), 0);
			assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, q->qpn), 0);
		}
		if (at >= INIT && at <= RTS)
			assert_int_equal(card_qp_step(v->c, steps[at - INIT], q->qpn, q->ctx), 0);
		if (at == ERR)
			assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, q->qpn), 0);
		cnp_make(v, f, q->qpn, DATA_ECN);
		hear(v, f, CNP_LEN, 1);
		if (counter(v, 1, RP, 0x24) != handled + (at == RTS) || ignored(v, PRIO) != of_qp + (at == RTR) ||
		    ignored(v, 0) != of_packet + !receives || counter(v, 1, RP, 0x10) != (at == RTS))
			fail_msg("state %u", at);
		/* One that was spoilt is none. */
		f[BTH + 12] ^= 1;
		hear(v, f, CNP_LEN, 1);
		assert_int_equal(counter(v, 1, RP, 0x24), handled + (at == RTS));
		assert_int_equal(ignored(v, 0), of_packet + !receives);
	}
	card_expect_clean(v->c);
}

/* The mark of a CNP is counted, and not answered; the CNP is heard. */
static void
test_marked(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t f[CNP_LEN];

	on(v);
	set(v, MOD(1, 1, NP), 1u << 31, 1u << 31, 0, 0, 0);
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	cnp_make(v, f, a->qpn, 3);
	hear(v, f, CNP_LEN, 1);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(1, 0, NP)), 0);
	assert_int_equal(prm_get64(card_out(v->c), 0x08), 1);
	assert_int_equal(prm_get32(card_out(v->c), 0x24), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x28), 0);
	assert_int_equal(counter(v, 1, RP, 0x24), 1);
	/* One of another partition is no member's. */
	f[BTH + 3] ^= 1;
	sums(f + IP, CNP_LEN - IP);
	hear(v, f, CNP_LEN, 1);
	assert_int_equal(counter(v, 1, RP, 0x24), 1);
	assert_int_equal(counter(v, 1, RP, 0x0c), 0);
	vr_quiet(v);
}

/* A first CNP sets the rate, one in each 40 us about halves it, and nothing raises it. */
static void
steady(struct vr *v, uint32_t first, uint32_t least)
{
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x54, first, 14);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x34, least, 22);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x58, 1023, 13);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x5c, 40, 12);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x14, 0, 30);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x18, 0, 29);
}

/* However many come, the queue pair keeps the least rate, nobody answers, and its messages go. */
static void
test_flood(void **state)
{
	enum { CNPS = 100000, AT_ONCE = 500 };
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t f[CNP_LEN];

	on(v);
	steady(v, 3000, 40);
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	cnp_make(v, f, a->qpn, DATA_ECN);
	for (unsigned int i = 0; i < CNPS / AT_ONCE; i++) {
		hear(v, f, CNP_LEN, AT_ONCE);
		assert_true(counter(v, 1, RP, 0x20) >= 40);
		vr_wait(v, 40 * US);
	}
	assert_int_equal(counter(v, 1, RP, 0x24), CNPS);
	assert_int_equal(counter(v, 1, RP, 0x0c), 0);
	assert_int_equal(counter(v, 1, RP, 0x10), 1);
	assert_int_equal(counter(v, 1, RP, 0x20), 40);
	v->end[1]->sent = v->end[1]->taken = 0;
	vr_exchange(v, a, b, 100);
	vr_quiet(v);
}

/* A CNP behind the headers of a frame of RoCE v1. */
static void
hear_v1(struct vr *v, struct vr_frame *f, uint32_t qpn)
{
	uint8_t *grh = f->data + 18, *bth = grh + 40;

	put16(bth + 6, qpn);
	put16(grh + 4, 12 + 16 + 4);
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_GRH, grh, bth), bth + 12, 16), bth + 28);
	hear(v, f->data, 18 + 40 + 32, 1);
}

/* RoCE v1 has no CNPs: a mark is counted, and not answered, and a CNP that comes so ignored. */
static void
test_v1(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *dgram;
	struct vr_frame f;
	uint32_t none;

	on(v);
	a = vr_qp(v, 1, MLX4_QP_ST_RC);
	b = vr_qp(v, 2, MLX4_QP_ST_RC);
	join(v, a, b, VR_GID_V1, 3);
	vr_exchange(v, a, b, 100);
	assert_int_equal(v->end[0]->sent, 1);
	/* An acknowledgement. */
	assert_int_equal(v->end[1]->sent, 1);
	assert_int_equal(v->end[1]->frame[0].data[18 + 40], 0x11);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(2, 0, NP)), 0);
	assert_int_equal(prm_get64(card_out(v->c), PRIO * 0x40 + 0x08), 1);
	assert_int_equal(counter(v, 2, NP, 0x24), 0);
	assert_int_equal(counter(v, 2, NP, 0x28), 0);
	/* The acknowledgement's octets become a CNP's. */
	f = v->end[1]->frame[0];
	memset(f.data + 18 + 40, 0, 12 + 16 + 4);
	f.data[18 + 40] = 0x81;
	put16(f.data + 18 + 40 + 2, 0xffff);
	f.data[18 + 40 + 4] = 0x40;
	hear_v1(v, &f, a->qpn);
	assert_int_equal(counter(v, 1, RP, 0x24), 0);
	assert_int_equal(counter(v, 1, RP, 0x0c), 1);
	assert_int_equal(counter(v, 1, RP, 0x10), 0);
	/* For one of datagrams, which has no version of its own; it has the priority of what it sent last, 0. */
	set(v, MOD(1, 1, RP), 1u << 31, 1u << 31, 0, 0, 0);
	dgram = vr_qp(v, 1, MLX4_QP_ST_UD);
	vr_qp_up(v, dgram);
	none = ignored(v, 0);
	hear_v1(v, &f, dgram->qpn);
	assert_int_equal(ignored(v, 0), none + 1);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(1, 0, RP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x24), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 0);
	vr_quiet(v);
}

/* A CNP of a ConnectX-4 Lx for queue pair 0x118, published with scapy's tests: from the IPv4 header on. */
static const uint8_t captured[] = {0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61,
				   0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7,
				   0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
				   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
				   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a};

/* A port's only address is this one. */
static void
take_address(struct vr *v, unsigned int port, const uint8_t *addr)
{
	uint8_t *g = v->gid[port - 1][VR_GID_V4], *in = card_in(v->c);

	memcpy(g + 12, addr, 4);
	memset(in, 0, 0x1000);
	memcpy(in + 32 * VR_GID_V4, g, 16);
	in[32 * VR_GID_V4 + 0x1b] = 2;
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 0xd << 8 | port), 0);
}

/*
 * The one of a card is heard by a queue pair with its number and addresses; the one that is sent to it is the same, but for
 * IP's identification and the UDP source port, which are the sender's to choose, and the sums over them.
 */
static void
test_captured(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t f[CNP_LEN];

	take_address(v, 1, captured + 16);
	take_address(v, 2, captured + 12);
	on(v);
	steady(v, 1000, 40);
	set(v, MOD(2, 1u << PRIO, NP), 0, 0, 0x18, 48 << 8, 26);
	a = vr_qp(v, 1, MLX4_QP_ST_RC);
	b = vr_qp(v, 2, MLX4_QP_ST_RC);
	a->qpn = 0x118;
	prm_set(a->ctx, MLX4_QPC_LOCAL_QPN, a->qpn);
	join(v, a, b, VR_GID_V4, 0);
	assert_int_equal(sizeof(captured), CNP_LEN - IP);
	eth(v, f);
	memcpy(f + IP, captured, sizeof(captured));
	for (unsigned int i = 1; i <= 2; i++) {
		hear(v, f, CNP_LEN, 1);
		assert_int_equal(counter(v, 1, RP, 0x24), i);
		assert_int_equal(counter(v, 1, RP, 0x10), 1);
		assert_in_range(counter(v, 1, RP, 0x20), i == 1 ? 1000 : 499, i == 1 ? 1000 : 501);
		vr_wait(v, 40 * US);
	}
	v->end[1]->sent = v->end[1]->taken = 0;
	v->end[0]->mark = 1;
	vr_exchange(v, a, b, 100);
	assert_int_equal(v->end[1]->sent, 2);
	/* Without its tag. */
	memcpy(f, v->end[1]->frame[0].data, 12);
	memcpy(f + 12, v->end[1]->frame[0].data + 16, sizeof(f) - 12);
	assert_int_equal(v->end[1]->frame[0].len, CNP_LEN + 4);
	assert_memory_equal(f + IP, captured, 4);
	assert_memory_equal(f + IP + 6, captured + 6, 4);
	assert_memory_equal(f + IP + 12, captured + 12, 8);
	assert_memory_equal(f + IP + 22, captured + 22, sizeof(captured) - 22 - 4);
	/* With the sender's choice the sums are the captured ones, too. */
	memcpy(f + IP + 4, captured + 4, 2);
	memcpy(f + IP + 20, captured + 20, 2);
	sums(f + IP, sizeof(captured));
	assert_memory_equal(f + IP, captured, sizeof(captured));
	vr_quiet(v);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {T(test_nobody), T(test_marked), T(test_flood), T(test_v1), T(test_captured)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
