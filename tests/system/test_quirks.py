#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Quirks by device arguments, by a file, of a card in another process, in an unmodified testpmd; the table is that of the page."""
import json
import os
import re
import subprocess
import tempfile

import tpmd

cases = tpmd.Cases()
BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'fidelity.md')
tmp = tempfile.TemporaryDirectory(prefix='quirks')


def run(device, line='show device 0', args=()):
    p = subprocess.run([APP, *tpmd.eal('quirks%d' % os.getpid(), plugin=False), '--vdev=' + device, '--', *args, '-e', line],
                       capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def model(args):
    return run('net_mlx4_model0' + (',' + args if args else ''))


def quirks_of(out):
    return re.search(r'^  quirks: ?(.*)$', out, re.M).group(1)


def write(name, text):
    path = os.path.join(tmp.name, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


def rows(section):
    """The cells of the first table of a section, without its head."""
    text = re.search(r'^## %s\n(.*?)(?=^## )' % section, open(PAGE).read(), re.M | re.S).group(1)
    lines = [line for line in re.search(r'(?:^\|.*\n)+', text, re.M).group(0).splitlines()][2:]
    return [[c.strip() for c in line.strip('|').split('|')] for line in lines]


def the_page():
    code, out, err = run('net_mlx4_model0', 'show quirks', ['--json'])
    if code != 0:
        return err
    table = json.loads(out)
    found = {}
    page = {r[0]: r[1:] for r in rows('Switches')}
    if list(page) != list(table):
        return 'the page has %s, the program %s' % (list(page), list(table))
    for quirk, q in table.items():
        variants = [v for v in 'abc' if v in q]
        want = [q['what'], '; '.join('%s: %s' % (v, q[v]) for v in variants), q['shows']]
        if page[quirk] != want:
            return '%s: the page has %s, the program %s' % (quirk, page[quirk], want)
        found.setdefault(q['found'], []).append(quirk)
    text = open(PAGE).read()
    for how, ids in found.items():
        if '| %s | %s |' % (how, ', '.join(ids)) not in text:
            return 'the page does not say that %s are detected %s' % (ids, how)
    # Each point has an id of its own, which stays when others come before it, and says which switch it has.
    points = [r for s in ('Commands and contexts', 'Data path', 'Quality of service', 'Transport', 'InfiniBand') for r in rows(s)]
    ids, want = sorted(p[0] for p in points), sorted('F-%d' % n for n in range(1, len(points) + 1))
    if ids != want:
        return 'ids of points: %s' % sorted(set(ids) ^ set(want))
    for point in points:
        q = table.get(point[0])
        want = ['[%s](#switches)' % ', '.join(v for v in 'abc' if v in q)] if q else ['none', 'nothing depends on it']
        if point[-1] not in want:
            return '%s: the last column is %r, wanted %s' % (point[0], point[-1], ' or '.join(want))
    return None


def lists():
    for args, want in (('', ''), ('model-quirks=F-12:b,quirks=F-12:b', 'F-12:b'), ('quirks=F-2:b/F-40:b,tx-inline=64', 'F-2:b,F-40:b'),
                       ('model-quirks=F-3:b,F-1:b,quirks=F-3:b,F-1:b,bf=1', 'F-1:b,F-3:b'), ('quirks=F-12:a', '')):
        code, out, err = model(args)
        if code != 0 or quirks_of(out) != want:
            return '%s: exit %d, %r; %s' % (args, code, out, err)
    # A list among the settings, and in a dump.
    code, out, err = run('net_mlx4_model0,quirks=F-2:b,F-12:b', 'show settings 0; dump 0 %s' % tmp.name)
    dump = next((open(os.path.join(d, f)).read() for d, _, names in os.walk(tmp.name) for f in names if f == 'dump.txt'), '')
    if code != 0 or not re.search(r'^ +quirks: F-2:b,F-12:b$', out, re.M) or 'F-2:b,F-12:b' not in dump:
        return 'settings or dump: exit %d, %r, %r, %s' % (code, [line for line in out.splitlines() if 'quirk' in line], dump[:300], err)
    return None


def refused():
    bad = write('bad', 'F-2:b\nF-12:x # no such\n')
    for args, words in (('quirks=F-12:c', ['F-12:c', 'a..b']), ('quirks=F-4:b', ['F-4:b', 'F-1 F-2 F-3']), ('quirks=', ['quirks', 'a value']),
                        ('quirks=F-1:b,F-1:b', ['F-1 once']), ('model-quirks=F-1:d', ['F-1:d', 'a..c']), ('quirks=F-1:b,quirks=F-2:b', ['once']),
                        ('quirks-file=' + bad, ['bad:2', 'F-12:x', 'a..b']), ('quirks-file=/nowhere', ['/nowhere', 'No such file']),
                        ('tx-inline=64,F-1:b', ["'F-1:b'", 'known:'])):
        code, out, err = model(args)
        if code == 0 or any(w not in err for w in words):
            return '%s: exit %d, %s; wanted %s' % (args, code, err, words)
    return None


def a_file():
    path = write('good', '# this card\n\nF-3:b\nF-12:b  # counters\n')
    code, out, err = model('model-quirks=F-3:b,quirks-file=' + path)
    if code != 0 or quirks_of(out) != 'F-3:b,F-12:b':
        return 'exit %d, %r, %s' % (code, out, err)
    for order in ('quirks-file=%s,quirks=F-12:a', 'quirks=F-12:a,quirks-file=%s'):
        code, out, err = model('model-quirks=F-3:b,' + order % path)
        if code != 0 or quirks_of(out) != 'F-3:b':
            return '%s: exit %d, %r, %s' % (order, code, out, err)
    return None


def another_process():
    sock = os.path.join(tmp.name, 'card')
    for options, args, word in (('F-3:b', '', 'CONF_SPECIAL_QP'), ('F-3:b,F-2:b', ',quirks=F-3:b,F-2:b', None)):
        p = subprocess.Popen([HCA, '--socket', sock, '--quirks', options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            tpmd.wait_until(lambda: os.path.exists(sock))
            code, out, err = run('net_mlx4_user0,socket=%s%s' % (sock, args))
        finally:
            p.terminate()
            report = p.communicate(timeout=60)[0]
        if (code != 0) != (word is not None) or (word and word not in err):
            return '%s, driver %r: exit %d, %s' % (options, args, code, err)
        if word is None and 'report: violations 0\n' not in report:
            return 'the card complains: ' + report
    p = subprocess.run([HCA, '--socket', sock, '--quirks', 'F-3:z'], capture_output=True, text=True, timeout=60)
    return None if p.returncode != 0 and 'F-3:z' in p.stderr and 'a..b' in p.stderr else 'F-3:z: %d %s' % (p.returncode, p.stderr)


def told():
    """What a port's card is taken for, by the command, which has it of the call of C, and by telemetry; what it is not told of is the default."""
    with tpmd.Triplane(['net_mlx4_model0,quirks=F-2:b,F-12:b', 'net_null0'], telemetry=True) as t:
        shown = t.ask('show quirks 1')
        here = t.tel('/mlx4/info,1')['quirks']
        t.tell('show quirks 2')
        if not tpmd.wait_until(lambda: 'port 2: this is for ports of the mlx4_vfio driver' in t.said()):
            return 'another driver: %s' % t.said()
    other = {i: q['variant'] for i, q in shown.items() if q['variant'] != q['default']}
    return None if other == {'F-2': 'b', 'F-12': 'b'} and here == 'F-2:b,F-12:b' and len(shown) > 20 else '%s, telemetry %s' % (other, here)


def testpmd():
    with tpmd.Testpmd(['net_mlx4_model0,model-quirks=F-3:b,F-2:b,F-12:b,quirks=F-3:b,F-2:b,F-12:b'], ['--total-num-mbufs=2048']) as t:
        t.cmd('start')
        t.cmd('stop')
        text = t.cmd('show port info 0')
    return None if 'Link status: up' in text else text


cases.run('the-page', the_page)
cases.run('lists', lists)
cases.run('refused', refused)
cases.run('a-file', a_file)
cases.run('another-process', another_process)
cases.run('told', told)
cases.run('testpmd', testpmd)
cases.exit()
