/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The sending side of txonly and flowgen. Packets that the queue does not take wait for the next round instead of
 * being dropped: a generator is limited by the port, so a drop would say nothing.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "fwd.h"
#include "apps/triplane/port/port.h"

/* Every transmit ring of the socket full, what streams and lcore caches hold, and what a wire may keep. */
static uint32_t
buffers_needed(const struct app *app)
{
	uint32_t n = 0;
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		const struct app_port *p = &app->port[i];

		if (p->present && fwd_modes[p->mode].generates)
			n += (uint32_t)p->txq * ((uint32_t)p->txd * 2 + 2 * APP_BURST_MAX) * app->gen.num_segs;
	}
	return n;
}

int
fwd_gen_init(struct app *app, struct fwd_stream *s)
{
	int socket = rte_eth_dev_socket_id(s->tx_port);
	struct fwd_gen *g;
	unsigned int i;

	for (i = 0; i < app->gen.num_segs; i++)
		if (app->gen.seg[i] > app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM)
			return app_err(-EINVAL, "port %u: packet segment of %u octets, buffers hold 1..%u", s->tx_port,
				       app->gen.seg[i], app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM);
	g = rte_zmalloc_socket("gen", sizeof(*g), RTE_CACHE_LINE_SIZE, socket);
	if (g == NULL)
		return app_err(-ENOMEM, "port %u: no memory for the generator", s->tx_port);
	s->gen = g;
	g->flows = s->mode->round == fwd_round_txonly ? 1 : app->gen.flows;
	g->flow = rte_malloc_socket("flows", g->flows * sizeof(g->flow[0]), RTE_CACHE_LINE_SIZE, socket);
	g->pool = pool_get(app, socket, buffers_needed(app), true, false);
	if (g->flow == NULL || g->pool == NULL) {
		fwd_gen_free(s);
		return app_err(-ENOMEM, "port %u: no memory for the generator's %u flows and buffers", s->tx_port,
			       app->gen.flows);
	}
	for (i = 0; i < GEN_MIN_FRAME; i++)
		g->pattern[i] = gen_pattern(i);
	gen_template(&app->gen, &s->src, &s->dst, &g->hdr);
	for (i = 0; i < g->flows; i++)
		gen_flow(&app->gen, &g->hdr, i, &g->flow[i]);
	/* queues start at different flows, or all would send the same one at the same time */
	g->next = (uint32_t)((uint64_t)g->flows * s->tx_queue / RTE_MAX(app->port[s->tx_port].txq, (uint16_t)1));
	g->num_segs = (uint16_t)app->gen.num_segs;
	memcpy(g->seg, app->gen.seg, sizeof(g->seg));
	g->len = gen_frame_len(&app->gen);
	return 0;
}

void
fwd_gen_free(struct fwd_stream *s)
{
	struct fwd_gen *g = s->gen;

	if (g == NULL)
		return;
	if (g->waiting > 0)
		rte_pktmbuf_free_bulk(&g->pkts[g->first], g->waiting);
	rte_free(g->flow);
	rte_free(g);
	s->gen = NULL;
}

static inline void
finish(struct fwd_gen *g, struct rte_mbuf *m, uint64_t flags)
{
	gen_write(rte_pktmbuf_mtod(m, struct gen_hdr *), &g->hdr, &g->flow[g->next]);
	if (++g->next == g->flows)
		g->next = 0;
	m->ol_flags |= flags;
	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(struct rte_ipv4_hdr);
}

static inline bool
build_single(struct fwd_stream *s, struct fwd_gen *g)
{
	uint16_t i;

	if (unlikely(rte_pktmbuf_alloc_bulk(g->pool, g->pkts, s->burst) != 0))
		return false;
	for (i = 0; i < s->burst; i++) {
		g->pkts[i]->data_len = (uint16_t)g->len;
		g->pkts[i]->pkt_len = g->len;
		finish(g, g->pkts[i], s->tx_flags);
	}
	return true;
}

static bool
build_chains(struct fwd_stream *s, struct fwd_gen *g)
{
	struct rte_mbuf *seg[GEN_MAX_SEGS];
	uint16_t i, k;

	for (i = 0; i < s->burst; i++) {
		if (unlikely(rte_pktmbuf_alloc_bulk(g->pool, seg, g->num_segs) != 0)) {
			rte_pktmbuf_free_bulk(g->pkts, i);
			return false;
		}
		for (k = 0; k < g->num_segs; k++) {
			/* the buffer may have begun a packet before, and hold headers where now is payload */
			if (k > 0)
				memcpy(rte_pktmbuf_mtod(seg[k], void *), g->pattern, sizeof(g->pattern));
			seg[k]->data_len = g->seg[k];
			seg[k]->next = k + 1 < g->num_segs ? seg[k + 1] : NULL;
		}
		seg[0]->nb_segs = g->num_segs;
		seg[0]->pkt_len = g->len;
		finish(g, seg[0], s->tx_flags);
		g->pkts[i] = seg[0];
	}
	return true;
}

unsigned int
fwd_round_txonly(struct fwd_stream *s)
{
	struct fwd_gen *g = s->gen;
	uint16_t sent;

	if (g->waiting == 0) {
		if (!(g->num_segs == 1 ? build_single(s, g) : build_chains(s, g))) {
			stat_add(&s->stats.no_mbuf, 1);
			/* a transmit queue gives buffers back when it is called */
			rte_eth_tx_burst(s->tx_port, s->tx_queue, g->pkts, 0);
			return 0;
		}
		g->waiting = s->burst;
		g->first = 0;
	}
	sent = rte_eth_tx_burst(s->tx_port, s->tx_queue, &g->pkts[g->first], g->waiting);
	stat_tx(s, g->waiting, sent);
	g->first += sent;
	g->waiting -= sent;
	return sent;
}

unsigned int
fwd_round_flowgen(struct fwd_stream *s)
{
	struct rte_mbuf *pkts[APP_BURST_MAX];
	uint16_t n = 0;

	if (s->has_rx) {
		n = rte_eth_rx_burst(s->rx_port, s->rx_queue, pkts, s->burst);
		stat_rx(s, n);
		if (n > 0)
			rte_pktmbuf_free_bulk(pkts, n);
	}
	return n + fwd_round_txonly(s);
}
