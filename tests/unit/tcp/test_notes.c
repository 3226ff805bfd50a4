/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a home that outlives its program knows of connections: those that a peer may believe in and wait for, by RFC 9293 3.3.2, and no other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "record.h"

#define CONNS 64u
#define SIZE (sizeof(struct tcp_notes) + CONNS * sizeof(struct tcp_note))
static struct tcp_notes *notes[2]; /* to the octet, so that sanitizers see what goes beyond */

static struct tcp_conf conf[2];

static void
begin(void)
{
	for (int i = 0; i < 2; i++) {
		notes[i] = calloc(1, SIZE);
		assert_non_null(notes[i]);
		conf[i] = (struct tcp_conf){.notes = notes[i], .max_conns = CONNS, .time_wait_ms = 1000};
	}
	start(conf, 1000);
	r.free_window = true; /* the rig knows one connection */
}

static void
over(void)
{
	end();
	free(notes[0]);
	free(notes[1]);
}

static uint32_t
count(int side)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CONNS; i++)
		n += notes[side]->at[i].local_port != 0;
	return n;
}

/* How often these two ends are there. */
static uint32_t
has(int side, rte_be16_t local, rte_be16_t remote)
{
	const struct tcp_note *t = notes[side]->at;
	uint32_t n = 0;

	for (uint32_t i = 0; i < notes[side]->end; i++)
		n += t[i].local_ip == r.side[side].ip && t[i].remote_ip == r.side[!side].ip &&
		     t[i].local_port == local && t[i].remote_port == remote;
	return n;
}

static struct tcp_conn *
call(uint16_t port)
{
	const struct tcp_addr from = {r.side[0].ip, rte_cpu_to_be_16(port)}, to = {r.side[1].ip, RTE_BE16(80)};
	int err;

	return tcp_connect(r.side[0].s, &from, &to, NULL, &err);
}

static struct tcp_conn *
hear(uint32_t backlog)
{
	const struct tcp_addr at = {0, RTE_BE16(80)};
	int err;

	return tcp_listen(r.side[1].s, &at, backlog, NULL, &err);
}

static void
pass(void)
{
	rig_until(&r, r.now + 300 * MS);
}

/* A caller is nobody's before it is answered; a server's side is from its answer on, whether it is accepted or not. */
static void
test_handshake(void **state)
{
	struct tcp_conn *l;

	(void)state;
	begin();
	l = hear(4);
	rec[0].lose = true;
	c[0] = call(4000);
	pass();
	assert_int_equal(tcp_state(c[0]), TCP_SYN_SENT);
	assert_int_equal(count(0) + count(1), 0);
	rec[0].lose = false;
	rec[1].lose = true;
	rig_until(&r, r.now + S);
	/* SYN-RECEIVED, as the one connection of that side. */
	assert_int_equal(tcp_conns(r.side[1].s), 1);
	assert_int_equal(count(0), 0);
	assert_int_equal(has(1, RTE_BE16(80), RTE_BE16(4000)), 1);
	rec[1].lose = false;
	rig_until(&r, r.now + 4 * S);
	assert_int_equal(tcp_state(c[0]), TCP_ESTABLISHED);
	assert_int_equal(has(0, RTE_BE16(4000), RTE_BE16(80)), 1);
	assert_int_equal(has(1, RTE_BE16(80), RTE_BE16(4000)), 1);
	c[1] = tcp_accept(l, NULL);
	assert_int_equal(tcp_state(c[1]), TCP_ESTABLISHED);
	assert_int_equal(count(0), 1);
	assert_int_equal(count(1), 1);
	tcp_abort(c[0]);
	pass();
	assert_int_equal(tcp_state(c[1]), TCP_CLOSE);
	assert_int_equal(count(0) + count(1), 0);
	tcp_close(c[1]);
	tcp_close(l);
	over();
}

/* A listener takes those with it that nobody accepted, and those under way; by cookies, too. */
static void
test_listener(void **state)
{
	struct tcp_conn *k[8], *l;
	uint32_t i, n = 0;

	(void)state;
	begin();
	l = hear(2);
	rec[1].lose = true;
	for (i = 0; i < RTE_DIM(k); i++)
		k[i] = call((uint16_t)(5000 + i));
	pass();
	/* The others have cookies, of which nothing is kept. */
	assert_int_equal(count(1), 2);
	rec[0].lose = true;
	tcp_abort(k[0]);
	tcp_abort(k[1]);
	pass();
	rec[0].lose = rec[1].lose = false;
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(tcp_stats(r.side[1].s)->cookies_good, 2);
	assert_int_equal(count(1), tcp_conns(r.side[1].s));
	for (i = 2; i < RTE_DIM(k); i++)
		n += has(1, RTE_BE16(80), rte_cpu_to_be_16((uint16_t)(5000 + i)));
	assert_int_equal(n, 2);
	tcp_close(l);
	pass();
	assert_int_equal(count(1), 0);
	for (i = 2; i < RTE_DIM(k); i++)
		tcp_close(k[i]);
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(count(0), 0);
	over();
}

static void
both(void)
{
	begin();
	if (!rig_connect(&r, c))
		fail_msg("%s", r.why);
	pass();
	assert_int_equal(count(0), 1);
	assert_int_equal(count(1), 1);
}

/* Closed: until the peer has our FIN. Only shut down: until it said its own. In TIME-WAIT nobody waits for us. */
static void
test_ends(void **state)
{
	(void)state;
	both();
	rec[1].lose = true; /* acknowledgements */
	tcp_close(c[0]);
	pass();
	assert_int_equal(count(0), 1);
	assert_int_equal(tcp_state(c[1]), TCP_CLOSE_WAIT);
	assert_int_equal(count(1), 1);
	rec[1].lose = false;
	rig_until(&r, r.now + 3 * S);
	assert_int_equal(count(0), 0);
	assert_int_equal(count(1), 1);
	rec[0].lose = true;
	tcp_close(c[1]);
	pass();
	assert_int_equal(count(1), 1);
	rec[0].lose = false;
	rig_until(&r, r.now + 3 * S);
	assert_int_equal(count(0) + count(1), 0);
	over();

	both();
	assert_int_equal(tcp_shutdown(c[0], SHUT_WR), 0);
	pass();
	assert_int_equal(tcp_state(c[0]), TCP_FIN_WAIT2);
	assert_int_equal(count(0), 1);
	/* From now on nobody waits for what the peer may say. */
	tcp_close(c[0]);
	assert_int_equal(count(0), 0);
	tcp_close(c[1]);
	rig_until(&r, r.now + 3 * S);
	assert_int_equal(count(1), 0);
	over();

	both();
	assert_int_equal(tcp_shutdown(c[0], SHUT_WR), 0);
	tcp_close(c[1]);
	pass();
	assert_int_equal(tcp_state(c[0]), TCP_TIME_WAIT);
	assert_int_equal(count(0) + count(1), 0);
	tcp_close(c[0]);
	rig_until(&r, r.now + 3 * S);
	over();
}

/* Places are used again: what is there is always what a list of the test has, and takes as much room as there ever was at once. */
static void
test_places(void **state)
{
	struct tcp_conn *k[CONNS] = {NULL}, *got[CONNS], *l;
	uint32_t round, i, n = 0, most = 0, had = 0;

	(void)state;
	begin();
	l = hear(1024);
	for (round = 0; round < 3000; round++) {
		i = rig_random(&r, CONNS / 2 + CONNS / 2 * (round / 1500));
		if (k[i] == NULL) {
			k[i] = call((uint16_t)(6000 + i));
			n += k[i] != NULL;
		} else {
			tcp_abort(k[i]);
			k[i] = NULL;
			n--;
		}
		rig_until(&r, r.now + 10 * MS);
		while (had < CONNS && (got[had] = tcp_accept(l, NULL)) != NULL)
			had++;
		for (i = 0; i < had; i++)
			if (tcp_state(got[i]) == TCP_CLOSE) {
				tcp_close(got[i]);
				got[i--] = got[--had];
			}
		most = RTE_MAX(most, n);
		assert_int_equal(count(0), n);
		assert_true(notes[0]->end <= most);
		for (i = 0; i < CONNS; i++)
			assert_int_equal(has(0, rte_cpu_to_be_16((uint16_t)(6000 + i)), RTE_BE16(80)), k[i] != NULL);
	}
	for (i = 0; i < CONNS; i++)
		if (k[i] != NULL)
			tcp_abort(k[i]);
	pass();
	assert_int_equal(count(0) + count(1), 0);
	while (had != 0)
		tcp_close(got[--had]);
	tcp_close(l);
	over();
}

/* Who writes nonsense there, as others can, harms nothing but what is there. */
static void
test_nonsense(void **state)
{
	struct tcp_conn *k;
	uint32_t i, j;

	(void)state;
	both();
	for (i = 0; i < 2000; i++) {
		for (j = 0; j < CONNS; j++)
			notes[0]->at[j].remote_ip = rig_random(&r, 2) != 0 ? UINT32_MAX : rig_random(&r, 1u << 30);
		notes[0]->end = rig_random(&r, 2) != 0 ? UINT32_MAX : rig_random(&r, 2 * CONNS);
		k = call((uint16_t)(7000 + i));
		rig_until(&r, r.now + 5 * MS);
		if (k != NULL)
			tcp_abort(k);
	}
	tcp_abort(c[0]);
	pass();
	over();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_handshake), cmocka_unit_test(test_listener),
					   cmocka_unit_test(test_ends), cmocka_unit_test(test_places),
					   cmocka_unit_test(test_nonsense)};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
