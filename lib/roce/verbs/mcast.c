/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups of datagram queue pairs (10.5). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

#define LID_MCAST 0xc000u
#define LID_PERMISSIVE 0xffffu

struct tp_roce_group {
	SLIST_ENTRY(tp_roce_group) next;
	union ibv_gid gid;
};

static bool
mcast_gid(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return gid->raw[0] == 0xff || (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 && gid->raw[12] >> 4 == 0xe);
}

static struct tp_roce_group *
find(const struct tp_roce_qp *qp, const union ibv_gid *gid)
{
	struct tp_roce_group *g;

	SLIST_FOREACH(g, &qp->groups, next)
	{
		if (memcmp(&g->gid, gid, sizeof(*gid)) == 0)
			break;
	}
	return g;
}

static int
check(struct tp_roce_dev *dev, const struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (dev->ib != NULL && (gid->raw[0] != 0xff || lid < LID_MCAST || lid == LID_PERMISSIVE))
		return TP_ROCE_REFUSE(
			dev, EINVAL,
			"queue pair 0x%x: a group has a GID of ff.. and a LID of 0xc000..0xfffe, not %02x.. "
			"and 0x%x",
			qp->qp_num, gid->raw[0], lid);
	if (dev->prov->attach_mcast == NULL)
		return TP_ROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no multicast groups", dev->prov->name);
	if (qp->qp_type != IBV_QPT_UD)
		return TP_ROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: only datagrams (UD) have multicast groups",
				      qp->qp_num);
	if (!mcast_gid(gid))
		return TP_ROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: a GID of octets %02x%02x.. is no group's",
				      qp->qp_num, gid->raw[0], gid->raw[1]);
	return 0;
}

int
tp_roce_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct tp_roce_qp *qp = (struct tp_roce_qp *)ibqp;
	struct tp_roce_dev *dev = tp_roce_dev_of(ibqp->context);
	struct tp_roce_group *g = NULL;
	struct rte_ether_addr mac;
	int err;

	tp_roce_lock(dev);
	err = check(dev, ibqp, gid, lid);
	if (err != 0 || find(qp, gid) != NULL)
		goto out;
	g = calloc(1, sizeof(*g));
	if (g == NULL) {
		err = ENOMEM;
		goto out;
	}
	g->gid = *gid;
	tp_roce_mcast_mac(gid, &mac);
	err = dev->prov->attach_mcast(qp, gid, &mac);
	if (err != 0) {
		free(g);
		goto out;
	}
	SLIST_INSERT_HEAD(&qp->groups, g, next);
	qp->refs++;
out:
	tp_roce_unlock(dev);
	return err;
}

int
tp_roce_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct tp_roce_qp *qp = (struct tp_roce_qp *)ibqp;
	struct tp_roce_dev *dev = tp_roce_dev_of(ibqp->context);
	struct tp_roce_group *g;
	struct rte_ether_addr mac;
	int err;

	(void)lid; /* the GID names the group */
	tp_roce_lock(dev);
	g = find(qp, gid);
	if (g == NULL) {
		err = TP_ROCE_REFUSE(dev, EINVAL, "queue pair 0x%x is not attached to this group", ibqp->qp_num);
		goto out;
	}
	tp_roce_mcast_mac(gid, &mac);
	err = dev->prov->detach_mcast(qp, gid, &mac);
	if (err == 0) {
		SLIST_REMOVE(&qp->groups, g, tp_roce_group, next);
		free(g);
		qp->refs--;
	}
out:
	tp_roce_unlock(dev);
	return err;
}
