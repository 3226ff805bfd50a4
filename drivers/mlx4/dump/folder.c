/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The folder of dumps: names, room for the next, and folders that appear whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_errno.h>

#include "dump.h"

#define PREFIX "dmn-"

static int
fail(const char *what, const char *path, int err, char text[TP_ERR_LEN])
{
	snprintf(text, TP_ERR_LEN, "%.40s %.70s: %.40s", what, path, rte_strerror(err));
	return -err;
}

/* Of a name: letters, digits, '.' and '_', so that '-' separates. */
static void
plain(char *to, size_t len, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < len && from[i] != '\0'; i++) {
		char c = from[i];

		to[i] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ? c
													       : '_';
	}
	to[i] = '\0';
}

static const char *
time_of(const char *name)
{
	const char *t = strstr(name, "--");

	return t != NULL ? t : "";
}

static int
is_dump(const struct dirent *e)
{
	return strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 && *time_of(e->d_name) != '\0';
}

static int
older(const struct dirent **a, const struct dirent **b)
{
	int by_time = strcmp(time_of((*a)->d_name), time_of((*b)->d_name));

	return by_time != 0 ? by_time : strcmp((*a)->d_name, (*b)->d_name);
}

/* Files and the folder; folders in it are nobody's and stay. */
static int
remove_folder(int base_fd, const char *name)
{
	int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(fd, e->d_name, 0);
	closedir(d);
	return unlinkat(base_fd, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

/* One more has room: the first ones stay, the oldest of the others go. */
static int
make_room(struct mlx4_dump_folder *f, char err[TP_ERR_LEN])
{
	struct dirent **list;
	int i, n = scandirat(f->base_fd, ".", &list, is_dump, older), rc = 0, gone;

	if (n < 0)
		return fail("cannot read", f->base, errno, err);
	gone = n - ((int)MLX4_DUMP_FOLDERS - 1);
	for (i = (int)MLX4_DUMP_FIRST; i < (int)MLX4_DUMP_FIRST + gone && rc == 0; i++) {
		rc = remove_folder(f->base_fd, list[i]->d_name);
		if (rc != 0)
			rc = fail("cannot remove the oldest dump,", list[i]->d_name, -rc, err);
	}
	for (i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return rc;
}

int
mlx4_dump_folder_begin(struct mlx4_dump_folder *f, const char *base, const char *device, const char *source,
		       const char *reason, const char *time, char err[TP_ERR_LEN])
{
	char dev[64], src[32], why[64];
	int rc;

	plain(dev, sizeof(dev), device);
	plain(src, sizeof(src), source);
	plain(why, sizeof(why), reason);
	snprintf(f->base, sizeof(f->base), "%s", base);
	snprintf(f->working, sizeof(f->working), ".writing-%ld", (long)getpid());
	snprintf(f->name, sizeof(f->name), PREFIX "%s-eth-%s-%s--%s", dev, src, why, time);
	if (mkdir(base, 0755) != 0 && errno != EEXIST)
		return fail("cannot make the folder of dumps,", base, errno, err);
	f->base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->base_fd < 0)
		return fail("cannot open the folder of dumps,", base, errno, err);
	(void)remove_folder(f->base_fd, f->working);
	rc = mkdirat(f->base_fd, f->working, 0755) == 0 ? 0 : fail("cannot make a folder in", base, errno, err);
	if (rc == 0) {
		f->fd = openat(f->base_fd, f->working, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (f->fd >= 0)
			return 0;
		rc = fail("cannot open a folder in", base, errno, err);
		(void)remove_folder(f->base_fd, f->working);
	}
	close(f->base_fd);
	return rc;
}

FILE *
mlx4_dump_folder_file(struct mlx4_dump_folder *f, const char *name, char err[TP_ERR_LEN])
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (file != NULL)
		return file;
	(void)fail("cannot write a file in", f->base, errno, err);
	if (fd >= 0)
		close(fd);
	return NULL;
}

int
mlx4_dump_folder_end(struct mlx4_dump_folder *f, int rc, char err[TP_ERR_LEN])
{
	if (rc == 0)
		rc = make_room(f, err);
	if (rc == 0 && renameat(f->base_fd, f->working, f->base_fd, f->name) != 0)
		rc = fail("cannot name a dump in", f->base, errno, err);
	if (rc != 0)
		(void)remove_folder(f->base_fd, f->working);
	close(f->fd);
	close(f->base_fd);
	return rc;
}
