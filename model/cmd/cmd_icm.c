/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory that software lends to the card: firmware area, auxiliary area, ICM [CP 3.3, 7]. */
#include <inttypes.h>

#include "model/mem/mem.h"
#include "cmd.h"

#define CHUNK_LG_MAX 30u /* 1 GiB; larger ones are a mistake on any host */

struct chunk {
	uint64_t va, pa, size;
};

/* Every byte of a chunk must lie in some open window. */
static bool
chunk_reachable(struct tp_model *m, const struct chunk *k, const char *cmd)
{
	uint64_t avail;

	for (uint64_t off = 0; off < k->size; off += avail) {
		if (tpm_dma_probe(m, k->pa + off, 1, TP_DMA_READ | TP_DMA_WRITE, &avail) == NULL) {
			tpm_violate(m, TPM_V_DMA_UNMAPPED, cmd, 0,
				    "chunk 0x%" PRIx64 ", 0x%" PRIx64 " bytes: 0x%" PRIx64 " is in no open window",
				    k->pa, k->size, k->pa + off);
			return false;
		}
	}
	return true;
}

/* Reads entry i; a command status. */
static uint8_t
chunk_get(struct tp_model *m, const struct tpm_cmd *c, uint32_t i, bool icm, const char *cmd, struct chunk *k)
{
	const uint8_t *e = c->in + i * MLX4_MAP_ENTRY_SIZE;
	uint64_t va = prm_get64(e, MLX4_MAP_VA), pa = prm_get64(e, MLX4_MAP_PA);
	uint32_t lg = (uint32_t)(pa & MLX4_MAP_LG_MASK) + TPM_LG_PAGE;

	if (lg > CHUNK_LG_MAX || (pa & 0xfc0) != 0 || (va & 0xfff) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, cmd, i,
				"entry 0x%" PRIx64 " 0x%" PRIx64 ": lg size %u, wanted 12..%u and reserved bits 0", va,
				pa, lg, CHUNK_LG_MAX);
	k->size = UINT64_C(1) << lg;
	k->pa = pa & ~UINT64_C(0xfff);
	k->va = va;
	if ((k->pa & (k->size - 1)) != 0 || (icm && (k->va & (k->size - 1)) != 0))
		return tpm_fail(m, BAD_PARAM, MAP_ALIGN, cmd, i,
				"address 0x%" PRIx64 ", ICM address 0x%" PRIx64
				", wanted multiples of the chunk's 0x%" PRIx64 " bytes",
				k->pa, k->va, k->size);
	if (icm && (k->va >= TPM_MAX_ICM || k->size > TPM_MAX_ICM - k->va))
		return tpm_fail(m, BAD_PARAM, ICM_OVERLAP, cmd, i, "ICM address 0x%" PRIx64 ", wanted below 0x%" PRIx64,
				k->va, TPM_MAX_ICM);
	return chunk_reachable(m, k, cmd) ? MLX4_STAT_OK : MLX4_STAT_BAD_PARAM;
}

/* Checks every entry and adds up the pages. */
static uint8_t
chunks_check(struct tp_model *m, const struct tpm_cmd *c, bool icm, const char *cmd, uint32_t *pages)
{
	struct chunk k;

	*pages = 0;
	if (c->in_modifier < 1 || c->in_modifier > MLX4_MAP_ENTRIES_MAX)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, cmd, c->opcode, "%u entries, wanted 1..%u", c->in_modifier,
				MLX4_MAP_ENTRIES_MAX);
	for (uint32_t i = 0; i < c->in_modifier; i++) {
		uint8_t st = chunk_get(m, c, i, icm, cmd, &k);

		if (st != MLX4_STAT_OK)
			return st;
		*pages += (uint32_t)(k.size / TPM_PAGE);
	}
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_map_fa(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t pages;
	uint8_t st = chunks_check(m, c, false, "MAP_FA", &pages);

	if (st == MLX4_STAT_OK)
		m->fw_pages += pages;
	return st;
}

uint8_t
tpm_cmd_unmap_fa(struct tp_model *m, struct tpm_cmd *c)
{
	/* Without its firmware area the card is where it was after reset. */
	tpm_icm_clear(m);
	m->fw_pages = m->aux_pages = 0;
	m->icm_size = 0;
	m->state = TPM_SYS_RESET;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_map_icm_aux(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t pages;
	uint8_t st;

	if (m->icm_size == 0)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "MAP_ICM_AUX", c->opcode, "comes before SET_ICM_SIZE");
	st = chunks_check(m, c, false, "MAP_ICM_AUX", &pages);
	if (st == MLX4_STAT_OK)
		m->aux_pages += pages;
	return st;
}

uint8_t
tpm_cmd_unmap_icm_aux(struct tp_model *m, struct tpm_cmd *c)
{
	m->aux_pages = 0;
	return MLX4_STAT_OK;
}

static uint32_t
aux_pages_for(uint64_t icm_size)
{
	return TPM_AUX_BASE_PAGES + (uint32_t)(icm_size >> 24);
}

uint32_t
tpm_aux_pages_wanted(const struct tp_model *m)
{
	return aux_pages_for(m->icm_size);
}

uint8_t
tpm_cmd_set_icm_size(struct tp_model *m, struct tpm_cmd *c)
{
	if (c->in_param == 0 || c->in_param > TPM_MAX_ICM)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "SET_ICM_SIZE", c->opcode,
				"0x%" PRIx64 " bytes, wanted 1..0x%" PRIx64, c->in_param, TPM_MAX_ICM);
	m->icm_size = c->in_param;
	c->imm = aux_pages_for(m->icm_size);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_map_icm(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t pages;
	uint8_t st;

	if (m->icm_size == 0)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "MAP_ICM", c->opcode, "comes before SET_ICM_SIZE");
	st = chunks_check(m, c, true, "MAP_ICM", &pages);
	if (st != MLX4_STAT_OK)
		return st;
	for (uint32_t i = 0; i < c->in_modifier; i++) {
		struct chunk k;

		st = chunk_get(m, c, i, true, "MAP_ICM", &k);
		for (uint64_t off = 0; st == MLX4_STAT_OK && off < k.size; off += TPM_PAGE)
			if (tpm_icm_map_page(m, k.va + off, k.pa + off) != 0)
				st = MLX4_STAT_INTERNAL_ERR;
		if (st != MLX4_STAT_OK)
			break;
		tpm_mpt_forget(m, k.va, k.size);
	}
	tpm_tpt_changed(m);
	return st;
}

uint8_t
tpm_cmd_unmap_icm(struct tp_model *m, struct tpm_cmd *c)
{
	uint64_t va = c->in_param, size = (uint64_t)c->in_modifier * TPM_PAGE;

	if (va % TPM_PAGE != 0 || c->in_modifier == 0 || va >= TPM_MAX_ICM || size > TPM_MAX_ICM - va)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "UNMAP_ICM", c->opcode,
				"ICM address 0x%" PRIx64 ", %u pages, wanted whole pages below 0x%" PRIx64, va,
				c->in_modifier, TPM_MAX_ICM);
	/* Pages that were never mapped are passed over: a driver unmaps whole windows [CP 7.2]. */
	for (uint64_t off = 0; off < size; off += TPM_PAGE)
		tpm_icm_unmap_page(m, va + off);
	tpm_mpt_forget(m, va, size);
	tpm_tpt_changed(m);
	return MLX4_STAT_OK;
}
