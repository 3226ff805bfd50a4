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

/* What is left of a burst when transport and sides have taken theirs. */
static inline uint16_t
take(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	if (dev->prov->capture == NULL)
		troce_capture_burst(dev, pkts, n, false);
	if (dev->prov->input != NULL)
		n = dev->prov->input(dev, pkts, n);
	for (const struct troce_side *s = dev->side; s < dev->side + TROCE_SIDES && n != 0; s++) {
		if (s->ops->input != NULL)
			n = s->ops->input(dev, pkts, n, now_ns);
	}
	return n;
}

static unsigned int
receive(struct troce_dev *dev, uint64_t now_ns)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(dev->port_id, dev->conf.rx_queue, pkts, BURST), left;

	dev->full_polls = n < BURST ? 0 : dev->full_polls + 1;
	if (n == 0)
		return 0;
	left = take(dev, pkts, n, now_ns);
	if (left == 0)
		return n;
	if (dev->conf.rest != NULL) {
		dev->conf.rest(dev->conf.rest_arg, pkts, left);
	} else {
		dev->rest_freed += left;
		rte_pktmbuf_free_bulk(pkts, left);
	}
	return n;
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

/* One step of a port if it is the caller's to poll, or nobody's. */
static bool
step(struct troce_dev *dev)
{
	if (dev->conf.app_rx || inside(dev))
		return false;
	if (!troce_on_thread(dev))
		return drive(dev);
	work(dev);
	return true;
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
