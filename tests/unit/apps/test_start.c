/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a program adds to the EAL's arguments: memory, prefix and CPUs that its user leaves open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "apps/common/choose.h"

enum { PAGES = 1, MOUNT = 2 };

/* Words added to "prog ARGS" where CPUs are "free" or "taken", one letter each; all in one line. */
static const char *
added(unsigned int busy, const char *args, unsigned int machine, const char *cpus, struct choice *c)
{
	static char line[CHOOSE_WORD];
	const struct app_eal app = {.name = "prog", .mem_mib = 256, .busy = busy};
	struct facts f = {.pages = (machine & PAGES) != 0, .mount = (machine & MOUNT) != 0, .pid = 77};
	char text[256], *argv[32] = {text}, *save = NULL, *w;
	struct given g;
	unsigned int i;
	int argc = 1;

	snprintf(text, sizeof(text), "prog %s", args);
	for (w = strtok_r(text + 5, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	for (; cpus[f.num_cpus] != '\0'; f.num_cpus++) {
		f.cpu[f.num_cpus] = (int)(2 * f.num_cpus); /* those with odd numbers are not for this process */
		f.taken[f.num_cpus] = cpus[f.num_cpus] == 't';
	}
	given_read(&g, argc, argv);
	choose(&app, &g, &f, c);
	line[0] = '\0';
	for (i = 0; i < c->n; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i == 0 ? "" : " ", c->word[i]);
	return line;
}

#define OWN "--file-prefix=prog77"

static void
memory(void **state)
{
	static const struct {
		const char *args;
		unsigned int machine;
		const char *want;
		bool says;
	} row[] = {
		{"", 0, "--no-huge -m 256 --no-shconf " OWN, true},
		{"", PAGES, "--in-memory " OWN, true},
		{"", MOUNT, "--no-huge -m 256 --no-shconf " OWN, true},
		{"", PAGES | MOUNT, "--in-memory " OWN, true},
		/* the user's number, prefix and folders */
		{"-m 900", 0, "--no-huge --no-shconf " OWN, true},
		{"-m900", PAGES, "--in-memory " OWN, true},
		{"--no-shconf", 0, "--no-huge -m 256 " OWN, true},
		{"--file-prefix x", 0, "--no-huge -m 256", true},
		{"--file-prefix=x", PAGES, "--in-memory", true},
		{"--file-prefix=x", PAGES | MOUNT, "", false},
		{"--file-pre=x", PAGES | MOUNT, "", false},
		/* the user's memory */
		{"--no-huge", PAGES, "-m 256 --no-shconf " OWN, false},
		{"--no-hu -m 64", PAGES, "--no-shconf " OWN, false},
		{"--no-huge -m 64 --file-prefix=x", 0, "", false},
		{"--in-memory", 0, OWN, false},
		{"--huge-dir /mnt", PAGES, "", false},
		{"--socket-mem=64", PAGES, "", false},
		{"--legacy-mem", 0, "", false},
		/* others are to attach, or it attaches */
		{"--proc-type=primary", PAGES, "", false},
		{"--proc-type secondary", PAGES, "", false},
		{"--proc-type=primary --no-huge", PAGES, "-m 256 --no-shconf", false},
		/* not options, though they look like some */
		{"--no-pci --no-hpet --log-level=m", PAGES, "--in-memory " OWN, true},
	};
	struct choice c;
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		assert_string_equal(added(1, row[i].args, row[i].machine, "", &c), row[i].want);
		assert_int_equal(c.memory[0] != '\0', row[i].says);
	}
	added(1, "-m 900", 0, "", &c);
	assert_string_equal(c.memory, "memory: --no-huge -m 900 (900 MiB of hugepages are not free)");
}

static void
cpus(void **state)
{
	static const struct {
		unsigned int busy;
		const char *args, *cpus, *want;
		int shared;
	} row[] = {
		{1, "", "ff", "--lcores=0@0", -1},
		{1, "", "tf", "--lcores=0@2", -1},
		{1, "", "ttft", "--lcores=0@4", -1},
		{1, "", "tt", "--lcores=0@0", 0},
		{2, "", "ff", "--lcores=0@0,1@2", -1},
		{2, "", "tff", "--lcores=0@2,1@4", -1},
		{2, "", "ft", "--lcores=0@0,1@2", 2},
		{2, "", "tf", "--lcores=0@2,1@0", 0},
		{2, "", "f", "--lcores=0@0,1@0", 0},
		{5, "", "ff", "--lcores=0@0,1@2,2@0,3@2,4@0", 0},
		{2, "", "t", "--lcores=0@0,1@0", 0},
		/* the user's */
		{1, "-l 0", "tf", "", -1},
		{1, "-c3", "tf", "", -1},
		{1, "--lcores 0@0", "tf", "", -1},
		{1, "--main-lcore=0", "tf", "", -1},
		{1, "-S 1", "tf", "", -1},
		/* the main lcore sleeps where another program works, workers are elsewhere */
		{0, "", "ff", "", -1},
		{0, "", "tf", "--main-lcore=0 -l 0,2", -1},
		{0, "", "ft", "--main-lcore=2 -l 0,2", -1},
		{0, "", "ttff", "--main-lcore=0 -l 0,4,6", -1},
		{0, "", "tt", "", -1},
		{0, "-l 0,2", "ft", "", -1},
	};
	struct choice c;
	char args[128];
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		snprintf(args, sizeof(args), "--proc-type=primary %s", row[i].args);
		assert_string_equal(added(row[i].busy, args, 0, row[i].cpus, &c), row[i].want);
		assert_int_equal(c.shared_cpu, row[i].shared);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(memory), cmocka_unit_test(cpus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
