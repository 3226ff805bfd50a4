/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Asks DPDK's telemetry of this process through its socket, as dpdk-telemetry.py does. Behind cmocka.h. */
#ifndef UNIT_TELEMETRY_CLIENT_H
#define UNIT_TELEMETRY_CLIENT_H

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

static int tell_sock;
static char tell_answer[65536];

/* Set-up and tear-down. */
static inline int
tell_dial(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	tell_sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (tell_sock < 0 || connect(tell_sock, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return -1;
	/* It greets. */
	return read(tell_sock, tell_answer, sizeof(tell_answer)) > 0 ? 0 : -1;
}

static inline int
tell_hang_up(void **state)
{
	(void)state;
	return close(tell_sock);
}

/* The answer to a command, as it is on the socket; until the next. */
static inline const char *
tell_ask(const char *command)
{
	ssize_t n;

	assert_int_equal(write(tell_sock, command, strlen(command)), (ssize_t)strlen(command));
	n = read(tell_sock, tell_answer, sizeof(tell_answer) - 1);
	assert_true(n > 0);
	tell_answer[n] = '\0';
	return tell_answer;
}

#endif /* UNIT_TELEMETRY_CLIENT_H */
