/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Priorities by the DSCP that a packet leaves with, the mark of paused ports, and the rate of what several queue pairs send. */
#include "drivers/mlx4/tx/queue.h"
#include "qos_tx_rig.h"

#define FAR_NS UINT64_C(100000000000)
#define WAIT_S 60
#define MBPS 1u /* the least, which the slowest machine exceeds */

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	tp_model_set_time(rig_model(0), 0);
	return 0;
}

/* The mark while pause frames are on; priorities by the DSCP that a packet leaves with. */
static void
test_dscp_decides(void **state)
{
	static const struct {
		uint8_t tos, prio, tos_out;
	} t[] = {{0, 0, 0}, {7 << 2, 0, 7 << 2}, {8 << 2 | 2, 1, 8 << 2 | 2}, {26 << 2, 3, 26 << 2}, {0xff, 7, 0xff}};
	struct rte_ether_addr mac = rig_mac(1);
	struct tp_qos_port q = defaults();
	struct rte_mbuf *m;
	unsigned int i;

	q.mark_dscp = true;
	q.tx_pause = true;
	declare(&q);
	m = through(0, udp(7));
	assert_int_equal(bytes(m)[15], 26 << 2);
	rte_pktmbuf_free(m);
	q.tx_pause = false;
	q.rx_pause = true;
	q.dscp_gfc = 63;
	declare(&q);
	m = through(0, udp(7));
	assert_int_equal(bytes(m)[15], 63 << 2);
	rte_pktmbuf_free(m);
	q.rx_pause = false;
	q.tx_dscp[0] = 5;
	declare(&q);
	m = through(0, udp(7));
	assert_int_equal(bytes(m)[15], 5 << 2);
	rte_pktmbuf_free(m);
	/* The packet's own DSCP, whatever the queue's priority is; frames without one have the queue's. */
	q = defaults();
	q.dscp_ets = true;
	declare(&q);
	for (i = 0; i < RTE_DIM(t); i++) {
		m = udp(7);
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->type_of_service = t[i].tos;
		queue_prio(0, (uint8_t)(i % 8));
		m = through(0, m);
		if (t[i].prio == 0)
			assert_memory_equal(bytes(m) + 12, "\x08\x00\x45", 3);
		else
			assert_memory_equal(bytes(m) + 12, ((uint8_t[]){0x81, 0, (uint8_t)(t[i].prio << 5), 0, 8, 0}),
					    6);
		assert_int_equal(bytes(m)[t[i].prio == 0 ? 15 : 19], t[i].tos_out);
		rte_pktmbuf_free(m);
	}
	queue_prio(0, 2);
	m = rig_frame(&mac, 60);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 12), "\x08\x06\x00\x01", 4);
	m = through(0, m);
	assert_memory_equal(bytes(m) + 12, "\x81\x00\x40\x00\x08\x06", 6);
	rte_pktmbuf_free(m);
	for (i = 0; i < TP_PRIOS; i++) {
		static const unsigned int packets[TP_PRIOS] = {2 + 3, 1, 1, 1, 0, 0, 0, 1};
		char name[32];

		snprintf(name, sizeof(name), "tx_prio%u_packets", i);
		assert_int_equal(rig_xstat(0, name), packets[i]);
	}
	/* A mark is what it leaves with. */
	q.mark_dscp = true;
	q.tx_dscp[2] = 46;
	declare(&q);
	m = through(0, udp(7));
	assert_memory_equal(bytes(m) + 12, "\x81\x00\xa0\x00\x08\x00\x45\xb8", 8);
	rte_pktmbuf_free(m);
	q = defaults();
	declare(&q);
	queue_prio(0, 0);
	assert_ptr_equal(rte_eth_fp_ops[0].tx_pkt_burst, mlx4_tx_burst);
}

/*
 * A limit holds for what a queue sends by all its queue pairs together; the card has one for each pair. However slow the
 * machine is, the budget of the time that went by is not exceeded.
 */
static void
test_rate_of_all_pairs(void **state)
{
	struct tp_qos_port q = defaults();
	struct rte_eth_link link;
	uint64_t begin, end, now, sent = 0, offered = 0, most;
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < 4; i++)
		add_rule(&q, TP_MATCH_UDP_PORT, (uint16_t)(10 + i), (uint16_t)(10 + i), (uint8_t)(2 * i), -1);
	declare(&q);
	/* ethdev looks at the link's speed. */
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, MBPS), 0);
	begin = rte_rdtsc();
	end = begin + rte_get_tsc_hz() * WAIT_S;
	/* A tenth of a second, and until more was offered than goes: a machine that stalls has some to make up for. */
	do {
		m = udp((uint16_t)(10 + offered++ % 4));
		if (rte_eth_tx_burst(0, 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
		else
			sent++;
		tp_model_set_time(rig_model(0),
				  (rte_rdtsc() - begin) / (rte_get_tsc_hz() / 1000) * 1000000 + 1000000000);
		rig_run(0);
		rig_drain(1, 0);
		now = rte_rdtsc();
		/* 84 octets with FCS each, 32 KiB at once. */
		most = ((now - begin) * MBPS / 8 / (rte_get_tsc_hz() / 1000000) + 32768) / 84 + 1;
	} while ((now - begin < rte_get_tsc_hz() / 10 || offered <= most) && now < end);
	assert_in_range(sent, 32768 / 84, most);
	assert_true(offered > most);
	/* What is held back is the caller's, and goes later; what the card has leaves in the end. */
	tp_model_set_time(rig_model(0), FAR_NS);
	rig_run(0);
	rig_drain(1, 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 0), 0);
	m = through(0, udp(11));
	assert_memory_equal(bytes(m) + 12, "\x81\x00\x40\x00", 4);
	rte_pktmbuf_free(m);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {T(test_dscp_decides), T(test_rate_of_all_pairs)};

	if (rig_eal("mlx4qcls", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
