/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Registers and resets. */
#ifndef MODEL_LIFE_LIFE_H
#define MODEL_LIFE_LIFE_H

#include "model/card/ctl.h"

void tpm_config_reset(struct tp_model *m);
void tpm_regs_reset(struct tp_model *m);
/* Everything back to the power-on state; DMA windows, interrupts, wires and counters of the observer stay. */
void tpm_reset(struct tp_model *m);

/* watch.c: for the card's thread. True: doorbells wake it from now on, and one more look is due. */
bool tpm_watch_arm(struct tp_model *m);
/* Any thread. True: they did until now. */
bool tpm_watch_disarm(struct tp_model *m);
/* A doorbell was rung: it goes on, and the card is awake. */
void tpm_watch_take(struct tp_model *m);
void tpm_watch_fini(struct tp_model *m);

#endif /* MODEL_LIFE_LIFE_H */
