/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The EEPROM of a port is its card's vital product data: name, part number, serial number, as resources of PCI 3.0,
 * appendix I. It is read by the capability in configuration space [CP 1.2], four bytes at a time and never behind its end.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_cycles.h>

#include "ethdev.h"

#define CAP_ID_VPD 0x03u
#define CAP_ADDR 2u /* where to read, bit 15: done */
#define CAP_DATA 4u
#define ADDR_DONE 0x8000u
#define VPD_MOST 0x8000u /* what 15 bits of address reach */
#define WAIT_MS 125u     /* a slow EEPROM takes some ms for each word */
#define TAG_END 0x78u    /* small resource: 4 bits of type, 3 bits of length */
#define TAG_LARGE 0x80u  /* its length is the next two bytes */

/* Address and data are two accesses, and the ports of a card have one capability. */
static pthread_mutex_t vpd_lock = PTHREAD_MUTEX_INITIALIZER;

static int
read_word(struct mlx4_bus *bus, uint32_t at, uint8_t word[4])
{
	rte_le16_t addr = rte_cpu_to_le_16((uint16_t)at);
	uint32_t ms;
	int rc = bus->ops->cfg_write(bus, MLX4_PCI_CAP_VPD + CAP_ADDR, &addr, sizeof(addr));

	for (ms = 0; rc == 0; ms++) {
		rc = bus->ops->cfg_read(bus, MLX4_PCI_CAP_VPD + CAP_ADDR, &addr, sizeof(addr));
		if (rc != 0 || (rte_le_to_cpu_16(addr) & ADDR_DONE) != 0)
			break;
		if (ms == WAIT_MS)
			return -ETIMEDOUT;
		rte_delay_us_sleep(1000);
	}
	return rc != 0 ? rc : bus->ops->cfg_read(bus, MLX4_PCI_CAP_VPD + CAP_DATA, word, 4);
}

static int
read_bytes(struct mlx4_bus *bus, uint32_t at, uint32_t len, uint8_t *data)
{
	uint8_t word[4];
	uint32_t done, part;
	int rc = 0;

	for (done = 0; done < len && rc == 0; done += part) {
		part = RTE_MIN(4 - (at + done) % 4, len - done);
		rc = read_word(bus, RTE_ALIGN_FLOOR(at + done, 4), word);
		if (rc == 0)
			memcpy(data + done, &word[(at + done) % 4], part);
	}
	return rc;
}

/* To the end of the last resource. */
static int
length_of(struct mlx4_bus *bus)
{
	uint32_t at = 0;
	uint8_t tag[3];
	uint8_t id;
	int rc;

	rc = bus->ops->cfg_read(bus, MLX4_PCI_CAP_VPD, &id, sizeof(id));
	if (rc == 0 && id != CAP_ID_VPD)
		rc = -ENOTSUP;
	while (rc == 0 && at < VPD_MOST) {
		rc = read_bytes(bus, at, 1, tag);
		if (rc == 0 && (tag[0] & TAG_LARGE) == 0) {
			at += 1 + (tag[0] & 7u);
			if ((tag[0] & TAG_END) == TAG_END)
				return (int)at;
			if (tag[0] == 0)
				rc = -EIO;
		} else if (rc == 0) {
			rc = read_bytes(bus, at + 1, 2, tag + 1);
			at += 3 + (tag[1] | (uint32_t)tag[2] << 8);
		}
	}
	return rc != 0 ? rc : -EIO;
}

int
mlx4_vpd_length(struct mlx4_bus *bus)
{
	int len;

	pthread_mutex_lock(&vpd_lock);
	len = length_of(bus);
	pthread_mutex_unlock(&vpd_lock);
	return len;
}

int
mlx4_vpd_read(struct mlx4_bus *bus, uint32_t at, uint32_t len, uint8_t *data)
{
	int rc;

	pthread_mutex_lock(&vpd_lock);
	rc = read_bytes(bus, at, len, data);
	pthread_mutex_unlock(&vpd_lock);
	return rc;
}

static int
refuse(const struct rte_eth_dev *dev, int rc)
{
	MLX4_LOG(ERR, "port %u: vital product data of the card: %s", dev->data->port_id,
		 rc == -ENOTSUP     ? "it has none"
		 : rc == -ETIMEDOUT ? "the card does not answer"
				    : "what it says is no list of resources");
	return rc;
}

int
mlx4_eeprom_length(struct rte_eth_dev *dev)
{
	int len = mlx4_vpd_length(mlx4_eth_of(dev)->hca->bus);

	return len < 0 ? refuse(dev, len) : len;
}

int
mlx4_eeprom_get(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info)
{
	struct mlx4_bus *bus = mlx4_eth_of(dev)->hca->bus;
	int len = mlx4_eeprom_length(dev), rc;

	if (len < 0)
		return len;
	if (info->offset > (uint32_t)len || info->length > (uint32_t)len - info->offset) {
		MLX4_LOG(ERR, "port %u: %u bytes from %u of the card's vital product data: it has %d",
			 dev->data->port_id, info->length, info->offset, len);
		return -EINVAL;
	}
	info->magic = MLX4_PCI_VENDOR;
	rc = mlx4_vpd_read(bus, info->offset, info->length, info->data);
	return rc != 0 ? refuse(dev, rc) : 0;
}
