/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ingress: what a frame's headers say, and the ports that it goes to (IEEE 802.1Q, 8.6). */
#include "switch.h"

#define ETYPE_MAC_CONTROL 0x8808u
#define GROUP UINT64_C(0x010000000000)
#define LINK_LOCAL UINT64_C(0x0180c2000000) /* :00 to :0f, 802.1Q table 8-1 */
#define PAUSE_ADDRESS (LINK_LOCAL | 1)
#define VID_MASK 0xfffu

/* h: at least an Ethernet header, hlen bytes of it. */
static void
classify(const struct tp_switch_port *p, const uint8_t *h, uint32_t hlen, struct sw_key *k)
{
	uint32_t off = 2 * TPM_ETH_ALEN;
	int dscp = -1;

	k->dst = sw_load48(h);
	k->src = sw_load48(h + TPM_ETH_ALEN);
	k->vid = 0;
	k->l3 = k->cn = 0;
	k->msdu = (uint8_t)off;
	k->prio = p->cfg.untagged_prio;
	k->etype = tpm_load16(h + off);
	for (unsigned int tags = 0; tags < 2 && (k->etype == TPM_ETYPE_CVLAN || k->etype == TPM_ETYPE_SVLAN); tags++) {
		if (off + TPM_VLAN_HLEN + 2 > hlen)
			return;
		if (tags == 0) {
			k->vid = tpm_load16(h + off + 2) & VID_MASK;
			k->prio = h[off + 2] >> 5;
		}
		off += TPM_VLAN_HLEN;
		k->etype = tpm_load16(h + off);
	}
	if (tpm_unlikely(k->etype == TQAU_ETYPE_TAG) && off + TQAU_TAG_LEN + 2 <= hlen) {
		k->cn = (uint8_t)off;
		off += TQAU_TAG_LEN;
		k->etype = tpm_load16(h + off);
	}
	k->msdu = (uint8_t)off;
	off += 2;
	if (k->etype == TPM_ETYPE_IPV4 && off + 20 <= hlen && h[off] >> 4 == 4) {
		k->l3 = (uint8_t)off;
		dscp = h[off + 1] >> 2;
	} else if (k->etype == TPM_ETYPE_IPV6 && off + 40 <= hlen && h[off] >> 4 == 6) {
		k->l3 = (uint8_t)off;
		dscp = tpm_load16(h + off) >> 6 & 0x3f;
	}
	if (dscp >= 0 && p->cfg.trust == TP_SWITCH_TRUST_DSCP)
		k->prio = (uint8_t)(dscp >> 3);
}

static void
drop(struct tp_switch_port *p, unsigned int prio, enum tp_switch_drop why)
{
	p->st.prio[prio].drop[why]++;
}

/* Frames that no port but this one is meant to see; true when the frame was one. */
static bool
for_the_switch(struct tp_switch_port *p, const uint8_t *h, uint32_t hlen, const struct sw_key *k)
{
	if (k->etype == ETYPE_MAC_CONTROL) {
		if (k->dst == PAUSE_ADDRESS)
			sw_pause_receive(p, h, hlen);
		else
			drop(p, k->prio, TP_SWITCH_DROP_LINK_LOCAL);
		return true;
	}
	if ((k->dst & ~UINT64_C(0xf)) != LINK_LOCAL || (p->sw->cfg.flood_link_local && k->dst != PAUSE_ADDRESS))
		return false;
	drop(p, k->prio, TP_SWITCH_DROP_LINK_LOCAL);
	return true;
}

/* Ports that the frame goes to; 0 after a drop. */
static uint64_t
forward(struct tp_switch_port *p, const struct sw_key *k)
{
	struct tp_switch *sw = p->sw;
	uint64_t self = UINT64_C(1) << p->index, ports = sw_mac_find(sw, sw_mac_key(k->vid, k->dst));

	if (ports == 0) {
		ports = sw->up & ~self;
		if (ports != 0)
			sw->st.flooded++;
		else
			drop(p, k->prio, TP_SWITCH_DROP_FILTERED);
		return ports;
	}
	ports &= ~self;
	if (ports == 0)
		drop(p, k->prio, TP_SWITCH_DROP_FILTERED);
	else if ((ports & sw->up) == 0)
		drop(p, k->prio, TP_SWITCH_DROP_LINK_DOWN);
	return ports & sw->up;
}

static void
ingress(struct tp_switch_port *p, const struct tp_frame *f)
{
	uint8_t buf[TPM_PARSE_MAX];
	struct tp_switch_prio_stats *st;
	struct sw_key k;
	uint64_t ports;
	const uint8_t *h;
	uint32_t hlen;

	if (tpm_unlikely((f->flags & TP_FRAME_BAD_FCS) != 0 || f->len < TPM_ETH_HLEN || !p->link)) {
		drop(p, p->cfg.untagged_prio,
		     !p->link                             ? TP_SWITCH_DROP_LINK_DOWN
		     : (f->flags & TP_FRAME_BAD_FCS) != 0 ? TP_SWITCH_DROP_BAD_FCS
							  : TP_SWITCH_DROP_RUNT);
		return;
	}
	h = tpm_frame_head(f, buf, &hlen);
	classify(p, h, hlen, &k);
	if (tpm_unlikely(for_the_switch(p, h, hlen, &k)))
		return;
	st = &p->st.prio[k.prio];
	st->rx_frames++;
	st->rx_bytes += f->len;
	if (tpm_unlikely(f->len > p->cfg.max_frame || (k.src & GROUP) != 0)) {
		drop(p, k.prio, f->len > p->cfg.max_frame ? TP_SWITCH_DROP_TOO_LONG : TP_SWITCH_DROP_SOURCE);
		return;
	}
	sw_mac_learn(p->sw, sw_mac_key(k.vid, k.src), p->index);
	for (ports = forward(p, &k); ports != 0; ports &= ports - 1)
		sw_enqueue(p, p->sw->port[__builtin_ctzll(ports)], f, &k);
}

void
tp_switch_port_send(struct tp_switch_port *p, uint64_t now_ns, const struct tp_frame *f, unsigned int n)
{
	pthread_mutex_lock(&p->sw->lock);
	sw_time(p->sw, now_ns);
	for (unsigned int i = 0; i < n; i++)
		ingress(p, &f[i]);
	pthread_mutex_unlock(&p->sw->lock);
}
