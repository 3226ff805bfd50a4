/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The bus "user": a card in another process, behind a vfio-user socket. Registers go by message, doorbells by
 * shared memory, DMA by the files of the EAL's memory, interrupts by event fds. When that process dies every register
 * reads as all ones, as those of a card that was pulled out do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include <dev_driver.h>

#include "log.h"
#include "open.h"
#include "uar_map.h"
#include "user.h"

/* A server that is alive answers at once; one that is not is noticed by its socket. */
#define USER_CMD_TIMEOUT_MS 5000u

static struct user_bus *
to_user(struct mlx4_bus *bus)
{
	return (struct user_bus *)bus;
}

static uint32_t
user_read32(struct mlx4_bus *bus, uint32_t off)
{
	rte_be32_t v;

	if (mlx4_user_sock_read(&to_user(bus)->sock, VFU_REGION_BAR0, off, &v, sizeof(v)) != 0)
		return UINT32_MAX;
	return rte_be_to_cpu_32(v);
}

static void
user_write32(struct mlx4_bus *bus, uint32_t off, uint32_t val)
{
	rte_be32_t v = rte_cpu_to_be_32(val);

	mlx4_user_sock_write(&to_user(bus)->sock, VFU_REGION_BAR0, off, &v, sizeof(v));
}

static int
user_cfg_read(struct mlx4_bus *bus, uint32_t off, void *buf, uint32_t len)
{
	return mlx4_user_sock_read(&to_user(bus)->sock, VFU_REGION_CONFIG, off, buf, len);
}

static int
user_cfg_write(struct mlx4_bus *bus, uint32_t off, const void *buf, uint32_t len)
{
	return mlx4_user_sock_write(&to_user(bus)->sock, VFU_REGION_CONFIG, off, buf, len);
}

static int
user_reset_done(struct mlx4_bus *bus)
{
	uint16_t vendor = 0;
	int rc = user_cfg_read(bus, 0, &vendor, sizeof(vendor));

	return rc != 0 ? rc : rte_le_to_cpu_16(vendor) == MLX4_PCI_VENDOR ? 0 : -ETIMEDOUT;
}

static int
user_dma_map(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	MLX4_LOG(ERR, "%s: %zu bytes at %p are the application's own: no file that the card's process could map",
		 bus->where, len, addr);
	return -ENOTSUP;
}

static int
user_dma_unmap(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	return -ENOTSUP;
}

/* --- interrupts --- */

/* The event fds of the vectors from first on, as many as go with one message; none: disconnects all. */
static int
set_irqs(struct user_bus *b, unsigned int first, unsigned int n)
{
	struct vfu_irq_set set = {.argsz = sizeof(set),
				  .flags = VFU_IRQ_SET_TRIGGER | (n != 0 ? VFU_IRQ_SET_EVENTFD : VFU_IRQ_SET_NONE),
				  .index = VFU_IRQ_MSIX,
				  .start = first,
				  .count = n};
	struct user_msg m = {.head = &set, .head_len = sizeof(set), .fds = &b->irq.fd[first], .num_fds = n};

	return mlx4_user_sock_call(&b->sock, VFU_DEVICE_SET_IRQS, &m);
}

static void
irq_disconnect(struct user_bus *b)
{
	if (b->irq.num == 0)
		return;
	set_irqs(b, 0, 0);
	mlx4_irq_fds_close(&b->irq, b->bus.intr, 0);
}

static int
user_irq_setup(struct mlx4_bus *bus, unsigned int n)
{
	struct user_bus *b = to_user(bus);
	unsigned int old = b->irq.num, i;
	int rc;

	if (n == 0) {
		irq_disconnect(b);
		return 0;
	}
	rc = mlx4_irq_fds_open(&b->irq, bus->intr, n);
	for (i = old; rc == 0 && i < n; i += VFU_MAX_FDS)
		rc = set_irqs(b, i, RTE_MIN(n - i, VFU_MAX_FDS));
	/* What the card has already of the new ones tells nobody. */
	if (rc != 0)
		mlx4_irq_fds_close(&b->irq, bus->intr, old);
	return rc;
}

static void
user_irq_ack(struct mlx4_bus *bus)
{
	mlx4_irq_fds_ack(&to_user(bus)->irq);
}

/* --- life --- */

static void
unmap_uar(struct user_bus *b)
{
	munmap((void *)(uintptr_t)b->bus.uar, b->bus.uar_len);
	close(b->bus.share_fd);
}

static void
user_close(struct mlx4_bus *bus)
{
	struct user_bus *b = to_user(bus);

	irq_disconnect(b);
	mlx4_user_mem_stop(b);
	/* The server resets the card when its client leaves. */
	mlx4_user_sock_close(&b->sock);
	unmap_uar(b);
	rte_intr_instance_free(bus->intr);
	rte_free(b);
}

static const struct mlx4_bus_ops user_ops = {
	.name = "user",
	.read32 = user_read32,
	.write32 = user_write32,
	.cfg_read = user_cfg_read,
	.cfg_write = user_cfg_write,
	.reset_done = user_reset_done,
	.dma_map = user_dma_map,
	.dma_unmap = user_dma_unmap,
	.irq_setup = user_irq_setup,
	.irq_ack = user_irq_ack,
	.close = user_close,
};

static int
map_uar(struct user_bus *b)
{
	struct vfu_region_info info = {.argsz = sizeof(info), .index = VFU_REGION_BAR2};
	struct user_msg m = {.head = &info, .head_len = sizeof(info), .reply = &info, .reply_len = sizeof(info)};
	int rc = mlx4_user_sock_call(&b->sock, VFU_DEVICE_GET_REGION_INFO, &m);
	void *uar;

	if (rc != 0)
		return rc;
	if (m.reply_fd < 0 || (info.flags & VFU_REGION_F_MMAP) == 0 || info.size == 0) {
		if (m.reply_fd >= 0)
			close(m.reply_fd);
		MLX4_LOG(ERR, "%s: the server does not share its doorbell pages", b->name);
		return -ENOTSUP;
	}
	uar = mlx4_uar_map(m.reply_fd, info.offset, info.size);
	if (uar == NULL) {
		close(m.reply_fd);
		return -rte_errno;
	}
	b->bus.uar = uar;
	b->bus.uar_len = info.size;
	b->bus.share_fd = m.reply_fd;
	b->bus.share_off = info.offset;
	return 0;
}

static int
bus_init(struct user_bus *b, struct rte_device *dev)
{
	struct mlx4_bus *bus = &b->bus;
	uint16_t id[2];
	int rc = user_cfg_read(bus, 0, id, sizeof(id));

	if (rc != 0)
		return rc;
	if (rte_le_to_cpu_16(id[0]) != MLX4_PCI_VENDOR) {
		MLX4_LOG(ERR, "%s: the device at socket=%s is %04x:%04x, wanted vendor %04x", b->name, b->path,
			 rte_le_to_cpu_16(id[0]), rte_le_to_cpu_16(id[1]), MLX4_PCI_VENDOR);
		return -ENODEV;
	}
	bus->device_id = rte_le_to_cpu_16(id[1]);
	bus->numa_node = dev->numa_node < 0 ? RTE_MAX((int)rte_socket_id(), 0) : dev->numa_node;
	bus->max_vectors = MLX4_MSIX_VECTORS;
	bus->cmd_timeout_ms = USER_CMD_TIMEOUT_MS;
	bus->dev = dev;
	bus->where = b->name;
	bus->intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (bus->intr == NULL)
		return -ENOMEM;
	rte_intr_fd_set(bus->intr, -1);
	rte_intr_type_set(bus->intr, RTE_INTR_HANDLE_EXT);
	rc = map_uar(b);
	if (rc != 0)
		rte_intr_instance_free(bus->intr);
	return rc;
}

int
mlx4_bus_user_open(struct rte_device *dev, const char *name, const char *path, struct mlx4_bus **out)
{
	struct user_bus *b = rte_zmalloc("mlx4_user", sizeof(*b), 0);
	int rc;

	if (b == NULL)
		return -ENOMEM;
	b->bus.ops = &user_ops;
	snprintf(b->name, sizeof(b->name), "%s", name);
	snprintf(b->path, sizeof(b->path), "%s", path);
	rc = mlx4_user_sock_open(&b->sock, b->path);
	if (rc != 0)
		goto err_sock;
	rc = bus_init(b, dev);
	if (rc != 0)
		goto err_bus;
	rc = mlx4_user_mem_start(b);
	if (rc != 0)
		goto err_mem;
	*out = &b->bus;
	return 0;

err_mem:
	unmap_uar(b);
	rte_intr_instance_free(b->bus.intr);
err_bus:
	mlx4_user_sock_close(&b->sock);
err_sock:
	rte_free(b);
	return rc;
}
