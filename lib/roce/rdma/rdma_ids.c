/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* All identifiers of the process. */
#include <stdlib.h>

#include "rdma_priv.h"

struct trd_ids trd_ids = TAILQ_HEAD_INITIALIZER(trd_ids);

struct trd_id *
trd_id_new(enum rdma_port_space ps, void *context)
{
	struct trd_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->v.context = context;
	id->v.ps = ps;
	id->v.qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	id->ack_timeout = TRD_NO_OPTION;
	TAILQ_INIT(&id->groups);
	return id;
}

void
trd_id_free(struct trd_id *id)
{
	struct trd_group *g;

	if (id->state == TRD_RESOLVING)
		id->dev->cm->resolving--;
	if (id->listener != NULL)
		id->listener->pending--;
	if (id->conn != NULL) {
		(void)trd_core(id->dev);
		tcm_release(id->conn);
	}
	while ((g = TAILQ_FIRST(&id->groups)) != NULL) {
		TAILQ_REMOVE(&id->groups, g, next);
		free(g);
	}
	TAILQ_REMOVE(&trd_ids, id, next);
	free(id);
}

/* --- rules of the port --- */

uint16_t
trd_service(const struct trd_id *id)
{
	const struct rdma_addr *a = &id->v.route.addr;

	return id->v.ps != RDMA_PS_TCP ? 0 : trd_port(id->passive ? &a->src_addr : &a->dst_addr);
}

void
trd_classify(struct trd_id *id)
{
	const struct troce_marks m =
		troce_marks_of(id->dev, trd_gid_type(id->dev) == IBV_GID_TYPE_ROCE_V2, trd_service(id));

	if (!m.ruled)
		return;
	id->av.sl = m.prio;
	if (m.dscp >= 0 && id->tos == 0)
		id->av.grh.traffic_class = (uint8_t)(m.dscp << 2);
}
