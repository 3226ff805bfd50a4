/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters: of the queues, of the interface, and of both together where both drop. */
#include <errno.h>

#include <rte_string_fns.h>

#include "cm.h"
#include "port.h"

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
	ROW(conns_closed, "connections that ended"),
	ROW(too_big_told, "senders that were told what their destination takes"),
	ROW(events, "changes of the port or the subnet manager"),
#undef ROW
};

#define QUEUE_ROWS 9u
#define ROWS (QUEUE_ROWS + RTE_DIM(core_rows) + IPOIB_DROP_NUM)

#define SUM(p, queues, num, field)                                                                                     \
	({                                                                                                             \
		uint64_t sum_ = 0;                                                                                     \
		for (unsigned int i_ = 0; i_ < (p)->num; i_++)                                                         \
			sum_ += (p)->queues[i_] != NULL ? (p)->queues[i_]->field : 0;                                  \
		sum_;                                                                                                  \
	})
#define SUM_RX(p, field) SUM(p, rxq, num_rx, field)
#define SUM_TX(p, field) SUM(p, txq, num_tx, field)

static uint64_t
dropped(const struct ipoib_port *p, unsigned int why)
{
	return p->core.stats.drop[why] + SUM_RX(p, drop[why]) + SUM_TX(p, drop[why]) +
	       (why == IPOIB_DROP_TX_ERROR ? p->tx_error : 0);
}

static void
row(const struct ipoib_port *p, unsigned int i, const char **name, const char **text, uint64_t *value)
{
	switch (i) {
	case 0:
		*name = "rx_multicast_packets", *text = "packets of groups received", *value = SUM_RX(p, multicast);
		return;
	case 1: *name = "tx_multicast_packets", *text = "packets sent to groups", *value = SUM_TX(p, multicast); return;
	case 2:
		*name = "rx_control_packets", *text = "packets received that the control thread took",
		*value = SUM_RX(p, handed);
		return;
	case 3:
		*name = "tx_control_packets", *text = "packets to be sent that the control thread took",
		*value = SUM_TX(p, handed);
		return;
	case 4:
		*name = "tx_control_sent", *text = "packets that the control thread sent", *value = p->slow_sent;
		return;
	case 5: *name = "tx_copied", *text = "packets copied to be sent", *value = SUM_TX(p, copied); return;
	case 6: *name = "tx_large", *text = "packets that the card cut", *value = SUM_TX(p, large); return;
	case 7: *name = "tx_conn_packets", *text = "packets sent by connections", *value = p->cm_tx; return;
	case 8: *name = "rx_conn_packets", *text = "packets received by connections", *value = p->cm_rx; return;
	default: break;
	}
	i -= QUEUE_ROWS;
	if (i < RTE_DIM(core_rows)) {
		*name = core_rows[i].name;
		*text = core_rows[i].text;
		memcpy(value, (const uint8_t *)&p->core.stats + core_rows[i].at, sizeof(*value));
		return;
	}
	i -= RTE_DIM(core_rows);
	*name = drop_names[i][0];
	*text = drop_names[i][1];
	*value = dropped(p, i);
}

/* Errors are the port's: the control thread drops, too. */
static void
queue_stats(const struct ipoib_port *p, IPOIB_QSTATS_ARG)
{
	unsigned int i;

	for (i = 0; i < p->num_rx && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		q->q_ipackets[i] = p->rxq[i] != NULL ? p->rxq[i]->packets : 0;
		q->q_ibytes[i] = p->rxq[i] != NULL ? p->rxq[i]->bytes : 0;
	}
	for (i = 0; i < p->num_tx && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		q->q_opackets[i] = p->txq[i] != NULL ? p->txq[i]->packets : 0;
		q->q_obytes[i] = p->txq[i] != NULL ? p->txq[i]->bytes : 0;
	}
}

int
ipoib_stats_get(IPOIB_STATS_GET_ARGS)
{
	const struct ipoib_port *p = dev->data->dev_private;
	unsigned int i;

	stats->ipackets = SUM_RX(p, packets);
	stats->ibytes = SUM_RX(p, bytes);
	stats->rx_nombuf = SUM_RX(p, nombuf);
	stats->opackets = SUM_TX(p, packets) + p->slow_sent;
	stats->obytes = SUM_TX(p, bytes) + p->slow_bytes;
	for (i = 0; i < IPOIB_DROP_NUM; i++) {
		if (i < IPOIB_DROP_RX_SHORT)
			stats->oerrors += dropped(p, i);
		else
			stats->ierrors += dropped(p, i);
	}
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
	memset(&p->core.stats, 0, sizeof(p->core.stats));
	p->tx_error = p->slow_sent = p->slow_bytes = p->cm_tx = p->cm_rx = 0;
	for (i = 0; i < IPOIB_QUEUES; i++) {
		struct ipoib_rxq *rx = p->rxq[i];
		struct ipoib_txq *tx = p->txq[i];

		if (rx != NULL) {
			rx->packets = rx->bytes = rx->multicast = rx->nombuf = rx->handed = 0;
			memset(rx->drop, 0, sizeof(rx->drop));
		}
		if (tx != NULL) {
			tx->packets = tx->bytes = tx->multicast = tx->handed = tx->copied = tx->large = 0;
			memset(tx->drop, 0, sizeof(tx->drop));
		}
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

int
tp_ipoib_counters(uint16_t port_id, tp_ipoib_counter_fn fn, void *arg)
{
	struct ipoib_port *p = ipoib_port_of(port_id);
	const char *name, *text;
	unsigned int i;
	uint64_t value;

	if (p == NULL)
		return -ENODEV;
	for (i = 0; i < ROWS; i++) {
		row(p, i, &name, &text, &value);
		fn(arg, name, text, value);
	}
	return 0;
}
