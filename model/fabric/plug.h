/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A wire from a card's port to a port of a switch: how it is made as a specification says, and how it ends. What goes over it is
 * the business of the switch.
 */
#ifndef TPM_PLUG_H
#define TPM_PLUG_H

#include "model/card/model_priv.h"

#define TPM_PLUG_TEXT 256u /* room for the line of a refusal */

struct tpm_plug_kind {
	struct tp_wire_ops ops; /* destroy is tpm_plug_destroy */
	/* Makes the far port; text may be cut in place. 0, or a negative errno after a line in err. */
	int (*make)(char *text, void **port, char err[TPM_PLUG_TEXT]);
	void (*remove)(void *port);
};

struct tpm_plug {
	struct tp_wire w;
	const struct tpm_plug_kind *kind;
	struct tp_model *m;
	void *port; /* at the far end */
};

/* 0, or a negative errno after a line in err. */
int tpm_plug(struct tp_model *m, unsigned int port, const char *spec, const struct tpm_plug_kind *kind,
	     char err[TPM_PLUG_TEXT]);
void tpm_plug_destroy(struct tp_wire *w);

#endif /* TPM_PLUG_H */
