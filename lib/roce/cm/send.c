/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A communication manager's datagrams and what its owner is told. */
#include "priv.h"

static void
hand_out(struct tcm *cm, const struct troce_mad *mad)
{
	cm->stats.tx++;
	cm->ops->send(cm->home, mad);
}

int
tcm_send(struct tcm_conn *c, enum cm_msg msg, const void *m, uint64_t tid)
{
	const char *field = NULL;
	int rc = cm_put(msg, m, tid, c->out.data, &field);

	if (rc != 0) {
		TROCE_LOG(ERR, "a %s message cannot be made: its %s has more bits than the field", cm_layouts[msg].name,
			  field);
		return rc;
	}
	hand_out(c->cm, &c->out);
	return 0;
}

void
tcm_again(struct tcm_conn *c)
{
	hand_out(c->cm, &c->out);
}

void
tcm_answer(struct tcm *cm, const struct troce_mad *to, enum cm_msg msg, const void *m)
{
	struct troce_mad out = {.path = to->path, .remote_qpn = TCM_QPN};

	if (cm_put(msg, m, ib_get64(to->data + MAD_TID_AT), out.data, NULL) == 0)
		hand_out(cm, &out);
}

void
tcm_event(struct tcm_conn *c, enum tcm_event_type type, uint16_t reason, const union cm_any *msg)
{
	const struct tcm_event ev = {.type = type, .conn = c, .owner = c->owner, .reason = reason, .msg = msg};

	c->told |= type == TCM_EV_DISCONNECTED;
	if (!c->released)
		c->cm->ops->event(c->cm->home, &ev);
}

uint64_t
tcm_answer_ns(const struct tcm_conn *c, uint8_t code)
{
	return cm_time_ns(RTE_MIN(code, TCM_PEER_TIMEOUT_MAX)) + 2 * cm_time_ns(c->lifetime);
}

/* 12.9.8.4: twice the life of a packet, and what an adapter takes to answer one. */
void
tcm_timewait(struct tcm_conn *c)
{
	tcm_state_set(c, TCM_TIMEWAIT);
	tcm_timer(c, 2 * cm_time_ns(RTE_MIN(c->lifetime, TCM_TIMEWAIT_MAX - 1)));
}

void
tcm_refuse_req(struct tcm *cm, const struct troce_mad *mad, uint32_t remote_id, uint16_t reason, const uint8_t *ari,
	       uint8_t ari_len)
{
	struct cm_rej rej = {.remote_id = remote_id, .msg = CM_ABOUT_REQ, .reason = reason, .ari_len = ari_len};

	if (ari_len != 0)
		memcpy(rej.ari, ari, ari_len);
	cm->stats.rejected_out++;
	tcm_answer(cm, mad, CM_REJ, &rej);
}

void
tcm_stale(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg)
{
	cm->stats.stale++;
	tcm_refuse_req(cm, mad, msg->req.local_id, CM_REJ_STALE, NULL, 0);
}
