#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-top in a terminal of tmux: its figures are those of telemetry; keys, sizes, colours, and what it leaves behind."""
import os
import re
import subprocess

import tpmd

TOP = os.path.join(os.environ['TP_BUILD'], 'apps/top/triplane-top')
LIMIT = 60
cases = tpmd.Cases()
place = tpmd.scratch()


def sh(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True, **kw)


class Terminal:
    """A shell of tmux with nothing of the user's; a context."""

    def __init__(self, width=130, height=30):
        self.sock = os.path.join(place.name, 'tmux')
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(width), '-y', str(height), 'env', 'PS1=$ ', 'sh')
        self.tmux('set', '-g', 'window-size', 'manual')

    def tmux(self, *words):
        p = sh('tmux', '-S', self.sock, *words, env={**os.environ, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8'})
        if p.returncode != 0:
            raise RuntimeError('tmux %s: %s' % (words, p.stderr))
        return p.stdout

    def type(self, *keys):
        self.tmux('send-keys', *keys)

    def screen(self, escapes=False):
        return self.tmux('capture-pane', '-p', *(['-e'] if escapes else [])).rstrip('\n').split('\n')

    def until(self, what, escapes=False):
        """The screen once what(lines) holds."""
        seen = []

        def holds():
            seen[:] = self.screen(escapes)
            return what(seen)
        if not tpmd.wait_until(holds, LIMIT):
            raise RuntimeError('the screen stays\n' + '\n'.join(seen))
        return seen

    def start(self, *args, env=''):
        # One that is still there would take the keys.
        self.until(lambda s: not s[0].startswith('triplane-top'))
        self.type('clear; %s %s --dir %s --interval 0.5 %s' % (env, TOP, tpmd.RUN, ' '.join(args)), 'Enter')
        return self.until(lambda s: s[0].startswith('triplane-top') and 'next look' not in s[0])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        sh('tmux', '-S', self.sock, 'kill-server')


def rows(screen, name):
    """The rows of a table by its head: dictionaries of what stands below each word."""
    head = next(i for i, line in enumerate(screen) if line.startswith('process'))
    spans = [(m.group().rstrip('v^'), m.start(), m.end()) for m in re.finditer(r'(?:(?:CPU %|busy %|a second|[rt]x (?:pkt|Mbit)/s)[v^]?|\S+)', screen[head])]
    return [dict(zip([s[0] for s in spans], line.split())) for line in screen[head + 1:] if line.startswith(name)]


def figures(term, t):
    """While packets flow there are rates; when they are stopped, totals stand still and are telemetry's."""
    t.tell('start')
    term.start()
    busy = term.until(lambda s: any(re.search(r'%s +0 .* up .*\d[kM]? ' % t.prefix[:8], line) and rate(s, t) > 0 for line in s))
    if rate(busy, t) <= 0:
        return 'no rate'
    term.type('3')
    term.until(lambda s: 'Lcores' in s[0] and any(float(r.get('busy %', '-').replace('-', '0')) > 1 for r in rows(s, t.prefix[:8])
                                                  if r.get('lcore') == '1'))
    t.tell('stop')
    t.ask('show port stats 0')
    term.type('2')
    sent = t.tel('/mlx4/txq,0,0')['packets']
    want = short(sent)
    row = {'way': 'tx', 'port': '0', 'packets': want, 'pkt/s': '0'}
    # The table before it may still be there.
    term.until(lambda s: any(row.items() <= r.items() for r in rows(s, t.prefix[:8])))
    term.type('q')
    return None


def short(n):
    """As the tables have it: four digits and a thousand's letter."""
    if n < 1e5:
        return str(n)
    unit = 0
    while n >= 9999.5:
        n, unit = n / 1000, unit + 1
    return '%.*f%s' % (2 if n < 100 else 1 if n < 1000 else 0, n, ' kMGTPE'[unit])


def rate(screen, t):
    found = [r for r in rows(screen, t.prefix[:8]) if r.get('port') == '0']
    text = found[0].get('tx pkt/s', '-') if found else '-'
    digits = re.match(r'[\d.]+', text)
    return float(digits.group()) if digits else -1


def keys(term, t):
    """Tables, sort and help by keys; what there is no room for is left out and comes back; the end leaves the shell as it was."""
    term.start()
    for key, word in (('2', 'Queues'), ('Tab', 'Lcores'), ('4', 'Drops'), ('5', 'Priorities'), ('6', 'RoCE'), ('1', 'Ports')):
        term.type(key)
        term.until(lambda s, w=word: w in s[0])
    term.until(lambda s: 'rx pkt/sv' in s[1])
    term.type('Right')
    term.until(lambda s: 'tx pkt/sv' in s[1])
    term.type('<', '<', '<', '<', '<')
    term.until(lambda s: 'portv' in s[1] or 'porv' in s[1] or [r.get('port') for r in rows(s, t.prefix[:8])] == ['1', '0'])
    term.type('r')
    term.until(lambda s: [r.get('port') for r in rows(s, t.prefix[:8])] == ['0', '1'])
    term.type('h')
    term.until(lambda s: any('this text, and back' in line for line in s))
    term.type('h', 'p')
    term.until(lambda s: 'PAUSED' in s[0])
    term.tmux('resize-window', '-x', '60', '-y', '8')
    small = term.until(lambda s: len(s) <= 8 and s[1].startswith('process') and s[-1].startswith('1-6 table') and 'Mbit' not in s[1])
    if any(len(line) > 60 for line in small):
        return 'too wide: %s' % small
    term.tmux('resize-window', '-x', '130', '-y', '30')
    term.until(lambda s: 'nombuf/s' in s[1] and len(s) == 30)
    term.type('p', '5')
    term.until(lambda s: 'Priorities' in s[0] and 'PAUSED' not in s[0])
    term.tmux('resize-window', '-x', '130', '-y', '8')
    for typed, row in ((), '0 0 rx'), (('Down', 'Down'), '0 1 rx'), (('Home',), '0 0 rx'):
        term.type(*typed)
        term.until(lambda s, r=row: len(s) == 8 and s[2].split()[1:4] == r.split())
    term.tmux('resize-window', '-x', '130', '-y', '30')
    term.type('C-z')
    term.until(lambda s: any('Stopped' in line or line.startswith('$') for line in s) and not s[0].startswith('triplane-top'))
    term.type('fg', 'Enter')
    term.until(lambda s: s[0].startswith('triplane-top'))
    term.type('C-c')
    term.until(lambda s: not s[0].startswith('triplane-top'))
    term.type('stty -a | grep -c " echo " ; echo over$?', 'Enter')
    term.until(lambda s: 'over0' in s)
    return None


def colours(term, t):
    """An alarm is coloured (the pool of another port is of no matter here: one without a link), unless it is not wanted."""
    t.tell('port stop 1')
    t.tell('wait link down 0 %d' % LIMIT)
    t.ask('show port info 0')
    for args, env, want in (((), '', True), (('--color', 'never'), '', False), ((), 'NO_COLOR=1', False), ((), 'TERM=dumb', False),
                            (('--color', 'always'), 'NO_COLOR=1', True)):
        term.start(*args, env=env)
        # One and the same look: the next one may find the screen amid being drawn.
        shown = term.until(lambda s: any(' down ' in re.sub(r'\x1b\[[\d;]*m', '', line) for line in s), escapes=True)
        found = any('\x1b[33m' in line for line in shown)
        term.type('q')
        term.until(lambda s: not s[0].startswith('triplane-top'))
        if found != want:
            return '%s %s: %s' % (args, env, found)
    return None


def totals(t):
    """Drops, priorities and RDMA: what happened, by cause, is what the commands say."""
    for line in ('roce 0 on v2 sw', 'roce 1 on v2 sw', 'roce addr add 0 192.0.2.1/24', 'roce addr add 1 192.0.2.2/24', 'start', 'roce qp create 0 rc 1000 16',
                 'roce qp create 1 rc 1000 16', 'roce qp pair 0 0 1 0', 'roce traffic start 0 0 send 1000 0 50', 'roce traffic wait 0 0 %d' % LIMIT, 'stop',
                 'model cable 0 out', 'wait link down 0 %d' % LIMIT, 'model cable 0 in', 'wait link up 0 %d' % LIMIT):
        t.tell(line)
    # What the card still sends is counted a moment later.
    return None if tpmd.wait_until(lambda: not differs(t), LIMIT) else 'not as they are shown: %s' % differs(t)


def differs(t):
    want, found = {}, {}
    for port in (0, 1):
        x, roce = t.xstats(port), t.ask('show roce stats %d' % port)['ports'][0]['counters']
        want['drops', 'port %d' % port, 'port_link_downs'] = x['link_down_events']
        for way in ('rx', 'tx'):
            want['priorities', str(port), '0', way] = x['%s_prio0_packets' % way]
            want['rdma', 'port %d' % port, '%s roce_packets' % way] = roce['%s_packets' % way]
            want['rdma', 'port %d' % port, '%s roce_bytes' % way] = roce['%s_bytes' % way]
    for view, words in (('drops', 2), ('priorities', 3), ('rdma', 2)):
        for line in sh(TOP, '--dir', tpmd.RUN, '--batch', '1', '--interval', '0.25', '--view', view).stdout.splitlines():
            cells = line.split() if view == 'priorities' else re.split(r' {2,}', line.strip())
            if cells[0] == t.prefix[:12]:
                found.setdefault((view, *cells[1:1 + words]), []).append(cells[-1])
    # What never happened has no row; nothing has two.
    wrong = {k: (n, found.get(k, [])) for k, n in want.items() if found.get(k, []) != [short(n)] * (n != 0)}
    return wrong or {k: v for k, v in found.items() if len(v) > 1} or want['rdma', 'port 1', 'rx roce_bytes'] != 50000


def batch(t):
    p = sh(TOP, '--dir', tpmd.RUN, '--batch', '2', '--interval', '0.25', '--view', 'ports', '--sort', 'port', '--reverse')
    heads = [line for line in p.stdout.splitlines() if line.startswith('process')]
    found = [r['port'] for r in rows(p.stdout.splitlines(), t.prefix[:8])]
    if p.returncode != 0 or len(heads) != 2 or found[:2] != ['0', '1'] or '\x1b' in p.stdout:
        return '%d %s %s' % (p.returncode, p.stdout, p.stderr)
    nobody = sh(TOP, '--socket', '/nowhere/x/dpdk_telemetry.v2', '--batch', '1', '--interval', '0.25')
    if nobody.returncode != 0 or 'x: No such file' not in nobody.stdout:
        return 'nobody: %s' % nobody.stdout
    bad = ((['--interval', '0.2'], "'0.2' is not a number in 0.25..3600"), (['--interval', 'nan'], '0.25..3600'),
           (['--interval', '1x'], '0.25..3600'), (['--batch', '0'], '1..1000000'), (['--batch', '-1'], '1..1000000'),
           (['--view', 'all'], 'ports, queues, lcores'), (['--sort', 'x'], 'process, port, device'), (['--color', 'red'], 'auto, always, never'),
           (['--view', 'queues', '--sort', 'device'], 'columns of queues'), (['--timeout', '1'], '100..60000'), (['word'], "'word'"), (['-x'], 'wrong'))
    for args, text in bad:
        p = sh(TOP, *args)
        if p.returncode != 2 or text not in p.stderr:
            return '%s: %d %s' % (args, p.returncode, p.stderr)
    p = sh(TOP, stdin=subprocess.DEVNULL)
    return None if p.returncode == 1 and 'no terminal' in p.stderr else 'without a terminal: %s' % p.stderr


with tpmd.Triplane(['net_mlx4_model0'], args=['--forward-mode', 'flowgen'], telemetry=True) as triplane:
    triplane.tell(tpmd.IDLE)
    triplane.tell('set fwd rxonly 1')
    triplane.tell('wait link up all %d' % LIMIT)
    triplane.ask('show port stats 0')
    triplane.tel('/mlx4/list')
    with Terminal() as terminal:
        for case in (figures, keys):
            cases.run('top-' + case.__name__, case, terminal, triplane)
        cases.run('top-totals', totals, triplane)
        cases.run('top-colours', colours, terminal, triplane)
    cases.run('top-batch', batch, triplane)
    triplane.end()
cases.exit()
