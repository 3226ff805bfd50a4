/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who serves what: one agent a method of a class, version (and of vendor classes, OUI) of a QP. */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#define VENDOR_OUI_AT 37 /* of classes 0x30 to 0x4f, behind a reserved octet */

static bool
serves(const struct tp_mad_agent_conf *c)
{
	return (c->methods[0] | c->methods[1]) != 0;
}

/* A manager of the subnet is one for both ways to route: what it serves of one class may differ in the other. */
static bool
same_realm(const struct tp_mad_agent_conf *a, const struct tp_mad_agent_conf *b)
{
	return a->qpn == b->qpn && a->mgmt_class == b->mgmt_class && a->class_version == b->class_version &&
	       a->oui == b->oui;
}

static bool
taken(struct tp_mad *m, const struct tp_mad_agent_conf *c)
{
	const struct tp_mad_agent *a;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		if (serves(&a->conf) && same_realm(&a->conf, c) &&
		    ((a->conf.methods[0] & c->methods[0]) | (a->conf.methods[1] & c->methods[1])) != 0)
			return true;
	}
	return false;
}

static bool
valid(const struct tp_mad_agent_conf *c)
{
	bool vendor = c->mgmt_class >= 0x30 && c->mgmt_class <= 0x4f;

	if (c->qpn > 1 || c->recv == NULL || c->rmpp_version > RMPP_VERSION || c->class_version > 8)
		return false;
	if (c->mgmt_class != 0 && mad_is_smp(c->mgmt_class) != (c->qpn == 0))
		return false;
	if (c->rmpp_version != 0 && !mad_class_has_rmpp(c->mgmt_class))
		return false;
	return c->oui == 0 || (vendor && c->oui <= 0xffffff);
}

int
tp_mad_register(struct tp_mad *m, const struct tp_mad_agent_conf *conf, struct tp_mad_agent **agent)
{
	struct tp_mad_agent *a;
	int err = 0;

	if (!valid(conf))
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	TAILQ_INIT(&a->sends);
	TAILQ_INIT(&a->transfers);
	a->mad = m;
	a->conf = *conf;
	/* Of no class there is nothing to serve, as with Linux. */
	if (conf->mgmt_class == 0)
		memset(a->conf.methods, 0, sizeof(a->conf.methods));
	a->alarm = MAD_NEVER;
	tp_mad_lock(m);
	if (serves(&a->conf) && taken(m, conf))
		err = -EBUSY;
	else if (m->num_agents == TP_MAD_AGENTS)
		err = -ENOSPC;
	if (err == 0) {
		/* 0 is what those use who have no agent. */
		a->hi_tid = ++m->last_hi_tid == 0 ? ++m->last_hi_tid : m->last_hi_tid;
		TAILQ_INSERT_TAIL(&m->agents, a, next);
		m->num_agents++;
		*agent = a;
	}
	tp_mad_unlock(m);
	if (err != 0)
		free(a);
	return err;
}

void
tp_mad_unregister(struct tp_mad_agent *a)
{
	struct tp_mad *m = a->mad;

	tp_mad_lock(m);
	while (!TAILQ_EMPTY(&a->sends))
		mad_send_free(a, TAILQ_FIRST(&a->sends));
	while (!TAILQ_EMPTY(&a->transfers))
		rmpp_recv_free(a, TAILQ_FIRST(&a->transfers));
	TAILQ_REMOVE(&m->agents, a, next);
	m->num_agents--;
	m->awake -= a->awake;
	a->gone = true;
	mad_agent_free(a);
	tp_mad_unlock(m);
}

struct tp_mad_agent *
mad_agent_for_request(struct tp_mad *m, const struct tp_mad_packet *pkt)
{
	const uint8_t *mad = pkt->data;
	uint8_t class = mad[MAD_CLASS_AT], method = mad[MAD_METHOD_AT];
	struct tp_mad_agent *a;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		const struct tp_mad_agent_conf *c = &a->conf;

		if (c->qpn != pkt->qpn || c->mgmt_class != class || c->class_version != mad[MAD_CLASS_VERSION_AT] ||
		    (c->methods[method / 64] >> (method % 64) & 1) == 0)
			continue;
		if (class >= 0x30 && class <= 0x4f && c->oui != ib_get24(mad + VENDOR_OUI_AT))
			continue;
		return a;
	}
	return NULL;
}

struct tp_mad_agent *
mad_agent_for_response(struct tp_mad *m, const struct tp_mad_packet *pkt)
{
	uint32_t hi_tid = ib_get32(pkt->data + MAD_TID_AT);
	struct tp_mad_agent *a;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		if (a->hi_tid == hi_tid && a->conf.qpn == pkt->qpn)
			return a;
	}
	return NULL;
}

void
tp_mad_wake(struct tp_mad_agent *a)
{
	struct tp_mad *m = a->mad;

	tp_mad_lock(m);
	if (!a->awake && a->conf.work != NULL) {
		a->awake = true;
		m->awake++;
	}
	tp_mad_unlock(m);
}

void
tp_mad_wake_at(struct tp_mad_agent *a, uint64_t ns)
{
	tp_mad_lock(a->mad);
	a->alarm = ns;
	tp_mad_unlock(a->mad);
}

static void
alarms(struct tp_mad *m)
{
	uint64_t now = mad_now(m);
	struct tp_mad_agent *a;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		if (a->alarm > now)
			continue;
		a->alarm = MAD_NEVER;
		tp_mad_wake(a);
	}
}

/* One turn for each that is awake now, though it wakes itself; an agent's work may end agents. */
unsigned int
mad_agents_work(struct tp_mad *m)
{
	struct tp_mad_agent *a;
	unsigned int n;

	alarms(m);
	n = m->awake;
	TAILQ_FOREACH(a, &m->agents, next)
	a->turn = a->awake;
	for (;;) {
		TAILQ_FOREACH(a, &m->agents, next)
		{
			if (a->turn) /* what was freed is in the list no more: NOLINT */
				break;
		}
		if (a == NULL)
			return n;
		a->turn = a->awake = false;
		m->awake--;
		a->busy++;
		a->conf.work(a->conf.arg);
		a->busy--;
		mad_agent_free(a);
	}
}
