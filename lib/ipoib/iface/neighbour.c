/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Neighbours: which MAC stands for which hardware address, and the path there. */
#include <errno.h>
#include <stdlib.h>

#include "conn.h"

static unsigned int
mac_bucket(const struct rte_ether_addr *mac)
{
	return (ib_get32(mac->addr_bytes + 2) * UINT32_C(0x9e3779b1)) >> 22;
}
static unsigned int
qpn_bucket(uint32_t qpn)
{
	return (qpn * UINT32_C(0x9e3779b1)) >> 22;
}
_Static_assert(IPOIB_BUCKETS == 1u << (32 - 22), "buckets are ten bits of a hash");

struct ipoib_remote *
ipoib_remote_by_mac(struct ipoib_core *c, const struct rte_ether_addr *mac)
{
	struct ipoib_remote *r;

	SLIST_FOREACH(r, &c->by_mac[mac_bucket(mac)], by_mac)
	{
		if (rte_is_same_ether_addr(&r->mac, mac))
			return r;
	}
	return NULL;
}

static bool
mac_taken(struct ipoib_core *c, const struct rte_ether_addr *mac)
{
	return ipoib_local_has(c, mac) || ipoib_remote_by_mac(c, mac) != NULL;
}

/* A neighbour keeps its MAC for life, since the application's caches have it. */
static void
mac_give(struct ipoib_core *c, struct ipoib_remote *r)
{
	if (r->placed && ipoib_guid_mac(ib_get64(ipoib_hw_gid(&r->hw) + 8), c->conf.guid_mask, &r->mac) &&
	    !mac_taken(c, &r->mac))
		return;
	do {
		ipoib_counter_mac(c->next_mac++, &r->mac);
	} while (mac_taken(c, &r->mac));
}

static struct ipoib_remote *
remote_new(struct ipoib_core *c, const struct ipoib_hw *hw, uint32_t qpn, bool named)
{
	struct ipoib_remote *r;
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES && c->remote[i] != NULL; i++)
		;
	if (i == IPOIB_REMOTES)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	r->index = i;
	r->qpn = qpn;
	if (hw != NULL) {
		r->named = named;
		r->placed = true;
		r->hw = *hw;
	}
	mac_give(c, r);
	c->remote[i] = r;
	c->num_remotes++;
	SLIST_INSERT_HEAD(&c->by_mac[mac_bucket(&r->mac)], r, by_mac);
	SLIST_INSERT_HEAD(&c->by_qpn[qpn_bucket(qpn)], r, by_qpn);
	c->stats.rx_learned++;
	c->dirty = true;
	return r;
}

/* The snapshot in use does not have it yet. */
static void
mac_change(struct ipoib_core *c, struct ipoib_remote *r, const struct rte_ether_addr *mac)
{
	SLIST_REMOVE(&c->by_mac[mac_bucket(&r->mac)], r, ipoib_remote, by_mac);
	r->mac = *mac;
	SLIST_INSERT_HEAD(&c->by_mac[mac_bucket(mac)], r, by_mac);
}

/* Of whom only the GID is known for sure. */
static struct ipoib_remote *
remote_unnamed(struct ipoib_core *c, const struct ipoib_hw *hw)
{
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		struct ipoib_remote *r = c->remote[i];

		if (r != NULL && r->placed && !r->named && memcmp(ipoib_hw_gid(&r->hw), ipoib_hw_gid(hw), 16) == 0)
			return r;
	}
	return NULL;
}

struct ipoib_remote *
ipoib_remote_get(struct ipoib_core *c, const struct ipoib_hw *hw)
{
	uint32_t qpn = ipoib_hw_qpn(hw);
	struct ipoib_remote *r;

	SLIST_FOREACH(r, &c->by_qpn[qpn_bucket(qpn)], by_qpn)
	{
		if (r->named && ipoib_hw_same(&r->hw, hw)) {
			c->dirty |= r->hw.b[0] != hw->b[0];
			r->hw = *hw; /* its flags may be new */
			r->touched = 1;
			return r;
		}
	}
	r = remote_unnamed(c, hw);
	if (r == NULL)
		return remote_new(c, hw, qpn, true);
	/* A packet from its port was here before: now it says its name. */
	SLIST_REMOVE(&c->by_qpn[qpn_bucket(r->qpn)], r, ipoib_remote, by_qpn);
	r->hw = *hw;
	r->qpn = qpn;
	r->named = true;
	SLIST_INSERT_HEAD(&c->by_qpn[qpn_bucket(qpn)], r, by_qpn);
	c->dirty = true;
	return r;
}

void
ipoib_remote_name(struct ipoib_core *c, const struct ipoib_hw *hw, const struct rte_ether_addr *mac, bool rename)
{
	struct ipoib_remote *r, *named = NULL, *other = ipoib_remote_by_mac(c, mac);

	SLIST_FOREACH(r, &c->by_qpn[qpn_bucket(ipoib_hw_qpn(hw))], by_qpn)
	{
		if (r->named && ipoib_hw_same(&r->hw, hw))
			named = r;
	}
	if (named != NULL && (named == other || !rename)) {
		named->touched = 1;
		return;
	}
	if (ipoib_local_has(c, mac) || (other != NULL && !rename))
		return;
	if (named != NULL)
		ipoib_remote_free(c, named);
	if (other != NULL)
		ipoib_remote_free(c, other);
	other = remote_unnamed(c, hw);
	if (other != NULL)
		ipoib_remote_free(c, other);
	r = remote_new(c, hw, ipoib_hw_qpn(hw), true);
	if (r == NULL)
		return;
	r->touched = 1;
	mac_change(c, r, mac);
}

struct ipoib_remote *
ipoib_remote_of_gid(struct ipoib_core *c, const struct ipoib_hw *hw)
{
	struct ipoib_remote *r, *found = NULL;
	unsigned int i;

	SLIST_FOREACH(r, &c->by_qpn[qpn_bucket(ipoib_hw_qpn(hw))], by_qpn)
	{
		if (r->placed && ipoib_hw_same(&r->hw, hw))
			return r;
	}
	/* Hosts may send from more queue pairs than the one that they receive with. */
	for (i = 0; i < IPOIB_REMOTES && found == NULL; i++) {
		r = c->remote[i];
		if (r != NULL && r->placed && memcmp(ipoib_hw_gid(&r->hw), ipoib_hw_gid(hw), 16) == 0)
			found = r;
	}
	if (found != NULL || !ipoib_hw_valid(hw))
		return found;
	return remote_new(c, hw, ipoib_hw_qpn(hw), false);
}

static struct ipoib_remote *
remote_at(struct ipoib_core *c, uint16_t slid, uint32_t qpn)
{
	struct ipoib_remote *r;

	SLIST_FOREACH(r, &c->by_qpn[qpn_bucket(qpn)], by_qpn)
	{
		if (r->qpn == qpn && r->slid == slid)
			return r;
	}
	return NULL;
}

static bool
has_alias(const struct ipoib_remote *r, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < r->aliases; i++) {
		if (r->alias[i] == qpn)
			return true;
	}
	return false;
}

static void
aliases_forget(struct ipoib_core *c, struct ipoib_remote *r)
{
	c->num_aliases -= r->aliases;
	r->aliases = 0;
}

/* It sends by one more queue pair; those that there is no room for, their packets go by the control thread. */
static void
alias_add(struct ipoib_core *c, struct ipoib_remote *r, uint32_t qpn)
{
	if (has_alias(r, qpn))
		return;
	if (r->aliases == IPOIB_ALIASES)
		return;
	r->alias[r->aliases++] = qpn;
	c->num_aliases++;
	c->dirty = true;
}

struct ipoib_remote *
ipoib_remote_of(struct ipoib_core *c, const struct ipoib_meta *meta)
{
	struct ipoib_remote *r = remote_at(c, meta->slid, meta->qpn), *found = NULL;
	unsigned int i, there = 0;

	if (r != NULL)
		return r;
	for (i = 0; i < IPOIB_REMOTES; i++) {
		r = c->remote[i];
		if (r == NULL || !r->placed || r->slid != meta->slid)
			continue;
		if (has_alias(r, meta->qpn))
			return r;
		found = found != NULL ? found : r;
		there++;
	}
	/* Alone behind its LID: who else could it be? */
	if (there == 1)
		alias_add(c, found, meta->qpn);
	if (found != NULL)
		return found;
	r = remote_new(c, NULL, meta->qpn, false);
	if (r != NULL)
		r->slid = meta->slid;
	return r;
}

void
ipoib_remote_seen(struct ipoib_core *c, struct ipoib_remote *r, const struct ipoib_meta *meta)
{
	struct ipoib_remote *other;

	r->touched = 1;
	if (meta->slid == 0 || (meta->qpn == r->qpn && meta->slid == r->slid))
		return;
	/* What was known by LID and QPN alone turns out to be this one. */
	other = remote_at(c, meta->slid, r->qpn);
	if (other != NULL && other != r && !other->named)
		ipoib_remote_free(c, other);
	if (r->slid != meta->slid) {
		aliases_forget(c, r);
		r->slid = meta->slid;
		c->dirty = true;
	}
	if (meta->qpn != r->qpn && remote_at(c, meta->slid, meta->qpn) == NULL)
		alias_add(c, r, meta->qpn);
}

static void
path_failed(struct ipoib_core *c, struct ipoib_remote *r)
{
	c->stats.paths_failed++;
	ipoib_conn_moved(c, r);
	if (r->ah != NULL) {
		c->io.ah_retire(c->io.arg, r->ah);
		r->ah = NULL;
		c->dirty = true;
	}
	r->state = IPOIB_PATH_FAILED;
	r->hold_ms = c->now_ms + IPOIB_HOLD_MS;
	ipoib_wait_drop(c, &r->wait, IPOIB_DROP_TX_NO_PATH);
}

static void
ask(struct ipoib_core *c, struct ipoib_remote *r)
{
	int ret;

	if (r->state == IPOIB_PATH_FAILED && c->now_ms < r->hold_ms)
		return;
	r->token = ipoib_token(c, r->index);
	c->stats.paths_asked++;
	ret = c->io.path(c->io.arg, ipoib_hw_gid(&r->hw), r->token);
	if (ret == 0) {
		if (r->state != IPOIB_PATH_KNOWN)
			r->state = IPOIB_PATH_ASKED;
		r->renew = false;
		return;
	}
	if (r->state != IPOIB_PATH_KNOWN) {
		path_failed(c, r);
		return;
	}
	c->stats.paths_failed++;
	r->renew = true; /* the way that was known is still the best */
}

void
ipoib_remote_send(struct ipoib_core *c, struct ipoib_remote *r, struct rte_mbuf *m)
{
	r->touched = 1;
	if (!r->named) {
		ipoib_drop(c, IPOIB_DROP_TX_NO_NEIGHBOUR, m);
		return;
	}
	if (!c->up) {
		ipoib_drop(c, IPOIB_DROP_TX_DOWN, m);
		return;
	}
	if (r->state == IPOIB_PATH_KNOWN) {
		if (!ipoib_conn_send(c, r, m))
			c->io.send(c->io.arg, r->ah, r->qpn, m);
		return;
	}
	if (r->state != IPOIB_PATH_ASKED)
		ask(c, r);
	if (r->state == IPOIB_PATH_ASKED)
		ipoib_wait_put(c, &r->wait, m);
	else
		ipoib_drop(c, IPOIB_DROP_TX_NO_PATH, m);
}

void
ipoib_remote_wait_again(struct ipoib_core *c, struct ipoib_remote *r)
{
	struct ipoib_wait w = r->wait;
	unsigned int i;

	r->wait.n = 0;
	for (i = 0; i < w.n; i++)
		ipoib_remote_send(c, r, w.pkts[i]);
}

static struct ibv_ah *
ah_of(struct ipoib_core *c, const struct tp_sa_path *path)
{
	struct ibv_ah_attr attr = {
		.dlid = path->dlid,
		.sl = path->sl,
		.static_rate = path->rate,
		.src_path_bits = (uint8_t)(path->slid & ((1u << c->place.lmc) - 1)),
		.port_num = 1,
	};

	/* Another subnet is reached through a router, which looks at the GRH (IBTA 1.4, 8.3). */
	if (path->hop_limit > 1) {
		attr.is_global = 1;
		attr.grh.dgid = path->dgid;
		attr.grh.flow_label = path->flow_label;
		attr.grh.hop_limit = path->hop_limit;
		attr.grh.traffic_class = path->traffic_class;
	}
	return c->io.ah_create(c->io.arg, &attr);
}

void
ipoib_core_path(struct ipoib_core *c, uint32_t token, int status, const struct tp_sa_path *path)
{
	uint32_t index = ipoib_token_index(token);
	struct ipoib_remote *r = index < IPOIB_REMOTES ? c->remote[index] : NULL;
	struct ibv_ah *ah;

	if (r == NULL || r->token != token)
		return; /* aged, or asked again since */
	ah = status == 0 ? ah_of(c, path) : NULL;
	if (ah == NULL) {
		path_failed(c, r);
		return;
	}
	if (r->ah != NULL)
		c->io.ah_retire(c->io.arg, r->ah);
	r->ah = ah;
	/* A connection keeps to the way that it was made for. */
	if (r->path.dlid != path->dlid || r->path.sl != path->sl)
		ipoib_conn_moved(c, r);
	r->path = *path;
	/* It will send from where it is reached, unless it was seen elsewhere. */
	if (r->slid == 0)
		r->slid = path->dlid;
	r->state = IPOIB_PATH_KNOWN;
	c->dirty = true;
	ipoib_remote_wait_again(c, r);
}

void
ipoib_remote_free(struct ipoib_core *c, struct ipoib_remote *r)
{
	ipoib_wait_drop(c, &r->wait, IPOIB_DROP_TX_DOWN);
	ipoib_conn_forget(c, r);
	if (r->ah != NULL)
		c->io.ah_retire(c->io.arg, r->ah);
	aliases_forget(c, r);
	SLIST_REMOVE(&c->by_mac[mac_bucket(&r->mac)], r, ipoib_remote, by_mac);
	SLIST_REMOVE(&c->by_qpn[qpn_bucket(r->qpn)], r, ipoib_remote, by_qpn);
	c->remote[r->index] = NULL;
	c->num_remotes--;
	c->dirty = true;
	/* The snapshot in use points into it. */
	c->io.retire(c->io.arg, r);
}

void
ipoib_remotes_renew(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		struct ipoib_remote *r = c->remote[i];

		if (r == NULL || !r->named)
			continue;
		if (r->state == IPOIB_PATH_KNOWN || r->state == IPOIB_PATH_ASKED)
			ask(c, r);
	}
}

void
ipoib_remotes_age(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		struct ipoib_remote *r = c->remote[i];

		if (r == NULL)
			continue;
		r->idle = r->touched != 0 ? 0 : r->idle + 1;
		r->touched = 0;
		if (r->renew)
			ask(c, r);
		if (r->idle < c->conf.age)
			continue;
		ipoib_remote_free(c, r);
		c->stats.aged++;
	}
}
