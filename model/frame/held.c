/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames that are kept longer than the call that brought them. */
#include <stdlib.h>

#include "frame.h"

struct tpm_held *
tpm_hold(const struct tp_frame *f)
{
	struct tpm_held *h = malloc(sizeof(*h) + f->len);

	if (h == NULL)
		return NULL;
	*h = (struct tpm_held){.len = f->len, .flags = f->flags};
	tpm_frame_copy(f, 0, h->data, f->len);
	return h;
}

void
tpm_held_add(struct tpm_held_list *l, struct tpm_held *h)
{
	h->next = NULL;
	if (l->tail != NULL)
		l->tail->next = h;
	else
		l->head = h;
	l->tail = h;
	l->count++;
}

struct tpm_held *
tpm_held_take(struct tpm_held_list *l)
{
	struct tpm_held *h = l->head;

	l->head = h->next;
	if (l->head == NULL)
		l->tail = NULL;
	l->count--;
	return h;
}

void
tpm_held_clear(struct tpm_held_list *l)
{
	while (l->head != NULL)
		free(tpm_held_take(l));
}
