/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions to who shares ports. */
#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/sock/owner.h"
#include "run.h"

int
run_call(const char *at)
{
	int fd = owner_connect(at);

	if (fd >= 0)
		return fd;
	if (errno == ENAMETOOLONG)
		run_refuse("socket '%s' has more than %zu characters", at,
			   sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
	else if (errno == EACCES)
		run_refuse(
			"%s: this user may not call there; the owner's settings share-mode and share-group say who may",
			at);
	else
		run_refuse("%s: %s; a process shares its ports there by 'share on %s' of triplane", at, strerror(errno),
			   at);
	return -1;
}

int
run_ask(int fd, enum share_op op, struct share_msg *m)
{
	m->op = op;
	return owner_ask(fd, m, NULL, 0, NULL, 0);
}

int
run_hello(int fd, const char *at, uint32_t index, struct share_hello *hello)
{
	struct share_msg m = {.hello = {.version = SHARE_VERSION, .index = index}};
	int err = run_ask(fd, SHARE_HELLO, &m);

	*hello = m.hello;
	switch (err) {
	case 0:
	case ENOENT: return err;
	case EPROTO:
		run_refuse("%s: the process there speaks version %u, this program %u", at, m.hello.version,
			   SHARE_VERSION);
		break;
	case EUSERS:
		run_refuse("%s: the process there has as many connections as it takes (share-connections)", at);
		break;
	case EIO: run_refuse("%s: the process there does not speak as it should", at); break;
	default: run_refuse("%s: the process there turns this program away: %s", at, strerror(err));
	}
	return err;
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
