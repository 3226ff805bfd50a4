/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive-side scaling of the queues that no group took: key, types and indirection table as the application wants them,
 * and the spread (spread.h) that the card has for it. A table that repeats after n entries (the usual i % queues with a
 * power-of-two number of queues) needs only n rings: then each queue has one, on the plain receive path.
 */
#include <errno.h>

#include "drop_queue.h"
#include "filter.h"
#include "rss.h"
#include "rte_pmd_mlx4_queue.h"

/* A key that repeats after 16 bits gives the hash of a flow to that of its way back, as addresses and ports swap by multiples. */
#define SYMMETRIC_HIGH 0x6du
#define SYMMETRIC_LOW 0x5au

int
rte_pmd_mlx4_rss_key_symmetric(uint8_t *key, size_t len)
{
	size_t i;

	if (key == NULL || len < RTE_PMD_MLX4_RSS_KEY_LEN || len % 2 != 0) {
		MLX4_LOG(ERR, "symmetric RSS key of %zu octets, wanted an even number from %u on", len,
			 RTE_PMD_MLX4_RSS_KEY_LEN);
		return -EINVAL;
	}
	for (i = 0; i < len; i++)
		key[i] = i % 2 == 0 ? SYMMETRIC_HIGH : SYMMETRIC_LOW;
	return 0;
}

#define HF_IP                                                                                                          \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |                \
	 RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

uint64_t
mlx4_rss_types(const struct mlx4_eth *eth)
{
	uint64_t hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP;

	if (eth->args.rss_raw_ip)
		hf |= HF_IP;
	if (eth->args.rss_udp && eth->hca->caps.udp_rss)
		hf |= RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	if (eth->hca->caps.vxlan)
		hf |= RTE_ETH_RSS_LEVEL_MASK;
	return hf;
}

/* Entry i goes to ring i of a table of equal shares, which is repeated. */
static void
default_reta(struct mlx4_eth *eth, uint16_t queues)
{
	uint16_t queue[MLX4_ETH_MAX_RXQ], i;
	struct mlx4_spread_conf even;

	for (i = 0; i < queues; i++)
		queue[i] = i;
	mlx4_spread_even(&even, queue, queues, eth->reta_size);
	for (i = 0; i < eth->reta_size; i++)
		eth->reta[i] = even.queue[i % even.table];
	eth->reta_is_default = true;
}

struct reta_who
mlx4_rss_who(const struct mlx4_eth *eth)
{
	return (struct reta_who){.driver = "mlx4", .port_id = eth->dev->data->port_id, .logtype = mlx4_logtype};
}

int
mlx4_rss_check(const struct mlx4_eth *eth, const struct rte_eth_rss_conf *conf)
{
	const struct reta_who w = mlx4_rss_who(eth);

	return reta_rss_check(&w, conf, mlx4_rss_types(eth));
}

int
mlx4_rss_configure(struct mlx4_eth *eth)
{
	const struct rte_eth_conf *conf = &eth->dev->data->dev_conf;
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	uint16_t queues = eth->dev->data->nb_rx_queues;

	eth->reta_size = RTE_MIN(eth->hca->caps.max_rss, (uint32_t)MLX4_ETH_RETA_MAX);
	eth->rss_hf = 0;
	memcpy(eth->rss_key, reta_rss_default_key, sizeof(eth->rss_key));
	if (conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) {
		int ret = mlx4_rss_check(eth, rss);

		if (ret != 0)
			return ret;
		eth->rss_hf = rss->rss_hf;
		if (rss->rss_key != NULL && rss->rss_key_len != 0)
			memcpy(eth->rss_key, rss->rss_key, sizeof(eth->rss_key));
	}
	if (queues != 0)
		default_reta(eth, queues);
	return 0;
}

static bool
serves(const struct mlx4_eth *eth, uint16_t q)
{
	return !eth->taken[q] && eth->rxqs[q] != NULL && eth->rxqs[q]->started;
}

/* A queue that is not started or in a group: its entries go to the next one that serves. UINT16_MAX: none does. */
static uint16_t
serving_queue(const struct mlx4_eth *eth, uint16_t wanted)
{
	uint16_t n = eth->dev->data->nb_rx_queues, i;

	for (i = 0; i < n; i++) {
		uint16_t q = (uint16_t)((wanted + i) % n);

		if (serves(eth, q))
			return q;
	}
	return UINT16_MAX;
}

/* The application's table; the number of rings is the shortest period. */
static void
table_by_reta(const struct mlx4_eth *eth, struct mlx4_spread_conf *conf)
{
	uint16_t size = eth->reta_size, i;

	for (i = 0; i < size; i++)
		conf->queue[i] = serving_queue(eth, eth->reta[i]);
	conf->table = reta_period(conf->queue, size);
}

/* The ring of frames without a hash: the first one of the queue that was asked for, when it has one. */
static uint16_t
default_ring(const struct mlx4_eth *eth, const struct mlx4_spread_conf *conf)
{
	uint16_t i;

	for (i = 0; eth->rss_default_queue != 0 && i < conf->table; i++)
		if (conf->queue[i] == eth->rss_default_queue)
			return i;
	return 0;
}

/* What the queues outside of groups shall have on the card, and who they are. */
static void
effective(const struct mlx4_eth *eth, struct mlx4_spread_conf *conf, struct mlx4_queues *members)
{
	const struct mlx4_default_set *set = &eth->default_set;
	uint16_t n = eth->dev->data->nb_rx_queues, list[MLX4_ETH_MAX_RXQ], k = 0, i;
	bool some_taken = false;

	memset(conf, 0, sizeof(*conf));
	members->n = 0;
	for (i = 0; i < n; i++) {
		some_taken |= eth->taken[i];
		if (serves(eth, i))
			members->q[members->n++] = i;
	}
	if (set->declared) {
		for (i = 0; i < set->n; i++)
			if (serves(eth, set->queue[i]))
				list[k++] = set->queue[i];
		conf->flags = mlx4_spread_flags(eth, set->rss_hf & mlx4_rss_types(eth));
		mlx4_spread_even(conf, list, conf->flags == 0 ? RTE_MIN(k, 1) : k, eth->reta_size);
	} else if (members->n != 0 && eth->rss_hf != 0 && !eth->args.vmq) {
		conf->flags = mlx4_spread_flags(eth, eth->rss_hf);
		if (some_taken && eth->reta_is_default)
			mlx4_spread_even(conf, members->q, members->n, eth->reta_size);
		else
			table_by_reta(eth, conf);
	} else if (members->n != 0) {
		conf->table = 1;
		conf->queue[0] = serving_queue(eth, eth->args.vmq ? 0 : eth->reta[0]);
	}
	/* What has one ring hashes nothing. */
	if (conf->table <= 1)
		conf->flags = 0;
	conf->other = default_ring(eth, conf);
	memcpy(conf->key, eth->rss_key, sizeof(conf->key));
	memset(&conf->queue[conf->table], 0, (MLX4_ETH_RETA_MAX - conf->table) * sizeof(conf->queue[0]));
}

int
mlx4_rss_prepare(struct mlx4_eth *eth, struct mlx4_rss_change *c)
{
	struct mlx4_spread_conf conf;

	memset(c, 0, sizeof(*c));
	effective(eth, &conf, &c->members);
	if (mlx4_spread_is(eth, eth->rss, &conf))
		return 0;
	c->needed = true;
	return conf.table == 0 ? 0 : mlx4_spread_build(eth, &conf, &c->members, &c->next, c->new_set);
}

/* What rules name: while no queue serves, the queue without buffers, where frames count as missed. */
static int
target_of(struct mlx4_eth *eth, const struct mlx4_spread *s, uint32_t *qpn)
{
	int ret = s != NULL ? 0 : mlx4_drop_queue_open(eth);

	if (ret == 0)
		*qpn = s != NULL ? mlx4_spread_target(s) : eth->drop.qp.qpn;
	return ret;
}

int
mlx4_rss_move(struct mlx4_eth *eth, struct mlx4_rss_change *c)
{
	int ret;

	if (!c->needed)
		return 0;
	ret = target_of(eth, c->next, &c->target_qpn);
	return ret != 0 ? ret : mlx4_filter_retarget(eth, c->target_qpn);
}

void
mlx4_rss_commit(struct mlx4_eth *eth, struct mlx4_rss_change *c, const bool *taken_before)
{
	struct mlx4_queues old = {0};
	uint16_t q;

	if (!c->needed)
		return;
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (!taken_before[q])
			old.q[old.n++] = q;
	mlx4_spread_quiesce(eth, &old);
	mlx4_spread_publish(eth, c->new_set);
	mlx4_spread_free(eth, eth->rss);
	eth->rss = c->next;
	eth->target_qpn = c->target_qpn;
}

void
mlx4_rss_cancel(struct mlx4_eth *eth, struct mlx4_rss_change *c)
{
	mlx4_spread_undo(eth, c->next, c->new_set);
}

int
mlx4_rss_start(struct mlx4_eth *eth)
{
	struct mlx4_rss_change c;
	uint16_t q;
	int ret;

	eth->target_qpn = 0;
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		eth->rxqs[q]->started = !eth->rxqs[q]->deferred;
	ret = mlx4_rss_prepare(eth, &c);
	if (ret == 0)
		ret = target_of(eth, c.next, &c.target_qpn);
	if (ret == 0) {
		mlx4_rss_commit(eth, &c, eth->taken);
		eth->target_qpn = c.target_qpn;
	} else {
		mlx4_rss_cancel(eth, &c);
		for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
			eth->rxqs[q]->started = false;
	}
	return ret;
}

int
mlx4_rss_update(struct mlx4_eth *eth)
{
	struct mlx4_rss_change c;
	int ret;

	mlx4_rxqs_reap(eth);
	ret = mlx4_rss_prepare(eth, &c);
	if (ret != 0)
		return ret;
	ret = mlx4_rss_move(eth, &c);
	if (ret != 0)
		mlx4_rss_cancel(eth, &c);
	else
		mlx4_rss_commit(eth, &c, eth->taken);
	return ret;
}

void
mlx4_rxqs_reap(struct mlx4_eth *eth)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (eth->rxqs[q] != NULL)
			mlx4_rxq_reap(eth->rxqs[q]);
}

void
mlx4_rss_stop(struct mlx4_eth *eth)
{
	uint16_t q;

	if (eth->rss != NULL && eth->rss->has_parent)
		mlx4_qp_stop(eth->hca, &eth->rss->parent);
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++) {
		if (eth->rxqs[q] == NULL)
			continue;
		mlx4_rxq_drop_sets(eth->rxqs[q]);
		eth->rxqs[q]->started = false;
	}
	mlx4_rss_close(eth);
	mlx4_drop_queue_close(eth);
	eth->target_qpn = 0;
}

void
mlx4_rss_close(struct mlx4_eth *eth)
{
	mlx4_spread_free(eth, eth->rss);
	eth->rss = NULL;
}
