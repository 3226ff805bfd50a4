#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""RoCE frames that the model and that software sends, v1 and v2 over IPv4 and IPv6: dissected by tshark, CRCs by scapy and
by zlib."""
import collections
import os
import subprocess

from scapy.all import IP, UDP, Ether, IPv6, rdpcap
from scapy.contrib.roce import BTH

import tpmd
from roce_icrc import l3, wrong

cases = tpmd.Cases()
BUILD = os.environ.get('TP_BUILD', 'build')
HOMES = {'roce-wire': ['tests/unit/model/roce_frames'], 'roce-sw-wire': ['tests/unit/roce_sw/roce_sw_frames'],
         'roce-lanes-wire': ['tests/unit/roce_sw/roce_sw_frames', '4']}
ROCE_V1 = 0x8915


def fields(path, *names):
    # Its guesses at what the payload might be are no judgement of the frame.
    args = ['tshark', '-r', path, '--disable-protocol', 'rpcordma', '-T', 'fields'] + [a for n in names for a in ('-e', n)]
    out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout.decode()
    return [line.split('\t') for line in out.splitlines()]


def scapy_crc(packets):
    """Its own computation, which knows IPv4 only."""
    seen = 0
    for i, p in enumerate(packets):
        if IP not in p or BTH not in p:
            continue
        seen += 1
        sent = p[BTH].icrc
        if p[BTH].compute_icrc(bytes(p[BTH])[:-4] + b'\0' * 4) != sent.to_bytes(4, 'big'):
            return 'frame %d' % i
    return None if seen > 20 else 'only %d packets that it knows' % seen


def dissected(path, frames):
    rows = fields(path, 'frame.protocols', '_ws.malformed', '_ws.expert.message', 'infiniband.bth.opcode', 'ip.checksum.status')
    if len(rows) != len(frames):
        return '%d of %d frames' % (len(rows), len(frames))
    for i, (protocols, malformed, expert, opcode, status) in enumerate(rows):
        if malformed or 'infiniband' not in protocols or opcode == '':
            return 'frame %d: %s %s %s' % (i, protocols, malformed, expert)
    want = set(range(0x00, 0x05)) - {3} | {0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x13, 0x14, 0x20, 0x22, 0x64}
    for etype in (ROCE_V1, 0x0800, 0x86dd):
        seen = {int(r[3]) for r, f in zip(rows, frames) if l3(f)[0] == etype}
        if want - seen:
            return 'EtherType 0x%x: no opcodes %s' % (etype, sorted(want - seen))
    return None


def headers(packets, counts):
    """What scapy makes of the rest: lengths, the checksum, ports; IPv4's numbers, which count up on each way where they do."""
    following = collections.Counter()
    for i, p in enumerate(packets):
        if p[Ether].payload.name == 'VLAN':
            p = p[Ether].payload
        if IP in p:
            ip = p[IP]
            again = IP(bytes(ip))
            way = (ip.src, ip.dst, p[UDP].sport)
            del again.chksum
            if IP(bytes(again)).chksum != ip.chksum or ip.len != len(bytes(ip)) or ip.flags != 'DF' or ip.id != following[way]:
                return 'frame %d: number %d, wanted %d: %s' % (i, ip.id, following[way], ip.summary())
            following[way] += counts
        elif IPv6 in p and p[IPv6].plen != len(bytes(p[IPv6])) - 40:
            return 'frame %d: %s' % (i, p.summary())
        if UDP in p and (p[UDP].dport != 4791 or p[UDP].sport < 0xc000 or p[UDP].chksum != 0):
            return 'frame %d: %s' % (i, p[UDP].summary())
    return None


def kinds(frames):
    seen = collections.Counter(l3(f)[0] for f in frames)
    return None if min(seen[k] for k in (ROCE_V1, 0x0800, 0x86dd)) > 30 else str(seen)


with tpmd.scratch() as d:
    for home, program in HOMES.items():
        pcap = '%s/%s.pcap' % (d, home)
        subprocess.run([os.path.join(BUILD, program[0]), pcap, *program[1:]], check=True, timeout=60, stdout=subprocess.DEVNULL)
        pkts = rdpcap(pcap)
        raw = [bytes(p.original) for p in pkts]
        cases.run(home + '-kinds', kinds, raw)
        cases.run(home + '-crc', wrong, raw)
        cases.run(home + '-crc-scapy', scapy_crc, pkts)
        cases.run(home + '-tshark', dissected, pcap, raw)
        cases.run(home + '-headers', headers, pkts, home != 'roce-wire')
cases.exit()
