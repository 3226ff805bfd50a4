/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The picture of a run: rates of the flows above, then the fullest queues, then pauses, over one axis of time. */
#include <string.h>

#include "apps/common/plot.h"
#include "result.h"

#define WIDTH 860
#define LEFT 60.0
#define PLOT_W 660.0
#define PLOT_H 220.0
#define TOP 46.0
#define GAP 56.0
#define MAX_LINES 12u
#define MAX_POINTS 660u

/* Told apart by people who see few colours. */
static const char *const colours[MAX_LINES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
					       "#999933", "#882255", "#44aa99", "#332288", "#aa4499", "#666666"};

struct plot {
	FILE *out;
	const struct sim *m;
	double y, max;
	const char *title;
};

static void
axes(const struct plot *p)
{
	double ms = (double)p->m->s->time_ns / 1e6;

	fprintf(p->out, "<text x=\"%g\" y=\"%g\" class=\"t\">%s</text>\n", LEFT, p->y - 8, p->title);
	for (unsigned int i = 0; i <= 5; i++) {
		double y = p->y + PLOT_H - PLOT_H * i / 5, x = LEFT + PLOT_W * i / 5;

		fprintf(p->out,
			"<path d=\"M%g %gh%g\" class=\"g\"/><text x=\"%g\" y=\"%g\" class=\"r\">%g</text>"
			"<text x=\"%g\" y=\"%g\" class=\"m\">%g</text>\n",
			LEFT, y, PLOT_W, LEFT - 6, y + 4, p->max * i / 5, x, p->y + PLOT_H + 16, ms * i / 5);
	}
}

static void
line(const struct plot *p, const float *v, double scale, unsigned int n, const char *name)
{
	uint32_t num = p->m->sampled, step = (num + MAX_POINTS - 1) / MAX_POINTS;

	fprintf(p->out, "<polyline class=\"l\" stroke=\"%s\" points=\"", colours[n]);
	for (uint32_t i = 0; i < num; i += step) {
		double y = (double)v[i] * scale;

		fprintf(p->out, "%.1f,%.1f ", LEFT + PLOT_W * (i + 1) / num,
			p->y + PLOT_H - PLOT_H * (y < p->max ? y : p->max) / p->max);
	}
	fprintf(p->out, "\"/>\n<path d=\"M%g %gh16\" class=\"l\" stroke=\"%s\"/><text x=\"%g\" y=\"%g\">%s</text>\n",
		LEFT + PLOT_W + 12, p->y + 8 + 17 * n, colours[n], LEFT + PLOT_W + 34, p->y + 12 + 17 * n, name);
}

static double
most(const float *v, uint32_t n)
{
	double max = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((double)v[i] > max)
			max = (double)v[i];
	return max;
}

void
result_svg(const struct sim *m, const char *name, FILE *out)
{
	struct plot p = {.out = out, .m = m, .y = TOP, .title = "goodput of each flow, Gb/s, over ms"};
	uint32_t port[4], n = result_busiest(m, port, 4),
			  flows = m->s->num_flows < MAX_LINES ? m->s->num_flows : MAX_LINES;
	char text[2 * SCENE_NAME + 4];

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%g\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<style>rect{fill:#fff}text{fill:#222}.t{font-weight:bold}.r{text-anchor:end}"
		".m{text-anchor:middle}.g{stroke:#ddd}.l{fill:none;stroke-width:1.5}@media(prefers-color-scheme:dark)"
		"{rect{fill:#16181c}text{fill:#ddd}.g{stroke:#444}}</style>\n<rect width=\"100%%\" height=\"100%%\"/>\n"
		"<text x=\"%g\" y=\"18\" class=\"t\">%s</text>\n",
		WIDTH, TOP + 3 * PLOT_H + 2 * GAP + 30, LEFT, name);
	for (uint32_t i = 0; i < flows; i++)
		p.max = most(m->flow[i].goodput, m->sampled) > p.max ? most(m->flow[i].goodput, m->sampled) : p.max;
	p.max = plot_round_up(p.max);
	axes(&p);
	for (uint32_t i = 0; i < flows; i++)
		line(&p, m->flow[i].goodput, 1, i, m->flow[i].f->name);
	p = (struct plot){
		.out = out, .m = m, .y = TOP + PLOT_H + GAP, .title = "what waits at the fullest ports, KB, over ms"};
	for (uint32_t i = 0; i < n; i++)
		p.max = most(m->port[port[i]].series, m->sampled) / 1e3 > p.max
				? most(m->port[port[i]].series, m->sampled) / 1e3
				: p.max;
	p.max = plot_round_up(p.max);
	axes(&p);
	for (uint32_t i = 0; i < n; i++) {
		result_port_name(m, port[i], text);
		/* The name's arrow is a mark of XML. */
		if (strchr(text, '>') != NULL)
			memmove(strchr(text, '>'), strchr(text, '>') + 1, strlen(strchr(text, '>')));
		line(&p, m->port[port[i]].series, 1e-3, i, text);
	}
	p = (struct plot){.out = out,
			  .m = m,
			  .y = TOP + 2 * (PLOT_H + GAP),
			  .max = plot_round_up(most(m->pauses, m->sampled)),
			  .title = "pause frames of all switches by sample, over ms"};
	axes(&p);
	line(&p, m->pauses, 1, 0, "pauses");
	fprintf(out, "</svg>\n");
}
