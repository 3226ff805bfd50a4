/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * InfiniBand ports of the card.
 *
 *   ib_port.c  state of the link, events
 *   ib_sma.c   subnet management: attributes read and set
 *   ib_pma.c   performance management, shared with the switch
 *   ib_smp.c   SMPs on the wire that the firmware answers itself
 *   ib_net.c   packets of the transport
 *   ib_out.c   datagrams in bursts: sent ...
 *   ib_in.c    ... and received
 *   ib_mlx.c   packets of QP0 and QP1 that software built
 *   ib_wire.c  checks, CRCs and counters of any packet
 *
 * A packet on a wire goes from the LRH through the VCRC.
 */
#ifndef MODEL_IB_IB_H
#define MODEL_IB_IB_H

#include "model/roce/roce.h"
#include "mlx4_prm_ib.h"

struct tpm_roce;
struct tpm_roce_path;

/* --- the port (ib_port.c) --- */

/* As after power-on, of a card's port or a switch's that trains at top at most. */
void tpm_ib_init(struct tpm_ib *ib, uint64_t guid, enum tp_ib_speed top);
/* The speeds that the port can and may take, and taking the highest of them that the partner has, too; bit n: enum tp_ib_speed n. */
uint32_t tpm_ib_speeds(const struct tpm_ib *ib);
void tpm_ib_train(struct tpm_ib *ib, uint32_t speeds);
void tpm_ib_reset(struct tp_model *m, struct tpm_port *p);
/* The link came up or went down. */
void tpm_ib_link(struct tp_model *m, struct tpm_port *p, bool up);
void tpm_ib_set_state(struct tp_model *m, struct tpm_port *p, enum ib_port_state state);
/* Port management changed: bits MLX4_MNG_*. */
void tpm_ib_event_info(struct tp_model *m, const struct tpm_port *p, uint32_t changed);
/* Entries of a table changed: of a block, bit n is entry n. */
void tpm_ib_event_table(struct tp_model *m, const struct tpm_port *p, uint8_t subtype, uint32_t block, uint32_t mask);
void tpm_ib_event_sl2vl(struct tp_model *m, const struct tpm_port *p);

/* Is it one of the port's LIDs? */
static inline bool
tpm_ib_own_lid(const struct tpm_ib *ib, uint16_t lid)
{
	return ib->lid != 0 && (lid & ~((1u << ib->lmc) - 1u)) == ib->lid;
}

/* --- management (ib_sma.c, ib_pma.c) --- */

/*
 * Answers a Get or Set of subnet or performance management in place: method, status, data. False: no answer is due,
 * since the M_Key is wrong.
 */
bool tpm_ib_sma(struct tp_model *m, struct tpm_port *p, uint8_t *mad, bool check_mkey);
/* PortInfo with a state; whether a new one can be taken, and taking it, all but the state. */
void tpm_ib_info_get(const struct tpm_ib *ib, uint8_t state, uint8_t *d);
bool tpm_ib_info_valid(const struct tpm_ib *ib, const uint8_t *d);
void tpm_ib_info_apply(struct tpm_ib *ib, const uint8_t *d);
/* The vendor's extended PortInfo, got and, with set, set before. */
void tpm_ib_ext_info(struct tpm_ib *ib, bool set, uint8_t *d);
/* A block of P_Keys; bit n of the result: entry n changed. */
uint32_t tpm_ib_pkeys(struct tpm_ib *ib, bool set, uint32_t block, uint8_t *d);
/* One of the four blocks of the arbitration tables, from 1 on; a status. */
uint16_t tpm_ib_vlarb(struct tpm_ib *ib, bool set, uint32_t which, uint8_t *d);
/* Does the datagram have the key that is wanted? */
bool tpm_ib_mkey_good(struct tpm_ib *ib, const uint8_t *mad, bool reads);

void tpm_ib_pma(struct tp_model *m, struct tpm_port *p, uint8_t *mad);
/*
 * A Get or Set of performance management for a node of one port or, with n, ports 1 to n; answered in place. pm: of port
 * i + 1, NULL where there is none.
 */
void tpm_ib_pm(struct tpm_ib_pm *const *pm, unsigned int n, uint8_t *mad);

/* --- packets of the port (ib_net.c) --- */

extern const struct tpm_link_ops tpm_ib_link_ops;

/* May a packet of this virtual lane leave now? False: the far end has no room. */
bool tpm_ib_room(const struct tpm_port *p, uint8_t vl, uint32_t len);
/*
 * Would what leaves the port now come to the card's other port, and nobody see it on the way? Then CRCs would be for nobody: they
 * are made where a packet leaves the card, and where a bad cable may make another one of it.
 */
static inline bool
tpm_ib_is_direct(const struct tpm_port *p)
{
	const struct tpm_port *to = p->direct;

	return to != NULL && to->impair == NULL && to->ib && p->link && to->link && p->ibp.state == IB_PORT_ACTIVE &&
	       to->ibp.state == IB_PORT_ACTIVE;
}
/* Packets of one virtual lane leave by the wire, or are dropped and counted. VCRCs are in them. */
void tpm_ib_send(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n, uint8_t vl,
		 bool mcast);
/* Frames from the wire. */
void tpm_ib_receive(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);
/* A packet of the port's own, from the LRH through the ICRC; from: who sent it. */
void tpm_ib_loop(struct tp_model *m, struct tpm_port *p, const uint8_t *packet, uint32_t len,
		 const struct tpm_qp *from);
uint8_t tpm_ib_vl_of(const struct tpm_ib *ib, uint8_t sl);
/* LRH and GRH; len: from the BTH through the ICRC. Where the BTH goes. */
uint8_t *tpm_ib_put_headers(const struct tpm_ib *ib, const struct tpm_roce_path *path, uint8_t vl, uint32_t len,
			    uint8_t *h);
/* The partition key that the QP's packets have. */
uint16_t tpm_ib_pkey_of(const struct tpm_ib *ib, const struct tpm_qp *qp);
/* Does a packet's key fit the one at this place? */
bool tpm_ib_pkey_fits(const struct tpm_ib *ib, uint16_t key, uint32_t at);
/* The queue pair of the port that a packet for this one goes to, or NULL. */
struct tpm_qp *tpm_ib_destination(struct tp_model *m, const struct tpm_port *p, uint32_t qpn);

/* --- plain datagrams in bursts (ib_out.c, ib_in.c) --- */

/* As in struct tpm_link_ops. */
unsigned int tpm_ib_datagrams(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);

/* Datagrams of one queue pair to another, not yet packets: what is in them, at most TPM_BURST. */
struct tpm_ib_row {
	const uint8_t *head; /* LRH, BTH and DETH of their packets, but for lengths, pads and sequence numbers */
	const struct tp_frame_seg *d;
	unsigned int n;
	uint32_t longest; /* none is longer */
};
/*
 * Gives a row to the port that gets what its sender sends as it is: it takes them as it would take their packets, which nobody
 * else would see. Returns how many; the next one must become a packet. *bytes: of the packets of those that it took.
 */
unsigned int tpm_ib_hand_over(struct tp_model *m, struct tpm_port *p, const struct tpm_ib_row *r, uint64_t *bytes);
/* Octets of a packet on the wire, of so many of payload. */
#define TPM_IB_AROUND (IB_LRH_SIZE + IB_BTH_LEN + IB_DETH_LEN + IB_ICRC_LEN + IB_VCRC_SIZE)
static inline uint32_t
tpm_ib_wire_len(uint32_t len)
{
	return TPM_IB_AROUND + ((len + 3) & ~3u);
}

/* Receives packets as long as each is a plain datagram; how many. Those behind are looked at one by one. */
unsigned int tpm_ib_receive_plain(struct tp_model *m, struct tpm_port *p, const struct tp_frame *f, unsigned int n);

/* The QP0 (which 0) or QP1 (1) of the port that software opened and that can receive, or NULL. */
struct tpm_qp *tpm_ib_special(const struct tp_model *m, const struct tpm_port *p, unsigned int which);

/* Executes a WQE of QP0 or QP1 (ib_mlx.c). */
bool tpm_ib_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);

/* --- the firmware on the wire (ib_smp.c) --- */

/* An SMP for which there is no QP0; packet goes from the LRH through the ICRC. */
void tpm_ib_smp(struct tp_model *m, struct tpm_port *p, const uint8_t *packet, uint32_t len);

#endif /* MODEL_IB_IB_H */
