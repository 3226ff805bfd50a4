/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The lock over all connection management, and what is sent when it is given back.
 *
 * The core's datagrams are queued and sent after the lock is given back: a home may hand a datagram to the port's own
 * address straight back.
 */
#include <string.h>
#include <time.h>

#include <rte_byteorder.h>

#include "rdma_priv.h"

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
trd_core(struct troce_dev *dev)
{
	uint64_t now = troce_now_ns(dev);
	struct tcm *core = &dev->cm->core;

	/* Threads may read the time in one order and come here in another. */
	if (now > core->now)
		tcm_clock(core, now);
	return core;
}

/* --- out -------------------------------------------------------------------------------------------------------- */

static void
plan(struct troce_cm *cm)
{
	uint64_t due = tcm_deadline(&cm->core);

	if (cm->resolving != 0)
		due = RTE_MIN(due, cm->core.now + RESOLVE_NS);
	if (cm->out_num != 0)
		due = 0;
	atomic_store_explicit(&cm->side->due, due, memory_order_relaxed);
}

void
trd_send(struct troce_cm *cm, const struct troce_mad *mad)
{
	if (cm->out_num == TRD_OUT || (cm->dev->ib == NULL && cm->dev->prov->mad_send == NULL)) {
		cm->out_lost++;
		return;
	}
	cm->out[(cm->out_head + cm->out_num++) % TRD_OUT] = *mad;
}

/* A datagram with LIDs. 0 or a positive errno, as troce_provider.packet_send. */
static int
ib_send(struct troce_dev *dev, const struct troce_mad *mad)
{
	const struct troce_path *p = &mad->path;
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

/* One datagram of the queue; the lock is given back meanwhile. false: there is none, or no room for it now: it waits, if it can. */
static bool
send_one(struct troce_cm *cm)
{
	struct troce_dev *dev = cm->dev;
	struct troce_mad mad;
	int err;

	if (cm->out_num == 0)
		return false;
	mad = cm->out[cm->out_head];
	cm->out_head = (cm->out_head + 1) % TRD_OUT;
	cm->out_num--;
	cm->sending++;
	pthread_mutex_unlock(&lock);
	err = dev->ib != NULL ? ib_send(dev, &mad) : dev->prov->mad_send(dev, &mad);
	pthread_mutex_lock(&lock);
	cm->sending--;
	if (err == 0)
		return true;
	if (err != EAGAIN || cm->out_num == TRD_OUT) {
		cm->out_lost++;
		return true;
	}
	cm->out_head = (cm->out_head + TRD_OUT - 1) % TRD_OUT;
	cm->out[cm->out_head] = mad;
	cm->out_num++;
	return false;
}

void
trd_unlock(void)
{
	struct troce_cm *cm;

	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		while (send_one(cm))
			;
		plan(cm);
	}
	pthread_mutex_unlock(&lock);
}
