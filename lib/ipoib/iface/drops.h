/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Why an IPoIB port drops a packet: one list for the counters, their names and the texts that users read. */
#ifndef IPOIB_IFACE_DROPS_H
#define IPOIB_IFACE_DROPS_H

#define IPOIB_DROPS(X)                                                                                                 \
	X(TX_SHORT, "tx_short", "frame shorter than its headers")                                                      \
	X(TX_LONG, "tx_long", "packet longer than the MTU")                                                            \
	X(TX_TOO_BIG, "tx_too_big", "packet longer than its destination takes; the sender was told so")                \
	X(TX_NO_CONN, "tx_no_conn",                                                                                    \
	  "packet too long for a datagram, and the peer does not answer requests for connections")                     \
	X(TX_TYPE, "tx_type", "neither IPv4, IPv6 nor ARP")                                                            \
	X(TX_ARP, "tx_arp", "ARP with wrong lengths or types")                                                         \
	X(TX_ND, "tx_nd", "neighbour discovery with wrong lengths, options or checksum")                               \
	X(TX_DHCP, "tx_dhcp", "DHCP with wrong lengths or types")                                                      \
	X(TX_GROUP, "tx_group", "multicast frame that is not to its group's address")                                  \
	X(TX_NO_NEIGHBOUR, "tx_no_neighbour", "MAC that no neighbour has")                                             \
	X(TX_NO_PATH, "tx_no_path", "the subnet administrator gave no path")                                           \
	X(TX_NO_MEMBER, "tx_no_member", "the subnet administrator let us not into the group")                          \
	X(TX_WAIT_FULL, "tx_wait_full", "too many packets wait for one destination")                                   \
	X(TX_DOWN, "tx_down", "the link or the broadcast group is down")                                               \
	X(TX_STOPPED, "tx_stopped", "its queue is stopped")                                                            \
	X(TX_NO_MBUF, "tx_no_mbuf", "no mbuf for a translated packet")                                                 \
	X(TX_TSO, "tx_tso",                                                                                            \
	  "large send without the offload or a path, or with lengths or segments that it cannot have")                 \
	X(TX_RING_FULL, "tx_ring_full", "more packets to be resolved than the ring takes")                             \
	X(TX_ERROR, "tx_error", "the card could not send it")                                                          \
	X(RX_SHORT, "rx_short", "packet shorter than its headers")                                                     \
	X(RX_TYPE, "rx_type", "neither IPv4, IPv6 nor ARP")                                                            \
	X(RX_ARP, "rx_arp", "ARP with wrong lengths or types")                                                         \
	X(RX_ND, "rx_nd", "neighbour discovery with wrong lengths, options or checksum")                               \
	X(RX_DHCP, "rx_dhcp", "DHCP with wrong lengths or types")                                                      \
	X(RX_OWN, "rx_own", "own multicast that came back")                                                            \
	X(RX_NO_NEIGHBOUR, "rx_no_neighbour", "hardware address that cannot be a neighbour's, or no room for it")      \
	X(RX_NO_MBUF, "rx_no_mbuf", "no mbuf for a translated packet")                                                 \
	X(RX_RING_FULL, "rx_ring_full", "more packets to be translated than the ring takes")                           \
	X(RX_CONN, "rx_conn", "its connection had ended before the application took it")                               \
	X(RX_STOPPED, "rx_stopped", "it waited in a queue that was stopped")                                           \
	X(RX_ERROR, "rx_error", "the card says that it is damaged")

enum ipoib_drop {
#define IPOIB_DROP_ENUM(id, name, text) IPOIB_DROP_##id,
	IPOIB_DROPS(IPOIB_DROP_ENUM)
#undef IPOIB_DROP_ENUM
		IPOIB_DROP_NUM
};

#endif /* IPOIB_IFACE_DROPS_H */
