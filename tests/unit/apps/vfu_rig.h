/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A client of the card behind vfio-user, without a socket: messages as bytes, and what comes back. Expected values are
 * those of the protocol's text (vfio-user, version 0.0), written as numbers.
 */
#ifndef VFU_RIG_H
#define VFU_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/triplane-hca/vfu.h"

#define CARD_ID 0x4711
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct rig {
	struct tp_model *model;
	struct vfu server;
	struct vfu_reply reply;
	char said[256]; /* the last line of the log */
	unsigned int lines;
};

static inline void
rig_log(void *arg, const char *line)
{
	struct rig *r = arg;

	r->lines++;
	snprintf(r->said, sizeof(r->said), "%s", line);
}

static inline void
rig_up(struct rig *r)
{
	struct tp_model_config cfg;

	memset(r, 0, sizeof(*r));
	tp_model_config_default(&cfg);
	assert_int_equal(tp_model_create(&cfg, &r->model), 0);
	assert_int_equal(vfu_init(&r->server, r->model, rig_log, r), 0);
}

static inline void
rig_down(struct rig *r)
{
	vfu_fini(&r->server);
	tp_model_destroy(r->model);
}

static inline uint32_t
rig_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t
rig_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* A message as it is, with descriptors. */
static inline void
rig_send(struct rig *r, uint16_t cmd, uint32_t flags, const void *data, uint32_t len, int *fds, unsigned int nfds)
{
	const struct vfu_header hdr = {.id = CARD_ID, .cmd = cmd, .size = 16 + len, .flags = flags};

	memset(r->reply.buf, 0xee, 256);
	vfu_handle(&r->server, &hdr, data, fds, nfds, &r->reply);
}

/* A command that is answered: its error; without one the answer has len octets of payload. */
static inline uint32_t
rig_ask(struct rig *r, uint16_t cmd, const void *data, uint32_t len, uint32_t want)
{
	const uint8_t *b = r->reply.buf;
	uint32_t error;

	rig_send(r, cmd, 0, data, len, NULL, 0);
	assert_true(r->reply.len >= 16);
	assert_int_equal(rig_u16(b), CARD_ID);
	assert_int_equal(rig_u16(b + 2), cmd);
	assert_int_equal(rig_u32(b + 4), r->reply.len);
	error = rig_u32(b + 12);
	/* Type 1 is a reply, bit 5 says that there is an error. */
	assert_int_equal(rig_u32(b + 8), error != 0 ? 0x21 : 1);
	assert_int_equal(r->reply.len, error != 0 ? 16 : 16 + want);
	return error;
}

static inline uint32_t
rig_version(struct rig *r, const char *json)
{
	uint8_t msg[4 + 4096] = {0};
	uint32_t len = json == NULL ? 4 : 4 + (uint32_t)strlen(json) + 1;

	if (json != NULL)
		memcpy(msg + 4, json, len - 4);
	rig_send(r, 1, 0, msg, len, NULL, 0);
	return rig_u32(r->reply.buf + 12);
}

/* The usual client. */
static inline void
rig_hello(struct rig *r)
{
	assert_int_equal(rig_version(r, "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576}}"), 0);
}

static inline bool
rig_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

#endif
