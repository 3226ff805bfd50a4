/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Protection domains, memory regions and windows. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs_client.h"

VC_EXPORT struct ibv_pd *
ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	struct share_msg m = {0};
	int err = pd == NULL ? ENOMEM : vc_ask(vc_of(ctx), SHARE_ALLOC_PD, 0, &m);

	if (err == 0) {
		pd->context = ctx;
		pd->handle = m.handle;
	}
	return vc_made(pd, err);
}

VC_EXPORT int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(pd->context), SHARE_DEALLOC_PD, pd->handle, &m);

	/* What the owner had went with it. */
	if (err == 0 || err == EIO)
		free(pd);
	return err == EIO ? 0 : err;
}

/* --- regions --- */

VC_EXPORT struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct vc_context *c = vc_of(pd->context);
	struct vc_mr *mr = calloc(1, sizeof(*mr));
	struct share_msg m = {.op = SHARE_REG_MR};
	int fds[SHARE_PIECES], err;

	if (mr == NULL)
		return NULL;
	m.mr.pd = pd->handle;
	/* What a device does not know of these it may ignore. */
	m.mr.access = access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	m.mr.addr = (uintptr_t)addr;
	m.mr.len = length;
	m.mr.iova = iova;
	err = vc_pages_share(addr, length, m.mr.piece, fds, &m.mr.num);
	if (err == 0)
		err = vc_call(c, &m, fds, m.mr.num, NULL, 0);
	if (err == 0) {
		mr->m.m.access = (int)access;
		mr->m.m.v = (struct ibv_mr){.context = pd->context,
					    .pd = pd,
					    .addr = addr,
					    .length = length,
					    .handle = m.handle,
					    .lkey = m.mr.key,
					    .rkey = m.mr.key};
	}
	return vc_made(mr, err);
}

VC_EXPORT struct ibv_mr *
ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

VC_EXPORT struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)addr,
				(unsigned int)access);
}

VC_EXPORT int
ibv_dereg_mr(struct ibv_mr *mr)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(mr->context), SHARE_DEREG_MR, mr->handle, &m);

	if (err == 0 || err == EIO)
		free(mr);
	return err == EIO ? 0 : err;
}

/* The region is as it was, unless the owner says that it lost it. */
static int
rereg_failed(int err)
{
	errno = err;
	return err == EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
}

VC_EXPORT int
ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
	struct share_msg m = {.op = SHARE_REREG_MR, .handle = mr->handle};
	struct troce_mr *own = &((struct vc_mr *)mr)->m.m;
	int now = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? access : own->access;
	int fds[SHARE_PIECES], err = 0;

	if (flags < 0 || ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && (pd == NULL || pd->context != mr->context)))
		return rereg_failed(EINVAL);
	m.mr.flags = (uint64_t)flags;
	m.mr.pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd->handle : 0;
	m.mr.access = (uint32_t)access;
	if (moves) {
		m.mr.addr = (uintptr_t)addr;
		m.mr.len = length;
		m.mr.iova = (now & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)addr;
		err = vc_pages_share(addr, length, m.mr.piece, fds, &m.mr.num);
	}
	if (err == 0)
		err = vc_call(vc_of(mr->context), &m, fds, m.mr.num, NULL, 0);
	if (err != 0)
		return rereg_failed(err);
	mr->lkey = mr->rkey = m.mr.key;
	own->access = now;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0)
		mr->pd = pd;
	if (moves) {
		mr->addr = addr;
		mr->length = length;
	}
	return 0;
}

/* --- windows --- */

struct ibv_mw *
vc_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct mlx4_roce_mw *mw = calloc(1, sizeof(*mw));
	struct share_msg m = {.mw = {.pd = pd->handle, .type = type}};
	int err = mw == NULL ? ENOMEM : vc_ask(vc_of(pd->context), SHARE_ALLOC_MW, 0, &m);

	if (err == 0)
		mw->m.v = (struct ibv_mw){
			.context = pd->context, .pd = pd, .rkey = m.mw.key, .handle = m.handle, .type = type};
	return vc_made(mw, err);
}

int
vc_dealloc_mw(struct ibv_mw *mw)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(mw->context), SHARE_DEALLOC_MW, mw->handle, &m);

	if (err == 0 || err == EIO)
		free(mw);
	return err == EIO ? 0 : err;
}

/* A window of type 1 is bound by a work request that carries its next key (10.6.7.2.2). */
int
vc_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = bind->wr_id,
			.opcode = IBV_WR_BIND_MW,
			.send_flags = bind->send_flags,
			.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info},
		};
	int err;

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	if (mw->pd != qp->pd || (bind->bind_info.mr != NULL && bind->bind_info.mr->pd != mw->pd))
		return EPERM;
	err = vc_post_send(qp, &wr, &bad);
	if (err == 0)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

/* Fast registration is no part of libibverbs. */
bool
mlx4_roce_fast_pages(struct mlx4_roce_mr *m, const struct ibv_send_wr *wr)
{
	(void)m;
	(void)wr;
	return false;
}
