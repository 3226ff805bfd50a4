/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Address handles (10.2.2.2), also of whom a datagram came from. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "lib/roce/net/net.h"
#include "verbs.h"

#define NEXT_HEADER_IBA 0x1bu /* 8.3.1: a GRH in front of transport headers */

struct ibv_ah *
tp_roce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct troce_dev *dev = troce_dev_of(pd->context);
	struct troce_path path;
	struct troce_ah *ah;
	int err = troce_path_wait(dev, attr, 0, 0, &path);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	ah = troce_obj_alloc(dev, dev->prov->ah_size, sizeof(*ah));
	if (ah == NULL)
		return NULL;
	ah->v.context = pd->context;
	ah->v.pd = pd;
	ah->attr = *attr;
	ah->path = path;
	troce_lock(dev);
	err = troce_room(dev, "address handles", dev->ahs, dev->attr.max_ah);
	if (err == 0 && dev->prov->create_ah != NULL)
		err = dev->prov->create_ah(ah);
	if (err == 0) {
		dev->ahs++;
		((struct troce_pd *)pd)->refs++;
	}
	troce_unlock(dev);
	return troce_made(ah, err);
}

int
tp_roce_destroy_ah(struct ibv_ah *ibah)
{
	struct troce_ah *ah = (struct troce_ah *)ibah;
	struct troce_dev *dev = troce_dev_of(ibah->context);
	int err = 0;

	troce_lock(dev);
	if (dev->prov->destroy_ah != NULL)
		err = dev->prov->destroy_ah(ah);
	if (err == 0) {
		dev->ahs--;
		((struct troce_pd *)ibah->pd)->refs--;
	}
	troce_unlock(dev);
	return troce_gone(ah, err);
}

static void
mapped_gid(union ibv_gid *gid, rte_be32_t addr)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, &addr, sizeof(addr));
}

/* Which of the port's GIDs a packet was for; -1: none. */
static int
gid_index(struct troce_dev *dev, const union ibv_gid *gid, enum ibv_gid_type type)
{
	struct troce_gid entry;

	for (uint32_t i = 0; i < TP_ROCE_GIDS; i++) {
		if (troce_gid_get(dev, i, &entry) && entry.type == type && memcmp(&entry.gid, gid, sizeof(*gid)) == 0)
			return (int)i;
	}
	return -1;
}

/*
 * The 40 octets in front of a datagram hold a GRH, an IPv6 header, or in the last 20 an IPv4 header (annex A17). The
 * first octets are not written then, so it is the checksum that tells an IPv4 header.
 */
static bool
is_ipv4(const struct rte_ipv4_hdr *ip)
{
	struct rte_ipv4_hdr copy;

	memcpy(&copy, ip, sizeof(copy));
	return copy.version_ihl == RTE_IPV4_VHL_DEF && rte_raw_cksum(&copy, sizeof(copy)) == 0xffff;
}

int
tp_roce_init_ah_from_wc(struct ibv_context *ctx, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)((const uint8_t *)grh + 20);
	enum ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
	union ibv_gid local;
	int index;

	if (dev->ib != NULL)
		return troce_ib_av_from_wc(dev, port, wc, grh, attr);
	if (port != 1 || (wc->wc_flags & IBV_WC_GRH) == 0)
		return TROCE_REFUSE(dev, EINVAL, "port number %u is not 1, or the completion has no GRH (flags 0x%x)",
				    port, wc->wc_flags);
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = 1;
	attr->sl = wc->sl;
	if (is_ipv4(ip)) {
		mapped_gid(&attr->grh.dgid, ip->src_addr);
		mapped_gid(&local, ip->dst_addr);
		attr->grh.traffic_class = ip->type_of_service;
		attr->grh.hop_limit = ip->time_to_live;
	} else {
		uint32_t word = rte_be_to_cpu_32(grh->version_tclass_flow);

		if (word >> 28 != 6)
			return TROCE_REFUSE(dev, EPROTONOSUPPORT,
					    "version %u of a GRH is not 6, and no IPv4 header follows", word >> 28);
		attr->grh.dgid = grh->sgid;
		local = grh->dgid;
		attr->grh.traffic_class = (uint8_t)(word >> 20);
		attr->grh.flow_label = word & 0xfffff;
		attr->grh.hop_limit = grh->hop_limit;
		if (grh->next_hdr == NEXT_HEADER_IBA)
			type = IBV_GID_TYPE_ROCE_V1;
		else if (grh->next_hdr != IPPROTO_UDP)
			return TROCE_REFUSE(dev, EPROTONOSUPPORT, "next header %u of a GRH is neither %u nor %u",
					    grh->next_hdr, NEXT_HEADER_IBA, IPPROTO_UDP);
	}
	index = gid_index(dev, &local, type);
	if (index < 0)
		return TROCE_REFUSE(dev, ENODEV, "the datagram was for an address that the port has no longer");
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

struct ibv_ah *
tp_roce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;
	int err = tp_roce_init_ah_from_wc(pd->context, port, wc, grh, &attr);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	return tp_roce_create_ah(pd, &attr);
}
