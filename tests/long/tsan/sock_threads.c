/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * sock_threads serve|call ADDRESS PORT [LIBRARY]: a program of sockets whose threads share all that threads may share: a listener and an
 * epoll set, a connection that one sends to and another one reads, a socket of datagrams; numbers come and go beside it. What arrives
 * is looked at. It ends with 0 when all was right.
 *
 * Its calls are the library's, by name: ThreadSanitizer has functions of its own in front of libc's, which keep it from seeing the locks
 * of what stands behind them.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define EACH(X)                                                                                                        \
	X(socket)                                                                                                      \
	X(bind)                                                                                                        \
	X(listen)                                                                                                      \
	X(accept)                                                                                                      \
	X(connect)                                                                                                     \
	X(shutdown)                                                                                                    \
	X(close)                                                                                                       \
	X(getsockname)                                                                                                 \
	X(getsockopt)                                                                                                  \
	X(setsockopt)                                                                                                  \
	X(ioctl)                                                                                                       \
	X(read)                                                                                                        \
	X(write)                                                                                                       \
	X(recv)                                                                                                        \
	X(recvfrom)                                                                                                    \
	X(sendto)                                                                                                      \
	X(poll)                                                                                                        \
	X(epoll_create1)                                                                                               \
	X(epoll_ctl)                                                                                                   \
	X(epoll_wait)                                                                                                  \
	X(dup)                                                                                                         \
	X(dup2)
#define MEMBER(name) __typeof__(&name) name##_;
static struct {
	EACH(MEMBER)
} of;

static void
find(const char *library)
{
	void *h = library == NULL ? RTLD_DEFAULT : dlopen(library, RTLD_NOW | RTLD_GLOBAL);

#define FIND(name) *(void **)&of.name##_ = dlsym(h, #name);
	EACH(FIND)
}
#define socket of.socket_
#define bind of.bind_
#define listen of.listen_
#define accept of.accept_
#define connect of.connect_
#define shutdown of.shutdown_
#define close of.close_
#define getsockname of.getsockname_
#define getsockopt of.getsockopt_
#define setsockopt of.setsockopt_
#define ioctl of.ioctl_
#define read of.read_
#define write of.write_
#define recv of.recv_
#define recvfrom of.recvfrom_
#define sendto of.sendto_
#define poll of.poll_
#define epoll_create1 of.epoll_create1_
#define epoll_ctl of.epoll_ctl_
#define epoll_wait of.epoll_wait_
#define dup of.dup_
#define dup2 of.dup2_

#define SERVERS 4u
#define CALLERS 4u
#define CALLS 5u
#define OCTETS 50000u
#define PINGS 100u

static struct sockaddr_in where;
static int listener, set, stop, pings;
static atomic_uint served, pinged;
static atomic_bool over;

static void
check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}
#define CHECK(what) check(what, #what)

static void
begin(pthread_t *t, void *(*fn)(void *), void *arg)
{
	CHECK(pthread_create(t, NULL, fn, arg) == 0);
}

/* --- the server --- */

static void
give_back(int fd)
{
	char data[4096];
	ssize_t n, k, done;

	while ((n = read(fd, data, sizeof(data))) > 0) {
		for (done = 0; done < n; done += k) {
			k = write(fd, data + done, (size_t)(n - done));
			CHECK(k > 0);
		}
	}
	CHECK(n == 0);
	CHECK(close(fd) == 0);
	served++;
}

static void
take_one(void)
{
	int fd = accept(listener, NULL, NULL);

	/* Another thread was faster. */
	if (fd < 0)
		CHECK(errno == EAGAIN);
	else
		give_back(fd);
}

static void *
serves_by_epoll(void *arg)
{
	struct epoll_event e;

	for (;;) {
		CHECK(epoll_wait(set, &e, 1, -1) == 1);
		if (e.data.fd == stop)
			return arg;
		take_one();
	}
}

static void *
serves_by_poll(void *arg)
{
	struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = stop, .events = POLLIN}};

	for (;;) {
		CHECK(poll(p, 2, -1) > 0);
		if (p[1].revents != 0)
			return arg;
		take_one();
	}
}

static void *
answers_pings(void *arg)
{
	struct sockaddr_in from;
	socklen_t len;
	uint32_t number;

	while (!over) {
		struct pollfd p = {.fd = pings, .events = POLLIN};

		if (poll(&p, 1, 20) <= 0)
			continue;
		len = sizeof(from);
		if (recvfrom(pings, &number, sizeof(number), MSG_DONTWAIT, (struct sockaddr *)&from, &len) !=
		    sizeof(number))
			continue;
		CHECK(sendto(pings, &number, sizeof(number), 0, (struct sockaddr *)&from, len) == sizeof(number));
	}
	return arg;
}

static void
add(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0);
}

static void
serve(void)
{
	const uint64_t one = 1;
	pthread_t t[SERVERS + 2];

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	pings = socket(AF_INET, SOCK_DGRAM, 0);
	stop = eventfd(0, 0);
	set = epoll_create1(0);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0);
	CHECK(bind(listener, (struct sockaddr *)&where, sizeof(where)) == 0);
	CHECK(bind(pings, (struct sockaddr *)&where, sizeof(where)) == 0);
	CHECK(listen(listener, 64) == 0);
	add(listener);
	add(stop);
	for (unsigned int i = 0; i < SERVERS; i++)
		begin(&t[i], i % 2 == 0 ? serves_by_epoll : serves_by_poll, NULL);
	for (unsigned int i = 0; i < 2; i++)
		begin(&t[SERVERS + i], answers_pings, NULL);
	printf("listens\n");
	fflush(stdout);
	/* Until the caller says that it is through: by the end of its own. */
	CHECK(getchar() == EOF);
	over = true;
	CHECK(write(stop, &one, sizeof(one)) == sizeof(one));
	for (unsigned int i = 0; i < SERVERS + 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(served == CALLERS * CALLS);
}

/* --- the caller --- */

static void *
writes(void *arg)
{
	const int fd = *(const int *)arg;
	uint8_t data[1000];
	uint32_t sent = 0;

	while (sent < OCTETS) {
		for (unsigned int i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)((sent + i) % 251);
		CHECK(write(fd, data, sizeof(data)) == (ssize_t)sizeof(data));
		sent += sizeof(data);
	}
	CHECK(shutdown(fd, SHUT_WR) == 0);
	return NULL;
}

static void *
calls(void *arg)
{
	for (unsigned int i = 0; i < CALLS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), waiting;
		struct sockaddr_in own;
		struct tcp_info info;
		socklen_t len;
		uint8_t data[3000];
		uint32_t got = 0;
		pthread_t t;
		ssize_t n;

		CHECK(fd >= 0);
		CHECK(connect(fd, (struct sockaddr *)&where, sizeof(where)) == 0);
		begin(&t, writes, &fd);
		while ((n = read(fd, data, sizeof(data))) > 0) {
			for (ssize_t k = 0; k < n; k++)
				CHECK(data[k] == (uint8_t)(got++ % 251));
			/* Questions and options while the other thread sends. */
			len = sizeof(info);
			CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
			CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){i % 2}, sizeof(int)) == 0);
			len = sizeof(own);
			CHECK(getsockname(fd, (struct sockaddr *)&own, &len) == 0);
			CHECK(ioctl(fd, FIONREAD, &waiting) == 0);
		}
		CHECK(n == 0 && got == OCTETS);
		CHECK(pthread_join(t, NULL) == 0);
		CHECK(close(fd) == 0);
	}
	return arg;
}

static void *
ping(void *arg)
{
	for (uint32_t i = 0; i < PINGS; i++)
		CHECK(sendto(pings, &i, sizeof(i), 0, (struct sockaddr *)&where, sizeof(where)) == sizeof(i));
	return arg;
}

static void *
pong(void *arg)
{
	uint32_t number;

	while (!over) {
		struct pollfd p = {.fd = pings, .events = POLLIN};

		if (poll(&p, 1, 20) > 0 && recv(pings, &number, sizeof(number), MSG_DONTWAIT) == sizeof(number)) {
			CHECK(number < PINGS);
			pinged++;
		}
	}
	return arg;
}

/* Numbers of all kinds, and sets that others wait at. */
static void *
comes_and_goes(void *arg)
{
	struct epoll_event e = {.events = EPOLLIN};

	while (!over) {
		int s = socket(AF_INET, SOCK_STREAM, 0), other = epoll_create1(0), copy = dup(s);

		CHECK(s >= 0 && other >= 0 && copy >= 0);
		e.data.fd = s;
		CHECK(epoll_ctl(other, EPOLL_CTL_ADD, s, &e) == 0);
		CHECK(epoll_ctl(set, EPOLL_CTL_ADD, copy, &e) == 0);
		CHECK(epoll_wait(other, &e, 1, 0) >= 0);
		CHECK(dup2(s, copy) == copy);
		CHECK(close(s) == 0 && close(copy) == 0 && close(other) == 0);
		usleep(500); /* others want the CPU, too */
	}
	return arg;
}

static void *
waits(void *arg)
{
	struct epoll_event e;

	while (!over) {
		CHECK(epoll_wait(set, &e, 1, 5) >= 0);
		usleep(500);
	}
	return arg;
}

static void
call(void)
{
	pthread_t caller[CALLERS], pinger[2], other[6];

	set = epoll_create1(0);
	pings = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(pings >= 0);
	for (unsigned int i = 0; i < 2; i++) {
		begin(&other[i], pong, NULL);
		begin(&other[2 + i], comes_and_goes, NULL);
		begin(&other[4 + i], waits, NULL);
		begin(&pinger[i], ping, NULL);
	}
	for (unsigned int i = 0; i < CALLERS; i++)
		begin(&caller[i], calls, NULL);
	for (unsigned int i = 0; i < CALLERS; i++)
		CHECK(pthread_join(caller[i], NULL) == 0);
	for (unsigned int i = 0; i < 2; i++)
		CHECK(pthread_join(pinger[i], NULL) == 0);
	over = true;
	for (unsigned int i = 0; i < 6; i++)
		CHECK(pthread_join(other[i], NULL) == 0);
	CHECK(pinged != 0);
	printf("%u of %u pings came back\n", pinged, 2 * PINGS);
}

int
main(int argc, char **argv)
{
	CHECK(argc == 4 || argc == 5);
	find(argv[4]);
	where = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[3]))};
	CHECK(inet_pton(AF_INET, argv[2], &where.sin_addr) == 1);
	if (strcmp(argv[1], "serve") == 0)
		serve();
	else
		call();
	return 0;
}
