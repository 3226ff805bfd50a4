/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Subnet management on the wire of a port whose software opened no QP0: the firmware answers itself [CP 7.3]. A channel
 * adapter is where a directed route ends (IBTA 14.2.2).
 */
#include "lib/roce/wire/wire.h"
#include "model/frame/ib_wire.h"
#include "ib.h"

#define UD_SEND_ONLY 0x64u
#define SMP_AT (IB_BTH_LEN + IB_DETH_LEN)

/* The answer goes back to where the question came from; its headers are the question's, turned round. */
static void
reply(struct tp_model *m, struct tpm_port *p, const uint8_t *question, const uint8_t *mad)
{
	uint8_t h[IB_LRH_SIZE + SMP_AT + IB_MAD_SIZE + IB_ICRC_LEN + IB_VCRC_SIZE] = {0}, *bth = h + IB_LRH_SIZE;
	bool directed = prm_get(mad, IB_MAD_CLASS) == IB_CLASS_SUBN_DR;
	struct tp_frame_seg seg = {.data = h};
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	uint32_t len = IB_LRH_SIZE + SMP_AT + IB_MAD_SIZE;
	uint16_t to = (uint16_t)prm_get(question, IB_LRH_SLID);

	prm_set(h, IB_LRH_VL, IB_VL_MGMT);
	prm_set(h, IB_LRH_LNH, IB_LNH_BTH);
	prm_set(h, IB_LRH_DLID, directed ? IB_LID_PERMISSIVE : to);
	prm_set(h, IB_LRH_SLID, directed || p->ibp.lid == 0 ? (uint16_t)IB_LID_PERMISSIVE : p->ibp.lid);
	prm_set(h, IB_LRH_WORDS, (len + IB_ICRC_LEN) / 4);
	ib_bth_put(bth, UD_SEND_ONLY, false, 0, IB_PKEY_DEFAULT, 0, false, 0);
	memcpy(bth + SMP_AT, mad, IB_MAD_SIZE);
	f.len = seg.len = tpm_ib_seal(h, len, false);
	tpm_ib_send(m, p, &f, 1, IB_VL_MGMT, false);
}

/* The question has come to its end here: false when it has not, or is an answer itself. */
static bool
arrived(const struct tpm_port *p, uint8_t *mad)
{
	uint32_t hops = prm_get(mad, IB_MAD_HOP_COUNT);

	if (prm_get(mad, IB_MAD_CLASS) != IB_CLASS_SUBN_DR)
		return prm_get(mad, IB_MAD_CLASS) == IB_CLASS_SUBN;
	if (prm_get(mad, IB_MAD_DR_RETURNING) != 0 || hops > IB_SMP_HOPS_MAX || prm_get(mad, IB_MAD_HOP_PTR) != hops ||
	    prm_get(mad, IB_SMP_DR_DLID) != IB_LID_PERMISSIVE)
		return false;
	mad[IB_SMP_RETURN_PATH + hops] = (uint8_t)p->num;
	return true;
}

void
tpm_ib_smp(struct tp_model *m, struct tpm_port *p, const uint8_t *packet, uint32_t len)
{
	uint32_t at = tpm_ib_bth(packet) + SMP_AT, method;
	uint8_t mad[IB_MAD_SIZE];

	if (len != at + IB_MAD_SIZE + IB_ICRC_LEN) {
		p->roce_malformed++;
		return;
	}
	memcpy(mad, packet + at, IB_MAD_SIZE);
	method = prm_get(mad, IB_MAD_METHOD);
	if ((method != IB_METHOD_GET && method != IB_METHOD_SET) || !arrived(p, mad) || !tpm_ib_sma(m, p, mad, true)) {
		p->roce_no_qp++;
		return;
	}
	if (prm_get(mad, IB_MAD_CLASS) == IB_CLASS_SUBN_DR)
		prm_set(mad, IB_MAD_DR_RETURNING, 1);
	reply(m, p, packet, mad);
}
