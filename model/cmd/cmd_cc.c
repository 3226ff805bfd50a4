/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* CONGESTION_CTRL: parameters and counters of congestion control. The algorithms of RoCE ECN came with the Pro. */
#include <string.h>

#include "model/qos/qos.h"
#include "model/roce/roce_cc.h"
#include "cmd.h"

#define KBPS_PER_MBPS 1000u
#define NS_PER_CENTISECOND UINT64_C(10000000)

/* A kind of set: its values, its flags, its size. */
struct form {
	const struct mlx4_cc_value *values;
	uint32_t num, flags, size;
};

#define NUM(a) (sizeof(a) / sizeof((a)[0]))
#define VALUE MLX4_CC_VALUE
static const struct mlx4_cc_value qau[] = {MLX4_CC_QAU_VALUES(VALUE)}, rp[] = {MLX4_CC_RP_VALUES(VALUE)},
				  np[] = {MLX4_CC_NP_VALUES(VALUE)}, general[] = {MLX4_CC_GENERAL_VALUES(VALUE)};
#undef VALUE
static const struct form forms[MLX4_CC_ALGORITHMS] =
	{[MLX4_CC_QAU] = {qau, NUM(qau), MLX4_CC_QAU_ENABLE | MLX4_CC_QAU_TAG | MLX4_CC_QAU_KEEP_TARGET,
			  MLX4_CC_QAU_SIZE},
	 [MLX4_CC_RP] = {rp, NUM(rp),
			 MLX4_CC_RP_CNP | MLX4_CC_RP_FAST_RISE | MLX4_CC_RP_CLAMP | MLX4_CC_RP_FORCE_UD |
				 MLX4_CC_RP_FORCE_UC | MLX4_CC_RP_FORCE_RC | MLX4_CC_RP_CLAMP_AFTER | MLX4_CC_RP_NO_HAI,
			 MLX4_CC_RP_SIZE},
	 [MLX4_CC_NP] = {np, NUM(np), MLX4_CC_NP_ECN | MLX4_CC_NP_RATE_LIMIT, MLX4_CC_NP_SIZE}},
			 general_form = {general, NUM(general),
					 MLX4_CC_GENERAL_CATCH_LIMIT | MLX4_CC_GENERAL_VLAN | MLX4_CC_GENERAL_IPV6,
					 MLX4_CC_GENERAL_SIZE};

/* --- parameters -------------------------------------------------------------------------------------------- */

/* prio: of whose variant a value may be a default beyond the range. */
static uint8_t
value_check(struct tp_model *m, const struct tpm_port *p, unsigned int prio, const struct mlx4_cc_value *v,
	    uint32_t value)
{
	int i = tcc_param_find(v->word);
	const struct tcc_param *param = i < 0 ? NULL : tcc_param((unsigned int)i);
	struct tcc_conf def;

	tcc_conf_default(&def, (enum tcc_variant)p->cc->prio[prio].variant, p->cc->prio[prio].conf.line_rate);
	if (param == NULL || value == tcc_param_get(&def, (unsigned int)i) ||
	    (value >= param->min && (param->line || value <= param->max)))
		return MLX4_STAT_OK;
	return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "%s %u, wanted %u..%u", v->word, value,
			(uint32_t)param->min, param->line ? UINT32_MAX : (uint32_t)param->max);
}

/* Are all the bits of the mask, and all values behind them, good? */
static uint8_t
set_check(struct tp_model *m, const struct tpm_port *p, unsigned int prio, const struct form *f, const uint8_t *in)
{
	uint32_t flags = prm_get32(in, MLX4_CC_FLAG_MASK), values = prm_get32(in, MLX4_CC_VALUE_MASK), left = values;
	uint8_t st = MLX4_STAT_OK;

	for (uint32_t i = 0; i < f->num && st == MLX4_STAT_OK; i++) {
		left &= ~(1u << f->values[i].bit);
		if ((values >> f->values[i].bit & 1) != 0)
			st = value_check(m, p, prio, &f->values[i], prm_get(in, f->values[i].field));
	}
	if (st == MLX4_STAT_OK && ((flags & ~f->flags) != 0 || left != 0))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"mask 0x%08x%08x: bits 0x%08x%08x are no parameter's", flags, values, flags & ~f->flags,
				left);
	return st;
}

static void
set_apply(const struct form *f, const uint8_t *in, uint8_t *set)
{
	uint32_t flags = prm_get32(in, MLX4_CC_FLAG_MASK), values = prm_get32(in, MLX4_CC_VALUE_MASK);
	uint32_t was = prm_get32(set, MLX4_CC_FLAGS), is = prm_get32(in, MLX4_CC_FLAGS);

	prm_set32(set, MLX4_CC_FLAGS, (was & ~flags) | (is & flags));
	for (uint32_t i = 0; i < f->num; i++)
		if ((values >> f->values[i].bit & 1) != 0)
			prm_set(set, f->values[i].field, prm_get(in, f->values[i].field));
}

static uint8_t
do_set(struct tp_model *m, struct tpm_port *p, struct tpm_cmd *c, uint32_t algorithm)
{
	uint32_t prios = MLX4_CC_PRIOS(c->in_modifier);
	bool clear = (c->in_modifier & MLX4_CC_CLEAR) != 0;
	uint8_t st = MLX4_STAT_OK;

	if (prios == 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "parameters of no priority");
	if (!tpm_cmd_need_in(m, c))
		return MLX4_STAT_BAD_PARAM;
	if (!clear)
		st = set_check(m, p, (unsigned int)__builtin_ctz(prios), &forms[algorithm], c->in);
	for (unsigned int i = 0; i < MLX4_PRIOS && st == MLX4_STAT_OK; i++) {
		if ((prios >> i & 1) == 0)
			continue;
		if (clear)
			tpm_cc_defaults(p, i, algorithm);
		else
			set_apply(&forms[algorithm], c->in, p->cc->prio[i].set[algorithm]);
		tpm_cc_changed(m, p, i);
	}
	return st;
}

static uint8_t
do_get(struct tp_model *m, const struct tpm_port *p, struct tpm_cmd *c, uint32_t algorithm)
{
	uint32_t prios = MLX4_CC_PRIOS(c->in_modifier);

	if (prios == 0 || (prios & (prios - 1)) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"parameters of priorities 0x%02x, wanted those of one", prios);
	if (!tpm_cmd_need_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	memcpy(c->out, p->cc->prio[__builtin_ctz(prios)].set[algorithm], forms[algorithm].size);
	return MLX4_STAT_OK;
}

/* Those of the notification points of all ports. */
static uint8_t
do_general(struct tp_model *m, struct tpm_port *p, struct tpm_cmd *c, uint32_t algorithm)
{
	uint8_t st = MLX4_STAT_OK;

	if (algorithm != MLX4_CC_NP)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"general parameters of algorithm %u, wanted %u", algorithm, MLX4_CC_NP);
	if (c->op_modifier == MLX4_CC_GET_GENERAL) {
		if (!tpm_cmd_need_out(m, c))
			return MLX4_STAT_BAD_PARAM;
		memcpy(c->out, p->cc->general, MLX4_CC_GENERAL_SIZE);
		return MLX4_STAT_OK;
	}
	if (!tpm_cmd_need_in(m, c))
		return MLX4_STAT_BAD_PARAM;
	if ((c->in_modifier & MLX4_CC_CLEAR) == 0)
		st = set_check(m, p, 0, &general_form, c->in);
	for (unsigned int i = 0; i < m->cfg.num_ports && st == MLX4_STAT_OK; i++) {
		if ((c->in_modifier & MLX4_CC_CLEAR) != 0)
			tpm_cc_general_defaults(m->port[i].cc);
		else
			set_apply(&general_form, c->in, m->port[i].cc->general);
	}
	return st;
}

/* --- counters ---------------------------------------------------------------------------------------------- */

static uint32_t
highest(uint32_t most)
{
	return most != 0 ? most - 1 : 0;
}

static void
rp_counters(struct tp_model *m, struct tpm_port *p, unsigned int prio, bool clear, uint8_t *out)
{
	struct tpm_cc_prio *c = &p->cc->prio[prio];
	uint64_t kbps, lived;
	uint32_t n = tpm_cc_limiters(m, p, prio, &kbps, &lived);

	prm_set64(out, MLX4_CC_RP_CENTISECONDS, lived / NS_PER_CENTISECOND);
	prm_set(out, MLX4_CC_RP_IGNORED, c->ignored_cnps);
	prm_set(out, MLX4_CC_RP_LIMITERS, n);
	prm_set(out, MLX4_CC_RP_RATE_AVERAGE, c->average_kbps / KBPS_PER_MBPS);
	prm_set(out, MLX4_CC_RP_LIMITER_INDEX, highest(c->most_limiters));
	prm_set(out, MLX4_CC_RP_RATE, (uint32_t)(kbps / KBPS_PER_MBPS));
	prm_set(out, MLX4_CC_RP_HANDLED, c->handled);
	prm_set(out, MLX4_CC_RP_RATE_MIN, c->least_kbps / KBPS_PER_MBPS);
	prm_set(out, MLX4_CC_RP_RATE_MAX, c->greatest_kbps / KBPS_PER_MBPS);
	if (!clear)
		return;
	c->limited_ns = 0;
	c->ignored_cnps = c->handled = 0;
	c->most_limiters = c->limiters;
	c->average_kbps = c->least_kbps = c->greatest_kbps = 0;
}

static void
np_counters(struct tp_model *m, struct tpm_port *p, unsigned int prio, bool clear, uint8_t *out)
{
	struct tpm_cc_prio *c = &p->cc->prio[prio];

	prm_set64(out, MLX4_CC_NP_IGNORED, c->ignored_marks);
	prm_set(out, MLX4_CC_NP_INJECTORS, tpm_cc_injectors(m, p, prio));
	prm_set(out, MLX4_CC_NP_INJECTOR_INDEX, highest(c->most_flows));
	prm_set(out, MLX4_CC_NP_MARKED, c->marked);
	prm_set(out, MLX4_CC_NP_SENT, c->cnps);
	if (!clear)
		return;
	c->ignored_marks = 0;
	c->marked = c->cnps = c->most_flows = 0;
}

static void
qau_counters(struct tp_model *m, struct tpm_port *p, unsigned int prio, bool clear, uint8_t *out)
{
	struct tpm_cn_prio *c = &p->qos->cn.prio[prio];
	uint32_t kbps = tpm_cn_rate(m, p, prio);

	prm_set64(out, MLX4_CC_RP_CENTISECONDS, tpm_cn_lived(m, p, prio) / NS_PER_CENTISECOND);
	prm_set(out, MLX4_CC_RP_IGNORED, c->ignored);
	prm_set(out, MLX4_CC_QAU_CREATED, c->created);
	prm_set(out, MLX4_CC_RP_RATE_AVERAGE, c->average_kbps / KBPS_PER_MBPS);
	prm_set(out, MLX4_CC_RP_RATE, kbps / KBPS_PER_MBPS);
	prm_set(out, MLX4_CC_RP_HANDLED, c->handled);
	prm_set(out, MLX4_CC_RP_RATE_MIN, c->least_kbps / KBPS_PER_MBPS);
	prm_set(out, MLX4_CC_RP_RATE_MAX, c->greatest_kbps / KBPS_PER_MBPS);
	if (!clear)
		return;
	c->created = c->handled = c->ignored = c->average_kbps = c->least_kbps = c->greatest_kbps = 0;
	c->limited_ns = 0;
	c->since = tpm_now(m);
}

/*
 * Priorities of the mask start again with it, all when there is none [U]. Who asks for one of 802.1Qau, as Linux does, finds it in
 * the first block [U].
 */
static uint8_t
do_stats(struct tp_model *m, struct tpm_port *p, struct tpm_cmd *c, uint32_t algorithm)
{
	uint32_t prios = MLX4_CC_PRIOS(c->in_modifier);
	bool clear = (c->in_modifier & MLX4_CC_CLEAR) != 0, one = prios != 0 && (prios & (prios - 1)) == 0;

	if (!tpm_cmd_need_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	memset(c->out, 0, MLX4_CC_STATS_SIZE);
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		bool again = clear && (prios == 0 || (prios >> i & 1) != 0);

		if (algorithm == MLX4_CC_RP)
			rp_counters(m, p, i, again, c->out + MLX4_CC_STATS_BLOCK * i);
		else if (algorithm == MLX4_CC_NP)
			np_counters(m, p, i, again, c->out + MLX4_CC_STATS_BLOCK * i);
		else if (!one || prios == 1u << i)
			qau_counters(m, p, i, again, c->out + (one ? 0 : MLX4_CC_STATS_BLOCK * i));
	}
	return MLX4_STAT_OK;
}

/* --- the command ------------------------------------------------------------------------------------------- */

uint8_t
tpm_cmd_congestion_ctrl(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t algorithm = MLX4_CC_ALGORITHM(c->in_modifier), most = tpm_roce_v2(m) ? MLX4_CC_NP : MLX4_CC_QAU;
	struct tpm_port *p;

	if (m->cfg.no_congestion)
		return tpm_fail(m, BAD_OP, CMD_UNKNOWN, "opcode", c->opcode, "QUERY_DEV_CAP does not offer it");
	p = tpm_cmd_port(m, "CONGESTION_CTRL", MLX4_CC_PORT(c->in_modifier));
	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if (algorithm > most)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"algorithm %u of congestion control, wanted 0..%u", algorithm, most);
	switch (c->op_modifier) {
	case MLX4_CC_GET: return do_get(m, p, c, algorithm);
	case MLX4_CC_STATS: return do_stats(m, p, c, algorithm);
	case MLX4_CC_SET: return do_set(m, p, c, algorithm);
	case MLX4_CC_GET_GENERAL:
	case MLX4_CC_SET_GENERAL: return do_general(m, p, c, algorithm);
	default:
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "CONGESTION_CTRL with op_modifier %u",
				c->op_modifier);
	}
}
