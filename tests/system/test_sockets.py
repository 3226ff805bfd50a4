#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of plain sockets over the queues of shared ports, and the same programs on the kernel: their calls return the same."""
import contextlib
import ctypes
import os
import re
import signal
import subprocess
import tempfile
import time

import share_owner
import tpmd
from share_owner import LIMIT, Owner, finish, until_says
from sock_ends import PROG, SERVER, ends, same

cases = tpmd.Cases()
LIBRARY = os.path.join(os.environ['TP_BUILD'], 'preload/sockets/libtriplane-sockets.so')
SAME = ('data', 'nonblock', 'flags', 'options', 'ends', 'refused', 'signals', 'epoll', 'select', 'fds', 'last', 'shut')


def names(owner):
    """The addresses are the ports', which the kernel knows nothing of."""
    rc, client, server, _ = ends(owner, 'names')
    want = (['getpeername: 0', 'its length: 16', 'peer: 192.0.2.2, its port', 'getsockname: 0', 'here: 192.0.2.1'],
            ['listens', 'getpeername: 0', 'its length: 16', 'peer: 192.0.2.1', 'getsockname: 0', 'here: 192.0.2.2, the port'])
    return None if rc == 0 and (client, server) == want else 'exit code %d: %s, %s' % (rc, client, server)


def idle(owner):
    """A connection where nothing comes: its program's threads sleep."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', PROG, 'serve', SERVER, port, 'data')
    until_says(server, 'listens\n')
    client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c',
                         'import socket, time; s = socket.create_connection(("%s", %s)); print("there", flush=True); s.recv(5000000, '
                         'socket.MSG_WAITALL); time.sleep(600)' % (SERVER, port))
    try:
        until_says(client, 'there\n')

        def woken():
            n = 0
            for task in os.listdir('/proc/%d/task' % client.pid):
                with open('/proc/%d/task/%s/status' % (client.pid, task)) as f:
                    n += int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', f.read(), re.M)[1])
            return n

        def quiet():
            before = woken()
            time.sleep(1)
            return woken() - before <= 10
        # What the other end sent is all here, and acknowledged.
        return None if tpmd.wait_until(quiet, LIMIT) else 'woken again and again: %d times' % woken()
    finally:
        for p in (client, server):
            p.kill()
            p.communicate()


def accepts(owner, **env):
    """A program that waits for a connection that nobody makes, half a second at a time."""
    p = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c',
                    'import select, socket\ns = socket.create_server(("%s", %d))\nprint("there", flush=True)\n'
                    'while True: select.select([s], [], [], 0.5)' % (SERVER, tpmd.free_port()), env={**os.environ, **env})
    until_says(p, 'there\n')
    return p


def gone(p):
    p.kill()
    p.communicate()


def spin(owner):
    """A call that waits runs for the time that it looks for frames itself, and then sleeps."""
    def used(p):
        with open('/proc/%d/stat' % p.pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    p = accepts(owner, TRIPLANE_SOCKETS_SPIN='1000000')
    try:
        # The first call looks, the third, the seventh, ..., each for its half second. Others may have most of it; where they are so
        # busy that they have it for long, it looks less, so they are to wait.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, p.pid, -20)
        begun = used(p)
        if not tpmd.wait_until(lambda: used(p) - begun >= 0.1, LIMIT):
            return 'it does not look: %.2f s of CPU' % (used(p) - begun)
    finally:
        gone(p)
    p = accepts(owner, TRIPLANE_SOCKETS_SPIN='0')
    try:
        begun = used(p)
        time.sleep(4)  # eight times
        return None if used(p) - begun < 0.1 else 'without looking: %.2f s of CPU' % (used(p) - begun)
    finally:
        gone(p)


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


class Halted:
    """All threads of a program but its first stop, or those that are chosen."""

    def __init__(self, pid, chosen=None):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.tasks = []
        for task in sorted(int(t) for t in os.listdir('/proc/%d/task' % pid)):
            if chosen(task) if chosen else task != pid:
                self._ask(PTRACE_SEIZE, task)
                self.tasks.append(task)
                self._ask(PTRACE_INTERRUPT, task)
                os.waitpid(task, WALL)

    def _ask(self, request, task):
        if self.libc.ptrace(request, task, None, None) != 0:
            raise OSError(ctypes.get_errno(), 'ptrace')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for task in self.tasks:
            self._ask(PTRACE_DETACH, task)


PINGS = """
import os, select, socket, sys
s = socket.create_connection((%r, %s))
%s
print('there', flush=True)
sys.stdin.readline()
for n in range(50):
    s.send(b'ping')
    %s
    assert s.recv(4) == b'ping'
print('done')
"""
WAITS = {'recv': ('', ''), 'poll': ('p = select.poll(); p.register(s, select.POLLIN)', 'p.poll()'),
         'select': ('', 'select.select([s], [], [])'), 'epoll': ('e = select.epoll(); e.register(s, select.EPOLLIN)', 'e.poll()')}
ECHO = """
import socket
s = socket.create_server((%r, %s))
print('there', flush=True)
while True:
    c = s.accept()[0]
    while True:
        data = c.recv(4)
        if not data:
            break
        c.send(data)
"""


def alone(owner, wait, spin_us):
    """A call that waits does all by itself: the threads of the library stand still."""
    port = str(tpmd.free_port())
    env = {**os.environ, 'TRIPLANE_SOCKETS_SPIN': spin_us}
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', ECHO % (SERVER, port))
    try:
        until_says(server, 'there\n')
        client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', PINGS % (SERVER, port, *WAITS[wait]), env=env,
                             stdin=subprocess.PIPE)
        try:
            until_says(client, 'there\n')
            with Halted(client.pid):
                client.stdin.write('go\n')
                client.stdin.flush()
                said = until_says(client, 'done\n')
        finally:
            gone(client)
    finally:
        gone(server)
    return None if said == 'done\n' else said or 'no answer comes'


ADDED = """
import select, socket, sys, threading, time
e = select.epoll()
EPOLL = '232', '281'  # epoll_wait, epoll_pwait of x86-64
got = []
t = threading.Thread(target=lambda: got.extend(e.poll(60)))
t.start()
while open('/proc/self/task/%d/syscall' % t.native_id).read().split()[0] not in EPOLL:
    time.sleep(0.01)
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
e.register(s, select.EPOLLOUT)
t.join()
print(got == [(s.fileno(), select.EPOLLOUT)])
"""


def added(owner):
    """A thread waits at an empty epoll set, and hears of the first socket of the port that another one puts there."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', ECHO % (SERVER, port))
    try:
        until_says(server, 'there\n')
        said = asked(owner, ADDED, SERVER, port)
    finally:
        gone(server)
    return None if said == 'True' else said


def asked(owner, code, *args, **kw):
    """What a program of Python on the first port says."""
    rc, out = owner.run('--sockets', '--port', '0', '/usr/bin/python3', '-c', code, *args, **kw)
    return out.strip() if rc == 0 else 'exit code %d: %s' % (rc, out)


CONNECT = """
import errno, socket, sys
s = socket.socket()
s.settimeout(60)
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
    print(s.recv(100).decode())
except OSError as e:
    print(errno.errorcode.get(e.errno, e))
"""


def refusals(owner):
    return owner.app.ask('show roce stats 1')['ports'][0]['counters']['net_connections_refused']


def nobody(owner):
    """A port where no program listens refuses, whether programs are there or not, and one whose program went does."""
    port = str(tpmd.free_port())
    before = refusals(owner)
    said = [asked(owner, CONNECT, SERVER, port)]
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', ECHO % (SERVER, tpmd.free_port()))
    try:
        until_says(server, 'there\n')
        said.append(asked(owner, CONNECT, SERVER, port))
    finally:
        gone(server)
    if said != ['ECONNREFUSED'] * 2 or not tpmd.wait_until(lambda: refusals(owner) - before >= 2, LIMIT):
        return '%s, counted: %d' % (said, refusals(owner) - before)
    return None


LATE = """
import socket, sys
s = socket.create_server((%r, %s))
print('there', flush=True)
sys.stdin.readline()
c, peer = s.accept()
c.send(peer[0].encode())
"""
EARLY = """
import socket, sys
s = socket.socket()
s.settimeout(60)
s.connect((sys.argv[1], int(sys.argv[2])))
print('connected', flush=True)
print(s.recv(100).decode())
"""


def early(owner):
    """Who calls a server that listens, and does not wait yet, is connected."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', LATE % (SERVER, port), stdin=subprocess.PIPE)
    try:
        until_says(server, 'there\n')
        client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', EARLY, SERVER, port)
        said = until_says(client, 'connected\n')
        server.stdin.write('go\n')
        server.stdin.flush()
        said += finish(client)
    finally:
        gone(server)
    return None if said == 'connected\n192.0.2.1\n' else said


# A master that listens and never looks, and a worker that is another user, as nginx has them.
MASTER = """
import os, socket, sys
s = socket.create_server((%r, %s))
if os.fork() == 0:
    %s
    s.settimeout(0)
    try:
        s.accept()
    except BlockingIOError:
        pass
    s.settimeout(None)
    print('there', flush=True)
    while True:
        c, peer = s.accept()
        c.send(peer[0].encode())
        c.close()
os.wait()
"""
NOBODY = 65534


def served(owner, become):
    port = str(tpmd.free_port())
    master = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', MASTER % (SERVER, port, become), start_new_session=True)
    try:
        said = until_says(master, 'there\n')
        return [asked(owner, CONNECT, SERVER, port) for _ in range(2)], said
    finally:
        os.killpg(master.pid, signal.SIGKILL)
        master.communicate()


def worker(owner):
    """A worker has the port of the master that listened for it."""
    got, said = served(owner, 'pass')
    return None if got == ['192.0.2.1'] * 2 else '%s: %s' % (got, said)


def other_user(owner):
    """A worker that is another user has the port where its group is the socket's, and the kernel's sockets where it is not."""
    if os.geteuid() != 0:
        return 'skip only root can become another user'
    os.chmod(owner.dir.name, 0o711)
    become = 'os.setgroups([]); os.setgid(%d); os.setuid(%d)' % (NOBODY, NOBODY)
    for group, mode, want in (('none', '0666', 'ECONNREFUSED'), (NOBODY, '0660', '192.0.2.1')):
        owner.app.tell('set setting program share-mode ' + mode)
        owner.app.tell('set setting program share-group %s' % group)
        owner.show()
        got, said = served(owner, become)
        if got != [want] * 2:
            return 'group %s: %s; %s' % (group, got, said)
    return None


def mbufs(owner):
    """Frames that all sockets have together lie in memory that the owner counts."""
    octets = []
    for n in ('2048', '16384'):
        p = accepts(owner, TRIPLANE_SOCKETS_MBUFS=n)
        try:
            if not owner.wait(lambda s: any(q['region_bytes'] != 0 for q in s['programs']), LIMIT):
                return 'no memory: %s' % owner.show()
            octets.append(max(q['region_bytes'] for q in owner.show()['programs']))
        finally:
            gone(p)
        why = owner.empty()
        if why:
            return why
    least = (16384 - 2048) * 1536
    return None if octets[1] - octets[0] >= least else 'octets of 2048 and 16384 frames: %s' % octets


def killed(owner):
    """A program ends in the middle: its queue pair and its rules are the owner's again."""
    server = owner.start('--sockets', '--port', '1', PROG, 'serve', SERVER, str(tpmd.free_port()), 'data')
    try:
        until_says(server, 'listens\n')
        if not owner.wait(lambda s: any(p['qps'] == 1 for p in s['programs']), LIMIT):
            return 'no queue pair: %s' % owner.show()
        server.send_signal(signal.SIGKILL)
        return owner.empty()
    finally:
        server.kill()
        server.communicate()


def has_port(owner, rules):
    """Whether a listener to any address is the port's, too, by these rules."""
    with tempfile.NamedTemporaryFile('w') as f:
        f.write(rules)
        f.flush()
        # triplane-run itself looks, too.
        start = owner.show()['connected']
        owner.run('--sockets', '/bin/true')
        before = owner.show()['connected']
        looks = before - start
        port = str(tpmd.free_port())
        server = owner.start('--sockets', '--port', '1', PROG, 'serve', '0.0.0.0', port, 'names',
                             env={**os.environ, 'TRIPLANE_SOCKETS_RULES': f.name, 'TRIPLANE_SOCKETS_ID': 'me'})
        try:
            until_says(server, 'listens\n')
            # The kernel's half is there in both cases, and what it brings is the last that is looked at.
            client = share_owner.start(PROG, 'call', '127.0.0.1', port, 'names')
            out = finish(client)
            said = finish(server)
        finally:
            server.kill()
    if client.returncode != 0 or server.returncode != 0:
        raise RuntimeError('%s; %s' % (out, said))
    return owner.show()['connected'] - before > looks


RULES = [
    ('none', '', True),
    ('os', 'use os tcp_server *:*\n', False),
    ('first-fits', 'use triplane tcp_server *:1-65535\nuse os tcp_server *:*\n', True),
    ('old-word', 'use vma tcp_server 0.0.0.0/32:*\nuse os tcp_server *:*\n', True),
    ('other-address', 'use triplane tcp_server 10.0.0.0/8:*\nuse os tcp_server *:*\n', False),
    ('other-port', 'use triplane tcp_server *:1-2\nuse os tcp_server *:*\n', False),
    ('other-role', 'use os tcp_client *:*\n', True),
    ('other-name', 'application-id nginx *\nuse os tcp_server *:*\n', True),
    ('name', 'application-id sock_prog me\nuse os tcp_server *:*\n', False),
]


def rules(owner, text, engine):
    ours = has_port(owner, text)
    return None if ours == engine else 'the port has it: %s' % ours


def both_halves(owner):
    """One listener to any address: what comes by the port and by the kernel is accepted by one call."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', PROG, 'serve', '0.0.0.0', port, 'halves')
    try:
        said = until_says(server, 'listens\n')
        one = owner.start('--sockets', '--port', '0', PROG, 'call', SERVER, port, 'halves')
        two = share_owner.start(PROG, 'call', '127.0.0.1', port, 'halves')
        out = finish(one), finish(two)
        said += finish(server)
    finally:
        server.kill()
    return None if sorted(said.split()) == ['127.0.0.1', '192.0.2.1', 'listens'] and out == ('k\n', 'k\n') else '%s %s' % (out, said)


LAST_WORD = ('import socket, sys\ns = socket.create_server(("%s", %s))\nprint("listens", flush=True)\nc = s.accept()[0]\n'
             'print("there", flush=True)\nsys.stdin.read()\nc.sendall(b"k")\n')


def last_word(owner):
    """What a program says last comes, though all stand still around it for longer than anything in its engine waits for an answer."""
    port = str(tpmd.free_port())
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', LAST_WORD % (SERVER, port), stdin=subprocess.PIPE)
    until_says(server, 'listens\n')
    client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c',
                         'import socket\ns = socket.create_connection(("%s", %s))\nprint(s.recv(2), s.recv(2))' % (SERVER, port))
    try:
        until_says(server, 'there\n')
        os.kill(owner.app.proc.pid, signal.SIGSTOP)
        try:
            server.stdin.close()
            time.sleep(2)
        finally:
            os.kill(owner.app.proc.pid, signal.SIGCONT)
        out = finish(client)
        return None if (out, server.wait(LIMIT)) == ("b'k' b''\n", 0) else 'it got %s, exit code %s' % (out, server.returncode)
    finally:
        gone(client)
        server.stdin = None
        gone(server)


def last(owner):
    """Data that nobody read before a reset came is there, whether its end came or not; behind it stands that, or the reset."""
    rc, client, _, _ = ends(owner, 'last')
    want = ['behind all: 0', 'and again: 0', 'octets: 30000', 'wrong ones: 0'] * 2 + \
        ['behind all: ECONNRESET', 'and again: 0', 'octets: 30000', 'wrong ones: 0']
    got = [line for line in client if line.split(':')[0] in ('behind all', 'and again', 'octets', 'wrong ones')]
    return None if (rc, got) == (0, want) else 'exit code %d: %s' % (rc, client)


def fork(owner):
    """A child has the kernel's half of what its parent had, and sockets of its own."""
    rc, client, server, code = ends(owner, 'fork')
    want = ['listens', 'child: recv: ENOTCONN', 'child: poll: 16', 'child: its own: 0', 'parent: recv: 1', 'child ended: 0']
    return None if (rc, code) == (0, 0) and server == want else 'exit codes %d and %d: %s; %s' % (rc, code, server, client)


def host(owner):
    """A kernel's interface behind the port has the same address: its connections are not refused."""
    if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
        return 'skip wants root and /dev/net/tun'
    name, port = 'tps%d' % (os.getpid() % 100000), str(tpmd.free_port())
    for line in ('stop', 'kernel 1 on ' + name, 'start'):
        owner.app.tell(line)
    owner.show()
    ip = ['ip', '-n', name]
    subprocess.run(['ip', 'netns', 'add', name], check=True)
    try:
        subprocess.run(['ip', 'link', 'set', name, 'netns', name], check=True)
        subprocess.run([*ip, 'addr', 'add', SERVER + '/24', 'dev', name], check=True)
        subprocess.run([*ip, 'link', 'set', name, 'up'], check=True)

        def up():
            k = owner.app.ask('show kernel')['interfaces'][0]
            return k['state'] == 'up' and k['carrier']
        # Answers of ARP are RoCE's, which has the same address.
        mac = owner.app.ask('show port info 0')['ports'][0]['mac']
        subprocess.run([*ip, 'neigh', 'add', '192.0.2.1', 'lladdr', mac, 'dev', name], check=True)
        if not tpmd.wait_until(up, LIMIT):
            return 'the interface is not up: %s' % owner.app.ask('show kernel')
        server = share_owner.start('ip', 'netns', 'exec', name, '/usr/bin/python3', '-c', MASTER.replace('if os.fork() == 0', 'if True')
                                   % (SERVER, port, 'pass'))
        try:
            until_says(server, 'there\n')
            said = asked(owner, CONNECT, SERVER, port)
        finally:
            gone(server)
    finally:
        subprocess.run(['ip', 'netns', 'del', name], check=True)
    return None if said == '192.0.2.1' else '%s; %s' % (said, owner.app.ask('show kernel'))


def costs_nothing(owner):
    """A program without sockets: the owner hears nothing of it, and no thread begins. What it costs is `./tp bench sockets`."""
    before = owner.show()['connected']
    env = {**os.environ, 'LD_PRELOAD': LIBRARY, 'TRIPLANE_SHARE': owner.socket}
    threads = subprocess.run(['/bin/ls', '/proc/self/task'], env=env, capture_output=True, text=True, check=True).stdout.split()
    calls = owner.show()['connected'] - before
    return None if calls == 0 and len(threads) == 1 else '%d connections, threads %s' % (calls, threads)


def bad_words():
    """Wrong settings and rules are told, one line each, and the program runs."""
    with tempfile.NamedTemporaryFile('w') as f:
        f.write('\n# a remark\nuse os tcp_server 1.2.3:80\nuse os tcp_server 1.2.3.4/33:80\nuse os tcp_server *:70000\n'
                'use none tcp_server *:*\nuse os server *:*\nuse triplane udp_sender *.*:*\nuse os\nhello a b\nuse os tcp_server *\n'
                'application-id other *\nuse nobody tcp_server *:*\n')
        f.flush()
        env = {**os.environ, 'LD_PRELOAD': LIBRARY, 'TRIPLANE_SHARE': '/nowhere/share', 'TRIPLANE_SOCKETS_RULES': f.name,
               'TRIPLANE_SOCKETS_PORT': '64', 'TRIPLANE_SOCKETS_SPIN': 'x', 'TRIPLANE_SOCKETS_MBUFS': '-1'}
        port = str(tpmd.free_port())
        server = share_owner.start(PROG, 'serve', '0.0.0.0', port, 'data', env=env)
        said = until_says(server, 'listens\n')
        client = share_owner.start(PROG, 'call', '127.0.0.1', port, 'data')
        out, said = finish(client), said + finish(server)
        told = re.findall(r'line (\d+): ([^;]*);', said)
        settings = re.findall(r"(TRIPLANE_SOCKETS_\w+): '(\S+)' is not a number of (\d+\.\.\d+)", said)
    want = [('3', 'an address is not like 192.0.2.1'), ('4', 'the length of a prefix is not 0..32'),
            ('5', 'a port is not 0..65535, or the last one comes before the first'), ('6', 'who gets it is not triplane, vma or os'),
            ('7', 'a role is not tcp_server, tcp_client, udp_sender, udp_receiver or udp_connect'),
            ('8', 'an address is not like 192.0.2.1'), ('9', 'a line is not whole'),
            ('10', "a line begins with neither 'use' nor 'application-id'"), ('11', "a rule is 'use triplane|os ROLE ADDRESS:PORTS'")]
    want_settings = {('TRIPLANE_SOCKETS_PORT', '64', '0..63'), ('TRIPLANE_SOCKETS_SPIN', 'x', '0..1000000'),
                     ('TRIPLANE_SOCKETS_MBUFS', '-1', '2048..1048576')}
    if client.returncode != 0 or told != want or set(settings) != want_settings:
        return '%s; %s; %s' % (out, said, told)
    return None


def no_owner():
    """One line, and the program runs on the kernel."""
    env = {**os.environ, 'LD_PRELOAD': LIBRARY, 'TRIPLANE_SHARE': '/nowhere/share'}
    port = str(tpmd.free_port())
    server = share_owner.start(PROG, 'serve', '0.0.0.0', port, 'data', env=env)
    said = until_says(server, 'listens\n')
    client = share_owner.start(PROG, 'call', '127.0.0.1', port, 'data')
    out, said = finish(client), said + finish(server)
    want = 'triplane-sockets: /nowhere/share, port 0: no process shares a port there; sockets are the operating system\'s\n'
    return None if client.returncode == 0 and want in said else '%s; %s' % (out, said)


def main():
    cases.run('no-owner', no_owner)
    cases.run('bad-words', bad_words)
    owner = Owner()
    cases.run('names', names, owner)
    for case in SAME:
        cases.run('same-' + case, same, owner, case)
    cases.run('last', last, owner)
    cases.run('fork', fork, owner)
    cases.run('both-halves', both_halves, owner)
    cases.run('last-word', last_word, owner)
    for name, text, engine in RULES:
        cases.run('rules-' + name, rules, owner, text, engine)
    cases.run('costs-nothing', costs_nothing, owner)
    cases.run('idle', idle, owner)
    cases.run('spin', spin, owner)
    for wait in WAITS:
        cases.run('alone-' + wait, alone, owner, wait, '0')
    cases.run('alone-looking', alone, owner, 'recv', '1000')
    cases.run('added', added, owner)
    cases.run('nobody-listens', nobody, owner)
    cases.run('early', early, owner)
    cases.run('worker', worker, owner)
    cases.run('other-user', other_user, owner)
    cases.run('mbufs', mbufs, owner)
    cases.run('killed', killed, owner)
    cases.run('host', host, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
