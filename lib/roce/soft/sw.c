/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The provider "sw": opening and closing a port, what it can, its addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_random.h>
#include <rte_ring.h>

#include "gate.h"
#include "guest.h"
#include "wire_eth.h"

#define FRAME_ROOM (RSW_HDR_MAX + IB_HDR_MAX + 4u + IB_ICRC_LEN) /* round a payload; blocks are copied whole */

/* Any port will do; a home in hardware does better. */
static unsigned int
serves(uint16_t port_id)
{
	return 1;
}

static void
capabilities(struct troce_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr;
	uint16_t lanes = dev->conf.lanes;

	a->vendor_id = RSW_VENDOR;
	a->max_mr_size = UINT64_C(1) << 47;
	a->page_size_cap = UINT64_MAX << 12;
	a->max_qp = (int)(RSW_LANE_QPS(lanes) * lanes);
	a->max_qp_wr = RSW_MAX_WR;
	a->device_cap_flags = IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_RC_RNR_NAK_GEN |
			      IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID;
	/* Requests would change keys that other lanes look at. */
	if (lanes == 1)
		a->device_cap_flags |=
			IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
	a->max_sge = a->max_sge_rd = RSW_MAX_SGE;
	a->max_cq = RSW_OTHERS;
	a->max_cqe = RSW_MAX_CQE;
	a->max_mr = RSW_KEYS - 1;
	a->max_mw = lanes == 1 ? RSW_KEYS - 1 : 0;
	a->max_pd = RSW_OTHERS;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = TRE_MAX_RD_ATOMIC;
	a->max_res_rd_atom = TRE_MAX_RD_ATOMIC * a->max_qp;
	a->atomic_cap = IBV_ATOMIC_GLOB;
	a->max_mcast_grp = RSW_GROUPS;
	a->max_mcast_qp_attach = RSW_GROUP_QPS;
	a->max_total_mcast_qp_attach = RSW_GROUPS * RSW_GROUP_QPS;
	a->max_ah = INT32_MAX;
	a->max_srq = RSW_OTHERS;
	a->max_srq_wr = RSW_MAX_WR;
	a->max_srq_sge = RSW_MAX_SGE;
	dev->max_inline = RSW_MAX_INLINE;
	dev->vctx.context.num_comp_vectors = lanes;
	dev->vctx.context.ops.poll_cq = rsw_poll_cq;
	dev->vctx.context.ops.req_notify_cq = rsw_req_notify_cq;
	dev->vctx.context.ops.post_send = rsw_post_send;
	dev->vctx.context.ops.post_recv = rsw_post_recv;
	dev->vctx.context.ops.post_srq_recv = rsw_post_srq_recv;
}

static int
check_pool(const struct troce_dev *dev)
{
	uint32_t room = rte_pktmbuf_data_room_size(dev->conf.pool),
		 need = RTE_PKTMBUF_HEADROOM + FRAME_ROOM + dev->conf.mtu;

	if (room >= need)
		return 0;
	TROCE_LOG(ERR, "port %u: packets of the pool have room for %u bytes, wanted at least %u for an MTU of %u",
		  dev->port_id, room, need, dev->conf.mtu);
	return EINVAL;
}

static void
free_memory(struct rsw_dev *d)
{
	rsw_lanes_close(d);
	rte_ring_free(d->mad_tx);
	free(d->keys);
	free(d->groups);
	free(d->mads);
}

static int
get_memory(struct rsw_dev *d)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "rsw_mad_%u", d->port);
	d->mad_tx = rte_ring_create(name, RSW_MAD_TX, d->dev->numa_node, RING_F_SC_DEQ);
	/* A large table, of which only what is used is ever touched. */
	d->keys = calloc(RSW_KEYS, sizeof(*d->keys));
	d->groups = calloc(RSW_GROUPS, sizeof(*d->groups));
	d->mads = calloc(RSW_MADS, sizeof(*d->mads));
	if (d->mad_tx != NULL && d->keys != NULL && d->groups != NULL && d->mads != NULL && rsw_lanes_open(d) == 0)
		return 0;
	free_memory(d);
	return ENOMEM;
}

static int
open_port(struct troce_dev *dev)
{
	struct rsw_dev *d = dev->home;
	int rc = check_pool(dev);

	if (rc != 0)
		return rc;
	d->dev = dev;
	d->port = dev->port_id;
	d->next_key = (uint32_t)rte_rand_max(RSW_KEYS - 1);
	rc = get_memory(d);
	if (rc != 0)
		return rc;
	rc = rsw_link_open(d);
	if (rc != 0) {
		free_memory(d);
		return rc;
	}
	capabilities(dev);
	rsw_flow_open(d);
	return 0;
}

static void
close_port(struct troce_dev *dev)
{
	struct rsw_dev *d = dev->home;

	rsw_link_close(d);
	rsw_flow_close(d);
	if (d->allmulti)
		rte_eth_allmulticast_disable(d->port);
	for (void *m; rte_ring_dequeue(d->mad_tx, &m) == 0;)
		rte_pktmbuf_free(m);
	free_memory(d);
}

/* Speeds as lanes of verbs; the nearest that is not more. */
static void
link_speed(uint32_t mbps, struct ibv_port_attr *a)
{
	enum { SDR = 1, QDR = 4, EDR = 32, HDR = 64 };
	enum { X1 = 1, X4 = 2 };
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} speeds[] = {{200000, X4, HDR}, {100000, X4, EDR}, {40000, X4, QDR}, {25000, X1, EDR}, {10000, X1, QDR}};

	a->active_width = X1;
	a->active_speed = SDR;
	for (unsigned int i = 0; i < RTE_DIM(speeds); i++)
		if (mbps >= speeds[i].mbps) {
			a->active_width = speeds[i].width;
			a->active_speed = speeds[i].speed;
			return;
		}
}

static int
query_port(struct troce_dev *dev, struct ibv_port_attr *a)
{
	enum { POLLING = 2, LINK_UP = 5 };
	struct rte_eth_link link;
	int rc = rte_eth_link_get_nowait(dev->port_id, &link);

	if (rc < 0)
		return -rc;
	a->state = link.link_status == RTE_ETH_LINK_UP ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a->phys_state = link.link_status == RTE_ETH_LINK_UP ? LINK_UP : POLLING;
	a->active_mtu = dev->port.active_mtu;
	link_speed(link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed, a);
	return 0;
}

static void
lane_gids(struct rsw_dev *d, const struct troce_gid *table)
{
	memcpy(d->gids, table, sizeof(d->gids));
	d->num_gids = 0;
	for (uint32_t i = 0; i < TP_ROCE_GIDS; i++)
		if (table[i].valid)
			d->gid_valid[d->num_gids++] = (uint8_t)i;
	d->gid_gen++;
}

static int
set_gids(struct troce_dev *dev, const struct troce_gid *table)
{
	struct rsw_dev *d = dev->home;

	rsw_gate_close_all(d);
	for (uint16_t i = 0; i < d->num_lanes; i++)
		lane_gids(d->lanes[i], table);
	rsw_gate_open_all(d);
	return 0;
}

static void
lane_cc(struct rsw_dev *d, unsigned int prio, const struct troce_cc *cc)
{
	struct rsw_qp *qp;

	d->cc[prio] = *cc;
	TAILQ_FOREACH(qp, &d->all, next)
	if (rsw_cc_look(qp, prio))
		rsw_qp_queue(qp);
}

static int
cc_set(struct troce_dev *dev, unsigned int prio, const struct troce_cc *cc)
{
	struct rsw_dev *d = dev->home;

	rsw_gate_close_all(d);
	for (uint16_t i = 0; i < d->num_lanes; i++)
		lane_cc(d->lanes[i], prio, cc);
	rsw_gate_open_all(d);
	return 0;
}

static int
cc_restore(struct troce_dev *dev, unsigned int prio)
{
	struct troce_cc cc;

	rsw_cc_first(dev, &cc);
	return cc_set(dev, prio, &cc);
}

static int
cc_clear(struct troce_dev *dev, uint8_t prios)
{
	struct rsw_dev *d = dev->home;

	if (prios != UINT8_MAX)
		return EINVAL;
	rsw_gate_close_all(d);
	for (uint16_t i = 0; i < d->num_lanes; i++) {
		struct rsw_stats *sw = &d->lanes[i]->sw;

		sw->cc_marks = sw->cc_cnps_sent = sw->cc_cnps_handled = sw->cc_cnps_ignored = sw->rx_ecn = 0;
		d->lanes[i]->st.cnp = 0;
	}
	rsw_gate_open_all(d);
	return 0;
}

static int
pd_nothing(struct troce_pd *pd)
{
	return 0;
}

static int
create_ah(struct troce_ah *a)
{
	struct rsw_ah *ah = (struct rsw_ah *)a;
	const struct rsw_dev *d = rsw_dev_of(a->v.context);
	struct rsw_route *r = &ah->route;

	rsw_route_set(r, d, &a->path);
	r->ect = d->cc[r->prio].on && r->kind != TROCE_ICRC_GRH;
	if (r->ect)
		rsw_route_ecn(r, RSW_ECN_ECT0);
	if (d->num_lanes == 1)
		return 0;
	ah->more = calloc(d->num_lanes - 1u, sizeof(*ah->more));
	if (ah->more == NULL)
		return ENOMEM;
	for (uint16_t i = 1; i < d->num_lanes; i++)
		ah->more[i - 1] = *r;
	return 0;
}

static int
destroy_ah(struct troce_ah *ah)
{
	free(((struct rsw_ah *)ah)->more);
	return 0;
}

static const struct troce_provider provider = {
	.name = "sw",
	.dev_size = sizeof(struct rsw_dev),
	.pd_size = sizeof(struct troce_pd),
	.mr_size = sizeof(struct rsw_mr),
	.mw_size = sizeof(struct rsw_mw),
	.cq_size = sizeof(struct rsw_cq),
	.qp_size = sizeof(struct rsw_qp),
	.srq_size = sizeof(struct rsw_srq),
	.ah_size = sizeof(struct rsw_ah),
	.serves = serves,
	.open = open_port,
	.close = close_port,
	.query_port = query_port,
	.set_gids = set_gids,
	.alloc_pd = pd_nothing,
	.dealloc_pd = pd_nothing,
	.reg_mr = rsw_reg_mr,
	.rereg_mr = rsw_rereg_mr,
	.dereg_mr = rsw_dereg_mr,
	.alloc_mr = rsw_alloc_mr,
	.alloc_mw = rsw_alloc_mw,
	.dealloc_mw = rsw_dealloc_mw,
	.create_cq = rsw_create_cq,
	.modify_cq = rsw_modify_cq,
	.resize_cq = rsw_resize_cq,
	.destroy_cq = rsw_destroy_cq,
	.create_srq = rsw_create_srq,
	.modify_srq = rsw_modify_srq,
	.query_srq = rsw_query_srq,
	.destroy_srq = rsw_destroy_srq,
	.create_qp = rsw_create_qp,
	.modify_qp = rsw_modify_qp,
	.query_qp = rsw_query_qp,
	.destroy_qp = rsw_destroy_qp,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.attach_mcast = rsw_attach_mcast,
	.detach_mcast = rsw_detach_mcast,
	.mad_send = rsw_mad_send,
	.progress = rsw_progress,
	.lane_progress = rsw_lane_progress,
	.passed = rsw_passed,
	.input = rsw_input,
	.stats = rsw_stats,
	.cc_get = rsw_cc_get,
	.cc_set = cc_set,
	.cc_restore = cc_restore,
	.cc_clear = cc_clear,
	.cc_limited = rsw_cc_limited,
	.mem_open = rsw_mem_open,
	.mem_close = rsw_mem_close,
	.view_uars = rsw_view_uars,
	.view_cq = rsw_view_cq,
	.view_qp = rsw_view_qp,
	.view_srq = rsw_view_srq,
	.view_ah = rsw_view_ah,
};
TROCE_PROVIDER(provider)
