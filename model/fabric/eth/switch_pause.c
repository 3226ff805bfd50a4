/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Pause: 802.3 Annex 31B (all of the link) and 802.1Qbb (by priority). What the sender at the far end says stops queues
 * for so many quanta of 512 bit times; what the buffer needs is told to it, again before the time is over.
 */
#include "switch.h"

#define OPCODE 14u /* offset, behind the Ethernet header */
#define OPCODE_PAUSE 0x0001u
#define OPCODE_PFC 0x0101u
#define PARAM 16u
#define PAUSE_SIZE 18u
#define PFC_TIMER(prio) (18u + 2u * (prio))
#define PFC_SIZE PFC_TIMER(TP_SWITCH_PRIOS)
#define QUANTA_MAX 0xffffu

static const uint8_t pause_mac[TPM_ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

enum tp_switch_flow
sw_flow(const struct tp_switch_port *p)
{
	if (p->cfg.flow != TP_SWITCH_FLOW_AUTO)
		return (enum tp_switch_flow)p->cfg.flow;
	return p->sw->cfg.lossless != 0 ? TP_SWITCH_FLOW_PFC : TP_SWITCH_FLOW_PAUSE;
}

/* --- told to pause ---------------------------------------------------------------------------------------------- */

void
sw_pause_expire(struct tp_switch_port *p, uint64_t t_ps)
{
	for (unsigned int mask = p->paused; mask != 0; mask &= mask - 1) {
		unsigned int prio = (unsigned int)__builtin_ctz(mask);

		if (p->paused_until[prio] > t_ps)
			continue;
		p->rx_pause_ps[prio] += p->paused_until[prio] - p->paused_since[prio];
		p->paused &= (uint8_t) ~(1u << prio);
	}
}

/* A new time replaces the old one; none ends the pause. */
static void
pause_prio(struct tp_switch_port *p, unsigned int prio, uint32_t quanta)
{
	uint64_t now = p->sw->now_ps;

	p->st.prio[prio].rx_pause_frames++;
	if ((p->paused >> prio & 1) == 0) {
		if (quanta == 0)
			return;
		p->paused |= (uint8_t)(1u << prio);
		p->paused_since[prio] = now;
	}
	p->paused_until[prio] = now + quanta * p->quantum_ps;
	sw_changed(p);
	sw_pause_expire(p, now);
}

void
sw_pause_receive(struct tp_switch_port *p, const uint8_t *h, uint32_t len)
{
	unsigned int opcode = len >= PAUSE_SIZE ? tpm_load16(h + OPCODE) : 0, enabled;
	enum tp_switch_flow flow = sw_flow(p);

	p->st.rx_control++;
	sw_pause_expire(p, p->sw->now_ps);
	if (opcode == OPCODE_PAUSE && flow == TP_SWITCH_FLOW_PAUSE) {
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
			pause_prio(p, prio, tpm_load16(h + PARAM));
	} else if (opcode == OPCODE_PFC && len >= PFC_SIZE && flow == TP_SWITCH_FLOW_PFC) {
		enabled = tpm_load16(h + PARAM) & p->sw->cfg.lossless;
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
			if ((enabled >> prio & 1) != 0)
				pause_prio(p, prio, tpm_load16(h + PFC_TIMER(prio)));
	} else if ((opcode != OPCODE_PAUSE && opcode != OPCODE_PFC) || (opcode == OPCODE_PFC && len < PFC_SIZE)) {
		p->st.prio[0].drop[TP_SWITCH_DROP_LINK_LOCAL]++;
	}
}

void
sw_pause_link(struct tp_switch_port *p)
{
	for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
		if ((p->paused >> prio & 1) != 0)
			p->paused_until[prio] = p->sw->now_ps;
	sw_pause_expire(p, p->sw->now_ps);
	/* Who comes next was told nothing. */
	p->told = 0;
	p->pause_due = true;
	sw_changed(p);
}

/* --- telling ---------------------------------------------------------------------------------------------------- */

void
sw_xoff(struct tp_switch_port *p, unsigned int prio)
{
	p->in[prio].xoff = true;
	p->in[prio].xoff_ps = p->sw->now_ps;
	p->pause_due = true;
	sw_changed(p);
}

void
sw_xon(struct tp_switch_port *p, unsigned int prio)
{
	p->in[prio].xoff = false;
	p->tx_pause_ps[prio] += p->sw->now_ps - p->in[prio].xoff_ps;
	p->pause_due = true;
	sw_changed(p);
}

/* A locally administered address of the switch's own, from its name. */
void
sw_own_mac(const struct tp_switch_port *p, uint8_t mac[TPM_ETH_ALEN])
{
	uint32_t h = tpm_crc32(0, (const uint8_t *)p->sw->name, (uint32_t)strlen(p->sw->name));

	mac[0] = 0x02;
	for (unsigned int i = 1; i < 5; i++)
		mac[i] = (uint8_t)(h >> 8 * (i - 1));
	mac[5] = (uint8_t)(p->index + 1);
}

static void
build(struct tp_switch_port *p, bool pfc, uint8_t enable, uint8_t want)
{
	uint8_t *h = p->pause_frame;

	memset(h, 0, sizeof(p->pause_frame));
	memcpy(h, pause_mac, sizeof(pause_mac));
	sw_own_mac(p, h + TPM_ETH_ALEN);
	tpm_store16(h + 2 * TPM_ETH_ALEN, 0x8808);
	tpm_store16(h + OPCODE, pfc ? OPCODE_PFC : OPCODE_PAUSE);
	if (!pfc) {
		tpm_store16(h + PARAM, want != 0 ? QUANTA_MAX : 0);
		return;
	}
	tpm_store16(h + PARAM, enable);
	for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
		tpm_store16(h + PFC_TIMER(prio), (want >> prio & 1) != 0 ? QUANTA_MAX : 0);
}

bool
sw_pause_due(struct tp_switch_port *p, struct tp_frame *f)
{
	enum tp_switch_flow flow = sw_flow(p);
	uint64_t now = p->sw->now_ps;
	uint8_t want = 0, enable;
	bool again;

	if (!p->pause_due && (p->told == 0 || now < p->repeat_ps))
		return false;
	for (unsigned int prio = 0; flow != TP_SWITCH_FLOW_OFF && prio < TP_SWITCH_PRIOS; prio++)
		want |= (uint8_t)(p->in[prio].xoff << prio);
	again = want != 0 && now >= p->repeat_ps;
	p->pause_due = false;
	/* Stopped and let go before anybody could be told, or nobody to tell. */
	if ((want == p->told && !again) || flow == TP_SWITCH_FLOW_OFF) {
		p->told = want;
		return false;
	}
	enable = flow == TP_SWITCH_FLOW_PAUSE ? 0xff : want | p->told;
	build(p, flow == TP_SWITCH_FLOW_PFC, enable, want);
	for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
		p->st.prio[prio].tx_pause_frames += enable >> prio & 1;
	p->st.tx_control++;
	p->told = want;
	p->repeat_ps = now + QUANTA_MAX * p->quantum_ps / 2;
	p->pause_seg = (struct tp_frame_seg){p->pause_frame, SW_PAUSE_LEN};
	*f = (struct tp_frame){.seg = &p->pause_seg, .nseg = 1, .len = SW_PAUSE_LEN};
	return true;
}
