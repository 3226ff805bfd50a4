/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events of completion queues and of the port: descriptors, order, acknowledgement, what is destroyed meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "lib/roce/port/front.h"

#define N_STORE 1024u /* events that wait at most */

static struct ibv_context *ctx;
static struct troce_dev *dev;
static struct ibv_pd *pd;

static int
setup(void **state)
{
	fake_reset();
	ctx = fake_open(NULL);
	dev = troce_dev_of(ctx);
	pd = tp_roce_alloc_pd(ctx);
	return pd == NULL;
}

static int
teardown(void **state)
{
	fake_reset();
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
	return 0;
}

static bool
readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1 && p.revents == POLLIN;
}

static void
unblock(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static struct ibv_cq *
make_cq(struct ibv_comp_channel *ch, void *context)
{
	struct ibv_cq *cq = tp_roce_create_cq(ctx, 10, context, ch, 1);

	assert_non_null(cq);
	return cq;
}

static void
fire(struct ibv_cq *cq)
{
	troce_cq_event((struct troce_cq *)cq);
}

static void
get_expect(struct ibv_comp_channel *ch, struct ibv_cq *want)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	assert_int_equal(tp_roce_get_cq_event(ch, &cq, &context), 0);
	assert_ptr_equal(cq, want);
	assert_ptr_equal(context, want->cq_context);
}

static void
test_channel(void **state)
{
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(ctx);
	struct ibv_cq *a, *b, *none;
	int x, y;

	assert_non_null(ch);
	a = make_cq(ch, &x);
	assert_int_equal(fake.vector, 1);
	b = make_cq(ch, &y);
	none = make_cq(NULL, NULL);
	assert_int_equal(fake.vector, -1);
	assert_int_equal(ch->refcnt, 2);
	assert_int_equal(a->cqe, 15); /* as granted */

	assert_false(readable(ch->fd, 0));
	fire(none); /* nobody listens */
	fire(a);
	fire(b);
	fire(a); /* armed and fired twice */
	assert_true(readable(ch->fd, 0));
	get_expect(ch, a);
	assert_true(readable(ch->fd, 0));
	get_expect(ch, b);
	get_expect(ch, a);
	assert_false(readable(ch->fd, 0));
	fire(b);
	assert_true(readable(ch->fd, 0));
	get_expect(ch, b);
	assert_false(readable(ch->fd, 0));

	unblock(ch->fd);
	errno = 0;
	assert_int_equal(tp_roce_get_cq_event(ch, &a, NULL), -1);
	assert_int_equal(errno, EAGAIN);

	tp_roce_ack_cq_events(a, 2);
	tp_roce_ack_cq_events(b, 2);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), EBUSY);
	assert_int_equal(tp_roce_destroy_cq(a), 0);
	assert_int_equal(tp_roce_destroy_cq(b), 0);
	assert_int_equal(tp_roce_destroy_cq(none), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

/* Events that nobody fetched go with their queue. */
static void
test_channel_discard(void **state)
{
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(ctx);
	struct ibv_cq *a = make_cq(ch, NULL), *b = make_cq(ch, NULL);

	fire(a);
	fire(b);
	fire(a);
	assert_int_equal(tp_roce_destroy_cq(a), 0);
	assert_true(readable(ch->fd, 0));
	get_expect(ch, b);
	assert_false(readable(ch->fd, 0));
	fire(b);
	tp_roce_ack_cq_events(b, 1);
	assert_int_equal(tp_roce_destroy_cq(b), 0);
	assert_false(readable(ch->fd, 0));
	b = make_cq(ch, NULL);
	fire(b);
	assert_true(readable(ch->fd, 0));
	assert_int_equal(tp_roce_destroy_cq(b), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

/* --- waiting ---------------------------------------------------------------------------------------------------- */

struct job {
	pthread_t thread;
	atomic_int state; /* 0 begun, 1 done */
	int rc, err;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_comp_channel *ch;
	struct ibv_async_event event;
};

static void
start(struct job *j, void *(*fn)(void *))
{
	atomic_store(&j->state, 0);
	assert_int_equal(pthread_create(&j->thread, NULL, fn, j), 0);
}

/* It is not done, and stays so. */
static void
assert_waits(struct job *j)
{
	usleep(30000);
	assert_int_equal(atomic_load(&j->state), 0);
}

static void
finish(struct job *j)
{
	pthread_join(j->thread, NULL);
	assert_int_equal(atomic_load(&j->state), 1);
}

#define JOB(name, call)                                                                                                \
	static void *name(void *arg)                                                                                   \
	{                                                                                                              \
		struct job *j = arg;                                                                                   \
		j->rc = call;                                                                                          \
		j->err = errno;                                                                                        \
		atomic_store(&j->state, 1);                                                                            \
		return NULL;                                                                                           \
	}
JOB(destroy_cq_job, tp_roce_destroy_cq(j->cq))
JOB(destroy_qp_job, tp_roce_destroy_qp(j->qp))
JOB(get_cq_job, tp_roce_get_cq_event(j->ch, &j->cq, &(void *){NULL}))
JOB(get_async_job, tp_roce_get_async_event(ctx, &j->event))

/* 11.2.6.5 and 11.6.3: destroying waits for what was fetched, as libibverbs documents. */
static void
test_ack(void **state)
{
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(ctx);
	struct job j = {.cq = make_cq(ch, NULL)};
	struct ibv_async_event e;

	fire(j.cq);
	get_expect(ch, j.cq);
	fire(j.cq);
	get_expect(ch, j.cq);
	troce_async_event(dev, IBV_EVENT_CQ_ERR, j.cq);
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(e.element.cq, j.cq);

	start(&j, destroy_cq_job);
	assert_waits(&j);
	/* other control calls go on */
	assert_int_equal(tp_roce_dealloc_pd(tp_roce_alloc_pd(ctx)), 0);
	tp_roce_ack_cq_events(j.cq, 1);
	assert_waits(&j);
	tp_roce_ack_async_event(&e);
	assert_waits(&j);
	tp_roce_ack_cq_events(j.cq, 1);
	finish(&j);
	assert_int_equal(j.rc, 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

/* A thread that was woken by an event that is withdrawn before it looks waits for the next one. */
static void
test_wait(void **state)
{
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(ctx);
	struct troce_channel *inner = (struct troce_channel *)ch;
	struct ibv_cq *gone = make_cq(ch, NULL), *cq = make_cq(ch, NULL);
	struct job j = {.ch = ch};

	start(&j, get_cq_job);
	assert_waits(&j);
	/* the octet is read, the lock is not had */
	pthread_mutex_lock(&inner->lock);
	troce_bell_ring(&inner->bell);
	while (readable(ch->fd, 0))
		usleep(100);
	pthread_mutex_unlock(&inner->lock);
	assert_waits(&j);
	assert_int_equal(tp_roce_destroy_cq(gone), 0);
	fire(cq);
	finish(&j);
	assert_int_equal(j.rc, 0);
	assert_ptr_equal(j.cq, cq);
	tp_roce_ack_cq_events(cq, 1);
	assert_false(readable(ch->fd, 0));
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

JOB(fire_job, (fire(j->cq), 0))

/*
 * A thread has read the octet of an event that is gone, and another event comes before it looks: it takes that one, and
 * the descriptor may not stay readable for the octet that it did not read. Which of the two threads is first is chance.
 */
static void
test_stale_octet(void **state)
{
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(ctx);
	struct troce_channel *inner = (struct troce_channel *)ch;
	struct ibv_cq *cq = make_cq(ch, NULL);

	for (unsigned int i = 0; i < 100; i++) {
		struct job get = {.ch = ch}, put = {.cq = cq};

		pthread_mutex_lock(&inner->lock);
		troce_bell_ring(&inner->bell);
		start(&put, fire_job);
		usleep(200);
		start(&get, get_cq_job);
		while (readable(ch->fd, 0))
			usleep(50);
		pthread_mutex_unlock(&inner->lock);
		finish(&put);
		finish(&get);
		assert_ptr_equal(get.cq, cq);
		assert_false(readable(ch->fd, 0));
		tp_roce_ack_cq_events(cq, 1);
	}
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

static void
on_signal(int sig)
{
}

/* A signal interrupts, unless its handler says SA_RESTART: what reading a descriptor does. */
static void
test_signal(void **state)
{
	struct sigaction act = {.sa_handler = on_signal};
	struct job j = {0};

	sigaction(SIGUSR1, &act, NULL);
	start(&j, get_async_job);
	/* a signal that comes before the thread waits interrupts nothing */
	do {
		usleep(20000);
		pthread_kill(j.thread, SIGUSR1);
	} while (atomic_load(&j.state) == 0);
	finish(&j);
	assert_int_equal(j.rc, -1);
	assert_int_equal(j.err, EINTR);

	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &act, NULL);
	start(&j, get_async_job);
	usleep(20000);
	pthread_kill(j.thread, SIGUSR1);
	assert_waits(&j);
	troce_async_event(dev, IBV_EVENT_PORT_ERR, NULL);
	finish(&j);
	assert_int_equal(j.rc, 0);
	assert_int_equal(j.event.event_type, IBV_EVENT_PORT_ERR);
}

/* --- asynchronous events ---------------------------------------------------------------------------------------- */

static struct ibv_qp *
make_qp(struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq};
	struct ibv_qp *qp = tp_roce_create_qp(pd, &a);

	assert_non_null(qp);
	return qp;
}

static void
test_async(void **state)
{
	static const enum ibv_event_type of_qp[] = {
		IBV_EVENT_QP_FATAL,   IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST,
		IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG,   IBV_EVENT_PATH_MIG_ERR,  IBV_EVENT_QP_LAST_WQE_REACHED,
	};
	static const enum ibv_event_type of_port[] = {
		IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR,          IBV_EVENT_LID_CHANGE,
		IBV_EVENT_PKEY_CHANGE,  IBV_EVENT_SM_CHANGE,   IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE,
	};
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4}};
	struct ibv_srq *srq = tp_roce_create_srq(pd, &srq_init);
	struct ibv_cq *cq = make_cq(NULL, NULL);
	struct ibv_qp *qp = make_qp(cq, srq);
	struct ibv_async_event e;

	assert_false(readable(ctx->async_fd, 0));
	for (unsigned int i = 0; i < RTE_DIM(of_qp); i++)
		troce_async_event(dev, of_qp[i], qp);
	troce_async_event(dev, IBV_EVENT_SRQ_ERR, srq);
	troce_async_event(dev, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	for (unsigned int i = 0; i < RTE_DIM(of_port); i++)
		troce_async_event(dev, of_port[i], NULL);

	/* in their order */
	for (unsigned int i = 0; i < RTE_DIM(of_qp); i++) {
		assert_true(readable(ctx->async_fd, 0));
		assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
		assert_int_equal(e.event_type, of_qp[i]);
		assert_ptr_equal(e.element.qp, qp);
		tp_roce_ack_async_event(&e);
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
		assert_ptr_equal(e.element.srq, srq);
		tp_roce_ack_async_event(&e);
	}
	for (unsigned int i = 0; i < RTE_DIM(of_port); i++) {
		assert_true(readable(ctx->async_fd, 0));
		assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
		assert_int_equal(e.event_type, of_port[i]);
		assert_int_equal(e.element.port_num, 1);
		tp_roce_ack_async_event(&e);
	}
	assert_false(readable(ctx->async_fd, 0));
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
}

/* The same twice in a row is said once; of another object it is another event. Channels give their descriptors back. */
static void
test_async_twice(void **state)
{
	int free_fd = dup(0);
	struct ibv_cq *cq = make_cq(NULL, NULL);
	struct ibv_qp *qp[2] = {make_qp(cq, NULL), make_qp(cq, NULL)};
	struct ibv_comp_channel *ch;
	struct ibv_async_event e;

	for (unsigned int i = 0; i < 4; i++)
		troce_async_event(dev, IBV_EVENT_QP_FATAL, qp[i / 2]);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
		assert_ptr_equal(e.element.qp, qp[i]);
		tp_roce_ack_async_event(&e);
	}
	assert_false(readable(ctx->async_fd, 0));
	close(free_fd);
	ch = tp_roce_create_comp_channel(ctx);
	assert_non_null(ch);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
	assert_int_equal(dup(0), free_fd);
	close(free_fd);
	assert_int_equal(tp_roce_destroy_qp(qp[0]) | tp_roce_destroy_qp(qp[1]), 0);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
}

static void
test_async_destroyed(void **state)
{
	struct ibv_cq *cq = make_cq(NULL, NULL), *extra = make_cq(NULL, NULL);
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4}};
	struct ibv_srq *srq = tp_roce_create_srq(pd, &srq_init);
	struct job j = {.qp = make_qp(cq, NULL)};
	struct ibv_async_event e;

	troce_async_event(dev, IBV_EVENT_COMM_EST, j.qp);
	troce_async_event(dev, IBV_EVENT_GID_CHANGE, NULL);
	troce_async_event(dev, IBV_EVENT_QP_FATAL, j.qp);
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_COMM_EST);
	start(&j, destroy_qp_job);
	assert_waits(&j);
	tp_roce_ack_async_event(&e);
	finish(&j);

	/* and those of others that are destroyed unfetched */
	troce_async_event(dev, IBV_EVENT_CQ_ERR, extra);
	troce_async_event(dev, IBV_EVENT_SRQ_ERR, srq);
	assert_int_equal(tp_roce_destroy_cq(extra), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);

	/* the fatal one went with it */
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_GID_CHANGE);
	tp_roce_ack_async_event(&e);
	assert_false(readable(ctx->async_fd, 0));
	unblock(ctx->async_fd);
	assert_int_equal(tp_roce_get_async_event(ctx, &e), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
}

static void
pick_lost(void *arg, const char *name, uint64_t value)
{
	if (strcmp(name, "async_events_lost") == 0)
		*(uint64_t *)arg = value;
}

/* Nobody fetches: there is an end to it, it is said once, and counted. */
static void
test_async_flood(void **state)
{
	struct ibv_async_event e;
	uint64_t lost = 0;
	unsigned int n = 0;

	/* the same in a row is one */
	for (unsigned int i = 0; i < 5000; i++)
		troce_async_event(dev, IBV_EVENT_GID_CHANGE, NULL);
	assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
	assert_false(readable(ctx->async_fd, 0));

	fake_reset();
	for (unsigned int i = 0; i < N_STORE + 10; i++)
		troce_async_event(dev, i % 2 == 0 ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, NULL);
	assert_int_equal(fake_lines(), 1);
	assert_true(fake_said("1024 asynchronous events wait"));
	assert_int_equal(tp_roce_stats(ctx, pick_lost, &lost), 0);
	assert_int_equal(lost, 5); /* the other five say what the last one that waits says */
	while (readable(ctx->async_fd, 0)) {
		assert_int_equal(tp_roce_get_async_event(ctx, &e), 0);
		n++;
	}
	assert_int_equal(n, N_STORE);
	troce_async_event(dev, IBV_EVENT_PORT_ERR, NULL);
	assert_true(readable(ctx->async_fd, 0));
}

/* --- many threads ----------------------------------------------------------------------------------------------- */

#define ROUNDS 3000u

static atomic_uint fetched;
static struct ibv_comp_channel *shared;
static int stop; /* the context of the last queue */

/* Makes queues, fires them, and destroys half of them with events that nobody may have fetched. */
static void *
churn(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_cq *cq = tp_roce_create_cq(ctx, 1, NULL, shared, 0);

		fire(cq);
		fire(cq);
		tp_roce_destroy_cq(cq); /* waits until what was fetched is acknowledged */
	}
	return NULL;
}

static void *
fetch(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	while (tp_roce_get_cq_event(shared, &cq, &context) == 0) {
		atomic_fetch_add(&fetched, 1);
		if (cq->cq_context == &stop) {
			tp_roce_ack_cq_events(cq, 1);
			break;
		}
		tp_roce_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void
test_threads(void **state)
{
	pthread_t maker[3], getter[2];
	struct ibv_cq *last;

	shared = tp_roce_create_comp_channel(ctx);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&maker[i], NULL, churn, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&getter[i], NULL, fetch, NULL), 0);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(maker[i], NULL);
	last = make_cq(shared, &stop);
	fire(last);
	fire(last);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(getter[i], NULL);
	assert_int_equal(tp_roce_destroy_cq(last), 0);
	assert_true(atomic_load(&fetched) >= 2);
	/* nothing is left of 18000 events: the descriptor is silent */
	assert_false(readable(shared->fd, 0));
	assert_int_equal(shared->refcnt, 0);
	assert_int_equal(tp_roce_destroy_comp_channel(shared), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel_discard, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_octet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_async, setup, teardown),
		cmocka_unit_test_setup_teardown(test_async_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_async_destroyed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_async_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_event", tests, NULL, NULL);
}
