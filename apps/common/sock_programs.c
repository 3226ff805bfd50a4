/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Programs that have counters. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#include "sock_programs.h"

static void
look_at(struct programs *p, int pid)
{
	struct sock_page *one = sock_page_of(pid), **all;

	if (one == NULL)
		return;
	all = realloc(p->one, (p->num + 1) * sizeof(*all));
	if (all == NULL) {
		sock_page_free(one);
		return;
	}
	p->one = all;
	p->one[p->num++] = one;
}

static int
by_pid(const void *a, const void *b)
{
	const struct sock_page *x = *(struct sock_page *const *)a, *y = *(struct sock_page *const *)b;

	return x->stat.pid < y->stat.pid ? -1 : x->stat.pid > y->stat.pid;
}

void
programs_read(int pid, struct programs *p)
{
	DIR *d = pid == 0 ? opendir("/proc") : NULL;
	struct dirent *e;

	if (pid != 0)
		look_at(p, pid);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			look_at(p, atoi(e->d_name));
	if (d != NULL)
		closedir(d);
	if (p->num > 1)
		qsort(p->one, p->num, sizeof(*p->one), by_pid);
}

void
programs_zero(struct programs *p)
{
	for (unsigned int i = 0; i < p->num; i++)
		sock_page_zero(p->one[i]);
}

void
programs_free(struct programs *p)
{
	for (unsigned int i = 0; i < p->num; i++)
		sock_page_free(p->one[i]);
	free(p->one);
	*p = (struct programs){0};
}
