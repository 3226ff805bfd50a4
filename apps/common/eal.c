/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>

#include "choose.h"
#include "eal.h"
#include "machine.h"

static struct {
	const char *name;
	bool chose_cpus, warned;
	pid_t owner; /* of the folder; a child that exits leaves it */
	char folder[PATH_MAX];
	bool own_prefix;
} run;

/* --- CPUs ------------------------------------------------------------------------------------------------------- */

static void
say_shared(int cpu)
{
	if (!run.chose_cpus || run.warned)
		return;
	run.warned = true;
	fprintf(stderr,
		"%s: warning: CPU %d serves two busy lcores and no other is free: both are slow; --lcores chooses\n",
		run.name, cpu);
}

/* Of an lcore that is bound to one CPU; -1: it may run on several, or is none. */
static int
cpu_of(unsigned int lcore)
{
	rte_cpuset_t set = rte_lcore_cpuset(lcore);
	int cpu = 0;

	if (CPU_COUNT(&set) != 1)
		return -1;
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

void
app_cpu_take(unsigned int lcore)
{
	const int cpu = cpu_of(lcore);

	if (!cpu_claim(cpu))
		say_shared(cpu);
}

void
app_cpu_give(unsigned int lcore)
{
	cpu_release(cpu_of(lcore));
}

/* Free CPUs are held until some are chosen, so that each program finds others. */
static void
choose_with_cpus(const struct app_eal *app, const struct given *g, struct facts *f, struct choice *c)
{
	unsigned int i, k;
	int lock = cpus_lock();

	f->num_cpus = machine_cpus(f->cpu, CHOOSE_CPUS);
	for (i = 0; i < f->num_cpus; i++)
		f->taken[i] = !cpu_claim(f->cpu[i]);
	choose(app, g, f, c);
	for (i = 0; i < f->num_cpus; i++) {
		for (k = 0; k < c->num_cpus && c->cpu[k] != f->cpu[i]; k++)
			;
		if (k == c->num_cpus)
			cpu_release(f->cpu[i]);
	}
	cpus_unlock(lock);
	if (c->shared_cpu >= 0)
		say_shared(c->shared_cpu);
}

static void
keep_busy(unsigned int busy)
{
	unsigned int lcore, n = 1;

	if (busy > 0)
		app_cpu_take(rte_get_main_lcore());
	RTE_LCORE_FOREACH_WORKER(lcore)
	if (n++ < busy)
		app_cpu_take(lcore);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* What the EAL leaves in a folder that is nobody else's goes; one that has a name goes when it is empty. */
void
app_eal_remove_folder(void)
{
	struct dirent *e;
	DIR *d;

	if (run.folder[0] == '\0' || run.owner != getpid())
		return;
	d = run.own_prefix ? opendir(run.folder) : NULL;
	while (d != NULL && (e = readdir(d)) != NULL)
		unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		closedir(d);
	rmdir(run.folder);
}

/* --- why it does not start ---------------------------------------------------------------------------------------- */

/* The process that holds the prefix's configuration, 0: none. */
static pid_t
prefix_holder(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[PATH_MAX + 8];
	pid_t holder = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/config", rte_eal_get_runtime_dir());
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		holder = lock.l_pid;
	close(fd);
	return holder;
}

/* Of hugepages: whether they are what is missing. */
static bool
no_pages(const struct app_eal *app, const struct given *g, unsigned int mib, char error[APP_EAL_TEXT])
{
	char where[256] = "";
	bool writable, mounted = machine_mount(where, sizeof(where), &writable);

	if (!g->in_memory && !mounted)
		snprintf(error, APP_EAL_TEXT, "EAL does not start: no hugetlbfs: mount it, or --no-huge -m %u",
			 app->mem_mib);
	else if (!g->in_memory && !writable)
		snprintf(error, APP_EAL_TEXT,
			 "EAL does not start: the hugetlbfs %.200s is not this user's to write: --in-memory, or "
			 "--no-huge -m %u",
			 where, app->mem_mib);
	else if (!machine_pages(mib))
		snprintf(error, APP_EAL_TEXT,
			 "EAL does not start: %u MiB of hugepages are not free: reserve them (echo %u "
			 ">/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages), or --no-huge -m %u",
			 mib, (mib + 1) / 2, app->mem_mib);
	else
		return false;
	return true;
}

static void
explain(const struct app_eal *app, const struct given *g, const struct choice *c, int err, char error[APP_EAL_TEXT])
{
	const char *folder = rte_eal_get_runtime_dir();
	const unsigned int mib = g->mib != 0 ? g->mib : app->mem_mib;
	const bool ordinary = g->no_huge || c->no_huge;
	const pid_t holder = c->own_prefix || g->no_shconf ? 0 : prefix_holder();

	if (err == EINVAL)
		snprintf(error, APP_EAL_TEXT,
			 "EAL does not start with these arguments (those before \"--\"); what it says above tells "
			 "which");
	else if (holder != 0)
		snprintf(error, APP_EAL_TEXT,
			 "EAL does not start: prefix in use: process %ld has '%.64s': --file-prefix NAME gives another",
			 (long)holder, g->prefix_name);
	else if ((folder[0] == '\0' || access(folder, W_OK) != 0) && !c->own_prefix && !g->no_shconf)
		snprintf(error, APP_EAL_TEXT,
			 "EAL does not start: its folder %.200s cannot be written: set XDG_RUNTIME_DIR to one of this "
			 "user, "
			 "or --no-shconf",
			 folder);
	else if (ordinary && err == ENOMEM)
		snprintf(error, APP_EAL_TEXT, "EAL does not start: there are no %u MiB of memory; -m N says how many",
			 mib);
	else if (!ordinary && c->memory[0] == '\0' && no_pages(app, g, mib, error))
		return;
	else if (err != 0)
		snprintf(error, APP_EAL_TEXT, "EAL does not start: %s; its messages above say why", rte_strerror(err));
	else
		snprintf(error, APP_EAL_TEXT, "EAL does not start; its messages above say why");
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void
look_at_memory(const struct app_eal *app, const struct given *g, struct facts *f)
{
	char where[256];

	if (g->mode)
		return;
	f->pages = machine_pages(g->mib != 0 ? g->mib : app->mem_mib);
	machine_mount(where, sizeof(where), &f->mount);
}

int
app_eal_start(const struct app_eal *app, int argc, char **argv, char error[APP_EAL_TEXT])
{
	static struct facts f;
	static struct choice c;
	struct given g;
	char **all = calloc((size_t)argc + CHOOSE_WORDS + 1, sizeof(*all));
	unsigned int i;
	int n = 0, rc;

	if (all == NULL) {
		snprintf(error, APP_EAL_TEXT, "no memory");
		return -ENOMEM;
	}
	run.name = app->name;
	given_read(&g, argc, argv);
	run.chose_cpus = !g.cpus;
	f.pid = (long)getpid();
	look_at_memory(app, &g, &f);
	if (g.cpus)
		choose(app, &g, &f, &c);
	else
		choose_with_cpus(app, &g, &f, &c);
	if (c.memory[0] != '\0')
		fprintf(stderr, "%s: %s\n", app->name, c.memory);
	all[n++] = argv[0];
	for (i = 0; i < c.n; i++)
		all[n++] = c.word[i];
	for (i = 1; i < (unsigned int)argc; i++)
		all[n++] = argv[i];
	/* before the EAL says what it does at exit, so that this comes after it */
	run.owner = getpid();
	run.own_prefix = c.own_prefix;
	atexit(app_eal_remove_folder);
	rte_errno = 0;
	rc = rte_eal_init(n, all);
	snprintf(run.folder, sizeof(run.folder), "%s", rte_eal_get_runtime_dir());
	if (rc < 0) {
		explain(app, &g, &c, rte_errno, error);
		rc = rte_errno != 0 ? rte_errno : EIO;
	} else {
		rc = 0;
		keep_busy(app->busy);
	}
	free(all);
	return -rc;
}

static void
stand_still(void *arg)
{
	sem_post(arg);
	for (;;)
		pause();
}

/* No alarm: the clean-up waits for the one that runs. */
static bool
intr_stop(void)
{
	static sem_t still;
	struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	const int fd = eventfd(1, EFD_CLOEXEC);

	sem_init(&still, 0, 0);
	if (h == NULL || fd < 0 || rte_intr_fd_set(h, fd) != 0 || rte_intr_type_set(h, RTE_INTR_HANDLE_EXT) != 0 ||
	    rte_intr_callback_register(h, stand_still, &still) != 0) {
		rte_intr_instance_free(h);
		close(fd);
		return false;
	}
	while (sem_wait(&still) != 0)
		;
	return true;
}

void
app_eal_end(void)
{
	if (intr_stop())
		rte_eal_cleanup();
}
