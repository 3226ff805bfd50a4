/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of the view that go on. What a kernel's files say is asked for when they are read; these are files like others, which a
 * process beside the program writes anew. It is nobody's child, so that a program that waits for all of its own does not wait for
 * it, and it ends with the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/share/name.h"
#include "preload/sock/owner.h"
#include "run.h"

#define EVERY_MS 500
#define ANSWER_S 5

struct live {
	const char *at;
	int program, fd; /* fd: to the owner, -1: none */
	unsigned int num;
	struct {
		char owner[IBV_SYSFS_NAME_MAX];
		int port;
	} dev[RUN_DEVICES];
};

/* Nothing of the program's, which others may wait to see closed. 0 or errno. */
static int
let_go(void)
{
	const int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		return errno;
	return close_range(STDERR_FILENO + 1, ~0u, 0) == 0 ? 0 : errno;
}

/* An owner that does not answer keeps this process no longer than that. */
static void
call(struct live *l)
{
	const struct timeval most = {.tv_sec = ANSWER_S};

	l->fd = owner_connect(l->at);
	if (l->fd >= 0)
		(void)setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
}

/* 0 or errno. */
static int
find(struct live *l)
{
	char name[IBV_SYSFS_NAME_MAX];
	struct share_hello h;
	int err = 0;

	call(l);
	if (l->fd < 0)
		return errno;
	for (uint32_t i = 0; i < RUN_DEVICES; i++) {
		err = run_hello(l->fd, l->at, i, &h);
		if (err != 0)
			break;
		memcpy(l->dev[l->num].owner, h.name, sizeof(h.name));
		share_name(name, h.name, h.ibdev, getenv(SHARE_NAMES_ENV));
		l->dev[l->num].port = run_tree_port(name);
		/* One that came after the view was made is not in it. */
		if (l->dev[l->num].port >= 0)
			l->num++;
	}
	return err == ENOENT ? 0 : err;
}

/* A port that is gone keeps what it had counted. */
static void
refresh(struct live *l)
{
	int err = 0;

	if (l->fd < 0)
		call(l);
	for (unsigned int i = 0; l->fd >= 0 && i < l->num && err != EIO; i++)
		err = run_tree_counters(l->fd, l->dev[i].owner, l->dev[i].port);
	if (err == EIO && l->fd >= 0) {
		close(l->fd);
		l->fd = -1;
	}
}

static void
go_on(struct live *l)
{
	struct pollfd p = {.fd = l->program, .events = POLLIN};
	int ended;

	do {
		ended = poll(&p, 1, EVERY_MS);
		if (ended == 0)
			refresh(l);
	} while (ended == 0 || (ended < 0 && errno == EINTR));
}

/* 0 or errno, of what the process itself needs; it is still the program's child. */
static int
prepare(struct live *l, pid_t program)
{
	int err = let_go();

	if (err != 0)
		return err;
	l->program = pidfd_open(program, 0);
	if (l->program < 0)
		return errno;
	/* The program's number is not another's. */
	if (getppid() != program)
		return ESRCH;
	/* What a terminal sends is for the program. */
	(void)setsid();
	(void)prctl(PR_SET_NAME, "triplane-view");
	return find(l);
}

int
run_live(const char *at)
{
	const pid_t self = getpid(), first = fork();
	struct live l = {.at = at, .fd = -1};
	int status, err;
	pid_t second;

	if (first < 0)
		return errno;
	if (first == 0) {
		err = prepare(&l, self);
		second = err == 0 ? fork() : -1;
		if (err == 0 && second < 0)
			err = errno;
		if (second == 0)
			go_on(&l);
		_exit(err);
	}
	while (waitpid(first, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}
