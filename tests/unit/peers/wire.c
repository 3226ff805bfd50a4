/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#include "wire.h"

#define MBUFS 4095u

struct wire_frame {
	struct wire_frame *next;
	uint64_t at;
	bool to_us;
	uint32_t len;
	uint8_t data[];
};

static struct rte_mempool *tx_pool, *rx_pool;
static uint64_t last_now = UINT64_C(1) << 32;

void
wire_init(void)
{
	char *eal[] = {
		(char *)(uintptr_t) "peers",       (char *)(uintptr_t) "--no-huge",
		(char *)(uintptr_t) "-m",          (char *)(uintptr_t) "64",
		(char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		(char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--log-level=error",
	};

	if (tx_pool != NULL)
		return;
	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		abort();
	tx_pool = rte_pktmbuf_pool_create("tx", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	rx_pool = rte_pktmbuf_pool_create("rx", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (tx_pool == NULL || rx_pool == NULL)
		abort();
}

uint32_t
wire_random(struct wire *w, uint32_t below)
{
	/* xorshift64* */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return below == 0 ? 0 : (uint32_t)((w->random * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

static void
carry(struct wire *w, const uint8_t *data, uint32_t len, bool to_us)
{
	struct wire_frame *f, **at;

	w->frames++;
	if (wire_random(w, 65536) < w->loss) {
		w->lost++;
		return;
	}
	f = malloc(sizeof(*f) + len);
	if (f == NULL)
		abort();
	*f = (struct wire_frame){.at = w->now + w->delay_us, .to_us = to_us, .len = len};
	memcpy(f->data, data, len);
	if (wire_random(w, 65536) < w->reorder) {
		w->late++;
		f->at += wire_random(w, 4 * (uint32_t)w->delay_us);
	}
	for (at = &w->q; *at != NULL && (*at)->at <= f->at; at = &(*at)->next)
		;
	f->next = *at;
	*at = f;
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	static uint8_t buf[16384];
	uint16_t i;

	for (i = 0; i < n; i++) {
		carry(home, rte_pktmbuf_read(m[i], 0, m[i]->pkt_len, buf), m[i]->pkt_len, false);
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	const struct wire *w = home;

	(void)local, (void)remote;
	*path = (struct tcp_path){.src = w->mac, .dst = w->peer_mac, .local = w->ip, .mtu = 1500};
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	return ip == ((const struct wire *)home)->ip;
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)conn, (void)user, (void)events;
}

static uint32_t
home_random(void *home)
{
	return wire_random(home, 1u << 31) << 1 ^ wire_random(home, 1u << 31);
}

static const struct tcp_home ops = {home_tx, home_path, home_local, home_event, home_random, NULL};

void
wire_start(struct wire *w, uint64_t seed, const struct tcp_conf *conf)
{
	struct tcp_conf all = *conf;
	int err;

	w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	w->now = last_now;
	w->q = NULL;
	w->frames = w->lost = w->late = 0;
	if (w->delay_us == 0)
		w->delay_us = 200;
	all.pool = tx_pool;
	w->s = tcp_stack_create(&all, &ops, w, w->now, &err);
	if (w->s == NULL)
		abort();
}

void
wire_give(struct wire *w, const uint8_t *frame, uint32_t len)
{
	carry(w, frame, len, true);
}

uint64_t
wire_next(const struct wire *w)
{
	const uint64_t frame = w->q == NULL ? TCP_NEVER : w->q->at, timer = tcp_deadline(w->s);

	return RTE_MAX(RTE_MIN(frame, timer), w->now);
}

static void
arrive(struct wire *w)
{
	struct wire_frame *f = w->q;
	struct rte_mbuf *m;

	w->q = f->next;
	if (f->to_us) {
		m = rte_pktmbuf_alloc(rx_pool);
		if (m == NULL || rte_pktmbuf_tailroom(m) < f->len)
			abort();
		memcpy(rte_pktmbuf_append(m, (uint16_t)f->len), f->data, f->len);
		tcp_input(w->s, &m, 1, w->now);
	} else {
		w->out(w->arg, f->data, f->len);
	}
	free(f);
}

void
wire_until(struct wire *w, uint64_t at)
{
	uint64_t next;

	while ((next = wire_next(w)) <= at) {
		w->now = next;
		while (w->q != NULL && w->q->at <= w->now)
			arrive(w);
		tcp_run(w->s, w->now);
	}
	w->now = RTE_MAX(w->now, at);
	tcp_run(w->s, w->now);
}

bool
wire_end(struct wire *w)
{
	struct wire_frame *f;

	tcp_stack_destroy(w->s);
	while ((f = w->q) != NULL) {
		w->q = f->next;
		free(f);
	}
	last_now = w->now;
	return rte_mempool_avail_count(tx_pool) == MBUFS && rte_mempool_avail_count(rx_pool) == MBUFS;
}
