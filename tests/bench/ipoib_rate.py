# SPDX-License-Identifier: BSD-3-Clause
"""Packets a second of IPoIB beside Ethernet on the model, by size, and bandwidth of connections beside datagrams: in all cases one
lcore of triplane makes the packets on one port and receives them on the other, and the card runs on the other CPU."""
import json
import os
import statistics
import struct
import subprocess
import sys

import tpmd

RUNS = 3
MS = 700
SIZES = (64, 128, 256, 512, 1024, 1518)
# Octets of IP: what a datagram takes on a subnet of 2048, and what only a connection does.
MTUS = (2044, 9000, 32000, 65520)
SEGMENT = 8192
GUID = 0x0002c90300a1b200
MAC = '00:02:ca:a1:b2:02'    # of the second port's GUID, by which the first one knows it
ASKER = bytes((2, 0, 0, 0, 0, 1))


def ask(path):
    """A capture with one ARP request, whose answer makes the two ports neighbours."""
    arp = struct.pack('>HHBBH6s4s6s4s', 1, 0x0800, 6, 4, 1, ASKER, bytes((10, 0, 0, 1)), bytes(6), bytes((10, 0, 0, 2)))
    frame = b'\xff' * 6 + ASKER + b'\x08\x06' + arp + bytes(18)
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame)


def segments(octets):
    """A frame in as few buffers of the same length as it takes."""
    n = -(-octets // SEGMENT)
    return ','.join(str(octets // n + (i < octets % n)) for i in range(n))


def received(vdevs, before, size, options=()):
    """Packets a second that the second port received; None: the program failed."""
    cmd = ['triplane', *tpmd.eal('ipr%d' % os.getpid(), on='0@0,1@1', memory=1024), *('--vdev=' + v for v in vdevs), '--', '--json',
           '--txpkts', segments(size - 4), *options]
    for line in before:
        cmd += ['-e', line]
    cmd += ['-e', 'set fwd txonly 0; set fwd rxonly 1; start; sleep 300; show port stats 1',
            '-e', 'sleep %d; show port stats 1; stop' % MS]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if p.returncode != 0:
        print('bench: triplane ended with %d: %s' % (p.returncode, p.stderr[-300:]), file=sys.stderr)
        return None
    out = [json.loads(x) for x in p.stdout.splitlines() if x.startswith('{')]
    stats = [o['ports'][0] for o in out if 'ports' in o and 'rx_packets' in o['ports'][0] and o.get('table') != 'summary'][-2:]
    return (stats[1]['rx_packets'] - stats[0]['rx_packets']) / (MS / 1000)


def ethernet(size):
    return received(['net_mlx4_model0,wire0=cross,cpu=0'], [], size)


def ipoib(size, folder, more='', options=()):
    path = os.path.join(folder, 'ask.pcap')
    ask(path)
    card = 'net_mlx4_model0'
    return received(['%s,guid=0x%x,port0=ib,port1=ib,wire0=cross,cpu=0' % (card, GUID), 'net_ipoib0,port=%s/1%s' % (card, more),
                     'net_ipoib1,port=%s/2%s' % (card, more), 'net_pcap0,rx_pcap=%s,tx_pcap=/dev/null' % path],
                    ['ib sm on %s/1; wait link up 0-1 30' % card,
                     'set fwd io 0,2; set fwd icmpecho 1; set peer 2 0; set peer 0 2; start; sleep 500; stop',
                     'set fwd rxonly 2; set eth-peer 0 %s' % MAC], size, options)


def bandwidth(mtu, folder, connected):
    """Gbit/s of IP; None: a datagram does not take as much, or the program failed."""
    if not connected and mtu > 2044:
        return None
    size = mtu + 18
    rate = median(ipoib, size, folder, ',connected=1' if connected else '',
                  ('--mbuf-size', str(SEGMENT + 384), '--total-num-mbufs', '16384'))
    return None if rate is None else round(rate * mtu * 8 / 1000, 2)


def median(f, *args):
    rates = [r for r in (f(*args) for _ in range(RUNS)) if r is not None]
    return round(statistics.median(rates) / 1e6, 3) if rates else None


def bench(rep, share):
    """share: of what Ethernet ports do with frames of 64 B."""
    rep.title('ipoib: packets from one port of a card to the other, one lcore, by the octets of an Ethernet frame with FCS; median of %d '
              'runs of %.1f s; Mpps' % (RUNS, MS / 1000))
    with tpmd.scratch() as folder:
        for size in SIZES:
            v, beside = median(ipoib, size, folder), median(ethernet, size)
            rep.row('ipoib', 'frames of %d B' % size, 'packet rate', v, 'Mpps', 'Ethernet', beside)
            if size == SIZES[0]:
                rep.goal('packets of 64 B from one IPoIB port to the other against Ethernet ports', v and beside and v / beside, share, 'x',
                         at_least=True)
        rep.title('ipoib: bandwidth of connected mode beside datagrams, by the octets of IP in a packet; median of %d runs of %.1f s; Gbit/s' %
                  (RUNS, MS / 1000))
        for mtu in MTUS:
            rep.row('ipoib', 'packets of %d B' % mtu, 'connected', bandwidth(mtu, folder, True), 'Gbit/s', 'datagram',
                    bandwidth(mtu, folder, False))
