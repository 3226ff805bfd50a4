/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * "PROGRAM NAME [ARGUMENT...]" runs the test file test_NAME.c. The files of a folder that need the same libraries are one
 * program, since 150 programs take longer to link than their tests take to run. Each run is a process of its own, and
 * executes one file only.
 */
#include <stdio.h>
#include <string.h>

#include "part.h"

static struct unit_part *parts;

void
unit_part_add(struct unit_part *part)
{
	part->next = parts;
	parts = part;
}

int
main(int argc, char **argv)
{
	const struct unit_part *p;

	if (argc < 2) {
		fprintf(stderr, "usage: %s NAME [ARGUMENT...]; its names:\n", argv[0]);
		for (p = parts; p != NULL; p = p->next)
			fprintf(stderr, "  %s\n", p->name);
		return 2;
	}
	for (p = parts; p != NULL; p = p->next) {
		if (strcmp(p->name, argv[1]) == 0)
			return p->run(argc - 1, argv + 1);
	}
	fprintf(stderr, "%s has no test '%s'; without a name it lists them\n", argv[0], argv[1]);
	return 2;
}
