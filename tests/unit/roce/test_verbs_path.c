/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Address vectors of neighbours that are not known yet: who drives the port until they are, or waits. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "verbs_qp.h"

static void
test_resolve(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR);

	/* no thread polls the port: the call does */
	inner(qp)->v.state = IBV_QPS_INIT;
	fake_reset();
	fake.unresolved = 5;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(fake.progressed, 5);
	assert_int_equal(fake.path.dmac.addr_bytes[5], 9);

	/* an illegal transition does not ask */
	fake_reset();
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), EINVAL);
	assert_int_equal(fake.resolves, 0);

	/* this thread polls the port */
	tp_roce_progress(ctx);
	inner(qp)->v.state = IBV_QPS_INIT;
	fake_reset();
	fake.unresolved = 5;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(fake.progressed, 5);

	/* the answer is that there is none */
	inner(qp)->v.state = IBV_QPS_INIT;
	fake_reset();
	fake.resolve = EHOSTUNREACH;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), EHOSTUNREACH);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(qp->state, IBV_QPS_INIT);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* The peer may be another port that this thread polls, or that nobody polls. */
static void
test_resolve_both(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR);
	struct ibv_context *other;

	fake_reset();
	fake.both = true;
	other = tp_roce_open(fake_port2, NULL);
	assert_non_null(other);
	for (unsigned int i = 0; i < 4; i++) {
		inner(qp)->v.state = IBV_QPS_INIT;
		fake.unresolved = 5;
		fake.progressed = 0;
		assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
		assert_int_equal(fake.progressed, 10);
		/* then they are this thread's, one and both */
		tp_roce_progress(i == 0 ? other : ctx);
	}
	fake_close(other);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

static struct ibv_qp *nested;
static int nested_rc;

static void
modify_inside(struct troce_dev *dev)
{
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR);

	nested_rc = tp_roce_modify_qp(nested, &a, RTR_RC);
}

static void
test_resolve_inside(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);

	/* called by the port's own work, when a control call drives that: it cannot be done there */
	nested = qp;
	fake_reset();
	fake.unresolved = 2;
	fake.in_progress = modify_inside;
	inner(qp)->v.state = IBV_QPS_INIT;
	assert_int_equal(tp_roce_destroy_ah(tp_roce_create_ah(pd, &(struct ibv_ah_attr){.is_global = 1})), 0);
	assert_int_equal(nested_rc, EAGAIN);

	/* and when the port's thread does */
	inner(qp)->v.state = IBV_QPS_INIT;
	fake_reset();
	fake.unresolved = 1;
	fake.in_progress = modify_inside;
	tp_roce_progress(ctx);
	assert_int_equal(nested_rc, EAGAIN);
	assert_int_equal(fake.progressed, 1);
	tp_roce_progress(ctx);
	assert_int_equal(nested_rc, 0);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* A thread that polls the port, for a while. */
static atomic_bool polling, stop;

static void *
poller(void *arg)
{
	while (!atomic_load(&stop)) {
		tp_roce_progress(ctx);
		atomic_store(&polling, true);
		usleep(100);
	}
	return NULL;
}

static void
test_resolve_other_thread(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR);
	pthread_t thread;

	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, poller, NULL), 0);
	while (!atomic_load(&polling))
		usleep(100);
	inner(qp)->v.state = IBV_QPS_INIT;
	fake.unresolved = 20;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);

	/* it polls no longer: 3 s, and the line says what to look at */
	inner(qp)->v.state = IBV_QPS_INIT;
	fake_reset();
	fake.unresolved = UINT32_MAX;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), EHOSTUNREACH);
	assert_int_equal(fake.progressed, 0);
	assert_true(fake_said("does a thread call tp_roce_progress()?"));
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve_both, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve_other_thread, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_path", tests, NULL, NULL);
}
