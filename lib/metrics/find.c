/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets of telemetry: DIR/PREFIX/dpdk_telemetry.v2, and with ":NUMBER" behind it where processes share a prefix in memory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"

#define SOCKET "dpdk_telemetry.v2"

void
metrics_where_default(struct metrics_where *w)
{
	static char of_env[METRICS_PATH], of_user[METRICS_PATH];
	const char *env = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");

	/* What EAL itself takes: the service's folder, else root's, else the user's. */
	if (env != NULL && (size_t)snprintf(of_env, sizeof(of_env), "%s/dpdk", env) < sizeof(of_env))
		w->dir[w->num_dirs++] = of_env;
	w->dir[w->num_dirs++] = "/run/dpdk";
	w->dir[w->num_dirs++] = "/run/triplane/dpdk";
	if (getuid() != 0 &&
	    (size_t)snprintf(of_user, sizeof(of_user), "%s/dpdk", user != NULL ? user : "/tmp") < sizeof(of_user))
		w->dir[w->num_dirs++] = of_user;
}

static unsigned int
add(struct metrics p[METRICS_PROCESSES], unsigned int n, const char *path, const char *name)
{
	unsigned int i;

	if (n == METRICS_PROCESSES || strlen(path) >= sizeof(p[n].path))
		return n;
	for (i = 0; i < n; i++)
		if (strcmp(p[i].path, path) == 0)
			return n;
	memset(&p[n], 0, sizeof(p[n]));
	snprintf(p[n].path, sizeof(p[n].path), "%s", path);
	snprintf(p[n].name, sizeof(p[n].name), "%s", name);
	/* Two with one name would be one time series. */
	for (i = 0; i < n; i++)
		if (strcmp(p[i].name, name) == 0)
			snprintf(p[n].name, sizeof(p[n].name), "%s", path);
	return n + 1;
}

/* A socket that was named: the folder's name is its own. */
static unsigned int
add_socket(struct metrics p[METRICS_PROCESSES], unsigned int n, const char *path)
{
	const char *last = strrchr(path, '/'), *first = last;
	char name[METRICS_PATH];

	while (first != NULL && first > path && first[-1] != '/')
		first--;
	if (last == NULL || first == last)
		return add(p, n, path, path);
	snprintf(name, sizeof(name), "%.*s", (int)(last - first), first);
	return add(p, n, path, name);
}

static unsigned int
look_into(struct metrics p[METRICS_PROCESSES], unsigned int n, const char *dir, const char *prefix)
{
	char path[4096], name[METRICS_PATH];
	const struct dirent *e;
	DIR *d;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, prefix) >= sizeof(path))
		return n;
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		const size_t len = strlen(SOCKET);

		if (strncmp(e->d_name, SOCKET, len) != 0 || (e->d_name[len] != '\0' && e->d_name[len] != ':') ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, prefix, e->d_name) >= METRICS_PATH ||
		    (size_t)snprintf(name, sizeof(name), "%s%s", prefix, e->d_name + len) >= sizeof(name))
			continue;
		n = add(p, n, path, name);
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct metrics *)a)->name, ((const struct metrics *)b)->name);
}

unsigned int
metrics_find(const struct metrics_where *w, struct metrics p[METRICS_PROCESSES])
{
	unsigned int n = 0, i;
	const struct dirent *e;
	DIR *d;

	for (i = 0; i < w->num_sockets; i++)
		n = add_socket(p, n, w->socket[i]);
	for (i = 0; i < w->num_dirs; i++) {
		d = opendir(w->dir[i]);
		while (d != NULL && (e = readdir(d)) != NULL)
			if (e->d_name[0] != '.')
				n = look_into(p, n, w->dir[i], e->d_name);
		if (d != NULL)
			closedir(d);
	}
	qsort(p, n, sizeof(p[0]), by_name);
	return n;
}
