#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ./tp bench --json prints: each line of standard output an object with the seven fields that programs rely on."""
import contextlib
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import tpmd

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'bench'))
os.environ.setdefault('TP_BUILD', 'build')
os.environ.setdefault('TP_CACHE', '.tp')
import bench  # noqa: E402
import plot  # noqa: E402
import scale  # noqa: E402

cases = tpmd.Cases()
FIELDS = ['bench', 'case', 'metric', 'value', 'unit', 'peer', 'peer_value']


def no_constant(name):
    raise ValueError('%s is not JSON' % name)


def wrong(line):
    """None, or what is wrong with a row."""
    try:
        row = json.loads(line, parse_constant=no_constant)
    except ValueError as e:
        return '%s: %r' % (e, line)
    if not isinstance(row, dict) or list(row) != FIELDS:
        return 'fields %s, wanted %s' % (list(row), FIELDS)
    for f in ('bench', 'case', 'metric', 'unit'):
        if not isinstance(row[f], str) or not row[f]:
            return '%s is %r, wanted a text' % (f, row[f])
    for f in ('value', 'peer_value'):
        if row[f] is not None and (isinstance(row[f], bool) or not isinstance(row[f], (int, float))):
            return '%s is %r, wanted a number or null' % (f, row[f])
    if row['peer'] is not None and not isinstance(row['peer'], str):
        return 'peer is %r, wanted a text or null' % row['peer']
    return 'a value of no peer' if row['peer'] is None and row['peer_value'] is not None else None


def run(*args):
    script = os.path.join(os.path.dirname(os.path.abspath(bench.__file__)), 'bench.py')
    return subprocess.run(['/usr/bin/python3', script, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300)


def real():
    """Two quick benches; goals and titles are for people and stay off standard output."""
    p = run('bringup', 'model', '--json')
    lines = p.stdout.splitlines()
    bad = [w for w in map(wrong, lines) if w]
    if p.returncode != 0 or bad:
        return '%d %s %s' % (p.returncode, bad[:3], p.stderr[-300:])
    rows = [json.loads(line) for line in lines]
    names = {r['bench'] for r in rows}
    machine = [r for r in rows if r['bench'] == 'machine']
    with open('/proc/cpuinfo') as f:
        text = f.read()
    cpus = len(os.sched_getaffinity(0))
    if len(machine) != (cpus > 1) or any(m['value'] <= 0 or m['case'].split(', CPUs')[0] not in text for m in machine):
        return 'of %d CPUs: %s' % (cpus, machine)
    if names - {'machine'} != {'bringup', 'model'} or len(lines) < 5:
        return '%d rows of %s' % (len(lines), names)
    return None if 'Goals' in p.stderr else 'no goals on standard error: %r' % p.stderr


def rows():
    """A row with a peer, one whose peer was not measured, one that was not measured itself; awkward texts."""
    out = io.StringIO()
    rep = bench.Report(True)
    with contextlib.redirect_stdout(out):
        rep.title('a title')
        rep.row('pps', '64 B', 'rate', 16.1, 'Mpps', 'net_memif', 20.4)
        rep.row('datapath', 'rx_burst', 'instructions/packet', 58, 'instr', 'net_mlx4', None)
        rep.row('pps', 'a "quoted"\ncase', 'rate', None, '%', None, None)
    lines = out.getvalue().splitlines()
    bad = [w for w in map(wrong, lines) if w]
    if bad or len(lines) != 3:
        return '%s in %r' % (bad, lines)
    want = {'bench': 'pps', 'case': '64 B', 'metric': 'rate', 'value': 16.1, 'unit': 'Mpps', 'peer': 'net_memif',
            'peer_value': 20.4}
    return None if json.loads(lines[0]) == want else 'the first row is %s' % lines[0]


def main_of(name, function, *args):
    """Exit status and standard error of a run of one bench that is this function."""
    was, bench.BENCHES, err = bench.BENCHES, {name: function}, io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(err):
            rc = bench.main([name, *args])
    finally:
        bench.BENCHES = was
    return rc, out.getvalue(), err.getvalue()


def goals():
    """A goal of instructions that is missed fails the run, by name; one of time, which the machine has a part in, is said to be missed."""
    def some(*figures):
        def run_it(rep):
            for text, value, limit, unit, at_least in figures:
                rep.goal(text, value, limit, unit, at_least)
        return run_it

    for figures, status, named in (((('a burst', 60.0, 60, 'instr', False), ('a rate', 5.0, 5, 'Mpps', True)), 0, []),
                                   ((('a burst', 60.2, 60, 'instr', False), ('a rate', 4.0, 5, 'Mpps', True)), 3, ['a burst']),
                                   ((('a burst', None, 60, 'instr', False), ('a time', 101.0, 100, 'ms', False)), 0, [])):
        rc, out, err = main_of('some', some(*figures))
        got = [line[len('bench: goal missed: '):] for line in err.splitlines()]
        words = [line.split(':')[0].strip() for line in out.split('Goals')[1].splitlines()[1:]]
        want = ['not measured' if v is None else 'met' if (v >= limit if at_least else v <= limit) else 'MISSED' for _, v, limit, _, at_least in figures]
        if rc != status or got != named or words != want:
            return '%s: status %d, %s, %s' % (figures, rc, got, out)
    return None


def policies():
    """What a policy costs that the card carries out, or that is off, is a goal; what the driver does for others is none."""
    cost = {'tx-off-again': 0, 'tx-classes-pfc': 0, 'rx-group-dropless': 0, 'tx-rule': 200}
    real_one = bench.instructions
    try:
        for case, more, status in ((None, 0, 0), ('tx-off-again', 1, 3), ('tx-classes-pfc', 1, 3), ('rx-group-dropless', 0.2, 3), ('tx-rule', 9, 0)):
            bench.instructions = lambda functions, command: 60 + cost.get(command[1], 0) + (more if command[1] == case else 0)
            rc, _, err = main_of('policy', bench.bench_policy)
            if rc != status or err.count('bench: goal missed') != (status == 3):
                return '%s %g more: status %d, %r' % (case, more, rc, err)
    finally:
        bench.instructions = real_one
    return None


def congestion():
    """What congestion control costs queue pairs that it does not limit is a goal, by their number, and what limited ones cost where there are more."""
    real_ones = bench.instructions, bench.run
    try:
        bench.run = lambda command, timeout=0: 'packets 1\nns_per_packet 1.0\nline_ns 1.0\n'
        for case, times, status in ((None, 1, 0), (('1000', 'on'), 1.02, 3), (('10000', 'on'), 1.02, 3), (('10000', 'limited'), 1.11, 3), (('10000', 'off'), 2, 0),
                                    (('1000', 'limited'), 2, 0)):
            bench.instructions = lambda functions, command: 100 * (times if tuple(command[1:3]) == case else 1)
            rc, out, err = main_of('cc', bench.bench_cc)
            if rc != status or err.count('bench: goal missed') != (status == 3) or out.count('met: ') + out.count('MISSED: ') != 3:
                return '%s %g times: status %d, %r' % (case, times, rc, err)
    finally:
        bench.instructions, bench.run = real_ones
    return None


def picture():
    """The plot of the scale bench: XML, a panel an axis, a point for each rate that was measured and none for the others."""
    rates = {axis: [1.0 + i for i in range(len(values))] for axis, values in scale.AXES.items()}
    rates['flows'][1] = None
    svg = xml.etree.ElementTree.fromstring(plot.text(*scale.picture(rates)))
    names = [e.tag.split('}')[1] for e in svg.iter()]
    want = sum(len(v) for v in scale.AXES.values()) - 1
    heights = [float(e.get('cy')) for e in svg.iter() if e.tag.endswith('circle')][:len(scale.AXES['queues'])]
    if names.count('polyline') != len(scale.AXES) or names.count('circle') != want:
        return '%d lines, %d points, wanted %d and %d' % (names.count('polyline'), names.count('circle'), len(scale.AXES), want)
    return None if heights == sorted(heights, reverse=True) else 'rates that grow are not drawn so: %s' % heights


def unknown():
    p = run('nothing', '--json')
    return None if p.returncode == 2 and p.stdout == '' and "'nothing'" in p.stderr and 'bringup' in p.stderr and \
        p.stderr.count('\n') == 1 else '%d %r %r' % (p.returncode, p.stdout, p.stderr)


cases.run('bench-json', real)
cases.run('bench-json-rows', rows)
cases.run('bench-goals', goals)
cases.run('bench-congestion', congestion)
cases.run('bench-policies', policies)
cases.run('bench-plot', picture)
cases.run('bench-unknown', unknown)
cases.exit()
