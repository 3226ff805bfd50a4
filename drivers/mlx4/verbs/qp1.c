/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * QP1 of an Ethernet port [DP 10.4]: headers of RoCE around management datagrams. A queue pair has one encapsulation, so
 * that version 2 leaves by a second one, which receives nothing.
 */
#include <errno.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "lib/roce/net/net.h"
#include "lib/roce/wire/wire.h"

#include "mad.h"

#define QP1_FIRST 2u /* in the block of special queue pairs, behind both QP0 */
#define WIRE_QPN 1u
#define PKEY 0xffffu
#define ETYPE_ROCE 0x8915u
#define SPORT 0xc000u

/* --- sending ----------------------------------------------------------------------------------------------- */

static uint8_t *
put_eth(uint8_t *h, const struct troce_path *p, uint16_t etype)
{
	memcpy(h, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
	memcpy(h + RTE_ETHER_ADDR_LEN, p->smac.addr_bytes, RTE_ETHER_ADDR_LEN);
	h += 2 * RTE_ETHER_ADDR_LEN;
	/* A priority without a VLAN travels in a tag of VLAN 0, as that of any queue pair here (802.1Q 6.9). */
	if (p->vlan != TP_ROCE_NO_VLAN || (p->prio != 0 && !p->untag)) {
		ib_put16(h, RTE_ETHER_TYPE_VLAN);
		ib_put16(h + 2, (uint16_t)(p->prio << 13 | (p->vlan != TP_ROCE_NO_VLAN ? p->vlan : 0)));
		h += RTE_VLAN_HLEN;
	}
	ib_put16(h, etype);
	return h + 2;
}

/* A GRH is an IPv6 header with a next header of its own (8.3). */
static uint8_t *
put_ipv6(uint8_t *h, const struct troce_path *p, uint8_t next, uint16_t len)
{
	ib_put32(h, 6u << 28 | (uint32_t)p->tclass << 20 | (p->flow_label & 0xfffff));
	ib_put16(h + 4, len);
	h[6] = next;
	h[7] = p->hop_limit;
	memcpy(h + 8, p->sgid.raw, sizeof(p->sgid.raw));
	memcpy(h + 24, p->dgid.raw, sizeof(p->dgid.raw));
	return h + IB_GRH_LEN;
}

static uint8_t *
put_ipv4(uint8_t *h, const struct troce_path *p, uint16_t len)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = p->tclass,
		.total_length = rte_cpu_to_be_16(len + sizeof(ip)),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = p->hop_limit,
		.next_proto_id = IPPROTO_UDP,
	};

	memcpy(&ip.src_addr, p->sgid.raw + 12, sizeof(ip.src_addr));
	memcpy(&ip.dst_addr, p->dgid.raw + 12, sizeof(ip.dst_addr));
	ip.hdr_checksum = rte_ipv4_cksum(&ip);
	memcpy(h, &ip, sizeof(ip));
	return h + sizeof(ip);
}

static bool
is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

/* All headers of a datagram; returns their length. */
static uint32_t
put_headers(struct mlx4_roce *r, uint8_t *hdr, const struct troce_mad *mad)
{
	const uint16_t ib = IB_BTH_LEN + IB_DETH_LEN + TROCE_MAD_SIZE + IB_ICRC_LEN;
	const uint16_t udp = ib + sizeof(struct rte_udp_hdr);
	const struct troce_path *p = &mad->path;
	uint8_t *h;

	if (p->type != IBV_GID_TYPE_ROCE_V2) {
		h = put_ipv6(put_eth(hdr, p, ETYPE_ROCE), p, MLX4_MAD_NEXT_IBA, ib);
	} else {
		h = is_ipv4(&p->sgid) ? put_ipv4(put_eth(hdr, p, RTE_ETHER_TYPE_IPV4), p, udp)
				      : put_ipv6(put_eth(hdr, p, RTE_ETHER_TYPE_IPV6), p, IPPROTO_UDP, udp);
		ib_put16(h, p->sport != 0 ? p->sport : SPORT);
		ib_put16(h + 2, r->dev->conf.udp_port);
		ib_put16(h + 4, udp);
		ib_put16(h + 6, 0);
		h += sizeof(struct rte_udp_hdr);
	}
	ib_bth_put(h, MLX4_MAD_UD_SEND, false, 0, PKEY, mad->remote_qpn, false, mlx4_mad_psn(r->qp1));
	h += IB_BTH_LEN;
	ib_put32(h, MLX4_MAD_QKEY);
	ib_put32(h + 4, WIRE_QPN);
	return (uint32_t)(h + IB_DETH_LEN - hdr);
}

int
mlx4_roce_mad_send(struct troce_dev *dev, const struct troce_mad *mad)
{
	struct mlx4_roce *r = dev->home;
	unsigned int sender = mad->path.type == IBV_GID_TYPE_ROCE_V2;
	const uint8_t *dmac = mad->path.dmac.addr_bytes;
	bool own = rte_is_same_ether_addr(&mad->path.dmac, &mad->path.smac);
	struct mlx4_mad_out out;

	if (r->qp1 == NULL || r->dead)
		return EIO;
	if (sender >= mlx4_mad_senders(r->qp1))
		return EINVAL;
	out.len = put_headers(r, out.hdr, mad);
	out.sched = (uint32_t)mad->path.prio << MLX4_MLX_PRIO_SHIFT;
	out.flags = (uint32_t)ib_get16(dmac) << MLX4_MLX_DMAC_HI_SHIFT | (own ? MLX4_CTRL_FL : 0);
	memcpy(&out.where, dmac + 2, sizeof(out.where));
	out.mad = mad->data;
	return mlx4_mad_post(r->qp1, sender, &out);
}

/* --- receiving --------------------------------------------------------------------------------------------- */

/* The sender's GID and ours, and which version brought it, from the 40 bytes in front [DP 10.4]. */
static void
read_net(const uint8_t *grh, struct troce_path *p)
{
	const uint8_t *ip = grh + IB_GRH_LEN - sizeof(struct rte_ipv4_hdr);

	memset(&p->sgid, 0, sizeof(p->sgid));
	memset(&p->dgid, 0, sizeof(p->dgid));
	if (grh[0] >> 4 == 6) {
		p->type = grh[6] == MLX4_MAD_NEXT_IBA ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
		p->tclass = (uint8_t)(ib_get32(grh) >> 20);
		p->flow_label = ib_get32(grh) & 0xfffff;
		memcpy(p->dgid.raw, grh + 8, sizeof(p->dgid.raw));
		memcpy(p->sgid.raw, grh + 24, sizeof(p->sgid.raw));
		return;
	}
	p->type = IBV_GID_TYPE_ROCE_V2;
	p->tclass = ip[1];
	p->dgid.raw[10] = p->dgid.raw[11] = p->sgid.raw[10] = p->sgid.raw[11] = 0xff;
	memcpy(p->dgid.raw + 12, ip + 12, 4);
	memcpy(p->sgid.raw + 12, ip + 16, 4);
}

/* The way back to where a datagram came from; false: it is for no address of ours. */
static bool
read_path(const struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *grh, struct troce_path *p)
{
	struct troce_dev *dev = r->dev;
	bool tagged = (cqe->vlan_my_qpn & RTE_BE32(MLX4_CQE_CVLAN)) != 0;
	uint16_t tci = rte_be_to_cpu_16(cqe->sl_vid);
	int index;

	memset(p, 0, sizeof(*p));
	read_net(grh, p);
	memcpy(p->dmac.addr_bytes, (const uint8_t *)cqe + MLX4_CQE_UD_SMAC, RTE_ETHER_ADDR_LEN);
	p->smac = dev->mac;
	p->hop_limit = dev->conf.ttl;
	p->vlan = tagged && (tci & 0xfff) != 0 ? tci & 0xfff : TP_ROCE_NO_VLAN;
	p->prio = tagged ? (uint8_t)(tci >> 13) : dev->conf.prio;
	/* An answer goes as the question came. */
	p->untag = !tagged;
	p->sport = SPORT;
	/* What the network marked is not sent back (RFC 3168, 6.1.1). */
	p->tclass &= (uint8_t)~RTE_IPV4_HDR_ECN_MASK;
	index = troce_gid_find(dev, &p->sgid, p->type, p->vlan);
	p->sgid_index = (uint8_t)index;
	return index >= 0;
}

static void
receive(struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *data)
{
	struct troce_mad mad;

	if (!read_path(r, cqe, data, &mad.path))
		return;
	mad.remote_qpn = rte_be_to_cpu_32(cqe->g_mlpath_rqpn) & MLX4_CQE_QPN_MASK;
	memcpy(mad.data, data + IB_GRH_LEN, TROCE_MAD_SIZE);
	troce_mad_input(r->dev, &mad);
}

/* --- life -------------------------------------------------------------------------------------------------- */

static void
context(const struct mlx4_roce *r, uint8_t *ctx, unsigned int sender)
{
	prm_set(ctx, MLX4_QPC_QKEY, MLX4_MAD_QKEY);
	prm_set(ctx, MLX4_QPC_ROCE_MODE, sender != 0 ? MLX4_ROCE_V2 : MLX4_ROCE_V1);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_GRH, 1);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_KEEP_SMAC, 1);
}

static const struct mlx4_mad_ops ops = {"management datagrams", context, receive};

int
mlx4_roce_qp1_create(struct mlx4_roce *r)
{
	return mlx4_mad_create(r, &ops, r->hca->special_qp_base + QP1_FIRST + r->port - 1, r->hca->caps.roce_v2 ? 2 : 1,
			       &r->qp1);
}

void
mlx4_roce_qp1_destroy(struct mlx4_roce *r)
{
	struct mlx4_mad_end *g = r->qp1;

	r->qp1 = NULL;
	if (g != NULL)
		mlx4_mad_destroy(g);
}

unsigned int
mlx4_roce_progress(struct troce_dev *dev)
{
	struct mlx4_roce *r = dev->home;
	unsigned int shown = 0;

	if (unlikely(dev->ib != NULL))
		return mlx4_ib_progress(r);
	if (unlikely(r->qp1 == NULL))
		return 0;
	if (unlikely(atomic_load_explicit(&dev->capturing, memory_order_relaxed)))
		shown = mlx4_roce_capture_poll(r);
	return mlx4_mad_poll(r->qp1, MLX4_MAD_POLL_MAX) + shown;
}
