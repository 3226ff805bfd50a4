/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the program's handlers of signals do to calls that sleep. The kernel begins a call of its own sockets again behind a handler
 * that was set with SA_RESTART, and ends it behind another one; ppoll(2), in which a call here may sleep, always ends. It does not
 * say which handler ran. So it is noted what all of them have.
 */
#include <dlfcn.h>

#include "sockets.h"

#define SIGNALS 65

enum mode { NO_HANDLER, RESTARTS, ENDS, MODES };

static _Atomic unsigned char mode_of[SIGNALS];
static atomic_uint num[MODES];

static int
libc_sigaction(int sig, const struct sigaction *a, struct sigaction *old)
{
	static int (*_Atomic known)(int, const struct sigaction *, struct sigaction *);
	int (*f)(int, const struct sigaction *, struct sigaction *) = known;

	if (f == NULL) {
		*(void **)&f = dlsym(RTLD_NEXT, "sigaction");
		known = f;
	}
	return f(sig, a, old);
}

static void
note(int sig)
{
	struct sigaction a;
	enum mode m = NO_HANDLER;

	if (sig <= 0 || sig >= SIGNALS || libc_sigaction(sig, NULL, &a) != 0)
		return;
	if ((a.sa_flags & SA_SIGINFO) != 0 || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN))
		m = (a.sa_flags & SA_RESTART) != 0 ? RESTARTS : ENDS;
	num[m]++;
	num[atomic_exchange(&mode_of[sig], (unsigned char)m)]--;
}

enum sock_handlers
handlers_now(void)
{
	if (num[ENDS] == 0)
		return SOCK_HANDLERS_GO_ON;
	return num[RESTARTS] == 0 ? SOCK_HANDLERS_END : SOCK_HANDLERS_BOTH;
}

/* --- in front of libc --- */

EXPORT int
sigaction(int sig, const struct sigaction *a, struct sigaction *old)
{
	const int rc = libc_sigaction(sig, a, old);

	if (rc == 0 && a != NULL)
		note(sig);
	return rc;
}

typedef void (*handler)(int);

/* The ways of old to say the same. */
static handler
old_way(const char *name, int sig, handler h)
{
	handler (*f)(int, handler);
	handler was;

	*(void **)&f = dlsym(RTLD_NEXT, name);
	was = f(sig, h);
	note(sig);
	return was;
}

EXPORT handler
signal(int sig, handler h)
{
	return old_way("signal", sig, h);
}

EXPORT handler
ssignal(int sig, handler h)
{
	return old_way("ssignal", sig, h);
}

EXPORT handler __sysv_signal(int sig, handler h);
EXPORT handler
__sysv_signal(int sig, handler h)
{
	return old_way("__sysv_signal", sig, h);
}

EXPORT handler
sysv_signal(int sig, handler h)
{
	return old_way("sysv_signal", sig, h);
}

EXPORT handler sigset(int sig, handler h);
EXPORT handler
sigset(int sig, handler h)
{
	return old_way("sigset", sig, h);
}

EXPORT int siginterrupt(int sig, int flag);
EXPORT int
siginterrupt(int sig, int flag)
{
	int (*f)(int, int);
	int rc;

	*(void **)&f = dlsym(RTLD_NEXT, "siginterrupt");
	rc = f(sig, flag);
	note(sig);
	return rc;
}
