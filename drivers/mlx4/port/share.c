/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The primary's answers to secondary processes. */
#include "share.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_string_fns.h>

/* What an answer tells: none is longer than the extended statistics. */
#define TELL_MAX 16384u
#define TELL_XSTATS (TELL_MAX / sizeof(struct rte_eth_xstat))

/* Held while a question is answered, so that no port goes meanwhile. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rte_eth_dev *shown[RTE_MAX_ETHPORTS];
static uint32_t shared_size[MLX4_SHARE_STRUCTS];

void
mlx4_ask_init(struct mlx4_ask *ask, enum mlx4_ask_what what, uint16_t port_id, const uint32_t size[MLX4_SHARE_STRUCTS])
{
	memset(ask, 0, sizeof(*ask));
	ask->what = what;
	ask->port_id = port_id;
	memcpy(ask->size, size, sizeof(ask->size));
}

static int
answer_seat(const struct mlx4_ask *ask, struct mlx4_answer *a, struct rte_mp_msg *reply)
{
	uint16_t id;

	for (id = 0; id < RTE_MAX_ETHPORTS; id++) {
		const struct mlx4_bus *bus;

		if (shown[id] == NULL)
			continue;
		bus = mlx4_eth_of(shown[id])->hca->bus;
		if (strncmp(bus->where, ask->device, sizeof(ask->device)) != 0)
			continue;
		a->ports |= 1u << (mlx4_eth_of(shown[id])->port - 1);
		a->uar = (uintptr_t)bus->uar;
		a->uar_len = bus->uar_len;
		a->uar_off = bus->share_off;
		if (bus->share_fd >= 0) {
			reply->fds[0] = bus->share_fd;
			reply->num_fds = 1;
		}
	}
	return 0;
}

/* Returns how many bytes it has put into out, or negative errno. */
static int
answer_port(const struct mlx4_ask *ask, struct rte_eth_dev *dev, uint8_t *out)
{
	int rc;

	switch (ask->what) {
	case MLX4_ASK_LINK: dev->dev_ops->link_update(dev, 0); return 0;
	case MLX4_ASK_STATS:
		rc = MLX4_STATS_GET(dev, (struct mlx4_stats_box *)(void *)out);
		return rc == 0 ? (int)sizeof(struct mlx4_stats_box) : rc;
	case MLX4_ASK_STATS_RESET: return dev->dev_ops->stats_reset(dev);
	case MLX4_ASK_XSTATS:
		rc = dev->dev_ops->xstats_get(dev, (struct rte_eth_xstat *)(void *)out, TELL_XSTATS);
		if (rc > (int)TELL_XSTATS)
			return -E2BIG;
		return rc < 0 ? rc : (int)(rc * sizeof(struct rte_eth_xstat));
	case MLX4_ASK_CLOCK:
		rc = dev->dev_ops->read_clock(dev, (uint64_t *)(void *)out);
		return rc == 0 ? (int)sizeof(uint64_t) : rc;
	default: return -EOPNOTSUPP;
	}
}

static int
tell(const void *data, size_t len)
{
	int fd = memfd_create("mlx4_answer", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, len) != (ssize_t)len) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
answer(const struct mlx4_ask *ask, struct mlx4_answer *a, struct rte_mp_msg *reply, int *file)
{
	_Alignas(RTE_CACHE_LINE_SIZE) uint8_t out[TELL_MAX] = {0};

	if (memcmp(shared_size, ask->size, sizeof(shared_size)) != 0) {
		a->rc = -EPROTO;
		return;
	}
	if (ask->what == MLX4_ASK_SEAT) {
		a->rc = answer_seat(ask, a, reply);
		return;
	}
	a->rc = ask->port_id < RTE_MAX_ETHPORTS && shown[ask->port_id] != NULL
			? answer_port(ask, shown[ask->port_id], out)
			: -ENODEV;
	if (a->rc <= 0)
		return;
	a->len = (uint32_t)a->rc;
	*file = tell(out, a->len);
	a->rc = *file < 0 ? -ENOMEM : 0;
	reply->fds[0] = *file;
	reply->num_fds = *file < 0 ? 0 : 1;
}

/* In the thread of the EAL that takes messages. */
static int
on_ask(const struct rte_mp_msg *msg, const void *peer)
{
	struct rte_mp_msg reply = {.len_param = sizeof(struct mlx4_answer)};
	struct mlx4_answer a = {.rc = -EPROTO};
	struct mlx4_ask ask;
	int file = -1, rc;

	rte_strscpy(reply.name, MLX4_SHARE_NAME, sizeof(reply.name));
	pthread_mutex_lock(&lock);
	if (msg->len_param == sizeof(ask)) {
		memcpy(&ask, msg->param, sizeof(ask));
		answer(&ask, &a, &reply, &file);
	}
	memcpy(reply.param, &a, sizeof(a));
	rc = rte_mp_reply(&reply, peer);
	pthread_mutex_unlock(&lock);
	if (file >= 0)
		close(file);
	return rc;
}

int
mlx4_share_open(const uint32_t size[MLX4_SHARE_STRUCTS])
{
	static bool open;
	int rc = 0;

	pthread_mutex_lock(&lock);
	memcpy(shared_size, size, sizeof(shared_size));
	/* Not supported means that no process can be attached. */
	if (!open && rte_mp_action_register(MLX4_SHARE_NAME, on_ask) != 0 && rte_errno != ENOTSUP)
		rc = -rte_errno;
	open = rc == 0;
	pthread_mutex_unlock(&lock);
	return rc;
}

void
mlx4_share_show(struct rte_eth_dev *dev)
{
	pthread_mutex_lock(&lock);
	shown[dev->data->port_id] = dev;
	pthread_mutex_unlock(&lock);
}

void
mlx4_share_hide(struct rte_eth_dev *dev)
{
	pthread_mutex_lock(&lock);
	shown[dev->data->port_id] = NULL;
	pthread_mutex_unlock(&lock);
}
