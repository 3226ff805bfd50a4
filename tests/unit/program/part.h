/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A test file that is one of many in a program: its main() goes by a name. */
#ifndef UNIT_PART_H
#define UNIT_PART_H

struct unit_part {
	const char *name;
	int (*run)(int argc, char **argv);
	struct unit_part *next;
};

/* Called before main(). */
void unit_part_add(struct unit_part *part);

static inline int
unit_run_plain(int (*run)(void), int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return run();
}

static inline int
unit_run_args(int (*run)(int argc, char **argv), int argc, char **argv)
{
	return run(argc, argv);
}

/* text: what the command line calls it; function: its main(), of either kind. */
#define UNIT_PART(text, function)                                                                                      \
	static int unit_part_run(int argc, char **argv)                                                                \
	{                                                                                                              \
		return _Generic(&(function), int (*)(void)                                                             \
				: unit_run_plain, default                                                              \
				: unit_run_args)(&(function), argc, argv);                                             \
	}                                                                                                              \
	__attribute__((constructor)) static void unit_part_enter(void)                                                 \
	{                                                                                                              \
		static struct unit_part part = {.name = text, .run = unit_part_run};                                   \
                                                                                                                       \
		unit_part_add(&part);                                                                                  \
	}

#endif
