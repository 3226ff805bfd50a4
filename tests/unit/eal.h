/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef TESTS_UNIT_EAL_H
#define TESTS_UNIT_EAL_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

/*
 * What --lcores takes for "0", on one of the CPUs that this process may use, or for several such as "(0-2)", on any of them. Test
 * programs run side by side: if each had its lcore 0 on CPU 0, they would wait for that one while the others idle.
 */
static inline char *
unit_lcores(const char *lcores)
{
	static char text[16 + 5 * CPU_SETSIZE];
	const bool one = strcmp(lcores, "0") == 0;
	unsigned int count, skip;
	cpu_set_t cpus;
	size_t len;
	char next = '(';

	len = (size_t)snprintf(text, sizeof(text), "%.14s@", lcores);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return NULL;
	count = (unsigned int)CPU_COUNT(&cpus);
	skip = one ? (unsigned int)getpid() % count : 0;
	for (unsigned int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &cpus) || (skip != 0 && skip-- != 0))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%u", next, i);
		next = ',';
		if (one)
			break;
	}
	snprintf(text + len, sizeof(text) - len, ")");
	return text;
}

/* The EAL without hugepages and devices, in so many megabytes. more: an argument, or NULL. Below 0 where it does not start. */
static inline int
unit_eal(const char *name, const char *megabytes, const char *more)
{
	const char *const words[] = {
		name,       "--no-huge",      "-m", megabytes, "--no-shconf", "--no-telemetry", "--no-pci",
		"--lcores", unit_lcores("0"), more};
	char *argv[sizeof(words) / sizeof(words[0])];

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		argv[i] = (char *)(uintptr_t)words[i];
	return rte_eal_init(more != NULL ? 10 : 9, argv);
}

#endif
