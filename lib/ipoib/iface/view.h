/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the datapath knows of an interface: a snapshot that never changes, replaced as a whole. Tables are open hashes with at
 * most half of their places taken; an empty place ends a search.
 */
#ifndef IPOIB_IFACE_VIEW_H
#define IPOIB_IFACE_VIEW_H

#include <rte_branch_prediction.h>

#include "core.h"

#define IPOIB_MAC_MASK UINT64_C(0xffffffffffff) /* of eight octets of a frame, read in the order of the host's */
#define IPOIB_HASH UINT64_C(0x9e3779b97f4a7c15)

struct ipoib_tx_ent {
	uint64_t mac; /* 0: empty */
	struct ibv_ah *ah;
	uint8_t *touched;
	uint32_t qpn;
};
struct ipoib_rx_ent {
	uint64_t key; /* 0: empty */
	uint64_t mac; /* six octets as they stand in memory */
	uint8_t *touched;
};
struct ipoib_group_ent {
	uint64_t id[2]; /* the MGID; 0: empty */
	struct ibv_ah *ah;
	uint8_t *touched;
};
struct ipoib_local_ent {
	uint64_t id[2]; /* the address of IP; 0: empty */
	uint64_t mac;
	uint8_t *touched;
};

/* Connected mode, for a place of the table of neighbours. */
struct ipoib_cm_ent {
	void *rc;         /* the port's part of a connection that is up */
	uint8_t *touched; /* the connection's */
	uint32_t mtu;
	bool ask; /* the next packet goes to the control thread, which asks for a connection */
};

struct ipoib_view {
	bool up;
	uint16_t lid, lid_mask; /* own, and the bits of it that are not path bits */
	uint32_t mtu;
	uint64_t mac;          /* own */
	uint64_t v4, v6;       /* first eight octets of groups' MGIDs; of v6 six */
	uint64_t broadcast[2]; /* MGID */
	unsigned int locals;   /* with a MAC that is not the port's */
	uint32_t tx_shift, rx_shift, group_shift, local_shift;
	struct ipoib_tx_ent *tx;
	struct ipoib_rx_ent *rx;
	struct ipoib_group_ent *group;
	struct ipoib_local_ent *local;
	struct ipoib_cm_ent *cm; /* place by place as tx; NULL: datagram mode */
};

static inline uint64_t
ipoib_rx_key(uint16_t slid, uint32_t qpn)
{
	return (uint64_t)slid << 32 | qpn;
}

/* In the same table, whose keys of datagrams have 48 bits. */
static inline uint64_t
ipoib_rx_conn_key(uint32_t own_qpn)
{
	return UINT64_C(1) << 63 | own_qpn;
}

static inline const struct ipoib_tx_ent *
ipoib_view_tx(const struct ipoib_view *v, uint64_t mac)
{
	const struct ipoib_tx_ent *e = &v->tx[(mac * IPOIB_HASH) >> v->tx_shift];

	while (e->mac != mac) {
		if (e->mac == 0)
			return NULL;
		e++;
	}
	return e;
}

static inline const struct ipoib_rx_ent *
ipoib_view_rx(const struct ipoib_view *v, uint64_t key)
{
	const struct ipoib_rx_ent *e = &v->rx[(key * IPOIB_HASH) >> v->rx_shift];

	while (e->key != key) {
		if (e->key == 0)
			return NULL;
		e++;
	}
	return e;
}

static inline const struct ipoib_group_ent *
ipoib_view_group(const struct ipoib_view *v, const uint64_t id[2])
{
	const struct ipoib_group_ent *e = &v->group[((id[0] ^ id[1]) * IPOIB_HASH) >> v->group_shift];

	while (e->id[0] != id[0] || e->id[1] != id[1]) {
		if (e->ah == NULL)
			return NULL;
		e++;
	}
	return e;
}

static inline const struct ipoib_local_ent *
ipoib_view_local(const struct ipoib_view *v, const uint64_t id[2])
{
	const struct ipoib_local_ent *e = &v->local[((id[0] ^ id[1]) * IPOIB_HASH) >> v->local_shift];

	while (e->id[0] != id[0] || e->id[1] != id[1]) {
		if (e->touched == NULL)
			return NULL;
		e++;
	}
	return e;
}

/* The MAC of the host behind the port that a packet is for; l3: its header of IP. */
uint64_t ipoib_view_local_mac(const struct ipoib_view *v, uint16_t etype, const uint8_t *l3);
/* A snapshot of the interface as it is; NULL: no memory. Freed by free(). */
struct ipoib_view *ipoib_view_make(struct ipoib_core *c);

#endif /* IPOIB_IFACE_VIEW_H */
