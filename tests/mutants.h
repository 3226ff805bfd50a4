/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The switch of mutants, which scripts/mutate.py includes into the sources that it changes. TP_MUTANT is the number of
 * the one that is on. TP_MUTANT_REACHED names a file in which each switch that is read sets a byte: children of a test
 * and tests that crash count, too, since the file is shared memory.
 */
#ifndef MUTANTS_H
#define MUTANTS_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A changed expression may look wrong in many ways, which is its purpose. */
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wmisleading-indentation"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wenum-compare"
#pragma GCC diagnostic ignored "-Wenum-conversion"
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wshift-count-overflow"
#pragma GCC diagnostic ignored "-Wshift-overflow"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wmemset-transposed-args"
#pragma GCC diagnostic ignored "-Wmemset-elt-size"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

/* Weak: each changed source has them, a program has one of each. */
__attribute__((weak)) unsigned int tp_mutant_on;
__attribute__((weak)) unsigned char *tp_mutant_reached;

__attribute__((constructor, used)) static void
tp_mutant_start(void)
{
	const char *on = getenv("TP_MUTANT"), *path = getenv("TP_MUTANT_REACHED");
	int fd = path != NULL && tp_mutant_reached == NULL ? open(path, O_RDWR) : -1;
	void *map;

	if (on != NULL)
		tp_mutant_on = (unsigned int)strtoul(on, NULL, 10);
	if (fd < 0)
		return;
	map = mmap(NULL, (size_t)lseek(fd, 0, SEEK_END), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		tp_mutant_reached = (unsigned char *)map;
}

static inline int
tp_mutant(unsigned int id)
{
	if (__builtin_expect(tp_mutant_reached != NULL, 0))
		tp_mutant_reached[id] = 1;
	return __builtin_expect(tp_mutant_on == id, 0);
}

#endif
