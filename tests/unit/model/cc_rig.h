/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control of the card's ports by commands, and queue pairs of one priority on a VLAN. */
#ifndef CC_RIG_H
#define CC_RIG_H

#include "verbs_rig.h"

#define CMD 0x68
#define GET 0
#define STATS 1
#define SET 4
#define RP 1u
#define NP 2u
#define MOD(port, prios, algorithm) ((uint32_t)(algorithm) << 16 | (uint32_t)(prios) << 8 | (port))
#define CLEAR (1u << 31)
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define PRIO 3u
#define DATA_ECN 2u /* ECT(0) */

static inline void
set(struct vr *v, uint32_t mod, uint32_t flag_mask, uint32_t flags, uint32_t off, uint32_t value, unsigned int bit)
{
	uint8_t *in = card_in(v->c);

	/* What no bit is set of is not looked at, whatever it says. */
	memset(in, 0xff, 0x108);
	prm_set32(in, 0, flag_mask);
	prm_set32(in, 4, off != 0 ? 1u << bit : 0);
	prm_set32(in, 0x0c, flags | ~flag_mask);
	if (off != 0)
		prm_set32(in, off, value);
	assert_int_equal(card_cmd_in(v->c, CMD, SET, mod), 0);
}

static inline uint32_t
get(struct vr *v, uint32_t mod, uint32_t off)
{
	assert_int_equal(card_cmd_out(v->c, CMD, GET, mod), 0);
	return prm_get32(card_out(v->c), off);
}

static inline uint32_t
counter(struct vr *v, unsigned int port, uint32_t algorithm, uint32_t off)
{
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(port, 0, algorithm)), 0);
	return prm_get32(card_out(v->c), PRIO * 0x40 + off);
}

/* Two queue pairs that were made, of port 1 and 2. */
static inline void
join(struct vr *v, struct vr_qp *a, struct vr_qp *b, unsigned int gid, uint8_t tclass)
{
	vr_to(v, a, 2, b->qpn, gid);
	vr_to(v, b, 1, a->qpn, gid);
	for (unsigned int i = 0; i < 2; i++) {
		struct vr_qp *q = i == 0 ? a : b;

		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(i + 1, PRIO));
		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_FORCE_VLAN, 1);
		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_VLAN_INDEX, 3);
		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_TCLASS, tclass);
		vr_qp_up(v, q);
	}
}

static inline void
pair(struct vr *v, enum mlx4_qp_service service, unsigned int gid, struct vr_qp **a, struct vr_qp **b)
{
	*a = vr_qp(v, 1, service);
	*b = vr_qp(v, 2, service);
	join(v, *a, *b, gid, 0);
}

static inline void
on(struct vr *v)
{
	for (unsigned int port = 1; port <= 2; port++) {
		set(v, MOD(port, 1u << PRIO, RP), 1u << 31 | 3u << 24, 1u << 31 | 3u << 24, 0, 0, 0);
		set(v, MOD(port, 1u << PRIO, NP), 1u << 31, 1u << 31, 0, 0, 0);
	}
}

#endif /* CC_RIG_H */
