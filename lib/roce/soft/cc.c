/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of queue pairs over RoCE v2 (lib/roce/cc). Off, it costs a packet nothing: marked packets and CNPs leave
 * the plain way by tests that are there anyway, and a queue pair that is limited by the generation of its route. So do datagrams
 * whose address says that they know ECN. A CNP does not say which of their destinations is meant: it limits the queue pair.
 */
#include <string.h>

#include "gate.h"
#include "wire_eth.h"

#define CNP_DATA 16u /* reserved octets behind the BTH (A17.9.3) */
#define CNP_TTL 64u
#define LINE_UNKNOWN 40000u /* Mb/s of a port that does not say its speed */

/* --- settings ---------------------------------------------------------------------------------------------------- */

static uint32_t
line_rate(uint16_t port)
{
	struct rte_eth_link link;

	if (rte_eth_link_get_nowait(port, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ||
	    link.link_speed == RTE_ETH_SPEED_NUM_NONE)
		return LINE_UNKNOWN;
	return link.link_speed;
}

void
rsw_cc_first(const struct troce_dev *dev, struct troce_cc *cc)
{
	*cc = (struct troce_cc){.on = false};
	tcc_conf_default(&cc->conf, TCC_CARD, line_rate(dev->port_id));
}

void
rsw_cc_init(struct rsw_dev *d)
{
	for (unsigned int i = 0; i < RSW_PRIOS; i++)
		rsw_cc_first(d->dev, &d->cc[i]);
}

/* A link that came up since may have another speed. */
int
rsw_cc_get(struct troce_dev *dev, unsigned int prio, struct troce_cc *cc)
{
	*cc = ((const struct rsw_dev *)dev->home)->cc[prio];
	tcc_conf_line(&cc->conf, line_rate(dev->port_id));
	return 0;
}

/* Packets say whether somebody listens to marks. */
static void
speak(struct rsw_dev *d, struct rsw_qp *qp)
{
	if (qp->route.ready)
		rsw_route_ecn(&qp->route, d->cc[qp->route.prio].on ? RSW_ECN_ECT0 : qp->q.path.tclass & RSW_ECN_MASK);
}

void
rsw_cc_note(struct rsw_qp *qp)
{
	uint32_t kbps = qp->rp.limited ? qp->rp.rate : 0;

	qp->d->sw.cc_kbps += (uint64_t)kbps - qp->cc_kbps;
	qp->cc_kbps = kbps;
}

static void
let_go(struct rsw_qp *qp)
{
	if (qp->rp.limited)
		qp->d->sw.cc_limited--;
	qp->rp = (struct tcc_rp){0};
	rsw_cc_note(qp);
}

/* Whose parameters are a queue pair's. */
static uint8_t
prio_of(const struct rsw_qp *qp)
{
	return qp->e.a.type == IBV_QPT_UD ? qp->cc_prio : qp->route.prio;
}

bool
rsw_cc_look(struct rsw_qp *qp, unsigned int prio)
{
	if (prio_of(qp) != prio)
		return false;
	speak(qp->d, qp);
	if (qp->d->cc[prio].on || !qp->rp.limited)
		return false;
	let_go(qp);
	return true;
}

void
rsw_cc_reset(struct rsw_qp *qp)
{
	let_go(qp);
	qp->np = (struct tcc_np){0};
	qp->held_until = 0;
	speak(qp->d, qp);
}

/* Into a list that is sorted by rate, of which max have room. */
static void
insert(struct tp_roce_cc_limited *list, unsigned int max, unsigned int n, const struct tp_roce_cc_limited *one)
{
	unsigned int at = RTE_MIN(n, max);

	while (at > 0 && list[at - 1].kbps > one->kbps) {
		if (at < max)
			list[at] = list[at - 1];
		at--;
	}
	if (at < max)
		list[at] = *one;
}

static void
limited_of_lane(struct rsw_dev *d, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n)
{
	uint64_t now;

	rsw_gate_close(d);
	now = rsw_now(d);
	for (uint32_t i = 0; i < RSW_QPS; i++) {
		const struct rsw_qp *qp = d->qps[i];
		struct tp_roce_cc_limited one;
		const struct tcc_conf *c;
		struct tcc_rp rp;
		uint32_t kbps;

		if (qp == NULL || !qp->rp.limited)
			continue;
		/* Looking changes nothing: it is a copy that time passes for. */
		rp = qp->rp;
		c = &d->cc[qp->cc_prio].conf;
		kbps = tcc_rp_rate(&rp, c, now);
		/* Time has let it go. */
		if (!rp.limited)
			continue;
		one = (struct tp_roce_cc_limited){
			.qp_num = qp->q.v.qp_num,
			.dest_qp_num = qp->e.a.type == IBV_QPT_UD ? 0 : qp->e.a.dest_qpn,
			.prio = qp->cc_prio,
			.alpha = tcc_rp_alpha(&rp, c, now) / (TCC_ALPHA_ONE / 1024),
			.kbps = kbps,
			.target_kbps = rp.target,
			.time_stage = rp.time_stage,
			.byte_stage = rp.byte_stage,
			.shared = qp->g != NULL,
			.requests = qp->g == NULL ? qp->posted - qp->done : 0,
		};
		insert(list, max, *n, &one);
		++*n;
	}
	rsw_gate_open(d);
}

void
rsw_cc_limited(struct troce_dev *dev, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n)
{
	const struct rsw_dev *d = dev->home;

	for (uint16_t i = 0; i < d->num_lanes; i++)
		limited_of_lane(d->lanes[i], list, max, n);
}

/* --- notification point ------------------------------------------------------------------------------------------ */

/* Back to where the packet came from. */
static void
path_back(const struct rsw_dev *d, const struct rsw_rx *rx, struct troce_path *p)
{
	const struct tcc_conf *c = &d->cc[rx->prio].conf;
	uint32_t udp = rx->kind == TROCE_ICRC_IPV4_UDP ? RSW_IPV4_LEN : RSW_IPV6_LEN;

	*p = (struct troce_path){.type = IBV_GID_TYPE_ROCE_V2,
				 .tclass = (uint8_t)(c->cnp_dscp << 2 | RSW_ECN_ECT0),
				 .hop_limit = CNP_TTL,
				 .prio = c->cnp_prio_mode ? rx->prio : c->cnp_802p_prio,
				 .vlan = rx->vlan,
				 .sport = ib_get16(rx->net + udp)};
	memcpy(&p->dmac, rx->smac, sizeof(p->dmac));
	memcpy(&p->smac, rx->smac - RTE_ETHER_ADDR_LEN, sizeof(p->smac));
	if (rx->kind == TROCE_ICRC_IPV4_UDP) {
		memcpy(p->dgid.raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid));
		memcpy(p->sgid.raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid));
		memcpy(p->dgid.raw + 12, rx->net + 12, 4);
		memcpy(p->sgid.raw + 12, rx->net + 16, 4);
	} else {
		memcpy(&p->dgid, rx->net + 8, sizeof(p->dgid));
		memcpy(&p->sgid, rx->net + 24, sizeof(p->sgid));
	}
}

static void
send_cnp(struct rsw_dev *d, const struct rsw_rx *rx, uint32_t qpn)
{
	static const uint8_t zeros[CNP_DATA];
	struct tre_out out = {.hlen = IB_BTH_LEN,
			      .iov = {{.iov_base = (void *)(uintptr_t)zeros, .iov_len = CNP_DATA}},
			      .num_iov = 1,
			      .len = CNP_DATA};
	struct troce_path path;
	struct rsw_route route;
	struct rte_mbuf *m = rte_pktmbuf_alloc(d->pool);

	if (m == NULL) {
		d->sw.tx_no_mbuf++;
		return;
	}
	path_back(d, rx, &path);
	rsw_route_set(&route, d, &path);
	ib_bth_put(out.hdr, IB_OPCODE_CNP, false, 0, RSW_PKEY, qpn, false, 0);
	out.hdr[1] = 0; /* no MigReq, which other packets have */
	rsw_build(d, &route, &out, m);
	/* The CRC takes this octet for ones, whatever it says. */
	*rte_pktmbuf_mtod_offset(m, uint8_t *, route.len + 4u) = IB_BTH_BECN;
	if (rsw_tx_put(d, &route, m))
		d->sw.cc_cnps_sent++;
	else
		rte_pktmbuf_free(m);
}

/* Of a packet of RoCE v2, as a GID. */
static void
source(const struct rsw_rx *rx, uint8_t gid[16])
{
	if (rx->kind == TROCE_ICRC_IPV4_UDP) {
		memcpy(gid, rsw_ipv4_gid, sizeof(rsw_ipv4_gid));
		memcpy(gid + sizeof(rsw_ipv4_gid), rx->net + 12, 4);
	} else {
		memcpy(gid, rx->net + 8, 16);
	}
}

/* Whom to tell; NULL: nobody. */
static struct rsw_qp *
receiver(const struct rsw_dev *d, const struct rsw_rx *rx, uint32_t *peer)
{
	uint32_t qpn = ib_bth_qpn(rx->bth);
	struct rsw_qp *qp = d->qps[RSW_QPN_INDEX(qpn)];
	const struct ib_opcode *o = &ib_opcodes[ib_bth_opcode(rx->bth)];

	if (qp == NULL || qp->q.v.qp_num != qpn || (o->flags & IB_F_VALID) == 0 ||
	    (qp->e.state != IBV_QPS_RTR && qp->e.state != IBV_QPS_RTS && qp->e.state != IBV_QPS_SQD))
		return NULL;
	*peer = qp->e.a.dest_qpn;
	if (qp->e.a.type != IBV_QPT_UD)
		return rsw_on_route(&qp->route, rx) ? qp : NULL;
	if (o->deth == 0 || rx->len < o->hlen + IB_ICRC_LEN)
		return NULL;
	*peer = ib_get24(rx->bth + o->deth + 5);
	return qp;
}

/* Is it told now? Who has a peer has one sender, of datagrams each has its own interval. */
static bool
due(struct rsw_dev *d, const struct rsw_rx *rx, struct rsw_qp *qp, uint32_t peer)
{
	uint32_t interval = d->cc[rx->prio].conf.cnp_interval;
	struct tcc_np_flow f = {.from = peer, .to = qp->q.v.qp_num};

	if (qp->e.a.type != IBV_QPT_UD)
		return tcc_np_mark(&qp->np, interval, rsw_now(d));
	source(rx, f.addr);
	return tcc_np_mark_flow(&d->np, &f, rx->prio, interval, rsw_now(d));
}

void
rsw_cc_marked(struct rsw_dev *d, const struct rsw_rx *rx)
{
	struct rsw_qp *qp;
	uint32_t peer;

	/* A CNP that was marked itself asks for nothing. */
	if (ib_bth_opcode(rx->bth) == IB_OPCODE_CNP)
		return;
	qp = receiver(d, rx, &peer);
	if (qp == NULL || !rsw_icrc_ok(d, rx))
		return;
	d->sw.cc_marks++;
	if (due(d, rx, qp, peer))
		send_cnp(d, rx, peer);
}

/* --- reaction point ---------------------------------------------------------------------------------------------- */

void
rsw_cc_congested(struct tre_qp *e, const struct tre_in *in, uint64_t now)
{
	const struct rsw_rx *rx = in->home;
	struct rsw_qp *qp = e->home;
	struct rsw_dev *d = qp->d;
	uint8_t prio = prio_of(qp);
	const struct troce_cc *cc = &d->cc[prio];
	bool was = qp->rp.limited;

	/* RoCE v1 has none. */
	if (!cc->on || rx->kind == TROCE_ICRC_GRH || (e->a.type != IBV_QPT_UD && !qp->route.ready) ||
	    (e->state != IBV_QPS_RTS && e->state != IBV_QPS_SQD) || !tcc_rp_cnp(&qp->rp, &cc->conf, now)) {
		d->sw.cc_cnps_ignored++;
		return;
	}
	d->sw.cc_cnps_handled++;
	qp->cc_prio = prio;
	if (!was)
		d->sw.cc_limited++;
	rsw_cc_note(qp);
	qp->route.gen = d->gid_gen - 1;
}

void
rsw_cc_lost(struct rsw_dev *d, const struct rsw_rx *rx)
{
	if (ib_bth_opcode(rx->bth) != IB_OPCODE_CNP || !rsw_icrc_ok(d, rx))
		return;
	d->st.cnp++;
	d->sw.cc_cnps_ignored++;
}
