/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared receive queues (10.2.9). */
#include <errno.h>

#include "verbs.h"

static struct troce_srq *
srq_of(struct ibv_srq *srq)
{
	return (struct troce_srq *)srq;
}

static int
create_check(struct troce_dev *dev, const struct ibv_srq_attr *a)
{
	if (dev->prov->create_srq == NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no shared receive queues", dev->prov->name);
	if (a->max_wr < 1 || a->max_wr > (uint32_t)dev->attr.max_srq_wr)
		return TROCE_REFUSE(dev, EINVAL, "max_wr %u of a shared receive queue is not in 1..%d", a->max_wr,
				    dev->attr.max_srq_wr);
	if (a->max_sge > (uint32_t)dev->attr.max_srq_sge)
		return TROCE_REFUSE(dev, EINVAL, "max_sge %u of a shared receive queue is not in 0..%d", a->max_sge,
				    dev->attr.max_srq_sge);
	return 0;
}

struct ibv_srq *
troce_srq_make(struct ibv_pd *pd, struct ibv_srq_init_attr *init, struct troce_guest *guest)
{
	struct troce_dev *dev = troce_dev_of(pd->context);
	struct ibv_srq_attr granted = init->attr;
	struct troce_srq *srq;
	int err = create_check(dev, &init->attr);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	srq = troce_obj_alloc(dev, dev->prov->srq_size, sizeof(*srq));
	if (srq == NULL)
		return NULL;
	srq->v.context = pd->context;
	srq->v.srq_context = init->srq_context;
	srq->v.pd = pd;
	srq->guest = guest;
	pthread_mutex_init(&srq->v.mutex, NULL);
	pthread_cond_init(&srq->v.cond, NULL);
	granted.max_sge = RTE_MAX(granted.max_sge, 1u);
	granted.srq_limit = 0; /* 11.2.3.1: armed by modifying only */
	troce_lock(dev);
	err = troce_room(dev, "shared receive queues", dev->srqs, dev->attr.max_srq);
	if (err == 0)
		err = dev->prov->create_srq(srq, &granted);
	if (err == 0) {
		srq->max_wr = granted.max_wr;
		srq->max_sge = granted.max_sge;
		init->attr.max_wr = granted.max_wr;
		init->attr.max_sge = granted.max_sge;
		dev->srqs++;
		((struct troce_pd *)pd)->refs++;
	}
	troce_unlock(dev);
	return troce_made(srq, err);
}

struct ibv_srq *
tp_roce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return troce_srq_make(pd, init, NULL);
}

int
tp_roce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct troce_srq *srq = srq_of(ibsrq);
	struct troce_dev *dev = troce_dev_of(ibsrq->context);
	int err;

	if (attr_mask != IBV_SRQ_LIMIT)
		return TROCE_REFUSE(dev, EINVAL,
				    "mask 0x%x of a shared receive queue's attributes is not 0x%x: its size stays",
				    attr_mask, IBV_SRQ_LIMIT);
	if (attr->srq_limit > srq->max_wr)
		return TROCE_REFUSE(dev, EINVAL, "srq_limit %u is not in 0..%u", attr->srq_limit, srq->max_wr);
	troce_lock(dev);
	err = dev->prov->modify_srq(srq, attr, attr_mask);
	troce_unlock(dev);
	return err;
}

int
tp_roce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct troce_srq *srq = srq_of(ibsrq);
	struct troce_dev *dev = troce_dev_of(ibsrq->context);
	int err;

	*attr = (struct ibv_srq_attr){.max_wr = srq->max_wr, .max_sge = srq->max_sge};
	troce_lock(dev);
	err = dev->prov->query_srq(srq, attr);
	troce_unlock(dev);
	return err;
}

int
tp_roce_recall_srq(struct ibv_srq *ibsrq, void (*fn)(void *arg, uint64_t wr_id), void *arg)
{
	struct troce_srq *srq = srq_of(ibsrq);
	struct troce_dev *dev = troce_dev_of(ibsrq->context);
	int err;

	troce_lock(dev);
	if (dev->prov->recall_srq == NULL)
		err = TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s does not give back what was posted", dev->prov->name);
	else if (srq->refs != 0)
		err = TROCE_REFUSE(dev, EBUSY, "shared receive queue %u is in use by %u queue pair(s)", ibsrq->handle,
				   srq->refs);
	else
		err = dev->prov->recall_srq(srq, fn, arg);
	troce_unlock(dev);
	return err;
}

int
tp_roce_destroy_srq(struct ibv_srq *ibsrq)
{
	struct troce_srq *srq = srq_of(ibsrq);
	struct troce_dev *dev = troce_dev_of(ibsrq->context);
	int err;

	troce_lock(dev);
	if (srq->refs != 0)
		err = TROCE_REFUSE(dev, EBUSY, "shared receive queue %u is in use by %u queue pair(s)", ibsrq->handle,
				   srq->refs);
	else
		err = dev->prov->destroy_srq(srq);
	if (err == 0) {
		dev->srqs--;
		((struct troce_pd *)ibsrq->pd)->refs--;
		troce_async_discard(dev, srq);
	}
	troce_unlock(dev);
	if (err != 0)
		return err;
	troce_settle(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed, &srq->async_events);
	troce_obj_free(srq);
	return 0;
}
