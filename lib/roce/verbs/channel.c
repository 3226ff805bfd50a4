/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion channels: the events of the completion queues that were armed (11.4.2.2), for threads that sleep. */
#include <errno.h>
#include <string.h>

#include "verbs.h"

static struct troce_channel *
channel_of(struct ibv_comp_channel *channel)
{
	return (struct troce_channel *)channel;
}

struct ibv_comp_channel *
tp_roce_create_comp_channel(struct ibv_context *ctx)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_channel *ch = troce_obj_alloc(dev, sizeof(*ch), sizeof(*ch));
	int err;

	if (ch == NULL)
		return NULL;
	err = troce_bell_open(&ch->bell);
	if (err != 0) {
		troce_obj_free(ch);
		errno = TROCE_REFUSE(dev, err, "no descriptor for a completion channel: %s", strerror(err));
		return NULL;
	}
	ch->v.context = ctx;
	ch->v.fd = ch->bell.fd;
	pthread_mutex_init(&ch->lock, NULL);
	STAILQ_INIT(&ch->ready);
	troce_lock(dev);
	dev->channels++;
	troce_unlock(dev);
	return &ch->v;
}

int
tp_roce_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct troce_channel *ch = channel_of(channel);
	struct troce_dev *dev = troce_dev_of(channel->context);

	troce_lock(dev);
	if (ch->v.refcnt != 0) {
		int refs = ch->v.refcnt;

		troce_unlock(dev);
		return TROCE_REFUSE(dev, EBUSY, "completion channel %d is in use by %d completion queue(s)",
				    channel->fd, refs);
	}
	dev->channels--;
	troce_unlock(dev);
	troce_bell_close(&ch->bell);
	pthread_mutex_destroy(&ch->lock);
	troce_obj_free(ch);
	return 0;
}

void
troce_cq_event(struct troce_cq *cq)
{
	struct troce_channel *ch = channel_of(cq->v.channel);

	if (cq->guest != NULL) {
		cq->guest->cq_event(cq->guest, cq);
		return;
	}
	if (ch == NULL)
		return;
	pthread_mutex_lock(&ch->lock);
	cq->events++;
	if (!cq->queued) {
		bool first = STAILQ_EMPTY(&ch->ready);

		STAILQ_INSERT_TAIL(&ch->ready, cq, next);
		cq->queued = true;
		if (first)
			troce_bell_ring(&ch->bell);
	}
	pthread_mutex_unlock(&ch->lock);
}

void
troce_channel_discard(struct troce_cq *cq)
{
	struct troce_channel *ch = channel_of(cq->v.channel);

	pthread_mutex_lock(&ch->lock);
	if (cq->queued) {
		STAILQ_REMOVE(&ch->ready, cq, troce_cq, next);
		cq->queued = false;
		cq->events = 0;
		if (STAILQ_EMPTY(&ch->ready))
			troce_bell_hush(&ch->bell);
	}
	pthread_mutex_unlock(&ch->lock);
}

int
tp_roce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct troce_channel *ch = channel_of(channel);
	struct troce_cq *first;

	do {
		if (troce_bell_wait(&ch->bell) < 0)
			return -1;
		pthread_mutex_lock(&ch->lock);
		first = STAILQ_FIRST(&ch->ready);
		if (first != NULL) {
			STAILQ_REMOVE_HEAD(&ch->ready, next);
			first->delivered++;
			/* armed again meanwhile: behind the others */
			first->queued = --first->events != 0;
			if (first->queued)
				STAILQ_INSERT_TAIL(&ch->ready, first, next);
			troce_bell_taken(&ch->bell, STAILQ_EMPTY(&ch->ready));
			*cq = &first->v;
			*cq_context = first->v.cq_context;
		}
		pthread_mutex_unlock(&ch->lock);
	} while (first == NULL); /* it was destroyed meanwhile */
	return 0;
}

void
tp_roce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
