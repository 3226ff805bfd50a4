/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The bus "user": a card in another process, --vdev=net_mlx4_user0,socket=PATH. Registers go by message, doorbells by
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

#include <bus_vdev_driver.h>

#include "bus_user.h"
#include "card.h"
#include "devargs.h"
#include "mlx4_core.h"
#include "share.h"

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

	if (user_sock_read(&to_user(bus)->sock, VFU_REGION_BAR0, off, &v, sizeof(v)) != 0)
		return UINT32_MAX;
	return rte_be_to_cpu_32(v);
}

static void
user_write32(struct mlx4_bus *bus, uint32_t off, uint32_t val)
{
	rte_be32_t v = rte_cpu_to_be_32(val);

	user_sock_write(&to_user(bus)->sock, VFU_REGION_BAR0, off, &v, sizeof(v));
}

static int
user_cfg_read(struct mlx4_bus *bus, uint32_t off, void *buf, uint32_t len)
{
	return user_sock_read(&to_user(bus)->sock, VFU_REGION_CONFIG, off, buf, len);
}

static int
user_cfg_write(struct mlx4_bus *bus, uint32_t off, const void *buf, uint32_t len)
{
	return user_sock_write(&to_user(bus)->sock, VFU_REGION_CONFIG, off, buf, len);
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

	return user_sock_call(&b->sock, VFU_DEVICE_SET_IRQS, &m);
}

static void
irq_disconnect(struct user_bus *b)
{
	if (b->irq.num == 0)
		return;
	set_irqs(b, 0, 0);
	irq_fds_close(&b->irq, b->bus.intr, 0);
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
	rc = irq_fds_open(&b->irq, bus->intr, n);
	for (i = old; rc == 0 && i < n; i += VFU_MAX_FDS)
		rc = set_irqs(b, i, RTE_MIN(n - i, VFU_MAX_FDS));
	/* What the card has already of the new ones tells nobody. */
	if (rc != 0)
		irq_fds_close(&b->irq, bus->intr, old);
	return rc;
}

static void
user_irq_ack(struct mlx4_bus *bus)
{
	irq_fds_ack(&to_user(bus)->irq);
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
	user_mem_stop(b);
	/* The server resets the card when its client leaves. */
	user_sock_close(&b->sock);
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
	int rc = user_sock_call(&b->sock, VFU_DEVICE_GET_REGION_INFO, &m);
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
bus_init(struct user_bus *b, struct rte_vdev_device *vdev)
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
	bus->numa_node = vdev->device.numa_node < 0 ? RTE_MAX((int)rte_socket_id(), 0) : vdev->device.numa_node;
	bus->max_vectors = MLX4_MSIX_VECTORS;
	bus->cmd_timeout_ms = USER_CMD_TIMEOUT_MS;
	bus->dev = &vdev->device;
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

static int
parse_socket(const char *dev, const char *key, const char *value, void *arg)
{
	struct user_bus *b = arg;

	if (value == NULL || value[0] == '\0' || strlen(value) >= sizeof(b->path))
		return mlx4_arg_refuse(dev, key, value, "the path of a vfio-user socket");
	snprintf(b->path, sizeof(b->path), "%s", value);
	return 0;
}

static const struct mlx4_arg user_arg_table[] = {{.key = "socket", .parse = parse_socket}};

static int
user_new(struct rte_vdev_device *vdev, struct mlx4_eth_args *eth, struct user_bus **out)
{
	const char *name = rte_vdev_device_name(vdev);
	struct user_bus *b = rte_zmalloc("mlx4_user", sizeof(*b), 0);
	const struct mlx4_arg_table tables[] = {
		{mlx4_eth_arg_table, mlx4_num_eth_args, eth},
		{user_arg_table, RTE_DIM(user_arg_table), b},
	};
	int rc;

	if (b == NULL)
		return -ENOMEM;
	b->bus.ops = &user_ops;
	snprintf(b->name, sizeof(b->name), "%s", name == NULL ? "net_mlx4_user" : name);
	mlx4_eth_args_default(eth);
	rc = mlx4_devargs_parse(b->name, rte_vdev_device_args(vdev), tables, RTE_DIM(tables));
	if (rc == 0 && b->path[0] == '\0') {
		MLX4_LOG(ERR, "%s: socket=PATH is missing: the vfio-user socket of a card", b->name);
		rc = -EINVAL;
	}
	if (rc == 0)
		rc = user_sock_open(&b->sock, b->path);
	if (rc != 0)
		goto err_sock;
	rc = bus_init(b, vdev);
	if (rc != 0)
		goto err_bus;
	rc = user_mem_start(b);
	if (rc != 0)
		goto err_mem;
	*out = b;
	return 0;

err_mem:
	unmap_uar(b);
	rte_intr_instance_free(b->bus.intr);
err_bus:
	user_sock_close(&b->sock);
err_sock:
	rte_free(b);
	return rc;
}

static int
user_probe(struct rte_vdev_device *vdev)
{
	struct mlx4_eth_args eth;
	struct user_bus *b;
	int rc;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_attach(&vdev->device, rte_vdev_device_name(vdev), NULL);
	rc = user_new(vdev, &eth, &b);
	if (rc != 0)
		return rc;
	rc = mlx4_card_probe(&b->bus, &eth);
	if (rc != 0)
		user_close(&b->bus);
	return rc;
}

static int
user_remove(struct rte_vdev_device *vdev)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_detach(&vdev->device);
	return mlx4_card_remove(&vdev->device);
}

static struct rte_vdev_driver user_driver = {
	.probe = user_probe,
	.remove = user_remove,
	.drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA,
};
RTE_PMD_REGISTER_VDEV(net_mlx4_user, user_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_mlx4_user, "socket=PATH check-fw-version=0|1 port-type0=eth|ib|auto "
					     "port-type1=eth|ib|auto bf=0|1 tx-inline=<num> rss-udp=0|1 "
					     "rss-raw-ip=0|1 mac-loopback=0|1");
