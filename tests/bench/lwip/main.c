/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * lwip_tcp CASE [MESSAGES]: what tests/bench/tcp.c does with lib/tcp, with lwIP by its raw interface. Both ends are interfaces of
 * one stack, on a wire with Ethernet. Counted is what has a name of bench_; the wire, which copies, is not.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

#define WIRE 4096u
#define BULK (64u << 10)

struct side {
	struct netif netif;
	struct tcp_pcb *pcb;
	struct pbuf *out[WIRE]; /* what it sent */
	struct pbuf *in;        /* what it received */
	uint32_t n;
	uint64_t frames;
};

struct bench {
	const char *name;
	uint32_t size, flush;
	bool pingpong;
};

static const struct bench benches[] = {
	{"100_B", 100, 1, false},          {"100_B_16_a_flush", 100, 16, false}, {"1400_B", 1400, 1, false},
	{"100_B_ping-pong", 100, 1, true}, {"bulk_1448_B", 1448, 45, false},
};

static struct side side[2];
static uint64_t now_us = 1000000;
static uint8_t data[BULK], back[BULK];

u32_t
sys_now(void)
{
	return (u32_t)(now_us / 1000);
}

/* --- what is counted --- */

__attribute__((noinline)) static bool
bench_send(struct side *a, uint32_t n)
{
	return tcp_write(a->pcb, data, (u16_t)n, TCP_WRITE_FLAG_COPY) == ERR_OK;
}

__attribute__((noinline)) static uint32_t
bench_recv(struct side *a, uint32_t n)
{
	u16_t got;

	if (a->in == NULL)
		return 0;
	got = pbuf_copy_partial(a->in, back, (u16_t)n, 0);
	a->in = pbuf_free_header(a->in, got);
	tcp_recved(a->pcb, got);
	return got;
}

__attribute__((noinline)) static void
bench_run(struct side *a)
{
	tcp_output(a->pcb);
}

__attribute__((noinline)) static void
bench_input(struct side *a, struct pbuf *p)
{
	if (a->netif.input(p, &a->netif) != ERR_OK)
		pbuf_free(p);
}

/* --- the wire --- */

static err_t
frame_out(struct netif *n, struct pbuf *p)
{
	struct side *a = n->state;

	pbuf_ref(p);
	a->out[a->n++] = p;
	return ERR_OK;
}

static bool
deliver(struct side *from, bool counted)
{
	struct side *to = from == &side[0] ? &side[1] : &side[0];
	uint32_t i;

	for (i = 0; i < from->n; i++) {
		struct pbuf *p = from->out[i], *k = pbuf_alloc(PBUF_RAW, p->tot_len, PBUF_POOL);

		if (k == NULL || pbuf_copy(k, p) != ERR_OK)
			abort();
		pbuf_free(p);
		if (counted)
			bench_input(to, k);
		else if (to->netif.input(k, &to->netif) != ERR_OK)
			pbuf_free(k);
	}
	from->frames += i;
	from->n = 0;
	return i != 0;
}

static err_t
on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
	struct side *a = arg;

	(void)pcb, (void)err;
	if (p == NULL)
		return ERR_OK;
	if (a->in == NULL)
		a->in = p;
	else
		pbuf_cat(a->in, p);
	return ERR_OK;
}

static err_t
on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
	struct side *a = arg;

	(void)err;
	a->pcb = pcb;
	tcp_arg(pcb, a);
	tcp_recv(pcb, on_recv);
	return ERR_OK;
}

static err_t
on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
	(void)arg, (void)pcb, (void)err;
	return ERR_OK;
}

static err_t
up(struct netif *n)
{
	n->name[0] = 'b';
	n->name[1] = n == &side[0].netif ? '0' : '1';
	n->mtu = 1500;
	n->hwaddr_len = 6;
	memset(n->hwaddr, n == &side[0].netif ? 2 : 4, 6);
	n->output = etharp_output;
	n->linkoutput = frame_out;
	n->flags |= NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	return ERR_OK;
}

static void
settle(uint64_t us)
{
	const uint64_t end = now_us + us;

	for (; now_us < end; now_us += 1000) {
		deliver(&side[0], false);
		deliver(&side[1], false);
		sys_check_timeouts();
	}
}

static void
start(void)
{
	ip4_addr_t addr[2], mask, none = {0};
	struct tcp_pcb *l;
	int k;

	lwip_init();
	IP4_ADDR(&mask, 255, 255, 255, 0);
	for (k = 0; k < 2; k++) {
		IP4_ADDR(&addr[k], 10, 0, 0, 1 + k);
		netif_add(&side[k].netif, &addr[k], &mask, &none, &side[k], up, ethernet_input);
		netif_set_up(&side[k].netif);
	}
	for (k = 0; k < 2; k++) {
		struct eth_addr mac;

		memcpy(&mac, side[k].netif.hwaddr, 6);
		etharp_add_static_entry(&addr[k], &mac);
		/* Those that announce themselves are not of TCP. */
		while (side[k].n != 0)
			pbuf_free(side[k].out[--side[k].n]);
	}
	l = tcp_new();
	tcp_bind(l, &addr[1], 80);
	tcp_bind_netif(l, &side[1].netif);
	l = tcp_listen(l);
	tcp_arg(l, &side[1]);
	tcp_accept(l, on_accept);
	side[0].pcb = tcp_new();
	tcp_arg(side[0].pcb, &side[0]);
	tcp_recv(side[0].pcb, on_recv);
	tcp_bind_netif(side[0].pcb, &side[0].netif);
	tcp_connect(side[0].pcb, &addr[1], 80, on_connected);
	settle(100000);
	if (side[1].pcb == NULL || side[0].pcb->state != ESTABLISHED) {
		fprintf(stderr, "the connection was not made\n");
		exit(1);
	}
	tcp_nagle_disable(side[0].pcb);
	tcp_nagle_disable(side[1].pcb);
}

/* As many as are sent at once, from one side to the other; octets that were read. */
static uint64_t
message(const struct bench *b, struct side *from)
{
	struct side *to = from == &side[0] ? &side[1] : &side[0];
	const uint64_t all = (uint64_t)b->size * b->flush;
	uint64_t got = 0;
	uint32_t i, n;

	for (i = 0; i < b->flush; i++)
		if (!bench_send(from, b->size))
			fprintf(stderr, "a message was not taken\n");
	bench_run(from);
	deliver(from, true);
	while (got < all && (n = bench_recv(to, b->size)) > 0)
		got += n;
	bench_run(to);
	while (deliver(to, true) || from->n != 0) {
		bench_run(from);
		deliver(from, true);
		while (got < all && (n = bench_recv(to, b->size)) > 0)
			got += n;
		bench_run(to);
	}
	return got;
}

static int
run(const struct bench *b, uint64_t messages)
{
	uint64_t i, sent = 0, got = 0, frames;

	start();
	settle(1000000);
	frames = side[0].frames + side[1].frames;
	for (i = 0; i < messages; i += b->flush) {
		sent += (uint64_t)b->size * b->flush;
		got += message(b, &side[0]);
		if (b->pingpong)
			message(b, &side[1]);
		now_us += 5;
		sys_check_timeouts();
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
	const uint64_t messages = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8));
	for (i = 0; i < LWIP_ARRAYSIZE(benches); i++) {
		if (argc > 1 && strcmp(argv[1], "list") == 0)
			printf("%s\n", benches[i].name);
		else if (argc > 1 && strcmp(argv[1], benches[i].name) == 0)
			return run(&benches[i], messages);
	}
	return argc > 1 && strcmp(argv[1], "list") == 0 ? 0 : 2;
}
