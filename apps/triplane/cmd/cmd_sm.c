/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of the small subnet manager that a port can have where nobody runs OpenSM. */
#include <tp_sm.h>

#include "apps/triplane/port/ib.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

/* What a row of settings has; a change by a command is logged as one by it. */
static int
noted(void *arg, const struct cmd_args *a, int (*run)(void *, const struct cmd_args *))
{
	return settings_noted_program(arg, a, "ib-managers", run);
}

static int
on(void *arg, const struct cmd_args *a)
{
	(void)arg;
	return ib_sm_on(cmd_text(a, "device"), (uint8_t)cmd_num(a, "priority", 0));
}

static int
do_on(void *arg, const struct cmd_args *a)
{
	return noted(arg, a, on);
}

static int
off(void *arg, const struct cmd_args *a)
{
	(void)arg;
	if (cmd_has(a, "device"))
		return ib_sm_off(cmd_text(a, "device"));
	ib_sm_stop();
	return 0;
}

static int
do_off(void *arg, const struct cmd_args *a)
{
	return noted(arg, a, off);
}

static int
partitions(void *arg, const struct cmd_args *a)
{
	(void)arg;
	return ib_sm_partitions(cmd_text(a, "device"), cmd_text(a, "pkeys"));
}

static int
do_partitions(void *arg, const struct cmd_args *a)
{
	return noted(arg, a, partitions);
}

static void
show_one(struct out *o, const struct ib_manager *m)
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
	for (unsigned int i = 0; ib_manager(i) != NULL; i++) {
		if (ib_manager(i)->sm != NULL)
			show_one(&o, ib_manager(i));
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
