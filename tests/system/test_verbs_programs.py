#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of libibverbs as Debian ships them, on ports that a triplane shares: both ends of each are processes of their own."""
import errno
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import tpmd
from share_owner import DEV, GID, LIMIT, OP, PRELOAD, RUN, VERSION, Owner, message, message_size, pair, until_says

cases = tpmd.Cases()
OWN = os.path.join(os.environ['TP_BUILD'], 'tests/system/verbs_own')


def both(owner, prog, gid, done, *args):
    """Runs a program on both ports, the second one calls the first; None, or what went wrong."""
    return across(((owner, DEV[0]), (owner, DEV[1])), prog, gid, done, *args)


def across(ends, prog, gid, done, *args):
    """The same of two ports, each with its owner."""
    (here, dev), (there, dev_there) = ends
    port = tpmd.free_port()
    cmd = [prog, *args, '-p', str(port), gid, str(GID), '-d']
    e = pair(here.start, cmd + [dev], cmd + [dev_there, '127.0.0.1'], lambda _: tpmd.listens(port), client_start=there.start)
    if e.rc != 0 or not re.search(done, e.out, re.S):
        return '%s: exit code %d: %s; the server: %s' % (prog, e.rc, e.out[-400:], e.said[-400:])
    if e.server_rc != 0:
        return '%s, server: exit code %d: %s' % (prog, e.server_rc, e.said[-400:])
    return None


# --- what programs see -------------------------------------------------------------------------------------------------


def devices(owner):
    rc, out = owner.run('ibv_devices')
    names = re.findall(r'^\s+(net_\S+)\s+([0-9a-f]{16})$', out, re.M)
    want = [(d, '0002c90300a1b200') for d in DEV]
    return None if rc == 0 and names == want else 'exit code %d, %s' % (rc, out)


def devinfo(owner):
    """Each GID that triplane shows, and no other."""
    rc, out = owner.run('ibv_devinfo', '-v', '-d', DEV[1])
    shown = owner.app.ask('show roce gid 1')['ports'][0]['gids']
    seen = re.findall(r'GID\[ *(\d+)\]:\s+(\S+), RoCE (v\d)', out)
    want = [(str(g['index']), g['type'].lower().replace('roce', '').strip()) for g in shown]
    if rc != 0 or [(i, t) for i, _, t in seen] != want:
        return 'exit code %d, GIDs %s, triplane has %s' % (rc, seen, shown)
    for text in ('vendor_id:\t\t\t0x02c9', 'vendor_part_id:\t\t\t4103', 'state:\t\t\tPORT_ACTIVE (4)', 'active_mtu:\t\t1024 (3)',
                 'link_layer:\t\tEthernet'):
        if text not in out:
            return 'no "%s" in %s' % (text, out)
    return None


def own(owner):
    """A program of ours that looks at what those of others do not; each of its lines is a case."""
    rc, out = owner.run(OWN, *DEV, str(GID))
    return cases.relay(out, 'own-') or (None if rc == 0 else 'exit code %d: %s' % (rc, out))


def moved(said):
    """Rows of messages of 64 KiB that went."""
    return [row for row in re.findall(r'^ 65536 +(\d+) +[\d.]+ +[\d.]+', said, re.M) if int(row) > 0]


def without_end(owner):
    """perftest that runs until it is ended: a row of figures a second, of nothing where a second brings none."""
    port = tpmd.free_port()
    cmd = ['stdbuf', '-oL', 'ib_write_bw', '-x', str(GID), '-F', '--run_infinitely', '-D', '1', '-p', str(port), '-d']
    server = owner.start(*cmd, DEV[0])
    tpmd.wait_until(lambda: server.poll() is not None or tpmd.listens(port), LIMIT)
    client = owner.start(*cmd, DEV[1], '127.0.0.1')
    said, end = '', time.monotonic() + LIMIT
    while len(moved(said)) < 2 and client.poll() is None and time.monotonic() < end:
        said += until_says(client, '\n')
    ended = client.poll()
    for p in (client, server):
        p.kill()
        said += p.communicate()[0] or ''
    return None if ended is None and len(moved(said)) >= 2 else 'exit code %s: %s' % (ended, said[-600:])


def no_xrc(owner):
    """The program says which call is refused, and with what."""
    rc, out = owner.run('ibv_xsrq_pingpong', '-d', DEV[0], '-g', str(GID))
    want = "Couldn't Open the XRC Domain %d" % errno.EOPNOTSUPP
    return 'skip there is no XRC: ' + want if rc == 1 and want in out else 'exit code %d: %s' % (rc, out)


# --- life and death ----------------------------------------------------------------------------------------------------


def killed(owner):
    """A program ends in the middle: what it had is given back, and another one does not notice."""
    port = tpmd.free_port()
    cmd = ['ib_write_bw', '-x', str(GID), '-F', '-D', '600', '-p', str(port), '-d']
    victim = owner.start(*cmd, DEV[0], view='off')
    tpmd.wait_until(lambda: tpmd.listens(port), LIMIT)
    other = owner.start(*cmd, DEV[1], '127.0.0.1', view='off')
    try:
        if not owner.wait(lambda s: s['guests'] == 2 and all(p['qps'] == 1 for p in s['programs']), LIMIT):
            return 'not two programs: %s' % owner.show()
        victim.send_signal(signal.SIGKILL)
        if not owner.wait(lambda s: all(p['pid'] != victim.pid for p in s['programs'])):
            return 'still there: %s' % owner.show()
        return both(owner, 'ibv_rc_pingpong', '-g', '100 iters', '-e', '-c', '-n', '100')
    finally:
        for p in (victim, other):
            p.kill()
            p.communicate()


def share_off(owner):
    """Who watches is told, and a program that waits for completions ends with an error."""
    watch = owner.start('stdbuf', '-oL', 'ibv_asyncwatch', '-d', DEV[0])
    waits = owner.start('ibv_rc_pingpong', '-g', str(GID), '-p', str(tpmd.free_port()), '-d', DEV[1])
    try:
        watch.stdout.readline()  # it has the device, as the other one has a queue pair
        if not owner.wait(lambda s: any(p['qps'] for p in s['programs']), LIMIT):
            return 'not two programs: %s' % owner.show()
        owner.app.tell('share off')
        line = watch.stdout.readline()
        if 'event_type' not in line and 'local catastrophic error' not in line.lower() and 'fatal' not in line.lower():
            return 'ibv_asyncwatch says: ' + line
        if not tpmd.wait_until(lambda: not owner.show()['shared'], 60):
            return 'still shared: %s' % owner.show()
        if os.path.exists(owner.socket):
            return 'the socket is still there'
        return None
    finally:
        owner.app.tell('share on ' + owner.socket)
        owner.wait(lambda s: s['shared'])
        for p in (watch, waits):
            p.kill()
            p.communicate()


def rubbish(owner):
    """Messages of a program that means no good: each is refused or ends the connection, and pages that nobody sealed are not taken."""
    rng = random.Random(7)
    before = owner.show()['failed']
    size = message_size(owner.socket)
    for _ in range(40):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            s.connect(owner.socket)
            if rng.random() < 0.8:
                s.send(message(OP['OPEN'], 0, DEV[rng.randrange(2)].encode(), size))
                s.recv(4096)
            for _ in range(50):
                op, handle = rng.choice((rng.randrange(OP['OPS'] + 5), rng.getrandbits(32))), rng.choice((0, 1, 2, 3, rng.getrandbits(32)))
                data = message(op, handle, bytes(rng.getrandbits(8) & rng.choice((0, 1, 3, 255)) for _ in range(size - 16)), size)
                try:
                    with tempfile.TemporaryFile() as f:
                        f.truncate(1 << 20)
                        socket.send_fds(s, [data[:rng.choice((size,) * 60 + (size - 1, 3))]], [f.fileno()] * rng.randrange(3))
                    if not s.recv(4096):
                        break
                except (BrokenPipeError, ConnectionResetError):
                    break
    bad = owner.empty()
    refused = owner.show()['failed'] - before
    return bad if bad else None if refused > 500 else 'only %d calls were refused' % refused


# --- refusals ------------------------------------------------------------------------------------------------------------


def refused(*cmd):
    p = subprocess.run([RUN, *cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                       timeout=LIMIT)
    return p.returncode, p.stdout


REFUSALS = [
    ('no-owner', ['--attach', '/nowhere/share', 'ibv_devices'], r'^triplane-run: /nowhere/share: No such file.*share on'),
    ('no-program', ['--attach', '/nowhere/share'], r'^triplane-run: no program is named'),
    ('long-name', ['--attach', '/' + 'x' * 200, 'ibv_devices'], r'more than 107 characters'),
    ('bad-option', ['--sharp', 'ibv_devices'], r"unrecognized option '--sharp'.*usage:"),
]


def refusal(cmd, pattern):
    rc, out = refused(*cmd)
    return None if rc == 1 and re.search(pattern, out, re.S) else 'exit code %d: %s' % (rc, out)


# --- what answers at the socket is no owner, or one of another version ---------------------------------------------------


class Other:
    """Answers each message with these octets, None: hangs up; without an answer at all, nobody listens."""

    def __init__(self, *answer):
        self.dir = tpmd.scratch()
        self.path = os.path.join(self.dir.name, 'share')
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.bind(self.path)
        if answer:
            self.s.listen()
            threading.Thread(target=self.serve, args=answer, daemon=True).start()
        else:
            self.s.close()

    def serve(self, answer):
        try:
            while True:
                c, _ = self.s.accept()
                with c:
                    if answer is not None and c.recv(65536):
                        c.send(answer)
                        c.recv(65536)
        except OSError:
            pass  # closed by the test


def says_version(version, size):
    return (struct.pack('<IIiI', OP['HELLO'], 0, errno.EPROTO, 0) + struct.pack('<II', version, 0)).ljust(size, b'\0')


OTHERS = [
    ('dead', (), 'Connection refused'),
    ('hangs-up', (None,), 'the process there does not speak as it should'),
    ('rubbish', (b'HTTP/1.1 400 Bad Request',), 'the process there does not speak as it should'),
    ('version-short', (says_version(1, 40),), 'the process there speaks version 1, this program %d' % VERSION),
    ('version-long', (says_version(99, 9000),), 'the process there speaks version 99, this program %d' % VERSION),
]


def other(answer, why):
    """One line, and nothing is started; a program that finds the socket by itself sees no devices, and is told so."""
    o = Other(*answer)
    try:
        rc, out = refused('--attach', o.path, 'sh', '-c', 'echo started')
        if rc != 1 or not out.startswith('triplane-run: %s: %s' % (o.path, why)) or out.count('\n') != 1:
            return 'exit code %d: %s' % (rc, out)
        p = subprocess.run(['ibv_devices'], env={**os.environ, 'TRIPLANE_SHARE': o.path, 'LD_PRELOAD': PRELOAD}, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
        told = [line for line in p.stdout.splitlines() if line.startswith('triplane: ')]
        want = ['triplane: the owner of the ports' + why.removeprefix('the process there')] if 'version' in why else []
        return None if 'mlx4' not in p.stdout and told == want else 'ibv_devices says: ' + p.stdout
    finally:
        o.s.close()


def version_told(owner):
    """An owner tells each program of another version, whatever the length of its messages, and goes on."""
    own_size = message_size(owner.socket)
    for version, size in ((VERSION - 1, own_size), (1, 24), (VERSION + 1, own_size + 512), (VERSION + 1, own_size - 8)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            s.connect(owner.socket)
            s.send(struct.pack('<IIiIII', OP['HELLO'], 0, 0, 0, version, 0).ljust(size, b'\0'))
            _, _, err, _, said = struct.unpack('<IIiII', s.recv(4096)[:20])
        if (err, said) != (errno.EPROTO, VERSION):
            return 'to version %d in %d octets: error %d, version %d' % (version, size, err, said)
    return None


def missing_program(owner):
    rc, out = owner.run('no-such-program')
    return None if rc == 1 and re.search(r'^triplane-run: no-such-program: No such file', out) else 'exit code %d: %s' % (rc, out)


def main():
    for name, cmd, pattern in REFUSALS:
        cases.run('refusal-' + name, refusal, cmd, pattern)
    for name, answer, why in OTHERS:
        cases.run('other-' + name, other, answer, why)
    owner = Owner()
    cases.run('missing-program', missing_program, owner)
    cases.run('version-told', version_told, owner)
    cases.run('devices', devices, owner)
    cases.run('devinfo', devinfo, owner)
    cases.run('own', own, owner)
    iters = r'\d+ iters in'
    for prog in ('rc', 'uc', 'srq'):
        cases.run('pingpong-' + prog, both, owner, 'ibv_%s_pingpong' % prog, '-g', iters, '-e', '-c', '-n', '200')
    cases.run('pingpong-ud', both, owner, 'ibv_ud_pingpong', '-g', iters, '-e', '-c', '-n', '200', '-s', '1024')
    cases.run('pingpong-polling', both, owner, 'ibv_rc_pingpong', '-g', iters, '-c', '-n', '200')
    cases.run('pingpong-large', both, owner, 'ibv_rc_pingpong', '-g', iters, '-e', '-c', '-n', '20', '-s', '1000000')
    cases.run('pingpong-xsrq', no_xrc, owner)
    for kind in ('send', 'write', 'read', 'atomic'):
        for what in ('bw', 'lat'):
            # What writes into the peer's memory has no completions there to wait for.
            events = [] if kind == 'write' else ['-e']
            cases.run('%s-%s' % (kind, what), both, owner, 'ib_%s_%s' % (kind, what), '-x', r'\n \d+ +100 ', '-F', '-n', '100',
                      *events)
    cases.run('send-ud', both, owner, 'ib_send_lat', '-x', r'\n \d+ +100 ', '-F', '-n', '100', '-e', '-c', 'UD')
    cases.run('write-queues', both, owner, 'ib_write_bw', '-x', r'\n \d+ +400 ', '-F', '-n', '50', '-q', '8')
    cases.run('write-both-ways', both, owner, 'ib_write_bw', '-x', r'\n 65536 +200 ', '-F', '-n', '200', '-b')
    cases.run('without-end', without_end, owner)
    cases.run('sizes', both, owner, 'ib_send_bw', '-x', r'\n 8388608 +20 ', '-F', '-n', '20', '-a')
    cases.run('killed', killed, owner)
    cases.run('given-back', owner.empty)
    cases.run('rubbish', rubbish, owner)
    cases.run('after-rubbish', both, owner, 'ibv_rc_pingpong', '-g', iters, '-e', '-c', '-n', '50')
    cases.run('share-off', share_off, owner)
    cases.run('shared-again', both, owner, 'ibv_rc_pingpong', '-g', iters, '-e', '-c', '-n', '50')
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
