/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of failures that are rare: each is provoked a known number of times, and no other one of its side moves. */
#include <ethdev_driver.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "lib/roce/cm/priv.h"
#include "lib/roce/rdma/rdma_priv.h"
#include "lib/roce/wire/icrc.h"
#include "conn.h"

/* --- connection management ------------------------------------------------------------------------------------------ */

/* REJs stand apart: some of these are told the peer. */
static const char *const cm_names[] = {"cm_failed",     "cm_timeouts",    "cm_stale",      "cm_no_resources",
				       "cm_no_service", "cm_bad_version", "cm_malformed",  "cm_unknown",
				       "cm_foreign",    "cm_unexpected",  "cm_duplicates", "cm_half_open_drops",
				       "cm_retries"};

struct cm_counts {
	uint64_t was[RTE_DIM(cm_names)];
};

static struct cm_counts
cm_counts(struct pair *p, unsigned int node)
{
	struct cm_counts c;

	for (unsigned int i = 0; i < RTE_DIM(cm_names); i++)
		c.was[i] = pair_stat(p, node, cm_names[i]);
	return c;
}

/* Since then these two went up by as much, the others by nothing. */
static void
cm_moved(struct pair *p, unsigned int node, const struct cm_counts *since, const char *name, uint64_t n,
	 const char *other, uint64_t m)
{
	for (unsigned int i = 0; i < RTE_DIM(cm_names); i++) {
		uint64_t want = strcmp(cm_names[i], name) == 0 ? n : strcmp(cm_names[i], other) == 0 ? m : 0;
		uint64_t is = pair_stat(p, node, cm_names[i]) - since->was[i];

		if (is != want)
			fail_msg("node %u: %s went up by %u, wanted %u", node, cm_names[i], (unsigned int)is,
				 (unsigned int)want);
	}
}

static unsigned int
cut(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	(void)p, (void)from, (void)m;
	return 0;
}

/* The last try of a connection is over now. */
static void
gives_up(struct pair *p, struct rdma_cm_id *id)
{
	struct tcm_conn *c;

	trd_lock();
	(void)trd_core(troce_dev_of(p->n[0].ctx));
	c = trd_id_of(id)->conn;
	assert_non_null(c);
	c->retries = 0;
	tcm_timer(c, 0);
	trd_unlock();
}

/* 12.9.8.5: a peer that does not answer: a REQ, a SIDR_REQ, and a DREQ, whose connection ends all the same and did not fail. */
static void
timeouts(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id;
	struct cm_counts was;
	struct conn_both c;

	for (unsigned int i = 0; i < 2; i++) {
		id = conn_routed(p, i == 0 ? RDMA_PS_TCP : RDMA_PS_UDP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, id);
		was = cm_counts(p, 0);
		p->wire = cut;
		assert_int_equal(tp_rdma_connect(id, NULL), 0);
		conn_silence(p, 1);
		cm_moved(p, 0, &was, "", 0, "", 0);
		gives_up(p, id);
		conn_expect_status(p, 0, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		cm_moved(p, 0, &was, "cm_timeouts", 1, "cm_failed", 1);
		p->wire = NULL;
		conn_destroy(id);
	}
	c = conn_connected(p, PAIR_V4);
	was = cm_counts(p, 0);
	p->wire = cut;
	assert_int_equal(tp_rdma_disconnect(c.a), 0);
	conn_silence(p, 1);
	gives_up(p, c.a);
	conn_expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	cm_moved(p, 0, &was, "cm_timeouts", 1, "", 0);
	p->wire = NULL;
	conn_destroy(c.a);
	conn_destroy(c.b);
	conn_destroy(c.l);
}

/* Octets in front of a message's own fields: Ethernet, IPv4, UDP; BTH, DETH; the common header (13.4.2). */
#define BTH_AT 42u
#define ATTR_AT (BTH_AT + 12u + 8u + 16u)
#define DATA_AT (BTH_AT + 12u + 8u + 24u)
#define FRAME_LEN (DATA_AT + 232u + 4u)

static uint8_t seen_req[FRAME_LEN];

static unsigned int
see_req(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	(void)p;
	if (from == 0 && m->data_len == FRAME_LEN && f[12] == 8 && f[ATTR_AT + 1] == 0x10)
		memcpy(seen_req, f, FRAME_LEN);
	return 1;
}

/* 12.9.8.3.1: a REQ of another connection from a queue pair that is connected: its host started anew. Both are ended. */
static void
stale(void **state)
{
	struct pair *p = *state;
	struct cm_counts was;
	struct conn_both c;

	p->wire = see_req;
	c = conn_connected(p, PAIR_V4);
	p->wire = NULL;
	was = cm_counts(p, 1);
	seen_req[DATA_AT + 3] ^= 0x55; /* its local identifier */
	troce_icrc_put(troce_crc32(troce_icrc_start(TROCE_ICRC_IPV4_UDP, seen_req + 14, seen_req + BTH_AT),
				   seen_req + BTH_AT + 12, FRAME_LEN - 4 - BTH_AT - 12),
		       seen_req + FRAME_LEN - 4);
	pair_inject(p, 1, seen_req, FRAME_LEN);
	conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	cm_moved(p, 1, &was, "cm_stale", 1, "", 0);
	assert_int_equal(pair_stat(p, 1, "cm_rejected_out"), 1);
	assert_int_equal(pair_stat(p, 1, "cm_active"), 0);
	conn_destroy(c.a);
	conn_destroy(c.b);
	conn_destroy(c.l);
}

/* Table 110, code 3: whoever listens and has no place for one connection more says so; so it is with datagrams. */
static void
no_resources(void **state)
{
	struct pair *p = *state;
	struct tcm *cm = &troce_dev_of(p->n[1].ctx)->cm->core;
	const uint32_t max = cm->max_conns;
	struct cm_counts was;

	for (unsigned int i = 0; i < 2; i++) {
		enum rdma_port_space ps = i == 0 ? RDMA_PS_TCP : RDMA_PS_UDP;
		struct rdma_cm_id *l = conn_listening(1, ps, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a;

		was = cm_counts(p, 1);
		cm->max_conns = cm->conns;
		a = conn_routed(p, ps, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, a);
		assert_int_equal(tp_rdma_connect(a, NULL), 0);
		if (ps == RDMA_PS_TCP)
			conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 3);
		else
			conn_expect_status(p, 0, RDMA_CM_EVENT_UNREACHABLE, 2);
		cm_moved(p, 1, &was, "cm_no_resources", 1, "", 0);
		assert_int_equal(pair_stat(p, 1, "cm_rejected_out"), 1);
		cm->max_conns = max;
		conn_destroy(a);
		assert_int_equal(tp_rdma_destroy_id(l), 0);
	}
}

/* --- neighbours -------------------------------------------------------------------------------------------------------- */

/* RFC 826: who has 192.0.2.2? RFC 792: an echo request to it. From 192.0.2.1, which node 1 knows. */
static const uint8_t who_has[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0,   1, 8, 6,
				    0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,   0, 0, 1,
				    192,  0,    2,    1,    0,    0,    0, 0, 0, 0, 192, 0, 2, 2};

/* What node 1 has to say, whether it can or not. */
static uint64_t
said(struct pair *p)
{
	return pair_stat(p, 1, "net_requests_sent") + pair_stat(p, 1, "net_answers_sent") +
	       pair_stat(p, 1, "net_announcements_sent");
}

static uint16_t
takes_nothing(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue, (void)pkts, (void)n;
	return 0;
}

static unsigned int answers;

static unsigned int
see_answers(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	(void)p;
	answers += from == 1 && f[12] == 8 && f[13] == 6 && f[21] == 2;
	return 1;
}

#define ASKED 3u

/* Each packet that finds no mbuf, and each that the ethdev does not take, is one of its own counter and of no other one. */
static void
packets_lost(void **state)
{
	struct pair *p = *state;
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[p->n[1].port];
	struct rte_mempool *mp = troce_dev_of(p->n[1].ctx)->conf.pool;
	struct rte_mbuf **taken = calloc(mp->size + 1, sizeof(taken[0]));
	const eth_tx_burst_t burst = ops->tx_pkt_burst;

	assert_non_null(taken);
	p->wire = see_answers;
	for (unsigned int turn = 0; turn < 3; turn++) {
		const uint64_t no_mbuf = pair_stat(p, 1, "net_no_mbuf"), dropped = pair_stat(p, 1, "net_tx_dropped");
		const uint64_t before = said(p), answered = pair_stat(p, 1, "net_answers_sent");
		unsigned int n = 0;

		answers = 0;
		while (turn == 1 && (taken[n] = rte_pktmbuf_alloc(mp)) != NULL)
			n++;
		if (turn == 2)
			ops->tx_pkt_burst = takes_nothing;
		for (unsigned int i = 0; i < ASKED; i++)
			pair_inject(p, 1, who_has, sizeof(who_has));
		pair_run(p, 1);
		ops->tx_pkt_burst = burst;
		rte_pktmbuf_free_bulk(taken, n);
		assert_int_equal(pair_stat(p, 1, "net_answers_sent") - answered, ASKED);
		assert_int_equal(answers, turn == 0 ? ASKED : 0);
		assert_int_equal(pair_stat(p, 1, "net_no_mbuf") - no_mbuf, turn == 1 ? said(p) - before : 0);
		assert_int_equal(pair_stat(p, 1, "net_tx_dropped") - dropped, turn == 2 ? said(p) - before : 0);
	}
	p->wire = NULL;
	free(taken);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {T(timeouts), T(stale), T(no_resources), T(packets_lost)};

	return cmocka_run_group_tests_name("roce_sw_counts", tests, NULL, NULL);
}
