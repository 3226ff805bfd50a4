#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/tcp against Linux's TCP over a TAP in a network namespace: octets are compared both ways, with and without losses and
reordering, and tshark judges what was on the wire."""
import os
import sys
import tempfile

import tpmd
from tcp_linux import OWN, PEER, SPACE, Transfer, frames_of
from test_ipoib import sh

cases = tpmd.Cases()


def plain(mode, ours, theirs, *words, **expect):
    t = Transfer(mode, ours, theirs, *words)
    if t.wrong:
        return t.wrong
    for k, v in expect.items():
        if t.counters[k] != v:
            return '%s is %d, not %d' % (k, t.counters[k], v)
    return None


def lossy(mode, *words):
    t = Transfer(mode, 3_000_000, 3_000_000, *words)
    if t.wrong:
        return t.wrong
    return None if t.counters['retransmits'] else 'nothing was lost'


def shark_agrees(mode):
    """Without loss tshark finds nothing to remark on but what a full window is."""
    with tempfile.TemporaryDirectory() as folder:
        pcap = os.path.join(folder, 'x.pcap')
        t = Transfer(mode, 1_000_000, 1_000_000, capture=pcap)
        if t.wrong:
            return t.wrong
        found = frames_of(pcap, 'ip.src == %s && (tcp.analysis.flags || tcp.checksum.status == 0 || _ws.malformed)' % OWN,
                          'ip.src', 'tcp.analysis.flags', '_ws.expert.message')
        found = [line for line in found if 'window' not in line.lower()]
        # A peer that gets no CPU is asked again: that is the timers' doing, and they say so.
        if t.counters['tail_probes'] + t.counters['timeouts']:
            found = [line for line in found if 'retransmission' not in line]
        # So does Linux, and what it sends again is acknowledged again, once each (RFC 9293, 3.10.7.4).
        again = frames_of(pcap, 'ip.src == %s && (tcp.analysis.retransmission || tcp.analysis.spurious_retransmission)' % PEER)
        if sum('Duplicate ACK' in line for line in found) <= len(again):
            found = [line for line in found if 'Duplicate ACK' not in line]
        frames = len(frames_of(pcap, 'ip.src == %s && tcp.len > 0' % OWN))
    if frames < 300:
        return 'tshark saw only %d frames with data' % frames
    return '; '.join(found[:5]) or None


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip tcp-linux: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
try:
    sh('ip', 'netns', 'add', SPACE, check=True)
    sh('ip', '-n', SPACE, 'link', 'set', 'lo', 'up', check=True)
    cases.run('tcp-linux-connect', lambda: plain('connect', 5_000_000, 5_000_000, rx_checksum=0, rx_malformed=0, snd_mss=1448, options=7))
    cases.run('tcp-linux-listen', lambda: plain('listen', 5_000_000, 5_000_000, rx_checksum=0, rx_malformed=0, snd_mss=1448, options=7))
    cases.run('tcp-linux-nothing', lambda: plain('connect', 0, 0))
    cases.run('tcp-linux-one-way', lambda: plain('listen', 0, 2_000_000))
    cases.run('tcp-linux-no-options', lambda: plain('connect', 500_000, 500_000, 'no_sack', 'no_timestamps', 'no_wscale', options=0,
                                                         snd_mss=1460))
    cases.run('tcp-linux-small-window', lambda: plain('listen', 300_000, 1_000_000, 'rcvbuf=4096'))
    cases.run('tcp-linux-loss', lambda: lossy('connect', 'loss=100', 'reorder=100'))
    cases.run('tcp-linux-loss-listen', lambda: lossy('listen', 'loss=100', 'reorder=100'))
    cases.run('tcp-linux-loss-no-sack', lambda: lossy('connect', 'loss=100', 'no_sack', 'reno'))
    cases.run('tcp-linux-tshark', lambda: shark_agrees('connect'))
    cases.run('tcp-linux-tshark-listen', lambda: shark_agrees('listen'))
finally:
    sh('ip', 'netns', 'del', SPACE)
cases.exit()
