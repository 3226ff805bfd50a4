/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Wires of the card process that need no DPDK: each frame is one message on a descriptor, without its FCS.
 */
#ifndef WIRE_FD_H
#define WIRE_FD_H

#include "tp_model.h"

/* A TAP device, made when there is none; name up to 15 characters. Negative errno. */
int wire_tap_create(const char *name, struct tp_wire **out);
/*
 * A pair of UNIX datagram sockets: this end is bound to local and sends to remote, which may come and go. The link is up
 * while there is a partner.
 */
int wire_dgram_create(const char *local, const char *remote, struct tp_wire **out);

#endif /* WIRE_FD_H */
