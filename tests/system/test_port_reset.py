#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What happens to triplane's ports by itself is told: links, a card that dies; and `port reset` brings them back as they were."""
import json
import os
import re
import subprocess
import tempfile

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
CARD = 'net_mlx4_model0'
# What tells the counters of a port is a command, of which one has no end; the card is given up then.
DIES = CARD + ',timeout=0x49:12'
DIED = "its device died; 'port reset all'"
QUEUES = ['--rxq', '4', '--txq', '1']
cases = tpmd.Cases()


class Session(tpmd.Triplane):
    """What it says of events and errors goes to a file, that is looked into while it runs."""

    def __init__(self, vdevs, args=()):
        self.text, self.rest, self.telemetry, self.errors = '', b'', None, tempfile.TemporaryFile()
        cmd = [APP] + tpmd.eal('reset%d' % os.getpid(), plugin=False) + ['--vdev=' + v for v in vdevs] + ['--', *args]
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def _line(self, end):
        line = super()._line(end)
        self.text += line + '\n'
        return line

    def says(self, text, count=1):
        return tpmd.wait_until(lambda: self.said().count(text) >= count)

    def quit(self):
        self.over()
        return self.proc.returncode

    def queues(self):
        """Packets by receive queue of port 1."""
        n = {s['rx_queue']: s['rx_packets'] for lc in self.ask('show fwd')['lcores'] for s in lc['streams'] if s['rx_port'] == 1}
        return [n[q] for q in sorted(n)]

    def takers(self, mac):
        """The queues that get what port 0 sends to this address; none when nothing comes."""
        for line in ('set eth-peer 0 ' + mac, 'start'):
            self.tell(line)
        # first comes what waited in the rings
        tpmd.wait_until(lambda: sum(self.queues()) > 10000)
        before = self.queues()
        tpmd.wait_until(lambda: sum(self.queues()) > sum(before) + 10000)
        got = [q for q, n in enumerate(self.queues()) if n > before[q]]
        self.tell('stop')
        return got


def session(name, fn, vdevs, args=()):
    def case():
        with Session(vdevs, args) as t:
            return fn(t)
    cases.run(name, case)


def links(t):
    """Each change once, with its port, from the cable and from either end."""
    # port 0 was started before its peer
    if not t.says('[link-up] port 0'):
        return t.said()
    for line in ('model cable 0 out', 'wait link down all 20', 'model cable 0 in', 'wait link up all 20', 'set link 0 down',
                 'wait link down all 20', 'set link 0 up', 'wait link up all 20'):
        before = t.said().count('[link-')
        t.tell(line)
        if not line.startswith('wait') and not tpmd.wait_until(lambda: t.said().count('[link-') >= before + 2):
            return '%s: %s' % (line, t.said())
    t.ask('show port info all')
    told = re.findall(r'\[link-(up|down)\] port (\d)(.*)', t.said())
    if t.quit() != 0:
        return t.said()
    for port in '01':
        mine = [state for state, n, _ in told if n == port]
        if mine[-4:] != ['down', 'up', 'down', 'up'] or len(mine) > 5:
            return 'port %s: %s' % (port, mine)
    return None if all(('40000 Mbit/s' in rest) == (state == 'up') for state, _, rest in told) else str(told)


def prepare(t):
    for line in ('set setting 0 promiscuous off', 'set setting 1 promiscuous off', 'set fwd flowgen 0', 'set fwd rxonly 1',
                 'port mac add 1 02:00:00:00:00:33', 'rss reta 1 0,1,1',
                 'group add 1 web mac=02:00:00:00:00:44 queues=3', 'set qos 1 mark-dscp=on',
                 'flow create 1 ingress pattern eth dst is 02:00:00:00:00:55 / end actions queue index 2 / end'):
        t.tell(line)


def as_it_was(t):
    """What shall outlast a reset, by what it does: the table's queues, the group's, the rule's; nobody takes another address."""
    got = [t.takers('02:00:00:00:00:%02d' % n) for n in (33, 44, 55)]
    if got != [[0, 1], [3], [2]]:
        return 'addresses come to queues %s' % got
    table = [int(n) for n in t.ask('rss show 1')['ports'][0]['reta'].split(',')]
    if table != [0, 1, 1] * 42 + [0, 1]:
        return 'table %s' % table
    broken = [p['violations'] for p in t.ask('show model')['ports']]
    return 'broken rules: %s' % broken if any(broken) else None


def settled(t):
    return t.ask('show settings diff'), t.ask('flow list 1'), t.ask('show qos 1')


def living(t):
    """A card that is well: a port alone, and all."""
    prepare(t)
    before = settled(t)
    for ports in ('1', 'all'):
        t.tell('port reset ' + ports)
        if settled(t)[:2] != before[:2]:
            return '%s: %s, before %s' % (ports, settled(t), before)
        why = as_it_was(t)
        if why:
            return ports + ': ' + why
    if 'error' in t.said() or t.said().count('[port-reset] port 1: started again') != 2:
        return t.said()
    return None if t.quit() == 0 else 'exit status %d' % t.proc.returncode


def died(t):
    """Told by every view of the port, refused until it can be, and back."""
    prepare(t)
    before = settled(t)
    for line in ('roce 0 on v2 sw', 'roce addr add 0 192.0.2.1/24', 'roce qp create 0 rc 4096', 'start'):
        t.tell(line)
    for _ in range(12):
        t.tell('show port stats 0')
    if not t.says('[port-removed] port 0') or not t.says('[port-removed] port 1'):
        return 'no removal is told: ' + t.said()
    for what in ('stats', 'xstats'):
        told = len(t.said())
        port = t.ask('show port %s 1' % what)['ports'][0]
        if set(port) != {'port'} or not tpmd.wait_until(lambda: DIED in t.said()[told:]):
            return '%s: %s %s' % (what, port, t.said()[told:])
    if [p['removed'] for p in t.ask('show port info all')['ports']] != [True, True]:
        return 'not removed'
    for line, words in (('port reset all', "'stop' first"), ('stop; port reset 0', "'port stop 1' first")):
        t.tell(line)
        if not t.says(words):
            return '%s: %s' % (line, t.said())
    t.tell('port reset all')
    info = t.ask('show port info all')['ports']
    if [(p['removed'], p['started']) for p in info] != [(False, True)] * 2 or 'changed its mind' in t.said():
        return '%s %s' % (info, t.said())
    gids = t.ask('show roce gid 0')['ports'][0]['gids']
    if '1 queue pairs of RoCE are gone' not in t.text or not any('192.0.2.1' in json.dumps(g) for g in gids):
        return 'RoCE: %s %s' % (t.text, gids)
    t.tell('roce 0 off')
    now = settled(t)
    if now[1:] != before[1:]:
        return 'now %s, before %s' % (now, before)
    return as_it_was(t)


def process_gone():
    """A card whose process was killed does not come back, and its ports are closed."""
    with tpmd.scratch() as d:
        path = os.path.join(d, 'card.sock')
        card = subprocess.Popen([HCA, '--socket', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not tpmd.wait_until(lambda: os.path.exists(path)):
                return 'no socket'
            with Session(['net_mlx4_user0,socket=' + path]) as t:
                # Only of a link that was seen up is said that it is down.
                for line in ('set fwd flowgen 0', 'set fwd rxonly 1', 'wait link up all 60', 'start'):
                    t.tell(line)
                tpmd.wait_until(lambda: t.xstats(1)['rx_good_packets'] > 0)
                card.kill()
                card.wait()
                for text in ('[port-removed] port 0', '[port-removed] port 1', '[link-down] port 0', '[link-down] port 1'):
                    if not t.says(text):
                        return 'no %s: %s' % (text, t.said())
                for line, words in (('show port stats 1', 'port 1: statistics: ' + DIED),
                                    ('stop; port reset all', 'port 0: its device did not come back by a reset')):
                    t.tell(line)
                    if not t.says(words):
                        return '%s: %s' % (line, t.said())
                t.tell('port close all')
                t.tell('show port info 0')
                if not t.says('no port 0'):
                    return 'port 0 is left: ' + t.said()
                return None if t.quit() == 1 else 'exit status %s: %s' % (t.proc.returncode, t.said()[-500:])
        finally:
            card.kill()
            card.wait()


session('port-links', links, [CARD])
session('port-reset', living, [CARD], QUEUES)
session('port-reset-died', died, [DIES], QUEUES)
cases.run('port-process-gone', process_gone)
cases.exit()
