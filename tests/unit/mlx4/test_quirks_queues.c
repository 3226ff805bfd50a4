/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* As test_quirks.c, for what is told of queues of priorities and of queue pairs with a transport. */
#include <errno.h>
#include <stdlib.h>

#include "ib_rig.h"
#include "qos_tx_rig.h"
#include "quirks_rig.h"
#include "roce_rig.h"

/* --- quality of service -------------------------------------------------------------------------------------------- */

/* A class that is to have nothing. */
static void
test_shares(void **state)
{
	char err[TP_ERR_LEN], *log;
	unsigned int told, lines;
	struct tp_qos_port q;
	int rc;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-69:b", told != 0, ""), 1, NULL);
		q = defaults();
		q.tc[1].tsa = q.tc[0].tsa = TP_TSA_ETS;
		q.tc[1].bw_pct = 100;
		q.tc[0].bw_pct = 0;
		rig_log_begin();
		rc = rte_pmd_mlx4_qos_set(0, &q, err);
		log = rig_log_end(&lines);
		assert_int_equal(rc == 0, told);
		assert_int_equal(strstr(log, "SET_PORT") != NULL, !told);
		free(log);
		assert_int_equal(passes(), 1);
		away(told != 0);
	}
}

/* Of two strict classes that have frames at once the higher one goes first. */
static void
test_group_order(void **state)
{
	struct tp_qos_port q;
	struct rte_mbuf *m[2];
	unsigned int told, i;
	uint16_t first;

	for (told = 0; told < 2; told++) {
		rig_open(args_of("F-70:b", told != 0, "rate0=100"));
		rig_start(0, 2, NULL);
		rig_start(1, 1, NULL);
		tp_model_set_time(rig_model(0), 0);
		q = defaults();
		q.prio_tc[6] = 6;
		q.tc[5].rate_mbps = 100; /* else the scheduler stays as it was after the reset */
		declare(&q);
		queue_prio(1, 6);
		/* The line is busy with the first frame until both queues have one more. */
		for (i = 0; i < 2; i++) {
			m[0] = udp(1);
			m[1] = udp(2);
			assert_int_equal(rte_eth_tx_burst(0, 0, &m[0], 1), 1);
			assert_int_equal(rte_eth_tx_burst(0, 1, &m[1], 1), 1);
		}
		rig_run(0);
		tp_model_set_time(rig_model(0), UINT64_C(1000000000));
		rig_run(0);
		for (i = 0, first = 0; rte_eth_rx_burst(1, 0, m, 1) == 1; i++) {
			const uint8_t *d = rte_pktmbuf_mtod(m[0], const uint8_t *);
			uint16_t port = (uint16_t)(d[12] == 0x81 ? d[40] << 8 | d[41] : d[36] << 8 | d[37]);

			/* Behind the one that was on the line already. */
			if (i == 1)
				first = port;
			rte_pktmbuf_free(m[0]);
		}
		assert_int_equal(i, 4);
		assert_int_equal(first, told ? 2 : 1);
		away(true);
	}
}

/* From port 1: priority 3 of port 0 waits for so many quanta (802.1Qbb). */
static void
pause_prio3(uint16_t quanta)
{
	static const uint8_t head[] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8};
	struct rte_mbuf *m = rig_frame(&(struct rte_ether_addr){{0}}, 60);
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);

	memset(d, 0, 60);
	memcpy(d, head, sizeof(head));
	d[24] = (uint8_t)(quanta >> 8);
	d[25] = (uint8_t)quanta;
	rig_send(1, m);
}

/* A pause of priority 3 holds a queue of that priority. */
static void
test_force_prio(void **state)
{
	struct tp_qos_port q;
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-82:b", told != 0, ""), 1, NULL);
		tp_model_set_time(rig_model(0), 0);
		q = defaults();
		q.rx_pfc = 8;
		declare(&q);
		queue_prio(0, 3);
		pause_prio3(0xffff);
		rig_send(0, udp(7));
		assert_int_equal(rig_drain(1, 0), told ? 0 : 1);
		pause_prio3(0);
		assert_int_equal(rig_drain(1, 0), told);
		away(true);
	}
}

/* --- queue pairs --------------------------------------------------------------------------------------------------- */

static void
rr_away(bool told)
{
	rr_close_ports();
	away(told);
}

static int
resize(struct rr_end *b, int cqe)
{
	unsigned int lines;
	int rc;

	rig_log_begin();
	rc = tp_roce_resize_cq(b->cq, cqe);
	free(rig_log_end(&lines));
	return rc;
}

static void
messages(struct rr_end *a, struct rr_end *b, unsigned int n)
{
	while (n-- != 0) {
		assert_int_equal(rr_recv(b, 0, 64), 0);
		assert_int_equal(rr_send(a, 0, 64, 0), 0);
		rr_run();
		rr_expect(a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		rr_expect(b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	}
}

/* A message over a connection in VLAN 7: with a tag or without. */
static void
test_vlan(void **state)
{
	struct rr_end a, b;
	unsigned int told;
	uint64_t tagged;

	for (told = 0; told < 2; told++) {
		rr_open(args_of("F-13:b", told != 0, ""), NULL);
		rr_pair(&a, &b, IBV_QPT_RC, RR_VLAN_V2);
		/* Behind the first one there are no questions for addresses. */
		messages(&a, &b, 1);
		tagged = rig_xstat(1, "rx_port_vlan_packets");
		messages(&a, &b, 3);
		assert_int_equal(rig_xstat(1, "rx_port_vlan_packets") - tagged, told ? 3 : 0);
		rr_end_free(&a);
		rr_end_free(&b);
		rr_away(true);
	}
}

static void
test_resize_mailbox(void **state)
{
	unsigned int told;
	struct rr_end a, b;

	for (told = 0; told < 2; told++) {
		rr_open(args_of("F-14:b", told != 0, ""), NULL);
		rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
		messages(&a, &b, 5);
		assert_int_equal(resize(&b, 31) == 0, told);
		messages(&a, &b, 5);
		rr_end_free(&a);
		rr_end_free(&b);
		rr_away(told != 0);
	}
}

/* Numbers go on in a pass in which entries that nobody wrote look complete: the consumer runs past what comes later. */
static void
test_resize_owner(void **state)
{
	struct rr_end a, b;

	rr_open(args_of("F-15:b", false, ""), NULL);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	messages(&a, &b, 35);
	assert_int_equal(resize(&b, 31), 0);
	rr_no_wc(&b);
	assert_int_equal(rr_recv(&b, 0, 64), 0);
	assert_int_equal(rr_send(&a, 0, 64, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_no_wc(&b);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_away(false);

	rr_open(args_of("F-15:b", true, ""), NULL);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	for (int i = 0; i < 12; i++) {
		static const int sizes[] = {31, 7, 255, 15, 3, 63};

		messages(&a, &b, 35 + (unsigned int)i);
		assert_int_equal(resize(&b, sizes[i % 6]), 0);
		rr_no_wc(&b);
	}
	messages(&a, &b, 300);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_away(true);
}

/* --- InfiniBand ----------------------------------------------------------------------------------------------------- */

static uint16_t heard_pkey;

static void
on_mad(void *arg, const struct tp_mad_packet *pkt)
{
	RTE_SET_USED(arg);
	heard_pkey = pkt->pkey_index;
}

static void
test_pkey_index(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = IR_LID(1)};
	unsigned int told;

	for (told = 0; told < 2; told++) {
		ir_open(args_of("F-29:b", told != 0, ""));
		ir_sweep();
		heard_pkey = 0xffff;
		ir_smp_init(p.data, 4, IR_GET, 0x12, 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], on_mad, NULL), 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[0], on_mad, NULL), 0);
		assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
		ir_run();
		assert_int_equal(heard_pkey, told ? 0 : 0x7f);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
		ir_close();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),         cmocka_unit_test(test_group_order),
		cmocka_unit_test(test_force_prio),     cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_resize_mailbox), cmocka_unit_test(test_resize_owner),
		cmocka_unit_test(test_pkey_index),
	};

	if (rig_eal("quirksqueues", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
