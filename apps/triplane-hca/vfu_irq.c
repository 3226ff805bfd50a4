/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Interrupts: MSI-X vectors are event fds of the client. INTx can be set up, as every PCI function's can, but the card
 * never raises it: its INTx cannot be masked and no driver of today uses it [CP 9.1].
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include "vfu.h"

static const struct {
	uint32_t count, flags;
} irq[VFU_NUM_IRQS] = {
	[VFU_IRQ_INTX] = {1, VFU_IRQ_F_EVENTFD | VFU_IRQ_F_MASKABLE | VFU_IRQ_F_AUTOMASKED},
	[VFU_IRQ_MSIX] = {MLX4_MSIX_VECTORS, VFU_IRQ_F_EVENTFD | VFU_IRQ_F_NORESIZE},
};

int
vfu_irq_info(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_irq_info info;

	memcpy(&info, rq->data, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_NUM_IRQS)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.flags = irq[info.index].flags;
	info.count = irq[info.index].count;
	memcpy(vfu_payload(rp), &info, sizeof(info));
	*len = sizeof(info);
	return 0;
}

static void
connect_msix(struct vfu *s, uint32_t vector, int fd)
{
	tp_model_irq_set(s->model, vector, fd);
	if (s->msix[vector] >= 0)
		close(s->msix[vector]);
	s->msix[vector] = fd;
}

static void
connect_intx(struct vfu *s, int fd)
{
	if (s->intx >= 0)
		close(s->intx);
	s->intx = fd;
}

/* The card writes to what it was given while it holds its lock: that has to be an event fd, and must never block. */
static bool
usable_eventfd(int fd)
{
	char path[32], target[32];
	ssize_t n;
	int flags;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	if (strcmp(target, "anon_inode:[eventfd]") != 0)
		return false;
	flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static int
set_eventfds(struct vfu *s, const struct vfu_irq_set *set, struct vfu_request *rq)
{
	/* All or none: without descriptors the vectors are disconnected. */
	if (rq->nfds != 0 && rq->nfds != set->count)
		return -EINVAL;
	for (uint32_t i = 0; i < rq->nfds; i++)
		if (!usable_eventfd(rq->fds[i]))
			return -EINVAL;
	for (uint32_t i = 0; i < set->count; i++) {
		int fd = rq->nfds != 0 ? rq->fds[i] : -1;

		if (set->index == VFU_IRQ_MSIX)
			connect_msix(s, set->start + i, fd);
		else
			connect_intx(s, fd);
		if (rq->nfds != 0)
			rq->fds[i] = -1;
	}
	return 0;
}

/* Software raises vectors itself: all of the range, or those whose byte is not 0. */
static void
trigger(struct vfu *s, const struct vfu_irq_set *set, const uint8_t *which)
{
	static const uint64_t one = 1;

	for (uint32_t i = 0; i < set->count; i++) {
		int fd = set->index == VFU_IRQ_MSIX ? s->msix[set->start + i] : s->intx;

		/* A full counter is a pending interrupt already. */
		if ((which == NULL || which[i] != 0) && fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
			vfu_log(s, "interrupt %u of index %u: %s", set->start + i, set->index, strerror(errno));
	}
}

static void
disconnect_all(struct vfu *s, uint32_t index)
{
	if (index == VFU_IRQ_INTX)
		connect_intx(s, -1);
	else if (index == VFU_IRQ_MSIX)
		for (uint32_t i = 0; i < MLX4_MSIX_VECTORS; i++)
			if (s->msix[i] >= 0)
				connect_msix(s, i, -1);
}

static bool
one_bit(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

int
vfu_irq_set(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_irq_set set;
	uint32_t data, action, want;

	memcpy(&set, rq->data, sizeof(set));
	data = set.flags & VFU_IRQ_SET_DATA;
	action = set.flags & VFU_IRQ_SET_ACTION;
	want = data == VFU_IRQ_SET_BOOL ? set.count : 0;
	if (set.argsz < sizeof(set) || (set.flags & ~(VFU_IRQ_SET_DATA | VFU_IRQ_SET_ACTION)) != 0 || !one_bit(data) ||
	    !one_bit(action) || set.index >= VFU_NUM_IRQS || set.start > irq[set.index].count ||
	    set.count > irq[set.index].count - set.start || rq->len - sizeof(set) != want)
		return -EINVAL;
	if (data != VFU_IRQ_SET_EVENTFD && rq->nfds != 0)
		return -EINVAL;
	if (action != VFU_IRQ_SET_TRIGGER) {
		if ((irq[set.index].flags & VFU_IRQ_F_MASKABLE) == 0)
			return -EINVAL;
		return 0; /* INTx is never raised, masked or not */
	}
	if (set.count == 0) {
		if (data != VFU_IRQ_SET_NONE || set.start != 0)
			return -EINVAL;
		disconnect_all(s, set.index);
		return 0;
	}
	if (data == VFU_IRQ_SET_EVENTFD)
		return set_eventfds(s, &set, rq);
	trigger(s, &set, data == VFU_IRQ_SET_BOOL ? rq->data + sizeof(set) : NULL);
	return 0;
}

void
vfu_irq_close_all(struct vfu *s)
{
	disconnect_all(s, VFU_IRQ_INTX);
	disconnect_all(s, VFU_IRQ_MSIX);
}
