/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets through the InfiniBand switch: where they go, where they wait, who may send more [IBTA 18.2]. */
#include <stdlib.h>

#include "lib/roce/wire/wire.h"
#include "model/frame/ib_wire.h"
#include "ibsw.h"

#define HOQ_FOREVER 20u /* from this code on a packet may wait without end */
#define HOQ_UNIT_NS 4096u
#define HEADERS_MAX 124u /* what may stand round a payload of the MTU */

static void
append(struct ibsw_list *l, struct ibsw_packet *k)
{
	k->next = NULL;
	if (l->tail != NULL)
		l->tail->next = k;
	else
		l->head = k;
	l->tail = k;
}

/* The first packet of a queue; who it is charged to may send again. */
static struct ibsw_packet *
detach(struct ibsw_port *p, unsigned int vl)
{
	struct ibsw_packet *k = p->q[vl].head;

	if (k == NULL)
		return NULL;
	p->q[vl].head = k->next;
	if (k->next == NULL)
		p->q[vl].tail = NULL;
	p->sw->port[k->in].in_bytes[k->vl] -= k->len;
	return k;
}

void
ibsw_flush(struct ibsw_port *p)
{
	struct ibsw_packet *k;

	for (unsigned int vl = 0; vl < IBSW_VLS; vl++)
		while ((k = detach(p, vl)) != NULL) {
			p->ib.pm.c.xmit_discards++;
			free(k);
		}
}

/* What waited too long at the head of a queue goes, so that a peer that is stuck does not hold up all others. */
static void
expire(struct ibsw_port *p, uint64_t now)
{
	uint32_t code = prm_get(p->ib.info, IB_PI_HOQ_LIFE);

	for (unsigned int vl = 0; code < HOQ_FOREVER && vl < IBSW_VLS; vl++)
		while (p->q[vl].head != NULL && now > p->q[vl].head->since_ns &&
		       now - p->q[vl].head->since_ns > (uint64_t)HOQ_UNIT_NS << code) {
			free(detach(p, vl));
			p->ib.pm.c.xmit_discards++;
		}
}

bool
ibsw_room(struct ibsw_port *p, uint64_t now, uint8_t vl, uint32_t len)
{
	if (vl == IB_VL_MGMT || p->in_bytes[vl] + len <= p->sw->credit)
		return true;
	for (unsigned int i = 1; i <= p->sw->num_ports; i++)
		expire(&p->sw->port[i], now);
	if (p->in_bytes[vl] + len <= p->sw->credit)
		return true;
	p->ib.pm.c.xmit_wait++;
	return false;
}

/* --- out -------------------------------------------------------------------------------------------------- */

static void
enqueue(struct ibsw_port *in, struct ibsw_port *out, uint64_t now, const uint8_t *packet, uint32_t len, uint8_t vl)
{
	uint8_t in_vl = (uint8_t)prm_get(packet, IB_LRH_VL);
	struct ibsw_packet *k;

	if (in_vl == IB_VL_MGMT && in->in_bytes[in_vl] + len > in->sw->credit) {
		in->ib.pm.c.vl15_dropped++;
		return;
	}
	k = malloc(sizeof(*k) + len + IB_VCRC_SIZE);
	if (k == NULL) {
		out->ib.pm.c.xmit_discards++;
		return;
	}
	memcpy(k->data, packet, len);
	prm_set(k->data, IB_LRH_VL, vl);
	k->len = tpm_ib_seal(k->data, len, true);
	k->since_ns = now;
	k->in = in->num;
	k->vl = in_vl;
	in->in_bytes[in_vl] += k->len;
	append(&out->q[vl], k);
}

void
ibsw_emit(struct ibsw_port *in, struct ibsw_port *out, uint64_t now, const uint8_t *packet, uint32_t len)
{
	if (!out->link || out->ib.state < IB_PORT_INIT)
		out->ib.pm.c.xmit_discards++;
	else
		enqueue(in, out, now, packet, len, (uint8_t)prm_get(packet, IB_LRH_VL));
}

/*
 * A packet that leaves has a key that the end port takes (IBTA 1.4, 10.9.3). One that enters has a key that the end port may
 * send with: a limited member's is limited, and so is what OpenSM writes into its port of the switch.
 */
static bool
pkey_fits(const struct tpm_ib *ib, const uint8_t *packet, bool enters)
{
	uint16_t key = ib_bth_pkey(packet + tpm_ib_bth(packet));

	for (uint32_t i = 0; i < IBSW_PKEYS; i++)
		if (enters ? (key & IB_PKEY_MASK) != 0 && (key == ib->pkey[i] || (key | IB_PKEY_FULL) == ib->pkey[i])
			   : ib_pkey_match(key, ib->pkey[i]))
			return true;
	return false;
}

static void
forward(struct ibsw_port *in, struct ibsw_port *out, uint64_t now, const uint8_t *packet, uint32_t len)
{
	uint8_t sl = (uint8_t)prm_get(packet, IB_LRH_SL),
		vl = out->sl2vl[in->num][sl / 2] >> (sl % 2 == 0 ? 4 : 0) & 0xf;

	if (!out->link || out->ib.state != IB_PORT_ACTIVE || vl == IB_VL_MGMT || len > out->ib.mtu + HEADERS_MAX) {
		out->ib.pm.c.xmit_discards++;
	} else if (prm_get(out->ib.info, IB_PI_ENFORCE_OUT) != 0 && !pkey_fits(&out->ib, packet, false)) {
		out->ib.pm.c.xmit_constraint++;
	} else {
		enqueue(in, out, now, packet, len, vl);
	}
}

unsigned int
ibsw_take(struct ibsw_port *p, uint64_t now, struct tp_frame *f, unsigned int n)
{
	unsigned int got = 0;

	while (p->given != NULL) {
		struct ibsw_packet *k = p->given;

		p->given = k->next;
		free(k);
	}
	expire(p, now);
	/* Management first, the other lanes in turn. */
	for (unsigned int empty = 0; got < n && empty < IBSW_VLS;) {
		unsigned int vl = p->q[IB_VL_MGMT].head != NULL ? IB_VL_MGMT : p->next_vl++ % IBSW_VLS;
		struct ibsw_packet *k = detach(p, vl);

		if (k == NULL) {
			empty++;
			continue;
		}
		empty = 0;
		k->next = p->given;
		p->given = k;
		k->seg = (struct tp_frame_seg){.data = k->data, .len = k->len};
		f[got++] = (struct tp_frame){.seg = &k->seg, .nseg = 1, .len = k->len};
		tpm_ib_count_tx(&p->ib.pm.c, k->len, tpm_ib_is_mcast((uint16_t)prm_get(k->data, IB_LRH_DLID)));
		ibsw_capture(p, now, k->data, k->len);
	}
	return got;
}

/* --- in --------------------------------------------------------------------------------------------------- */

static void
multicast(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint32_t len, uint16_t dlid)
{
	struct ibsw *sw = in->sw;
	uint64_t to = dlid - IB_LID_MCAST < IBSW_MLIDS ? sw->mft[dlid - IB_LID_MCAST] : 0;

	if (to == 0)
		in->ib.pm.c.relay_errors++;
	for (unsigned int i = 1; i <= sw->num_ports; i++)
		if ((to >> i & 1) != 0 && i != in->num)
			forward(in, &sw->port[i], now, packet, len);
}

static void
route(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint32_t len)
{
	uint16_t dlid = (uint16_t)prm_get(packet, IB_LRH_DLID);
	struct ibsw *sw = in->sw;
	uint8_t to;

	if (tpm_ib_is_mcast(dlid)) {
		multicast(in, now, packet, len, dlid);
		return;
	}
	to = dlid < IBSW_LIDS ? sw->lft[dlid] : IBSW_DROP;
	if (dlid == IB_LID_PERMISSIVE || to == 0 || (sw->port[0].ib.lid != 0 && dlid == sw->port[0].ib.lid))
		ibsw_mad(in, now, packet, len);
	else if (to > sw->num_ports || to == in->num)
		in->ib.pm.c.relay_errors++;
	else if (prm_get(packet, IB_LRH_VL) == IB_VL_MGMT)
		ibsw_emit(in, &sw->port[to], now, packet, len);
	else
		forward(in, &sw->port[to], now, packet, len);
}

void
ibsw_receive(struct ibsw_port *in, uint64_t now, const struct tp_frame *f)
{
	uint8_t buf[TPM_IB_PACKET];
	uint32_t len;
	const uint8_t *packet = tpm_ib_open(f, buf, &len);

	if (packet == NULL) {
		in->ib.pm.c.rcv_errors++;
		return;
	}
	ibsw_capture(in, now, packet, len + IB_VCRC_SIZE);
	if (prm_get(packet, IB_LRH_VL) != IB_VL_MGMT) {
		if (in->ib.state < IB_PORT_ARMED) {
			in->not_armed++;
			return;
		}
		if (in->ib.state == IB_PORT_ARMED) {
			in->ib.state = IB_PORT_ACTIVE;
			in->sw->changed = true;
		}
		if (prm_get(in->ib.info, IB_PI_ENFORCE_IN) != 0 && !pkey_fits(&in->ib, packet, true)) {
			in->ib.pm.c.rcv_constraint++;
			return;
		}
	}
	tpm_ib_count_rx(&in->ib.pm.c, f->len, tpm_ib_is_mcast((uint16_t)prm_get(packet, IB_LRH_DLID)));
	route(in, now, packet, len);
}

void
ibsw_link(struct ibsw_port *p, bool up)
{
	if (p->link == up)
		return;
	p->link = up;
	p->ib.retrain = false;
	p->ib.state = up ? IB_PORT_INIT : IB_PORT_DOWN;
	p->sw->changed = true;
	if (up)
		return;
	p->ib.pm.c.link_downed++;
	ibsw_flush(p);
}
