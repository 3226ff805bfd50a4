/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of the kernel's interfaces beside ports. */
#include <errno.h>
#include <string.h>

#include "apps/triplane/port/kernel.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

static struct app_port *
port_of(struct app *app, const struct cmd_args *a)
{
	return &app->port[cmd_num(a, "port", 0)];
}

static int
on(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = port_of(app, a);
	char name[TP_KERNEL_NAME], err[256];
	const bool was_up = p->started;
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	if (p->kernel != NULL)
		return app_err(-EALREADY, "port %u: the kernel has interface %s; 'kernel %u off' first", p->id,
			       p->kernel->name, p->id);
	snprintf(name, sizeof(name), "tp%u", p->id);
	ret = kernel_make(app, p, cmd_has(a, "name") ? cmd_text(a, "name") : name, err, sizeof(err));
	if (ret != 0)
		return app_err(ret, "%s", err);
	/* The port has another queue: it is configured anew. */
	ret = was_up ? port_stop(app, p) : 0;
	if (ret == 0 && was_up)
		ret = port_start(app, p);
	if (ret == 0)
		return 0;
	/* The port forwards as before. */
	kernel_unmake(p);
	if (was_up && !p->started)
		(void)port_start(app, p);
	return ret;
}

static int
off(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = port_of(app, a);
	const bool was_up = p->started;
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	if (p->kernel == NULL)
		return 0;
	ret = was_up ? port_stop(app, p) : 0;
	if (ret != 0)
		return ret;
	kernel_unmake(p);
	return was_up ? port_start(app, p) : 0;
}

static const char *const names[] = {"kernel", NULL};

static int
do_on(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, names, on);
}

static int
do_off(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, names, off);
}

static const char *
state(const struct tp_kernel_info *in)
{
	return in->gone      ? "deleted"
	       : !in->up     ? "down"
	       : !in->runs   ? "waits for 'start'"
	       : in->carrier ? "up"
			     : "no link";
}

static void
show_one(struct out *o, const struct kernel_port *kp)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	struct tp_kernel_stats st;
	struct tp_kernel_info in;
	unsigned int i;

	tp_kernel_info_get(kp->k, &in);
	tp_kernel_stats_get(kp->k, &st);
	rte_ether_format_addr(mac, sizeof(mac), &in.mac);
	out_object(o, NULL);
	out_u64(o, "port", kp->id);
	out_str(o, "interface", in.name);
	out_str(o, "state", state(&in));
	out_bool(o, "carrier", in.carrier);
	out_str(o, "mac", mac);
	out_u64(o, "mtu", in.mtu);
	out_bool(o, "promiscuous", in.promiscuous);
	out_str(o, "offloads", in.tso ? "checksums and TCP segments" : in.csum ? "checksums" : "none");
	out_u64(o, "rx_packets", st.rx_packets);
	out_u64(o, "rx_octets", st.rx_octets);
	out_u64(o, "rx_joined", st.rx_joined);
	out_u64(o, "tx_packets", st.tx_packets);
	out_u64(o, "tx_octets", st.tx_octets);
	out_u64(o, "tx_large", st.tx_large);
	out_u64(o, "tx_busy", st.tx_busy);
	out_u64(o, "refused_changes", st.refused);
	out_object(o, "drops");
	for (i = 0; i < TP_KERNEL_DROPS; i++)
		out_u64(o, tp_kernel_drop_name(i), st.drop[i]);
	out_end(o);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	unsigned int i;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "interfaces");
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].kernel != NULL)
			show_one(&o, app->port[i].kernel);
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Kernel", "kernel {port:port} on [{name:str}]",
	 "Gives the kernel a network interface beside the port (tp and the port's number), with its MAC address, MTU "
	 "and "
	 "link: addresses, routes, ARP, ping and firewalls are the kernel's. Packets go both ways while forwarding "
	 "runs.",
	 do_on, false},
	{"Kernel", "kernel {port:port} off", "Takes it away.", do_off, false},
	{"Kernel", "show kernel", "Shows these interfaces: state, packets, drops by reason.", do_show, true},
};

int
cmd_kernel_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
