/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tel.h"

#define LEAST 16384u            /* octets of an answer, what all releases know */
#define MOST (4u * 1024 * 1024) /* whatever a process says that it may send */
#define COMMAND 512u
#define AGAIN_MS 5 /* between two calls to somebody who has no room for callers */
#define NS_MS 1000000u

uint64_t
tel_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * NS_MS + (uint64_t)t.tv_nsec;
}

/* Until the socket can be read or written. 0 or -ETIMEDOUT. */
static int
await(const struct tel *t, short what)
{
	struct pollfd p = {.fd = t->fd, .events = what};
	uint64_t now;
	int n;

	do {
		now = tel_now();
		if (now >= t->until)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((t->until - now) / NS_MS) + 1);
	} while (n == 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

static int
call(struct tel *t, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	for (;;) {
		if (connect(t->fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
			return 0;
		ret = -errno;
		/* A Unix socket says so when its queue of callers is full; there is nothing to poll for. */
		if (ret != -EAGAIN && ret != -EINTR)
			return ret;
		if (tel_now() >= t->until)
			return -ETIMEDOUT;
		poll(NULL, 0, AGAIN_MS);
	}
}

/* One packet. Its octets or a negative errno. */
static ssize_t
hear(struct tel *t)
{
	ssize_t n;
	int ret;

	for (;;) {
		n = recv(t->fd, t->buf, t->room, MSG_DONTWAIT | MSG_TRUNC);
		if (n > 0)
			return (size_t)n <= t->room ? n : -EMSGSIZE;
		if (n == 0)
			return -ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		ret = await(t, POLLIN);
		if (ret != 0)
			return ret;
	}
}

static int
parse(struct tel *t, ssize_t n)
{
	mj_free(&t->doc);
	if (n < 0)
		return (int)n;
	return mj_parse(t->buf, (size_t)n, &t->doc) == 0 && t->doc.node->kind == MJ_OBJECT ? 0 : -EPROTO;
}

static int
greet(struct tel *t)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	uint64_t most;
	char *more;
	int ret;

	t->room = LEAST;
	t->buf = malloc(t->room);
	if (t->buf == NULL)
		return -ENOMEM;
	ret = parse(t, hear(t));
	if (ret != 0)
		return ret;
	if (mj_get(t->doc.node, "max_output_len") == NULL)
		return -EPROTO;
	most = mj_uint(t->doc.node, "max_output_len", 0);
	snprintf(t->version, sizeof(t->version), "%s", mj_text(t->doc.node, "version", ""));
	t->pid = (pid_t)mj_uint(t->doc.node, "pid", 0);
	t->here = getsockopt(t->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid != 0;
	if (t->here)
		t->pid = who.pid;
	mj_free(&t->doc);
	/* Answers have their own question in front, for which the limit of some releases has no room. */
	most += COMMAND + 8;
	if (most > MOST)
		return -EPROTO;
	if (most > t->room) {
		more = realloc(t->buf, most);
		if (more == NULL)
			return -ENOMEM;
		t->buf = more;
		t->room = most;
	}
	return 0;
}

int
tel_open(struct tel *t, const char *path, uint64_t until)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->until = until;
	t->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return -errno;
	ret = call(t, path);
	if (ret == 0)
		ret = greet(t);
	if (ret != 0)
		tel_close(t);
	return ret;
}

void
tel_close(struct tel *t)
{
	mj_free(&t->doc);
	free(t->buf);
	t->buf = NULL;
	close(t->fd);
}

static int
say(struct tel *t, const char *text, size_t len)
{
	int ret;

	for (;;) {
		if (send(t->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		ret = await(t, POLLOUT);
		if (ret != 0)
			return ret;
	}
}

const struct mj *
tel_ask(struct tel *t, int *err, const char *fmt, ...)
{
	char text[COMMAND];
	const struct mj *v;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*err = n < 0 || (size_t)n >= sizeof(text) ? -ENAMETOOLONG : say(t, text, (size_t)n);
	if (*err == 0)
		*err = parse(t, hear(t));
	if (*err != 0)
		return NULL;
	v = t->doc.node->first;
	/* It says which question it answers. */
	text[strcspn(text, ",")] = '\0';
	if (v == NULL || strcmp(v->key, text) != 0)
		*err = -EPROTO;
	else if (v->kind == MJ_NULL)
		*err = -ENODATA;
	return *err == 0 ? v : NULL;
}
