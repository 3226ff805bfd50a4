/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of the small subnet manager that a port can have where nobody runs OpenSM. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_string_fns.h>

#include <tp_mad_service.h>
#include <tp_sm.h>

#include "apps/triplane/port/ib.h"
#include "commands.h"

#define MANAGERS 16u

/* Those that run; a port has one at most. */
static struct manager {
	char device[64];
	struct tp_mad_service *service;
	struct tp_sm *sm;
} managers[MANAGERS];

static struct manager *
find(const char *device)
{
	for (unsigned int i = 0; i < MANAGERS; i++) {
		if (managers[i].sm != NULL && strcmp(managers[i].device, device) == 0)
			return &managers[i];
	}
	return NULL;
}

static struct manager *
unused(void)
{
	for (unsigned int i = 0; i < MANAGERS; i++) {
		if (managers[i].sm == NULL)
			return &managers[i];
	}
	return NULL;
}

static void
end(struct manager *m)
{
	tp_sm_destroy(m->sm);
	tp_mad_service_issm(m->service, false);
	tp_mad_service_close(m->service);
	memset(m, 0, sizeof(*m));
}

void
sm_stop(void)
{
	for (unsigned int i = 0; i < MANAGERS; i++) {
		if (managers[i].sm != NULL)
			end(&managers[i]);
	}
}

static int
do_on(void *arg, const struct cmd_args *a)
{
	const struct tp_sm_conf conf = {.priority = (uint8_t)cmd_num(a, "priority", 0)};
	const char *device = cmd_text(a, "device");
	struct manager *m = unused();
	int err;

	(void)arg;
	if (find(device) != NULL)
		return app_err(-EALREADY, "%s has a subnet manager already; 'ib sm off %s' first", device, device);
	if (m == NULL)
		return app_err(-ENOSPC, "%u subnet managers run, which is the limit", MANAGERS);
	err = tp_mad_service_open(device, &m->service);
	if (err == -ENODEV)
		return app_err(err, "no InfiniBand port %s; 'show ib' lists them", device);
	if (err != 0)
		return app_err(err, "%s: its management is not ours: %s", device, strerror(-err));
	err = tp_sm_create(tp_mad_service_mad(m->service), &conf, &m->sm);
	if (err != 0) {
		tp_mad_service_close(m->service);
		return app_err(err, "%s: no subnet manager: %s", device,
			       err == -EBUSY ? "another one, such as OpenSM, runs on this port" : strerror(-err));
	}
	tp_mad_service_issm(m->service, true);
	(void)rte_strlcpy(m->device, device, sizeof(m->device));
	return 0;
}

static int
do_off(void *arg, const struct cmd_args *a)
{
	struct manager *m = cmd_has(a, "device") ? find(cmd_text(a, "device")) : NULL;

	(void)arg;
	if (!cmd_has(a, "device"))
		sm_stop();
	else if (m == NULL)
		return app_err(-ENOENT, "%s has no subnet manager of this program", cmd_text(a, "device"));
	else
		end(m);
	return 0;
}

/* Words between blanks or commas. */
static int
parse_keys(const char *text, uint16_t *keys, unsigned int *n)
{
	char buf[CMD_MAX_LINE], *save = NULL;

	*n = 0;
	(void)rte_strlcpy(buf, text, sizeof(buf));
	if (strcmp(buf, "none") == 0)
		return 0;
	for (char *word = strtok_r(buf, " ,", &save); word != NULL; word = strtok_r(NULL, " ,", &save)) {
		unsigned long key;
		char *rest;

		errno = 0;
		key = strtoul(word, &rest, 0);
		if (errno != 0 || *rest != '\0' || key > UINT16_MAX || (key & 0x7fff) == 0 || (key & 0x7fff) == 0x7fff)
			return app_err(
				-EINVAL,
				"P_Key '%s': wanted 0x0001..0x7ffe (limited members) or 0x8001..0xfffe (full ones)",
				word);
		if (*n == TP_SM_PKEYS - 1)
			return app_err(-EINVAL, "more than %u P_Keys beside the default one", TP_SM_PKEYS - 1);
		keys[(*n)++] = (uint16_t)key;
	}
	return 0;
}

static int
do_partitions(void *arg, const struct cmd_args *a)
{
	struct manager *m = find(cmd_text(a, "device"));
	uint16_t keys[TP_SM_PKEYS];
	unsigned int n;
	int err;

	(void)arg;
	if (m == NULL)
		return app_err(-ENOENT, "%s has no subnet manager of this program; 'ib sm on %s' first",
			       cmd_text(a, "device"), cmd_text(a, "device"));
	err = parse_keys(cmd_text(a, "pkeys"), keys, &n);
	if (err != 0)
		return err;
	err = tp_sm_partitions(m->sm, keys, n);
	return err == 0 ? 0 : app_err(err, "P_Keys '%s': one is named twice", cmd_text(a, "pkeys"));
}

static void
show_one(struct out *o, const struct manager *m)
{
	struct tp_sm_stats st;

	tp_sm_stats_get(m->sm, &st);
	out_object(o, NULL);
	out_str(o, "device", m->device);
	out_str(o, "role", tp_sm_role_name(st.role));
	out_u64(o, "priority", st.priority);
	out_hex(o, "master", st.master, 16);
	out_u64(o, "master_priority", st.master_priority);
	out_bool(o, "subnet_up", st.up);
	out_u64(o, "nodes", st.nodes);
	out_u64(o, "switches", st.switches);
	out_u64(o, "active_ports", st.ports);
	out_u64(o, "groups", st.groups);
	out_u64(o, "sweeps", st.sweeps);
	out_u64(o, "requests", st.requests);
	out_u64(o, "failed", st.failed);
	out_u64(o, "traps", st.traps);
	out_u64(o, "handovers", st.handovers);
	out_u64(o, "sa_requests", st.sa_requests);
	out_u64(o, "sa_refused", st.sa_refused);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct out o;

	(void)arg;
	out_init(&o, stdout, a->json);
	out_array(&o, "managers");
	for (unsigned int i = 0; i < MANAGERS; i++) {
		if (managers[i].sm != NULL)
			show_one(&o, &managers[i]);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"InfiniBand", "ib sm on {device:str} [priority {priority:0..15}]",
	 "Runs a small subnet manager and administrator on an InfiniBand port (CARD/1 or CARD/2), for tests and "
	 "demonstrations "
	 "without OpenSM. Of several managers the one with the highest priority (0) is master.",
	 do_on, false},
	{"InfiniBand", "ib sm off [{device:str}]", "Ends it, or all of them. Ports stay as they are.", do_off, false},
	{"InfiniBand", "ib sm partitions {device:str} {pkeys:rest}",
	 "Gives these P_Keys (0x8005 0x0006 ...; none) to all ports, beside the default one.", do_partitions, false},
	{"InfiniBand", "ib sm show", "Shows subnet managers of this program: role, subnet, what they did.", do_show,
	 true},
};

int
cmd_sm_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
