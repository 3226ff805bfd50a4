/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which attributes each transition of a queue pair's state needs and takes (10.3.1, tables of 11.2.5.2). */
#ifndef ROCE_VERBS_QP_ATTR_H
#define ROCE_VERBS_QP_ATTR_H

#include "lib/roce/port/provider.h"

const char *troce_qp_state_name(enum ibv_qp_state state);
/*
 * Judges a modification of a queue pair in the given state: the transition, the mask, each value's range. Says what is
 * wrong in a line. An address vector is left to its resolution.
 * 0 or EINVAL.
 */
int troce_qp_attr_check(const struct troce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
			const struct ibv_qp_attr *attr, int mask);
/* Takes the attributes of mask over into those of the queue pair. */
void troce_qp_attr_merge(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr, int mask);

#endif /* ROCE_VERBS_QP_ATTR_H */
