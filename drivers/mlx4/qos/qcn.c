/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Quantized congestion notification (802.1Qau) of what the card's Ethernet queues of a priority send: the parameters of its
 * reaction point, under the names that netlink DCB has for them, and its counters. Each parameter has a bit of its own, and one is
 * told without the others.
 */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "lib/roce/cc/qau.h"
#include "mlx4_prm_cc.h"
#include "qos.h"

static const struct mlx4_cc_value values[] = {MLX4_CC_QAU_VALUES(MLX4_CC_VALUE)};
static const struct {
	uint32_t flag;
	const char *word;
} flags[] = {
#define ROW(flag, word) {flag, word},
	MLX4_CC_QAU_WORDS(ROW)
#undef ROW
};

/* Those with a unit, or another range than that of 32 bits. */
static const struct {
	const char *word, *unit;
	uint32_t max;
} special[] = {
	{"rpg_time_reset", "us", UINT32_MAX}, {"rpg_byte_reset", "B", UINT32_MAX},
	{"rpg_max_rate", "Mb/s", UINT32_MAX}, {"rpg_ai_rate", "Mb/s", UINT32_MAX},
	{"rpg_hai_rate", "Mb/s", UINT32_MAX}, {"rpg_min_dec_fac", "%", 100},
	{"rpg_min_rate", "Mb/s", UINT32_MAX},
};

#define PARAMS RTE_PMD_MLX4_QCN_PARAMS
_Static_assert(RTE_DIM(flags) + RTE_DIM(values) == PARAMS, "the header says how many there are");

/* --- words: flags, and values behind them ---------------------------------------------------------------------- */

/* What the standard has before anything is managed: all off. */
static uint32_t
standard(unsigned int i)
{
	uint8_t set[MLX4_CC_RP_SIZE] = {0};
	struct tqau_conf conf;

	if (i < RTE_DIM(flags))
		return 0;
	tqau_conf_default(&conf, 0);
	prm_set(set, MLX4_CC_QAU_RPS, 1);
#define MEMBER(field, member) prm_set(set, field, conf.member);
	MLX4_CC_QAU_MEMBERS(MEMBER)
#undef MEMBER
	return prm_get(set, values[i - RTE_DIM(flags)].field);
}

const struct rte_pmd_mlx4_qcn_param *
rte_pmd_mlx4_qcn_param(unsigned int i)
{
	static _Thread_local struct rte_pmd_mlx4_qcn_param p;
	unsigned int k;

	if (i >= PARAMS)
		return NULL;
	p = (struct rte_pmd_mlx4_qcn_param){.name = i < RTE_DIM(flags) ? flags[i].word
								       : values[i - RTE_DIM(flags)].word,
					    .unit = "",
					    .max = i < RTE_DIM(flags) ? 1 : UINT32_MAX,
					    .def = standard(i)};
	for (k = 0; k < RTE_DIM(special); k++)
		if (strcmp(special[k].word, p.name) == 0) {
			p.unit = special[k].unit;
			p.max = special[k].max;
		}
	return &p;
}

static int
find(const char *name)
{
	const struct rte_pmd_mlx4_qcn_param *p;
	unsigned int i;

	for (i = 0; (p = rte_pmd_mlx4_qcn_param(i)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return (int)i;
	return -ENOENT;
}

/* Parameter i of a set, and its bit. */
static void
put(uint8_t *set, unsigned int i, uint32_t value)
{
	const struct mlx4_cc_value *v;
	uint32_t is, flag;

	if (i < RTE_DIM(flags)) {
		flag = flags[i].flag;
		is = prm_get32(set, MLX4_CC_FLAGS);
		prm_set32(set, MLX4_CC_FLAGS, value != 0 ? is | flag : is & ~flag);
		prm_set32(set, MLX4_CC_FLAG_MASK, prm_get32(set, MLX4_CC_FLAG_MASK) | flag);
		return;
	}
	v = &values[i - RTE_DIM(flags)];
	prm_set(set, v->field, value);
	prm_set32(set, MLX4_CC_VALUE_MASK, prm_get32(set, MLX4_CC_VALUE_MASK) | 1u << v->bit);
}

/* Does a set say anything of it? */
static bool
has(const uint8_t *set, unsigned int i)
{
	if (i < RTE_DIM(flags))
		return (prm_get32(set, MLX4_CC_FLAG_MASK) & flags[i].flag) != 0;
	return (prm_get32(set, MLX4_CC_VALUE_MASK) >> values[i - RTE_DIM(flags)].bit & 1) != 0;
}

/* The rule is the port's, all others are of a priority. */
static bool
of_port(unsigned int i)
{
	return i < RTE_DIM(flags) && flags[i].flag == MLX4_CC_QAU_KEEP_TARGET;
}

static uint32_t
value_of(const uint8_t *set, unsigned int i)
{
	if (i < RTE_DIM(flags))
		return (prm_get32(set, MLX4_CC_FLAGS) & flags[i].flag) != 0;
	return prm_get(set, values[i - RTE_DIM(flags)].field);
}

/* --- the card -------------------------------------------------------------------------------------------------- */

/* Tells what a set has bits for, and remembers it. */
static int
tell(struct mlx4_eth *eth, uint8_t prios, const uint8_t *set)
{
	int rc = mlx4_port_cc_set(eth->hca, eth->port, MLX4_CC_QAU, prios, set);
	unsigned int i, k;

	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		for (k = 0; k < PARAMS && (prios >> i & 1) != 0; k++)
			if (has(set, k))
				put(eth->qos->qcn[i], k, value_of(set, k));
	return rc;
}

int
mlx4_qcn_restore(struct mlx4_eth *eth)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < TP_PRIOS && rc == 0; i++) {
		const uint8_t *set = eth->qos->qcn[i];

		if (prm_get32(set, MLX4_CC_FLAG_MASK) != 0 || prm_get32(set, MLX4_CC_VALUE_MASK) != 0)
			rc = mlx4_port_cc_set(eth->hca, eth->port, MLX4_CC_QAU, (uint8_t)(1u << i), set);
	}
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: 802.1Qau is as the card has it: %s", eth->dev->data->port_id,
			 rte_strerror(-rc));
		memset(eth->qos->qcn, 0, sizeof(eth->qos->qcn));
	}
	return rc;
}

/* --- calls ----------------------------------------------------------------------------------------------------- */

/* A set of parameters goes to priorities of a port; none: nothing does. */
static int
change(uint16_t port_id, uint8_t prios, const uint8_t *set)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	rc = prios != 0 ? tell(eth, prios, set) : 0;
	mlx4_qos_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_qcn_set(uint16_t port_id, uint8_t prios, const char *name, uint64_t value)
{
	uint8_t set[MLX4_CC_RP_SIZE] = {0};
	int i = find(name);

	if (i < 0)
		return i;
	if (value > rte_pmd_mlx4_qcn_param((unsigned int)i)->max)
		return -ERANGE;
	put(set, (unsigned int)i, (uint32_t)value);
	return change(port_id, of_port((unsigned int)i) && prios != 0 ? UINT8_MAX : prios, set);
}

int
rte_pmd_mlx4_qcn_put(uint16_t port_id, uint8_t prios, const uint32_t value[RTE_PMD_MLX4_QCN_PARAMS])
{
	uint8_t set[MLX4_CC_RP_SIZE] = {0};
	unsigned int i;

	for (i = 0; i < PARAMS; i++) {
		if (of_port(i))
			continue;
		if (value[i] > rte_pmd_mlx4_qcn_param(i)->max)
			return -ERANGE;
		put(set, i, value[i]);
	}
	return change(port_id, prios, set);
}

int
rte_pmd_mlx4_qcn_told(uint16_t port_id, unsigned int prio, uint32_t value[RTE_PMD_MLX4_QCN_PARAMS])
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	unsigned int i;

	if (eth == NULL)
		return -ENODEV;
	if (prio >= TP_PRIOS)
		return -EINVAL;
	if (!eth->hca->caps.qcn)
		return -ENOTSUP;
	mlx4_qos_lock(eth);
	for (i = 0; i < PARAMS; i++)
		value[i] = has(eth->qos->qcn[prio], i) ? value_of(eth->qos->qcn[prio], i) : standard(i);
	mlx4_qos_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_qcn_get(uint16_t port_id, unsigned int prio, const char *name, uint64_t *value)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	uint8_t set[MLX4_CC_RP_SIZE];
	int rc, i = find(name);

	if (i < 0)
		return i;
	if (eth == NULL)
		return -ENODEV;
	if (prio >= TP_PRIOS)
		return -EINVAL;
	mlx4_qos_lock(eth);
	rc = mlx4_port_cc_get(eth->hca, eth->port, MLX4_CC_QAU, prio, set);
	mlx4_qos_unlock(eth);
	if (rc == 0)
		*value = value_of(set, (unsigned int)i);
	return rc;
}

int
rte_pmd_mlx4_qcn_defaults(uint16_t port_id, uint8_t prios)
{
	uint8_t set[MLX4_CC_RP_SIZE] = {0};
	unsigned int i;

	for (i = 0; i < PARAMS; i++)
		if (!of_port(i) || prios == UINT8_MAX)
			put(set, i, standard(i));
	return change(port_id, prios, set);
}

int
mlx4_qcn_stats(struct mlx4_eth *eth, unsigned int prio, struct rte_pmd_mlx4_qcn_stats *st)
{
	uint8_t box[MLX4_CC_STATS_SIZE];
	int rc = mlx4_port_cc_stats(eth->hca, eth->port, MLX4_CC_QAU, (uint8_t)(1u << prio), box);

	if (rc == 0)
		*st = (struct rte_pmd_mlx4_qcn_stats){.limited_cs = prm_get64(box, MLX4_CC_RP_CENTISECONDS),
						      .created = prm_get(box, MLX4_CC_QAU_CREATED),
						      .cnms_handled = prm_get(box, MLX4_CC_RP_HANDLED),
						      .cnms_ignored = prm_get(box, MLX4_CC_RP_IGNORED),
						      .cnms_dropped = prm_get(box, MLX4_CC_RP_DROPPED),
						      .rate_average = prm_get(box, MLX4_CC_RP_RATE_AVERAGE),
						      .rate_min = prm_get(box, MLX4_CC_RP_RATE_MIN),
						      .rate_max = prm_get(box, MLX4_CC_RP_RATE_MAX)};
	return rc;
}

int
rte_pmd_mlx4_qcn_stats(uint16_t port_id, unsigned int prio, struct rte_pmd_mlx4_qcn_stats *st)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (prio >= TP_PRIOS)
		return -EINVAL;
	mlx4_qos_lock(eth);
	rc = mlx4_qcn_stats(eth, prio, st);
	mlx4_qos_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_qcn_clear(uint16_t port_id, uint8_t prios)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	unsigned int i;
	int rc = 0;

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	/* One by one, as counters are asked for. */
	for (i = 0; i < TP_PRIOS && rc == 0; i++)
		if ((prios >> i & 1) != 0)
			rc = mlx4_port_cc_clear(eth->hca, eth->port, MLX4_CC_QAU, (uint8_t)(1u << i));
	mlx4_qos_unlock(eth);
	return rc;
}
