/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Text and ranges of struct tp_ipoib_conf. */
#ifndef IPOIB_ETHDEV_CONF_H
#define IPOIB_ETHDEV_CONF_H

#include "lib/ipoib/iface/core.h"
#include "tp_ipoib.h"

#define IPOIB_CONF_LEN 256u /* all arguments but the port, with their end */

/* Zeros become defaults; what is out of its range is refused. 0, -EINVAL, which was said. */
int ipoib_conf_check(struct tp_ipoib_conf *c);
/* Arguments of net_ipoib. 0, -EINVAL, which was said. */
int ipoib_conf_parse(const char *text, struct tp_ipoib_conf *c);
/* The other way round: all but the port that are not their defaults, each behind a comma. */
void ipoib_conf_text(const struct tp_ipoib_conf *c, char text[IPOIB_CONF_LEN]);
/* What of it may change while the interface is at work. */
static inline void
ipoib_conf_live(const struct tp_ipoib_conf *c, struct ipoib_core_conf *core)
{
	core->refuse_incoming = c->refuse_incoming;
	core->age_interval_ms = c->age_interval_ms;
	core->age = c->age;
	core->monitor_ms = c->monitor_ms;
	core->query_runs = c->query_runs;
	core->leave_runs = c->leave_runs;
}

#endif /* IPOIB_ETHDEV_CONF_H */
