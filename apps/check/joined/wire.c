/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "joined.h"

#include <string.h>

/* Behind the type: "TPCK", version, op, status, type, then numbers with the high octet first. */
#define AT 14u
#define VERSION 1u
#define LEN 56u

static const uint8_t magic[4] = {'T', 'P', 'C', 'K'};

static uint8_t *
put(uint8_t *b, uint64_t v, unsigned int n)
{
	while (n-- != 0)
		*b++ = (uint8_t)(v >> 8 * n);
	return b;
}

static uint64_t
get(const uint8_t **b, unsigned int n)
{
	uint64_t v = 0;

	while (n-- != 0)
		v = v << 8 | *(*b)++;
	return v;
}

void
wire_make(struct frame *f, const uint8_t dst[6], const uint8_t src[6], const struct wire *w, uint32_t len)
{
	uint8_t *b = f->b + AT;

	memset(f, 0, sizeof(*f));
	f->len = len < AT + LEN ? AT + LEN : len;
	memcpy(f->b, dst, 6);
	memcpy(f->b + 6, src, 6);
	put(f->b + 12, FRAME_TEST, 2);
	memcpy(b, magic, sizeof(magic));
	b += sizeof(magic);
	b = put(b, VERSION, 1);
	b = put(b, w->op, 1);
	b = put(b, w->status, 1);
	b = put(b, w->type, 1);
	b = put(b, w->number, 4);
	b = put(b, w->roce.qpn, 4);
	b = put(b, w->roce.psn, 4);
	b = put(b, w->roce.rkey, 4);
	b = put(b, w->roce.addr, 8);
	memcpy(b, w->roce.gid, sizeof(w->roce.gid));
}

bool
wire_parse(const uint8_t *b, uint32_t len, struct wire *w)
{
	const uint8_t *at = b + 12;

	if (len < AT + LEN || get(&at, 2) != FRAME_TEST || memcmp(at, magic, sizeof(magic)) != 0)
		return false;
	at += sizeof(magic);
	if (get(&at, 1) != VERSION)
		return false;
	w->op = (uint8_t)get(&at, 1);
	w->status = (uint8_t)get(&at, 1);
	w->type = (uint8_t)get(&at, 1);
	w->number = (uint32_t)get(&at, 4);
	w->roce.qpn = (uint32_t)get(&at, 4);
	w->roce.psn = (uint32_t)get(&at, 4);
	w->roce.rkey = (uint32_t)get(&at, 4);
	w->roce.addr = get(&at, 8);
	memcpy(w->roce.gid, at, sizeof(w->roce.gid));
	return true;
}
