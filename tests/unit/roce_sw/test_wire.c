/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets that somebody changed on their way, with a right ICRC: of QP1, to another address of the port, and marked ones. */
#include <rte_mbuf.h>

#include "lib/roce/net/net.h"
#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/wire.h"
#include "pair.h"

static void
icrc(uint8_t *f, uint32_t len, enum troce_icrc_net kind)
{
	uint32_t at = kind == TROCE_ICRC_IPV4_UDP ? 42 : kind == TROCE_ICRC_IPV6_UDP ? 62 : 54;

	troce_icrc_put(troce_crc32(troce_icrc_start(kind, f + 14, f + at), f + at + 12, len - at - 16), f + len - 4);
}

static uint16_t
ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += ib_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

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

/* --- congestion ------------------------------------------------------------------------------------------------------- */

#define UDP_BTH 42 /* where the BTH of RoCE v2 over IPv4 is in a frame */

/* A switch that marks what may be marked (RFC 3168): neither the sum nor the ICRC, which leaves these bits out, changes else. */
static unsigned int
mark(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	(void)p;
	if (from == 0 && (f[15] & 3) == 2) {
		f[15] |= 3;
		ib_put16(f + 24, 0);
		ib_put16(f + 24, ip_sum(f + 14));
	} else if (from == 1 && f[UDP_BTH] == 0x81) {
		kept_len = m->data_len;
		memcpy(kept, f, kept_len);
	}
	return 1;
}

/* Annex A17.9.3: opcode, partition, BECN, the sender's queue pair, no PSN, 16 octets of zeros, an ICRC. */
static void
congested(void **state)
{
	static const uint8_t zeros[16];
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	const uint8_t *bth = kept + UDP_BTH;

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), 0);
	pair_recv(p, 1, b, 1, 0, 64);
	p->wire = mark;
	kept_len = 0;
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	assert_true(pair_stat(p, 0, "cc_limited_mbps") > 0);
	assert_int_equal(kept_len, UDP_BTH + 12 + 16 + 4);
	assert_int_equal(ib_get16(bth + 2), 0xffff);
	assert_int_equal(bth[4], 0x40);
	assert_int_equal(ib_get24(bth + 5), a->qp_num);
	assert_int_equal(ib_get32(bth + 8), 0);
	assert_memory_equal(bth + 12, zeros, sizeof(zeros));
	/* The same one with an ICRC that is computed here. */
	icrc(kept, kept_len, TROCE_ICRC_IPV4_UDP);
	pair_inject(p, 0, kept, kept_len);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 2);
	p->wire = NULL;
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

#define CNP_LEN (UDP_BTH + 12 + 16 + 4)

/* One for a queue pair of node 0, from node 1's address. */
static void
cnp_make(uint8_t *f, uint32_t qpn, uint8_t tos)
{
	static const uint8_t head[] = {
		2,    0,    0,    0,    0,    1,    2,    0, 0,  0,  0, 2, 0x08, 0x00, /* Ethernet */
		0x45, 0,    0,    60,   0x71, 0x8c, 0x40, 0, 64, 17, 0, 0, 192,  0,    2, 2, 192, 0, 2, 1, /* IPv4 */
		0xc0, 0x01, 0x12, 0xb7, 0,    40,   0,    0,                                               /* UDP */
		0x81, 0x00, 0xff, 0xff, 0x40};

	memset(f, 0, CNP_LEN);
	memcpy(f, head, sizeof(head));
	f[15] = tos;
	ib_put16(f + 24, ip_sum(f + 14));
	ib_put24(f + UDP_BTH + 5, qpn);
	icrc(f, CNP_LEN, TROCE_ICRC_IPV4_UDP);
}

static uint64_t roce_frames;

/* Neighbours may ask for each other meanwhile. */
static unsigned int
count(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	(void)p;
	(void)from;
	roce_frames += ib_get16(f + 12) == 0x8915 || (ib_get16(f + 12) == 0x0800 && f[23] == 17);
	return 1;
}

/* By node 0 as a frame from the wire; nobody says anything to it. */
static void
hear(struct pair *p, const uint8_t *f, uint32_t len)
{
	uint64_t before = roce_frames;

	p->wire = count;
	pair_inject(p, 0, f, len);
	pair_run(p, 1);
	p->wire = NULL;
	assert_int_equal(roce_frames, before);
}

static void
cc_set(struct pair *p, unsigned int node, const char *name, uint64_t value)
{
	assert_int_equal(tp_roce_cc_set(p->n[node].ctx, 1, name, value), 0);
}

/* A first CNP sets the rate, each one halves it, and nothing raises it. */
static void
cc_steady(struct pair *p, unsigned int node, uint64_t first, uint64_t least)
{
	cc_set(p, node, "rate-on-first-cnp", first);
	cc_set(p, node, "min-rate", least);
	cc_set(p, node, "initial-alpha", 1023);
	cc_set(p, node, "dce-tcp-rtt", 0);
	cc_set(p, node, "rate-reduce-monitor-period", 0);
	cc_set(p, node, "time-reset", 0);
	cc_set(p, node, "byte-reset", 0);
	assert_int_equal(tp_roce_cc_enable(p->n[node].ctx, 1, true), 0);
}

static void
ready_to_receive(struct pair *p, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = 2,
				.ah_attr = {.is_global = 1, .port_num = 1},
				.max_dest_rd_atomic = 1,
				.min_rnr_timer = 1};

	a.ah_attr.grh.dgid = pair_gid(p, 1, PAIR_V4);
	a.ah_attr.grh.sgid_index = (uint8_t)p->gid[0][PAIR_V4];
	assert_int_equal(tp_roce_modify_qp(qp, &a,
					   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
}

/* For a queue pair that sends nothing, or for none: counted, and ignored. One that sends is limited. */
static void
nobody_to_limit(void **state)
{
	static const struct {
		enum ibv_qp_state state; /* IBV_QPS_UNKNOWN: there is none */
		bool handled, invalid;
	} t[] = {{IBV_QPS_UNKNOWN, false, true}, {IBV_QPS_RESET, false, true}, {IBV_QPS_INIT, false, true},
		 {IBV_QPS_RTR, false, false},    {IBV_QPS_ERR, false, false},  {IBV_QPS_RTS, true, false}};
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct pair *p = *state;
	uint8_t f[CNP_LEN];

	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, true), 0);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t handled = pair_stat(p, 0, "cc_cnps_handled"), ignored = pair_stat(p, 0, "cc_cnps_ignored"),
			 cnps = pair_stat(p, 0, "cnps"), invalid = pair_stat(p, 0, "invalid_qp");
		struct ibv_qp *a = pair_qp(p, 0, &c), *b = pair_qp(p, 1, &c);

		if (t[i].state == IBV_QPS_ERR || t[i].state == IBV_QPS_RTS)
			pair_connect(p, a, b, &c);
		if (t[i].state == IBV_QPS_ERR)
			pair_to_error(a);
		else if (t[i].state == IBV_QPS_RTR)
			ready_to_receive(p, a);
		else if (t[i].state == IBV_QPS_RESET)
			assert_int_equal(tp_roce_modify_qp(a, &reset, IBV_QP_STATE), 0);
		/* The same place with other high bits is another queue pair's number. */
		cnp_make(f, t[i].state == IBV_QPS_UNKNOWN ? a->qp_num ^ 0x10000 : a->qp_num, 2);
		hear(p, f, CNP_LEN);
		if (pair_stat(p, 0, "cnps") != cnps + 1 || pair_stat(p, 0, "invalid_qp") != invalid + t[i].invalid ||
		    pair_stat(p, 0, "cc_cnps_handled") != handled + t[i].handled ||
		    pair_stat(p, 0, "cc_cnps_ignored") != ignored + !t[i].handled ||
		    pair_stat(p, 0, "cc_limited_qps") != t[i].handled)
			fail_msg("row %u", i);
		/* One that was spoilt is none. */
		f[UDP_BTH + 12] ^= 1;
		hear(p, f, CNP_LEN);
		assert_int_equal(pair_stat(p, 0, "cnps"), cnps + 1);
		if (t[i].state != IBV_QPS_UNKNOWN)
			assert_int_equal(pair_state(a), t[i].state);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
}

/* The mark of a CNP is counted, and not answered; the CNP is heard. */
static void
marked_cnp(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint8_t f[CNP_LEN];

	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	cnp_make(f, a->qp_num, 3);
	hear(p, f, CNP_LEN);
	assert_int_equal(pair_stat(p, 0, "ecn_marked"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_marked"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_sent"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 1);
	/* One from 192.0.2.3 is not its peer's. */
	f[29] = 3;
	ib_put16(f + 24, 0);
	ib_put16(f + 24, ip_sum(f + 14));
	icrc(f, CNP_LEN, TROCE_ICRC_IPV4_UDP);
	hear(p, f, CNP_LEN);
	assert_int_equal(pair_stat(p, 0, "bad_address"), 1);
	assert_int_equal(pair_stat(p, 0, "cnps"), 1);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* However many come, the queue pair keeps min-rate, nobody answers, and its messages go. */
static void
flood(void **state)
{
	enum { CNPS = 100000, AT_ONCE = 50 };
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint64_t before = roce_frames;
	uint8_t f[CNP_LEN];

	cc_steady(p, 0, 3000, 40);
	pair_qps(p, &c, &a, &b);
	p->wire = count;
	cnp_make(f, a->qp_num, 2);
	for (unsigned int i = 0; i < CNPS / AT_ONCE; i++) {
		for (unsigned int j = 0; j < AT_ONCE; j++)
			pair_inject(p, 0, f, CNP_LEN);
		while (pair_stat(p, 0, "cnps") != (i + 1) * AT_ONCE)
			pair_step(p);
		assert_true(pair_stat(p, 0, "cc_limited_mbps") >= 40);
	}
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), CNPS);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_ignored"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), 40);
	assert_int_equal(roce_frames, before);
	pair_recv(p, 1, b, 1, 0, 64);
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	/* The message and its answer are seen. */
	assert_int_equal(roce_frames, before + 2);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* Marks what has a GRH and goes to node 1, and keeps it; what comes back has no CNP. */
static unsigned int
mark_v1(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	(void)p;
	if (ib_get16(f + 12) != 0x8915)
		return 1;
	if (from != 0) {
		assert_int_equal(f[54], 0x11);
		return 1;
	}
	f[15] |= 0x30;
	kept_len = m->data_len;
	memcpy(kept, f, kept_len);
	return 1;
}

/* RoCE v1 has no CNPs: a mark is counted, and not answered, and a CNP for such a queue pair ignored. */
static void
marked_v1(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V1, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 1, 0, 64);
	p->wire = mark_v1;
	kept_len = 0;
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	assert_int_equal(pair_stat(p, 1, "ecn_marked"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 0);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 0);
	/* The message's octets become a CNP's. */
	assert_true(kept_len >= 54 + 32);
	memset(kept + 54, 0, 32);
	kept[54] = 0x81;
	ib_put16(kept + 56, 0xffff);
	kept[58] = 0x40;
	ib_put24(kept + 59, b->qp_num);
	ib_put16(kept + 18, 32);
	icrc(kept, 54 + 32, TROCE_ICRC_GRH);
	pair_inject(p, 1, kept, 54 + 32);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "cnps"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_ignored"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_limited_qps"), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(bad_mads),           T(another_address), T(later_fragment),
					   T(members_of_its_own), T(congested),       T(nobody_to_limit),
					   T(marked_cnp),         T(flood),           T(marked_v1)};

	return cmocka_run_group_tests_name("roce_sw_wire", tests, NULL, NULL);
}
