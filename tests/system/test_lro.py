#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP segments that scapy built are joined by the receiving port (LRO) and cut again by the sending one (TSO): every connection's
frames come out octet by octet as they went in, in their order."""
import collections
import os
import subprocess

import tpmd
from scapy.all import IP, TCP, UDP, Dot1Q, Ether, IPv6, Raw, rdpcap, wrpcap

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
CARD = '00:02:c9:a1:b2:01'  # port 0's own address: its rule is there before the first frame
EMPTY = bytes.fromhex('d4c3b2a1020004000000000000000000ffff000001000000')
IN, OUT = 2, 3  # the ports before them are the wires'
cases = tpmd.Cases()


def l2(vlan=None):
    eth = Ether(src='02:00:00:00:00:01', dst=CARD)
    return eth / Dot1Q(vlan=vlan, prio=3) if vlan else eth


def connection(port, n, size, v6=False, vlan=None, **tcp):
    """Its last segment is a shorter one, with PSH."""
    for i in range(n):
        last = i == n - 1
        ip = IPv6(src='2001:db8::1', dst='2001:db8::2') if v6 else IP(src='192.0.2.1', dst='192.0.2.2', flags='DF', id=(port + i) & 0xffff)
        yield (l2(vlan) / ip / TCP(sport=port, dport=5201, seq=(0xffffff00 + i * size) & 0xffffffff, ack=9, window=600,
                                   flags='PA' if last else 'A', **tcp) /
               Raw(bytes((port + k * 3 + i) & 0xff for k in range(size - 77 * last))))


def interleaved(*many):
    """Some frames of one, some of the next, and UDP in between."""
    many = [list(m) for m in many]
    out = []
    while any(many):
        for m in many:
            out += m[:7]
            del m[:7]
        out.append(l2() / IP(src='192.0.2.1', dst='192.0.2.2', id=len(out)) / UDP(sport=9, dport=9) / Raw(b'u' * 400))
    return out


def by_connection(frames):
    conn = collections.defaultdict(list)
    for f in frames:
        f = Ether(bytes(f))
        conn[f[TCP].sport if TCP in f else 'udp'].append(bytes(f))
    return conn


def frames():
    stamps = [('NOP', None), ('NOP', None), ('Timestamp', (5, 6))]
    return interleaved(connection(1000, 100, 1400), connection(2000, 60, 1400, v6=True), connection(3000, 80, 999, options=stamps),
                       connection(4000, 40, 501, vlan=7))


def through(d, sent, offloads):
    """What came out, and the counters of the port that received."""
    wrpcap(d + '/in.pcap', sent)
    with open(d + '/none.in', 'wb') as f:
        f.write(EMPTY)
    with tpmd.Triplane(['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/none.pcap' % (d, d),
                        'net_pcap1,rx_pcap=%s/none.in,tx_pcap=%s/out.pcap' % (d, d),
                        'net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1'], offloads + ['--burst', '64']) as t:
        # All of them wait in the ring, so that bursts are full however the lcores run.
        tpmd.wait_until(lambda: t.xstats(IN)['rx_port_packets'] >= len(sent), 120)
        t.tell('start')
        tpmd.wait_until(lambda: t.xstats(OUT)['tx_port_packets'] >= len(sent), 120)
        x = t.xstats(IN)
        broken = sum(p['violations'] for p in t.ask('show model')['ports'])
        t.end()
    return rdpcap(d + '/out.pcap'), x, broken


def relay(offloads, joined):
    sent = frames()
    with tpmd.scratch() as d:
        got, x, broken = through(d, sent, offloads)
    if broken:
        return '%d rules were broken' % broken
    want, have = by_connection(sent), by_connection(got)
    for conn in want:
        if want[conn] != have[conn]:
            first = next((i for i, (a, b) in enumerate(zip(want[conn], have[conn])) if a != b), len(have[conn]))
            return 'connection %s: %d frames of %d, frame %d differs' % (conn, len(have[conn]), len(want[conn]), first)
    if (x['rx_lro_events'] != 0) != joined or x['rx_lro_aborts'] != 0:
        return 'counters: %s' % {k: v for k, v in x.items() if 'lro' in k}
    if joined and not 2 * x['rx_lro_events'] <= x['rx_lro_packets'] <= 280:
        return 'joined %d segments into %d packets' % (x['rx_lro_packets'], x['rx_lro_events'])
    return None


def refused():
    for args, words in ((['--rx-offloads', 'tcp_lro', '-e', 'start'], ('tcp_lro', 'tcp_tso')),
                        (['--rx-offloads', 'tcp_lro,keep_crc', '-e', 'show fwd'], ('KEEP_CRC',))):
        eal = tpmd.eal('lro%d' % os.getpid(), plugin=False) + ['--log-level=*:error']
        p = subprocess.run([APP] + eal + ['--vdev=net_mlx4_model0', '--'] + args, capture_output=True, text=True, timeout=240,
                           stdin=subprocess.DEVNULL)
        if p.returncode != 1 or not all(w in p.stderr for w in words):
            return '%s: exit status %s, %r' % (args, p.returncode, p.stderr)
    return None


cases.run('lro-relay', relay, ['--rx-offloads', 'tcp_lro', '--tx-offloads', 'tcp_tso'], True)
cases.run('lro-off', relay, [], False)
cases.run('lro-refused', refused)
cases.exit()
