/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of <rdma/rdma_cma_abi.h> as they go to the owner, without pointers and descriptors. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_cma_abi.h>

#include "rdmacm.h"

/* Where a command has the address of its answer; -1: it has none. */
static int
response_at(uint32_t cmd)
{
	switch (cmd) {
	case UCMA_CMD_CREATE_ID: return offsetof(struct ucma_abi_create_id, response);
	case UCMA_CMD_DESTROY_ID:
	case UCMA_CMD_LEAVE_MCAST: return offsetof(struct ucma_abi_destroy_id, response);
	case UCMA_CMD_QUERY_ROUTE:
	case UCMA_CMD_QUERY: return offsetof(struct ucma_abi_query, response);
	case UCMA_CMD_INIT_QP_ATTR: return offsetof(struct ucma_abi_init_qp_attr, response);
	case UCMA_CMD_GET_EVENT: return offsetof(struct ucma_abi_get_event, response);
	case UCMA_CMD_JOIN_IP_MCAST: return offsetof(struct ucma_abi_join_ip_mcast, response);
	case UCMA_CMD_JOIN_MCAST: return offsetof(struct ucma_abi_join_mcast, response);
	case UCMA_CMD_MIGRATE_ID: return offsetof(struct ucma_abi_migrate_id, response);
	default: return -1;
	}
}

/* The value lies behind the structure. */
static int
with_option(struct share_cm *c)
{
	struct ucma_abi_set_option o = {0};

	if (c->len < sizeof(o))
		return EINVAL;
	memcpy(&o, c->data, sizeof(o));
	if (o.optlen > sizeof(c->data) - sizeof(o))
		return EINVAL;
	c->len = (uint16_t)(sizeof(o) + o.optlen);
	if (o.optlen != 0)
		memcpy(c->data + sizeof(o), (const void *)(uintptr_t)o.optval, o.optlen);
	return 0;
}

/* The number of the channel in place of its descriptor. */
static int
with_channel(struct share_cm *c)
{
	struct ucma_abi_migrate_id m;
	struct file_channel channel;

	if (c->len < sizeof(m))
		return EINVAL;
	memcpy(&m, c->data, sizeof(m));
	if (file_of((int)m.fd, &channel) != FILE_OURS)
		return EINVAL;
	m.fd = channel.number;
	memcpy(c->data, &m, sizeof(m));
	return 0;
}

static int
make(struct share_cm *c, const void *buf, size_t len)
{
	struct ucma_abi_cmd_hdr h;

	if (len < sizeof(h))
		return EINVAL;
	memcpy(&h, buf, sizeof(h));
	if (h.in > len - sizeof(h) || sizeof(h) + h.in > sizeof(c->data))
		return EINVAL;
	*c = (struct share_cm){.cmd = h.cmd,
			       .len = (uint16_t)(sizeof(h) + h.in),
			       .out = h.out < SHARE_CM_DATA ? h.out : SHARE_CM_DATA};
	memcpy(c->data, buf, c->len);
	switch (h.cmd) {
	case UCMA_CMD_SET_OPTION: return with_option(c);
	case UCMA_CMD_MIGRATE_ID: return with_channel(c);
	default: return 0;
	}
}

static int
command(uint32_t channel, const void *buf, size_t len)
{
	struct share_msg m = {.op = SHARE_CM_COMMAND, .handle = channel};
	int err = make(&m.cm, buf, len), at = response_at(m.cm.cmd);
	uint64_t response = 0;

	if (err == 0 && at >= 0 && m.cm.len < (size_t)at + sizeof(response))
		err = EINVAL;
	if (err != 0)
		return err;
	if (at >= 0)
		memcpy(&response, m.cm.data + at, sizeof(response));
	err = file_ask(&m);
	if (err == 0 && at >= 0)
		memcpy((void *)(uintptr_t)response, m.cm.data, m.cm.len);
	return err;
}

/* Waits as the descriptor's flags say, and as a kernel lets signals interrupt. */
static int
wait_event(int fd)
{
	char any;
	ssize_t n = recv(fd, &any, 1, MSG_PEEK);

	return n > 0 ? 0 : n < 0 ? errno : EIO;
}

static bool
is_closed(int fd, const struct file_channel *channel)
{
	struct file_channel now;

	return file_of(fd, &now) != FILE_OURS || now.serial != channel->serial;
}

ssize_t
command_late(const void *buf, size_t len)
{
	struct ucma_abi_cmd_hdr h = {0};

	memcpy(&h, buf, len < sizeof(h) ? len : sizeof(h));
	while (h.cmd == UCMA_CMD_GET_EVENT)
		(void)pause();
	errno = EBADF;
	return -1;
}

ssize_t
command_write(int fd, const struct file_channel *channel, const void *buf, size_t len)
{
	int err = command(channel->number, buf, len);

	/* Another thread may be quicker. Only events that there are not yet make the owner say EAGAIN. */
	while (err == EAGAIN && (err = wait_event(fd)) == 0)
		err = command(channel->number, buf, len);
	if (err == 0)
		return (ssize_t)len;
	if (err != EAGAIN && err != EINTR && is_closed(fd, channel))
		return command_late(buf, len);
	errno = err;
	return -1;
}
