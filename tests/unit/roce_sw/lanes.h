/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queues between the two ports of a pair, in place of its wire: each is read and written by one thread, so that each lane of either
 * port may have a thread of its own. Packets are not copied: the pools must take them back from any thread.
 */
#ifndef RSW_LANES_H
#define RSW_LANES_H

#include "pair.h"

/* Which queue of the peer a packet comes to: of the same number, of the next, or by its UDP source port. */
enum lanes_spread { LANES_SAME, LANES_NEXT, LANES_HASH };

/* With the wire of the pair empty. */
void lanes_wire(struct pair *p, enum lanes_spread how);
/* What is in the queues goes, and nothing comes there any more. */
void lanes_unwire(void);

/* A pool whose operations have a lock, for tools that see locks only where they are instrumented. */
struct rte_mempool *lanes_pool(const char *name, unsigned int packets);

#endif /* RSW_LANES_H */
