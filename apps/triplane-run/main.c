/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * triplane-run [--attach SOCKET] [--] PROGRAM [ARGUMENT...]: runs a program of libibverbs and librdmacm on the ports that
 * another process shares ('share on' of triplane, tp_share_start()). The program gets libtriplane-verbs.so and
 * libtriplane-rdmacm.so in front of its libraries.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/share/proto.h"

#define PATH 4096u

/* As built, and as installed. */
static const char *const libraries[][2] = {{"../../preload/verbs", "libtriplane-verbs.so"},
					   {"../../preload/rdmacm", "libtriplane-rdmacm.so"}};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

static const char usage[] = "usage: triplane-run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
			    "Runs a program of libibverbs and librdmacm on the ports that another process shares.\n"
			    "  --attach SOCKET  where that process listens (" SHARE_SOCKET ")\n"
			    "  --quiet          does not say what is used\n"
			    "  --help           shows this text\n";

static int __attribute__((format(printf, 1, 2))) refuse(const char *fmt, ...)
{
	va_list ap;

	fputs("triplane-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

/* A library lies beside the program's folder. */
static int
library(const char *folder, const char *name, char path[PATH])
{
	const char *const folders[] = {folder, TRIPLANE_LIBDIR};
	char self[PATH], *slash, *real;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned int i;

	if (n < 0)
		return refuse("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	slash = strrchr(self, '/');
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(slash + 1, sizeof(self) - (size_t)(slash + 1 - self), "%s/%s", folders[i], name);
		real = realpath(self, NULL);
		if (real == NULL)
			continue;
		snprintf(path, PATH, "%s", real);
		free(real);
		return 0;
	}
	return refuse("%s is not where the build or the installation of this program puts it", name);
}

/* All of them, with colons between. */
static int
preloads(char list[LIBRARIES * PATH])
{
	char path[PATH];
	size_t used = 0;

	for (unsigned int i = 0; i < LIBRARIES; i++) {
		if (library(libraries[i][0], libraries[i][1], path) != 0)
			return 1;
		used += (size_t)snprintf(list + used, LIBRARIES * PATH - used, "%s%s", i == 0 ? "" : ":", path);
	}
	return 0;
}

/* Devices that are shared there; their number, or -1, which was said. */
static int
devices(const char *at, char *names, size_t size)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n = 0;
	size_t used = 0;

	if (strlen(at) >= sizeof(sa.sun_path))
		return refuse("socket '%s' has more than %zu characters", at, sizeof(sa.sun_path) - 1), -1;
	memcpy(sa.sun_path, at, strlen(at));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) != 0)
		return refuse("%s: %s; a process shares its ports there by 'share on %s' of triplane", at,
			      strerror(errno), at),
		       -1;
	for (;;) {
		struct share_msg m = {.op = SHARE_HELLO, .hello = {.version = SHARE_VERSION, .index = (uint32_t)n}};

		if (send(fd, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m) || recv(fd, &m, sizeof(m), 0) != sizeof(m)) {
			close(fd);
			return refuse("%s: the process there does not speak as it should", at), -1;
		}
		if (m.err == EPROTO) {
			close(fd);
			return refuse("%s: the process there speaks version %u, this program %u", at, m.hello.version,
				      SHARE_VERSION),
			       -1;
		}
		if (m.err != 0)
			break;
		n++;
		if (used < size)
			used += (size_t)snprintf(names + used, size - used, " %s", m.hello.name);
	}
	close(fd);
	return n;
}

static int
run(const char *at, const char *libs, char **argv)
{
	const char *before = getenv("LD_PRELOAD");
	char preload[(LIBRARIES + 1) * PATH];

	snprintf(preload, sizeof(preload), "%s%s%s", libs, before == NULL ? "" : ":", before == NULL ? "" : before);
	if (setenv("LD_PRELOAD", preload, 1) != 0 || setenv(SHARE_ENV, at, 1) != 0)
		return refuse("%s", strerror(errno));
	execvp(argv[0], argv);
	return refuse("%s: %s", argv[0], strerror(errno));
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"attach", required_argument, NULL, 'a'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *at = getenv(SHARE_ENV);
	char libs[LIBRARIES * PATH], names[1024] = "";
	int c, n, quiet = 0;

	at = at == NULL || at[0] == '\0' ? SHARE_SOCKET : at;
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case 'a': at = optarg; break;
		case 'q': quiet = 1; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 1;
		}
	}
	if (optind == argc)
		return refuse("no program is named, as in: triplane-run ibv_devinfo");
	if (preloads(libs) != 0)
		return 1;
	n = devices(at, names, sizeof(names));
	if (n < 0)
		return 1;
	if (n == 0)
		return refuse("%s: no port has RoCE on; 'roce 0 on' of triplane, say", at);
	if (!quiet)
		fprintf(stderr, "triplane-run: %d device%s of %s:%s\n", n, n == 1 ? "" : "s", at, names);
	return run(at, libs, argv + optind);
}
