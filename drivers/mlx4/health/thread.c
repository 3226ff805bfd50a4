/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The thread that looks: one for all ports of the process, from the first to the last of them. It sleeps until a look is due. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "drivers/mlx4/qos/qos.h"
#include "health.h"

#define LOCK_NAP_NS 1000000L

static TAILQ_HEAD(, mlx4_health) ports = TAILQ_HEAD_INITIALIZER(ports);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the list, and all below; a look is made without it */
static pthread_cond_t changed;
static pthread_t thread;
static bool runs, ends;

/* The one that is due first; NULL: none is ever. */
static struct mlx4_health *
first_due(void)
{
	struct mlx4_health *h, *first = NULL;

	TAILQ_FOREACH(h, &ports, next)
	if (h->due_us != UINT64_MAX && (first == NULL || h->due_us < first->due_us))
		first = h;
	return first;
}

static void
wait_until(uint64_t us)
{
	struct timespec t = {.tv_sec = (time_t)(us / US_PER_S), .tv_nsec = (long)(us % US_PER_S) * 1000};

	pthread_cond_timedwait(&changed, &lock, &t);
}

static uint64_t
next_due(const struct mlx4_health *h)
{
	return h->conf.period_s == 0 ? UINT64_MAX : mlx4_now_us() + (uint64_t)h->conf.period_s * US_PER_S;
}

static void *
run(void *arg)
{
	struct mlx4_health *h;

	pthread_mutex_lock(&lock);
	while (!ends) {
		h = first_due();
		if (h == NULL) {
			pthread_cond_wait(&changed, &lock);
		} else if (h->due_us > mlx4_now_us()) {
			wait_until(h->due_us);
		} else {
			h->busy = true;
			pthread_mutex_unlock(&lock);
			mlx4_health_look(h->eth);
			pthread_mutex_lock(&lock);
			h->busy = false;
			h->due_us = next_due(h);
			pthread_cond_broadcast(&changed);
		}
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

/* On any CPU, since who calls may be bound to that of an lcore; signals are the application's. */
static int
make_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	cpu_set_t cpus;
	int cpu, rc = pthread_attr_init(&attr);

	if (rc != 0)
		return -rc;
	CPU_ZERO(&cpus);
	for (cpu = 0; cpu < CPU_SETSIZE && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &cpus);
	rc = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (rc == 0)
		rc = pthread_create(&thread, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		(void)pthread_setname_np(thread, "mlx4-health");
	return -rc;
}

static int
start(void)
{
	pthread_condattr_t attr;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
	ends = false;
	rc = make_thread();
	if (rc != 0)
		pthread_cond_destroy(&changed);
	return rc;
}

int
mlx4_health_join(struct mlx4_health *h)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (!runs)
		rc = start();
	if (rc == 0) {
		runs = true;
		h->due_us = next_due(h);
		TAILQ_INSERT_TAIL(&ports, h, next);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void
mlx4_health_leave(struct mlx4_health *h)
{
	bool last;

	pthread_mutex_lock(&lock);
	h->leaving = true;
	while (h->busy)
		pthread_cond_wait(&changed, &lock);
	TAILQ_REMOVE(&ports, h, next);
	last = TAILQ_EMPTY(&ports);
	ends |= last;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	/* Ports come and go by one thread: none joins meanwhile. */
	if (!last)
		return;
	pthread_join(thread, NULL);
	pthread_cond_destroy(&changed);
	runs = false;
}

void
mlx4_health_retime(struct mlx4_health *h)
{
	pthread_mutex_lock(&lock);
	if (runs) {
		h->due_us = next_due(h);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
}

bool
mlx4_health_lock(struct mlx4_health *h)
{
	static const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
	bool leaving;

	while (pthread_mutex_trylock(&h->eth->control) != 0) {
		pthread_mutex_lock(&lock);
		leaving = h->leaving;
		pthread_mutex_unlock(&lock);
		if (leaving)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}
