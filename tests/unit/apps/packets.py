#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes packets.h: requests and the answers that they should get, as scapy builds them."""
from scapy.all import ARP, Dot1Q, Ether, ICMP, IP, IPv6, UDP, Raw, fragment, fragment6
from scapy.all import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                       ICMPv6NDOptSrcLLAddr, IPv6ExtHdrFragment)

US, PEER, BCAST = "02:00:00:00:00:aa", "02:00:00:00:00:bb", "ff:ff:ff:ff:ff:ff"
A, B, A6, B6 = "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"
DATA = bytes(range(200))

def to_us():
    return Ether(src=PEER, dst=US)

def from_us():
    return Ether(src=US, dst=PEER)

pairs = {
    "arp": (Ether(src=PEER, dst=BCAST) / ARP(op=1, hwsrc=PEER, psrc=B, pdst=A, hwdst="00:00:00:00:00:00"),
            from_us() / ARP(op=2, hwsrc=US, psrc=A, hwdst=PEER, pdst=B)),
    "icmp": (to_us() / IP(src=B, dst=A, ttl=3, id=9) / ICMP(type=8, id=7, seq=5) / Raw(DATA),
             from_us() / IP(src=A, dst=B, ttl=64, id=9) / ICMP(type=0, id=7, seq=5) / Raw(DATA)),
    "vlan": (to_us() / Dot1Q(vlan=42) / IP(src=B, dst=A, id=9) / ICMP(type=8) / Raw(DATA[:3]),
             from_us() / Dot1Q(vlan=42) / IP(src=A, dst=B, id=9, ttl=64) / ICMP(type=0) / Raw(DATA[:3])),
    "ns": (Ether(src=PEER, dst="33:33:ff:00:00:01") / IPv6(src=B6, dst="ff02::1:ff00:1", hlim=255) /
           ICMPv6ND_NS(tgt=A6) / ICMPv6NDOptSrcLLAddr(lladdr=PEER),
           from_us() / IPv6(src=A6, dst=B6, hlim=255) / ICMPv6ND_NA(R=0, S=1, O=1, tgt=A6) /
           ICMPv6NDOptDstLLAddr(lladdr=US)),
    "ns_bare": (Ether(src=PEER, dst=US) / IPv6(src=B6, dst=A6, hlim=255) / ICMPv6ND_NS(tgt=A6),
                from_us() / IPv6(src=A6, dst=B6, hlim=255) / ICMPv6ND_NA(R=0, S=1, O=1, tgt=A6) /
                ICMPv6NDOptDstLLAddr(lladdr=US)),
    "icmp6": (to_us() / IPv6(src=B6, dst=A6, hlim=9) / ICMPv6EchoRequest(id=1, seq=2, data=DATA),
              from_us() / IPv6(src=A6, dst=B6, hlim=64) / ICMPv6EchoReply(id=1, seq=2, data=DATA)),
}
big = bytes(i * 7 & 0xff for i in range(20000))
quiet = {
    "arp_probe": Ether(src=PEER, dst=BCAST) / ARP(op=1, hwsrc=PEER, psrc="0.0.0.0", pdst=A),
    "arp_announce": Ether(src=PEER, dst=BCAST) / ARP(op=1, hwsrc=PEER, psrc=A, pdst=A),
    "arp_reply": to_us() / ARP(op=2, hwsrc=PEER, psrc=B, pdst=A),
    "echo_reply": to_us() / IP(src=B, dst=A) / ICMP(type=0),
    "udp": to_us() / IP(src=B, dst=A) / UDP(sport=1, dport=2),
    "other_mac": Ether(src=PEER, dst="02:00:00:00:00:cc") / IP(src=B, dst=A) / ICMP(type=8),
    "multicast": Ether(src=PEER, dst="01:00:5e:00:00:01") / IP(src=B, dst="224.0.0.1") / ICMP(type=8),
    "dad": Ether(src=PEER, dst="33:33:ff:00:00:01") / IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) /
           ICMPv6ND_NS(tgt=A6),
    "ns_hops": Ether(src=PEER, dst=US) / IPv6(src=B6, dst=A6, hlim=64) / ICMPv6ND_NS(tgt=A6),
    "ns_cksum": Ether(src=PEER, dst=US) / IPv6(src=B6, dst=A6, hlim=255) / ICMPv6ND_NS(tgt=A6, cksum=1),
    "cut": Ether(bytes((to_us() / IP(src=B, dst=A) / ICMP(type=8) / Raw(DATA)))[:60]),
}

def array(name, pkt):
    data = bytes(pkt)
    print(f"static const uint8_t {name}[] = {{")
    for i in range(0, len(data), 16):
        print("\t" + " ".join(f"0x{b:02x}," for b in data[i:i + 16]))
    print("};")

def flow(name, kind):
    for ver in (4, 6):
        def one(src, dst, req):
            eth = to_us() if req else from_us()
            if ver == 4:
                return fragment(eth / IP(src=src, dst=dst, id=77, ttl=64) / ICMP(type=8 if req else 0, id=3) /
                                Raw(big), 1480)
            msg = ICMPv6EchoRequest if req else ICMPv6EchoReply
            return fragment6(eth / IPv6(src=src, dst=dst, hlim=64) / IPv6ExtHdrFragment(id=78) / msg(id=3, data=big),
                             1496)
        pair = (one(B, A, True), one(A, B, False)) if ver == 4 else (one(B6, A6, True), one(A6, B6, False))
        assert len(pair[0]) == len(pair[1]) >= 14
        kind.append((f"frag{ver}", pair))

print("/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by packets.py. */")
frags = []
flow("frag", frags)
for name, (req, rep) in pairs.items():
    array(name + "_req", req)
    array(name + "_rep", rep)
for name, pkt in quiet.items():
    array(name, pkt)
for name, pair in frags:
    for side, pkts in zip(("req", "rep"), pair):
        for i, pkt in enumerate(pkts):
            array(f"{name}_{side}{i}", pkt)
        print(f"static const struct bytes {name}_{side}[] = {{")
        print("".join(f"\t{{{name}_{side}{i}, sizeof({name}_{side}{i})}},\n" for i in range(len(pkts))) + "};")
for what, rows in (("pairs", [(n, f"{n}_req", f"{n}_rep") for n in pairs]), ("quiet", [(n, n, None) for n in quiet])):
    print(f"static const struct {'exchange' if what == 'pairs' else 'silence'} {what}[] = {{")
    for n, a, b in rows:
        rest = f", {{{b}, sizeof({b})}}" if b else ""
        print(f'\t{{"{n}", {{{a}, sizeof({a})}}{rest}}},')
    print("};")
