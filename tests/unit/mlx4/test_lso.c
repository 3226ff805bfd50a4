/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Limits of large sends: what they exclude is refused by name when it is prepared, and dropped and counted when it is sent. */
#include <errno.h>

#include <rte_errno.h>
#include <rte_tcp.h>

#include "rig.h"

#define MTU 1500u
#define MSS 700u
#define L2 14u
#define V4 20u
#define V6 40u
#define TCP 20u
#define BUF 8192u /* data of a buffer behind the first */
#define PKTS 64u

static const struct rte_pmd_mlx4_lso defaults = {131072, 2, true, true};

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	return 0;
}

/* A TCP packet with so many octets of data; what l3 and l4 have beyond a header without options are options. */
static struct rte_mbuf *
large(uint32_t data, uint16_t l3, uint16_t l4, bool v6)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig_large_pool()), *next;
	uint16_t hdr = (uint16_t)(L2 + l3 + l4), n = (uint16_t)RTE_MIN(data, BUF);
	uint8_t *p;

	assert_non_null(m);
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(hdr + n));
	memset(p, 0, hdr + n);
	memcpy(p, &dst, sizeof(dst));
	p[6] = 2;
	p[12] = v6 ? 0x86 : 0x08;
	p[13] = v6 ? 0xdd : 0x00;
	if (v6) {
		p[L2] = 0x60;
		p[L2 + 6] = l3 > V6 ? 0 : IPPROTO_TCP; /* hop-by-hop options of one unit */
		p[L2 + V6] = l3 > V6 ? IPPROTO_TCP : 0;
	} else {
		p[L2] = (uint8_t)(0x40 | l3 / 4);
		p[L2 + 8] = 64;
		p[L2 + 9] = IPPROTO_TCP;
	}
	memset(p + L2 + (v6 ? V6 : V4) + (v6 && l3 > V6 ? 2 : 0), 1, v6 || l3 == V4 ? 0 : l3 - V4);
	p[L2 + l3 + 12] = (uint8_t)(l4 / 4 << 4);
	memset(p + L2 + l3 + TCP, 1, l4 - TCP); /* no operation */
	for (data -= n; data != 0; data -= n) {
		next = rte_pktmbuf_alloc(rig_large_pool());
		assert_non_null(next);
		n = (uint16_t)RTE_MIN(data, BUF);
		memset(rte_pktmbuf_append(next, n), 0x5a, n);
		assert_int_equal(rte_pktmbuf_chain(m, next), 0);
	}
	m->l2_len = L2;
	m->l3_len = l3;
	m->l4_len = l4;
	m->tso_segsz = MSS;
	m->ol_flags = RTE_MBUF_F_TX_TCP_SEG | (v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	return m;
}

/* The octets behind the headers of all frames that came of one packet. */
static uint32_t
arrived(uint32_t hdr, unsigned int *frames)
{
	struct rte_mbuf *got[PKTS];
	uint32_t sum = 0;
	uint16_t n, i;

	for (*frames = 0; rig_run(0), (n = rte_eth_rx_burst(1, 0, got, PKTS)) != 0; *frames += n)
		for (i = 0; i < n; i++) {
			sum += got[i]->pkt_len - hdr;
			rte_pktmbuf_free(got[i]);
		}
	return sum;
}

static void
judge(bool ok, uint32_t data, uint16_t l3, uint16_t l4, bool v6)
{
	struct rte_mbuf *m = large(data, l3, l4, v6);
	struct rte_eth_stats was, is;
	unsigned int frames;
	uint32_t sum;

	assert_int_equal(rte_eth_stats_get(0, &was), 0);
	rte_errno = 0;
	assert_int_equal(rte_eth_tx_prepare(0, 0, &m, 1), ok);
	assert_int_equal(rte_errno, ok ? 0 : EINVAL);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	sum = arrived(L2 + l3 + l4, &frames);
	assert_int_equal(rte_eth_stats_get(0, &is), 0);
	assert_int_equal(sum, ok ? data : 0);
	assert_int_equal(frames, ok ? (data + MSS - 1) / MSS : 0);
	assert_int_equal(is.oerrors - was.oerrors, !ok);
}

static void
set(uint32_t size, uint16_t segments, bool tcp, bool ip)
{
	const struct rte_pmd_mlx4_lso want = {size, segments, tcp, ip};
	struct rte_pmd_mlx4_lso got;
	char err[TP_ERR_LEN];

	assert_int_equal(rte_pmd_mlx4_lso_set(0, &want, err), 0);
	assert_int_equal(rte_pmd_mlx4_lso_get(0, &got), 0);
	assert_int_equal(got.size, size);
	assert_int_equal(got.min_segments, segments);
	assert_int_equal(got.tcp_options, tcp);
	assert_int_equal(got.ip_options, ip);
}

static void
test_defaults(void **state)
{
	struct rte_pmd_mlx4_lso got;

	assert_int_equal(rte_pmd_mlx4_lso_get(0, &got), 0);
	assert_int_equal(got.size, defaults.size);
	assert_int_equal(got.min_segments, defaults.min_segments);
	assert_true(got.tcp_options && got.ip_options);
	judge(true, 100, V4, TCP, false); /* one segment */
	judge(true, MSS + 1, V4, TCP, false);
	judge(true, 3 * MSS, V4 + 4, TCP + 12, false);
	judge(true, 3 * MSS, V6 + 8, TCP + 12, true);
	judge(true, defaults.size, V4, TCP, false);
	judge(false, defaults.size + 1, V4, TCP, false);
}

/* Below the MTU and 1024 there are none at all, whichever of the two changes. */
static void
test_size(void **state)
{
	set(3000, 2, true, true);
	judge(true, 3000, V4, TCP, false);
	judge(false, 3001, V4, TCP, false);
	set(MTU + 1024, 2, true, true);
	judge(true, MTU + 1024, V4, TCP, false);
	set(MTU + 1023, 2, true, true);
	judge(false, 2 * MSS, V4, TCP, false);
	judge(false, 100, V4, TCP, false);
	assert_int_equal(rte_eth_dev_set_mtu(0, MTU - 1), 0);
	judge(true, 2 * MSS, V4, TCP, false);
	assert_int_equal(rte_eth_dev_set_mtu(0, MTU), 0);
	judge(false, 2 * MSS, V4, TCP, false);
	set(0, 2, true, true);
	judge(false, 2 * MSS, V4, TCP, false);
}

static void
test_segments(void **state)
{
	set(64000, 4, true, true);
	judge(true, MSS, V4, TCP, false); /* is none */
	judge(false, MSS + 1, V4, TCP, false);
	judge(false, 3 * MSS, V4, TCP, false);
	judge(true, 3 * MSS + 1, V4, TCP, false);
	judge(false, 64001, V4, TCP, false);
	set(64000, 32, true, true);
	judge(false, 31 * MSS, V4, TCP, false);
	judge(true, 31 * MSS + 1, V4, TCP, false);
}

static void
test_options(void **state)
{
	set(64000, 2, false, true);
	judge(false, 3 * MSS, V4, TCP + 12, false);
	judge(false, 3 * MSS, V6, TCP + 12, true);
	judge(true, 3 * MSS, V4 + 4, TCP, false);
	set(64000, 2, true, false);
	judge(false, 3 * MSS, V4 + 4, TCP, false);
	judge(false, 3 * MSS, V6 + 8, TCP, true);
	judge(true, 3 * MSS, V4, TCP + 12, false);
	judge(true, 3 * MSS, V6, TCP + 12, true);
}

/* Limits hold for queues that are made later. */
static void
test_stays(void **state)
{
	set(3000, 2, false, true);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, 2, NULL);
	judge(false, 3001, V4, TCP, false);
	judge(false, 3000, V4, TCP + 12, false);
	judge(true, 3000, V4, TCP, false);
	/* One that is made anew while the port runs, too, whether there are limits or none. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
		assert_int_equal(rte_eth_tx_queue_setup(0, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
		assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
		judge(i != 0, 3001, V4, TCP, false);
		judge(i != 0, 3000, V4, TCP + 12, false);
		judge(true, 3000, V4, TCP, false);
		set(defaults.size, defaults.min_segments, true, true);
	}
}

static void
test_refused(void **state)
{
	static const struct {
		struct rte_pmd_mlx4_lso lso;
		const char *value, *range;
	} c[] = {
		{{64000, 1, true, true}, "1", "2..32"},
		{{64000, 33, true, true}, "33", "2..32"},
		{{131073, 2, true, true}, "131073", "0..131072"},
	};
	struct rte_pmd_mlx4_lso got;
	char err[TP_ERR_LEN];
	unsigned int i;

	for (i = 0; i < RTE_DIM(c); i++) {
		assert_int_equal(rte_pmd_mlx4_lso_set(0, &c[i].lso, err), -EINVAL);
		assert_non_null(strstr(err, c[i].value));
		assert_non_null(strstr(err, c[i].range));
	}
	assert_int_equal(rte_pmd_mlx4_lso_get(0, &got), 0);
	assert_int_equal(got.min_segments, defaults.min_segments);
	assert_int_equal(got.size, defaults.size);
	assert_int_equal(rte_pmd_mlx4_lso_set(9, &defaults, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_lso_get(9, &got), -ENODEV);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_defaults), T(test_size), T(test_segments), T(test_options), T(test_stays), T(test_refused),
	};

	if (rig_eal("lso", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
