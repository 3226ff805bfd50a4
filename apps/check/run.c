/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Runs the stages, each in a process of its own, and ends the one that does not end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "check.h"

#define GIVE_BACK_S 120u
#define LOG_MOST 400u
#define FOLDERS 4u /* of the processes of a stage */
#define STEP_LEN (CK_TEXT - 128)

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	stopped = sig;
}

/* --- in the process of a stage ------------------------------------------------------------------------------------ */

static void
child(const struct ck_options *o, const struct ck_stage *s, void (*fn)(struct ck *c), int fd, int err, pid_t parent)
{
	struct ck c = {.fd = fd, .o = o, .stage = s};

	/* Not left alone with a card. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	dup2(err, STDERR_FILENO);
	dup2(err, STDOUT_FILENO);
	fn(&c);
	ck_say(&c, CK_DONE, "", "%s", "");
	exit(EXIT_SUCCESS);
}

/* --- in the program ------------------------------------------------------------------------------------------------ */

struct reader {
	int fd;
	char text[CK_NAME + CK_TEXT + 16];
	size_t len;
};

struct stage_run {
	struct ck_report *report;
	struct ck_outcome *out;
	struct reader records, log;
	char step[STEP_LEN], folder[FOLDERS][CK_TEXT];
	unsigned int num_folders;
	bool done;
	bool told; /* to end by itself */
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
learn(struct ck_report *r, const struct ck_record *id)
{
	struct ck_secret s;
	unsigned int i;

	for (i = 0; ck_secret_of(&s, id) && i < CK_SECRETS; i++) {
		if (i == r->num_secrets)
			r->secret[r->num_secrets++] = s;
		if (r->secret[i].len == s.len && memcmp(r->secret[i].octets, s.octets, s.len) == 0)
			return;
	}
}

static void
on_record(struct stage_run *s, const char *line)
{
	struct ck_record r;

	if (ck_record_parse(line, &r) != 0)
		return;
	switch (r.kind) {
	case CK_STEP: snprintf(s->step, sizeof(s->step), "%.*s", (int)sizeof(s->step) - 1, r.text); break;
	case CK_ID: learn(s->report, &r); break;
	case CK_FOLDER:
		if (s->num_folders < FOLDERS)
			strcpy(s->folder[s->num_folders++], r.text);
		break;
	case CK_DONE: s->done = true; break;
	default:
		ck_report_hide(s->report, &r);
		ck_list_add(&s->out->found, &r);
		ck_text_record(stdout, &r);
		fflush(stdout);
	}
}

static void
on_log(struct stage_run *s, const char *line)
{
	struct ck_record r = {.kind = CK_INFO};

	if (line[0] == '\0' || s->out->log.num >= LOG_MOST)
		return;
	snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, line);
	ck_printable(r.text);
	ck_list_add(&s->out->log, &r);
}

/* Whole lines; one that does not fit is cut. False: the end. */
static bool
take(struct stage_run *s, struct reader *r, void (*fn)(struct stage_run *s, const char *line))
{
	ssize_t n = read(r->fd, r->text + r->len, sizeof(r->text) - 1 - r->len);
	char *at, *end;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	r->len += (size_t)n;
	r->text[r->len] = '\0';
	for (at = r->text; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		fn(s, at);
	}
	r->len -= (size_t)(at - r->text);
	memmove(r->text, at, r->len + 1);
	if (r->len == sizeof(r->text) - 1 || (n == 0 && r->len != 0)) {
		fn(s, r->text);
		r->len = 0;
	}
	return n != 0;
}

/* @return false: the time is over, or somebody stopped it */
static bool
listen_to(struct stage_run *s, double until)
{
	bool records = true, log = true;

	while (records || log) {
		struct pollfd p[2] = {{records ? s->records.fd : -1, POLLIN, 0}, {log ? s->log.fd : -1, POLLIN, 0}};
		const double left = until - now();

		if (left <= 0 || (stopped != 0 && !s->told))
			return false;
		if (poll(p, 2, left > 1 ? 1000 : (int)(left * 1000) + 1) <= 0)
			continue;
		if (p[0].revents != 0)
			records = take(s, &s->records, on_record);
		if (p[1].revents != 0)
			log = take(s, &s->log, on_log);
	}
	return true;
}

static void
remove_folder(const char *path)
{
	DIR *d = path[0] != '\0' ? opendir(path) : NULL;
	struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(path);
}

static void
judge_end(struct stage_run *s, int status, bool in_time, unsigned int limit_s)
{
	struct ck_outcome *o = s->out;
	const char *step = s->step[0] != '\0' ? s->step : "begin";

	o->end = CK_END_DIED;
	if (!in_time && stopped != 0) {
		o->end = CK_END_STOPPED;
		snprintf(o->why, sizeof(o->why), "stopped by signal %d at: %s", (int)stopped, step);
	} else if (!in_time) {
		o->end = CK_END_TIMEOUT;
		snprintf(o->why, sizeof(o->why), "not done within %u s, killed at: %s", limit_s, step);
	} else if (WIFSIGNALED(status)) {
		snprintf(o->why, sizeof(o->why), "died of signal %d (%s) at: %s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), step);
	} else if (!s->done || WEXITSTATUS(status) != 0) {
		snprintf(o->why, sizeof(o->why), "exited with %d at: %s", WEXITSTATUS(status), step);
	} else {
		o->end = CK_END_DONE;
	}
}

/* Runs fn in a process, and fills out. */
static void
run_one(struct ck_report *r, struct ck_outcome *out, void (*fn)(struct ck *c), unsigned int limit_s)
{
	struct stage_run s = {.report = r, .out = out};
	int rec[2], log[2], status = 0;
	const double since = now();
	const pid_t self = getpid();
	bool in_time;
	pid_t pid;

	if (pipe2(rec, O_CLOEXEC) != 0) {
		snprintf(out->why, sizeof(out->why), "pipe: %s", strerror(errno));
		out->end = CK_END_DIED;
		return;
	}
	if (pipe2(log, O_CLOEXEC) != 0) {
		snprintf(out->why, sizeof(out->why), "pipe: %s", strerror(errno));
		out->end = CK_END_DIED;
		close(rec[0]);
		close(rec[1]);
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(rec[0]);
		close(log[0]);
		child(r->o, out->stage, fn, rec[1], log[1], self);
	}
	close(rec[1]);
	close(log[1]);
	s.records.fd = rec[0];
	s.log.fd = log[0];
	in_time = pid > 0 && listen_to(&s, since + limit_s);
	if (pid > 0 && !in_time && out->stage->serves) {
		/* That is how it ends: the card is given back by who has it. */
		s.told = true;
		kill(pid, SIGTERM);
		in_time = listen_to(&s, now() + GIVE_BACK_S);
	}
	if (pid > 0 && !in_time)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(rec[0]);
	close(log[0]);
	if (pid < 0) {
		out->end = CK_END_DIED;
		snprintf(out->why, sizeof(out->why), "fork: %s", strerror(errno));
		return;
	}
	judge_end(&s, status, in_time, limit_s);
	/* Who exits removes his own; this is for those that were killed. */
	while (s.num_folders > 0)
		remove_folder(s.folder[--s.num_folders]);
	out->seconds = now() - since;
}

/* The card was left as the stage had it: another process resets it. */
static void
give_back(struct ck_report *r, struct ck_outcome *out)
{
	struct ck_outcome other = {.stage = out->stage};
	const sig_atomic_t was = stopped;
	unsigned int i;

	/* A stop must not stop this. */
	stopped = 0;
	run_one(r, &other, ck_give_back, GIVE_BACK_S);
	out->given_back = other.end == CK_END_DONE;
	for (i = 0; i < other.found.num; i++) {
		ck_list_add(&out->found, &other.found.r[i]);
		out->given_back = out->given_back && other.found.r[i].kind != CK_FAIL;
	}
	for (i = 0; i < other.log.num && out->log.num < LOG_MOST; i++)
		ck_list_add(&out->log, &other.log.r[i]);
	if (other.end != CK_END_DONE) {
		struct ck_record bad = {.kind = CK_FAIL, .name = "give-back"};

		snprintf(bad.text, sizeof(bad.text), "%.*s", (int)sizeof(bad.text) - 1, other.why);
		ck_list_add(&out->found, &bad);
		ck_text_record(stdout, &bad);
	}
	ck_list_free(&other.found);
	ck_list_free(&other.log);
	stopped = was != 0 ? was : stopped;
}

static const char *
why_not(const struct ck_options *o, unsigned int i)
{
	if (stopped != 0)
		return "stopped by the user";
	if ((o->stages >> i & 1) == 0)
		return "not chosen";
	return o->read_only && ck_stages[i].lasts ? "--read-only: it changes what lasts until the card is reset" : NULL;
}

/* why: it is left out. */
static void
run_stage(struct ck_report *r, const struct ck_stage *stage, const char *why)
{
	struct ck_outcome *out = &r->stage[r->num++];

	out->stage = stage;
	if (why == NULL) {
		ck_text_head(stdout, stage);
		fflush(stdout);
		run_one(r, out, stage->run, r->o->limit_s);
		if (out->end != CK_END_DONE && stage != &ck_stages[0])
			give_back(r, out);
	} else {
		snprintf(out->why, sizeof(out->why), "%s", why);
	}
	ck_report_hide_all(r);
	ck_text_tail(stdout, out);
	fflush(stdout);
}

void
ck_run(struct ck_report *r)
{
	const struct sigaction on = {.sa_handler = on_signal};
	unsigned int i;

	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (r->o->reflector)
		run_stage(r, &ck_stages[CK_REFLECTOR], NULL);
	else
		for (i = 0; i < CK_STAGES; i++)
			run_stage(r, &ck_stages[i], why_not(r->o, i));
}
