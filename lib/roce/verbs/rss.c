/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive-side scaling of datagrams: tables of rings, and the parents that spread over them. */
#include <errno.h>
#include <stdlib.h>

#include "verbs.h"

void
tp_roce_query_rss(struct ibv_context *ctx, struct tp_roce_rss_caps *caps)
{
	*caps = troce_dev_of(ctx)->rss;
}

static int
offered(struct troce_dev *dev)
{
	if (dev->rss.max_rings < 2 || dev->prov->reserve_qpns == NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no RSS of datagrams here", dev->prov->name);
	return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

static int
table_check(struct troce_dev *dev, const struct tp_roce_ring *rings, uint32_t num)
{
	int err = offered(dev);
	uint32_t i;

	if (err != 0)
		return err;
	if (num < 2 || num > dev->rss.max_rings || (num & (num - 1)) != 0)
		return TROCE_REFUSE(dev, EINVAL, "a table of %u rings, wanted a power of two in 2..%u", num,
				    dev->rss.max_rings);
	for (i = 0; i < num; i++) {
		if (rings[i].cq == NULL || rings[i].srq == NULL)
			return TROCE_REFUSE(dev, EINVAL, "ring %u needs a %s", i,
					    rings[i].cq == NULL ? "completion queue" : "shared receive queue");
	}
	return 0;
}

static void
rings_destroy(struct tp_roce_table *t)
{
	uint32_t i;

	for (i = 0; i < t->num && t->qp[i] != NULL; i++)
		tp_roce_destroy_qp(t->qp[i]);
}

struct tp_roce_table *
tp_roce_create_table(struct ibv_pd *pd, const struct tp_roce_ring *rings, uint32_t num)
{
	struct troce_dev *dev = troce_dev_of(pd->context);
	int err = table_check(dev, rings, num);
	struct tp_roce_table *t = NULL;
	uint32_t i;

	if (err == 0) {
		t = calloc(1, sizeof(*t) + num * sizeof(t->qp[0]));
		err = t != NULL ? 0 : ENOMEM;
	}
	if (err == 0) {
		t->dev = dev;
		t->num = num;
		troce_lock(dev);
		err = dev->prov->reserve_qpns(dev, num, &t->base);
		troce_unlock(dev);
	}
	for (i = 0; err == 0 && i < num; i++) {
		struct ibv_qp_init_attr init = {
			.send_cq = rings[i].cq, .recv_cq = rings[i].cq, .srq = rings[i].srq, .qp_type = IBV_QPT_UD};
		const struct troce_qp_more more = {.role = TROCE_QP_RING, .qpn = t->base + i};

		t->qp[i] = troce_qp_make(pd, &init, &more);
		if (t->qp[i] != NULL)
			continue;
		err = errno;
		rings_destroy(t);
		troce_lock(dev);
		dev->prov->release_qpns(dev, t->base + i, num - i);
		troce_unlock(dev);
	}
	if (err == 0)
		return t;
	free(t);
	errno = err;
	return NULL;
}

int
tp_roce_modify_table(struct tp_roce_table *t, struct ibv_qp_attr *attr, int attr_mask)
{
	int err = 0;
	uint32_t i;

	for (i = 0; i < t->num && err == 0; i++)
		err = tp_roce_modify_qp(t->qp[i], attr, attr_mask);
	return err;
}

int
tp_roce_destroy_table(struct tp_roce_table *t)
{
	int err = 0;

	troce_lock(t->dev);
	if (t->parents != 0)
		err = TROCE_REFUSE(t->dev, EBUSY, "the table of queue pairs 0x%x.. is that of %u parent(s)", t->base,
				   t->parents);
	troce_unlock(t->dev);
	if (err != 0)
		return err;
	rings_destroy(t);
	free(t);
	return 0;
}

/* --- parents ----------------------------------------------------------------------------------------------------- */

struct ibv_qp *
tp_roce_create_parent(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD};
	int err = offered(troce_dev_of(pd->context));

	if (err != 0) {
		errno = err;
		return NULL;
	}
	return troce_qp_make(pd, &init, &(struct troce_qp_more){.role = TROCE_QP_PARENT});
}

static int
set_check(struct troce_dev *dev, const struct troce_qp *qp, const struct tp_roce_table *table, uint32_t types)
{
	if (qp->role != TROCE_QP_PARENT)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x is no parent", qp->v.qp_num);
	if (qp->v.state != IBV_QPS_RESET)
		return TROCE_REFUSE(dev, EINVAL, "parent 0x%x gets a table in state %d, wanted %d (RESET)",
				    qp->v.qp_num, qp->v.state, IBV_QPS_RESET);
	if (table != NULL && table->dev != dev)
		return TROCE_REFUSE(dev, EINVAL, "parent 0x%x: the table is another port's", qp->v.qp_num);
	if ((types & ~dev->rss.types) != 0)
		return TROCE_REFUSE(dev, EINVAL, "parent 0x%x: types 0x%x, the port has 0x%x", qp->v.qp_num, types,
				    dev->rss.types);
	return 0;
}

int
tp_roce_set_table(struct ibv_qp *parent, struct tp_roce_table *table, const uint8_t *key, uint32_t types)
{
	struct troce_qp *qp = (struct troce_qp *)parent;
	struct troce_dev *dev = troce_dev_of(parent->context);
	int err;

	troce_lock(dev);
	err = set_check(dev, qp, table, types);
	if (err == 0) {
		if (qp->table != NULL)
			qp->table->parents--;
		if (table != NULL) {
			table->parents++;
			memcpy(qp->rss_key, key, sizeof(qp->rss_key));
		}
		qp->table = table;
		qp->rss_types = types;
	}
	troce_unlock(dev);
	return err;
}
