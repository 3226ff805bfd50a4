/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* PCI configuration space with the capability chain of a real card [CP 1.2]. Little-endian, as PCI defines it. */
#include <errno.h>
#include <string.h>

#include "life.h"

#define CFG_SIZE 4096u
#define CFG_COMMAND 0x04u
#define CFG_STATUS 0x06u
#define CFG_CLASS 0x08u
#define CFG_CACHE_LINE 0x0cu
#define CFG_BAR(n) (0x10u + 4u * (n))
#define CFG_SUBSYS 0x2cu
#define CFG_ROM 0x30u
#define CFG_CAP_PTR 0x34u
#define CFG_INT_LINE 0x3cu

#define CLASS_ETHERNET 0x020000u
#define STATUS_CAP_LIST 0x0010u
#define COMMAND_WRITABLE 0x0547u /* memory, I/O, bus master, parity, SERR, INTx disable */
#define BAR_MEM64 0x4u
#define BAR_PREFETCH 0x8u
#define ROM_SIZE 0x100000u

#define CAP_ID_PM 0x01u
#define CAP_ID_VPD 0x03u
#define CAP_ID_EXP 0x10u
#define CAP_ID_VENDOR 0x09u
#define CAP_ID_MSIX 0x11u
#define ECAP_AER 0x0001u
#define ECAP_SERIAL 0x0003u
#define ECAP_ARI 0x000eu
#define ECAP_SECPCI 0x0019u

#define PM_CTRL (MLX4_PCI_CAP_PM + 4u)
#define PM_NO_SOFT_RST 0x0008u
#define VPD_ADDR (MLX4_PCI_CAP_VPD + 2u)
#define VPD_DATA (MLX4_PCI_CAP_VPD + 4u)
#define VPD_DONE 0x8000u
#define EXP_DEVCTL (MLX4_PCI_CAP_EXP + 8u)
#define EXP_LNKCTL (MLX4_PCI_CAP_EXP + 0x10u)
#define EXP_DEVCTL2 (MLX4_PCI_CAP_EXP + 0x28u)
#define EXP_LNKCTL2 (MLX4_PCI_CAP_EXP + 0x30u)
#define MSIX_CTRL (MLX4_PCI_CAP_MSIX + 2u)

/* Bits that software may write; everything else is read-only. */
static const struct {
	uint32_t off, mask;
} writable[] = {
	{CFG_COMMAND, COMMAND_WRITABLE},
	{CFG_CACHE_LINE, 0x0000ffffu},
	{CFG_BAR(0), ~(MLX4_BAR0_SIZE - 1)},
	{CFG_BAR(1), ~0u},
	{CFG_BAR(2), ~(TPM_BAR2_SIZE - 1)},
	{CFG_BAR(3), ~0u},
	{CFG_ROM, ~(ROM_SIZE - 1) | 1u},
	{CFG_INT_LINE, 0xffu},
	{PM_CTRL, 0x3u},
	{MLX4_PCI_CAP_VPD, 0xffff0000u},
	{MLX4_PCI_CAP_MSIX, 0xc0000000u},
	{EXP_DEVCTL, 0x0000ffffu & ~0x8000u},
	{EXP_LNKCTL, 0x000003ffu},
	{EXP_DEVCTL2, 0x0000001fu},
	{EXP_LNKCTL2, 0x0000ffffu},
	{MLX4_PCI_ECAP_AER + 0x08u, 0x003ff030u}, /* uncorrectable mask */
	{MLX4_PCI_ECAP_AER + 0x0cu, 0x003ff030u}, /* uncorrectable severity */
	{MLX4_PCI_ECAP_AER + 0x14u, 0x000031c1u}, /* correctable mask */
	{MLX4_PCI_ECAP_AER + 0x18u, 0x00000140u}, /* ECRC enables */
};

static void
put16(struct tp_model *m, uint32_t off, uint16_t v)
{
	m->pci_cfg[off] = (uint8_t)v;
	m->pci_cfg[off + 1] = (uint8_t)(v >> 8);
}

static void
put32(struct tp_model *m, uint32_t off, uint32_t v)
{
	put16(m, off, (uint16_t)v);
	put16(m, off + 2, (uint16_t)(v >> 16));
}

static uint32_t
get32(const struct tp_model *m, uint32_t off)
{
	const uint8_t *p = &m->pci_cfg[off];

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void
put_cap(struct tp_model *m, uint32_t off, uint8_t id, uint8_t next)
{
	m->pci_cfg[off] = id;
	m->pci_cfg[off + 1] = next;
}

static void
put_ecap(struct tp_model *m, uint32_t off, uint32_t id, uint32_t version, uint32_t next)
{
	put32(m, off, id | version << 16 | next << 20);
}

static void
caps_reset(struct tp_model *m)
{
	uint64_t serial = m->cfg.guid;

	put_cap(m, MLX4_PCI_CAP_PM, CAP_ID_PM, MLX4_PCI_CAP_VPD);
	put16(m, MLX4_PCI_CAP_PM + 2, 3); /* version 3, D0 and D3 only */
	put16(m, PM_CTRL, PM_NO_SOFT_RST);
	put_cap(m, MLX4_PCI_CAP_VPD, CAP_ID_VPD, MLX4_PCI_CAP_MSIX);
	put_cap(m, MLX4_PCI_CAP_MSIX, CAP_ID_MSIX, MLX4_PCI_CAP_EXP);
	put16(m, MSIX_CTRL, MLX4_MSIX_VECTORS - 1);
	put32(m, MLX4_PCI_CAP_MSIX + 4, MLX4_REG_MSIX_TABLE); /* BIR 0 */
	put32(m, MLX4_PCI_CAP_MSIX + 8, MLX4_REG_MSIX_PBA);
	put_cap(m, MLX4_PCI_CAP_EXP, CAP_ID_EXP, MLX4_PCI_CAP_VENDOR);
	put16(m, MLX4_PCI_CAP_EXP + 2, 0x0002);     /* version 2, endpoint */
	put32(m, MLX4_PCI_CAP_EXP + 4, 0x10008002); /* 512-byte payload, role-based errors, FLR */
	put16(m, EXP_DEVCTL, 0x2810);
	put32(m, MLX4_PCI_CAP_EXP + 0x0c, 0x00000083); /* 8 GT/s, x8 */
	put16(m, MLX4_PCI_CAP_EXP + 0x12, 0x0083);
	put32(m, MLX4_PCI_CAP_EXP + 0x24, 0x0000001f); /* completion timeouts */
	put16(m, EXP_LNKCTL2, 0x0003);
	put_cap(m, MLX4_PCI_CAP_VENDOR, CAP_ID_VENDOR, 0);
	m->pci_cfg[MLX4_PCI_CAP_VENDOR + 2] = 0x18;

	put_ecap(m, MLX4_PCI_ECAP_ARI, ECAP_ARI, 1, MLX4_PCI_ECAP_SERIAL);
	put_ecap(m, MLX4_PCI_ECAP_SERIAL, ECAP_SERIAL, 1, MLX4_PCI_ECAP_AER);
	put32(m, MLX4_PCI_ECAP_SERIAL + 4, (uint32_t)serial);
	put32(m, MLX4_PCI_ECAP_SERIAL + 8, (uint32_t)(serial >> 32));
	put_ecap(m, MLX4_PCI_ECAP_AER, ECAP_AER, 2, MLX4_PCI_ECAP_SECPCI);
	put32(m, MLX4_PCI_ECAP_AER + 0x0c, 0x00062030); /* default severities of PCI Express */
	put32(m, MLX4_PCI_ECAP_AER + 0x14, 0x00002000);
	put_ecap(m, MLX4_PCI_ECAP_SECPCI, ECAP_SECPCI, 1, 0);
}

void
tpm_config_reset(struct tp_model *m)
{
	memset(m->pci_cfg, 0, sizeof(m->pci_cfg));
	put16(m, 0, MLX4_PCI_VENDOR);
	put16(m, 2, m->cfg.device_id);
	put16(m, CFG_STATUS, STATUS_CAP_LIST);
	put32(m, CFG_CLASS, CLASS_ETHERNET << 8);
	put32(m, CFG_BAR(0), BAR_MEM64);
	put32(m, CFG_BAR(2), BAR_MEM64 | BAR_PREFETCH);
	put32(m, CFG_SUBSYS, MLX4_PCI_VENDOR | 0x0050u << 16);
	m->pci_cfg[CFG_CAP_PTR] = MLX4_PCI_CAP_PM;
	m->pci_cfg[CFG_INT_LINE + 1] = 1; /* INTA */
	caps_reset(m);
}

static uint32_t
writable_mask(uint32_t off)
{
	for (unsigned int i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		if (writable[i].off == off)
			return writable[i].mask;
	return 0;
}

/* Part number and serial number, and the checksum byte that makes the read-only part sum to zero. */
static uint8_t
vpd_byte(const struct tp_model *m, uint32_t at)
{
	static const char id[] = "CX354A - ConnectX-3 QSFP";
	static const uint8_t pn[] = {'P', 'N', 12, 'M', 'C', 'X', '3', '5', '4', 'A', '-', 'F', 'C', 'B', 'T'};
	static const uint8_t sn[] = {'S', 'N', 16}, rv[] = {'R', 'V', 1};
	uint8_t img[128] = {0x82, sizeof(id) - 1, 0}, sum = 0;
	uint32_t n = 3, ro;

	memcpy(img + n, id, sizeof(id) - 1);
	n += sizeof(id) - 1;
	img[n] = 0x90;
	ro = n + 3;
	n = ro;
	memcpy(img + n, pn, sizeof(pn));
	n += sizeof(pn);
	memcpy(img + n, sn, sizeof(sn));
	n += sizeof(sn);
	for (int i = 15; i >= 0; i--)
		img[n++] = (uint8_t) "0123456789ABCDEF"[(m->cfg.guid >> (4 * i)) & 0xf];
	memcpy(img + n, rv, sizeof(rv));
	n += sizeof(rv);
	img[ro - 2] = (uint8_t)(n + 1 - ro);
	for (uint32_t i = 0; i < n; i++)
		sum = (uint8_t)(sum + img[i]);
	img[n++] = (uint8_t)-sum;
	img[n++] = 0x78;
	return at < n ? img[at] : 0;
}

/* An address write with the flag clear asks for a read; the data is there at once. */
static void
vpd_access(struct tp_model *m)
{
	uint32_t addr = get32(m, MLX4_PCI_CAP_VPD) >> 16;

	if ((addr & VPD_DONE) != 0)
		return;
	for (uint32_t i = 0; i < 4; i++)
		m->pci_cfg[VPD_DATA + i] = vpd_byte(m, addr + i);
	put16(m, VPD_ADDR, (uint16_t)(addr | VPD_DONE));
}

int
tp_model_cfg_read(struct tp_model *m, uint32_t off, void *buf, uint32_t len)
{
	if (off > CFG_SIZE || len > CFG_SIZE - off)
		return -EINVAL;
	tpm_lock(&m->lock);
	memcpy(buf, &m->pci_cfg[off], len);
	tpm_unlock(&m->lock);
	return 0;
}

int
tp_model_cfg_write(struct tp_model *m, uint32_t off, const void *buf, uint32_t len)
{
	const uint8_t *src = buf;
	bool flr;

	if (off > CFG_SIZE || len > CFG_SIZE - off)
		return -EINVAL;
	tpm_lock(&m->lock);
	for (uint32_t i = off; i < off + len; i++) {
		uint8_t mask = (uint8_t)(writable_mask(i & ~3u) >> (8 * (i & 3u)));

		m->pci_cfg[i] = (uint8_t)((m->pci_cfg[i] & ~mask) | (src[i - off] & mask));
	}
	if (off <= VPD_ADDR + 1 && off + len > VPD_ADDR)
		vpd_access(m);
	/* Initiate Function Level Reset: bit 15 of device control. */
	flr = off <= EXP_DEVCTL + 1 && off + len > EXP_DEVCTL + 1 && (src[EXP_DEVCTL + 1 - off] & 0x80) != 0;
	if (flr)
		tpm_reset(m);
	tpm_unlock(&m->lock);
	return 0;
}
