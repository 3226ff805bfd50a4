/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * lib/tcp behind packetdrill's interface for shared objects. Time is the script's own: it goes on when packetdrill sleeps or waits
 * for a packet, from one deadline of the engine to the next, and by a microsecond when it is asked for, since packetdrill asks
 * again and again for the last microseconds before an event. So a script of two minutes takes none, and what it says of times is
 * exact on a machine that has other things to do.
 *
 * Calls that a script says to block are made by a thread of packetdrill's. What such a call waited for, it gets before time goes on:
 * it is on its way out until it has asked for the time, which packetdrill does before anything else.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "drill.h"
#include "preload/sockets/home.h"

#define MBUFS 4095u
#define ROOM 10240u
#define BEGIN_US UINT64_C(1000000000)

/* A packet that left. */
struct out {
	struct out *next;
	uint64_t at;
	uint32_t len;
	uint8_t data[];
};

struct waiter {
	struct waiter *next;
	bool (*done)(void *arg);
	void *arg;
	uint64_t until;
	bool ready;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t woken, gone;
	pthread_t main;
	uint64_t now;
	struct tcp_stack *stack;
	struct rte_mempool *pool;
	struct out *head, **tail;
	struct waiter *waiters;
	unsigned int leaving; /* calls on their way out */
	uint32_t random;
	uint16_t mtu;
} d = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.woken = PTHREAD_COND_INITIALIZER,
	.gone = PTHREAD_COND_INITIALIZER,
	.now = BEGIN_US,
	.tail = &d.head,
	.random = 1,
	.mtu = 1500,
};
static _Thread_local bool i_leave;

/* --- the engine's home --- */

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	(void)home;
	for (i = 0; i < n; i++) {
		const uint32_t len = m[i]->pkt_len - RTE_ETHER_HDR_LEN;
		struct out *o = malloc(sizeof(*o) + len);
		uint32_t at = 0, skip = RTE_ETHER_HDR_LEN;

		if (o == NULL)
			break;
		*o = (struct out){.at = d.now, .len = len};
		for (const struct rte_mbuf *s = m[i]; s != NULL; s = s->next, skip = 0) {
			memcpy(o->data + at, rte_pktmbuf_mtod(s, const uint8_t *) + skip, s->data_len - skip);
			at += s->data_len - skip;
		}
		*d.tail = o;
		d.tail = &o->next;
		rte_pktmbuf_free(m[i]);
	}
	return i;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	(void)home, (void)local, (void)remote;
	*path = (struct tcp_path){.src = {{2, 0, 0, 0, 0, 2}}, .dst = {{2, 0, 0, 0, 0, 1}}, .mtu = d.mtu};
	path->local = inet_addr("192.168.0.2");
	return 0;
}

/* packetdrill takes an address out of 192.168/16, another one each time. */
static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home, (void)ip;
	return true;
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
	d.random = d.random * 1664525 + 1013904223;
	return d.random;
}

static void
die(const char *what, const char *word)
{
	fprintf(stderr, "packetdrill on lib/tcp: %s%s\n", what, word);
	exit(2);
}

/* Words of --so_flags. */
static void
read_word(const char *w, struct tcp_conf *f)
{
	const struct {
		const char *name;
		uint32_t *to;
	} number[] = {{"rcvbuf", &f->rcvbuf},
		      {"sndbuf", &f->sndbuf},
		      {"rto_min", &f->rto_min_ms},
		      {"delack", &f->delack_ms},
		      {"time_wait", &f->time_wait_ms}};
	const char *v = strchr(w, '=');
	const size_t len = v == NULL ? 0 : (size_t)(v - w);

	for (unsigned int i = 0; v != NULL && i < RTE_DIM(number); i++) {
		if (strlen(number[i].name) != len || strncmp(w, number[i].name, len) != 0)
			continue;
		*number[i].to = (uint32_t)strtoul(v + 1, NULL, 10);
		return;
	}
	if (strncmp(w, "mtu=", 4) == 0)
		d.mtu = (uint16_t)strtoul(w + 4, NULL, 10);
	else if (strncmp(w, "syn_retries=", 12) == 0)
		f->syn_retries = (uint8_t)strtoul(w + 12, NULL, 10);
	else if (strcmp(w, "ecn") == 0)
		f->ecn = TCP_ECN_ON;
	else if (strcmp(w, "no_ecn") == 0)
		f->ecn = TCP_ECN_OFF;
	else if (strcmp(w, "reno") == 0)
		f->cc = TCP_CC_RENO;
	else if (strcmp(w, "no_sack") == 0)
		f->no_sack = true;
	else if (strcmp(w, "no_timestamps") == 0)
		f->no_timestamps = true;
	else if (strcmp(w, "no_wscale") == 0)
		f->no_wscale = true;
	else
		die("unknown word in --so_flags: ", w);
}

void
drill_open(const char *words)
{
	static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random};
	const unsigned int room = TCP_MBUF_FRONT + ROOM;
	struct tcp_conf conf = {.max_conns = 64, .max_time_wait = 64};
	char *all = strdup(words == NULL ? "" : words), *rest = NULL;
	void *mem = malloc(pool_size(MBUFS, room) + RTE_CACHE_LINE_SIZE);
	int err = ENOMEM;

	for (char *w = strtok_r(all, ", ", &rest); w != NULL; w = strtok_r(NULL, ", ", &rest))
		read_word(w, &conf);
	free(all);
	if (mem != NULL)
		d.pool = pool_make(RTE_PTR_ALIGN_CEIL(mem, RTE_CACHE_LINE_SIZE), MBUFS, room);
	conf.pool = d.pool;
	d.main = pthread_self();
	if (d.pool != NULL)
		d.stack = tcp_stack_create(&conf, &ops, NULL, d.now, &err);
	if (d.stack == NULL)
		die("no stack: ", strerror(abs(err)));
}

void
drill_free(void *own)
{
	(void)own;
	tcp_stack_destroy(d.stack);
	d.stack = NULL;
}

/* --- time; all with the lock --- */

static void
all_gone(void)
{
	while (d.leaving != 0)
		pthread_cond_wait(&d.gone, &d.lock);
}

/* What has come may be what calls wait for. */
static void
wake(void)
{
	struct waiter **at = &d.waiters, *w;

	while ((w = *at) != NULL) {
		if (!w->done(w->arg) && d.now < w->until) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		w->ready = true;
		d.leaving++;
		pthread_cond_broadcast(&d.woken);
	}
}

/* The next moment at which something is due; TCP_NEVER. */
static uint64_t
next_time(void)
{
	uint64_t at = tcp_deadline(d.stack);

	for (const struct waiter *w = d.waiters; w != NULL; w = w->next)
		at = RTE_MIN(at, w->until);
	return at;
}

/* Up to a moment, or until a packet leaves. True: one did. */
static bool
advance(uint64_t until, bool packet)
{
	uint64_t at;

	for (;;) {
		all_gone();
		if (packet && d.head != NULL)
			return true;
		at = next_time();
		if (at > until || at == TCP_NEVER)
			break;
		d.now = RTE_MAX(d.now, at);
		(void)tcp_run(d.stack, d.now);
		wake();
	}
	if (until != TCP_NEVER)
		d.now = RTE_MAX(d.now, until);
	(void)tcp_run(d.stack, d.now);
	return false;
}

struct tcp_stack *
drill_enter(void)
{
	pthread_mutex_lock(&d.lock);
	all_gone();
	(void)tcp_run(d.stack, d.now);
	return d.stack;
}

void
drill_leave(void)
{
	(void)tcp_run(d.stack, d.now);
	wake();
	pthread_mutex_unlock(&d.lock);
}

uint64_t
drill_now(void)
{
	return d.now;
}

static void
i_am_gone(void)
{
	if (!i_leave)
		return;
	i_leave = false;
	if (--d.leaving == 0)
		pthread_cond_broadcast(&d.gone);
}

bool
drill_wait(bool (*done)(void *arg), void *arg, uint64_t until)
{
	struct waiter w = {.done = done, .arg = arg, .until = until};

	(void)tcp_run(d.stack, d.now);
	if (done(arg))
		return true;
	if (pthread_equal(pthread_self(), d.main)) {
		/* The script says that it does not block: nobody else moves time on. */
		while (!done(arg) && d.now < until) {
			const uint64_t at = RTE_MIN(next_time(), until);

			if (at == TCP_NEVER)
				die("a call that the script does not let block waits for ever", "");
			(void)advance(RTE_MAX(at, d.now), false);
		}
		return done(arg);
	}
	/* It waits again: what moved it here is done with. */
	i_am_gone();
	w.next = d.waiters;
	d.waiters = &w;
	wake();
	while (!w.ready)
		pthread_cond_wait(&d.woken, &d.lock);
	i_leave = true;
	return done(arg);
}

int
drill_usleep(void *own, useconds_t us)
{
	(void)own;
	pthread_mutex_lock(&d.lock);
	(void)advance(d.now + us, false);
	pthread_mutex_unlock(&d.lock);
	return 0;
}

int
drill_gettimeofday(void *own, struct timeval *t, struct timezone *tz)
{
	uint64_t now;

	(void)own, (void)tz;
	pthread_mutex_lock(&d.lock);
	if (i_leave)
		i_am_gone();
	else
		(void)advance(d.now + 1, false);
	now = d.now;
	pthread_mutex_unlock(&d.lock);
	*t = (struct timeval){(time_t)(now / 1000000), (suseconds_t)(now % 1000000)};
	return 0;
}

/* --- packets --- */

int
drill_netdev_send(void *own, const void *p, size_t n)
{
	static const struct rte_ether_hdr eth = {
		{{2, 0, 0, 0, 0, 2}}, {{2, 0, 0, 0, 0, 1}}, RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	struct tcp_stack *s = drill_enter();
	struct rte_mbuf *m = n > ROOM - sizeof(eth) ? NULL : rte_pktmbuf_alloc(d.pool);

	(void)own;
	if (m != NULL) {
		memcpy(rte_pktmbuf_append(m, sizeof(eth)), &eth, sizeof(eth));
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), p, n);
		tcp_input(s, &m, 1, d.now);
	}
	drill_leave();
	return m == NULL ? -1 : 0;
}

int
drill_netdev_receive(void *own, void *p, size_t *n, long long *at_us)
{
	struct out *o;

	(void)own;
	pthread_mutex_lock(&d.lock);
	if (!advance(TCP_NEVER, true)) {
		/* packetdrill would ask again for ever. It says which line of the script it is at when it gets no packet of IP. */
		pthread_mutex_unlock(&d.lock);
		fprintf(stderr, "packetdrill on lib/tcp: no packet is due any more\n");
		*n = 1;
		*(char *)p = 0;
		*at_us = (long long)d.now;
		return 0;
	}
	o = d.head;
	d.head = o->next;
	if (d.head == NULL)
		d.tail = &d.head;
	*n = RTE_MIN(*n, (size_t)o->len);
	memcpy(p, o->data, *n);
	*at_us = (long long)o->at;
	pthread_mutex_unlock(&d.lock);
	free(o);
	return 0;
}

void
packetdrill_interface_init(const char *flags, struct packetdrill_interface *ifc)
{
	drill_open(flags);
	*ifc = (struct packetdrill_interface){
		.free = drill_free,
		.netdev_send = drill_netdev_send,
		.netdev_receive = drill_netdev_receive,
		.usleep = drill_usleep,
		.gettimeofday = drill_gettimeofday,
	};
	calls_fill(ifc);
}
