/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "fabric_rig.h"

#define BUDGET 64u
#define STEPS_MAX 10000u
#define FLOW_AT 16u /* number of the flow, then of the frame; aligned, with a tag too */
#define NUMBER_AT 20u
#define LEARN_TICKS 20u
#define LEARN_NS UINT64_C(200000000)       /* of the machine's clock, until copies of what taught the switch are gone */
#define LEARN_MAX_NS UINT64_C(30000000000) /* nobody is that slow, but the cards' threads may have to wait for a CPU */

static void
name_of(unsigned int card, char name[32])
{
	snprintf(name, 32, "net_mlx4_model%u", card);
}

void
fabric_add(struct fabric *f, const char *args, uint16_t rxq, uint16_t txq)
{
	uint16_t port = (uint16_t)f->cards, i;
	static const struct rte_eth_conf plain;
	char name[32], text[256];

	name_of(f->cards++, name);
	snprintf(text, sizeof(text), "run=%s,ports=1,%s", f->real ? "thread" : "step", args);
	assert_int_equal(rig_plug(name, text), 0);
	if (!f->real)
		tp_model_set_time(rig_model(port), f->now);
	assert_int_equal(rte_eth_dev_configure(port, rxq, txq, &plain), 0);
	for (i = 0; i < rxq; i++)
		assert_int_equal(rte_eth_rx_queue_setup(port, i, FABRIC_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
	for (i = 0; i < txq; i++)
		assert_int_equal(rte_eth_tx_queue_setup(port, i, FABRIC_DESC, SOCKET_ID_ANY, NULL), 0);
}

static void
move(struct fabric *f)
{
	unsigned int i, n;

	if (f->real) {
		rte_delay_us_sleep((unsigned int)(f->step / 1000));
		f->now = mlx4_now_us() * 1000;
		return;
	}
	f->now += f->step;
	for (i = 0; i < f->cards; i++) {
		tp_model_set_time(rig_model((uint16_t)i), f->now);
		for (n = 0; n < STEPS_MAX && tp_model_step(rig_model((uint16_t)i), BUDGET) != 0; n++)
			continue;
		assert_true(n < STEPS_MAX);
	}
}

static void
teach(uint16_t port, const struct rte_ether_addr *mac)
{
	static const struct rte_ether_addr nobody = {{0x02, 0, 0, 0, 0, 0x99}};
	struct rte_mbuf *m = rig_frame(&nobody, RIG_FRAME);

	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->src_addr = *mac;
	assert_int_equal(rte_eth_tx_burst(port, 0, &m, 1), 1);
}

/* Does the switch know an address of each card? Its threads run by the machine's clock. */
static bool
learnt(const struct fabric *f)
{
	struct tp_switch *sw = tp_switch_find("sw");
	struct tp_switch_stats st;

	assert_non_null(sw);
	tp_switch_stats_get(sw, &st);
	tp_switch_put(sw);
	return st.macs >= f->cards;
}

static void
learn(struct fabric *f)
{
	uint64_t begin = f->now, end = begin + (f->real ? LEARN_NS : LEARN_TICKS * f->step);
	unsigned int i;
	uint16_t q;

	while (f->now < end || (f->real && !learnt(f) && f->now < begin + LEARN_MAX_NS))
		move(f);
	assert_true(!f->real || learnt(f));
	for (i = 0; i < f->cards; i++)
		for (q = 0; q < rte_eth_devices[i].data->nb_rx_queues; q++)
			rig_drain((uint16_t)i, q);
}

void
fabric_start(struct fabric *f)
{
	struct rte_ether_addr mac;
	unsigned int i;

	for (i = 0; i < f->cards; i++)
		assert_int_equal(rte_eth_dev_start((uint16_t)i), 0);
	for (i = 0; i < f->cards; i++) {
		mac = rig_mac((uint16_t)i);
		teach((uint16_t)i, &mac);
	}
	learn(f);
}

void
fabric_close(struct fabric *f)
{
	char name[32];
	unsigned int i;

	for (i = 0; i < f->flows; i++)
		rte_pktmbuf_free(f->flow[i].held);
	for (i = 0; i < f->cards; i++)
		rig_no_violations((uint16_t)i);
	while (f->cards != 0) {
		name_of(--f->cards, name);
		rig_unplug(name);
	}
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

/* --- settings --------------------------------------------------------------------------------------------- */

void
fabric_qos(uint16_t port, const char *words)
{
	char text[512], err[TP_ERR_LEN], *save = NULL, *word;
	struct tp_qos_port q;

	tp_qos_port_default(&q);
	snprintf(text, sizeof(text), "%s", words);
	for (word = strtok_r(text, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
		if (tp_qos_port_word(&q, word, err) != 0)
			fail_msg("%s: %s", word, err);
	if (rte_pmd_mlx4_qos_set(port, &q, err) != 0)
		fail_msg("port %u: %s: %s", port, words, err);
}

void
fabric_group(struct fabric *f, uint16_t port, const struct rte_ether_addr *mac, const char *words)
{
	char text[256], err[TP_ERR_LEN], *save = NULL, *word;
	struct tp_group g;

	tp_group_default(&g);
	snprintf(g.name, sizeof(g.name), "g%u", mac->addr_bytes[5]);
	memcpy(g.mac, mac->addr_bytes, sizeof(g.mac));
	snprintf(text, sizeof(text), "%s", words);
	for (word = strtok_r(text, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
		if (tp_group_word(&g, word, err) != 0)
			fail_msg("%s: %s", word, err);
	if (rte_pmd_mlx4_group_add(port, &g, err) < 0)
		fail_msg("port %u: %s: %s", port, words, err);
	teach(port, mac);
	learn(f);
}

void
fabric_prio(uint16_t port, uint16_t queue, uint8_t prio)
{
	char err[TP_ERR_LEN];

	if (rte_pmd_mlx4_txq_prio_set(port, queue, prio, err) != 0)
		fail_msg("%s", err);
}

void
fabric_switch(const char *name, unsigned int port, const char *word)
{
	char err[TP_SWITCH_TEXT];

	if (rte_pmd_mlx4_switch_set(name, port, word, err, sizeof(err)) != 0)
		fail_msg("%s: %s", word, err);
}

struct tp_switch_port_stats
fabric_switch_stats(const char *name, unsigned int port)
{
	struct tp_switch *sw = tp_switch_find(name);
	struct tp_switch_port_stats st;

	assert_non_null(sw);
	assert_int_equal(tp_switch_port_stats_get(sw, port, &st), 0);
	tp_switch_put(sw);
	return st;
}

/* --- frames ----------------------------------------------------------------------------------------------- */

unsigned int
fabric_flow(struct fabric *f, uint16_t from, uint16_t queue, uint16_t to, const struct rte_ether_addr *mac)
{
	assert_true(f->flows < FABRIC_FLOWS);
	f->flow[f->flows] = (struct fabric_flow){.from = from, .to = to, .queue = queue, .on = true};
	f->flow[f->flows].dst = mac != NULL ? *mac : rig_mac(to);
	return f->flows++;
}

static struct rte_mbuf *
frame(const struct fabric *f, unsigned int i)
{
	const struct fabric_flow *w = &f->flow[i];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool());
	struct rte_ether_hdr *h;

	assert_non_null(m);
	h = (struct rte_ether_hdr *)rte_pktmbuf_append(m, FABRIC_LEN);
	h->dst_addr = w->dst;
	h->src_addr = rig_mac(w->from);
	h->ether_type = RTE_BE16(0x88b5);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, FLOW_AT), &i, sizeof(i));
	memcpy(rte_pktmbuf_mtod_offset(m, void *, NUMBER_AT), &w->sent, sizeof(w->sent));
	return m;
}

/* Behind the headers nothing is aligned. */
static uint32_t
word(struct rte_mbuf *m, unsigned int off)
{
	uint32_t v;

	memcpy(&v, rte_pktmbuf_mtod_offset(m, void *, off), sizeof(v));
	return v;
}

static void
offer(struct fabric *f, unsigned int i)
{
	struct fabric_flow *w = &f->flow[i];
	unsigned int n;

	/* A class that discards takes any number. */
	for (n = 0; n < FABRIC_DESC && (w->on || w->held != NULL); n++) {
		if (w->held == NULL)
			w->held = frame(f, i);
		if (rte_eth_tx_burst(w->from, w->queue, &w->held, 1) == 0)
			return;
		w->held = NULL;
		w->sent++;
	}
}

void
fabric_tick(struct fabric *f)
{
	unsigned int i;

	for (i = 0; i < f->flows; i++)
		offer(f, i);
	move(f);
}

void
fabric_account(struct fabric *f, uint16_t port, struct rte_mbuf *m)
{
	uint32_t tag = *rte_pktmbuf_mtod_offset(m, uint16_t *, 12) == RTE_BE16(RTE_ETHER_TYPE_VLAN) ? 4 : 0;
	uint32_t i = word(m, FLOW_AT + tag), number = word(m, NUMBER_AT + tag);
	struct fabric_flow *w;

	assert_true(i < f->flows);
	w = &f->flow[i];
	assert_int_equal(w->to, port);
	assert_int_equal(m->pkt_len, FABRIC_LEN + tag);
	w->got++;
	w->got_bytes += FABRIC_LEN;
	w->out_of += number != w->next;
	w->next = number + 1;
	rte_pktmbuf_free(m);
}

unsigned int
fabric_take(struct fabric *f, uint16_t port, uint16_t queue, unsigned int max)
{
	struct rte_mbuf *m[32];
	unsigned int n, i, sum = 0;

	while (sum < max) {
		n = rte_eth_rx_burst(port, queue, m, (uint16_t)RTE_MIN(max - sum, RTE_DIM(m)));
		for (i = 0; i < n; i++)
			fabric_account(f, port, m[i]);
		sum += n;
		if (n == 0)
			break;
	}
	return sum;
}

/* --- watching --------------------------------------------------------------------------------------------- */

void
fabric_watch_by_hand(uint16_t port)
{
	mlx4_watch_stop(rte_eth_devices[port].data->dev_private);
}

void
fabric_look(const struct fabric *f, uint16_t port)
{
	struct mlx4_eth *eth = rte_eth_devices[port].data->dev_private;

	mlx4_qos_lock(eth);
	mlx4_stall_look(eth, f->now / 1000);
	mlx4_hol_look(eth, f->now / 1000);
	mlx4_qos_unlock(eth);
}

struct tp_model_qos
fabric_card(uint16_t port)
{
	struct tp_model_qos q;

	assert_int_equal(tp_model_get_qos(rig_model(port), 1, &q), 0);
	return q;
}
