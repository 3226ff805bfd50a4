/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From wires to ports, and impairment on the way. */
#ifndef MODEL_WIRE_WIRE_H
#define MODEL_WIRE_WIRE_H

#include "model/frame/frame.h"

/* Frames come over the wire: impairment first. */
void tpm_port_arrive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);
/* Frees what an impaired wire holds back, and the impairment. */
void tpm_impair_fini(struct tpm_port *p);
void tpm_impair_poll(struct tp_model *m, struct tpm_port *p);

/* What the far end of a port's wire speaks; TP_SENSE_NONE: nobody there, or undecided. */
enum tp_sense tpm_wire_sense(const struct tpm_port *p);
void tpm_wire_detach(struct tpm_port *p);

#endif /* MODEL_WIRE_WIRE_H */
