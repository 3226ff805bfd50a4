/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_qps QPS ACTIVE LEN [ROUNDS]: a port of RoCE in software that has so many queue pairs of RC. What they take of memory, and what a
 * message of LEN octets takes of both ends when ACTIVE of them send in turns, 32 under way at a time; both ports are on one lcore.
 * Instructions of bench_*, callees included, are counted from outside (callgrind --toggle-collect); the wire is not in them.
 * 'packets' are messages.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/roce/soft/sw.h"
#include "tests/unit/roce_sw/pair.h"

#define BATCH 32u
#define BURST 64u
#define ROUNDS 4u
#define KEEP 1024u /* queue pairs made between two looks at the wire */

static struct pair *p;
static struct rte_ring *tx[2], *rx[2];

/* Of the EAL's memory and the C library's. */
static size_t
used(void)
{
	struct rte_malloc_socket_stats st;
	struct mallinfo2 m = mallinfo2();

	assert_int_equal(rte_malloc_get_socket_stats(0, &st), 0);
	return st.heap_allocsz_bytes + m.uordblks + m.hblkhd;
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
wire(unsigned int from)
{
	void *m[BURST];
	unsigned int n;

	while ((n = rte_ring_dequeue_burst(tx[from], m, BURST, NULL)) != 0)
		assert_int_equal(rte_ring_enqueue_bulk(rx[!from], m, n, NULL), n);
}

__attribute__((noinline)) static void
bench_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

__attribute__((noinline)) static void
bench_progress(unsigned int node)
{
	tp_roce_progress(p->n[node].ctx);
}

__attribute__((noinline)) static int
bench_poll(struct ibv_wc *wc)
{
	return ibv_poll_cq(p->n[0].cq, BATCH, wc);
}

/* A message of each of these queue pairs, until all are acknowledged. */
static void
turn(struct ibv_qp **a, unsigned int n, uint32_t len)
{
	struct ibv_wc wc[BATCH];
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, len, 0);
	for (unsigned int i = 0; i < n; i++)
		bench_post(a[i], &wr);
	for (unsigned int done = 0; done < n;) {
		int got;

		bench_progress(0);
		wire(0);
		bench_progress(1);
		wire(1);
		bench_progress(0);
		got = bench_poll(wc);
		for (int i = 0; i < got; i++)
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		done += (unsigned int)got;
	}
}

/* All at one end, of which the first ones have a peer each at the other; the rest could only send. */
static struct ibv_qp **
make(unsigned int n, unsigned int active, const struct qp_conf *c)
{
	struct ibv_qp **a = calloc(n, sizeof(*a)), **b = calloc(active, sizeof(*b));

	assert_true(a != NULL && b != NULL);
	for (unsigned int i = 0; i < active; i++)
		b[i] = pair_qp(p, 1, c);
	for (unsigned int i = 0; i < n; i++) {
		a[i] = pair_qp(p, 0, c);
		pair_connect_one(p, a[i], b[i % active], c);
		if (i < active)
			pair_connect_one(p, b[i], a[i], c);
		/* Neighbours have to be heard of from time to time. */
		if (i % KEEP == 0)
			pair_step(p);
	}
	free(b);
	return a;
}

int
main(int argc, char **argv)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .send_wr = 1, .recv_wr = 1, .sge = 1, .inl = 16, .timeout = 20};
	unsigned int n = argc > 3 ? (unsigned int)atoi(argv[1]) : 0,
		     active = argc > 3 ? (unsigned int)atoi(argv[2]) : 0,
		     rounds = argc > 4 ? (unsigned int)atoi(argv[4]) : ROUNDS;
	uint32_t len = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
	struct ibv_qp **a;
	size_t before;
	double begun;

	if (active == 0 || n < active || len == 0 || rounds == 0) {
		fprintf(stderr, "usage: bench_qps QPS ACTIVE LEN [ROUNDS]\n");
		return 2;
	}
	pair_eal_mb = 256 + (unsigned int)(((uint64_t)n + active) * (sizeof(struct rsw_qp) + 256) >> 20);
	p = pair_open(&(struct pair_conf){.mtu = 1024});
	for (unsigned int i = 0; i < 2; i++) {
		char name[8];

		snprintf(name, sizeof(name), "tx%u", i);
		tx[i] = rte_ring_lookup(name);
		snprintf(name, sizeof(name), "rx%u", i);
		rx[i] = rte_ring_lookup(name);
	}
	before = used();
	begun = cpu_s();
	a = make(n, active, &c);
	printf("queue pairs %u, octets_each %.0f, structure %zu, us_to_make %.2f\n", n,
	       (double)(used() - before) / (n + active), sizeof(struct rsw_qp), (cpu_s() - begun) * 1e6 / (n + active));
	begun = cpu_s();
	for (unsigned int r = 0; r < rounds; r++)
		for (unsigned int i = 0; i < active; i += BATCH)
			turn(a + i, active - i < BATCH ? active - i : BATCH, len);
	printf("packets %llu\nns_per_packet %.1f\n", (unsigned long long)rounds * active,
	       (cpu_s() - begun) * 1e9 / ((double)rounds * active));
	/* The process ends, and all of it goes. */
	return 0;
}
