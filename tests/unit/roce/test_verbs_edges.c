/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who listens to a device, ports of InfiniBand in the list, the work of the sides, tables of rings, and limits at their very
 * border.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "lib/roce/port/front.h"

#include "verbs_qp.h"

/* --- status -------------------------------------------------------------------------------------------------- */

static struct told {
	unsigned int calls;
	struct ibv_device *device;
	enum tp_roce_status status;
} told[70];

static void
listen_to(void *arg, struct ibv_device *device, enum tp_roce_status status)
{
	struct told *t = arg;

	t->calls++;
	t->device = device;
	t->status = status;
}

static void
listen_too(void *arg, struct ibv_device *device, enum tp_roce_status status)
{
	listen_to(arg, device, status);
}

static void
test_listeners(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	memset(told, 0, sizeof(told));
	assert_int_equal(tp_roce_status_register(NULL, NULL), EINVAL);
	assert_int_equal(tp_roce_status_unregister(NULL, NULL), ENOENT);
	assert_int_equal(tp_roce_status_unregister(listen_to, &told[0]), ENOENT);
	/* A function may be there for several; each of them once. */
	assert_int_equal(tp_roce_status_register(listen_to, &told[0]), 0);
	assert_int_equal(tp_roce_status_register(listen_to, &told[0]), EEXIST);
	assert_int_equal(tp_roce_status_register(listen_to, &told[1]), 0);
	assert_int_equal(tp_roce_status_register(listen_too, &told[2]), 0);
	assert_int_equal(tp_roce_status_unregister(listen_too, &told[1]), ENOENT);

	troce_async_event(dev, IBV_EVENT_PORT_ERR, NULL);
	assert_int_equal(told[0].calls, 0);
	troce_async_event(dev, IBV_EVENT_DEVICE_FATAL, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(told[i].calls, 1);
		assert_ptr_equal(told[i].device, ctx->device);
		assert_int_equal(told[i].status, TP_ROCE_ADAPTER_DOWN);
	}
	/* The same again is no change; who is gone is not told. */
	troce_status(dev, TP_ROCE_ADAPTER_DOWN);
	assert_int_equal(tp_roce_status_unregister(listen_to, &told[0]), 0);
	assert_int_equal(tp_roce_status_unregister(listen_to, &told[0]), ENOENT);
	troce_status(dev, TP_ROCE_UP);
	assert_int_equal(told[0].calls, 1);
	assert_int_equal(told[1].calls, 2);
	assert_int_equal(told[2].calls, 2);
	assert_int_equal(told[1].status, TP_ROCE_UP);
	/* 64 of them; the place of one that is gone is used again. */
	for (unsigned int i = 3; i < 65; i++)
		assert_int_equal(tp_roce_status_register(listen_to, &told[i]), 0);
	REFUSED_INT(tp_roce_status_register(listen_to, &told[65]), ENOSPC, "64 listen to the status of devices");
	assert_int_equal(tp_roce_status_register(listen_to, &told[64]), EEXIST);
	assert_int_equal(tp_roce_status_unregister(listen_to, &told[40]), 0);
	assert_int_equal(tp_roce_status_register(listen_to, &told[65]), 0);
	for (unsigned int i = 0; i < 66; i++)
		assert_int_equal(tp_roce_status_unregister(i == 2 ? listen_too : listen_to, &told[i]),
				 i == 0 || i == 40 ? ENOENT : 0);
}

/* --- the list ------------------------------------------------------------------------------------------------- */

static unsigned int
listed(const char *name)
{
	int num = 0;
	struct ibv_device **list = tp_roce_get_device_list(&num);
	unsigned int n = 0;

	assert_non_null(list);
	for (int i = 0; i < num; i++)
		n += strcmp(list[i]->name, name) == 0;
	assert_null(list[num]);
	tp_roce_free_device_list(list);
	return n;
}

static void
test_infiniband_ports(void **state)
{
	struct troce_ib_port port = {.prov = troce_dev_of(ctx)->prov};
	unsigned int num = 0;
	const char *name;
	uint16_t id = 7;
	char last[16];
	int err;

	assert_null(troce_ib_find("ib0"));
	troce_ib_del("ib0");
	fake_reset();
	do {
		snprintf(port.name, sizeof(port.name), "ib%u", num);
		err = troce_ib_add(&port);
		if (err != 0)
			break;
		assert_int_equal(troce_ib_add(&port), EEXIST);
		assert_int_equal(listed(port.name), 1);
	} while (++num < 1000);
	assert_int_equal(err, ENOSPC);
	assert_true(num > 1);
	assert_int_equal(fake_lines(), 1);
	assert_true(fake_said("InfiniBand ports already, which is the limit"));
	assert_int_equal(listed("net_null0"), 1);
	for (unsigned int i = 0; i < num; i++) {
		const struct troce_ib_port *p;

		snprintf(last, sizeof(last), "ib%u", i);
		p = troce_ib_find(last);
		assert_non_null(p);
		assert_string_equal(troce_device_of_ib(p)->name, last);
		assert_int_equal(troce_device_target(troce_device_of_ib(p), &id, &name), 0);
		assert_string_equal(name, last);
	}
	/* A place that is free again; the others stay. */
	troce_ib_del("ib1");
	assert_null(troce_ib_find("ib1"));
	assert_int_equal(listed("ib1"), 0);
	assert_int_equal(listed("ib0"), 1);
	assert_int_equal(troce_ib_add(&port), 0);
	for (unsigned int i = 0; i <= num; i++) {
		snprintf(last, sizeof(last), "ib%u", i);
		troce_ib_del(last);
		assert_int_equal(listed(last), 0);
	}
}

/* Of the devices of ethdevs, and of nothing else, a number is known. */
static void
test_device_target(void **state)
{
	struct ibv_device *first = ctx->device - tp_roce_port_id(ctx), *end = first + RTE_MAX_ETHPORTS;
	const char *name = "x";
	uint16_t id;

	for (unsigned int i = 0; i < RTE_MAX_ETHPORTS; i++) {
		assert_int_equal(troce_device_target(first + i, &id, &name), 0);
		assert_int_equal(id, i);
		assert_null(name);
	}
	id = 77;
	/* What lies around them may be ports of InfiniBand, never one of theirs. */
	(void)troce_device_target((struct ibv_device *)((uintptr_t)first - 1), &id, &name);
	(void)troce_device_target(end, &id, &name);
	(void)troce_device_target(end + 1000, &id, &name);
	assert_int_equal(troce_device_target((struct ibv_device *)(void *)&end, &id, &name), ENODEV);
	assert_int_equal(id, 77);
}

/* --- work ----------------------------------------------------------------------------------------------------- */

static struct side {
	uint16_t takes, saw;
	unsigned int inputs, works;
} sides[TROCE_SIDES];

static uint16_t
side_input(struct side *s, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t took = RTE_MIN(s->takes, n);

	s->inputs++;
	s->saw = n;
	rte_pktmbuf_free_bulk(pkts, took);
	memmove(pkts, pkts + took, (n - took) * sizeof(*pkts));
	return (uint16_t)(n - took);
}

static uint16_t
input0(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	assert_true(now_ns != 0);
	return side_input(&sides[0], pkts, n);
}

static uint16_t
input1(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	return side_input(&sides[1], pkts, n);
}

static unsigned int
progress0(struct troce_dev *dev, uint64_t now_ns)
{
	sides[0].works++;
	return 3;
}

static unsigned int
progress1(struct troce_dev *dev, uint64_t now_ns)
{
	sides[1].works++;
	return 5;
}

/* Packets that are not the transport's are offered to one side after the other, as long as there are some. */
static void
test_sides_input(void **state)
{
	static const struct {
		uint16_t n, transport, takes[2], saw[2], left;
	} t[] = {
		{5, 1, {1, 1}, {4, 3}, 2}, {5, 0, {5, 1}, {5, 0}, 0}, {5, 5, {1, 1}, {0, 0}, 0},
		{1, 0, {0, 1}, {1, 1}, 0}, {2, 0, {0, 0}, {2, 2}, 2},
	};
	struct troce_dev *dev = troce_dev_of(ctx);
	const struct troce_side_ops *was[TROCE_SIDES] = {dev->side[0].ops, dev->side[1].ops};
	struct troce_side_ops ops[2] = {{.input = input0}, {.input = input1}};

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rte_mbuf *pkts[5], *all[5];

		memset(sides, 0, sizeof(sides));
		assert_int_equal(rte_pktmbuf_alloc_bulk(dev->conf.pool, pkts, t[i].n), 0);
		memcpy(all, pkts, sizeof(all));
		fake.take = t[i].transport;
		for (unsigned int k = 0; k < 2; k++) {
			dev->side[k].ops = &ops[k];
			sides[k].takes = t[i].takes[k];
		}
		assert_int_equal(tp_roce_input(ctx, pkts, t[i].n), t[i].left);
		for (unsigned int k = 0; k < 2; k++) {
			assert_int_equal(sides[k].inputs, t[i].saw[k] != 0);
			assert_int_equal(sides[k].saw, t[i].saw[k]);
		}
		assert_memory_equal(pkts, all + t[i].n - t[i].left, t[i].left * sizeof(pkts[0]));
		rte_pktmbuf_free_bulk(pkts, t[i].left);
	}
	dev->side[0].ops = was[0];
	dev->side[1].ops = was[1];
}

/* A side works when its time has come or when it was woken, and at no other time. */
static void
test_sides_work(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	const struct troce_side_ops *was[TROCE_SIDES] = {dev->side[0].ops, dev->side[1].ops};
	struct troce_side_ops ops[2] = {{.progress = progress0}, {.progress = progress1}};
	static const struct {
		bool due[2], woken[2];
		unsigned int done;
	} t[] = {
		{{false, false}, {false, false}, 0}, {{true, false}, {false, false}, 3},
		{{false, true}, {false, false}, 5},  {{false, false}, {true, false}, 3},
		{{false, false}, {false, true}, 5},  {{true, true}, {true, true}, 8},
	};

	dev->conf.app_rx = true; /* the ethdev has packets without end */
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		for (unsigned int k = 0; k < 2; k++) {
			dev->side[k].ops = &ops[k];
			dev->side[k].due = t[i].due[k] ? 0 : TROCE_SIDE_NEVER;
			dev->side[k].woken = t[i].woken[k];
		}
		assert_int_equal(tp_roce_progress(ctx), t[i].done);
	}
	for (unsigned int k = 0; k < 2; k++) {
		dev->side[k].ops = was[k];
		dev->side[k].due = TROCE_SIDE_NEVER;
		dev->side[k].woken = 0;
	}
}

/* --- limits --------------------------------------------------------------------------------------------------- */

/* So many of each kind as the device says, and not one more; one that is gone makes room. */
static void
test_numbers(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = FAKE_MAX_SGE}};
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};
	struct ibv_srq *srq[2];
	struct ibv_ah *ah[2];

	dev->attr.max_srq = dev->attr.max_ah = 2;
	for (unsigned int i = 0; i < 2; i++) {
		srq[i] = tp_roce_create_srq(pd, &init);
		ah[i] = tp_roce_create_ah(pd, &av);
		assert_true(srq[i] != NULL && ah[i] != NULL);
	}
	REFUSED_PTR(tp_roce_create_srq(pd, &init), ENOMEM, "there are 2 shared receive queues already, 2 is the limit");
	REFUSED_PTR(tp_roce_create_ah(pd, &av), ENOMEM, "there are 2 address handles already, 2 is the limit");
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_destroy_srq(srq[0]), 0);
		assert_int_equal(tp_roce_destroy_ah(ah[0]), 0);
		srq[0] = tp_roce_create_srq(pd, &init);
		ah[0] = tp_roce_create_ah(pd, &av);
		assert_true(srq[0] != NULL && ah[0] != NULL);
	}
	/* What the home does not give up stays. */
	fake_reset();
	fake.fail_op = "destroy_ah";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_destroy_ah(ah[0]), EIO);
	fake.fail_op = "destroy_srq";
	assert_int_equal(tp_roce_destroy_srq(srq[0]), EIO);
	REFUSED_PTR(tp_roce_create_ah(pd, &av), ENOMEM, "there are 2 address handles");
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_destroy_srq(srq[i]), 0);
		assert_int_equal(tp_roce_destroy_ah(ah[i]), 0);
	}
	dev->attr.max_srq = dev->attr.max_ah = 100;
	init.attr.max_wr = FAKE_MAX_WR;
	srq[0] = tp_roce_create_srq(pd, &init);
	assert_non_null(srq[0]);
	assert_int_equal(tp_roce_destroy_srq(srq[0]), 0);
	init.attr.max_wr = 8;
	init.attr.max_sge = FAKE_MAX_SGE + 1;
	REFUSED_PTR(tp_roce_create_srq(pd, &init), EINVAL, "max_sge 9 of a shared receive queue is not in 0..8");
	init.attr.max_sge = 0;
	init.attr.max_wr = FAKE_MAX_WR + 1;
	REFUSED_PTR(tp_roce_create_srq(pd, &init), EINVAL, "max_wr 501 of a shared receive queue is not in 1..500");
}

/* What is made and destroyed leaves no memory behind, nor does what fails. */
static void
test_memory(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};
	static const char *const ops[] = {NULL, "alloc_pd", "create_cq", "create_srq", "create_qp", "create_ah"};
	int numa = troce_dev_of(ctx)->numa_node < 0 ? 0 : troce_dev_of(ctx)->numa_node;
	struct rte_malloc_socket_stats before, after;

	assert_int_equal(rte_malloc_get_socket_stats(numa, &before), 0);
	for (unsigned int i = 0; i < RTE_DIM(ops); i++) {
		struct ibv_qp_init_attr qi = init_of(IBV_QPT_RC);
		struct ibv_srq *srq;
		struct ibv_ah *ah;
		struct ibv_pd *mine;
		struct ibv_cq *c;
		struct ibv_qp *qp;

		fake_reset();
		fake.fail_op = ops[i];
		fake.fail_err = EIO;
		mine = tp_roce_alloc_pd(ctx);
		c = tp_roce_create_cq(ctx, 4, NULL, NULL, 0);
		srq = tp_roce_create_srq(pd, &init);
		qp = tp_roce_create_qp(pd, &qi);
		ah = tp_roce_create_ah(pd, &av);
		assert_int_equal((mine == NULL) + (c == NULL) + (srq == NULL) + (qp == NULL) + (ah == NULL), i != 0);
		fake_reset();
		assert_int_equal(
			(mine != NULL ? tp_roce_dealloc_pd(mine) : 0) | (c != NULL ? tp_roce_destroy_cq(c) : 0) |
				(srq != NULL ? tp_roce_destroy_srq(srq) : 0) |
				(qp != NULL ? tp_roce_destroy_qp(qp) : 0) | (ah != NULL ? tp_roce_destroy_ah(ah) : 0),
			0);
	}
	assert_int_equal(rte_malloc_get_socket_stats(numa, &after), 0);
	assert_int_equal(after.alloc_count, before.alloc_count);
}

/* A path is that of the last address vector: what is modified without one leaves it as it is. */
static void
test_path_stays(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_RESET, IBV_QPS_INIT);

	assert_int_equal(tp_roce_modify_qp(qp, &a, INIT_RC), 0);
	a = good(IBV_QPS_INIT, IBV_QPS_RTR);
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(fake.path.dmac.addr_bytes[5], 9);
	a = good(IBV_QPS_RTR, IBV_QPS_RTS);
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTS_RC), 0);
	assert_int_equal(fake.path.dmac.addr_bytes[5], 9);
	assert_int_equal(inner(qp)->path.dmac.addr_bytes[5], 9);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* Groups: the MAC is made of the GID both times; on InfiniBand LIDs are those of groups (4.1.3). */
static void
test_groups(void **state)
{
	static const struct {
		uint8_t first;
		uint16_t lid;
		bool good;
	} t[] = {{0xff, 0xc000, true},
		 {0xff, 0xfffe, true},
		 {0xff, 0xbfff, false},
		 {0xff, 0xffff, false},
		 {0xfe, 0xc000, false}};
	union ibv_gid gid = {.raw = {0xff, 0x0e, [12] = 1, 2, 3, 4}};
	const struct rte_ether_addr mac = {{0x33, 0x33, 1, 2, 3, 4}};
	struct troce_dev *dev = troce_dev_of(ctx);
	struct ibv_qp *qp = make(IBV_QPT_UD);

	fake_reset();
	assert_int_equal(tp_roce_attach_mcast(qp, &gid, 0), 0);
	assert_memory_equal(&fake.mac, &mac, 6);
	fake_reset();
	assert_int_equal(tp_roce_detach_mcast(qp, &gid, 0), 0);
	assert_memory_equal(&fake.mac, &mac, 6);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		int rc;

		fake_reset();
		gid.raw[0] = t[i].first;
		dev->ib = &(const struct troce_ib_port){.prov = dev->prov};
		rc = tp_roce_attach_mcast(qp, &gid, t[i].lid);
		dev->ib = NULL;
		assert_int_equal(rc, t[i].good ? 0 : EINVAL);
		assert_int_equal(fake.calls, t[i].good);
		if (t[i].good)
			assert_int_equal(tp_roce_detach_mcast(qp, &gid, t[i].lid), 0);
	}
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* --- tables of rings -------------------------------------------------------------------------------------------- */

static void
test_tables(void **state)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = tp_roce_create_srq(pd, &init);
	struct tp_roce_ring rings[16];
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 5};
	struct tp_roce_table *table;
	unsigned int qps = dev->qps;

	for (unsigned int i = 0; i < RTE_DIM(rings); i++)
		rings[i] = (struct tp_roce_ring){.cq = cq, .srq = srq};
	for (dev->rss.max_rings = 0; dev->rss.max_rings < 2; dev->rss.max_rings++) {
		REFUSED_PTR(tp_roce_create_table(pd, rings, 2), EOPNOTSUPP,
			    "provider fake has no RSS of datagrams here");
		REFUSED_PTR(tp_roce_create_parent(pd, cq), EOPNOTSUPP, "provider fake has no RSS of datagrams here");
	}
	dev->rss.max_rings = 8;
	for (uint32_t n = 0; n <= 16; n++) {
		fake_reset();
		if (n == 2 || n == 4 || n == 8) {
			table = tp_roce_create_table(pd, rings, n);
			assert_non_null(table);
			assert_int_equal(dev->qps, qps + n);
			assert_int_equal(fake.calls, 1 + n);
			assert_int_equal(tp_roce_destroy_table(table), 0);
			assert_int_equal(fake.calls, 1 + 2 * n);
			assert_int_equal(dev->qps, qps);
		} else {
			REFUSED_PTR(tp_roce_create_table(pd, rings, n), EINVAL, "wanted a power of two in 2..8");
		}
	}
	rings[3].cq = NULL;
	REFUSED_PTR(tp_roce_create_table(pd, rings, 4), EINVAL, "ring 3 needs a completion queue");
	rings[3].cq = cq;
	rings[2].srq = NULL;
	REFUSED_PTR(tp_roce_create_table(pd, rings, 4), EINVAL, "ring 2 needs a shared receive queue");
	rings[2].srq = srq;
	/* No numbers; then the third queue pair fails: its number and the next go back, with two queue pairs. */
	fake_reset();
	fake.fail_op = "reserve_qpns";
	fake.fail_err = ENOSPC;
	assert_null(tp_roce_create_table(pd, rings, 4));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(fake.calls, 1);
	fake_reset();
	fake.fail_op = "create_qp";
	fake.fail_err = EIO;
	fake.fail_after = 2;
	assert_null(tp_roce_create_table(pd, rings, 4));
	assert_int_equal(errno, EIO);
	assert_string_equal(fake.last_op, "release_qpns");
	assert_int_equal(fake.qpns_back, 0x4002);
	assert_int_equal(fake.num_qpns_back, 2);
	assert_int_equal(fake.calls, 1 + 3 + 2 + 1);
	assert_int_equal(dev->qps, qps);
	/* All are modified, up to the first that fails. */
	fake_reset();
	table = tp_roce_create_table(pd, rings, 4);
	fake_reset();
	fake.fail_op = "modify_qp";
	fake.fail_err = EIO;
	fake.fail_after = 2;
	assert_int_equal(
		tp_roce_modify_table(table, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), EIO);
	assert_int_equal(fake.calls, 3);
	fake_reset();
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(tp_roce_modify_table(table, &attr, IBV_QP_STATE), 0);
	assert_int_equal(fake.calls, 4);
	assert_int_equal(tp_roce_destroy_table(table), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
}

static void
test_parents(void **state)
{
	static const uint8_t key[TP_ROCE_RSS_KEY] = {1, 2, 3, [TP_ROCE_RSS_KEY - 1] = 9}, other[TP_ROCE_RSS_KEY] = {7};
	struct troce_dev *dev = troce_dev_of(ctx);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = tp_roce_create_srq(pd, &init);
	struct tp_roce_ring rings[2] = {{.cq = cq, .srq = srq}, {.cq = cq, .srq = srq}};
	struct ibv_qp *plain = make(IBV_QPT_UD), *parent;
	struct tp_roce_rss_caps caps;
	struct tp_roce_table *a, *b;
	struct troce_qp *qp;

	dev->rss.max_rings = 2;
	dev->rss.types = 5;
	tp_roce_query_rss(ctx, &caps);
	assert_int_equal(caps.max_rings, 2);
	assert_int_equal(caps.types, 5);
	a = tp_roce_create_table(pd, rings, 2);
	b = tp_roce_create_table(pd, rings, 2);
	parent = tp_roce_create_parent(pd, cq);
	assert_true(a != NULL && b != NULL && parent != NULL);
	qp = (struct troce_qp *)parent;
	REFUSED_INT(tp_roce_set_table(plain, a, key, 1), EINVAL, "is no parent");
	REFUSED_INT(tp_roce_set_table(parent, a, key, 2), EINVAL, "types 0x2, the port has 0x5");
	qp->v.state = IBV_QPS_INIT;
	REFUSED_INT(tp_roce_set_table(parent, a, key, 1), EINVAL, "gets a table in state 1, wanted 0 (RESET)");
	qp->v.state = IBV_QPS_RESET;
	assert_int_equal(tp_roce_set_table(parent, a, key, 5), 0);
	assert_memory_equal(qp->rss_key, key, sizeof(key));
	assert_int_equal(qp->rss_types, 5);
	assert_ptr_equal(qp->table, a);
	REFUSED_INT(tp_roce_destroy_table(a), EBUSY, "is that of 1 parent(s)");
	/* Another one; none keeps the key. */
	assert_int_equal(tp_roce_set_table(parent, b, other, 1), 0);
	assert_int_equal(tp_roce_destroy_table(a), 0);
	REFUSED_INT(tp_roce_destroy_table(b), EBUSY, "is that of 1 parent(s)");
	assert_int_equal(tp_roce_set_table(parent, NULL, NULL, 0), 0);
	assert_null(qp->table);
	assert_memory_equal(qp->rss_key, other, sizeof(other));
	assert_int_equal(tp_roce_destroy_table(b), 0);
	assert_int_equal(tp_roce_destroy_qp(parent), 0);
	assert_int_equal(tp_roce_destroy_qp(plain), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_listeners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_infiniband_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_target, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sides_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sides_work, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_path_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parents, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_edges", tests, NULL, NULL);
}
