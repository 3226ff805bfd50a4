/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of librdmacm: what a peer is told, what is agreed on, calls out of order, ids that wait for themselves. */
#include <errno.h>

#include <ethdev_driver.h>
#include <rte_cycles.h>

#include "lib/roce/net/net.h"
#include "lib/roce/wire/wire.h"
#include "conn.h"

static struct ibv_qp_attr
attributes(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(tp_roce_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
	return a;
}

/* --- what the peer is told ------------------------------------------------------------------------------------------ */

/* octets: of private data in such a message, but for the addresses in a request (table 106, A11.3) */
static void
told(const struct rdma_cm_event *e, const struct rdma_conn_param *p, uint32_t qpn, uint8_t octets)
{
	const struct rdma_conn_param *c = &e->param.conn;

	assert_int_equal(c->responder_resources, p->initiator_depth);
	assert_int_equal(c->initiator_depth, p->responder_resources);
	assert_int_equal(c->flow_control, p->flow_control);
	assert_int_equal(c->rnr_retry_count, p->rnr_retry_count);
	assert_int_equal(c->qp_num, qpn);
	assert_int_equal(c->private_data_len, octets);
	assert_string_equal(c->private_data, p->private_data);
}

/* Each end hears what the other one asked for, and the queue pairs have what both agreed on. */
static void
parameters(void **state)
{
	static const struct {
		uint8_t resources, depth, retry, rnr, flow, srq, qp_depth, qp_resources;
	} t[] = {
		{4, 3, 2, 1, 1, 0, 2, 1}, {1, 1, 7, 0, 0, 1, 1, 1}, {9, 0, 0, 6, 1, 0, 0, 1}, {0, 2, 1, 2, 1, 0, 2, 0}};
	struct pair *p = *state;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rdma_conn_param ask = {.responder_resources = t[i].resources,
					      .initiator_depth = t[i].depth,
					      .retry_count = t[i].retry,
					      .rnr_retry_count = t[i].rnr,
					      .flow_control = t[i].flow,
					      .private_data = "asks",
					      .private_data_len = 5},
				       answer = {.responder_resources = 2,
						 .initiator_depth = 1,
						 .flow_control = 1,
						 .rnr_retry_count = 4,
						 .private_data = "takes",
						 .private_data_len = 6};
		struct ibv_srq_init_attr si = {.attr = {.max_wr = 4, .max_sge = 1}};
		struct ibv_srq *srq = t[i].srq != 0 ? tp_roce_create_srq(p->n[0].pd, &si) : NULL;
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = p->n[0].cq,
			.recv_cq = p->n[0].cq,
			.srq = srq,
			.cap = {.max_send_wr = 16, .max_recv_wr = srq != NULL ? 0 : 16, .max_send_sge = 1}};
		struct ibv_qp_attr a;
		struct rdma_cm_event *e;
		struct conn_both c;

		c.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
		c.a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		assert_int_equal(tp_rdma_create_qp(c.a, p->n[0].pd, &init), 0);
		assert_int_equal(tp_rdma_connect(c.a, &ask), 0);
		e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
		c.b = e->id;
		told(e, &ask, c.a->qp->qp_num, 92 - 36);
		assert_int_equal(e->param.conn.retry_count, t[i].retry);
		assert_int_equal(e->param.conn.srq, t[i].srq);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		conn_with_qp(p, 1, c.b);
		assert_int_equal(tp_rdma_accept(c.b, &answer), 0);
		e = conn_expect(p, 0, RDMA_CM_EVENT_ESTABLISHED);
		answer.initiator_depth = RTE_MIN(answer.initiator_depth, t[i].resources);
		told(e, &answer, c.b->qp->qp_num, 196);
		assert_int_equal(e->param.conn.srq, 0);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		e = conn_expect(p, 1, RDMA_CM_EVENT_ESTABLISHED);
		/* The last word has private data, too, which is empty here. */
		assert_int_equal(e->param.conn.private_data_len, 224);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		/* Repetitions are those that who asks wanted; without a buffer each waits as long as its peer says. */
		a = attributes(c.a->qp);
		assert_int_equal(a.timeout, 17); /* twice the path's 0.27 s (code 16), where nobody says another */
		assert_int_equal(a.retry_cnt, t[i].retry);
		assert_int_equal(a.rnr_retry, 4);
		assert_int_equal(a.min_rnr_timer, 0); /* 655.36 ms */
		assert_int_equal(a.max_rd_atomic, t[i].qp_depth);
		assert_int_equal(a.max_dest_rd_atomic, t[i].qp_resources);
		/* The peer may read what it was told it may read. */
		assert_int_equal(
			a.qp_access_flags,
			IBV_ACCESS_REMOTE_WRITE |
				(t[i].qp_resources != 0 ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC : 0));
		assert_int_equal(a.dest_qp_num, c.b->qp->qp_num);
		/* Of the two kinds of GIDs with this address: RoCE v2's */
		assert_int_equal(a.ah_attr.grh.sgid_index, p->gid[0][PAIR_V4]);
		a = attributes(c.b->qp);
		assert_int_equal(a.retry_cnt, t[i].retry);
		assert_int_equal(a.rnr_retry, t[i].rnr);
		assert_int_equal(a.dest_qp_num, c.a->qp->qp_num);
		assert_int_equal(a.ah_attr.grh.sgid_index, p->gid[1][PAIR_V4]);
		conn_disconnected(p, &c);
		if (srq != NULL)
			assert_int_equal(tp_roce_destroy_srq(srq), 0);
	}
}

/* 12.7.34: the time for an ACK is there and back, and what the peer takes (code 15), as a power of two; 0 is no time. */
static void
ack_times(void **state)
{
	static const uint8_t t[][2] = {{0, 0},   {1, 15},  {13, 15}, {14, 16}, {15, 16},
				       {16, 17}, {17, 17}, {18, 18}, {31, 31}};
	struct pair *p = *state;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct conn_both c;

		c.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
		c.a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		assert_int_equal(tp_rdma_set_option(c.a, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
						    (void *)(uintptr_t)&t[i][0], 1),
				 0);
		conn_with_qp(p, 0, c.a);
		assert_int_equal(tp_rdma_connect(c.a, NULL), 0);
		/* It has been asked. */
		assert_int_equal(tp_rdma_connect(c.a, NULL), -1);
		assert_int_equal(errno, EINVAL);
		c.b = conn_request(p, c.l);
		conn_with_qp(p, 1, c.b);
		assert_int_equal(tp_rdma_accept(c.b, NULL), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
		conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
		assert_int_equal(pair_stat(p, 0, "cm_active"), 1);
		assert_int_equal(pair_stat(p, 1, "cm_active"), 1);
		assert_int_equal(attributes(c.a->qp).timeout, t[i][1]);
		/* The other end's is what it was asked with. */
		assert_int_equal(attributes(c.b->qp).timeout, t[i][0]);
		conn_disconnected(p, &c);
	}
}

/* Why a peer refuses, in as many octets as a message has. */
static void
refusals(void **state)
{
	static const struct {
		enum rdma_port_space ps;
		uint8_t max;
		enum rdma_cm_event_type event;
		int status;
		uint8_t len;
	} t[] = {
		{RDMA_PS_TCP, 148, RDMA_CM_EVENT_REJECTED, 28, 148},
		{RDMA_PS_TCP, 148, RDMA_CM_EVENT_REJECTED, 28, 1},
		{RDMA_PS_UDP, 136, RDMA_CM_EVENT_UNREACHABLE, 2, 136},
		{RDMA_PS_UDP, 136, RDMA_CM_EVENT_UNREACHABLE, 2, 1},
	};
	struct pair *p = *state;
	uint8_t why[149];

	for (unsigned int i = 0; i < sizeof(why); i++)
		why[i] = (uint8_t)(i + 1);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rdma_cm_id *l = conn_listening(1, t[i].ps, conn_address(PAIR_V6, 1, CONN_SERVICE), 4), *b;
		struct rdma_cm_id *a = conn_routed(p, t[i].ps, conn_address(PAIR_V6, 1, CONN_SERVICE));
		struct rdma_cm_event *e;

		conn_with_qp(p, 0, a);
		assert_int_equal(tp_rdma_connect(a, NULL), 0);
		b = conn_request(p, l);
		assert_int_equal(tp_rdma_reject(b, why, (uint8_t)(t[i].max + 1)), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(tp_rdma_reject(b, why, t[i].len), 0);
		e = conn_expect(p, 0, t[i].event);
		assert_int_equal(e->status, t[i].status);
		if (t[i].ps == RDMA_PS_TCP)
			assert_int_equal(e->param.conn.private_data_len, t[i].max);
		else
			assert_int_equal(e->param.ud.private_data_len, t[i].max);
		assert_memory_equal(t[i].ps == RDMA_PS_TCP ? e->param.conn.private_data : e->param.ud.private_data, why,
				    t[i].len);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		/* It has been answered. */
		assert_int_equal(tp_rdma_accept(b, NULL), -1);
		assert_int_equal(tp_rdma_destroy_id(b), 0);
		conn_destroy(a);
		assert_int_equal(tp_rdma_destroy_id(l), 0);
	}
	assert_int_equal(pair_stat(p, 0, "cm_sidr_initiated"), 2);
	assert_int_equal(pair_stat(p, 1, "cm_sidr_answered"), 2);
	assert_int_equal(pair_stat(p, 0, "cm_sidr_answered") + pair_stat(p, 1, "cm_sidr_initiated"), 0);
}

/* --- a word that is lost --------------------------------------------------------------------------------------------- */

/* Loses messages of one kind; QP1's have 256 octets behind 42 + 20 of headers. */
static unsigned int
lose(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod(m, const uint8_t *) + 42;

	return m->data_len < 42 + 20 + 256 || bth[0] != 0x64 || bth[12 + 8 + 17] != *(const uint8_t *)p->arg;
}

/* 12.9.8.3.1: data that comes before the peer's last word stands for it, if the application says so. */
static void
established_by_data(void **state)
{
	uint8_t rtu = 0x14;
	struct pair *p = *state;
	struct conn_both c;

	c.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
	c.a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	assert_int_equal(tp_rdma_notify(c.a, IBV_EVENT_COMM_EST), -1);
	assert_int_equal(errno, EINVAL);
	conn_with_qp(p, 0, c.a);
	assert_int_equal(tp_rdma_connect(c.a, NULL), 0);
	c.b = conn_request(p, c.l);
	assert_int_equal(tp_rdma_notify(c.b, IBV_EVENT_COMM_EST), -1);
	assert_int_equal(errno, EINVAL);
	conn_with_qp(p, 1, c.b);
	p->wire = lose;
	p->arg = &rtu;
	assert_int_equal(tp_rdma_accept(c.b, NULL), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	pair_run(p, 1);
	errno = 0;
	assert_int_equal(tp_rdma_notify(c.b, IBV_EVENT_QP_FATAL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tp_rdma_notify(c.b, IBV_EVENT_COMM_EST), 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	/* Once more is no mistake, and no news. */
	assert_int_equal(tp_rdma_notify(c.b, IBV_EVENT_COMM_EST), 0);
	conn_silence(p, 2);
	p->wire = NULL;
	conn_disconnected(p, &c);
}

/* Without mbufs messages wait, and go out in their order when there are some. */
static void
no_packets(void **state)
{
	static const char names[][7] = {"first", "second", "third"};
	struct pair *p = *state;
	struct rte_mempool *mp = troce_dev_of(p->n[0].ctx)->conf.pool;
	struct rte_mbuf **taken = calloc(mp->size + 1, sizeof(taken[0]));
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a[3], *b[3];
	unsigned int n = 0;

	assert_non_null(taken);
	for (unsigned int i = 0; i < 3; i++) {
		a[i] = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, a[i]);
	}
	while ((taken[n] = rte_pktmbuf_alloc(mp)) != NULL)
		n++;
	for (unsigned int i = 0; i < 3; i++) {
		struct rdma_conn_param ask = {.private_data = names[i], .private_data_len = sizeof(names[i])};

		assert_int_equal(tp_rdma_connect(a[i], &ask), 0);
	}
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "cm_rx"), 0);
	rte_pktmbuf_free_bulk(taken, n);
	free(taken);
	for (unsigned int i = 0; i < 3; i++) {
		struct rdma_cm_event *e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);

		b[i] = e->id;
		assert_string_equal(e->param.conn.private_data, names[i]);
		assert_int_equal(e->param.conn.qp_num, a[i]->qp->qp_num);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	}
	assert_int_equal(pair_stat(p, 0, "mads_lost"), 0);
	assert_int_equal(pair_stat(p, 1, "cm_duplicates"), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(tp_rdma_reject(b[i], NULL, 0), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
		assert_int_equal(tp_rdma_destroy_id(b[i]), 0);
		conn_destroy(a[i]);
	}
	assert_int_equal(tp_rdma_destroy_id(l), 0);
}

/* A request that its listener does not outlive gives no place back; those of others do. */
static void
orphans(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *l[2], *a[3], *b[3];

	for (unsigned int i = 0; i < 2; i++)
		l[i] = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, (uint16_t)(CONN_SERVICE + i)), 1);
	for (unsigned int i = 0; i < 2; i++) {
		a[i] = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, (uint16_t)(CONN_SERVICE + i)));
		conn_with_qp(p, 0, a[i]);
		assert_int_equal(tp_rdma_connect(a[i], NULL), 0);
		b[i] = conn_request(p, l[i]);
	}
	assert_int_equal(tp_rdma_destroy_id(l[1]), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_rdma_reject(b[i], NULL, 0), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
		assert_int_equal(tp_rdma_destroy_id(b[i]), 0);
		conn_destroy(a[i]);
	}
	/* The only place is free again. */
	a[2] = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a[2]);
	assert_int_equal(tp_rdma_connect(a[2], NULL), 0);
	b[2] = conn_request(p, l[0]);
	assert_int_equal(pair_stat(p, 1, "cm_half_open_drops"), 0);
	assert_int_equal(tp_rdma_destroy_id(b[2]), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	conn_destroy(a[2]);
	assert_int_equal(tp_rdma_destroy_id(l[0]), 0);
}

/* 16.1.3.5: what PortCounters say of the port is what the ethdev counts. */
static void
port_counters(void **state)
{
	struct pair *p = *state;
	struct troce_dev *dev = troce_dev_of(p->n[0].ctx);
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	struct troce_mad mad = {.remote_qpn = 1, .data = {1, 4, 1, 1, [17] = 0x12, [65] = 1}};
	const uint8_t *d = p->n[0].mads[0].data;
	struct rte_eth_stats before, after;

	av.grh.dgid = pair_gid(p, 1, PAIR_V4);
	av.grh.sgid_index = (uint8_t)p->gid[0][PAIR_V4];
	assert_int_equal(troce_path_resolve(dev, &av, 0, 0, &mad.path), 0);
	assert_int_equal(rte_eth_stats_get(p->n[1].port, &before), 0);
	p->n[0].num_mads = 0;
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	while (p->n[0].num_mads == 0)
		pair_step(p);
	assert_int_equal(rte_eth_stats_get(p->n[1].port, &after), 0);
	assert_int_equal(d[3], 0x81);
	assert_in_range(ib_get32(d + 64 + 32), before.opackets, after.opackets);
	assert_in_range(ib_get32(d + 64 + 36), before.ipackets + 1, after.ipackets);
	/* Rings count no octets. */
	assert_in_range(ib_get32(d + 64 + 24), before.obytes / 4, after.obytes / 4);
	/* What is of no version that there is, and what wants no answer (13.4.4, 13.4.5) */
	mad.data[0] = 2;
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	mad.data[0] = 1;
	mad.data[3] = 0x81;
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "mads_answered"), 1);
	assert_int_equal(pair_stat(p, 1, "mads_malformed"), 1);
	/* The answer to node 0 is none that wants one. */
	assert_int_equal(pair_stat(p, 1, "mads_ignored"), 2);
	assert_int_equal(pair_stat(p, 0, "mads_ignored"), 1);
}

/* --- addresses ------------------------------------------------------------------------------------------------------ */

/* A source port that is named must be free; one that is not is chosen among those of RFC 6335. */
static void
source_ports(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *bound = conn_new_id(0, RDMA_PS_TCP), *id = conn_new_id(0, RDMA_PS_TCP);

	assert_int_equal(tp_rdma_bind_addr(bound, conn_address(PAIR_V4, 0, 5001)), 0);
	errno = 0;
	assert_int_equal(tp_rdma_resolve_addr(id, conn_address(PAIR_V4, 0, 5001), conn_address(PAIR_V4, 1, 1), 1000),
			 -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, conn_address(PAIR_V4, 1, 1), 1000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_true(rte_be_to_cpu_16(tp_rdma_get_src_port(id)) >= 49152);
	/* Who is bound keeps its port. */
	assert_int_equal(tp_rdma_resolve_addr(bound, NULL, conn_address(PAIR_V4, 1, 1), 1000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(tp_rdma_get_src_port(bound), RTE_BE16(5001));
	assert_int_equal(tp_rdma_destroy_id(bound), 0);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* --- groups --------------------------------------------------------------------------------------------------------- */

static struct sockaddr *
group(uint8_t last)
{
	static struct sockaddr_in a[4];
	struct sockaddr_in *g = &a[last % 4];

	*g = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = rte_cpu_to_be_32(0xe0010200u | last)};
	return (struct sockaddr *)g;
}

static void
two_groups(void **state)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {0xff, 0x0e, [15] = 1}};
	struct pair *p = *state;
	struct rdma_cm_id *tcp = conn_new_id(0, RDMA_PS_TCP), *id = conn_new_id(0, RDMA_PS_UDP);
	uint8_t tos = 0x20;
	struct rdma_cm_event *e;

	/* Nobody joins from an address that is none. */
	assert_int_equal(tp_rdma_bind_port(id, p->n[0].ctx), 0);
	assert_int_equal(tp_rdma_join_multicast(id, group(1), NULL), -1);
	assert_int_equal(errno, EINVAL);
	/* Only datagrams have groups. */
	assert_int_equal(tp_rdma_bind_addr(tcp, conn_address(PAIR_V4, 0, 0)), 0);
	assert_int_equal(tp_rdma_join_multicast(tcp, group(1), NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tp_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_VLAN, 0, 0)), 0);
	conn_with_qp(p, 0, id);
	for (uint8_t i = 1; i <= 3; i++) {
		assert_int_equal(tp_rdma_join_multicast(id, i == 3 ? (struct sockaddr *)&v6 : group(i), &tos), 0);
		e = conn_expect(p, 0, RDMA_CM_EVENT_MULTICAST_JOIN);
		assert_ptr_equal(e->param.ud.private_data, &tos);
		assert_int_equal(e->param.ud.ah_attr.is_global, 1);
		assert_int_equal(e->param.ud.ah_attr.port_num, 1);
		assert_int_equal(e->param.ud.ah_attr.grh.traffic_class, 0x20);
		assert_int_equal(e->param.ud.ah_attr.grh.sgid_index, p->gid[0][PAIR_VLAN]);
		assert_int_equal(e->param.ud.ah_attr.grh.dgid.raw[15], i == 3 ? 1 : i);
		assert_int_equal(e->param.ud.ah_attr.grh.dgid.raw[0], i == 3 ? 0xff : 0);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	}
	errno = 0;
	assert_int_equal(tp_rdma_join_multicast(id, group(2), NULL), -1);
	assert_int_equal(errno, EADDRINUSE);
	/* One of them, and the others stay. */
	assert_int_equal(tp_rdma_leave_multicast(id, group(2)), 0);
	assert_int_equal(tp_rdma_leave_multicast(id, group(2)), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(tp_roce_detach_mcast(id->qp, &(union ibv_gid){.raw = {[10] = 0xff, 0xff, 224, 1, 2, 2}}, 0),
			 EINVAL);
	assert_int_equal(tp_rdma_leave_multicast(id, (struct sockaddr *)&v6), 0);
	assert_int_equal(tp_rdma_leave_multicast(id, group(1)), 0);
	conn_destroy(id);
	assert_int_equal(tp_rdma_destroy_id(tcp), 0);
}

/* --- the end -------------------------------------------------------------------------------------------------------- */

/* Datagrams have no end that a peer hears of: their queue pair works on. */
static void
no_end_of_datagrams(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_UDP);

	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 0, 0)), 0);
	conn_with_qp(p, 0, id);
	assert_int_equal(tp_rdma_disconnect(id), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(attributes(id->qp).qp_state, IBV_QPS_RTS);
	conn_destroy(id);
}

/* Ids of a device that failed hear of it, not those of another one, nor those that are through. */
static void
device_lost(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_TCP), *other = conn_new_id(1, RDMA_PS_TCP),
			  *any = conn_new_id(0, RDMA_PS_TCP), *done;
	struct rdma_cm_event *e;

	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 0, 0)), 0);
	assert_int_equal(tp_rdma_bind_addr(other, conn_address(PAIR_V4, 1, 0)), 0);
	done = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, done);
	assert_int_equal(tp_rdma_connect(done, NULL), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 8); /* nobody listens */
	conn_silence(p, 1);
	rte_eth_dev_callback_process(&rte_eth_devices[p->n[0].port], RTE_ETH_EVENT_INTR_RMV, NULL);
	e = conn_expect(p, 0, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_ptr_equal(e->id, id);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_silence(p, 2);
	conn_destroy(done);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	assert_int_equal(tp_rdma_destroy_id(other), 0);
	assert_int_equal(tp_rdma_destroy_id(any), 0);
}

/* --- ids that wait for themselves --------------------------------------------------------------------------------------- */

/* Ids without a channel: a call returns when what it asked for is there, and drives the ports meanwhile. */
static void
waiting(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *l, *a, *b, *req;

	assert_int_equal(tp_rdma_create_id(NULL, &a, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(tp_rdma_resolve_addr(a, NULL, conn_address(PAIR_V4, 0, CONN_SERVICE), 1000), 0);
	assert_int_equal(a->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(tp_rdma_resolve_route(a, 1000), 0);
	assert_int_equal(a->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	conn_with_qp(p, 0, a);
	/* The port itself refuses: nobody listens there. */
	errno = 0;
	assert_int_equal(tp_rdma_connect(a, NULL), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(a->event->event, RDMA_CM_EVENT_REJECTED);
	conn_destroy(a);
	/* A listener that waits gets a new id, which waits, too, and has the event of its request. */
	assert_int_equal(tp_rdma_create_id(NULL, &l, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(tp_rdma_bind_addr(l, conn_address(PAIR_V4, 0, CONN_SERVICE)), 0);
	assert_int_equal(tp_rdma_listen(l, 4), 0);
	b = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 0, CONN_SERVICE));
	/* One with a channel does not wait. */
	assert_int_equal(tp_rdma_get_request(b, &req), -1);
	assert_int_equal(errno, EINVAL);
	conn_with_qp(p, 0, b);
	assert_int_equal(tp_rdma_connect(b, NULL), 0);
	req = NULL;
	assert_int_equal(tp_rdma_get_request(l, &req), 0);
	assert_non_null(req);
	assert_ptr_not_equal(req, l);
	assert_ptr_not_equal(req->channel, l->channel);
	assert_int_equal(req->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(req->event->id, req);
	assert_ptr_equal(req->event->listen_id, l);
	assert_null(l->event);
	/* The listener may go before it. */
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	assert_int_equal(tp_rdma_reject(req, NULL, 0), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	assert_int_equal(tp_rdma_destroy_id(req), 0);
	conn_destroy(b);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		T(parameters),  T(ack_times),    T(refusals),   T(established_by_data),
		T(no_packets),  T(source_ports), T(two_groups), T(no_end_of_datagrams),
		T(device_lost), T(waiting),      T(orphans),    T(port_counters),
	};

	return cmocka_run_group_tests_name("rdma_ends", tests, NULL, NULL);
}
