/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * sock_prog serve|call ADDRESS PORT CASE: a program of plain sockets that knows nothing of what may stand in front of libc. Both
 * ends run the same case; a line of each says what its calls returned, so that runs with and without a library in front of them can be compared.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock_prog.h"

static struct sockaddr_in where;
static int listener = -1;

void
tell(const char *what, long rc)
{
	if (rc < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, rc);
	fflush(stdout);
}

void
fatal(const char *what)
{
	printf("%s: %s, and the case ends\n", what, strerror(errno));
	exit(1);
}

int
make(int type)
{
	int fd = socket(AF_INET, SOCK_STREAM | type, 0);

	if (fd < 0)
		fatal("socket");
	return fd;
}

/* A connection: the caller's by connect, the other's by accept. */
int
meet(bool calls)
{
	int fd;

	if (!calls) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			fatal("accept");
		return fd;
	}
	fd = make(0);
	if (connect(fd, (const struct sockaddr *)&where, sizeof(where)) != 0)
		fatal("connect");
	return fd;
}

const struct sockaddr_in *
peer(void)
{
	return &where;
}

int
listening(void)
{
	return listener;
}

void
put_all(int fd, const void *data, size_t len)
{
	if (send(fd, data, len, 0) != (ssize_t)len)
		fatal("send");
}

void
get_all(int fd, void *data, size_t len)
{
	if (recv(fd, data, len, MSG_WAITALL) != (ssize_t)len)
		fatal("recv");
}

/* Both come here before either goes on. */
void
together(int fd)
{
	char c = 't';

	put_all(fd, &c, 1);
	get_all(fd, &c, 1);
}

/* --- data: octets that depend on their place, both ways, pieces of many sizes --- */

#define BULK (4u << 20)

static void
fill(uint8_t *p, size_t len, uint32_t at)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((at + i) * 2654435761u >> 24);
}

static void *
sender(void *arg)
{
	int fd = *(int *)arg;
	static uint8_t buf[70000];
	uint32_t at = 0, size = 1;

	while (at < BULK) {
		size_t len = size % sizeof(buf);

		len = len > BULK - at ? BULK - at : len;
		fill(buf, len, at);
		put_all(fd, buf, len);
		at += (uint32_t)len;
		size = size * 5 + 1;
	}
	return NULL;
}

static void
data(bool calls)
{
	static uint8_t got[50000], want[50000];
	int fd = meet(calls);
	uint32_t at = 0, wrong = 0;
	pthread_t t;

	pthread_create(&t, NULL, sender, &fd);
	while (at < BULK) {
		ssize_t n = read(fd, got, sizeof(got));

		if (n <= 0)
			fatal("read");
		fill(want, (size_t)n, at);
		wrong += memcmp(got, want, (size_t)n) != 0;
		at += (uint32_t)n;
	}
	pthread_join(t, NULL);
	tell("octets", at);
	tell("wrong pieces", wrong);
	tell("shutdown", shutdown(fd, SHUT_WR));
	tell("the end", read(fd, got, sizeof(got)));
	tell("close", close(fd));
}

/* --- names --- */

static void
names(bool calls)
{
	int fd = meet(calls);
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char text[32];

	tell("getpeername", getpeername(fd, (struct sockaddr *)&sa, &len));
	tell("its length", len);
	printf("peer: %s%s\n", inet_ntop(AF_INET, &sa.sin_addr, text, sizeof(text)),
	       calls && sa.sin_port == where.sin_port ? ", its port" : "");
	tell("getsockname", getsockname(fd, (struct sockaddr *)&sa, &len));
	printf("here: %s%s\n", inet_ntop(AF_INET, &sa.sin_addr, text, sizeof(text)),
	       !calls && sa.sin_port == where.sin_port ? ", the port" : "");
	together(fd);
	close(fd);
}

static const struct {
	const char *name;
	void (*fn)(bool calls);
} cases[] = {
	{"data", data},
	{"names", names},
	{"nonblock", case_nonblock},
	{"flags", case_flags},
	{"options", case_options},
	{"ends", case_ends},
	{"refused", case_refused},
	{"signals", case_signals},
	{"epoll", case_epoll},
	{"select", case_select},
	{"fds", case_fds},
	{"fork", case_fork},
	{"halves", case_halves},
	{"last", case_last},
	{"shut", case_shut},
};

int
main(int argc, char **argv)
{
	const int one = 1;
	bool calls;

	if (argc != 5 || inet_pton(AF_INET, argv[2], &where.sin_addr) != 1)
		return 2;
	calls = strcmp(argv[1], "call") == 0;
	where.sin_family = AF_INET;
	where.sin_port = htons((uint16_t)atoi(argv[3]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!calls) {
		listener = make(0);
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(listener, (const struct sockaddr *)&where, sizeof(where)) != 0 || listen(listener, 16) != 0)
			fatal("listen");
		printf("listens\n");
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[4]) == 0) {
			cases[i].fn(calls);
			return 0;
		}
	}
	return 2;
}
