/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How much is said of what guests do wrong: so many lines at once, and then a few a second. Of the others there is a line that
 * says how many they were.
 */
#include <inttypes.h>
#include <time.h>

#include "share_priv.h"

#define LINES 100u /* at once */
#define LINES_A_SECOND 2u
#define SUMMARY_S 10

static time_t
now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

void
share_say_init(struct share_say *y)
{
	pthread_mutex_init(&y->lock, NULL);
	y->room = LINES;
	y->since = y->told = now_s();
}

bool
share_may_say(struct share_say *y)
{
	time_t now = now_s();
	bool may;

	pthread_mutex_lock(&y->lock);
	if (now > y->since) {
		y->room = (uint32_t)RTE_MIN((uint64_t)LINES, y->room + (uint64_t)(now - y->since) * LINES_A_SECOND);
		y->since = now;
	}
	may = y->room != 0;
	pthread_mutex_unlock(&y->lock);
	return may;
}

/* With the lock. */
static void
summary(struct share_say *y, time_t now)
{
	uint64_t n = y->unsaid;

	if (n == 0 || now - y->told < SUMMARY_S)
		return;
	y->told = now;
	y->unsaid = 0;
	TROCE_LOG(ERR, "share: %" PRIu64 " more refusals of what programs asked for were not said", n);
}

void
share_said(struct share_say *y, bool said)
{
	pthread_mutex_lock(&y->lock);
	if (said && y->room != 0)
		y->room--;
	if (!said) {
		y->unsaid++;
		y->unsaid_ever++;
	}
	summary(y, now_s());
	pthread_mutex_unlock(&y->lock);
}

void
share_say_end(struct share_say *y)
{
	pthread_mutex_lock(&y->lock);
	summary(y, y->told + SUMMARY_S);
	pthread_mutex_unlock(&y->lock);
	pthread_mutex_destroy(&y->lock);
}
