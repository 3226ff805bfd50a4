/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue buffers: virtually contiguous over pages that MTT entries name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mem.h"

int
tpm_ring_init(struct tp_model *m, struct tpm_ring *r, uint64_t mtt_off, uint8_t lg_page, uint32_t page_off,
	      uint32_t size)
{
	uint64_t span = (uint64_t)page_off + size, pages = (span + TPM_PAGE - 1) / TPM_PAGE;

	*r = (struct tpm_ring){
		.mtt_off = mtt_off, .page_off = page_off, .size = size, .lg_page = TPM_LG_PAGE, .mtt_lg = lg_page};
	r->page = calloc(pages, sizeof(*r->page));
	return r->page == NULL ? -ENOMEM : 0;
}

void
tpm_ring_fini(struct tpm_ring *r)
{
	free(r->page);
	*r = (struct tpm_ring){0};
}

/* Host address of the 4 KiB piece at byte off of the MTT's span; NULL after a violation. */
static uint8_t *
piece_host(struct tp_model *m, const struct tpm_ring *r, uint64_t off, const char *what, uint32_t num)
{
	uint64_t entry = r->mtt_off + (off >> r->mtt_lg) * MLX4_MTT_SIZE, iova;
	uint8_t *p;

	if (tpm_icm_probe(m, m->mtt_base + entry, MLX4_MTT_SIZE) == NULL) {
		tpm_violate(m, TPM_V_ICM_UNMAPPED, what, num,
			    "MTT entry at offset 0x%" PRIx64 ": ICM 0x%" PRIx64 " is not mapped", entry,
			    m->mtt_base + entry);
		return NULL;
	}
	if (tpm_mtt_read(m, entry, &iova) != TPM_XLAT_OK) {
		tpm_violate(m, TPM_V_MTT_ABSENT, what, num, "MTT entry at offset 0x%" PRIx64 " is not present", entry);
		return NULL;
	}
	iova += off & ((UINT64_C(1) << r->mtt_lg) - 1);
	p = tpm_dma_probe(m, iova, TPM_PAGE, TP_DMA_READ | TP_DMA_WRITE, NULL);
	if (p == NULL)
		tpm_violate(m, TPM_V_DMA_UNMAPPED, what, num, "queue page at 0x%llx: no open window",
			    (unsigned long long)iova);
	return p;
}

int
tpm_ring_resolve(struct tp_model *m, struct tpm_ring *r, const char *what, uint32_t num)
{
	uint64_t span = (uint64_t)r->page_off + r->size;
	bool contiguous = true;
	uint32_t n = 0;

	r->gen = m->tpt_gen;
	r->flat = NULL;
	r->valid = false;
	for (uint64_t off = 0; off < span; off += TPM_PAGE, n++) {
		r->page[n] = piece_host(m, r, off, what, num);
		if (r->page[n] == NULL)
			return -EFAULT;
		contiguous = contiguous && (n == 0 || r->page[n] == r->page[n - 1] + TPM_PAGE);
	}
	if (contiguous && n > 0)
		r->flat = r->page[0] + r->page_off;
	r->valid = true;
	return 0;
}

void
tpm_ring_fill(const struct tpm_ring *r, uint8_t byte)
{
	for (uint32_t off = 0, n; off < r->size; off += n) {
		n = TPM_PAGE - ((off + r->page_off) & (TPM_PAGE - 1));
		if (n > r->size - off)
			n = r->size - off;
		memset(tpm_ring_at(r, off), byte, n);
	}
}
