#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes net_packets.h: what neighbours send, and what a port has to send, as scapy builds it."""
from scapy.all import ARP, Dot1Q, Ether, ICMP, IP, IPOption_NOP, IPv6, Raw, TCP, UDP
from scapy.all import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                       ICMPv6NDOptSrcLLAddr, ICMPv6NDOptMTU)

US, PEER, EVIL = "02:00:00:00:00:aa", "02:00:00:00:00:bb", "02:00:00:00:00:ee"
BCAST, ZERO = "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"
A, B, A6, B6 = "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"
ALL, ALL_MAC = "ff02::1", "33:33:00:00:00:01"
SOL_A6, SOL_A6_MAC, SOL_B6, SOL_B6_MAC = "ff02::1:ff00:1", "33:33:ff:00:00:01", "ff02::1:ff00:2", "33:33:ff:00:00:02"
DATA = bytes(range(200))


def arp(op, src=PEER, dst=BCAST, **fields):
    return Ether(src=src, dst=dst) / ARP(op=op, hwsrc=fields.pop("hwsrc", src), **fields)


def request(**f):
    return arp(1, hwdst=ZERO, psrc=f.pop("psrc", B), pdst=f.pop("pdst", A), **f)


def reply(**f):
    return arp(2, dst=f.pop("dst", US), hwdst=US, psrc=f.pop("psrc", B), pdst=f.pop("pdst", A), **f)


def ns(src=B6, dst=SOL_A6, mac=SOL_A6_MAC, tgt=A6, lladdr=PEER, frm=PEER, hlim=255):
    p = Ether(src=frm, dst=mac) / IPv6(src=src, dst=dst, hlim=hlim) / ICMPv6ND_NS(tgt=tgt)
    return p / ICMPv6NDOptSrcLLAddr(lladdr=lladdr) if lladdr else p


def na(src=B6, dst=A6, mac=US, tgt=B6, lladdr=PEER, frm=PEER, s=1, o=1):
    p = Ether(src=frm, dst=mac) / IPv6(src=src, dst=dst, hlim=255) / ICMPv6ND_NA(R=0, S=s, O=o, tgt=tgt)
    return p / ICMPv6NDOptDstLLAddr(lladdr=lladdr) if lladdr else p


def our_na(mac=PEER, dst=B6, s=1, tgt=A6):
    return Ether(src=US, dst=mac) / IPv6(src=tgt, dst=dst, hlim=255) / \
        ICMPv6ND_NA(R=0, S=s, O=1, tgt=tgt) / ICMPv6NDOptDstLLAddr(lladdr=US)


def tag(p, vlan):
    e = p.copy()
    e.remove_payload()
    return Ether(src=e.src, dst=e.dst) / Dot1Q(vlan=vlan) / p.payload


def patch(p, at, *values):
    """Bytes of the frame replaced, after the checksums were made."""
    b = bytearray(bytes(p))
    b[at:at + len(values)] = values
    return bytes(b)


our_reply = Ether(src=US, dst=PEER) / ARP(op=2, hwsrc=US, psrc=A, hwdst=PEER, pdst=B)
to_us, from_us = Ether(src=PEER, dst=US), Ether(src=US, dst=PEER)
ping = to_us / IP(src=B, dst=A, ttl=3, id=9) / ICMP(type=8, id=7, seq=5) / Raw(DATA)
ping6 = to_us / IPv6(src=B6, dst=A6, hlim=9) / ICMPv6EchoRequest(id=1, seq=2, data=DATA)

# Each is answered by the second one.
pairs = {
    "arp": (request(), our_reply),
    "arp_unicast": (request(dst=US), our_reply),
    "arp_tagged": (tag(request(), 42), tag(our_reply, 42)),
    "arp_priority": (tag(request(), 0), our_reply),
    "arp_probe": (request(psrc="0.0.0.0"), Ether(src=US, dst=PEER) /
                  ARP(op=2, hwsrc=US, psrc=A, hwdst=PEER, pdst="0.0.0.0")),
    "arp_far": (request(psrc="198.51.100.9"), Ether(src=US, dst=PEER) /
                ARP(op=2, hwsrc=US, psrc=A, hwdst=PEER, pdst="198.51.100.9")),
    "ns": (ns(), our_na()),
    "ns_tagged": (tag(ns(), 42), tag(our_na(), 42)),
    "ns_bare": (ns(dst=A6, mac=US, lladdr=None), our_na()),
    "ns_dad": (ns(src="::", lladdr=None), our_na(mac=ALL_MAC, dst=ALL, s=0)),
    "ns_options": (ns(lladdr=None) / ICMPv6NDOptMTU() / ICMPv6NDOptSrcLLAddr(lladdr=PEER), our_na()),
}
echoes = {
    "icmp": (ping, from_us / IP(src=A, dst=B, ttl=64, id=9) / ICMP(type=0, id=7, seq=5) / Raw(DATA)),
    "icmp_tagged": (tag(ping, 42),
                    tag(from_us / IP(src=A, dst=B, ttl=64, id=9) / ICMP(type=0, id=7, seq=5) / Raw(DATA), 42)),
    "icmp6": (ping6, from_us / IPv6(src=A6, dst=B6, hlim=64) / ICMPv6EchoReply(id=1, seq=2, data=DATA)),
}
tcp_in, tcp_out = to_us / IP(src=B, dst=A, ttl=9, id=7), from_us / IP(src=A, dst=B, ttl=64, id=0, flags="DF")


def call(flags, data=b"", ip=tcp_in, **f):
    return ip / TCP(sport=4000, dport=80, flags=flags, seq=1000, **f) / Raw(data)


def rst(flags, **f):
    return tcp_out / TCP(sport=80, dport=4000, flags=flags, window=0, **f)


# RFC 9293, 3.10.7.1: what a segment is answered by where there is no connection.
refusals = {
    "syn": (call("S", options=[("MSS", 1460), ("WScale", 7)]), rst("RA", seq=0, ack=1001)),
    "syn_wrap": (to_us / IP(src=B, dst=A) / TCP(sport=4000, dport=80, flags="S", seq=0xffffffff), rst("RA", seq=0, ack=0)),
    "syn_data": (call("S", b"12345"), rst("RA", seq=0, ack=1006)),
    "ack": (call("A", b"data", ack=77), rst("R", seq=77)),
    "syn_ack": (call("SA", ack=0xfffffff0), rst("R", seq=0xfffffff0)),
    "fin": (call("F", b"1"), rst("RA", seq=0, ack=1002)),
    "none": (call("", b"123"), rst("RA", seq=0, ack=1003)),
    "options": (call("S", ip=to_us / IP(src=B, dst=A, options=[IPOption_NOP()] * 4)), rst("RA", seq=0, ack=1001)),
    "tagged": (tag(call("S"), 42), tag(rst("RA", seq=0, ack=1001), 42)),
}
# Nobody answers these.
left_alone = {
    "rst": call("R"),
    "rst_ack": call("RA", ack=5),
    "other": call("S", ip=to_us / IP(src=B, dst="192.0.2.77")),
    "other_vlan": tag(call("S"), 43),
    "other_mac": call("S", ip=Ether(src=PEER, dst=EVIL) / IP(src=B, dst=A)),
    "group_source": call("S", ip=to_us / IP(src="224.0.0.1", dst=A)),
    "piece": call("S", ip=to_us / IP(src=B, dst=A, flags="MF")),
    "later_piece": call("S", ip=to_us / IP(src=B, dst=A, frag=9)),
    "sum": patch(call("S"), 50, 0xde, 0xad),
    "ip_sum": patch(call("S"), 24, 0xde, 0xad),
    "header": patch(call("S"), 46, 0x40),
    "long_header": patch(call("S"), 46, 0xf0),
    "udp": to_us / IP(src=B, dst=A) / UDP(sport=4000, dport=80) / Raw(b"0123456789012345"),
}
# No answer, and nothing wrong with them either.
quiet = {
    "arp_other": request(pdst="192.0.2.77"),
    "arp_announce": request(psrc=B, pdst=B),
    "arp_reply": reply(),
    "arp_own": request(src=US, psrc=A, pdst=A),
    "arp_own_sha": request(src=PEER, hwsrc=US, psrc=A, pdst=A),
    "arp_rarp": arp(3, psrc=B, pdst=A),
    "arp_other_vlan": tag(request(), 43),
    "ns_other": ns(tgt="2001:db8::77"),
    "ns_dad_other": ns(src="::", lladdr=None, tgt="2001:db8::77", dst="ff02::1:ff00:77", mac="33:33:ff:00:00:77"),
    "na_unknown": na(),
    "na_multicast": na(dst=ALL, mac=ALL_MAC, s=0),
    "icmp6_reply": to_us / IPv6(src=B6, dst=A6) / ICMPv6EchoReply(),
    "udp6": to_us / IPv6(src=B6, dst=A6) / UDP(),
}
# Refused and counted.
malformed = {
    "arp_hw": request(hwtype=6),
    "arp_proto": request(ptype=0x86dd),
    "arp_hlen": patch(request(), 18, 20),
    "arp_plen": patch(request(), 19, 16),
    "arp_short": bytes(request())[:41],
    "arp_group_sha": request(hwsrc="01:00:5e:00:00:01"),
    "arp_zero_sha": request(hwsrc=ZERO),
    "arp_group_sip": request(psrc="224.0.0.5"),
    "arp_loop_sip": request(psrc="127.0.0.1"),
    "ns_hops": ns(hlim=254),
    "ns_code": patch(ns(), 55, 1),
    "ns_sum": patch(ns(), 56, 0xde, 0xad),
    "ns_group": ns(tgt="ff02::5"),
    "ns_mapped": ns(tgt="::ffff:192.0.2.1"),
    "ns_mapped_src": ns(src="::ffff:192.0.2.2"),
    "ns_long": Ether(src=PEER, dst=SOL_A6_MAC) / IPv6(src=B6, dst=SOL_A6, hlim=255, plen=1000) / ICMPv6ND_NS(tgt=A6),
    "ns_short": Ether(src=PEER, dst=SOL_A6_MAC) / IPv6(src=B6, dst=SOL_A6, hlim=255, plen=20) / ICMPv6ND_NS(tgt=A6),
    "ns_opt_zero": ns(lladdr=None) / Raw(bytes([1, 0, 2, 0, 0, 0, 0, 0xbb])),
    "ns_opt_over": ns(lladdr=None) / Raw(bytes([1, 2, 2, 0, 0, 0, 0, 0xbb])),
    "ns_opt_stub": ns(lladdr=None) / Raw(bytes([1])),
    "ns_dad_opt": ns(src="::"),
    "ns_dad_unicast": ns(src="::", dst=A6, mac=US, lladdr=None),
    "na_group_solicited": na(dst=ALL, mac=ALL_MAC, s=1),
    "na_mapped": na(tgt="::ffff:192.0.2.2"),
}
# Someone has our address.
conflicts = {
    "arp_steal": request(src=EVIL, psrc=A, pdst=A),
    "arp_steal_reply": reply(src=EVIL, psrc=A, pdst=B),
    "arp_steal_ask": request(src=EVIL, psrc=A, pdst=B),
    "ns_steal": ns(src=A6, dst=SOL_B6, mac=SOL_B6_MAC, tgt=B6, frm=EVIL, lladdr=EVIL),
    "na_steal": na(src=A6, tgt=A6, dst=ALL, mac=ALL_MAC, s=0, frm=EVIL, lladdr=EVIL),
}
# What the port sends by itself.
own = {
    "ask": arp(1, src=US, hwdst=ZERO, psrc=A, pdst=B),
    "ask_tagged": tag(arp(1, src=US, hwdst=ZERO, psrc=A, pdst=B), 42),
    "ask_unicast": arp(1, src=US, dst=PEER, hwdst=ZERO, psrc=A, pdst=B),
    "ask6": ns(src=A6, dst=SOL_B6, mac=SOL_B6_MAC, tgt=B6, frm=US, lladdr=US),
    "ask6_unicast": ns(src=A6, dst=B6, mac=PEER, tgt=B6, frm=US, lladdr=US),
    "announce": arp(1, src=US, hwdst=ZERO, psrc=A, pdst=A),
    "announce6": our_na(mac=ALL_MAC, dst=ALL, s=0),
}
# What a neighbour says, by name
heard = {
    "reply": reply(), "reply_evil": reply(src=EVIL), "reply_bcast": reply(dst=BCAST),
    "gratuitous_evil": request(src=EVIL, psrc=B, pdst=B), "request_evil": request(src=EVIL),
    "na_s_o": na(), "na_s": na(o=0), "na_s_evil": na(o=0, lladdr=EVIL), "na_evil": na(s=0, o=0, lladdr=EVIL),
    "na_o_evil": na(s=0, lladdr=EVIL), "na_s_o_evil": na(lladdr=EVIL), "na_s_bare": na(lladdr=None),
    "na_none": na(s=0, o=0), "ns_peer": ns(), "ns_evil": ns(frm=EVIL, lladdr=EVIL),
    "request": request(), "reply_tagged": tag(reply(), 42),
}


def array(p):
    b = bytes(p)
    return "(const uint8_t[]){" + ",".join(str(x) for x in b) + "}, %d" % len(b)


def padded(p):
    return bytes(p).ljust(60, b"\0")


def main():
    print("#include <stdint.h>\n\nstruct net_pair { const char *name; const uint8_t *in; unsigned int in_len; const uint8_t *out; "
          "unsigned int out_len; };")
    print("struct net_packet { const char *name; const uint8_t *data; unsigned int len; };")
    print("static const struct net_pair pairs[] = {")
    for k, (a, b) in pairs.items():
        print('{"%s", %s, %s},' % (k, array(a), array(padded(b))))
    print("};\nstatic const struct net_pair echoes[] = {")
    for k, (a, b) in echoes.items():
        print('{"%s", %s, %s},' % (k, array(a), array(b)))
    print("};\nstatic const struct net_pair refusals[] = {")
    for k, (a, b) in refusals.items():
        print('{"%s", %s, %s},' % (k, array(a), array(padded(b))))
    print("};")
    for name, d, f in (("left_alone", left_alone, bytes), ("quiet", quiet, bytes), ("malformed", malformed, bytes), ("conflicts", conflicts, bytes),
                       ("own", own, padded), ("heard", heard, bytes)):
        print("static const struct net_packet %s[] = {" % name)
        for k, p in d.items():
            print('{"%s", %s},' % (k, array(f(p))))
        print("};")


if __name__ == '__main__':
    main()
