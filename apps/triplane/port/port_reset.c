/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What happens to a port by itself, and its way back: links that come and go, devices that are removed, resets. */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "roce.h"
#include "port.h"

#define RECOVER_NAP_US 1000u

/* On the thread of the device's events. */
static int
on_event(uint16_t id, enum rte_eth_event_type event, void *arg, void *ret_param)
{
	char speed[32] = "";
	struct rte_eth_link link;

	struct app_port *p = arg;

	(void)ret_param;
	if (event == RTE_ETH_EVENT_ERR_RECOVERING || event == RTE_ETH_EVENT_RECOVERY_SUCCESS ||
	    event == RTE_ETH_EVENT_RECOVERY_FAILED) {
		__atomic_store_n(&p->recovering, event == RTE_ETH_EVENT_ERR_RECOVERING, __ATOMIC_SEQ_CST);
		if (event == RTE_ETH_EVENT_RECOVERY_FAILED)
			app_event("port-failed",
				  "port %u: its restart failed, it is stopped; 'stop', 'port stop %u', "
				  "'port start %u'",
				  id, id, id);
	} else if (event == RTE_ETH_EVENT_INTR_RESET) {
		app_event("port-ails", "port %u: 'port restart %u' may help", id, id);
	} else if (event == RTE_ETH_EVENT_INTR_RMV) {
		app_event("port-removed", "port %u: its device died; 'stop' and 'port reset all' when it answers again",
			  id);
	} else if (rte_eth_link_get_nowait(id, &link) == 0) {
		if (link.link_status == RTE_ETH_LINK_UP && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
			snprintf(speed, sizeof(speed), ", %u Mbit/s", link.link_speed);
		app_event(link.link_status == RTE_ETH_LINK_UP ? "link-up" : "link-down", "port %u%s", id, speed);
	}
	return 0;
}

void
port_listen(struct app_port *p)
{
	static const enum rte_eth_event_type events[] = {RTE_ETH_EVENT_INTR_LSC,         RTE_ETH_EVENT_INTR_RMV,
							 RTE_ETH_EVENT_INTR_RESET,       RTE_ETH_EVENT_ERR_RECOVERING,
							 RTE_ETH_EVENT_RECOVERY_SUCCESS, RTE_ETH_EVENT_RECOVERY_FAILED};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RTE_DIM(events) && ret == 0; i++)
		ret = rte_eth_dev_callback_register(p->id, events[i], on_event, p);
	if (ret != 0)
		app_err(-ENOMEM, "port %u: no memory to listen to its events, of which nothing will be said", p->id);
}

void
port_settle(const struct app_port *p)
{
	while (__atomic_load_n(&p->recovering, __ATOMIC_SEQ_CST))
		rte_delay_us_sleep(RECOVER_NAP_US);
}

const char *
port_error(uint16_t id, int err)
{
	return rte_eth_dev_is_removed(id) == 1 ? "its device died; 'port reset all' when it answers again"
					       : rte_strerror(-err);
}

/* Ports of one device that died come back together. */
static bool
same_device(const struct app_port *a, const struct app_port *b)
{
	return a == b || (a->info.device != NULL && a->info.device == b->info.device);
}

/* 0 when what takes part in the reset of port p is among the ports, or stopped. */
static int
check_others(const struct app *app, const struct app_port *p, const bool *asked)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].started && !asked[i] && same_device(p, &app->port[i]))
			return app_err(
				-EBUSY,
				"port %u: its device died and is reset with all its ports: 'port stop %u' first, or "
				"'port reset' with port %u, too",
				p->id, i, i);
	return 0;
}

/* The table of a port with several queues, however it came to be. */
struct table {
	bool known;
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
};

static void
table_get(const struct app_port *p, struct table *t)
{
	const uint16_t size = p->info.reta_size;

	memset(t, 0, sizeof(*t));
	memset(t->reta, 0xff, size / RTE_ETH_RETA_GROUP_SIZE * sizeof(t->reta[0]));
	t->known = p->configured && !p->dirty && p->rxq > 1 && size != 0 && size <= RTE_ETH_RSS_RETA_SIZE_512 &&
		   rte_eth_dev_rss_reta_query(p->id, t->reta, size) == 0;
}

static int
start_again(struct app *app, struct app_port *p, struct table *t)
{
	struct table now;
	int ret = port_start(app, p);

	if (ret != 0)
		return ret;
	table_get(p, &now);
	if (!t->known || !now.known || memcmp(now.reta, t->reta, sizeof(now.reta)) == 0)
		return 0;
	ret = port_reta_put(app, p, t->reta);
	return ret != 0 ? app_err(ret, "port %u: redirection table: %s", p->id, port_table_error(ret)) : 0;
}

struct back {
	bool was_started, died;
	unsigned int qps;
	struct table table;
};

static int
down(struct app *app, struct app_port *p, struct back *b)
{
	const struct roce_qp *q;

	b->died = rte_eth_dev_is_removed(p->id) == 1;
	b->was_started = p->started;
	b->qps = 0;
	if (p->roce != NULL && p->roce->ctx != NULL)
		TAILQ_FOREACH(q, &p->roce->qps, next)
	b->qps++;
	table_get(p, &b->table);
	return port_stop(app, p);
}

/* Its queues are gone, and so are those of the other ports of a device that died. */
static int
reset_one(struct app *app, struct app_port *p, bool died)
{
	int ret = rte_eth_dev_reset(p->id);
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (&app->port[i] == p || (died && app->port[i].present && same_device(p, &app->port[i])))
			app->port[i].dirty = true;
	if (ret != 0 && died)
		return app_err(
			ret,
			"port %u: its device did not come back by a reset; try again when it answers, or close its "
			"ports",
			p->id);
	return ret != 0 ? app_err(ret, "port %u: reset: %s", p->id, rte_strerror(-ret)) : 0;
}

static int
up(struct app *app, struct app_port *p, struct back *b)
{
	int ret = b->was_started ? start_again(app, p, &b->table) : 0;

	if (ret != 0)
		return ret;
	app_event("port-reset", "port %u: %s", p->id, p->started ? "started again" : "stopped, as it was");
	if (b->qps != 0)
		app_say(app, "port %u: %u queue pairs of RoCE are gone; make them again\n", p->id, b->qps);
	return 0;
}

int
ports_reset(struct app *app, const uint32_t *ids, unsigned int n)
{
	bool asked[RTE_MAX_ETHPORTS] = {0};
	struct back back[CMD_MAX_LIST];
	unsigned int i;
	int ret = 0;

	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", n != 0 ? ids[0] : 0);
	for (i = 0; i < n; i++)
		asked[ids[i]] = true;
	for (i = 0; i < n && ret == 0; i++)
		if (rte_eth_dev_is_removed((uint16_t)ids[i]) == 1)
			ret = check_others(app, &app->port[ids[i]], asked);
	for (i = 0; i < n && ret == 0; i++)
		ret = down(app, &app->port[ids[i]], &back[i]);
	for (i = 0; i < n && ret == 0; i++)
		ret = reset_one(app, &app->port[ids[i]], back[i].died);
	for (i = 0; i < n && ret == 0; i++)
		ret = up(app, &app->port[ids[i]], &back[i]);
	return ret;
}
