/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * QP1: management datagrams (IBTA 13.5). Received ones wait until the port's thread is outside the gate, since they cause
 * control calls; those that other threads send are built at once and wait for the port's thread to take them out.
 */
#include <errno.h>
#include <string.h>

#include <rte_ring.h>

#include "gate.h"
#include "wire_eth.h"

#define UD_SEND_ONLY (IB_TR_UD | IB_OP_SEND_ONLY)

/* The way back to where a packet came from. */
static void
reverse_path(const struct rsw_dev *d, const struct rsw_rx *rx, const union ibv_gid *dgid, struct troce_path *p)
{
	/* An answer goes as the question came. */
	*p = (struct troce_path){
		.vlan = rx->vlan, .prio = rx->prio, .decided = true, .smac = d->dev->mac, .sgid = *dgid};
	p->type = rx->kind == TROCE_ICRC_GRH ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	p->hop_limit = d->dev->conf.ttl;
	memcpy(p->dmac.addr_bytes, rx->smac, RTE_ETHER_ADDR_LEN);
	if (rx->kind == TROCE_ICRC_IPV4_UDP) {
		memcpy(p->dgid.raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid));
		memcpy(p->dgid.raw + sizeof(rsw_ipv4_gid), rx->net + 12, 4);
		p->tclass = rx->net[1];
	} else {
		memcpy(p->dgid.raw, rx->net + 8, sizeof(p->dgid.raw));
		p->tclass = (uint8_t)(ib_get32(rx->net) >> 20);
		p->flow_label = ib_get32(rx->net) & 0xfffff;
	}
	/* What the network marked is not sent back. */
	p->tclass &= (uint8_t)~RSW_ECN_MASK;
	if (rx->kind != TROCE_ICRC_GRH)
		p->sport = ib_get16(rx->bth - RSW_UDP_LEN);
	for (uint32_t i = 0; i < d->num_gids; i++) {
		const struct troce_gid *g = &d->gids[d->gid_valid[i]];

		if (memcmp(&g->gid, dgid, sizeof(*dgid)) == 0 && g->type == p->type && g->vlan == p->vlan)
			p->sgid_index = d->gid_valid[i];
	}
}

void
rsw_mad_rx(struct rsw_dev *d, const struct rsw_rx *rx, const union ibv_gid *dgid)
{
	const struct ib_opcode *o = &ib_opcodes[UD_SEND_ONLY];
	struct troce_mad *mad;

	if (ib_bth_opcode(rx->bth) != UD_SEND_ONLY || ib_bth_tver(rx->bth) != 0 || ib_bth_pad(rx->bth) != 0 ||
	    rx->len != o->hlen + TROCE_MAD_SIZE + IB_ICRC_LEN) {
		d->sw.rx_malformed++;
		return;
	}
	if (ib_get32(rx->bth + o->deth) != RSW_QP1_QKEY) {
		d->st.rs_bad_qkey++;
		return;
	}
	if (!ib_pkey_match(ib_bth_pkey(rx->bth), RSW_PKEY)) {
		d->st.rs_bad_pkey++;
		return;
	}
	if (d->num_mads == RSW_MADS) {
		d->sw.rx_mad_dropped++;
		return;
	}
	mad = &d->mads[d->num_mads++];
	reverse_path(d, rx, dgid, &mad->path);
	mad->remote_qpn = ib_get24(rx->bth + o->deth + 5);
	memcpy(mad->data, rx->bth + o->hlen, TROCE_MAD_SIZE);
	d->sw.rx_mads++;
}

unsigned int
rsw_mad_deliver(struct rsw_dev *d)
{
	unsigned int n = d->num_mads;

	for (unsigned int i = 0; i < n; i++)
		troce_mad_input(d->dev, &d->mads[i]);
	d->num_mads = 0;
	return n;
}

static void
build(struct rsw_dev *d, struct rsw_route *r, const struct troce_mad *mad, struct rte_mbuf *m)
{
	const struct ib_opcode *o = &ib_opcodes[UD_SEND_ONLY];
	struct tre_out out = {.hlen = o->hlen, .len = TROCE_MAD_SIZE, .num_iov = 1};

	ib_bth_put(out.hdr, UD_SEND_ONLY, false, 0, RSW_PKEY, mad->remote_qpn, false,
		   atomic_fetch_add_explicit(&d->mad_psn, 1, memory_order_relaxed) & IB_PSN_MASK);
	ib_put32(out.hdr + o->deth, RSW_QP1_QKEY);
	ib_put32(out.hdr + o->deth + 4, 1);
	out.iov[0].iov_base = (void *)(uintptr_t)mad->data;
	out.iov[0].iov_len = TROCE_MAD_SIZE;
	rsw_build(d, r, &out, m);
}

int
rsw_mad_send(struct troce_dev *dev, const struct troce_mad *mad)
{
	struct rsw_dev *d = dev->home;
	struct rte_mbuf *m;
	struct rsw_route r;
	int rc = 0;

	m = rte_pktmbuf_alloc(d->pool);
	if (m == NULL)
		return EAGAIN;
	rsw_route_set(&r, d, &mad->path);
	build(d, &r, mad, m);
	if (rsw_is_owner(d) && rsw_gate_enter(d)) {
		rc = rsw_tx_put(d, &r, m) ? 0 : EAGAIN;
		if (rc == 0)
			d->sw.tx_mads++;
		rsw_tx_flush(d);
		rsw_gate_leave(d);
	} else {
		rc = rte_ring_mp_enqueue(d->mad_tx, m) == 0 ? 0 : EAGAIN;
	}
	if (rc != 0)
		rte_pktmbuf_free(m);
	return rc;
}

void
rsw_mad_drain(struct rsw_dev *d)
{
	const struct rte_ether_addr *to;
	struct rsw_route r = {0};
	void *m;

	while (d->num_tx != RSW_TX && d->loop_tail - d->loop_head != RSW_LOOP &&
	       rte_ring_sc_dequeue(d->mad_tx, &m) == 0) {
		to = rte_pktmbuf_mtod((struct rte_mbuf *)m, const struct rte_ether_addr *);
		r.to_self = rte_is_same_ether_addr(to, &d->dev->mac);
		rsw_tx_put(d, &r, m);
		d->sw.tx_mads++;
	}
}
