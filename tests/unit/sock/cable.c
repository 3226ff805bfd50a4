/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "cable.h"
#include "tests/unit/eal.h"

#define WIRE 1024u

/* What is on its way to an end. */
static struct {
	struct rte_mbuf *m[WIRE];
	uint32_t first, n;
} wire[CABLE_ENDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of wires and rules */
static unsigned int num_ends;

struct cable_end cable[CABLE_ENDS];
struct rte_mempool *cable_pool;
atomic_uint cable_freed, cable_unclaimed;

static bool
same(const struct tcp_addr *a, const struct tcp_addr *b)
{
	return a->ip == b->ip && a->port == b->port;
}

static struct cable_rule *
rule_of(struct cable_end *e, const struct tcp_addr *local, const struct tcp_addr *remote)
{
	for (unsigned int i = 0; i < CABLE_RULES; i++)
		if (e->rule[i].on && same(&e->rule[i].local, local) && same(&e->rule[i].remote, remote))
			return &e->rule[i];
	return NULL;
}

static int
rule_set(struct cable_end *e, const struct tcp_addr *local, const struct tcp_addr *remote, bool on)
{
	struct cable_rule *r;
	unsigned int i = 0;

	pthread_mutex_lock(&lock);
	r = rule_of(e, local, remote);
	if (on && r != NULL)
		abort(); /* it would be there for ever */
	if (r != NULL)
		r->on = false;
	while (on && e->rule[i].on)
		if (++i == CABLE_RULES)
			abort();
	if (on)
		e->rule[i] = (struct cable_rule){*local, *remote, true};
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
steer(void *home, bool udp, rte_be16_t port, bool on)
{
	struct cable_end *e = home;

	(void)udp;
	return rule_set(e, &(struct tcp_addr){e->ip, port}, &(struct tcp_addr){0, 0}, on);
}

static int
steer_conn(void *home, const struct tcp_addr *local, const struct tcp_addr *remote, bool on)
{
	return rule_set(home, local, remote, on);
}

unsigned int
cable_rules(const struct cable_end *e, rte_be16_t port, const struct tcp_addr *remote)
{
	const struct tcp_addr any = {0, 0};
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < CABLE_RULES; i++)
		n += e->rule[i].on && e->rule[i].local.port == port &&
		     same(&e->rule[i].remote, remote == NULL ? &any : remote);
	pthread_mutex_unlock(&lock);
	return n;
}

static uint16_t
take(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct cable_end *e = home;
	const unsigned int at = (unsigned int)(e - cable);
	uint16_t k;

	e->looks++;
	pthread_mutex_lock(&lock);
	for (k = 0; k < n && wire[at].n != 0; k++, wire[at].n--)
		m[k] = wire[at].m[wire[at].first++ % WIRE];
	pthread_mutex_unlock(&lock);
	return k;
}

static void
put(unsigned int at, struct rte_mbuf *m)
{
	const uint64_t one = 1;
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, cable_pool, 0, UINT32_MAX);

	if (copy == NULL)
		abort();
	wire[at].m[(wire[at].first + wire[at].n++) % WIRE] = copy;
	(void)!write(cable[at].fd, &one, sizeof(one));
}

/* A rule of the connection goes before those of its port, which each end that has one gets the frame by. */
static void
deliver(struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	const struct rte_tcp_hdr *th = (const struct rte_tcp_hdr *)(ip + 1);
	const struct tcp_addr to = {ip->dst_addr, th->dst_port}, from = {ip->src_addr, th->src_port}, any = {0, 0};
	unsigned int got = 0;

	for (unsigned int i = 0; i < num_ends; i++) {
		if (rule_of(&cable[i], &to, &from) == NULL)
			continue;
		put(i, m);
		got++;
	}
	for (unsigned int i = 0; got == 0 && i < num_ends; i++)
		if (rule_of(&cable[i], &to, &any) != NULL)
			put(i, m);
}

static uint16_t
give(void *home, struct rte_mbuf **m, uint16_t n)
{
	uint16_t k = 0;
	bool room = true;

	(void)home;
	pthread_mutex_lock(&lock);
	while (k < n && room) {
		for (unsigned int i = 0; i < num_ends; i++)
			room &= wire[i].n < WIRE;
		if (!room)
			break;
		deliver(m[k]);
		rte_pktmbuf_free(m[k++]);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

static bool
yes(void *home)
{
	(void)home;
	return true;
}

static void
nothing(void *home)
{
	(void)home;
}

static int
fd_of(void *home)
{
	return ((struct cable_end *)home)->fd;
}

static void
told(void *home)
{
	uint64_t count;

	(void)!read(fd_of(home), &count, sizeof(count));
}

static int
path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p)
{
	(void)local, (void)remote;
	*p = (struct tcp_path){.local = ((struct cable_end *)home)->ip, .mtu = 1500};
	memset(&p->src, 2, sizeof(p->src));
	memset(&p->dst, 4, sizeof(p->dst));
	return 0;
}

static bool
ours(void *home, rte_be32_t ip)
{
	return ip == ((struct cable_end *)home)->ip;
}

static void
freed(void)
{
	cable_freed++;
}

static void
unclaim(int claim)
{
	cable_unclaimed++;
	close(claim);
}

static const struct sock_home ops = {.rx = take,
				     .tx = give,
				     .sent = yes,
				     .arm = nothing,
				     .event_fd = fd_of,
				     .event = told,
				     .path = path,
				     .local = ours,
				     .steer = steer,
				     .steer_conn = steer_conn};

int
cable_begin(unsigned int ends, const uint8_t *addr)
{
	int err = 0;

	if (unit_eal("sock", "64", "--log-level=error") < 0)
		return -1;
	cable_pool = rte_pktmbuf_pool_create("sock", 4095, 0, 0, 4096, 0);
	if (cable_pool == NULL)
		return -1;
	num_ends = ends;
	for (unsigned int i = 0; i < ends; i++) {
		const struct sock_conf conf = {.tcp = {.pool = cable_pool, .delack_ms = 1},
					       .spin_us = 100,
					       .freed = freed,
					       .unclaim = unclaim};
		struct cable_end *e = &cable[i];

		e->ip = rte_cpu_to_be_32(0x0a000000u + addr[i]);
		e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		e->net = e->fd < 0 ? NULL : sock_net_create(&conf, &ops, e, &err);
		if (e->net == NULL)
			return -1;
	}
	return 0;
}

void
cable_over(void)
{
	for (unsigned int i = 0; i < num_ends; i++)
		sock_net_end(cable[i].net, 0);
}
