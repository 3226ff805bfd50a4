/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Rules that come and go at random, and bursts of frames whose checksums the card writes, in one piece, in several, and as large sends:
 * each is where a plain list of the rules says, as often as it says, in order, octet for octet, and its sums are right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_rig.h"

#include "frames.h"

#define SEEDS 60u
#define BURSTS 40u
#define RULES 24u
#define QPS 4u
#define QPN 8u
#define RING 256u
#define FRAMES 512u
#define CSUM (MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM)

/* What a rule compares; without padding, since two that say the same are one. */
struct spec {
	uint16_t prio;
	uint8_t mac, dip, sip, proto; /* 0: any */
	uint16_t dport, sport, dport_m, sport_m;
};
struct rule {
	bool is;
	uint64_t id, order;
	uint32_t qpn;
	struct spec s;
};

/* A frame, or a segment of a large send, that shall arrive. */
struct want {
	uint8_t mac, smac, dip, sip, proto;
	uint16_t sport, dport, len; /* len of payload */
	const uint8_t *payload;
	uint32_t qps;   /* bits */
	uint32_t least; /* octets of a frame: the card pads those of its own WQE */
};

static struct rig r;
static struct rig_q tx, rx[QPS];
static uint16_t posted[QPS];
static struct rule rule[RULES];
static struct want want[FRAMES];
static uint32_t num;
static uint64_t dice, order;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(tpm_random(&dice) >> 33) % n;
}

/* --- rules --- */

static void
attach(struct rule *k)
{
	uint8_t mbox[128] = {0}, *s = mbox + MLX4_DMFS_CTRL_SIZE;

	prm_set(mbox, MLX4_DMFS_PRIORITY, k->s.prio);
	prm_set(mbox, MLX4_DMFS_PORT, 2);
	prm_set(mbox, MLX4_DMFS_QPN, k->qpn);
	if (k->s.mac != 0) {
		prm_set(s, MLX4_SPEC_SIZE, MLX4_SPEC_ETH_SIZE / 4);
		prm_set(s, MLX4_SPEC_ID, MLX4_SPEC_ETH);
		s[MLX4_SPEC_ETH_DMAC] = 2;
		s[MLX4_SPEC_ETH_DMAC + 5] = k->s.mac;
		memset(s + MLX4_SPEC_ETH_DMAC_MASK, 0xff, 6);
		s += MLX4_SPEC_ETH_SIZE;
	}
	if (k->s.dip != 0 || k->s.sip != 0) {
		prm_set(s, MLX4_SPEC_SIZE, MLX4_SPEC_IPV4_SIZE / 4);
		prm_set(s, MLX4_SPEC_ID, MLX4_SPEC_IPV4);
		prm_set(s, MLX4_SPEC_IPV4_DST, k->s.dip != 0 ? 0x0a000000u | k->s.dip : 0);
		prm_set(s, MLX4_SPEC_IPV4_DST_MASK, k->s.dip != 0 ? UINT32_MAX : 0);
		prm_set(s, MLX4_SPEC_IPV4_SRC, k->s.sip != 0 ? 0x0a000000u | k->s.sip : 0);
		prm_set(s, MLX4_SPEC_IPV4_SRC_MASK, k->s.sip != 0 ? UINT32_MAX : 0);
		s += MLX4_SPEC_IPV4_SIZE;
	}
	if (k->s.proto != 0) {
		prm_set(s, MLX4_SPEC_SIZE, MLX4_SPEC_L4_SIZE / 4);
		prm_set(s, MLX4_SPEC_ID, k->s.proto == 6 ? MLX4_SPEC_TCP : MLX4_SPEC_UDP);
		prm_set(s, MLX4_SPEC_L4_DPORT, k->s.dport);
		prm_set(s, MLX4_SPEC_L4_DPORT_MASK, k->s.dport_m);
		prm_set(s, MLX4_SPEC_L4_SPORT, k->s.sport);
		prm_set(s, MLX4_SPEC_L4_SPORT_MASK, k->s.sport_m);
		s += MLX4_SPEC_L4_SIZE;
	}
	assert_int_equal(tpm_steer_attach(r.m, mbox, (uint32_t)(s - mbox) / 4, &k->id), 0);
	k->order = order++;
	k->is = true;
}

static void
change_a_rule(void)
{
	struct rule *k = &rule[below(RULES)];

	if (k->is) {
		assert_int_equal(tpm_steer_detach(r.m, k->id), 0);
		k->is = false;
		return;
	}
	memset(k, 0, sizeof(*k));
	k->qpn = QPN + below(QPS);
	k->s.prio = (uint16_t)(MLX4_DMFS_PRIO_USER + below(2));
	if (below(8) == 0 && k > rule) {
		k->s = (k - 1)->s; /* they share frames */
	} else {
		k->s.mac = (uint8_t)below(3);
		k->s.dip = (uint8_t)(below(3) * below(2));
		k->s.sip = (uint8_t)(below(3) * below(2));
		k->s.proto = below(4) == 0 ? 0 : below(3) == 0 ? 17 : 6;
		if (k->s.proto != 0 && below(4) != 0) {
			k->s.dport = (uint16_t)(80 + below(4));
			k->s.dport_m = below(6) == 0 ? 0xfffe : 0xffff;
			k->s.dport &= k->s.dport_m;
		}
		if (k->s.proto != 0 && below(4) == 0) {
			k->s.sport = (uint16_t)(1000 + below(3));
			k->s.sport_m = 0xffff;
		}
	}
	/* A rule of nothing at all is a mailbox without specifications. */
	if (k->s.mac == 0 && k->s.dip == 0 && k->s.sip == 0 && k->s.proto == 0)
		k->s.mac = 1;
	attach(k);
}

static bool
fits(const struct spec *s, const struct want *w)
{
	return (s->mac == 0 || s->mac == w->mac) && (s->dip == 0 || s->dip == w->dip) &&
	       (s->sip == 0 || s->sip == w->sip) &&
	       (s->proto == 0 || (s->proto == w->proto && ((s->dport ^ w->dport) & s->dport_m) == 0 &&
				  ((s->sport ^ w->sport) & s->sport_m) == 0));
}

/* Among rules of one priority those of an address alone go first, then who came first. */
static bool
before(const struct rule *a, const struct rule *b)
{
	const bool mac_a = a->s.dip == 0 && a->s.sip == 0 && a->s.proto == 0,
		   mac_b = b->s.dip == 0 && b->s.sip == 0 && b->s.proto == 0;

	if (a->s.prio != b->s.prio)
		return a->s.prio < b->s.prio;
	return mac_a != mac_b ? mac_a : a->order < b->order;
}

static uint32_t
who_gets(const struct want *w)
{
	const struct rule *best = NULL;
	uint32_t qps = 0;

	for (unsigned int i = 0; i < RULES; i++)
		if (rule[i].is && fits(&rule[i].s, w) && (best == NULL || before(&rule[i], best)))
			best = &rule[i];
	for (unsigned int i = 0; best != NULL && i < RULES; i++)
		if (rule[i].is && memcmp(&rule[i].s, &best->s, sizeof(best->s)) == 0)
			qps |= 1u << (rule[i].qpn - QPN);
	return qps;
}

/* --- frames --- */

static uint32_t
headers(uint8_t *d, const struct want *w, uint32_t payload, bool stamped)
{
	const uint32_t l4 = w->proto == 17 ? 8 : stamped ? 32 : 20;
	static const uint8_t ip[10] = {0x45, 0, 0, 0, 0, 7, 0x40, 0, 64};

	memset(d, 0, 34 + l4);
	d[0] = d[6] = 2;
	d[5] = w->mac;
	d[11] = w->smac;
	d[12] = 8;
	memcpy(d + 14, ip, sizeof(ip));
	tpm_store16(d + 16, (uint16_t)(20 + l4 + payload));
	d[23] = w->proto;
	d[26] = d[30] = 10;
	d[29] = w->sip;
	d[33] = w->dip;
	tpm_store16(d + 34, w->sport);
	tpm_store16(d + 36, w->dport);
	if (w->proto == 17) {
		tpm_store16(d + 38, (uint16_t)(8 + payload));
	} else {
		d[46] = (uint8_t)(l4 / 4 << 4);
		d[47] = 0x10;
		if (stamped)
			prm_set32(d, 54, 0x0101080a);
	}
	return 34 + l4;
}

/* A WQE, and what shall arrive of it. */
static void
send_some(void)
{
	struct want w = {.mac = (uint8_t)(1 + below(2)),
			 .smac = (uint8_t)(7 + below(2)),
			 .dip = (uint8_t)(1 + below(2)),
			 .sip = (uint8_t)(1 + below(2)),
			 .proto = below(4) == 0 ? 17 : 6,
			 .sport = (uint16_t)(1000 + below(3)),
			 .dport = (uint16_t)(80 + below(4))};
	static const uint16_t lens[] = {0, 1, 30, 100, 200, 300, 1000, 1400};
	const bool large = w.proto == 6 && below(3) == 0, stamped = below(2) != 0;
	const uint32_t payload = large ? 1 + below(1900) : lens[below(sizeof(lens) / sizeof(lens[0]))],
		       mss = 500 + below(3);
	uint8_t *buf = tx.bufs + (size_t)(num % RING) * RIG_BUF, head[80];
	const uint32_t hlen = headers(head, &w, payload, stamped), cut = below(payload + 1);

	if ((tx.prod & (RING - 1)) >= RING - 2) {
		/* None lies across the end of the ring. */
		rig_post(&tx, MLX4_OP_NOP, 1, 0);
		if ((tx.prod & (RING - 1)) != 0)
			rig_post(&tx, MLX4_OP_NOP, 1, 0);
	}
	for (uint32_t i = 0; i < payload; i++)
		buf[hlen + i] = (uint8_t)below(256);
	memcpy(buf, head, hlen);
	w.qps = who_gets(&w);
	w.least = large ? 0 : 60;
	if (!large) {
		rig_data(&tx, 1, buf, hlen + cut);
		if (cut != payload)
			rig_data(&tx, 2, buf + hlen + cut, payload - cut);
		rig_post(&tx, MLX4_OP_SEND, cut != payload ? 3 : 2, CSUM);
		w.payload = buf + hlen;
		w.len = (uint16_t)payload;
		want[num++] = w;
		return;
	}
	{
		const uint32_t units = 1 + (4 + hlen + 15) / 16;

		prm_set32(rig_wqe(&tx), 16, mss << MLX4_LSO_MSS_SHIFT | hlen);
		memcpy(rig_wqe(&tx) + 20, head, hlen);
		rig_data(&tx, units, buf + hlen, cut != 0 ? cut : payload);
		if (cut != 0 && cut != payload)
			rig_data(&tx, units + 1, buf + hlen + cut, payload - cut);
		rig_post(&tx, MLX4_OP_LSO | MLX4_CTRL_RR, units + (cut != 0 && cut != payload ? 2 : 1), CSUM);
	}
	for (uint32_t at = 0; at < payload; at += mss) {
		w.payload = buf + hlen + at;
		w.len = (uint16_t)RTE_MIN(mss, payload - at);
		want[num++] = w;
	}
}

/* Blocks that are done with are nobody's in the next round of the ring, as drivers say. */
static void
stamp(uint32_t from)
{
	for (; from != tx.prod; from++)
		prm_set32(tx.sq, (from & (RING - 1)) * 64, ((from + RING) & RING) != 0 ? UINT32_MAX >> 1 : UINT32_MAX);
}

/* --- what arrived --- */

static void
is_as_wanted(const struct want *w, const struct mlx4_cqe *c, const uint8_t *d)
{
	const uint32_t len = rte_be_to_cpu_32(c->byte_cnt);
	const uint32_t hlen = w->proto == 17 ? 42 : 34 + (d[46] >> 4) * 4u, l4 = hlen - 34 + w->len;
	uint32_t status;

	memcpy(&status, &c->status, sizeof(status));
	status = rte_be_to_cpu_32(status);
	assert_int_equal(len, RTE_MAX(hlen + w->len, w->least));
	assert_int_equal(d[5], w->mac);
	assert_int_equal(d[11], w->smac);
	assert_int_equal(tpm_load16(d + 16), 20 + l4);
	assert_int_equal(d[23], w->proto);
	assert_int_equal(d[29], w->sip);
	assert_int_equal(d[33], w->dip);
	assert_int_equal(tpm_load16(d + 34), w->sport);
	assert_int_equal(tpm_load16(d + 36), w->dport);
	assert_memory_equal(d + hlen, w->payload, w->len);
	assert_int_equal(plain_sum(0, d + 14, 20), 0xffff);
	assert_int_equal(plain_sum(plain_sum(w->proto + l4, d + 26, 8), d + 34, l4), 0xffff);
	assert_int_equal(rte_be_to_cpu_16(c->checksum), MLX4_CQE_CSUM_OK);
	assert_true((status >> 16 & MLX4_CQE_ST_IP_OK) != 0);
	assert_true((status & MLX4_CQE_L4_OK) != 0);
}

static void
look(void)
{
	for (unsigned int q = 0; q < QPS; q++) {
		for (uint32_t i = 0; i < num; i++) {
			const struct mlx4_cqe *c;

			if ((want[i].qps >> q & 1) == 0)
				continue;
			c = rig_poll(rx[q].rcq, RING, &rx[q].rci, rx[q].rcq_rec);
			assert_non_null(c);
			is_as_wanted(&want[i], c,
				     rx[q].bufs + (size_t)(rte_be_to_cpu_16(c->wqe_index) % RING) * RIG_BUF);
			posted[q]++;
		}
		assert_null(rig_poll(rx[q].rcq, RING, &rx[q].rci, rx[q].rcq_rec));
		*rx[q].dbrec = rte_cpu_to_be_32(posted[q]);
	}
}

static void
where_rules_say(void **state)
{
	uint64_t arrived = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		dice = seed;
		memset(rule, 0, sizeof(rule));
		assert_int_equal(rig_open(&r), 0);
		tpm_steer_mode(r.m, TPM_STEER_BY_RULES);
		rig_qp(&r, &tx, 0x30, 1, RING, false);
		for (unsigned int i = 0; i < QPS; i++) {
			rig_qp(&r, &rx[i], QPN + i, 2, RING, true);
			posted[i] = RING;
		}
		rig_up(&r);
		/* Frames are looked at more closely, and are none of these. */
		r.m->port[1].tunnels = seed % 2 != 0;
		for (unsigned int b = 0; b < BURSTS; b++) {
			const uint32_t from = tx.prod;

			for (uint32_t k = below(b < 10 ? 6 : 2); k != 0; k--)
				change_a_rule();
			num = 0;
			for (uint32_t k = 1 + below(20); k != 0; k--)
				send_some();
			rig_ring(&r, &tx);
			for (unsigned int i = 0; i < 16; i++)
				tp_model_step(r.m, 32);
			stamp(from);
			look();
			arrived += num;
			while (rig_poll(tx.scq, RING, &tx.sci, tx.scq_rec) != NULL)
				continue;
		}
		assert_int_equal(tp_model_violations_total(r.m), 0);
		rig_close(&r);
	}
	assert_true(arrived > SEEDS * BURSTS * 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(where_rules_say)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
