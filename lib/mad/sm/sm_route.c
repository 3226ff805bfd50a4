/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* LIDs, ways by the fewest hops, and what that makes of tables and ports (14.2.5, 18.2.4). */
#include "sm_priv.h"

#include <rte_common.h>

#define REREGISTER 0x80u /* of SM_PI_REREGISTER, beside the time of answers */
#define FAR 0xffu
#define STATE_CHANGE 0x04u

/* --- LIDs -------------------------------------------------------------------------------------------------------- */

/* Whether a port may keep the LID that it has of a manager before us. */
static bool
may_keep(const struct tp_sm *sm, uint64_t guid, uint16_t has)
{
	return has != 0 && has <= SM_LIDS && (sm->lid_guid[has] == 0 || sm->lid_guid[has] == guid);
}

/* A port keeps the LID that it was given once. */
static uint16_t
lid_of(struct tp_sm *sm, uint64_t guid, uint16_t has)
{
	uint16_t none = may_keep(sm, guid, has) ? has : 0;

	for (uint16_t lid = 1; lid <= SM_LIDS; lid++) {
		if (sm->lid_guid[lid] == guid)
			return lid;
		if (none == 0 && sm->lid_guid[lid] == 0)
			none = lid;
	}
	if (none != 0)
		sm->lid_guid[none] = guid;
	else
		sm->failed = true;
	return none;
}

static bool
has_lid(const struct sm_node *n, unsigned int port)
{
	return n->port[port].known && n->is_switch == (port == 0);
}

/* Ports that keep theirs come first: nobody else gets it. */
static void
assign(struct tp_sm *sm, bool only_kept)
{
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		struct sm_node *n = &sm->node[i];

		for (unsigned int p = 0; p <= n->ports; p++) {
			uint16_t has = ib_get16(n->port[p].info + SM_PI_LID);

			if (has_lid(n, p) && n->lid[p] == 0 && (!only_kept || may_keep(sm, n->port_guid[p], has)))
				n->lid[p] = lid_of(sm, n->port_guid[p], has);
		}
	}
}

/* Who is gone, and comes back, has to register anew. */
static void
forget_gone(struct tp_sm *sm)
{
	const struct sm_node *node;
	uint8_t port;

	for (uint16_t lid = 1; lid <= SM_LIDS; lid++) {
		if (sm->told[lid] != 0 && !sm_find_guid(sm, sm->told[lid], &node, &port))
			sm->told[lid] = 0;
	}
	sm_groups_purge(sm);
}

void
sm_assign_lids(struct tp_sm *sm)
{
	struct sm_node *were = sm->node;

	sm->node = sm->found;
	sm->num_nodes = sm->num_found;
	sm->found = were;
	assign(sm, true);
	assign(sm, false);
	if (!sm->failed)
		forget_gone(sm);
}

bool
sm_find_guid(const struct tp_sm *sm, uint64_t guid, const struct sm_node **node, uint8_t *port)
{
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		const struct sm_node *n = &sm->node[i];

		for (unsigned int p = 0; p <= n->ports; p++) {
			if (n->lid[p] == 0 || n->port_guid[p] != guid)
				continue;
			*node = n;
			*port = (uint8_t)p;
			return true;
		}
	}
	return false;
}

/* --- ways -------------------------------------------------------------------------------------------------------- */

/* Hops from each switch to each other: as many rounds as the longest way has. */
static void
distances(struct tp_sm *sm)
{
	bool changed = true;

	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		memset(sm->node[i].hops_to, FAR, sizeof(sm->node[i].hops_to));
		sm->node[i].hops_to[i] = 0;
	}
	while (changed) {
		changed = false;
		for (unsigned int i = 0; i < sm->num_nodes; i++) {
			struct sm_node *n = &sm->node[i];

			for (unsigned int p = 1; n->is_switch && p <= n->ports; p++) {
				const struct sm_node *peer = n->port[p].peer < 0 ? NULL : &sm->node[n->port[p].peer];

				for (unsigned int k = 0; peer != NULL && peer->is_switch && k < sm->num_nodes; k++) {
					if (peer->hops_to[k] == FAR || peer->hops_to[k] + 1 >= n->hops_to[k])
						continue;
					n->hops_to[k] = (uint8_t)(peer->hops_to[k] + 1);
					changed = true;
				}
			}
		}
	}
}

/* The port of a switch that is nearest to another one. */
static uint8_t
towards(const struct tp_sm *sm, const struct sm_node *sw, unsigned int target)
{
	uint8_t best = SM_NO_PORT, hops = FAR;

	for (unsigned int p = 1; p <= sw->ports; p++) {
		int peer = sw->port[p].peer;

		if (peer < 0 || !sm->node[peer].is_switch || sm->node[peer].hops_to[target] >= hops)
			continue;
		hops = sm->node[peer].hops_to[target];
		best = (uint8_t)p;
	}
	return best;
}

static uint8_t
exit_for(const struct tp_sm *sm, const struct sm_node *sw, const struct sm_node *to, unsigned int port)
{
	unsigned int at = (unsigned int)(sw - sm->node);
	int last = to->is_switch ? (int)(to - sm->node) : to->port[port].peer;

	if (last < 0 || !sm->node[last].is_switch)
		return SM_NO_PORT;
	if (at != (unsigned int)last)
		return towards(sm, sw, (unsigned int)last);
	return to->is_switch ? 0 : to->port[port].peer_port;
}

static void
ways(struct tp_sm *sm, struct sm_node *sw)
{
	memset(sw->out, SM_NO_PORT, sizeof(sw->out));
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		const struct sm_node *to = &sm->node[i];

		for (unsigned int p = 0; p <= to->ports; p++) {
			if (to->lid[p] != 0)
				sw->out[to->lid[p]] = exit_for(sm, sw, to, p);
		}
	}
}

/* --- groups: along the ways to the first switch, which are a tree ------------------------------------------------ */

static void
mark(const struct tp_sm *sm, const struct sm_node *sw, const struct sm_node *node, uint8_t port, bool receives,
     uint64_t *ports)
{
	unsigned int root = 0;
	int at = node->is_switch ? (int)(node - sm->node) : node->port[port].peer;

	while (root < sm->num_nodes && !sm->node[root].is_switch)
		root++;
	if (at < 0 || !sm->node[at].is_switch || root == sm->num_nodes)
		return;
	if (receives && &sm->node[at] == sw && !node->is_switch)
		*ports |= UINT64_C(1) << node->port[port].peer_port;
	for (unsigned int hops = 0; (unsigned int)at != root && hops < TP_SM_NODES; hops++) {
		uint8_t up = towards(sm, &sm->node[at], root);
		const struct sm_port *p;

		if (up == SM_NO_PORT)
			return;
		p = &sm->node[at].port[up];
		if (&sm->node[at] == sw)
			*ports |= UINT64_C(1) << up;
		if (receives && &sm->node[p->peer] == sw)
			*ports |= UINT64_C(1) << p->peer_port;
		at = p->peer;
	}
}

uint64_t
sm_group_ports(const struct tp_sm *sm, const struct sm_node *sw, const struct sm_group *g)
{
	uint64_t ports = 0;

	for (unsigned int i = 0; i < g->num; i++) {
		const struct sm_node *node;
		uint8_t port;

		if (sm_find_guid(sm, ib_get64(g->member[i].gid.raw + 8), &node, &port))
			mark(sm, sw, node, port, g->member[i].state != TP_SA_SEND_ONLY, &ports);
	}
	return ports;
}

/* --- what is to be set ------------------------------------------------------------------------------------------- */

static uint8_t
neighbour_mtu(const struct tp_sm *sm, const struct sm_port *p)
{
	const struct sm_port *peer = p->peer < 0 ? p : &sm->node[p->peer].port[p->peer_port];
	uint8_t own = p->info[SM_PI_MTU_CAP] & 0xf, theirs = peer->known ? peer->info[SM_PI_MTU_CAP] & 0xf : own;

	return RTE_MIN(own, theirs);
}

/* A PortInfo that changes nothing: states, widths and speeds of 0 (14.2.5.6). */
static void
unchanged(const struct sm_port *p, uint8_t pi[SMP_DATA_LEN])
{
	memcpy(pi, p->info, SMP_DATA_LEN);
	pi[SM_PI_WIDTH_ENABLED] = 0;
	pi[SM_PI_STATE] &= 0xf0;
	pi[SM_PI_PHYS] = 0;
	pi[SM_PI_SPEED] &= 0xf0;
	pi[SM_PI_EXT_SPEED_ENABLED] = 0;
	pi[SM_PI_REREGISTER] &= (uint8_t)~REREGISTER;
}

static void
set_lid(struct tp_sm *sm, unsigned int node, uint8_t port, uint16_t sm_lid)
{
	const struct sm_node *n = &sm->node[node];
	const struct sm_port *p = &n->port[port];
	uint8_t pi[SMP_DATA_LEN], pkeys[SMP_DATA_LEN] = {0};
	bool told = sm->told[n->lid[port]] == n->port_guid[port];

	if (n->lid[port] == 0)
		return;
	if (told && ib_get16(p->info + SM_PI_LID) == n->lid[port] && ib_get16(p->info + SM_PI_SM_LID) == sm_lid &&
	    (n->is_switch || sm_port_state(p) == SM_ACTIVE))
		return;
	unchanged(p, pi);
	ib_put64(pi + SM_PI_PREFIX, SM_PREFIX);
	ib_put16(pi + SM_PI_LID, n->lid[port]);
	ib_put16(pi + SM_PI_SM_LID, sm_lid);
	pi[SM_PI_LMC] = 0;
	if (!n->is_switch)
		pi[SM_PI_MTU_SL] = (uint8_t)(neighbour_mtu(sm, p) << 4);
	pi[SM_PI_REREGISTER] = SM_LIFETIME;
	if ((ib_get32(p->info + SM_PI_CAPS) & SM_CAP_REREGISTER) != 0)
		pi[SM_PI_REREGISTER] |= REREGISTER;
	sm_set(sm, node, port, SMP_ATTR_PORT_INFO, n->is_switch ? 0 : port, pi);
	sm->told[n->lid[port]] = n->port_guid[port];
	if (n->is_switch)
		return;
	ib_put16(pkeys, 0xffff);
	for (unsigned int i = 0; i < RTE_MIN(sm->conf.num_pkeys, TP_SM_PKEYS - 1); i++)
		ib_put16(pkeys + 2 + 2 * i, sm->conf.pkeys[i]);
	sm_set(sm, node, port, SMP_ATTR_PKEY_TABLE, 0, pkeys);
}

static void
set_tables(struct tp_sm *sm, unsigned int node)
{
	struct sm_node *sw = &sm->node[node];
	uint8_t d[SMP_DATA_LEN];

	memcpy(d, sw->switch_info, sizeof(d));
	ib_put16(d + 6, SM_LIDS);
	d[11] = SM_LIFETIME << 3 | STATE_CHANGE;
	sm_set(sm, node, 0, SMP_ATTR_SWITCH_INFO, 0, d);
	for (uint32_t block = 0; block * SM_LFT_BLOCK <= SM_LIDS; block++) {
		for (uint32_t i = 0; i < SM_LFT_BLOCK; i++) {
			uint32_t lid = block * SM_LFT_BLOCK + i;

			d[i] = lid <= SM_LIDS ? sw->out[lid] : SM_NO_PORT;
		}
		sm_set(sm, node, 0, SMP_ATTR_LFT, block, d);
	}
	for (uint32_t block = 0; block * SM_MFT_BLOCK < TP_SM_GROUPS; block++) {
		for (uint32_t pos = 0; pos * 16 <= sw->ports; pos++) {
			memset(d, 0, sizeof(d));
			for (uint32_t i = 0; i < SM_MFT_BLOCK; i++) {
				uint32_t g = block * SM_MFT_BLOCK + i;

				if (sm->group[g].rec.mlid != 0)
					ib_put16(d + 2 * i,
						 (uint16_t)(sm_group_ports(sm, sw, &sm->group[g]) >> (16 * pos)));
			}
			sm_set(sm, node, 0, SMP_ATTR_MFT, pos << 28 | block, d);
		}
	}
}

void
sm_configure(struct tp_sm *sm)
{
	struct tp_mad_port_state own;
	const struct sm_node *us;
	uint8_t port;

	tp_mad_port_state_get(sm->mad, &own);
	if (!sm_find_guid(sm, ib_get64(own.gid.raw + 8), &us, &port)) {
		sm->failed = true;
		return;
	}
	distances(sm);
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		for (unsigned int p = 0; p <= sm->node[i].ports; p++)
			set_lid(sm, i, (uint8_t)p, us->lid[port]);
		if (!sm->node[i].is_switch)
			continue;
		ways(sm, &sm->node[i]);
		set_tables(sm, i);
	}
}

void
sm_raise(struct tp_sm *sm, enum sm_state from, enum sm_state to)
{
	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		for (unsigned int p = 1; p <= sm->node[i].ports; p++) {
			const struct sm_port *port = &sm->node[i].port[p];
			uint8_t pi[SMP_DATA_LEN];

			if (!port->known || port->peer < 0 || sm_port_state(port) != from)
				continue;
			unchanged(port, pi);
			pi[SM_PI_STATE] |= (uint8_t)to;
			pi[SM_PI_MTU_SL] = (uint8_t)(neighbour_mtu(sm, port) << 4 | (pi[SM_PI_MTU_SL] & 0xf));
			sm_set(sm, i, (uint8_t)p, SMP_ATTR_PORT_INFO, p, pi);
		}
	}
}
