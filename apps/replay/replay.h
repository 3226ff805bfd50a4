/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A recording of a card against the card in software: the same questions, and where the answers differ. */
#ifndef APPS_REPLAY_REPLAY_H
#define APPS_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/trace/trace.h"
#include "tp_model.h"

#define RP_EXIT_USAGE 2

struct rp_options {
	struct tp_model_config cfg;
	const char *path;
	bool firmware, ports; /* were said, so that the recording does not say them */
	bool all;             /* answers that depend on traffic, too */
	bool help, version;
	unsigned int max; /* differences that are printed, 0: all */
};

struct rp_sums {
	unsigned int commands, compared, apart; /* apart: not compared, as traffic is behind the answer */
	unsigned int unanswered;                /* of the recording */
	unsigned int differ;                    /* commands whose answers differ */
	unsigned int lines;                     /* differences */
};

#define RP_TEXT 256u
int rp_options(struct rp_options *o, int argc, char **argv, char err[RP_TEXT]);
void rp_usage(void);

/* The differences of one command's answer from the model's go to f, up to room lines: how many. why: of the model's refusal. */
unsigned int rp_compare(FILE *f, const struct trace_cmd *was, const struct trace_cmd *now, const char *why,
			unsigned int room);
/* Only what no traffic changes is compared, unless all is. */
bool rp_is_still(uint16_t opcode);

/* Plays all of t to a new card. 0, or a negative errno with the reason. */
int rp_play(const struct rp_options *o, const struct trace *t, struct rp_sums *sums, char err[RP_TEXT]);

#endif /* APPS_REPLAY_REPLAY_H */
