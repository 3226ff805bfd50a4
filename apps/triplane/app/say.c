/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the program says and hears: messages, its event log, signals, and who has control. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "app.h"

#define EVENT_MAX 3072 /* what is longer is cut */

RTE_LOG_REGISTER(app_logtype, triplane.settings, NOTICE);

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static __thread bool holds;
static atomic_int interrupts, terminated;
/* What it says is a sleeper's to hear, however short before its sleep a signal comes, and whichever thread that one stops. */
static int signal_fd = -1;

static void
on_signal(int sig)
{
	const uint64_t one = 1;
	const int was = errno;

	if (sig != SIGINT)
		terminated = 1;
	else if (interrupts < 2)
		interrupts++;
	if (write(signal_fd, &one, sizeof(one)) < 0)
		errno = was; /* it says so already */
}

/* Before what was said is looked at. */
static void
heard(void)
{
	uint64_t count;

	if (read(signal_fd, &count, sizeof(count)) < 0)
		return; /* nothing was said */
}

void
app_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

bool
app_stopping(const struct app *app)
{
	return app->quit || terminated != 0 || interrupts != 0;
}

bool
app_resume(const struct app *app)
{
	int one = 1;

	if (app->quit || terminated != 0 || interrupts != 1)
		return false;
	heard();
	return atomic_compare_exchange_strong(&interrupts, &one, 0);
}

void
app_control_take(void)
{
	pthread_mutex_lock(&control);
	holds = true;
}

bool
app_control_give(void)
{
	const bool had = holds;

	holds = false;
	if (had)
		pthread_mutex_unlock(&control);
	return had;
}

bool
app_control_ask(unsigned int seconds)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += seconds;
	holds = pthread_mutex_timedlock(&control, &end) == 0;
	return holds;
}

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool
app_sleep_ms(const struct app *app, unsigned int ms)
{
	struct pollfd p = {.fd = signal_fd, .events = POLLIN};
	const uint64_t end = now_ms() + ms;
	const bool had = app_control_give();
	uint64_t now;

	while (!app_stopping(app) && (now = now_ms()) < end)
		if (poll(&p, 1, (int)RTE_MIN(end - now, (uint64_t)INT_MAX)) > 0 && !app_stopping(app))
			heard();
	if (had)
		app_control_take();
	return !app_stopping(app);
}

/* Where this thread's errors go instead, NULL: to stderr. */
static __thread char *caught;
static __thread size_t caught_len;

void
app_err_catch(char *text, size_t len)
{
	caught = text;
	caught_len = len;
	if (text != NULL)
		text[0] = '\0';
}

void
app_err_line(const char *fmt, ...)
{
	const int kept = errno; /* the value of app_err may be -errno, which is read after this */
	va_list ap;

	if (caught != NULL) {
		va_start(ap, fmt);
		vsnprintf(caught, caught_len, fmt, ap);
		va_end(ap);
		errno = kept;
		return;
	}
	fflush(stdout);
	flockfile(stderr); /* another thread's line comes before or after it, not in between */
	fputs("error: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	funlockfile(stderr);
	errno = kept;
}

void
app_say(const struct app *app, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(app->json ? stderr : stdout, fmt, ap);
	va_end(ap);
	fflush(app->json ? stderr : stdout);
}

void
app_event(const char *event, const char *fmt, ...)
{
	char text[EVENT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rte_log(RTE_LOG_NOTICE, (uint32_t)app_logtype, "triplane: [%s] %s\n", event, text);
}
