/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a stage tells, as lines: kind, name and text with tabs between. */
#include <errno.h>
#include <string.h>

#include "apps/check/check.h"

static const char *const words[CK_ALL] = {
	[CK_PASS] = "pass", [CK_INFO] = "info", [CK_FIND] = "find", [CK_SKIP] = "skip",     [CK_WARN] = "warn",
	[CK_FAIL] = "fail", [CK_STEP] = "step", [CK_ID] = "id",     [CK_FOLDER] = "folder", [CK_DONE] = "done",
};

const char *
ck_kind_word(enum ck_kind kind)
{
	return words[kind];
}

void
ck_printable(char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = ' ';
		else if ((unsigned char)*s > 0x7f)
			*s = '?';
	}
}

static char *
field(char *to, const char *s)
{
	strcpy(to, s);
	ck_printable(to);
	return to + strlen(to);
}

void
ck_record_format(char line[CK_NAME + CK_TEXT + 16], const struct ck_record *r)
{
	char *at = field(line, words[r->kind]);

	*at++ = '\t';
	at = field(at, r->name);
	*at++ = '\t';
	at = field(at, r->text);
	*at++ = '\n';
	*at = '\0';
}

static const char *
part(char *to, size_t room, const char *from)
{
	const size_t len = strcspn(from, "\t");

	if (len >= room)
		return NULL;
	memcpy(to, from, len);
	to[len] = '\0';
	return from + len;
}

int
ck_record_parse(const char *line, struct ck_record *r)
{
	char word[16];
	unsigned int k;

	line = part(word, sizeof(word), line);
	if (line == NULL || *line++ != '\t')
		return -EINVAL;
	for (k = 0; k < CK_ALL && strcmp(words[k], word) != 0; k++)
		;
	if (k == CK_ALL)
		return -EINVAL;
	r->kind = (enum ck_kind)k;
	line = part(r->name, sizeof(r->name), line);
	if (line == NULL || *line++ != '\t')
		return -EINVAL;
	line = part(r->text, sizeof(r->text), line);
	return line == NULL || *line != '\0' ? -EINVAL : 0;
}
