/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Work requests of Ethernet queues at their edges: bits that are reserved, copies that differ, sizes, what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"
#include "frames.h"

#define SEND (MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE)

static const struct mlx4_cqe *
received(struct fix *f, const uint8_t **data, uint32_t *len)
{
	uint32_t i = f->rx.rci & 63;
	const struct mlx4_cqe *c = rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec);

	if (c == NULL)
		return NULL;
	*data = f->rx.bufs + (size_t)i * RIG_BUF;
	*len = rte_be_to_cpu_32(c->byte_cnt);
	return c;
}

static void
ring(struct fix *f)
{
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
}

/* The next send has ended with this syndrome and broken that rule once, and no other one. */
static void
assert_refused(struct fix *f, uint8_t syndrome, const char *rule)
{
	const struct mlx4_cqe *c = rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec);
	const uint8_t *d;
	uint32_t len;

	assert_non_null(c);
	assert_int_equal(c->owner_sr_opcode & MLX4_CQE_OPCODE_MASK, 0x1e);
	assert_int_equal(((const uint8_t *)c)[0x1b], syndrome);
	assert_null(received(f, &d, &len));
	assert_int_equal(rig_violations(&f->r, rule), 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 1);
}

/* --- control segments ------------------------------------------------------------------------------------------------------ */

/* Each reserved bit alone, in a card that is new: an error takes the queue pair out of service. */
static void
reserved_bits(void **state)
{
	static const uint8_t dw0[] = {5, 7, 24, 25, 26, 29, 30},
			     dw1[] = {7, 8, 9, 10, 12, 13}; /* 11 is QP 8's form of BlueFlame */

	for (unsigned int i = 0; i < sizeof(dw0) + sizeof(dw1); i++) {
		bool first = i < sizeof(dw0);
		struct fix *f;

		assert_int_equal(up(state), 0);
		f = *state;
		rig_data(&f->tx, 1, f->tx.bufs, 100);
		rig_post(&f->tx, MLX4_OP_SEND | (first ? 1u << dw0[i] : 0),
			 2 | (first ? 0 : 1u << dw1[i - sizeof(dw0)]), SEND);
		ring(f);
		assert_refused(f, MLX4_SYND_LOCAL_QP_OP, "wqe-reserved");
		down(state);
	}
}

/* Doorbells carry a QP number in the upper three octets and nothing below [DP 2.2]. */
static void
reserved_bits_of_doorbells(void **state)
{
	struct fix *f = *state;
	const uint32_t at = f->tx.qp->uar * MLX4_UAR_PAGE_SIZE + MLX4_UAR_SEND_DB;
	uint8_t db[4];

	for (unsigned int bit = 0; bit < 8; bit++) {
		rig_data(&f->tx, 1, f->tx.bufs, 100);
		rig_post(&f->tx, MLX4_OP_SEND, 2, SEND);
		prm_set32(db, 0, f->tx.qp->qpn << 8 | 1u << bit);
		assert_int_equal(tp_model_uar_write(f->r.m, at, db, sizeof(db)), 0);
		assert_int_equal(rig_violations(&f->r, "doorbell-reserved"), bit + 1);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 8);
	/* There is nothing at all behind the pages. */
	assert_int_equal(tp_model_uar_write(f->r.m, TPM_BAR2_SIZE, db, sizeof(db)), -EINVAL);
	assert_int_equal(tp_model_uar_write(f->r.m, at + 1, db, sizeof(db)), -EINVAL);
	assert_int_equal(tp_model_uar_write(f->r.m, f->tx.qp->uar * MLX4_UAR_PAGE_SIZE + 4094, db, sizeof(db)),
			 -EINVAL);
}

static void
post_bf(struct fix *f, uint32_t len)
{
	uint32_t index = f->tx.prod & 0xffff;

	rig_data(&f->tx, 1, f->tx.bufs, len);
	rig_post(&f->tx, MLX4_OP_SEND | index << MLX4_CTRL_BF_INDEX_SHIFT, f->tx.qp->qpn << 8 | 2, SEND);
}

static void
blue_flame(struct fix *f, const uint8_t *copy)
{
	uint32_t off = (TPM_NUM_UARS + f->tx.qp->uar) * MLX4_UAR_PAGE_SIZE;

	assert_int_equal(tp_model_uar_write(f->r.m, off, copy, 64), 0);
	tp_model_step(f->r.m, 32);
}

/* A copy is of a WQE that is posted, not of the next one alone; it is as long as it says and equal in every octet [DP 2.5]. */
static void
blue_flame_copies(void **state)
{
	static const uint8_t units[] = {0, 5, 32, 33, 63};
	struct fix *f = *state;
	const uint8_t *d;
	uint8_t copy[64];
	uint32_t len;

	post_bf(f, 100);
	post_bf(f, 101);
	post_bf(f, 102);
	memcpy(copy, f->tx.sq + 2 * 64, 64);
	blue_flame(f, copy);
	for (uint32_t i = 0; i < 3; i++) {
		assert_non_null(received(f, &d, &len));
		assert_int_equal(len, 100 + i);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
	post_bf(f, 100);
	for (uint32_t i = 0; i < sizeof(units); i++) {
		memcpy(copy, f->tx.sq + 3 * 64, 64);
		copy[7] = units[i];
		blue_flame(f, copy);
		assert_int_equal(rig_violations(&f->r, "bf-copy"), i + 1);
		assert_null(received(f, &d, &len));
	}
}

static void
blue_flame_copies_that_differ(void **state)
{
	struct fix *f;
	uint8_t copy[64];

	for (uint32_t i = 0; i < 32; i++) {
		if (i == 1 || i == 2)
			continue; /* its index */
		if (i >= 4 && i < 8)
			continue; /* whose it is, and how long */
		assert_int_equal(up(state), 0);
		f = *state;
		post_bf(f, 100);
		memcpy(copy, f->tx.sq, 64);
		copy[i] ^= 0x80;
		/* It is said once of a copy that differs in two places. */
		if (i == 3)
			copy[19] ^= 0x80;
		blue_flame(f, copy);
		assert_int_equal(rig_violations(&f->r, "bf-copy"), 1);
		down(state);
	}
}

/* --- data ---------------------------------------------------------------------------------------------------------------------- */

/* An inline segment of nothing is nothing [DP 3.7]. */
static void
empty_inline_segment(void **state)
{
	struct fix *f = *state;
	const uint8_t *d;
	uint32_t len;

	memcpy(f->tx.bufs, frame_tcp6, sizeof(frame_tcp6));
	prm_set32(rig_wqe(&f->tx), 16, MLX4_DATA_INLINE);
	rig_data(&f->tx, 2, f->tx.bufs, sizeof(frame_tcp6));
	rig_post(&f->tx, MLX4_OP_SEND, 3, SEND);
	ring(f);
	assert_non_null(received(f, &d, &len));
	assert_int_equal(len, sizeof(frame_tcp6));
	assert_memory_equal(d, frame_tcp6, len);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A WQE of 36 units: nine blocks, each with one inline segment. */
static void
long_inline(void **state)
{
	struct fix *f = *state;
	uint8_t *w = rig_wqe(&f->tx), src[44 + 8 * 60];
	const uint8_t *d;
	uint32_t len;

	for (uint32_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 13);
	memcpy(src, mac2, 6);
	tpm_store16(src + 12, 0x1234);
	prm_set32(w, 16, MLX4_DATA_INLINE | 44);
	memcpy(w + 20, src, 44);
	for (uint32_t k = 0; k < 8; k++) {
		prm_set32(w, 64 * (k + 1), MLX4_DATA_INLINE | 60);
		memcpy(w + 64 * (k + 1) + 4, src + 44 + 60 * k, 60);
	}
	rig_post(&f->tx, MLX4_OP_SEND, 36, SEND);
	ring(f);
	assert_non_null(received(f, &d, &len));
	assert_int_equal(len, sizeof(src));
	assert_memory_equal(d, src, len);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* One of both checksums is made; the other one is wrong, and the receiver sees both as they are, with a tag and without. */
static void
one_checksum(void **state)
{
	struct fix *f = *state;

	f->rx.qp->vlan_keep = true;
	for (unsigned int i = 0; i < 4; i++) {
		bool ip = (i & 1) != 0, tag = (i & 2) != 0;
		const struct mlx4_cqe *c;
		const uint8_t *d;
		uint32_t len;

		memcpy(f->tx.bufs, frame_udp4, sizeof(frame_udp4));
		f->tx.bufs[24] ^= 0x10; /* of IPv4 */
		f->tx.bufs[40] ^= 0x10; /* of UDP */
		rig_data(&f->tx, 1, f->tx.bufs, sizeof(frame_udp4));
		rig_post(&f->tx, MLX4_OP_SEND, 2 | (tag ? MLX4_CTRL_INS_CVLAN | 5u << MLX4_CTRL_VLAN_SHIFT : 0),
			 SEND | (ip ? MLX4_CTRL_IP_CSUM : MLX4_CTRL_L4_CSUM));
		ring(f);
		c = received(f, &d, &len);
		assert_non_null(c);
		d += tag ? 4 : 0;
		assert_int_equal(plain_sum(0, d + 14, 20) == 0xffff, ip);
		assert_int_equal(plain_sum(17 + 23, d + 26, 8 + 23) == 0xffff, !ip);
		assert_int_equal((rte_be_to_cpu_16(c->status) & MLX4_CQE_ST_IP_OK) != 0, ip);
		assert_int_equal(rte_be_to_cpu_16(c->checksum), ip ? 0 : MLX4_CQE_CSUM_OK);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Sent and counted by whom it is for: one, some, all (IEEE 802.3 30.3.1.1). */
static void
who_it_is_for(void **state)
{
	static const uint8_t to[3][6] = {
		{2, 0, 0, 0, 0, 2}, {1, 0, 0x5e, 0, 0, 1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	static const unsigned int times[3] = {1, 2, 4};
	uint8_t out[MLX4_MAILBOX_SIZE];
	struct tpm_cmd c = {.out = out, .in_modifier = 1};
	struct fix *f = *state;

	for (unsigned int i = 0; i < 3; i++) {
		memset(f->tx.bufs, 0, 100);
		memcpy(f->tx.bufs, to[i], 6);
		tpm_store16(f->tx.bufs + 12, 0x88b5);
		for (unsigned int k = 0; k < times[i]; k++) {
			rig_data(&f->tx, 1, f->tx.bufs, 100);
			rig_post(&f->tx, MLX4_OP_SEND, 2, SEND);
		}
		ring(f);
	}
	assert_int_equal(tpm_cmd_dump_eth_stats(f->r.m, &c), MLX4_STAT_OK);
	assert_int_equal(prm_get64(out, MLX4_STATS_TX_UCAST(MLX4_STATS_NOVLAN)), 1);
	assert_int_equal(prm_get64(out, MLX4_STATS_TX_MCAST(MLX4_STATS_NOVLAN)), 2);
	assert_int_equal(prm_get64(out, MLX4_STATS_TX_BCAST(MLX4_STATS_NOVLAN)), 4);
	c.in_modifier = 0x81;
	assert_int_equal(tpm_cmd_dump_eth_stats(f->r.m, &c), MLX4_STAT_BAD_INDEX);
}

/* --- large sends ---------------------------------------------------------------------------------------------------------------- */

static const uint8_t tcp_hdr[54] = {2,    0,    0,    0,    0,    2, 2, 0, 0,  0, 0,    1,    8,    0, 0x45, 0, 0, 0,
				    0xff, 0xff, 0x40, 0,    64,   6, 0, 0, 10, 0, 0,    1,    10,   0, 0,    2, 0, 80,
				    0,    81,   0xff, 0xff, 0xff, 0, 0, 0, 0,  1, 0x50, 0x99, 0x20, 0, 0,    0, 0, 0};

/* Each segment has the tag that the WQE asks for, of either kind (IEEE 802.1Q 9.5). */
static void
large_send_with_a_tag(void **state)
{
	struct fix *f = *state;
	uint8_t *pay = f->tx.bufs;
	struct tp_model_stats st;

	f->rx.qp->vlan_keep = true;
	for (uint32_t i = 0; i < 2500; i++)
		pay[i] = (uint8_t)(i * 7);
	for (unsigned int s = 0; s < 2; s++) {
		uint8_t *w = rig_wqe(&f->tx);

		prm_set32(w, 16, 1000u << MLX4_LSO_MSS_SHIFT | sizeof(tcp_hdr));
		memcpy(w + 20, tcp_hdr, sizeof(tcp_hdr));
		rig_data(&f->tx, 5, pay, 2500);
		rig_post(&f->tx, MLX4_OP_LSO | MLX4_CTRL_RR,
			 6 | (s == 0 ? MLX4_CTRL_INS_CVLAN : MLX4_CTRL_INS_SVLAN) | 0x6123u << MLX4_CTRL_VLAN_SHIFT,
			 SEND | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
		ring(f);
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t n = i < 2 ? 1000 : 500, len;
			const uint8_t *d;

			assert_non_null(received(f, &d, &len));
			assert_int_equal(len, 58 + n);
			assert_memory_equal(d, tcp_hdr, 12);
			assert_int_equal(prm_get32(d, 12), (s == 0 ? 0x81000000u : 0x88a80000u) | 0x6123);
			assert_int_equal(tpm_load16(d + 16), 0x0800);
			assert_int_equal(tpm_load16(d + 20), 40 + n);
			assert_memory_equal(d + 58, pay + i * 1000, n);
			assert_int_equal(plain_sum(0, d + 18, 20), 0xffff);
			assert_int_equal(plain_sum(plain_sum(6 + 20 + n, d + 30, 8), d + 38, 20 + n), 0xffff);
		}
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.port[0].tx_ip_sums, 6);
	assert_int_equal(st.port[0].tx_l4_sums, 6);
}

/* What is no large send: each condition alone. */
static void
large_sends_that_are_none(void **state)
{
	enum {
		LONG_HEADER,
		NO_HEADER,
		NO_MSS,
		NO_BIT,
		INLINE_DATA,
		NO_TUNNEL,
		INNER_ONLY,
		NOT_IP,
		NOT_TCP,
		NO_DATA,
		SHORT,
		CASES
	};

	for (unsigned int i = 0; i < CASES; i++) {
		uint32_t hdr = i == LONG_HEADER ? 0x200 | 54
			       : i == NO_HEADER ? 0
			       : i == SHORT     ? 50
						: 54,
			 op = MLX4_OP_LSO | MLX4_CTRL_RR;
		struct fix *f;
		uint8_t *w;

		assert_int_equal(up(state), 0);
		f = *state;
		w = rig_wqe(&f->tx);
		prm_set32(w, 16, (i == NO_MSS ? 0 : 1000u) << MLX4_LSO_MSS_SHIFT | hdr);
		memcpy(w + 20, tcp_hdr, sizeof(tcp_hdr));
		if (i == NOT_IP)
			w[20 + 12] = 0x88;
		if (i == NOT_TCP)
			w[20 + 23] = 17;
		rig_data(&f->tx, 5, f->tx.bufs, 100);
		if (i == INLINE_DATA)
			prm_set32(w, 80, MLX4_DATA_INLINE | 8);
		if (i == NO_BIT)
			op = MLX4_OP_LSO;
		if (i == NO_TUNNEL || i == INNER_ONLY) {
			f->r.m->port[0].tunnels = true;
			op |= i == NO_TUNNEL ? MLX4_CTRL_IIP : MLX4_CTRL_ILP;
		}
		rig_post(&f->tx, op, i == NO_DATA ? 5 : 6, SEND);
		ring(f);
		assert_refused(f, MLX4_SYND_LOCAL_QP_OP, "wqe-lso");
		down(state);
	}
}

/* --- packets that software built, and receive queues ---------------------------------------------------------------------------- */

/* Two packets of QP1 under one doorbell, whose CRC is there already: each arrives as it was. */
static void
packets_in_one_turn(void **state)
{
	struct fix *f = *state;
	const uint8_t *d;
	uint32_t len;

	f->tx.qp->eth = false;
	tpm_qp_ops_set(f->tx.qp);
	for (uint32_t i = 0; i < 3; i++) {
		uint8_t *p = f->tx.bufs + (size_t)i * RIG_BUF;

		memset(p, (int)(0x11 * (i + 1)), 200);
		memcpy(p, mac2, 6);
		tpm_store16(p + 12, 0x88b5);
		rig_data(&f->tx, 1, p, 60);
		rig_data(&f->tx, 2, p + 60, 40 + i);
		rig_post(&f->tx, MLX4_OP_SEND, 3, MLX4_CTRL_CQE | 1u << 4);
	}
	ring(f);
	for (uint32_t i = 0; i < 3; i++) {
		assert_non_null(received(f, &d, &len));
		assert_int_equal(len, 100 + i);
		assert_memory_equal(d, f->tx.bufs + (size_t)i * RIG_BUF, len);
		assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
	/* Less than an Ethernet header, and more than the port carries, are none. */
	rig_data(&f->tx, 1, f->tx.bufs, 13);
	rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_CQE | 1u << 4);
	ring(f);
	assert_refused(f, MLX4_SYND_LOCAL_LENGTH, "wqe-length");
}

/* Packets that carry no RoCE get no CRC of it; a key that is none ends a packet of QP1 as it ends any other. */
static void
packets_without_roce(void **state)
{
	/* IPv4 with TCP, IPv4 with options, IPv6 that ends in its UDP header, a type that is no network's. */
	static const struct {
		uint16_t etype;
		uint8_t version, proto;
		uint32_t len;
	} row[] = {{0x0800, 0x45, 6, 80}, {0x0800, 0x46, 17, 80}, {0x86dd, 0x60, 17, 70}, {0x88b5, 0x45, 17, 80}};

	for (unsigned int i = 0; i <= sizeof(row) / sizeof(row[0]); i++) {
		struct fix *f;
		uint8_t *p, *w;

		assert_int_equal(up(state), 0);
		f = *state;
		f->tx.qp->eth = false;
		tpm_qp_ops_set(f->tx.qp);
		p = f->tx.bufs;
		memset(p, 0, 200);
		memcpy(p, mac2, 6);
		if (i < sizeof(row) / sizeof(row[0])) {
			tpm_store16(p + 12, row[i].etype);
			p[14] = row[i].version;
			p[row[i].etype == 0x86dd ? 20 : 23] = row[i].proto;
		}
		rig_data(&f->tx, 1, p, i < sizeof(row) / sizeof(row[0]) ? row[i].len : 80);
		w = rig_wqe(&f->tx);
		if (i == sizeof(row) / sizeof(row[0]))
			prm_set32(w, 16 + 4, RIG_KEY + 1);
		prm_set32(w, 32, MLX4_DATA_INLINE | 4);
		rig_post(&f->tx, MLX4_OP_SEND, 3, MLX4_CTRL_CQE);
		ring(f);
		if (i < sizeof(row) / sizeof(row[0]))
			assert_refused(f, MLX4_SYND_LOCAL_QP_OP, "wqe-roce");
		else
			assert_refused(f, MLX4_SYND_LOCAL_PROT, "wqe-lkey");
		down(state);
	}
}

/* A byte count has 31 bits; the last one is no length [DP 5.1]. */
static void
receive_byte_counts(void **state)
{
	static const uint32_t count[] = {0x80000000u, 0x80000800u, 0xffffffffu};

	for (unsigned int i = 0; i < sizeof(count) / sizeof(count[0]); i++) {
		struct fix *f;

		assert_int_equal(up(state), 0);
		f = *state;
		prm_set32(f->rx.rq, 0, count[i]);
		rig_data(&f->tx, 1, f->tx.bufs, 100);
		rig_post(&f->tx, MLX4_OP_SEND, 2, SEND);
		ring(f);
		assert_int_equal(rig_violations(&f->r, "rq-scatter"), 1);
		assert_int_equal(tp_model_violations_total(f->r.m), 1);
		down(state);
	}
}

/* Headers of any length are summed (RFC 791); a UDP length beyond the packet is no sum, though what follows would fit it. */
static void
odd_headers(void **state)
{
	struct fix *f = *state;

	for (unsigned int words = 5; words <= 15; words++) {
		for (unsigned int wrong = 0; wrong < 2; wrong++) {
			uint32_t ihl = 4 * words, n = 14 + ihl + 8 + 20, len;
			uint8_t *p = f->tx.bufs, *ip = p + 14, *udp = ip + ihl;
			const struct mlx4_cqe *c;
			uint16_t sum;
			const uint8_t *d;

			memset(p, 0, 200);
			memcpy(p, mac2, 6);
			tpm_store16(p + 12, 0x0800);
			ip[0] = (uint8_t)(0x40 | words);
			tpm_store16(ip + 2, (uint16_t)(ihl + 8 + 16)); /* four octets follow that are not its */
			ip[8] = 64;
			ip[9] = 17;
			tpm_store16(ip + 12, 0x0a00 + words);
			for (uint32_t i = 20; i < ihl; i++)
				ip[i] = 1; /* no operation */
			sum = (uint16_t)~plain_sum(0, ip, ihl);
			tpm_store16(ip + 10, sum);
			tpm_store16(udp + 2, 2000);
			tpm_store16(udp + 4, (uint16_t)(8 + 16 + 2 * wrong));
			udp[8] = 0x5a;
			sum = (uint16_t)~plain_sum(plain_sum(17 + 24 + 2 * wrong, ip + 12, 8), udp, 24 + 2 * wrong);
			tpm_store16(udp + 6, sum);
			rig_data(&f->tx, 1, p, n);
			rig_post(&f->tx, MLX4_OP_SEND, 2, SEND);
			ring(f);
			c = received(f, &d, &len);
			assert_non_null(c);
			assert_int_equal(rte_be_to_cpu_16(c->status) & MLX4_CQE_ST_IP_OK, MLX4_CQE_ST_IP_OK);
			assert_int_equal(rte_be_to_cpu_16(c->checksum), wrong != 0 ? 0 : MLX4_CQE_CSUM_OK);
			*f->rx.dbrec = rte_cpu_to_be_32((f->rx.rci + 64) & 0xffff);
			assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
		}
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserved_bits),
		T(reserved_bits_of_doorbells),
		T(blue_flame_copies),
		cmocka_unit_test(blue_flame_copies_that_differ),
		T(empty_inline_segment),
		T(long_inline),
		T(one_checksum),
		T(who_it_is_for),
		T(large_send_with_a_tag),
		cmocka_unit_test(large_sends_that_are_none),
		T(packets_in_one_turn),
		cmocka_unit_test(packets_without_roce),
		cmocka_unit_test(receive_byte_counts),
		T(odd_headers),
	};

	return cmocka_run_group_tests_name("wqe_edges", tests, NULL, NULL);
}
