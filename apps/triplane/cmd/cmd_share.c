/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of ports that others use, too: programs, and the kernel. */
#include <errno.h>

#include "apps/triplane/app/share.h"
#include "apps/triplane/port/kernel.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

static int
on(void *arg, const struct cmd_args *a)
{
	(void)arg;
	if (share_of() != NULL)
		return app_err(-EALREADY, "ports are shared already; 'share off' first");
	return share_on(cmd_has(a, "socket") ? cmd_text(a, "socket") : TP_SHARE_PATH);
}

static int
do_on(void *arg, const struct cmd_args *a)
{
	return settings_noted_program(arg, a, "share", on);
}

static int
off(void *arg, const struct cmd_args *a)
{
	(void)arg, (void)a;
	share_off();
	return 0;
}

static int
do_off(void *arg, const struct cmd_args *a)
{
	return settings_noted_program(arg, a, "share", off);
}

static void
show_guest(struct out *o, const struct tp_share_guest *g)
{
	out_object(o, NULL);
	out_u64(o, "pid", (uint64_t)g->pid);
	out_u64(o, "uid", g->uid);
	out_u64(o, "gid", g->gid);
	out_str(o, "device", g->device);
	out_u64(o, "qps", g->qps);
	out_u64(o, "cqs", g->cqs);
	out_u64(o, "srqs", g->srqs);
	out_u64(o, "mrs", g->mrs);
	out_u64(o, "ids", g->ids);
	out_u64(o, "listening", g->listening);
	out_u64(o, "ahs", g->ahs);
	out_u64(o, "ring_bytes", g->ring_bytes);
	out_u64(o, "region_bytes", g->region_bytes);
	out_u64(o, "calls", g->calls);
	out_u64(o, "failed", g->failed);
	out_u64(o, "calls_per_s", g->calls_per_s);
	out_end(o);
}

static void
show_limits(struct out *o)
{
	out_object(o, "limits");
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++)
		out_u64(o, tp_share_limit_name(i), share_limit_now((enum tp_share_limit)i));
	out_end(o);
}

/* How often each limit refused something. */
static void
show_limited(struct out *o, const struct tp_share_stats *st)
{
	out_object(o, "limited");
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++)
		out_u64(o, tp_share_limit_name(i), st->limited[i]);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	static struct tp_share_guest guest[TP_SHARE_GUESTS];
	struct app *app = arg;
	struct tp_share_stats st;
	unsigned int n;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_bool(&o, "shared", share_of() != NULL);
	if (share_of() != NULL) {
		tp_share_stats_get(share_of(), &st);
		out_str(&o, "socket", share_path());
		out_u64(&o, "guests", st.guests);
		out_u64(&o, "connected", st.connected);
		out_u64(&o, "refused", st.refused);
		out_u64(&o, "calls", st.calls);
		out_u64(&o, "failed", st.failed);
		out_u64(&o, "calls_per_s", st.calls_per_s);
		out_u64(&o, "unsaid", st.unsaid);
		out_u64(&o, "objects", st.objects);
		out_u64(&o, "ids", st.ids);
		out_u64(&o, "ring_bytes", st.ring_bytes);
		out_u64(&o, "region_bytes", st.region_bytes);
		show_limits(&o);
		show_limited(&o, &st);
		n = tp_share_guests_get(share_of(), guest, TP_SHARE_GUESTS);
		out_array(&o, "programs");
		for (unsigned int i = 0; i < RTE_MIN(n, TP_SHARE_GUESTS); i++)
			show_guest(&o, &guest[i]);
		out_end(&o);
	}
	out_done(&o);
	return 0;
}

/* --- the kernel ----------------------------------------------------------------------------------------------------- */

static struct app_port *
port_of(struct app *app, const struct cmd_args *a)
{
	return &app->port[cmd_num(a, "port", 0)];
}

static int
kernel_on(void *arg, const struct cmd_args *a)
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
kernel_off(void *arg, const struct cmd_args *a)
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

static const char *const kernel_names[] = {"kernel", NULL};

static int
do_kernel_on(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, kernel_names, kernel_on);
}

static int
do_kernel_off(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, kernel_names, kernel_off);
}

static const char *
kernel_state(const struct tp_kernel_info *in)
{
	return in->gone      ? "deleted"
	       : !in->up     ? "down"
	       : !in->runs   ? "waits for 'start'"
	       : in->carrier ? "up"
			     : "no link";
}

static void
show_kernel(struct out *o, const struct kernel_port *kp)
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
	out_str(o, "state", kernel_state(&in));
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
do_kernel_show(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	unsigned int i;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "interfaces");
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].kernel != NULL)
			show_kernel(&o, app->port[i].kernel);
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Share", "share on [{socket:str}]",
	 "Shares ports that have RoCE on, and InfiniBand ports, with programs of libibverbs and librdmacm that "
	 "'triplane-run' starts (" TP_SHARE_PATH ").",
	 do_on, false},
	{"Share", "share off", "Ends it: these programs lose their devices.", do_off, false},
	{"Share", "show share", "Shows who uses the ports, and what each has.", do_show, true},
	{"Share", "kernel {port:port} on [{name:str}]",
	 "Gives the kernel a network interface beside the port (tp and the port's number), with its MAC address, MTU "
	 "and "
	 "link: addresses, routes, ARP, ping and firewalls are the kernel's. Packets go both ways while forwarding "
	 "runs.",
	 do_kernel_on, false},
	{"Share", "kernel {port:port} off", "Takes it away.", do_kernel_off, false},
	{"Share", "show kernel", "Shows these interfaces: state, packets, drops by reason.", do_kernel_show, true},
};

int
cmd_share_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
