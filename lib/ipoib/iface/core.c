/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life and events of an interface. */
#include "carry.h"
#include "conn.h"

void
ipoib_core_init(struct ipoib_core *c, const struct ipoib_core_conf *conf, const struct ipoib_io *io,
		struct rte_mempool *pool, uint64_t guid, const struct rte_ether_addr *mac, uint32_t mtu_limit)
{
	memset(c, 0, offsetof(struct ipoib_core, stats));
	c->conf = *conf;
	c->io = *io;
	c->pool = pool;
	c->guid = guid;
	c->mtu = c->mtu_limit = mtu_limit;
	c->next_mac = 1;
	c->conn_hold_ms = UINT64_MAX;
	TAILQ_INIT(&c->conns);
	c->dirty = true;
	if (mac != NULL)
		c->mac = *mac;
	else if (!ipoib_guid_mac(guid, conf->guid_mask, &c->mac))
		ipoib_counter_mac(c->next_mac++, &c->mac);
}

static void
remotes_free(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		if (c->remote[i] != NULL)
			ipoib_remote_free(c, c->remote[i]);
	}
}

void
ipoib_core_fini(struct ipoib_core *c)
{
	ipoib_groups_free(c);
	ipoib_conns_close(c);
	remotes_free(c);
	c->up = false;
	c->dirty = true;
}

static bool
same_place(const struct ipoib_place *a, const struct ipoib_place *b)
{
	return a->active == b->active && a->lid == b->lid && a->lmc == b->lmc && a->qpn == b->qpn &&
	       memcmp(a->gid, b->gid, sizeof(a->gid)) == 0;
}

void
ipoib_core_place(struct ipoib_core *c, const struct ipoib_place *place)
{
	bool was = c->place.active;

	if (same_place(&c->place, place))
		return;
	c->stats.events++;
	c->dirty = true;
	if (was && !place->active) {
		ipoib_groups_stop(c);
		ipoib_conns_close(c);
	}
	c->place = *place;
	if (!was && place->active)
		ipoib_groups_start(c);
	else if (was && place->active)
		ipoib_core_renew(c);
	/* Another LID or GID than before the link went: old paths lead nowhere. */
	if (!was && place->active)
		ipoib_remotes_renew(c);
}

void
ipoib_core_renew(struct ipoib_core *c)
{
	if (!c->place.active)
		return;
	c->stats.events++;
	ipoib_groups_renew(c);
	ipoib_remotes_renew(c);
}

void
ipoib_core_mode(struct ipoib_core *c, bool connected, bool tell)
{
	if (c->conf.connected != connected && tell) {
		c->notices = IPOIB_NOTICES;
		c->notice_ms = c->now_ms;
	}
	c->conf.connected = connected;
	c->dirty = true;
}

static void
notices(struct ipoib_core *c)
{
	if (c->notices == 0 || !c->up || c->now_ms < c->notice_ms)
		return;
	c->notices--;
	c->notice_ms = c->now_ms + IPOIB_NOTICE_MS;
	ipoib_announce(c);
}

void
ipoib_core_tick(struct ipoib_core *c, uint64_t now_ms)
{
	c->now_ms = now_ms;
	if (c->age_ms == 0) {
		c->age_ms = now_ms + c->conf.age_interval_ms;
		c->monitor_ms = now_ms + c->conf.monitor_ms;
	}
	ipoib_groups_retry(c);
	ipoib_conns_tick(c);
	notices(c);
	if (now_ms >= c->age_ms) {
		c->age_ms = now_ms + c->conf.age_interval_ms;
		ipoib_conns_age(c);
		ipoib_remotes_age(c);
		ipoib_groups_age(c);
		ipoib_locals_age(c);
	}
	if (now_ms >= c->monitor_ms) {
		c->monitor_ms = now_ms + c->conf.monitor_ms;
		ipoib_groups_monitor(c);
	}
}

void
ipoib_core_mac_groups(struct ipoib_core *c, const struct rte_ether_addr *macs, unsigned int n)
{
	bool kept[IPOIB_GROUPS] = {false};
	uint8_t mgid[16];
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct ipoib_group *g;

		if (!ipoib_mac_mgid(&macs[i], c->conf.pkey, c->conf.scope, mgid))
			continue;
		g = ipoib_group_want(c, mgid, IPOIB_WHY_MAC);
		if (g != NULL)
			kept[g->index] = true;
	}
	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (c->group[i] != NULL && (c->group[i]->why & IPOIB_WHY_MAC) != 0 && !kept[i])
			ipoib_group_unwant(c, c->group[i], IPOIB_WHY_MAC);
	}
}
