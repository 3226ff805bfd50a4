/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>

#include "conn.h"
#include "view.h"

/* Bits of a table that is at most half full; searches run past its last place, so that as many empty ones follow. */
static uint32_t
bits_for(uint32_t n)
{
	uint32_t bits = 4;

	while ((1u << bits) < 2 * (n + 1))
		bits++;
	return bits;
}

static uint64_t
mac_word(const struct rte_ether_addr *mac)
{
	uint64_t w = 0;

	memcpy(&w, mac, sizeof(*mac));
	return w;
}

static void
put_sender(struct ipoib_view *v, uint64_t key, const struct ipoib_remote *r, uint8_t *touched)
{
	struct ipoib_rx_ent *e = &v->rx[(key * IPOIB_HASH) >> v->rx_shift];

	while (e->key != 0 && e->key != key)
		e++;
	*e = (struct ipoib_rx_ent){.key = key, .mac = mac_word(&r->mac), .touched = touched};
}

static void
put_conn(struct ipoib_cm_ent *e, const struct ipoib_core *c, const struct ipoib_remote *r)
{
	struct ipoib_conn *conn = r->conn;

	if (conn != NULL && conn->up)
		*e = (struct ipoib_cm_ent){.rc = conn->home, .touched = &conn->touched, .mtu = conn->mtu};
	else
		e->ask = ipoib_conn_wanted(c, r);
}

/* Those that peers send by; what came by one that is ending is the application's, too. */
static void
put_conns(struct ipoib_view *v, struct ipoib_core *c)
{
	struct ipoib_conn *conn;

	TAILQ_FOREACH(conn, &c->conns, next)
	{
		if (conn->passive && conn->up && conn->remote != NULL)
			put_sender(v, ipoib_rx_conn_key(conn->qpn), conn->remote, &conn->touched);
	}
}

/* Before all others, whose own queue pairs they may turn out to be. */
static void
put_aliases(struct ipoib_view *v, struct ipoib_core *c)
{
	unsigned int i, k;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		struct ipoib_remote *r = c->remote[i];

		for (k = 0; r != NULL && k < r->aliases; k++)
			put_sender(v, ipoib_rx_key(r->slid, r->alias[k]), r, &r->touched);
	}
}

static void
put_remotes(struct ipoib_view *v, struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_REMOTES; i++) {
		struct ipoib_remote *r = c->remote[i];

		if (r == NULL)
			continue;
		if (r->ah != NULL) {
			uint64_t mac = mac_word(&r->mac);
			struct ipoib_tx_ent *e = &v->tx[(mac * IPOIB_HASH) >> v->tx_shift];

			while (e->mac != 0)
				e++;
			*e = (struct ipoib_tx_ent){.mac = mac, .ah = r->ah, .qpn = r->qpn, .touched = &r->touched};
			if (v->cm != NULL)
				put_conn(&v->cm[e - v->tx], c, r);
		}
		if (r->slid != 0)
			put_sender(v, ipoib_rx_key(r->slid, r->qpn), r, &r->touched);
	}
}

static void
put_groups(struct ipoib_view *v, struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		struct ipoib_group *g = c->group[i];
		struct ipoib_group_ent *e;
		uint64_t id[2];

		if (g == NULL || g->ah == NULL)
			continue;
		memcpy(id, g->mgid, sizeof(id));
		e = &v->group[((id[0] ^ id[1]) * IPOIB_HASH) >> v->group_shift];
		while (e->ah != NULL)
			e++;
		*e = (struct ipoib_group_ent){.id = {id[0], id[1]}, .ah = g->ah, .touched = &g->touched};
	}
}

static void
put_locals(struct ipoib_view *v, struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_LOCALS; i++) {
		struct ipoib_local *l = &c->local[i];
		struct ipoib_local_ent *e;
		uint64_t id[2];

		if (!l->valid || rte_is_same_ether_addr(&l->mac, &c->mac))
			continue;
		memcpy(id, l->ip, sizeof(id));
		e = &v->local[((id[0] ^ id[1]) * IPOIB_HASH) >> v->local_shift];
		while (e->touched != NULL)
			e++;
		*e = (struct ipoib_local_ent){.id = {id[0], id[1]}, .mac = mac_word(&l->mac), .touched = &l->touched};
		v->locals++;
	}
}

struct ipoib_view *
ipoib_view_make(struct ipoib_core *c)
{
	uint32_t remotes = bits_for(c->num_remotes + c->num_conns + c->num_aliases), groups = bits_for(c->num_groups),
		 locals = bits_for(c->num_locals);
	size_t n_remotes = 2u << remotes, n_groups = 2u << groups, n_locals = 2u << locals;
	uint8_t mgid[16], zero[16] = {0};
	struct ipoib_view *v;

	v = calloc(1, sizeof(*v) + n_remotes * (sizeof(*v->tx) + sizeof(*v->rx)) + n_groups * sizeof(*v->group) +
			      n_locals * sizeof(*v->local) + (c->conf.connected ? n_remotes * sizeof(*v->cm) : 0));
	if (v == NULL)
		return NULL;
	v->tx = (struct ipoib_tx_ent *)(v + 1);
	v->rx = (struct ipoib_rx_ent *)(v->tx + n_remotes);
	v->group = (struct ipoib_group_ent *)(v->rx + n_remotes);
	v->local = (struct ipoib_local_ent *)(v->group + n_groups);
	if (c->conf.connected)
		v->cm = (struct ipoib_cm_ent *)(v->local + n_locals);
	v->tx_shift = v->rx_shift = 64 - remotes;
	v->group_shift = 64 - groups;
	v->local_shift = 64 - locals;
	v->up = c->up;
	v->lid = c->place.lid;
	v->lid_mask = (uint16_t)(0xffffu << c->place.lmc);
	v->mtu = c->mtu;
	v->mac = mac_word(&c->mac);
	ipoib_mgid_broadcast(c->conf.pkey, c->conf.scope, mgid);
	memcpy(v->broadcast, mgid, sizeof(mgid));
	ipoib_mgid_v4(c->conf.pkey, c->conf.scope, zero, mgid);
	memcpy(&v->v4, mgid, sizeof(v->v4));
	ipoib_mgid_v6(c->conf.pkey, c->conf.scope, zero, mgid);
	memcpy(&v->v6, mgid, sizeof(v->v6));
	put_aliases(v, c);
	put_remotes(v, c);
	put_conns(v, c);
	put_groups(v, c);
	put_locals(v, c);
	c->dirty = false;
	return v;
}

uint64_t
ipoib_view_local_mac(const struct ipoib_view *v, uint16_t etype, const uint8_t *l3)
{
	const struct ipoib_local_ent *e;
	uint64_t id[2];
	uint8_t ip[16];

	if (etype == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		ipoib_v4_mapped(l3 + 16, ip);
	else
		memcpy(ip, l3 + 24, 16);
	memcpy(id, ip, 16);
	e = ipoib_view_local(v, id);
	if (e == NULL)
		return v->mac;
	*e->touched = 1;
	return e->mac;
}
