/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the ports of the cards are plugged into. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/eal.h"
#include "hca.h"
#include "tp_ibswitch.h"
#include "tp_model_dpdk.h"
#include "tp_switch.h"
#include "wire_fd.h"

#define EAL_WORDS 64
#define MEM_MIB 128 /* the buffers of a few ports */
#define WANTED "cross, loopback, none, tap:NAME, dgram:LOCAL,REMOTE, switch:NAME, ibswitch:NAME or ethdev:NAME"

int
hca_eal_start(char *args, char error[HCA_TEXT])
{
	static const struct app_eal eal = {.name = "triplane-hca", .mem_mib = MEM_MIB};
	char name[] = "triplane-hca", why[APP_EAL_TEXT], *argv[EAL_WORDS + 1] = {name}, *save = NULL, *word;
	cpu_set_t cpus;
	int argc = 1, rc;

	for (word = strtok_r(args, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		if (argc == EAL_WORDS) {
			snprintf(error, HCA_TEXT, "--eal: wanted at most %d words", EAL_WORDS - 1);
			return -EINVAL;
		}
		argv[argc++] = word;
	}
	/* The EAL pins the thread that starts it; threads of cards are to run anywhere. */
	sched_getaffinity(0, sizeof(cpus), &cpus);
	rc = app_eal_start(&eal, argc, argv, why);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (rc < 0)
		snprintf(error, HCA_TEXT, "--eal: %.200s", why);
	return rc;
}

static int
dgram_wire(const char *spec, struct tp_wire **w)
{
	const char *comma = strchr(spec, ',');
	char *local;
	int rc;

	if (comma == NULL)
		return -EINVAL;
	local = strndup(spec, (size_t)(comma - spec));
	if (local == NULL)
		return -ENOMEM;
	rc = wire_dgram_create(local, comma + 1, w);
	free(local);
	return rc;
}

/* The wire as the rest of its name says; the error text is there when it is more than an errno. */
static int
attach_one(struct tp_model *m, unsigned int port, const char *spec, bool eal, char why[TP_SWITCH_TEXT])
{
	struct tp_wire *w = NULL;
	int rc = -EINVAL;

	if (strcmp(spec, "loopback") == 0)
		return tp_model_wire_loopback(m, port);
	if (strcmp(spec, "none") == 0)
		return tp_model_wire_none(m, port);
	if (strncmp(spec, "switch:", 7) == 0)
		return tp_model_wire_switch(m, port, spec + 7, why);
	if (strncmp(spec, "ibswitch:", 9) == 0)
		return tp_model_wire_ibswitch(m, port, spec + 9, why);
	if (strncmp(spec, "tap:", 4) == 0)
		rc = wire_tap_create(spec + 4, &w);
	else if (strncmp(spec, "dgram:", 6) == 0)
		rc = dgram_wire(spec + 6, &w);
	else if (strncmp(spec, "ethdev:", 7) == 0 && !eal)
		snprintf(why, TP_SWITCH_TEXT, "no DPDK port without --eal");
	else if (strncmp(spec, "ethdev:", 7) == 0)
		rc = tp_wire_ethdev_create(spec + 7, &w, why, TP_SWITCH_TEXT);
	return rc != 0 ? rc : tp_model_wire_attach(m, port, w);
}

int
hca_attach_wires(struct tp_model *m, const struct hca_card *c, bool eal, char error[HCA_TEXT])
{
	bool two = c->cfg.num_ports == 2;
	const char *spec[2] = {c->wire[0], c->wire[1]};

	if (!two && spec[1] != NULL) {
		snprintf(error, HCA_TEXT, "--wire1 '%s': the card has one port; wanted --ports 2", spec[1]);
		return -EINVAL;
	}
	/* What was not said: cross, loopback of a single port, or nothing next to another wire. */
	if (spec[0] == NULL && spec[1] == NULL)
		spec[0] = spec[1] = two ? "cross" : "loopback";
	for (unsigned int i = 0; i < 2; i++)
		if (spec[i] == NULL)
			spec[i] = strcmp(spec[!i], "cross") == 0 ? "cross" : "none";
	if (strcmp(spec[0], "cross") == 0 || strcmp(spec[1], "cross") == 0) {
		if (!two || strcmp(spec[0], spec[1]) != 0) {
			snprintf(error, HCA_TEXT, "wires '%s' and '%s': cross joins both ports of a two-port card",
				 spec[0], spec[1]);
			return -EINVAL;
		}
		return tp_model_wire_cross(m);
	}
	for (unsigned int i = 0; i < (two ? 2u : 1u); i++) {
		char why[TP_SWITCH_TEXT] = "";
		int rc = attach_one(m, i + 1, spec[i], eal, why);

		if (rc == 0)
			continue;
		if (why[0] != '\0')
			snprintf(error, HCA_TEXT, "--wire%u '%.60s': %.180s", i, spec[i], why);
		else if (rc == -EINVAL)
			snprintf(error, HCA_TEXT, "--wire%u '%.60s': wanted " WANTED, i, spec[i]);
		else
			snprintf(error, HCA_TEXT, "--wire%u '%.60s': %s", i, spec[i], strerror(-rc));
		return rc;
	}
	return 0;
}
