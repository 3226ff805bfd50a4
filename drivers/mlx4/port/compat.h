/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What differs between the DPDK releases that the driver is built with: 22.11, 24.11, 25.11, 26.07. Nothing else asks. */
#ifndef MLX4_PORT_COMPAT_H
#define MLX4_PORT_COMPAT_H

#include <rte_version.h>

#include <ethdev_driver.h>

/* The list of packet types: ended by RTE_PTYPE_UNKNOWN, later counted. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
#define MLX4_PTYPES_GET_ARGS struct rte_eth_dev *dev, size_t *count
#define MLX4_PTYPES_PASS dev, count
#define MLX4_PTYPES_COUNT(n) (*count = (n))
#else
#define MLX4_PTYPES_GET_ARGS struct rte_eth_dev *dev
#define MLX4_PTYPES_PASS dev
#define MLX4_PTYPES_COUNT(n) RTE_SET_USED(n)
#endif

/* Counters of queues: in the port's statistics, later beside them. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define MLX4_STATS_GET_ARGS struct rte_eth_dev *dev, struct rte_eth_stats *stats, struct eth_queue_stats *qstats
#define MLX4_QSTATS qstats
struct mlx4_stats_box {
	struct rte_eth_stats port;
	struct eth_queue_stats queue;
};
#define MLX4_STATS_GET(dev, box) (dev)->dev_ops->stats_get(dev, &(box)->port, &(box)->queue)
#define MLX4_QSTATS_COPY(box) (qstats == NULL ? (void)0 : (void)(*qstats = (box)->queue))
#else
#define MLX4_STATS_GET_ARGS struct rte_eth_dev *dev, struct rte_eth_stats *stats
#define MLX4_QSTATS stats
struct mlx4_stats_box {
	struct rte_eth_stats port;
};
#define MLX4_STATS_GET(dev, box) (dev)->dev_ops->stats_get(dev, &(box)->port)
#define MLX4_QSTATS_COPY(box) RTE_SET_USED(box)
#endif

/* Parameters of the traffic manager. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define MLX4_TM_CONST const
#else
#define MLX4_TM_CONST
#endif

/* What an ethdev returns as the number of descriptors in use. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
typedef int mlx4_queue_count_t;
#else
typedef uint32_t mlx4_queue_count_t;
#endif

/* The entries of the PCI bus's list of drivers: its own, later those that all buses share. */
#if RTE_VERSION >= RTE_VERSION_NUM(26, 7, 0, 0)
#define MLX4_PCI_LIST_TAG rte_driver
#define MLX4_PCI_LIST_OF(pci_driver) (&(pci_driver)->driver)
#else
#define MLX4_PCI_LIST_TAG rte_pci_driver
#define MLX4_PCI_LIST_OF(pci_driver) (pci_driver)
#endif
#define MLX4_PCI_LIST_ENTRY struct MLX4_PCI_LIST_TAG

/* What keeps a driver's name in its object for tools that list drivers. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 7, 0, 0) && !defined(RTE_PMD_EXPORT_NAME)
#define RTE_PMD_EXPORT_NAME(name, idx) static const char mlx4_pmd_##name[] __rte_used = RTE_STR(name)
#endif

#endif /* MLX4_PORT_COMPAT_H */
