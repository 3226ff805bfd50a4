/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages of a vfio-user client, without the socket. Input: records of {command, flags, kind of descriptor, payload
 * length (2)} and payload; the first message is a good VERSION, so that most of them get past the door.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apps/triplane-hca/vfu.h"

#define FILE_SIZE (64u * 1024)
#define RECORD 5u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vfu_reply reply;
static int fd_of_kind[3];

static void
message(struct vfu *s, uint16_t cmd, uint32_t flags, const void *payload, uint32_t len, unsigned int kind)
{
	struct vfu_header h = {.id = 1, .cmd = cmd, .size = (uint32_t)sizeof(h) + len, .flags = flags}, r;
	/* Of its own size, so that a read past its end is seen. */
	uint8_t *copy = malloc(len == 0 ? 1 : len);
	int fds[VFU_MAX_FDS];
	unsigned int nfds = kind >> 2 & (VFU_MAX_FDS - 1);

	if (copy == NULL)
		return;
	if (len != 0)
		memcpy(copy, payload, len);
	nfds = (kind & 3) == 3 ? 0 : nfds;
	for (unsigned int i = 0; i < nfds; i++)
		fds[i] = fcntl(fd_of_kind[kind & 3], F_DUPFD_CLOEXEC, 0);
	vfu_handle(s, &h, copy, fds, nfds, &reply);
	free(copy);
	if (reply.len == 0)
		return;
	/* Whatever was asked, the answer is a message. */
	memcpy(&r, reply.buf, sizeof(r));
	if (r.size != reply.len || r.id != h.id || r.cmd != cmd || (r.flags & VFU_F_TYPE) != VFU_F_TYPE_REPLY ||
	    ((r.flags & VFU_F_ERROR) != 0) != (r.error != 0))
		abort();
}

/* One card for all inputs: a client that leaves leaves it reset. */
static void
setup(struct vfu *s, struct tp_model **m)
{
	struct tp_model_config cfg;

	fd_of_kind[0] = memfd_create("fuzz", MFD_CLOEXEC);
	fd_of_kind[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd_of_kind[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	tp_model_config_default(&cfg);
	if (ftruncate(fd_of_kind[0], FILE_SIZE) != 0 || tp_model_create(&cfg, m) != 0 ||
	    vfu_init(s, *m, NULL, NULL) != 0 || tp_model_wire_cross(*m) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char hello[] = "\0\0\0\0{\"capabilities\":{\"max_msg_fds\":16,\"max_dma_maps\":64}}";
	static struct vfu s;
	static struct tp_model *m;

	if (m == NULL)
		setup(&s, &m);
	message(&s, VFU_VERSION, 0, hello, sizeof(hello), 3);
	if (!s.version_done)
		abort();
	while (size >= RECORD) {
		uint32_t len = (uint32_t)data[3] | (uint32_t)data[4] << 8;
		uint16_t cmd = data[0];
		uint32_t flags = data[1];
		unsigned int kind = data[2];

		data += RECORD;
		size -= RECORD;
		len = len < size ? len : (uint32_t)size;
		message(&s, cmd, flags, data, len, kind);
		tp_model_step(m, 4);
		data += len;
		size -= len;
		if (s.drop)
			break;
	}
	vfu_detach(&s);
	return 0;
}
