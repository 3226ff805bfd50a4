/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams that the InfiniBand switch handles itself: SMPs by directed route and by LID, performance management. */
#include "model/ib/ib.h"
#include "lib/roce/wire/wire.h"
#include "model/frame/ib_wire.h"
#include "ibsw.h"

#define HEAD (IB_BTH_LEN + IB_DETH_LEN)
#define GRH_HOP_LIMIT_AT 7u
#define GRH_SGID_AT 8u
#define GRH_DGID_AT 24u
#define GID_LEN 16u

/* The packet with the datagram changed, out of a port. */
static void
send_mad(struct ibsw_port *in, unsigned int to, uint64_t now, const uint8_t *packet, const uint8_t *mad)
{
	uint8_t out[TPM_IB_PACKET];
	uint32_t at = tpm_ib_bth(packet) + HEAD;

	if (to < 1 || to > in->sw->num_ports) {
		in->ib.pm.c.relay_errors++;
		return;
	}
	memcpy(out, packet, at);
	memcpy(out + at, mad, IB_MAD_SIZE);
	/* The CRC is of the packet as it leaves. */
	ibsw_emit(in, &in->sw->port[to], now, out, tpm_ib_seal(out, at + IB_MAD_SIZE, false) - IB_VCRC_SIZE);
}

/* An answer to a question with a GRH has one, too (IBTA 13.5.4). */
static void
turn_grh(uint8_t *grh)
{
	uint8_t from[GID_LEN];

	memcpy(from, grh + GRH_SGID_AT, GID_LEN);
	memcpy(grh + GRH_SGID_AT, grh + GRH_DGID_AT, GID_LEN);
	memcpy(grh + GRH_DGID_AT, from, GID_LEN);
	grh[GRH_HOP_LIMIT_AT] = UINT8_MAX;
}

/* Turns the headers round for an answer from the switch's LID. */
static void
turn(const struct ibsw *sw, uint8_t *packet)
{
	uint8_t *bth = packet + tpm_ib_bth(packet);
	uint32_t from = ib_get24(bth + IB_BTH_LEN + 5), to = ib_bth_qpn(bth), slid = prm_get(packet, IB_LRH_SLID);
	uint32_t own = sw->port[0].ib.lid;

	prm_set(packet, IB_LRH_DLID, slid);
	prm_set(packet, IB_LRH_SLID, own != 0 ? own : IB_LID_PERMISSIVE);
	if (prm_get(packet, IB_LRH_LNH) == IB_LNH_GRH)
		turn_grh(packet + IB_LRH_SIZE);
	ib_put24(bth + 5, from);
	ib_put24(bth + IB_BTH_LEN + 5, to);
}

static void
answer(struct ibsw_port *in, uint64_t now, const uint8_t *packet, const uint8_t *mad)
{
	uint8_t head[IB_LRH_SIZE + IB_GRH_LEN + HEAD];
	uint32_t slid = prm_get(packet, IB_LRH_SLID);
	unsigned int to = slid < IBSW_LIDS ? in->sw->lft[slid] : in->num;

	memcpy(head, packet, tpm_ib_bth(packet) + HEAD);
	if (prm_get(mad, IB_MAD_CLASS) != IB_CLASS_SUBN_DR)
		turn(in->sw, head);
	else
		to = in->num;
	/* Until there are tables the answer goes back where the question came from. */
	send_mad(in, to >= 1 && to <= in->sw->num_ports ? to : in->num, now, head, mad);
}

static bool
is_question(const uint8_t *mad)
{
	return prm_get(mad, IB_MAD_METHOD) == IB_METHOD_GET || prm_get(mad, IB_MAD_METHOD) == IB_METHOD_SET;
}

/* A directed route on its way out (IBTA 14.2.2.2). */
static void
directed_out(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint8_t *mad)
{
	uint32_t hop = prm_get(mad, IB_MAD_HOP_PTR), hops = prm_get(mad, IB_MAD_HOP_COUNT);

	if (hop > hops || hops > IB_SMP_HOPS_MAX)
		return;
	if (hops != 0)
		mad[IB_SMP_RETURN_PATH + hop] = in->num;
	if (hop < hops) {
		prm_set(mad, IB_MAD_HOP_PTR, hop + 1);
		send_mad(in, mad[IB_SMP_INITIAL_PATH + hop + 1], now, packet, mad);
		return;
	}
	if (prm_get(mad, IB_SMP_DR_DLID) != IB_LID_PERMISSIVE || !is_question(mad) || !ibsw_sma(in, mad))
		return;
	prm_set(mad, IB_MAD_DR_RETURNING, 1);
	answer(in, now, packet, mad);
}

/* An answer on its way back (IBTA 14.2.2.4) */
static void
directed_back(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint8_t *mad)
{
	uint32_t hop = prm_get(mad, IB_MAD_HOP_PTR), hops = prm_get(mad, IB_MAD_HOP_COUNT);

	if (hop < 2 || hop > hops || hops > IB_SMP_HOPS_MAX)
		return;
	prm_set(mad, IB_MAD_HOP_PTR, hop - 1);
	send_mad(in, mad[IB_SMP_RETURN_PATH + hop - 1], now, packet, mad);
}

static void
performance(struct ibsw_port *in, uint8_t *mad)
{
	struct tpm_ib_pm *pm[TP_IBSWITCH_PORTS] = {NULL};

	for (unsigned int i = 1; i <= in->sw->num_ports; i++)
		pm[i - 1] = &in->sw->port[i].ib.pm;
	tpm_ib_pm(pm, in->sw->num_ports, mad);
}

void
ibsw_mad(struct ibsw_port *in, uint64_t now, const uint8_t *packet, uint32_t len)
{
	uint32_t bth = tpm_ib_bth(packet), class;
	bool mgmt = prm_get(packet, IB_LRH_VL) == IB_VL_MGMT;
	uint8_t mad[IB_MAD_SIZE];

	if (len != bth + HEAD + IB_MAD_SIZE + IB_ICRC_LEN || ib_bth_qpn(packet + bth) != (mgmt ? 0u : 1u) ||
	    !tpm_ib_icrc_good(packet, len)) {
		in->ib.pm.c.rcv_errors++;
		return;
	}
	memcpy(mad, packet + bth + HEAD, IB_MAD_SIZE);
	class = prm_get(mad, IB_MAD_CLASS);
	if (mgmt && class == IB_CLASS_SUBN_DR && prm_get(mad, IB_MAD_DR_RETURNING) == 0) {
		directed_out(in, now, packet, mad);
	} else if (mgmt && class == IB_CLASS_SUBN_DR) {
		directed_back(in, now, packet, mad);
	} else if (mgmt && class == IB_CLASS_SUBN && is_question(mad)) {
		if (ibsw_sma(in, mad))
			answer(in, now, packet, mad);
	} else if (!mgmt && class == IB_CLASS_PERF && is_question(mad)) {
		performance(in, mad);
		answer(in, now, packet, mad);
	}
}
