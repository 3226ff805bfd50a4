/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues (10.2.6). */
#include <errno.h>

#include "verbs.h"

static int
entries_check(struct troce_dev *dev, int cqe)
{
	if (cqe < 1 || cqe > dev->attr.max_cqe)
		return TROCE_REFUSE(dev, EINVAL, "%d entries of a completion queue are not in 1..%d", cqe,
				    dev->attr.max_cqe);
	return 0;
}

static int
cq_check(struct troce_dev *dev, int cqe, const struct ibv_comp_channel *channel, int vector)
{
	int err = entries_check(dev, cqe);

	if (err != 0)
		return err;
	if (vector < 0 || vector >= dev->vctx.context.num_comp_vectors)
		return TROCE_REFUSE(dev, EINVAL, "completion vector %d is not in 0..%d", vector,
				    dev->vctx.context.num_comp_vectors - 1);
	if (channel != NULL && channel->context != &dev->vctx.context)
		return TROCE_REFUSE(dev, EINVAL, "completion channel %d is another port's", channel->fd);
	return 0;
}

struct ibv_cq *
troce_cq_make(struct ibv_context *ctx, int cqe, const struct troce_cq_more *more)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_cq *cq;
	int err = cq_check(dev, cqe, more->channel, more->vector);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	cq = troce_obj_alloc(dev, dev->prov->cq_size, sizeof(*cq));
	if (cq == NULL)
		return NULL;
	cq->v.context = ctx;
	cq->v.channel = more->channel;
	cq->v.cq_context = more->context;
	cq->guest = more->guest;
	cq->vector = (uint16_t)more->vector;
	cq->v.cqe = cqe;
	pthread_mutex_init(&cq->v.mutex, NULL);
	pthread_cond_init(&cq->v.cond, NULL);
	troce_lock(dev);
	err = troce_room(dev, "completion queues", dev->cqs, dev->attr.max_cq);
	if (err == 0)
		err = dev->prov->create_cq(cq, more->own                                ? TROCE_VECTOR_OWN
					       : more->channel == NULL && !more->events ? -1
											: more->vector);
	if (err == 0) {
		dev->cqs++;
		if (more->channel != NULL)
			more->channel->refcnt++;
	}
	troce_unlock(dev);
	return troce_made(cq, err);
}

struct ibv_cq *
tp_roce_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int comp_vector)
{
	return troce_cq_make(ctx, cqe,
			     &(struct troce_cq_more){.channel = channel, .vector = comp_vector, .context = cq_context});
}

int
tp_roce_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct troce_dev *dev = troce_dev_of(ibcq->context);
	int err;

	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return TROCE_REFUSE(dev, EINVAL, "mask 0x%x of a completion queue's attributes is not 0x%x",
				    attr->attr_mask, IBV_CQ_ATTR_MODERATE);
	if (dev->prov->modify_cq == NULL)
		return TROCE_REFUSE(dev, ENOTSUP, "provider %s has no moderation of events", dev->prov->name);
	troce_lock(dev);
	err = dev->prov->modify_cq((struct troce_cq *)ibcq, attr->moderate.cq_count, attr->moderate.cq_period);
	troce_unlock(dev);
	return err;
}

int
tp_roce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct troce_dev *dev = troce_dev_of(ibcq->context);
	int err = entries_check(dev, cqe);

	if (err != 0)
		return err;
	troce_lock(dev);
	err = dev->prov->resize_cq((struct troce_cq *)ibcq, cqe);
	troce_unlock(dev);
	return err;
}

int
tp_roce_destroy_cq(struct ibv_cq *ibcq)
{
	struct troce_cq *cq = (struct troce_cq *)ibcq;
	struct troce_dev *dev = troce_dev_of(ibcq->context);
	int err;

	troce_lock(dev);
	if (cq->refs != 0)
		err = TROCE_REFUSE(dev, EBUSY, "completion queue %u is in use by %u queue(s)", ibcq->handle, cq->refs);
	else
		err = dev->prov->destroy_cq(cq);
	if (err == 0) {
		dev->cqs--;
		/* from here on the home says nothing about it */
		troce_async_discard(dev, cq);
		if (ibcq->channel != NULL)
			troce_channel_discard(cq);
	}
	troce_unlock(dev);
	if (err != 0)
		return err;

	pthread_mutex_lock(&ibcq->mutex);
	while (ibcq->comp_events_completed != cq->delivered)
		pthread_cond_wait(&ibcq->cond, &ibcq->mutex);
	pthread_mutex_unlock(&ibcq->mutex);
	troce_settle(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed, &cq->async_events);
	if (ibcq->channel != NULL) {
		troce_lock(dev);
		ibcq->channel->refcnt--;
		troce_unlock(dev);
	}
	troce_obj_free(cq);
	return 0;
}
