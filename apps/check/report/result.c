/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Lists of records, and what they come to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/check/check.h"

int
ck_list_add(struct ck_list *l, const struct ck_record *r)
{
	struct ck_record *more;

	if (l->num == l->room) {
		more = realloc(l->r, (l->room * 2 + 16) * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		l->r = more;
		l->room = l->room * 2 + 16;
	}
	l->r[l->num++] = *r;
	return 0;
}

void
ck_list_free(struct ck_list *l)
{
	free(l->r);
	memset(l, 0, sizeof(*l));
}

bool
ck_report_count(struct ck_report *r)
{
	unsigned int i, k;

	memset(r->count, 0, sizeof(r->count));
	for (i = 0; i < r->num; i++) {
		const struct ck_outcome *s = &r->stage[i];

		for (k = 0; k < s->found.num; k++)
			r->count[s->found.r[k].kind]++;
		r->count[CK_SKIP] += s->end == CK_END_LEFT_OUT;
		r->count[CK_FAIL] += s->end != CK_END_LEFT_OUT && s->end != CK_END_DONE;
	}
	return r->count[CK_FAIL] == 0;
}

void
ck_report_hide(const struct ck_report *r, struct ck_record *one)
{
	if (r->o->anonymous)
		ck_scrub((uint8_t *)one->text, strlen(one->text), r->secret, r->num_secrets);
}

static void
hide_list(const struct ck_report *r, struct ck_list *l)
{
	unsigned int i;

	for (i = 0; i < l->num; i++)
		ck_report_hide(r, &l->r[i]);
}

void
ck_report_hide_all(struct ck_report *r)
{
	unsigned int i;

	for (i = 0; i < r->num; i++) {
		hide_list(r, &r->stage[i].found);
		hide_list(r, &r->stage[i].log);
	}
}

void
ck_report_free(struct ck_report *r)
{
	unsigned int i;

	for (i = 0; i < r->num; i++) {
		ck_list_free(&r->stage[i].found);
		ck_list_free(&r->stage[i].log);
	}
}
