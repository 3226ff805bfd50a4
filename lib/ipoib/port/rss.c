/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Several receive queues: the card spreads what is sent to the hardware address, and to groups, over rings, one for each entry of
 * the indirection table until it repeats. A ring receives from the shared receive queue of its entry's queue, so that any table
 * and any number of queues is a matter of which ring belongs to whom.
 *
 * A change while the port is up makes new rings beside the old ones. The parent, whose number is that of the hardware address, is
 * taken back and given out again with the new rings. Then bursts get no snapshot for a moment, in which all that has completed is
 * put in front of what comes, and the old rings go. Only what arrives while the parent is away is lost.
 */
#include <errno.h>

#include "port.h"

#define TABLE_MIN 2u /* rings of a parent */
#define HF_IPV4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define HF_IPV6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

static const struct {
	uint64_t hf;
	uint32_t type; /* enum tp_roce_rss_type */
} types[] = {
	{HF_IPV4, TP_ROCE_RSS_IPV4},
	{HF_IPV6, TP_ROCE_RSS_IPV6},
	{RTE_ETH_RSS_NONFRAG_IPV4_TCP, TP_ROCE_RSS_TCP_IPV4},
	{RTE_ETH_RSS_NONFRAG_IPV6_TCP, TP_ROCE_RSS_TCP_IPV6},
	{RTE_ETH_RSS_NONFRAG_IPV4_UDP, TP_ROCE_RSS_UDP_IPV4},
	{RTE_ETH_RSS_NONFRAG_IPV6_UDP, TP_ROCE_RSS_UDP_IPV6},
};

static struct reta_who
who(const struct ipoib_port *p)
{
	return (struct reta_who){.driver = "ipoib", .port_id = p->port_id, .logtype = ipoib_logtype};
}

uint64_t
ipoib_rss_types(const struct ipoib_port *p)
{
	struct tp_roce_rss_caps caps;
	uint64_t hf = 0;
	unsigned int i;

	tp_roce_query_rss(ipoib_device_ctx(p->device), &caps);
	if (caps.max_rings < TABLE_MIN)
		return 0;
	for (i = 0; i < RTE_DIM(types); i++)
		hf |= (caps.types & types[i].type) != 0 ? types[i].hf : 0;
	return hf;
}

uint16_t
ipoib_reta_size(const struct ipoib_port *p)
{
	struct tp_roce_rss_caps caps;

	tp_roce_query_rss(ipoib_device_ctx(p->device), &caps);
	return (uint16_t)RTE_MIN(caps.max_rings, RETA_MAX);
}

/* Entry i goes to ring i of a table of equal shares, which is repeated. */
static void
default_reta(struct ipoib_rss *rss, uint16_t queues)
{
	uint16_t queue[IPOIB_QUEUES], even[RETA_MAX], len, i;

	for (i = 0; i < queues; i++)
		queue[i] = i;
	len = reta_even(even, queue, queues, rss->size);
	for (i = 0; i < rss->size; i++)
		rss->reta[i] = even[i % len];
}

int
ipoib_rss_configure(struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const struct rte_eth_rss_conf *asked = &conf->rx_adv_conf.rss_conf;
	struct ipoib_port *p = dev->data->dev_private;
	struct ipoib_rss rss = {.size = ipoib_reta_size(p)};
	int ret;

	memcpy(rss.key, reta_rss_default_key, sizeof(rss.key));
	if ((conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0) {
		const struct reta_who w = who(p);

		ret = reta_rss_check(&w, asked, ipoib_rss_types(p));
		if (ret != 0)
			return ret;
		rss.hf = asked->rss_hf;
		if (asked->rss_key != NULL && asked->rss_key_len != 0)
			memcpy(rss.key, asked->rss_key, sizeof(rss.key));
	}
	if (dev->data->nb_rx_queues != 0 && rss.size != 0)
		default_reta(&rss, dev->data->nb_rx_queues);
	p->rss = rss;
	return 0;
}

/* --- on the card ----------------------------------------------------------------------------------------------------- */

uint16_t
ipoib_rss_serving(const struct ipoib_port *p, uint16_t queue)
{
	uint16_t i;

	for (i = 0; i < p->num_rx; i++) {
		uint16_t q = (uint16_t)((queue + i) % p->num_rx);

		if (p->rxq[q]->started)
			return q;
	}
	return queue;
}

static struct tp_roce_table *
table_new(struct ipoib_port *p)
{
	struct tp_roce_ring rings[RETA_MAX];
	uint16_t reta[RETA_MAX] = {0}, period, i;

	for (i = 0; i < p->rss.size; i++)
		reta[i] = ipoib_rss_serving(p, p->rss.reta[i]);
	period = reta_period(reta, p->rss.size);

	/* Nothing hashed: the first entry's queue has all. */
	if (p->rss.hf == 0)
		period = 1;
	period = RTE_MAX(period, TABLE_MIN);
	for (i = 0; i < period; i++) {
		const struct ipoib_rxq *q = p->rxq[reta[i]];

		rings[i] = (struct tp_roce_ring){.cq = q->cq, .srq = q->srq};
	}
	return tp_roce_create_table(p->pd, rings, period);
}

static int
table_set(struct ipoib_port *p, struct tp_roce_table *table, const struct ipoib_rss *rss)
{
	uint32_t set = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(types); i++)
		set |= (rss->hf & types[i].hf) != 0 ? types[i].type : 0;
	return -tp_roce_set_table(p->qp, table, rss->key, set);
}

int
ipoib_rss_open(struct ipoib_port *p)
{
	p->table = table_new(p);
	if (p->table == NULL)
		return -errno;
	p->qp = tp_roce_create_parent(p->pd, p->rxq[0]->cq);
	return p->qp != NULL ? table_set(p, p->table, &p->rss) : -errno;
}

/* The parent, which may be in any state, gets a table. */
static int
parent_move(struct ipoib_port *p, struct tp_roce_table *table, const struct ipoib_rss *rss)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret = -tp_roce_modify_qp(p->qp, &attr, IBV_QP_STATE);

	if (ret == 0)
		ret = table_set(p, table, rss);
	if (ret != 0)
		return ret;
	p->table = table;
	return p->ready ? ipoib_qp_ready(p, p->qp) : 0;
}

/* What p->rss says from now on; before: what is there. After a failure p->table is the one that the parent has nevertheless. */
static int
apply(struct ipoib_port *p, const struct ipoib_rss *before)
{
	struct tp_roce_table *next = table_new(p), *old = p->table;
	struct ipoib_view *v;
	unsigned int i;
	int ret;

	if (next == NULL)
		return -errno;
	ret = p->ready ? ipoib_table_ready(p, next) : 0;
	v = ret == 0 ? ipoib_view_make(&p->core) : NULL;
	if (v == NULL) {
		tp_roce_destroy_table(next);
		return ret != 0 ? ret : -ENOMEM;
	}
	ret = parent_move(p, next, &p->rss);
	if (ret != 0 && parent_move(p, old, before) != 0) {
		IPOIB_LOG(ERR, "port %u: queue pair 0x%x does not come back; all start again", p->port_id,
			  p->qp->qp_num);
		p->txq[0]->broken = true;
	}
	ipoib_publish(p, NULL);
	for (i = 0; i < p->num_rx; i++)
		ipoib_rx_drain(p->rxq[i], v);
	ipoib_publish(p, v);
	ipoib_retired_free(p);
	/* The rings that nobody addresses any more, and of whom nothing waits. */
	tp_roce_destroy_table(p->table == next ? old : next);
	return ret;
}

static int
change(struct ipoib_port *p, const struct ipoib_rss *rss)
{
	const struct tp_roce_table *table = p->table;
	const struct ipoib_rss before = p->rss;
	int ret = 0;

	p->rss = *rss;
	if (p->started && table != NULL)
		ret = apply(p, &before);
	if (ret != 0 && p->table == table) {
		IPOIB_LOG(ERR, "port %u: packets are spread as before: %s", p->port_id, strerror(-ret));
		p->rss = before;
	}
	return ret;
}

int
ipoib_rss_again(struct ipoib_port *p)
{
	const struct ipoib_rss same = p->rss;

	return change(p, &same);
}

/* --- what applications ask for --------------------------------------------------------------------------------------- */

int
ipoib_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct ipoib_port *p = dev->data->dev_private;
	const struct reta_who w = who(p);
	struct ipoib_rss rss;
	int ret;

	ipoib_device_lock(p->device);
	rss = p->rss;
	ret = reta_set(&w, rss.reta, rss.size, p->num_rx, conf, size);
	if (ret == 0)
		ret = change(p, &rss);
	ipoib_device_unlock(p->device);
	return ret;
}

int
ipoib_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct ipoib_port *p = dev->data->dev_private;
	const struct reta_who w = who(p);

	return reta_get(&w, p->rss.reta, p->rss.size, conf, size);
}

int
ipoib_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct ipoib_port *p = dev->data->dev_private;
	const struct reta_who w = who(p);
	struct ipoib_rss rss;
	int ret = reta_rss_check(&w, conf, ipoib_rss_types(p));

	if (ret != 0)
		return ret;
	ipoib_device_lock(p->device);
	rss = p->rss;
	rss.hf = conf->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len != 0)
		memcpy(rss.key, conf->rss_key, sizeof(rss.key));
	ret = change(p, &rss);
	ipoib_device_unlock(p->device);
	return ret;
}

int
ipoib_rss_hash_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct ipoib_port *p = dev->data->dev_private;

	conf->rss_hf = p->rss.hf;
	if (conf->rss_key != NULL && conf->rss_key_len >= sizeof(p->rss.key))
		memcpy(conf->rss_key, p->rss.key, sizeof(p->rss.key));
	conf->rss_key_len = sizeof(p->rss.key);
	return 0;
}
