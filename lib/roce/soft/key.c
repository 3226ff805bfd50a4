/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Keys of regions and windows (IBTA 10.6). A key is, from the top: 6 random bits, 18 of index, and 8 that change whenever
 * the key is given anew; of a window those 8 are the application's (10.6.7.2.1). Local and remote keys are the same. On a port with
 * several lanes only control calls change them, with all gates closed: there are no windows, and is no fast registration.
 */
#include <errno.h>

#include <rte_random.h>

#include "gate.h"
#include "guest.h"

/* A free index, looked for behind the last: a key that was given back stays unused for long. */
static int
new_key(struct rsw_dev *d, struct rsw_key *k)
{
	if (d->num_keys == RSW_KEYS - 1) {
		TROCE_LOG(ERR, "port %u: %u regions and windows, 0..%u possible", d->port, d->num_keys, RSW_KEYS - 1);
		return ENOMEM;
	}
	do
		d->next_key = d->next_key % (RSW_KEYS - 1) + 1;
	while (d->keys[d->next_key] != NULL);
	d->num_keys++;
	k->key = (uint32_t)rte_rand() & ~((RSW_KEYS - 1) << 8);
	k->key |= d->next_key << 8;
	return 0;
}

static void
publish(struct rsw_dev *d, struct rsw_key *k)
{
	__atomic_store_n(&d->keys[RSW_KEY_INDEX(k->key)], k, __ATOMIC_RELEASE);
}

static void
free_key(struct rsw_dev *d, const struct rsw_key *k)
{
	d->keys[RSW_KEY_INDEX(k->key)] = NULL;
	d->num_keys--;
}

static void
set_memory(struct rsw_mr *mr, const struct troce_mr *m)
{
	mr->k.start = m->iova;
	mr->k.len = m->v.length;
	mr->k.shift = (uintptr_t)m->v.addr - (uintptr_t)m->iova;
	mr->k.pd = m->v.pd;
	mr->k.access = (uint32_t)m->access;
}

int
rsw_reg_mr(struct troce_mr *m)
{
	struct rsw_mr *mr = (struct rsw_mr *)m;
	struct rsw_dev *d = rsw_dev_of(m->v.context);
	int rc = new_key(d, &mr->k);

	if (rc != 0)
		return rc;
	set_memory(mr, m);
	mr->k.valid = true;
	mr->k.mr = mr;
	m->v.lkey = m->v.rkey = mr->k.key;
	publish(d, &mr->k);
	return 0;
}

int
rsw_rereg_mr(struct troce_mr *m, const struct troce_mr *to)
{
	struct rsw_dev *d = rsw_dev_of(m->v.context);
	int rc = 0;

	rsw_gate_close_all(d);
	/* A window may have been bound since the library looked. */
	if (m->windows != 0)
		rc = EBUSY;
	else
		set_memory((struct rsw_mr *)m, to);
	rsw_gate_open_all(d);
	return rc;
}

int
rsw_alloc_mr(struct troce_mr *m)
{
	struct rsw_mr *mr = (struct rsw_mr *)m;
	struct rsw_dev *d = rsw_dev_of(m->v.context);
	int rc = new_key(d, &mr->k);

	if (rc != 0)
		return rc;
	mr->k.pd = m->v.pd;
	mr->k.fast = true;
	mr->k.mr = mr;
	m->v.lkey = m->v.rkey = mr->k.key;
	publish(d, &mr->k);
	return 0;
}

int
rsw_dereg_mr(struct troce_mr *m)
{
	struct rsw_mr *mr = (struct rsw_mr *)m;
	struct rsw_dev *d = rsw_dev_of(m->v.context);
	int rc = 0;

	rsw_gate_close_all(d);
	/* A window may have been bound since the library looked. */
	if (m->windows != 0)
		rc = EBUSY;
	else
		free_key(d, &mr->k);
	rsw_gate_open_all(d);
	return rc;
}

int
rsw_alloc_mw(struct troce_mw *m)
{
	struct rsw_mw *mw = (struct rsw_mw *)m;
	struct rsw_dev *d = rsw_dev_of(m->v.context);
	int rc = new_key(d, &mw->k);

	if (rc != 0)
		return rc;
	mw->k.pd = m->v.pd;
	mw->k.window = (uint8_t)m->v.type;
	m->v.rkey = mw->k.key;
	publish(d, &mw->k);
	return 0;
}

static void
unbind(struct rsw_key *k)
{
	if (k->mr != NULL)
		k->mr->m.windows--;
	k->mr = NULL;
	k->valid = false;
}

int
rsw_dealloc_mw(struct troce_mw *m)
{
	struct rsw_mw *mw = (struct rsw_mw *)m;
	struct rsw_dev *d = rsw_dev_of(m->v.context);

	rsw_gate_close_all(d);
	unbind(&mw->k);
	free_key(d, &mw->k);
	rsw_gate_open_all(d);
	return 0;
}

/* The region of a bind, if it may be bound so (10.6.7.2.2). */
static struct rsw_mr *
bindable(const struct rsw_qp *qp, const struct ibv_mw_bind_info *b)
{
	struct rsw_mr *mr = (struct rsw_mr *)b->mr;
	const struct rsw_key *k;

	if (mr == NULL || b->mr->context != qp->q.v.context)
		return NULL;
	k = &mr->k;
	if (!k->valid || k->pd != qp->q.v.pd || (k->access & IBV_ACCESS_MW_BIND) == 0)
		return NULL;
	if ((b->mw_access_flags & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
	    (k->access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return NULL;
	if ((b->mw_access_flags & ~(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)) != 0)
		return NULL;
	return b->addr - k->start <= k->len && b->length <= k->len - (b->addr - k->start) ? mr : NULL;
}

static int
bind_window(struct rsw_qp *qp, struct rsw_slot *s, uint32_t rkey)
{
	struct rsw_mr *mr;
	struct rsw_key *k;

	if (qp->g != NULL && !rsw_guest_bind(qp->d, s, rkey))
		return -IBV_WC_MW_BIND_ERR;
	k = &s->mw->k;
	/* A window of type 2 is bound once until it is invalidated; of type 1 again and again. */
	if (k->pd != qp->q.v.pd || RSW_KEY_INDEX(rkey) != RSW_KEY_INDEX(k->key) ||
	    (k->window == IBV_MW_TYPE_2 && (k->valid || s->info.length == 0 || rkey == k->key)))
		return -IBV_WC_MW_BIND_ERR;
	if (s->info.length == 0) {
		unbind(k);
		k->key = rkey;
		return 0;
	}
	mr = bindable(qp, &s->info);
	if (mr == NULL)
		return -IBV_WC_MW_BIND_ERR;
	unbind(k);
	mr->m.windows++;
	k->mr = mr;
	k->key = rkey;
	k->start = s->info.addr;
	k->len = s->info.length;
	k->shift = mr->k.shift;
	k->access = s->info.mw_access_flags;
	k->qpn = qp->q.v.qp_num;
	k->valid = true;
	return 0;
}

/* A region without memory gets this (11.4.1.1). */
static int
fast_register(struct rsw_qp *qp, const struct rsw_slot *s, const struct tre_wqe *w)
{
	struct rsw_key *k = &((struct rsw_mr *)s->info.mr)->k;

	if (!k->fast || k->valid || k->pd != qp->q.v.pd || RSW_KEY_INDEX(w->rkey) != RSW_KEY_INDEX(k->key))
		return -IBV_WC_MW_BIND_ERR;
	k->key = w->rkey;
	k->start = s->info.addr;
	k->len = s->info.length;
	k->shift = w->remote - s->info.addr;
	k->access = s->info.mw_access_flags;
	k->valid = true;
	return 0;
}

int
rsw_invalidate(struct tre_qp *e, uint32_t key)
{
	const struct rsw_qp *qp = e->home;
	struct rsw_key *k = qp->d->keys[RSW_KEY_INDEX(key)];

	if (k != NULL && k->fast && k->key == key && k->valid && k->pd == qp->q.v.pd) {
		k->valid = false;
		return 0;
	}
	/* Of others, only windows of type 2, by the queue pair that bound them (10.6.7.2.6). */
	if (k == NULL || k->key != key || k->window != IBV_MW_TYPE_2 || !k->valid || k->pd != qp->q.v.pd ||
	    k->qpn != qp->q.v.qp_num)
		return -IBV_WC_MW_BIND_ERR;
	unbind(k);
	return 0;
}

int
rsw_local(struct tre_qp *e, const struct tre_wqe *w)
{
	struct rsw_qp *qp = e->home;
	struct rsw_slot *s = &qp->slot[w - qp->sq];

	switch ((unsigned int)s->local) {
	case RSW_WR_BAD: return -IBV_WC_LOC_QP_OP_ERR;
	case IBV_WR_BIND_MW: return bind_window(qp, s, w->rkey);
	case TROCE_WR_FAST_REG: return fast_register(qp, s, w);
	default: return rsw_invalidate(e, w->imm);
	}
}
