/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * snapshot FILE: all that is shown, in one page. gather.c makes one document of JSON, by the commands that show things; page.c
 * makes a page of that document, so that both say the same.
 */
#ifndef TRIPLANE_SNAPSHOT_SNAPSHOT_H
#define TRIPLANE_SNAPSHOT_SNAPSHOT_H

#include "apps/common/page.h"
#include "apps/triplane/app/app.h"
#include "apps/triplane/cli/out.h"
#include "lib/metrics/json.h"

int cmd_snapshot_register(struct app *app);

/* A part of the document, and a heading of the page. */
struct snapshot_part {
	const char *name, *title;
	const char *command; /* what shows it; NULL: it is made here */
	bool folded;         /* on the page, until it is opened */
};
extern const struct snapshot_part snapshot_parts[];
extern const unsigned int snapshot_num_parts;

/* gather.c: the document, of malloc. ms: between two looks at the counters. 0 or a negative errno. */
int snapshot_gather(struct app *app, unsigned int ms, char **text, size_t *len);

/* machine.c: what it runs on, as members of an object. */
void snapshot_machine(struct out *o);

/* page.c: the page of a document, whose text goes into it as it is. */
void snapshot_page(FILE *f, const struct mj *doc, const char *text, size_t len);

/* plot.c: a small picture of one series of "points" (objects with "age" and the series), as SVG. */
void snapshot_plot(FILE *f, const struct mj *points, const char *series, const char *title);

#endif /* TRIPLANE_SNAPSHOT_SNAPSHOT_H */
