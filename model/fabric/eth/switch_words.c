/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings as text: one table of keys for the switch, one for its ports. Ranges are judged where settings are applied. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "switch.h"

enum kind {
	K_U8,
	K_U16,
	K_U32,
	K_U64,
	K_CHOICE, /* words[] */
	K_PRIOS,  /* a mask of priorities from a list; "none" */
	K_ECN,    /* three numbers */
	K_CN,     /* two */
	K_TC,     /* eight numbers each */
	K_ETS,
	K_TC_RATE,
};

struct key {
	const char *name;
	enum kind kind;
	size_t off;
	const char *wanted;
	const char *words[4];
};

#define SW(f) offsetof(struct tp_switch_config, f)
static const struct key switch_keys[] = {
	{"ports", K_U16, SW(max_ports), "a number, 1..64", {NULL}},
	{"buffer", K_U32, SW(buffer_bytes), "bytes, 4096..1073741824", {NULL}},
	{"reserve", K_U32, SW(reserve_bytes), "bytes, 0..16777216", {NULL}},
	{"alpha", K_U32, SW(alpha_pct), "percent, 1..6400", {NULL}},
	{"lossless", K_PRIOS, SW(lossless), "priorities such as 3+4, or none", {NULL}},
	{"xoff", K_U32, SW(xoff_bytes), "bytes, 64..1073741824", {NULL}},
	{"xon", K_U32, SW(xon_bytes), "bytes, 0 up to xoff", {NULL}},
	{"headroom", K_U32, SW(headroom_bytes), "bytes, 0..1073741824", {NULL}},
	{"ecn", K_ECN, 0, "KMIN+KMAX+PPM: bytes, bytes, 0..1000000", {NULL}},
	{"ecn-prio", K_PRIOS, SW(ecn_prios), "priorities such as 3+4, or none", {NULL}},
	{"cn", K_CN, 0, "QEQ+BASE: bytes, bytes, 64..1073741824", {NULL}},
	{"cn-prio", K_PRIOS, SW(cn_prios), "priorities such as 3+4, or none", {NULL}},
	{"macs", K_U32, SW(mac_entries), "a number, 1..1048576", {NULL}},
	{"age", K_U32, SW(mac_age_s), "seconds, 1..1000000", {NULL}},
	{"link-local", K_CHOICE, SW(flood_link_local), "drop or flood", {"drop", "flood"}},
	{"seed", K_U64, SW(seed), "a number", {NULL}},
};

#define PORT(f) offsetof(struct tp_switch_port_config, f)
static const struct key port_keys[] = {
	{"rate", K_U32, PORT(rate_mbps), "Mb/s, 1..1000000, or 0: not paced", {NULL}},
	{"trust", K_CHOICE, PORT(trust), "pcp or dscp", {"pcp", "dscp"}},
	{"flow", K_CHOICE, PORT(flow), "auto, off, pause or pfc", {"auto", "off", "pause", "pfc"}},
	{"untagged", K_U8, PORT(untagged_prio), "a priority, 0..7", {NULL}},
	{"max-frame", K_U16, PORT(max_frame), "bytes, 60..16000", {NULL}},
	{"tc", K_TC, 0, "eight classes 0..7, joined by '+'", {NULL}},
	{"ets", K_ETS, 0, "eight weights 1..100 or 0 (strict), joined by '+'", {NULL}},
	{"tc-rate", K_TC_RATE, 0, "eight rates in Mb/s or 0 (none), joined by '+'", {NULL}},
};

/* Exactly n numbers up to max each, joined by '+'. */
static bool
numbers(const char *text, uint64_t max, unsigned int n, uint64_t *out)
{
	for (unsigned int i = 0; i < n; i++) {
		char *end;

		errno = 0;
		out[i] = strtoull(text, &end, 0);
		if (!isdigit((unsigned char)text[0]) || errno != 0 || out[i] > max || *end != (i + 1 < n ? '+' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

static bool
prios(const char *text, uint8_t *mask)
{
	uint8_t m = 0;

	if (strcmp(text, "none") == 0) {
		*mask = 0;
		return true;
	}
	for (;; text += 2) {
		if (text[0] < '0' || text[0] > '7' || (text[1] != '\0' && text[1] != '+'))
			return false;
		m |= (uint8_t)(1u << (text[0] - '0'));
		if (text[1] == '\0')
			break;
	}
	*mask = m;
	return true;
}

static bool
choice(const struct key *k, const char *text, uint8_t *out)
{
	for (uint8_t i = 0; i < sizeof(k->words) / sizeof(k->words[0]) && k->words[i] != NULL; i++)
		if (strcmp(text, k->words[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool
number(const struct key *k, const char *text, uint8_t *at)
{
	const uint64_t max[] = {[K_U8] = UINT8_MAX, [K_U16] = UINT16_MAX, [K_U32] = UINT32_MAX, [K_U64] = UINT64_MAX};
	uint64_t v;

	if (!numbers(text, max[k->kind], 1, &v))
		return false;
	switch (k->kind) {
	case K_U8: *at = (uint8_t)v; break;
	case K_U16: memcpy(at, &(uint16_t){(uint16_t)v}, sizeof(uint16_t)); break;
	case K_U32: memcpy(at, &(uint32_t){(uint32_t)v}, sizeof(uint32_t)); break;
	default: memcpy(at, &v, sizeof(v)); break;
	}
	return true;
}

static bool
of_classes(const struct key *k, const char *text, struct tp_switch_port_config *p)
{
	uint64_t v[TP_SWITCH_PRIOS];

	if (!numbers(text, k->kind == K_TC_RATE ? UINT32_MAX : UINT8_MAX, TP_SWITCH_PRIOS, v))
		return false;
	for (unsigned int i = 0; i < TP_SWITCH_PRIOS; i++) {
		if (k->kind == K_TC)
			p->prio_tc[i] = (uint8_t)v[i];
		else if (k->kind == K_ETS)
			p->tc[i].weight = (uint8_t)v[i];
		else
			p->tc[i].rate_mbps = (uint32_t)v[i];
	}
	return true;
}

static bool
ecn(const char *text, struct tp_switch_config *c)
{
	uint64_t v[3];

	if (!numbers(text, UINT32_MAX, 3, v))
		return false;
	c->ecn_kmin_bytes = (uint32_t)v[0];
	c->ecn_kmax_bytes = (uint32_t)v[1];
	c->ecn_pmax_ppm = (uint32_t)v[2];
	return true;
}

static bool
cn(const char *text, struct tp_switch_config *c)
{
	uint64_t v[2];

	if (!numbers(text, UINT32_MAX, 2, v))
		return false;
	c->cn_qeq_bytes = (uint32_t)v[0];
	c->cn_base_bytes = (uint32_t)v[1];
	return true;
}

/* obj: the settings that the key is of. */
static bool
parse(const struct key *k, const char *text, void *obj)
{
	uint8_t *at = (uint8_t *)obj + k->off;

	switch (k->kind) {
	case K_CHOICE: return choice(k, text, at);
	case K_PRIOS: return prios(text, at);
	case K_ECN: return ecn(text, obj);
	case K_CN: return cn(text, obj);
	case K_TC:
	case K_ETS:
	case K_TC_RATE: return of_classes(k, text, obj);
	default: return number(k, text, at);
	}
}

static const struct key *
find(const struct key *keys, unsigned int n, const char *name, size_t len)
{
	for (unsigned int i = 0; i < n; i++)
		if (strlen(keys[i].name) == len && memcmp(keys[i].name, name, len) == 0)
			return &keys[i];
	return NULL;
}

static int
refuse(const struct key *k, const char *word, char err[TP_SWITCH_TEXT])
{
	snprintf(err, TP_SWITCH_TEXT, "'%.60s': wanted %s:%s", word, k->name, k->wanted);
	return -EINVAL;
}

static int
switch_word(struct tp_switch *sw, const struct key *k, const char *word, char err[TP_SWITCH_TEXT])
{
	struct tp_switch_config cfg = sw->cfg;

	if (!parse(k, strchr(word, ':') + 1, &cfg))
		return refuse(k, word, err);
	return sw_config_apply(sw, &cfg, err);
}

static int
port_word(struct tp_switch *sw, unsigned int port, const struct key *k, const char *word, char err[TP_SWITCH_TEXT])
{
	struct tp_switch_port *p = port >= 1 && port <= TP_SWITCH_PORTS ? sw->port[port - 1] : NULL;
	struct tp_switch_port_config cfg;

	if (p == NULL) {
		snprintf(err, TP_SWITCH_TEXT, "'%.60s': switch %s has no port %u", word, sw->name, port);
		return -ENOENT;
	}
	cfg = p->cfg;
	if (!parse(k, strchr(word, ':') + 1, &cfg))
		return refuse(k, word, err);
	return sw_port_config_apply(p, &cfg, err);
}

int
tp_switch_word(struct tp_switch *sw, unsigned int port, const char *word, char err[TP_SWITCH_TEXT])
{
	const char *colon = strchr(word, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - word);
	const struct key *of_switch = find(switch_keys, sizeof(switch_keys) / sizeof(switch_keys[0]), word, len);
	const struct key *of_port = find(port_keys, sizeof(port_keys) / sizeof(port_keys[0]), word, len);
	int rc;

	if (of_switch == NULL && of_port == NULL) {
		snprintf(err, TP_SWITCH_TEXT,
			 "'%.40s': wanted KEY:VALUE with ports buffer reserve alpha lossless xoff xon headroom ecn "
			 "ecn-prio cn cn-prio macs age link-local seed rate trust flow untagged max-frame tc ets "
			 "tc-rate",
			 word);
		return -ENOENT;
	}
	pthread_mutex_lock(&sw->lock);
	if (of_switch != NULL)
		rc = switch_word(sw, of_switch, word, err);
	else
		rc = port_word(sw, port, of_port, word, err);
	pthread_mutex_unlock(&sw->lock);
	return rc;
}
