/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cards in other processes as virtual devices: --vdev=net_mlx4_user0,socket=PATH */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>

#include <bus_vdev_driver.h>

#include "card.h"
#include "devargs.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/port/share.h"

struct user_conf {
	char path[MLX4_USER_PATH_LEN];
};

static int
parse_socket(const char *dev, const char *key, const char *value, void *arg)
{
	struct user_conf *c = arg;

	if (value == NULL || value[0] == '\0' || strlen(value) >= sizeof(c->path))
		return mlx4_arg_refuse(dev, key, value, "the path of a vfio-user socket");
	snprintf(c->path, sizeof(c->path), "%s", value);
	return 0;
}

static const struct mlx4_arg user_arg_table[] = {{.key = "socket", .parse = parse_socket}};

static int
args_parse(const char *name, const char *text, struct user_conf *conf, struct mlx4_eth_args *eth)
{
	const struct mlx4_arg_table tables[] = {
		{mlx4_eth_arg_table, mlx4_num_eth_args, eth},
		{user_arg_table, RTE_DIM(user_arg_table), conf},
	};
	int rc;

	conf->path[0] = '\0';
	mlx4_eth_args_default(eth);
	rc = mlx4_devargs_parse(name, text, tables, RTE_DIM(tables));
	if (rc == 0 && conf->path[0] == '\0') {
		MLX4_LOG(ERR, "%s: socket=PATH is missing: the vfio-user socket of a card", name);
		rc = -EINVAL;
	}
	return rc;
}

static int
user_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct mlx4_eth_args eth;
	struct user_conf conf;
	struct mlx4_bus *bus;
	int rc;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_attach(&vdev->device, name, NULL);
	if (name == NULL)
		name = "net_mlx4_user";
	rc = args_parse(name, rte_vdev_device_args(vdev), &conf, &eth);
	if (rc == 0)
		rc = mlx4_bus_user_open(&vdev->device, name, conf.path, &bus);
	if (rc != 0)
		return rc;
	rc = mlx4_card_probe(bus, &eth);
	if (rc != 0)
		bus->ops->close(bus);
	return rc;
}

static int
user_remove(struct rte_vdev_device *vdev)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mlx4_second_detach(&vdev->device);
	return mlx4_card_remove(&vdev->device);
}

static struct rte_vdev_driver user_driver = {
	.probe = user_probe,
	.remove = user_remove,
	.drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA,
};
RTE_PMD_REGISTER_VDEV(net_mlx4_user, user_driver);
RTE_PMD_REGISTER_PARAM_STRING(
	net_mlx4_user,
	"socket=PATH check-fw-version=0|1 port-type0=eth|ib|auto "
	"port-type1=eth|ib|auto bf=0|1 tx-inline=<num> rss-udp=0|1 "
	"rss-raw-ip=0|1 mac-loopback=0|1 health-time=<num> health-checks=<num> "
	"health-restart=<mask> health-dump=<mask> dump-path=<path> quirks=<list> quirks-file=<path> trace=<path>");
