/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* QP0 and QP1: rings, buffers and completions [DP 3.13, 10.4]. */
#include <errno.h>
#include <stdatomic.h>

#include <rte_cycles.h>
#include <rte_io.h>
#include <rte_malloc.h>

#include "lib/roce/wire/wire.h"

#include "mad.h"

#define LG_SENDS 5u
#define SENDS (1u << LG_SENDS)
#define LG_SEND_STRIDE 8u
#define SEND_SPARE ((MLX4_SQ_PREFETCH_BYTES >> LG_SEND_STRIDE) + 1u)
#define SENDERS_MAX 2u
#define RECVS 64u
#define RECV_ROOM 320u /* GRH and datagram, rounded up */
#define LG_RECV_STRIDE 5u
#define CQES 256u
#define LG_MSG 11u
/* What was posted last leaves in microseconds, unless the port is paused. */
#define LEAVE_MS 100u

/* A send queue; the first one's queue pair is the special one itself. */
struct sender {
	struct mlx4_qp hw;
	uint32_t uar, head, tail;
	bool made, reserved;
};

struct mlx4_mad_end {
	struct mlx4_roce *home;
	const struct mlx4_mad_ops *ops;
	pthread_mutex_t lock; /* of the send queues */
	struct sender s[SENDERS_MAX];
	unsigned int senders;
	struct mlx4_cq cq;
	uint32_t cq_uar, ci;
	atomic_uint psn;
	struct mlx4_dma buf;
	uint8_t *sends, *recvs; /* in buf */
	uint32_t rq_head;
	bool has_cq, leaving;
};

/* --- life -------------------------------------------------------------------------------------------------- */

static int
qp_up(struct mlx4_mad_end *g, struct sender *s, unsigned int index)
{
	static const enum mlx4_qp_state to[] = {MLX4_QP_INIT, MLX4_QP_RTR, MLX4_QP_RTS};
	uint8_t *ctx = s->hw.ctx;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < SENDS << LG_SEND_STRIDE; i += MLX4_TXBB_SIZE)
		prm_set32(s->hw.sq, i, UINT32_MAX);
	prm_set(ctx, MLX4_QPC_MTU, IBV_MTU_4096);
	prm_set(ctx, MLX4_QPC_LG_MSG, LG_MSG);
	g->ops->context(g->home, ctx, index);
	for (i = 0; rc == 0 && i < RTE_DIM(to); i++)
		rc = mlx4_qp_step(g->home->hca, &s->hw, to[i], 0, false);
	return rc;
}

static int
sender_create(struct mlx4_mad_end *g, uint32_t qpn)
{
	struct mlx4_roce *r = g->home;
	unsigned int index = g->senders;
	struct sender *s = &g->s[index];
	struct mlx4_vqp_attr a = {
		.port = r->port,
		.ib = r->dev->ib != NULL,
		.service = MLX4_QP_ST_MLX,
		.pd = r->hca->pd,
		.cqn_send = g->cq.cqn,
		.cqn_recv = g->cq.cqn,
		.lg_sq = LG_SENDS,
		.lg_sq_stride = LG_SEND_STRIDE,
		.lg_rq_stride = LG_RECV_STRIDE,
		.rq_entries = index != 0 ? 0 : RECVS,
		.numa_node = r->dev->numa_node,
	};
	int rc;

	rc = mlx4_uar_alloc(r->hca, &s->uar);
	if (rc != 0)
		return rc;
	mlx4_belongs(r->hca, MLX4_OBJ_UAR, s->uar, 1, r->port);
	g->senders++;
	if (index != 0) {
		rc = mlx4_qpn_reserve_fresh(r->hca, false, &qpn);
		if (rc != 0)
			return rc;
		mlx4_belongs(r->hca, MLX4_OBJ_QP, qpn, 1, r->port);
		s->reserved = true;
	}
	a.uar = s->uar;
	s->hw.qpn = qpn;
	rc = mlx4_vqp_create(r->hca, qpn, &a, &s->hw);
	if (rc != 0)
		return rc;
	s->made = true;
	return qp_up(g, s, index);
}

static bool
has_unsent(const struct mlx4_mad_end *g)
{
	for (unsigned int i = 0; i < g->senders; i++)
		if (g->s[i].made && g->s[i].head != g->s[i].tail)
			return true;
	return false;
}

/* A reset of the queue pair would take back what was posted, such as the goodbye of a connection. */
static void
let_leave(struct mlx4_mad_end *g)
{
	g->leaving = true;
	for (unsigned int ms = 0; has_unsent(g) && !g->home->hca->dead && ms < LEAVE_MS; ms++) {
		if (ms != 0)
			rte_delay_us_sleep(1000);
		mlx4_mad_poll(g, CQES);
	}
}

static void
sender_destroy(struct mlx4_mad_end *g, struct sender *s)
{
	struct mlx4_hca *hca = g->home->hca;
	uint32_t qpn = s->hw.qpn;

	if (s->made) {
		mlx4_qp_step(hca, &s->hw, MLX4_QP_RST, 0, false);
		mlx4_qp_destroy(hca, &s->hw);
	}
	if (s->reserved)
		mlx4_qpn_release(hca, qpn, 1);
	mlx4_uar_free(hca, s->uar);
}

static void
post_recv(struct mlx4_mad_end *g, uint32_t slot)
{
	struct mlx4_wqe_data *w = (void *)(g->s[0].hw.rq + ((size_t)(g->rq_head & (RECVS - 1)) << LG_RECV_STRIDE));

	w[0].byte_count = RTE_BE32(RECV_ROOM);
	w[0].lkey = rte_cpu_to_be_32(g->home->hca->pa_key);
	w[0].addr = rte_cpu_to_be_64(g->buf.iova + (uint64_t)(g->recvs - (uint8_t *)g->buf.va) +
				     (uint64_t)slot * RECV_ROOM);
	w[1].byte_count = 0;
	w[1].lkey = RTE_BE32(MLX4_LKEY_INVALID);
	g->rq_head++;
	rte_io_wmb();
	*g->s[0].hw.dbrec = rte_cpu_to_be_32(g->rq_head & 0xffff);
}

static int
memory_create(struct mlx4_mad_end *g)
{
	struct mlx4_roce *r = g->home;
	size_t sends = 2 * SENDS * (size_t)TROCE_MAD_SIZE;
	int rc;

	rc = mlx4_dma_alloc(r->hca, "management datagrams", sends + RECVS * (size_t)RECV_ROOM, RTE_CACHE_LINE_SIZE,
			    r->dev->numa_node, &g->buf);
	if (rc != 0)
		return rc;
	g->sends = g->buf.va;
	g->recvs = g->sends + sends;
	rc = mlx4_uar_alloc(r->hca, &g->cq_uar);
	if (rc != 0)
		return rc;
	mlx4_belongs(r->hca, MLX4_OBJ_UAR, g->cq_uar, 1, r->port);
	rc = mlx4_cq_create(r->hca, CQES, g->cq_uar, -1, r->dev->numa_node, &g->cq);
	if (rc != 0) {
		mlx4_uar_free(r->hca, g->cq_uar);
		return rc;
	}
	mlx4_belongs(r->hca, MLX4_OBJ_CQ, g->cq.cqn, 1, r->port);
	g->has_cq = true;
	return 0;
}

int
mlx4_mad_create(struct mlx4_roce *r, const struct mlx4_mad_ops *ops, uint32_t qpn, unsigned int senders,
		struct mlx4_mad_end **out)
{
	struct mlx4_mad_end *g = rte_zmalloc_socket("mlx4_mad", sizeof(*g), 0, r->dev->numa_node);
	uint32_t i;
	int rc;

	if (g == NULL)
		return -ENOMEM;
	g->home = r;
	g->ops = ops;
	pthread_mutex_init(&g->lock, NULL);
	rc = memory_create(g);
	for (i = 0; rc == 0 && i < senders; i++)
		rc = sender_create(g, qpn);
	if (rc != 0) {
		TROCE_LOG(ERR, "%s: no queue pair for %s: %s", r->dev->where, ops->what, strerror(-rc));
		mlx4_mad_destroy(g);
		return rc;
	}
	for (i = 0; i < RECVS; i++)
		post_recv(g, i);
	*out = g;
	return 0;
}

void
mlx4_mad_destroy(struct mlx4_mad_end *g)
{
	struct mlx4_roce *r = g->home;

	if (g->has_cq)
		let_leave(g);
	while (g->senders > 0)
		sender_destroy(g, &g->s[--g->senders]);
	if (g->has_cq) {
		mlx4_cq_destroy(r->hca, &g->cq);
		mlx4_uar_free(r->hca, g->cq_uar);
	}
	mlx4_dma_free(&g->buf);
	pthread_mutex_destroy(&g->lock);
	rte_free(g);
}

unsigned int
mlx4_mad_senders(const struct mlx4_mad_end *g)
{
	return g->senders;
}

uint32_t
mlx4_mad_psn(struct mlx4_mad_end *g)
{
	return atomic_fetch_add_explicit(&g->psn, 1, memory_order_relaxed) & IB_PSN_MASK;
}

/* --- sending ----------------------------------------------------------------------------------------------- */

/* Headers inline, which cross into a second block; returns where the next segment goes. */
static uint8_t *
put_inline(uint8_t *seg, const uint8_t *data, uint32_t len)
{
	uint32_t n = RTE_MIN(len, MLX4_TXBB_SIZE - (uint32_t)sizeof(struct mlx4_wqe_ctrl) - 4);

	prm_set32(seg, 0, MLX4_DATA_INLINE | n);
	memcpy(seg + 4, data, n);
	if (len == n)
		return seg + RTE_ALIGN_CEIL(4 + n, MLX4_DS_SIZE);
	seg += 4 + n;
	memcpy(seg + 4, data + n, len - n);
	rte_io_wmb();
	prm_set32(seg, 0, MLX4_DATA_INLINE | (len - n));
	return seg + RTE_ALIGN_CEIL(4 + len - n, MLX4_DS_SIZE);
}

static uint8_t *
put_payload(struct mlx4_mad_end *g, uint8_t *seg, const uint8_t *data)
{
	struct mlx4_wqe_data *d = (void *)seg;

	d->addr = rte_cpu_to_be_64(g->buf.iova + (uint64_t)(data - (uint8_t *)g->buf.va));
	d->lkey = rte_cpu_to_be_32(g->home->hca->pa_key);
	rte_io_wmb();
	d->byte_count = RTE_BE32(TROCE_MAD_SIZE);
	seg += sizeof(*d);
	/* Room for the CRC, which the card fills in. */
	prm_set32(seg, 4, 0);
	rte_io_wmb();
	prm_set32(seg, 0, MLX4_DATA_INLINE | MLX4_MLX_ICRC_SIZE);
	return seg + MLX4_DS_SIZE;
}

static void
put_wqe(struct mlx4_mad_end *g, unsigned int sender, const struct mlx4_mad_out *out)
{
	struct sender *s = &g->s[sender];
	uint32_t at = s->head & (SENDS - 1), off;
	uint8_t *wqe = s->hw.sq + ((size_t)at << LG_SEND_STRIDE), *end, *data;
	uint8_t *ahead = s->hw.sq + ((size_t)((s->head + SEND_SPARE) & (SENDS - 1)) << LG_SEND_STRIDE);
	struct mlx4_wqe_ctrl *c = (void *)wqe;

	data = g->sends + ((size_t)sender * SENDS + at) * TROCE_MAD_SIZE;
	memcpy(data, out->mad, TROCE_MAD_SIZE);
	end = put_inline(wqe + sizeof(*c), out->hdr, out->len);
	end = put_payload(g, end, data);
	c->vlan_ds = rte_cpu_to_be_32(out->sched | (uint32_t)(end - wqe) / MLX4_DS_SIZE);
	c->flags = rte_cpu_to_be_32(out->flags | MLX4_CTRL_CQE);
	c->imm = out->where;
	for (off = MLX4_TXBB_SIZE; off < 1u << LG_SEND_STRIDE; off += MLX4_TXBB_SIZE)
		prm_set32(ahead, off, UINT32_MAX);
	rte_io_wmb();
	c->owner_opcode = rte_cpu_to_be_32(MLX4_OP_SEND | (s->head & SENDS ? MLX4_CTRL_OWN : 0));
	s->head++;
	rte_io_wmb();
	*(volatile rte_be32_t *)(volatile void *)(mlx4_uar_addr(g->home->hca, s->uar) + MLX4_UAR_SEND_DB) =
		rte_cpu_to_be_32(s->hw.qpn << 8);
}

int
mlx4_mad_post(struct mlx4_mad_end *g, unsigned int sender, const struct mlx4_mad_out *out)
{
	int err = 0;

	pthread_mutex_lock(&g->lock);
	if (g->s[sender].head - g->s[sender].tail >= SENDS - SEND_SPARE)
		err = EAGAIN;
	else
		put_wqe(g, sender, out);
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* --- completions ------------------------------------------------------------------------------------------- */

static void
received(struct mlx4_mad_end *g, const struct mlx4_cqe *cqe)
{
	uint32_t slot = rte_be_to_cpu_16(cqe->wqe_index) & (RECVS - 1);

	if (g->leaving)
		return;
	if (rte_be_to_cpu_32(cqe->byte_cnt) == IB_GRH_LEN + TROCE_MAD_SIZE)
		g->ops->receive(g->home, cqe, g->recvs + (size_t)slot * RECV_ROOM);
	post_recv(g, slot);
}

static void
sent(struct mlx4_mad_end *g, const struct mlx4_cqe *cqe)
{
	uint32_t qpn = rte_be_to_cpu_32(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
	struct sender *s = &g->s[g->senders > 1 && g->s[1].hw.qpn == qpn];

	pthread_mutex_lock(&g->lock);
	s->tail += (uint16_t)(rte_be_to_cpu_16(cqe->wqe_index) - (uint16_t)s->tail) + 1;
	pthread_mutex_unlock(&g->lock);
}

unsigned int
mlx4_mad_poll(struct mlx4_mad_end *g, unsigned int max)
{
	unsigned int n;

	for (n = 0; n < max; n++) {
		const struct mlx4_cqe *cqe = &g->cq.cqes[g->ci & (CQES - 1)];
		uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

		if ((op & MLX4_CQE_OWNER) != ((g->ci & CQES) != 0 ? MLX4_CQE_OWNER : 0))
			break;
		rte_io_rmb();
		if ((op & MLX4_CQE_IS_SEND) != 0)
			sent(g, cqe);
		else if ((op & MLX4_CQE_OPCODE_MASK) != MLX4_CQE_ERROR)
			received(g, cqe);
		g->ci++;
	}
	if (n != 0)
		*g->cq.dbrec = rte_cpu_to_be_32(g->ci & MLX4_CQ_CI_MASK);
	return n;
}
