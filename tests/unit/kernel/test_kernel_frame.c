/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets between the kernel and a port, of which one side leaves something to the other. The frames and their checksums are
 * scapy's; the other side's part is done here as the virtio specification (5.1.6) says it: the sum from csum_start on, with the
 * pseudo header's in the field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ip.h>

#include "lib/kernel/kernel_priv.h"

struct frame {
	const uint8_t *data;
	uint16_t len, start, offset;
	uint16_t l2, l3, l4;
	bool tcp, v6, known;
};
#include "kernel_packets.h"

#define FRAME_MOST 2048u

/* A packet in buffers of these lengths; the sanitizer tells who reads or writes beside them. */
struct packet {
	struct rte_mbuf m[2];
};

static void
packet_new(struct packet *p, const uint8_t *data, uint32_t len, uint32_t first)
{
	const uint32_t part[2] = {RTE_MIN(first, len), len - RTE_MIN(first, len)};
	unsigned int i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < 2; i++) {
		p->m[i].buf_addr = malloc(part[i] + 1u);
		assert_non_null(p->m[i].buf_addr);
		p->m[i].data_len = p->m[i].buf_len = (uint16_t)part[i];
		memcpy(p->m[i].buf_addr, data + (i == 0 ? 0 : part[0]), part[i]);
	}
	p->m[0].pkt_len = len;
	p->m[0].nb_segs = part[1] != 0 ? 2 : 1;
	p->m[0].next = part[1] != 0 ? &p->m[1] : NULL;
	rte_mbuf_refcnt_set(&p->m[0], 1);
}

static void
packet_bytes(const struct packet *p, uint8_t *out)
{
	memcpy(out, p->m[0].buf_addr, p->m[0].data_len);
	memcpy(out + p->m[0].data_len, p->m[1].buf_addr, p->m[1].data_len);
}

static void
packet_free(struct packet *p)
{
	free(p->m[0].buf_addr);
	free(p->m[1].buf_addr);
}

/* RFC 1071, octet by octet. */
static uint16_t
ones_sum(const uint8_t *data, uint32_t len)
{
	uint32_t sum = 0, i;

	for (i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)data[i] << 8 : data[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void
put16(uint8_t *at, uint16_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

/* What hardware does with the field of a pseudo header's sum. */
static void
complete(uint8_t *frame, uint32_t len, uint16_t start, uint16_t offset)
{
	uint16_t sum = (uint16_t)~ones_sum(frame + start, len - start);

	put16(frame + start + offset, sum == 0 ? 0xffff : sum);
}

/* The sum over addresses, protocol and length, from the frame itself. */
static uint16_t
pseudo(const struct frame *f, const uint8_t *frame)
{
	uint8_t head[40] = {0};
	const uint32_t addr = f->l2 + (f->v6 ? 8u : 12u), n = f->v6 ? 32 : 8;

	memcpy(head, frame + addr, n);
	put16(head + n, (uint16_t)(f->len - f->start));
	put16(head + n + 2, f->tcp ? 6 : 17);
	return ones_sum(head, n + 4);
}

static struct virtio_net_hdr
partial(const struct frame *f, uint8_t *frame)
{
	struct virtio_net_hdr h = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = f->start, .csum_offset = f->offset};

	memcpy(frame, f->data, f->len);
	put16(frame + f->start + f->offset, pseudo(f, frame));
	return h;
}

/* In one buffer, and in two; those of an interface end at even places. */
static void
sums_from_the_kernel(void **state)
{
	uint8_t frame[FRAME_MOST];
	unsigned int i, first;

	(void)state;
	for (i = 0; i < RTE_DIM(frames); i++) {
		const struct frame *f = &frames[i];

		for (first = f->start + f->l4; first <= f->len; first += 38) {
			const struct virtio_net_hdr h = partial(f, frame);
			struct packet p;

			packet_new(&p, frame, f->len, first);
			assert_int_equal(tpk_frame_tx(&p.m[0], &h), 0);
			packet_bytes(&p, frame);
			if (!f->known) {
				assert_int_equal(p.m[0].ol_flags, 0);
				assert_memory_equal(frame, f->data, f->len);
				packet_free(&p);
				continue;
			}
			assert_int_equal(p.m[0].ol_flags & RTE_MBUF_F_TX_L4_MASK,
					 f->tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
			assert_int_equal((p.m[0].ol_flags & RTE_MBUF_F_TX_IPV6) != 0, f->v6);
			assert_int_equal((p.m[0].ol_flags & RTE_MBUF_F_TX_IPV4) != 0, !f->v6);
			assert_int_equal(p.m[0].l2_len, f->l2);
			assert_int_equal(p.m[0].l3_len, f->l3);
			if (!f->v6) {
				assert_true((p.m[0].ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0);
				put16(frame + f->l2 + 10, (uint16_t)~ones_sum(frame + f->l2, f->l3));
			}
			complete(frame, f->len, f->start, f->offset);
			assert_memory_equal(frame, f->data, f->len);
			packet_free(&p);
		}
	}
}

/* A large send: DPDK wants the pseudo header without the length. */
static void
segments_from_the_kernel(void **state)
{
	uint8_t frame[FRAME_MOST], want[4];
	unsigned int i, seen = 0;

	(void)state;
	for (i = 0; i < RTE_DIM(frames); i++) {
		const struct frame *f = &frames[i];
		struct virtio_net_hdr h = partial(f, frame);
		struct packet p;
		uint16_t sum, len = (uint16_t)(f->len - f->start);

		h.gso_type = f->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
		h.gso_size = 500;
		packet_new(&p, frame, f->len, f->len);
		if (!f->known || !f->tcp) {
			assert_int_equal(tpk_frame_tx(&p.m[0], &h), -EPROTO);
			packet_free(&p);
			continue;
		}
		seen++;
		assert_int_equal(tpk_frame_tx(&p.m[0], &h), 0);
		assert_true((p.m[0].ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
		assert_int_equal(p.m[0].tso_segsz, 500);
		assert_int_equal(p.m[0].l4_len, f->l4);
		packet_bytes(&p, frame);
		/* With the length added it is the whole sum. */
		memcpy(want, frame + f->start + f->offset, 2);
		put16(want + 2, len);
		sum = ones_sum(want, 4);
		memcpy(frame, f->data, f->len);
		assert_int_equal(sum, pseudo(f, frame));
		/* Segments of the other protocol. */
		h.gso_type = f->v6 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
		assert_int_equal(tpk_frame_tx(&p.m[0], &h), -EPROTO);
		h.gso_type = VIRTIO_NET_HDR_GSO_UDP;
		assert_int_equal(tpk_frame_tx(&p.m[0], &h), -EPROTO);
		packet_free(&p);
	}
	assert_true(seen > 50);
}

/* A checksum that the port verified becomes one that the kernel need not look at, and can still complete. */
static void
sums_to_the_kernel(void **state)
{
	uint8_t frame[FRAME_MOST];
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(frames); i++) {
		const struct frame *f = &frames[i];
		struct virtio_net_hdr h;
		struct rte_mbuf *m;
		struct packet p;

		packet_new(&p, f->data, f->len, f->len);
		m = &p.m[0];
		assert_int_equal(tpk_frame_rx(&m, &h), 0);
		assert_int_equal(h.flags, 0);
		packet_bytes(&p, frame);
		assert_memory_equal(frame, f->data, f->len);
		m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		assert_int_equal(tpk_frame_rx(&m, &h), 0);
		packet_bytes(&p, frame);
		packet_free(&p);
		assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_NONE);
		if (!f->known) {
			assert_int_equal(h.flags, 0);
			assert_memory_equal(frame, f->data, f->len);
			continue;
		}
		assert_int_equal(h.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
		assert_int_equal(h.csum_start, f->start);
		assert_int_equal(h.csum_offset, f->offset);
		complete(frame, f->len, f->start, f->offset);
		assert_memory_equal(frame, f->data, f->len);
	}
}

/* Packets that the port joined are segments again for the kernel; one that is not longer than a segment is none. */
static void
joined_to_the_kernel(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(frames); i++) {
		const struct frame *f = &frames[i];
		const uint16_t heads = (uint16_t)(f->start + f->l4);
		struct virtio_net_hdr h;
		struct rte_mbuf *m;
		struct packet p;

		packet_new(&p, f->data, f->len, f->len);
		m = &p.m[0];
		m->ol_flags = RTE_MBUF_F_RX_LRO;
		m->tso_segsz = 600;
		assert_int_equal(tpk_frame_rx(&m, &h), 0);
		if (f->known && f->tcp && f->len > heads + 600) {
			assert_int_equal(h.gso_type, f->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4);
			assert_int_equal(h.gso_size, 600);
			assert_int_equal(h.hdr_len, heads);
			assert_int_equal(h.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
		} else {
			assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_NONE);
		}
		packet_free(&p);
	}
}

static void
nothing_to_do(void **state)
{
	uint8_t frame[FRAME_MOST];
	struct virtio_net_hdr h;
	struct rte_mbuf *m;
	struct packet p;
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(plains); i++) {
		packet_new(&p, plains[i].data, plains[i].len, plains[i].len);
		m = &p.m[0];
		m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_LRO;
		m->tso_segsz = 100;
		assert_int_equal(tpk_frame_rx(&m, &h), 0);
		assert_int_equal(h.flags, 0);
		assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_NONE);
		assert_int_equal(tpk_frame_tx(m, &h), 0);
		assert_int_equal(m->ol_flags, 0);
		packet_bytes(&p, frame);
		assert_memory_equal(frame, plains[i].data, plains[i].len);
		packet_free(&p);
	}
}

/* Cut anywhere, and with any octet of the headers changed: never beyond the buffers, whatever the header says. */
static void
hostile(void **state)
{
	uint8_t frame[FRAME_MOST];
	struct virtio_net_hdr h;
	unsigned int i, len, turn;
	struct rte_mbuf *m;
	struct packet p;

	(void)state;
	for (i = 0; i < RTE_DIM(frames); i++) {
		const struct frame *f = &frames[i];

		for (len = 0; len < RTE_MIN(f->len, 120u); len++) {
			for (turn = 0; turn < 4; turn++) {
				h = partial(f, frame);
				frame[(len * 7 + i) % f->len] ^= (uint8_t)(1u << (len + turn) % 8);
				packet_new(&p, frame, turn % 2 == 0 ? len : f->len, len);
				m = &p.m[0];
				h.gso_type = turn < 2 ? VIRTIO_NET_HDR_GSO_NONE : VIRTIO_NET_HDR_GSO_TCPV4;
				h.gso_size = 9;
				(void)tpk_frame_tx(m, &h);
				h.csum_start = (uint16_t)(len * 977);
				(void)tpk_frame_tx(m, &h);
				m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_LRO;
				assert_int_equal(tpk_frame_rx(&m, &h), 0);
				assert_true(h.flags == 0 || h.csum_start + h.csum_offset + 2u <= m->data_len);
				packet_free(&p);
			}
		}
	}
}

static void
names(void **state)
{
	static const char *const good[] = {"a", "tp0", "abcdefghijklmno", "eth0.5", "x-y_z", "..."};
	static const char *const bad[] = {"",    ".",     "..",  "abcdefghijklmnop", "a/b", "a b", "a\tb",
					  "a:1", "tap%d", "\x7f"};
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(good); i++)
		assert_int_equal(tp_kernel_name_check(good[i]), 0);
	for (i = 0; i < RTE_DIM(bad); i++)
		assert_int_equal(tp_kernel_name_check(bad[i]), -EINVAL);
	for (i = 0; i < TP_KERNEL_DROPS; i++)
		assert_non_null(tp_kernel_drop_name(i));
	assert_null(tp_kernel_drop_name(TP_KERNEL_DROPS));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_from_the_kernel),
		cmocka_unit_test(segments_from_the_kernel),
		cmocka_unit_test(sums_to_the_kernel),
		cmocka_unit_test(joined_to_the_kernel),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(hostile),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
