/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The card's lock: one holder, served in the order of asking; who waits long sleeps and is woken. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "model/card/model_priv.h"

#define WAIT_S 60
#define THREADS 4u
#define ROUNDS 20000u

static struct tpm_lock lock;
static unsigned int order[THREADS], served, sum;
static atomic_uint inside;

static void
join(pthread_t t)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_S;
	/* One that nobody wakes would wait for ever. */
	if (pthread_timedjoin_np(t, NULL, &end) != 0)
		fail_msg("a thread that waits for the lock was not woken");
}

static void *
queue_up(void *arg)
{
	tpm_lock(&lock);
	order[served++] = (unsigned int)(uintptr_t)arg;
	tpm_unlock(&lock);
	return NULL;
}

static void
sleepers_are_woken_in_order(void **state)
{
	pthread_t t[THREADS];
	time_t end = time(NULL) + WAIT_S;

	(void)state;
	lock = (struct tpm_lock){0};
	served = 0;
	tpm_lock(&lock);
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&t[i], NULL, queue_up, (void *)(uintptr_t)i), 0);
		/* It has asked, and it sleeps. */
		while (atomic_load(&lock.sleepers) != i + 1) {
			assert_true(time(NULL) < end);
			usleep(1000);
		}
		assert_int_equal(atomic_load(&lock.next), i + 2);
	}
	assert_int_equal(served, 0);
	tpm_unlock(&lock);
	for (unsigned int i = 0; i < THREADS; i++)
		join(t[i]);
	assert_int_equal(served, THREADS);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(atomic_load(&lock.sleepers), 0);
	assert_int_equal(atomic_load(&lock.owner), atomic_load(&lock.next));
	/* Free again. */
	tpm_lock(&lock);
	tpm_unlock(&lock);
}

static void *
add_up(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		tpm_lock(&lock);
		if (atomic_fetch_add(&inside, 1) != 0)
			sum += 1u << 30; /* two at a time */
		sum++;
		atomic_fetch_sub(&inside, 1);
		tpm_unlock(&lock);
	}
	return arg;
}

static void
one_holder_at_a_time(void **state)
{
	pthread_t t[2];

	(void)state;
	/* Tickets go on over the end of their numbers. */
	lock = (struct tpm_lock){0};
	atomic_store(&lock.next, UINT32_MAX - ROUNDS);
	atomic_store(&lock.owner, UINT32_MAX - ROUNDS);
	sum = 0;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, add_up, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		join(t[i]);
	assert_int_equal(sum, 2 * ROUNDS);
	assert_int_equal(atomic_load(&lock.sleepers), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleepers_are_woken_in_order),
		cmocka_unit_test(one_holder_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
