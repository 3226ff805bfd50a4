/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Answers to ARP requests, ICMP echo, IPv6 neighbour solicitation and ICMPv6 echo, made in place.
 *
 * The answerer owns every address it is asked for. It keeps quiet where an answer would do harm: duplicate address
 * detection (ARP probes and announcements, solicitations from the unspecified address), multicast and broadcast
 * destinations, frames for another MAC, and malformed packets.
 *
 * Fragmented echo requests are answered fragment by fragment, without reassembly: an answer has the payload of the
 * request, so only the first fragment changes (its type, and the checksum over the whole by RFC 1624), and the others
 * go back as they are. The number of fragments has no limit and no fragment waits. Later fragments are answered only
 * after the first of their datagram, which tells an echo request from an echo reply.
 */
#ifndef TRIPLANE_TRAFFIC_ECHO_H
#define TRIPLANE_TRAFFIC_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#define ECHO_FRAGS 256

/* First fragments of echo requests that were answered lately. Zeroed by the owner. */
struct echo_frags {
	struct {
		uint32_t addr_hash; /* of source and destination */
		uint32_t id;
		bool valid;
	} slot[ECHO_FRAGS];
};

/* Turns the request into its answer. false: nothing to answer, the packet may have been changed. */
bool echo_answer(struct rte_mbuf *m, const struct rte_ether_addr *mac, struct echo_frags *frags);

#endif /* TRIPLANE_TRAFFIC_ECHO_H */
