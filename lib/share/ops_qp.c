/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs and addresses of guests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "lib/roce/net/net.h"
#include "lib/roce/verbs/verbs.h"

#include "share_priv.h"

#define GROUPS 256u /* of a user, looked at */

static int
init_of(const struct share_guest *s, const struct share_qp *r, struct ibv_qp_init_attr *init)
{
	const struct share_obj *send = share_obj_of(s, SHARE_CQ, r->send_cq),
			       *recv = share_obj_of(s, SHARE_CQ, r->recv_cq);
	const struct share_obj *srq = share_obj_of(s, SHARE_SRQ, r->srq);

	if (send == NULL || recv == NULL || (srq == NULL && r->srq != 0))
		return EINVAL;
	*init = (struct ibv_qp_init_attr){
		.send_cq = send->obj,
		.recv_cq = recv->obj,
		.srq = srq == NULL ? NULL : srq->obj,
		.cap = r->cap,
		.qp_type = (enum ibv_qp_type)r->type,
		.sq_sig_all = (int)r->sq_sig_all,
	};
	return 0;
}

static void
answer(struct share_guest *s, struct share_call *c, const struct ibv_qp *qp)
{
	struct share_qp *r = &c->m->qp;
	struct troce_view_qp v;

	s->dev->prov->view_qp((const struct troce_qp *)qp, &v);
	r->qpn = v.qpn;
	r->uar = v.uar;
	r->sq = v.sq;
	r->rq = v.rq;
	r->dbrec = v.dbrec;
	r->sq_entries = v.sq_entries;
	r->rq_entries = v.rq_entries;
	r->max_inline = v.max_inline;
	r->sq_sges = v.sq_sges;
	r->rq_sges = v.rq_sges;
	r->lg_sq_stride = v.lg_sq_stride;
	r->lg_rq_stride = v.lg_rq_stride;
	if (s->dev->ib == NULL)
		(void)rte_eth_dev_get_mtu(s->dev->port_id, &r->mtu);
	share_mem_tell(s, v.mem, &r->mem, c);
}

/* The user who calls is in the group that was chosen for the socket. */
static bool
in_group(const struct share_guest *s)
{
	const int64_t group = s->share->group;
	gid_t many[GROUPS];
	socklen_t len = sizeof(many);

	if (group < 0)
		return false;
	if (s->gid == group)
		return true;
	/* Of who is in more of them, none counts. */
	if (getsockopt(s->fd, SOL_SOCKET, SO_PEERGROUPS, many, &len) != 0)
		return false;
	for (unsigned int i = 0; i < len / sizeof(many[0]); i++)
		if (many[i] == group)
			return true;
	return false;
}

/* Rules for whole frames take them away from the port: Linux asks for CAP_NET_RAW. */
int
share_may_have_frames(const struct share_guest *s)
{
	if (s->uid == 0 || (uid_t)s->uid == geteuid() || in_group(s))
		return 0;
	return TROCE_REFUSE(
		s->dev, EPERM,
		"process %d of user %d: raw packet queue pairs are for user 0, for %u, who has the port, and for "
		"the group that was chosen for its socket (share-group)",
		s->pid, s->uid, geteuid());
}

int
share_do_create_qp(struct share_guest *s, struct share_call *c)
{
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, c->m->qp.pd);
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	int err = pd == NULL ? EINVAL : init_of(s, &c->m->qp, &init);

	if (err == 0 && init.qp_type == IBV_QPT_RAW_PACKET)
		err = share_may_have_frames(s);
	if (err != 0)
		return err;
	qp = troce_qp_make(pd->obj, &init,
			   &(struct troce_qp_more){.guest = &s->g, .max_tso_header = c->m->qp.max_tso_header});
	if (qp == NULL)
		return errno;
	c->m->handle = share_obj_new(s, SHARE_QP, qp);
	if (c->m->handle == 0) {
		(void)tp_roce_destroy_qp(qp);
		return ENOMEM;
	}
	qp->handle = c->m->handle;
	SLIST_INIT(&share_obj_of(s, SHARE_QP, c->m->handle)->qp.groups);
	c->m->qp.cap = init.cap;
	answer(s, c, qp);
	return 0;
}

/* An error moves a queue pair, and the guest is who sees its completion. */
static void
state_seen(struct ibv_qp *qp, uint32_t state)
{
	if ((state == IBV_QPS_SQE && qp->state == IBV_QPS_RTS) ||
	    (state == IBV_QPS_ERR && qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT))
		qp->state = (enum ibv_qp_state)state;
}

int
share_do_modify_qp(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_QP, c->m->handle);
	int err;

	if (o == NULL)
		return EINVAL;
	state_seen(o->obj, c->m->qp_attr.state);
	err = tp_roce_modify_qp(o->obj, &c->m->qp_attr.attr, (int)c->m->qp_attr.mask);
	c->m->qp_attr.state = ((struct ibv_qp *)o->obj)->state;
	return err;
}

int
share_do_query_qp(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_QP, c->m->handle);
	struct ibv_qp_init_attr init;
	int err;

	if (o == NULL)
		return EINVAL;
	state_seen(o->obj, c->m->qp_attr.state);
	err = tp_roce_query_qp(o->obj, &c->m->qp_attr.attr, (int)c->m->qp_attr.mask, &init);
	if (err != 0)
		return err;
	c->m->qp_attr.cap = init.cap;
	c->m->qp_attr.sq_sig_all = (uint32_t)init.sq_sig_all;
	return 0;
}

void
share_free_qp(struct share_guest *s, struct share_obj *o)
{
	struct share_group *g;

	(void)s;
	while ((g = SLIST_FIRST(&o->qp.groups)) != NULL) {
		(void)tp_roce_detach_mcast(o->obj, &g->gid, g->lid);
		SLIST_REMOVE_HEAD(&o->qp.groups, next);
		free(g);
	}
	(void)tp_roce_destroy_qp(o->obj);
}

int
share_do_destroy_qp(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_QP, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_destroy_qp(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}

/* --- addresses and groups --- */

int
share_do_create_ah(struct share_guest *s, struct share_call *c)
{
	const struct share_obj *pd = share_obj_of(s, SHARE_PD, c->m->ah.pd);
	struct ibv_ah *ah;

	if (pd == NULL)
		return EINVAL;
	ah = tp_roce_create_ah(pd->obj, &c->m->ah.attr);
	if (ah == NULL)
		return errno;
	c->m->handle = share_obj_new(s, SHARE_AH, ah);
	if (c->m->handle == 0) {
		(void)tp_roce_destroy_ah(ah);
		return ENOMEM;
	}
	s->dev->prov->view_ah((const struct troce_ah *)ah, c->m->ah.dgram);
	return 0;
}

int
share_do_destroy_ah(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_AH, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_destroy_ah(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}

int
share_do_resolve(struct share_guest *s, struct share_call *c)
{
	struct share_resolve *r = &c->m->resolve;
	int state = EOPNOTSUPP;

	if (s->dev->ib == NULL)
		state = troce_routed(s->dev, r->sgid_index, &r->dgid)
				? tp_roce_resolve(s->ctx, r->sgid_index, &r->dgid, r->mac)
				: ENETUNREACH;
	if (state == EINVAL || state == EOPNOTSUPP)
		return state;
	r->state = (uint32_t)state;
	return 0;
}

int
share_do_attach_mcast(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_QP, c->m->handle);
	const struct share_mcast *r = &c->m->mcast;
	struct share_group *g;
	int err;

	if (o == NULL)
		return EINVAL;
	/* Once more is no more. */
	SLIST_FOREACH(g, &o->qp.groups, next)
	{
		if (memcmp(&g->gid, &r->gid, sizeof(g->gid)) == 0)
			return 0;
	}
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return ENOMEM;
	g->gid = r->gid;
	g->lid = r->lid;
	err = tp_roce_attach_mcast(o->obj, &r->gid, r->lid);
	if (err == 0)
		SLIST_INSERT_HEAD(&o->qp.groups, g, next);
	else
		free(g);
	return err;
}

int
share_do_detach_mcast(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_QP, c->m->handle);
	const struct share_mcast *r = &c->m->mcast;
	struct share_group *g;
	int err = o == NULL ? EINVAL : tp_roce_detach_mcast(o->obj, &r->gid, r->lid);

	if (err != 0)
		return err;
	SLIST_FOREACH(g, &o->qp.groups, next)
	{
		if (memcmp(&g->gid, &r->gid, sizeof(g->gid)) != 0)
			continue;
		SLIST_REMOVE(&o->qp.groups, g, share_group, next);
		free(g);
		break;
	}
	return 0;
}
