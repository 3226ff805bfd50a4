/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of a run, its events, and what is measured while it goes. */
#include <stdlib.h>

#include "sim.h"

static int
alloc(struct sim *m, const struct scene *s)
{
	m->sw = calloc(s->num_sw, sizeof(*m->sw));
	m->sw_due = calloc(s->num_sw, sizeof(*m->sw_due));
	m->sw_port = calloc(s->num_sw, sizeof(*m->sw_port));
	m->port = calloc(s->num_hosts + 2 * (size_t)s->num_links, sizeof(*m->port));
	m->host = calloc(s->num_hosts, sizeof(*m->host));
	m->flow = calloc(s->num_flows, sizeof(*m->flow));
	m->pauses = calloc(m->samples, sizeof(*m->pauses));
	if (m->pauses == NULL || m->sw == NULL || m->sw_due == NULL || m->sw_port == NULL || m->port == NULL ||
	    m->host == NULL || m->flow == NULL)
		return -1;
	for (uint32_t i = 0; i < s->num_flows; i++) {
		m->flow[i].rate = calloc(m->samples, sizeof(float));
		m->flow[i].goodput = calloc(m->samples, sizeof(float));
		if (m->flow[i].rate == NULL || m->flow[i].goodput == NULL)
			return -1;
	}
	return 0;
}

int
sim_init(struct sim *m, const struct scene *s, FILE *pcap, char err[SCENE_TEXT])
{
	*m = (struct sim){.s = s, .pcap = pcap, .samples = (uint32_t)(s->time_ns / s->sample_ns)};
	if (alloc(m, s) != 0) {
		snprintf(err, SCENE_TEXT, "out of memory");
		return -1;
	}
	if (pcap != NULL)
		sim_pcap_open(pcap);
	if (sim_net_init(m, err) != 0)
		return -1;
	if (sim_host_init(m) != 0 || sim_push(m, &(struct sim_event){.at = s->sample_ns, .kind = SIM_SAMPLE}) != 0 ||
	    sim_push(m, &(struct sim_event){.at = s->from_ns, .kind = SIM_QUEUES}) != 0) {
		snprintf(err, SCENE_TEXT, "out of memory");
		return -1;
	}
	return 0;
}

void
sim_fini(struct sim *m)
{
	struct sim_event e;

	while (sim_pop(m, &e))
		if (e.kind == SIM_TO_SWITCH)
			free(e.u.pkt);
	free(m->heap.e);
	free(m->heap.key);
	if (m->sw != NULL)
		sim_net_fini(m);
	for (uint32_t i = 0; m->host != NULL && i < m->s->num_hosts; i++) {
		while (m->host[i].cnp != NULL) {
			struct sim_cnp *c = m->host[i].cnp;

			m->host[i].cnp = c->next;
			free(c);
		}
		free(m->host[i].flow);
	}
	for (uint32_t i = 0; m->flow != NULL && i < m->s->num_flows; i++) {
		free(m->flow[i].rate);
		free(m->flow[i].goodput);
	}
	free(m->sw);
	free(m->sw_due);
	free(m->sw_port);
	free(m->port);
	free(m->host);
	free(m->flow);
	free(m->pauses);
}

/* --- what is measured ------------------------------------------------------------------------------------------- */

static uint64_t
waiting(const struct tp_switch_port_stats *st)
{
	uint64_t bytes = 0;

	for (unsigned int p = 0; p < SIM_PRIOS; p++)
		bytes += st->prio[p].out_bytes;
	return bytes;
}

static int
sample(struct sim *m)
{
	double s = (double)m->s->sample_ns;
	uint64_t pauses = 0;

	for (uint32_t i = 0; i < m->s->num_flows; i++) {
		struct sim_flow *f = &m->flow[i];
		const struct sim_host *h = &m->host[f->f->from];

		f->goodput[m->sampled] = (float)((double)(f->rx_bytes - f->rx_before) * 8 / s);
		f->rate[m->sampled] = (float)((m->s->qau_on ? tqau_rp_rate(&f->qau, &h->qau, m->now)
							    : tcc_rp_rate(&f->rp, &h->cc, m->now)) /
					      1e6);
		f->rx_before = f->rx_bytes;
	}
	for (uint32_t i = 0; i < m->num_ports; i++) {
		struct tp_switch_port_stats st;

		tp_switch_port_stats_get(m->sw[m->port[i].sw], tp_switch_port_number(m->port[i].p), &st);
		m->port[i].series[m->sampled] = (float)waiting(&st);
		for (unsigned int p = 0; p < SIM_PRIOS; p++)
			pauses += st.prio[p].tx_pause_frames;
	}
	m->pauses[m->sampled] = (float)(pauses - m->pauses_before);
	m->pauses_before = pauses;
	if (++m->sampled == m->samples)
		return 0;
	return sim_push(m, &(struct sim_event){.at = m->now + m->s->sample_ns, .kind = SIM_SAMPLE});
}

/* Depths of queues within the window, and counters at its ends. */
static int
queues(struct sim *m)
{
	bool first = m->now == m->s->from_ns, last = m->now >= m->s->to_ns;
	uint64_t next = m->now + SIM_QUEUE_NS;

	for (uint32_t i = 0; i < m->num_ports; i++) {
		struct sim_port *p = &m->port[i];
		struct tp_switch_port_stats st;
		uint64_t bytes;

		tp_switch_port_stats_get(m->sw[p->sw], tp_switch_port_number(p->p), &st);
		bytes = waiting(&st);
		p->depths[p->num_depths++] = (uint32_t)bytes;
		if (bytes > p->peak)
			p->peak = bytes;
		if (first)
			p->from = st;
		if (last)
			p->to = st;
	}
	for (uint32_t i = 0; (first || last) && i < m->s->num_flows; i++)
		*(first ? &m->flow[i].from_bytes : &m->flow[i].to_bytes) = m->flow[i].rx_bytes;
	if (last)
		return 0;
	return sim_push(m, &(struct sim_event){.at = next < m->s->to_ns ? next : m->s->to_ns, .kind = SIM_QUEUES});
}

int
sim_run(struct sim *m)
{
	struct sim_event e;
	int rc = 0;

	while (rc == 0 && m->heap.num != 0 && m->heap.key[0].at <= m->s->time_ns && sim_pop(m, &e)) {
		m->now = e.at;
		m->events++;
		switch ((enum sim_kind)e.kind) {
		case SIM_HOST: rc = sim_host_send(m, e.what); break;
		case SIM_SWITCH: rc = sim_net_switch(m, e.what); break;
		case SIM_TO_SWITCH: rc = sim_net_arrive(m, e.what, e.u.pkt); break;
		case SIM_TO_HOST: rc = sim_host_receive(m, &e); break;
		case SIM_SAMPLE: rc = sample(m); break;
		case SIM_QUEUES: rc = queues(m); break;
		}
	}
	return rc;
}
