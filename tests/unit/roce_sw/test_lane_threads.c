/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A port with four lanes, each with a thread of its own, and one with one lane and thread. Other threads make control calls. This is
 * what tests/long/test_tsan.py looks at, too: so packets are of a pool and of queues that are instrumented.
 */
#include <pthread.h>

#include <rte_cycles.h>

#include "lanes.h"

#define LANES 4u
#define SIZE 1500u /* of a message: two packets */
#define PER_LANE 3u
#define QPS (LANES * PER_LANE)
#define ROUNDS 300u

static const struct qp_conf rc = {.type = IBV_QPT_RC, .timeout = 31};

static struct ibv_cq *
cq_of(struct pair *p, unsigned int lane)
{
	struct ibv_cq *cq = tp_roce_create_cq(p->n[1].ctx, 64, NULL, NULL, (int)lane);

	assert_non_null(cq);
	return cq;
}

/* Two queue pairs. A round: a message there and its completion here, the same with other octets back. */
struct talk {
	struct ibv_qp *qp[2];
	unsigned int round[2];
};

struct worker {
	struct pair *p;
	unsigned int node;
	uint16_t lane;
	struct ibv_cq *cq;
	struct talk *talks; /* wr_id says which */
	const char *wrong;
	pthread_t thread;
};

static atomic_uint ended; /* workers of node 1 */
static atomic_bool stop;

static uint32_t
place_of(unsigned int talk, bool received)
{
	return (2 * talk + received) * 8192;
}

static uint8_t
octet(unsigned int talk, unsigned int round, unsigned int node)
{
	return (uint8_t)(talk * 31 + round * 7 + node * 101);
}

/* WRITE, and SEND to say so. */
static void
say(struct worker *w, unsigned int t)
{
	struct talk *talk = &w->talks[t];
	struct node *n = &w->p->n[w->node], *peer = &w->p->n[!w->node];
	struct ibv_sge sge = {(uintptr_t)n->mem + place_of(t, false), SIZE, n->mr->lkey};
	struct ibv_send_wr *bad,
		send = {.wr_id = t, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED},
		write = {.wr_id = t, .next = &send, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *rbad, rr = {.wr_id = t};

	/* Node 0 answers what it has heard. */
	memset(n->mem + place_of(t, false), octet(t, talk->round[w->node] - (w->node == 0), w->node), SIZE);
	write.wr.rdma.remote_addr = (uintptr_t)peer->mem + place_of(t, true);
	write.wr.rdma.rkey = peer->mr->rkey;
	if (ibv_post_recv(talk->qp[w->node], &rr, &rbad) != 0 || ibv_post_send(talk->qp[w->node], &write, &bad) != 0)
		w->wrong = "posting";
}

static void
heard(struct worker *w, unsigned int t)
{
	const uint8_t *m = w->p->n[w->node].mem + place_of(t, true);
	uint8_t want = octet(t, w->talks[t].round[w->node], !w->node);

	for (unsigned int i = 0; i < SIZE; i++)
		if (m[i] != want)
			w->wrong = "data";
	w->talks[t].round[w->node]++;
}

/* Until node 1 has had all rounds, and node 0 has answered. */
static void *
work(void *arg)
{
	struct worker *w = arg;
	unsigned int left = w->node == 0 ? UINT32_MAX : PER_LANE * ROUNDS;
	bool told = false;

	for (unsigned int i = 0; w->node == 1 && i < PER_LANE; i++)
		say(w, w->lane * PER_LANE + i);
	while (!atomic_load(&stop)) {
		unsigned int done = tp_roce_progress_lane(w->p->n[w->node].ctx, w->lane);
		struct ibv_wc wc;

		for (; ibv_poll_cq(w->cq, 1, &wc) == 1; done++) {
			unsigned int t = (unsigned int)wc.wr_id;

			if (wc.status != IBV_WC_SUCCESS)
				w->wrong = "completion";
			if (wc.opcode != IBV_WC_RECV || wc.status != IBV_WC_SUCCESS)
				continue;
			heard(w, t);
			left--;
			if (w->node == 0 || w->talks[t].round[1] < ROUNDS)
				say(w, t);
		}
		if ((left == 0 || w->wrong != NULL) && !told) {
			told = true;
			atomic_fetch_add(&ended, w->node == 1 ? 1 : LANES);
		}
		if (done == 0)
			rte_delay_us_sleep(1);
	}
	return NULL;
}

/* Beside the work: queue pairs of each lane, regions and addresses come and go. */
static void
control(struct pair *p, unsigned int i)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc6336409)};
	struct qp_conf c = rc;
	struct ibv_cq *cq = cq_of(p, i % LANES);
	struct ibv_mr *mr = tp_roce_reg_mr(p->n[1].pd, p->n[1].mem, 4096, PAIR_ALL);
	struct ibv_qp *qp;

	assert_non_null(mr);
	c.scq = c.rcq = cq;
	qp = pair_qp(p, 1, &c);
	assert_int_equal(qp->qp_num % LANES, i % LANES);
	assert_int_equal(pair_state(qp), IBV_QPS_INIT);
	assert_int_equal(tp_roce_addr_add(p->n[1].ctx, (const struct sockaddr *)&addr, 24, 100), 0);
	assert_int_equal(tp_roce_addr_del(p->n[1].ctx, (const struct sockaddr *)&addr), 0);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
}

static void
connect_talk(struct pair *p, struct talk *t, struct ibv_cq *cq, unsigned int i)
{
	struct ibv_recv_wr *bad, rr = {.wr_id = i};
	struct qp_conf c = rc;

	t->qp[0] = pair_qp(p, 0, &rc);
	c.scq = c.rcq = cq;
	t->qp[1] = pair_qp(p, 1, &c);
	pair_connect(p, t->qp[0], t->qp[1], &rc);
	assert_int_equal(ibv_post_recv(t->qp[0], &rr, &bad), 0);
}

static void
run(struct pair *p, struct worker *w)
{
	atomic_store(&ended, 0);
	atomic_store(&stop, false);
	for (unsigned int i = 0; i <= LANES; i++)
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	for (unsigned int i = 0; atomic_load(&ended) < LANES; i++) {
		control(p, i);
		rte_delay_us_sleep(1000);
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i <= LANES; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].wrong != NULL)
			fail_msg("node %u, lane %u: %s", w[i].node, w[i].lane, w[i].wrong);
	}
}

static void
threads(void **state)
{
	struct rte_mempool *pool;
	struct talk talks[QPS] = {0};
	struct worker w[LANES + 1];
	struct ibv_cq *cq[LANES];
	struct pair *p;

	/* The first pair brings up the EAL. */
	pair_close(pair_open(&(struct pair_conf){.mtu = 1024}));
	pool = lanes_pool("locked", 8191);
	p = pair_open(&(struct pair_conf){.mtu = 1024, .lanes = {1, LANES}, .pool = pool});
	lanes_wire(p, LANES_HASH);
	w[LANES] = (struct worker){.p = p, .cq = p->n[0].cq, .talks = talks};
	for (uint16_t i = 0; i < LANES; i++) {
		cq[i] = cq_of(p, i);
		w[i] = (struct worker){.p = p, .node = 1, .lane = i, .cq = cq[i], .talks = talks};
	}
	for (unsigned int i = 0; i < QPS; i++)
		connect_talk(p, &talks[i], cq[i / PER_LANE], i);
	run(p, w);
	for (unsigned int i = 0; i < QPS; i++) {
		assert_int_equal(talks[i].round[1], ROUNDS);
		assert_int_equal(tp_roce_destroy_qp(talks[i].qp[0]), 0);
		assert_int_equal(tp_roce_destroy_qp(talks[i].qp[1]), 0);
	}
	assert_true(pair_stat(p, 1, "lane_passed") > 0);
	assert_int_equal(pair_stat(p, 1, "lane_drops"), 0);
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(tp_roce_destroy_cq(cq[i]), 0);
	lanes_unwire();
	pair_close(p);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
