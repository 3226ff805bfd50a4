/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering rules of guests. */
#include <errno.h>
#include <string.h>

#include "share_priv.h"

int
share_do_create_flow(struct share_guest *s, struct share_call *c)
{
	const struct share_flow *r = &c->m->flow;
	const struct share_obj *qp = share_obj_of(s, SHARE_QP, r->qp);
	union {
		struct ibv_flow_attr attr;
		uint8_t all[SHARE_FLOW_MAX];
	} rule;
	struct ibv_flow *flow;

	if (qp == NULL || r->len < sizeof(rule.attr) || r->len > sizeof(rule.all))
		return EINVAL;
	memcpy(rule.all, r->attr, sizeof(rule.all));
	if (rule.attr.size > r->len)
		return EINVAL;
	flow = tp_roce_create_flow(qp->obj, &rule.attr);
	if (flow == NULL)
		return errno;
	c->m->handle = share_obj_new(s, SHARE_FLOW, flow);
	if (c->m->handle != 0) {
		share_sockets_note(s);
		return 0;
	}
	(void)tp_roce_destroy_flow(flow);
	return ENOMEM;
}

int
share_do_destroy_flow(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_FLOW, c->m->handle);
	int err = o == NULL ? EINVAL : tp_roce_destroy_flow(o->obj);

	if (err == 0)
		share_obj_drop(s, c->m->handle);
	return err;
}
