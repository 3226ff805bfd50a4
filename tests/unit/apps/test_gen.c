/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Generated frames: checksums by DPDK's own verification over the whole frame, flows distinct and repeatable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/triplane/traffic/gen.h"

static const struct rte_ether_addr src = {{0x02, 0, 0, 0, 0, 1}}, dst = {{0x02, 0, 0, 0, 0, 2}};

/* The frame as it goes on the wire: headers, and each segment's pattern. */
static void
build(const struct gen_conf *conf, uint32_t i, uint8_t *frame)
{
	unsigned int s, k, at = 0;
	struct gen_flow flow;
	struct gen_hdr hdr;

	gen_template(conf, &src, &dst, &hdr);
	gen_flow(conf, &hdr, i, &flow);
	for (s = 0; s < conf->num_segs; s++)
		for (k = 0; k < conf->seg[s]; k++)
			frame[at++] = gen_pattern(k);
	gen_write((struct gen_hdr *)(void *)frame, &hdr, &flow);
}

static void
check(const struct gen_conf *conf, uint32_t i)
{
	static uint8_t frame[GEN_MAX_FRAME] __attribute__((aligned(8)));
	const struct gen_hdr *h = (const struct gen_hdr *)(const void *)frame;

	build(conf, i, frame);
	assert_int_equal((uint16_t)~rte_raw_cksum(&h->ip, sizeof(h->ip)), 0);
	assert_int_not_equal(h->udp.dgram_cksum, 0);
	assert_int_equal(rte_ipv4_udptcp_cksum_verify(&h->ip, &h->udp), 0);
	assert_int_equal(rte_be_to_cpu_16(h->ip.total_length) + sizeof(h->eth), gen_frame_len(conf));
}

static void
checksums(void **state)
{
	static const uint16_t lens[] = {42, 43, 60, 61, 1514, 9014};
	struct gen_conf conf;
	unsigned int k;
	uint32_t i;

	(void)state;
	gen_conf_default(&conf);
	for (k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
		conf.seg[0] = lens[k];
		for (i = 0; i < 5000; i++)
			check(&conf, i);
	}
}

/* Odd segments: the pattern of the next one starts in the middle of a 16-bit word. */
static void
segments(void **state)
{
	struct gen_conf conf;
	uint32_t i;

	(void)state;
	gen_conf_default(&conf);
	conf.num_segs = 4;
	conf.seg[0] = 43;
	conf.seg[1] = 1;
	conf.seg[2] = 777;
	conf.seg[3] = 300;
	for (i = 0; i < 1000; i++)
		check(&conf, i);
}

static void
flows_differ(void **state)
{
	struct gen_conf conf;
	struct gen_flow a, b;
	struct gen_hdr hdr;
	uint32_t i, same = 0;

	(void)state;
	gen_conf_default(&conf);
	gen_template(&conf, &src, &dst, &hdr);
	gen_flow(&conf, &hdr, 0, &b);
	for (i = 1; i < 1024; i++) {
		gen_flow(&conf, &hdr, i, &a);
		same += a.src_ip == b.src_ip && a.src_port == b.src_port;
		b = a;
	}
	assert_int_equal(same, 0);
	gen_flow(&conf, &hdr, 1023, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	conf.seed = 2;
	gen_flow(&conf, &hdr, 1023, &b);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums),
		cmocka_unit_test(segments),
		cmocka_unit_test(flows_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
