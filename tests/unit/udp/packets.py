#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes udp_packets.h: frames as scapy builds them, to a host 192.0.2.1 and what it must send."""
from scapy.all import ICMP, IP, TCP, UDP, Dot1Q, Ether, IPOption_NOP, Raw, fragment

US, PEER, GROUP = '192.0.2.1', '192.0.2.2', '239.1.130.3'
IN = Ether(src='04:04:04:04:04:04', dst='02:02:02:02:02:02')
OUT = Ether(src='02:02:02:02:02:02', dst='04:04:04:04:04:04')
DATA = bytes(i * 7 % 256 for i in range(5000))


def to_us(data, ip=None, **udp):
    return IN / (ip or IP(src=PEER, dst=US, ttl=61, tos=0x48)) / UDP(**{'sport': 7000, 'dport': 5000, **udp}) / Raw(data)


def from_us(data, ttl=64, tos=0, flags='DF', to=PEER, ip_id=0x1234, eth=OUT):
    return eth / IP(src=US, dst=to, ttl=ttl, tos=tos, flags=flags, id=ip_id) / UDP(sport=5000, dport=7000) / Raw(data)


def to_many(mac, ip):
    return Ether(src='04:04:04:04:04:04', dst=mac) / IP(src=PEER, dst=ip) / UDP(sport=7000, dport=5000) / Raw(DATA[:50])


def with_field(pkt, layer, **fields):
    p = Ether(bytes(pkt))
    for k, v in fields.items():
        setattr(p[layer], k, v)
    return p


def quoted(icmp, pkt):
    """ICMP to us about a packet of ours; routers quote 8 octets of what IP carries."""
    return IN / IP(src='192.0.2.254', dst=US) / icmp / Raw(bytes(pkt[IP])[:28])


plain = to_us(DATA[:100])
ours = from_us(DATA[:100])
parts = fragment(to_us(DATA[:4000], ip=IP(src=PEER, dst=US, id=77)), 1480)
frames = {
    'plain': plain, 'tagged': IN / Dot1Q(vlan=7) / plain[IP],
    'options': to_us(DATA[:100], ip=IP(src=PEER, dst=US, options=[IPOption_NOP()] * 8)),
    'empty': to_us(b''), 'no_sum': with_field(plain, UDP, chksum=0),
    'bad_sum': with_field(plain, UDP, chksum=Ether(bytes(plain))[UDP].chksum ^ 1),
    'long_len': with_field(plain, UDP, len=109, chksum=0), 'short_len': with_field(plain, UDP, len=7, chksum=0),
    'bad_ip_sum': with_field(plain, IP, chksum=Ether(bytes(plain))[IP].chksum ^ 1),
    'padded': Ether(bytes(to_us(DATA[:3])) + bytes(15)), 'not_ours': to_us(DATA[:100], ip=IP(src=PEER, dst='192.0.2.9')),
    'other_port': to_us(DATA[:900], dport=5001), 'other_peer': to_us(DATA[:100], sport=7001),
    'group': to_many('01:00:5e:01:82:03', GROUP), 'broadcast': to_many('ff:ff:ff:ff:ff:ff', '192.0.2.255'),
    'tcp': IN / IP(src=PEER, dst=US) / TCP(sport=1, dport=2), 'ping': IN / IP(src=PEER, dst=US) / ICMP() / Raw(b'x' * 40),
    'port_unreachable': quoted(ICMP(type=3, code=3), ours), 'host_unreachable': quoted(ICMP(type=3, code=1), ours),
    'too_large': quoted(ICMP(type=3, code=4, nexthopmtu=900), ours), 'time_exceeded': quoted(ICMP(type=11, code=0), ours),
    'about_tcp': quoted(ICMP(type=3, code=3), OUT / IP(src=US, dst=PEER) / TCP(sport=5000, dport=7000)),
    'out_plain': ours, 'out_marked': from_us(DATA[:100], ttl=9, tos=0xb8), 'out_free': from_us(DATA[:100], flags=0),
    'out_tagged': OUT / Dot1Q(vlan=7) / ours[IP],
    'out_group': from_us(DATA[:100], ttl=1, to=GROUP, eth=Ether(src='02:02:02:02:02:02', dst='01:00:5e:01:82:03')),
    'out_unreachable': OUT / IP(src=US, dst=PEER, tos=0xc0, id=0x1234) / ICMP(type=3, code=3) /
    Raw(bytes(to_us(DATA[:900], dport=5001)[IP])[:548]),
}
for i, p in enumerate(parts):
    frames['part%d' % i] = p
frames['overlap'] = IN / IP(src=PEER, dst=US, id=77, frag=parts[1][IP].frag - 1, flags='MF', proto=17) / Raw(DATA[:1480])
many = fragment(to_us(DATA[:4000], ip=IP(src=PEER, dst=US, id=78)), 200)
for i, p in enumerate(many):
    frames['many%d' % i] = p
for i, p in enumerate(fragment(from_us(DATA[:3000], flags=0), 1480)):
    frames['out_part%d' % i] = p

print('/* SPDX-License-Identifier: BSD-3-Clause */\n/* clang-format off */\n/* Made by packets.py. */')
for name, p in frames.items():
    print('static const uint8_t p_%s[] = {%s};' % (name, ','.join(map(str, bytes(p)))))
print('static const struct { const uint8_t *p; uint32_t len; } p_many[] = {%s};' % ','.join(
    '{p_many%d, sizeof(p_many%d)}' % (i, i) for i in range(len(many))))
