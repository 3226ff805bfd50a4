/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdio.h>

#include "lib/ipoib/port/port.h"
#include "vdev_eth.h"

int
ipoib_vdev_check_process(const struct rte_vdev_device *vdev)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		return 0;
	IPOIB_LOG(ERR, "%s: only the primary process has IPoIB ports", rte_vdev_device_name(vdev));
	return -ENOTSUP;
}

void
ipoib_vdev_show(struct rte_eth_dev *eth, const struct eth_dev_ops *ops, eth_rx_burst_t rx, eth_tx_burst_t tx)
{
	eth->data->promiscuous = 1;
	eth->data->dev_flags |= RTE_ETH_DEV_INTR_LSC;
	eth->dev_ops = ops;
	eth->rx_pkt_burst = rx;
	eth->tx_pkt_burst = tx;
	rte_eth_dev_probing_finish(eth);
}

int
ipoib_vdev_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (eth == NULL)
		return 0;
	/* Who takes the device away need not have stopped the port, and ethdev closes none that is started. */
	if (eth->data->dev_started)
		rte_eth_dev_stop(eth->data->port_id);
	return rte_eth_dev_close(eth->data->port_id);
}

int
ipoib_vdev_add(const char *prefix, const char *args, uint16_t *port_id)
{
	char name[TP_IPOIB_NAME];
	unsigned int n;
	int ret;

	for (n = 0; n < RTE_MAX_ETHPORTS; n++) {
		snprintf(name, sizeof(name), "%s%u", prefix, n);
		/* A port that was closed left the bus its name; of a device that no driver took the bus keeps it. */
		if (rte_eth_dev_get_port_by_name(name, port_id) != 0 && rte_vdev_uninit(name) <= 0)
			break;
	}
	if (n == RTE_MAX_ETHPORTS) {
		IPOIB_LOG(ERR, "%s0..%u are taken: DPDK is built for %u ports in all", prefix, n - 1, n);
		return -ENOSPC;
	}
	ret = rte_vdev_init(name, args);
	if (ret == -EADDRINUSE)
		return -EEXIST;
	return ret != 0 ? ret : rte_eth_dev_get_port_by_name(name, port_id);
}

int
ipoib_vdev_rem(const struct rte_eth_dev *eth)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	int ret;

	if (eth->data->dev_started)
		return -EBUSY;
	ret = rte_eth_dev_get_name_by_port(eth->data->port_id, name);
	return ret != 0 ? ret : rte_vdev_uninit(name);
}
