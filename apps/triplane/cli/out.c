/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "out.h"

/* The array that documents are elements of, NULL: none; and whether it has one. */
static FILE *all;
static bool some;

static void
json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void
start_member(struct out *o, const char *key)
{
	if (o->json) {
		if (!o->first[o->depth])
			fputc(',', o->f);
		o->first[o->depth] = false;
		if (key != NULL) {
			json_string(o->f, key);
			fputc(':', o->f);
		}
		return;
	}
	fprintf(o->f, "%*s", 2 * (int)o->indent, "");
	if (key != NULL)
		fprintf(o->f, "%s:", key);
}

static void
enter(struct out *o, bool array)
{
	assert(o->depth + 1 < OUT_MAX_DEPTH);
	o->depth++;
	o->first[o->depth] = true;
	o->array[o->depth] = array;
	if (!array)
		o->indent++;
	if (o->json)
		fputc(array ? '[' : '{', o->f);
}

void
out_array_begin(FILE *f)
{
	all = f;
	some = false;
}

void
out_array_end(void)
{
	if (all == NULL)
		return;
	fputs(some ? "]\n" : "[]\n", all);
	fflush(all);
	all = NULL;
}

void
out_init(struct out *o, FILE *f, bool json)
{
	if (json && f == all) {
		fputc(some ? ',' : '[', f);
		some = true;
	}
	o->f = f;
	o->json = json;
	o->depth = 0;
	o->indent = 0;
	enter(o, false);
	o->indent = 0;
}

void
out_done(struct out *o)
{
	if (o->json)
		fputs("}\n", o->f);
	fflush(o->f);
}

void
out_object(struct out *o, const char *key)
{
	start_member(o, key);
	if (!o->json)
		fputc('\n', o->f);
	enter(o, false);
}

void
out_array(struct out *o, const char *key)
{
	if (o->json)
		start_member(o, key);
	enter(o, true);
}

void
out_item(struct out *o, const char *label, uint64_t num)
{
	start_member(o, NULL);
	if (!o->json)
		fprintf(o->f, "%s %" PRIu64 ":\n", label, num);
	enter(o, false);
	if (o->json)
		out_u64(o, label, num);
}

void
out_end(struct out *o)
{
	bool array = o->array[o->depth];

	if (o->json)
		fputc(array ? ']' : '}', o->f);
	if (!array)
		o->indent--;
	o->depth--;
}

static void
text(struct out *o, const char *key, const char *value)
{
	start_member(o, key);
	if (o->json)
		fputs(value, o->f);
	else
		fprintf(o->f, "%s%s\n", key == NULL ? "" : " ", value);
}

void
out_u64(struct out *o, const char *key, uint64_t v)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRIu64, v);
	text(o, key, buf);
}

void
out_hex(struct out *o, const char *key, uint64_t v, int digits)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "0x%0*" PRIx64, digits, v);
	out_str(o, key, buf);
}

/* JSON has no infinity and no NaN; a rate over no time is 0. */
void
out_real(struct out *o, const char *key, double v, int decimals)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%.*f", decimals, isfinite(v) ? v : 0.0);
	text(o, key, buf);
}

void
out_bool(struct out *o, const char *key, bool v)
{
	text(o, key, o->json ? (v ? "true" : "false") : (v ? "on" : "off"));
}

void
out_str(struct out *o, const char *key, const char *v)
{
	if (!o->json) {
		text(o, key, v);
		return;
	}
	start_member(o, key);
	json_string(o->f, v);
}

void
out_mac(struct out *o, const char *key, const struct rte_ether_addr *mac)
{
	char buf[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(buf, sizeof(buf), mac);
	out_str(o, key, buf);
}
