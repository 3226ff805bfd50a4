/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* CMocka fixture: a switch with four ports that have a link, and frames made by hand. Time is virtual. */
#ifndef SWITCH_RIG_H
#define SWITCH_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tp_switch.h"

#define RIG_PORTS 4u
#define RIG_FRAME 9600u
#define UNTAGGED -1

struct swrig {
	struct tp_switch *sw;
	struct tp_switch_port *port[RIG_PORTS]; /* numbers 1..4 */
	uint64_t now;                           /* ns */
	struct tp_frame got[64];
	unsigned int n;
	uint8_t buf[RIG_FRAME];
};

static inline int
swrig_up(void **state)
{
	struct swrig *r = calloc(1, sizeof(*r));
	char err[TP_SWITCH_TEXT];

	*state = r;
	r->now = 1000000;
	if (tp_switch_get("rig", &r->sw) != 0)
		return -1;
	for (unsigned int i = 0; i < RIG_PORTS; i++) {
		if (tp_switch_port_add(r->sw, &r->port[i], err) != 0)
			return -1;
		tp_switch_port_link(r->port[i], true);
	}
	tp_switch_step(r->sw, r->now);
	return 0;
}

static inline int
swrig_down(void **state)
{
	struct swrig *r = *state;

	for (unsigned int i = 0; i < RIG_PORTS; i++)
		tp_switch_port_remove(r->port[i]);
	tp_switch_put(r->sw);
	free(r);
	return 0;
}

static inline void
swrig_word(struct swrig *r, unsigned int port, const char *word)
{
	char err[TP_SWITCH_TEXT] = "";

	if (tp_switch_word(r->sw, port, word, err) != 0)
		fail_msg("%s: %s", word, err);
}

/* Host n has the address 02:00:00:00:00:n. A tag when prio is one; len without FCS. */
static inline uint8_t *
swrig_frame(struct swrig *r, unsigned int dst, unsigned int src, int prio, uint16_t vid)
{
	uint8_t *h = r->buf;

	memset(h, 0, 64);
	h[0] = h[6] = 2;
	h[5] = (uint8_t)dst;
	h[11] = (uint8_t)src;
	if (prio != UNTAGGED) {
		h[12] = 0x81;
		h[14] = (uint8_t)((unsigned int)prio << 5 | vid >> 8);
		h[15] = (uint8_t)vid;
	}
	h[prio != UNTAGGED ? 16 : 12] = 0x88;
	h[prio != UNTAGGED ? 17 : 13] = 0xb5;
	return h;
}

/* Port index i sends what is in the buffer. */
static inline void
swrig_send_buf(struct swrig *r, unsigned int i, uint32_t len, uint16_t flags)
{
	struct tp_frame_seg seg = {r->buf, len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .flags = flags, .len = len};

	tp_switch_port_send(r->port[i], r->now, &f, 1);
}

/* Host src on port index i sends to host dst. */
static inline void
swrig_send(struct swrig *r, unsigned int i, unsigned int dst, unsigned int src, int prio, uint32_t len)
{
	swrig_frame(r, dst, src, prio, 0);
	swrig_send_buf(r, i, len, 0);
}

/* What port index i gives at this time, up to 64 frames. */
static inline unsigned int
swrig_recv(struct swrig *r, unsigned int i)
{
	r->n = tp_switch_port_recv(r->port[i], r->now, r->got, 64);
	return r->n;
}

/* Empties port index i; how many frames. */
static inline unsigned int
swrig_drain(struct swrig *r, unsigned int i)
{
	unsigned int n = 0;

	while (swrig_recv(r, i) != 0)
		n += r->n;
	return n;
}

/* The switch knows host i + 1 on port index i. */
static inline void
swrig_teach(struct swrig *r)
{
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		swrig_send(r, i, 99, i + 1, UNTAGGED, 60);
	r->now += 1000000;
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		swrig_drain(r, i);
}

static inline struct tp_switch_prio_stats
swrig_prio(struct swrig *r, unsigned int i, unsigned int prio)
{
	struct tp_switch_port_stats st;

	assert_int_equal(tp_switch_port_stats_get(r->sw, tp_switch_port_number(r->port[i]), &st), 0);
	return st.prio[prio];
}

/* A pause frame (IEEE 802.3 Annex 31B) or, with priorities, a PFC frame (802.1Qbb) enters by port index i. */
static inline void
swrig_pause(struct swrig *r, unsigned int i, unsigned int prios, uint16_t quanta)
{
	static const uint8_t head[14] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08};
	uint8_t *h = r->buf;

	memset(h, 0, 60);
	memcpy(h, head, sizeof(head));
	h[14] = prios != 0;
	h[15] = 1;
	if (prios == 0) {
		h[16] = (uint8_t)(quanta >> 8);
		h[17] = (uint8_t)quanta;
	}
	h[17] |= (uint8_t)prios;
	for (unsigned int p = 0; p < 8; p++)
		if ((prios >> p & 1) != 0) {
			h[18 + 2 * p] = (uint8_t)(quanta >> 8);
			h[19 + 2 * p] = (uint8_t)quanta;
		}
	swrig_send_buf(r, i, 60, 0);
}

#endif /* SWITCH_RIG_H */
