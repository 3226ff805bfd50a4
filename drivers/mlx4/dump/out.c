/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "out.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define INDENT 2u

/* What stands in front of a value. */
static void
lead(struct mlx4_dump_out *o, const char *key)
{
	fprintf(o->json, "%s\n%*s", o->first[o->depth] ? "" : ",", (int)(o->depth + 1), "");
	o->first[o->depth] = false;
	if (key != NULL)
		fprintf(o->json, "\"%s\": ", key);
	fprintf(o->text, "%*s", (int)(o->indent * INDENT), "");
	if (key != NULL)
		fprintf(o->text, "%s: ", key);
}

static void
enter(struct mlx4_dump_out *o, bool array)
{
	fputc(array ? '[' : '{', o->json);
	o->depth++;
	o->first[o->depth] = true;
	o->array[o->depth] = array;
}

void
mlx4_dump_begin(struct mlx4_dump_out *o)
{
	o->depth = o->indent = 0;
	o->first[0] = true;
	o->array[0] = false;
	o->differences = 0;
	fputc('{', o->json);
}

void
mlx4_dump_done(struct mlx4_dump_out *o)
{
	fputs("\n}\n", o->json);
}

static void
begin(struct mlx4_dump_out *o, const char *key, bool array)
{
	if (o->depth == 0)
		fputc('\n', o->text);
	lead(o, key);
	fputc('\n', o->text);
	enter(o, array);
	o->indent++;
}

void
mlx4_dump_object(struct mlx4_dump_out *o, const char *key)
{
	begin(o, key, false);
}

void
mlx4_dump_array(struct mlx4_dump_out *o, const char *key)
{
	begin(o, key, true);
}

void
mlx4_dump_item(struct mlx4_dump_out *o, const char *label, uint64_t number)
{
	fprintf(o->json, "%s\n%*s{\"%s\": %" PRIu64, o->first[o->depth] ? "" : ",", (int)(o->depth + 1), "", label,
		number);
	fprintf(o->text, "%*s%s %" PRIu64 ":\n", (int)(o->indent * INDENT), "", label, number);
	o->first[o->depth] = false;
	o->depth++;
	o->first[o->depth] = false;
	o->array[o->depth] = false;
	o->indent++;
}

void
mlx4_dump_end(struct mlx4_dump_out *o)
{
	fputc(o->array[o->depth] ? ']' : '}', o->json);
	o->depth--;
	o->indent--;
}

void
mlx4_dump_u64(struct mlx4_dump_out *o, const char *key, uint64_t v)
{
	lead(o, key);
	fprintf(o->json, "%" PRIu64, v);
	fprintf(o->text, "%" PRIu64 "\n", v);
}

void
mlx4_dump_int(struct mlx4_dump_out *o, const char *key, int64_t v)
{
	lead(o, key);
	fprintf(o->json, "%" PRId64, v);
	fprintf(o->text, "%" PRId64 "\n", v);
}

void
mlx4_dump_hex(struct mlx4_dump_out *o, const char *key, uint64_t v)
{
	lead(o, key);
	fprintf(o->json, "\"0x%" PRIx64 "\"", v);
	fprintf(o->text, "0x%" PRIx64 "\n", v);
}

void
mlx4_dump_bool(struct mlx4_dump_out *o, const char *key, bool v)
{
	lead(o, key);
	fputs(v ? "true" : "false", o->json);
	fputs(v ? "yes\n" : "no\n", o->text);
}

static void
quoted(FILE *f, const char *v)
{
	fputc('"', f);
	for (; *v != '\0'; v++) {
		if (*v == '"' || *v == '\\')
			fputc('\\', f);
		if ((unsigned char)*v < 0x20)
			fprintf(f, "\\u%04x", *v);
		else
			fputc(*v, f);
	}
	fputc('"', f);
}

void
mlx4_dump_str(struct mlx4_dump_out *o, const char *key, const char *v)
{
	lead(o, key);
	quoted(o->json, v);
	fprintf(o->text, "%s\n", v);
}

void
mlx4_dump_bytes(struct mlx4_dump_out *o, const char *key, const void *data, size_t len)
{
	const uint8_t *b = data;
	size_t i;

	lead(o, key);
	fputc('"', o->json);
	for (i = 0; i < len; i++) {
		fprintf(o->json, "%02x", b[i]);
		fprintf(o->text, "%s%02x", i != 0 && i % 4 == 0 ? " " : "", b[i]);
	}
	fputc('"', o->json);
	fputc('\n', o->text);
}

void
mlx4_dump_lines(struct mlx4_dump_out *o, const char *key, char *text)
{
	char *line, *next;

	mlx4_dump_array(o, key);
	for (line = text; line != NULL && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		mlx4_dump_str(o, NULL, line);
	}
	mlx4_dump_end(o);
}

void
mlx4_dump_time(struct mlx4_dump_out *o, const char *key, uint64_t us)
{
	time_t s = (time_t)(us / 1000000);
	char day[32], text[64];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06uZ", day, (unsigned int)(us % 1000000));
	mlx4_dump_str(o, key, text);
}

void
mlx4_dump_both(struct mlx4_dump_out *o, const char *key, uint64_t driver, uint64_t card)
{
	lead(o, key);
	fprintf(o->json, "{\"driver\": %" PRIu64 ", \"card\": %" PRIu64 ", \"differs\": %s}", driver, card,
		driver != card ? "true" : "false");
	if (driver == card)
		fprintf(o->text, "%" PRIu64 "\n", driver);
	else
		fprintf(o->text, "driver %" PRIu64 ", card %" PRIu64 "   <-- differs\n", driver, card);
	o->differences += driver != card;
}
