/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A connection to the owner of the ports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "owner.h"

#define FDS_MAX SHARE_PIECES

const char *
owner_path(void)
{
	static char *_Atomic known;
	const char *path = getenv(SHARE_ENV);

	/* Programs (nginx) throw their environment away. */
	if (known == NULL && path != NULL && path[0] != '\0')
		known = strdup(path);
	return known != NULL ? known : SHARE_SOCKET;
}

int
owner_connect(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static void
send_msg(int fd, struct share_msg *m, const int *fds, unsigned int n)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} ctl = {{0}};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n != 0) {
		h.msg_control = ctl.buf;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(&ctl.align), fds, sizeof(int) * n);
	}
	while (sendmsg(fd, &h, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static int
receive_msg(int fd, struct share_msg *m, int *fds, unsigned int max)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf)};
	unsigned int i, n = 0;
	int got[FDS_MAX];
	struct cmsghdr *c;
	ssize_t len;

	for (i = 0; i < max; i++)
		fds[i] = -1;
	do
		len = recvmsg(fd, &h, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len != sizeof(*m) || (h.msg_flags & MSG_TRUNC) != 0)
		/* The messages of another version may have another length. */
		return len >= (ssize_t)SHARE_HELLO_LEN && m->op == SHARE_HELLO && m->err == EPROTO ? EPROTO : EIO;
	c = CMSG_FIRSTHDR(&h);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(got, CMSG_DATA(c), n * sizeof(int));
	}
	for (i = 0; i < n; i++) {
		if (i < max)
			fds[i] = got[i];
		else
			close(got[i]);
	}
	return m->err;
}

int
owner_ask(int fd, struct share_msg *m, const int *send, unsigned int num_send, int *fds, unsigned int num_fds)
{
	/* Who turns a program away says why, and does not listen. */
	send_msg(fd, m, send, num_send);
	return receive_msg(fd, m, fds, num_fds);
}
