/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's declaration in DCBX's terms, and back. */
#include <string.h>

#include "tp_dcbx.h"

static void
add(struct tp_dcbx_apps *apps, uint8_t sel, uint16_t proto, uint8_t prio)
{
	if (apps->n < TP_DCBX_APPS)
		apps->app[apps->n++] = (struct tp_dcbx_app){.sel = sel, .proto = proto, .prio = prio};
}

static void
add_ports(struct tp_dcbx_apps *apps, uint8_t sel, const struct tp_qos_rule *r)
{
	uint32_t port;

	for (port = r->lo; port <= r->hi && apps->n < TP_DCBX_APPS; port++)
		add(apps, sel, (uint16_t)port, r->prio);
}

void
tp_dcbx_from_qos(const struct tp_qos_port *q, const struct tp_qos_limits *lim, struct tp_dcbx_params *p)
{
	uint32_t i;

	tp_dcbx_params_default(p);
	p->ets.max_tc = lim->max_tc;
	p->pfc.cap = lim->pfc ? lim->max_tc : 0;
	/* The peer is told what it may rely on: PFC both ways. */
	p->pfc.enable = q->rx_pfc & q->tx_pfc;
	for (i = 0; i < TP_PRIOS; i++)
		p->ets.prio_tc[i] = q->prio_tc[i];
	for (i = 0; i < TP_TCS; i++) {
		p->ets.tsa[i] = q->tc[i].tsa;
		p->ets.bw[i] = q->tc[i].bw_pct;
	}
	for (i = 0; i < q->num_rules; i++) {
		const struct tp_qos_rule *r = &q->rule[i];

		if (r->match == TP_MATCH_TCP_PORT)
			add_ports(&p->apps, TP_DCBX_SEL_TCP, r);
		else if (r->match == TP_MATCH_UDP_PORT)
			add_ports(&p->apps, TP_DCBX_SEL_UDP, r);
		else if (r->match == TP_MATCH_DEFAULT)
			add(&p->apps, TP_DCBX_SEL_ETHERTYPE, 0, r->prio);
	}
}

/* Learnt rules: they take only the room that the port's own leave. */
struct rules {
	uint32_t n, room;
	struct tp_qos_rule rule[TP_QOS_RULES];
};

static bool
add_rule(struct rules *t, uint8_t match, const struct tp_dcbx_app *a)
{
	if (t->n == t->room)
		return false;
	t->rule[t->n++] =
		(struct tp_qos_rule){.match = match, .prio = a->prio, .dscp = -1, .lo = a->proto, .hi = a->proto};
	return true;
}

static bool
add_app(struct rules *t, const struct tp_dcbx_app *a)
{
	if (a->proto == 0)
		return false;
	switch (a->sel) {
	case TP_DCBX_SEL_TCP: return add_rule(t, TP_MATCH_TCP_PORT, a);
	case TP_DCBX_SEL_UDP: return add_rule(t, TP_MATCH_UDP_PORT, a);
	case TP_DCBX_SEL_ANY:
		return t->n + 2 <= t->room && add_rule(t, TP_MATCH_TCP_PORT, a) && add_rule(t, TP_MATCH_UDP_PORT, a);
	default: return false;
	}
}

/* The first rule that matches decides: learnt ones before the port's own, a learnt default instead of its own. */
static unsigned int
put_rules(const struct tp_dcbx_apps *apps, struct tp_qos_port *q)
{
	struct rules t = {.room = TP_QOS_RULES - q->num_rules};
	unsigned int none = 0;
	int def = -1;
	uint32_t i;

	for (i = 0; i < apps->n; i++) {
		const struct tp_dcbx_app *a = &apps->app[i];

		if (a->sel == TP_DCBX_SEL_ETHERTYPE && a->proto == 0 && def < 0 && t.room > 0) {
			def = a->prio;
			t.room--;
		}
	}
	for (i = 0; i < apps->n; i++) {
		const struct tp_dcbx_app *a = &apps->app[i];

		if (a->sel != TP_DCBX_SEL_ETHERTYPE || a->proto != 0 || def < 0)
			none += !add_app(&t, a);
	}
	for (i = 0; i < q->num_rules; i++)
		if (def < 0 || q->rule[i].match != TP_MATCH_DEFAULT)
			t.rule[t.n++] = q->rule[i];
	if (def >= 0)
		t.rule[t.n++] = (struct tp_qos_rule){.match = TP_MATCH_DEFAULT, .prio = (uint8_t)def, .dscp = -1};
	memcpy(q->rule, t.rule, sizeof(q->rule));
	q->num_rules = t.n;
	return none;
}

unsigned int
tp_dcbx_to_qos(const struct tp_dcbx_params *p, unsigned int mask, struct tp_qos_port *q)
{
	unsigned int i;

	if ((mask & 1u << TP_DCBX_ETS) != 0) {
		for (i = 0; i < TP_PRIOS; i++)
			q->prio_tc[i] = p->ets.prio_tc[i];
		for (i = 0; i < TP_TCS; i++) {
			q->tc[i].tsa = p->ets.tsa[i];
			q->tc[i].bw_pct = p->ets.bw[i];
		}
	}
	if ((mask & 1u << TP_DCBX_PFC) != 0) {
		q->rx_pfc = q->tx_pfc = p->pfc.enable;
		if (p->pfc.enable != 0)
			q->rx_pause = q->tx_pause = false; /* one excludes the other */
	}
	return (mask & 1u << TP_DCBX_APP) != 0 ? put_rules(&p->apps, q) : 0;
}
