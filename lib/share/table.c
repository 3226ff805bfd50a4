/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a guest has, by the numbers that it was given. */
#include <errno.h>
#include <stdlib.h>

#include "share_priv.h"

#define STEP 64u

int
share_obj_room(struct share_guest *s, enum share_kind kind)
{
	static const enum tp_share_limit of[SHARE_KINDS] = {[SHARE_QP] = TP_SHARE_QPS,
							    [SHARE_CQ] = TP_SHARE_CQS,
							    [SHARE_SRQ] = TP_SHARE_SRQS,
							    [SHARE_MR] = TP_SHARE_REGIONS,
							    [SHARE_AH] = TP_SHARE_AHS};
	unsigned int all = 0;
	int err;

	for (unsigned int i = 0; i < SHARE_KINDS; i++)
		all += s->count[i];
	err = share_limit(s, TP_SHARE_OBJECTS, all, 1);
	if (err == 0 && of[kind] != 0)
		err = share_limit(s, of[kind], s->count[kind], 1);
	return err;
}

/* Objects stay where they are, since threads that tell of events have their addresses. */
static uint32_t
place(struct share_guest *s)
{
	struct share_obj **all;
	uint32_t i;

	for (i = 0; i < s->num_obj && s->obj[i] != NULL; i++)
		;
	if (i < s->num_obj)
		return i;
	all = realloc(s->obj, (s->num_obj + STEP) * sizeof(struct share_obj *));
	if (all == NULL)
		return UINT32_MAX;
	for (i = 0; i < STEP; i++)
		all[s->num_obj + i] = NULL;
	s->obj = all;
	s->num_obj += STEP;
	return s->num_obj - STEP;
}

uint32_t
share_obj_new(struct share_guest *s, enum share_kind kind, void *obj)
{
	struct share_obj *o = calloc(1, sizeof(*o));
	uint32_t at = o == NULL ? UINT32_MAX : place(s);

	if (at == UINT32_MAX) {
		free(o);
		return 0;
	}
	o->kind = kind;
	o->obj = obj;
	s->obj[at] = o;
	s->count[kind]++;
	return at + 1;
}

struct share_obj *
share_obj_of(const struct share_guest *s, enum share_kind kind, uint32_t handle)
{
	struct share_obj *o;

	if (handle == 0 || handle > s->num_obj)
		return NULL;
	o = s->obj[handle - 1];
	return o != NULL && o->kind == kind ? o : NULL;
}

void
share_obj_drop(struct share_guest *s, uint32_t handle)
{
	s->count[s->obj[handle - 1]->kind]--;
	free(s->obj[handle - 1]);
	s->obj[handle - 1] = NULL;
}
