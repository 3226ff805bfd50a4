/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is told of IPoIB ports. */
#include <errno.h>

#include <rte_string_fns.h>

#include "lib/ipoib/port/cm.h"
#include "lib/ipoib/port/port.h"
#include "conf.h"

struct ipoib_port *
ipoib_port_of(uint16_t port_id)
{
	struct rte_eth_dev *eth;

	if (!rte_eth_dev_is_valid_port(port_id))
		return NULL;
	eth = &rte_eth_devices[port_id];
	return eth->dev_ops == &ipoib_eth_ops ? eth->data->dev_private : NULL;
}

const char *
tp_ipoib_state_name(enum tp_ipoib_state state)
{
	static const char *const names[] = {"stopped", "link-down", "no-pkey", "joining", "up"};

	return names[state];
}

static enum tp_ipoib_state
state_of(const struct ipoib_port *p)
{
	if (!p->started)
		return TP_IPOIB_STOPPED;
	if (p->core.up)
		return TP_IPOIB_UP;
	if (p->core.place.active)
		return TP_IPOIB_JOINING;
	return p->port_active && p->pkey_used == 0 ? TP_IPOIB_NO_PKEY : TP_IPOIB_LINK_DOWN;
}

int
tp_ipoib_info(uint16_t port_id, struct tp_ipoib_info *info)
{
	struct ipoib_port *p = ipoib_port_of(port_id);
	struct ipoib_hw hw;

	if (p == NULL)
		return -ENODEV;
	memset(info, 0, sizeof(*info));
	rte_strlcpy(info->name, p->eth->data->name, sizeof(info->name));
	rte_strlcpy(info->device, p->conf.device, sizeof(info->device));
	ipoib_device_lock(p->device);
	info->state = state_of(p);
	info->pkey = p->conf.pkey;
	info->pkey_used = p->pkey_used;
	info->pkey_full = (p->pkey_used & IB_PKEY_FULL) != 0;
	info->mtu = (uint16_t)(p->core.up ? p->core.mtu : p->mtu);
	info->guid = ipoib_device_guid(p->device);
	info->mac = p->eth->data->mac_addrs[0];
	info->connected = p->conf.connected;
	info->cm_mtu = p->conf.cm_mtu;
	info->conf = p->conf;
	if (p->started) {
		struct ipoib_conn *conn;

		TAILQ_FOREACH(conn, &p->core.conns, next)
		{
			info->conns_in += conn->up && !conn->closing && conn->passive;
			info->conns_out += conn->up && !conn->closing && !conn->passive;
		}
		hw = ipoib_own_hw(&p->core);
		memcpy(info->hw, &hw, sizeof(info->hw));
		info->lid = p->core.place.lid;
		info->qpn = p->core.place.qpn;
		info->qkey = p->qkey;
		info->remotes = p->core.num_remotes;
		info->groups = p->core.num_groups;
		info->locals = p->core.num_locals;
	}
	ipoib_device_unlock(p->device);
	return 0;
}

/* A port of a pair: the other one may have the addresses. */
static bool
has_owner(uint16_t port_id)
{
	struct rte_eth_dev_owner owner;

	return rte_eth_dev_owner_get(port_id, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER;
}

int
tp_ipoib_mode_set(uint16_t port_id, bool connected)
{
	struct ipoib_port *p = ipoib_port_of(port_id);
	int ret = 0;

	if (p == NULL)
		return -ENODEV;
	if (connected && p->num_tx > 1) {
		IPOIB_LOG(ERR, "port %u: %u transmit queues, connected mode has 1", port_id, p->num_tx);
		return -ENOTSUP;
	}
	ipoib_device_lock(p->device);
	if (p->started && connected && !p->rxq[0]->started) {
		ipoib_device_unlock(p->device);
		IPOIB_LOG(ERR, "port %u: connections receive on queue 0, which is stopped", port_id);
		return -EBUSY;
	}
	if (p->started && connected && p->cm == NULL)
		ret = ipoib_cm_open(p);
	else if (p->started && !connected)
		ipoib_cm_close(p);
	if (ret == 0) {
		p->conf.connected = connected;
		ipoib_core_mode(&p->core, connected, !has_owner(port_id));
	}
	ipoib_device_unlock(p->device);
	return ret;
}

static bool
is_made_with(const char *name)
{
	static const char *const names[] = {"port", "mac", "pkey", "mtu", "cm-mtu", "guid-mask"};

	for (unsigned int i = 0; i < RTE_DIM(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int
tp_ipoib_change(uint16_t port_id, const char *name, const char *value)
{
	struct ipoib_port *p = ipoib_port_of(port_id);
	struct tp_ipoib_conf conf;
	int ret;

	if (p == NULL)
		return -ENODEV;
	if (is_made_with(name)) {
		IPOIB_LOG(ERR, "port %u: %s '%s': a port is made with it", port_id, name, value);
		return -EPERM;
	}
	ipoib_device_lock(p->device);
	conf = p->conf;
	ret = tp_ipoib_conf_set(&conf, name, value);
	if (ret == 0 && conf.connected == p->conf.connected) {
		p->conf = conf;
		ipoib_conf_live(&conf, &p->core.conf);
		p->core.age_ms = 0; /* the next tick begins both times anew */
	}
	ipoib_device_unlock(p->device);
	return ret == 0 && conf.connected != p->conf.connected ? tp_ipoib_mode_set(port_id, conf.connected) : ret;
}

static uint16_t
mtu_octets(uint8_t code)
{
	return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? (uint16_t)(128u << code) : 0;
}

static void
remotes(struct ipoib_core *c, tp_ipoib_endpoint_fn fn, void *arg)
{
	static const char *const states[] = {"none", "asked", "known", "failed"};
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		const struct ipoib_remote *r = c->remote[i];
		struct tp_ipoib_endpoint e = {0};

		if (r == NULL)
			continue;
		e.mac = r->mac;
		memcpy(e.hw, &r->hw, sizeof(e.hw));
		e.lid = r->path.dlid != 0 ? r->path.dlid : r->slid;
		e.sl = r->path.sl;
		e.rate = r->path.rate;
		e.mtu = mtu_octets(r->path.mtu);
		e.state = states[r->state];
		e.offers = (r->hw.b[0] & IPOIB_HW_RC) != 0;
		e.cm_mtu = (uint16_t)(r->conn != NULL && r->conn->up ? r->conn->mtu : 0);
		fn(arg, &e);
	}
}

static void
groups(struct ipoib_core *c, tp_ipoib_endpoint_fn fn, void *arg)
{
	static const char *const states[] = {"idle", "joining", "joined"};
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		const struct ipoib_group *g = c->group[i];
		struct tp_ipoib_endpoint e = {0};

		if (g == NULL)
			continue;
		ipoib_mgid_mac(g->mgid, c->conf.pkey, &e.mac);
		ib_put24(e.hw + 1, IB_MCAST_QPN);
		memcpy(e.hw + 4, g->mgid, 16);
		e.lid = g->member.mlid;
		e.sl = g->member.sl;
		e.rate = g->member.rate;
		e.mtu = mtu_octets(g->member.mtu);
		e.state = states[g->state];
		e.receives = g->attached;
		e.sends = (g->why & IPOIB_WHY_SEND) != 0;
		fn(arg, &e);
	}
}

static void
locals(struct ipoib_core *c, tp_ipoib_endpoint_fn fn, void *arg)
{
	unsigned int i;

	for (i = 0; i < IPOIB_LOCALS; i++) {
		const struct ipoib_local *l = &c->local[i];
		struct tp_ipoib_endpoint e = {.mac = l->mac, .state = "known"};

		if (!l->valid)
			continue;
		memcpy(e.ip, l->ip, sizeof(e.ip));
		fn(arg, &e);
	}
}

int
tp_ipoib_endpoints(uint16_t port_id, enum tp_ipoib_table table, tp_ipoib_endpoint_fn fn, void *arg)
{
	struct ipoib_port *p = ipoib_port_of(port_id);

	if (p == NULL)
		return -ENODEV;
	ipoib_device_lock(p->device);
	switch (p->started ? table : (enum tp_ipoib_table) - 1) {
	case TP_IPOIB_REMOTE: remotes(&p->core, fn, arg); break;
	case TP_IPOIB_MULTICAST: groups(&p->core, fn, arg); break;
	case TP_IPOIB_LOCAL: locals(&p->core, fn, arg); break;
	default: break;
	}
	ipoib_device_unlock(p->device);
	return 0;
}

int
tp_ipoib_guid2mac(uint64_t guid, unsigned int mask, struct tp_ipoib_guid *out)
{
	memset(out, 0, sizeof(*out));
	if (mask != 0 && !ipoib_guid_mask_valid(mask)) {
		IPOIB_LOG(ERR, "mask 0x%x has not six of eight bits set", mask);
		return -EINVAL;
	}
	out->recognised = ipoib_guid_mac(guid, mask, &out->mac);
	if (out->recognised)
		return 0;
	out->mask = ipoib_guid_mask_suggest(guid);
	if (out->mask != 0)
		ipoib_guid_mac(guid, out->mask, &out->mac);
	return 0;
}
