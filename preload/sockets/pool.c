/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A pool of mbufs without an EAL, which has no place in a program that knows nothing of DPDK: it takes hold of CPUs, signals and
 * files. Of DPDK there are inline functions; what these call is here.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "home.h"

/* Mbufs that nobody has. The net's lock is held wherever one is taken or given back. */
struct stack {
	unsigned int n;
	void *obj[];
};

static int
put(struct rte_mempool *mp, void *const *obj, unsigned int n)
{
	struct stack *s = mp->pool_data;

	memcpy(s->obj + s->n, obj, n * sizeof(*obj));
	s->n += n;
	return 0;
}

static int
get(struct rte_mempool *mp, void **obj, unsigned int n)
{
	struct stack *s = mp->pool_data;

	if (s->n < n)
		return -ENOBUFS;
	s->n -= n;
	memcpy(obj, s->obj + s->n, n * sizeof(*obj));
	return 0;
}

static unsigned int
count(const struct rte_mempool *mp)
{
	return ((const struct stack *)mp->pool_data)->n;
}

/* --- what DPDK's inline functions refer to --- */

struct rte_mempool_ops_table rte_mempool_ops_table = {
	.num_ops = 1,
	.ops = {{.name = "stack", .enqueue = put, .dequeue = get, .get_count = count}},
};
unsigned int
rte_mempool_avail_count(const struct rte_mempool *mp)
{
	return count(mp);
}

/* No thread is one of DPDK's. */
RTE_DEFINE_PER_LCORE(unsigned int, _lcore_id) = LCORE_ID_ANY;

/* DPDK's checks of what cannot be. */
void
__rte_panic(const char *function, const char *format, ...)
{
	(void)function, (void)format;
	abort();
}

/* Frames come in one piece from the card: what is asked for is there, or cannot be. */
int
__rte_pktmbuf_linearize(struct rte_mbuf *m)
{
	return rte_pktmbuf_is_contiguous(m) ? 0 : -1;
}

/* --- the pool --- */

static size_t
element(unsigned int room)
{
	return RTE_ALIGN_CEIL(sizeof(struct rte_mempool_objhdr), RTE_CACHE_LINE_SIZE) +
	       RTE_ALIGN_CEIL(sizeof(struct rte_mbuf) + room, RTE_CACHE_LINE_SIZE);
}

size_t
pool_size(unsigned int num, unsigned int room)
{
	return num * element(room);
}

static void
mbuf_make(struct rte_mempool *mp, void *obj, unsigned int room)
{
	struct rte_mempool_objhdr *hdr = (struct rte_mempool_objhdr *)obj - 1;
	struct rte_mbuf *m = obj;

	hdr->mp = mp;
	memset(m, 0, sizeof(*m));
	m->buf_addr = m + 1;
	m->buf_iova = (uintptr_t)m->buf_addr;
	m->buf_len = (uint16_t)room;
	m->pool = mp;
	m->nb_segs = 1;
	m->port = RTE_MBUF_PORT_INVALID;
	rte_mbuf_refcnt_set(m, 1);
}

struct rte_mempool *
pool_make(void *mem, unsigned int num, unsigned int room)
{
	const size_t hdr = RTE_ALIGN_CEIL(sizeof(struct rte_mempool_objhdr), RTE_CACHE_LINE_SIZE);
	struct rte_mempool *mp =
		aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(*mp) + sizeof(struct rte_pktmbuf_pool_private),
								  RTE_CACHE_LINE_SIZE));
	struct stack *s = malloc(sizeof(*s) + num * sizeof(s->obj[0]));
	struct rte_pktmbuf_pool_private *p;
	uint8_t *at = mem;

	if (mp == NULL || s == NULL) {
		free(mp);
		free(s);
		return NULL;
	}
	memset(mp, 0, sizeof(*mp));
	strcpy(mp->name, "sockets");
	mp->pool_data = s;
	mp->size = mp->populated_size = num;
	mp->elt_size = sizeof(struct rte_mbuf) + room;
	mp->private_data_size = sizeof(*p);
	p = rte_mempool_get_priv(mp);
	*p = (struct rte_pktmbuf_pool_private){.mbuf_data_room_size = (uint16_t)room};
	s->n = 0;
	for (unsigned int i = 0; i < num; i++, at += element(room)) {
		mbuf_make(mp, at + hdr, room);
		s->obj[s->n++] = at + hdr;
	}
	return mp;
}
