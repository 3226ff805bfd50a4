/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "frame.h"

#include <string.h>

#define ETH_LEN 14u
#define TAG_LEN 4u
#define IPV4_LEN 20u
#define IPV6_LEN 40u
#define TCP_LEN 20u
#define UDP_LEN 8u
#define VXLAN_LEN 8u
#define VXLAN_HAS_VNI 0x08u
#define TTL 64u
#define TCP_ACK 0x10u
#define TCP_PSH 0x08u

static uint16_t
get16(const uint8_t *b)
{
	return (uint16_t)(b[0] << 8 | b[1]);
}

static uint32_t
get32(const uint8_t *b)
{
	return (uint32_t)get16(b) << 16 | get16(b + 2);
}

static uint32_t
add(const uint8_t *b, uint32_t len, uint32_t sum)
{
	uint64_t s = sum;
	uint32_t i;

	for (i = 0; i + 1 < len; i += 2)
		s += get16(b + i);
	if ((len & 1) != 0)
		s += (uint32_t)b[len - 1] << 8;
	while (s >> 16 != 0)
		s = (s & 0xffff) + (s >> 16);
	return (uint32_t)s;
}

uint16_t
frame_sum(const uint8_t *b, uint32_t len, uint32_t sum)
{
	return (uint16_t)~add(b, len, sum);
}

uint32_t
frame_fcs(const uint8_t *b, uint32_t len)
{
	uint32_t crc = UINT32_MAX, i, k;

	for (i = 0; i < len; i++) {
		crc ^= b[i];
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* The sum of the pseudo header, not inverted. */
static uint32_t
pseudo(const uint8_t *src, const uint8_t *dst, uint32_t addr_len, uint8_t proto, uint32_t len)
{
	uint32_t sum = add(src, addr_len, proto);

	sum = add(dst, addr_len, sum);
	return sum + (len & 0xffff) + (len >> 16);
}

static uint32_t
put_ip(uint8_t *b, const struct frame_spec *s, uint32_t rest)
{
	if (s->type == FRAME_IPV6) {
		b[0] = 0x60;
		frame_put16(b + 4, rest);
		b[6] = s->proto;
		b[7] = TTL;
		memcpy(b + 8, s->ip_src, 16);
		memcpy(b + 24, s->ip_dst, 16);
		return IPV6_LEN;
	}
	b[0] = 0x45;
	frame_put16(b + 2, IPV4_LEN + rest);
	frame_put16(b + 4, s->mark & 0xffff);
	b[8] = TTL;
	b[9] = s->proto;
	memcpy(b + 12, s->ip_src, 4);
	memcpy(b + 16, s->ip_dst, 4);
	if (!s->no_ip_sum)
		frame_put16(b + 10, frame_sum(b, IPV4_LEN, 0));
	return IPV4_LEN;
}

static void
put_l4(uint8_t *b, const struct frame_spec *s, uint32_t head, uint32_t rest)
{
	const uint32_t addr_len = s->type == FRAME_IPV6 ? 16 : 4;
	uint32_t sum = pseudo(s->ip_src, s->ip_dst, addr_len, s->proto, head + rest);
	uint8_t *at = b + (s->proto == FRAME_TCP ? 16 : 6);

	frame_put16(b, s->sport);
	frame_put16(b + 2, s->dport);
	if (s->proto == FRAME_TCP) {
		frame_put16(b + 4, s->seq >> 16);
		frame_put16(b + 6, s->seq);
		b[12] = TCP_LEN / 4 << 4;
		b[13] = TCP_ACK | TCP_PSH;
		frame_put16(b + 14, 0xffff);
	} else {
		frame_put16(b + 4, head + rest);
	}
	if (s->no_l4_sum) {
		frame_put16(at, add(b, 0, sum));
		return;
	}
	sum = frame_sum(b, head + rest, sum);
	frame_put16(at, sum == 0 && s->proto == FRAME_UDP ? 0xffff : sum);
}

void
frame_make(struct frame *f, const struct frame_spec *s)
{
	const bool ip = s->type == FRAME_IPV4 || s->type == FRAME_IPV6;
	uint32_t at = 12, i;

	memset(f, 0, sizeof(*f));
	memcpy(f->b, s->dst, 6);
	memcpy(f->b + 6, s->src, 6);
	if (s->vlan) {
		frame_put16(f->b + at, FRAME_VLAN);
		frame_put16(f->b + at + 2, s->tci);
		at += TAG_LEN;
	}
	frame_put16(f->b + at, s->type);
	f->l2_len = at + 2;
	f->l3_len = s->type == FRAME_IPV4 ? IPV4_LEN : s->type == FRAME_IPV6 ? IPV6_LEN : 0;
	f->l4_len = !ip ? 0 : s->proto == FRAME_TCP ? TCP_LEN : s->proto == FRAME_UDP ? UDP_LEN : 0;
	at = f->l2_len + f->l3_len + f->l4_len;
	f->len = at + s->payload;
	for (i = 0; i < s->payload; i++)
		f->b[at + i] = frame_octet(s->mark, i);
	if (ip)
		put_ip(f->b + f->l2_len, s, f->l4_len + s->payload);
	if (f->l4_len != 0)
		put_l4(f->b + f->l2_len + f->l3_len, s, f->l4_len, s->payload);
}

void
frame_wrap(struct frame *f, struct frame_spec *s, uint32_t vni, const struct frame *inner)
{
	uint32_t at;

	s->proto = FRAME_UDP;
	s->dport = FRAME_VXLAN;
	s->payload = VXLAN_LEN + inner->len;
	frame_make(f, s);
	at = f->l2_len + f->l3_len;
	memset(f->b + at + UDP_LEN, 0, VXLAN_LEN);
	f->b[at + UDP_LEN] = VXLAN_HAS_VNI;
	frame_put16(f->b + at + UDP_LEN + 4, vni >> 8);
	f->b[at + UDP_LEN + 6] = (uint8_t)vni;
	memcpy(f->b + at + UDP_LEN + VXLAN_LEN, inner->b, inner->len);
	frame_put16(f->b + at + 6, 0);
	put_l4(f->b + at, s, UDP_LEN, s->payload);
}

static bool
parse_l4(const uint8_t *ip, const uint8_t *b, uint32_t len, struct frame_view *v)
{
	const bool v6 = v->type == FRAME_IPV6;
	const uint32_t sum =
		v6 ? pseudo(ip + 8, ip + 24, 16, v->proto, len) : pseudo(ip + 12, ip + 16, 4, v->proto, len);
	uint32_t head = UDP_LEN;

	if (v->proto != FRAME_TCP && v->proto != FRAME_UDP) {
		v->payload = b;
		v->payload_len = len;
		return true;
	}
	if (v->proto == FRAME_TCP)
		head = len < TCP_LEN ? TCP_LEN : (uint32_t)(b[12] >> 4) * 4;
	if (len < head || head < UDP_LEN)
		return false;
	v->sport = get16(b);
	v->dport = get16(b + 2);
	if (v->proto == FRAME_TCP) {
		if (head < TCP_LEN)
			return false;
		v->seq = get32(b + 4);
		v->tcp_flags = b[13];
		v->l4_sum = frame_sum(b, len, sum) == 0;
	} else {
		v->lengths = v->lengths && get16(b + 4) == len;
		v->l4_sum = get16(b + 6) == 0 ? !v6 : frame_sum(b, len, sum) == 0;
	}
	v->payload = b + head;
	v->payload_len = len - head;
	return true;
}

static bool
parse_ip(const uint8_t *b, uint32_t len, struct frame_view *v)
{
	uint32_t head, all;

	if (v->type == FRAME_IPV6) {
		if (len < IPV6_LEN)
			return false;
		head = IPV6_LEN;
		all = IPV6_LEN + get16(b + 4);
		v->proto = b[6];
	} else {
		if (len < IPV4_LEN)
			return false;
		head = (b[0] & 15u) * 4;
		all = get16(b + 2);
		v->proto = b[9];
		v->ip_id = get16(b + 4);
		if (head < IPV4_LEN || head > len)
			return false;
		v->ip_sum = frame_sum(b, head, 0) == 0;
		if ((get16(b + 6) & 0x3fff) != 0)
			v->proto = 0;
	}
	if (all < head || all > len)
		return false;
	/* Behind it there may be the padding of a short frame. */
	v->lengths = all == len || len <= 60;
	return parse_l4(b, b + head, all - head, v);
}

bool
frame_parse(const uint8_t *b, uint32_t len, struct frame_view *v)
{
	uint32_t at = 12;

	memset(v, 0, sizeof(*v));
	v->ip_sum = v->l4_sum = v->lengths = true;
	if (len < ETH_LEN)
		return false;
	for (; get16(b + at) == FRAME_VLAN; at += TAG_LEN) {
		if (len < at + TAG_LEN + 2)
			return false;
		if (v->tags++ == 0)
			v->tci = get16(b + at + 2);
	}
	v->type = get16(b + at);
	at += 2;
	if (v->type == FRAME_IPV4 || v->type == FRAME_IPV6)
		return parse_ip(b + at, len - at, v);
	v->payload = b + at;
	v->payload_len = len - at;
	return true;
}
