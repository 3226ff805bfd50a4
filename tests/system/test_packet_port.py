#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_triplane_packet on a wire of the kernel (veth): frames of several packets between two such ports, none to a port of net_af_packet;
what the kernel cuts, and what comes from it, is judged by tshark and by Python's CRC."""
import os
import re
import subprocess
import sys
import tempfile

from scapy.utils import rdpcap

import rocepair
import tpmd
from roce_icrc import wrong

cases = tpmd.Cases()
MTU = 4200
LONGEST = MTU + 14  # a frame of one packet
PINGPONG = ['--eth-mtu', str(MTU), '-m', '4096', '-s', '65536', '-n', '30', '-c', '-u', '18']
OURS = 'net_triplane_packet%d,iface=roce%d'
OTHER = 'net_af_packet%d,iface=roce%d,blocksz=552960,framesz=4320,framecnt=256'
SENDER = '''import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
s.sendto(bytes(i % 251 for i in range(20500)), ('192.0.2.9', 5000))
'''


def counters(wire, end):
    """Frames and octets that an interface has received."""
    path = '/sys/class/net/roce%d/statistics/rx_' % end
    out = subprocess.run(['ip', 'netns', 'exec', wire.ns, 'cat', path + 'packets', path + 'bytes'], stdout=subprocess.PIPE, check=True).stdout
    return [int(x) for x in out.split()]


def talk(wire, kinds, more=('', '')):
    """Messages of 64 KiB to and fro in one process, each octet checked; octets of the mean frame that came to each end."""
    vdevs = [kinds[i] % (i, i) + more[i] for i in (0, 1)]
    before = [counters(wire, i) for i in (0, 1)]
    cmd = rocepair.self_cmd('tp_pingpong', vdevs)
    names = [v.split(',')[0] for v in vdevs]
    p = rocepair.Process(['ip', 'netns', 'exec', wire.ns] + cmd + ['-d', names[0], '--self-dev', names[1]] + PINGPONG).wait(60)
    if p.returncode != 0:
        raise RuntimeError('%d: %s' % (p.returncode, (p.out + p.err)[-600:]))
    after = [counters(wire, i) for i in (0, 1)]
    return [(after[i][1] - before[i][1]) / (after[i][0] - before[i][0]) for i in (0, 1)]


def joined(wire):
    mean = talk(wire, (OURS, OURS))
    return None if min(mean) > LONGEST else 'octets of a mean frame: %s' % mean


def not_joined(wire):
    """To a port that says nothing of joined frames."""
    mean = talk(wire, (OURS, OTHER))
    return None if max(mean) <= LONGEST else 'octets of a mean frame: %s' % mean


def cut_by_kernel(wire):
    """An interface that cuts what it is given: a port of net_af_packet gets packets of RoCE, each whole."""
    with tempfile.TemporaryDirectory(prefix='packet.') as tmp:
        # Of end 0 alone: what comes there are its answers.
        subprocess.run(['ip', 'netns', 'exec', wire.ns, 'ethtool', '-K', 'roce0', 'tx-udp-segmentation', 'off', 'tx', 'off'], check=True,
                       stdout=subprocess.DEVNULL)
        cap = rocepair.Capture(wire.ns, ('roce1',), os.path.join(tmp, 'cut.pcapng'))
        talk(wire, (OURS, OTHER), (',gso=on', ''))
        cap.stop()
        subprocess.run(['ip', 'netns', 'exec', wire.ns, 'ethtool', '-K', 'roce0', 'tx-udp-segmentation', 'on', 'tx', 'on'], check=True,
                       stdout=subprocess.DEVNULL)
        cmd = ['tshark', '-n', '-r', cap.path, '-o', 'udp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE', '-Y', 'infiniband', '-T', 'fields'] + [
            x for n in ('ip.id', 'udp.length', 'udp.checksum.status', 'ip.checksum.status', 'infiniband.bth.opcode', 'frame.len') for x in ('-e', n)]
        rows = [line.split('\t') for line in subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
                                                            check=True).stdout.splitlines()]
        frames = [bytes(p.original) for p in rdpcap(cap.path)]
    # 15 packets of a message are one frame for the kernel, which puts sums in; a packet by itself has none.
    summed = [r for r in rows if r[2] == '1']
    if len(summed) < 30 * 14 or len(rows) < 30 * 16 or any(r[2] not in '13' or r[3] != '1' for r in rows):
        return '%d packets, %d with sums: %s' % (len(rows), len(summed), rows[:20])
    if any(int(r[5]) != int(r[1]) + 34 or int(r[5]) > LONGEST for r in rows):
        return 'lengths: %s' % rows[:20]
    return wrong([f for f in frames if f[12:14] == b'\x08\0' and f[23] == 17 and f[36:38] == b'\x12\xb7'])


def bypass(wire):
    """Past the queueing discipline is past who captures at the interface what it sends; what comes is seen all the same."""
    mac = bytes.fromhex(subprocess.run(['ip', 'netns', 'exec', wire.ns, 'cat', '/sys/class/net/roce0/address'], stdout=subprocess.PIPE, text=True,
                                       check=True).stdout.replace(':', ''))
    for word in (0, 1):
        with tempfile.TemporaryDirectory(prefix='packet.') as tmp:
            cap = rocepair.Capture(wire.ns, ('roce0',), os.path.join(tmp, 'sent.pcapng'))
            talk(wire, (OURS, OURS), (',qdisc_bypass=%d' % word, ''))
            cap.stop()
            frames = [bytes(p.original) for p in rdpcap(cap.path)]
        sent = sum(f[6:12] == mac for f in frames)
        if (sent == 0) != bool(word) or sent == len(frames):
            return 'qdisc_bypass=%d: %d frames sent of %d seen' % (word, sent, len(frames))
    return None


def from_kernel(wire):
    """Datagrams that a socket hands to the kernel as one: packets with right sums, by tshark."""
    def ns(*args):
        subprocess.run(['ip', *args], check=True)

    ns('-n', wire.ns, 'addr', 'add', '192.0.2.2/24', 'dev', 'roce1')
    ns('-n', wire.ns, 'neigh', 'add', '192.0.2.9', 'lladdr', '02:00:00:00:00:09', 'dev', 'roce1')
    with tempfile.TemporaryDirectory(prefix='packet.') as tmp, tpmd.Triplane([OURS % (0, 0)], space=wire.ns) as t:
        path = os.path.join(tmp, 'cut.pcapng')
        t.tell('set fwd rxonly')
        t.tell('capture start 0 %s direction in filter udp port 5000' % path)
        t.tell('start')
        t.ask('show port xstats 0')
        subprocess.run(['ip', 'netns', 'exec', wire.ns, sys.executable, '-c', SENDER], check=True)
        if not tpmd.wait_until(lambda: t.xstats(0).get('rx_joined_packets') == 21):
            return 'never 21 packets: %s' % t.xstats(0)
        x = t.xstats(0)
        t.ask('capture stop 0')
        t.end()
        out = subprocess.run(['tshark', '-n', '-r', path, '-o', 'udp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE', '-T', 'fields'] + [
            y for n in ('ip.id', 'udp.length', 'udp.checksum.status', 'ip.checksum.status', 'data') for y in ('-e', n)], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=60, check=True).stdout
    rows = [line.split('\t') for line in out.splitlines()]
    first = int(rows[0][0], 0) if rows else 0
    want = [[(first + i) & 0xffff, 1008 if i < 20 else 508, '1', '1'] for i in range(21)]
    if [[int(r[0], 0), int(r[1]), r[2], r[3]] for r in rows] != want:
        return 'packets: %s' % [r[:4] for r in rows]
    if ''.join(r[4] for r in rows) != bytes(i % 251 for i in range(20500)).hex():
        return 'other octets'
    return None if x['rx_joined_frames'] == 1 and x['rx_errors'] == 0 else str(x)


def refused(wire):
    """One line says what is wrong."""
    app = [rocepair.program('tp_pingpong')]
    for lead, arg, want in (([], 'iface=none0', 'none0: there is no such interface'),
                            ([], 'iface=roce0,gso=maybe', "gso 'maybe' is none of auto, on, off"),
                            (['setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw'], 'iface=roce0', 'the process needs CAP_NET_RAW')):
        p = rocepair.Process(['ip', 'netns', 'exec', wire.ns] + lead + app + rocepair.eal('r') + ['--vdev=net_triplane_packet0,' + arg, '--']).wait(60)
        if p.returncode == 0 or not re.search('packet: .*' + want, p.out + p.err):
            return '%s: %d: %s' % (arg, p.returncode, (p.out + p.err)[-400:])
    return None


with rocepair.Veth() as w:
    if not w.ok:
        print('skip packet-port: network namespaces need root', flush=True)
        sys.exit(0)
    for interface in ('roce0', 'roce1'):
        subprocess.run(['ip', '-n', w.ns, 'link', 'set', interface, 'mtu', str(MTU)], check=True)
    cases.run('refused', refused, w)
    cases.run('joined', joined, w)
    cases.run('not-joined', not_joined, w)
    cases.run('qdisc-bypass', bypass, w)
    cases.run('cut-by-kernel', cut_by_kernel, w)
    cases.run('from-kernel', from_kernel, w)
cases.exit()
