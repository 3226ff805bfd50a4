#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Unmodified dpdk-testpmd in scripted sessions as DPDK's test plans have them: filters of addresses and VLANs, tags stripped
and inserted, checksums, large sends, jumbo frames. scapy makes the frames that come in by one port, and judges what leaves by
the other. Filters are set before a port starts, since its wire brings what it has at once.
"""
import re

import tpmd
from scapy.all import Dot1Q, Ether, IP, IPv6, Raw, SCTP, TCP, UDP, rdpcap, wrpcap

cases = tpmd.Cases()
OWN, OTHER, GROUP, ALL = '00:02:c9:a1:b2:01', '02:00:00:00:00:77', '01:00:5e:01:02:03', 'ff:ff:ff:ff:ff:ff'
MSS = 700
DATA = bytes(i % 251 for i in range(2000))


def frame(dst, mark, tag=None):
    """Told from others by its mark."""
    f = Ether(dst=dst, src='02:00:00:00:00:09', type=0x88b5)
    if tag is not None:
        f = Ether(dst=dst, src='02:00:00:00:00:09') / Dot1Q(vlan=tag, prio=3, type=0x88b5)
    return f / Raw(bytes([mark]) * 60)


LAST = frame(OWN, 0xee)  # what comes before it has come, too
a, b = 2, 3              # the card's ports, behind those of its wires


def through(frames, lines, want, args=(), mode='io', get=None):
    """Frames that leave when these come in and a LAST one behind them; want: how many, with it. get: asked at the end."""
    with tpmd.scratch() as d:
        wrpcap(d + '/in.pcap', [*frames, LAST])
        wrpcap(d + '/none.pcap', [], linktype=1)
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap' % (d, d),
                 'net_pcap1,rx_pcap=%s/none.pcap,tx_pcap=%s/out.pcap' % (d, d),
                 'net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1']
        with tpmd.Testpmd(vdevs, ['--forward-mode=' + mode, '--disable-device-start', '--no-flush-rx', *args]) as t:
            for line in lines:
                out = t.cmd(line.format(a=a, b=b))
                if 'Bad arguments' in out or 'rror' in out:
                    raise RuntimeError('%s: %s' % (line, out))
            t.cmd('port start all')
            if t.ports != [a, b]:
                raise RuntimeError('ports %s' % t.ports)
            t.cmd('start')
            t.until(b, 'tx_port_packets', want, get=t.xstats)
            t.cmd('stop')
            if get:
                get(t)
        return [bytes(f) for f in rdpcap(d + '/out.pcap')]


def same(got, frames):
    want = [bytes(f) for f in [*frames, LAST]]
    return None if got == want else '%d frames: %s; wanted %d: %s' % (
        len(got), [f[:20].hex() for f in got], len(want), [f[:20].hex() for f in want])


def addresses(lines, passes):
    """Which destinations are received."""
    frames = {OWN: frame(OWN, 1), OTHER: frame(OTHER, 2), ALL: frame(ALL, 3), GROUP: frame(GROUP, 4)}
    kept = [f for dst, f in frames.items() if dst in passes]
    return same(through(frames.values(), ['set promisc all off', 'set allmulti all off', *lines], len(kept) + 1), kept)


def vlan_filter():
    frames = [frame(OWN, 1, 7), frame(OWN, 2, 8), frame(OWN, 3)]
    return same(through(frames, ['vlan set filter on {a}', 'rx_vlan add 7 {a}'], 3), [frames[0], frames[2]])


def vlan_strip():
    frames = [frame(OWN, 1, 7), frame(OWN, 3)]
    return same(through(frames, ['vlan set strip on {a}'], 3), [frame(OWN, 1), frames[1]])


def vlan_insert():
    got = through([frame(OWN, 1)], ['tx_vlan set {b} 100'], 2, mode='macswap')
    want = []
    for f in (frame(OWN, 1), LAST):
        raw = bytes(f)
        want.append(raw[6:12] + raw[:6] + bytes.fromhex('81000064') + raw[12:])
    return None if got == want else '%s, wanted %s' % ([f[:24].hex() for f in got], [f[:24].hex() for f in want])


def sums_are_scapys(raw):
    f = Ether(raw)
    for layer in (IP, TCP, UDP):
        if layer in f:
            del f[layer].chksum
    return bytes(f) == raw


def checksums():
    """Wrong ones come in, those of the card go out."""
    l2 = Ether(dst=OWN, src='02:00:00:00:00:09')
    frames = [l2 / ip / l4 / DATA[:101 + i] for i, (ip, l4) in enumerate((ip, l4) for ip in (
        IP(src='10.0.0.1', dst='10.0.0.2', chksum=1), IPv6(src='fd00::1', dst='fd00::2')) for l4 in (
            TCP(sport=5, dport=6, chksum=1), UDP(sport=5, dport=6, chksum=1)))]
    hw = ['csum set %s hw {b}' % what for what in ('ip', 'tcp', 'udp')]
    got = through(frames, hw, 5, mode='csum')
    if len(got) != 5 or not all(len(g) == len(f) for g, f in zip(got, frames)):
        return 'lengths %s' % [len(g) for g in got]
    bad = [g[:60].hex() for g in got[:4] if not sums_are_scapys(g)]
    return 'checksums: %s' % bad if bad else None


def large_sends():
    l2 = Ether(dst=OWN, src='02:00:00:00:00:09')
    f = l2 / IP(src='10.0.0.1', dst='10.0.0.2', chksum=1) / TCP(sport=5, dport=6, seq=1000, chksum=1, flags='PA') / DATA
    got = through([f], ['csum set ip hw {b}', 'csum set tcp hw {b}', 'tso set %d {b}' % MSS], 4,
                  ['--max-pkt-len=2200', '--mbuf-size=4096'], 'csum')
    for i, raw in enumerate(got[:3]):
        part = Ether(raw)
        if bytes(part[TCP].payload) != DATA[i * MSS:(i + 1) * MSS] or part[TCP].seq != 1000 + i * MSS or not sums_are_scapys(raw):
            return 'segment %d: %s' % (i, raw[:80].hex())
        if bool(part[TCP].flags & 8) != (i == 2):
            return 'segment %d: flags %s' % (i, part[TCP].flags)
    return None if len(got) == 4 else '%d frames' % len(got)


def jumbo():
    """Up to the MTU and no further; of several buffers."""
    frames = [Ether(dst=OWN, src='02:00:00:00:00:09', type=0x88b5) / bytes(n % 256 for n in range(size)) for size in (9000, 9001, 4000)]
    errors = {}

    def ask(t):
        errors.update(t.xstats(a))
    got = through(frames, [], 3, ['--max-pkt-len=9018', '--mbuf-size=2176', '--enable-scatter', '--tx-offloads=0x8000'], get=ask)
    bad = same(got, [frames[0], frames[2]])
    return bad or (None if errors['rx_size_above_mtu_packets'] == 1 else 'too long: %s' % errors['rx_size_above_mtu_packets'])


def buffer_split():
    """testpmd's --rxhdrs: packets with these headers come in two buffers, others in one; what leaves is what came."""
    l2 = Ether(dst=OWN, src='02:00:00:00:00:09')
    four, six = IP(src='10.0.0.1', dst='10.0.0.2'), IPv6(src='fd00::1', dst='fd00::2')
    ends = {'udp4': l2 / four / UDP(sport=5, dport=6), 'tcp4': l2 / four / TCP(sport=5, dport=6, options=[('Timestamp', (1, 2))]),
            'udp6': l2 / six / UDP(sport=5, dport=6), 'tcp6': l2 / six / TCP(sport=5, dport=6), 'sctp4': l2 / four / SCTP(sport=5, dport=6)}
    frames = [head / DATA[:200 + i] for i, head in enumerate(ends.values())]
    for word, heads in (('ipv4-udp', ['udp4']), ('ipv6-tcp', ['tcp6']), ('ipv4-sctp', ['sctp4']), ('ipv4', ['udp4', 'tcp4', 'sctp4']),
                        ('eth', [*ends, 'LAST'])):
        seen = {}

        def ask(t):
            seen.update(t.xstats(a), said=t.text, config=t.cmd('show config rxhdrs'))
        got = through(frames, ['set verbose 1'], len(frames) + 1, [
            '--rxhdrs=' + word, '--mbuf-size=512,2176', '--rx-offloads=0x100000', '--tx-offloads=0x8000'], get=ask)
        # Of each packet, in the order in which they came: its length and how many buffers it has.
        told = re.findall(r'type=0x[0-9a-f]+ - length=(\d+) - nb_segs=(\d+)', seen['said'])[:len(frames) + 1]
        want = [(str(len(f)), '2' if name in heads else '1') for name, f in zip([*ends, 'LAST'], [*frames, LAST])]
        bad = same(got, frames)
        if bad or told != want or seen['rx_header_splits'] != len(heads) or word not in seen['config']:
            return '%s: %s; %s buffers, wanted %s; %s' % (word, bad, told, want, seen['config'])
    return None


cases.run('plan-mac-filter-off-promisc', addresses, [], (OWN, ALL))
cases.run('plan-mac-filter-added', addresses, ['mac_addr add {a} ' + OTHER], (OWN, OTHER, ALL))
cases.run('plan-multicast-added', addresses, ['mcast_addr add {a} ' + GROUP], (OWN, ALL, GROUP))
cases.run('plan-allmulti', addresses, ['set allmulti {a} on'], (OWN, ALL, GROUP))
cases.run('plan-promisc', addresses, ['set promisc {a} on'], (OWN, OTHER, ALL, GROUP))
cases.run('plan-vlan-filter', vlan_filter)
cases.run('plan-vlan-strip', vlan_strip)
cases.run('plan-vlan-insert', vlan_insert)
cases.run('plan-checksums', checksums)
cases.run('plan-tso', large_sends)
cases.run('plan-jumbo', jumbo)
cases.run('plan-rxhdrs', buffer_split)
cases.exit()
