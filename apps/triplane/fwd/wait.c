/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Lcores that wait for interrupts. One may sleep when none of its streams has anything else to do than to receive; it does when
 * all of them are to wait. Others may sleep for a fixed time when nothing has come for a while. Lcores that only poll never come
 * here.
 */
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_epoll.h>
#include <rte_ethdev.h>

#include "fwd.h"
#include "rte_pmd_mlx4_queue.h"

/* How late a sleeper may see that it is called. */
#define SLEEP_MS 20
/* Over what time a packet rate is measured. */
#define RATE_MS 50u
/* Rounds in a row without anything after which an lcore is idle: it goes on sleeping then until something comes. */
#define IDLE_ROUNDS 1000u

struct fwd_wait_queue {
	struct rxwait_conf conf;
	struct rxwait wait;
	uint64_t seen;            /* packets, at the last poll */
	uint64_t rate_tsc, rated; /* when its rate was last measured, and packets then */
	bool busy;                /* of adaptive moderation */
};

struct fwd_wait {
	struct fwd_wait_queue *queue; /* by stream */
	uint64_t rate_cycles;
};

bool
fwd_may_wait(const struct fwd_lcore *lc)
{
	unsigned int i;

	for (i = 0; i < lc->num; i++) {
		const struct fwd_stream *s = lc->stream[i];

		if (s->mode->control || s->mode->generates || !s->has_rx || s->reserve != NULL || !s->port->intr ||
		    __atomic_load_n(&s->port->wait.mode, __ATOMIC_RELAXED) == RXWAIT_POLLING)
			return false;
	}
	return lc->num != 0;
}

/* Cards without moderation interrupt at once. */
static void
moderate(const struct fwd_stream *s, const struct fwd_wait_queue *q)
{
	uint16_t count, us;

	rxmod_values(&q->conf, q->busy, &count, &us);
	(void)rte_pmd_mlx4_rx_moderation_set(s->rx_port, s->rx_queue, count, us);
}

static void
rate(struct fwd_wait *w, const struct fwd_stream *s, struct fwd_wait_queue *q)
{
	const uint64_t now = rte_rdtsc(), past = now - q->rate_tsc;
	bool busy;

	if (q->conf.profile != RXMOD_ADAPTIVE || past < w->rate_cycles)
		return;
	busy = rxmod_busy(&q->conf, q->busy,
			  (uint64_t)((double)(q->seen - q->rated) * (double)rte_get_tsc_hz() / (double)past));
	q->rate_tsc = now;
	q->rated = q->seen;
	if (busy == q->busy)
		return;
	q->busy = busy;
	moderate(s, q);
}

static int
watch(struct fwd_lcore *lc, unsigned int n, int op)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = rte_eth_dev_rx_intr_ctl_q(lc->stream[i]->rx_port, lc->stream[i]->rx_queue, RTE_EPOLL_PER_THREAD,
						op, NULL);
	if (ret != 0 && op == RTE_INTR_EVENT_ADD)
		watch(lc, i - 1, RTE_INTR_EVENT_DEL);
	return ret;
}

struct fwd_wait *
fwd_wait_begin(struct fwd_lcore *lc)
{
	struct fwd_wait *w = calloc(1, sizeof(*w));
	unsigned int i;

	if (w != NULL)
		w->queue = calloc(lc->num, sizeof(w->queue[0]));
	if (w == NULL || w->queue == NULL || watch(lc, lc->num, RTE_INTR_EVENT_ADD) != 0) {
		if (w != NULL)
			free(w->queue);
		free(w);
		return NULL;
	}
	w->rate_cycles = rte_get_tsc_hz() * RATE_MS / 1000;
	for (i = 0; i < lc->num; i++) {
		const struct fwd_stream *s = lc->stream[i];
		struct fwd_wait_queue *q = &w->queue[i];

		pthread_mutex_lock(lc->conf_lock);
		q->conf = s->port->wait;
		pthread_mutex_unlock(lc->conf_lock);
		q->seen = q->rated = stat_read(&s->stats.rx);
		q->rate_tsc = rte_rdtsc();
		moderate(s, q);
	}
	return w;
}

static void
sleep_now(struct fwd_lcore *lc)
{
	struct rte_epoll_event ev[16];
	unsigned int armed;
	int n = 0;

	for (armed = 0; armed < lc->num; armed++)
		if (rte_eth_dev_rx_intr_enable(lc->stream[armed]->rx_port, lc->stream[armed]->rx_queue) != 0)
			break;
	if (armed == lc->num) {
		stat_add(&lc->sleeps, 1);
		n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, ev, RTE_DIM(ev), SLEEP_MS);
	}
	if (n > 0)
		stat_add(&lc->wakes, 1);
	while (armed-- > 0)
		rte_eth_dev_rx_intr_disable(lc->stream[armed]->rx_port, lc->stream[armed]->rx_queue);
}

void
fwd_wait_round(struct fwd_lcore *lc, struct fwd_wait *w)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < lc->num; i++) {
		const uint64_t rx = stat_read(&lc->stream[i]->stats.rx);
		struct fwd_wait_queue *q = &w->queue[i];

		all &= rxwait_poll(&q->conf, &q->wait, (unsigned int)(rx - q->seen));
		q->seen = rx;
		rate(w, lc->stream[i], q);
	}
	if (all)
		sleep_now(lc);
}

void
fwd_wait_end(struct fwd_lcore *lc, struct fwd_wait *w)
{
	watch(lc, lc->num, RTE_INTR_EVENT_DEL);
	free(w->queue);
	free(w);
}

uint32_t
fwd_idle_us(const struct fwd_lcore *lc)
{
	unsigned int i;

	for (i = 0; i < lc->num; i++)
		if (lc->stream[i]->mode->generates)
			return 0;
	return __atomic_load_n(lc->idle_sleep, __ATOMIC_RELAXED);
}

void
fwd_idle_round(struct fwd_lcore *lc, uint32_t us, bool any, uint32_t *idle)
{
	if (any) {
		*idle = 0;
		return;
	}
	if (++*idle < IDLE_ROUNDS)
		return;
	*idle = IDLE_ROUNDS;
	stat_add(&lc->sleeps, 1);
	rte_delay_us_sleep(us);
}
