/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports: what they can be opened with, what they say of themselves, their work, what is left at the end, threads. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "fake.h"

static void
test_list(void **state)
{
	struct ibv_device **list, **again;
	struct ibv_context *ctx;
	int num = -1;

	fake_reset();
	list = tp_roce_get_device_list(&num);
	assert_non_null(list);
	assert_int_equal(num, 1); /* the other ethdev is served by nobody */
	assert_string_equal(list[0]->name, "net_null0");
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IB);
	assert_null(list[1]);
	again = tp_roce_get_device_list(NULL);
	assert_ptr_equal(again[0], list[0]);
	ctx = tp_roce_open_device(list[0]);
	assert_non_null(ctx);
	tp_roce_free_device_list(list);
	tp_roce_free_device_list(again);
	assert_string_equal(ctx->device->name, "net_null0");
	assert_int_equal(tp_roce_port_id(ctx), fake_port);
	assert_string_equal(tp_roce_provider_name(ctx), "fake");
	fake_close(ctx);

	assert_null(tp_roce_open_device((struct ibv_device *)&num));
	assert_int_equal(errno, ENODEV);
}

static void
test_open(void **state)
{
	struct tp_roce_conf c = {.provider = "fake"};
	struct ibv_context *ctx;
	uint16_t other;

	fake_reset();
	ctx = fake_open(&c);
	REFUSED_PTR(tp_roce_open(fake_port, NULL), EBUSY, "is open already");
	fake_close(ctx);
	REFUSED_PTR(tp_roce_open(999, NULL), ENODEV, "port 999: no such port");
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null1", &other), 0);
	REFUSED_PTR(tp_roce_open(other, NULL), ENODEV, "no provider serves it");
	c.provider = "mlx5";
	REFUSED_PTR(tp_roce_open(fake_port, &c), ENODEV, "no provider mlx5 serves it");

	assert_int_equal(rte_eth_dev_stop(fake_port), 0);
	REFUSED_PTR(tp_roce_open(fake_port, NULL), EINVAL, "is not started");
	assert_int_equal(rte_eth_dev_start(fake_port), 0);
}

/* One field of the configuration: the last good value, and one that is refused. */
#define CONF(field, ok, bad, words)                                                                                    \
	do {                                                                                                           \
		struct tp_roce_conf c = {.field = (ok)};                                                               \
		fake_reset();                                                                                          \
		fake.fit = 4096;                                                                                       \
		ctx = fake_open(&c);                                                                                   \
		assert_int_equal(troce_dev_of(ctx)->conf.field, (ok));                                                 \
		fake_close(ctx);                                                                                       \
		c.field = (bad);                                                                                       \
		REFUSED_PTR(tp_roce_open(fake_port, &c), EINVAL, words);                                               \
	} while (0)

static void
test_conf(void **state)
{
	const struct tp_roce_conf *got;
	struct ibv_context *ctx;

	/* all zero: the defaults */
	fake_reset();
	ctx = fake_open(NULL);
	got = &troce_dev_of(ctx)->conf;
	assert_int_equal(got->udp_port, 4791);
	assert_int_equal(got->ttl, 16);
	assert_int_equal(got->netdev_ms, 3000);
	assert_int_equal(got->mtu, 1024);
	assert_non_null(got->pool);
	assert_int_equal(tp_roce_mode_get(ctx), TP_ROCE_V2);
	fake_close(ctx);

	CONF(rx_queue, 1, 2, "rx_queue 2 is not in 0..1");
	CONF(tx_queue, 1, 2, "tx_queue 2 is not in 0..1");
	CONF(mode, TP_ROCE_OFF, 4, "mode 4 is not in 0..3");
	CONF(prio, 7, 8, "prio 8 is not in 0..7");
	CONF(dscp, 63, 64, "dscp 64 is not in 0..63");
	CONF(netdev_ms, 10000, 10001, "netdev_ms 10001 is not in 1..10000");
	CONF(netdev_ms, TP_ROCE_NO_GID_POLL, TP_ROCE_NO_GID_POLL - 1, "netdev_ms 4294967294 is not in 1..10000");
	CONF(mtu, 4096, 1025, "mtu 1025 is none of 256, 512, 1024, 2048, 4096");
	CONF(mtu, 256, 128, "mtu 128 is none of");
	CONF(lanes, 1, 17, "lanes 17 is not in 1..16");
	CONF(lanes, 1, 3, "lanes 3 is no power of two");
	REFUSED_PTR(tp_roce_open(fake_port, &(struct tp_roce_conf){.lanes = 2}), ENOTSUP,
		    "has one lane, 2 are asked for");
}

/* The fields of one octet, or two, have no wrong value; an MTU must fit the port's. */
static void
test_conf_mtu(void **state)
{
	struct tp_roce_conf c = {.mtu = 2048, .udp_port = 1021, .ttl = 255};
	struct ibv_port_attr attr;
	struct ibv_context *ctx;

	REFUSED_PTR(tp_roce_open(fake_port, &c), EINVAL,
		    "mtu 2048 does not fit the port's 1500; the largest that does is 1024");
	c.mtu = 512;
	fake_reset();
	ctx = fake_open(&c);
	assert_int_equal(troce_dev_of(ctx)->conf.udp_port, 1021);
	assert_int_equal(troce_dev_of(ctx)->conf.ttl, 255);
	assert_int_equal(tp_roce_query_port(ctx, 1, &attr), 0);
	assert_int_equal(attr.active_mtu, IBV_MTU_512);
	fake_close(ctx);
	fake_reset();
	fake.fit = 0;
	assert_null(tp_roce_open(fake_port, NULL));
	assert_int_equal(errno, EINVAL);
	assert_true(fake_said("is too small for RoCE"));
}

/* Each step of opening fails: all before it is taken back, and the port can be opened afterwards. */
static void
test_open_fails(void **state)
{
	static const struct {
		const char *step;
		unsigned int calls; /* until the end: those before it, itself, what is taken back */
	} steps[] = {{"open", 1}, {"net_init", 3}, {"cm_init", 5}};

	for (unsigned int i = 0; i < RTE_DIM(steps); i++) {
		fake_reset();
		fake.fail_op = steps[i].step;
		fake.fail_err = ENOSPC;
		assert_null(tp_roce_open(fake_port, NULL));
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(fake.calls, steps[i].calls);
		assert_string_equal(fake.last_op, i == 0 ? "open" : "close");
		fake_reset();
		fake_close(fake_open(NULL));
	}
}

/* the home lacks the mode; there is a line and an event. */
static void
test_fallback(void **state)
{
	struct ibv_async_event e;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC};

	fake_reset();
	fake.best = TP_ROCE_V1;
	ctx = fake_open(NULL);
	assert_int_equal(tp_roce_mode_get(ctx), TP_ROCE_V1);
	assert_int_equal(fake_lines(), 1);
	assert_true(fake_said("provider fake has no RoCE v2, the port uses v1"));
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_GID_CHANGE);
	fake_close(ctx);

	fake_reset();
	fake.best = TP_ROCE_OFF;
	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	cq = tp_roce_create_cq(ctx, 1, NULL, NULL, 0);
	a.send_cq = a.recv_cq = cq;
	REFUSED_PTR(tp_roce_create_qp(pd, &a), ENOTSUP, "RoCE is off");
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
}

static void
test_query(void **state)
{
	struct ibv_device_attr d;
	struct ibv_port_attr p;
	struct rte_ether_addr mac;
	struct ibv_context *ctx;
	const uint8_t *guid = (const uint8_t *)&d.node_guid;
	__be16 pkey = 0;

	fake_reset();
	ctx = fake_open(NULL);
	assert_int_equal(tp_roce_query_device(ctx, &d), 0);
	assert_int_equal(d.max_qp_wr, FAKE_MAX_WR);
	assert_int_equal(d.phys_port_cnt, 1);
	rte_eth_macaddr_get(fake_port, &mac);
	assert_memory_equal(guid, mac.addr_bytes, 3);
	assert_memory_equal(guid + 3, "\xff\xfe", 2);
	assert_memory_equal(guid + 5, mac.addr_bytes + 3, 3);
	assert_int_equal(tp_roce_query_port(ctx, 1, &p), 0);
	assert_int_equal(p.state, IBV_PORT_DOWN); /* what the home says */
	assert_int_equal(p.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(p.gid_tbl_len, TP_ROCE_GIDS);
	assert_int_equal(p.pkey_tbl_len, 1);
	assert_int_equal(p.max_msg_sz, 0x80000000);
	REFUSED_INT(tp_roce_query_port(ctx, 2, &p), EINVAL, "port number 2 is not 1");
	REFUSED_INT(tp_roce_query_port(ctx, 0, &p), EINVAL, "port number 0 is not 1");
	assert_int_equal(tp_roce_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	REFUSED_INT(tp_roce_query_pkey(ctx, 1, 1, &pkey), EINVAL, "there is no P_Key 1");
	REFUSED_INT(tp_roce_query_pkey(ctx, 2, 0, &pkey), EINVAL, "of port number 2");
	fake_close(ctx);
}

/* --- the port's work -------------------------------------------------------------------------------------------- */

static uint16_t rest_got;

static void
take_rest(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	*(uint16_t *)arg += n;
	rte_pktmbuf_free_bulk(pkts, n);
}

static void
find_stat(void *arg, const char *name, uint64_t value)
{
	if (strcmp(name, "rx_not_roce_freed") == 0)
		*(uint64_t *)arg = value;
	else if (strcmp(name, "fake_counter") == 0)
		assert_int_equal(value, 42);
}

static void
test_rest(void **state)
{
	struct tp_roce_conf c = {.rest = take_rest, .rest_arg = &rest_got};
	struct rte_mempool *pool = rte_mempool_lookup("rx");
	unsigned int have = rte_mempool_avail_count(pool);
	struct rte_mbuf *pkts[8];
	struct ibv_context *ctx;
	uint64_t freed = 0;

	/* the ethdev gives 32 packets a burst; 5 are the transport's */
	fake_reset();
	ctx = fake_open(&c);
	fake.take = 5;
	assert_int_equal(tp_roce_progress(ctx), 32);
	assert_int_equal(rest_got, 27);
	assert_int_equal(fake.progressed, 1);
	fake.take = 32;
	assert_int_equal(tp_roce_progress(ctx), 32);
	assert_int_equal(rest_got, 27);
	fake_close(ctx);

	/* without a taker they are freed and counted */
	ctx = fake_open(NULL);
	fake.take = 2;
	assert_int_equal(tp_roce_progress(ctx), 32);
	assert_int_equal(tp_roce_stats(ctx, find_stat, &freed), 0);
	assert_int_equal(freed, 30);
	fake_close(ctx);

	/* the application polls: it shows its bursts, and keeps what is left */
	c.app_rx = true;
	ctx = fake_open(&c);
	assert_int_equal(rte_eth_rx_burst(fake_port, 0, pkts, 8), 8);
	fake.take = 3;
	assert_int_equal(tp_roce_input(ctx, pkts, 8), 5);
	rte_pktmbuf_free_bulk(pkts, 5);
	fake.progressed = 0;
	assert_int_equal(tp_roce_progress(ctx), 0);
	assert_int_equal(fake.progressed, 1);
	fake_close(ctx);
	assert_int_equal(rte_mempool_avail_count(pool), have);
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

static void
test_left(void **state)
{
	struct ibv_comp_channel *ch;
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	fake_reset();
	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	ch = tp_roce_create_comp_channel(ctx);
	REFUSED_INT(tp_roce_close_device(ctx), EBUSY, "0 MW, 1 PD, 1 channels");
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	REFUSED_INT(tp_roce_close_device(ctx), EBUSY, "0 PD, 1 channels");
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
	fake_reset();
	assert_int_equal(tp_roce_close_device(ctx), 0);
	assert_string_equal(fake.last_op, "close");
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

#define ROUNDS 400u

static struct ibv_context *shared;
static atomic_uint failures;

/* Everything that can be made, made and destroyed, beside three others that do the same. */
static void *
make_all(void *arg)
{
	static const struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	static uint8_t memory[64];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_pd *pd = tp_roce_alloc_pd(shared);
		struct ibv_cq *cq = tp_roce_create_cq(shared, 1, NULL, NULL, 0);
		struct ibv_srq_init_attr si = {.attr = {.max_wr = 1}};
		struct ibv_srq *srq = tp_roce_create_srq(pd, &si);
		struct ibv_qp_init_attr qi = {.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq, .srq = srq};
		struct ibv_qp *qp = tp_roce_create_qp(pd, &qi);
		struct ibv_mr *mr = tp_roce_reg_mr(pd, memory, sizeof(memory), 0);
		struct ibv_ah *ah = tp_roce_create_ah(pd, (struct ibv_ah_attr *)(uintptr_t)&av);
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = i};
		int rc = tp_roce_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

		rc |= tp_roce_query_qp(qp, &a, 0, &qi);
		rc |= a.qkey != i;
		troce_async_event(troce_dev_of(shared), IBV_EVENT_COMM_EST, qp);
		rc |= tp_roce_destroy_ah(ah) | tp_roce_dereg_mr(mr) | tp_roce_destroy_qp(qp);
		rc |= tp_roce_destroy_srq(srq) | tp_roce_destroy_cq(cq) | tp_roce_dealloc_pd(pd);
		if (rc != 0)
			atomic_fetch_add(&failures, 1);
	}
	return NULL;
}

static void
test_threads(void **state)
{
	pthread_t t[4];

	fake_reset();
	shared = fake_open(NULL);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, make_all, NULL), 0);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&failures), 0);
	assert_int_equal(poll(&(struct pollfd){.fd = shared->async_fd, .events = POLLIN}, 1, 0), 0);
	fake_close(shared);
}

/* Ports are opened and closed by several threads: one at a time has it. */
static void *
open_close(void *arg)
{
	unsigned int had = 0;

	while (had < 20) {
		struct ibv_context *ctx = tp_roce_open(fake_port, NULL);

		if (ctx == NULL) {
			if (errno != EBUSY)
				atomic_fetch_add(&failures, 1);
			usleep(50);
			continue;
		}
		had++;
		if (tp_roce_close_device(ctx) != 0)
			atomic_fetch_add(&failures, 1);
	}
	return NULL;
}

static void
test_open_threads(void **state)
{
	pthread_t t[3];

	fake_reset();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, open_close, NULL), 0);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&failures), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),     cmocka_unit_test(test_open),         cmocka_unit_test(test_conf),
		cmocka_unit_test(test_conf_mtu), cmocka_unit_test(test_open_fails),   cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_query),    cmocka_unit_test(test_rest),         cmocka_unit_test(test_left),
		cmocka_unit_test(test_threads),  cmocka_unit_test(test_open_threads),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_port", tests, NULL, NULL);
}
