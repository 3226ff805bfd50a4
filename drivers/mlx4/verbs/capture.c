/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card's transport sends and receives, for a capture: two rules make the card copy all that the port receives and
 * all that it sends to a queue each [CP 6.3, types 4 and 5]. The queues are ours alone and exist only meanwhile.
 */
#include <errno.h>

#include <rte_io.h>
#include <rte_malloc.h>

#include "verbs.h"

/*
 * That wait to be polled, each way: more than the transmit rings of a port that also forwards usually hold, since the card
 * may empty those while the thread that fills them and polls here waits for a CPU. What finds no room is not counted.
 */
#define FRAMES 2048u
#define BURST 32u
#define HEADERS 64u /* of Ethernet, with tags and FCS, round the MTU */

/* One direction. */
struct mirror {
	struct mlx4_cq cq;
	struct mlx4_qp qp;
	struct rte_mbuf *frame[FRAMES];
	uint64_t rule;
	uint32_t uar, qpn, ci, pi;
	uint32_t room;
	bool has_uar, has_cq, has_qpn, has_qp, has_rule;
};

struct mlx4_roce_capture {
	struct rte_mempool *pool;
	struct mirror way[2]; /* in, out */
};

static void
post(struct mirror *w, const struct mlx4_hca *hca)
{
	struct mlx4_wqe_data *d = (struct mlx4_wqe_data *)(void *)w->qp.rq + (w->pi & (FRAMES - 1));

	d->byte_count = rte_cpu_to_be_32(w->room);
	d->lkey = rte_cpu_to_be_32(hca->pa_key);
	d->addr = rte_cpu_to_be_64(rte_mbuf_data_iova_default(w->frame[w->pi & (FRAMES - 1)]));
	w->pi++;
}

static void
ring(struct mirror *w)
{
	rte_io_wmb();
	*w->qp.dbrec = rte_cpu_to_be_32(w->pi & 0xffff);
}

static int
mirror_create(struct mlx4_roce *r, struct rte_mempool *pool, struct mirror *w, enum mlx4_dmfs_type type)
{
	struct mlx4_hca *hca = r->hca;
	struct mlx4_qp_attr attr = {.port = r->port,
				    .rq_entries = FRAMES,
				    .rq_stride = MLX4_DS_SIZE,
				    .scq = &w->cq,
				    .rcq = &w->cq,
				    .numa_node = r->dev->numa_node};
	unsigned int i;
	int rc;

	w->room = (uint32_t)rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	if (rte_pktmbuf_alloc_bulk(pool, w->frame, FRAMES) != 0)
		return -ENOMEM;
	rc = mlx4_uar_alloc(hca, &w->uar);
	w->has_uar = rc == 0;
	if (w->has_uar)
		mlx4_belongs(hca, MLX4_OBJ_UAR, w->uar, 1, r->port);
	if (rc == 0)
		rc = mlx4_cq_create(hca, FRAMES, w->uar, -1, r->dev->numa_node, &w->cq);
	w->has_cq = rc == 0;
	if (w->has_cq)
		mlx4_belongs(hca, MLX4_OBJ_CQ, w->cq.cqn, 1, r->port);
	if (rc == 0)
		rc = mlx4_qpn_reserve(hca, 1, 1, false, &w->qpn);
	w->has_qpn = rc == 0;
	if (w->has_qpn)
		mlx4_belongs(hca, MLX4_OBJ_QP, w->qpn, 1, r->port);
	attr.uar = w->uar;
	if (rc == 0)
		rc = mlx4_qp_create(hca, w->qpn, &attr, &w->qp);
	w->has_qp = rc == 0;
	if (rc == 0)
		rc = mlx4_qp_start(hca, &w->qp);
	if (rc != 0)
		return rc;
	for (i = 0; i < FRAMES; i++)
		post(w, hca);
	ring(w);
	rc = mlx4_rule_default(hca, r->port, 0, type, w->qp.qpn, &w->rule);
	w->has_rule = rc == 0;
	if (rc != 0)
		TROCE_LOG(ERR, "%s: the card makes no copies of what the port %s: %s", r->dev->where,
			  type == MLX4_DMFS_MIRROR_RX ? "receives" : "sends", strerror(-rc));
	return rc;
}

static void
mirror_stop(struct mlx4_roce *r, struct mirror *w)
{
	if (w->has_rule)
		(void)mlx4_rule_remove(r->hca, r->port, w->rule);
	if (w->has_qp)
		(void)mlx4_qp_stop(r->hca, &w->qp);
}

static void
mirror_destroy(struct mlx4_roce *r, struct mirror *w)
{
	if (w->has_qp)
		mlx4_qp_destroy(r->hca, &w->qp);
	if (w->has_qpn)
		mlx4_qpn_release(r->hca, w->qpn, 1);
	if (w->has_cq)
		mlx4_cq_destroy(r->hca, &w->cq);
	if (w->has_uar)
		mlx4_uar_free(r->hca, w->uar);
	if (w->frame[0] != NULL)
		rte_pktmbuf_free_bulk(w->frame, FRAMES);
}

/* Frames that the card copied, a burst at most; again: they are posted again. */
static unsigned int
mirror_poll(struct mlx4_roce *r, struct mirror *w, bool out, bool again)
{
	struct rte_mbuf *seen[BURST];
	unsigned int n = 0, good = 0;

	for (; n < BURST; n++, w->ci++) {
		const struct mlx4_cqe *cqe = &w->cq.cqes[w->ci & (w->cq.entries - 1)];
		uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;
		struct rte_mbuf *m = w->frame[w->ci & (FRAMES - 1)];

		if ((op & MLX4_CQE_OWNER) != ((w->ci & w->cq.entries) != 0 ? MLX4_CQE_OWNER : 0))
			break;
		rte_io_rmb();
		/* One that is longer than any RoCE packet, or was flushed. */
		if ((op & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR)
			continue;
		m->data_len = (uint16_t)RTE_MIN(rte_be_to_cpu_32(cqe->byte_cnt), w->room);
		m->pkt_len = m->data_len;
		seen[good++] = m;
	}
	if (n == 0)
		return 0;
	troce_capture_burst(r->dev, seen, good, out);
	*w->cq.dbrec = rte_cpu_to_be_32(w->ci & MLX4_CQ_CI_MASK);
	if (!again)
		return n;
	while (w->pi != w->ci + FRAMES)
		post(w, r->hca);
	ring(w);
	return n;
}

unsigned int
mlx4_roce_capture_poll(struct mlx4_roce *r)
{
	unsigned int i, k, got, n = 0;

	pthread_mutex_lock(&r->capture_lock);
	/* All that is there: beside a forwarder's bursts more than one may come between two calls. */
	for (i = 0; r->capture != NULL && i < RTE_DIM(r->capture->way); i++) {
		for (k = 0, got = BURST; k < FRAMES / BURST && got == BURST; k++) {
			got = mirror_poll(r, &r->capture->way[i], i == 1, true);
			n += got;
		}
	}
	pthread_mutex_unlock(&r->capture_lock);
	return n;
}

static void
capture_free(struct mlx4_roce *r, struct mlx4_roce_capture *c)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(c->way); i++)
		mirror_stop(r, &c->way[i]);
	for (i = 0; i < RTE_DIM(c->way); i++)
		while (c->way[i].has_rule && mirror_poll(r, &c->way[i], i == 1, false) != 0)
			;
	for (i = 0; i < RTE_DIM(c->way); i++)
		mirror_destroy(r, &c->way[i]);
	rte_mempool_free(c->pool);
	rte_free(c);
}

static int
capture_start(struct mlx4_roce *r)
{
	struct mlx4_roce_capture *c = rte_zmalloc_socket("mlx4_capture", sizeof(*c), 0, r->dev->numa_node);
	char name[RTE_MEMPOOL_NAMESIZE];
	uint16_t mtu = 0;
	int rc = -ENOMEM;

	if (c == NULL)
		return -ENOMEM;
	snprintf(name, sizeof(name), "mlx4_capture_%u", r->dev->port_id);
	(void)rte_eth_dev_get_mtu(r->dev->port_id, &mtu);
	c->pool = rte_pktmbuf_pool_create(name, 2 * FRAMES, 0, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + mtu + HEADERS),
					  r->dev->numa_node);
	if (c->pool != NULL)
		rc = mirror_create(r, c->pool, &c->way[0], MLX4_DMFS_MIRROR_RX);
	if (rc == 0)
		rc = mirror_create(r, c->pool, &c->way[1], MLX4_DMFS_MIRROR_SX);
	if (rc != 0) {
		capture_free(r, c);
		return rc;
	}
	pthread_mutex_lock(&r->capture_lock);
	r->capture = c;
	pthread_mutex_unlock(&r->capture_lock);
	return 0;
}

void
mlx4_roce_capture_stop(struct mlx4_roce *r)
{
	struct mlx4_roce_capture *c;

	pthread_mutex_lock(&r->capture_lock);
	c = r->capture;
	r->capture = NULL;
	pthread_mutex_unlock(&r->capture_lock);
	if (c != NULL)
		capture_free(r, c);
}

int
mlx4_roce_capture(struct troce_dev *dev, bool on)
{
	struct mlx4_roce *r = dev->home;

	if (r->hca == NULL || r->dead)
		return EIO;
	if (on)
		return mlx4_roce_errno(capture_start(r));
	mlx4_roce_capture_stop(r);
	return 0;
}
