/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* tp_sockstat: what programs of sockets on shared ports do, by their own counters; see docs/sockets.md. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sockstat.h"

#define EXIT_USAGE 2

static const char usage[] = "usage: tp_sockstat [OPTION...]\n"
			    "Shows the sockets of programs that triplane-run --sockets started: what went by a port "
			    "and what by the operating system.\n"
			    "  --pid PID            of this process alone\n"
			    "  --interval SECONDS   shows changes, again and again, 0.1..3600\n"
			    "  --times N            so often, 1..1000000 (without an end)\n"
			    "  --zero               counts from 0 on from now, for all who look\n"
			    "  --json               one object a look\n"
			    "  --help               shows this text\n"
			    "  --version            shows the version\n";

static volatile sig_atomic_t ended;

static void
on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int refuse(int ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
refuse(int ret, const char *fmt, ...)
{
	va_list ap;

	fputs("tp_sockstat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return ret;
}

static bool
number(const char *text, double min, double max, double *v)
{
	char *end;

	errno = 0;
	*v = strtod(text, &end);
	return errno == 0 && end != text && *end == '\0' && *v >= min && *v <= max;
}

static int
parse(int argc, char **argv, struct options *o)
{
	static const struct option list[] = {
		{"pid", 1, NULL, 'p'},  {"interval", 1, NULL, 'i'}, {"times", 1, NULL, 'n'},   {"zero", 0, NULL, 'z'},
		{"json", 0, NULL, 'j'}, {"help", 0, NULL, 'h'},     {"version", 0, NULL, 'V'}, {NULL, 0, NULL, 0}};
	double v;
	int c;

	while ((c = getopt_long(argc, argv, "", list, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!number(optarg, 1, 4194304, &v) || v != (int)v)
				return refuse(EXIT_USAGE, "--pid: '%s', want 1..4194304", optarg);
			o->pid = (int)v;
			break;
		case 'i':
			if (!number(optarg, 0.1, 3600, &o->interval))
				return refuse(EXIT_USAGE, "--interval: '%s', want 0.1..3600", optarg);
			break;
		case 'n':
			if (!number(optarg, 1, 1000000, &v) || v != (int)v)
				return refuse(EXIT_USAGE, "--times: '%s', want 1..1000000", optarg);
			o->times = (int)v;
			break;
		case 'z': o->zero = true; break;
		case 'j': o->json = true; break;
		case 'h': fputs(usage, stdout); return -1;
		case 'V': puts("tp_sockstat " TRIPLANE_VERSION); return -1;
		default: return refuse(EXIT_USAGE, "want what tp_sockstat --help names");
		}
	}
	if (optind < argc)
		return refuse(EXIT_USAGE, "'%s', want no such word", argv[optind]);
	if (o->times != 0 && o->interval == 0)
		return refuse(EXIT_USAGE, "--times: want --interval, too");
	return 0;
}

static void
nap(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	sigset_t ends, was;

	/* No signal comes between the look for it and the sleep. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &ends, &was);
	if (!ended)
		(void)ppoll(NULL, 0, &t, &was);
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
}

/* Looks once. False: a program that was asked for is not there. */
static bool
look(const struct options *o, struct programs *before)
{
	struct programs now = {0};

	programs_read(o->pid, &now);
	if (o->zero)
		programs_zero(&now);
	else
		show(o, &now, o->interval != 0 ? before : NULL);
	programs_free(before);
	*before = now;
	return o->pid == 0 || now.num != 0;
}

int
main(int argc, char **argv)
{
	struct programs before = {0};
	struct options o = {0};
	const struct sigaction a = {.sa_handler = on_signal};
	int rc = parse(argc, argv, &o), done = 0;

	if (rc != 0)
		return rc < 0 ? 0 : rc;
	(void)sigaction(SIGINT, &a, NULL);
	(void)sigaction(SIGTERM, &a, NULL);
	/* What changes is counted from here on. */
	if (o.interval != 0 && !o.zero)
		programs_read(o.pid, &before);
	do {
		if (o.interval != 0 && !o.zero)
			nap(o.interval);
		if (ended)
			break;
		if (!look(&o, &before))
			rc = refuse(1, "process %d has no sockets that can be looked at: %s", o.pid,
				    geteuid() == 0 ? "want one that triplane-run --sockets started"
						   : "want one of this user that triplane-run --sockets started");
		done++;
	} while (rc == 0 && !ended && !o.zero && o.interval != 0 && (o.times == 0 || done < o.times));
	programs_free(&before);
	return rc;
}
