/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * An agent over an ethdev: frames from any receive queue come by a ring, time and transmission belong to one lcore, the
 * port's settings to a control thread. The lock is held for the state machines only, never around the port's operations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_spinlock.h>

#include "tp_dcbx_port.h"

#define RING_SIZE 64
#define LINK_MS 200 /* how often the link is looked at */

struct tp_dcbx_port {
	/* looked at by each poll and each hooked burst */
	struct rte_ring *in;
	uint64_t next_tsc;
	bool taking;

	uint16_t port_id, tx_queue, num_hooks;
	struct rte_mempool *pool;
	const struct tp_qos_ops *ops;
	const struct rte_eth_rxtx_callback *hook[RTE_MAX_QUEUES_PER_PORT];
	struct rte_mbuf *unsent; /* found no room in the queue */
	uint64_t rx_lost;        /* by any lcore */

	rte_spinlock_t give_lock; /* one at a time gives settings to the port; taken before the other */
	rte_spinlock_t lock;      /* for what follows */
	bool on, willing, link;
	struct tp_dcbx dcbx;
	struct tp_qos_port local;
	struct tp_qos_limits limits;
	uint32_t applied_seq;
	uint64_t tx_lost, applied, refused;
	uint32_t apps_unruled;
	char refusal[TP_ERR_LEN];
};

static uint64_t
to_ms(uint64_t tsc)
{
	uint64_t hz = rte_get_tsc_hz();

	return tsc / hz * 1000 + tsc % hz * 1000 / hz;
}

static uint64_t
to_tsc(uint64_t ms)
{
	uint64_t hz = rte_get_tsc_hz();

	return ms / 1000 * hz + ms % 1000 * hz / 1000;
}

static void
identity(const struct tp_dcbx_attach *args, struct tp_lldp_conf *conf)
{
	char name[RTE_ETH_NAME_MAX_LEN] = "";
	struct rte_ether_addr mac = {0};

	(void)rte_eth_macaddr_get(args->port_id, &mac);
	tp_lldp_conf_default(conf, mac.addr_bytes);
	if (rte_eth_dev_get_name_by_port(args->port_id, name) == 0)
		snprintf(conf->port_desc, sizeof(conf->port_desc), "%.63s", name);
	if (gethostname(conf->sys_name, sizeof(conf->sys_name)) != 0)
		conf->sys_name[0] = '\0';
	conf->sys_name[sizeof(conf->sys_name) - 1] = '\0';
	if (args->tx_interval_s != 0)
		conf->tx_interval_s = args->tx_interval_s;
	if (args->tx_hold != 0)
		conf->tx_hold = args->tx_hold;
}

static int
local_read(struct tp_dcbx_port *p, struct tp_dcbx_params *params)
{
	int ret;

	if (p->ops == NULL) {
		p->limits = (struct tp_qos_limits){.max_tc = TP_TCS, .pfc = true};
		tp_qos_port_default(&p->local);
		ret = 0;
	} else {
		ret = p->ops->limits(p->port_id, &p->limits);
		if (ret == 0)
			ret = p->ops->get(p->port_id, &p->local);
	}
	if (ret == 0)
		tp_dcbx_from_qos(&p->local, &p->limits, params);
	return ret;
}

int
tp_dcbx_attach(const struct tp_dcbx_attach *args, struct tp_dcbx_port **out)
{
	struct tp_dcbx_params params;
	struct tp_lldp_conf conf;
	char name[RTE_RING_NAMESIZE];
	struct tp_dcbx_port *p;
	int ret;

	if (!rte_eth_dev_is_valid_port(args->port_id))
		return -ENODEV;
	p = rte_zmalloc("dcbx", sizeof(*p), RTE_CACHE_LINE_SIZE);
	if (p == NULL)
		return -ENOMEM;
	p->port_id = args->port_id;
	p->tx_queue = args->tx_queue;
	p->pool = args->pool;
	p->ops = args->ops;
	rte_spinlock_init(&p->lock);
	rte_spinlock_init(&p->give_lock);
	identity(args, &conf);
	ret = local_read(p, &params);
	if (ret == 0)
		ret = tp_dcbx_init(&p->dcbx, &conf, &params);
	if (ret == 0) {
		snprintf(name, sizeof(name), "dcbx_%u", args->port_id);
		p->in = rte_ring_create(name, RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
		ret = p->in != NULL ? 0 : -rte_errno;
	}
	if (ret != 0) {
		rte_free(p);
		return ret;
	}
	*out = p;
	return 0;
}

void
tp_dcbx_port_set(struct tp_dcbx_port *p, bool on, bool willing)
{
	rte_spinlock_lock(&p->lock);
	p->on = on;
	p->willing = willing;
	tp_dcbx_set(&p->dcbx, on, willing);
	__atomic_store_n(&p->taking, on, __ATOMIC_RELAXED);
	__atomic_store_n(&p->next_tsc, 0, __ATOMIC_RELAXED);
	rte_spinlock_unlock(&p->lock);
}

void
tp_dcbx_input(struct tp_dcbx_port *p, struct rte_mbuf *m)
{
	if (rte_ring_enqueue(p->in, m) == 0)
		return;
	__atomic_fetch_add(&p->rx_lost, 1, __ATOMIC_RELAXED);
	rte_pktmbuf_free(m);
}

static uint16_t
take(uint16_t port_id, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct tp_dcbx_port *p = arg;
	uint16_t i, kept = 0;

	(void)port_id;
	(void)queue;
	(void)max;
	if (!__atomic_load_n(&p->taking, __ATOMIC_RELAXED))
		return n;
	for (i = 0; i < n; i++) {
		if (tp_dcbx_is_lldp(pkts[i]))
			tp_dcbx_input(p, pkts[i]);
		else
			pkts[kept++] = pkts[i];
	}
	return kept;
}

int
tp_dcbx_hook(struct tp_dcbx_port *p)
{
	struct rte_eth_dev_info info;
	uint16_t q;
	int ret = rte_eth_dev_info_get(p->port_id, &info);

	for (q = 0; ret == 0 && q < info.nb_rx_queues; q++) {
		p->hook[q] = rte_eth_add_rx_callback(p->port_id, q, take, p);
		if (p->hook[q] == NULL)
			ret = -rte_errno;
		else
			p->num_hooks++;
	}
	if (ret != 0)
		tp_dcbx_unhook(p);
	return ret;
}

void
tp_dcbx_unhook(struct tp_dcbx_port *p)
{
	while (p->num_hooks > 0) {
		uint16_t q = --p->num_hooks;

		(void)rte_eth_remove_rx_callback(p->port_id, q, p->hook[q]);
		rte_free((void *)(uintptr_t)p->hook[q]);
		p->hook[q] = NULL;
	}
}

static void
receive(struct tp_dcbx_port *p, uint64_t now)
{
	uint8_t buf[TP_LLDP_MAX_FRAME];
	void *obj;

	while (rte_ring_dequeue(p->in, &obj) == 0) {
		struct rte_mbuf *m = obj;
		uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)sizeof(buf));

		(void)tp_lldp_input(&p->dcbx.lldp, rte_pktmbuf_read(m, 0, len, buf), len, now);
		rte_pktmbuf_free(m);
	}
}

/* A frame that the queue does not take waits; the agent is not asked for another one before it is gone. */
static bool
flush(struct tp_dcbx_port *p)
{
	if (p->unsent != NULL && rte_eth_tx_burst(p->port_id, p->tx_queue, &p->unsent, 1) == 1)
		p->unsent = NULL;
	return p->unsent == NULL;
}

static void
transmit(struct tp_dcbx_port *p, uint64_t now)
{
	uint8_t frame[TP_LLDP_MAX_FRAME];
	size_t len;
	char *to;

	while (flush(p) && (len = tp_lldp_poll(&p->dcbx.lldp, now, frame)) > 0) {
		p->unsent = rte_pktmbuf_alloc(p->pool);
		to = p->unsent == NULL ? NULL : rte_pktmbuf_append(p->unsent, (uint16_t)len);
		if (to == NULL) {
			rte_pktmbuf_free(p->unsent);
			p->unsent = NULL;
			p->tx_lost++;
			continue;
		}
		memcpy(to, frame, len);
	}
}

static void
look_at_link(struct tp_dcbx_port *p)
{
	struct rte_eth_link link = {0};

	p->link = rte_eth_link_get_nowait(p->port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
	tp_lldp_port_set(&p->dcbx.lldp, p->link);
}

static bool
run(struct tp_dcbx_port *p, uint64_t tsc)
{
	uint64_t now = to_ms(tsc), next;
	bool changed;

	rte_spinlock_lock(&p->lock);
	look_at_link(p);
	receive(p, now);
	transmit(p, now);
	next = RTE_MIN(tp_lldp_next(&p->dcbx.lldp), now + LINK_MS);
	__atomic_store_n(&p->next_tsc, p->unsent != NULL ? 0 : to_tsc(next), __ATOMIC_RELAXED);
	changed = p->dcbx.oper_seq != p->applied_seq;
	rte_spinlock_unlock(&p->lock);
	return changed;
}

bool
tp_dcbx_poll(struct tp_dcbx_port *p, uint64_t tsc)
{
	if (likely(tsc < __atomic_load_n(&p->next_tsc, __ATOMIC_RELAXED) && rte_ring_empty(p->in)))
		return false;
	return run(p, tsc);
}

void
tp_dcbx_detach(struct tp_dcbx_port *p)
{
	struct rte_mbuf *m;
	void *obj;

	if (p == NULL)
		return;
	tp_dcbx_unhook(p);
	tp_dcbx_port_set(p, false, p->willing);
	(void)run(p, rte_rdtsc());
	(void)tp_dcbx_apply(p);
	while (rte_ring_dequeue(p->in, &obj) == 0) {
		m = obj;
		rte_pktmbuf_free(m);
	}
	rte_pktmbuf_free(p->unsent);
	rte_ring_free(p->in);
	rte_free(p);
}

/* --- settings ------------------------------------------------------------------------------------------------ */

/* What is wanted of the port now. */
struct wish {
	uint32_t seq;
	unsigned int mask; /* features taken from the peer */
	struct tp_dcbx_params oper;
	struct tp_qos_port local;
};

static void
wish_get(struct tp_dcbx_port *p, struct wish *w)
{
	unsigned int i;

	rte_spinlock_lock(&p->lock);
	w->seq = p->dcbx.oper_seq;
	w->oper = p->dcbx.oper;
	w->local = p->local;
	w->mask = 0;
	for (i = 0; i < TP_DCBX_FEATURES; i++)
		w->mask |= p->dcbx.feature[i].from_peer ? 1u << i : 0;
	rte_spinlock_unlock(&p->lock);
}

static int
give(struct tp_dcbx_port *p, const struct wish *w, unsigned int mask, unsigned int *unruled, char *err)
{
	struct tp_qos_port q = w->local;

	err[0] = '\0';
	*unruled = tp_dcbx_to_qos(&w->oper, mask, &q);
	return p->ops->set(p->port_id, &q, err);
}

/* One by one: which of the peer's features does the port take? */
static unsigned int
sift(struct tp_dcbx_port *p, const struct wish *w, unsigned int *unruled, char *err)
{
	unsigned int i, good = 0, n;
	char why[TP_ERR_LEN];

	for (i = 0; i < TP_DCBX_FEATURES; i++) {
		if ((w->mask & 1u << i) == 0)
			continue;
		if (give(p, w, good | 1u << i, &n, why) == 0) {
			good |= 1u << i;
			*unruled = n;
		} else {
			memcpy(err, why, sizeof(why));
		}
	}
	return good;
}

static void
done(struct tp_dcbx_port *p, const struct wish *w, unsigned int good, unsigned int unruled, const char *err)
{
	unsigned int i, bad = w->mask & ~good;

	rte_spinlock_lock(&p->lock);
	p->applied++;
	p->apps_unruled = unruled;
	p->applied_seq = w->seq;
	if (bad != 0) {
		p->refused++;
		memcpy(p->refusal, err, sizeof(p->refusal));
	}
	/* What was refused is for the state machines as if the peer had not said it, unless it has spoken since. */
	if (bad != 0 && p->dcbx.oper_seq == w->seq) {
		for (i = 0; i < TP_DCBX_FEATURES; i++)
			if ((bad & 1u << i) != 0)
				tp_dcbx_refuse(&p->dcbx, (enum tp_dcbx_feature_id)i);
		p->applied_seq = p->dcbx.oper_seq;
	}
	rte_spinlock_unlock(&p->lock);
}

static int
apply_locked(struct tp_dcbx_port *p)
{
	char err[TP_ERR_LEN] = "", own[TP_ERR_LEN];
	unsigned int unruled = 0, good;
	struct wish w;
	int ret = 0;

	wish_get(p, &w);
	if (w.seq == p->applied_seq)
		return 0;
	good = w.mask;
	if (p->ops != NULL && give(p, &w, w.mask, &unruled, err) != 0) {
		good = sift(p, &w, &unruled, err);
		if (good == 0)
			ret = give(p, &w, 0, &unruled, own);
	}
	done(p, &w, good, unruled, err);
	return ret;
}

int
tp_dcbx_apply(struct tp_dcbx_port *p)
{
	int ret;

	rte_spinlock_lock(&p->give_lock);
	ret = apply_locked(p);
	rte_spinlock_unlock(&p->give_lock);
	return ret;
}

void
tp_dcbx_port_local_get(struct tp_dcbx_port *p, struct tp_qos_port *q)
{
	rte_spinlock_lock(&p->lock);
	*q = p->local;
	rte_spinlock_unlock(&p->lock);
}

int
tp_dcbx_port_local_set(struct tp_dcbx_port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct tp_dcbx_params params;
	unsigned int unruled;
	struct wish w;
	int ret = 0;

	rte_spinlock_lock(&p->give_lock);
	wish_get(p, &w);
	w.local = *q;
	if (p->ops != NULL)
		ret = give(p, &w, w.mask, &unruled, err);
	if (ret != 0) {
		rte_spinlock_unlock(&p->give_lock);
		return ret;
	}
	tp_dcbx_from_qos(q, &p->limits, &params);
	rte_spinlock_lock(&p->lock);
	p->local = *q;
	tp_dcbx_local_set(&p->dcbx, &params);
	__atomic_store_n(&p->next_tsc, 0, __ATOMIC_RELAXED);
	rte_spinlock_unlock(&p->lock);
	rte_spinlock_unlock(&p->give_lock);
	return 0;
}

void
tp_dcbx_report(struct tp_dcbx_port *p, struct tp_dcbx_report *r)
{
	rte_spinlock_lock(&p->lock);
	r->on = p->on;
	r->willing = p->willing;
	r->link = p->link;
	r->dcbx = p->dcbx;
	r->tx_lost = p->tx_lost;
	r->applied = p->applied;
	r->refused = p->refused;
	r->apps_unruled = p->apps_unruled;
	memcpy(r->refusal, p->refusal, sizeof(r->refusal));
	rte_spinlock_unlock(&p->lock);
	r->rx_lost = __atomic_load_n(&p->rx_lost, __ATOMIC_RELAXED);
}
