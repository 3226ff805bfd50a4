/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * RoCE packets on a wire: the headers that the card builds round what the engine gives it, and the way back [DP 10.3].
 * What is not addressed to an entry of the port's GID table is no business of the transport and stays Ethernet.
 */
#include "model/qos/qos.h"
#include "lib/roce/wire/icrc.h"
#include "model/event/event.h"
#include "model/port/port.h"
#include "roce_cc.h"

#define NEXT_IBA 0x1bu /* GRH: a BTH follows */
#define IPV4_LEN 20u
#define IPV6_LEN 40u
#define UDP_LEN 8u
#define IPV4_DF 0x4000u
#define HOP_DEFAULT 64u
#define ECN_MASK 3u
#define ECN_CE 3u
#define ECN_ECT0 2u

static bool
is_ipv4_gid(const uint8_t *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

static const struct tpm_gid *
gid_entry(const struct tp_model *m, const struct tpm_port *p, uint8_t index)
{
	const struct tpm_gid *g = &m->ctl->port[p->num - 1].gid[index % MLX4_GID_ENTRIES];

	return g->valid ? g : NULL;
}

static void
path_of_qp(const struct tp_model *m, const struct tpm_qp *qp, struct tpm_roce_path *path)
{
	const uint8_t *a = qp->ctx + MLX4_QPC_PRI_PATH;
	uint32_t vlan = prm_get(a, tpm_quirk(m, MLX4_QUIRK_VLAN_PLACE) == 0 ? MLX4_PATH_VLAN_INDEX
									    : MLX4_PATH_VLAN_INDEX_2007) %
			MLX4_VLAN_TABLE_ENTRIES;
	const uint32_t *table = m->port[qp->port - 1].vlan_table;

	*path = (struct tpm_roce_path){
		.sgid_index = (uint8_t)prm_get(a, MLX4_PATH_SGID_INDEX),
		.tclass = (uint8_t)prm_get(a, MLX4_PATH_TCLASS),
		.hop_limit = (uint8_t)prm_get(a, MLX4_PATH_HOP_LIMIT),
		.prio = (uint8_t)MLX4_SCHED_QUEUE_PRIO(prm_get(a, MLX4_PATH_SCHED_QUEUE)),
		.flow_label = prm_get(a, MLX4_PATH_FLOW_LABEL),
		.udp_port = (uint16_t)prm_get(qp->ctx, MLX4_QPC_ROCE_ENTROPY),
		.vid = TPM_ROCE_NO_VLAN,
		.v2 = prm_get(qp->ctx, MLX4_QPC_ROCE_MODE) == MLX4_ROCE_V2,
	};
	if (prm_get(a, MLX4_PATH_FORCE_VLAN) != 0 && (table[vlan] & MLX4_VLAN_TABLE_VALID) != 0)
		path->vid = table[vlan] & 0xfff;
	memcpy(path->dmac, a + MLX4_PATH_DMAC, sizeof(path->dmac));
	memcpy(path->dgid, a + MLX4_PATH_RGID, sizeof(path->dgid));
}

/* --- sending ---------------------------------------------------------------------------------------------- */

static uint8_t *
put_eth(struct tp_model *m, const struct tpm_port *p, const struct tpm_qp *qp, const struct tpm_roce_path *path,
	uint16_t etype, uint8_t *h)
{
	uint32_t index = prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SMAC_INDEX) % MLX4_MAC_TABLE_ENTRIES;
	uint64_t smac =
		(p->mac_table[index] & MLX4_MAC_TABLE_VALID) != 0 ? p->mac_table[index] & MLX4_MAC_MASK : p->mac;

	memcpy(h, path->dmac, TPM_ETH_ALEN);
	h += TPM_ETH_ALEN;
	for (int i = 0; i < 6; i++)
		*h++ = (uint8_t)(smac >> (40 - 8 * i));
	if (path->vid != TPM_ROCE_NO_VLAN) {
		tpm_store16(h, TPM_ETYPE_CVLAN);
		tpm_store16(h + 2, (uint16_t)(path->prio << 13 | path->vid));
		h += TPM_VLAN_HLEN;
	}
	tpm_store16(h, etype);
	return h + 2;
}

/* GRH and the IPv6 header of RoCE v2 differ in the next header and in what they count. */
static void
put_ipv6(const struct tpm_roce_path *path, const uint8_t *sgid, uint8_t next, uint32_t len, uint8_t *h)
{
	prm_set32(h, 0, 6u << 28 | (uint32_t)path->tclass << 20 | (path->flow_label & 0xfffff));
	tpm_store16(h + 4, (uint16_t)len);
	h[6] = next;
	h[7] = path->hop_limit;
	memcpy(h + 8, sgid, 16);
	memcpy(h + 24, path->dgid, 16);
}

static void
put_ipv4(const struct tpm_roce_path *path, const uint8_t *sgid, uint32_t len, uint8_t *h)
{
	memset(h, 0, IPV4_LEN);
	h[0] = 0x45;
	h[1] = path->tclass;
	tpm_store16(h + 2, (uint16_t)(IPV4_LEN + len));
	tpm_store16(h + 6, IPV4_DF);
	h[8] = path->hop_limit != 0 ? path->hop_limit : HOP_DEFAULT;
	h[9] = TPM_PROTO_UDP;
	memcpy(h + 12, sgid + 12, 4);
	memcpy(h + 16, path->dgid + 12, 4);
	tpm_store16(h + 10, (uint16_t)~tpm_csum_fold(tpm_csum_bytes(0, h, IPV4_LEN)));
}

/* Everything in front of the BTH; len: from the BTH through the ICRC. Where the BTH goes, *net where layer 3 begins. */
static uint8_t *
put_headers(struct tp_model *m, const struct tpm_port *p, const struct tpm_qp *qp, const struct tpm_roce_path *path,
	    const struct tpm_gid *src, uint32_t len, uint8_t *h, uint8_t **net, enum troce_icrc_net *kind)
{
	bool v4 = is_ipv4_gid(src->gid);
	uint32_t l3 = v4 ? IPV4_LEN : IPV6_LEN;

	if (src->version == MLX4_ROCE_V1) {
		*kind = TROCE_ICRC_GRH;
		*net = put_eth(m, p, qp, path, TPM_ETYPE_ROCE, h);
		put_ipv6(path, src->gid, NEXT_IBA, len, *net);
		return *net + IPV6_LEN;
	}
	*kind = v4 ? TROCE_ICRC_IPV4_UDP : TROCE_ICRC_IPV6_UDP;
	*net = put_eth(m, p, qp, path, v4 ? TPM_ETYPE_IPV4 : TPM_ETYPE_IPV6, h);
	if (v4)
		put_ipv4(path, src->gid, UDP_LEN + len, *net);
	else
		put_ipv6(path, src->gid, TPM_PROTO_UDP, UDP_LEN + len, *net);
	h = *net + l3;
	tpm_store16(h, path->udp_port);
	tpm_store16(h + 2, m->roce_port);
	tpm_store16(h + 4, (uint16_t)(UDP_LEN + len));
	tpm_store16(h + 6, 0);
	return h + UDP_LEN;
}

static bool
own_mac(const struct tpm_port *p, const uint8_t *mac)
{
	uint64_t v = 0;

	for (int i = 0; i < 6; i++)
		v = v << 8 | mac[i];
	if (v == p->mac)
		return true;
	for (uint32_t i = 0; i < MLX4_MAC_TABLE_ENTRIES; i++)
		if ((p->mac_table[i] & MLX4_MAC_TABLE_VALID) != 0 && (p->mac_table[i] & MLX4_MAC_MASK) == v)
			return true;
	return false;
}

static bool receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, uint32_t hlen,
		    const struct tpm_pkt *k, bool own);

/* The port's own members of a group hear it too. */
static void
loop_group(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f)
{
	uint8_t buf[TPM_PARSE_MAX];
	struct tpm_pkt k;
	uint32_t hlen;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);

	tpm_parse(h, hlen, f->len, &k);
	receive(m, p, f, h, hlen, &k, true);
}

void
tpm_roce_emit(struct tpm_roce *r, const struct tpm_roce_path *path, const struct tpm_gid *src, struct tre_out *out)
{
	struct tp_model *m = r->m;
	struct tpm_port *p = &m->port[r->qp->port - 1];
	uint8_t h[TPM_ROCE_HDR], tail[8] = {0}, *bth, *net;
	struct tp_frame_seg seg[TRE_MAX_IOV + 2];
	struct tp_frame f = {.seg = seg, .flags = TPM_FRAME_CRC_OK};
	enum troce_icrc_net kind;
	uint32_t reg;

	bth = put_headers(m, p, r->qp, path, src, out->hlen + out->len + out->pad + IB_ICRC_LEN, h, &net, &kind);
	memcpy(bth, out->hdr, out->hlen);
	reg = troce_icrc_start(kind, net, bth);
	reg = troce_crc32(reg, bth + IB_BTH_LEN, out->hlen - IB_BTH_LEN);
	seg[f.nseg++] = (struct tp_frame_seg){.data = h, .len = (uint32_t)(bth - h) + out->hlen};
	for (uint32_t i = 0; i < out->num_iov; i++) {
		reg = troce_crc32(reg, out->iov[i].iov_base, out->iov[i].iov_len);
		seg[f.nseg++] =
			(struct tp_frame_seg){.data = out->iov[i].iov_base, .len = (uint32_t)out->iov[i].iov_len};
	}
	reg = troce_crc32(reg, tail, out->pad);
	troce_icrc_put(reg, tail + out->pad);
	seg[f.nseg++] = (struct tp_frame_seg){.data = tail, .len = out->pad + IB_ICRC_LEN};
	for (uint32_t i = 0; i < f.nseg; i++)
		f.len += seg[i].len;
	m->counter[r->qp->counter].tx_frames++;
	m->counter[r->qp->counter].tx_bytes += f.len;
	p->roce_tx++;
	/* What goes to the port's own address turns round inside the card [DP 8.7] */
	if (own_mac(p, path->dmac)) {
		tpm_port_count_loop(p, &f);
		m->port_ops->deliver(m, p, &f, 1, r->qp);
		return;
	}
	tpm_port_send(m, p, &f, 1);
	if ((path->dmac[0] & 1) != 0)
		loop_group(m, p, &f);
}

/* Bytes of its frame, without FCS. */
static uint32_t
frame_len(const struct tpm_roce_path *path, const struct tpm_gid *src, const struct tre_out *out)
{
	uint32_t net =
		src->version == MLX4_ROCE_V1 ? IPV6_LEN : (is_ipv4_gid(src->gid) ? IPV4_LEN : IPV6_LEN) + UDP_LEN;

	return TPM_ETH_HLEN + (path->vid != TPM_ROCE_NO_VLAN ? TPM_VLAN_HLEN : 0) + net + out->hlen + out->len +
	       out->pad + IB_ICRC_LEN;
}

static bool
xmit(struct tre_qp *e, struct tre_out *out)
{
	struct tpm_roce *r = e->home;
	struct tp_model *m = r->m;
	struct tpm_port *p = &m->port[r->qp->port - 1];
	const struct tpm_roce_path *path = out->wqe != NULL ? out->wqe->av : &r->path;
	const struct tpm_gid *src = gid_entry(m, p, path->sgid_index);
	struct tpm_roce_path marked;

	/* Held back by pause, or a packet to itself is not in yet. */
	if (r->late != 0 || (p->qos->paused >> path->prio & 1) != 0)
		return false;
	/* An address that was taken away: the packet is lost, as it would be behind a router without a route. */
	if (src == NULL) {
		p->roce_no_gid++;
		return true;
	}
	r->dgram_prio = path->prio;
	/* Answers without data are not what fills queues, and the peer's rate depends on them. */
	if (tpm_unlikely(r->limited) && out->len != 0 && !tpm_cc_may_send(r, frame_len(path, src, out)))
		return false;
	if (tpm_unlikely(tpm_cc_says_ect(p, e->a.type, path)) && src->version != MLX4_ROCE_V1) {
		marked = *path;
		marked.tclass = (uint8_t)((marked.tclass & ~ECN_MASK) | ECN_ECT0);
		path = &marked;
	}
	tpm_roce_emit(r, path, src, out);
	return true;
}

/* --- receiving -------------------------------------------------------------------------------------------- */

/* Where the BTH is, and what lies in front of it; false: no RoCE packet. */
static bool
parse(const struct tp_model *m, const struct tp_frame *f, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k,
      uint32_t *bth, uint32_t *len, enum troce_icrc_net *kind)
{
	if (k->etype == TPM_ETYPE_ROCE) {
		uint32_t off = TPM_ETH_HLEN + k->tags * TPM_VLAN_HLEN;
		const uint8_t *l3 = h + off;

		if (hlen < off + IPV6_LEN + IB_BTH_LEN || l3[0] >> 4 != 6 || l3[6] != NEXT_IBA)
			return false;
		*kind = TROCE_ICRC_GRH;
		*bth = off + IPV6_LEN;
		*len = tpm_load16(l3 + 4);
		return *bth + *len <= f->len;
	}
	if (k->proto != TPM_PROTO_UDP || k->l4 == 0 || k->frag || !k->len_ok || k->l4 + UDP_LEN + IB_BTH_LEN > hlen ||
	    tpm_load16(h + k->l4 + 2) != m->roce_port)
		return false;
	*kind = k->etype == TPM_ETYPE_IPV4 ? TROCE_ICRC_IPV4_UDP : TROCE_ICRC_IPV6_UDP;
	/* Options and extension headers are not RoCE. */
	if (k->l4 != (uint32_t)k->l3 + (*kind == TROCE_ICRC_IPV4_UDP ? IPV4_LEN : IPV6_LEN))
		return false;
	*bth = k->l4 + UDP_LEN;
	*len = tpm_load16(h + k->l4 + 4);
	if (*len < UDP_LEN || k->l4 + *len > f->len)
		return false;
	*len -= UDP_LEN;
	return true;
}

/* The destination as a GID. */
static void
dest_gid(const uint8_t *net, enum troce_icrc_net kind, uint8_t *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (kind != TROCE_ICRC_IPV4_UDP) {
		memcpy(gid, net + 24, 16);
		return;
	}
	memcpy(gid, mapped, sizeof(mapped));
	memcpy(gid + 12, net + 16, 4);
}

/* Is it one of the port's GIDs of this version? */
static bool
addressed(const struct tp_model *m, const struct tpm_port *p, const uint8_t *gid, enum troce_icrc_net kind)
{
	const struct tpm_gid *t = m->ctl->port[p->num - 1].gid;
	uint8_t version = kind == TROCE_ICRC_GRH ? MLX4_ROCE_V1 : MLX4_ROCE_V2;

	for (uint32_t i = 0; i < MLX4_GID_ENTRIES; i++)
		if (t[i].valid && t[i].version == version && memcmp(t[i].gid, gid, 16) == 0)
			return true;
	return false;
}

/* The 40 bytes in front of a UD payload: of IPv4 the second half [DP 10.4] */
static void
fill_grh(struct tpm_roce_rx *rx, const uint8_t *net, enum troce_icrc_net kind)
{
	memset(rx->grh, 0, sizeof(rx->grh));
	if (kind == TROCE_ICRC_IPV4_UDP)
		memcpy(rx->grh + IPV4_LEN, net, IPV4_LEN);
	else
		memcpy(rx->grh, net, IPV6_LEN);
}

static struct tpm_qp *
destination(struct tp_model *m, const struct tpm_port *p, uint32_t qpn)
{
	struct tpm_qp *qp;

	/* QP1 of the port lies behind the two QP0 [DP 10.8] */
	if (qpn == 1)
		qpn = m->special_qp_base + 2 + p->num - 1;
	qp = tpm_qp_get(m, qpn);
	return qp != NULL && qp->roce != NULL && qp->port == p->num && tpm_qp_can_receive(qp) ? qp : NULL;
}

static void
deliver(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *f, const uint8_t *packet,
	uint32_t len, const struct tpm_roce_rx *rx)
{
	p->roce_rx++;
	m->counter[qp->counter].rx_frames++;
	m->counter[qp->counter].rx_bytes += f->len;
	tpm_roce_deliver(m, qp, packet, len - IB_ICRC_LEN, rx);
}

/* Every datagram QP of the port that is attached gets a copy. */
static void
deliver_group(struct tp_model *m, struct tpm_port *p, const struct tpm_steer_hit *hit, const struct tp_frame *f,
	      const uint8_t *packet, uint32_t len, const struct tpm_roce_rx *rx)
{
	for (uint32_t i = 0; i < hit->n; i++) {
		struct tpm_qp *qp = tpm_qp_get(m, hit->qpn[i]);

		if (qp != NULL && qp->roce != NULL && qp->port == p->num && qp->service == MLX4_QP_ST_UD &&
		    tpm_qp_can_receive(qp))
			deliver(m, p, qp, f, packet, len, rx);
	}
}

/* "Congestion experienced" (RFC 3168, 5) */
static bool
is_marked(const uint8_t *net, enum troce_icrc_net kind)
{
	return ((kind == TROCE_ICRC_IPV4_UDP ? net[1] : net[1] >> 4) & ECN_MASK) == ECN_CE;
}

/* len: through the ICRC. */
static bool
icrc_good(enum troce_icrc_net kind, const uint8_t *net, const uint8_t *packet, uint32_t len)
{
	uint8_t icrc[IB_ICRC_LEN];

	troce_icrc_put(
		troce_crc32(troce_icrc_start(kind, net, packet), packet + IB_BTH_LEN, len - IB_BTH_LEN - IB_ICRC_LEN),
		icrc);
	return memcmp(icrc, packet + len - IB_ICRC_LEN, IB_ICRC_LEN) == 0;
}

/* own: the port sent it. */
static bool
receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, uint32_t hlen,
	const struct tpm_pkt *k, bool own)
{
	uint8_t packet[TPM_ROCE_PACKET], gid[16];
	enum troce_icrc_net kind;
	struct tpm_roce_rx rx = {.tci = k->tci, .tagged = k->cvlan, .v1 = k->etype == TPM_ETYPE_ROCE};
	struct tpm_steer_hit hit = {0};
	uint32_t bth, len, net_len;
	const uint8_t *net;
	struct tpm_qp *qp;

	if (!parse(m, f, h, hlen, k, &bth, &len, &kind))
		return false;
	net_len = kind == TROCE_ICRC_IPV4_UDP ? IPV4_LEN + UDP_LEN : IPV6_LEN + (kind == TROCE_ICRC_GRH ? 0 : UDP_LEN);
	net = h + bth - net_len;
	dest_gid(net, kind, gid);
	if (!addressed(m, p, gid, kind)) {
		/* A group that nobody is attached to stays Ethernet. */
		if ((h[0] & 1) != 0 && ib_bth_qpn(h + bth) == IB_MCAST_QPN) {
			tpm_steer_group(p, gid, &hit);
			p->roce_no_group += hit.n == 0 && !own;
		}
		if (hit.n == 0)
			return false;
	}
	if (len < IB_BTH_LEN + IB_ICRC_LEN || len > sizeof(packet)) {
		p->roce_malformed++;
		return true;
	}
	tpm_frame_copy(f, bth, packet, len);
	if ((f->flags & TPM_FRAME_CRC_OK) == 0 && !icrc_good(kind, net, packet, len)) {
		p->roce_bad_icrc++;
		return true;
	}
	memcpy(rx.smac, h + TPM_ETH_ALEN, TPM_ETH_ALEN);
	fill_grh(&rx, net, kind);
	if (hit.n != 0) {
		deliver_group(m, p, &hit, f, packet, len, &rx);
		return true;
	}
	qp = destination(m, p, ib_bth_qpn(packet));
	if (qp == NULL) {
		p->roce_no_qp++;
		tpm_cc_lost(p, k, h, packet);
		return true;
	}
	if (tpm_unlikely(is_marked(net, kind))) {
		const struct tpm_cc_marked in = {.h = h,
						 .net = net,
						 .packet = packet,
						 .len = len - IB_ICRC_LEN,
						 .k = k,
						 .v4 = kind == TROCE_ICRC_IPV4_UDP,
						 .v1 = kind == TROCE_ICRC_GRH};

		tpm_cc_marked(m, p, qp, &in);
	}
	deliver(m, p, qp, f, packet, len, &rx);
	return true;
}

bool
tpm_roce_receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, uint32_t hlen,
		 const struct tpm_pkt *k)
{
	return receive(m, p, f, h, hlen, k, false);
}

/* --- the link --------------------------------------------------------------------------------------------- */

static void
changed(struct tp_model *m, struct tpm_port *p, bool up)
{
	tpm_event_port(m, p->num, up ? MLX4_PORT_CHANGE_ACTIVE : MLX4_PORT_CHANGE_DOWN);
}

const struct tpm_link_ops tpm_eth_link_ops = {
	.changed = changed,
	.path_of_qp = path_of_qp,
	.xmit = xmit,
	.mlx = tpm_roce_mlx,
};
