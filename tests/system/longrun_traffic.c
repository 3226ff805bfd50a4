/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The worker: numbered frames both ways, each looked at when it comes. */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "longrun.h"
#include "rte_pmd_mlx4.h"

#define BURST 16u
#define QUIET 3u /* looks in which nothing moved */
#define MARK 0x54504c52u
#define CHUNK 1048576u /* numbers of one piece of the table of what came */
#define CHUNKS 4096u

/* Behind the UDP header, twice: a frame of which a part is another one's is damaged. */
struct stamp {
	rte_be32_t mark;
	uint8_t port, tail[3];
	uint64_t number, again;
} __attribute__((packed));

struct lr_traffic lr_traffic;

static uint8_t *came[PORTS][CHUNKS]; /* a bit for each number that the peer of a port received */
static uint64_t state;

static uint32_t
pick(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % below;
}

struct rte_ether_addr
lr_extra_mac(uint16_t port, unsigned int i)
{
	return (struct rte_ether_addr){{0x02, 0x11, 0x22, 0x33, (uint8_t)port, (uint8_t)i}};
}

uint16_t
lr_vlan(unsigned int i)
{
	return (uint16_t)(100 + i);
}

/* Most go where the port receives for sure; some to addresses and VLANs that come and go, some are too long at times. */
static struct rte_mbuf *
frame(uint16_t from, uint64_t number)
{
	const uint32_t kind = pick(16);
	uint16_t to = (uint16_t)(1 - from),
		 len = (uint16_t)(kind == 0 ? 100 + pick(lr_traffic.longest[from] - 99u) : 72 + pick(128));
	struct rte_mbuf *m = rte_pktmbuf_alloc(lr_traffic.pool);
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	struct rte_udp_hdr *udp;
	struct stamp *s;

	if (m == NULL)
		return NULL;
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(m, len);
	memset(eth, 0, len);
	eth->dst_addr = kind == 1 ? lr_extra_mac(to, pick(EXTRA_MACS)) : lr_traffic.mac[to];
	eth->src_addr = lr_traffic.mac[from];
	ip = (struct rte_ipv4_hdr *)(eth + 1);
	if (kind == 2) {
		struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(eth + 1);

		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_VLAN);
		tag->vlan_tci = rte_cpu_to_be_16(lr_vlan(pick(VLANS)));
		tag->eth_proto = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		ip = (struct rte_ipv4_hdr *)(tag + 1);
		len -= sizeof(*tag);
	} else {
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	}
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(len - sizeof(*eth)));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, from, 0, pick(250)));
	ip->dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, to, 0, pick(250)));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp = (struct rte_udp_hdr *)(ip + 1);
	udp->src_port = rte_cpu_to_be_16((uint16_t)(1024 + pick(1000)));
	udp->dst_port = rte_cpu_to_be_16((uint16_t)(UDP_FIRST + pick(UDP_PORTS)));
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*eth) - sizeof(*ip)));
	s = (struct stamp *)(udp + 1);
	s->mark = rte_cpu_to_be_32(MARK);
	s->port = (uint8_t)from;
	s->number = s->again = number;
	return m;
}

/* Whether a number comes for the first time. */
static bool
first_time(uint16_t from, uint64_t number)
{
	uint8_t **piece = &came[from][number / CHUNK % CHUNKS], bit = (uint8_t)(1u << number % 8);
	uint8_t *at;

	if (*piece == NULL)
		*piece = calloc(1, CHUNK / 8);
	if (*piece == NULL)
		rte_exit(EXIT_FAILURE, "no memory for what came\n");
	at = &(*piece)[number % CHUNK / 8];
	if ((*at & bit) != 0)
		return false;
	*at |= bit;
	return true;
}

static void
judge(uint16_t port, const struct rte_mbuf *m)
{
	struct lr_count *c = &lr_traffic.count[port];
	const uint16_t from = (uint16_t)(1 - port);
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	size_t at = sizeof(*eth) + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr);
	const struct stamp *s;

	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN))
		at += sizeof(struct rte_vlan_hdr);
	s = rte_pktmbuf_mtod_offset(m, const struct stamp *, at);
	if (m->nb_segs != 1 || m->pkt_len < at + sizeof(*s) || s->mark != rte_cpu_to_be_32(MARK) || s->port != from)
		c->foreign++;
	else if (s->number != s->again || s->number >= lr_traffic.count[from].sent + BURST)
		c->damaged++;
	else if (!first_time(from, s->number))
		c->twice++;
}

static void
receive(uint16_t port)
{
	struct lr_count *c = &lr_traffic.count[port];
	struct rte_mbuf *m[2 * BURST];
	uint16_t q, n, i;

	for (q = 0; q < lr_traffic.queues[port]; q++) {
		if ((lr_traffic.rxq_off[port] >> q & 1) != 0)
			continue;
		n = rte_eth_rx_burst(port, q, m, RTE_DIM(m));
		for (i = 0; i < n; i++) {
			judge(port, m[i]);
			c->received++;
			if (lr_traffic.lose != 0 && port == 1 && c->received == lr_traffic.lose) {
				c->received--;
				lr_traffic.lose = 0;
			}
		}
		rte_pktmbuf_free_bulk(m, n);
	}
}

/* Numbers are used up in order: what the queue does not take is sent again by the next burst, under the same number. */
static void
transmit(uint16_t port)
{
	struct lr_count *c = &lr_traffic.count[port];
	uint16_t q = (uint16_t)pick(lr_traffic.queues[port]), n, taken;
	struct rte_mbuf *m[BURST];

	if ((lr_traffic.txq_off[port] >> q & 1) != 0)
		return;
	for (n = 0; n < BURST; n++) {
		m[n] = frame(port, c->sent + n);
		if (m[n] == NULL)
			break;
	}
	taken = rte_eth_tx_burst(port, q, m, n);
	c->sent += taken;
	rte_pktmbuf_free_bulk(&m[taken], n - taken);
}

int
lr_worker(void *arg)
{
	uint16_t p;

	(void)arg;
	state = lr_traffic.seed;
	while (!__atomic_load_n(&lr_traffic.quit, __ATOMIC_ACQUIRE)) {
		for (p = 0; p < PORTS; p++) {
			if (__atomic_load_n(&lr_traffic.rest[p], __ATOMIC_ACQUIRE))
				continue;
			receive(p);
			if (__atomic_load_n(&lr_traffic.send, __ATOMIC_ACQUIRE))
				transmit(p);
		}
		__atomic_fetch_add(&lr_traffic.rounds, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

void
lr_told(void)
{
	const uint32_t begun = __atomic_load_n(&lr_traffic.rounds, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&lr_traffic.rounds, __ATOMIC_SEQ_CST) - begun < 2)
		rte_delay_us_sleep(10);
}

static uint64_t
idle_rounds(void)
{
	struct rte_pmd_mlx4_model m;

	if (rte_pmd_mlx4_model_get(0, &m) != 0)
		rte_exit(EXIT_FAILURE, "port 0 is not one of a model\n");
	return m.idle_steps;
}

void
lr_settle(void)
{
	uint64_t taken = 0, before, idle;
	unsigned int quiet = 0;

	__atomic_store_n(&lr_traffic.send, false, __ATOMIC_RELEASE);
	lr_told();
	while (quiet < QUIET) {
		idle = idle_rounds();
		while (idle_rounds() - idle < QUIET)
			rte_delay_us_sleep(10);
		lr_told();
		before = taken;
		taken = lr_traffic.count[0].received + lr_traffic.count[1].received;
		quiet = taken == before ? quiet + 1 : 0;
	}
}

void
lr_resume(void)
{
	__atomic_store_n(&lr_traffic.send, true, __ATOMIC_RELEASE);
}
