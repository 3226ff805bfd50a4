/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include "qau.h"

#define KBPS_PER_MBPS 1000u
#define NS_PER_US UINT64_C(1000)
#define STAGE_MAX 255u
#define OFFSET_UNIT 64 /* octets, of the offset and the change in a CNM */
#define W 2            /* weight of the change of the depth in the feedback */

/* --- on the wire ------------------------------------------------------------------------------------------------- */

static void
put(uint8_t *p, uint64_t v, unsigned int octets)
{
	while (octets-- > 0) {
		p[octets] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t
get(const uint8_t *p, unsigned int octets)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < octets; i++)
		v = v << 8 | p[i];
	return v;
}

static uint16_t
units(int32_t octets)
{
	int32_t v = octets / OFFSET_UNIT;

	return (uint16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

/* Version (4 bits, 0), 6 bits of nothing, QntzFb; CPID; offset, change; priority in its upper bits; address, length. */
void
tqau_cnm_put(uint8_t out[TQAU_CNM_LEN], const struct tqau_cnm *m)
{
	put(out, m->fb & TQAU_FB_MAX, 2);
	put(out + 2, m->cpid, 8);
	put(out + 10, units(m->qoff), 2);
	put(out + 12, units(m->qdelta), 2);
	put(out + 14, (uint64_t)m->prio << 13, 2);
	memcpy(out + 16, m->dst, sizeof(m->dst));
	put(out + 22, m->msdu_len, 2);
}

bool
tqau_cnm_get(const uint8_t *in, uint32_t len, struct tqau_cnm *m)
{
	if (len < TQAU_CNM_LEN || in[0] >> 4 != 0)
		return false;
	*m = (struct tqau_cnm){.fb = in[1] & TQAU_FB_MAX,
			       .cpid = get(in + 2, 8),
			       .qoff = (int16_t)get(in + 10, 2) * OFFSET_UNIT,
			       .qdelta = (int16_t)get(in + 12, 2) * OFFSET_UNIT,
			       .prio = in[14] >> 5,
			       .msdu_len = (uint16_t)get(in + 22, 2)};
	memcpy(m->dst, in + 16, sizeof(m->dst));
	return true;
}

/* --- congestion point ------------------------------------------------------------------------------------------------ */

bool
tqau_cp_frame(struct tqau_cp *cp, uint32_t depth, uint32_t len, uint32_t qeq, uint32_t base, uint32_t jitter,
	      struct tqau_cnm *m)
{
	int64_t fb, most = (int64_t)qeq * (2 * W + 1), gap;

	cp->left -= len;
	if (cp->left > 0)
		return false;
	m->qoff = (int32_t)depth - (int32_t)qeq;
	m->qdelta = (int32_t)depth - (int32_t)cp->old;
	fb = (int64_t)m->qoff + W * (int64_t)m->qdelta;
	fb = fb < 0 ? 0 : fb >= most ? TQAU_FB_MAX : fb * TQAU_FB_MAX / most;
	m->fb = (uint8_t)fb;
	cp->old = depth;
	/* The more there is to say, the sooner it is said again: down to an eighth. */
	gap = base / (1 + fb / 8);
	cp->left = gap * 85 / 100 + gap * 30 / 100 * jitter / 1024;
	return fb != 0;
}

/* --- reaction point -------------------------------------------------------------------------------------------------- */

void
tqau_conf_default(struct tqau_conf *c, uint32_t line_mbps)
{
	*c = (struct tqau_conf){.time_reset = 15000,
				.byte_reset = 150000,
				.threshold = 5,
				.ai_rate = 5,
				.hai_rate = 50,
				.gd = 7,
				.min_dec_fac = 50,
				.min_rate = 10,
				.line_rate = line_mbps};
}

static uint32_t
top_kbps(const struct tqau_conf *c)
{
	uint32_t mbps = c->max_rate == 0 || c->max_rate > c->line_rate ? c->line_rate : c->max_rate;

	return mbps * KBPS_PER_MBPS;
}

/* Of a stage that begins behind so many. */
static uint64_t
stage_of(uint64_t whole, const struct tqau_conf *c, unsigned int stages)
{
	whole = stages < c->threshold ? whole : whole / 2;
	return whole != 0 ? whole : 1;
}

static void
increase(struct tqau_rp *rp, const struct tqau_conf *c)
{
	unsigned int t = rp->time_stage, b = rp->byte_stage, low = t < b ? t : b, high = t < b ? b : t;
	uint64_t target = rp->target;

	/* A target far above what the network gave is given up. */
	if (!c->keep_target && (t == 1 || b == 1) && target > 10 * (uint64_t)rp->rate)
		target /= 8;
	else if (low >= c->threshold)
		target += (uint64_t)c->hai_rate * KBPS_PER_MBPS * (low - c->threshold + 1);
	else if (high >= c->threshold)
		target += (uint64_t)c->ai_rate * KBPS_PER_MBPS;
	if (target > top_kbps(c))
		target = top_kbps(c);
	rp->target = (uint32_t)target;
	rp->rate = (uint32_t)(((uint64_t)rp->rate + target + 1) / 2);
	if (rp->rate >= top_kbps(c))
		*rp = (struct tqau_rp){.send_at = rp->send_at};
}

static void
advance(struct tqau_rp *rp, const struct tqau_conf *c, uint64_t now)
{
	while (rp->limited && c->time_reset != 0 && rp->time_due <= now) {
		uint32_t rate = rp->rate, target = rp->target;
		bool last = rp->time_stage == STAGE_MAX;
		uint64_t stage;

		if (!last)
			rp->time_stage++;
		stage = stage_of(c->time_reset * NS_PER_US, c, rp->time_stage);
		rp->time_due += stage;
		increase(rp, c);
		/* With steps of 0 nothing changes any more, however long it was idle. */
		if (last && rp->rate == rate && rp->target == target && rp->time_due <= now)
			rp->time_due += (now - rp->time_due) / stage * stage + stage;
	}
}

bool
tqau_rp_cnm(struct tqau_rp *rp, const struct tqau_conf *c, unsigned int fb, uint64_t now)
{
	uint64_t part, least, floor = (uint64_t)c->min_rate * KBPS_PER_MBPS, rate;

	if (fb == 0 || floor >= top_kbps(c))
		return false;
	advance(rp, c, now);
	if (!rp->limited)
		*rp = (struct tqau_rp){
			.limited = true, .rate = top_kbps(c), .target = top_kbps(c), .send_at = rp->send_at};
	else if (rp->time_stage != 0 || rp->byte_stage != 0)
		rp->target = rp->rate;
	part = c->gd < 32 ? (uint64_t)rp->rate * fb >> c->gd : 0;
	rate = part < rp->rate ? rp->rate - part : 0;
	least = (uint64_t)rp->rate * c->min_dec_fac / 100;
	rate = rate < least ? least : rate;
	rate = rate < floor ? floor : rate;
	rp->rate = (uint32_t)(rate != 0 ? rate : 1);
	rp->time_stage = rp->byte_stage = 0;
	rp->left = c->byte_reset;
	rp->time_due = now + c->time_reset * NS_PER_US;
	return true;
}

uint64_t
tqau_rp_next(struct tqau_rp *rp, const struct tqau_conf *c, uint64_t now)
{
	advance(rp, c, now);
	return rp->limited && rp->send_at > now ? rp->send_at : now;
}

void
tqau_rp_sent(struct tqau_rp *rp, const struct tqau_conf *c, uint32_t bytes, uint64_t now)
{
	advance(rp, c, now);
	if (!rp->limited)
		return;
	for (rp->left -= bytes; rp->limited && c->byte_reset != 0 && rp->left <= 0;) {
		if (rp->byte_stage < STAGE_MAX)
			rp->byte_stage++;
		rp->left += (int64_t)stage_of(c->byte_reset, c, rp->byte_stage);
		increase(rp, c);
	}
	if (!rp->limited)
		return;
	if (rp->send_at < now)
		rp->send_at = now;
	rp->send_at += (uint64_t)bytes * 8 * 1000000 / rp->rate;
}

uint32_t
tqau_rp_rate(struct tqau_rp *rp, const struct tqau_conf *c, uint64_t now)
{
	advance(rp, c, now);
	return rp->limited ? rp->rate : top_kbps(c);
}
