/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How the card reaches memory: DMA windows, memory keys, ICM, the buffers of queues. */
#ifndef MODEL_MEM_MEM_H
#define MODEL_MEM_MEM_H

#include "model/card/ctl.h"

/* --- DMA windows and keys (dma.c, tpt.c) ----------------------------------------------------------------- */

/*
 * Raw DMA (mailboxes, doorbell records, ICM backing): host pointer of [iova, iova + len) inside one window, or NULL
 * after a "dma-unmapped" violation naming what.
 */
uint8_t *tpm_dma(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, const char *what);
/* As tpm_dma without a violation; *avail says how much of it is contiguous. */
uint8_t *tpm_dma_probe(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, uint64_t *avail);

/*
 * Host pointer of [va, va + *len) under a memory key; *len is cut to what is contiguous on the host (at least one
 * byte). Fills the TLB line. err says why not.
 */
uint8_t *tpm_mr_translate(struct tp_model *m, struct tpm_tlb *tlb, uint32_t key, uint32_t pd, uint64_t va,
			  uint32_t *len, uint32_t access, enum tpm_xlat_err *err);

/* Start of the window that holds iova; *below says how far before iova it lies. iova must be in a window. */
uint8_t *tpm_dma_window_base(struct tp_model *m, uint64_t iova, uint64_t *below);

/* The DMA address in an MTT entry; *iova is valid when this returns TPM_XLAT_OK. off: byte offset of the entry. */
enum tpm_xlat_err tpm_mtt_read(struct tp_model *m, uint64_t off, uint64_t *iova);

/* Did software hand this entry over since INIT_HCA? */
bool tpm_mpt_is_known(const struct tp_model *m, uint32_t index);
void tpm_mpt_forget(struct tp_model *m, uint64_t icm_addr, uint64_t len);

/* The TLB line that tpm_mr_translate uses. */
static inline uint32_t
tpm_tlb_slot(uint32_t key, uint64_t va)
{
	return (uint32_t)((va >> 21 ^ key >> 8) % TPM_TLB_LINES);
}

/* Where WQEs point to, looked up once for all of a burst that lie in one stretch. */
struct tpm_stretch {
	rte_be32_t key;
	uint64_t lo, len; /* 0: none yet */
	uint8_t *host;
};

/* Host memory of len (at least 1) bytes at va through a key as it lies in memory; NULL: the TLB does not have it. */
static inline uint8_t *
tpm_stretch_at(const struct tp_model *m, const struct tpm_tlb *tlb, struct tpm_stretch *s, rte_be32_t raw_key,
	       uint64_t va, uint32_t len, uint32_t access)
{
	uint32_t key;
	const struct tpm_tlb_line *l;

	if (tpm_likely(raw_key == s->key && s->len >= len && va - s->lo <= s->len - len))
		return s->host + (va - s->lo);
	key = rte_be_to_cpu_32(raw_key);
	l = &tlb->line[tpm_tlb_slot(key, va)];
	if (l->key != key || l->gen != m->tpt_gen || va - l->lo >= l->hi - l->lo || l->hi - va < len ||
	    (l->access & access) != access)
		return NULL;
	*s = (struct tpm_stretch){.key = raw_key, .lo = l->lo, .len = l->hi - l->lo, .host = l->host};
	return l->host + (va - l->lo);
}

/* The violation and syndrome that a failed translation stands for. */
enum tpm_violation tpm_xlat_violation(enum tpm_xlat_err err);
const char *tpm_xlat_text(enum tpm_xlat_err err);
/* Every cached translation is stale. */
static inline void
tpm_tpt_changed(struct tp_model *m)
{
	if (++m->tpt_gen == 0)
		m->tpt_gen = 1;
}

/* --- queue buffers (ring.c) ---------------------------------------------------------------------------------- */

int tpm_ring_init(struct tp_model *m, struct tpm_ring *r, uint64_t mtt_off, uint8_t lg_page, uint32_t page_off,
		  uint32_t size);
void tpm_ring_fini(struct tpm_ring *r);
/* (Re)translates; 0 or -EFAULT after a violation that names what and num. */
int tpm_ring_resolve(struct tp_model *m, struct tpm_ring *r, const char *what, uint32_t num);

/* Pointer to off; the caller never asks for a piece that crosses a page (entries are aligned powers of two). */
static inline uint8_t *
tpm_ring_at(const struct tpm_ring *r, uint32_t off)
{
	if (tpm_likely(r->flat != NULL))
		return r->flat + off;
	off += r->page_off;
	return r->page[off >> r->lg_page] + (off & ((1u << r->lg_page) - 1));
}

/* Fills a resolved ring. */
void tpm_ring_fill(const struct tpm_ring *r, uint8_t byte);

/* --- ICM: page table from ICM address to host memory, 4 KiB pages (icm.c) ---------------------------------------- */

uint8_t *tpm_icm_at(struct tp_model *m, uint64_t icm_addr, uint32_t len, const char *what); /* NULL + violation */

struct tpm_icm *tpm_icm_create(void);
void tpm_icm_destroy(struct tpm_icm *icm);
void tpm_icm_clear(struct tp_model *m);
/* Maps one 4 KiB page of ICM to a DMA address; a second mapping of the same page replaces the first [CP 7.1]. */
int tpm_icm_map_page(struct tp_model *m, uint64_t icm_addr, uint64_t iova);
void tpm_icm_unmap_page(struct tp_model *m, uint64_t icm_addr);
/* As tpm_icm_at without a violation. */
/* The first mapped page at addr or behind it; UINT64_MAX: none. */
uint64_t tpm_icm_next(const struct tp_model *m, uint64_t addr);
uint8_t *tpm_icm_probe(struct tp_model *m, uint64_t icm_addr, uint32_t len);

/* A context's place in ICM, or NULL after icm-unmapped. Also asks for the entry's companion tables. */
uint8_t *tpm_ctx_at(struct tp_model *m, uint64_t base, uint32_t entry, enum mlx4_cmpt_type type, const char *obj,
		    uint32_t num);
/* 40-bit byte offset in the MTT that a context carries. */
static inline uint64_t
tpm_mtt_offset(const void *ctx, uint32_t field_h, uint32_t field_l)
{
	return (uint64_t)prm_get(ctx, field_h) << 32 | (prm_get(ctx, field_l) & ~7u);
}

#endif /* MODEL_MEM_MEM_H */
