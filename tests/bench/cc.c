/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_cc QPS off|on|limited [ROUNDS]: what congestion control costs a port of RoCE in software that has so many queue pairs of UC,
 * on one lcore. Each posts two WRITEs of 1 KiB in a round. off: there is none; on: all priorities have it, and nobody was
 * told anything; limited: each queue pair is limited, so that its second packet waits for its time. Instructions of bench_progress,
 * callees included, are counted from outside (callgrind --toggle-collect); the wire takes what comes. Without callgrind, the CPU
 * time of it is printed, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/roce/soft/sw.h"
#include "tests/unit/roce_sw/pair.h"

#define LEN 1024u
#define LIST 2u
#define BURST 64u
#define ROUNDS 4u

static uint64_t packets;

__attribute__((noinline)) static void
bench_progress(struct ibv_context *ctx)
{
	tp_roce_progress(ctx);
}

/* The wire: takes what comes. */
static void
drain(struct rte_ring *r)
{
	void *m[BURST];
	unsigned int n;

	while ((n = rte_ring_dequeue_burst(r, m, BURST, NULL)) != 0) {
		packets += n;
		rte_pktmbuf_free_bulk((struct rte_mbuf **)m, n);
	}
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
post(struct pair *p, struct ibv_qp *qp)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr[LIST], *bad;

	for (unsigned int i = 0; i < LIST; i++) {
		wr[i] = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, LEN, 0);
		wr[i].next = i + 1 < LIST ? &wr[i + 1] : NULL;
		wr[i].send_flags = 0;
	}
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

int
main(int argc, char **argv)
{
	const struct pair_conf conf = {.mtu = LEN};
	const struct qp_conf qc = {.type = IBV_QPT_UC, .send_wr = 16, .recv_wr = 1, .sge = 1};
	unsigned int n = argc > 2 ? (unsigned int)atoi(argv[1]) : 0,
		     rounds = argc > 3 ? (unsigned int)atoi(argv[3]) : ROUNDS;
	bool limited = argc > 2 && strcmp(argv[2], "limited") == 0,
	     on = limited || (argc > 2 && strcmp(argv[2], "on") == 0);
	const struct rsw_rx rx = {.kind = TROCE_ICRC_IPV4_UDP};
	const struct tre_in cnp = {.home = &rx};
	uint64_t spent = 0, begun, sent = 0;
	struct rte_ring *wire;
	struct ibv_qp **a, *b;
	struct pair *p;

	if (n == 0 || rounds == 0) {
		fprintf(stderr, "usage: bench_cc QPS off|on|limited [ROUNDS]\n");
		return 2;
	}
	p = pair_open(&conf);
	wire = rte_ring_lookup("tx0");
	a = calloc(n, sizeof(*a));
	if (on) {
		assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, UINT8_MAX, true), 0);
		/* A packet each 81 us of a queue pair, for as long as the test lasts. */
		assert_int_equal(tp_roce_cc_set(p->n[0].ctx, UINT8_MAX, "rate-on-first-cnp", 100), 0);
		assert_int_equal(tp_roce_cc_set(p->n[0].ctx, UINT8_MAX, "time-reset", 0), 0);
		assert_int_equal(tp_roce_cc_set(p->n[0].ctx, UINT8_MAX, "byte-reset", 0), 0);
	}
	for (unsigned int i = 0; i < n; i++) {
		pair_qps(p, &qc, &a[i], &b);
		if (limited)
			rsw_cc_congested(&((struct rsw_qp *)a[i])->e, &cnp, troce_now_ns(troce_dev_of(p->n[0].ctx)));
	}
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), limited ? n : 0);
	drain(wire);
	packets = 0;
	for (unsigned int r = 0; r < rounds; r++)
		for (unsigned int i = 0; i < n; i++) {
			post(p, a[i]);
			sent += LIST;
			begun = cpu_ns();
			bench_progress(p->n[0].ctx);
			spent += cpu_ns() - begun;
			drain(wire);
		}
	while (packets < sent) {
		begun = cpu_ns();
		bench_progress(p->n[0].ctx);
		spent += cpu_ns() - begun;
		drain(wire);
	}
	printf("packets %llu\nns_per_packet %.1f\n", (unsigned long long)packets, (double)spent / (double)packets);
	/* The process ends, and all of it goes. */
	return 0;
}
