/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets that somebody changed on their way, with a right ICRC: of QP1, and to another address of the port. */
#include <rte_mbuf.h>

#include "lib/roce/net/net.h"
#include "frame_sums.h"
#include "pair.h"

/* --- QP1 ------------------------------------------------------------------------------------------------------------ */

static struct {
	uint32_t at;
	uint8_t flip;
	bool shorter;
} change;

static unsigned int
alter(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from != 0 || m->data_len < 300)
		return 1;
	f[42 + change.at] ^= change.flip;
	if (change.shorter) {
		rte_pktmbuf_trim(m, 4);
		ib_put16(f + 38, (uint16_t)(ib_get16(f + 38) - 4));
		ib_put16(f + 16, (uint16_t)(ib_get16(f + 16) - 4));
		ib_put16(f + 24, 0);
		ib_put16(f + 24, ip_sum(f + 14));
	}
	icrc(f, m->data_len, TROCE_ICRC_IPV4_UDP);
	return 1;
}

/* 13.5.3.3: a datagram of 256 octets in one packet, with QP1's key, in the default partition; all else is counted. */
static void
bad_mads(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t flip;
		bool shorter;
		const char *counter;
	} t[] = {
		{0, 0, false, "mads_received"},
		/* With immediate data; a part of a message; padding; another version; too short */
		{0, 0x01, false, "malformed"},
		{0, 0x04, false, "malformed"},
		{1, 0x10, false, "malformed"},
		{1, 0x01, false, "malformed"},
		{0, 0, true, "malformed"},
		/* The partition's number, and not its highest bit, which says full member */
		{3, 0x01, false, "bad_pkeys"},
		{2, 0x80, false, "mads_received"},
		/* The key */
		{15, 0x01, false, "bad_qkeys"},
		{12, 0x80, false, "bad_qkeys"},
	};
	struct pair *p = *state;
	struct troce_dev *dev = troce_dev_of(p->n[0].ctx);
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	struct troce_mad mad = {.remote_qpn = 1};

	av.grh.dgid = pair_gid(p, 1, PAIR_V4);
	av.grh.sgid_index = (uint8_t)p->gid[0][PAIR_V4];
	assert_int_equal(troce_path_resolve(dev, &av, 0, 0, &mad.path), 0);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t before = pair_stat(p, 1, t[i].counter), received = pair_stat(p, 1, "mads_received");

		change.at = t[i].at;
		change.flip = t[i].flip;
		change.shorter = t[i].shorter;
		p->n[1].num_mads = 0;
		p->wire = alter;
		assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
		pair_run(p, 1);
		p->wire = NULL;
		if (pair_stat(p, 1, t[i].counter) != before + 1)
			fail_msg("row %u: not %s", i, t[i].counter);
		assert_int_equal(p->n[1].num_mads, pair_stat(p, 1, "mads_received") - received);
	}
}

/* --- addresses -------------------------------------------------------------------------------------------------------- */

static uint8_t kept[2048];
static uint32_t kept_len;

static unsigned int
keep(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	if (from != 0 || m->data_len < 70)
		return 1;
	kept_len = m->data_len;
	memcpy(kept, rte_pktmbuf_mtod(m, uint8_t *), kept_len);
	return 0;
}

/* 9.6.1.2.3: a connection's packets come from its peer's address to its own, which is one of several that the port has. */
static void
another_address(void **state)
{
	static const struct {
		enum pair_net net;
		enum troce_icrc_net kind;
		uint32_t dst; /* of its last octet */
	} t[] = {{PAIR_V4, TROCE_ICRC_IPV4_UDP, 33}, {PAIR_V6, TROCE_ICRC_IPV6_UDP, 53}, {PAIR_V1, TROCE_ICRC_GRH, 53}};
	struct sockaddr_in more4 = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xc0000203)};
	struct sockaddr_in6 more6 = {.sin6_family = AF_INET6};
	struct pair *p = *state;

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::3", &more6.sin6_addr), 1);
	assert_int_equal(tp_roce_addr_add(p->n[1].ctx, (struct sockaddr *)&more4, 24, TP_ROCE_NO_VLAN), 0);
	assert_int_equal(tp_roce_addr_add(p->n[1].ctx, (struct sockaddr *)&more6, 64, TP_ROCE_NO_VLAN), 0);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		const struct qp_conf c = {.type = IBV_QPT_RC, .net = t[i].net, .timeout = 20};
		uint64_t before = pair_stat(p, 1, "bad_address");
		struct ibv_qp *a, *b;
		struct ibv_wc wc;

		pair_qps(p, &c, &a, &b);
		pair_recv(p, 1, b, 1, 0, 64);
		p->wire = keep;
		kept_len = 0;
		pair_send(p, 0, a, 2, 0, 64);
		while (kept_len == 0)
			pair_step(p);
		assert_int_equal(kept[t[i].dst], 2);
		kept[t[i].dst] = 3;
		if (t[i].net == PAIR_V4) {
			ib_put16(kept + 24, 0);
			ib_put16(kept + 24, ip_sum(kept + 14));
		}
		icrc(kept, kept_len, t[i].kind);
		pair_inject(p, 1, kept, kept_len);
		pair_step(p);
		assert_int_equal(pair_stat(p, 1, "bad_address"), before + 1);
		assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 0);
		/* The same one to its own address is delivered. */
		kept[t[i].dst] = 2;
		if (t[i].net == PAIR_V4) {
			ib_put16(kept + 24, 0);
			ib_put16(kept + 24, ip_sum(kept + 14));
		}
		icrc(kept, kept_len, t[i].kind);
		pair_inject(p, 1, kept, kept_len);
		pair_wait(p, p->n[1].cq, 1, NULL);
		p->wire = NULL;
		pair_wait(p, p->n[0].cq, 1, NULL);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
}

/* RFC 791: what is behind the first fragment has no header of UDP, whatever octets stand in its place. */
static void
later_fragment(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint64_t before = pair_stat(p, 1, "ip_fragments");

	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 1, 0, 64);
	p->wire = keep;
	kept_len = 0;
	pair_send(p, 0, a, 2, 0, 64);
	while (kept_len == 0)
		pair_step(p);
	for (unsigned int i = 0; i < 3; i++) {
		/* The first of several, one that is not the first, the last one. */
		static const uint16_t part[] = {0x2000, 0x2003, 0x0003};

		ib_put16(kept + 20, part[i]);
		ib_put16(kept + 24, 0);
		ib_put16(kept + 24, ip_sum(kept + 14));
		pair_inject(p, 1, kept, kept_len);
		pair_run(p, 1);
		assert_int_equal(pair_stat(p, 1, "ip_fragments"), before + 1);
	}
	ib_put16(kept + 20, 0x4000);
	ib_put16(kept + 24, 0);
	ib_put16(kept + 24, ip_sum(kept + 14));
	pair_inject(p, 1, kept, kept_len);
	pair_wait(p, p->n[1].cq, 1, NULL);
	p->wire = NULL;
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* --- numbers ---------------------------------------------------------------------------------------------------------- */

static uint16_t numbers[8];
static unsigned int num_numbers;

static unsigned int
note_number(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	if (from == 0 && num_numbers < RTE_DIM(numbers))
		numbers[num_numbers++] = ib_get16(f + 18);
	return 1;
}

/* Whoever cuts packets from a longer frame counts their numbers up (RFC 6864 lets them be anything), and each CRC fits. */
static void
numbers_count(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint64_t bad = pair_stat(p, 1, "bad_icrc");

	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 1, 0, 8192);
	num_numbers = 0;
	p->wire = note_number;
	pair_send(p, 0, a, 2, 0, 8000);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	assert_int_equal(num_numbers, 8);
	for (unsigned int i = 1; i < 8; i++)
		assert_int_equal(numbers[i], numbers[0] + i);
	assert_int_equal(pair_stat(p, 1, "bad_icrc"), bad);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* 10.5.2.1: a group's datagram comes back to members of the port that sent it, and to no port without one. */
static void
members_of_its_own(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UD, .net = PAIR_V6};
	union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 0x77}};
	struct pair *p = *state;
	struct ibv_qp *a = pair_qp(p, 0, &c);
	struct ibv_ah *ah = pair_ah(p, 0, &group, PAIR_V6);
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	pair_connect(p, a, a, &c);
	pair_recv(p, 0, a, 1, 4096, 1024);
	for (unsigned int member = 0; member < 2; member++) {
		uint64_t before = pair_stat(p, 0, "looped");

		if (member != 0)
			assert_int_equal(tp_roce_attach_mcast(a, &group, 0), 0);
		wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 64, 0);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 0xffffff;
		wr.wr.ud.remote_qkey = 0x1234;
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_run(p, 1);
		assert_int_equal(pair_stat(p, 0, "looped"), before + member);
	}
	/* The ethdev has taken all that there was. */
	assert_int_equal(pair_stat(p, 0, "tx_queue_full"), 0);
	assert_int_equal(tp_roce_detach_mcast(a, &group, 0), 0);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(bad_mads), T(another_address), T(later_fragment), T(numbers_count),
					   T(members_of_its_own)};

	return cmocka_run_group_tests_name("roce_sw_wire", tests, NULL, NULL);
}
