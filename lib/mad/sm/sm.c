/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The small manager's life, and its work: steps of a sweep, one after the other. */
#include "sm_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#define ANSWER_MS 500u
#define RETRIES 2u
#define NS_PER_MS 1000000ull
#define DOUBTS 3u /* looks that find less than there was, until it is believed */
#define SOON_NS (50ull * NS_PER_MS)
#define M(method) (1ull << (method))

/* --- steps ------------------------------------------------------------------------------------------------------- */

static bool
sets(const struct sm_step *s)
{
	return s->what == SM_STEP_SET || s->what == SM_STEP_TELL;
}

static void
transmit(struct tp_sm *sm, struct sm_step *s)
{
	struct tp_mad_packet to = {.dlid = MAD_LID_PERMISSIVE, .slid = MAD_LID_PERMISSIVE};
	uint8_t mad[MAD_SIZE];

	if (s->what == SM_STEP_TELL)
		sm_info_put(sm, s->data);
	mad_init(mad, MAD_CLASS_SMP_DIRECTED, 1, sets(s) ? MAD_SET : MAD_GET, s->attr, ++sm->tid);
	ib_put32(mad + MAD_ATTR_MOD_AT, s->mod);
	mad[SMP_HOP_COUNT_AT] = s->hops;
	ib_put16(mad + SMP_DR_SLID_AT, MAD_LID_PERMISSIVE);
	ib_put16(mad + SMP_DR_DLID_AT, MAD_LID_PERMISSIVE);
	memcpy(mad + SMP_DATA_AT, s->data, sizeof(s->data));
	memcpy(mad + SMP_INITIAL_PATH_AT, s->path, sizeof(s->path));
	sm->waits = tp_mad_send(sm->directed, &to, mad, sizeof(mad), ANSWER_MS, RETRIES) == 0;
	sm->stats.requests++;
}

static void
rest(struct tp_sm *sm, bool soon)
{
	sm->phase = SM_IDLE;
	sm->num_steps = sm->at = 0;
	sm->due = tp_mad_now(sm->mad) + (soon ? SOON_NS : sm->conf.sweep_ms * NS_PER_MS);
	tp_mad_wake_at(sm->directed, sm->due);
}

static void
sweep_ends(struct tp_sm *sm)
{
	sm->stats.sweeps++;
	sm->stats.up = !sm->failed && sm->num_nodes != 0;
	rest(sm, sm->again);
}

static void
discover(struct tp_sm *sm)
{
	sm->phase = SM_DISCOVER;
	sm->failed = sm->again = false;
	sm->num_peers = 0;
	sm_discover_begin(sm);
}

/* Who did not answer once may have been busy: what works is not cut for that. */
static bool
doubtful(struct tp_sm *sm)
{
	if (!sm->failed || sm->num_nodes == 0 || sm->role != TP_SM_MASTER || ++sm->doubts == DOUBTS) {
		sm->doubts = 0;
		return false;
	}
	sm->stats.up = false;
	return true;
}

/* What comes after the steps of a phase; nothing, unless the subnet is ours to manage. */
static void
next_phase(struct tp_sm *sm)
{
	enum sm_phase was = sm->phase;

	sm->num_steps = sm->at = 0;
	if (was != SM_IDLE && was != SM_DISCOVER && sm->role != TP_SM_MASTER) {
		rest(sm, sm->role == TP_SM_DISCOVERING);
		return;
	}
	sm->phase = was + 1;
	switch (was) {
	case SM_IDLE:
		if (sm->role != TP_SM_STANDBY) {
			discover(sm);
			break;
		}
		sm->phase = SM_POLL;
		sm_peer_poll(sm);
		break;
	case SM_DISCOVER:
		if (doubtful(sm)) {
			rest(sm, true);
			break;
		}
		if (!sm_peer_verdict(sm)) {
			rest(sm, false);
			break;
		}
		sm_assign_lids(sm);
		sm_configure(sm);
		break;
	case SM_CONFIGURE: sm_raise(sm, SM_INIT, SM_ARMED); break;
	case SM_ARM: sm_raise(sm, SM_ARMED, SM_ACTIVE); break;
	case SM_ACTIVATE: sm_peer_tell(sm); break;
	case SM_TELL:
	case SM_POLL: sweep_ends(sm); break;
	}
}

/* What cannot be sent is as good as not answered. */
static void
run(struct tp_sm *sm)
{
	do {
		while (!sm->waits && sm->at < sm->num_steps) {
			transmit(sm, &sm->steps[sm->at]);
			if (!sm->waits) {
				sm->failed = true;
				sm->at++;
			}
		}
		if (!sm->waits)
			next_phase(sm);
	} while (!sm->waits && sm->phase != SM_IDLE);
}

static void
work(void *arg)
{
	struct tp_sm *sm = arg;

	if (sm->phase != SM_IDLE || sm->role == TP_SM_NOT_ACTIVE)
		return;
	if (tp_mad_now(sm->mad) >= sm->due)
		run(sm);
	else
		tp_mad_wake_at(sm->directed, sm->due);
}

/* Of a step that was answered well. */
static void
use(struct tp_sm *sm, const struct sm_step *s, const uint8_t *data)
{
	switch (s->what) {
	case SM_STEP_PEER:
		if (sm->phase == SM_POLL)
			sm_peer_polled(sm, data);
		else
			sm_peer_found(sm, s, data);
		break;
	case SM_STEP_SET:
		if (s->attr == SMP_ATTR_PORT_INFO)
			memcpy(sm->node[s->node].port[s->port].info, data, SMP_DATA_LEN);
		break;
	case SM_STEP_TELL: break;
	default: sm_discovered(sm, s, data);
	}
}

static void
step_done(struct tp_sm *sm, const struct tp_mad_msg *msg)
{
	const struct sm_step s = sm->steps[sm->at];
	bool ok = msg->status == 0 && (ib_get16(msg->data + MAD_STATUS_AT) & ~SMP_DIRECTION) == 0;

	sm->waits = false;
	sm->at++;
	if (ok) {
		use(sm, &s, msg->data + SMP_DATA_AT);
	} else if (sm->phase == SM_POLL) {
		sm_peer_polled(sm, NULL);
	} else if (s.what != SM_STEP_PEER) {
		/* A link that went meanwhile: the next look will not see it. A manager may be gone, too. */
		sm->failed = true;
		sm->stats.failed++;
	}
	run(sm);
}

/* --- what comes -------------------------------------------------------------------------------------------------- */

static void
silence(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct tp_mad_packet to;

	tp_mad_reply_to(pkt, &to);
	to.data[MAD_METHOD_AT] = MAD_TRAP_REPRESS;
	(void)tp_mad_send(a, &to, to.data, MAD_SIZE, 0, 0);
}

static void
input(struct tp_sm *sm, struct tp_mad_agent *a, const struct tp_mad_msg *msg)
{
	uint8_t method = msg->pkt->data[MAD_METHOD_AT];

	if (msg->status != 0 || mad_is_response(msg->data)) {
		if (sm->waits && ib_get32(msg->pkt->data + MAD_TID_AT + 4) == sm->tid)
			step_done(sm, msg);
	} else if (method == MAD_TRAP) {
		sm->stats.traps++;
		silence(a, msg->pkt);
		sm_again(sm);
	} else if (ib_get16(msg->data + MAD_ATTR_AT) == SMP_ATTR_SM_INFO) {
		sm_peer_input(sm, a, msg->pkt);
	}
}

static void
directed_input(void *arg, const struct tp_mad_msg *msg)
{
	struct tp_sm *sm = arg;

	input(sm, sm->directed, msg);
}

static void
smp_input(void *arg, const struct tp_mad_msg *msg)
{
	struct tp_sm *sm = arg;

	input(sm, sm->smp, msg);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static int
agents(struct tp_sm *sm)
{
	struct tp_mad_agent_conf c = {.mgmt_class = MAD_CLASS_SMP_DIRECTED,
				      .class_version = 1,
				      .methods = {M(MAD_GET) | M(MAD_SET) | M(MAD_TRAP), 0},
				      .recv = directed_input,
				      .work = work,
				      .arg = sm};
	int err = tp_mad_register(sm->mad, &c, &sm->directed);

	c.mgmt_class = MAD_CLASS_SMP;
	c.recv = smp_input;
	c.work = NULL;
	if (err == 0)
		err = tp_mad_register(sm->mad, &c, &sm->smp);
	c = (struct tp_mad_agent_conf){.qpn = 1,
				       .mgmt_class = MAD_CLASS_SA,
				       .class_version = SA_CLASS_VERSION,
				       .methods = {M(MAD_GET) | M(MAD_SET) | M(SA_GET_TABLE) | M(SA_DELETE), 0},
				       .rmpp_version = RMPP_VERSION,
				       .recv = sm_sa_input,
				       .arg = sm};
	if (err == 0)
		err = tp_mad_register(sm->mad, &c, &sm->sa);
	return err;
}

/* 10.9.1.2: 0x0000 is no key; the default partition is everybody's anyway. */
static bool
keys_good(const uint16_t *pkeys, unsigned int n)
{
	if (n >= TP_SM_PKEYS)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		uint16_t key = pkeys[i] & IB_PKEY_MASK;

		if (key == 0 || key == IB_PKEY_MASK)
			return false;
		for (unsigned int k = 0; k < i; k++) {
			if ((pkeys[k] & IB_PKEY_MASK) == key)
				return false;
		}
	}
	return true;
}

static int
allocate(const struct tp_sm_conf *conf, struct tp_sm **out)
{
	struct tp_sm *sm = calloc(1, sizeof(*sm));

	*out = sm;
	if (sm == NULL)
		return -ENOMEM;
	if (conf != NULL)
		sm->conf = *conf;
	if (sm->conf.sweep_ms == 0)
		sm->conf.sweep_ms = TP_SM_SWEEP_MS;
	if (sm->conf.key == 0)
		sm->conf.key = TP_SM_KEY;
	if (sm->conf.sweep_ms < TP_SM_SWEEP_MS_MIN || sm->conf.sweep_ms > TP_SM_SWEEP_MS_MAX ||
	    sm->conf.priority > TP_SM_PRIORITY_MAX || !keys_good(sm->conf.pkeys, sm->conf.num_pkeys))
		return -EINVAL;
	sm->steps = calloc(SM_STEPS, sizeof(*sm->steps));
	sm->node = calloc(TP_SM_NODES, sizeof(*sm->node));
	sm->found = calloc(TP_SM_NODES, sizeof(*sm->found));
	return sm->steps == NULL || sm->node == NULL || sm->found == NULL ? -ENOMEM : 0;
}

static void
discard(struct tp_sm *sm)
{
	if (sm == NULL)
		return;
	free(sm->steps);
	free(sm->node);
	free(sm->found);
	free(sm);
}

static void
silent(struct tp_sm *sm)
{
	struct tp_mad_agent *all[] = {sm->directed, sm->smp, sm->sa};

	for (unsigned int i = 0; i < RTE_DIM(all); i++) {
		if (all[i] != NULL)
			tp_mad_unregister(all[i]);
	}
}

int
tp_sm_create(struct tp_mad *mad, const struct tp_sm_conf *conf, struct tp_sm **out)
{
	struct tp_sm *sm;
	int err = allocate(conf, &sm);

	if (err != 0) {
		discard(sm);
		return err;
	}
	sm->mad = mad;
	sm->role = TP_SM_DISCOVERING;
	tp_mad_lock(mad);
	err = agents(sm);
	if (err == 0)
		tp_mad_wake(sm->directed);
	else
		silent(sm);
	tp_mad_unlock(mad);
	if (err != 0)
		discard(sm);
	else
		*out = sm;
	return err;
}

void
tp_sm_destroy(struct tp_sm *sm)
{
	struct tp_mad *mad;

	if (sm == NULL)
		return;
	mad = sm->mad;
	tp_mad_lock(mad);
	silent(sm);
	tp_mad_unlock(mad);
	discard(sm);
}

int
tp_sm_partitions(struct tp_sm *sm, const uint16_t *pkeys, unsigned int n)
{
	if (!keys_good(pkeys, n))
		return -EINVAL;
	tp_mad_lock(sm->mad);
	if (n != 0)
		memcpy(sm->conf.pkeys, pkeys, n * sizeof(*pkeys));
	sm->conf.num_pkeys = n;
	memset(sm->told, 0, sizeof(sm->told));
	sm_groups_begin(sm);
	sm_again(sm);
	tp_mad_unlock(sm->mad);
	return 0;
}

void
tp_sm_stats_get(struct tp_sm *sm, struct tp_sm_stats *stats)
{
	tp_mad_lock(sm->mad);
	*stats = sm->stats;
	stats->role = sm->role;
	stats->priority = sm->conf.priority;
	stats->nodes = sm->num_nodes;
	stats->groups = sm->num_groups;
	stats->ports = stats->switches = 0;
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		stats->switches += sm->node[i].is_switch;
		for (unsigned int p = 1; p <= sm->node[i].ports; p++)
			stats->ports += sm->node[i].port[p].known && sm_port_state(&sm->node[i].port[p]) == SM_ACTIVE;
	}
	if (sm->role == TP_SM_MASTER) {
		stats->master = sm_own_guid(sm);
		stats->master_priority = sm->conf.priority;
	} else if (sm->role == TP_SM_STANDBY) {
		stats->up = false;
		stats->master = sm->master.guid;
		stats->master_priority = sm->master.priority;
	}
	tp_mad_unlock(sm->mad);
}

const char *
tp_sm_role_name(enum tp_sm_role role)
{
	static const char *const names[] = {"not-active", "discovering", "standby", "master"};

	return (unsigned int)role < RTE_DIM(names) ? names[role] : "unknown";
}
