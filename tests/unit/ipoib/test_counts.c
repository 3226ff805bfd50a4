/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters by name, and resets while bursts are at work: no packet is missing in the totals, and no reset is undone. */
#include <pthread.h>

#include <rte_ethdev.h>

#include "cm_rig.h"
#include "lib/ipoib/failover/pair.h"

#define ROUNDS 30000u
#define RESETS 100u
#define LEN 114u /* octets of a frame, each way */
#define PAIR 7u  /* ports, in the table of ethdevs */
#define ACTIVE 8u
#define OTHER 9u

static struct ibv_context idle_ctx;
static struct ibv_cq idle = {.context = &idle_ctx};
static struct rte_eth_dev_data data[3];
static struct ipoib_port other;
static struct ipoib_pair pair;
static struct ipoib_pair_queue pair_rx, pair_tx;
static void *pair_rxq[] = {&pair_rx}, *pair_txq[] = {&pair_tx};

/* --- what is around counters ------------------------------------------------------------------------------------------ */

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

void
ipoib_device_lock(struct ipoib_device *d)
{
	(void)d;
	pthread_mutex_lock(&device_lock);
}

void
ipoib_device_unlock(struct ipoib_device *d)
{
	(void)d;
	pthread_mutex_unlock(&device_lock);
}

struct ipoib_port *
ipoib_port_of(uint16_t port_id)
{
	(void)port_id;
	return &port;
}

int
tp_ipoib_pair_info(uint16_t port_id, struct tp_ipoib_pair_info *info)
{
	assert_int_equal(port_id, PAIR);
	*info = (struct tp_ipoib_pair_info){.standby_dropped = ipoib_pair_dropped(&pair)};
	return 0;
}

static int
nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq, (void)n, (void)wc;
	return 0;
}

/* The other port of the pair: a frame of a group and one for the host. */
static uint16_t
rx_both(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	unsigned int i;

	(void)queue;
	assert_true(n >= 2);
	for (i = 0; i < 2; i++) {
		pkts[i] = rte_pktmbuf_alloc(rig.pool);
		assert_non_null(pkts[i]);
		memset(rig_room(pkts[i], LEN), i == 0 ? 0xff : 0x02, LEN);
	}
	return 2;
}

static uint16_t
tx_none(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue, (void)pkts;
	assert_int_equal(n, 0);
	return 0;
}

/* Ports as rte_eth_rx_burst() and its like find them. */
static void
show(uint16_t id, struct rte_eth_dev_data *d, void *private, void **rx, void **tx)
{
	static void *no_callbacks[1];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];

	*d = (struct rte_eth_dev_data){.dev_private = private,
				       .port_id = id,
				       .nb_rx_queues = 1,
				       .nb_tx_queues = 1,
				       .rx_queues = rx,
				       .tx_queues = tx};
	rte_eth_devices[id].data = d;
	ops->rx_pkt_burst = id == OTHER ? rx_both : ipoib_rx_burst;
	ops->tx_pkt_burst = id == OTHER ? tx_none : ipoib_tx_burst;
	ops->rxq.data = rx;
	ops->txq.data = tx;
	ops->rxq.clbk = ops->txq.clbk = no_callbacks;
}

static int
setup(void **state)
{
	static void *rx[] = {&rxq}, *tx[] = {&txq};
	int ret = cm_rig_open(state);

	idle_ctx.ops.poll_cq = nothing;
	rxq.cq = txq.cq = &idle;
	rxq.inject = rte_ring_create("in", 64, 0, 0);
	assert_non_null(rxq.inject);
	txq.size = 64;
	memset(&other, 0, sizeof(other));
	pair = (struct ipoib_pair){.eth = &rte_eth_devices[PAIR], .port_id = PAIR, .member = {ACTIVE, OTHER}};
	pthread_mutex_init(&pair.lock, NULL);
	pair_rx = pair_tx = (struct ipoib_pair_queue){.pair = &pair};
	show(ACTIVE, &data[0], &port, rx, tx);
	show(OTHER, &data[1], &other, rx, tx);
	show(PAIR, &data[2], &pair, pair_rxq, pair_txq);
	return ret;
}

static int
teardown(void **state)
{
	rte_ring_free(rxq.inject);
	pthread_mutex_destroy(&pair.lock);
	return cm_rig_close(state);
}

/* --- resets ------------------------------------------------------------------------------------------------------------ */

struct resets {
	int (*reset)(struct rte_eth_dev *dev);
	int (*get)(struct rte_eth_dev *dev, struct rte_eth_stats *stats);
	struct rte_eth_dev *dev;
	_Atomic unsigned int done;
	_Atomic bool stop;
	struct rte_eth_stats most; /* that was seen between two of them */
};

static void *
resets(void *arg)
{
	struct resets *r = arg;
	struct rte_eth_stats s = {0};

	while (!r->stop) {
		r->reset(r->dev);
		r->get(r->dev, &s);
		r->most.ipackets = RTE_MAX(r->most.ipackets, s.ipackets);
		r->most.opackets = RTE_MAX(r->most.opackets, s.opackets);
		r->most.ierrors = RTE_MAX(r->most.ierrors, s.ierrors);
		r->done++;
	}
	return NULL;
}

#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
static int
port_get(struct rte_eth_dev *dev, struct rte_eth_stats *s)
{
	struct eth_queue_stats q;

	return ipoib_stats_get(dev, s, &q);
}

static int
pair_get(struct rte_eth_dev *dev, struct rte_eth_stats *s)
{
	struct eth_queue_stats q;

	return ipoib_pair_stats_get(dev, s, &q);
}
#else
#define port_get ipoib_stats_get
#define pair_get ipoib_pair_stats_get
#endif

struct moved {
	uint64_t rounds, received, octets; /* by bursts, of which the card made rounds arrive whole */
};

/* A frame to the peer, one from it, and a damaged one; until there were as many rounds, and resets during them. */
static struct moved
move(uint16_t id, struct resets *r, pthread_t *thread)
{
	struct rte_mbuf *m, *got[IPOIB_BURST];
	struct moved w = {0};
	uint16_t n, i;

	assert_int_equal(pthread_create(thread, NULL, resets, r), 0);
	for (; w.rounds < ROUNDS || r->done < RESETS; w.rounds++) {
		m = frame(LEN);
		assert_int_equal(rte_eth_tx_burst(id, 0, &m, 1), 1);
		arrive(LEN - 10, IBV_WC_SUCCESS);
		arrive(LEN - 10, IBV_WC_GENERAL_ERR);
		n = rte_eth_rx_burst(id, 0, got, IPOIB_BURST);
		w.received += n;
		for (i = 0; i < n; i++)
			w.octets += got[i]->pkt_len;
		rte_pktmbuf_free_bulk(got, n);
	}
	r->stop = true;
	pthread_join(*thread, NULL);
	return w;
}

/* All of it, in totals; and what is told since the last reset was never more. */
static void
judge(const struct moved *w, const struct tp_ipoib_totals *t, const struct resets *r)
{
	assert_int_equal(t->tx_packets, w->rounds);
	assert_int_equal(t->tx_bytes, w->rounds * LEN);
	assert_int_equal(t->rx_packets, w->received);
	assert_int_equal(t->rx_bytes, w->octets);
	assert_int_equal(t->rx_errors, w->rounds);
	assert_int_equal(t->tx_errors + t->rx_nombuf, 0);
	assert_in_range(r->most.opackets, 0, w->rounds);
	assert_in_range(r->most.ipackets, 0, w->received);
	assert_in_range(r->most.ierrors, 0, w->rounds);
}

static uint64_t
xstat(const char *name)
{
	struct rte_eth_dev *dev = &rte_eth_devices[ACTIVE];
	struct rte_eth_xstat_name names[256];
	struct rte_eth_xstat values[256];
	int i, n = ipoib_xstats_names(dev, names, RTE_DIM(names));

	assert_in_range(n, 1, RTE_DIM(names));
	assert_int_equal(ipoib_xstats_get(dev, values, RTE_DIM(values)), n);
	for (i = 0; i < n && strcmp(names[i].name, name) != 0; i++)
		;
	assert_true(i < n);
	return values[i].value;
}

static void
port_loses_nothing(void **state)
{
	struct resets r = {.reset = ipoib_stats_reset, .get = port_get, .dev = &rte_eth_devices[ACTIVE]};
	struct rte_eth_stats s = {0};
	struct tp_ipoib_totals t;
	struct rte_mbuf *m;
	pthread_t thread;
	struct moved w;

	(void)state;
	w = move(ACTIVE, &r, &thread);
	assert_int_equal(w.received, w.rounds);
	ipoib_port_totals(&port, true, &t);
	judge(&w, &t, &r);
	assert_int_equal(port.n.cm_tx, w.rounds);
	assert_int_equal(port.n.cm_rx, w.rounds);
	/* From a reset on all begin at zero: the port's, its queues', drops by name. */
	ipoib_stats_reset(r.dev);
	port_get(r.dev, &s);
	assert_int_equal(s.ipackets + s.ibytes + s.opackets + s.obytes + s.ierrors, 0);
	m = frame(LEN);
	assert_int_equal(rte_eth_tx_burst(ACTIVE, 0, &m, 1), 1);
	arrive(LEN - 10, IBV_WC_GENERAL_ERR);
	assert_int_equal(rte_eth_rx_burst(ACTIVE, 0, &m, 1), 0);
	assert_int_equal(xstat("tx_conn_packets"), 1);
	assert_int_equal(xstat("rx_conn_packets"), 0);
	assert_int_equal(xstat("drop_rx_error"), 1);
	port_get(r.dev, &s);
	assert_int_equal(s.opackets, 1);
#if RTE_VERSION < RTE_VERSION_NUM(25, 11, 0, 0)
	assert_int_equal(s.q_opackets[0], 1);
	assert_int_equal(s.q_obytes[0], LEN);
	assert_int_equal(s.q_ipackets[0], 0);
#endif
	ipoib_port_totals(&port, true, &t);
	assert_int_equal(t.tx_packets, w.rounds + 1);
}

/* The control thread counts under the device's lock, which a reset takes. */
static void
control_thread_is_counted(void **state)
{
	struct rte_eth_dev *dev = &rte_eth_devices[ACTIVE];
	struct tp_ipoib_totals t;

	(void)state;
	port.core.stats.joins = 3;
	port.core.stats.drop[IPOIB_DROP_TX_NO_PATH] = 2;
	port.n.slow_sent = 5;
	port.n.slow_bytes = 500;
	port.n.tx_error = 1;
	assert_int_equal(xstat("joins"), 3);
	assert_int_equal(xstat("tx_control_sent"), 5);
	ipoib_stats_reset(dev);
	assert_int_equal(xstat("joins") + xstat("tx_control_sent") + xstat("drop_tx_no_path") + xstat("drop_tx_error"),
			 0);
	port.core.stats.joins++;
	port.core.stats.drop[IPOIB_DROP_TX_NO_PATH]++;
	assert_int_equal(xstat("joins"), 1);
	assert_int_equal(xstat("drop_tx_no_path"), 1);
	ipoib_port_totals(&port, true, &t);
	assert_int_equal(t.tx_packets, 5);
	assert_int_equal(t.tx_bytes, 500);
	assert_int_equal(t.tx_errors, 4);
}

/* What a queue that is stopped is given goes nowhere, by a name of its own. */
static void
stopped_queue_sends_nothing(void **state)
{
	struct rte_mbuf *m = frame(LEN);
	struct tp_ipoib_totals t;

	(void)state;
	txq.stopped = true;
	assert_int_equal(rte_eth_tx_burst(ACTIVE, 0, &m, 1), 1);
	assert_int_equal(xstat("drop_tx_stopped"), 1);
	assert_int_equal(xstat("drop_tx_down"), 0);
	assert_int_equal(card.num_sent, 0);
	ipoib_port_totals(&port, true, &t);
	assert_int_equal(t.tx_packets, 0);
	assert_int_equal(t.tx_errors, 1);
}

/* Each reason has its own counter: what bursts and the control thread count of it is one number under its name. */
static void
reasons_have_names(void **state)
{
	static const struct {
		enum ipoib_drop drop;
		const char *name;
	} t[] = {
		{IPOIB_DROP_TX_SHORT, "drop_tx_short"},
		{IPOIB_DROP_TX_LONG, "drop_tx_long"},
		{IPOIB_DROP_TX_TOO_BIG, "drop_tx_too_big"},
		{IPOIB_DROP_TX_NO_CONN, "drop_tx_no_conn"},
		{IPOIB_DROP_TX_TYPE, "drop_tx_type"},
		{IPOIB_DROP_TX_ARP, "drop_tx_arp"},
		{IPOIB_DROP_TX_ND, "drop_tx_nd"},
		{IPOIB_DROP_TX_DHCP, "drop_tx_dhcp"},
		{IPOIB_DROP_TX_GROUP, "drop_tx_group"},
		{IPOIB_DROP_TX_NO_NEIGHBOUR, "drop_tx_no_neighbour"},
		{IPOIB_DROP_TX_NO_PATH, "drop_tx_no_path"},
		{IPOIB_DROP_TX_NO_MEMBER, "drop_tx_no_member"},
		{IPOIB_DROP_TX_WAIT_FULL, "drop_tx_wait_full"},
		{IPOIB_DROP_TX_DOWN, "drop_tx_down"},
		{IPOIB_DROP_TX_STOPPED, "drop_tx_stopped"},
		{IPOIB_DROP_TX_NO_MBUF, "drop_tx_no_mbuf"},
		{IPOIB_DROP_TX_TSO, "drop_tx_tso"},
		{IPOIB_DROP_TX_RING_FULL, "drop_tx_ring_full"},
		{IPOIB_DROP_TX_ERROR, "drop_tx_error"},
		{IPOIB_DROP_RX_SHORT, "drop_rx_short"},
		{IPOIB_DROP_RX_TYPE, "drop_rx_type"},
		{IPOIB_DROP_RX_ARP, "drop_rx_arp"},
		{IPOIB_DROP_RX_ND, "drop_rx_nd"},
		{IPOIB_DROP_RX_DHCP, "drop_rx_dhcp"},
		{IPOIB_DROP_RX_OWN, "drop_rx_own"},
		{IPOIB_DROP_RX_NO_NEIGHBOUR, "drop_rx_no_neighbour"},
		{IPOIB_DROP_RX_NO_MBUF, "drop_rx_no_mbuf"},
		{IPOIB_DROP_RX_RING_FULL, "drop_rx_ring_full"},
		{IPOIB_DROP_RX_CONN, "drop_rx_conn"},
		{IPOIB_DROP_RX_STOPPED, "drop_rx_stopped"},
		{IPOIB_DROP_RX_ERROR, "drop_rx_error"},
	};
	struct tp_ipoib_totals totals;
	uint64_t sent = 0;
	unsigned int i;

	(void)state;
	assert_int_equal(RTE_DIM(t), IPOIB_DROP_NUM);
	for (i = 0; i < RTE_DIM(t); i++) {
		port.core.stats.drop[t[i].drop] = UINT64_C(1) << i;
		rxq.n.drop[t[i].drop] = 1000;
		txq.n.drop[t[i].drop] = 20000;
	}
	for (i = 0; i < RTE_DIM(t); i++) {
		assert_int_equal(xstat(t[i].name), 21000 + (UINT64_C(1) << i));
		sent += strncmp(t[i].name, "drop_tx", 7) == 0 ? 21000 + (UINT64_C(1) << i) : 0;
	}
	ipoib_port_totals(&port, true, &totals);
	assert_int_equal(totals.tx_errors, sent);
	ipoib_stats_reset(&rte_eth_devices[ACTIVE]);
	for (i = 0; i < RTE_DIM(t); i++)
		assert_int_equal(xstat(t[i].name), 0);
}

#define RING 63u /* packets that a ring of 64 takes */
#define MORE 7u

/* What the control thread has to see and finds no room on its way there. */
static void
full_rings_are_counted(void **state)
{
	struct rte_mbuf *m, *got[IPOIB_BURST];
	unsigned int i;

	(void)state;
	for (i = 0; i < RING + MORE; i++) {
		m = frame(60);
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 12), "\x08\x06", 2);
		assert_int_equal(xstat("drop_tx_ring_full"), i < RING ? 0 : i - RING);
		assert_int_equal(rte_eth_tx_burst(ACTIVE, 0, &m, 1), 1);
	}
	assert_int_equal(xstat("drop_tx_ring_full"), MORE);
	assert_int_equal(rte_ring_count(txq.slow), RING);
	for (i = 0; i < RING + MORE; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)card.buffer[0][0].addr;

		arrive(60, IBV_WC_SUCCESS);
		memcpy(at, "\x08\x06", 2);
		assert_int_equal(rte_eth_rx_burst(ACTIVE, 0, got, IPOIB_BURST), 0);
	}
	assert_int_equal(xstat("drop_rx_ring_full"), MORE);
	assert_int_equal(rte_ring_count(rxq.slow), RING);
	assert_int_equal(xstat("drop_rx_no_mbuf"), 0);
}

/* A packet for the application that the control thread makes, while the pool is empty. */
static void
empty_pool_is_counted(void **state)
{
	struct rte_mbuf *m, *taken = NULL;

	(void)state;
	while ((m = rte_pktmbuf_alloc(rig.pool)) != NULL) {
		m->next = taken;
		taken = m;
	}
	ipoib_query(&port.core, false);
	ipoib_query(&port.core, true);
	while ((m = taken) != NULL) {
		taken = m->next;
		m->next = NULL;
		rte_pktmbuf_free(m);
	}
	assert_int_equal(xstat("drop_rx_no_mbuf"), 2);
	assert_int_equal(xstat("queries"), 0);
}

/* The pair counts what the application gets: of what the other port has, only what is for the host. */
static void
pair_loses_nothing(void **state)
{
	struct resets r = {.reset = ipoib_pair_stats_reset, .get = pair_get, .dev = &rte_eth_devices[PAIR]};
	struct rte_eth_stats s = {0};
	struct tp_ipoib_totals t;
	pthread_t thread;
	struct moved w;

	(void)state;
	rte_eth_fp_ops[PAIR].rx_pkt_burst = ipoib_pair_rx_burst;
	rte_eth_fp_ops[PAIR].tx_pkt_burst = ipoib_pair_tx_burst;
	w = move(PAIR, &r, &thread);
	assert_int_equal(w.received, w.rounds + w.rounds / 16);
	ipoib_pair_totals(&pair, true, &t);
	judge(&w, &t, &r);
	assert_int_equal(pair_rx.n.dropped, w.rounds / 16);
	ipoib_pair_stats_reset(r.dev);
	pair_get(r.dev, &s);
	assert_int_equal(s.ipackets + s.ibytes + s.opackets + s.obytes + s.ierrors, 0);
	assert_int_equal(ipoib_pair_dropped(&pair), 0);
	pair_rx.n.packets++;
	txq.n.packets += 2;
	pair_get(r.dev, &s);
	assert_int_equal(s.ipackets, 1);
	assert_int_equal(s.opackets, 2);
#if RTE_VERSION < RTE_VERSION_NUM(25, 11, 0, 0)
	assert_int_equal(s.q_ipackets[0], 1);
	assert_int_equal(s.q_opackets[0], 2);
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(port_loses_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(control_thread_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped_queue_sends_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(reasons_have_names, setup, teardown),
		cmocka_unit_test_setup_teardown(full_rings_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_pool_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(pair_loses_nothing, setup, teardown),
	};

	return cmocka_run_group_tests_name("counters of IPoIB", tests, NULL, NULL);
}
