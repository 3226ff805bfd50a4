/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Files of settings, whatever is in them: each line is taken or named, a list is made whole or not at all, and what was
 * written of the state that came of it is read again without a complaint and changes nothing.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/settings/fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[32];

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void
wrong(void *arg, const char *text)
{
	unsigned int *n = arg;

	(*n)++;
	must(strncmp(text, path, strlen(path)) == 0 && strchr(text, '\n') == NULL);
}

static void
written(struct fake *f, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);

	must(out != NULL && tp_settings_write(f->s, out) == 0 && fclose(out) == 0);
}

/* Returns whether the file was in force afterwards. */
static bool
load(struct fake *f, unsigned int *mistakes)
{
	struct tp_setting_list l = {0};
	char err[TP_SETTING_ERR];
	int ret;

	*mistakes = 0;
	ret = tp_settings_read(f->s, path, true, &l, wrong, mistakes);
	must((ret == 0) == (*mistakes == 0));
	if (ret == 0) {
		ret = tp_settings_apply(f->s, &l, NULL, err);
		must((ret == 0) == (err[0] == '\0') && strchr(err, '\n') == NULL);
	}
	tp_setting_list_free(&l);
	return ret == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *before = NULL, *after = NULL, *again = NULL;
	size_t len_before, len_after, len_again;
	static int fd = -1;
	unsigned int mistakes;
	struct fake *f;
	void *state;
	bool taken;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		must(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	fake_setup(&state);
	f = state;
	f->silent = true;
	strcpy(f->name, "a name");
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	written(f, &before, &len_before);
	taken = load(f, &mistakes);
	written(f, &after, &len_after);
	must(taken || strcmp(before, after) == 0);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, after, len_after, 0) == (ssize_t)len_after);
	f->sets = f->qos_sets = 0;
	must(load(f, &mistakes) && mistakes == 0);
	must(f->sets == 0 && f->qos_sets == 0);
	written(f, &again, &len_again);
	must(strcmp(after, again) == 0);
	free(before);
	free(after);
	free(again);
	fake_teardown(&state);
	return 0;
}
