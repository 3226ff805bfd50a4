/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-hca: options and reports of the card process. */
#ifndef HCA_H
#define HCA_H

#include <stdio.h>

#include "vfu.h"

#define HCA_TEXT 256u

#define HCA_CARDS 16u

struct hca_card {
	const char *socket;
	const char *wire[TP_MODEL_PORTS]; /* as given, NULL: cross */
	const char *trace;
	const char *replay;
	struct tp_model_config cfg;
	int cpu;          /* of the card's thread, -1: any */
	uint32_t wake_us; /* how late an idle card sees a frame */
};

struct hca_options {
	struct hca_card card[HCA_CARDS];
	unsigned int num_cards;
	char *eal;   /* arguments of the EAL, NULL: no EAL */
	char **text; /* of the cards that were given in one word each */
	unsigned int num_texts;
	char error[HCA_TEXT]; /* of a failed hca_parse: what was found and what is wanted */
};

/* 0, 1 when help was asked for and printed, -1 after an error that is in o->error. */
int hca_parse(struct hca_options *o, int argc, char **argv);
void hca_options_free(struct hca_options *o);
/* Connects both ports; eal: the EAL runs. 0 or negative errno with error set. */
int hca_attach_wires(struct tp_model *m, const struct hca_card *c, bool eal, char error[HCA_TEXT]);
/* Starts the EAL for wires on DPDK ports; args is cut into words. 0 or negative errno with error set. */
int hca_eal_start(char *args, char error[HCA_TEXT]);
/* Counters of the card and its socket as lines "report: NAME VALUE". */
void hca_report(FILE *f, struct tp_model *m, const struct vfu *s);
/* Counters of all switches that the cards are plugged into, as lines "report: switch NAME ...". */
void hca_report_switches(FILE *f);

#endif /* HCA_H */
