/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A program as a child: signals reach it, and it does not outlive this process. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

static void
child(pid_t parent, const sigset_t *before, void (*start)(void *), void *arg)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent) {
		(void)sigprocmask(SIG_SETMASK, before, NULL);
		start(arg);
	}
	_exit(RUN_EXIT);
}

int
run_program(void (*start)(void *), void *arg)
{
	static const int passed[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
	const pid_t self = getpid();
	sigset_t set, before;
	siginfo_t info;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (unsigned int i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(&set, passed[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	pid = fork();
	if (pid < 0)
		return run_refuse("no process can be started: %s", strerror(errno));
	if (pid == 0)
		child(self, &before, start, arg);
	/* A child that has ended may be the owner's keeper. */
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigwaitinfo(&set, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* What the terminal sends goes to the program, too. */
		if (info.si_code != SI_KERNEL)
			(void)kill(pid, info.si_signo);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
