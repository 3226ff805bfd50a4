/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's own thread. It spins while there is work and for a while after; then it sleeps, longer each time, up to
 * wake_max_us. What a sleeping card costs is one round per wake_max_us. A sleep is a part of the time since there was work, so that
 * work which comes again and again waits for such a part of its interval at most.
 */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include <sys/prctl.h>

#include <rte_pause.h>

#include "model/card/model_priv.h"

#define ROUND_BUDGET 128u
#define SPIN_NS 50000u
#define SLEEP_MIN_US 10u
#define SLEEP_PART 8u
#define SLEEP_WAITS_US 20u /* while a frame waits for its time, or for a buffer */
#define WAKE_MAX_US 1000000u

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *
thread_main(void *arg)
{
	struct tp_model *m = arg;
	uint64_t busy_ns = clock_ns(), idle_ns;
	uint32_t sleep_us, max_us;

	/* Else the kernel may add 50 us to every sleep. */
	prctl(PR_SET_TIMERSLACK, 1000);
	while (!atomic_load_explicit(&m->thread_stop, memory_order_acquire)) {
		struct timespec ts = {0};

		if (tp_model_step(m, ROUND_BUDGET) != 0) {
			busy_ns = 0;
			continue;
		}
		if (busy_ns == 0)
			busy_ns = clock_ns();
		idle_ns = clock_ns() - busy_ns;
		if (idle_ns < SPIN_NS) {
			rte_pause();
			continue;
		}
		max_us = m->waits && m->wake_max_us > SLEEP_WAITS_US ? SLEEP_WAITS_US : m->wake_max_us;
		idle_ns = RTE_MIN(idle_ns / SLEEP_PART / 1000, (uint64_t)max_us);
		sleep_us = RTE_MIN(RTE_MAX((uint32_t)idle_ns, SLEEP_MIN_US), max_us);
		ts.tv_sec = sleep_us / 1000000;
		ts.tv_nsec = (long)(sleep_us % 1000000) * 1000;
		m->st.sleeps++;
		nanosleep(&ts, NULL);
	}
	return NULL;
}

int
tp_model_thread_start(struct tp_model *m, int cpu, uint32_t wake_max_us)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int rc;

	if (wake_max_us < 1 || wake_max_us > WAKE_MAX_US || cpu >= CPU_SETSIZE || cpu < -1)
		return -EINVAL;
	if (atomic_exchange(&m->thread_on, true))
		return -EBUSY;
	m->wake_max_us = wake_max_us;
	atomic_store(&m->thread_stop, false);
	rc = pthread_attr_init(&attr);
	if (rc != 0)
		goto err_on;
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		rc = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	if (rc == 0)
		rc = pthread_create(&m->thread, &attr, thread_main, m);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return 0;
err_on:
	atomic_store(&m->thread_on, false);
	return -rc;
}

void
tp_model_thread_stop(struct tp_model *m)
{
	if (!atomic_load(&m->thread_on))
		return;
	atomic_store(&m->thread_stop, true);
	pthread_join(m->thread, NULL);
	atomic_store(&m->thread_on, false);
}
