/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Ports on one wire in memory, in virtual time: what a port sends reaches the port with that LID, or the other one on a
 * directed route of one hop. The wire loses what a test wants lost. Firmware answers Get(NodeDescription) and
 * Get(PortCounters) and nothing else.
 */
#ifndef MAD_RIG_H
#define MAD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/mad/agent/mad_fmt.h"
#include "tp_mad.h"

#define RIG_PORTS 2
#define RIG_MS 1000000ull

struct rig;
struct rig_port {
	struct rig *rig;
	unsigned int index;
	struct tp_mad *mad;
	struct tp_mad_port_state state; /* LID 0x10, 0x20 */
	unsigned int fw_calls;
	bool full;                  /* no room to send */
	bool dead;                  /* what is sent is lost */
	struct tp_mad_packet fw_in; /* what the firmware was shown last */
};

struct rig {
	struct rig_port port[RIG_PORTS];
	uint64_t now;
	struct {
		struct tp_mad_packet pkt;
		unsigned int to;
	} wire[4096];
	unsigned int head, num;
	uint64_t sent;
	bool (*lose)(struct rig *r, const struct tp_mad_packet *pkt); /* true: it is lost */
	struct tp_mad_packet log[8192];                               /* everything that was sent */
	unsigned int logged;
};

/* What an agent was told, one after the other. */
struct heard {
	struct tp_mad_agent *agent;
	unsigned int num;
	int status[64];
	struct tp_mad_packet pkt[64];
	uint8_t *data;
	uint32_t len;
	bool echo; /* answers each request as GetResp */
};

void rig_up(struct rig *r);
void rig_down(struct rig *r);
/* Datagrams arrive, time passes. */
void rig_run(struct rig *r, uint64_t ns);
struct tp_mad_agent *rig_agent(struct rig *r, unsigned int port, uint8_t mgmt_class, uint8_t version, uint64_t methods0,
			       uint64_t methods1, struct heard *h);
void heard_free(struct heard *h);
/* Addressing of the other port's QP1. */
struct tp_mad_packet rig_to(const struct rig *r, unsigned int port);

#endif /* MAD_RIG_H */
