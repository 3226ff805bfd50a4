/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From actions to the fate of frames: exactly one of queue, rss and drop; mark, flag and count beside the first two. */
#include <errno.h>
#include <inttypes.h>

#include "flow.h"
#include "drivers/mlx4/steer/rss.h"

struct parse {
	const struct mlx4_eth *eth;
	struct mlx4_flow_fate *f;
	struct rte_flow_error *e;
	const struct rte_flow_action *action;
	const struct rte_flow_action *fate; /* the one that was seen */
};

static int
take_fate(struct parse *p, const char *name)
{
	if (p->fate != NULL)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, p->action,
					"%s: a second fate, want one of queue, rss, drop", name);
	p->fate = p->action;
	return 0;
}

static int
check_queue(struct parse *p, const char *name, uint16_t queue)
{
	uint16_t n = p->eth->dev->data->nb_rx_queues;

	if (queue < n)
		return 0;
	if (n == 0)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"%s: queue %u, the port has none yet", name, queue);
	return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action, "%s: queue %u, want 0..%u",
				name, queue, n - 1);
}

static int
need_conf(struct parse *p, const char *name)
{
	return p->action->conf != NULL ? 0
				       : mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
							  "%s: no configuration", name);
}

static int
take_queue(struct parse *p)
{
	const struct rte_flow_action_queue *q = p->action->conf;
	int rc = take_fate(p, "queue");

	if (rc == 0)
		rc = need_conf(p, "queue");
	if (rc == 0)
		rc = check_queue(p, "queue", q->index);
	if (rc != 0)
		return rc;
	p->f->n = 1;
	p->f->queue[0] = q->index;
	return 0;
}

/* --- rss -------------------------------------------------------------------------------------------------- */

static int
rss_queues(struct parse *p, const struct rte_flow_action_rss *rss)
{
	uint32_t i;
	int rc = 0;

	if (rss->queue_num == 0 || rss->queue_num > p->eth->reta_size || rss->queue == NULL)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: %u queues, want 1..%u", rss->queue_num, p->eth->reta_size);
	for (i = 0; rc == 0 && i < rss->queue_num; i++) {
		rc = check_queue(p, "rss", rss->queue[i]);
		p->f->queue[i] = rss->queue[i];
	}
	p->f->n = (uint16_t)rss->queue_num;
	return rc;
}

/*
 * The types with addresses of extension headers ask for those of the header where there are none: beside the plain type,
 * as testpmd puts them, they say nothing that the card does not do.
 */
static uint64_t
without_extensions(uint64_t types)
{
	static const struct {
		uint64_t extended, plain;
	} t[] = {
		{RTE_ETH_RSS_IPV6_EX, RTE_ETH_RSS_IPV6},
		{RTE_ETH_RSS_IPV6_TCP_EX, RTE_ETH_RSS_NONFRAG_IPV6_TCP},
		{RTE_ETH_RSS_IPV6_UDP_EX, RTE_ETH_RSS_NONFRAG_IPV6_UDP},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++)
		if ((types & t[i].plain) != 0)
			types &= ~t[i].extended;
	return types;
}

/*
 * Which headers are hashed, as RTE_ETH_RSS_LEVEL_*: level says it, or the types, or both the same; as the port does where neither
 * does. A ConnectX-3 Pro hashes the innermost headers of the tunnels that it knows, which have one level inside.
 */
static int
rss_level(struct parse *p, const struct rte_flow_action_rss *rss, uint64_t *out)
{
	static const uint64_t of_level[] = {RTE_ETH_RSS_LEVEL_PMD_DEFAULT, RTE_ETH_RSS_LEVEL_OUTERMOST,
					    RTE_ETH_RSS_LEVEL_INNERMOST};
	const uint32_t by_types = (uint32_t)RTE_ETH_RSS_LEVEL(rss->types), most = p->eth->hca->caps.vxlan ? 2 : 1;
	const uint32_t level = rss->level != 0 ? rss->level : by_types;

	if (level > most)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: level %u%s, want 0..%u: %s", level, rss->level != 0 ? "" : " (types)",
					most,
					most == 2 ? "the card hashes outer headers or those of one tunnel inside"
						  : "this card hashes outer headers, a ConnectX-3 Pro inner ones, too");
	if (rss->level != 0 && by_types != 0 && rss->level != by_types)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: level %u with types of level %u, want the same", rss->level, by_types);
	*out = level != 0 ? of_level[level] : p->eth->rss_hf & RTE_ETH_RSS_LEVEL_MASK;
	return 0;
}

static int
rss_hash(struct parse *p, const struct rte_flow_action_rss *rss)
{
	uint64_t known = mlx4_rss_types(p->eth) & ~RTE_ETH_RSS_LEVEL_MASK, level = 0;
	uint64_t types = without_extensions(rss->types) & ~RTE_ETH_RSS_LEVEL_MASK;
	int rc;

	switch (rss->func) {
	case RTE_ETH_HASH_FUNCTION_DEFAULT:
	case RTE_ETH_HASH_FUNCTION_TOEPLITZ: break;
	case RTE_ETH_HASH_FUNCTION_SIMPLE_XOR:
		p->f->xor_hash = p->eth->hca->caps.rss_xor;
		if (p->f->xor_hash)
			break;
		/* fallthrough */
	default:
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: hash function %d, want default, toeplitz%s", (int)rss->func,
					p->eth->hca->caps.rss_xor ? " or simple_xor" : "");
	}
	rc = rss_level(p, rss, &level);
	if (rc != 0)
		return rc;
	if (types == 0)
		types = (p->eth->rss_hf & ~RTE_ETH_RSS_LEVEL_MASK) != 0 ? p->eth->rss_hf & ~RTE_ETH_RSS_LEVEL_MASK
									: known;
	if ((types & ~known) != 0)
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: types 0x%" PRIx64 ", want some of 0x%" PRIx64, types & ~known, known);
	p->f->hash = mlx4_spread_flags(p->eth, types | level);
	return 0;
}

static int
rss_key(struct parse *p, const struct rte_flow_action_rss *rss)
{
	if (rss->key != NULL && rss->key_len != 0 && rss->key_len != MLX4_RSS_KEY_SIZE)
		return mlx4_flow_refuse(p->e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, p->action,
					"rss: a key of %u bytes, want %u or none", rss->key_len, MLX4_RSS_KEY_SIZE);
	if (p->f->xor_hash)
		return 0;
	memcpy(p->f->key, rss->key != NULL && rss->key_len != 0 ? rss->key : p->eth->rss_key, MLX4_RSS_KEY_SIZE);
	return 0;
}

static int
take_rss(struct parse *p)
{
	const struct rte_flow_action_rss *rss = p->action->conf;
	int rc = take_fate(p, "rss");

	if (rc == 0)
		rc = need_conf(p, "rss");
	if (rc == 0)
		rc = rss_queues(p, rss);
	if (rc == 0)
		rc = rss_hash(p, rss);
	return rc != 0 ? rc : rss_key(p, rss);
}

/* --- the others ------------------------------------------------------------------------------------------- */

static int
take_mark(struct parse *p)
{
	const struct rte_flow_action_mark *mark = p->action->conf;
	int rc = need_conf(p, "mark");

	if (rc != 0)
		return rc;
	p->f->mark = true;
	p->f->mark_id = mark->id;
	p->f->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
	return 0;
}

static int
take_action(struct parse *p)
{
	char name[MLX4_FLOW_NAME];

	switch ((int)p->action->type) {
	case RTE_FLOW_ACTION_TYPE_VOID: return 0;
	case RTE_FLOW_ACTION_TYPE_QUEUE: return take_queue(p);
	case RTE_FLOW_ACTION_TYPE_RSS: return take_rss(p);
	case RTE_FLOW_ACTION_TYPE_DROP: return take_fate(p, "drop");
	case RTE_FLOW_ACTION_TYPE_MARK: return take_mark(p);
	case RTE_FLOW_ACTION_TYPE_FLAG: p->f->ol_flags |= RTE_MBUF_F_RX_FDIR; return 0;
	case RTE_FLOW_ACTION_TYPE_COUNT: p->f->count = true; return 0;
	default:
		return mlx4_flow_refuse(p->e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, p->action,
					"%s: want queue, rss, drop, mark, flag, count",
					mlx4_flow_action_name((int)p->action->type, name));
	}
}

int
mlx4_flow_fate(const struct mlx4_eth *eth, const struct rte_flow_action *actions, struct mlx4_flow_fate *f,
	       struct rte_flow_error *e)
{
	struct parse p = {.eth = eth, .f = f, .e = e, .action = actions};
	int rc = 0;

	memset(f, 0, sizeof(*f));
	if (actions == NULL)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_NUM, NULL, "no actions");
	for (; rc == 0 && p.action->type != RTE_FLOW_ACTION_TYPE_END; p.action++)
		rc = take_action(&p);
	if (rc != 0)
		return rc;
	if (p.fate == NULL)
		return mlx4_flow_refuse(e, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, p.action,
					"no fate, want one of queue, rss, drop");
	if (f->n == 0 && (f->count || f->ol_flags != 0))
		return mlx4_flow_refuse(e, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, p.fate,
					"drop: with %s, want it alone: what the card drops nobody sees",
					f->count ? "count" : "mark or flag");
	return 0;
}
