/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Channels, completion queues and shared receive queues of guests. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/roce/verbs/verbs.h"

#include "share_priv.h"

/* --- channels --- */

int
share_do_create_channel(struct share_guest *s, struct share_call *c)
{
	struct share_channel *ch = calloc(1, sizeof(*ch));
	int fds[2], err;

	if (ch == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		free(ch);
		return errno;
	}
	ch->fd = fds[0];
	err = share_fd_room(s, fds[1]);
	c->m->handle = err != 0 ? 0 : share_obj_new(s, SHARE_CHANNEL, ch);
	if (c->m->handle == 0) {
		close(fds[0]);
		close(fds[1]);
		free(ch);
		return err != 0 ? err : ENOMEM;
	}
	c->close_out[c->num_out] = true;
	c->out[c->num_out++] = fds[1];
	return 0;
}

void
share_free_channel(struct share_guest *s, struct share_obj *o)
{
	struct share_channel *ch = o->obj;

	(void)s;
	close(ch->fd);
	free(ch);
}

int
share_do_destroy_channel(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_CHANNEL, c->m->handle);

	if (o == NULL)
		return EINVAL;
	if (((struct share_channel *)o->obj)->cqs != 0)
		return EBUSY;
	share_free_channel(s, o);
	share_obj_drop(s, c->m->handle);
	return 0;
}

/* --- a vector of its own --- */

int
share_do_own_vector(struct share_guest *s, struct share_call *c)
{
	int err = share_may_have_frames(s), fd;

	if (err != 0)
		return err;
	if (s->dev->prov->vector_get == NULL)
		return EOPNOTSUPP;
	if (s->vector_fd >= 0)
		return EBUSY;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = fd < 0 ? errno : share_fd_room(s, fd);
	if (err == 0)
		err = s->dev->prov->vector_get(s->dev, &s->g, fd);
	if (err != 0) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	s->vector_fd = fd;
	c->out[c->num_out++] = fd;
	return 0;
}

void
share_vector_put(struct share_guest *s)
{
	if (s->vector_fd < 0)
		return;
	s->dev->prov->vector_put(s->dev, &s->g);
	close(s->vector_fd);
	s->vector_fd = -1;
}

/* --- completion queues --- */

static void
cq_tell(struct share_guest *s, struct ibv_cq *cq, struct share_call *c)
{
	struct share_cq *r = &c->m->cq;
	struct troce_view_cq v;

	s->dev->prov->view_cq((struct troce_cq *)cq, &v);
	r->cqe = cq->cqe;
	r->cqn = v.cqn;
	r->uar = v.uar;
	r->entries = v.entries;
	r->dbrec = v.dbrec;
	share_mem_tell(s, v.mem, &r->mem, c);
}

int
share_do_create_cq(struct share_guest *s, struct share_call *c)
{
	struct share_cq *r = &c->m->cq;
	const bool own = r->vector == SHARE_VECTOR_OWN;
	const struct share_obj *ch = NULL;
	struct share_obj *o;
	struct ibv_cq *cq;

	if (own && (s->vector_fd < 0 || r->channel != 0))
		return EINVAL;
	if (r->channel != 0) {
		ch = share_obj_of(s, SHARE_CHANNEL, r->channel);
		if (ch == NULL)
			return EINVAL;
	}
	c->m->handle = share_obj_new(s, SHARE_CQ, NULL);
	if (c->m->handle == 0)
		return ENOMEM;
	o = share_obj_of(s, SHARE_CQ, c->m->handle);
	o->cq.channel = ch == NULL ? NULL : ch->obj;
	cq = troce_cq_make(
		s->ctx, r->cqe,
		&(struct troce_cq_more){
			.vector = own ? 0 : r->vector, .context = o, .guest = &s->g, .events = ch != NULL, .own = own});
	if (cq == NULL) {
		share_obj_drop(s, c->m->handle);
		return errno;
	}
	cq->handle = c->m->handle;
	o->obj = cq;
	if (ch != NULL)
		o->cq.channel->cqs++;
	cq_tell(s, cq, c);
	return 0;
}

int
share_do_modify_cq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_CQ, c->m->handle);
	struct ibv_modify_cq_attr attr = {IBV_CQ_ATTR_MODERATE, {c->m->cq.count, c->m->cq.period}};

	return o == NULL ? EINVAL : tp_roce_modify_cq(o->obj, &attr);
}

/* The guest does not read its queue until it has the answer. */
int
share_do_resize_cq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_CQ, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_resize_cq(o->obj, c->m->cq.cqe);

	if (err == 0)
		cq_tell(s, o->obj, c);
	return err;
}

void
share_free_cq(struct share_guest *s, struct share_obj *o)
{
	(void)s;
	(void)tp_roce_destroy_cq(o->obj);
	if (o->cq.channel != NULL)
		o->cq.channel->cqs--;
}

int
share_do_destroy_cq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_CQ, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_destroy_cq(o->obj);

	if (err != 0)
		return err;
	if (o->cq.channel != NULL)
		o->cq.channel->cqs--;
	share_obj_drop(s, c->m->handle);
	return 0;
}

/* --- shared receive queues --- */

int
share_do_create_srq(struct share_guest *s, struct share_call *c)
{
	struct share_srq *r = &c->m->srq;
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, r->pd);
	struct ibv_srq_init_attr init = {.attr = r->attr};
	struct troce_view_srq v;
	struct ibv_srq *srq;

	if (pd == NULL)
		return EINVAL;
	srq = troce_srq_make(pd->obj, &init, &s->g);
	if (srq == NULL)
		return errno;
	c->m->handle = share_obj_new(s, SHARE_SRQ, srq);
	if (c->m->handle == 0) {
		(void)tp_roce_destroy_srq(srq);
		return ENOMEM;
	}
	srq->handle = c->m->handle;
	s->dev->prov->view_srq((struct troce_srq *)srq, &v);
	r->attr = init.attr;
	r->srqn = v.srqn;
	r->entries = v.entries;
	r->dbrec = v.dbrec;
	r->sges = v.sges;
	r->lg_stride = v.lg_stride;
	share_mem_tell(s, v.mem, &r->mem, c);
	return 0;
}

int
share_do_modify_srq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_SRQ, c->m->handle);

	return o == NULL ? EINVAL : tp_roce_modify_srq(o->obj, &c->m->srq.attr, (int)c->m->srq.mask);
}

int
share_do_query_srq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_SRQ, c->m->handle);

	return o == NULL ? EINVAL : tp_roce_query_srq(o->obj, &c->m->srq.attr);
}

int
share_do_destroy_srq(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_SRQ, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_destroy_srq(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}
