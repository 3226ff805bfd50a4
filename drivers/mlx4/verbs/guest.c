/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What another process needs to use its objects by itself: their rings, and the pages of doorbells. */
#include <errno.h>

#include "verbs.h"

static void *
pool_get(void *arg, size_t len, size_t align)
{
	struct troce_guest *g = arg;

	return g->mem_get(g, len, align);
}

static void
pool_put(void *arg, void *mem, size_t len)
{
	struct troce_guest *g = arg;

	g->mem_put(g, mem, len);
}

const struct mlx4_dma_pool *
mlx4_roce_pool(struct troce_guest *guest, struct mlx4_dma_pool *pool)
{
	if (guest == NULL)
		return NULL;
	*pool = (struct mlx4_dma_pool){pool_get, pool_put, guest};
	return pool;
}

int
mlx4_roce_mem_open(struct troce_dev *dev, void *mem, size_t len)
{
	struct mlx4_roce *r = dev->home;

	if (r->hca == NULL)
		return EIO;
	return mlx4_roce_errno(r->hca->bus->ops->dma_map(r->hca->bus, mem, (uintptr_t)mem, len));
}

void
mlx4_roce_mem_close(struct troce_dev *dev, void *mem, size_t len)
{
	struct mlx4_roce *r = dev->home;

	/* A card that went took its windows along. */
	if (r->hca != NULL)
		(void)r->hca->bus->ops->dma_unmap(r->hca->bus, mem, (uintptr_t)mem, len);
}

int
mlx4_roce_vector_get(struct troce_dev *dev, struct troce_guest *guest, int fd)
{
	struct mlx4_roce *r = dev->home;
	int rc;

	if (r->hca == NULL)
		return EIO;
	rc = mlx4_own_vector_get(r->hca, r->port, guest, fd, &guest->vector);
	return rc == 0 ? 0 : mlx4_roce_errno(rc);
}

void
mlx4_roce_vector_put(struct troce_dev *dev, struct troce_guest *guest)
{
	struct mlx4_roce *r = dev->home;

	if (r->hca != NULL)
		mlx4_own_vector_put(r->hca, guest, guest->vector);
}

int
mlx4_roce_view_uars(struct troce_dev *dev, struct troce_view_uars *view)
{
	const struct mlx4_roce *r = dev->home;

	if (r->hca == NULL)
		return EIO;
	if (r->hca->bus->ops->uar_lend == NULL)
		return EOPNOTSUPP;
	*view = (struct troce_view_uars){(size_t)r->hca->caps.num_uars * MLX4_UAR_PAGE_SIZE, r->num_qps};
	return 0;
}

static int
lend(struct mlx4_roce *r, uint32_t page, int fd)
{
	return r->hca->bus->ops->uar_lend(r->hca->bus, page * MLX4_UAR_PAGE_SIZE, fd);
}

int
mlx4_roce_uar_get(struct mlx4_roce *r, const struct troce_guest *guest, uint32_t *page)
{
	int rc = mlx4_uar_alloc(r->hca, page);

	if (rc == 0)
		mlx4_belongs(r->hca, MLX4_OBJ_UAR, *page, 1, r->port);
	if (rc != 0 || guest == NULL)
		return rc;
	rc = lend(r, *page, guest->uar_fd);
	if (rc != 0)
		mlx4_roce_uar_put(r, guest, *page);
	return rc;
}

void
mlx4_roce_uar_put(struct mlx4_roce *r, const struct troce_guest *guest, uint32_t page)
{
	int rc = guest == NULL ? 0 : lend(r, page, -1);

	/* Nobody else may get a page that is still the guest's. */
	if (rc == 0)
		mlx4_uar_free(r->hca, page);
	else
		TROCE_LOG(ERR, "%s: UAR page %u stays with a process that is gone: %s", r->dev->where, page,
			  strerror(-rc));
}

static uint32_t
place(const struct mlx4_dma *buf, const volatile void *at)
{
	return (uint32_t)((const volatile uint8_t *)at - (const uint8_t *)buf->va);
}

void
mlx4_roce_view_cq(const struct troce_cq *cq, struct troce_view_cq *view)
{
	const struct mlx4_roce_cq *c = (const void *)cq;

	*view = (struct troce_view_cq){
		.mem = c->hw.buf.va,
		.len = c->hw.buf.len,
		.cqn = c->cqn,
		.uar = c->uar,
		.entries = c->hw.entries,
		.dbrec = place(&c->hw.buf, c->hw.dbrec),
	};
}

void
mlx4_roce_view_qp(const struct troce_qp *qp, struct troce_view_qp *view)
{
	const struct mlx4_roce_qp *q = (const void *)qp;

	*view = (struct troce_view_qp){
		.mem = q->hw.buf.va,
		.len = q->hw.buf.len,
		.qpn = q->qpn,
		.uar = q->uar,
		.sq = place(&q->hw.buf, q->hw.sq),
		.rq = place(&q->hw.buf, q->hw.rq),
		.dbrec = place(&q->hw.buf, q->hw.dbrec),
		.sq_entries = q->sq_cap != 0 ? q->sq_mask + 1 : 0,
		.rq_entries = q->rq_cap,
		.max_inline = q->max_inline,
		.sq_sges = q->sq_sges,
		.rq_sges = q->rq_sges,
		.lg_sq_stride = q->lg_sq_stride,
		.lg_rq_stride = q->lg_rq_stride,
	};
}

void
mlx4_roce_view_srq(const struct troce_srq *srq, struct troce_view_srq *view)
{
	const struct mlx4_roce_srq *s = (const void *)srq;

	*view = (struct troce_view_srq){
		.mem = s->hw.buf.va,
		.len = s->hw.buf.len,
		.srqn = s->hw.srqn,
		.entries = s->hw.entries,
		.dbrec = place(&s->hw.buf, s->hw.dbrec),
		.sges = s->sges,
		.lg_stride = s->lg_stride,
	};
}

static_assert(TROCE_VIEW_AH == MLX4_DGRAM_SIZE, "an address is as long as the card has it");

void
mlx4_roce_view_ah(const struct troce_ah *ah, uint8_t dgram[TROCE_VIEW_AH])
{
	memcpy(dgram, ((const struct mlx4_roce_ah *)(const void *)ah)->dgram, TROCE_VIEW_AH);
}
