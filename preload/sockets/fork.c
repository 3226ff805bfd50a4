/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Processes begin and end. */
#include <stdlib.h>

#include "sockets.h"

/* Nobody is inside anything while memory is copied: locks from the outermost on. */
static void
prepare(void)
{
	file_each(file_leave);
	state_fork(FORK_PREPARE);
	ep_fork(FORK_PREPARE);
	if (net_now() != NULL)
		sock_net_lock(net_now());
	table_fork(FORK_PREPARE);
}

static void
parent(void)
{
	table_fork(FORK_PARENT);
	if (net_now() != NULL)
		sock_net_unlock(net_now());
	ep_fork(FORK_PARENT);
	state_fork(FORK_PARENT);
}

static void
child(void)
{
	table_fork(FORK_CHILD);
	ep_fork(FORK_CHILD);
	state_fork(FORK_CHILD);
}

static void __attribute__((constructor)) fork_init(void)
{
	(void)pthread_atfork(prepare, parent, child);
}

/* A child in its parent's memory would close its parent's sockets. */
EXPORT pid_t
vfork(void)
{
	return fork();
}

EXPORT void
_exit(int status)
{
	state_end();
	real()->exit(status);
	__builtin_unreachable();
}

EXPORT void
_Exit(int status)
{
	_exit(status);
}
