/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which of two ports carries: a decision on their states and on time, without ports. */
#ifndef IPOIB_FAILOVER_PAIR_STATE_H
#define IPOIB_FAILOVER_PAIR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define IPOIB_PAIR_MEMBERS 2u /* 0: the primary one */
#define IPOIB_PAIR_NOTICES 3u /* times that a move is told to neighbours, since a broadcast may be lost */
#define IPOIB_PAIR_NOTICE_MS 1000u

enum ipoib_pair_why { IPOIB_PAIR_STAY, IPOIB_PAIR_FAILOVER, IPOIB_PAIR_FAILBACK, IPOIB_PAIR_ASKED };

struct ipoib_pair_state {
	bool failback;        /* the primary gets the traffic back */
	uint32_t failback_ms; /* when it has been up so long */
	unsigned int active;
	bool kept; /* by who asked for it: there is no failback from it */
	bool up[IPOIB_PAIR_MEMBERS];
	uint64_t up_ms[IPOIB_PAIR_MEMBERS]; /* since when */
	unsigned int notices;               /* still to be given */
	uint64_t notice_ms;                 /* when the next one is due */
};

/* Before the first step: the primary one is active, neither is up. */
void ipoib_pair_reset(struct ipoib_pair_state *s, bool failback, uint32_t failback_ms);
/* The ports as they are now; moves when it has to. Why it moved, or STAY. */
enum ipoib_pair_why ipoib_pair_step(struct ipoib_pair_state *s, const bool up[IPOIB_PAIR_MEMBERS], uint64_t now_ms);
/* Moves by command. 0, -ENETDOWN: that one is not up. The one that is active already is from now on kept. */
int ipoib_pair_ask(struct ipoib_pair_state *s, unsigned int member, uint64_t now_ms);
/* Whether neighbours are to be told now; true once for each notice. */
bool ipoib_pair_notice(struct ipoib_pair_state *s, uint64_t now_ms);

#endif /* IPOIB_FAILOVER_PAIR_STATE_H */
