/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A wire over any DPDK port. Frames leave in mbufs of the wire's own pool, so that nothing of the card's memory is held
 * after a send; frames that arrive are handed to the port where they lie.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "model/card/model_priv.h"
#include "tp_model_dpdk.h"

#define WIRE_BURST 32u
#define WIRE_DESC 512u
#define WIRE_MBUFS 2047u
#define WIRE_MTU 9600u
/* One mbuf takes the largest frame of the card; larger ones (from captures of offloading hosts) become chains. */
#define WIRE_ROOM (9728u + RTE_PKTMBUF_HEADROOM)

struct wire_ethdev {
	struct tp_wire wire;
	uint16_t port;
	bool started, always_up;
	struct rte_eth_dev_owner owner;
	struct rte_mempool *pool;
	char name[RTE_ETH_NAME_MAX_LEN];
};

static struct wire_ethdev *
of_wire(struct tp_wire *w)
{
	return (struct wire_ethdev *)w;
}

/* Copies len bytes to the end of a packet, with more mbufs when the last one is full. */
static int
append(struct wire_ethdev *w, struct rte_mbuf *head, const uint8_t *data, uint32_t len)
{
	while (len != 0) {
		struct rte_mbuf *tail = rte_pktmbuf_lastseg(head);
		uint32_t room = rte_pktmbuf_tailroom(tail), n = RTE_MIN(room, len);

		if (n == 0) {
			struct rte_mbuf *more = rte_pktmbuf_alloc(w->pool);

			if (more == NULL)
				return -ENOMEM;
			if (rte_pktmbuf_chain(head, more) != 0) {
				rte_pktmbuf_free(more);
				return -EOVERFLOW;
			}
			continue;
		}
		memcpy(rte_pktmbuf_mtod_offset(tail, void *, tail->data_len), data, n);
		tail->data_len = (uint16_t)(tail->data_len + n);
		head->pkt_len += n;
		data += n;
		len -= n;
	}
	return 0;
}

static struct rte_mbuf *
copy_frame(struct wire_ethdev *w, const struct tp_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	uint16_t i;

	if (m == NULL)
		return NULL;
	for (i = 0; i < f->nseg; i++)
		if (append(w, m, f->seg[i].data, f->seg[i].len) != 0) {
			rte_pktmbuf_free(m);
			return NULL;
		}
	return m;
}

/* A frame that could not be copied ends the batch: what the wire took is a prefix. */
static unsigned int
wire_send(struct tp_wire *tw, const struct tp_frame *f, unsigned int n)
{
	struct wire_ethdev *w = of_wire(tw);
	unsigned int done = 0;

	while (done < n) {
		struct rte_mbuf *m[WIRE_BURST];
		uint16_t k = 0, sent;

		while (k < WIRE_BURST && done + k < n && (m[k] = copy_frame(w, &f[done + k])) != NULL)
			k++;
		sent = k == 0 ? 0 : rte_eth_tx_burst(w->port, 0, m, k);
		rte_pktmbuf_free_bulk(m + sent, k - sent);
		done += sent;
		if (sent < k || k == 0)
			break;
	}
	return done;
}

/* Pieces of a received packet; a chain longer than a frame may have is cut into what the caller counts as too long. */
static void
to_frame(const struct rte_mbuf *m, struct tp_frame *f, struct tp_frame_seg *seg)
{
	f->seg = seg;
	f->nseg = 0;
	f->flags = 0;
	f->len = m->pkt_len;
	for (; m != NULL && f->nseg < TP_FRAME_SEGS; m = m->next) {
		seg[f->nseg].data = rte_pktmbuf_mtod(m, const uint8_t *);
		seg[f->nseg].len = m->data_len;
		f->nseg++;
	}
}

static unsigned int
wire_poll(struct tp_wire *tw, struct tp_model *model, unsigned int port, unsigned int budget)
{
	struct wire_ethdev *w = of_wire(tw);
	unsigned int total = 0;

	while (total < budget) {
		struct rte_mbuf *m[WIRE_BURST];
		struct tp_frame f[WIRE_BURST];
		struct tp_frame_seg seg[WIRE_BURST][TP_FRAME_SEGS];
		unsigned int want = RTE_MIN(budget - total, WIRE_BURST);
		uint16_t got = rte_eth_rx_burst(w->port, 0, m, (uint16_t)want), i, good = 0;

		for (i = 0; i < got; i++)
			if (m[i]->nb_segs <= TP_FRAME_SEGS)
				to_frame(m[i], &f[good], seg[good]), good++;
		tp_model_port_receive(model, port, f, good);
		rte_pktmbuf_free_bulk(m, got);
		total += got;
		if (got < want)
			break;
	}
	return total;
}

static bool
wire_link(struct tp_wire *tw)
{
	struct rte_eth_link link;

	/* A port that cannot tell counts as connected. */
	if (of_wire(tw)->always_up || rte_eth_link_get_nowait(of_wire(tw)->port, &link) != 0)
		return true;
	return link.link_status == RTE_ETH_LINK_UP;
}

static void
wire_destroy(struct tp_wire *tw)
{
	struct wire_ethdev *w = of_wire(tw);

	if (w->started)
		rte_eth_dev_stop(w->port);
	if (w->owner.id != RTE_ETH_DEV_NO_OWNER)
		rte_eth_dev_owner_unset(w->port, w->owner.id);
	/* Drivers may keep mbufs after a stop; a pool that is still in use must not go away under them. */
	if (w->pool != NULL && rte_mempool_full(w->pool))
		rte_mempool_free(w->pool);
	free(w);
}

static const struct tp_wire_ops wire_ethdev_ops = {
	.name = "ethdev",
	.media = TP_WIRE_ETH,
	.send = wire_send,
	.poll = wire_poll,
	.link = wire_link,
	.destroy = wire_destroy,
};

static int
configure(struct wire_ethdev *w, const struct rte_eth_dev_info *info)
{
	uint16_t nb_rx = WIRE_DESC, nb_tx = WIRE_DESC;
	struct rte_eth_conf conf;
	int socket = rte_eth_dev_socket_id(w->port), ret;

	memset(&conf, 0, sizeof(conf));
	conf.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	conf.rxmode.offloads = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	ret = rte_eth_dev_configure(w->port, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(w->port, &nb_rx, &nb_tx);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(w->port, 0, nb_rx, (unsigned int)socket, NULL, w->pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(w->port, 0, nb_tx, (unsigned int)socket, NULL);
	return ret;
}

static int
start(struct wire_ethdev *w, const struct rte_eth_dev_info *info)
{
	int ret = rte_eth_dev_start(w->port);
	uint32_t mtu;

	if (ret != 0)
		return ret;
	w->started = true;
	/* The card filters; a port without these modes passes everything or cannot do better. */
	rte_eth_promiscuous_enable(w->port);
	rte_eth_allmulticast_enable(w->port);
	/*
	 * A tap asks the interface of that name in its own network namespace: once the interface was moved to another one
	 * the answer is "down", while frames pass.
	 */
	w->always_up = strcmp(info->driver_name, "net_tap") == 0;
	mtu = RTE_MIN(info->max_mtu, WIRE_MTU);
	if (info->max_rx_pktlen < mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN)
		mtu = info->max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
	if (mtu > RTE_ETHER_MTU)
		rte_eth_dev_set_mtu(w->port, (uint16_t)mtu);
	return 0;
}

static int
fail(struct wire_ethdev *w, char *err, size_t errlen, int ret, const char *why)
{
	snprintf(err, errlen, "wire ethdev:%s: %s (%s)", w->name, why, rte_strerror(-ret));
	wire_destroy(&w->wire);
	return ret;
}

int
tp_wire_ethdev_create(const char *name, struct tp_wire **out, char *err, size_t errlen)
{
	char pool_name[RTE_MEMPOOL_NAMESIZE];
	struct rte_eth_dev_info info;
	struct wire_ethdev *w;
	int ret;

	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		snprintf(err, errlen, "wire ethdev:%s: out of memory", name);
		return -ENOMEM;
	}
	w->wire.ops = &wire_ethdev_ops;
	snprintf(w->name, sizeof(w->name), "%s", name);
	if (rte_eth_dev_get_port_by_name(name, &w->port) != 0)
		return fail(w, err, errlen, -ENODEV,
			    "there is no such port; declare it with --vdev before this device");
	ret = rte_eth_dev_owner_new(&w->owner.id);
	if (ret != 0)
		return fail(w, err, errlen, ret, "no owner id");
	snprintf(w->owner.name, sizeof(w->owner.name), "mlx4 model wire");
	ret = rte_eth_dev_owner_set(w->port, &w->owner);
	if (ret != 0) {
		w->owner.id = RTE_ETH_DEV_NO_OWNER;
		return fail(w, err, errlen, -EBUSY, "the port belongs to somebody else, such as another wire");
	}
	ret = rte_eth_dev_info_get(w->port, &info);
	if (ret != 0)
		return fail(w, err, errlen, ret, "the port does not describe itself");
	snprintf(pool_name, sizeof(pool_name), "tpwire%u", w->port);
	w->pool = rte_pktmbuf_pool_create(pool_name, WIRE_MBUFS, 256, 0, WIRE_ROOM, rte_eth_dev_socket_id(w->port));
	if (w->pool == NULL)
		return fail(w, err, errlen, -rte_errno, "no memory for its mbuf pool");
	ret = configure(w, &info);
	if (ret != 0)
		return fail(w, err, errlen, ret, "the port cannot be configured");
	ret = start(w, &info);
	if (ret != 0)
		return fail(w, err, errlen, ret, "the port cannot be started");
	*out = &w->wire;
	return 0;
}
