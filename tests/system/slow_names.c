/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Preloaded: a thread gets its name late, as when the one that makes it waits for a CPU. What it names must be there still. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#define LATE_US 200000

int pthread_setname_np(pthread_t thread, const char *name);

int
pthread_setname_np(pthread_t thread, const char *name)
{
	int (*next)(pthread_t, const char *) = (int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");

	if (next == NULL)
		return ENOSYS;
	(void)usleep(LATE_US);
	return next(thread, name);
}
