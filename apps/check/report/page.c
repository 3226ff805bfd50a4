/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The report as a page of HTML. The document of JSON is in it, too. */
#include <stdlib.h>
#include <string.h>

#include "apps/common/page.h"
#include "apps/check/check.h"

static void
text(FILE *f, const char *s)
{
	page_text(f, s, strlen(s));
}

static void
row(FILE *f, const struct ck_record *r)
{
	const bool bad = r->kind == CK_FAIL || r->kind == CK_WARN;

	fprintf(f, "<tr%s><td%s>%s</td><td>", r->kind == CK_INFO || r->kind == CK_SKIP ? " class=\"zero\"" : "",
		bad ? " class=\"warn\"" : "", ck_kind_word(r->kind));
	text(f, r->name);
	fputs("</td><td>", f);
	text(f, r->text);
	fputs("</td></tr>\n", f);
}

static void
stage(FILE *f, const struct ck_outcome *s)
{
	const unsigned int number = (unsigned int)(s->stage - ck_stages);
	unsigned int i;

	fprintf(f, "<section id=\"stage%u\"><h2>%u ", number, number);
	text(f, s->stage->title);
	fputs("</h2>\n", f);
	if (s->end == CK_END_LEFT_OUT) {
		fputs("<p class=\"none\">left out: ", f);
		text(f, s->why);
		fputs("</p></section>\n", f);
		return;
	}
	fputs("<p class=\"none\">", f);
	text(f, s->stage->does);
	fputs(". Disturbs: ", f);
	text(f, s->stage->disturbs);
	fprintf(f, ". Took %.1f s.</p>\n", s->seconds);
	if (s->end != CK_END_DONE) {
		fputs("<p class=\"warn\">", f);
		text(f, s->why);
		fputs("</p>\n", f);
	}
	fputs("<div class=\"wide\"><table><tr><th>result</th><th>check</th><th>found</th></tr>\n", f);
	for (i = 0; i < s->found.num; i++)
		row(f, &s->found.r[i]);
	fputs("</table></div>\n", f);
	if (s->log.num != 0) {
		fputs("<details><summary>What the driver said</summary><pre>", f);
		for (i = 0; i < s->log.num; i++) {
			text(f, s->log.r[i].text);
			fputc('\n', f);
		}
		fputs("</pre></details>\n", f);
	}
	fputs("</section>\n", f);
}

void
ck_page(FILE *f, const struct ck_report *r)
{
	char title[CK_NAME + 32], *json = NULL;
	size_t len = 0;
	FILE *doc = open_memstream(&json, &len);
	unsigned int i;

	snprintf(title, sizeof(title), "Check of %s", r->o->dev.name);
	page_begin(f, title);
	fprintf(f, "<p>%s, triplane-check %s</p><p%s>", r->made, TRIPLANE_VERSION,
		r->count[CK_FAIL] != 0 ? " class=\"warn\"" : "");
	ck_text_sum(f, r);
	fputs("</p><nav>", f);
	for (i = 0; i < r->num; i++)
		fprintf(f, "<a href=\"#stage%u\">%u %s</a> ", i, i, r->stage[i].stage->word);
	fputs("</nav></header>\n", f);
	for (i = 0; i < r->num; i++)
		stage(f, &r->stage[i]);
	if (doc != NULL) {
		ck_json(doc, r);
		fclose(doc);
	}
	page_end(f, "check", json != NULL ? json : "null", json != NULL ? len : 4);
	free(json);
}
