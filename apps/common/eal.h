/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How our programs start the EAL. What the user gives on the command line wins; what he leaves open is chosen here: memory
 * (free 2 MiB hugepages, which need no mount, or else ordinary pages), a file prefix of the process's own where nothing is
 * shared, and CPUs that no other of our programs keeps busy.
 */
#ifndef APP_EAL_H
#define APP_EAL_H

#include <stdbool.h>

#define APP_EAL_TEXT 512

struct app_eal {
	const char *name;     /* of the program: its lines and its file prefix begin with it */
	unsigned int mem_mib; /* what it needs */
	/*
	 * How many lcores it keeps busy, the main one first. 0: the main one sleeps, and the program says by app_cpu_take()
	 * which of the others work.
	 */
	unsigned int busy;
};

/*
 * argv holds the EAL's arguments alone, without "--". Says in a line on stderr which memory was chosen.
 * @return 0 or a negative errno, error then says why the EAL does not start and what helps.
 */
int app_eal_start(const struct app_eal *app, int argc, char **argv, char error[APP_EAL_TEXT]);
/*
 * The opposite, before the process ends. EAL's interrupt thread stands still from here on: rte_eal_cleanup() takes the memory away in
 * which that thread looks for whom an event is, and net_memif's peers make events to the last.
 */
void app_eal_end(void);
/* Removes the process's folder of the EAL. exit() does it by itself; this is for _exit(). */
void app_eal_remove_folder(void);

/*
 * The CPU of an lcore becomes busy, or is no longer: other programs choose another one. When it was busy before, and this
 * program's CPUs were not chosen by the user, a line on stderr says so.
 */
void app_cpu_take(unsigned int lcore);
void app_cpu_give(unsigned int lcore);

#endif /* APP_EAL_H */
