/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams: to one, to groups, of QP1; and packets that nobody of good will sends. */
#include <errno.h>

#include <rte_byteorder.h>

#include "lib/roce/wire/icrc.h"
#include "lib/roce/net/net.h"
#include "pair.h"
#include "lib/roce/wire/wire.h"

#define QKEY 0x1234u
#define GRH 40u

static const struct qp_conf ud = {.type = IBV_QPT_UD};

static struct ibv_qp *
ud_qp(struct pair *p, unsigned int node)
{
	struct ibv_qp *qp = pair_qp(p, node, &ud);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR};

	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void
ud_send(struct pair *p, unsigned int node, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
	uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, node, IBV_WR_SEND_WITH_IMM, &sge, 0, len, 0);

	wr.imm_data = rte_cpu_to_be_32(0xfeed);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	pair_post(qp, &wr);
	pair_wait(p, p->n[node].cq, 1, NULL);
}

/* The 40 bytes in front: the GRH, or in the second half the IPv4 header; as libibverbs reads them. */
static void
check_grh(struct pair *p, const uint8_t *grh, enum pair_net net, uint32_t len)
{
	union ibv_gid src = pair_gid(p, 0, net), dst = pair_gid(p, 1, net);
	uint32_t ib = 12 + 8 + 4 + ((len + 3) & ~3u) + 4;

	if (net == PAIR_V6 || net == PAIR_V1) {
		assert_int_equal(grh[0] >> 4, 6);
		assert_int_equal(ib_get16(grh + 4), ib + (net == PAIR_V6 ? 8 : 0));
		assert_int_equal(grh[6], net == PAIR_V6 ? 17 : 0x1b);
		assert_int_equal(grh[7], 64);
		assert_memory_equal(grh + 8, src.raw, 16);
		assert_memory_equal(grh + 24, dst.raw, 16);
		return;
	}
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(grh[i], 0);
	assert_int_equal(grh[20], 0x45);
	assert_int_equal(ib_get16(grh + 22), 20 + 8 + ib);
	assert_memory_equal(grh + 32, src.raw + 12, 4);
	assert_memory_equal(grh + 36, dst.raw + 12, 4);
}

static void
one_datagram(struct pair *p, struct ibv_qp *a, struct ibv_qp *b, enum pair_net net, uint32_t len)
{
	union ibv_gid dgid = pair_gid(p, 1, net);
	struct ibv_ah *ah = pair_ah(p, 0, &dgid, net), *back;
	struct ibv_ah_attr attr;
	struct ibv_wc wc;

	pair_fill(p, 0, 0, len, len + net);
	pair_recv(p, 1, b, 7, 104, len + GRH);
	ud_send(p, 0, a, ah, b->qp_num, QKEY, len);
	pair_wait(p, p->n[1].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, len + GRH);
	assert_int_equal(wc.src_qp, a->qp_num);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xfeed);
	check_grh(p, p->n[1].mem + 104, net, len);
	pair_same(p, 0, 104 + GRH, len);
	/* Whoever has it can answer. */
	assert_int_equal(
		tp_roce_init_ah_from_wc(p->n[1].ctx, 1, &wc, (struct ibv_grh *)(void *)(p->n[1].mem + 104), &attr), 0);
	assert_memory_equal(attr.grh.dgid.raw, pair_gid(p, 0, net).raw, 16);
	assert_int_equal(attr.grh.sgid_index, p->gid[1][net]);
	back = tp_roce_create_ah(p->n[1].pd, &attr);
	assert_non_null(back);
	pair_recv(p, 0, a, 8, 5000, len + GRH);
	ud_send(p, 1, b, back, wc.src_qp, QKEY, len);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.src_qp, b->qp_num);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_ah(back), 0);
}

static void
datagrams(void **state)
{
	static const uint32_t lengths[] = {0, 1, 2, 3, 64, 1023, 1024};
	struct pair *p = *state;
	struct ibv_qp *a = ud_qp(p, 0), *b = ud_qp(p, 1);

	for (unsigned int net = 0; net < 4; net++)
		for (unsigned int i = 0; i < RTE_DIM(lengths); i++)
			one_datagram(p, a, b, net, lengths[i]);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

static void
datagrams_lost(void **state)
{
	struct pair *p = *state;
	struct ibv_qp *a = ud_qp(p, 0), *b = ud_qp(p, 1);
	union ibv_gid dgid = pair_gid(p, 1, PAIR_V4);
	struct ibv_ah *ah = pair_ah(p, 0, &dgid, PAIR_V4);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 1025, 0);
	struct ibv_wc wc;

	/* No receive request; then one, and a wrong key; then one that is too short. */
	ud_send(p, 0, a, ah, b->qp_num, QKEY, 10);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "resp_ud_dropped"), 1);
	assert_int_equal(pair_stat(p, 1, "ud_discarded"), 1);
	pair_recv(p, 1, b, 7, 100, 49);
	ud_send(p, 0, a, ah, b->qp_num, QKEY + 1, 9);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "bad_qkeys"), 1);
	ud_send(p, 0, a, ah, b->qp_num, QKEY, 10);
	pair_wait(p, p->n[1].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	ud_send(p, 0, a, ah, b->qp_num ^ 0x10000, QKEY, 10);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "invalid_qp"), 1);
	/* Longer than a packet: the send queue stops, and can be made to go on. */
	wr.wr.ud.ah = ah;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(pair_state(a), IBV_QPS_SQE);
	assert_int_equal(a->state, IBV_QPS_SQE);
	assert_int_equal(tp_roce_modify_qp(a, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTS}, IBV_QP_STATE), 0);
	pair_recv(p, 1, b, 7, 100, 50);
	ud_send(p, 0, a, ah, b->qp_num, QKEY, 10);
	pair_wait(p, p->n[1].cq, 1, NULL);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static void
group(struct pair *p, const char *text, enum pair_net net)
{
	struct ibv_qp *a = ud_qp(p, 0), *b = ud_qp(p, 1), *c = ud_qp(p, 1), *d = ud_qp(p, 0);
	union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
	uint64_t nobody = pair_stat(p, 1, "bad_multicast"), heard = pair_stat(p, 1, "multicast_received");
	struct ibv_ah *ah;
	struct ibv_wc wc[3];

	assert_int_equal(inet_pton(net == PAIR_V4 ? AF_INET : AF_INET6, text, gid.raw + (net == PAIR_V4 ? 12 : 0)), 1);
	ah = pair_ah(p, 0, &gid, net);
	ud_send(p, 0, a, ah, 0xffffff, QKEY, 20);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "bad_multicast"), nobody + 1);
	assert_int_equal(tp_roce_attach_mcast(b, &gid, 0), 0);
	assert_int_equal(tp_roce_attach_mcast(c, &gid, 0), 0);
	assert_int_equal(tp_roce_attach_mcast(d, &gid, 0), 0); /* on the port that sends */
	pair_recv(p, 1, b, 1, 1000, 60);
	pair_recv(p, 1, c, 2, 2000, 60);
	pair_recv(p, 0, d, 3, 3000, 60);
	pair_fill(p, 0, 0, 20, 5);
	ud_send(p, 0, a, ah, 0xffffff, QKEY, 20);
	pair_wait(p, p->n[1].cq, 2, wc);
	pair_wait(p, p->n[0].cq, 1, wc + 2);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[i].src_qp, a->qp_num);
		assert_memory_equal(p->n[i < 2].mem + wc[i].wr_id * 1000 + GRH, p->n[0].mem, 20);
	}
	/* A packet counts once, whoever hears it. */
	assert_int_equal(pair_stat(p, 1, "multicast_received"), heard + 1);
	/* One that left hears nothing more; nor does one that is gone. */
	assert_int_equal(tp_roce_detach_mcast(b, &gid, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(d, &gid, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(c, &gid, 0), 0);
	ud_send(p, 0, a, ah, 0xffffff, QKEY, 20);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "bad_multicast"), nobody + 2);
	assert_int_equal(pair_stat(p, 1, "multicast_received"), heard + 1);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
	assert_int_equal(tp_roce_destroy_qp(c), 0);
	assert_int_equal(tp_roce_destroy_qp(d), 0);
}

static void
groups(void **state)
{
	group(*state, "239.1.2.3", PAIR_V4);
	group(*state, "ff0e::1234", PAIR_V6);
}

/* --- QP1 ---------------------------------------------------------------------------------------------------------- */

static struct troce_mad
mad_to(struct pair *p, unsigned int from, enum pair_net net)
{
	struct troce_dev *dev = troce_dev_of(p->n[from].ctx);
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	struct troce_mad mad = {.remote_qpn = 1};

	av.grh.dgid = pair_gid(p, !from, net);
	av.grh.sgid_index = (uint8_t)p->gid[from][net];
	assert_int_equal(troce_path_resolve(dev, &av, 0, 0, &mad.path), 0);
	for (unsigned int i = 0; i < sizeof(mad.data); i++)
		mad.data[i] = (uint8_t)(i * 7 + net);
	return mad;
}

static void
mads(void **state)
{
	struct pair *p = *state;

	for (unsigned int net = 0; net < 4; net++) {
		struct troce_dev *d0 = troce_dev_of(p->n[0].ctx), *d1 = troce_dev_of(p->n[1].ctx);
		struct troce_mad mad = mad_to(p, 0, net), *got = p->n[1].mads;

		p->n[0].num_mads = p->n[1].num_mads = 0;
		assert_int_equal(d0->prov->mad_send(d0, &mad), 0);
		pair_run(p, 1);
		assert_int_equal(p->n[1].num_mads, 1);
		assert_memory_equal(got->data, mad.data, sizeof(mad.data));
		assert_int_equal(got->remote_qpn, 1);
		assert_memory_equal(got->path.dgid.raw, mad.path.sgid.raw, 16);
		assert_memory_equal(got->path.sgid.raw, mad.path.dgid.raw, 16);
		assert_true(rte_is_same_ether_addr(&got->path.dmac, &mad.path.smac));
		assert_int_equal(got->path.vlan, mad.path.vlan);
		assert_int_equal(got->path.type, mad.path.type);
		assert_int_equal(got->path.sgid_index, p->gid[1][net]);
		/* The path leads back. */
		assert_int_equal(d1->prov->mad_send(d1, got), 0);
		pair_run(p, 1);
		assert_int_equal(p->n[0].num_mads, 1);
		assert_memory_equal(p->n[0].mads[0].data, mad.data, sizeof(mad.data));
	}
	assert_int_equal(pair_stat(p, 0, "mads_sent"), 4);
	assert_int_equal(pair_stat(p, 1, "mads_received"), 4);
}

/* More than there is room for: those that are lost are counted. */
static void
mad_flood(void **state)
{
	struct pair *p = *state;
	struct troce_dev *d0 = troce_dev_of(p->n[0].ctx);
	struct troce_mad mad = mad_to(p, 0, PAIR_V4);
	uint64_t sent = 0;

	for (unsigned int i = 0; i < 2000; i++)
		sent += d0->prov->mad_send(d0, &mad) == 0;
	for (unsigned int i = 0; i < 2000; i++)
		pair_step(p);
	assert_true(sent > 100);
	assert_int_equal(p->n[1].num_mads, pair_stat(p, 1, "mads_received"));
	assert_int_equal(p->n[1].num_mads + pair_stat(p, 1, "mads_overflowed"), sent);
}

/* --- bad packets -------------------------------------------------------------------------------------------------- */

static uint8_t kept[8192];
static uint32_t kept_len;
static unsigned int kept_of;

/* Keeps the last RoCE frame of a node instead of carrying it. */
static unsigned int
keep(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from != kept_of || f[12] != 0x08 || f[13] != 0x00)
		return 1;
	kept_len = m->data_len;
	memcpy(kept, f, kept_len);
	return 0;
}

#define IP (kept + 14)
#define UDP (IP + 20)
#define BTH (UDP + 8)

static void
ip_sum(uint8_t *ip, uint32_t len)
{
	uint32_t sum = 0;

	ib_put16(ip + 10, 0);
	for (uint32_t i = 0; i < len; i += 2)
		sum += ib_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	ib_put16(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
}

static void
icrc(void)
{
	uint32_t n = kept_len - 14 - 28 - 4;
	uint8_t first[12];

	memcpy(first, BTH, sizeof(first));
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_IPV4_UDP, IP, first), BTH + 12, n - 12), BTH + n);
}

struct bad {
	const char *counter;
	void (*spoil)(void);
};

static void
bad_crc(void)
{
	kept[kept_len - 1] ^= 1;
}
static void
bad_payload(void)
{
	kept[kept_len - 5] ^= 0x40;
}
static void
bad_ip_sum(void)
{
	IP[8] ^= 1;
}
static void
bad_udp_sum(void)
{
	ib_put16(UDP + 6, 0x1234);
}
static void
long_udp(void)
{
	ib_put16(UDP + 4, 0xfff0);
}
static void
short_udp(void)
{
	ib_put16(UDP + 4, 8 + 15);
}
static void
fragment(void)
{
	ib_put16(IP + 6, 0x2000);
	ip_sum(IP, 20);
}
static void
options(void)
{
	memmove(UDP + 4, UDP, kept_len - 34);
	memset(UDP, 1, 4);
	kept_len += 4;
	IP[0] = 0x46;
	ib_put16(IP + 2, (uint16_t)(ib_get16(IP + 2) + 4));
	ip_sum(IP, 24);
}
static void
stranger(void)
{
	IP[15] ^= 8;
	ip_sum(IP, 20);
	icrc();
}
static void
nobody(void)
{
	BTH[5] ^= 1;
	icrc();
}
static void
undefined_opcode(void)
{
	BTH[0] = 0x1f;
	icrc();
}
static void
other_service(void)
{
	BTH[0] = 0x24;
	icrc();
}
static void
version(void)
{
	BTH[1] |= 1;
	icrc();
}
static void
long_pad(void)
{
	BTH[0] = 0x0c; /* a READ request has no payload to be padded */
	BTH[1] |= 0x30;
	icrc();
}
static void
partition(void)
{
	BTH[3] ^= 1;
	icrc();
}
static void
group_of_nobody(void)
{
	/* The frame that crashed another stack: an undefined opcode to the queue pair of all groups. */
	BTH[0] = 0xff;
	memset(BTH + 5, 0xff, 3);
	icrc();
}

static void
bad_packets(void **state)
{
	static const struct bad cases[] = {
		{"bad_icrc", bad_crc},
		{"bad_icrc", bad_payload},
		{"bad_ip_checksum", bad_ip_sum},
		{"bad_udp_checksum", bad_udp_sum},
		{"malformed", long_udp},
		{"malformed", short_udp},
		{"ip_fragments", fragment},
		{"ip_options", options},
		{"bad_address", stranger},
		{"invalid_qp", nobody},
		{"bad_opcodes", undefined_opcode},
		{"bad_opcodes", other_service},
		{"malformed_transport", version},
		{"malformed_transport", long_pad},
		{"bad_pkeys", partition},
		{"bad_multicast", group_of_nobody},
	};
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 20};
	struct pair *p = *state;
	uint8_t good[2048];
	uint32_t good_len;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 1, 0, 100);
	p->wire = keep;
	pair_send(p, 0, a, 2, 0, 64);
	pair_run(p, 1);
	good_len = kept_len;
	memcpy(good, kept, good_len);
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		uint64_t before = pair_stat(p, 1, cases[i].counter);

		kept_len = good_len;
		memcpy(kept, good, good_len);
		cases[i].spoil();
		pair_inject(p, 1, kept, kept_len);
		pair_step(p);
		if (pair_stat(p, 1, cases[i].counter) != before + 1)
			fail_msg("case %u: %s", i, cases[i].counter);
	}
	/* None of them did anything. */
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 0);
	assert_int_equal(pair_state(b), IBV_QPS_RTS);
	/* Congestion marks on the way are not a fault, and are counted. */
	memcpy(kept, good, good_len);
	kept_len = good_len;
	IP[1] |= 3;
	IP[8]--;
	ip_sum(IP, 20);
	BTH[4] = 0x80;
	pair_inject(p, 1, kept, kept_len);
	kept_of = 1;
	pair_wait(p, p->n[1].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 1, "ecn_marked"), 1);
	pair_run(p, 2);
	/* The answer, and one to a packet that was not sent. */
	pair_inject(p, 0, kept, kept_len);
	pair_wait(p, p->n[0].cq, 1, NULL);
	BTH[11]++;
	icrc();
	pair_inject(p, 0, kept, kept_len);
	pair_run(p, 2);
	assert_int_equal(pair_stat(p, 0, "req_unexpected_responses"), 1);
	p->wire = NULL;
	kept_of = 0;
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* Every prefix of a good frame, and frames with one byte changed at random: none is delivered. */
static void
mutations(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint8_t good[2048];
	uint32_t good_len;
	struct ibv_wc wc;

	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 1, 0, 100);
	p->wire = keep;
	pair_send(p, 0, a, 2, 0, 64);
	pair_run(p, 1);
	good_len = kept_len;
	memcpy(good, kept, good_len);
	for (uint32_t len = 14; len < good_len; len++) {
		pair_inject(p, 1, good, len);
		pair_step(p);
	}
	for (unsigned int i = 0; i < 20000; i++) {
		uint32_t at = 14 + pair_random(p) % (good_len - 14);
		uint8_t x = (uint8_t)(1u << pair_random(p) % 8);

		/* What the CRC does not cover and nothing else does: the traffic class, TTL and the reserved byte. */
		if (at == 14 + 20 + 8 + 4)
			continue;
		memcpy(kept, good, good_len);
		kept[at] ^= x;
		pair_inject(p, 1, kept, good_len);
		pair_step(p);
	}
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 0);
	pair_inject(p, 1, good, good_len);
	p->wire = NULL;
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* Packets that are not RoCE, or not for the port, are left to the application, in their order. */
static void
others(void **state)
{
	const struct pair_conf pc = {.mtu = 1024, .app_rx = true};
	uint8_t frame[128] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0, 0x45};
	struct pair *p = pair_open(&pc);
	struct rte_mbuf *burst[8];
	struct rte_mempool *pool = troce_dev_of(p->n[1].ctx)->conf.pool;
	uint16_t left;

	frame[14 + 9] = 17;
	for (unsigned int i = 0; i < 8; i++) {
		uint8_t *f;

		burst[i] = rte_pktmbuf_alloc(pool);
		f = (uint8_t *)rte_pktmbuf_append(burst[i], 128);
		memcpy(f, frame, sizeof(frame));
		ib_put16(f + 16, 114);
		memcpy(f + 30, (const uint8_t[]){192, 0, 2, (uint8_t)(i == 5 ? 3 : 2)}, 4);
		f[34 + 9] = (uint8_t)i;
		ib_put16(f + 36, i == 2 || i == 5 ? 4791 : 53);
		ib_put16(f + 38, 94);
		ip_sum(f + 14, 20);
		if (i == 6)
			ib_put16(f + 12, 0x8915); /* RoCE v1, cut to pieces */
	}
	left = tp_roce_input(p->n[1].ctx, burst, 8);
	assert_int_equal(left, 6);
	for (unsigned int i = 0, want = 0; i < left; i++, want++) {
		while (want == 2 || want == 6)
			want++;
		assert_int_equal(rte_pktmbuf_mtod(burst[i], uint8_t *)[34 + 9], want);
	}
	rte_pktmbuf_free_bulk(burst, left);
	assert_int_equal(pair_stat(p, 1, "invalid_qp"), 1);
	assert_int_equal(pair_stat(p, 1, "malformed"), 1);
	pair_close(p);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(datagrams), T(datagrams_lost), T(groups),    T(mads),
		T(mad_flood), T(bad_packets),    T(mutations), cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
