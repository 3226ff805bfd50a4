/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options of a segment: RFC 9293 3.1, RFC 7323 (window scale, timestamps), RFC 2018 (SACK). */
#include "tcp_priv.h"

static uint32_t
get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return rte_be_to_cpu_32(v);
}

static void
read_one(const uint8_t *p, uint32_t len, bool syn, struct tcp_opts *o)
{
	uint32_t i;

	switch (p[0]) {
	case TCPOPT_MAXSEG:
		/* Only SYN may have it (3.7.1). */
		if (len == 4 && syn) {
			o->has_mss = true;
			o->mss = (uint16_t)(p[2] << 8 | p[3]);
		}
		break;
	case TCPOPT_WINDOW:
		if (len == 3 && syn) {
			o->has_wscale = true;
			o->wscale = p[2] > TCP_WSCALE_MAX ? TCP_WSCALE_MAX : p[2]; /* RFC 7323 2.3 */
		}
		break;
	case TCPOPT_SACK_PERMITTED:
		if (len == 2 && syn)
			o->sack_ok = true;
		break;
	case TCPOPT_TIMESTAMP:
		if (len == 10) {
			o->has_ts = true;
			o->tsval = get32(p + 2);
			o->tsecr = get32(p + 6);
		}
		break;
	case TCPOPT_SACK:
		if (len < 10 || (len - 2) % 8 != 0 || syn)
			break;
		for (i = 2; i < len && o->nsack < TCP_SACK_MAX; i += 8, o->nsack++) {
			o->sack[o->nsack][0] = get32(p + i);
			o->sack[o->nsack][1] = get32(p + i + 4);
		}
		break;
	default: break;
	}
}

bool
tcp_opts_read(const struct rte_tcp_hdr *th, uint32_t hlen, struct tcp_opts *o)
{
	const uint8_t *p = (const uint8_t *)(th + 1);
	const uint8_t *const end = (const uint8_t *)th + hlen;

	o->has_ts = o->has_mss = o->has_wscale = o->sack_ok = false;
	o->nsack = 0;
	/* What nearly every segment has: two NOPs and a timestamp. */
	if (end - p == 12 && get32(p) == 0x0101080a) {
		o->has_ts = true;
		o->tsval = get32(p + 4);
		o->tsecr = get32(p + 8);
		return true;
	}
	while (p < end && p[0] != TCPOPT_EOL) {
		if (p[0] == TCPOPT_NOP) {
			p++;
			continue;
		}
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return false;
		read_one(p, p[1], (th->tcp_flags & RTE_TCP_SYN_FLAG) != 0, o);
		p += p[1];
	}
	return true;
}
