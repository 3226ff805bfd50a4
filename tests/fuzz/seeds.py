#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""seeds.py FOLDER: first inputs for the fuzz targets; hostile frames first."""
import os
import struct
import sys

from scapy.all import (ARP, BOOTP, DHCP, ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6ND_NS, ICMPv6NDOptUnknown, IPv6,  # noqa: E402
                       IPv6ExtHdrFragment, Raw, fragment)


def bth(opcode, pad=0, qpn=0xffffff, psn=0):
    return struct.pack('>BBHII', opcode, pad << 4, 0xffff, qpn, psn)


def frames():
    eth = Ether(dst='02:00:00:00:00:01', src='02:00:00:00:00:02')
    roce = eth / IP(src='10.0.0.1', dst='10.0.0.2') / UDP(sport=0xc000, dport=4791)
    yield roce / Raw(bth(0xff)[:6])                    # shortest, undefined opcode, multicast QPN
    yield roce / Raw(bth(0x04, pad=3) + b'x')          # pad longer than the payload
    for op in range(0x18, 0x100, 0x17):                # undefined opcodes of each transport
        yield roce / Raw(bth(op, qpn=0x11))
    yield roce / Raw(bth(0x06, qpn=0x11) + struct.pack('>QII', 2**64 - 1, 1, 0xffffffff))  # RETH that overflows
    yield roce / Raw(bth(0x64, qpn=1) + struct.pack('>II', 0x80010000, 1) + b'\xff' * 300)  # overlong CM private data
    yield eth / ARP(hwlen=20, plen=4)
    yield eth / IP(dst='10.0.0.2') / TCP(dport=80) / Raw(b'y' * 100)
    yield eth / Dot1Q(vlan=5) / IPv6(dst='fe80::1') / UDP(dport=53) / Raw(b'z')
    yield eth / IPv6(dst='fe80::1') / IPv6ExtHdrFragment(offset=0, m=1) / UDP() / Raw(b'z' * 32)
    for f in fragment(IP(dst='10.0.0.2') / ICMP() / Raw(b'f' * 3000), 1400):
        yield eth / f
    yield eth / IP(dst='10.0.0.2', ihl=15) / UDP()     # header longer than the frame
    yield eth / IP(dst='10.0.0.2', len=65535) / UDP(len=3)


def roce_packets():
    """For fuzz_roce: a byte of header kind (0: v1, 1: v2/IPv4, 2: v2/IPv6) and queue (0 RC, 1 RC with requests, 2 UC, 3 UD,
    4 QP1, 5 group, 6 none), then opcode, flags, distance of the PSN, length, what follows the BTH."""
    def rec(kind, queue, op, tail=b'', flags=0x40, psn=0, more=0):
        return bytes([kind | queue << 2 | more, op, flags, psn]) + struct.pack('>H', len(tail)) + tail

    rw_key = (256 + 1) << 8 | 0x11
    for op in range(256):                              # each opcode of each transport, most of them undefined
        for queue in (0, 2, 3):
            yield rec(1, queue, op, bytes(64)) + rec(0, queue, op, bytes(16))
    yield rec(1, 5, 0xff)                              # undefined, to the multicast QPN
    yield rec(1, 0, 0x04, b'x' * 4, flags=0x70) + rec(2, 0, 0x04, b'', flags=0x70)      # pad longer than the payload
    for length in (0xffffffff, 0x80000000, 0x10000, 0):
        for op in (0x06, 0x0a, 0x0c):                  # RETH that overflows
            yield rec(1, 0, op, struct.pack('>QII', 2**64 - 1, rw_key, length) + bytes(1024))
            yield rec(1, 0, op, struct.pack('>QII', 0x10000000, rw_key, length) + bytes(1024 if op == 6 else 0))
    yield rec(1, 0, 0x14, struct.pack('>QIQQ', 0x10000000, rw_key, 1, 0)) + rec(1, 0, 0x14, struct.pack('>QIQQ', 0x10000000, rw_key, 1, 0), psn=255)
    yield rec(1, 0, 0x00, bytes(1024)) + rec(1, 0, 0x01, bytes(1024)) + rec(1, 0, 0x02, bytes(12))
    yield rec(1, 2, 0x20, bytes(1024)) + rec(1, 2, 0x22, bytes(12)) + rec(1, 2, 0x21, bytes(1024), psn=5)
    yield rec(1, 3, 0x64, struct.pack('>II', 0x11111111, 9) + b'u' * 20) + rec(1, 4, 0x64, struct.pack('>II', 0x80010000, 1) + b'm' * 256)
    yield rec(1, 4, 0x64, struct.pack('>II', 0x80010000, 1) + b'\xff' * 1000)              # overlong private data
    for aeth in (0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64, 0x7f, 0xe0):                  # ACK, RNR, each NAK
        yield rec(1, 1, 0x11, bytes([aeth, 0, 0, 1])) + rec(1, 1, 0x11, bytes([aeth, 0, 0, 2]), psn=1, more=0x40)
    yield (rec(1, 1, 0x11, bytes(4)) + rec(1, 1, 0x0d, bytes(4) + b'r' * 1024) + rec(1, 1, 0x0e, b'r' * 1024) +
           rec(1, 1, 0x0f, bytes(4) + b'r' * 452) + rec(1, 1, 0x12, bytes(12), more=0x80))
    yield b'\x03' + struct.pack('>H', 60) + bytes(12) + b'\x89\x15' + bytes(46)


def lldp_frames():
    """Neighbours with every TLV of DCBX, right, twice, with wrong lengths; their good-bye."""
    def pdu(ident, ttl, *tlvs):
        mac = bytes([2, 0, 0, 0, 0, ident])
        return bytes(6) + mac + b'\x88\xcc\x02\x07\x04' + mac + b'\x04\x07\x03' + mac + b'\x06\x02' + \
            struct.pack('>H', ttl) + b''.join(tlvs) + b'\0\0'

    def org(subtype, data, oui=b'\x00\x80\xc2'):
        return struct.pack('>H', 127 << 9 | 4 + len(data)) + oui + bytes([subtype]) + data

    tables = bytes([1, 0x23, 0, 0]) + bytes([20, 30, 50, 0, 0, 0, 0, 0]) + bytes([2, 2, 2, 0, 0, 0, 0, 0])
    ets, rec, pfc = org(9, b'\x80' + tables), org(10, b'\0' + tables), org(11, b'\x88\x0f')
    app = org(12, b'\0' + bytes([0x63, 0x12, 0xb7, 0x42, 0, 80, 0x21, 0, 0, 0x84, 1, 2]))
    yield pdu(5, 120, ets, rec, pfc, app)
    yield pdu(0x20, 3, rec, pfc, org(2, bytes(8), b'\x00\x1b\x21'), b'\x0a\x01x\x0e\x04\0\x80\0\x80')
    yield pdu(5, 120, pfc, pfc, org(12, bytes(505)), org(9, b'\x80'), b'\xfe\x03\x00\x80\xc2')
    yield pdu(5, 0)


def ipoib_packets():
    """What carries hardware addresses, of Ethernet's length and of IPoIB's, in both directions."""
    hw, eth = b'\x80\0\0\x48\xfe\x80' + bytes(6) + b'\x02\0' + bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 0, 1])
    nd = IPv6(src='fe80::1', dst='fe80::2', hlim=255) / ICMPv6ND_NS(tgt='fe80::2')
    boot = IP(src='0.0.0.0', dst='255.255.255.255') / UDP(sport=68, dport=67)
    for flags in (0, 4, 8, 12):
        for kind, p in ((0, ARP(op=2, hwsrc='02:00:00:00:00:01', hwdst='02:00:00:00:00:01')),
                        (0, ARP(op=1, hwtype=32, hwlen=20, plen=4, hwsrc=hw, hwdst=bytes(20))),
                        (2, nd / ICMPv6NDOptUnknown(type=1, len=1, data=eth)),
                        (2, nd / ICMPv6NDOptUnknown(type=1, len=3, data=b'\0\0' + hw)),
                        (1, boot / BOOTP(chaddr=eth) / DHCP(options=[('message-type', 1), 'end'])),
                        (1, boot / BOOTP(htype=32, hlen=0, chaddr=b'') / DHCP(options=[('message-type', 1), 'end'])),
                        (1, IP(dst='239.1.2.3', proto=2) / Raw(b'\x22\0\0\0\0\0\0\x01\x04\0\0\0\xef\x01\x02\x03'))):
            yield bytes([kind | flags]) + bytes(p)


def ipoib_lives():
    """What an interface in connected mode lives through with one neighbour; the octets are as fuzz_ipoib_core reads them."""
    def packet(kind, n, data=b''):
        return bytes([kind]) + struct.pack('>H', n) + (data + bytes(128))[:min(n, 128)]

    def to_neighbour(kind, n):
        return b'\0\x20' + packet(kind, n)

    up = b'\1' + bytes(13)
    known = up + b'\2\x80\4' + packet(2, 56)
    path = bytes(32) + struct.pack('<HHHBBBBB', 1, 4, 0xffff, 0, 4, 2, 18, 0) + bytes(13)
    asked = known + to_neighbour(0x28, 100) + b'\0' + b'\4\0\0\0\0' + path + b'\0\0'
    connected = asked + b'\7\0\1' + struct.pack('>II', 0x48, 65524)
    v6 = b'\xff\2' + bytes(13) + b'\x16'
    groups = (packet(0x18, 28, bytes(16) + b'\xef\1\2\3' + b'\x16\0\0\0\xef\1\2\3'),
              packet(0x59, 72, bytes(24) + v6 + bytes(8) + v6), packet(0x69, 72, bytes(24) + v6 + b'\0' * 7 + b'\1\4\0\0\0' + v6))
    return [known, asked, connected, connected + to_neighbour(0x2c, 3000), connected + to_neighbour(0x2c, 3000) + b'\7\0\0' + bytes(8),
            asked + b'\7\0\2' + bytes(8) + to_neighbour(0x2c, 3000), connected + b'\xc1' + b'\x08\x7f\xff' * 3,
            *(up + b'\0\x41' + g + b'\x08\xff\xff' * 6 for g in groups)]


def speak(frame):
    return b'\x07' + struct.pack('>H', len(frame) - 14) + frame


def vfu_messages():
    """A vfio-user client's life, message by message, with a file (4), an event fd (5) or nothing (3)."""
    def rec(cmd, payload=b'', kind=3, flags=0):
        return bytes([cmd, flags, kind]) + struct.pack('<H', len(payload)) + payload

    dma = rec(2, struct.pack('<IIQQQ', 32, 3, 0, 0x10000, 0x10000), 4)
    query_fw = b''.join(rec(10, struct.pack('<QII', 0x80680 + 4 * i, 0, 4) + struct.pack('>I', v))
                        for i, v in enumerate((0, 0, 0, 0, 0x12000, 0x10000, 1 << 23 | 4)))
    irq = rec(8, struct.pack('<IIIII', 20, 0x24, 2, 0, 1), 5) + rec(8, struct.pack('<IIIII', 20, 0x21, 2, 0, 1))
    yield dma + query_fw + rec(3, struct.pack('<IIQQ', 24, 0, 0, 1 << 63))
    yield irq + rec(8, struct.pack('<IIIII', 22, 0x22, 2, 0, 2) + b'\1\0') + rec(13)
    yield rec(4, struct.pack('<IIII', 16, 0, 0, 0)) + b''.join(
        rec(5, struct.pack('<IIIIQQ', 32, 0, i, 0, 0, 0)) + rec(7, struct.pack('<IIII', 16, 0, i, 0)) for i in range(9))
    yield b''.join(rec(9, struct.pack('<QII', off, reg, n)) for off, reg, n in
                   ((0, 7, 4096), (0x80698, 0, 4), (0xf0014, 0, 8), (0x80014, 2, 4)))
    # The last window goes, then all of none; a client that leaves without any (a move of nothing from nowhere, once).
    unmap_all = rec(3, struct.pack('<IIQQ', 24, 2, 0, 0))
    yield unmap_all
    yield dma + rec(3, struct.pack('<IIQQ', 24, 0, 0x10000, 0x10000)) + unmap_all
    yield b''.join(rec(10, struct.pack('<QII', 0x480000 + 8 * i, 2, 8) + bytes(7) + b'\x04', flags=0x10) for i in range(8))


def configurations():
    yield b"[port 0]\npfc=3,4\nprio-tc=0,0,0,1,1,0,0,0\ntc=0:ets:40\ntc=1:ets:60\ntc-rate=1:400\nrule=udp:4791-4800:3:26\n"
    yield b"[port 1]\npause=on\ntrust=dscp\ntx-dscp=0-7\ndscp-pfc=on\nuntagged-prio=9\nhol-lifetime=100\nstall-count=3\n"
    yield b"[port 2]\ntc-bw=50,50,strict\nrule=default:*:1\nrule=none\nrx-stall-timeout=10\nrx-stall-minor=5 # early\n"
    yield (b"[group 0 web]\nmac=02:00:00:00:00:01\nvlan=none\nqueues=4-7,9\nrss=tcp4,udp6\nlcore=3\nmempool=p\nlookahead=64\n"
           b"prio=3\ntc=1\ndscp=46\ntrust=pcp\npfc=on\ndropless=forever\nrate=1000\n")
    yield b"[group 1 rest]\ndefault=on\nflood=off\nantispoof-mac=on\nantispoof-type=on\nethertypes=0x8906,0,0x0800\n"


def settings():
    """Of the program that fuzz_settings knows."""
    yield (b"[program]\nburst=64\nname=abc def\n[port 0]\nring=1024\nqueues=all\nmode=macswap\ntc=0:ets:40 1:ets:60\n"
           b"rule=udp:4791:3:26 tcp:80:1\ntrust=dscp\n[rxq 0 3]\nwait=65535\n")
    yield b"[port 1]\npromisc=0 # no\nprio-tc=0,0,0,1,0,0,0,0\nrx-pfc=3\ndscp-pfc=on\n[card 0]\ntype=cx3\n[port 7]\n"


def neighbours():
    """For fuzz_roce_net: what its unit test says and hears, alone and after a question and time."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../unit/roce'))
    import net_packets as n
    said = [bytes(p) for p, _ in list(n.pairs.values()) + list(n.echoes.values())]
    said += [bytes(p) for d in (n.quiet, n.malformed, n.conflicts, n.heard) for p in d.values()]
    for p in (p for p in said if len(p) < 256):
        frame = bytes([3, len(p), 2]) + p
        yield frame
        yield bytes([1, 2, 0, 1, 0x82, 0, 2]) + frame + bytes([0, 1, 0x90, 1, 2, 0, 1, 0x82, 0, 2])


def datagrams():
    """For fuzz_mad: kind of record; a message, whose connection, transaction, length, octets of its data."""
    def msg(n, who=0, tid=0, kind=0, data=bytes(140)):
        return bytes([kind, n, who, tid, len(data) - 58]) + data

    ask, accept, establish, leave = b'\x04\x05\x01', b'\x05\0\0', b'\x05\0\x01', b'\x05\0\x04'
    for n in range(11):                                # each message out of nowhere, well aimed or not
        yield msg(n, tid=1) + msg(n, tid=1) + msg(n, kind=0x10)
        yield ask + msg(n) + msg(n)
        yield msg(0, tid=1) + b'\0' + msg(n)
        yield msg(0, tid=1) + b'\0' + accept + msg(n) + msg(4) + msg(n)
    yield ask + msg(3) + b'\x01' + establish + leave + msg(6) + b'\x07\xff\x1f'
    yield msg(0, tid=1) + b'\0' + accept + msg(4) + msg(5) + msg(5)
    yield msg(0, data=b'\xff' * 173)                   # overlong private data
    yield b'\x03' + bytes([1, 4, 1, 1]) + bytes(12) + b'\0\x12' + bytes(238)


def management():
    """For fuzz_ibmad: whether a manager runs; records, their kind in the low bits: datagrams of (class, method, attribute, identifier,
    modifier), answers, calls, any octets, time."""
    later, answer = b'\xff', b'\x02\0'

    def msg(cls, method, attr, mod=0, more=b''):
        return bytes([0, cls, method, attr, 0, mod]) + more

    def node(kind, ports, port):                       # NodeInfo, as an answer
        return answer + bytes([64, 1, 1, kind, ports]) + bytes(8) + b'\x02guid' + bytes([kind, ports, port]) + bytes(16) + bytes([port]) + bytes(27)
    rmpp = [(1, 1, 3, 0, 1, 0xffffffff), (1, 1, 3, 0, 0, 220), (1, 1, 1, 0, 0xffffffff, 0), (2, 1, 7, 0, 1, 1), (1, 2, 1, 0, 9, 3),
            (1, 3, 1, 1, 0, 0), (1, 4, 1, 127, 0, 0), (1, 255, 255, 255, 1, 1), (1, 1, 1, 0, 2, 0)]
    for sm in (0, 1):
        start = bytes([sm]) + later
        for fields in rmpp:                            # lengths that overflow, windows that go back, segments out of order
            yield start + bytes([0x80, 2, 4, 9, 0, 0]) + struct.pack('>BBBBII', *fields) + b'\xc0' + bytes(192)
        for method in range(10):
            for attr in range(12):
                for cls in (0, 1, 2):
                    yield start + msg(cls, method, attr, attr, bytes(14) + b'\xff' * 64) + later
        for kind, ports, port in ((2, 255, 1), (2, 36, 37), (2, 0, 0), (1, 255, 255), (1, 0, 1), (2, 36, 1), (3, 1, 1)):
            yield start + node(kind, ports, port) * 3 + later + (answer + b'\x40' + b'\xff' * 64) * 20
        for call in range(8):
            yield start + bytes([4, call, 1, 0xff, 0xff, 0, 0]) + answer + bytes([7, 64]) + bytes(64) + later * 3


def programs():
    """For fuzz_share: which connection, then each call by its number, what is in it, and whether it is changed."""
    hello, reg_mr, rereg_mr = 0, 7, 32
    make = [(5, 0), (reg_mr, 1), (9, 0), (9, 1), (11, 0), (13, 15), (13, 14), (16, 9), (20, 0), (20, 0x10), (20, 0x20), (20, 0x30), (24, 2)]
    use = [(2, 0), (3, 1), (4, 0), (14, 0), (35, 99), (17, 3), (18, 0), (26, 0)]
    steps = [(21, n | 2 << 3) for n in (1, 3, 6, 0, 2, 5, 7)] + [(22, 0), (27, 1), (28, 1), (33, 1), (rereg_mr, 0x10), (rereg_mr, 0x40)]
    unmake = [(34, 0), (25, 0), (23, 0), (19, 0), (15, 0), (12, 0), (10, 0), (8, 0), (6, 0)]
    for kind in (2, 3):
        for calls in (make + use + steps + unmake, make + unmake[::-1], [(5, 0), (reg_mr, 0x81)],
                      [(5, 0), (13, 15), (20, 0x30), (21, 0), (33, 0)], [(5, 0), (13, 15), (20, 0x20), (27, 1)], [(13, 0)] + [(35, 127)] * 200, [(hello, 0), (hello, 9)]):
            yield bytes([kind]) + b''.join(bytes([op, how, 0]) for op, how in calls)
    for cmd in range(24):                              # of librdmacm, each with an empty structure and with one that is full
        yield bytes([1]) + bytes([31, 0, 0, 0, 24]) + bytes(24) + bytes([31, cmd, 0, 1, 32]) + b'\xff' * 288 + bytes([31, cmd, 0, 1, 32]) + bytes(288)


def write(folder, target, items):
    path = os.path.join(folder, target)
    os.makedirs(path, exist_ok=True)
    for i, data in enumerate(items):
        with open(os.path.join(path, 'seed%03d' % i), 'wb') as f:
            f.write(data)


def main(folder):
    raw = [bytes(f) for f in frames()]
    write(folder, 'frame', [b'\x00' + struct.pack('>H', len(r)) + r for r in raw] +
          [b'\x01' + struct.pack('>H', 15) + r[:15] + struct.pack('>H', len(r) - 15) + r[15:] for r in raw if len(r) > 15])
    # Every opcode once in a card with objects, with and without a prepared mailbox.
    write(folder, 'cmd', [bytes([6]) + bytes([op, how, 0, 0, n]) for op in range(90) for how, n in ((0, 0), (1, 4), (2, 5))])
    send = bytes([0, 1]) + struct.pack('>HH', 64, 0) + bytes([0, 0, 1])
    ring = bytes([0, 2]) + bytes([0, 7])
    write(folder, 'wqe', [send * n + ring for n in (1, 2, 31)] + [bytes([0, 6]) + bytes(12) + ring])
    cqe = bytes(20) + struct.pack('>I', 64) + bytes(7) + b'\x01'
    write(folder, 'roce', roce_packets())
    write(folder, 'mad', datagrams())
    write(folder, 'ibmad', management())
    write(folder, 'roce_net', neighbours())
    write(folder, 'share', programs())
    write(folder, 'vfu', vfu_messages())
    write(folder, 'qos', configurations())
    write(folder, 'settings', settings())
    write(folder, 'ipoib', ipoib_packets())
    write(folder, 'ipoib_core', ipoib_lives())
    write(folder, 'lldp', [speak(f) for f in lldp_frames()] + [b''.join(speak(f) + b'\x00\x0b\xb8' for f in lldp_frames())])
    # Plain but for one bit that no receive completion has (a burst without end, once), then a good one.
    strange = [cqe[:31] + bytes([op]) for op in (0x21, 0x20, 0x3f, 0x16)]
    write(folder, 'cqe', [bytes([m]) + b'\x03' + cqe * 4 for m in range(4)] +
          [bytes([m]) + b'\x01' + s + cqe for m in range(4) for s in strange])


if __name__ == '__main__':
    main(sys.argv[1])
