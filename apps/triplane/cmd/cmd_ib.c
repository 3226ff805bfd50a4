/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Commands of InfiniBand management: ports lent to OpenSM and the diagnostic tools; the client of subnet administration, its
 * times, and a path asked for by hand (I-5).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_string_fns.h>

#include <tp_mad_service.h>

#include "apps/triplane/port/ib.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

static int
umad_on(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_has(a, "socket") ? cmd_text(a, "socket") : TP_UMAD_PATH;

	(void)arg;
	if (ib_lent() != NULL)
		return app_err(-EALREADY, "InfiniBand ports are lent already; 'ib umad off' first");
	return ib_lend(path);
}

static int
do_umad_on(void *arg, const struct cmd_args *a)
{
	return settings_noted_program(arg, a, "ib-umad", umad_on);
}

static int
umad_off(void *arg, const struct cmd_args *a)
{
	(void)arg, (void)a;
	ib_stop();
	return 0;
}

static int
do_umad_off(void *arg, const struct cmd_args *a)
{
	return settings_noted_program(arg, a, "ib-umad", umad_off);
}

static void
show_service(struct out *o, struct tp_mad_service *s)
{
	struct tp_mad_stats st;
	struct tp_sa_conf conf;
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
	tp_sa_conf_get(tp_mad_service_sa(s), &conf);
	out_u64(o, "sa_timeout_ms", conf.timeout_ms);
	out_u64(o, "sa_retries", conf.retries);
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

/* --- the client of subnet administration ------------------------------------------------------------------------ */

#define GRACE_MS 2000u /* for the answer to the last try, on a busy machine */

static int
times(void *arg, const struct cmd_args *a)
{
	(void)arg;
	return ib_sa_times(cmd_text(a, "device"), (uint32_t)cmd_num(a, "ms", 0), (uint32_t)cmd_num(a, "n", 0));
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	return settings_noted_program(arg, a, "ib-sa", times);
}

/* --- a path asked for --------------------------------------------------------------------------------------------- */

struct question {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool answered;
	int status;
	struct tp_sa_path path;
};

static void
answered(void *arg, int status, const struct tp_sa_path *path)
{
	struct question *q = arg;

	pthread_mutex_lock(&q->lock);
	q->answered = true;
	q->status = status;
	if (status == 0)
		q->path = *path;
	pthread_cond_signal(&q->cond);
	pthread_mutex_unlock(&q->lock);
}

/* Until the client has called back, which it does in the end. */
static void
wait_for(struct tp_sa *sa, struct question *q, const struct tp_sa_conf *conf)
{
	const uint64_t ms = (uint64_t)conf->timeout_ms * (conf->retries + 1) + GRACE_MS;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(ms / 1000);
	pthread_mutex_lock(&q->lock);
	while (!q->answered && pthread_cond_timedwait(&q->cond, &q->lock, &until) == 0)
		;
	pthread_mutex_unlock(&q->lock);
	if (!q->answered && tp_sa_cancel(sa, q) != 0)
		q->status = -ETIMEDOUT;
}

static void
show_path(const struct cmd_args *a, const struct tp_sa_path *p)
{
	char text[INET6_ADDRSTRLEN];
	struct out o;

	out_init(&o, stdout, a->json);
	out_str(&o, "dgid", inet_ntop(AF_INET6, p->dgid.raw, text, sizeof(text)));
	out_str(&o, "sgid", inet_ntop(AF_INET6, p->sgid.raw, text, sizeof(text)));
	out_u64(&o, "dlid", p->dlid);
	out_u64(&o, "slid", p->slid);
	out_hex(&o, "pkey", p->pkey, 4);
	out_u64(&o, "sl", p->sl);
	out_u64(&o, "mtu", 128u << p->mtu);
	out_u64(&o, "rate_code", p->rate);
	out_u64(&o, "lifetime_code", p->lifetime);
	out_u64(&o, "traffic_class", p->traffic_class);
	out_u64(&o, "hop_limit", p->hop_limit);
	out_u64(&o, "flow_label", p->flow_label);
	out_bool(&o, "reversible", p->reversible);
	out_done(&o);
}

static int
ask(const struct cmd_args *a, struct tp_sa *sa, const union ibv_gid *gid)
{
	struct question q = {.status = -ETIMEDOUT};
	struct tp_sa_conf conf;
	int err;

	pthread_mutex_init(&q.lock, NULL);
	pthread_cond_init(&q.cond, NULL);
	tp_sa_conf_get(sa, &conf);
	tp_sa_forget(sa, gid);
	err = tp_sa_path(sa, gid, (uint16_t)cmd_num(a, "pkey", UINT16_MAX), answered, &q);
	if (err == 0) {
		wait_for(sa, &q, &conf);
		err = q.status;
	}
	pthread_cond_destroy(&q.cond);
	pthread_mutex_destroy(&q.lock);
	if (err == -ENETUNREACH)
		return app_err(err, "%s has no LID or knows no subnet manager yet", cmd_text(a, "device"));
	if (err == -ETIMEDOUT)
		return app_err(err, "the subnet administrator answered none of %u requests, %u ms each",
			       conf.retries + 1, conf.timeout_ms);
	if (err == -ENOENT)
		return app_err(err, "the subnet administrator knows no path to %s", cmd_text(a, "gid"));
	if (err != 0)
		return app_err(err, "no path to %s: %s", cmd_text(a, "gid"), strerror(-err));
	show_path(a, &q.path);
	return 0;
}

static int
do_query(void *arg, const struct cmd_args *a)
{
	struct tp_mad_service *service;
	union ibv_gid gid;
	int err;

	(void)arg;
	if (inet_pton(AF_INET6, cmd_text(a, "gid"), gid.raw) != 1)
		return app_err(-EINVAL, "'%s' is no GID, as in fe80::2:c903:a1:c201", cmd_text(a, "gid"));
	err = ib_service_open(cmd_text(a, "device"), &service);
	if (err != 0)
		return err;
	err = ask(a, tp_mad_service_sa(service), &gid);
	tp_mad_service_close(service);
	return err;
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
	{"InfiniBand", "ib sa {device:str} timeout {ms:250..60000} [retries {n:1..64}]",
	 "How long requests to the subnet administrator wait for an answer (1000 ms), and how often each is repeated "
	 "(10).",
	 do_set, false},
	{"InfiniBand", "ib query-path {device:str} {gid:str} [pkey {pkey:1..65535}]",
	 "Asks the subnet administrator for the path from an InfiniBand port (CARD/1 or CARD/2) to a GID.", do_query,
	 true},
};

int
cmd_ib_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
