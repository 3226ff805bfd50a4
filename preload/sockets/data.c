/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sending and receiving, by all the names that it has. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "dgram.h"

#define FILE_PIECE 65536u

/* The socket of a number, held by its file; NULL: the call is libc's, or that of datagrams where the file is held. */
static struct sock *
mine(int fd, struct file **f)
{
	struct sock *s;

	*f = file_get(fd);
	if (*f == NULL)
		return NULL;
	s = (*f)->s;
	if ((*f)->dgram != NULL)
		return NULL;
	if (s == NULL) {
		file_put(*f);
		*f = NULL;
	}
	return s;
}

/* The same, where datagrams are as the operating system's. */
static struct sock *
stream(int fd, struct file **f)
{
	struct sock *s = mine(fd, f);

	if (s == NULL)
		file_put(*f);
	return s;
}

static ssize_t
out(struct file *f, struct sock *s, const struct iovec *iov, int n, int flags)
{
	ssize_t rc = sock_send(s, iov, n, flags | (f->nonblock ? MSG_DONTWAIT : 0));

	file_put(f);
	return result(rc);
}

static ssize_t
in(struct file *f, struct sock *s, const struct iovec *iov, int n, int flags)
{
	ssize_t rc = sock_recv(s, iov, n, flags | (f->nonblock ? MSG_DONTWAIT : 0));

	file_put(f);
	return result(rc);
}

/* --- out --- */

EXPORT ssize_t
send(int fd, const void *data, size_t len, int flags)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {(void *)(uintptr_t)data, len};

	if (s == NULL && f != NULL)
		return dgram_out_iov(fd, f, &iov, 1, flags);
	return s == NULL ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->send(fd, data, len, flags))
			 : out(f, s, &iov, 1, flags);
}

/* A connection has its destination; Linux takes no notice of another. */
EXPORT ssize_t
sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {(void *)(uintptr_t)data, len};

	if (s == NULL && f != NULL) {
		const struct msghdr msg = {.msg_name = (void *)(uintptr_t)to,
					   .msg_namelen = to_len,
					   .msg_iov = (struct iovec *)(uintptr_t)&iov,
					   .msg_iovlen = 1};

		return dgram_out(fd, f, &msg, flags);
	}
	return s == NULL ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->sendto(fd, data, len, flags, to, to_len))
			 : out(f, s, &iov, 1, flags);
}

EXPORT ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct file *f;
	struct sock *s = mine(fd, &f);

	if (s == NULL && f != NULL)
		return dgram_out(fd, f, msg, flags);
	return s == NULL ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->sendmsg(fd, msg, flags))
			 : out(f, s, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

EXPORT int
sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	unsigned int i;
	ssize_t rc = 0;

	if (s == NULL && f == NULL)
		return real()->sendmmsg(fd, msg, n, flags);
	file_put(f);
	for (i = 0; i < n && rc >= 0; i++) {
		rc = sendmsg(fd, &msg[i].msg_hdr, flags);
		if (rc < 0)
			break;
		msg[i].msg_len = (unsigned int)rc;
	}
	return i != 0 || rc >= 0 ? (int)i : -1;
}

EXPORT ssize_t
write(int fd, const void *data, size_t len)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {(void *)(uintptr_t)data, len};

	if (s == NULL && f != NULL)
		return dgram_out_iov(fd, f, &iov, 1, 0);
	return s == NULL ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->write(fd, data, len)) : out(f, s, &iov, 1, 0);
}

EXPORT ssize_t
writev(int fd, const struct iovec *iov, int n)
{
	struct file *f;
	struct sock *s = mine(fd, &f);

	if (s == NULL && f != NULL)
		return dgram_out_iov(fd, f, iov, n, 0);
	return s == NULL ? stat_os(fd, SOCK_OS_TX_PACKETS, real()->writev(fd, iov, n)) : out(f, s, iov, n, 0);
}

/* --- in --- */

EXPORT ssize_t
recv(int fd, void *data, size_t len, int flags)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {data, len};

	if (s == NULL && f != NULL)
		return dgram_in_iov(fd, f, &iov, 1, flags);
	return s == NULL ? stat_os(fd, SOCK_OS_RX_PACKETS, real()->recv(fd, data, len, flags))
			 : in(f, s, &iov, 1, flags);
}

/* Linux says of a connection not who sent. */
EXPORT ssize_t
recvfrom(int fd, void *data, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {data, len};

	if (s == NULL && f != NULL) {
		struct msghdr msg = {.msg_name = from,
				     .msg_namelen = from_len == NULL ? 0 : *from_len,
				     .msg_iov = (struct iovec *)(uintptr_t)&iov,
				     .msg_iovlen = 1};
		ssize_t rc = dgram_in(fd, f, &msg, flags);

		if (rc >= 0 && from != NULL && from_len != NULL)
			*from_len = msg.msg_namelen;
		return rc;
	}
	if (s == NULL)
		return stat_os(fd, SOCK_OS_RX_PACKETS, real()->recvfrom(fd, data, len, flags, from, from_len));
	if (from != NULL && from_len != NULL)
		*from_len = 0;
	return in(f, s, &iov, 1, flags);
}

EXPORT ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct file *f;
	struct sock *s = mine(fd, &f);

	if (s == NULL && f != NULL)
		return dgram_in(fd, f, msg, flags);
	if (s == NULL)
		return stat_os(fd, SOCK_OS_RX_PACKETS, real()->recvmsg(fd, msg, flags));
	if ((flags & MSG_ERRQUEUE) != 0) {
		file_put(f);
		return result(-EAGAIN);
	}
	msg->msg_namelen = 0;
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return in(f, s, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

EXPORT int
recvmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags, struct timespec *timeout)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	unsigned int i;
	ssize_t rc = 0;

	if (s == NULL && f == NULL)
		return real()->recvmmsg(fd, msg, n, flags, timeout);
	if (s == NULL)
		return dgram_in_many(fd, f, msg, n, flags, timeout);
	file_put(f);
	for (i = 0; i < n; i++) {
		rc = recvmsg(fd, &msg[i].msg_hdr,
			     (flags & ~MSG_WAITFORONE) | (i != 0 && (flags & MSG_WAITFORONE) != 0 ? MSG_DONTWAIT : 0));
		if (rc < 0)
			break;
		msg[i].msg_len = (unsigned int)rc;
		if (rc == 0)
			return (int)i + 1;
	}
	return i != 0 || rc >= 0 ? (int)i : -1;
}

EXPORT ssize_t
read(int fd, void *data, size_t len)
{
	struct file *f;
	struct sock *s = mine(fd, &f);
	const struct iovec iov = {data, len};

	if (s == NULL && f != NULL)
		return dgram_read(fd, f, &iov, 1);
	return s == NULL ? stat_os(fd, SOCK_OS_RX_PACKETS, real()->read(fd, data, len)) : in(f, s, &iov, 1, 0);
}

EXPORT ssize_t
readv(int fd, const struct iovec *iov, int n)
{
	struct file *f;
	struct sock *s = mine(fd, &f);

	if (s == NULL && f != NULL)
		return dgram_read(fd, f, iov, n);
	return s == NULL ? stat_os(fd, SOCK_OS_RX_PACKETS, real()->readv(fd, iov, n)) : in(f, s, iov, n, 0);
}

/* What programs that were built with -D_FORTIFY_SOURCE call. */
EXPORT ssize_t __read_chk(int fd, void *data, size_t len, size_t room);
EXPORT ssize_t
__read_chk(int fd, void *data, size_t len, size_t room)
{
	if (len > room)
		abort();
	return read(fd, data, len);
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t len, size_t room, int flags);
EXPORT ssize_t
__recv_chk(int fd, void *data, size_t len, size_t room, int flags)
{
	if (len > room)
		abort();
	return recv(fd, data, len, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t len, size_t room, int flags, struct sockaddr *from,
			      socklen_t *from_len);
EXPORT ssize_t
__recvfrom_chk(int fd, void *data, size_t len, size_t room, int flags, struct sockaddr *from, socklen_t *from_len)
{
	if (len > room)
		abort();
	return recvfrom(fd, data, len, flags, from, from_len);
}

/* --- files --- */

/* One piece of a file; its octets that went, 0: the file's end. */
static ssize_t
piece(struct file *f, struct sock *s, int from, off64_t at, size_t len)
{
	char *data = malloc(RTE_MIN(len, (size_t)FILE_PIECE));
	struct iovec iov = {data, 0};
	ssize_t n = data == NULL ? -ENOMEM : pread64(from, data, RTE_MIN(len, (size_t)FILE_PIECE), at);

	if (n < 0 && data != NULL)
		n = -errno;
	if (n > 0) {
		iov.iov_len = (size_t)n;
		n = sock_send(s, &iov, 1, f->nonblock ? MSG_DONTWAIT : 0);
	}
	free(data);
	return n;
}

EXPORT ssize_t
sendfile64(int fd, int from, off64_t *offset, size_t len)
{
	struct file *f;
	struct sock *s = stream(fd, &f);
	off64_t at = s == NULL || offset != NULL ? 0 : lseek64(from, 0, SEEK_CUR);
	size_t done = 0;
	ssize_t n = 0;

	if (s == NULL)
		return stat_os(fd, SOCK_OS_TX_PACKETS, real()->sendfile(fd, from, offset, len));
	if (offset != NULL)
		at = *offset;
	if (at < 0)
		n = -EINVAL;
	while (n >= 0 && done < len) {
		n = piece(f, s, from, at + (off64_t)done, len - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	file_put(f);
	if (done == 0 && n < 0)
		return result(n);
	if (offset != NULL)
		*offset = at + (off64_t)done;
	else
		(void)lseek64(from, at + (off64_t)done, SEEK_SET);
	return (ssize_t)done;
}

EXPORT ssize_t
sendfile(int fd, int from, off_t *offset, size_t len)
{
	return sendfile64(fd, from, offset, len);
}

/* Callers fall back to reading and writing. */
EXPORT ssize_t
splice(int in_fd, off64_t *in_off, int out_fd, off64_t *out_off, size_t len, unsigned int flags)
{
	struct file *f;

	if (stream(in_fd, &f) == NULL && stream(out_fd, &f) == NULL)
		return real()->splice(in_fd, in_off, out_fd, out_off, len, flags);
	file_put(f);
	return result(-EINVAL);
}
