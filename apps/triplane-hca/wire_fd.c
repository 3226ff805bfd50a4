/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A wire over a TAP device, and one over a pair of datagram sockets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire_fd.h"

#define BATCH 32u
#define FRAME_MAX 16384u
#define CONNECT_PERIOD_NS 100000000u
#define SOCKET_BUFFER (4 << 20)

struct wire_fd {
	struct tp_wire base;
	int fd;
	bool connected;
	uint64_t tried_ns;
	struct sockaddr_un local, remote;
	uint8_t buf[BATCH][FRAME_MAX];
};

static struct wire_fd *
self(struct tp_wire *w)
{
	return (struct wire_fd *)w; /* base comes first */
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int
frame_iov(const struct tp_frame *f, struct iovec iov[TP_FRAME_SEGS])
{
	for (unsigned int i = 0; i < f->nseg; i++) {
		iov[i].iov_base = (void *)(uintptr_t)f->seg[i].data; /* only read from */
		iov[i].iov_len = f->seg[i].len;
	}
	return f->nseg;
}

/* --- TAP --- */

static unsigned int
tap_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct iovec iov[TP_FRAME_SEGS];

	for (unsigned int i = 0; i < n; i++) {
		/* A damaged frame gets no further than the next receiver's FCS check. */
		if ((f[i].flags & TP_FRAME_BAD_FCS) == 0 && writev(self(w)->fd, iov, frame_iov(&f[i], iov)) < 0)
			return i;
	}
	return n;
}

static unsigned int
tap_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct wire_fd *t = self(w);
	unsigned int n;

	for (n = 0; n < budget; n++) {
		ssize_t len = read(t->fd, t->buf[0], FRAME_MAX);
		struct tp_frame_seg seg = {t->buf[0], (uint32_t)len};
		struct tp_frame f = {.seg = &seg, .nseg = 1, .len = (uint32_t)len};

		if (len <= 0)
			break;
		tp_model_port_receive(m, port, &f, 1);
	}
	return n;
}

static bool
tap_link(struct tp_wire *w)
{
	return true;
}

static void
fd_destroy(struct tp_wire *w)
{
	struct wire_fd *t = self(w);

	close(t->fd);
	if (t->local.sun_path[0] != '\0')
		unlink(t->local.sun_path);
	free(t);
}

static const struct tp_wire_ops tap_ops = {.name = "tap",
					   .media = TP_WIRE_ETH,
					   .send = tap_send,
					   .poll = tap_poll,
					   .link = tap_link,
					   .destroy = fd_destroy};

int
wire_tap_create(const char *name, struct tp_wire **out)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	struct wire_fd *t;
	int rc;

	if (strlen(name) == 0 || strlen(name) >= sizeof(ifr.ifr_name))
		return -EINVAL;
	strcpy(ifr.ifr_name, name);
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->base.ops = &tap_ops;
	t->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0 || ioctl(t->fd, TUNSETIFF, &ifr) < 0) {
		rc = -errno;
		if (t->fd >= 0)
			close(t->fd);
		free(t);
		return rc;
	}
	*out = &t->base;
	return 0;
}

/* --- datagram sockets --- */

/* Both ends connect to each other: the kernel then bounds what is in flight by bytes, not by a handful of messages. */
static bool
dgram_link(struct tp_wire *w)
{
	struct wire_fd *t = self(w);
	uint64_t now = now_ns();

	if (t->tried_ns == 0 || now - t->tried_ns >= CONNECT_PERIOD_NS) {
		t->tried_ns = now;
		t->connected = connect(t->fd, (const struct sockaddr *)&t->remote, sizeof(t->remote)) == 0;
	}
	return t->connected;
}

static unsigned int
dgram_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct wire_fd *t = self(w);
	struct iovec iov[TP_FRAME_SEGS];

	if (!dgram_link(w))
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		struct msghdr mh = {.msg_iov = iov, .msg_iovlen = (size_t)frame_iov(&f[i], iov)};

		if ((f[i].flags & TP_FRAME_BAD_FCS) == 0 && sendmsg(t->fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return i;
	}
	return n;
}

static unsigned int
dgram_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct wire_fd *t = self(w);
	struct mmsghdr mh[BATCH];
	struct iovec iov[BATCH];
	unsigned int want = budget < BATCH ? budget : BATCH;
	int n;

	dgram_link(w);
	memset(mh, 0, want * sizeof(mh[0]));
	for (unsigned int i = 0; i < want; i++) {
		iov[i] = (struct iovec){t->buf[i], FRAME_MAX};
		mh[i].msg_hdr.msg_iov = &iov[i];
		mh[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(t->fd, mh, want, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++) {
		struct tp_frame_seg seg = {t->buf[i], mh[i].msg_len};
		struct tp_frame f = {.seg = &seg, .nseg = 1, .len = mh[i].msg_len};

		if ((mh[i].msg_hdr.msg_flags & MSG_TRUNC) == 0 && f.len != 0)
			tp_model_port_receive(m, port, &f, 1);
	}
	return n > 0 ? (unsigned int)n : 0;
}

static const struct tp_wire_ops dgram_ops = {
	.name = "dgram", .send = dgram_send, .poll = dgram_poll, .link = dgram_link, .destroy = fd_destroy};

int
wire_dgram_create(const char *local, const char *remote, struct tp_wire **out)
{
	struct wire_fd *t;
	struct stat st;
	int size = SOCKET_BUFFER, rc;

	/* A socket there is left of a program before; anything else is somebody's. */
	if (lstat(local, &st) == 0 && !S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (strlen(local) == 0 || strlen(local) >= sizeof(t->local.sun_path) || strlen(remote) == 0 ||
	    strlen(remote) >= sizeof(t->remote.sun_path))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->base.ops = &dgram_ops;
	t->local.sun_family = t->remote.sun_family = AF_UNIX;
	strcpy(t->local.sun_path, local);
	strcpy(t->remote.sun_path, remote);
	unlink(local);
	t->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd < 0 || bind(t->fd, (const struct sockaddr *)&t->local, sizeof(t->local)) != 0) {
		rc = -errno;
		if (t->fd >= 0)
			close(t->fd);
		free(t);
		return rc;
	}
	/* Best effort: the kernel's limit may be lower. */
	setsockopt(t->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	*out = &t->base;
	return 0;
}
