/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What IPoIB ports and their pairs have in common as ethdevs of the virtual bus. */
#ifndef IPOIB_ETHDEV_VDEV_ETH_H
#define IPOIB_ETHDEV_VDEV_ETH_H

#include <bus_vdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_version.h>

#include "tp_ipoib.h"

/* What keeps a driver's name in its object for tools that list drivers; not among the headers of every release. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 7, 0, 0) && !defined(RTE_PMD_EXPORT_NAME)
#define RTE_PMD_EXPORT_NAME(name, idx) static const char ipoib_pmd_##name[] __rte_used = RTE_STR(name)
#endif

/* 0, or -ENOTSUP, which was said: managers of subnets and connections answer one process only. */
int ipoib_vdev_check_process(const struct rte_vdev_device *vdev);

/* Shows a port that was made; MACs are on no wire, so none is refused. */
void ipoib_vdev_show(struct rte_eth_dev *eth, const struct eth_dev_ops *ops, eth_rx_burst_t rx, eth_tx_burst_t tx);

/* A bus driver's remove; stops and closes the port. */
int ipoib_vdev_remove(struct rte_vdev_device *vdev);

/*
 * Makes the device of the first free name "PREFIXn" with these arguments.
 * 0 and its port; -ENOSPC all places that DPDK has for ports are taken; another negative errno.
 */
int ipoib_vdev_add(const char *prefix, const char *args, uint16_t *port_id);

/* 0, -EBUSY: the port is started, or another negative errno. */
int ipoib_vdev_rem(const struct rte_eth_dev *eth);

#endif /* IPOIB_ETHDEV_VDEV_ETH_H */
