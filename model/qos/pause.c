/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Pause frames, global (IEEE 802.3 annex 31B) and by priority (802.1Q clause 36): what a received one stops, how one is
 * made, counters [DP 12.1, 13.1]. A quantum is 512 bit times at the port's speed.
 */
#include "qos.h"

#define ALL_PRIOS 0xffu
#define OP_PAUSE 0x0001u
#define OP_PFC 0x0101u
#define AT_OPCODE 14u
#define AT_VALUE 16u  /* quanta, or the vector of priorities ... */
#define AT_TIMERS 18u /* ... and their quanta */
#define QUANTUM_BITS 512u

uint64_t
tpm_quanta_ns(const struct tpm_port *p, uint32_t quanta)
{
	uint64_t kbps = p->qos->rate_kbps != 0 ? p->qos->rate_kbps : TPM_SPEED_MBPS * 1000;

	return (uint64_t)quanta * QUANTUM_BITS * 1000000 / kbps;
}

/* --- counters --------------------------------------------------------------------------------------------- */

void
tpm_flow_start(struct tpm_flow *f, uint64_t at)
{
	if (f->on)
		return;
	f->on = true;
	f->since = at;
	f->transitions++;
}

void
tpm_flow_stop(struct tpm_flow *f, uint64_t at)
{
	if (!f->on)
		return;
	f->on = false;
	f->paused_ns += at - f->since;
}

uint64_t
tpm_flow_us(const struct tp_model *m, const struct tpm_flow *f)
{
	return (f->paused_ns + (f->on ? tpm_now(m) - f->since : 0)) / 1000;
}

/* --- received --------------------------------------------------------------------------------------------- */

/* The flows in which a pause of these priorities is counted: a global one in the first. */
static uint8_t
counted(const struct tpm_port *p, uint8_t prios)
{
	return p->rx_pause ? prios & 1 : prios;
}

static void
resume(struct tpm_port *p, uint8_t prios, uint64_t at)
{
	struct tpm_qos *q = p->qos;

	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		if ((prios >> i & 1) == 0)
			continue;
		q->until[i] = at;
		tpm_flow_stop(&q->rx[i], at);
	}
	q->paused &= (uint8_t)~prios;
}

static void
pause_prio(struct tp_model *m, struct tpm_port *p, unsigned int i, uint32_t quanta)
{
	struct tpm_qos *q = p->qos;
	uint8_t bit = (uint8_t)(1u << i);

	if (quanta == 0) {
		if ((q->paused & bit) != 0)
			resume(p, bit, tpm_now(m));
		return;
	}
	q->paused |= bit;
	q->until[i] = tpm_now(m) + tpm_quanta_ns(p, quanta);
	if ((counted(p, bit) & bit) != 0)
		tpm_flow_start(&q->rx[i], tpm_now(m));
}

void
tpm_pause_rx(struct tp_model *m, struct tpm_port *p, const uint8_t *h, uint32_t hlen)
{
	uint32_t op = hlen >= AT_TIMERS ? tpm_load16(h + AT_OPCODE) : 0;

	p->c.rx_control++;
	if (op == OP_PAUSE) {
		p->qos->rx[0].frames++;
		for (unsigned int i = 0; i < MLX4_PRIOS && p->rx_pause; i++)
			pause_prio(m, p, i, tpm_load16(h + AT_VALUE));
	} else if (op == OP_PFC && hlen >= AT_TIMERS + 2 * MLX4_PRIOS) {
		for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
			if ((h[AT_VALUE + 1] >> i & 1) == 0)
				continue;
			p->qos->rx[i].frames++;
			if ((p->rx_pfc >> i & 1) != 0)
				pause_prio(m, p, i, tpm_load16(h + AT_TIMERS + 2 * i));
		}
	}
	tpm_sched_update(m, p);
}

void
tpm_pause_expire(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_qos *q = p->qos;
	uint8_t before = q->paused;

	for (unsigned int i = 0; i < MLX4_PRIOS; i++)
		if ((q->paused >> i & 1) != 0 && q->until[i] <= tpm_now(m))
			resume(p, (uint8_t)(1u << i), q->until[i]);
	if (q->paused != before)
		tpm_sched_update(m, p);
}

void
tpm_pause_config(struct tp_model *m, struct tpm_port *p)
{
	uint8_t honoured = p->rx_pause ? ALL_PRIOS : p->rx_pfc;

	/* A global pause does not live on as eight others, nor the other way round. */
	for (unsigned int i = 0; i < MLX4_PRIOS; i++)
		if ((counted(p, ALL_PRIOS) >> i & 1) == 0 || (honoured >> i & 1) == 0)
			tpm_flow_stop(&p->qos->rx[i], tpm_now(m));
	resume(p, p->qos->paused & (uint8_t)~honoured, tpm_now(m));
	tpm_sched_update(m, p);
}

/* --- sent ------------------------------------------------------------------------------------------------- */

void
tpm_pause_send(struct tp_model *m, struct tpm_port *p, bool global, uint8_t vector, uint16_t quanta)
{
	static const uint8_t dst[TPM_ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
	uint8_t b[TPM_ETH_ZLEN] = {0};
	struct tp_frame_seg seg = {.data = b, .len = sizeof(b)};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = sizeof(b)};

	if (!p->link)
		return;
	memcpy(b, dst, sizeof(dst));
	for (unsigned int i = 0; i < TPM_ETH_ALEN; i++)
		b[6 + i] = (uint8_t)(p->mac >> (40 - 8 * i));
	tpm_store16(b + 12, TPM_ETYPE_MAC_CONTROL);
	tpm_store16(b + AT_OPCODE, global ? OP_PAUSE : OP_PFC);
	tpm_store16(b + AT_VALUE, global ? quanta : vector);
	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		if (!global && (vector >> i & 1) != 0)
			tpm_store16(b + AT_TIMERS + 2 * i, quanta);
		if (global ? i == 0 : vector >> i & 1)
			p->qos->tx[i].frames++;
	}
	p->wire->ops->send(p->wire, &f, 1);
}
