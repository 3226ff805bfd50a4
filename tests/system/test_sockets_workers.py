#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Several processes that listen to one port, as servers with workers have them: who listens no more keeps its connections, and the next one
has the port at once, however it waits and however the first one ends.
"""
import os
import signal
import subprocess

import tpmd
from share_owner import LIMIT, Owner, until_says
from sock_ends import SERVER
from sock_nginx import with_port
from test_sockets import gone
from test_sockstat import Program, look

cases = tpmd.Cases()

# A master that does not look itself: a line of its input makes a worker. A worker says to each who calls who it is, and that again for
# each octet; 's': it listens no more, and ends with its last connection; 'x': it ends.
# With two listeners at the port, the second and the third worker have one each.
MASTER = """
import os, select, signal, socket, sys
made = [socket.create_server((%r, %d), reuse_port=%d > 1) for _ in range(%d)]

def worker(s):
    s.setblocking(False)
    e, conns, who = select.epoll(), {}, b'%%7d' %% os.getpid()
    e.register(s, select.EPOLLIN)
    listens = True
    e.poll(0)
    print('worker', os.getpid(), flush=True)
    while listens or conns:
        for fd, _ in e.poll():
            if listens and fd == s.fileno():
                c = s.accept()[0]
                conns[c.fileno()] = c
                e.register(c, select.EPOLLIN)
                c.send(who)
                continue
            c = conns[fd]
            word = c.recv(1)
            if word == b'x':
                sys.exit()
            if word == b's':
                e.unregister(s)
                s.close()
                listens = False
            if word:
                c.send(who)
            else:
                del conns[fd]
                c.close()
    os._exit(0)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print('there', flush=True)
for line in sys.stdin:
    made.append(made.pop(0))
    if os.fork() == 0:
        worker(made[0])
"""


def has_port(pid, port):
    return tpmd.wait_until(lambda: with_port([pid], port), LIMIT)


def stands_by(pid, port):
    return [(s['whose'], s['state']) for s in look(pid)['sockets'] if s['listens'] and s['local'].endswith(':%d' % port)]


class Master:
    def __init__(self, owner, listeners=1):
        self.port = tpmd.free_port()
        self.p = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', MASTER % (SERVER, self.port, listeners, listeners), stdin=subprocess.PIPE,
                             start_new_session=True)
        until_says(self.p, 'there\n')

    def worker(self):
        self.p.stdin.write('go\n')
        self.p.stdin.flush()
        return int(until_says(self.p, '\n').split()[1])

    def over(self):
        os.killpg(self.p.pid, signal.SIGKILL)
        gone(self.p)


def call(client, name, port):
    """Who answers."""
    return client.do('%s = socket.create_connection((%r, %d), 60)' % (name, SERVER, port),
                     'print(int(%s.recv(7, socket.MSG_WAITALL)), flush=True)' % name)


def say(client, name, word='w'):
    return client.do('%s.send(%r)' % (name, word.encode()), 'print(int(%s.recv(7, socket.MSG_WAITALL)), flush=True)' % name)


def next_of(pids, port):
    """One of these has the port now; it, and then the others."""
    if not tpmd.wait_until(lambda: with_port(pids, port), LIMIT):
        raise RuntimeError('nobody has the port: %s' % [look(pid)['sockets'] for pid in pids])
    pid = with_port(pids, port)
    return [pid, *[p for p in pids if p != pid]]


def own_listeners(owner):
    """Each of two workers has a listener of its own, which their master made: none is refused, and the master has no port."""
    for _ in range(2):
        master = Master(owner, 2)
        try:
            with Program(owner, '0') as client:
                first = master.worker()
                got = [call(client, 'a', master.port)]
                second = master.worker()
                got += [call(client, 'b', master.port), stands_by(second, master.port), with_port([master.p.pid], master.port)]
                os.kill(first, signal.SIGKILL)
                second = next_of([second], master.port)[0]
                got.append(call(client, 'c', master.port))
        finally:
            master.over()
        want = [str(first), str(first), [('os', 'UNCONN')], None, str(second)]
        if got != want:
            return '%s, wanted %s' % (got, want)
    return None


def workers(owner):
    """One worker after the other has the port: by closing its socket, killed, by exit(3) with a connection that its peer keeps."""
    master = Master(owner)
    try:
        with Program(owner, '0') as client:
            first, second, third = (master.worker() for _ in range(3))
            got = [call(client, 'a', master.port), stands_by(second, master.port), stands_by(third, master.port), say(client, 'a', 's')]
            second, third = next_of([second, third], master.port)
            # The old worker has its connection still, while the new one has others.
            got += [call(client, 'b', master.port), say(client, 'a'), say(client, 'b'), say(client, 'a')]
            os.kill(second, signal.SIGKILL)
            third = next_of([third], master.port)[0]
            got += [call(client, 'c', master.port), say(client, 'a')]
            fourth = master.worker()
            client.do('c.send(b"x")')
            fourth = next_of([fourth], master.port)[0]
            got += [call(client, 'd', master.port), say(client, 'a')]
    finally:
        master.over()
    a, b, c, d = map(str, (first, second, third, fourth))
    want = [a, [('os', 'UNCONN')], [('os', 'UNCONN')], a, b, a, b, a, c, a, d, a]
    return None if got == want else '%s, wanted %s' % (got, want)


SERVES = """
import select, socket
s = socket.create_server((%r, %d), reuse_port=True)
%s
print('there', flush=True)
%s
c = s.accept()[0]
c.send(b'%%7d' %% %d)
c.recv(1)
"""
WAITS = {'accept': ('', ''), 'poll': ('p = select.poll(); p.register(s, select.POLLIN)', 'p.poll()'),
         'epoll': ('e = select.epoll(); e.register(s, select.EPOLLIN)', 'e.poll()')}


def waits(owner, how):
    """A second program that listens at the address sleeps in a call when the first one is killed."""
    port = tpmd.free_port()

    def serve(number):
        begin, wait = WAITS[how]
        p = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', SERVES % (SERVER, port, begin, wait, number))
        until_says(p, 'there\n')
        return p
    first = serve(1)
    try:
        second = serve(2)
        try:
            before = stands_by(second.pid, port)
            first.kill()
            if not has_port(second.pid, port):
                return 'it has no port: %s' % look(second.pid)
            with Program(owner, '0') as client:
                who = call(client, 'a', port)
        finally:
            gone(second)
    finally:
        gone(first)
    return None if (before, who) == ([('os', 'UNCONN')], '2') else '%s, then %s answers' % (before, who)


def successor(owner):
    """
    A program that closed its socket and keeps a connection; then another one, and the first again, listen to the port: who calls at once
    is connected.
    """
    port = tpmd.free_port()
    with Program(owner, '1') as one, Program(owner, '1') as two, Program(owner, '0') as client:
        opens = ['l = socket.create_server((%r, %d))' % (SERVER, port)]
        takes = ['c = l.accept()[0]; c.send(b"%7d" % os.getpid()); keep = globals().setdefault("keep", []) + [c]', 'l.close()']
        got = []
        for p, name in (one, 'a'), (two, 'b'), (one, 'c'), (one, 'd'):
            p.do(*opens)
            client.do('%s = socket.create_connection((%r, %d), 60)' % (name, SERVER, port))
            p.do(*takes)
            got.append(client.do('print(int(%s.recv(7, socket.MSG_WAITALL)), flush=True)' % name))
        for p, names in (one, 'acd'), (two, 'b'):
            for n, name in enumerate(names):
                client.do('%s.send(b"hello")' % name)
                got.append(p.do('print(keep[%d].recv(5, socket.MSG_WAITALL).decode(), flush=True)' % n))
    want = [str(p.pid) for p in (one, two, one, one)] + ['hello'] * 4
    return None if got == want else '%s, wanted %s' % (got, want)


# A listener that is not the program's own: its number is of before exec, or comes by a message. It sends in what size of a buffer.
GIVES = """
import os, socket, sys
s = socket.create_server((%r, %d))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 70000)
s.set_inheritable(True)
a, b = socket.socketpair()
if sys.argv[1] == 'message':
    socket.send_fds(a, [b'x'], [s.fileno()])
    s.close()
b.set_inheritable(True)
os.execv('/usr/bin/python3', ['python3', '-c', sys.argv[2], str(b.fileno() if sys.argv[1] == 'message' else s.fileno()), sys.argv[1]])
"""
TAKES = """
import os, select, socket, sys
fd = int(sys.argv[1])
if sys.argv[2] == 'message':
    fd = socket.recv_fds(socket.socket(fileno=fd), 1, 1)[1][0]
s = socket.socket(fileno=fd)
e = select.epoll()
e.register(s, select.EPOLLIN)
e.poll(0)
print('there', flush=True)
e.poll()
c = s.accept()[0]
c.send(b'%7d' % c.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
c.recv(1)
"""


def adopts(owner, how):
    port = tpmd.free_port()
    p = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', GIVES % (SERVER, port), how, TAKES)
    try:
        said = until_says(p, 'there\n')
        if not has_port(p.pid, port):
            return 'it has no port: %s; %s' % (said, look(p.pid)['sockets'])
        with Program(owner, '0') as client:
            got = call(client, 'a', port)
    finally:
        gone(p)
    return None if got == '140000' else got


def main():
    owner = Owner()
    cases.run('workers', workers, owner)
    cases.run('own-listeners', own_listeners, owner)
    cases.run('successor', successor, owner)
    for how in WAITS:
        cases.run('takes-over-' + how, waits, owner, how)
    for how in ('exec', 'message'):
        cases.run('adopts-by-' + how, adopts, owner, how)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
