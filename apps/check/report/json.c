/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The report as JSON (RFC 8259); see docs/hardware.md. */
#include <string.h>

#include "apps/check/check.h"

static const char *const ends[] = {
	[CK_END_LEFT_OUT] = "left-out", [CK_END_DONE] = "done",       [CK_END_DIED] = "died",
	[CK_END_TIMEOUT] = "timeout",   [CK_END_STOPPED] = "stopped",
};

static void
quoted(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s != '\0'; s++) {
		/* What somebody else's bytes may hold is no UTF-8. */
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			fprintf(f, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
	}
	fputc('"', f);
}

static void
member(FILE *f, const char *key, const char *value)
{
	fprintf(f, "\"%s\": ", key);
	quoted(f, value);
}

static void
stage(FILE *f, const struct ck_outcome *s)
{
	unsigned int i;

	fprintf(f, "{\"number\": %u, ", (unsigned int)(s->stage - ck_stages));
	member(f, "name", s->stage->word);
	fputs(", ", f);
	member(f, "title", s->stage->title);
	fputs(", ", f);
	member(f, "does", s->stage->does);
	fputs(", ", f);
	member(f, "disturbs", s->stage->disturbs);
	fputs(", ", f);
	member(f, "end", ends[s->end]);
	fputs(", ", f);
	member(f, "why", s->why);
	fprintf(f, ", \"given_back_by_another\": %s, \"seconds\": %.3f,\n  \"checks\": [",
		s->given_back ? "true" : "false", s->seconds);
	for (i = 0; i < s->found.num; i++) {
		fputs(i != 0 ? ",\n    {" : "\n    {", f);
		member(f, "result", ck_kind_word(s->found.r[i].kind));
		fputs(", ", f);
		member(f, "name", s->found.r[i].name);
		fputs(", ", f);
		member(f, "text", s->found.r[i].text);
		fputc('}', f);
	}
	fputs("],\n  \"log\": [", f);
	for (i = 0; i < s->log.num; i++) {
		fputs(i != 0 ? ",\n    " : "\n    ", f);
		quoted(f, s->log.r[i].text);
	}
	fputs("]}", f);
}

void
ck_json(FILE *f, const struct ck_report *r)
{
	unsigned int i;

	fputs("{\"format\": 1, ", f);
	member(f, "program", "triplane-check");
	fputs(", ", f);
	member(f, "version", TRIPLANE_VERSION);
	fputs(", ", f);
	member(f, "made", r->made);
	fputs(", ", f);
	member(f, "device", r->o->dev.name);
	fputs(", ", f);
	member(f, "arguments", r->o->dev.args);
	fprintf(f, ", \"read_only\": %s, \"anonymous\": %s,\n", r->o->read_only ? "true" : "false",
		r->o->anonymous ? "true" : "false");
	member(f, "verdict", r->count[CK_FAIL] == 0 ? "passed" : "failed");
	fprintf(f, ", \"passed\": %u, \"failed\": %u, \"warnings\": %u, \"left_out\": %u,\n\"stages\": [",
		r->count[CK_PASS], r->count[CK_FAIL], r->count[CK_WARN], r->count[CK_SKIP]);
	for (i = 0; i < r->num; i++) {
		fputs(i != 0 ? ",\n " : "\n ", f);
		stage(f, &r->stage[i]);
	}
	fputs("]}\n", f);
}
