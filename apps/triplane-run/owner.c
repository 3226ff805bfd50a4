/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * An owner of one's own: a triplane that shares its ports. A keeper stands between it and this process: it lives until the owner
 * is gone and its folder removed, also when this process is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define MEM_MIB "512"
#define ARGS 24
#define LINE 8192
#define END_MS 30000 /* how long an owner may take to end */
#define PORTS 64u

struct keeper {
	const struct run_owner *conf;
	char dir[RUN_SOCKET - 16];
	const char *socket;
	pid_t owner;
	int fd;           /* to the process that wants the owner */
	int in, out, err; /* of the owner */
	char line[LINE];  /* of what it says, whose end has not come */
	size_t len;
	bool shares;
	bool complained; /* it has said what is wrong */
};

bool
run_addr(const char *text)
{
	unsigned char bin[16];
	char addr[INET6_ADDRSTRLEN], *slash, *end;
	unsigned long len;
	int family;

	if (strlen(text) >= sizeof(addr))
		return false;
	strcpy(addr, text);
	slash = strchr(addr, '/');
	if (slash == NULL || slash[1] < '0' || slash[1] > '9')
		return false;
	*slash = '\0';
	family = strchr(addr, ':') != NULL ? AF_INET6 : AF_INET;
	len = strtoul(slash + 1, &end, 10);
	return *end == '\0' && len >= 1 && len <= (family == AF_INET6 ? 128 : 32) && inet_pton(family, addr, bin) == 1;
}

/* --- the owner ----------------------------------------------------------------------------------------------------- */

/* Both lcores sleep until there is something; they may do that wherever this process may run. */
static void
lcores(char *text, size_t size)
{
	char list[1024];
	size_t used = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE && used < sizeof(list) - 8; i++)
		if (CPU_ISSET(i, &set))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", used == 0 ? "" : ",", i);
	if (used == 0)
		snprintf(list, sizeof(list), "0");
	snprintf(text, size, "0@(%s),1@(%s)", list, list);
}

static void
owner_exec(const struct keeper *k, const char *path)
{
	char cpus[2100], prefix[64];
	const char *argv[ARGS + RUN_VDEVS] = {"triplane", "--no-huge", "-m", MEM_MIB, "--no-shconf", "--no-telemetry",
					      "--log-level=*:error",
					      /* It warns of ports that cannot be shared. */
					      "--log-level=lib.roce:warning", "--lcores", cpus, prefix, "--no-pci"};
	unsigned int n = 12;

	lcores(cpus, sizeof(cpus));
	snprintf(prefix, sizeof(prefix), "--file-prefix=run%d", getpid());
	for (unsigned int i = 0; i < k->conf->num_vdevs; i++)
		argv[n++] = k->conf->vdev[i];
	if (setenv("RUNTIME_DIRECTORY", k->dir, 1) == 0)
		execv(path, (char *const *)(uintptr_t)argv);
	run_refuse("%s: %s", path, strerror(errno));
	_exit(RUN_EXIT);
}

/* 0 or RUN_EXIT, said. */
static int
owner_fork(struct keeper *k, const char *path)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
	const pid_t self = getpid();

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
		return run_refuse("no pipe to the owner: %s", strerror(errno));
	k->owner = fork();
	if (k->owner < 0)
		return run_refuse("no owner can be started: %s", strerror(errno));
	if (k->owner == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self || dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
		    dup2(err[1], STDERR_FILENO) < 0)
			_exit(RUN_EXIT);
		owner_exec(k, path);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	k->in = in[1];
	k->out = out[0];
	k->err = err[0];
	/* An owner that has ended is seen by what it no longer says. */
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* What keeps it from sharing is for the user. What it says later of programs' wrong requests the programs are told, too. */
static void
complaints(struct keeper *k)
{
	char text[LINE + 1];
	ssize_t n = read(k->err, text, sizeof(text) - 1);

	if (n <= 0) {
		close(k->err);
		k->err = -1;
		return;
	}
	text[n] = '\0';
	k->complained |= strncmp(text, "error:", 6) == 0 || strstr(text, "\nerror:") != NULL;
	if (!k->shares)
		(void)!write(STDERR_FILENO, text, (size_t)n);
}

static void
talk(struct keeper *k)
{
	ssize_t n = read(k->out, k->line + k->len, sizeof(k->line) - 1 - k->len);

	if (n <= 0) {
		close(k->out);
		k->out = -1;
		return;
	}
	k->len += (size_t)n;
	k->line[k->len] = '\0';
	/* Longer than anything that is asked for: not an answer. */
	if (k->len == sizeof(k->line) - 1 && strchr(k->line, '\n') == NULL)
		k->len = 0;
}

static bool
readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, 0) == 1;
}

static void tell(struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void
tell(struct keeper *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vdprintf(k->in, fmt, ap);
	va_end(ap);
}

/* The next document of JSON into text; what was said of errors before has been read then. False: none will come. */
static bool
ask(struct keeper *k, const char *question, char text[LINE])
{
	char *end;

	tell(k, "%s json\n", question);
	for (;;) {
		struct pollfd p[3] = {
			{.fd = k->fd}, {.fd = k->out, .events = POLLIN}, {.fd = k->err, .events = POLLIN}};

		while (k->len != 0 && (end = strchr(k->line, '\n')) != NULL) {
			*end = '\0';
			snprintf(text, LINE, "%s", k->line);
			k->len -= (size_t)(end + 1 - k->line);
			memmove(k->line, end + 1, k->len + 1);
			if (text[0] != '{')
				continue;
			while (readable(k->err))
				complaints(k);
			return true;
		}
		if (k->out < 0 || (poll(p, 3, -1) < 0 && errno != EINTR) || p[0].revents != 0)
			return false;
		if (p[1].revents != 0)
			talk(k);
		if (p[2].revents != 0)
			complaints(k);
	}
}

/* 0 or RUN_EXIT, said. */
static int
owner_share(struct keeper *k)
{
	unsigned int port[PORTS] = {0}, n = 0;
	char text[LINE];

	if (!ask(k, "show roce devices", text))
		return RUN_EXIT;
	for (const char *at = strstr(text, "\"port\":"); at != NULL && n < PORTS; at = strstr(at + 1, "\"port\":"))
		port[n++] = (unsigned int)strtoul(at + 7, NULL, 10);
	if (k->conf->num_addrs > n)
		return run_refuse("--addr: %u addresses, and %u port%s that can have one", k->conf->num_addrs, n,
				  n == 1 ? "" : "s");
	/* The program needs the CPU, and nothing else comes to these ports. */
	tell(k, "set fwd rxonly\nset setting program idle-sleep 200\n");
	for (unsigned int i = 0; i < n; i++)
		tell(k, "roce %u on\n", port[i]);
	for (unsigned int i = 0; i < k->conf->num_addrs; i++)
		tell(k, "roce addr add %u %s\n", port[i], k->conf->addr[i]);
	tell(k, "start\nshare on %s\n", k->socket);
	return ask(k, "show share", text) && strstr(text, "\"shared\":true") != NULL && !k->complained ? 0 : RUN_EXIT;
}

/* Its exit code; 128 and the signal that ended it. */
static int
owner_end(struct keeper *k)
{
	int status;

	close(k->in);
	while (k->out >= 0 || k->err >= 0) {
		struct pollfd p[2] = {{.fd = k->out, .events = POLLIN}, {.fd = k->err, .events = POLLIN}};

		if (poll(p, 2, END_MS) == 0) {
			kill(k->owner, SIGKILL);
			break;
		}
		k->len = 0;
		if (p[0].revents != 0)
			talk(k);
		if (p[1].revents != 0)
			complaints(k);
	}
	if (waitpid(k->owner, &status, 0) != k->owner)
		return RUN_EXIT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- the keeper ---------------------------------------------------------------------------------------------------- */

/* Until nobody wants the owner any more, or it has ended. */
static void
keep(struct keeper *k)
{
	while (k->out >= 0) {
		struct pollfd p[3] = {
			{.fd = k->fd}, {.fd = k->out, .events = POLLIN}, {.fd = k->err, .events = POLLIN}};

		if (poll(p, 3, -1) < 0)
			continue;
		if (p[0].revents != 0)
			return;
		k->len = 0;
		if (p[1].revents != 0)
			talk(k);
		if (p[2].revents != 0)
			complaints(k);
	}
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	(void)remove(path);
	return 0;
}

static void
remove_all(const char *dir)
{
	(void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
keeper_main(struct keeper *k, const char *path)
{
	int rc;

	/* What a terminal sends is for the program. */
	(void)setpgid(0, 0);
	rc = owner_fork(k, path);
	if (rc == 0) {
		rc = owner_share(k);
		if (rc == 0) {
			k->shares = true;
			(void)!write(k->fd, "y", 1);
			keep(k);
		}
		rc |= owner_end(k);
	}
	remove_all(k->dir);
	_exit(rc);
}

static int
folder(char *dir, size_t size)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	const char *where = run != NULL && access(run, W_OK) == 0 ? run : tmp != NULL ? tmp : "/tmp";

	if ((size_t)snprintf(dir, size, "%s/triplane-run-XXXXXX", where) >= size)
		return run_refuse("folder '%s' has more than %zu characters", where, size - 21);
	return mkdtemp(dir) != NULL ? 0 : run_refuse("%s: %s", dir, strerror(errno));
}

/* The folder is the keeper's, once there is one. 0 or RUN_EXIT, said. */
static int
keeper_fork(struct keeper *k, const char *path, struct run_kept *kept)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return run_refuse("no owner can be started: %s", strerror(errno));
	kept->keeper = fork();
	if (kept->keeper == 0) {
		close(fds[0]);
		k->fd = fds[1];
		keeper_main(k, path);
	}
	if (kept->keeper < 0)
		run_refuse("no owner can be started: %s", strerror(errno));
	close(fds[1]);
	kept->fd = fds[0];
	if (kept->keeper > 0)
		return 0;
	close(kept->fd);
	return RUN_EXIT;
}

int
run_owner_start(const struct run_owner *conf, struct run_kept *kept)
{
	/* Beside this one, as installed; or as built. */
	static const char *const places[] = {"triplane", "../triplane"};
	struct keeper k = {.conf = conf, .socket = kept->socket};
	char path[RUN_PATH], shares;

	if (run_find("triplane", places, 2, path) != 0 || folder(k.dir, sizeof(k.dir)) != 0)
		return RUN_EXIT;
	snprintf(kept->socket, sizeof(kept->socket), "%s/share", k.dir);
	if (keeper_fork(&k, path, kept) != 0) {
		remove_all(k.dir);
		return RUN_EXIT;
	}
	if (read(kept->fd, &shares, 1) == 1)
		return 0;
	close(kept->fd);
	(void)waitpid(kept->keeper, NULL, 0);
	return run_refuse("the owner that was started shares no port");
}

int
run_owner_end(struct run_kept *kept)
{
	int status = 0;

	close(kept->fd);
	(void)waitpid(kept->keeper, &status, 0);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return status == 0 ? 0 : run_refuse("the owner that was started ended with exit code %d", status);
}
