/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RSS parents of InfiniBand's datagrams: the same context as Ethernet's, on queue pairs of the service UD [DP 8.2]. */
#include <errno.h>

#include "verbs.h"

#define RINGS_MAX 128u

static const struct {
	uint32_t type; /* enum tp_roce_rss_type */
	uint8_t flag;
} types[] = {
	{TP_ROCE_RSS_IPV4, MLX4_RSS_F_IPV4},         {TP_ROCE_RSS_TCP_IPV4, MLX4_RSS_F_TCP_IPV4},
	{TP_ROCE_RSS_UDP_IPV4, MLX4_RSS_F_UDP_IPV4}, {TP_ROCE_RSS_IPV6, MLX4_RSS_F_IPV6},
	{TP_ROCE_RSS_TCP_IPV6, MLX4_RSS_F_TCP_IPV6}, {TP_ROCE_RSS_UDP_IPV6, MLX4_RSS_F_UDP_IPV6},
};

void
mlx4_roce_rss_caps(const struct mlx4_roce *r, struct tp_roce_rss_caps *caps)
{
	const struct mlx4_caps *c = &r->hca->caps;

	*caps = (struct tp_roce_rss_caps){0};
	if (r->dev->ib == NULL || c->max_rss < 2)
		return;
	caps->max_rings = RTE_MIN(c->max_rss, RINGS_MAX);
	caps->types = TP_ROCE_RSS_IPV4 | TP_ROCE_RSS_TCP_IPV4 | TP_ROCE_RSS_IPV6 | TP_ROCE_RSS_TCP_IPV6;
	if (c->udp_rss)
		caps->types |= TP_ROCE_RSS_UDP_IPV4 | TP_ROCE_RSS_UDP_IPV6;
}

int
mlx4_roce_reserve_qpns(struct troce_dev *dev, uint32_t n, uint32_t *base)
{
	struct mlx4_roce *r = dev->home;
	int rc = r->hca != NULL ? mlx4_qpn_reserve(r->hca, n, n, false, base) : -EIO;

	if (rc == 0)
		mlx4_belongs(r->hca, MLX4_OBJ_QP, *base, n, r->port);
	return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
}

void
mlx4_roce_release_qpns(struct troce_dev *dev, uint32_t base, uint32_t n)
{
	struct mlx4_roce *r = dev->home;

	if (r->hca != NULL)
		mlx4_qpn_release(r->hca, base, n);
}

int
mlx4_roce_fill_rss(const struct mlx4_roce_qp *q, uint8_t *ctx)
{
	const struct tp_roce_table *t = q->q.table;
	uint8_t flags = 0;
	unsigned int i;

	if (t == NULL) {
		TROCE_LOG(ERR, "%s: parent 0x%x has no table", q->home->dev->where, q->qpn);
		return -EINVAL;
	}
	for (i = 0; i < RTE_DIM(types); i++)
		flags |= (q->q.rss_types & types[i].type) != 0 ? types[i].flag : 0;
	prm_set(ctx, MLX4_QPC_RSS, 1);
	prm_set(ctx, MLX4_RSS_LG_RINGS, rte_log2_u32(t->num));
	prm_set(ctx, MLX4_RSS_BASE_QPN, t->base);
	prm_set(ctx, MLX4_RSS_DEFAULT_QPN, t->base);
	prm_set(ctx, MLX4_RSS_HASH_FN, MLX4_RSS_FN_TOEPLITZ);
	prm_set(ctx, MLX4_RSS_FLAGS, flags);
	memcpy(ctx + MLX4_RSS_KEY, q->q.rss_key, MLX4_RSS_KEY_SIZE);
	/* Without its flags nobody looks at it [DP 8.2]. */
	prm_set(ctx, MLX4_RSS_BASE_QPN_UDP, t->base);
	return 0;
}
static_assert(TP_ROCE_RSS_KEY == MLX4_RSS_KEY_SIZE, "the key goes as it is");
