/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The communication manager of an InfiniBand port: datagrams with LIDs, services by their numbers. */
#include "cm_ib.h"

#include <rte_byteorder.h>

#include "rdma_priv.h"

#define FLOW_LABEL_MASK 0xfffffu

/* --- datagrams -------------------------------------------------------------------------------------------------- */

/* Our address: what the sender's GRH names; without one the port's first GID, which only a request is compared with. */
static void
own_gid(struct tp_roce_dev *dev, const struct tp_mad_packet *pkt, union ibv_gid *gid)
{
	if (pkt->has_grh) {
		*gid = pkt->grh.dgid;
		return;
	}
	if (cm_msg_of(pkt->data) != CM_REQ)
		return;
	tp_roce_lock(dev);
	if (dev->prov->query_gid(dev, 0, gid) != 0)
		memset(gid, 0, sizeof(*gid));
	tp_roce_unlock(dev);
}

void
tp_cm_ib_input(struct tp_roce_dev *dev, const struct tp_mad_packet *pkt)
{
	struct tp_roce_mad mad = {.path = {.type = IBV_GID_TYPE_IB,
					   .vlan = TP_ROCE_NO_VLAN,
					   .prio = pkt->sl,
					   .dlid = pkt->slid,
					   .slid = pkt->dlid,
					   .path_bits = pkt->path_bits,
					   .pkey_index = pkt->pkey_index,
					   .grh = pkt->has_grh},
				  .remote_qpn = pkt->remote_qpn};

	if (pkt->has_grh) {
		uint32_t word = rte_be_to_cpu_32(pkt->grh.version_tclass_flow);

		mad.path.dgid = pkt->grh.sgid;
		mad.path.flow_label = word & FLOW_LABEL_MASK;
		mad.path.tclass = (uint8_t)(word >> 20);
		mad.path.hop_limit = UINT8_MAX;
	}
	own_gid(dev, pkt, &mad.path.sgid);
	memcpy(mad.data, pkt->data, sizeof(mad.data));
	trd_lock();
	tcm_input(trd_core(dev), &mad);
	trd_unlock();
}

int
tp_cm_ib_send(struct tp_roce_dev *dev, const struct tp_roce_mad *mad)
{
	const struct tp_roce_path *p = &mad->path;
	struct tp_mad_packet pkt = {.qpn = 1,
				    .remote_qpn = mad->remote_qpn,
				    .qkey = TP_MAD_QKEY,
				    .dlid = p->dlid,
				    .pkey_index = p->pkey_index,
				    .sl = p->prio,
				    .path_bits = p->path_bits,
				    .has_grh = p->grh};

	if (p->grh) {
		pkt.grh.version_tclass_flow = rte_cpu_to_be_32((uint32_t)p->tclass << 20 | p->flow_label);
		pkt.grh.hop_limit = p->hop_limit;
		pkt.grh.sgid = p->sgid;
		pkt.grh.dgid = p->dgid;
	}
	memcpy(pkt.data, mad->data, sizeof(pkt.data));
	return tp_mad_port_send(&dev->vctx.context, &pkt);
}

/* --- services --------------------------------------------------------------------------------------------------- */

static struct tp_cm_service *
service_find(const struct tp_roce_cm *cm, uint64_t id)
{
	struct tp_cm_service *s;

	TAILQ_FOREACH(s, &cm->services, next)
	{
		if (s->id == id)
			break;
	}
	return s;
}

int
tp_cm_ib_listen(struct ibv_context *ctx, struct tp_cm_service *service)
{
	struct tp_roce_dev *dev = tp_roce_dev_of(ctx);
	int err = 0;

	if (dev->ib == NULL)
		return TP_ROCE_REFUSE(dev, ENOTSUP, "the port is Ethernet, whose services are those of tp_rdma.h");
	trd_lock();
	if (service_find(dev->cm, service->id) != NULL)
		err = TP_ROCE_REFUSE(dev, EADDRINUSE, "service 0x%016" PRIx64 " has somebody who listens", service->id);
	else
		TAILQ_INSERT_TAIL(&dev->cm->services, service, next);
	trd_unlock();
	return err;
}

void
tp_cm_ib_unlisten(struct ibv_context *ctx, struct tp_cm_service *service)
{
	trd_lock();
	TAILQ_REMOVE(&tp_roce_dev_of(ctx)->cm->services, service, next);
	trd_unlock();
}

struct tcm *
tp_cm_ib_lock(struct ibv_context *ctx)
{
	trd_lock();
	return trd_core(tp_roce_dev_of(ctx));
}

void
tp_cm_ib_unlock(void)
{
	trd_unlock();
}

/* --- operations of the core ------------------------------------------------------------------------------------- */

static void
on_send(void *home, const struct tp_roce_mad *mad)
{
	trd_send(home, mad);
}

/* Datagram services are asked for by nobody yet that is above LIDs. */
static uint16_t
on_service(void *home, const struct tcm_ask *ask, void **owner)
{
	struct tp_cm_service *s;

	if (ask->dgram)
		return CM_SIDR_UNSUPPORTED;
	s = service_find(home, ask->service_id);
	if (s == NULL)
		return CM_REJ_SERVICE_ID;
	if (ask->service != CM_SERVICE_RC)
		return CM_REJ_SERVICE_TYPE;
	*owner = &s->owner;
	return 0;
}

static void
on_event(void *home, const struct tcm_event *ev)
{
	struct tp_cm_owner *owner = ev->owner;

	(void)home;
	owner->event(owner, ev);
}

const struct tcm_ops tp_cm_ib_ops = {.send = on_send, .service = on_service, .event = on_event};
