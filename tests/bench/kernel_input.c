/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* kernel_input others|own [BURSTS]: bursts of 32 of which the kernel gets no frame, or each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kernel/kernel_priv.h"

#define BURST 32u

int
main(int argc, char **argv)
{
	static const struct rte_ether_addr own = {{0x02, 0, 0, 0, 0, 0x01}}, other = {{0x02, 0, 0, 0, 0, 0x09}};
	static uint8_t memory[1 << 16] __rte_cache_aligned, frame[BURST][64] __rte_cache_aligned;
	const bool all = argc > 1 && strcmp(argv[1], "own") == 0;
	const unsigned long bursts = argc > 2 ? strtoul(argv[2], NULL, 10) : 2048;
	struct rte_mbuf mbuf[BURST], *pkts[BURST], *back[BURST];
	struct tp_kernel k;
	unsigned long b;
	unsigned int i;

	memset(&k, 0, sizeof(k));
	memset(mbuf, 0, sizeof(mbuf));
	memcpy(&k.mac, &own, sizeof(own));
	k.ring = (struct rte_ring *)memory;
	if (rte_ring_init(k.ring, "bench", TPK_RING, RING_F_SC_DEQ) != 0)
		return EXIT_FAILURE;
	for (i = 0; i < BURST; i++) {
		mbuf[i].buf_addr = frame[i];
		memcpy(frame[i], all ? &own : &other, sizeof(own));
	}
	for (b = 0; b < bursts; b++) {
		for (i = 0; i < BURST; i++)
			pkts[i] = &mbuf[i];
		if (tp_kernel_input(&k, pkts, BURST) != (all ? 0 : BURST))
			return EXIT_FAILURE;
		(void)rte_ring_sc_dequeue_burst(k.ring, (void **)back, BURST, NULL);
	}
	printf("packets %lu\n", bursts * BURST);
	return EXIT_SUCCESS;
}
