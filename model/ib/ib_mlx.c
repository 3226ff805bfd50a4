/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets of QP0 and QP1 of an InfiniBand port: software built all headers, from the LRH on; the card puts in the source
 * LID, the virtual lane and both CRCs [DP 3.13].
 */
#include "model/frame/ib_wire.h"
#include "ib.h"

/* The packet without room for the CRC, in one piece; its length, 0 after tpm_wqe_fail. */
static uint32_t
gather(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head, bool icrc, uint8_t *out)
{
	struct tp_frame_seg seg[TP_FRAME_SEGS];
	struct tp_frame f = {.seg = seg};
	unsigned int n = 0;

	if (!tpm_wqe_pieces(t, head, w, ds, seg, TP_FRAME_SEGS, &n, &f.len))
		return 0;
	f.nseg = (uint16_t)n;
	if (f.len < IB_LRH_SIZE + 12 + TPM_ICRC_LEN || f.len > t->p->ibp.mtu + 8 + 40 + 12 + 8 + TPM_ICRC_LEN) {
		tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH, "a packet of %u bytes, wanted %u..%u",
			     f.len, IB_LRH_SIZE + 12 + TPM_ICRC_LEN, t->p->ibp.mtu + 8 + 40 + 12 + 8 + TPM_ICRC_LEN);
		return 0;
	}
	/* The last four octets are the CRC's, whatever segment they are in. */
	if (!icrc && seg[n - 1].len != TPM_ICRC_LEN)
		tpm_violate(t->m, TPM_V_WQE_CRC, "QP", t->qp->qpn,
			    "WQE 0x%x: the last segment has %u bytes, wanted %u for the CRC", head, seg[n - 1].len,
			    TPM_ICRC_LEN);
	tpm_frame_copy(&f, 0, out, f.len);
	return f.len;
}

/* Headers that do not agree with the packet or with what the control segment says of it. */
static bool
check(struct tpm_tx *t, const uint8_t *w, uint32_t head, const uint8_t *packet, uint32_t len)
{
	uint32_t words = prm_get(packet, IB_LRH_WORDS), lnh = prm_get(packet, IB_LRH_LNH),
		 dlid = prm_get(packet, IB_LRH_DLID), rlid = prm_get32(w, 12) >> MLX4_MLX_RLID_SHIFT;

	if (lnh >= IB_LNH_BTH && words * 4 == len && dlid == rlid && tpm_ib_bth(packet) + 12 + TPM_ICRC_LEN <= len)
		return true;
	return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_LRH,
			    "LNH %u, %u words, destination LID 0x%x, wanted 2 or 3, %u, 0x%x", lnh, words, dlid,
			    len / 4, rlid);
}

bool
tpm_ib_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head)
{
	uint32_t flags = prm_get32(w, 8), len;
	bool icrc = (flags & MLX4_MLX_NO_ICRC) != 0, mcast;
	uint8_t packet[TPM_IB_PACKET + TPM_ICRC_LEN + IB_VCRC_SIZE], vl;
	struct tp_frame_seg seg = {.data = packet};
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	const struct tpm_ib *ib = &t->p->ibp;
	uint16_t dlid;

	len = gather(t, w, ds, head, icrc, packet);
	if (len == 0 || !check(t, w, head, packet, len))
		return false;
	dlid = (uint16_t)prm_get(packet, IB_LRH_DLID);
	mcast = tpm_ib_is_mcast(dlid);
	vl = (flags & MLX4_MLX_VL15) != 0 ? (uint8_t)IB_VL_MGMT : tpm_ib_vl_of(ib, (uint8_t)prm_get(packet, IB_LRH_SL));
	prm_set(packet, IB_LRH_VL, vl);
	/* Software gives the bits of the path; the LID is the card's. */
	if ((flags & MLX4_MLX_SLR) == 0)
		prm_set(packet, IB_LRH_SLID, ib->lid | (prm_get(packet, IB_LRH_SLID) & ((1u << ib->lmc) - 1)));
	f.len = seg.len = tpm_ib_seal(packet, icrc ? len : len - TPM_ICRC_LEN, icrc);
	if ((flags & MLX4_CTRL_FL) != 0 || tpm_ib_own_lid(ib, dlid)) {
		tpm_ib_loop(t->m, t->p, packet, len, t->qp);
		return true;
	}
	/* A scheduler is told of queues that are stuck by their receiving half, which QP0 and QP1 have. */
	if (t->qp->roce != NULL && !tpm_ib_room(t->p, vl, f.len)) {
		t->wait = true;
		return false;
	}
	tpm_ib_send(t->m, t->p, &f, 1, vl, mcast);
	if (mcast)
		tpm_ib_loop(t->m, t->p, packet, len, t->qp);
	return true;
}
