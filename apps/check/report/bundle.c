/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The folder that is sent to somebody: reports, and what the stages have put there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "apps/check/check.h"

#define PATH 1024
#define FILE_MOST (64u << 20)

static bool
hidden(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int
ck_bundle_begin(const struct ck_options *o)
{
	struct dirent *e;
	DIR *d;
	bool empty = true;

	if (mkdir(o->bundle, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	d = opendir(o->bundle);
	if (d == NULL)
		return -errno;
	while ((e = readdir(d)) != NULL)
		empty = empty && hidden(e->d_name);
	closedir(d);
	return empty ? 0 : -ENOTEMPTY;
}

/* Overwrites what is to be hidden in one file, at its place. @return how much there was, or a negative errno */
static int
scrub_file(const struct ck_report *r, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), n;
	struct stat st;
	uint8_t *data;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || st.st_size > (off_t)FILE_MOST) {
		close(fd);
		return -EFBIG;
	}
	data = malloc((size_t)st.st_size + 1);
	if (data == NULL || read(fd, data, (size_t)st.st_size) != st.st_size) {
		free(data);
		close(fd);
		return -EIO;
	}
	n = (int)ck_scrub(data, (size_t)st.st_size, r->secret, r->num_secrets);
	if (n > 0 && pwrite(fd, data, (size_t)st.st_size, 0) != st.st_size)
		n = -EIO;
	free(data);
	return close(fd) != 0 ? -errno : n;
}

/* Files of a folder and of those in it, each with what was taken out. */
static int
each_file(const struct ck_report *r, const char *folder, const char *shown, FILE *list, unsigned int depth)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int rc = 0, n;

	if (d == NULL)
		return errno != 0 ? -errno : -EIO;
	while (rc == 0 && (e = readdir(d)) != NULL) {
		char path[PATH], name[PATH];
		struct stat st;

		if (hidden(e->d_name) || strcmp(e->d_name, "removed.txt") == 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= sizeof(path) ||
		    (size_t)snprintf(name, sizeof(name), "%s%s", shown, e->d_name) >= sizeof(name)) {
			rc = -ENAMETOOLONG;
		} else if (lstat(path, &st) != 0) {
			rc = -errno;
		} else if (S_ISDIR(st.st_mode) && depth < 3) {
			strcat(name, "/");
			rc = each_file(r, path, name, list, depth + 1);
		} else if (S_ISREG(st.st_mode)) {
			n = r->o->anonymous ? scrub_file(r, path) : 0;
			rc = n < 0 ? n : 0;
			if (n >= 0)
				fprintf(list, "%s: %d\n", name, n);
		}
	}
	closedir(d);
	return rc;
}

static void
kinds(FILE *f, const struct ck_report *r)
{
	unsigned int i, k, n;

	for (i = 0; i < r->num_secrets; i++) {
		for (k = 0; k < i && strcmp(r->secret[k].kind, r->secret[i].kind) != 0; k++)
			;
		if (k < i)
			continue;
		for (k = i, n = 0; k < r->num_secrets; k++)
			n += strcmp(r->secret[k].kind, r->secret[i].kind) == 0;
		fprintf(f, "%s: %u\n", r->secret[i].kind, n);
	}
}

int
ck_bundle_end(const struct ck_report *r)
{
	static const struct {
		const char *name;
		void (*fn)(FILE *f, const struct ck_report *r);
	} files[] = {
		{"report.txt", ck_text}, {"report.json", ck_json}, {"report.html", ck_page}, {"quirks.txt", ck_quirks}};
	char path[PATH];
	unsigned int i;
	FILE *list;
	int rc = 0;

	for (i = 0; rc == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%.900s/%s", r->o->bundle, files[i].name);
		rc = ck_write(path, files[i].fn, r);
	}
	snprintf(path, sizeof(path), "%.900s/removed.txt", r->o->bundle);
	list = rc == 0 ? fopen(path, "we") : NULL;
	if (list == NULL)
		return rc != 0 ? rc : -errno;
	if (r->o->anonymous) {
		fputs("Identities of the card were overwritten in all files: octets by zeros, hex digits by the digit "
		      "0, a serial\n"
		      "number by x. Lengths stayed. Known identities of each kind:\n",
		      list);
		kinds(list, r);
		fputs("How often one was overwritten, of each file:\n", list);
	} else {
		fputs("Nothing was removed: MAC addresses, GUIDs and the serial number of the card are in these "
		      "files.\n"
		      "With --anonymous they are overwritten. Files:\n",
		      list);
	}
	rc = each_file(r, r->o->bundle, "", list, 0);
	if (fclose(list) != 0 && rc == 0)
		rc = -errno;
	return rc;
}
