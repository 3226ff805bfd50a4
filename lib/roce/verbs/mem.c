/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Protection domains, memory regions and windows (10.2.3, 10.6). */
#include <errno.h>
#include <inttypes.h>

#include "verbs.h"

#define ACCESS_KNOWN                                                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |        \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB)

/* A window over memory that another request may exchange would outlive it. */
#define ACCESS_FAST                                                                                                    \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct ibv_pd *
tp_roce_alloc_pd(struct ibv_context *ctx)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_pd *pd = troce_obj_alloc(dev, dev->prov->pd_size, sizeof(*pd));
	int err;

	if (pd == NULL)
		return NULL;
	pd->v.context = ctx;
	troce_lock(dev);
	err = troce_room(dev, "protection domains", dev->pds, dev->attr.max_pd);
	if (err == 0)
		err = dev->prov->alloc_pd(pd);
	if (err == 0)
		dev->pds++;
	troce_unlock(dev);
	return troce_made(pd, err);
}

int
tp_roce_dealloc_pd(struct ibv_pd *ibpd)
{
	struct troce_pd *pd = (struct troce_pd *)ibpd;
	struct troce_dev *dev = troce_dev_of(ibpd->context);
	int err;

	troce_lock(dev);
	if (pd->refs != 0)
		err = TROCE_REFUSE(dev, EBUSY, "protection domain %u has %u object(s)", ibpd->handle, pd->refs);
	else
		err = dev->prov->dealloc_pd(pd);
	if (err == 0)
		dev->pds--;
	troce_unlock(dev);
	return troce_gone(pd, err);
}

/* 11.2.8.2: what is written from afar, may be written. */
static int
mr_check(struct troce_dev *dev, uint64_t addr, size_t length, uint64_t iova, int access, int known)
{
	if (length == 0 || length > dev->attr.max_mr_size)
		return TROCE_REFUSE(dev, EINVAL, "length %zu of a memory region is not in 1..%" PRIu64, length,
				    dev->attr.max_mr_size);
	if (addr + length < addr || iova + length < iova)
		return TROCE_REFUSE(dev, EINVAL, "%zu octets at 0x%" PRIx64 " end behind the last address", length,
				    addr + length < addr ? addr : iova);
	access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	if ((access & ~known) != 0)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "access flags 0x%x: only 0x%x are offered", access, known);
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
	    (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return TROCE_REFUSE(dev, EINVAL, "access flags 0x%x: remote writing needs local writing (0x%x)", access,
				    IBV_ACCESS_LOCAL_WRITE);
	return 0;
}

static struct ibv_mr *
mr_make(struct troce_dev *dev, struct ibv_pd *pd, struct troce_mr *mr, int (*make)(struct troce_mr *mr))
{
	int err;

	mr->v.context = pd->context;
	mr->v.pd = pd;
	troce_lock(dev);
	err = troce_room(dev, "memory regions", dev->mrs, dev->attr.max_mr);
	if (err == 0)
		err = make(mr);
	if (err == 0) {
		dev->mrs++;
		((struct troce_pd *)pd)->refs++;
	}
	troce_unlock(dev);
	return troce_made(mr, err);
}

static struct ibv_mr *
mr_of(struct ibv_pd *ibpd, void *addr, size_t length, uint64_t iova, int access, bool opened)
{
	struct troce_dev *dev = troce_dev_of(ibpd->context);
	struct troce_mr *mr;
	int err = mr_check(dev, (uintptr_t)addr, length, iova, access, ACCESS_KNOWN);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	mr = troce_obj_alloc(dev, dev->prov->mr_size, sizeof(*mr));
	if (mr == NULL)
		return NULL;
	mr->v.addr = addr;
	mr->v.length = length;
	mr->iova = iova;
	mr->access = access & ~IBV_ACCESS_OPTIONAL_RANGE;
	mr->opened = opened;
	return mr_make(dev, ibpd, mr, dev->prov->reg_mr);
}

struct ibv_mr *
tp_roce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return mr_of(pd, addr, length, iova, access, false);
}

struct ibv_mr *
troce_mr_opened(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return mr_of(pd, addr, length, iova, access, true);
}

struct ibv_mr *
tp_roce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return tp_roce_reg_mr_iova(pd, addr, length, (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)addr,
				   access);
}

/* A region as it is to be. */
static int
mr_merge(struct troce_dev *dev, const struct troce_mr *mr, int flags, const struct troce_mr *to, struct troce_mr *new)
{
	const int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;

	if (dev->prov->rereg_mr == NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s changes no memory regions", dev->prov->name);
	if (flags == 0 || (flags & ~known) != 0)
		return TROCE_REFUSE(dev, EINVAL, "flags 0x%x of a change of a memory region: some of 0x%x are wanted",
				    flags, known);
	if (mr->pages != 0)
		return TROCE_REFUSE(dev, EINVAL, "memory region 0x%x is for fast registration", mr->v.lkey);
	*new = *mr;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		new->v.addr = to->v.addr;
		new->v.length = to->v.length;
		new->iova = to->iova;
	}
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0)
		new->v.pd = to->v.pd;
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
		new->access = to->access & ~IBV_ACCESS_OPTIONAL_RANGE;
	if (new->v.pd == NULL || new->v.pd->context != mr->v.context)
		return TROCE_REFUSE(dev, EINVAL, "memory region 0x%x: no protection domain of its device", mr->v.lkey);
	return mr_check(dev, (uintptr_t) new->v.addr, new->v.length, new->iova, new->access, ACCESS_KNOWN);
}

int
troce_mr_change(struct ibv_mr *ibmr, int flags, const struct troce_mr *to)
{
	struct troce_mr *mr = (struct troce_mr *)ibmr, new;
	struct troce_dev *dev = troce_dev_of(ibmr->context);
	int err = mr_merge(dev, mr, flags, to, &new);

	if (err != 0)
		return err;
	troce_lock(dev);
	if (mr->windows != 0)
		err = TROCE_REFUSE(dev, EBUSY, "memory region 0x%x has %u bound window(s)", ibmr->lkey, mr->windows);
	else
		err = dev->prov->rereg_mr(mr, &new);
	if (err == 0) {
		((struct troce_pd *)ibmr->pd)->refs--;
		((struct troce_pd *)new.v.pd)->refs++;
		ibmr->pd = new.v.pd;
		ibmr->addr = new.v.addr;
		ibmr->length = new.v.length;
		mr->iova = new.iova;
		mr->access = new.access;
	}
	troce_unlock(dev);
	return err;
}

int
tp_roce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const int now = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? access : ((struct troce_mr *)mr)->access;
	const struct troce_mr to = {
		.v = {.pd = pd, .addr = addr, .length = length},
		.iova = (now & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)addr,
		.access = access,
	};

	errno = troce_mr_change(mr, flags, &to);
	if (errno == 0)
		return 0;
	return errno == EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
}

struct ibv_mr *
tp_roce_alloc_mr(struct ibv_pd *ibpd, uint32_t max_pages)
{
	struct troce_dev *dev = troce_dev_of(ibpd->context);
	struct troce_mr *mr;
	int err = 0;

	if (dev->prov->alloc_mr == NULL || (dev->attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) == 0)
		err = TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no fast registration", dev->prov->name);
	else if (max_pages == 0 || max_pages > TP_ROCE_FAST_REG_PAGES)
		err = TROCE_REFUSE(dev, EINVAL, "%u pages of a memory region are not in 1..%u", max_pages,
				   TP_ROCE_FAST_REG_PAGES);
	if (err != 0) {
		errno = err;
		return NULL;
	}
	mr = troce_obj_alloc(dev, dev->prov->mr_size, sizeof(*mr));
	if (mr == NULL)
		return NULL;
	mr->pages = max_pages;
	return mr_make(dev, ibpd, mr, dev->prov->alloc_mr);
}

int
tp_roce_fast_reg_mr(struct ibv_qp *qp, struct ibv_mr *ibmr, const struct tp_roce_fast_reg *reg)
{
	struct troce_mr *mr = (struct troce_mr *)ibmr;
	struct troce_dev *dev = troce_dev_of(ibmr->context);
	struct ibv_sge sge = {.addr = (uintptr_t)reg->addr};
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = reg->wr_id,
			.opcode = TROCE_WR_FAST_REG,
			.send_flags = reg->send_flags,
			.sg_list = &sge,
			.num_sge = 1,
			.bind_mw = {.rkey = ibv_inc_rkey(ibmr->rkey),
				    .bind_info = {ibmr, reg->iova, reg->length, (unsigned int)reg->access}},
		};
	int err;

	if (mr->pages == 0)
		return TROCE_REFUSE(dev, EINVAL, "memory region 0x%x is not of tp_roce_alloc_mr()", ibmr->lkey);
	if (qp->qp_type != IBV_QPT_RC)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x is not of type RC", qp->qp_num);
	if (ibmr->pd != qp->pd)
		return TROCE_REFUSE(dev, EPERM,
				    "memory region 0x%x and queue pair 0x%x are not of one protection domain",
				    ibmr->lkey, qp->qp_num);
	err = mr_check(dev, (uintptr_t)reg->addr, reg->length, reg->iova, reg->access, ACCESS_FAST);
	if (err == 0)
		err = ibv_post_send(qp, &wr, &bad);
	if (err != 0)
		return err;
	ibmr->addr = reg->addr;
	ibmr->length = reg->length;
	ibmr->lkey = ibmr->rkey = wr.bind_mw.rkey;
	return 0;
}

int
tp_roce_dereg_mr(struct ibv_mr *ibmr)
{
	struct troce_mr *mr = (struct troce_mr *)ibmr;
	struct troce_dev *dev = troce_dev_of(ibmr->context);
	int err;

	troce_lock(dev);
	if (mr->windows != 0)
		err = TROCE_REFUSE(dev, EBUSY, "memory region 0x%x has %u bound window(s)", ibmr->lkey, mr->windows);
	else
		err = dev->prov->dereg_mr(mr);
	if (err == 0) {
		dev->mrs--;
		((struct troce_pd *)ibmr->pd)->refs--;
	}
	troce_unlock(dev);
	return troce_gone(mr, err);
}

struct ibv_mw *
tp_roce_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct troce_pd *pd = (struct troce_pd *)ibpd;
	struct troce_dev *dev = troce_dev_of(ibpd->context);
	struct troce_mw *mw;
	int err = 0;

	if (dev->prov->alloc_mw == NULL || dev->attr.max_mw == 0)
		err = TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no memory windows here", dev->prov->name);
	else if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		err = TROCE_REFUSE(dev, EINVAL, "type %d of a memory window is not 1 or 2", type);
	if (err != 0) {
		errno = err;
		return NULL;
	}
	mw = troce_obj_alloc(dev, dev->prov->mw_size, sizeof(*mw));
	if (mw == NULL)
		return NULL;
	mw->v.context = ibpd->context;
	mw->v.pd = ibpd;
	mw->v.type = type;
	troce_lock(dev);
	err = troce_room(dev, "memory windows", dev->mws, dev->attr.max_mw);
	if (err == 0)
		err = dev->prov->alloc_mw(mw);
	if (err == 0) {
		dev->mws++;
		pd->refs++;
	}
	troce_unlock(dev);
	return troce_made(mw, err);
}

int
tp_roce_dealloc_mw(struct ibv_mw *ibmw)
{
	struct troce_mw *mw = (struct troce_mw *)ibmw;
	struct troce_dev *dev = troce_dev_of(ibmw->context);
	int err;

	troce_lock(dev);
	err = dev->prov->dealloc_mw(mw);
	if (err == 0) {
		dev->mws--;
		((struct troce_pd *)ibmw->pd)->refs--;
	}
	troce_unlock(dev);
	return troce_gone(mw, err);
}

/* A window of type 1 is bound by a work request that carries the window's next key (10.6.7.2.2). */
int
tp_roce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct troce_dev *dev = troce_dev_of(mw->context);
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = bind->wr_id,
			.opcode = IBV_WR_BIND_MW,
			.send_flags = bind->send_flags,
			.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info},
		};
	int err;

	if (mw->type != IBV_MW_TYPE_1)
		return TROCE_REFUSE(dev, EINVAL, "window 0x%x is of type 2, which IBV_WR_BIND_MW binds", mw->rkey);
	if (mw->pd != qp->pd || (bind->bind_info.mr != NULL && bind->bind_info.mr->pd != mw->pd))
		return TROCE_REFUSE(dev, EPERM,
				    "window 0x%x, queue pair 0x%x and region are not of one protection domain",
				    mw->rkey, qp->qp_num);
	err = ibv_post_send(qp, &wr, &bad);
	if (err == 0)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
