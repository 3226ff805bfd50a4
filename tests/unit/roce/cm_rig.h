/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Two communication managers and what lies between them, in virtual time: a channel that loses, repeats, delays and so
 * reorders datagrams. Owners write down what they are told and do what the test asks them to.
 */
#ifndef CM_RIG_H
#define CM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/cm/core.h"

#define RIG_LOG 64u
#define RIG_FLIGHT 4096u
#define RIG_SERVICE 0x0000000001061c06ull
#define RIG_MS 1000000ull

struct rig_end {
	struct tcm cm;
	unsigned int which;
	struct tcm_event ev[RIG_LOG]; /* the last ones */
	union cm_any msg[RIG_LOG];
	unsigned int evs, count[16];
	struct troce_mad sent[RIG_LOG];
	unsigned int sents;
	uint16_t refuse; /* what service() says to everybody */
	/* Told of an event; NULL: writes it down only. */
	void (*on_event)(struct rig_end *e, const struct tcm_event *ev);
};

struct rig_flight {
	uint64_t at;
	unsigned int to;
	struct troce_mad mad;
};

struct rig {
	struct rig_end end[2];
	uint64_t now, rng;
	bool cut;                            /* nothing gets through, or by hand */
	unsigned int lose, repeat, delay_ms; /* per cent, per cent, at most */
	struct rig_flight flight[RIG_FLIGHT];
	unsigned int flights;
};

void rig_up(struct rig *r, uint64_t seed);
void rig_down(struct rig *r);
uint64_t rig_random(struct rig *r);
/* The path from an end to the other. */
struct troce_path rig_path(unsigned int from);
/* What an end would ask for. */
struct cm_req rig_req(uint32_t qpn);
/* Plays what happens up to a time from now. */
void rig_run(struct rig *r, uint64_t ns);
/* A datagram comes to an end from the other one's address, whatever the channel does. */
void rig_inject(struct rig *r, unsigned int to, enum cm_msg msg, const void *m, uint64_t tid);
/* The last event, and the last datagram that left an end; the message, -1: none. */
const struct tcm_event *rig_last(const struct rig_end *e);
int rig_sent(const struct rig_end *e, union cm_any *msg);

#endif /* CM_RIG_H */
