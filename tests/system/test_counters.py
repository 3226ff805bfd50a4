#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""O-1: the card's counters by name and value. Frames that scapy made, so many of each kind, go from a file through one port of the
card over the wire to the other one: both ports have counted each of them, and nothing else."""
import json
import os
import subprocess

from scapy.all import Dot1Q, Ether, Raw, wrpcap

import tpmd

cases = tpmd.Cases()
FCS = 4
# Octets of a frame with its FCS, the last of each class; how many of them are sent is different for each.
CLASSES = [('size_64', 64), ('size_65_to_127', 127), ('size_128_to_255', 255), ('size_256_to_511', 511), ('size_512_to_1023', 1023),
           ('size_1024_to_1518', 1518), ('size_1519_to_1522', 1522), ('size_1523_to_1548', 1548), ('size_1549_to_mtu', 1549)]
TO = {'unicast': '02:00:00:00:00:99', 'multicast': '01:00:5e:01:02:03', 'broadcast': 'ff:ff:ff:ff:ff:ff'}
BASIC = 3 * sum(range(1, len(CLASSES) + 1))
TAGGED = 7


def frames():
    """Of class i, i + 1 frames to each kind of address; then some with a tag."""
    made = [Ether(dst=to, src='02:00:00:00:00:01', type=0x88b5) / Raw(b'\x5a' * (octets - FCS - 14))
            for i, (_, octets) in enumerate(CLASSES) for to in TO.values() for _ in range(i + 1)]
    return made + [Ether(dst=TO['unicast'], src='02:00:00:00:00:01') / Dot1Q(vlan=9, type=0x88b5) / Raw(b'\x5a' * 82) for _ in range(TAGGED)]


def wanted(made):
    octets = sum(len(f) + FCS for f in made)
    want = {'%s_packets' % name: 3 * (i + 1) for i, (name, _) in enumerate(CLASSES)}
    want['size_65_to_127_packets'] += TAGGED
    want.update({'port_%s_packets' % kind: BASIC // 3 for kind in TO})
    want['port_unicast_packets'] += TAGGED
    want.update({'port_packets': len(made), 'port_bytes': octets, 'port_vlan_packets': TAGGED, 'size_above_mtu_packets': 0})
    return want


def by_name():
    made = frames()
    with tpmd.scratch() as d:
        wrpcap(d + '/in.pcap', made)
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap' % (d, d), 'net_mlx4_model0', 'net_null0,no-rx=1']
        with tpmd.Testpmd(vdevs, ['--portlist=0,1,2,3', '--mbuf-size=4096', '--max-pkt-len=2000', '--no-flush-rx'], memory=700) as t:
            t.cmd('start')
            # The last place of their way: what only the card has counted may still wait in a ring.
            ends = tpmd.wait_until(lambda: t.stats(3)['tx-packets'] >= len(made))
            t.cmd('stop')
            sent, came, back = t.xstats(1), t.xstats(2), t.stats(3)
    want = wanted(made)
    wrong = ['%s%s %d, wanted %d' % (way, name, got[way + name], n)
             for way, got in (('tx_', sent), ('rx_', came)) for name, n in want.items() if got[way + name] != n]
    # what the application saw, and sums over both directions
    for name, got, n in (('rx_good_packets', came, len(made)), ('tx_good_packets', sent, len(made)),
                         ('total_port_packets', sent, len(made)), ('total_port_bytes', came, want['port_bytes'])):
        if got[name] != n:
            wrong.append('%s %d, wanted %d' % (name, got[name], n))
    # and nothing is there that nobody sent
    for got in (sent, came):
        wrong += ['%s %d' % (k, v) for k, v in got.items() if v != 0 and k.endswith(('errors', 'discards', 'drops', 'control_packets'))]
    if back['tx-packets'] != len(made):
        wrong.append('forwarded %d' % back['tx-packets'])
    return '; '.join(wrong) if wrong or not ends else None


APP = os.path.join(os.environ.get('TP_BUILD', 'build'), 'apps', 'triplane')
OBJECTS = ('qps', 'cqs', 'mrs', 'pds', 'srqs', 'mtts')


def resources():
    """What RoCE on the card takes: a domain with the port, and with each queue pair one of it, of completion queues and of regions."""
    made = ['roce qp create 0 rc 4096 16'] * 3
    lines = ['show device 0', 'roce 0 on v2 mlx4', 'show device 0', *made, 'show device 0', *['roce qp destroy 0 %d' % i for i in (0, 1)],
             'show device 0', 'roce 0 off', 'show device 0']
    p = subprocess.run([APP, *tpmd.eal('tpcnt%d' % os.getpid(), plugin=False), '--vdev=net_mlx4_model0', '--'],
                       input='\n'.join(line + ' json' * line.startswith('show') for line in lines) + '\n', stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=300)
    seen = [json.loads(line)['ports'][0] for line in p.stdout.splitlines() if line.startswith('{"ports"')]
    if len(seen) != 5:
        return p.stdout[-500:]
    first, on, three, one, off = ([s[name] for name in OBJECTS] for s in seen)
    new = dict(zip(OBJECTS, (b - a for a, b in zip(on, three))))
    left = dict(zip(OBJECTS, (b - a for a, b in zip(on, one))))
    if any((new[k], left[k]) != (3, 1) for k in ('qps', 'cqs', 'mrs')) or new['mtts'] <= left['mtts'] or new['pds'] or new['srqs']:
        return 'three queue pairs are %s, one is %s' % (new, left)
    if on[OBJECTS.index('pds')] <= first[OBJECTS.index('pds')] or off != first:
        return 'before RoCE %s, with it %s, after it %s' % (first, on, off)
    over = [name for s in seen for name in OBJECTS if not 0 <= s[name] <= s['max_' + name]]
    return 'more than there are: %s' % over if over else None


cases.run('counters-by-name', by_name)
cases.run('counters-resources', resources)
cases.exit()
