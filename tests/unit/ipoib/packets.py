#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of both sides as scapy makes them, printed as C arrays for test_xlate.c and test_snoop.c."""
import logging

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.contrib.igmp import IGMP  # noqa: E402
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mr  # noqa: E402
from scapy.all import (ARP, BOOTP, DHCP, ICMPv6MLDMultAddrRec, ICMPv6MLDone, ICMPv6MLReport, ICMPv6MLReport2,  # noqa: E402
                       ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6ND_RS,
                       ICMPv6NDOptDstLLAddr, ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr,
                       ICMPv6NDOptUnknown, IP, IPOption_Router_Alert, IPv6, IPv6ExtHdrHopByHop, RouterAlert, UDP, raw)

# We are queue pair 0x48 on a port that takes RC, the peer is 0x1234.
OUR_MAC, PEER_MAC = "f4:52:14:01:b8:a1", "f4:52:14:01:c0:02"
OUR_HW = bytes.fromhex("80000048" "fe80000000000000" "f4521403" "0001b8a1")
PEER_HW = bytes.fromhex("00001234" "fe80000000000000" "f4521403" "0001c002")
NOBODY = bytes(20)
print("#include <stdint.h>")


def emit(name, packet):
    data = raw(packet)
    print("static const uint8_t %s[] = {%s};" % (name, ", ".join("0x%02x" % b for b in data)))


def arp_ib(op, shw, sip, thw, tip):
    return ARP(hwtype=32, ptype=0x0800, hwlen=20, plen=4, op=op, hwsrc=shw, psrc=sip, hwdst=thw, pdst=tip)


emit("arp_request_eth", ARP(op=1, hwsrc=OUR_MAC, psrc="10.0.0.1", pdst="10.0.0.2"))
emit("arp_request_ib", arp_ib(1, OUR_HW, "10.0.0.1", NOBODY, "10.0.0.2"))
emit("arp_reply_eth", ARP(op=2, hwsrc=OUR_MAC, psrc="10.0.0.1", hwdst=PEER_MAC, pdst="10.0.0.2"))
emit("arp_reply_ib", arp_ib(2, OUR_HW, "10.0.0.1", PEER_HW, "10.0.0.2"))
emit("arp_answer_ib", arp_ib(2, PEER_HW, "10.0.0.2", OUR_HW, "10.0.0.1"))
emit("arp_answer_eth", ARP(op=2, hwsrc=PEER_MAC, psrc="10.0.0.2", hwdst=OUR_MAC, pdst="10.0.0.1"))
emit("arp_asked_ib", arp_ib(1, PEER_HW, "10.0.0.2", NOBODY, "10.0.0.1"))
emit("arp_asked_eth", ARP(op=1, hwsrc=PEER_MAC, psrc="10.0.0.2", hwdst="00:00:00:00:00:00", pdst="10.0.0.1"))


def ll_ib(kind, hw):
    return ICMPv6NDOptUnknown(type=kind, len=3, data=b"\0\0" + hw)


ip6 = IPv6(src="fe80::1", dst="ff02::1:ff00:2", hlim=255)
uni = IPv6(src="fe80::2", dst="fe80::1", hlim=255)
emit("ns_eth", ip6 / ICMPv6ND_NS(tgt="fe80::2") / ICMPv6NDOptSrcLLAddr(lladdr=OUR_MAC))
emit("ns_ib", ip6 / ICMPv6ND_NS(tgt="fe80::2") / ll_ib(1, OUR_HW))
emit("dad", IPv6(src="::", dst="ff02::1:ff00:2", hlim=255) / ICMPv6ND_NS(tgt="fe80::2"))
emit("na_ib", uni / ICMPv6ND_NA(tgt="fe80::2", R=0, S=1, O=1) / ll_ib(2, PEER_HW))
emit("na_vm", IPv6(src="fe80::aa", dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt="2001:db8::aa", R=0, S=0, O=1)
     / ICMPv6NDOptDstLLAddr(lladdr="02:aa:00:00:00:01"))
emit("na_eth", uni / ICMPv6ND_NA(tgt="fe80::2", R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=PEER_MAC))
emit("rs_eth", ip6 / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr=OUR_MAC))
emit("rs_ib", ip6 / ICMPv6ND_RS() / ll_ib(1, OUR_HW))
mtu, prefix = ICMPv6NDOptMTU(mtu=2044), ICMPv6NDOptPrefixInfo(prefix="2001:db8::", prefixlen=64)
emit("ra_ib", uni / ICMPv6ND_RA() / mtu / ll_ib(1, PEER_HW) / prefix)
emit("ra_eth", uni / ICMPv6ND_RA() / mtu / ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC) / prefix)
emit("redirect_ib", uni / ICMPv6ND_Redirect(tgt="fe80::2", dst="2001:db8::2") / ll_ib(2, PEER_HW))
emit("redirect_eth",
     uni / ICMPv6ND_Redirect(tgt="fe80::2", dst="2001:db8::2") / ICMPv6NDOptDstLLAddr(lladdr=PEER_MAC))


def dhcp(ip, udp, bootp, options):
    return ip / udp / bootp / DHCP(options=options + ["end"])


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


client = (IP(src="0.0.0.0", dst="255.255.255.255"), UDP(sport=68, dport=67))
server = (IP(src="10.0.0.2", dst="255.255.255.255"), UDP(sport=67, dport=68))
# RFC 4361: 255, IAID, DUID-LL with type 32 and the port's GUID.
IDENT = b"\xff" + mac(OUR_MAC)[2:] + bytes.fromhex("0003" "0020" "f45214030001b8a1")
discover = [("message-type", "discover")]
emit("discover_eth", dhcp(*client, BOOTP(chaddr=mac(OUR_MAC), xid=0x12345678), discover))
emit("discover_ib", dhcp(*client, BOOTP(htype=32, hlen=0, chaddr=b"", xid=0x12345678, flags=0x8000),
                         discover + [("client_id", IDENT)]))
# Boot firmware is a client of Ethernet on InfiniBand, too.
emit("discover_peer", dhcp(*client, BOOTP(chaddr=mac(PEER_MAC), xid=0x12345678), discover))
emit("named_eth", dhcp(*client, BOOTP(chaddr=mac(OUR_MAC), xid=7), discover + [("client_id", b"\x01name")]))
emit("named_ib", dhcp(*client, BOOTP(htype=32, hlen=0, chaddr=b"", xid=7, flags=0x8000),
                      discover + [("client_id", b"\x01name")]))
offer = [("message-type", "offer"), ("server_id", "10.0.0.2")]
emit("offer_ib", dhcp(*server, BOOTP(op=2, htype=32, hlen=0, chaddr=b"", xid=0x12345678, flags=0x8000,
                                     yiaddr="10.0.0.9"), offer))
emit("offer_eth", dhcp(*server, BOOTP(op=2, chaddr=mac(OUR_MAC), xid=0x12345678, flags=0x8000, yiaddr="10.0.0.9"),
                       offer))
emit("offer_peer", dhcp(*server, BOOTP(op=2, chaddr=mac(PEER_MAC), xid=0x12345678, flags=0x8000, yiaddr="10.0.0.9"),
                        offer))
emit("udp_eth", IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / b"x")

alert = [IPOption_Router_Alert()]
ip4 = IP(src="10.0.0.1", ttl=1, options=alert)


def igmp(dst, msg):
    packet = ip4.copy()
    packet.dst = dst
    packet.proto = 2
    return packet / msg


emit("igmp2_report", igmp("239.1.2.3", IGMP(type=0x16, gaddr="239.1.2.3")))
emit("igmp2_leave", igmp("224.0.0.2", IGMP(type=0x17, gaddr="239.1.2.3")))
records = [IGMPv3gr(rtype=4, maddr="239.1.2.3"), IGMPv3gr(rtype=3, maddr="239.1.2.4"),
           IGMPv3gr(rtype=5, maddr="232.9.9.9", srcaddrs=["10.0.0.7"]), IGMPv3gr(rtype=6, maddr="232.9.9.8",
                                                                                srcaddrs=["10.0.0.7"])]
emit("igmp3_report", igmp("224.0.0.22", IGMPv3(type=0x22) / IGMPv3mr(records=records)))
hop = IPv6ExtHdrHopByHop(options=[RouterAlert(value=0)])
emit("mld1_report", IPv6(src="fe80::1", dst="ff02::99", hlim=1) / hop / ICMPv6MLReport(mladdr="ff02::99"))
emit("mld1_done", IPv6(src="fe80::1", dst="ff02::2", hlim=1) / hop / ICMPv6MLDone(mladdr="ff02::99"))
emit("mld2_report", IPv6(src="fe80::1", dst="ff02::16", hlim=1) / hop / ICMPv6MLReport2(records=[
    ICMPv6MLDMultAddrRec(rtype=4, dst="ff02::1:ff00:2"), ICMPv6MLDMultAddrRec(rtype=3, dst="ff05::7"),
    ICMPv6MLDMultAddrRec(rtype=1, dst="ff3e::8", sources=["2001:db8::1", "2001:db8::2"])]))
