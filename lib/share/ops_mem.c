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

static int
region_room(struct share_guest *s, uint64_t span)
{
	if (s->region_bytes + span <= s->share->conf.region_bytes)
		return 0;
	return TROCE_REFUSE(s->dev, ENOMEM,
			    "process %d: regions of %" PRIu64 " and %" PRIu64
			    " octets more are over the limit of %" PRIu64,
			    s->pid, s->region_bytes, span, s->share->conf.region_bytes);
}

int
share_do_reg_mr(struct share_guest *s, struct share_call *c)
{
	struct share_mr *r = &c->m->mr;
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, r->pd);
	uint64_t off = r->addr & (PAGE - 1), span;
	struct ibv_mr *mr = NULL;
	struct share_obj *o;
	uint8_t *va;
	int err;

	if (pd == NULL || r->len == 0 || r->len > REGION_MAX)
		return EINVAL;
	span = RTE_ALIGN_CEIL(off + r->len, (uint64_t)PAGE);
	err = region_room(s, span);
	if (err == 0)
		err = pieces_check(s, c, r, span);
	if (err != 0)
		return err;
	va = pieces_map(c, r, span);
	if (va == NULL)
		return ENOMEM;
	err = s->dev->prov->mem_open(s->dev, va, span);
	if (err != 0)
		goto err_open;
	mr = troce_mr_opened(pd->obj, va + off, r->len, r->iova, (int)r->access);
	err = mr == NULL ? errno : keep(s, c, SHARE_MR, mr);
	if (err != 0 || mr == NULL)
		goto err_mr;
	o = share_obj_of(s, SHARE_MR, c->m->handle);
	o->mr.va = va;
	o->mr.len = span;
	s->region_bytes += span;
	r->key = mr->lkey;
	return 0;

err_mr:
	if (mr != NULL)
		(void)tp_roce_dereg_mr(mr);
	s->dev->prov->mem_close(s->dev, va, span);
err_open:
	munmap(va, span);
	return err;
}

static void
region_unmap(struct share_guest *s, struct share_obj *o)
{
	s->dev->prov->mem_close(s->dev, o->mr.va, o->mr.len);
	munmap(o->mr.va, o->mr.len);
	s->region_bytes -= o->mr.len;
}

void
share_free_mr(struct share_guest *s, struct share_obj *o)
{
	(void)tp_roce_dereg_mr(o->obj);
	region_unmap(s, o);
}

int
share_do_dereg_mr(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_MR, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_dereg_mr(o->obj);

	if (err != 0)
		return err;
	region_unmap(s, o);
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
