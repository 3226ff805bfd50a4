/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ECN by RFC 3168: who agrees to it, what a mark leads to, and what it spares. The rig looks at the fields of each frame. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "record.h"

#define MSS 1448u
#define ECE 0x40u
#define CWR 0x80u

static const struct tcp_conf both[2] = {{.ecn = TCP_ECN_ON}, {0}};

static struct tcp_info
info(int n)
{
	struct tcp_info i;

	tcp_info_get(c[n], &i);
	return i;
}

static const struct tcp_stats *
stats(int n)
{
	return tcp_stats(r.side[n].s);
}

/* 6.1.1: who asks, who agrees; both ends say the same of it. */
static void
test_agreed(void **state)
{
	static const enum tcp_ecn all[] = {TCP_ECN_PASSIVE, TCP_ECN_ON, TCP_ECN_OFF};
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 3; k++) {
			const struct tcp_conf conf[2] = {{.ecn = all[i]}, {.ecn = all[k]}};
			const bool agreed = all[i] == TCP_ECN_ON && all[k] != TCP_ECN_OFF;

			connected(conf, 1000);
			assert_int_equal((info(0).tcpi_options & TCPI_OPT_ECN) != 0, agreed);
			assert_int_equal((info(1).tcpi_options & TCPI_OPT_ECN) != 0, agreed);
			assert_int_equal(r.side[0].ecn_said, all[i] == TCP_ECN_ON ? ECE | CWR : 0);
			assert_int_equal(r.side[1].ecn_said, agreed ? ECE | ACK : ACK);
			assert_int_equal(put(0, MSS), MSS);
			rig_until(&r, r.now + 100 * MS);
			assert_int_equal(rec[0].last[15] & 3, agreed ? 2 : 0);
			assert_int_equal(put(1, MSS), MSS);
			rig_until(&r, r.now + 100 * MS);
			assert_int_equal(rec[1].last[15] & 3, agreed ? 2 : 0);
			end();
		}
	}
}

/* 6.1.1.1: an answer with both flags is one that only repeats them; a SYN that nobody answers is sent again without. */
static void
test_refused(void **state)
{
	static const struct {
		uint8_t flags;
		bool agreed;
	} rows[] = {
		{SYN | ACK | ECE, true}, {SYN | ACK | ECE | CWR, false}, {SYN | ACK | CWR, false}, {SYN | ACK, false}};
	const struct tcp_addr to = {RTE_BE32(RTE_IPV4(10, 0, 0, 2)), RTE_BE16(80)};
	uint8_t f[54];
	uint32_t i;
	int err;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		start(both, 1000);
		c[0] = tcp_connect(r.side[0].s, NULL, &to, NULL, &err);
		assert_non_null(c[0]);
		rec[0].lose = true;
		rig_until(&r, r.now + 1000);
		assert_int_equal(rec[0].e[0].flags, SYN | ECE | CWR);
		r.free_window = true;
		memcpy(f, rec[0].last, sizeof(f));
		put32(f + 26, RTE_IPV4(10, 0, 0, 2));
		put32(f + 30, RTE_IPV4(10, 0, 0, 1));
		memcpy(f + 34, rec[0].last + 36, 2);
		memcpy(f + 36, rec[0].last + 34, 2);
		put16(f + 16, 40);
		f[46] = 5 << 4;
		put32(f + 42, rec[0].e[0].seq + 1);
		f[47] = rows[i].flags;
		rig_inject(&r, 0, f, sizeof(f));
		assert_int_equal(tcp_state(c[0]), TCP_ESTABLISHED);
		assert_int_equal((info(0).tcpi_options & TCPI_OPT_ECN) != 0, rows[i].agreed);
		end();
	}
	start(both, 1000);
	assert_non_null(tcp_connect(r.side[0].s, NULL, &to, NULL, &err));
	rec[0].lose = true;
	rig_until(&r, r.now + 4 * S);
	assert_int_equal(rec[0].n, 3);
	assert_int_equal(rec[0].e[0].flags, SYN | ECE | CWR);
	assert_int_equal(rec[0].e[1].flags, SYN);
	assert_int_equal(rec[0].e[2].flags, SYN);
	end();
}

/* How many of the frames that were written down have a flag, from one on. */
static uint32_t
with_flag(int n, uint8_t flag, uint32_t from)
{
	uint32_t i, k = 0;

	for (i = from; i < rec[n].n; i++)
		k += (rec[n].e[i].flags & flag) != 0;
	return k;
}

/* 6.1.2, 6.1.3: the mark of one packet is echoed until the window was cut, which is told once. */
static void
test_echo(void **state)
{
	uint32_t cwnd;

	(void)state;
	connected(both, 1000);
	cwnd = info(0).tcpi_snd_cwnd;
	r.wire[0].mark = 65536;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100);
	r.wire[0].mark = 0;
	assert_int_equal(r.side[0].marked, 1);
	rig_until(&r, r.now + 1500);
	/* At once, not with the delayed acknowledgement. */
	assert_int_equal(rec[1].n, 1);
	assert_int_equal(rec[1].e[0].flags, ACK | ECE);
	assert_int_equal(stats(1)->rx_ce, 1);
	/* Also what else the receiver sends, until it hears that the window was cut. */
	assert_int_equal(put(1, 100), 100);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(rec[1].e[1].flags & ECE, ECE);
	assert_int_equal(stats(0)->ecn_cuts, 1);
	assert_true(info(0).tcpi_snd_cwnd < cwnd);
	assert_int_equal(with_flag(0, CWR, 0), 0);
	rec[0].n = rec[1].n = 0;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(with_flag(0, CWR, 0), 1);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(with_flag(0, CWR, 0), 1);
	assert_int_equal(with_flag(1, ECE, 0), 0);
	assert_int_equal(stats(0)->ecn_cuts, 1);
	end();
}

/* A flow that always has more to send. */
static void
flow(uint64_t until)
{
	while (r.now < until && r.why[0] == 0) {
		while (put(0, 65536) > 0)
			;
		rig_step(&r);
		while (get(1, 65536) > 0)
			;
	}
}

/* 6.1.2: each packet is marked, and still the window is cut once a round trip. */
static void
test_once_a_window(void **state)
{
	const uint64_t rtt = 100 * MS;
	uint64_t cuts, began;

	(void)state;
	connected(both, rtt / 2);
	r.wire[0].bytes_per_ms = 125000;
	r.wire[0].mark = 65536;
	began = r.now;
	flow(began + 2 * rtt);
	cuts = stats(0)->ecn_cuts;
	flow(began + 22 * rtt);
	cuts = stats(0)->ecn_cuts - cuts;
	assert_in_range(cuts, 9, 21);
	assert_int_equal(stats(0)->retransmits, 0);
	/* RFC 5681 3.1: not below two segments */
	assert_int_equal(info(0).tcpi_snd_cwnd, 2);
	end();
}

/* Without congestion control nothing heeds marks, so nothing asks for them; what comes marked is echoed. */
static void
test_no_control(void **state)
{
	const struct tcp_conf conf[2] = {{.ecn = TCP_ECN_ON, .cc = TCP_CC_NONE}, {0}};

	(void)state;
	connected(conf, 1000);
	assert_int_equal(put(0, MSS), MSS);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(rec[0].last[15] & 3, 0);
	r.wire[1].mark = 65536;
	assert_int_equal(put(1, MSS), MSS);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(stats(0)->rx_ce, 1);
	assert_int_equal(rec[0].last[47] & ECE, ECE);
	assert_int_equal(stats(1)->ecn_cuts, 1);
	assert_int_equal(tcp_cc_set(c[0], TCP_CC_RENO), 0);
	assert_int_equal(put(0, MSS), MSS);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(rec[0].last[15] & 3, 2);
	end();
}

/* A switch that marks from 64 KB on and drops from 128 KB on: the link stays full, and nothing is lost. The same without ECN. */
static void
test_marking_queue(void **state)
{
	uint64_t octets[2], lost[2];
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct tcp_conf conf[2] = {
			{.ecn = i == 0 ? TCP_ECN_ON : TCP_ECN_OFF, .tso = true, .tx_checksum = true}, {0}};
		uint64_t began;

		connected(conf, 250);
		r.wire[0].bytes_per_ms = 125000;
		r.wire[0].queue_bytes = 131072;
		r.wire[0].mark_bytes = 65536;
		flow(r.now + 200 * MS);
		lost[i] = r.side[0].dropped;
		octets[i] = stats(1)->rx_bytes;
		began = r.now;
		flow(began + S);
		octets[i] = stats(1)->rx_bytes - octets[i];
		print_message("ECN %s: %lu MB/s of 125, %lu frames lost in slow start, %lu later, %lu marked\n",
			      i == 0 ? "on" : "off", (unsigned long)(octets[i] / 1000000), (unsigned long)lost[i],
			      (unsigned long)(r.side[0].dropped - lost[i]), (unsigned long)r.side[0].marked);
		lost[i] = r.side[0].dropped - lost[i];
		assert_int_equal(r.side[0].marked != 0, i == 0);
		end();
	}
	assert_int_equal(lost[0], 0);
	assert_true(lost[1] != 0);
	assert_true(octets[0] > 112000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agreed),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_echo),       cmocka_unit_test(test_once_a_window),
		cmocka_unit_test(test_no_control), cmocka_unit_test(test_marking_queue),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
