/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Plays the commands of a recording to a card in software. Memory that they name is there, and holds zeros. */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "mlx4_prm_cmd.h"
#include "mlx4_prm_ctx.h"
#include "mlx4_prm_regs.h"

#define BOXES 0xfff000000000u /* where no recorded address is: the mailboxes of the replay */
#define PAGE 4096u
#define PAGE_MAX (UINT64_C(1) << 24)
#define LG_PAGES_MAX 20u /* of one entry: 4 GiB */
#define POLLS 1000000u

struct window {
	uint64_t iova, len;
	uint8_t *host;
};

struct player {
	struct tp_model *m;
	uint8_t *box; /* for the command, then for its answer */
	struct window *win;
	unsigned int num, room;
	bool toggle;
	char last[RP_TEXT]; /* what the model said last, while a command ran */
};

static int
name(struct player *p, uint64_t iova, uint64_t len)
{
	struct window *w;

	if (len == 0 || iova + len < iova)
		return 0; /* the model says what is wrong with it */
	if (p->num == p->room) {
		w = realloc(p->win, (2 * p->room + 64) * sizeof(*w));
		if (w == NULL)
			return -ENOMEM;
		p->win = w;
		p->room = 2 * p->room + 64;
	}
	p->win[p->num++] = (struct window){.iova = iova, .len = len};
	return 0;
}

/* How large the page is stands in the contexts that use it; no queue's is larger than its address is aligned, nor than this. */
static int
name_page(struct player *p, uint64_t entry)
{
	const uint64_t at = entry & ~(uint64_t)(PAGE - 1), aligned = at & -at;

	return name(p, at, (entry & MLX4_MTT_PRESENT) == 0 ? 0 : at == 0 || aligned > PAGE_MAX ? PAGE_MAX : aligned);
}

/* The page of a doorbell record. */
static int
name_record(struct player *p, const uint8_t *ctx, uint32_t field)
{
	return name(p, prm_get64(ctx, field) & ~(uint64_t)(PAGE - 1), PAGE);
}

/* Pages that a command gives the card. */
static int
name_pages(struct player *p, const struct trace_cmd *c)
{
	unsigned int i;
	uint64_t a;
	int rc = 0;

	if (c->in == NULL)
		return 0;
	switch (c->opcode) {
	case MLX4_CMD_MAP_FA:
	case MLX4_CMD_MAP_ICM:
	case MLX4_CMD_MAP_ICM_AUX:
		for (i = 0; i < c->in_modifier && i < MLX4_MAP_ENTRIES_MAX && rc == 0; i++) {
			a = prm_get64(c->in, i * MLX4_MAP_ENTRY_SIZE + MLX4_MAP_PA);
			if ((a & MLX4_MAP_LG_MASK) <= LG_PAGES_MAX)
				rc = name(p, a & ~(uint64_t)(PAGE - 1), (uint64_t)PAGE << (a & MLX4_MAP_LG_MASK));
		}
		break;
	case MLX4_CMD_WRITE_MTT:
		for (i = 0; i < c->in_modifier && i < MLX4_WRITE_MTT_MAX && rc == 0; i++)
			rc = name_page(p, prm_get64(c->in, MLX4_WRITE_MTT_ENTRIES + i * MLX4_MTT_SIZE));
		break;
	case MLX4_CMD_SW2HW_CQ: rc = name_record(p, c->in, MLX4_CQC_DBREC); break;
	case MLX4_CMD_SW2HW_SRQ: rc = name_record(p, c->in, MLX4_SRQC_DBREC); break;
	case MLX4_CMD_RST2INIT_QP: rc = name_record(p, c->in + MLX4_QP_MBOX_CTX, MLX4_QPC_DBREC); break;
	default: break;
	}
	return rc;
}

static int
by_address(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->iova < y->iova ? -1 : x->iova > y->iova;
}

/* Windows that touch are one, so that what spans two of them lies in one piece. */
static void
merge(struct player *p)
{
	unsigned int i, n = 0;

	qsort(p->win, p->num, sizeof(*p->win), by_address);
	for (i = 0; i < p->num; i++) {
		struct window *w = &p->win[i], *last = n > 0 ? &p->win[n - 1] : NULL;

		if (last != NULL && w->iova <= last->iova + last->len) {
			if (w->iova + w->len > last->iova + last->len)
				last->len = w->iova + w->len - last->iova;
		} else {
			p->win[n++] = *w;
		}
	}
	p->num = n;
}

/* The memory of all commands, and the mailboxes. */
static int
memory(struct player *p, const struct trace *t)
{
	unsigned int i;
	int rc = name(p, BOXES, 2 * TRACE_BOX);

	for (i = 0; i < t->num && rc == 0; i++)
		rc = name_pages(p, &t->cmd[i]);
	for (i = 0; i < t->num_steps && rc == 0; i++)
		rc = name_page(p, t->step[i].val);
	if (rc != 0)
		return rc;
	merge(p);
	for (i = 0; i < p->num && rc == 0; i++) {
		struct window *w = &p->win[i];
		void *host =
			mmap(NULL, w->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (host == MAP_FAILED)
			return -errno;
		w->host = host;
		if (w->iova <= BOXES && BOXES < w->iova + w->len)
			p->box = w->host + (BOXES - w->iova);
		rc = tp_model_dma_map(p->m, w->iova, w->len, w->host, TP_DMA_READ | TP_DMA_WRITE);
	}
	return rc;
}

static void
heard(void *arg, enum tp_model_line kind, const char *line)
{
	struct player *p = arg;

	/* The note that a command failed says less than the one before it. */
	if (kind != TP_LINE_NOTE || p->last[0] == '\0')
		snprintf(p->last, sizeof(p->last), "%s", line);
}

static uint64_t
reg64(struct player *p, uint32_t off)
{
	return (uint64_t)tp_model_bar0_read32(p->m, MLX4_REG_HCR + off) << 32 |
	       tp_model_bar0_read32(p->m, MLX4_REG_HCR + off + 4);
}

static void
reg64_write(struct player *p, uint32_t off, uint64_t v)
{
	tp_model_bar0_write32(p->m, MLX4_REG_HCR + off, (uint32_t)(v >> 32));
	tp_model_bar0_write32(p->m, MLX4_REG_HCR + off + 4, (uint32_t)v);
}

/* Its answer, with out in the player's mailbox. */
static int
give(struct player *p, const struct trace_cmd *c, struct trace_cmd *now)
{
	uint32_t ctrl, polls = 0;

	p->last[0] = '\0';
	memset(p->box, 0, 2 * TRACE_BOX);
	if (c->in != NULL)
		memcpy(p->box, c->in, TRACE_BOX);
	reg64_write(p, MLX4_HCR_IN_PARAM, c->in != NULL ? BOXES : c->in_param);
	tp_model_bar0_write32(p->m, MLX4_REG_HCR + MLX4_HCR_IN_MODIFIER, c->in_modifier);
	reg64_write(p, MLX4_HCR_OUT_PARAM, c->out_param != 0 ? BOXES + TRACE_BOX : 0);
	tp_model_bar0_write32(p->m, MLX4_REG_HCR + MLX4_HCR_TOKEN, MLX4_HCR_TOKEN_POLL << PRM_LO(MLX4_HCR_F_TOKEN));
	ctrl = MLX4_HCR_GO | (p->toggle ? MLX4_HCR_TOGGLE : 0) |
	       (uint32_t)c->op_modifier << PRM_LO(MLX4_HCR_F_OP_MODIFIER) | c->opcode;
	tp_model_bar0_write32(p->m, MLX4_REG_HCR + MLX4_HCR_CTRL, ctrl);
	p->toggle = !p->toggle;
	do
		ctrl = tp_model_bar0_read32(p->m, MLX4_REG_HCR + MLX4_HCR_CTRL);
	while ((ctrl & MLX4_HCR_GO) != 0 && ++polls < POLLS);
	if (polls == POLLS)
		return -ETIMEDOUT;
	*now = (struct trace_cmd){.status = (uint8_t)(ctrl >> PRM_LO(MLX4_HCR_F_STATUS)), .out = p->box + TRACE_BOX};
	now->imm = reg64(p, MLX4_HCR_OUT_PARAM);
	return 0;
}

/* What software wrote to the table itself goes there by command. */
static int
give_mtt(struct player *p, const struct trace_step *e)
{
	struct trace_cmd c = {.opcode = MLX4_CMD_WRITE_MTT, .in_modifier = 1}, now;
	uint8_t box[TRACE_BOX] = {0};

	prm_set64(box, MLX4_WRITE_MTT_POS, e->off);
	prm_set64(box, MLX4_WRITE_MTT_ENTRIES, e->val);
	c.in = box;
	return give(p, &c, &now);
}

static int
take(struct player *p, const struct trace_step *s)
{
	if (!s->reset)
		return give_mtt(p, s);
	tp_model_reset(p->m);
	p->toggle = false;
	return 0;
}

static int
play_all(struct player *p, const struct rp_options *o, const struct trace *t, struct rp_sums *s, char err[RP_TEXT])
{
	struct trace_cmd now;
	unsigned int i, n, step = 0;
	int rc = 0;

	for (i = 0; i < t->num; i++) {
		const struct trace_cmd *c = &t->cmd[i];

		for (; rc == 0 && step < t->num_steps && t->step[step].before == i; step++)
			rc = take(p, &t->step[step]);

		s->commands++;
		if (!c->answered) {
			s->unanswered++;
			continue;
		}
		if (rc == 0)
			rc = give(p, c, &now);
		if (rc != 0) {
			snprintf(err, RP_TEXT, "line %u, %s: %s", c->line, c->name,
				 rc == -ETIMEDOUT ? "the model does not answer" : strerror(-rc));
			return rc;
		}
		if (!o->all && !rp_is_still(c->opcode) && c->status == MLX4_STAT_OK && now.status == MLX4_STAT_OK) {
			s->apart++;
			continue;
		}
		s->compared++;
		n = rp_compare(stdout, c, &now, p->last,
			       o->max == 0         ? UINT32_MAX
			       : s->lines < o->max ? o->max - s->lines
						   : 0);
		s->differ += n != 0;
		s->lines += n;
	}
	return 0;
}

int
rp_play(const struct rp_options *o, const struct trace *t, struct rp_sums *sums, char err[RP_TEXT])
{
	struct player p = {0};
	unsigned int i;
	int rc = tp_model_create(&o->cfg, &p.m);

	if (rc != 0) {
		snprintf(err, RP_TEXT, "the card cannot be made: %s", strerror(-rc));
		return rc;
	}
	tp_model_set_log(p.m, heard, &p);
	rc = memory(&p, t);
	if (rc == 0)
		rc = play_all(&p, o, t, sums, err);
	else
		snprintf(err, RP_TEXT, "no memory as large as the recording names: %s", strerror(-rc));
	tp_model_destroy(p.m);
	for (i = 0; i < p.num; i++)
		if (p.win[i].host != NULL)
			munmap(p.win[i].host, p.win[i].len);
	free(p.win);
	return rc;
}
