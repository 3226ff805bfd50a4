/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the tables have: samples, and rates between two looks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

#define DIM(a) (sizeof(a) / sizeof((a)[0]))
#define BITS_MEGA (8 / 1e6)

/* --- samples ----------------------------------------------------------------------------------------------------------- */

/* The same one at the look before; NULL: there is none. */
static const struct metric *
earlier(const struct looks *l, const struct metrics *p, const struct metric *m, double *seconds)
{
	const struct metrics *q = NULL;
	unsigned int i, k;

	for (i = 0; i < l->before->num && q == NULL; i++)
		if (strcmp(l->before->p[i].name, p->name) == 0 && l->before->p[i].pid == p->pid)
			q = &l->before->p[i];
	if (q == NULL)
		return NULL;
	*seconds = (double)(p->began - q->began) / 1e9;
	for (i = 0; i < q->num; i++) {
		const struct metric *o = &q->sample[i];

		if (o->id != m->id || o->num_labels != m->num_labels)
			continue;
		for (k = 0; k < m->num_labels && strcmp(o->label[k].value, m->label[k].value) == 0; k++)
			;
		if (k == m->num_labels)
			return o;
	}
	return NULL;
}

/* A second; NAN: it cannot be said. A counter that was reset in between counts from zero. */
static double
rate(const struct looks *l, const struct metrics *p, const struct metric *m)
{
	double seconds = 0, now, then;
	const struct metric *o = m == NULL ? NULL : earlier(l, p, m, &seconds);

	if (o == NULL || seconds <= 0)
		return NAN;
	now = metric_value(m);
	then = metric_value(o);
	return (now >= then ? now - then : now) / seconds;
}

/* One by up to two labels. */
static const struct metric *
find(const struct metrics *p, enum metric_id id, const char *name, const char *value, const char *name2,
     const char *value2)
{
	const char *v;
	unsigned int i;

	for (i = 0; i < p->num; i++) {
		const struct metric *m = &p->sample[i];

		if (m->id != id)
			continue;
		v = metric_label_of(m, name);
		if (v == NULL || strcmp(v, value) != 0)
			continue;
		v = name2 == NULL ? value2 : metric_label_of(m, name2);
		if (name2 == NULL || (v != NULL && strcmp(v, value2) == 0))
			return m;
	}
	return NULL;
}

/* --- rows -------------------------------------------------------------------------------------------------------------- */

static struct top_row *
row(struct table *t)
{
	struct top_row *more;

	if (t->num == t->room) {
		more = realloc(t->row, (t->room == 0 ? 64 : 2 * (size_t)t->room) * sizeof(*more));
		if (more == NULL)
			return NULL;
		t->row = more;
		t->room = t->room == 0 ? 64 : 2 * t->room;
	}
	memset(&t->row[t->num], 0, sizeof(*t->row));
	return &t->row[t->num++];
}

static void
text(struct top_row *r, unsigned int i, const char *s)
{
	unsigned int n = 0;

	/* What comes from elsewhere does nothing to the terminal. */
	for (; s != NULL && *s != '\0' && n + 1 < TOP_CELL; s++)
		r->cell[i][n++] = (unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s;
	r->key[i] = s == NULL ? 0 : strtod(r->cell[i], NULL);
}

static void
number(struct top_row *r, unsigned int i, double v)
{
	static const char units[] = " kMGTPE";
	unsigned int u = 0;

	r->key[i] = isnan(v) ? -1 : v;
	if (isnan(v)) {
		snprintf(r->cell[i], TOP_CELL, "-");
		return;
	}
	if (v < 1e5) {
		snprintf(r->cell[i], TOP_CELL, "%.*f",
			 v < 10 && v != floor(v)     ? 2
			 : v < 1000 && v != floor(v) ? 1
						     : 0,
			 v);
		return;
	}
	for (; v >= 9999.5 && u + 2 < sizeof(units); u++)
		v /= 1000;
	snprintf(r->cell[i], TOP_CELL, "%.*f%c", v < 100 ? 2 : v < 1000 ? 1 : 0, v, units[u]);
}

static double
sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* --- ports ------------------------------------------------------------------------------------------------------------- */

static const struct top_column port_columns[] = {
	{"process", 12, true},    {"port", 5, false},     {"device", 18, true},   {"link", 5, true},
	{"Gbit/s", 7, false},     {"rx pkt/s", 9, false}, {"tx pkt/s", 9, false}, {"rx Mbit/s", 10, false},
	{"tx Mbit/s", 10, false}, {"missed/s", 9, false}, {"nombuf/s", 9, false}, {"errors/s", 9, false},
	{"wait", 6, false},
};

static double
value(const struct metric *m, double scale)
{
	return m == NULL ? NAN : metric_value(m) * scale;
}

static void
one_port(const struct looks *l, const struct metrics *p, const struct metric *info, struct table *t)
{
	const char *port = metric_label_of(info, "port");
	const struct metric *m;
	double waits = NAN;
	struct top_row *r;
	unsigned int i;

	r = port == NULL ? NULL : row(t);
	if (r == NULL)
		return;
	text(r, 0, p->name);
	text(r, 1, port);
	text(r, 2, metric_label_of(info, "device"));
	m = find(p, M_LINK, "port", port, NULL, NULL);
	text(r, 3, m == NULL ? "-" : m->whole != 0 ? "up" : "down");
	number(r, 4, value(find(p, M_SPEED, "port", port, NULL, NULL), 8e-9));
	number(r, 5, rate(l, p, find(p, M_RX_PACKETS, "port", port, NULL, NULL)));
	number(r, 6, rate(l, p, find(p, M_TX_PACKETS, "port", port, NULL, NULL)));
	number(r, 7, rate(l, p, find(p, M_RX_BYTES, "port", port, NULL, NULL)) * BITS_MEGA);
	number(r, 8, rate(l, p, find(p, M_TX_BYTES, "port", port, NULL, NULL)) * BITS_MEGA);
	number(r, 9, rate(l, p, find(p, M_RX_MISSED, "port", port, NULL, NULL)));
	number(r, 10, rate(l, p, find(p, M_RX_NOMBUF, "port", port, NULL, NULL)));
	number(r, 11,
	       sum(rate(l, p, find(p, M_RX_ERRORS, "port", port, NULL, NULL)),
		   rate(l, p, find(p, M_TX_ERRORS, "port", port, NULL, NULL))));
	for (i = 0; i < p->num; i++)
		if (p->sample[i].id == M_RXQ_WAITING && strcmp(metric_label_of(&p->sample[i], "port"), port) == 0)
			waits = sum(waits, metric_value(&p->sample[i]));
	number(r, 12, waits);
	r->alarm = (m != NULL && m->whole == 0) || r->key[9] > 0 || r->key[10] > 0 || r->key[11] > 0;
}

/* For each sample of a family. */
static void
each(const struct looks *l, enum metric_id id, struct table *t,
     void (*fn)(const struct looks *l, const struct metrics *p, const struct metric *m, struct table *t))
{
	unsigned int i, k;

	for (i = 0; i < l->now->num; i++)
		for (k = 0; k < l->now->p[i].num; k++)
			if (l->now->p[i].sample[k].id == id)
				fn(l, &l->now->p[i], &l->now->p[i].sample[k], t);
}

static void
ports(const struct looks *l, struct table *t)
{
	each(l, M_PORT, t, one_port);
}

/* --- queues ------------------------------------------------------------------------------------------------------------ */

static const struct top_column queue_columns[] = {
	{"process", 12, true},  {"port", 5, false}, {"queue", 6, false}, {"way", 4, true},       {"pkt/s", 9, false},
	{"packets", 10, false}, {"ring", 6, false}, {"used", 6, false},  {"nombuf/s", 9, false}, {"errors/s", 9, false},
};

static void
queue(const struct looks *l, const struct metrics *p, const struct metric *m, struct table *t)
{
	const bool rx = m->id == M_RXQ_PACKETS || m->id == M_QRX_PACKETS,
		   own = m->id == M_RXQ_PACKETS || m->id == M_TXQ_PACKETS;
	const char *port = metric_label_of(m, "port"), *q = metric_label_of(m, "queue");
	struct top_row *r;

	/* Those of our ports say more on a page of their own. */
	if (port == NULL || q == NULL ||
	    (!own && find(p, rx ? M_RXQ_PACKETS : M_TXQ_PACKETS, "port", port, "queue", q) != NULL))
		return;
	r = row(t);
	if (r == NULL)
		return;
	text(r, 0, p->name);
	text(r, 1, port);
	text(r, 2, q);
	text(r, 3, rx ? "rx" : "tx");
	number(r, 4, rate(l, p, m));
	number(r, 5, metric_value(m));
	number(r, 6, value(find(p, rx ? M_RXQ_RING : M_TXQ_RING, "port", port, "queue", q), 1));
	number(r, 7, value(find(p, rx ? M_RXQ_WAITING : M_TXQ_USED, "port", port, "queue", q), 1));
	number(r, 8, rx ? rate(l, p, find(p, M_RXQ_NOMBUF, "port", port, "queue", q)) : NAN);
	number(r, 9, rx ? rate(l, p, find(p, M_RXQ_ERRORS, "port", port, "queue", q)) : NAN);
	r->alarm = r->key[8] > 0 || r->key[9] > 0;
}

static void
queues(const struct looks *l, struct table *t)
{
	each(l, M_RXQ_PACKETS, t, queue);
	each(l, M_TXQ_PACKETS, t, queue);
	each(l, M_QRX_PACKETS, t, queue);
	each(l, M_QTX_PACKETS, t, queue);
}

/* --- counters with their labels: drops, RDMA --------------------------------------------------------------------------- */

static const struct top_column event_columns[] = {
	{"process", 12, true}, {"of", 14, true}, {"what", 34, true}, {"a second", 9, false}, {"total", 11, false},
};

/* Those that never happened are left out. */
static void
event(const struct looks *l, const struct metrics *p, const struct metric *m, struct table *t)
{
	static const enum metric_id named[] = {M_DAMAGED, M_PRIO_DISCARDS, M_ROCE_PACKETS, M_ROCE_BYTES};
	char of[TOP_CELL] = "", what[2 * TOP_CELL] = "";
	unsigned int i;
	struct top_row *r;
	size_t n;

	if (metric_value(m) == 0)
		return;
	for (i = 0; i < m->num_labels; i++) {
		const bool place = i == 0 && strcmp(m->label[i].name, "direction") != 0;
		char *to = place ? of : what;

		n = strlen(to);
		snprintf(to + n, (place ? sizeof(of) : sizeof(what)) - n, place ? "%s%s %s" : "%s%.0s%s",
			 n == 0 ? "" : " ", m->label[i].name, m->label[i].value);
	}
	r = row(t);
	if (r == NULL)
		return;
	/* The direction or the cause alone would not say what of. */
	for (i = 0; i < DIM(named) && m->id != named[i]; i++)
		;
	if (what[0] == '\0' || i < DIM(named)) {
		const char *name = strrchr(metric_families[m->id].name, '_');

		n = strlen(what);
		snprintf(what + n, sizeof(what) - n, "%s%s", n == 0 ? "" : " ",
			 name == NULL ? metric_families[m->id].name : strchr(metric_families[m->id].name, '_') + 1);
	}
	text(r, 0, p->name);
	text(r, 1, of);
	text(r, 2, what);
	number(r, 3, rate(l, p, m));
	number(r, 4, metric_value(m));
	r->alarm = r->key[3] > 0;
}

static void
drops(const struct looks *l, struct table *t)
{
	static const enum metric_id ids[] = {M_DROPS,      M_DAMAGED,       M_RX_MISSED,    M_RX_NOMBUF,
					     M_TX_ERRORS,  M_PRIO_DISCARDS, M_KERNEL_DROPS, M_LCORE_DROPS,
					     M_LINK_DOWNS, M_QP_ERRORS,     M_STALLS};
	unsigned int i;

	for (i = 0; i < DIM(ids); i++)
		each(l, ids[i], t, event);
}

static void
rdma(const struct looks *l, struct table *t)
{
	static const enum metric_id ids[] = {M_ROCE_PACKETS, M_ROCE_BYTES,  M_ROCE_EVENTS,
					     M_IPOIB_EVENTS, M_SHARE_CALLS, M_GUEST_CALLS};
	unsigned int i;

	for (i = 0; i < DIM(ids); i++)
		each(l, ids[i], t, event);
}

/* --- lcores ------------------------------------------------------------------------------------------------------------ */

static const struct top_column lcore_columns[] = {
	{"process", 12, true},  {"lcore", 6, false},    {"CPU %", 6, false},      {"busy %", 7, false},
	{"rx pkt/s", 9, false}, {"tx pkt/s", 9, false}, {"dropped/s", 10, false}, {"sleeps/s", 9, false},
};

static void
lcore(const struct looks *l, const struct metrics *p, const struct metric *m, struct table *t)
{
	const char *id = metric_label_of(m, "lcore");
	struct top_row *r = row(t);
	double busy, idle;

	if (r == NULL)
		return;
	busy = rate(l, p, find(p, M_LCORE_TIME, "lcore", id, "state", "busy"));
	idle = rate(l, p, find(p, M_LCORE_TIME, "lcore", id, "state", "idle"));
	text(r, 0, p->name);
	text(r, 1, id);
	number(r, 2, rate(l, p, m) * 100);
	number(r, 3, busy + idle > 0 ? 100 * busy / (busy + idle) : isnan(busy) ? NAN : 0);
	number(r, 4, rate(l, p, find(p, M_LCORE_PACKETS, "lcore", id, "direction", "rx")));
	number(r, 5, rate(l, p, find(p, M_LCORE_PACKETS, "lcore", id, "direction", "tx")));
	number(r, 6, rate(l, p, find(p, M_LCORE_DROPS, "lcore", id, NULL, NULL)));
	number(r, 7, rate(l, p, find(p, M_LCORE_SLEEPS, "lcore", id, NULL, NULL)));
	r->alarm = r->key[6] > 0;
}

static void
lcores(const struct looks *l, struct table *t)
{
	each(l, M_LCORE_CPU, t, lcore);
}

/* --- priorities -------------------------------------------------------------------------------------------------------- */

static const struct top_column prio_columns[] = {
	{"process", 12, true},  {"port", 5, false},     {"prio", 5, false},
	{"way", 4, true},       {"pkt/s", 9, false},    {"Mbit/s", 9, false},
	{"pauses/s", 9, false}, {"paused %", 9, false}, {"packets", 10, false},
};

static void
prio(const struct looks *l, const struct metrics *p, const struct metric *m, struct table *t)
{
	const char *port = metric_label_of(m, "port"), *pr = metric_label_of(m, "priority"),
		   *way = metric_label_of(m, "direction");
	const enum metric_id ids[] = {M_PRIO_BYTES, M_PRIO_PAUSE, M_PRIO_PAUSED};
	const struct metric *more[DIM(ids)] = {NULL};
	struct top_row *r = port == NULL || pr == NULL || way == NULL ? NULL : row(t);
	unsigned int i, k;

	if (r == NULL)
		return;
	for (i = 0; i < p->num; i++) {
		const struct metric *o = &p->sample[i];

		for (k = 0; k < DIM(ids); k++)
			if (o->id == ids[k] && strcmp(metric_label_of(o, "port"), port) == 0 &&
			    strcmp(metric_label_of(o, "priority"), pr) == 0 &&
			    strcmp(metric_label_of(o, "direction"), way) == 0)
				more[k] = o;
	}
	text(r, 0, p->name);
	text(r, 1, port);
	text(r, 2, pr);
	text(r, 3, way);
	number(r, 4, rate(l, p, m));
	number(r, 5, rate(l, p, more[0]) * BITS_MEGA);
	number(r, 6, rate(l, p, more[1]));
	number(r, 7, rate(l, p, more[2]) * 100);
	number(r, 8, metric_value(m));
	r->alarm = r->key[6] > 0;
}

static void
prios(const struct looks *l, struct table *t)
{
	each(l, M_PRIO_PACKETS, t, prio);
}

#define VIEW(columns) columns, DIM(columns)

const struct top_view top_views[] = {
	{"ports", "Ports", VIEW(port_columns), 5, ports},
	{"queues", "Queues", VIEW(queue_columns), 4, queues},
	{"lcores", "Lcores", VIEW(lcore_columns), 2, lcores},
	{"drops", "Drops and errors that happened, by cause", VIEW(event_columns), 3, drops},
	{"priorities", "Priorities", VIEW(prio_columns), 4, prios},
	{"rdma", "RoCE, IPoIB and shared ports", VIEW(event_columns), 3, rdma},
};
const unsigned int top_num_views = DIM(top_views);
