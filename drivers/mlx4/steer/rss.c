/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive-side scaling of the queues that no group took: key, types and indirection table as the application wants them,
 * and the spread (spread.h) that the card has for it. A table that repeats after n entries (the usual i % queues with a
 * power-of-two number of queues) needs only n rings: then each queue has one, on the plain receive path.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include <tp_reta.h>

#include "ethdev.h"
#include "flow.h"
#include "group.h"
#include "rte_pmd_mlx4_queue.h"
#include "rss.h"

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

static struct tp_reta_who
who(const struct mlx4_eth *eth)
{
	return (struct tp_reta_who){.driver = "mlx4", .port_id = eth->dev->data->port_id, .logtype = mlx4_logtype};
}

static int
check(const struct mlx4_eth *eth, const struct rte_eth_rss_conf *conf)
{
	const struct tp_reta_who w = who(eth);

	return tp_rss_check(&w, conf, mlx4_rss_types(eth));
}

int
mlx4_rss_configure(struct mlx4_eth *eth)
{
	const struct rte_eth_conf *conf = &eth->dev->data->dev_conf;
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	uint16_t queues = eth->dev->data->nb_rx_queues;

	eth->reta_size = RTE_MIN(eth->hca->caps.max_rss, (uint32_t)MLX4_ETH_RETA_MAX);
	eth->rss_hf = 0;
	memcpy(eth->rss_key, tp_rss_default_key, sizeof(eth->rss_key));
	if (conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) {
		int ret = check(eth, rss);

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
serves(const struct mlx4_eth *eth, const bool *taken, uint16_t q)
{
	return !taken[q] && eth->rxqs[q] != NULL && eth->rxqs[q]->started;
}

/* A queue that is not started or in a group: its entries go to the next one that serves. UINT16_MAX: none does. */
static uint16_t
serving_queue(const struct mlx4_eth *eth, const bool *taken, uint16_t wanted)
{
	uint16_t n = eth->dev->data->nb_rx_queues, i;

	for (i = 0; i < n; i++) {
		uint16_t q = (uint16_t)((wanted + i) % n);

		if (serves(eth, taken, q))
			return q;
	}
	return UINT16_MAX;
}

/* The application's table; the number of rings is the shortest period. */
static void
table_by_reta(const struct mlx4_eth *eth, const bool *taken, struct mlx4_spread_conf *conf)
{
	uint16_t size = eth->reta_size, i;

	for (i = 0; i < size; i++)
		conf->queue[i] = serving_queue(eth, taken, eth->reta[i]);
	conf->table = tp_reta_period(conf->queue, size);
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
effective(const struct mlx4_eth *eth, const bool *taken, struct mlx4_spread_conf *conf, struct mlx4_queues *members)
{
	const struct tp_group *g = mlx4_group_default(eth);
	uint16_t n = eth->dev->data->nb_rx_queues, list[MLX4_ETH_MAX_RXQ], k = 0, i;
	bool some_taken = false;

	memset(conf, 0, sizeof(*conf));
	members->n = 0;
	for (i = 0; i < n; i++) {
		some_taken |= taken[i];
		if (serves(eth, taken, i))
			members->q[members->n++] = i;
	}
	if (g != NULL) {
		for (i = 0; i < g->num_queues; i++)
			if (serves(eth, taken, g->queue[i]))
				list[k++] = g->queue[i];
		conf->flags = mlx4_group_flags(eth, g);
		mlx4_spread_even(conf, list, conf->flags == 0 ? RTE_MIN(k, 1) : k, eth->reta_size);
	} else if (members->n != 0 && eth->rss_hf != 0 && !eth->args.vmq) {
		conf->flags = mlx4_spread_flags(eth->rss_hf);
		if (some_taken && eth->reta_is_default)
			mlx4_spread_even(conf, members->q, members->n, eth->reta_size);
		else
			table_by_reta(eth, taken, conf);
	} else if (members->n != 0) {
		conf->table = 1;
		conf->queue[0] = serving_queue(eth, taken, eth->args.vmq ? 0 : eth->reta[0]);
	}
	/* What has one ring hashes nothing. */
	if (conf->table <= 1)
		conf->flags = 0;
	conf->other = default_ring(eth, conf);
	memcpy(conf->key, eth->rss_key, sizeof(conf->key));
	memset(&conf->queue[conf->table], 0, (MLX4_ETH_RETA_MAX - conf->table) * sizeof(conf->queue[0]));
}

int
mlx4_rss_prepare(struct mlx4_eth *eth, const bool *taken, struct mlx4_rss_change *c)
{
	struct mlx4_spread_conf conf;

	memset(c, 0, sizeof(*c));
	effective(eth, taken, &conf, &c->members);
	if (mlx4_spread_is(eth, eth->rss, &conf))
		return 0;
	c->needed = true;
	return conf.table == 0 ? 0 : mlx4_spread_build(eth, &conf, &c->members, &c->next, c->new_set);
}

/* What rules name: while no queue serves, the queue without buffers, where frames count as missed. */
static int
target_of(struct mlx4_eth *eth, const struct mlx4_spread *s, uint32_t *qpn)
{
	int ret = s != NULL ? 0 : mlx4_flow_drop_open(eth);

	if (ret == 0)
		*qpn = s != NULL ? mlx4_spread_target(s) : eth->flows->drop.qp.qpn;
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
	bool taken[MLX4_ETH_MAX_RXQ];
	struct mlx4_rss_change c;
	uint16_t q;
	int ret;

	eth->target_qpn = 0;
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		eth->rxqs[q]->started = !eth->rxqs[q]->deferred;
	mlx4_groups_taken(eth, taken);
	ret = mlx4_rss_prepare(eth, taken, &c);
	if (ret == 0)
		ret = target_of(eth, c.next, &c.target_qpn);
	if (ret == 0) {
		mlx4_rss_commit(eth, &c, taken);
		eth->target_qpn = c.target_qpn;
	} else {
		mlx4_rss_cancel(eth, &c);
		for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
			eth->rxqs[q]->started = false;
	}
	return ret;
}

/* Moves traffic to what the present configuration asks for, while queues are polled. */
static int
update(struct mlx4_eth *eth)
{
	bool taken[MLX4_ETH_MAX_RXQ];
	struct mlx4_rss_change c;
	int ret;

	mlx4_rxqs_reap(eth);
	mlx4_groups_taken(eth, taken);
	ret = mlx4_rss_prepare(eth, taken, &c);
	if (ret != 0)
		return ret;
	ret = mlx4_rss_move(eth, &c);
	if (ret != 0)
		mlx4_rss_cancel(eth, &c);
	else
		mlx4_rss_commit(eth, &c, taken);
	return ret;
}

static int
default_queue_set(struct mlx4_eth *eth, uint16_t queue, char err[TP_ERR_LEN])
{
	const uint16_t was = eth->rss_default_queue, n = eth->dev->data->nb_rx_queues;
	const bool runs = eth->dev->data->dev_started != 0;
	uint16_t most = (uint16_t)((runs ? RTE_MAX(n, 1) : MLX4_ETH_MAX_RXQ) - 1);
	int ret;

	if (queue > most) {
		snprintf(err, TP_ERR_LEN, "rss-default-queue: %u, want 0..%u", queue, most);
		return -EINVAL;
	}
	eth->rss_default_queue = queue;
	ret = runs ? update(eth) : 0;
	if (ret == 0)
		return 0;
	eth->rss_default_queue = was;
	snprintf(err, TP_ERR_LEN, "rss-default-queue: %u: the card or the pool refused: %s", queue, rte_strerror(-ret));
	return ret;
}

int
rte_pmd_mlx4_rss_default_queue_set(uint16_t port_id, uint16_t queue, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int ret;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	ret = default_queue_set(eth, queue, err);
	mlx4_control_unlock(eth);
	return ret;
}

int
rte_pmd_mlx4_rss_default_queue_get(uint16_t port_id, uint16_t *queue)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	*queue = eth->rss_default_queue;
	return 0;
}

/* The default set and all groups: they share the key. */
static int
update_all(struct mlx4_eth *eth)
{
	int ret = update(eth);

	return ret != 0 ? ret : mlx4_groups_refresh(eth);
}

int
mlx4_rss_refresh(struct mlx4_eth *eth)
{
	int ret = update_all(eth);

	return ret != 0 ? ret : mlx4_flows_refresh(eth);
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
	mlx4_flow_drop_close(eth);
	eth->target_qpn = 0;
}

void
mlx4_rss_close(struct mlx4_eth *eth)
{
	mlx4_spread_free(eth, eth->rss);
	eth->rss = NULL;
}

int
mlx4_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	const struct tp_reta_who w = who(eth);
	bool was_default = eth->reta_is_default;
	uint16_t before[MLX4_ETH_RETA_MAX];
	int ret;

	memcpy(before, eth->reta, sizeof(before));
	ret = tp_reta_set(&w, eth->reta, eth->reta_size, dev->data->nb_rx_queues, conf, size);
	if (ret != 0)
		return ret;
	eth->reta_is_default = false;
	ret = dev->data->dev_started ? update(eth) : 0;
	if (ret != 0) {
		memcpy(eth->reta, before, sizeof(before));
		eth->reta_is_default = was_default;
	}
	return ret;
}

int
mlx4_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct mlx4_eth *eth = dev->data->dev_private;
	const struct tp_reta_who w = who(eth);

	return tp_reta_get(&w, eth->reta, eth->reta_size, conf, size);
}

int
mlx4_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	uint8_t key[MLX4_RSS_KEY_SIZE];
	uint64_t hf = eth->rss_hf;
	int ret;

	ret = check(eth, conf);
	if (ret != 0)
		return ret;
	memcpy(key, eth->rss_key, sizeof(key));
	eth->rss_hf = conf->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len != 0)
		memcpy(eth->rss_key, conf->rss_key, sizeof(eth->rss_key));
	if (!dev->data->dev_started)
		return 0;
	ret = update_all(eth);
	if (ret == 0)
		return 0;
	eth->rss_hf = hf;
	memcpy(eth->rss_key, key, sizeof(key));
	if (update_all(eth) != 0)
		MLX4_LOG(ERR, "port %u: some queues are spread by the key that was refused", dev->data->port_id);
	return ret;
}

int
mlx4_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mlx4_eth *eth = dev->data->dev_private;

	conf->rss_hf = eth->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len >= MLX4_RSS_KEY_SIZE)
		memcpy(conf->rss_key, eth->rss_key, MLX4_RSS_KEY_SIZE);
	conf->rss_key_len = MLX4_RSS_KEY_SIZE;
	return 0;
}

static int
queue_sets(struct mlx4_eth *eth, uint16_t idx)
{
	return mlx4_group_of(eth, idx) != NULL ? mlx4_group_refresh(eth, idx) : update(eth);
}

/* Gives a queue to its set or takes it out. */
static int
queue_changed(struct mlx4_eth *eth, uint16_t idx, bool started)
{
	int ret;

	if (eth->rxqs[idx]->started == started)
		return 0;
	eth->rxqs[idx]->started = started;
	ret = queue_sets(eth, idx);
	if (ret == 0)
		ret = mlx4_flows_refresh(eth);
	if (ret == 0)
		return 0;
	eth->rxqs[idx]->started = !started;
	/* What it had it can have again, unless the card is lost. */
	if (queue_sets(eth, idx) != 0 || mlx4_flows_refresh(eth) != 0)
		MLX4_LOG(ERR, "port %u: Rx queue %u neither started nor stopped", eth->dev->data->port_id, idx);
	return ret;
}

int
mlx4_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx)
{
	int ret = queue_changed(dev->data->dev_private, idx, true);

	if (ret == 0)
		dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return ret;
}

int
mlx4_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	int ret = queue_changed(eth, idx, false);

	if (ret != 0)
		return ret;
	/* Nobody polls a queue that is being stopped. */
	mlx4_rxq_drop_sets(eth->rxqs[idx]);
	mlx4_rx_sides_drop(eth->rxqs[idx]);
	dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}
