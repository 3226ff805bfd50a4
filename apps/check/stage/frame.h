/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames as octets: made, taken apart and judged here, without the driver's code and without DPDK's, so that what comes back from
 * the card is judged by somebody else than who sent it.
 */
#ifndef CHECK_FRAME_H
#define CHECK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 9600u
#define FRAME_VLAN 0x8100u
#define FRAME_IPV4 0x0800u
#define FRAME_IPV6 0x86ddu
#define FRAME_TEST 0x88b5u /* for experiments (IEEE 802) */
#define FRAME_VXLAN 4789u
#define FRAME_TCP 6u
#define FRAME_UDP 17u

static inline void
frame_put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

/* What is to be made. */
struct frame_spec {
	uint8_t dst[6], src[6];
	bool vlan; /* with a tag in the octets */
	uint16_t tci;
	uint16_t type;                  /* FRAME_IPV4, FRAME_IPV6, else raw */
	uint8_t ip_src[16], ip_dst[16]; /* 4 or 16 octets */
	uint8_t proto;
	uint16_t sport, dport;
	uint32_t seq;              /* TCP */
	uint32_t mark;             /* of the payload: it counts up from there */
	uint32_t payload;          /* octets */
	bool no_ip_sum, no_l4_sum; /* 0 and the pseudo header's sum, as a card is asked to finish them */
};

struct frame {
	uint8_t b[FRAME_MAX];
	uint32_t len, l2_len, l3_len, l4_len; /* 0: there is none */
};
void frame_make(struct frame *f, const struct frame_spec *s);
/* The same of a datagram with another frame inside (VXLAN, RFC 7348); its protocol, port and length are filled in. */
void frame_wrap(struct frame *f, struct frame_spec *s, uint32_t vni, const struct frame *inner);

/* What a frame is. */
struct frame_view {
	const uint8_t *payload;
	uint32_t payload_len;
	unsigned int tags;
	uint16_t tci; /* of the first tag */
	uint16_t type;
	uint8_t proto; /* 0: no IP, or a fragment */
	uint16_t ip_id, sport, dport;
	uint32_t seq;
	uint8_t tcp_flags;
	bool lengths;        /* all agree */
	bool ip_sum, l4_sum; /* right, or there is none */
};
/* false: shorter than its headers say. */
bool frame_parse(const uint8_t *b, uint32_t len, struct frame_view *v);

/* Internet checksum (RFC 1071) of octets behind a sum; 0: right, where it is part of them. */
uint16_t frame_sum(const uint8_t *b, uint32_t len, uint32_t sum);
/* FCS (IEEE 802.3, 3.2.9), as a number whose low octet is sent first. */
uint32_t frame_fcs(const uint8_t *b, uint32_t len);
/* Octet i of the payload with this mark. */
static inline uint8_t
frame_octet(uint32_t mark, uint32_t i)
{
	return (uint8_t)((mark + i) * 167u >> 3 ^ (mark + i));
}

#endif /* CHECK_FRAME_H */
