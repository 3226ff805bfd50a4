/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Dispatch of vfio-user messages by one table: what each command may look like and who answers it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <unistd.h>

#include "vfu.h"

typedef int (*vfu_handler)(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len);

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The reply only lowers what the client offered. */
static int
version(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_version v, ours = {VFU_VERSION_MAJOR, VFU_VERSION_MINOR};
	struct vfu_caps caps = {.max_msg_fds = 1,
				.max_data_xfer_size = VFU_MAX_XFER,
				.max_dma_maps = VFU_MAX_DMA_MAPS,
				.pgsizes = VFU_PAGE};
	uint8_t *out = vfu_payload(rp);
	int n, rc = 0;

	if (s->version_done)
		return -EPROTO;
	memcpy(&v, rq->data, sizeof(v));
	s->drop = true; /* until the two agree */
	if (v.major != VFU_VERSION_MAJOR) {
		vfu_log(s, "client speaks vfio-user %u.%u, wanted %u.x", v.major, v.minor, VFU_VERSION_MAJOR);
		return -ENOTSUP;
	}
	if (rq->len > sizeof(v))
		rc = vfu_json_caps((const char *)rq->data + sizeof(v), rq->len - sizeof(v), &caps);
	if (rc != 0)
		return rc;
	if (caps.max_data_xfer_size == 0 || (caps.pgsizes & VFU_PAGE) == 0)
		return -ENOTSUP;
	caps.max_msg_fds = min_u64(caps.max_msg_fds, VFU_MAX_FDS);
	caps.max_data_xfer_size = min_u64(caps.max_data_xfer_size, VFU_MAX_XFER);
	caps.max_dma_maps = min_u64(caps.max_dma_maps, VFU_MAX_DMA_MAPS);
	memcpy(out, &ours, sizeof(ours));
	n = snprintf((char *)out + sizeof(ours), VFU_VERSION_JSON_MAX,
		     "{\"capabilities\":{\"max_msg_fds\":%" PRIu64 ",\"max_data_xfer_size\":%" PRIu64
		     ",\"max_dma_maps\":%" PRIu64 ",\"pgsizes\":%u%s}}",
		     caps.max_msg_fds, caps.max_data_xfer_size, caps.max_dma_maps, VFU_PAGE,
		     caps.shared_uar ? ",\"" VFU_CAP_SHARED_UAR "\":true" : "");
	*len = (uint32_t)(sizeof(ours) + (size_t)n + 1);
	s->caps = caps;
	s->version_done = true;
	s->drop = false;
	s->clients++;
	return 0;
}

static int
device_info(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_device_info in,
		info = {sizeof(info), VFU_DEVICE_F_RESET | VFU_DEVICE_F_PCI, VFU_NUM_REGIONS, VFU_NUM_IRQS};

	memcpy(&in, rq->data, sizeof(in));
	if (in.argsz < sizeof(info))
		return -EINVAL;
	memcpy(vfu_payload(rp), &info, sizeof(info));
	*len = sizeof(info);
	return 0;
}

static int
device_reset(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	tp_model_reset(s->model);
	return 0;
}

/* Features (migration among them) that the card has none of. */
static int
device_feature(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	return -ENOTTY;
}

static int
unsupported(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	return -ENOTSUP;
}

static const struct {
	const char *name;
	vfu_handler fn;
	uint32_t min_len, max_len; /* of the payload */
	uint32_t max_fds;
} command[VFU_COMMANDS] = {
	[VFU_VERSION] = {"VERSION", version, sizeof(struct vfu_version),
			 sizeof(struct vfu_version) + VFU_VERSION_JSON_MAX, 0},
	[VFU_DMA_MAP] = {"DMA_MAP", vfu_dma_map, sizeof(struct vfu_dma_map), sizeof(struct vfu_dma_map), 1},
	[VFU_DMA_UNMAP] = {"DMA_UNMAP", vfu_dma_unmap, sizeof(struct vfu_dma_unmap), sizeof(struct vfu_dma_unmap), 0},
	[VFU_DEVICE_GET_INFO] = {"DEVICE_GET_INFO", device_info, sizeof(struct vfu_device_info),
				 sizeof(struct vfu_device_info), 0},
	[VFU_DEVICE_GET_REGION_INFO] = {"DEVICE_GET_REGION_INFO", vfu_region_info, sizeof(struct vfu_region_info),
					sizeof(struct vfu_region_info), 0},
	[VFU_DEVICE_GET_REGION_IO_FDS] = {"DEVICE_GET_REGION_IO_FDS", unsupported, 0, VFU_MAX_XFER, 0},
	[VFU_DEVICE_GET_IRQ_INFO] = {"DEVICE_GET_IRQ_INFO", vfu_irq_info, sizeof(struct vfu_irq_info),
				     sizeof(struct vfu_irq_info), 0},
	[VFU_DEVICE_SET_IRQS] = {"DEVICE_SET_IRQS", vfu_irq_set, sizeof(struct vfu_irq_set),
				 sizeof(struct vfu_irq_set) + MLX4_MSIX_VECTORS, VFU_MAX_FDS},
	[VFU_REGION_READ] = {"REGION_READ", vfu_region_read, sizeof(struct vfu_region_access),
			     sizeof(struct vfu_region_access), 0},
	[VFU_REGION_WRITE] = {"REGION_WRITE", vfu_region_write, sizeof(struct vfu_region_access),
			      sizeof(struct vfu_region_access) + VFU_MAX_XFER, 0},
	[VFU_DMA_READ] = {"DMA_READ", unsupported, 0, VFU_MAX_XFER, 0},
	[VFU_DMA_WRITE] = {"DMA_WRITE", unsupported, 0, VFU_MAX_XFER, 0},
	[VFU_DEVICE_RESET] = {"DEVICE_RESET", device_reset, 0, 0, 0},
	[VFU_REGION_WRITE_MULTI] = {"REGION_WRITE_MULTI", unsupported, 0, VFU_MAX_XFER, 0},
	[VFU_DEVICE_FEATURE] = {"DEVICE_FEATURE", device_feature, 0, VFU_MAX_XFER, 0},
};

const char *
vfu_command_name(unsigned int cmd)
{
	return cmd < VFU_COMMANDS && command[cmd].name != NULL ? command[cmd].name : "unknown";
}

/* What the message's frame allows, before its handler looks at the fields. */
static int
check(struct vfu *s, const struct vfu_header *hdr, uint32_t len, unsigned int nfds)
{
	if (hdr->cmd >= VFU_COMMANDS || command[hdr->cmd].fn == NULL)
		return -ENOSYS;
	if (!s->version_done && hdr->cmd != VFU_VERSION) {
		s->drop = true;
		return -EPROTO;
	}
	if (len < command[hdr->cmd].min_len || len > command[hdr->cmd].max_len || nfds > command[hdr->cmd].max_fds)
		return -EPROTO;
	return 0;
}

static void
answer(const struct vfu_header *hdr, int rc, uint32_t len, struct vfu_reply *rp)
{
	struct vfu_header out = {.id = hdr->id, .cmd = hdr->cmd, .flags = VFU_F_TYPE_REPLY};

	if (rc != 0) {
		len = 0;
		out.flags |= VFU_F_ERROR;
		out.error = (uint32_t)-rc;
		rp->fd = -1;
	}
	rp->len = (uint32_t)sizeof(out) + len;
	out.size = rp->len;
	memcpy(rp->buf, &out, sizeof(out));
}

void
vfu_handle(struct vfu *s, const struct vfu_header *hdr, const uint8_t *data, int *fds, unsigned int nfds,
	   struct vfu_reply *rp)
{
	struct vfu_request rq = {.data = data, .len = hdr->size - (uint32_t)sizeof(*hdr), .fds = fds, .nfds = nfds};
	uint32_t len = 0;
	int rc;

	rp->len = 0;
	rp->fd = -1;
	if ((hdr->flags & VFU_F_TYPE) != VFU_F_TYPE_COMMAND) {
		/* Nothing was asked of the client, so there is nothing that a reply could belong to. */
		s->malformed++;
		s->drop = true;
	} else {
		rc = check(s, hdr, rq.len, nfds);
		if (rc == 0) {
			s->requests[hdr->cmd]++;
			rc = command[hdr->cmd].fn(s, &rq, rp, &len);
			if (rc != 0)
				s->refused[hdr->cmd]++;
		}
		if (rc == -EPROTO || rc == -ENOSYS) {
			s->malformed++;
			vfu_log(s, "%s (command %u, %u bytes, %u descriptors) breaks the protocol",
				vfu_command_name(hdr->cmd), hdr->cmd, rq.len, nfds);
		}
		/* What both ends call a bad message is an invalid argument on the wire. */
		if ((hdr->flags & VFU_F_NO_REPLY) == 0)
			answer(hdr, rc == -EPROTO ? -EINVAL : rc, len, rp);
	}
	for (unsigned int i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int
vfu_init(struct vfu *s, struct tp_model *m, void (*log)(void *arg, const char *line), void *arg)
{
	memset(s, 0, sizeof(*s));
	s->model = m;
	s->log = log;
	s->log_arg = arg;
	s->intx = -1;
	for (unsigned int i = 0; i < MLX4_MSIX_VECTORS; i++)
		s->msix[i] = -1;
	return vfu_dma_init();
}

void
vfu_detach(struct vfu *s)
{
	/* The card first: after the reset it uses neither memory nor interrupts. */
	tp_model_reset(s->model);
	vfu_irq_close_all(s);
	vfu_dma_close_all(s);
	memset(s->bf, 0, sizeof(s->bf));
	s->version_done = false;
	s->drop = false;
	memset(&s->caps, 0, sizeof(s->caps));
}

void
vfu_fini(struct vfu *s)
{
	vfu_detach(s);
	vfu_dma_fini();
}
