/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "flow_words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024

enum kind { NUMBER, MAC, IP4, IP6 };

struct field {
	const char *name;
	uint8_t off, len;
	enum kind kind;
	uint64_t mask; /* of "is" for a number, 0: all bits */
};

struct item_words {
	const char *name;
	enum rte_flow_item_type type;
	struct field field[8];
};

static const struct item_words items[] = {
	{"void", RTE_FLOW_ITEM_TYPE_VOID, {{0}}},
	{"eth", RTE_FLOW_ITEM_TYPE_ETH, {{"dst", 0, 6, MAC, 0}, {"src", 6, 6, MAC, 0}, {"type", 12, 2, NUMBER, 0}}},
	{"vlan",
	 RTE_FLOW_ITEM_TYPE_VLAN,
	 {{"vid", 0, 2, NUMBER, 0x0fff}, {"tci", 0, 2, NUMBER, 0}, {"inner_type", 2, 2, NUMBER, 0}}},
	{"ipv4",
	 RTE_FLOW_ITEM_TYPE_IPV4,
	 {{"tos", 1, 1, NUMBER, 0},
	  {"ttl", 8, 1, NUMBER, 0},
	  {"proto", 9, 1, NUMBER, 0},
	  {"src", 12, 4, IP4, 0},
	  {"dst", 16, 4, IP4, 0}}},
	{"ipv6",
	 RTE_FLOW_ITEM_TYPE_IPV6,
	 {{"proto", 6, 1, NUMBER, 0}, {"hop", 7, 1, NUMBER, 0}, {"src", 8, 16, IP6, 0}, {"dst", 24, 16, IP6, 0}}},
	{"tcp",
	 RTE_FLOW_ITEM_TYPE_TCP,
	 {{"src", 0, 2, NUMBER, 0}, {"dst", 2, 2, NUMBER, 0}, {"flags", 13, 1, NUMBER, 0}}},
	{"udp", RTE_FLOW_ITEM_TYPE_UDP, {{"src", 0, 2, NUMBER, 0}, {"dst", 2, 2, NUMBER, 0}}},
	{"vxlan", RTE_FLOW_ITEM_TYPE_VXLAN, {{"vni", 4, 3, NUMBER, 0}}},
};

struct words {
	char *save;
	const char *now; /* the present word, "" behind the last */
	char *err;
};

static void
next(struct words *w)
{
	w->now = strtok_r(NULL, " \t", &w->save);
	if (w->now == NULL)
		w->now = "";
}

static bool
is(const struct words *w, const char *word)
{
	return strcmp(w->now, word) == 0;
}

static int
unexpected(const struct words *w, const char *want)
{
	snprintf(w->err, FLOW_ERR_LEN, "'%.40s', want %s", w->now, want);
	return -EINVAL;
}

static int
number(struct words *w, const char *what, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(w->now, &end, 0);
	if (w->now[0] == '\0' || w->now[0] == '-' || *end != '\0' || errno != 0 || *v > max) {
		snprintf(w->err, FLOW_ERR_LEN, "%s: '%.40s', want 0..%llu", what, w->now, (unsigned long long)max);
		return -EINVAL;
	}
	next(w);
	return 0;
}

/* --- pattern ---------------------------------------------------------------------------------------------- */

/* The value of a field as it lies in the header. */
static int
value(struct words *w, const struct field *f, uint8_t octets[16])
{
	struct rte_ether_addr mac;
	uint64_t v;
	uint32_t i;
	int rc;

	switch (f->kind) {
	case NUMBER:
		rc = number(w, f->name, (UINT64_C(1) << (8 * f->len)) - 1, &v);
		for (i = 0; i < f->len; i++)
			octets[i] = (uint8_t)(v >> (8 * (f->len - 1u - i)));
		return rc;
	case MAC:
		if (rte_ether_unformat_addr(w->now, &mac) != 0)
			return unexpected(w, "an address such as 02:00:00:00:00:01");
		memcpy(octets, mac.addr_bytes, sizeof(mac.addr_bytes));
		break;
	case IP4:
		if (inet_pton(AF_INET, w->now, octets) != 1)
			return unexpected(w, "an address such as 10.0.0.1");
		break;
	default:
		if (inet_pton(AF_INET6, w->now, octets) != 1)
			return unexpected(w, "an address such as fd00::1");
		break;
	}
	next(w);
	return 0;
}

static void
put_mask(const struct field *f, uint8_t *octets, uint32_t bits)
{
	uint32_t i;

	for (i = 0; i < f->len; i++) {
		uint32_t left = bits > 8 * i ? bits - 8 * i : 0;

		octets[i] |= left >= 8 ? 0xff : (uint8_t)(0xff00u >> left);
		if (f->mask != 0)
			octets[i] &= (uint8_t)(f->mask >> (8 * (f->len - 1u - i)));
	}
}

static void
put_value(const struct field *f, uint8_t *octets, const uint8_t *v)
{
	uint32_t i;

	for (i = 0; i < f->len; i++)
		octets[i] = f->mask != 0 ? octets[i] | v[i] : v[i];
}

/* FIELD is|spec|mask|last VALUE, or FIELD prefix BITS. */
static int
field(struct words *w, const struct item_words *it, struct flow_rule *r, uint32_t n)
{
	const struct field *f = it->field;
	uint8_t v[16] = {0}, *spec, *mask;
	enum { IS, SPEC, MASK, LAST, PREFIX, HOWS } how;
	static const char *const words[] = {"is", "spec", "mask", "last", "prefix"};
	uint64_t bits;
	int rc;

	while (f->name != NULL && !is(w, f->name))
		f++;
	if (f->name == NULL)
		return unexpected(w, "a field of the item, or /");
	next(w);
	for (how = IS; how < HOWS && !is(w, words[how]); how++)
		continue;
	if (how == HOWS)
		return unexpected(w, "is, spec, mask, last or prefix");
	next(w);
	spec = r->spec[n].octets + f->off;
	mask = r->mask[n].octets + f->off;
	if (how == PREFIX) {
		rc = number(w, "prefix", 8u * f->len, &bits);
		if (rc == 0)
			put_mask(f, mask, (uint32_t)bits);
	} else {
		rc = value(w, f, v);
		if (rc == 0)
			put_value(f, how == MASK ? mask : how == LAST ? r->last[n].octets + f->off : spec, v);
		if (rc == 0 && how == IS)
			put_mask(f, mask, 8u * f->len);
	}
	r->item[n].spec = &r->spec[n];
	r->item[n].mask = &r->mask[n];
	if (how == LAST)
		r->item[n].last = &r->last[n];
	return rc;
}

/* Items are separated by a slash, the last one is "end". */
static int
pattern(struct words *w, struct flow_rule *r)
{
	uint32_t n, i;
	int rc;

	for (n = 0; n < FLOW_MAX_ITEMS - 1; n++) {
		if (is(w, "end"))
			break;
		for (i = 0; i < RTE_DIM(items) && !is(w, items[i].name); i++)
			;
		if (i == RTE_DIM(items))
			return unexpected(w, "eth, vlan, ipv4, ipv6, tcp, udp, vxlan, void or end");
		r->item[n].type = items[i].type;
		for (next(w); !is(w, "/");) {
			rc = field(w, &items[i], r, n);
			if (rc != 0)
				return rc;
		}
		next(w);
	}
	r->item[n].type = RTE_FLOW_ITEM_TYPE_END;
	if (!is(w, "end"))
		return unexpected(w, "end: there are too many items");
	next(w);
	return 0;
}

/* --- actions ---------------------------------------------------------------------------------------------- */

/* testpmd's option words of an action, each once. */
static int
option(struct words *w, const char *word, uint64_t max, uint64_t *v)
{
	if (!is(w, word))
		return unexpected(w, word);
	next(w);
	return number(w, word, max, v);
}

static int
rss(struct words *w, struct flow_rule *r, struct rte_flow_action *a)
{
	uint64_t v;
	int rc;

	a->conf = &r->rss;
	r->rss.queue = r->rss_queue;
	r->rss.queue_num = 0;
	if (!is(w, "queues"))
		return unexpected(w, "queues, such as queues 0 1 end");
	for (next(w); !is(w, "end"); r->rss.queue_num++) {
		if (r->rss.queue_num == FLOW_MAX_QUEUES)
			return unexpected(w, "end: there are too many queues");
		rc = number(w, "queues", UINT16_MAX, &v);
		if (rc != 0)
			return rc;
		r->rss_queue[r->rss.queue_num] = (uint16_t)v;
	}
	next(w);
	return 0;
}

static int
action(struct words *w, struct flow_rule *r, struct rte_flow_action *a)
{
	static const struct {
		const char *name;
		enum rte_flow_action_type type;
	} names[] = {
		{"queue", RTE_FLOW_ACTION_TYPE_QUEUE}, {"rss", RTE_FLOW_ACTION_TYPE_RSS},
		{"drop", RTE_FLOW_ACTION_TYPE_DROP},   {"mark", RTE_FLOW_ACTION_TYPE_MARK},
		{"flag", RTE_FLOW_ACTION_TYPE_FLAG},   {"count", RTE_FLOW_ACTION_TYPE_COUNT},
		{"void", RTE_FLOW_ACTION_TYPE_VOID},
	};
	uint64_t v = 0;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < RTE_DIM(names) && !is(w, names[i].name); i++)
		;
	if (i == RTE_DIM(names))
		return unexpected(w, "queue, rss, drop, mark, flag, count, void or end");
	next(w);
	a->type = names[i].type;
	if (a->type == RTE_FLOW_ACTION_TYPE_QUEUE) {
		rc = option(w, "index", UINT16_MAX, &v);
		r->queue.index = (uint16_t)v;
		a->conf = &r->queue;
	} else if (a->type == RTE_FLOW_ACTION_TYPE_MARK) {
		rc = option(w, "id", UINT32_MAX, &v);
		r->mark.id = (uint32_t)v;
		a->conf = &r->mark;
	} else if (a->type == RTE_FLOW_ACTION_TYPE_RSS) {
		rc = rss(w, r, a);
	}
	if (rc != 0)
		return rc;
	return is(w, "/") ? 0 : unexpected(w, "/ behind the action");
}

static int
actions(struct words *w, struct flow_rule *r)
{
	uint32_t n;
	int rc;

	for (n = 0; n < FLOW_MAX_ITEMS - 1 && !is(w, "end"); n++) {
		rc = action(w, r, &r->action[n]);
		if (rc != 0)
			return rc;
		next(w);
	}
	r->action[n].type = RTE_FLOW_ACTION_TYPE_END;
	if (!is(w, "end"))
		return unexpected(w, "end: there are too many actions");
	next(w);
	return is(w, "") ? 0 : unexpected(w, "nothing behind the last end");
}

static int
attributes(struct words *w, struct flow_rule *r)
{
	uint64_t v;
	int rc;

	while (!is(w, "pattern")) {
		bool group = is(w, "group");

		if (is(w, "ingress")) {
			r->attr.ingress = 1;
		} else if (is(w, "egress")) {
			r->attr.egress = 1;
		} else if (group || is(w, "priority")) {
			next(w);
			rc = number(w, group ? "group" : "priority", UINT32_MAX, &v);
			if (rc != 0)
				return rc;
			*(group ? &r->attr.group : &r->attr.priority) = (uint32_t)v;
			continue;
		} else {
			return unexpected(w, "group, priority, ingress, egress or pattern");
		}
		next(w);
	}
	next(w);
	return 0;
}

int
flow_words(const char *text, struct flow_rule *r, char err[FLOW_ERR_LEN])
{
	char line[MAX_LINE];
	struct words w = {.err = err};
	int rc;

	memset(r, 0, sizeof(*r));
	snprintf(line, sizeof(line), "%s", text);
	w.now = strtok_r(line, " \t", &w.save);
	if (w.now == NULL)
		w.now = "";
	rc = attributes(&w, r);
	if (rc == 0)
		rc = pattern(&w, r);
	if (rc == 0 && !is(&w, "actions"))
		rc = unexpected(&w, "actions");
	if (rc != 0)
		return rc;
	next(&w);
	return actions(&w, r);
}
