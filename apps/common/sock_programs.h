/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Programs with sockets on shared ports, as they have written it down themselves. */
#ifndef APPS_COMMON_SOCK_PROGRAMS_H
#define APPS_COMMON_SOCK_PROGRAMS_H

#include "lib/sock/page/page.h"

struct programs {
	struct sock_page **one;
	unsigned int num;
};

/* Adds those that have counters and may be looked at, in the order of their ids; pid: that one alone, 0: all. */
void programs_read(int pid, struct programs *p);
void programs_zero(struct programs *p);
void programs_free(struct programs *p);

#endif /* APPS_COMMON_SOCK_PROGRAMS_H */
