/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The reaction point. A CNP cuts the rate by a part that grows with how often CNPs come (alpha). Then the rate comes back by
 * stages, of time and of bytes: half the way to where it was (fast recovery), then beyond it by a small step (additive) and
 * a large one (hyper increase).
 */
#include "cc.h"

#define NS_PER_US UINT64_C(1000)
#define KBPS_PER_MBPS 1000u
#define STAGE_MAX 255u
#define G_ONE 1024u
#define ALPHA_SHIFT 30u
#define BYTE_UNIT 64u

/* How many whole periods have passed since *from, which moves by them. */
static uint64_t
periods(uint64_t *from, uint64_t period_ns, uint64_t now)
{
	uint64_t n;

	if (period_ns == 0 || now < *from)
		return 0;
	n = (now - *from) / period_ns;
	*from += n * period_ns;
	return n;
}

static uint32_t
alpha_mul(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> ALPHA_SHIFT);
}

/* alpha * (1 - g)^n by squaring: an idle queue pair may have missed millions of updates. */
static uint32_t
decay(uint32_t alpha, uint32_t g, uint64_t n)
{
	uint32_t keep = (G_ONE - g) << (ALPHA_SHIFT - 10);

	for (; n != 0 && alpha != 0; n >>= 1) {
		if ((n & 1) != 0)
			alpha = alpha_mul(alpha, keep);
		keep = alpha_mul(keep, keep);
	}
	return alpha;
}

static uint32_t
grow(uint32_t alpha, uint32_t g)
{
	return decay(alpha, g, 1) + (g << (ALPHA_SHIFT - 10));
}

/* The updates of alpha that were due: with a CNP in the period it grows, without it falls. */
static void
alpha_advance(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	uint64_t n = periods(&rp->alpha_from, c->dce_tcp_rtt * NS_PER_US, now);

	if (n == 0)
		return;
	if (rp->cnp_in_tick) {
		rp->cnp_in_tick = false;
		rp->alpha = grow(rp->alpha, c->dce_tcp_g);
		n--;
	}
	rp->alpha = decay(rp->alpha, c->dce_tcp_g, n);
}

static uint32_t
line_kbps(const struct tcc_conf *c)
{
	return c->line_rate * KBPS_PER_MBPS;
}

/* Where a limit begins and ends. */
static uint32_t
top_kbps(const struct tcc_conf *c)
{
	return c->max_rate != 0 && c->max_rate < c->line_rate ? c->max_rate * KBPS_PER_MBPS : line_kbps(c);
}

/* The card's text leaves open which side a stage at the threshold is on: it is taken as passed. */
static bool
passed(const struct tcc_conf *c, uint8_t stage)
{
	return c->variant == TCC_CARD ? stage >= c->threshold : stage > c->threshold;
}

enum phase { RECOVERY, ADDITIVE, HYPER };

static enum phase
phase_of(const struct tcc_rp *rp, const struct tcc_conf *c)
{
	bool time = passed(c, rp->time_stage), bytes = passed(c, rp->byte_stage);

	if (c->variant == TCC_VENDOR)
		return time ? HYPER : rp->time_stage == c->threshold ? ADDITIVE : RECOVERY;
	if (time && bytes)
		return HYPER;
	if (c->variant == TCC_CARD)
		return time || bytes ? ADDITIVE : RECOVERY;
	/* The paper: fast recovery until a stage reaches the threshold. */
	return rp->time_stage >= c->threshold || rp->byte_stage >= c->threshold ? ADDITIVE : RECOVERY;
}

static uint32_t
hyper_step(const struct tcc_rp *rp, const struct tcc_conf *c)
{
	uint8_t stage = rp->time_stage < rp->byte_stage ? rp->time_stage : rp->byte_stage;

	return c->variant == TCC_PAPER ? c->hai_rate * (uint32_t)(stage - c->threshold) : c->hai_rate;
}

static void
release(struct tcc_rp *rp)
{
	rp->limited = false;
	rp->rate = 0;
	rp->pending = false;
}

/* A stage was passed. */
static void
increase(struct tcc_rp *rp, const struct tcc_conf *c)
{
	enum phase phase = phase_of(rp, c);
	uint64_t target = rp->target;

	if (phase == HYPER && !c->disable_hai_stage)
		target += (uint64_t)hyper_step(rp, c) * KBPS_PER_MBPS;
	else if (phase != RECOVERY)
		target += (uint64_t)c->ai_rate * KBPS_PER_MBPS;
	if (target > top_kbps(c))
		target = top_kbps(c);
	rp->target = (uint32_t)target;
	/* Up, so that the last halves are not lost by rounding. */
	rp->rate = (uint32_t)(((uint64_t)rp->rate + rp->target + 1) / 2);
	if (rp->rate >= top_kbps(c))
		release(rp);
}

/* TCC_VENDOR counts a stage of time behind what it raises, so that as many as the threshold says are fast recovery. */
static void
time_stage(struct tcc_rp *rp, const struct tcc_conf *c)
{
	bool behind = c->variant == TCC_VENDOR;

	if (!behind && rp->time_stage < STAGE_MAX)
		rp->time_stage++;
	rp->time_due += c->time_reset * NS_PER_US;
	increase(rp, c);
	if (behind && rp->time_stage < STAGE_MAX)
		rp->time_stage++;
}

static void
cut(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t at)
{
	uint64_t part = (uint64_t)rp->rate * (rp->alpha >> (ALPHA_SHIFT - 20)) >> 10 >> c->alpha_to_rate_shift;
	uint64_t rate = part < rp->rate ? rp->rate - part : 0;
	uint64_t least = (uint64_t)rp->rate * c->min_dec_fac / 100, floor = (uint64_t)c->min_rate * KBPS_PER_MBPS;

	if (c->variant == TCC_PAPER || c->clamp_target_rate ||
	    (c->clamp_target_rate_after_time_inc ? rp->time_stage > 0 : c->variant == TCC_CARD && rp->byte_stage > 0) ||
	    (c->variant == TCC_VENDOR && rp->time_stage > 0))
		rp->target = rp->rate;
	if (rate < least)
		rate = least;
	if (rate < floor)
		rate = floor;
	rp->rate = (uint32_t)(rate != 0 ? rate : 1);
	rp->time_stage = rp->byte_stage = 0;
	rp->bytes = 0;
	rp->time_due = at + c->time_reset * NS_PER_US;
	rp->decreased = at;
	rp->pending = false;
}

static uint64_t
monitor_ns(const struct tcc_conf *c)
{
	return c->variant == TCC_PAPER ? 0 : c->rate_reduce_monitor_period * NS_PER_US;
}

/* What the timers would have done by now, in order. */
static void
advance(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	uint64_t check;

	while (rp->limited) {
		check = rp->pending ? rp->decreased + monitor_ns(c) : TCC_NEVER;
		if (c->time_reset != 0 && rp->time_due <= now && rp->time_due <= check) {
			time_stage(rp, c);
		} else if (check <= now) {
			alpha_advance(rp, c, check);
			cut(rp, c, check);
		} else {
			return;
		}
	}
}

static void
first_cnp(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	uint32_t top = top_kbps(c), first = c->rate_on_first_cnp * KBPS_PER_MBPS;
	uint64_t send_at = rp->send_at;

	*rp = (struct tcc_rp){.limited = true,
			      .rate = top,
			      .target = top,
			      .alpha = (uint32_t)c->initial_alpha << (ALPHA_SHIFT - 10),
			      .alpha_from = now,
			      .send_at = send_at};
	if (first > top)
		first = top;
	if (c->variant == TCC_VENDOR) {
		/* It is cut at the check, and then stages of time begin. */
		rp->decreased = now;
		rp->time_due = TCC_NEVER;
		if (first != 0)
			rp->rate = rp->target = first;
		return;
	}
	cut(rp, c, now);
	rp->target = top;
	if (first != 0 && first >= (uint64_t)c->min_rate * KBPS_PER_MBPS)
		rp->rate = first;
}

/* TCC_VENDOR: of a flow that is back at the line's rate alpha has gone on, and so have the checks. */
static void
cnp_again(struct tcc_rp *rp, const struct tcc_conf *c)
{
	rp->limited = true;
	rp->rate = rp->target = top_kbps(c);
	rp->time_stage = rp->byte_stage = 0;
	rp->time_due = TCC_NEVER;
}

/* TCC_VENDOR: checks come each period since the first CNP, whether there is anything to check or not. */
static void
await_check(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	uint64_t period = monitor_ns(c);

	if (!rp->pending) {
		if (period == 0)
			rp->decreased = now;
		else if (now > rp->decreased)
			rp->decreased += (now - rp->decreased - 1) / period * period;
		rp->pending = true;
	}
	advance(rp, c, now);
}

bool
tcc_rp_cnp(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	bool first;

	if (c->min_rate * KBPS_PER_MBPS >= top_kbps(c))
		return false;
	advance(rp, c, now);
	first = !rp->limited && !(c->variant == TCC_VENDOR && rp->had_cnp);
	if (first) {
		first_cnp(rp, c, now);
	} else {
		if (!rp->limited)
			cnp_again(rp, c);
		alpha_advance(rp, c, now);
	}
	rp->had_cnp = true;
	switch (c->variant) {
	case TCC_PAPER:
		if (!first)
			cut(rp, c, now);
		/* The cut is by the alpha of before; then it grows, and its timer begins anew. */
		rp->alpha = grow(rp->alpha, c->dce_tcp_g);
		rp->alpha_from = now;
		break;
	case TCC_VENDOR:
		/* alpha of the first one is given. */
		rp->cnp_in_tick = !first;
		await_check(rp, c, now);
		break;
	default:
		if (!first && now - rp->decreased >= monitor_ns(c))
			cut(rp, c, now);
		rp->cnp_in_tick = true;
		break;
	}
	return true;
}

uint64_t
tcc_rp_next(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	if (!rp->limited)
		return now;
	advance(rp, c, now);
	return rp->limited && rp->send_at > now ? rp->send_at : now;
}

void
tcc_rp_sent(struct tcc_rp *rp, const struct tcc_conf *c, uint32_t bytes, uint64_t now)
{
	uint64_t stage = (uint64_t)c->byte_reset * BYTE_UNIT;

	if (!rp->limited)
		return;
	advance(rp, c, now);
	rp->bytes += bytes;
	while (rp->limited && c->variant != TCC_VENDOR && stage != 0 && rp->bytes >= stage) {
		rp->bytes -= stage;
		if (rp->byte_stage < STAGE_MAX)
			rp->byte_stage++;
		increase(rp, c);
	}
	if (!rp->limited)
		return;
	/* A queue pair that had nothing to send has saved nothing. */
	if (rp->send_at < now)
		rp->send_at = now;
	rp->send_at += (uint64_t)bytes * 8 * 1000000 / rp->rate;
}

uint32_t
tcc_rp_rate(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	if (rp->limited)
		advance(rp, c, now);
	return rp->limited ? rp->rate : line_kbps(c);
}

uint32_t
tcc_rp_alpha(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	if (rp->limited) {
		advance(rp, c, now);
		alpha_advance(rp, c, now);
	}
	return rp->alpha;
}
