/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a pause does to others, and what ends it: a receiver that sleeps, flows that share a link with a paused one, and
 * forwarders in a ring that wait for each other. Links of 100 Mb/s carry 8106 of the frames a second; time is virtual.
 */
#include "fabric_rig.h"

#define MS UINT64_C(1000000)
#define LINE_FPS 8106u
#define LOOK_MS 10u
#define STALL_MS 100u
/* 65535 quanta of 512 bits at 100 Mb/s: so long a switch waits that nobody tells anything any more. */
#define PAUSE_MS 336u

static struct fabric fabric;

static void
begin(void)
{
	fabric = (struct fabric){.step = 100000, .now = 1000 * MS};
}

/* --- a receiver that sleeps ------------------------------------------------------------------------------- */

enum { A, B, SLEEPER, OTHER };
enum { TO_SLEEPER, VICTIM, NEIGHBOUR, ELSEWHERE };

static const struct rte_ether_addr storage = {{0x02, 0xaa, 0, 0, 0, 0x33}};
static unsigned int begun, ended;
static bool asleep;

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	assert_int_equal(port, SLEEPER);
	if (event == RTE_PMD_MLX4_EVENT_RX_STALL_BEGIN)
		begun++;
	if (event == RTE_PMD_MLX4_EVENT_RX_STALL_END)
		ended++;
}

/* A sends to the sleeper and to another one in priority 3, and in priority 0; B sends to A. */
static void
star(void)
{
	char words[128];
	uint16_t i;

	begin();
	begun = ended = 0;
	for (i = 0; i < 4; i++)
		fabric_add(&fabric, "rate0=100,rxbuf=121760,xoff=91320,xon=48704,wire0=switch:sw/rate:100", 2, 3);
	fabric_switch("sw", 0, "headroom:16384");
	fabric_switch("sw", 0, "buffer:500000");
	fabric_switch("sw", 0, "lossless:3");
	fabric_start(&fabric);
	for (i = 0; i < 4; i++) {
		snprintf(words, sizeof(words), "prio-tc=0,0,0,1,0,0,0,0 tc=0-1:ets:50 pfc=3%s%u",
			 i == SLEEPER ? " rx-stall-timeout=" : " rx-stall-timeout=0", i == SLEEPER ? STALL_MS : 0);
		fabric_qos(i, words);
		fabric_prio(i, 1, 3);
		fabric_prio(i, 2, 3);
	}
	fabric_group(&fabric, SLEEPER, &storage, "queues=1 dropless=forever pfc=on prio=3");
	fabric_watch_by_hand(SLEEPER);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(SLEEPER, on_event, NULL), 0);
	fabric_flow(&fabric, A, 1, SLEEPER, &storage);
	fabric_flow(&fabric, A, 2, OTHER, NULL);
	fabric_flow(&fabric, A, 0, OTHER, NULL);
	fabric_flow(&fabric, B, 1, A, NULL);
}

/* Runs and says how many frames of each flow came. */
static void
run(unsigned int ms, uint32_t came[4])
{
	uint64_t end = fabric.now + ms * MS;
	uint32_t before[4];
	uint16_t i;

	for (i = 0; i < 4; i++)
		before[i] = fabric.flow[i].got;
	while (fabric.now < end) {
		fabric_tick(&fabric);
		for (i = 0; i < 4; i++)
			fabric_take(&fabric, i, 0, UINT32_MAX);
		if (!asleep)
			fabric_take(&fabric, SLEEPER, 1, UINT32_MAX);
		if (fabric.now % (LOOK_MS * MS) == 0)
			fabric_look(&fabric, SLEEPER);
	}
	for (i = 0; i < 4; i++)
		came[i] = fabric.flow[i].got - before[i];
}

static void
assert_share(uint32_t came, unsigned int ms, unsigned int pct)
{
	uint32_t wanted = LINE_FPS * ms / 1000 * pct / 100;

	assert_in_range(came, wanted * 98 / 100, wanted * 102 / 100 + 1);
}

static uint64_t
pauses_of(uint16_t port)
{
	return fabric_card(port).tx_pause[3].frames;
}

static void
test_stalled_receiver(void **state)
{
	struct rte_pmd_mlx4_stalls st;
	uint64_t told, told_a, since;
	uint32_t came[4], gaps;

	star();
	asleep = false;
	run(100, came);
	run(1000, came);
	/* Half of A's link is priority 3's, half of that each flow's. */
	assert_share(came[TO_SLEEPER], 1000, 25);
	assert_share(came[VICTIM], 1000, 25);
	assert_share(came[NEIGHBOUR], 1000, 50);
	assert_share(came[ELSEWHERE], 1000, 100);
	assert_int_equal(pauses_of(SLEEPER), 0);
	asleep = true;
	while (pauses_of(SLEEPER) == 0)
		run(LOOK_MS, came);
	since = fabric.now;
	/* The switch's buffer fills, and A is paused. */
	while ((fabric_card(A).tx_paused & 1u << 3) == 0)
		run(LOOK_MS, came);
	assert_true(fabric.now - since < STALL_MS * MS);
	/*
	 * Pause stops a priority of a link, not a flow: the other flow of priority 3 stops, too. The one of priority 0
	 * has the link for itself, and who does not share it notices nothing.
	 */
	run(20, came);
	run(20, came);
	assert_int_equal(came[VICTIM], 0);
	assert_share(came[NEIGHBOUR], 20, 100);
	assert_share(came[ELSEWHERE], 20, 100);
	/* The monitor ends it in its time: two looks at most later. */
	while (begun == 0 && fabric.now - since < 10 * STALL_MS * MS)
		run(LOOK_MS, came);
	assert_int_equal(begun, 1);
	assert_in_range(fabric.now - since, (STALL_MS - LOOK_MS) * MS, (STALL_MS + 2 * LOOK_MS) * MS);
	assert_int_equal(rte_pmd_mlx4_stalls_get(SLEEPER, &st), 0);
	assert_true(st.rx_stalled);
	assert_int_equal(st.rx_critical, 1);
	/* No storm: the sleeper says nothing any more, and when the last pause is over all others have what they had. */
	told = pauses_of(SLEEPER);
	run(PAUSE_MS, came);
	told_a = fabric_switch_stats("sw", A + 1).prio[3].tx_pause_frames;
	run(2000, came);
	assert_int_equal(pauses_of(SLEEPER), told);
	assert_int_equal(fabric_switch_stats("sw", A + 1).prio[3].tx_pause_frames, told_a);
	assert_int_equal(came[TO_SLEEPER], 0);
	assert_share(came[VICTIM], 2000, 25);
	assert_share(came[NEIGHBOUR], 2000, 50);
	assert_share(came[ELSEWHERE], 2000, 100);
	assert_int_equal(fabric.flow[VICTIM].out_of + fabric.flow[NEIGHBOUR].out_of + fabric.flow[ELSEWHERE].out_of, 0);
	/* It wakes: what waited comes, then there is a gap, then priority 3 is lossless again. */
	asleep = false;
	run(2 * LOOK_MS, came);
	assert_int_equal(ended, 1);
	assert_int_equal(rte_pmd_mlx4_stalls_get(SLEEPER, &st), 0);
	assert_false(st.rx_stalled);
	gaps = fabric.flow[TO_SLEEPER].out_of;
	assert_true(gaps > 0);
	run(1000, came);
	assert_share(came[TO_SLEEPER], 1000, 25);
	asleep = true;
	while (pauses_of(SLEEPER) == told)
		run(LOOK_MS, came);
	run(STALL_MS / 2, came);
	asleep = false;
	run(1000, came);
	assert_int_equal(fabric.flow[TO_SLEEPER].out_of, gaps);
	assert_int_equal(begun, 1);
	fabric_close(&fabric);
}

/* --- a ring of forwarders ---------------------------------------------------------------------------------- */

/*
 * Node n receives by card 2n from node n - 1 and sends by card 2n + 1 to node n + 1. Each sends to the next but one and
 * passes on what is not for it; what cannot be sent waits, and nothing behind it is received. All of it is lossless, so
 * when the buffers are full of frames to be passed on, everybody waits for everybody.
 */
#define NODES 3u

static struct rte_mbuf *stuck[NODES];

static uint16_t
in_of(unsigned int node)
{
	return (uint16_t)(2 * (node % NODES));
}

static uint16_t
out_of(unsigned int node)
{
	return (uint16_t)(2 * (node % NODES) + 1);
}

static void
ring(const char *in_words, const char *out_words)
{
	char text[160], err[TP_ERR_LEN];
	unsigned int n;

	begin();
	for (n = 0; n < NODES; n++) {
		snprintf(text, sizeof(text), "rate0=100,rxbuf=121760,xoff=91320,xon=48704,wire0=switch:l%u/rate:100",
			 (n + NODES - 1) % NODES);
		fabric_add(&fabric, text, 1, 1);
		snprintf(text, sizeof(text), "rate0=100,wire0=switch:l%u/rate:100", n);
		fabric_add(&fabric, text, 1, 1);
	}
	fabric_start(&fabric);
	for (n = 0; n < NODES; n++) {
		snprintf(text, sizeof(text), "l%u", n);
		fabric_switch(text, 0, "headroom:16384");
		fabric_switch(text, 0, "buffer:300000");
		fabric_switch(text, 0, "lossless:3");
		fabric_qos(in_of(n), in_words);
		fabric_qos(out_of(n), out_words);
		fabric_prio(out_of(n), 0, 3);
		fabric_watch_by_hand(in_of(n));
		fabric_watch_by_hand(out_of(n));
		assert_int_equal(rte_eth_promiscuous_enable(in_of(n)), 0);
		if (rte_pmd_mlx4_dropless_set(in_of(n), 0, RTE_PMD_MLX4_DROPLESS_FOREVER, err) != 0)
			fail_msg("%s", err);
		fabric_flow(&fabric, out_of(n), 0, in_of(n + 2), NULL);
	}
}

/* A node receives until something is stuck. */
static void
pass_on(unsigned int n)
{
	struct rte_ether_addr mac = rig_mac(in_of(n));
	struct rte_mbuf *m = stuck[n];

	stuck[n] = NULL;
	for (;;) {
		if (m == NULL && rte_eth_rx_burst(in_of(n), 0, &m, 1) == 0)
			return;
		if (rte_is_same_ether_addr(&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr, &mac)) {
			fabric_account(&fabric, in_of(n), m);
		} else if (rte_eth_tx_burst(out_of(n), 0, &m, 1) == 0) {
			stuck[n] = m;
			return;
		}
		m = NULL;
	}
}

/* Runs the ring; how many frames came where they should. Applications that sleep receive nothing. */
static uint32_t
turn(unsigned int ms)
{
	uint64_t end = fabric.now + ms * MS;
	uint32_t before = 0, after = 0;
	unsigned int n;

	for (n = 0; n < NODES; n++)
		before += fabric.flow[n].got;
	while (fabric.now < end) {
		fabric_tick(&fabric);
		for (n = 0; n < NODES && !asleep; n++)
			pass_on(n);
		for (n = 0; n < 2 * NODES && fabric.now % (LOOK_MS * MS) == 0; n++)
			fabric_look(&fabric, (uint16_t)n);
	}
	for (n = 0; n < NODES; n++)
		after += fabric.flow[n].got;
	return after - before;
}

#define CLASSES "prio-tc=0,0,0,1,0,0,0,0 tc=0-1:ets:50 pfc=3"

/* All applications pause once for a second, and then nothing moves any more. */
static void
lock_up(void)
{
	unsigned int i;

	asleep = false;
	/* The links are full: half of what each carries has arrived. */
	assert_in_range(turn(1000), LINE_FPS * NODES / 2 * 9 / 10, LINE_FPS * NODES / 2 * 11 / 10);
	asleep = true;
	turn(1000);
	asleep = false;
	turn(1000);
	assert_int_equal(turn(5000), 0);
	for (i = 0; i < NODES; i++) {
		assert_non_null(stuck[i]);
		assert_int_equal(fabric_card(out_of(i)).tx_paused, 1u << 3);
	}
}

/* It turns again, at full speed, and stays so. Returns what was lost of all frames that were sent. */
static uint32_t
recovered(void)
{
	uint32_t lost = 0;
	unsigned int i;

	turn(3000);
	assert_in_range(turn(3000), LINE_FPS * NODES * 3 / 2 * 9 / 10, LINE_FPS * NODES * 3 / 2 * 11 / 10);
	for (i = 0; i < NODES; i++)
		fabric.flow[i].on = false;
	turn(1000);
	for (i = 0; i < NODES; i++) {
		assert_null(stuck[i]);
		lost += fabric.flow[i].sent - fabric.flow[i].got;
	}
	return lost;
}

/* Frames that outlive their time at the head of the paused class are dropped by who sends, and counted. */
static void
test_deadlock_lifetime(void **state)
{
	uint64_t discards = 0;
	unsigned int i;

	ring(CLASSES, CLASSES);
	lock_up();
	for (i = 0; i < NODES; i++) {
		fabric_qos(out_of(i), CLASSES " hol-lifetime=50000");
		fabric_watch_by_hand(out_of(i));
	}
	i = recovered();
	assert_true(i > 0);
	discards = rig_xstat(out_of(0), "tx_prio3_discards") + rig_xstat(out_of(1), "tx_prio3_discards") +
		   rig_xstat(out_of(2), "tx_prio3_discards");
	assert_int_equal(i, discards);
	fabric_close(&fabric);
}

/* Who receives stops pausing its neighbour, so that what does not fit is lost there, and counted. */
static void
test_deadlock_monitor(void **state)
{
	struct rte_pmd_mlx4_stalls st;
	struct rte_eth_stats eth;
	uint64_t missed = 0, stalls = 0;
	unsigned int i;

	ring(CLASSES, CLASSES);
	lock_up();
	for (i = 0; i < NODES; i++) {
		fabric_qos(in_of(i), CLASSES " rx-stall-timeout=200");
		fabric_watch_by_hand(in_of(i));
	}
	i = recovered();
	assert_true(i > 0);
	for (unsigned int n = 0; n < NODES; n++) {
		assert_int_equal(rte_eth_stats_get(in_of(n), &eth), 0);
		assert_int_equal(rte_pmd_mlx4_stalls_get(in_of(n), &st), 0);
		assert_false(st.rx_stalled);
		missed += eth.imissed;
		stalls += st.rx_critical;
	}
	assert_int_equal(i, missed);
	assert_true(stalls > 0);
	fabric_close(&fabric);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalled_receiver),
		cmocka_unit_test(test_deadlock_lifetime),
		cmocka_unit_test(test_deadlock_monitor),
	};

	if (rig_eal("test_storm", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
