/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The reaction point of 802.1Qau (lib/roce/cc/qau.h): what a port's Ethernet queues of a priority send is one flow, which congestion
 * notification messages limit. Frames of a priority that says so have a CN-TAG, with the priority as flow; received ones lose it.
 */
#include "qos.h"

#define AT_TYPE (2 * TPM_ETH_ALEN)
#define KBPS_PER_MBPS 1000u
#define AVERAGE_SHIFT 3u

static bool
is_on(const uint8_t mask, unsigned int prio)
{
	return (mask >> prio & 1) != 0;
}

static void
release(struct tp_model *m, struct tpm_port *p, unsigned int prio)
{
	struct tpm_cn_prio *c = &p->qos->cn.prio[prio];

	p->qos->cn.limited &= (uint8_t) ~(1u << prio);
	c->limited_ns += tpm_now(m) - c->since;
	c->rp = (struct tqau_rp){0};
	tpm_sched_update(m, p);
}

void
tpm_cn_config(struct tp_model *m, struct tpm_port *p, unsigned int prio, const struct tqau_conf *conf, bool on,
	      bool tag)
{
	struct tpm_cn *cn = &p->qos->cn;
	uint8_t bit = (uint8_t)(1u << prio);

	cn->prio[prio].conf = *conf;
	cn->on = (uint8_t)((cn->on & ~bit) | (on ? bit : 0));
	cn->tags = (uint8_t)((cn->tags & ~bit) | (on && tag ? bit : 0));
	p->cn_tags = cn->tags != 0;
	if (!on && is_on(cn->limited, prio))
		release(m, p, prio);
}

uint32_t
tpm_cn_rate(struct tp_model *m, struct tpm_port *p, unsigned int prio)
{
	struct tpm_cn_prio *c = &p->qos->cn.prio[prio];
	uint32_t kbps;

	if (!is_on(p->qos->cn.limited, prio))
		return 0;
	kbps = tqau_rp_rate(&c->rp, &c->conf, tpm_now(m));
	if (c->rp.limited)
		return kbps;
	release(m, p, prio);
	return 0;
}

uint64_t
tpm_cn_lived(const struct tp_model *m, const struct tpm_port *p, unsigned int prio)
{
	const struct tpm_cn_prio *c = &p->qos->cn.prio[prio];

	return c->limited_ns + (is_on(p->qos->cn.limited, prio) ? tpm_now(m) - c->since : 0);
}

void
tpm_cn_sent(struct tp_model *m, struct tpm_port *p, unsigned int prio, uint32_t bytes, uint64_t at)
{
	struct tpm_cn_prio *c = &p->qos->cn.prio[prio];

	tqau_rp_sent(&c->rp, &c->conf, bytes, at);
	if (!c->rp.limited)
		release(m, p, prio);
}

/* --- received ----------------------------------------------------------------------------------------------- */

static void
notified(struct tp_model *m, struct tpm_port *p, const struct tqau_cnm *cnm)
{
	struct tpm_cn *cn = &p->qos->cn;
	struct tpm_cn_prio *c = &cn->prio[cnm->prio];
	uint32_t kbps;

	if (!is_on(cn->on, cnm->prio) || !tqau_rp_cnm(&c->rp, &c->conf, cnm->fb, tpm_now(m))) {
		c->ignored++;
		return;
	}
	kbps = c->rp.rate;
	if (!is_on(cn->limited, cnm->prio)) {
		cn->limited |= (uint8_t)(1u << cnm->prio);
		c->since = tpm_now(m);
		c->created++;
		tpm_sched_update(m, p);
	}
	if (c->handled++ == 0)
		c->average_kbps = c->least_kbps = kbps;
	c->average_kbps += (kbps >> AVERAGE_SHIFT) - (c->average_kbps >> AVERAGE_SHIFT);
	if (kbps < c->least_kbps)
		c->least_kbps = kbps;
	if (kbps > c->greatest_kbps)
		c->greatest_kbps = kbps;
}

bool
tpm_cn_rx(struct tp_model *m, struct tpm_port *p, const uint8_t *h, uint32_t hlen, uint32_t *tag)
{
	uint32_t at = AT_TYPE;
	struct tqau_cnm cnm;

	*tag = 0;
	if (hlen > at + TPM_VLAN_HLEN + 2 && tpm_load16(h + at) == TPM_ETYPE_CVLAN)
		at += TPM_VLAN_HLEN;
	if (hlen >= at + TQAU_TAG_LEN + 2 && tpm_load16(h + at) == TQAU_ETYPE_TAG) {
		*tag = at;
		at += TQAU_TAG_LEN;
	}
	if (hlen < at + 2 || tpm_load16(h + at) != TQAU_ETYPE_CNM || (h[0] & 1) != 0)
		return false;
	at += 2;
	/* What is broken is for nobody. */
	if (tqau_cnm_get(h + at, hlen - at, &cnm))
		notified(m, p, &cnm);
	return true;
}

/* --- frames with other octets ------------------------------------------------------------------------------- */

/* A frame's pieces from an offset on behind n others. Returns how many there are then. */
static unsigned int
pieces(const struct tp_frame *f, uint32_t from, uint32_t len, struct tp_frame_seg *seg, unsigned int n)
{
	for (unsigned int i = 0; i < f->nseg && len != 0 && n < TPM_CN_SEGS; i++) {
		uint32_t some = f->seg[i].len;

		if (from >= some) {
			from -= some;
			continue;
		}
		some -= from;
		some = some < len ? some : len;
		seg[n++] = (struct tp_frame_seg){.data = f->seg[i].data + from, .len = some};
		from = 0;
		len -= some;
	}
	return n;
}

void
tpm_cn_strip(const struct tp_frame *f, uint32_t tag, struct tp_frame_seg seg[TPM_CN_SEGS], struct tp_frame *out)
{
	*out = *f;
	out->seg = seg;
	out->len = f->len - TQAU_TAG_LEN;
	out->nseg = (uint16_t)pieces(f, 0, tag, seg, 0);
	out->nseg = (uint16_t)pieces(f, tag + TQAU_TAG_LEN, out->len - tag, seg, out->nseg);
}

bool
tpm_cn_tag(const struct tpm_port *p, const struct tp_frame *f, uint8_t tag[TQAU_TAG_LEN],
	   struct tp_frame_seg seg[TPM_CN_SEGS], struct tp_frame *out)
{
	uint8_t buf[TPM_PARSE_MAX];
	uint32_t hlen, at = AT_TYPE;
	const uint8_t *h = tpm_frame_head(f, buf, &hlen);
	unsigned int prio = 0;

	if (hlen > at + TPM_VLAN_HLEN && tpm_load16(h + at) == TPM_ETYPE_CVLAN) {
		prio = h[at + 2] >> 5;
		at += TPM_VLAN_HLEN;
	}
	if (!is_on(p->qos->cn.tags, prio) || hlen < at + 2 || f->nseg + 2u > TPM_CN_SEGS ||
	    tpm_load16(h + at) == TQAU_ETYPE_TAG)
		return false;
	tpm_store16(tag, TQAU_ETYPE_TAG);
	tpm_store16(tag + 2, (uint16_t)prio);
	*out = *f;
	out->seg = seg;
	out->len = f->len + TQAU_TAG_LEN;
	out->nseg = (uint16_t)pieces(f, 0, at, seg, 0);
	seg[out->nseg++] = (struct tp_frame_seg){.data = tag, .len = TQAU_TAG_LEN};
	out->nseg = (uint16_t)pieces(f, at, f->len - at, seg, out->nseg);
	return true;
}
