/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters: of the queues, of the interface, and of both together where both drop. */
#include <errno.h>

#include <rte_string_fns.h>

#include "lib/ipoib/port/cm.h"
#include "lib/ipoib/port/port.h"

static const char *const drop_names[][2] = {
#define ROW(id, name, text) {"drop_" name, text},
	IPOIB_DROPS(ROW)
#undef ROW
};

static const struct {
	const char *name, *text;
	size_t at;
} core_rows[] = {
#define ROW(field, text)                                                                                               \
	{                                                                                                              \
#field, text, offsetof(struct ipoib_core_stats, field)                                                 \
	}
	ROW(tx_arp, "ARP packets translated and sent"),
	ROW(tx_nd, "neighbour discovery translated and sent"),
	ROW(tx_dhcp, "DHCP messages translated and sent"),
	ROW(tx_reports, "reports of group membership sent"),
	ROW(rx_arp, "ARP packets received and translated"),
	ROW(rx_nd, "neighbour discovery received and translated"),
	ROW(rx_dhcp, "DHCP messages received and translated"),
	ROW(rx_learned, "neighbours learned"),
	ROW(paths_asked, "paths asked for"),
	ROW(paths_failed, "paths that were not given"),
	ROW(joins, "groups asked to join"),
	ROW(joins_failed, "groups that were not joined"),
	ROW(leaves, "groups left"),
	ROW(queries, "general queries of the monitor"),
	ROW(aged, "neighbours, groups and addresses forgotten for want of use"),
	ROW(conns_asked, "connections asked for"),
	ROW(conns_up, "connections that the peer took"),
	ROW(conns_accepted, "connections of peers"),
	ROW(conns_refused, "connections that the peer refused"),
	ROW(conns_failed, "connections that did not come about: no answer, or no queue pair"),
	ROW(conns_declined, "connections of peers that were refused"),
	ROW(conns_closed, "connections that ended"),
	ROW(too_big_told, "senders that were told what their destination takes"),
	ROW(events, "changes of the port or the subnet manager"),
#undef ROW
};

#define QUEUE_ROWS 9u
#define ROWS (QUEUE_ROWS + RTE_DIM(core_rows) + IPOIB_DROP_NUM)

static uint64_t
count(const uint64_t *n, const uint64_t *base, bool all)
{
	return all ? ipoib_count(n) : ipoib_count_since(n, base);
}

#define SUM(p, queues, num, field, all)                                                                                \
	({                                                                                                             \
		uint64_t sum_ = 0;                                                                                     \
		for (unsigned int i_ = 0; i_ < (p)->num; i_++)                                                         \
			sum_ += (p)->queues[i_] != NULL                                                                \
					? count(&(p)->queues[i_]->n.field, &(p)->queues[i_]->base.field, all)          \
					: 0;                                                                           \
		sum_;                                                                                                  \
	})
#define SUM_RX(p, field, all) SUM(p, rxq, num_rx, field, all)
#define SUM_TX(p, field, all) SUM(p, txq, num_tx, field, all)
#define OF_PORT(p, field, all) count(&(p)->n.field, &(p)->base.field, all)

static uint64_t
dropped(const struct ipoib_port *p, unsigned int why, bool all)
{
	return count(&p->core.stats.drop[why], &p->core_base.drop[why], all) + SUM_RX(p, drop[why], all) +
	       SUM_TX(p, drop[why], all) + (why == IPOIB_DROP_TX_ERROR ? OF_PORT(p, tx_error, all) : 0);
}

static const struct {
	const char *name, *text;
} queue_rows[QUEUE_ROWS] = {
	{"rx_multicast_packets", "packets of groups received"},
	{"tx_multicast_packets", "packets sent to groups"},
	{"rx_control_packets", "packets received that the control thread took"},
	{"tx_control_packets", "packets to be sent that the control thread took"},
	{"tx_control_sent", "packets that the control thread sent"},
	{"tx_copied", "packets copied to be sent"},
	{"tx_large", "packets that the card cut"},
	{"tx_conn_packets", "packets sent by connections"},
	{"rx_conn_packets", "packets received by connections"},
};

static uint64_t
queue_row(const struct ipoib_port *p, unsigned int i)
{
	switch (i) {
	case 0: return SUM_RX(p, multicast, false);
	case 1: return SUM_TX(p, multicast, false);
	case 2: return SUM_RX(p, handed, false);
	case 3: return SUM_TX(p, handed, false);
	case 4: return OF_PORT(p, slow_sent, false);
	case 5: return SUM_TX(p, copied, false);
	case 6: return SUM_TX(p, large, false);
	case 7: return OF_PORT(p, cm_tx, false);
	default: return OF_PORT(p, cm_rx, false);
	}
}

static void
row(const struct ipoib_port *p, unsigned int i, const char **name, const char **text, uint64_t *value)
{
	if (i < QUEUE_ROWS) {
		*name = queue_rows[i].name;
		*text = queue_rows[i].text;
		*value = queue_row(p, i);
		return;
	}
	i -= QUEUE_ROWS;
	if (i < RTE_DIM(core_rows)) {
		*name = core_rows[i].name;
		*text = core_rows[i].text;
		*value = ipoib_count_since(&((const uint64_t *)&p->core.stats)[core_rows[i].at / sizeof(*value)],
					   &((const uint64_t *)&p->core_base)[core_rows[i].at / sizeof(*value)]);
		return;
	}
	i -= RTE_DIM(core_rows);
	*name = drop_names[i][0];
	*text = drop_names[i][1];
	*value = dropped(p, i, false);
}

/* Errors are the port's: the control thread drops, too. */
static void
queue_stats(const struct ipoib_port *p, IPOIB_QSTATS_ARG)
{
	unsigned int i;

	for (i = 0; i < p->num_rx && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		const struct ipoib_rxq *rx = p->rxq[i];

		q->q_ipackets[i] = rx != NULL ? ipoib_count_since(&rx->n.packets, &rx->base.packets) : 0;
		q->q_ibytes[i] = rx != NULL ? ipoib_count_since(&rx->n.bytes, &rx->base.bytes) : 0;
	}
	for (i = 0; i < p->num_tx && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		const struct ipoib_txq *tx = p->txq[i];

		q->q_opackets[i] = tx != NULL ? ipoib_count_since(&tx->n.packets, &tx->base.packets) : 0;
		q->q_obytes[i] = tx != NULL ? ipoib_count_since(&tx->n.bytes, &tx->base.bytes) : 0;
	}
}

void
ipoib_port_totals(const struct ipoib_port *p, bool all, struct tp_ipoib_totals *t)
{
	unsigned int i;

	*t = (struct tp_ipoib_totals){
		.rx_packets = SUM_RX(p, packets, all),
		.rx_bytes = SUM_RX(p, bytes, all),
		.rx_nombuf = SUM_RX(p, nombuf, all),
		.tx_packets = SUM_TX(p, packets, all) + OF_PORT(p, slow_sent, all),
		.tx_bytes = SUM_TX(p, bytes, all) + OF_PORT(p, slow_bytes, all),
	};
	for (i = 0; i < IPOIB_DROP_NUM; i++) {
		if (i < IPOIB_DROP_RX_SHORT)
			t->tx_errors += dropped(p, i, all);
		else
			t->rx_errors += dropped(p, i, all);
	}
}

void
ipoib_stats_fill(const struct tp_ipoib_totals *t, struct rte_eth_stats *stats)
{
	stats->ipackets = t->rx_packets;
	stats->ibytes = t->rx_bytes;
	stats->rx_nombuf = t->rx_nombuf;
	stats->ierrors = t->rx_errors;
	stats->opackets = t->tx_packets;
	stats->obytes = t->tx_bytes;
	stats->oerrors = t->tx_errors;
}

int
ipoib_stats_get(IPOIB_STATS_GET_ARGS)
{
	const struct ipoib_port *p = dev->data->dev_private;
	struct tp_ipoib_totals t;

	ipoib_port_totals(p, false, &t);
	ipoib_stats_fill(&t, stats);
	if (IPOIB_QSTATS != NULL)
		queue_stats(p, IPOIB_QSTATS);
	return 0;
}

int
ipoib_stats_reset(struct rte_eth_dev *dev)
{
	struct ipoib_port *p = dev->data->dev_private;
	unsigned int i;

	ipoib_device_lock(p->device);
	ipoib_counts_reset(&p->core_base, &p->core.stats, sizeof(p->core_base));
	ipoib_counts_reset(&p->base, &p->n, sizeof(p->base));
	for (i = 0; i < IPOIB_QUEUES; i++) {
		if (p->rxq[i] != NULL)
			ipoib_counts_reset(&p->rxq[i]->base, &p->rxq[i]->n, sizeof(p->rxq[i]->base));
		if (p->txq[i] != NULL)
			ipoib_counts_reset(&p->txq[i]->base, &p->txq[i]->n, sizeof(p->txq[i]->base));
	}
	ipoib_device_unlock(p->device);
	return 0;
}

int
ipoib_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	const char *name, *text;
	unsigned int i;

	for (i = 0; i < ROWS && i < n; i++) {
		xstats[i].id = i;
		row(dev->data->dev_private, i, &name, &text, &xstats[i].value);
	}
	return ROWS;
}

int
ipoib_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	const char *name, *text;
	unsigned int i;
	uint64_t value;

	for (i = 0; names != NULL && i < ROWS && i < n; i++) {
		row(dev->data->dev_private, i, &name, &text, &value);
		rte_strlcpy(names[i].name, name, sizeof(names[i].name));
	}
	return ROWS;
}

void
ipoib_own_counters(const struct ipoib_port *p, tp_ipoib_counter_fn fn, void *arg)
{
	const char *name, *text;
	unsigned int i;
	uint64_t value;

	for (i = 0; i < ROWS; i++) {
		row(p, i, &name, &text, &value);
		fn(arg, name, text, value);
	}
}
