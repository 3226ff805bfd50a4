#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: up to 64 programs at once, and random octets as fast as they can be written, fill the CPUs; it takes huge pages of the machine.
"""
Programs on shared ports that mean no good, or that are many: others beside them notice nothing, and forwarding loses no packet.
--seconds N: random octets and messages for so long each, 5 unless given; --seed N: others.
"""
import argparse
import fcntl
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import tpmd
from pages import Pages
from share_owner import DEV, GID, LIMIT, OP, Owner, finish, hello, message, message_size

cases = tpmd.Cases()
PRELOAD = 'preload/verbs/libtriplane-verbs.so'
GUEST = os.path.join(os.environ['TP_BUILD'], 'tests/system/verbs_guest')


def start(owner, *args):
    return owner.start(GUEST, *DEV, str(GID), *args, view='off')


class Steady:
    """A program whose messages are checked, until it is told to end."""

    def __init__(self, owner, name='steady'):
        self.file = os.path.join(owner.dir.name, name)
        self.proc = start(owner, 'steady', self.file)
        self.qpns = None

    def runs(self):
        """Waits until its first message has come back."""
        line = self.proc.stdout.readline()
        found = re.match(r'ready (\d+) (\d+)$', line)
        if not found:
            raise RuntimeError(line + finish(self.proc))
        self.qpns = [int(n) for n in found.groups()]
        return self

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


def newly_broken(owner, before, broken=Owner.rules):
    """Rules of the card by name, with how often they were broken since broken(owner) said that."""
    now = broken(owner)
    return {name: n - before.get(name, 0) for name, n in now.items() if n > before.get(name, 0)}


def doorbells(owner):
    """Doorbells of queues of others, on every page that a program can reach: none moves, and the rule has a name."""
    steady = Steady(owner).runs()
    before, unbroken = owner.show()['objects'], owner.rules()
    try:
        rogue = start(owner, 'doorbells', str(min(steady.qpns) - 8), str(max(steady.qpns) + 8), '0', '255')
        out = finish(rogue)
        found = re.match(r'ok (\d+) pages, (\d+) doorbells$', out)
        if rogue.returncode != 0 or not found:
            return 'the other program: exit code %d: %s' % (rogue.returncode, out)
        # Its pages are of two queue pairs and two completion queues; it rang two others' queue pairs and its own on wrong ones.
        if int(found[1]) != 4 or int(found[2]) != 4 * (18 + 256):
            return 'it rang ' + out
        broken = newly_broken(owner, unbroken)
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

    both = [Steady(owner, name).runs() for name in ('one', 'two')]
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
    with tpmd.scratch() as tmp, tpmd.Hca(os.path.join(tmp, 'card')) as card:
        path = os.path.join(tmp, 'share')
        p = subprocess.Popen([app, *tpmd.eal('tpl%d' % os.getpid(), plugin=False), '--log-level=lib.roce:warning',
                              '--vdev=net_mlx4_model0,guid=0x0002c90300c5e000', '--vdev=net_mlx4_user0,socket=' + card.path, '--'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        try:
            p.stdin.write('set fwd rxonly\nroce 0 on\nroce 2 on\nstart\nshare on %s\n' % path)
            p.stdin.flush()
            if not tpmd.wait_until(lambda: os.path.exists(path) or p.poll() is not None):
                return 'no socket'
            env = {**os.environ, 'TRIPLANE_SHARE': path, 'LD_PRELOAD': os.path.join(os.environ['TP_BUILD'], PRELOAD)}
            seen = subprocess.run(['ibv_devices'], env=env, stdout=subprocess.PIPE, text=True, timeout=LIMIT).stdout
            text = p.communicate('quit\n', timeout=60)[0]
        finally:
            p.kill()
        names = re.findall(r'^\s+(net_\S+)\s+[0-9a-f]{16}$', seen, re.M)
        if names != [DEV[0]]:
            return 'devices: ' + seen
        lines = [line for line in text.splitlines() if 'not shared' in line]
        return None if len(lines) == 1 and 'page of doorbells for each program' in lines[0] else text


# --- forwarding beside it ------------------------------------------------------------------------------------------------

TAPS = ['tph%d%s' % (os.getpid() % 100000, c) for c in 'ab']
FORWARDS = ['net_tap0,iface=' + TAPS[0], 'net_tap1,iface=' + TAPS[1],
            'net_mlx4_model1,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1']
ETHERTYPE = 0x88b5


class Forwarding(threading.Thread):
    """Frames go in at one end of two ports that forward to each other, and must come out at the other: WINDOW at a time."""
    WINDOW = 4

    def __init__(self):
        super().__init__()
        self.ends = []
        for tap in TAPS:
            subprocess.run(['ip', 'link', 'set', tap, 'up'], check=True)
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            end.bind((tap, ETHERTYPE))
            end.settimeout(30)
            self.ends.append(end)
        self.sent = self.came = 0
        self.over = False

    def run(self):
        while not self.over:
            numbers = list(range(self.sent, self.sent + self.WINDOW))
            for n in numbers:
                self.ends[0].send(b'\xff' * 6 + b'\x02\0\0\0\0\1' + struct.pack('!HQ', ETHERTYPE, n) + bytes(50))
            self.sent += len(numbers)
            for n in numbers:
                try:
                    if struct.unpack('!Q', self.ends[1].recv(2048)[14:22])[0] == n:
                        self.came += 1
                except socket.timeout:
                    return

    def end(self):
        """None, or what is missing."""
        self.over = True
        self.join()
        for end in self.ends:
            end.close()
        return None if self.sent == self.came and self.sent > 100 else '%d frames were sent, %d came' % (self.sent, self.came)


def forwarding_owner():
    """An owner whose other card forwards; ports 2 and 3 are the wires of 4 and 5."""
    owner = Owner(FORWARDS)
    for line in ('stop', 'set fwd io 4,5', *('set setting %d rx-completion interrupt' % p for p in (4, 5)), 'start'):
        owner.app.tell(line)
    owner.show()
    return owner


def beside(owner, fn, *args):
    """fn while another program's messages are checked and frames are forwarded."""
    steady, forwards = Steady(owner).runs(), Forwarding()
    forwards.start()
    try:
        bad = fn(owner, *args) or steady.goes_on() or steady.end()
    finally:
        lost = forwards.end()
        steady.kill()
    return bad or lost or owner.empty()


# --- hostile -------------------------------------------------------------------------------------------------------------


def random_octets(owner, seconds, seed, broken=Owner.rules):
    """broken: what the owner counted of it, by name."""
    before = broken(owner)
    rogue = start(owner, 'random', str(seconds), str(seed))
    try:
        out = rogue.communicate(timeout=seconds + LIMIT)[0]
    except subprocess.TimeoutExpired:
        rogue.kill()
        return 'it hangs: ' + rogue.communicate()[0]
    if rogue.returncode != 0 or not re.match(r'ok [1-9]\d* rounds', out):
        return 'exit code %d: %s' % (rogue.returncode, out)
    return None if newly_broken(owner, before, broken) else 'no rule was broken'


def sealed(size):
    fd = os.memfd_create('fuzz', os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def talk(s, rng, size):
    """Questions with numbers of objects that there are, or are not; returns how many were asked."""
    words, have, asked = (size - 16) // 4, [1], 0
    s.send(message(OP['OPEN'], 0, DEV[rng.randrange(2)].encode(), size))
    s.recv(4096)
    for _ in range(rng.randrange(1, 80)):
        op = rng.choice((rng.randrange(OP['OPS']), OP['ALLOC_PD'], rng.randrange(OP['ALLOC_PD'], OP['CREATE_AH'] + 1), rng.getrandbits(32)))
        body = [rng.choice((0, 0, 1, 2, rng.choice(have), rng.randrange(1 << 12), rng.getrandbits(32)))
                for _ in range(rng.randrange(40))]
        body += [0] * (words - len(body))
        fds = []
        if op == OP['REG_MR']:
            length = 4096 * rng.randrange(1, 9)
            body[:16] = [rng.choice(have), 0, 1, rng.randrange(16), 0x1000, 0, length, 0, 0x1000, 0, 0, 0, 0, 0, length, 0]
            if rng.random() < 0.3:
                body[rng.randrange(16)] = rng.getrandbits(32)
            fds = [sealed(rng.choice((length, 4096)))]
        data = message(op, rng.choice(have), struct.pack('<%dI' % words, *body), size)
        try:
            socket.send_fds(s, [data], fds)
            answer, got, _, _ = socket.recv_fds(s, 4096, 16)
        except (BrokenPipeError, ConnectionResetError):
            return asked
        finally:
            for fd in fds:
                os.close(fd)
        for fd in got:
            os.close(fd)
        if not answer:
            return asked
        asked += 1
        _, handle, err, _ = struct.unpack('<IIiI', answer[:16])
        if err == 0 and handle != 0:
            have = have[-7:] + [handle]
    return asked


def messages(owner, seconds, seed):
    """Questions without sense for so long; most lines that they could cause are left out of the log, and counted."""
    rng, end, asked = random.Random(seed), time.monotonic() + seconds, 0
    before, size = owner.show(), message_size(owner.socket)
    while time.monotonic() < end:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            s.connect(owner.socket)
            asked += talk(s, rng, size)
    show = owner.show()
    refused, unsaid = show['failed'] - before['failed'], show['unsaid'] - before['unsaid']
    if asked < 1000 or refused < 500 or refused - unsaid > 110 + 2 * (seconds + 60):
        return '%d questions, %d refused, %d of them without a line' % (asked, refused, unsaid)
    return None


def unread(owner):
    """Who asks and does not read the answers loses its connection; who does not read events gets them in the end."""
    ask = hello(message_size(owner.socket))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(owner.socket)
        s.settimeout(60)
        try:
            for _ in range(100000):
                s.send(ask)
            return 'it is still there after 100000 questions'
        except (BrokenPipeError, ConnectionResetError):
            pass
    deaf = start(owner, 'deaf', '400')
    out = finish(deaf)
    return None if deaf.returncode == 0 and out == 'ok 400\n' else 'exit code %d: %s' % (deaf.returncode, out)


def killed(owner, seed):
    """50 programs are killed, each at another moment of its life."""
    rng, before, longest = random.Random(seed), owner.show()['objects'], 0
    for i in range(50):
        victim = start(owner, 'count', '1000000')
        time.sleep(rng.random() ** 2 * 0.4)
        victim.kill()
        victim.communicate()
        at = time.monotonic()
        if not owner.wait(lambda s: s['objects'] == before, 60):
            return 'number %d left something: %s' % (i, owner.show())
        longest = max(longest, time.monotonic() - at)
    print('# what the killed ones had was given back within %.2f s' % longest)
    return None


# --- many ------------------------------------------------------------------------------------------------------------------


def gone_at_once(rounds=3):
    """Connections that end before the owner is done with making their threads: each is counted, and the owner goes on."""
    # What is left of a thread that has ended is unmapped as soon as another one ends.
    owner = Owner(env={'LD_PRELOAD': os.path.join(os.environ['TP_BUILD'], 'tests/system/libslow_names.so'),
                       'GLIBC_TUNABLES': 'glibc.pthread.stack_cache_size=0'})
    for n in range(2, 2 * rounds + 1, 2):
        other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            other.connect(owner.socket)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(owner.socket)
            if not owner.wait(lambda s: s['connected'] == n):
                return 'not %d connections: %s' % (n, owner.show())
            time.sleep(0.05)  # into the time that a name takes, in which the thread may end
        bad = owner.empty()
        if bad:
            return bad
    refused = owner.show()['refused']
    return owner.close() or ('%d refused' % refused if refused else None)


def many(owner, n=64):
    """So many programs at once, each with both ports open; all messages of all are checked."""
    owner.app.tell('set setting program share-connections 256')
    owner.show()
    all_of_them = []
    try:
        for i in range(n):
            all_of_them.append(Steady(owner, 'steady%d' % i))
        for s in all_of_them:
            s.runs()
        if not owner.wait(lambda s: s['guests'] == 2 * n and len({p['pid'] for p in s['programs']}) == n):
            show = owner.show()
            return '%d connections of %d programs' % (show['guests'], len({p['pid'] for p in show['programs']}))
        for s in all_of_them:
            bad = s.goes_on(2)
            if bad:
                return bad
        for s in all_of_them:
            s.proc.send_signal(signal.SIGTERM)
        for s in all_of_them:
            out = finish(s.proc)
            if s.proc.returncode != 0 or not out.startswith('ok '):
                return 'exit code %d: %s' % (s.proc.returncode, out)
        return owner.empty()
    finally:
        for s in all_of_them:
            if s.proc.poll() is None:
                s.kill()


def ends(owner):
    """The log has the first of many refusals, then a few a second, and how many it has not."""
    code, err = owner.over()
    lines = err.splitlines()
    told = sum(int(n) for line in lines for n in re.findall(r'(\d+) more lines about what programs asked for', line))
    if code != 0 or len(lines) > 1000 or told < 500:
        return 'exit code %d, %d lines, which tell of %d more: %s' % (code, len(lines), told, lines[-5:])
    return None


def owner_killed():
    """Programs whose owner is killed are told, are refused, do not spin, and can take back what they had."""
    owner = Owner()
    guests = [start(owner, 'fatal') for _ in range(3)]
    try:
        for g in guests:
            line = g.stdout.readline()
            if not line.startswith('ready'):
                return line
        owner.app.proc.kill()
        owner.app.proc.communicate()
        for g in guests:
            out = finish(g)
            if g.returncode != 0 or out != 'ok\n':
                return 'exit code %d: %s' % (g.returncode, out)
        return None
    finally:
        for g in guests:
            if g.poll() is None:
                g.kill()
        owner.dir.cleanup()


def large_pages():
    """Memory of huge pages, which the machine gives for so long: what else may be a region is tested where nothing is taken of it."""
    with Pages(16) as pages:
        if pages.why:
            return 'skip ' + pages.why
        owner = Owner()
        rc, out = owner.run(os.path.join(os.environ['TP_BUILD'], 'tests/system/verbs_mem'), *DEV, str(GID))
        why = owner.close()
    if rc != 0 or 'ok large-segment\n' not in out or 'ok large-pages\n' not in out:
        return 'exit code %d: %s' % (rc, out)
    return why


def beside_forwarding(seconds, seed):
    owner = forwarding_owner()
    cases.run('doorbells', doorbells, owner)
    cases.run('sole-pages', sole_pages, owner)
    cases.run('random-octets', beside, owner, random_octets, seconds, seed)
    cases.run('messages', beside, owner, messages, seconds, seed)
    cases.run('unread', beside, owner, unread)
    cases.run('killed', beside, owner, killed, seed)
    cases.run('many', many, owner)
    cases.run('ends', ends, owner)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument('--seconds', type=int, default=5)
    args.add_argument('--seed', type=int, default=1)
    args = args.parse_args()
    cases.run('left-out', left_out)
    if os.geteuid() == 0 and os.path.exists('/dev/net/tun'):
        beside_forwarding(args.seconds, args.seed)
    else:
        print('skip beside-forwarding: taps need root and /dev/net/tun', flush=True)
    cases.run('gone-at-once', gone_at_once)
    cases.run('owner-killed', owner_killed)
    cases.run('large-pages', large_pages)
    cases.exit()


if __name__ == '__main__':
    main()
