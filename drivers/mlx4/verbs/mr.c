/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Protection domains, memory regions and windows: each has a key of its own. */
#include <errno.h>

#include <rte_malloc.h>

#include "verbs.h"

int
mlx4_roce_alloc_pd(struct troce_pd *pd)
{
	struct mlx4_roce_pd *p = (struct mlx4_roce_pd *)pd;
	struct mlx4_roce *r = mlx4_roce_of(pd->v.context);
	int rc;

	if (r->hca == NULL)
		return EIO;
	rc = mlx4_pd_alloc(r->hca, &p->pd);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	mlx4_belongs(r->hca, MLX4_OBJ_PD, p->pd, 1, r->port);
	p->live = true;
	LIST_INSERT_HEAD(&r->pds, p, next);
	return 0;
}

int
mlx4_roce_dealloc_pd(struct troce_pd *pd)
{
	struct mlx4_roce_pd *p = (struct mlx4_roce_pd *)pd;

	if (p->live)
		mlx4_pd_free(mlx4_roce_of(pd->v.context)->hca, p->pd);
	LIST_REMOVE(p, next);
	return 0;
}

static uint32_t
rights(int access)
{
	return ((access & IBV_ACCESS_LOCAL_WRITE) != 0 ? MLX4_KEY_LOCAL_WRITE : 0) |
	       ((access & IBV_ACCESS_REMOTE_READ) != 0 ? MLX4_KEY_REMOTE_READ : 0) |
	       ((access & IBV_ACCESS_REMOTE_WRITE) != 0 ? MLX4_KEY_REMOTE_WRITE : 0) |
	       ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0 ? MLX4_KEY_ATOMIC : 0) |
	       ((access & IBV_ACCESS_MW_BIND) != 0 ? MLX4_KEY_BIND : 0);
}

static void
key_taken(struct mlx4_roce *r, struct mlx4_roce_key *k)
{
	mlx4_belongs(r->hca, MLX4_OBJ_KEY, k->hw.index, 1, r->port);
	k->home = r;
	k->live = true;
}

int
mlx4_roce_reg_mr(struct troce_mr *mr)
{
	struct mlx4_roce_mr *m = (struct mlx4_roce_mr *)mr;
	struct mlx4_roce *r = mlx4_roce_of(mr->v.context);
	int rc;

	if (r->hca == NULL)
		return EIO;
	rc = mlx4_region_create(r->hca, mlx4_roce_pdn(mr->v.pd), mr->v.addr, mr->v.length, mr->iova,
				rights(mr->access) | (mr->opened ? MLX4_KEY_OPENED : 0), &m->key.hw);
	if (rc != 0)
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	key_taken(r, &m->key);
	mr->v.lkey = mr->v.rkey = m->key.hw.key;
	LIST_INSERT_HEAD(&r->mrs, &m->key, next);
	return 0;
}

int
mlx4_roce_rereg_mr(struct troce_mr *mr, const struct troce_mr *to)
{
	struct mlx4_roce_mr *m = (struct mlx4_roce_mr *)mr;
	struct mlx4_roce *r = m->key.home;
	bool lost;
	int rc;

	if (!m->key.live || r->hca->dead)
		return EIO;
	rc = mlx4_region_change(r->hca, mlx4_roce_pdn(to->v.pd), to->v.addr, to->v.length, to->iova,
				rights(to->access) | (to->opened ? MLX4_KEY_OPENED : 0), &m->key.hw, &lost);
	m->key.live = !lost;
	if (lost)
		return EIO;
	return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
}

int
mlx4_roce_alloc_mr(struct troce_mr *mr)
{
	struct mlx4_roce_mr *m = (struct mlx4_roce_mr *)mr;
	struct mlx4_roce *r = mlx4_roce_of(mr->v.context);
	uint32_t len = mr->pages * sizeof(*m->list);
	int rc;

	if (r->hca == NULL)
		return EIO;
	if (!r->hca->caps.fast_reg)
		return EOPNOTSUPP;
	/* The list is fetched in one piece: aligned to its size, it crosses no page. */
	m->list = rte_zmalloc("mlx4_pages", len, RTE_MAX(rte_align32pow2(len), MLX4_FR_LIST_ALIGN));
	if (m->list == NULL)
		return ENOMEM;
	m->list_iova = rte_malloc_virt2iova(m->list);
	rc = mlx4_fast_region_create(r->hca, mlx4_roce_pdn(mr->v.pd), mr->pages, &m->key.hw);
	if (rc != 0) {
		rte_free(m->list);
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	}
	key_taken(r, &m->key);
	mr->v.lkey = mr->v.rkey = m->key.hw.key;
	LIST_INSERT_HEAD(&r->mrs, &m->key, next);
	return 0;
}

bool
mlx4_roce_fast_pages(struct mlx4_roce_mr *m, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *b = &wr->bind_mw.bind_info;

	return m->list != NULL && m->key.live &&
	       mlx4_fast_region_pages(m->key.home->hca, &m->key.hw, (const void *)(uintptr_t)wr->sg_list->addr,
				      b->length, b->addr, m->list, &m->lg_page) == 0;
}

/* EBUSY: windows are bound to it. A card that does not answer was reset, so that what it had can be given back. */
static int
key_drop(struct mlx4_roce_key *k)
{
	int rc = k->live ? mlx4_mkey_destroy(k->home->hca, &k->hw) : 0;

	if (rc == -EBUSY && !k->home->hca->dead)
		return EBUSY;
	LIST_REMOVE(k, next);
	return 0;
}

int
mlx4_roce_dereg_mr(struct troce_mr *mr)
{
	struct mlx4_roce_mr *m = (struct mlx4_roce_mr *)mr;
	int rc = key_drop(&m->key);

	if (rc == 0)
		rte_free(m->list);
	return rc;
}

int
mlx4_roce_alloc_mw(struct troce_mw *mw)
{
	struct mlx4_roce_mw *m = (struct mlx4_roce_mw *)mw;
	struct mlx4_roce *r = mlx4_roce_of(mw->v.context);
	bool type2 = mw->v.type == IBV_MW_TYPE_2;
	int rc;

	if (r->hca == NULL)
		return EIO;
	if (type2 ? !r->hca->caps.mw2 : !r->hca->caps.mw)
		return EOPNOTSUPP;
	rc = mlx4_window_create(r->hca, mlx4_roce_pdn(mw->v.pd), type2, &m->key.hw);
	if (rc != 0)
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	key_taken(r, &m->key);
	mw->v.rkey = m->key.hw.key;
	LIST_INSERT_HEAD(&r->mws, &m->key, next);
	return 0;
}

int
mlx4_roce_dealloc_mw(struct troce_mw *mw)
{
	return key_drop(&((struct mlx4_roce_mw *)mw)->key);
}

void
mlx4_roce_keys_detach(struct mlx4_roce *r)
{
	struct mlx4_roce_key *k;
	struct mlx4_roce_pd *p;

	/* Windows first: a region with windows stays. */
	LIST_FOREACH(k, &r->mws, next)
	{
		mlx4_mkey_destroy(r->hca, &k->hw);
		k->live = false;
	}
	LIST_FOREACH(k, &r->mrs, next)
	{
		mlx4_mkey_destroy(r->hca, &k->hw);
		k->live = false;
	}
	LIST_FOREACH(p, &r->pds, next)
	{
		mlx4_pd_free(r->hca, p->pd);
		p->live = false;
	}
}
