/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Requests over a vfio-user socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "log.h"
#include "user_sock.h"

#define ANSWER_S 5
#define CONFIG_MAX 4096u

static const char version_json[] = "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536,"
				   "\"max_dma_maps\":65535,\"pgsizes\":4096,\"" VFU_CAP_SHARED_UAR "\":true}}";

static bool
send_all(int fd, struct msghdr *mh)
{
	while (mh->msg_iovlen > 0) {
		ssize_t n = sendmsg(fd, mh, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		mh->msg_control = NULL; /* went with the first byte */
		mh->msg_controllen = 0;
		while (mh->msg_iovlen > 0 && (size_t)n >= mh->msg_iov->iov_len) {
			n -= (ssize_t)mh->msg_iov->iov_len;
			mh->msg_iov++;
			mh->msg_iovlen--;
		}
		if (mh->msg_iovlen > 0) {
			mh->msg_iov->iov_base = RTE_PTR_ADD(mh->msg_iov->iov_base, n);
			mh->msg_iov->iov_len -= (size_t)n;
		}
	}
	return true;
}

static bool
send_request(struct user_sock *s, const struct vfu_header *hdr, const struct user_msg *m)
{
	union {
		char buf[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct vfu_header h = *hdr;
	struct iovec iov[3] = {
		{&h, sizeof(h)}, {(void *)(uintptr_t)m->head, m->head_len}, {(void *)(uintptr_t)m->data, m->data_len}};
	struct msghdr mh = {.msg_iov = iov, .msg_iovlen = RTE_DIM(iov)};

	if (m->num_fds != 0) {
		size_t bytes = m->num_fds * sizeof(int);

		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.align), m->fds, bytes);
	}
	return send_all(s->fd, &mh);
}

/* Exactly len bytes; a descriptor that comes along is kept in *fd. */
static bool
receive(struct user_sock *s, void *buf, size_t len, int *fd)
{
	size_t got = 0;

	while (got < len) {
		union {
			char buf[CMSG_SPACE(sizeof(int))];
			struct cmsghdr align;
		} control;
		struct iovec iov = {RTE_PTR_ADD(buf, got), len - got};
		struct msghdr mh = {.msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.buf,
				    .msg_controllen = sizeof(control.buf)};
		ssize_t n = recvmsg(s->fd, &mh, MSG_CMSG_CLOEXEC);
		struct cmsghdr *cm = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (cm != NULL && cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SCM_RIGHTS) {
			if (*fd >= 0)
				close(*fd);
			memcpy(fd, CMSG_DATA(cm), sizeof(*fd));
		}
		got += (size_t)n;
	}
	return true;
}

static int
exchange(struct user_sock *s, enum vfu_command cmd, struct user_msg *m)
{
	struct vfu_header h = {.id = s->next_id++, .cmd = (uint16_t)cmd};
	uint16_t id = h.id;
	size_t len;

	h.size = (uint32_t)(sizeof(h) + m->head_len + m->data_len);
	if (!send_request(s, &h, m) || !receive(s, &h, sizeof(h), &m->reply_fd))
		return -EIO;
	if (h.id != id || h.cmd != cmd || (h.flags & VFU_F_TYPE) != VFU_F_TYPE_REPLY || h.size < sizeof(h))
		return -EIO;
	len = h.size - sizeof(h);
	if ((h.flags & VFU_F_ERROR) != 0)
		return len != 0 || h.error == 0 || h.error > 4095 ? -EIO : -(int)h.error;
	if (len > m->reply_len || !receive(s, m->reply, len, &m->reply_fd))
		return -EIO;
	m->reply_len = len;
	return 0;
}

int
mlx4_user_sock_call(struct user_sock *s, enum vfu_command cmd, struct user_msg *m)
{
	int rc = -EIO;

	m->reply_fd = -1;
	pthread_mutex_lock(&s->lock);
	if (!s->dead) {
		rc = exchange(s, cmd, m);
		if (rc == -EIO) {
			/* What the other end still sends can belong to anything. */
			s->dead = true;
			MLX4_LOG(ERR, "%s: the card's process is gone or does not answer within %u s", s->path,
				 ANSWER_S);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (rc != 0 && m->reply_fd >= 0) {
		close(m->reply_fd);
		m->reply_fd = -1;
	}
	return rc;
}

static int
negotiate(struct user_sock *s)
{
	struct vfu_version v = {VFU_VERSION_MAJOR, VFU_VERSION_MINOR};
	char reply[sizeof(v) + VFU_VERSION_JSON_MAX];
	struct user_msg m = {.head = &v,
			     .head_len = sizeof(v),
			     .data = version_json,
			     .data_len = sizeof(version_json),
			     .reply = reply,
			     .reply_len = sizeof(reply) - 1};
	int rc = mlx4_user_sock_call(s, VFU_VERSION, &m);

	if (rc != 0) {
		MLX4_LOG(ERR, "socket=%s: no agreement on vfio-user %u.%u: %s (a card serves one client at a time)",
			 s->path, v.major, v.minor, rte_strerror(-rc));
		return rc;
	}
	reply[m.reply_len] = '\0';
	if (m.reply_len < sizeof(v) || strstr(reply + sizeof(v), VFU_CAP_SHARED_UAR) == NULL) {
		MLX4_LOG(ERR,
			 "socket=%s: the server does not share its doorbell pages; wanted one that does, such as "
			 "triplane-hca",
			 s->path);
		return -ENOTSUP;
	}
	return 0;
}

int
mlx4_user_sock_open(struct user_sock *s, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct timeval tv = {.tv_sec = ANSWER_S};
	int rc;

	memset(s, 0, sizeof(*s));
	s->path = path;
	if (strlen(path) >= sizeof(sa.sun_path)) {
		MLX4_LOG(ERR, "socket=%s: %zu characters, wanted at most %zu", path, strlen(path),
			 sizeof(sa.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(sa.sun_path, path, strlen(path));
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(s->fd, (const struct sockaddr *)&sa, sizeof(sa)) != 0) {
		rc = -errno;
		MLX4_LOG(ERR, "socket=%s: %s; wanted the socket of a running triplane-hca", path, rte_strerror(-rc));
		close(s->fd);
		return rc;
	}
	pthread_mutex_init(&s->lock, NULL);
	rc = negotiate(s);
	if (rc != 0)
		mlx4_user_sock_close(s);
	return rc;
}

void
mlx4_user_sock_close(struct user_sock *s)
{
	close(s->fd);
	s->fd = -1;
	pthread_mutex_destroy(&s->lock);
}

int
mlx4_user_sock_read(struct user_sock *s, uint32_t region, uint64_t off, void *buf, uint32_t len)
{
	struct vfu_region_access a = {.offset = off, .region = region, .count = len};
	uint8_t reply[sizeof(a) + CONFIG_MAX];
	struct user_msg m = {.head = &a, .head_len = sizeof(a), .reply = reply, .reply_len = sizeof(reply)};
	int rc;

	if (len > CONFIG_MAX)
		return -EINVAL;
	rc = mlx4_user_sock_call(s, VFU_REGION_READ, &m);
	if (rc != 0)
		return rc;
	if (m.reply_len != sizeof(a) + len)
		return -EPROTO;
	memcpy(buf, reply + sizeof(a), len);
	return 0;
}

int
mlx4_user_sock_write(struct user_sock *s, uint32_t region, uint64_t off, const void *buf, uint32_t len)
{
	struct vfu_region_access a = {.offset = off, .region = region, .count = len}, reply;
	struct user_msg m = {.head = &a,
			     .head_len = sizeof(a),
			     .data = buf,
			     .data_len = len,
			     .reply = &reply,
			     .reply_len = sizeof(reply)};

	return mlx4_user_sock_call(s, VFU_REGION_WRITE, &m);
}
