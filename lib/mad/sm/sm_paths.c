/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Paths between ports, as the small administrator says them (15.2.5.16). */
#include "sm_priv.h"

#include <stdlib.h>

#include <rte_common.h>

struct end {
	const struct sm_node *node;
	uint8_t port;
	uint16_t lid;
};

static bool
is_end(const struct end *e, const union ibv_gid *gid, bool by_gid, uint16_t lid, bool by_lid)
{
	if (by_gid && (ib_get64(gid->raw) != SM_PREFIX || ib_get64(gid->raw + 8) != e->node->port_guid[e->port]))
		return false;
	return !by_lid || lid == e->lid;
}

bool
sm_has_pkey(const struct tp_sm *sm, uint16_t pkey, bool *full)
{
	*full = true;
	if ((pkey & IB_PKEY_MASK) == IB_PKEY_MASK)
		return true;
	for (unsigned int i = 0; i < sm->conf.num_pkeys; i++) {
		if (((sm->conf.pkeys[i] ^ pkey) & IB_PKEY_MASK) == 0) {
			*full = (sm->conf.pkeys[i] & IB_PKEY_FULL) != 0;
			return true;
		}
	}
	return false;
}

/* The slower end's rate, the smaller one's MTU; each way is the other one back. */
static bool
path_between(const struct end *from, const struct end *to, uint16_t pkey, struct tp_sa_path *path)
{
	const struct sm_port *a = &from->node->port[from->port], *b = &to->node->port[to->port];
	uint8_t rate_a = sm_port_rate(a), rate_b = sm_port_rate(b);

	*path = (struct tp_sa_path){.dlid = to->lid,
				    .slid = from->lid,
				    .pkey = pkey,
				    .mtu = RTE_MIN(sm_port_mtu(a), sm_port_mtu(b)),
				    .rate = sm_rate_order(rate_b) < sm_rate_order(rate_a) ? rate_b : rate_a,
				    .lifetime = from->lid == to->lid ? 0 : SM_LIFETIME,
				    .reversible = true};
	ib_put64(path->dgid.raw, SM_PREFIX);
	ib_put64(path->dgid.raw + 8, to->node->port_guid[to->port]);
	ib_put64(path->sgid.raw, SM_PREFIX);
	ib_put64(path->sgid.raw + 8, from->node->port_guid[from->port]);
	return from->node->is_switch || to->node->is_switch ||
	       (sm_port_state(a) == SM_ACTIVE && sm_port_state(b) == SM_ACTIVE);
}

static uint32_t
ends(const struct tp_sm *sm, struct end *e)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < sm->num_nodes; i++) {
		for (unsigned int p = 0; p <= sm->node[i].ports && n < SM_LIDS; p++) {
			if (sm->node[i].lid[p] != 0)
				e[n++] = (struct end){&sm->node[i], (uint8_t)p, sm->node[i].lid[p]};
		}
	}
	return n;
}

static uint32_t
find(const struct tp_sm *sm, const struct tp_sa_path *want, uint64_t mask, bool one, uint8_t *buf)
{
	struct end e[SM_LIDS];
	uint32_t n = ends(sm, e), num = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_end(&e[i], &want->sgid, (mask & SA_PATH_SGID) != 0, want->slid, (mask & SA_PATH_SLID) != 0))
			continue;
		for (uint32_t k = 0; k < n; k++) {
			struct tp_sa_path path;

			if (!is_end(&e[k], &want->dgid, (mask & SA_PATH_DGID) != 0, want->dlid,
				    (mask & SA_PATH_DLID) != 0) ||
			    !path_between(&e[i], &e[k], want->pkey, &path))
				continue;
			sa_path_put(&path, 0, buf + SA_PATH_LEN * num++);
			if (one)
				return num;
		}
	}
	return num;
}

/* Without a partition named it is the default one. Limited members do not talk to each other (10.9.3). */
void
sm_paths(struct tp_sm *sm, const struct tp_mad_msg *msg)
{
	uint64_t mask = ib_get64(msg->data + SA_MASK_AT);
	bool one = msg->data[MAD_METHOD_AT] == MAD_GET, full;
	uint8_t *buf = calloc(one ? 1 : SM_LIDS * SM_LIDS, SA_PATH_LEN);
	struct tp_sa_path want;
	uint32_t num = 0;

	if (buf == NULL) {
		sm_answer(sm, msg, SA_ST_RESOURCES, NULL, 0, 0);
		return;
	}
	sa_path_take(msg->data + SA_RECORD_AT, &want);
	if ((mask & SA_PATH_PKEY) == 0)
		want.pkey = IB_PKEY_FULL | IB_PKEY_MASK;
	if (sm_has_pkey(sm, want.pkey, &full) && full) {
		want.pkey |= IB_PKEY_FULL;
		num = find(sm, &want, mask, one, buf);
	}
	sm_answer_found(sm, msg, buf, SA_PATH_LEN, num);
	free(buf);
}
