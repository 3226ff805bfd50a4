/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of an interface (RFC 4755): when one is asked for, what goes by it, when it is over. As Linux has them: each is
 * for one direction, from who asked for it; packets for groups and short ones without a connection stay datagrams. What a
 * connection is on the card is behind struct ipoib_io.
 */
#ifndef IPOIB_IFACE_CONN_H
#define IPOIB_IFACE_CONN_H

#include "core.h"

#define IPOIB_CM_MTU_MAX 65520u /* octets of IP */
#define IPOIB_CM_HOLD_MS 1000u  /* until a peer that refused is asked again; twice as long each time */
#define IPOIB_CM_HOLD_MAX_MS 64000u
#define IPOIB_TOO_BIG_MS 1u /* between two answers to packets that are too long */

/* Service of a peer's queue pair of datagrams (RFC 4755, 3.5); Linux has zeros between. */
#define IPOIB_CM_SERVICE UINT64_C(0x1000000000000000)

/* Private data of REQ and REP (RFC 4755, 6): the queue pair of datagrams, and octets that a message may have. */
#define IPOIB_CM_DATA 8u
static inline void
ipoib_cm_data_put(uint32_t qpn, uint32_t mtu, uint8_t out[IPOIB_CM_DATA])
{
	ib_put32(out, qpn & 0xffffff);
	ib_put32(out + 4, mtu + IPOIB_ENCAP_LEN);
}
/* False: it has no room for a packet. */
static inline bool
ipoib_cm_data_get(const uint8_t in[IPOIB_CM_DATA], uint32_t *qpn, uint32_t *mtu)
{
	uint32_t octets = ib_get32(in + 4);

	*qpn = ib_get32(in) & 0xffffff;
	*mtu = octets > IPOIB_ENCAP_LEN ? octets - IPOIB_ENCAP_LEN : 0;
	return *mtu != 0;
}

struct ipoib_conn {
	TAILQ_ENTRY(ipoib_conn) next;
	struct ipoib_remote *remote; /* NULL: forgotten */
	bool passive;                /* the peer sends */
	bool up, closing;
	uint8_t touched;
	uint32_t idle; /* runs of ageing without use */
	uint32_t mtu;  /* octets of IP that the peer takes */
	uint32_t qpn;  /* of our queue pair, when it is there */
	void *home;    /* the port's part */
};

/* Whether a packet of r went by its connection, waits for it or is refused because it is too long; else it is a datagram. */
bool ipoib_conn_send(struct ipoib_core *c, struct ipoib_remote *r, struct rte_mbuf *m);
/* A connection is asked for with the next packet: the peer offers them, and has none or did not refuse lately. */
bool ipoib_conn_wanted(const struct ipoib_core *c, const struct ipoib_remote *r);
/* The longest packet that the interface takes for one host. */
static inline uint32_t
ipoib_longest(const struct ipoib_core *c)
{
	return c->conf.connected ? RTE_MAX(c->mtu, c->conf.cm_mtu) : c->mtu;
}

/* --- what the port tells --------------------------------------------------------------------------------------------- */

/* A peer asks; NULL: no. The port makes it up or over. */
struct ipoib_conn *ipoib_conn_request(struct ipoib_core *c, const struct ipoib_hw *hw, uint32_t mtu);
/* It is there, with a queue pair of this number, and the peer takes so many octets. */
void ipoib_conn_up(struct ipoib_core *c, struct ipoib_conn *conn, uint32_t qpn, uint32_t mtu);
/* It is over; refused: the peer wants none. */
void ipoib_conn_over(struct ipoib_core *c, struct ipoib_conn *conn, bool refused);
/* Nothing of it can come any more: after ipoib_io.conn_close. Frees it. */
void ipoib_conn_gone(struct ipoib_core *c, struct ipoib_conn *conn);

/* Who sends by a queue pair of ours; NULL: nobody. */
struct ipoib_remote *ipoib_conn_sender(struct ipoib_core *c, uint32_t qpn);

/* --- for the core ---------------------------------------------------------------------------------------------------- */

/* Another way leads to r, or it is forgotten. */
void ipoib_conn_moved(struct ipoib_core *c, struct ipoib_remote *r);
void ipoib_conn_forget(struct ipoib_core *c, struct ipoib_remote *r);
/* All of them, when the link goes or the mode changes. */
void ipoib_conns_close(struct ipoib_core *c);
void ipoib_conns_age(struct ipoib_core *c);
void ipoib_conns_tick(struct ipoib_core *c);

/* --- toobig.c -------------------------------------------------------------------------------------------------------- */

/* Tells who sent a packet (encapsulated, r's) that mtu octets pass; takes it. */
void ipoib_too_big(struct ipoib_core *c, const struct ipoib_remote *r, struct rte_mbuf *m, uint32_t mtu);

#endif /* IPOIB_IFACE_CONN_H */
