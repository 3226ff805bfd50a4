/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Joining and cutting of packets; frames, packets, lengths and sums are scapy's. */
#include <errno.h>

#include "rows.h"

/* The IPv4 sum of a packet that was changed. */
static void
sum_again(uint8_t *p)
{
	uint16_t sum;

	if (be16(p + 12) != 0x0800)
		return;
	memset(p + 24, 0, 2);
	sum = (uint16_t)~ones_sum(p + 14, 20);
	p[24] = (uint8_t)(sum >> 8);
	p[25] = (uint8_t)sum;
}

static void
set_number(uint8_t *p, uint32_t n)
{
	if (be16(p + 12) != 0x0800)
		return;
	p[18] = (uint8_t)(n >> 8);
	p[19] = (uint8_t)n;
	sum_again(p);
}

static struct virtio_net_hdr
header(const struct row *r)
{
	return (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
				       .gso_type = r->type,
				       .gso_size = r->seg,
				       .csum_start = r->start,
				       .csum_offset = r->offset};
}

/* Each packet is scapy's, octet for octet. */
static void
cut(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		struct virtio_net_hdr v = header(r);
		const uint8_t *part = r->parts;
		struct pkt_cut c;
		uint32_t at;

		assert_int_equal(pkt_cut_init(&c, &v, r->whole, r->len, r->len), 0);
		assert_int_equal(c.num, r->num);
		at = c.head;
		for (uint32_t k = 0; k < c.num; k++) {
			uint32_t n = pkt_cut_payload(&c, k);
			uint8_t *p = malloc(c.head + n);

			assert_non_null(p);
			assert_int_equal(c.head + n, r->lens[k]);
			memcpy(p + c.head, r->whole + at, n);
			assert_int_equal(pkt_cut_head(&c, k, p), r->lens[k]);
			if (memcmp(p, part, r->lens[k]) != 0)
				fail_msg("row %u, packet %u", i, k);
			at += n;
			part += r->lens[k];
			free(p);
		}
		assert_int_equal(at, r->len);
	}
}

/* As many as fit become one frame, which is scapy's when its sum is completed. */
static void
join(void **state)
{
	uint8_t *frame = malloc(PKT_FRAME);
	unsigned int seen = 0;

	(void)state;
	assert_non_null(frame);
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		const uint8_t *part = r->parts;
		struct rte_mbuf *m;
		struct pkt_join j;
		uint32_t k, at;

		if (!r->roce || r->num > PKT_SEGS)
			continue;
		seen++;
		m = calloc(r->num, sizeof(*m));
		assert_non_null(m);
		for (k = 0; k < r->num; part += r->lens[k++])
			mbuf_of(&m[k], part, r->lens[k]);
		assert_true(pkt_join_first(&j, &m[0]));
		for (k = 1; k < r->num; k++)
			assert_true(pkt_join_next(&j, &m[k]));
		assert_int_equal(j.len, r->len);
		assert_int_equal(j.num, r->num);
		{
			struct virtio_net_hdr v, want = header(r);

			want.hdr_len = (uint16_t)j.head;
			pkt_join_head(&j, frame, &v);
			assert_memory_equal(&v, &want, sizeof(v));
		}
		at = j.head;
		for (k = 0; k < r->num; k++) {
			memcpy(frame + at, (uint8_t *)m[k].buf_addr + j.head, m[k].data_len - j.head);
			at += m[k].data_len - j.head;
			free(m[k].buf_addr);
		}
		complete(frame, r->len, r->start, r->offset);
		assert_memory_equal(frame, r->whole, r->len);
		free(m);
	}
	assert_true(seen >= 10);
	free(frame);
}

/* Places of a packet of RoCE over IPv4, then over IPv6, at which a change makes it one of another flow, or none that is joined. */
static void
apart(void **state)
{
	/* Addresses, type; version, DSCP, number, flags, TTL, protocol, addresses; ports; both sums. */
	static const uint8_t at4[] = {0, 6, 12, 14, 15, 18, 19, 20, 22, 23, 24, 26, 30, 34, 36, 38, 40};
	static const uint8_t at6[] = {0, 6, 12, 14, 16, 18, 20, 21, 22, 38, 54, 56, 58, 60};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		const bool v6 = be16(r->whole + 12) == 0x86dd;
		const uint8_t *at = v6 ? at6 : at4;
		struct rte_mbuf m[3];
		struct pkt_join j;

		if (!r->roce || r->seg != 1000 || r->num != 3)
			continue;
		for (unsigned int k = 0; k < 3; k++)
			mbuf_of(&m[k], r->parts + 1000 * k + k * (r->lens[0] - 1000u), r->lens[k]);
		for (unsigned int k = 0; k < (v6 ? sizeof(at6) : sizeof(at4)); k++) {
			uint8_t *p = m[1].buf_addr;

			assert_true(pkt_join_first(&j, &m[0]));
			p[at[k]] ^= 0x08;
			if (at[k] != 24)
				sum_again(p);
			if (pkt_join_next(&j, &m[1]))
				fail_msg("row %u: octet %u", i, at[k]);
			p[at[k]] ^= 0x08;
			if (at[k] != 24)
				sum_again(p);
			assert_true(pkt_join_next(&j, &m[1]));
		}
		/* Not in its turn, in two pieces, with something behind it. */
		assert_true(pkt_join_first(&j, &m[0]));
		if (!v6)
			assert_false(pkt_join_next(&j, &m[2]));
		m[1].nb_segs = 2;
		assert_false(pkt_join_next(&j, &m[1]));
		m[1].nb_segs = 1;
		m[1].data_len--;
		assert_false(pkt_join_next(&j, &m[1]));
		m[1].data_len++;
		/* A longer one, and one behind a shorter one. */
		if (r->lens[2] < r->lens[1]) {
			assert_true(pkt_join_first(&j, &m[2]));
			set_number(m[0].buf_addr, be16((uint8_t *)m[2].buf_addr + 18) + 1u);
			assert_false(pkt_join_next(&j, &m[0]));
			assert_true(pkt_join_first(&j, &m[1]));
			assert_true(pkt_join_next(&j, &m[2]));
			assert_true(j.closed);
			assert_false(pkt_join_next(&j, &m[1]));
		}
		for (unsigned int k = 0; k < 3; k++)
			free(m[k].buf_addr);
	}
}

/* UDP with a sum, TCP and tags go by themselves. */
static void
not_joined(void **state)
{
	unsigned int seen = 0;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		struct rte_mbuf m;
		struct pkt_join j;

		mbuf_of(&m, r->parts, r->lens[0]);
		assert_int_equal(pkt_join_first(&j, &m), r->roce);
		seen += !r->roce;
		/* Shorter than it says. */
		m.data_len--;
		assert_false(pkt_join_first(&j, &m));
		for (m.data_len = 0; m.data_len < 70 && m.data_len < r->lens[0]; m.data_len++)
			assert_false(pkt_join_first(&j, &m));
		free(m.buf_addr);
	}
	assert_true(seen > 20);
}

/* No frame has more than 64 packets, or 65535 octets. */
static void
limits(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		const uint8_t *part = r->parts;
		struct pkt_join j = {.num = 0};
		struct rte_mbuf m;
		uint32_t k;

		if (!r->roce)
			continue;
		for (k = 0; k < r->num; part += r->lens[k++]) {
			bool taken;

			mbuf_of(&m, part, r->lens[k]);
			taken = k == 0 ? pkt_join_first(&j, &m) : pkt_join_next(&j, &m);
			assert_int_equal(taken, k < PKT_SEGS);
			/* Only of the first are headers kept. */
			if (k != 0)
				free(m.buf_addr);
		}
		assert_int_equal(j.num, RTE_MIN(r->num, PKT_SEGS));
		/* One octet more than there is room for, and just as many. */
		j.num = 2;
		j.closed = false;
		j.len = PKT_FRAME - j.seg + 1;
		mbuf_of(&m, j.first, j.head + j.seg);
		set_number(m.buf_addr, be16(j.first + 18) + 2u);
		assert_false(pkt_join_next(&j, &m));
		j.len--;
		assert_true(pkt_join_next(&j, &m));
		assert_int_equal(j.len, PKT_FRAME);
		free(m.buf_addr);
		free((void *)(uintptr_t)j.first);
	}
}

/* Sums that a sender left to others become scapy's. */
static void
sums(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];
		struct virtio_net_hdr v = header(r);
		uint8_t *p = malloc(r->len);

		assert_non_null(p);
		memcpy(p, r->whole, r->len);
		put_pseudo(r, p);
		assert_memory_not_equal(p, r->whole, r->len);
		assert_int_equal(pkt_sum(&v, p, r->len), 0);
		assert_memory_equal(p, r->whole, r->len);
		/* Fields beyond the frame, and the last one in it. */
		v.csum_start = (uint16_t)r->len;
		assert_int_equal(pkt_sum(&v, p, r->len), -EPROTO);
		v.csum_start = (uint16_t)(r->len - 3);
		v.csum_offset = 2;
		assert_int_equal(pkt_sum(&v, p, r->len), -EPROTO);
		v.csum_offset = 1;
		assert_int_equal(pkt_sum(&v, p, r->len), 0);
		free(p);
	}
}

/* Cut anywhere, any octet changed, any header: never beyond the buffer, and what is taken is cut to the end. */
static void
hostile(void **state)
{
	static uint8_t out[PKT_CUT_HEAD + 65536];
	unsigned int taken = 0;

	(void)state;
	srand(1);
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];

		for (unsigned int turn = 0; turn < 400; turn++) {
			uint32_t have =
				turn % 2 == 0 ? RTE_MIN(r->len, 130u) : (uint32_t)rand() % RTE_MIN(r->len, 130u);
			struct virtio_net_hdr v = header(r);
			uint8_t *p = malloc(have + 1);
			struct pkt_cut c;

			assert_non_null(p);
			memcpy(p, r->whole, have);
			p[have == 0 ? 0 : (uint32_t)rand() % have] ^= (uint8_t)(1 << rand() % 8);
			if (turn % 8 == 0)
				v.gso_type = (uint8_t)rand();
			if (turn % 16 == 0)
				v.gso_size = (uint16_t)rand();
			p = realloc(p, have == 0 ? 1 : have);
			assert_non_null(p);
			if (pkt_cut_init(&c, &v, p, have, r->len) == 0) {
				taken++;
				assert_true(c.head <= have && c.num * c.seg >= c.payload &&
					    (c.num - 1) * c.seg < c.payload);
				(void)pkt_cut_head(&c, c.num - 1, out);
			}
			free(p);
		}
	}
	assert_true(taken > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),        cmocka_unit_test(join),   cmocka_unit_test(apart),
		cmocka_unit_test(not_joined), cmocka_unit_test(limits), cmocka_unit_test(sums),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
