/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is plugged into a port, by its EEPROM, and the light beside it [CP 4.4, 4.9]. */
#include <errno.h>
#include <string.h>

#include "ethdev.h"

/* Identifiers of modules, the first byte of their EEPROM (SFF-8024), and revisions of QSFP+ (SFF-8636). */
#define ID_SFP 0x03u
#define ID_QSFP 0x0cu
#define ID_QSFP_PLUS 0x0du
#define ID_QSFP28 0x11u
#define REVISION_8636 0x03u
#define LED_SECONDS 3600u /* the card has no "until told otherwise" */

static const struct {
	int err;
	const char *text;
} cable_status[] = {
	[MLX4_CABLE_OK] = {0, "ok"},
	[MLX4_CABLE_BAD_PORT] = {-EINVAL, "the firmware knows no such port"},
	[MLX4_CABLE_NOT_SUPPORTED] = {-ENOTSUP, "the firmware cannot read modules"},
	[MLX4_CABLE_NOT_CONNECTED] = {-ENODEV, "nothing is plugged in"},
	[MLX4_CABLE_NO_EEPROM] = {-ENODEV, "what is plugged in has no EEPROM"},
	[MLX4_CABLE_BAD_PAGE] = {-EINVAL, "there is no such page"},
	[MLX4_CABLE_BAD_OFFSET] = {-EINVAL, "there is no such offset"},
	[MLX4_CABLE_BAD_I2C] = {-EINVAL, "there is nothing at this I2C address"},
	[MLX4_CABLE_VIOLATION] = {-EIO, "the module breaks the rules of QSFP"},
	[MLX4_CABLE_BUSY] = {-EBUSY, "the bus of the module is busy"},
};

int
mlx4_module_read(struct mlx4_eth *eth, uint32_t off, uint32_t len, uint8_t *out, const char **why)
{
	uint8_t in[MLX4_MAD_SIZE] = {0}, mad[MLX4_MAD_SIZE];
	uint32_t st;
	int rc;

	*why = NULL;
	prm_set(in, MLX4_MAD_BASE_VERSION, 1);
	prm_set(in, MLX4_MAD_CLASS, MLX4_MAD_CLASS_LID_ROUTED);
	prm_set(in, MLX4_MAD_CLASS_VERSION, 1);
	prm_set(in, MLX4_MAD_METHOD, MLX4_MAD_METHOD_GET);
	prm_set(in, MLX4_MAD_ATTR, MLX4_MAD_ATTR_CABLE);
	prm_set(in, MLX4_CABLE_I2C, off < MLX4_CABLE_I2C_BYTES ? MLX4_CABLE_I2C_LOW : MLX4_CABLE_I2C_HIGH);
	prm_set(in, MLX4_CABLE_OFFSET, off % MLX4_CABLE_I2C_BYTES);
	prm_set(in, MLX4_CABLE_SIZE, len);
	rc = mlx4_cmd(eth->hca, MLX4_CMD_MAD_IFC, MLX4_MAD_IFC_NO_KEYS, eth->port, in, sizeof(in), mad, sizeof(mad));
	if (rc != 0)
		return rc;
	st = prm_get(mad, MLX4_MAD_STATUS);
	if (st == 0) {
		memcpy(out, mad + MLX4_CABLE_DATA, len);
		return 0;
	}
	st >>= MLX4_MAD_STATUS_CABLE_SHIFT;
	if (st == MLX4_CABLE_OK || st >= RTE_DIM(cable_status))
		st = MLX4_CABLE_NOT_SUPPORTED;
	*why = cable_status[st].text;
	return cable_status[st].err;
}

static int
read_part(struct mlx4_eth *eth, uint32_t off, uint32_t len, uint8_t *out)
{
	const char *why;
	int rc = mlx4_module_read(eth, off, len, out, &why);

	if (why != NULL)
		MLX4_LOG(ERR, "port %u: bytes %u to %u of the module's EEPROM: %s", eth->dev->data->port_id, off,
			 off + len - 1, why);
	return rc;
}

int
mlx4_module_info(struct rte_eth_dev *dev, struct rte_eth_dev_module_info *info)
{
	uint8_t id[2];
	int rc = read_part(mlx4_eth_of(dev), 0, sizeof(id), id);

	if (rc != 0)
		return rc;
	switch (id[0]) {
	case ID_SFP:
		info->type = RTE_ETH_MODULE_SFF_8472;
		info->eeprom_len = RTE_ETH_MODULE_SFF_8472_LEN;
		return 0;
	case ID_QSFP:
	case ID_QSFP_PLUS:
	case ID_QSFP28:
		/* The card reads page 0 only. */
		info->type = id[0] == ID_QSFP28 || (id[0] == ID_QSFP_PLUS && id[1] >= REVISION_8636)
				     ? RTE_ETH_MODULE_SFF_8636
				     : RTE_ETH_MODULE_SFF_8436;
		info->eeprom_len = MLX4_CABLE_I2C_BYTES;
		return 0;
	default: break;
	}
	MLX4_LOG(ERR, "port %u: a module of kind 0x%02x, wanted 0x%02x (SFP), 0x%02x, 0x%02x or 0x%02x (QSFP)",
		 dev->data->port_id, id[0], ID_SFP, ID_QSFP, ID_QSFP_PLUS, ID_QSFP28);
	return -ENOTSUP;
}

int
mlx4_module_eeprom(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info)
{
	struct rte_eth_dev_module_info module;
	uint32_t done, part, off;
	int rc = mlx4_module_info(dev, &module);

	if (rc != 0)
		return rc;
	if (info->offset > module.eeprom_len || info->length > module.eeprom_len - info->offset) {
		MLX4_LOG(ERR, "port %u: %u bytes from %u of the module's EEPROM: it has %u", dev->data->port_id,
			 info->length, info->offset, module.eeprom_len);
		return -EINVAL;
	}
	for (done = 0; done < info->length; done += part) {
		off = info->offset + done;
		part = RTE_MIN(MLX4_CABLE_DATA_MAX, info->length - done);
		part = RTE_MIN(part, MLX4_CABLE_I2C_BYTES - off % MLX4_CABLE_I2C_BYTES);
		rc = read_part(mlx4_eth_of(dev), off, part, (uint8_t *)info->data + done);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
led(struct rte_eth_dev *dev, uint32_t seconds)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint8_t box[sizeof(uint32_t)] = {0};

	if (!eth->hca->caps.beacon) {
		MLX4_LOG(ERR, "port %u: this firmware cannot make the port's light blink", dev->data->port_id);
		return -ENOTSUP;
	}
	prm_set(box, MLX4_SET_PORT_BEACON_S, seconds);
	return mlx4_cmd(eth->hca, MLX4_CMD_SET_PORT, MLX4_SET_PORT_OPM_BEACON, eth->port, box, sizeof(box), NULL, 0);
}

int
mlx4_led_on(struct rte_eth_dev *dev)
{
	return led(dev, LED_SECONDS);
}

int
mlx4_led_off(struct rte_eth_dev *dev)
{
	return led(dev, 0);
}

/* The card's own configuration is its vendor's tools' business: a wrong byte there makes the card useless. */
int
mlx4_eeprom_set(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info)
{
	MLX4_LOG(ERR, "port %u: writing %u bytes of the card's flash: no command of the firmware does that",
		 dev->data->port_id, info->length);
	return -ENOTSUP;
}
