/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "roce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "apps/roce_common/end.h"
#include "port.h"

const char *const roce_mode_names[] = {
	[TP_ROCE_V2] = "v2", [TP_ROCE_V1] = "v1", [TP_ROCE_V1_MAC] = "v1-mac", [TP_ROCE_OFF] = "off"};

enum tp_roce_mode
roce_mode_of(const char *name)
{
	unsigned int i = 0;

	while (i < TP_ROCE_OFF && strcmp(roce_mode_names[i], name) != 0)
		i++;
	return (enum tp_roce_mode)i;
}

struct roce_port *
roce_of(struct app_port *p)
{
	struct roce_port *r = p->roce;

	if (r != NULL)
		return r;
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		app_err(-ENOMEM, "port %u: no memory for RoCE", p->id);
		return NULL;
	}
	r->id = p->id;
	r->conf.app_rx = true;
	rte_spinlock_init(&r->lock);
	TAILQ_INIT(&r->qps);
	p->roce = r;
	return r;
}

struct roce_port *
roce_open_of(const struct app_port *p)
{
	if (p->roce != NULL && p->roce->ctx != NULL)
		return p->roce;
	if (p->roce != NULL && p->roce->on)
		app_err(-ENETDOWN, "port %u is not started; 'port start %u' first", p->id, p->id);
	else
		app_err(-ENETDOWN, "port %u: RoCE is off; 'roce %u on' first", p->id, p->id);
	return NULL;
}

int
roce_show(void *arg, const struct cmd_args *a, void (*fn)(struct out *o, struct roce_port *r, const struct cmd_args *a))
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct out o;
	unsigned int i;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++) {
		struct roce_port *r = app->port[ports->list[i]].roce;

		out_item(&o, "port", ports->list[i]);
		out_bool(&o, "on", r != NULL && r->on);
		if (r != NULL && r->ctx != NULL)
			fn(&o, r, a);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

/* --- life --- */

int
roce_addr_apply(struct roce_port *r, const struct roce_addr *a)
{
	int err = tp_roce_addr_add(r->ctx, (const struct sockaddr *)&a->addr, a->prefix, a->vlan);

	return err == 0 ? 0 : app_err(-err, "port %u: address: %s", r->id, strerror(err));
}

int
roce_gateway_apply(struct roce_port *r)
{
	bool none = r->gateway.ss_family == 0;
	int err = tp_roce_gateway(r->ctx, none ? NULL : (const struct sockaddr *)&r->gateway);

	return err == 0 ? 0 : app_err(-err, "port %u: gateway: %s", r->id, strerror(err));
}

static int
cc_apply_one(struct roce_port *r, unsigned int prio, const struct roce_cc *c)
{
	const struct tp_roce_cc_param *p;
	uint8_t mask = (uint8_t)(1u << prio);
	int err = tp_roce_cc_set_variant(r->ctx, mask, tp_roce_cc_variant_name(c->variant));

	for (unsigned int i = 0; err == 0 && (p = tp_roce_cc_param(i)) != NULL; i++)
		if ((c->has >> i & 1) != 0)
			err = tp_roce_cc_set(r->ctx, mask, p->name, c->value[i]);
	return err == 0 ? tp_roce_cc_enable(r->ctx, mask, c->on) : err;
}

int
roce_cc_apply(struct roce_port *r, const struct roce_cc cc[TP_ROCE_PRIOS])
{
	int err = 0;

	/* A home without it is asked for nothing; what nothing is said of any more is as at first. */
	for (unsigned int i = 0; i < TP_ROCE_PRIOS && err == 0; i++)
		if (roce_cc_says(&cc[i]) || roce_cc_says(&r->cc[i]) || tp_roce_cc_enabled(r->ctx, i))
			err = cc_apply_one(r, i, &cc[i]);
	return err == 0 ? 0 : app_err(-err, "port %u: congestion control: %s", r->id, strerror(err));
}

static int
declare(struct roce_port *r)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < r->num_addrs && ret == 0; i++)
		ret = roce_addr_apply(r, &r->addr[i]);
	if (ret == 0 && r->gateway.ss_family != 0)
		ret = roce_gateway_apply(r);
	return ret == 0 ? roce_cc_apply(r, r->cc) : ret;
}

int
roce_port_up(struct app_port *p)
{
	struct roce_port *r = p->roce;
	int ret;

	if (r == NULL || !r->on || r->ctx != NULL)
		return 0;
	rend_program = "error"; /* what comes before its messages, as before those of this program */
	r->conf.provider = r->provider[0] == '\0' ? NULL : r->provider;
	r->conf.netdev = r->netdev[0] == '\0' ? NULL : r->netdev;
	r->conf.tx_queue = p->txq;
	r->conf.host_tcp = p->kernel != NULL;
	r->ctx = tp_roce_open(p->id, &r->conf);
	if (r->ctx == NULL)
		return app_err(-errno, "port %u: RoCE: %s", p->id, strerror(errno));
	/* Neighbours are asked for by multicast; a port that lacks the mode takes all of it or none. */
	if (!p->promisc && !p->allmulti)
		(void)rte_eth_allmulticast_enable(p->id);
	(void)fcntl(r->ctx->async_fd, F_SETFL, fcntl(r->ctx->async_fd, F_GETFL) | O_NONBLOCK);
	r->pd = tp_roce_alloc_pd(r->ctx);
	ret = r->pd == NULL ? app_err(-errno, "port %u: protection domain: %s", p->id, strerror(errno)) : declare(r);
	if (ret != 0)
		roce_port_down(p);
	return ret;
}

void
roce_port_down(struct app_port *p)
{
	struct roce_port *r = p->roce;
	int err;

	if (r == NULL || r->ctx == NULL)
		return;
	roce_qps_destroy(r);
	if (r->pd != NULL)
		(void)tp_roce_dealloc_pd(r->pd);
	err = tp_roce_close_device(r->ctx);
	if (err != 0)
		app_err(-err, "port %u: RoCE is not closed: %s", p->id, strerror(err));
	if (!p->promisc && !p->allmulti)
		(void)port_allmulti_put(p, false);
	r->ctx = NULL;
	r->pd = NULL;
}

void
roce_port_free(struct app_port *p)
{
	free(p->roce);
	p->roce = NULL;
}

/* --- the stream --- */

static unsigned int
round_roce(struct fwd_stream *s)
{
	struct roce_port *r = s->roce;
	unsigned int done = tp_roce_progress(r->ctx);
	struct roce_qp *q;

	/* The main lcore is changing something: a round later is early enough. */
	if (TAILQ_EMPTY(&r->qps) || rte_spinlock_trylock(&r->lock) == 0)
		return done;
	TAILQ_FOREACH(q, &r->qps, next)
	done += roce_qp_round(q, rte_rdtsc());
	rte_spinlock_unlock(&r->lock);
	return done;
}

static const struct fwd_mode roce_mode = {
	.name = "roce", .help = "", .round = round_roce, .to_self = true, .control = true};

void
roce_stream_init(struct fwd_stream *s, const struct app_port *p)
{
	memset(s, 0, sizeof(*s));
	s->mode = &roce_mode;
	s->rx_port = s->tx_port = p->id;
	s->roce = p->roce;
}

static uint16_t
take(uint16_t port_id, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	const struct roce_port *r = arg;

	(void)port_id;
	(void)queue;
	(void)max;
	return n == 0 ? 0 : tp_roce_input(r->ctx, pkts, n);
}

static int
hook(const struct app_port *p)
{
	struct roce_port *r = p->roce;
	uint16_t q;

	for (q = 0; q < p->rxq; q++) {
		r->hook[q] = rte_eth_add_rx_callback(p->id, q, take, r);
		if (r->hook[q] == NULL)
			return app_err(-rte_errno, "port %u: RoCE cannot look at received frames: %s", p->id,
				       rte_strerror(rte_errno));
	}
	return 0;
}

static void
unhook(const struct app_port *p)
{
	struct roce_port *r = p->roce;
	uint16_t q;

	for (q = 0; q < APP_MAX_QUEUES; q++) {
		if (r->hook[q] == NULL)
			continue;
		(void)rte_eth_remove_rx_callback(p->id, q, r->hook[q]);
		rte_free((void *)(uintptr_t)r->hook[q]);
		r->hook[q] = NULL;
	}
}

int
roce_hook_all(struct app *app)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++)
		if (app->port[i].roce != NULL && app->port[i].roce->ctx != NULL)
			ret = hook(&app->port[i]);
	if (ret != 0)
		roce_unhook_all(app);
	return ret;
}

void
roce_unhook_all(struct app *app)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].roce != NULL)
			unhook(&app->port[i]);
}
