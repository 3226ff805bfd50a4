/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What goes with the traffic when another port takes it over: the neighbours' MACs, which the application's caches have, the
 * addresses behind the port, DHCP clients, and the groups that were reported. One interface is read and then the other one
 * written, so no two locks are held.
 */
#ifndef IPOIB_IFACE_CARRY_H
#define IPOIB_IFACE_CARRY_H

#include "core.h"

struct ipoib_carry;

/* NULL: no memory. */
struct ipoib_carry *ipoib_carry_take(const struct ipoib_core *from);
void ipoib_carry_free(struct ipoib_carry *y);
/* All of it, in place of what the interface had; hosts are asked to report their groups again, for routers to hear it. */
void ipoib_carry_give(struct ipoib_core *to, const struct ipoib_carry *y);
/* Neighbours that the interface does not know, for what still came through the other one. */
void ipoib_carry_neighbours(struct ipoib_core *to, const struct ipoib_carry *y);
/* Groups that were reported are left. */
void ipoib_carry_leave(struct ipoib_core *from);
/*
 * Tells neighbours where the addresses behind the port are: gratuitous ARP (RFC 5227, 3) and unsolicited advertisements
 * (RFC 4861, 7.2.6). How many addresses.
 */
unsigned int ipoib_announce(struct ipoib_core *c);

#endif /* IPOIB_IFACE_CARRY_H */
