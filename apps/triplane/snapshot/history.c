/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>

#include <tp_ipoib.h>

#include "history.h"
#include "rte_pmd_mlx4_queue.h"

#define EVERY_S 1

struct ring {
	unsigned int next, num;
	struct history_point point[HISTORY_POINTS];
};

static struct ring *rings[RTE_MAX_ETHPORTS]; /* those that history_look() made; who has control uses them */
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static bool runs, ends;

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* False: it cannot be told. */
static bool
read_port(uint16_t port, struct history_point *h)
{
	struct rte_pmd_mlx4_totals t;
	struct tp_ipoib_totals ipoib;
	struct rte_eth_stats st;
	int ret = rte_pmd_mlx4_queue_totals_get(port, &t);

	if (ret == 0) {
		*h = (struct history_point){0, t.rx_packets, t.tx_packets, t.rx_bytes, t.tx_bytes};
		return true;
	}
	if (tp_ipoib_totals_get(port, &ipoib) == 0) {
		*h = (struct history_point){0, ipoib.rx_packets, ipoib.tx_packets, ipoib.rx_bytes, ipoib.tx_bytes};
		return true;
	}
	if (rte_eth_stats_get(port, &st) != 0)
		return false;
	*h = (struct history_point){0, st.ipackets, st.opackets, st.ibytes, st.obytes};
	return true;
}

static void
add(uint16_t port)
{
	struct history_point h;
	struct ring *r;

	if (!read_port(port, &h))
		return;
	h.us = now_us();
	if (rings[port] == NULL)
		rings[port] = calloc(1, sizeof(*r));
	r = rings[port];
	if (r == NULL)
		return;
	r->point[r->next] = h;
	r->next = (r->next + 1) % HISTORY_POINTS;
	r->num += r->num < HISTORY_POINTS;
}

void
history_look(struct app *app)
{
	uint16_t i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		if (app->port[i].present) {
			add(i);
		} else {
			/* The next port of that number is another. */
			free(rings[i]);
			rings[i] = NULL;
		}
	}
}

unsigned int
history_get(uint16_t port, struct history_point out[HISTORY_POINTS])
{
	const struct ring *r = rings[port];
	unsigned int i, first;

	if (r == NULL)
		return 0;
	first = r->num < HISTORY_POINTS ? 0 : r->next;
	for (i = 0; i < r->num; i++)
		out[i] = r->point[(first + i) % HISTORY_POINTS];
	return r->num;
}

/* A command that is at work goes first: the look is left out then, or comes a second later. */
static void *
follow(void *arg)
{
	struct timespec next;

	pthread_setname_np(pthread_self(), "history");
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&lock);
	while (!ends) {
		next.tv_sec += EVERY_S;
		while (!ends && pthread_cond_timedwait(&wake, &lock, &next) != ETIMEDOUT)
			;
		if (ends)
			break;
		pthread_mutex_unlock(&lock);
		if (app_control_ask(0)) {
			history_look(arg);
			app_control_give();
		}
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Without it the plots are empty, and nothing else. */
void
history_start(struct app *app)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &attr);
	pthread_condattr_destroy(&attr);
	runs = pthread_create(&thread, NULL, follow, app) == 0;
}

void
history_stop(void)
{
	unsigned int i;

	if (runs) {
		pthread_mutex_lock(&lock);
		ends = true;
		pthread_cond_signal(&wake);
		pthread_mutex_unlock(&lock);
		pthread_join(thread, NULL);
		runs = false;
	}
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		free(rings[i]);
		rings[i] = NULL;
	}
}
