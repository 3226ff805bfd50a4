/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A host: one line, which its flows share in turn, as far as their reaction points and pauses let them. */
#include <stdlib.h>

#include "sim.h"

#define QUANTUM_BITS 512u

static uint64_t
line_ns(const struct sim_host *h, uint32_t len)
{
	return ((uint64_t)(len + SIM_OVERHEAD) * 8000 + h->h->rate_mbps - 1) / h->h->rate_mbps;
}

int
sim_host_init(struct sim *m)
{
	const struct scene *s = m->s;

	for (uint32_t i = 0; i < s->num_hosts; i++) {
		struct sim_host *h = &m->host[i];

		h->h = &s->host[i];
		h->cc = s->cc;
		tcc_conf_line(&h->cc, h->h->rate_mbps);
		h->qau = s->qau;
		h->qau.line_rate = h->h->rate_mbps;
		h->wake = SIM_NEVER;
		h->cnp_tail = &h->cnp;
	}
	for (uint32_t i = 0; i < s->num_flows; i++)
		m->host[s->flow[i].from].num_flows++;
	for (uint32_t i = 0; i < s->num_hosts; i++) {
		struct sim_host *h = &m->host[i];

		h->flow = calloc(h->num_flows, sizeof(*h->flow));
		if (h->flow == NULL && h->num_flows != 0)
			return -1;
		h->num_flows = 0;
	}
	for (uint32_t i = 0; i < s->num_flows; i++) {
		struct sim_flow *f = &m->flow[i];
		struct sim_host *h = &m->host[s->flow[i].from];

		f->f = &s->flow[i];
		f->left = f->f->bytes;
		f->first_cnp = f->done = SIM_NEVER;
		sim_frame_head(f, i, s->cc_on);
		h->flow[h->num_flows++] = i;
		if (sim_host_wake(m, s->flow[i].from, f->f->start_ns) != 0)
			return -1;
	}
	return 0;
}

int
sim_host_wake(struct sim *m, uint32_t host, uint64_t at)
{
	struct sim_host *h = &m->host[host];

	if (at >= h->wake || at == SIM_NEVER)
		return 0;
	h->wake = at;
	return sim_push(m, &(struct sim_event){.at = at, .kind = SIM_HOST, .what = host});
}

static int
transmit(struct sim *m, struct sim_host *h, struct sim_pkt *pkt)
{
	h->line_free = m->now + line_ns(h, pkt->len);
	m->frames++;
	return sim_push(
		m, &(struct sim_event){
			   .at = h->line_free + h->h->delay_ns, .kind = SIM_TO_SWITCH, .what = h->port, .u.pkt = pkt});
}

static int
send_cnp(struct sim *m, struct sim_host *h)
{
	struct sim_cnp *c = h->cnp;
	struct sim_pkt *pkt = sim_pkt_get(m);

	if (pkt == NULL)
		return -1;
	h->cnp = c->next;
	if (h->cnp == NULL)
		h->cnp_tail = &h->cnp;
	sim_frame_cnp(m, c->flow, pkt);
	free(c);
	return transmit(m, h, pkt);
}

/* When this flow may send; SIM_NEVER: not by itself. */
static uint64_t
flow_ready(struct sim *m, struct sim_host *h, struct sim_flow *f)
{
	const struct scene_flow *s = f->f;
	uint64_t at;

	if (f->left == 0 || m->now >= s->stop_ns)
		return SIM_NEVER;
	if (m->now < s->start_ns)
		return s->start_ns;
	at = m->s->cc_on    ? tcc_rp_next(&f->rp, &h->cc, m->now)
	     : m->s->qau_on ? tqau_rp_next(&f->qau, &h->qau, m->now)
			    : m->now;
	return at > h->paused_until[s->prio] ? at : h->paused_until[s->prio];
}

static int
send_data(struct sim *m, struct sim_host *h, struct sim_flow *f)
{
	struct sim_pkt *pkt = sim_pkt_get(m);
	uint32_t len;

	if (pkt == NULL)
		return -1;
	len = sim_frame_data(f, pkt);
	f->tx_packets++;
	if (f->left != UINT64_MAX)
		f->left -= f->left < f->f->payload ? f->left : f->f->payload;
	if (m->s->qau_on) {
		len = sim_frame_tag(pkt, (uint32_t)(f - m->flow));
		tqau_rp_sent(&f->qau, &h->qau, len + 4, m->now);
	}
	if (m->s->cc_on)
		tcc_rp_sent(&f->rp, &h->cc, len + 4, m->now);
	return transmit(m, h, pkt);
}

int
sim_host_send(struct sim *m, uint32_t host)
{
	struct sim_host *h = &m->host[host];
	uint64_t wake = SIM_NEVER;

	if (h->wake != m->now)
		return 0; /* it was woken earlier */
	h->wake = SIM_NEVER;
	if (m->now < h->line_free)
		return sim_host_wake(m, host, h->line_free);
	if (h->cnp != NULL && h->paused_until[sim_cnp_prio(m, h->cnp->flow)] <= m->now)
		return send_cnp(m, h) != 0 ? -1 : sim_host_wake(m, host, h->line_free);
	if (h->cnp != NULL)
		wake = h->paused_until[sim_cnp_prio(m, h->cnp->flow)];
	for (uint32_t i = 0; i < h->num_flows; i++) {
		uint32_t k = (h->turn + i) % h->num_flows;
		struct sim_flow *f = &m->flow[h->flow[k]];
		uint64_t at = flow_ready(m, h, f);

		if (at <= m->now) {
			h->turn = k + 1;
			return send_data(m, h, f) != 0 ? -1 : sim_host_wake(m, host, h->line_free);
		}
		if (at < wake)
			wake = at;
	}
	return sim_host_wake(m, host, wake);
}

static int
receive_pause(struct sim *m, uint32_t host, const struct sim_event *e)
{
	struct sim_host *h = &m->host[host];
	uint64_t wake = SIM_NEVER;

	for (unsigned int p = 0; p < SIM_PRIOS; p++) {
		uint64_t until = m->now, was = h->paused_until[p] > m->now ? h->paused_until[p] : m->now;

		if (e->u.pause[p] == 0)
			continue;
		until += ((uint64_t)e->u.pause[p] - 1) * QUANTUM_BITS * 1000 / h->h->rate_mbps;
		h->paused_until[p] = until;
		/* Time that the new word adds to the old one, or takes away. */
		h->paused_ns += until - was;
		if (until < wake)
			wake = until;
	}
	return sim_host_wake(m, host, wake > h->line_free ? wake : h->line_free);
}

static int
owe_cnp(struct sim *m, struct sim_host *h, uint32_t host, uint32_t flow)
{
	struct sim_cnp *c = malloc(sizeof(*c));

	if (c == NULL)
		return -1;
	*c = (struct sim_cnp){.flow = flow};
	*h->cnp_tail = c;
	h->cnp_tail = &c->next;
	return sim_host_wake(m, host, m->now > h->line_free ? m->now : h->line_free);
}

static int
receive_cnm(struct sim *m, const struct sim_event *e)
{
	struct sim_flow *f;

	if (e->u.cnm.flow >= m->s->num_flows || m->flow[e->u.cnm.flow].f->from != e->what)
		return 0;
	f = &m->flow[e->u.cnm.flow];
	if (f->first_cnp == SIM_NEVER)
		f->first_cnp = m->now;
	f->cnps++;
	if (!m->s->qau_on || !tqau_rp_cnm(&f->qau, &m->host[e->what].qau, e->u.cnm.fb, m->now))
		f->cnps_ignored++;
	return 0;
}

int
sim_host_receive(struct sim *m, const struct sim_event *e)
{
	struct sim_host *h = &m->host[e->what];
	struct sim_flow *f;

	if (e->is_pause)
		return receive_pause(m, e->what, e);
	if (e->is_cnm)
		return receive_cnm(m, e);
	if (e->u.rx.flow >= m->s->num_flows)
		return 0;
	f = &m->flow[e->u.rx.flow];
	if (!e->u.rx.good) {
		f->rx_bad++;
		return 0;
	}
	if (e->u.rx.cnp) {
		if (f->f->from != e->what)
			return 0;
		if (f->first_cnp == SIM_NEVER)
			f->first_cnp = m->now;
		f->cnps++;
		if (!m->s->cc_on || !tcc_rp_cnp(&f->rp, &h->cc, m->now))
			f->cnps_ignored++;
		return 0;
	}
	if (f->f->to != e->what)
		return 0;
	f->rx_packets++;
	f->rx_bytes += e->u.rx.bytes;
	if (f->f->bytes != UINT64_MAX && f->rx_bytes >= f->f->bytes && f->done == SIM_NEVER)
		f->done = m->now;
	if (!e->u.rx.ce)
		return 0;
	f->rx_marked++;
	return tcc_np_mark(&f->np, m->s->cc.cnp_interval, m->now) ? owe_cnp(m, h, e->what, e->u.rx.flow) : 0;
}
