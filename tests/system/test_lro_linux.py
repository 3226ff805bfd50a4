#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP between two Linux stacks through ports that join what comes in (LRO) and cut what goes out (TSO): every octet arrives, and
Linux finds no checksum wrong."""
import os
import re
import sys

import tpmd
from tcp_copy import copied
from test_ipoib import ns, sh

cases = tpmd.Cases()
ID = os.getpid()
SPACES = ('tplra%d' % ID, 'tplrb%d' % ID)
DEVS = ('tplr0%d' % ID, 'tplr1%d' % ID)
OCTETS = 20_000_000


def bad_checksums(space):
    """What the stack has counted of IP, TCP and UDP."""
    text = ns(space, 'cat', '/proc/net/snmp', '/proc/net/snmp6', check=True)[1]
    rows = text.splitlines()
    found = {}
    for head, values in zip(rows, rows[1:]):
        if ':' in head and head.split(':')[0] == values.split(':')[0]:
            found.update({'%s %s' % (head.split(':')[0], k): int(v) for k, v in zip(head.split()[1:], values.split()[1:])
                          if k in ('InCsumErrors', 'InHdrErrors')})
    found.update({m[0]: int(m[1]) for m in re.findall(r'^(\w*(?:InCsumErrors|InHdrErrors))\s+(\d+)', text, re.M)})
    return {k: v for k, v in found.items() if v != 0}


def both_ways(t):
    before = [t.xstats(p) for p in ports]
    for to in (1, 0):
        for family, address in (('AF_INET', '10.11.0.%d' % (to + 1)), ('AF_INET6', 'fd00:11::%d' % (to + 1))):
            bad = copied(SPACES[1 - to], SPACES[to], family, address, OCTETS)
            if bad:
                return '%s: %s' % (address, bad)
    for p, old in zip(ports, before):
        now = t.xstats(p)
        joined = now['rx_lro_packets'] - old['rx_lro_packets']
        # Acknowledgements are never joined: these segments are of the data that came in here.
        if joined < OCTETS // 1448 // 20:
            return 'port %d joined only %d packets' % (p, joined)
    for space in SPACES:
        bad = bad_checksums(space)
        if bad:
            return '%s: %s' % (space, bad)
    return None


def clean(t):
    """No rule of the card was broken."""
    found = re.findall(r"'violations': (\d+)", str(t.ask('show model')))
    return None if found and set(found) == {'0'} else 'violations: %s' % found


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip lro-linux: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
ports = (2, 3)  # the ports before them are the wires'
vdevs = ['net_tap%d,iface=%s' % (i, dev) for i, dev in enumerate(DEVS)]
vdevs.append('net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1')
try:
    with tpmd.Triplane(vdevs, ('--rx-offloads', 'tcp_lro', '--tx-offloads', 'tcp_tso')) as triplane:
        triplane.tell(tpmd.IDLE)
        triplane.tell('set fwd io')
        triplane.tell('start')
        triplane.ask('show port stats 2')
        for i, (space, dev) in enumerate(zip(SPACES, DEVS)):
            sh('ip', 'netns', 'add', space, check=True)
            sh('ip', 'link', 'set', dev, 'netns', space, check=True)
            tpmd.patient(space, dev)
            sh('ip', '-n', space, 'addr', 'add', '10.11.0.%d/24' % (i + 1), 'dev', dev, check=True)
            sh('ip', '-n', space, 'addr', 'add', 'fd00:11::%d/64' % (i + 1), 'dev', dev, 'nodad', check=True)
            sh('ip', '-n', space, 'link', 'set', dev, 'up', check=True)
        cases.run('lro-linux-tcp', both_ways, triplane)
        cases.run('lro-linux-model-clean', clean, triplane)
        triplane.tell('quit')
        # What it says besides is the taps', of which this kernel lacks a queueing discipline.
        rc = triplane.proc.wait(60)
        if rc != 0:
            print('not ok lro-linux-end: exit status %d' % rc)
            sys.exit(1)
finally:
    for space in SPACES:
        sh('ip', 'netns', 'del', space)
cases.exit()
