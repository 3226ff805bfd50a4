/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Values and objects: their texts, and what a row takes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "settings_priv.h"

static const char *const scopes[TP_SCOPES] = {
	[TP_SCOPE_PROGRAM] = "program", [TP_SCOPE_CARD] = "card", [TP_SCOPE_PORT] = "port",
	[TP_SCOPE_RXQ] = "rxq",         [TP_SCOPE_TXQ] = "txq",   [TP_SCOPE_GROUP] = "group",
};
static const char *const whens[TP_WHENS] = {
	[TP_WHEN_LIVE] = "live",
	[TP_WHEN_IDLE] = "forwarding stopped",
	[TP_WHEN_STOPPED] = "port stopped",
	[TP_WHEN_MADE] = "device made",
};
static const char *const types[TP_SETTING_TYPES] = {
	[TP_SETTING_NUMBER] = "number",
	[TP_SETTING_SWITCH] = "switch",
	[TP_SETTING_CHOICE] = "choice",
	[TP_SETTING_TEXT] = "text",
};

int
settings_err(char *err, int ret, const char *fmt, ...)
{
	va_list ap;
	char *c;

	va_start(ap, fmt);
	vsnprintf(err, TP_SETTING_ERR, fmt, ap);
	va_end(ap);
	for (c = err; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	return ret;
}

const char *
tp_setting_scope_name(enum tp_setting_scope scope)
{
	return scopes[scope];
}

const char *
tp_setting_when_name(enum tp_setting_when when)
{
	return whens[when];
}

const char *
tp_setting_when_text(const struct tp_setting *row)
{
	return row->needs != NULL ? row->needs_text : whens[row->when];
}

const char *
tp_setting_type_name(enum tp_setting_type type)
{
	return types[type];
}

/* Whether names has the word, which may have any length. */
static bool
has_name(const char *names, const char *word)
{
	const size_t len = strlen(word);

	while (names != NULL && *names != '\0') {
		const size_t n = strcspn(names, "|");

		if (n == len && memcmp(names, word, n) == 0)
			return true;
		names += n + (names[n] == '|');
	}
	return false;
}

void
tp_setting_range(const struct tp_setting *row, char buf[TP_SETTING_RANGE])
{
	const char *names = row->type == TP_SETTING_SWITCH ? "off|on" : row->names != NULL ? row->names : "";
	const bool number = row->type == TP_SETTING_NUMBER;
	size_t at = 0, n;

	buf[0] = '\0';
	if (row->type == TP_SETTING_TEXT) {
		snprintf(buf, TP_SETTING_RANGE, "%s", names);
		return;
	}
	for (; *names != '\0' && at < TP_SETTING_RANGE; names += n + (names[n] == '|')) {
		const char *before = at == 0 ? "" : ", ";

		n = strcspn(names, "|");
		if (at != 0 && names[n] == '\0' && !number)
			before = " or ";
		at += (size_t)snprintf(buf + at, TP_SETTING_RANGE - at, "%s%.*s", before, (int)n, names);
	}
	if (number && at < TP_SETTING_RANGE)
		snprintf(buf + at, TP_SETTING_RANGE - at, "%s%" PRIu64 "..%" PRIu64, at == 0 ? "" : " or ", row->min,
			 row->max);
}

static int
refuse(const struct tp_setting *row, const char *value, char *err)
{
	const bool unit = row->type != TP_SETTING_TEXT && row->unit[0] != '\0';
	char range[TP_SETTING_RANGE];

	tp_setting_range(row, range);
	return settings_err(err, -EINVAL, "%s: '%.60s', want %s%s%s", row->name, value, range, unit ? " " : "",
			    unit ? row->unit : "");
}

static bool
whole_number(const char *text, uint64_t *out)
{
	const bool hex = strncmp(text, "0x", 2) == 0;
	unsigned long long v;
	char *end;

	/* strtoull takes blanks and signs, too */
	if (!isdigit((unsigned char)text[0]) || (hex && !isxdigit((unsigned char)text[2])))
		return false;
	errno = 0;
	v = strtoull(text, &end, hex ? 16 : 10);
	*out = v;
	return *end == '\0' && errno == 0;
}

static int
judge_text(const struct tp_setting *row, char *value, char *err)
{
	const char *c;

	if (row->judge != NULL)
		return row->judge(row, value, err);
	for (c = value; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			return refuse(row, value, err);
	return *value == '\0' ? refuse(row, value, err) : 0;
}

int
tp_setting_judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	uint64_t v;

	err[0] = '\0';
	switch (row->type) {
	case TP_SETTING_TEXT: return judge_text(row, value, err);
	case TP_SETTING_CHOICE: return has_name(row->names, value) ? 0 : refuse(row, value, err);
	case TP_SETTING_SWITCH:
		if (strcmp(value, "1") == 0 || strcmp(value, "0") == 0)
			snprintf(value, TP_SETTING_VALUE, "%s", value[0] == '1' ? "on" : "off");
		return has_name("on|off", value) ? 0 : refuse(row, value, err);
	default: break;
	}
	if (has_name(row->names, value))
		return 0;
	if (!whole_number(value, &v) || v < row->min || v > row->max)
		return refuse(row, value, err);
	snprintf(value, TP_SETTING_VALUE, "%" PRIu64, v);
	return 0;
}

uint64_t
tp_setting_num(const char *value)
{
	uint64_t v;

	return whole_number(value, &v) ? v : 0;
}

bool
tp_setting_on(const char *value)
{
	return strcmp(value, "on") == 0;
}

bool
tp_setting_is_default(const struct tp_setting *row, const char *value)
{
	char def[TP_SETTING_VALUE], err[TP_SETTING_ERR];

	if (row->def[0] == '\0')
		return false;
	snprintf(def, sizeof(def), "%s", row->def);
	return tp_setting_judge(row, def, err) == 0 && strcmp(def, value) == 0;
}

/* --- objects ------------------------------------------------------------------------------------------------- */

void
tp_setting_at_text(const struct tp_setting_at *at, char buf[TP_SETTING_OBJECT])
{
	const char *scope = scopes[at->scope];

	switch (at->scope) {
	case TP_SCOPE_PROGRAM: snprintf(buf, TP_SETTING_OBJECT, "%s", scope); break;
	case TP_SCOPE_RXQ:
	case TP_SCOPE_TXQ: snprintf(buf, TP_SETTING_OBJECT, "%s %u %u", scope, at->port, at->queue); break;
	case TP_SCOPE_GROUP: snprintf(buf, TP_SETTING_OBJECT, "%s %u %s", scope, at->port, at->group); break;
	default: snprintf(buf, TP_SETTING_OBJECT, "%s %u", scope, at->port); break;
	}
}

static bool
small_number(const char *text, uint16_t *out)
{
	uint64_t v;

	if (!whole_number(text, &v) || v > UINT16_MAX)
		return false;
	*out = (uint16_t)v;
	return true;
}

int
tp_setting_at_parse(const char *text, struct tp_setting_at *at, char err[TP_SETTING_ERR])
{
	static const unsigned int words[TP_SCOPES] = {1, 2, 2, 3, 3, 3};
	char copy[TP_SETTING_VALUE], *save = NULL, *word[4] = {NULL}, *next;
	unsigned int n = 0, i = 0;

	memset(at, 0, sizeof(*at));
	snprintf(copy, sizeof(copy), "%s", text);
	for (next = strtok_r(copy, " \t", &save); next != NULL && n < 4; next = strtok_r(NULL, " \t", &save))
		word[n++] = next;
	while (n > 0 && i < TP_SCOPES && strcmp(scopes[i], word[0]) != 0)
		i++;
	if (n == 0 || i == TP_SCOPES || n != words[i] || (n > 1 && !small_number(word[1], &at->port)))
		goto bad;
	at->scope = (enum tp_setting_scope)i;
	if ((at->scope == TP_SCOPE_RXQ || at->scope == TP_SCOPE_TXQ) && !small_number(word[2], &at->queue))
		goto bad;
	if (at->scope == TP_SCOPE_GROUP) {
		if (strlen(word[2]) >= sizeof(at->group))
			goto bad;
		snprintf(at->group, sizeof(at->group), "%s", word[2]);
	}
	return 0;
bad:
	return settings_err(err, -EINVAL,
			    "'%.60s', want program, card N, port N, rxq N QUEUE, txq N QUEUE or group N NAME", text);
}
