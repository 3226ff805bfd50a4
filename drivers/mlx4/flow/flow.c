/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The rules of a port. A rule that the card was given is on it while the port is started, and again after the next start.
 * When the rings of a fate are replaced, each rule is followed by one of its neighbouring priority, so that a frame goes to
 * the old rings or to the new ones and never to both.
 */
#include "flow.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/steer/drop_queue.h"
#include "drivers/mlx4/steer/filter.h"

int
mlx4_flows_create(struct mlx4_eth *eth)
{
	eth->flows = rte_zmalloc_socket("mlx4_flows", sizeof(*eth->flows), 0, eth->hca->numa_node);
	if (eth->flows == NULL)
		return -ENOMEM;
	TAILQ_INIT(&eth->flows->list);
	TAILQ_INIT(&eth->flows->targets);
	return 0;
}

/* --- a rule on the card ----------------------------------------------------------------------------------- */

static uint16_t
place(const struct rte_flow *f, uint16_t turn)
{
	return (uint16_t)(2 * f->prio + turn);
}

static int
rule_install(struct mlx4_eth *eth, const struct rte_flow *f, const struct mlx4_flow_rings *r, uint16_t turn,
	     uint64_t *id)
{
	if (r == NULL && !eth->drop.up) {
		int rc = mlx4_drop_queue_open(eth);

		if (rc != 0)
			return rc;
	}
	return mlx4_rule_specs(eth->hca, eth->port, MLX4_DMFS_PRIO_ETHTOOL + place(f, turn), f->match.spec,
			       f->match.len, mlx4_flow_rings_qpn(eth, r), id);
}

/* All rules of a target go to other rings, or none. */
static int
target_move(struct mlx4_eth *eth, const struct mlx4_flow_target *t, const struct mlx4_flow_rings *r)
{
	struct rte_flow *f;
	int rc = 0;

	TAILQ_FOREACH(f, &eth->flows->list, next)
	if (rc == 0 && f->target == t)
		rc = rule_install(eth, f, r, !f->turn, &f->next_id);
	TAILQ_FOREACH(f, &eth->flows->list, next)
	{
		if (f->target != t)
			continue;
		mlx4_rule_drop(eth->hca, eth->port, rc == 0 ? &f->id : &f->next_id);
		if (rc != 0)
			continue;
		f->id = f->next_id;
		f->next_id = MLX4_NO_RULE;
		f->turn = !f->turn;
	}
	return rc;
}

static int
target_refresh(struct mlx4_eth *eth, struct mlx4_flow_target *t)
{
	struct mlx4_flow_rings *r;
	int rc;

	if (mlx4_flow_rings_fit(eth, t))
		return 0;
	rc = mlx4_flow_rings_build(eth, t, &r);
	if (rc != 0)
		return rc;
	rc = target_move(eth, t, r);
	if (rc != 0) {
		mlx4_flow_rings_retire(eth, r);
		return rc;
	}
	mlx4_flow_rings_retire(eth, t->rings);
	t->rings = r;
	return 0;
}

static void
reap(struct mlx4_eth *eth)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (eth->rxqs[q] != NULL)
			mlx4_rx_sides_reap(eth->rxqs[q]);
	mlx4_rx_burst_update(eth);
}

int
mlx4_flows_refresh(struct mlx4_eth *eth)
{
	struct mlx4_flow_target *t;
	int rc = 0;

	if (!eth->flows->up)
		return 0;
	reap(eth);
	TAILQ_FOREACH(t, &eth->flows->targets, next)
	if (rc == 0)
		rc = target_refresh(eth, t);
	return rc;
}

/* --- targets ---------------------------------------------------------------------------------------------- */

static bool
same_fate(const struct mlx4_flow_fate *a, const struct mlx4_flow_fate *b)
{
	return a->n == b->n && a->hash == b->hash && a->xor_hash == b->xor_hash && a->mark == b->mark &&
	       a->mark_id == b->mark_id && a->ol_flags == b->ol_flags &&
	       memcmp(a->queue, b->queue, a->n * sizeof(a->queue[0])) == 0 &&
	       memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

/* What is counted is one rule's. */
static struct mlx4_flow_target *
target_find(const struct mlx4_eth *eth, const struct mlx4_flow_fate *fate)
{
	struct mlx4_flow_target *t;

	TAILQ_FOREACH(t, &eth->flows->targets, next)
	if (!fate->count && !t->fate.count && same_fate(&t->fate, fate))
		return t;
	return NULL;
}

static void
target_put(struct mlx4_eth *eth, struct mlx4_flow_target *t)
{
	uint16_t i;

	if (--t->refs != 0)
		return;
	TAILQ_REMOVE(&eth->flows->targets, t, next);
	for (i = 0; t->rings != NULL && i < t->rings->n; i++)
		t->rings->at[i].side->total = NULL;
	mlx4_flow_rings_retire(eth, t->rings);
	/* Older rings may not be emptied yet. */
	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		struct mlx4_rx_sides *s = eth->rxqs[i] != NULL ? eth->rxqs[i]->sides : NULL;
		uint16_t k;

		for (k = 0; s != NULL && k < s->n; k++)
			if (s->side[k]->total == &t->past)
				s->side[k]->total = NULL;
	}
	rte_free(t);
}

static int
target_get(struct mlx4_eth *eth, const struct mlx4_flow_fate *fate, struct mlx4_flow_target **out)
{
	struct mlx4_flow_target *t = target_find(eth, fate);
	int rc = 0;

	if (t == NULL) {
		t = rte_zmalloc_socket("mlx4_flow_target", sizeof(*t), 0, eth->hca->numa_node);
		if (t == NULL)
			return -ENOMEM;
		t->fate = *fate;
		if (eth->flows->up)
			rc = mlx4_flow_rings_build(eth, t, &t->rings);
		if (rc != 0) {
			rte_free(t);
			return rc;
		}
		TAILQ_INSERT_TAIL(&eth->flows->targets, t, next);
	}
	t->refs++;
	*out = t;
	return 0;
}

/* --- the list --------------------------------------------------------------------------------------------- */

static int
check_attr(const struct rte_flow_attr *a, struct rte_flow_error *e)
{
	if (a == NULL)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, NULL, "no attributes");
	if (a->group != 0)
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_GROUP, a, "group %u, want 0", a->group);
	if (a->priority > MLX4_FLOW_PRIO_MAX)
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, a, "priority %u, want 0..%u",
					a->priority, MLX4_FLOW_PRIO_MAX);
	if (a->egress)
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, a,
					"egress, want ingress: the card steers what it receives");
	if (a->transfer)
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, a,
					"transfer, want ingress: there is no switch in the card");
	if (!a->ingress)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, a, "no direction, want ingress");
	return 0;
}

/* The card would give such frames to both. */
static int
check_new(const struct mlx4_eth *eth, const struct rte_flow_attr *a, const struct mlx4_flow_match *m,
	  struct rte_flow_error *e)
{
	const struct rte_flow *f;

	TAILQ_FOREACH(f, &eth->flows->list, next)
	if (f->prio == a->priority && memcmp(&f->match, m, sizeof(*m)) == 0)
		return mlx4_flow_refuse(e, EEXIST, RTE_FLOW_ERROR_TYPE_ITEM, NULL,
					"a rule of priority %u has this pattern, want another priority", a->priority);
	return 0;
}

static int
check_rule(const struct mlx4_eth *eth, const struct rte_flow_attr *attr, const struct rte_flow_item *items,
	   const struct rte_flow_action *actions, struct mlx4_flow_match *m, struct mlx4_flow_fate *fate,
	   struct rte_flow_error *e)
{
	int rc = check_attr(attr, e);

	if (rc == 0)
		rc = mlx4_flow_match(eth, items, m, e);
	if (rc == 0)
		rc = mlx4_flow_fate(eth, actions, fate, e);
	return rc != 0 ? rc : check_new(eth, attr, m, e);
}

static int
add(struct mlx4_eth *eth, uint32_t prio, const struct mlx4_flow_match *m, const struct mlx4_flow_fate *fate,
    struct rte_flow **out)
{
	struct rte_flow *f = rte_zmalloc_socket("mlx4_flow", sizeof(*f), 0, eth->hca->numa_node);
	int rc;

	if (f == NULL)
		return -ENOMEM;
	f->prio = (uint16_t)prio;
	f->match = *m;
	f->id = f->next_id = MLX4_NO_RULE;
	rc = target_get(eth, fate, &f->target);
	if (rc != 0)
		goto err_target;
	if (eth->flows->up)
		rc = rule_install(eth, f, f->target->rings, f->turn, &f->id);
	if (rc != 0)
		goto err_rule;
	TAILQ_INSERT_TAIL(&eth->flows->list, f, next);
	*out = f;
	return 0;

err_rule:
	target_put(eth, f->target);
err_target:
	rte_free(f);
	return rc;
}

static void
take_away(struct mlx4_eth *eth, struct rte_flow *f)
{
	mlx4_rule_drop(eth->hca, eth->port, &f->id);
	TAILQ_REMOVE(&eth->flows->list, f, next);
	target_put(eth, f->target);
	rte_free(f);
}

static void
take_all(struct mlx4_eth *eth)
{
	struct rte_flow *f;

	while ((f = TAILQ_FIRST(&eth->flows->list)) != NULL)
		take_away(eth, f);
}

static int
check_handle(const struct mlx4_eth *eth, const struct rte_flow *flow, struct rte_flow_error *e)
{
	const struct rte_flow *f;

	TAILQ_FOREACH(f, &eth->flows->list, next)
	if (f == flow)
		return 0;
	return mlx4_flow_refuse(e, ENOENT, RTE_FLOW_ERROR_TYPE_HANDLE, flow, "not a rule of port %u",
				eth->dev->data->port_id);
}

/* --- with the port ---------------------------------------------------------------------------------------- */

void
mlx4_flows_destroy(struct mlx4_eth *eth)
{
	if (eth->flows == NULL)
		return;
	take_all(eth);
	rte_free(eth->flows);
	eth->flows = NULL;
}

int
mlx4_flows_check_configure(const struct mlx4_eth *eth, uint16_t num_rxq)
{
	const struct mlx4_flow_target *t;
	uint16_t i;

	TAILQ_FOREACH(t, &eth->flows->targets, next)
	for (i = 0; i < t->fate.n; i++) {
		if (t->fate.queue[i] < num_rxq)
			continue;
		MLX4_LOG(
			ERR,
			"port %u: %u receive queues, but a flow rule names queue %u: wanted more than that, or no such "
			"rule",
			eth->dev->data->port_id, num_rxq, t->fate.queue[i]);
		return -EBUSY;
	}
	return 0;
}

static int
start_all(struct mlx4_eth *eth)
{
	struct mlx4_flow_target *t;
	struct rte_flow *f;
	int rc = 0;

	TAILQ_FOREACH(t, &eth->flows->targets, next)
	if (rc == 0)
		rc = mlx4_flow_rings_build(eth, t, &t->rings);
	TAILQ_FOREACH(f, &eth->flows->list, next)
	if (rc == 0)
		rc = rule_install(eth, f, f->target->rings, f->turn, &f->id);
	return rc;
}

int
mlx4_flows_start(struct mlx4_eth *eth)
{
	int rc = start_all(eth);

	eth->flows->up = true;
	if (rc == 0)
		return 0;
	MLX4_LOG(ERR, "port %u: its flow rules cannot be put on the card: %s", eth->dev->data->port_id,
		 rte_strerror(-rc));
	mlx4_flows_stop(eth);
	return rc;
}

void
mlx4_flows_stop(struct mlx4_eth *eth)
{
	struct mlx4_flow_target *t;
	struct rte_flow *f;
	uint16_t q;

	if (!eth->flows->up)
		return;
	eth->flows->up = false;
	TAILQ_FOREACH(f, &eth->flows->list, next)
	mlx4_rule_drop(eth->hca, eth->port, &f->id);
	TAILQ_FOREACH(t, &eth->flows->targets, next)
	{
		mlx4_flow_rings_retire(eth, t->rings);
		t->rings = NULL;
	}
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (eth->rxqs[q] != NULL)
			mlx4_rx_sides_drop(eth->rxqs[q]);
}

/* --- operations ------------------------------------------------------------------------------------------- */

/* Takes the lock, and frees what pollers have emptied since. */
static struct mlx4_eth *
enter(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	mlx4_control_lock(eth);
	reap(eth);
	return eth;
}

static int
leave(struct mlx4_eth *eth, int rc)
{
	mlx4_control_unlock(eth);
	return rc;
}

static int
flow_validate(struct rte_eth_dev *dev, const struct rte_flow_attr *attr, const struct rte_flow_item *items,
	      const struct rte_flow_action *actions, struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);
	struct mlx4_flow_match m;
	struct mlx4_flow_fate fate;

	return leave(eth, check_rule(eth, attr, items, actions, &m, &fate, e));
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev, const struct rte_flow_attr *attr, const struct rte_flow_item *items,
	    const struct rte_flow_action *actions, struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);
	struct rte_flow *f = NULL;
	struct mlx4_flow_match m;
	struct mlx4_flow_fate fate;
	int rc = check_rule(eth, attr, items, actions, &m, &fate, e);

	if (rc == 0) {
		rc = add(eth, attr->priority, &m, &fate, &f);
		if (rc != 0)
			mlx4_flow_refuse(e, -rc, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
					 "the rule cannot be put on the card: %s", rte_strerror(-rc));
	}
	leave(eth, rc);
	return f;
}

static int
flow_destroy(struct rte_eth_dev *dev, struct rte_flow *flow, struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);
	int rc = check_handle(eth, flow, e);

	if (rc == 0)
		take_away(eth, flow);
	return leave(eth, rc);
}

static int
flow_flush(struct rte_eth_dev *dev, struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);

	RTE_SET_USED(e);
	take_all(eth);
	return leave(eth, 0);
}

static int
count_query(const struct mlx4_eth *eth, const struct rte_flow *flow, const struct rte_flow_action *action,
	    struct rte_flow_query_count *out, struct rte_flow_error *e)
{
	struct mlx4_flow_target *t = flow->target;
	uint64_t packets, bytes;
	char name[MLX4_FLOW_NAME];

	if (action == NULL || out == NULL)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, action, "a query of no %s, want count",
					action == NULL ? "action" : "data");
	if (action->type != RTE_FLOW_ACTION_TYPE_COUNT)
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action, "a query of %s, want count",
					mlx4_flow_action_name((int)action->type, name));
	if (!t->fate.count)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, action,
					"count: the rule has no such action");
	mlx4_flow_target_count(eth, t, &packets, &bytes);
	out->hits_set = 1;
	out->bytes_set = 1;
	out->hits = packets - t->seen_packets;
	out->bytes = bytes - t->seen_bytes;
	if (out->reset) {
		t->seen_packets = packets;
		t->seen_bytes = bytes;
	}
	return 0;
}

static int
flow_query(struct rte_eth_dev *dev, struct rte_flow *flow, const struct rte_flow_action *action, void *data,
	   struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);
	int rc = check_handle(eth, flow, e);

	return leave(eth, rc != 0 ? rc : count_query(eth, flow, action, data, e));
}

static int
flow_isolate(struct rte_eth_dev *dev, int on, struct rte_flow_error *e)
{
	struct mlx4_eth *eth = enter(dev);
	int rc = on != 0 && eth->may_isolate != NULL ? eth->may_isolate(eth, e) : 0;

	if (rc != 0)
		return leave(eth, rc);
	rc = mlx4_filter_isolate(eth, on != 0);
	if (rc != 0)
		mlx4_flow_refuse(e, -rc, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
				 "the port's own rules cannot be put on the card: %s", rte_strerror(-rc));
	return leave(eth, rc);
}

static const struct rte_flow_ops flow_ops = {
	.validate = flow_validate,
	.create = flow_create,
	.destroy = flow_destroy,
	.flush = flow_flush,
	.query = flow_query,
	.isolate = flow_isolate,
};

int
mlx4_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops)
{
	RTE_SET_USED(dev);
	*ops = &flow_ops;
	return 0;
}
