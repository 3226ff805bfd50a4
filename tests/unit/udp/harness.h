/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A stack of lib/udp whose home keeps what is sent. */
#ifndef UDP_HARNESS_H
#define UDP_HARNESS_H

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_mempool.h>

#include "lib/udp/udp.h"
#include "udp_packets.h"

#define MBUFS 511u
#define IP4(a, b, c, d) RTE_BE32((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define US IP4(192, 0, 2, 1)
#define PEER IP4(192, 0, 2, 2)
#define GROUP IP4(239, 1, 130, 3)
#define PORT RTE_BE16(5000)
#define MS UINT64_C(1000)

static struct rte_mempool *pool;
static struct udp_stack *s;
static struct rte_mbuf *sent[64];
static uint32_t nsent, events[2];
static uint16_t mtu, vlan;
static bool to_all, stopped;
static uint64_t now;
static uint8_t buf[65536];

/* Octet number i of scapy's data. */
static uint8_t
data_byte(uint32_t i)
{
	return (uint8_t)(i * 7);
}

static uint16_t
home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	(void)home;
	assert_int_equal(n, 1);
	if (stopped)
		return 0;
	assert_true(nsent < RTE_DIM(sent));
	sent[nsent++] = m[0];
	return 1;
}

static int
home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p)
{
	(void)home, (void)local;
	if (remote == IP4(192, 0, 2, 77))
		return -EHOSTUNREACH;
	p->local = US;
	p->mtu = mtu;
	p->vlan = vlan;
	memset(&p->src, 2, sizeof(p->src));
	memset(&p->dst, to_all ? 0xff : 4, sizeof(p->dst));
	return 0;
}

static bool
home_local(void *home, rte_be32_t ip)
{
	(void)home;
	return ip == US;
}

static void
home_event(void *home, struct udp_sock *u, void *user, unsigned int what)
{
	(void)home, (void)u, (void)user;
	events[0] += what == TCP_EV_READABLE;
	events[1] += what == TCP_EV_ERROR;
}

static uint32_t
home_random(void *home)
{
	(void)home;
	return 0x1234;
}

static const struct udp_home ops = {home_tx, home_path, home_local, home_event, home_random};

static void
begin(const struct udp_conf *more)
{
	struct udp_conf conf = *more;
	int err;

	conf.pool = pool;
	mtu = 1500;
	vlan = 0;
	to_all = stopped = false;
	now = 5000 * MS;
	events[0] = events[1] = 0;
	s = udp_stack_create(&conf, &ops, NULL, now, &err);
	assert_non_null(s);
}

static void
end(void)
{
	udp_stack_destroy(s);
	while (nsent != 0)
		rte_pktmbuf_free(sent[--nsent]);
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
}

/* true: it was for UDP. In mbufs of up to `piece` octets. */
static bool
give_pieces(const uint8_t *frame, uint32_t len, uint32_t piece)
{
	struct rte_mbuf *m = NULL, *k;
	uint32_t off, n;
	uint16_t left;

	for (off = 0; off < len; off += n) {
		n = RTE_MIN(len - off, piece);
		k = rte_pktmbuf_alloc(pool);
		assert_non_null(k);
		memcpy(rte_pktmbuf_append(k, (uint16_t)n), frame + off, n);
		if (m == NULL)
			m = k;
		else
			assert_int_equal(rte_pktmbuf_chain(m, k), 0);
	}
	left = udp_input(s, &m, 1, now);
	if (left != 0)
		rte_pktmbuf_free(m);
	return left == 0;
}
#define GIVE(name) give_pieces(p_##name, sizeof(p_##name), 1600)

static struct udp_sock *
sock(rte_be32_t ip, rte_be16_t port)
{
	const struct tcp_addr a = {ip, port};
	struct udp_sock *u;
	int err;

	u = udp_open(s, NULL, &err);
	assert_non_null(u);
	assert_int_equal(udp_bind(u, &a, false), 0);
	return u;
}

static ssize_t
get(struct udp_sock *u, size_t room, struct udp_meta *meta)
{
	const struct iovec iov = {buf, room};

	return udp_recv(u, &iov, 1, 0, meta);
}

/* The next datagram is scapy's data of this length. */
static void
expect(struct udp_sock *u, uint32_t len)
{
	uint32_t i;

	assert_int_equal(udp_readable(u), len);
	assert_int_equal(get(u, sizeof(buf), NULL), len);
	for (i = 0; i < len; i++)
		assert_int_equal(buf[i], data_byte(i));
}

static ssize_t
put(struct udp_sock *u, size_t len, const struct udp_tx *tx)
{
	static uint8_t data[65536];
	const struct iovec iov[2] = {{data, len / 3}, {data + len / 3, len - len / 3}};
	uint32_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = data_byte(i);
	return udp_send(u, iov, 2, tx);
}

static void
expect_sent(uint32_t i, const uint8_t *frame, uint32_t len)
{
	static uint8_t all[2048];

	assert_true(i < nsent);
	assert_int_equal(sent[i]->pkt_len, len);
	assert_memory_equal(rte_pktmbuf_read(sent[i], 0, len, all), frame, len);
}
#define SENT(i, name) expect_sent(i, p_##name, sizeof(p_##name))

#endif /* UDP_HARNESS_H */
