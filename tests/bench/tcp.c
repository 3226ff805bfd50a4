/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_tcp CASE [MESSAGES]: two stacks of lib/tcp back to back, in virtual time, with a card's checksums. What is counted
 * from outside (callgrind --toggle-collect='bench_*') are the calls of both: what a program sends and reads, frames that
 * arrive, acknowledgements. The wire between them is not: it copies frames into mbufs of the receiver, as a card does.
 * bench_tcp list names the cases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_mempool.h>

#include "lib/tcp/tcp.h"

#define CONNS_MAX 10000u
#define WIRE 4096u
#define BULK (64u << 10)

struct side {
	struct tcp_stack *s;
	rte_be32_t ip;
	struct rte_mbuf *out[WIRE]; /* what its stack sent */
	uint32_t n;
	uint64_t frames;
};

struct bench {
	const char *name;
	uint32_t size, conns, flush; /* octets of a message; connections; messages written before they are sent */
	bool pingpong;
};

static const struct bench benches[] = {
	{"100_B", 100, 1, 1, false},
	{"100_B_16_a_flush", 100, 1, 16, false},
	{"1400_B", 1400, 1, 1, false},
	{"100_B_ping-pong", 100, 1, 1, true},
	{"bulk_1448_B", 1448, 1, 45, false},
	{"100_B_10_connections", 100, 10, 1, false},
	{"100_B_100_connections", 100, 100, 1, false},
	{"100_B_1000_connections", 100, 1000, 1, false},
	{"100_B_10000_connections", 100, 10000, 1, false},
};

static struct side side[2];
static struct tcp_conn *conn[2][CONNS_MAX];
static struct rte_mempool *tx_pool, *rx_pool;
static uint64_t now = 1000000;
static uint8_t data[BULK], back[BULK];

/* --- what is counted --- */

__attribute__((noinline)) static ssize_t
bench_send(struct tcp_conn *c, size_t n)
{
	const struct iovec iov = {data, n};

	return tcp_send(c, &iov, 1, 0);
}

__attribute__((noinline)) static ssize_t
bench_recv(struct tcp_conn *c, size_t n)
{
	const struct iovec iov = {back, n};

	return tcp_recv(c, &iov, 1, 0);
}

__attribute__((noinline)) static void
bench_run(struct side *a)
{
	tcp_run(a->s, now);
}

__attribute__((noinline)) static void
bench_input(struct side *a, struct rte_mbuf **m, uint16_t n)
{
	tcp_input(a->s, m, n, now);
}

/* --- the home --- */

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct side *a = home;
	uint16_t i;

	for (i = 0; i < n && a->n < WIRE; i++)
		a->out[a->n++] = m[i];
	return i;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p)
{
	(void)local, (void)remote;
	p->local = ((struct side *)home)->ip;
	p->mtu = 1500;
	memset(&p->src, 2, sizeof(p->src));
	memset(&p->dst, 4, sizeof(p->dst));
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	return ip == ((struct side *)home)->ip;
}

static void
home_event(void *home, struct tcp_conn *c, void *user, unsigned int events)
{
	(void)home, (void)c, (void)user, (void)events;
}

static uint32_t
home_random(void *home)
{
	(void)home;
	return (uint32_t)rand();
}

static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};

/* --- the wire --- */

static struct rte_mbuf *
carry(struct rte_mbuf *m)
{
	struct rte_mbuf *k = rte_pktmbuf_alloc(rx_pool);
	const struct rte_mbuf *p;

	if (k == NULL)
		abort();
	for (p = m; p != NULL; p = p->next)
		memcpy(rte_pktmbuf_append(k, p->data_len), rte_pktmbuf_mtod(p, const void *), p->data_len);
	k->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	rte_pktmbuf_free(m);
	return k;
}

/* Gives all frames that wait to the other side; those that it answers wait for the next call. false: there was none. */
static bool
deliver(struct side *from, bool counted)
{
	struct side *to = from == &side[0] ? &side[1] : &side[0];
	struct rte_mbuf *m[32];
	uint32_t i = 0, n;

	while (i < from->n) {
		for (n = 0; n < RTE_DIM(m) && i < from->n; n++)
			m[n] = carry(from->out[i++]);
		if (counted)
			bench_input(to, m, (uint16_t)n);
		else
			tcp_input(to->s, m, (uint16_t)n, now);
	}
	from->frames += from->n;
	from->n = 0;
	return i != 0;
}

static void
settle(uint64_t us)
{
	const uint64_t end = now + us;

	for (; now < end; now += 1000) {
		deliver(&side[0], false);
		deliver(&side[1], false);
		tcp_run(side[0].s, now);
		tcp_run(side[1].s, now);
	}
}

static void
start(uint32_t conns)
{
	const struct tcp_addr at = {0, RTE_BE16(80)};
	struct tcp_addr to;
	struct tcp_conn *l;
	uint32_t i;
	int err, k;

	for (k = 0; k < 2; k++) {
		const struct tcp_conf conf = {.pool = tx_pool, .tx_checksum = true};

		side[k].ip = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, 1 + k));
		side[k].s = tcp_stack_create(&conf, &ops, &side[k], now, &err);
		if (side[k].s == NULL)
			exit(1);
	}
	to = (struct tcp_addr){side[1].ip, at.port};
	l = tcp_listen(side[1].s, &at, 64, NULL, &err);
	for (i = 0; i < conns && l != NULL; i++) {
		conn[0][i] = tcp_connect(side[0].s, NULL, &to, NULL, &err);
		settle(10000);
		conn[1][i] = tcp_accept(l, NULL);
		if (conn[0][i] == NULL || conn[1][i] == NULL) {
			fprintf(stderr, "connection %u was not made\n", i);
			exit(1);
		}
		for (k = 0; k < 2; k++)
			tcp_opt_set(conn[k][i], IPPROTO_TCP, TCP_NODELAY, 1);
	}
}

/* One message, or as many as are sent at once, from one side to the other; octets that were read. */
static uint64_t
message(const struct bench *b, struct side *from, struct tcp_conn *tx, struct tcp_conn *rx)
{
	struct side *to = from == &side[0] ? &side[1] : &side[0];
	const uint64_t all = (uint64_t)b->size * b->flush;
	uint64_t got = 0;
	uint32_t i;
	ssize_t n;

	for (i = 0; i < b->flush; i++)
		if (bench_send(tx, b->size) != b->size)
			fprintf(stderr, "a message was not taken whole\n");
	bench_run(from);
	deliver(from, true);
	while (got < all && (n = bench_recv(rx, b->size)) > 0)
		got += (uint64_t)n;
	bench_run(to);
	while (deliver(to, true) || from->n != 0) {
		bench_run(from);
		deliver(from, true);
		while (got < all && (n = bench_recv(rx, b->size)) > 0)
			got += (uint64_t)n;
		bench_run(to);
	}
	return got;
}

static int
run(const struct bench *b, uint64_t messages)
{
	uint64_t i, sent = 0, got = 0, frames;

	start(b->conns);
	settle(100000);
	frames = side[0].frames + side[1].frames;
	for (i = 0; i < messages; i += b->flush) {
		struct tcp_conn *a = conn[0][i % b->conns], *z = conn[1][i % b->conns];

		sent += (uint64_t)b->size * b->flush;
		got += message(b, &side[0], a, z);
		if (b->pingpong)
			message(b, &side[1], z, a);
		now += 5;
	}
	if (got != sent) {
		fprintf(stderr, "%s: %llu octets arrived, wanted %llu\n", b->name, (unsigned long long)got,
			(unsigned long long)sent);
		return 1;
	}
	printf("packets %llu\n", (unsigned long long)i);
	printf("frames %llu\n", (unsigned long long)(side[0].frames + side[1].frames - frames));
	return 0;
}

int
main(int argc, char **argv)
{
	char *eal[] = {
		argv[0],
		(char *)(uintptr_t) "--no-huge",
		(char *)(uintptr_t) "-m",
		(char *)(uintptr_t) "256",
		(char *)(uintptr_t) "--no-shconf",
		(char *)(uintptr_t) "--no-telemetry",
		(char *)(uintptr_t) "--no-pci",
		(char *)(uintptr_t) "--lcores",
		(char *)(uintptr_t) "0@0",
		(char *)(uintptr_t) "--log-level=error",
	};
	const uint64_t messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000;
	uint32_t i;

	if (argc > 1 && strcmp(argv[1], "list") == 0) {
		for (i = 0; i < RTE_DIM(benches); i++)
			printf("%s\n", benches[i].name);
		return 0;
	}
	if (argc < 2 || rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 2;
	tx_pool = rte_pktmbuf_pool_create("tx", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	rx_pool = rte_pktmbuf_pool_create("rx", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (tx_pool == NULL || rx_pool == NULL)
		return 1;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8));
	for (i = 0; i < RTE_DIM(benches); i++)
		if (strcmp(argv[1], benches[i].name) == 0)
			return run(&benches[i], messages);
	fprintf(stderr, "%s: no such case; bench_tcp list names them\n", argv[1]);
	return 2;
}
