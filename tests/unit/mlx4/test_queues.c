/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queues at run time: the right one by the published Toeplitz vectors, changes under traffic, start and stop, interrupts. */
#include <errno.h>

#include <rte_epoll.h>
#include <rte_interrupts.h>
#include <rte_mbuf_dyn.h>

#include "rig.h"
#include "rss_vectors.h"

#define QUEUES 4
#define FLOWS 64u
#define POLLS 4u
#define EPOLL_MS 30000

static const struct rte_eth_conf rss_conf = {
	.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
	.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP,
};

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	return 0;
}

/* Sends vector v; the queue of n that it came to, and the hash. */
static int
queue_of_n(unsigned int v, unsigned int n, uint32_t *hash)
{
	struct rte_mbuf *m;
	unsigned int i;
	int found = -1;

	rig_send(0, rig_ipv4(IPPROTO_TCP, vector[v].src, vector[v].dst, vector[v].sport, vector[v].dport));
	/* After a change of the table a poll or two go to the old rings. */
	for (i = 0; i < POLLS * n; i++) {
		if (rte_eth_rx_burst(1, (uint16_t)(i % n), &m, 1) == 0)
			continue;
		assert_int_equal(found, -1);
		found = (int)(i % n);
		*hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
		rte_pktmbuf_free(m);
	}
	assert_int_not_equal(found, -1);
	return found;
}

static int
queue_of(unsigned int v, uint32_t *hash)
{
	return queue_of_n(v, QUEUES, hash);
}

static void
set_reta(uint16_t size, const uint16_t *queue)
{
	struct rte_eth_rss_reta_entry64 conf[4], back[4];
	uint16_t i;

	memset(conf, 0, sizeof(conf));
	for (i = 0; i < size; i++) {
		conf[i / 64].mask |= RTE_BIT64(i % 64);
		conf[i / 64].reta[i % 64] = queue[i];
	}
	memcpy(back, conf, sizeof(back));
	assert_int_equal(rte_eth_dev_rss_reta_update(1, conf, size), 0);
	for (i = 0; i < RTE_DIM(back); i++)
		memset(back[i].reta, 0xff, sizeof(back[i].reta));
	assert_int_equal(rte_eth_dev_rss_reta_query(1, back, size), 0);
	for (i = 0; i < size; i++)
		assert_int_equal(back[i / 64].reta[i % 64], queue[i]);
}

static void
test_vectors(void **state)
{
	struct rte_eth_dev_info info;
	uint16_t table[256];
	unsigned int v, i;
	uint32_t hash;

	rig_start(1, QUEUES, &rss_conf);
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	for (v = 0; v < RTE_DIM(vector); v++) {
		assert_int_equal(queue_of(v, &hash), vector[v].hash % QUEUES);
		assert_int_equal(hash, vector[v].hash);
	}
	/* A table without a short period: every entry counts. */
	for (i = 0; i < info.reta_size; i++)
		table[i] = (uint16_t)((i * 7 + i / 5) % QUEUES);
	set_reta(info.reta_size, table);
	for (v = 0; v < RTE_DIM(vector); v++) {
		assert_int_equal(queue_of(v, &hash), table[vector[v].hash % info.reta_size]);
		assert_int_equal(hash, vector[v].hash);
	}
}

/* How many entries of the port's table each of n queues has; the table goes to reta. */
static void
read_reta(uint16_t *reta, uint16_t *size, uint16_t n, unsigned int *share)
{
	struct rte_eth_rss_reta_entry64 conf[4];
	struct rte_eth_dev_info info;
	uint16_t i;

	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	*size = info.reta_size;
	for (i = 0; i < RTE_DIM(conf); i++)
		conf[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(1, conf, *size), 0);
	memset(share, 0, n * sizeof(*share));
	for (i = 0; i < *size; i++) {
		reta[i] = conf[i / 64].reta[i % 64];
		assert_in_range(reta[i], 0, n - 1);
		share[reta[i]]++;
	}
}

/* So many frames of different flows; how many came to each queue. */
static void
spread(uint16_t n, unsigned int frames, unsigned int *got)
{
	unsigned int i, q;

	memset(got, 0, n * sizeof(*got));
	for (i = 0; i < frames; i++) {
		rig_send(0, rig_ipv4(IPPROTO_TCP, RTE_IPV4(10, 0, 0, 1) + i * 7919, RTE_IPV4(10, 9, 1, 1),
				     (uint16_t)(1024 + i * 13), 80));
		for (q = 0; q < n; q++)
			got[q] += rig_drain(1, (uint16_t)q);
	}
}

/* Queue counts that are no power of two: the vectors go where the table says, and every queue has its share. */
static void
test_odd_counts(void **state)
{
	static const uint16_t counts[] = {3, 5, 6, 7, 12};
	unsigned int share[12], got[12], c, v, q, sum;
	uint16_t reta[256], size;
	uint32_t hash;

	for (c = 0; c < RTE_DIM(counts); c++) {
		uint16_t n = counts[c];

		rig_start(1, n, &rss_conf);
		read_reta(reta, &size, n, share);
		for (v = 0; v < RTE_DIM(vector); v++) {
			assert_int_equal(queue_of_n(v, n, &hash), reta[vector[v].hash % size]);
			assert_int_equal(hash, vector[v].hash);
		}
		spread(n, 600, got);
		for (q = 0, sum = 0; q < n; q++) {
			assert_in_range(share[q] * n, size * 3 / 4, size * 5 / 4);
			assert_in_range(got[q] * n, 300, 900);
			sum += got[q];
		}
		assert_int_equal(sum, 600);
		assert_int_equal(rte_eth_dev_stop(1), 0);
	}
}

static void
test_key_and_types(void **state)
{
	uint8_t key[MLX4_RSS_KEY_SIZE] = {0}, back[MLX4_RSS_KEY_SIZE];
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = sizeof(key)};
	uint32_t hash;
	unsigned int v;

	rig_start(1, QUEUES, &rss_conf);
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	/* With a key of zeros every hash is 0. */
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &hash), 0);
	conf.rss_key = back;
	memset(back, 0xff, sizeof(back));
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &conf), 0);
	assert_memory_equal(back, key, sizeof(key));
	/* TCP over IPv6 only: the frames of the suite are not hashed. */
	conf.rss_key = NULL;
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV6_TCP;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &hash), 0);
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	conf.rss_key = key;
	conf.rss_key_len = 16;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), -EINVAL);
	conf.rss_key_len = sizeof(key);
	conf.rss_hf = RTE_ETH_RSS_SCTP;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), -EINVAL);
}

/* Frames go on arriving while the table, the key and the types change. None is lost. */
static void
test_live_changes(void **state)
{
	uint8_t key[40];
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	unsigned int round, i, n, sent = 0, got = 0;
	struct rte_eth_dev_info info;
	struct rte_mbuf *m[32];
	uint16_t table[256], q;

	memset(key, 0x5a, sizeof(key));
	rig_start(1, QUEUES, &rss_conf);
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < FLOWS; i++, sent++) {
			struct rte_mbuf *f = rig_ipv4(IPPROTO_TCP, RTE_IPV4(10, 0, 0, 1) + i, RTE_IPV4(10, 0, 1, 1),
						      (uint16_t)(1000 + i), 80);

			assert_int_equal(rte_eth_tx_burst(0, 0, &f, 1), 1);
			/* Some are inside the card, some in the old rings when the change comes. */
			if (i % 16 == 0)
				tp_model_step(rig_model(0), 4);
		}
		for (i = 0; i < info.reta_size; i++)
			table[i] = (uint16_t)((i * (round + 1) + i / 3) % QUEUES);
		if (round % 3 == 0)
			set_reta(info.reta_size, table);
		else if (round % 3 == 1)
			conf.rss_hf ^= RTE_ETH_RSS_NONFRAG_IPV6_TCP;
		else
			key[round] ^= 0xff;
		if (round % 3 != 0)
			assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
		rig_run(0);
		for (i = 0; i < 4; i++)
			for (q = 0; q < QUEUES; q++)
				while ((n = rte_eth_rx_burst(1, q, m, RTE_DIM(m))) != 0) {
					rte_pktmbuf_free_bulk(m, n);
					got += n;
				}
	}
	assert_int_equal(got, sent);
}

static void
test_start_stop(void **state)
{
	const struct rte_eth_rxconf deferred = {.rx_deferred_start = 1};
	const struct rte_eth_txconf tx_deferred = {.tx_deferred_start = 1};
	struct rte_eth_rxq_info info;
	struct rte_mbuf *m;
	unsigned int v;
	uint32_t hash;

	assert_int_equal(rig_configure(1, QUEUES, 1, &rss_conf, rig_pool()), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 2, RIG_DESC, SOCKET_ID_ANY, &deferred, rig_pool()), 0);
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &tx_deferred), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(rte_eth_rx_queue_info_get(1, 2, &info), 0);
	assert_int_equal(info.conf.rx_deferred_start, 1);
	assert_int_equal(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	/* Its entries are served by another queue: 0xc626b0ea and 0x5c2b394a end in 2. */
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_not_equal(queue_of(v, &hash), 2);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 2), 0);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &hash), vector[v].hash % QUEUES);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 2), 0);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_not_equal(queue_of(v, &hash), 2);
	/* The transmit queue. */
	assert_int_equal(rte_eth_dev_tx_queue_start(1, 0), 0);
	{
		struct rte_ether_addr dst = rig_mac(0);

		rig_send(1, rig_frame(&dst, RIG_FRAME));
		assert_int_equal(rte_eth_rx_burst(0, 0, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rte_eth_dev_tx_queue_stop(1, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(1, 0), 0);
}

/* No queue serves: frames count as missed, addresses may come and go, and the first queue that starts has them again. */
static void
test_none_started(void **state)
{
	const struct rte_eth_rxconf deferred = {.rx_deferred_start = 1};
	struct rte_ether_addr dst = rig_mac(1), more = {{0x02, 0, 0, 0, 0, 0x77}};
	struct rte_eth_stats st;
	uint16_t q;

	(void)state;
	assert_int_equal(rig_configure(1, 2, 1, NULL, rig_pool()), 0);
	for (q = 0; q < 2; q++)
		assert_int_equal(rte_eth_rx_queue_setup(1, q, RIG_DESC, SOCKET_ID_ANY, &deferred, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	for (unsigned int round = 0; round < 3; round++) {
		rte_eth_stats_reset(1);
		for (unsigned int i = 0; i < 5; i++)
			rig_send(0, rig_frame(&dst, RIG_FRAME));
		assert_int_equal(rte_eth_dev_mac_addr_add(1, &more, 0), 0);
		rig_send(0, rig_frame(&more, RIG_FRAME));
		assert_int_equal(rte_eth_stats_get(1, &st), 0);
		assert_int_equal(st.ipackets, 0);
		assert_int_equal(st.imissed, 6);
		assert_int_equal(rte_eth_dev_rx_queue_start(1, 1), 0);
		/* The first poll goes over to the new rings. */
		assert_int_equal(rig_drain(1, 1), 0);
		rig_send(0, rig_frame(&dst, RIG_FRAME));
		rig_send(0, rig_frame(&more, RIG_FRAME));
		assert_int_equal(rig_drain(1, 1), 2);
		assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
		assert_int_equal(rte_eth_dev_mac_addr_remove(1, &more), 0);
		assert_int_equal(rte_eth_dev_rx_queue_stop(1, 1), 0);
		assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	}
}

static void
test_descriptors(void **state)
{
	struct rte_ether_addr dst;
	struct rte_mbuf *m;

	rig_start(1, 1, NULL);
	dst = rig_mac(1);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 0), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, UINT16_MAX), -EINVAL);
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 0);
	m = rig_frame(&dst, RIG_FRAME);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	rig_run(0);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 2);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 0), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 1), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 2), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rig_drain(1, 0), 2);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 0), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, UINT16_MAX), -EINVAL);
}

/* ethdev's buffer split: the first bytes in a buffer of one pool, the rest in another's. */
static void
test_buffer_split(void **state)
{
	const struct rte_eth_conf conf = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	struct rte_mempool *hdr = rte_pktmbuf_pool_create("hdr", 511, 0, 0, RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
	union rte_eth_rxseg seg[3] = {{.split = {.mp = hdr, .length = 96}}, {.split = {.mp = rig_pool()}}};
	struct rte_eth_rxconf rx = {.rx_seg = seg, .rx_nseg = 2, .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	const uint16_t whole = rte_pktmbuf_data_room_size(rig_pool()) - RTE_PKTMBUF_HEADROOM;
	const uint16_t part[] = {1, 128, (uint16_t)(whole - 1)};
	struct rte_ether_addr dst;
	struct rte_mbuf *m;
	unsigned int i;
	char said[64];

	assert_non_null(hdr);
	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &conf), 0);
	rig_log_begin();
	seg[0].split.length = 16;
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), -EINVAL);
	rig_log_one("16 bytes", "32..1024");
	seg[0].split.length = 96;
	/* The card fills the buffers behind the first. */
	for (i = 0; i < RTE_DIM(part); i++) {
		rig_log_begin();
		seg[1].split.length = part[i];
		assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), -EINVAL);
		snprintf(said, sizeof(said), "second segment of %u bytes", part[i]);
		rig_log_one(said, "wanted 0 or 2048");
	}
	seg[1].split.length = whole;
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), 0);
	seg[1].split.length = 0;
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), 0);
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	dst = rig_mac(1);
	/* More than the ring holds, so that buffers of both pools go round. */
	for (i = 0; i < 3 * RIG_DESC; i++) {
		rig_send(0, rig_frame(&dst, i % 2 == 0 ? 300 : 90));
		assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
		assert_ptr_equal(m->pool, hdr);
		assert_int_equal(m->nb_segs, i % 2 == 0 ? 2 : 1);
		assert_int_equal(m->data_len, i % 2 == 0 ? 96 : 90);
		if (i % 2 == 0) {
			assert_ptr_equal(m->next->pool, rig_pool());
			assert_int_equal(m->next->data_len, 204);
			assert_int_equal(*rte_pktmbuf_mtod(m->next, uint8_t *), 96);
		}
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(hdr), 0);
	rte_mempool_free(hdr);
}

/* With three queues the table has rings of several queues, which is another burst. */
static void
test_timestamps(void **state)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP},
				    .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4};
	uint64_t before, after, flag, t;
	struct rte_ether_addr dst;
	struct rte_mbuf *m;
	uint16_t queues, q, got;
	int off, i;

	for (queues = 1; queues <= 3; queues += 2) {
		rig_start(1, queues, &conf);
		off = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);
		i = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);
		assert_true(off >= 0 && i >= 0);
		flag = UINT64_C(1) << i;
		dst = rig_mac(1);
		for (i = 0; i < 4; i++) {
			assert_int_equal(rte_eth_read_clock(1, &before), 0);
			rig_send(0, rig_frame(&dst, 60));
			for (got = 0, q = 0; q < queues && got == 0; q++)
				got = rte_eth_rx_burst(1, q, &m, 1);
			assert_int_equal(got, 1);
			assert_int_equal(rte_eth_read_clock(1, &after), 0);
			assert_true((m->ol_flags & flag) != 0);
			assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN, 0);
			t = *RTE_MBUF_DYNFIELD(m, off, rte_mbuf_timestamp_t *);
			assert_in_range(t, before, after);
			rte_pktmbuf_free(m);
		}
		assert_int_equal(rte_eth_dev_stop(1), 0);
	}
	/* Without the offload a packet has no time, and the tag may be taken off again. */
	rig_log_begin();
	conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	assert_int_equal(rig_configure(1, 1, 1, &conf, rig_pool()), -EINVAL);
	rig_log_one("timestamp", "vlan_strip");
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	rig_start(1, 1, &conf);
	rig_send(0, rig_frame(&dst, 60));
	assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
	assert_int_equal(m->ol_flags & flag, 0);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_stop(1), 0);
}

/* Frames that are all shorter than a header may be: they come in buffers of the headers' pool. */
static void
test_split_of_short_frames(void **state)
{
	const struct rte_eth_conf conf = {.rxmode = {.mtu = 600, .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT}};
	struct rte_mempool *hdr =
		rte_pktmbuf_pool_create("long_hdr", 511, 0, 0, RTE_PKTMBUF_HEADROOM + 1024, SOCKET_ID_ANY);
	const union rte_eth_rxseg seg[2] = {{.split = {.mp = hdr, .length = 1024}}, {.split = {.mp = rig_pool()}}};
	struct rte_eth_rxconf rx = {
		.rx_seg = (void *)(uintptr_t)seg, .rx_nseg = 2, .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	struct rte_ether_addr dst;
	struct rte_mbuf *m;

	assert_non_null(hdr);
	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), 0);
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	dst = rig_mac(1);
	rig_send(0, rig_frame(&dst, 614));
	assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
	assert_ptr_equal(m->pool, hdr);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->data_len, 614);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(hdr), 0);
	rte_mempool_free(hdr);
}

static unsigned int
events(int timeout)
{
	struct rte_epoll_event ev[4];
	int n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, ev, RTE_DIM(ev), timeout);

	assert_true(n >= 0);
	return (unsigned int)n;
}

/* Arm, frame, event, disarm, again: more rounds than the two bits of the sequence number count. */
static void
test_interrupts(void **state)
{
	struct rte_eth_conf conf = rss_conf;
	uint16_t table[256];
	struct rte_eth_dev_info info;
	unsigned int round, v, i;

	conf.intr_conf.rxq = 1;
	rig_start(1, QUEUES, &conf);
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL), 0);
	for (round = 0; round < 10; round++) {
		v = round % 2 == 0 ? 0 : 3; /* 0x51ccc178 goes to queue 0, 0xafc7327f to queue 3 */
		assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
		rig_run(0);
		assert_int_equal(events(0), 0);
		rig_send(0, rig_ipv4(IPPROTO_TCP, vector[v].src, vector[v].dst, vector[v].sport, vector[v].dport));
		assert_int_equal(events(v == 0 ? EPOLL_MS : 20), v == 0 ? 1 : 0);
		assert_int_equal(rte_eth_dev_rx_intr_disable(1, 0), 0);
		assert_int_equal(rig_drain(1, 0), v == 0 ? 1 : 0);
		assert_int_equal(rig_drain(1, 3), v == 0 ? 0 : 1);
	}
	/* Disarmed: it may fire for the last arming, then it is quiet. */
	rig_send(0, rig_ipv4(IPPROTO_TCP, vector[0].src, vector[0].dst, vector[0].sport, vector[0].dport));
	events(20);
	rig_send(0, rig_ipv4(IPPROTO_TCP, vector[0].src, vector[0].dst, vector[0].sport, vector[0].dport));
	assert_int_equal(events(20), 0);
	assert_int_equal(rig_drain(1, 0), 2);
	/* A sleeper on a queue whose rings are replaced meanwhile. */
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
	rig_run(0);
	for (i = 0; i < info.reta_size; i++)
		table[i] = (uint16_t)((i * 3 + i / 7) % QUEUES);
	table[vector[0].hash % info.reta_size] = 0;
	set_reta(info.reta_size, table);
	rig_run(0);
	rig_send(0, rig_ipv4(IPPROTO_TCP, vector[0].src, vector[0].dst, vector[0].sport, vector[0].dport));
	assert_int_equal(events(EPOLL_MS), 1);
	rig_drain(1, 0);
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, NULL), 0);
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, QUEUES), -EINVAL);
}

/* A port stopped right after a doorbell, before the card has looked at its page: the doorbell came first. */
static void
test_stop_behind_a_doorbell(void **state)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&dst, RIG_FRAME);

	(void)state;
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_run(0);
	rig_no_violations(0);
	assert_int_equal(rte_eth_dev_start(0), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_vectors),      T(test_odd_counts),   T(test_key_and_types),
		T(test_live_changes), T(test_start_stop),   T(test_none_started),
		T(test_descriptors),  T(test_buffer_split), T(test_split_of_short_frames),
		T(test_timestamps),   T(test_interrupts),   T(test_stop_behind_a_doorbell),
	};

	rig_mbufs = 32767;
	if (rig_eal("mlx4que", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
