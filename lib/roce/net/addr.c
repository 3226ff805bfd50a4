/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses and routers of a port, as applications give them; and queries of the GID table. */
#include <net/if.h>
#include <netinet/in.h>

#include "net_priv.h"

#define ANNOUNCEMENTS 2u /* ANNOUNCE_NUM of RFC 5227, 1.1; at most MAX_NEIGHBOR_ADVERTISEMENT of RFC 4861, 10 */

static bool
same_table(const struct troce_gid *a, const struct troce_gid *b)
{
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (a[i].valid != b[i].valid || (a[i].valid && (a[i].type != b[i].type || a[i].vlan != b[i].vlan ||
								!trn_gid_equal(&a[i].gid, &b[i].gid))))
			return false;
	return true;
}

/* From the addresses in force to the next ones: who goes asks no more, who comes is announced. */
static void
switch_addrs(struct troce_net *net, const struct trn_addrs *next)
{
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++) {
		const struct trn_addr *was = &net->a.addr[i], *is = &next->addr[i];

		if (was->valid == is->valid && was->vlan == is->vlan && trn_gid_equal(&was->gid, &is->gid))
			continue;
		if (was->valid)
			trn_neigh_forget(&net->neighs, &was->gid, was->vlan);
		memset(&net->ann[i], 0, sizeof(net->ann[i]));
		if (is->valid && !is->kernel)
			net->ann[i].left = ANNOUNCEMENTS;
	}
	net->a = *next;
	net->tcp = net->refuses ? trn_v4_filter(next) : 0;
}

int
trn_commit(struct troce_dev *dev, const struct trn_addrs *next)
{
	struct troce_net *net = dev->net;
	bool same = same_table(net->a.table, next->table);
	int rc;

	if (!same && dev->prov->set_gids != NULL) {
		rc = dev->prov->set_gids(dev, next->table);
		if (rc != 0) {
			TROCE_LOG(ERR, "%s: %s does not take the GID table (%s); addresses stay as they are",
				  dev->where, dev->prov->name, strerror(rc));
			return rc;
		}
	}
	pthread_mutex_lock(&net->lock);
	switch_addrs(net, next);
	pthread_mutex_unlock(&net->lock);
	trn_wake(net);
	if (!same)
		troce_async_event(dev, IBV_EVENT_GID_CHANGE, NULL);
	return 0;
}

/* As a GID, and the number of bits in an address of its family; false: not an address of one host. */
static bool
gid_of(const struct sockaddr *addr, union ibv_gid *gid, unsigned int *bits)
{
	if (addr == NULL) {
		TROCE_LOG(ERR, "address: NULL, not one of IPv4 or IPv6");
		return false;
	}
	if (addr->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, addr, sizeof(in));
		*gid = trn_gid_v4(in.sin_addr.s_addr);
		*bits = 32;
	} else if (addr->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, addr, sizeof(in6));
		memcpy(gid->raw, &in6.sin6_addr, sizeof(gid->raw));
		*bits = 128;
		if (trn_is_v4(gid)) {
			TROCE_LOG(ERR, "address: IPv4 as sockaddr_in6, not as sockaddr_in");
			return false;
		}
	} else {
		TROCE_LOG(ERR, "address: family %u, not AF_INET (%u) or AF_INET6 (%u)", addr->sa_family, AF_INET,
			  AF_INET6);
		return false;
	}
	if (!trn_is_host(gid)) {
		char s[TRN_STR_LEN];

		TROCE_LOG(ERR, "address %s: not the unicast address of a host", trn_str(gid, s));
		return false;
	}
	return true;
}

/* Addresses of IP are the business of what runs over InfiniBand. */
static bool
has_addresses(const struct troce_dev *dev)
{
	if (dev->ib == NULL)
		return true;
	TROCE_LOG(ERR, "%s: an InfiniBand port has no IP addresses", dev->where);
	return false;
}

int
tp_roce_addr_add(struct ibv_context *ctx, const struct sockaddr *sa, unsigned int prefix, uint16_t vlan)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct trn_addr addr = {.vlan = vlan};
	struct trn_addrs next;
	char s[TRN_STR_LEN];
	unsigned int bits;
	int rc;

	if (!has_addresses(dev))
		return EOPNOTSUPP;
	if (!gid_of(sa, &addr.gid, &bits))
		return EINVAL;
	if (prefix > bits) {
		TROCE_LOG(ERR, "address %s: prefix %u, not 0..%u", trn_str(&addr.gid, s), prefix, bits);
		return EINVAL;
	}
	if (vlan != TP_ROCE_NO_VLAN && (vlan < 1 || vlan > 4094)) {
		TROCE_LOG(ERR, "address %s: VLAN %u, not 1..4094 or %u for none", trn_str(&addr.gid, s), vlan,
			  TP_ROCE_NO_VLAN);
		return EINVAL;
	}
	addr.prefix = (uint8_t)(128 - bits + prefix);
	pthread_mutex_lock(&dev->lock);
	next = dev->net->a;
	rc = trn_addrs_add(&next, dev->mode, &addr);
	if (rc == EEXIST)
		TROCE_LOG(ERR, "%s has the address %s already", dev->where, trn_str(&addr.gid, s));
	else if (rc != 0)
		TROCE_LOG(ERR, "address %s: the GID table of %s is full, %u entries", trn_str(&addr.gid, s), dev->where,
			  TP_ROCE_GIDS);
	else
		rc = trn_commit(dev, &next);
	pthread_mutex_unlock(&dev->lock);
	return rc;
}

int
tp_roce_addr_del(struct ibv_context *ctx, const struct sockaddr *sa)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct trn_addrs next;
	char s[TRN_STR_LEN];
	union ibv_gid gid;
	unsigned int i, bits, found = 0;
	int rc = ENOENT;

	if (!has_addresses(dev))
		return EOPNOTSUPP;
	if (!gid_of(sa, &gid, &bits))
		return ENOENT;
	pthread_mutex_lock(&dev->lock);
	next = dev->net->a;
	/* The first one is the MAC's. */
	for (i = 1; i < TP_ROCE_GIDS; i++) {
		if (!next.addr[i].valid || !trn_gid_equal(&next.addr[i].gid, &gid))
			continue;
		trn_addrs_del(&next, i);
		found++;
	}
	if (found == 0)
		TROCE_LOG(ERR, "%s was not given the address %s", dev->where, trn_str(&gid, s));
	else
		rc = trn_commit(dev, &next);
	pthread_mutex_unlock(&dev->lock);
	return rc;
}

int
tp_roce_gateway(struct ibv_context *ctx, const struct sockaddr *sa)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_net *net = dev->net;
	union ibv_gid gid;
	unsigned int bits;

	if (!has_addresses(dev))
		return EOPNOTSUPP;
	if (sa != NULL && !gid_of(sa, &gid, &bits))
		return EINVAL;
	pthread_mutex_lock(&dev->lock);
	pthread_mutex_lock(&net->lock);
	if (sa == NULL) {
		memset(&net->a.router4, 0, sizeof(net->a.router4));
		memset(&net->a.router6, 0, sizeof(net->a.router6));
	} else if (trn_is_v4(&gid)) {
		net->a.router4 = gid;
	} else {
		net->a.router6 = gid;
	}
	pthread_mutex_unlock(&net->lock);
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

/* Of a table that the subnet manager fills; empty entries have no GUID. */
static bool
ib_gid(struct troce_dev *dev, uint32_t index, struct troce_gid *gid)
{
	int rc = EINVAL;

	*gid = (struct troce_gid){.type = IBV_GID_TYPE_IB, .vlan = TP_ROCE_NO_VLAN};
	pthread_mutex_lock(&dev->lock);
	if (index < (uint32_t)dev->port.gid_tbl_len)
		rc = dev->prov->query_gid(dev, index, &gid->gid);
	pthread_mutex_unlock(&dev->lock);
	gid->valid = rc == 0 && gid->gid.global.interface_id != 0;
	return gid->valid;
}

bool
troce_gid_get(struct troce_dev *dev, uint32_t index, struct troce_gid *gid)
{
	struct troce_net *net = dev->net;

	if (dev->ib != NULL)
		return ib_gid(dev, index, gid);
	if (index >= TP_ROCE_GIDS)
		return false;
	pthread_mutex_lock(&net->lock);
	*gid = net->a.table[index];
	pthread_mutex_unlock(&net->lock);
	return gid->valid;
}

int
troce_gid_find(struct troce_dev *dev, const union ibv_gid *gid, enum ibv_gid_type type, uint16_t vlan)
{
	struct troce_net *net = dev->net;
	int i, found = -1;

	pthread_mutex_lock(&net->lock);
	for (i = 0; i < (int)TP_ROCE_GIDS && found < 0; i++) {
		const struct troce_gid *g = &net->a.table[i];

		if (g->valid && g->type == type && g->vlan == vlan && trn_gid_equal(&g->gid, gid))
			found = i;
	}
	pthread_mutex_unlock(&net->lock);
	return found;
}

static bool
index_ok(struct troce_dev *dev, uint32_t port, uint32_t index)
{
	uint32_t num = dev->ib != NULL ? (uint32_t)dev->port.gid_tbl_len : TP_ROCE_GIDS;

	if (port == 1 && index < num)
		return true;
	TROCE_LOG(ERR, "%s: GID %u of port %u, not 0..%u of port 1", dev->where, index, port, num - 1);
	return false;
}

int
tp_roce_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_gid g;

	if (!index_ok(dev, port, (uint32_t)index))
		return EINVAL;
	/* An empty entry is all zero. */
	(void)troce_gid_get(dev, (uint32_t)index, &g);
	*gid = g.gid;
	return 0;
}

int
tp_roce_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index, struct ibv_gid_entry *entry)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_gid g;

	if (!index_ok(dev, port, index))
		return EINVAL;
	if (!troce_gid_get(dev, index, &g))
		return ENODATA;
	*entry = (struct ibv_gid_entry){
		.gid = g.gid,
		.gid_index = index,
		.port_num = port,
		.gid_type = g.type,
		.ndev_ifindex = dev->conf.netdev != NULL ? if_nametoindex(dev->conf.netdev) : 0,
	};
	return 0;
}
