/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What an open InfiniBand port has beside the objects of verbs: its state and tables, as the subnet manager set them, and
 * QP0 and QP1, whose packets have LIDs [CP 4.9, DP 3.13, 10.4].
 *
 * QP0 exists while a management service wants it; without one the firmware answers subnet management from the wire.
 */
#include <errno.h>

#include "lib/roce/wire/wire.h"

#include "ib_port.h"
#include "mad.h"
#include "drivers/mlx4/hca/port/ib.h"

#define QP1_FIRST 2u /* in the block of special queue pairs, behind both QP0 */
#define PKEY_DEFAULT 0xffffu
#define LNH_BTH 2u
#define LNH_GRH 3u
#define LRH_LEN 8u
#define VL15 15u
#define SPEED_QDR 4u
#define SPEED_FDR10 8u
#define SPEED_FDR 16u
#define SPEED_EDR 32u
#define BATCH 8u

/* What came in one look. */
struct mlx4_ib_batch {
	struct tp_mad_packet pkt[BATCH];
	unsigned int num;
};

/* --- state and tables -------------------------------------------------------------------------------------- */

static int
is_gone(const struct mlx4_roce *r)
{
	return r->hca == NULL || r->hca->dead;
}

/* In the codes of verbs, which go on where those of PortInfo end. */
static uint8_t
speed_of(struct mlx4_roce *r, const struct mlx4_port_ib_info *i)
{
	uint8_t mad[MLX4_MAD_SIZE];

	if (i->ext_speed != 0)
		return i->ext_speed == 1 ? SPEED_FDR : SPEED_EDR;
	if (i->speed == SPEED_QDR &&
	    mlx4_port_ib_try(r->hca, r->port, MLX4_MAD_ATTR_EXT_PORT_INFO, r->port, mad) == 0 &&
	    prm_get(mad, MLX4_EXT_PINFO_FDR10) != 0)
		return SPEED_FDR10;
	return i->speed;
}

int
mlx4_ib_query_port(struct mlx4_roce *r, struct ibv_port_attr *a)
{
	struct mlx4_port_ib_info i;
	int rc;

	if (is_gone(r)) {
		a->state = IBV_PORT_DOWN;
		return 0;
	}
	rc = mlx4_port_ib_info(r->hca, r->port, &i);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	a->state = (enum ibv_port_state)i.state;
	a->max_mtu = (enum ibv_mtu)i.mtu_cap;
	a->active_mtu = (enum ibv_mtu)i.mtu;
	a->gid_tbl_len = RTE_MIN((int)i.guids, (int)TP_ROCE_GIDS);
	a->port_cap_flags = i.cap_mask;
	a->bad_pkey_cntr = i.bad_pkeys;
	a->qkey_viol_cntr = i.bad_qkeys;
	a->pkey_tbl_len = (uint16_t)(1u << r->hca->port[r->port - 1].lg_pkeys);
	a->lid = i.lid;
	atomic_store(&r->lid, i.lid);
	a->sm_lid = i.sm_lid;
	a->lmc = i.lmc;
	a->max_vl_num = i.vl_cap;
	a->sm_sl = i.sm_sl;
	a->subnet_timeout = i.subnet_timeout;
	a->init_type_reply = i.init_reply;
	a->active_width = i.width;
	a->active_speed = speed_of(r, &i);
	a->phys_state = i.phys_state;
	a->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

int
mlx4_ib_query_gid(struct troce_dev *dev, uint32_t index, union ibv_gid *gid)
{
	struct mlx4_roce *r = dev->home;
	struct mlx4_port_ib_info i;
	uint8_t mad[MLX4_MAD_SIZE];
	int rc;

	if (is_gone(r))
		return EIO;
	rc = mlx4_port_ib_info(r->hca, r->port, &i);
	if (rc == 0)
		rc = mlx4_port_ib_get(r->hca, r->port, MLX4_MAD_ATTR_GUID_INFO, index / MLX4_MAD_GUIDS_PER_BLOCK, mad);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	gid->global.subnet_prefix = rte_cpu_to_be_64(i.prefix);
	memcpy(&gid->global.interface_id, mad + MLX4_MAD_DATA + 8 * (index % MLX4_MAD_GUIDS_PER_BLOCK), 8);
	return 0;
}

int
mlx4_ib_query_pkey(struct troce_dev *dev, uint32_t index, uint16_t *pkey)
{
	struct mlx4_roce *r = dev->home;
	uint8_t mad[MLX4_MAD_SIZE];
	int rc;

	if (is_gone(r))
		return EIO;
	rc = mlx4_port_ib_get(r->hca, r->port, MLX4_MAD_ATTR_PKEY_TABLE, index / MLX4_MAD_PKEYS_PER_BLOCK, mad);
	if (rc == 0)
		*pkey = ib_get16(mad + MLX4_MAD_DATA + 2 * (index % MLX4_MAD_PKEYS_PER_BLOCK));
	return mlx4_roce_errno(rc);
}

int
mlx4_ib_port_caps(struct troce_dev *dev, uint32_t set, uint32_t clear)
{
	struct mlx4_roce *r = dev->home;
	struct mlx4_port_ib_info i;
	int rc;

	if (is_gone(r))
		return EIO;
	rc = mlx4_port_ib_info(r->hca, r->port, &i);
	if (rc == 0)
		rc = mlx4_port_ib_caps(r->hca, r->port, (i.cap_mask & ~clear) | set);
	return mlx4_roce_errno(rc);
}

/* --- management datagrams ---------------------------------------------------------------------------------- */

static uint8_t *
put_lrh(uint8_t *h, const struct tp_mad_packet *p, uint16_t len)
{
	h[0] = p->qpn == 0 ? VL15 << 4 : 0;
	h[1] = (uint8_t)(p->sl << 4 | (p->has_grh ? LNH_GRH : LNH_BTH));
	ib_put16(h + 2, p->dlid);
	ib_put16(h + 4, len / 4);
	/* The card adds its LID to the path bits, unless it is told to leave what stands here. */
	ib_put16(h + 6, p->slid == TP_MAD_LID_PERMISSIVE ? TP_MAD_LID_PERMISSIVE : p->path_bits);
	return h + LRH_LEN;
}

static uint8_t *
put_grh(uint8_t *h, const struct tp_mad_packet *p, uint16_t len)
{
	memcpy(h, &p->grh, IB_GRH_LEN);
	ib_put32(h, 6u << 28 | (rte_be_to_cpu_32(p->grh.version_tclass_flow) & 0x0fffffff));
	ib_put16(h + 4, len);
	h[6] = MLX4_MAD_NEXT_IBA;
	return h + IB_GRH_LEN;
}

static uint32_t
put_headers(struct mlx4_mad_end *g, uint8_t *hdr, const struct tp_mad_packet *p, uint16_t pkey)
{
	const uint16_t ib = IB_BTH_LEN + IB_DETH_LEN + TP_MAD_SIZE + IB_ICRC_LEN;
	uint16_t len = (uint16_t)(LRH_LEN + (p->has_grh ? IB_GRH_LEN : 0) + ib);
	uint8_t *h = put_lrh(hdr, p, len);

	if (p->has_grh)
		h = put_grh(h, p, ib);
	ib_bth_put(h, MLX4_MAD_UD_SEND, false, 0, pkey, p->remote_qpn, false, mlx4_mad_psn(g));
	h += IB_BTH_LEN;
	ib_put32(h, p->qpn == 0 ? 0 : p->qkey);
	ib_put32(h + 4, p->qpn);
	return (uint32_t)(h + IB_DETH_LEN - hdr);
}

static int
post(struct mlx4_roce *r, const struct tp_mad_packet *p, uint16_t pkey)
{
	struct mlx4_mad_end *g = p->qpn == 0 ? r->qp0 : r->qp1;
	struct mlx4_mad_out out = {.mad = p->data};

	if (r->dead || r->qp1 == NULL)
		return EIO;
	if (g == NULL)
		return ENOTSUP;
	out.len = put_headers(g, out.hdr, p, pkey);
	out.flags = (uint32_t)p->sl << MLX4_MLX_SL_SHIFT | (p->qpn == 0 ? MLX4_MLX_VL15 : 0) |
		    (p->slid == TP_MAD_LID_PERMISSIVE ? MLX4_MLX_SLR : 0);
	out.where = rte_cpu_to_be_32((uint32_t)p->dlid << MLX4_MLX_RLID_SHIFT);
	return mlx4_mad_post(g, 0, &out);
}

int
mlx4_ib_packet_send(struct troce_dev *dev, const struct tp_mad_packet *p)
{
	struct mlx4_roce *r = dev->home;
	uint16_t pkey = PKEY_DEFAULT;
	int err = 0;

	pthread_mutex_lock(&r->mads);
	if (p->qpn == 1)
		err = mlx4_ib_query_pkey(dev, p->pkey_index, &pkey);
	if (err == 0)
		err = post(r, p, pkey);
	pthread_mutex_unlock(&r->mads);
	return err;
}

/* The GRH is what Linux gives, too: as it came. */
int
mlx4_ib_packet_process(struct troce_dev *dev, const struct tp_mad_packet *in, struct tp_mad_packet *out)
{
	const struct mlx4_mad_from from = {
		.my_qpn = in->qpn,
		.remote_qpn = in->remote_qpn,
		.slid = in->slid,
		.pkey_index = in->pkey_index,
		.sl = in->sl,
		.path_bits = in->path_bits,
		.grh = in->has_grh ? &in->grh : NULL,
	};
	struct mlx4_roce *r = dev->home;
	bool own = in->slid == 0 && in->dlid == 0;
	int rc = -EIO;

	pthread_mutex_lock(&r->mads);
	if (!is_gone(r))
		rc = mlx4_port_ib_mad_ifc(r->hca, r->port, in->data, own ? NULL : &from, out->data);
	pthread_mutex_unlock(&r->mads);
	return mlx4_roce_errno(rc);
}

static void
receive(struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *data, uint32_t qpn)
{
	uint32_t from = rte_be_to_cpu_32(cqe->g_mlpath_rqpn);
	struct tp_mad_packet p = {
		.qpn = qpn,
		.remote_qpn = from & MLX4_CQE_QPN_MASK,
		.qkey = qpn == 0 ? 0 : TP_MAD_QKEY,
		.slid = rte_be_to_cpu_16(cqe->rlid),
		.pkey_index = mlx4_quirk(r->hca, MLX4_QUIRK_PKEY_INDEX) != 0
				      ? 0
				      : rte_be_to_cpu_32(cqe->immed_rss) & MLX4_CQE_PKEY_INDEX_MASK,
		.sl = (uint8_t)(rte_be_to_cpu_16(cqe->sl_vid) >> MLX4_CQE_SL_SHIFT),
		.path_bits = (from >> MLX4_CQE_PATH_BITS_SHIFT) & MLX4_CQE_PATH_BITS_MASK,
		.has_grh = (from & MLX4_CQE_GRH) != 0,
	};

	p.dlid = (uint16_t)(atomic_load(&r->lid) | p.path_bits);
	if (p.has_grh)
		memcpy(&p.grh, data, IB_GRH_LEN);
	memcpy(p.data, data + IB_GRH_LEN, TP_MAD_SIZE);
	r->batch->pkt[r->batch->num++] = p;
}

static void
receive_qp0(struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *data)
{
	receive(r, cqe, data, 0);
}

static void
receive_qp1(struct mlx4_roce *r, const struct mlx4_cqe *cqe, const uint8_t *data)
{
	receive(r, cqe, data, 1);
}

/* --- life -------------------------------------------------------------------------------------------------- */

static void
context_qp0(const struct mlx4_roce *r, uint8_t *ctx, unsigned int sender)
{
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE_QP0(r->port));
}

static void
context_qp1(const struct mlx4_roce *r, uint8_t *ctx, unsigned int sender)
{
	prm_set(ctx, MLX4_QPC_QKEY, MLX4_MAD_QKEY);
}

static const struct mlx4_mad_ops ops_qp0 = {"subnet management", context_qp0, receive_qp0};
static const struct mlx4_mad_ops ops_qp1 = {"general services", context_qp1, receive_qp1};

int
mlx4_ib_qp0(struct troce_dev *dev, bool on)
{
	struct mlx4_roce *r = dev->home;
	int rc = 0;

	pthread_mutex_lock(&r->mads);
	if (is_gone(r)) {
		rc = on ? -EIO : 0;
	} else if (on) {
		rc = mlx4_mad_create(r, &ops_qp0, r->hca->special_qp_base + r->port - 1, 1, &r->qp0);
	} else if (r->qp0 != NULL) {
		mlx4_mad_destroy(r->qp0);
		r->qp0 = NULL;
	}
	pthread_mutex_unlock(&r->mads);
	return mlx4_roce_errno(rc);
}

int
mlx4_ib_mads_start(struct mlx4_roce *r)
{
	return mlx4_mad_create(r, &ops_qp1, r->hca->special_qp_base + QP1_FIRST + r->port - 1, 1, &r->qp1);
}

void
mlx4_ib_mads_stop(struct mlx4_roce *r)
{
	struct mlx4_mad_end **ends[] = {&r->qp0, &r->qp1};
	unsigned int i;

	pthread_mutex_lock(&r->mads);
	for (i = 0; i < RTE_DIM(ends); i++) {
		if (*ends[i] != NULL)
			mlx4_mad_destroy(*ends[i]);
		*ends[i] = NULL;
	}
	pthread_mutex_unlock(&r->mads);
}

/*
 * Under a lock, because QP0 comes and goes with the service. What came is handed out without it: a service sends under a
 * lock of its own, which it takes here, too.
 */
unsigned int
mlx4_ib_progress(struct mlx4_roce *r)
{
	struct mlx4_mad_end **ends[] = {&r->qp0, &r->qp1};
	struct mlx4_ib_batch batch;
	unsigned int n = 0, i, k;

	for (i = 0; i < RTE_DIM(ends); i++) {
		batch.num = 0;
		pthread_mutex_lock(&r->mads);
		r->batch = &batch;
		if (*ends[i] != NULL)
			n += mlx4_mad_poll(*ends[i], BATCH);
		r->batch = NULL;
		pthread_mutex_unlock(&r->mads);
		for (k = 0; k < batch.num; k++)
			troce_mad_port_input(r->dev, &batch.pkt[k]);
	}
	return n;
}
