/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Other managers (14.4.1): who has the highest priority, or of those the lowest GUID, is to be master. One that begins stands
 * by for a master, whoever that is, and for who is stronger; a master hands over to one that is stronger and stands by.
 */
#include "sm_priv.h"

#define POLLS 3u /* that a master may miss, each with all its tries */

static bool
stronger(struct tp_sm *sm, const struct sm_peer *p)
{
	return p->priority > sm->conf.priority || (p->priority == sm->conf.priority && p->guid < sm_own_guid(sm));
}

void
sm_info_put(struct tp_sm *sm, uint8_t info[SMP_DATA_LEN])
{
	memset(info, 0, SMP_DATA_LEN);
	ib_put64(info, sm_own_guid(sm));
	ib_put64(info + 8, sm->conf.key);
	ib_put32(info + 16, (uint32_t)sm->stats.requests);
	info[20] = (uint8_t)(sm->conf.priority << 4 | sm->role);
}

static struct sm_peer
take(const uint8_t *info)
{
	return (struct sm_peer){.guid = ib_get64(info), .priority = info[20] >> 4, .state = info[20] & 0xf};
}

void
sm_peer_ask(struct tp_sm *sm, const struct sm_port *at)
{
	(void)sm_step_add(sm, SM_STEP_PEER, SMP_ATTR_SM_INFO, 0, at);
}

void
sm_peer_found(struct tp_sm *sm, const struct sm_step *s, const uint8_t *info)
{
	struct sm_peer *p = &sm->peer[sm->num_peers];

	if (sm->num_peers == SM_PEERS || ib_get64(info) == sm_own_guid(sm))
		return;
	*p = take(info);
	memcpy(p->at.path, s->path, sizeof(p->at.path));
	p->at.hops = s->hops;
	sm->num_peers++;
}

static void
stand_by(struct tp_sm *sm, const struct sm_peer *master)
{
	sm->master = *master;
	sm->silent = 0;
	sm->role = TP_SM_STANDBY;
}

static void
begin_again(struct tp_sm *sm)
{
	sm->role = TP_SM_DISCOVERING;
	sm_again(sm);
}

/* For whom one that begins, or one that is master, stands back. */
static bool
gives_way(struct tp_sm *sm, const struct sm_peer *p)
{
	if (p->state == TP_SM_MASTER)
		return sm->role == TP_SM_DISCOVERING || stronger(sm, p);
	return sm->role == TP_SM_DISCOVERING && p->state != TP_SM_NOT_ACTIVE && stronger(sm, p);
}

bool
sm_peer_verdict(struct tp_sm *sm)
{
	const struct sm_peer *best = NULL;

	if (sm->role == TP_SM_NOT_ACTIVE)
		return false;
	for (unsigned int i = 0; i < sm->num_peers && sm->taken_from == 0; i++) {
		const struct sm_peer *p = &sm->peer[i];

		if (gives_way(sm, p) && (best == NULL || p->state == TP_SM_MASTER))
			best = p;
	}
	if (best != NULL) {
		stand_by(sm, best);
		return false;
	}
	if (sm->role != TP_SM_MASTER) {
		memset(sm->told, 0, sizeof(sm->told));
		sm_groups_begin(sm);
		sm->role = TP_SM_MASTER;
	}
	return true;
}

void
sm_peer_tell(struct tp_sm *sm)
{
	const struct sm_peer *heir = NULL;

	for (unsigned int i = 0; i < sm->num_peers; i++) {
		const struct sm_peer *p = &sm->peer[i];

		if (p->guid == sm->taken_from)
			(void)sm_step_add(sm, SM_STEP_TELL, SMP_ATTR_SM_INFO, SM_ACKNOWLEDGE, &p->at);
		else if (p->state == TP_SM_STANDBY && stronger(sm, p) &&
			 (heir == NULL || p->priority > heir->priority ||
			  (p->priority == heir->priority && p->guid < heir->guid)))
			heir = p;
	}
	sm->taken_from = 0;
	if (heir != NULL)
		(void)sm_step_add(sm, SM_STEP_TELL, SMP_ATTR_SM_INFO, SM_HANDOVER, &heir->at);
}

void
sm_peer_poll(struct tp_sm *sm)
{
	sm_peer_ask(sm, &sm->master.at);
}

void
sm_peer_polled(struct tp_sm *sm, const uint8_t *info)
{
	struct sm_peer p = info == NULL ? (struct sm_peer){0} : take(info);

	if (p.state == TP_SM_MASTER && p.guid == sm->master.guid) {
		sm->silent = 0;
		sm->master.priority = p.priority;
	} else if (++sm->silent >= POLLS && sm->role == TP_SM_STANDBY) {
		begin_again(sm);
	}
}

/* --- what others say to us --------------------------------------------------------------------------------------- */

static bool
handover(struct tp_sm *sm, const uint8_t *info)
{
	if (sm->role == TP_SM_NOT_ACTIVE)
		return false;
	sm->taken_from = ib_get64(info);
	sm->stats.handovers++;
	if (sm->role == TP_SM_STANDBY)
		begin_again(sm);
	else
		sm_again(sm);
	return true;
}

/* Who took over is found by polls as anybody is who is master. */
static bool
acknowledged(struct tp_sm *sm, const uint8_t *info)
{
	if (sm->role != TP_SM_MASTER)
		return false;
	for (unsigned int i = 0; i < sm->num_peers; i++) {
		if (sm->peer[i].guid == ib_get64(info)) {
			stand_by(sm, &sm->peer[i]);
			sm->stats.handovers++;
			return true;
		}
	}
	return false;
}

/* The words that 14.4.2 allows in this state. */
static bool
heard(struct tp_sm *sm, uint32_t word, const uint8_t *info)
{
	switch (word) {
	case SM_HANDOVER: return handover(sm, info);
	case SM_ACKNOWLEDGE: return acknowledged(sm, info);
	case SM_DISABLE:
		if (sm->role != TP_SM_STANDBY)
			return false;
		sm->role = TP_SM_NOT_ACTIVE;
		return true;
	case SM_STAND_BY:
		if (sm->role != TP_SM_NOT_ACTIVE)
			return false;
		sm->role = TP_SM_STANDBY;
		sm_again(sm);
		return true;
	case SM_DISCOVER_AGAIN:
		if (sm->role != TP_SM_STANDBY)
			return false;
		begin_again(sm);
		return true;
	default: return false;
	}
}

void
sm_peer_input(struct tp_sm *sm, struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	bool set = pkt->data[MAD_METHOD_AT] == MAD_SET;
	bool good = !set || heard(sm, ib_get32(pkt->data + MAD_ATTR_MOD_AT), pkt->data + SMP_DATA_AT);
	struct tp_mad_packet to;
	uint16_t status = good ? 0 : MAD_BAD_VALUE;

	tp_mad_reply_to(pkt, &to);
	if (to.data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED)
		status |= SMP_DIRECTION;
	to.data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
	ib_put16(to.data + MAD_STATUS_AT, status);
	sm_info_put(sm, to.data + SMP_DATA_AT);
	(void)tp_mad_send(a, &to, to.data, MAD_SIZE, 0, 0);
}
