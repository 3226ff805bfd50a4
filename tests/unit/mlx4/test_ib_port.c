/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand ports of a card: how they are found and opened, what they tell of themselves, and their life beside Ethernet ports. */
#include "ib_rig.h"
#include "drivers/mlx4/verbs/verbs.h"
#include "report/rte_pmd_mlx4_report.h"

#define ONE "guid=0x0002c90300123450"
#define NAME1 RIG_DEV "/1"
#define NAME2 RIG_DEV "/2"

static struct ibv_device *
listed(struct ibv_device **list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcmp((*list)->name, name) == 0)
			return *list;
	return NULL;
}

/* --- finding and opening --------------------------------------------------------------------------------------- */

static void
test_list(void **state)
{
	struct ibv_device **list;
	struct ibv_context *ctx;
	int n;

	rig_open("port0=eth,port1=ib," ONE);
	list = tp_roce_get_device_list(&n);
	assert_non_null(list);
	assert_int_equal(n, 2);
	assert_non_null(listed(list, "net_mlx4_model0_p0"));
	assert_null(listed(list, NAME1));
	assert_non_null(listed(list, NAME2));
	ctx = tp_roce_open_device(listed(list, NAME2));
	assert_non_null(ctx);
	assert_ptr_equal(ctx->device, listed(list, NAME2));
	assert_int_equal(tp_roce_port_id(ctx), RTE_MAX_ETHPORTS);
	assert_string_equal(tp_roce_provider_name(ctx), "mlx4");
	tp_roce_free_device_list(list);
	errno = 0;
	assert_null(tp_roce_open_ib(NAME2, NULL));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	errno = 0;
	assert_null(tp_roce_open_ib(NAME1, NULL));
	assert_int_equal(errno, ENODEV);
	errno = 0;
	assert_null(tp_roce_open_ib(NAME2, &(struct tp_roce_conf){.provider = "sw"}));
	assert_int_equal(errno, ENODEV);
	ctx = tp_roce_open_ib(NAME2, &(struct tp_roce_conf){.provider = "mlx4"});
	assert_non_null(ctx);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	rig_unplug(RIG_DEV);
	list = tp_roce_get_device_list(&n);
	assert_int_equal(n, 0);
	tp_roce_free_device_list(list);
}

static struct rte_pmd_mlx4_resource
resource(const char *port, const char *name)
{
	struct rte_pmd_mlx4_resource list[RTE_PMD_MLX4_RESOURCES];
	int n = rte_pmd_mlx4_ib_resources_get(port, list, RTE_DIM(list)), i;

	for (i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return list[i];
	fail_msg("no %s of %s", name, port);
	return list[0];
}

/* What is in use of a card without Ethernet ports, as the card counts it, and by which port. */
static void
test_resources(void **state)
{
	struct tp_model_stats before, now;
	uint32_t cqs, pds;
	struct ibv_cq *cq;
	struct ibv_pd *pd;

	ir_open("");
	tp_model_get_stats(ir_model(), &before);
	cqs = resource(NAME2, "completion-queues").port_used;
	pds = resource(NAME2, "protection-domains").port_used;
	assert_int_equal(resource(NAME1, "completion-queues").used, before.cqs);
	assert_int_equal(resource(NAME1, "event-queues").used, before.eqs);
	assert_int_equal(resource(NAME1, "memory-keys").used, before.mpts);
	pd = tp_roce_alloc_pd(ir_ctx[1]);
	cq = tp_roce_create_cq(ir_ctx[1], 10, NULL, NULL, 0);
	assert_true(pd != NULL && cq != NULL);
	tp_model_get_stats(ir_model(), &now);
	assert_int_equal(now.cqs, before.cqs + 1);
	assert_int_equal(resource(NAME1, "completion-queues").used, now.cqs);
	assert_int_equal(resource(NAME2, "completion-queues").port_used, cqs + 1);
	assert_int_equal(resource(NAME2, "protection-domains").port_used, pds + 1);
	assert_int_equal(resource(NAME1, "protection-domains").used, resource(NAME2, "protection-domains").used);
	assert_int_equal(tp_roce_destroy_cq(cq) | tp_roce_dealloc_pd(pd), 0);
	assert_int_equal(resource(NAME2, "completion-queues").port_used, cqs);
	assert_int_equal(rte_pmd_mlx4_ib_resources_get(RIG_DEV "/3", NULL, 0), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_ib_resources_get(NULL, NULL, 0), -EINVAL);
	ir_close();
}

/* A card without an Ethernet port; what it had is given back, however often it comes and goes. */
static void
test_again(void **state)
{
	size_t before = 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		ir_open("");
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		ir_close();
		if (i == 0)
			before = rig_heap();
	}
	assert_int_equal(rig_heap(), before);
}

/* The Ethernet port of a card works beside its InfiniBand port, and each may go first. */
static void
test_beside(void **state)
{
	struct tp_roce_conf off = {.mode = TP_ROCE_OFF};
	struct ibv_port_attr a;
	struct ibv_context *eth, *ib;

	rig_open("port0=eth,port1=ib,wire0=loopback,wire1=loopback," ONE);
	assert_int_equal(rte_eth_dev_count_avail(), 1);
	rig_start(0, 1, NULL);
	ib = tp_roce_open_ib(NAME2, NULL);
	assert_non_null(ib);
	eth = tp_roce_open(0, NULL);
	assert_non_null(eth);
	assert_int_equal(tp_roce_query_port(eth, 1, &a), 0);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(tp_roce_query_port(ib, 1, &a), 0);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_INFINIBAND);
	rig_run(0);
	tp_roce_progress(ib);
	tp_roce_progress(eth);
	assert_int_equal(tp_roce_close_device(eth), 0);
	/* V-1: port 1 cannot be without RoCE while port 2 is InfiniBand. */
	eth = tp_roce_open(0, &off);
	assert_non_null(eth);
	assert_int_equal(tp_roce_mode_get(eth), TP_ROCE_V1);
	assert_int_equal(tp_roce_close_device(eth), 0);
	rig_no_violations(0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_close(0), 0);
	/* The card is there for the other port. */
	assert_int_equal(tp_roce_query_port(ib, 1, &a), 0);
	assert_int_equal(tp_roce_close_device(ib), 0);
	rig_unplug(RIG_DEV);
}

/* The card is unplugged under an open port: what is open is told, and can be closed. */
static void
test_unplug(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = 1};
	struct ibv_port_attr a;
	struct ibv_context *ctx;
	union ibv_gid gid;
	struct ibv_pd *pd;
	__be16 pkey;

	rig_open("port0=ib,port1=ib," ONE);
	ctx = tp_roce_open_ib(NAME1, NULL);
	assert_non_null(ctx);
	pd = tp_roce_alloc_pd(ctx);
	assert_non_null(pd);
	rig_unplug(RIG_DEV);
	ir_ctx[0] = ctx;
	ir_expect_event(0, IBV_EVENT_DEVICE_FATAL);
	ir_ctx[0] = NULL;
	assert_int_equal(tp_roce_query_port(ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_DOWN);
	assert_int_equal(tp_roce_query_pkey(ctx, 1, 0, &pkey), EIO);
	assert_int_equal(tp_mad_port_send(ctx, &p), EIO);
	assert_int_equal(tp_mad_port_caps(ctx, 2, 0), EIO);
	tp_roce_progress(ctx);
	(void)tp_roce_query_gid(ctx, 1, 0, &gid);
	/* The name is free for the same card again, while the old one is still open. */
	rig_open("port0=ib,port1=ib," ONE);
	ir_ctx[1] = tp_roce_open_ib(NAME1, NULL);
	assert_non_null(ir_ctx[1]);
	assert_ptr_not_equal(ir_ctx[1], ctx);
	assert_int_equal(tp_roce_close_device(ir_ctx[1]), 0);
	ir_ctx[1] = NULL;
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	rig_unplug(RIG_DEV);
}

/* --- what it tells --------------------------------------------------------------------------------------------- */

static void
test_report(void **state)
{
	struct ibv_device_attr d;
	struct ibv_gid_entry e;
	struct ibv_port_attr a;
	union ibv_gid gid;
	unsigned int p;
	__be16 pkey;

	for (p = 0; p < IR_PORTS; p++) {
		assert_int_equal(tp_roce_query_device(ir_ctx[p], &d), 0);
		assert_int_equal(rte_be_to_cpu_64(d.node_guid), IR_GUID);
		assert_int_equal(rte_be_to_cpu_64(d.sys_image_guid), IR_GUID + 3);
		assert_int_equal(d.vendor_part_id, 0x1007);
		assert_string_equal(d.fw_ver, "2.42.5000");
		assert_int_equal(d.phys_port_cnt, 1);
		assert_int_equal(d.max_pkeys, 128);
		assert_int_equal(tp_roce_query_port(ir_ctx[p], 1, &a), 0);
		assert_int_equal(a.link_layer, IBV_LINK_LAYER_INFINIBAND);
		assert_int_equal(a.max_mtu, IBV_MTU_4096);
		assert_int_equal(a.pkey_tbl_len, 128);
		assert_in_range(a.gid_tbl_len, 1, 128);
		assert_int_equal(a.active_width, 2); /* 4X */
		assert_int_equal(tp_roce_query_gid(ir_ctx[p], 1, 0, &gid), 0);
		assert_int_equal(rte_be_to_cpu_64(gid.global.subnet_prefix), UINT64_C(0xfe80000000000000));
		assert_int_equal(rte_be_to_cpu_64(gid.global.interface_id), IR_GUID + 1 + p);
		assert_int_equal(tp_roce_query_gid_ex(ir_ctx[p], 1, 0, &e), 0);
		assert_int_equal(e.gid_type, IBV_GID_TYPE_IB);
		assert_int_equal(tp_roce_query_gid_ex(ir_ctx[p], 1, 1, &e), ENODATA);
		assert_int_equal(tp_roce_query_gid(ir_ctx[p], 1, a.gid_tbl_len, &gid), EINVAL);
		assert_int_equal(tp_roce_query_pkey(ir_ctx[p], 1, 0, &pkey), 0);
		assert_int_equal(pkey, 0xffff);
		assert_int_equal(tp_roce_query_pkey(ir_ctx[p], 1, 1, &pkey), 0);
		assert_int_equal(pkey, 0);
		assert_int_equal(tp_roce_query_pkey(ir_ctx[p], 1, 128, &pkey), EINVAL);
		assert_int_equal(tp_roce_query_pkey(ir_ctx[p], 1, -1, &pkey), EINVAL);
	}
}

/* What only Ethernet has is refused, and address vectors are looked at. */
static void
test_refusals(void **state)
{
	static const struct ibv_ah_attr good = {.port_num = 1, .dlid = 3};
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xc0000201)};
	struct ibv_ah_attr bad[8];
	union ibv_gid gid = {.raw = {0xff, 0x12}};
	struct ir_end e;
	uint8_t mac[6];
	unsigned int i;

	assert_int_equal(tp_roce_addr_add(ir_ctx[0], (struct sockaddr *)&sa, 24, TP_ROCE_NO_VLAN), EOPNOTSUPP);
	assert_int_equal(tp_roce_addr_del(ir_ctx[0], (struct sockaddr *)&sa), EOPNOTSUPP);
	assert_int_equal(tp_roce_gateway(ir_ctx[0], NULL), EOPNOTSUPP);
	assert_int_equal(tp_roce_resolve(ir_ctx[0], 0, &gid, mac), EOPNOTSUPP);
	assert_int_equal(tp_roce_capture_start(ir_ctx[0], "/dev/null", 0), ENOTSUP);
	for (i = 0; i < RTE_DIM(bad); i++)
		bad[i] = good;
	bad[0].port_num = 2;
	bad[1].dlid = 0;
	bad[2].dlid = 0xffff;
	bad[3].sl = 16;
	bad[4].src_path_bits = 128;
	bad[5].static_rate = 19;
	bad[6].dlid = 0xc001; /* a group without a GRH */
	bad[7].is_global = 1;
	bad[7].grh.sgid_index = 200;
	for (i = 0; i < RTE_DIM(bad); i++) {
		errno = 0;
		assert_null(tp_roce_create_ah(ir_pd[0], &bad[i]));
		assert_int_equal(errno, EINVAL);
	}
	ir_end(&e, 0, IBV_QPT_UD);
	assert_int_equal(tp_roce_attach_mcast(e.qp, &gid, 0x10), EINVAL);
	assert_int_equal(tp_roce_attach_mcast(e.qp, &gid, 0xffff), EINVAL);
	gid.raw[0] = 0xfe;
	assert_int_equal(tp_roce_attach_mcast(e.qp, &gid, 0xc001), EINVAL);
	ir_end_free(&e);
}

/* --- the firmware ---------------------------------------------------------------------------------------------- */

static void
test_process(void **state)
{
	struct tp_mad_packet in = {.qpn = 0}, out;
	uint8_t mad[TP_MAD_SIZE] = {0};

	ir_smp(1, IR_GET, IR_NODE_INFO, 0, mad);
	assert_int_equal(mad[IR_DATA + 2], 1);  /* a channel adapter */
	assert_int_equal(mad[IR_DATA + 3], 2);  /* of two ports */
	assert_int_equal(mad[IR_DATA + 36], 2); /* this is the second */
	/* Not the firmware's: an answer, the subnet manager's own attribute, another class. */
	ir_smp_init(in.data, 1, IR_GET_RESP, IR_NODE_INFO, 0);
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &in, &out), ENODATA);
	ir_smp_init(in.data, 1, IR_GET, IR_SM_INFO, 0);
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &in, &out), ENODATA);
	ir_smp_init(in.data, 3, IR_GET, 0x35, 0);
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &in, &out), ENODATA);
	ir_smp_init(in.data, 1, IR_GET, IR_NODE_INFO, 0);
	in.data[0] = 9;
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &in, &out), ENODATA);
	/* A version of the class that does not exist */
	in.data[0] = 1;
	in.data[2] = 9;
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &in, &out), 0);
	assert_int_equal(out.data[3], IR_GET_RESP);
	assert_int_equal(out.data[5], 4);
}

static void
nobody(void *arg, const struct tp_mad_packet *pkt)
{
	fail_msg("a datagram of class 0x%02x came", pkt->data[1]);
}

/* One service at a time; what it may send. */
static void
test_service(void **state)
{
	struct tp_mad_packet p = {.qpn = 0, .dlid = 3};

	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), ENOTSUP);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], nobody, NULL), 0);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], nobody, NULL), EBUSY);
	p.dlid = 0;
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EINVAL);
	p = (struct tp_mad_packet){.qpn = 2, .dlid = 3};
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EINVAL);
	p = (struct tp_mad_packet){.qpn = 1, .dlid = 3, .pkey_index = 128};
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EINVAL);
	p = (struct tp_mad_packet){.qpn = 1, .dlid = 3, .sl = 16};
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EINVAL);
	p = (struct tp_mad_packet){.qpn = 1, .dlid = 3, .remote_qpn = 1u << 24};
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EINVAL);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], nobody, NULL), 0);
	/* Closing the port ends it. */
}

/* "There is a subnet manager here" comes and goes. */
static void
test_caps(void **state)
{
	struct ibv_port_attr a, b;

	assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &a), 0);
	assert_int_equal(a.port_cap_flags & IBV_PORT_SM, 0);
	assert_int_equal(tp_mad_port_caps(ir_ctx[0], IBV_PORT_SM, 0), 0);
	assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &b), 0);
	assert_int_equal(b.port_cap_flags, a.port_cap_flags | IBV_PORT_SM);
	assert_int_equal(tp_mad_port_caps(ir_ctx[0], 0, IBV_PORT_SM), 0);
	assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &b), 0);
	assert_int_equal(b.port_cap_flags, a.port_cap_flags);
}

/* --- what fails ------------------------------------------------------------------------------------------------ */

/* A life of the first port, with a service; the second one is open and unharmed. True: nothing failed. */
static bool
whole_life(void)
{
	struct ibv_context *ctx = tp_roce_open_ib(NAME1, NULL);
	struct ibv_port_attr a;
	union ibv_gid gid;
	__be16 pkey;
	bool ok;

	if (ctx == NULL)
		return false;
	ok = tp_roce_query_port(ctx, 1, &a) == 0 && tp_roce_query_gid_ex(ctx, 1, 0, &(struct ibv_gid_entry){0}) == 0 &&
	     tp_roce_query_gid(ctx, 1, 0, &gid) == 0 && tp_roce_query_pkey(ctx, 1, 0, &pkey) == 0 &&
	     tp_mad_port_caps(ctx, IBV_PORT_SM, 0) == 0 && tp_mad_port_set_input(ctx, nobody, NULL) == 0;
	tp_roce_progress(ctx);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	return ok;
}

/* The other port goes down with the card; when it is closed, too, the next one who opens a port brings the card up. */
static void
revive(void)
{
	errno = 0;
	assert_null(tp_roce_open_ib(NAME1, NULL));
	assert_int_equal(errno, EIO);
	ir_expect_event(1, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(tp_roce_dealloc_pd(ir_pd[1]), 0);
	assert_int_equal(tp_roce_close_device(ir_ctx[1]), 0);
	assert_true(whole_life());
	ir_ctx[1] = tp_roce_open_ib(NAME2, NULL);
	assert_non_null(ir_ctx[1]);
	ir_pd[1] = tp_roce_alloc_pd(ir_ctx[1]);
	assert_non_null(ir_pd[1]);
}

/* Every command of a life refused once: nothing is lost, and the next life is a whole one. */
static void
test_refused_commands(void **state)
{
	struct tp_model_stats before, after;
	struct tp_model *m = ir_model();
	unsigned int n, failed = 0, given_up = 0;
	uint64_t commands;
	size_t heap;

	assert_int_equal(tp_roce_dealloc_pd(ir_pd[0]), 0);
	assert_int_equal(tp_roce_close_device(ir_ctx[0]), 0);
	ir_ctx[0] = NULL;
	assert_true(whole_life());
	heap = rig_heap();
	tp_model_get_stats(m, &before);
	assert_true(whole_life());
	tp_model_get_stats(m, &after);
	assert_int_equal(rig_heap(), heap);
	commands = after.commands - before.commands;
	assert_in_range(commands, 20, 80);
	for (n = 1; n <= commands; n++) {
		assert_int_equal(tp_model_fault(m, TP_FAULT_STATUS, 0, n, MLX4_STAT_INTERNAL_ERR), 0);
		failed += whole_life() ? 0 : 1;
		tp_model_fault(m, TP_FAULT_STATUS, 0, 0, 0);
		if (mlx4_roce_of(ir_ctx[1])->hca->dead) {
			given_up++; /* it did not give back an object */
			revive();
			heap = rig_heap();
		}
		if (rig_heap() != heap)
			fail_msg("command %u: the heap has %zu bytes, wanted %zu", n, rig_heap(), heap);
		assert_true(whole_life());
	}
	assert_in_range(failed, 10, commands);
	assert_in_range(given_up, 4, 16);
	ir_ctx[0] = tp_roce_open_ib(NAME1, NULL);
	assert_non_null(ir_ctx[0]);
	ir_pd[0] = tp_roce_alloc_pd(ir_ctx[0]);
	assert_non_null(ir_pd[0]);
}

/* An Ethernet port has none of that. */
static void
test_ethernet(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .dlid = 1}, out;
	struct ibv_context *ctx;

	rig_open("");
	rig_start(0, 1, NULL);
	ctx = tp_roce_open(0, NULL);
	assert_non_null(ctx);
	assert_int_equal(tp_mad_port_send(ctx, &p), ENOTSUP);
	assert_int_equal(tp_mad_port_process(ctx, &p, &out), ENOTSUP);
	assert_int_equal(tp_mad_port_set_input(ctx, nobody, NULL), ENOTSUP);
	assert_int_equal(tp_mad_port_caps(ctx, 1, 0), ENOTSUP);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_unplug),
		cmocka_unit_test_setup_teardown(test_report, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_process, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_service, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_caps, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_refused_commands, ir_setup, ir_teardown),
		cmocka_unit_test(test_ethernet),
	};

	if (rig_eal("ut-ib-port", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("mlx4-ib-port", tests, NULL, NULL);
}
