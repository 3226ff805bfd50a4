/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration files: sections of words. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "qos_priv.h"

#define MAX_LINE 1024

enum section {
	SECTION_NONE,
	SECTION_PORT,
	SECTION_GROUP,
};

struct reader {
	const char *path;
	const struct tp_qos_file_ops *ops;
	void *arg;
	char *err;
	size_t err_len;
	unsigned int line, head; /* head: line of the section's name */
	enum section section;
	uint16_t port;
	struct tp_qos_port q;
	struct tp_group g;
	uint8_t seen[(UINT16_MAX + 1) / 8]; /* ports that had their section */
};

static int __attribute__((format(printf, 4, 5)))
refuse(struct reader *r, unsigned int line, int ret, const char *fmt, ...)
{
	char text[TP_ERR_LEN + 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(r->err, r->err_len, "%s:%u: %s", r->path, line, text);
	return ret;
}

/* Hands over what was read since the last section began. */
static int
finish(struct reader *r)
{
	char err[TP_ERR_LEN] = "";
	int ret = 0;

	if (r->section == SECTION_PORT)
		ret = r->ops->port(r->arg, r->port, &r->q, err);
	else if (r->section == SECTION_GROUP)
		ret = r->ops->group(r->arg, r->port, &r->g, err);
	r->section = SECTION_NONE;
	if (ret >= 0)
		return 0;
	return refuse(r, r->head, ret, "%s", err[0] != '\0' ? err : strerror(-ret));
}

static int
begin_port(struct reader *r)
{
	uint8_t *seen = &r->seen[r->port / 8], bit = (uint8_t)(1u << r->port % 8);

	if ((*seen & bit) != 0)
		return refuse(r, r->line, -EEXIST, "port %u has a section already, want one a port", r->port);
	*seen |= bit;
	r->section = SECTION_PORT;
	tp_qos_port_default(&r->q);
	return 0;
}

static int
begin_group(struct reader *r, const char *name)
{
	char err[TP_ERR_LEN];
	int ret;

	tp_group_default(&r->g);
	ret = tp_group_name(&r->g, name, err);
	if (ret != 0)
		return refuse(r, r->line, ret, "%s", err);
	r->section = SECTION_GROUP;
	return 0;
}

/* "[port 0]", "[group 0 web]" */
static int
begin(struct reader *r, char *text)
{
	char *save = NULL, *word[4] = {NULL}, copy[MAX_LINE];
	const size_t len = strlen(text);
	unsigned int n = 0;
	uint32_t port;
	int ret = finish(r);

	if (ret != 0)
		return ret;
	r->head = r->line;
	snprintf(copy, sizeof(copy), "%s", text);
	if (text[len - 1] == ']') {
		text[len - 1] = '\0';
		for (text = strtok_r(text + 1, " \t", &save); text != NULL && n < 4;
		     text = strtok_r(NULL, " \t", &save))
			word[n++] = text;
	}
	if (!(n == 2 && strcmp(word[0], "port") == 0) && !(n == 3 && strcmp(word[0], "group") == 0))
		return refuse(r, r->line, -EINVAL, "'%.60s', want [port N] or [group N NAME]", copy);
	if (word_number(word[1], &port) != 0 || port > UINT16_MAX)
		return refuse(r, r->line, -EINVAL, "port '%.20s', want 0..%u", word[1], UINT16_MAX);
	r->port = (uint16_t)port;
	return n == 2 ? begin_port(r) : begin_group(r, word[2]);
}

static int
take(struct reader *r, const char *word)
{
	char err[TP_ERR_LEN], text[TP_ERR_LEN + 512];
	int ret;

	if (r->section == SECTION_NONE)
		return refuse(r, r->line, -EINVAL, "'%.60s' before the first section, want [port N] or [group N NAME]",
			      word);
	ret = r->section == SECTION_PORT ? tp_qos_port_word(&r->q, word, err) : tp_group_word(&r->g, word, err);
	if (ret != 0)
		return refuse(r, r->line, ret, "%s", err);
	if (err[0] != '\0' && r->ops->notice != NULL) {
		snprintf(text, sizeof(text), "%s:%u: %s", r->path, r->line, err);
		r->ops->notice(r->arg, text);
	}
	return 0;
}

static int
take_line(struct reader *r, char *line)
{
	size_t len;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, " \t\r\n");
	for (len = strlen(line); len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL; len--)
		line[len - 1] = '\0';
	if (len == 0)
		return 0;
	return line[0] == '[' ? begin(r, line) : take(r, line);
}

static int
read_lines(struct reader *r, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int ret = 0;

	while (ret == 0 && (len = getline(&line, &size, f)) >= 0) {
		r->line++;
		if (len >= MAX_LINE)
			ret = refuse(r, r->line, -EINVAL, "a line of %zd characters, want at most %u", len,
				     MAX_LINE - 1);
		else if (strlen(line) != (size_t)len)
			ret = refuse(r, r->line, -EINVAL, "a NUL after %zu characters, want text", strlen(line));
		else
			ret = take_line(r, line);
	}
	free(line);
	if (ret == 0 && ferror(f))
		return refuse(r, r->line, -EIO, "cannot be read");
	return ret != 0 ? ret : finish(r);
}

int
tp_qos_file_read(const char *path, const struct tp_qos_file_ops *ops, void *arg, char *err, size_t err_len)
{
	struct reader *r = calloc(1, sizeof(*r));
	FILE *f;
	int ret;

	if (r == NULL) {
		snprintf(err, err_len, "no memory to read '%s'", path);
		return -ENOMEM;
	}
	r->path = path;
	r->ops = ops;
	r->arg = arg;
	r->err = err;
	r->err_len = err_len;
	f = fopen(path, "r");
	if (f != NULL) {
		ret = read_lines(r, f);
		fclose(f);
	} else {
		ret = -errno;
		snprintf(err, err_len, "cannot read '%s': %s", path, strerror(-ret));
	}
	free(r);
	return ret;
}
