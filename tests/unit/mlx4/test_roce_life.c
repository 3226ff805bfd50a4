/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * RoCE on a port of the card in time: states and their events, completion events, management datagrams, the loss of the
 * link, of the port and of the card under work, every command of a life refused once.
 */
#include <poll.h>
#include <stdlib.h>

#include "lib/roce/port/provider.h"

#include "roce_rig.h"

#define WAIT_MS 30000
#define MADS 64u

/* --- states ---------------------------------------------------------------------------------------------------- */

/* Drained: nothing is on its way any more, and the event says so. */
static void
test_drain(void **state)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1}, now;
	struct ibv_qp_init_attr init;
	struct rr_end a, b;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rr_send(&a, 0, 8, 0), 0); /* nothing to receive into: it stays on its way */
	rr_run();
	assert_int_equal(tp_roce_modify_qp(a.qp, &at, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(tp_roce_query_qp(a.qp, &now, 0, &init), 0);
	assert_int_equal(now.qp_state, IBV_QPS_SQD);
	assert_int_equal(now.sq_draining, 1);
	assert_int_equal(rr_event(0, NULL), IBV_EVENT_CLIENT_REREGISTER);
	assert_int_equal(rr_recv(&b, 0, 8), 0);
	rr_wait(1000000);
	rr_expect_event(0, IBV_EVENT_SQ_DRAINED, a.qp);
	assert_int_equal(tp_roce_query_qp(a.qp, &now, 0, &init), 0);
	assert_int_equal(now.sq_draining, 0);
	assert_int_equal(now.sq_psn, 101);
	/* Attributes that a stopped queue pair may change, and one that goes on */
	at = (struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .timeout = 12, .retry_cnt = 5, .rnr_retry = 6};
	assert_int_equal(
		tp_roce_modify_qp(a.qp, &at, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY), 0);
	rr_state(&a, IBV_QPS_RTS);
	at = (struct ibv_qp_attr){.qp_access_flags = 0, .min_rnr_timer = 3};
	assert_int_equal(tp_roce_modify_qp(b.qp, &at, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER), 0);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	/* What it does not open any more ends with an error. */
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 1, 8, &b, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_REM_INV_REQ_ERR, 0, 1);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* The first message comes before the last step: the event says that this step is due. */
static void
test_established(void **state)
{
	struct rr_end a, b;

	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	assert_int_equal(rr_recv(&b, 0, 8), 0);
	assert_int_equal(rr_send(&a, 0, 8, 0), 0);
	rr_run();
	rr_expect_event(1, IBV_EVENT_COMM_EST, b.qp);
	rr_rts(&b);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* A queue pair that fails holds no entry of the shared queue any more: the event says so. */
static void
test_last_wqe(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct rr_end b;

	rr_end(&b, 1);
	b.srq = tp_roce_create_srq(rr_pd[1], &init);
	assert_non_null(b.srq);
	rr_qp(&b, IBV_QPT_UD, NULL);
	rr_init(&b);
	rr_state(&b, IBV_QPS_ERR);
	rr_expect_event(1, IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	rr_end_free(&b);
}

/* --- completion events ----------------------------------------------------------------------------------------- */

static bool
readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static void
take_event(struct ibv_comp_channel *channel, struct ibv_cq *want)
{
	struct ibv_cq *cq;
	void *context;

	assert_true(readable(channel->fd, WAIT_MS));
	assert_int_equal(tp_roce_get_cq_event(channel, &cq, &context), 0);
	assert_ptr_equal(cq, want);
	assert_ptr_equal(context, cq->cq_context);
	tp_roce_ack_cq_events(cq, 1);
}

static void
send_n(struct rr_end *a, struct rr_end *b, unsigned int n, unsigned int flags)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(rr_recv(b, i, 8), 0);
		assert_int_equal(rr_send(a, i, 8, flags), 0);
		rr_run();
	}
}

static void
drain(struct rr_end *e)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e->cq, 1, &wc) == 1)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void
test_channel(void **state)
{
	struct ibv_modify_cq_attr moderation = {.attr_mask = IBV_CQ_ATTR_MODERATE};
	struct ibv_comp_channel *channel = tp_roce_create_comp_channel(rr_ctx[1]);
	struct rr_end a, b;
	unsigned int i;

	assert_non_null(channel);
	rr_end(&a, 0);
	rr_end(&b, 1);
	assert_int_equal(tp_roce_destroy_cq(b.cq), 0);
	b.cq = tp_roce_create_cq(rr_ctx[1], RR_CQES, &b, channel, 0);
	assert_non_null(b.cq);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	/* Not armed: nothing. Armed: once, however many come. */
	send_n(&a, &b, 1, 0);
	assert_false(readable(channel->fd, 20));
	drain(&b);
	for (i = 0; i < 10; i++) {
		assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
		rr_run();
		assert_false(readable(channel->fd, i == 0 ? 20 : 0));
		send_n(&a, &b, 3, 0);
		take_event(channel, b.cq);
		assert_false(readable(channel->fd, i == 0 ? 20 : 0));
		drain(&b);
	}
	/* For solicited ones only */
	assert_int_equal(ibv_req_notify_cq(b.cq, 1), 0);
	send_n(&a, &b, 2, 0);
	assert_false(readable(channel->fd, 20));
	send_n(&a, &b, 1, IBV_SEND_SOLICITED);
	take_event(channel, b.cq);
	drain(&a);
	drain(&b);
	/* Not before there are four */
	moderation.moderate.cq_count = 4;
	moderation.moderate.cq_period = 60000;
	assert_int_equal(tp_roce_modify_cq(b.cq, &moderation), 0);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_n(&a, &b, 3, 0);
	assert_false(readable(channel->fd, 20));
	send_n(&a, &b, 1, 0);
	take_event(channel, b.cq);
	drain(&b);
	rr_end_free(&a);
	rr_end_free(&b);
	assert_int_equal(tp_roce_destroy_comp_channel(channel), 0);
}

/* --- management datagrams -------------------------------------------------------------------------------------- */

static struct troce_mad got[MADS];
static unsigned int num_got;

/* In the library's place: what comes for QP1. */
void
troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad)
{
	got[num_got++ % MADS] = *mad;
}

static void
mad_to(struct troce_mad *mad, unsigned int from, unsigned int to, enum rr_gid gid)
{
	struct troce_dev *dev = troce_dev_of(rr_ctx[from]);
	struct ibv_gid_entry own, peer;

	memset(mad, 0, sizeof(*mad));
	assert_int_equal(tp_roce_query_gid_ex(rr_ctx[from], 1, gid, &own), 0);
	assert_int_equal(tp_roce_query_gid_ex(rr_ctx[to], 1, gid, &peer), 0);
	mad->path.smac = dev->mac;
	mad->path.dmac = troce_dev_of(rr_ctx[to])->mac;
	mad->path.sgid = own.gid;
	mad->path.dgid = peer.gid;
	mad->path.type = own.gid_type == IBV_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	mad->path.sgid_index = gid;
	mad->path.hop_limit = 7;
	mad->path.vlan = gid >= RR_VLAN_V1 ? RR_VLAN : TP_ROCE_NO_VLAN;
	mad->path.prio = 5;
	mad->remote_qpn = 1;
	rr_fill(mad->data, sizeof(mad->data), (uint8_t)gid);
}

/* There and back, by the path that the receiver is told; also to the own port. */
static void
test_mads(void **state)
{
	unsigned int gid, to;

	for (to = 0; to < 2; to++)
		for (gid = 0; gid < RR_GIDS; gid++) {
			struct troce_dev *dev = troce_dev_of(rr_ctx[0]), *peer = troce_dev_of(rr_ctx[to]);
			struct troce_mad mad, answer;

			mad_to(&mad, 0, to, gid);
			num_got = 0;
			assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
			rr_run();
			assert_int_equal(num_got, 1);
			answer = got[0];
			assert_memory_equal(answer.data, mad.data, sizeof(mad.data));
			assert_int_equal(answer.remote_qpn, 1);
			assert_memory_equal(&answer.path.dgid, &mad.path.sgid, sizeof(mad.path.sgid));
			assert_memory_equal(&answer.path.sgid, &mad.path.dgid, sizeof(mad.path.sgid));
			assert_memory_equal(&answer.path.dmac, &mad.path.smac, sizeof(mad.path.smac));
			assert_int_equal(answer.path.type, mad.path.type);
			assert_int_equal(answer.path.vlan, mad.path.vlan);
			assert_int_equal(answer.path.prio, 5); /* without a VLAN in a tag of VLAN 0 */
			answer.data[0] ^= 0xff;
			assert_int_equal(peer->prov->mad_send(peer, &answer), 0);
			rr_run();
			assert_int_equal(num_got, 2);
			assert_memory_equal(got[1].data, answer.data, sizeof(answer.data));
		}
}

/* A VLAN whose number has all of its bits, in the tag of a datagram and in what the receiver is told. */
static void
test_mad_vlan(void **state)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	struct troce_dev *dev = troce_dev_of(rr_ctx[0]);
	struct ibv_gid_entry e;
	struct troce_mad mad;
	unsigned int p, i;

	for (p = 0; p < 2; p++) {
		sa.sin_addr.s_addr = RTE_BE32(0xcb007101 + p); /* 203.0.113.1 */
		assert_int_equal(tp_roce_addr_add(rr_ctx[p], (struct sockaddr *)&sa, 24, 0xfed), 0);
	}
	mad_to(&mad, 0, 1, RR_IPV4_V2);
	for (i = RR_GIDS; tp_roce_query_gid_ex(rr_ctx[0], 1, i, &e) == 0; i++)
		if (e.gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	mad.path.sgid = e.gid;
	mad.path.sgid_index = (uint8_t)i;
	assert_int_equal(tp_roce_query_gid(rr_ctx[1], 1, (int)i, &mad.path.dgid), 0);
	mad.path.vlan = 0xfed;
	mad.path.prio = 3;
	num_got = 0;
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	rr_run();
	assert_int_equal(num_got, 1);
	assert_int_equal(got[0].path.vlan, 0xfed);
	assert_int_equal(got[0].path.prio, 3);
	assert_int_equal(got[0].path.sgid_index, i);
	/* To an address that the port has not it is for nobody, and what comes next has a buffer. */
	mad.path.dgid.raw[15] ^= 0x55;
	for (i = 0; i < 70; i++) {
		assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
		rr_run();
	}
	assert_int_equal(num_got, 1);
	mad.path.dgid.raw[15] ^= 0x55;
	assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
	rr_run();
	assert_int_equal(num_got, 2);
}

/* More than there is room for: the caller is told, the rest arrives. */
static void
test_mad_flood(void **state)
{
	struct troce_dev *dev = troce_dev_of(rr_ctx[0]);
	unsigned int round, n, sent = 0;
	struct troce_mad mad;

	mad_to(&mad, 0, 1, RR_IPV4_V2);
	num_got = 0;
	for (round = 0; round < 10; round++) {
		for (n = 0; n < 100 && dev->prov->mad_send(dev, &mad) == 0; n++)
			;
		assert_in_range(n, 8, 64);
		assert_int_equal(dev->prov->mad_send(dev, &mad), EAGAIN);
		sent += n;
		rr_run();
		assert_int_equal(num_got, sent);
	}
}

/* --- what is lost ---------------------------------------------------------------------------------------------- */

static void
test_link(void **state)
{
	struct ibv_port_attr at;

	assert_int_equal(tp_roce_query_port(rr_ctx[0], 1, &at), 0);
	assert_int_equal(at.state, IBV_PORT_ACTIVE);
	assert_int_equal(at.active_mtu, IBV_MTU_1024);
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	rr_expect_event(0, IBV_EVENT_PORT_ERR, NULL);
	assert_int_equal(tp_roce_query_port(rr_ctx[0], 1, &at), 0);
	assert_int_equal(at.state, IBV_PORT_DOWN);
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	rr_expect_event(0, IBV_EVENT_PORT_ACTIVE, NULL);
}

/* Requests under way and receives that wait, on a queue pair that shares a queue and on one that does not. */
static void
with_work(struct rr_end *a, struct rr_end *b)
{
	unsigned int i;

	rr_pair(a, b, IBV_QPT_RC, RR_IPV4_V2);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rr_recv(a, i, 8), 0);
		assert_int_equal(rr_recv(b, i, 8), 0);
	}
	rr_state(b, IBV_QPS_RESET); /* nobody answers */
	for (i = 0; i < 4; i++)
		assert_int_equal(rr_send(a, 10 + i, 8, 0), 0);
	rig_run(0);
}

/* Everything that was posted ends flushed, everything new is refused. */
static void
check_flushed(struct rr_end *a)
{
	unsigned int i;

	assert_int_equal(rr_send(a, 0, 8, 0), EIO);
	assert_int_equal(rr_recv(a, 0, 8), EIO);
	for (i = 0; i < 4; i++)
		rr_expect(a, IBV_WC_WR_FLUSH_ERR, 0, 10 + i);
	for (i = 0; i < 3; i++)
		rr_expect(a, IBV_WC_WR_FLUSH_ERR, 0, i);
	rr_no_wc(a);
	assert_int_equal(a->qp->state, IBV_QPS_ERR);
}

static void
on_status(void *arg, struct ibv_device *device, enum tp_roce_status status)
{
	unsigned int *down = arg;

	assert_non_null(device);
	*down += status == TP_ROCE_ADAPTER_DOWN;
}

/* The card dies: both ports are told, and after a reset are there again for those who open them anew. */
static void
test_dead_card(void **state)
{
	struct rte_eth_link link;
	unsigned int p, down = 0;
	struct rr_end a, b;

	assert_int_equal(tp_roce_status_register(on_status, &down), 0);
	with_work(&a, &b);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_CATAS, 0, 1, 0), 0);
	rte_eth_link_get_nowait(0, &link);
	for (p = 0; p < 2; p++)
		rr_expect_event(p, IBV_EVENT_DEVICE_FATAL, NULL);
	assert_int_equal(down, 2);
	assert_int_equal(tp_roce_status_unregister(on_status, &down), 0);
	check_flushed(&a);
	assert_null(tp_roce_create_cq(rr_ctx[0], 10, NULL, NULL, 0));
	assert_null(tp_roce_reg_mr(rr_pd[0], a.mem, 8, 0));
	for (p = 0; p < 2; p++)
		assert_int_equal(rte_eth_dev_stop((uint16_t)p), 0);
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rr_send(&a, 0, 8, 0), EIO);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_close_ports();
	for (p = 0; p < 2; p++)
		rig_start((uint16_t)p, 1, NULL);
	rr_open_ports(NULL);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rr_recv(&b, 0, 8), 0);
	assert_int_equal(rr_send(&a, 0, 8, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* One port is closed under its RoCE device; the other one goes on. */
static void
test_closed_port(void **state)
{
	struct rr_end a, b, c, d;

	with_work(&a, &b);
	rr_end(&c, 1);
	rr_end(&d, 1);
	rr_qp(&c, IBV_QPT_RC, NULL);
	rr_qp(&d, IBV_QPT_RC, NULL);
	rr_init(&c);
	rr_init(&d);
	rr_rtr(&c, &d, RR_IPV4_V2);
	rr_rtr(&d, &c, RR_IPV4_V2);
	rr_rts(&c);
	rr_rts(&d);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_close(0), 0);
	rr_expect_event(0, IBV_EVENT_DEVICE_FATAL, NULL);
	check_flushed(&a);
	rr_end_free(&a);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[0]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	rr_ctx[0] = NULL;
	assert_int_equal(rr_recv(&d, 0, 8), 0);
	assert_int_equal(rr_send(&c, 0, 8, 0), 0);
	while (tp_model_step(rig_model(1), 64) != 0)
		;
	rr_expect(&c, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_expect(&d, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	rr_end_free(&b);
	rr_end_free(&c);
	rr_end_free(&d);
}

static int
teardown_closed(void **state)
{
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[1]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[1]), 0);
	rr_ctx[1] = NULL;
	rig_no_violations(1);
	rig_unplug(RIG_DEV);
	return 0;
}

/* --- refusals -------------------------------------------------------------------------------------------------- */

/* Everything that a port can have is made and used, as far as it goes; whether all of it succeeded. */
static bool
whole_life(void)
{
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1};
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD,
					.cap = {.max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = 4}};
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	uint8_t *mem = rte_malloc(NULL, 64, 0);
	struct ibv_pd *pd = tp_roce_alloc_pd(rr_ctx[0]);
	struct ibv_mr *mr = pd == NULL ? NULL : tp_roce_reg_mr(pd, mem, 64, 0);
	struct ibv_mw *mw = pd == NULL ? NULL : tp_roce_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_cq *cq = tp_roce_create_cq(rr_ctx[0], 7, NULL, NULL, 0);
	struct ibv_srq *srq = pd == NULL ? NULL : tp_roce_create_srq(pd, &srq_init);
	bool ok = pd != NULL && mr != NULL && mw != NULL && cq != NULL && srq != NULL;
	struct ibv_qp *qp = NULL;

	init.send_cq = init.recv_cq = cq;
	init.srq = srq;
	if (ok)
		qp = tp_roce_create_qp(pd, &init);
	ok = qp != NULL &&
	     tp_roce_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0;
	at.qp_state = IBV_QPS_RTR;
	ok = ok && tp_roce_modify_qp(qp, &at, IBV_QP_STATE) == 0;
	at.qp_state = IBV_QPS_RTS;
	ok = ok && tp_roce_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
	if (ok && tp_roce_attach_mcast(qp, &group, 0) == 0)
		ok = tp_roce_detach_mcast(qp, &group, 0) == 0;
	else
		ok = false;
	at.qp_state = IBV_QPS_ERR;
	ok = ok && tp_roce_modify_qp(qp, &at, IBV_QP_STATE) == 0;
	/* What is taken back is taken back, whatever the card says. */
	if (qp != NULL && tp_roce_destroy_qp(qp) != 0)
		assert_int_equal(tp_roce_detach_mcast(qp, &group, 0) | tp_roce_destroy_qp(qp), 0);
	if (srq != NULL)
		assert_int_equal(tp_roce_destroy_srq(srq), 0);
	if (cq != NULL)
		assert_int_equal(tp_roce_destroy_cq(cq), 0);
	if (mw != NULL)
		assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	if (mr != NULL)
		assert_int_equal(tp_roce_dereg_mr(mr), 0);
	if (pd != NULL)
		assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	rte_free(mem);
	return ok;
}

static void
test_refused_commands(void **state)
{
	struct rte_pmd_mlx4_model m;
	uint64_t commands, n;
	size_t heap;

	assert_true(whole_life());
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands;
	heap = rig_heap();
	assert_true(whole_life());
	assert_int_equal(rig_heap(), heap);
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands - commands;
	assert_in_range(commands, 12, 60);
	rig_log_begin();
	for (n = 1; n <= commands; n++) {
		unsigned int lines;

		assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, (uint32_t)n, MLX4_STAT_INTERNAL_ERR),
				 0);
		whole_life();
		tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, 0, 0);
		if (rig_heap() != heap)
			fail_msg("command %u of %u refused: %zu pieces of memory are in use, wanted %zu",
				 (unsigned int)n, (unsigned int)commands, rig_heap(), heap);
		if (rte_eth_dev_is_removed(0) == 0)
			continue;
		/* It did not give back an object: it is given up, and must be reset. */
		rr_close_ports();
		assert_int_equal(rte_eth_dev_stop(0) | rte_eth_dev_stop(1) | rte_eth_dev_reset(0), 0);
		free(rig_log_end(&lines));
		rig_log_begin();
		rig_start(0, 1, NULL);
		rig_start(1, 1, NULL);
		rr_open_ports(NULL);
		assert_true(whole_life());
		heap = rig_heap();
	}
	free(rig_log_end(&(unsigned int){0}));
	assert_true(whole_life());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_drain),
		TEST(test_established),
		TEST(test_last_wqe),
		TEST(test_channel),
		TEST(test_mads),
		TEST(test_mad_vlan),
		TEST(test_mad_flood),
		TEST(test_link),
		TEST(test_dead_card),
		cmocka_unit_test_setup_teardown(test_closed_port, rr_setup, teardown_closed),
		TEST(test_refused_commands),
	};

	if (rig_eal("mlx4_roce_life", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
