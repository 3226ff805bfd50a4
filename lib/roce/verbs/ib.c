/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Address vectors of InfiniBand (11.2.2.1): LIDs, service levels, path bits, and a GRH where there is one. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "verbs.h"

#define LID_MCAST 0xc000u
#define LID_PERMISSIVE 0xffffu
#define SL_MAX 15u
#define PATH_BITS_MAX 127u
#define FLOW_LABEL_MAX 0xfffffu
#define HOP_LIMIT 64u

static int
grh_check(struct troce_dev *dev, const struct ibv_ah_attr *av)
{
	const struct ibv_global_route *g = &av->grh;

	if (g->sgid_index >= dev->port.gid_tbl_len)
		return TROCE_REFUSE(dev, EINVAL, "sgid_index %u is not in 0..%d", g->sgid_index,
				    dev->port.gid_tbl_len - 1);
	if (g->flow_label > FLOW_LABEL_MAX)
		return TROCE_REFUSE(dev, EINVAL, "flow_label %#x is not in 0..%#x", g->flow_label, FLOW_LABEL_MAX);
	return 0;
}

static int
av_check(struct troce_dev *dev, const struct ibv_ah_attr *av)
{
	bool mcast = av->dlid >= LID_MCAST;

	if (av->port_num != 1)
		return TROCE_REFUSE(dev, EINVAL, "port_num %u is not 1", av->port_num);
	if (av->dlid == 0 || av->dlid == LID_PERMISSIVE)
		return TROCE_REFUSE(dev, EINVAL, "dlid 0x%x is not in 0x1..0xfffe", av->dlid);
	if (av->sl > SL_MAX)
		return TROCE_REFUSE(dev, EINVAL, "sl %u is not in 0..%u", av->sl, SL_MAX);
	if (av->src_path_bits > PATH_BITS_MAX)
		return TROCE_REFUSE(dev, EINVAL, "src_path_bits %u is not in 0..%u", av->src_path_bits, PATH_BITS_MAX);
	if (av->static_rate > IBV_RATE_300_GBPS)
		return TROCE_REFUSE(dev, EINVAL, "static_rate %u is not in 0..%u", av->static_rate, IBV_RATE_300_GBPS);
	if (av->is_global > 1)
		return TROCE_REFUSE(dev, EINVAL, "is_global %u is not in 0..1", av->is_global);
	if (mcast && av->is_global == 0)
		return TROCE_REFUSE(dev, EINVAL, "dlid 0x%x is a group's, which needs a GRH: is_global 1", av->dlid);
	return av->is_global != 0 ? grh_check(dev, av) : 0;
}

int
troce_ib_path(struct troce_dev *dev, const struct ibv_ah_attr *av, struct troce_path *path)
{
	int err = av_check(dev, av);

	if (err != 0)
		return err;
	*path = (struct troce_path){
		.type = IBV_GID_TYPE_IB,
		.vlan = TP_ROCE_NO_VLAN,
		.prio = av->sl,
		.dlid = av->dlid,
		.path_bits = av->src_path_bits,
		.rate = av->static_rate,
		.grh = av->is_global != 0,
	};
	if (!path->grh)
		return 0;
	path->dgid = av->grh.dgid;
	path->sgid_index = av->grh.sgid_index;
	path->flow_label = av->grh.flow_label;
	path->tclass = av->grh.traffic_class;
	path->hop_limit = av->grh.hop_limit;
	return 0;
}

static int
index_of(struct troce_dev *dev, const union ibv_gid *gid)
{
	union ibv_gid own;
	int i, found = -1;

	/* A group's datagram goes back from the port's first address. */
	if (gid->raw[0] == 0xff)
		return 0;
	troce_lock(dev);
	for (i = 0; i < dev->port.gid_tbl_len && found < 0; i++)
		if (dev->prov->query_gid(dev, (uint32_t)i, &own) == 0 && memcmp(&own, gid, sizeof(own)) == 0)
			found = i;
	troce_unlock(dev);
	return found;
}

int
troce_ib_av_from_wc(struct troce_dev *dev, uint8_t port, const struct ibv_wc *wc, const struct ibv_grh *grh,
		    struct ibv_ah_attr *attr)
{
	uint32_t word;
	int index;

	if (port != 1)
		return TROCE_REFUSE(dev, EINVAL, "port number %u is not 1", port);
	memset(attr, 0, sizeof(*attr));
	attr->port_num = 1;
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	if ((wc->wc_flags & IBV_WC_GRH) == 0)
		return 0;
	index = index_of(dev, &grh->dgid);
	if (index < 0)
		return TROCE_REFUSE(dev, ENODEV, "the datagram was for a GID that the port has no longer");
	word = rte_be_to_cpu_32(grh->version_tclass_flow);
	attr->is_global = 1;
	attr->grh.dgid = grh->sgid;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.flow_label = word & FLOW_LABEL_MAX;
	attr->grh.traffic_class = (uint8_t)(word >> 20);
	attr->grh.hop_limit = HOP_LIMIT;
	return 0;
}
