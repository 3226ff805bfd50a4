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
own_gid(struct troce_dev *dev, const struct tp_mad_packet *pkt, union ibv_gid *gid)
{
	if (pkt->has_grh) {
		*gid = pkt->grh.dgid;
		return;
	}
	if (cm_msg_of(pkt->data) != CM_REQ)
		return;
	troce_lock(dev);
	if (dev->prov->query_gid(dev, 0, gid) != 0)
		memset(gid, 0, sizeof(*gid));
	troce_unlock(dev);
}

void
trd_ib_input(struct troce_dev *dev, const struct tp_mad_packet *pkt)
{
	struct troce_mad mad = {.path = {.type = IBV_GID_TYPE_IB,
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

/* --- services --------------------------------------------------------------------------------------------------- */

static struct troce_cm_service *
service_find(const struct troce_cm *cm, uint64_t id)
{
	struct troce_cm_service *s;

	TAILQ_FOREACH(s, &cm->services, next)
	{
		if (s->id == id)
			break;
	}
	return s;
}

int
troce_cm_ib_listen(struct ibv_context *ctx, struct troce_cm_service *service)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err = 0;

	if (dev->ib == NULL)
		return TROCE_REFUSE(dev, ENOTSUP, "the port is Ethernet, whose services are those of tp_rdma.h");
	trd_lock();
	if (service_find(dev->cm, service->id) != NULL)
		err = TROCE_REFUSE(dev, EADDRINUSE, "service 0x%016" PRIx64 " has somebody who listens", service->id);
	else
		TAILQ_INSERT_TAIL(&dev->cm->services, service, next);
	trd_unlock();
	return err;
}

void
troce_cm_ib_unlisten(struct ibv_context *ctx, struct troce_cm_service *service)
{
	trd_lock();
	TAILQ_REMOVE(&troce_dev_of(ctx)->cm->services, service, next);
	trd_unlock();
}

struct tcm *
troce_cm_ib_lock(struct ibv_context *ctx)
{
	trd_lock();
	return trd_core(troce_dev_of(ctx));
}

void
troce_cm_ib_unlock(void)
{
	trd_unlock();
}

/* --- operations of the core ------------------------------------------------------------------------------------- */

static void
on_send(void *home, const struct troce_mad *mad)
{
	trd_send(home, mad);
}

/* Datagram services are asked for by nobody yet that is above LIDs. */
static uint16_t
on_service(void *home, const struct tcm_ask *ask, void **owner)
{
	struct troce_cm_service *s;

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
	struct troce_cm_owner *owner = ev->owner;

	(void)home;
	owner->event(owner, ev);
}

const struct tcm_ops trd_ib_ops = {.send = on_send, .service = on_service, .event = on_event};
