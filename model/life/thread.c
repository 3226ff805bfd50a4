/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's own thread. It spins while there is work and for a while after; then it sleeps, longer each time, up to
 * wake_max_us. What a sleeping card costs is one round per wake_max_us. A sleep is a part of the time since there was work, so that
 * work which comes again and again waits for such a part of its interval at most.
 *
 * While software polls the card often (tp_model_poll), its polls run the card. The thread then stands back, and looks now and then
 * whether that goes on. Who stops polling says so by tp_model_wake, or the thread finds out by itself. Often is a few times in LOOK_US,
 * measured by the clock: a core that polls many cards comes to each of them rarely, and threads that took over beside it would take
 * the locks of its cards, so that it came more rarely still.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <rte_pause.h>

#include "life.h"

#define ROUND_BUDGET 128u
#define SPIN_NS 50000u
#define SLEEP_MIN_US 10u
#define SLEEP_PART 8u
#define SLEEP_WAITS_US 20u /* while a frame waits for its time, or for a buffer */
#define WAKE_MAX_US 1000000u
#define LOOK_US 1000u    /* how often a thread that stands back looks at the polls */
#define POLLS_ENOUGH 4u  /* so many of them since its last look: others run the card */
#define WATCH_US 100u    /* before a sleep as long as this, doorbells are made to end it */
#define LOOK_ROUNDS 256u /* rounds from one look at the clock to the next while it runs the card itself */

static uint64_t
clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What the thread knows of those who poll the card. */
struct pollers {
	unsigned int polls, wakes; /* seen at the last look */
	uint64_t look_ns;          /* when that was */
	unsigned int rounds;       /* since the clock was read */
	bool run;                  /* they run the card */
};

/* Do others run the card? */
static bool
others_run(struct tp_model *m, struct pollers *p)
{
	unsigned int polls = atomic_load_explicit(&m->polls, memory_order_relaxed);
	unsigned int wakes = atomic_load_explicit(&m->wakes, memory_order_acquire);
	bool woken = wakes != p->wakes, enough = !woken && polls - p->polls >= POLLS_ENOUGH;
	uint64_t now;

	if (!woken && !enough && !p->run && ++p->rounds < LOOK_ROUNDS)
		return false;
	now = clock_ns();
	p->rounds = 0;
	/* Polls that are too few so far go on to be counted. */
	if (woken || enough || p->run || now - p->look_ns >= LOOK_US * 1000u) {
		p->wakes = wakes;
		p->polls = polls;
		p->look_ns = now;
		p->run = enough;
	}
	return p->run;
}

/*
 * Sleeps until the time is over, somebody woke it since the pollers were looked at, or a doorbell is rung. True: it was woken. Before
 * doorbells are watched it does not sleep, since the card has to look once more then.
 */
static bool
nap(struct tp_model *m, const struct pollers *p, uint32_t us, bool watch)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
	struct pollfd fds[2] = {{.fd = m->wake_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	uint64_t count;
	const bool deep = watch && us >= WATCH_US;
	int n = 1;

	if (deep && tpm_watch_arm(m))
		return false;
	fds[1].fd = atomic_load(&m->watch.on) ? m->watch.fd : -1;
	atomic_store(&m->thread_deep, deep);
	atomic_store(&m->thread_nap, true);
	if (atomic_load(&m->wakes) == p->wakes)
		n = ppoll(fds, 2, &ts, NULL);
	atomic_store(&m->thread_nap, false);
	atomic_store(&m->thread_deep, false);
	if (n > 0 && fds[0].revents != 0 && read(m->wake_fd, &count, sizeof(count)) < 0)
		return true;
	if (n > 0 && fds[1].revents != 0)
		tpm_watch_take(m);
	return n > 0;
}

void
tp_model_wake(struct tp_model *m)
{
	const uint64_t one = 1;

	/* Either this one sees that the thread naps, or the thread sees that the number is another one. */
	atomic_fetch_add(&m->wakes, 1);
	if (atomic_load(&m->thread_nap) && write(m->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is woken already */
}

/* A look that comes too early, before the thread sleeps, leaves it to the doorbell to wake it. */
void
tp_model_rouse(struct tp_model *m)
{
	if (tpm_likely(!atomic_load_explicit(&m->thread_deep, memory_order_relaxed)) ||
	    !atomic_exchange(&m->thread_deep, false))
		return;
	tp_model_wake(m);
	/* While the thread gets a CPU: the doorbell then need not wait for it. */
	if (tpm_watch_disarm(m) && atomic_load(&m->watch.on))
		atomic_fetch_add_explicit(&m->watch.wakes, 1, memory_order_relaxed);
}

static void *
thread_main(void *arg)
{
	struct tp_model *m = arg;
	uint64_t busy_ns = clock_ns(), idle_ns;
	uint32_t sleep_us, max_us;
	struct pollers p = {.wakes = atomic_load(&m->wakes)};

	/* Else the kernel may add 50 us to every sleep. */
	prctl(PR_SET_TIMERSLACK, 1000);
	prctl(PR_SET_NAME, "mlx4-model");
	while (!atomic_load_explicit(&m->thread_stop, memory_order_acquire)) {
		if (others_run(m, &p)) {
			tpm_watch_disarm(m);
			nap(m, &p, RTE_MIN(m->wake_max_us, LOOK_US), false);
			busy_ns = 0;
			continue;
		}
		if (tp_model_step(m, ROUND_BUDGET) != 0) {
			tpm_watch_disarm(m);
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
		m->st.sleeps++;
		p.rounds = LOOK_ROUNDS;
		/* The store that woke it, or is about to come, is not there yet. */
		if (nap(m, &p, sleep_us, true))
			busy_ns = 0;
	}
	tpm_watch_disarm(m);
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
	if (m->wake_fd < 0)
		m->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = m->wake_fd < 0 ? errno : pthread_attr_init(&attr);
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
	tp_model_wake(m);
	pthread_join(m->thread, NULL);
	atomic_store(&m->thread_on, false);
}
