/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters against frames that the test counts itself; what a port says about itself; what it refuses. */
#include <errno.h>
#include <pthread.h>

#include "drivers/mlx4/rx/queue.h"
#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

#define FCS RTE_ETHER_CRC_LEN

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

/* Frames of one kind, both ends of the wire, by the names of their counters. */
struct kind {
	const char *size; /* of the counter of sizes, which include the FCS [DP 13.1] */
	uint16_t len;     /* without FCS */
	unsigned int n;
	enum { UC, MC, BC } cast;
};

static void
test_xstats(void **state)
{
	static const struct kind kinds[] = {
		{"64", 60, 3, UC},
		{"65_to_127", 61, 2, UC},
		{"65_to_127", 123, 1, MC},
		{"128_to_255", 124, 4, BC},
		{"256_to_511", 300, 1, UC},
		{"512_to_1023", 1019, 2, MC},
		{"1024_to_1518", 1020, 1, UC},
		{"1024_to_1518", 1514, 5, UC},
	};
	static const struct rte_ether_addr mc = {{0x01, 0, 0x5e, 0, 0, 1}};
	static const struct rte_ether_addr bc = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	static const char *const side[] = {"tx", "rx"};
	static const char *const cast_name[] = {"unicast", "multicast", "broadcast"};
	unsigned int i, k, s, frames = 0, cast[3] = {0};
	struct rte_ether_addr uc = rig_mac(1);
	uint64_t bytes = 0;
	char name[64];

	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	for (i = 0; i < RTE_DIM(kinds); i++)
		for (k = 0; k < kinds[i].n; k++) {
			rig_send(0, rig_frame(kinds[i].cast == UC   ? &uc
					      : kinds[i].cast == MC ? &mc
								    : &bc,
					      kinds[i].len));
			bytes += kinds[i].len;
			cast[kinds[i].cast]++;
			frames++;
		}
	assert_int_equal(rig_drain(1, 0), frames);
	for (s = 0; s < 2; s++) {
		snprintf(name, sizeof(name), "%s_port_packets", side[s]);
		assert_int_equal(rig_xstat(s, name), frames);
		snprintf(name, sizeof(name), "%s_port_bytes", side[s]);
		assert_in_range(rig_xstat(s, name), bytes, bytes + frames * FCS);
		for (i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), "%s_port_%s_packets", side[s], cast_name[i]);
			assert_int_equal(rig_xstat(s, name), cast[i]);
		}
		for (i = 0; i < RTE_DIM(kinds); i++) {
			unsigned int sum = 0;

			for (k = 0; k < RTE_DIM(kinds); k++)
				sum += strcmp(kinds[k].size, kinds[i].size) == 0 ? kinds[k].n : 0;
			snprintf(name, sizeof(name), "%s_size_%s_packets", side[s], kinds[i].size);
			if (rig_xstat(s, name) != sum)
				fail_msg("%s is %u, wanted %u", name, (unsigned int)rig_xstat(s, name), sum);
		}
	}
	assert_int_equal(rig_xstat(0, "total_port_packets"), frames);
	assert_int_equal(rig_xstat(1, "rx_q0_packets"), frames);
	assert_int_equal(rig_xstat(1, "rx_q0_bytes"), bytes);
	assert_int_equal(rig_xstat(0, "tx_q0_packets"), frames);
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	assert_int_equal(rig_xstat(1, "rx_port_packets"), 0);
	assert_int_equal(rig_xstat(1, "rx_size_64_packets"), 0);
	assert_int_equal(rig_xstat(0, "tx_port_packets"), frames);
}

static void
test_stats(void **state)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats st;
	unsigned int i;

	for (i = 0; i < 7; i++)
		rig_send(0, rig_frame(&dst, 100));
	assert_int_equal(rig_drain(1, 0), 7);
	assert_int_equal(rte_eth_stats_get(0, &st), 0);
	assert_int_equal(st.opackets, 7);
	assert_int_equal(st.obytes, 700);
	assert_int_equal(st.q_opackets[0], 7);
	assert_int_equal(st.q_obytes[0], 700);
	assert_int_equal(st.ipackets + st.imissed + st.ierrors + st.oerrors, 0);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ipackets, 7);
	assert_int_equal(st.ibytes, 700);
	assert_int_equal(st.q_ipackets[0], 7);
	assert_int_equal(st.q_ibytes[0], 700);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ipackets + st.ibytes + st.q_ipackets[0], 0);
}

/* More frames than a receive ring has room for: what is missing is counted, not lost sight of. */
static void
test_missed(void **state)
{
	struct rte_ether_addr dst = rig_mac(1);
	unsigned int i, sent = RIG_DESC + 50, got;
	struct rte_pmd_mlx4_totals t;
	struct rte_eth_stats st;

	for (i = 0; i < sent; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	got = rig_drain(1, 0);
	assert_true(got < sent);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ipackets, got);
	assert_int_equal(st.ipackets + st.imissed, sent);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 1);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ipackets, 1);
	assert_int_equal(st.imissed, 0);
	assert_int_equal(rte_pmd_mlx4_totals_get(1, &t), 0);
	assert_int_equal(t.rx_packets, got + 1);
	assert_int_equal(t.rx_missed, sent - got);
}

/* What waits in a queue that is stopped is neither received nor sent, and is counted once. */
static void
test_stop_drops(void **state)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats before, after;
	unsigned int i;

	for (i = 0; i < 7; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 7);
	for (i = 0; i < 5; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	assert_int_equal(rig_xstat(1, "rx_stop_drops"), 5);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rig_xstat(1, "rx_stop_drops"), 6);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(rig_drain(1, 0), 0);
	rig_run(0);

	assert_int_equal(rte_eth_stats_get(0, &before), 0);
	assert_int_equal(before.opackets, 13);
	assert_int_equal(rig_xstat(0, "tx_stop_drops"), 0);
	for (i = 0; i < 40; i++) {
		struct rte_mbuf *m = rig_frame(&dst, RIG_FRAME);

		assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	}
	tp_model_step(rig_model(0), 3); /* so many of them leave */
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	rig_run(0);
	assert_int_equal(rte_eth_stats_get(0, &after), 0);
	assert_int_equal(after.opackets - before.opackets, rig_drain(1, 0));
	assert_int_equal(rig_xstat(0, "tx_stop_drops"), 40 - (after.opackets - before.opackets));
	assert_in_range(rig_xstat(0, "tx_stop_drops"), 1, 39);
	assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rig_xstat(1, "rx_stop_drops"), 0);
}

static void
test_bad_fcs(void **state)
{
	const struct tp_impair all = {.corrupt_ppm = 1000000, .seed = 1};
	const struct tp_impair none = {0};
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats st;
	unsigned int i;

	assert_int_equal(tp_model_impair(rig_model(1), 2, &all), 0);
	for (i = 0; i < 5; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(rig_xstat(1, "rx_port_crc_errors"), 5);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ierrors, 5);
	assert_int_equal(st.ipackets, 0);
	assert_int_equal(tp_model_impair(rig_model(1), 2, &none), 0);
}

/* A wire on which one frame comes that is no frame. */
struct stub {
	struct tp_wire w;
	uint32_t len; /* 0: nothing comes */
};

static unsigned int
stub_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	return n;
}

static unsigned int
stub_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	static const uint8_t octets[RTE_ETHER_HDR_LEN];
	struct stub *s = (struct stub *)w;
	struct tp_frame_seg seg = {.data = octets, .len = s->len};
	const struct tp_frame f = {.seg = &seg, .nseg = 1, .len = s->len};

	if (s->len == 0)
		return 0;
	s->len = 0;
	(void)tp_model_port_receive(m, port, &f, 1);
	return 1;
}

static bool
stub_link(struct tp_wire *w)
{
	return true;
}

static void
stub_destroy(struct tp_wire *w)
{
}

/* What a port counts of frames that are longer than its MTU, with a right and with a wrong FCS, and of less than a header. */
static void
test_wrong_lengths(void **state)
{
	static const struct tp_wire_ops ops = {
		.name = "stub", .send = stub_send, .poll = stub_poll, .link = stub_link, .destroy = stub_destroy};
	static struct stub stub = {.w.ops = &ops};
	const struct tp_impair all = {.corrupt_ppm = 1000000, .seed = 1}, none = {0};
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats st;
	unsigned int i;

	assert_int_equal(rte_eth_dev_set_mtu(0, 1900), 0);
	/* 1500 and a header with two tags come, one octet more does not. */
	rig_send(0, rig_frame(&dst, 1522));
	assert_int_equal(rig_drain(1, 0), 1);
	for (i = 0; i < 3; i++)
		rig_send(0, rig_frame(&dst, 1523));
	assert_int_equal(rig_xstat(1, "rx_port_too_long_errors"), 3);
	assert_int_equal(rig_xstat(1, "rx_size_above_mtu_packets"), 3);
	assert_int_equal(rig_xstat(1, "rx_port_jabber_errors"), 0);
	assert_int_equal(tp_model_impair(rig_model(1), 2, &all), 0);
	for (i = 0; i < 2; i++)
		rig_send(0, rig_frame(&dst, 1523));
	assert_int_equal(rig_xstat(1, "rx_port_jabber_errors"), 2);
	assert_int_equal(rig_xstat(1, "rx_port_crc_errors"), 0);
	assert_int_equal(tp_model_impair(rig_model(1), 2, &none), 0);
	assert_int_equal(rig_drain(1, 0), 0);
	/* A header is the shortest that a port without a filter would take. */
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_int_equal(tp_model_wire_attach(rig_model(1), 2, &stub.w), 0);
	stub.len = RTE_ETHER_HDR_LEN - 1;
	rig_run(1);
	assert_int_equal(rig_xstat(1, "rx_port_short_errors"), 1);
	assert_int_equal(rig_drain(1, 0), 0);
	stub.len = RTE_ETHER_HDR_LEN;
	rig_run(1);
	assert_int_equal(rig_xstat(1, "rx_port_short_errors"), 1);
	assert_int_equal(rig_drain(1, 0), 1);
	/* Three above the MTU, two jabbers and a short one. */
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ierrors, 6);
	assert_int_equal(rig_xstat(1, "rx_port_runt_errors"), 0);
}

/* What a bad line or sender makes of frames: each is in one counter, and among the port's errors. */
static void
test_bad_line(void **state)
{
	static const struct {
		const char *name;
		struct tp_impair imp;
	} t[] = {
		{"rx_port_symbol_errors", {.symbol_ppm = 1000000}},
		{"rx_port_short_errors", {.short_ppm = 1000000}},
		{"rx_port_runt_errors", {.short_ppm = 1000000, .corrupt_ppm = 1000000}},
		{"rx_port_crc_errors", {.corrupt_ppm = 1000000}},
	};
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats st;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(t); i++) {
		assert_int_equal(rte_eth_stats_reset(1), 0);
		assert_int_equal(tp_model_impair(rig_model(1), 2, &t[i].imp), 0);
		for (k = 0; k < 3; k++)
			rig_send(0, rig_frame(&dst, 1000));
		assert_int_equal(rig_drain(1, 0), 0);
		for (k = 0; k < RTE_DIM(t); k++)
			assert_int_equal(rig_xstat(1, t[k].name), k == i ? 3 : 0);
		assert_int_equal(rte_eth_stats_get(1, &st), 0);
		assert_int_equal(st.ierrors, 3);
		assert_int_equal(st.imissed, 0);
	}
}

/* A frame with a length field that is not its length is received, and told. */
static void
test_length_fields(void **state)
{
	static const struct {
		uint16_t said, len;
		const char *name;
	} t[] = {{86, 100, NULL},
		 {85, 100, "rx_port_in_range_length_errors"},
		 {87, 100, "rx_port_in_range_length_errors"},
		 {1501, 1514, "rx_port_out_of_range_length_errors"},
		 {0x88b5, 100, NULL}};
	struct rte_ether_addr dst = rig_mac(1);
	uint64_t in = 0, out = 0;
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		m = rig_frame(&dst, t[i].len);
		*rte_pktmbuf_mtod_offset(m, rte_be16_t *, 12) = rte_cpu_to_be_16(t[i].said);
		rig_send(0, m);
		assert_int_equal(rig_drain(1, 0), 1);
		in += t[i].name != NULL && strstr(t[i].name, "in_range") != NULL;
		out += t[i].name != NULL && strstr(t[i].name, "out_of_range") != NULL;
		assert_int_equal(rig_xstat(1, "rx_port_in_range_length_errors"), in);
		assert_int_equal(rig_xstat(1, "rx_port_out_of_range_length_errors"), out);
	}
}

/* Wanted frames with a wrong FCS come, whatever became of their addresses; also after the port was started again. */
static void
test_ignored_fcs(void **state)
{
	const struct tp_impair all = {.corrupt_ppm = 1000000, .seed = 1};
	struct rte_ether_addr dst = rig_mac(1);
	unsigned int i;
	bool on = true;

	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_int_equal(tp_model_impair(rig_model(1), 2, &all), 0);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_get(1, &on), 0);
	assert_false(on);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(1, true), 0);
	for (i = 0; i < 5; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 5);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_run(1);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 1);
	assert_int_equal(rig_xstat(1, "rx_port_crc_errors"), 0);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_get(1, &on), 0);
	assert_true(on);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(1, false), 0);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(rig_xstat(1, "rx_port_crc_errors"), 1);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(77, true), -ENODEV);
}

static void
test_info(void **state)
{
	struct rte_eth_dev_info info;
	struct rte_dev_reg_info regs = {0};
	uint32_t ptype[32], word[256];
	char text[32];
	int n;

	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	/* The card's table has 128 addresses, one is the port's own. A default set and 127 groups of two (V-7). E-6. */
	assert_int_equal(info.max_mac_addrs, 127);
	assert_int_equal(info.max_rx_queues, 256);
	assert_int_equal(info.rx_desc_lim.nb_min, 256);
	assert_int_equal(info.rx_desc_lim.nb_max, 8192);
	assert_int_equal(info.hash_key_size, 40);
	assert_string_equal(info.driver_name, "net_mlx4_model");
	assert_int_equal(rte_eth_dev_fw_version_get(1, text, sizeof(text)), 0);
	assert_string_equal(text, "2.42.5000");
	assert_int_equal(rte_eth_dev_fw_version_get(1, text, 4), 10);
	n = rte_eth_dev_get_supported_ptypes(1, RTE_PTYPE_ALL_MASK, ptype, RTE_DIM(ptype));
	assert_in_range(n, 1, RTE_DIM(ptype));
	assert_int_equal(rte_eth_dev_get_reg_info(1, &regs), 0);
	assert_int_equal(regs.width, 4);
	assert_in_range(regs.length, MLX4_HCR_SIZE / 4, RTE_DIM(word));
	regs.data = word;
	memset(word, 0xa5, sizeof(word));
	assert_int_equal(rte_eth_dev_get_reg_info(1, &regs), 0);
	assert_int_equal(word[MLX4_HCR_CTRL / 4] & MLX4_HCR_GO, 0);
	assert_int_equal(word[regs.length], 0xa5a5a5a5);
	regs.length = 1;
	assert_int_equal(rte_eth_dev_get_reg_info(1, &regs), -ENOSPC);
}

static void
test_refusals(void **state)
{
	const struct rte_eth_conf plain = {0}, intr = {.intr_conf.rxq = 1};
	struct rte_mempool *tiny;

	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &plain), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_configure(1, MLX4_ETH_MAX_RXQ + 1, 1, &plain), -EINVAL);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_configure(1, 33, 1, &intr), -EINVAL);
	rig_log_one("33 queues", "vectors for 32");
	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &plain), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, MLX4_ETH_MIN_DESC - 1, SOCKET_ID_ANY, NULL, rig_pool()), -EINVAL);
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, MLX4_ETH_MAX_DESC + 1, SOCKET_ID_ANY, NULL), -EINVAL);
	tiny = rte_pktmbuf_pool_create("tiny", 511, 0, 0, RTE_PKTMBUF_HEADROOM + 300, SOCKET_ID_ANY);
	assert_non_null(tiny);
	rig_log_begin();
	assert_int_equal(rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL, tiny), -EINVAL);
	rig_log_one("mbufs of 300 bytes", "scatter");
	rte_mempool_free(tiny);
}

#define WRITER_FRAMES 50000u
#define WRITER_BURST 16u
#define SETTLE_MS 30000u

struct writer {
	uint64_t sent, received;
	bool enough, done; /* enough: it may end, from the other thread */
};

/* Sends from port 0 to port 1 and receives there: so many frames, and more until it may end. */
static void *
write_counters(void *arg)
{
	uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() * SETTLE_MS / 1000;
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m[WRITER_BURST];
	struct writer *w = arg;
	bool more = true;
	uint16_t i, n;

	while ((more || w->received < w->sent) && rte_get_timer_cycles() < end) {
		more = w->sent < WRITER_FRAMES || !__atomic_load_n(&w->enough, __ATOMIC_ACQUIRE);
		if (more && w->sent - w->received < RIG_DESC / 2) {
			for (i = 0; i < WRITER_BURST; i++)
				m[i] = rig_frame(&dst, RIG_FRAME);
			n = rte_eth_tx_burst(0, 0, m, WRITER_BURST);
			rte_pktmbuf_free_bulk(m + n, WRITER_BURST - n);
			w->sent += n;
		}
		w->received += rig_drain(1, 0);
	}
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Resets while a thread sends and receives: no frame of its is missing in the totals, and no reset is undone. */
static void
test_reset_live(void **state)
{
	struct rte_pmd_mlx4_totals t;
	struct rte_eth_stats tx, rx;
	struct writer w = {0};
	unsigned int resets = 0;
	uint64_t most = 0;
	pthread_t thread;

	assert_int_equal(rig_plug(RIG_DEV, "run=thread,wake-us=50"), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(pthread_create(&thread, NULL, write_counters, &w), 0);
	while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE)) {
		assert_int_equal(rte_eth_stats_reset(0), 0);
		assert_int_equal(rte_eth_xstats_reset(1), 0);
		assert_int_equal(rte_eth_stats_get(0, &tx), 0);
		assert_int_equal(rte_eth_stats_get(1, &rx), 0);
		most = RTE_MAX(most, RTE_MAX(tx.opackets, rx.ipackets));
		resets++;
		__atomic_store_n(&w.enough, resets > 10, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	assert_int_equal(w.received, w.sent);
	assert_true(w.sent >= WRITER_FRAMES);
	assert_in_range(most, 0, w.sent);
	assert_true(resets > 10);
	assert_int_equal(rte_pmd_mlx4_totals_get(0, &t), 0);
	assert_int_equal(t.tx_packets, w.sent);
	assert_int_equal(t.tx_bytes, w.sent * RIG_FRAME);
	assert_int_equal(rte_pmd_mlx4_totals_get(1, &t), 0);
	assert_int_equal(t.rx_packets, w.received);
	assert_int_equal(t.rx_bytes, w.received * RIG_FRAME);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rte_eth_stats_get(1, &rx), 0);
	assert_int_equal(rx.ipackets + rx.ibytes, 0);
	assert_int_equal(rte_pmd_mlx4_totals_get(31, &t), -ENODEV);
	rig_close();
}

/*
 * A send from memory that the card cannot reach ends its queue, and a nonsensical number of posted buffers a receive ring: the
 * one is counted by its port, the other, which the card tells by an event, for both of them.
 */
static void
test_queue_failures(void **state)
{
	struct rte_ether_addr dst;
	struct rte_mbuf *m;
	unsigned int lines, i;
	struct mlx4_eth *eth;
	rte_iova_t was;
	char *text;

	rig_open("");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	dst = rig_mac(1);
	m = rig_frame(&dst, RIG_FRAME);
	was = rte_mbuf_iova_get(m);
	rig_log_begin();
	rte_mbuf_iova_set(m, UINT64_C(1) << 60);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	rig_run(0);
	rte_mbuf_iova_set(m, was);
	m = rig_frame(&dst, RIG_FRAME);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 0);
	assert_int_equal(rig_xstat(0, "tx_queue_failures"), 1);
	assert_int_equal(rig_xstat(1, "tx_queue_failures"), 0);
	/* Started again, it sends. */
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
	rig_send(0, m);
	assert_int_equal(rig_drain(1, 0), 1);
	eth = rte_eth_devices[1].data->dev_private;
	*eth->rxqs[0]->set->ring[0].dbrec = rte_cpu_to_be_32(1u << 20);
	/* The card looks when what it knew of is used up. */
	for (i = 0; i < 2 * MLX4_ETH_MAX_DESC && rig_xstat(0, "device_qp_errors") == 0; i++)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
	text = rig_log_end(&lines);
	assert_non_null(strstr(text, "Tx queue 0: QP"));
	assert_non_null(strstr(text, "went to the error state"));
	free(text);
	assert_int_equal(rig_xstat(0, "device_qp_errors"), 1);
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rig_xstat(0, "tx_queue_failures"), 0);
	assert_int_equal(rig_xstat(0, "device_qp_errors"), 0);
	assert_int_equal(rig_xstat(1, "device_qp_errors"), 1);
	rig_unplug(RIG_DEV);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_xstats),
		T(test_stats),
		T(test_missed),
		T(test_stop_drops),
		T(test_bad_fcs),
		T(test_wrong_lengths),
		T(test_bad_line),
		T(test_length_fields),
		T(test_ignored_fcs),
		T(test_info),
		T(test_refusals),
		cmocka_unit_test(test_reset_live),
		cmocka_unit_test(test_queue_failures),
	};

	if (rig_eal("mlx4sta", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
