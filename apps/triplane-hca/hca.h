/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-hca: options and reports of the card process. */
#ifndef HCA_H
#define HCA_H

#include <stdio.h>

#include "vfu.h"

#define HCA_TEXT 256u

struct hca_options {
	const char *socket;
	const char *wire[TP_MODEL_PORTS]; /* as given, NULL: cross */
	const char *trace;
	struct tp_model_config card;
	int cpu;              /* of the card's thread, -1: any */
	uint32_t wake_us;     /* how late an idle card sees a frame */
	char error[HCA_TEXT]; /* of a failed hca_parse: what was found and what is wanted */
};

/* 0, 1 when help was asked for and printed, -1 after an error that is in o->error. */
int hca_parse(struct hca_options *o, int argc, char **argv);
/* Connects both ports; 0 or negative errno with error set. */
int hca_attach_wires(struct tp_model *m, const struct hca_options *o, char error[HCA_TEXT]);
/* Counters of the card and its socket as lines "report: NAME VALUE". */
void hca_report(FILE *f, struct tp_model *m, const struct vfu *s);

#endif /* HCA_H */
