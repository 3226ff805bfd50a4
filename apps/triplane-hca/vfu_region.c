/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's registers by message. Bytes are what a host sees at an address: BAR0 dwords are big-endian numbers, the
 * configuration space is little-endian, and a doorbell is what was written to the UAR page.
 */
#include <errno.h>
#include <string.h>

#include "mlx4_prm.h"
#include "mlx4_prm_wqe.h"
#include "vfu.h"

#define CFG_SIZE 4096u
#define BAR_ACCESS_MAX 8u

typedef int (*access_fn)(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count);

static int
bar0_read(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	for (uint32_t n = 0; n < count;) {
		uint32_t in = (off + n) % 4, part = 4 - in < count - n ? 4 - in : count - n;
		uint8_t dword[4];

		prm_set32(dword, 0, tp_model_bar0_read32(s->model, off + n - in));
		memcpy(buf + n, dword + in, part);
		n += part;
	}
	return 0;
}

/* Less than a dword is written to memory only, the MSI-X table: a register's other bytes are not there to be kept. */
static int
bar0_write(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	bool table = off >= MLX4_REG_MSIX_TABLE && off + count <= MLX4_REG_MSIX_PBA + MLX4_MSIX_VECTORS / 8;

	if ((off % 4 != 0 || count % 4 != 0) && !table)
		return -EINVAL;
	for (uint32_t n = 0; n < count;) {
		uint32_t in = (off + n) % 4, part = 4 - in < count - n ? 4 - in : count - n;
		uint8_t dword[4];

		if (part != 4)
			prm_set32(dword, 0, tp_model_bar0_read32(s->model, off + n - in));
		memcpy(dword + in, buf + n, part);
		tp_model_bar0_write32(s->model, off + n - in, prm_get32(dword, 0));
		n += part;
	}
	return 0;
}

static int
uar_read(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	memcpy(buf, (const uint8_t *)tp_model_uar(s->model, NULL) + off, count);
	return 0;
}

static uint64_t
uar_size(struct vfu *s)
{
	size_t len;

	tp_model_uar(s->model, &len);
	return len;
}

/* Bytes of the copy that has begun, from its control segment: whole 64-byte blocks. */
static uint32_t
bf_length(const struct vfu_bf *b)
{
	uint32_t len;

	if (b->got < 8)
		return VFU_BF_MAX;
	len = (prm_get32(b->copy, 4) & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;
	return (len + MLX4_TXBB_SIZE - 1) & ~(MLX4_TXBB_SIZE - 1);
}

static struct vfu_bf *
bf_slot(struct vfu *s, uint32_t base, bool begins)
{
	struct vfu_bf *b = NULL;

	for (uint32_t i = 0; i < VFU_BF_SLOTS; i++)
		if (s->bf[i].got != 0 && s->bf[i].base == base)
			b = &s->bf[i];
	if (b == NULL && begins)
		b = &s->bf[s->bf_next++ % VFU_BF_SLOTS];
	if (b != NULL && begins) {
		b->base = base;
		b->got = 0;
	}
	return b;
}

/* Pieces come in ascending order; one that does not continue its copy ends it. */
static int
bf_write(struct vfu *s, uint32_t off, const uint8_t *buf, uint32_t count)
{
	uint32_t base = off & ~(VFU_BF_MAX - 1), len;
	struct vfu_bf *b = bf_slot(s, base, off == base);

	if (b == NULL || off != base + b->got) {
		vfu_log(s, "BlueFlame write at 0x%x continues no copy", off);
		return 0;
	}
	memcpy(b->copy + b->got, buf, count);
	b->got += count;
	len = bf_length(b);
	if (len == 0 || len > VFU_BF_MAX)
		len = VFU_BF_MAX; /* nonsense, for the card to judge */
	if (b->got < len)
		return 0;
	b->got = 0;
	return tp_model_uar_write(s->model, base, b->copy, len);
}

static int
uar_write(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	int rc;

	if ((count != 4 && count != 8) || off % count != 0)
		return -EINVAL;
	if (off >= uar_size(s) / 2)
		return bf_write(s, off, buf, count);
	rc = tp_model_uar_write(s->model, off, buf, count);
	/* A write to no doorbell is ignored by the card [CP 10.1]. */
	return rc == -EINVAL ? 0 : rc;
}

static int
cfg_read(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	return tp_model_cfg_read(s->model, off, buf, count);
}

static int
cfg_write(struct vfu *s, uint32_t off, uint8_t *buf, uint32_t count)
{
	return tp_model_cfg_write(s->model, off, buf, count);
}

static const struct {
	uint32_t size; /* 0: the doorbell BAR's size is the model's to say */
	uint32_t max_count;
	access_fn read, write;
} region[VFU_NUM_REGIONS] = {
	[VFU_REGION_BAR0] = {MLX4_BAR0_SIZE, BAR_ACCESS_MAX, bar0_read, bar0_write},
	[VFU_REGION_BAR2] = {0, BAR_ACCESS_MAX, uar_read, uar_write},
	[VFU_REGION_CONFIG] = {CFG_SIZE, CFG_SIZE, cfg_read, cfg_write},
};

static uint64_t
region_size(struct vfu *s, uint32_t index)
{
	return index == VFU_REGION_BAR2 ? uar_size(s) : region[index].size;
}

int
vfu_region_info(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_region_info info;

	memcpy(&info, rq->data, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_NUM_REGIONS)
		return -EINVAL;
	info = (struct vfu_region_info){.argsz = sizeof(info), .index = info.index};
	if (region[info.index].read != NULL) {
		info.flags = VFU_REGION_F_READ | VFU_REGION_F_WRITE;
		info.size = region_size(s, info.index);
		/* Only a client of ours gives every queue a page of its own, so that polled doorbells are exact. */
		if (info.index == VFU_REGION_BAR2 && s->caps.shared_uar) {
			rp->fd = tp_model_uar_fd(s->model);
			info.flags |= VFU_REGION_F_MMAP;
		}
	}
	memcpy(vfu_payload(rp), &info, sizeof(info));
	*len = sizeof(info);
	return 0;
}

/* The access a message asks for, or -EINVAL when it is not inside a region or has no sensible size. */
static int
access_check(struct vfu *s, const struct vfu_region_access *a)
{
	uint64_t size;

	if (a->region >= VFU_NUM_REGIONS || region[a->region].read == NULL)
		return -EINVAL;
	size = region_size(s, a->region);
	if (a->count == 0 || a->count > region[a->region].max_count || a->count > s->caps.max_data_xfer_size ||
	    a->offset > size || a->count > size - a->offset)
		return -EINVAL;
	return 0;
}

int
vfu_region_read(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_region_access a;
	int rc;

	memcpy(&a, rq->data, sizeof(a));
	rc = access_check(s, &a);
	if (rc != 0)
		return rc;
	memcpy(vfu_payload(rp), &a, sizeof(a));
	*len = (uint32_t)sizeof(a) + a.count;
	return region[a.region].read(s, (uint32_t)a.offset, vfu_payload(rp) + sizeof(a), a.count);
}

int
vfu_region_write(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	uint8_t buf[CFG_SIZE];
	struct vfu_region_access a;
	int rc;

	memcpy(&a, rq->data, sizeof(a));
	rc = access_check(s, &a);
	if (rc != 0)
		return rc;
	if (rq->len != sizeof(a) + a.count)
		return -EPROTO;
	memcpy(buf, rq->data + sizeof(a), a.count);
	memcpy(vfu_payload(rp), &a, sizeof(a));
	*len = sizeof(a);
	return region[a.region].write(s, (uint32_t)a.offset, buf, a.count);
}
