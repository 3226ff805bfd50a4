/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* BlueFlame: a copy of the WQE that replaces the doorbell [DP 2.5]. The WQE that is executed is the one in the ring. */
#include "queue.h"

/*
 * Where a copy differs from its WQE in the ring, or its length. A WQE that was executed already may be gone from the ring, so
 * that there is nothing to compare with.
 */
static uint32_t
differs_at(const struct tp_model *m, const struct tpm_qp *qp, const uint8_t *w, uint32_t index, uint32_t n)
{
	uint32_t ahead = (index - qp->sq_head) & 0xffff, ring = (qp->sq_mask + 1) << qp->sq_lg_stride, at, off;

	if (ahead > qp->sq_mask || qp->ring.gen != m->tpt_gen || !qp->ring.valid)
		return n;
	at = ((qp->sq_head + ahead) & qp->sq_mask) << qp->sq_lg_stride;
	for (off = 0; off < n; off += MLX4_DS_SIZE)
		if (memcmp(w + off, tpm_ring_at(&qp->ring, qp->sq_off + ((at + off) & (ring - 1))), MLX4_DS_SIZE) != 0)
			break;
	return off;
}

bool
tpm_bf_whole(struct tp_model *m, const uint8_t *w, uint32_t len)
{
	uint32_t n = (prm_get32(w, 4) & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;
	const struct tpm_qp *qp = tpm_qp_get(m, prm_get32(w, 4) >> 8);

	return qp == NULL || !qp->has_sq || n > len ||
	       differs_at(m, qp, w, prm_get32(w, 0) >> MLX4_CTRL_BF_INDEX_SHIFT & 0xffff, n) >= n;
}

void
tpm_bf_doorbell(struct tp_model *m, uint32_t page, const uint8_t *w, uint32_t len)
{
	uint32_t qpn = prm_get32(w, 4) >> 8, ds = prm_get32(w, 4) & MLX4_CTRL_DS_MASK, index, off;
	struct tpm_qp *qp = tpm_qp_get(m, qpn);

	/* A card that has these pages elsewhere sees nothing of what is written here. */
	if (tpm_quirk(m, MLX4_QUIRK_BF_PLACE) != 0)
		return;
	m->st.bf_doorbells++;
	if (qp == NULL || !qp->has_sq) {
		tpm_violate(m, TPM_V_BF_COPY, "QP", qpn, "BlueFlame copy on UAR page %u names a QP that does not exist",
			    page);
		return;
	}
	if (ds == 0 || ds * MLX4_DS_SIZE > len) {
		tpm_violate(m, TPM_V_BF_COPY, "QP", qpn, "BlueFlame copy of %u units, wanted 1..%u", ds,
			    len / MLX4_DS_SIZE);
		return;
	}
	index = prm_get32(w, 0) >> MLX4_CTRL_BF_INDEX_SHIFT & 0xffff;
	off = differs_at(m, qp, w, index, ds * MLX4_DS_SIZE);
	if (off < ds * MLX4_DS_SIZE)
		tpm_violate(m, TPM_V_BF_COPY, "QP", qpn, "BlueFlame copy of WQE 0x%x differs from the ring at byte %u",
			    index, off);
	m->st.doorbells--; /* counted as BlueFlame */
	tpm_sq_doorbell(m, page, qpn);
}
