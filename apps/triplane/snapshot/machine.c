/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include "snapshot.h"

/* What stands behind NAME and ':' in a file of such lines. False: nothing. */
static bool
line_of(const char *path, const char *name, char *value, size_t len)
{
	const size_t n = strlen(name);
	FILE *f = fopen(path, "r");
	char line[512], *p;
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
		p = line + n;
		if (strncmp(line, name, n) != 0 || strspn(p, " \t") != strcspn(p, ":"))
			continue;
		p += strcspn(p, ":");
		p += *p == ':';
		p += strspn(p, " \t");
		p[strcspn(p, "\n")] = '\0';
		snprintf(value, len, "%s", p);
		found = true;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

static void
tell(struct out *o, const char *key, const char *path, const char *name)
{
	char value[256];

	if (line_of(path, name, value, sizeof(value)))
		out_str(o, key, value);
}

void
snapshot_machine(struct out *o)
{
	static const char meminfo[] = "/proc/meminfo";
	char text[1024] = "", host[256] = "";
	struct timespec up;
	struct utsname u;
	unsigned int i;
	FILE *f;

	gethostname(host, sizeof(host) - 1);
	out_str(o, "host", host);
	if (uname(&u) == 0) {
		snprintf(text, sizeof(text), "%s %s %s", u.sysname, u.release, u.machine);
		out_str(o, "kernel", text);
	}
	tell(o, "processor", "/proc/cpuinfo", "model name");
	out_u64(o, "cpus_online", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	tell(o, "cpus_allowed", "/proc/self/status", "Cpus_allowed_list");
	tell(o, "memory_total", meminfo, "MemTotal");
	tell(o, "memory_available", meminfo, "MemAvailable");
	tell(o, "hugepages_total", meminfo, "HugePages_Total");
	tell(o, "hugepages_free", meminfo, "HugePages_Free");
	tell(o, "hugepage_size", meminfo, "Hugepagesize");
	if (clock_gettime(CLOCK_BOOTTIME, &up) == 0)
		out_u64(o, "uptime_seconds", (uint64_t)up.tv_sec);
	out_str(o, "dpdk", rte_version());
	out_u64(o, "lcores", rte_lcore_count());
	out_u64(o, "numa_nodes", rte_socket_count());
	out_u64(o, "pid", (uint64_t)getpid());
	out_str(o, "runtime_folder", rte_eal_get_runtime_dir());
	f = fopen("/proc/self/cmdline", "r");
	i = f == NULL ? 0 : (unsigned int)fread(text, 1, sizeof(text) - 1, f);
	text[i] = '\0';
	while (i > 0)
		if (text[--i] == '\0')
			text[i] = ' ';
	if (f != NULL)
		fclose(f);
	i = (unsigned int)strlen(text);
	if (i > 0 && text[i - 1] == ' ')
		text[i - 1] = '\0';
	out_str(o, "command_line", text);
}
