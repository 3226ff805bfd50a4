#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes lro_packets.h: bursts of frames as scapy builds them, and the packets that they must become, which scapy builds, too."""
from scapy.all import Dot1Q, IP, IPv6, TCP, UDP, Ether, Padding, Raw

ETH = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
V4, V6 = IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", ttl=61), IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=61)
PORTS = TCP(sport=40000, dport=5201, seq=0xfffffe00, ack=77, window=512, flags="A")
STAMPS = [("NOP", None), ("NOP", None), ("Timestamp", (1000, 2000))]

def data(start, n):
    return bytes((i * 7 + i // 251) & 0xff for i in range(start, start + n))

def seg(start, n, l3=V4, ident=None, l2=ETH, **tcp):
    """A segment of n octets from start on of the connection's data."""
    l3, l4 = l3.copy(), PORTS.copy()
    if IPv6 not in l3:
        l3.id = 100 + start // 1000 if ident is None else ident
    l4.seq = (PORTS.seq + start) & 0xffffffff
    for k, v in tcp.items():
        setattr(l4, k, v)
    return l2 / l3 / l4 / Raw(data(start, n))

def other(i, n=1000):
    """One of another connection."""
    return seg(1000 * i, n, IP(src="192.0.2.9", dst="192.0.2.2", flags="DF"))

def run(n, size=1000, **kw):
    return [seg(i * size, size, **kw) for i in range(n)]

UDP4 = ETH / V4 / UDP(sport=1, dport=2) / Raw(b"u" * 900)
ODD = [seg(0, 333, ident=1), seg(333, 333, ident=2), seg(666, 333, ident=3), seg(999, 100, ident=4)]
cases = []

def case(name, frames, want, segs=(), aborts=0, bad=()):
    """segs: how many frames are in each wanted packet, 1 where it is one as it came; bad: frames with a wrong checksum."""
    cases.append((name, frames, want, list(segs) or [1] * len(want), aborts, bad))

case("four", run(4), [seg(0, 4000, ident=100)], [4])
case("v6", run(4, l3=V6), [seg(0, 4000, l3=V6)], [4])
case("vlan", run(3, l2=ETH / Dot1Q(vlan=7, prio=2)), [seg(0, 3000, ident=100, l2=ETH / Dot1Q(vlan=7, prio=2))], [3])
case("options", run(3, options=STAMPS), [seg(0, 3000, ident=100, options=STAMPS)], [3])
case("odd lengths", ODD, [seg(0, 1099, ident=1)], [4])
case("push ends it", [seg(0, 1000), seg(1000, 1000, flags="PA"), seg(2000, 1000), seg(3000, 1000)],
     [seg(0, 2000, ident=100, flags="PA"), seg(2000, 2000, ident=102)], [2, 2])
case("a short one ends it", [seg(0, 1000), seg(1000, 1000), seg(2000, 400, ident=102), seg(2400, 1000, ident=103)],
     [seg(0, 2400, ident=100), seg(2400, 1000, ident=103)], [3, 1])
# 41 buffers
case("buffers", run(50), [seg(0, 41000, ident=100), seg(41000, 9000, ident=141)], [41, 9])
# 65535 octets with the Ethernet header
case("octets", [seg(i * 14000, 14000, ident=i) for i in range(6)],
     [seg(0, 56000, ident=0), seg(56000, 28000, ident=4)], [4, 2])
mixed = [f for i in range(4) for f in (seg(1000 * i, 1000), other(i), UDP4)]
case("two connections", mixed, [seg(0, 4000, ident=100), other(0, 4000), UDP4, UDP4, UDP4, UDP4], [4, 4, 1, 1, 1, 1])
case("same id", run(3, ident=5), [seg(0, 3000, ident=5)], [3])

def refused(name, second, aborts=1, bad=()):
    """The second frame is not joined to the first; what comes behind is not moved in front of it."""
    case(name, [seg(0, 1000), second], [seg(0, 1000), second], aborts=aborts, bad=bad)

refused("hole", seg(2000, 1000))
refused("again", seg(0, 1000))
refused("larger", seg(1000, 1001))
refused("ack moved", seg(1000, 1000, ack=78))
refused("window", seg(1000, 1000, window=513))
refused("fin", seg(1000, 1000, flags="FA"))
refused("reset", seg(1000, 0, flags="R"))
refused("urgent", seg(1000, 1000, flags="UA", urgptr=1))
refused("congestion", seg(1000, 1000, flags="EA"))
refused("plain ack", seg(1000, 0))
refused("options differ", seg(1000, 1000, options=STAMPS))
refused("ttl", seg(1000, 1000, IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", ttl=60)))
refused("marked", seg(1000, 1000, IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", ttl=61, tos=3)))
refused("id", seg(1000, 1000, ident=102))
refused("other mac", seg(1000, 1000, l2=Ether(src="02:00:00:00:00:03", dst="02:00:00:00:00:02")))
refused("wrong checksum", seg(1000, 1000), bad=(1,))
refused("other port", seg(1000, 1000, sport=40001), aborts=0)
case("same id may fragment", [seg(0, 1000, IP(src="192.0.2.1", dst="192.0.2.2"), ident=5),
                              seg(1000, 1000, IP(src="192.0.2.1", dst="192.0.2.2"), ident=5)],
     [seg(0, 1000, IP(src="192.0.2.1", dst="192.0.2.2"), ident=5),
      seg(1000, 1000, IP(src="192.0.2.1", dst="192.0.2.2"), ident=5)], aborts=1)
fin = [seg(0, 1000), seg(1000, 1000), seg(2000, 1000, flags="FA", ident=102), seg(3000, 1000, ident=103),
       seg(4000, 1000, ident=104)]
case("order around a fin", fin, [seg(0, 2000, ident=100), fin[2], seg(3000, 2000, ident=103)], [2, 1, 2], aborts=1)
# Ethernet's padding is no data: such a frame may be the last one, not the first.
PAD = Padding(b"\0" * 20)
case("padding", [seg(0, 1000), seg(1000, 1000), seg(2000, 2, ident=102) / PAD], [seg(0, 2002, ident=100)], [3])
case("padding first", [seg(0, 2, ident=1) / PAD, seg(2, 2, ident=2) / PAD], [seg(0, 2, ident=1) / PAD, seg(2, 2, ident=2) / PAD])
# More connections than are looked after at a time: none is lost, none out of order.
many = [seg(1000 * k, 1000, IP(src="192.0.2.1", dst="198.51.100.%d" % i, flags="DF")) for i in range(12) for k in range(2)]
case("many connections", many, [seg(0, 2000, IP(src="192.0.2.1", dst="198.51.100.%d" % i, flags="DF"), ident=100)
                                for i in range(12)], [2] * 12)

print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by lro_packets.py. */")
count = 0

def array(pkt):
    global count
    print("static const uint8_t frame%d[] = {%s};" % (count, ",".join(str(b) for b in bytes(pkt))))
    count += 1
    return count - 1

rows = []
for i, (name, frames, want, segs, aborts, bad) in enumerate(cases):
    assert len(want) == len(segs) and sum(segs) == len(frames), name
    a, b = [array(f) for f in frames], [array(f) for f in want]
    for which, ids in (("in", a), ("out", b)):
        print("static const struct frame %s%d[] = {" % (which, i))
        for k, n in enumerate(ids):
            f = (frames if which == "in" else want)[k]
            v6, tcp = IPv6 in f, TCP in f
            print("\t{frame%d, sizeof(frame%d), %d, %d, %d, %d}," %
                  (n, n, v6, tcp, which == "in" and k in bad, segs[k] if which == "out" else 1))
        print("};")
    rows.append('{"%s", in%d, %d, out%d, %d, %d},' % (name, i, len(a), i, len(b), aborts))
print("static const struct lro_case lro_cases[] = {\n\t" + "\n\t".join(rows) + "\n};")
