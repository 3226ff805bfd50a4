# SPDX-License-Identifier: BSD-3-Clause
"""How the model's packet rate goes with queues, sizes, RSS and flows: one lcore of triplane makes the frames of flows on
one port and receives them on the other, the card runs on the other CPU. And with cards on one switch, all of which one lcore
polls and runs. Rows, and a plot of them."""
import json
import os
import statistics
import subprocess
import sys
import time

import plot
import tpmd

RUNS = 3
MS = 700
# One dimension is varied at a time around this point.
BASE = {'queues': 4, 'size': 64, 'rss': 'all', 'flows': 1024}
AXES = {
    'queues': [1, 2, 3, 4, 8, 16, 32, 64],
    'descriptors': [256, 512],
    'size': [64, 128, 256, 512, 1024, 1518],
    'rss': ['none', 'ip', 'udp', 'all'],
    'flows': [1, 16, 256, 1024, 4096, 65536, 1048576],
    'cards': [1, 2, 4, 8, 16],
}
TITLES = {'queues': 'queues of a port', 'descriptors': 'descriptors of a queue, of 64 queues', 'size': 'bytes of a frame, with FCS', 'rss': 'what is hashed (4 queues)',
          'flows': 'flows', 'cards': 'cards on one switch, one core for all, a queue a port'}


def cards(n):
    """Frames a second that all ports of n cards of two ports received over one switch. A card's first port makes frames for the second
    port of the next card, which sends them back. No port takes frames of others, so that the switch learns where each address is."""
    ends, switch = 2 * n, 'switch:scale%d' % os.getpid()
    vdevs = ['net_mlx4_model%d,run=poll,cpu=0,wire0=%s,wire1=%s' % (i, switch, switch) for i in range(n)]
    with tpmd.Triplane(vdevs, on='0@0,1@1', memory=2048) as t:
        t.tell('port config all promisc off')
        macs = {p['port']: p['mac'] for p in t.ask('show port info all')['ports']}
        for port in range(0, ends, 2):
            peer = (port + 3) % ends
            t.tell('set fwd flowgen %d; set eth-peer %d %s; set fwd macswap %d; set peer %d %d' % (port, port, macs[peer], peer, peer, peer))
        t.tell('start; sleep 300')

        def received():
            return time.monotonic(), sum(p['rx_packets'] for p in t.ask('show port stats all')['ports'])

        begun, first = received()
        t.tell('sleep %d' % MS)
        end, last = received()
        t.tell('quit')
        t.proc.wait(60)
    return (last - first) / (end - begun)


def rate(point):
    """Packets a second that were received; None: the program failed."""
    if 'cards' in point:
        try:
            return cards(point['cards'])
        except (RuntimeError, subprocess.SubprocessError) as e:
            print('bench: %d cards: %s' % (point['cards'], e), file=sys.stderr)
            return None
    # The buffers of all rings, and what a core's cache holds of them.
    rings = ['--rxd', str(point['descriptors']), '--txd', str(point['descriptors'])] if 'descriptors' in point else []
    cmd = ['triplane', *tpmd.eal('scale%d' % os.getpid(), on='0@0,1@1', memory=2048),
           '--vdev=net_mlx4_model0,wire0=cross,cpu=0', '--', '--json', '--rxq', str(point['queues']), '--txq', str(point['queues']),
           '--flows', str(point['flows']), '--txpkts', str(point['size'] - 4), *rings,
           '-e', 'rss types 1 %s; set fwd flowgen 0; set fwd rxonly 1; start; sleep 300; show port stats 1' % point['rss'],
           '-e', 'sleep %d; show port stats 1; stop' % MS]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if p.returncode != 0:
        print('bench: triplane ended with %d: %s' % (p.returncode, p.stderr[-300:]), file=sys.stderr)
        return None
    out = [json.loads(x) for x in p.stdout.splitlines() if x.startswith('{')]
    stats = [o['ports'][0] for o in out if 'ports' in o and 'rx_packets' in o['ports'][0] and o.get('table') != 'summary']
    return (stats[1]['rx_packets'] - stats[0]['rx_packets']) / (MS / 1000)


def picture(rates):
    """Heading and panels of the plot; rates: axis -> values in 10^6 packets a second."""
    top = plot.rounded(v for values in rates.values() for v in values)
    return ('10^6 packets a second received; otherwise %d queues, %d B, RSS %s, %d flows' % (
        BASE['queues'], BASE['size'], BASE['rss'], BASE['flows']),
            [plot.Panel(TITLES[axis], AXES[axis], [rates[axis]], top) for axis in AXES])


def bench(rep, folder):
    rep.title('scale: frames made, carried by the model and received by one lcore; median of %d interleaved runs of %.1f s' % (
        RUNS, MS / 1000))
    points = {axis: [dict(BASE, **({'queues': 64} if axis == 'descriptors' else {}), **{axis: v}) for v in values] for axis, values in AXES.items()}
    found = {}
    for _ in range(RUNS):
        for p in {json.dumps(p): p for axis in points.values() for p in axis}.values():
            v = rate(p)
            if v is not None:
                found.setdefault(json.dumps(p), []).append(v / 1e6)
    rates = {axis: [statistics.median(found[json.dumps(p)]) if json.dumps(p) in found else None for p in ps]
             for axis, ps in points.items()}
    for axis, ps in points.items():
        for p, v in zip(ps, rates[axis]):
            rep.row('scale', '%s %s' % (axis, p[axis]), 'packet rate', v and round(v, 3), 'Mpps')
    rep.title('plot: %s' % plot.write(folder, 'scale', *picture(rates)))
