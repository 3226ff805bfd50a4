/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The cables, and threads whose checks the test hears of. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire.h"

#define MBUFS 4095u
#define ROOM (TCP_MBUF_FRONT + FRAME)

#define END(n, other, addr)                                                                                            \
	[n] = {.lock = PTHREAD_MUTEX_INITIALIZER, .peer = &end[other], .ip = RTE_BE32(addr), .random = (n) + 1}
struct end end[4] = {END(0, 1, 0x0a000001), END(1, 0, 0x0a000002), END(2, 3, 0x0a000003), END(3, 2, 0x0a000004)};
const char *_Atomic wrong;

bool
end_open(struct end *e)
{
	void *mem = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(pool_size(MBUFS, ROOM), RTE_CACHE_LINE_SIZE));

	e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->pool = mem == NULL ? NULL : pool_make(mem, MBUFS, ROOM);
	return e->fd >= 0 && e->pool != NULL;
}

uint16_t
end_take(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct end *e = home;
	uint16_t k;

	pthread_mutex_lock(&e->lock);
	for (k = 0; k < n && e->n != 0; k++, e->n--) {
		m[k] = rte_pktmbuf_alloc(e->pool);
		if (m[k] == NULL)
			break;
		memcpy(rte_pktmbuf_append(m[k], (uint16_t)e->f[e->first].len), e->f[e->first].data, e->f[e->first].len);
		e->first = (e->first + 1) % WIRE;
	}
	pthread_mutex_unlock(&e->lock);
	return k;
}

uint16_t
end_give(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct end *to = ((struct end *)home)->peer;
	const uint64_t one = 1;
	uint16_t k;

	pthread_mutex_lock(&to->lock);
	for (k = 0; k < n && to->n < WIRE; k++, to->n++) {
		const uint32_t at = (to->first + to->n) % WIRE;

		to->f[at].len = 0;
		for (const struct rte_mbuf *s = m[k]; s != NULL; s = s->next) {
			memcpy(to->f[at].data + to->f[at].len, rte_pktmbuf_mtod(s, const void *), s->data_len);
			to->f[at].len += s->data_len;
		}
		rte_pktmbuf_free(m[k]);
	}
	pthread_mutex_unlock(&to->lock);
	(void)!write(to->fd, &one, sizeof(one));
	return k;
}

int
end_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p)
{
	struct end *e = home;

	(void)local, (void)remote;
	*p = (struct tcp_path){.local = e->ip, .mtu = 1500};
	memset(&p->src, 2, sizeof(p->src));
	memset(&p->dst, 4, sizeof(p->dst));
	if (e->unknown == 0)
		return 0;
	e->unknown--;
	return -EAGAIN;
}

bool
end_ours(void *home, rte_be32_t ip)
{
	return ip == ((struct end *)home)->ip;
}

void
join(pthread_t *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (wrong != NULL)
		fail_msg("%s", wrong);
}

void
begin(pthread_t *t, void *(*fn)(void *), void *arg)
{
	assert_int_equal(pthread_create(t, NULL, fn, arg), 0);
}
