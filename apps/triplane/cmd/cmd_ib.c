/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of InfiniBand management: ports lent to OpenSM and the diagnostic tools. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_string_fns.h>

#include <mad_thread.h>
#include <tp_mad_service.h>
#include <tp_roce.h>
#include <tp_umad.h>

#include "ib.h"

#define WAIT_US 20000

struct lent {
	char device[64];
	struct tp_mad_service *service;
};

/* What is lent, and the thread that serves programs; one of a process. */
static struct {
	struct tp_umad *umad;
	struct lent port[TP_UMAD_PORTS];
	unsigned int num_ports;
	pthread_t tid;
	atomic_bool stop;
} ib;

unsigned int
ib_devices(char (*names)[64], unsigned int max)
{
	struct ibv_device **list = tp_roce_get_device_list(NULL);
	unsigned int n = 0;
	uint16_t id;

	for (unsigned int i = 0; list != NULL && list[i] != NULL; i++) {
		/* Others are ethdevs. */
		if (rte_eth_dev_get_port_by_name(list[i]->name, &id) == 0)
			continue;
		if (n < max)
			(void)rte_strlcpy(names[n], list[i]->name, sizeof(names[0]));
		n++;
	}
	tp_roce_free_device_list(list);
	return n;
}

static mad_thread_end
serve(void *arg)
{
	(void)arg;
	while (!atomic_load(&ib.stop))
		(void)tp_umad_progress(ib.umad, WAIT_US);
	return (mad_thread_end)0;
}

static void
give_back(void)
{
	tp_umad_destroy(ib.umad);
	ib.umad = NULL;
	while (ib.num_ports != 0)
		tp_mad_service_close(ib.port[--ib.num_ports].service);
}

static int
lend(const char *device)
{
	struct lent *l = &ib.port[ib.num_ports];
	struct tp_umad_port port = {.describe = tp_mad_service_describe, .issm = tp_mad_service_issm};
	int err = tp_mad_service_open(device, &l->service);

	if (err != 0)
		return app_err(err, "%s: its management is not ours: %s", device, strerror(-err));
	(void)rte_strlcpy(l->device, device, sizeof(l->device));
	ib.num_ports++;
	port.mad = tp_mad_service_mad(l->service);
	port.arg = l->service;
	err = tp_umad_add(ib.umad, &port);
	return err == 0 ? 0 : app_err(err, "%s is not lent: %s", device, strerror(-err));
}

static int
do_umad_on(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_has(a, "socket") ? cmd_text(a, "socket") : UMAD_PROTO_PATH;
	char names[TP_UMAD_PORTS][64];
	unsigned int n;
	int err;

	(void)arg;
	if (ib.umad != NULL)
		return app_err(-EALREADY, "InfiniBand ports are lent already; 'ib umad off' first");
	n = RTE_MIN(ib_devices(names, TP_UMAD_PORTS), TP_UMAD_PORTS);
	if (n == 0)
		return app_err(-ENODEV, "no InfiniBand port: a card has them by port0=ib or port1=ib");
	err = tp_umad_create(path, &ib.umad);
	if (err != 0)
		return app_err(err, "socket %s: %s", path, strerror(-err));
	for (unsigned int i = 0; i < n && err == 0; i++)
		err = lend(names[i]);
	if (err == 0) {
		atomic_store(&ib.stop, false);
		err = mad_thread_create(&ib.tid, "tp-umad", serve, NULL);
		if (err != 0)
			err = app_err(-err, "no thread: %s", strerror(err));
	}
	if (err != 0)
		give_back();
	return err;
}

void
ib_stop(void)
{
	if (ib.umad == NULL)
		return;
	atomic_store(&ib.stop, true);
	pthread_join(ib.tid, NULL);
	give_back();
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
	struct tp_umad_stats st;
	struct out o;

	(void)arg;
	out_init(&o, stdout, a->json);
	out_bool(&o, "lent", ib.umad != NULL);
	if (ib.umad != NULL) {
		tp_umad_stats_get(ib.umad, &st);
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
		for (unsigned int k = 0; k < ib.num_ports; k++) {
			if (strcmp(ib.port[k].device, names[i]) == 0)
				show_service(&o, ib.port[k].service);
		}
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
	 "libtp_umad.so and have TP_UMAD_SOCKET=socket (" UMAD_PROTO_PATH ").",
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
