/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How a port of a card becomes an ethdev and ends as one, and how it survives the card's reset. */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/port/share.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/kinds.h"
#include "drivers/mlx4/steer/filter.h"
#include "drivers/mlx4/tx/lso_limits.h"
#include "ethdev.h"

static int
mac_of(struct mlx4_hca *hca, unsigned int port, struct rte_ether_addr *mac)
{
	uint64_t v = hca->port[port - 1].mac;
	unsigned int i;

	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		mac->addr_bytes[i] = v >> (8 * (RTE_ETHER_ADDR_LEN - 1 - i));
	if (rte_is_valid_assigned_ether_addr(mac))
		return 0;
	MLX4_LOG(ERR,
		 "%s: port %u has the address " RTE_ETHER_ADDR_PRT_FMT ", wanted one that is not zero nor a group's",
		 hca->bus->where, port, RTE_ETHER_ADDR_BYTES(mac));
	return -EIO;
}

static int
port_fill(struct rte_eth_dev *dev, struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	int rc;

	eth->hca = hca;
	eth->port = port;
	eth->dev = dev;
	eth->args = *args;
	eth->mtu = RTE_ETHER_MTU;
	mlx4_lso_default(eth);
	mlx4_port_locks_init(eth);
	dev->data->mac_addrs = rte_zmalloc_socket("mlx4_macs", MLX4_ETH_MAX_UC_MACS * sizeof(struct rte_ether_addr), 0,
						  hca->numa_node);
	rc = dev->data->mac_addrs == NULL ? -ENOMEM : mac_of(hca, port, &dev->data->mac_addrs[0]);
	if (rc == 0)
		rc = mlx4_filter_create(eth);
	if (rc != 0)
		goto err_filter;
	rc = mlx4_qos_create(eth);
	if (rc != 0)
		goto err_qos;
	rc = mlx4_groups_create(eth);
	if (rc != 0)
		goto err_groups;
	rc = mlx4_flows_create(eth);
	if (rc != 0)
		goto err_flows;
	rc = mlx4_eth_intr_init(eth);
	if (rc != 0)
		goto err_intr;
	if (hca->bus->ops->join != NULL)
		rc = hca->bus->ops->join(hca->bus, dev);
	if (rc != 0)
		goto err_join;
	rc = mlx4_health_create(eth, &args->health);
	if (rc != 0)
		goto err_health;
	return 0;

err_health:
	if (hca->bus->ops->leave != NULL)
		hca->bus->ops->leave(hca->bus, dev);
err_join:
	mlx4_eth_intr_fini(eth);
err_intr:
	mlx4_flows_destroy(eth);
err_flows:
	mlx4_groups_destroy(eth);
err_groups:
	mlx4_qos_destroy(eth);
err_qos:
	mlx4_filter_destroy(eth);
err_filter:
	mlx4_port_locks_fini(eth);
	return rc;
}

static int
eth_create(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev *dev;
	int rc;

	if ((hca->ib_ports >> (port - 1) & 1) != 0)
		return 0;
	snprintf(name, sizeof(name), "%s_p%u", hca->bus->where, port - 1);
	dev = rte_eth_dev_allocate(name);
	if (dev == NULL)
		return -ENOMEM;
	dev->data->dev_private =
		rte_zmalloc_socket("mlx4_eth", sizeof(struct mlx4_eth), RTE_CACHE_LINE_SIZE, hca->numa_node);
	rc = dev->data->dev_private == NULL ? -ENOMEM : port_fill(dev, hca, port, args);
	if (rc != 0) {
		rte_eth_dev_release_port(dev);
		return rc;
	}
	dev->device = hca->bus->dev;
	dev->data->numa_node = hca->bus->numa_node;
	dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS |
				RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE;
	dev->dev_ops = &mlx4_eth_ops;
	mlx4_bursts_clear(dev);
	dev->rx_queue_count = mlx4_rx_queue_count;
	dev->rx_descriptor_status = mlx4_rx_descriptor_status;
	dev->tx_descriptor_status = mlx4_tx_descriptor_status;
	mlx4_hca_on_event(hca, port, MLX4_CLIENT_ETH, mlx4_eth_event, dev->data->dev_private);
	hca->refs++;
	rte_eth_dev_probing_finish(dev);
	mlx4_share_show(dev);
	return 0;
}

int
mlx4_eth_close(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_hca *hca = eth->hca;

	/* First, since a look may want any lock, or restart the port. */
	mlx4_health_leave_port(eth);
	if (dev->data->dev_started)
		mlx4_eth_stop(dev);
	if (hca->bus->ops->leave != NULL)
		hca->bus->ops->leave(hca->bus, dev);
	mlx4_share_hide(dev);
	mlx4_clients_leave(hca, eth->port, MLX4_CLIENT_ETH);
	mlx4_hca_on_event(hca, eth->port, MLX4_CLIENT_ETH, NULL, NULL);
	mlx4_watch_stop(eth);
	mlx4_tunnel_close(eth);
	mlx4_eth_queues_release(dev);
	mlx4_flows_destroy(eth);
	mlx4_groups_destroy(eth);
	mlx4_filter_destroy(eth);
	mlx4_eth_intr_fini(eth);
	mlx4_qos_destroy(eth);
	mlx4_rx_kinds_free(eth);
	mlx4_health_destroy(eth);
	mlx4_port_locks_fini(eth);
	mlx4_hca_put(hca);
	return 0;
}

/*
 * The ports of a card live and die together: the queues of all of them go, so that nothing is left that the card knew
 * before. A port that is still started may be polled.
 */
static int
card_revive(struct mlx4_eth *eth)
{
	const struct mlx4_hca_config cfg = {.check_fw = eth->args.check_fw};
	struct mlx4_hca *hca = eth->hca;
	uint16_t id;
	int rc;

	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	if (rte_eth_devices[id].data->dev_started) {
		MLX4_LOG(ERR, "port %u: %s is reset with all its ports: stop port %u first", eth->dev->data->port_id,
			 hca->bus->where, id);
		return -EBUSY;
	}
	mlx4_clients_down(hca);
	rc = mlx4_hca_revive(hca, &cfg);
	if (rc != 0) {
		MLX4_LOG(
			ERR,
			"port %u: %s was given up and did not come back by a reset (%s); try again, or close its ports",
			eth->dev->data->port_id, hca->bus->where, rte_strerror(-rc));
		return -EIO;
	}
	return mlx4_clients_up(hca);
}

int
mlx4_eth_reset(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	if (dev->data->dev_started)
		mlx4_eth_stop(dev);
	if (eth->hca->dead)
		return card_revive(eth);
	mlx4_eth_queues_release(dev);
	return 0;
}

int
mlx4_eth_is_removed(struct rte_eth_dev *dev)
{
	return mlx4_eth_of(dev)->hca->dead;
}

/* The ethdev of a port; NULL: it has none. */
static struct rte_eth_dev *
dev_of(const struct mlx4_hca *hca, unsigned int port)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	if (mlx4_eth_of(&rte_eth_devices[id])->port == port)
		return &rte_eth_devices[id];
	return NULL;
}

static void
eth_down(struct mlx4_hca *hca, unsigned int port)
{
	struct rte_eth_dev *dev = dev_of(hca, port);

	if (dev == NULL)
		return;
	mlx4_eth_queues_release(dev);
	mlx4_eth_intr_disconnect(mlx4_eth_of(dev));
}

static int
eth_up(struct mlx4_hca *hca, unsigned int port)
{
	struct rte_eth_dev *dev = dev_of(hca, port);

	if (dev == NULL)
		return 0;
	mlx4_eth_intr_connect(mlx4_eth_of(dev));
	/* Whoever asked whether the port was removed made ethdev remember it. */
	dev->state = RTE_ETH_DEV_ATTACHED;
	return mlx4_qos_restore(mlx4_eth_of(dev)) == 0 ? 0 : -EIO;
}

static int
eth_remove(const struct rte_device *device)
{
	uint16_t id;
	int rc = 0, ret;

	RTE_ETH_FOREACH_DEV_OF(id, device)
	{
		/* Unplugged while it runs: only a stopped port can be closed. */
		ret = rte_eth_devices[id].data->dev_started ? rte_eth_dev_stop(id) : 0;
		if (ret == 0)
			ret = rte_eth_dev_close(id);
		rc = rc == 0 ? ret : rc;
	}
	return rc;
}

static const struct mlx4_client_ops eth_client = {
	.create = eth_create, .down = eth_down, .up = eth_up, .remove = eth_remove};

RTE_INIT(mlx4_eth_client_init)
{
	mlx4_client_register(MLX4_CLIENT_ETH, &eth_client);
}
