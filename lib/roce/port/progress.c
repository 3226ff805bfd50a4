/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The work of a port in the background. */
#include <errno.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "front.h"

#define BURST 32u
#define LOOK_US 200u

/* What is left of packets when transport and sides have taken theirs. */
static inline uint16_t
sift(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	if (dev->prov->input != NULL)
		n = dev->prov->input(dev, pkts, n);
	for (const struct troce_side *s = dev->side; s < dev->side + TROCE_SIDES && n != 0; s++) {
		if (s->ops->input != NULL)
			n = s->ops->input(dev, pkts, n, now_ns);
	}
	return n;
}

/* The same of a burst that was just received. */
static inline uint16_t
take(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	if (dev->prov->capture == NULL)
		troce_capture_burst(dev, pkts, n, false);
	return sift(dev, pkts, n, now_ns);
}

static void
leave(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n)
{
	if (dev->conf.rest != NULL) {
		dev->conf.rest(dev->conf.rest_arg, pkts, n);
	} else {
		dev->rest_freed += n;
		rte_pktmbuf_free_bulk(pkts, n);
	}
}

/* What the other lanes received and is the port's, or nobody's. full_polls: before this poll. */
static unsigned int
receive_passed(struct troce_dev *dev, uint64_t now_ns, uint32_t full_polls)
{
	struct rte_mbuf *pkts[BURST];
	unsigned int done = 0;
	bool full = false;

	for (uint16_t from = 1; from < dev->conf.lanes; from++) {
		uint16_t n = dev->prov->passed(dev, from, pkts, BURST), left;

		done += n;
		full = full || n == BURST;
		left = n == 0 ? 0 : sift(dev, pkts, n, now_ns);
		if (left != 0)
			leave(dev, pkts, left);
	}
	if (full)
		dev->full_polls = full_polls + 1;
	return done;
}

static unsigned int
receive(struct troce_dev *dev, uint64_t now_ns)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(dev->port_id, dev->conf.rx_queue, pkts, BURST), left;
	uint32_t was = dev->full_polls;

	dev->full_polls = n < BURST ? 0 : dev->full_polls + 1;
	left = n == 0 ? 0 : take(dev, pkts, n, now_ns);
	if (left != 0)
		leave(dev, pkts, left);
	return unlikely(dev->conf.lanes > 1) ? n + receive_passed(dev, now_ns, was) : n;
}

static unsigned int
sides_progress(struct troce_dev *dev, uint64_t now_ns)
{
	unsigned int done = 0;

	for (struct troce_side *s = dev->side; s < dev->side + TROCE_SIDES; s++) {
		if (unlikely(now_ns >= atomic_load_explicit(&s->due, memory_order_relaxed) ||
			     atomic_load_explicit(&s->woken, memory_order_acquire) != 0))
			done += s->ops->progress(dev, now_ns);
	}
	return done;
}

static unsigned int
work(struct troce_dev *dev)
{
	uint64_t now_ns = troce_now_ns(dev);
	unsigned int done = 0;

	atomic_store_explicit(&dev->worker, pthread_self(), memory_order_relaxed);
	if (!dev->conf.app_rx && dev->ib == NULL)
		done += receive(dev, now_ns);
	if (dev->prov->progress != NULL)
		done += dev->prov->progress(dev);
	done += sides_progress(dev, now_ns);
	atomic_store_explicit(&dev->worker, 0, memory_order_relaxed);
	return done;
}

/* The calling thread becomes the port's. A control call that drives the port meanwhile finishes its step first. */
static void
claim(struct troce_dev *dev)
{
	pthread_mutex_lock(&dev->drive);
	atomic_store(&dev->thread, pthread_self());
	pthread_mutex_unlock(&dev->drive);
}

unsigned int
tp_roce_progress(struct ibv_context *ctx)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	if (unlikely(!troce_on_thread(dev)))
		claim(dev);
	return work(dev);
}

static void
claim_lane(struct troce_dev *dev, uint16_t lane)
{
	pthread_mutex_lock(&dev->drive);
	atomic_store(&dev->lane_thread[lane], pthread_self());
	pthread_mutex_unlock(&dev->drive);
}

unsigned int
tp_roce_progress_lane(struct ibv_context *ctx, uint16_t lane)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	if (lane == 0)
		return tp_roce_progress(ctx);
	if (unlikely(lane >= dev->conf.lanes))
		return 0;
	if (unlikely(atomic_load_explicit(&dev->lane_thread[lane], memory_order_relaxed) != pthread_self()))
		claim_lane(dev, lane);
	return dev->prov->lane_progress(dev, lane);
}

uint16_t
tp_roce_input(struct ibv_context *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	if (unlikely(dev->ib != NULL))
		return n; /* its packets are no frames */
	if (unlikely(!troce_on_thread(dev)))
		claim(dev);
	return take(dev, pkts, n, troce_now_ns(dev));
}

/* The calling thread was called by the port's work. */
static bool
inside(const struct troce_dev *dev)
{
	return atomic_load_explicit(&dev->worker, memory_order_relaxed) == pthread_self();
}

/* One step of a port that has no thread. false: it has one, or another call drives it. */
static bool
drive(struct troce_dev *dev)
{
	bool alone;

	if (pthread_mutex_trylock(&dev->drive) != 0)
		return false;
	alone = atomic_load(&dev->thread) == 0;
	if (alone)
		work(dev);
	pthread_mutex_unlock(&dev->drive);
	return alone;
}

/* Lanes of this thread; 0: of none. */
static void
lanes_of(struct troce_dev *dev, pthread_t thread)
{
	for (uint16_t i = 1; i < dev->conf.lanes; i++)
		if (atomic_load(&dev->lane_thread[i]) == thread)
			dev->prov->lane_progress(dev, i);
}

/* What is waited for may come to any lane: those that nobody else polls are looked at, too. */
static void
step_lanes(struct troce_dev *dev)
{
	lanes_of(dev, pthread_self());
	if (pthread_mutex_trylock(&dev->drive) != 0)
		return;
	lanes_of(dev, 0);
	pthread_mutex_unlock(&dev->drive);
}

/* One step of a port if it is the caller's to poll, or nobody's. */
static bool
step(struct troce_dev *dev)
{
	bool done = true;

	if (dev->conf.app_rx || inside(dev))
		return false;
	if (troce_on_thread(dev))
		work(dev);
	else
		done = drive(dev);
	if (dev->conf.lanes > 1)
		step_lanes(dev);
	return done;
}

/* The peer that is asked may be another port of this process, which the calling thread polls as well. */
static void
step_other(struct troce_dev *dev, void *waits)
{
	if (dev != waits)
		step(dev);
}

bool
troce_needs_work(const struct troce_dev *dev)
{
	return troce_on_thread(dev) || atomic_load(&dev->thread) == 0;
}

int
troce_let_work(struct troce_dev *dev)
{
	if (inside(dev) || (dev->conf.app_rx && troce_on_thread(dev)))
		return EAGAIN;
	if (!step(dev))
		usleep(LOOK_US);
	troce_open_each(step_other, dev);
	return 0;
}
