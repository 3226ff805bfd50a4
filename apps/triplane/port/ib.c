/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The InfiniBand ports of this process, and the thread that serves programs while they are lent. */
#include "ib.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_string_fns.h>

#include "apps/triplane/cli/cmd.h"
#include "lib/thread/ctrl_thread.h"
#include <tp_roce.h>

#define WAIT_US 20000
#define DEVICES 32u

struct lent {
	char device[64];
	struct tp_mad_service *service;
};

/* What is lent, and the thread that serves programs; one of a process. */
static struct {
	struct tp_umad *umad;
	char path[112]; /* has a slash */
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

int
ib_show_each(struct app *app, const struct cmd_args *a, const char *list,
	     int (*show)(struct out *o, struct app *app, const char *device))
{
	const char *only = cmd_has(a, "device") ? cmd_text(a, "device") : NULL;
	char names[DEVICES][64];
	unsigned int i, n = RTE_MIN(ib_devices(names, DEVICES), DEVICES), shown = 0;
	struct out o;
	int ret = 0, one;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, list);
	for (i = 0; i < n; i++) {
		if (only != NULL && strcmp(only, names[i]) != 0)
			continue;
		one = show(&o, app, names[i]);
		ret = ret == 0 ? one : ret;
		shown++;
	}
	out_end(&o);
	out_done(&o);
	if (only != NULL && shown == 0)
		return app_err(-ENODEV, "no InfiniBand port %s: 'show ib' lists them", only);
	return ret;
}

static ctrl_thread_end
serve(void *arg)
{
	(void)arg;
	while (!atomic_load(&ib.stop))
		(void)tp_umad_progress(ib.umad, WAIT_US);
	return (ctrl_thread_end)0;
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

int
ib_lend(const char *path)
{
	char names[TP_UMAD_PORTS][64];
	unsigned int n;
	int err;

	n = RTE_MIN(ib_devices(names, TP_UMAD_PORTS), TP_UMAD_PORTS);
	if (n == 0)
		return app_err(-ENODEV, "no InfiniBand port: a card has them by port0=ib or port1=ib");
	err = tp_umad_create(path, &ib.umad);
	if (err != 0)
		return app_err(err, "socket %s: %s", path,
			       err == -EADDRINUSE     ? "another process serves that path; end it, or name another one"
			       : err == -ENAMETOOLONG ? "want a path of at most 107 octets"
						      : strerror(-err));
	for (unsigned int i = 0; i < n && err == 0; i++)
		err = lend(names[i]);
	if (err == 0) {
		atomic_store(&ib.stop, false);
		err = ctrl_thread_create(&ib.tid, "tp-umad", serve, NULL);
		if (err != 0)
			err = app_err(-err, "no thread: %s", strerror(err));
	}
	if (err != 0)
		give_back();
	else
		snprintf(ib.path, sizeof(ib.path), "%s%s", strchr(path, '/') != NULL ? "" : "./", path);
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

const char *
ib_lent_path(void)
{
	return ib.umad != NULL ? ib.path : "";
}

struct tp_umad *
ib_lent(void)
{
	return ib.umad;
}

struct tp_mad_service *
ib_service(const char *device)
{
	for (unsigned int i = 0; i < ib.num_ports; i++)
		if (strcmp(ib.port[i].device, device) == 0)
			return ib.port[i].service;
	return NULL;
}
