/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What this machine has for a program, asked and held. */
#ifndef APP_EAL_MACHINE_H
#define APP_EAL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether so much memory can be had in hugepages, of any size, now. */
bool machine_pages(unsigned int mib);
/* Where a hugetlbfs is mounted; *writable: for this process. false: nowhere. */
bool machine_mount(char *where, size_t len, bool *writable);

/* CPUs that this process may use and the EAL can name. @return how many */
unsigned int machine_cpus(int *cpu, unsigned int max);
/*
 * Makes a CPU this process's, until cpu_release() or its end. Programs of all users see it, in one network namespace.
 * @return false: another one has it
 */
bool cpu_claim(int cpu);
void cpu_release(int cpu);
/* Between these no other program looks which CPUs are free. */
int cpus_lock(void);
void cpus_unlock(int lock);

#endif /* APP_EAL_MACHINE_H */
