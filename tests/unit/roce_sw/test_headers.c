/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Headers that the provider in software writes and reads, byte by byte (annexes A16, A17; RFC 791, 768, 8200; 802.1Q), what a
 * port says of checksums and tags, and how many of a kind there may be.
 */
#include <errno.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/roce/net/net.h"
#include "lib/roce/soft/sw.h"
#include "pair.h"

#define QKEY 0x11111111u

static uint8_t kept[2048];
static uint32_t kept_len;

/* Keeps the last frame of node 0 that is longer than those to and from neighbours. */
static unsigned int
keep(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	if (from != 0 || m->data_len <= 60 || m->data_len > sizeof(kept))
		return 1;
	kept_len = m->data_len;
	memcpy(kept, rte_pktmbuf_mtod(m, uint8_t *), kept_len);
	return 1;
}

/* What an address vector says is in the headers; a priority without a VLAN is in a tag of VLAN 0. */
static void
sent_headers(void **state)
{
	/* Lengths: 8 bytes behind BTH, DETH and in front of the ICRC: 32; with UDP 40, with IPv4 60. */
	static const struct {
		enum pair_net net;
		uint32_t len, sum_at; /* of IPv4's checksum; 0: none */
		const char *hex;
	} t[] = {
		{PAIR_V4, 78, 28,
		 "020000000002020000000001 8100a000 0800 456c003c00004000 4d11xxxx c0000201c0000202 fcf412b700280000"},
		{PAIR_VLAN, 78, 28,
		 "020000000002020000000001 8100a064 0800 456c003c00004000 4d11xxxx c6336401c6336402 fcf412b700280000"},
		{PAIR_V6, 98, 0,
		 "020000000002020000000001 8100a000 86dd 66cabcde 0028114d 20010db8000000000000000000000001 "
		 "20010db8000000000000000000000002 fcf412b7 0028"},
		{PAIR_V1, 90, 0,
		 "020000000002020000000001 8100a000 8915 66cabcde 00201b4d 00000000000000000000ffffc0000201 "
		 "00000000000000000000ffffc0000202 64"},
	};
	struct pair *p = *state;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		const struct qp_conf c = {.type = IBV_QPT_UD, .net = t[i].net};
		struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .sl = 5};
		struct ibv_qp *a, *b;
		struct ibv_send_wr wr;
		struct ibv_sge sge;
		struct ibv_ah *ah;
		uint32_t sum = 0, n = 0;

		pair_qps(p, &c, &a, &b);
		av.grh.dgid = pair_gid(p, 1, t[i].net);
		av.grh.sgid_index = (uint8_t)p->gid[0][t[i].net];
		av.grh.flow_label = 0xabcde;
		av.grh.traffic_class = 0x6c;
		av.grh.hop_limit = 77;
		ah = tp_roce_create_ah(p->n[0].pd, &av);
		assert_non_null(ah);
		p->wire = keep;
		wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = b->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
		kept_len = 0;
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_run(p, 1);
		assert_int_equal(kept_len, t[i].len);
		for (const char *h = t[i].hex; *h != '\0'; h += *h == ' ' ? 1 : 2) {
			unsigned int v;

			if (*h == ' ')
				continue;
			if (*h != 'x' && (sscanf(h, "%2x", &v) != 1 || kept[n] != v))
				fail_msg("network %u, byte %u: 0x%02x, wanted %.2s", t[i].net, n, kept[n], h);
			n++;
		}
		for (uint32_t k = 18; t[i].sum_at != 0 && k < 38; k += 2)
			sum += (uint32_t)kept[k] << 8 | kept[k + 1];
		while (sum >> 16 != 0)
			sum = (sum & 0xffff) + (sum >> 16);
		assert_int_equal(sum, t[i].sum_at != 0 ? 0xffff : 0);
		p->wire = NULL;
		assert_int_equal(tp_roce_destroy_ah(ah), 0);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
}

/* The way back of a management datagram is that by which it came: label, class without marks, port, tag. */
static void
way_back(void **state)
{
	struct pair *p = *state;

	for (unsigned int net = 0; net < 4; net++) {
		struct troce_dev *d0 = troce_dev_of(p->n[0].ctx);
		struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .sl = 3};
		const struct troce_path *got = &p->n[1].mads[0].path;
		struct troce_mad mad = {.remote_qpn = 1};

		av.grh.dgid = pair_gid(p, 1, (enum pair_net)net);
		av.grh.sgid_index = (uint8_t)p->gid[0][net];
		av.grh.flow_label = 0x9abcd;
		av.grh.traffic_class = 0xb7;
		assert_int_equal(troce_path_resolve(d0, &av, 0xd431, 0, &mad.path), 0);
		p->n[1].num_mads = 0;
		assert_int_equal(d0->prov->mad_send(d0, &mad), 0);
		pair_run(p, 1);
		assert_int_equal(p->n[1].num_mads, 1);
		assert_int_equal(got->tclass, 0xb4);
		assert_int_equal(got->flow_label, net == PAIR_V6 || net == PAIR_V1 ? 0x9abcd : 0);
		assert_int_equal(got->sport, net == PAIR_V1 ? 0 : 0xd431);
		assert_int_equal(got->prio, 3);
		assert_int_equal(got->vlan, net == PAIR_VLAN ? 100 : TP_ROCE_NO_VLAN);
		assert_int_equal(got->hop_limit, d0->conf.ttl);
		assert_true(got->decided);
	}
	/* ECN-CE over IPv4 and IPv6 is counted, and in a GRH. */
	assert_int_equal(pair_stat(p, 1, "ecn_marked"), 4);
}

/* --- what a port says of a frame -------------------------------------------------------------------------------- */

#define IP_GOOD RTE_MBUF_F_RX_IP_CKSUM_GOOD
#define IP_BAD RTE_MBUF_F_RX_IP_CKSUM_BAD
#define L4_GOOD RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define L4_BAD RTE_MBUF_F_RX_L4_CKSUM_BAD
#define TAKEN_OFF (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)

static void
ip_sum(uint8_t *ip)
{
	uint32_t sum = 0;

	ib_put16(ip + 10, 0);
	for (uint32_t i = 0; i < 20; i += 2)
		sum += ib_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	ib_put16(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
}

/* A packet to a queue pair that is not there: who counts it so has taken it for a good one. NULL: it is left to others. */
static void
offloads(void **state)
{
	static const struct {
		uint64_t flags;
		uint16_t tci; /* taken off by the port */
		uint8_t to;   /* 2: 192.0.2.2; 100: 198.51.100.2, on VLAN 100 */
		bool bad_ip;
		uint16_t udp_sum, udp_len;
		const char *counter;
	} t[] = {
		{0, 0, 2, false, 0, 94, "invalid_qp"},
		{0, 0, 2, true, 0, 94, "bad_ip_checksum"},
		{IP_GOOD, 0, 2, true, 0, 94, "invalid_qp"},
		{IP_BAD, 0, 2, false, 0, 94, "bad_ip_checksum"},
		{RTE_MBUF_F_RX_IP_CKSUM_NONE, 0, 2, false, 0, 94, "invalid_qp"},
		{RTE_MBUF_F_RX_IP_CKSUM_NONE, 0, 2, true, 0, 94, "bad_ip_checksum"},
		/* Nothing to be said of a checksum that is not there */
		{L4_BAD, 0, 2, false, 0, 94, "invalid_qp"},
		{0, 0, 2, false, 0x1234, 94, "bad_udp_checksum"},
		{L4_GOOD, 0, 2, false, 0x1234, 94, "invalid_qp"},
		{L4_BAD, 0, 2, false, 0x1234, 94, "bad_udp_checksum"},
		{RTE_MBUF_F_RX_L4_CKSUM_NONE, 0, 2, false, 0x1234, 94, "bad_udp_checksum"},
		/* BTH and ICRC at least; no more than there is */
		{0, 0, 2, false, 0, 24, "invalid_qp"},
		{0, 0, 2, false, 0, 23, "malformed"},
		{0, 0, 2, false, 0, 95, "malformed"},
		{TAKEN_OFF, 0x6064, 100, false, 0, 94, "invalid_qp"},
		{TAKEN_OFF, 0x6065, 100, false, 0, 94, NULL},
		{TAKEN_OFF, 0x6000, 2, false, 0, 94, "invalid_qp"},
		{TAKEN_OFF, 0x6064, 2, false, 0, 94, NULL},
		{0, 0x6064, 2, false, 0, 94, "invalid_qp"},
		{0, 0, 100, false, 0, 94, NULL},
	};
	const struct pair_conf pc = {.mtu = 1024, .app_rx = true};
	struct pair *p = pair_open(&pc);
	struct rte_mempool *pool = troce_dev_of(p->n[1].ctx)->conf.pool;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t before = t[i].counter == NULL ? 0 : pair_stat(p, 1, t[i].counter);
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint16_t left;
		uint8_t *f;

		assert_non_null(m);
		m->data_len = 128;
		m->pkt_len = 128;
		f = rte_pktmbuf_mtod(m, uint8_t *);
		memset(f, 0, 128);
		memcpy(f, (const uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45}, 15);
		ib_put16(f + 16, 114);
		f[22] = 9;
		f[23] = 17;
		memcpy(f + 26, (const uint8_t[]){192, 0, 2, 1}, 4);
		memcpy(f + 30, t[i].to == 2 ? (const uint8_t[]){192, 0, 2, 2} : (const uint8_t[]){198, 51, 100, 2}, 4);
		ip_sum(f + 14);
		f[24] ^= t[i].bad_ip;
		ib_put16(f + 36, 4791);
		ib_put16(f + 38, t[i].udp_len);
		ib_put16(f + 40, t[i].udp_sum);
		m->ol_flags = t[i].flags;
		m->vlan_tci = t[i].tci;
		left = tp_roce_input(p->n[1].ctx, &m, 1);
		if (left != (t[i].counter == NULL))
			fail_msg("row %u: %u left", i, left);
		if (left != 0)
			rte_pktmbuf_free(m);
		else if (pair_stat(p, 1, t[i].counter) != before + 1)
			fail_msg("row %u: not %s", i, t[i].counter);
	}
	pair_close(p);
}

/* --- echo --------------------------------------------------------------------------------------------------------- */

static unsigned int answers;

static unsigned int
count_answers(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	/* An echo reply of IPv4 */
	answers += from == 1 && f[12] == 8 && f[13] == 0 && f[23] == 1 && f[34] == 0;
	return 0;
}

/* An echo request of 192.0.2.1 to node 1, to this MAC. */
static void
ping(struct pair *p, uint8_t mac)
{
	uint8_t f[60] = {2, 0, 0, 0, 0, mac, 2, 0, 0, 0, 0, 1, 8, 0, 0x45};

	f[17] = 28;
	f[22] = 64;
	f[23] = 1;
	memcpy(f + 26, (const uint8_t[]){192, 0, 2, 1, 192, 0, 2, 2}, 8);
	ip_sum(f + 14);
	f[34] = 8;
	f[36] = 0xf7;
	f[37] = 0xff;
	pair_inject(p, 1, f, sizeof(f));
}

/* A port that polls its own queue answers pings to its own MAC; others are freed and counted. */
static void
pings(void **state)
{
	struct pair *p = *state;
	uint64_t freed = pair_stat(p, 1, "rx_not_roce_freed");

	answers = 0;
	p->wire = count_answers;
	ping(p, 2);
	ping(p, 3);
	pair_run(p, 1);
	assert_int_equal(answers, 1);
	assert_int_equal(pair_stat(p, 1, "net_echoes_sent"), 1);
	assert_int_equal(pair_stat(p, 1, "rx_not_roce_freed"), freed + 1);
	assert_int_equal(pair_stat(p, 1, "net_rate_limited"), 0);
	for (unsigned int i = 0; i < 100; i++) {
		ping(p, 2);
		pair_step(p);
	}
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "net_echoes_sent") + pair_stat(p, 1, "net_rate_limited"), 101);
	assert_int_equal(answers, pair_stat(p, 1, "net_echoes_sent"));
	p->wire = NULL;
}

/* --- how many ---------------------------------------------------------------------------------------------------- */

/* Numbers of queue pairs are of 24 bits, and differ where the table has its places (none is 0 or 1). */
static void
numbers(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UD, .send_wr = 1, .recv_wr = 1};
	struct pair *p = *state;
	struct ibv_qp *qp[64];
	uint32_t any = 0;

	for (unsigned int i = 0; i < RTE_DIM(qp); i++) {
		qp[i] = pair_qp(p, 0, &c);
		any |= qp[i]->qp_num;
		assert_true(qp[i]->qp_num > 1 && qp[i]->qp_num < 0xffffff);
		for (unsigned int k = 0; k < i; k++)
			assert_true(RSW_QPN_INDEX(qp[k]->qp_num) != RSW_QPN_INDEX(qp[i]->qp_num));
	}
	/* Of 64 by chance one has the highest bit, but for once in 2^64 times. */
	assert_true(any >> 23 == 1);
	for (unsigned int i = 0; i < RTE_DIM(qp); i++)
		assert_int_equal(tp_roce_destroy_qp(qp[i]), 0);
}

static union ibv_gid
group_gid(unsigned int i)
{
	union ibv_gid gid = {.raw = {0xff, 0x0e, [13] = 1, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}};

	return gid;
}

static void
groups(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UD, .send_wr = 1, .recv_wr = 1};
	static struct ibv_qp *qp[RSW_GROUP_QPS + 1];
	struct pair *p = *state;
	union ibv_gid gid = group_gid(0);

	for (unsigned int i = 0; i < RTE_DIM(qp); i++) {
		qp[i] = pair_qp(p, 0, &c);
		assert_int_equal(tp_roce_attach_mcast(qp[i], &gid, 0), i < RSW_GROUP_QPS ? 0 : ENOMEM);
	}
	assert_int_equal(rte_eth_allmulticast_get(p->n[0].port), 1);
	/* A member that goes makes room for one. */
	assert_int_equal(tp_roce_detach_mcast(qp[1], &gid, 0), 0);
	assert_int_equal(tp_roce_attach_mcast(qp[RSW_GROUP_QPS], &gid, 0), 0);
	assert_int_equal(tp_roce_attach_mcast(qp[1], &gid, 0), ENOMEM);
	/* So many groups; the place of one without members is used again. */
	for (unsigned int i = 1; i <= RSW_GROUPS; i++) {
		gid = group_gid(i);
		assert_int_equal(tp_roce_attach_mcast(qp[0], &gid, 0), i < RSW_GROUPS ? 0 : ENOMEM);
	}
	gid = group_gid(2);
	assert_int_equal(tp_roce_detach_mcast(qp[0], &gid, 0), 0);
	gid = group_gid(RSW_GROUPS);
	assert_int_equal(tp_roce_attach_mcast(qp[0], &gid, 0), 0);
	gid = group_gid(2);
	assert_int_equal(tp_roce_attach_mcast(qp[1], &gid, 0), ENOMEM);
	for (unsigned int i = 1; i <= RSW_GROUPS; i++) {
		gid = group_gid(i);
		assert_int_equal(tp_roce_detach_mcast(qp[0], &gid, 0), i == 2 ? EINVAL : 0);
	}
	gid = group_gid(0);
	for (unsigned int i = 0; i < RTE_DIM(qp); i++) {
		assert_int_equal(tp_roce_detach_mcast(qp[i], &gid, 0), i == 1 ? EINVAL : 0);
		assert_int_equal(tp_roce_destroy_qp(qp[i]), 0);
	}
}

/* A place has 20 bits: two queue pairs whose numbers agree in the lower 16 of them are two, and each hears what is for it. */
static void
places(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC};
	static const uint32_t at[] = {0x12345, 0x32345, 0xf2345, 0x02345};
	struct pair *p = *state;
	struct rsw_dev *d = troce_dev_of(p->n[1].ctx)->home;
	struct ibv_qp *a[RTE_DIM(at)], *b[RTE_DIM(at)];
	struct ibv_device_attr attr;
	struct ibv_wc wc;

	assert_int_equal(tp_roce_query_device(p->n[1].ctx, &attr), 0);
	assert_int_equal(attr.max_qp, (1 << 20) - 3);
	for (unsigned int i = 0; i < RTE_DIM(at); i++) {
		d->next_qp = at[i] - 1;
		pair_qps(p, &c, &a[i], &b[i]);
		assert_int_equal(b[i]->qp_num & 0xfffff, at[i]);
		pair_recv(p, 1, b[i], i, 0, 64);
	}
	for (unsigned int i = RTE_DIM(at); i-- > 0;) {
		pair_send(p, 0, a[i], i, 0, 64);
		pair_wait(p, p->n[1].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.qp_num, b[i]->qp_num);
		pair_wait(p, p->n[0].cq, 1, NULL);
	}
	for (unsigned int i = 0; i < RTE_DIM(at); i++) {
		assert_int_equal(tp_roce_destroy_qp(a[i]), 0);
		assert_int_equal(tp_roce_destroy_qp(b[i]), 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(sent_headers), T(way_back), T(pings), cmocka_unit_test(offloads), T(numbers), T(places), T(groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
