/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of TCP whose program went without a word. What their sequence numbers were nobody knows any more but the peers: an ACK
 * that fits nowhere makes a peer say them (RFC 9293, 3.10.7.4, first), and what it says is refused (refuse.c) by a RST that fits.
 */
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "net_priv.h"

#define ENDED_ROUND 64u /* with the pause: fewer a second than are refused */
#define ENDED_PAUSE_NS UINT64_C(5000000)
#define ENDED_AGAIN_NS UINT64_C(200000000)
#define ENDED_TRIES 4u
#define ENDED_TTL 64
#define ENDED_ASKS 100u /* looks for a neighbour's MAC */

struct trn_ended {
	STAILQ_ENTRY(trn_ended) next;
	struct troce_tcp_pair pair;
	uint64_t at;
	unsigned int tries, asks; /* left */
};

void
troce_tcp_ended(struct troce_dev *dev, const struct troce_tcp_pair *pair, unsigned int n)
{
	struct troce_net *net = dev->net;

	if (net == NULL)
		return;
	pthread_mutex_lock(&net->lock);
	for (unsigned int i = 0; i < n; i++) {
		struct trn_ended *e = calloc(1, sizeof(*e));

		if (e == NULL)
			break;
		e->pair = pair[i];
		e->tries = ENDED_TRIES;
		e->asks = ENDED_ASKS;
		STAILQ_INSERT_TAIL(&net->ended, e, next);
	}
	pthread_mutex_unlock(&net->lock);
	trn_wake(net);
}

void
trn_ended_free(struct troce_net *net)
{
	struct trn_ended *e;

	STAILQ_CONCAT(&net->ended, &net->asked);
	while ((e = STAILQ_FIRST(&net->ended)) != NULL) {
		STAILQ_REMOVE_HEAD(&net->ended, next);
		free(e);
	}
}

/* 0, EINPROGRESS, or EHOSTUNREACH: no such address of ours, no way, no answer. */
static int
way(struct troce_net *net, const struct trn_ended *e, struct rte_ether_addr *mac, uint16_t *vlan)
{
	const union ibv_gid local = trn_gid_v4(e->pair.local_ip), remote = trn_gid_v4(e->pair.remote_ip);
	struct troce_gid src = {.gid = local};
	union ibv_gid hop;
	int err = EHOSTUNREACH;

	if (!trn_is_host(&remote))
		return EHOSTUNREACH;
	for (unsigned int i = 0; err == EHOSTUNREACH && i < TP_ROCE_GIDS; i++) {
		const struct trn_addr *a = &net->a.addr[i];

		if (!a->valid || !trn_gid_equal(&a->gid, &local))
			continue;
		src.vlan = *vlan = a->vlan;
		err = trn_next_hop(&net->a, &src, &remote, &hop);
		if (err == 0)
			err = trn_neigh_lookup(&net->neighs, &hop, a->vlan, &local, mac);
	}
	return err;
}

/* Its timestamp is older than any, or as good as one: a peer with PAWS answers either. Each try has other numbers, of which one may fit. */
static void
ack(const struct troce_net *net, const struct trn_ended *e, const struct rte_ether_addr *mac, uint16_t vlan,
    struct trn_out *out)
{
	static const uint8_t stamp[12] = {1, 1, 8, 10};
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)trn_eth(out, mac, &net->mac, vlan, RTE_ETHER_TYPE_IPV4);
	struct rte_tcp_hdr *th = (struct rte_tcp_hdr *)(ip + 1);

	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(sizeof(*ip) + sizeof(*th) + sizeof(stamp));
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->time_to_live = ENDED_TTL;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = e->pair.local_ip;
	ip->dst_addr = e->pair.remote_ip;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	th->src_port = e->pair.local_port;
	th->dst_port = e->pair.remote_port;
	th->sent_seq = th->recv_ack = rte_cpu_to_be_32(e->tries << 30);
	th->data_off = (sizeof(*th) + sizeof(stamp)) / 4 << 4;
	th->tcp_flags = RTE_TCP_ACK_FLAG;
	memcpy(th + 1, stamp, sizeof(stamp));
	th->cksum = rte_ipv4_udptcp_cksum(ip, th);
	trn_close(out, (const uint8_t *)(th + 1) + sizeof(stamp));
}

/* false: there is nothing to do any more. */
static bool
one(struct troce_net *net, struct trn_ended *e, uint64_t now, struct trn_out *out)
{
	struct rte_ether_addr mac;
	uint16_t vlan = TP_ROCE_NO_VLAN;
	int err = way(net, e, &mac, &vlan);

	if (err == EINPROGRESS) {
		e->at = now + ENDED_PAUSE_NS;
		return --e->asks != 0;
	}
	if (err != 0)
		return false;
	ack(net, e, &mac, vlan, out);
	net->count.ended += e->tries == ENDED_TRIES;
	e->at = now + ENDED_AGAIN_NS;
	return --e->tries != 0;
}

/* Those of one list, in the order in which they are due; how many frames. */
static unsigned int
turn(struct troce_net *net, struct trn_ended_list *list, uint64_t now, unsigned int *looks, trn_send_fn send, void *arg)
{
	struct trn_out out;
	struct trn_ended *e;
	unsigned int n = 0;

	while ((e = STAILQ_FIRST(list)) != NULL && e->at <= now && *looks < ENDED_ROUND) {
		bool more;

		(*looks)++;
		out.len = 0;
		STAILQ_REMOVE_HEAD(list, next);
		more = one(net, e, now, &out);
		if (out.len != 0) {
			send(arg, &out);
			n++;
		}
		if (!more)
			free(e);
		else if (e->tries == ENDED_TRIES)
			STAILQ_INSERT_TAIL(&net->ended, e, next);
		else
			STAILQ_INSERT_TAIL(&net->asked, e, next);
	}
	if (e != NULL)
		net->due = RTE_MIN(net->due, RTE_MAX(e->at, now + ENDED_PAUSE_NS));
	return n;
}

unsigned int
trn_ended_run(struct troce_net *net, uint64_t now, trn_send_fn send, void *arg)
{
	unsigned int looks = 0, n;

	/* Each hears once before one hears again. */
	n = turn(net, &net->ended, now, &looks, send, arg);
	return n + turn(net, &net->asked, now, &looks, send, arg);
}
