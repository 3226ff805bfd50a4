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

time_t
share_now_s(void)
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
	y->since = y->told = share_now_s();
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
	TROCE_LOG(ERR, "share: %" PRIu64 " more lines about what programs asked for were not said", n);
}

struct troce_talk
share_talk_begin(struct share_say *y)
{
	struct troce_talk begun = troce_talk;
	time_t now = share_now_s();

	pthread_mutex_lock(&y->lock);
	if (now > y->since) {
		y->room = (uint32_t)RTE_MIN((uint64_t)LINES, y->room + (uint64_t)(now - y->since) * LINES_A_SECOND);
		y->since = now;
	}
	troce_talk.hush = y->room == 0;
	pthread_mutex_unlock(&y->lock);
	return begun;
}

void
share_talk_end(struct share_say *y, struct troce_talk begun, bool refused)
{
	/* A refusal without a line is one that the log does not have, too. */
	unsigned int n = RTE_MAX(troce_talk.lines - begun.lines, (unsigned int)refused);
	bool said = !troce_talk.hush;

	troce_talk.hush = begun.hush;
	if (n == 0)
		return;
	pthread_mutex_lock(&y->lock);
	if (said) {
		y->room -= RTE_MIN(y->room, n);
	} else {
		y->unsaid += n;
		y->unsaid_ever += n;
	}
	summary(y, share_now_s());
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
