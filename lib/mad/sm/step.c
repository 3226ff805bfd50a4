/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steps of a sweep as they are put on its list. */
#include "sm_priv.h"

struct sm_step *
sm_step_add(struct tp_sm *sm, enum sm_what what, uint16_t attr, uint32_t mod, const struct sm_port *to)
{
	struct sm_step *s;

	if (sm->num_steps == SM_STEPS) {
		sm->failed = true;
		return NULL;
	}
	s = &sm->steps[sm->num_steps++];
	*s = (struct sm_step){.what = what, .attr = attr, .mod = mod, .node = -1, .from = -1};
	if (to != NULL) {
		memcpy(s->path, to->path, sizeof(s->path));
		s->hops = to->hops;
	}
	return s;
}

void
sm_set(struct tp_sm *sm, unsigned int node, uint8_t port, uint16_t attr, uint32_t mod, const uint8_t *data)
{
	struct sm_step *s = sm_step_add(sm, SM_STEP_SET, attr, mod, &sm->node[node].port[port]);

	if (s == NULL)
		return;
	s->node = (int)node;
	s->port = port;
	memcpy(s->data, data, sizeof(s->data));
}

uint64_t
sm_own_guid(struct tp_sm *sm)
{
	struct tp_mad_port_state own;

	tp_mad_port_state_get(sm->mad, &own);
	return ib_get64(own.gid.raw + 8);
}

void
sm_again(struct tp_sm *sm)
{
	sm->again = true;
	if (sm->phase == SM_IDLE) {
		sm->due = tp_mad_now(sm->mad);
		tp_mad_wake(sm->directed);
	}
}
