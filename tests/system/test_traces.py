#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces: what the driver writes of a session and what the card in another process writes are the same session; a recording plays to
the card in software without a difference, or with the one that was made; a card answers as a recorded one did."""
import os
import re
import shutil
import subprocess
import tempfile
import time

import tpmd

BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
REPLAY = os.path.join(BUILD, 'apps', 'replay', 'triplane-replay')
HCA = os.path.join(BUILD, 'apps', 'triplane-hca', 'triplane-hca')
HEAD = re.compile(r'dump command (\w+)\(0x[0-9a-f]+\) INPUT: op_modifier (0x[0-9a-f]+) in_modifier (0x[0-9a-f]+)')
FRAMES = 200
cases = tpmd.Cases()


def replay(*words, rc=0):
    p = subprocess.run([REPLAY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                       check=False)
    if p.returncode != rc:
        raise RuntimeError('%s: %d, wanted %d: %s %s' % (' '.join(words), p.returncode, rc, p.stdout[-1000:], p.stderr[-300:]))
    return p.stdout if rc != 2 else p.stderr


FORWARDS = 'set fwd flowgen; start; wait counter rx_good_packets %d 0 60; wait counter rx_good_packets %d 1 60; stop' % (FRAMES, FRAMES)


def session(vdev, commands='set fwd flowgen; start live 1; stop', rc=0):
    """What triplane says of a short life on a device."""
    p = subprocess.run([os.path.join(BUILD, 'apps', 'triplane'), '--lcores', tpmd.lcores('0@0,1@0'), '--no-huge', '-m', '512', '--no-pci',
                        '--no-shconf', '--no-telemetry', '--file-prefix', 'traces%d' % os.getpid(), '--vdev', vdev, '--', '-e', commands],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if (p.returncode == 0) != (rc == 0):
        raise RuntimeError('triplane on %s: %d: %s' % (vdev, p.returncode, p.stdout[-1500:]))
    return p.stdout


def read(path):
    with open(path) as f:
        return f.read()


def heads(text):
    return HEAD.findall(text)


def blocks(text, head):
    """Of each line that begins like this: it, and the dwords below it."""
    out, inside = [], False
    for line in text.split('\n'):
        row = re.match(r'[0-9a-f]{3}: ([0-9a-f ]+)$', line)
        if line.startswith(head):
            out.append((line, []))
            inside = True
        elif inside and row:
            out[-1][1].extend(int(w, 16) for w in row[1].split())
        else:
            inside = False
    return out


def entries(text):
    """(kind, number, index) of each entry, with its dwords behind; each may be there once."""
    out = {}
    for kind, number, index, box in re.findall(r'^entry (\w+) (0x\w+) (\d+)\n((?:[0-9a-f]{3}: .*\n)*)', text, re.M):
        if (kind, number, int(index)) in out:
            raise RuntimeError('entry %s %s %s twice' % (kind, number, index))
        out[kind, number, int(index)] = box
    return out


# Dwords of an entry that are the same in each pass of a ring, and their bits: operation, size, length and key; length and key; queue pair.
STEADY = {'sq': ((0, 0x7fffffff), (1, 0xffffffff), (4, 0xffffffff), (5, 0xffffffff)), 'rq': ((0, 0xffffffff), (1, 0xffffffff)), 'cq': ((0, 0xffff),)}


def steady(text):
    """First entries of queues by kind, number and place. The two may have them of different passes, with other buffers."""
    return {line: [dwords[i] & mask for i, mask in STEADY[line.split()[1]]] for line, dwords in blocks(text, 'entry ')
            if line.split()[1] in STEADY}


def change(path, command, nth, off, old, new):
    """Changes one dword (number 0 to 3 of the line at off) of a command's answer."""
    lines, inside = read(path).split('\n'), False
    for i, line in enumerate(lines):
        if line.startswith('dump command '):
            inside = line.startswith('dump command %s(' % command) and ' OUTPUT: ' in line
        elif inside and line.startswith(off + ': '):
            words = line.split()
            words[1 + nth] = new(words[1 + nth]) if callable(new) else new
            if old is not None and line.split()[1 + nth] != old:
                raise RuntimeError('%s, %s: %s' % (command, off, line))
            lines[i] = ' '.join(words)
            inside = False
    with open(path + '.changed', 'w') as f:
        f.write('\n'.join(lines))
    return path + '.changed'


class Card:
    def __init__(self, folder, *args):
        self.socket = os.path.join(folder, 'card.sock')
        self.proc = subprocess.Popen([HCA, '--socket', self.socket, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 120
        while not os.path.exists(self.socket) and self.proc.poll() is None and time.monotonic() < end:
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.proc.terminate()
        self.said = self.proc.communicate(timeout=120)[0]


def record(folder):
    """One session, written by the driver and by the card."""
    with Card(folder, '--trace', os.path.join(folder, 'card')) as c:
        session('net_mlx4_user0,socket=%s,trace=%s' % (c.socket, os.path.join(folder, 'driver')))


def recorded(folder):
    """Copies of the two files, to be changed."""
    return [shutil.copy(os.path.join(RECORD.name, name), folder) for name in ('driver', 'card')]


def two_recorders(folder):
    """Neither of the two knows the other's file: the same commands in the same order, the same registers, the same first entries."""
    a, b = (read(p) for p in recorded(folder))
    if len(heads(a)) < 150 or heads(a) != heads(b):
        raise RuntimeError('%d and %d commands' % (len(heads(a)), len(heads(b))))
    ours, cards = blocks(a, 'dump command '), blocks(b, 'dump command ')
    if ours != cards or sum(len(dwords) > 0 for _, dwords in ours) < 50:
        raise RuntimeError('commands with their mailboxes: %s' % next(((x, y) for x, y in zip(ours, cards) if x != y), len(ours)))
    if steady(a) != steady(b):
        raise RuntimeError('entries: %s' % sorted(set(map(str, steady(a).items())) ^ set(map(str, steady(b).items())))[:4])
    for text, name in ((a, 'driver'), (b, 'card')):
        for kind in ('sq', 'rq', 'cq'):
            if len(re.findall(r'^entry %s 0x[0-9a-f]+ \d+$' % kind, text, re.M)) < 32:
                raise RuntimeError('%s: too few entries %s' % (name, kind))
    # What the driver writes to a register is what comes at the card; commands are words of their own there.
    wrote = [w for w in re.findall(r'^write (0x\w+ 0x\w+)$', a, re.M) if not 0x80680 <= int(w.split()[0], 16) < 0x8069c]
    if not wrote or wrote != re.findall(r'^write (0x\w+ 0x\w+)$', b, re.M):
        raise RuntimeError('registers: %s' % wrote)
    # Translation entries: what commands wrote.
    mtts = [re.findall(r'^mtt (0x\w+ 0x\w+[1-9a-f]\w*)$', t, re.M) for t in (a, b)]
    if not mtts[0] or set(mtts[0]) != set(mtts[1]):
        raise RuntimeError('translation entries: %d and %d' % (len(mtts[0]), len(mtts[1])))


def killed(folder):
    """Of a program that is killed while packets go there is all that came before: its commands, and of each queue the first entries, as the
    card has them that saw them, too."""
    path = os.path.join(folder, 'killed')
    with Card(folder, '--trace', os.path.join(folder, 'card')) as c:
        with subprocess.Popen([os.path.join(BUILD, 'apps', 'triplane'), '--lcores', tpmd.lcores('0@0,1@0'), '--no-huge', '-m', '512', '--no-pci',
                               '--no-shconf', '--no-telemetry', '--file-prefix', 'traces%d' % os.getpid(), '--vdev',
                               'net_mlx4_user0,socket=%s,trace=%s' % (c.socket, path), '--', '-e', 'set fwd flowgen; start live 3600; stop'],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            end, n = time.monotonic() + 300, 0
            while n < 8 * 16 and p.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
                n = len(re.findall(r'^entry ', read(path), re.M)) if os.path.exists(path) else 0
            p.kill()
        text = read(path)
    ours, cards = entries(text), entries(read(os.path.join(folder, 'card')))
    rings = {key[:2] for key in ours}
    if sorted(k for k, _ in rings) != ['cq'] * 4 + ['rq'] * 2 + ['sq'] * 2 or any((*ring, i) not in ours for ring in rings for i in range(16)):
        raise RuntimeError('entries of %s: %d' % (rings, len(ours)))
    told = heads(text)
    if len(told) < 100 or told != heads(read(os.path.join(folder, 'card')))[:len(told)]:
        raise RuntimeError('%d commands, which are not the first of the card\'s' % len(told))
    # Entries as they were posted and came: none was used again, or stamped, before it was written.
    dwords = {key: [int(w, 16) for w in re.findall(r'\b[0-9a-f]{8}\b', box)] for key, box in ours.items()}
    senders, receivers = ({int(n, 16) for k, n in rings if k == kind} for kind in ('sq', 'rq'))
    for kind, number in rings:
        of = [dwords[kind, number, i] for i in range(16)]
        if kind == 'cq':
            pairs = {d[0] & 0xffffff for d in of}
            wrong = len(pairs) != 1 or not pairs <= senders | receivers or any(ours[kind, number, i] != cards[kind, number, i] for i in range(16))
            # Of a receive queue they come in order, with the length that was sent.
            wrong |= pairs <= receivers and [(d[6] >> 16, d[5]) for d in of] != [(i, 60) for i in range(16)]
        elif kind == 'sq':
            wrong = any(d[0] != 0x0a or d[4] != 60 for d in of) or len({(d[6], d[7]) for d in of}) != 16
        else:
            wrong = any(d[0] < 1518 for d in of) or len({(d[2], d[3]) for d in of}) != 16
        if wrong:
            raise RuntimeError('%s %s: %s' % (kind, number, of))


def plays(folder):
    for path in recorded(folder):
        said = replay(path)
        if 'no answer differs' not in said or not re.search(r'1\d\d answers compared', said):
            raise RuntimeError(said)
    # Counters and contexts tell of traffic, which a replay has not.
    if 'DUMP_ETH_STATS' not in replay('--all', '--max', '0', path, rc=1):
        raise RuntimeError('traffic made no difference')


def one_difference(folder):
    """A limit of another card: one line, by the field's name, with both values."""
    ours, _ = recorded(folder)
    changed = change(ours, 'QUERY_DEV_CAP', 0, '010', None, lambda w: w[:6] + '15')
    said = replay(changed, rc=1)
    lines = [l for l in said.splitlines() if l.startswith('line ')]
    if len(lines) != 1 or 'QUERY_DEV_CAP' not in lines[0] or not re.search(r'lg_max_qps is 0x15, the model\'s 0x\w+$', lines[0]):
        raise RuntimeError(said)


def another_card(folder):
    """A card that is otherwise is found to be so, and is no difference to one like it."""
    path = os.path.join(folder, 'other')
    session('net_mlx4_model0,model-quirks=F-1:b,quirks=F-1:b,trace=' + path)
    if 'no answer differs' not in replay('--quirks', 'F-1:b', path):
        raise RuntimeError('differs from one like it')
    said = replay(path, rc=1)
    if 'lg_rsvd_eqs is 0xf, the model' not in said:
        raise RuntimeError(said)


def answers(folder):
    """A board and a firmware that the model never has: what the driver says of the card is theirs, and packets go."""
    ours, _ = recorded(folder)
    changed = change(ours, 'QUERY_FW', 1, '000', None, '1450002a')  #
    changed = change(changed, 'QUERY_ADAPTER', 0, '0f0', None, '5f4c5045')  # dwords hold it octet by octet from the right
    for vdev in ('net_mlx4_model0,replay=' + changed, None):
        if vdev is None:
            with Card(folder, '--replay', changed) as c:
                said = session('net_mlx4_user0,socket=' + c.socket, 'show device; ' + FORWARDS)
        else:
            said = session(vdev, 'show device; ' + FORWARDS)
        if '2.42.5200' not in said or 'EPL_' not in said:
            raise RuntimeError(said[:1500])
        got = re.search(r'total: (\d+) received, (\d+) sent', said)
        if not got or int(got.group(1)) < FRAMES:
            raise RuntimeError(said[-1500:])


def refused(folder):
    """What a card refused then, this one refuses: the driver's start fails as it did there."""
    ours, _ = recorded(folder)
    with open(ours) as f:
        text = re.sub(r'(dump command INIT_HCA\(0x7\) OUTPUT: status) 0x0', r'\1 0x3', f.read())
    with open(ours, 'w') as f:
        f.write(text)
    said = session('net_mlx4_model0,replay=' + ours, rc=1)
    if not re.search(r'INIT_HCA .*status 0x03', said):
        raise RuntimeError(said[-1500:])
    if 'status is 0x03, the model\'s 0x00' not in replay(ours, rc=1):
        raise RuntimeError('the replay does not see it')


def bad(folder):
    path = os.path.join(folder, 'bad')
    good = recorded(folder)[0]
    for text, word in (('', 'it has no command'), ('hello\n', "line 1: 'hello'"),
                       ('dump command NOP(0x31) INPUT: op_modifier 0x0\n', 'line 1: wanted op_modifier'),
                       ('dump command NOP(0x31) OUTPUT: status 0x0\n', 'without its INPUT'),
                       ('000: 1 2 3 4\n', 'without a command'), ('mtt 0x7 0x1\n', 'a multiple of 8'), ('read 0x1\n', "line 1: 'read 0x1'"),
                       (read(good)[:3000] + 'ff1: 0 0 0 0\n', 'an offset 000..ff0')):
        with open(path, 'w') as f:
            f.write(text)
        p = subprocess.run([REPLAY, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        if p.returncode != 1 or word not in p.stderr or p.stderr.count('\n') != 1:
            raise RuntimeError('%r: %d %s' % (text[:40], p.returncode, p.stderr))
    for words, text in ((('--type', 'cx5', path), "--type 'cx5': wanted cx3 or cx3pro"), (('--ports', '3', path), "--ports '3': wanted 1..2"),
                        (('--fw', '2.42', path), "--fw '2.42': wanted three numbers"), (('--max', '-1', path), "--max '-1': wanted 0..1000000"),
                        (('--quirks', 'F-999:b', path), '--quirks: '), ((), 'one TRACE'), ((path, path), 'one TRACE')):
        if text not in replay(*words, rc=2):
            raise RuntimeError(words)
    for vdev, text in (('net_mlx4_model0,trace=here', 'a path that begins with /'), ('net_mlx4_model0,replay=here', 'a path that begins with /'),
                       ('net_mlx4_model0,trace=/nowhere/at/all', 'No such file or directory'),
                       ('net_mlx4_model0,replay=/nowhere/at/all', 'No such file or directory'),
                       ('net_mlx4_model0,replay=' + path, 'line ')):
        if text not in session(vdev, rc=1):
            raise RuntimeError(vdev)
    p = subprocess.run([HCA, '--socket', os.path.join(folder, 's'), '--replay', '/nowhere/at/all'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    if p.returncode == 0 or 'No such file or directory' not in p.stdout:
        raise RuntimeError(p.stdout)


RECORD = tempfile.TemporaryDirectory(prefix='tp-traces.')  # pylint: disable=consider-using-with
cases.run('traces-record', record, RECORD.name)
for name, fn in (('recorders', two_recorders), ('killed', killed), ('plays', plays), ('one-difference', one_difference), ('another-card', another_card),
                 ('answers', answers), ('refused', refused), ('bad', bad)):
    with tempfile.TemporaryDirectory(prefix='tp-traces.') as d:
        cases.run('traces-' + name, fn, d)
RECORD.cleanup()
cases.exit()
