/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What pages of our programs have in common: one file, no script that runs, nothing that is fetched. */
#include "page.h"

#include <string.h>

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
page_text(FILE *f, const char *s, size_t len)
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

void
page_begin(FILE *f, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" "
	      "href=\"data:,\">"
	      "<title>",
	      f);
	page_text(f, title, strlen(title));
	fprintf(f, "</title><style>%s</style></head><body>\n<header><h1>", style);
	page_text(f, title, strlen(title));
	fputs("</h1>", f);
}

void
page_end(FILE *f, const char *id, const char *json, size_t len)
{
	size_t k;

	/* For programs. Only strings of JSON can have these, where they may be written so, too. */
	fprintf(f, "<script type=\"application/json\" id=\"%s\">", id);
	for (k = 0; k < len; k++) {
		if (json[k] == '<' || json[k] == '>' || json[k] == '&')
			fprintf(f, "\\u%04x", (unsigned int)json[k]);
		else
			fputc(json[k], f);
	}
	fputs("</script>\n</body></html>\n", f);
}
