/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Quality of service by command: classes, scheduler, rate limits, flow-control counters [CP 4.3, 4.7, 5.12]. */
#include <errno.h>
#include <string.h>

#include "model/qos/qos.h"
#include "cmd.h"

#define SHARE_ALL 100u

uint8_t
tpm_set_prio2tc(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	uint8_t tc[MLX4_PRIOS];

	for (uint32_t i = 0; i < MLX4_PRIOS; i++) {
		tc[i] = (i & 1) == 0 ? in[i / 2] >> 4 : in[i / 2] & 0xf;
		if (tc[i] >= MLX4_TCS)
			return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
					"priority %u goes to class %u, wanted 0..%u", i, tc[i], MLX4_TCS - 1);
	}
	memcpy(p->prio2tc, tc, sizeof(tc));
	tpm_sched_update(m, p);
	return MLX4_STAT_OK;
}

/* --- scheduler --- */

/* Of a lower number, the one that goes first. */
static uint32_t
group_of(const struct tp_model *m, const uint8_t *e)
{
	uint32_t group = prm_get(e, MLX4_SCHED_GROUP);

	return tpm_quirk(m, MLX4_QUIRK_GROUP_ORDER) == 0 ? group : group ^ MLX4_SCHED_GROUP_ETS;
}

static uint8_t
entry_check(struct tp_model *m, const struct tpm_port *p, uint32_t tc, const uint8_t *e)
{
	uint32_t group = prm_get(e, MLX4_SCHED_GROUP), share = prm_get(e, MLX4_SCHED_BW_PCT),
		 unit = prm_get(e, MLX4_SCHED_RATE_UNIT), rate = prm_get(e, MLX4_SCHED_RATE);

	if (group >= TPM_GROUPS || share > SHARE_ALL)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"class %u: group %u, share %u %%, wanted at most %u and %u", tc, group, share,
				TPM_GROUPS - 1, SHARE_ALL);
	if (share == 0 && tpm_quirk(m, MLX4_QUIRK_SHARES) != 0)
		return tpm_fail(m, BAD_PARAM, SCHED_SHARES, "port", p->num, "class %u: share 0 %%, wanted 1..%u", tc,
				SHARE_ALL);
	if (unit != MLX4_SCHED_UNIT_100M && unit != MLX4_SCHED_UNIT_1G && (unit != 0 || rate != 0))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"class %u: rate %u in unit %u, wanted unit %u or %u", tc, rate, unit,
				MLX4_SCHED_UNIT_100M, MLX4_SCHED_UNIT_1G);
	return MLX4_STAT_OK;
}

/*
 * The shares of the ETS group add up to 100. Linux gives a class that was to have nothing 1 %, so each class of 1 % may
 * be too many. In other groups shares are mere weights: Linux has eight of 100 % in one.
 */
static uint8_t
shares_check(struct tp_model *m, const struct tpm_port *p, const uint8_t *in)
{
	uint32_t sum = 0, ones = 0, classes = 0;

	for (uint32_t i = 0; i < MLX4_TCS; i++) {
		const uint8_t *e = in + MLX4_SCHED_ENTRY * i;

		if (group_of(m, e) != MLX4_SCHED_GROUP_ETS)
			continue;
		classes++;
		sum += prm_get(e, MLX4_SCHED_BW_PCT);
		ones += prm_get(e, MLX4_SCHED_BW_PCT) == 1;
	}
	if (classes != 0 && (sum < SHARE_ALL || sum - ones > SHARE_ALL))
		return tpm_fail(m, BAD_PARAM, SCHED_SHARES, "port", p->num,
				"the shares of the %u classes of group %u add up to %u %%, wanted %u", classes,
				MLX4_SCHED_GROUP_ETS, sum, SHARE_ALL);
	return MLX4_STAT_OK;
}

uint8_t
tpm_set_scheduler(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	uint8_t st = shares_check(m, p, in);

	for (uint32_t i = 0; i < MLX4_TCS && st == MLX4_STAT_OK; i++)
		st = entry_check(m, p, i, in + MLX4_SCHED_ENTRY * i);
	if (st != MLX4_STAT_OK)
		return st;
	for (uint32_t i = 0; i < MLX4_TCS; i++) {
		const uint8_t *e = in + MLX4_SCHED_ENTRY * i;
		uint32_t share = prm_get(e, MLX4_SCHED_BW_PCT), unit = prm_get(e, MLX4_SCHED_RATE_UNIT),
			 rate = prm_get(e, MLX4_SCHED_RATE);
		struct tpm_class *c = &p->qos->tc[i];
		bool none = unit == MLX4_SCHED_UNIT_1G && rate >= MLX4_SCHED_RATE_NONE;

		c->group = (uint8_t)group_of(m, e);
		c->weight = share != 0 ? (uint8_t)share : 1;
		c->rate_kbps = none ? 0 : rate * (unit == MLX4_SCHED_UNIT_1G ? 1000000 : 100000);
		c->active = false;
	}
	tpm_sched_update(m, p);
	return MLX4_STAT_OK;
}

/* --- priority of received frames --- */

uint8_t
tpm_set_prio_map(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	uint32_t trust = prm_get(in, MLX4_PRIOMAP_TRUST);
	uint8_t prio[sizeof(p->qos->dscp_prio)];

	if (trust > MLX4_PRIOMAP_TRUST_DSCP)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "trust %u, wanted 0..%u", trust,
				MLX4_PRIOMAP_TRUST_DSCP);
	for (uint32_t i = 0; i < sizeof(prio); i++) {
		uint8_t b = in[MLX4_PRIOMAP_DSCP + i / 2];

		prio[i] = (i & 1) == 0 ? b >> 4 : b & 0xf;
		if (prio[i] >= MLX4_PRIOS)
			return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
					"DSCP %u has priority %u, wanted 0..%u", i, prio[i], MLX4_PRIOS - 1);
	}
	p->qos->trust = (uint8_t)trust;
	p->qos->untagged_lossless = prm_get(in, MLX4_PRIOMAP_UNTAGGED_LOSSLESS) != 0;
	p->qos->untagged_prio = (uint8_t)prm_get(in, MLX4_PRIOMAP_UNTAGGED_PRIO);
	memcpy(p->qos->dscp_prio, prio, sizeof(prio));
	return MLX4_STAT_OK;
}

uint8_t
tpm_delay_check(struct tp_model *m, uint32_t qpn, const uint8_t *ctx)
{
	uint32_t units = prm_get(ctx, MLX4_QPC_DELAY_DROP);

	if (units == 0 || tpm_delay_offered(m))
		return MLX4_STAT_OK;
	return tpm_fail(m, BAD_PARAM, DELAY_DROP_FW, "QP", qpn, "delay drop of %u units, with firmware %u.%u.%u", units,
			m->cfg.fw_major, m->cfg.fw_minor, m->cfg.fw_subminor);
}

/* --- rate limits of QPs --- */

static uint32_t
rate_kbps(uint32_t unit, uint32_t value)
{
	static const uint32_t kbps[] = {0, 1, 1000, 1000000};

	return kbps[unit] * value;
}

uint32_t
tpm_qp_rate_kbps(const uint8_t *ctx)
{
	return rate_kbps(prm_get(ctx, MLX4_QPC_RATE_UNIT), prm_get(ctx, MLX4_QPC_RATE_VALUE));
}

uint8_t
tpm_qp_rate_check(struct tp_model *m, uint32_t qpn, const uint8_t *ctx)
{
	uint32_t rate = tpm_qp_rate_kbps(ctx), min = rate_kbps(TPM_RATE_MIN_UNIT, TPM_RATE_MIN_VAL),
		 max = rate_kbps(TPM_RATE_MAX_UNIT, TPM_RATE_MAX_VAL);

	if (prm_get(ctx, MLX4_QPC_RATE_UNIT) != 0 && (rate < min || rate > max))
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "QP", qpn, "rate limit %u kb/s, wanted %u..%u", rate, min,
				max);
	return MLX4_STAT_OK;
}

/* --- what was paused --- */

void
tpm_dump_flow(const struct tp_model *m, struct tpm_port *p, bool reset, uint8_t *out)
{
	memset(out, 0, MLX4_PRIOS * MLX4_FLOW_ENTRY);
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		uint8_t *e = out + i * MLX4_FLOW_ENTRY;
		struct tpm_flow *rx = &p->qos->rx[i], *tx = &p->qos->tx[i];

		prm_set64(e, MLX4_FLOW_RX_PAUSE, rx->frames);
		prm_set64(e, MLX4_FLOW_RX_DURATION, tpm_flow_us(m, rx));
		prm_set64(e, MLX4_FLOW_RX_TRANSITION, rx->transitions);
		prm_set64(e, MLX4_FLOW_TX_PAUSE, tx->frames);
		prm_set64(e, MLX4_FLOW_TX_DURATION, tpm_flow_us(m, tx));
		prm_set64(e, MLX4_FLOW_TX_TRANSITION, tx->transitions);
		if (!reset)
			continue;
		*rx = (struct tpm_flow){.on = rx->on, .since = tpm_now(m)};
		*tx = (struct tpm_flow){.on = tx->on, .since = tpm_now(m)};
	}
}

int
tp_model_get_qos(struct tp_model *m, unsigned int port, struct tp_model_qos *s)
{
	struct tpm_port *p;

	if (port < 1 || port > m->cfg.num_ports)
		return -EINVAL;
	p = &m->port[port - 1];
	memset(s, 0, sizeof(*s));
	tpm_lock(&m->lock);
	s->tx_managed = p->tx_managed;
	s->tx_paused = p->qos->paused;
	s->rx_paused = (p->qos->stopped >> TPM_POOL_GLOBAL & 1) != 0 ? 0xff : (uint8_t)p->qos->stopped;
	memcpy(s->rx_lossless_fill, p->qos->rx_fill, sizeof(s->rx_lossless_fill));
	if (p->tx_pause)
		s->rx_lossless_fill[0] = p->qos->rx_fill[TPM_POOL_GLOBAL];
	s->rx_lossy_fill = p->qos->rx_fill[TPM_POOL_LOSSY];
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		const struct tpm_flow *rx = &p->qos->rx[i], *tx = &p->qos->tx[i];

		s->tx_queues[i] = p->qos->queue[i].count;
		s->rx_waiting[i] = p->qos->rx_held[i].count;
		s->rx_overflow[i] = p->qos->rx_overflow[i];
		s->rx_pause[i].frames = rx->frames;
		s->rx_pause[i].paused_us = tpm_flow_us(m, rx);
		s->rx_pause[i].transitions = rx->transitions;
		s->tx_pause[i].frames = tx->frames;
		s->tx_pause[i].paused_us = tpm_flow_us(m, tx);
		s->tx_pause[i].transitions = tx->transitions;
	}
	tpm_unlock(&m->lock);
	return 0;
}
