/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions to the owner of the port. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "verbs_client.h"

#define FDS_MAX SHARE_PIECES

int
vc_connect(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *path = getenv(SHARE_ENV);
	int fd, err;

	path = path == NULL || path[0] == '\0' ? SHARE_SOCKET : path;
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

static int
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
	while (sendmsg(fd, &h, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return EIO;
	return 0;
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
	if (len != sizeof(*m))
		return EIO;
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
vc_exchange(int fd, struct share_msg *m, const int *send, unsigned int num_send, int *fds, unsigned int num_fds)
{
	int err = send_msg(fd, m, send, num_send);

	return err != 0 ? err : receive_msg(fd, m, fds, num_fds);
}

int
vc_call(struct vc_context *c, struct share_msg *m, const int *send, unsigned int num_send, int *fds,
	unsigned int num_fds)
{
	int err;

	pthread_mutex_lock(&c->lock);
	err = c->hca.dead ? EIO : vc_exchange(c->fd, m, send, num_send, fds, num_fds);
	pthread_mutex_unlock(&c->lock);
	return err;
}

int
vc_ask(struct vc_context *c, enum share_op op, uint32_t handle, struct share_msg *m)
{
	m->op = op;
	m->handle = handle;
	return vc_call(c, m, NULL, 0, NULL, 0);
}

static int
chunk_add(struct vc_context *c, const struct share_mem *mem, int fd)
{
	struct vc_chunk *all;
	void *va;

	if (fd < 0 || mem->chunk != c->num_chunks)
		return EPROTO;
	all = realloc(c->chunk, (c->num_chunks + 1) * sizeof(*all));
	if (all == NULL)
		return ENOMEM;
	c->chunk = all;
	va = mmap(NULL, mem->chunk_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (va == MAP_FAILED)
		return errno;
	/* What a child writes into queues of its parent would reach the card. */
	(void)madvise(va, mem->chunk_len, MADV_DONTFORK);
	all[c->num_chunks++] = (struct vc_chunk){va, mem->chunk_len};
	return 0;
}

void *
vc_mem(struct vc_context *c, const struct share_mem *mem, int fd)
{
	void *va = NULL;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (mem->chunk >= c->num_chunks)
		err = chunk_add(c, mem, fd);
	if (err == 0)
		va = c->chunk[mem->chunk].va + mem->off;
	pthread_mutex_unlock(&c->lock);
	if (fd >= 0)
		close(fd);
	errno = err;
	return va;
}
