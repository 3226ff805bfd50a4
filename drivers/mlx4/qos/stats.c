/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of the priorities: frames and bytes by the tag, pause frames by the flow-control page [DP 13.1]. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "drivers/mlx4/tx/counts.h"
#include "qos.h"

#define UNSUPPORTED UINT64_MAX

/* Counters that the card does not have read as all ones. */
static uint64_t
get(const uint8_t *box, uint32_t off)
{
	uint64_t v = prm_get64(box, off);

	return v == UNSUPPORTED ? 0 : v;
}

static void
add_class(const uint8_t *box, uint32_t from, struct tp_qos_prio_stats *rx, struct tp_qos_prio_stats *tx)
{
	rx->rx_frames += get(box, MLX4_STATS_RX_FRAMES(from));
	rx->rx_bytes += get(box, MLX4_STATS_RX_OCT_GOOD(from));
	tx->tx_frames += get(box, MLX4_STATS_TX_FRAMES(from));
	tx->tx_bytes += get(box, MLX4_STATS_TX_OCT_GOOD(from));
}

static void
add_pauses(const uint8_t *entry, struct tp_qos_prio_stats *st)
{
	st->rx_pause = get(entry, MLX4_FLOW_RX_PAUSE);
	st->rx_pause_us = get(entry, MLX4_FLOW_RX_DURATION);
	st->rx_pause_transitions = get(entry, MLX4_FLOW_RX_TRANSITION);
	st->tx_pause = get(entry, MLX4_FLOW_TX_PAUSE);
	st->tx_pause_us = get(entry, MLX4_FLOW_TX_DURATION);
	st->tx_pause_transitions = get(entry, MLX4_FLOW_TX_TRANSITION);
}

/* What queues counted: frames that went out without the tag of their priority are counted by the card with the untagged. */
static void
add_queues(const struct mlx4_eth *eth, struct tp_qos_prio_stats st[TP_PRIOS])
{
	unsigned int p;
	uint16_t i;

	for (p = 0; p < TP_PRIOS; p++) {
		uint64_t frames = 0, bytes = 0;

		for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
			struct mlx4_tx_counts c;

			if (eth->txqs[i] == NULL)
				continue;
			mlx4_txq_counts_since_reset(eth->txqs[i], &c);
			frames += c.prio[p].untagged;
			bytes += c.prio[p].untagged_bytes;
			st[p].tx_discards += c.prio[p].discards;
		}
		if (p == 0)
			continue;
		/* Some may wait to be sent. */
		frames = RTE_MIN(frames, st[0].tx_frames);
		bytes = RTE_MIN(bytes, st[0].tx_bytes);
		st[p].tx_frames += frames;
		st[p].tx_bytes += bytes;
		st[0].tx_frames -= frames;
		st[0].tx_bytes -= bytes;
	}
}

int
mlx4_qos_stats(struct mlx4_eth *eth, const uint8_t *box, struct tp_qos_prio_stats st[TP_PRIOS])
{
	const struct mlx4_qos *qos = eth->qos;
	uint8_t flow[MLX4_FLOW_SIZE];
	unsigned int p;
	int rc;

	memset(st, 0, TP_PRIOS * sizeof(*st));
	for (p = 0; p < TP_PRIOS; p++)
		add_class(box, p, &st[p], &st[p]);
	add_class(box, MLX4_STATS_NOVLAN, &st[qos->conf.untagged_prio], &st[0]);
	add_queues(eth, st);
	rc = mlx4_port_flow_stats(eth->hca, eth->port, false, flow);
	if (rc != 0 && rc != -ENOTSUP)
		return rc;
	for (p = 0; p < TP_PRIOS; p++) {
		if (rc == 0)
			add_pauses(flow + p * MLX4_FLOW_ENTRY, &st[p]);
		st[p].tx_discards += qos->tx_discards[p];
	}
	return 0;
}

void
mlx4_qos_stats_reset(struct mlx4_eth *eth)
{
	struct rte_pmd_mlx4_cc_stats cc[TP_PRIOS];
	uint8_t flow[MLX4_FLOW_SIZE];

	/* A firmware without this page has nothing to reset. */
	mlx4_port_flow_stats(eth->hca, eth->port, true, flow);
	mlx4_qos_lock(eth);
	memset(eth->qos->tx_discards, 0, sizeof(eth->qos->tx_discards));
	/* The card's go on, as others look at them, too. */
	if (mlx4_cc_stats(eth, cc) == 0)
		memcpy(eth->qos->cc_base, cc, sizeof(cc));
	mlx4_qos_unlock(eth);
}

/* Names of the extended statistics, "rx_prio0_packets" and so on. */
static const struct {
	const char *dir, *name;
	size_t off;
} counter[] = {
#define C(d, n, f)                                                                                                     \
	{                                                                                                              \
		d, n, offsetof(struct tp_qos_prio_stats, f)                                                            \
	}
	C("rx", "packets", rx_frames),
	C("rx", "bytes", rx_bytes),
	C("tx", "packets", tx_frames),
	C("tx", "bytes", tx_bytes),
	C("rx", "pause", rx_pause),
	C("rx", "pause_us", rx_pause_us),
	C("rx", "pause_transitions", rx_pause_transitions),
	C("tx", "pause", tx_pause),
	C("tx", "pause_us", tx_pause_us),
	C("tx", "pause_transitions", tx_pause_transitions),
	C("tx", "discards", tx_discards),
#undef C
};

/* Congestion control of each priority, behind all others: "rx_prio0_ecn_marked" and so on. What is said of now has no base. */
static const struct {
	const char *dir, *name;
	size_t off;
	bool now;
} cc_counter[] = {
#define C(d, n, f, now) {d, n, offsetof(struct rte_pmd_mlx4_cc_stats, f), now},
	C("rx", "ecn_marked", marked, false) C("rx", "ecn_ignored", marks_ignored, false)
		C("tx", "cnps", cnps_sent, false) C("rx", "cnps", cnps_handled, false)
			C("rx", "cnps_ignored", cnps_ignored, false) C("tx", "limited_qps", limited, true)
				C("tx", "limited_mbps", rate, true)
#undef C
};

/* Behind the priorities. */
enum { HOL_DROPS, HOL_STALLS, HOL_COUNTERS }; /* of each class, behind those */
enum { STALL_MINOR, STALL_CRITICAL, STALL_COUNTERS };
static const char *const stall_name[STALL_COUNTERS] = {"rx_stall_minor", "rx_stall_critical"};

unsigned int
mlx4_qos_xstats_num(void)
{
	return TP_PRIOS * (RTE_DIM(counter) + RTE_DIM(cc_counter)) + STALL_COUNTERS + TP_TCS * HOL_COUNTERS;
}

void
mlx4_qos_xstats_names(struct rte_eth_xstat_name *names)
{
	unsigned int p, i;

	for (p = 0; p < TP_PRIOS; p++)
		for (i = 0; i < RTE_DIM(counter); i++, names++)
			snprintf(names->name, sizeof(names->name), "%s_prio%u_%s", counter[i].dir, p, counter[i].name);
	for (i = 0; i < STALL_COUNTERS; i++, names++)
		snprintf(names->name, sizeof(names->name), "%s", stall_name[i]);
	for (i = 0; i < TP_TCS; i++, names += HOL_COUNTERS) {
		snprintf(names[HOL_DROPS].name, sizeof(names->name), "tx_tc%u_lifetime_drops", i);
		snprintf(names[HOL_STALLS].name, sizeof(names->name), "tx_tc%u_stalls", i);
	}
	for (p = 0; p < TP_PRIOS; p++)
		for (i = 0; i < RTE_DIM(cc_counter); i++, names++)
			snprintf(names->name, sizeof(names->name), "%s_prio%u_%s", cc_counter[i].dir, p,
				 cc_counter[i].name);
}

static uint64_t
cc_value(const struct rte_pmd_mlx4_cc_stats *st, unsigned int i)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)st + cc_counter[i].off);
}

/* Of firmware without congestion control: zeros. With the lock. */
static int
cc_xstats(struct mlx4_eth *eth, struct rte_eth_xstat *xs)
{
	struct rte_pmd_mlx4_cc_stats st[TP_PRIOS];
	unsigned int p, i;
	int rc = mlx4_cc_stats(eth, st);

	if (rc != 0 && rc != -ENOTSUP)
		return rc;
	for (p = 0; p < TP_PRIOS; p++)
		for (i = 0; i < RTE_DIM(cc_counter); i++, xs++)
			xs->value = cc_value(&st[p], i) - (cc_counter[i].now ? 0 : cc_value(&eth->qos->cc_base[p], i));
	return 0;
}

int
mlx4_qos_xstats(struct mlx4_eth *eth, const uint8_t *box, struct rte_eth_xstat *xs, uint64_t first_id)
{
	struct rte_eth_xstat *stall = &xs[TP_PRIOS * RTE_DIM(counter)], *hol = stall + STALL_COUNTERS;
	struct tp_qos_prio_stats st[TP_PRIOS];
	unsigned int p, i;
	int rc;

	mlx4_qos_lock(eth);
	rc = mlx4_qos_stats(eth, box, st);
	stall[STALL_MINOR].value = eth->qos->stall.minors;
	stall[STALL_CRITICAL].value = eth->qos->stall.criticals;
	for (i = 0; i < TP_TCS; i++, hol += HOL_COUNTERS) {
		hol[HOL_DROPS].value = eth->qos->hol[i].drops;
		hol[HOL_STALLS].value = eth->qos->hol[i].stalls;
	}
	if (rc == 0)
		rc = cc_xstats(eth, hol);
	mlx4_qos_unlock(eth);
	if (rc != 0)
		return rc;
	for (p = 0; p < TP_PRIOS; p++)
		for (i = 0; i < RTE_DIM(counter); i++)
			memcpy(&xs[p * RTE_DIM(counter) + i].value, (const uint8_t *)&st[p] + counter[i].off,
			       sizeof(xs->value));
	for (i = 0; i < mlx4_qos_xstats_num(); i++)
		xs[i].id = first_id + i;
	return 0;
}

int
rte_pmd_mlx4_qos_stats(uint16_t port_id, struct tp_qos_prio_stats st[TP_PRIOS])
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	uint8_t box[MLX4_STATS_SIZE];
	int rc;

	if (eth == NULL)
		return -ENODEV;
	rc = mlx4_port_stats(eth->hca, eth->port, false, box);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	rc = mlx4_qos_stats(eth, box, st);
	mlx4_qos_unlock(eth);
	return rc;
}
