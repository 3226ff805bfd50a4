/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What peers of a program that is gone are asked, in virtual time. That Linux's TCP answers it is tests/system/test_sockets_killed.py. */
#include <rte_ip.h>
#include <rte_tcp.h>

#include "net_port.h"

#define MS UINT64_C(1000000)
#define NONE TP_ROCE_NO_VLAN
#define TRIES 4u
#define MANY 5000u /* more than hear in the time after which one hears again */

static uint64_t now;
static struct trn_out sent[4096];
static unsigned int num_sent;

static void
keep(void *arg, const struct trn_out *out)
{
	(void)arg;
	assert_true(num_sent < RTE_DIM(sent));
	sent[num_sent++] = *out;
}

/* One look, and what it sent. */
static unsigned int
look(uint64_t after)
{
	num_sent = 0;
	now += after;
	(void)trn_run(np.dev.net, now, keep, NULL);
	return num_sent;
}

static uint64_t
due(void)
{
	return np.dev.net->due - now;
}

static bool
idle(void)
{
	return STAILQ_EMPTY(&np.dev.net->ended) && STAILQ_EMPTY(&np.dev.net->asked);
}

static void
hear_peer(const char *addr, uint16_t vlan)
{
	const union ibv_gid gid = np_gid(addr);
	const struct rte_ether_addr mac = np_mac("02:00:00:00:00:bb");

	trn_neigh_heard(&np.dev.net->neighs, &gid, vlan, &mac, TRN_HEARD_SOLICITED | TRN_HEARD_OVERRIDE, now);
}

static struct troce_tcp_pair
pair_of(const char *local, const char *remote, uint16_t port)
{
	return (struct troce_tcp_pair){inet_addr(local), inet_addr(remote), rte_cpu_to_be_16(80),
				       rte_cpu_to_be_16(port)};
}

static void
end(const char *local, const char *remote)
{
	const struct troce_tcp_pair p = pair_of(local, remote, 4000);

	troce_tcp_ended(&np.dev, &p, 1);
}

static int
open_port(void **state)
{
	(void)state;
	now = 1000 * MS;
	assert_int_equal(np_open(TP_ROCE_V2, "02:00:00:00:00:aa"), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("198.51.100.1/24", 42), 0);
	for (int i = 0; i < 20; i++)
		look(1000 * MS);
	assert_int_equal(look(1000 * MS), 0);
	return 0;
}

static int
close_port(void **state)
{
	(void)state;
	np_close();
	return 0;
}

/* An ACK without data, with a timestamp, right in all its sums; its sequence number. */
static uint32_t
is_ack(const struct trn_out *o, const char *local, const char *remote, uint16_t vlan, uint16_t port)
{
	const uint32_t l2 = vlan == NONE ? 14 : 18;
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)o->data;
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(o->data + l2);
	const struct rte_tcp_hdr *th = (const struct rte_tcp_hdr *)(ip + 1);
	const struct rte_ether_addr dst = np_mac("02:00:00:00:00:bb"), src = np_mac("02:00:00:00:00:aa");

	assert_memory_equal(&eth->dst_addr, &dst, 6);
	assert_memory_equal(&eth->src_addr, &src, 6);
	assert_int_equal(o->len, l2 + 52);
	assert_int_equal(rte_be_to_cpu_16(eth->ether_type), vlan == NONE ? 0x0800 : 0x8100);
	if (vlan != NONE)
		assert_memory_equal(o->data + 14, ((uint8_t[]){(uint8_t)(vlan >> 8), (uint8_t)vlan, 8, 0}), 4);
	assert_int_equal(ip->version_ihl, 0x45);
	assert_int_equal(rte_be_to_cpu_16(ip->total_length), 52);
	assert_int_equal(ip->next_proto_id, 6);
	assert_int_equal(ip->src_addr, inet_addr(local));
	assert_int_equal(ip->dst_addr, inet_addr(remote));
	assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	assert_int_equal(rte_ipv4_udptcp_cksum_verify(ip, th), 0);
	assert_int_equal(rte_be_to_cpu_16(th->src_port), 80);
	assert_int_equal(rte_be_to_cpu_16(th->dst_port), port);
	assert_int_equal(th->tcp_flags, RTE_TCP_ACK_FLAG);
	assert_int_equal(th->data_off, 8 << 4);
	assert_memory_equal(th + 1, ((uint8_t[12]){1, 1, 8, 10}), 12);
	return rte_be_to_cpu_32(th->sent_seq);
}

/* The neighbour is asked for first; then the peer, four times, by other numbers each time; then nobody any more. */
static void
asked(void **state)
{
	uint32_t seq[TRIES];
	unsigned int i, k;

	(void)state;
	end("192.0.2.1", "192.0.2.2");
	assert_int_equal(look(0), 1);
	assert_int_equal(sent[0].data[13], 6); /* ARP */
	hear_peer("192.0.2.2", NONE);
	for (i = 0; i < TRIES; i++) {
		assert_true(due() != 0 && due() <= 200 * MS);
		assert_int_equal(look(due()), 1);
		seq[i] = is_ack(&sent[0], "192.0.2.1", "192.0.2.2", NONE, 4000);
		for (k = 0; k < i; k++)
			assert_true(seq[k] - seq[i] >= 1u << 30 && seq[i] - seq[k] >= 1u << 30);
		assert_int_equal(np.dev.net->count.ended, 1);
	}
	assert_true(idle());
	assert_int_equal(look(1000 * MS), 0);
}

/* By the address's tag. */
static void
tagged(void **state)
{
	(void)state;
	end("198.51.100.1", "198.51.100.9");
	look(0);
	hear_peer("198.51.100.9", 42);
	assert_int_equal(look(due()), 1);
	is_ack(&sent[0], "198.51.100.1", "198.51.100.9", 42, 4000);
}

/* No address of ours, no host, no way, and a neighbour that says nothing: nothing is sent, and they are forgotten. */
static void
nowhere(void **state)
{
	int i;

	(void)state;
	end("192.0.2.7", "192.0.2.2");
	end("192.0.2.1", "224.0.0.1");
	end("192.0.2.1", "203.0.113.1");
	assert_int_equal(look(0), 0);
	assert_true(idle());
	end("192.0.2.1", "192.0.2.3");
	for (i = 0; i < 2000 && !idle(); i++) {
		look(5 * MS);
		assert_true(num_sent == 0 || sent[0].data[13] == 6);
	}
	assert_true(idle());
	assert_int_equal(np.dev.net->count.ended, 0);
}

/* Many: each is asked, all once before one is asked again, and so few at a time that all answers are refused. What is left goes with
 * the port. */
static void
many(void **state)
{
	static struct troce_tcp_pair p[MANY];
	static unsigned int times[MANY];
	unsigned int i, n = 0, looks = 0;

	(void)state;
	for (i = 0; i < MANY; i++)
		p[i] = pair_of("192.0.2.1", "192.0.2.2", (uint16_t)(5000 + i));
	troce_tcp_ended(&np.dev, p, MANY);
	look(0);
	hear_peer("192.0.2.2", NONE);
	while (!idle() && looks++ < 10000) {
		assert_true(look(due()) <= 64);
		for (i = 0; i < num_sent; i++, n++) {
			const uint16_t port = (uint16_t)(sent[i].data[36] << 8 | sent[i].data[37]);

			assert_true(port >= 5000 && port < 5000 + MANY);
			assert_true(times[port - 5000]++ == 0 || n >= MANY);
		}
	}
	assert_int_equal(n, TRIES * MANY);
	for (i = 0; i < MANY; i++)
		assert_int_equal(times[i], TRIES);
	troce_tcp_ended(&np.dev, p, MANY);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_port, close_port)
	const struct CMUnitTest tests[] = {T(asked), T(tagged), T(nowhere), T(many)};

	return cmocka_run_group_tests_name("ended", tests, NULL, NULL);
}
