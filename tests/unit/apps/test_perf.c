/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What limits a port, by figures of which one stands out; the histogram of bursts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/triplane/fwd/perf.h"

/* A port that receives and sends 1 Mpkt/s with ease: half of its polls find 8 packets. */
static struct perf *
easy_port(void)
{
	struct perf *p = calloc(1, sizeof(*p));
	unsigned int i;

	assert_non_null(p);
	p->link_up = true;
	p->seconds = 1;
	p->num_rx = p->num_tx = 2;
	for (i = 0; i < 2; i++) {
		struct perf_rx *r = &p->rx[i];
		struct perf_tx *t = &p->tx[i];

		r->queue = t->queue = (uint16_t)i;
		r->burst = t->burst = 32;
		r->served = r->polled = t->served = r->seen = t->seen = true;
		r->lcore = (struct perf_lcore){.id = 1 + i, .memory = 0, .sharing = -1};
		t->lcore = r->lcore;
		r->ring = 512;
		r->packets = t->sent = 500000;
		r->polls = 125000;
		r->bin[0] = 62500;
		r->bin[4] = 62500;
		t->bursts = t->doorbells = t->bin[4] = 62500;
		r->cycles = t->cycles = 50000000;
		r->idle_cycles = t->idle_cycles = 50000000;
	}
	return p;
}

/* Polls that always come back full: there is more than the lcore takes. */
static void
saturate(struct perf_rx *r)
{
	r->polls = r->full = r->bin[6] = 15625;
	r->bin[0] = r->bin[4] = 0;
	r->idle_cycles = 0;
	r->waiting = 400;
}

/* The other end held still for a moment, which makes very many empty polls, and not much of the time. */
static void
add_pause(struct perf_rx *r)
{
	r->bin[0] += 2 * r->polls;
	r->polls += 2 * r->polls;
	r->idle_cycles = r->cycles / 50;
}

static void
judged(struct perf *p, enum perf_limit limit, const char *word1, const char *word2)
{
	perf_judge(p);
	if (p->limit != limit || strstr(p->why, word1) == NULL || strstr(p->why, word2) == NULL)
		fail_msg("'%s': %s; wanted '%s' with %s and %s", perf_limit_names[p->limit], p->why,
			 perf_limit_names[limit], word1, word2);
	free(p);
}

static void
test_idle_and_nothing(void **state)
{
	struct perf *p = easy_port();

	judged(p, PERF_IDLE, "50 %", "who sends");
	p = easy_port();
	memset(p->rx, 0, sizeof(p->rx));
	memset(p->tx, 0, sizeof(p->tx));
	judged(p, PERF_NOTHING, "no packet", "sends to this port");
	p = easy_port();
	p->link_up = false;
	judged(p, PERF_LINK, "link", "down");
}

static void
test_buffers(void **state)
{
	struct perf *p = easy_port();

	p->rx[1].nombuf = 77;
	p->nombuf = 77;
	p->missed = 1000;
	saturate(&p->rx[1]);
	judged(p, PERF_POOL, "queue 1", "77 times");
	/* A device that does not say which queue. */
	p = easy_port();
	p->nombuf = 5;
	judged(p, PERF_POOL, "the port", "5 times");
	p = easy_port();
	memset(&p->rx[1], 0, sizeof(p->rx[1]));
	p->rx[1].queue = 1;
	p->missed = 300;
	judged(p, PERF_UNPOLLED, "300 frames", "queue 1");
}

static void
test_busy_lcore(void **state)
{
	struct perf *p = easy_port();

	saturate(&p->rx[1]);
	p->missed = 1000;
	judged(p, PERF_LCORE, "lcore 2", "100 cycles");
	p = easy_port();
	saturate(&p->rx[1]);
	add_pause(&p->rx[1]);
	p->missed = 1000;
	judged(p, PERF_LCORE, "lcore 2", "100 cycles");
	/* Full bursts now and then, in a queue that is empty most of the time. */
	p = easy_port();
	saturate(&p->rx[1]);
	p->rx[1].idle_cycles = 2 * p->rx[1].cycles;
	p->missed = 1000;
	judged(p, PERF_RING, "512 descriptors", "64.0 us");
	p = easy_port();
	saturate(&p->rx[1]);
	p->rx[1].lcore.socket = 1;
	judged(p, PERF_SOCKET, "lcore 2", "socket 1");
	p = easy_port();
	saturate(&p->rx[0]);
	p->rx[0].lcore.sharing = 2;
	judged(p, PERF_CPU, "lcore 1", "lcore 2");
	/* The same lcore on a CPU that something else wants, too. */
	p = easy_port();
	saturate(&p->rx[0]);
	p->rx[0].lcore.away = 0.4;
	judged(p, PERF_CPU, "40 %", "CPU of its own");
	p = easy_port();
	p->missed = 9;
	p->rx[0].lcore.away = p->rx[1].lcore.away = 0.2;
	judged(p, PERF_CPU, "20 %", "CPU of its own");
	p = easy_port();
	saturate(&p->rx[0]);
	p->rx[0].burst = 1;
	p->missed = 1;
	judged(p, PERF_BURST, "queue 0", "1 packets at a time");
}

static void
test_ring(void **state)
{
	struct perf *p = easy_port();

	p->missed = 2000;
	judged(p, PERF_RING, "512 descriptors", "8.0 us");
}

/* 2000 frames are lost in half a second of 500000: the time of 2 ms, in which the lcore was not on its CPU. */
static void
test_off_cpu(void **state)
{
	struct perf *p = easy_port();

	p->missed = 2000;
	p->rx[0].lcore.away = p->rx[1].lcore.away = 0.003;
	judged(p, PERF_CPU, "0.3 %", "2000 frames");
	p = easy_port();
	p->missed = 2000;
	p->rx[0].lcore.stolen = p->rx[1].lcore.stolen = 0.02;
	judged(p, PERF_CPU, "steal", "host");
	/* It was away for a time that explains none of what was lost. */
	p = easy_port();
	p->missed = 200000;
	p->rx[0].lcore.away = p->rx[1].lcore.away = 0.003;
	judged(p, PERF_RING, "200000 frames", "at once");
	/* Polls are as far apart as the ring is long. */
	p = easy_port();
	p->missed = 2000;
	p->rx[0].polls = p->rx[1].polls = 3000;
	p->rx[0].bin[0] = p->rx[1].bin[0] = 0;
	judged(p, PERF_RING, "512 descriptors", "too few");
}

static void
test_transmit(void **state)
{
	struct perf *p = easy_port();

	p->tx[1].blocked = p->tx[1].bursts / 2;
	p->tx_bytes = 125000000;
	judged(p, PERF_WIRE, "50 % of bursts", "1000 Mbit/s");
	p = easy_port();
	p->tx[1].blocked = p->tx[1].bursts / 2;
	p->paused = 12;
	judged(p, PERF_PAUSE, "12 pause frames", "peer");
	p = easy_port();
	p->tx[0].generates = true;
	p->tx[0].burst = 1;
	p->tx[0].doorbells = p->tx[0].sent;
	judged(p, PERF_BURST, "1 packets at a time", "1.00 doorbells");
	p = easy_port();
	p->tx[0].generates = true;
	p->tx[0].idle_cycles = 0;
	judged(p, PERF_LCORE, "lcore 1", "transmit queue 0");
	/* It tries the same burst many times within a short wait. */
	p = easy_port();
	p->tx[0].generates = true;
	p->tx[0].blocked = 20 * p->tx[0].doorbells;
	p->tx[0].bursts += p->tx[0].blocked;
	p->tx[0].full_cycles = p->tx[0].idle_cycles = p->tx[0].cycles / 20;
	judged(p, PERF_LCORE, "lcore 1", "transmit queue 0");
	p = easy_port();
	p->tx[0].generates = true;
	p->tx[0].full_cycles = p->tx[0].cycles / 2;
	p->tx_bytes = 125000000;
	judged(p, PERF_WIRE, "25 % of the time", "1000 Mbit/s");
}

static void
test_bins(void **state)
{
	static const struct {
		unsigned int packets, bin;
	} want[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {31, 5}, {32, 6}, {255, 8}, {256, 9}, {511, 9}, {512, 10}};
	struct fwd_stream s = {.burst = 512};
	unsigned int i;

	for (i = 0; i < RTE_DIM(want); i++) {
		memset(&s.stats, 0, sizeof(s.stats));
		stat_rx(&s, want[i].packets);
		assert_int_equal(s.stats.rx_bin[want[i].bin], 1);
		assert_int_equal(s.stats.rx, want[i].packets);
		assert_int_equal(s.stats.rx_full, want[i].packets == 512);
		stat_tx(&s, want[i].packets, want[i].packets / 2);
		assert_int_equal(s.stats.tx_bin[want[i].bin], 1);
		assert_int_equal(s.stats.tx_full, want[i].packets > 0);
		assert_int_equal(s.stats.doorbells, want[i].packets > 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_and_nothing),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_busy_lcore),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_off_cpu),
		cmocka_unit_test(test_transmit),
		cmocka_unit_test(test_bins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
