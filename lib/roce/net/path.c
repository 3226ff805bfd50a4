/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From an address vector to what the headers of a packet need. */
#include <rte_jhash.h>

#include "net_priv.h"

#define SPORT_MIN 0xc000u
#define FLOW_LABEL_MAX 0xfffffu

static bool
unicast_dgid_ok(const union ibv_gid *sgid, const union ibv_gid *dgid)
{
	char s[TRN_STR_LEN], d[TRN_STR_LEN];

	if (trn_is_host(dgid) && trn_is_v4(sgid) == trn_is_v4(dgid))
		return true;
	TROCE_LOG(ERR, "dgid %s: not a host's or group's address of the family of the sgid %s", trn_str(dgid, d),
		  trn_str(sgid, s));
	return false;
}

static int
unicast_mac(struct troce_dev *dev, const struct troce_gid *src, const union ibv_gid *dgid, struct rte_ether_addr *mac)
{
	struct troce_net *net = dev->net;
	union ibv_gid hop;
	int rc;

	/* RoCE v1 knows hosts by their MACs, whether or not these have a network stack. */
	if (src->type == IBV_GID_TYPE_ROCE_V1 && trn_gid_mac(dgid, mac))
		return 0;
	pthread_mutex_lock(&net->lock);
	if (trn_addrs_find(&net->a, dgid, src->vlan) >= 0) {
		*mac = net->mac;
		rc = 0;
	} else {
		rc = trn_next_hop(&net->a, src, dgid, &hop);
		if (rc == 0)
			rc = trn_neigh_lookup(&net->neighs, &hop, src->vlan, &src->gid, mac);
		/* Asked for the first time, or once more since it is stale */
		if (net->neighs.due == 0)
			trn_wake(net);
	}
	pthread_mutex_unlock(&net->lock);
	return rc;
}

static bool
sgid_of(struct troce_dev *dev, uint32_t index, struct troce_gid *src)
{
	if (troce_gid_get(dev, index, src))
		return true;
	if (index >= TP_ROCE_GIDS)
		TROCE_LOG(ERR, "sgid_index %u: not 0..%u", index, TP_ROCE_GIDS - 1);
	else
		TROCE_LOG(ERR, "sgid_index %u: the entry is empty", index);
	return false;
}

bool
troce_routed(struct troce_dev *dev, uint32_t sgid_index, const union ibv_gid *dgid)
{
	struct troce_gid src;
	union ibv_gid hop;
	bool routed;

	if (!troce_gid_get(dev, sgid_index, &src))
		return false;
	pthread_mutex_lock(&dev->net->lock);
	routed = trn_next_hop(&dev->net->a, &src, dgid, &hop) == 0;
	pthread_mutex_unlock(&dev->net->lock);
	return routed;
}

int
tp_roce_resolve(struct ibv_context *ctx, uint32_t sgid_index, const union ibv_gid *dgid, uint8_t mac[6])
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct rte_ether_addr found;
	struct troce_gid src;
	int rc = 0;

	if (dev->ib != NULL) {
		TROCE_LOG(ERR, "%s: an InfiniBand port resolves no MACs", dev->where);
		return EOPNOTSUPP;
	}
	if (!sgid_of(dev, sgid_index, &src))
		return EINVAL;
	if (trn_is_multicast(dgid))
		troce_mcast_mac(dgid, &found);
	else if (!unicast_dgid_ok(&src.gid, dgid))
		return EINVAL;
	else
		rc = unicast_mac(dev, &src, dgid, &found);
	if (rc == 0)
		memcpy(mac, found.addr_bytes, sizeof(found.addr_bytes));
	return rc;
}

uint16_t
troce_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
	uint64_t v;

	if (flow_label == 0) {
		v = (uint64_t)local_qpn * remote_qpn;
		v ^= v >> 20;
		v ^= v >> 40;
		flow_label = (uint32_t)v & FLOW_LABEL_MAX;
	}
	return (uint16_t)(((flow_label ^ flow_label >> 14) & 0x3fff) | SPORT_MIN);
}

static bool
av_ok(const struct ibv_ah_attr *av)
{
	if (av->is_global != 1)
		TROCE_LOG(ERR, "is_global %u: not 1, RoCE needs GIDs", av->is_global);
	else if (av->port_num != 1)
		TROCE_LOG(ERR, "port_num %u: not 1", av->port_num);
	else if (av->sl > 7)
		TROCE_LOG(ERR, "sl %u: not 0..7", av->sl);
	else if (av->grh.flow_label > FLOW_LABEL_MAX)
		TROCE_LOG(ERR, "flow_label %#x: not 0..%#x", av->grh.flow_label, FLOW_LABEL_MAX);
	else
		return true;
	return false;
}

/* Priority and traffic class: what the address vector names, else by the port's rules, else as the port was opened. */
static void
classify(const struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t service, struct troce_path *p)
{
	const struct troce_marks m = troce_marks_of(dev, p->type == IBV_GID_TYPE_ROCE_V2, service);

	p->prio = av->sl != 0 ? av->sl : m.ruled ? m.prio : dev->conf.prio;
	p->decided = av->sl != 0 || m.ruled;
	p->untag = m.untag;
	p->tclass = av->grh.traffic_class;
	if (p->tclass == 0)
		p->tclass = (uint8_t)((m.dscp >= 0 ? (uint8_t)m.dscp : dev->conf.dscp) << 2);
}

int
troce_path_resolve(struct troce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, uint16_t service,
		   struct troce_path *path)
{
	const struct tp_roce_conf *conf = &dev->conf;
	struct troce_path p = {0};
	struct troce_gid src;
	int rc = 0;

	if (!av_ok(av) || !sgid_of(dev, av->grh.sgid_index, &src))
		return EINVAL;
	p.sgid = src.gid;
	p.grh = true;
	p.dgid = av->grh.dgid;
	p.type = src.type;
	p.vlan = src.vlan;
	p.sgid_index = av->grh.sgid_index;
	p.flow_label = av->grh.flow_label;
	p.hop_limit = av->grh.hop_limit != 0 ? av->grh.hop_limit : conf->ttl;
	classify(dev, av, service, &p);
	if (sport != 0)
		p.sport = sport;
	else
		p.sport = troce_sport(p.flow_label, rte_jhash(&p.sgid, sizeof(p.sgid), 0),
				      rte_jhash(&p.dgid, sizeof(p.dgid), 0) | 1);
	p.smac = dev->mac;
	if (trn_is_multicast(&p.dgid))
		troce_mcast_mac(&p.dgid, &p.dmac);
	else if (!unicast_dgid_ok(&p.sgid, &p.dgid))
		return EINVAL;
	else
		rc = unicast_mac(dev, &src, &p.dgid, &p.dmac);
	if (rc == 0)
		*path = p;
	return rc;
}

uint16_t
troce_mtu_fit(uint16_t eth_mtu)
{
	/* What a packet with data has at most: GRH or IPv6, UDP, BTH, RETH with immediate data, ICRC. */
	const unsigned int headers = 40 + 8 + 12 + 16 + 4 + 4;
	unsigned int mtu = 4096;

	while (mtu >= 256 && mtu + headers > eth_mtu)
		mtu /= 2;
	return mtu >= 256 ? (uint16_t)mtu : 0;
}
