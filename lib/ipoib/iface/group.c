/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups: membership at the subnet administrator, and the monitor that finds out who still listens. */
#include <errno.h>
#include <stdlib.h>

#include <rte_ether.h>

#include "core.h"
#include "lib/ipoib/wire/snoop.h"

#define BACKOFF_MS 1000u
#define FULL_MEMBER TP_SA_FULL

/* Names a group that is there already, and one that may have to be made (IBTA 1.4, 15.2.5.17.2). */
#define JOIN_BROADCAST (TP_SA_MC_MGID | TP_SA_MC_PORT_GID | TP_SA_MC_PKEY | TP_SA_MC_JOIN_STATE)
#define JOIN_OTHER                                                                                                     \
	(JOIN_BROADCAST | TP_SA_MC_QKEY | TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU | TP_SA_MC_TRAFFIC_CLASS |              \
	 TP_SA_MC_RATE_SELECTOR | TP_SA_MC_RATE | TP_SA_MC_SL | TP_SA_MC_FLOW_LABEL | TP_SA_MC_HOP_LIMIT)

struct ipoib_group *
ipoib_group_find(struct ipoib_core *c, const uint8_t mgid[16])
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (c->group[i] != NULL && memcmp(c->group[i]->mgid, mgid, 16) == 0)
			return c->group[i];
	}
	return NULL;
}

static void
join_later(struct ipoib_core *c, struct ipoib_group *g)
{
	c->stats.joins_failed++;
	g->failed = true;
	if (g->state != IPOIB_GROUP_JOINED)
		g->state = IPOIB_GROUP_IDLE;
	else
		g->renew = true;
	g->backoff_ms = g->backoff_ms == 0 ? BACKOFF_MS : RTE_MIN(g->backoff_ms * 2, IPOIB_JOIN_BACKOFF_MAX_MS);
	g->retry_ms = c->now_ms + g->backoff_ms;
	ipoib_wait_drop(c, &g->wait, IPOIB_DROP_TX_NO_MEMBER);
}

static void
join(struct ipoib_core *c, struct ipoib_group *g)
{
	struct tp_sa_member want = {.pkey = c->conf.pkey | IB_PKEY_FULL, .join_state = FULL_MEMBER};
	uint64_t mask = JOIN_BROADCAST;

	memcpy(want.mgid.raw, g->mgid, 16);
	memcpy(want.port_gid.raw, c->place.gid, 16);
	if (g != c->broadcast) {
		const struct tp_sa_member *b = &c->broadcast->member;

		mask = JOIN_OTHER;
		want.qkey = b->qkey;
		want.mtu_selector = TP_SA_EXACTLY;
		want.mtu = b->mtu;
		want.rate_selector = TP_SA_EXACTLY;
		want.rate = b->rate;
		want.traffic_class = b->traffic_class;
		want.sl = b->sl;
		want.flow_label = b->flow_label;
		want.hop_limit = b->hop_limit;
	}
	g->token = ipoib_token(c, g->index);
	g->renew = false;
	c->stats.joins++;
	if (c->io.join(c->io.arg, &want, mask, g->token) != 0)
		join_later(c, g);
	else if (g->state != IPOIB_GROUP_JOINED)
		g->state = IPOIB_GROUP_JOINING;
}

static bool
may_join(const struct ipoib_core *c, const struct ipoib_group *g)
{
	return c->place.active && (c->up || g == c->broadcast);
}

static void
detach(struct ipoib_core *c, struct ipoib_group *g)
{
	if (g->attached)
		c->io.detach(c->io.arg, g->mgid, g->member.mlid);
	g->attached = false;
}

static void
ah_drop(struct ipoib_core *c, struct ipoib_group *g)
{
	if (g->ah != NULL)
		c->io.ah_retire(c->io.arg, g->ah);
	g->ah = NULL;
	c->dirty = true;
}

static void
attach(struct ipoib_core *c, struct ipoib_group *g)
{
	bool wanted = (g->why & IPOIB_WHY_RECEIVE) != 0;

	if (g->state != IPOIB_GROUP_JOINED || wanted == g->attached)
		return;
	if (wanted)
		g->attached = c->io.attach(c->io.arg, g->mgid, g->member.mlid) == 0;
	else
		detach(c, g);
}

struct ipoib_group *
ipoib_group_want(struct ipoib_core *c, const uint8_t mgid[16], uint8_t why)
{
	struct ipoib_group *g = ipoib_group_find(c, mgid);
	unsigned int i;

	if (g == NULL) {
		for (i = 0; i < IPOIB_GROUPS && c->group[i] != NULL; i++)
			;
		g = i < IPOIB_GROUPS ? calloc(1, sizeof(*g)) : NULL;
		if (g == NULL)
			return NULL;
		g->index = i;
		memcpy(g->mgid, mgid, 16);
		g->ipv6 = ipoib_mgid_kind(mgid, c->conf.pkey) == IPOIB_GROUP_V6;
		c->group[i] = g;
		c->num_groups++;
		if (may_join(c, g))
			join(c, g);
	}
	g->why |= why;
	g->touched = 1;
	if ((why & IPOIB_WHY_SNOOP) != 0)
		g->runs = 0;
	attach(c, g);
	return g;
}

static void
group_free(struct ipoib_core *c, struct ipoib_group *g)
{
	ipoib_wait_drop(c, &g->wait, IPOIB_DROP_TX_DOWN);
	detach(c, g);
	ah_drop(c, g);
	/* A join that is under way is answered before the leave: it makes us a member, too. */
	if (g->state != IPOIB_GROUP_IDLE) {
		c->stats.leaves++;
		c->io.leave(c->io.arg, g->mgid, FULL_MEMBER);
	}
	c->group[g->index] = NULL;
	c->num_groups--;
	c->io.retire(c->io.arg, g);
}

void
ipoib_group_unwant(struct ipoib_core *c, struct ipoib_group *g, uint8_t why)
{
	g->why &= (uint8_t)~why;
	if (g->why == 0)
		group_free(c, g);
	else
		attach(c, g);
}

void
ipoib_group_send(struct ipoib_core *c, const uint8_t mgid[16], struct rte_mbuf *m)
{
	struct ipoib_group *g;

	if (!c->up) {
		ipoib_drop(c, IPOIB_DROP_TX_DOWN, m);
		return;
	}
	g = ipoib_group_find(c, mgid);
	if (g == NULL || (g->why & IPOIB_WHY_SEND) == 0)
		g = ipoib_group_want(c, mgid, IPOIB_WHY_SEND);
	if (g == NULL || g->state == IPOIB_GROUP_IDLE)
		ipoib_drop(c, IPOIB_DROP_TX_NO_MEMBER, m);
	else if (g->state == IPOIB_GROUP_JOINING)
		ipoib_wait_put(c, &g->wait, m);
	else
		c->io.send(c->io.arg, g->ah, IB_MCAST_QPN, m);
	if (g != NULL)
		g->touched = 1;
}

static struct ibv_ah *
ah_of(struct ipoib_core *c, const struct tp_sa_member *m)
{
	struct ibv_ah_attr attr = {
		.dlid = m->mlid,
		.sl = m->sl,
		.static_rate = m->rate,
		.port_num = 1,
		.is_global = 1,
		.grh = {.dgid = m->mgid,
			.flow_label = m->flow_label,
			.hop_limit = m->hop_limit,
			.traffic_class = m->traffic_class},
	};

	return c->io.ah_create(c->io.arg, &attr);
}

/* The link is up: its numbers are the broadcast group's (RFC 4391, 5). */
static void
link_up(struct ipoib_core *c)
{
	static const uint8_t hosts[4] = {224, 0, 0, 1}, nodes[16] = {0xff, 0x02, [15] = 1};
	const struct tp_sa_member *b = &c->broadcast->member;
	uint32_t group_mtu = (128u << (b->mtu & 7)) - IPOIB_ENCAP_LEN;
	uint8_t mgid[16];
	unsigned int i;

	c->mtu = RTE_MIN(c->mtu_limit, group_mtu);
	c->up = true;
	c->io.link(c->io.arg, b);
	ipoib_mgid_v4(c->conf.pkey, c->conf.scope, hosts, mgid);
	ipoib_group_want(c, mgid, IPOIB_WHY_BASE);
	ipoib_mgid_v6(c->conf.pkey, c->conf.scope, nodes, mgid);
	ipoib_group_want(c, mgid, IPOIB_WHY_BASE);
	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (c->group[i] != NULL && c->group[i]->state == IPOIB_GROUP_IDLE)
			join(c, c->group[i]);
	}
}

void
ipoib_core_member(struct ipoib_core *c, uint32_t token, int status, const struct tp_sa_member *member)
{
	uint32_t index = ipoib_token_index(token);
	struct ipoib_group *g = index < IPOIB_GROUPS ? c->group[index] : NULL;
	struct ibv_ah *ah;
	unsigned int i;

	if (g == NULL || g->token != token || !c->place.active)
		return;
	ah = status == 0 && member->mlid >= 0xc000 ? ah_of(c, member) : NULL;
	if (ah == NULL) {
		join_later(c, g);
		return;
	}
	/* What was heard until now goes on being heard, unless the group has another LID. */
	if (g->member.mlid != member->mlid)
		detach(c, g);
	ah_drop(c, g);
	g->member = *member;
	g->ah = ah;
	g->state = IPOIB_GROUP_JOINED;
	g->failed = false;
	g->backoff_ms = 0;
	/* The queue pair has its Q_Key before it hears the first packet. */
	if (g == c->broadcast)
		link_up(c);
	attach(c, g);
	for (i = 0; i < g->wait.n; i++)
		c->io.send(c->io.arg, ah, IB_MCAST_QPN, g->wait.pkts[i]);
	g->wait.n = 0;
}

void
ipoib_groups_start(struct ipoib_core *c)
{
	uint8_t mgid[16];

	ipoib_mgid_broadcast(c->conf.pkey, c->conf.scope, mgid);
	if (c->broadcast == NULL) {
		c->broadcast = ipoib_group_find(c, mgid);
		if (c->broadcast != NULL)
			join(c, c->broadcast);
		else
			c->broadcast = ipoib_group_want(c, mgid, IPOIB_WHY_BASE);
		/* It was made before it had its name. */
		if (c->broadcast != NULL && c->broadcast->state == IPOIB_GROUP_IDLE)
			join(c, c->broadcast);
	} else {
		join(c, c->broadcast);
	}
}

void
ipoib_groups_stop(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		struct ipoib_group *g = c->group[i];

		if (g == NULL)
			continue;
		ipoib_wait_drop(c, &g->wait, IPOIB_DROP_TX_DOWN);
		detach(c, g);
		ah_drop(c, g);
		g->token = 0;
		g->state = IPOIB_GROUP_IDLE;
		g->backoff_ms = 0;
		g->retry_ms = 0;
	}
	if (c->up) {
		c->up = false; /* who is told looks at it */
		c->io.link(c->io.arg, NULL);
	}
}

void
ipoib_groups_renew(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (c->group[i] != NULL && may_join(c, c->group[i])) {
			c->group[i]->backoff_ms = 0;
			join(c, c->group[i]);
		}
	}
}

void
ipoib_groups_free(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (c->group[i] != NULL)
			group_free(c, c->group[i]);
	}
	c->broadcast = NULL;
}

void
ipoib_groups_retry(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		struct ipoib_group *g = c->group[i];

		if (g == NULL || !may_join(c, g) || c->now_ms < g->retry_ms)
			continue;
		if (g->state == IPOIB_GROUP_IDLE || g->renew)
			join(c, g);
	}
}

void
ipoib_groups_age(struct ipoib_core *c)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		struct ipoib_group *g = c->group[i];

		if (g == NULL)
			continue;
		g->idle = g->touched != 0 ? 0 : g->idle + 1;
		g->touched = 0;
		if (g->idle < c->conf.age || (g->why & IPOIB_WHY_SEND) == 0)
			continue;
		c->stats.aged++;
		ipoib_group_unwant(c, g, IPOIB_WHY_SEND);
	}
}

void
ipoib_groups_monitor(struct ipoib_core *c)
{
	bool ask[2] = {false, false};
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		struct ipoib_group *g = c->group[i];

		if (g == NULL || (g->why & IPOIB_WHY_SNOOP) == 0)
			continue;
		g->runs++;
		if (g->runs >= c->conf.query_runs + c->conf.leave_runs)
			ipoib_group_unwant(c, g, IPOIB_WHY_SNOOP);
		else if (g->runs >= c->conf.query_runs)
			ask[g->ipv6] = true;
	}
	for (i = 0; i < 2; i++) {
		if (ask[i])
			ipoib_query(c, i == 1);
	}
}
