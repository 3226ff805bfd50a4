/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a card is asked and what it answers, as text (lib/trace): every command, and the first entries of each queue. Entries
 * are looked at between two rounds of the card, so that nothing is asked of its fast paths.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/trace/trace.h"
#include "model/mem/mem.h"
#include "cmd.h"

#define QUEUES 512u /* of either kind; those that are made behind them have their commands alone */

#define MTT_PAGES 16384u /* of the table that are looked at: 8 million entries */

struct tpm_traced {
	uint8_t *mtt[MTT_PAGES]; /* what the table had at the command before */
	unsigned int num_qps, num_cqs;
	struct {
		uint32_t num, sent, received; /* entries that are written */
	} qp[QUEUES];
	struct {
		uint32_t num, done;
	} cq[QUEUES];
};

static void
name_of(struct trace_cmd *t, const struct tpm_cmd *c)
{
	int i = tpm_cmd_index(c->opcode);

	*t = (struct trace_cmd){.opcode = c->opcode};
	snprintf(t->name, sizeof(t->name), "%s", i < 0 ? "unknown" : tpm_cmd_info[i].name);
}

/* Where the next table begins. */
static uint64_t
mtt_end(const struct tp_model *m)
{
	const uint64_t base[] = {m->qpc_base,       m->srqc_base,      m->cqc_base,       m->eqc_base,
				 m->dmpt_base,      m->ctl->altc_base, m->ctl->auxc_base, m->ctl->rdmarc_base,
				 m->ctl->cmpt_base, m->ctl->mc_base};
	uint64_t end = m->mtt_base + (uint64_t)MTT_PAGES * TPM_PAGE;

	for (unsigned int i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		if (base[i] > m->mtt_base && base[i] < end)
			end = base[i];
	return end;
}

/* Software writes the translation table itself: what it wrote since the command before. */
static void
mtts(struct tp_model *m, struct tpm_traced *t)
{
	const uint64_t end = mtt_end(m);
	uint64_t at;

	for (at = tpm_icm_next(m, m->mtt_base); at < end; at = tpm_icm_next(m, at + 1)) {
		const uint8_t *now = tpm_icm_probe(m, at, TPM_PAGE);
		uint8_t **was = &t->mtt[(at - m->mtt_base) / TPM_PAGE];

		if (now == NULL || (*was == NULL && (*was = calloc(1, TPM_PAGE)) == NULL) ||
		    memcmp(*was, now, TPM_PAGE) == 0)
			continue;
		for (uint32_t i = 0; i < TPM_PAGE; i += MLX4_MTT_SIZE)
			if (memcmp(*was + i, now + i, MLX4_MTT_SIZE) != 0)
				trace_put_mtt(m->trace, at - m->mtt_base + i, prm_get64(now, i));
		memcpy(*was, now, TPM_PAGE);
	}
}

void
tpm_trace_input(struct tp_model *m, const struct tpm_cmd *c)
{
	int i = tpm_cmd_index(c->opcode);
	struct trace_cmd t;

	if (m->state == TPM_SYS_HCA && m->traced != NULL)
		mtts(m, m->traced);
	name_of(&t, c);
	t.op_modifier = c->op_modifier;
	t.in_modifier = c->in_modifier;
	t.in_param = c->in_param;
	t.out_param = c->out_param;
	t.event = (prm_get32(m->hcr, MLX4_HCR_CTRL) & MLX4_HCR_EVENT) != 0;
	if (i >= 0 && (tpm_cmd_info[i].in == TPM_ARG_MBOX || (tpm_cmd_info[i].in == TPM_ARG_MAYBE && c->in_param != 0)))
		t.in = tpm_dma_probe(m, c->in_param, MLX4_MAILBOX_SIZE, TP_DMA_READ, NULL);
	trace_put_input(m->trace, &t);
}

/* Queues are known by the commands that make them. */
static void
list(struct tpm_traced *q, const struct tpm_cmd *c)
{
	if (q == NULL)
		return;
	if (c->opcode == MLX4_CMD_RST2INIT_QP && q->num_qps < QUEUES) {
		q->qp[q->num_qps].num = c->in_modifier;
		q->qp[q->num_qps].sent = q->qp[q->num_qps].received = 0;
		q->num_qps++;
	}
	if (c->opcode == MLX4_CMD_SW2HW_CQ && q->num_cqs < QUEUES) {
		q->cq[q->num_cqs].num = c->in_modifier;
		q->cq[q->num_cqs++].done = 0;
	}
}

void
tpm_trace_output(struct tp_model *m, const struct tpm_cmd *c, uint8_t status)
{
	int i = tpm_cmd_index(c->opcode);
	struct trace_cmd t;

	name_of(&t, c);
	t.status = status;
	t.has_imm = c->has_imm || (i >= 0 && tpm_cmd_info[i].out == TPM_ARG_IMM);
	t.imm = c->imm;
	t.out = c->out;
	trace_put_output(m->trace, &t);
	if (status == MLX4_STAT_OK)
		list(m->traced, c);
}

static void
put(struct tp_model *m, const char *kind, uint32_t num, uint32_t index, const struct tpm_ring *r, uint32_t off,
    uint32_t len)
{
	fprintf(m->trace, "entry %s 0x%x %u\n", kind, num, index);
	trace_put_box(m->trace, tpm_ring_at(r, off), len);
}

static void
qp_entries(struct tp_model *m, uint32_t num, uint32_t *sent, uint32_t *received)
{
	struct tpm_qp *qp = tpm_qp_get(m, num);
	uint32_t i;

	if (qp == NULL || !qp->ring.valid || qp->ring.gen != m->tpt_gen)
		return;
	for (; *sent < TPM_TRACE_ENTRIES && *sent != qp->sq_head; ++*sent) {
		i = *sent & qp->sq_mask;
		put(m, "sq", num, *sent, &qp->ring, qp->sq_off + (i << qp->sq_lg_stride), 1u << qp->sq_lg_stride);
	}
	for (; *received < TPM_TRACE_ENTRIES && *received != qp->rq_head; ++*received) {
		i = *received & qp->rq_mask;
		put(m, "rq", num, *received, &qp->ring, qp->rq_off + (i << qp->rq_lg_stride), 1u << qp->rq_lg_stride);
	}
}

static void
cq_entries(struct tp_model *m, uint32_t num, uint32_t *done)
{
	struct tpm_cq *cq = m->cq != NULL && num < 1u << m->lg_cqs ? m->cq[num] : NULL;

	if (cq == NULL || !cq->ring.valid || cq->ring.gen != m->tpt_gen)
		return;
	for (; *done < TPM_TRACE_ENTRIES && *done != cq->pi; ++*done)
		put(m, "cq", num, *done, &cq->ring, (*done & cq->mask) << cq->lg_stride, 1u << cq->lg_stride);
}

void
tpm_trace_entries(struct tp_model *m)
{
	struct tpm_traced *q = m->traced;
	unsigned int i;

	if (q == NULL || m->state != TPM_SYS_HCA)
		return;
	for (i = 0; i < q->num_qps; i++)
		qp_entries(m, q->qp[i].num, &q->qp[i].sent, &q->qp[i].received);
	for (i = 0; i < q->num_cqs; i++)
		cq_entries(m, q->cq[i].num, &q->cq[i].done);
}

void
tpm_trace_reg(struct tp_model *m, const char *way, uint32_t off, uint32_t val)
{
	trace_put_reg(m->trace, way, off, val);
}

void
tpm_trace_reset(struct tp_model *m)
{
	struct tpm_traced *t = m->traced;

	for (unsigned int i = 0; t != NULL && i < MTT_PAGES; i++)
		free(t->mtt[i]);
	if (t != NULL)
		memset(t, 0, sizeof(*t));
}

void
tpm_trace_end(struct tp_model *m)
{
	tpm_trace_reset(m);
	free(m->traced);
	m->traced = NULL;
	m->trace = NULL;
}

void
tp_model_trace(struct tp_model *m, FILE *f)
{
	tpm_lock(&m->lock);
	tpm_trace_end(m);
	m->trace = f;
	/* Without memory commands are written, and no entries. */
	m->traced = f != NULL ? calloc(1, sizeof(*m->traced)) : NULL;
	tpm_unlock(&m->lock);
}
