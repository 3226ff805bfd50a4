/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cases of sock_prog: what came before a peer's reset, and is read behind it; what comes when the program said that it reads no more. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock_prog.h"

#define OCTETS 30000 /* fits into any receive buffer */

static volatile sig_atomic_t pipes;

static void
on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static uint8_t
octet(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

static void
say_all(int fd, int by, bool end)
{
	static uint8_t buf[OCTETS];
	struct linger at_once = {1, 0};
	char c;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = octet(i);
	put_all(fd, buf, sizeof(buf));
	if (end)
		tell("SHUT_WR", shutdown(fd, SHUT_WR));
	get_all(by, &c, 1);
	tell("SO_LINGER", setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	tell("close", close(fd));
}

static void
write_on(int fd)
{
	int err = -1;
	socklen_t len = sizeof(err);

	pipes = 0;
	tell("send", send(fd, "x", 1, 0));
	tell("SIGPIPE", pipes);
	tell("getsockopt", getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	tell("SO_ERROR", err);
}

static void
read_all(int fd)
{
	uint8_t buf[7001];
	size_t at = 0, wrong = 0;
	ssize_t n;

	tell("peek", recv(fd, buf, sizeof(buf), MSG_PEEK));
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		for (ssize_t i = 0; i < n; i++)
			wrong += buf[i] != octet(at++);
	tell("behind all", n);
	tell("and again", recv(fd, buf, sizeof(buf), 0));
	tell("octets", (long)at);
	tell("wrong ones", (long)wrong);
}

/* Three connections: data, its end, and a reset; the same, but written to first; data and a reset. Nothing is read before the reset. */
void
case_last(bool calls)
{
	struct pollfd p;
	int by = meet(calls), fd, n = 0;

	signal(SIGPIPE, on_pipe);
	for (int i = 0; i < 3; i++) {
		const bool end = i != 2;

		fd = meet(calls);
		if (!calls) {
			say_all(fd, by, end);
			continue;
		}
		printf("connection %d\n", i);
		p = (struct pollfd){.fd = fd, .events = end ? POLLRDHUP : POLLIN};
		tell("poll", poll(&p, 1, 60000));
		while (ioctl(fd, FIONREAD, &n) == 0 && n != OCTETS)
			usleep(1000);
		put_all(by, "r", 1);
		p.events = 0;
		tell("poll of the reset", poll(&p, 1, 60000));
		p.events = POLLIN | POLLOUT | POLLRDHUP;
		tell("poll of all", poll(&p, 1, 0));
		printf("events: %#x\n", p.revents);
		tell("FIONREAD", ioctl(fd, FIONREAD, &n) == 0 ? n : -1);
		if (i == 1)
			write_on(fd);
		read_all(fd);
		write_on(fd);
		tell("close", close(fd));
	}
	together(by);
}

/* --- SHUT_RD --- */

static void
until_there(int fd, int octets)
{
	int n = 0;

	while (ioctl(fd, FIONREAD, &n) == 0 && n != octets)
		usleep(1000);
	tell("FIONREAD", n);
}

static void
states(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP};
	int set = epoll_create1(0);

	tell("poll", poll(&p, 1, 0));
	printf("events: %#x\n", p.revents);
	tell("epoll_ctl", epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
	tell("epoll_wait", epoll_wait(set, &e, 1, 0));
	printf("events: %#x\n", e.events);
	close(set);
}

static void
read_some(int fd, size_t len, int flags)
{
	char text[32];
	const ssize_t n = recv(fd, text, len, flags);

	tell("recv", n);
	printf("%.*s\n", n < 0 ? 0 : (int)n, text);
}

static void
until_reset(int fd)
{
	struct pollfd p = {.fd = fd};

	while (poll(&p, 1, 60000) == 1 && (p.revents & (POLLERR | POLLHUP)) != (POLLERR | POLLHUP))
		usleep(1000);
	printf("reset: %#x\n", p.revents);
}

static void
reads_no_more(int fd, int by)
{
	until_there(fd, 3);
	tell("SHUT_RD", shutdown(fd, SHUT_RD));
	states(fd);
	read_some(fd, 2, MSG_PEEK);
	read_some(fd, 2, 0);
	until_there(fd, 1);
	read_some(fd, 30, MSG_WAITALL);
	states(fd);
	read_some(fd, 30, 0);
	read_some(fd, 30, MSG_DONTWAIT);
	put_all(by, "m", 1);
	until_there(fd, 4);
	states(fd);
	read_some(fd, 30, 0);
	read_some(fd, 30, 0);
	put_all(fd, "s", 1);
	tell("SHUT_WR", shutdown(fd, SHUT_WR));
	states(fd);
	put_all(by, "e", 1);
	/* What comes now is reset. */
	until_reset(fd);
	states(fd);
	read_some(fd, 30, 0);
	read_some(fd, 30, 0);
}

/* One end reads no more, and then sends no more; the other one goes on sending. */
void
case_shut(bool calls)
{
	int by = meet(calls), fd = meet(calls);
	char c;

	signal(SIGPIPE, on_pipe);
	if (calls) {
		reads_no_more(fd, by);
	} else {
		put_all(fd, "abc", 3);
		get_all(by, &c, 1);
		put_all(fd, "defg", 4);
		get_all(by, &c, 1);
		read_some(fd, 30, 0);
		read_some(fd, 30, 0);
		put_all(fd, "h", 1);
		until_reset(fd);
		write_on(fd);
		read_some(fd, 30, 0);
	}
	together(by);
	tell("close", close(fd));
}
