#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs on shared ports that mean no good, or that are many: others beside them notice nothing."""
import os
import re
import signal
import struct
import subprocess

import tpmd
from test_verbs_programs import DEV, GID, LIMIT, Owner, finish

cases = tpmd.Cases()
PRELOAD = 'preload/verbs/libtriplane-verbs.so'
GUEST = os.path.join(os.environ['TP_BUILD'], 'tests/system/verbs_guest')


def start(owner, *args):
    return owner.start(GUEST, *DEV, str(GID), *args)


class Steady:
    """A program whose messages are checked, until it is told to end."""

    def __init__(self, owner, name='steady'):
        self.file = os.path.join(owner.dir.name, name)
        self.proc = start(owner, 'steady', self.file)
        line = self.proc.stdout.readline()
        found = re.match(r'ready (\d+) (\d+)$', line)
        if not found:
            raise RuntimeError(line + finish(self.proc))
        self.qpns = [int(n) for n in found.groups()]

    def sent(self):
        with open(self.file, 'rb') as f:
            return struct.unpack('=Q', f.read(8))[0]

    def goes_on(self, messages=20):
        """None, or what is wrong: so many more arrive."""
        want = self.sent() + messages
        if tpmd.wait_until(lambda: self.sent() >= want or self.proc.poll() is not None, 60) and self.proc.poll() is None:
            return None
        return 'stands at %d messages, wanted %d; %s' % (self.sent(), want, finish(self.proc) if self.proc.poll() else '')

    def end(self):
        self.proc.send_signal(signal.SIGTERM)
        out = finish(self.proc)
        return None if self.proc.returncode == 0 and out.startswith('ok ') else 'exit code %d: %s' % (self.proc.returncode, out)

    def kill(self):
        self.proc.kill()
        self.proc.communicate()


def rules(owner):
    """Broken rules of the card by name, with how often."""
    return owner.app.ask('show model')['ports'][0]['violated']


def doorbells(owner):
    """Doorbells of queues of others, on every page that a program can reach: none moves, and the rule has a name."""
    steady = Steady(owner)
    before = owner.show()['objects']
    try:
        rogue = start(owner, 'doorbells', str(min(steady.qpns) - 8), str(max(steady.qpns) + 8), '0', '255')
        out = finish(rogue)
        found = re.match(r'ok (\d+) pages, (\d+) doorbells$', out)
        if rogue.returncode != 0 or not found:
            return 'the other program: exit code %d: %s' % (rogue.returncode, out)
        # Its own pages: of two queue pairs and two completion queues. Two others' and its own queue pairs it rang on the wrong one.
        if int(found[1]) != 4 or int(found[2]) != 4 * (18 + 256):
            return 'it rang ' + out
        broken = rules(owner)
        if broken.get('doorbell-page', 0) < 14 or 'wqe-owner' not in broken:
            return 'broken rules: %s' % broken
        bad = steady.goes_on()
        if bad or not owner.wait(lambda s: s['objects'] == before):
            return bad or 'objects: %s' % owner.show()
        return steady.end()
    finally:
        steady.kill()


def sole_pages(owner):
    """No page of doorbells of one program is in another one, and none of the owner's."""
    def files(pid):
        found = set()
        with open('/proc/%d/maps' % pid) as f:
            for line in f:
                at = re.match(r'\S+ \S+ \S+ \S+ (\d+) +/memfd:(uar|triplane-doorbells)', line)
                if at:
                    found.add((at[2], int(at[1])))
        return found

    both = [Steady(owner, name) for name in ('one', 'two')]
    try:
        of = [files(s.proc.pid) for s in both]
        cards = {inode for name, inode in files(owner.app.proc.pid) if name == 'uar'}
        if any(len(f) != 2 or {name for name, _ in f} != {'triplane-doorbells'} for f in of):
            return 'files of doorbells: %s' % of
        if of[0] & of[1] or cards & {inode for f in of for _, inode in f} or not cards:
            return 'a page of doorbells is in two programs: %s and %s; the card: %s' % (*of, cards)
        return both[0].end() or both[1].end()
    finally:
        for s in both:
            s.kill()


def left_out():
    """A port without pages of doorbells for each program alone is named, and is no device."""
    app = os.environ.get('TRIPLANE', os.path.join(os.environ['TP_BUILD'], 'apps', 'triplane'))
    with tpmd.scratch() as tmp:
        path = os.path.join(tmp, 'share')
        p = subprocess.Popen([app, *tpmd.eal('tpl%d' % os.getpid(), plugin=False), '--log-level=lib.roce:warning',
                              '--vdev=net_mlx4_model0', '--'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        try:
            p.stdin.write('set fwd rxonly\nroce 0 on v2 sw\nroce 1 on\nstart\nshare on %s\n' % path)
            p.stdin.flush()
            if not tpmd.wait_until(lambda: os.path.exists(path) or p.poll() is not None):
                return 'no socket'
            env = {**os.environ, 'TRIPLANE_SHARE': path, 'LD_PRELOAD': os.path.join(os.environ['TP_BUILD'], PRELOAD)}
            seen = subprocess.run(['ibv_devices'], env=env, stdout=subprocess.PIPE, text=True, timeout=LIMIT).stdout
            text = p.communicate('quit\n', timeout=60)[0]
        finally:
            p.kill()
        names = re.findall(r'^\s+(net_\S+)\s+[0-9a-f]{16}$', seen, re.M)
        if names != [DEV[1]]:
            return 'devices: ' + seen
        lines = [line for line in text.splitlines() if 'not shared' in line]
        return None if len(lines) == 1 and 'page of doorbells for each program' in lines[0] else text


def main():
    cases.run('left-out', left_out)
    owner = Owner()
    cases.run('doorbells', doorbells, owner)
    cases.run('sole-pages', sole_pages, owner)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
