/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets of the transport on an InfiniBand link: LRH and GRH that the card builds, and the way back [WF 1, DP 10.1].
 * Partition keys are of the port's table when the packet leaves or comes; the engine knows one key for all.
 */
#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/opcode.h"
#include "model/frame/ib_wire.h"
#include "model/port/port.h"
#include "ib.h"

#define DETH_QKEY 0u
#define DETH_SRC_QPN 5u
#define BTH_PKEY 2u
#define NO_PKEY UINT32_MAX

/* --- sending ---------------------------------------------------------------------------------------------- */

static void
path_of_qp(const struct tp_model *m, const struct tpm_qp *qp, struct tpm_roce_path *path)
{
	const uint8_t *a = qp->ctx + MLX4_QPC_PRI_PATH;

	*path = (struct tpm_roce_path){
		.sgid_index = (uint8_t)prm_get(a, MLX4_PATH_SGID_INDEX),
		.tclass = (uint8_t)prm_get(a, MLX4_PATH_TCLASS),
		.hop_limit = (uint8_t)prm_get(a, MLX4_PATH_HOP_LIMIT),
		.flow_label = prm_get(a, MLX4_PATH_FLOW_LABEL),
		.dlid = (uint16_t)prm_get(a, MLX4_PATH_RLID),
		.sl = (uint8_t)MLX4_SCHED_QUEUE_SL(prm_get(a, MLX4_PATH_SCHED_QUEUE)),
		.path_bits = (uint8_t)prm_get(a, MLX4_PATH_SMAC_INDEX),
		.grh = prm_get(a, MLX4_PATH_GRH) != 0,
		.loop = prm_get(a, MLX4_PATH_F_FL) != 0,
	};
	memcpy(path->dgid, a + MLX4_PATH_RGID, sizeof(path->dgid));
}

/* In one piece: both CRCs, where there are any, go over all of it, and who takes it wants it so. */
static bool
xmit(struct tre_qp *e, struct tre_out *out)
{
	struct tpm_roce *r = e->home;
	struct tp_model *m = r->m;
	struct tpm_port *p = &m->port[r->qp->port - 1];
	const struct tpm_roce_path *path = out->wqe != NULL ? out->wqe->av : &r->path;
	uint8_t packet[TPM_IB_PACKET], *at, vl = tpm_ib_vl_of(&p->ibp, path->sl);
	uint32_t len = out->hlen + out->len + out->pad + IB_ICRC_LEN;
	bool mcast = tpm_ib_is_mcast(path->dlid), own = path->loop || tpm_ib_own_lid(&p->ibp, path->dlid);
	struct tp_frame_seg seg = {.data = packet};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .flags = TPM_FRAME_CRC_OK};

	at = tpm_ib_put_headers(&p->ibp, path, vl, len, packet);
	f.len = seg.len = (uint32_t)(at - packet) + len + IB_VCRC_SIZE;
	/* No credit, or a packet to itself is not in yet. */
	if (r->late != 0 || (!own && !tpm_ib_room(p, vl, f.len)))
		return false;
	memcpy(at, out->hdr, out->hlen);
	tpm_store16(at + BTH_PKEY, tpm_ib_pkey_of(&p->ibp, r->qp));
	at += out->hlen;
	for (uint32_t i = 0; i < out->num_iov; i++) {
		memcpy(at, out->iov[i].iov_base, out->iov[i].iov_len);
		at += out->iov[i].iov_len;
	}
	memset(at, 0, out->pad + IB_ICRC_LEN + IB_VCRC_SIZE);
	if (!own && !tpm_ib_is_direct(p))
		tpm_ib_seal(packet, f.len - IB_ICRC_LEN - IB_VCRC_SIZE, false);
	m->counter[r->qp->counter].tx_frames++;
	m->counter[r->qp->counter].tx_bytes += f.len;
	p->roce_tx++;
	if (!own)
		tpm_ib_send(m, p, &f, 1, vl, mcast);
	/* To this card's own port, or to a group that its QPs may be in. */
	if ((own || mcast) && p->ibp.state == IB_PORT_ACTIVE)
		tpm_ib_loop(m, p, packet, f.len - IB_VCRC_SIZE, r->qp);
	return true;
}

/* --- receiving -------------------------------------------------------------------------------------------- */

/* A packet on its way to queue pairs. */
struct rx {
	const uint8_t *packet; /* from the LRH on */
	uint32_t bth, len;     /* where the BTH is; length from there through the ICRC */
	const struct tpm_qp *from;
	struct tpm_roce_rx x;
};

static void
pkey_violation(struct tpm_port *p)
{
	p->ibp.pkey_bad++;
}

/* The first place in the table whose key fits, or NO_PKEY. */
static uint32_t
pkey_find(const struct tpm_ib *ib, uint16_t key)
{
	for (uint32_t i = 0; i < TPM_IB_PKEYS; i++)
		if (tpm_ib_pkey_fits(ib, key, i))
			return i;
	return NO_PKEY;
}

/* The datagram inside a packet, without what fills its last word up; 0 octets: it is none of one packet. */
static const uint8_t *
datagram(const struct rx *rx, uint32_t *len)
{
	const uint8_t *bth = rx->packet + rx->bth;
	uint32_t around = IB_BTH_LEN + IB_DETH_LEN + ib_bth_pad(bth) + IB_ICRC_LEN;

	*len = ib_bth_opcode(bth) == (IB_TR_UD | IB_OP_SEND_ONLY) && rx->len > around ? rx->len - around : 0;
	return bth + IB_BTH_LEN + IB_DETH_LEN;
}

/* Checksums of IP in a datagram, where software asked for them when it brought the card up [CP 3.6]. */
static void
look_inside(const struct tp_model *m, struct rx *rx)
{
	uint32_t len;
	const uint8_t *d = datagram(rx, &len);

	if (prm_get(m->hca, MLX4_HCA_F_CSUM) != 0 && len != 0)
		rx->x.status = tpm_ipoib_status(d, len, &rx->x.csum);
}

/* The engine compares with one key for all, and QP0 has no Q_Key: both were judged here. */
static void
deliver(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, struct rx *rx)
{
	uint8_t packet[TPM_IB_PACKET];

	memcpy(packet, rx->packet + rx->bth, rx->len);
	ib_put16(packet + BTH_PKEY, IB_PKEY_DEFAULT);
	if (qp->roce->e.a.type == IBV_QPT_UD && rx->len >= IB_BTH_LEN + IB_DETH_LEN) {
		if (qp == tpm_ib_special(m, p, 0))
			ib_put32(packet + IB_BTH_LEN + DETH_QKEY, qp->roce->e.a.qkey);
		else if (ib_get32(packet + IB_BTH_LEN + DETH_QKEY) != qp->roce->e.a.qkey)
			p->ibp.qkey_bad++;
	}
	if (qp->service == MLX4_QP_ST_UD)
		look_inside(m, rx);
	p->roce_rx++;
	m->counter[qp->counter].rx_frames++;
	m->counter[qp->counter].rx_bytes += rx->bth + rx->len;
	tpm_roce_deliver(m, qp, packet, rx->len - IB_ICRC_LEN, &rx->x);
}

/* The ring that an RSS parent gives a packet to, by what is inside it; NULL: none, which is counted [DP 8.2]. */
static struct tpm_qp *
ring_of(struct tp_model *m, struct tpm_port *p, const struct tpm_qp *parent, const struct rx *rx)
{
	const uint8_t *bth = rx->packet + rx->bth, *d;
	struct tpm_qp *ring;
	uint32_t len, child;

	if (rx->len < IB_BTH_LEN + IB_DETH_LEN + IB_ICRC_LEN ||
	    ib_get32(bth + IB_BTH_LEN + DETH_QKEY) != parent->roce->e.a.qkey) {
		p->ibp.qkey_bad++;
		return NULL;
	}
	d = datagram(rx, &len);
	child = tpm_ipoib_ring(m, parent, d, len);
	ring = tpm_qp_get(m, child);
	if (ring != NULL && ring->service == MLX4_QP_ST_UD && ring->roce != NULL && !ring->is_rss &&
	    ring->port == p->num && tpm_qp_can_receive(ring))
		return ring;
	tpm_violate(m, TPM_V_RSS_RANGE, "QP", parent->qpn,
		    "its ring QP 0x%x is %s, wanted a datagram queue pair of port %u that may receive", child,
		    ring == NULL ? "not there" : "another", p->num);
	return NULL;
}

/* To a queue pair whose key of the partition fits, or to the ring of a parent, whose key must fit, too. */
static void
deliver_datagram(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, struct rx *rx)
{
	uint32_t at;

	if (qp->is_rss) {
		qp = ring_of(m, p, qp, rx);
		if (qp == NULL)
			return;
		at = prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX);
		if (!tpm_ib_pkey_fits(&p->ibp, ib_bth_pkey(rx->packet + rx->bth), at)) {
			pkey_violation(p);
			return;
		}
		rx->x.pkey_index = (uint8_t)at;
	}
	deliver(m, p, qp, rx);
}

/* Members of the group that may hear it: not the sender, where it asked for that [U]. */
static void
deliver_group(struct tp_model *m, struct tpm_port *p, struct rx *rx)
{
	uint16_t key = ib_bth_pkey(rx->packet + rx->bth);
	struct tpm_steer_hit hit = {0};

	if (rx->x.no_grh)
		return;
	tpm_steer_group(p, rx->x.grh + 24, &hit);
	/* What this card sends is for others, too. */
	if (hit.n == 0 && rx->from == NULL)
		p->roce_no_group++;
	for (uint32_t i = 0; i < hit.n; i++) {
		struct tpm_qp *qp = tpm_qp_get(m, hit.qpn[i]);
		uint32_t at;

		if (qp == NULL || qp->roce == NULL || qp->port != p->num || qp->service != MLX4_QP_ST_UD ||
		    !tpm_qp_can_receive(qp) || qp == rx->from)
			continue;
		at = prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX);
		if (!tpm_ib_pkey_fits(&p->ibp, key, at))
			continue;
		rx->x.pkey_index = (uint8_t)at;
		deliver_datagram(m, p, qp, rx);
	}
}

static bool
own_gid(const struct tpm_ib *ib, const uint8_t *gid)
{
	static const uint8_t link_local[8] = {0xfe, 0x80};

	if (prm_get64(gid, 0) != prm_get64(ib->info, IB_PI_GID_PREFIX) && memcmp(gid, link_local, 8) != 0)
		return false;
	for (uint32_t i = 0; i < TPM_IB_GUIDS; i++)
		if (ib->guid[i] != 0 && ib->guid[i] == prm_get64(gid, 8))
			return true;
	return false;
}

static void
unicast(struct tp_model *m, struct tpm_port *p, struct rx *rx)
{
	const uint8_t *bth = rx->packet + rx->bth;
	uint32_t qpn = ib_bth_qpn(bth), at = 0;
	struct tpm_qp *qp;

	if (!rx->x.no_grh && !own_gid(&p->ibp, rx->x.grh + 24)) {
		p->roce_no_gid++;
		return;
	}
	qp = tpm_ib_destination(m, p, qpn);
	if (qp == NULL) {
		p->roce_no_qp++;
		return;
	}
	/* QP1 takes any key of the port, QP0 has none, others have theirs. */
	if (qpn != 0) {
		at = prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX);
		if (qpn == 1)
			at = pkey_find(&p->ibp, ib_bth_pkey(bth));
		if (!tpm_ib_pkey_fits(&p->ibp, ib_bth_pkey(bth), at)) {
			pkey_violation(p);
			return;
		}
	}
	rx->x.pkey_index = (uint8_t)at;
	deliver_datagram(m, p, qp, rx);
}

void
tpm_ib_loop(struct tp_model *m, struct tpm_port *p, const uint8_t *packet, uint32_t len, const struct tpm_qp *from)
{
	uint32_t bth = tpm_ib_bth(packet);
	struct rx rx = {.packet = packet, .bth = bth, .len = len - bth, .from = from, .x = {.ib = true}};
	uint16_t dlid = (uint16_t)prm_get(packet, IB_LRH_DLID);

	rx.x.slid = (uint16_t)prm_get(packet, IB_LRH_SLID);
	rx.x.sl = (uint8_t)prm_get(packet, IB_LRH_SL);
	rx.x.path_bits = tpm_ib_is_mcast(dlid) ? 0 : dlid & ((1u << p->ibp.lmc) - 1);
	rx.x.no_grh = bth == IB_LRH_SIZE;
	if (!rx.x.no_grh)
		memcpy(rx.x.grh, packet + IB_LRH_SIZE, IB_GRH_LEN);
	if (prm_get(packet, IB_LRH_VL) == IB_VL_MGMT && tpm_ib_special(m, p, 0) == NULL)
		tpm_ib_smp(m, p, packet, len);
	else if (ib_bth_qpn(packet + bth) == IB_MCAST_QPN)
		deliver_group(m, p, &rx);
	else
		unicast(m, p, &rx);
}

/* Management goes to its queue pair alone, and nothing else goes there. */
static bool
lane_fits(const uint8_t *packet)
{
	return (prm_get(packet, IB_LRH_VL) == IB_VL_MGMT) == (ib_bth_qpn(packet + tpm_ib_bth(packet)) == 0);
}

static bool
lid_fits(const struct tpm_ib *ib, const uint8_t *packet, bool mgmt)
{
	uint16_t dlid = (uint16_t)prm_get(packet, IB_LRH_DLID);

	return (mgmt && dlid == IB_LID_PERMISSIVE) || (!mgmt && tpm_ib_is_mcast(dlid)) || tpm_ib_own_lid(ib, dlid);
}

static void
receive_one(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	uint8_t buf[TPM_IB_PACKET];
	uint32_t len;
	const uint8_t *packet = tpm_ib_open(f, buf, &len);
	bool mgmt;

	if (packet == NULL) {
		p->ibp.pm.c.rcv_errors++;
		p->rx_bad_fcs++;
		return;
	}
	mgmt = prm_get(packet, IB_LRH_VL) == IB_VL_MGMT;
	if (!mgmt && p->ibp.state < IB_PORT_ARMED) {
		p->rx_link_down++;
		return;
	}
	/* Data from a port that is active makes this one so. */
	if (!mgmt && p->ibp.state == IB_PORT_ARMED)
		tpm_ib_set_state(m, p, IB_PORT_ACTIVE);
	tpm_ib_count_rx(&p->ibp.pm.c, f->len, tpm_ib_is_mcast((uint16_t)prm_get(packet, IB_LRH_DLID)));
	if (!lid_fits(&p->ibp, packet, mgmt) || !lane_fits(packet) || len - tpm_ib_bth(packet) > TPM_ROCE_PACKET) {
		p->roce_malformed++;
		p->ibp.pm.c.rcv_errors++;
		return;
	}
	if ((f->flags & TPM_FRAME_CRC_OK) == 0 && !tpm_ib_icrc_good(packet, len)) {
		p->roce_bad_icrc++;
		return;
	}
	tpm_ib_loop(m, p, packet, len, NULL);
}

void
tpm_ib_receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		i += tpm_ib_receive_plain(m, p, f + i, n - i);
		if (i < n)
			receive_one(m, p, &f[i]);
	}
}

/* --- the link --- */

const struct tpm_link_ops tpm_ib_link_ops = {
	.changed = tpm_ib_link,
	.path_of_qp = path_of_qp,
	.xmit = xmit,
	.datagrams = tpm_ib_datagrams,
	.mlx = tpm_ib_mlx,
};
