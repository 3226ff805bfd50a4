/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What transmit queues do by declaration: priority, tag, DSCP and rules, as the other end of the wire sees it; frames that
 * outlive their time at the head of a paused class.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "card_trace.h"
#include "drivers/mlx4/qos/qos.h"
#include "qos_tx_rig.h"
#include "drivers/mlx4/tx/policy.h"

#define QUEUES 2
#define MS UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, QUEUES, NULL);
	rig_start(1, 1, NULL);
	tp_model_set_time(rig_model(0), 0);
	return 0;
}

/* A queue's priority is that of its queue pair, told to the card live, and of the tag. */
static void
test_queue_prio(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct card_trace t;
	char qpn[16], err[TP_ERR_LEN];
	struct rte_mbuf *m;
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;

	snprintf(qpn, sizeof(qpn), "0x%x", eth->txqs[1]->qpn);
	card_trace_begin(&t, rig_model(0));
	queue_prio(1, 3);
	card_trace_end(&t);
	/* The mask of the scheduling queue, and in the address path of the context 0x83, port 1, priority 3 [DP 7.3]. */
	assert_non_null(strstr(card_trace_box(&t, "UPDATE_QP", qpn), "000: 00000000 00000000 00004000 00000000\n"));
	assert_int_equal(prm_get(eth->txqs[1]->qp.ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE), 0x9b);
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, 1, &policy), 0);
	assert_int_equal(policy.prio, 3);
	m = through(1, udp(7));
	assert_int_equal(m->pkt_len, 84);
	assert_memory_equal(bytes(m) + 12, "\x81\x00\x60\x00\x08\x00", 6);
	rte_pktmbuf_free(m);
	m = through(0, udp(7));
	assert_memory_equal(bytes(m) + 12, "\x08\x00", 2);
	rte_pktmbuf_free(m);
	assert_int_equal(rig_xstat(0, "tx_prio3_packets"), 1);
	assert_int_equal(rig_xstat(0, "tx_prio3_bytes"), 88);
	assert_int_equal(rig_xstat(0, "tx_prio0_packets"), 1);
	assert_int_equal(rig_xstat(1, "rx_prio3_packets"), 1);
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(0, 1, 8, err), -EINVAL);
	assert_non_null(strstr(err, "0..7"));
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(0, QUEUES, 1, err), -EINVAL);
	/* Refused by the card: the old one holds. */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, 1, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	assert_int_not_equal(rte_pmd_mlx4_txq_prio_set(0, 1, 5, err), 0);
	free(rig_log_end(&(unsigned int){0}));
	assert_non_null(strstr(err, "priority 5 of Tx queue 1: the card refused"));
	m = through(1, udp(7));
	assert_memory_equal(bytes(m) + 12, "\x81\x00\x60\x00", 4);
	rte_pktmbuf_free(m);
}

/* Tags that the frame has already: their priority changes, nothing else; without tags, frames count all the same. */
static void
test_tags(void **state)
{
	struct tp_qos_prio_stats st[TP_PRIOS];
	struct tp_qos_port q = defaults();
	struct rte_mbuf *m;

	queue_prio(0, 6);
	m = udp(7);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x1064; /* DEI, VID 100 */
	m = through(0, m);
	assert_memory_equal(bytes(m) + 12, "\x81\x00\xd0\x64\x08\x00", 6);
	rte_pktmbuf_free(m);
	m = udp(7);
	assert_int_equal(rte_vlan_insert(&m), 0);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 14), "\x2f\xff", 2); /* priority 1 */
	m = through(0, m);
	assert_memory_equal(bytes(m) + 12, "\x81\x00\xcf\xff\x08\x00", 6);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[6].tx_frames, 2);
	q.tx_untag_priority = true;
	declare(&q);
	m = through(0, udp(7));
	assert_memory_equal(bytes(m) + 12, "\x08\x00", 2);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[6].tx_frames, 3);
	assert_int_equal(st[6].tx_bytes, 88 + 88 + 84);
	assert_int_equal(st[0].tx_frames, 0);
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[6].tx_frames, 0);
}

/* Rules: the first that matches; each priority has a queue pair of its own; DSCP of the rule or of the table. */
static void
test_rules(void **state)
{
	static const struct {
		uint8_t proto;
		uint16_t dport;
		uint8_t prio, tos;
	} t[] = {
		{IPPROTO_UDP, 4790, 2, 9 << 2}, {IPPROTO_UDP, 4791, 5, 26 << 2}, {IPPROTO_UDP, 4800, 5, 26 << 2},
		{IPPROTO_UDP, 4801, 2, 9 << 2}, {IPPROTO_TCP, 80, 1, 33 << 2},   {IPPROTO_TCP, 4791, 1, 33 << 2},
		{IPPROTO_ICMP, 4791, 0, 0},     {IPPROTO_UDP, 65535, 2, 9 << 2},
	};
	struct tp_qos_port q = defaults();
	struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;
	char name[32];
	unsigned int i, n[TP_PRIOS] = {0}, at, in_use;
	struct rte_mbuf *burst[64];
	int freed;

	add_rule(&q, TP_MATCH_UDP_PORT, 4791, 4800, 5, 26);
	add_rule(&q, TP_MATCH_TCP, 0, 0, 1, -1);
	add_rule(&q, TP_MATCH_UDP, 0, 0, 2, 9);
	q.mark_dscp = true;
	q.tx_dscp[1] = 33;
	declare(&q);
	for (i = 0; i < RTE_DIM(t); i++) {
		m = through(0, rig_ipv4(t[i].proto, 0x0a000001, 0x0a000002, 1234, t[i].dport));
		at = t[i].prio != 0 ? 18 : 14;
		if (t[i].prio != 0) {
			assert_memory_equal(bytes(m) + 12, "\x81\x00", 2);
			assert_int_equal(bytes(m)[14] >> 5, t[i].prio);
		}
		ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, at);
		if (ip->type_of_service != t[i].tos)
			fail_msg("case %u: TOS 0x%02x, wanted 0x%02x", i, ip->type_of_service, t[i].tos);
		assert_checksum(ip);
		rte_pktmbuf_free(m);
		n[t[i].prio]++;
	}
	for (i = 0; i < TP_PRIOS; i++) {
		snprintf(name, sizeof(name), "tx_prio%u_packets", i);
		assert_int_equal(rig_xstat(0, name), n[i]);
	}
	/* What its queue pairs sent is what the queue sent ... */
	assert_int_equal(rig_xstat(0, "tx_q0_packets"), RTE_DIM(t));
	/* ... and the queue gives it back: 64 blocks hold two completions at least. */
	for (i = 0; i < RTE_DIM(burst); i++)
		burst[i] = udp(4791);
	assert_int_equal(rte_eth_tx_burst(0, 0, burst, RTE_DIM(burst)), RTE_DIM(burst));
	rig_run(0);
	assert_int_equal(rig_drain(1, 0), RTE_DIM(burst));
	in_use = rte_mempool_in_use_count(rig_pool());
	freed = rte_eth_tx_done_cleanup(0, 0, 0);
	assert_in_range(freed, 33, RTE_DIM(burst) + RTE_DIM(t));
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), in_use - (unsigned int)freed);
	/* Queues that are set up later do the same. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, 1, NULL);
	m = through(0, udp(4791));
	assert_int_equal(bytes(m)[14] >> 5, 5);
	assert_int_equal(bytes(m)[19], 26 << 2);
	rte_pktmbuf_free(m);
	q = defaults();
	declare(&q);
	m = through(0, udp(4791));
	assert_memory_equal(bytes(m) + 12, "\x08\x00\x45\x00", 4);
	rte_pktmbuf_free(m);
	/* The plain burst is back. */
	assert_ptr_equal(rte_eth_fp_ops[0].tx_pkt_burst, mlx4_tx_burst);
}

/* ECN bits stay, IPv6 has its class in two bytes, a checksum that the card computes is the card's. */
static void
test_dscp(void **state)
{
	struct tp_qos_port q = defaults();
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;

	q.mark_dscp = true;
	q.tx_dscp[0] = 46;
	declare(&q);
	m = udp(7);
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
	ip->type_of_service = 0x01;
	ip->hdr_checksum = 0;
	m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4;
	m->l2_len = 14;
	m->l3_len = 20;
	m = through(0, m);
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);
	assert_int_equal(ip->type_of_service, 46 << 2 | 1);
	assert_checksum(ip);
	rte_pktmbuf_free(m);
	m = rig_frame(&mac, 80);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 12), "\x86\xdd\x60\x3a\xbc\xde\x00\x1a\x11\x40", 10);
	m = through(0, m);
	/* Class 0x03 becomes 46 << 2 | 3 = 0xbb; the flow label stays 0xabcde. */
	assert_memory_equal(bytes(m) + 12, "\x86\xdd\x6b\xba\xbc\xde", 6);
	rte_pktmbuf_free(m);
	/* ARP has none. */
	m = rig_frame(&mac, 60);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 12), "\x08\x06\x00\x01", 4);
	m = through(0, m);
	assert_memory_equal(bytes(m) + 12, "\x08\x06\x00\x01", 4);
	rte_pktmbuf_free(m);
}

/* A packet that somebody else has, too, is not written to; headers in pieces are put together. */
static void
test_shared(void **state)
{
	struct rte_mbuf *m, *clone, *tail, *got;
	struct tp_qos_port q = defaults();
	uint8_t before[80];

	q.mark_dscp = true;
	q.tx_dscp[4] = 12;
	declare(&q);
	queue_prio(0, 4);
	m = udp(7);
	memcpy(before, bytes(m), sizeof(before));
	rte_mbuf_refcnt_update(m, 1);
	got = through(0, m);
	assert_memory_equal(bytes(got) + 12, "\x81\x00\x80\x00\x08\x00\x45\x30", 8);
	rte_pktmbuf_free(got);
	assert_memory_equal(bytes(m), before, sizeof(before));
	assert_int_equal(m->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	clone = rte_pktmbuf_clone(m, rig_pool());
	assert_non_null(clone);
	got = through(0, clone);
	assert_memory_equal(bytes(got) + 12, "\x81\x00\x80\x00\x08\x00\x45\x30", 8);
	rte_pktmbuf_free(got);
	assert_memory_equal(bytes(m), before, sizeof(before));
	/* 16 bytes, then the rest. */
	tail = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(tail);
	memcpy(rte_pktmbuf_append(tail, 64), before + 16, 64);
	assert_int_equal(rte_pktmbuf_trim(m, 64), 0);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	got = through(0, m);
	assert_memory_equal(bytes(got) + 12, "\x81\x00\x80\x00\x08\x00\x45\x30", 8);
	assert_memory_equal(bytes(got) + 38, before + 34, 46);
	rte_pktmbuf_free(got);
}

/* Priority and rate of a queue that is set up again; rates in the context's units. */
static void
test_rate(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	struct rte_pmd_mlx4_txq_policy policy;
	const uint8_t *ctx = eth->txqs[0]->qp.ctx;
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 750), 0);
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_UNIT), 2);
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_VALUE), 750);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 12345), 0);
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_UNIT), 3);
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_VALUE), 12);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, 0, &policy), 0);
	assert_int_equal(policy.rate_mbps, 12000);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, 1, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	assert_int_not_equal(rte_eth_set_queue_rate_limit(0, 0, 100), 0);
	free(rig_log_end(&(unsigned int){0}));
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_VALUE), 12);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 0), 0);
	assert_int_equal(prm_get(ctx, MLX4_QPC_RATE_UNIT), 0);
}

/* Also on a stopped port, whose link says no speed; a running one has its speed as the end of the range. */
static void
test_rate_refusals(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_eth_link link;
	char err[TP_ERR_LEN];

	assert_int_equal(rte_eth_link_get(0, &link), 0);
	assert_int_equal(link.link_speed, 40000);
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 40001, err), -EINVAL);
	assert_non_null(strstr(err, "'40001' of Tx queue 0, want 0..40000"));
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, QUEUES, 1, err), -EINVAL);
	assert_non_null(strstr(err, "queue 2, want one of the 2"));
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(9, 0, 1, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 40000, err), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 750, err), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, 0, &policy), 0);
	assert_int_equal(policy.rate_mbps, 750);
	assert_int_equal(prm_get(eth->txqs[0]->qp.ctx, MLX4_QPC_RATE_VALUE), 750);
}

/* 802.1Qbb for one priority from the other end of the wire: scapy's MACControlClassBasedFlowControl, padded. */
static void
send_pfc(uint8_t prio, uint16_t quanta)
{
	static const struct rte_ether_addr mac = {{0x01, 0x80, 0xc2, 0, 0, 1}};
	struct rte_mbuf *m = rig_frame(&mac, 60);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	memset(p + 12, 0, 48);
	memcpy(p + 12, "\x88\x08\x01\x01\x00", 5);
	p[17] = (uint8_t)(1u << prio);
	p[18 + 2 * prio] = (uint8_t)(quanta >> 8);
	p[19 + 2 * prio] = (uint8_t)quanta;
	rig_send(1, m);
}

static unsigned int
offer(uint16_t queue, uint16_t dport, unsigned int n)
{
	unsigned int i, sent = 0;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = udp(dport);

		if (rte_eth_tx_burst(0, queue, &m, 1) == 1)
			sent++;
		else
			rte_pktmbuf_free(m);
	}
	rig_run(0);
	return sent;
}

static uint64_t hol_events[2];

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	struct rte_pmd_mlx4_stalls st;

	/* A function that asks is allowed here. */
	assert_int_equal(rte_pmd_mlx4_stalls_get(port, &st), 0);
	assert_int_equal(index, 3);
	assert_non_null(strstr(text, "class 3 of port 0"));
	if (event == RTE_PMD_MLX4_EVENT_TC_STALL_BEGIN)
		hol_events[0]++;
	if (event == RTE_PMD_MLX4_EVENT_TC_STALL_END)
		hol_events[1]++;
}

static void
look(uint64_t ms)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;

	mlx4_qos_lock(eth);
	mlx4_hol_look(eth, ms * MS);
	mlx4_qos_unlock(eth);
}

/* Priority 3 is paused for longer than its frames live: those, and no others, are dropped and counted. */
static void
test_hol(void **state)
{
	struct tp_qos_prio_stats st[TP_PRIOS];
	struct tp_qos_port q = defaults();
	struct rte_pmd_mlx4_stalls stalls;
	struct rte_eth_stats stats;
	uint64_t t = 1000;
	unsigned int i;

	q.rx_pfc = 1u << 3;
	q.prio_tc[3] = 3;
	q.hol_lifetime_us = 5000;
	q.hol_stall_count = 2;
	add_rule(&q, TP_MATCH_UDP_PORT, 33, 33, 3, -1);
	declare(&q);
	/* The alarm looks by the machine's clock; here the test does. */
	mlx4_watch_stop(rte_eth_devices[0].data->dev_private);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, on_event, NULL), 0);
	memset(hol_events, 0, sizeof(hol_events));
	send_pfc(3, 0xffff);
	assert_int_equal(rig_xstat(0, "rx_prio3_pause"), 1);
	look(t);
	assert_int_equal(offer(0, 33, 40), 40);
	assert_int_equal(offer(0, 7, 10), 10);
	assert_int_equal(rig_drain(1, 0), 10);
	look(t += 1);
	look(t += 5);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[3].tx_discards, 0);
	look(t += 1); /* 6 ms after the head was seen */
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[3].tx_discards, 40);
	assert_int_equal(st[0].tx_discards, 0);
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.opackets, 10);
	assert_int_equal(stats.obytes, 800);
	/* The second time in a row the class stalls, and its frames go no further than the driver. */
	assert_int_equal(offer(0, 33, 3), 3);
	look(t += 1);
	look(t += 6);
	assert_int_equal(rte_pmd_mlx4_stalls_get(0, &stalls), 0);
	assert_int_equal(stalls.tc_stalled, 1u << 3);
	assert_int_equal(stalls.tc_drops[3], 43);
	assert_int_equal(stalls.tc_stalls[3], 1);
	assert_int_equal(rig_xstat(0, "tx_tc3_lifetime_drops"), 43);
	assert_int_equal(rig_xstat(0, "tx_tc3_stalls"), 1);
	assert_int_equal(rig_xstat(0, "tx_tc0_stalls"), 0);
	assert_int_equal(hol_events[0], 1);
	assert_int_equal(offer(0, 33, 5), 5);
	assert_int_equal(offer(0, 7, 4), 4);
	assert_int_equal(rig_drain(1, 0), 4);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[3].tx_discards, 48);
	/* Eight lifetimes later it tries again; the pause is over. */
	send_pfc(3, 0);
	look(t += 39);
	assert_int_equal(hol_events[1], 0);
	look(t += 1);
	assert_int_equal(hol_events[1], 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(offer(0, 33, 7), 7);
		look(t += 10);
		assert_int_equal(rig_drain(1, 0), 7);
	}
	assert_int_equal(rte_pmd_mlx4_stalls_get(0, &stalls), 0);
	assert_int_equal(stalls.tc_drops[3], 43);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(st[3].tx_discards, 48);
	assert_int_equal(st[3].tx_frames, 21);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, NULL, NULL), 0);
}

#define CHANGES 300000u

static void
edit_checks(struct mlx4_tx_policy *p, const void *on)
{
	p->check_mac = *(const bool *)on;
}

static void *
change_checks(void *q)
{
	bool on = true;
	cpu_set_t all;
	unsigned int i;

	/* Not on the lcore that it has this from. */
	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
	for (i = 0; i < CHANGES; i++, on = !on)
		if (mlx4_tx_policy_edit(q, edit_checks, &on) != 0)
			return NULL;
	return q;
}

/* Who takes a policy off waits for the burst that has it, and for no burst that found it gone. */
static void
test_policy_comes_and_goes(void **state)
{
	const struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	struct mlx4_txq *q = eth->txqs[0];
	struct timespec until;
	void *changed = NULL;
	pthread_t thread;
	int rc;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	assert_int_equal(pthread_create(&thread, NULL, change_checks, q), 0);
	while ((rc = pthread_tryjoin_np(thread, &changed)) == EBUSY) {
		assert_int_equal(mlx4_tx_burst_policy(q, NULL, 0), 0);
		if (time(NULL) > until.tv_sec)
			fail_msg("the thread that changes policies waits for a burst that is over");
	}
	assert_int_equal(rc, 0);
	assert_ptr_equal(changed, q);
	assert_null(q->policy);
	assert_null(q->policy_busy);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_queue_prio),    T(test_tags),   T(test_rules),
		T(test_dscp),          T(test_shared), T(test_rate),
		T(test_rate_refusals), T(test_hol),    T(test_policy_comes_and_goes),
	};

	if (rig_eal("mlx4qtx", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
