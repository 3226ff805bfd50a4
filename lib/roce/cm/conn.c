/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of a communication manager: made and freed, found by identifier, kept by time. */
#include "priv.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t
random64(struct tcm *cm)
{
	uint64_t z = cm->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t
tcm_tid(struct tcm *cm)
{
	return ++cm->tid;
}

int
tcm_init(struct tcm *cm, const struct tcm_ops *ops, void *home, const struct tcm_conf *conf)
{
	if (conf->max_conns > TCM_MAX_CONNS || conf->max_half_open > TCM_MAX_CONNS)
		return -EINVAL;
	memset(cm, 0, sizeof(*cm));
	cm->ops = ops;
	cm->home = home;
	cm->ca_guid = conf->ca_guid;
	cm->mtu_max = conf->mtu_max;
	cm->rng = conf->seed;
	cm->max_conns = conf->max_conns != 0 ? conf->max_conns : TCM_MAX_CONNS;
	cm->max_half_open = conf->max_half_open != 0 ? conf->max_half_open : TCM_HALF_OPEN;
	cm->tid = random64(cm);
	cm->cookie = (uint32_t)random64(cm);
	cm->free_head = cm->free_tail = TCM_NO_SLOT;
	cm->by_remote = calloc(TCM_BUCKETS, sizeof(*cm->by_remote));
	cm->by_qpn = calloc(TCM_BUCKETS, sizeof(*cm->by_qpn));
	if (cm->by_remote == NULL || cm->by_qpn == NULL) {
		tcm_fini(cm);
		return -ENOMEM;
	}
	return 0;
}

void
tcm_fini(struct tcm *cm)
{
	for (uint32_t i = 0; i < cm->num_slots; i++)
		free(cm->slots[i].conn);
	free(cm->slots);
	free(cm->heap);
	free(cm->by_remote);
	free(cm->by_qpn);
	memset(cm, 0, sizeof(*cm));
}

/* --- slots and local identifiers: the slot's number and how often it was used, made hard to guess --- */

static bool
grow(struct tcm *cm)
{
	uint32_t n = cm->num_slots == 0 ? 64 : cm->num_slots * 2;
	struct tcm_slot *slots;
	struct tcm_conn **heap;

	n = RTE_MIN(n, cm->max_conns);
	heap = realloc(cm->heap, n * sizeof(struct tcm_conn *));
	if (heap == NULL)
		return false;
	cm->heap = heap;
	cm->heap_room = n;
	slots = realloc(cm->slots, n * sizeof(*slots));
	if (slots == NULL)
		return false;
	cm->slots = slots;
	for (uint32_t i = cm->num_slots; i < n; i++)
		cm->slots[i] = (struct tcm_slot){.next = i + 1 < n ? i + 1 : TCM_NO_SLOT,
						 .generation = (uint16_t)random64(cm)};
	cm->free_head = cm->num_slots;
	cm->free_tail = n - 1;
	cm->num_slots = n;
	return true;
}

static uint32_t
id_of(const struct tcm *cm, uint32_t slot)
{
	return ((uint32_t)cm->slots[slot].generation << 16 | slot) ^ cm->cookie;
}

struct tcm_conn *
tcm_by_local(struct tcm *cm, uint32_t local_id)
{
	uint32_t slot = (local_id ^ cm->cookie) & 0xffff;

	return slot < cm->num_slots && cm->slots[slot].conn != NULL && id_of(cm, slot) == local_id
		       ? cm->slots[slot].conn
		       : NULL;
}

struct tcm_conn *
tcm_conn_new(struct tcm *cm, const struct troce_path *path, enum tcm_state state, void *owner)
{
	struct tcm_conn *c;
	uint32_t slot;

	if (cm->conns == cm->max_conns || (cm->free_head == TCM_NO_SLOT && !grow(cm)))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	slot = cm->free_head;
	cm->free_head = cm->slots[slot].next;
	/* 0 stands for "none" in messages. */
	do {
		cm->slots[slot].generation++;
	} while (id_of(cm, slot) == 0);
	cm->slots[slot].conn = c;
	cm->conns++;
	c->cm = cm;
	c->owner = owner;
	c->slot = slot;
	c->local_id = id_of(cm, slot);
	c->deadline = TCM_NEVER;
	c->out.path = *path;
	c->out.remote_qpn = TCM_QPN;
	c->state = TCM_IDLE;
	tcm_state_set(c, state);
	return c;
}

void
tcm_conn_free(struct tcm_conn *c)
{
	struct tcm *cm = c->cm;
	struct tcm_slot *s = &cm->slots[c->slot];

	tcm_timer(c, TCM_NEVER);
	tcm_state_set(c, TCM_IDLE);
	if (c->in_remote)
		LIST_REMOVE(c, by_remote);
	if (c->in_qpn)
		LIST_REMOVE(c, by_qpn);
	s->conn = NULL;
	s->next = TCM_NO_SLOT;
	if (cm->free_head == TCM_NO_SLOT)
		cm->free_head = c->slot;
	else
		cm->slots[cm->free_tail].next = c->slot;
	cm->free_tail = c->slot;
	cm->conns--;
	free(c);
}

/* --- by what the peer calls itself --- */

static uint32_t
bucket(uint32_t n, uint64_t guid)
{
	uint64_t h = (guid ^ n) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 40) & (TCM_BUCKETS - 1);
}

struct tcm_conn *
tcm_by_remote(struct tcm *cm, uint32_t remote_id, uint64_t guid)
{
	struct tcm_conn *c;

	LIST_FOREACH(c, &cm->by_remote[bucket(remote_id, guid)], by_remote)
	{
		if (!c->dgram && c->remote_id == remote_id && c->remote_guid == guid)
			break;
	}
	return c;
}

struct tcm_conn *
tcm_by_request(struct tcm *cm, uint32_t request_id, const struct troce_path *path)
{
	struct tcm_conn *c;

	LIST_FOREACH(c, &cm->by_remote[bucket(request_id, ib_get64(path->dgid.raw + 8))], by_remote)
	{
		if (c->dgram && c->remote_id == request_id && tcm_same_peer(&c->out.path, path))
			break;
	}
	return c;
}

struct tcm_conn *
tcm_by_qpn(struct tcm *cm, uint32_t qpn, uint64_t guid)
{
	struct tcm_conn *c;

	LIST_FOREACH(c, &cm->by_qpn[bucket(qpn, guid)], by_qpn)
	{
		if (c->remote_qpn == qpn && c->remote_guid == guid)
			break;
	}
	return c;
}

void
tcm_index_remote(struct tcm_conn *c)
{
	uint64_t guid = c->dgram ? ib_get64(c->out.path.dgid.raw + 8) : c->remote_guid;

	LIST_INSERT_HEAD(&c->cm->by_remote[bucket(c->remote_id, guid)], c, by_remote);
	c->in_remote = true;
}

void
tcm_index_qpn(struct tcm_conn *c)
{
	LIST_INSERT_HEAD(&c->cm->by_qpn[bucket(c->remote_qpn, c->remote_guid)], c, by_qpn);
	c->in_qpn = true;
}

/* --- states --- */

static bool
half_open(enum tcm_state s)
{
	return s == TCM_REQ_RCVD || s == TCM_MRA_REQ_SENT || s == TCM_REP_SENT || s == TCM_MRA_REP_RCVD ||
	       s == TCM_SIDR_REQ_RCVD;
}

void
tcm_state_set(struct tcm_conn *c, enum tcm_state state)
{
	struct tcm *cm = c->cm;

	cm->half_open += half_open(state);
	cm->half_open -= half_open(c->state);
	cm->stats.active += state == TCM_ESTABLISHED;
	cm->stats.active -= c->state == TCM_ESTABLISHED;
	c->state = state;
}

const char *
tcm_state_str(enum tcm_state state)
{
	static const char *const words[TCM_STATES] = {
		[TCM_REQ_SENT] = "REQ sent",
		[TCM_MRA_REQ_RCVD] = "MRA(REQ) received",
		[TCM_REP_RCVD] = "REP received",
		[TCM_MRA_REP_SENT] = "MRA(REP) sent",
		[TCM_REQ_RCVD] = "REQ received",
		[TCM_MRA_REQ_SENT] = "MRA(REQ) sent",
		[TCM_REP_SENT] = "REP sent",
		[TCM_MRA_REP_RCVD] = "MRA(REP) received",
		[TCM_ESTABLISHED] = "established",
		[TCM_DREQ_SENT] = "DREQ sent",
		[TCM_TIMEWAIT] = "TimeWait",
		[TCM_SIDR_REQ_SENT] = "SIDR_REQ sent",
		[TCM_SIDR_REQ_RCVD] = "SIDR_REQ received",
		[TCM_SIDR_ANSWERED] = "SIDR_REP sent",
		[TCM_IDLE] = "idle",
	};

	return words[state];
}

/* --- deadlines: a heap whose entries know their place --- */

static void
heap_put(struct tcm *cm, uint32_t at, struct tcm_conn *c)
{
	cm->heap[at] = c;
	c->heap_at = at;
}

static void
heap_up(struct tcm *cm, uint32_t at)
{
	struct tcm_conn *c = cm->heap[at];

	while (at != 0 && cm->heap[(at - 1) / 2]->deadline > c->deadline) {
		heap_put(cm, at, cm->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(cm, at, c);
}

static void
heap_down(struct tcm *cm, uint32_t at)
{
	struct tcm_conn *c = cm->heap[at];

	for (;;) {
		uint32_t kid = 2 * at + 1;

		if (kid + 1 < cm->heap_len && cm->heap[kid + 1]->deadline < cm->heap[kid]->deadline)
			kid++;
		if (kid >= cm->heap_len || cm->heap[kid]->deadline >= c->deadline)
			break;
		heap_put(cm, at, cm->heap[kid]);
		at = kid;
	}
	heap_put(cm, at, c);
}

void
tcm_timer(struct tcm_conn *c, uint64_t ns)
{
	struct tcm *cm = c->cm;

	if (c->deadline != TCM_NEVER) {
		uint32_t at = c->heap_at;

		cm->heap_len--;
		if (at != cm->heap_len) {
			struct tcm_conn *last = cm->heap[cm->heap_len];

			heap_put(cm, at, last);
			heap_up(cm, at);
			heap_down(cm, last->heap_at);
		}
	}
	c->deadline = ns == TCM_NEVER ? TCM_NEVER : cm->now + ns;
	if (c->deadline != TCM_NEVER) {
		heap_put(cm, cm->heap_len, c);
		heap_up(cm, cm->heap_len++);
	}
}
