#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of RoCE ports: what both ends of a connection wrote is opened by tshark, without a malformed packet, and is
the same on both sides of the wire; scapy computes each ICRC anew."""
import collections
import os
import subprocess
import tempfile

from scapy.all import raw, rdpcap
from scapy.contrib.roce import BTH

import rocepair
import tpmd

cases = tpmd.Cases()
work = tempfile.mkdtemp(prefix='tproce')


def tshark(path, filt, *fields):
    # Random bytes are no file system's.
    cmd = ['tshark', '-n', '--disable-protocol', 'rpcordma', '--disable-protocol', 'smb_direct', '--disable-protocol', 'nvme-rdma', '-r', path, '-Y', filt, '-T', 'fields'] + [x for f in fields for x in ('-e', f)]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if p.returncode != 0:
        raise RuntimeError(p.stderr.decode()[-300:])
    return p.stdout.decode().splitlines()


def packets(path):
    """(direction, bytes) of each."""
    ways = tshark(path, 'frame', 'frame.packet_flags_direction')
    return list(zip((int(w, 0) for w in ways), (raw(p) for p in rdpcap(path))))


def judged(path):
    # The one error is the UDP checksum of 0 that RoCE has over IPv6, too.
    bad = [x for x in tshark(path, '_ws.malformed || _ws.expert.severity == "Error"', 'frame.number', '_ws.expert.message')
           if not x.endswith('\tIllegal checksum value (0)')]
    if bad:
        return 'tshark: %s' % bad[0]
    foreign = tshark(path, '!infiniband', 'frame.number', 'frame.protocols')
    return 'not RoCE: %s' % foreign[0] if foreign else None


def icrcs(path):
    """Of RoCE v2 over IPv4, which scapy knows."""
    n = 0
    for p in rdpcap(path):
        if BTH not in p:
            continue
        was, p[BTH].icrc = p[BTH].icrc, None
        again = raw(p)[-4:]
        if int.from_bytes(again, 'big') != was:
            return 'packet %d: ICRC %08x, scapy has %s' % (n, was, again.hex())
        n += 1
    return None if n else 'scapy sees no packet'


def of_card(prog, args, opcodes):
    """Both ends on the ports of a card: the first port's file has both directions."""
    path = os.path.join(work, 'card.pcapng')
    ends = rocepair.self_pair(prog, list(args) + ['--capture', path], ['net_mlx4_model0,wire0=cross,wire1=cross'])
    if not ends.ok:
        return ends.why()
    why = judged(path) or icrcs(path)
    if why:
        return why
    got = {(int(w, 0), int(op)) for w, op in (x.split('\t') for x in tshark(path, 'infiniband', 'frame.packet_flags_direction',
                                                                         'infiniband.bth.opcode'))}
    return None if opcodes <= got else '%s are not there, only %s' % (opcodes - got, got)


V4, V6 = ('192.0.2.1/24', '192.0.2.2/24'), ('2001:db8::1/64', '2001:db8::2/64')


def both_ends(prog, args, opcodes, addrs=V4, scapy=True):
    files = [os.path.join(work, end + '.pcapng') for end in ('server', 'client')]
    ends = rocepair.memif_pair(prog, list(args) + ['--capture', files[1]], list(args) + ['--capture', files[0]], addrs=addrs)
    if not ends.ok:
        return ends.why()
    seen = []
    for path in files:
        why = judged(path) or (icrcs(path) if scapy else None)
        if why:
            return '%s: %s' % (os.path.basename(path), why)
        seen.append(packets(path))
    got = {int(x) for x in tshark(files[1], 'infiniband', 'infiniband.bth.opcode')}
    if not opcodes <= got:
        return 'opcodes %s are not there, only %s' % (opcodes - got, got)
    # 1: in, 2: out (pcapng, Enhanced Packet Block Flags)
    for a, b in ((0, 1), (1, 0)):
        out = collections.Counter(p for way, p in seen[a] if way == 2)
        into = collections.Counter(p for way, p in seen[b] if way == 1)
        # What was sent while the other end left its port may be missing there.
        if not out or into - out or sum((out - into).values()) > 2:
            return '%d sent, %d received, %d of them other ones' % (sum(out.values()), sum(into.values()),
                                                                    sum((into - out).values()))
    return None


for name, prog, args, opcodes, kw in (
        ('rc', 'tp_pingpong', ['-n', '50', '-s', '5000', '-m', '1024'], {0, 1, 2, 0x11}, {}),
        ('uc', 'tp_pingpong', ['-C', 'UC', '-n', '50', '-s', '3000', '-m', '1024'], {0x20, 0x21, 0x22}, {}),
        ('ud', 'tp_pingpong', ['-C', 'UD', '-n', '50', '-s', '900'], {0x64}, {}),
        ('ipv6', 'tp_pingpong', ['-n', '50', '-s', '2000'], {0, 2, 0x11}, {'addrs': V6, 'scapy': False}),
        ('vlan', 'tp_pingpong', ['-n', '50', '-s', '10', '--vlan', '7', '--prio', '3'], {4, 0x11}, {}),
        ('v1', 'tp_pingpong', ['-n', '50', '-s', '2000', '--mode', 'v1'], {0, 2, 0x11}, {'scapy': False}),
        ('read', 'tp_read_lat', ['-n', '50', '-s', '3000', '-m', '1024'], {0x0c, 0x0d, 0x0e, 0x0f}, {}),
        ('write', 'tp_write_lat', ['-n', '50', '-s', '3000', '-m', '1024'], {6, 7, 8, 0x11}, {}),
        ('atomic', 'tp_atomic_lat', ['-n', '50'], {0x14, 0x12}, {})):
    cases.run('roce-capture-' + name, lambda: both_ends(prog, args, opcodes, **kw))
# Requests go out and answers come in, or the other way round
cases.run('roce-capture-card', of_card, 'tp_pingpong', ['-n', '50', '-s', '5000', '-m', '1024'],
          {(w, op) for w in (1, 2) for op in (0, 1, 2, 0x11)})
cases.run('roce-capture-card-read', of_card, 'tp_read_lat', ['-n', '50', '-s', '3000', '-m', '1024'],
          {(2, 0x0c), (1, 0x0d), (1, 0x0e), (1, 0x0f)})
subprocess.run(['rm', '-rf', work])
cases.exit()
