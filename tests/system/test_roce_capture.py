#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of RoCE ports: what both ends of a connection wrote is opened by tshark, without a malformed packet, and is
the same on both sides of the wire; each ICRC is computed anew, by zlib and, where it can, by scapy."""
import collections
import os
import subprocess
import tempfile

from scapy.all import raw, rdpcap
from scapy.contrib.roce import BTH

import rocepair
import tpmd
from roce_icrc import wrong

cases = tpmd.Cases()
work = tempfile.mkdtemp(prefix='tproce')


FIELDS = ['frame.number', 'frame.packet_flags_direction', 'frame.protocols', 'infiniband.bth.opcode', '_ws.malformed',
          '_ws.expert.severity', '_ws.expert.message']
ERROR = 0x00800000  # _ws.expert.severity


def tshark(path):
    """What tshark says of each packet. One run a file: its start takes longer than all packets."""
    # Random bytes are no file system's.
    cmd = ['tshark', '-n', '-r', path, '-T', 'fields', '-E', 'aggregator=;']
    cmd += [x for d in ('rpcordma', 'smb_direct', 'nvme-rdma') for x in ('--disable-protocol', d)]
    p = subprocess.run(cmd + [x for f in FIELDS for x in ('-e', f)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if p.returncode != 0:
        raise RuntimeError(p.stderr.decode()[-300:])
    seen = [dict(zip(FIELDS, line.split('\t'))) for line in p.stdout.decode().splitlines()]
    for x in seen:
        x['opcode'] = int(x['infiniband.bth.opcode'], 0) if x['infiniband.bth.opcode'] else None
        x['way'] = int(x['frame.packet_flags_direction'], 0)
    return seen


def packets(path, seen):
    """(direction, bytes) of each."""
    return list(zip((x['way'] for x in seen), (raw(p) for p in rdpcap(path)), strict=True))


def judged(seen):
    for x in seen:
        errors = [m for s, m in zip(x['_ws.expert.severity'].split(';'), x['_ws.expert.message'].split(';')) if s and int(s) == ERROR]
        # The one error is the UDP checksum of 0 that RoCE has over IPv6, too.
        errors = [m for m in errors if m != 'Illegal checksum value (0)']
        if x['_ws.malformed'] or errors:
            return 'tshark: packet %s: %s' % (x['frame.number'], errors or 'malformed')
        if 'infiniband' not in x['frame.protocols'].split(':'):
            return 'not RoCE: packet %s: %s' % (x['frame.number'], x['frame.protocols'])
    return None


def icrcs(path, scapy=True):
    """Of each packet; by scapy those of RoCE v2 over IPv4, which it knows."""
    frames = rdpcap(path)
    bad = wrong([bytes(p.original) for p in frames])
    if bad or not scapy:
        return bad
    n = 0
    for p in frames:
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
    seen = tshark(path)
    why = judged(seen) or icrcs(path)
    if why:
        return why
    got = {(x['way'], x['opcode']) for x in seen}
    return None if opcodes <= got else '%s are not there, only %s' % (opcodes - got, got)


# Beside others an end may have no CPU for longer than an acknowledgement is waited for; a second is long enough.
PATIENT = ['-u', '18']
V4, V6 = ('192.0.2.1/24', '192.0.2.2/24'), ('2001:db8::1/64', '2001:db8::2/64')


def both_ends(prog, args, opcodes, addrs=V4, scapy=True):
    files = [os.path.join(work, end + '.pcapng') for end in ('server', 'client')]
    ends = rocepair.memif_pair(prog, *([*args, *PATIENT, '--capture', f] for f in (files[1], files[0])), addrs=addrs)
    if not ends.ok:
        return ends.why()
    seen = []
    for path in files:
        told = tshark(path)
        why = judged(told) or icrcs(path, scapy)
        if why:
            return '%s: %s' % (os.path.basename(path), why)
        seen.append(packets(path, told))
    got = {x['opcode'] for x in told}
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
