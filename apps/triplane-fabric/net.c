/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Switches, the cables between them and to hosts, and a way for each address: the shortest, the first of equal ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define BURST 16u

struct sim_pkt *
sim_pkt_get(struct sim *m)
{
	struct sim_pkt *p = m->spare;

	if (p == NULL)
		return calloc(1, sizeof(*p));
	m->spare = p->next;
	return p;
}

static void
pkt_put(struct sim *m, struct sim_pkt *p)
{
	p->next = m->spare;
	m->spare = p;
}

/* --- building --------------------------------------------------------------------------------------------------- */

static int
add_port(struct sim *m, uint32_t sw, uint32_t rate, uint32_t delay, char err[SCENE_TEXT])
{
	struct sim_port *p = &m->port[m->num_ports];
	char text[TP_SWITCH_TEXT] = "", word[64];

	*p = (struct sim_port){.sw = sw, .delay_ns = delay, .next = SIM_NEVER};
	if (tp_switch_port_add(m->sw[sw], &p->p, text) != 0) {
		snprintf(err, SCENE_TEXT, "switch %s: %.200s", m->s->sw[sw].name, text);
		return -1;
	}
	m->sw_port[sw][tp_switch_port_number(p->p) - 1] = m->num_ports;
	m->num_ports++;
	snprintf(word, sizeof(word), "rate:%u", rate);
	tp_switch_word(m->sw[sw], tp_switch_port_number(p->p), word, text);
	tp_switch_word(m->sw[sw], tp_switch_port_number(p->p), "trust:dscp", text);
	tp_switch_port_link(p->p, true);
	p->series = calloc(m->samples, sizeof(*p->series));
	p->depths = calloc((m->s->to_ns - m->s->from_ns) / SIM_QUEUE_NS + 2, sizeof(*p->depths));
	if (p->series == NULL || p->depths == NULL) {
		snprintf(err, SCENE_TEXT, "out of memory");
		return -1;
	}
	return 0;
}

/* A word of the switch, or of each of its ports. */
static int
apply_word(struct sim *m, uint32_t sw, const char *word, char text[TP_SWITCH_TEXT])
{
	int rc = tp_switch_word(m->sw[sw], 0, word, text);

	if (rc != -ENOENT)
		return rc;
	for (uint32_t i = 0; i < m->num_ports; i++)
		if (m->port[i].sw == sw) {
			rc = tp_switch_word(m->sw[sw], tp_switch_port_number(m->port[i].p), word, text);
			if (rc != 0)
				return rc;
		}
	return rc;
}

static int
apply_words(struct sim *m, uint32_t sw, char err[SCENE_TEXT])
{
	char words[SCENE_TEXT], text[TP_SWITCH_TEXT] = "", *save = NULL;

	snprintf(words, sizeof(words), "seed:%llu %.200s", (unsigned long long)m->s->seed + sw, m->s->sw[sw].words);
	for (char *w = strtok_r(words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		if (apply_word(m, sw, w, text) != 0) {
			snprintf(err, SCENE_TEXT, "line %u: switch %s: %.180s", m->s->sw[sw].line, m->s->sw[sw].name,
				 text);
			return -1;
		}
	return 0;
}

/* The port of each switch that leads to this one, by breadth first from it; UINT32_MAX: none. */
static void
ways(const struct sim *m, uint32_t to, uint32_t *way, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < m->s->num_sw; i++)
		way[i] = UINT32_MAX;
	queue[tail++] = to;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (uint32_t i = 0; i < m->num_ports; i++) {
			const struct sim_port *p = &m->port[i];
			uint32_t far;

			if (p->sw != sw || p->peer_host)
				continue;
			far = m->port[p->peer].sw;
			if (far == to || way[far] != UINT32_MAX)
				continue;
			way[far] = p->peer;
			queue[tail++] = far;
		}
	}
}

static int
route(struct sim *m, char err[SCENE_TEXT])
{
	uint32_t *way = calloc(m->s->num_sw + (size_t)1, 2 * sizeof(*way)), *queue = way + m->s->num_sw;

	if (way == NULL) {
		snprintf(err, SCENE_TEXT, "out of memory");
		return -1;
	}
	for (uint32_t h = 0; h < m->s->num_hosts; h++) {
		uint8_t mac[6];

		sim_frame_mac(h, mac);
		ways(m, m->s->host[h].sw, way, queue);
		way[m->s->host[h].sw] = m->host[h].port;
		for (uint32_t i = 0; i < m->s->num_sw; i++)
			if (way[i] != UINT32_MAX &&
			    tp_switch_mac_static(m->sw[i], 0, mac,
						 UINT64_C(1) << (tp_switch_port_number(m->port[way[i]].p) - 1)) != 0) {
				snprintf(err, SCENE_TEXT,
					 "switch %s: no room for the address of host %s: more macs: on its line",
					 m->s->sw[i].name, m->s->host[h].name);
				free(way);
				return -1;
			}
	}
	free(way);
	return 0;
}

int
sim_net_init(struct sim *m, char err[SCENE_TEXT])
{
	const struct scene *s = m->s;

	for (uint32_t i = 0; i < s->num_sw; i++) {
		if (tp_switch_find(s->sw[i].name) != NULL || tp_switch_get(s->sw[i].name, &m->sw[i]) != 0) {
			snprintf(err, SCENE_TEXT,
				 "line %u: switch '%s': wanted a name of its own, of letters, digits, '.', '_', '-'",
				 s->sw[i].line, s->sw[i].name);
			return -1;
		}
		m->sw_due[i] = SIM_NEVER;
	}
	for (uint32_t i = 0; i < s->num_hosts; i++) {
		m->host[i].port = m->num_ports;
		if (add_port(m, s->host[i].sw, s->host[i].rate_mbps, s->host[i].delay_ns, err) != 0)
			return -1;
		m->port[m->num_ports - 1].peer_host = true;
		m->port[m->num_ports - 1].peer = i;
	}
	for (uint32_t i = 0; i < s->num_links; i++) {
		const struct scene_link *l = &s->link[i];
		uint32_t a = m->num_ports;

		if (add_port(m, l->a, l->rate_mbps, l->delay_ns, err) != 0 ||
		    add_port(m, l->b, l->rate_mbps, l->delay_ns, err) != 0)
			return -1;
		m->port[a].peer = a + 1;
		m->port[a + 1].peer = a;
	}
	for (uint32_t i = 0; i < s->num_sw; i++)
		if (apply_words(m, i, err) != 0)
			return -1;
	return route(m, err);
}

void
sim_net_fini(struct sim *m)
{
	for (uint32_t i = 0; i < m->num_ports; i++) {
		tp_switch_port_remove(m->port[i].p);
		free(m->port[i].series);
		free(m->port[i].depths);
	}
	for (uint32_t i = 0; i < m->s->num_sw; i++)
		if (m->sw[i] != NULL)
			tp_switch_put(m->sw[i]);
	while (m->spare != NULL) {
		struct sim_pkt *p = m->spare;

		m->spare = p->next;
		free(p);
	}
}

/* --- running ---------------------------------------------------------------------------------------------------- */

/* The switch's event is at the first moment that one of its ports sends. */
static int
schedule(struct sim *m, uint32_t sw)
{
	uint64_t due, first = tp_switch_next(m->sw[sw], m->now, &due);

	if (first >= m->sw_due[sw])
		return 0;
	m->sw_due[sw] = first;
	return sim_push(m, &(struct sim_event){.at = first, .kind = SIM_SWITCH, .what = sw});
}

int
sim_net_arrive(struct sim *m, uint32_t port, struct sim_pkt *pkt)
{
	struct tp_frame_seg seg = {pkt->data, pkt->len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = pkt->len};

	tp_switch_port_send(m->port[port].p, m->now, &f, 1);
	pkt_put(m, pkt);
	return schedule(m, m->port[port].sw);
}

/* A frame has left by a port: it is at the other end a cable later. */
static int
leave(struct sim *m, struct sim_port *p, const struct tp_frame *f)
{
	struct sim_event e = {.at = m->now + p->delay_ns, .what = p->peer};
	struct sim_pkt *pkt;

	if (p->peer_host) {
		e.kind = SIM_TO_HOST;
		if (!sim_frame_read(f->seg[0].data, f->len, &e))
			return 0;
		if (m->pcap != NULL)
			sim_pcap_write(m->pcap, e.at, f->seg[0].data, f->len);
		return sim_push(m, &e);
	}
	pkt = sim_pkt_get(m);
	if (pkt == NULL)
		return -1;
	memcpy(pkt->data, f->seg[0].data, f->len);
	pkt->len = f->len;
	e.kind = SIM_TO_SWITCH;
	e.u.pkt = pkt;
	return sim_push(m, &e);
}

int
sim_net_switch(struct sim *m, uint32_t sw)
{
	struct tp_frame f[BURST];
	uint64_t due;

	if (m->sw_due[sw] != m->now)
		return 0; /* it was looked at earlier */
	m->sw_due[sw] = SIM_NEVER;
	tp_switch_next(m->sw[sw], m->now, &due);
	for (; due != 0; due &= due - 1) {
		struct sim_port *p = &m->port[m->sw_port[sw][__builtin_ctzll(due)]];
		unsigned int n = tp_switch_port_recv(p->p, m->now, f, BURST);

		for (unsigned int k = 0; k < n; k++)
			if (leave(m, p, &f[k]) != 0)
				return -1;
	}
	return schedule(m, sw);
}
