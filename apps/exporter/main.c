/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-exporter: metrics of DPDK processes for Prometheus; see docs/metrics.md. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/where.h"
#include "lib/metrics/text.h"
#include "http.h"

#define EXIT_USAGE 2
#define LISTEN "127.0.0.1:9717"

static const char usage[] =
	"usage: triplane-exporter [OPTION...]\n"
	"Serves what the telemetry of DPDK processes tells as metrics for Prometheus, at /metrics.\n"
	"  --listen ADDRESS     ADDRESS:PORT, or the path of a Unix socket; may be repeated (" LISTEN ")\n" WHERE_USAGE
	"  --no-xstats          only the extended statistics that have a family of their own\n"
	"  --once               prints the metrics and ends\n"
	"  --openmetrics        prints them in the format of OpenMetrics\n"
	"  --help               shows this text\n"
	"  --version            shows the version\n";

struct exporter {
	struct metrics_where where;
	const char *listen[HTTP_LISTENERS];
	unsigned int num_listen;
	bool once, openmetrics;
};

static volatile int stop;

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int refuse(int ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
refuse(int ret, const char *fmt, ...)
{
	va_list ap;

	fputs("triplane-exporter: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return ret;
}

/* 0, or a negative errno. */
static int
collect(const struct exporter *e, FILE *f, bool openmetrics)
{
	struct metrics *p = calloc(METRICS_PROCESSES, sizeof(*p));
	int n = p == NULL ? -ENOMEM : metrics_collect(&e->where, p), i, ret = n;

	if (n >= 0)
		ret = metrics_write(f, p, (unsigned int)n, openmetrics);
	for (i = 0; i < n; i++)
		metrics_free(&p[i]);
	free(p);
	return ret;
}

static void
metrics_page(const struct exporter *e, const struct http_request *r, struct http_answer *a)
{
	FILE *f = open_memstream(&a->body, &a->len);
	int ret = f == NULL ? -ENOMEM : collect(e, f, r->openmetrics);

	if (f != NULL && fclose(f) != 0 && ret == 0)
		ret = -ENOMEM;
	a->type = r->openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				 : "text/plain; version=0.0.4; charset=utf-8";
	if (ret != 0) {
		free(a->body);
		*a = (struct http_answer){.status = 500};
	}
}

static void
answer(void *arg, const struct http_request *r, struct http_answer *a)
{
	static const char index[] =
		"<!DOCTYPE html><title>triplane-exporter</title><p><a href=\"/metrics\">metrics</a></p>\n";

	if (strcmp(r->path, "/metrics") == 0) {
		metrics_page(arg, r, a);
	} else if (strcmp(r->path, "/") == 0) {
		a->type = "text/html; charset=utf-8";
		a->body = strdup(index);
		a->len = sizeof(index) - 1;
		if (a->body == NULL)
			*a = (struct http_answer){.status = 500};
	} else {
		a->status = 404;
	}
}

static int
serve(struct exporter *e)
{
	const struct sigaction sa = {.sa_handler = on_signal};
	struct http *h = http_new(answer, e);
	char err[512];
	unsigned int i;
	int ret = 0;

	if (h == NULL)
		return refuse(EXIT_FAILURE, "no memory");
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (e->num_listen == 0)
		e->listen[e->num_listen++] = LISTEN;
	for (i = 0; i < e->num_listen && ret == 0; i++)
		if (http_listen(h, e->listen[i], err, sizeof(err)) != 0)
			ret = refuse(EXIT_FAILURE, "--listen: %s", err);
	if (ret == 0)
		http_run(h, &stop);
	http_free(h);
	return ret;
}

enum { OPT_LISTEN = 256, OPT_ONCE, OPT_OPENMETRICS, OPT_NO_XSTATS, OPT_VERSION };

static int
option(struct exporter *e, int c, const char *arg)
{
	char err[WHERE_ERR];

	switch (c) {
	case OPT_LISTEN:
		if (e->num_listen == HTTP_LISTENERS)
			return refuse(EXIT_USAGE, "--listen: '%s' is one too many, at most %u", arg, HTTP_LISTENERS);
		e->listen[e->num_listen++] = arg;
		return 0;
	case OPT_ONCE: e->once = true; return 0;
	case OPT_OPENMETRICS: e->openmetrics = true; return 0;
	case OPT_NO_XSTATS: e->where.xstats = false; return 0;
	default:
		if (!where_is_option(c))
			return refuse(EXIT_USAGE, "wrong arguments; see triplane-exporter --help");
		return where_option(&e->where, c, arg, err) == 0 ? 0 : refuse(EXIT_USAGE, "%s", err);
	}
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {WHERE_OPTIONS,
					      {"listen", required_argument, NULL, OPT_LISTEN},
					      {"once", no_argument, NULL, OPT_ONCE},
					      {"openmetrics", no_argument, NULL, OPT_OPENMETRICS},
					      {"no-xstats", no_argument, NULL, OPT_NO_XSTATS},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, OPT_VERSION},
					      {NULL, 0, NULL, 0}};
	struct exporter e = {.where = {.timeout_ms = WHERE_TIMEOUT_MS, .xstats = true}};
	int c, ret = 0;

	while (ret == 0 && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		}
		if (c == OPT_VERSION) {
			printf("triplane-exporter %s\n", TRIPLANE_VERSION);
			return EXIT_SUCCESS;
		}
		ret = option(&e, c, optarg);
	}
	if (ret == 0 && optind < argc)
		ret = refuse(EXIT_USAGE, "'%s' is no argument; see triplane-exporter --help", argv[optind]);
	if (ret == 0 && e.openmetrics && !e.once)
		ret = refuse(EXIT_USAGE, "--openmetrics goes with --once; who asks by HTTP says what it accepts");
	if (ret != 0)
		return ret;
	where_done(&e.where);
	if (!e.once)
		return serve(&e);
	ret = collect(&e, stdout, e.openmetrics);
	if (fflush(stdout) != 0 && ret == 0)
		ret = -errno;
	return ret == 0 ? EXIT_SUCCESS : refuse(EXIT_FAILURE, "metrics: %s", strerror(-ret));
}
