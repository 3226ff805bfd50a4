/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sending and receiving of scripts. */
#include <errno.h>
#include <string.h>

#include "sock.h"

static ssize_t
send_all(struct sock *s, const struct iovec *iov, int n, int flags)
{
	ssize_t all = 0, rc = 0;

	/* One piece after the other; a script's are few. */
	for (int i = 0; i < n; i++) {
		struct iovec left = iov[i];

		while (left.iov_len != 0) {
			rc = tcp_send(s->c, &left, 1, (flags & MSG_MORE) | (i + 1 < n ? MSG_MORE : 0));
			if (rc > 0) {
				all += rc;
				left.iov_base = (char *)left.iov_base + rc;
				left.iov_len -= (size_t)rc;
			} else if (rc != -EAGAIN || drill_await(s, POLLOUT, flags) != 0) {
				return all != 0 ? all : rc;
			}
		}
	}
	return all;
}

static ssize_t
send_iov(int fd, const struct iovec *iov, int n, int flags)
{
	struct sock *s = drill_sock(fd);
	ssize_t rc;

	if (s == NULL)
		return drill_told(-EBADF);
	if ((flags & ~(MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL)) != 0)
		return drill_told(-EOPNOTSUPP);
	(void)drill_enter();
	rc = -EPIPE;
	if (s->state == CONNECTS && drill_opens(s))
		rc = drill_await(s, POLLOUT, flags);
	if (s->c != NULL && s->state != LISTENS && rc != -EAGAIN) {
		if (drill_ready(s) & POLLERR) {
			rc = -s->err;
			s->err = 0;
		} else {
			rc = send_all(s, iov, n, flags);
		}
	}
	drill_leave();
	return drill_told(rc);
}

static ssize_t
recv_all(struct sock *s, const struct iovec *iov, int n, int flags)
{
	ssize_t all = 0, rc;
	char waste[4096];

	for (int i = 0; i < n; i++) {
		struct iovec left = iov[i];

		while (left.iov_len != 0) {
			struct iovec to = left;

			/* MSG_TRUNC on a stream throws away. */
			if ((flags & MSG_TRUNC) != 0)
				to = (struct iovec){waste, RTE_MIN(left.iov_len, sizeof(waste))};
			if (s->err != 0 && tcp_readable(s->c) == 0) {
				rc = -s->err;
				s->err = 0;
			} else {
				rc = tcp_recv(s->c, &to, 1, flags & MSG_PEEK);
			}
			if (rc > 0 && (flags & MSG_PEEK) != 0)
				return rc;
			if (rc > 0) {
				all += rc;
				left.iov_base = left.iov_base == NULL ? NULL : (char *)left.iov_base + rc;
				left.iov_len -= (size_t)rc;
				/* The next call has what ended the connection. */
				if (tcp_readable(s->c) == 0 && (flags & MSG_WAITALL) == 0)
					return all;
				continue;
			}
			if (rc != -EAGAIN || (all != 0 && (flags & MSG_WAITALL) == 0) ||
			    drill_await(s, POLLIN, flags) != 0)
				return all != 0 ? all : rc;
		}
	}
	return all;
}

static ssize_t
recv_iov(int fd, const struct iovec *iov, int n, int flags)
{
	struct sock *s = drill_sock(fd);
	ssize_t rc;

	if (s == NULL)
		return drill_told(-EBADF);
	(void)drill_enter();
	rc = s->c == NULL || s->state == LISTENS ? -ENOTCONN : recv_all(s, iov, n, flags);
	drill_leave();
	return drill_told(rc);
}

static ssize_t
call_read(void *own, int fd, void *p, size_t n)
{
	(void)own;
	return recv_iov(fd, &(struct iovec){p, n}, 1, 0);
}

static ssize_t
call_readv(void *own, int fd, const struct iovec *iov, int n)
{
	(void)own;
	return recv_iov(fd, iov, n, 0);
}

static ssize_t
call_recv(void *own, int fd, void *p, size_t n, int flags)
{
	(void)own;
	return recv_iov(fd, &(struct iovec){p, n}, 1, flags);
}

static ssize_t
call_recvfrom(void *own, int fd, void *p, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	(void)from;
	if (len != NULL)
		*len = 0;
	return call_recv(own, fd, p, n, flags);
}

static ssize_t
call_recvmsg(void *own, int fd, struct msghdr *msg, int flags)
{
	(void)own;
	msg->msg_flags = 0;
	msg->msg_controllen = 0;
	return recv_iov(fd, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

static ssize_t
call_send(void *own, int fd, const void *p, size_t n, int flags)
{
	(void)own;
	return send_iov(fd, &(struct iovec){(void *)(uintptr_t)p, n}, 1, flags);
}

static ssize_t
call_write(void *own, int fd, const void *p, size_t n)
{
	return call_send(own, fd, p, n, 0);
}

static ssize_t
call_writev(void *own, int fd, const struct iovec *iov, int n)
{
	(void)own;
	return send_iov(fd, iov, n, 0);
}

static ssize_t
call_sendto(void *own, int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t len)
{
	(void)to, (void)len;
	return call_send(own, fd, p, n, flags);
}

static ssize_t
call_sendmsg(void *own, int fd, const struct msghdr *msg, int flags)
{
	(void)own;
	return send_iov(fd, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

void
io_fill(struct packetdrill_interface *ifc)
{
	ifc->read = call_read;
	ifc->readv = call_readv;
	ifc->recv = call_recv;
	ifc->recvfrom = call_recvfrom;
	ifc->recvmsg = call_recvmsg;
	ifc->write = call_write;
	ifc->writev = call_writev;
	ifc->send = call_send;
	ifc->sendto = call_sendto;
	ifc->sendmsg = call_sendmsg;
}
