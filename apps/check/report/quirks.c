/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What was found of points that sources leave open, as lines of configuration. */
#include <string.h>

#include "apps/check/check.h"

#define LINE "quirks="

void
ck_quirks(FILE *f, const struct ck_report *r)
{
	unsigned int i, k, n = 0;
	const char *at;

	fprintf(f, "# triplane-check %s of %s, %s\n", TRIPLANE_VERSION, r->o->dev.name, r->made);
	for (i = 0; i < r->num; i++)
		for (k = 0; k < r->stage[i].found.num; k++) {
			const struct ck_record *one = &r->stage[i].found.r[k];

			if (one->kind != CK_FIND)
				continue;
			fprintf(f, "# %s %s\n", one->name, one->text);
			at = strstr(one->text, LINE);
			if (at != NULL)
				fprintf(f, "%s\n", at + strlen(LINE));
			n += at != NULL;
		}
	fprintf(f, "# %u differ from what the driver assumes\n", n);
}
