/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>

#include "tp_txq.h"

#define PORTS_LEN 4u /* source and destination port of TCP, UDP and SCTP */
#define IHL_UNIT 4u
#define SPREAD 0x9e3779b1u /* 2^32 by the golden ratio: neighbours of a linear hash end up far apart */

int
tp_txq_init(struct tp_txq_choice *c, unsigned int by, uint16_t port, uint16_t first, uint16_t num, char *err,
	    size_t err_len)
{
	const bool by_size = (by & TP_TXQ_BY_SIZE) != 0, by_hash = (by & TP_TXQ_BY_HASH) != 0;

	if (by == 0 || (by & ~(TP_TXQ_BY_SIZE | TP_TXQ_BY_HASH)) != 0) {
		snprintf(err, err_len, "transmit queue by 0x%x, want 1 (size), 2 (hash) or 3 (both)", by);
		return -EINVAL;
	}
	if (num < 2 || num > TP_TXQ_MOST) {
		snprintf(err, err_len, "a choice among %u transmit queues, want 2..%u", num, TP_TXQ_MOST);
		return -EINVAL;
	}
	if (by == TP_TXQ_BY_SIZE)
		num = 2;
	*c = (struct tp_txq_choice){
		.port = port,
		.first = first,
		.num = num,
		.small_num = by_size ? num / 2 : 0,
		.by_hash = by_hash,
	};
	return 0;
}

/* The EtherType behind the tags, and where its header begins; 0: the frame is too short. */
static uint16_t
skip_l2(const struct rte_mbuf *m, uint32_t *at)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int tags;
	rte_be16_t type;

	*at = 2 * RTE_ETHER_ADDR_LEN;
	for (tags = 0; tags <= 2; tags++) {
		if (m->data_len < *at + sizeof(type))
			return 0;
		memcpy(&type, d + *at, sizeof(type));
		*at += sizeof(type);
		if (type != RTE_BE16(RTE_ETHER_TYPE_VLAN) && type != RTE_BE16(RTE_ETHER_TYPE_QINQ))
			return rte_be_to_cpu_16(type);
		*at += sizeof(type);
	}
	return 0;
}

static bool
has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

static uint32_t
add_ports(const struct rte_mbuf *m, uint32_t at, uint8_t proto, uint32_t hash)
{
	uint32_t ports;

	if (!has_ports(proto) || m->data_len < at + PORTS_LEN)
		return hash;
	memcpy(&ports, rte_pktmbuf_mtod_offset(m, const uint8_t *, at), sizeof(ports));
	return rte_hash_crc_4byte(ports, hash);
}

static uint32_t
hash_ipv4(const struct rte_mbuf *m, uint32_t at)
{
	struct rte_ipv4_hdr ip;
	uint32_t hash;

	if (m->data_len < at + sizeof(ip))
		return 0;
	memcpy(&ip, rte_pktmbuf_mtod_offset(m, const uint8_t *, at), sizeof(ip));
	hash = rte_hash_crc_4byte(ip.dst_addr, 0);
	/* Ports are in the first fragment only, and all of them shall stay together. */
	if ((ip.fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return hash;
	return add_ports(m, at + (ip.version_ihl & RTE_IPV4_HDR_IHL_MASK) * IHL_UNIT, ip.next_proto_id, hash);
}

static uint32_t
hash_ipv6(const struct rte_mbuf *m, uint32_t at)
{
	struct rte_ipv6_hdr ip;

	if (m->data_len < at + sizeof(ip))
		return 0;
	memcpy(&ip, rte_pktmbuf_mtod_offset(m, const uint8_t *, at), sizeof(ip));
	return add_ports(m, at + sizeof(ip), ip.proto, rte_hash_crc(&ip.dst_addr, sizeof(ip.dst_addr), 0));
}

uint16_t
tp_txq_choose(const struct tp_txq_choice *c, const struct rte_mbuf *m)
{
	const bool is_small = c->small_num != 0 && m->pkt_len < TP_TXQ_SMALL;
	const uint16_t from = is_small ? 0 : c->small_num;
	const uint16_t num = is_small ? c->small_num : (uint16_t)(c->num - c->small_num);
	uint32_t at, hash = 0;
	uint16_t type;

	if (c->by_hash && num > 1) {
		type = skip_l2(m, &at);
		if (type == RTE_ETHER_TYPE_IPV4)
			hash = hash_ipv4(m, at);
		else if (type == RTE_ETHER_TYPE_IPV6)
			hash = hash_ipv6(m, at);
	}
	hash *= SPREAD;
	/* The high part of the product: no division. */
	return (uint16_t)(c->first + from + (((uint64_t)hash * num) >> 32));
}

/* Puts the packets in the order of their queues; end[i], 0 before: behind the last one of queue i. */
static void
sort(const struct tp_txq_choice *c, struct rte_mbuf **pkts, uint16_t n, struct rte_mbuf **sorted, uint16_t *end)
{
	uint16_t queue[TP_TXQ_BURST], i;

	for (i = 0; i < n; i++) {
		queue[i] = (uint16_t)(tp_txq_choose(c, pkts[i]) - c->first);
		end[queue[i] + 1]++;
	}
	for (i = 0; i < c->num; i++)
		end[i + 1] = (uint16_t)(end[i + 1] + end[i]);
	/* What begins queue i moves to its end. */
	for (i = 0; i < n; i++)
		sorted[end[queue[i]]++] = pkts[i];
}

uint16_t
tp_txq_send(const struct tp_txq_choice *c, struct rte_mbuf **pkts, uint16_t n, uint64_t *bursts)
{
	struct rte_mbuf *sorted[TP_TXQ_BURST], **p;
	uint16_t end[TP_TXQ_MOST + 1] = {0}, i, at = 0, want, ready, sent, all = 0, left = 0;

	sort(c, pkts, n, sorted, end);
	for (i = 0; i < c->num; at = end[i++]) {
		p = &sorted[at];
		want = ready = (uint16_t)(end[i] - at);
		if (want == 0)
			continue;
		if (c->prepare)
			ready = rte_eth_tx_prepare(c->port, (uint16_t)(c->first + i), p, want);
		sent = rte_eth_tx_burst(c->port, (uint16_t)(c->first + i), p, ready);
		all = (uint16_t)(all + sent);
		if (bursts != NULL && sent != 0)
			(*bursts)++;
		/* Nobody needs the caller's own order any more: what was refused gathers at its front, then moves to its end. */
		memcpy(&pkts[left], &p[sent], (size_t)(want - sent) * sizeof(p[0]));
		left = (uint16_t)(left + want - sent);
	}
	if (left != 0)
		memmove(&pkts[all], &pkts[0], left * sizeof(pkts[0]));
	return all;
}
