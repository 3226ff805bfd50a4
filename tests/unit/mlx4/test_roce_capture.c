/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A capture of the card's RoCE packets: what it counts, a card that dies or goes meanwhile, commands that fail. */
#include <stdlib.h>
#include <unistd.h>

#include "roce_rig.h"

#define NOWHERE "/dev/null"
#define LONG 61440u /* octets of a message */
#define UNPOLLED 25u

static void
talk(struct rr_end *a, struct rr_end *b, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(rr_recv(b, 0, 64), 0);
		assert_int_equal(rr_send(a, 0, 64, 0), 0);
		rr_run();
		rr_expect(a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		rr_expect(b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	}
}

/* Length in the file and on the wire of the n-th packet of a pcapng file: of its enhanced packet blocks (type 6). */
static uint32_t
packet_len(const char *path, unsigned int n)
{
	static uint8_t b[65536];
	FILE *f = fopen(path, "rb");
	uint32_t word[7];
	size_t len, at;

	assert_non_null(f);
	len = fread(b, 1, sizeof(b), f);
	fclose(f);
	for (at = 0; at + sizeof(word) <= len; at += word[1]) {
		memcpy(word, b + at, sizeof(word));
		if (word[0] != 6 || n-- != 0)
			continue;
		assert_int_equal(word[5], word[6]);
		return word[5];
	}
	fail_msg("%s has too few packets", path);
	return 0;
}

/* Steering rules that the card has. */
static uint32_t
rules(void)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	return m.rules;
}

/* A request and its answer are two packets, at either end; without a capture the card copies nothing. */
static void
test_counted(void **state)
{
	const uint32_t before = rules();
	uint64_t captured, lost;
	char path[] = "/tmp/tp-capture-XXXXXX";
	uint32_t len[2];
	struct rr_end a, b;
	unsigned int port;
	int fd;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	for (port = 0; port < 2; port++) {
		talk(&a, &b, 3);
		assert_int_equal(tp_roce_capture_start(rr_ctx[port], NOWHERE, 0), 0);
		assert_int_equal(rules(), before + 2);
		talk(&a, &b, 20);
		assert_int_equal(tp_roce_capture_stop(rr_ctx[port], &captured, &lost), 0);
		assert_int_equal(captured, 40);
		assert_int_equal(lost, 0);
		assert_int_equal(rules(), before);
	}
	talk(&a, &b, 3);
	assert_int_equal(tp_roce_capture_stop(rr_ctx[0], NULL, NULL), ENOENT);
	/* 64 octets behind Ethernet, IPv4, UDP and BTH, with an ICRC; the acknowledgement has an AETH. */
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(tp_roce_capture_start(rr_ctx[0], path, 0), 0);
	talk(&a, &b, 1);
	assert_int_equal(tp_roce_capture_stop(rr_ctx[0], &captured, &lost), 0);
	assert_int_equal(captured, 2);
	len[0] = packet_len(path, 0);
	len[1] = packet_len(path, 1);
	assert_int_equal(RTE_MAX(len[0], len[1]), 14 + 20 + 8 + 12 + 64 + 4);
	assert_int_equal(RTE_MIN(len[0], len[1]), 14 + 20 + 8 + 12 + 4 + 4);
	close(fd);
	unlink(path);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* The card goes on while the thread that polls waits for a CPU: what it sent meanwhile, more than a burst, is there in the end. */
static void
test_unpolled(void **state)
{
	uint64_t captured, lost;
	struct rr_end a, b;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(tp_roce_capture_start(rr_ctx[0], NOWHERE, 64), 0);
	for (i = 0; i < UNPOLLED; i++) {
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, i, LONG, &b, 0), 0);
		rig_run(0);
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, i);
	}
	rr_run();
	/* at the least, with the largest packets of an MTU of 1024 */
	assert_int_equal(tp_roce_capture_stop(rr_ctx[0], &captured, &lost), 0);
	assert_true(captured + lost >= UNPOLLED * (LONG / 1024));
	rr_end_free(&a);
	rr_end_free(&b);
}

/* More than the card's rings hold: they are filled again. The writer may be the slower one, and says so. */
static void
test_many(void **state)
{
	uint64_t captured, lost;
	struct rr_end a, b;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV6_V2);
	assert_int_equal(tp_roce_capture_start(rr_ctx[0], NOWHERE, 64), 0);
	talk(&a, &b, 2500);
	assert_int_equal(tp_roce_capture_stop(rr_ctx[0], &captured, &lost), 0);
	assert_int_equal(captured + lost, 5000);
	assert_true(captured >= 1000);
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_dead_card(void **state)
{
	struct rte_eth_link link;
	struct rr_end a, b;
	unsigned int p;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(tp_roce_capture_start(rr_ctx[0], NOWHERE, 0), 0);
	assert_int_equal(tp_roce_capture_start(rr_ctx[1], NOWHERE, 0), 0);
	talk(&a, &b, 2);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_CATAS, 0, 1, 0), 0);
	rte_eth_link_get_nowait(0, &link);
	rr_expect_event(0, IBV_EVENT_DEVICE_FATAL, NULL);
	for (p = 0; p < 2; p++)
		assert_int_equal(rte_eth_dev_stop((uint16_t)p), 0);
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(tp_roce_capture_stop(rr_ctx[0], NULL, NULL), 0);
	rr_end_free(&a);
	rr_end_free(&b);
	/* The other one ends with its port. */
	rr_close_ports();
	for (p = 0; p < 2; p++)
		rig_start((uint16_t)p, 1, NULL);
	rr_open_ports(NULL);
	assert_int_equal(tp_roce_capture_start(rr_ctx[1], NOWHERE, 0), 0);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	talk(&a, &b, 2);
	rr_end_free(&a);
	rr_end_free(&b);
}

static bool
life(void)
{
	if (tp_roce_capture_start(rr_ctx[0], NOWHERE, 0) != 0)
		return false;
	return tp_roce_capture_stop(rr_ctx[0], NULL, NULL) == 0;
}

/* Each command of a capture refused once: it is there or not, and leaves nothing behind. */
static void
test_refused_commands(void **state)
{
	struct rte_pmd_mlx4_model m;
	uint64_t commands, n;
	unsigned int lines;
	size_t heap;

	assert_true(life());
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands;
	heap = rig_heap();
	assert_true(life());
	assert_int_equal(rig_heap(), heap);
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands - commands;
	assert_in_range(commands, 12, 40);
	rig_log_begin();
	for (n = 1; n <= commands; n++) {
		assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, (uint32_t)n, MLX4_STAT_INTERNAL_ERR),
				 0);
		life();
		tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, 0, 0);
		if (rig_heap() != heap)
			fail_msg("command %u of %u refused: the heap has %zu bytes, wanted %zu", (unsigned int)n,
				 (unsigned int)commands, rig_heap(), heap);
		if (rte_eth_dev_is_removed(0) == 0)
			continue;
		/* It did not give back an object: it is given up, and must be reset. */
		rr_close_ports();
		assert_int_equal(rte_eth_dev_stop(0) | rte_eth_dev_stop(1) | rte_eth_dev_reset(0), 0);
		free(rig_log_end(&lines));
		rig_log_begin();
		rig_start(0, 1, NULL);
		rig_start(1, 1, NULL);
		rr_open_ports(NULL);
		assert_true(life());
		heap = rig_heap();
	}
	free(rig_log_end(&lines));
	assert_true(life());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_counted),   TEST(test_unpolled),         TEST(test_many),
		TEST(test_dead_card), TEST(test_refused_commands),
	};

	if (rig_eal("mlx4_roce_capture", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
