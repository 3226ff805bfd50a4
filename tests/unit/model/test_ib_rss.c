/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams to a queue pair that shares its packets out among rings, on InfiniBand [DP 8.2]: to which, and what none gets. */
#include "frames.h"
#include "ib_rig.h"

#define LEN 30u

/* Of port 2; what has no flow that it knows goes to this queue pair. */
static struct vr_qp *
parent_new(struct vr *v, uint32_t ring, uint32_t base, uint32_t base_udp, uint8_t flags)
{
	struct vr_qp *q = ir_qp(v, 2, MLX4_QP_ST_UD);

	prm_set(q->ctx, MLX4_QPC_RSS, 1);
	prm_set(q->ctx, MLX4_RSS_LG_RINGS, base == ring ? 0 : 1);
	prm_set(q->ctx, MLX4_RSS_BASE_QPN, base);
	prm_set(q->ctx, MLX4_RSS_BASE_QPN_UDP, base_udp);
	prm_set(q->ctx, MLX4_RSS_DEFAULT_QPN, ring);
	prm_set(q->ctx, MLX4_RSS_HASH_FN, MLX4_RSS_FN_XOR);
	prm_set(q->ctx, MLX4_RSS_FLAGS, flags);
	return q;
}

/* Another card. */
static struct vr *
anew(void **state)
{
	if (*state != NULL)
		vr_down(state);
	assert_int_equal(ir_up(state), 0);
	return *state;
}

static void
send(struct vr *v, struct vr_qp *from, const struct vr_qp *to, uint32_t len)
{
	ir_post_ud(v, from, IR_LID2, to->qpn, NULL, len);
	vr_step(v);
	assert_non_null(vr_poll_cq(v, from));
}

/* P_Key and Q_Key violations of port 2, by its PortInfo. */
static uint32_t
violations(struct vr *v, unsigned int at)
{
	const uint8_t *info = ir_get(v, 2, 0x15, 2);

	return (uint32_t)info[at] << 8 | info[at + 1];
}
#define PKEYS 46u
#define QKEYS 48u

/* The ring must be a queue pair of datagrams of this port that may receive and is no parent; else nobody has the packet. */
static void
test_what_a_ring_is(void **state)
{
	enum { GOOD, NOT_THERE, CONNECTED, OTHER_PORT, NOT_READY, FAILED, PARENT, ITSELF, CASES };

	for (unsigned int i = 0; i < CASES; i++) {
		struct vr_qp *a, *ring, *p;
		struct vr *v;

		v = anew(state);
		a = ir_qp(v, 1, MLX4_QP_ST_UD);
		if (i == PARENT)
			ring = parent_new(v, a->qpn, a->qpn, a->qpn, 0);
		else
			ring = ir_qp(v, i == OTHER_PORT ? 1 : 2, i == CONNECTED ? MLX4_QP_ST_UC : MLX4_QP_ST_UD);
		vr_qp_up(v, a);
		if (i == NOT_READY)
			assert_int_equal(card_qp_step(v->c, MLX4_CMD_RST2INIT_QP, ring->qpn, ring->ctx), 0);
		else
			vr_qp_up(v, ring);
		if (i == FAILED)
			assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, ring->qpn), 0);
		p = parent_new(v, ring->qpn, ring->qpn, ring->qpn, 0);
		if (i == NOT_THERE)
			prm_set(p->ctx, MLX4_RSS_DEFAULT_QPN, ring->qpn + 20);
		if (i == ITSELF)
			prm_set(p->ctx, MLX4_RSS_DEFAULT_QPN, p->qpn);
		vr_qp_up(v, p);
		if (i != FAILED)
			vr_post_recv(v, ring, VR_RW_KEY, ring->mem, 1000);
		vr_post_recv(v, p, VR_RW_KEY, p->mem, 1000);
		memset(vr_mem(v, a), 0x5a, LEN);
		send(v, a, p, LEN);
		if (i == GOOD) {
			assert_int_equal(prm_get32(vr_expect(v, ring, 1, 0), 8) & 0xffffff, a->qpn);
			assert_memory_equal(vr_mem(v, ring) + 40, vr_mem(v, a), LEN);
			card_expect_clean(v->c);
		} else {
			if (vr_poll_cq(v, ring) != NULL || vr_poll_cq(v, p) != NULL || vr_mem(v, ring)[40] != 0)
				fail_msg("case %u: somebody has it", i);
			card_expect(v->c, "rss-range", 1);
		}
		assert_int_equal(violations(v, PKEYS) + violations(v, QKEYS), 0);
	}
}

/* IBTA 10.9.4, 10.2.4: a packet with another key is counted and gone: the parent's Q_Key, P_Keys of both. */
static void
test_keys(void **state)
{
	/* Places in the table 0xffff, 0x8005, 0x0005: of the sender, the parent, the ring. */
	static const struct {
		uint8_t from, parent, ring;
		bool parent_qkey, ring_qkey;
		uint32_t pkeys, qkeys;
	} row[] = {
		{0, 0, 0, true, true, 0, 0},  {1, 1, 1, true, true, 0, 0},  {1, 2, 2, true, true, 0, 0},
		{1, 1, 2, true, true, 0, 0},  {2, 1, 1, true, true, 0, 0},  {2, 2, 1, true, true, 1, 0},
		{2, 1, 2, true, true, 1, 0},  {0, 0, 1, true, true, 1, 0},  {0, 1, 0, true, true, 1, 0},
		{1, 1, 1, false, true, 0, 1}, {1, 1, 1, true, false, 0, 1}, {1, 1, 0, true, true, 1, 0},
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct vr_qp *a, *ring, *p;
		struct vr *v;

		v = anew(state);
		for (unsigned int port = 1; port <= 2; port++) {
			memcpy(ir_mad(v, 1, 2, 0x16, 0), "\xff\xff\x80\x05\x00\x05", 6);
			assert_int_equal(ir_mad_ifc(v, port), 0);
		}
		ir_events(v);
		a = ir_qp(v, 1, MLX4_QP_ST_UD);
		ring = ir_qp(v, 2, MLX4_QP_ST_UD);
		p = parent_new(v, ring->qpn, ring->qpn, ring->qpn, 0);
		prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, row[i].from);
		prm_set(ring->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, row[i].ring);
		prm_set(p->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, row[i].parent);
		prm_set(ring->ctx, MLX4_QPC_QKEY, VR_QKEY + !row[i].ring_qkey);
		prm_set(p->ctx, MLX4_QPC_QKEY, VR_QKEY + !row[i].parent_qkey);
		vr_qp_up(v, a);
		vr_qp_up(v, ring);
		vr_qp_up(v, p);
		vr_post_recv(v, ring, VR_RW_KEY, ring->mem, 1000);
		send(v, a, p, LEN);
		if (row[i].pkeys + row[i].qkeys == 0)
			/* The completion says by which entry it came: the ring's. */
			assert_int_equal(prm_get32(vr_expect(v, ring, 1, 0), 4) & 0x7f, row[i].ring);
		else if (vr_poll_cq(v, ring) != NULL)
			fail_msg("row %u: it came", i);
		if (violations(v, PKEYS) != row[i].pkeys || violations(v, QKEYS) != row[i].qkeys)
			fail_msg("row %u: %u %u", i, violations(v, PKEYS), violations(v, QKEYS));
		card_expect_clean(v->c);
	}
}

/* IP inside IPoIB is looked at, and the packet goes to the ring of its flow: its like always to the same one, others to both. */
static void
test_flows(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *ring[4], *p;
	const uint32_t len = 4 + sizeof(frame_udp4) - 14;
	unsigned int got[4] = {0};

	for (unsigned int i = 0; i < 4; i++)
		ring[i] = ir_qp(v, 2, MLX4_QP_ST_UD);
	/* A pair of rings begins at an even number. */
	assert_int_equal(a->qpn % 2, 0);
	p = parent_new(v, ring[0]->qpn, ring[1]->qpn, ring[1]->qpn, MLX4_RSS_F_IPV4 | MLX4_RSS_F_UDP_IPV4);
	vr_qp_up(v, a);
	for (unsigned int i = 0; i < 4; i++)
		vr_qp_up(v, ring[i]);
	vr_qp_up(v, p);
	for (unsigned int i = 0; i < 10; i++)
		for (unsigned int k = 0; k < 4; k++)
			vr_post_recv(v, ring[k], VR_RW_KEY, ring[k]->mem, 1000);
	for (unsigned int i = 0; i < 18; i++) {
		uint8_t *d = vr_mem(v, a);
		unsigned int to = 4;

		memset(d, 0, 4);
		d[0] = 8;
		d[1] = i < 16 ? 0 : 6;
		memcpy(d + 4, frame_udp4 + 14, len - 4);
		/* The lowest octet of the source, by which alone the flows differ */
		d[4 + 15] = (uint8_t)(i / 2);
		send(v, a, p, len);
		for (unsigned int k = 0; k < 4; k++) {
			while (vr_poll_cq(v, ring[k]) != NULL) {
				assert_int_equal(to, 4);
				to = k;
				got[k]++;
			}
		}
	}
	assert_int_equal(got[0], 2); /* ARP */
	assert_int_equal(got[1], 8);
	assert_int_equal(got[2], 8);
	assert_int_equal(got[3], 0);
	card_expect_clean(v->c);
}

static int
none(void **state)
{
	*state = NULL;
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_a_ring_is, none, vr_down),
		cmocka_unit_test_setup_teardown(test_keys, none, vr_down),
		cmocka_unit_test_setup_teardown(test_flows, ir_up, vr_down),
	};

	return cmocka_run_group_tests_name("ib_rss", tests, NULL, NULL);
}
