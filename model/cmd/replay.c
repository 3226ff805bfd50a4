/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Firmware that answers as a recorded one did. What a card says about itself comes out of the recording; what it does stays the
 * model's, so that ports start, and packets go, behind the answers of a card that is not here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/trace.h"
#include "cmd.h"

#define ANSWER 0x100u /* bytes of such an answer; what lies behind may be somebody else's */

struct tpm_replay {
	struct trace t;
	bool *used; /* of each command of the recording */
	uint64_t answered, unknown;
};

static const uint16_t about_itself[] = {
	MLX4_CMD_QUERY_FW, MLX4_CMD_QUERY_DEV_CAP, MLX4_CMD_QUERY_ADAPTER, MLX4_CMD_QUERY_PORT, MLX4_CMD_QUERY_FUNC,
};

static bool
tells_of_itself(uint16_t opcode)
{
	unsigned int i;

	for (i = 0; i < sizeof(about_itself) / sizeof(about_itself[0]); i++)
		if (about_itself[i] == opcode)
			return true;
	return false;
}

static bool
same(const struct trace_cmd *r, const struct tpm_cmd *c)
{
	return r->answered && r->opcode == c->opcode && r->op_modifier == c->op_modifier &&
	       r->in_modifier == c->in_modifier;
}

/* The next answer to it, or else the last that there was; NULL: the recording has none. */
static const struct trace_cmd *
find(struct tpm_replay *r, const struct tpm_cmd *c, bool take)
{
	const struct trace_cmd *last = NULL;
	unsigned int i;

	for (i = 0; i < r->t.num; i++) {
		if (!same(&r->t.cmd[i], c))
			continue;
		last = &r->t.cmd[i];
		if (!r->used[i]) {
			r->used[i] = take;
			break;
		}
	}
	return last;
}

uint8_t
tpm_replay_refuses(struct tp_model *m, const struct tpm_cmd *c)
{
	const struct trace_cmd *r = find(m->replay, c, false);

	if (r == NULL || r->status == MLX4_STAT_OK)
		return MLX4_STAT_OK;
	find(m->replay, c, true);
	m->replay->answered++;
	return r->status;
}

void
tpm_replay_answer(struct tp_model *m, struct tpm_cmd *c)
{
	const struct trace_cmd *r = find(m->replay, c, true);

	if (!tells_of_itself(c->opcode))
		return;
	if (r == NULL || c->out == NULL) {
		m->replay->unknown++;
		tpm_note(m, "the recording has no answer to command 0x%x, op_modifier %u, in_modifier 0x%x", c->opcode,
			 c->op_modifier, c->in_modifier);
		return;
	}
	if (r->out != NULL)
		memcpy(c->out, r->out, ANSWER);
	else
		memset(c->out, 0, ANSWER);
	if (r->has_imm)
		c->imm = r->imm;
	m->replay->answered++;
}

void
tpm_replay_end(struct tp_model *m)
{
	if (m->replay == NULL)
		return;
	trace_free(&m->replay->t);
	free(m->replay->used);
	free(m->replay);
	m->replay = NULL;
}

int
tp_model_replay(struct tp_model *m, const char *path, char err[TRACE_ERR])
{
	struct tpm_replay *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL) {
		snprintf(err, TRACE_ERR, "no memory");
		return -ENOMEM;
	}
	rc = trace_load(&r->t, path, err);
	if (rc == 0)
		r->used = calloc(r->t.num, sizeof(*r->used));
	if (rc != 0 || r->used == NULL) {
		if (rc == 0) {
			snprintf(err, TRACE_ERR, "no memory");
			trace_free(&r->t);
		}
		free(r);
		return rc != 0 ? rc : -ENOMEM;
	}
	tpm_lock(&m->lock);
	tpm_replay_end(m);
	m->replay = r;
	tpm_unlock(&m->lock);
	return 0;
}

void
tp_model_replay_count(struct tp_model *m, uint64_t *answered, uint64_t *unknown)
{
	tpm_lock(&m->lock);
	*answered = m->replay != NULL ? m->replay->answered : 0;
	*unknown = m->replay != NULL ? m->replay->unknown : 0;
	tpm_unlock(&m->lock);
}
