/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of InfiniBand management: ports lent to OpenSM and the diagnostic tools. */
#include <errno.h>

#include "apps/triplane/port/ib.h"
#include "commands.h"

static int
do_umad_on(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_has(a, "socket") ? cmd_text(a, "socket") : TP_UMAD_PATH;

	(void)arg;
	if (ib_lent() != NULL)
		return app_err(-EALREADY, "InfiniBand ports are lent already; 'ib umad off' first");
	return ib_lend(path);
}

static int
do_umad_off(void *arg, const struct cmd_args *a)
{
	(void)arg, (void)a;
	ib_stop();
	return 0;
}

static void
show_service(struct out *o, struct tp_mad_service *s)
{
	struct tp_mad_stats st;
	struct tp_sa_stats sa;

	tp_mad_stats_get(tp_mad_service_mad(s), &st);
	out_u64(o, "received", st.received);
	out_u64(o, "dropped", tp_mad_service_dropped(s));
	out_u64(o, "sent", st.sent);
	out_u64(o, "send_errors", st.send_errors + st.send_full);
	out_u64(o, "firmware", st.firmware);
	out_u64(o, "malformed", st.malformed);
	out_u64(o, "bad_route", st.bad_route);
	out_u64(o, "unmatched", st.unmatched);
	out_u64(o, "late", st.late);
	out_u64(o, "retries", st.retries);
	out_u64(o, "timeouts", st.timeouts);
	out_u64(o, "rmpp_received", st.rmpp_received);
	out_u64(o, "rmpp_segments_sent", st.rmpp_sent);
	out_u64(o, "rmpp_dropped", st.rmpp_dropped);
	out_u64(o, "rmpp_aborted", st.rmpp_aborted);
	tp_sa_stats_get(tp_mad_service_sa(s), &sa);
	out_u64(o, "sa_requests", sa.requests);
	out_u64(o, "sa_answers", sa.answers);
	out_u64(o, "sa_timeouts", sa.timeouts);
	out_u64(o, "sa_refused", sa.refused);
	out_u64(o, "sa_cache_hits", sa.cache_hits);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	char names[TP_UMAD_PORTS][64];
	unsigned int n = RTE_MIN(ib_devices(names, TP_UMAD_PORTS), TP_UMAD_PORTS);
	struct tp_mad_service *service;
	struct tp_umad_stats st;
	struct out o;

	(void)arg;
	out_init(&o, stdout, a->json);
	out_bool(&o, "lent", ib_lent() != NULL);
	if (ib_lent() != NULL) {
		tp_umad_stats_get(ib_lent(), &st);
		out_u64(&o, "programs", st.clients);
		out_u64(&o, "to_programs", st.to_programs);
		out_u64(&o, "from_programs", st.from_programs);
		out_u64(&o, "dropped", st.dropped);
		out_u64(&o, "refused", st.refused);
	}
	out_array(&o, "ports");
	for (unsigned int i = 0; i < n; i++) {
		out_object(&o, NULL);
		out_str(&o, "device", names[i]);
		service = ib_service(names[i]);
		if (service != NULL)
			show_service(&o, service);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"InfiniBand", "ib umad on [{socket:str}]",
	 "Lends the management of all InfiniBand ports to programs of libibumad (OpenSM, ibnetdiscover ...) that "
	 "preload "
	 "libtp_umad.so and have TP_UMAD_SOCKET=socket (" TP_UMAD_PATH ").",
	 do_umad_on, false},
	{"InfiniBand", "ib umad off", "Takes it back.", do_umad_off, false},
	{"InfiniBand", "show ib mad",
	 "Shows datagrams of management of InfiniBand ports, and requests to the subnet administrator.", do_show, true},
};

int
cmd_ib_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
