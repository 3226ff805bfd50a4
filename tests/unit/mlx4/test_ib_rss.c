/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RSS of InfiniBand's datagrams, against the vectors that Microsoft publishes for the Toeplitz hash. */
#include <arpa/inet.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "lib/reta/toeplitz_vectors.h"
#include "ib_rig.h"

#define RINGS 8u
#define QUEUES 3u /* rings share them */
#define BUFFER 512u
#define BUFFERS 8u
#define ENCAP 4u /* of IPoIB (RFC 4391) */
#define ALL                                                                                                            \
	(TP_ROCE_RSS_IPV4 | TP_ROCE_RSS_TCP_IPV4 | TP_ROCE_RSS_UDP_IPV4 | TP_ROCE_RSS_IPV6 | TP_ROCE_RSS_TCP_IPV6 |    \
	 TP_ROCE_RSS_UDP_IPV6)
#define MLID 0xc005u
#define PKEY2 0x8123u
#define TCP 6u
#define UDP 17u
#define ICMP 1u

/* The receiving side: rings that share queues, as an indirection table has them. */
static struct {
	struct ibv_cq *cq[QUEUES];
	struct ibv_srq *srq[QUEUES];
	struct ibv_mr *mr;
	uint8_t *mem;
	struct tp_roce_table *table;
	struct ibv_qp *parent;
	struct ir_end from;
	struct ibv_ah *ah;
} rss;

static void
queues_open(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = BUFFERS, .max_sge = 1}};
	struct ibv_recv_wr *bad;
	unsigned int q, i;

	rss.mem = rte_zmalloc(NULL, QUEUES * BUFFERS * BUFFER, RTE_CACHE_LINE_SIZE);
	assert_non_null(rss.mem);
	rss.mr = tp_roce_reg_mr(ir_pd[1], rss.mem, QUEUES * BUFFERS * BUFFER, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(rss.mr);
	for (q = 0; q < QUEUES; q++) {
		rss.cq[q] = tp_roce_create_cq(ir_ctx[1], 2 * BUFFERS, NULL, NULL, 0);
		rss.srq[q] = tp_roce_create_srq(ir_pd[1], &init);
		assert_non_null(rss.cq[q]);
		assert_non_null(rss.srq[q]);
		for (i = 0; i < BUFFERS; i++) {
			struct ibv_sge sge = {.addr = (uintptr_t)rss.mem + (q * BUFFERS + i) * BUFFER,
					      .length = BUFFER,
					      .lkey = rss.mr->lkey};
			struct ibv_recv_wr wr = {.wr_id = q * BUFFERS + i, .sg_list = &sge, .num_sge = 1};

			if (ibv_post_srq_recv(rss.srq[q], &wr, &bad) != 0)
				fail_msg("buffer %u of %u is refused", i, BUFFERS);
		}
	}
}

static void
repost(uint64_t id)
{
	struct ibv_sge sge = {.addr = (uintptr_t)rss.mem + id * BUFFER, .length = BUFFER, .lkey = rss.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_srq_recv(rss.srq[id / BUFFERS], &wr, &bad), 0);
}

static struct tp_roce_table *
table_new(uint32_t rings, unsigned int shift)
{
	struct tp_roce_ring r[RINGS];
	unsigned int i;

	for (i = 0; i < rings; i++)
		r[i] = (struct tp_roce_ring){rss.cq[(i + shift) % QUEUES], rss.srq[(i + shift) % QUEUES]};
	return tp_roce_create_table(ir_pd[1], r, rings);
}

static const struct {
	enum ibv_qp_state to;
	int mask;
} steps[] = {
	{IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	{IBV_QPS_RTR, IBV_QP_STATE},
	{IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
};

static void
table_rts(struct tp_roce_table *t, uint16_t pkey_index, uint32_t qkey)
{
	struct ibv_qp_attr a = {.pkey_index = pkey_index, .port_num = 1, .qkey = qkey};
	unsigned int i;

	for (i = 0; i < RTE_DIM(steps); i++) {
		a.qp_state = steps[i].to;
		assert_int_equal(tp_roce_modify_table(t, &a, steps[i].mask), 0);
	}
}

static void
parent_to(enum ibv_qp_state to)
{
	struct ibv_qp_attr a = {.qp_state = to};

	assert_int_equal(tp_roce_modify_qp(rss.parent, &a, IBV_QP_STATE), 0);
}

static void
parent_rts(uint16_t pkey_index, uint32_t qkey)
{
	struct ibv_qp_attr a = {.pkey_index = pkey_index, .port_num = 1, .qkey = qkey};
	unsigned int i;

	for (i = 0; i < RTE_DIM(steps); i++) {
		a.qp_state = steps[i].to;
		assert_int_equal(tp_roce_modify_qp(rss.parent, &a, steps[i].mask), 0);
	}
}

static int
setup(void **state)
{
	struct ibv_ah_attr av;
	int ret = ir_setup_active(state);

	queues_open();
	rss.table = table_new(RINGS, 0);
	rss.parent = tp_roce_create_parent(ir_pd[1], rss.cq[0]);
	assert_non_null(rss.table);
	assert_non_null(rss.parent);
	table_rts(rss.table, 0, IR_QKEY);
	assert_int_equal(tp_roce_set_table(rss.parent, rss.table, toeplitz_key, ALL), 0);
	parent_rts(0, IR_QKEY);
	ir_end(&rss.from, 0, IBV_QPT_UD);
	ir_rts(&rss.from, 0, NULL, 0);
	ir_av(&av, 1, false);
	rss.ah = tp_roce_create_ah(ir_pd[0], &av);
	assert_non_null(rss.ah);
	return ret;
}

static void
count(void *arg, uint64_t id)
{
	uint32_t *seen = arg;

	assert_true(id < QUEUES * BUFFERS && (*seen >> id & 1) == 0);
	*seen |= 1u << id;
}

static int
teardown(void **state)
{
	uint32_t seen = 0;
	unsigned int q;

	assert_int_equal(tp_roce_destroy_ah(rss.ah), 0);
	ir_end_free(&rss.from);
	assert_int_equal(tp_roce_recall_srq(rss.srq[0], count, &seen), EBUSY);
	assert_int_equal(tp_roce_destroy_table(rss.table), EBUSY);
	assert_int_equal(tp_roce_destroy_qp(rss.parent), 0);
	assert_int_equal(tp_roce_destroy_table(rss.table), 0);
	for (q = 0; q < QUEUES; q++) {
		assert_int_equal(tp_roce_recall_srq(rss.srq[q], count, &seen), 0);
		assert_int_equal(tp_roce_destroy_srq(rss.srq[q]), 0);
		assert_int_equal(tp_roce_destroy_cq(rss.cq[q]), 0);
	}
	/* Every buffer that was posted and not received into comes back, once. */
	assert_int_equal(seen, (1u << QUEUES * BUFFERS) - 1);
	assert_int_equal(tp_roce_dereg_mr(rss.mr), 0);
	rte_free(rss.mem);
	return ir_teardown(state);
}

/* A packet of vector v in the sender's memory; its length. */
static uint32_t
build(unsigned int v, uint8_t proto)
{
	bool v6 = strchr(toeplitz_vec[v].src, ':') != NULL;
	uint8_t *d = rss.from.mem, *ip = d + ENCAP, *l4 = ip + (v6 ? 40 : 20);
	rte_be16_t port[2] = {rte_cpu_to_be_16(toeplitz_vec[v].sport), rte_cpu_to_be_16(toeplitz_vec[v].dport)};

	memset(d, 0, 128);
	memcpy(d, v6 ? "\x86\xdd" : "\x08\x00", 2);
	if (v6) {
		ip[0] = 0x60;
		ip[5] = 40;
		ip[6] = proto;
		assert_int_equal(inet_pton(AF_INET6, toeplitz_vec[v].src, ip + 8), 1);
		assert_int_equal(inet_pton(AF_INET6, toeplitz_vec[v].dst, ip + 24), 1);
	} else {
		ip[0] = 0x45;
		ip[3] = 60;
		ip[9] = proto;
		assert_int_equal(inet_pton(AF_INET, toeplitz_vec[v].src, ip + 12), 1);
		assert_int_equal(inet_pton(AF_INET, toeplitz_vec[v].dst, ip + 16), 1);
	}
	memcpy(l4, port, sizeof(port));
	l4[12] = 0x50;
	l4[5] = 40; /* of UDP */
	return (uint32_t)(l4 - d) + 40;
}

static void
post(uint32_t qpn, uint32_t qkey, uint32_t len, struct ibv_ah *ah)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = qkey}};

	ir_send(&rss.from, &wr, 0, len);
	assert_int_equal(ir_wc(&rss.from).opcode, IBV_WC_SEND);
}

/* What came, to which queue; -1: nothing did. */
static int
received(uint32_t len, struct ibv_wc *wc)
{
	int q, at = -1;

	for (q = 0; q < (int)QUEUES; q++) {
		int n = ibv_poll_cq(rss.cq[q], 1, wc);

		assert_true(n == 0 || at < 0);
		if (n == 0)
			continue;
		at = q;
		assert_int_equal(wc->status, IBV_WC_SUCCESS);
		assert_int_equal(wc->opcode, IBV_WC_RECV);
		assert_int_equal(wc->wr_id / BUFFERS, q);
		/* Room for a GRH in front, whether there is one or not. */
		assert_int_equal(wc->byte_len, len + IR_GRH);
		assert_memory_equal(rss.mem + wc->wr_id * BUFFER + IR_GRH, rss.from.mem, len);
		assert_int_equal(wc->src_qp, rss.from.qp->qp_num);
		assert_int_equal(wc->slid, IR_LID(0));
		repost(wc->wr_id);
		for (int i = q + 1; i < (int)QUEUES; i++) {
			struct ibv_wc other;

			assert_int_equal(ibv_poll_cq(rss.cq[i], 1, &other), 0);
		}
		break;
	}
	return at;
}

/* The ring is told by the number of the queue pair that has received. */
static void
expect(unsigned int v, uint8_t proto, uint32_t hash, unsigned int shift)
{
	uint32_t len = build(v, proto), ring = hash & (RINGS - 1);
	struct ibv_wc wc;
	int q;

	post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
	q = received(len, &wc);
	if (q != (int)((ring + shift) % QUEUES) || wc.qp_num % RINGS != ring)
		fail_msg("vector %u of protocol %u came to queue %d by 0x%x, not to %u by ring %u", v, proto, q,
			 wc.qp_num, (ring + shift) % QUEUES, ring);
	assert_int_not_equal(wc.qp_num, rss.parent->qp_num);
	assert_int_equal(wc.wc_flags & IBV_WC_GRH, 0);
}

static void
table_change(unsigned int shift, uint32_t types)
{
	struct tp_roce_table *t = table_new(RINGS, shift);

	assert_non_null(t);
	table_rts(t, 0, IR_QKEY);
	parent_to(IBV_QPS_RESET);
	assert_int_equal(tp_roce_set_table(rss.parent, t, toeplitz_key, types), 0);
	parent_rts(0, IR_QKEY);
	assert_int_equal(tp_roce_destroy_table(rss.table), 0);
	rss.table = t;
}

static void
test_vectors(void **state)
{
	unsigned int v;

	for (v = 0; v < RTE_DIM(toeplitz_vec); v++) {
		expect(v, TCP, toeplitz_vec[v].l4, 0);
		expect(v, UDP, toeplitz_vec[v].l4, 0);
		expect(v, ICMP, toeplitz_vec[v].ip, 0);
	}
}

/* The same number, another table and other types. */
static void
test_change(void **state)
{
	uint32_t qpn = rss.parent->qp_num;
	unsigned int v;

	table_change(1, TP_ROCE_RSS_IPV4 | TP_ROCE_RSS_TCP_IPV6);
	assert_int_equal(rss.parent->qp_num, qpn);
	for (v = 0; v < RTE_DIM(toeplitz_vec); v++) {
		bool v6 = strchr(toeplitz_vec[v].src, ':') != NULL;

		expect(v, TCP, v6 ? toeplitz_vec[v].l4 : toeplitz_vec[v].ip, 1);
		expect(v, UDP, v6 ? 0 : toeplitz_vec[v].ip, 1);
	}
	table_change(2, ALL);
	for (v = 0; v < RTE_DIM(toeplitz_vec); v++)
		expect(v, UDP, toeplitz_vec[v].l4, 2);
}

/* What is not hashed goes to ring 0: ARP, what is no IP at all. A fragment has addresses. */
static void
test_default(void **state)
{
	static const uint8_t heads[][ENCAP] = {{0x08, 0x06}, {0x86, 0xdd}, {0x08, 0x00, 0, 1}, {0x08, 0x00}};
	struct ibv_wc wc;
	unsigned int i;
	uint32_t len;

	for (i = 0; i < RTE_DIM(heads); i++) {
		uint32_t ring = i == 3 ? toeplitz_vec[4].ip & (RINGS - 1) : 0;

		len = build(4, TCP);
		memcpy(rss.from.mem, heads[i], ENCAP);
		if (i == 3)
			rss.from.mem[ENCAP + 6] = 0x20;
		post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
		if (received(len, &wc) != (int)(ring % QUEUES) || wc.qp_num % RINGS != ring)
			fail_msg("packet %u came by queue pair 0x%x", i, wc.qp_num);
	}
	for (len = 1; len < ENCAP + 20; len++) {
		build(4, TCP);
		post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
		assert_int_equal(received(len, &wc), 0);
	}
}

static void
test_group(void **state)
{
	union ibv_gid gid = {.raw = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 5}};
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	unsigned int v;
	uint32_t len;

	ir_av(&av, 1, true);
	av.dlid = MLID;
	av.grh.dgid = gid;
	ah = tp_roce_create_ah(ir_pd[0], &av);
	assert_non_null(ah);
	len = build(0, UDP);
	post(0xffffff, IR_QKEY, len, ah);
	assert_int_equal(received(len, &wc), -1);
	assert_int_equal(tp_roce_attach_mcast(rss.parent, &gid, MLID), 0);
	for (v = 0; v < RTE_DIM(toeplitz_vec); v++) {
		len = build(v, UDP);
		post(0xffffff, IR_QKEY, len, ah);
		assert_int_equal(received(len, &wc), (toeplitz_vec[v].l4 & (RINGS - 1)) % QUEUES);
		assert_int_not_equal(wc.wc_flags & IBV_WC_GRH, 0);
	}
	assert_int_equal(tp_roce_destroy_qp(rss.parent), EBUSY);
	/* It stays in the group while it gets another table. */
	table_change(1, ALL);
	len = build(0, UDP);
	post(0xffffff, IR_QKEY, len, ah);
	assert_int_equal(received(len, &wc), ((toeplitz_vec[0].l4 & (RINGS - 1)) + 1) % QUEUES);
	assert_int_equal(tp_roce_detach_mcast(rss.parent, &gid, MLID), 0);
	post(0xffffff, IR_QKEY, len, ah);
	assert_int_equal(received(len, &wc), -1);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
}

/* Keys of both must fit: the parent's, and the ring's. */
static void
test_keys(void **state)
{
	uint32_t len = build(0, TCP);
	struct tp_roce_table *t;
	struct ibv_wc wc;
	unsigned int i;

	post(rss.parent->qp_num, IR_QKEY + 1, len, rss.ah);
	assert_int_equal(received(len, &wc), -1);
	ir_set_pkey(1, 1, PKEY2);
	for (i = 0; i < 4; i++) {
		t = table_new(RINGS, 0);
		assert_non_null(t);
		table_rts(t, i == 0, i == 1 ? IR_QKEY + 1 : IR_QKEY);
		parent_to(IBV_QPS_RESET);
		assert_int_equal(tp_roce_set_table(rss.parent, t, toeplitz_key, ALL), 0);
		parent_rts(i == 2, i == 3 ? IR_QKEY + 1 : IR_QKEY);
		assert_int_equal(tp_roce_destroy_table(rss.table), 0);
		rss.table = t;
		len = build(0, TCP);
		post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
		if (received(len, &wc) != -1)
			fail_msg("case %u was received", i);
	}
	table_change(0, ALL);
	expect(0, TCP, toeplitz_vec[0].l4, 0);
}

/* Who is addressed while it has no table hears nothing; a ring can be addressed by its own number. */
static void
test_states(void **state)
{
	uint32_t len = build(0, TCP), ring;
	struct ibv_wc wc;

	expect(0, TCP, toeplitz_vec[0].l4, 0);
	post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
	assert_int_equal(received(len, &wc), (toeplitz_vec[0].l4 & (RINGS - 1)) % QUEUES);
	ring = wc.qp_num - (toeplitz_vec[0].l4 & (RINGS - 1));
	post(ring + 1, IR_QKEY, len, rss.ah);
	assert_int_equal(received(len, &wc), 1);
	parent_to(IBV_QPS_RESET);
	post(rss.parent->qp_num, IR_QKEY, len, rss.ah);
	assert_int_equal(received(len, &wc), -1);
	parent_rts(0, IR_QKEY);
	expect(0, TCP, toeplitz_vec[0].l4, 0);
}

static void
test_refusals(void **state)
{
	struct tp_roce_ring r[RINGS] = {{rss.cq[0], rss.srq[0]}, {rss.cq[0], NULL}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct tp_roce_rss_caps caps;
	struct ibv_qp *alone;

	tp_roce_query_rss(ir_ctx[1], &caps);
	assert_int_equal(caps.max_rings, 128);
	assert_int_equal(caps.types, ALL);
	assert_null(tp_roce_create_table(ir_pd[1], r, 2));
	assert_int_equal(errno, EINVAL);
	assert_null(tp_roce_create_table(ir_pd[1], r, 1));
	assert_null(tp_roce_create_table(ir_pd[1], r, 3));
	assert_null(tp_roce_create_table(ir_pd[1], r, 256));
	assert_int_equal(errno, EINVAL);
	alone = tp_roce_create_parent(ir_pd[1], rss.cq[0]);
	assert_non_null(alone);
	assert_int_equal(tp_roce_modify_qp(alone, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
			 EINVAL);
	assert_int_equal(tp_roce_set_table(alone, rss.table, toeplitz_key, 1u << 6), EINVAL);
	assert_int_equal(tp_roce_set_table(rss.parent, rss.table, toeplitz_key, ALL), EINVAL);
	assert_int_equal(tp_roce_set_table(rss.from.qp, rss.table, toeplitz_key, ALL), EINVAL);
	assert_int_not_equal(ibv_post_send(rss.parent, &wr, &bad), 0);
	/* Two parents of one table, and one that goes while the other needs it. */
	assert_int_equal(tp_roce_set_table(alone, rss.table, toeplitz_key, ALL), 0);
	assert_int_equal(tp_roce_destroy_qp(alone), 0);
	assert_int_equal(tp_roce_destroy_table(rss.table), EBUSY);
	expect(0, TCP, toeplitz_vec[0].l4, 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vectors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_default, setup, teardown),
		cmocka_unit_test_setup_teardown(test_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
	};

	if (rig_eal("ut-ib-rss", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-ib-rss", tests, NULL, NULL);
}
