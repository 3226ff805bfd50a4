/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is said of a point that sources leave open. */
#include <stdarg.h>

#include "variants.h"

static void
say(struct variants *s, enum mlx4_quirk_id id, enum ck_kind kind, const char *text)
{
	s->done |= UINT64_C(1) << id;
	ck_say(s->c, kind, mlx4_quirk_get(id)->id, "%s", text);
}

void
variant_found(struct variants *s, enum mlx4_quirk_id id, unsigned int v, const char *sure, const char *fmt, ...)
{
	const struct mlx4_quirk *k = mlx4_quirk_get(id);
	char text[CK_TEXT], why[256], line[32] = "as the driver assumes";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	s->q.v[id] = (uint8_t)v;
	if (v != k->def)
		snprintf(line, sizeof(line), "quirks=%s:%c", k->id, 'a' + (int)v);
	snprintf(text, sizeof(text), "%c, %s: %s; %s; %s", 'a' + (int)v, sure, k->variant[v], why, line);
	say(s, id, CK_FIND, text);
}

void
variant_open(struct variants *s, enum mlx4_quirk_id id, const char *fmt, ...)
{
	char text[CK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(s, id, CK_SKIP, text);
}
