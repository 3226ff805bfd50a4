/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames of scapy, and the packets of each. */
#ifndef PACKET_ROWS_H
#define PACKET_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/packet/gso.h"

struct row {
	const uint8_t *whole, *parts;
	const uint16_t *lens;
	uint32_t len, num;
	uint16_t start, offset, seg; /* of the sum; of a payload */
	uint8_t type;                /* VIRTIO_NET_HDR_GSO_* */
	bool roce;
};
#include "packet_frames.h"

static inline uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* RFC 1071, octet by octet. */
static inline uint16_t
ones_sum(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* What hardware does with the field that has the pseudo header's sum (virtio 1.2, 5.1.6.2). */
static inline void
complete(uint8_t *frame, uint32_t len, uint16_t start, uint16_t offset)
{
	uint16_t sum = (uint16_t)~ones_sum(frame + start, len - start);

	sum = sum == 0 ? 0xffff : sum;
	frame[start + offset] = (uint8_t)(sum >> 8);
	frame[start + offset + 1] = (uint8_t)sum;
}

/* The pseudo header's sum in the field, as who leaves the rest to others puts it. */
static inline void
put_pseudo(const struct row *r, uint8_t *frame)
{
	const uint32_t l3 = be16(frame + 12) == 0x8100 ? 18 : 14, len = r->len - r->start;
	const bool v6 = frame[l3] >> 4 == 6;
	uint8_t head[36] = {0};
	uint32_t n = v6 ? 32 : 8;
	uint16_t sum;

	memcpy(head, frame + l3 + (v6 ? 8 : 12), n);
	head[n] = (uint8_t)(len >> 8);
	head[n + 1] = (uint8_t)len;
	head[n + 3] = frame[l3 + (v6 ? 6 : 9)];
	sum = ones_sum(head, n + 4);
	frame[r->start + r->offset] = (uint8_t)(sum >> 8);
	frame[r->start + r->offset + 1] = (uint8_t)sum;
}

/* A buffer of exactly so many octets: a sanitizer sees who goes beyond. */
static inline void
mbuf_of(struct rte_mbuf *m, const uint8_t *p, uint32_t len)
{
	memset(m, 0, sizeof(*m));
	m->buf_addr = malloc(len);
	assert_non_null(m->buf_addr);
	memcpy(m->buf_addr, p, len);
	m->data_len = m->buf_len = (uint16_t)len;
	m->pkt_len = len;
	m->nb_segs = 1;
}

#endif /* PACKET_ROWS_H */
