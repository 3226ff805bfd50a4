/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the program says and hears: messages, its event log, signals, and who has control. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include <rte_log.h>

#include "app.h"

#define EVENT_MAX 3072 /* what is longer is cut */

RTE_LOG_REGISTER(app_logtype, triplane.settings, NOTICE);

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static __thread bool holds;
static volatile sig_atomic_t interrupts, terminated;

static void
on_signal(int sig)
{
	if (sig == SIGINT && interrupts < 2)
		interrupts = interrupts + 1;
	else if (sig != SIGINT)
		terminated = 1;
}

void
app_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

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
	if (app->quit || terminated != 0 || interrupts != 1)
		return false;
	interrupts = 0;
	return true;
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

bool
app_sleep_ms(const struct app *app, unsigned int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	const bool had = app_control_give();

	while (!app_stopping(app) && nanosleep(&t, &t) != 0)
		;
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
