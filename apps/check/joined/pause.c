/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Pause frames from the second port to the first: what they stop, and what is counted. */
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>

#include "joined.h"

#define HELD 500u /* octets of the frame that is to be held; those that are to pass are shorter */
#define TRIES 64u
#define PASSING 3u /* frames that pass while another one is held */
#define FASTEST_MBPS 40000u
#define WAIT_MS 5000u
#define NAP_US 20u
#define OP_PAUSE 0x0001u
#define OP_PFC 0x0101u
#define CONTROL 0x8808u

void
pause_make(struct frame *f, const uint8_t src[6], uint8_t prios, uint16_t quanta)
{
	static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
	unsigned int i;

	memset(f, 0, sizeof(*f));
	f->len = 60;
	memcpy(f->b, group, 6);
	memcpy(f->b + 6, src, 6);
	frame_put16(f->b + 12, CONTROL);
	frame_put16(f->b + 14, prios != 0 ? OP_PFC : OP_PAUSE);
	if (prios == 0) {
		frame_put16(f->b + 16, quanta);
		return;
	}
	frame_put16(f->b + 16, prios);
	for (i = 0; i < TP_PRIOS; i++)
		if ((prios >> i & 1) != 0)
			frame_put16(f->b + 18 + 2 * i, quanta);
}

bool
pause_declare(struct port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	return rte_pmd_mlx4_qos_set(p->id, q, err) == 0 &&
	       rte_pmd_mlx4_txq_prio_set(p->id, PAIR_PRIO, PAIR_FLOW, err) == 0;
}

static bool
tell(struct pair *x, bool by_priority, uint16_t quanta)
{
	static struct frame f;

	pause_make(&f, x->p[1].mac.addr_bytes, by_priority ? 1u << PAIR_FLOW : 0, quanta);
	return port_send(&x->p[1], 0, port_mbuf(&x->p[1], &f, NULL, 0));
}

/* A frame of this length, which tells them apart. */
static bool
post(struct port *p, const struct port *to, uint16_t queue, uint32_t len)
{
	struct frame_spec s = port_spec(p, &to->mac, FRAME_TEST);
	static struct frame f;

	s.payload = len - 14;
	frame_make(&f, &s);
	return port_send(p, queue, port_mbuf(p, &f, NULL, 0));
}

/* What came meanwhile. */
struct seen {
	bool held;    /* the frame that should be held, at the second port */
	bool passing; /* the one that should pass */
};

static void
look(struct pair *x, unsigned int at, uint32_t len, struct seen *s)
{
	struct rte_mbuf *m[8];
	unsigned int r;
	uint16_t q, n, i;

	for (r = 0; r < 2; r++)
		for (q = 0; q < PAIR_QUEUES; q++) {
			n = rte_eth_rx_burst(x->p[r].id, q, m, RTE_DIM(m));
			for (i = 0; i < n; i++) {
				/* A frame with a priority may have a tag. */
				s->held = s->held || (r == 1 && m[i]->pkt_len >= HELD);
				s->passing = s->passing || (r == at && m[i]->pkt_len == len);
				rte_pktmbuf_free(m[i]);
			}
		}
}

/* Until one of them came. A pause is repeated meanwhile, as it lasts some milliseconds at most. */
static bool
pass(struct pair *x, bool by_priority, uint32_t len, struct seen *s)
{
	struct port_limit until = port_in(WAIT_MS);
	/* Of a port that is paused as a whole nothing passes: the other one sends. */
	const unsigned int from = by_priority ? 0 : 1;

	s->passing = false;
	if (!post(&x->p[from], &x->p[!from], 0, len))
		return false;
	do {
		if (!tell(x, by_priority, PAUSE_LONGEST))
			return false;
		look(x, !from, len, s);
		if (!s->passing)
			rte_delay_us_sleep(NAP_US);
	} while (!s->passing && port_waits(&until));
	return s->passing;
}

static bool
comes(struct pair *x, struct seen *s)
{
	struct port_limit until = port_in(WAIT_MS);

	while (!s->held && port_waits(&until)) {
		look(x, 1, 0, s);
		if (!s->held)
			rte_delay_us_sleep(NAP_US);
	}
	return s->held;
}

uint64_t
pause_lasts(const struct port *p)
{
	struct rte_eth_link link;
	uint32_t mbps = FASTEST_MBPS;

	if (rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_speed != 0 && link.link_speed < mbps)
		mbps = link.link_speed;
	return UINT64_C(512) * PAUSE_LONGEST * rte_get_timer_hz() / mbps / 1000000;
}

/*
 * A process that does not get its CPU, or a card in software that gets none, lets a pause end: one try that succeeds tells, and none
 * is counted in which a frame took longer to pass than a pause lasts.
 */
int
pause_holds(struct pair *x, bool by_priority)
{
	const uint64_t lasts = pause_lasts(&x->p[0]);
	struct port_limit until = port_in(PAUSE_TRY_MS);
	unsigned int tries = 0, i;
	bool held = false;

	while (tries < TRIES && !held && port_waits(&until)) {
		struct seen s = {false, false};
		uint64_t slowest = 0;

		if (!tell(x, by_priority, PAUSE_LONGEST) ||
		    !post(&x->p[0], &x->p[1], by_priority ? PAIR_PRIO : 0, HELD))
			return -1;
		for (i = 0; i < PASSING && !s.held; i++) {
			const uint64_t begun = rte_get_timer_cycles();

			if (!pass(x, by_priority, 100 + i, &s))
				return -1;
			slowest = RTE_MAX(slowest, rte_get_timer_cycles() - begun);
		}
		held = !s.held;
		if (!tell(x, by_priority, 0) || !comes(x, &s))
			return -1;
		tries += slowest < lasts;
	}
	return held;
}

/* Pause frames that the first port has counted, of priority n. */
static uint64_t
counted(const struct pair *x, unsigned int n)
{
	struct tp_qos_prio_stats st[TP_PRIOS];

	return rte_pmd_mlx4_qos_stats(x->p[0].id, st) == 0 ? st[n].rx_pause : 0;
}

static void
one(struct pair *x, const char *name, bool by_priority)
{
	const unsigned int n = by_priority ? PAIR_FLOW : 0;
	struct tp_qos_port q;
	char err[TP_ERR_LEN] = "";
	uint64_t before;
	int rc;

	ck_step(x->c, "has the second port pause the first (%s)", name);
	tp_qos_port_default(&q);
	if (by_priority)
		q.rx_pfc = 1u << PAIR_FLOW;
	else
		q.rx_pause = true;
	if (!pause_declare(&x->p[0], &q, err)) {
		ck_say(x->c, CK_FAIL, name, "it is refused: %s", err);
		return;
	}
	before = counted(x, n);
	rc = pause_holds(x, by_priority);
	ck_judge(x->c, rc == 1 && counted(x, n) > before, name,
		 "%s%s; pause frames counted: %" PRIu64 ", wanted 1 or more", rc < 0 ? "frames were lost" : "a frame",
		 rc < 0    ? ""
		 : rc == 0 ? " was not held in any of the tries (wanted: it is)"
			   : " was held while others passed, and came when the pause ended",
		 counted(x, n) - before);
}

void
pause_stage(struct pair *x)
{
	struct tp_qos_limits lim;
	struct tp_qos_port q;
	char err[TP_ERR_LEN];

	one(x, "pause", false);
	if (rte_pmd_mlx4_qos_limits(x->p[0].id, &lim) == 0 && lim.pfc)
		one(x, "pause-by-priority", true);
	else
		ck_say(x->c, CK_SKIP, "pause-by-priority", "the firmware does not offer it");
	tp_qos_port_default(&q);
	if (rte_pmd_mlx4_qos_set(x->p[0].id, &q, err) != 0)
		ck_say(x->c, CK_FAIL, "pause", "it cannot be switched off: %s", err);
}
