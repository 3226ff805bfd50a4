/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 1: who the card is. It is asked as it was found; nothing that lasts is written. */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "card.h"
#include "drivers/mlx4/ethdev/ethdev.h"
#include "drivers/mlx4/hca/fw_needs.h"
#include "vpd.h"

#define CFG_LEN 256u
#define CFG_CAP_PTR 0x34u
#define HOPS 48u
#define VPD_MOST 4096
#define VERSION(a, b, c) ((uint64_t)(a) << 32 | (uint64_t)(b) << 16 | (c))

static const struct {
	uint8_t id;
	const char *name;
	uint32_t at;
} caps[] = {
	{0x01, "power management", MLX4_PCI_CAP_PM},
	{0x03, "vital product data", MLX4_PCI_CAP_VPD},
	{0x10, "PCI Express", MLX4_PCI_CAP_EXP},
	{0x11, "MSI-X", MLX4_PCI_CAP_MSIX},
};

/* Where a capability is, 0: nowhere. */
static unsigned int
cap_find(const uint8_t cfg[CFG_LEN], uint8_t id)
{
	unsigned int at = cfg[CFG_CAP_PTR] & ~3u, hops;

	for (hops = 0; at >= 0x40 && hops < HOPS; hops++, at = cfg[at + 1] & ~3u)
		if (cfg[at] == id)
			return at;
	return 0;
}

static void
config_space(struct ck *c)
{
	uint8_t cfg[CFG_LEN] = {0};
	unsigned int i, at, dev;
	FILE *f;
	int rc;

	ck_step(c, "reads the configuration space");
	rc = c->bus->ops->cfg_read(c->bus, 0, cfg, sizeof(cfg));
	if (rc != 0) {
		ck_say(c, CK_FAIL, "config", "the configuration space cannot be read: %s", rte_strerror(-rc));
		return;
	}
	dev = cfg[2] | (unsigned int)cfg[3] << 8;
	ck_judge(c,
		 (cfg[0] | cfg[1] << 8) == MLX4_PCI_VENDOR && (dev == MLX4_PCI_DEV_CX3 || dev == MLX4_PCI_DEV_CX3_PRO),
		 "device-id", "%02x%02x:%04x, wanted %04x:%04x or %04x:%04x; revision 0x%02x", cfg[1], cfg[0], dev,
		 MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3, MLX4_PCI_VENDOR, MLX4_PCI_DEV_CX3_PRO, cfg[8]);
	ck_say(c, CK_INFO, "subsystem", "%02x%02x:%02x%02x", cfg[0x2d], cfg[0x2c], cfg[0x2f], cfg[0x2e]);
	for (i = 0; i < RTE_DIM(caps); i++) {
		at = cap_find(cfg, caps[i].id);
		/* Another place is a card that nobody has described, and no fault by itself. */
		if (at == caps[i].at)
			ck_say(c, CK_PASS, "capability", "%s at 0x%02x", caps[i].name, at);
		else if (at != 0)
			ck_say(c, CK_WARN, "capability", "%s at 0x%02x; known cards have it at 0x%02x", caps[i].name,
			       at, caps[i].at);
		else
			ck_say(c, CK_FAIL, "capability", "%s is missing", caps[i].name);
	}
	f = ck_keep(c, "config.bin");
	if (f != NULL) {
		fwrite(cfg, 1, sizeof(cfg), f);
		fclose(f);
	}
}

static void
on_vpd(void *arg, const char *key, const char *text, size_t len)
{
	struct ck *c = arg;

	if (strcmp(key, "SN") == 0)
		ck_identity(c, "serial", text, (unsigned int)len);
	ck_say(c, CK_INFO, "vpd", "%s %.*s", key, (int)len, text);
}

static void
vital(struct ck *c)
{
	uint8_t data[VPD_MOST];
	int len, rc;

	ck_step(c, "reads the vital product data");
	len = mlx4_vpd_length(c->bus);
	if (len < 0 || len > VPD_MOST) {
		ck_say(c, CK_WARN, "vpd", "%s",
		       len == -ENOTSUP     ? "the card has none"
		       : len == -ETIMEDOUT ? "the card does not answer"
					   : "what the card says is no list of resources");
		return;
	}
	rc = mlx4_vpd_read(c->bus, 0, (uint32_t)len, data);
	if (rc == 0)
		rc = vpd_parse(data, (size_t)len, on_vpd, c);
	ck_judge(c, rc == 0, "vpd-form", "%d octets%s%s", len, rc != 0 ? ": " : " of resources and their checksum",
		 rc == -EBADMSG ? "their checksum is wrong"
		 : rc != 0      ? "no list of resources"
				: "");
}

static void
registers(struct ck *c)
{
	uint32_t id, sem;

	ck_step(c, "reads registers");
	id = c->bus->ops->read32(c->bus, MLX4_REG_HW_ID);
	if (id == UINT32_MAX) {
		ck_say(c, CK_FAIL, "registers", "they read as all ones: the card does not answer");
		return;
	}
	/* The device id is in the low bits; a stepping may stand above. */
	ck_judge(c, (id & 0xffff) == MLX4_HW_ID_CX3 || (id & 0xffff) == MLX4_HW_ID_CX3_PRO, "hardware-id",
		 "0x%x, wanted 0x%x (ConnectX-3) or 0x%x (Pro)", id, MLX4_HW_ID_CX3, MLX4_HW_ID_CX3_PRO);
	sem = c->bus->ops->read32(c->bus, MLX4_REG_HCR + MLX4_HCR_CTRL);
	ck_judge(c, (sem & MLX4_HCR_GO) == 0, "command-register", "0x%08x: %s", sem,
		 (sem & MLX4_HCR_GO) == 0 ? "no command is under way" : "a command is under way that nobody waits for");
}

static void
firmware(struct ck *c, struct mlx4_hca *hca)
{
	struct mlx4_caps *v = &hca->caps;
	uint8_t box[MLX4_QFW_SIZE];
	unsigned int i;
	int rc;

	ck_step(c, "asks QUERY_FW");
	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, box, sizeof(box));
	if (!ck_judge(c, rc == 0, "query-fw", "%s", rc == 0 ? "answers" : rte_strerror(-rc)))
		return;
	v->fw_major = (uint16_t)prm_get(box, MLX4_QFW_MAJOR);
	v->fw_minor = (uint16_t)prm_get(box, MLX4_QFW_MINOR);
	v->fw_subminor = (uint16_t)prm_get(box, MLX4_QFW_SUBMINOR);
	ck_judge(c, v->fw_major == 2, "firmware", "version %u.%u.%u, wanted 2.x", v->fw_major, v->fw_minor,
		 v->fw_subminor);
	if (prm_get(box, MLX4_QFW_BUILD_YEAR) != 0)
		ck_say(c, CK_INFO, "firmware-date", "%04x-%02x-%02x", prm_get(box, MLX4_QFW_BUILD_YEAR),
		       prm_get(box, MLX4_QFW_BUILD_MONTH), prm_get(box, MLX4_QFW_BUILD_DAY));
	if (VERSION(v->fw_major, v->fw_minor, v->fw_subminor) < VERSION(2, 42, 5000))
		ck_say(c, CK_WARN, "firmware-age", "2.42.5000 is recommended");
	for (i = 0; i < MLX4_FW_NEEDS; i++)
		if (!mlx4_fw_serves(v, (enum mlx4_fw_need)i))
			ck_say(c, CK_WARN, "firmware-age", "without %s, which needs %s",
			       mlx4_fw_what((enum mlx4_fw_need)i), mlx4_fw_needed((enum mlx4_fw_need)i));
	i = prm_get(box, MLX4_QFW_CMD_IF_REV);
	ck_judge(c, i >= 2 && i <= 3, "command-interface", "revision %u, wanted 2 or 3", i);
	i = prm_get(box, MLX4_QFW_PAGES);
	ck_judge(c, i > 0 && i <= 65536, "firmware-memory", "%u pages of 4 KiB, wanted 1..65536", i);
	ck_judge(c,
		 prm_get(box, MLX4_QFW_CATAS_BAR) == 0 && prm_get64(box, MLX4_QFW_CATAS_OFF) < MLX4_BAR0_SIZE &&
			 prm_get(box, MLX4_QFW_CATAS_SIZE) > 0,
		 "error-buffer", "%u dwords at 0x%jx of BAR %u, wanted some within BAR 0",
		 prm_get(box, MLX4_QFW_CATAS_SIZE), (uintmax_t)prm_get64(box, MLX4_QFW_CATAS_OFF),
		 2 * prm_get(box, MLX4_QFW_CATAS_BAR));
}

void
ck_stage_identity(struct ck *c)
{
	struct mlx4_hca *hca;

	if (!ck_open(c))
		return;
	vital(c);
	config_space(c);
	registers(c);
	hca = ck_bare(c);
	if (hca != NULL) {
		firmware(c, hca);
		ck_keep_commands(c, hca);
		ck_judge_model(c, hca);
		/* A command that was never answered may still be; only a reset makes that sure. */
		ck_bare_end(c, hca, hca->dead);
	}
	ck_close(c);
}
