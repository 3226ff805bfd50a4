#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes packet_frames.h: long frames, and the packets that are cut from each, with the lengths and sums that scapy makes."""
from scapy.all import ARP, Dot1Q, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IP, IPv6, TCP, UDP, Ether, IPOption_NOP, Raw

ETH = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
V4 = {"src": "192.0.2.1", "dst": "192.0.2.2", "flags": "DF", "ttl": 7, "tos": 0x6a}
V6 = {"src": "2001:db8::1", "dst": "2001:db8::2", "tc": 0x6a, "fl": 0x12345, "hlim": 9}
ROCE, OTHER = 4791, 5000
STAMP = [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))]


def payload(n):
    return bytes((i * 7 + i // 251 + n) & 255 for i in range(n))


def net(v6, i, options):
    if v6:
        return IPv6(**V6)
    return IP(id=(0xfffe + i) & 0xffff, options=[IPOption_NOP()] * 4 if options else [], **V4)


def l4(kind, at, first, last):
    if kind == "tcp":
        # What the whole says is said by its first packet (CWR), by its last one (FIN, PSH), or by all (ACK).
        flags = "A" + ("C" if first else "") + ("FP" if last else "")
        return TCP(sport=1000, dport=80, seq=(0xfffffff0 + at) & 0xffffffff, ack=7, flags=flags, options=STAMP)
    # RoCE has no sum of UDP.
    return UDP(sport=0xc001, dport=ROCE, chksum=0) if kind == "roce" else UDP(sport=9, dport=OTHER)


def whole_of(eth, v6, kind, size, seg, options=False):
    """The frame with its own full sum, where headers and transport begin, and its packets."""
    data = payload(size)
    make = lambda at, n, i: Ether(bytes(eth / net(v6, i, options) / l4(kind, at, i == 0, at + n == size) / Raw(data[at:at + n])))
    parts = [make(at, min(seg, size - at), at // seg) for at in range(0, size, seg)]
    head = l4(kind, 0, True, True)
    if kind == "roce":
        del head.chksum
    frame = Ether(bytes(eth / net(v6, 0, options) / head / Raw(data)))
    start = len(frame) - len(frame[TCP] if kind == "tcp" else frame[UDP])
    return bytes(frame), start, 16 if kind == "tcp" else 6, kind, v6, seg, [bytes(p) for p in parts]


rows = []
for v6 in (False, True):
    for kind in ("roce", "udp", "tcp"):
        # Short and long packets, a last one that is shorter, by one octet, or as long; more than 64; the longest frame.
        for size, seg in ((48, 24), (3001, 1000), (3000, 1000), (2999, 1000), (9000, 88)):
            rows.append(whole_of(ETH, v6, kind, size, seg))
        if kind == "roce":
            rows.append(whole_of(ETH, v6, kind, 61680, 4112))
        if kind == "roce" or not v6 and kind == "tcp":
            rows.append(whole_of(ETH, v6, kind, 65000, 1448))
    rows.append(whole_of(ETH / Dot1Q(vlan=5, prio=3), v6, "udp", 2500, 1000))
    rows.append(whole_of(ETH / Dot1Q(vlan=5, prio=3), v6, "tcp", 2500, 1000))
rows.append(whole_of(ETH, False, "udp", 2500, 1000, True))
rows.append(whole_of(ETH, False, "tcp", 2500, 1000, True))

# Of the destination of all these packets.
NS = ETH / IPv6(src=V6["dst"], dst=V6["src"]) / ICMPv6ND_NS(tgt=V6["src"])
NA = ETH / IPv6(src="fe80::1", dst=V6["src"]) / ICMPv6ND_NA(tgt=V6["dst"]) / ICMPv6NDOptDstLLAddr(lladdr="02:00:00:00:00:01")
ASK = ETH / ARP(op=1, psrc=V4["dst"], pdst=V4["src"])

print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by packets.py. */")


def octets(name, data):
    """As text, which compilers read sooner than lists of numbers; of this length, without a zero behind it."""
    print("static const uint8_t %s[%d] =" % (name, len(data)))
    for at in range(0, len(data), 32):
        print('"%s"' % "".join("\\%03o" % b for b in data[at:at + 32]))
    print(";")


for i, (frame, start, at, kind, v6, seg, parts) in enumerate(rows):
    octets("whole%d" % i, frame)
    octets("parts%d" % i, b"".join(parts))
    print("static const uint16_t lens%d[] = {%s};" % (i, ",".join(str(len(p)) for p in parts)))
for name, pkt in (("arp_ask", ASK), ("nd_ask", NS), ("nd_tell", NA)):
    octets(name, bytes(pkt))
print("static const struct row rows[] = {")
for i, (frame, start, at, kind, v6, seg, parts) in enumerate(rows):
    gso = {"tcp": "VIRTIO_NET_HDR_GSO_TCPV%d" % (6 if v6 else 4)}.get(kind, "VIRTIO_NET_HDR_GSO_UDP_L4")
    print("\t{whole%d, parts%d, lens%d, sizeof(whole%d), %d, %d, %d, %d, %s, %d}," % (i, i, i, i, len(parts), start, at, seg, gso, kind == "roce"))
print("};")
