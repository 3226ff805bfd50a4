#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets that ports of the InfiniBand model put on a wire: dissected by tshark, both CRCs by other means."""
import os
import struct
import subprocess
import zlib

import tpmd

cases = tpmd.Cases()
BUILD = os.environ.get('TP_BUILD', 'build')


def packets(path):
    """Of a pcap file of ERF records."""
    with open(path, 'rb') as f:
        data = f.read()
    at, out = 24, []
    while at < len(data):
        n = struct.unpack_from('<I', data, at + 8)[0]
        out.append(data[at + 32:at + 16 + n])
        at += 16 + n
    return out


def icrc(p):
    """IBTA 7.8.1: ones for what changes on the way, CRC 32 up to itself."""
    h = bytearray(p[:-6])
    bth = 8
    h[0] |= 0xf0
    if h[1] & 3 == 3:
        h[:8] = b'\xff' * 8
        h[8] |= 0x0f
        h[9:12] = b'\xff' * 3
        h[15] = 0xff
        bth = 48
    h[bth + 4] = 0xff
    return zlib.crc32(bytes(h)).to_bytes(4, 'little')


def vcrc(p):
    r = 0xffff
    for byte in p[:-2]:
        r ^= byte
        for _ in range(8):
            r = r >> 1 ^ 0xd008 if r & 1 else r >> 1
    return (r ^ 0xffff).to_bytes(2, 'little')


def worked_example():
    """The example of the reference, believed to be the specification's own: the two functions above are right."""
    p = bytes.fromhex('7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000ebb884d85fd5cfba4728bc0690ed40000'
                      '9625b75a') + b'\0\0'
    return None if icrc(p) == p[-6:-2] and vcrc(p) == b'\x45\xfa' else 'ICRC %s, VCRC %s' % (icrc(p).hex(), vcrc(p).hex())


def crcs(seen):
    bad = [i for i, p in enumerate(seen) if icrc(p) != p[-6:-2] or vcrc(p) != p[-2:]]
    return 'packets %s of %d' % (bad[:5], len(seen)) if bad or len(seen) < 40 else None


def dissected(path, seen):
    names = ['_ws.malformed', 'infiniband.lrh.slid', 'infiniband.lrh.dlid', 'infiniband.bth.opcode', 'infiniband.invariant.crc',
             'infiniband.variant.crc', 'infiniband.mad.mgmtclass']
    # Its guesses at what the payload might be are no judgement of the packet.
    args = ['tshark', '-r', path, '--disable-protocol', 'rpcordma', '-T', 'fields'] + [a for n in names for a in ('-e', n)]
    out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout.decode()
    rows = [line.split('\t') for line in out.splitlines()]
    if len(rows) != len(seen):
        return '%d of %d packets' % (len(rows), len(seen))
    for i, (row, p) in enumerate(zip(rows, seen)):
        malformed, slid, dlid, opcode, invariant, variant, mad = row
        if malformed or opcode == '' or int(slid, 0) != int.from_bytes(p[6:8], 'big') or int(dlid, 0) != int.from_bytes(p[2:4], 'big'):
            return 'packet %d: %s' % (i, row)
        # It looks no further than the data of performance management.
        if mad == '0x04':
            continue
        if int(invariant, 0) != int.from_bytes(p[-6:-2], 'big') or int(variant, 0) != int.from_bytes(p[-2:], 'big'):
            return 'packet %d ends elsewhere: %s' % (i, row)
    opcodes = {int(r[3], 0) for r in rows}
    want = {0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x14, 0x64}
    classes = {int(r[6], 0) for r in rows if r[6]}
    if want - opcodes or not {0x81, 0x04} <= classes:
        return 'no opcodes %s; classes %s' % (sorted(want - opcodes), sorted(classes))
    return None


with tpmd.scratch() as d:
    pcap = d + '/ib.pcap'
    subprocess.run([os.path.join(BUILD, 'tests/unit/model/ib_frames'), pcap], check=True, timeout=60, stdout=subprocess.DEVNULL)
    raw = packets(pcap)
    cases.run('ib-wire-example', worked_example)
    cases.run('ib-wire-crcs', crcs, raw)
    cases.run('ib-wire-tshark', dissected, pcap, raw)
cases.exit()
