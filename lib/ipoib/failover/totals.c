/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What no reset touches, of ports and of pairs. */
#include <errno.h>

#include "pair.h"

int
tp_ipoib_totals_get(uint16_t port_id, struct tp_ipoib_totals *totals)
{
	const struct ipoib_port *port = ipoib_port_of(port_id);
	const struct ipoib_pair *pair = ipoib_pair_of(port_id);

	if (port != NULL)
		ipoib_port_totals(port, true, totals);
	else if (pair != NULL)
		ipoib_pair_totals(pair, true, totals);
	else
		return -ENODEV;
	return 0;
}
