/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-top: a full-screen view of DPDK processes by their telemetry; see docs/metrics.md. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "apps/common/where.h"
#include "top.h"

#define EXIT_USAGE 2
#define WIDTH 80u
#define HEIGHT 24u
#define NS_S 1e9
/* Between the octets of a key of several. */
#define KEY_MS 50

static const char usage[] =
	"usage: triplane-top [OPTION...]\n"
	"Shows what DPDK processes do, by their telemetry: ports, queues, lcores, drops, priorities, "
	"RDMA.\n" WHERE_USAGE "  --interval SECONDS   between two looks, 0.25..3600 (1)\n"
	"  --view NAME          ports, queues, lcores, drops, priorities or rdma at first (ports)\n"
	"  --sort COLUMN        by its name in the head of the table\n"
	"  --reverse            the smallest first\n"
	"  --color WHEN         auto, always or never (auto: on a terminal, unless NO_COLOR is set)\n"
	"  --batch N            prints the table N times as plain text, with rates, and ends\n"
	"  --help               shows this text, and the keys\n"
	"  --version            shows the version\n"
	"Keys: 1..6 and Tab tables, < > and r sort, + - interval, p pause, arrows and pages rows, h help, q end.\n";

static volatile sig_atomic_t ended, resized, stopped, continued;
static struct termios saved;

static void
on_signal(int sig)
{
	switch (sig) {
	case SIGWINCH: resized = 1; break;
	case SIGTSTP: stopped = 1; break;
	case SIGCONT: continued = 1; break;
	default: ended = 1;
	}
}

static int refuse(int ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
refuse(int ret, const char *fmt, ...)
{
	va_list ap;

	fputs("triplane-top: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return ret;
}

/* --- looks ------------------------------------------------------------------------------------------------------------- */

static void
forget(struct look *l)
{
	while (l->num > 0)
		metrics_free(&l->p[--l->num]);
}

static int
look(const struct metrics_where *w, struct looks *l)
{
	struct look *spare = l->before;
	int n;

	forget(spare);
	n = metrics_collect(w, spare->p);
	if (n < 0)
		return n;
	spare->num = (unsigned int)n;
	l->before = l->now;
	l->now = spare;
	return 0;
}

/* --- terminal ---------------------------------------------------------------------------------------------------------- */

static void
enter(void)
{
	struct termios raw = saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	/* The screen that was there comes back at the end. */
	fputs("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J", stdout);
	fflush(stdout);
}

static void
leave(void)
{
	fputs("\x1b[?7h\x1b[?25h\x1b[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

static void
measure(struct screen *s)
{
	struct winsize ws;

	s->width = WIDTH;
	s->height = HEIGHT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col != 0 && ws.ws_row != 0) {
		s->width = ws.ws_col;
		s->height = ws.ws_row;
	}
}

/* As a shell expects of Ctrl-Z. */
static void
suspend(void)
{
	leave();
	stopped = 0;
	raise(SIGSTOP);
	enter();
}

/* What was typed. False: the end is wanted. */
static bool
typed(struct screen *s)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char buf[64];
	size_t len = 0, at = 0, n;
	ssize_t got;
	int key;

	for (;;) {
		got = read(STDIN_FILENO, buf + len, sizeof(buf) - len);
		if (got < 0 && errno == EINTR)
			return true;
		if (got <= 0 && len == at)
			return got == 0 && len != 0; /* nobody is there any more */
		len += got > 0 ? (size_t)got : 0;
		while (at < len) {
			n = screen_read(buf + at, len - at, &key);
			if (n == 0 && got > 0 && len < sizeof(buf) && poll(&p, 1, KEY_MS) > 0)
				break;
			at += n == 0 ? 1 : n;
			if (n != 0 && !screen_key(s, key))
				return false;
		}
		if (at == len)
			return true;
	}
}

/* Until the next look is due. False: the end is wanted. */
static bool
wait(struct screen *s, const struct looks *l, uint64_t due)
{
	const struct timespec second = {.tv_sec = 1};
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec left;
	sigset_t none;
	uint64_t now;
	int n;

	sigemptyset(&none);
	while (!ended) {
		now = tel_now();
		if (now >= due && !s->paused)
			return true;
		left.tv_sec = (time_t)((due - now) / (uint64_t)NS_S);
		left.tv_nsec = (long)((due - now) % (uint64_t)NS_S);
		n = ppoll(&p, 1, s->paused ? &second : &left, &none);
		if (n > 0 && !typed(s))
			return false;
		if (stopped)
			suspend();
		if (resized || continued) {
			resized = continued = 0;
			measure(s);
		}
		if (n != 0)
			screen_draw(stdout, s, l);
	}
	return false;
}

static int
interact(const struct metrics_where *w, struct screen *s, struct looks *l)
{
	const struct sigaction sa = {.sa_handler = on_signal};
	const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
	sigset_t block;
	uint64_t due;
	unsigned int i;
	int ret;

	if (tcgetattr(STDIN_FILENO, &saved) != 0 || !isatty(STDOUT_FILENO))
		return refuse(EXIT_FAILURE, "this is no terminal; --batch N prints plain text");
	/* They come while it waits, and at no other time. */
	sigemptyset(&block);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
		sigaddset(&block, caught[i]);
		sigaction(caught[i], &sa, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, NULL);
	measure(s);
	enter();
	do {
		ret = look(w, l);
		screen_draw(stdout, s, l);
		due = tel_now() + (uint64_t)((l->before->num == 0 ? fmin(s->interval, 1) : s->interval) * NS_S);
	} while (ret == 0 && wait(s, l, due));
	leave();
	return ret == 0 ? EXIT_SUCCESS : refuse(EXIT_FAILURE, "%s", strerror(-ret));
}

static int
batch(const struct metrics_where *w, struct screen *s, struct looks *l, unsigned long times)
{
	int ret = look(w, l);
	const char *columns = getenv("COLUMNS");
	const int n = columns == NULL ? 0 : atoi(columns);

	s->width = n > 0 && n < 1000 ? (unsigned int)n : 160;
	s->height = 0;
	for (; ret == 0 && times > 0; times--) {
		usleep((useconds_t)(s->interval * 1e6));
		ret = look(w, l);
		if (ret == 0)
			screen_draw(stdout, s, l);
		if (ferror(stdout))
			ret = -EIO;
	}
	return ret == 0 ? EXIT_SUCCESS : refuse(EXIT_FAILURE, "%s", strerror(-ret));
}

/* --- arguments --------------------------------------------------------------------------------------------------------- */

struct options {
	struct metrics_where where;
	struct screen screen;
	const char *sort;
	unsigned long batch;
};

enum { OPT_INTERVAL = 256, OPT_VIEW, OPT_SORT, OPT_REVERSE, OPT_COLOR, OPT_BATCH, OPT_VERSION };

static int
set_view(struct screen *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < top_num_views; i++) {
		if (strcmp(top_views[i].name, name) == 0) {
			s->view = &top_views[i];
			return 0;
		}
	}
	return refuse(EXIT_USAGE, "--view: '%s' is not one of ports, queues, lcores, drops, priorities, rdma", name);
}

static int
set_sort(struct screen *s, const char *name)
{
	char known[512] = "";
	unsigned int i;
	size_t n;

	s->sort = s->view->sort;
	if (name == NULL)
		return 0;
	for (i = 0; i < s->view->num_columns; i++) {
		if (strcmp(s->view->column[i].name, name) == 0) {
			s->sort = i;
			return 0;
		}
		n = strlen(known);
		snprintf(known + n, sizeof(known) - n, "%s%s", n == 0 ? "" : ", ", s->view->column[i].name);
	}
	return refuse(EXIT_USAGE, "--sort: '%s' is not one of the columns of %s: %s", name, s->view->name, known);
}

static int
set_color(struct screen *s, const char *when)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (strcmp(when, "auto") == 0)
		s->colour = isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && term != NULL &&
			    strcmp(term, "dumb") != 0;
	else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
		s->colour = when[0] == 'a';
	else
		return refuse(EXIT_USAGE, "--color: '%s' is not one of auto, always, never", when);
	return 0;
}

static int
option(struct options *o, int c, const char *arg)
{
	char err[WHERE_ERR], *end;
	double v;

	switch (c) {
	case OPT_INTERVAL:
		v = strtod(arg, &end);
		if (end == arg || *end != '\0' || !(v >= 0.25 && v <= 3600))
			return refuse(EXIT_USAGE, "--interval: '%s' is not a number in 0.25..3600", arg);
		o->screen.interval = v;
		return 0;
	case OPT_BATCH:
		o->batch = arg[0] < '0' || arg[0] > '9' ? 0 : strtoul(arg, &end, 10);
		if (o->batch == 0 || o->batch > 1000000 || *end != '\0')
			return refuse(EXIT_USAGE, "--batch: '%s' is not a number in 1..1000000", arg);
		return 0;
	case OPT_VIEW: return set_view(&o->screen, arg);
	case OPT_SORT: o->sort = arg; return 0;
	case OPT_REVERSE: o->screen.reverse = true; return 0;
	case OPT_COLOR: return set_color(&o->screen, arg);
	default:
		if (!where_is_option(c))
			return refuse(EXIT_USAGE, "wrong arguments; see triplane-top --help");
		return where_option(&o->where, c, arg, err) == 0 ? 0 : refuse(EXIT_USAGE, "%s", err);
	}
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {WHERE_OPTIONS,
					      {"interval", required_argument, NULL, OPT_INTERVAL},
					      {"view", required_argument, NULL, OPT_VIEW},
					      {"sort", required_argument, NULL, OPT_SORT},
					      {"reverse", no_argument, NULL, OPT_REVERSE},
					      {"color", required_argument, NULL, OPT_COLOR},
					      {"batch", required_argument, NULL, OPT_BATCH},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, OPT_VERSION},
					      {NULL, 0, NULL, 0}};
	struct options o = {.where = {.timeout_ms = WHERE_TIMEOUT_MS}, .screen = {.view = top_views, .interval = 1}};
	static struct look two[2];
	struct looks l = {&two[0], &two[1]};
	int c, ret = set_color(&o.screen, "auto");

	while (ret == 0 && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		}
		if (c == OPT_VERSION) {
			printf("triplane-top %s\n", TRIPLANE_VERSION);
			return EXIT_SUCCESS;
		}
		ret = option(&o, c, optarg);
	}
	if (ret == 0 && optind < argc)
		ret = refuse(EXIT_USAGE, "'%s' is no argument; see triplane-top --help", argv[optind]);
	if (ret == 0)
		ret = set_sort(&o.screen, o.sort);
	where_done(&o.where);
	if (ret == 0)
		ret = o.batch != 0 ? batch(&o.where, &o.screen, &l, o.batch) : interact(&o.where, &o.screen, &l);
	forget(l.now);
	forget(l.before);
	return ret;
}
