/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cards in software as virtual devices: --vdev=net_mlx4_model0,key=value,... */
#include <errno.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <bus_vdev_driver.h>

#include "card.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/port/share.h"
#include "model_args.h"

static int
model_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct mlx4_model_conf conf = {0};
	struct mlx4_eth_args eth;
	struct mlx4_bus *bus;
	int rc;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_attach(&vdev->device, name, NULL);
	if (name == NULL)
		name = "net_mlx4_model";
	rc = mlx4_model_args_parse(name, rte_vdev_device_args(vdev), &conf, &eth);
	if (rc == 0)
		rc = mlx4_bus_model_open(&vdev->device, name, &conf, &bus);
	if (rc != 0)
		return rc;
	rc = mlx4_card_probe(bus, &eth);
	if (rc != 0)
		bus->ops->close(bus);
	return rc;
}

static int
model_remove(struct rte_vdev_device *vdev)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_detach(&vdev->device);
	return mlx4_card_remove(&vdev->device);
}

/* Memory that the application registered itself; any port of the card leads to its bus. */
static struct mlx4_bus *
bus_of(struct rte_vdev_device *vdev)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, &vdev->device)
	return mlx4_eth_of(&rte_eth_devices[id])->hca->bus;
	return NULL;
}

static int
model_vdev_dma_map(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	struct mlx4_bus *bus = bus_of(vdev);
	int rc = bus == NULL ? -ENODEV : bus->ops->dma_map(bus, addr, iova, len);

	rte_errno = -rc;
	return rc == 0 ? 0 : -1;
}

static int
model_vdev_dma_unmap(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	struct mlx4_bus *bus = bus_of(vdev);
	int rc = bus == NULL ? -ENODEV : bus->ops->dma_unmap(bus, addr, iova, len);

	rte_errno = -rc;
	return rc == 0 ? 0 : -1;
}

static struct rte_vdev_driver model_driver = {
	.probe = model_probe,
	.remove = model_remove,
	.dma_map = model_vdev_dma_map,
	.dma_unmap = model_vdev_dma_unmap,
	.drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA,
};
RTE_PMD_REGISTER_VDEV(net_mlx4_model, model_driver);
RTE_PMD_REGISTER_PARAM_STRING(
	net_mlx4_model,
	"type=cx3|cx3pro fw=A.B.C guid=<num> ports=1|2 port0=eth|ib|auto port1=eth|ib|auto "
	"sense0=wire|none|eth|ib sense1=wire|none|eth|ib stored0=eth|ib stored1=eth|ib "
	"ib-speed0=sdr|ddr|qdr|fdr10|fdr ib-speed1=sdr|ddr|qdr|fdr10|fdr wol=0|1 congestion=0|1 cc0=<list> cc1=<list> "
	"wire0=loopback|cross|none|ethdev:NAME|switch:NAME[/KEY:VALUE]...|ibswitch:NAME[/KEY:VALUE]... "
	"wire1=loopback|cross|none|ethdev:NAME|switch:NAME[/KEY:VALUE]...|ibswitch:NAME[/KEY:VALUE]... "
	"impair0=<list> impair1=<list> fail=OPCODE:NTH:STATUS timeout=OPCODE:NTH rubbish=OPCODE:NTH:SEED "
	"slow=OPCODE:NTH:TIME "
	"break0=<list> break1=<list> "
	"run=thread|service|poll|step cpu=<num> wake-us=<num> check-fw-version=0|1 port-type0=eth|ib|auto "
	"port-type1=eth|ib|auto bf=0|1 "
	"tx-inline=<num> rss-udp=0|1 rss-raw-ip=0|1 mac-loopback=0|1 health-time=<num> health-checks=<num> "
	"health-restart=<mask> health-dump=<mask> dump-path=<path> quirks=<list> quirks-file=<path> trace=<path> "
	"model-quirks=<list> replay=<path>");
