/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * ICM: host memory that MAP_ICM lends to the card, seen through a page table of three levels. Leaves hold DMA addresses
 * and not host pointers, so that a DMA window that closes takes its ICM with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define LEAF_BITS 9u
#define MID_BITS 9u
#define TOP_BITS 10u
static_assert(TPM_MAX_ICM == UINT64_C(1) << (LEAF_BITS + MID_BITS + TOP_BITS + TPM_LG_PAGE), "levels cover the ICM");

struct icm_leaf {
	uint64_t iova[1u << LEAF_BITS]; /* bit 0: mapped */
};
struct icm_mid {
	struct icm_leaf *leaf[1u << MID_BITS];
};
struct tpm_icm {
	struct icm_mid *mid[1u << TOP_BITS];
	uint64_t pages;
};

struct tpm_icm *
tpm_icm_create(void)
{
	return calloc(1, sizeof(struct tpm_icm));
}

static void
icm_free_tables(struct tpm_icm *icm)
{
	for (uint32_t t = 0; t < 1u << TOP_BITS; t++) {
		if (icm->mid[t] == NULL)
			continue;
		for (uint32_t i = 0; i < 1u << MID_BITS; i++)
			free(icm->mid[t]->leaf[i]);
		free(icm->mid[t]);
		icm->mid[t] = NULL;
	}
	icm->pages = 0;
}

void
tpm_icm_destroy(struct tpm_icm *icm)
{
	if (icm != NULL)
		icm_free_tables(icm);
	free(icm);
}

void
tpm_icm_clear(struct tp_model *m)
{
	icm_free_tables(m->icm);
	m->st.icm_pages = 0;
	tpm_tpt_changed(m);
}

/* The leaf entry of an address; with make, missing tables are made. */
static uint64_t *
icm_entry(struct tpm_icm *icm, uint64_t addr, bool make)
{
	uint64_t page = addr >> TPM_LG_PAGE;
	struct icm_mid **mid;
	struct icm_leaf **leaf;

	if (addr >= TPM_MAX_ICM)
		return NULL;
	mid = &icm->mid[page >> (LEAF_BITS + MID_BITS)];
	if (*mid == NULL && (!make || (*mid = calloc(1, sizeof(**mid))) == NULL))
		return NULL;
	leaf = &(*mid)->leaf[(page >> LEAF_BITS) & ((1u << MID_BITS) - 1)];
	if (*leaf == NULL && (!make || (*leaf = calloc(1, sizeof(**leaf))) == NULL))
		return NULL;
	return &(*leaf)->iova[page & ((1u << LEAF_BITS) - 1)];
}

int
tpm_icm_map_page(struct tp_model *m, uint64_t icm_addr, uint64_t iova)
{
	uint64_t *e = icm_entry(m->icm, icm_addr, true);

	if (e == NULL)
		return -ENOMEM;
	if (*e == 0)
		m->icm->pages++;
	*e = iova | 1;
	m->st.icm_pages = m->icm->pages;
	return 0;
}

void
tpm_icm_unmap_page(struct tp_model *m, uint64_t icm_addr)
{
	uint64_t *e = icm_entry(m->icm, icm_addr, false);

	if (e == NULL || *e == 0)
		return;
	*e = 0;
	m->icm->pages--;
	m->st.icm_pages = m->icm->pages;
}

uint64_t
tpm_icm_next(const struct tp_model *m, uint64_t addr)
{
	const uint64_t pages = TPM_MAX_ICM >> TPM_LG_PAGE;
	uint64_t page = (addr + TPM_PAGE - 1) >> TPM_LG_PAGE;

	while (page < pages) {
		const struct icm_mid *mid = m->icm->mid[page >> (LEAF_BITS + MID_BITS)];
		const struct icm_leaf *leaf;

		if (mid == NULL) {
			page = ((page >> (LEAF_BITS + MID_BITS)) + 1) << (LEAF_BITS + MID_BITS);
			continue;
		}
		leaf = mid->leaf[(page >> LEAF_BITS) & ((1u << MID_BITS) - 1)];
		if (leaf == NULL)
			page = ((page >> LEAF_BITS) + 1) << LEAF_BITS;
		else if (leaf->iova[page & ((1u << LEAF_BITS) - 1)] == 0)
			page++;
		else
			return page << TPM_LG_PAGE;
	}
	return UINT64_MAX;
}

uint8_t *
tpm_icm_probe(struct tp_model *m, uint64_t icm_addr, uint32_t len)
{
	uint64_t off = icm_addr & (TPM_PAGE - 1);
	uint64_t *e = icm_entry(m->icm, icm_addr, false);

	if (e == NULL || *e == 0 || off + len > TPM_PAGE)
		return NULL;
	return tpm_dma_probe(m, (*e & ~UINT64_C(1)) + off, len, TP_DMA_READ | TP_DMA_WRITE, NULL);
}

uint8_t *
tpm_icm_at(struct tp_model *m, uint64_t icm_addr, uint32_t len, const char *what)
{
	uint8_t *p = tpm_icm_probe(m, icm_addr, len);

	if (p == NULL)
		tpm_violate(m, TPM_V_ICM_UNMAPPED, what, 0, "ICM address 0x%llx, %u bytes, is not mapped",
			    (unsigned long long)icm_addr, len);
	return p;
}

uint8_t *
tpm_ctx_at(struct tp_model *m, uint64_t base, uint32_t entry, enum mlx4_cmpt_type type, const char *obj, uint32_t num)
{
	uint64_t addr = base + (uint64_t)num * entry;
	uint64_t cmpt = m->ctl->cmpt_base + (((uint64_t)type << MLX4_CMPT_SHIFT) + num) * TPM_CMPT_ENTRY;
	uint8_t *p = tpm_icm_probe(m, addr, entry);

	if (p == NULL) {
		tpm_violate(m, TPM_V_ICM_UNMAPPED, obj, num, "its context at ICM address 0x%llx is not mapped",
			    (unsigned long long)addr);
		return NULL;
	}
	if (tpm_icm_probe(m, cmpt, TPM_CMPT_ENTRY) == NULL) {
		tpm_violate(m, TPM_V_ICM_UNMAPPED, obj, num, "its cMPT entry at ICM address 0x%llx is not mapped",
			    (unsigned long long)cmpt);
		return NULL;
	}
	return p;
}
