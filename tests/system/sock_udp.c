/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * sock_udp serve|call ADDRESS PORT CASE: as sock_prog, with datagrams. The server's socket is bound to the address and port; the caller's is told.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sock_udp.h"

struct sockaddr_in where;
struct sockaddr_in peer;
int fd;
char text[2048];

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
	int s = socket(AF_INET, SOCK_DGRAM | type, 0);

	if (s < 0)
		fatal("socket");
	return s;
}

static int
wait_for(int s, short events)
{
	struct pollfd p = {.fd = s, .events = events};

	return poll(&p, 1, 60000) == 1 ? p.revents : -1;
}

void
put(int s, const struct sockaddr_in *to, const char *data, size_t len)
{
	if (sendto(s, data, len, 0, (const struct sockaddr *)to, to == NULL ? 0 : sizeof(*to)) != (ssize_t)len)
		fatal("sendto");
}

/* The next datagram of whoever sends it, who is the peer then. */
ssize_t
take(void)
{
	socklen_t len = sizeof(peer);
	ssize_t n = recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&peer, &len);

	if (n < 0)
		fatal("recvfrom");
	return n;
}

/* A caller makes itself known; each goes on when the other has come here. */
void
meet(bool calls)
{
	if (calls) {
		fd = fd > 0 ? fd : make(0);
		put(fd, &where, "m", 1);
	} else {
		take();
		put(fd, &peer, "m", 1);
	}
	if (calls)
		take();
}

bool
is(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_family == AF_INET && a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

void
on(const char *what, int level, int name, int value)
{
	tell(what, setsockopt(fd, level, name, &value, sizeof(value)));
}

/* --- there and back --- */

static void
data(bool calls)
{
	static const size_t sizes[] = {0, 1, 100, 999, 1472};
	socklen_t len = sizeof(peer);

	fd = calls ? make(0) : fd;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!calls) {
			tell("recvfrom", take());
			put(fd, &peer, text, sizes[i]);
			continue;
		}
		memset(text, (int)('a' + i), sizeof(text));
		tell("sendto", sendto(fd, text, sizes[i], 0, (const struct sockaddr *)&where, sizeof(where)));
		memset(text, 0, sizeof(text));
		tell("recvfrom", recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&peer, &len));
		printf("of the server: %d, length %u, octet %d\n", is(&peer, &where), len, text[sizes[i] / 2]);
	}
}

/* --- what cannot be --- */

static void
errors(bool calls)
{
	struct sockaddr_in sa = where;
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	static char large[65600];
	socklen_t len = sizeof(sa);
	int other;

	meet(calls);
	if (!calls) {
		tell("bind again", bind(fd, (const struct sockaddr *)&where, sizeof(where)));
		other = make(0);
		tell("bind another", bind(other, (const struct sockaddr *)&where, sizeof(where)));
		close(other);
		tell("listen", listen(fd, 5));
		tell("accept", accept(fd, NULL, NULL));
		tell("shutdown", shutdown(fd, SHUT_RD));
		tell("poll", wait_for(fd, POLLIN | POLLRDHUP));
		tell("recv without waiting", recv(fd, text, 1, MSG_DONTWAIT));
		tell("recv", recv(fd, text, 1, 0));
		tell("shutdown of both", shutdown(fd, SHUT_RDWR));
		tell("poll", wait_for(fd, POLLIN | POLLOUT | POLLRDHUP));
		tell("sendto", sendto(fd, "x", 1, 0, (const struct sockaddr *)&peer, sizeof(peer)));
		tell("shutdown of nothing", shutdown(fd, 7));
		close(fd);
		tell("closed", recv(fd, text, 1, 0));
		return;
	}
	tell("send to nobody", send(fd, "x", 1, 0));
	tell("write to nobody", write(fd, "x", 1));
	tell("getpeername", getpeername(fd, (struct sockaddr *)&sa, &len));
	sa = where;
	tell("too long", sendto(fd, large, 65508, 0, (const struct sockaddr *)&where, sizeof(where)));
	tell("urgent", sendto(fd, "x", 1, MSG_OOB, (const struct sockaddr *)&where, sizeof(where)));
	sa.sin_port = 0;
	tell("to no port", sendto(fd, "x", 1, 0, (const struct sockaddr *)&sa, sizeof(sa)));
	tell("to another family", sendto(fd, "x", 1, 0, (const struct sockaddr *)&six, sizeof(six)));
	tell("to a short address", sendto(fd, "x", 1, 0, (const struct sockaddr *)&where, 8));
	tell("to everybody",
	     connect(fd, (const struct sockaddr *)&(struct sockaddr_in){AF_INET, htons(9), {INADDR_BROADCAST}, {0}},
		     sizeof(sa)));
	tell("no fragments", setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &(int){IP_PMTUDISC_DO}, sizeof(int)));
	tell("connect", connect(fd, (const struct sockaddr *)&where, sizeof(where)));
	tell("listen", listen(fd, 5));
	tell("SHUT_WR", shutdown(fd, SHUT_WR));
	tell("send", send(fd, "x", 1, 0));
	tell("SHUT_RD", shutdown(fd, SHUT_RD));
	tell("recv", recv(fd, text, 1, 0));
	close(fd);
}

/* --- connections --- */

static void
connected(bool calls)
{
	struct sockaddr_in sa = {0}, before;
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(sa);
	int other, n;

	if (!calls) {
		take();
		other = make(0);
		/* Of a stranger, then of the one that it is connected to. */
		put(other, &peer, "stranger", 8);
		put(fd, &peer, "friend", 6);
		take();
		put(other, &peer, "anybody", 7);
		put(fd, &peer, "friend", 6);
		tell("connect", connect(fd, (const struct sockaddr *)&peer, sizeof(peer)));
		tell("send", send(fd, "connected", 9, 0));
		tell("a name is taken", sendto(fd, "named", 5, 0, (const struct sockaddr *)&peer, sizeof(peer)));
		take();
		return;
	}
	fd = make(0);
	tell("connect", connect(fd, (const struct sockaddr *)&where, sizeof(where)));
	tell("getpeername", getpeername(fd, (struct sockaddr *)&sa, &len));
	printf("the server %d, length %u\n", is(&sa, &where), len);
	tell("getsockname", getsockname(fd, (struct sockaddr *)&before, &len));
	printf("an address %d, a port %d\n", before.sin_addr.s_addr != 0, before.sin_port != 0);
	tell("send", send(fd, "a", 1, 0));
	tell("recv", recv(fd, text, sizeof(text), 0));
	printf("%.6s\n", text);
	tell("nothing more", recv(fd, text, sizeof(text), MSG_DONTWAIT));
	tell("connect again", connect(fd, (const struct sockaddr *)&where, sizeof(where)));
	/* Bound by the program, so that it keeps its port. */
	other = make(0);
	sa = (struct sockaddr_in){.sin_family = AF_INET};
	tell("bind", bind(other, (const struct sockaddr *)&sa, sizeof(sa)));
	tell("connect", connect(other, (const struct sockaddr *)&where, sizeof(where)));
	tell("to anybody", connect(other, &none, sizeof(none)));
	tell("getpeername", getpeername(other, (struct sockaddr *)&sa, &len));
	tell("send", send(other, "b", 1, 0));
	put(other, &where, "b", 1);
	close(fd);
	fd = other;
	for (n = 0; n < 4; n++) {
		tell("recv", recv(fd, text, sizeof(text), 0));
		printf("%c\n", text[0]);
	}
	put(fd, &where, "c", 1);
}

/* --- one datagram of several calls --- */

static void
more(bool calls)
{
	meet(calls);
	if (!calls) {
		for (int i = 0; i < 3; i++) {
			tell("recv", recv(fd, text, sizeof(text), 0));
			printf("%.9s\n", text);
		}
		return;
	}
	tell("connect", connect(fd, (const struct sockaddr *)&where, sizeof(where)));
	tell("more", send(fd, "abc", 3, MSG_MORE));
	tell("and more", send(fd, "def", 3, MSG_MORE));
	tell("no more", send(fd, "ghi", 3, 0));
	on("UDP_CORK", IPPROTO_UDP, UDP_CORK, 1);
	tell("corked", send(fd, "123", 3, 0));
	tell("corked", write(fd, "456", 3));
	on("no UDP_CORK", IPPROTO_UDP, UDP_CORK, 0);
	tell("by itself", send(fd, "plain", 5, 0));
}

/* --- waiting --- */

static volatile sig_atomic_t alarms;

static void
on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void
events(int ep, int timeout)
{
	struct epoll_event e[4];
	int n = epoll_wait(ep, e, 4, timeout);

	tell("epoll_wait", n);
	for (int i = 0; i < n; i++)
		printf("  %u: %#x\n", e[i].data.u32, e[i].events);
}

static void
waiting(bool calls)
{
	/* Again and again: one alarm alone may come before the call that it is for, where others have the CPU. */
	const struct itimerval often = {{0, 50000}, {0, 50000}}, none = {{0, 0}, {0, 0}};
	struct sigaction a = {.sa_handler = on_alarm};
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 1};
	struct timeval t = {60, 0};
	int ep, pipes[2], copy;
	fd_set r, w;

	meet(calls);
	if (calls) {
		/* A datagram for each that is asked for. */
		while (take() != 0)
			put(fd, &where, text, (size_t)(text[0] - '0'));
		return;
	}
	tell("nothing", recv(fd, text, 1, MSG_DONTWAIT));
	tell("O_NONBLOCK", fcntl(fd, F_SETFL, O_NONBLOCK));
	tell("nothing", recvfrom(fd, text, 1, 0, NULL, NULL));
	tell("its flags", fcntl(fd, F_GETFL) & O_NONBLOCK);
	tell("it blocks", fcntl(fd, F_SETFL, 0));
	tell("writable", wait_for(fd, POLLOUT | POLLIN));
	put(fd, &peer, "3", 1);
	tell("readable", wait_for(fd, POLLIN));
	tell("both", wait_for(fd, POLLIN | POLLOUT));
	tell("recv", recv(fd, text, sizeof(text), 0));
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(fd, &r);
	put(fd, &peer, "4", 1);
	tell("select", select(fd + 1, &r, NULL, NULL, &t));
	FD_SET(fd, &w);
	tell("select for both", select(fd + 1, &r, &w, NULL, &t));
	tell("recv", recv(fd, text, sizeof(text), 0));
	if (pipe(pipes) != 0)
		fatal("pipe");
	ep = epoll_create1(0);
	tell("add", epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	e.data.u32 = 2;
	tell("add a pipe", epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &e));
	events(ep, 0);
	put(fd, &peer, "5", 1);
	events(ep, 60000);
	events(ep, 0);
	tell("recv", recv(fd, text, sizeof(text), 0));
	events(ep, 0);
	e = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.u32 = 3};
	tell("edges", epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	put(fd, &peer, "6", 1);
	events(ep, 60000);
	events(ep, 0);
	tell("recv", recv(fd, text, sizeof(text), 0));
	put(fd, &peer, "7", 1);
	events(ep, 60000);
	tell("a pipe", write(pipes[1], "p", 1));
	events(ep, 60000);
	copy = dup(fd);
	tell("close one", close(fd));
	fd = copy;
	tell("recv by the copy", recv(fd, text, sizeof(text), 0));
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	tell("recv", recv(fd, text, 1, 0));
	tell("alarms", alarms != 0);
	tell("poll", wait_for(fd, POLLIN) < 0 ? -1 : 0);
	setitimer(ITIMER_REAL, &none, NULL);
	put(fd, &peer, "", 0);
}

/* --- a server whose parent ends --- */

static void
daemon_case(bool calls)
{
	const struct timeval t = {0, 100000};
	ssize_t n = -1;

	if (calls) {
		fd = make(0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
		for (int i = 0; i < 600 && n < 0; i++) {
			put(fd, &where, "q", 1);
			n = recv(fd, text, sizeof(text), 0);
		}
		tell("answer", n);
		put(fd, &where, "", 0);
		return;
	}
	if (fork() != 0)
		exit(0);
	while ((n = take()) != 0)
		put(fd, &peer, "answer", 6);
	printf("over\n");
}

static const struct {
	const char *name;
	void (*fn)(bool calls);
} cases[] = {
	{"data", data},       {"flags", case_flags},   {"beside", case_beside},  {"options", case_options},
	{"errors", errors},   {"more", more},          {"connected", connected}, {"drops", case_drops},
	{"waiting", waiting}, {"groups", case_groups}, {"daemon", daemon_case},
};

int
main(int argc, char **argv)
{
	bool calls;

	if (argc != 5 || inet_pton(AF_INET, argv[2], &where.sin_addr) != 1)
		return 2;
	calls = strcmp(argv[1], "call") == 0;
	where.sin_family = AF_INET;
	where.sin_port = htons((uint16_t)atoi(argv[3]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!calls) {
		fd = make(0);
		if (bind(fd, (const struct sockaddr *)&where, sizeof(where)) != 0)
			fatal("bind");
		if (strcmp(argv[4], "groups") != 0)
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
