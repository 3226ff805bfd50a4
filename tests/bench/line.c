/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_line CPU CPU: how long a cache line takes from one core to the other. A thread on each CPU waits for the other's number in
 * one line and writes the next one. Prints nanoseconds one way, of the best batch: whoever loses its CPU spoils the others.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 200
#define ROUNDS 500u

static struct {
	_Alignas(128) atomic_uint word;
	_Alignas(128) int cpu[2];
} shared;

static int
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *
answer(void *arg)
{
	unsigned int n;

	if (pin(shared.cpu[1]) != 0)
		exit(1);
	for (n = 1; n < 2 * ROUNDS * BATCHES; n += 2) {
		while (atomic_load_explicit(&shared.word, memory_order_acquire) != n)
			;
		atomic_store_explicit(&shared.word, n + 1, memory_order_release);
	}
	return arg;
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
	unsigned int n = 0, batch;
	double best = 0;
	pthread_t t;

	if (argc != 3 || strcmp(argv[1], argv[2]) == 0) {
		fprintf(stderr, "usage: %s CPU CPU, two different ones\n", argv[0]);
		return 2;
	}
	shared.cpu[0] = atoi(argv[1]);
	shared.cpu[1] = atoi(argv[2]);
	if (pin(shared.cpu[0]) != 0 || pthread_create(&t, NULL, answer, NULL) != 0) {
		fprintf(stderr, "%s: cannot run on CPU %s\n", argv[0], argv[1]);
		return 1;
	}
	for (batch = 0; batch < BATCHES; batch++) {
		double from = now_ns(), took;
		unsigned int i;

		for (i = 0; i < ROUNDS; i++, n += 2) {
			atomic_store_explicit(&shared.word, n + 1, memory_order_release);
			while (atomic_load_explicit(&shared.word, memory_order_acquire) != n + 2)
				;
		}
		took = (now_ns() - from) / (2 * ROUNDS);
		if (best == 0 || took < best)
			best = took;
	}
	pthread_join(t, NULL);
	printf("line_ns %.1f\n", best);
	return 0;
}
