#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A card that is run by who polls it (run=poll): unmodified dpdk-testpmd on one CPU, and verbs, polled and by events."""
import re

import rocepair
import tpmd

CARD = 'net_mlx4_model0,wire0=cross,run=poll'
FIRST = 4  # bursts of 32 that each port sends first
cases = tpmd.Cases()


def forwards():
    """Nothing is lost and nothing made: what was sent first is still under way, to the last frame."""
    with tpmd.Testpmd([CARD], ['--forward-mode=io']) as t:
        t.cmd('start tx_first %d' % FIRST)
        for p in (0, 1):
            t.until(p, 'rx-packets', 100000)
        t.cmd('stop')
        a, b = t.stats(0), t.stats(1)
    if any(s[k] for s in (a, b) for k in ('rx-errors', 'tx-errors', 'rx-nombuf')):
        return 'errors: %s %s' % (a, b)
    under_way = a['tx-packets'] + b['tx-packets'] - a['rx-packets'] - b['rx-packets']
    return None if under_way == FIRST * 32 * 2 else '%d frames under way: %s %s' % (under_way, a, b)


def sends_only():
    """Nobody receives: bursts that send run the card."""
    with tpmd.Testpmd([CARD], ['--forward-mode=txonly', '--txpkts=200']) as t:
        t.cmd('start')
        s = t.until(0, 'tx-packets', 100000)
        t.cmd('stop')
    return None if s['tx-packets'] >= 100000 and s['tx-bytes'] == 200 * s['tx-packets'] else 'sent %s' % s


def ping_pong(*args):
    p = rocepair.self_pair('tp_pingpong', ['-s', '1000', '-n', '500', '--chk', *args], [CARD])
    return None if p.client.returncode == 0 and re.search(r'\b500\b', p.client.out) else 'exit status %d: %s %s' % (
        p.client.returncode, p.client.out, p.client.err)


if __name__ == '__main__':
    cases.run('testpmd-forwards-on-one-cpu', forwards)
    cases.run('testpmd-sends-only', sends_only)
    cases.run('verbs-polled', ping_pong)
    cases.run('verbs-events', ping_pong, '-e')
    cases.exit()
