/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of queues handed to guests. */
#include "guest.h"

#include <errno.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>

#include "fwd.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/port/group.h"

#define VHOST_DRIVER "net_vhost"

static struct app_guest *
guest_find(struct app *app, uint16_t port, const char *group)
{
	unsigned int i;

	for (i = 0; i < APP_GUESTS; i++)
		if (app->guest[i].name[0] != '\0' && app->guest[i].port == port &&
		    strcmp(app->guest[i].name, group) == 0)
			return &app->guest[i];
	return NULL;
}

static struct app_guest *
guest_room(struct app *app)
{
	unsigned int i;

	for (i = 0; i < APP_GUESTS; i++)
		if (app->guest[i].name[0] == '\0')
			return &app->guest[i];
	return NULL;
}

static void
device_name(uint16_t port, const char *group, char *name, size_t len)
{
	snprintf(name, len, VHOST_DRIVER "_p%u_%s", port, group);
}

/* A port of the program that only its guest's group forwards to. */
static int
vhost_port(struct app *app, uint16_t id, uint16_t queues)
{
	struct app_port *p = &app->port[id];

	port_add(app, id);
	p->guest = true;
	p->peer = id;
	p->rxq = queues;
	p->txq = queues;
	p->mtu = 0;
	p->rx_offloads = p->tx_offloads = 0; /* the program's are for its cards */
	p->mode = (unsigned int)fwd_mode_by_name("io");
	return port_start(app, p);
}

int
guest_link(struct app *app, uint16_t port, const char *group, const char *socket)
{
	char name[RTE_DEV_NAME_MAX_LEN], args[256];
	struct app_guest *guest;
	struct tp_group g;
	uint16_t id;
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "group vhost: forwarding runs; 'stop' first");
	ret = group_find(port, group, &g);
	if (ret != 0)
		return app_err(ret, "group vhost: '%s' is no group of port %u, want one that 'show group %u' names",
			       group, port, port);
	if (guest_find(app, port, group) != NULL)
		return app_err(-EEXIST, "group vhost: group %s of port %u has a guest; 'group vhost %u %s off' first",
			       group, port, port, group);
	guest = guest_room(app);
	if (guest == NULL)
		return app_err(-ENOSPC, "group vhost: %u guests, want no more", APP_GUESTS);
	device_name(port, group, name, sizeof(name));
	if ((size_t)snprintf(args, sizeof(args), "iface=%s,queues=%u", socket, g.num_queues) >= sizeof(args) ||
	    strchr(socket, ',') != NULL)
		return app_err(-EINVAL, "group vhost: socket '%.40s', want a path without commas, shorter than 200",
			       socket);
	ret = rte_eal_hotplug_add("vdev", name, args);
	if (ret == 0)
		ret = rte_eth_dev_get_port_by_name(name, &id);
	if (ret != 0)
		return app_err(ret, "group vhost: no vhost-user port at %s: %s", socket, rte_strerror(-ret));
	ret = vhost_port(app, id, g.num_queues);
	if (ret != 0) {
		app->port[id].present = false;
		rte_eal_hotplug_remove("vdev", name);
		return ret;
	}
	guest->port = port;
	guest->vhost = id;
	snprintf(guest->name, sizeof(guest->name), "%s", group);
	app_say(app, "port %u: group %s is at %s, its guest is port %u\n", port, group, socket, id);
	return 0;
}

int
guest_unlink(struct app *app, uint16_t port, const char *group)
{
	struct app_guest *guest = guest_find(app, port, group);
	char name[RTE_DEV_NAME_MAX_LEN];
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "group vhost: forwarding runs; 'stop' first");
	if (guest == NULL)
		return app_err(-ENOENT, "group vhost: group %s of port %u has no guest", group, port);
	ret = app->port[guest->vhost].present ? port_close(app, &app->port[guest->vhost]) : 0;
	if (ret != 0)
		return ret;
	device_name(port, group, name, sizeof(name));
	rte_eal_hotplug_remove("vdev", name);
	memset(guest, 0, sizeof(*guest));
	return 0;
}

void
guest_unlink_all(struct app *app)
{
	unsigned int i;

	for (i = 0; i < APP_GUESTS; i++)
		if (app->guest[i].name[0] != '\0')
			guest_unlink(app, app->guest[i].port, app->guest[i].name);
}

bool
guest_route(const struct app *app, uint16_t port, uint16_t q, uint16_t *tx_port, uint16_t *tx_queue)
{
	struct tp_group g;
	unsigned int i;
	uint16_t k;

	for (i = 0; i < APP_GUESTS; i++) {
		const struct app_guest *guest = &app->guest[i];
		uint16_t queues = app->port[guest->vhost].rxq;

		if (guest->name[0] == '\0' || (port != guest->port && port != guest->vhost) ||
		    group_find(guest->port, guest->name, &g) != 0)
			continue;
		if (port == guest->vhost) {
			*tx_port = guest->port;
			*tx_queue = g.queue[q % g.num_queues];
			return true;
		}
		for (k = 0; k < g.num_queues && g.queue[k] != q; k++)
			;
		if (k == g.num_queues)
			continue;
		*tx_port = guest->vhost;
		*tx_queue = (uint16_t)(k % queues);
		return true;
	}
	return false;
}
