/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One connection: a thread that answers what the guest asks, and at its end gives back what the guest had. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "share_priv.h"

#define OWED_MS 10 /* how soon an event that found no room is tried again */

/* --- messages --- */

static void
fds_close(const int *fds, unsigned int n)
{
	while (n > 0)
		close(fds[--n]);
}

/* Descriptors of a message; a program that sends more than there can be is not understood. */
static unsigned int
fds_of(struct msghdr *m, int *fds)
{
	struct cmsghdr *h;
	unsigned int n = 0;

	for (h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
		size_t len;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		len = h->cmsg_len - CMSG_LEN(0);
		memcpy(fds + n, CMSG_DATA(h), len);
		n += len / sizeof(int);
	}
	return n;
}

/* A program of another version, whose messages have another length: it is told which one this is. */
static bool
is_of_another(const struct share_msg *m, size_t len)
{
	return len >= SHARE_HELLO_LEN && m->op == SHARE_HELLO && m->hello.version != SHARE_VERSION;
}

/* 1: a message; 0: the guest is gone, or does not speak as it should; EINTR counts as none yet, -1. */
static int
receive(struct share_guest *s, struct share_call *c)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHARE_FDS)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {c->m, sizeof(*c->m)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};
	ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	c->num_in = c->num_out = 0;
	memset(c->close_out, 0, sizeof(c->close_out));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	c->num_in = fds_of(&m, c->in);
	if (n == sizeof(*c->m) && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
		return 1;
	fds_close(c->in, c->num_in);
	c->num_in = 0;
	return is_of_another(c->m, (size_t)n);
}

static bool
reply(struct share_guest *s, struct share_call *c)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHARE_FDS)];
		struct cmsghdr align;
	} ctl = {{0}};
	struct iovec iov = {c->m, sizeof(*c->m)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (c->num_out != 0) {
		m.msg_control = ctl.buf;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * c->num_out);
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int) * c->num_out);
		memcpy(CMSG_DATA(&ctl.align), c->out, sizeof(int) * c->num_out);
	}
	/* It asks one question at a time, so there is room for the answer. */
	return sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* --- events --- */

static void
wake(struct share_guest *s)
{
	const uint64_t one = 1;

	while (write(s->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static bool
event_send(const struct share_channel *ch, const struct ibv_cq *cq)
{
	struct share_cq_event e = {cq->handle};

	return send(ch->fd, &e, sizeof(e), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

static void
cq_event(struct troce_guest *g, struct troce_cq *cq)
{
	struct share_guest *s = (struct share_guest *)g;
	struct share_obj *o = cq->v.cq_context;

	if (o->cq.channel == NULL || event_send(o->cq.channel, &cq->v))
		return;
	if (atomic_fetch_add(&o->cq.owed, 1) == 0)
		wake(s);
}

static bool
async_send(struct share_guest *s, uint32_t type, uint32_t handle)
{
	struct share_async a = {type, handle};

	return send(s->async_fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

static uint32_t
handle_of(enum ibv_event_type type, void *obj)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR: return ((struct ibv_cq *)obj)->handle;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: return ((struct ibv_srq *)obj)->handle;
	default: return obj == NULL ? 0 : ((struct ibv_qp *)obj)->handle;
	}
}

static void
async_event(struct troce_guest *g, enum ibv_event_type type, void *obj)
{
	struct share_guest *s = (struct share_guest *)g;
	const uint64_t one = 1;
	struct troce_talk begun;

	/* Who sleeps at its vector looks at its queues, which are no more. */
	if (type == IBV_EVENT_DEVICE_FATAL && s->vector_fd >= 0)
		(void)!write(s->vector_fd, &one, sizeof(one));
	if (async_send(s, type, handle_of(type, obj)) || atomic_exchange(&s->async_lost, true))
		return;
	begun = share_talk_begin(&s->share->say);
	TROCE_LOG(WARNING, "%s: process %d does not read its asynchronous events; event %d and later ones are lost",
		  s->dev->where, s->pid, type);
	share_talk_end(&s->share->say, begun, false);
}

/* What found no room before. True: there is still some of it. */
static bool
owed_send(struct share_guest *s)
{
	bool left = false;

	for (uint32_t i = 0; i < s->num_obj; i++) {
		struct share_obj *o = s->obj[i];

		if (o == NULL || o->kind != SHARE_CQ || o->obj == NULL)
			continue;
		while (atomic_load(&o->cq.owed) != 0 && event_send(o->cq.channel, o->obj))
			atomic_fetch_sub(&o->cq.owed, 1);
		left |= atomic_load(&o->cq.owed) != 0;
	}
	return left;
}

/* --- opening --- */

struct find {
	struct share_guest *s;
	const char *name;
	uint32_t index, at;
	struct share_hello *hello;
	struct troce_view_uars v;
	int err;
};

int
share_can(struct troce_dev *dev, struct troce_view_uars *v)
{
	return dev->prov->view_uars == NULL ? EOPNOTSUPP : dev->prov->view_uars(dev, v);
}

static void
one_of(struct troce_dev *dev, void *arg)
{
	struct troce_view_uars v;
	struct find *f = arg;

	if (share_can(dev, &v) != 0 || f->at++ != f->index)
		return;
	rte_strlcpy(f->hello->name, dev->vctx.context.device->name, sizeof(f->hello->name));
	f->hello->guid = dev->attr.node_guid;
	f->hello->infiniband = dev->ib != NULL;
	f->hello->ibdev = share_ibdev(f->hello->name);
	f->err = 0;
}

static int
do_hello(struct share_guest *s, struct share_call *c)
{
	struct find f = {.s = s, .index = c->m->hello.index, .hello = &c->m->hello, .err = ENOENT};

	/* A connection is one device: who has one lists others by another. */
	if (s->dev != NULL)
		return EBUSY;
	if (c->m->hello.version != SHARE_VERSION) {
		c->m->hello.version = SHARE_VERSION;
		return EPROTO;
	}
	troce_open_all(one_of, &f);
	return f.err;
}

static void
open_it(struct troce_dev *dev, void *arg)
{
	struct find *f = arg;

	struct share_guest *s = f->s;

	if (f->err == 0 || strcmp(dev->vctx.context.device->name, f->name) != 0)
		return;
	f->err = share_can(dev, &f->v);
	if (f->err != 0)
		return;
	s->g.uar_fd = share_file("triplane-doorbells", f->v.len);
	f->err = s->g.uar_fd < 0 ? -s->g.uar_fd : troce_guest_add(dev, &s->g);
	if (f->err == 0) {
		s->dev = dev;
		s->ctx = &dev->vctx.context;
	} else if (s->g.uar_fd >= 0) {
		close(s->g.uar_fd);
	}
}

static void
free_one(struct share_guest *s, struct share_obj *o)
{
	switch (o->kind) {
	case SHARE_JOINED: share_free_joined(s, o); break;
	case SHARE_ID: share_free_id(s, o); break;
	case SHARE_EVENTS: share_free_events(s, o); break;
	case SHARE_FLOW: (void)tp_roce_destroy_flow(o->obj); break;
	case SHARE_AH: (void)tp_roce_destroy_ah(o->obj); break;
	case SHARE_QP: share_free_qp(s, o); break;
	case SHARE_SRQ: (void)tp_roce_destroy_srq(o->obj); break;
	case SHARE_CQ: share_free_cq(s, o); break;
	case SHARE_CHANNEL: share_free_channel(s, o); break;
	case SHARE_MW: (void)tp_roce_dealloc_mw(o->obj); break;
	case SHARE_MR: share_free_mr(s, o); break;
	case SHARE_PD: (void)tp_roce_dealloc_pd(o->obj); break;
	default: break;
	}
}

/* Everything, in the order of who refers to whom. */
static void
drop_all(struct share_guest *s)
{
	static const enum share_kind order[] = {SHARE_JOINED, SHARE_ID, SHARE_EVENTS,  SHARE_FLOW, SHARE_AH, SHARE_QP,
						SHARE_SRQ,    SHARE_CQ, SHARE_CHANNEL, SHARE_MW,   SHARE_MR, SHARE_PD};

	for (unsigned int k = 0; k < RTE_DIM(order); k++) {
		for (uint32_t i = 0; i < s->num_obj; i++) {
			if (s->obj[i] == NULL || s->obj[i]->kind != order[k])
				continue;
			free_one(s, s->obj[i]);
			share_obj_drop(s, i + 1);
		}
	}
	free(s->obj);
	s->obj = NULL;
	s->num_obj = 0;
}

static void
leave_dev(struct share_guest *s)
{
	struct troce_dev *dev = s->dev;

	drop_all(s);
	if (dev == NULL)
		return;
	share_vector_put(s);
	share_sockets_end(s);
	TROCE_LOG(INFO, "%s: process %d of user %d leaves: %" PRIu64 " calls, %" PRIu64 " refused", dev->where, s->pid,
		  s->uid, s->calls, s->failed);
	share_arena_free(s);
	/* From here on the port may go, and tells nothing any more. */
	troce_guest_del(dev, &s->g);
	s->dev = NULL;
	close(s->async_fd);
	close(s->g.uar_fd);
}

static int
do_open(struct share_guest *s, struct share_call *c)
{
	struct share_open *r = &c->m->open;
	struct find f = {.s = s, .name = r->name, .err = ENODEV};
	int fds[2];

	r->name[sizeof(r->name) - 1] = '\0';
	if (s->dev != NULL || s->cm)
		return EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return errno;
	s->async_fd = fds[0];
	troce_open_all(open_it, &f);
	if (f.err != 0) {
		close(fds[0]);
		close(fds[1]);
		TROCE_LOG(ERR, "share: process %d of user %d does not get the device that it names: %s", s->pid, s->uid,
			  strerror(f.err));
		return f.err;
	}
	TROCE_LOG(INFO, "%s: process %d of user %d and group %d has the port", s->dev->where, s->pid, s->uid, s->gid);
	pthread_mutex_lock(&s->share->lock);
	rte_strlcpy(s->name, r->name, sizeof(s->name));
	pthread_mutex_unlock(&s->share->lock);
	r->uar_len = f.v.len;
	r->qp_numbers = f.v.qp_numbers;
	r->num_comp_vectors = (uint32_t)s->ctx->num_comp_vectors;
	r->infiniband = s->dev->ib != NULL;
	r->max_tso = s->dev->max_tso;
	r->attr = s->dev->attr;
	memcpy(r->board_id, s->dev->board_id, sizeof(r->board_id));
	c->out[c->num_out++] = s->g.uar_fd;
	c->close_out[c->num_out] = true;
	c->out[c->num_out++] = fds[1];
	return 0;
}

/* --- questions about the port --- */

static int
do_query_port(struct share_guest *s, struct share_call *c)
{
	return tp_roce_query_port(s->ctx, 1, &c->m->port);
}

static int
do_query_gid(struct share_guest *s, struct share_call *c)
{
	struct share_gid *r = &c->m->gid;

	memset(&r->entry, 0, sizeof(r->entry));
	return tp_roce_query_gid_ex(s->ctx, 1, r->index, &r->entry);
}

static int
do_query_pkey(struct share_guest *s, struct share_call *c)
{
	__be16 pkey = 0;
	int err = tp_roce_query_pkey(s->ctx, 1, (int)c->m->pkey.index, &pkey);

	c->m->pkey.pkey = pkey;
	return err;
}

static int
do_init_ah(struct share_guest *s, struct share_call *c)
{
	struct share_from_wc *r = &c->m->from_wc;

	/* As ibv_init_ah_from_wc(): errno, or what the call returns. */
	return tp_roce_init_ah_from_wc(s->ctx, (uint8_t)r->port, &r->wc, &r->grh, &r->attr);
}

/* --- rates --- */

void
share_rate_count(struct share_guest *s)
{
	time_t now = share_now_s();

	if (now != s->second) {
		s->in_last = now == s->second + 1 ? s->in_second : 0;
		s->in_second = 0;
		s->second = now;
	}
	s->in_second++;
}

uint64_t
share_rate(const struct share_guest *s)
{
	time_t now = share_now_s();

	return now == s->second ? s->in_last : now == s->second + 1 ? s->in_second : 0;
}

/* --- the thread --- */

static const struct {
	share_op_fn fn;
	enum share_kind makes; /* SHARE_FREE: nothing */
} ops[SHARE_OPS] = {
	[SHARE_HELLO] = {do_hello, SHARE_FREE},
	[SHARE_OPEN] = {do_open, SHARE_FREE},
	[SHARE_QUERY_PORT] = {do_query_port, SHARE_FREE},
	[SHARE_QUERY_GID] = {do_query_gid, SHARE_FREE},
	[SHARE_QUERY_PKEY] = {do_query_pkey, SHARE_FREE},
	[SHARE_ALLOC_PD] = {share_do_alloc_pd, SHARE_PD},
	[SHARE_DEALLOC_PD] = {share_do_dealloc_pd, SHARE_FREE},
	[SHARE_REG_MR] = {share_do_reg_mr, SHARE_MR},
	[SHARE_DEREG_MR] = {share_do_dereg_mr, SHARE_FREE},
	[SHARE_ALLOC_MW] = {share_do_alloc_mw, SHARE_MW},
	[SHARE_DEALLOC_MW] = {share_do_dealloc_mw, SHARE_FREE},
	[SHARE_CREATE_CHANNEL] = {share_do_create_channel, SHARE_CHANNEL},
	[SHARE_DESTROY_CHANNEL] = {share_do_destroy_channel, SHARE_FREE},
	[SHARE_CREATE_CQ] = {share_do_create_cq, SHARE_CQ},
	[SHARE_MODIFY_CQ] = {share_do_modify_cq, SHARE_FREE},
	[SHARE_DESTROY_CQ] = {share_do_destroy_cq, SHARE_FREE},
	[SHARE_CREATE_SRQ] = {share_do_create_srq, SHARE_SRQ},
	[SHARE_MODIFY_SRQ] = {share_do_modify_srq, SHARE_FREE},
	[SHARE_QUERY_SRQ] = {share_do_query_srq, SHARE_FREE},
	[SHARE_DESTROY_SRQ] = {share_do_destroy_srq, SHARE_FREE},
	[SHARE_CREATE_QP] = {share_do_create_qp, SHARE_QP},
	[SHARE_MODIFY_QP] = {share_do_modify_qp, SHARE_FREE},
	[SHARE_QUERY_QP] = {share_do_query_qp, SHARE_FREE},
	[SHARE_DESTROY_QP] = {share_do_destroy_qp, SHARE_FREE},
	[SHARE_CREATE_AH] = {share_do_create_ah, SHARE_AH},
	[SHARE_DESTROY_AH] = {share_do_destroy_ah, SHARE_FREE},
	[SHARE_INIT_AH] = {do_init_ah, SHARE_FREE},
	[SHARE_ATTACH_MCAST] = {share_do_attach_mcast, SHARE_FREE},
	[SHARE_DETACH_MCAST] = {share_do_detach_mcast, SHARE_FREE},
	[SHARE_CM_OPEN] = {share_do_cm_open, SHARE_EVENTS},
	[SHARE_CM_CLOSE] = {share_do_cm_close, SHARE_FREE},
	[SHARE_CM_COMMAND] = {share_do_cm_command, SHARE_FREE},
	[SHARE_REREG_MR] = {share_do_rereg_mr, SHARE_FREE},
	[SHARE_CREATE_FLOW] = {share_do_create_flow, SHARE_FLOW},
	[SHARE_DESTROY_FLOW] = {share_do_destroy_flow, SHARE_FREE},
	[SHARE_RESIZE_CQ] = {share_do_resize_cq, SHARE_FREE},
	[SHARE_COUNTERS] = {share_do_counters, SHARE_FREE},
	[SHARE_RESOLVE] = {share_do_resolve, SHARE_FREE},
	[SHARE_OWN_VECTOR] = {share_do_own_vector, SHARE_FREE},
};

static int
handle(struct share_guest *s, struct share_call *c)
{
	uint32_t op = c->m->op;
	bool cm = op >= SHARE_CM_OPEN && op <= SHARE_CM_COMMAND;
	int err;

	if (op >= SHARE_OPS)
		return EOPNOTSUPP;
	if (cm ? s->dev != NULL : s->dev == NULL && op > SHARE_OPEN && op != SHARE_COUNTERS)
		return ENODEV;
	if (ops[op].makes != SHARE_FREE) {
		err = share_obj_room(s, ops[op].makes);
		if (err != 0)
			return err;
	}
	return ops[op].fn(s, c);
}

/* No refusals: the end of the list of devices, an entry of a table that is empty, and what has to be asked again. */
static bool
refused(const struct share_msg *m)
{
	return m->err != 0 && m->err != EAGAIN && m->err != ENODATA && m->op != SHARE_HELLO;
}

/* False: the connection is over. */
static bool
question(struct share_guest *s)
{
	struct share_msg m;
	struct share_call c = {.m = &m};
	int got = receive(s, &c);
	struct troce_talk begun;
	bool ok;

	if (got <= 0)
		return got < 0;
	begun = share_talk_begin(&s->share->say);
	m.err = handle(s, &c);
	share_talk_end(&s->share->say, begun, refused(&m));
	fds_close(c.in, c.num_in);
	if (m.err != 0)
		c.num_out = 0;
	pthread_mutex_lock(&s->share->lock);
	s->calls++;
	share_rate_count(s);
	s->failed += refused(&m);
	pthread_mutex_unlock(&s->share->lock);
	ok = reply(s, &c);
	for (unsigned int i = 0; i < c.num_out; i++)
		if (c.close_out[i])
			close(c.out[i]);
	return ok;
}

void
share_guest_leave(struct troce_guest *g)
{
	/* The thread sees the end of the connection. */
	shutdown(((struct share_guest *)g)->fd, SHUT_RDWR);
}

static void
done(struct share_guest *s)
{
	struct tp_share *h = s->share;

	leave_dev(s);
	close(s->wake);
	pthread_mutex_lock(&h->lock);
	TAILQ_REMOVE(&h->guests, s, next);
	/* Who ends the sharing shuts it down as long as it is in the list. */
	close(s->fd);
	h->num_guests--;
	h->stats.calls += s->calls;
	h->stats.failed += s->failed;
	pthread_cond_broadcast(&h->gone);
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_destroy(&s->arena);
	free(s);
}

ctrl_thread_end
share_guest_main(void *arg)
{
	struct share_guest *s = arg;
	bool owed = false, on = true;

	/* Nobody waits for it: the owner waits until the guest is off its list. */
	(void)pthread_detach(pthread_self());
	s->g = (struct troce_guest){.mem_get = share_mem_get,
				    .mem_put = share_mem_put,
				    .cq_event = cq_event,
				    .async = async_event,
				    .leave = share_guest_leave};
	while (on) {
		struct pollfd fds[2] = {{.fd = s->fd, .events = POLLIN}, {.fd = s->wake, .events = POLLIN}};
		uint64_t n;

		if (poll(fds, 2, owed ? OWED_MS : -1) < 0)
			continue;
		if (fds[1].revents != 0 && read(s->wake, &n, sizeof(n)) > 0)
			owed = true;
		if (fds[0].revents != 0)
			on = question(s);
		if (owed)
			owed = owed_send(s);
	}
	done(s);
	return 0;
}
