/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive-side scaling. The card sends a packet to ring QPN base + (hash & (n - 1)) of n = 2^k consecutive QPs; it has
 * no table behind that. So the indirection table is made of QPs: entry i is ring i of the table, and belongs to the
 * queue that the application put there. A table that repeats after n entries (the usual i % queues with a power-of-two
 * number of queues) needs only n rings: then each queue has one, on the plain receive path.
 *
 * A change at run time builds everything new beside the old: rings, parent QP, rules; then lets the pollers finish the
 * old rings and go over. No packet that the card took is lost or reordered within its flow's queue.
 */
#include <errno.h>

#include <rte_malloc.h>

#include "mlx4_eth.h"

/* What the card does with packets now. */
struct mlx4_rss {
	uint32_t base_qpn;
	uint16_t table; /* rings, power of two */
	bool has_parent;
	uint32_t parent_qpn;
	struct mlx4_qp parent;
};

/* The key of the published verification vectors. */
static const uint8_t default_key[MLX4_RSS_KEY_SIZE] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

#define HF_IPV4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define HF_IPV6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

uint64_t
mlx4_rss_types(const struct mlx4_eth *eth)
{
	uint64_t hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP;

	if (eth->args.rss_raw_ip)
		hf |= HF_IPV4 | HF_IPV6;
	if (eth->args.rss_udp && eth->hca->caps.udp_rss)
		hf |= RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	return hf;
}

static uint8_t
card_flags(uint64_t hf)
{
	uint8_t f = 0;

	if (hf & HF_IPV4)
		f |= MLX4_RSS_F_IPV4;
	if (hf & HF_IPV6)
		f |= MLX4_RSS_F_IPV6;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP)
		f |= MLX4_RSS_F_TCP_IPV4;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP)
		f |= MLX4_RSS_F_TCP_IPV6;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP)
		f |= MLX4_RSS_F_UDP_IPV4;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV6_UDP)
		f |= MLX4_RSS_F_UDP_IPV6;
	return f;
}

/*
 * Entry i goes to queue (i % m) % queues, m the queue count itself when that is a power of two, else the power of two
 * from eight times the count on: shares differ by at most one part in eight, and the table is not longer than needed.
 */
static void
default_reta(struct mlx4_eth *eth, uint16_t queues)
{
	uint32_t m = rte_is_power_of_2(queues) ? queues : RTE_MIN(rte_align32pow2(8u * queues), eth->reta_size);
	uint16_t i;

	for (i = 0; i < eth->reta_size; i++)
		eth->reta[i] = (uint16_t)((i % m) % queues);
}

static int
check_hf(const struct mlx4_eth *eth, uint64_t hf)
{
	uint64_t known = mlx4_rss_types(eth);

	if (hf & ~known) {
		MLX4_LOG(ERR, "port %u: RSS types 0x%" PRIx64 " are not supported, supported are 0x%" PRIx64,
			 eth->dev->data->port_id, hf & ~known, known);
		return -EINVAL;
	}
	return 0;
}

static int
check_key(const struct mlx4_eth *eth, const struct rte_eth_rss_conf *conf)
{
	if (conf->rss_key != NULL && conf->rss_key_len != 0 && conf->rss_key_len != MLX4_RSS_KEY_SIZE) {
		MLX4_LOG(ERR, "port %u: RSS key of %u bytes, %u are needed", eth->dev->data->port_id, conf->rss_key_len,
			 MLX4_RSS_KEY_SIZE);
		return -EINVAL;
	}
	return 0;
}

int
mlx4_rss_configure(struct mlx4_eth *eth)
{
	const struct rte_eth_conf *conf = &eth->dev->data->dev_conf;
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	uint16_t queues = eth->dev->data->nb_rx_queues;

	eth->reta_size = RTE_MIN(eth->hca->caps.max_rss, (uint32_t)MLX4_ETH_RETA_MAX);
	eth->rss_hf = 0;
	memcpy(eth->rss_key, default_key, sizeof(eth->rss_key));
	if (conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) {
		int ret = check_hf(eth, rss->rss_hf);

		if (ret == 0)
			ret = check_key(eth, rss);
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

/* A queue that is not started gets no traffic: its entries go to the next one that is. UINT16_MAX: none is. */
static uint16_t
serving_queue(const struct mlx4_eth *eth, uint16_t wanted)
{
	uint16_t n = eth->dev->data->nb_rx_queues, i;

	for (i = 0; i < n; i++) {
		uint16_t q = (uint16_t)((wanted + i) % n);

		if (eth->rxqs[q] != NULL && eth->rxqs[q]->started)
			return q;
	}
	return UINT16_MAX;
}

/* The queue of each ring; returns the number of rings: the shortest period of the table. */
static uint16_t
effective_table(const struct mlx4_eth *eth, uint16_t *queue)
{
	uint16_t size = eth->rss_hf != 0 ? eth->reta_size : 1, period, i;

	for (i = 0; i < size; i++)
		queue[i] = serving_queue(eth, eth->reta[i]);
	for (period = 1; period < size; period <<= 1) {
		for (i = period; i < size; i++)
			if (queue[i] != queue[i - period])
				break;
		if (i >= size)
			break;
	}
	return period;
}

/* Sets of every started queue for the table; new_set[q] is NULL for the others. */
static int
create_sets(struct mlx4_eth *eth, const struct mlx4_rss *rss, const uint16_t *queue, struct mlx4_rx_set **new_set)
{
	uint16_t slots[MLX4_ETH_RETA_MAX], q, i, n;
	int ret;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++) {
		new_set[q] = NULL;
		if (eth->rxqs[q] == NULL || !eth->rxqs[q]->started)
			continue;
		for (i = 0, n = 0; i < rss->table; i++)
			if (queue[i] == q)
				slots[n++] = i;
		ret = mlx4_rx_set_create(eth->rxqs[q], rss->base_qpn, rss->table, slots, n, rss->has_parent,
					 &new_set[q]);
		if (ret != 0)
			goto err_set;
	}
	return 0;

err_set:
	while (q-- != 0)
		if (new_set[q] != NULL)
			mlx4_rx_set_destroy(eth->rxqs[q], new_set[q]);
	return ret;
}

static int
create_parent(struct mlx4_eth *eth, struct mlx4_rss *rss, struct mlx4_rx_set *const *new_set, uint16_t queue0)
{
	struct mlx4_rss_attr attr = {
		.port = eth->port,
		.base_qpn = rss->base_qpn,
		.lg_rings = (uint8_t)rte_log2_u32(rss->table),
		.fn = MLX4_RSS_FN_TOEPLITZ,
		.flags = card_flags(eth->rss_hf),
		.default_qpn = rss->base_qpn,
		.cq = &new_set[queue0]->cq,
	};
	int ret;

	memcpy(attr.key, eth->rss_key, sizeof(attr.key));
	ret = mlx4_qpn_reserve(eth->hca, 1, 1, false, &rss->parent_qpn);
	if (ret != 0)
		return ret;
	ret = mlx4_qp_create_rss(eth->hca, rss->parent_qpn, &attr, &rss->parent);
	if (ret != 0)
		goto err_create;
	ret = mlx4_qp_start(eth->hca, &rss->parent);
	if (ret != 0)
		goto err_start;
	return 0;

err_start:
	mlx4_qp_destroy(eth->hca, &rss->parent);
err_create:
	mlx4_qpn_release(eth->hca, rss->parent_qpn, 1);
	return ret;
}

static void
destroy_parent(struct mlx4_eth *eth, struct mlx4_rss *rss)
{
	if (!rss->has_parent)
		return;
	mlx4_qp_stop(eth->hca, &rss->parent);
	mlx4_qp_destroy(eth->hca, &rss->parent);
	mlx4_qpn_release(eth->hca, rss->parent_qpn, 1);
}

/* Everything that the present configuration asks for, not yet used by any rule. */
static int
build(struct mlx4_eth *eth, struct mlx4_rss **out, struct mlx4_rx_set **new_set)
{
	uint16_t queue[MLX4_ETH_RETA_MAX] = {0}, q;
	struct mlx4_rss *rss;
	int ret;

	rss = rte_zmalloc_socket("mlx4_rss", sizeof(*rss), 0, eth->hca->numa_node);
	if (rss == NULL)
		return -ENOMEM;
	rss->table = effective_table(eth, queue);
	rss->has_parent = rss->table > 1;
	ret = mlx4_qpn_reserve(eth->hca, rss->table, rss->table, false, &rss->base_qpn);
	if (ret != 0)
		goto err_qpn;
	ret = create_sets(eth, rss, queue, new_set);
	if (ret != 0)
		goto err_sets;
	if (rss->has_parent) {
		ret = create_parent(eth, rss, new_set, queue[0]);
		if (ret != 0)
			goto err_parent;
	}
	*out = rss;
	return 0;

err_parent:
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (new_set[q] != NULL)
			mlx4_rx_set_destroy(eth->rxqs[q], new_set[q]);
err_sets:
	mlx4_qpn_release(eth->hca, rss->base_qpn, rss->table);
err_qpn:
	rte_free(rss);
	return ret;
}

static void
publish(struct mlx4_eth *eth, struct mlx4_rx_set *const *new_set)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (new_set[q] != NULL)
			mlx4_rxq_publish(eth->rxqs[q], new_set[q]);
}

static uint32_t
target_of(const struct mlx4_rss *rss)
{
	return rss->has_parent ? rss->parent_qpn : rss->base_qpn;
}

static bool
any_started(const struct mlx4_eth *eth)
{
	return serving_queue(eth, 0) != UINT16_MAX;
}

int
mlx4_rss_start(struct mlx4_eth *eth)
{
	struct mlx4_rx_set *new_set[MLX4_ETH_MAX_RXQ];
	uint16_t q;
	int ret;

	eth->target_qpn = 0;
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		eth->rxqs[q]->started = !eth->rxqs[q]->deferred;
	if (!any_started(eth))
		return 0;
	ret = build(eth, &eth->rss, new_set);
	if (ret != 0) {
		for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
			eth->rxqs[q]->started = false;
		return ret;
	}
	publish(eth, new_set);
	eth->target_qpn = target_of(eth->rss);
	return 0;
}

/* Takes the rings of the set chain's last member back; the pollers then drain it. */
static void
quiesce_old(struct mlx4_eth *eth)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++) {
		struct mlx4_rx_set *s = eth->rxqs[q] != NULL ? eth->rxqs[q]->oldest : NULL;

		for (; s != NULL; s = s->next)
			if (!s->quiet)
				mlx4_rx_set_quiesce(eth->rxqs[q], s);
	}
}

/* Moves traffic to what the present configuration asks for, while queues are polled. */
static int
update(struct mlx4_eth *eth)
{
	struct mlx4_rx_set *new_set[MLX4_ETH_MAX_RXQ];
	struct mlx4_rss *old = eth->rss, *rss = NULL;
	uint16_t q;
	int ret;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (eth->rxqs[q] != NULL)
			mlx4_rxq_reap(eth->rxqs[q]);
	memset(new_set, 0, sizeof(new_set));
	if (any_started(eth)) {
		ret = build(eth, &rss, new_set);
		if (ret != 0)
			return ret;
	}
	ret = mlx4_filter_retarget(eth, rss != NULL ? target_of(rss) : 0);
	if (ret != 0)
		goto err_retarget;
	quiesce_old(eth);
	publish(eth, new_set);
	if (old != NULL) {
		destroy_parent(eth, old);
		mlx4_qpn_release(eth->hca, old->base_qpn, old->table);
		rte_free(old);
	}
	eth->rss = rss;
	return 0;

err_retarget:
	/* The parent holds the CQ of the first ring. */
	if (rss != NULL)
		destroy_parent(eth, rss);
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (new_set[q] != NULL)
			mlx4_rx_set_destroy(eth->rxqs[q], new_set[q]);
	if (rss != NULL) {
		mlx4_qpn_release(eth->hca, rss->base_qpn, rss->table);
		rte_free(rss);
	}
	return ret;
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
	eth->target_qpn = 0;
}

void
mlx4_rss_close(struct mlx4_eth *eth)
{
	if (eth->rss == NULL)
		return;
	destroy_parent(eth, eth->rss);
	mlx4_qpn_release(eth->hca, eth->rss->base_qpn, eth->rss->table);
	rte_free(eth->rss);
	eth->rss = NULL;
}

int
mlx4_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	uint16_t before[MLX4_ETH_RETA_MAX], i;
	int ret;

	if (size != eth->reta_size) {
		MLX4_LOG(ERR, "port %u: indirection table of %u entries, this port has %u", dev->data->port_id, size,
			 eth->reta_size);
		return -EINVAL;
	}
	memcpy(before, eth->reta, sizeof(before));
	for (i = 0; i < size; i++) {
		const struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint16_t q = group->reta[i % RTE_ETH_RETA_GROUP_SIZE];

		if (!(group->mask & RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE)))
			continue;
		if (q >= dev->data->nb_rx_queues) {
			MLX4_LOG(ERR, "port %u: entry %u names queue %u, allowed are 0..%u", dev->data->port_id, i, q,
				 dev->data->nb_rx_queues - 1);
			memcpy(eth->reta, before, sizeof(before));
			return -EINVAL;
		}
		eth->reta[i] = q;
	}
	if (!dev->data->dev_started)
		return 0;
	ret = update(eth);
	if (ret != 0)
		memcpy(eth->reta, before, sizeof(before));
	return ret;
}

int
mlx4_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct mlx4_eth *eth = dev->data->dev_private;
	uint16_t i;

	if (size != eth->reta_size) {
		MLX4_LOG(ERR, "port %u: indirection table of %u entries, this port has %u", dev->data->port_id, size,
			 eth->reta_size);
		return -EINVAL;
	}
	for (i = 0; i < size; i++)
		if (conf[i / RTE_ETH_RETA_GROUP_SIZE].mask & RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE))
			conf[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = eth->reta[i];
	return 0;
}

int
mlx4_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	uint8_t key[MLX4_RSS_KEY_SIZE];
	uint64_t hf = eth->rss_hf;
	int ret;

	ret = check_hf(eth, conf->rss_hf);
	if (ret == 0)
		ret = check_key(eth, conf);
	if (ret != 0)
		return ret;
	memcpy(key, eth->rss_key, sizeof(key));
	eth->rss_hf = conf->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len != 0)
		memcpy(eth->rss_key, conf->rss_key, sizeof(eth->rss_key));
	if (!dev->data->dev_started)
		return 0;
	ret = update(eth);
	if (ret != 0) {
		eth->rss_hf = hf;
		memcpy(eth->rss_key, key, sizeof(key));
	}
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

int
mlx4_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	int ret;

	if (eth->rxqs[idx]->started)
		return 0;
	eth->rxqs[idx]->started = true;
	ret = update(eth);
	if (ret != 0) {
		eth->rxqs[idx]->started = false;
		return ret;
	}
	dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return 0;
}

int
mlx4_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	int ret;

	if (!eth->rxqs[idx]->started)
		return 0;
	eth->rxqs[idx]->started = false;
	ret = update(eth);
	if (ret != 0) {
		eth->rxqs[idx]->started = true;
		return ret;
	}
	mlx4_rxq_drop_sets(eth->rxqs[idx]); /* nobody polls a queue that is being stopped */
	dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}
