/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is counted. Each counter has one writer and only grows; a reset notes where it stands, and what is told is what has come
 * since. So a burst that is at work loses no packet to a reset, and undoes none.
 */
#ifndef IPOIB_PORT_COUNTS_H
#define IPOIB_PORT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/ipoib/iface/drops.h"

struct ipoib_rx_counts {
	uint64_t packets, bytes, multicast, nombuf, handed;
	uint64_t drop[IPOIB_DROP_NUM];
};

struct ipoib_tx_counts {
	uint64_t packets, bytes, multicast, handed, copied, large;
	uint64_t drop[IPOIB_DROP_NUM];
};

struct ipoib_port_counts {
	uint64_t tx_error, slow_sent, slow_bytes; /* octets as if the packets had an Ethernet header, as queues count */
	uint64_t cm_tx, cm_rx;                    /* packets by connections: written by bursts */
};

static inline uint64_t
ipoib_count(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* Since the last reset; nothing while a counter is put back behind it, as a stop does with what it flushes. */
static inline uint64_t
ipoib_count_since(const uint64_t *n, const uint64_t *base)
{
	uint64_t from = ipoib_count(base), now = ipoib_count(n);

	return now > from ? now - from : 0;
}

/* A reset: of a structure of such counters, so many octets long. */
static inline void
ipoib_counts_reset(void *base, const void *n, size_t size)
{
	const uint64_t *from = n;
	uint64_t *to = base;
	size_t i;

	for (i = 0; i < size / sizeof(*to); i++)
		__atomic_store_n(&to[i], ipoib_count(&from[i]), __ATOMIC_RELAXED);
}

#endif /* IPOIB_PORT_COUNTS_H */
