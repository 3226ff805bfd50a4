/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What pollers of the port do: choose by address, hand over, wake. */
#include <string.h>

#include "kernel_priv.h"

static uint64_t
mask(void)
{
	uint64_t m = 0;

	memset(&m, 0xff, RTE_ETHER_ADDR_LEN);
	return m;
}

static void
hand_over(struct tp_kernel *k, struct rte_mbuf **pkts, unsigned int n)
{
	const unsigned int taken = rte_ring_mp_enqueue_burst(k->ring, (void **)pkts, n, NULL);

	if (taken < n) {
		tpk_count(&k->count.drop[TP_KERNEL_RX_FULL], n - taken);
		rte_pktmbuf_free_bulk(&pkts[taken], n - taken);
	}
	/* It says that it sleeps, then looks at the ring: one of both sees the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&k->sleeps, __ATOMIC_RELAXED) != 0 &&
	    __atomic_exchange_n(&k->sleeps, 0, __ATOMIC_RELAXED) != 0)
		tpk_wake(k);
}

static struct rte_mbuf *
copy(struct tp_kernel *k, const struct rte_mbuf *m)
{
	struct rte_mbuf *c = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);

	if (c == NULL)
		tpk_count(&k->count.drop[TP_KERNEL_RX_NO_MBUF], 1);
	return c;
}

uint16_t
tp_kernel_input(struct tp_kernel *k, struct rte_mbuf **pkts, uint16_t n)
{
	const uint64_t mac = __atomic_load_n(&k->mac, __ATOMIC_RELAXED), six = mask();
	const uint32_t how = __atomic_load_n(&k->how, __ATOMIC_RELAXED);
	struct rte_mbuf *mine[TP_KERNEL_BURST], *c;
	unsigned int num = 0;
	uint16_t i, left = 0;

	for (i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(pkts[i], const uint8_t *);
		uint64_t dst;
		bool moved;

		memcpy(&dst, frame, sizeof(dst));
		moved = (dst & six) == mac || ((frame[0] & 1) != 0 && (how & TPK_COPIES) == 0);
		if (moved) {
			mine[num++] = pkts[i];
			continue;
		}
		pkts[left++] = pkts[i];
		if (((how & TPK_ALL) == 0 && (frame[0] & 1) == 0) || (how & TPK_DOWN) != 0)
			continue;
		c = copy(k, pkts[i]);
		if (c != NULL)
			mine[num++] = c;
	}
	if (num == 0)
		return left;
	if ((how & TPK_DOWN) == 0) {
		hand_over(k, mine, num);
	} else {
		tpk_count(&k->count.drop[TP_KERNEL_RX_DOWN], num);
		rte_pktmbuf_free_bulk(mine, num);
	}
	return left;
}
