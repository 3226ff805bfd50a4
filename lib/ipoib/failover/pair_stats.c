/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of a pair. It counts itself what the application receives, since of what its ports received it drops some; what is
 * sent, and what is lost on the way, is the sum of both.
 */
#include <rte_string_fns.h>

#include "pair.h"

static const struct ipoib_port *
member(const struct ipoib_pair *p, unsigned int i)
{
	return rte_eth_devices[p->member[i]].data->dev_private;
}

static uint64_t
count(const uint64_t *n, const uint64_t *base, bool all)
{
	return all ? ipoib_count(n) : ipoib_count_since(n, base);
}

/* What queues of the pair have received. */
static void
received(const struct ipoib_pair *p, bool all, struct tp_ipoib_totals *t)
{
	const struct rte_eth_dev_data *data = p->eth->data;
	unsigned int i;

	t->rx_packets = t->rx_bytes = 0;
	for (i = 0; i < data->nb_rx_queues; i++) {
		const struct ipoib_pair_queue *q = data->rx_queues[i];

		if (q == NULL)
			continue;
		t->rx_packets += count(&q->n.packets, &q->base.packets, all);
		t->rx_bytes += count(&q->n.bytes, &q->base.bytes, all);
	}
}

void
ipoib_pair_totals(const struct ipoib_pair *p, bool all, struct tp_ipoib_totals *t)
{
	struct tp_ipoib_totals other;

	ipoib_port_totals(member(p, 0), all, t);
	ipoib_port_totals(member(p, 1), all, &other);
	t->rx_nombuf += other.rx_nombuf;
	t->rx_errors += other.rx_errors;
	t->tx_packets += other.tx_packets;
	t->tx_bytes += other.tx_bytes;
	t->tx_errors += other.tx_errors;
	received(p, all, t);
}

uint64_t
ipoib_pair_dropped(const struct ipoib_pair *p)
{
	const struct rte_eth_dev_data *data = p->eth->data;
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < data->nb_rx_queues; i++) {
		const struct ipoib_pair_queue *q = data->rx_queues[i];

		n += q != NULL ? ipoib_count_since(&q->n.dropped, &q->base.dropped) : 0;
	}
	return n;
}

static void
queue_stats(const struct ipoib_pair *p, IPOIB_QSTATS_ARG)
{
	const struct rte_eth_dev_data *data = p->eth->data;
	unsigned int i, k;

	for (i = 0; i < data->nb_rx_queues && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		const struct ipoib_pair_queue *rx = data->rx_queues[i];

		q->q_ipackets[i] = rx != NULL ? ipoib_count_since(&rx->n.packets, &rx->base.packets) : 0;
		q->q_ibytes[i] = rx != NULL ? ipoib_count_since(&rx->n.bytes, &rx->base.bytes) : 0;
	}
	for (i = 0; i < data->nb_tx_queues && i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++) {
		q->q_opackets[i] = q->q_obytes[i] = 0;
		for (k = 0; k < IPOIB_PAIR_MEMBERS; k++) {
			const struct ipoib_txq *tx = member(p, k)->txq[i];

			q->q_opackets[i] += tx != NULL ? ipoib_count_since(&tx->n.packets, &tx->base.packets) : 0;
			q->q_obytes[i] += tx != NULL ? ipoib_count_since(&tx->n.bytes, &tx->base.bytes) : 0;
		}
	}
}

int
ipoib_pair_stats_get(IPOIB_STATS_GET_ARGS)
{
	const struct ipoib_pair *p = dev->data->dev_private;
	struct tp_ipoib_totals t;

	ipoib_pair_totals(p, false, &t);
	ipoib_stats_fill(&t, stats);
	if (IPOIB_QSTATS != NULL)
		queue_stats(p, IPOIB_QSTATS);
	return 0;
}

int
ipoib_pair_stats_reset(struct rte_eth_dev *dev)
{
	struct ipoib_pair *p = dev->data->dev_private;
	unsigned int i;

	for (i = 0; i < IPOIB_PAIR_MEMBERS; i++)
		ipoib_stats_reset(&rte_eth_devices[p->member[i]]);
	pthread_mutex_lock(&p->lock);
	p->failovers = p->failbacks = p->asked = p->announced = 0;
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct ipoib_pair_queue *q = dev->data->rx_queues[i];

		if (q != NULL)
			ipoib_counts_reset(&q->base, &q->n, sizeof(q->base));
	}
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static const struct {
	const char *name;
	size_t at;
} rows[] = {
	{"ports_up", offsetof(struct tp_ipoib_pair_info, ports_up)},
	{"failovers", offsetof(struct tp_ipoib_pair_info, failovers)},
	{"failbacks", offsetof(struct tp_ipoib_pair_info, failbacks)},
	{"moves_asked", offsetof(struct tp_ipoib_pair_info, asked)},
	{"addresses_announced", offsetof(struct tp_ipoib_pair_info, announced)},
	{"standby_dropped", offsetof(struct tp_ipoib_pair_info, standby_dropped)},
};

int
ipoib_pair_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	struct tp_ipoib_pair_info info;
	unsigned int i;

	tp_ipoib_pair_info(dev->data->port_id, &info);
	for (i = 0; i < RTE_DIM(rows) && i < n; i++) {
		xstats[i].id = i;
		memcpy(&xstats[i].value, (const uint8_t *)&info + rows[i].at, sizeof(xstats[i].value));
	}
	return RTE_DIM(rows);
}

int
ipoib_pair_xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	unsigned int i;

	(void)dev;
	for (i = 0; names != NULL && i < RTE_DIM(rows) && i < n; i++)
		rte_strlcpy(names[i].name, rows[i].name, sizeof(names[i].name));
	return RTE_DIM(rows);
}
