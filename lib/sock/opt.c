/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options that the engine knows. */
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>

#include "sock_priv.h"

/* Those that a connection takes as a number. */
static const struct {
	int level, name;
	int min, max; /* what is outside becomes the nearer end */
} numbers[] = {
	{SOL_SOCKET, SO_KEEPALIVE, 0, 1},
	{SOL_SOCKET, SO_SNDBUF, 4096, 16777216},
	{SOL_SOCKET, SO_RCVBUF, 4096, 16777216},
	{IPPROTO_TCP, TCP_NODELAY, 0, 1},
	{IPPROTO_TCP, TCP_CORK, 0, 1},
	{IPPROTO_TCP, TCP_QUICKACK, 0, 1},
	{IPPROTO_TCP, TCP_MAXSEG, 536, 9560},
	{IPPROTO_TCP, TCP_KEEPIDLE, 1, 32767},
	{IPPROTO_TCP, TCP_KEEPINTVL, 1, 32767},
	{IPPROTO_TCP, TCP_KEEPCNT, 1, 127},
	{IPPROTO_TCP, TCP_USER_TIMEOUT, 0, INT32_MAX},
	{IPPROTO_TCP, TCP_LINGER2, 1, 3600},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
static_assert(NUMBERS <= RTE_DIM(((struct sock *)NULL)->preset), "each has a place");

void
sock_presets(struct sock *s)
{
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (s->preset[i].is)
			(void)tcp_opt_set(s->conn, numbers[i].level, numbers[i].name, s->preset[i].value);
}

static int
number(struct sock *s, unsigned int i, const void *value, uint32_t len)
{
	int v;

	if (len < sizeof(v))
		return -EINVAL;
	memcpy(&v, value, sizeof(v));
	if (numbers[i].max == 1)
		v = v != 0;
	v = RTE_MAX(v, numbers[i].min);
	v = RTE_MIN(v, numbers[i].max);
	s->preset[i].is = true;
	s->preset[i].value = v;
	return s->conn == NULL ? 0 : tcp_opt_set(s->conn, numbers[i].level, numbers[i].name, v);
}

static int
timeout(uint64_t *us, const void *value, uint32_t len)
{
	struct timeval t;

	if (len < sizeof(t))
		return -EINVAL;
	memcpy(&t, value, sizeof(t));
	*us = t.tv_sec < 0 ? 0 : (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
	return 0;
}

/* The names of congestion controls that Linux has and the engine, too. */
static int
congestion(struct sock *s, const void *value, uint32_t len)
{
	const bool reno = len >= 4 && memcmp(value, "reno", 4) == 0;

	if (!reno && (len < 5 || memcmp(value, "cubic", 5) != 0))
		return -ENOENT;
	return s->conn == NULL ? 0 : tcp_cc_set(s->conn, reno ? TCP_CC_RENO : TCP_CC_CUBIC);
}

static int
set(struct sock *s, int level, int name, const void *value, uint32_t len)
{
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (numbers[i].level == level && numbers[i].name == name)
			return number(s, i, value, len);
	if (level == SOL_SOCKET && name == SO_RCVTIMEO)
		return timeout(&s->rcvtimeo_us, value, len);
	if (level == SOL_SOCKET && name == SO_SNDTIMEO)
		return timeout(&s->sndtimeo_us, value, len);
	if (level == SOL_SOCKET && name == SO_LINGER) {
		if (len < sizeof(s->linger))
			return -EINVAL;
		memcpy(&s->linger, value, sizeof(s->linger));
		return 0;
	}
	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return congestion(s, value, len);
	return -ENOPROTOOPT;
}

int
sock_opt_set(struct sock *s, int level, int name, const void *value, uint32_t len)
{
	int rc;

	sock_enter(s->net);
	rc = sock_dead(s) ? -ECONNABORTED : set(s, level, name, value, len);
	sock_leave(s->net);
	return rc;
}

/* What it was set to, by a listener's connection, too. */
static int
preset(const struct sock *s, int level, int name)
{
	int v = 0;

	if (s->conn != NULL && tcp_opt_get(s->conn, level, name, &v) == 0)
		return v;
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (s->preset[i].is && numbers[i].level == level && numbers[i].name == name)
			v = s->preset[i].value;
	return v;
}

static int
get(struct sock *s, int level, int name, void *value, uint32_t *len)
{
	struct tcp_info info = {.tcpi_state = s->state == SOCK_LISTENING ? TCP_LISTEN : TCP_CLOSE};
	const void *from = &info;
	uint32_t size = sizeof(info);
	int v = 0;

	if (level == SOL_SOCKET && name == SO_ERROR) {
		sock_pull_error(s);
		v = s->err;
		s->err = 0;
	} else if (level == IPPROTO_TCP && name == TCP_INFO) {
		if (s->conn != NULL && s->state != SOCK_LISTENING)
			tcp_info_get(s->conn, &info);
	} else if (level == IPPROTO_TCP && name == TCP_MAXSEG && s->conn != NULL) {
		(void)tcp_opt_get(s->conn, level, name, &v);
	} else if (level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK)) {
		v = preset(s, level, name);
	} else {
		return -ENOPROTOOPT;
	}
	if (name != TCP_INFO || level != IPPROTO_TCP) {
		from = &v;
		size = sizeof(v);
	}
	*len = RTE_MIN(*len, size);
	memcpy(value, from, *len);
	return 0;
}

int
sock_opt_get(struct sock *s, int level, int name, void *value, uint32_t *len)
{
	int rc;

	sock_enter(s->net);
	rc = sock_dead(s) ? -ECONNABORTED : get(s, level, name, value, len);
	sock_leave(s->net);
	return rc;
}
