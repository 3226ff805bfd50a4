/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is added to the EAL's arguments: decided from the arguments and from facts of the machine, without touching it. */
#ifndef APP_EAL_CHOOSE_H
#define APP_EAL_CHOOSE_H

#include <stdbool.h>

#include "eal.h"

#define CHOOSE_WORDS 8
#define CHOOSE_WORD 1024
#define CHOOSE_CPUS 1024
#define CHOOSE_BUSY 32

/* What the user's arguments leave open. */
struct given {
	bool mode; /* which memory: --no-huge, --in-memory, --huge-dir and their like, or another process's */
	bool no_huge;
	bool in_memory;
	bool unshared; /* that memory is the process's own */
	bool primary;  /* its kind of process is named, so it shares */
	bool prefix;   /* --file-prefix */
	bool no_shconf;
	bool cpus;        /* any option that names lcores or CPUs */
	unsigned int mib; /* -m, 0: not given */
	const char *prefix_name;
};
void given_read(struct given *g, int argc, char **argv);

/* Of the machine. */
struct facts {
	bool pages; /* hugepages for as much memory as is needed are free, and this process may have them */
	bool mount; /* a hugetlbfs is mounted that this process may write */
	long pid;
	unsigned int num_cpus; /* that this process may use */
	int cpu[CHOOSE_CPUS];
	bool taken[CHOOSE_CPUS]; /* by another program that keeps it busy */
};

struct choice {
	unsigned int n;
	char word[CHOOSE_WORDS][CHOOSE_WORD];
	char memory[128]; /* one line for the user, "": nothing was chosen */
	bool no_huge;     /* ordinary pages were chosen */
	bool own_prefix;
	int cpu[CHOOSE_BUSY]; /* of the busy lcores, the main one's first */
	unsigned int num_cpus;
	int shared_cpu; /* one of them that another busy lcore has, too, -1: none */
};
/* @param mib what is needed at least */
void choose(const struct app_eal *app, const struct given *g, const struct facts *f, struct choice *c);

#endif /* APP_EAL_CHOOSE_H */
