/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Opening and closing ports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_malloc.h>

#include "cm.h"
#include "front.h"

static const char *
mode_name(enum tp_roce_mode mode)
{
	static const char *const names[] = {"v2", "v1", "v1 with a GID of the MAC", "off"};

	return names[mode];
}

/* What is the same for all homes; a provider may know better. */
static void
attr_init(struct tp_roce_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr;
	uint8_t *guid = (uint8_t *)&a->node_guid;
	const uint8_t *mac = dev->mac.addr_bytes;

	rte_strlcpy(a->fw_ver, TRIPLANE_VERSION, sizeof(a->fw_ver));
	/* EUI-64 of the MAC, as it is: its U/L bit is a matter of interface identifiers, not of GUIDs */
	memcpy(guid, mac, 3);
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, mac + 3, 3);
	a->sys_image_guid = a->node_guid;
	a->max_pkeys = 1;
	a->phys_port_cnt = 1;
	dev->port.state = IBV_PORT_ACTIVE;
	dev->port.max_mtu = IBV_MTU_4096;
	dev->port.active_mtu = (enum ibv_mtu)(rte_log2_u32(dev->conf.mtu) - 7);
	dev->port.gid_tbl_len = TP_ROCE_GIDS;
	dev->port.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	dev->port.max_msg_sz = 1u << 31;
	dev->port.pkey_tbl_len = 1;
	dev->port.link_layer = IBV_LINK_LAYER_ETHERNET;
}

static struct tp_roce_dev *
dev_alloc(uint16_t port_id, const struct tp_roce_provider *prov)
{
	int node = rte_eth_dev_socket_id(port_id);
	struct tp_roce_dev *dev = rte_zmalloc_socket("roce", sizeof(*dev), RTE_CACHE_LINE_SIZE, node);

	if (dev == NULL)
		return NULL;
	dev->home = rte_zmalloc_socket("roce", RTE_MAX(prov->dev_size, (size_t)1), RTE_CACHE_LINE_SIZE, node);
	if (dev->home == NULL) {
		rte_free(dev);
		return NULL;
	}
	dev->prov = prov;
	dev->port_id = port_id;
	dev->numa_node = node;
	dev->cycles_to_ns = (uint64_t)(1e9 * 4294967296.0 / (double)rte_get_tsc_hz());
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->drive, NULL);
	pthread_mutex_init(&dev->capture_lock, NULL);
	return dev;
}

static void
dev_free(struct tp_roce_dev *dev)
{
	pthread_mutex_destroy(&dev->capture_lock);
	pthread_mutex_destroy(&dev->drive);
	pthread_mutex_destroy(&dev->lock);
	pthread_mutex_destroy(&dev->vctx.context.mutex);
	rte_free(dev->home);
	rte_free(dev);
}

/* The parts of an open port, in their order. 0 or a positive errno. */
static int
dev_open(struct tp_roce_dev *dev, const struct tp_roce_conf *conf)
{
	int err = tp_roce_conf_init(dev, conf);

	if (err != 0)
		return err;
	dev->mode = dev->conf.mode;
	rte_eth_macaddr_get(dev->port_id, &dev->mac);
	attr_init(dev);
	tp_roce_context_init(dev);
	err = tp_roce_async_init(dev);
	if (err != 0)
		goto err_conf;
	err = dev->prov->open(dev);
	if (err != 0)
		goto err_async;
	err = tp_roce_net_init(dev);
	if (err != 0)
		goto err_home;
	err = tp_roce_cm_init(dev);
	if (err != 0)
		goto err_net;
	if (dev->mode != dev->conf.mode) {
		TP_ROCE_LOG(NOTICE, "port %u: provider %s has no RoCE %s, the port uses %s", dev->port_id,
			    dev->prov->name, mode_name(dev->conf.mode), mode_name(dev->mode));
		tp_roce_async_event(dev, IBV_EVENT_GID_CHANGE, NULL);
	}
	return 0;

err_net:
	tp_roce_net_fini(dev);
err_home:
	dev->prov->close(dev);
err_async:
	tp_roce_async_fini(dev);
err_conf:
	tp_roce_conf_free(dev);
	return err;
}

/* With the list of open ports locked. */
static int
open_locked(uint16_t port_id, const struct tp_roce_conf *conf, struct tp_roce_dev **out)
{
	const struct tp_roce_provider *prov;
	struct tp_roce_dev *dev;
	int err;

	if (!rte_eth_dev_is_valid_port(port_id)) {
		TP_ROCE_LOG(ERR, "port %u: no such port", port_id);
		return ENODEV;
	}
	if (tp_roce_open_find(port_id) != NULL) {
		TP_ROCE_LOG(ERR, "port %u: is open already", port_id);
		return EBUSY;
	}
	prov = tp_roce_provider_find(port_id, conf->provider);
	if (prov == NULL) {
		TP_ROCE_LOG(ERR, "port %u: no provider%s%s serves it", port_id, conf->provider == NULL ? "" : " ",
			    conf->provider == NULL ? "" : conf->provider);
		return ENODEV;
	}
	if (!rte_eth_devices[port_id].data->dev_started) {
		TP_ROCE_LOG(ERR, "port %u: is not started", port_id);
		return EINVAL;
	}
	dev = dev_alloc(port_id, prov);
	if (dev == NULL)
		return ENOMEM;
	err = dev_open(dev, conf);
	if (err != 0) {
		dev_free(dev);
		return err;
	}
	tp_roce_open_add(dev);
	*out = dev;
	return 0;
}

struct ibv_context *
tp_roce_open(uint16_t port_id, const struct tp_roce_conf *conf)
{
	static const struct tp_roce_conf defaults;
	struct tp_roce_dev *dev = NULL;
	int err;

	tp_roce_open_begin();
	err = open_locked(port_id, conf == NULL ? &defaults : conf, &dev);
	tp_roce_open_end();
	if (err != 0) {
		errno = err;
		return NULL;
	}
	return &dev->vctx.context;
}

static bool
objects_left(struct tp_roce_dev *dev)
{
	bool left;

	tp_roce_lock(dev);
	left = (dev->pds | dev->mrs | dev->mws | dev->cqs | dev->qps | dev->srqs | dev->ahs | dev->channels) != 0;
	if (left)
		TP_ROCE_LOG(ERR,
			    "port %u: objects are left: %u QP, %u CQ, %u SRQ, %u AH, %u MR, %u MW, %u PD, %u channels",
			    dev->port_id, dev->qps, dev->cqs, dev->srqs, dev->ahs, dev->mrs, dev->mws, dev->pds,
			    dev->channels);
	tp_roce_unlock(dev);
	return left;
}

int
tp_roce_close_device(struct ibv_context *ctx)
{
	struct tp_roce_dev *dev = tp_roce_dev_of(ctx);

	tp_roce_open_begin();
	tp_roce_cm_tidy(dev);
	if (objects_left(dev)) {
		tp_roce_open_end();
		return EBUSY;
	}
	tp_roce_open_remove(dev);
	(void)tp_roce_capture_stop(ctx, NULL, NULL);
	tp_roce_cm_fini(dev);
	tp_roce_net_fini(dev);
	dev->prov->close(dev);
	tp_roce_async_fini(dev);
	tp_roce_conf_free(dev);
	tp_roce_open_end();
	dev_free(dev);
	return 0;
}
