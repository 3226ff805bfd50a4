/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions to who shares ports. */
#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
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

static uint64_t
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Until the port of the device at that place in the list is up, or the time has come. 0, or errno: the device is not there. */
static int
wait_one(int fd, const char *at, uint32_t index, uint64_t until)
{
	struct share_msg m = {0};
	struct share_hello h;
	int err = run_hello(fd, at, index, &h);

	memcpy(m.open.name, h.name, sizeof(m.open.name));
	if (err == 0)
		err = run_ask(fd, SHARE_OPEN, &m);
	while (err == 0) {
		err = run_ask(fd, SHARE_QUERY_PORT, &m);
		if (err != 0 || m.port.state == IBV_PORT_ACTIVE || now_ms() >= until)
			break;
		usleep(1000);
	}
	return err;
}

int
run_wait_active(const char *at, unsigned int num, unsigned int ms)
{
	const uint64_t until = now_ms() + ms;
	int err = 0;

	for (uint32_t i = 0; i < num && err == 0; i++) {
		int fd = run_call(at);

		if (fd < 0)
			return RUN_EXIT;
		err = wait_one(fd, at, i, until);
		close(fd);
	}
	return err == 0 ? 0 : run_refuse("%s: a device went before its port was up: %s", at, strerror(err));
}
