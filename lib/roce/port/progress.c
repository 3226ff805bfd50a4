/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The work of a port in the background, and waiting for what only that work brings. */
#include <errno.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "cm.h"
#include "front.h"

#define BURST 32u
#define WAIT_NS (3ull * 1000 * 1000 * 1000)
#define LOOK_US 200u

/* What is left of a burst when transport and addresses have taken theirs. */
static inline uint16_t
take(struct tp_roce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	if (dev->prov->capture == NULL)
		tp_roce_capture_burst(dev, pkts, n, false);
	if (dev->prov->input != NULL)
		n = dev->prov->input(dev, pkts, n);
	if (n != 0)
		n = tp_roce_net_input(dev, pkts, n, now_ns);
	return n;
}

static unsigned int
receive(struct tp_roce_dev *dev, uint64_t now_ns)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(dev->port_id, dev->conf.rx_queue, pkts, BURST), left;

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
work(struct tp_roce_dev *dev)
{
	uint64_t now_ns = tp_roce_now_ns(dev);
	unsigned int done = 0;

	atomic_store_explicit(&dev->worker, pthread_self(), memory_order_relaxed);
	if (!dev->conf.app_rx && dev->ib == NULL)
		done += receive(dev, now_ns);
	if (dev->prov->progress != NULL)
		done += dev->prov->progress(dev);
	if (dev->ib == NULL)
		done += tp_roce_net_progress(dev, now_ns);
	done += tp_roce_cm_progress(dev, now_ns);
	atomic_store_explicit(&dev->worker, 0, memory_order_relaxed);
	return done;
}

/* The calling thread becomes the port's. A control call that drives the port meanwhile finishes its step first. */
static void
claim(struct tp_roce_dev *dev)
{
	pthread_mutex_lock(&dev->drive);
	atomic_store(&dev->thread, pthread_self());
	pthread_mutex_unlock(&dev->drive);
}

unsigned int
tp_roce_progress(struct ibv_context *ctx)
{
	struct tp_roce_dev *dev = tp_roce_dev_of(ctx);

	if (unlikely(!tp_roce_on_thread(dev)))
		claim(dev);
	return work(dev);
}

uint16_t
tp_roce_input(struct ibv_context *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct tp_roce_dev *dev = tp_roce_dev_of(ctx);

	if (unlikely(dev->ib != NULL))
		return n; /* its packets are no frames */
	if (unlikely(!tp_roce_on_thread(dev)))
		claim(dev);
	return take(dev, pkts, n, tp_roce_now_ns(dev));
}

/* The calling thread was called by the port's work. */
static bool
inside(const struct tp_roce_dev *dev)
{
	return atomic_load_explicit(&dev->worker, memory_order_relaxed) == pthread_self();
}

/* One step of a port that has no thread. false: it has one, or another call drives it. */
static bool
drive(struct tp_roce_dev *dev)
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
step(struct tp_roce_dev *dev)
{
	if (dev->conf.app_rx || inside(dev))
		return false;
	if (!tp_roce_on_thread(dev))
		return drive(dev);
	work(dev);
	return true;
}

/* The peer that is asked may be another port of this process, which the calling thread polls as well. */
static void
step_other(struct tp_roce_dev *dev, void *waits)
{
	if (dev != waits)
		step(dev);
}

bool
tp_roce_needs_work(const struct tp_roce_dev *dev)
{
	return tp_roce_on_thread(dev) || atomic_load(&dev->thread) == 0;
}

int
tp_roce_let_work(struct tp_roce_dev *dev)
{
	if (inside(dev) || (dev->conf.app_rx && tp_roce_on_thread(dev)))
		return EAGAIN;
	if (!step(dev))
		usleep(LOOK_US);
	tp_roce_open_each(step_other, dev);
	return 0;
}

int
tp_roce_path_wait(struct tp_roce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport, struct tp_roce_path *path)
{
	uint64_t until = tp_roce_now_ns(dev) + WAIT_NS;

	if (dev->ib != NULL)
		return tp_roce_ib_path(dev, av, path);
	for (;;) {
		int err = tp_roce_path_resolve(dev, av, sport, path);

		if (err != EINPROGRESS)
			return err;
		if (tp_roce_let_work(dev) != 0)
			return TP_ROCE_REFUSE(dev, EAGAIN,
					      "the destination is being asked for its MAC; call again when the port "
					      "has received more");
		if (tp_roce_now_ns(dev) >= until)
			return TP_ROCE_REFUSE(dev, EHOSTUNREACH,
					      "no answer about the destination within 3 s; does a thread call "
					      "tp_roce_progress()?");
	}
}
