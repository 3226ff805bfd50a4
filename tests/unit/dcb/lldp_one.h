/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* An agent of LLDP for each case of a test, and a frame of a neighbour's. */
#ifndef LLDP_ONE_H
#define LLDP_ONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tp_lldp.h"

static const uint8_t own_mac[6] = {0x02, 0, 0, 0, 0, 0x01};

/* A neighbour 02:00:00:00:00:<id> with some time to live, in 14 + 9 + 9 + 4 + 2 octets. */
#define TTL_AT 34
static const uint8_t hello[] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05, 0x88, 0xcc, /* Ethernet */
	0x02, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05,                               /* chassis: MAC */
	0x04, 0x07, 0x03, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05,                               /* port: MAC */
	0x06, 0x02, 0x00, 0x78,                                                             /* 120 s */
	0x00, 0x00,                                                                         /* end */
};

static struct tp_lldp agent;
static uint8_t out[TP_LLDP_MAX_FRAME];

static inline int
fresh(void **state)
{
	struct tp_lldp_conf c;

	(void)state;
	tp_lldp_conf_default(&c, own_mac);
	if (tp_lldp_init(&agent, &c, NULL) != 0)
		return -1;
	tp_lldp_port_set(&agent, true);
	tp_lldp_admin_set(&agent, TP_LLDP_RX_TX);
	return 0;
}

#endif /* LLDP_ONE_H */
