/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Attaching the ports of a card in a secondary process, and asking the primary. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_string_fns.h>

#include "drivers/mlx4/bus/uar_map.h"
#include "drivers/mlx4/port/handover.h"
#include "drivers/mlx4/port/share.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"

/* Longer than any command takes that the primary has to give. */
#define ANSWER_S 10

/* Doorbell pages that this process has mapped, of one card. */
struct seat {
	void *at;
	size_t len;
	unsigned int refs;
};

/* A port of this process. */
struct second {
	struct seat *seat; /* NULL: EAL has mapped the pages */
	struct mlx4_ends *ends;
};

/* One question at a time: EAL has no room for more of one name. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static int
take_file(int file, const struct mlx4_answer *a, void *out, size_t len)
{
	size_t want = RTE_MIN(len, (size_t)a->len);
	int rc = pread(file, out, want, 0) == (ssize_t)want ? 0 : -EIO;

	close(file);
	return rc;
}

/* A file that the caller wants is kept in *fd, any other is read. */
static int
take_answer(const struct rte_mp_msg *msg, struct mlx4_answer *a, void *out, size_t len, int *fd)
{
	int file = msg->num_fds > 0 ? msg->fds[0] : -1;

	if (msg->len_param != sizeof(*a)) {
		if (file >= 0)
			close(file);
		return -EPROTO;
	}
	memcpy(a, msg->param, sizeof(*a));
	if (fd != NULL)
		*fd = file;
	else if (file >= 0)
		return take_file(file, a, out, len);
	return a->rc;
}

int
mlx4_second_ask(const struct mlx4_ask *ask, struct mlx4_answer *a, void *out, size_t len, int *fd)
{
	const struct timespec limit = {.tv_sec = ANSWER_S};
	struct rte_mp_msg msg = {.len_param = sizeof(*ask)};
	struct rte_mp_reply reply = {0};
	int rc;

	rte_strscpy(msg.name, MLX4_SHARE_NAME, sizeof(msg.name));
	memcpy(msg.param, ask, sizeof(*ask));
	memset(a, 0, sizeof(*a));
	pthread_mutex_lock(&asking);
	rc = rte_mp_request_sync(&msg, &reply, &limit) == 0 ? 0 : -rte_errno;
	pthread_mutex_unlock(&asking);
	if (rc == 0)
		rc = reply.nb_received == 1 ? take_answer(&reply.msgs[0], a, out, len, fd) : -ETIMEDOUT;
	free(reply.msgs);
	return rc;
}

static int
seat_take(const char *name, const struct mlx4_answer *a, int fd, struct seat **out)
{
	struct seat *s = calloc(1, sizeof(*s));
	int rc = -ENOMEM;

	if (s != NULL) {
		s->at = (void *)(uintptr_t)a->uar;
		s->len = a->uar_len;
		s->refs = 1;
		rc = mlx4_uar_map_at(fd, a->uar_off, s->len, s->at);
	}
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: cannot map the doorbell pages at %p as the primary process has them: %s%s", name,
			 (void *)(uintptr_t)a->uar, rte_strerror(-rc),
			 rc == -EEXIST ? "; something else is there, start this process again" : "");
		free(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void
seat_put(struct seat *s)
{
	if (s == NULL || --s->refs != 0)
		return;
	munmap(s->at, s->len);
	free(s);
}

void
mlx4_second_release(struct rte_eth_dev *dev)
{
	struct second *s = dev->process_private;

	if (s == NULL)
		return;
	dev->process_private = NULL;
	seat_put(s->seat);
	mlx4_ends_free(s->ends);
	free(s);
}

void
mlx4_second_poll(struct rte_eth_dev *dev)
{
	mlx4_ends_show(dev, ((struct second *)dev->process_private)->ends);
}

bool
mlx4_second_alive(const struct rte_eth_dev *dev)
{
	const struct second *s = dev->process_private;

	return s != NULL && mlx4_ends_alive(s->ends);
}

static int
attach_port(struct rte_device *device, const char *card, unsigned int port, struct seat *seat)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev *dev;
	struct second *s;

	snprintf(name, sizeof(name), "%s_p%u", card, port - 1);
	dev = rte_eth_dev_attach_secondary(name);
	if (dev == NULL)
		return -ENODEV;
	s = calloc(1, sizeof(*s));
	if (s != NULL)
		s->ends = mlx4_ends_create(dev);
	if (s == NULL || s->ends == NULL) {
		free(s);
		rte_eth_dev_release_port(dev);
		return -ENOMEM;
	}
	s->seat = seat;
	if (seat != NULL)
		seat->refs++;
	dev->process_private = s;
	dev->device = device;
	dev->dev_ops = &mlx4_second_ops;
	dev->rx_pkt_burst = mlx4_rxtx_removed;
	dev->tx_pkt_burst = mlx4_rxtx_removed;
	rte_eth_dev_probing_finish(dev);
	mlx4_ends_show(dev, s->ends);
	return 0;
}

static int
ask_seat(const char *name, struct mlx4_answer *a, int *fd)
{
	struct mlx4_ask ask;
	int rc;

	mlx4_ask_init(&ask, MLX4_ASK_SEAT, 0, MLX4_SHARE_SIZES);
	rte_strscpy(ask.device, name, sizeof(ask.device));
	rc = mlx4_second_ask(&ask, a, NULL, 0, fd);
	if (rc != 0)
		MLX4_LOG(ERR, "%s: the primary process gives no ports of this card: %s%s", name, rte_strerror(-rc),
			 rc == -EPROTO ? " (its driver is of another build)" : "");
	else if (a->ports == 0)
		MLX4_LOG(NOTICE, "%s: the primary process has no Ethernet port of this card", name);
	return rc;
}

int
mlx4_second_attach(struct rte_device *device, const char *name, const void *uar)
{
	struct seat *seat = NULL;
	struct mlx4_answer a;
	int rc, fd = -1;
	unsigned int i;

	rc = ask_seat(name, &a, &fd);
	if (rc == 0 && fd >= 0)
		rc = seat_take(name, &a, fd, &seat);
	else if (rc == 0 && a.uar != (uintptr_t)uar) {
		MLX4_LOG(ERR, "%s: the doorbell pages are at %p here and at %p in the primary process", name, uar,
			 (void *)(uintptr_t)a.uar);
		rc = -EADDRNOTAVAIL;
	}
	if (fd >= 0)
		close(fd);
	for (i = 0; rc == 0 && i < MLX4_MAX_PORTS; i++)
		if ((a.ports >> i & 1) != 0)
			rc = attach_port(device, name, i + 1, seat);
	if (rc != 0)
		mlx4_second_detach(device);
	seat_put(seat);
	return rc;
}

int
mlx4_second_detach(struct rte_device *device)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, device)
	rte_eth_dev_close(id);
	return 0;
}
