/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a stage tells the program. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void
send_record(const struct ck *c, const struct ck_record *r)
{
	char line[CK_NAME + CK_TEXT + 16];
	size_t len, done;
	ssize_t n;

	ck_record_format(line, r);
	len = strlen(line);
	for (done = 0; done < len; done += (size_t)n) {
		n = write(c->fd, line + done, len - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			_exit(EXIT_FAILURE); /* nobody listens any more */
	}
}

static void
say(struct ck *c, enum ck_kind kind, const char *name, const char *fmt, va_list ap)
{
	struct ck_record r = {.kind = kind};

	snprintf(r.name, sizeof(r.name), "%s", name);
	vsnprintf(r.text, sizeof(r.text), fmt, ap);
	send_record(c, &r);
}

void
ck_say(struct ck *c, enum ck_kind kind, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, kind, name, fmt, ap);
	va_end(ap);
}

bool
ck_judge(struct ck *c, bool ok, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, ok ? CK_PASS : CK_FAIL, name, fmt, ap);
	va_end(ap);
	return ok;
}

void
ck_identity(struct ck *c, const char *kind, const void *octets, unsigned int len)
{
	struct ck_record r = {.kind = CK_ID};
	const uint8_t *b = octets;
	unsigned int i;

	snprintf(r.name, sizeof(r.name), "%s", kind);
	for (i = 0; i < len && i < 64; i++)
		snprintf(r.text + 2 * (size_t)i, 3, "%02x", b[i]);
	send_record(c, &r);
}
