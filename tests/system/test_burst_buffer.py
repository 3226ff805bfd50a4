#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packet-burst buffering: a slow forwarder's packets wait in a reserve that is larger than the receive ring, none is lost without
a count, and their order stays. What is counted decides, never how long something took."""
import json
import os
import subprocess
import time

import tpmd
from scapy.all import IP, UDP, Ether, Raw, rdpcap, wrpcap

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
CARD = 'net_mlx4_model0,rate0=50'  # what port 0 sends is a trickle: some 70000 packets a second
LCORES = '0@0,1@0,2@0,3@0'
RING = 256
cases = tpmd.Cases()


def reserve(size):
    """Of port 1, whose stream needs a CPU's time for each packet."""
    return ['port stop 1', 'set setting 1 rx-ring %d' % RING, 'set setting 1 burst-buffer on', 'set setting 1 rfd-reservation %d' % size,
            'port start 1', 'set work 200000 1']


def streams(answer, port, mode=None):
    return [s for lc in answer['lcores'] for s in lc['streams'] if s['rx_port'] == port and (s['mode'] == 'catch') == (mode == 'catch')]


def lcore(answer, port, mode=None):
    return next(lc['lcore'] for lc in answer['lcores'] if any(s['rx_port'] == port and (s['mode'] == 'catch') == (mode == 'catch')
                                                              for s in lc['streams']))


def until(t, wanted, patience=60):
    end = time.monotonic() + patience
    while True:
        a = t.ask('show fwd')
        s = streams(a, 1)[0]
        if wanted(s) or time.monotonic() > end:
            return a, s


def under_load(size, wanted):
    """Port 0 sends until it shows; then what the ring still has is taken. What a look showed, and what all counted in the end."""
    with tpmd.Triplane([CARD], on=LCORES) as t:
        for line in ['set fwd flowgen 0', 'set fwd rxonly 1'] + reserve(size) + ['start']:
            t.tell(line)
        a, s = until(t, wanted)
        t.tell('stop')
        got = given(t)
        for line in ('set fwd rxonly 0', 'set work 0 1', 'start'):
            t.tell(line)
        end = time.monotonic() + 60
        while unaccounted(t) and time.monotonic() < end:
            time.sleep(0.02)
        t.tell('stop')
        got += given(t)
        return a, s, accounted(t, got)


def given(t):
    return sum(s['rx_packets'] for s in t.ask('show summary')['streams'] if s['rx_port'] == 1)


def unaccounted(t):
    """Sent, and neither received nor in a counter with a name."""
    sent, came = t.ask('show port stats all')['ports']
    return sent['tx_packets'] - came['rx_packets'] - came['rx_missed']


def accounted(t, got):
    """What was received was given to the stream, or dropped by it when it stopped."""
    sent, came = t.ask('show port stats all')['ports']
    broken = sum(p['violations'] for p in t.ask('show model')['ports'])
    if broken:
        return '%d rules were broken' % broken
    if unaccounted(t) or sent['tx_packets'] < RING:
        return 'sent %s, received %s' % (sent, came)
    return None if came['rx_packets'] == got else 'the port received %d, its stream got %d' % (came['rx_packets'], got)


def larger_than_the_ring():
    a, s, wrong = under_load(10000, lambda s: s['reserve_waiting'] > 2 * RING)
    if s['reserve'] != 10000 or not 2 * RING < s['reserve_most'] <= 10000:
        return str(s)
    if lcore(a, 1, 'catch') in (lcore(a, 1), lcore(a, 0)):
        return 'no lcore of its own: %s' % a
    return wrong


def full():
    """A reserve that is full leaves packets in the ring, and the card counts what finds no room there."""
    _, s, wrong = under_load(150, lambda s: s['reserve_full'] > 0)
    return wrong if s['reserve_full'] > 0 and 0 < s['reserve_most'] <= 150 else str(s)


def in_order():
    """Frames that scapy numbered, through reserves of two queues: each flow's come out octet by octet, in their order."""
    frames = [Ether(src='02:00:00:00:00:01', dst='00:02:c9:a1:b2:02') / IP(src='192.0.2.1', dst='192.0.2.2') /
              UDP(sport=1000 + i % 7, dport=9) / Raw(b'%08d' % i * 4) for i in range(1200)]
    with tpmd.scratch() as d:
        wrpcap(d + '/in.pcap', frames)
        with tpmd.Triplane(['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/out.pcap' % (d, d), 'net_mlx4_model0'], on=LCORES) as t:
            # the file's frames go out by port 1, arrive at port 2 and go to the other file
            for line in ['port stop 2', 'set setting 2 rx-queues 2', 'set setting 2 burst-buffer on', 'set setting 2 rfd-reservation 2000',
                         'port start 2', 'set peer 2 0', 'set work 100000 0', 'start']:
                t.tell(line)
            end, done, lost = time.monotonic() + 60, 0, 0
            while done + lost < len(frames) and time.monotonic() < end:
                stats = t.ask('show port stats all')['ports']
                done = stats[0]['tx_packets']
                lost = stats[2]['rx_missed'] + sum(s['dropped'] for lc in t.ask('show fwd')['lcores'] for s in lc['streams'])
            reserves = {s['rx_queue']: s['rx_packets'] for lc in t.ask('show fwd')['lcores'] for s in lc['streams'] if s['mode'] == 'catch'}
            t.tell('stop')
            t.end()
        out = rdpcap(d + '/out.pcap')
    if done + lost != len(frames) or len(reserves) != 2 or min(reserves.values()) == 0:
        return '%d came out, %d were counted as lost, reserves had %s' % (done, lost, reserves)
    for port in range(1000, 1007):
        came, went = ([bytes(f) for f in pcap if f[UDP].sport == port] for pcap in (frames, out))
        rest = iter(came)
        if not went or any(f not in rest for f in went) or (lost == 0 and came != went):
            return 'flow %d: %d of %d, %d lost' % (port, len(went), len(came), lost)
    return None


def refused():
    bad = [('rfd-reservation', '0', '1..5000000'), ('rfd-reservation', '5000001', '1..5000000'), ('burst-buffer', 'some', 'off or on')]
    one = ['port stop 1', 'set setting 1 burst-buffer on', 'port start 1', 'start']
    for lines, want in [(['set setting 1 %s %s' % (n, v)], (n, v, w)) for n, v, w in bad] + \
            [(['set setting 1 burst-buffer on'], ('stop',)), (one, ('burst-buffer', '2 forwarding lcores', 'there is 1'))]:
        p = subprocess.run([APP] + tpmd.eal('bb%d' % os.getpid(), plugin=False) + ['--vdev=net_mlx4_model0', '--'],
                           input='\n'.join(lines) + '\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, text=True)
        said = [line for line in p.stderr.splitlines() if 'triplane: [' not in line]
        if len(said) != 1 or any(w not in said[0] for w in want):
            return '%s: %s' % (lines, p.stderr)
    return None


def saved():
    """As any setting: shown with the vendor's name, saved, loaded again."""
    with tpmd.scratch() as d:
        lines = reserve(10000) + ['save %s/a.conf' % d, 'port stop 1', 'set setting 1 burst-buffer off', 'load %s/a.conf' % d,
                                  'show settings 1 info json']
        p = subprocess.run([APP] + tpmd.eal('bs%d' % os.getpid(), plugin=False) + ['--log-level=*:error', '--vdev=net_mlx4_model0', '--'],
                           input='\n'.join(lines) + '\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, text=True)
    a = json.loads([line for line in p.stdout.splitlines() if line.startswith('{')][-1])
    s = next(o for o in a['objects'] if o['object'] == 'port 1')['settings']
    got = [s[n][k] for n in ('burst-buffer', 'rfd-reservation') for k in ('current', 'default', 'vendor')]
    return None if got == ['on', 'off', 'AsyncReceiveIndication', '10000', '150', 'RfdReservationFactor'] else p.stderr + str(got)


for case in (larger_than_the_ring, full, in_order, refused, saved):
    cases.run('burst-buffer-' + case.__name__.replace('_', '-'), case)
cases.exit()
