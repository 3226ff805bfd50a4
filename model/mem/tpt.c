/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory keys. Entries of the MPT and the MTT are read from ICM each time a translation is made, since software edits
 * both in place [CP 10.3]; what was translated is kept in the queue's TLB until tpt_gen moves.
 */
#include <string.h>

#include "mem.h"

/*
 * A key as the entry holds it: its low byte on top. The table has fewer entries than there are numbers left below; the
 * bits above them are variable like the byte, and Linux counts them up with each round through the table [DP 11.1].
 */
#define KEY_ENTRY(key) ((key) << 24 | (key) >> 8)
#define TLB_LG_SLOT 21u       /* neighbouring 2 MiB pieces take neighbouring TLB lines */
#define EXTEND_PAGES_MAX 512u /* pages looked at in each direction when a line is filled */

struct region {
	uint64_t start, last; /* first and last byte */
	uint64_t mtt;         /* byte offset of the first MTT entry */
	uint32_t lg_page;
	bool pa;
};

bool
tpm_mpt_is_known(const struct tp_model *m, uint32_t index)
{
	return index < 1u << m->lg_mpts && m->ctl->mpt_known != NULL &&
	       (m->ctl->mpt_known[index / 64] >> (index % 64) & 1) != 0;
}

void
tpm_mpt_forget(struct tp_model *m, uint64_t icm_addr, uint64_t len)
{
	uint64_t end = m->dmpt_base + ((uint64_t)TPM_DMPT_ENTRY << m->lg_mpts);
	uint64_t lo = icm_addr > m->dmpt_base ? icm_addr : m->dmpt_base;
	uint64_t hi = icm_addr + len < end ? icm_addr + len : end;

	if (m->ctl->mpt_known == NULL)
		return;
	for (; lo < hi; lo += TPM_DMPT_ENTRY) {
		uint64_t i = (lo - m->dmpt_base) / TPM_DMPT_ENTRY, bit = UINT64_C(1) << (i % 64);

		if ((m->ctl->mpt_known[i / 64] & bit) != 0)
			m->st.mpts--;
		m->ctl->mpt_known[i / 64] &= ~bit;
	}
}

/* An entry has a page of any size that the card takes. */
#define LEAST_PAGE_MASK (~((UINT64_C(1) << TPM_LG_MIN_PAGE) - 1))

enum tpm_xlat_err
tpm_mtt_read(struct tp_model *m, uint64_t off, uint64_t *iova)
{
	const uint8_t *e = tpm_icm_probe(m, m->mtt_base + off, MLX4_MTT_SIZE);
	uint64_t v;

	if (e == NULL)
		return TPM_XLAT_MTT;
	v = prm_get64(e, 0);
	if ((v & MLX4_MTT_PRESENT) == 0)
		return TPM_XLAT_MTT;
	*iova = v & LEAST_PAGE_MASK;
	return TPM_XLAT_OK;
}

static uint32_t
mpt_access(const uint8_t *mpt)
{
	return (prm_get(mpt, MLX4_MPT_LR) != 0 ? TPM_ACC_LR : 0) | (prm_get(mpt, MLX4_MPT_LW) != 0 ? TPM_ACC_LW : 0) |
	       (prm_get(mpt, MLX4_MPT_RR) != 0 ? TPM_ACC_RR : 0) | (prm_get(mpt, MLX4_MPT_RW) != 0 ? TPM_ACC_RW : 0) |
	       (prm_get(mpt, MLX4_MPT_ATOMIC) != 0 ? TPM_ACC_ATOMIC : 0);
}

/* The region behind a key, with every check but the bounds. */
static enum tpm_xlat_err
region_find(struct tp_model *m, uint32_t key, uint32_t pd, uint32_t access, struct region *r)
{
	uint32_t entry = KEY_ENTRY(key), index = entry & ((1u << m->lg_mpts) - 1);
	const uint8_t *mpt;
	uint64_t len;

	if (!tpm_mpt_is_known(m, index))
		return TPM_XLAT_KEY;
	mpt = tpm_icm_probe(m, m->dmpt_base + (uint64_t)index * TPM_DMPT_ENTRY, TPM_DMPT_ENTRY);
	if (mpt == NULL || prm_get(mpt, MLX4_MPT_STATUS) != MLX4_MPT_HW || prm_get(mpt, MLX4_MPT_REGION) == 0)
		return TPM_XLAT_KEY;
	if (prm_get(mpt, MLX4_MPT_KEY) != entry)
		return TPM_XLAT_KEY;
	if (prm_get(mpt, MLX4_MPT_PD) != pd)
		return TPM_XLAT_PD;
	if ((mpt_access(mpt) & access) != access)
		return TPM_XLAT_ACCESS;
	len = prm_get64(mpt, MLX4_MPT_LENGTH);
	if (len == 0 && prm_get(mpt, MLX4_MPT_LEN64) == 0)
		return TPM_XLAT_BOUNDS;
	r->start = prm_get64(mpt, MLX4_MPT_START);
	r->last = r->start + (len - 1) < r->start ? UINT64_MAX : r->start + (len - 1);
	r->mtt = tpm_mtt_offset(mpt, MLX4_MPT_MTT_H, MLX4_MPT_MTT_L);
	r->lg_page = prm_get(mpt, MLX4_MPT_ENTITY);
	r->pa = prm_get(mpt, MLX4_MPT_PA) != 0;
	return TPM_XLAT_OK;
}

/* IO address of the region's page number page (counted in virtual pages). */
static enum tpm_xlat_err
page_iova(struct tp_model *m, const struct region *r, uint64_t page, uint64_t *iova)
{
	return tpm_mtt_read(m, r->mtt + (page - (r->start >> r->lg_page)) * MLX4_MTT_SIZE, iova);
}

/* Host address of the first byte of a page all of which is in one window, or NULL. */
static uint8_t *
page_host(struct tp_model *m, const struct region *r, uint64_t page, uint32_t prot)
{
	uint64_t iova;

	if (page_iova(m, r, page, &iova) != TPM_XLAT_OK)
		return NULL;
	return tpm_dma_probe(m, iova, UINT64_C(1) << r->lg_page, prot, NULL);
}

/* Grows [line->lo, line->hi) over neighbouring pages that are neighbours on the host too. */
static void
line_extend(struct tp_model *m, const struct region *r, uint32_t prot, struct tpm_tlb_line *line)
{
	uint64_t size = UINT64_C(1) << r->lg_page, first = line->lo >> r->lg_page, last = first;

	while (last < r->last >> r->lg_page && last - first < EXTEND_PAGES_MAX &&
	       page_host(m, r, last + 1, prot) == line->host + (last + 1 - (line->lo >> r->lg_page)) * size)
		last++;
	line->hi = (last + 1) << r->lg_page;
	for (uint32_t n = 0; first > r->start >> r->lg_page && n < EXTEND_PAGES_MAX &&
			     page_host(m, r, first - 1, prot) == line->host - size;
	     n++) {
		first--;
		line->host -= size;
		line->lo -= size;
	}
}

static uint8_t *
fill_pa(struct tp_model *m, const struct region *r, uint64_t va, uint32_t prot, struct tpm_tlb_line *line,
	enum tpm_xlat_err *err)
{
	uint64_t avail, iova = va, down;
	uint8_t *p = tpm_dma_probe(m, iova, 1, prot, &avail), *base;

	if (p == NULL) {
		*err = TPM_XLAT_DMA;
		return NULL;
	}
	/* The line covers the window from its beginning, so that other buffers in it hit as well. */
	base = tpm_dma_window_base(m, iova, &down);
	line->lo = va - down;
	line->host = base;
	line->hi = va + avail < va ? UINT64_MAX : va + avail;
	return p;
}

/* A page of the region may lie in several windows, where the host's own pages are smaller: the line has what is in one. */
static uint8_t *
fill_page(struct tp_model *m, const struct region *r, uint64_t va, uint32_t prot, struct tpm_tlb_line *line,
	  enum tpm_xlat_err *err)
{
	uint64_t size = UINT64_C(1) << r->lg_page, in = va & (size - 1), iova = 0, above, below;
	uint8_t *p;

	*err = page_iova(m, r, va >> r->lg_page, &iova);
	if (*err != TPM_XLAT_OK)
		return NULL;
	p = tpm_dma_probe(m, iova + in, 1, prot, &above);
	if (p == NULL) {
		*err = TPM_XLAT_DMA;
		return NULL;
	}
	(void)tpm_dma_window_base(m, iova + in, &below);
	below = below < in ? below : in;
	above = above < size - in ? above : size - in;
	line->lo = va - below;
	line->host = p - below;
	line->hi = va + above;
	if (below == in && above == size - in)
		line_extend(m, r, prot, line);
	return p;
}

static void
line_clip(const struct region *r, struct tpm_tlb_line *line)
{
	if (line->lo < r->start) {
		line->host += r->start - line->lo;
		line->lo = r->start;
	}
	if (line->hi - 1 > r->last)
		line->hi = r->last + 1;
}

static uint8_t *
line_fill(struct tp_model *m, struct tpm_tlb_line *line, uint32_t key, uint32_t pd, uint64_t va, uint32_t *len,
	  uint32_t access, enum tpm_xlat_err *err)
{
	uint32_t writes = access & (TPM_ACC_LW | TPM_ACC_RW | TPM_ACC_ATOMIC),
		 prot = (writes != 0 ? TP_DMA_WRITE : 0) | (writes != access ? TP_DMA_READ : 0);
	struct tpm_tlb_line fresh = {.key = key, .gen = m->tpt_gen, .access = access};
	struct region r;

	*err = region_find(m, key, pd, access, &r);
	if (*err != TPM_XLAT_OK)
		return NULL;
	if (va < r.start || va > r.last || *len - 1 > r.last - va) {
		*err = TPM_XLAT_BOUNDS;
		return NULL;
	}
	if ((r.pa ? fill_pa(m, &r, va, prot, &fresh, err) : fill_page(m, &r, va, prot, &fresh, err)) == NULL)
		return NULL;
	line_clip(&r, &fresh);
	*line = fresh;
	if (fresh.hi - va < *len)
		*len = (uint32_t)(fresh.hi - va);
	return fresh.host + (va - fresh.lo);
}

/* Memory that a queue pair sends from and receives into has one line for both. */
static uint8_t *
translate_slow(struct tp_model *m, struct tpm_tlb_line *line, uint32_t key, uint32_t pd, uint64_t va, uint32_t *len,
	       uint32_t access, enum tpm_xlat_err *err)
{
	const uint32_t both = line->key == key && line->gen == m->tpt_gen ? line->access | access : access;
	uint8_t *p = both == access ? NULL : line_fill(m, line, key, pd, va, len, both, err);

	return p != NULL ? p : line_fill(m, line, key, pd, va, len, access, err);
}

uint8_t *
tpm_mr_translate(struct tp_model *m, struct tpm_tlb *tlb, uint32_t key, uint32_t pd, uint64_t va, uint32_t *len,
		 uint32_t access, enum tpm_xlat_err *err)
{
	struct tpm_tlb_line *line = &tlb->line[((va >> TLB_LG_SLOT) ^ key >> 8) % TPM_TLB_LINES];

	if (tpm_likely(line->key == key && line->gen == m->tpt_gen && va >= line->lo && va < line->hi &&
		       line->hi - va >= *len && (line->access & access) == access)) {
		*err = TPM_XLAT_OK;
		return line->host + (va - line->lo);
	}
	return translate_slow(m, line, key, pd, va, len, access, err);
}

/* --- why a translation failed --- */

enum tpm_violation
tpm_xlat_violation(enum tpm_xlat_err err)
{
	switch (err) {
	case TPM_XLAT_BOUNDS: return TPM_V_WQE_BOUNDS;
	case TPM_XLAT_ACCESS: return TPM_V_WQE_ACCESS;
	case TPM_XLAT_MTT: return TPM_V_MTT_ABSENT;
	case TPM_XLAT_DMA: return TPM_V_DMA_UNMAPPED;
	default: return TPM_V_WQE_LKEY;
	}
}

const char *
tpm_xlat_text(enum tpm_xlat_err err)
{
	switch (err) {
	case TPM_XLAT_PD: return "the key belongs to another protection domain";
	case TPM_XLAT_BOUNDS: return "outside the memory region";
	case TPM_XLAT_ACCESS: return "the region does not allow this access";
	case TPM_XLAT_MTT: return "translation entry not present";
	case TPM_XLAT_DMA: return "outside the open DMA windows";
	default: return "no such key";
	}
}
