#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP between two Linux stacks through ports that join what comes in (LRO) and cut what goes out (TSO): every octet arrives, and
Linux finds no checksum wrong."""
import hashlib
import os
import random
import re
import subprocess
import sys

import tpmd
from test_ipoib import ns, sh

cases = tpmd.Cases()
ID = os.getpid()
SPACES = ('tplra%d' % ID, 'tplrb%d' % ID)
DEVS = ('tplr0%d' % ID, 'tplr1%d' % ID)
OCTETS = 20_000_000
# Both ends of a transfer; the sender's octets are a sequence that both can make.
PEER = '''
import hashlib, random, socket, sys
family, address, octets = getattr(socket, sys.argv[2]), sys.argv[3], int(sys.argv[4])
if sys.argv[1] == 'receive':
    s = socket.create_server((address, 5299), family=family)
    print('listening', flush=True)
    s.settimeout(60)
    c = s.accept()[0]
    c.settimeout(60)
    h, n = hashlib.sha256(), 0
    while data := c.recv(1 << 18):
        h.update(data)
        n += len(data)
    print(n, h.hexdigest())
else:
    s = socket.create_connection((address, 5299), timeout=60)
    s.sendall(random.Random(octets).randbytes(octets))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
'''


def peer(space, *args):
    return subprocess.Popen(['ip', 'netns', 'exec', space, sys.executable, '-c', PEER, *args], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def transfer(to, family, address):
    """None, or what is wrong with what arrived."""
    receiver = peer(SPACES[to], 'receive', family, address, str(OCTETS))
    sender = None
    try:
        if receiver.stdout.readline() != 'listening\n':
            return 'no server: ' + receiver.communicate(timeout=10)[0]
        sender = peer(SPACES[1 - to], 'send', family, address, str(OCTETS))
        out = receiver.communicate(timeout=180)[0]
        sender.communicate(timeout=60)
    finally:
        for p in (receiver, sender):
            if p is not None and p.poll() is None:
                p.kill()
                p.wait()
    want = '%d %s' % (OCTETS, hashlib.sha256(random.Random(OCTETS).randbytes(OCTETS)).hexdigest())
    return None if out.strip() == want else 'arrived: %s; sent: %s' % (out.strip()[-300:], want)


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
            bad = transfer(to, family, address)
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
