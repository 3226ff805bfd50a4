# SPDX-License-Identifier: BSD-3-Clause
"""The invariant CRC of a RoCE frame by Python's zlib, for tests to judge by."""
import zlib


def l3(frame):
    """EtherType and what follows it, behind a tag if there is one."""
    at = 16 if frame[12:14] == b'\x81\0' else 12
    return int.from_bytes(frame[at:at + 2], 'big'), frame[at + 2:]


def icrc(etype, p):
    """Annexes A16 and A17: ones for LRH and for what a router changes, CRC 32 over the rest."""
    h = bytearray(p[:-4])
    if etype == 0x0800:
        h[1] = h[8] = 0xff
        h[10:12] = h[26:28] = b'\xff\xff'
        bth = 28
    else:
        h[0] |= 0x0f
        h[1:4] = b'\xff\xff\xff'
        h[7] = 0xff
        bth = 40
        if etype == 0x86dd:
            h[46:48] = b'\xff\xff'
            bth = 48
    h[bth + 4] = 0xff
    return zlib.crc32(b'\xff' * 8 + bytes(h)).to_bytes(4, 'little')


def wrong(frames):
    """None, or which of these frames, v1 or v2 over either IP, end with another CRC."""
    bad = [i for i, f in enumerate(frames) if icrc(*l3(f)) != f[-4:]]
    return 'ICRC of frames %s of %d' % (bad[:5], len(frames)) if bad or not frames else None
