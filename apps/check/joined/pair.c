/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "joined.h"

#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#define LINK_MS 8000u
#define BURST 32u
#define RATE_FRAMES 20000u
#define RATE_FRAMES_MODEL 4000u
#define RATE_WAIT_MS 10000u
#define QUIET_MS 3000u
#define WINDOW (8 * BURST) /* frames on their way; of a far end fewer than its ring has */
#define WINDOW_FAR (2 * BURST)
#define GAPS 24u /* FCS, preamble and gap of a frame (IEEE 802.3) */

static bool
linked(const struct pair *x)
{
	struct port_limit until = port_in(LINK_MS);
	struct rte_eth_link l[2];
	unsigned int i, up;

	do {
		for (i = up = 0; i < 2; i++) {
			memset(&l[i], 0, sizeof(l[i]));
			up += rte_eth_link_get_nowait(x->p[i].id, &l[i]) == 0 && l[i].link_status == RTE_ETH_LINK_UP;
		}
		if (up == 2)
			return true;
		/* A cable with two ends comes up at both. */
		if (x->c->o->dev.bus != CK_BUS_PCI)
			return false;
		rte_delay_us_sleep(20000);
	} while (port_waits(&until));
	return false;
}

bool
pair_frame(struct port *from, struct port *to, uint16_t queue, uint32_t len)
{
	struct frame_spec s = port_spec(from, &to->mac, FRAME_TEST);
	static struct frame f;

	s.payload = len - 14;
	frame_make(&f, &s);
	return port_send(from, queue, port_mbuf(from, &f, NULL, 0)) && port_comes(to, &f) != NULL;
}

/* As many as one lcore sends and receives, in turn. Nothing may be lost: the sender waits for the receiver. */
void
pair_rate(struct ck *c, struct port *from, struct port *to, const struct rte_ether_addr *dst, uint32_t len,
	  const char *name)
{
	struct frame_spec s = port_spec(from, dst, FRAME_TEST);
	static struct frame f;
	struct rte_mbuf *m[BURST], *back[BURST];
	const uint32_t all = c->o->dev.bus == CK_BUS_PCI ? RATE_FRAMES : RATE_FRAMES_MODEL;
	const bool far = from == to;
	struct rte_eth_link link = {.link_speed = 0};
	struct port_limit until, quiet;
	uint64_t since, last, sent = 0, came = 0;
	uint16_t n, k, i;
	double t;

	ck_step(c, "sends %u frames of %u octets at once", all, len);
	s.payload = len - 14;
	frame_make(&f, &s);
	since = last = rte_get_timer_cycles();
	until = port_in(RATE_WAIT_MS);
	quiet = port_in(QUIET_MS);
	while (came < all && port_waits(&until)) {
		if (sent < all && sent - came < (far ? WINDOW_FAR : WINDOW)) {
			for (n = 0; n < BURST && sent + n < all && (m[n] = port_mbuf(from, &f, NULL, 0)) != NULL; n++)
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
		if (n != 0) {
			last = rte_get_timer_cycles();
			quiet = port_in(QUIET_MS);
		} else if (!port_waits(&quiet)) {
			break;
		}
	}
	t = (double)(last - since) / (double)rte_get_timer_hz();
	if (rte_eth_link_get_nowait(from->id, &link) != 0)
		link.link_speed = 0;
	/* A far end may be slow, and what is between may lose frames. Of a card in software the link has no speed of its own. */
	ck_say(c,
	       came >= all       ? CK_PASS
	       : far && came > 0 ? CK_WARN
				 : CK_FAIL,
	       name,
	       "%" PRIu64 " of %u frames of %u octets, %.1f Mb/s and %.2f million a second by one thread, %.1f %% of a "
	       "link of %u Mb/s",
	       came, all, len, (double)came * len * 8 / t / 1e6, (double)came / t / 1e6,
	       link.link_speed != 0 ? (double)came * (len + GAPS) * 8 / t / 1e4 / link.link_speed : 0.0,
	       link.link_speed);
}

static bool
joined(struct pair *x, char why[CK_TEXT])
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const int id = ck_port_id(x->hca, i + 1);

		x->p[i].mark = 0x100000 * (i + 1);
		if (id < 0) {
			snprintf(why, CK_TEXT, "the card has no two Ethernet ports");
			return false;
		}
		if (!port_start(&x->p[i], x->c, (uint16_t)id, PAIR_QUEUES, NULL)) {
			snprintf(why, CK_TEXT, "port %u does not start", i + 1);
			return false;
		}
	}
	/* Each takes what the other one sends. */
	memcpy(x->p[1].from, x->p[0].from, sizeof(x->p[1].from));
	snprintf(why, CK_TEXT, "not both ports have a link");
	if (!linked(x))
		return false;
	snprintf(why, CK_TEXT, "what port 1 sends does not reach port 2");
	return pair_frame(&x->p[0], &x->p[1], 0, 64);
}

bool
pair_open(struct pair *x, struct ck *c, const struct mlx4_quirks *q, char why[CK_TEXT])
{
	memset(x, 0, sizeof(*x));
	x->c = c;
	snprintf(why, CK_TEXT, "the card does not come up with Ethernet ports");
	x->hca = ck_ports_as(c, "", q);
	if (x->hca == NULL)
		return false;
	if (joined(x, why))
		return true;
	pair_close(x, q == NULL);
	return false;
}

void
pair_close(struct pair *x, bool judged)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		port_end(&x->p[i]);
	if (judged)
		ck_finish(x->c, x->hca);
	else
		ck_ports_end(x->c);
	for (i = 0; i < 2; i++)
		rte_mempool_free(x->p[i].pool);
}
