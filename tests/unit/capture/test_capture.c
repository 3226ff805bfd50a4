/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Parts of a capture: its ring between threads, its words, and filters on packets that lie in pieces. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "lib/capture/capture_priv.h"

#define COUNT 64u
#define THREADS 3u
#define EACH 20000u

/* --- ring ------------------------------------------------------------------------------------------------------------ */

struct feeder {
	pthread_t thread;
	struct cap_ring *ring;
	uint32_t id;
	uint64_t put, lost;
	bool patient; /* it tries again */
};

static void *
feed(void *arg)
{
	struct feeder *f = arg;
	struct cap_slot *s;
	uint64_t pos;
	uint32_t i;

	for (i = 0; i < EACH; i++) {
		while ((s = cap_ring_take(f->ring, &pos)) == NULL && f->patient)
			sched_yield();
		if (s == NULL) {
			f->lost++;
			continue;
		}
		s->time = i;
		s->queue = (uint16_t)f->id;
		s->len = s->kept = COUNT;
		memset(s->data, (int)(i + f->id), COUNT);
		cap_ring_put(f->ring, s, pos);
		f->put++;
	}
	return NULL;
}

static bool
whole(const struct cap_slot *s)
{
	unsigned int i;

	for (i = 0; i < s->kept; i++)
		if (s->data[i] != (uint8_t)(s->time + s->queue))
			return false;
	return s->kept == COUNT;
}

/* Each packet of each thread comes once and in its order, also when slots are given back out of order. */
static void
ring_keeps_order(void **state)
{
	struct feeder f[THREADS] = {0};
	uint64_t next[THREADS] = {0}, seen = 0, pos[2];
	struct cap_slot *s[2];
	struct cap_ring r;
	unsigned int i;

	(void)state;
	assert_int_equal(cap_ring_init(&r, COUNT, COUNT, false), 0);
	for (i = 0; i < THREADS; i++) {
		f[i] = (struct feeder){.ring = &r, .id = i, .patient = true};
		assert_int_equal(pthread_create(&f[i].thread, NULL, feed, &f[i]), 0);
	}
	while (seen < THREADS * EACH) {
		unsigned int n = 0;

		while (n < 2 && (s[n] = cap_ring_next(&r, &pos[n])) != NULL)
			n++;
		if (n == 0)
			sched_yield();
		for (i = 0; i < n; i++, seen++) {
			assert_true(whole(s[i]));
			assert_int_equal(s[i]->time, next[s[i]->queue]);
			next[s[i]->queue]++;
		}
		while (n-- > 0)
			cap_ring_give(&r, s[n], pos[n]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(f[i].thread, NULL);
	assert_null(cap_ring_next(&r, &pos[0]));
	cap_ring_free(&r);
}

static void
ring_is_full(void **state)
{
	uint64_t pos, first;
	struct cap_slot *s, *one;
	struct cap_ring r;
	unsigned int i;

	(void)state;
	assert_int_equal(cap_ring_init(&r, COUNT, COUNT, false), 0);
	for (i = 0; i < COUNT; i++) {
		s = cap_ring_take(&r, &pos);
		assert_non_null(s);
		cap_ring_put(&r, s, pos);
	}
	assert_null(cap_ring_take(&r, &pos));
	one = cap_ring_next(&r, &first);
	assert_non_null(cap_ring_next(&r, &pos));
	assert_null(cap_ring_take(&r, &pos));
	cap_ring_give(&r, one, first);
	assert_non_null(cap_ring_take(&r, &pos));
	/* The second one is still with the reader. */
	assert_null(cap_ring_take(&r, &pos));
	cap_ring_free(&r);
}

/* The last packets stay; what is read beside threads that write is whole. */
static void
ring_goes_round(void **state)
{
	struct cap_slot *to = malloc(sizeof(*to) + COUNT);
	struct feeder f[THREADS] = {0};
	uint64_t pos, put = 0, lost = 0, n = 0, head;
	struct cap_ring r;
	unsigned int i;

	(void)state;
	assert_int_equal(cap_ring_init(&r, COUNT, COUNT, true), 0);
	for (i = 0; i < THREADS; i++) {
		f[i] = (struct feeder){.ring = &r, .id = i};
		assert_int_equal(pthread_create(&f[i].thread, NULL, feed, &f[i]), 0);
	}
	do {
		head = __atomic_load_n(&r.head, __ATOMIC_RELAXED);
		for (pos = head > COUNT ? head - COUNT : 0; pos < head; pos++)
			if (cap_ring_peek(&r, pos, to))
				assert_true(whole(to));
	} while (head < THREADS * EACH);
	for (i = 0; i < THREADS; i++) {
		pthread_join(f[i].thread, NULL);
		put += f[i].put;
		lost += f[i].lost;
	}
	assert_int_equal(put + lost, THREADS * EACH);
	for (pos = r.head - COUNT; pos < r.head; pos++)
		n += cap_ring_peek(&r, pos, to);
	assert_in_range(n, COUNT - RTE_MIN(lost, COUNT), COUNT);
	cap_ring_free(&r);
	free(to);
}

/* --- words ----------------------------------------------------------------------------------------------------------- */

static void
words_come_back(void **state)
{
	static const char *const same[] = {
		"/tmp/a.pcapng",
		"/tmp/a.pcapng direction in",
		"/tmp/a.pcapng direction out queue 3 snap 96 ring 2048*64",
		"/tmp/a.pcapng ring 0*8192 filter tcp port 80 or (arp and not host 192.0.2.1)",
		"/tmp/a.pcapng direction in rss none",
	};
	char err[TP_CAPTURE_ERR], text[TP_CAPTURE_WORDS];
	struct tp_capture_conf conf;
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(same); i++) {
		assert_int_equal(tp_capture_conf_parse(TP_CAPTURE_FILE, same[i], &conf, err), 0);
		tp_capture_conf_text(TP_CAPTURE_FILE, &conf, text);
		assert_string_equal(text, same[i]);
	}
	assert_int_equal(tp_capture_conf_parse(TP_CAPTURE_MEMORY, " on  ", &conf, err), 0);
	assert_int_equal(conf.octets, 128);
	assert_int_equal(conf.packets, 1024);
	assert_true(conf.no_rss);
	tp_capture_conf_text(TP_CAPTURE_MEMORY, &conf, text);
	assert_string_equal(text, "on");
	/* The longest that there can be. */
	memset(&conf, 0, sizeof(conf));
	tp_capture_conf_default(TP_CAPTURE_FILE, &conf);
	memset(conf.file, 'f', sizeof(conf.file) - 1);
	memset(conf.filter, 'x', sizeof(conf.filter) - 1);
	conf.direction = TP_CAPTURE_OUT;
	conf.queue = 1023;
	conf.no_rss = true;
	conf.snap = conf.octets = TP_CAPTURE_OCTETS_MAX;
	conf.packets = TP_CAPTURE_PACKETS_MAX;
	tp_capture_conf_text(TP_CAPTURE_FILE, &conf, text);
	assert_string_equal(text + strlen(text) - sizeof(conf.filter) + 1, conf.filter);
}

static void
words_refused(void **state)
{
	static const struct {
		const char *words, *says;
	} bad[] = {
		{"", "no file is named"},
		{"bogus", "'bogus', want a path with a / in it"},
		{"/tmp/a direction", "direction '', want a value behind it"},
		{"/tmp/a queue 1024", "queue '1024', want 0..1023 or all"},
		{"/tmp/a queue -1", "queue '-1'"},
		{"/tmp/a snap 65537", "snap '65537', want 64..65536 octets"},
		{"/tmp/a ring 64", "ring '64', want OCTETS*PACKETS"},
		{"/tmp/a ring 63*64", "ring '63*64'"},
		{"/tmp/a ring 64*2097152", "ring '64*2097152'"},
		{"/tmp/a ring 64*64x", "ring '64*64x'"},
		{"/tmp/a ring 99999999999*64", "ring '99999999999*64'"},
		{"/tmp/a colour red", "'colour', want direction, queue, rss, snap, ring or filter"},
		{"/tmp/a filter tcp port", "filter 'tcp port'"},
		{"/tmp/a filter    ", "filter '', want an expression"},
	};
	char err[TP_CAPTURE_ERR];
	struct tp_capture_conf conf;
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		err[0] = '\0';
		assert_int_equal(tp_capture_conf_parse(TP_CAPTURE_FILE, bad[i].words, &conf, err), -EINVAL);
		if (strstr(err, bad[i].says) == NULL)
			fail_msg("'%s': %s", bad[i].words, err);
	}
}

/* --- packets in pieces ------------------------------------------------------------------------------------------------ */

/* UDP from 192.0.2.1 port 1000 to 198.51.100.1 port 53, with four octets of data. */
static const uint8_t packet[] = {0x02, 0,  0,    0,    1, 1,  0x02, 0,  0, 0, 0,   1,   0x08, 0x00, 0x45, 0,
				 0,    32, 0,    1,    0, 0,  64,   17, 0, 0, 192, 0,   2,    1,    198,  51,
				 100,  1,  0x03, 0xe8, 0, 53, 0,    12, 0, 0, 't', 'e', 's',  't'};

static bool
match(const char *text, const struct rte_mbuf *m, bool tag)
{
	char err[TP_CAPTURE_ERR];
	struct cap_filter *f;
	bool yes;

	assert_int_equal(cap_filter_make(text, &f, err), 0);
	yes = cap_filter_match(f, m, tag);
	cap_filter_free(f);
	return yes;
}

static void
pieces(void **state)
{
	static const uint8_t tagged[] = {0x02, 0, 0, 0, 1, 1, 0x02, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 7, 8, 0};
	uint8_t data[2][64], copy[sizeof(packet) + RTE_VLAN_HLEN];
	struct rte_mbuf m[2];
	unsigned int cut;

	(void)state;
	for (cut = 1; cut < sizeof(packet); cut++) {
		memset(m, 0, sizeof(m));
		memcpy(data[0], packet, cut);
		memcpy(data[1], packet + cut, sizeof(packet) - cut);
		m[0].buf_addr = data[0];
		m[1].buf_addr = data[1];
		m[0].next = &m[1];
		m[0].nb_segs = 2;
		m[1].nb_segs = 1;
		m[0].pkt_len = sizeof(packet);
		m[0].data_len = (uint16_t)cut;
		m[1].data_len = (uint16_t)(sizeof(packet) - cut);
		m[0].vlan_tci = 0x6007;
		assert_true(match("udp dst port 53 and src host 192.0.2.1", m, false));
		assert_false(match("udp dst port 54", m, false));
		assert_true(match("greater 46 and less 46", m, false));
		assert_true(match("vlan 7 and udp dst port 53", m, true));
		assert_false(match("vlan 8", m, true));
		assert_false(match("vlan", m, false));
		cap_copy(copy, m, sizeof(packet), false);
		assert_memory_equal(copy, packet, sizeof(packet));
		cap_copy(copy, m, sizeof(copy), true);
		assert_memory_equal(copy, tagged, sizeof(tagged));
		assert_memory_equal(copy + sizeof(tagged), packet + 14, sizeof(packet) - 14);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_keeps_order), cmocka_unit_test(ring_is_full),  cmocka_unit_test(ring_goes_round),
		cmocka_unit_test(words_come_back),  cmocka_unit_test(words_refused), cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
