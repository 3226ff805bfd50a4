/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One thread drives the ports; others post, poll and make control calls. */
#include <pthread.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "pair.h"

/* Rounds of a thread: so many, or for so long; on a busy machine each takes turns of the scheduler. */
#define ROUNDS 10000
#define SECONDS 2
#define SIZE 64u

/* What is posted to queue pairs that go at once is thousands of packets, which a poll takes by 32. On a busy machine an answer may need
 * the time of a hundred polls: nobody gives up before. */
static const struct qp_conf plain = {.type = IBV_QPT_RC, .timeout = 18};

/* Each drives both ports and the wire until it is told to stop. */
struct driver {
	struct pair *p;
	pthread_t thread;
	atomic_bool stop;
};

static void *
drive(void *arg)
{
	struct driver *d = arg;

	while (!atomic_load(&d->stop)) {
		pair_step(d->p);
		rte_delay_us_sleep(1);
	}
	return NULL;
}

static void
driver_start(struct driver *d, struct pair *p)
{
	d->p = p;
	atomic_store(&d->stop, false);
	assert_int_equal(pthread_create(&d->thread, NULL, drive, d), 0);
}

static void
driver_stop(struct driver *d)
{
	atomic_store(&d->stop, true);
	pthread_join(d->thread, NULL);
}

/* A queue pair each way, used by a thread of its own; what went wrong, if anything. */
struct user {
	struct pair *p;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	uint32_t off;
	pthread_t thread;
	const char *wrong;
	int status[2]; /* of the completions that were taken last */
};

static int
post(struct user *u, unsigned int node, enum ibv_wr_opcode op, uint32_t off)
{
	struct node *n = &u->p->n[node];
	struct ibv_sge sge = {(uintptr_t)n->mem + off, SIZE, n->mr->lkey};
	struct ibv_send_wr *bad, wr = {.opcode = op, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};

	wr.wr.rdma.remote_addr = (uintptr_t)u->p->n[!node].mem + off;
	wr.wr.rdma.rkey = u->p->n[!node].mr->rkey;
	return ibv_post_send(u->qp[node], &wr, &bad);
}

static int
take_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int rc;

	while ((rc = ibv_poll_cq(cq, 1, &wc)) == 0)
		rte_delay_us_sleep(1);
	return rc == 1 ? (int)wc.status : -1;
}

/* Ping and pong, both ends by this thread, which is not the ports'. */
static void *
use(void *arg)
{
	uint64_t until = rte_rdtsc() + SECONDS * rte_get_tsc_hz();
	struct user *u = arg;

	for (unsigned int i = 0; i < ROUNDS && u->wrong == NULL && rte_rdtsc() < until; i++) {
		struct node *n = &u->p->n[1];
		struct ibv_sge sge = {(uintptr_t)n->mem + u->off, SIZE, n->mr->lkey};
		struct ibv_recv_wr *bad, rr = {.sg_list = &sge, .num_sge = 1};

		memset(u->p->n[0].mem + u->off, (int)i, SIZE);
		if (ibv_post_recv(u->qp[1], &rr, &bad) != 0 || post(u, 0, IBV_WR_SEND, u->off) != 0)
			u->wrong = "posting";
		else if ((u->status[1] = take_one(u->cq[1])) != IBV_WC_SUCCESS ||
			 (u->status[0] = take_one(u->cq[0])) != IBV_WC_SUCCESS)
			u->wrong = "completion";
		else if (memcmp(u->p->n[0].mem + u->off, n->mem + u->off, SIZE) != 0)
			u->wrong = "data";
	}
	return NULL;
}

static void
went_well(const struct user *u)
{
	if (u->wrong != NULL)
		fail_msg("%s: the sender's last completion was %d, the receiver's %d", u->wrong, u->status[0],
			 u->status[1]);
}

static void
user_make(struct user *u, struct pair *p, unsigned int i)
{
	*u = (struct user){.p = p, .off = (i + 1) * 4096};
	for (unsigned int k = 0; k < 2; k++) {
		u->cq[k] = tp_roce_create_cq(p->n[k].ctx, 64, NULL, NULL, 0);
		assert_non_null(u->cq[k]);
	}
	for (unsigned int k = 0; k < 2; k++) {
		struct qp_conf c = plain;

		c.scq = c.rcq = u->cq[k];
		u->qp[k] = pair_qp(p, k, &c);
	}
	pair_connect(p, u->qp[0], u->qp[1], &plain);
}

static void
user_free(struct user *u)
{
	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(tp_roce_destroy_qp(u->qp[k]), 0);
		assert_int_equal(tp_roce_destroy_cq(u->cq[k]), 0);
	}
}

static void
posting_threads(void **state)
{
	struct driver d;
	struct user u[3];

	for (unsigned int i = 0; i < RTE_DIM(u); i++)
		user_make(&u[i], *state, i);
	driver_start(&d, *state);
	for (unsigned int i = 0; i < RTE_DIM(u); i++)
		assert_int_equal(pthread_create(&u[i].thread, NULL, use, &u[i]), 0);
	for (unsigned int i = 0; i < RTE_DIM(u); i++) {
		pthread_join(u[i].thread, NULL);
		went_well(&u[i]);
	}
	driver_stop(&d);
	for (unsigned int i = 0; i < RTE_DIM(u); i++)
		user_free(&u[i]);
}

/* Queue pairs, regions and groups come and go while another queue pair works. */
static void
control_beside_work(void **state)
{
	struct pair *p = *state;
	struct driver d;
	struct user u;
	union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 9}};

	user_make(&u, p, 0);
	driver_start(&d, p);
	assert_int_equal(pthread_create(&u.thread, NULL, use, &u), 0);
	for (unsigned int i = 0; i < 150; i++) {
		struct ibv_mr *mr = tp_roce_reg_mr(p->n[0].pd, p->n[0].mem + (1 << 20), 65536, PAIR_ALL);
		const struct qp_conf ud = {.type = IBV_QPT_UD};
		struct ibv_qp *a, *b, *g = pair_qp(p, 0, &ud);
		struct ibv_send_wr *bad, wr;
		struct ibv_sge sge;

		pair_qps(p, &plain, &a, &b);
		assert_int_equal(tp_roce_attach_mcast(g, &group, 0), 0);
		/* With work on its way. */
		wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 1 << 20, 60000, 2 << 20);
		sge.lkey = mr->lkey;
		wr.send_flags = 0;
		assert_int_equal(ibv_post_send(a, &wr, &bad), 0);
		assert_true(pair_state(a) == IBV_QPS_RTS);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_detach_mcast(g, &group, 0), 0);
		assert_int_equal(tp_roce_destroy_qp(g), 0);
		assert_int_equal(tp_roce_dereg_mr(mr), 0);
	}
	pthread_join(u.thread, NULL);
	driver_stop(&d);
	went_well(&u);
	user_free(&u);
}

/* The port goes from one thread to the next, and back. */
static void
changing_hands(void **state)
{
	struct pair *p = *state;
	struct user u;

	user_make(&u, p, 0);
	assert_int_equal(pthread_create(&u.thread, NULL, use, &u), 0);
	for (unsigned int i = 0; i < 20; i++) {
		struct driver d;

		driver_start(&d, p);
		usleep(2000);
		driver_stop(&d);
		pair_run(p, 1);
	}
	while (pthread_tryjoin_np(u.thread, NULL) != 0)
		pair_step(p);
	went_well(&u);
	user_free(&u);
}

/* Requests that are posted while the queue pair is taken to error: each ends exactly once. */
struct poster {
	struct ibv_qp *qp;
	struct pair *p;
	atomic_bool stop;
	unsigned int sends, receives;
	pthread_t thread;
};

static void *
keep_posting(void *arg)
{
	struct poster *s = arg;
	struct node *n = &s->p->n[0];
	struct ibv_sge sge = {(uintptr_t)n->mem, 8, n->mr->lkey};

	while (!atomic_load(&s->stop)) {
		struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};
		struct ibv_recv_wr *rbad, rr = {.sg_list = &sge, .num_sge = 1};

		wr.wr_id = 1;
		rr.wr_id = 2;
		s->sends += ibv_post_send(s->qp, &wr, &bad) == 0;
		s->receives += ibv_post_recv(s->qp, &rr, &rbad) == 0;
		rte_delay_us_sleep(1);
	}
	return NULL;
}

static unsigned int
nothing(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	return 0;
}

static void
posting_into_error(void **state)
{
	struct pair *p = *state;
	unsigned int total[2];

	p->wire = nothing;
	for (unsigned int round = 0; round < 40; round++) {
		const struct qp_conf c = {.type = IBV_QPT_RC, .send_wr = 256, .recv_wr = 256};
		struct poster s = {.p = p};
		unsigned int got[3] = {0};
		struct ibv_qp *b;
		struct ibv_wc wc;

		p->wire = NULL;
		pair_qps(p, &c, &s.qp, &b);
		p->wire = nothing;
		assert_int_equal(pthread_create(&s.thread, NULL, keep_posting, &s), 0);
		for (unsigned int i = 0; i < 20; i++)
			pair_step(p);
		pair_to_error(s.qp);
		for (unsigned int i = 0; i < 20; i++) {
			pair_step(p);
			while (ibv_poll_cq(p->n[0].cq, 1, &wc) == 1)
				got[wc.wr_id]++;
		}
		atomic_store(&s.stop, true);
		pthread_join(s.thread, NULL);
		for (unsigned int i = 0; i < 3; i++)
			pair_step(p);
		while (ibv_poll_cq(p->n[0].cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
			got[wc.wr_id]++;
		}
		total[0] = s.sends;
		total[1] = s.receives;
		assert_int_equal(got[1], total[0]);
		assert_int_equal(got[2], total[1]);
		assert_int_equal(tp_roce_destroy_qp(s.qp), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
	p->wire = NULL;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(posting_threads), T(control_beside_work), T(changing_hands),
					   T(posting_into_error)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
