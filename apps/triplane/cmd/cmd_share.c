/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of ports that other programs use, too. */
#include <errno.h>

#include "apps/triplane/app/share.h"
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

static const struct cmd table[] = {
	{"Share", "share on [{socket:str}]",
	 "Shares ports that have RoCE on, and InfiniBand ports, with programs of libibverbs and librdmacm that "
	 "'triplane-run' starts (" TP_SHARE_PATH ").",
	 do_on, false},
	{"Share", "share off", "Ends it: these programs lose their devices.", do_off, false},
	{"Share", "show share", "Shows who uses the ports, and what each has.", do_show, true},
};

int
cmd_share_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
