/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Opening and closing ports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_malloc.h>

#include "lib/roce/net/net.h"
#include "lib/roce/rdma/cm_port.h"
#include "lib/roce/verbs/verbs.h"
#include "device.h"

static const char *
mode_name(enum tp_roce_mode mode)
{
	static const char *const names[] = {"v2", "v1", "v1 with a GID of the MAC", "off"};

	return names[mode];
}

/* EUI-64 of a MAC, as it is: its U/L bit is a matter of interface identifiers, not of GUIDs. */
static void
guid_of_mac(const struct rte_ether_addr *mac, uint8_t *guid)
{
	memcpy(guid, mac->addr_bytes, 3);
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, mac->addr_bytes + 3, 3);
}

/* What is the same for all homes; a provider may know better. */
static void
attr_init(struct troce_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr;

	rte_strlcpy(a->fw_ver, TRIPLANE_VERSION, sizeof(a->fw_ver));
	a->phys_port_cnt = 1;
	a->max_pkeys = 1;
	dev->port.max_mtu = IBV_MTU_4096;
	dev->port.max_msg_sz = 1u << 31;
	dev->port.pkey_tbl_len = 1;
	if (dev->ib != NULL) {
		dev->port.link_layer = IBV_LINK_LAYER_INFINIBAND;
		return;
	}
	rte_eth_macaddr_get(dev->port_id, &dev->mac);
	guid_of_mac(&dev->mac, (uint8_t *)&a->node_guid);
	a->sys_image_guid = a->node_guid;
	dev->port.state = IBV_PORT_ACTIVE;
	dev->port.active_mtu = (enum ibv_mtu)(rte_log2_u32(dev->conf.mtu) - 7);
	dev->port.gid_tbl_len = TP_ROCE_GIDS;
	dev->port.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	dev->port.link_layer = IBV_LINK_LAYER_ETHERNET;
}

/* What is to be opened. */
struct target {
	uint16_t port_id; /* RTE_MAX_ETHPORTS: ib */
	const struct troce_ib_port *ib;
	const struct troce_provider *prov;
	int node;
};

static struct troce_dev *
dev_alloc(const struct target *t)
{
	struct troce_dev *dev = rte_zmalloc_socket("roce", sizeof(*dev), RTE_CACHE_LINE_SIZE, t->node);

	if (dev == NULL)
		return NULL;
	dev->home = rte_zmalloc_socket("roce", RTE_MAX(t->prov->dev_size, (size_t)1), RTE_CACHE_LINE_SIZE, t->node);
	if (dev->home == NULL) {
		rte_free(dev);
		return NULL;
	}
	dev->prov = t->prov;
	dev->port_id = t->port_id;
	dev->ib = t->ib;
	if (t->ib != NULL)
		rte_strlcpy(dev->where, t->ib->name, sizeof(dev->where));
	else
		snprintf(dev->where, sizeof(dev->where), "port %u", t->port_id);
	dev->numa_node = t->node;
	dev->cycles_to_ns = (uint64_t)(1e9 * 4294967296.0 / (double)rte_get_tsc_hz());
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->drive, NULL);
	pthread_mutex_init(&dev->capture_lock, NULL);
	return dev;
}

static void
dev_free(struct troce_dev *dev)
{
	pthread_mutex_destroy(&dev->capture_lock);
	pthread_mutex_destroy(&dev->drive);
	pthread_mutex_destroy(&dev->lock);
	pthread_mutex_destroy(&dev->vctx.context.mutex);
	rte_free(dev->home);
	rte_free(dev);
}

static int
side_open(struct troce_dev *dev, unsigned int i, const struct troce_side_ops *ops)
{
	int err;

	atomic_store(&dev->side[i].due, TROCE_SIDE_NEVER);
	atomic_store(&dev->side[i].woken, 0);
	err = ops->init(dev);
	if (err == 0)
		dev->side[i].ops = ops;
	return err;
}

static void
side_close(struct troce_dev *dev, unsigned int i)
{
	const struct troce_side_ops *ops = dev->side[i].ops;

	dev->side[i].ops = NULL;
	ops->fini(dev);
}

/* What is around the home: connections, and addresses on Ethernet, management on InfiniBand. */
static int
sides_open(struct troce_dev *dev)
{
	int err = side_open(dev, TROCE_SIDE_LINK, dev->ib != NULL ? &troce_smi_side : &troce_net_side);

	if (err != 0)
		return err;
	err = side_open(dev, TROCE_SIDE_CM, &troce_cm_side);
	if (err != 0)
		side_close(dev, TROCE_SIDE_LINK);
	return err;
}

static void
sides_close(struct troce_dev *dev)
{
	side_close(dev, TROCE_SIDE_CM);
	side_close(dev, TROCE_SIDE_LINK);
}

/* The parts of an open port, in their order. 0 or a positive errno. */
static int
dev_open(struct troce_dev *dev, const struct tp_roce_conf *conf)
{
	int err = troce_conf_init(dev, conf);

	if (err != 0)
		return err;
	dev->mode = dev->conf.mode;
	attr_init(dev);
	troce_context_init(dev);
	err = troce_async_init(dev);
	if (err != 0)
		goto err_conf;
	err = dev->prov->open(dev);
	if (err != 0)
		goto err_async;
	err = sides_open(dev);
	if (err != 0)
		goto err_home;
	if (dev->mode != dev->conf.mode) {
		TROCE_LOG(NOTICE, "%s: provider %s has no RoCE %s, the port uses %s", dev->where, dev->prov->name,
			  mode_name(dev->conf.mode), mode_name(dev->mode));
		troce_async_event(dev, IBV_EVENT_GID_CHANGE, NULL);
	}
	return 0;

err_home:
	dev->prov->close(dev);
err_async:
	troce_async_fini(dev);
err_conf:
	troce_conf_free(dev);
	return err;
}

/* Which port and whose. With the list of open ports locked, as the next ones. */
static int
target_eth(uint16_t port_id, const char *provider, struct target *t)
{
	if (!rte_eth_dev_is_valid_port(port_id)) {
		TROCE_LOG(ERR, "port %u: no such port", port_id);
		return ENODEV;
	}
	if (troce_open_find(port_id) != NULL) {
		TROCE_LOG(ERR, "port %u: is open already", port_id);
		return EBUSY;
	}
	*t = (struct target){port_id, NULL, troce_provider_find(port_id, provider), rte_eth_dev_socket_id(port_id)};
	if (t->prov == NULL) {
		TROCE_LOG(ERR, "port %u: no provider%s%s serves it", port_id, provider == NULL ? "" : " ",
			  provider == NULL ? "" : provider);
		return ENODEV;
	}
	if (!rte_eth_devices[port_id].data->dev_started) {
		TROCE_LOG(ERR, "port %u: is not started", port_id);
		return EINVAL;
	}
	return 0;
}

static int
target_ib(const char *name, const char *provider, struct target *t)
{
	const struct troce_ib_port *p = troce_ib_find(name);

	if (p == NULL || (provider != NULL && strcmp(provider, p->prov->name) != 0)) {
		TROCE_LOG(ERR, "%s: no such InfiniBand port%s%s", name, provider == NULL ? "" : " of provider ",
			  provider == NULL ? "" : provider);
		return ENODEV;
	}
	if (troce_open_find_ib(p) != NULL) {
		TROCE_LOG(ERR, "%s: is open already", name);
		return EBUSY;
	}
	*t = (struct target){RTE_MAX_ETHPORTS, p, p->prov, p->numa_node};
	return 0;
}

static int
open_target(const struct target *t, const struct tp_roce_conf *conf, struct troce_dev **out)
{
	struct troce_dev *dev = dev_alloc(t);
	int err;

	if (dev == NULL)
		return ENOMEM;
	err = dev_open(dev, conf);
	if (err != 0) {
		dev_free(dev);
		return err;
	}
	troce_open_add(dev);
	*out = dev;
	return 0;
}

/* name NULL: the ethdev port_id */
static struct ibv_context *
open_port(uint16_t port_id, const char *name, const struct tp_roce_conf *conf)
{
	static const struct tp_roce_conf defaults;
	const struct tp_roce_conf *c = conf == NULL ? &defaults : conf;
	struct troce_dev *dev = NULL;
	struct target t;
	int err;

	troce_open_begin();
	err = name == NULL ? target_eth(port_id, c->provider, &t) : target_ib(name, c->provider, &t);
	if (err == 0)
		err = open_target(&t, c, &dev);
	troce_open_end();
	if (err != 0) {
		errno = err;
		return NULL;
	}
	troce_status(dev, TP_ROCE_UP);
	return &dev->vctx.context;
}

struct ibv_context *
tp_roce_open(uint16_t port_id, const struct tp_roce_conf *conf)
{
	return open_port(port_id, NULL, conf);
}

struct ibv_context *
tp_roce_open_ib(const char *device, const struct tp_roce_conf *conf)
{
	return open_port(RTE_MAX_ETHPORTS, device, conf);
}

struct ibv_context *
tp_roce_open_device(struct ibv_device *device)
{
	const char *ib_name;
	uint16_t port_id = RTE_MAX_ETHPORTS;
	int err = troce_device_target(device, &port_id, &ib_name);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	return open_port(port_id, ib_name, NULL);
}

static bool
objects_left(struct troce_dev *dev)
{
	bool left;

	troce_lock(dev);
	left = (dev->pds | dev->mrs | dev->mws | dev->cqs | dev->qps | dev->srqs | dev->ahs | dev->channels) != 0;
	if (left)
		TROCE_LOG(ERR, "%s: objects are left: %u QP, %u CQ, %u SRQ, %u AH, %u MR, %u MW, %u PD, %u channels",
			  dev->where, dev->qps, dev->cqs, dev->srqs, dev->ahs, dev->mrs, dev->mws, dev->pds,
			  dev->channels);
	troce_unlock(dev);
	return left;
}

int
tp_roce_close_device(struct ibv_context *ctx)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	/* A guest that asks for the list of ports must not wait for one that waits for the guest. */
	troce_guests_leave(dev);
	troce_open_begin();
	if (dev->cm != NULL)
		troce_cm_tidy(dev);
	if (objects_left(dev)) {
		troce_guests_welcome(dev);
		troce_open_end();
		return EBUSY;
	}
	troce_open_remove(dev);
	(void)tp_roce_capture_stop(ctx, NULL, NULL);
	sides_close(dev);
	dev->prov->close(dev);
	troce_async_fini(dev);
	troce_conf_free(dev);
	troce_open_end();
	troce_status(dev, TP_ROCE_RDMA_DISABLED);
	dev_free(dev);
	return 0;
}
