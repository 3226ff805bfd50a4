#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes txq_packets.h: frames as scapy builds them, by what must go to one transmit queue."""
from scapy.all import Dot1AD, Dot1Q, ICMP, IP, IPv6, SCTP, TCP, UDP, Ether, IPOption_NOP, Raw, fragment

ETH = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
DATA = Raw(bytes(range(200)))

def alike(l3, l4):
    """The same destination and ports: payload, source, lifetime, tags and type of service say nothing."""
    other = l3.copy()
    if IPv6 in l3:
        other.src, other.hlim, other.tc = "2001:db8::77", 3, 9
    else:
        other.src, other.ttl, other.tos, other.options = "198.51.100.9", 3, 9, [IPOption_NOP()] * 4
    return [ETH / l3 / l4 / DATA, ETH / l3 / l4 / Raw(DATA.load * 5), ETH / other / l4 / DATA,
            Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / l3 / l4 / DATA,
            ETH / Dot1Q(vlan=5, prio=3) / l3 / l4 / DATA, ETH / Dot1AD(vlan=5) / Dot1Q(vlan=9) / l3 / l4 / DATA]

V4, V6 = IP(src="192.0.2.1", dst="192.0.2.2"), IPv6(src="2001:db8::1", dst="2001:db8::2")
groups = [alike(l3, l4) for l3 in (V4, V6)
          for l4 in (TCP(sport=1000, dport=80), UDP(sport=1001, dport=53), SCTP(sport=7, dport=9) / Raw(b"x" * 16))]
# Fragments have no ports but the first one.
groups.append([Ether(bytes(f)) for f in fragment(ETH / V4 / UDP(sport=5, dport=6) / Raw(b"z" * 3000), 1000)])
# No ports: destination alone.
groups.append([ETH / V4 / ICMP(id=i, seq=i) / DATA for i in range(4)])
# Nothing to hash: the first queue.
nothing = [ETH / Raw(b"q" * 200), Ether(type=0x88B5) / DATA, ETH / Dot1Q() / Dot1Q() / Dot1Q() / V4 / UDP() / DATA]
# One field differs between neighbours.
many = ([ETH / V4 / UDP(sport=1000 + i, dport=53) / DATA for i in range(256)],
        [ETH / V4 / TCP(sport=1000, dport=i) / DATA for i in range(256)],
        [ETH / IP(src="192.0.2.1", dst="198.51.100.%d" % i) / UDP(sport=9, dport=9) / DATA for i in range(256)],
        [ETH / IPv6(src="2001:db8::1", dst="2001:db8::%x" % (i + 1)) / TCP(sport=9, dport=9) / DATA for i in range(256)])

print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by packets.py. */")
count = 0

def bytes_of(pkt):
    global count
    data = bytes(pkt)
    print("static const uint8_t frame%d[] = {%s};" % (count, ",".join(str(b) for b in data)))
    count += 1
    return "{frame%d, %d}" % (count - 1, len(data))

def table(name, sets):
    rows = [(i, bytes_of(p)) for i, group in enumerate(sets) for p in group]
    print("static const struct frame %s[] = {" % name)
    for i, row in rows:
        print("\t{%d, %s}," % (i, row[1:-1]))
    print("};")

table("alike", groups)
table("nothing", [nothing])
table("many", many)
