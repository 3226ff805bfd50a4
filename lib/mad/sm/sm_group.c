/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups of the small administrator: who makes, joins and leaves them (15.2.5.17). */
#include "sm_priv.h"

#include <stdlib.h>

#include <rte_common.h>

#define FULL_STATES (TP_SA_FULL | TP_SA_SEND_ONLY_FULL)
/* What is needed to make a group (o15-0.2.3). */
#define TO_MAKE                                                                                                        \
	(TP_SA_MC_QKEY | TP_SA_MC_PKEY | TP_SA_MC_TRAFFIC_CLASS | TP_SA_MC_SL | TP_SA_MC_FLOW_LABEL | TP_SA_MC_MGID |  \
	 TP_SA_MC_PORT_GID | TP_SA_MC_JOIN_STATE)
#define STRIDE 56u

/* IPv4's broadcast group of a partition: interfaces wait for it (RFC 4391, 4 and 5). */
static void
broadcast(struct sm_group *g, uint16_t mlid, uint16_t pkey)
{
	static const uint8_t mgid[16] = {0xff, 0x12, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff, 0xff};

	memcpy(g->rec.mgid.raw, mgid, sizeof(mgid));
	ib_put16(g->rec.mgid.raw + 4, pkey);
	g->rec.qkey = 0x0b1b;
	g->rec.mlid = mlid;
	g->rec.pkey = pkey;
	g->rec.mtu_selector = g->rec.rate_selector = g->rec.lifetime_selector = TP_SA_EXACTLY;
	g->rec.mtu = IBV_MTU_2048;
	g->rec.rate = IBV_RATE_10_GBPS;
	g->rec.lifetime = SM_LIFETIME;
	g->rec.scope = 2;
	g->keep = true;
}

/* Whoever was a member has to say so again. */
void
sm_groups_begin(struct tp_sm *sm)
{
	memset(sm->group, 0, sizeof(sm->group));
	for (unsigned int i = 0; i <= sm->conf.num_pkeys; i++)
		broadcast(&sm->group[i], (uint16_t)(MAD_LID_MULTICAST + i),
			  i == 0 ? IB_PKEY_FULL | IB_PKEY_MASK : sm->conf.pkeys[i - 1] | IB_PKEY_FULL);
	sm->num_groups = sm->conf.num_pkeys + 1;
}

static struct sm_group *
find(struct tp_sm *sm, const union ibv_gid *mgid)
{
	for (unsigned int i = 0; i < TP_SM_GROUPS; i++) {
		if (sm->group[i].rec.mlid != 0 && memcmp(&sm->group[i].rec.mgid, mgid, sizeof(*mgid)) == 0)
			return &sm->group[i];
	}
	return NULL;
}

static int
member_of(const struct sm_group *g, const union ibv_gid *gid)
{
	for (unsigned int i = 0; i < g->num; i++) {
		if (memcmp(&g->member[i].gid, gid, sizeof(*gid)) == 0)
			return (int)i;
	}
	return -1;
}

static void
answer_member(struct tp_sm *sm, const struct tp_mad_msg *msg, const struct sm_group *g, const union ibv_gid *gid,
	      uint8_t state)
{
	struct tp_sa_member m = g->rec;
	uint8_t rec[STRIDE] = {0};

	m.port_gid = *gid;
	m.join_state = state;
	sa_member_put(&m, rec);
	sm_answer(sm, msg, 0, rec, sizeof(rec), 1);
}

/* Whether a value that is asked for with its selector may be the group's. */
static bool
fits(uint8_t selector, uint32_t want, uint32_t is)
{
	return selector == TP_SA_EXACTLY ? is == want
	       : selector == TP_SA_LESS  ? is < want
					 : selector == TP_SA_BEST || is > want;
}

static bool
agrees(const struct sm_group *g, const struct tp_sa_member *m, uint64_t mask)
{
	if (((mask & TP_SA_MC_QKEY) != 0 && m->qkey != g->rec.qkey) ||
	    ((mask & TP_SA_MC_PKEY) != 0 && ((m->pkey ^ g->rec.pkey) & IB_PKEY_MASK) != 0) ||
	    ((mask & TP_SA_MC_SL) != 0 && m->sl != g->rec.sl))
		return false;
	if ((mask & TP_SA_MC_MTU_SELECTOR) != 0 && !fits(m->mtu_selector, m->mtu, g->rec.mtu))
		return false;
	return (mask & TP_SA_MC_RATE_SELECTOR) == 0 ||
	       fits(m->rate_selector, sm_rate_order(m->rate), sm_rate_order(g->rec.rate));
}

static struct sm_group *
make(struct tp_sm *sm, const struct tp_sa_member *m, uint64_t mask, const struct sm_port *port)
{
	for (uint16_t i = 0; i < TP_SM_GROUPS; i++) {
		struct sm_group *g = &sm->group[i];

		if (g->rec.mlid != 0)
			continue;
		memset(g, 0, sizeof(*g));
		g->rec = *m;
		g->rec.mlid = (uint16_t)(MAD_LID_MULTICAST + i);
		g->rec.mtu_selector = g->rec.rate_selector = g->rec.lifetime_selector = TP_SA_EXACTLY;
		if ((mask & TP_SA_MC_MTU) == 0 || m->mtu_selector != TP_SA_EXACTLY)
			g->rec.mtu = sm_port_mtu(port);
		if ((mask & TP_SA_MC_RATE) == 0 || m->rate_selector != TP_SA_EXACTLY)
			g->rec.rate = sm_port_rate(port);
		if ((mask & TP_SA_MC_LIFETIME) == 0)
			g->rec.lifetime = SM_LIFETIME;
		g->rec.scope = g->rec.mgid.raw[1] & 0xf;
		sm->num_groups++;
		return g;
	}
	return NULL;
}

/* By a full member only, in a partition that there is. */
static bool
may_be_made(const struct tp_sm *sm, const struct tp_sa_member *m)
{
	bool full;

	return m->mgid.raw[0] == 0xff && (m->join_state & FULL_STATES) != 0 && sm_has_pkey(sm, m->pkey, &full);
}

static uint16_t
join(struct tp_sm *sm, const struct tp_sa_member *m, uint64_t mask, struct sm_group **group, uint8_t *state)
{
	struct sm_group *g = find(sm, &m->mgid);
	const struct sm_node *node;
	uint8_t port;
	int i;

	if ((mask & TP_SA_MC_JOIN_STATE) == 0 || (mask & TP_SA_MC_PORT_GID) == 0 || (mask & TP_SA_MC_MGID) == 0)
		return SA_ST_COMPONENTS;
	if (m->join_state == 0 || !sm_find_guid(sm, ib_get64(m->port_gid.raw + 8), &node, &port))
		return SA_ST_INVALID;
	if (g == NULL && !may_be_made(sm, m))
		return SA_ST_INVALID;
	if (g == NULL && (mask & TO_MAKE) != TO_MAKE)
		return SA_ST_COMPONENTS;
	if (g != NULL && !agrees(g, m, mask))
		return SA_ST_INVALID;
	if (g == NULL)
		g = make(sm, m, mask, &node->port[port]);
	if (g == NULL)
		return SA_ST_RESOURCES;
	i = member_of(g, &m->port_gid);
	if (i < 0 && g->num == SM_MEMBERS)
		return SA_ST_RESOURCES; /* of a group that was there: a new one has room */
	if (i < 0) {
		i = (int)g->num++;
		g->member[i].gid = m->port_gid;
		g->member[i].state = 0;
	}
	g->member[i].state |= m->join_state;
	*state = g->member[i].state;
	*group = g;
	return 0;
}

static uint16_t
leave(struct tp_sm *sm, const struct tp_sa_member *m, struct sm_group **group)
{
	struct sm_group *g = find(sm, &m->mgid);
	int i = g == NULL ? -1 : member_of(g, &m->port_gid);

	if (i < 0 || (g->member[i].state & m->join_state) == 0)
		return SA_ST_INVALID;
	g->member[i].state &= (uint8_t)~m->join_state;
	if (g->member[i].state == 0)
		g->member[i] = g->member[--g->num];
	*group = g;
	return 0;
}

/* A group lives while it has a full member. */
static void
end_if_empty(struct tp_sm *sm, struct sm_group *g)
{
	for (unsigned int i = 0; i < g->num; i++) {
		if ((g->member[i].state & FULL_STATES) != 0)
			return;
	}
	if (g->keep)
		return;
	memset(g, 0, sizeof(*g));
	sm->num_groups--;
}

void
sm_groups_purge(struct tp_sm *sm)
{
	const struct sm_node *node;
	uint8_t port;

	for (unsigned int i = 0; i < TP_SM_GROUPS; i++) {
		struct sm_group *g = &sm->group[i];

		for (unsigned int k = g->num; k-- != 0;) {
			if (!sm_find_guid(sm, ib_get64(g->member[k].gid.raw + 8), &node, &port))
				g->member[k] = g->member[--g->num];
		}
		if (g->rec.mlid != 0)
			end_if_empty(sm, g);
	}
}

static bool
listed(const struct sm_group *g, const struct tp_sa_member *want, uint64_t mask)
{
	return g->rec.mlid != 0 &&
	       ((mask & TP_SA_MC_MGID) == 0 || memcmp(&want->mgid, &g->rec.mgid, sizeof(want->mgid)) == 0) &&
	       ((mask & TP_SA_MC_MLID) == 0 || want->mlid == g->rec.mlid) && agrees(g, want, mask);
}

/* Who is a member is told who has the key, or names a port (15.2.5.17.2): groups otherwise. */
static uint32_t
put_members(const struct sm_group *g, const struct tp_sa_member *want, uint64_t mask, uint8_t *buf)
{
	uint32_t num = 0;

	for (unsigned int i = 0; i < g->num; i++) {
		struct tp_sa_member m = g->rec;

		if ((mask & TP_SA_MC_PORT_GID) != 0 &&
		    memcmp(&want->port_gid, &g->member[i].gid, sizeof(want->port_gid)) != 0)
			continue;
		m.port_gid = g->member[i].gid;
		m.join_state = g->member[i].state;
		sa_member_put(&m, buf + STRIDE * num++);
	}
	return num;
}

static void
list(struct tp_sm *sm, const struct tp_mad_msg *msg, const struct tp_sa_member *want, uint64_t mask)
{
	bool members = ib_get64(msg->data + SA_SM_KEY_AT) != 0 || (mask & TP_SA_MC_PORT_GID) != 0;
	uint8_t *buf = calloc(TP_SM_GROUPS * SM_MEMBERS, STRIDE);
	uint32_t num = 0;

	for (unsigned int i = 0; buf != NULL && i < TP_SM_GROUPS; i++) {
		const struct sm_group *g = &sm->group[i];

		if (!listed(g, want, mask))
			continue;
		if (members && g->num != 0)
			num += put_members(g, want, mask, buf + STRIDE * num);
		else if ((mask & TP_SA_MC_PORT_GID) == 0)
			sa_member_put(&g->rec, buf + STRIDE * num++);
	}
	if (buf == NULL)
		sm_answer(sm, msg, SA_ST_RESOURCES, NULL, 0, 0);
	else
		sm_answer_found(sm, msg, buf, STRIDE, num);
	free(buf);
}

void
sm_member(struct tp_sm *sm, const struct tp_mad_msg *msg)
{
	uint64_t mask = ib_get64(msg->data + SA_MASK_AT);
	uint8_t method = msg->data[MAD_METHOD_AT], state = 0;
	struct sm_group *g = NULL;
	struct tp_sa_member m;
	uint16_t status;

	sa_member_take(msg->data + SA_RECORD_AT, &m);
	if (method == MAD_GET || method == SA_GET_TABLE) {
		list(sm, msg, &m, mask);
		return;
	}
	status = method == MAD_SET ? join(sm, &m, mask, &g, &state) : leave(sm, &m, &g);
	if (status != 0) {
		sm_answer(sm, msg, status, NULL, 0, 0);
		return;
	}
	answer_member(sm, msg, g, &m.port_gid, method == MAD_SET ? state : m.join_state);
	if (method == SA_DELETE)
		end_if_empty(sm, g);
	/* Switches must know. */
	sm_again(sm);
}
