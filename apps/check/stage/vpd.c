/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "vpd.h"

#include <errno.h>
#include <string.h>

#define LARGE 0x80u
#define TAG_NAME 0x82u
#define TAG_READ 0x90u
#define SMALL_END 0x0fu /* its type, in bits 6..3 */

typedef void (*vpd_fn)(void *arg, const char *key, const char *text, size_t len);

static int
fields(const uint8_t *data, size_t from, size_t len, vpd_fn fn, void *arg)
{
	const uint8_t *p = data + from;
	uint8_t sum = 0;
	char key[3] = "";
	size_t at, n, i;

	for (at = 0; at + 3 <= len; at += 3 + n) {
		memcpy(key, p + at, 2);
		n = p[at + 2];
		if (n > len - at - 3)
			return -EINVAL;
		/* All octets from the very first up to the one that makes their sum 0. */
		if (strcmp(key, "RV") == 0) {
			for (i = 0; n > 0 && i <= from + at + 3; i++)
				sum = (uint8_t)(sum + data[i]);
			if (n == 0 || sum != 0)
				return -EBADMSG;
		} else {
			fn(arg, key, (const char *)p + at + 3, n);
		}
	}
	return at == len ? 0 : -EINVAL;
}

int
vpd_parse(const uint8_t *data, size_t len, vpd_fn fn, void *arg)
{
	size_t at = 0, n;
	int rc = 0;

	while (at < len && rc == 0) {
		const uint8_t tag = data[at];

		if ((tag & LARGE) == 0) {
			if (tag >> 3 == SMALL_END)
				return 0;
			at += 1u + (tag & 7u);
			continue;
		}
		if (len - at < 3)
			return -EINVAL;
		n = data[at + 1] | (size_t)data[at + 2] << 8;
		at += 3;
		if (n > len - at)
			return -EINVAL;
		if (tag == TAG_NAME)
			fn(arg, "ID", (const char *)data + at, n);
		else if (tag == TAG_READ)
			rc = fields(data, at, n, fn, arg);
		at += n;
	}
	return rc != 0 ? rc : -EINVAL;
}
