/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The congestion point of 802.1Qau (lib/roce/cc/qau.h): each queue of a priority that has it tells sources of frames when it is too
 * long or grows. The message goes back by the port that the frame came by, with the frame's VLAN and CN-TAG: flow 0 when there is
 * none, as of a source with one flow.
 */
#include "switch.h"

#define CNM_PRIO 6u /* in which CNMs are sent: the standard's default */
#define JITTER_BITS 10u
#define CNM_MAX (TPM_ETH_HLEN + TPM_VLAN_HLEN + TQAU_TAG_LEN + TQAU_CNM_LEN + TQAU_MSDU_MAX)

/* Returns the message's length. */
static uint32_t
build(const struct tp_switch_port *out, const struct sw_buf *b, const struct sw_key *k, struct tqau_cnm *m, uint8_t *h)
{
	uint32_t msdu = b->len - k->msdu < TQAU_MSDU_MAX ? b->len - k->msdu : TQAU_MSDU_MAX, at = 2 * TPM_ETH_ALEN;
	uint8_t own[TPM_ETH_ALEN];

	sw_own_mac(out, own);
	memcpy(h, b->data + TPM_ETH_ALEN, TPM_ETH_ALEN);
	memcpy(h + TPM_ETH_ALEN, own, TPM_ETH_ALEN);
	if (tpm_load16(b->data + at) == TPM_ETYPE_CVLAN) {
		tpm_store16(h + at, TPM_ETYPE_CVLAN);
		tpm_store16(h + at + 2, (uint16_t)(CNM_PRIO << 13 | k->vid));
		at += TPM_VLAN_HLEN;
	}
	tpm_store16(h + at, TQAU_ETYPE_TAG);
	tpm_store16(h + at + 2, k->cn != 0 ? tpm_load16(b->data + k->cn + 2) : 0);
	at += TQAU_TAG_LEN;
	tpm_store16(h + at, TQAU_ETYPE_CNM);
	at += 2;
	m->cpid = sw_load48(own) << 16 | b->prio;
	m->prio = b->prio;
	memcpy(m->dst, b->data, sizeof(m->dst));
	m->msdu_len = (uint16_t)msdu;
	tqau_cnm_put(h + at, m);
	at += TQAU_CNM_LEN;
	memcpy(h + at, b->data + k->msdu, msdu);
	at += msdu;
	if (at < TPM_ETH_ZLEN) {
		memset(h + at, 0, TPM_ETH_ZLEN - at);
		at = TPM_ETH_ZLEN;
	}
	return at;
}

void
sw_cn_frame(struct tp_switch_port *in, struct tp_switch_port *out, const struct sw_buf *b, const struct sw_key *k)
{
	const struct tp_switch_config *c = &out->sw->cfg;
	uint8_t data[CNM_MAX];
	struct tp_frame_seg seg = {.data = data};
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	struct sw_key key = {.prio = CNM_PRIO, .vid = k->vid, .etype = TQAU_ETYPE_CNM};
	struct tqau_cnm m;

	/* No message is about a message. */
	if (k->etype == TQAU_ETYPE_CNM ||
	    !tqau_cp_frame(&out->cn[b->prio], (uint32_t)out->out_bytes[b->prio], b->len, c->cn_qeq_bytes,
			   c->cn_base_bytes, (uint32_t)(tpm_random(&out->sw->rng) >> (64 - JITTER_BITS)), &m))
		return;
	f.len = seg.len = build(out, b, k, &m, data);
	out->st.prio[b->prio].cn_messages++;
	/* As if it had come by the port that is crowded. */
	sw_enqueue(out, in, &f, &key);
}
