/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queues in a dump: what the driver gave the card, what the card says it has, and where both are in the rings. */
#include <string.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/rx/sides.h"
#include "drivers/mlx4/tx/counts.h"
#include "dump.h"

#define EQ_ENTRIES 8u /* the last ones of an event queue */

static void
refused(struct mlx4_dump_out *o, int rc)
{
	mlx4_dump_str(o, "card", "did not answer");
	mlx4_dump_int(o, "rc", rc);
}

/* --- queue pairs ------------------------------------------------------------------------------------------- */

#define BOTH(field, name) mlx4_dump_both(o, name, prm_get(mine, field), prm_get(card, field))

/* card: filled, for who wants to know where the card is; false: it did not answer. */
static bool
dump_qp(struct mlx4_hca *hca, const struct mlx4_qp *qp, uint8_t card[MLX4_QPC_SIZE], struct mlx4_dump_out *o)
{
	const uint8_t *mine = qp->ctx;
	int rc;

	mlx4_dump_object(o, "qp");
	mlx4_dump_hex(o, "number", qp->qpn);
	rc = hca->dead ? -EIO : mlx4_qp_query(hca, qp, card);
	if (rc != 0) {
		mlx4_dump_u64(o, "state", qp->state);
		refused(o, rc);
		mlx4_dump_end(o);
		return false;
	}
	mlx4_dump_both(o, "state", qp->state, prm_get(card, MLX4_QPC_STATE));
	if (qp->state != MLX4_QP_RST && prm_get(card, MLX4_QPC_STATE) != MLX4_QP_RST) {
		BOTH(MLX4_QPC_SERVICE, "service");
		BOTH(MLX4_QPC_PD, "protection_domain");
		BOTH(MLX4_QPC_UAR, "uar");
		BOTH(MLX4_QPC_CQN_SEND, "send_cq");
		BOTH(MLX4_QPC_CQN_RECV, "receive_cq");
		BOTH(MLX4_QPC_SQ_LG_SIZE, "lg_send_blocks");
		BOTH(MLX4_QPC_RQ_LG_SIZE, "lg_receive_entries");
		BOTH(MLX4_QPC_RQ_LG_STRIDE, "lg_receive_stride");
		BOTH(MLX4_QPC_LG_PAGE, "lg_page");
		mlx4_dump_both(o, "mtt", (uint64_t)prm_get(mine, MLX4_QPC_MTT_H) << 32 | prm_get(mine, MLX4_QPC_MTT_L),
			       (uint64_t)prm_get(card, MLX4_QPC_MTT_H) << 32 | prm_get(card, MLX4_QPC_MTT_L));
		mlx4_dump_both(o, "doorbell_record", prm_get64(mine, MLX4_QPC_DBREC), prm_get64(card, MLX4_QPC_DBREC));
	}
	mlx4_dump_bytes(o, "card_context", card, MLX4_QPC_SIZE);
	mlx4_dump_end(o);
	return true;
}

/* --- completion queues ------------------------------------------------------------------------------------- */

/* waiting: entries that the card wrote and the driver did not take; false: the card did not answer. */
static bool
dump_cq(struct mlx4_hca *hca, const struct mlx4_cq *cq, uint32_t ci, uint32_t *waiting, struct mlx4_dump_out *o)
{
	uint8_t card[MLX4_CQC_SIZE];
	int rc;

	*waiting = 0;
	mlx4_dump_object(o, "cq");
	mlx4_dump_hex(o, "number", cq->cqn);
	rc = hca->dead ? -EIO : mlx4_cmd(hca, MLX4_CMD_QUERY_CQ, 0, cq->cqn, NULL, 0, card, sizeof(card));
	mlx4_dump_hex(o, "driver_consumer", ci & MLX4_CQ_CI_MASK);
	if (rc != 0) {
		refused(o, rc);
		mlx4_dump_end(o);
		return false;
	}
	*waiting = (prm_get(card, MLX4_CQC_PI) - ci) & MLX4_CQ_CI_MASK;
	mlx4_dump_hex(o, "card_producer", prm_get(card, MLX4_CQC_PI));
	mlx4_dump_hex(o, "card_consumer", prm_get(card, MLX4_CQC_CI));
	mlx4_dump_u64(o, "waiting", *waiting);
	mlx4_dump_u64(o, "card_status", prm_get(card, MLX4_CQC_STATUS));
	mlx4_dump_u64(o, "card_arm_state", prm_get(card, MLX4_CQC_STATE));
	mlx4_dump_both(o, "lg_entries", mlx4_lg(cq->entries), prm_get(card, MLX4_CQC_LG_SIZE));
	mlx4_dump_both(o, "uar", cq->uar, prm_get(card, MLX4_CQC_UAR));
	mlx4_dump_both(o, "eq", mlx4_eq_of(hca, cq->vector)->eqn, prm_get(card, MLX4_CQC_EQN));
	mlx4_dump_bytes(o, "card_context", card, sizeof(card));
	mlx4_dump_end(o);
	return true;
}

/* --- transmit ---------------------------------------------------------------------------------------------- */

static void
dump_pair(struct mlx4_hca *hca, const struct mlx4_txq *p, struct mlx4_dump_out *o)
{
	uint32_t ci = __atomic_load_n(&p->sq_ci, __ATOMIC_ACQUIRE), pi = __atomic_load_n(&p->sq_pi, __ATOMIC_RELAXED);
	uint8_t card[MLX4_QPC_SIZE];
	uint32_t waiting;
	uint16_t sent;
	bool known;

	mlx4_dump_item(o, "priority", p->prio);
	mlx4_dump_bool(o, "started", p->started);
	mlx4_dump_bool(o, "failed", p->broken);
	mlx4_dump_hex(o, "posted_to", pi);
	mlx4_dump_hex(o, "given_back_to", ci);
	mlx4_dump_u64(o, "blocks_in_use", pi - ci);
	mlx4_dump_u64(o, "blocks", p->sq_mask + 1);
	mlx4_dump_u64(o, "completions_asked", p->ends_pi - p->ends_ci);
	known = dump_qp(hca, &p->qp, card, o);
	if (known && p->started) {
		sent = (uint16_t)prm_get(card, MLX4_QPC_SQ_WQE_COUNTER);
		mlx4_dump_hex(o, "card_sent_to", sent);
		mlx4_dump_u64(o, "card_has_to_send", (uint16_t)((uint16_t)pi - sent));
	}
	(void)dump_cq(hca, &p->cq, p->cq_ci, &waiting, o);
	mlx4_dump_u64(o, "looks_without_sending", p->seen.stuck);
	mlx4_dump_u64(o, "looks_without_completion", p->seen.lost);
	mlx4_dump_end(o);
}

static void
dump_txq(struct mlx4_hca *hca, const struct mlx4_txq *q, struct mlx4_dump_out *o)
{
	struct mlx4_tx_counts c;
	unsigned int p;

	mlx4_txq_counts_all(q, &c);
	mlx4_dump_item(o, "queue", q->queue_id);
	mlx4_dump_u64(o, "descriptors", q->nb_desc);
	mlx4_dump_u64(o, "packets", c.packets);
	mlx4_dump_u64(o, "bytes", c.bytes);
	mlx4_dump_u64(o, "errors", c.errors);
	mlx4_dump_u64(o, "failures", c.failures);
	mlx4_dump_u64(o, "rate_mbps", q->rate_mbps);
	mlx4_dump_array(o, "pairs");
	dump_pair(hca, q, o);
	for (p = 0; p < MLX4_PRIOS; p++)
		if (q->lane[p] != NULL)
			dump_pair(hca, q->lane[p], o);
	mlx4_dump_end(o);
	mlx4_dump_end(o);
}

/* --- receive ----------------------------------------------------------------------------------------------- */

static void
dump_ring(struct mlx4_hca *hca, const struct mlx4_rx_ring *r, uint16_t number, struct mlx4_dump_out *o)
{
	uint16_t pi = __atomic_load_n(&r->pi, __ATOMIC_RELAXED), ci = __atomic_load_n(&r->ci, __ATOMIC_RELAXED);
	uint8_t card[MLX4_QPC_SIZE];

	mlx4_dump_item(o, "ring", number);
	mlx4_dump_u64(o, "entries", r->entries);
	mlx4_dump_u64(o, "posted_to", pi);
	mlx4_dump_u64(o, "taken_to", ci);
	mlx4_dump_u64(o, "buffers", (uint16_t)(pi - ci));
	mlx4_dump_u64(o, "doorbell", rte_be_to_cpu_32(*r->dbrec) & UINT16_MAX);
	if (dump_qp(hca, &r->qp, card, o))
		mlx4_dump_u64(o, "card_filled_to", prm_get(card, MLX4_QPC_RQ_WQE_COUNTER));
	mlx4_dump_end(o);
}

static void
dump_set(struct mlx4_hca *hca, const struct mlx4_rx_set *s, unsigned int number, bool polled, struct mlx4_dump_out *o)
{
	uint32_t waiting;
	uint16_t i;

	mlx4_dump_item(o, "set", number);
	mlx4_dump_bool(o, "polled", polled);
	mlx4_dump_bool(o, "replaced", s->quiet);
	(void)dump_cq(hca, &s->cq, __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED), &waiting, o);
	mlx4_dump_array(o, "rings");
	for (i = 0; i < s->num_rings; i++)
		dump_ring(hca, &s->ring[i], i, o);
	mlx4_dump_end(o);
	mlx4_dump_end(o);
}

static void
dump_rxq(struct mlx4_hca *hca, const struct mlx4_rxq *q, struct mlx4_dump_out *o)
{
	const struct mlx4_rx_set *s, *polled = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);
	struct mlx4_rx_counts c;
	unsigned int n = 0;
	uint16_t side = 0;

	mlx4_rxq_counts_all(q, &c);
	mlx4_dump_item(o, "queue", q->queue_id);
	mlx4_dump_bool(o, "started", q->started);
	mlx4_dump_u64(o, "descriptors", q->nb_desc);
	mlx4_dump_u64(o, "packets", c.packets);
	mlx4_dump_u64(o, "bytes", c.bytes);
	mlx4_dump_u64(o, "errors", c.errors);
	mlx4_dump_u64(o, "no_buffer", c.nombuf);
	mlx4_dump_bool(o, "waits_for_interrupt", q->intr_on);
	mlx4_dump_u64(o, "waiting", mlx4_rx_set_waiting(polled));
	mlx4_dump_u64(o, "looks_without_taking", q->seen.idle);
	mlx4_dump_u64(o, "pool_available", rte_mempool_avail_count(q->mp));
	mlx4_dump_array(o, "sets");
	for (s = NULL; (s = mlx4_rxq_next_set(q, s, &side)) != NULL;)
		if (s->has_cq)
			dump_set(hca, s, n++, s == polled || side != 0, o);
	mlx4_dump_end(o);
	mlx4_dump_end(o);
}

void
mlx4_dump_queues(struct mlx4_eth *eth, struct mlx4_dump_out *o)
{
	uint16_t i;

	mlx4_dump_array(o, "tx_queues");
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			dump_txq(eth->hca, eth->txqs[i], o);
	mlx4_dump_end(o);
	mlx4_dump_array(o, "rx_queues");
	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			dump_rxq(eth->hca, eth->rxqs[i], o);
	mlx4_dump_end(o);
}

/* --- event queues ------------------------------------------------------------------------------------------ */

static void
dump_entries(const struct mlx4_eq *eq, uint64_t ci, struct mlx4_dump_out *o)
{
	uint32_t i;

	mlx4_dump_array(o, "last_entries");
	for (i = 0; i < EQ_ENTRIES; i++) {
		uint64_t at = ci - EQ_ENTRIES + i;

		mlx4_dump_bytes(o, NULL, (const uint8_t *)eq->buf.va + (size_t)(at & (eq->entries - 1)) * MLX4_EQE_SIZE,
				MLX4_EQE_SIZE);
	}
	mlx4_dump_end(o);
}

static void
dump_eq(struct mlx4_hca *hca, struct mlx4_eq *eq, const char *kind, struct mlx4_dump_out *o)
{
	uint8_t card[MLX4_EQC_SIZE];
	uint64_t ci;
	bool waits = mlx4_eq_waits(eq, &ci);
	int rc;

	mlx4_dump_item(o, "eq", eq->eqn);
	mlx4_dump_str(o, "kind", kind);
	mlx4_dump_hex(o, "driver_consumer", ci & MLX4_EQ_DB_CI_MASK);
	mlx4_dump_bool(o, "entry_waits", waits);
	rc = hca->dead ? -EIO : mlx4_cmd(hca, MLX4_CMD_QUERY_EQ, 0, eq->eqn, NULL, 0, card, sizeof(card));
	if (rc == 0) {
		mlx4_dump_hex(o, "card_producer", prm_get(card, MLX4_EQC_PI));
		mlx4_dump_hex(o, "card_consumer", prm_get(card, MLX4_EQC_CI));
		mlx4_dump_u64(o, "card_status", prm_get(card, MLX4_EQC_STATUS));
		mlx4_dump_u64(o, "card_state", prm_get(card, MLX4_EQC_STATE));
		mlx4_dump_both(o, "lg_entries", mlx4_lg(eq->entries), prm_get(card, MLX4_EQC_LG_SIZE));
		mlx4_dump_both(o, "vector", eq->vector, prm_get(card, MLX4_EQC_INTR));
	} else {
		refused(o, rc);
	}
	dump_entries(eq, ci, o);
	mlx4_dump_end(o);
}

void
mlx4_dump_eqs(struct mlx4_hca *hca, struct mlx4_dump_out *o)
{
	unsigned int i;

	mlx4_dump_array(o, "event_queues");
	if (hca->async_eq != NULL)
		dump_eq(hca, hca->async_eq, "asynchronous", o);
	for (i = 0; i < hca->num_comp_eq; i++)
		dump_eq(hca, hca->comp_eq[i], i < hca->num_verbs_eq ? "completions of verbs" : "completions", o);
	mlx4_dump_end(o);
}
