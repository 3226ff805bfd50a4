/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Choice of a transmit queue, on frames that scapy built, and a port whose queues remember what they were given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ethdev.h>

#include "tp_txq.h"

struct frame {
	unsigned int group;
	const uint8_t *data;
	uint16_t len;
};
#include "txq_packets.h"

#define PORT 3u
#define QUEUES 8u
#define ALL UINT16_MAX

static uint16_t
choose(const struct tp_txq_choice *c, const uint8_t *data, uint16_t first_len, uint32_t len)
{
	uint8_t *copy = malloc(first_len + 1u); /* the sanitizer tells who reads behind it */
	struct rte_mbuf m = {.buf_addr = copy + 1, .data_len = first_len, .pkt_len = len};
	uint16_t queue;

	memcpy(copy + 1, data, first_len);
	queue = tp_txq_choose(c, &m);
	free(copy);
	return queue;
}

static struct tp_txq_choice
choice(unsigned int by, uint16_t first, uint16_t num)
{
	struct tp_txq_choice c;
	char err[128];

	assert_int_equal(tp_txq_init(&c, by, PORT, first, num, err, sizeof(err)), 0);
	return c;
}

static void
flows_stay(void **state)
{
	const struct tp_txq_choice c = choice(TP_TXQ_BY_HASH, 5, TP_TXQ_MOST);
	unsigned int i;

	(void)state;
	for (i = 1; i < RTE_DIM(alike); i++)
		if (alike[i].group == alike[i - 1].group)
			assert_int_equal(choose(&c, alike[i].data, alike[i].len, alike[i].len),
					 choose(&c, alike[i - 1].data, alike[i - 1].len, alike[i - 1].len));
	for (i = 0; i < RTE_DIM(nothing); i++)
		assert_int_equal(choose(&c, nothing[i].data, nothing[i].len, nothing[i].len), c.first);
}

/* 256 flows that differ in one field, over any number of queues: no queue outside, none empty, none with three times its share. */
static void
flows_spread(void **state)
{
	unsigned int i, k, g;
	uint16_t num;

	(void)state;
	for (num = 2; num <= QUEUES; num++) {
		const struct tp_txq_choice c = choice(TP_TXQ_BY_HASH, 4, num);

		for (g = 0; g < 4; g++) {
			unsigned int n[QUEUES] = {0};

			for (i = 0; i < RTE_DIM(many); i++) {
				if (many[i].group != g)
					continue;
				k = choose(&c, many[i].data, many[i].len, many[i].len);
				assert_in_range(k, 4, 4 + num - 1);
				n[k - 4]++;
			}
			for (k = 0; k < num; k++)
				assert_in_range(n[k], 1, 3 * 256 / num);
		}
	}
}

static void
sizes(void **state)
{
	static const struct {
		uint16_t num, small_first, small_last, large_first, large_last;
		unsigned int by;
	} want[] = {
		{2, 1, 1, 2, 2, TP_TXQ_BY_SIZE},
		{8, 1, 1, 2, 2, TP_TXQ_BY_SIZE},
		{2, 1, 1, 2, 2, TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH},
		{3, 1, 1, 2, 3, TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH},
		{8, 1, 4, 5, 8, TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH},
	};
	unsigned int i, k;

	(void)state;
	for (k = 0; k < RTE_DIM(want); k++) {
		const struct tp_txq_choice c = choice(want[k].by, 1, want[k].num);

		for (i = 0; i < RTE_DIM(many); i++) {
			assert_in_range(choose(&c, many[i].data, 100, 127), want[k].small_first, want[k].small_last);
			assert_in_range(choose(&c, many[i].data, 128, 128), want[k].large_first, want[k].large_last);
		}
	}
}

/* However little of a frame is in its first buffer, nothing behind that is read, and there is an answer. */
static void
cut(void **state)
{
	const struct tp_txq_choice c = choice(TP_TXQ_BY_HASH, 0, 7);
	unsigned int i;
	uint16_t len;

	(void)state;
	for (i = 0; i < RTE_DIM(alike); i++)
		for (len = 0; len <= RTE_MIN(alike[i].len, 100); len++)
			assert_in_range(choose(&c, alike[i].data, len, alike[i].len), 0, 6);
}

static void
refusals(void **state)
{
	static const struct {
		unsigned int by;
		uint16_t num;
		const char *word;
	} bad[] = {{0, 4, "0x0"}, {4, 4, "0x4"}, {TP_TXQ_BY_HASH, 1, "2..256"}, {TP_TXQ_BY_SIZE, 257, "257"}};
	struct tp_txq_choice c;
	char err[128];
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		assert_int_equal(tp_txq_init(&c, bad[i].by, PORT, 0, bad[i].num, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, bad[i].word));
	}
}

/* --- a port of ours ------------------------------------------------------------------------------------------- */

struct queue {
	struct rte_mbuf *got[TP_TXQ_BURST];
	unsigned int n, room, calls, prepared;
};
static struct queue queues[QUEUES];
static void *queue_data[QUEUES];

static uint16_t
take(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct queue *q = txq;
	uint16_t i;

	q->calls++;
	for (i = 0; i < n && q->n < q->room; i++)
		q->got[q->n++] = pkts[i];
	return i;
}

/* Finds a fault in each packet whose number is in the packet's length. */
static uint16_t
prepare(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct queue *q = txq;
	uint16_t i;

	for (i = 0; i < n && pkts[i]->pkt_len != 200; i++)
		q->prepared++;
	return i;
}

static void
send_burst(uint16_t room, bool faults, uint64_t *bursts)
{
	static struct rte_mbuf m[RTE_DIM(many)];
	struct rte_mbuf *pkts[TP_TXQ_BURST], *left[TP_TXQ_BURST];
	struct tp_txq_choice c = choice(TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH, 1, 6);
	uint8_t seen[RTE_DIM(many)] = {0};
	unsigned int i, k;
	uint16_t sent;

	memset(queues, 0, sizeof(queues));
	c.prepare = faults;
	for (i = 0; i < TP_TXQ_BURST; i++) {
		m[i] = (struct rte_mbuf){.buf_addr = (void *)(uintptr_t)many[i].data,
					 .data_len = many[i].len,
					 .pkt_len = faults && i % 64 == 63 ? 200
						    : i % 3 == 0           ? 100
									   : 300};
		pkts[i] = &m[i];
	}
	for (i = 0; i < QUEUES; i++) {
		queues[i].room = room;
		queue_data[i] = &queues[i];
	}
	rte_eth_fp_ops[PORT].txq.data = queue_data;
	rte_eth_fp_ops[PORT].tx_pkt_burst = take;
	rte_eth_fp_ops[PORT].tx_pkt_prepare = prepare;
	sent = tp_txq_send(&c, pkts, TP_TXQ_BURST, bursts);
	memcpy(left, &pkts[sent], (TP_TXQ_BURST - sent) * sizeof(left[0]));
	for (k = 0; k < QUEUES; k++) {
		for (i = 0; i < queues[k].n; i++) {
			assert_int_equal(tp_txq_choose(&c, queues[k].got[i]), k);
			assert_true(i == 0 || queues[k].got[i] > queues[k].got[i - 1]);
			assert_int_equal(seen[queues[k].got[i] - m]++, 0);
			sent--;
		}
	}
	assert_int_equal(sent, 0);
	for (k = 0, i = 0; i < TP_TXQ_BURST; i++)
		k += seen[i];
	for (i = 0; i < TP_TXQ_BURST - k; i++)
		assert_int_equal(seen[left[i] - m]++, 0);
	for (i = 0; i < TP_TXQ_BURST; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(queues[0].calls + queues[7].calls, 0);
}

static void
sends(void **state)
{
	unsigned int i, sent = 0;
	uint64_t bursts = 0;

	(void)state;
	send_burst(ALL, false, &bursts);
	assert_int_equal(bursts, 6);
	send_burst(20, false, &bursts);
	assert_int_equal(bursts, 12);
	send_burst(0, false, &bursts);
	assert_int_equal(bursts, 12);
	send_burst(ALL, true, NULL);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(queues[i].prepared, queues[i].n);
		sent += queues[i].n;
	}
	assert_in_range(sent, 1, TP_TXQ_BURST - 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_stay), cmocka_unit_test(flows_spread), cmocka_unit_test(sizes),
		cmocka_unit_test(cut),        cmocka_unit_test(refusals),     cmocka_unit_test(sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
