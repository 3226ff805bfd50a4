/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * An InfiniBand switch in software, for the ports of cards in this process.
 *
 * It is managed as a switch is: a subnet management agent answers on its port 0 by LID and by directed route (NodeInfo,
 * SwitchInfo, PortInfo of each port, forwarding tables, P_Key, SL to VL and arbitration tables), a performance manager
 * finds its counters. Packets go by the linear and the multicast forwarding table that a subnet manager wrote; until then
 * only directed routes lead through it.
 *
 * Nothing is lost for want of room: a port takes packets of a virtual lane as long as those that came by it and wait are
 * fewer than its credit, and senders are held back. VL 15 has no credit; what finds no room there is dropped and counted.
 * A packet that waited longer at the head of a queue than the port's HoqLife allows is discarded (IBTA 18.2.5.4).
 *
 * Threads: each function takes the switch's lock. Errors are negative errno values.
 */
#ifndef TP_IBSWITCH_H
#define TP_IBSWITCH_H

#include "tp_model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_IBSWITCH_NAME 32  /**< of a name, with its end: letters, digits, '.', '_', '-' */
#define TP_IBSWITCH_PORTS 36 /**< most ports; numbers are 1..36 */
#define TP_IBSWITCH_TEXT 256 /**< room for the line of a refusal */

/**
 * Plugs port 1..2 of a card into the switch of a name, which is made with its first port and goes with its last.
 *
 * @param spec "NAME[/KEY:VALUE]...": ports (1..36, 8) and guid (hexadecimal) of the switch, credit (4608..16777216 bytes
 *   of a port and lane, 65536), port (its number; else the lowest that is free), and at the end capture (a file: every
 *   packet that enters or leaves this port, as pcap of link type 197, ERF)
 * @param err a line that says what was found and what is wanted
 * @return 0, -EINVAL, -EEXIST (that port is taken), -ENOSPC (no port is free), -ENOMEM, or what opening the file says
 */
int tp_model_wire_ibswitch(struct tp_model *m, unsigned int port, const char *spec, char err[TP_IBSWITCH_TEXT]);

/** Names of the switches of this process; how many there are. */
unsigned int tp_ibswitch_list(char names[][TP_IBSWITCH_NAME], unsigned int max);

/** Counters of a switch as "portN.NAME" and value. -ENOENT: there is none of this name. */
int tp_ibswitch_each_counter(const char *name, void (*fn)(void *arg, const char *counter, uint64_t value), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* TP_IBSWITCH_H */
