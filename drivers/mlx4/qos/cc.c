/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of the card's queue pairs: words of lib/roce/cc as sets of parameters of the card's reaction and
 * notification points. A point is on by a flag of its set. Packets say ECT(0) by flags of the reaction point, too, and not by
 * the paths of queue pairs, so that switching it takes effect at once, also for those that are connected.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "mlx4_prm_cc_words.h"
#include "qos.h"

#define LINE_UNKNOWN 40000u /* Mb/s of a port whose link is down */
#define ECT (MLX4_CC_RP_FORCE_RC | MLX4_CC_RP_FORCE_UC)

/* --- words ------------------------------------------------------------------------------------------------- */

static bool
among(const struct mlx4_cc_value *v, unsigned int n, const char *word)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (v[i].word[0] != '\0' && strcmp(v[i].word, word) == 0)
			return true;
	return false;
}

bool
mlx4_cc_has(const char *word)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(rp_flags); i++)
		if (strcmp(rp_flags[i].word, word) == 0)
			return true;
	return among(rp_values, RTE_DIM(rp_values), word) || among(np_values, RTE_DIM(np_values), word);
}

static unsigned int
param_of(const char *word)
{
	return (unsigned int)tcc_param_find(word);
}

/* Those that the card has otherwise. */
static void
values_put(uint8_t *set, const struct mlx4_cc_value *v, unsigned int n, const struct tcc_conf *was,
	   const struct tcc_conf *conf)
{
	uint32_t mask = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint64_t value;

		if (v[i].word[0] == '\0')
			continue;
		value = tcc_param_get(conf, param_of(v[i].word));
		if (value == tcc_param_get(was, param_of(v[i].word)))
			continue;
		prm_set(set, v[i].field, (uint32_t)value);
		mask |= 1u << v[i].bit;
	}
	prm_set32(set, MLX4_CC_VALUE_MASK, mask);
}

static void
values_get(const uint8_t *set, const struct mlx4_cc_value *v, unsigned int n, struct tcc_conf *conf)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (v[i].word[0] != '\0')
			tcc_param_force(conf, param_of(v[i].word), prm_get(set, v[i].field));
}

static uint32_t
line_rate(const struct mlx4_eth *eth)
{
	uint32_t mbps = eth->dev->data->dev_link.link_speed;

	return mbps != RTE_ETH_SPEED_NUM_NONE && mbps != RTE_ETH_SPEED_NUM_UNKNOWN ? mbps : LINE_UNKNOWN;
}

/* --- the card ---------------------------------------------------------------------------------------------- */

int
mlx4_cc_get(struct mlx4_eth *eth, unsigned int prio, struct tcc_conf *conf, bool *on)
{
	uint8_t set[MLX4_CC_RP_SIZE];
	unsigned int i;
	int rc;

	tcc_conf_default(conf, TCC_CARD, line_rate(eth));
	rc = mlx4_port_cc_get(eth->hca, eth->port, MLX4_CC_RP, prio, set);
	if (rc != 0)
		return rc;
	*on = (prm_get32(set, MLX4_CC_FLAGS) & MLX4_CC_RP_CNP) != 0;
	for (i = 0; i < RTE_DIM(rp_flags); i++)
		tcc_param_set(conf, param_of(rp_flags[i].word),
			      (prm_get32(set, MLX4_CC_FLAGS) & rp_flags[i].flag) != 0);
	values_get(set, rp_values, RTE_DIM(rp_values), conf);
	rc = mlx4_port_cc_get(eth->hca, eth->port, MLX4_CC_NP, prio, set);
	if (rc != 0)
		return rc;
	values_get(set, np_values, RTE_DIM(np_values), conf);
	return 0;
}

static int
tell_rp(struct mlx4_eth *eth, unsigned int prio, const struct tcc_conf *was, const struct tcc_conf *conf, bool on)
{
	uint32_t mask = MLX4_CC_RP_CNP | ECT, flags = on ? mask : 0;
	uint8_t set[MLX4_CC_RP_SIZE] = {0};
	unsigned int i;

	for (i = 0; i < RTE_DIM(rp_flags); i++) {
		mask |= rp_flags[i].flag;
		if (tcc_param_get(conf, param_of(rp_flags[i].word)) != 0)
			flags |= rp_flags[i].flag;
	}
	values_put(set, rp_values, RTE_DIM(rp_values), was, conf);
	prm_set32(set, MLX4_CC_FLAG_MASK, mask);
	prm_set32(set, MLX4_CC_FLAGS, flags);
	return mlx4_port_cc_set(eth->hca, eth->port, MLX4_CC_RP, (uint8_t)(1u << prio), set);
}

static int
tell_np(struct mlx4_eth *eth, unsigned int prio, const struct tcc_conf *was, const struct tcc_conf *conf, bool on)
{
	uint8_t set[MLX4_CC_RP_SIZE] = {0};

	values_put(set, np_values, RTE_DIM(np_values), was, conf);
	prm_set32(set, MLX4_CC_FLAG_MASK, MLX4_CC_NP_ECN);
	prm_set32(set, MLX4_CC_FLAGS, on ? MLX4_CC_NP_ECN : 0);
	return mlx4_port_cc_set(eth->hca, eth->port, MLX4_CC_NP, (uint8_t)(1u << prio), set);
}

int
mlx4_cc_set(struct mlx4_eth *eth, unsigned int prio, const struct tcc_conf *conf, bool on)
{
	struct mlx4_cc *cc = &eth->qos->cc[prio];
	struct tcc_conf was;
	bool was_on = false;
	int rc = mlx4_cc_get(eth, prio, &was, &was_on);

	if (rc != 0)
		return rc;
	rc = tell_rp(eth, prio, &was, conf, on);
	if (rc == 0) {
		rc = tell_np(eth, prio, &was, conf, on);
		if (rc != 0 && tell_rp(eth, prio, conf, &was, was_on) != 0)
			MLX4_LOG(ERR, "port %u: the card did not take congestion control of priority %u back",
				 eth->dev->data->port_id, prio);
	}
	if (rc != 0)
		return rc;
	if (!cc->told) {
		cc->first.conf = was;
		cc->first.on = was_on;
	}
	cc->conf = *conf;
	cc->on = on;
	cc->told = true;
	return 0;
}

int
mlx4_cc_take_back(struct mlx4_eth *eth, unsigned int prio)
{
	struct mlx4_cc *cc = &eth->qos->cc[prio];
	struct tcc_conf conf;
	bool on;
	int rc;

	if (!cc->told)
		return mlx4_cc_get(eth, prio, &conf, &on);
	rc = mlx4_cc_set(eth, prio, &cc->first.conf, cc->first.on);
	cc->told = rc != 0;
	return rc;
}

int
mlx4_cc_restore(struct mlx4_eth *eth)
{
	unsigned int i;
	int rc = 0;

	memset(eth->qos->cc_base, 0, sizeof(eth->qos->cc_base));
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		if (eth->qos->cc[i].told)
			rc = mlx4_cc_set(eth, i, &eth->qos->cc[i].conf, eth->qos->cc[i].on);
	if (rc == 0)
		return 0;
	MLX4_LOG(ERR, "port %u: congestion control is off now from priority %u on: %s", eth->dev->data->port_id, i - 1,
		 rte_strerror(-rc));
	for (i--; i < TP_PRIOS; i++)
		eth->qos->cc[i].told = false;
	return rc;
}

/* --- counters ---------------------------------------------------------------------------------------------- */

static void
add_rp(const uint8_t *b, struct rte_pmd_mlx4_cc_stats *st)
{
	st->limited_cs = prm_get64(b, MLX4_CC_RP_CENTISECONDS);
	st->cnps_ignored = prm_get(b, MLX4_CC_RP_IGNORED);
	st->limited = prm_get(b, MLX4_CC_RP_LIMITERS);
	st->rate_average = prm_get(b, MLX4_CC_RP_RATE_AVERAGE);
	st->cnps_dropped = prm_get(b, MLX4_CC_RP_DROPPED);
	st->rate = prm_get(b, MLX4_CC_RP_RATE);
	st->cnps_handled = prm_get(b, MLX4_CC_RP_HANDLED);
	st->rate_min = prm_get(b, MLX4_CC_RP_RATE_MIN);
	st->rate_max = prm_get(b, MLX4_CC_RP_RATE_MAX);
}

static void
add_np(const uint8_t *b, struct rte_pmd_mlx4_cc_stats *st)
{
	st->marks_ignored = prm_get64(b, MLX4_CC_NP_IGNORED);
	st->flows = prm_get(b, MLX4_CC_NP_INJECTORS);
	st->np_off = prm_get(b, MLX4_CC_NP_LOW_BUFFER);
	st->np_off_us = prm_get64(b, MLX4_CC_NP_LOW_BUFFER_US);
	st->marked = prm_get(b, MLX4_CC_NP_MARKED);
	st->cnps_sent = prm_get(b, MLX4_CC_NP_SENT);
}

int
mlx4_cc_stats(struct mlx4_eth *eth, struct rte_pmd_mlx4_cc_stats st[TP_PRIOS])
{
	uint8_t box[MLX4_CC_STATS_SIZE];
	unsigned int i;
	int rc;

	memset(st, 0, TP_PRIOS * sizeof(*st));
	rc = mlx4_port_cc_stats(eth->hca, eth->port, MLX4_CC_RP, 0, box);
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		add_rp(box + i * MLX4_CC_STATS_BLOCK, &st[i]);
	if (rc == 0)
		rc = mlx4_port_cc_stats(eth->hca, eth->port, MLX4_CC_NP, 0, box);
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		add_np(box + i * MLX4_CC_STATS_BLOCK, &st[i]);
	return rc;
}

int
mlx4_cc_clear(struct mlx4_eth *eth, uint8_t prios)
{
	unsigned int i;
	int rc = mlx4_port_cc_clear(eth->hca, eth->port, MLX4_CC_RP, prios);

	if (rc == 0)
		rc = mlx4_port_cc_clear(eth->hca, eth->port, MLX4_CC_NP, prios);
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		if ((prios >> i & 1) != 0)
			memset(&eth->qos->cc_base[i], 0, sizeof(eth->qos->cc_base[i]));
	return rc;
}

/* --- calls ------------------------------------------------------------------------------------------------- */

/* What is to become of each priority. */
struct change {
	const bool *on; /* NULL: as it is */
	bool defaults, restore;
	int param; /* -1: none */
	uint64_t value;
};

static int
change_one(struct mlx4_eth *eth, unsigned int prio, const struct change *c)
{
	struct tcc_conf conf;
	bool on;
	int rc;

	if (c->restore)
		return mlx4_cc_take_back(eth, prio);
	rc = mlx4_cc_get(eth, prio, &conf, &on);
	if (rc != 0)
		return rc;
	if (c->defaults)
		tcc_conf_default(&conf, TCC_CARD, line_rate(eth));
	if (c->param >= 0)
		rc = tcc_param_set(&conf, (unsigned int)c->param, c->value);
	if (rc == 1)
		MLX4_LOG(WARNING, "port %u: %s %" PRIu64 " is above the line rate: it is %u Mb/s",
			 eth->dev->data->port_id, tcc_param((unsigned int)c->param)->name, c->value, conf.line_rate);
	return rc < 0 ? rc : mlx4_cc_set(eth, prio, &conf, c->on != NULL ? *c->on : on);
}

static int
change(uint16_t port_id, uint8_t prios, const struct change *c)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	unsigned int i;
	int rc = 0;

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		if ((prios >> i & 1) != 0)
			rc = change_one(eth, i, c);
	mlx4_qos_unlock(eth);
	return rc;
}

static int
param_check(const char *name, int *param)
{
	*param = tcc_param_find(name);
	if (*param < 0)
		return -ENOENT;
	return mlx4_cc_has(tcc_param((unsigned int)*param)->name) ? 0 : -EOPNOTSUPP;
}

int
rte_pmd_mlx4_cc_enable(uint16_t port_id, uint8_t prios, bool on)
{
	const struct change c = {.on = &on, .param = -1};

	return change(port_id, prios, &c);
}

int
rte_pmd_mlx4_cc_defaults(uint16_t port_id, uint8_t prios)
{
	const struct change c = {.defaults = true, .param = -1};

	return change(port_id, prios, &c);
}

int
rte_pmd_mlx4_cc_restore(uint16_t port_id, uint8_t prios)
{
	const struct change c = {.restore = true, .param = -1};

	return change(port_id, prios, &c);
}

int
rte_pmd_mlx4_cc_set(uint16_t port_id, uint8_t prios, const char *name, uint64_t value)
{
	struct change c = {.value = value};
	int rc = param_check(name, &c.param);

	return rc != 0 ? rc : change(port_id, prios, &c);
}

static int
look(uint16_t port_id, unsigned int prio, struct tcc_conf *conf, bool *on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (prio >= TP_PRIOS)
		return -EINVAL;
	mlx4_qos_lock(eth);
	rc = mlx4_cc_get(eth, prio, conf, on);
	mlx4_qos_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_cc_enabled(uint16_t port_id, unsigned int prio)
{
	struct tcc_conf conf;
	bool on = false;
	int rc = look(port_id, prio, &conf, &on);

	return rc != 0 ? rc : on;
}

int
rte_pmd_mlx4_cc_get(uint16_t port_id, unsigned int prio, const char *name, uint64_t *value)
{
	struct tcc_conf conf;
	bool on;
	int param, rc = param_check(name, &param);

	if (rc == 0)
		rc = look(port_id, prio, &conf, &on);
	if (rc == 0)
		*value = tcc_param_get(&conf, (unsigned int)param);
	return rc;
}

int
rte_pmd_mlx4_cc_stats(uint16_t port_id, unsigned int prio, struct rte_pmd_mlx4_cc_stats *st)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct rte_pmd_mlx4_cc_stats all[TP_PRIOS];
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (prio >= TP_PRIOS)
		return -EINVAL;
	rc = mlx4_cc_stats(eth, all);
	if (rc == 0)
		*st = all[prio];
	return rc;
}

int
rte_pmd_mlx4_cc_clear(uint16_t port_id, uint8_t prios)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (prios == 0)
		return 0;
	mlx4_qos_lock(eth);
	rc = mlx4_cc_clear(eth, prios);
	mlx4_qos_unlock(eth);
	return rc;
}
