/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages over a UNIX stream socket. A message is read in two pieces, header and payload, never more: the kernel
 * hands descriptors over with the bytes they were sent with, so those that came belong to this message.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "vfu.h"

/* A client that takes no answers for so long is cut off. */
#define SEND_TIMEOUT_S 5

static int
path_in_use(const struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	struct stat st;

	if (fd >= 0 && lstat(sa->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		close(fd);
		return -EEXIST;
	}
	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? -EADDRINUSE : 0;
	close(fd);
	return rc;
}

int
vfu_listen(struct vfu_conn *c, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int rc;

	c->fd = c->listen_fd = -1;
	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	rc = path_in_use(&sa);
	if (rc != 0)
		return rc;
	unlink(path);
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0)
		return -errno;
	if (bind(c->listen_fd, (const struct sockaddr *)&sa, sizeof(sa)) != 0 || listen(c->listen_fd, 4) != 0) {
		rc = -errno;
		close(c->listen_fd);
		c->listen_fd = -1;
	}
	return rc;
}

static void
message_clear(struct vfu_conn *c)
{
	for (unsigned int i = 0; i < c->nfds; i++)
		close(c->fds[i]);
	c->nfds = 0;
	c->got = 0;
}

void
vfu_accept(struct vfu *s, struct vfu_conn *c)
{
	struct timeval tv = {.tv_sec = SEND_TIMEOUT_S};

	c->fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0)
		return;
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	c->got = c->nfds = 0;
	vfu_log(s, "client attached");
}

void
vfu_hangup(struct vfu *s, struct vfu_conn *c, const char *why)
{
	vfu_log(s, "client detached: %s", why);
	message_clear(c);
	close(c->fd);
	c->fd = -1;
	vfu_detach(s);
}

/* Keeps the descriptors that came along; false: more than a message may carry. */
static bool
take_fds(struct vfu_conn *c, struct msghdr *mh)
{
	bool fits = (mh->msg_flags & MSG_CTRUNC) == 0;

	for (struct cmsghdr *cm = CMSG_FIRSTHDR(mh); cm != NULL; cm = CMSG_NXTHDR(mh, cm)) {
		int got[VFU_MAX_FDS];
		size_t n;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(got, CMSG_DATA(cm), n * sizeof(int));
		for (size_t i = 0; i < n; i++) {
			if (c->nfds < VFU_MAX_FDS) {
				c->fds[c->nfds++] = got[i];
			} else {
				close(got[i]);
				fits = false;
			}
		}
	}
	return fits;
}

/* Up to want bytes to dst: bytes read, 0: none there now, -1: the client is gone or broke the protocol (*why). */
static ssize_t
receive(struct vfu *s, struct vfu_conn *c, void *dst, size_t want, const char **why)
{
	union {
		char buf[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {dst, want};
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof(control.buf)};
	ssize_t n = recvmsg(c->fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		*why = n == 0 ? "it closed the socket" : strerror(errno);
		return -1;
	}
	if (!take_fds(c, &mh)) {
		s->malformed++;
		*why = "too many descriptors with one message";
		return -1;
	}
	return n;
}

static bool
send_reply(struct vfu_conn *c)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct vfu_reply *rp = &c->reply;
	uint32_t sent = 0;

	while (sent < rp->len) {
		struct iovec iov = {rp->buf + sent, rp->len - sent};
		struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n;

		if (rp->fd >= 0 && sent == 0) {
			struct cmsghdr *cm = &control.align;

			cm->cmsg_level = SOL_SOCKET;
			cm->cmsg_type = SCM_RIGHTS;
			cm->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(cm), &rp->fd, sizeof(int));
			mh.msg_control = control.buf;
			mh.msg_controllen = sizeof(control.buf);
		}
		n = sendmsg(c->fd, &mh, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		sent += (uint32_t)n;
	}
	return true;
}

/* The whole message is here. NULL, or why the client has to go. */
static const char *
complete(struct vfu *s, struct vfu_conn *c)
{
	vfu_handle(s, &c->hdr, c->data, c->fds, c->nfds, &c->reply);
	c->nfds = 0; /* vfu_handle took or closed them */
	c->got = 0;
	if (!send_reply(c))
		return "it takes no answer";
	if (s->drop)
		return "it broke the protocol";
	return NULL;
}

/* Reads on; NULL, or why the client has to go. *more: there may be more to read. */
static const char *
advance(struct vfu *s, struct vfu_conn *c, bool *more)
{
	const char *why = NULL;
	bool in_header = c->got < sizeof(c->hdr);
	uint8_t *dst = in_header ? (uint8_t *)&c->hdr + c->got : c->data + (c->got - sizeof(c->hdr));
	size_t want = in_header ? sizeof(c->hdr) - c->got : c->hdr.size - c->got;
	ssize_t n = receive(s, c, dst, want, &why);

	*more = n > 0;
	if (n <= 0)
		return why;
	c->got += (uint32_t)n;
	if (c->got < sizeof(c->hdr))
		return NULL;
	/* A size that cannot be: where the next message starts is lost. */
	if (c->hdr.size < sizeof(c->hdr) || c->hdr.size > VFU_MAX_MSG) {
		s->malformed++;
		return "a message has an impossible size";
	}
	return c->got == c->hdr.size ? complete(s, c) : NULL;
}

bool
vfu_input(struct vfu *s, struct vfu_conn *c)
{
	bool more = true;

	/* Bounded, so that a busy client does not keep the caller from its other descriptors. */
	for (unsigned int i = 0; i < 64 && more; i++) {
		const char *why = advance(s, c, &more);

		if (why == NULL && vfu_dma_lost(s))
			why = "it cut a file short that the card had mapped";
		if (why != NULL) {
			vfu_hangup(s, c, why);
			return false;
		}
	}
	return true;
}
