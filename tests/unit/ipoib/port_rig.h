/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * IPoIB ports of applications on stepped cards, under the small subnet manager: only what is installed is called. The control
 * threads go by the machine's clock, so tests wait for facts while the cards move.
 */
#ifndef IPOIB_PORT_RIG_H
#define IPOIB_PORT_RIG_H

#include "tests/unit/mlx4/rig.h"
#include "tp_ipoib.h"
#include "tp_mad_service.h"
#include "tp_roce.h"
#include "tp_sm.h"

#define PR_CARDS 2u
#define PR_GUID(card)                                                                                                  \
	(UINT64_C(0x0002c90300a1d200) + ((uint64_t)(card) << 12)) /* of the node; ports have the next two */
#define PR_PORT(n) "net_mlx4_model0/" #n
#define PR_UDP_AT (sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) + 8) /* where a frame's payload begins */
#define PR_NONE RTE_MAX_ETHPORTS

/* Starts the EAL. */
int pr_eal(const char *prefix);
/* A card of two InfiniBand ports with these arguments beside; all of them, with a look at what they have to complain about. */
void pr_card(unsigned int card, const char *args);
void pr_unplug(void);
/* A subnet manager on a port of a card, with these partitions; until pr_unmanage() or pr_unplug(). */
void pr_manage(unsigned int card, unsigned int port, const uint16_t *pkeys, unsigned int n);
void pr_unmanage(void);
struct tp_sm *pr_sm(void);
struct tp_model *pr_model(unsigned int card);
/* Of a card's first port. */
struct tp_mad_service *pr_service(unsigned int card);

/* Moves the cards until they are idle. */
void pr_step(void);
/* Moves them until it is so; what: for the report that it is not. */
void pr_until(bool (*so)(void *arg), void *arg, const char *what);
bool pr_is_up(void *port); /* of uint16_t */
void pr_wait_up(uint16_t port);
void pr_wait_state(uint16_t port, enum tp_ipoib_state state);
/* A counter of rte_eth_xstats_get() has this value. */
void pr_wait_xstat(uint16_t port, const char *name, uint64_t value);

/* net_ipoibN with these arguments; its port. */
uint16_t pr_plug(const char *name, const char *args);
/* So many queues each way from this pool, started. */
void pr_start(uint16_t port, uint16_t rxq, uint16_t txq, struct rte_mempool *pool);
struct tp_ipoib_info pr_info(uint16_t port);
/* Mbufs of so many octets; a pool that is freed when the card goes. */
struct rte_mempool *pr_pool(uint32_t room);

/* --- frames */
/* Octets of the packet of IP: 28 at least. The payload counts up. */
struct rte_mbuf *pr_udp(const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint32_t sip, uint32_t dip,
			uint16_t octets);
struct rte_mbuf *pr_arp(uint16_t op, const struct rte_ether_addr *sha, uint32_t sip, const struct rte_ether_addr *tha,
			uint32_t tip);
void pr_send(uint16_t port, uint16_t queue, struct rte_mbuf *m);
/* The next frame of this EtherType on any queue; queue: which one, may be NULL. Others are freed. */
struct rte_mbuf *pr_take(uint16_t port, uint16_t etype, uint16_t *queue);
/* The next UDP datagram; asserts that it is this packet as pr_udp() writes it, and frees it. */
void pr_expect(uint16_t port, const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint32_t sip,
	       uint32_t dip, uint16_t octets);
/* Packets of 60 octets until a burst itself sends one, since the control thread asks for the path first; how many. */
unsigned int pr_by_burst(uint16_t from, uint16_t to, const struct rte_ether_addr *dst, uint32_t sip, uint32_t dip);
/* Nothing of this EtherType has come. */
void pr_nothing(uint16_t port, uint16_t etype);
/*
 * Host aip behind a asks for host bip behind b by ARP until it is answered; what b is called at a's side, and a at b's. How often
 * it asked.
 */
unsigned int pr_meet(uint16_t a, uint32_t aip, uint16_t b, uint32_t bip, struct rte_ether_addr *b_at_a,
		     struct rte_ether_addr *a_at_b);

/* --- two ports of a card */
/* net_ipoib0 and net_ipoib1 on the ports of card 0, and their end, with a look at what is left. */
void pr_open_two(uint16_t *a, uint16_t *b);
void pr_close_two(void);
/* They start under the manager that is there, with so many queues each way from this pool, and come up. */
void pr_both_up(uint16_t a, uint16_t b, uint16_t queues, struct rte_mempool *pool);
/* The same with one queue, under a manager. */
void pr_start_two(uint16_t a, uint16_t b);
/* Hosts 10.0.0.1 and 10.0.0.2 behind them exchange packets of so many octets. */
#define PR_IP_A RTE_IPV4(10, 0, 0, 1)
#define PR_IP_B RTE_IPV4(10, 0, 0, 2)
void pr_exchange(uint16_t a, uint16_t b, uint16_t octets);

/* --- log: what lib/ipoib says meanwhile */
void pr_log_begin(void);
void pr_log_wait(const char *words);
/* Asserts that these words were said, in this order; NULL: no matter. */
void pr_log_end(const char *word1, const char *word2);

#endif /* IPOIB_PORT_RIG_H */
