/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a stream does with its packets: one function per mode, called once per round by the owning lcore. */
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_ring.h>

#include "fwd.h"
#include "apps/triplane/traffic/swap.h"

#define PREFETCH_AHEAD 4

static inline uint16_t
receive(struct fwd_stream *s, struct rte_mbuf **pkts)
{
	uint16_t n;

	if (unlikely(s->reserve != NULL))
		n = (uint16_t)rte_ring_sc_dequeue_burst(s->reserve->ring, (void **)pkts, s->burst, NULL);
	else
		n = rte_eth_rx_burst(s->rx_port, s->rx_queue, pkts, s->burst);
	stat_rx(s, n);
	return n;
}

/* What the receiving port joined, the sending one cuts again, into segments of the same size. */
static __rte_noinline void
relay_lro(struct rte_mbuf **pkts, uint16_t n)
{
	struct rte_net_hdr_lens len;
	uint16_t i;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];
		uint32_t type;

		if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0)
			continue;
		type = rte_net_get_ptype(m, &len, RTE_PTYPE_ALL_MASK);
		m->l2_len = len.l2_len;
		m->l3_len = len.l3_len;
		m->l4_len = len.l4_len;
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
		m->ol_flags |=
			RTE_ETH_IS_IPV4_HDR(type) ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6;
	}
}

/* The stream has several queues to choose from. */
static __rte_noinline void
transmit_chosen(struct fwd_stream *s, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t bursts = 0;
	uint16_t sent = tp_txq_send(&s->choice, pkts, n, &bursts);

	stat_tx(s, n, sent);
	if (sent != 0)
		stat_add(&s->stats.doorbells, bursts - 1);
	if (unlikely(sent < n)) {
		stat_add(&s->stats.drop, (uint64_t)n - sent);
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
	}
}

static inline void
transmit(struct fwd_stream *s, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent, ready = n;

	if (unlikely(s->relays_lro))
		relay_lro(pkts, n);
	if (unlikely(s->choice.num != 0)) {
		transmit_chosen(s, pkts, n);
		return;
	}
	if (s->prepare)
		ready = rte_eth_tx_prepare(s->tx_port, s->tx_queue, pkts, n);
	sent = rte_eth_tx_burst(s->tx_port, s->tx_queue, pkts, ready);
	stat_tx(s, n, sent);
	if (unlikely(sent < n)) {
		stat_add(&s->stats.drop, (uint64_t)n - sent);
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
	}
}

static unsigned int
round_io(struct fwd_stream *s)
{
	struct rte_mbuf *pkts[APP_BURST_MAX];
	uint16_t n = receive(s, pkts);

	if (likely(n > 0))
		transmit(s, pkts, n);
	return n;
}

/* Rounds of modes that look at each packet: edit() is inlined into the loop. */
static __rte_always_inline unsigned int
round_edit(struct fwd_stream *s, void (*edit)(struct fwd_stream *s, struct rte_mbuf *m))
{
	struct rte_mbuf *pkts[APP_BURST_MAX];
	uint16_t i, n = receive(s, pkts);

	for (i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], void *));
	for (i = 0; i < n; i++) {
		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + PREFETCH_AHEAD], void *));
		edit(s, pkts[i]);
	}
	if (n > 0)
		transmit(s, pkts, n);
	return n;
}

static inline void
edit_mac(struct fwd_stream *s, struct rte_mbuf *m)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	eth->dst_addr = s->dst;
	eth->src_addr = s->src;
}

static inline void
edit_macswap(struct fwd_stream *s, struct rte_mbuf *m)
{
	(void)s;
	swap_macs(m);
}

static inline void
edit_5tuple(struct fwd_stream *s, struct rte_mbuf *m)
{
	(void)s;
	swap_5tuple(m);
}

static inline void
edit_csum(struct fwd_stream *s, struct rte_mbuf *m)
{
	unsigned int seen = swap_checksums(m, s->tx_sums, s->rx_sums), i;

	for (i = 0; seen != 0; i++, seen >>= 1)
		stat_add(&s->stats.sums[i], seen & 1);
}

static unsigned int
round_mac(struct fwd_stream *s)
{
	return round_edit(s, edit_mac);
}

static unsigned int
round_macswap(struct fwd_stream *s)
{
	return round_edit(s, edit_macswap);
}

static unsigned int
round_5tuple(struct fwd_stream *s)
{
	return round_edit(s, edit_5tuple);
}

static unsigned int
round_csum(struct fwd_stream *s)
{
	return round_edit(s, edit_csum);
}

static unsigned int
round_rxonly(struct fwd_stream *s)
{
	struct rte_mbuf *pkts[APP_BURST_MAX];
	uint16_t n = receive(s, pkts);

	if (n > 0)
		rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* A tag that the device took off goes back on by the device; without that offload the answer has none. */
static inline void
answer_vlan(const struct fwd_stream *s, struct rte_mbuf *m)
{
	bool stripped = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;

	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	if (stripped && (s->tx_offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT))
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
}

static unsigned int
round_icmpecho(struct fwd_stream *s)
{
	struct rte_mbuf *pkts[APP_BURST_MAX], *out[APP_BURST_MAX], *quiet[APP_BURST_MAX];
	uint16_t i, n = receive(s, pkts), answers = 0, ignored = 0;

	for (i = 0; i < n; i++) {
		if (echo_answer(pkts[i], &s->src, s->frags)) {
			answer_vlan(s, pkts[i]);
			out[answers++] = pkts[i];
		} else {
			quiet[ignored++] = pkts[i];
		}
	}
	if (ignored > 0) {
		stat_add(&s->stats.ignored, ignored);
		rte_pktmbuf_free_bulk(quiet, ignored);
	}
	if (answers > 0)
		transmit(s, out, answers);
	return n;
}

const struct fwd_mode fwd_modes[] = {
	{.name = "io", .help = "as they came, to the peer port", .round = round_io, .sends = true},
	{.name = "mac",
	 .help = "to the peer port, with its MAC address and set eth-peer",
	 .round = round_mac,
	 .sends = true},
	{.name = "macswap", .help = "to the peer port, MAC addresses exchanged", .round = round_macswap, .sends = true},
	{.name = "rxonly", .help = "counted and freed", .round = round_rxonly},
	{.name = "txonly",
	 .help = "sends one flow as fast as it goes, receives nothing",
	 .round = fwd_round_txonly,
	 .to_self = true,
	 .deaf = true,
	 .generates = true,
	 .sends = true},
	{.name = "flowgen",
	 .help = "sends many flows, counts and frees what it receives",
	 .round = fwd_round_flowgen,
	 .to_self = true,
	 .generates = true,
	 .sends = true},
	{.name = "icmpecho",
	 .help = "answers ARP, ICMP echo, IPv6 neighbour solicitation and ICMPv6 echo",
	 .round = round_icmpecho,
	 .to_self = true,
	 .sends = true},
	{.name = "5tuple-swap",
	 .help = "to the peer port, MAC and IP addresses and transport ports exchanged",
	 .round = round_5tuple,
	 .sends = true},
	{.name = "csum",
	 .help = "to the peer port, checksums made anew: by the device when the offload is on, else in software",
	 .round = round_csum,
	 .sends = true},
};
const unsigned int fwd_num_modes = RTE_DIM(fwd_modes);

int
fwd_mode_by_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < fwd_num_modes; i++)
		if (strcmp(fwd_modes[i].name, name) == 0)
			return (int)i;
	return -1;
}
