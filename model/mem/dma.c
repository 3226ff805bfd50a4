/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* DMA windows: a sorted list of what the host opened, as an IOMMU would hold it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* Index of the first window that ends behind iova. */
static uint32_t
window_find(const struct tp_model *m, uint64_t iova)
{
	uint32_t lo = 0, hi = m->num_win;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (m->win[mid].iova + (m->win[mid].len - 1) < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int
window_insert(struct tp_model *m, uint32_t at, const struct tpm_window *w)
{
	if (m->num_win == m->cap_win) {
		uint32_t cap = m->cap_win == 0 ? 16 : 2 * m->cap_win;
		struct tpm_window *win = realloc(m->win, cap * sizeof(*win));

		if (win == NULL)
			return -ENOMEM;
		m->win = win;
		m->cap_win = cap;
	}
	memmove(&m->win[at + 1], &m->win[at], (m->num_win - at) * sizeof(*m->win));
	m->win[at] = *w;
	m->num_win++;
	return 0;
}

static void
window_remove(struct tp_model *m, uint32_t at)
{
	m->num_win--;
	memmove(&m->win[at], &m->win[at + 1], (m->num_win - at) * sizeof(*m->win));
}

static int
dma_map(struct tp_model *m, const struct tpm_window *w)
{
	uint32_t at = window_find(m, w->iova);
	int rc;

	if (at < m->num_win && m->win[at].iova <= w->iova + (w->len - 1)) {
		tpm_note(m, "DMA window [0x%llx, +0x%llx) overlaps the open window [0x%llx, +0x%llx)",
			 (unsigned long long)w->iova, (unsigned long long)w->len, (unsigned long long)m->win[at].iova,
			 (unsigned long long)m->win[at].len);
		return -EEXIST;
	}
	rc = window_insert(m, at, w);
	if (rc == 0)
		tpm_tpt_changed(m);
	return rc;
}

int
tp_model_dma_map(struct tp_model *m, uint64_t iova, uint64_t len, void *host, uint32_t prot)
{
	struct tpm_window w = {.iova = iova, .len = len, .host = host, .prot = prot};
	int rc;

	if (len == 0 || iova + (len - 1) < iova || host == NULL || prot == 0 ||
	    (prot & ~(TP_DMA_READ | TP_DMA_WRITE)) != 0)
		return -EINVAL;
	tpm_lock(&m->lock);
	rc = dma_map(m, &w);
	tpm_unlock(&m->lock);
	return rc;
}

/* Takes [lo, hi] out of window at, which it touches; a hole in the middle makes two windows of one. */
static int
window_cut(struct tp_model *m, uint32_t at, uint64_t lo, uint64_t hi)
{
	struct tpm_window *w = &m->win[at], tail = *w;
	uint64_t end = w->iova + (w->len - 1);
	bool head = lo > w->iova, rest = hi < end;

	if (!head && !rest) {
		window_remove(m, at);
		return 0;
	}
	tail.iova = hi + 1;
	tail.len = end - hi;
	tail.host += tail.iova - w->iova;
	if (!head) {
		*w = tail;
		return 0;
	}
	if (rest) {
		int rc = window_insert(m, at + 1, &tail);

		if (rc != 0)
			return rc;
	}
	m->win[at].len = lo - m->win[at].iova;
	return 0;
}

int
tp_model_dma_unmap(struct tp_model *m, uint64_t iova, uint64_t len)
{
	uint64_t hi = iova + (len - 1);
	uint32_t at;
	int rc = 0;

	if (len == 0 || hi < iova)
		return -EINVAL;
	tpm_lock(&m->lock);
	for (at = window_find(m, iova); at < m->num_win && m->win[at].iova <= hi && rc == 0; at = window_find(m, iova))
		rc = window_cut(m, at, iova, hi);
	tpm_tpt_changed(m);
	tpm_unlock(&m->lock);
	return rc;
}

uint8_t *
tpm_dma_probe(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, uint64_t *avail)
{
	uint32_t at = window_find(m, iova);
	const struct tpm_window *w;
	uint64_t have;

	if (at == m->num_win || m->win[at].iova > iova || (m->win[at].prot & prot) != prot)
		return NULL;
	w = &m->win[at];
	have = w->len - (iova - w->iova);
	if (avail != NULL)
		*avail = have;
	else if (have < len)
		return NULL;
	return w->host + (iova - w->iova);
}

uint8_t *
tpm_dma(struct tp_model *m, uint64_t iova, uint64_t len, uint32_t prot, const char *what)
{
	uint8_t *p = tpm_dma_probe(m, iova, len, prot, NULL);

	if (p == NULL)
		tpm_violate(m, TPM_V_DMA_UNMAPPED, what, 0, "address 0x%llx, %llu bytes, access %s%s: no open window",
			    (unsigned long long)iova, (unsigned long long)len, (prot & TP_DMA_READ) != 0 ? "r" : "",
			    (prot & TP_DMA_WRITE) != 0 ? "w" : "");
	return p;
}

uint8_t *
tpm_dma_window_base(struct tp_model *m, uint64_t iova, uint64_t *below)
{
	const struct tpm_window *w = &m->win[window_find(m, iova)];

	*below = iova - w->iova;
	return w->host;
}
