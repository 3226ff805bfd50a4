/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A document of JSON as a page. Members that are single values become a table of two columns, lists of objects one with a column
 * for each member. Each value has its place in the document beside it (data-at, a JSON pointer of RFC 6901).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

#define COLUMNS 24u /* a list of objects with more members becomes blocks */
#define PATH_LEN 512u

static void
words(FILE *f, const char *key)
{
	for (; *key != '\0'; key++)
		page_text(f, *key == '_' ? " " : key, 1);
}

static bool
single(const struct mj *v)
{
	return v->kind != MJ_ARRAY && v->kind != MJ_OBJECT;
}

/* The path of a member. */
static void
deeper(char to[PATH_LEN], const char *path, const char *key, unsigned int index)
{
	size_t n = (size_t)snprintf(to, PATH_LEN, "%s/", path);

	if (key == NULL) {
		snprintf(to + n, n < PATH_LEN ? PATH_LEN - n : 0, "%u", index);
		return;
	}
	for (; *key != '\0' && n + 3 < PATH_LEN; key++) {
		if (*key == '~' || *key == '/') {
			to[n++] = '~';
			to[n++] = *key == '~' ? '0' : '1';
		} else {
			to[n++] = *key;
		}
	}
	to[n] = '\0';
}

static void
value(FILE *f, const struct mj *v)
{
	switch (v == NULL ? MJ_NULL : v->kind) {
	case MJ_TRUE: fputs("on", f); break;
	case MJ_FALSE: fputs("off", f); break;
	case MJ_NULL: fputs("-", f); break;
	default: page_text(f, v->text, v->len);
	}
}

static void
cell(FILE *f, const struct mj *v, const char *path)
{
	if (v == NULL) {
		fputs("<td></td>", f);
		return;
	}
	fprintf(f, "<td%s data-at=\"", v->kind == MJ_NUMBER ? " class=\"n\"" : "");
	page_text(f, path, strlen(path));
	fputs("\">", f);
	value(f, v);
	fputs("</td>", f);
}

static void block(FILE *f, const struct mj *v, const char *path);

/* The single members of an object, then the others, each below its name. */
static void
object(FILE *f, const struct mj *o, const char *path)
{
	char at[PATH_LEN];
	const struct mj *v;
	unsigned int n = 0;

	for (v = o->first; v != NULL; v = v->next)
		n += single(v);
	if (n != 0) {
		fprintf(f, "<div class=\"%s\"><table class=\"kv\">", n > 12 ? "many" : "wide");
		for (v = o->first; v != NULL; v = v->next) {
			if (!single(v))
				continue;
			deeper(at, path, v->key, 0);
			fputs("<tr><th>", f);
			words(f, v->key);
			fputs("</th>", f);
			cell(f, v, at);
			fputs("</tr>\n", f);
		}
		fputs("</table></div>\n", f);
	}
	for (v = o->first; v != NULL; v = v->next) {
		if (single(v))
			continue;
		deeper(at, path, v->key, 0);
		fputs("<h4>", f);
		words(f, v->key);
		fputs("</h4>", f);
		block(f, v, at);
	}
}

struct head {
	const char *key[COLUMNS];
	unsigned int num;
};

/* The names of members of all objects of a list, which have single values only. False: there are others, or too many. */
static bool
columns(const struct mj *list, struct head *h)
{
	const struct mj *o, *v;
	unsigned int i;

	h->num = 0;
	for (o = list->first; o != NULL; o = o->next) {
		if (o->kind != MJ_OBJECT)
			return false;
		for (v = o->first; v != NULL; v = v->next) {
			if (!single(v))
				return false;
			for (i = 0; i < h->num && strcmp(h->key[i], v->key) != 0; i++)
				;
			if (i == COLUMNS)
				return false;
			if (i == h->num)
				h->key[h->num++] = v->key;
		}
	}
	return true;
}

static void
table(FILE *f, const struct mj *list, const struct head *h, const char *path)
{
	char of[PATH_LEN], at[PATH_LEN];
	unsigned int i, row = 0;
	const struct mj *o;

	fputs("<div class=\"wide\"><table><tr>", f);
	for (i = 0; i < h->num; i++) {
		fputs("<th>", f);
		words(f, h->key[i]);
		fputs("</th>", f);
	}
	fputs("</tr>\n", f);
	for (o = list->first; o != NULL; o = o->next, row++) {
		deeper(of, path, NULL, row);
		fputs("<tr>", f);
		for (i = 0; i < h->num; i++) {
			deeper(at, of, h->key[i], 0);
			cell(f, mj_get(o, h->key[i]), at);
		}
		fputs("</tr>\n", f);
	}
	fputs("</table></div>\n", f);
}

/* A block for each: its first member that is single is its name. */
static void
blocks(FILE *f, const struct mj *list, const char *path)
{
	const struct mj *o, *name;
	unsigned int i = 0;
	char at[PATH_LEN];

	for (o = list->first; o != NULL; o = o->next, i++) {
		deeper(at, path, NULL, i);
		name = o->kind == MJ_OBJECT ? o->first : NULL;
		if (name != NULL && single(name)) {
			fputs("<h3>", f);
			words(f, name->key);
			fputc(' ', f);
			value(f, name);
			fputs("</h3>", f);
		}
		fputs("<div class=\"block\">", f);
		block(f, o, at);
		fputs("</div>\n", f);
	}
}

static void
block(FILE *f, const struct mj *v, const char *path)
{
	const struct mj *m;
	struct head h;

	if (!single(v) && v->first == NULL) {
		fputs("<p class=\"none\">none</p>\n", f);
	} else if (v->kind == MJ_OBJECT) {
		object(f, v, path);
	} else if (v->kind == MJ_ARRAY && single(v->first)) {
		fputs("<p>", f);
		for (m = v->first; m != NULL; m = m->next) {
			if (m != v->first)
				fputs(", ", f);
			if (single(m))
				value(f, m);
		}
		fputs("</p>\n", f);
	} else if (v->kind == MJ_ARRAY && columns(v, &h)) {
		table(f, v, &h, path);
	} else if (v->kind == MJ_ARRAY) {
		blocks(f, v, path);
	} else {
		fputs("<p>", f);
		value(f, v);
		fputs("</p>\n", f);
	}
}

/* Which object, which setting, what it is and what it would be. */
static void
settings_diff(FILE *f, const struct mj *part)
{
	const struct mj *objects = mj_get(part, "objects"), *o, *s, *v;
	static const char *const both[] = {"current", "default"};
	char at[PATH_LEN];
	unsigned int i, n = 0;

	fputs("<div class=\"wide\"><table><tr><th>of</th><th>setting</th><th>in force</th><th>default</th></tr>\n", f);
	for (o = objects == NULL ? NULL : objects->first; o != NULL; o = o->next, n++) {
		s = mj_get(o, "settings");
		for (v = s == NULL ? NULL : s->first; v != NULL; v = v->next) {
			fputs("<tr>", f);
			snprintf(at, sizeof(at), "/settings_diff/objects/%u/object", n);
			/* Its place is that of the first row. */
			if (v == s->first)
				cell(f, mj_get(o, "object"), at);
			else
				fputs("<td></td>", f);
			fputs("<td>", f);
			page_text(f, v->key, strlen(v->key));
			fputs("</td>", f);
			for (i = 0; i < 2; i++) {
				snprintf(at, sizeof(at), "/settings_diff/objects/%u/settings/%s/%s", n, v->key,
					 both[i]);
				cell(f, mj_get(v, both[i]), at);
			}
			fputs("</tr>\n", f);
		}
	}
	fputs("</table></div>\n", f);
	if (n == 0)
		fputs("<p class=\"none\">none: all settings have their defaults</p>\n", f);
}

static void
counters(FILE *f, const struct mj *part)
{
	const struct mj *ports = mj_get(part, "ports"), *p, *list, *c;
	const struct mj *seconds = mj_get(part, "seconds");
	unsigned int port = 0, i;
	char at[PATH_LEN];

	if (seconds != NULL) {
		fputs("<p class=\"none\">Rates are of the last ", f);
		value(f, seconds);
		fputs(" seconds.</p>", f);
	}
	for (p = ports == NULL ? NULL : ports->first; p != NULL; p = p->next, port++) {
		fputs("<h3>port ", f);
		value(f, p->first);
		fputs("</h3><div class=\"many\"><table><tr><th>counter</th><th>value</th><th>a second</th></tr>\n", f);
		list = mj_get(p, "counters");
		for (c = list == NULL ? NULL : list->first, i = 0; c != NULL; c = c->next, i++) {
			const struct mj *v = mj_get(c, "value");

			fprintf(f, "<tr%s><th>", v != NULL && v->num == 0 ? " class=\"zero\"" : "");
			value(f, mj_get(c, "name"));
			fputs("</th>", f);
			snprintf(at, sizeof(at), "/counters/ports/%u/counters/%u/value", port, i);
			cell(f, v, at);
			snprintf(at, sizeof(at), "/counters/ports/%u/counters/%u/per_second", port, i);
			cell(f, mj_get(c, "per_second"), at);
			fputs("</tr>\n", f);
		}
		fputs("</table></div>\n", f);
	}
}

static void
history(FILE *f, const struct mj *part)
{
	static const char *const series[][2] = {{"rx_pps", "rx packets/s"},
						{"tx_pps", "tx packets/s"},
						{"rx_mbps", "rx Mbit/s"},
						{"tx_mbps", "tx Mbit/s"}};
	const struct mj *ports = mj_get(part, "ports"), *p, *points;
	unsigned int i;

	if (ports == NULL || ports->first == NULL)
		fputs("<p class=\"none\">none</p>\n", f);
	for (p = ports == NULL ? NULL : ports->first; p != NULL; p = p->next) {
		fputs("<h3>port ", f);
		value(f, p->first);
		fputs("</h3><div class=\"plots\" data-port=\"", f);
		value(f, p->first);
		fputs("\">\n", f);
		points = mj_get(p, "points");
		for (i = 0; points != NULL && i < RTE_DIM(series); i++)
			snapshot_plot(f, points, series[i][0], series[i][1]);
		fputs("</div>\n", f);
	}
}

static void
part(FILE *f, const struct mj *doc, const struct snapshot_part *part)
{
	const struct mj *v = mj_get(doc, part->name);
	const char *why = mj_text(v, "unavailable", NULL);
	char at[PATH_LEN], below[PATH_LEN];

	if (part->folded)
		fprintf(f, "<details id=\"%s\"><summary>%s</summary>\n", part->name, part->title);
	else
		fprintf(f, "<section id=\"%s\"><h2>%s</h2>\n", part->name, part->title);
	snprintf(at, sizeof(at), "/%s", part->name);
	if (why != NULL) {
		fprintf(f, "<p class=\"none\" data-at=\"/%s/unavailable\">", part->name);
		page_text(f, why, strlen(why));
		fputs("</p>\n", f);
	} else if (strcmp(part->name, "settings_diff") == 0) {
		settings_diff(f, v);
	} else if (strcmp(part->name, "counters") == 0) {
		counters(f, v);
	} else if (strcmp(part->name, "history") == 0) {
		history(f, v);
	} else if (v != NULL && v->kind == MJ_OBJECT && v->len == 1 && v->first->kind == MJ_ARRAY) {
		/* The name of the only member says what the heading says. */
		deeper(below, at, v->first->key, 0);
		block(f, v->first, below);
	} else if (v != NULL) {
		block(f, v, at);
	}
	fputs(part->folded ? "</details>\n" : "</section>\n", f);
}

void
snapshot_page(FILE *f, const struct mj *doc, const char *text, size_t len)
{
	const char *made = mj_text(doc, "made", "");
	const char *host = mj_text(mj_get(doc, "system"), "host", "");
	char title[256];
	unsigned int i;

	snprintf(title, sizeof(title), "Triplane on %.200s", host);
	page_begin(f, title);
	fprintf(f, "<p>Snapshot of %s, triplane %s</p><nav>", made, mj_text(doc, "version", ""));
	for (i = 0; i < snapshot_num_parts; i++)
		fprintf(f, "<a href=\"#%s\">%s</a> ", snapshot_parts[i].name, snapshot_parts[i].title);
	fputs("</nav></header>\n", f);
	for (i = 0; i < snapshot_num_parts; i++)
		part(f, doc, &snapshot_parts[i]);
	page_end(f, "snapshot", text, len);
}
