/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Protection domains, regions and windows of guests. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/roce/verbs/verbs.h"

#include "share_priv.h"

#define PAGE 4096u
#define REGION_MAX (UINT64_C(1) << 40)

/* Registers a new object, or undoes it. */
static int
keep(struct share_guest *s, struct share_call *c, enum share_kind kind, void *obj)
{
	c->m->handle = share_obj_new(s, kind, obj);
	return c->m->handle == 0 ? ENOMEM : 0;
}

int
share_do_alloc_pd(struct share_guest *s, struct share_call *c)
{
	struct ibv_pd *pd = tp_roce_alloc_pd(s->ctx);
	int err = pd == NULL ? errno : keep(s, c, SHARE_PD, pd);

	if (err != 0 && pd != NULL)
		(void)tp_roce_dealloc_pd(pd);
	return err;
}

int
share_do_dealloc_pd(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_PD, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_dealloc_pd(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}

/* --- regions --- */

/* Memory that its owner could take away again would end this process. */
static int
piece_check(struct share_guest *s, int fd, const struct share_piece *p)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return TROCE_REFUSE(s->dev, EPERM,
				    "process %d: memory of a region is no file that is sealed against shrinking",
				    s->pid);
	if (fstat(fd, &st) != 0 || p->len == 0 || ((p->off | p->len) & (PAGE - 1)) != 0 || p->off + p->len < p->off ||
	    p->off + p->len > (uint64_t)st.st_size)
		return TROCE_REFUSE(s->dev, EINVAL,
				    "process %d: octets %" PRIu64 " to %" PRIu64
				    " are not whole pages of a region's memory",
				    s->pid, p->off, p->off + p->len);
	return 0;
}

static int
pieces_check(struct share_guest *s, const struct share_call *c, const struct share_mr *r, uint64_t span)
{
	uint64_t sum = 0;
	int err = 0;

	if (r->num == 0 || r->num > SHARE_PIECES || r->num != c->num_in)
		return TROCE_REFUSE(s->dev, EINVAL, "process %d: a region of %u pieces with %u descriptors", s->pid,
				    r->num, c->num_in);
	for (uint32_t i = 0; i < r->num && err == 0; i++) {
		err = piece_check(s, c->in[i], &r->piece[i]);
		/* None of them may reach beyond the place that is there for all: the sum of lengths may not wrap. */
		if (err == 0 && r->piece[i].len > span - sum)
			err = TROCE_REFUSE(s->dev, EINVAL,
					   "process %d: piece %u of %" PRIu64
					   " octets is longer than what is left of a "
					   "region of %" PRIu64,
					   s->pid, i, r->piece[i].len, span);
		if (err == 0)
			sum += r->piece[i].len;
	}
	if (err == 0 && sum != span)
		err = TROCE_REFUSE(s->dev, EINVAL, "process %d: %" PRIu64 " octets of memory for a region of %" PRIu64,
				   s->pid, sum, span);
	return err;
}

static void *
pieces_map(const struct share_call *c, const struct share_mr *r, uint64_t span)
{
	uint8_t *va = share_space(span, r->addr & ~(uint64_t)(PAGE - 1)), *at = va;

	for (uint32_t i = 0; va != NULL && i < r->num; i++) {
		if (mmap(at, r->piece[i].len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->in[i],
			 (off_t)r->piece[i].off) == MAP_FAILED) {
			munmap(va, span);
			return NULL;
		}
		at += r->piece[i].len;
	}
	return va;
}

/* Memory of a region here, open to the card. */
struct region {
	uint8_t *va;
	uint64_t len, off; /* whole pages; where in them it begins */
};

static int
region_map(struct share_guest *s, const struct share_call *c, struct region *g)
{
	const struct share_mr *r = &c->m->mr;
	int err;

	if (r->len == 0 || r->len > REGION_MAX)
		return EINVAL;
	g->off = r->addr & (PAGE - 1);
	g->len = RTE_ALIGN_CEIL(g->off + r->len, (uint64_t)PAGE);
	err = share_limit(s, TP_SHARE_REGION_BYTES, s->region_bytes, g->len);
	if (err == 0)
		err = pieces_check(s, c, r, g->len);
	if (err != 0)
		return err;
	g->va = pieces_map(c, r, g->len);
	if (g->va == NULL)
		return ENOMEM;
	err = s->dev->prov->mem_open(s->dev, g->va, g->len);
	if (err != 0)
		munmap(g->va, g->len);
	else
		s->region_bytes += g->len;
	return err;
}

static void
region_unmap(struct share_guest *s, void *va, size_t len)
{
	s->dev->prov->mem_close(s->dev, va, len);
	munmap(va, len);
	s->region_bytes -= len;
}

int
share_do_reg_mr(struct share_guest *s, struct share_call *c)
{
	struct share_mr *r = &c->m->mr;
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, r->pd);
	struct ibv_mr *mr = NULL;
	struct share_obj *o;
	struct region g;
	int err = pd == NULL ? EINVAL : region_map(s, c, &g);

	if (err != 0)
		return err;
	mr = troce_mr_opened(pd->obj, g.va + g.off, r->len, r->iova, (int)r->access);
	err = mr == NULL ? errno : keep(s, c, SHARE_MR, mr);
	if (err != 0 || mr == NULL) {
		if (mr != NULL)
			(void)tp_roce_dereg_mr(mr);
		region_unmap(s, g.va, g.len);
		return err;
	}
	o = share_obj_of(s, SHARE_MR, c->m->handle);
	o->mr.va = g.va;
	o->mr.len = g.len;
	r->key = mr->lkey;
	return 0;
}

/* Other memory is there beside the old until the card has it. */
int
share_do_rereg_mr(struct share_guest *s, struct share_call *c)
{
	struct share_mr *r = &c->m->mr;
	struct share_obj *o = share_obj_of(s, SHARE_MR, c->m->handle);
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, r->pd);
	bool moves = (r->flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
	struct troce_mr to = {.iova = r->iova, .access = (int)r->access};
	struct region g = {0};
	int err;

	if (o == NULL || r->flags > INT32_MAX || (pd == NULL && (r->flags & IBV_REREG_MR_CHANGE_PD) != 0))
		return EINVAL;
	err = moves ? region_map(s, c, &g) : 0;
	if (err != 0)
		return err;
	to.v = (struct ibv_mr){
		.pd = pd == NULL ? NULL : pd->obj, .addr = moves ? g.va + g.off : NULL, .length = r->len};
	err = troce_mr_change(o->obj, (int)r->flags, &to);
	if (err == 0 && moves) {
		region_unmap(s, o->mr.va, o->mr.len);
		o->mr.va = g.va;
		o->mr.len = g.len;
	} else if (moves) {
		region_unmap(s, g.va, g.len);
	}
	r->key = ((struct ibv_mr *)o->obj)->lkey;
	return err;
}

void
share_free_mr(struct share_guest *s, struct share_obj *o)
{
	(void)tp_roce_dereg_mr(o->obj);
	region_unmap(s, o->mr.va, o->mr.len);
}

int
share_do_dereg_mr(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_MR, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_dereg_mr(o->obj);

	if (err != 0)
		return err;
	region_unmap(s, o->mr.va, o->mr.len);
	share_obj_drop(s, c->m->handle);
	return 0;
}

int
share_do_alloc_mw(struct share_guest *s, struct share_call *c)
{
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, c->m->mw.pd);
	struct ibv_mw *mw;
	int err;

	if (pd == NULL)
		return EINVAL;
	mw = tp_roce_alloc_mw(pd->obj, (enum ibv_mw_type)c->m->mw.type);
	if (mw == NULL)
		return errno;
	err = keep(s, c, SHARE_MW, mw);
	if (err != 0)
		(void)tp_roce_dealloc_mw(mw);
	else
		c->m->mw.key = mw->rkey;
	return err;
}

int
share_do_dealloc_mw(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_MW, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_dealloc_mw(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}
