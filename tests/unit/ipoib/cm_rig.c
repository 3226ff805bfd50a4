/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>

#include "cm_rig.h"

int ipoib_logtype;
struct rig rig;
struct rte_ether_addr peer;
struct ipoib_port port;
struct ipoib_rxq rxq;
struct ipoib_txq txq;
struct ipoib_cm *cm;
struct ipoib_rc rc;
struct cm_card card;
uint8_t wire[LAST][RTE_ALIGN(OCTETS, 8)];
unsigned int published;

static int
post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	assert_ptr_equal(srq, &card.srq);
	(void)bad;
	for (; wr != NULL; wr = wr->next) {
		assert_true(card.num_posted < DEPTH);
		card.posted[card.num_posted] = wr->wr_id;
		memcpy(card.buffer[card.num_posted++], wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	}
	return 0;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint8_t *to = wire[card.num_sent % LAST];
	int i;

	assert_ptr_equal(qp, &card.qp);
	assert_null(wr->next);
	(void)bad;
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
	card.wire_len[card.num_sent % LAST] = (uint32_t)(to - wire[card.num_sent % LAST]);
	card.num_sent++;
	card.num_sge = wr->num_sge;
	memcpy(card.sent, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	assert_true(card.num_tx_done < IPOIB_RC_SENDS);
	card.tx_done[card.num_tx_done++] = (struct ibv_wc){.wr_id = wr->wr_id};
	return 0;
}

static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct ibv_wc *from = cq == &card.rcq ? card.rx_done : card.tx_done;
	unsigned int *have = cq == &card.rcq ? &card.num_rx_done : &card.num_tx_done;
	unsigned int take = cq == &card.scq && card.hold ? 0 : RTE_MIN((unsigned int)n, *have);

	memcpy(wc, from, take * sizeof(*wc));
	memmove(from, from + take, (*have - take) * sizeof(*wc));
	*have -= take;
	return (int)take;
}

int
ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey)
{
	(void)p;
	*lkey = pool == rig.pool ? 0x1234 : 0;
	return 0;
}

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	(void)p, (void)v;
	published++;
}

uint8_t
octet(uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8));
}

void
arrive(uint32_t octets, enum ibv_wc_status status)
{
	static uint8_t data[OCTETS];
	const struct ibv_sge *sge = card.buffer[0];
	uint32_t i, at;

	for (i = 0; i < octets; i++)
		data[i] = octet(i);
	memcpy(data, "\x08\x00\x00\x00\x45", 5);
	data[IPOIB_ENCAP_LEN + 9] = 6; /* TCP */
	for (at = 0; at < octets; sge++) {
		uint32_t n = RTE_MIN(octets - at, sge->length);

		memcpy((void *)(uintptr_t)sge->addr, data + at, n);
		at += n;
	}
	card.rx_done[card.num_rx_done++] =
		(struct ibv_wc){.wr_id = card.posted[0], .status = status, .byte_len = octets, .qp_num = QPN};
	card.num_posted--;
	memmove(card.posted, card.posted + 1, card.num_posted * sizeof(card.posted[0]));
	memmove(card.buffer, card.buffer + 1, card.num_posted * sizeof(card.buffer[0]));
}

/* A knows B and has a connection to it, B has one to A. */
static void
meet(void)
{
	struct ipoib_core *c;
	struct ipoib_conn *conn;
	struct rte_mbuf *m;
	unsigned int i;

	rig_open(&rig);
	c = rig.node[0].core;
	for (i = 0; i < 2; i++) {
		rig.node[i].core->conf.connected = true;
		rig.node[i].core->conf.cm_mtu = MTU;
	}
	rig_all_up(&rig);
	rig_arp(&rig, 1, 1, 0x0a000002, 0x0a000001, NULL);
	rig_run(&rig, 5);
	memcpy(&peer, rte_pktmbuf_mtod_offset(rig.node[0].app[0], uint8_t *, 22), 6);
	rig_arp(&rig, 0, 2, 0x0a000001, 0x0a000002, &peer);
	rig_run(&rig, 10);
	for (i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
	rig_arp(&rig, 1, 2, 0x0a000002, 0x0a000001, &c->mac);
	rig_run(&rig, 10);
	conn = ipoib_remote_by_mac(c, &peer)->conn;
	assert_non_null(conn);
	assert_true(conn->up);
	conn->home = &rc;
	assert_non_null(ipoib_conn_request(c, &ipoib_remote_by_mac(c, &peer)->hw, MTU));
	ipoib_conn_up(c, TAILQ_LAST(&c->conns, ipoib_conns), QPN, MTU);
}

int
cm_rig_open(void **state)
{
	unsigned int i;

	(void)state;
	memset(&card, 0, sizeof(card));
	memset(&port, 0, sizeof(port));
	memset(&rxq, 0, sizeof(rxq));
	memset(&txq, 0, sizeof(txq));
	memset(&rc, 0, sizeof(rc));
	meet();
	card.ctx.ops.poll_cq = poll_cq;
	card.ctx.ops.post_send = post_send;
	card.ctx.ops.post_srq_recv = post_srq_recv;
	card.rcq.context = card.scq.context = card.srq.context = card.qp.context = &card.ctx;
	cm = calloc(1, sizeof(*cm));
	assert_non_null(cm);
	cm->port = &port;
	cm->srq = &card.srq;
	cm->rcq = &card.rcq;
	cm->scq = &card.scq;
	cm->segs = 15; /* of 4480 octets, 138 of them in front of the first packet */
	cm->sges = IPOIB_RC_SGES;
	cm->depth = DEPTH;
	for (i = 0; i < DEPTH; i++)
		cm->free[cm->num_free++] = i;
	for (i = 0; i < IPOIB_RC_SLOTS; i++)
		cm->slots[cm->num_slots++] = i;
	port.core = *rig.node[0].core;
	port.pool = rig.pool;
	port.rxq[0] = &rxq;
	port.txq[0] = &txq;
	port.num_rx = port.num_tx = 1;
	port.cm = cm;
	rc.port = &port;
	rc.qp = &card.qp;
	port.view = ipoib_view_make(rig.node[0].core);
	assert_non_null(port.view);
	rxq.port = txq.port = &port;
	rxq.pool = rig.pool;
	rxq.slow = rte_ring_create("rx", 64, 0, 0);
	txq.slow = rte_ring_create("tx", 64, 0, 0);
	ipoib_cm_fill(cm);
	assert_int_equal(card.num_posted, DEPTH);
	return 0;
}

int
cm_rig_close(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct rte_mbuf *m;
	unsigned int i;

	(void)state;
	card.hold = false;
	ipoib_cm_reap(cm);
	assert_int_equal(cm->num_slots, IPOIB_RC_SLOTS);
	assert_int_equal(rc.inflight, 0);
	for (i = 0; i < DEPTH; i++)
		rte_pktmbuf_free(cm->chain[i]);
	for (i = 0; i < cm->num_spare; i++) {
		cm->spare[i]->nb_segs = 1;
		rte_pktmbuf_free(cm->spare[i]);
	}
	while (rte_ring_dequeue(rxq.slow, (void **)&m) == 0 || rte_ring_dequeue(txq.slow, (void **)&m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(rxq.slow);
	rte_ring_free(txq.slow);
	free(cm);
	free(port.view);
	ipoib_conn_over(c, TAILQ_LAST(&c->conns, ipoib_conns), false);
	/* Those that were there have not failed. */
	assert_int_equal(c->stats.conns_failed, 0);
	rig_close(&rig);
	return 0;
}

struct rte_mbuf *
frame(uint32_t len)
{
	struct rte_mbuf *head = NULL, *m;
	uint32_t at = 0;

	while (at < len) {
		uint32_t n = RTE_MIN(len - at, 4351u), i;
		uint8_t *p;

		m = rte_pktmbuf_alloc(rig.pool);
		assert_non_null(m);
		p = rig_room(m, n);
		for (i = 0; i < n; i++)
			p[i] = octet(at + i);
		if (head == NULL) {
			head = m;
			memcpy(p, &peer, 6);
			memcpy(p + 12, "\x08\x00\x45", 3);
			p[14 + 9] = 6;
		} else {
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
		}
		at += n;
	}
	return head;
}

uint16_t
send_burst(struct rte_mbuf **m, uint16_t n, uint16_t datagrams)
{
	struct rte_mbuf *rest[IPOIB_BURST];
	uint16_t num, taken = ipoib_cm_tx(&txq, port.view, m, n, rest, &num);

	assert_int_equal(num, datagrams);
	rte_pktmbuf_free_bulk(rest, num);
	return taken;
}
