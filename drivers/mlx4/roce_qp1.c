/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * QP1: management datagrams [DP 3.13, 10.4]. The card delivers those of a port to its special queue pair; what is sent is a
 * whole packet but for its CRC. A queue pair has one encapsulation, so that version 2 leaves by a second one, which
 * receives nothing.
 */
#include <errno.h>

#include <rte_io.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_udp.h>

#include <net.h>
#include <wire.h>

#include "roce.h"

#define QP1_FIRST 2u /* in the block of special queue pairs, behind both QP0 */
#define WIRE_QPN 1u
#define QKEY 0x80010000u
#define PKEY 0xffffu
#define OPCODE_UD_SEND 0x64u
#define NEXT_IBA 0x1bu /* GRH: a BTH follows */
#define ETYPE_ROCE 0x8915u
#define SPORT 0xc000u
#define LG_SENDS 5u
#define SENDS (1u << LG_SENDS)
#define LG_SEND_STRIDE 8u
#define SEND_SPARE ((MLX4_SQ_PREFETCH_BYTES >> LG_SEND_STRIDE) + 1u)
#define RECVS 64u
#define RECV_ROOM 320u /* GRH and datagram, rounded up */
#define LG_RECV_STRIDE 5u
#define CQES 256u
#define LG_MSG 11u
#define HDR_MAX 96u

/* A send queue; the first one's queue pair is QP1 itself. */
struct sender {
	struct mlx4_qp hw;
	uint32_t uar, head, tail;
	bool made, reserved;
};

struct mlx4_roce_qp1 {
	struct mlx4_roce *home;
	pthread_mutex_t lock; /* of the send queues */
	struct sender s[2];
	unsigned int senders;
	struct mlx4_cq cq;
	uint32_t cq_uar, ci, psn;
	struct mlx4_dma buf;
	uint8_t *sends, *recvs; /* in buf */
	uint32_t rq_head;
	uint64_t dropped;
	bool has_cq;
};

/* --- life -------------------------------------------------------------------------------------------------- */

static int
qp_up(struct mlx4_roce_qp1 *g, struct sender *s, bool v2)
{
	static const enum mlx4_qp_state to[] = {MLX4_QP_INIT, MLX4_QP_RTR, MLX4_QP_RTS};
	struct mlx4_hca *hca = g->home->hca;
	uint8_t *ctx = s->hw.ctx;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < SENDS << LG_SEND_STRIDE; i += MLX4_TXBB_SIZE)
		prm_set32(s->hw.sq, i, UINT32_MAX);
	prm_set(ctx, MLX4_QPC_MTU, IBV_MTU_4096);
	prm_set(ctx, MLX4_QPC_LG_MSG, LG_MSG);
	prm_set(ctx, MLX4_QPC_QKEY, QKEY);
	prm_set(ctx, MLX4_QPC_ROCE_MODE, v2 ? MLX4_ROCE_V2 : MLX4_ROCE_V1);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_GRH, 1);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_KEEP_SMAC, 1);
	for (i = 0; rc == 0 && i < RTE_DIM(to); i++)
		rc = mlx4_qp_step(hca, &s->hw, to[i], 0, false);
	return rc;
}

static int
sender_create(struct mlx4_roce_qp1 *g, bool v2)
{
	struct mlx4_roce *r = g->home;
	struct sender *s = &g->s[g->senders];
	struct mlx4_vqp_attr a = {
		.port = r->port,
		.service = MLX4_QP_ST_MLX,
		.pd = r->hca->pd,
		.cqn_send = g->cq.cqn,
		.cqn_recv = g->cq.cqn,
		.lg_sq = LG_SENDS,
		.lg_sq_stride = LG_SEND_STRIDE,
		.lg_rq_stride = LG_RECV_STRIDE,
		.rq_entries = v2 ? 0 : RECVS,
		.numa_node = r->dev->numa_node,
	};
	uint32_t qpn = r->hca->special_qp_base + QP1_FIRST + r->port - 1;
	int rc;

	rc = mlx4_uar_alloc(r->hca, &s->uar);
	if (rc != 0)
		return rc;
	g->senders++;
	if (v2) {
		rc = mlx4_qpn_reserve_fresh(r->hca, &qpn);
		if (rc != 0)
			return rc;
		s->reserved = true;
	}
	a.uar = s->uar;
	s->hw.qpn = qpn;
	rc = mlx4_vqp_create(r->hca, qpn, &a, &s->hw);
	if (rc != 0)
		return rc;
	s->made = true;
	return qp_up(g, s, v2);
}

static void
sender_destroy(struct mlx4_roce_qp1 *g, struct sender *s)
{
	struct mlx4_hca *hca = g->home->hca;
	uint32_t qpn = s->hw.qpn;

	if (s->made) {
		mlx4_qp_step(hca, &s->hw, MLX4_QP_RST, 0, false);
		mlx4_qp_destroy(hca, &s->hw);
	}
	if (s->reserved)
		mlx4_qpn_release(hca, qpn, 1);
	mlx4_uar_free(hca, s->uar);
}

static void
post_recv(struct mlx4_roce_qp1 *g, uint32_t slot)
{
	struct mlx4_wqe_data *w = (void *)(g->s[0].hw.rq + ((size_t)(g->rq_head & (RECVS - 1)) << LG_RECV_STRIDE));

	w[0].byte_count = RTE_BE32(RECV_ROOM);
	w[0].lkey = rte_cpu_to_be_32(g->home->hca->pa_key);
	w[0].addr = rte_cpu_to_be_64(g->buf.iova + (uint64_t)(g->recvs - (uint8_t *)g->buf.va) +
				     (uint64_t)slot * RECV_ROOM);
	w[1].byte_count = 0;
	w[1].lkey = RTE_BE32(MLX4_LKEY_INVALID);
	g->rq_head++;
	rte_io_wmb();
	*g->s[0].hw.dbrec = rte_cpu_to_be_32(g->rq_head & 0xffff);
}

static int
memory_create(struct mlx4_roce_qp1 *g)
{
	struct mlx4_roce *r = g->home;
	size_t sends = 2 * SENDS * (size_t)TP_ROCE_MAD_SIZE;
	int rc;

	rc = mlx4_dma_alloc(r->hca, "management datagrams", sends + RECVS * (size_t)RECV_ROOM, RTE_CACHE_LINE_SIZE,
			    r->dev->numa_node, &g->buf);
	if (rc != 0)
		return rc;
	g->sends = g->buf.va;
	g->recvs = g->sends + sends;
	rc = mlx4_uar_alloc(r->hca, &g->cq_uar);
	if (rc != 0)
		return rc;
	rc = mlx4_cq_create(r->hca, CQES, g->cq_uar, -1, r->dev->numa_node, &g->cq);
	if (rc != 0) {
		mlx4_uar_free(r->hca, g->cq_uar);
		return rc;
	}
	g->has_cq = true;
	return 0;
}

int
mlx4_roce_qp1_create(struct mlx4_roce *r)
{
	struct mlx4_roce_qp1 *g = rte_zmalloc_socket("mlx4_qp1", sizeof(*g), 0, r->dev->numa_node);
	uint32_t i;
	int rc;

	if (g == NULL)
		return -ENOMEM;
	g->home = r;
	pthread_mutex_init(&g->lock, NULL);
	r->qp1 = g;
	rc = memory_create(g);
	if (rc == 0)
		rc = sender_create(g, false);
	if (rc == 0 && r->hca->caps.roce_v2)
		rc = sender_create(g, true);
	if (rc != 0) {
		TP_ROCE_LOG(ERR, "port %u: no queue pair for management datagrams: %s", r->dev->port_id, strerror(-rc));
		mlx4_roce_qp1_destroy(r);
		return rc;
	}
	for (i = 0; i < RECVS; i++)
		post_recv(g, i);
	return 0;
}

void
mlx4_roce_qp1_destroy(struct mlx4_roce *r)
{
	struct mlx4_roce_qp1 *g = r->qp1;

	if (g == NULL)
		return;
	r->qp1 = NULL;
	while (g->senders > 0)
		sender_destroy(g, &g->s[--g->senders]);
	if (g->has_cq) {
		mlx4_cq_destroy(r->hca, &g->cq);
		mlx4_uar_free(r->hca, g->cq_uar);
	}
	mlx4_dma_free(&g->buf);
	pthread_mutex_destroy(&g->lock);
	rte_free(g);
}

/* --- sending ----------------------------------------------------------------------------------------------- */

static uint8_t *
put_eth(uint8_t *h, const struct tp_roce_path *p, uint16_t etype)
{
	memcpy(h, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
	memcpy(h + RTE_ETHER_ADDR_LEN, p->smac.addr_bytes, RTE_ETHER_ADDR_LEN);
	h += 2 * RTE_ETHER_ADDR_LEN;
	if (p->vlan != TP_ROCE_NO_VLAN) {
		ib_put16(h, RTE_ETHER_TYPE_VLAN);
		ib_put16(h + 2, (uint16_t)(p->prio << 13 | p->vlan));
		h += RTE_VLAN_HLEN;
	}
	ib_put16(h, etype);
	return h + 2;
}

/* A GRH is an IPv6 header with a next header of its own (8.3). */
static uint8_t *
put_ipv6(uint8_t *h, const struct tp_roce_path *p, uint8_t next, uint16_t len)
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
put_ipv4(uint8_t *h, const struct tp_roce_path *p, uint16_t len)
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
put_headers(struct mlx4_roce_qp1 *g, uint8_t *hdr, const struct tp_roce_mad *mad)
{
	const uint16_t ib = IB_BTH_LEN + IB_DETH_LEN + TP_ROCE_MAD_SIZE + IB_ICRC_LEN;
	const uint16_t udp = ib + sizeof(struct rte_udp_hdr);
	const struct tp_roce_path *p = &mad->path;
	uint8_t *h;

	if (p->type != IBV_GID_TYPE_ROCE_V2) {
		h = put_ipv6(put_eth(hdr, p, ETYPE_ROCE), p, NEXT_IBA, ib);
	} else {
		h = is_ipv4(&p->sgid) ? put_ipv4(put_eth(hdr, p, RTE_ETHER_TYPE_IPV4), p, udp)
				      : put_ipv6(put_eth(hdr, p, RTE_ETHER_TYPE_IPV6), p, IPPROTO_UDP, udp);
		ib_put16(h, p->sport != 0 ? p->sport : SPORT);
		ib_put16(h + 2, g->home->dev->conf.udp_port);
		ib_put16(h + 4, udp);
		ib_put16(h + 6, 0);
		h += sizeof(struct rte_udp_hdr);
	}
	ib_bth_put(h, OPCODE_UD_SEND, false, 0, PKEY, mad->remote_qpn, false, g->psn++ & IB_PSN_MASK);
	h += IB_BTH_LEN;
	ib_put32(h, QKEY);
	ib_put32(h + 4, WIRE_QPN);
	return (uint32_t)(h + IB_DETH_LEN - hdr);
}

/* Headers inline, which cross into a second block; returns where the next segment goes. */
static uint8_t *
put_inline(uint8_t *seg, const uint8_t *data, uint32_t len)
{
	uint32_t n = RTE_MIN(len, MLX4_TXBB_SIZE - (uint32_t)sizeof(struct mlx4_wqe_ctrl) - 4);

	prm_set32(seg, 0, MLX4_DATA_INLINE | n);
	memcpy(seg + 4, data, n);
	if (len == n)
		return seg + RTE_ALIGN_CEIL(4 + n, MLX4_DS_SIZE);
	seg += 4 + n;
	memcpy(seg + 4, data + n, len - n);
	rte_io_wmb();
	prm_set32(seg, 0, MLX4_DATA_INLINE | (len - n));
	return seg + RTE_ALIGN_CEIL(4 + len - n, MLX4_DS_SIZE);
}

static uint8_t *
put_payload(struct mlx4_roce_qp1 *g, uint8_t *seg, const uint8_t *data)
{
	struct mlx4_wqe_data *d = (void *)seg;

	d->addr = rte_cpu_to_be_64(g->buf.iova + (uint64_t)(data - (uint8_t *)g->buf.va));
	d->lkey = rte_cpu_to_be_32(g->home->hca->pa_key);
	rte_io_wmb();
	d->byte_count = RTE_BE32(TP_ROCE_MAD_SIZE);
	seg += sizeof(*d);
	/* Room for the CRC, which the card fills in. */
	prm_set32(seg, 4, 0);
	rte_io_wmb();
	prm_set32(seg, 0, MLX4_DATA_INLINE | MLX4_MLX_ICRC_SIZE);
	return seg + MLX4_DS_SIZE;
}

static void
post_mad(struct mlx4_roce_qp1 *g, unsigned int queue, const struct tp_roce_mad *mad)
{
	struct sender *s = &g->s[queue];
	uint32_t at = s->head & (SENDS - 1), off;
	uint8_t *wqe = s->hw.sq + ((size_t)at << LG_SEND_STRIDE), hdr[HDR_MAX], *end, *data;
	uint8_t *ahead = s->hw.sq + ((size_t)((s->head + SEND_SPARE) & (SENDS - 1)) << LG_SEND_STRIDE);
	struct mlx4_wqe_ctrl *c = (void *)wqe;
	const uint8_t *dmac = mad->path.dmac.addr_bytes;
	bool own = rte_is_same_ether_addr(&mad->path.dmac, &mad->path.smac);

	data = g->sends + ((size_t)queue * SENDS + at) * TP_ROCE_MAD_SIZE;
	memcpy(data, mad->data, TP_ROCE_MAD_SIZE);
	end = put_inline(wqe + sizeof(*c), hdr, put_headers(g, hdr, mad));
	end = put_payload(g, end, data);
	c->vlan_ds = rte_cpu_to_be_32((uint32_t)mad->path.prio << MLX4_MLX_PRIO_SHIFT |
				      (uint32_t)(end - wqe) / MLX4_DS_SIZE);
	c->flags = rte_cpu_to_be_32((uint32_t)ib_get16(dmac) << MLX4_MLX_DMAC_HI_SHIFT | MLX4_CTRL_CQE |
				    (own ? MLX4_CTRL_FL : 0));
	memcpy(&c->imm, dmac + 2, sizeof(c->imm));
	for (off = MLX4_TXBB_SIZE; off < 1u << LG_SEND_STRIDE; off += MLX4_TXBB_SIZE)
		prm_set32(ahead, off, UINT32_MAX);
	rte_io_wmb();
	c->owner_opcode = rte_cpu_to_be_32(MLX4_OP_SEND | (s->head & SENDS ? MLX4_CTRL_OWN : 0));
	s->head++;
	rte_io_wmb();
	*(volatile rte_be32_t *)(volatile void *)(mlx4_uar_addr(g->home->hca, s->uar) + MLX4_UAR_SEND_DB) =
		rte_cpu_to_be_32(s->hw.qpn << 8);
}

int
mlx4_roce_mad_send(struct tp_roce_dev *dev, const struct tp_roce_mad *mad)
{
	struct mlx4_roce *r = dev->home;
	struct mlx4_roce_qp1 *g = r->qp1;
	unsigned int queue = mad->path.type == IBV_GID_TYPE_ROCE_V2;
	int err = 0;

	if (g == NULL || r->dead)
		return EIO;
	if (queue >= g->senders)
		return EINVAL;
	pthread_mutex_lock(&g->lock);
	if (g->s[queue].head - g->s[queue].tail >= SENDS - SEND_SPARE)
		err = EAGAIN;
	else
		post_mad(g, queue, mad);
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* --- receiving --------------------------------------------------------------------------------------------- */

/* The sender's GID and ours, and which version brought it, from the 40 bytes in front [DP 10.4]. */
static void
read_net(const uint8_t *grh, struct tp_roce_path *p)
{
	const uint8_t *ip = grh + IB_GRH_LEN - sizeof(struct rte_ipv4_hdr);

	memset(&p->sgid, 0, sizeof(p->sgid));
	memset(&p->dgid, 0, sizeof(p->dgid));
	if (grh[0] >> 4 == 6) {
		p->type = grh[6] == NEXT_IBA ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
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
read_path(const struct mlx4_roce_qp1 *g, const struct mlx4_cqe *cqe, const uint8_t *grh, struct tp_roce_path *p)
{
	struct tp_roce_dev *dev = g->home->dev;
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
	p->sport = SPORT;
	index = tp_roce_gid_find(dev, &p->sgid, p->type, p->vlan);
	p->sgid_index = (uint8_t)index;
	return index >= 0;
}

static void
receive(struct mlx4_roce_qp1 *g, const struct mlx4_cqe *cqe)
{
	uint32_t slot = rte_be_to_cpu_16(cqe->wqe_index) & (RECVS - 1);
	const uint8_t *p = g->recvs + (size_t)slot * RECV_ROOM;
	struct tp_roce_mad mad;

	if (rte_be_to_cpu_32(cqe->byte_cnt) == IB_GRH_LEN + TP_ROCE_MAD_SIZE && read_path(g, cqe, p, &mad.path)) {
		mad.remote_qpn = rte_be_to_cpu_32(cqe->g_mlpath_rqpn) & MLX4_CQE_QPN_MASK;
		memcpy(mad.data, p + IB_GRH_LEN, TP_ROCE_MAD_SIZE);
		tp_roce_mad_input(g->home->dev, &mad);
	} else {
		g->dropped++;
	}
	post_recv(g, slot);
}

static void
sent(struct mlx4_roce_qp1 *g, const struct mlx4_cqe *cqe)
{
	uint32_t qpn = rte_be_to_cpu_32(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
	struct sender *s = &g->s[g->senders > 1 && g->s[1].hw.qpn == qpn];

	pthread_mutex_lock(&g->lock);
	s->tail += (uint16_t)(rte_be_to_cpu_16(cqe->wqe_index) - (uint16_t)s->tail) + 1;
	pthread_mutex_unlock(&g->lock);
}

unsigned int
mlx4_roce_progress(struct tp_roce_dev *dev)
{
	struct mlx4_roce *r = dev->home;
	struct mlx4_roce_qp1 *g = r->qp1;
	unsigned int n = 0, shown = 0;

	if (unlikely(g == NULL))
		return 0;
	if (unlikely(atomic_load_explicit(&dev->capturing, memory_order_relaxed)))
		shown = mlx4_roce_capture_poll(r);
	for (; n < RECVS; n++) {
		const struct mlx4_cqe *cqe = &g->cq.cqes[g->ci & (CQES - 1)];
		uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

		if ((op & MLX4_CQE_OWNER) != ((g->ci & CQES) != 0 ? MLX4_CQE_OWNER : 0))
			break;
		rte_io_rmb();
		if ((op & MLX4_CQE_IS_SEND) != 0)
			sent(g, cqe);
		else if ((op & MLX4_CQE_OPCODE_MASK) != MLX4_CQE_ERROR)
			receive(g, cqe);
		g->ci++;
	}
	if (n != 0)
		*g->cq.dbrec = rte_cpu_to_be_32(g->ci & MLX4_CQ_CI_MASK);
	return n + shown;
}
