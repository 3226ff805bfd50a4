/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Linux's end of tcp_many, by sockets, and what both ends send. */
#include <stdarg.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include "tcp_many.h"
#include "tcp_relay.h"

struct shared *shared;
uint32_t total_flows, open_flows;
uint64_t seed;

void
wrong(int who, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (shared->wrong[who][0] == 0)
		vsnprintf(shared->wrong[who], sizeof(shared->wrong[who]), fmt, ap);
	va_end(ap);
}

/* --- what is sent --- */

uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Message number m of a connection's direction: whose it is, then octets that are nowhere else. */
static void
message(uint32_t id, int from, uint64_t m, uint8_t out[MESSAGE + 4])
{
	const uint64_t key = mix(seed << 40 ^ (uint64_t)id << 1 ^ (uint64_t)from) + m * 16;
	uint64_t word;
	uint32_t i;

	memcpy(out, &id, 4);
	for (i = 0; i < MESSAGE / 8; i++) {
		word = mix(key + i);
		memcpy(out + 4 + i * 8, &word, 8);
	}
}

void
content(uint32_t id, int from, uint64_t off, uint8_t *to, size_t len)
{
	uint8_t one[MESSAGE + 4];
	size_t n;

	for (; len != 0; len -= n, to += n, off += n) {
		const size_t at = off % MESSAGE;

		message(id, from, off / MESSAGE, one);
		n = RTE_MIN(len, MESSAGE - at);
		memcpy(to, one + at, n);
	}
}

bool
received(struct flow *f, int who, const uint8_t *data, size_t n)
{
	static uint8_t should[65536];
	size_t i;

	if (f->got + n > OCTETS) {
		wrong(who, "connection %u: octets behind the last one", f->id);
		return false;
	}
	content(f->id, !who, f->got, should, n);
	if (memcmp(data, should, n) != 0) {
		for (i = 0; data[i] == should[i]; i++)
			;
		wrong(who, "connection %u: octet %lu is %#x, not %#x", f->id, f->got + i, data[i], should[i]);
		return false;
	}
	shared->messages[who] += (f->got + n) / MESSAGE - f->got / MESSAGE;
	f->got += n;
	return true;
}

bool
introduced(struct flow *f, int who, uint32_t id)
{
	f->id = id;
	f->known = true;
	if (id >= total_flows || id % 2 == (uint32_t)who) {
		wrong(who, "a connection that says it is %u", id);
		return false;
	}
	if (shared->seen[id]++ != 0)
		wrong(who, "connection %u came twice", id);
	return true;
}

size_t
next_burst(struct flow *f)
{
	/* Half of the connections: a message a call. */
	f->random = mix(f->random + 1);
	return (size_t)RTE_MIN(OCTETS - f->sent, ((f->id & 8) != 0 ? 1 : f->random % BURST + 1) * MESSAGE);
}

struct flow *
free_flow(struct flow *flows)
{
	struct flow *f = flows;

	while (f < flows + OPEN_MAX && f->used)
		f++;
	return f == flows + OPEN_MAX ? NULL : f;
}

/* --- Linux's end --- */

static int ep;

static void
linux_add(struct flow *f, int fd, bool opener, uint32_t id)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = f};
	const int one = (id & 2) != 0;

	*f = (struct flow){.fd = fd, .used = true, .opener = opener, .known = opener, .id = id, .random = (uint64_t)fd};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) != 0)
		relay_die("epoll");
}

static void
linux_call(struct flow *flows, uint32_t id)
{
	struct sockaddr to = relay_addr(OWN, OWN_PORT);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || (connect(fd, &to, sizeof(to)) != 0 && errno != EINPROGRESS))
		relay_die("connect");
	linux_add(free_flow(flows), fd, true, id);
}

/* false: it has ended. */
static bool
linux_work(struct flow *f)
{
	static uint8_t data[65536];
	ssize_t n;

	if (!f->known) {
		uint32_t id;

		n = recv(f->fd, &id, sizeof(id), MSG_PEEK);
		if (n < (ssize_t)sizeof(id))
			return n != 0 && (n > 0 || errno == EAGAIN);
		if (!introduced(f, LINUX, id))
			return false;
	}
	while (!f->end && (n = recv(f->fd, data, sizeof(data), 0)) >= 0) {
		f->end = n == 0;
		if (!received(f, LINUX, data, (size_t)n))
			return false;
	}
	if (!f->end && errno != EAGAIN) {
		wrong(LINUX, "connection %u: recv: %s", f->id, strerror(errno));
		return false;
	}
	while (f->sent < OCTETS) {
		const size_t burst = next_burst(f);

		content(f->id, LINUX, f->sent, data, burst);
		n = send(f->fd, data, burst, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
			return true;
		if (n < 0) {
			wrong(LINUX, "connection %u: send: %s", f->id, strerror(errno));
			return false;
		}
		f->sent += (uint64_t)n;
	}
	if (!f->shut) {
		shutdown(f->fd, SHUT_WR);
		f->shut = true;
	}
	return !f->end;
}

static void
linux_done(struct flow *f)
{
	if (f->got != OCTETS || f->sent != OCTETS)
		wrong(LINUX, "connection %u: ended with %llu octets received, %llu sent", f->id,
		      (unsigned long long)f->got, (unsigned long long)f->sent);
	else
		shared->flows[LINUX]++;
	close(f->fd);
	f->used = false;
}

void
linux_end(int listener)
{
	static struct flow flows[OPEN_MAX];
	struct epoll_event e[64], in = {.events = EPOLLIN, .data.ptr = NULL};
	uint32_t next = 1, open = 0;
	int i, n, fd;

	ep = epoll_create1(0);
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, listener, &in) != 0)
		relay_die("epoll");
	while (shared->flows[LINUX] < total_flows && shared->wrong[LINUX][0] == 0) {
		for (; open < open_flows / 2 && next < total_flows; open++, next += 2)
			linux_call(flows, next);
		n = epoll_wait(ep, e, RTE_DIM(e), 1000);
		for (i = 0; i < n; i++) {
			struct flow *f = e[i].data.ptr;

			if (f == NULL) {
				while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
					linux_add(free_flow(flows), fd, false, 0);
			} else if (!linux_work(f)) {
				open -= f->opener;
				linux_done(f);
			}
		}
	}
}
