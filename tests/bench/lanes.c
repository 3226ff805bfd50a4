/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_lanes LANES LEN ROUNDS same|next [CPUS]: two ports of RoCE in software with so many lanes. Lane i of both is on one CPU, and
 * each of its 32 queue pairs of RC sends a WRITE of LEN octets a round. next: each packet comes to another lane's queue, and is passed
 * on. CPUS: lanes have a thread each, lane i on CPU i % CPUS; without it one thread polls all of them. Instructions of bench_*,
 * callees included, are counted from outside (callgrind --toggle-collect). 'packets' are messages.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "tests/unit/roce_sw/lanes.h"

#define BATCH 32u

static struct pair *p;

struct lane {
	uint16_t i;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[BATCH];
	uint32_t len;
	unsigned int rounds, done; /* done: of the round */
	uint64_t cpu_ns;           /* of its thread, until its last message */
	pthread_t thread;
} __rte_cache_aligned;

static struct lane lanes[PAIR_LANES];
static unsigned int num, cpus;
static atomic_uint ready, over;

__attribute__((noinline)) static void
bench_post(struct lane *l)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 4096u * l->i, l->len, 4096u * l->i);
	for (unsigned int i = 0; i < BATCH; i++)
		pair_post(l->qp[i], &wr);
}

__attribute__((noinline)) static void
bench_poll(struct lane *l)
{
	struct ibv_wc wc[BATCH];
	int n;

	tp_roce_progress_lane(p->n[0].ctx, l->i);
	tp_roce_progress_lane(p->n[1].ctx, l->i);
	tp_roce_progress_lane(p->n[0].ctx, l->i);
	n = ibv_poll_cq(l->cq[0], BATCH, wc);
	for (int i = 0; i < n; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	l->done += (unsigned int)n;
}

/* False: there is no round left. */
static bool
step(struct lane *l)
{
	if (l->done == BATCH) {
		l->done = 0;
		if (--l->rounds != 0)
			bench_post(l);
	}
	bench_poll(l);
	return l->rounds != 0;
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *
run(void *arg)
{
	struct lane *l = arg;
	bool told = false;
	uint64_t begun;
	cpu_set_t set;

	/* With a cache of the pool of its own. */
	assert_int_equal(rte_thread_register(), 0);
	CPU_ZERO(&set);
	CPU_SET(l->i % cpus, &set);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), 0);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) <= num)
		rte_pause();
	begun = cpu_ns();
	bench_post(l);
	/* Others may still need it. */
	while (atomic_load(&over) < num) {
		if (step(l) || told)
			continue;
		told = true;
		l->cpu_ns = cpu_ns() - begun;
		atomic_fetch_add(&over, 1);
	}
	rte_thread_unregister();
	return NULL;
}

static void
run_threads(uint64_t *begun, uint64_t *end)
{
	for (unsigned int i = 0; i < num; i++)
		assert_int_equal(pthread_create(&lanes[i].thread, NULL, run, &lanes[i]), 0);
	while (atomic_load(&ready) < num)
		rte_pause();
	*begun = rte_rdtsc();
	atomic_fetch_add(&ready, 1);
	for (unsigned int i = 0; i < num; i++)
		pthread_join(lanes[i].thread, NULL);
	*end = rte_rdtsc();
}

static void
run_alone(uint64_t *begun, uint64_t *end)
{
	uint64_t from = cpu_ns();
	bool more = true;

	*begun = rte_rdtsc();
	for (unsigned int i = 0; i < num; i++)
		bench_post(&lanes[i]);
	while (more) {
		more = false;
		for (unsigned int i = 0; i < num; i++)
			more = step(&lanes[i]) || more;
	}
	*end = rte_rdtsc();
	lanes[0].cpu_ns = cpu_ns() - from;
}

static void
make(struct lane *l, uint16_t i, uint32_t len, unsigned int rounds)
{
	struct qp_conf c[2];

	*l = (struct lane){.i = i, .len = len, .rounds = rounds};
	for (unsigned int n = 0; n < 2; n++) {
		l->cq[n] = tp_roce_create_cq(p->n[n].ctx, 2 * BATCH, NULL, NULL, i);
		assert_non_null(l->cq[n]);
		c[n] = (struct qp_conf){.type = IBV_QPT_RC, .send_wr = 1, .recv_wr = 1, .timeout = 20};
		c[n].scq = c[n].rcq = l->cq[n];
	}
	for (unsigned int k = 0; k < BATCH; k++) {
		struct ibv_qp *peer = pair_qp(p, 1, &c[1]);

		l->qp[k] = pair_qp(p, 0, &c[0]);
		pair_connect(p, l->qp[k], peer, &c[0]);
	}
}

static uint64_t
both(const char *name)
{
	return pair_stat(p, 0, name) + pair_stat(p, 1, name);
}

int
main(int argc, char **argv)
{
	unsigned int rounds = argc > 4 ? (unsigned int)atoi(argv[3]) : 0;
	uint32_t len = argc > 4 ? (uint32_t)atoi(argv[2]) : 0;
	uint64_t begun, end, messages, cpu = 0;

	num = argc > 4 ? (unsigned int)atoi(argv[1]) : 0;
	cpus = argc > 5 ? (unsigned int)atoi(argv[5]) : 0;
	if (num == 0 || num > PAIR_LANES || len == 0 || len > 4096 || rounds == 0) {
		fprintf(stderr, "usage: bench_lanes LANES LEN ROUNDS same|next [CPUS]\n");
		return 2;
	}
	p = pair_open(&(struct pair_conf){.mtu = 1024, .lanes = {(uint16_t)num, (uint16_t)num}});
	for (uint16_t i = 0; i < num; i++)
		make(&lanes[i], i, len, rounds);
	lanes_wire(p, strcmp(argv[4], "next") == 0 ? LANES_NEXT : LANES_SAME);
	messages = (uint64_t)num * rounds * BATCH;
	if (cpus != 0)
		run_threads(&begun, &end);
	else
		run_alone(&begun, &end);
	for (unsigned int i = 0; i < num; i++)
		cpu += lanes[i].cpu_ns;
	printf("packets %llu\nns_per_packet %.1f\ncpu_ns_per_packet %.1f\npassed %llu, dropped %llu, resent %llu\n",
	       (unsigned long long)messages, (double)(end - begun) * 1e9 / (double)rte_get_tsc_hz() / (double)messages,
	       (double)cpu / (double)messages, (unsigned long long)both("lane_passed"),
	       (unsigned long long)both("lane_drops"), (unsigned long long)both("req_resent"));
	/* The process ends, and all of it goes. */
	return 0;
}
