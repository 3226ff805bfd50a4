/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include "snapshot.h"

#define WIDTH 300.0
#define HEIGHT 60.0
#define SPAN_S 300.0 /* of the axis, so that all plots can be compared */

static double
of(const struct mj *point, const char *name)
{
	const struct mj *v = mj_get(point, name);

	return v == NULL ? 0 : v->num;
}

void
snapshot_plot(FILE *f, const struct mj *points, const char *series, const char *title)
{
	const struct mj *p, *last = NULL, *most = NULL, *v;
	double max = 0;

	for (p = points->first; p != NULL; p = p->next) {
		v = mj_get(p, series);
		if (v != NULL && (most == NULL || v->num > max)) {
			max = v->num;
			most = v;
		}
		last = v != NULL ? v : last;
	}
	if (last == NULL)
		return;
	fprintf(f, "<figure class=\"plot\" data-series=\"%s\"><figcaption>%s <b>", series, title);
	page_text(f, last->text, last->len);
	fputs("</b> <span>most <b>", f);
	page_text(f, most->text, most->len);
	fprintf(f,
		"</b></span></figcaption><svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"%s\"><polyline points=\"",
		WIDTH, HEIGHT, title);
	for (p = points->first; p != NULL; p = p->next)
		fprintf(f, "%s%.1f,%.1f", p == points->first ? "" : " ", WIDTH * (1 - of(p, "age") / SPAN_S),
			max > 0 ? HEIGHT - 1 - (HEIGHT - 2) * of(p, series) / max : HEIGHT - 1);
	fputs("\"/></svg><span class=\"axis\">5 min ago</span><span class=\"axis now\">now</span></figure>\n", f);
}
