/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

#define LOOKS_MS 1000u

static int
write_page(FILE *f, const char *text, size_t len)
{
	struct mj_doc doc;
	char *copy = malloc(len);
	int ret = copy == NULL ? -ENOMEM : 0;

	if (ret == 0) {
		memcpy(copy, text, len);
		ret = mj_parse(copy, len, &doc);
	}
	if (ret == 0) {
		snapshot_page(f, doc.node, text, len);
		mj_free(&doc);
	}
	free(copy);
	return ret;
}

static int
write_all(FILE *f, bool page, const char *text, size_t len)
{
	int ret = 0;

	/* The write that fails may be one in the middle. */
	errno = 0;
	if (page)
		ret = write_page(f, text, len);
	else
		fwrite(text, 1, len, f);
	if ((fflush(f) != 0 || ferror(f)) && ret == 0)
		ret = errno != 0 ? -errno : -EIO;
	return ret;
}

/*
 * Beside the file first, which is replaced by a whole one or not at all; and before anything is looked at, since that takes its
 * time and would be for nothing.
 */
static int
write_file(struct app *app, const char *path, bool page, unsigned int ms)
{
	char beside[4096], *text = NULL;
	size_t len = 0;
	FILE *f;
	int ret;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside))
		return -ENAMETOOLONG;
	f = fopen(beside, "we");
	if (f == NULL)
		return -errno;
	ret = snapshot_gather(app, ms, &text, &len);
	if (ret == 0)
		ret = write_all(f, page, text, len);
	free(text);
	if (fclose(f) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(beside, path) != 0)
		ret = -errno;
	if (ret != 0)
		(void)remove(beside);
	return ret;
}

static int
do_snapshot(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_text(a, "file"), *end = strrchr(path, '.');
	const bool page = end != NULL && strcmp(end, ".html") == 0;
	struct app *app = arg;
	int ret;

	if (!page && (end == NULL || strcmp(end, ".json") != 0))
		return app_err(-EINVAL, "file '%s', want a name that ends with .html or .json", path);
	ret = write_file(app, path, page, (unsigned int)cmd_num(a, "ms", LOOKS_MS));
	if (ret != 0)
		return app_err(ret, "cannot write '%s': %s", path, strerror(-ret));
	app_event("snapshot-written", "%s", path);
	return 0;
}

static const struct cmd table[] = {
	{"Show", "snapshot {file:str} [{ms:100..60000}]",
	 "Writes all that is shown as one page for a browser (FILE.html, with the same as JSON in it) or as JSON "
	 "(FILE.json): settings, "
	 "system, devices, ports, counters with their rates in so many milliseconds (1000), the last minutes.",
	 do_snapshot, false},
};

int
cmd_snapshot_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
