/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The bus seam: how the driver reaches a card. The only place that knows whether the card is a PCI function bound to
 * VFIO, the in-process model, or a process behind a vfio-user socket. Nothing above asks.
 */
#ifndef MLX4_BUS_BUS_H
#define MLX4_BUS_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rte_device;
struct rte_eth_dev;
struct rte_intr_handle;
struct tp_model;
struct mlx4_bus;

struct mlx4_bus_ops {
	const char *name;
	/* BAR0 dwords; the value is the number that the big-endian dword holds. */
	uint32_t (*read32)(struct mlx4_bus *bus, uint32_t off);
	void (*write32)(struct mlx4_bus *bus, uint32_t off, uint32_t val);
	/* PCI configuration space, little-endian. 0 or negative errno. */
	int (*cfg_read)(struct mlx4_bus *bus, uint32_t off, void *buf, uint32_t len);
	int (*cfg_write)(struct mlx4_bus *bus, uint32_t off, const void *buf, uint32_t len);
	/*
	 * The card was told to reset itself: wait until it answers again and bring the configuration space back.
	 * 0, -ETIMEDOUT.
	 */
	int (*reset_done)(struct mlx4_bus *bus);
	/* Opens memory that the EAL does not manage to the card's DMA. EAL memory is open already. */
	int (*dma_map)(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len);
	int (*dma_unmap)(struct mlx4_bus *bus, void *addr, uint64_t iova, size_t len);
	/*
	 * Connects MSI-X vectors 0..n-1 to event fds in bus->intr (0: its fd, i: its efds i - 1), or the rest of them where some are;
	 * those keep their fds, also when it fails, and may be told of an interrupt that was none. n 0 disconnects all.
	 */
	int (*irq_setup)(struct mlx4_bus *bus, unsigned int n);
	/* An interrupt of vector 0 was taken; NULL: nothing to do. */
	void (*irq_ack)(struct mlx4_bus *bus);
	/*
	 * The UAR page of uar_len / 2 bytes at offset off is what file fd has there, so that who has that file rings doorbells of this page
	 * and no other; fd -1: it is the card's own again. NULL: the card's pages come as a whole. 0 or negative errno.
	 */
	int (*uar_lend)(struct mlx4_bus *bus, uint32_t off, int fd);
	/*
	 * Interrupts of a vector that irq_setup did not connect make fd readable, an eventfd of whom they are for; fd -1: nobody hears of them
	 * any more. NULL: vectors are the bus's alone. 0 or negative errno.
	 */
	int (*irq_lend)(struct mlx4_bus *bus, unsigned int vector, int fd);
	/* An ethdev of the card came, and goes: the bus may have functions in its lists. NULL: it has none. 0 or negative errno. */
	int (*join)(struct mlx4_bus *bus, struct rte_eth_dev *dev);
	void (*leave)(struct mlx4_bus *bus, struct rte_eth_dev *dev);
	void (*close)(struct mlx4_bus *bus);
	/* The software model behind the bus; NULL on a real card. For reports only: nothing may act on it. */
	struct tp_model *(*model)(struct mlx4_bus *bus);
};

/* Of a card that is run by who polls its rings. */
struct mlx4_bus_polled {
	/* A slice of the card's work: whoever polls a ring and finds nothing. Any thread, many at once. */
	void (*run)(struct mlx4_bus *bus);
	/* The caller armed an interrupt and is about to sleep: it polls no more. */
	void (*rest)(struct mlx4_bus *bus);
};

struct mlx4_bus {
	const struct mlx4_bus_ops *ops;
	const struct mlx4_bus_polled *polled; /* NULL: the card runs by itself */
	volatile uint8_t *uar;                /* BAR2: UAR pages, then BlueFlame pages */
	size_t uar_len;
	/* The file of these pages, for other processes of the program; -1: each one's EAL maps them. */
	int share_fd;
	uint64_t share_off;
	uint16_t device_id;
	int numa_node;
	unsigned int max_vectors;
	/* Shortest time to wait after a software reset before the card may be touched, us. */
	uint32_t reset_wait_us;
	uint32_t cmd_timeout_ms; /* a command that takes longer never ends */
	bool stepped;            /* runs when a test says so: the machine's clock says nothing about it */
	struct rte_device *dev;
	struct rte_intr_handle *intr;
	const char *where; /* PCI address, model name or socket: for messages */
};

#endif /* MLX4_BUS_BUS_H */
