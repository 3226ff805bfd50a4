/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A program's own /sys/class/infiniband and /dev/infiniband. Neither folder need exist, and none can be made in sysfs, so that the
 * folder above each is laid out anew: what is there shows through, the device's part comes from the owner. It is seen by this
 * process and by what it starts, and goes with them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define OURS "infiniband" /* and what starts so */

static int
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Mounts of this process's own; a user who may not have them may as root of a user namespace in which he is himself. 0 or errno. */
static int
namespaces(void)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char text[64];
	int err;

	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return errno;
		(void)put("/proc/self/setgroups", "deny");
		snprintf(text, sizeof(text), "%u %u 1", uid, uid);
		err = put("/proc/self/uid_map", text);
		if (err != 0)
			return err;
		snprintf(text, sizeof(text), "%u %u 1", gid, gid);
		err = put("/proc/self/gid_map", text);
		if (err != 0)
			return err;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 0 : errno;
}

/* An entry of a folder, from: as it is, to: in the one that is laid out. 0 or errno. */
static int
show_through(int dir, const char *from, const char *to, const char *name)
{
	char target[RUN_PATH];
	struct stat st;
	ssize_t n;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(dir, name, target, sizeof(target) - 1);
		if (n < 0)
			return errno;
		target[n] = '\0';
		return symlink(target, to) == 0 ? 0 : errno;
	}
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(to, 0755) != 0)
			return errno;
	} else {
		fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return errno;
		close(fd);
	}
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0 ? 0 : errno;
}

/* Lays out a folder anew with all that is in it but InfiniBand's. 0 or errno; then it is as it was. */
static int
lay_out(const char *path)
{
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), err = 0;
	char was[64], from[RUN_PATH], to[RUN_PATH];
	struct dirent *e;
	DIR *d;

	if (dir < 0)
		return errno;
	if (mount("triplane", path, "tmpfs", MS_NOSUID, "mode=0755") != 0) {
		err = errno;
		close(dir);
		return err;
	}
	snprintf(was, sizeof(was), "/proc/self/fd/%d", dir);
	d = opendir(was);
	if (d == NULL)
		err = errno;
	while (d != NULL && err == 0 && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    strncmp(e->d_name, OURS, sizeof(OURS) - 1) == 0)
			continue;
		snprintf(from, sizeof(from), "%s/%s", was, e->d_name);
		snprintf(to, sizeof(to), "%s/%s", path, e->d_name);
		err = show_through(dir, from, to, e->d_name);
	}
	if (d != NULL)
		closedir(d);
	close(dir);
	if (err != 0)
		(void)umount2(path, MNT_DETACH);
	return err;
}

/* All of it. 0, or errno and what is in its way. */
static int
make(const char *at, const char **what)
{
	int err = namespaces();

	*what = "namespaces";
	if (err == 0) {
		*what = "/sys/class";
		err = lay_out(*what);
	}
	if (err == 0) {
		*what = "/dev";
		err = lay_out(*what);
	}
	if (err == 0) {
		*what = "devices";
		err = run_tree(at);
	}
	return err;
}

static int
refuse(const char *what, int err, const char *hint)
{
	return run_refuse("no view of /sys/class/infiniband and /dev/infiniband: %s: %s%s", what, strerror(err), hint);
}

/* Whether a child can have it. It was said why not, unless quiet. */
static bool
child_can(const char *at, bool quiet)
{
	const char *what = "a process to try it in";
	const pid_t pid = fork();
	int status = 0, err = pid < 0 ? errno : 0;

	if (pid == 0)
		err = make(at, &what);
	if (err != 0 && !quiet)
		refuse(what, err, "");
	if (pid == 0)
		_exit(err == 0 ? 0 : RUN_EXIT);
	while (err == 0 && waitpid(pid, &status, 0) < 0)
		err = errno == EINTR ? 0 : errno;
	return err == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int
run_view(const char *at, bool need, bool quiet)
{
	const char *what;
	int err;

	/* Nobody comes back from a user namespace, also when it can have no names of users: what may fail is tried elsewhere. */
	if (!need && !child_can(at, quiet))
		return 0;
	err = make(at, &what);
	if (err == 0) {
		err = run_live(at);
		if (err != 0 && !quiet)
			run_refuse("counters in the view stay as they are: %s", strerror(err));
		return 0;
	}
	return refuse(what, err, "; --view off does without");
}
