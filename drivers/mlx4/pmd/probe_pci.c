/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Cards that are PCI functions: net_mlx4_vfio.
 *
 * DPDK has a driver for these cards too, net_mlx4, which needs the kernel's RDMA stack. The PCI bus asks its drivers
 * in the order of its list. A plugin of -d comes before those of DPDK's own folder, but in that folder the order is the
 * file system's. So this driver registers and then moves itself to the list's head. Probe returns 0: taken; greater
 * than 0: asks the next driver; less: an error, and no other driver is asked. Because this driver needs mapping, the bus
 * skips it without a call for a card that is bound to a kernel driver: such a card still goes to net_mlx4. Both can be
 * loaded; the binding decides, and the name differs.
 */
#include <errno.h>

#include <rte_eal.h>

#include <bus_pci_driver.h>

#include "card.h"
#include "devargs.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/port/compat.h"
#include "drivers/mlx4/port/share.h"

static int
pci_probe(struct rte_pci_driver *drv, struct rte_pci_device *pci)
{
	const struct mlx4_arg_table table = {mlx4_eth_arg_table, mlx4_num_eth_args, NULL};
	struct mlx4_arg_table t = table;
	struct mlx4_eth_args args;
	struct mlx4_bus *bus;
	int rc;

	if (pci->id.device_id == MLX4_PCI_DEV_CX3_VF) {
		MLX4_LOG(ERR,
			 "%s: device 0x%04x is a virtual function, which this driver does not support; "
			 "wanted a physical one (0x%04x or 0x%04x)",
			 pci->device.name, pci->id.device_id, MLX4_PCI_DEV_CX3, MLX4_PCI_DEV_CX3_PRO);
		return -ENOTSUP;
	}
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_attach(&pci->device, pci->device.name, pci->mem_resource[MLX4_PCI_BAR_UAR].addr);
	mlx4_eth_args_default(&args);
	t.obj = &args;
	rc = mlx4_devargs_parse(pci->device.name, pci->device.devargs == NULL ? NULL : pci->device.devargs->args, &t,
				1);
	if (rc != 0)
		return rc;
	rc = mlx4_bus_pci_open(pci, &bus);
	if (rc != 0)
		return rc;
	rc = mlx4_card_probe(bus, &args);
	if (rc != 0)
		bus->ops->close(bus);
	return rc;
}

static int
pci_remove(struct rte_pci_device *pci)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_detach(&pci->device);
	return mlx4_card_remove(&pci->device);
}

static const struct rte_pci_id pci_ids[] = {
	{RTE_PCI_DEVICE(MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3)},
	{RTE_PCI_DEVICE(MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3_VF)},
	{RTE_PCI_DEVICE(MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3_PRO)},
	{.vendor_id = 0},
};

static struct rte_pci_driver pci_driver = {
	.id_table = pci_ids,
	.drv_flags = RTE_PCI_DRV_NEED_MAPPING | RTE_PCI_DRV_INTR_LSC,
	.probe = pci_probe,
	.remove = pci_remove,
};

/* The bus keeps its list to itself; each entry knows its neighbours, and the first one the head. */
void
mlx4_pci_to_the_front(struct rte_pci_driver *drv)
{
	MLX4_PCI_LIST_ENTRY *own = MLX4_PCI_LIST_OF(drv);
	RTE_TAILQ_HEAD(list, MLX4_PCI_LIST_TAG) * list;
	MLX4_PCI_LIST_ENTRY *first = own, *before;

	while ((before = TAILQ_PREV(first, list, next)) != NULL)
		first = before;
	if (first == own)
		return;
	list = (void *)first->next.tqe_prev;
	TAILQ_REMOVE(list, own, next);
	TAILQ_INSERT_HEAD(list, own, next);
}

/* What RTE_PMD_REGISTER_PCI does, and the place in the list; what tools read of the driver is in pmdinfo.c. */
RTE_INIT(mlx4_register_pci)
{
	pci_driver.driver.name = "net_mlx4_vfio";
	rte_pci_register(&pci_driver);
	mlx4_pci_to_the_front(&pci_driver);
}
