/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The datapath's snapshot changes hands: who replaces it waits for the bursts that have the old one, and for no others. */
#include <sched.h>
#include <stdlib.h>

#include <rte_eal.h>

#include "link_rig.h"
#include "lib/ipoib/port/port.h"

int ipoib_logtype;

static struct ipoib_port port;
static struct ipoib_rxq rxq[2];
static struct ipoib_txq txq[2];
static unsigned int destroyed;

int
tp_roce_destroy_ah(struct ibv_ah *ah)
{
	assert_non_null(ah);
	destroyed++;
	return 0;
}

static struct rig rig; /* what runs DPDK's clock */

static int
begin(void **state)
{
	(void)state;
	rig_open(&rig);
	assert_int_equal(ipoib_turns_init(), 0);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static int
setup(void **state)
{
	unsigned int i;

	(void)state;
	memset(&port, 0, sizeof(port));
	memset(rxq, 0, sizeof(rxq));
	memset(txq, 0, sizeof(txq));
	/* At the ends of the tables, as of a port with all queues. */
	for (i = 0; i < 2; i++) {
		port.rxq[i * (IPOIB_QUEUES - 1)] = &rxq[i];
		port.txq[i * (IPOIB_QUEUES - 1)] = &txq[i];
	}
	return 0;
}

static struct ipoib_view *next;
static _Atomic bool published;
static _Atomic int tid; /* of who publishes */

/* The burst ends only after the other thread was seen asleep in its wait, so it cannot have passed by. */
static bool
is_asleep(void)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

static void *
publish(void *arg)
{
	(void)arg;
	tid = rte_sys_gettid();
	ipoib_publish(&port, next);
	published = true;
	return NULL;
}

static void
waits_for(struct ipoib_turn *turn)
{
	pthread_t thread;
	unsigned int seen = 0;

	next = calloc(1, sizeof(*next));
	assert_non_null(next);
	published = false;
	tid = 0;
	ipoib_turn_begin(turn);
	assert_int_equal(pthread_create(&thread, NULL, publish, NULL), 0);
	while (tid == 0)
		sched_yield();
	/* Its wait is a series of short sleeps, nothing else there sleeps. */
	while (seen < 20 && !published)
		seen += is_asleep();
	assert_false(published);
	/* Bursts that begin from now on have the new one. */
	assert_ptr_equal(ipoib_view_now(&port), next);
	ipoib_turn_end(turn);
	/* The queue may begin its next one at once: that has the new snapshot already. */
	ipoib_turn_begin(turn);
	pthread_join(thread, NULL);
	assert_true(published);
	ipoib_turn_end(turn);
}

static void
test_waits(void **state)
{
	(void)state;
	waits_for(&rxq[0].turn);
	waits_for(&rxq[1].turn);
	waits_for(&txq[0].turn);
	waits_for(&txq[1].turn);
	ipoib_publish(&port, NULL);
	assert_null(ipoib_view_now(&port));
}

/* What bursts might have looked at goes, handles and memory. */
static void
test_retired(void **state)
{
	struct ipoib_retired *r;
	struct ibv_ah ah;
	unsigned int i;

	(void)state;
	destroyed = 0;
	for (i = 0; i < 3; i++) {
		r = calloc(1, sizeof(*r));
		assert_non_null(r);
		if (i == 1)
			r->memory = malloc(16);
		else
			r->ah = &ah;
		r->next = port.retired;
		port.retired = r;
	}
	ipoib_retired_free(&port);
	assert_null(port.retired);
	assert_int_equal(destroyed, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_waits, setup),
		cmocka_unit_test_setup(test_retired, setup),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
