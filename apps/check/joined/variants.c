/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* By frames from one port to the other, and by what the other one does with its link. */
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#include <infiniband/verbs.h>

#include "joined.h"

#define ROUNDS 16u
#define CLEAR 12u /* of them, that must agree */
#define EACH 4u
#define LOW_PRIO PAIR_FLOW
#define HIGH_PRIO 6u
#define LOW_LEN 200u
#define HIGH_LEN 300u
#define VLAN 7u
#define WAIT_MS 5000u
#define EVENT_MS 2000u
#define NAP_US 50u

/* --- F-82 ------------------------------------------------------------------------------------------------------------ */

static int
held_as(struct variants *s, struct pair *x, uint8_t v, char err[TP_ERR_LEN])
{
	struct tp_qos_port q;
	int rc;

	/* The context of a queue pair is filled when its queue starts. */
	x->hca->quirks.v[MLX4_QUIRK_FORCE_PRIO] = v;
	port_stop(&x->p[0]);
	tp_qos_port_default(&q);
	q.rx_pfc = 1u << PAIR_FLOW;
	if (!port_start(&x->p[0], s->c, x->p[0].id, PAIR_QUEUES, NULL) || !pause_declare(&x->p[0], &q, err))
		return -1;
	memcpy(x->p[1].from, x->p[0].from, sizeof(x->p[1].from));
	rc = pair_frame(&x->p[0], &x->p[1], 0, 64) ? pause_holds(x, true) : -1;
	x->hca->quirks = s->q;
	return rc;
}

static void
force_prio(struct variants *s, struct pair *x)
{
	char err[TP_ERR_LEN] = "";
	int first, second = -1;

	ck_step(s->c, "pauses a priority of the first port");
	first = held_as(s, x, 0, err);
	if (first == 0)
		second = held_as(s, x, 1, err);
	if (first == 1)
		variant_found(s, MLX4_QUIRK_FORCE_PRIO, 0, "certain",
			      "a pause of priority %u holds a queue of that priority, and others pass", PAIR_FLOW);
	else if (second == 1)
		variant_found(s, MLX4_QUIRK_FORCE_PRIO, 1, "certain",
			      "a pause of priority %u holds a queue of that priority with the bit, and not without",
			      PAIR_FLOW);
	else
		variant_open(s, MLX4_QUIRK_FORCE_PRIO,
			     "a pause of priority %u holds its queue neither without the bit nor with it%s%s",
			     PAIR_FLOW, err[0] != '\0' ? ": " : "", err);
}

/* --- F-70 ------------------------------------------------------------------------------------------------------------ */

static bool
post(struct pair *x, uint16_t queue, uint32_t len)
{
	struct frame_spec f = port_spec(&x->p[0], &x->p[1].mac, FRAME_TEST);
	static struct frame one;
	unsigned int i;

	f.payload = len - 14;
	frame_make(&one, &f);
	for (i = 0; i < EACH; i++)
		if (!port_send(&x->p[0], queue, port_mbuf(&x->p[0], &one, NULL, 0)))
			return false;
	return true;
}

static bool
pause_both(struct pair *x, uint16_t quanta)
{
	static struct frame f;

	pause_make(&f, x->p[1].mac.addr_bytes, 1u << LOW_PRIO | 1u << HIGH_PRIO, quanta);
	return port_send(&x->p[1], 0, port_mbuf(&x->p[1], &f, NULL, 0));
}

/*
 * Frames of two strict classes wait, and go on at once. 1: the higher class went first, 2: the lower, 0: mixed, -1: lost. took:
 * from the first pause until the first frame, in cycles.
 */
static int
race(struct pair *x, bool low_first, uint64_t *took)
{
	const uint64_t begun = rte_get_timer_cycles();
	struct port_limit until = port_in(WAIT_MS);
	unsigned int low = 0, high = 0, low_before = 0, high_before = 0;
	struct rte_mbuf *m[16];
	uint16_t n, q, i;

	if (!pause_both(x, PAUSE_LONGEST) || !post(x, low_first ? PAIR_PRIO : 0, low_first ? LOW_LEN : HIGH_LEN) ||
	    !pause_both(x, PAUSE_LONGEST) || !post(x, low_first ? 0 : PAIR_PRIO, low_first ? HIGH_LEN : LOW_LEN) ||
	    !pause_both(x, 0))
		return -1;
	while (low + high < 2 * EACH && port_waits(&until)) {
		for (q = 0; q < PAIR_QUEUES; q++) {
			n = rte_eth_rx_burst(x->p[1].id, q, m, RTE_DIM(m));
			if (n != 0 && low + high == 0)
				*took = rte_get_timer_cycles() - begun;
			for (i = 0; i < n; i++) {
				const bool is_low = m[i]->pkt_len / 100 == LOW_LEN / 100;

				low_before += is_low && high == 0;
				high_before += !is_low && low == 0;
				low += is_low;
				high += !is_low;
				rte_pktmbuf_free(m[i]);
			}
		}
		rte_delay_us_sleep(NAP_US);
	}
	if (low + high < 2 * EACH)
		return -1;
	return high_before == EACH ? 1 : low_before == EACH ? 2 : 0;
}

static void
group_order(struct variants *s, struct pair *x)
{
	const uint64_t lasts = pause_lasts(&x->p[0]);
	struct port_limit until = port_in(PAUSE_TRY_MS);
	unsigned int won[3] = {0, 0, 0}, i = 0;
	struct tp_qos_port q;
	char err[TP_ERR_LEN] = "";
	uint64_t took = 0;
	int rc;

	ck_step(s->c, "lets frames of two strict classes go at once");
	if (!x->hca->caps.ets) {
		variant_open(s, MLX4_QUIRK_GROUP_ORDER, "the firmware has no scheduler");
		return;
	}
	tp_qos_port_default(&q);
	q.rx_pfc = 1u << LOW_PRIO | 1u << HIGH_PRIO;
	q.prio_tc[LOW_PRIO] = LOW_PRIO;
	q.prio_tc[HIGH_PRIO] = HIGH_PRIO;
	/* A limit of another class: else the scheduler stays as it was after the reset. */
	q.tc[5].rate_mbps = 100;
	if (!pause_declare(&x->p[0], &q, err) || rte_pmd_mlx4_txq_prio_set(x->p[0].id, 0, HIGH_PRIO, err) != 0) {
		variant_open(s, MLX4_QUIRK_GROUP_ORDER, "classes are refused: %.200s", err);
		return;
	}
	/* As in pause_holds(): of a round in which a pause may have ended by itself nothing is known. */
	while (i < ROUNDS && port_waits(&until)) {
		rc = race(x, i % 2 != 0, &took);
		if (rc < 0) {
			variant_open(s, MLX4_QUIRK_GROUP_ORDER, "frames were lost");
			return;
		}
		if (took < lasts) {
			won[rc]++;
			i++;
		}
	}
	if (won[1] >= CLEAR || won[2] >= CLEAR)
		variant_found(s, MLX4_QUIRK_GROUP_ORDER, won[2] >= CLEAR, "certain",
			      "of two strict classes whose frames waited the higher went first %u times, the lower %u "
			      "times",
			      won[1], won[2]);
	else
		variant_open(s, MLX4_QUIRK_GROUP_ORDER,
			     "the higher class went first %u times, the lower %u times, %u times mixed", won[1], won[2],
			     won[0]);
	(void)rte_pmd_mlx4_txq_prio_set(x->p[0].id, 0, 0, err);
	tp_qos_port_default(&q);
	(void)rte_pmd_mlx4_qos_set(x->p[0].id, &q, err);
}

/* --- F-16 ------------------------------------------------------------------------------------------------------------ */

static uint32_t
events(const struct pair *x)
{
	return __atomic_load_n(&mlx4_eth_of(&rte_eth_devices[x->p[0].id])->link_events, __ATOMIC_SEQ_CST);
}

/* Whether the first port is told when the second one goes; -1: its link does not go. */
static int
told(struct pair *x)
{
	const uint32_t before = events(x);
	struct rte_eth_link l = {.link_status = RTE_ETH_LINK_UP};
	struct port_limit until = port_in(WAIT_MS);
	int rc = -1;

	if (rte_eth_dev_set_link_down(x->p[1].id) != 0)
		return -1;
	do {
		if (rte_eth_link_get_nowait(x->p[0].id, &l) == 0 && l.link_status == RTE_ETH_LINK_DOWN)
			break;
		rte_delay_us_sleep(NAP_US);
	} while (port_waits(&until));
	if (l.link_status == RTE_ETH_LINK_DOWN) {
		for (until = port_in(EVENT_MS); events(x) == before && port_waits(&until);) {
			mlx4_events_check(x->hca);
			rte_delay_us_sleep(NAP_US);
		}
		rc = events(x) != before;
	}
	(void)rte_eth_dev_set_link_up(x->p[1].id);
	for (until = port_in(WAIT_MS); port_waits(&until);) {
		if (rte_eth_link_get_nowait(x->p[0].id, &l) == 0 && l.link_status == RTE_ETH_LINK_UP)
			break;
		rte_delay_us_sleep(NAP_US);
	}
	return rc;
}

static void
event_port(struct variants *s, struct pair *x)
{
	int first, second = -1;

	ck_step(s->c, "takes the link of the second port down");
	first = told(x);
	if (first == 0) {
		x->hca->quirks.v[MLX4_QUIRK_EVENT_PORT] = 1;
		second = told(x);
		x->hca->quirks = s->q;
	}
	if (first == 1)
		variant_found(s, MLX4_QUIRK_EVENT_PORT, 0, "likely",
			      "the first port was told that its link went; a field of two bits would say the same");
	else if (second == 1)
		variant_found(s, MLX4_QUIRK_EVENT_PORT, 1, "certain",
			      "the first port is told that its link goes when two bits are read, and not with four");
	else
		variant_open(s, MLX4_QUIRK_EVENT_PORT, "%s",
			     first < 0 ? "the link of the first port stays when the second one goes"
				       : "no event told of a link that went");
}

/* --- F-13 ------------------------------------------------------------------------------------------------------------ */

/* Frames with a tag that the second port received. */
static uint64_t
tagged(const struct pair *x)
{
	uint64_t id, v = 0;

	return rte_eth_xstats_get_id_by_name(x->p[1].id, "rx_port_vlan_packets", &id) == 0 &&
			       rte_eth_xstats_get_by_id(x->p[1].id, &id, &v, 1) == 1
		       ? v
		       : 0;
}

#define MESSAGES 4u

/* How many of some messages over a connection in a VLAN had a tag; -1: no connection. */
static int
tags(struct variants *s, struct pair *x, uint8_t v)
{
	struct roce_end e[2];
	uint64_t before;
	unsigned int i, good = 0;
	int rc = -1;

	x->hca->quirks.v[MLX4_QUIRK_VLAN_PLACE] = v;
	if (roce_open(&e[0], &x->p[0], &(struct roce_conf){.host = 1, .vlan = VLAN}, "roce")) {
		if (roce_open(&e[1], &x->p[1], &(struct roce_conf){.host = 2, .vlan = VLAN}, "roce")) {
			/* Behind the first message there are no questions for addresses. */
			if (roce_both(&e[0], &e[1], IBV_QPT_RC) && roce_message(&e[0], &e[1], 64)) {
				before = tagged(x);
				for (i = 0; i < MESSAGES; i++)
					good += roce_message(&e[0], &e[1], 64);
				rc = good == MESSAGES ? (int)(tagged(x) - before) : -1;
			}
			roce_close(&e[1]);
		}
		roce_close(&e[0]);
	}
	x->hca->quirks = s->q;
	return rc;
}

static void
vlan_place(struct variants *s, struct pair *x)
{
	int first, second = 0;

	ck_step(s->c, "joins queue pairs in a VLAN");
	first = tags(s, x, 0);
	if (first < (int)MESSAGES)
		second = tags(s, x, 1);
	if (first >= (int)MESSAGES)
		variant_found(s, MLX4_QUIRK_VLAN_PLACE, 0, "certain",
			      "of %u messages in VLAN %u the other port counted %d with a tag", MESSAGES, VLAN, first);
	else if (second >= (int)MESSAGES)
		variant_found(s, MLX4_QUIRK_VLAN_PLACE, 1, "certain",
			      "of %u messages in VLAN %u the other port counted %d with a tag, with octet 0x21 %d",
			      MESSAGES, VLAN, second, RTE_MAX(first, 0));
	else
		variant_open(
			s, MLX4_QUIRK_VLAN_PLACE,
			"of %u messages in VLAN %u the other port counted %d and %d with a tag (-1: no connection)",
			MESSAGES, VLAN, first, second);
}

void
joined_variants(struct variants *s)
{
	static const enum mlx4_quirk_id mine[] = {MLX4_QUIRK_FORCE_PRIO, MLX4_QUIRK_GROUP_ORDER, MLX4_QUIRK_EVENT_PORT,
						  MLX4_QUIRK_VLAN_PLACE};
	struct pair x;
	char why[CK_TEXT];
	unsigned int i;

	if (!pair_open(&x, s->c, &s->q, why)) {
		for (i = 0; i < RTE_DIM(mine); i++)
			variant_open(s, mine[i], "wants two Ethernet ports with a cable between: %.300s", why);
		return;
	}
	force_prio(s, &x);
	x.hca->quirks = s->q;
	group_order(s, &x);
	event_port(s, &x);
	x.hca->quirks = s->q;
	vlan_place(s, &x);
	pair_close(&x, false);
}
