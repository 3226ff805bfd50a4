/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The list of a port's rules. */
#include "flow_rules.h"

#include <stdlib.h>
#include <string.h>

#include "apps/triplane/app/app.h"

struct app_flow *
flow_room(const char *text)
{
	struct app_flow *f = calloc(1, sizeof(*f) + strlen(text) + 1);

	if (f != NULL)
		strcpy(f->text, text);
	return f;
}

void
flow_add(struct app_port *p, struct app_flow *f)
{
	struct app_flow **at = &p->flows;

	f->id = p->flow_ids++;
	while (*at != NULL)
		at = &(*at)->next;
	*at = f;
}

struct app_flow **
flow_find(struct app_port *p, uint64_t id)
{
	struct app_flow **at = &p->flows;

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

void
flows_forget(struct app_port *p)
{
	while (p->flows != NULL) {
		struct app_flow *f = p->flows;

		p->flows = f->next;
		free(f);
	}
}
