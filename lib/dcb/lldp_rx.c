/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The receive half of an LLDP agent (IEEE 802.1AB-2016): rxProcessFrame (9.2.7.7), the receive state machine of 9.2.10
 * and the table of neighbours. A neighbour is known by its chassis and port identities; its whole LLDPDU is kept, so
 * that a change is any difference.
 */
#include <errno.h>
#include <string.h>

#include "lldp.h"

#define SEC_MS 1000u
#define ID_MIN 2u
#define ID_MAX (1u + TP_LLDP_ID_MAX)
#define ORG_MIN 4u

static const uint8_t nearest_bridge[6] = LLDP_NEAREST_BRIDGE;

/* What a frame was found to be. */
struct pdu {
	const uint8_t *p;
	size_t len; /* up to the End TLV, without it */
	size_t id_len;
	uint16_t ttl;
	uint32_t discarded, unrecognised; /* TLVs */
	bool bad_end;
};

static void
tell(struct tp_lldp *a)
{
	if (a->client.changed != NULL)
		a->client.changed(a->client.arg);
}

void
lldp_rx_forget(struct tp_lldp *a)
{
	bool any = tp_lldp_neighbours(a) != 0;

	memset(a->neighbour, 0, sizeof(a->neighbour));
	a->too_many = false;
	if (any)
		tell(a);
}

unsigned int
tp_lldp_neighbours(const struct tp_lldp *a)
{
	unsigned int i, n = 0;

	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++)
		n += a->neighbour[i].used;
	return n;
}

void
lldp_rx_age(struct tp_lldp *a, uint64_t now)
{
	bool any = false;
	unsigned int i;

	if (a->too_many && now >= a->too_many_until_ms)
		a->too_many = false;
	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++) {
		struct tp_lldp_neighbour *n = &a->neighbour[i];

		if (!n->used || now < n->expires_ms)
			continue;
		n->used = false;
		a->stats.ageouts++;
		any = true;
	}
	if (any)
		tell(a);
}

uint64_t
lldp_rx_next(const struct tp_lldp *a)
{
	uint64_t next = a->too_many ? a->too_many_until_ms : TP_LLDP_NEVER;
	unsigned int i;

	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++)
		if (a->neighbour[i].used && a->neighbour[i].expires_ms < next)
			next = a->neighbour[i].expires_ms;
	return next;
}

/* The three mandatory TLVs in their order (9.2.7.7.1). */
static int
take_mandatory(struct pdu *u, size_t *at)
{
	struct tp_lldp_tlv tlv;

	if (tp_lldp_tlv_next(u->p, u->len, at, &tlv) <= 0 || tlv.type != TP_LLDP_CHASSIS || tlv.len < ID_MIN ||
	    tlv.len > ID_MAX)
		return -EBADMSG;
	if (tp_lldp_tlv_next(u->p, u->len, at, &tlv) <= 0 || tlv.type != TP_LLDP_PORT || tlv.len < ID_MIN ||
	    tlv.len > ID_MAX)
		return -EBADMSG;
	u->id_len = *at;
	if (tp_lldp_tlv_next(u->p, u->len, at, &tlv) <= 0 || tlv.type != TP_LLDP_TTL || tlv.len < 2)
		return -EBADMSG;
	u->ttl = (uint16_t)(tlv.info[0] << 8 | tlv.info[1]);
	return 0;
}

static bool
basic_len_ok(const struct tp_lldp_tlv *tlv)
{
	switch (tlv->type) {
	case TP_LLDP_CAPS: return tlv->len == 4;
	case TP_LLDP_MGMT_ADDR: return tlv->len >= 9 && tlv->len <= 167;
	default: return tlv->len <= 255;
	}
}

/* An optional TLV of the basic set or of an organisation (9.2.7.7.2, 9.2.7.7.3). */
static void
take_optional(const struct tp_lldp *a, struct pdu *u, const struct tp_lldp_tlv *tlv, uint32_t *basic, uint32_t *seen)
{
	enum tp_lldp_verdict v = TP_LLDP_UNKNOWN;

	if (tlv->type >= TP_LLDP_PORT_DESC && tlv->type <= TP_LLDP_MGMT_ADDR) {
		bool twice = (*basic & 1u << tlv->type) != 0 && tlv->type != TP_LLDP_MGMT_ADDR;

		v = twice || !basic_len_ok(tlv) ? TP_LLDP_BAD : TP_LLDP_KNOWN;
		if (v == TP_LLDP_KNOWN)
			*basic |= 1u << tlv->type;
	} else if (tlv->type == TP_LLDP_ORG) {
		if (tlv->len < ORG_MIN)
			v = TP_LLDP_BAD;
		else if (a->client.judge != NULL)
			v = a->client.judge(a->client.arg, tlv, seen);
	}
	u->discarded += v == TP_LLDP_BAD;
	u->unrecognised += v == TP_LLDP_UNKNOWN;
}

static int
take_apart(const struct tp_lldp *a, struct pdu *u)
{
	uint32_t basic = 0, seen = 0;
	struct tp_lldp_tlv tlv = {0};
	size_t at = 0, end;
	int ret = take_mandatory(u, &at);

	if (ret != 0)
		return ret;
	for (end = at; (ret = tp_lldp_tlv_next(u->p, u->len, &at, &tlv)) > 0; end = at) {
		if (tlv.type <= TP_LLDP_TTL) /* a second mandatory TLV */
			return -EBADMSG;
		take_optional(a, u, &tlv, &basic, &seen);
	}
	if (ret < 0)
		return ret;
	u->bad_end = at != end && tlv.len != 0;
	u->len = end;
	return 0;
}

static struct tp_lldp_neighbour *
find(struct tp_lldp *a, const struct pdu *u)
{
	unsigned int i;

	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++) {
		struct tp_lldp_neighbour *n = &a->neighbour[i];

		if (n->used && n->id_len == u->id_len && memcmp(n->pdu, u->p, u->id_len) == 0)
			return n;
	}
	return NULL;
}

static struct tp_lldp_neighbour *
room_for(struct tp_lldp *a)
{
	unsigned int i;

	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++)
		if (!a->neighbour[i].used)
			return &a->neighbour[i];
	return NULL;
}

/* DELETE_INFO: the neighbour says good-bye. */
static void
forget(struct tp_lldp *a, struct tp_lldp_neighbour *n)
{
	if (n == NULL)
		return;
	n->used = false;
	a->stats.deletes++;
	tell(a);
}

/* 9.2.7.7.5: a frame that finds no room is discarded, and the agent remembers for the frame's time to live. */
static int
too_many(struct tp_lldp *a, const struct pdu *u, uint64_t now)
{
	uint64_t until = now + (uint64_t)u->ttl * SEC_MS;

	if (!a->too_many || until > a->too_many_until_ms)
		a->too_many_until_ms = until;
	a->too_many = true;
	a->stats.rx_discarded++;
	a->stats.drops++;
	return -ENOSPC;
}

/* UPDATE_INFO, or only the timer when nothing changed. */
static int
update(struct tp_lldp *a, const struct pdu *u, const uint8_t *mac, uint64_t now)
{
	struct tp_lldp_neighbour *n = find(a, u);
	bool changed = n == NULL || n->pdu_len != u->len || memcmp(n->pdu, u->p, u->len) != 0 ||
		       memcmp(n->mac, mac, sizeof(n->mac)) != 0;

	if (n == NULL) {
		n = room_for(a);
		if (n == NULL)
			return too_many(a, u, now);
		a->stats.inserts++;
		a->new_neighbour = true;
	}
	n->used = true;
	n->expires_ms = now + (uint64_t)u->ttl * SEC_MS;
	if (!changed)
		return 0;
	memcpy(n->mac, mac, sizeof(n->mac));
	memcpy(n->pdu, u->p, u->len);
	n->pdu_len = (uint16_t)u->len;
	n->id_len = (uint16_t)u->id_len;
	n->ttl_s = u->ttl;
	tell(a);
	return 0;
}

int
tp_lldp_input(struct tp_lldp *a, const uint8_t *frame, size_t len, uint64_t now)
{
	struct pdu u = {0};

	if (a->admin != TP_LLDP_RX_TX && a->admin != TP_LLDP_RX_ONLY)
		return -ENOMSG;
	if (len < LLDP_ETH_LEN || memcmp(frame, nearest_bridge, sizeof(nearest_bridge)) != 0 ||
	    (frame[12] << 8 | frame[13]) != TP_LLDP_ETHERTYPE)
		return -ENOMSG;
	lldp_rx_age(a, now);
	a->stats.rx_frames++;
	u.p = frame + LLDP_ETH_LEN;
	u.len = len - LLDP_ETH_LEN;
	if (take_apart(a, &u) != 0 || u.len > TP_LLDP_MAX_PDU) {
		a->stats.rx_discarded++;
		a->stats.rx_errors++;
		return -EBADMSG;
	}
	a->stats.rx_tlvs_discarded += u.discarded;
	a->stats.rx_tlvs_unrecognised += u.unrecognised;
	a->stats.rx_errors += u.discarded != 0 || u.bad_end;
	if (u.ttl == 0) {
		forget(a, find(a, &u));
		return 0;
	}
	return update(a, &u, frame + 6, now);
}
