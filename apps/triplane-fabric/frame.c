/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames of RoCEv2 (IBTA annex A17): RDMA WRITEs of a flow, whose queue pairs have the flow's number at both ends, and CNPs. */
#include <string.h>

#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/opcode.h"
#include "lib/roce/wire/wire.h"
#include "sim.h"

#define ETH_LEN 14u
#define IP_LEN 20u
#define UDP_LEN 8u
#define AT_TYPE 12u
#define AT_IP ETH_LEN
#define AT_UDP (AT_IP + IP_LEN)
#define AT_BTH (AT_UDP + UDP_LEN)
#define AT_DATA (AT_BTH + IB_BTH_LEN)
#define CNP_DATA 16u
#define ROCE_PORT 4791u
#define ECN_MASK 3u
#define ECT0 2u
#define CE 3u
#define QPN_BASE 0x100u
#define PAUSE_OPCODE 16u
#define ETYPE_IPV4 0x0800u
#define AT_CNM (AT_TYPE + TQAU_TAG_LEN + 2u)

void
sim_frame_mac(uint32_t host, uint8_t mac[6])
{
	memcpy(mac, (const uint8_t[]){0x02, 0xfa, 0xb0, (uint8_t)(host >> 16), (uint8_t)(host >> 8), (uint8_t)host}, 6);
}

/* Addresses 10.h.h.h; the DSCP's class selector carries the priority, as switches that trust DSCP read it. */
static void
head(uint8_t *h, uint32_t from, uint32_t to, uint8_t prio, uint8_t ecn, uint32_t flow, uint32_t ib_len)
{
	uint8_t *ip = h + AT_IP;
	uint32_t sum = 0;

	sim_frame_mac(to, h);
	sim_frame_mac(from, h + 6);
	ib_put16(h + AT_TYPE, ETYPE_IPV4);
	memset(ip, 0, IP_LEN + UDP_LEN);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(prio << 5 | ecn);
	ib_put16(ip + 2, (uint16_t)(IP_LEN + UDP_LEN + ib_len));
	ip[6] = 0x40; /* DF */
	ip[8] = 64;
	ip[9] = 17;
	ib_put32(ip + 12, 0x0a000000u | (from + 1));
	ib_put32(ip + 16, 0x0a000000u | (to + 1));
	for (unsigned int i = 0; i < IP_LEN; i += 2)
		sum += ib_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	ib_put16(ip + 10, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	ib_put16(h + AT_UDP, (uint16_t)(0xc000 | (flow & 0x3fff)));
	ib_put16(h + AT_UDP + 2, ROCE_PORT);
	ib_put16(h + AT_UDP + 4, (uint16_t)(UDP_LEN + ib_len));
}

void
sim_frame_head(struct sim_flow *f, uint32_t index, bool ect)
{
	head(f->head, f->f->from, f->f->to, f->f->prio, ect ? ECT0 : 0, index,
	     IB_BTH_LEN + f->f->payload + IB_ICRC_LEN);
	ib_bth_put(f->head + AT_BTH, IB_OP_WRITE_MIDDLE, false, 0, 0xffff, QPN_BASE + index, false, 0);
	f->hlen = AT_DATA;
}

static void
seal(uint8_t *h, uint32_t data)
{
	uint32_t reg = troce_icrc_start(TROCE_ICRC_IPV4_UDP, h + AT_IP, h + AT_BTH);

	troce_icrc_put(troce_crc32(reg, h + AT_DATA, data), h + AT_DATA + data);
}

uint32_t
sim_frame_data(struct sim_flow *f, struct sim_pkt *pkt)
{
	uint32_t len = AT_DATA + f->f->payload + IB_ICRC_LEN;

	/* Payloads are zero bytes: what a frame of another length, or with a tag, left behind is wiped. */
	if (pkt->len != len || ib_get16(pkt->data + AT_TYPE) != ETYPE_IPV4)
		memset(pkt->data, 0, sizeof(pkt->data));
	memcpy(pkt->data, f->head, f->hlen);
	ib_put24(pkt->data + AT_BTH + 9, f->psn);
	f->psn = ib_psn_add(f->psn, 1);
	seal(pkt->data, f->f->payload);
	return pkt->len = len;
}

uint32_t
sim_frame_tag(struct sim_pkt *pkt, uint32_t flow)
{
	uint8_t *h = pkt->data + AT_TYPE;

	memmove(h + TQAU_TAG_LEN, h, pkt->len - AT_TYPE);
	ib_put16(h, TQAU_ETYPE_TAG);
	ib_put16(h + 2, (uint16_t)flow);
	return pkt->len += TQAU_TAG_LEN;
}

uint8_t
sim_cnp_prio(const struct sim *m, uint32_t flow)
{
	return m->s->cc.cnp_prio_mode ? m->flow[flow].f->prio : m->s->cc.cnp_802p_prio;
}

uint32_t
sim_frame_cnp(const struct sim *m, uint32_t flow, struct sim_pkt *pkt)
{
	const struct scene_flow *f = m->flow[flow].f;
	uint8_t *h = pkt->data;

	memset(h, 0, sizeof(pkt->data));
	head(h, f->to, f->from, sim_cnp_prio(m, flow), ECT0, flow, IB_BTH_LEN + CNP_DATA + IB_ICRC_LEN);
	ib_bth_put(h + AT_BTH, IB_OPCODE_CNP, false, 0, 0xffff, QPN_BASE + flow, false, 0);
	h[AT_BTH + 4] = IB_BTH_BECN;
	seal(h, CNP_DATA);
	return pkt->len = AT_DATA + CNP_DATA + IB_ICRC_LEN;
}

static bool
read_pause(const uint8_t *h, uint32_t len, struct sim_event *e)
{
	uint16_t opcode = ib_get16(h + 14), enable = ib_get16(h + PAUSE_OPCODE);

	if (len < 60 || (opcode != 0x0101 && opcode != 0x0001))
		return false;
	e->is_pause = true;
	for (unsigned int p = 0; p < SIM_PRIOS; p++) {
		uint32_t quanta = opcode == 0x0001 ? enable : ib_get16(h + 18 + 2 * p);

		/* One more: 0 says nothing of this priority. The longest time loses a quantum. */
		if (opcode == 0x0001 || (enable >> p & 1) != 0)
			e->u.pause[p] = (uint16_t)(quanta < UINT16_MAX ? quanta + 1 : quanta);
		else
			e->u.pause[p] = 0;
	}
	return true;
}

static bool
read_cnm(const uint8_t *h, uint32_t len, struct sim_event *e)
{
	struct tqau_cnm m;

	if (!tqau_cnm_get(h + AT_CNM, len - AT_CNM, &m))
		return false;
	e->is_cnm = true;
	e->u.cnm.flow = ib_get16(h + AT_TYPE + 2);
	e->u.cnm.fb = m.fb;
	return true;
}

bool
sim_frame_read(const uint8_t *h, uint32_t len, struct sim_event *e)
{
	uint32_t data, reg;
	uint8_t icrc[IB_ICRC_LEN];

	e->is_pause = e->is_cnm = false;
	if (ib_get16(h + AT_TYPE) == 0x8808)
		return read_pause(h, len, e);
	if (ib_get16(h + AT_TYPE) == TQAU_ETYPE_TAG && len > AT_CNM) {
		if (ib_get16(h + AT_TYPE + TQAU_TAG_LEN) == TQAU_ETYPE_CNM)
			return read_cnm(h, len, e);
		h += TQAU_TAG_LEN;
		len -= TQAU_TAG_LEN;
	}
	if (len < AT_DATA + IB_ICRC_LEN || ib_get16(h + AT_TYPE) != ETYPE_IPV4 || ib_get16(h + AT_UDP + 2) != ROCE_PORT)
		return false;
	data = len - AT_DATA - IB_ICRC_LEN;
	reg = troce_icrc_start(TROCE_ICRC_IPV4_UDP, h + AT_IP, h + AT_BTH);
	troce_icrc_put(troce_crc32(reg, h + AT_DATA, data), icrc);
	e->u.rx.flow = ib_bth_qpn(h + AT_BTH) - QPN_BASE;
	e->u.rx.bytes = (uint16_t)data;
	e->u.rx.ce = (h[AT_IP + 1] & ECN_MASK) == CE;
	e->u.rx.cnp = ib_bth_opcode(h + AT_BTH) == IB_OPCODE_CNP && (h[AT_BTH + 4] & IB_BTH_BECN) != 0;
	e->u.rx.good = memcmp(icrc, h + AT_DATA + data, sizeof(icrc)) == 0;
	e->u.rx.prio = h[AT_IP + 1] >> 5;
	return true;
}

/* --- a file of what came, nanoseconds, Ethernet ------------------------------------------------------------------ */

void
sim_pcap_open(FILE *f)
{
	const uint32_t head32[6] = {0xa1b23c4d, 2u | 4u << 16, 0, 0, 65535, 1};

	fwrite(head32, sizeof(head32), 1, f);
}

void
sim_pcap_write(FILE *f, uint64_t now, const uint8_t *h, uint32_t len)
{
	const uint32_t rec[4] = {(uint32_t)(now / 1000000000), (uint32_t)(now % 1000000000), len, len};

	fwrite(rec, sizeof(rec), 1, f);
	fwrite(h, len, 1, f);
}
