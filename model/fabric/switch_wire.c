/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The wire from a card's port to a port of a switch. What a card sends enters at its own clock's time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "switch.h"

struct switch_wire {
	struct tp_wire w;
	struct tp_model *m;
	struct tp_switch_port *port;
};

static unsigned int
wire_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct switch_wire *s = (struct switch_wire *)w;

	tp_switch_port_send(s->port, tpm_now(s->m), f, n);
	return n;
}

/* The switch is not locked while the card receives: a card may answer a frame with a pause frame at once. */
static unsigned int
wire_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct switch_wire *s = (struct switch_wire *)w;
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
	tp_switch_port_link(((struct switch_wire *)w)->port, up);
}

static void
wire_destroy(struct tp_wire *w)
{
	tp_switch_port_remove(((struct switch_wire *)w)->port);
	free(w);
}

static const struct tp_wire_ops wire_ops = {.name = "switch",
					    .media = TP_WIRE_ETH,
					    .send = wire_send,
					    .poll = wire_poll,
					    .link = wire_link,
					    .carrier = wire_carrier,
					    .destroy = wire_destroy};

/* A port of the switch that the specification names, set as its words say. */
static int
port_make(char *spec, struct tp_switch_port **port, char err[TP_SWITCH_TEXT])
{
	char *save = NULL, *name = strtok_r(spec, "/", &save), *word;
	struct tp_switch *sw;
	int rc = name == NULL ? -EINVAL : tp_switch_get(name, &sw);

	if (rc != 0) {
		snprintf(err, TP_SWITCH_TEXT, "switch '%.40s': wanted a name of 1..%u letters, digits, '.', '_', '-'",
			 name == NULL ? "" : name, TP_SWITCH_NAME - 1);
		return rc;
	}
	rc = tp_switch_port_add(sw, port, err);
	while (rc == 0 && (word = strtok_r(NULL, "/", &save)) != NULL) {
		rc = tp_switch_word(sw, tp_switch_port_number(*port), word, err);
		if (rc != 0)
			tp_switch_port_remove(*port);
	}
	tp_switch_put(sw);
	return rc;
}

int
tp_model_wire_switch(struct tp_model *m, unsigned int port, const char *spec, char err[TP_SWITCH_TEXT])
{
	struct switch_wire *s = calloc(1, sizeof(*s));
	char *text = strdup(spec);
	int rc = -ENOMEM;

	err[0] = '\0';
	if (s == NULL || text == NULL) {
		snprintf(err, TP_SWITCH_TEXT, "switch '%.40s': no memory", spec);
		goto out;
	}
	rc = port_make(text, &s->port, err);
	if (rc != 0)
		goto out;
	s->w.ops = &wire_ops;
	s->m = m;
	rc = tp_model_wire_attach(m, port, &s->w);
	if (rc != 0) {
		snprintf(err, TP_SWITCH_TEXT, "port %u: wanted 1..%u", port, TP_MODEL_PORTS);
		tp_switch_port_remove(s->port);
	}
out:
	free(text);
	if (rc != 0)
		free(s);
	return rc;
}
