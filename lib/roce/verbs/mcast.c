/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups of datagram queue pairs (10.5). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/roce/net/net.h"
#include "lib/roce/port/front.h"

#define LID_MCAST 0xc000u
#define LID_PERMISSIVE 0xffffu

struct troce_group {
	SLIST_ENTRY(troce_group) next;
	union ibv_gid gid;
};

static bool
mcast_gid(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return gid->raw[0] == 0xff || (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 && gid->raw[12] >> 4 == 0xe);
}

static struct troce_group *
find(const struct troce_qp *qp, const union ibv_gid *gid)
{
	struct troce_group *g;

	SLIST_FOREACH(g, &qp->groups, next)
	{
		if (memcmp(&g->gid, gid, sizeof(*gid)) == 0)
			break;
	}
	return g;
}

static int
check(struct troce_dev *dev, const struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (dev->ib != NULL && (gid->raw[0] != 0xff || lid < LID_MCAST || lid == LID_PERMISSIVE))
		return TROCE_REFUSE(
			dev, EINVAL,
			"queue pair 0x%x: a group has a GID of ff.. and a LID of 0xc000..0xfffe, not %02x.. "
			"and 0x%x",
			qp->qp_num, gid->raw[0], lid);
	if (dev->prov->attach_mcast == NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no multicast groups", dev->prov->name);
	if (qp->qp_type != IBV_QPT_UD)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: only datagrams (UD) have multicast groups",
				    qp->qp_num);
	if (!mcast_gid(gid))
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: a GID of octets %02x%02x.. is no group's",
				    qp->qp_num, gid->raw[0], gid->raw[1]);
	return 0;
}

int
tp_roce_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct troce_qp *qp = (struct troce_qp *)ibqp;
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	struct troce_group *g = NULL;
	struct rte_ether_addr mac;
	int err;

	troce_lock(dev);
	err = check(dev, ibqp, gid, lid);
	if (err != 0 || find(qp, gid) != NULL)
		goto out;
	g = calloc(1, sizeof(*g));
	if (g == NULL) {
		err = ENOMEM;
		goto out;
	}
	g->gid = *gid;
	troce_mcast_mac(gid, &mac);
	err = dev->prov->attach_mcast(qp, gid, &mac);
	if (err != 0) {
		free(g);
		goto out;
	}
	SLIST_INSERT_HEAD(&qp->groups, g, next);
	qp->refs++;
out:
	troce_unlock(dev);
	return err;
}

int
tp_roce_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid)
{
	struct troce_qp *qp = (struct troce_qp *)ibqp;
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	struct troce_group *g;
	struct rte_ether_addr mac;
	int err;

	(void)lid; /* the GID names the group */
	troce_lock(dev);
	g = find(qp, gid);
	if (g == NULL) {
		err = TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x is not attached to this group", ibqp->qp_num);
		goto out;
	}
	troce_mcast_mac(gid, &mac);
	err = dev->prov->detach_mcast(qp, gid, &mac);
	if (err == 0) {
		SLIST_REMOVE(&qp->groups, g, troce_group, next);
		free(g);
		qp->refs--;
	}
out:
	troce_unlock(dev);
	return err;
}
