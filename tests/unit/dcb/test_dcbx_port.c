/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The agent over an ethdev, in virtual time: a port of net_ring, whose queue gives back what was sent, and settings that the
 * test plays. TLVs of the peer are written octet by octet, from IEEE 802.1Q annex D.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "tp_dcbx_port.h"
#include "tests/unit/eal.h"

#define BURST 16
#define INTERVAL_S 20 /* not the default, 30 */
#define HOLD 3        /* nor this, 4 */
#define RX_RING 64    /* frames that wait for the agent, one less */

static struct rte_mempool *pool;
static struct tp_dcbx_port *agent;

/* The port's settings: what was set last, and which of a peer's it does not take. */
static struct {
	struct tp_qos_port is;
	unsigned int calls;
	bool no_ets, no_pfc;
} port;

static int
limits(uint16_t id, struct tp_qos_limits *lim)
{
	assert_int_equal(id, 0);
	*lim = (struct tp_qos_limits){.max_tc = 8, .pfc = true, .ets = true, .dscp = true};
	return 0;
}

static int
get(uint16_t id, struct tp_qos_port *q)
{
	assert_int_equal(id, 0);
	*q = port.is;
	return 0;
}

static int
set(uint16_t id, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	assert_int_equal(id, 0);
	port.calls++;
	if ((port.no_ets && q->tc[2].bw_pct == 50) || (port.no_pfc && q->rx_pfc == 0x10)) {
		snprintf(err, TP_ERR_LEN, "no %s today", port.no_ets && q->tc[2].bw_pct == 50 ? "ETS" : "PFC");
		return -EINVAL;
	}
	port.is = *q;
	return 0;
}

static const struct tp_qos_ops ops = {.limits = limits, .get = get, .set = set};

static uint64_t
at_ms(uint64_t ms)
{
	return ms * rte_get_tsc_hz() / 1000 + 1;
}

static struct rte_mbuf *
frame(const void *data, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), data, len);
	return m;
}

/*
 * A frame of a peer that is not willing: ETS with 20, 30 and 50 for classes 0 to 2, PFC on 4, HTTP on 2. TLVs: chassis, port,
 * time to live, configuration and recommendation of ETS, PFC, application, end.
 */
static struct rte_mbuf *
peer(void)
{
	static const uint8_t says[] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00,       0x00, 0x20, 0x88, 0xcc, 0x02, 0x07,
		0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x20, 0x04, 0x07, 0x03,       0x02, 0x00, 0x00, 0x00, 0x00, 0x20,
		0x06, 0x02, 0x00, 120,  0xfe, 0x19, 0x00, 0x80, 0xc2, 0x09,       0x00, 0x01, 0x22, 0x00, 0x00, 20,
		30,   50,   0,    0,    0,    0,    0,    2,    2,    2,          0,    0,    0,    0,    0,    0xfe,
		0x19, 0x00, 0x80, 0xc2, 0x0a, 0x00, 0x01, 0x22, 0x00, 0x00,       20,   30,   50,   0,    0,    0,
		0,    0,    2,    2,    2,    0,    0,    0,    0,    0,          0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b,
		0x08, 0x10, 0xfe, 0x08, 0x00, 0x80, 0xc2, 0x0c, 0x00, 2 << 5 | 2, 0x00, 0x50, 0x00, 0x00};

	return frame(says, sizeof(says));
}

static struct rte_mbuf *
other(uint8_t mark)
{
	const uint8_t data[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, mark};

	return frame(data, sizeof(data));
}

static void
on_wire(struct rte_mbuf *m)
{
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
}

/* All that the port gives; -> the number. */
static uint16_t
receive(struct rte_mbuf *m[BURST])
{
	return rte_eth_rx_burst(0, 0, m, BURST);
}

static void
drop(struct rte_mbuf *m[], uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		rte_pktmbuf_free(m[i]);
}

static struct tp_dcbx_report
report(void)
{
	struct tp_dcbx_report r;

	tp_dcbx_report(agent, &r);
	return r;
}

static int
start(void **state)
{
	const struct tp_dcbx_attach args = {
		.port_id = 0, .pool = pool, .ops = &ops, .tx_interval_s = INTERVAL_S, .tx_hold = HOLD};

	(void)state;
	memset(&port, 0, sizeof(port));
	tp_qos_port_default(&port.is);
	port.is.rx_pfc = port.is.tx_pfc = 0x08;
	assert_int_equal(tp_dcbx_attach(&args, &agent), 0);
	tp_dcbx_port_set(agent, true, true);
	return 0;
}

/* Nothing is left behind: not a buffer, and the port's own settings are in force. */
static int
stop(void **state)
{
	struct rte_mbuf *m[BURST];

	(void)state;
	tp_dcbx_detach(agent);
	for (uint16_t n = BURST; n == BURST;) {
		n = receive(m);
		drop(m, n);
	}
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	assert_int_equal(port.is.rx_pfc, 0x08);
	return 0;
}

static void
speaks_when_it_is_time(void **state)
{
	static const uint8_t head[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
	static const uint8_t name[] = {0x08, 9, 'n', 'e', 't', '_', 'r', 'i', 'n', 'g', '0'};
	struct rte_mbuf *m[BURST];
	const uint8_t *p;
	bool named = false;

	(void)state;
	assert_false(tp_dcbx_poll(agent, at_ms(1000)));
	assert_true(report().link);
	assert_int_equal(receive(m), 1);
	assert_true(tp_dcbx_is_lldp(m[0]));
	p = rte_pktmbuf_mtod(m[0], const uint8_t *);
	assert_memory_equal(p, head, sizeof(head));
	/* 802.1AB 8.5.5: the description of the port is its name. */
	for (uint32_t i = 0; i + sizeof(name) <= m[0]->pkt_len; i++)
		named = named || memcmp(p + i, name, sizeof(name)) == 0;
	assert_true(named);
	/* Chassis and port are MACs; the time to live is what they hold, and a second (802.1AB 9.2.5.22). */
	assert_memory_equal(p + 32, "\x06\x02", 2);
	assert_int_equal(p[34] << 8 | p[35], INTERVAL_S * HOLD + 1);
	drop(m, 1);
	assert_false(tp_dcbx_poll(agent, at_ms(1001)));
	assert_false(tp_dcbx_poll(agent, at_ms(15000)));
	assert_int_equal(receive(m), 0);
	assert_false(tp_dcbx_poll(agent, at_ms(1000 + INTERVAL_S * 1000)));
	assert_int_equal(receive(m), 1);
	drop(m, 1);
	/* Off: a last word. Then nothing, and frames of peers are the application's. */
	tp_dcbx_port_set(agent, false, true);
	assert_false(tp_dcbx_poll(agent, at_ms(1001 + INTERVAL_S * 1000)));
	assert_int_equal(receive(m), 1);
	drop(m, 1);
	assert_false(tp_dcbx_poll(agent, at_ms(500000)));
	assert_int_equal(receive(m), 0);
}

static bool
says_pfc(const struct rte_mbuf *m, uint8_t enable)
{
	static const uint8_t pfc[] = {0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b};
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	for (uint32_t i = 0; i + 8 <= m->pkt_len; i++) {
		if (memcmp(p + i, pfc, sizeof(pfc)) == 0)
			return p[i + 7] == enable;
	}
	return false;
}

/* Other settings of the port's own are in force and said at once, not at the next time; what the port refuses is neither. */
static void
own_settings_are_said_at_once(void **state)
{
	struct rte_mbuf *m[BURST];
	struct tp_qos_port q;
	char err[TP_ERR_LEN];

	(void)state;
	assert_false(tp_dcbx_poll(agent, at_ms(1000)));
	assert_int_equal(receive(m), 1);
	assert_true(says_pfc(m[0], 0x08));
	drop(m, 1);
	tp_dcbx_port_local_get(agent, &q);
	q.rx_pfc = q.tx_pfc = 0x10;
	port.no_pfc = true;
	assert_int_equal(tp_dcbx_port_local_set(agent, &q, err), -EINVAL);
	assert_int_equal(port.is.rx_pfc, 0x08);
	assert_false(tp_dcbx_poll(agent, at_ms(2500)));
	assert_int_equal(receive(m), 0);
	port.no_pfc = false;
	assert_int_equal(tp_dcbx_port_local_set(agent, &q, err), 0);
	assert_int_equal(port.is.rx_pfc, 0x10);
	(void)tp_dcbx_poll(agent, at_ms(2600));
	assert_int_equal(receive(m), 1);
	assert_true(says_pfc(m[0], 0x10));
	drop(m, 1);
	tp_dcbx_port_local_get(agent, &q);
	assert_int_equal(q.rx_pfc, 0x10);
	q.rx_pfc = q.tx_pfc = 0x08;
	assert_int_equal(tp_dcbx_port_local_set(agent, &q, err), 0);
}

/* A full queue delays a frame; it comes once. Without buffers there is none, which is counted. */
static void
a_full_queue_delays(void **state)
{
	struct rte_mbuf *m[BURST], *held[2048], *one;
	unsigned int n = 0;
	uint16_t got, lldp = 0;

	(void)state;
	for (one = other(0); rte_eth_tx_burst(0, 0, &one, 1) == 1; one = other(0))
		n++;
	rte_pktmbuf_free(one);
	assert_true(n > BURST);
	assert_false(tp_dcbx_poll(agent, at_ms(1000)));
	assert_false(tp_dcbx_poll(agent, at_ms(1000)));
	do {
		got = receive(m);
		for (uint16_t i = 0; i < got; i++)
			lldp += tp_dcbx_is_lldp(m[i]);
		drop(m, got);
	} while (got != 0);
	assert_int_equal(lldp, 0);
	assert_false(tp_dcbx_poll(agent, at_ms(1000)));
	assert_int_equal(receive(m), 1);
	assert_true(tp_dcbx_is_lldp(m[0]));
	drop(m, 1);
	assert_false(tp_dcbx_poll(agent, at_ms(1300)));
	assert_int_equal(receive(m), 0);
	for (n = 0; (held[n] = rte_pktmbuf_alloc(pool)) != NULL; n++)
		;
	assert_false(tp_dcbx_poll(agent, at_ms(1000 + INTERVAL_S * 1000)));
	assert_int_equal(report().tx_lost, 1);
	drop(held, (uint16_t)n);
}

/* Frames for the agent are taken out of bursts, the others stay in order. */
static void
bursts_lose_what_is_for_the_agent(void **state)
{
	struct rte_mbuf *m[BURST];

	(void)state;
	assert_int_equal(tp_dcbx_hook(agent), 0);
	for (unsigned int on = 0; on < 3; on++) {
		tp_dcbx_port_set(agent, on != 0, true);
		if (on == 2)
			tp_dcbx_unhook(agent);
		on_wire(peer());
		on_wire(other(1));
		on_wire(peer());
		on_wire(other(2));
		assert_int_equal(receive(m), on == 1 ? 2 : 4);
		assert_int_equal(rte_pktmbuf_mtod(m[on == 1 ? 0 : 1], uint8_t *)[14], 1);
		assert_int_equal(rte_pktmbuf_mtod(m[on == 1 ? 1 : 3], uint8_t *)[14], 2);
		drop(m, on == 1 ? 2 : 4);
	}
	/* One that comes is looked at before its time. */
	(void)tp_dcbx_poll(agent, at_ms(1000));
	drop(m, receive(m));
	tp_dcbx_input(agent, peer());
	assert_true(tp_dcbx_poll(agent, at_ms(1000)));
	drop(m, receive(m));
	/* More than are waited for are lost, and counted. */
	for (unsigned int i = 0; i < RX_RING + 2; i++)
		tp_dcbx_input(agent, other(3));
	assert_int_equal(report().rx_lost, 3);
}

static void
hear_peer(void)
{
	struct rte_mbuf *m[BURST];

	tp_dcbx_input(agent, peer());
	assert_true(tp_dcbx_poll(agent, at_ms(1000)));
	drop(m, receive(m));
}

static void
assert_port(bool ets, bool pfc)
{
	assert_int_equal(port.is.tc[2].bw_pct, ets ? 50 : 0);
	assert_int_equal(port.is.prio_tc[2], ets ? 2 : 0);
	assert_int_equal(port.is.rx_pfc, pfc ? 0x10 : 0x08);
	assert_int_equal(port.is.num_rules, 1);
	assert_int_equal(port.is.rule[0].match, TP_MATCH_TCP_PORT);
	assert_int_equal(port.is.rule[0].lo, 80);
	assert_int_equal(port.is.rule[0].prio, 2);
}

static void
the_peers_settings_are_applied(void **state)
{
	struct tp_qos_port q;
	char err[TP_ERR_LEN];

	(void)state;
	hear_peer();
	assert_int_equal(port.calls, 0);
	assert_int_equal(tp_dcbx_apply(agent), 0);
	assert_int_equal(port.calls, 1);
	assert_port(true, true);
	assert_int_equal(report().applied, 1);
	assert_int_equal(report().refused, 0);
	/* That was all. */
	assert_false(tp_dcbx_poll(agent, at_ms(1500)));
	assert_int_equal(tp_dcbx_apply(agent), 0);
	assert_int_equal(port.calls, 1);
	/* The administrator's settings are beside the peer's, or are refused as a whole. */
	tp_dcbx_port_local_get(agent, &q);
	assert_int_equal(q.rx_pfc, 0x08);
	q.hol_stall_count = 9;
	assert_int_equal(tp_dcbx_port_local_set(agent, &q, err), 0);
	assert_port(true, true);
	assert_int_equal(port.is.hol_stall_count, 9);
	port.no_ets = true;
	q.hol_stall_count = 11;
	assert_int_equal(tp_dcbx_port_local_set(agent, &q, err), -EINVAL);
	assert_string_equal(err, "no ETS today");
	tp_dcbx_port_local_get(agent, &q);
	assert_int_equal(q.hol_stall_count, 9);
	port.no_ets = false;
}

/* What the port does not take is left out, the rest is in force. */
static void
refusals_are_sifted(void **state)
{
	static const struct {
		bool no_ets, no_pfc;
		const char *words;
	} cases[] = {{true, false, "no ETS today"}, {false, true, "no PFC today"}, {true, true, "no PFC today"}};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		port.no_ets = cases[i].no_ets;
		port.no_pfc = cases[i].no_pfc;
		hear_peer();
		assert_int_equal(tp_dcbx_apply(agent), 0);
		assert_port(!cases[i].no_ets, !cases[i].no_pfc);
		assert_int_equal(report().refused, 1);
		assert_string_equal(report().refusal, cases[i].words);
		/* Peers hear of it: what is refused is not in use. */
		assert_int_equal(report().dcbx.feature[TP_DCBX_ETS].from_peer, !cases[i].no_ets);
		assert_int_equal(report().dcbx.feature[TP_DCBX_PFC].from_peer, !cases[i].no_pfc);
		(void)stop(state);
		(void)start(state);
	}
}

static int
setup(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "test",
			(char *)(uintptr_t) "--no-huge",
			(char *)(uintptr_t) "-m",
			(char *)(uintptr_t) "64",
			(char *)(uintptr_t) "--no-shconf",
			(char *)(uintptr_t) "--no-telemetry",
			(char *)(uintptr_t) "--no-pci",
			(char *)(uintptr_t) "--lcores",
			unit_lcores("0"),
			(char *)(uintptr_t) "--log-level=*:error",
			(char *)(uintptr_t) "--vdev=net_ring0"};
	const struct rte_eth_conf conf = {.link_speeds = 0};

	(void)state;
	assert_true(rte_eal_init(RTE_DIM(argv), argv) >= 0);
	pool = rte_pktmbuf_pool_create("dcbx", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	return 0;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		T(speaks_when_it_is_time),
		T(own_settings_are_said_at_once),
		T(a_full_queue_delays),
		T(bursts_lose_what_is_for_the_agent),
		T(the_peers_settings_are_applied),
		T(refusals_are_sifted),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
