/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is there: each node, through each link that is up, by directed routes that grow by a hop (14.4.3). */
#include "sm_priv.h"

void
sm_discover_begin(struct tp_sm *sm)
{
	sm->num_found = 0;
	(void)sm_step_add(sm, SM_STEP_NODE, SMP_ATTR_NODE_INFO, 0, NULL);
}

static int
find(const struct tp_sm *sm, uint64_t guid)
{
	for (unsigned int i = 0; i < sm->num_found; i++) {
		if (sm->found[i].guid == guid)
			return (int)i;
	}
	return -1;
}

static void
ask_port(struct tp_sm *sm, int node, uint8_t port)
{
	struct sm_step *s = sm_step_add(sm, SM_STEP_PORT, SMP_ATTR_PORT_INFO, port, &sm->found[node].port[port]);

	if (s != NULL) {
		s->node = node;
		s->port = port;
	}
}

static void
ask(struct tp_sm *sm, enum sm_what what, uint16_t attr, int node, uint8_t port)
{
	struct sm_step *s = sm_step_add(sm, what, attr, 0, &sm->found[node].port[port]);

	if (s != NULL)
		s->node = node;
}

/* One that has not been seen yet. -1: it has more ports, or there are more, than we care for. */
static int
add(struct tp_sm *sm, const struct sm_step *s, const uint8_t *ni)
{
	struct sm_node *n = &sm->found[sm->num_found];
	int idx = (int)sm->num_found;

	if (sm->num_found == TP_SM_NODES || ni[SM_NI_PORTS] > TP_SM_PORTS || ni[SM_NI_PORTS] == 0)
		return -1;
	memset(n, 0, sizeof(*n));
	memcpy(n->info, ni, sizeof(n->info));
	n->guid = ib_get64(ni + SM_NI_NODE_GUID);
	n->ports = ni[SM_NI_PORTS];
	n->is_switch = ni[SM_NI_TYPE] == SM_SWITCH;
	for (unsigned int p = 0; p <= n->ports; p++) {
		n->port[p].peer = -1;
		memcpy(n->port[p].path, s->path, sizeof(s->path));
		n->port[p].hops = s->hops;
		if (n->is_switch)
			n->port_guid[p] = ib_get64(ni + SM_NI_PORT_GUID);
	}
	sm->num_found++;
	ask(sm, SM_STEP_DESC, SMP_ATTR_NODE_DESC, idx, 0);
	if (!n->is_switch)
		return idx;
	ask(sm, SM_STEP_SWITCH, SMP_ATTR_SWITCH_INFO, idx, 0);
	for (unsigned int p = 0; p <= n->ports; p++)
		ask_port(sm, idx, (uint8_t)p);
	return idx;
}

static void
link_up(struct tp_sm *sm, int a, uint8_t port_a, int b, uint8_t port_b)
{
	sm->found[a].port[port_a].peer = b;
	sm->found[a].port[port_a].peer_port = port_b;
	sm->found[b].port[port_b].peer = a;
	sm->found[b].port[port_b].peer_port = port_a;
}

static void
node(struct tp_sm *sm, const struct sm_step *s, const uint8_t *ni)
{
	uint8_t port = ni[SM_NI_PORT];
	int idx = find(sm, ib_get64(ni + SM_NI_NODE_GUID));

	if (idx < 0)
		idx = add(sm, s, ni);
	if (idx < 0 || port > sm->found[idx].ports) {
		sm->failed = true;
		return;
	}
	if (s->from >= 0)
		link_up(sm, s->from, s->path[s->hops], idx, port);
	if (!sm->found[idx].is_switch && sm->found[idx].port_guid[port] == 0) {
		sm->found[idx].port_guid[port] = ib_get64(ni + SM_NI_PORT_GUID);
		memcpy(sm->found[idx].port[port].path, s->path, sizeof(s->path));
		sm->found[idx].port[port].hops = s->hops;
		ask_port(sm, idx, port);
	}
}

/* Behind each link that is up there is somebody; adapters let nobody through, but we are one. */
static void
port(struct tp_sm *sm, const struct sm_step *s, const uint8_t *pi)
{
	struct sm_port *p = &sm->found[s->node].port[s->port];
	struct sm_step *further;

	memcpy(p->info, pi, SMP_DATA_LEN);
	p->known = true;
	if (!sm->found[s->node].is_switch && (ib_get32(pi + SM_PI_CAPS) & SM_CAP_IS_SM) != 0 && s->hops != 0)
		sm_peer_ask(sm, p);
	if (s->port == 0 || p->peer >= 0 || sm_port_state(p) < SM_INIT || s->hops + 1u >= SMP_MAX_HOPS ||
	    (!sm->found[s->node].is_switch && s->hops != 0))
		return;
	further = sm_step_add(sm, SM_STEP_NODE, SMP_ATTR_NODE_INFO, 0, p);
	if (further == NULL)
		return;
	further->path[++further->hops] = s->port;
	further->from = s->node;
}

void
sm_discovered(struct tp_sm *sm, const struct sm_step *s, const uint8_t *data)
{
	switch (s->what) {
	case SM_STEP_NODE: node(sm, s, data); break;
	case SM_STEP_PORT: port(sm, s, data); break;
	case SM_STEP_DESC: memcpy(sm->found[s->node].desc, data, SMP_DATA_LEN); break;
	case SM_STEP_SWITCH: memcpy(sm->found[s->node].switch_info, data, SMP_DATA_LEN); break;
	default: break;
	}
}
