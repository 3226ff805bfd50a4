/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports of the card in lib/roce: what they can do, opening and closing, and the loss of the card under an open one. */
#include <errno.h>
#include <inttypes.h>

#include <rte_malloc.h>

#include "ib_prm.h"

#include "ib_port.h"
#include "drivers/mlx4/hca/port/ib.h"
#include "drivers/mlx4/qos/qos.h"
#include "verbs.h"

#define MSG_MAX (1u << 30)
#define PKEYS 1u /* of Ethernet ports */
/* Numbers of the speeds and widths that verbs know. */
#define SPEED_SDR 1u
#define SPEED_DDR 2u
#define SPEED_QDR 4u
#define SPEED_FDR 16u
#define WIDTH_1X 1u
#define WIDTH_4X 2u
#define PHYS_POLLING 2u
#define PHYS_LINK_UP 5u

/* --- what there is ----------------------------------------------------------------------------------------- */

static unsigned int
serves(uint16_t port_id)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	return eth != NULL && eth->hca->caps.roce && !eth->hca->dead ? 10 : 0;
}

static bool
marks(uint16_t port_id, bool v2, uint16_t service, struct troce_marks *m)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return false;
	mlx4_qos_lock(eth);
	m->ruled = tp_qos_service(&eth->qos->conf, v2, service, &m->prio, &m->dscp);
	m->untag = eth->qos->conf.tx_untag_priority;
	mlx4_qos_unlock(eth);
	return true;
}

/* --- congestion control: the ethdev's ---------------------------------------------------------------------- */

/* NULL: the card or the port is gone. */
static struct mlx4_eth *
eth_of(const struct troce_dev *dev)
{
	const struct mlx4_roce *r = dev->home;

	return r->hca != NULL ? mlx4_eth_by_port(dev->port_id) : NULL;
}

static int
cc_get(struct troce_dev *dev, unsigned int prio, struct troce_cc *cc)
{
	struct mlx4_eth *eth = eth_of(dev);
	int rc;

	if (eth == NULL)
		return EIO;
	mlx4_qos_lock(eth);
	rc = mlx4_cc_get(eth, prio, &cc->conf, &cc->on);
	mlx4_qos_unlock(eth);
	return mlx4_roce_errno(rc);
}

static int
cc_set(struct troce_dev *dev, unsigned int prio, const struct troce_cc *cc)
{
	struct mlx4_eth *eth = eth_of(dev);
	int rc;

	if (eth == NULL)
		return EIO;
	mlx4_qos_lock(eth);
	rc = mlx4_cc_set(eth, prio, &cc->conf, cc->on);
	mlx4_qos_unlock(eth);
	return mlx4_roce_errno(rc);
}

static int
cc_restore(struct troce_dev *dev, unsigned int prio)
{
	struct mlx4_eth *eth = eth_of(dev);
	int rc;

	if (eth == NULL)
		return EIO;
	mlx4_qos_lock(eth);
	rc = mlx4_cc_take_back(eth, prio);
	mlx4_qos_unlock(eth);
	return mlx4_roce_errno(rc);
}

static int
cc_clear(struct troce_dev *dev, uint8_t prios)
{
	const struct mlx4_roce *r = dev->home;

	return r->hca == NULL ? EIO : mlx4_roce_errno(rte_pmd_mlx4_cc_clear(dev->port_id, prios));
}

/* --- what it is ---------------------------------------------------------------------------------------------- */

/* Queue pairs and completion queues share the UAR pages, each has one. */
static void
fill_device(const struct mlx4_roce *r, struct ibv_device_attr *a)
{
	const struct mlx4_caps *c = &r->hca->caps;
	int uars = (int)(c->num_uars - RTE_MAX(MLX4_UAR_EQ_PAGES, c->rsvd_uars));

	snprintf(a->fw_ver, sizeof(a->fw_ver), "%u.%u.%u", c->fw_major, c->fw_minor, c->fw_subminor);
	a->node_guid = rte_cpu_to_be_64(r->hca->node_guid);
	a->sys_image_guid = rte_cpu_to_be_64(r->hca->node_guid + 3);
	a->max_mr_size = UINT64_C(1) << 40;
	a->page_size_cap = ~UINT64_C(0xfff);
	a->vendor_id = IB_VENDOR_MELLANOX;
	a->vendor_part_id = r->hca->bus->device_id;
	a->max_qp = RTE_MIN((int)r->num_qps / 2, uars);
	a->max_qp_wr = (int)(c->max_qp_wqes - MLX4_SQ_HEADROOM_TXBBS);
	a->max_sge = (int)RTE_MIN(c->max_sq_sge, c->max_rq_sge);
	a->max_cq = RTE_MIN((int)r->num_cqs, uars);
	a->max_cqe = (int)c->max_cqes - 1;
	a->max_mr = (int)r->limits.keys;
	a->max_mw = c->mw ? (int)r->limits.keys : 0;
	a->max_pd = (int)r->limits.pds;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = (int)RTE_MIN(16u, RTE_MIN(c->max_rdma_req, c->max_rdma_rsp));
	a->max_res_rd_atom = a->max_qp_rd_atom * a->max_qp;
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->max_mcast_grp = 8192;
	a->max_mcast_qp_attach = c->dmfs_max_qps;
	a->max_total_mcast_qp_attach = a->max_mcast_grp * a->max_mcast_qp_attach;
	a->max_ah = 1 << 20;
	a->max_srq = (int)r->num_srqs;
	a->max_srq_wr = (int)c->max_srq_wqes - 1;
	a->max_srq_sge = (int)c->max_rq_sge - 1;
	a->max_pkeys = r->dev->port.pkey_tbl_len;
	a->local_ca_ack_delay = (uint8_t)c->ack_delay;
	a->phys_port_cnt = 1;
	a->device_cap_flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT;
	if (c->mw)
		a->device_cap_flags |= IBV_DEVICE_MEM_WINDOW;
	if (c->fast_reg && c->local_inv)
		a->device_cap_flags |= IBV_DEVICE_MEM_MGT_EXTENSIONS;
	if (r->dev->ib != NULL && ((c->flags >> MLX4_DEV_FLAG_IPOIB_CSUM) & 1) != 0)
		a->device_cap_flags |= IBV_DEVICE_UD_IP_CSUM | (c->max_gso != 0 ? TP_ROCE_DEVICE_UD_TSO : 0);
	if (r->dev->ib == NULL) {
		a->device_cap_flags |= IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING;
		a->max_raw_ethy_qp = a->max_qp;
	}
	if (c->mw2)
		a->device_cap_flags |= c->mw2b ? IBV_DEVICE_MEM_WINDOW_TYPE_2B : IBV_DEVICE_MEM_WINDOW_TYPE_2A;
}

static void
fill_speed(uint32_t mbps, struct ibv_port_attr *a)
{
	a->active_width = mlx4_port_lanes(mbps) == 4 ? WIDTH_4X : WIDTH_1X;
	a->active_speed = mbps >= 56000 ? SPEED_FDR : mbps >= 40000 || mbps == 10000 ? SPEED_QDR : SPEED_SDR;
	if (mbps == 20000)
		a->active_speed = SPEED_DDR;
}

static int
query_port(struct troce_dev *dev, struct ibv_port_attr *attr)
{
	struct mlx4_roce *r = dev->home;
	struct mlx4_port_info info = {0};
	int rc = 0;

	if (dev->ib != NULL)
		return mlx4_ib_query_port(r, attr);
	if (r->hca != NULL && !r->hca->dead)
		rc = mlx4_port_query(r->hca, r->port, &info);
	attr->state = info.link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->phys_state = info.link_up ? PHYS_LINK_UP : PHYS_POLLING;
	fill_speed(info.speed, attr);
	return mlx4_roce_errno(rc);
}

static void
fill_port(struct mlx4_roce *r, struct ibv_port_attr *a)
{
	a->max_mtu = IBV_MTU_4096;
	a->gid_tbl_len = MLX4_GID_ENTRIES;
	a->max_msg_sz = MSG_MAX;
	a->pkey_tbl_len = PKEYS;
}

/* --- life -------------------------------------------------------------------------------------------------- */

static int
tables_create(struct mlx4_roce *r)
{
	mlx4_hca_limits(r->hca, &r->limits);
	r->num_qps = r->limits.qps;
	r->num_cqs = r->limits.cqs;
	r->num_srqs = r->limits.srqs;
	r->qp_of = rte_zmalloc_socket("mlx4_roce", r->num_qps * sizeof(*r->qp_of), 0, r->dev->numa_node);
	r->cq_of = rte_zmalloc_socket("mlx4_roce", r->num_cqs * sizeof(*r->cq_of), 0, r->dev->numa_node);
	r->srq_of = rte_zmalloc_socket("mlx4_roce", r->num_srqs * sizeof(*r->srq_of), 0, r->dev->numa_node);
	return r->qp_of == NULL || r->cq_of == NULL || r->srq_of == NULL ? -ENOMEM : 0;
}

static void
tables_destroy(struct mlx4_roce *r)
{
	rte_free(r->qp_of);
	rte_free(r->cq_of);
	rte_free(r->srq_of);
}

/*
 * What the card lacks falls back to the best that it has. Beside InfiniBand on port 2 port 1 has RoCE: v1 when the types
 * were asked for, while with types that the wires decided the wish is refused [V-1].
 */
static int
choose_mode(struct troce_dev *dev, const struct mlx4_roce *r, struct mlx4_eth *eth)
{
	if (dev->mode == TP_ROCE_V2 && !r->hca->caps.roce_v2)
		dev->mode = TP_ROCE_V1;
	if (dev->mode != TP_ROCE_OFF || r->port != 1 || (r->hca->ib_ports & 2) == 0)
		return 0;
	if (r->hca->sensed_ports != 0) {
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_PORT_TYPE_REFUSED, 0,
			      "%s: RoCE off: port 2 of the card was sensed as InfiniBand, which port 1 without RoCE "
			      "cannot be "
			      "beside; port-type0=eth,port-type1=ib asks for both, with RoCE v1",
			      dev->where);
		return -ENOTSUP;
	}
	dev->mode = TP_ROCE_V1;
	TROCE_LOG(NOTICE, "%s: port 2 of the card is InfiniBand, which port 1 without RoCE cannot be beside: v1",
		  dev->where);
	return 0;
}

static int
port_setup(struct mlx4_roce *r)
{
	int rc = 0;

	if (r->dev->ib != NULL)
		return mlx4_port_ib_up(r->hca, r->port);
	if (r->hca->caps.roce_v2) {
		rc = mlx4_port_roce_mode(r->hca, r->port, true);
		if (rc == 0)
			rc = mlx4_port_roce_udp_port(r->hca, r->dev->conf.udp_port);
	}
	return rc == 0 ? mlx4_roce_gids_init(r) : rc;
}

/* Which port of which card: an ethdev's, or one of InfiniBand. */
static int
find_port(struct mlx4_roce *r)
{
	struct troce_dev *dev = r->dev;
	struct mlx4_ib_port *ib;
	struct mlx4_eth *eth;

	if (dev->ib != NULL) {
		ib = dev->ib->home;
		r->hca = ib->hca;
		r->port = ib->port;
		r->bf = ib->bf;
		return r->hca->dead ? mlx4_ib_port_revive(ib) : 0;
	}
	eth = mlx4_eth_by_port(dev->port_id);
	if (eth == NULL || !eth->hca->caps.roce)
		return -ENOTSUP;
	r->hca = eth->hca;
	r->port = eth->port;
	r->bf = eth->args.bf;
	return choose_mode(dev, r, eth);
}

static void
locks_init(struct mlx4_roce *r)
{
	pthread_mutex_init(&r->mads, NULL);
	pthread_mutex_init(&r->tables, NULL);
	pthread_mutex_init(&r->capture_lock, NULL);
}

static void
locks_fini(struct mlx4_roce *r)
{
	pthread_mutex_destroy(&r->capture_lock);
	pthread_mutex_destroy(&r->tables);
	pthread_mutex_destroy(&r->mads);
}

/* An Ethernet port stays as it is. */
static void
port_leave(struct mlx4_roce *r)
{
	if (r->dev->ib != NULL && !r->hca->dead)
		mlx4_port_close(r->hca, r->port);
}

static int
mads_start(struct mlx4_roce *r)
{
	return r->dev->ib != NULL ? mlx4_ib_mads_start(r) : mlx4_roce_qp1_create(r);
}

static void
mads_stop(struct mlx4_roce *r)
{
	if (r->dev->ib != NULL)
		mlx4_ib_mads_stop(r);
	else
		mlx4_roce_qp1_destroy(r);
}

static int
open_port(struct troce_dev *dev)
{
	struct mlx4_roce *r = dev->home;
	struct ibv_context_ops *ops = &dev->vctx.context.ops;
	int rc;

	r->dev = dev;
	rc = find_port(r);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	locks_init(r);
	rc = tables_create(r);
	if (rc == 0)
		rc = port_setup(r);
	if (rc != 0)
		goto err_setup;
	fill_port(r, &dev->port);
	rc = -query_port(dev, &dev->port);
	if (rc != 0)
		goto err_setup;
	fill_device(r, &dev->attr);
	rte_strlcpy(dev->board_id, r->hca->caps.board_id, sizeof(dev->board_id));
	mlx4_roce_rss_caps(r, &dev->rss);
	dev->max_tso = dev->ib == NULL ? r->hca->caps.max_gso : 0;
	dev->max_inline = mlx4_roce_inline_fit(sizeof(struct mlx4_wqe_ctrl) + MLX4_DGRAM_SIZE, MLX4_SEND_WQE_MAX);
	ops->post_send = mlx4_roce_post_send;
	ops->post_recv = mlx4_roce_post_recv;
	ops->post_srq_recv = mlx4_roce_post_srq_recv;
	ops->poll_cq = r->hca->bus->polled != NULL ? mlx4_roce_poll_cq_run : mlx4_roce_poll_cq;
	ops->req_notify_cq = r->hca->bus->polled != NULL ? mlx4_roce_req_notify_cq_rest : mlx4_roce_req_notify_cq;
	dev->vctx.context.num_comp_vectors = 1;
	mlx4_roce_polled_start(r, r->hca->bus);
	rc = mlx4_roce_events_start(r);
	if (rc != 0)
		goto err_setup;
	rc = mads_start(r);
	if (rc != 0)
		goto err_mads;
	mlx4_roce_open_add(r);
	if (dev->ib == NULL)
		mlx4_port_roce_version_set(r->hca, r->port, dev->mode == TP_ROCE_V2 ? 2 : dev->mode == TP_ROCE_V1);
	return 0;

err_mads:
	mlx4_roce_events_stop(r);
err_setup:
	port_leave(r);
	tables_destroy(r);
	locks_fini(r);
	return mlx4_roce_errno(rc);
}

static void
close_port(struct troce_dev *dev)
{
	struct mlx4_roce *r = dev->home;
	static const struct troce_gid none[TP_ROCE_GIDS];

	mlx4_roce_polled_stop(r);
	if (r->hca != NULL) {
		mlx4_roce_open_del(r);
		if (dev->ib == NULL) {
			mlx4_port_roce_version_set(r->hca, r->port, 0);
			mlx4_roce_set_gids(dev, none);
		}
		mlx4_roce_events_stop(r);
		mads_stop(r);
		port_leave(r);
	}
	tables_destroy(r);
	locks_fini(r);
}

void
mlx4_roce_detach(struct mlx4_roce *r)
{
	struct mlx4_roce_qp *q;
	struct mlx4_roce_cq *cq;
	struct mlx4_roce_srq *s;

	if (r == NULL)
		return;
	TROCE_LOG(WARNING, "%s: the port was closed or reset; what is open on it for RoCE can only be closed",
		  r->dev->where);
	/* A management service that is called now may wait for the port. */
	if (r->dev->ib != NULL)
		mlx4_ib_mads_stop(r);
	pthread_mutex_lock(&r->dev->lock);
	mlx4_roce_polled_stop(r);
	mlx4_roce_events_stop(r);
	mlx4_roce_dead(r);
	mlx4_roce_capture_stop(r);
	mlx4_roce_qp1_destroy(r);
	/* In the order of who refers to whom. */
	LIST_FOREACH(q, &r->qps, next)
	mlx4_roce_qp_detach(q);
	LIST_FOREACH(s, &r->srqs, next)
	mlx4_roce_srq_detach(s);
	LIST_FOREACH(cq, &r->cqs, next)
	mlx4_roce_cq_detach(cq);
	mlx4_roce_keys_detach(r);
	port_leave(r);
	mlx4_roce_open_del(r);
	if (r->dev->ib == NULL)
		mlx4_port_roce_version_set(r->hca, r->port, 0);
	/* Whoever sends a management datagram now has seen the card, or sees that it is gone. */
	pthread_mutex_lock(&r->mads);
	r->hca = NULL;
	pthread_mutex_unlock(&r->mads);
	pthread_mutex_unlock(&r->dev->lock);
}

const struct troce_provider mlx4_roce_provider = {
	.name = "mlx4",
	.dev_size = sizeof(struct mlx4_roce),
	.pd_size = sizeof(struct mlx4_roce_pd),
	.mr_size = sizeof(struct mlx4_roce_mr),
	.mw_size = sizeof(struct mlx4_roce_mw),
	.cq_size = sizeof(struct mlx4_roce_cq),
	.qp_size = sizeof(struct mlx4_roce_qp),
	.srq_size = sizeof(struct mlx4_roce_srq),
	.ah_size = sizeof(struct mlx4_roce_ah),
	.flow_size = sizeof(struct mlx4_roce_flow),
	.serves = serves,
	.marks = marks,
	.open = open_port,
	.close = close_port,
	.query_port = query_port,
	.set_gids = mlx4_roce_set_gids,
	.alloc_pd = mlx4_roce_alloc_pd,
	.dealloc_pd = mlx4_roce_dealloc_pd,
	.reg_mr = mlx4_roce_reg_mr,
	.rereg_mr = mlx4_roce_rereg_mr,
	.dereg_mr = mlx4_roce_dereg_mr,
	.alloc_mr = mlx4_roce_alloc_mr,
	.alloc_mw = mlx4_roce_alloc_mw,
	.dealloc_mw = mlx4_roce_dealloc_mw,
	.create_cq = mlx4_roce_create_cq,
	.modify_cq = mlx4_roce_modify_cq,
	.resize_cq = mlx4_roce_resize_cq,
	.destroy_cq = mlx4_roce_destroy_cq,
	.create_srq = mlx4_roce_create_srq,
	.modify_srq = mlx4_roce_modify_srq,
	.query_srq = mlx4_roce_query_srq,
	.destroy_srq = mlx4_roce_destroy_srq,
	.recall_srq = mlx4_roce_recall_srq,
	.create_qp = mlx4_roce_create_qp,
	.modify_qp = mlx4_roce_modify_qp,
	.query_qp = mlx4_roce_query_qp,
	.destroy_qp = mlx4_roce_destroy_qp,
	.reserve_qpns = mlx4_roce_reserve_qpns,
	.release_qpns = mlx4_roce_release_qpns,
	.create_ah = mlx4_roce_create_ah,
	.destroy_ah = mlx4_roce_destroy_ah,
	.attach_mcast = mlx4_roce_attach_mcast,
	.detach_mcast = mlx4_roce_detach_mcast,
	.create_flow = mlx4_roce_create_flow,
	.destroy_flow = mlx4_roce_destroy_flow,
	.mad_send = mlx4_roce_mad_send,
	.progress = mlx4_roce_progress,
	.stats = mlx4_roce_stats,
	.cc_get = cc_get,
	.cc_set = cc_set,
	.cc_restore = cc_restore,
	.cc_clear = cc_clear,
	.cc_has = mlx4_cc_has,
	.capture = mlx4_roce_capture,
	.mem_open = mlx4_roce_mem_open,
	.mem_close = mlx4_roce_mem_close,
	.vector_get = mlx4_roce_vector_get,
	.vector_put = mlx4_roce_vector_put,
	.view_uars = mlx4_roce_view_uars,
	.view_cq = mlx4_roce_view_cq,
	.view_qp = mlx4_roce_view_qp,
	.view_srq = mlx4_roce_view_srq,
	.view_ah = mlx4_roce_view_ah,
	.query_gid = mlx4_ib_query_gid,
	.query_pkey = mlx4_ib_query_pkey,
	.packet_send = mlx4_ib_packet_send,
	.packet_process = mlx4_ib_packet_process,
	.packet_qp0 = mlx4_ib_qp0,
	.port_caps = mlx4_ib_port_caps,
};
TROCE_PROVIDER(mlx4_roce_provider)
