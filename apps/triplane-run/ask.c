/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions to who shares ports. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "run.h"

int
run_call(const char *at)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(at) >= sizeof(sa.sun_path))
		return run_refuse("socket '%s' has more than %zu characters", at, sizeof(sa.sun_path) - 1), -1;
	memcpy(sa.sun_path, at, strlen(at));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	if (errno == EACCES)
		run_refuse("%s: this user may not call there; the owner's user and root may", at);
	else
		run_refuse("%s: %s; a process shares its ports there by 'share on %s' of triplane", at, strerror(errno),
			   at);
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
fds_close(struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			close(fd);
		}
	}
}

int
run_ask(int fd, enum share_op op, struct share_msg *m)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHARE_PIECES)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};
	ssize_t n;

	m->op = op;
	if (send(fd, m, sizeof(*m), MSG_NOSIGNAL) != sizeof(*m))
		return EIO;
	n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC);
	if (n >= 0)
		fds_close(&h);
	return n != sizeof(*m) ? EIO : m->err;
}

int
run_hello(int fd, const char *at, uint32_t index, struct share_hello *hello)
{
	struct share_msg m = {.hello = {.version = SHARE_VERSION, .index = index}};
	int err = run_ask(fd, SHARE_HELLO, &m);

	*hello = m.hello;
	if (err == 0 || err == ENOENT)
		return err;
	if (err == EPROTO)
		run_refuse("%s: the process there speaks version %u, this program %u", at, m.hello.version,
			   SHARE_VERSION);
	else
		run_refuse("%s: the process there does not speak as it should", at);
	return EPROTO;
}

/* The port of the device at that place in the list is up. False: or there is no such device any more. */
static bool
active(const char *at, uint32_t index)
{
	struct share_msg m = {0};
	struct share_hello h;
	int fd = run_call(at);
	bool up = false;

	if (fd < 0)
		return false;
	if (run_hello(fd, at, index, &h) == 0) {
		memcpy(m.open.name, h.name, sizeof(m.open.name));
		up = run_ask(fd, SHARE_OPEN, &m) == 0 && run_ask(fd, SHARE_QUERY_PORT, &m) == 0 &&
		     m.port.state == IBV_PORT_ACTIVE;
	}
	close(fd);
	return up;
}

void
run_wait_active(const char *at, unsigned int num, unsigned int ms)
{
	for (uint32_t i = 0; i < num; i++)
		for (; ms > 0 && !active(at, i); ms--)
			usleep(1000);
}
