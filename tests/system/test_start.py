#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: which CPUs programs take.
"""How our programs start when only their ports are named: memory, prefix and CPUs are found, nothing stays behind, and
what does not work is told with its cure."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Which CPUs are busy is told by locks that a network namespace shares: in one of its own only this test's programs count.
if os.environ.get('START_ALONE') is None and subprocess.run(
        ['unshare', '-n', '-m', 'mount', '-t', 'sysfs', 'none', '/sys'], stderr=subprocess.DEVNULL).returncode == 0:
    os.environ['START_ALONE'] = '1'
    os.execvp('unshare', ['unshare', '-n', '-m', 'sh', '-c',
                          'mount -t sysfs none /sys && ip link set lo up && exec "$0" "$@"', sys.executable, *sys.argv])

import rocepair
import tpmd
from pages import Pages

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
TRIPLANE = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
CARD = ['--no-pci', '--vdev=net_mlx4_model0']
CPUS = sorted(os.sched_getaffinity(0))
cases = tpmd.Cases()


def run(*cmd, **kw):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          **kw)


def folders():
    return sorted(os.listdir(tpmd.RUN)) if os.path.isdir(tpmd.RUN) else []


def bad_memory_line(name, err):
    lines = [x for x in err.splitlines() if x.startswith(name + ': memory: ')]
    return None if len(lines) == 1 else 'memory lines %s: %s' % (lines, err[-400:])


def memory():
    """triplane finds memory, says which, keeps it off its output, and leaves no folder."""
    before = folders()
    p = run(TRIPLANE, *CARD, '--', '-e', 'show port info all json')
    if p.returncode != 0:
        return '%s: %s' % (p.returncode, p.stderr[-400:])
    json.loads(p.stdout)
    if folders() != before:
        return 'folders %s, then %s' % (before, folders())
    return bad_memory_line('triplane', p.stderr)


def given():
    """What the user gives stays as it is, and nothing is said; a prefix that has a name is removed, too."""
    before = folders()
    p = run(TRIPLANE, *CARD, '--no-huge', '-m', '256', '--no-shconf', '--file-prefix=tpgiven', '--', '-e', 'show port info all json')
    if p.returncode != 0 or 'memory:' in p.stderr:
        return '%s: %s' % (p.returncode, p.stderr[-400:])
    return None if folders() == before else 'folders %s, then %s' % (before, folders())


def ordinary_user():
    """Nobody in particular can start it, even where root's runtime folder is in the environment."""
    if os.getuid() != 0:
        return 'skip only root can become another user'
    with tempfile.TemporaryDirectory(prefix='tpuser') as d:
        # the tree may stand where others have no way in
        os.chmod(d, 0o755)
        exe = shutil.copy(TRIPLANE, d)
        for folder in ('drivers', 'lib'):
            for lib in glob.glob(os.path.join(BUILD, folder, '**', '*.so*'), recursive=True):
                if os.path.isfile(lib):
                    shutil.copy(lib, d)
        env = dict(os.environ, LD_LIBRARY_PATH=d, XDG_RUNTIME_DIR='/root')
        del env['RUNTIME_DIRECTORY']
        p = run('setpriv', '--reuid=65534', '--clear-groups', exe, *CARD, '--', '-e', 'show port info all json', env=env)
    return bad_memory_line('triplane', p.stderr) if p.returncode == 0 else '%s: %s' % (p.returncode, p.stderr[-400:])


def build_of_another():
    """A build that root made runs for everybody while it is up to date; else one line says whose it is and what to do."""
    if os.getuid() != 0:
        return 'skip only root can become another user'
    with tempfile.TemporaryDirectory(prefix='tpuser') as d:
        os.chmod(d, 0o755)
        shutil.copy(os.path.join(ROOT, 'tp'), d)
        shutil.copytree(os.path.join(ROOT, 'scripts'), os.path.join(d, 'scripts'))
        for folder in ('build', '.tp/dpdk-sdk'):
            os.makedirs(os.path.join(d, folder))
        with open(os.path.join(d, '.tp/dpdk-sdk/version'), 'w') as f:
            f.write(run('pkg-config', '--modversion', 'libdpdk').stdout)
        for name, text in (('build.ninja', 'rule copy\n command = cp $in $out\nbuild out: copy in\n'), ('in', 'a source\n')):
            with open(os.path.join(d, 'build', name), 'w') as f:
                f.write(text)
        run('ninja', '-C', os.path.join(d, 'build'))
        env = {k: v for k, v in os.environ.items() if not k.startswith('TP_')}
        build = ['setpriv', '--reuid=65534', '--clear-groups', os.path.join(d, 'tp'), 'build']
        p = run(*build, env=env)
        if p.returncode != 0 or p.stderr:
            return 'up to date, %s: %s' % (p.returncode, p.stderr[-400:])
        os.utime(os.path.join(d, 'build', 'in'), (time.time() + 5, time.time() + 5))
        p = run(*build, env=env)
        if p.returncode != 1 or not re.fullmatch(r'tp: .*build belongs to root .*TP_BUILD=.*\n', p.stderr):
            return 'stale, %s: %s' % (p.returncode, p.stderr[-400:])
    return None


def last_line(p):
    return p.stderr.strip().splitlines()[-1] if p.stderr.strip() else ''


def holds(pid, kind, path):
    """A process holds a lock on a file or folder, by the kernel; kind: FLOCK or POSIX."""
    if not os.path.exists(path):
        return False
    with open('/proc/locks') as f:
        return re.search(r'%s +ADVISORY +WRITE %d \S+:%d ' % (kind, pid, os.stat(path).st_ino), f.read()) is not None


def causes():
    """One line at the end has the cause and what helps."""
    card = CARD + ['--no-huge', '--file-prefix=tpbusy%d' % os.getpid()]
    holder = subprocess.Popen([TRIPLANE, *card, '--', '-i'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        config = os.path.join(tpmd.RUN, 'tpbusy%d' % os.getpid(), 'config')
        if not tpmd.wait_until(lambda: holds(holder.pid, 'POSIX', config)):
            return 'nobody has the lock of %s' % config
        p = run(TRIPLANE, *card, '--', '-e', 'quit')
    finally:
        holder.kill()
        holder.wait()
    if p.returncode != 1 or 'prefix in use: process %d' % holder.pid not in last_line(p) or '--file-prefix NAME' not in last_line(p):
        return '%s: %s' % (p.returncode, p.stderr[-300:])
    p = run(rocepair.program('tp_pingpong'), *CARD, '--no-such-option', '--')
    if p.returncode != 2 or 'EAL does not start with these arguments' not in last_line(p):
        return '%s: %s' % (p.returncode, p.stderr[-300:])
    with open('/proc/mounts') as f:
        if ' hugetlbfs ' in f.read():
            return None
    for prog, args in ((TRIPLANE, ['-e', 'quit']), (rocepair.program('tp_rping'), ['-s'])):
        p = run(prog, *CARD, '--proc-type=primary', '--', *args)
        if p.returncode == 0 or 'no hugetlbfs: mount it, or --no-huge -m ' not in last_line(p):
            return '%s: %s' % (p.returncode, p.stderr[-300:])
    return None


def pinned(p):
    """The CPU of a program's main thread, once it has one; None: not yet, or it ended."""
    try:
        cpus = os.sched_getaffinity(p.pid)
    except ProcessLookupError:
        return None
    return next(iter(cpus)) if len(cpus) == 1 else None


def end(sock, role, *args):
    vdev = '--vdev=net_memif0,role=%s,socket=%s,socket-abstract=no' % (role, sock)
    return rocepair.Process([rocepair.program('tp_pingpong'), '--no-pci', vdev, '--', *args])


def cpus():
    """Two ends that are told nothing have a CPU each; a third program, for which there is none, says so."""
    if len(CPUS) != 2:
        return 'skip %d CPUs, this is about two' % len(CPUS)
    before = folders()
    with tpmd.scratch() as d:
        sock, way, port = os.path.join(d, 'm.sock'), os.path.join(d, 'way'), str(tpmd.free_port())
        server = end(sock, 'server', '--addr', '192.0.2.1/24', '-p', port, '-n', '3000', '--link-wait', '200')
        got = tpmd.wait_until(lambda: pinned(server.p) is not None)
        # It finds the server when the third has come, so that neither is over before that.
        client = end(way, 'client', '--addr', '192.0.2.2/24', '-p', port, '-n', '3000', '--link-wait', '200', '127.0.0.1')
        got = got and tpmd.wait_until(lambda: pinned(client.p) is not None)
        where = [pinned(server.p), pinned(client.p)]
        # it has no port, and ends when it finds that out
        third = run(rocepair.program('tp_pingpong'), '--no-pci', '--', '--addr', '192.0.2.1/24')
        os.symlink(sock, way)
        client.wait(60)
        server.wait(60)
    if not got or client.returncode != 0 or server.returncode != 0:
        return rocepair.Ends(server, client).why()
    if sorted(where) != CPUS:
        return 'CPUs %s of %s' % (where, CPUS)
    if 'warning' in client.err + server.err:
        return 'a warning: %s' % (client.err + server.err)
    if 'tp_pingpong: warning: CPU ' not in third.stderr:
        return 'no warning of the third: %s' % third.stderr[-400:]
    return None if folders() == before else 'folders %s, then %s' % (before, folders())


def workers():
    """triplane's main lcore sleeps: it goes where another program is busy, and its worker to the free CPU."""
    if len(CPUS) != 2:
        return 'skip %d CPUs, this is about two' % len(CPUS)
    with tpmd.scratch() as d:
        vdev = '--vdev=net_memif0,role=server,socket=%s,socket-abstract=no' % os.path.join(d, 'm.sock')
        other = rocepair.Process([rocepair.program('tp_pingpong'), '--no-pci', '-l', str(CPUS[1]), vdev, '--', '--addr',
                                  '192.0.2.1/24', '-p', str(tpmd.free_port())])
        try:
            # It takes the CPU when the EAL has started.
            if not tpmd.wait_until(lambda: holds(other.p.pid, 'FLOCK', '/sys/devices/system/cpu/cpu%d' % CPUS[1])):
                return 'the other program does not start'
            p = run(TRIPLANE, *CARD, '--', '-e', 'start; stop')
        finally:
            other.p.terminate()
            other.wait(60)
    if p.returncode != 0 or 'warning' in p.stderr:
        return '%s: %s' % (p.returncode, p.stderr[-400:])
    return None if re.search(r'^ *lcore %d ' % CPUS[0], p.stdout, re.M) else p.stdout[-400:]


def card_thread():
    """The thread of a card in software stays off the CPU of an lcore where there is another one, and has the CPU that it is told."""
    def found(vdev):
        with tpmd.Triplane([vdev], on='0@0', memory=256) as t:
            t.ask('show port info all')
            tids = [int(x) for x in os.listdir('/proc/%d/task' % t.proc.pid)]
            cpus = [os.sched_getaffinity(x) for x in tids
                    if open('/proc/%d/task/%d/comm' % (t.proc.pid, x), encoding='ascii').read().startswith('mlx4-model')]
            main = os.sched_getaffinity(t.proc.pid)
            t.end()
            return main, cpus
    main, cpus = found('net_mlx4_model0')
    if main != {tpmd.cpu(0)} or len(cpus) != 1:
        return 'the main lcore has %s, cards %s' % (main, cpus)
    if len(CPUS) > 1 and cpus[0] & main or len(CPUS) == 1 and cpus[0] != main:
        return 'of %s the main lcore has %s, the card %s' % (CPUS, main, cpus[0])
    main, cpus = found('net_mlx4_model0,cpu=%d' % tpmd.cpu(0))
    return None if cpus == [main] else 'told the CPU %s, the card has %s' % (main, cpus)


def hugepages():
    """Where enough of them are free programs take hugepages, and a card in software works as well."""
    check = os.path.join(BUILD, 'apps', 'check', 'triplane-check')
    with Pages(320) as pages:
        if pages.why is not None:
            return 'skip ' + pages.why
        for cmd in ([TRIPLANE, *CARD, '--', '-e', 'start; stop'],
                    [check, '--vdev', 'net_mlx4_model0', '--only', 'machine,identity,bringup,loopback,infiniband']):
            p = run(*cmd)
            if p.returncode != 0 or not re.search('memory: hugepages|pass hugepages: ', p.stdout + p.stderr):
                return '%s: %s' % (p.returncode, (p.stdout + p.stderr)[-800:])
    return None


def ends_at_once():
    """Both ends of a memif end in the same moment: what one still hears of the other meets nothing that is gone."""
    with tpmd.scratch() as d:
        for n in range(6):
            sock = os.path.join(d, 'sock%d' % n)
            at = 'net_memif0,role=%s,socket=' + sock + ',socket-abstract=no'
            with tpmd.Triplane([at % 'server'], name='s%d' % n, on='0@0,1@0', memory=128) as server:
                if not tpmd.wait_until(lambda f=sock, p=server.proc: os.path.exists(f) or p.poll() is not None):
                    return 'the server makes no socket: ' + server.said()
                with tpmd.Triplane([at % 'client'], name='c%d' % n, on='0@1,1@1', memory=128) as client:
                    ends = (server, client)
                    for t in ends:
                        t.tell('wait link up all 60')
                    for t in ends:
                        t.ask('show fwd')
                    for t in ends:
                        t.tell('quit')
                    rcs = [t.proc.wait(120) for t in ends]
                    if rcs != [0, 0]:
                        return 'round %d: exit codes %s: %s' % (n, rcs, [t.said()[-300:] for t in ends])
    return None


def packages():
    """A package whose triggers wait is installed: another apt-get at work must not make ./tp install anything."""
    states = {'a': 'installed', 'b': 'triggers-pending', 'c': 'triggers-awaited', 'd': 'half-configured', 'e': 'config-files', 'f': None}
    with tpmd.scratch() as d:
        query = os.path.join(d, 'dpkg-query')
        with open(query, 'w', encoding='ascii') as f:
            f.write('#!/bin/sh\nfor p; do :; done\ncase $p in\n')
            f.writelines('%s) printf %s ;;\n' % (p, s) if s else '%s) exit 1 ;;\n' % p for p, s in states.items())
            f.write('esac\n')
        os.chmod(query, 0o755)
        p = subprocess.run(['bash', '-c', '. scripts/common.sh && PATH=%s:$PATH && tp_missing_packages %s' % (d, ' '.join(states))], cwd=ROOT,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    return None if p.stdout.split() == ['d', 'e', 'f'] else '%r %s' % (p.stdout, p.stderr[-300:])


for name, fn in (('memory', memory), ('given', given), ('ordinary-user', ordinary_user),
                 ('build-of-another', build_of_another), ('causes', causes), ('cpus', cpus),
                 ('workers', workers), ('card-thread', card_thread), ('hugepages', hugepages), ('ends-at-once', ends_at_once),
                 ('packages', packages)):
    cases.run('start-' + name, fn)
cases.exit()
