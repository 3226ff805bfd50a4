/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of the kernel's rdma_cm, by the meaning that librdmacm gives them. */
#include <errno.h>
#include <string.h>

#include "lib/roce/wire/cm_wire.h"

#include "cm.h"

#define BACKLOG_MAX 1024 /* as a kernel's max_backlog */

/* --- addresses --- */

static int
bind_to(struct share_cm_call *k, uint32_t handle, struct sockaddr *addr)
{
	struct share_obj *o;
	int err = share_cm_id(k, handle, &o);

	if (err != 0)
		return err;
	return tp_rdma_bind_addr(o->obj, addr) != 0 ? errno : 0;
}

static int
do_bind_ip(struct share_cm_call *k)
{
	struct ucma_abi_bind_ip *q = k->in;
	struct sockaddr *addr = (struct sockaddr *)&q->addr;

	return share_cm_addr_len(addr) == 0 ? EINVAL : bind_to(k, q->id, addr);
}

/* Among other things librdmacm asks so whether there are addresses of AF_IB: there are none. */
static int
do_bind(struct share_cm_call *k)
{
	struct ucma_abi_bind *q = k->in;
	struct sockaddr *addr = (struct sockaddr *)&q->addr;
	socklen_t len = share_cm_addr_len(addr);

	if (len == 0)
		return EAFNOSUPPORT;
	return q->addr_size != len ? EINVAL : bind_to(k, q->id, addr);
}

static int
resolve(struct share_cm_call *k, uint32_t handle, struct sockaddr *src, struct sockaddr *dst, uint32_t timeout_ms)
{
	struct share_obj *o;
	int err = share_cm_id(k, handle, &o);

	if (err == 0)
		err = share_cm_room(k, o);
	if (err != 0)
		return err;
	if (tp_rdma_resolve_addr(o->obj, src, dst, (int)RTE_MIN(timeout_ms, (uint32_t)INT32_MAX)) != 0)
		return errno;
	o->id.unread++;
	return 0;
}

static int
do_resolve_ip(struct share_cm_call *k)
{
	struct ucma_abi_resolve_ip *q = k->in;
	struct sockaddr *src = (struct sockaddr *)&q->src_addr, *dst = (struct sockaddr *)&q->dst_addr;

	if ((src->sa_family != 0 && share_cm_addr_len(src) == 0) || share_cm_addr_len(dst) == 0)
		return EINVAL;
	return resolve(k, q->id, src->sa_family != 0 ? src : NULL, dst, q->timeout_ms);
}

static int
do_resolve_addr(struct share_cm_call *k)
{
	struct ucma_abi_resolve_addr *q = k->in;
	struct sockaddr *src = (struct sockaddr *)&q->src_addr, *dst = (struct sockaddr *)&q->dst_addr;

	if ((q->src_size != 0 && q->src_size != share_cm_addr_len(src)) || q->dst_size == 0 ||
	    q->dst_size != share_cm_addr_len(dst))
		return EINVAL;
	return resolve(k, q->id, q->src_size != 0 ? src : NULL, dst, q->timeout_ms);
}

static int
do_resolve_route(struct share_cm_call *k)
{
	const struct ucma_abi_resolve_route *q = k->in;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	/* It is answered at once. */
	return tp_rdma_resolve_route(o->obj, 0) != 0 ? errno : 0;
}

/* --- connections --- */

static int
do_connect(struct share_cm_call *k)
{
	const struct ucma_abi_connect *q = k->in;
	struct rdma_conn_param p = share_cm_param(&q->conn_param);
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err == 0 && q->conn_param.valid == 0)
		err = EINVAL;
	if (err != 0)
		return err;
	return tp_rdma_connect(o->obj, &p) != 0 ? errno : 0;
}

static int
do_listen(struct share_cm_call *k)
{
	const struct ucma_abi_listen *q = k->in;
	int backlog = (int)q->backlog;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	if (backlog <= 0 || backlog > BACKLOG_MAX)
		backlog = BACKLOG_MAX;
	if (tp_rdma_listen(o->obj, backlog) != 0)
		return errno;
	o->id.listens = true;
	k->s->listening++;
	return 0;
}

/* With parameters the answer to a request; without, the active side's: its queue pair is ready. */
static int
do_accept(struct share_cm_call *k)
{
	const struct ucma_abi_accept *q = k->in;
	struct rdma_conn_param p = share_cm_param(&q->conn_param);
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	if (q->conn_param.valid == 0)
		return tp_rdma_establish(o->obj) != 0 ? errno : 0;
	if (tp_rdma_accept(o->obj, &p) != 0)
		return errno;
	o->id.uid = q->uid;
	return 0;
}

static int
do_reject(struct share_cm_call *k)
{
	const struct ucma_abi_reject *q = k->in;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	/* The application's own reason, which is the default, and that of rdma_reject_ece(). */
	if (err == 0 && q->reason != 0 && q->reason != CM_REJ_CONSUMER && q->reason != CM_REJ_VENDOR_OPTION)
		err = EINVAL;
	if (err != 0)
		return err;
	return trd_reject(o->obj, q->reason != 0 ? q->reason : CM_REJ_CONSUMER, q->private_data, q->private_data_len) !=
			       0
		       ? errno
		       : 0;
}

static int
do_disconnect(struct share_cm_call *k)
{
	const struct ucma_abi_disconnect *q = k->in;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	return tp_rdma_disconnect(o->obj) != 0 ? errno : 0;
}

static int
do_notify(struct share_cm_call *k)
{
	const struct ucma_abi_notify *q = k->in;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	return tp_rdma_notify(o->obj, (enum ibv_event_type)q->event) != 0 ? errno : 0;
}

static int
do_init_qp_attr(struct share_cm_call *k)
{
	const struct ucma_abi_init_qp_attr *q = k->in;
	struct ibv_qp_attr a = {.qp_state = (enum ibv_qp_state)q->qp_state};
	struct share_obj *o;
	int mask, err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	if (tp_rdma_init_qp_attr(o->obj, &a, &mask) != 0)
		return errno;
	share_cm_qp_attr(&a, mask, k->out);
	return 0;
}

static int
do_set_option(struct share_cm_call *k)
{
	const struct ucma_abi_set_option *q = k->in;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err == 0 && q->optlen > k->num_more)
		err = EINVAL;
	if (err != 0)
		return err;
	return tp_rdma_set_option(o->obj, (int)q->level, (int)q->optname, k->more, q->optlen) != 0 ? errno : 0;
}

/* --- the table --- */

#define NONE(fn, in)                                                                                                   \
	{                                                                                                              \
		fn, sizeof(struct ucma_abi_##in), 0, 0                                                                 \
	}
#define WITH(fn, in, out)                                                                                              \
	{                                                                                                              \
		fn, sizeof(struct ucma_abi_##in), sizeof(struct out), sizeof(struct out)                               \
	}
/* Programs of older releases have room up to the member. */
#define FROM(fn, in, out, member)                                                                                      \
	{                                                                                                              \
		fn, sizeof(struct ucma_abi_##in), sizeof(struct out), offsetof(struct out, member)                     \
	}

static const struct {
	int (*fn)(struct share_cm_call *k);
	uint16_t in, out, out_least;
} commands[] = {
	[UCMA_CMD_CREATE_ID] = WITH(share_cm_create, create_id, ucma_abi_create_id_resp),
	[UCMA_CMD_DESTROY_ID] = WITH(share_cm_destroy, destroy_id, ucma_abi_destroy_id_resp),
	[UCMA_CMD_BIND_IP] = NONE(do_bind_ip, bind_ip),
	[UCMA_CMD_RESOLVE_IP] = NONE(do_resolve_ip, resolve_ip),
	[UCMA_CMD_RESOLVE_ROUTE] = NONE(do_resolve_route, resolve_route),
	[UCMA_CMD_QUERY_ROUTE] = FROM(share_cm_query_route, query, ucma_abi_query_route_resp, ibdev_index),
	[UCMA_CMD_CONNECT] = NONE(do_connect, connect),
	[UCMA_CMD_LISTEN] = NONE(do_listen, listen),
	[UCMA_CMD_ACCEPT] = NONE(do_accept, accept),
	[UCMA_CMD_REJECT] = NONE(do_reject, reject),
	[UCMA_CMD_DISCONNECT] = NONE(do_disconnect, disconnect),
	[UCMA_CMD_INIT_QP_ATTR] = WITH(do_init_qp_attr, init_qp_attr, ib_uverbs_qp_attr),
	[UCMA_CMD_GET_EVENT] = FROM(share_cm_event, get_event, ucma_abi_event_resp, ece),
	[UCMA_CMD_SET_OPTION] = NONE(do_set_option, set_option),
	[UCMA_CMD_NOTIFY] = NONE(do_notify, notify),
	[UCMA_CMD_JOIN_IP_MCAST] = WITH(share_cm_join_ip, join_ip_mcast, ucma_abi_create_id_resp),
	[UCMA_CMD_LEAVE_MCAST] = WITH(share_cm_leave, destroy_id, ucma_abi_destroy_id_resp),
	[UCMA_CMD_MIGRATE_ID] = WITH(share_cm_migrate, migrate_id, ucma_abi_migrate_resp),
	[UCMA_CMD_QUERY] = {share_cm_query, sizeof(struct ucma_abi_query), SHARE_CM_DATA,
			    sizeof(struct ucma_abi_query_path_resp)},
	[UCMA_CMD_BIND] = NONE(do_bind, bind),
	[UCMA_CMD_RESOLVE_ADDR] = NONE(do_resolve_addr, resolve_addr),
	[UCMA_CMD_JOIN_MCAST] = WITH(share_cm_join, join_mcast, ucma_abi_create_id_resp),
};

int
share_do_cm_command(struct share_guest *s, struct share_call *c)
{
	const struct share_obj *ch = share_obj_of(s, SHARE_EVENTS, c->m->handle);
	uint64_t in[SHARE_CM_DATA / sizeof(uint64_t)] = {0}, out[SHARE_CM_DATA / sizeof(uint64_t)] = {0};
	struct share_cm *m = &c->m->cm;
	struct share_cm_call k = {.s = s, .events = c->m->handle, .in = in, .out = out};
	int err;

	if (ch == NULL)
		return EBADF;
	if (m->cmd >= RTE_DIM(commands) || m->len > sizeof(m->data))
		return EINVAL;
	if (commands[m->cmd].fn == NULL)
		return ENOSYS;
	if (m->out < commands[m->cmd].out_least)
		return ENOSPC;
	k.channel = ch->obj;
	memcpy(in, m->data, RTE_MIN(m->len, commands[m->cmd].in));
	k.more = m->data + commands[m->cmd].in;
	k.num_more = m->len > commands[m->cmd].in ? m->len - commands[m->cmd].in : 0;
	k.num_out = RTE_MIN(m->out, commands[m->cmd].out);
	err = commands[m->cmd].fn(&k);
	if (err != 0)
		return err;
	m->len = k.num_out;
	memcpy(m->data, out, k.num_out);
	return 0;
}
