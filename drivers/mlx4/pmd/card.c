/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a bus to ethdevs. */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "bursts.h"
#include "card.h"
#include "ethdev.h"
#include "flow.h"
#include "group.h"
#include "ib_port.h"
#include "share.h"

int mlx4_logtype;

RTE_INIT(mlx4_log_init)
{
	mlx4_logtype = rte_log_register_type_and_pick_level("pmd.net.mlx4_vfio", RTE_LOG_NOTICE);
	if (mlx4_logtype < 0)
		mlx4_logtype = RTE_LOGTYPE_EAL;
}

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
	dev->data->mac_addrs = rte_zmalloc_socket("mlx4_macs", MLX4_ETH_MAX_UC_MACS * sizeof(struct rte_ether_addr), 0,
						  hca->numa_node);
	if (dev->data->mac_addrs == NULL)
		return -ENOMEM;
	rc = mac_of(hca, port, &dev->data->mac_addrs[0]);
	if (rc == 0)
		rc = mlx4_filter_create(eth);
	if (rc != 0)
		return rc;
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
	return 0;

err_intr:
	mlx4_flows_destroy(eth);
err_flows:
	mlx4_groups_destroy(eth);
err_groups:
	mlx4_qos_destroy(eth);
err_qos:
	mlx4_filter_destroy(eth);
	return rc;
}

static int
port_create(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev *dev;
	int rc;

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

void
mlx4_card_put(struct mlx4_hca *hca)
{
	struct mlx4_bus *bus = hca->bus;

	if (--hca->refs != 0)
		return;
	mlx4_hca_close(hca);
	bus->ops->close(bus);
}

/* Ports of a device; the card closes itself with the last one. */
int
mlx4_card_remove(struct rte_device *device)
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
	mlx4_ib_ports_destroy(device);
	return rc;
}

/* As a failed probe leaves the bus to the caller, the card must not be closed by its last port. */
static void
ports_destroy(struct mlx4_hca *hca)
{
	uint16_t id;

	hca->refs++;
	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	rte_eth_dev_close(id);
	mlx4_ib_ports_destroy(hca->bus->dev);
	hca->refs--;
}

int
mlx4_card_probe(struct mlx4_bus *bus, const struct mlx4_eth_args *args)
{
	const struct mlx4_hca_config cfg = {.check_fw = args->check_fw};
	struct mlx4_hca *hca;
	unsigned int port;
	int rc;

	rc = mlx4_share_open();
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: no messages from secondary processes: %s", bus->where, rte_strerror(-rc));
		return rc;
	}
	rc = mlx4_hca_open(bus, &cfg, &hca);
	if (rc != 0)
		return rc;
	rc = mlx4_port_types_choose(hca, args->port_type);
	for (port = 1; rc == 0 && port <= hca->caps.num_ports; port++) {
		if ((hca->ib_ports >> (port - 1) & 1) == 0)
			rc = port_create(hca, port, args);
		else
			rc = mlx4_ib_port_create(hca, port, args);
	}
	if (rc != 0) {
		ports_destroy(hca);
		mlx4_hca_close(hca);
	}
	return rc;
}
