/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The report as text, a piece at a time while the stages run, and all of it again for a file. */
#include <errno.h>
#include <string.h>

#include "apps/check/check.h"

#define LOG_SHOWN 12u

static bool
chosen(const struct ck_options *o, unsigned int i)
{
	return (o->stages >> i & 1) != 0 && !(o->read_only && ck_stages[i].lasts);
}

void
ck_text_plan(FILE *f, const struct ck_options *o)
{
	unsigned int i;

	fprintf(f, "plan for %s; nothing is done now\n", o->dev.name);
	if (o->reflector) {
		ck_text_head(f, &ck_stages[CK_REFLECTOR]);
		return;
	}
	for (i = 0; i < CK_STAGES; i++) {
		if (!chosen(o, i)) {
			fprintf(f, "stage %u, %s: left out\n", i, ck_stages[i].word);
			continue;
		}
		fprintf(f, "stage %u, %s: %s\n", i, ck_stages[i].word, ck_stages[i].title);
		fprintf(f, "  does: %s\n  disturbs: %s\n", ck_stages[i].does, ck_stages[i].disturbs);
	}
}

void
ck_text_head(FILE *f, const struct ck_stage *s)
{
	fprintf(f, "stage %u, %s: %s\n  does: %s\n  disturbs: %s\n", (unsigned int)(s - ck_stages), s->word, s->title,
		s->does, s->disturbs);
}

void
ck_text_record(FILE *f, const struct ck_record *r)
{
	fprintf(f, "  %s %s: %s\n", ck_kind_word(r->kind), r->name, r->text);
}

void
ck_text_tail(FILE *f, const struct ck_outcome *s)
{
	const unsigned int from = s->log.num > LOG_SHOWN ? s->log.num - LOG_SHOWN : 0;
	bool failed = s->end != CK_END_DONE && s->end != CK_END_LEFT_OUT;
	unsigned int i;

	if (s->end == CK_END_LEFT_OUT) {
		fprintf(f, "stage %u, %s: left out: %s\n", (unsigned int)(s->stage - ck_stages), s->stage->word,
			s->why);
		return;
	}
	if (failed)
		fprintf(f, "  fail stage: %s\n", s->why);
	for (i = 0; i < s->found.num; i++)
		failed = failed || s->found.r[i].kind == CK_FAIL;
	for (i = from; failed && i < s->log.num; i++)
		fprintf(f, "  log: %s\n", s->log.r[i].text);
}

void
ck_text_sum(FILE *f, const struct ck_report *r)
{
	fprintf(f, "%s: %u passed, %u failed, %u warnings, %u left out\n", r->count[CK_FAIL] == 0 ? "passed" : "FAILED",
		r->count[CK_PASS], r->count[CK_FAIL], r->count[CK_WARN], r->count[CK_SKIP]);
}

void
ck_text(FILE *f, const struct ck_report *r)
{
	unsigned int i, k;

	fprintf(f, "triplane-check %s of %s, %s\n", TRIPLANE_VERSION, r->o->dev.name, r->made);
	for (i = 0; i < r->num; i++) {
		const struct ck_outcome *s = &r->stage[i];

		if (s->end != CK_END_LEFT_OUT)
			ck_text_head(f, s->stage);
		for (k = 0; k < s->found.num; k++)
			ck_text_record(f, &s->found.r[k]);
		ck_text_tail(f, s);
	}
	ck_text_sum(f, r);
}

int
ck_write(const char *path, void (*fn)(FILE *f, const struct ck_report *r), const struct ck_report *r)
{
	FILE *f = fopen(path, "we");
	bool wrong;

	if (f == NULL)
		return -errno;
	fn(f, r);
	wrong = ferror(f) != 0;
	if (fclose(f) != 0 || wrong)
		return errno != 0 ? -errno : -EIO;
	return 0;
}
