/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* BAR0: the command register, semaphores, reset, identity, clock and the error buffer [CP 1.3]. */
#include <errno.h>
#include <string.h>

#include "model/cmd/cmd.h"
#include "life.h"

static bool
in_range(uint32_t off, uint32_t base, uint32_t size)
{
	return off >= base && off - base < size;
}

/* Regions that are plain memory: MSI-X table and pending bits, and the error buffer (read only). */
static bool
is_memory(uint32_t off)
{
	return in_range(off, MLX4_REG_MSIX_TABLE, 16 * MLX4_MSIX_VECTORS) ||
	       in_range(off, MLX4_REG_MSIX_PBA, MLX4_MSIX_VECTORS / 8);
}

void
tpm_regs_reset(struct tp_model *m)
{
	static const uint8_t masked[4] = {1, 0, 0, 0}; /* vector control is little-endian: bit 0 masks */

	memset(m->bar0_misc, 0, MLX4_BAR0_SIZE);
	for (uint32_t v = 0; v < MLX4_MSIX_VECTORS; v++)
		memcpy(m->bar0_misc + MLX4_REG_MSIX_TABLE + 16 * v + 12, masked, sizeof(masked));
	memset(m->hcr, 0, sizeof(m->hcr));
	m->hcr_busy_reads = 0;
	m->hcr_result = 0;
	m->owned = false;
	m->reset_sem = false;
}

static uint32_t
hcr_read(struct tp_model *m, uint32_t off)
{
	if (off == MLX4_HCR_CTRL && m->hcr_busy_reads != 0) {
		uint32_t v = prm_get32(m->hcr, MLX4_HCR_CTRL);

		/* A command that never ends keeps the count at its maximum. */
		if (m->hcr_busy_reads != UINT32_MAX && --m->hcr_busy_reads == 0)
			prm_set32(m->hcr, MLX4_HCR_CTRL, m->hcr_result);
		return v;
	}
	return prm_get32(m->hcr, off);
}

/* As software sees it. */
static uint32_t
hcr_show(struct tp_model *m, uint32_t off)
{
	uint32_t v = hcr_read(m, off);

	return off == MLX4_HCR_CTRL && tpm_quirk(m, MLX4_QUIRK_TOGGLE) != 0 ? v & ~MLX4_HCR_TOGGLE : v;
}

static void
hcr_write(struct tp_model *m, uint32_t off, uint32_t val)
{
	if (m->hcr_busy_reads != 0) {
		tpm_violate(m, TPM_V_HCR_BUSY, "HCR dword", off, "written with 0x%x while a command executes", val);
		return;
	}
	if (off != MLX4_HCR_CTRL) {
		prm_set32(m->hcr, off, val);
		return;
	}
	if ((val & MLX4_HCR_GO) == 0) {
		prm_set32(m->hcr, off, val);
		return;
	}
	if ((val & MLX4_HCR_RSVD) != 0)
		tpm_violate(m, TPM_V_HCR_RSVD, "HCR dword", off, "0x%x: bits 20:16 are to be 0", val);
	if ((prm_get32(m->hcr, MLX4_HCR_TOKEN) & 0xffffu) != 0)
		tpm_violate(m, TPM_V_HCR_RSVD, "HCR dword", MLX4_HCR_TOKEN, "0x%x: bits 15:0 are to be 0",
			    prm_get32(m->hcr, MLX4_HCR_TOKEN));
	prm_set32(m->hcr, off, val);
	tpm_cmd_execute(m);
}

static uint32_t
bar0_read(struct tp_model *m, uint32_t off)
{
	uint32_t taken;

	if (in_range(off, MLX4_REG_HCR, MLX4_HCR_SIZE))
		return hcr_show(m, off - MLX4_REG_HCR);
	switch (off) {
	case MLX4_REG_OWNERSHIP:
		taken = m->owned;
		m->owned = true;
		return taken;
	case MLX4_REG_RESET_SEM:
		taken = m->reset_sem;
		m->reset_sem = true;
		return taken;
	case MLX4_REG_HW_ID: return m->cfg.device_id == MLX4_PCI_DEV_CX3 ? MLX4_HW_ID_CX3 : MLX4_HW_ID_CX3_PRO;
	case TPM_CLOCK_OFF: return (uint32_t)(tpm_clock_cycles(m) >> 32);
	case TPM_CLOCK_OFF + 4: return (uint32_t)tpm_clock_cycles(m);
	default: return prm_get32(m->bar0_misc, off);
	}
}

static bool
resets(const struct tp_model *m, uint32_t val)
{
	switch (tpm_quirk(m, MLX4_QUIRK_RESET_VALUE)) {
	case 0: return (val & MLX4_RESET_VALUE) != 0;
	case 1: return (val & MLX4_RESET_VALUE_SWAPPED) != 0;
	default: return (val & MLX4_RESET_VALUE_BOTH) == MLX4_RESET_VALUE_BOTH;
	}
}

static void
bar0_write(struct tp_model *m, uint32_t off, uint32_t val)
{
	if (in_range(off, MLX4_REG_HCR, MLX4_HCR_SIZE)) {
		hcr_write(m, off - MLX4_REG_HCR, val);
		return;
	}
	if (tpm_unlikely(m->trace != NULL))
		tpm_trace_reg(m, "write", off, val);
	if (is_memory(off)) {
		prm_set32(m->bar0_misc, off, val);
		return;
	}
	switch (off) {
	case MLX4_REG_OWNERSHIP:
		if (val == 0)
			m->owned = false;
		break;
	case MLX4_REG_RESET_SEM:
		if (val == 0)
			m->reset_sem = false;
		break;
	case MLX4_REG_RESET:
		if (!resets(m, val))
			break;
		if (!m->reset_sem)
			tpm_violate(m, TPM_V_RESET_BUSY, "register", off,
				    "reset without the semaphore at 0x%x, which reads 0 to the one that takes it",
				    MLX4_REG_RESET_SEM);
		tpm_reset(m);
		break;
	default: break; /* clear-interrupt and read-only registers */
	}
}

static bool
bar0_check(struct tp_model *m, uint32_t off, const char *what)
{
	if (off < MLX4_BAR0_SIZE && off % 4 == 0)
		return true;
	tpm_violate(m, TPM_V_BAR_RANGE, what, off, "offsets are multiples of 4 below 0x%x", MLX4_BAR0_SIZE);
	return false;
}

uint32_t
tp_model_bar0_read32(struct tp_model *m, uint32_t off)
{
	uint32_t v = UINT32_MAX;

	tpm_lock(&m->lock);
	if (bar0_check(m, off, "BAR0 read"))
		v = bar0_read(m, off);
	/* Who waits for a command reads the same again and again. */
	if (tpm_unlikely(m->trace != NULL) && !in_range(off, MLX4_REG_HCR, MLX4_HCR_SIZE))
		tpm_trace_reg(m, "read", off, v);
	tpm_unlock(&m->lock);
	return v;
}

void
tp_model_bar0_write32(struct tp_model *m, uint32_t off, uint32_t val)
{
	tpm_lock(&m->lock);
	if (bar0_check(m, off, "BAR0 write"))
		bar0_write(m, off, val);
	tpm_unlock(&m->lock);
}
