/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The wire from a card's port to a port of a switch. What a card sends enters at its own clock's time. */
#include <errno.h>
#include <stdio.h>

#include "model/fabric/plug.h"
#include "switch.h"

_Static_assert(TP_SWITCH_TEXT >= TPM_PLUG_TEXT, "a refusal fits");

static unsigned int
wire_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct tpm_plug *s = (struct tpm_plug *)w;

	tp_switch_port_send(s->port, tpm_now(s->m), f, n);
	return n;
}

/* The switch is not locked while the card receives: a card may answer a frame with a pause frame at once. */
static unsigned int
wire_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct tpm_plug *s = (struct tpm_plug *)w;
	unsigned int total = 0;

	while (total < budget) {
		struct tp_frame f[TPM_BURST];
		unsigned int want = budget - total < TPM_BURST ? budget - total : TPM_BURST;
		unsigned int got = tp_switch_port_recv(s->port, tpm_now(m), f, want);

		tp_model_port_receive(m, port, f, got);
		total += got;
		if (got < want)
			break;
	}
	return total;
}

/* The switch's end of the cable is always there. */
static bool
wire_link(struct tp_wire *w)
{
	return true;
}

static void
wire_carrier(struct tp_wire *w, bool up)
{
	tp_switch_port_link(((struct tpm_plug *)w)->port, up);
}

static void
port_remove(void *port)
{
	tp_switch_port_remove(port);
}

/* A port of the switch that the specification names, set as its words say. */
static int
port_make(char *spec, void **out, char err[TPM_PLUG_TEXT])
{
	char *save = NULL, *name = strtok_r(spec, "/", &save), *word;
	struct tp_switch_port *port = NULL;
	struct tp_switch *sw;
	int rc = name == NULL ? -EINVAL : tp_switch_get(name, &sw);

	if (rc != 0) {
		snprintf(err, TPM_PLUG_TEXT, "switch '%.40s': wanted a name of 1..%u letters, digits, '.', '_', '-'",
			 name == NULL ? "" : name, TP_SWITCH_NAME - 1);
		return rc;
	}
	rc = tp_switch_port_add(sw, &port, err);
	while (rc == 0 && (word = strtok_r(NULL, "/", &save)) != NULL) {
		rc = tp_switch_word(sw, tp_switch_port_number(port), word, err);
		if (rc != 0)
			tp_switch_port_remove(port);
	}
	tp_switch_put(sw);
	*out = port;
	return rc;
}

static const struct tpm_plug_kind plug_kind = {.ops = {.name = "switch",
						       .media = TP_WIRE_ETH,
						       .send = wire_send,
						       .poll = wire_poll,
						       .link = wire_link,
						       .carrier = wire_carrier,
						       .destroy = tpm_plug_destroy},
					       .make = port_make,
					       .remove = port_remove};

int
tp_model_wire_switch(struct tp_model *m, unsigned int port, const char *spec, char err[TP_SWITCH_TEXT])
{
	return tpm_plug(m, port, spec, &plug_kind, err);
}
