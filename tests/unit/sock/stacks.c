/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two stacks of TCP in a thread each, with a queue each and nothing in common: the engine has no globals and no locks. */
#include <sys/socket.h>

#include "wire.h"

#define LAST_US 500000u

static void
no_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)conn, (void)user, (void)events;
}

static uint32_t
random_of(void *home)
{
	struct end *e = home;

	e->random = e->random * 1664525 + 1013904223;
	return e->random;
}

static const struct tcp_home tcp_ops = {end_give, end_path, end_ours, no_event, random_of, NULL};

static void
moves_on(struct end *e, struct tcp_stack *s)
{
	struct rte_mbuf *m[32];

	tcp_input(s, m, end_take(e, m, 32), sock_now());
	(void)tcp_run(s, sock_now());
}

/* What a connection has to say goes; what it hears comes back. False: it is over. */
static bool
talks(struct tcp_conn *c, uint32_t *sent, uint32_t *got, uint8_t mark)
{
	uint8_t data[1000];
	ssize_t n;

	if (tcp_state(c) == TCP_SYN_SENT)
		return true;
	memset(data, mark, sizeof(data));
	if (*sent < OCTETS) {
		n = tcp_send(c, &(struct iovec){data, RTE_MIN(sizeof(data), (size_t)(OCTETS - *sent))}, 1, 0);
		*sent += n > 0 ? (uint32_t)n : 0;
		if (*sent == OCTETS)
			CHECK(tcp_shutdown(c, SHUT_WR) == 0);
	}
	n = tcp_recv(c, &(struct iovec){data, sizeof(data)}, 1, 0);
	for (ssize_t i = 0; i < n; i++)
		CHECK(data[i] == (uint8_t)(mark ^ 1));
	*got += n > 0 ? (uint32_t)n : 0;
	return n != 0 || *sent != OCTETS;
}

static void *
runs(void *arg)
{
	struct end *e = arg;
	const bool asks_first = e == &end[2];
	const struct tcp_conf conf = {.pool = e->pool, .delack_ms = 1, .rto_min_ms = 20, .time_wait_ms = 1};
	const struct tcp_addr at = {e->ip, RTE_BE16(90)}, to = {e->peer->ip, RTE_BE16(90)};
	uint64_t until = soon();
	int err = 0;
	struct tcp_stack *s = tcp_stack_create(&conf, &tcp_ops, e, sock_now(), &err);
	struct tcp_conn *l = s == NULL || asks_first ? NULL : tcp_listen(s, &at, 4, NULL, &err), *c;

	CHECK(s != NULL && err == 0);
	for (unsigned int i = 0; s != NULL && i < CALLS && sock_now() < until; i++) {
		uint32_t sent = 0, got = 0;

		c = asks_first ? tcp_connect(s, NULL, &to, NULL, &err) : NULL;
		while (!asks_first && (c = tcp_accept(l, NULL)) == NULL && sock_now() < until)
			moves_on(e, s);
		CHECK(c != NULL);
		while (c != NULL && talks(c, &sent, &got, asks_first) && sock_now() < until)
			moves_on(e, s);
		CHECK(sent == OCTETS && got == OCTETS);
		if (c != NULL)
			tcp_close(c);
	}
	/* The peer may miss the last acknowledgement, and this end the peer's, where that has gone. */
	until = RTE_MIN(until, sock_now() + LAST_US);
	while (s != NULL && (tcp_conns(s) != 0 || tcp_time_waits(s) != 0) && sock_now() < until)
		moves_on(e, s);
	if (s != NULL)
		tcp_stack_destroy(s);
	return NULL;
}

void
test_stacks(void **state)
{
	pthread_t t[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		begin(&t[i], runs, &end[2 + i]);
	join(t, 2);
}
