/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <string.h>

#include <rte_jhash.h>

#include "neigh.h"

void
trn_neigh_init(struct trn_neighs *t)
{
	unsigned int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < TRN_NEIGHS; i++) {
		t->bucket[i] = TRN_NEIGH_NONE;
		t->e[i].next = i + 1 < TRN_NEIGHS ? (uint16_t)(i + 1) : TRN_NEIGH_NONE;
	}
	t->due = TRN_NEVER;
}

static uint16_t *
bucket_of(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan)
{
	return &t->bucket[rte_jhash(addr->raw, sizeof(addr->raw), vlan) & (TRN_NEIGHS - 1)];
}

static struct trn_neigh *
find(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan)
{
	uint16_t i;

	for (i = *bucket_of(t, addr, vlan); i != TRN_NEIGH_NONE; i = t->e[i].next)
		if (t->e[i].vlan == vlan && memcmp(&t->e[i].addr, addr, sizeof(*addr)) == 0)
			return &t->e[i];
	return NULL;
}

static void
drop(struct trn_neighs *t, struct trn_neigh *n)
{
	uint16_t *link = bucket_of(t, &n->addr, n->vlan), i = (uint16_t)(n - t->e);

	while (*link != i)
		link = &t->e[*link].next;
	*link = n->next;
	memset(n, 0, sizeof(*n));
	n->next = t->free;
	t->free = i;
}

/* How dear an entry is. What somebody waits for, or uses, outlives what others told us. */
static unsigned int
worth(const struct trn_neigh *n)
{
	switch (n->state) {
	case TRN_FAILED: return 0;
	case TRN_STALE: return 1;
	case TRN_INCOMPLETE: return 3;
	default: return 2;
	}
}

/* Makes room by the least dear entry, the one unused for longest among these; but for none that is dearer than limit. */
static bool
evict(struct trn_neighs *t, unsigned int limit)
{
	struct trn_neigh *n, *victim = NULL;
	unsigned int i;

	for (i = 0; i < TRN_NEIGHS; i++) {
		n = &t->e[i];
		if (worth(n) > limit)
			continue;
		if (victim == NULL || worth(n) < worth(victim) ||
		    (worth(n) == worth(victim) && t->uses - n->used > t->uses - victim->used))
			victim = n;
	}
	if (victim == NULL)
		return false;
	drop(t, victim);
	t->evicted++;
	return true;
}

static struct trn_neigh *
create(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan, unsigned int limit)
{
	uint16_t *bucket = bucket_of(t, addr, vlan);
	struct trn_neigh *n;

	if (t->free == TRN_NEIGH_NONE && !evict(t, limit))
		return NULL;
	n = &t->e[t->free];
	t->free = n->next;
	n->addr = *addr;
	n->vlan = vlan;
	n->used = t->uses;
	n->next = *bucket;
	*bucket = (uint16_t)(n - t->e);
	return n;
}

static void
enter(struct trn_neighs *t, struct trn_neigh *n, enum trn_neigh_state state, uint64_t due)
{
	n->state = (uint8_t)state;
	n->tries = 0;
	n->due = due;
	if (due < t->due)
		t->due = due;
}

int
trn_neigh_lookup(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan, const union ibv_gid *src,
		 struct rte_ether_addr *mac)
{
	struct trn_neigh *n = find(t, addr, vlan);

	t->uses++;
	if (n == NULL) {
		/* With as many questions open as there are entries this one has to wait for its turn. */
		n = create(t, addr, vlan, 2);
		if (n == NULL)
			return EINPROGRESS;
		n->src = *src;
		enter(t, n, TRN_INCOMPLETE, 0);
	}
	n->used = t->uses;
	if (n->state == TRN_FAILED)
		return EHOSTUNREACH;
	if (n->state == TRN_INCOMPLETE)
		return EINPROGRESS;
	if (n->state == TRN_STALE) {
		n->src = *src;
		enter(t, n, TRN_PROBE, 0);
	}
	*mac = n->mac;
	return 0;
}

void
trn_neigh_heard(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan, const struct rte_ether_addr *mac,
		unsigned int flags, uint64_t now)
{
	struct trn_neigh *n = find(t, addr, vlan);
	bool changed;

	if (n == NULL) {
		if ((flags & TRN_HEARD_CREATE) == 0 || mac == NULL)
			return;
		n = create(t, addr, vlan, 1);
		if (n == NULL)
			return;
		n->mac = *mac;
		enter(t, n, TRN_STALE, now + TRN_UNUSED_NS);
		return;
	}
	if (n->state == TRN_INCOMPLETE || n->state == TRN_FAILED) {
		if (mac == NULL)
			return;
		n->mac = *mac;
		changed = true;
	} else {
		changed = mac != NULL && !rte_is_same_ether_addr(mac, &n->mac);
		if (changed && (flags & TRN_HEARD_OVERRIDE) == 0) {
			if (n->state == TRN_REACHABLE)
				enter(t, n, TRN_STALE, now + TRN_UNUSED_NS);
			return;
		}
		if (changed)
			n->mac = *mac;
	}
	if ((flags & TRN_HEARD_SOLICITED) != 0)
		enter(t, n, TRN_REACHABLE, now + TRN_REACHABLE_NS);
	else if (changed)
		enter(t, n, TRN_STALE, now + TRN_UNUSED_NS);
}

void
trn_neigh_forget(struct trn_neighs *t, const union ibv_gid *src, uint16_t vlan)
{
	unsigned int i;

	for (i = 0; i < TRN_NEIGHS; i++) {
		struct trn_neigh *n = &t->e[i];

		if ((n->state == TRN_INCOMPLETE || n->state == TRN_PROBE) && n->vlan == vlan &&
		    memcmp(&n->src, src, sizeof(*src)) == 0)
			drop(t, n);
	}
}

/* An entry whose time has come; true: it has to be asked for. */
static bool
expire(struct trn_neighs *t, struct trn_neigh *n, uint64_t now)
{
	switch (n->state) {
	case TRN_REACHABLE:
		n->state = TRN_STALE;
		n->due = now + TRN_UNUSED_NS;
		return false;
	case TRN_INCOMPLETE:
	case TRN_PROBE:
		if (n->tries < TRN_NEIGH_TRIES) {
			n->tries++;
			n->due = now + TRN_RETRANS_NS;
			return true;
		}
		/* One that was known may have moved: the next who looks for it asks everybody. */
		if (n->state == TRN_PROBE) {
			drop(t, n);
			return false;
		}
		t->failed++;
		n->state = TRN_FAILED;
		n->due = now + TRN_FAILED_NS;
		return false;
	default: drop(t, n); return false;
	}
}

unsigned int
trn_neigh_run(struct trn_neighs *t, uint64_t now, trn_neigh_ask_fn ask, void *arg)
{
	unsigned int i, asked = 0;

	if (t->due > now)
		return 0;
	t->due = TRN_NEVER;
	for (i = 0; i < TRN_NEIGHS; i++) {
		struct trn_neigh *n = &t->e[i];

		if (n->state == TRN_FREE)
			continue;
		if (n->due <= now && expire(t, n, now)) {
			ask(arg, n);
			asked++;
		}
		if (n->state != TRN_FREE && n->due < t->due)
			t->due = n->due;
	}
	return asked;
}
