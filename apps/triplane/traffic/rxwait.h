/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How a receive queue's completions are noticed (E-10): by polling, by interrupts, or by polling as long as it pays; and how
 * interrupts are moderated. Decisions only, on numbers; fwd_wait.c does what they say.
 */
#ifndef TRIPLANE_TRAFFIC_RXWAIT_H
#define TRIPLANE_TRAFFIC_RXWAIT_H

#include <stdbool.h>
#include <stdint.h>

enum rxwait_mode { RXWAIT_POLLING, RXWAIT_INTERRUPT, RXWAIT_ADAPTIVE };

enum rxmod_profile {
	RXMOD_LOW_LATENCY, /* no interrupt waits */
	RXMOD_MODERATE,    /* for 5 packets or 10 us */
	RXMOD_AGGRESSIVE,  /* for 32 packets or 64 us */
	RXMOD_ADAPTIVE,    /* low-latency below a packet rate, count and us above another one */
	RXMOD_MANUAL,      /* for count packets or us */
};

extern const char *const rxwait_modes[];   /* by enum rxwait_mode */
extern const char *const rxmod_profiles[]; /* by enum rxmod_profile */

struct rxwait_conf {
	uint32_t mode;
	uint32_t thread_poll;    /* empty polls until an adaptive queue waits for an interrupt */
	uint32_t average_weight; /* of the newest poll in the average, in 256ths */
	uint32_t average_poll;   /* polling goes on while the average of packets a poll is this, */
	uint32_t this_poll;      /* or a poll brought so many */
	uint32_t profile;
	uint32_t count, us;         /* of moderation */
	uint32_t low_pps, high_pps; /* of adaptive moderation */
};

/* Starts with zeroes. */
struct rxwait {
	uint64_t average; /* packets of polls that brought some, in 256ths */
	uint32_t empty;   /* polls in a row that brought none */
	bool pays;        /* polling does */
};

void rxwait_default(struct rxwait_conf *c);
/* After a poll that brought n packets: true when the queue should wait for an interrupt now. */
bool rxwait_poll(const struct rxwait_conf *c, struct rxwait *w, unsigned int n);

/* Whether adaptive moderation is at work at a rate; between its two rates it stays as it was. */
bool rxmod_busy(const struct rxwait_conf *c, bool was, uint64_t pps);
/* What the card is told. */
void rxmod_values(const struct rxwait_conf *c, bool busy, uint16_t *count, uint16_t *us);

#endif /* TRIPLANE_TRAFFIC_RXWAIT_H */
