/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options of scripts: fcntl, ioctl, setsockopt and getsockopt. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "sock.h"

#define MEMINFO 9u /* members of SO_MEMINFO */

static int
call_fcntl(void *own, int fd, int command, ...)
{
	struct sock *s = drill_sock(fd);
	va_list args;
	int value;

	(void)own;
	va_start(args, command);
	value = command == F_SETFL ? va_arg(args, int) : 0;
	va_end(args);
	if (s == NULL || (command != F_SETFL && command != F_GETFL))
		return (int)drill_told(s == NULL ? -EBADF : -EINVAL);
	if (command == F_SETFL)
		s->nonblock = (value & O_NONBLOCK) != 0;
	return command == F_GETFL ? O_RDWR | (s->nonblock ? O_NONBLOCK : 0) : 0;
}

static int
call_ioctl(void *own, int fd, unsigned long request, ...)
{
	struct sock *s = drill_sock(fd);
	int *value, sndbuf = 0;
	va_list args;

	(void)own;
	va_start(args, request);
	value = va_arg(args, int *);
	va_end(args);
	if (s == NULL || s->c == NULL || (request != SIOCINQ && request != SIOCOUTQ))
		return (int)drill_told(s == NULL ? -EBADF : s->c == NULL ? -EINVAL : -ENOTTY);
	(void)drill_enter();
	(void)tcp_opt_get(s->c, SOL_SOCKET, SO_SNDBUF, &sndbuf);
	*value = request == SIOCINQ ? (int)tcp_readable(s->c) : sndbuf - (int)tcp_writable(s->c);
	drill_leave();
	return 0;
}

static int
set_cc(struct sock *s, const char *name, socklen_t len)
{
	static const char *const names[] = {[TCP_CC_CUBIC] = "cubic", [TCP_CC_RENO] = "reno"};

	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		if (len < strlen(names[i]) || strncmp(name, names[i], strlen(names[i])) != 0)
			continue;
		s->cc = (int)i;
		return s->c == NULL ? 0 : tcp_cc_set(s->c, (enum tcp_cc)i);
	}
	return -ENOENT;
}

static int
set_opt(struct sock *s, int level, int name, const void *value, socklen_t len)
{
	int v, rc;

	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return set_cc(s, value, len);
	if (level == SOL_SOCKET && name == SO_LINGER) {
		if (len < sizeof(s->linger))
			return -EINVAL;
		memcpy(&s->linger, value, sizeof(s->linger));
		return 0;
	}
	if (len < sizeof(v))
		return -EINVAL;
	memcpy(&v, value, sizeof(v));
	/* A stack of its own has no other users of the address. */
	if (level == SOL_SOCKET && (name == SO_REUSEADDR || name == SO_REUSEPORT))
		return 0;
	if (s->c != NULL)
		return tcp_opt_set(s->c, level, name, v);
	rc = s->num_presets == PRESETS ? -ENOBUFS : 0;
	if (rc == 0) {
		s->preset[s->num_presets].level = level;
		s->preset[s->num_presets].name = name;
		s->preset[s->num_presets++].value = v;
	}
	return rc;
}

static int
call_setsockopt(void *own, int fd, int level, int name, const void *value, socklen_t len)
{
	struct sock *s = drill_sock(fd);
	int rc;

	(void)own;
	if (s == NULL)
		return (int)drill_told(-EBADF);
	(void)drill_enter();
	rc = set_opt(s, level, name, value, len);
	drill_leave();
	return (int)drill_told(rc);
}

static int
get_opt(struct sock *s, int level, int name, void *value, socklen_t *len)
{
	struct tcp_info info = {0};
	const void *from = &info;
	socklen_t size = sizeof(info);
	int v = 0, rc = 0;

	if (level == IPPROTO_TCP && name == TCP_INFO) {
		if (s->c != NULL)
			tcp_info_get(s->c, &info);
		/* Newer members than these are 0. */
		memset(value, 0, *len);
		memcpy(value, &info, RTE_MIN(*len, size));
		return 0;
	}
	if ((level == IPPROTO_TCP && name == TCP_CC_INFO) || (level == SOL_SOCKET && name == SO_MEMINFO)) {
		*len = name == SO_MEMINFO && level == SOL_SOCKET ? RTE_MIN(*len, (socklen_t)(MEMINFO * sizeof(v))) : 0;
		memset(value, 0, *len);
		return 0;
	}
	from = &v;
	size = sizeof(v);
	if (level == SOL_SOCKET && name == SO_ERROR) {
		if (s->c != NULL && s->state != LISTENS)
			(void)drill_ready(s);
		v = s->err;
		s->err = 0;
	} else if (s->c == NULL) {
		rc = -ENOPROTOOPT;
	} else {
		rc = tcp_opt_get(s->c, level, name, &v);
	}
	*len = RTE_MIN(*len, size);
	memcpy(value, from, *len);
	return rc;
}

static int
call_getsockopt(void *own, int fd, int level, int name, void *value, socklen_t *len)
{
	struct sock *s = drill_sock(fd);
	int rc;

	(void)own;
	if (s == NULL)
		return (int)drill_told(-EBADF);
	(void)drill_enter();
	rc = get_opt(s, level, name, value, len);
	drill_leave();
	return (int)drill_told(rc);
}

/*
 * What scripts assert of a connection packetdrill reads by libc, of the descriptor that it got here. It finds ours where this object
 * is preloaded, too.
 */
__attribute__((visibility("default"))) int
getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (drill_sock(fd) != NULL)
		return call_getsockopt(NULL, fd, level, name, value, len);
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

void
opt_presets(struct sock *s)
{
	for (unsigned int i = 0; i < s->num_presets; i++)
		(void)tcp_opt_set(s->c, s->preset[i].level, s->preset[i].name, s->preset[i].value);
	if (s->cc >= 0)
		(void)tcp_cc_set(s->c, (enum tcp_cc)s->cc);
}

void
opt_fill(struct packetdrill_interface *ifc)
{
	ifc->fcntl = call_fcntl;
	ifc->ioctl = call_ioctl;
	ifc->getsockopt = call_getsockopt;
	ifc->setsockopt = call_setsockopt;
}
