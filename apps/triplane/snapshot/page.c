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

static const char style[] =
	":root{color-scheme:light "
	"dark;--ink:#1c2126;--soft:#5b6670;--line:#d9dfe4;--paper:#fff;--band:#f4f6f8;--mark:#0b62a8;"
	"--warn:#a33c00}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#98a4ae;--line:#333c44;--paper:#14181c;--band:#"
	"1c2228;"
	"--mark:#6db7f2;--warn:#ffab70}}"
	"*{box-sizing:border-box}body{margin:0 "
	"auto;max-width:76rem;padding:1.5rem;background:var(--paper);color:var(--ink);"
	"font:15px/1.45 system-ui,sans-serif}h1{font-size:1.5rem;margin:0}header p{color:var(--soft);margin:.2rem 0 "
	"1rem}"
	"nav a{margin-right:.9rem;white-space:nowrap}a{color:var(--mark)}"
	"h2,summary{font-size:1.12rem;font-weight:600;margin:1.6rem 0 .5rem}summary{cursor:pointer}"
	"h3{font-size:1rem;margin:1rem 0 .3rem}h4{font-size:.92rem;color:var(--soft);margin:.7rem 0 .2rem}"
	".block{margin-left:.2rem;padding-left:.8rem;border-left:2px solid var(--line)}"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.2rem 0 .6rem}"
	"th,td{text-align:left;padding:.16rem .7rem .16rem 0;vertical-align:top;border-bottom:1px solid var(--line)}"
	"th{font-weight:500;color:var(--soft)}td.n{text-align:right}"
	".kv th{white-space:nowrap;width:1%}.kv td,.kv td.n{text-align:left;overflow-wrap:anywhere}"
	".many{columns:24rem auto}.many table{width:100%}"
	"tr.zero{color:var(--soft)}.none{color:var(--soft)}.warn{color:var(--warn);font-weight:600}"
	".plots{display:flex;flex-wrap:wrap;gap:1rem}"
	".plot{margin:0;width:17rem;position:relative}.plot figcaption{font-size:.85rem;color:var(--soft)}"
	".plot figcaption span{float:right}.plot b{color:var(--ink);font-variant-numeric:tabular-nums}"
	".plot svg{width:100%;height:4rem;background:var(--band);display:block}"
	".plot polyline{fill:none;stroke:var(--mark);stroke-width:1.5;vector-effect:non-scaling-stroke}"
	".axis{font-size:.72rem;color:var(--soft)}.axis.now{float:right}"
	"@media "
	"print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--band:#f2f2f2;--mark:#000;"
	"--warn:#000}body{max-width:none;padding:0;font-size:9.5pt}nav{display:none}h2,h3,h4{break-after:avoid}"
	"tr,figure{break-inside:avoid}details::details-content{content-visibility:visible;height:auto}}";

void
snapshot_text(FILE *f, const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		switch (s[i]) {
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '&': fputs("&amp;", f); break;
		case '"': fputs("&quot;", f); break;
		default: fputc(s[i], f);
		}
	}
}

static void
words(FILE *f, const char *key)
{
	for (; *key != '\0'; key++)
		snapshot_text(f, *key == '_' ? " " : key, 1);
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
	default: snapshot_text(f, v->text, v->len);
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
	snapshot_text(f, path, strlen(path));
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
			snapshot_text(f, v->key, strlen(v->key));
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
		snapshot_text(f, why, strlen(why));
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
	unsigned int i;
	size_t k;

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" "
	      "href=\"data:,\">"
	      "<title>Triplane on ",
	      f);
	snapshot_text(f, host, strlen(host));
	fprintf(f, "</title><style>%s</style></head><body>\n<header><h1>Triplane on ", style);
	snapshot_text(f, host, strlen(host));
	fprintf(f, "</h1><p>Snapshot of %s, triplane %s</p><nav>", made, mj_text(doc, "version", ""));
	for (i = 0; i < snapshot_num_parts; i++)
		fprintf(f, "<a href=\"#%s\">%s</a> ", snapshot_parts[i].name, snapshot_parts[i].title);
	fputs("</nav></header>\n", f);
	for (i = 0; i < snapshot_num_parts; i++)
		part(f, doc, &snapshot_parts[i]);
	/* For programs. Only strings of JSON can have these, where they may be written so, too. */
	fputs("<script type=\"application/json\" id=\"snapshot\">", f);
	for (k = 0; k < len; k++) {
		if (text[k] == '<' || text[k] == '>' || text[k] == '&')
			fprintf(f, "\\u%04x", (unsigned int)text[k]);
		else
			fputc(text[k], f);
	}
	fputs("</script>\n</body></html>\n", f);
}
