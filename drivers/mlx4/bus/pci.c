/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The bus "pci": a card bound to vfio-pci. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_io.h>
#include <rte_malloc.h>
#include <rte_pci.h>

#include <bus_pci_driver.h>

#include "log.h"
#include "mlx4_prm_regs.h"
#include "open.h"

#define PCI_CMD_TIMEOUT_MS 60000u /* as all known drivers [CP 2.5] */
#define PCI_RESET_WAIT_US 1000000u
#define PCI_RESET_DONE_MS 2000u
#define CFG_COMMAND 0x04u
#define CFG_HEADER 0x40u
#define CFG_COMMAND_MEM_MASTER 0x0006u
#define CFG_EXP_DEVCTL 0x08u /* from the PCI Express capability */
#define CFG_EXP_LNKCTL 0x10u

struct pci_bus {
	struct mlx4_bus bus;
	struct rte_pci_device *pci;
	volatile uint8_t *regs;
	uint32_t header[CFG_HEADER / 4]; /* configuration space before a reset */
	uint16_t devctl, lnkctl;
};

static struct pci_bus *
to_pci(struct mlx4_bus *bus)
{
	return (struct pci_bus *)bus;
}

static uint32_t
pci_read32(struct mlx4_bus *bus, uint32_t off)
{
	return rte_be_to_cpu_32(rte_read32(to_pci(bus)->regs + off));
}

static void
pci_write32(struct mlx4_bus *bus, uint32_t off, uint32_t val)
{
	rte_write32(rte_cpu_to_be_32(val), to_pci(bus)->regs + off);
}

static int
pci_cfg_read(struct mlx4_bus *bus, uint32_t off, void *buf, uint32_t len)
{
	return rte_pci_read_config(to_pci(bus)->pci, buf, len, off) == (int)len ? 0 : -EIO;
}

static int
pci_cfg_write(struct mlx4_bus *bus, uint32_t off, const void *buf, uint32_t len)
{
	return rte_pci_write_config(to_pci(bus)->pci, buf, len, off) == (int)len ? 0 : -EIO;
}

static int
cfg_save(struct pci_bus *b)
{
	uint16_t cmd;
	int rc;

	rc = pci_cfg_read(&b->bus, 0, b->header, sizeof(b->header));
	if (rc == 0)
		rc = pci_cfg_read(&b->bus, MLX4_PCI_CAP_EXP + CFG_EXP_DEVCTL, &b->devctl, sizeof(b->devctl));
	if (rc == 0)
		rc = pci_cfg_read(&b->bus, MLX4_PCI_CAP_EXP + CFG_EXP_LNKCTL, &b->lnkctl, sizeof(b->lnkctl));
	if (rc != 0)
		return rc;
	/* Memory and bus mastering on, also for the restore. */
	cmd = (uint16_t)rte_le_to_cpu_32(b->header[CFG_COMMAND / 4]) | CFG_COMMAND_MEM_MASTER;
	b->header[CFG_COMMAND / 4] = rte_cpu_to_le_32(cmd);
	cmd = rte_cpu_to_le_16(cmd);
	return pci_cfg_write(&b->bus, CFG_COMMAND, &cmd, sizeof(cmd));
}

/* Everything but COMMAND, which comes last [CP 1.4]; VFIO keeps the BARs and restores them by itself. */
static int
cfg_restore(struct pci_bus *b)
{
	uint32_t i;
	int rc;

	rc = pci_cfg_write(&b->bus, MLX4_PCI_CAP_EXP + CFG_EXP_DEVCTL, &b->devctl, sizeof(b->devctl));
	if (rc == 0)
		rc = pci_cfg_write(&b->bus, MLX4_PCI_CAP_EXP + CFG_EXP_LNKCTL, &b->lnkctl, sizeof(b->lnkctl));
	for (i = 0; rc == 0 && i < RTE_DIM(b->header); i++)
		if (i != CFG_COMMAND / 4)
			rc = pci_cfg_write(&b->bus, i * 4, &b->header[i], sizeof(b->header[i]));
	if (rc == 0)
		rc = pci_cfg_write(&b->bus, CFG_COMMAND, &b->header[CFG_COMMAND / 4], sizeof(uint16_t));
	return rc;
}

static int
pci_reset_done(struct mlx4_bus *bus)
{
	uint16_t vendor = UINT16_MAX;
	uint32_t ms;

	for (ms = 0; ms < PCI_RESET_DONE_MS; ms++) {
		if (pci_cfg_read(bus, 0, &vendor, sizeof(vendor)) == 0 && vendor != UINT16_MAX)
			return cfg_restore(to_pci(bus));
		rte_delay_us_sleep(1000);
	}
	return -ETIMEDOUT;
}

/* EAL memory is open through VFIO's own container; this is for what the application brings. */
static int
pci_dma_map_extra(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	return rte_dev_dma_map(bus->dev, addr, iova, len) == 0 ? 0 : -rte_errno;
}

static int
pci_dma_unmap_extra(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len)
{
	return rte_dev_dma_unmap(bus->dev, addr, iova, len) == 0 ? 0 : -rte_errno;
}

static void
efds_num_set(struct rte_intr_handle *h, int n)
{
	rte_intr_nb_efd_set(h, n);
	rte_intr_max_intr_set(h, n + 1);
}

static void
efds_close(struct rte_intr_handle *h, int from, int to)
{
	while (to > from)
		close(rte_intr_efds_index_get(h, --to));
	efds_num_set(h, from);
}

/* More event fds than there are; on failure as many as before. */
static int
efds_open(struct rte_intr_handle *h, int from, int to)
{
	int i, fd;

	for (i = from; i < to; i++) {
		fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd < 0)
			break;
		if (rte_intr_efds_index_set(h, i, fd) != 0) {
			close(fd);
			break;
		}
	}
	if (i < to) {
		efds_close(h, from, i);
		return -ENOSPC;
	}
	efds_num_set(h, to);
	return 0;
}

/* Whoever waits looks at its event queue: an interrupt may have come while there were no vectors. */
static void
tell_all(const struct rte_intr_handle *h, int n)
{
	const uint64_t one = 1;
	int i, failed = write(rte_intr_fd_get(h), &one, sizeof(one)) < 0;

	for (i = 0; i < n; i++)
		failed += write(rte_intr_efds_index_get(h, i), &one, sizeof(one)) < 0;
	if (failed != 0)
		MLX4_LOG(WARNING, "%d of %d event fds take nothing", failed, n + 1);
}

/* VFIO connects a set of vectors, and no more later: all of them anew, with the event fds that are there. */
static int
pci_irq_setup(struct mlx4_bus *bus, unsigned int n)
{
	struct rte_intr_handle *h = bus->intr;
	int old = rte_intr_nb_efd_get(h), rc;

	rte_intr_disable(h);
	if (n == 0) {
		rte_intr_efd_disable(h);
		return 0;
	}
	rc = efds_open(h, old, (int)n - 1);
	if (rc == 0 && rte_intr_enable(h) != 0) {
		efds_close(h, old, (int)n - 1);
		rc = -EIO;
	}
	if (rc != 0 && old > 0 && rte_intr_enable(h) != 0)
		MLX4_LOG(ERR, "%s: the %d interrupt vectors that were there are lost", bus->where, old + 1);
	if (old > 0)
		tell_all(h, old);
	return rc;
}

static void
pci_close(struct mlx4_bus *bus)
{
	rte_free(to_pci(bus));
}

static const struct mlx4_bus_ops pci_ops = {
	.name = "pci",
	.read32 = pci_read32,
	.write32 = pci_write32,
	.cfg_read = pci_cfg_read,
	.cfg_write = pci_cfg_write,
	.reset_done = pci_reset_done,
	.dma_map = pci_dma_map_extra,
	.dma_unmap = pci_dma_unmap_extra,
	.irq_setup = pci_irq_setup,
	.close = pci_close,
};

static int
check_bars(const struct rte_pci_device *pci)
{
	const struct rte_mem_resource *r = pci->mem_resource;

	if (r[MLX4_PCI_BAR_REGS].addr != NULL && r[MLX4_PCI_BAR_REGS].len >= MLX4_BAR0_SIZE &&
	    r[MLX4_PCI_BAR_UAR].addr != NULL)
		return 0;
	MLX4_LOG(ERR,
		 "%s: BAR0 has %" PRIu64 " bytes and BAR2 %" PRIu64 ", wanted %u and UAR pages; bound to vfio-pci?",
		 pci->device.name, r[MLX4_PCI_BAR_REGS].len, r[MLX4_PCI_BAR_UAR].len, MLX4_BAR0_SIZE);
	return -ENODEV;
}

int
mlx4_bus_pci_open(struct rte_pci_device *pci, struct mlx4_bus **out)
{
	struct pci_bus *b;
	int rc;

	rc = check_bars(pci);
	if (rc != 0)
		return rc;
	b = rte_zmalloc_socket("mlx4_pci", sizeof(*b), 0, pci->device.numa_node);
	if (b == NULL)
		return -ENOMEM;
	b->pci = pci;
	b->regs = pci->mem_resource[MLX4_PCI_BAR_REGS].addr;
	b->bus.ops = &pci_ops;
	b->bus.uar = pci->mem_resource[MLX4_PCI_BAR_UAR].addr;
	b->bus.uar_len = pci->mem_resource[MLX4_PCI_BAR_UAR].len;
	b->bus.share_fd = -1;
	b->bus.device_id = pci->id.device_id;
	b->bus.numa_node = pci->device.numa_node;
	b->bus.max_vectors = MLX4_MSIX_VECTORS;
	b->bus.reset_wait_us = PCI_RESET_WAIT_US;
	b->bus.cmd_timeout_ms = PCI_CMD_TIMEOUT_MS;
	b->bus.dev = &pci->device;
	b->bus.intr = pci->intr_handle;
	b->bus.where = pci->device.name;
	rc = cfg_save(b);
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: cannot read the configuration space: %s", pci->device.name, rte_strerror(-rc));
		rte_free(b);
		return rc;
	}
	*out = &b->bus;
	return 0;
}
