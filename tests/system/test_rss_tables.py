#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane's own pool has the buffers for any change of rss-queues and of redirection tables: of ports that wait, that forward,
that start with one, from a file. A change that finds none leaves what there was."""
import json
import os
import subprocess
import tempfile

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
ENTRIES = 128  # of the card's table
# A table takes a thousand commands, which are slow on the CPU of an lcore that polls.
cases = tpmd.Cases()


def run(lines, args=(), memory=512):
    eal = tpmd.eal('rt%d' % os.getpid(), plugin=False, memory=memory) + ['--log-level=*:error', '--vdev=net_mlx4_model0']
    p = subprocess.run([APP] + eal + ['--'] + list(args), input='\n'.join(lines) + '\n', stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120, text=True)
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')], p.stderr


def queues(n):
    return ['--rxq', str(n), '--txq', str(n)]


def table(answer):
    return [int(n) for n in answer['ports'][0]['reta'].split(',')]


def spread(n):
    return [i % n for i in range(ENTRIES)]


def listed(*some):
    return [some[i % len(some)] for i in range(ENTRIES)]


def steps(n):
    """Commands and the table that each leaves, with as many entries as take the most buffers: each queue but one has three."""
    out = [('set setting 0 rss-queues %d' % k, spread(min(k, n))) for k in [*range(1, n + 1), 3, 3, 64]]
    out += [('set setting 0 rss-queues all', spread(n)), ('rss reta 0 0,0,1', listed(0, 0, 1))]
    most = [q for q in range(1, n) for _ in range(3)]
    most += [0] * (ENTRIES // 2 - len(most))
    for some in (most, most[::-1], most + [1], [1, 0]):
        out.append(('rss reta 0 ' + ','.join(map(str, some)), listed(*some)))
    return out


def tables(n):
    """Nobody polls queues of a port that does not forward, and old rings are left all the same."""
    lines, want = [], []
    for line, entries in steps(n):
        lines += [line, 'rss show 0 json']
        want.append(entries)
    answers, err = run(lines + ['show model json'], queues(n))
    if err:
        return err
    wrong = [line for line, a, w in zip(lines[::2], answers, want) if table(a) != w]
    if wrong or len(answers) != len(want) + 1:
        return 'not what was asked for, of %d: %s' % (len(answers), wrong)
    return None if all(p['violations'] == 0 for p in answers[-1]['ports']) else 'broken rules: %s' % answers[-1]


def live():
    """Over three and all queues, and by a table, while packets come; what was sent arrived, or was missed on the wire."""
    with tpmd.Triplane(['net_mlx4_model0,rate0=50'], queues(4), on='0@0,1@1') as t:
        for line in ('set fwd flowgen 0', 'set fwd rxonly 1', 'start'):
            t.tell(line)
        for line, want in (steps(4)[i] for i in (2, 7, 8)):
            got = t.xstats(1)['rx_good_packets']
            t.tell(line.replace(' 0 ', ' 1 ', 1))
            if table(t.ask('rss show 1')) != want:
                return line
            if not tpmd.wait_until(lambda: t.xstats(1)['rx_good_packets'] > got):
                return 'nothing comes after ' + line
        for line in ('stop', 'set fwd rxonly 0', 'start'):
            t.tell(line)

        def missing():
            stats = t.ask('show port stats all')['ports']
            return stats[0]['tx_packets'] - stats[1]['rx_packets'] - stats[1]['rx_missed']
        if not tpmd.wait_until(lambda: missing() == 0):
            return '%d packets are missing' % missing()
        broken = [p['violations'] for p in t.ask('show model')['ports']]
        t.end()
        return 'broken rules: %s' % broken if any(broken) else None


def file():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'conf')
        with open(path, 'w') as f:
            f.write('[port 0]\nrx-queues=4\ntx-queues=4\nrss-queues=3\n')
        answers, err = run(['load ' + path, 'rss show 0 json', 'port stop 0', 'port start 0', 'rss show 0 json'])
        return err or (None if [table(a) for a in answers] == [spread(3)] * 2 else str(answers))


def no_buffers():
    """Ports start with what memory there is; a table that is too large for it is refused with what to do."""
    for args, memory in ((queues(4) + ['--total-num-mbufs', '6000'], 512), (['--rxq', '4'], 80)):
        answers, err = run(['set setting 0 rss-queues 2', 'set setting 0 rss-queues 3', 'show settings 0 diff json',
                            'rss reta 0 0,0,1', 'rss show 0 json'], args, memory)
        errors = [line for line in err.splitlines() if line.startswith('error: ')]
        now = {o['object']: o['settings'] for o in answers[0]['objects']}['port 0']
        if len(errors) != 2 or any('--total-num-mbufs' not in e or '-m' not in e for e in errors) or 'rss-queues 3' not in errors[0]:
            return '%s: %r' % (args, err)
        if now['rss-queues']['current'] != '2' or table(answers[1]) != spread(2):
            return '%s: %s' % (args, answers)
    return None


for count in (2, 3, 4, 8, 16):
    cases.run('tables-of-%d-queues' % count, tables, count)
cases.run('tables-live', live)
cases.run('tables-of-a-file', file)
cases.run('tables-no-buffers', no_buffers)
cases.exit()
