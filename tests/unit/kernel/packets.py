#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes kernel_packets.h: frames with the checksums that scapy makes, and where their headers are."""
from scapy.all import Dot1AD, Dot1Q, ICMP, IP, IPv6, IPv6ExtHdrDestOpt, TCP, UDP, Ether, IPOption_NOP, Raw, fragment

ETH = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
V4, V6 = IP(src="192.0.2.1", dst="192.0.2.2", id=7), IPv6(src="2001:db8::1", dst="2001:db8::2")
OPTIONS = IP(src="192.0.2.1", dst="192.0.2.2", options=[IPOption_NOP()] * 8)
STAMP = TCP(sport=1000, dport=80, flags="A", options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
TAGS = {"": ETH, "one": ETH / Dot1Q(vlan=5, prio=3), "two": ETH / Dot1AD(vlan=5) / Dot1Q(vlan=9)}


def payload(n):
    return Raw(bytes((i * 7 + n) & 255 for i in range(n)))


def row(pkt, known):
    """known: whether a port can make the checksum of the last TCP or UDP header."""
    pkt = Ether(bytes(pkt))
    l4 = pkt[TCP] if TCP in pkt else pkt[UDP]
    v6 = IPv6 in pkt
    start = len(pkt) - len(l4)
    l2 = len(pkt) - len(pkt[IPv6] if v6 else pkt[IP])
    return (pkt, start, 16 if TCP in pkt else 6, l2, start - l2, l4.dataofs * 4 if TCP in pkt else 8, TCP in pkt, v6, known)


rows = []
for eth in TAGS.values():
    for l3 in (V4, OPTIONS, V6):
        for l4 in (TCP(sport=1000, dport=80), STAMP, UDP(sport=1001, dport=53)):
            for n in (0, 1, 700, 1401):
                rows.append(row(eth / l3 / l4 / payload(n), True))
# What a port does not look behind.
for n in (1, 600):
    rows.append(row(ETH / V6 / IPv6ExtHdrDestOpt() / UDP(sport=1001, dport=53) / payload(n), False))
    rows.append(row(ETH / Dot1Q(vlan=1) / Dot1Q(vlan=2) / Dot1Q(vlan=3) / V4 / UDP(sport=1001, dport=53) / payload(n), False))
# Nothing to be made: the kernel asks for nothing, a port must not find a checksum to be made again.
plain = [ETH / V4 / ICMP() / payload(50), Ether(type=0x88B5) / payload(46), ETH / payload(20)]
plain += [Ether(bytes(f)) for f in fragment(ETH / V4 / UDP(sport=5, dport=6) / payload(3000), 1000)]

print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by packets.py. */")


def octets(name, pkt):
    print("static const uint8_t %s[] = {%s};" % (name, ",".join(str(b) for b in bytes(pkt))))


for i, r in enumerate(rows):
    octets("frame%d" % i, r[0])
for i, p in enumerate(plain):
    octets("plain%d" % i, p)
print("static const struct frame frames[] = {")
for i, r in enumerate(rows):
    print("\t{frame%d, sizeof(frame%d), %d, %d, %d, %d, %d, %d, %d, %d}," % ((i, i) + tuple(int(x) for x in r[1:])))
print("};\nstatic const struct frame plains[] = {")
for i, _ in enumerate(plain):
    print("\t{.data = plain%d, .len = sizeof(plain%d)}," % (i, i))
print("};")
