/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Firmware commands through the HCR [CP 2].
 *
 * Polled, one command at a time, until the asynchronous EQ works; then completions come as events and several threads
 * may have commands under way. A waiting thread looks at the EQ itself too: a command may be given by the interrupt
 * thread, which cannot interrupt itself, and a lost interrupt costs a millisecond instead of a time-out.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_io.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "core.h"
#include "history.h"
#include "lib/trace/trace.h"

#define CMD_SLOTS_MAX 16u
#define CMD_SPINS 2000u /* polls before the waiter starts to sleep */
#define CMD_NAP_US 50u
#define CMD_EVENT_WAIT_NS 1000000L

struct cmd_slot {
	uint64_t imm;
	uint16_t token;
	uint8_t status;
	bool busy, done;
};

struct mlx4_cmd_if {
	pthread_mutex_t lock; /* slots */
	pthread_cond_t cond;
	pthread_mutex_t hcr; /* one writer; in polled mode for the whole command */
	struct mlx4_dma mbox;
	struct cmd_slot slot[CMD_SLOTS_MAX];
	uint32_t num_slots, token_step;
	uint32_t toggle;
	bool events;
	void (*poll)(struct mlx4_hca *hca); /* looks for completions now */
	uint64_t count;
};

/* One command as the caller wants it. */
struct cmd_req {
	const struct mlx4_cmd_desc *desc;
	const void *in;
	void *out;
	uint64_t *out_imm;
	size_t in_len, out_len;
	uint64_t in_imm;
	uint32_t in_modifier;
	uint8_t op_modifier;
	bool optional; /* its failure is nothing to report */
};

static const struct mlx4_cmd_desc cmd_desc[] = {
#define CMD_DESC(n, opc, i, o) {#n, opc, MLX4_KIND_##i, MLX4_KIND_##o},
	MLX4_CMD_LIST(CMD_DESC)
#undef CMD_DESC
};

static const struct {
	uint8_t code;
	const char *name, *text;
} cmd_status[] = {
#define CMD_STATUS(n, c, t) {c, #n, t},
	MLX4_CMD_STATUS_LIST(CMD_STATUS)
#undef CMD_STATUS
};

const struct mlx4_cmd_desc *
mlx4_cmd_describe(uint16_t opcode)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(cmd_desc); i++)
		if (cmd_desc[i].opcode == opcode)
			return &cmd_desc[i];
	return NULL;
}

const char *
mlx4_cmd_status_text(uint8_t status)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(cmd_status); i++)
		if (cmd_status[i].code == status)
			return cmd_status[i].text;
	return "a status that is not documented";
}

static int
status_errno(uint8_t status)
{
	switch (status) {
	case MLX4_STAT_OK: return 0;
	case MLX4_STAT_BAD_OP: return -ENOTSUP;
	case MLX4_STAT_BAD_PARAM:
	case MLX4_STAT_BAD_SEG_PARAM:
	case MLX4_STAT_BAD_QP_STATE:
	case MLX4_STAT_BAD_PKT: return -EINVAL;
	case MLX4_STAT_BAD_SYS_STATE: return -ENXIO;
	case MLX4_STAT_RESOURCE_BUSY:
	case MLX4_STAT_REG_BOUND: return -EBUSY;
	case MLX4_STAT_EXCEED_LIM:
	case MLX4_STAT_BAD_SIZE: return -ENOSPC;
	case MLX4_STAT_BAD_RESOURCE:
	case MLX4_STAT_BAD_RES_STATE:
	case MLX4_STAT_BAD_INDEX: return -EBADF;
	case MLX4_STAT_BAD_PERM:
	case MLX4_STAT_MULTI_FUNC_REQ: return -EACCES;
	default: return -EIO;
	}
}

/* The HCR as it is and the mailbox as it was given, for whoever has to find out what the firmware did not like. */
static void
dump(struct mlx4_hca *hca, const char *title, const uint8_t *data, size_t len)
{
	size_t i;

	if (!rte_log_can_log(mlx4_logtype, RTE_LOG_DEBUG))
		return;
	HCA_LOG(hca, DEBUG, "%s:", title);
	for (i = 0; i + 16 <= len; i += 16)
		HCA_LOG(hca, DEBUG, "  %03zx: %08x %08x %08x %08x", i, prm_get32(data, i), prm_get32(data, i + 4),
			prm_get32(data, i + 8), prm_get32(data, i + 12));
}

static void
dump_command(struct mlx4_hca *hca, const struct cmd_req *r)
{
	uint8_t hcr[32] = {0};
	uint32_t i;

	for (i = 0; i < MLX4_HCR_SIZE; i += 4)
		prm_set32(hcr, i, mlx4_reg_read(hca, MLX4_REG_HCR + i));
	dump(hca, "HCR", hcr, sizeof(hcr));
	if (r->in != NULL)
		dump(hca, "in mailbox", r->in, r->in_len);
}

static bool
hcr_busy(struct mlx4_hca *hca, uint32_t *ctrl)
{
	*ctrl = mlx4_reg_read(hca, MLX4_REG_HCR + MLX4_HCR_CTRL);
	if ((*ctrl & MLX4_HCR_GO) != 0)
		return true;
	return mlx4_quirk(hca, MLX4_QUIRK_TOGGLE) == 0 && !!(*ctrl & MLX4_HCR_TOGGLE) == hca->cmd->toggle;
}

/* Deadline in TSC cycles; a spin first because most commands end in microseconds. */
static bool
wait_step(struct mlx4_hca *hca, uint64_t deadline, unsigned int *spins)
{
	if (++*spins < CMD_SPINS) {
		rte_pause();
		return true;
	}
	rte_delay_us_sleep(CMD_NAP_US);
	return !hca->dead && !mlx4_hca_catas(hca) && rte_get_tsc_cycles() < deadline;
}

static uint64_t
deadline_of(struct mlx4_hca *hca)
{
	return rte_get_tsc_cycles() + rte_get_tsc_hz() / 1000 * hca->bus->cmd_timeout_ms;
}

/* Writes the command [CP 2.1]: six dwords, then the one that starts it. Called with the HCR's lock. */
static int
hcr_post(struct mlx4_hca *hca, const struct cmd_req *r, uint64_t in_param, uint64_t out_param, uint16_t token)
{
	struct mlx4_cmd_if *c = hca->cmd;
	uint64_t deadline = deadline_of(hca);
	unsigned int spins = 0;
	uint32_t ctrl = MLX4_HCR_GO;

	while (hcr_busy(hca, &ctrl))
		if (!wait_step(hca, deadline, &spins))
			return -ETIMEDOUT;
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_IN_PARAM, in_param >> 32);
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_IN_PARAM + 4, (uint32_t)in_param);
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_IN_MODIFIER, r->in_modifier);
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_OUT_PARAM, out_param >> 32);
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_OUT_PARAM + 4, (uint32_t)out_param);
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_TOKEN, (uint32_t)token << PRM_LO(MLX4_HCR_F_TOKEN));
	rte_io_wmb();
	ctrl = MLX4_HCR_GO | (c->events ? MLX4_HCR_EVENT : 0) | (c->toggle != 0 ? MLX4_HCR_TOGGLE : 0) |
	       (uint32_t)r->op_modifier << PRM_LO(MLX4_HCR_F_OP_MODIFIER) | r->desc->opcode;
	mlx4_reg_write(hca, MLX4_REG_HCR + MLX4_HCR_CTRL, ctrl);
	c->toggle ^= 1;
	c->count++;
	return 0;
}

static int
wait_polled(struct mlx4_hca *hca, struct cmd_slot *s)
{
	uint64_t deadline = deadline_of(hca);
	unsigned int spins = 0;
	uint32_t ctrl;

	while (hcr_busy(hca, &ctrl))
		if (!wait_step(hca, deadline, &spins))
			return -ETIMEDOUT;
	s->status = ctrl >> PRM_LO(MLX4_HCR_F_STATUS);
	s->imm = (uint64_t)mlx4_reg_read(hca, MLX4_REG_HCR + MLX4_HCR_OUT_PARAM) << 32;
	s->imm |= mlx4_reg_read(hca, MLX4_REG_HCR + MLX4_HCR_OUT_PARAM + 4);
	return 0;
}

static int
wait_event(struct mlx4_hca *hca, struct cmd_slot *s)
{
	struct mlx4_cmd_if *c = hca->cmd;
	uint64_t deadline = deadline_of(hca);
	struct timespec until;
	bool done;

	for (;;) {
		c->poll(hca);
		pthread_mutex_lock(&c->lock);
		if (!s->done) {
			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_nsec += CMD_EVENT_WAIT_NS;
			if (until.tv_nsec >= 1000000000L) {
				until.tv_nsec -= 1000000000L;
				until.tv_sec++;
			}
			pthread_cond_timedwait(&c->cond, &c->lock, &until);
		}
		done = s->done;
		pthread_mutex_unlock(&c->lock);
		if (done)
			return 0;
		if (hca->dead || mlx4_hca_catas(hca) || rte_get_tsc_cycles() >= deadline)
			return -ETIMEDOUT;
	}
}

void
mlx4_cmd_completed(struct mlx4_hca *hca, const uint8_t *eqe)
{
	struct mlx4_cmd_if *c = hca->cmd;
	uint16_t token = prm_get(eqe, MLX4_EQE_CMD_TOKEN);
	struct cmd_slot *s = &c->slot[token % CMD_SLOTS_MAX];

	pthread_mutex_lock(&c->lock);
	/* A completion of a command that was given up carries an older token. */
	if (s->busy && !s->done && s->token == token) {
		s->status = prm_get(eqe, MLX4_EQE_CMD_STATUS);
		s->imm = prm_get64(eqe, MLX4_EQE_CMD_OUT_PARAM);
		s->done = true;
		pthread_cond_broadcast(&c->cond);
	}
	pthread_mutex_unlock(&c->lock);
}

static struct cmd_slot *
slot_get(struct mlx4_cmd_if *c)
{
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		for (i = 0; i < c->num_slots; i++)
			if (!c->slot[i].busy)
				break;
		if (i < c->num_slots)
			break;
		pthread_cond_wait(&c->cond, &c->lock);
	}
	c->slot[i].busy = true;
	c->slot[i].done = false;
	c->slot[i].token += c->token_step;
	pthread_mutex_unlock(&c->lock);
	return &c->slot[i];
}

static void
slot_put(struct mlx4_cmd_if *c, struct cmd_slot *s)
{
	pthread_mutex_lock(&c->lock);
	s->busy = false;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

static int
run(struct mlx4_hca *hca, const struct cmd_req *r, struct cmd_slot *s, uint64_t in_param, uint64_t out_param)
{
	struct mlx4_cmd_if *c = hca->cmd;
	int rc = -EIO;

	pthread_mutex_lock(&c->hcr);
	/* Another thread may have found it dead meanwhile, and may reset it: see mlx4_cmd_quiesce. */
	if (!hca->dead)
		rc = hcr_post(hca, r, in_param, out_param, c->events ? s->token : MLX4_HCR_TOKEN_POLL);
	if (!c->events) {
		if (rc == 0)
			rc = wait_polled(hca, s);
		pthread_mutex_unlock(&c->hcr);
		return rc;
	}
	pthread_mutex_unlock(&c->hcr);
	return rc == 0 ? wait_event(hca, s) : rc;
}

static int
report(struct mlx4_hca *hca, const struct cmd_req *r, const struct cmd_slot *s, int rc)
{
	uint32_t status = s->status;

	if (rc == 0 && status == MLX4_STAT_OK)
		return 0;
	__atomic_add_fetch(&hca->cmd_failures, 1, __ATOMIC_RELAXED);
	if (rc == 0) {
		troce_talk.lines++;
		if (!troce_talk.hush)
			mlx4_log(r->optional ? RTE_LOG_DEBUG : RTE_LOG_ERR,
				 "mlx4: %s: command %s (0x%03x), op_modifier %u, in_modifier 0x%x: status 0x%02x: %s\n",
				 hca->bus->where, r->desc->name, r->desc->opcode, r->op_modifier, r->in_modifier,
				 status, mlx4_cmd_status_text(status));
		dump_command(hca, r);
		return status_errno(status);
	}
	if (mlx4_hca_catas(hca)) {
		mlx4_hca_mark_dead(hca, "it reports a fatal error in its error buffer");
	} else {
		char why[128];

		snprintf(why, sizeof(why), "command %s (0x%03x), in_modifier 0x%x was not answered within %u ms",
			 r->desc->name, r->desc->opcode, r->in_modifier, hca->bus->cmd_timeout_ms);
		if (!hca->dead)
			__atomic_add_fetch(&hca->cmd_timeouts, 1, __ATOMIC_RELAXED);
		mlx4_hca_mark_dead(hca, why);
	}
	dump_command(hca, r);
	return rc;
}

/* A command that nobody answered has no OUTPUT line. */
static void
trace(struct mlx4_hca *hca, const struct cmd_req *r, const struct cmd_slot *s, int rc, const uint64_t param[2],
      const uint8_t *in, const uint8_t *out)
{
	struct trace_cmd t = {.opcode = r->desc->opcode};

	snprintf(t.name, sizeof(t.name), "%s", r->desc->name);
	t.op_modifier = r->op_modifier;
	t.in_modifier = r->in_modifier;
	t.in_param = param[0];
	t.out_param = param[1];
	t.event = hca->cmd->events;
	t.in = r->in != NULL ? in : NULL;
	t.answered = rc == 0 || s->status != MLX4_STAT_OK;
	t.status = s->status;
	t.has_imm = r->out_imm != NULL;
	t.imm = s->imm;
	t.out = r->out != NULL ? out : NULL;
	mlx4_trace_cmd(hca->trace, &t);
}

/* What became of a command, for who asks later. */
static void
remember(struct mlx4_hca *hca, const struct cmd_req *r, const struct cmd_slot *s, int rc, uint64_t since,
	 const uint8_t *out)
{
	const struct mlx4_cmd_record record = {
		.took_ns = (uint64_t)((double)(rte_get_tsc_cycles() - since) * 1e9 / (double)rte_get_tsc_hz()),
		.in_imm = r->in_imm,
		.out_imm = r->out_imm != NULL ? s->imm : 0,
		.in_modifier = r->in_modifier,
		.rc = rc,
		.opcode = r->desc->opcode,
		.in_len = (uint16_t)r->in_len,
		.out_len = (uint16_t)r->out_len,
		.op_modifier = r->op_modifier,
		.status = s->status,
	};

	mlx4_history_add(hca->history, &record, r->in, r->out != NULL ? out : NULL);
}

static int
execute(struct mlx4_hca *hca, const struct cmd_req *r)
{
	struct mlx4_cmd_if *c = hca->cmd;
	uint64_t in_param = r->in_imm, out_param = 0, since;
	struct cmd_slot *s;
	uint8_t *in, *out;
	size_t off;
	int rc;

	if (hca->dead)
		return -EIO;
	s = slot_get(c);
	off = (size_t)(s - c->slot) * 2 * MLX4_MAILBOX_SIZE;
	in = (uint8_t *)c->mbox.va + off;
	out = in + MLX4_MAILBOX_SIZE;
	if (r->in != NULL) {
		memcpy(in, r->in, r->in_len);
		memset(in + r->in_len, 0, MLX4_MAILBOX_SIZE - r->in_len);
		in_param = c->mbox.iova + off;
	}
	if (r->out != NULL) {
		memset(out, 0, MLX4_MAILBOX_SIZE);
		out_param = c->mbox.iova + off + MLX4_MAILBOX_SIZE;
	}
	s->status = 0;
	since = rte_get_tsc_cycles();
	rc = report(hca, r, s, run(hca, r, s, in_param, out_param));
	remember(hca, r, s, rc, since, out);
	if (hca->trace != NULL)
		trace(hca, r, s, rc, (const uint64_t[]){in_param, out_param}, in, out);
	if (rc == 0 && r->out != NULL)
		memcpy(r->out, out, r->out_len);
	if (rc == 0 && r->out_imm != NULL)
		*r->out_imm = s->imm;
	slot_put(c, s);
	return rc;
}

/* A caller that gives what the command does not take, or not what it needs, is a mistake in the driver. */
static int
check_kinds(struct mlx4_hca *hca, const struct cmd_req *r)
{
	bool in_ok = r->desc->in == MLX4_KIND_MAYBE || (r->desc->in == MLX4_KIND_MBOX) == (r->in != NULL);
	bool out_ok = r->desc->out == MLX4_KIND_MAYBE || (r->desc->out == MLX4_KIND_MBOX) == (r->out != NULL);

	if (r->in_imm != 0 && r->desc->in != MLX4_KIND_IMM && r->desc->in != MLX4_KIND_MAYBE)
		in_ok = false;
	if (r->out_imm != NULL && r->desc->out != MLX4_KIND_IMM && r->desc->out != MLX4_KIND_MAYBE)
		out_ok = false;
	if (in_ok && out_ok && r->in_len <= MLX4_MAILBOX_SIZE && r->out_len <= MLX4_MAILBOX_SIZE)
		return 0;
	HCA_LOG(hca, ERR, "command %s: wrong parameters: in mailbox %zu bytes, out mailbox %zu bytes", r->desc->name,
		r->in_len, r->out_len);
	return -EINVAL;
}

/* r: everything but what every command has. */
static int
submit(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, struct cmd_req r)
{
	int rc;

	r.desc = mlx4_cmd_describe(op);
	r.op_modifier = op_modifier;
	r.in_modifier = in_modifier;
	rc = check_kinds(hca, &r);
	return rc != 0 ? rc : execute(hca, &r);
}

int
mlx4_cmd(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, const void *in,
	 size_t in_len, void *out, size_t out_len)
{
	const struct cmd_req r = {.in = in, .in_len = in_len, .out = out, .out_len = out_len};

	return submit(hca, op, op_modifier, in_modifier, r);
}

int
mlx4_cmd_try(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, const void *in,
	     size_t in_len, void *out, size_t out_len)
{
	const struct cmd_req r = {.in = in, .in_len = in_len, .out = out, .out_len = out_len, .optional = true};

	return submit(hca, op, op_modifier, in_modifier, r);
}

int
mlx4_cmd_imm(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier, uint64_t in,
	     uint64_t *out)
{
	const struct cmd_req r = {.in_imm = in, .out_imm = out};

	return submit(hca, op, op_modifier, in_modifier, r);
}

int
mlx4_cmd_mbox_imm(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint8_t op_modifier, uint32_t in_modifier,
		  const void *in, size_t in_len, uint64_t *out)
{
	const struct cmd_req r = {.in = in, .in_len = in_len, .out_imm = out};

	return submit(hca, op, op_modifier, in_modifier, r);
}

int
mlx4_cmd_init(struct mlx4_hca *hca)
{
	struct mlx4_cmd_if *c;
	pthread_condattr_t attr;
	uint32_t i;
	int rc;

	c = rte_zmalloc_socket("mlx4_cmd", sizeof(*c), 0, hca->numa_node);
	if (c == NULL)
		return -ENOMEM;
	rc = mlx4_dma_alloc(hca, "command mailboxes", CMD_SLOTS_MAX * 2 * MLX4_MAILBOX_SIZE, MLX4_MAILBOX_SIZE,
			    hca->numa_node, &c->mbox);
	if (rc != 0) {
		rte_free(c);
		return rc;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->hcr, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->cond, &attr);
	pthread_condattr_destroy(&attr);
	c->token_step = CMD_SLOTS_MAX;
	for (i = 0; i < CMD_SLOTS_MAX; i++)
		c->slot[i].token = i;
	hca->cmd = c;
	hca->history = mlx4_history_create();
	mlx4_cmd_after_reset(hca);
	return 0;
}

void
mlx4_cmd_quiesce(struct mlx4_hca *hca)
{
	pthread_mutex_lock(&hca->cmd->hcr);
	pthread_mutex_unlock(&hca->cmd->hcr);
}

void
mlx4_cmd_after_reset(struct mlx4_hca *hca)
{
	mlx4_cmd_use_polling(hca);
	/* The toggle bit reads 0 after a reset; the first command has it set [CP 2.2]. */
	hca->cmd->toggle = 1;
}

void
mlx4_cmd_as_found(struct mlx4_hca *hca)
{
	uint32_t ctrl = mlx4_reg_read(hca, MLX4_REG_HCR + MLX4_HCR_CTRL);

	hca->cmd->toggle = (ctrl & MLX4_HCR_TOGGLE) == 0;
}

void
mlx4_cmd_fini(struct mlx4_hca *hca)
{
	struct mlx4_cmd_if *c = hca->cmd;

	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->hcr);
	pthread_mutex_destroy(&c->lock);
	mlx4_dma_free(&c->mbox);
	rte_free(c);
	hca->cmd = NULL;
	mlx4_history_free(hca->history);
	hca->history = NULL;
}

int
mlx4_cmd_use_events(struct mlx4_hca *hca, void (*poll)(struct mlx4_hca *hca))
{
	struct mlx4_cmd_if *c = hca->cmd;
	int rc;

	c->poll = poll;
	c->events = true;
	/* Shows that events arrive before anything depends on them. */
	rc = mlx4_cmd(hca, MLX4_CMD_NOP, 0, MLX4_NOP_MODIFIER, NULL, 0, NULL, 0);
	if (rc != 0)
		c->events = false;
	else /* A trace has a command when it is answered: of two at once the order would not be the card's. */
		c->num_slots = hca->trace != NULL ? 1 : RTE_MIN(CMD_SLOTS_MAX, hca->caps.max_cmds);
	return rc;
}

void
mlx4_cmd_use_polling(struct mlx4_hca *hca)
{
	hca->cmd->events = false;
	hca->cmd->num_slots = 1;
}

uint64_t
mlx4_cmd_count(const struct mlx4_hca *hca)
{
	return hca->cmd->count;
}
