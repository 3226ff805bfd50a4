/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters: as structures, and one by one by name. */
#include <errno.h>

#include "switch.h"

static void
stats_now(const struct tp_switch *sw, struct tp_switch_stats *st)
{
	*st = sw->st;
	st->ports = sw->num_ports;
	st->buffer_bytes = sw->cfg.buffer_bytes;
	st->shared_bytes = sw->shared_size;
	st->used = sw->used;
	st->shared_used = sw->shared_used;
	st->reserve_used = sw->reserve_used;
	st->headroom_used = sw->headroom_used;
	st->queued_frames = sw->queued;
}

/* Pauses count as far as they have gone. */
static void
port_stats_now(const struct tp_switch_port *p, struct tp_switch_port_stats *st)
{
	uint64_t now = p->sw->now_ps;

	*st = p->st;
	for (unsigned int i = 0; i < TP_SWITCH_PRIOS; i++) {
		struct tp_switch_prio_stats *s = &st->prio[i];
		uint64_t rx = p->rx_pause_ps[i], tx = p->tx_pause_ps[i];

		if ((p->paused >> i & 1) != 0)
			rx += (p->paused_until[i] < now ? p->paused_until[i] : now) - p->paused_since[i];
		if (p->in[i].xoff)
			tx += now - p->in[i].xoff_ps;
		s->rx_pause_ns = rx / 1000;
		s->tx_pause_ns = tx / 1000;
		s->in_bytes = p->in[i].bytes;
		s->headroom_bytes = p->in[i].headroom;
		s->out_bytes = p->out_bytes[i];
		s->out_frames = p->out_frames[i];
	}
}

void
tp_switch_stats_get(struct tp_switch *sw, struct tp_switch_stats *st)
{
	pthread_mutex_lock(&sw->lock);
	stats_now(sw, st);
	pthread_mutex_unlock(&sw->lock);
}

int
tp_switch_port_stats_get(struct tp_switch *sw, unsigned int port, struct tp_switch_port_stats *st)
{
	int rc = -ENOENT;

	pthread_mutex_lock(&sw->lock);
	if (port >= 1 && port <= TP_SWITCH_PORTS && sw->port[port - 1] != NULL) {
		port_stats_now(sw->port[port - 1], st);
		rc = 0;
	}
	pthread_mutex_unlock(&sw->lock);
	return rc;
}

#define FIELD(type, f)                                                                                                 \
	{                                                                                                              \
#f, offsetof(struct type, f)                                                                           \
	}
static const struct {
	const char *name;
	size_t off;
} switch_field[] = {FIELD(tp_switch_stats, learnt),        FIELD(tp_switch_stats, moved),
		    FIELD(tp_switch_stats, aged),          FIELD(tp_switch_stats, not_learnt),
		    FIELD(tp_switch_stats, flooded),       FIELD(tp_switch_stats, buffer_bytes),
		    FIELD(tp_switch_stats, shared_bytes),  FIELD(tp_switch_stats, used),
		    FIELD(tp_switch_stats, used_peak),     FIELD(tp_switch_stats, shared_used),
		    FIELD(tp_switch_stats, shared_peak),   FIELD(tp_switch_stats, reserve_used),
		    FIELD(tp_switch_stats, headroom_used), FIELD(tp_switch_stats, queued_frames)};

#define DROP_FIELD(id, name) {"drop_" #name, offsetof(struct tp_switch_prio_stats, drop[TP_SWITCH_DROP_##id])},
static const struct {
	const char *name;
	size_t off;
} prio_field[] = {FIELD(tp_switch_prio_stats, rx_frames),
		  FIELD(tp_switch_prio_stats, rx_bytes),
		  FIELD(tp_switch_prio_stats, tx_frames),
		  FIELD(tp_switch_prio_stats, tx_bytes),
		  TP_SWITCH_DROPS(DROP_FIELD) FIELD(tp_switch_prio_stats, ecn_marks),
		  FIELD(tp_switch_prio_stats, cn_messages),
		  FIELD(tp_switch_prio_stats, rx_pause_frames),
		  FIELD(tp_switch_prio_stats, rx_pause_ns),
		  FIELD(tp_switch_prio_stats, tx_pause_frames),
		  FIELD(tp_switch_prio_stats, tx_pause_ns),
		  FIELD(tp_switch_prio_stats, in_bytes),
		  FIELD(tp_switch_prio_stats, in_peak),
		  FIELD(tp_switch_prio_stats, headroom_bytes),
		  FIELD(tp_switch_prio_stats, headroom_peak),
		  FIELD(tp_switch_prio_stats, out_bytes),
		  FIELD(tp_switch_prio_stats, out_frames),
		  FIELD(tp_switch_prio_stats, out_peak)};

static uint64_t
value_at(const void *obj, size_t off)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)obj + off, sizeof(v));
	return v;
}

static void
each_of_port(const struct tp_switch_port_stats *st, unsigned int port, tp_switch_counter_fn fn, void *arg)
{
	fn(arg, port, -1, "link_up", st->link_up);
	fn(arg, port, -1, "rx_control", st->rx_control);
	fn(arg, port, -1, "tx_control", st->tx_control);
	for (int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
		for (unsigned int i = 0; i < sizeof(prio_field) / sizeof(prio_field[0]); i++) {
			uint64_t v = value_at(&st->prio[prio], prio_field[i].off);

			if (v != 0)
				fn(arg, port, prio, prio_field[i].name, v);
		}
}

void
tp_switch_each_counter(struct tp_switch *sw, tp_switch_counter_fn fn, void *arg)
{
	struct tp_switch_port_stats port;
	struct tp_switch_stats st;

	tp_switch_stats_get(sw, &st);
	fn(arg, 0, -1, "ports", st.ports);
	fn(arg, 0, -1, "macs", st.macs);
	for (unsigned int i = 0; i < sizeof(switch_field) / sizeof(switch_field[0]); i++)
		fn(arg, 0, -1, switch_field[i].name, value_at(&st, switch_field[i].off));
	for (unsigned int i = 1; i <= TP_SWITCH_PORTS; i++)
		if (tp_switch_port_stats_get(sw, i, &port) == 0)
			each_of_port(&port, i, fn, arg);
}
