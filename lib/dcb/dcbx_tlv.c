/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* DCBX TLVs on the wire (IEEE 802.1Q-2018, D.2.8 to D.2.11). */
#include <string.h>

#include "dcbx.h"

#define HDR 4u /* OUI and subtype */
#define SUB_ETS 0x09u
#define SUB_REC 0x0au
#define SUB_PFC 0x0bu
#define SUB_APP 0x0cu
#define ETS_LEN 25u
#define PFC_LEN 6u
#define APP_MIN 5u
#define APP_LEN 3u
#define WILLING 0x80u
#define CBS 0x40u
#define MBC 0x40u
#define MAX_TCS_MASK 0x07u
#define PFC_CAP_MASK 0x0fu
#define APP_PRIO_SHIFT 5
#define APP_SEL_MASK 0x07u

static const uint8_t ieee[3] = {0x00, 0x80, 0xc2};
static const uint8_t cee[3] = {0x00, 0x1b, 0x21};

enum kind {
	KIND_OTHER,
	KIND_CEE,
	KIND_ETS,
	KIND_REC,
	KIND_PFC,
	KIND_APP,
};

/* What a TLV is, and whether its length fits. */
static enum kind
kind_of(const struct tp_lldp_tlv *tlv, bool *fits)
{
	*fits = true;
	if (memcmp(tlv->info, cee, sizeof(cee)) == 0)
		return tlv->info[3] == 1 || tlv->info[3] == 2 ? KIND_CEE : KIND_OTHER;
	if (memcmp(tlv->info, ieee, sizeof(ieee)) != 0)
		return KIND_OTHER;
	switch (tlv->info[3]) {
	case SUB_ETS: *fits = tlv->len == ETS_LEN; return KIND_ETS;
	case SUB_REC: *fits = tlv->len == ETS_LEN; return KIND_REC;
	case SUB_PFC: *fits = tlv->len == PFC_LEN; return KIND_PFC;
	case SUB_APP: *fits = tlv->len >= APP_MIN && (tlv->len - APP_MIN) % APP_LEN == 0; return KIND_APP;
	default: return KIND_OTHER;
	}
}

/* The first good one of each kind counts (9.2.7.7.3 of 802.1AB). */
static enum tp_lldp_verdict
verdict(const struct tp_lldp_tlv *tlv, uint32_t *seen, enum kind *kind)
{
	bool fits;

	*kind = kind_of(tlv, &fits);
	if (*kind == KIND_OTHER)
		return TP_LLDP_UNKNOWN;
	if (*kind == KIND_CEE)
		return TP_LLDP_KNOWN;
	if (!fits || (*seen & 1u << *kind) != 0)
		return TP_LLDP_BAD;
	*seen |= 1u << *kind;
	return TP_LLDP_KNOWN;
}

enum tp_lldp_verdict
dcbx_judge(void *arg, const struct tp_lldp_tlv *tlv, uint32_t *seen)
{
	struct tp_dcbx *d = arg;
	enum kind kind;
	enum tp_lldp_verdict v = verdict(tlv, seen, &kind);

	d->stats.rx_bad += v == TP_LLDP_BAD;
	if (v != TP_LLDP_KNOWN)
		return v;
	d->stats.rx_cee += kind == KIND_CEE;
	d->stats.rx_rec += kind == KIND_REC;
	d->stats.rx_tlvs[TP_DCBX_ETS] += kind == KIND_ETS;
	d->stats.rx_tlvs[TP_DCBX_PFC] += kind == KIND_PFC;
	d->stats.rx_tlvs[TP_DCBX_APP] += kind == KIND_APP;
	return v;
}

/* The three tables that configuration and recommendation share, behind one octet. */
static void
get_tables(const uint8_t *p, struct tp_dcbx_ets *e)
{
	unsigned int i;

	for (i = 0; i < TP_PRIOS; i++)
		e->prio_tc[i] = i % 2 == 0 ? p[i / 2] >> 4 : p[i / 2] & 0xf;
	memcpy(e->bw, p + TP_PRIOS / 2, TP_TCS);
	memcpy(e->tsa, p + TP_PRIOS / 2 + TP_TCS, TP_TCS);
}

static void
get_apps(const struct tp_lldp_tlv *tlv, struct tp_dcbx_peer *peer)
{
	const uint8_t *p = tlv->info + APP_MIN, *end = tlv->info + tlv->len;

	peer->has_apps = true;
	for (; p < end; p += APP_LEN) {
		struct tp_dcbx_app *a = &peer->apps.app[peer->apps.n];

		if (peer->apps.n == TP_DCBX_APPS) {
			peer->apps_left_out++;
			continue;
		}
		a->prio = p[0] >> APP_PRIO_SHIFT;
		a->sel = p[0] & APP_SEL_MASK;
		a->proto = (uint16_t)(p[1] << 8 | p[2]);
		peer->apps.n++;
	}
}

static void
get(enum kind kind, const struct tp_lldp_tlv *tlv, struct tp_dcbx_peer *peer)
{
	const uint8_t *p = tlv->info + HDR;

	switch (kind) {
	case KIND_ETS:
		peer->has_ets = true;
		peer->ets_willing = (p[0] & WILLING) != 0;
		peer->ets.cbs = (p[0] & CBS) != 0;
		peer->ets.max_tc = (p[0] & MAX_TCS_MASK) == 0 ? TP_TCS : p[0] & MAX_TCS_MASK;
		get_tables(p + 1, &peer->ets);
		break;
	case KIND_REC:
		peer->has_rec = true;
		get_tables(p + 1, &peer->rec);
		break;
	case KIND_PFC:
		peer->has_pfc = true;
		peer->pfc_willing = (p[0] & WILLING) != 0;
		peer->pfc.mbc = (p[0] & MBC) != 0;
		peer->pfc.cap = p[0] & PFC_CAP_MASK;
		peer->pfc.enable = p[1];
		break;
	case KIND_APP: get_apps(tlv, peer); break;
	case KIND_CEE: peer->has_cee = true; break;
	case KIND_OTHER: break;
	}
}

void
tp_dcbx_peer_parse(const uint8_t *pdu, size_t len, struct tp_dcbx_peer *peer)
{
	struct tp_lldp_tlv tlv;
	uint32_t seen = 0;
	enum kind kind;
	size_t at = 0;

	memset(peer, 0, sizeof(*peer));
	while (tp_lldp_tlv_next(pdu, len, &at, &tlv) > 0)
		if (tlv.type == TP_LLDP_ORG && tlv.len >= HDR && verdict(&tlv, &seen, &kind) == TP_LLDP_KNOWN)
			get(kind, &tlv, peer);
}

static size_t
put(struct tp_dcbx *d, uint8_t *to, size_t room, uint8_t subtype, const uint8_t *body, size_t len)
{
	uint8_t info[HDR + 1 + APP_LEN * TP_DCBX_APPS];
	size_t n;

	memcpy(info, ieee, sizeof(ieee));
	info[3] = subtype;
	memcpy(info + HDR, body, len);
	n = tp_lldp_tlv_put(to, room, TP_LLDP_ORG, info, HDR + len);
	d->stats.tx_tlvs += n != 0;
	return n;
}

static size_t
put_ets(struct tp_dcbx *d, uint8_t *to, size_t room, uint8_t subtype, uint8_t first, const struct tp_dcbx_ets *e)
{
	uint8_t body[ETS_LEN - HDR] = {first};
	unsigned int i;

	for (i = 0; i < TP_PRIOS; i++)
		body[1 + i / 2] |= (uint8_t)(e->prio_tc[i] << (i % 2 == 0 ? 4 : 0));
	memcpy(body + 1 + TP_PRIOS / 2, e->bw, TP_TCS);
	memcpy(body + 1 + TP_PRIOS / 2 + TP_TCS, e->tsa, TP_TCS);
	return put(d, to, room, subtype, body, sizeof(body));
}

static size_t
put_apps(struct tp_dcbx *d, uint8_t *to, size_t room, const struct tp_dcbx_apps *apps)
{
	uint8_t body[1 + APP_LEN * TP_DCBX_APPS] = {0};
	uint16_t i;

	for (i = 0; i < apps->n; i++) {
		uint8_t *p = body + 1 + APP_LEN * i;

		p[0] = (uint8_t)(apps->app[i].prio << APP_PRIO_SHIFT | apps->app[i].sel);
		p[1] = (uint8_t)(apps->app[i].proto >> 8);
		p[2] = (uint8_t)apps->app[i].proto;
	}
	return put(d, to, room, SUB_APP, body, 1u + APP_LEN * apps->n);
}

/* Configuration and PFC say what is in use, the recommendation what the administrator here would like (38.4). */
size_t
dcbx_build(void *arg, uint8_t *to, size_t room)
{
	struct tp_dcbx *d = arg;
	const struct tp_dcbx_params *o = &d->oper;
	const uint8_t ets = (uint8_t)((d->feature[TP_DCBX_ETS].willing ? WILLING : 0) | (d->local.ets.cbs ? CBS : 0) |
				      (d->local.ets.max_tc & MAX_TCS_MASK));
	const uint8_t pfc[2] = {(uint8_t)((d->feature[TP_DCBX_PFC].willing ? WILLING : 0) |
					  (d->local.pfc.mbc ? MBC : 0) | (d->local.pfc.cap & PFC_CAP_MASK)),
				o->pfc.enable};
	size_t n = 0;

	n += put_ets(d, to + n, room - n, SUB_ETS, ets, &o->ets);
	n += put_ets(d, to + n, room - n, SUB_REC, 0, &d->local.ets);
	n += put(d, to + n, room - n, SUB_PFC, pfc, sizeof(pfc));
	if (d->local.apps.n != 0)
		n += put_apps(d, to + n, room - n, &d->local.apps);
	return n;
}
