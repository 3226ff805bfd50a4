#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""snapshot: the page has what its JSON has and needs nothing from elsewhere; its figures are those of the commands; plots have the
points of the history; what cannot be written leaves everything as it was."""
import json
import os
import re
import subprocess

import tpmd
from snapshot_page import Page, shown

LIMIT = 60
cases = tpmd.Cases()
place = tpmd.scratch()


def written(t, name='page.html', more=''):
    """The page and its document."""
    path = os.path.join(place.name, name)
    t.tell('snapshot %s%s' % (path, more))
    t.ask('show fwd')
    with open(path) as f:
        text = f.read()
    page = Page(text)
    return page, json.loads(page.text['snapshot'])


def figures(t):
    """Forwarding is over: counters are those of the commands, ports too; the settings that differ come first."""
    def over():
        sent, came = t.xstats(0), t.xstats(1)
        return sent['tx_good_packets'] == sent['tx_port_packets'] == came['rx_port_packets']
    if not tpmd.wait_until(over, LIMIT):
        return 'frames stay on their way: %s %s' % (t.xstats(0), t.xstats(1))
    page, doc = written(t)
    why = shown(page, doc)
    if why:
        return why
    for port in doc['counters']['ports']:
        counters = {c['name']: c['value'] for c in port['counters']}
        for what in ('stats', 'xstats'):
            said = t.ask('show port %s %d' % (what, port['port']))['ports'][0]
            said.pop('port')
            # Each question is some commands of the card more.
            if what == 'xstats' and not 0 < counters['device_commands'] < said.pop('device_commands'):
                return 'device_commands: %s' % counters['device_commands']
            wrong = {k: (v, counters.get(k)) for k, v in said.items() if counters.get(k) != v}
            if wrong:
                return 'port %d: %s' % (port['port'], wrong)
        if port['port'] == 0 and counters['tx_packets'] < 5000:
            return 'nothing was sent'
    if doc['ports'] != t.ask('show port info all') or doc['settings_diff'] != t.ask('show settings diff'):
        return 'ports or settings are not what is shown'
    diff = {o['object']: o['settings'] for o in doc['settings_diff']['objects']}
    if diff['port 1']['work'] != {'current': '77', 'default': '0'}:
        return 'diff: %s' % diff
    if not page.values[0][0].startswith('/settings_diff/'):
        return 'first comes %s' % page.values[0]
    if doc['system']['host'] != os.uname().nodename or doc['system']['pid'] != t.proc.pid or 'net_mlx4_model0' not in doc['system']['command_line']:
        return 'system: %s' % doc['system']
    if doc['devices'] != t.ask('show device') and doc['devices'].keys() != t.ask('show device').keys():
        return 'devices'
    cards = doc['model']['ports']
    if [c['violations'] for c in cards] != [0, 0] or cards[0].keys() != t.ask('show model')['ports'][0].keys():
        return 'model: %s' % cards
    sent = {c['name']: c['value'] for c in doc['counters']['ports'][0]['counters']}['tx_port_packets']
    return None if cards[0]['tx_frames'] == sent else 'the card sent %d, counted %d' % (cards[0]['tx_frames'], sent)


def plots(t):
    """While it forwards: rates of counters and points of history are the traffic's, and the lines are those of the points."""
    t.tell('set fwd flowgen 0')
    t.tell('start')
    tpmd.wait_until(lambda: len(written(t, more=' 100')[1]['history']['ports'][0]['points']) > 4, LIMIT)
    # An lcore may have no CPU for that long.
    for _ in range(100):
        before = t.ask('show port stats 0')['ports'][0]['tx_packets']
        page, doc = written(t, more=' 500')
        after = t.ask('show port stats 0')['ports'][0]['tx_packets']
        if any(c['name'] == 'tx_packets' and c['per_second'] > 0 for c in doc['counters']['ports'][0]['counters']):
            break
    t.tell('stop')
    why = shown(page, doc)
    if why:
        return why
    counters = {c['name']: c for c in doc['counters']['ports'][0]['counters']}
    if not before <= counters['tx_packets']['value'] <= after:
        return 'sent %s, before %d, after %d' % (counters['tx_packets'], before, after)
    moved = counters['tx_packets']['per_second'] * doc['counters']['seconds']
    if not 0 < moved <= after - before:
        return 'rate of %s in %s s, sent %d' % (counters['tx_packets'], doc['counters']['seconds'], after - before)
    if len(page.plots) != 8:
        return '%d plots' % len(page.plots)
    for plot in page.plots:
        points = [p['points'] for p in doc['history']['ports'] if p['port'] == plot['port']][0]
        values = [p[plot['series']] for p in points]
        if [float(b) for b in plot['bold']] != [values[-1], max(values)] or len(plot['points']) != len(points):
            return '%s: %s of %s' % (plot['series'], plot['bold'], values)
        for (x, y), p, v in zip(plot['points'], points, values):
            wanted = 300 * (1 - p['age'] / 300), 59 - 58 * v / max(values) if max(values) else 59
            if abs(x - wanted[0]) > 0.06 or abs(y - wanted[1]) > 0.06:
                return '%s: point %s, want %s' % (plot['series'], (x, y), wanted)
    sent = [p for p in page.plots if p['port'] == 0 and p['series'] == 'tx_pps'][0]
    return None if float(sent['bold'][1]) > 0 else 'the plot says that nothing was sent'


def alone():
    """One-shot, and as JSON; a name that tries to be HTML, and a part that is not there."""
    page = os.path.join(place.name, 'one.html')
    doc = os.path.join(place.name, 'one.json')
    app = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
    cmd = [app, *tpmd.eal('tps%d' % os.getpid(), plugin=False), '--log-level=*:error', '--vdev=net_mlx4_model0', '--', '--txpkts', '64', '-e',
           'wait link up 0,1 %d; snapshot %s 100; snapshot %s 100' % (LIMIT, page, doc)]
    p = subprocess.run(['bash', '-c', 'exec -a "<script>alert(1)</script>&" "$@"', 'x', *cmd], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True)
    if p.returncode != 0 or p.stdout or p.stderr:
        return '%d: %s %s' % (p.returncode, p.stdout, p.stderr)
    with open(page) as f:
        text = f.read()
    found = Page(text)
    inside = json.loads(found.text['snapshot'])
    with open(doc) as f:
        beside = json.load(f)
    if text.count('<script') != 1 or not inside['system']['command_line'].startswith('<script>alert(1)</script>& '):
        return 'command line: %s' % inside['system']['command_line']
    if inside.keys() != beside.keys() or beside['ports'] != inside['ports']:
        return 'the two differ'
    return shown(found, inside)


def refused(t):
    """No file of another kind, no file where none can be; one that is there stays whole where there is no room."""
    t.said()
    bad = (('x.txt', 'ends with .html or .json'), ('html', 'ends with .html'), ('/nowhere/x.html', "'/nowhere/x.html': No such file"),
           ('x' * 300 + '.html', 'too long'), ('x.html 99', '100..60000'), ('x.html 60001', '100..60000'), ('x.html x', '100..60000'))
    for words, text in bad:
        before = len(t.said())
        t.tell('snapshot ' + words)
        t.ask('show fwd')
        if text not in t.said()[before:]:
            return '%s: %s' % (words[-40:], t.said()[before:])
    return None


def full():
    """A disk of 64 KiB, in a mount of its own: that this is so needs root."""
    app = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
    cmd = [app, *tpmd.eal('tpf%d' % os.getpid(), plugin=False), '--log-level=*:error', '--vdev=net_mlx4_model0', '--', '-e']
    disk = os.path.join(place.name, 'disk')
    os.mkdir(disk)
    script = 'mount -t tmpfs -o size=64k none "$0" && echo old >"$0/x.html" && { "$@" "snapshot $0/x.html 100"; echo "status $?"; ls "$0"; cat "$0/x.html"; }'
    p = subprocess.run(['unshare', '-rm', 'sh', '-c', script, disk, *cmd], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True)
    if 'status' not in p.stdout:
        return 'skip no mount here: ' + p.stderr[-200:]
    if p.stdout != 'status 1\nx.html\nold\n' or not re.search(r"cannot write '.*x.html': No space left", p.stderr):
        return '%s %s' % (p.stdout, p.stderr)
    return None


with tpmd.Triplane(['net_mlx4_model0'], args=['--rxq', '2', '--txq', '2']) as triplane:
    triplane.tell(tpmd.IDLE)
    triplane.tell('set fwd flowgen 0')
    triplane.tell('set fwd rxonly 1')
    triplane.tell('set setting 1 work 77')
    triplane.tell('start')
    triplane.tell('wait counter rx_port_packets 5000 1 %d' % LIMIT)
    triplane.tell('stop')
    for case in (figures, plots):
        cases.run('snapshot-' + case.__name__, case, triplane)
    cases.run('snapshot-clean', lambda: triplane.said() or None)
    cases.run('snapshot-refused', refused, triplane)
cases.run('snapshot-alone', alone)
cases.run('snapshot-full', full)
cases.exit()
