/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 7: two Ethernet ports of one card with a cable between. */
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#include "port.h"

#define BURST 32u
#define RATE_FRAMES 20000u
#define RATE_WAIT_MS 10000u
#define TRIPS 200u

static const uint16_t sizes[] = {60, 64, 128, 256, 512, 1024, 1514};

/* From one to the other; the receiver looks for the sender's source address. @return the octets are the same */
static bool
one_way(struct port *from, struct port *to, uint32_t len)
{
	struct frame_spec s = port_spec(from, &to->mac, FRAME_TEST);
	static struct frame f;

	s.payload = len - 14;
	frame_make(&f, &s);
	memcpy(to->from, from->from, 6);
	return port_send(from, 0, port_mbuf(from, &f, NULL, 0)) && port_wait(to, 1) == 1 && port_same(&to->got[0], &f);
}

static void
all_sizes(struct ck *c, struct port *from, struct port *to, const char *name)
{
	unsigned int i, good = 0;

	ck_step(c, "sends frames of %zu sizes (%s)", RTE_DIM(sizes), name);
	for (i = 0; i < RTE_DIM(sizes); i++)
		good += one_way(from, to, sizes[i]);
	ck_judge(c, good == RTE_DIM(sizes), name, "%u of %zu frames arrived unchanged", good, RTE_DIM(sizes));
}

/* As many as one lcore sends and receives, in turn. Nothing may be lost: the sender waits for the receiver. */
static void
rate(struct ck *c, struct port *from, struct port *to)
{
	struct frame_spec s = port_spec(from, &to->mac, FRAME_TEST);
	static struct frame f;
	struct rte_mbuf *m[BURST], *back[BURST];
	uint64_t since, until, sent = 0, came = 0;
	uint16_t n, k, i;
	double t;

	ck_step(c, "sends %u frames at once", RATE_FRAMES);
	s.payload = 1500;
	frame_make(&f, &s);
	since = rte_get_timer_cycles();
	until = since + rte_get_timer_hz() / 1000 * RATE_WAIT_MS;
	while (came < RATE_FRAMES && rte_get_timer_cycles() < until) {
		if (sent < RATE_FRAMES && sent - came < 8 * BURST) {
			for (n = 0;
			     n < BURST && sent + n < RATE_FRAMES && (m[n] = port_mbuf(from, &f, NULL, 0)) != NULL; n++)
				;
			k = rte_eth_tx_burst(from->id, 0, m, n);
			sent += k;
			for (i = k; i < n; i++)
				rte_pktmbuf_free(m[i]);
		}
		n = rte_eth_rx_burst(to->id, 0, back, BURST);
		for (i = 0; i < n; i++) {
			came += rte_pktmbuf_pkt_len(back[i]) == f.len;
			rte_pktmbuf_free(back[i]);
		}
	}
	t = (double)(rte_get_timer_cycles() - since) / (double)rte_get_timer_hz();
	ck_judge(c, came >= RATE_FRAMES, "rate", "%" PRIu64 " of %u frames of 1514 octets, %.1f Mb/s by one thread",
		 came, RATE_FRAMES, (double)came * 1514 * 8 / t / 1e6);
}

static void
round_trips(struct ck *c, struct port *a, struct port *b)
{
	uint64_t least = UINT64_MAX, sum = 0, since, took;
	unsigned int i;

	ck_step(c, "measures %u round trips", TRIPS);
	for (i = 0; i < TRIPS; i++) {
		since = rte_get_timer_cycles();
		if (!one_way(a, b, 64) || !one_way(b, a, 64)) {
			ck_say(c, CK_FAIL, "round-trips", "of round trip %u a frame was lost", i);
			return;
		}
		took = rte_get_timer_cycles() - since;
		least = RTE_MIN(least, took);
		sum += took;
	}
	ck_say(c, CK_PASS, "round-trips",
	       "%u of 64 octets: %.1f us on average, %.1f us at least, with naps of the waiter", TRIPS,
	       (double)sum / TRIPS * 1e6 / (double)rte_get_timer_hz(),
	       (double)least * 1e6 / (double)rte_get_timer_hz());
}

static void
joined(struct ck *c, int first, int second)
{
	struct port p[2] = {{.mark = 0}, {.mark = 0x100000}};
	uint8_t own[2][6];

	if (port_start(&p[0], c, (uint16_t)first, 1, NULL) && port_start(&p[1], c, (uint16_t)second, 1, NULL)) {
		struct rte_eth_link l[2];

		memset(l, 0, sizeof(l));
		/* A cable with two ends comes up at both. */
		if (rte_eth_link_get(p[0].id, &l[0]) != 0 || rte_eth_link_get(p[1].id, &l[1]) != 0 ||
		    l[0].link_status == RTE_ETH_LINK_DOWN || l[1].link_status == RTE_ETH_LINK_DOWN) {
			ck_say(c, CK_SKIP, "cable", "not both ports have a link");
		} else if (port_capture(&p[1], c, "cable.pcap"), !one_way(&p[0], &p[1], 64)) {
			ck_say(c, CK_SKIP, "cable", "what port 1 sends does not reach port 2");
		} else {
			memcpy(own[0], p[0].from, 6);
			own[1][0] = 0x02;
			memcpy(own[1], own[0], 6);
			own[1][5] = (uint8_t)(own[0][5] + 0x40);
			ck_say(c, CK_PASS, "cable", "port 1 reaches port 2");
			memcpy(p[0].from, own[0], 6);
			all_sizes(c, &p[0], &p[1], "first-to-second");
			memcpy(p[1].from, own[1], 6);
			all_sizes(c, &p[1], &p[0], "second-to-first");
			rate(c, &p[0], &p[1]);
			round_trips(c, &p[0], &p[1]);
		}
	}
	port_end(&p[0]);
	port_end(&p[1]);
}

void
ck_stage_cable(struct ck *c)
{
	struct mlx4_hca *hca;
	int a, b;

	if (!ck_open(c))
		return;
	hca = ck_ports(c, "");
	if (hca == NULL) {
		ck_close(c);
		return;
	}
	a = ck_port_id(hca, 1);
	b = hca->caps.num_ports > 1 ? ck_port_id(hca, 2) : -1;
	if (a >= 0 && b >= 0)
		joined(c, a, b);
	else
		ck_say(c, CK_SKIP, "cable", "the card has no two Ethernet ports");
	ck_finish(c, hca);
}
