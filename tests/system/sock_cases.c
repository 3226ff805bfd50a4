/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cases of sock_prog: what calls return, errno by errno. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock_prog.h"

static int
wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 60000) == 1 ? p.revents : -1;
}

/* --- what does not block --- */

void
case_nonblock(bool calls)
{
	static char full[65536];
	char c;
	int fd, err = -1;
	socklen_t len = sizeof(err);
	long rc;

	if (calls) {
		fd = make(SOCK_NONBLOCK);
		tell("connect", connect(fd, (const struct sockaddr *)peer(), sizeof(*peer())));
		tell("poll", wait_for(fd, POLLOUT));
		tell("getsockopt", getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
		tell("SO_ERROR", err);
		tell("connect again", connect(fd, (const struct sockaddr *)peer(), sizeof(*peer())));
		tell("and again", connect(fd, (const struct sockaddr *)peer(), sizeof(*peer())));
		tell("recv", recv(fd, &c, 1, 0));
		do
			rc = send(fd, full, sizeof(full), 0);
		while (rc > 0);
		tell("send until it is full", rc);
		tell("poll when the peer has read", wait_for(fd, POLLOUT));
		tell("shutdown", shutdown(fd, SHUT_WR));
		wait_for(fd, POLLIN);
		tell("recv of the end", recv(fd, &c, 1, 0));
		return;
	}
	tell("fcntl", fcntl(listening(), F_SETFL, O_NONBLOCK));
	wait_for(listening(), POLLIN);
	fd = accept4(listening(), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	tell("accept4", fd < 0 ? -1 : 0);
	tell("another one", accept(listening(), NULL, NULL));
	tell("its flags", fcntl(fd, F_GETFL) & O_NONBLOCK);
	tell("closed over exec", fcntl(fd, F_GETFD));
	usleep(200000);
	while ((rc = recv(fd, full, sizeof(full), 0)) != 0)
		if (rc < 0 && (errno != EAGAIN || wait_for(fd, POLLIN) < 0))
			fatal("recv");
	tell("the end", rc);
	close(fd);
}

/* --- flags --- */

void
case_flags(bool calls)
{
	const struct timeval t = {0, 30000};
	char text[64] = "";
	struct iovec iov[3] = {{text, 2}, {text + 10, 0}, {text + 20, 5}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 3};
	int fd = meet(calls), n = -1;

	if (calls) {
		put_all(fd, "abcdefgh", 8);
		together(fd);
		put_all(fd, "ij", 2);
		usleep(50000);
		put_all(fd, "kl", 2);
		together(fd);
		memcpy(text, "xy", 2);
		memcpy(text + 20, "zzzzz", 5);
		tell("sendmsg", sendmsg(fd, &msg, MSG_NOSIGNAL));
		tell("writev", writev(fd, iov, 1));
		together(fd);
		return;
	}
	tell("peek", recv(fd, text, 4, MSG_PEEK | MSG_WAITALL));
	printf("%.4s\n", text);
	tell("all", recv(fd, text, 8, MSG_WAITALL));
	printf("%.8s\n", text);
	together(fd);
	tell("whole", recv(fd, text, 4, MSG_WAITALL));
	printf("%.4s\n", text);
	together(fd);
	tell("thrown away", recv(fd, NULL, 3, MSG_TRUNC | MSG_WAITALL));
	wait_for(fd, POLLIN);
	tell("waiting octets", ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? 0 : -1);
	memset(text, 0, sizeof(text));
	tell("recvmsg", recvmsg(fd, &msg, MSG_WAITALL) > 0 ? 0 : -1);
	tell("without waiting", recv(fd, text, 1, MSG_DONTWAIT));
	tell("urgent", recv(fd, text, 1, MSG_OOB));
	tell("SO_RCVTIMEO", setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	tell("recv in time", recv(fd, text, 1, 0));
	tell("nothing wanted", recv(fd, text, 0, 0));
	put_all(fd, "t", 1);
	close(fd);
}

/* --- options --- */

/* What a listener has, who is accepted has, too. */
static void
inherited(int fd, bool calls)
{
	static const int o[][3] = {{SOL_SOCKET, SO_SNDBUF, 70000},
				   {SOL_SOCKET, SO_RCVBUF, 70000},
				   {IPPROTO_TCP, TCP_NODELAY, 1},
				   {IPPROTO_TCP, TCP_CORK, 0},
				   {IPPROTO_TCP, TCP_KEEPIDLE, 77}};
	int v = -1;
	socklen_t len = sizeof(v);

	for (size_t i = 0; !calls && i < sizeof(o) / sizeof(o[0]); i++)
		tell("a listener's", setsockopt(listening(), o[i][0], o[i][1], &o[i][2], sizeof(int)));
	together(fd);
	fd = meet(calls);
	for (size_t i = 0; !calls && i < sizeof(o) / sizeof(o[0]); i++) {
		tell("inherited", getsockopt(fd, o[i][0], o[i][1], &v, &len));
		printf("  value %d\n", v);
	}
	together(fd);
	close(fd);
}

void
case_options(bool calls)
{
	static const struct {
		const char *name;
		int level, option, value;
	} o[] = {
		{"SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1},
		{"SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1},
		{"SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, 100000},
		{"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 100000},
		{"SO_RCVBUF of nothing", SOL_SOCKET, SO_RCVBUF, 0},
		{"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 5},
		{"TCP_CORK", IPPROTO_TCP, TCP_CORK, 1},
		{"TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, 100},
		{"TCP_KEEPIDLE of nothing", IPPROTO_TCP, TCP_KEEPIDLE, 0},
		{"TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL, 7},
		{"TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT, 200},
		{"TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, 5000},
		{"IP_TOS", IPPROTO_IP, IP_TOS, 0x10},
		{"none", SOL_SOCKET, 9999, 1},
		{"none of TCP", IPPROTO_TCP, 9999, 1},
	};
	struct tcp_info info = {0};
	struct linger l = {1, 3};
	char cc[16] = "reno";
	int fd = meet(calls), v;
	socklen_t len = sizeof(info);

	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		tell(o[i].name, setsockopt(fd, o[i].level, o[i].option, &o[i].value, sizeof(int)));
		len = sizeof(v);
		v = -1;
		tell("  get", getsockopt(fd, o[i].level, o[i].option, &v, &len));
		printf("  value %d, %u octets\n", v, len);
	}
	tell("a short value", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &v, 2));
	len = sizeof(info);
	tell("TCP_INFO", getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	tell("  state", info.tcpi_state);
	tell("SO_LINGER", setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	len = sizeof(l);
	tell("  get", getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len));
	printf("  %d, %d s\n", l.l_onoff, l.l_linger);
	tell("TCP_CONGESTION", setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)));
	tell("one that nobody has", setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "none", 4));
	len = sizeof(v);
	tell("SO_TYPE", getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, &len));
	tell("  value", v);
	inherited(fd, calls);
	together(fd);
}

/* --- ends --- */

static volatile sig_atomic_t pipes, alarms;

static void
on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static void
on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

void
case_ends(bool calls)
{
	struct linger at_once = {1, 0};
	char c;
	int fd = meet(calls), err = -1;
	socklen_t len = sizeof(err);

	signal(SIGPIPE, on_pipe);
	tell("shutdown of nothing", shutdown(fd, 7));
	if (calls) {
		tell("SHUT_WR", shutdown(fd, SHUT_WR));
		tell("send after it", send(fd, "x", 1, 0));
		tell("SIGPIPE", pipes);
		tell("without the signal", send(fd, "x", 1, MSG_NOSIGNAL));
		tell("SIGPIPE", pipes);
		get_all(fd, &c, 1);
		tell("poll", wait_for(fd, POLLIN | POLLRDHUP));
		tell("the end", recv(fd, &c, 1, 0));
		close(fd);
	} else {
		tell("the peer's end", recv(fd, &c, 1, 0));
		tell("poll", wait_for(fd, POLLIN | POLLOUT | POLLRDHUP));
		put_all(fd, "y", 1);
		close(fd);
	}
	/* A reset. */
	fd = meet(calls);
	if (!calls) {
		get_all(fd, &c, 1);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(fd);
		return;
	}
	put_all(fd, "z", 1);
	tell("poll of a reset", wait_for(fd, POLLIN | POLLOUT | POLLHUP | POLLRDHUP) >= 0 ? 0 : -1);
	while (wait_for(fd, POLLHUP) < 0)
		;
	tell("recv", recv(fd, &c, 1, 0));
	tell("recv again", recv(fd, &c, 1, 0));
	pipes = 0;
	tell("send", send(fd, "x", 1, 0));
	tell("SIGPIPE", pipes);
	tell("getsockopt", getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	tell("SO_ERROR", err);
	tell("getpeername", getpeername(fd, (struct sockaddr *)&(struct sockaddr_in){0}, &(socklen_t){16}));
	close(fd);
}

/* A port whose listener has gone, while a connection to it lives. */
void
case_refused(bool calls)
{
	int fd = meet(calls), other, err = -1;
	socklen_t len = sizeof(err);

	if (!calls) {
		close(listening());
		together(fd);
		together(fd);
		return;
	}
	together(fd);
	other = make(0);
	tell("connect", connect(other, (const struct sockaddr *)peer(), sizeof(*peer())));
	tell("getsockopt", getsockopt(other, SOL_SOCKET, SO_ERROR, &err, &len));
	tell("SO_ERROR", err);
	tell("connect again", connect(other, (const struct sockaddr *)peer(), sizeof(*peer())));
	close(other);
	other = make(SOCK_NONBLOCK);
	tell("without waiting", connect(other, (const struct sockaddr *)peer(), sizeof(*peer())));
	tell("poll", wait_for(other, POLLOUT));
	tell("getsockopt", getsockopt(other, SOL_SOCKET, SO_ERROR, &err, &len));
	tell("SO_ERROR", err);
	tell("SO_ERROR again", getsockopt(other, SOL_SOCKET, SO_ERROR, &err, &len) == 0 ? err : -1);
	close(other);
	tell("closed", send(other, "x", 1, 0));
	together(fd);
}

/* --- signals --- */

/* Octets come when the handler has run, more than once, and so during the call of the other thread. */
static void *
asks_for_more(void *fd)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (alarms < 3)
		usleep(1000);
	put_all(*(int *)fd, "g", 1);
	return NULL;
}

void
case_signals(bool calls)
{
	struct sigaction a = {.sa_handler = on_alarm};
	/* Again and again: one alarm alone may come before the call that it is for, where others have the CPU. */
	const struct itimerval often = {{0, 50000}, {0, 50000}}, none = {{0, 0}, {0, 0}};
	const struct timeval t = {60, 0};
	pthread_t thread;
	struct pollfd p;
	char c;
	int fd = meet(calls);

	if (calls) {
		get_all(fd, &c, 1);
		put_all(fd, "r", 1);
		together(fd);
		return;
	}
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	tell("recv", recv(fd, &c, 1, 0));
	tell("alarms", alarms != 0);
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	tell("poll", poll(&p, 1, -1));
	tell("accept", accept(listening(), NULL, NULL));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	a.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &a, NULL);
	tell("recv with a time", recv(fd, &c, 1, 0));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none.it_value, sizeof(none.it_value));
	alarms = 0;
	pthread_create(&thread, NULL, asks_for_more, &fd);
	tell("recv goes on", recv(fd, &c, 1, 0));
	pthread_join(thread, NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	tell("alarms", alarms != 0);
	together(fd);
}

/* --- readiness --- */

static void
events(int ep, int timeout)
{
	struct epoll_event e[4];
	int n = epoll_wait(ep, e, 4, timeout);

	tell("epoll_wait", n);
	for (int i = 0; i < n; i++)
		printf("  %u: %#x\n", e[i].data.u32, e[i].events);
}

void
case_epoll(bool calls)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 1};
	int fd = meet(calls), ep, outer, pipes_[2], copy;
	char c;

	if (calls) {
		put_all(fd, "a", 1);
		together(fd);
		put_all(fd, "b", 1);
		together(fd);
		put_all(fd, "c", 1);
		together(fd);
		close(fd);
		return;
	}
	ep = epoll_create1(EPOLL_CLOEXEC);
	outer = epoll_create1(0);
	if (pipe(pipes_) != 0)
		fatal("pipe");
	tell("add", epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	tell("add again", epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	tell("change what is not there", epoll_ctl(outer, EPOLL_CTL_MOD, fd, &e));
	e.data.u32 = 2;
	tell("add a pipe", epoll_ctl(ep, EPOLL_CTL_ADD, pipes_[0], &e));
	e.data.u32 = 9;
	tell("a set in a set", epoll_ctl(outer, EPOLL_CTL_ADD, ep, &e));
	events(ep, 60000);
	events(ep, 0);
	events(outer, 60000);
	get_all(fd, &c, 1);
	/* Then it is empty, or has the octet of together(), which comes next. */
	together(fd);
	e = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.u32 = 3};
	tell("edges", epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	wait_for(fd, POLLIN);
	events(ep, 60000);
	events(ep, 0);
	tell("a pipe", write(pipes_[1], "p", 1));
	events(ep, 60000);
	tell("the pipe again", read(pipes_[0], &c, 1));
	get_all(fd, &c, 1);
	together(fd);
	e = (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLONESHOT, .data.u32 = 4};
	tell("once", epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	wait_for(fd, POLLIN);
	events(ep, 60000);
	events(ep, 0);
	tell("once more", epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	events(ep, 60000);
	get_all(fd, &c, 1);
	together(fd);
	e = (struct epoll_event){.events = EPOLLIN | EPOLLRDHUP, .data.u32 = 5};
	tell("the end", epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	events(ep, 60000);
	tell("read", read(fd, &c, 1));
	copy = dup(fd);
	tell("away", epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
	events(ep, 0);
	close(fd);
	tell("a copy", read(copy, &c, 1));
	close(copy);
}

void
case_select(bool calls)
{
	struct timeval t = {0, 20000};
	int fd = meet(calls), pipes_[2], n;
	fd_set r, w;
	char c;

	if (calls) {
		together(fd);
		put_all(fd, "a", 1);
		together(fd);
		return;
	}
	if (pipe(pipes_) != 0)
		fatal("pipe");
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(fd, &r);
	FD_SET(pipes_[0], &r);
	together(fd);
	get_all(fd, &c, 1);
	n = (fd > pipes_[0] ? fd : pipes_[0]) + 1;
	t.tv_usec = 0;
	FD_CLR(fd, &r);
	tell("select of a pipe", select(n, &r, NULL, NULL, &t));
	FD_ZERO(&r);
	FD_SET(fd, &r);
	FD_SET(fd, &w);
	t.tv_sec = 60;
	tell("select", select(n, NULL, &w, NULL, &t) + (FD_ISSET(fd, &w) ? 10 : 0));
	tell("its time", t.tv_sec >= 58 ? 0 : -1);
	tell("a pipe", write(pipes_[1], "p", 1));
	FD_SET(pipes_[0], &r);
	wait_for(fd, POLLIN);
	tell("both", pselect(n, &r, NULL, NULL, NULL, NULL));
	tell("no time", poll(NULL, 0, 0));
	put_all(fd, "t", 1);
	get_all(fd, &c, 1);
}

/* --- descriptors --- */

void
case_fds(bool calls)
{
	char name[] = "/tmp/sock_prog.XXXXXX", c;
	int fd = meet(calls), copy, file, other;
	off_t at = 2;

	if (calls) {
		char text[16] = "";

		get_all(fd, text, 6);
		printf("%s\n", text);
		put_all(fd, "d", 1);
		tell("the end", recv(fd, &c, 1, 0));
		return;
	}
	other = make(0);
	tell("bind again", bind(other, (const struct sockaddr *)peer(), sizeof(*peer())));
	close(other);
	other = make(0);
	tell("not connected", recv(other, &c, 1, 0));
	tell("nor listening", accept(other, NULL, NULL));
	close(other);
	copy = dup(fd);
	tell("close one", close(fd));
	fd = fcntl(copy, F_DUPFD_CLOEXEC, 100);
	tell("F_DUPFD_CLOEXEC", fd >= 100 ? 0 : -1);
	tell("closed over exec", fcntl(fd, F_GETFD));
	tell("dup2", dup2(fd, copy) == copy ? 0 : -1);
	file = mkstemp(name);
	unlink(name);
	tell("write", write(file, "xxabcdyy", 8));
	tell("sendfile", sendfile(copy, file, &at, 4));
	tell("its place", at);
	tell("dprintf by write", write(fd, "ef", 2));
	tell("read", read(copy, &c, 1));
	tell("close both", close(copy) + close(fd));
	tell("closed", write(fd, "x", 1));
}

/* --- processes --- */

void
case_fork(bool calls)
{
	int fd = meet(calls), other, status = -1;
	struct pollfd p = {.events = POLLIN};
	struct sockaddr_in sa = {.sin_family = AF_INET};
	pid_t pid;
	char c;

	if (calls) {
		get_all(fd, &c, 1);
		put_all(fd, "p", 1);
		together(fd);
		return;
	}
	pid = fork();
	if (pid == 0) {
		tell("child: recv", recv(fd, &c, 1, 0));
		p.fd = fd;
		tell("child: poll", poll(&p, 1, 1000) == 1 ? p.revents : -1);
		close(fd);
		close(listening());
		other = make(0);
		sa.sin_addr = peer()->sin_addr;
		tell("child: its own", bind(other, (struct sockaddr *)&sa, sizeof(sa)) == 0 ? listen(other, 1) : -1);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	put_all(fd, "g", 1);
	tell("parent: recv", recv(fd, &c, 1, 0));
	tell("child ended", status);
	together(fd);
}

/* Who calls, twice. */
void
case_halves(bool calls)
{
	struct sockaddr_in sa;
	socklen_t len;
	int fd, n;
	char text[32], c;

	if (calls) {
		fd = meet(true);
		get_all(fd, &c, 1);
		printf("%c\n", c);
		return;
	}
	for (n = 0; n < 2; n++) {
		len = sizeof(sa);
		fd = accept(listening(), (struct sockaddr *)&sa, &len);
		if (fd < 0)
			fatal("accept");
		printf("%s\n", inet_ntop(AF_INET, &sa.sin_addr, text, sizeof(text)));
		put_all(fd, "k", 1);
		close(fd);
	}
}
