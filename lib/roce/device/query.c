/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions about an open port, and the tables of its context. */
#include <errno.h>
#include <string.h>

#include "device.h"

void
troce_context_init(struct troce_dev *dev)
{
	struct ibv_context *ctx = &dev->vctx.context;

	ctx->device = dev->ib != NULL ? troce_device_of_ib(dev->ib) : troce_device_of(dev->port_id);
	ctx->cmd_fd = -1;
	ctx->num_comp_vectors = 1;
	ctx->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ctx->mutex, NULL);
	ctx->ops.alloc_mw = tp_roce_alloc_mw;
	ctx->ops.dealloc_mw = tp_roce_dealloc_mw;
	ctx->ops.bind_mw = tp_roce_bind_mw;
	dev->vctx.sz = sizeof(dev->vctx);
	dev->vctx.modify_cq = tp_roce_modify_cq;
}

static const struct troce_dev *
dev_of(const struct ibv_context *ctx)
{
	return (const struct troce_dev *)((const char *)ctx - offsetof(struct troce_dev, vctx.context));
}

uint16_t
tp_roce_port_id(const struct ibv_context *ctx)
{
	return dev_of(ctx)->port_id;
}

const char *
tp_roce_provider_name(const struct ibv_context *ctx)
{
	return dev_of(ctx)->prov->name;
}

enum tp_roce_mode
tp_roce_mode_get(const struct ibv_context *ctx)
{
	return dev_of(ctx)->mode;
}

int
tp_roce_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	*attr = troce_dev_of(ctx)->attr;
	return 0;
}

int
tp_roce_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err = 0;

	if (port != 1)
		return TROCE_REFUSE(dev, EINVAL, "port number %u is not 1", port);
	troce_lock(dev);
	*attr = dev->port;
	if (dev->prov->query_port != NULL)
		err = dev->prov->query_port(dev, attr);
	if (dev->ib != NULL && err == 0)
		dev->port = *attr;
	troce_unlock(dev);
	return err;
}

int
tp_roce_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	uint16_t value = 0xffff; /* the default partition, full member (annex A16) */
	int err = 0;

	if (port != 1 || index < 0 || index >= dev->port.pkey_tbl_len)
		return TROCE_REFUSE(dev, EINVAL, "there is no P_Key %d of port number %u, only 0..%u of 1", index, port,
				    dev->port.pkey_tbl_len - 1u);
	if (dev->ib != NULL) {
		troce_lock(dev);
		err = dev->prov->query_pkey(dev, (uint32_t)index, &value);
		troce_unlock(dev);
	}
	*pkey = rte_cpu_to_be_16(value);
	return err;
}

int
tp_roce_home_stats(struct ibv_context *ctx, tp_roce_stat_fn fn, void *arg)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err;

	if (dev->prov->stats == NULL)
		return ENOTSUP;
	troce_lock(dev);
	err = dev->prov->stats(dev, fn, arg);
	troce_unlock(dev);
	return err;
}

int
tp_roce_stats(struct ibv_context *ctx, tp_roce_stat_fn fn, void *arg)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err;

	fn(arg, "async_events_lost", troce_async_lost(dev));
	fn(arg, "rx_not_roce_freed", dev->rest_freed);
	for (unsigned int i = 0; i < TROCE_SIDES; i++)
		dev->side[i].ops->stats(dev, fn, arg);
	err = tp_roce_home_stats(ctx, fn, arg);
	return err == ENOTSUP ? 0 : err;
}
