/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card tells of verbs objects, entry by entry of its event queue: which event the application gets, of which object,
 * and that nothing comes for numbers that are nobody's. And what a port that lost its card still does.
 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>

#include <rte_alarm.h>

#include "card_trace.h"
#include "ib_rig.h"
#include "roce_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

/* Event types of the card [CP 9.3]. */
#define EQ_COMM_EST 0x02u
#define EQ_CQ_ERROR 0x04u
#define EQ_CATAS 0x08u
#define EQ_PORT_CHANGE 0x09u
#define EQ_PORT_MNG 0x1du

/* As the event queue has it: a number at 4 (24 bits), the rest by rows. */
static void
tell_of(struct ibv_context *ctx, uint64_t seq, uint8_t type, uint8_t subtype, uint32_t number, uint32_t dword8,
	uint32_t dwordc)
{
	struct mlx4_roce *r = mlx4_roce_of(ctx);
	rte_be32_t eqe[8] = {rte_cpu_to_be_32((uint32_t)type << 16 | subtype), rte_cpu_to_be_32(number),
			     rte_cpu_to_be_32(dword8), rte_cpu_to_be_32(dwordc)};
	const struct mlx4_async_event e = {.eqe = (const uint8_t *)eqe, .seq = seq, .type = type};

	r->hca->event[r->port - 1][MLX4_CLIENT_ROCE].fn(r->hca, r->port, &e,
							r->hca->event[r->port - 1][MLX4_CLIENT_ROCE].arg);
}

/* The card's newest event. */
static void
tell(struct ibv_context *ctx, uint8_t type, uint8_t subtype, uint32_t number, uint32_t dword8, uint32_t dwordc)
{
	tell_of(ctx, mlx4_events_seq(mlx4_roce_of(ctx)->hca), type, subtype, number, dword8, dwordc);
}

/* The only event that waits; no: none does. */
static void
only_event(struct ibv_context *ctx, enum ibv_event_type type, const void *object)
{
	struct pollfd fd = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	if (e.event_type != type)
		fail_msg("event %d, wanted %d", e.event_type, type);
	if (object != NULL)
		assert_ptr_equal(e.element.qp, object);
	tp_roce_ack_async_event(&e);
	assert_int_equal(poll(&fd, 1, 0), 0);
}

static void
no_event(struct ibv_context *ctx)
{
	struct pollfd fd = {.fd = ctx->async_fd, .events = POLLIN};

	assert_int_equal(poll(&fd, 1, 0), 0);
}

static const struct {
	uint8_t type;
	enum { OF_QP, OF_SRQ, OF_CQ } of;
	enum ibv_event_type event;
	bool fails; /* the queue pair is in error then */
} events[] = {
	{0x02, OF_QP, IBV_EVENT_COMM_EST, false},
	{0x03, OF_QP, IBV_EVENT_SQ_DRAINED, false},
	{0x13, OF_QP, IBV_EVENT_QP_LAST_WQE_REACHED, false},
	{0x05, OF_QP, IBV_EVENT_QP_FATAL, true},
	{0x10, OF_QP, IBV_EVENT_QP_REQ_ERR, true},
	{0x11, OF_QP, IBV_EVENT_QP_ACCESS_ERR, true},
	{0x12, OF_SRQ, IBV_EVENT_SRQ_ERR, false},
	{0x14, OF_SRQ, IBV_EVENT_SRQ_LIMIT_REACHED, false},
	{0x04, OF_CQ, IBV_EVENT_CQ_ERR, false},
};

static void
test_objects(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	const struct mlx4_roce *r = mlx4_roce_of(rr_ctx[0]);
	uint32_t number[3], size[3] = {r->num_qps, r->num_srqs, r->num_cqs};
	void *object[3];
	struct rr_end a;
	unsigned int i;

	rr_end(&a, 0);
	a.srq = tp_roce_create_srq(rr_pd[0], &init);
	assert_non_null(a.srq);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_init(&a);
	object[OF_QP] = a.qp;
	object[OF_SRQ] = a.srq;
	object[OF_CQ] = a.cq;
	number[OF_QP] = a.qp->qp_num;
	number[OF_SRQ] = ((struct mlx4_roce_srq *)(void *)a.srq)->hw.srqn;
	number[OF_CQ] = ((struct mlx4_roce_cq *)(void *)a.cq)->hw.cqn;
	for (i = 0; i < RTE_DIM(events); i++) {
		const uint32_t of = events[i].of, n = number[of];

		a.qp->state = IBV_QPS_RTS;
		/* Numbers that have the same place in a table, or none */
		tell(rr_ctx[0], events[i].type, 0, n + size[of], 0, 0);
		tell(rr_ctx[0], events[i].type, 0, (n + 1) & 0xffffff, 0, 0);
		no_event(rr_ctx[0]);
		assert_int_equal(a.qp->state, IBV_QPS_RTS);
		tell(rr_ctx[0], events[i].type, 0, n | 0x5a000000, 0, 0); /* the upper byte is none of it */
		only_event(rr_ctx[0], events[i].event, object[of]);
		assert_int_equal(a.qp->state, events[i].fails ? IBV_QPS_ERR : IBV_QPS_RTS);
	}
	no_event(rr_ctx[1]);
	/* What is gone has no events. */
	rr_end_free(&a);
	for (i = 0; i < RTE_DIM(events); i++)
		tell(rr_ctx[0], events[i].type, 0, number[events[i].of], 0, 0);
	no_event(rr_ctx[0]);
	/* And types that nobody knows */
	tell(rr_ctx[0], 0x0e, 0, number[OF_QP], 0, 0);
	no_event(rr_ctx[0]);
}

/* An error of another queue pair, which had the number before, is nobody's; one of before a reset is told and changes nothing. */
static void
test_old(void **state)
{
	struct mlx4_hca *hca = mlx4_roce_of(rr_ctx[0])->hca;
	struct rr_end a;
	uint64_t seq;
	unsigned int i;

	rr_end(&a, 0);
	seq = mlx4_events_seq(hca);
	rr_qp(&a, IBV_QPT_RC, NULL);
	tell_of(rr_ctx[0], seq - 1, 0x05, 0, a.qp->qp_num, 0, 0);
	no_event(rr_ctx[0]);
	rr_init(&a);
	seq = mlx4_events_seq(hca);
	for (i = 0; i < 2; i++) {
		tell_of(rr_ctx[0], seq, 0x05, 0, a.qp->qp_num, 0, 0);
		only_event(rr_ctx[0], IBV_EVENT_QP_FATAL, a.qp);
		assert_int_equal(a.qp->state, i == 0 ? IBV_QPS_ERR : IBV_QPS_INIT);
		rr_state(&a, IBV_QPS_RESET);
		rr_init(&a);
	}
	rr_end_free(&a);
}

static sem_t stands, moves_on;

static void
stand_still(void *arg)
{
	sem_post(&stands);
	while (sem_wait(&moves_on) != 0)
		assert_int_equal(errno, EINTR);
}

/* With a key that is none of b's. */
static void
write_badly(struct rr_end *a, const struct rr_end *b)
{
	struct ibv_sge sge = {.addr = (uintptr_t)a->mem, .length = 8, .lkey = a->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

	wr.wr.rdma.remote_addr = (uintptr_t)b->mem;
	wr.wr.rdma.rkey = b->mr->rkey ^ 0x55;
	assert_int_equal(rr_post(a, &wr), 0);
	rr_run();
	rr_expect(a, IBV_WC_REM_ACCESS_ERR, 0, 1);
}

/* The interrupt thread is busy when the card tells of an error: threads that wait for a command take it off the EQ, and it is heard late. */
static void
test_up_again(void **state)
{
	struct rr_end a, b;

	assert_int_equal(sem_init(&stands, 0, 0), 0);
	assert_int_equal(sem_init(&moves_on, 0, 0), 0);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rte_eal_alarm_set(1, stand_still, NULL), 0);
	while (sem_wait(&stands) != 0)
		assert_int_equal(errno, EINTR);
	write_badly(&a, &b);
	assert_int_equal(b.qp->state, IBV_QPS_RTS);
	rr_state(&a, IBV_QPS_RESET);
	rr_state(&b, IBV_QPS_RESET);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	sem_post(&moves_on);
	rr_expect_event(1, IBV_EVENT_QP_ACCESS_ERR, b.qp);
	assert_int_equal(b.qp->state, IBV_QPS_RTS);
	assert_int_equal(rr_recv(&b, 7, 64), 0);
	assert_int_equal(rr_send(&a, 2, 8, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 2);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 7);
	/* One of this life. */
	write_badly(&a, &b);
	rr_expect_event(1, IBV_EVENT_QP_ACCESS_ERR, b.qp);
	assert_int_equal(b.qp->state, IBV_QPS_ERR);
	rr_end_free(&a);
	rr_end_free(&b);
	sem_destroy(&moves_on);
	sem_destroy(&stands);
}

static void
test_port(void **state)
{
	tell(rr_ctx[0], EQ_PORT_CHANGE, 1, 0, 0, 0);
	only_event(rr_ctx[0], IBV_EVENT_PORT_ERR, NULL);
	tell(rr_ctx[0], EQ_PORT_CHANGE, 4, 0, 0, 0);
	only_event(rr_ctx[0], IBV_EVENT_PORT_ACTIVE, NULL);
}

/* What the subnet manager changed: a bit each [CP 9.3]; a new LID is the port's from then on. */
static void
test_manager(void **state)
{
	static const struct {
		uint8_t subtype;
		uint32_t changed;
		enum ibv_event_type event; /* IBV_EVENT_DEVICE_FATAL: none */
	} t[] = {
		{0x14, 0, IBV_EVENT_GID_CHANGE},      {0x16, 0, IBV_EVENT_PKEY_CHANGE},
		{0x15, 0x01, IBV_EVENT_SM_CHANGE},    {0x15, 0x10, IBV_EVENT_SM_CHANGE},
		{0x15, 0x11, IBV_EVENT_SM_CHANGE},    {0x15, 0x02, IBV_EVENT_GID_CHANGE},
		{0x15, 0x04, IBV_EVENT_LID_CHANGE},   {0x15, 0x08, IBV_EVENT_CLIENT_REREGISTER},
		{0x15, 0x20, IBV_EVENT_DEVICE_FATAL}, {0x15, 0, IBV_EVENT_DEVICE_FATAL},
		{0x17, 0x1f, IBV_EVENT_DEVICE_FATAL},
	};
	struct mlx4_roce *r = mlx4_roce_of(ir_ctx[0]);
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		atomic_store(&r->lid, 5);
		tell(ir_ctx[0], EQ_PORT_MNG, t[i].subtype, 1, 0x00070123, t[i].changed);
		if (t[i].event != IBV_EVENT_DEVICE_FATAL)
			only_event(ir_ctx[0], t[i].event, NULL);
		no_event(ir_ctx[0]);
		assert_int_equal(atomic_load(&r->lid), t[i].subtype == 0x15 && (t[i].changed & 4) != 0 ? 0x123 : 5);
	}
	/* All at once, in the order of what others build upon */
	tell(ir_ctx[0], EQ_PORT_MNG, 0x15, 1, 0x00070123, 0x0e);
	assert_int_equal(ir_event(0), IBV_EVENT_LID_CHANGE);
	assert_int_equal(ir_event(0), IBV_EVENT_GID_CHANGE);
	assert_int_equal(ir_event(0), IBV_EVENT_CLIENT_REREGISTER);
	no_event(ir_ctx[0]);
}

/* --- a card that is lost -------------------------------------------------------------------------------------------- */

/* Told once, however often it is found: waiters wake, requests are refused, what waits is flushed in its order. */
static void
test_lost(void **state)
{
	struct ibv_comp_channel *channel = tp_roce_create_comp_channel(rr_ctx[0]);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_recv_wr rwr = {0}, *rbad;
	struct troce_dev *dev = troce_dev_of(rr_ctx[0]);
	struct troce_mad mad = {.remote_qpn = 1};
	struct pollfd fd = {.events = POLLIN};
	struct ibv_srq *srq;
	struct ibv_port_attr pa;
	struct ibv_qp *reset;
	struct ibv_cq *cq;
	struct ibv_wc wc[8];
	struct rr_end a, b;
	void *context;
	unsigned int i;

	assert_non_null(channel);
	rr_end(&a, 0);
	assert_int_equal(tp_roce_destroy_cq(a.cq), 0);
	a.cq = tp_roce_create_cq(rr_ctx[0], 15, &a, channel, 0);
	assert_non_null(a.cq);
	rr_qp(&a, IBV_QPT_RC, NULL);
	reset = a.qp;
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_end(&b, 1);
	rr_qp(&b, IBV_QPT_RC, NULL);
	rr_init(&b);
	rr_init(&a);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rts(&a);
	srq = tp_roce_create_srq(rr_pd[0], &init);
	assert_non_null(srq);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rr_send(&a, 10 + i, 8, 0), 0);
		assert_int_equal(rr_recv(&a, 20 + i, 8), 0);
	}
	for (i = 0; i < 3; i++)
		tell(rr_ctx[0], EQ_CATAS, 0, 0, 0, 0);
	only_event(rr_ctx[0], IBV_EVENT_DEVICE_FATAL, NULL);
	/* One completion event of the queue with a channel */
	fd.fd = channel->fd;
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(tp_roce_get_cq_event(channel, &cq, &context), 0);
	assert_ptr_equal(cq, a.cq);
	tp_roce_ack_cq_events(cq, 1);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(a.qp->state, IBV_QPS_ERR);
	assert_int_equal(reset->state, IBV_QPS_RESET);
	assert_int_equal(ibv_post_srq_recv(srq, &rwr, &rbad), EIO);
	assert_int_equal(dev->prov->mad_send(dev, &mad), EIO);
	assert_int_equal(ibv_req_notify_cq(a.cq, 0), 0);
	/* As many as asked for, then the rest */
	memset(wc, 0x5a, sizeof(wc));
	assert_int_equal(ibv_poll_cq(a.cq, 3, wc), 3);
	assert_int_equal(ibv_poll_cq(a.cq, 3, wc + 3), 1);
	assert_int_equal(ibv_poll_cq(a.cq, 3, wc + 4), 0);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, i < 2 ? 10 + i : 18 + i);
		assert_int_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].opcode, i < 2 ? IBV_WC_SEND : IBV_WC_RECV);
		assert_int_equal(wc[i].qp_num, a.qp->qp_num);
	}
	/* The card itself is well, so that it can be asked. */
	assert_int_equal(tp_roce_query_port(rr_ctx[0], 1, &pa), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	assert_int_equal(tp_roce_destroy_qp(reset), 0);
	rr_end_free(&a);
	rr_end_free(&b);
	assert_int_equal(tp_roce_destroy_comp_channel(channel), 0);
}

static void
on_counter(void *arg, const char *name, uint64_t value)
{
}

/* An Ethernet port is closed under all kinds of objects: none of them works, each can be destroyed. */
static void
test_detached(void **state)
{
	struct ibv_modify_cq_attr moderation = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {1, 1}};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr limit = {.srq_limit = 1};
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_qp_init_attr qp_init;
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_RTR};
	struct ibv_port_attr port;
	struct ibv_ah_attr av;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	struct rr_end a;
	uint64_t pds;

	rr_attr(&av, 1, RR_IPV4_V2);
	rr_end(&a, 0);
	rr_qp(&a, IBV_QPT_UD, NULL);
	rr_init(&a);
	srq = tp_roce_create_srq(rr_pd[0], &init);
	mw = tp_roce_alloc_mw(rr_pd[0], IBV_MW_TYPE_1);
	assert_true(srq != NULL && mw != NULL);
	assert_int_equal(tp_roce_attach_mcast(a.qp, &group, 0), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_close(0), 0);
	rr_expect_event(0, IBV_EVENT_DEVICE_FATAL, NULL);
	assert_int_equal(tp_roce_query_port(rr_ctx[0], 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(port.phys_state, 2); /* polling */
	assert_int_equal(tp_roce_modify_cq(a.cq, &moderation), EIO);
	assert_int_equal(tp_roce_resize_cq(a.cq, 7), EIO);
	assert_int_equal(tp_roce_modify_srq(srq, &limit, IBV_SRQ_LIMIT), EIO);
	assert_int_equal(tp_roce_query_srq(srq, &limit), EIO);
	assert_int_equal(tp_roce_query_qp(a.qp, &at, 0, &qp_init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_ERR);
	errno = 0;
	assert_null(tp_roce_alloc_pd(rr_ctx[0]));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(tp_roce_reg_mr(rr_pd[0], a.mem, 8, 0));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(tp_roce_alloc_mr(rr_pd[0], 4));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(tp_roce_alloc_mw(rr_pd[0], IBV_MW_TYPE_2));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(tp_roce_create_cq(rr_ctx[0], 1, NULL, NULL, 0));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(tp_roce_create_srq(rr_pd[0], &init));
	assert_int_equal(errno, EIO);
	assert_int_equal(tp_roce_detach_mcast(a.qp, &group, 0), 0);
	assert_int_equal(tp_roce_stats(rr_ctx[0], on_counter, NULL), EIO);
	at.qp_state = IBV_QPS_RESET;
	assert_int_equal(tp_roce_modify_qp(a.qp, &at, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	rr_end_free(&a);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[0]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	rr_ctx[0] = NULL;
	/* The card has taken back all but what the other port uses. */
	pds = ((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca->dead;
	assert_int_equal(pds, 0);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[1]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[1]), 0);
	rr_ctx[1] = NULL;
	rig_no_violations(1);
	rig_unplug(RIG_DEV);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_objects),
		TEST(test_old),
		TEST(test_up_again),
		TEST(test_port),
		cmocka_unit_test_setup_teardown(test_manager, ir_setup_active, ir_teardown),
		TEST(test_lost),
		cmocka_unit_test_setup(test_detached, rr_setup),
	};

	if (rig_eal("mlx4_verbs_events", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-verbs-events", tests, NULL, NULL);
}
