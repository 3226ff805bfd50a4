/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where commands come from: a text, a file, a pipe, or a terminal with the line editor of librte_cmdline. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline_rdline.h>

#include "apps/triplane/app/app.h"
#include "console.h"

#define PROMPT "triplane> "
#define KILL_LINE CTRL('U')
#define WAIT_MS 200
#define MAX_CHOICES 128

struct console {
	struct app *app;
	struct rdline *rdl;
	char word[MAX_CHOICES][CMD_WORD_LEN];
	unsigned int num_words;
	int failed;
};

/* One command; an error line names the place it came from when there is one. */
static int
run_line(struct app *app, const char *line, const char *where)
{
	char err[CMD_MAX_LINE * 5];
	int ret;

	app_control_take();
	ret = cmd_run(app->reg, line, err, sizeof(err));
	app_control_give();
	fflush(stdout);
	if (ret != 0 && err[0] != '\0')
		app_err(ret, "%s%s%s", where, where[0] == '\0' ? "" : ": ", err);
	return ret;
}

/* Up to a separator, or a word that begins a comment. */
static size_t
command_length(const char *text)
{
	size_t len = 0;

	while (text[len] != '\0' && text[len] != ';' && text[len] != '\n' &&
	       (text[len] != '#' || (len > 0 && !isspace((unsigned char)text[len - 1]))))
		len++;
	return len;
}

int
console_string(struct app *app, const char *text, const char *where)
{
	char one[CMD_MAX_LINE + 1];
	int ret = 0;

	while (*text != '\0' && ret == 0 && !app_stopping(app)) {
		const size_t len = command_length(text);

		snprintf(one, sizeof(one), "%.*s", (int)RTE_MIN(len, sizeof(one)), text);
		ret = run_line(app, one, where);
		text += len;
		if (*text == '#') /* a comment may contain the separator */
			text += strcspn(text, "\n");
		text += *text != '\0';
	}
	return ret;
}

int
console_file(struct app *app, const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL, where[512];
	unsigned int num = 0;
	size_t size = 0;
	int ret = 0;

	if (f == NULL)
		return app_err(-errno, "cannot read '%s': %s", path, strerror(errno));
	while (ret == 0 && !app_stopping(app) && getline(&line, &size, f) >= 0) {
		snprintf(where, sizeof(where), "%s:%u", path, ++num);
		ret = console_string(app, line, where);
	}
	if (ret == 0 && ferror(f))
		ret = app_err(-EIO, "cannot read '%s': %s", path, strerror(errno));
	free(line);
	fclose(f);
	return ret;
}

static int
write_char(struct rdline *rdl, char c)
{
	(void)rdl;
	return write(STDOUT_FILENO, &c, 1) == 1 ? 0 : -1;
}

static void
validate(struct rdline *rdl, const char *buf, unsigned int size)
{
	struct console *con = rdline_get_opaque(rdl);

	(void)size;
	if (console_string(con->app, buf, "") != 0)
		con->failed = 1;
	if (app_resume(con->app))
		app_say(con->app, "interrupted%s\n",
			con->app->fwd_runs ? "; forwarding goes on: 'stop' ends it, Ctrl-C the program" : "");
}

/* The part of the words that they have in common. */
static size_t
common_length(const struct console *con, unsigned int n)
{
	size_t len = strlen(con->word[0]);
	unsigned int i;

	for (i = 1; i < n; i++)
		while (strncmp(con->word[0], con->word[i], len) != 0)
			len--;
	return len;
}

/*
 * librte_cmdline's protocol: state 0 asks for text to insert (2: inserted, 1: here is the first choice, 0: nothing);
 * state -1 asks for choices at once; later states ask for the next choice until 0.
 */
static int
complete(struct rdline *rdl, const char *buf, char *dst, unsigned int size, int *state)
{
	struct console *con = rdline_get_opaque(rdl);
	unsigned int typed, literal;
	size_t part, common;

	if (*state <= 0) {
		bool insert = *state == 0;

		part = strlen(buf) - (size_t)(strrchr(buf, ' ') == NULL ? 0 : strrchr(buf, ' ') + 1 - buf);
		con->num_words = cmd_complete(con->app->reg, buf, con->word, MAX_CHOICES, &typed);
		literal = con->num_words - typed;
		if (con->num_words == 0)
			return 0;
		common = literal > 0 ? common_length(con, literal) : 0;
		if (insert && literal > 0 && (common > part || con->num_words == 1)) {
			snprintf(dst, size, "%s%s", "", con->word[0] + part);
			dst[common - part] = '\0';
			if (literal == 1 && con->word[0][common - 1] != '=' && common - part + 1 < size)
				strcat(dst, " ");
			return RDLINE_RES_COMPLETE;
		}
		*state = 0;
	}
	if ((unsigned int)*state >= con->num_words)
		return 0;
	snprintf(dst, size, "%s", con->word[(*state)++]);
	return 1;
}

static void
feed(struct console *con, char c)
{
	int ret = rdline_char_in(con->rdl, c);

	if (ret == RDLINE_RES_VALIDATED) {
		const char *line = rdline_get_buffer(con->rdl);
		size_t len = strcspn(line, "\n");
		char copy[CMD_MAX_LINE];

		/* an empty line is not worth remembering */
		snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
		if (len > 1)
			rdline_add_history(con->rdl, copy);
		if (!app_stopping(con->app))
			rdline_newline(con->rdl, PROMPT);
	} else if (ret == RDLINE_RES_EOF || ret == RDLINE_RES_EXITED) {
		con->app->quit = true;
	}
}

/* The editor has no key for it, but two that do it: to the start of the line, and all behind the cursor away. */
static void
clear_line(struct console *con)
{
	feed(con, CTRL('A'));
	feed(con, CTRL('K'));
}

static int
terminal(struct app *app)
{
	struct console con = {.app = app};
	struct termios old, raw;
	struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	con.rdl = rdline_new(write_char, validate, complete, &con);
	if (con.rdl == NULL)
		return app_err(-ENOMEM, "no memory for the line editor");
	tcgetattr(STDIN_FILENO, &old);
	raw = old;
	/* signals stay on: Ctrl-C ends the command that runs, or, at the prompt, the program */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	rdline_newline(con.rdl, PROMPT);
	while (!app_stopping(app)) {
		if (poll(&pfd, 1, WAIT_MS) <= 0)
			continue;
		if (read(STDIN_FILENO, &c, 1) != 1)
			break;
		if (c == KILL_LINE)
			clear_line(&con);
		else
			feed(&con, c);
	}
	tcsetattr(STDIN_FILENO, TCSANOW, &old);
	if (write(STDOUT_FILENO, "\n", 1) != 1)
		con.failed = 1;
	rdline_free(con.rdl);
	/* a person saw the errors of commands as they happened */
	return 0;
}

/* A program on the other side of a pipe: every line is run, the exit code tells whether one failed. */
static int
piped(struct app *app)
{
	struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[CMD_MAX_LINE + 1];
	size_t len = 0;
	int ret = 0, err;
	ssize_t got;
	char c;

	while (!app_stopping(app)) {
		if (poll(&pfd, 1, WAIT_MS) <= 0)
			continue;
		got = read(STDIN_FILENO, &c, 1);
		if (got == 1 && c != '\n') {
			if (len < CMD_MAX_LINE)
				line[len++] = c;
			continue;
		}
		line[len] = '\0';
		len = 0;
		err = console_string(app, line, "");
		if (ret == 0)
			ret = err;
		if (got != 1)
			break;
	}
	return ret;
}

int
console_interact(struct app *app)
{
	return isatty(STDIN_FILENO) ? terminal(app) : piped(app);
}
