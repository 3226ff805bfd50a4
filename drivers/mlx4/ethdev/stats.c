/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters: packets and bytes from the queues, the rest from the card [CP 4.7]. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/qos/qos.h"
#include "rte_pmd_mlx4_queue.h"
#include "drivers/mlx4/rx/kinds.h"
#include "drivers/mlx4/rx/lro.h"
#include "drivers/mlx4/tx/counts.h"
#include "ethdev.h"

#define RX_CLASSES 9u /* priorities 0..7, untagged */
#define TX_CLASSES 9u /* the same; looped frames never leave the port */
#define TRIPLE 0x18u  /* stride of octet and frame counters */
#define PLAIN 8u      /* stride of all others */
#define UNSUPPORTED UINT64_MAX

enum counter_kind { BE64_SUM, BE64, BE32 };

/* Stable names; sums go over the priorities. */
static const struct {
	const char *name;
	enum counter_kind kind;
	uint32_t off, classes, stride;
} hw_counter[] = {
	{"rx_port_packets", BE64_SUM, MLX4_STATS_RX_FRAMES(0), RX_CLASSES, TRIPLE},
	{"rx_port_bytes", BE64_SUM, MLX4_STATS_RX_OCT_GOOD(0), RX_CLASSES, TRIPLE},
	{"rx_port_unicast_packets", BE64_SUM, MLX4_STATS_RX_UCAST(0), RX_CLASSES, PLAIN},
	{"rx_port_multicast_packets", BE64_SUM, MLX4_STATS_RX_MCAST(0), RX_CLASSES, PLAIN},
	{"rx_port_broadcast_packets", BE64_SUM, MLX4_STATS_RX_BCAST(0), RX_CLASSES, PLAIN},
	{"rx_port_vlan_packets", BE64_SUM, MLX4_STATS_RX_TAGGED(0), RX_CLASSES, TRIPLE},
	{"rx_size_64_packets", BE64_SUM, MLX4_STATS_RX_SIZE(0, 0), RX_CLASSES, PLAIN},
	{"rx_size_65_to_127_packets", BE64_SUM, MLX4_STATS_RX_SIZE(1, 0), RX_CLASSES, PLAIN},
	{"rx_size_128_to_255_packets", BE64_SUM, MLX4_STATS_RX_SIZE(2, 0), RX_CLASSES, PLAIN},
	{"rx_size_256_to_511_packets", BE64_SUM, MLX4_STATS_RX_SIZE(3, 0), RX_CLASSES, PLAIN},
	{"rx_size_512_to_1023_packets", BE64_SUM, MLX4_STATS_RX_SIZE(4, 0), RX_CLASSES, PLAIN},
	{"rx_size_1024_to_1518_packets", BE64_SUM, MLX4_STATS_RX_SIZE(5, 0), RX_CLASSES, PLAIN},
	{"rx_size_1519_to_1522_packets", BE64_SUM, MLX4_STATS_RX_SIZE(6, 0), RX_CLASSES, PLAIN},
	{"rx_size_1523_to_1548_packets", BE64_SUM, MLX4_STATS_RX_SIZE(7, 0), RX_CLASSES, PLAIN},
	{"rx_size_1549_to_mtu_packets", BE64_SUM, MLX4_STATS_RX_SIZE(8, 0), RX_CLASSES, PLAIN},
	{"rx_size_above_mtu_packets", BE64_SUM, MLX4_STATS_RX_SIZE(9, 0), RX_CLASSES, PLAIN},
	{"rx_port_control_packets", BE64, MLX4_STATS_RX_CONTROL, 1, 0},
	{"rx_port_in_range_length_errors", BE64, MLX4_STATS_RX_INRANGE_LEN, 1, 0},
	{"rx_port_out_of_range_length_errors", BE64, MLX4_STATS_RX_OUTRANGE_LEN, 1, 0},
	{"rx_port_too_long_errors", BE64, MLX4_STATS_RX_TOO_LONG, 1, 0},
	{"rx_port_symbol_errors", BE64, MLX4_STATS_RX_PCS, 1, 0},
	{"rx_port_jabber_errors", BE32, MLX4_STATS_RX_JABBER, 1, 0},
	{"rx_port_crc_errors", BE32, MLX4_STATS_RX_CRC, 1, 0},
	{"rx_port_runt_errors", BE32, MLX4_STATS_RX_RUNT, 1, 0},
	{"rx_port_short_errors", BE32, MLX4_STATS_RX_SHORT, 1, 0},
	{"rx_port_discards", BE32, MLX4_STATS_RX_DROP, 1, 0},
	{"rx_port_overflow_discards", BE32, MLX4_STATS_RX_OVERFLOW, 1, 0},
	{"rx_port_length_discards", BE32, MLX4_STATS_RX_LENGTH, 1, 0},
	{"tx_port_packets", BE64_SUM, MLX4_STATS_TX_FRAMES(0), TX_CLASSES, TRIPLE},
	{"tx_port_bytes", BE64_SUM, MLX4_STATS_TX_OCT_GOOD(0), TX_CLASSES, TRIPLE},
	{"tx_port_unicast_packets", BE64_SUM, MLX4_STATS_TX_UCAST(0), TX_CLASSES, PLAIN},
	{"tx_port_multicast_packets", BE64_SUM, MLX4_STATS_TX_MCAST(0), TX_CLASSES, PLAIN},
	{"tx_port_broadcast_packets", BE64_SUM, MLX4_STATS_TX_BCAST(0), TX_CLASSES, PLAIN},
	{"tx_port_vlan_packets", BE64_SUM, MLX4_STATS_TX_TAGGED(0), TX_CLASSES, TRIPLE},
	{"tx_size_64_packets", BE64_SUM, MLX4_STATS_TX_SIZE(0, 0), TX_CLASSES, PLAIN},
	{"tx_size_65_to_127_packets", BE64_SUM, MLX4_STATS_TX_SIZE(1, 0), TX_CLASSES, PLAIN},
	{"tx_size_128_to_255_packets", BE64_SUM, MLX4_STATS_TX_SIZE(2, 0), TX_CLASSES, PLAIN},
	{"tx_size_256_to_511_packets", BE64_SUM, MLX4_STATS_TX_SIZE(3, 0), TX_CLASSES, PLAIN},
	{"tx_size_512_to_1023_packets", BE64_SUM, MLX4_STATS_TX_SIZE(4, 0), TX_CLASSES, PLAIN},
	{"tx_size_1024_to_1518_packets", BE64_SUM, MLX4_STATS_TX_SIZE(5, 0), TX_CLASSES, PLAIN},
	{"tx_size_1519_to_1522_packets", BE64_SUM, MLX4_STATS_TX_SIZE(6, 0), TX_CLASSES, PLAIN},
	{"tx_size_1523_to_1548_packets", BE64_SUM, MLX4_STATS_TX_SIZE(7, 0), TX_CLASSES, PLAIN},
	{"tx_size_1549_to_mtu_packets", BE64_SUM, MLX4_STATS_TX_SIZE(8, 0), TX_CLASSES, PLAIN},
	{"tx_size_above_mtu_packets", BE64_SUM, MLX4_STATS_TX_SIZE(9, 0), TX_CLASSES, PLAIN},
	{"tx_port_discards", BE32, MLX4_STATS_TX_DROP, 1, 0},
};

/* What software counts, behind those of the card. */
enum sw_counter {
	SW_LINK_DOWNS,
	SW_TX_COPIED,
	SW_TOTAL_PACKETS,
	SW_TOTAL_BYTES,
	SW_SPOOF_MAC,
	SW_SPOOF_TYPE,
	SW_RX_STOPPED,
	SW_TX_STOPPED,
	SW_LRO_PACKETS,
	SW_LRO_OCTETS,
	SW_LRO_EVENTS,
	SW_LRO_ABORTS,
	SW_TX_FAILED,
	SW_QP_ERRORS,
	SW_RX_SPLITS,
	SW_RX_UNSPLIT,
	SW_HEALTH_ALARMS, /* of each sensor, in their order */
	SW_HEALTH_RESTARTS = SW_HEALTH_ALARMS + MLX4_SENSORS,
	SW_HEALTH_DUMPS,
	SW_HEALTH_LOST,
	SW_COMMANDS,
	SW_COMMAND_FAILURES,
	SW_COUNTERS
};
static const char *const sw_name[SW_COUNTERS] = {
	"link_down_events",   "tx_copied_packets",    "total_port_packets",   "total_port_bytes",
	"tx_spoof_mac_drops", "tx_spoof_type_drops",  "rx_stop_drops",        "tx_stop_drops",
	"rx_lro_packets",     "rx_lro_octets",        "rx_lro_events",        "rx_lro_aborts",
	"tx_queue_failures",  "device_qp_errors",     "rx_header_splits",     "rx_header_split_nombuf",
	"health_tx_stuck",    "health_tx_completion", "health_rx_completion", "health_rx_error",
	"health_tx_error",    "health_command",       "health_event",         "health_restarts",
	"health_dumps",       "device_lost_events",   "device_commands",      "device_command_failures"};
#define OWN_XSTATS (RTE_DIM(hw_counter) + SW_COUNTERS)
#define XSTATS (OWN_XSTATS + mlx4_qos_xstats_num())

/* Counters that the card does not have read as all ones [DP 13.1]. */
static uint64_t
counter_read(const uint8_t *box, unsigned int i)
{
	uint64_t sum = 0, v;
	uint32_t c;

	if (hw_counter[i].kind == BE32)
		return prm_get32(box, hw_counter[i].off);
	for (c = 0; c < hw_counter[i].classes; c++) {
		v = prm_get64(box, hw_counter[i].off + c * hw_counter[i].stride);
		if (v != UNSUPPORTED)
			sum += v;
	}
	return sum;
}

static uint64_t
counter_by_name(const uint8_t *box, const char *name)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(hw_counter); i++)
		if (strcmp(hw_counter[i].name, name) == 0)
			return counter_read(box, i);
	return 0;
}

static void
card_counts(const struct mlx4_hca *hca, const uint8_t *box, struct mlx4_card_counts *c)
{
	/*
	 * A frame is in one of them. Those with a wrong length field are received. Those that their buffers are too short for
	 * end with an error of the queue, which counts them.
	 */
	static const char *const lost[] = {"rx_port_crc_errors",    "rx_port_runt_errors",
					   "rx_port_short_errors",  "rx_port_symbol_errors",
					   "rx_port_jabber_errors", "rx_size_above_mtu_packets"};
	unsigned int i;

	c->rx_errors = 0;
	c->missed = counter_by_name(box, "rx_port_discards") + counter_by_name(box, "rx_port_overflow_discards");
	for (i = 0; i < RTE_DIM(lost); i++)
		c->rx_errors += counter_by_name(box, lost[i]);
	/* Or in two, if it is short and damaged. */
	if (mlx4_quirk(hca, MLX4_QUIRK_SHORT_FRAMES) != 0)
		c->rx_errors -= counter_by_name(box, "rx_port_runt_errors");
	c->tx_errors = counter_by_name(box, "tx_port_discards");
}

int
mlx4_stats_get(MLX4_STATS_GET_ARGS)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint8_t box[MLX4_STATS_SIZE];
	struct mlx4_card_counts card;
	struct mlx4_rx_counts rx;
	struct mlx4_tx_counts tx;
	uint16_t i;
	int rc;

	rc = mlx4_port_stats(eth->hca, eth->port, false, box);
	if (rc != 0)
		return rc;
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (eth->rxqs[i] == NULL)
			continue;
		mlx4_rxq_counts_since_reset(eth->rxqs[i], &rx);
		stats->ipackets += rx.packets;
		stats->ibytes += rx.bytes;
		stats->ierrors += rx.errors;
		stats->rx_nombuf += rx.nombuf;
		if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS && MLX4_QSTATS != NULL) {
			MLX4_QSTATS->q_ipackets[i] = rx.packets;
			MLX4_QSTATS->q_ibytes[i] = rx.bytes;
			MLX4_QSTATS->q_errors[i] = rx.errors;
		}
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL)
			continue;
		mlx4_txq_counts_since_reset(eth->txqs[i], &tx);
		stats->opackets += tx.packets;
		stats->obytes += tx.bytes;
		stats->oerrors += tx.errors;
		if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS && MLX4_QSTATS != NULL) {
			MLX4_QSTATS->q_opackets[i] = tx.packets;
			MLX4_QSTATS->q_obytes[i] = tx.bytes;
		}
	}
	card_counts(eth->hca, box, &card);
	stats->imissed = card.missed;
	stats->ierrors += card.rx_errors;
	stats->oerrors += card.tx_errors;
	return 0;
}

static void
queue_totals(const struct mlx4_eth *eth, struct rte_pmd_mlx4_totals *t)
{
	struct mlx4_rx_counts rx;
	struct mlx4_tx_counts tx;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		if (eth->rxqs[i] == NULL)
			continue;
		mlx4_rxq_counts_all(eth->rxqs[i], &rx);
		t->rx_packets += rx.packets;
		t->rx_bytes += rx.bytes;
		t->rx_errors += rx.errors;
		t->rx_nombuf += rx.nombuf;
	}
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL)
			continue;
		mlx4_txq_counts_all(eth->txqs[i], &tx);
		t->tx_packets += tx.packets;
		t->tx_bytes += tx.bytes;
		t->tx_errors += tx.errors;
	}
}

int
rte_pmd_mlx4_totals_get(uint16_t port_id, struct rte_pmd_mlx4_totals *totals)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	uint8_t box[MLX4_STATS_SIZE];
	struct mlx4_card_counts card;
	int rc;

	if (eth == NULL)
		return -ENODEV;
	memset(totals, 0, sizeof(*totals));
	mlx4_control_lock(eth);
	rc = mlx4_port_stats(eth->hca, eth->port, false, box);
	if (rc == 0) {
		card_counts(eth->hca, box, &card);
		queue_totals(eth, totals);
		totals->rx_missed = eth->cleared.missed + card.missed;
		totals->rx_errors += eth->cleared.rx_errors + card.rx_errors;
		totals->tx_errors += eth->cleared.tx_errors + card.tx_errors;
	}
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_queue_totals_get(uint16_t port_id, struct rte_pmd_mlx4_totals *totals)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	memset(totals, 0, sizeof(*totals));
	mlx4_control_lock(eth);
	queue_totals(eth, totals);
	mlx4_control_unlock(eth);
	return 0;
}

int
mlx4_stats_reset(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint8_t box[MLX4_STATS_SIZE];
	struct mlx4_card_counts card;
	uint16_t i;
	int rc;

	/* The card tells what it sets to zero. */
	rc = mlx4_port_stats(eth->hca, eth->port, true, box);
	if (rc != 0)
		return rc;
	card_counts(eth->hca, box, &card);
	eth->cleared.missed += card.missed;
	eth->cleared.rx_errors += card.rx_errors;
	eth->cleared.tx_errors += card.tx_errors;
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			mlx4_rxq_counts_reset(eth->rxqs[i]);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_txq_counts_reset(eth->txqs[i]);
	eth->link_downs = eth->rx_stop_drops = eth->tx_stop_drops = 0;
	eth->commands_base = mlx4_cmd_count(eth->hca);
	eth->command_failures_base = __atomic_load_n(&eth->hca->cmd_failures, __ATOMIC_RELAXED);
	eth->qp_errors_base = __atomic_load_n(&eth->hca->qp_errors, __ATOMIC_RELAXED);
	mlx4_qos_stats_reset(eth);
	mlx4_groups_stats_reset(eth);
	mlx4_rx_kinds_reset(eth);
	mlx4_health_counts_reset(eth);
	return 0;
}

static void
split_counters(const struct mlx4_eth *eth, uint64_t sw[SW_COUNTERS])
{
	struct mlx4_rx_counts rx;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		if (eth->rxqs[i] == NULL)
			continue;
		mlx4_rxq_counts_since_reset(eth->rxqs[i], &rx);
		sw[SW_RX_SPLITS] += rx.splits;
		sw[SW_RX_UNSPLIT] += rx.unsplit;
	}
}

static void
lro_counters(const struct mlx4_eth *eth, uint64_t sw[SW_COUNTERS])
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		const struct mlx4_lro *lro = eth->rxqs[i] != NULL ? eth->rxqs[i]->lro : NULL;

		if (lro == NULL)
			continue;
		sw[SW_LRO_PACKETS] += lro->n.packets - lro->base.packets;
		sw[SW_LRO_OCTETS] += lro->n.octets - lro->base.octets;
		sw[SW_LRO_EVENTS] += lro->n.events - lro->base.events;
		sw[SW_LRO_ABORTS] += lro->n.aborts - lro->base.aborts;
	}
}

static void
health_counters(const struct mlx4_eth *eth, uint64_t sw[SW_COUNTERS])
{
	unsigned int i;

	for (i = 0; i < MLX4_SENSORS; i++)
		sw[SW_HEALTH_ALARMS + i] = eth->health->sensor[i].alarms - eth->health->base.alarms[i];
	sw[SW_HEALTH_RESTARTS] = eth->health->restarts - eth->health->base.restarts;
	sw[SW_HEALTH_DUMPS] = eth->health->dumps - eth->health->base.dumps;
	sw[SW_HEALTH_LOST] = __atomic_load_n(&eth->hca->lost_events, __ATOMIC_RELAXED) - eth->health->base.lost;
}

int
mlx4_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xs, unsigned int n)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint8_t box[MLX4_STATS_SIZE];
	uint64_t sw[SW_COUNTERS] = {0};
	struct mlx4_tx_counts tx;
	unsigned int i;
	int rc;

	if (n < XSTATS || xs == NULL)
		return XSTATS;
	rc = mlx4_port_stats(eth->hca, eth->port, false, box);
	if (rc != 0)
		return rc;
	sw[SW_LINK_DOWNS] = eth->link_downs;
	sw[SW_RX_STOPPED] = eth->rx_stop_drops;
	sw[SW_TX_STOPPED] = eth->tx_stop_drops;
	sw[SW_COMMANDS] = mlx4_cmd_count(eth->hca) - eth->commands_base;
	sw[SW_COMMAND_FAILURES] =
		__atomic_load_n(&eth->hca->cmd_failures, __ATOMIC_RELAXED) - eth->command_failures_base;
	sw[SW_QP_ERRORS] = __atomic_load_n(&eth->hca->qp_errors, __ATOMIC_RELAXED) - eth->qp_errors_base;
	lro_counters(eth, sw);
	split_counters(eth, sw);
	health_counters(eth, sw);
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL)
			continue;
		mlx4_txq_counts_since_reset(eth->txqs[i], &tx);
		sw[SW_TX_COPIED] += tx.linearized;
		sw[SW_TX_FAILED] += tx.failures;
		sw[SW_SPOOF_MAC] += tx.spoof_mac;
		sw[SW_SPOOF_TYPE] += tx.spoof_type;
	}
	sw[SW_TOTAL_PACKETS] = counter_by_name(box, "rx_port_packets") + counter_by_name(box, "tx_port_packets");
	sw[SW_TOTAL_BYTES] = counter_by_name(box, "rx_port_bytes") + counter_by_name(box, "tx_port_bytes");
	for (i = 0; i < OWN_XSTATS; i++) {
		xs[i].id = i;
		xs[i].value = i < RTE_DIM(hw_counter) ? counter_read(box, i) : sw[i - RTE_DIM(hw_counter)];
	}
	rc = mlx4_qos_xstats(eth, box, xs + OWN_XSTATS, OWN_XSTATS);
	return rc != 0 ? rc : (int)XSTATS;
}

int
mlx4_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	unsigned int i;

	if (names == NULL || n < XSTATS)
		return XSTATS;
	for (i = 0; i < OWN_XSTATS; i++)
		snprintf(names[i].name, sizeof(names[i].name), "%s",
			 i < RTE_DIM(hw_counter) ? hw_counter[i].name : sw_name[i - RTE_DIM(hw_counter)]);
	mlx4_qos_xstats_names(names + OWN_XSTATS);
	return XSTATS;
}
