/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A thread that works for another program says no more than so much of what that program does wrong, or the program could fill the
 * disk on which the log is. While it is hushed, neither the library nor the card's driver write lines of this thread; they are
 * counted all the same.
 */
#ifndef ROCE_PORT_HUSH_H
#define ROCE_PORT_HUSH_H

#include <stdbool.h>

struct troce_talk {
	bool hush;
	unsigned int lines; /* so far, those that were written and those that were not */
};
extern __thread struct troce_talk troce_talk;

#endif /* ROCE_PORT_HUSH_H */
