#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A port that sends back what it receives, by one of four queues: which ones got packets, and that none was lost."""
import os
import subprocess

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
ENOUGH = 1000
cases = tpmd.Cases()


def queues(by, octets):
    """Packets of each of port 1's transmit queues, when it has sent each flow some times."""
    with tpmd.Triplane(['net_mlx4_model0'], ['--txq', '4', '--txpkts', str(octets), '--flows', '256']) as t:
        for line in ('set fwd flowgen 0', 'set fwd macswap 1', 'set peer 1 1', 'set tx-choice %s 1' % by, 'start'):
            t.tell(line)
        tpmd.wait_until(lambda: t.xstats(1)['tx_good_packets'] >= ENOUGH, 120)
        t.tell('stop')
        x = t.xstats(1)
        t.end()
    each = [x['tx_q%d_packets' % q] for q in range(4)]
    if sum(each) != x['tx_good_packets'] or sum(each) < ENOUGH:
        raise RuntimeError('queues have %s, the port %d' % (each, x['tx_good_packets']))
    return each


def used(by, octets, want):
    each = queues(by, octets)
    return None if [n != 0 for n in each] == want else '%s octets by %s: %s' % (octets, by, each)


def shares():
    """256 flows in turn: each queue has a share that is neither a crumb nor nearly all."""
    each = queues('hash', 60)
    return None if max(each) < 0.6 * sum(each) and min(each) > 0.05 * sum(each) else str(each)


def refused():
    for commands, args, words in (('set fwd macswap; set tx-choice hash all; start', ['--rxq', '4'], ('tx-choice', '8', '4')),
                                  ('set tx-choice what 0', [], ('what', 'off|size|hash|both')),
                                  ('start; set tx-choice hash 0', [], ('forwarding runs',))):
        p = subprocess.run([APP] + tpmd.eal('txc%d' % os.getpid(), plugin=False) + ['--log-level=*:error', '--vdev=net_mlx4_model0', '--',
                                                                                   '--txq', '4', *args, '-e', commands],
                           capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        if p.returncode != 1 or p.stderr.count('\n') != 1 or not all(w in p.stderr for w in words):
            return '%s: exit status %s, %r' % (commands, p.returncode, p.stderr)
    return None


cases.run('tx-choice-off', used, 'off', 60, [True, False, False, False])
cases.run('tx-choice-size-small', used, 'size', 127, [True, False, False, False])
cases.run('tx-choice-size-large', used, 'size', 128, [False, True, False, False])
cases.run('tx-choice-both-small', used, 'both', 127, [True, True, False, False])
cases.run('tx-choice-both-large', used, 'both', 128, [False, False, True, True])
cases.run('tx-choice-hash', shares)
cases.run('tx-choice-refused', refused)
cases.exit()
