/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The symmetric key: both directions of a flow come to the same queue of the card, by the hash that DPDK's own gives. */
#include <errno.h>
#include <stdlib.h>

#include <rte_thash.h>
#include <rte_udp.h>

#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

#define QUEUES 8u
#define POLLS 16u /* a queue of several rings looks at one a time */
#define FLOWS 400u
#define SEED 0x5eedu
#define HF                                                                                                             \
	(RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_TCP |                  \
	 RTE_ETH_RSS_NONFRAG_IPV6_UDP)

struct flow {
	bool v6;
	uint8_t proto;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
};

static uint32_t
number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static void
random_flow(struct flow *f, uint64_t *state)
{
	unsigned int i;

	f->v6 = number(state) % 2 != 0;
	f->proto = number(state) % 2 != 0 ? IPPROTO_TCP : IPPROTO_UDP;
	for (i = 0; i < 16; i++) {
		f->src[i] = (uint8_t)number(state);
		f->dst[i] = (uint8_t)number(state);
	}
	f->sport = (uint16_t)number(state);
	f->dport = (uint16_t)number(state);
}

static struct flow
back(const struct flow *f)
{
	struct flow b = *f;

	memcpy(b.src, f->dst, sizeof(b.src));
	memcpy(b.dst, f->src, sizeof(b.dst));
	b.sport = f->dport;
	b.dport = f->sport;
	return b;
}

static uint32_t
word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static struct rte_mbuf *
frame(const struct flow *f)
{
	struct rte_mbuf *m = rig_ipv4(f->proto, word(f->src), word(f->dst), f->sport, f->dport);
	struct rte_ether_hdr *h = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	const uint16_t grow = sizeof(struct rte_ipv6_hdr) - sizeof(struct rte_ipv4_hdr);
	uint8_t *ip = (uint8_t *)(h + 1), *l4 = ip + sizeof(struct rte_ipv4_hdr);
	struct rte_ipv6_hdr v6 = {.vtc_flow = rte_cpu_to_be_32(6u << 28), .proto = f->proto, .hop_limits = 64};
	uint16_t l4_len = (uint16_t)(m->data_len - sizeof(*h) - sizeof(struct rte_ipv4_hdr));

	if (!f->v6)
		return m;
	assert_non_null(rte_pktmbuf_append(m, grow));
	memmove(l4 + grow, l4, l4_len);
	v6.payload_len = rte_cpu_to_be_16(l4_len);
	memcpy(&v6.src_addr, f->src, sizeof(f->src));
	memcpy(&v6.dst_addr, f->dst, sizeof(f->dst));
	memcpy(ip, &v6, sizeof(v6));
	h->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
	return m;
}

/* DPDK's Toeplitz over the tuple, in host order. */
static uint32_t
expected(const struct flow *f, const uint8_t *key)
{
	uint32_t t[9];
	unsigned int n = 0, i;

	for (i = 0; i < (f->v6 ? 16u : 4u); i += 4)
		t[n++] = word(f->src + i);
	for (i = 0; i < (f->v6 ? 16u : 4u); i += 4)
		t[n++] = word(f->dst + i);
	t[n++] = (uint32_t)f->sport << 16 | f->dport;
	return rte_softrss(t, n, key);
}

/* Sends it from port 0; the queue of port 1 that it came to, and its hash. */
static uint16_t
queue_of(const struct flow *f, uint32_t *hash)
{
	uint16_t i, found = QUEUES;
	struct rte_mbuf *m;

	rig_send(0, frame(f));
	for (i = 0; i < POLLS * QUEUES; i++) {
		if (rte_eth_rx_burst(1, i % QUEUES, &m, 1) == 0)
			continue;
		assert_int_equal(found, QUEUES);
		assert_true((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0);
		found = i % QUEUES;
		*hash = m->hash.rss;
		rte_pktmbuf_free(m);
	}
	assert_int_not_equal(found, QUEUES);
	return found;
}

static int
setup(void **state)
{
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS, .rx_adv_conf.rss_conf.rss_hf = HF};

	rig_open_pair("", QUEUES, &conf);
	return 0;
}

static void
read_reta(struct rte_eth_rss_reta_entry64 *reta)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	memset(reta, 0xff, 4 * sizeof(*reta));
	assert_in_range(info.reta_size, 1, 4 * RTE_ETH_RETA_GROUP_SIZE);
	assert_int_equal(rte_eth_dev_rss_reta_query(1, reta, info.reta_size), 0);
}

static unsigned int
run_flows(const uint8_t *key, unsigned int *used)
{
	uint64_t state = SEED;
	unsigned int same = 0, i;
	uint32_t hash[2];
	struct flow f, b;

	for (i = 0; i < FLOWS; i++) {
		uint16_t q;

		random_flow(&f, &state);
		b = back(&f);
		q = queue_of(&f, &hash[0]);
		*used |= 1u << q;
		same += queue_of(&b, &hash[1]) == q;
		assert_int_equal(hash[0], expected(&f, key));
		assert_int_equal(hash[1], expected(&b, key));
	}
	return same;
}

static void
test_both_ways(void **state)
{
	struct rte_eth_rss_reta_entry64 before[4], after[4];
	uint8_t key[RTE_PMD_MLX4_RSS_KEY_LEN], was[sizeof(key)];
	struct rte_eth_rss_conf conf = {.rss_key = was, .rss_key_len = sizeof(was)};
	unsigned int used = 0;

	assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &conf), 0);
	/* With the usual key few of them meet again. */
	assert_in_range(run_flows(was, &used), 1, FLOWS / 2);
	read_reta(before);
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(key, sizeof(key)), 0);
	conf.rss_key = key;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	used = 0;
	assert_int_equal(run_flows(key, &used), FLOWS);
	assert_int_equal(used, (1u << QUEUES) - 1);
	/* Nothing but the key is another one. */
	read_reta(after);
	assert_memory_equal(before, after, sizeof(before));
	conf = (struct rte_eth_rss_conf){.rss_key = was, .rss_key_len = sizeof(was)};
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &conf), 0);
	assert_int_equal(conf.rss_hf, HF);
	assert_memory_equal(was, key, sizeof(key));
}

static void
test_lengths(void **state)
{
	uint8_t key[54];
	size_t i;

	memset(key, 0, sizeof(key));
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(key, 52), 0);
	for (i = 0; i < 52; i += 2) {
		assert_int_equal(key[i], 0x6d);
		assert_int_equal(key[i + 1], 0x5a);
	}
	assert_int_equal(key[52], 0);
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(key, 41), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(key, 38), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(key, 0), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rss_key_symmetric(NULL, 40), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_ways, setup, rig_teardown),
		cmocka_unit_test(test_lengths),
	};

	if (rig_eal("ut-rss-key", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("mlx4-rss-key", tests, NULL, NULL);
}
