#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes check_frames.h: frames as scapy builds them, with their FCS by zlib, for the frames of triplane-check."""
import zlib

from scapy.all import Dot1Q, Ether, IP, IPv6, Raw, TCP, UDP

DATA = bytes(range(33, 133))
FRAMES = {
    'udp4': Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='192.0.2.1', dst='192.0.2.2', id=0x1234) /
            UDP(sport=4000, dport=5000) / Raw(DATA),
    'tcp4': Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='192.0.2.1', dst='192.0.2.2', id=0x1234) /
            TCP(sport=4000, dport=5000, seq=0xfffffff0, flags='PA', window=65535) / Raw(DATA[:99]),
    'udp6': Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / Dot1Q(vlan=0x123, prio=5) / IPv6(src='2001:db8::1', dst='2001:db8::2') /
            UDP(sport=4000, dport=5000) / Raw(DATA[:1]),
    'tcp6': Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IPv6(src='2001:db8::1', dst='2001:db8::2') /
            TCP(sport=4000, dport=5000, seq=7, flags='PA', window=65535),
}
for name, pkt in FRAMES.items():
    data = bytes(pkt)
    print('static const uint8_t made_%s[] = {%s};' % (name, ', '.join('0x%02x' % b for b in data)))
    print('#define FCS_%s 0x%08xu' % (name.upper(), zlib.crc32(data)))
