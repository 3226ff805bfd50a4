/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The control thread's part, where there is none. */
#include "link_rig.h"
#include "lib/ipoib/port/port.h"

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	(void)p, (void)v;
	fail();
}
