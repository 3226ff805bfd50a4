/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The burst function of queues with a policy; policy.h says what that is. */
#include "policy.h"

#define MAX_TAGS 2u
#define TYPE_MIN 0x0600u /* smaller values are a length [802.3 3.2.6] ... */
#define LENGTH_MAX 1500u /* ... up to this */
#define HEADERS_MAX (RTE_ETHER_HDR_LEN + MAX_TAGS * RTE_VLAN_HLEN)

enum verdict { PASS, SPOOFED_MAC, SPOOFED_TYPE };

static bool
type_allowed(const struct mlx4_tx_policy *p, rte_be16_t type)
{
	uint32_t i;

	for (i = 0; i < p->num_types; i++)
		if (p->type[i] == type)
			return true;
	return rte_be_to_cpu_16(type) <= LENGTH_MAX && p->allow_llc;
}

static __rte_always_inline bool
is_tag(rte_be16_t type)
{
	return type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ);
}

/* The type behind the tags; a frame that ends before has the last one that there is. */
static __rte_always_inline rte_be16_t
type_behind_tags(const struct rte_ether_hdr *h, uint32_t len)
{
	const struct rte_vlan_hdr *v = (const struct rte_vlan_hdr *)(h + 1);
	rte_be16_t type = h->ether_type;
	uint32_t i;

	for (i = 0; i < MAX_TAGS && is_tag(type); i++, v++) {
		if ((const uint8_t *)(v + 1) > (const uint8_t *)h + len)
			break;
		type = v->eth_proto;
	}
	return type;
}

static __rte_always_inline enum verdict
judge(const struct mlx4_tx_policy *p, const struct rte_mbuf *m)
{
	uint8_t copy[HEADERS_MAX];
	uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX);
	const struct rte_ether_hdr *h = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);

	if (unlikely(m->data_len < len))
		h = rte_pktmbuf_read(m, 0, len, copy);
	/* What is too short for a header is refused further on. */
	if (unlikely(len < RTE_ETHER_HDR_LEN))
		return PASS;
	if (p->check_mac && unlikely(!rte_is_same_ether_addr(&h->src_addr, &p->mac)))
		return SPOOFED_MAC;
	if (p->check_type && unlikely(!type_allowed(p, type_behind_tags(h, len))))
		return SPOOFED_TYPE;
	return PASS;
}

static __rte_noinline void
drop_spoofed(struct mlx4_txq *q, struct rte_mbuf **pkts, const uint8_t *verdict, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (verdict[i] == PASS)
			continue;
		if (verdict[i] == SPOOFED_MAC)
			q->spoof_mac++;
		else
			q->spoof_type++;
		rte_pktmbuf_free(pkts[i]);
	}
}

/*
 * Up to MLX4_POLICY_RUN packets; returns how many of them the caller is rid of. Frames that fail are dropped only up to the
 * first good one that the ring did not take: behind that the packets are still the caller's.
 */
static __rte_always_inline uint32_t
send_run(struct mlx4_txq *q, const struct mlx4_tx_policy *p, struct rte_mbuf **pkts, uint32_t n)
{
	struct rte_mbuf *good[MLX4_POLICY_RUN];
	uint8_t verdict[MLX4_POLICY_RUN] = {PASS}, at[MLX4_POLICY_RUN];
	uint32_t i, k = 0, sent, gone;

	if (!p->check_mac && !p->check_type)
		return p->mark ? mlx4_tx_marked(q, p, pkts, n) : mlx4_tx_burst(q, pkts, (uint16_t)n);
	for (i = 0; i < n; i++) {
		verdict[i] = (uint8_t)judge(p, pkts[i]);
		good[k] = pkts[i];
		at[k] = (uint8_t)i;
		k += verdict[i] == PASS;
	}
	sent = k == 0 ? 0 : p->mark ? mlx4_tx_marked(q, p, good, k) : mlx4_tx_burst(q, good, (uint16_t)k);
	gone = sent == k ? n : at[sent];
	if (unlikely(gone != sent))
		drop_spoofed(q, pkts, verdict, gone);
	return gone;
}

uint16_t
mlx4_tx_burst_policy(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_txq *q = txq;
	const struct mlx4_tx_policy *p = mlx4_tx_policy_take(q);
	uint32_t done, run, gone;

	if (p == NULL)
		return mlx4_tx_burst(q, pkts, n);
	// An empty burst, whose array may be NULL, still takes what the card has sent.
	run = RTE_MIN(n, MLX4_POLICY_RUN);
	done = gone = send_run(q, p, pkts, run);
	while (gone == run && done < n) {
		run = RTE_MIN(n - done, MLX4_POLICY_RUN);
		gone = send_run(q, p, pkts + done, run);
		done += gone;
	}
	mlx4_tx_policy_leave(q);
	return (uint16_t)done;
}
