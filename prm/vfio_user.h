/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The vfio-user protocol, version 0.0, as far as a PCI device needs it: what both ends of the socket share. Fields are
 * in host byte order, since both ends run on one machine. A message is a header and a payload; file descriptors travel
 * with the header's first byte.
 */
#ifndef VFIO_USER_H
#define VFIO_USER_H

#include <stdint.h>

#define VFU_VERSION_MAJOR 0
#define VFU_VERSION_MINOR 0

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_GET_INFO = 4,
	VFU_DEVICE_GET_REGION_INFO = 5,
	VFU_DEVICE_GET_REGION_IO_FDS = 6,
	VFU_DEVICE_GET_IRQ_INFO = 7,
	VFU_DEVICE_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DMA_READ = 11,
	VFU_DMA_WRITE = 12,
	VFU_DEVICE_RESET = 13,
	VFU_REGION_WRITE_MULTI = 15,
	VFU_DEVICE_FEATURE = 16,
	VFU_COMMANDS = 17,
};

struct vfu_header {
	uint16_t id;
	uint16_t cmd;
	uint32_t size; /* header and payload */
	uint32_t flags;
	uint32_t error; /* errno, valid with VFU_F_ERROR */
};
#define VFU_F_TYPE 0xfu
#define VFU_F_TYPE_COMMAND 0u
#define VFU_F_TYPE_REPLY 1u
#define VFU_F_NO_REPLY 0x10u
#define VFU_F_ERROR 0x20u

/* What this project's two ends agree on; the smaller of both ends' values counts. */
#define VFU_MAX_FDS 16u
#define VFU_MAX_XFER 65536u
#define VFU_MAX_DMA_MAPS 65535u
#define VFU_PAGE 4096u
#define VFU_VERSION_JSON_MAX 4096u
/* Largest message: a region access of VFU_MAX_XFER bytes. */
#define VFU_MAX_MSG (sizeof(struct vfu_header) + 16u + VFU_MAX_XFER)
/* Capability of ours: the doorbell BAR is offered as shared memory that the card polls. */
#define VFU_CAP_SHARED_UAR "triplane_shared_uar"

struct vfu_version {
	uint16_t major, minor;
	/* then JSON text, NUL-terminated */
};

struct vfu_device_info {
	uint32_t argsz, flags, num_regions, num_irqs;
};
#define VFU_DEVICE_F_RESET 1u
#define VFU_DEVICE_F_PCI 2u

/* Region and interrupt indexes of a PCI device */
#define VFU_REGION_BAR0 0u
#define VFU_REGION_BAR2 2u
#define VFU_REGION_CONFIG 7u
#define VFU_NUM_REGIONS 9u
#define VFU_IRQ_INTX 0u
#define VFU_IRQ_MSIX 2u
#define VFU_NUM_IRQS 5u

struct vfu_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t size, offset;
};
#define VFU_REGION_F_READ 1u
#define VFU_REGION_F_WRITE 2u
#define VFU_REGION_F_MMAP 4u

struct vfu_irq_info {
	uint32_t argsz, flags, index, count;
};
#define VFU_IRQ_F_EVENTFD 1u
#define VFU_IRQ_F_MASKABLE 2u
#define VFU_IRQ_F_AUTOMASKED 4u
#define VFU_IRQ_F_NORESIZE 8u

struct vfu_irq_set {
	uint32_t argsz, flags, index, start, count;
	/* with VFU_IRQ_SET_BOOL: count bytes */
};
#define VFU_IRQ_SET_NONE 1u
#define VFU_IRQ_SET_BOOL 2u
#define VFU_IRQ_SET_EVENTFD 4u
#define VFU_IRQ_SET_MASK 8u
#define VFU_IRQ_SET_UNMASK 0x10u
#define VFU_IRQ_SET_TRIGGER 0x20u
#define VFU_IRQ_SET_DATA (VFU_IRQ_SET_NONE | VFU_IRQ_SET_BOOL | VFU_IRQ_SET_EVENTFD)
#define VFU_IRQ_SET_ACTION (VFU_IRQ_SET_MASK | VFU_IRQ_SET_UNMASK | VFU_IRQ_SET_TRIGGER)

struct vfu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, size;
};
#define VFU_DMA_F_READ 1u
#define VFU_DMA_F_WRITE 2u

struct vfu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};
#define VFU_DMA_UNMAP_F_ALL 2u

struct vfu_region_access {
	uint64_t offset;
	uint32_t region, count;
	/* then count bytes: of a write, or of a read's reply */
};

_Static_assert(sizeof(struct vfu_header) == 16, "vfio-user header");
_Static_assert(sizeof(struct vfu_device_info) == 16, "vfio-user device info");
_Static_assert(sizeof(struct vfu_region_info) == 32, "vfio-user region info");
_Static_assert(sizeof(struct vfu_irq_info) == 16, "vfio-user irq info");
_Static_assert(sizeof(struct vfu_irq_set) == 20, "vfio-user irq set");
_Static_assert(sizeof(struct vfu_dma_map) == 32, "vfio-user dma map");
_Static_assert(sizeof(struct vfu_dma_unmap) == 24, "vfio-user dma unmap");
_Static_assert(sizeof(struct vfu_region_access) == 16, "vfio-user region access");

#endif /* VFIO_USER_H */
