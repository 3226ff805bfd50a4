/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The socket between two ends. It never blocks: whoever waits drives the port, and looks at the socket only every so
 * often, because a system call takes longer than the port's whole work on a packet.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "end.h"

#define LOOK_US 20u
#define CALL_S 10u
#define PART_MS 2000
#define MOMENT_PART 5u /* of a second, for ends that have hung up */

/* Drives the port until the descriptor is ready. -ETIMEDOUT: deadline (of the TSC, 0: none) passed. */
static int
wait_fd(struct rend *e, int fd, short events, uint64_t deadline)
{
	const uint64_t gap = rte_get_tsc_hz() / 1000000 * LOOK_US;
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t next = 0, now;

	for (;;) {
		rend_idle(e);
		now = rte_get_tsc_cycles();
		if (now < next)
			continue;
		next = now + gap;
		if (poll(&p, 1, 0) > 0)
			return 0;
		if (rend_stopping())
			return -EINTR;
		if (deadline != 0 && now > deadline)
			return -ETIMEDOUT;
	}
}

static int
call(struct rend *e, const struct addrinfo *list)
{
	const uint64_t deadline = rte_get_tsc_cycles() + CALL_S * rte_get_tsc_hz();
	const struct addrinfo *a;
	int fd, err, rc = 0;
	socklen_t len;

	/* The server may still be on its way up. */
	for (a = list;; a = a->ai_next == NULL ? list : a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return -errno;
		rc = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : -errno;
		if (rc == -EINPROGRESS && (rc = wait_fd(e, fd, POLLOUT, deadline)) == 0) {
			len = sizeof(err);
			rc = getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 ? -err : -errno;
		}
		if (rc == 0) {
			e->sock = fd;
			return 0;
		}
		close(fd);
		if (rc == -EINTR || rc == -ETIMEDOUT || rte_get_tsc_cycles() > deadline)
			return rc;
		usleep(10000);
	}
}

static int
answer(struct rend *e, const struct addrinfo *list)
{
	const struct addrinfo *a;
	int fd, on = 1, rc = -EADDRNOTAVAIL;

	for (a = list; a != NULL; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fd < 0) {
			rc = -errno;
			continue;
		}
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 1) != 0) {
			rc = -errno;
			close(fd);
			continue;
		}
		rc = wait_fd(e, fd, POLLIN, 0);
		if (rc == 0) {
			e->sock = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
			rc = e->sock < 0 ? -errno : 0;
		}
		close(fd);
		return rc;
	}
	return rc;
}

int
rend_connect(struct rend *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = e->server ? AI_PASSIVE : 0}, *list;
	int rc, on = 1;
	char port[8];

	if (e->sock >= 0)
		return 0;
	snprintf(port, sizeof(port), "%u", e->tcp_port);
	rc = getaddrinfo(e->server ? NULL : e->host, port, &hints, &list);
	if (rc != 0)
		return rend_fail(EINVAL, "host '%s': %s", e->server ? "(any)" : e->host, gai_strerror(rc));
	rc = e->server ? answer(e, list) : call(e, list);
	freeaddrinfo(list);
	if (rc == -EINTR)
		return rc;
	if (rc != 0)
		return rend_fail(-rc, "TCP port %s of %s: %s", port, e->server ? "this host" : e->host,
				 rc == -EADDRINUSE ? "another process has it; end it, or take another port at both ends"
						   : strerror(-rc));
	setsockopt(e->sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return 0;
}

int
rend_send(struct rend *e, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;
	int rc;

	while (len > 0) {
		n = send(e->sock, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return rend_fail(errno, "the other end: %s", strerror(errno));
		if (n < 0) {
			rc = wait_fd(e, e->sock, POLLOUT, 0);
			if (rc != 0)
				return rc;
			continue;
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
rend_recv(struct rend *e, void *data, size_t len)
{
	char *at = data;
	ssize_t n;
	int rc;

	while (len > 0) {
		n = recv(e->sock, at, len, 0);
		if (n == 0)
			return rend_fail(ECONNRESET, "the other end hung up, %zu bytes were to come", len);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return rend_fail(errno, "the other end: %s", strerror(errno));
		if (n < 0) {
			rc = wait_fd(e, e->sock, POLLIN, 0);
			if (rc != 0)
				return rc;
			continue;
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
rend_swap(struct rend *e, const void *mine, void *theirs, size_t len)
{
	int rc;

	if (!e->server) {
		rc = rend_send(e, mine, len);
		return rc != 0 ? rc : rend_recv(e, theirs, len);
	}
	rc = rend_recv(e, theirs, len);
	return rc != 0 ? rc : rend_send(e, mine, len);
}

bool
rend_hung_up(const struct rend *e)
{
	char c;
	ssize_t n;

	if (e->sock < 0)
		return false;
	n = recv(e->sock, &c, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void
rend_linger(struct rend *e)
{
	const uint64_t hz = rte_get_tsc_hz(), gap = hz / 1000000 * LOOK_US;
	uint64_t next = 0, until = 0, now;
	char c = 0;

	/* Who has hung up does not hear it. */
	if (e->sock < 0 || send(e->sock, &c, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		until = rte_get_tsc_cycles() + hz / MOMENT_PART;
	while (!rend_stopping()) {
		rend_idle(e);
		now = rte_get_tsc_cycles();
		if (until != 0 && now > until)
			return;
		if (until != 0 || now < next)
			continue;
		next = now + gap;
		if (rend_hung_up(e))
			until = now + hz / MOMENT_PART;
		else if (recv(e->sock, &c, 1, MSG_DONTWAIT) == 1)
			return;
	}
}

/*
 * What a port's peer shares with it (net_memif's rings) is gone with the peer, whatever the port does at that moment. So
 * each end says that it has closed its port, and goes when the other one has. Both ends of --self know.
 */
void
rend_hangup(struct rend *e)
{
	struct pollfd p = {.fd = e->sock, .events = POLLIN};
	char rest[64];

	if (e->sock < 0)
		return;
	shutdown(e->sock, SHUT_WR);
	while (!e->quiet && !rend_stopping() && poll(&p, 1, PART_MS) == 1 && recv(e->sock, rest, sizeof(rest), 0) > 0)
		;
	close(e->sock);
	e->sock = -1;
}
