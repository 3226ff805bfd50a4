/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * lib/tcp step by step in virtual time: commands come as lines by standard input, each is answered by "= RESULT" ("data HEX" before it), a
 * line "out HEX" for each frame that was sent, in any order, and a line ".". One handle, and one listener at port 80; 10.0.0.2 is its address.
 *
 *   conf NAME=N... | listen | connect PORT | accept | send N | recv N | shutdown | close | abort | in HEX | wait US | state |
 *   conns
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_ip.h>

#include "lib/tcp/tcp.h"

#define FRAME_MAX 2048u

static struct rte_mempool *pool;
static struct tcp_stack *s;
static struct tcp_conn *listener, *c;
static uint64_t now = 1000000000;
static uint32_t seed = 1;
static uint8_t data[65536];

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[FRAME_MAX];
	uint16_t i;

	(void)home;
	for (i = 0; i < n; i++) {
		const uint8_t *p = rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf);
		uint32_t k;

		printf("out ");
		for (k = 0; k < m[i]->pkt_len; k++)
			printf("%02x", p[k]);
		printf("\n");
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	*path = (struct tcp_path){.src = {{2, 0, 0, 0, 0, 2}}, .dst = {{2, 0, 0, 0, 0, 1}}, .mtu = 1500};
	path->local = inet_addr("10.0.0.2");
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home;
	return ip == inet_addr("10.0.0.2");
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)conn, (void)user, (void)events;
}

static uint32_t
home_random(void *home)
{
	(void)home;
	seed = seed * 1664525 + 1013904223;
	return seed;
}

static void
die(const char *what, const char *word)
{
	fprintf(stderr, "tcp_step: %s '%s'\n", what, word);
	exit(2);
}

static void
input(const char *hex)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	const size_t len = strspn(hex, "0123456789abcdef") / 2;
	uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned int v;

		sscanf(hex + 2 * i, "%2x", &v);
		p[i] = (uint8_t)v;
	}
	tcp_input(s, &m, 1, now);
}

static void
make(char *words)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};
	struct tcp_conf conf = {.pool = pool};
	char *w;
	int err;

	for (w = words == NULL ? NULL : strtok(words, " "); w != NULL; w = strtok(NULL, " ")) {
		if (strncmp(w, "rcvbuf=", 7) == 0)
			conf.rcvbuf = (uint32_t)atoi(w + 7);
		else if (strcmp(w, "plain=1") == 0)
			conf.no_timestamps = conf.no_sack = conf.no_wscale = true;
		else if (strncmp(w, "ecn=", 4) == 0)
			conf.ecn = (enum tcp_ecn)atoi(w + 4);
		else
			die("unknown word", w);
	}
	if (s != NULL)
		tcp_stack_destroy(s);
	listener = c = NULL;
	s = tcp_stack_create(&conf, &ops, NULL, now, &err);
	if (s == NULL)
		exit(1);
}

/* What the command gave. */
static long
command(char *line)
{
	const struct tcp_addr own = {0, RTE_BE16(80)};
	struct tcp_addr to = {inet_addr("10.0.0.1"), 0};
	char *arg = strchr(line, ' ');
	long n;
	int err = 0;

	if (arg != NULL)
		*arg++ = 0;
	n = arg == NULL ? 0 : atol(arg);
	if (strcmp(line, "conf") == 0) {
		make(arg);
		return 0;
	}
	if (strcmp(line, "listen") == 0) {
		listener = tcp_listen(s, &own, 4, NULL, &err);
		return err;
	}
	if (strcmp(line, "connect") == 0) {
		to.port = htons((uint16_t)n);
		c = tcp_connect(s, &(struct tcp_addr){0, RTE_BE16(1080)}, &to, NULL, &err);
		return err;
	}
	if (strcmp(line, "accept") == 0) {
		c = tcp_accept(listener, NULL);
		return c != NULL;
	}
	if (strcmp(line, "in") == 0) {
		input(arg);
		return 0;
	}
	if (strcmp(line, "wait") == 0) {
		const uint64_t end = now + (uint64_t)n;

		while (tcp_deadline(s) <= end) {
			now = RTE_MAX(now, tcp_deadline(s));
			tcp_run(s, now);
		}
		now = end;
		return 0;
	}
	if (strcmp(line, "conns") == 0)
		return (long)tcp_conns(s) + 1000 * (long)tcp_time_waits(s);
	if (c == NULL)
		return -1;
	if (strcmp(line, "send") == 0)
		return tcp_send(c, &(struct iovec){data, (size_t)n}, 1, 0);
	if (strcmp(line, "recv") == 0) {
		const long got = tcp_recv(c, &(struct iovec){data, (size_t)n}, 1, 0);

		printf("data ");
		for (n = 0; n < got; n++)
			printf("%02x", data[n]);
		printf("\n");
		return got;
	}
	if (strcmp(line, "shutdown") == 0)
		return tcp_shutdown(c, SHUT_WR);
	if (strcmp(line, "state") == 0)
		return tcp_state(c);
	if (strcmp(line, "close") == 0)
		tcp_close(c);
	else if (strcmp(line, "abort") == 0)
		tcp_abort(c);
	else
		return -2;
	c = NULL;
	return 0;
}

int
main(void)
{
	char *eal[] = {(char *)(uintptr_t) "tcp_step",    (char *)(uintptr_t) "--no-huge",
		       (char *)(uintptr_t) "-m",          (char *)(uintptr_t) "64",
		       (char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		       (char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--log-level=error"};
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("pool", 1023, 0, 0, FRAME_MAX + 128, 0);
	make(NULL);
	while ((n = getline(&line, &room, stdin)) > 0) {
		line[n - 1] = 0;
		printf("= %ld\n", command(line));
		/* The frames of a command come behind its result, with a line of their own at the end. */
		tcp_run(s, now);
		printf(".\n");
		fflush(stdout);
	}
	free(line);
	tcp_stack_destroy(s);
	return rte_mempool_avail_count(pool) == 1023 ? 0 : 3;
}
