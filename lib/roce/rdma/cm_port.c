/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The communication manager of an open port: the core between the port's QP1, its clock and the ids of tp_rdma.h.
 */
#include "cm_port.h"

#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_random.h>

#include "lib/roce/verbs/verbs.h"
#include "rdma_priv.h"

#define COUNTERS_NS                                                                                                    \
	(100ull * 1000 * 1000) /* counters of the port are read so often at most, however often they are asked for */

/* --- in --------------------------------------------------------------------------------------------------------- */

static const struct mad_port_counters *
counters(struct troce_cm *cm)
{
	uint64_t now = troce_now_ns(cm->dev);

	if (cm->counters_at != 0 && now - cm->counters_at < COUNTERS_NS)
		return &cm->counters;
	cm->counters_at = now;
	(void)troce_traffic(cm->dev, &cm->counters);
	return &cm->counters;
}

static bool
asks_counters(const uint8_t *mad)
{
	return mad[MAD_CLASS_AT] == MAD_CLASS_PERF && mad[MAD_METHOD_AT] == MAD_GET;
}

void
troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad)
{
	struct troce_cm *cm = dev->cm;
	const struct mad_port_counters *c = asks_counters(mad->data) ? counters(cm) : &cm->counters;
	struct troce_mad m = *mad;
	enum mad_verdict verdict = mad_receive(m.data, c);

	trd_lock();
	switch (verdict) {
	case MAD_TO_CM: tcm_input(trd_core(dev), &m); break;
	case MAD_ANSWER:
		cm->mads_answered++;
		trd_send(cm, &m);
		break;
	case MAD_DROP: cm->mads_ignored++; break;
	case MAD_MALFORMED: cm->mads_malformed++; break;
	}
	trd_unlock();
}

/* --- the port --------------------------------------------------------------------------------------------------- */

/* The ids of a port learn that it is gone; those that listen on all ports stay. */
static void
remove_ids(struct troce_cm *cm)
{
	struct trd_id *id;

	TAILQ_FOREACH(id, &trd_ids, next)
	{
		if (id->dev != cm->dev)
			continue;
		if (id->state == TRD_RESOLVING)
			cm->resolving--;
		id->conn = NULL;
		id->dev = NULL;
		id->state = TRD_DONE;
		trd_post(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
}

void
troce_cm_tidy(struct troce_dev *dev)
{
	struct troce_cm *cm = dev->cm;

	trd_lock();
	if (cm->pd != NULL && cm->pd_users == 0 && tp_roce_dealloc_pd(cm->pd) == 0)
		cm->pd = NULL;
	trd_unlock();
}

static void
cm_fini(struct troce_dev *dev)
{
	struct troce_cm *cm = dev->cm;

	if (dev->ib != NULL)
		(void)troce_mad_class_set(dev, MAD_CLASS_CM, NULL);
	trd_lock();
	/* Any thread may be sending what is in the queue. */
	while (cm->sending != 0)
		trd_wait_signal();
	remove_ids(cm);
	TAILQ_REMOVE(&trd_cms, cm, next);
	dev->cm = NULL;
	tcm_fini(&cm->core);
	trd_unlock();
	free(cm);
}

static int
cm_init(struct troce_dev *dev)
{
	struct troce_cm *cm = calloc(1, sizeof(*cm));
	const struct tcm_conf conf = {.ca_guid = ib_get64((const uint8_t *)&dev->attr.node_guid),
				      .seed = rte_rand(),
				      /* InfiniBand: the path's, which the subnet administrator knows */
				      .mtu_max = dev->ib != NULL ? IBV_MTU_4096 : (uint16_t)dev->port.active_mtu};
	int rc;

	if (cm == NULL)
		return ENOMEM;
	TAILQ_INIT(&cm->services);
	rc = tcm_init(&cm->core, dev->ib != NULL ? &trd_ib_ops : &trd_core_ops, cm, &conf);
	if (rc != 0) {
		free(cm);
		return -rc;
	}
	cm->dev = dev;
	cm->side = &dev->side[TROCE_SIDE_CM];
	dev->cm = cm;
	trd_lock();
	TAILQ_INSERT_TAIL(&trd_cms, cm, next);
	trd_unlock();
	if (dev->ib != NULL && troce_mad_class_set(dev, MAD_CLASS_CM, trd_ib_input) != 0) {
		cm_fini(dev);
		return ENOSPC;
	}
	return 0;
}

static void
cm_port_event(struct troce_dev *dev, enum ibv_event_type type)
{
	atomic_fetch_or(&dev->side[TROCE_SIDE_CM].woken, 1u << type);
}

/* An id whose device has failed can do no more; its application gives everything back and closes the port. */
static void
port_events(struct troce_cm *cm, uint32_t events)
{
	struct trd_id *id;

	if ((events & 1u << IBV_EVENT_GID_CHANGE) != 0)
		trd_addr_check(cm);
	if ((events & 1u << IBV_EVENT_DEVICE_FATAL) == 0)
		return;
	TAILQ_FOREACH(id, &trd_ids, next)
	{
		if (id->dev == cm->dev && id->state != TRD_DONE)
			trd_post(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
}

static unsigned int
cm_progress(struct troce_dev *dev, uint64_t now_ns)
{
	struct troce_cm *cm = dev->cm;
	unsigned int done;
	uint32_t events;

	trd_lock();
	events = atomic_exchange(&cm->side->woken, 0);
	done = tcm_run(trd_core(dev));
	if (events != 0)
		port_events(cm, events);
	if (cm->resolving != 0)
		trd_resolve_run(cm, now_ns);
	trd_unlock();
	return done;
}

static void
cm_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct troce_cm *cm = dev->cm;
	struct {
		struct tcm_stats core;
		uint64_t half_open, mads_answered, mads_ignored, mads_malformed, out_lost;
	} now;

	trd_lock();
	now.core = cm->core.stats;
	now.half_open = cm->core.half_open;
	now.mads_answered = cm->mads_answered;
	now.mads_ignored = cm->mads_ignored;
	now.mads_malformed = cm->mads_malformed;
	now.out_lost = cm->out_lost;
	trd_unlock();
#define STAT(name, member) fn(arg, name, now.member)
	STAT("cm_initiated", core.initiated);
	STAT("cm_accepted", core.accepted);
	STAT("cm_active", core.active);
	STAT("cm_failed", core.failed);
	STAT("cm_disconnects", core.disconnects);
	STAT("cm_rejected_in", core.rejected_in);
	STAT("cm_rejected_out", core.rejected_out);
	STAT("cm_rx", core.rx);
	STAT("cm_tx", core.tx);
	STAT("cm_retries", core.retries);
	STAT("cm_timeouts", core.timeouts);
	STAT("cm_duplicates", core.duplicates);
	STAT("cm_unexpected", core.unexpected);
	STAT("cm_unknown", core.unknown);
	STAT("cm_foreign", core.foreign);
	STAT("cm_malformed", core.malformed);
	STAT("cm_bad_version", core.bad_version);
	STAT("cm_stale", core.stale);
	STAT("cm_no_service", core.no_service);
	STAT("cm_no_resources", core.no_resources);
	STAT("cm_half_open", half_open);
	STAT("cm_half_open_drops", core.half_open_drops);
	STAT("cm_sidr_initiated", core.sidr_initiated);
	STAT("cm_sidr_answered", core.sidr_answered);
	if (dev->ib != NULL) {
		STAT("cm_lost", out_lost);
		return; /* other datagrams are the management service's */
	}
	STAT("mads_answered", mads_answered);
	STAT("mads_ignored", mads_ignored);
	STAT("mads_malformed", mads_malformed);
	STAT("mads_lost", out_lost);
#undef STAT
}

const struct troce_side_ops troce_cm_side = {
	.init = cm_init, .fini = cm_fini, .progress = cm_progress, .port_event = cm_port_event, .stats = cm_stats};
