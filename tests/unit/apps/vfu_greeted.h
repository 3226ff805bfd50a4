/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A served card that has been greeted, for each case of a test. */
#ifndef VFU_GREETED_H
#define VFU_GREETED_H

#include "vfu_rig.h"

static struct rig rig;

static inline int
up(void **state)
{
	(void)state;
	rig_up(&rig);
	rig_hello(&rig);
	return 0;
}

static inline int
down(void **state)
{
	(void)state;
	rig_down(&rig);
	return 0;
}

/* Of the last answer, behind the header. */
static inline const uint8_t *
payload(void)
{
	return rig.reply.buf + 16;
}

#endif /* VFU_GREETED_H */
