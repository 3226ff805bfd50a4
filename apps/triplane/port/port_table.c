/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Redirection tables and the buffers that they take. A card without a table behind its hash has a ring for each entry
 * instead, and the rings of a new table are filled beside those of the old one, which go when their queues were polled.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/app/app.h"
#include "kernel.h"
#include "roce.h"
#include "rte_pmd_mlx4.h"
#include "port.h"

#define POLL_BURST 32
/* A poller that shares its CPU takes a while to leave old rings. */
#define TRIES 20
#define TRY_MS 10

/* Buffers that the largest frame of a port takes; cards post powers of two of them for a frame. */
static uint32_t
buffers_a_frame(const struct app *app, const struct app_port *p)
{
	uint32_t mtu = p->mtu != 0 ? p->mtu : RTE_ETHER_MTU, room = app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM;
	uint32_t frame = mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;

	return rte_align32pow2((frame + room - 1) / room);
}

/*
 * What the rings of any table of so many entries take at most. The descriptors of a queue are divided between its rings,
 * each of which is rounded up to a power of two, and not below the smallest ring.
 */
static uint32_t
table_buffers(uint32_t queues, uint32_t desc, uint32_t entries)
{
	uint32_t n, ring, above = 0;

	for (n = 1; n <= desc / APP_RING_MIN; n++) {
		ring = RTE_MAX(rte_align32pow2(desc / n), (uint32_t)APP_RING_MIN);
		above = RTE_MAX(above, n * (ring - APP_RING_MIN));
	}
	return entries * APP_RING_MIN + RTE_MIN(queues, entries) * above;
}

/* Buffers of receive rings; to spare: any table, beside any other that it takes the place of. */
static uint32_t
rx_buffers(const struct app_port *p, bool spare)
{
	uint32_t desc = rte_align32pow2(RTE_MAX(p->rxd, (uint16_t)APP_RX_DESC)), rx = p->rxq * desc;

	if (p->rxq > 1 && p->info.reta_size != 0 && spare)
		return RTE_MAX(rx, 2 * table_buffers(p->rxq, desc, p->info.reta_size));
	/* Other rings of a single queue come beside its own, too, as when VLAN stripping is switched. */
	if (rte_is_power_of_2(p->rxq))
		return spare ? 2 * rx : rx;
	return RTE_MAX(2 * rx, (uint32_t)p->info.reta_size * APP_RING_MIN);
}

/* Packets of which the headers have a buffer of their own may be sent by any port. */
static bool
splits_headers(const struct app *app)
{
	unsigned int i;
	bool on;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && rte_pmd_mlx4_header_split_get(app->port[i].id, &on) == 0 && on)
			return true;
	return false;
}

/* Every ring and reserve full at once at all ports, since a buffer may be forwarded to any, and the bursts in between. */
static uint32_t
buffers_wanted(const struct app *app, bool spare)
{
	const bool headers = splits_headers(app);
	uint64_t sum = 0, held;
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		const struct app_port *o = &app->port[i];
		uint32_t tx = (uint32_t)(o->txq + roce_txq(o)) * RTE_MAX(o->txd, (uint16_t)APP_TX_DESC);

		if (!o->present)
			continue;
		held = tx + 2 * APP_BURST_MAX;
		if (o->kernel != NULL)
			held += TP_KERNEL_HELD;
		if (o->burst_buffer)
			held += (uint64_t)o->rxq * o->reservation;
		sum += (rx_buffers(o, spare) + held) * buffers_a_frame(app, o) + (headers ? held : 0);
	}
	return (uint32_t)RTE_MIN(sum, (uint64_t)INT32_MAX); /* of more than that there is no pool */
}

/* Where there is no memory for tables to come, ports start all the same. */
struct rte_mempool *
ports_pool(struct app *app, int socket)
{
	struct rte_mempool *mp = pool_get(app, socket, buffers_wanted(app, true), false, true);

	return mp != NULL ? mp : pool_get(app, socket, buffers_wanted(app, false), false, false);
}

/* While nothing is forwarded: queues go over to their new rings. all: also those with frames that wait, which are dropped. */
static void
leave_old_rings(const struct app_port *p, bool all)
{
	struct rte_mbuf *m[POLL_BURST];
	uint32_t left;
	uint16_t q, n;

	for (q = 0; q < p->rxq; q++) {
		if (!all && rte_eth_rx_queue_count(p->id, q) > 0)
			continue;
		for (left = 2 * APP_RING_MOST; left != 0; left -= RTE_MIN(left, (uint32_t)n)) {
			n = rte_eth_rx_burst(p->id, q, m, POLL_BURST);
			if (n == 0)
				break;
			rte_pktmbuf_free_bulk(m, n);
		}
	}
}

int
port_reta_put(struct app *app, const struct app_port *p, struct rte_eth_rss_reta_entry64 *reta)
{
	/* The agent of DCBX polls a port that does not forward. */
	const bool ours = p->started && !app->fwd_runs && p->dcbx == NULL;
	unsigned int tries = TRIES;
	int ret;

	if (ours)
		leave_old_rings(p, false);
	while ((ret = rte_eth_dev_rss_reta_update(p->id, reta, p->info.reta_size)) == -ENOMEM && tries-- != 0) {
		if (ours) {
			leave_old_rings(p, true);
			tries = 0;
		} else if (!app_sleep_ms(app, TRY_MS)) {
			break;
		}
	}
	return ret;
}

const char *
port_table_error(int err)
{
	return err == -ENOMEM ? "no buffers for its rings beside those of before: raise --total-num-mbufs, or leave it "
				"out and give "
				"EAL more memory (-m)"
			      : rte_strerror(-err);
}

/* Receive queues that rss-queues counts: those that no group has but the default one, or all when groups have all. */
static uint16_t
spread_queues(const struct app_port *p, uint16_t queue[APP_MAX_QUEUES])
{
	bool taken[APP_MAX_QUEUES] = {false};
	struct tp_group g;
	unsigned int i, k;
	uint16_t q, n = 0;

	/* without a number, queues stay in the table for the time when their group goes */
	for (i = 0; p->rss_queues != 0 && rte_pmd_mlx4_group_get(p->id, i, &g) == 0; i++)
		for (k = 0; !g.is_default && k < g.num_queues; k++)
			taken[g.queue[k]] = true;
	for (q = 0; q < p->rxq; q++)
		if (!taken[q])
			queue[n++] = q;
	for (q = 0; n == 0 && q < p->rxq; q++)
		queue[q] = q;
	return n == 0 ? p->rxq : n;
}

int
port_spread(struct app *app, const struct app_port *p)
{
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE] = {0};
	const uint16_t size = p->info.reta_size;
	uint16_t queue[APP_MAX_QUEUES], i, n;

	if (p->rxq < 2 || size == 0 || size > RTE_ETH_RSS_RETA_SIZE_512)
		return 0;
	n = spread_queues(p, queue);
	if (p->rss_queues != 0)
		n = RTE_MIN(n, p->rss_queues);
	for (i = 0; i < size; i++) {
		reta[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			p->table_len != 0 ? p->table[i % p->table_len] : queue[i % n];
	}
	return port_reta_put(app, p, reta);
}

const char *
port_queues_advice(const struct app_port *p, unsigned int queues, char *buf, size_t len)
{
	snprintf(buf, len, "for more: --rxq %u, or 'port stop %u; port config %u rxq %u; port start %u'", queues, p->id,
		 p->id, queues, p->id);
	return buf;
}

int
port_queue_refuse(const struct app_port *p, const char *what, unsigned int queue, char *err, size_t len)
{
	char more[128];

	if (p->rxq == 0)
		snprintf(err, len, "port %u: %s %u, the port has no receive queue; %s", p->id, what, queue,
			 port_queues_advice(p, queue + 1, more, sizeof(more)));
	else
		snprintf(err, len, "port %u: %s %u, want 0..%u, the receive queues of the port; %s", p->id, what, queue,
			 p->rxq - 1, port_queues_advice(p, queue + 1, more, sizeof(more)));
	return -EINVAL;
}

int
port_table_put(struct app *app, struct app_port *p, char *err, size_t len)
{
	const uint16_t size = p->info.reta_size;
	uint16_t i;
	int ret;

	for (i = 0; i < p->table_len; i++)
		if (p->table[i] >= p->rxq)
			return port_queue_refuse(p, "queues:", p->table[i], err, len);
	if (p->table_len != 0 && (size == 0 || size > RTE_ETH_RSS_RETA_SIZE_512)) {
		snprintf(err, len, "port %u: the device has a redirection table of %u entries, want 1..%u", p->id, size,
			 RTE_ETH_RSS_RETA_SIZE_512);
		return -ENOTSUP;
	}
	ret = port_spread(app, p);
	if (ret != 0)
		snprintf(err, len, "port %u: redirection table: %s", p->id, port_table_error(ret));
	return ret;
}

int
port_table_set(struct app *app, struct app_port *p, const uint16_t *queue, uint16_t n, char *err, size_t len)
{
	uint16_t was[APP_TABLE_MAX], was_len = p->table_len;
	int ret;

	memcpy(was, p->table, sizeof(was));
	memcpy(p->table, queue, n * sizeof(queue[0]));
	p->table_len = n;
	ret = p->started ? port_table_put(app, p, err, len) : 0;
	if (ret == 0)
		return 0;
	memcpy(p->table, was, sizeof(was));
	p->table_len = was_len;
	return ret;
}
