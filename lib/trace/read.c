/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "mlx4_prm.h"
#include "mlx4_prm_regs.h"

#define HEAD "dump command "
#define LINE_MAX_LEN 512u

struct reader {
	struct trace *t;
	uint8_t *box; /* of the headline before; NULL: none yet */
	const char *path;
	unsigned int line;
	bool in_box; /* lines of a mailbox may follow */
	bool of_output;
	bool of_entry;
	char *err;
};

__attribute__((format(printf, 2, 3))) static int
bad(const struct reader *r, const char *format, ...)
{
	char why[TRACE_ERR / 2];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	snprintf(r->err, TRACE_ERR, "%.100s, line %u: %s", r->path, r->line, why);
	return -EINVAL;
}

static struct trace_cmd *
last(const struct reader *r)
{
	return r->t->num == 0 ? NULL : &r->t->cmd[r->t->num - 1];
}

static struct trace_cmd *
add(struct trace *t)
{
	struct trace_cmd *c;

	if (t->num == t->room) {
		const unsigned int room = t->room == 0 ? 256 : 2 * t->room;

		c = realloc(t->cmd, room * sizeof(*c));
		if (c == NULL)
			return NULL;
		t->cmd = c;
		t->room = room;
	}
	c = &t->cmd[t->num++];
	memset(c, 0, sizeof(*c));
	return c;
}

static int
input(struct reader *r, const char *name, unsigned int opcode, const char *rest)
{
	unsigned int op_modifier, in_modifier;
	uint64_t in_param, out_param;
	struct trace_cmd *c;
	int n = 0;

	if (sscanf(rest, "op_modifier 0x%x in_modifier 0x%x in_param 0x%" SCNx64 " out_param 0x%" SCNx64 "%n",
		   &op_modifier, &in_modifier, &in_param, &out_param, &n) != 4 ||
	    op_modifier > UINT8_MAX)
		return bad(r, "wanted op_modifier, in_modifier, in_param and out_param of %s", name);
	if (rest[n] != '\0' && strcmp(rest + n, " event") != 0)
		return bad(r, "'%.40s' behind out_param, wanted nothing or event", rest + n);
	c = add(r->t);
	if (c == NULL)
		return -ENOMEM;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->opcode = (uint16_t)opcode;
	c->op_modifier = (uint8_t)op_modifier;
	c->in_modifier = in_modifier;
	c->in_param = in_param;
	c->out_param = out_param;
	c->event = rest[n] != '\0';
	c->line = r->line;
	r->of_output = false;
	return 0;
}

static int
output(struct reader *r, const char *name, unsigned int opcode, const char *rest)
{
	struct trace_cmd *c = last(r);
	unsigned int status;
	int n = 0;

	if (c == NULL || c->answered || c->opcode != opcode)
		return bad(r, "OUTPUT of %s without its INPUT before", name);
	if (sscanf(rest, "status 0x%x%n", &status, &n) != 1 || status > UINT8_MAX)
		return bad(r, "wanted status 0x0..0xff of %s", name);
	if (rest[n] != '\0') {
		int m = 0;

		if (sscanf(rest + n, " immediate 0x%" SCNx64 "%n", &c->imm, &m) != 1 || rest[n + m] != '\0')
			return bad(r, "'%.40s' behind status, wanted nothing or an immediate", rest + n);
		c->has_imm = true;
	}
	c->status = (uint8_t)status;
	c->answered = true;
	r->of_output = true;
	return 0;
}

static int
headline(struct reader *r, const char *text)
{
	char name[TRACE_NAME], way[8];
	unsigned int opcode;
	int n = 0, rc;

	if (sscanf(text, "%31[A-Za-z0-9_](0x%x) %7[A-Z]: %n", name, &opcode, way, &n) != 3 || n == 0 || opcode > 0xfff)
		return bad(r, "wanted \"dump command NAME(0xOPCODE) INPUT: ...\" or \"... OUTPUT: ...\"");
	r->box = NULL;
	r->in_box = true;
	rc = strcmp(way, "INPUT") == 0    ? input(r, name, opcode, text + n)
	     : strcmp(way, "OUTPUT") == 0 ? output(r, name, opcode, text + n)
					  : bad(r, "'%s', wanted INPUT or OUTPUT", way);
	return rc;
}

static int
box_line(struct reader *r, const char *text)
{
	unsigned int off, v[4], i;
	struct trace_cmd *c = last(r);
	int n = 0;

	if (sscanf(text, "%3x: %8x %8x %8x %8x%n", &off, &v[0], &v[1], &v[2], &v[3], &n) != 5 || text[n] != '\0' ||
	    off % 16 != 0 || off + 16 > TRACE_BOX)
		return bad(r, "'%.40s', wanted an offset 000..ff0 and four dwords", text);
	if (c == NULL || !r->in_box)
		return bad(r, "lines of a mailbox without a command before");
	if (r->box == NULL) {
		r->box = calloc(1, TRACE_BOX);
		if (r->box == NULL)
			return -ENOMEM;
		if (r->of_output)
			c->out = r->box;
		else
			c->in = r->box;
	}
	for (i = 0; i < 4; i++)
		prm_set32(r->box, off + 4 * i, v[i]);
	return 0;
}

static int
step(struct reader *r, bool reset, uint64_t off, uint64_t val)
{
	struct trace *t = r->t;

	if (t->num_steps == t->room_steps) {
		const unsigned int room = t->room_steps == 0 ? 256 : 2 * t->room_steps;
		struct trace_step *s = realloc(t->step, room * sizeof(*s));

		if (s == NULL)
			return -ENOMEM;
		t->step = s;
		t->room_steps = room;
	}
	t->step[t->num_steps++] = (struct trace_step){reset, off, val, t->num};
	return 0;
}

static int
mtt(struct reader *r, const char *text)
{
	uint64_t off, val;
	int n = 0;

	if (sscanf(text, "mtt 0x%" SCNx64 " 0x%" SCNx64 "%n", &off, &val, &n) != 2 || text[n] != '\0' || off % 8 != 0)
		return bad(r, "'%.40s', wanted mtt, an offset that is a multiple of 8, and an entry", text);
	return step(r, false, off, val);
}

static int
reg(struct reader *r, const char *text)
{
	unsigned int off, val;
	int n = 0;

	if (sscanf(text, "%*[a-z] 0x%x 0x%x%n", &off, &val, &n) != 2 || text[n] != '\0')
		return bad(r, "'%.40s', wanted read or write, an offset and a value", text);
	r->t->others++;
	return text[0] == 'w' && off == MLX4_REG_RESET ? step(r, true, 0, 0) : 0;
}

static bool
begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static int
line(struct reader *r, const char *text)
{
	if (text[0] == '\0' || text[0] == '#')
		return 0;
	if (r->of_entry && strspn(text, "0123456789abcdef") == 3 && text[3] == ':')
		return 0; /* of a queue's entry, which nobody reads back */
	if (!begins(text, "entry ") && !begins(text, "read ") && !begins(text, "write ") && !begins(text, "mtt ") &&
	    !begins(text, HEAD))
		return box_line(r, text);
	r->of_entry = begins(text, "entry ");
	r->in_box = false;
	if (r->of_entry) {
		r->t->others++;
		return 0;
	}
	return begins(text, HEAD)     ? headline(r, text + strlen(HEAD))
	       : begins(text, "mtt ") ? mtt(r, text)
				      : reg(r, text);
}

int
trace_load(struct trace *t, const char *path, char err[TRACE_ERR])
{
	struct reader r = {.t = t, .path = path, .err = err};
	char text[LINE_MAX_LEN];
	int rc = 0;
	FILE *f;

	memset(t, 0, sizeof(*t));
	f = fopen(path, "r");
	if (f == NULL) {
		rc = -errno;
		snprintf(err, TRACE_ERR, "%.150s: %s", path, strerror(errno));
		return rc;
	}
	while (rc == 0 && fgets(text, sizeof(text), f) != NULL) {
		r.line++;
		text[strcspn(text, "\r\n")] = '\0';
		rc = line(&r, text);
	}
	if (rc == 0 && ferror(f))
		rc = bad(&r, "cannot be read");
	if (rc == -ENOMEM)
		snprintf(err, TRACE_ERR, "%.150s: no memory", path);
	fclose(f);
	if (rc == 0 && t->num == 0)
		rc = bad(&r, "it has no command");
	if (rc != 0)
		trace_free(t);
	return rc;
}

void
trace_free(struct trace *t)
{
	unsigned int i;

	for (i = 0; i < t->num; i++) {
		free((void *)(uintptr_t)t->cmd[i].in);
		free((void *)(uintptr_t)t->cmd[i].out);
	}
	free(t->cmd);
	free(t->step);
	memset(t, 0, sizeof(*t));
}
