/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Events: of completion channels and asynchronous ones, each by a socket that poll(2) and fcntl(2) work on. And the end of the
 * owner, for which a thread waits that does nothing else: the datapath makes no call that could notice.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_client.h"

/* --- completion channels --- */

VC_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct vc_context *c = vc_of(ctx);
	struct vc_channel *ch = calloc(1, sizeof(*ch));
	struct share_msg m = {.op = SHARE_CREATE_CHANNEL};
	int fd = -1, err = ch == NULL ? ENOMEM : vc_call(c, &m, NULL, 0, &fd, 1);

	if (err == 0 && fd < 0)
		err = EPROTO;
	if (err != 0)
		return vc_made(ch, err);
	ch->v.context = ctx;
	ch->v.fd = fd;
	ch->handle = m.handle;
	pthread_mutex_lock(&c->home.tables);
	LIST_INSERT_HEAD(&c->channels, ch, next);
	pthread_mutex_unlock(&c->home.tables);
	return &ch->v;
}

VC_EXPORT int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct vc_context *c = vc_of(channel->context);
	struct vc_channel *ch = (struct vc_channel *)channel;
	struct share_msg m = {0};
	int err = __atomic_load_n(&channel->refcnt, __ATOMIC_RELAXED) != 0
			  ? EBUSY
			  : vc_ask(c, SHARE_DESTROY_CHANNEL, ch->handle, &m);

	if (err != 0 && err != EIO)
		return err;
	pthread_mutex_lock(&c->home.tables);
	LIST_REMOVE(ch, next);
	pthread_mutex_unlock(&c->home.tables);
	close(ch->v.fd);
	free(ch);
	return 0;
}

/* Waits, unless the descriptor does not block. 1: an event; 0: none after all; -1 and errno. */
static int
fetch(int fd, void *event, size_t len)
{
	ssize_t n = recv(fd, event, len, 0);

	if (n == (ssize_t)len)
		return 1;
	if (n < 0)
		return -1;
	/* The owner is gone; the thread below puts another socket in place of this one. */
	(void)poll(NULL, 0, 1);
	return 0;
}

VC_EXPORT int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct vc_context *c = vc_of(channel->context);
	struct share_cq_event e;
	struct vc_cq *q;
	int got;

	do {
		got = fetch(channel->fd, &e, sizeof(e));
		if (got < 0)
			return -1;
		/* It may have been destroyed since. */
		q = got == 0 ? NULL : vc_obj_get(c, e.handle);
	} while (q == NULL);
	/* The next arming counts as a new one [DP 2.4]. */
	atomic_fetch_add_explicit(&q->c.arm_sn, 1, memory_order_relaxed);
	q->delivered++;
	*cq = &q->c.c.v;
	*cq_context = q->c.c.v.cq_context;
	return 0;
}

VC_EXPORT void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* --- asynchronous events --- */

static bool
hand_out(struct vc_context *c, const struct share_async *a, struct ibv_async_event *event)
{
	void *obj = a->handle == 0 ? NULL : vc_obj_get(c, a->handle);

	event->event_type = (enum ibv_event_type)a->type;
	if (obj == NULL) {
		event->element.port_num = 1;
		return a->handle == 0;
	}
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->element.cq = obj;
		((struct troce_cq *)obj)->async_events++;
		return true;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq = obj;
		((struct troce_srq *)obj)->async_events++;
		return true;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR: ((struct ibv_qp *)obj)->state = IBV_QPS_ERR; break;
	default: break;
	}
	event->element.qp = obj;
	((struct troce_qp *)obj)->async_events++;
	return true;
}

VC_EXPORT int
ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct share_async a;
	int got;

	do {
		got = fetch(ctx->async_fd, &a, sizeof(a));
		if (got < 0)
			return -1;
	} while (got == 0 || !hand_out(vc_of(ctx), &a, event));
	return 0;
}

static void
acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

VC_EXPORT void
ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR: acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed); break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: acknowledge(&srq->mutex, &srq->cond, &srq->events_completed); break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: acknowledge(&qp->mutex, &qp->cond, &qp->events_completed); break;
	default: break;
	}
}

/* --- the end of the owner --- */

/* Another socket under the same number; the other end, -1: there is none. */
static int
replace(int fd)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -1;
	(void)dup3(fds[0], fd, O_CLOEXEC);
	close(fds[0]);
	return fds[1];
}

static void
tell_channel(struct vc_context *c, struct vc_channel *ch)
{
	int fd = replace(ch->v.fd);
	struct mlx4_roce_cq *q;

	LIST_FOREACH(q, &c->home.cqs, next)
	{
		struct share_cq_event e = {q->c.v.handle};

		if (q->c.v.channel == &ch->v && fd >= 0)
			(void)send(fd, &e, sizeof(e), MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	/* Stays open, so that the program's end does not say again and again that it is over. */
}

static void
lost(struct vc_context *c)
{
	const struct share_async fatal = {IBV_EVENT_DEVICE_FATAL, 0};
	const uint64_t one = 1;
	struct mlx4_roce_srq *s;
	struct mlx4_roce_qp *q;
	struct mlx4_roce_cq *k;
	struct vc_channel *ch;
	int fd;

	pthread_mutex_lock(&c->home.tables);
	c->hca.dead = true;
	LIST_FOREACH(q, &c->home.qps, next)
	{
		q->sq_room = q->rq_room = 0;
		if (q->q.v.state != IBV_QPS_RESET)
			q->q.v.state = IBV_QPS_ERR;
	}
	LIST_FOREACH(s, &c->home.srqs, next)
	s->refuse = true;
	LIST_FOREACH(k, &c->home.cqs, next)
	k->dead = true;
	LIST_FOREACH(ch, &c->channels, next)
	tell_channel(c, ch);
	if (c->vector_fd >= 0)
		(void)!write(c->vector_fd, &one, sizeof(one));
	pthread_mutex_unlock(&c->home.tables);
	fd = replace(c->vctx.context.async_fd);
	if (fd >= 0)
		(void)send(fd, &fatal, sizeof(fatal), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *
watch(void *arg)
{
	struct vc_context *c = arg;

	for (;;) {
		struct pollfd fds[2] = {{.fd = c->fd, .events = POLLRDHUP}, {.fd = c->stop, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			return NULL;
		if (fds[0].revents != 0)
			break;
	}
	lost(c);
	return NULL;
}

int
vc_watch_start(struct vc_context *c)
{
	sigset_t all, old;
	int err;

	c->stop = eventfd(0, EFD_CLOEXEC);
	if (c->stop < 0)
		return errno;
	/* The program's signals are not for this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&c->watch, NULL, watch, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0)
		close(c->stop);
	return err;
}

void
vc_watch_stop(struct vc_context *c)
{
	const uint64_t one = 1;

	/* A child of fork() has no such thread. */
	if (c->stop < 0)
		return;
	while (write(c->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	(void)pthread_join(c->watch, NULL);
	close(c->stop);
}
