/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The communication manager of an open port: the core between the port's QP1, its clock and the ids of tp_rdma.h.
 *
 * The core's datagrams are queued and sent after the lock is given back: a home may hand a datagram to the port's own
 * address straight back.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_random.h>

#include "rdma_priv.h"

#define COUNTERS_NS                                                                                                    \
	(100ull * 1000 * 1000) /* counters of the port are read so often at most, however often they are asked for */
#define RESOLVE_NS (1000ull * 1000)

struct trd_cms trd_cms = TAILQ_HEAD_INITIALIZER(trd_cms);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void
trd_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
trd_signal(void)
{
	pthread_cond_broadcast(&changed);
}

void
trd_wait_signal(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 100 * 1000 * 1000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_cond_timedwait(&changed, &lock, &ts);
}

struct tcm *
trd_core(struct tp_roce_dev *dev)
{
	uint64_t now = tp_roce_now_ns(dev);
	struct tcm *core = &dev->cm->core;

	/* Threads may read the time in one order and come here in another. */
	if (now > core->now)
		tcm_clock(core, now);
	return core;
}

/* --- out -------------------------------------------------------------------------------------------------------- */

static void
plan(struct tp_roce_cm *cm)
{
	uint64_t due = tcm_deadline(&cm->core);

	if (cm->resolving != 0)
		due = RTE_MIN(due, cm->core.now + RESOLVE_NS);
	if (cm->out_num != 0)
		due = 0;
	atomic_store_explicit(&cm->due, due, memory_order_relaxed);
}

void
trd_send(struct tp_roce_cm *cm, const struct tp_roce_mad *mad)
{
	if (cm->out_num == TRD_OUT || (cm->dev->ib == NULL && cm->dev->prov->mad_send == NULL)) {
		cm->out_lost++;
		return;
	}
	cm->out[(cm->out_head + cm->out_num++) % TRD_OUT] = *mad;
}

/* One datagram of the queue; the lock is given back meanwhile. false: there is none, or no room for it now. */
static bool
send_one(struct tp_roce_cm *cm)
{
	struct tp_roce_dev *dev = cm->dev;
	struct tp_roce_mad mad;
	int err;

	if (cm->out_num == 0)
		return false;
	mad = cm->out[cm->out_head];
	cm->out_head = (cm->out_head + 1) % TRD_OUT;
	cm->out_num--;
	cm->sending++;
	pthread_mutex_unlock(&lock);
	err = dev->ib != NULL ? tp_cm_ib_send(dev, &mad) : dev->prov->mad_send(dev, &mad);
	pthread_mutex_lock(&lock);
	cm->sending--;
	if (err != EAGAIN || cm->out_num == TRD_OUT)
		return true;
	cm->out_head = (cm->out_head + TRD_OUT - 1) % TRD_OUT;
	cm->out[cm->out_head] = mad;
	cm->out_num++;
	return false;
}

void
trd_unlock(void)
{
	struct tp_roce_cm *cm;

	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		while (send_one(cm))
			;
		plan(cm);
	}
	pthread_mutex_unlock(&lock);
}

/* --- in --------------------------------------------------------------------------------------------------------- */

static const struct mad_port_counters *
counters(struct tp_roce_cm *cm)
{
	uint64_t now = tp_roce_now_ns(cm->dev);
	struct rte_eth_stats s;

	if (cm->counters_at != 0 && now - cm->counters_at < COUNTERS_NS)
		return &cm->counters;
	cm->counters_at = now;
	if (rte_eth_stats_get(cm->dev->port_id, &s) == 0)
		cm->counters = (struct mad_port_counters){.tx_packets = s.opackets,
							  .tx_bytes = s.obytes,
							  .rx_packets = s.ipackets,
							  .rx_bytes = s.ibytes,
							  .rx_errors = s.ierrors,
							  .tx_discards = s.oerrors};
	return &cm->counters;
}

static bool
asks_counters(const uint8_t *mad)
{
	return mad[MAD_CLASS_AT] == MAD_CLASS_PERF && mad[MAD_METHOD_AT] == MAD_GET;
}

void
tp_roce_mad_input(struct tp_roce_dev *dev, const struct tp_roce_mad *mad)
{
	struct tp_roce_cm *cm = dev->cm;
	const struct mad_port_counters *c = asks_counters(mad->data) ? counters(cm) : &cm->counters;
	struct tp_roce_mad m = *mad;
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

int
tp_roce_cm_init(struct tp_roce_dev *dev)
{
	struct tp_roce_cm *cm = calloc(1, sizeof(*cm));
	const struct tcm_conf conf = {.ca_guid = ib_get64((const uint8_t *)&dev->attr.node_guid),
				      .seed = rte_rand(),
				      /* InfiniBand: the path's, which the subnet administrator knows */
				      .mtu_max = dev->ib != NULL ? IBV_MTU_4096 : (uint16_t)dev->port.active_mtu};
	int rc;

	if (cm == NULL)
		return ENOMEM;
	TAILQ_INIT(&cm->services);
	rc = tcm_init(&cm->core, dev->ib != NULL ? &tp_cm_ib_ops : &trd_core_ops, cm, &conf);
	if (rc != 0) {
		free(cm);
		return -rc;
	}
	cm->dev = dev;
	atomic_store(&cm->due, TCM_NEVER);
	dev->cm = cm;
	trd_lock();
	TAILQ_INSERT_TAIL(&trd_cms, cm, next);
	trd_unlock();
	return 0;
}

/* The ids of a port learn that it is gone; those that listen on all ports stay. */
static void
remove_ids(struct tp_roce_cm *cm)
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
tp_roce_cm_tidy(struct tp_roce_dev *dev)
{
	struct tp_roce_cm *cm = dev->cm;

	trd_lock();
	if (cm->pd != NULL && cm->pd_users == 0 && tp_roce_dealloc_pd(cm->pd) == 0)
		cm->pd = NULL;
	trd_unlock();
}

void
tp_roce_cm_fini(struct tp_roce_dev *dev)
{
	struct tp_roce_cm *cm = dev->cm;

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

void
tp_roce_cm_port_event(struct tp_roce_dev *dev, enum ibv_event_type type)
{
	if (dev->cm != NULL)
		atomic_fetch_or(&dev->cm->port_events, 1u << type);
}

/* An id whose device has failed can do no more; its application gives everything back and closes the port. */
static void
port_events(struct tp_roce_cm *cm, uint32_t events)
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

unsigned int
tp_roce_cm_progress(struct tp_roce_dev *dev, uint64_t now_ns)
{
	struct tp_roce_cm *cm = dev->cm;
	unsigned int done;
	uint32_t events;

	if (likely(now_ns < atomic_load_explicit(&cm->due, memory_order_relaxed) &&
		   atomic_load_explicit(&cm->port_events, memory_order_relaxed) == 0))
		return 0;
	trd_lock();
	events = atomic_exchange(&cm->port_events, 0);
	done = tcm_run(trd_core(dev));
	if (events != 0)
		port_events(cm, events);
	if (cm->resolving != 0)
		trd_resolve_run(cm, now_ns);
	trd_unlock();
	return done;
}

void
tp_roce_cm_stats(struct tp_roce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct tp_roce_cm *cm = dev->cm;
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
