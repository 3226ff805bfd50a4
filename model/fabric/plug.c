/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "plug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void
tpm_plug_destroy(struct tp_wire *w)
{
	struct tpm_plug *p = (struct tpm_plug *)w;

	p->kind->remove(p->port);
	free(p);
}

int
tpm_plug(struct tp_model *m, unsigned int port, const char *spec, const struct tpm_plug_kind *kind,
	 char err[TPM_PLUG_TEXT])
{
	struct tpm_plug *p = calloc(1, sizeof(*p));
	char *text = strdup(spec);
	int rc = -ENOMEM;

	err[0] = '\0';
	if (p == NULL || text == NULL) {
		snprintf(err, TPM_PLUG_TEXT, "%s '%.40s': no memory", kind->ops.name, spec);
		goto out;
	}
	rc = kind->make(text, &p->port, err);
	if (rc != 0)
		goto out;
	p->w.ops = &kind->ops;
	p->kind = kind;
	p->m = m;
	rc = tp_model_wire_attach(m, port, &p->w);
	if (rc != 0) {
		snprintf(err, TPM_PLUG_TEXT, "port %u: wanted 1..%u", port, TP_MODEL_PORTS);
		kind->remove(p->port);
	}
out:
	free(text);
	if (rc != 0)
		free(p);
	return rc;
}
