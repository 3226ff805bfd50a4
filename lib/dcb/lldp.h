/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Between the two halves of the LLDP agent. */
#ifndef LLDP_H
#define LLDP_H

#include "tp_lldp.h"

#define LLDP_ETH_LEN 14u
/* Table 7-1: nearest bridge. Frames to the other two groups belong to agents that this port has not. */
#define LLDP_NEAREST_BRIDGE                                                                                            \
	{                                                                                                              \
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e                                                                     \
	}

/* rxInitializeLLDP (9.2.7.8): no neighbour is known. */
void lldp_rx_forget(struct tp_lldp *a);
void lldp_rx_age(struct tp_lldp *a, uint64_t now);
uint64_t lldp_rx_next(const struct tp_lldp *a);

#endif /* LLDP_H */
