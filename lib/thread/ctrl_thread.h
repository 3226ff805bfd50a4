/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Threads on the CPUs that EAL has for control, in the words of the release of DPDK. */
#ifndef LIB_THREAD_CTRL_THREAD_H
#define LIB_THREAD_CTRL_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <rte_lcore.h>
#include <rte_thread.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
typedef uint32_t ctrl_thread_end;
#else
typedef void *ctrl_thread_end;
#endif

/* Returns 0 or a positive errno. The thread is joined by pthread_join(). */
static inline int
ctrl_thread_create(pthread_t *tid, const char *name, ctrl_thread_end (*run)(void *), void *arg)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	rte_thread_t t = {0};
	int err = abs(rte_thread_create_control(&t, name, run, arg));

	*tid = (pthread_t)t.opaque_id;
	return err;
#else
	return abs(rte_ctrl_thread_create(tid, name, NULL, run, arg));
#endif
}

#endif /* LIB_THREAD_CTRL_THREAD_H */
