/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is plugged into a port: the EEPROM of a passive copper cable of 1 m for 40 and 56 GbE, in the format of SFF-8636,
 * read through MAD_IFC [CP 4.9].
 */
#include <string.h>

#include "port.h"

/* SFF-8636: the lower page's first bytes, then upper page 00h. */
#define ID_QSFP_PLUS 0x0du
#define REVISION 0x03u /* SFF-8636 rev 1.3 */
#define FLAT_MEM 0x04u /* no pages but 00h */
#define CONNECTOR 130u
#define NO_SEPARABLE 0x23u
#define COMPLIANCE 131u
#define ETH_40G_CR4 0x08u
#define BIT_RATE 140u
#define RATE_100M 103u /* units of 100 Mbd */
#define LENGTH_COPPER 146u
#define TECHNOLOGY 147u
#define COPPER_PASSIVE 0xa0u
#define VENDOR 148u
#define VENDOR_LEN 16u
#define PART 168u
#define PART_LEN 16u
#define CHECK_BASE 191u
#define SERIAL 196u
#define SERIAL_LEN 16u
#define DATE 212u
#define DATE_LEN 8u
#define CHECK_EXT 223u
#define UPPER 128u

static void
text(uint8_t *at, size_t len, const char *s)
{
	size_t n = strlen(s);

	memset(at, ' ', len);
	memcpy(at, s, n < len ? n : len);
}

static uint8_t
sum(const uint8_t *e, unsigned int first, unsigned int end)
{
	uint8_t v = 0;

	while (first < end)
		v = (uint8_t)(v + e[first++]);
	return v;
}

/* Both ends of a cable say the same but for the serial number, which names the port. */
static void
eeprom(const struct tp_model *m, const struct tpm_port *p, uint8_t e[MLX4_CABLE_I2C_BYTES])
{
	static const char digits[] = "0123456789ABCDEF";
	char serial[SERIAL_LEN + 1];
	unsigned int i;

	for (i = 0; i < SERIAL_LEN; i++)
		serial[i] = digits[((m->cfg.guid + p->num) >> (60 - 4 * i)) & 0xf];
	serial[SERIAL_LEN] = '\0';
	memset(e, 0, MLX4_CABLE_I2C_BYTES);
	e[0] = e[UPPER] = ID_QSFP_PLUS;
	e[1] = REVISION;
	e[2] = FLAT_MEM;
	e[CONNECTOR] = NO_SEPARABLE;
	e[COMPLIANCE] = ETH_40G_CR4;
	e[BIT_RATE] = RATE_100M;
	e[LENGTH_COPPER] = 1;
	e[TECHNOLOGY] = COPPER_PASSIVE;
	text(e + VENDOR, VENDOR_LEN, "Triplane");
	text(e + PART, PART_LEN, "MODEL-CABLE-1M");
	text(e + SERIAL, SERIAL_LEN, serial);
	text(e + DATE, DATE_LEN, "260101");
	e[CHECK_BASE] = sum(e, UPPER, CHECK_BASE);
	e[CHECK_EXT] = sum(e, CHECK_BASE + 1, CHECK_EXT);
}

uint8_t
tpm_cable_get(const struct tp_model *m, const struct tpm_port *p, uint8_t *mad)
{
	uint32_t off = prm_get(mad, MLX4_CABLE_OFFSET), size = prm_get(mad, MLX4_CABLE_SIZE);
	uint8_t e[MLX4_CABLE_I2C_BYTES];

	memset(mad + MLX4_CABLE_DATA, 0, MLX4_CABLE_DATA_MAX);
	if (!p->cable || p->wire == NULL)
		return MLX4_CABLE_NOT_CONNECTED;
	/* A QSFP has nothing behind the second address of an SFP. */
	if (prm_get(mad, MLX4_CABLE_I2C) != MLX4_CABLE_I2C_LOW)
		return MLX4_CABLE_BAD_I2C;
	if (prm_get(mad, MLX4_CABLE_PAGE) != 0)
		return MLX4_CABLE_BAD_PAGE;
	if (size == 0 || size > MLX4_CABLE_DATA_MAX || off >= MLX4_CABLE_I2C_BYTES || size > MLX4_CABLE_I2C_BYTES - off)
		return MLX4_CABLE_BAD_OFFSET;
	eeprom(m, p, e);
	memcpy(mad + MLX4_CABLE_DATA, e + off, size);
	return MLX4_CABLE_OK;
}
