/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The bursts on a card that is three functions: what is posted is looked at octet by octet, what completes is made here.
 * "test_ipoib_burst tx N" sends N bursts and does nothing else, "test_ipoib_burst rx N" receives them, for callgrind.
 */
#include <errno.h>
#include <stdlib.h>

#include "ipoib_packets.h"
#include "link_rig.h"
#include "lib/ipoib/port/port.h"

#define RX_RING 64u
#define TX_RING 64u
#define OTHER_KEY 0x5678u

int ipoib_logtype;
static struct rig rig;
static struct rte_ether_addr peer;
static struct ipoib_port port;
static struct ipoib_rxq rxq;
static struct ipoib_txq txq;

/* --- the card ---------------------------------------------------------------------------------------------------------- */

static struct {
	struct ibv_context ctx;
	struct ibv_qp qp;
	struct ibv_cq rcq, scq;
	struct ibv_wc rx_done[RX_RING], tx_done[TX_RING];
	unsigned int num_rx_done, num_tx_done;
	uint64_t posted[RX_RING]; /* buffers that wait, wr_id */
	uintptr_t addr[RX_RING];
	unsigned int num_posted;
	struct ibv_send_wr sent[TX_RING];
	struct ibv_sge sge[TX_RING], more; /* more: the second element, if there is one */
	uint8_t hdr[IPOIB_TSO_HEADER];     /* of a large send */
	unsigned int num_sent, room;
	int fail;
} card;

static int
post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp, (void)bad;
	for (; wr != NULL; wr = wr->next) {
		assert_true(card.num_posted < RX_RING);
		card.addr[card.num_posted] = wr->sg_list->addr;
		card.posted[card.num_posted++] = wr->wr_id;
	}
	return 0;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	for (; wr != NULL; wr = wr->next) {
		if (card.fail != 0 && card.num_sent == card.room) {
			*bad = wr;
			return card.fail;
		}
		card.sent[card.num_sent % TX_RING] = *wr;
		card.sge[card.num_sent % TX_RING] = wr->sg_list[0];
		if (wr->num_sge > 1)
			card.more = wr->sg_list[1];
		if (wr->opcode == IBV_WR_TSO)
			memcpy(card.hdr, wr->tso.hdr, wr->tso.hdr_sz);
		card.num_sent++;
		if ((wr->send_flags & IBV_SEND_SIGNALED) != 0)
			card.tx_done[card.num_tx_done++ % TX_RING] = (struct ibv_wc){.wr_id = wr->wr_id};
	}
	return 0;
}

static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct ibv_wc *from = cq == &card.rcq ? card.rx_done : card.tx_done;
	unsigned int *have = cq == &card.rcq ? &card.num_rx_done : &card.num_tx_done;
	unsigned int take = RTE_MIN((unsigned int)n, *have);

	memcpy(wc, from, take * sizeof(*wc));
	memmove(from, from + take, (*have - take) * sizeof(*wc));
	*have -= take;
	return (int)take;
}

/* Memory of pools is registered elsewhere. */
int
ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey)
{
	(void)p;
	*lkey = pool == rig.pool ? 0x1234 : OTHER_KEY;
	return 0;
}

/* A packet comes in the oldest buffer. */
static void
arrive(const uint8_t *l3, uint32_t len, uint16_t etype, const uint8_t *mgid, uint16_t slid, uint32_t qpn)
{
	uint8_t *p = (uint8_t *)card.addr[0];
	struct ibv_wc wc = {.wr_id = card.posted[0],
			    .byte_len = 44 + len,
			    .slid = slid,
			    .src_qp = qpn,
			    .wc_flags = mgid != NULL ? IBV_WC_GRH : 0};

	assert_true(card.num_posted > 0);
	memmove(card.addr, card.addr + 1, --card.num_posted * sizeof(card.addr[0]));
	memmove(card.posted, card.posted + 1, card.num_posted * sizeof(card.posted[0]));
	memset(p, 0x5a, 40);
	if (mgid != NULL)
		memcpy(p + 24, mgid, 16);
	ib_put16(p + 40, etype);
	ib_put16(p + 42, 0);
	memcpy(p + 44, l3, len);
	card.rx_done[card.num_rx_done++] = wc;
}

/* --- the port ---------------------------------------------------------------------------------------------------------- */

/* A and B have met; the bursts are A's. */
static int
setup(void **state)
{
	unsigned int i;

	(void)state;
	rig_open(&rig);
	rig_all_up(&rig);
	rig_arp(&rig, 1, 1, 0x0a000002, 0x0a000001, NULL);
	rig_run(&rig, 5);
	memcpy(&peer, rte_pktmbuf_mtod_offset(rig.node[0].app[0], uint8_t *, 22), 6);
	rig_arp(&rig, 0, 2, 0x0a000001, 0x0a000002, &peer);
	rig_run(&rig, 5);
	for (i = 0; i < RIG_NODES; i++) {
		struct rte_mbuf *m;

		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
	memset(&card, 0, sizeof(card));
	memset(&port, 0, sizeof(port));
	memset(&rxq, 0, sizeof(rxq));
	memset(&txq, 0, sizeof(txq));
	card.ctx.ops.poll_cq = poll_cq;
	card.ctx.ops.post_recv = post_recv;
	card.ctx.ops.post_send = post_send;
	card.qp.context = card.rcq.context = card.scq.context = &card.ctx;
	port.core = *rig.node[0].core;
	port.pool = rig.pool;
	port.view = ipoib_view_make(rig.node[0].core);
	assert_non_null(port.view);
	rxq.port = txq.port = &port;
	rxq.pool = rig.pool;
	rxq.qp = txq.qp = &card.qp;
	rxq.cq = &card.rcq;
	txq.cq = &card.scq;
	rxq.size = rxq.missing = RX_RING;
	rxq.offset = 88;
	port.own_qpn[port.num_own++] = rig_qpn(0);
	rxq.rearm = ipoib_rx_rearm(&rxq);
	txq.size = TX_RING;
	txq.mask = TX_RING - 1;
	txq.sent = calloc(TX_RING, sizeof(*txq.sent));
	rxq.slow = rte_ring_create("rx", 64, 0, 0);
	rxq.inject = rte_ring_create("in", 64, 0, 0);
	txq.slow = rte_ring_create("tx", 64, 0, 0);
	for (i = 0; i < IPOIB_BURST; i++) {
		rxq.wr[i] = (struct ibv_recv_wr){
			.sg_list = &rxq.sge[i], .num_sge = 1, .next = &rxq.wr[(i + 1) % IPOIB_BURST]};
		txq.wr[i] = (struct ibv_send_wr){.sg_list = &txq.sge[i],
						 .num_sge = 1,
						 .opcode = IBV_WR_SEND,
						 .next = &txq.wr[(i + 1) % IPOIB_BURST]};
		txq.wr[i].wr.ud.remote_qkey = RIG_QKEY;
	}
	ipoib_rx_fill(&rxq);
	assert_int_equal(card.num_posted, RX_RING);
	return 0;
}

static int
teardown(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	for (unsigned int i = 0; i < card.num_posted; i++)
		rte_mempool_put(rig.pool, (struct rte_mbuf *)(uintptr_t)card.posted[i]);
	ipoib_tx_forget(&txq);
	while (rte_ring_dequeue(rxq.slow, (void **)&m) == 0 || rte_ring_dequeue(txq.slow, (void **)&m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(rxq.slow);
	rte_ring_free(rxq.inject);
	rte_ring_free(txq.slow);
	free(txq.sent);
	free(port.view);
	rig_close(&rig);
	return 0;
}

static struct rte_mbuf *
frame(const struct rte_ether_addr *dst, uint16_t etype, const void *l3, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 14 + len);
	memcpy(p, dst, 6);
	memcpy(p + 6, &rig.node[0].core->mac, 6);
	ib_put16(p + 12, etype);
	memcpy(p + 14, l3, len);
	return m;
}

static const uint8_t udp4[60] = {0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9};

static void
sends_in_place(void **state)
{
	uint8_t *used = &ipoib_remote_by_mac(rig.node[0].core, &peer)->touched;
	struct rte_mbuf *m[3];
	const uint8_t *p;

	(void)state;
	for (int i = 0; i < 3; i++)
		m[i] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	*used = 0;
	assert_int_equal(ipoib_tx_burst(&txq, m, 3), 3);
	assert_int_equal(*used, 1);
	assert_int_equal(card.num_sent, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(card.sent[i].wr.ud.remote_qpn, rig_qpn(1));
		assert_int_equal(card.sent[i].wr.ud.remote_qkey, RIG_QKEY);
		assert_int_equal(((const struct rig_ah *)card.sent[i].wr.ud.ah)->attr.dlid, 2);
		assert_int_equal(card.sge[i].length, 4 + sizeof(udp4));
		assert_int_equal(card.sge[i].lkey, 0x1234);
		p = (const uint8_t *)(uintptr_t)card.sge[i].addr;
		assert_memory_equal(p, "\x08\x00\x00\x00", 4);
		assert_memory_equal(p + 4, udp4, sizeof(udp4));
	}
	/* One completion for all of them frees all. */
	assert_int_equal(card.num_tx_done, 1);
	ipoib_tx_reap(&txq);
	assert_int_equal(txq.tail, 3);
	assert_int_equal(txq.n.packets, 3);
	assert_int_equal(txq.n.bytes, 3 * (14 + sizeof(udp4)));
}

/* Checksums: what a frame asks for goes to the card, what the card says to the frame. */
static void
checksums(void **state)
{
	static const uint64_t asks[] = {0, RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM,
					RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 0};
	struct rte_mbuf *m[RTE_DIM(asks)];
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(asks); i++) {
		m[i] = frame(&peer, 0x0800, udp4, sizeof(udp4));
		m[i]->ol_flags |= asks[i] | (asks[i] != 0 ? RTE_MBUF_F_TX_IPV4 : 0);
	}
	assert_int_equal(ipoib_tx_burst(&txq, m, RTE_DIM(asks)), RTE_DIM(asks));
	for (i = 0; i < RTE_DIM(asks); i++)
		assert_int_equal(card.sent[i].send_flags & IBV_SEND_IP_CSUM, asks[i] != 0 ? IBV_SEND_IP_CSUM : 0);
	/* What the last burst asked for is forgotten. */
	m[0] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	m[1] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	assert_int_equal(ipoib_tx_burst(&txq, m, 2), 2);
	assert_int_equal(card.sent[RTE_DIM(asks) + 1].send_flags, IBV_SEND_SIGNALED);
	ipoib_tx_reap(&txq);
	arrive(udp4, sizeof(udp4), 0x0800, NULL, 2, rig_qpn(1));
	arrive(udp4, sizeof(udp4), 0x0800, NULL, 2, rig_qpn(1));
	card.rx_done[0].wc_flags |= IBV_WC_IP_CSUM_OK;
	assert_int_equal(ipoib_rx_burst(&rxq, m, 4), 2);
	assert_int_equal(m[0]->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	assert_int_equal(m[1]->ol_flags, 0);
	rte_pktmbuf_free_bulk(m, 2);
}

/* Packets of two pools in one burst have the key of theirs, in the next one too, and go back where they came from. */
static void
two_pools(void **state)
{
	struct rte_mempool *other = rte_pktmbuf_pool_create("other", 31, 0, 0, 2048, SOCKET_ID_ANY);
	struct rte_mbuf *m[6];
	unsigned int have, i;

	(void)state;
	assert_non_null(other);
	have = rte_mempool_avail_count(rig.pool);
	for (unsigned int round = 0; round < 2; round++) {
		for (i = 0; i < 6; i++) {
			struct rte_mbuf *of = frame(&peer, 0x0800, udp4, sizeof(udp4));
			bool second = i == 2 || i == 3 || i == 5;

			m[i] = second ? rte_pktmbuf_copy(of, other, 0, UINT32_MAX) : of;
			if (second)
				rte_pktmbuf_free(of);
		}
		card.num_sent = 0;
		assert_int_equal(ipoib_tx_burst(&txq, m, 6), 6);
		for (i = 0; i < 6; i++)
			assert_int_equal(card.sge[i].lkey, i == 2 || i == 3 || i == 5 ? OTHER_KEY : 0x1234);
		/* One of the other pool's comes first, now. */
		ipoib_tx_reap(&txq);
		assert_int_equal(rte_mempool_avail_count(rig.pool), have);
		assert_int_equal(rte_mempool_avail_count(other), 31);
	}
	ipoib_tx_forget(&txq);
	rte_mempool_free(other);
}

/* A frame of TCP with so much payload, to be cut. */
static struct rte_mbuf *
tcp(uint32_t payload)
{
	static const uint8_t tcp4[40] = {0x45, 0,  0, 40, 0, 0,  0, 0, 64, 6,          0,
					 0,    10, 0, 0,  1, 10, 0, 0, 2,  [32] = 0x50};
	struct rte_mbuf *m = frame(&peer, 0x0800, tcp4, sizeof(tcp4));

	memset(rte_pktmbuf_append(m, (uint16_t)payload), 0x77, payload);
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = 500;
	return m;
}

/* Large sends: headers apart from payload, in their place among the others; their buffers stay as they are. */
static void
large_sends(void **state)
{
	struct rte_mbuf *m[4], *tail = rte_pktmbuf_alloc(rig.pool);

	(void)state;
	txq.tso_segs = IPOIB_TSO_SEGS;
	txq.qkey = RIG_QKEY;
	m[0] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	m[1] = tcp(1200);
	memset(rte_pktmbuf_append(tail, 1000), 0x78, 1000);
	assert_int_equal(rte_pktmbuf_chain(m[1], tail), 0);
	m[2] = tcp(0); /* nothing to cut */
	m[3] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	rte_pktmbuf_refcnt_update(m[1], 1);
	assert_int_equal(ipoib_tx_burst(&txq, m, 4), 4);
	assert_int_equal(card.num_sent, 4);
	assert_int_equal(card.sent[0].opcode, IBV_WR_SEND);
	assert_int_equal(card.sent[1].opcode, IBV_WR_TSO);
	assert_int_equal(card.sent[1].tso.mss, 500);
	assert_int_equal(card.sent[1].tso.hdr_sz, 44);
	assert_int_equal(card.sent[1].wr.ud.remote_qpn, rig_qpn(1));
	assert_int_equal(card.sent[1].wr.ud.remote_qkey, RIG_QKEY);
	assert_memory_equal(card.hdr, "\x08\x00\x00\x00\x45", 5);
	assert_memory_equal(card.hdr + 4, rte_pktmbuf_mtod_offset(m[1], uint8_t *, 14), 40);
	assert_int_equal(card.sent[1].num_sge, 2);
	assert_ptr_equal((void *)card.sge[1].addr, rte_pktmbuf_mtod_offset(m[1], void *, 54));
	assert_int_equal(card.sge[1].length, 1200);
	assert_ptr_equal((void *)card.more.addr, rte_pktmbuf_mtod(tail, void *));
	assert_int_equal(card.more.length, 1000);
	assert_memory_equal(rte_pktmbuf_mtod(m[1], uint8_t *), &peer, 6);
	assert_int_equal(card.sent[2].opcode, IBV_WR_SEND);
	assert_int_equal(card.sent[2].send_flags & IBV_SEND_IP_CSUM, IBV_SEND_IP_CSUM);
	assert_int_equal(card.sge[3].length, 4 + sizeof(udp4));
	ipoib_tx_reap(&txq);
	assert_int_equal(txq.tail, 4);
	assert_int_equal(rte_mbuf_refcnt_read(m[1]), 1);
	rte_pktmbuf_free(m[1]);
	/* What cannot be: without the offload, without a size, headers beyond the first buffer, segments above the MTU. */
	for (unsigned int i = 0; i < 4; i++)
		m[i] = tcp(1200);
	m[0]->tso_segsz = 0;
	m[1]->l3_len = 200;
	m[2]->tso_segsz = 2044 - 40 + 1;
	assert_int_equal(ipoib_tx_burst(&txq, m, 3), 3);
	txq.tso_segs = 0;
	assert_int_equal(ipoib_tx_burst(&txq, m + 3, 1), 1);
	assert_int_equal(card.num_sent, 4);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_TSO], 3);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_LONG], 1);
}

static void
hands_over_what_it_does_not_know(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, nobody = {{2, 9, 9, 9, 9, 9}};
	struct rte_mbuf *m[6];

	(void)state;
	m[0] = frame(&all, 0x0806, arp_request_eth, sizeof(arp_request_eth));
	m[1] = frame(&peer, 0x86dd, na_eth, sizeof(na_eth));
	m[2] = frame(&all, 0x0800, discover_eth, sizeof(discover_eth));
	m[3] = frame(&all, 0x0800, igmp2_report, sizeof(igmp2_report));
	m[4] = frame(&nobody, 0x0800, udp4, sizeof(udp4));
	m[5] = frame(&peer, 0x86dd, mld2_report, sizeof(mld2_report));
	assert_int_equal(ipoib_tx_burst(&txq, m, 6), 6);
	assert_int_equal(card.num_sent, 0);
	assert_int_equal(rte_ring_count(txq.slow), 6);
	assert_int_equal(txq.n.handed, 6);
}

static void
groups_by_the_packet(void **state)
{
	static const struct rte_ether_addr hosts = {{1, 0xff, 0xff, 0xff, 0xff, 0xff}}; /* nearly that of all */
	uint8_t p[60];
	struct rte_mbuf *m[2];

	(void)state;
	memcpy(p, udp4, sizeof(p));
	ib_put32(p + 16, 0xe0000001);
	m[0] = frame(&hosts, 0x0800, p, sizeof(p));
	ib_put32(p + 16, 0xe0800001); /* the same MAC, another group, which nobody has joined yet */
	m[1] = frame(&hosts, 0x0800, p, sizeof(p));
	assert_int_equal(ipoib_tx_burst(&txq, m, 2), 2);
	assert_int_equal(card.num_sent, 1);
	assert_int_equal(card.sent[0].wr.ud.remote_qpn, 0xffffff);
	assert_int_equal(((const struct rig_ah *)card.sent[0].wr.ud.ah)->attr.grh.dgid.raw[15], 1);
	assert_int_equal(txq.n.handed, 1);
	ipoib_tx_reap(&txq);
}

static void
shared_and_long_ones(void **state)
{
	uint8_t big[3000] = {0x45};
	struct rte_mbuf *m[3], *shared = frame(&peer, 0x0800, udp4, sizeof(udp4));

	(void)state;
	rte_mbuf_refcnt_update(shared, 1);
	m[0] = shared;
	m[1] = frame(&peer, 0x0800, big, 2045);
	m[2] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	assert_int_equal(ipoib_tx_burst(&txq, m, 3), 3);
	assert_int_equal(card.num_sent, 2);
	assert_int_equal(txq.n.copied, 1);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_LONG], 1);
	/* The one that others have is as it was. */
	assert_memory_equal(rte_pktmbuf_mtod(shared, uint8_t *), &peer, 6);
	assert_memory_equal(rte_pktmbuf_mtod(shared, uint8_t *) + 6, &rig.node[0].core->mac, 6);
	rte_pktmbuf_free(shared);
	ipoib_tx_reap(&txq);
}

static void
a_full_queue_and_one_that_fails(void **state)
{
	struct rte_mbuf *m[TX_RING + 4];
	unsigned int i, n;

	(void)state;
	for (i = 0; i < TX_RING + 4; i++)
		m[i] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	n = ipoib_tx_burst(&txq, m, TX_RING + 4);
	assert_int_equal(n, TX_RING);
	/* The rest is still the caller's, untouched; completions make room. */
	assert_memory_equal(rte_pktmbuf_mtod(m[n], uint8_t *) + 12, "\x08\x00", 2);
	card.num_sent = 0;
	card.fail = ENOMEM;
	card.room = 1;
	assert_int_equal(ipoib_tx_burst(&txq, m + n, 4), 4);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_ERROR], 3);
	assert_true(txq.broken);
	/* The port is mended by the control thread; until then nothing is posted. */
	m[0] = frame(&peer, 0x0800, udp4, sizeof(udp4));
	assert_int_equal(ipoib_tx_burst(&txq, m, 1), 1);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_DOWN], 1);
}

static void
receives_in_place(void **state)
{
	struct rte_mbuf *m[4];
	const uint8_t *p;

	(void)state;
	arrive(udp4, sizeof(udp4), 0x0800, NULL, 2, rig_qpn(1));
	ipoib_remote_by_mac(rig.node[0].core, &peer)->touched = 0;
	assert_int_equal(ipoib_rx_burst(&rxq, m, 4), 1);
	assert_int_equal(ipoib_remote_by_mac(rig.node[0].core, &peer)->touched, 1);
	p = rte_pktmbuf_mtod(m[0], const uint8_t *);
	assert_int_equal(m[0]->pkt_len, 14 + sizeof(udp4));
	assert_memory_equal(p, &rig.node[0].core->mac, 6);
	assert_memory_equal(p + 6, &peer, 6);
	assert_memory_equal(p + 12, "\x08\x00", 2);
	assert_memory_equal(p + 14, udp4, sizeof(udp4));
	rte_pktmbuf_free(m[0]);
	assert_int_equal(rxq.n.packets, 1);
}

static void
groups_and_own_packets(void **state)
{
	struct rte_mbuf *m[4];
	uint8_t mgid[16];

	(void)state;
	ipoib_mgid_v4(0xffff, 2, (const uint8_t[]){224, 0, 0, 1}, mgid);
	arrive(udp4, sizeof(udp4), 0x0800, mgid, 2, rig_qpn(1));
	arrive(udp4, sizeof(udp4), 0x0800, mgid, 1, rig_qpn(0));
	assert_int_equal(ipoib_rx_burst(&rxq, m, 4), 1);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], uint8_t *), "\x01\x00\x5e\x00\x00\x01", 6);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_OWN], 1);
	rte_pktmbuf_free(m[0]);
}

static void
received_ones_that_go_on(void **state)
{
	struct rte_mbuf *m[8], *slow;

	(void)state;
	arrive(arp_answer_ib, sizeof(arp_answer_ib), 0x0806, (const uint8_t[16]){0xfe, 0x80}, 2, rig_qpn(1));
	arrive(udp4, sizeof(udp4), 0x0800, NULL, 9, 0x77);
	arrive(udp4, 4, 0x0800, NULL, 2, rig_qpn(1));
	card.rx_done[2].status = IBV_WC_SUCCESS;
	arrive(udp4, sizeof(udp4), 0x0800, NULL, 2, rig_qpn(1));
	card.rx_done[3].status = IBV_WC_LOC_LEN_ERR;
	assert_int_equal(ipoib_rx_burst(&rxq, m, 8), 0);
	assert_int_equal(rxq.n.handed, 2);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_SHORT], 1);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_ERROR], 1);
	assert_int_equal(rte_ring_dequeue(rxq.slow, (void **)&slow), 0);
	assert_true(ipoib_meta_of(slow)->slid == 2 && ipoib_meta_of(slow)->grh);
	assert_int_equal(ipoib_meta_of(slow)->qpn, rig_qpn(1));
	assert_int_equal(slow->pkt_len, 44 + sizeof(arp_answer_ib));
	assert_memory_equal(rte_pktmbuf_mtod(slow, uint8_t *) + 44, arp_answer_ib, sizeof(arp_answer_ib));
	/* What the control thread has for the application comes first. */
	assert_int_equal(rte_ring_enqueue(rxq.inject, slow), 0);
	assert_int_equal(ipoib_rx_burst(&rxq, m, 8), 1);
	assert_ptr_equal(m[0], slow);
	rte_pktmbuf_free(slow);
}

static void
without_a_snapshot(void **state)
{
	struct ipoib_view *v = port.view;
	struct rte_mbuf *m = frame(&peer, 0x0800, udp4, sizeof(udp4));

	(void)state;
	port.view = NULL;
	assert_int_equal(ipoib_tx_burst(&txq, &m, 1), 0);
	assert_int_equal(ipoib_rx_burst(&rxq, &m, 1), 0);
	assert_int_equal(txq.turn.n & 1, 0);
	rte_pktmbuf_free(m);
	port.view = v;
}

static int
run(bool tx, unsigned long bursts)
{
	struct rte_mbuf *m[IPOIB_BURST];
	unsigned int i;

	printf("packets %lu\n", bursts * IPOIB_BURST);
	setup(NULL);
	for (; bursts != 0; bursts--) {
		for (i = 0; tx && i < IPOIB_BURST; i++)
			m[i] = frame(&peer, 0x0800, udp4, sizeof(udp4));
		for (i = 0; !tx && i < IPOIB_BURST; i++)
			arrive(udp4, sizeof(udp4), 0x0800, NULL, 2, rig_qpn(1));
		if (tx)
			ipoib_tx_burst(&txq, m, IPOIB_BURST);
		else
			rte_pktmbuf_free_bulk(m, ipoib_rx_burst(&rxq, m, IPOIB_BURST));
	}
	return teardown(NULL);
}

int
main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(checksums),
		T(two_pools),
		T(large_sends),
		T(sends_in_place),
		T(hands_over_what_it_does_not_know),
		T(groups_by_the_packet),
		T(shared_and_long_ones),
		T(a_full_queue_and_one_that_fails),
		T(receives_in_place),
		T(groups_and_own_packets),
		T(received_ones_that_go_on),
		T(without_a_snapshot),
	};

	if (argc == 3)
		return run(strcmp(argv[1], "tx") == 0, strtoul(argv[2], NULL, 0));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
