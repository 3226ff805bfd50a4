/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Life of a transmit queue: setup makes CQ, QP (in RST) and bookkeeping; start stamps the ring and takes the QP to
 * RTS; stop takes it back to RST and returns every mbuf.
 */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_io.h>
#include <rte_malloc.h>

#include "drivers/mlx4/bus/trace.h"
#include "drivers/mlx4/port/port.h"
#include "policy.h"
#include "wqe.h"

/* How long the card may take to complete what it flushes. */
#define FLUSH_NAP_US 50u
#define FLUSH_NAPS 100u
/* And to send what is in its rings, when nothing holds them back: 4096 frames of 9600 bytes are 8 ms at 40 Gb/s. */
#define SENT_NAP_US 200u
#define SENT_NAPS 500u

/* Nothing in the ring looks posted before the first doorbell [DP 4.3]. */
static void
stamp_ring(struct mlx4_txq *q)
{
	uint32_t i;

	for (i = 0; i <= q->sq_mask; i++)
		prm_set32(q->sq + ((size_t)i << MLX4_LG_TXBB), 0, UINT32_MAX);
}

static void
return_mbufs(struct mlx4_txq *q)
{
	for (; q->sq_ci != q->sq_pi; q->sq_ci++) {
		struct rte_mbuf **slot = &q->elts[q->sq_ci & q->sq_mask];

		if (*slot != MLX4_TX_INNER)
			rte_pktmbuf_free(*slot); /* NULL for a frame that was sent inline */
		*slot = NULL;
	}
}

/* The CQ lives on across stop and start; completions that are in it belong to WQEs that are gone. */
static void
skip_stale_cqes(struct mlx4_txq *q)
{
	for (;;) {
		uint8_t phase = (q->cq_ci & (q->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
		uint8_t op = *(volatile uint8_t *)&q->cqes[q->cq_ci & q->cq_mask].owner_sr_opcode;

		if ((op & MLX4_CQE_OWNER) != phase)
			break;
		q->cq_ci++;
	}
	*q->cq_dbrec = rte_cpu_to_be_32(q->cq_ci & MLX4_CQ_CI_MASK);
}

static int
pair_start(struct mlx4_txq *q)
{
	int ret;

	q->sq_pi = 0;
	q->sq_ci = 0;
	q->ends_pi = 0;
	q->ends_ci = 0;
	q->mixed = false;
	q->bf_off = 0;
	q->sq_traced = 0;
	memset(&q->head, 0, sizeof(q->head));
	q->head.empty = true;
	ret = mlx4_qp_start(q->eth->hca, &q->qp);
	if (ret != 0)
		return ret;
	stamp_ring(q);
	q->started = true;
	/* A sender that found the pair broken goes on with all of this. */
	__atomic_store_n(&q->broken, false, __ATOMIC_RELEASE);
	return 0;
}

void
mlx4_txq_trace(struct mlx4_txq *q)
{
	struct mlx4_trace *t = q->eth->hca->trace;

	mlx4_trace_ring(t, "sq", q->qp.qpn, q->sq, MLX4_TXBB_SIZE, RTE_MIN(q->sq_pi, q->sq_mask + 1), &q->sq_traced);
	mlx4_trace_ring(t, "cq", q->cq.cqn, q->cqes, sizeof(*q->cqes), RTE_MIN(q->cq_ci, q->cq_mask + 1),
			&q->cq_traced);
}

static int
pair_stop(struct mlx4_txq *q)
{
	int ret;

	if (!q->started)
		return 0;
	ret = mlx4_qp_stop(q->eth->hca, &q->qp);
	if (ret != 0 && !q->eth->hca->dead)
		return ret; /* the card still owns the ring */
	q->started = false;
	mlx4_txq_trace(q);
	skip_stale_cqes(q);
	return_mbufs(q);
	return 0;
}

/* Where the card stopped: the index in the first CQE of a flush. It may take the card a moment to write it. */
static uint32_t
flushed_from(const struct mlx4_txq *q)
{
	uint32_t ci = q->cq_ci, naps;

	for (naps = 0; naps < FLUSH_NAPS;) {
		const struct mlx4_err_cqe *cqe = (const void *)&q->cqes[ci & q->cq_mask];
		uint8_t phase = (ci & (q->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
		uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

		if ((op & MLX4_CQE_OWNER) != phase) {
			rte_delay_us_sleep(FLUSH_NAP_US);
			naps++;
			continue;
		}
		rte_io_rmb();
		if ((op & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR)
			return q->sq_pi - (uint16_t)(q->sq_pi - rte_be_to_cpu_16(cqe->wqe_index));
		ci++;
	}
	return q->sq_pi;
}

/* Frames of a pair that was flushed, and their bytes. */
static uint32_t
unsent(const struct mlx4_txq *q, uint64_t *bytes)
{
	uint32_t at, frames = 0;

	*bytes = 0;
	for (at = flushed_from(q); at != q->sq_pi; at++) {
		const struct rte_mbuf *m = q->elts[at & q->sq_mask];

		if (m == MLX4_TX_INNER)
			continue;
		frames++;
		*bytes += m != NULL ? m->pkt_len : 0; /* the length of a frame that went inline is forgotten */
	}
	return frames;
}

/*
 * What a pair has not sent yet is lost when it stops: it leaves the counters of what was sent. Only a flush says exactly what
 * that is; the position that the card reports spares the usual case, a queue that has sent everything, the wait for one.
 */
static void
count_unsent(struct mlx4_txq *q, struct mlx4_txq *pair)
{
	struct mlx4_hca *hca = q->eth->hca;
	uint32_t frames;
	uint64_t bytes;
	uint16_t sent;

	if (!pair->started || pair->sq_ci == pair->sq_pi || hca->dead)
		return;
	/* A pair that failed was flushed by that. */
	if (!pair->broken && (mlx4_qp_sent(hca, &pair->qp, &sent) != 0 || sent == (uint16_t)pair->sq_pi ||
			      mlx4_qp_flush(hca, &pair->qp) != 0))
		return;
	frames = unsent(pair, &bytes);
	q->back_packets += frames;
	q->back_bytes += bytes;
	q->eth->tx_stop_drops += frames;
}

/* A queue and the pairs of other priorities that it has; the pairs first, since nothing goes to them then. */
int
mlx4_txq_stop(struct mlx4_txq *q)
{
	unsigned int p;
	int ret = 0;

	for (p = 0; p < MLX4_PRIOS && ret == 0; p++) {
		if (q->lane[p] == NULL)
			continue;
		count_unsent(q, q->lane[p]);
		ret = pair_stop(q->lane[p]);
	}
	if (ret != 0)
		return ret;
	count_unsent(q, q);
	return pair_stop(q);
}

int
mlx4_txq_start(struct mlx4_txq *q)
{
	unsigned int p;
	int ret = pair_start(q);

	for (p = 0; p < MLX4_PRIOS && ret == 0; p++)
		if (q->lane[p] != NULL)
			ret = pair_start(q->lane[p]);
	if (ret != 0)
		mlx4_txq_stop(q);
	return ret;
}

int
mlx4_txq_take_back(struct mlx4_txq *q, uint32_t *frames, uint64_t *bytes)
{
	int ret;

	*frames = 0;
	*bytes = 0;
	ret = mlx4_qp_flush(q->eth->hca, &q->qp);
	if (ret != 0)
		return ret;
	*frames = unsent(q, bytes);
	ret = pair_stop(q);
	return ret != 0 ? ret : pair_start(q);
}

/* Restarts a pair that failed, once its sender leaves it alone; false: not yet. */
static bool
pair_recover(struct mlx4_txq *q, struct mlx4_txq *pair)
{
	int ret;

	if (!pair->started || !__atomic_load_n(&pair->broken, __ATOMIC_ACQUIRE))
		return true;
	if (!__atomic_load_n(&pair->parked, __ATOMIC_ACQUIRE))
		return false;
	count_unsent(q, pair);
	ret = pair_stop(pair);
	if (ret == 0)
		ret = pair_start(pair);
	if (ret != 0)
		MLX4_LOG(ERR, "[txq-lost] port %u Tx queue %u: QP 0x%06x does not start again: %s", q->port_id,
			 q->queue_id, pair->qpn, rte_strerror(-ret));
	else
		MLX4_LOG(NOTICE, "[txq-recovered] port %u Tx queue %u: QP 0x%06x sends again", q->port_id, q->queue_id,
			 pair->qpn);
	return true;
}

bool
mlx4_txq_recover(struct mlx4_txq *q)
{
	bool done = pair_recover(q, q);
	unsigned int p;

	for (p = 0; p < MLX4_PRIOS; p++)
		if (q->lane[p] != NULL)
			done &= pair_recover(q, q->lane[p]);
	return done;
}

void
mlx4_txq_frame_max(struct mlx4_txq *q, uint16_t mtu)
{
	unsigned int p;

	mlx4_txq_lengths(q, mtu);
	for (p = 0; p < MLX4_PRIOS; p++)
		if (q->lane[p] != NULL)
			mlx4_txq_lengths(q->lane[p], mtu);
}

/* A burst keeps what it read at its start. The next one says that it has begun, as it finds nothing plain. */
void
mlx4_txq_shorten(struct mlx4_txq *q, uint16_t mtu)
{
	struct mlx4_txq *pair;
	unsigned int p;

	mlx4_txq_frame_max(q, mtu);
	for (p = 0; p <= MLX4_PRIOS; p++) {
		pair = p == MLX4_PRIOS ? q : q->lane[p];
		if (pair == NULL)
			continue;
		__atomic_store_n(&pair->none_plain, false, __ATOMIC_RELAXED);
		__atomic_store_n(&pair->plain_from, MLX4_TX_NONE_PLAIN, __ATOMIC_RELEASE);
	}
}

bool
mlx4_txq_shortened(struct mlx4_txq *q)
{
	struct mlx4_txq *pair;
	unsigned int p;

	for (p = 0; p <= MLX4_PRIOS; p++) {
		pair = p == MLX4_PRIOS ? q : q->lane[p];
		/* One that has not sent since its start does not send now. */
		if (pair != NULL && pair->started && __atomic_load_n(&pair->sq_pi, __ATOMIC_RELAXED) != 0 &&
		    !__atomic_load_n(&pair->none_plain, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

/* What was posted before pi is on the wire. */
static bool
pair_sent(struct mlx4_txq *pair, uint32_t pi)
{
	uint16_t sent;

	return !pair->started || pair->broken || mlx4_qp_sent(pair->eth->hca, &pair->qp, &sent) != 0 ||
	       (int16_t)(sent - (uint16_t)pi) >= 0;
}

bool
mlx4_txq_sent(struct mlx4_txq *q)
{
	struct mlx4_txq *pair;
	unsigned int p, naps = 0;
	uint32_t pi;

	for (p = 0; p <= MLX4_PRIOS; p++) {
		pair = p == MLX4_PRIOS ? q : q->lane[p];
		if (pair == NULL)
			continue;
		pi = __atomic_load_n(&pair->sq_pi, __ATOMIC_RELAXED);
		while (!pair_sent(pair, pi)) {
			if (naps++ == SENT_NAPS)
				return false;
			rte_delay_us_sleep(SENT_NAP_US);
		}
	}
	return true;
}

void
mlx4_txq_tunnels(struct mlx4_txq *q, bool on)
{
	unsigned int p;

	q->tunnels = on;
	for (p = 0; p < MLX4_PRIOS; p++)
		if (q->lane[p] != NULL)
			q->lane[p]->tunnels = on;
}

/* Fields that the bursts use. */
static void
set_hot_fields(struct mlx4_txq *q, uint32_t blocks)
{
	struct mlx4_hca *hca = q->eth->hca;
	volatile uint8_t *uar = mlx4_uar_addr(hca, q->uar);

	q->sq = q->qp.sq;
	q->sq_mask = blocks - 1;
	q->sq_room = blocks - MLX4_SQ_HEADROOM_TXBBS;
	q->lkey = rte_cpu_to_be_32(hca->pa_key);
	q->qpn = q->qp.qpn;
	q->db_val = rte_cpu_to_be_32(q->qpn << 8);
	q->db = (volatile void *)(uar + MLX4_UAR_SEND_DB);
	q->cqes = q->cq.cqes;
	q->cq_mask = q->cq.entries - 1;
	q->cq_dbrec = q->cq.dbrec;
	q->fast_free = !!(q->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	q->inline_max = q->eth->args.tx_inline;
	q->mac_loopback = q->eth->args.mac_loopback;
	q->max_desc = RTE_MIN(hca->caps.max_sq_desc, MLX4_SEND_WQE_MAX);
	mlx4_lso_put(q);
	q->tunnels = q->eth->tunnels;
	mlx4_txq_lengths(q, q->eth->mtu);
	if (q->eth->args.bf && hca->caps.bf) {
		q->bf = mlx4_bf_addr(hca, q->uar);
		q->bf_half = hca->caps.bf_reg_size / 2;
	}
}

int
mlx4_txq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node, const struct rte_eth_txconf *conf,
	       struct mlx4_txq **out)
{
	struct mlx4_hca *hca = eth->hca;
	uint32_t blocks = rte_align32pow2(nb_desc), qpn;
	struct mlx4_qp_attr attr = {0};
	struct mlx4_txq *q;
	int ret;

	if (nb_desc < MLX4_ETH_MIN_DESC || blocks > RTE_MIN(hca->caps.max_qp_wqes, (uint32_t)MLX4_ETH_MAX_DESC)) {
		MLX4_LOG(ERR, "port %u Tx queue %u: %u descriptors, allowed are %u..%u", eth->dev->data->port_id, idx,
			 nb_desc, MLX4_ETH_MIN_DESC, RTE_MIN(hca->caps.max_qp_wqes, (uint32_t)MLX4_ETH_MAX_DESC));
		return -EINVAL;
	}
	q = rte_zmalloc_socket("mlx4_txq", sizeof(*q), RTE_CACHE_LINE_SIZE, numa_node);
	if (q == NULL)
		return -ENOMEM;
	q->eth = eth;
	q->port_id = eth->dev->data->port_id;
	q->queue_id = idx;
	q->nb_desc = nb_desc;
	q->numa_node = numa_node;
	q->deferred = conf->tx_deferred_start;
	q->offloads = conf->offloads | eth->dev->data->dev_conf.txmode.offloads;
	q->elts = rte_zmalloc_socket("mlx4_tx_elts", blocks * sizeof(*q->elts), RTE_CACHE_LINE_SIZE, numa_node);
	q->ends = rte_zmalloc_socket("mlx4_tx_ends", blocks * sizeof(*q->ends), RTE_CACHE_LINE_SIZE, numa_node);
	if (q->elts == NULL || q->ends == NULL) {
		ret = -ENOMEM;
		goto err_elts;
	}
	ret = mlx4_uar_alloc(hca, &q->uar);
	if (ret != 0)
		goto err_elts;
	mlx4_belongs(hca, MLX4_OBJ_UAR, q->uar, 1, eth->port);
	/* Every WQE may end with a CQE when the QP flushes: as many entries as blocks. */
	ret = mlx4_cq_create(hca, blocks, q->uar, -1, numa_node, &q->cq);
	if (ret != 0)
		goto err_cq;
	mlx4_belongs(hca, MLX4_OBJ_CQ, q->cq.cqn, 1, eth->port);
	ret = mlx4_qpn_reserve(hca, 1, 1, true, &qpn);
	if (ret != 0)
		goto err_qpn;
	mlx4_belongs(hca, MLX4_OBJ_QP, qpn, 1, eth->port);
	attr.port = eth->port;
	attr.sq_txbbs = blocks;
	attr.scq = &q->cq;
	attr.rcq = &q->cq;
	attr.uar = q->uar;
	attr.numa_node = numa_node;
	ret = mlx4_qp_create(hca, qpn, &attr, &q->qp);
	if (ret != 0)
		goto err_qp;
	set_hot_fields(q, blocks);
	*out = q;
	return 0;

err_qp:
	mlx4_qpn_release(hca, qpn, 1);
err_qpn:
	mlx4_cq_destroy(hca, &q->cq);
err_cq:
	mlx4_uar_free(hca, q->uar);
err_elts:
	rte_free(q->ends);
	rte_free(q->elts);
	rte_free(q);
	return ret;
}

void
mlx4_txq_release(struct mlx4_txq *q)
{
	struct mlx4_hca *hca;
	unsigned int p;
	uint32_t qpn;

	if (q == NULL)
		return;
	hca = q->eth->hca;
	if (mlx4_txq_stop(q) != 0) {
		MLX4_LOG(ERR, "port %u Tx queue %u: the card keeps QP 0x%06x; its memory stays reserved until reset",
			 q->port_id, q->queue_id, q->qpn);
		return;
	}
	for (p = 0; p < MLX4_PRIOS; p++)
		mlx4_txq_release(q->lane[p]);
	q->policy = NULL;
	rte_free(q->policy_slots);
	qpn = q->qp.qpn;
	mlx4_qp_destroy(hca, &q->qp);
	mlx4_qpn_release(hca, qpn, 1);
	mlx4_cq_destroy(hca, &q->cq);
	mlx4_uar_free(hca, q->uar);
	rte_free(q->ends);
	rte_free(q->elts);
	rte_free(q);
}
