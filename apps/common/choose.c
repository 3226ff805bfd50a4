/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_config.h>

#include "choose.h"

/* The EAL's options that leave nothing to choose here, and what they settle. */
enum settles {
	MODE = 1,
	UNSHARED = 2,
	PRIMARY = 4,
	CPUS = 8,
	NO_HUGE = 16,
	IN_MEMORY = 32,
	NO_SHCONF = 64,
	PREFIX = 128,
	MIB = 256
};

static const struct {
	const char *name;
	unsigned int settles;
} options[] = {
	{"no-huge", MODE | UNSHARED | NO_HUGE},
	{"in-memory", MODE | UNSHARED | IN_MEMORY},
	{"huge-unlink", MODE},
	{"huge-dir", MODE},
	{"socket-mem", MODE},
	{"socket-limit", MODE},
	{"legacy-mem", MODE},
	{"single-file-segments", MODE},
	{"match-allocations", MODE},
	{"proc-type", MODE | PRIMARY},
	{"file-prefix", PREFIX},
	{"no-shconf", NO_SHCONF},
	{"lcores", CPUS},
	{"main-lcore", CPUS},
	{"m", MIB},
	{"l", CPUS},
	{"c", CPUS},
	{"s", CPUS},
	{"S", CPUS},
};

/*
 * Long options may be cut short as getopt_long() has it. A value may follow in the same word.
 * @return where the value begins in the word, NULL: it is not this option. The value may be "": it is the next word.
 */
static const char *
option_value(const char *word, const char *name)
{
	size_t len;

	if (name[1] == '\0')
		return word[0] == '-' && word[1] == name[0] ? word + 2 : NULL;
	if (strncmp(word, "--", 2) != 0)
		return NULL;
	word += 2;
	len = strcspn(word, "=");
	/* what is shorter than four letters, such as --no, means several options, and the EAL refuses it */
	if (len > strlen(name) || len < RTE_MIN(strlen(name), 4u) || strncmp(word, name, len) != 0)
		return NULL;
	return word[len] == '=' ? word + len + 1 : word + len;
}

static void
settle(struct given *g, unsigned int what, const char *value)
{
	g->mode |= (what & MODE) != 0;
	g->unshared |= (what & UNSHARED) != 0;
	g->no_huge |= (what & NO_HUGE) != 0;
	g->in_memory |= (what & IN_MEMORY) != 0;
	g->primary |= (what & PRIMARY) != 0;
	g->no_shconf |= (what & NO_SHCONF) != 0;
	g->cpus |= (what & CPUS) != 0;
	if ((what & PREFIX) != 0) {
		g->prefix = true;
		g->prefix_name = value;
	}
	if ((what & MIB) != 0)
		g->mib = (unsigned int)strtoul(value, NULL, 10);
}

void
given_read(struct given *g, int argc, char **argv)
{
	const char *value;
	unsigned int k;
	int i;

	*g = (struct given){.prefix_name = "rte"};
	for (i = 1; i < argc; i++) {
		for (k = 0; k < RTE_DIM(options); k++) {
			value = option_value(argv[i], options[k].name);
			if (value == NULL)
				continue;
			if (value[0] == '\0' && i + 1 < argc)
				value = argv[i + 1];
			settle(g, options[k].settles, value);
		}
	}
}

static void __rte_format_printf(2, 3) add(struct choice *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->word[c->n++], CHOOSE_WORD, fmt, ap);
	va_end(ap);
}

static void
add_ordinary(const struct app_eal *app, const struct given *g, struct choice *c)
{
	if (g->mib == 0) {
		add(c, "-m");
		add(c, "%u", app->mem_mib);
	}
	if (!g->no_shconf && !g->prefix)
		add(c, "--no-shconf");
}

/* Memory, and whether it is the process's own. */
static bool
choose_memory(const struct app_eal *app, const struct given *g, const struct facts *f, struct choice *c)
{
	const unsigned int mib = g->mib != 0 ? g->mib : app->mem_mib;

	if (g->no_huge)
		add_ordinary(app, g, c);
	if (g->mode)
		return g->unshared;
	/* A prefix that is named is for others to find: what can be shared stays so. */
	if (g->prefix && f->mount && f->pages)
		return false;
	if (f->pages) {
		add(c, "--in-memory");
		snprintf(c->memory, sizeof(c->memory), "memory: hugepages");
		return true;
	}
	c->no_huge = true;
	add(c, "--no-huge");
	add_ordinary(app, g, c);
	snprintf(c->memory, sizeof(c->memory), "memory: --no-huge -m %u (%u MiB of hugepages are not free)", mib, mib);
	return true;
}

/* CPUs that are free first, then others. One serves several lcores when there are no more. */
static void
choose_busy(const struct app_eal *app, const struct facts *f, struct choice *c)
{
	const unsigned int want = RTE_MIN(app->busy, CHOOSE_BUSY);
	char list[CHOOSE_WORD] = "";
	unsigned int pass, i;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < f->num_cpus && c->num_cpus < want; i++) {
			if (f->taken[i] != (pass == 1))
				continue;
			c->cpu[c->num_cpus++] = f->cpu[i];
			if (pass == 1)
				c->shared_cpu = f->cpu[i];
		}
	}
	for (i = 0; c->num_cpus < want; i++) {
		c->shared_cpu = c->cpu[0];
		c->cpu[c->num_cpus++] = c->cpu[i];
	}
	for (i = 0; i < want; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u@%d", i == 0 ? "" : ",", i, c->cpu[i]);
	add(c, "--lcores=%s", list);
}

/* All CPUs work but that of the main lcore, which sleeps: on a CPU that is taken, if there is one. Others that are taken
 * are left alone. */
static void
choose_workers(const struct facts *f, struct choice *c)
{
	char list[CHOOSE_WORD] = "";
	unsigned int i, taken = 0, at = 0;

	for (i = 0; i < f->num_cpus; i++) {
		if (!f->taken[i])
			continue;
		at = taken++ == 0 ? i : at;
	}
	if (taken == 0 || taken == f->num_cpus)
		return; /* as the EAL does */
	for (i = 0; i < f->num_cpus; i++)
		if (i == at || !f->taken[i])
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%d", list[0] == '\0' ? "" : ",",
				 f->cpu[i]);
	add(c, "--main-lcore=%d", f->cpu[at]);
	add(c, "-l");
	add(c, "%s", list);
}

void
choose(const struct app_eal *app, const struct given *g, const struct facts *f, struct choice *c)
{
	*c = (struct choice){.shared_cpu = -1};
	c->own_prefix = choose_memory(app, g, f, c) && !g->prefix && !g->primary;
	if (c->own_prefix)
		add(c, "--file-prefix=%s%ld", app->name, f->pid);
	if (g->cpus || f->num_cpus == 0)
		return;
	if (app->busy > 0)
		choose_busy(app, f, c);
	else
		choose_workers(f, c);
}
