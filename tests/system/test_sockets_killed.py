#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
A program of TCP sockets is killed at moments that a seed chooses, as caller and as server: the port's owner has all back, its peer
hears that it is gone, and the next program works. So do all peers of connections that nobody accepted, that were closed just before, or
that are very many, though they say nothing themselves. TP_KILLS: so many moments, TP_SEED: which.
"""
import ctypes
import os
import random
import re
import resource
import signal
import subprocess

import sock_wire
import tpmd
from share_owner import LIMIT, Owner, finish, until_says
from sock_ends import SERVER

cases = tpmd.Cases()
PROG = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sock_echo.py')
PYTHON = ['/usr/bin/python3', PROG]
ENDS = {'end', 'ECONNRESET', 'EPIPE'}
PTRACE_SYSCALL, PTRACE_SEIZE, PTRACE_INTERRUPT, TRACESYSGOOD, EVENT_STOP, WALL = 24, 0x4206, 0x4207, 1, 128, 0x40000000


def begin(owner, place, *words):
    return owner.start('--sockets', '--port', place, *PYTHON, *map(str, words), stdin=subprocess.PIPE)


def go(p):
    p.stdin.write('go\n')
    p.stdin.flush()


def killed(p):
    p.kill()
    return finish(p)


def kill_at_call(p, number):
    """
    Kills a program that waits for its first line before or behind one of its calls of the kernel, counted from that line on; None, or
    how many there were until it ended.
    """
    libc, sig, seen = ctypes.CDLL(None, use_errno=True), 0, 0

    def ptrace(request, data=0):
        if libc.ptrace(request, p.pid, None, ctypes.c_void_p(data)) != 0:
            raise OSError(ctypes.get_errno(), 'ptrace')

    ptrace(PTRACE_SEIZE, TRACESYSGOOD)
    ptrace(PTRACE_INTERRUPT)
    os.waitpid(p.pid, WALL)
    go(p)
    while seen < number:
        ptrace(PTRACE_SYSCALL, sig)
        status = os.waitpid(p.pid, WALL)[1]
        if not os.WIFSTOPPED(status):
            return seen
        sig = os.WSTOPSIG(status)
        if sig == signal.SIGTRAP | 0x80:
            seen += 1
        if sig == signal.SIGTRAP | 0x80 or status >> 16 == EVENT_STOP:
            sig = 0
    os.kill(p.pid, signal.SIGKILL)
    return None


def had(owner):
    """What the owner has given away: of the card, of its own, and descriptors."""
    res = {p['port']: {name: r['used'] for name, r in p['resources'].items()} for p in owner.app.ask('show resources')['ports']}
    share = owner.show()
    return res, share['guests'], share['objects'], len(os.listdir('/proc/%d/fd' % owner.app.proc.pid))


def round_trip(owner, addr, port):
    """The next program has its data."""
    p = begin(owner, '0', 'call', addr, port, 20, 0)
    go(p)
    out = finish(p)
    return None if (p.returncode, out) == (0, 'connected\ndone\n') else 'the next program: exit code %s: %s' % (p.returncode, out)


def gone(owner, pid):
    return None if owner.wait(lambda s: all(p['pid'] != pid for p in s['programs'])) else 'the owner still has it: %s' % owner.show()


def caller(owner, port, kill, rnd):
    """The caller is killed; the server goes on with the next one only when it has heard of it."""
    at = rnd.randrange(1, 300)
    server, victim = begin(owner, '1', 'serve', SERVER, port, at if kill is None else 0), None
    try:
        go(server)
        said = until_says(server, 'listens\n')
        victim = begin(owner, '0', 'call', SERVER, port, 100000 if kill is None else 5, 0)
        if kill is None:
            go(victim)
            said += until_says(server, 'at\n')
        elif (ended := kill_at_call(victim, kill)) is not None:
            return ended
        killed(victim)
        why = gone(owner, victim.pid) or round_trip(owner, SERVER, port)
    finally:
        if victim is not None:
            killed(victim)
        said += killed(server)
    over = re.findall(r'^over (\S+)', said, re.M)
    # The killing of the server may come before it said how the last connection, of the next program, ended.
    if not why and (said.count('accepted') - len(over) > 1 or not set(over) <= ENDS):
        why = 'the server said: %s' % said
    return why


def server(owner, port, kill, rnd):
    """The server is killed; its caller hears of it, or gets another one that comes to the same port."""
    victim, peer, other = begin(owner, '1', 'serve', SERVER, port, 0), None, None
    try:
        peer = begin(owner, '0', 'call', SERVER, port, 100000 if kill is None else 5, rnd.randrange(1, 100) if kill is None else 0)
        go(peer)
        said = ''
        if kill is None:
            go(victim)
            said = until_says(peer, 'at\n')
        elif (ended := kill_at_call(victim, kill)) is not None:
            return ended
        killed(victim)
        why = gone(owner, victim.pid)
        if why:
            return why
        other = begin(owner, '1', 'serve', SERVER, port, 0)
        go(other)
        until_says(other, 'listens\n')
        said += finish(peer)
        over = re.findall(r'^over (\S+)', said, re.M)
        if not (over and set(over) <= ENDS or (kill is not None and said.endswith('done\n'))):
            return 'its peer said: %s' % said
        return round_trip(owner, SERVER, port)
    finally:
        for p in (victim, peer, other):
            if p is not None:
                killed(p)


def moment(owner, role, by_call, rnd, start):
    """by_call: killed at a call of the kernel, else in the middle of its messages."""
    kill, port = rnd.randrange(1, 800) if by_call else None, tpmd.free_port()
    why = role(owner, port, kill, rnd)
    while isinstance(why, int):  # it had fewer calls
        kill = rnd.randrange(1, why)
        why = role(owner, port, kill, rnd)
    if not why and not tpmd.wait_until(lambda: had(owner) == start, LIMIT):
        why = 'not given back: %s, at first %s' % (had(owner), start)
    return why and 'call %s, port %d: %s' % (kill, port, why)


def moments(owner, role, by_call, first, n):
    # What the owner makes once stays with it.
    why = role(owner, tpmd.free_port(), None, random.Random(0)) or owner.empty()
    start = had(owner)
    for seed in range(first, first + n):
        why = why or moment(owner, role, by_call, random.Random(seed), start)
        if why:
            return 'seed %d: %s' % (seed, why)
    return None


LISTENS = """
s = socket.create_server((%r, int(sys.argv[1])))
print('listens', flush=True)
c = s.accept()[0]
print('there', flush=True)
print(c.recv(1))
"""
CALLS = """
c = socket.create_connection((%r, int(sys.argv[1])))
print('there', flush=True)
print(c.recv(1))
"""


def linux(owner, near_calls):
    """Linux, which says nothing itself, hears at once that the program at the other end is gone."""
    port = tpmd.free_port()
    calls = sock_wire.python(CALLS % (sock_wire.THERE if near_calls else sock_wire.HERE), port)
    listens = sock_wire.python(LISTENS % (sock_wire.THERE if near_calls else sock_wire.HERE), port)
    first = sock_wire.far(*listens) if near_calls else owner.near(*listens)
    second = None
    try:
        until_says(first, 'listens\n')
        second = owner.near(*calls) if near_calls else sock_wire.far(*calls)
        until_says(first, 'there\n')
        until_says(second, 'there\n')
        near, far = (second, first) if near_calls else (first, second)
        killed(near)
        out = finish(far)
    finally:
        for p in (first, second):
            if p is not None:
                killed(p)
    return None if 'ConnectionResetError' in out else 'Linux: %s' % (out or 'nothing')


# Programs of N connections at a port, sys.argv: those that wait for their ends and say nothing meanwhile, and those that are killed.
BEGIN = """
import collections, resource, select, signal
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
def told(conns):
    print('there', flush=True)
    over = collections.Counter()
    for c in conns:
        try:
            over['data' if c.recv(1) else 'end'] += 1
        except OSError as e:
            over[type(e).__name__] += 1
    print(dict(over))
addr, port, n = %r, int(sys.argv[1]), int(sys.argv[2])
"""
WAITING_CALLER = BEGIN + 'told([socket.create_connection((addr, port)) for _ in range(n)])'
WAITING_SERVER = BEGIN + """
s = socket.create_server((addr, port), backlog=1024)
print('listens', flush=True)
told([s.accept()[0] for _ in range(n)])
"""
# It reads nothing, so that there is no room for what its peer sent; and then it has what came before.
FULL_CALLER = BEGIN + """
s, got = socket.socket(), 0
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
s.connect((addr, port))
print('there', flush=True)
p = select.poll()
p.register(s, select.POLLHUP)
p.poll()
try:
    while piece := len(s.recv(65536)):
        got += piece
    print('end')
except OSError as e:
    print(type(e).__name__, 'behind data' if got else 'without data')
"""
LAZY_SERVER = BEGIN + """
s = socket.create_server((addr, port), backlog=64)
print('listens', flush=True)
c = s.accept()
print('ready', flush=True)
signal.pause()
"""
CLOSING_SERVER = BEGIN + """
s = socket.create_server((addr, port))
print('listens', flush=True)
c = s.accept()[0]
c.setblocking(False)
try:
    while c.send(bytes(65536)):
        pass
except BlockingIOError:
    c.close()
print('ready', flush=True)
signal.pause()
"""
CALLER = BEGIN + """
c = [socket.create_connection((addr, port)) for _ in range(n)]
print('ready', flush=True)
signal.pause()
"""
MANY = 4096 + 400  # more than tp_sockstat lists


def silent(server, caller, server_dies, says):
    """The other one of two, which each function starts, hears that this one was killed."""
    began = [server()]
    try:
        until_says(began[0], 'listens\n')
        began.append(caller())
        victim, other = began if server_dies else began[::-1]
        until_says(other, 'there\n')
        until_says(victim, 'ready\n')
        killed(victim)
        out = finish(other)
    finally:
        for p in began:
            killed(p)
    return None if out == says + '\n' else 'its peer: %s' % (out or 'nothing')


def silent_linux(owner, near, far, n, says):
    """The near one is killed; either may be the server."""
    port = tpmd.free_port()
    serves = near in (LAZY_SERVER, CLOSING_SERVER)
    addr = sock_wire.HERE if serves else sock_wire.THERE
    ends = [lambda: owner.near(*sock_wire.python(near % addr, port, n)), lambda: sock_wire.far(*sock_wire.python(far % addr, port, n))]
    return silent(*(ends if serves else ends[::-1]), serves, says)


def silent_port(owner, n):
    """Nothing is behind the ports but their owner."""
    port = tpmd.free_port()

    def begin_at(place, code):
        return owner.start('--sockets', '--port', place, *sock_wire.python(code % SERVER, port, n))

    return silent(lambda: begin_at('1', LAZY_SERVER), lambda: begin_at('0', WAITING_CALLER), True, str({'ConnectionResetError': n}))


def main(kills=int(os.environ.get('TP_KILLS', '10')), first=int(os.environ.get('TP_SEED', '1'))):
    print('# %d moments from seed %d on' % (kills, first))
    owner = Owner()
    kinds = [(role, by_call) for role in (caller, server) for by_call in (False, True)]
    for i, (role, by_call) in enumerate(kinds):
        n = kills // 4 + (i < kills % 4)
        cases.run('%s-%s' % (role.__name__, 'calls' if by_call else 'data'), moments, owner, role, by_call, first + 1000 * i, n)
    cases.run('not-accepted', silent_port, owner, 9)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    wire = sock_wire.Owner()
    cases.run('linux-called', linux, wire, True)
    cases.run('linux-calls', linux, wire, False)
    cases.run('linux-not-accepted', silent_linux, wire, LAZY_SERVER, WAITING_CALLER, 9, str({'ConnectionResetError': 9}))
    cases.run('linux-closed', silent_linux, wire, CLOSING_SERVER, FULL_CALLER, 1, 'ConnectionResetError behind data')
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < MANY + 1000:
        cases.run('linux-many', lambda: 'skip a program may not have %d descriptors' % (MANY + 1000))
    else:
        cases.run('linux-many', silent_linux, wire, CALLER, WAITING_SERVER, MANY, str({'ConnectionResetError': MANY}))
    cases.run('linux-given-back', wire.empty)
    cases.run('wire-ends', wire.end)
    cases.exit()


if __name__ == '__main__':
    main()
