/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Group membership as the application tells it to routers: reports of IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810)
 * that leave the port, and the queries that ask for them. Pure code on octets.
 */
#ifndef IPOIB_WIRE_SNOOP_H
#define IPOIB_WIRE_SNOOP_H

#include <stdbool.h>
#include <stdint.h>

#define IPOIB_SNOOP_GROUPS 256u /* of one report that are looked at; a report of an MTU of 2044 has 250 at most */

/* group: 16 octets; IPv4 in the last four, with zeros before. */
typedef void (*ipoib_snoop_fn)(void *arg, bool v6, const uint8_t group[16], bool join);

/*
 * Calls fn for each group of a report or leave.
 * Returns the number of calls, 0 for queries, -1: lengths or checksum are wrong.
 */
int ipoib_snoop(uint16_t etype, const uint8_t *l3, uint32_t len, bool check, ipoib_snoop_fn fn, void *arg);

/* General queries of version 2 of IGMP and version 1 of MLD, which every host answers; max: 10 s. Returns octets of l3. */
#define IPOIB_QUERY_MAX 72u
unsigned int ipoib_query_v4(uint8_t l3[IPOIB_QUERY_MAX]);
unsigned int ipoib_query_v6(uint64_t guid, uint8_t l3[IPOIB_QUERY_MAX]);

#endif /* IPOIB_WIRE_SNOOP_H */
