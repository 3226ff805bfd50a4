/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Verbs ports of a card: what they say that they can do, by its capabilities; GIDs and VLANs in its tables; and that it gets
 * everything back.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "card_trace.h"
#include "ib_rig.h"
#include "roce_rig.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/verbs/verbs.h"

/* --- what the card can do ------------------------------------------------------------------------------------------ */

#define ALWAYS (IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT)
#define ALWAYS_ETH (IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING) /* frames of raw queue pairs */

static const struct {
	bool mw, fast, inv, csum, lso, mw2, mw2b;
	uint64_t ib, eth; /* flags beside ALWAYS */
} caps[] = {
	{false, false, false, false, false, false, false, 0, 0},
	{true, false, false, false, false, false, false, IBV_DEVICE_MEM_WINDOW, IBV_DEVICE_MEM_WINDOW},
	{false, true, false, false, false, false, false, 0, 0},
	{false, false, true, false, false, false, false, 0, 0},
	{false, true, true, false, false, false, false, IBV_DEVICE_MEM_MGT_EXTENSIONS, IBV_DEVICE_MEM_MGT_EXTENSIONS},
	{false, false, false, true, false, false, false, IBV_DEVICE_UD_IP_CSUM, 0},
	{false, false, false, true, true, false, false, IBV_DEVICE_UD_IP_CSUM | TP_ROCE_DEVICE_UD_TSO, 0},
	{false, false, false, false, true, false, false, 0, 0},
	{false, false, false, false, false, true, false, IBV_DEVICE_MEM_WINDOW_TYPE_2A, IBV_DEVICE_MEM_WINDOW_TYPE_2A},
	{false, false, false, false, false, true, true, IBV_DEVICE_MEM_WINDOW_TYPE_2B, IBV_DEVICE_MEM_WINDOW_TYPE_2B},
	{false, false, false, false, false, false, true, 0, 0},
};

static void
check_device(struct ibv_context *ctx, const struct mlx4_caps *c, uint64_t flags, bool mw)
{
	struct mlx4_roce *r = mlx4_roce_of(ctx);
	/* Pages of doorbells: those of event queues are in front. */
	const int uars = (int)(c->num_uars - RTE_MAX(128u, c->rsvd_uars));
	struct ibv_device_attr d;

	assert_int_equal(tp_roce_query_device(ctx, &d), 0);
	assert_int_equal(d.device_cap_flags, ALWAYS | flags);
	assert_int_equal(d.max_mr_size, UINT64_C(1) << 40);
	assert_int_equal(d.page_size_cap, UINT64_MAX - 0xfff);
	assert_int_equal(d.vendor_id, 0x02c9);
	assert_int_equal(d.max_qp, RTE_MIN((int)r->num_qps / 2, uars));
	assert_int_equal(d.max_cq, RTE_MIN((int)r->num_cqs, uars));
	/* 2 KiB and one block of a ring stay free [DP 4.4]; so do an entry of a CQ and of an SRQ. */
	assert_int_equal(d.max_qp_wr, c->max_qp_wqes - 33);
	assert_int_equal(d.max_cqe, c->max_cqes - 1);
	assert_int_equal(d.max_srq_wr, c->max_srq_wqes - 1);
	assert_int_equal(d.max_sge, RTE_MIN(c->max_sq_sge, c->max_rq_sge));
	assert_int_equal(d.max_srq_sge, c->max_rq_sge - 1);
	assert_int_equal(d.max_mr, r->limits.keys);
	assert_int_equal(d.max_mw, mw ? (int)r->limits.keys : 0);
	assert_int_equal(d.max_pd, r->limits.pds);
	assert_int_equal(d.max_qp_rd_atom, 16);
	assert_int_equal(d.max_qp_init_rd_atom, 16);
	assert_int_equal(d.max_res_rd_atom, 16 * d.max_qp);
	assert_int_equal(d.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(d.max_mcast_grp, 8192);
	assert_int_equal(d.max_mcast_qp_attach, c->dmfs_max_qps);
	assert_int_equal(d.max_total_mcast_qp_attach, 8192 * c->dmfs_max_qps);
	assert_int_equal(d.max_ah, 1048576);
	assert_int_equal(d.max_srq, r->num_srqs);
	assert_int_equal(d.local_ca_ack_delay, c->ack_delay);
	assert_int_equal(d.phys_port_cnt, 1);
}

static void
each_capability(bool ib)
{
	const uint64_t csum = UINT64_C(1) << 7; /* of the card's flags [DP 14.2]: checksums of IPoIB */
	struct ibv_context *ctx;
	struct mlx4_caps *c, before;
	unsigned int i;

	ctx = ib ? tp_roce_open_ib(RIG_DEV "/1", NULL) : tp_roce_open(0, NULL);
	assert_non_null(ctx);
	c = &mlx4_roce_of(ctx)->hca->caps;
	before = *c;
	assert_int_equal(tp_roce_close_device(ctx), 0);
	for (i = 0; i < RTE_DIM(caps); i++) {
		c->mw = caps[i].mw;
		c->fast_reg = caps[i].fast;
		c->local_inv = caps[i].inv;
		c->max_gso = caps[i].lso ? before.max_gso : 0;
		c->mw2 = caps[i].mw2;
		c->mw2b = caps[i].mw2b;
		c->flags = (before.flags & ~csum) | (caps[i].csum ? csum : 0);
		ctx = ib ? tp_roce_open_ib(RIG_DEV "/1", NULL) : tp_roce_open(0, NULL);
		assert_non_null(ctx);
		check_device(ctx, c, ib ? caps[i].ib : caps[i].eth | ALWAYS_ETH, caps[i].mw);
		assert_int_equal(tp_roce_close_device(ctx), 0);
	}
	*c = before;
	/* The least of what the card has each way and 16. */
	c->max_rdma_req = 8;
	ctx = ib ? tp_roce_open_ib(RIG_DEV "/1", NULL) : tp_roce_open(0, NULL);
	assert_non_null(ctx);
	assert_int_equal(troce_dev_of(ctx)->attr.max_qp_rd_atom, 8);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	*c = before;
}

static void
test_capabilities(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	each_capability(false);
	rig_close();
	rig_open("port0=ib,port1=ib,guid=0x0002c90300123450");
	each_capability(true);
	rig_unplug(RIG_DEV);
}

/* BlueFlame is for ports of either kind, where it was asked for. */
static void
test_blueflame(void **state)
{
	struct ibv_context *ctx;
	unsigned int bf;
	char args[80];

	for (bf = 0; bf < 2; bf++) {
		snprintf(args, sizeof(args), "port0=eth,port1=ib,wire0=loopback,wire1=loopback,bf=%u", bf);
		rig_open(args);
		rig_start(0, 1, NULL);
		ctx = tp_roce_open_ib(RIG_DEV "/2", NULL);
		assert_non_null(ctx);
		assert_int_equal(mlx4_roce_of(ctx)->bf, bf);
		assert_int_equal(tp_roce_close_device(ctx), 0);
		ctx = tp_roce_open(0, NULL);
		assert_non_null(ctx);
		assert_int_equal(mlx4_roce_of(ctx)->bf, bf);
		assert_int_equal(tp_roce_close_device(ctx), 0);
		rig_close();
	}
}

/* An Ethernet port: what does not change, and its link [IBA 14.2.5.6]: four lanes of 10 Gb/s. */
static void
test_ethernet_port(void **state)
{
	struct ibv_port_attr a;

	assert_int_equal(tp_roce_query_port(rr_ctx[0], 1, &a), 0);
	assert_int_equal(a.max_mtu, IBV_MTU_4096);
	assert_int_equal(a.gid_tbl_len, 128);
	assert_int_equal(a.max_msg_sz, 1u << 30);
	assert_int_equal(a.pkey_tbl_len, 1);
	assert_int_equal(a.active_width, 2);
	assert_int_equal(a.active_speed, 4);
	assert_int_equal(a.phys_state, 5);
}

/* The speed of an InfiniBand link, in the codes of verbs. */
static void
test_infiniband_speeds(void **state)
{
	static const struct {
		const char *name;
		uint8_t code;
	} t[] = {{"sdr", 1}, {"ddr", 2}, {"qdr", 4}, {"fdr10", 8}, {"fdr", 16}};
	struct ibv_port_attr a;
	char args[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		snprintf(args, sizeof(args), "ib-speed0=%s,ib-speed1=%s", t[i].name, t[i].name);
		ir_open(args);
		ir_sweep();
		assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &a), 0);
		assert_int_equal(a.active_speed, t[i].code);
		assert_int_equal(a.active_width, 2);
		assert_int_equal(a.lid, IR_LID(0));
		assert_int_equal(a.sm_lid, IR_SM_LID);
		assert_int_equal(a.active_mtu, IBV_MTU_4096);
		assert_int_equal(a.phys_state, 5);
		assert_int_equal(atomic_load(&mlx4_roce_of(ir_ctx[0])->lid), IR_LID(0));
		ir_close();
	}
}

/* RSS of datagrams: on InfiniBand, with two rings at least; UDP where the card hashes it. */
static void
test_rss(void **state)
{
	const uint32_t plain = TP_ROCE_RSS_IPV4 | TP_ROCE_RSS_TCP_IPV4 | TP_ROCE_RSS_IPV6 | TP_ROCE_RSS_TCP_IPV6;
	struct mlx4_roce *r = mlx4_roce_of(ir_ctx[0]);
	struct mlx4_caps *c = &r->hca->caps, before = *c;
	const struct troce_ib_port *ib = r->dev->ib;
	struct tp_roce_rss_caps got;

	c->max_rss = 2;
	c->udp_rss = false;
	mlx4_roce_rss_caps(r, &got);
	assert_int_equal(got.max_rings, 2);
	assert_int_equal(got.types, plain);
	c->max_rss = 256;
	c->udp_rss = true;
	mlx4_roce_rss_caps(r, &got);
	assert_int_equal(got.max_rings, 128);
	assert_int_equal(got.types, plain | TP_ROCE_RSS_UDP_IPV4 | TP_ROCE_RSS_UDP_IPV6);
	r->dev->ib = NULL;
	mlx4_roce_rss_caps(r, &got);
	r->dev->ib = ib;
	assert_int_equal(got.max_rings | got.types, 0);
	c->max_rss = 1;
	mlx4_roce_rss_caps(r, &got);
	assert_int_equal(got.max_rings | got.types, 0);
	*c = before;
}

/* --- tables of GIDs and VLANs --------------------------------------------------------------------------------------- */

static int
address(unsigned int port, bool add, uint32_t ip, uint16_t vlan)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = rte_cpu_to_be_32(ip)};

	return add ? tp_roce_addr_add(rr_ctx[port], (struct sockaddr *)&sa, 24, vlan)
		   : tp_roce_addr_del(rr_ctx[port], (struct sockaddr *)&sa);
}

static unsigned int
place_of(const struct mlx4_roce *r, uint16_t vlan)
{
	unsigned int i, at = 0;

	for (i = 0; i < 128; i++)
		if (r->vlan[i] == vlan) {
			assert_int_equal(at, 0); /* once */
			at = i;
		}
	return at;
}

/* A VLAN keeps its place as long as a GID is in it; the card is told when there is something to tell. */
static void
test_vlans(void **state)
{
	const struct mlx4_roce *r = mlx4_roce_of(rr_ctx[0]);
	struct card_trace t;
	unsigned int at, sets;

	assert_int_equal(r->vlan[0] | r->vlan[1], 0);
	assert_int_equal(r->vlan[2], MLX4_VLAN_PRIO_TAG);
	assert_int_equal(r->vlan[3], RR_VLAN);
	assert_int_equal(address(0, true, 0x0a000001, 100), 0);
	assert_int_equal(address(0, true, 0x0a000101, 200), 0);
	assert_int_equal(place_of(r, 100), 4);
	assert_int_equal(place_of(r, 200), 5);
	/* A second address in a VLAN needs no place, and no word about VLANs. */
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(address(0, true, 0x0a000102, 200), 0);
	card_trace_end(&t);
	sets = card_trace_count(&t, "SET_PORT");
	card_trace_free(&t);
	assert_int_equal(place_of(r, 200), 5);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(address(0, true, 0x0a000201, 300), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT") + card_trace_count(&t, "SET_VLAN_FLTR"), sets + 1);
	card_trace_free(&t);
	/* One goes, the others stay where they are; the next one takes its place. */
	assert_int_equal(address(0, false, 0x0a000001, 100), 0);
	assert_int_equal(place_of(r, 100), 0);
	assert_int_equal(place_of(r, 200), 5);
	assert_int_equal(address(0, false, 0x0a000101, 200), 0);
	assert_int_equal(place_of(r, 200), 5);
	assert_int_equal(address(0, true, 0x0a000301, 400), 0);
	assert_int_equal(place_of(r, 400), 4);
	at = mlx4_roce_vlan_index(r, 400);
	assert_int_equal(at, 4);
	assert_int_equal(mlx4_roce_vlan_index(r, 401), 0);
	/* What the card refuses changes nothing. */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_int_not_equal(address(0, true, 0x0a000401, 500), 0);
	assert_int_equal(place_of(r, 500), 0);
	assert_int_equal(place_of(r, 400), 4);
}

/* The table has 126 places, one of which is for priorities without a VLAN. */
static void
test_too_many_vlans(void **state)
{
	unsigned int i, lines;
	char *text;
	int rc;

	rr_open("type=cx3", NULL);
	/* One VLAN is there; of the addresses one has to go, so that the table of GIDs is not full first. */
	assert_int_equal(address(0, false, 0xc0000201, TP_ROCE_NO_VLAN), 0);
	for (i = 1; i < 125; i++)
		assert_int_equal(address(0, true, 0x0a000001 + (i << 8), (uint16_t)(1000 + i)), 0);
	assert_int_equal(place_of(mlx4_roce_of(rr_ctx[0]), 1124), 127);
	rig_log_begin();
	rc = address(0, true, 0x0b000001, 3000);
	text = rig_log_end(&lines);
	assert_int_equal(rc, ENOSPC);
	assert_non_null(strstr(text, "VLAN 3000 is one too many, the card's table has room for 125"));
	free(text);
	/* The place of one that goes is enough. */
	assert_int_equal(address(0, false, 0x0a000001 + (7u << 8), 1007), 0);
	assert_int_equal(address(0, true, 0x0b000001, 3000), 0);
	rr_close();
}

/* GIDs by their index, those of version 2 only where the card has it. */
static void
test_card_gids(void **state)
{
	struct mlx4_gid g;
	unsigned int i, p;

	for (p = 0; p < 2; p++)
		for (i = 0; i < RR_GIDS; i++) {
			struct ibv_gid_entry e;

			assert_int_equal(tp_roce_query_gid_ex(rr_ctx[p], 1, i, &e), 0);
			mlx4_port_gid_get(mlx4_roce_of(rr_ctx[p])->hca, p + 1, i, &g);
			assert_memory_equal(g.gid, e.gid.raw, 16);
			assert_int_equal(g.v2, e.gid_type == IBV_GID_TYPE_ROCE_V2);
		}
}

/* --- what is given back ---------------------------------------------------------------------------------------------- */

struct used {
	uint32_t n[7];
	size_t heap;
};

static struct used
used(const struct mlx4_hca *h)
{
	const struct mlx4_numbers *const of[] = {h->qpns, h->cqns, h->srqns, h->mpts, h->mtts, h->uars, h->pds};
	struct used u = {.heap = rig_heap()};
	unsigned int i;

	for (i = 0; i < RTE_DIM(of); i++)
		u.n[i] = mlx4_numbers_used(of[i]);
	return u;
}

static void
check_used(const char *what, const struct used *before, const struct mlx4_hca *h)
{
	const struct used now = used(h);
	unsigned int i;

	for (i = 0; i < RTE_DIM(now.n); i++)
		if (now.n[i] != before->n[i])
			fail_msg("%s: table %u has %u numbers in use, wanted %u", what, i, now.n[i], before->n[i]);
	assert_int_equal(now.heap, before->heap);
}

static void
all_objects(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_pd *pd = tp_roce_alloc_pd(rr_ctx[0]);
	struct ibv_mr *mr = tp_roce_alloc_mr(pd, 7);
	struct ibv_mw *mw = tp_roce_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_srq_attr resize = {.max_wr = 8};
	struct rr_end a;

	rr_end(&a, 0);
	a.srq = tp_roce_create_srq(rr_pd[0], &init);
	assert_non_null(a.srq);
	assert_int_equal(tp_roce_modify_srq(a.srq, &resize, IBV_SRQ_MAX_WR), EINVAL);
	rr_qp(&a, IBV_QPT_UD, NULL);
	rr_init(&a);
	assert_int_equal(tp_roce_attach_mcast(a.qp, &group, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(a.qp, &group, 0), 0);
	rr_end_free(&a);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
}

static void
test_given_back(void **state)
{
	struct mlx4_hca *hca;
	struct used open, shut;
	unsigned int i, failed = 0;
	bool started;

	rig_open("");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	hca = ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca;
	shut = used(hca);
	rr_open_ports(NULL);
	open = used(hca);
	for (i = 0; i < 3; i++) {
		all_objects();
		check_used("objects", &open, hca);
		assert_int_equal(tp_roce_capture_start(rr_ctx[0], "/dev/null", 0), 0);
		assert_int_equal(tp_roce_capture_stop(rr_ctx[0], NULL, NULL), 0);
		check_used("a capture", &open, hca);
	}
	/* Each command of a capture refused once */
	for (i = 1; i < 30; i++) {
		assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, i, MLX4_STAT_BAD_PARAM), 0);
		started = tp_roce_capture_start(rr_ctx[0], "/dev/null", 0) == 0;
		tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, 0, 0);
		failed += !started;
		if (started)
			assert_int_equal(tp_roce_capture_stop(rr_ctx[0], NULL, NULL), 0);
		check_used("a capture that failed", &open, hca);
	}
	/* Each way two steps of a completion queue or so, four of a queue pair, and a rule */
	assert_in_range(failed, 8, 20);
	check_used("captures", &open, hca);
	rr_close_ports();
	check_used("ports", &shut, hca);
	rig_close();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)
#define TEST_IB(f) cmocka_unit_test_setup_teardown(f, ir_setup_active, ir_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_blueflame),
		TEST(test_ethernet_port),
		cmocka_unit_test(test_infiniband_speeds),
		TEST_IB(test_rss),
		TEST(test_vlans),
		cmocka_unit_test(test_too_many_vlans),
		TEST(test_card_gids),
		cmocka_unit_test(test_given_back),
	};

	if (rig_eal("mlx4_verbs_port", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-verbs-port", tests, NULL, NULL);
}
