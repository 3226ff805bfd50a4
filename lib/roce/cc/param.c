/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The parameters by name, with ranges and defaults. */
#include <errno.h>
#include <string.h>

#include "cc.h"

#define LINE UINT64_MAX
#define PARAMS(X)                                                                                                      \
	X(clamp_target_rate, "clamp-target-rate", "clamp_tgt_rate", "", 0, 1)                                          \
	X(clamp_target_rate_after_time_inc, "clamp-target-rate-after-time-inc", "clamp_tgt_rate_after_time_inc", "",   \
	  0, 1)                                                                                                        \
	X(disable_hai_stage, "disable-hai-stage", "disable_hai_stage", "", 0, 1)                                       \
	X(time_reset, "time-reset", "rpgTimeReset", "us", 0, 131071)                                                   \
	X(byte_reset, "byte-reset", "rpgByteReset", "64 B", 0, 32767)                                                  \
	X(threshold, "threshold", "rpgThreshold", "", 1, 31)                                                           \
	X(ai_rate, "ai-rate", "rpgAiRate", "Mb/s", 1, LINE)                                                            \
	X(hai_rate, "hai-rate", "rpgHaiRate", "Mb/s", 1, LINE)                                                         \
	X(alpha_to_rate_shift, "alpha-to-rate-shift", "alpha_to_rate_shift", "", 0, 11)                                \
	X(min_dec_fac, "min-dec-fac", "rpgMinDecFac", "%", 0, 100)                                                     \
	X(min_rate, "min-rate", "rpgMinRate", "Mb/s", 0, LINE)                                                         \
	X(max_rate, "max-rate", "rpgMaxRate", "Mb/s", 0, LINE)                                                         \
	X(rate_on_first_cnp, "rate-on-first-cnp", "rate_to_set_on_first_cnp", "Mb/s", 0, LINE)                         \
	X(dce_tcp_g, "dce-tcp-g", "dceTcpG", "1/1024", 0, 1023)                                                        \
	X(dce_tcp_rtt, "dce-tcp-rtt", "dceTcpRtt", "us", 0, 131071)                                                    \
	X(rate_reduce_monitor_period, "rate-reduce-monitor-period", "", "us", 0, UINT32_MAX - 1)                       \
	X(initial_alpha, "initial-alpha", "", "1/1024", 0, 1023)                                                       \
	X(cnp_interval, "cnp-interval", "cnp_timer", "us", 0, 131071)                                                  \
	X(cnp_dscp, "cnp-dscp", "cnp_dscp", "", 0, 63)                                                                 \
	X(cnp_802p_prio, "cnp-802p-prio", "cnp_802p_prio", "", 0, 7)                                                   \
	X(cnp_prio_mode, "cnp-prio-mode", "", "", 0, 1)

static const struct tcc_param params[] = {
#define ROW(member, name, ofed, unit, min, max) {name, ofed, unit, min, max, max == LINE},
	PARAMS(ROW)
#undef ROW
};
#define NUM_PARAMS (sizeof(params) / sizeof(params[0]))

enum {
#define ID(member, name, ofed, unit, min, max) P_##member,
	PARAMS(ID)
#undef ID
};

const struct tcc_param *
tcc_param(unsigned int i)
{
	return i < NUM_PARAMS ? &params[i] : NULL;
}

int
tcc_param_find(const char *name)
{
	for (unsigned int i = 0; i < NUM_PARAMS; i++)
		if (strcmp(params[i].name, name) == 0 || (*name != '\0' && strcmp(params[i].ofed, name) == 0))
			return (int)i;
	return -1;
}

uint64_t
tcc_param_get(const struct tcc_conf *c, unsigned int i)
{
	switch (i) {
#define GET(member, name, ofed, unit, min, max)                                                                        \
	case P_##member: return c->member;
		PARAMS(GET)
#undef GET
	default: return 0;
	}
}

void
tcc_param_force(struct tcc_conf *c, unsigned int i, uint64_t value)
{
	switch (i) {
#define SET(member, name, ofed, unit, min, max)                                                                        \
	case P_##member: c->member = (__typeof__(c->member))value; break;
		PARAMS(SET)
#undef SET
	default: break;
	}
}

int
tcc_param_set(struct tcc_conf *c, unsigned int i, uint64_t value)
{
	const struct tcc_param *p = tcc_param(i);
	int clamped = 0;

	if (p == NULL || value < p->min || value > (p->line ? UINT32_MAX : p->max))
		return -ERANGE;
	if (p->line && value > c->line_rate) {
		value = c->line_rate;
		clamped = 1;
	}
	tcc_param_force(c, i, value);
	return clamped;
}

static const char *const variants[TCC_VARIANTS] = {
	[TCC_CARD] = "card", [TCC_PAPER] = "paper", [TCC_VENDOR] = "vendor-hpcc"};

const char *
tcc_variant_name(enum tcc_variant v)
{
	return variants[v];
}

enum tcc_variant
tcc_variant_find(const char *name)
{
	unsigned int v = 0;

	if (strcmp(name, "vendor") == 0)
		return TCC_VENDOR;
	while (v < TCC_VARIANTS && strcmp(variants[v], name) != 0)
		v++;
	return (enum tcc_variant)v;
}

void
tcc_conf_line(struct tcc_conf *c, uint32_t line)
{
	c->line_rate = line;
	for (unsigned int i = 0; i < NUM_PARAMS; i++)
		if (params[i].line && tcc_param_get(c, i) > line)
			tcc_param_set(c, i, line);
}

/* What a slow line cannot have is the line rate. */
static uint32_t
at_most(uint32_t mbps, uint32_t line)
{
	return mbps < line ? mbps : line;
}

void
tcc_conf_default(struct tcc_conf *c, enum tcc_variant v, uint32_t line)
{
	/* The manual of the card. */
	*c = (struct tcc_conf){.variant = (uint8_t)v,
			       .clamp_target_rate_after_time_inc = true,
			       .time_reset = 100,
			       .byte_reset = 400,
			       .threshold = 5,
			       .ai_rate = at_most(10, line),
			       .hai_rate = at_most(100, line),
			       .alpha_to_rate_shift = 11,
			       .min_dec_fac = 50,
			       .min_rate = at_most(1, line),
			       .rate_on_first_cnp = at_most(3000, line),
			       .dce_tcp_g = 32,
			       .dce_tcp_rtt = 4,
			       .rate_reduce_monitor_period = 32,
			       .cnp_interval = 4,
			       .cnp_802p_prio = 7,
			       .cnp_prio_mode = v == TCC_CARD,
			       .line_rate = line};
	if (v == TCC_PAPER) {
		/* Its table 14, and a hyper increase of ten additive ones, which it does not fix. */
		c->clamp_target_rate = true;
		c->time_reset = 55;
		c->byte_reset = 156250; /* 10 MB */
		c->ai_rate = at_most(40, line);
		c->hai_rate = at_most(400, line);
		c->rate_on_first_cnp = 0;
		c->dce_tcp_g = 4; /* 1/256 */
		c->dce_tcp_rtt = 55;
		c->rate_reduce_monitor_period = 0;
		c->initial_alpha = 1024;
		c->cnp_interval = 50;
	} else if (v == TCC_VENDOR) {
		c->time_reset = 300;
		c->byte_reset = 0;
		c->threshold = 1;
		c->ai_rate = at_most(5, line);
		c->hai_rate = at_most(50, line);
		c->min_rate = at_most(100, line);
		c->rate_on_first_cnp = 0;
		c->dce_tcp_g = 4;
		c->dce_tcp_rtt = 1;
		c->rate_reduce_monitor_period = 4;
		c->initial_alpha = 1024;
	}
}
