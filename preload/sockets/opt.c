/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options: whose each is. */
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#include "dgram.h"

/*
 * BOTH: the shadow looks at the value, and answers what it is; the engine does it. ENGINE: the engine answers what it is. What is
 * not here is the shadow's alone. REFUSED: the shadow would take it, and it would do nothing.
 */
enum whose { SHADOW, BOTH, ENGINE, REFUSED };

static const struct {
	int level, name;
	enum whose whose;
} options[] = {
	{SOL_SOCKET, SO_KEEPALIVE, BOTH},       {SOL_SOCKET, SO_LINGER, BOTH},
	{SOL_SOCKET, SO_RCVTIMEO, BOTH},        {SOL_SOCKET, SO_SNDTIMEO, BOTH},
	{SOL_SOCKET, SO_SNDBUF, BOTH},          {SOL_SOCKET, SO_RCVBUF, BOTH},
	{SOL_SOCKET, SO_ERROR, ENGINE},         {SOL_SOCKET, SO_ZEROCOPY, REFUSED},
	{SOL_SOCKET, SO_BINDTODEVICE, REFUSED}, {IPPROTO_TCP, TCP_NODELAY, BOTH},
	{IPPROTO_TCP, TCP_CORK, BOTH},          {IPPROTO_TCP, TCP_QUICKACK, BOTH},
	{IPPROTO_TCP, TCP_KEEPIDLE, BOTH},      {IPPROTO_TCP, TCP_KEEPINTVL, BOTH},
	{IPPROTO_TCP, TCP_KEEPCNT, BOTH},       {IPPROTO_TCP, TCP_USER_TIMEOUT, BOTH},
	{IPPROTO_TCP, TCP_LINGER2, BOTH},       {IPPROTO_TCP, TCP_CONGESTION, BOTH},
	{IPPROTO_TCP, TCP_MAXSEG, BOTH},        {IPPROTO_TCP, TCP_INFO, ENGINE},
	{IPPROTO_TCP, TCP_ULP, REFUSED},        {IPPROTO_TCP, TCP_MD5SIG, REFUSED},
	{IPPROTO_TCP, TCP_REPAIR, REFUSED},     {IPPROTO_TCP, TCP_FASTOPEN_CONNECT, REFUSED},
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

static_assert(OPTIONS <= 32, "each has a bit in struct file");

/* Its place, or OPTIONS. */
static unsigned int
place(int level, int name)
{
	unsigned int i = 0;

	while (i < OPTIONS && (options[i].level != level || options[i].name != name))
		i++;
	return i;
}

static enum whose
whose(int level, int name)
{
	const unsigned int i = place(level, name);

	return i < OPTIONS ? options[i].whose : SHADOW;
}

/* What programs set again and again: of a connection the engine has it alone, since the shadow's is a call of the kernel. */
static bool
often(const struct file *f, int level, int name)
{
	return f->s != NULL && !f->forced && level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK);
}

/* What another one just made does not have. */
void
opt_adopt(int fd, struct file *f)
{
	int fresh = real()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (unsigned int i = 0; fresh >= 0 && i < OPTIONS; i++) {
		char is[64] = "", was[64] = "";
		socklen_t is_len = sizeof(is), was_len = sizeof(was);

		if (options[i].whose == BOTH &&
		    real()->getsockopt(fd, options[i].level, options[i].name, is, &is_len) == 0 &&
		    real()->getsockopt(fresh, options[i].level, options[i].name, was, &was_len) == 0 &&
		    memcmp(is, was, sizeof(is)) != 0)
			f->touched |= UINT32_C(1) << i;
	}
	if (fresh >= 0)
		real()->close(fresh);
}

/* The engine gets the shadow's value, which is as Linux rounds and doubles it. */
static int
carry(int fd, struct sock *s, int level, int name)
{
	char value[64];
	socklen_t len = sizeof(value);

	if (real()->getsockopt(fd, level, name, value, &len) != 0)
		return -errno;
	return sock_opt_set(s, level, name, value, len);
}

static bool
carried(const struct file *f, unsigned int i)
{
	/* A fresh shadow has values of its own, which are no wish. */
	if ((f->touched >> i & 1) == 0)
		return false;
	return options[i].level == SOL_SOCKET ||
	       (options[i].name != TCP_MAXSEG && options[i].name != TCP_QUICKACK && options[i].name != TCP_CONGESTION);
}

void
opt_carry(int fd, const struct file *f, struct sock *s)
{
	for (unsigned int i = 0; f->touched != 0 && i < OPTIONS; i++)
		if (carried(f, i))
			(void)carry(fd, s, options[i].level, options[i].name);
}

void
opt_copy(const struct file *f, int from, int to)
{
	union {
		int number;
		char any[64];
	} value;

	for (unsigned int i = 0; f->touched != 0 && i < OPTIONS; i++) {
		socklen_t len = sizeof(value);

		if ((f->touched >> i & 1) == 0 ||
		    real()->getsockopt(from, options[i].level, options[i].name, &value, &len) != 0)
			continue;
		/* Linux answers twice what it is told. */
		if (options[i].level == SOL_SOCKET && (options[i].name == SO_SNDBUF || options[i].name == SO_RCVBUF))
			value.number /= 2;
		(void)real()->setsockopt(to, options[i].level, options[i].name, &value, len);
	}
}

static void
touch(struct file *f, int level, int name)
{
	const unsigned int i = place(level, name);

	if (i < OPTIONS && options[i].whose == BOTH)
		f->touched |= UINT32_C(1) << i;
}

EXPORT int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct file *f = file_get(fd);
	int rc;

	if (f != NULL && f->dgram != NULL) {
		rc = dgram_setsockopt(fd, f, level, name, value, len);
		file_put(f);
		return rc;
	}
	if (f != NULL && f->s != NULL && whose(level, name) == REFUSED) {
		file_put(f);
		return (int)result(-EOPNOTSUPP);
	}
	if (f != NULL && often(f, level, name) && value != NULL && len >= sizeof(int)) {
		rc = (int)result(sock_opt_set(f->s, level, name, value, len));
		file_put(f);
		return rc;
	}
	rc = real()->setsockopt(fd, level, name, value, len);
	if (rc == 0 && f != NULL) {
		touch(f, level, name);
		/* What Linux took, the engine may have other limits for: the nearest value is taken there. */
		if (f->s != NULL && whose(level, name) == BOTH)
			(void)carry(fd, f->s, level, name);
	}
	file_put(f);
	return rc;
}

EXPORT int
getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct file *f = file_get(fd);
	int rc = -ENOPROTOOPT;

	if (f != NULL && f->dgram != NULL) {
		rc = dgram_getsockopt(fd, f, level, name, value, len);
		file_put(f);
		return rc;
	}
	if (f != NULL && f->s != NULL && !(f->forced && name == SO_ERROR) &&
	    (whose(level, name) == ENGINE || (level == IPPROTO_TCP && name == TCP_MAXSEG) || often(f, level, name))) {
		uint32_t n = *len;

		rc = sock_opt_get(f->s, level, name, value, &n);
		if (rc == 0)
			*len = n;
	}
	rc = rc == -ENOPROTOOPT ? real()->getsockopt(fd, level, name, value, len) : (int)result(rc);
	file_put(f);
	return rc;
}

/* --- flags of descriptors --- */

static int
get_flags(int fd, const struct file *f)
{
	int flags = real()->fcntl(fd, F_GETFL);

	if (flags >= 0 && f->forced && !f->nonblock)
		flags &= ~O_NONBLOCK;
	return flags;
}

static int
set_flags(int fd, struct file *f, long arg)
{
	int rc = real()->fcntl(fd, F_SETFL, f->forced ? arg | O_NONBLOCK : arg);

	if (rc == 0)
		f->nonblock = (arg & O_NONBLOCK) != 0;
	return rc;
}

EXPORT int
fcntl64(int fd, int cmd, ...)
{
	struct file *f = file_get(fd);
	va_list ap;
	long arg;
	int rc;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	if (f != NULL && cmd == F_GETFL) {
		rc = get_flags(fd, f);
	} else if (f != NULL && cmd == F_SETFL) {
		rc = set_flags(fd, f, arg);
	} else {
		rc = real()->fcntl(fd, cmd, arg);
		if (f != NULL && rc >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
			fd_copy(rc, fd);
	}
	file_put(f);
	return rc;
}

EXPORT int
fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return fcntl64(fd, cmd, arg);
}

EXPORT int
ioctl(int fd, unsigned long request, ...)
{
	struct file *f = file_get(fd);
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (f != NULL && request == FIONBIO) {
		f->nonblock = *(const int *)arg != 0;
		rc = f->forced ? 0 : real()->ioctl(fd, request, arg);
	} else if (f != NULL && f->s != NULL && request == FIONREAD) {
		rc = f->dgram != NULL ? dgram_inq(fd, f) : sock_inq(f->s);
		if (rc >= 0)
			*(int *)arg = rc;
		rc = rc < 0 ? (int)result(rc) : 0;
	} else if (f != NULL && f->s != NULL && f->dgram == NULL && (request == SIOCOUTQ || request == FIOASYNC)) {
		rc = (int)result(-EOPNOTSUPP);
	} else {
		rc = real()->ioctl(fd, request, arg);
	}
	file_put(f);
	return rc;
}
