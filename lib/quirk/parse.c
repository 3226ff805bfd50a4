/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Lists and files of quirks. */
#include "quirk.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 32u
#define LINE_MAX_LEN 256u

__attribute__((format(printf, 2, 3))) static int
refuse(char err[MLX4_QUIRK_ERR], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, MLX4_QUIRK_ERR, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int
refuse_id(const char *word, char err[MLX4_QUIRK_ERR])
{
	size_t len = (size_t)snprintf(err, MLX4_QUIRK_ERR, "%s: wanted ID:VARIANT, ID one of", word);
	unsigned int i;

	for (i = 0; i < MLX4_QUIRKS && len < MLX4_QUIRK_ERR; i++)
		len += (size_t)snprintf(err + len, MLX4_QUIRK_ERR - len, " %s", mlx4_quirk_get(i)->id);
	return -EINVAL;
}

/* One "F-12:b"; seen: the ids before it. */
static int
take(struct mlx4_quirks *q, const char *word, uint64_t *seen, char err[MLX4_QUIRK_ERR])
{
	char id[WORD_MAX];
	const char *colon = strchr(word, ':');
	unsigned int n;
	int i;

	snprintf(id, sizeof(id), "%.*s", (int)(colon == NULL ? strlen(word) : (size_t)(colon - word)), word);
	i = mlx4_quirk_find(id);
	if (i < 0 || colon == NULL)
		return refuse_id(word, err);
	n = mlx4_quirk_variants((unsigned int)i);
	if (colon[1] < 'a' || colon[1] >= (char)('a' + n) || colon[2] != '\0')
		return refuse(err, "%s: wanted variant a..%c of %s (%s)", word, 'a' + n - 1, id,
			      mlx4_quirk_get((unsigned int)i)->what);
	if ((*seen >> i & 1) != 0)
		return refuse(err, "%s: wanted %s once", word, id);
	*seen |= UINT64_C(1) << i;
	q->v[i] = (uint8_t)(colon[1] - 'a');
	return 0;
}

int
mlx4_quirks_parse(struct mlx4_quirks *q, const char *text, char err[MLX4_QUIRK_ERR])
{
	struct mlx4_quirks to = *q;
	char word[WORD_MAX];
	uint64_t seen = 0;
	size_t len;
	int rc;

	while (*text != '\0') {
		len = strcspn(text, ",/");
		if (len >= sizeof(word))
			return refuse(err, "%.*s: wanted ID:VARIANT, such as F-1:b", (int)sizeof(word), text);
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		rc = take(&to, word, &seen, err);
		if (rc != 0)
			return rc;
		text += len;
		/* Something stands behind what separates. */
		if (*text != '\0' && *++text == '\0')
			return refuse(err, "wanted ID:VARIANT behind \"%s\"", word);
	}
	to.listed |= seen;
	*q = to;
	return 0;
}

static char *
trim(char *line)
{
	char *end;

	line[strcspn(line, "#\r\n")] = '\0';
	while (isspace((unsigned char)*line))
		line++;
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return line;
}

static int
load(struct mlx4_quirks *q, FILE *f, const char *path, char err[MLX4_QUIRK_ERR])
{
	char line[LINE_MAX_LEN], why[MLX4_QUIRK_ERR], *word;
	unsigned int number = 0;
	uint64_t seen = 0;

	while (fgets(line, sizeof(line), f) != NULL) {
		number++;
		if (strchr(line, '\n') == NULL && !feof(f))
			return refuse(err, "%s:%u: wanted a line of up to %u octets", path, number, LINE_MAX_LEN - 2);
		word = trim(line);
		if (*word == '\0')
			continue;
		if (take(q, word, &seen, why) != 0)
			return refuse(err, "%s:%u: %s", path, number, why);
	}
	return ferror(f) != 0 ? refuse(err, "%s: cannot be read", path) : 0;
}

int
mlx4_quirks_load(struct mlx4_quirks *q, const char *path, char err[MLX4_QUIRK_ERR])
{
	struct mlx4_quirks to;
	FILE *f = fopen(path, "re");
	unsigned int i;
	int rc;

	if (f == NULL) {
		rc = -errno;
		snprintf(err, MLX4_QUIRK_ERR, "%s: %s", path, strerror(-rc));
		return rc;
	}
	mlx4_quirks_default(&to);
	rc = load(&to, f, path, err);
	fclose(f);
	for (i = 0; rc == 0 && i < MLX4_QUIRKS; i++)
		if ((q->listed >> i & 1) == 0)
			q->v[i] = to.v[i];
	return rc;
}

unsigned int
mlx4_quirks_text(const struct mlx4_quirks *q, char sep, char text[MLX4_QUIRK_TEXT])
{
	unsigned int i, n = 0;
	size_t len = 0;

	text[0] = '\0';
	for (i = 0; i < MLX4_QUIRKS; i++) {
		if (q->v[i] == mlx4_quirk_get(i)->def)
			continue;
		if (n++ != 0)
			text[len++] = sep;
		len += (size_t)snprintf(text + len, MLX4_QUIRK_TEXT - len, "%s:%c", mlx4_quirk_get(i)->id,
					'a' + q->v[i]);
	}
	return n;
}
