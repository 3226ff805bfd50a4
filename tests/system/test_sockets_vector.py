#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Interrupt vectors of programs' own: the card wakes a program by itself, while the owner's interrupt thread stands still; each program
that wants one has one as long as there are some, and others are woken by the owner."""
import contextlib
import errno
import os
import socket
import struct
import subprocess

import share_owner
import test_sockets
import tpmd
from share_owner import DEV, OP, Owner, hello, message, message_size, until_says
from sock_ends import SERVER
from test_sockets import ECHO, PINGS, WAITS, gone

cases = tpmd.Cases()
VECTORS = 32
OWN = 0x7fffffff  # in place of a vector's number


class Halted(test_sockets.Halted):
    """A thread of a program, by its name."""

    def __init__(self, pid, name):
        super().__init__(pid, lambda task: open('/proc/%d/task/%d/comm' % (pid, task)).read().strip() == name)


@contextlib.contextmanager
def pings(owner, wait):
    """A program that waits for a line, then sends and receives; no call of it or of its peer looks for frames before it sleeps."""
    port = str(tpmd.free_port())
    env = {**os.environ, 'TRIPLANE_SOCKETS_SPIN': '0'}
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-c', ECHO % (SERVER, port), env=env)
    try:
        until_says(server, 'there\n')
        client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', '-c', PINGS % (SERVER, port, *WAITS[wait]), env=env,
                             stdin=subprocess.PIPE)
        try:
            until_says(client, 'there\n')
            yield client
        finally:
            gone(client)
    finally:
        gone(server)


def go(client):
    client.stdin.write('go\n')
    client.stdin.flush()
    said = until_says(client, 'done\n')
    return None if said == 'done\n' else said or 'no answer comes'


def woken(owner, wait):
    """By the card alone."""
    with pings(owner, wait) as client:
        halted = Halted(owner.app.proc.pid, 'eal-intr-thread')
        with halted:
            return go(client) if len(halted.tasks) == 1 else 'threads: %s' % halted.tasks


class Guest:
    """A connection that speaks for itself."""

    def __init__(self, owner, size):
        self.size = size
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(share_owner.LIMIT)
        self.s.connect(owner.socket)
        self.s.send(hello(size))
        self.answer()
        if self.ask('OPEN', DEV[0].encode()) != 0:
            raise RuntimeError('the port is not given')

    def answer(self):
        data, fds, _, _ = socket.recv_fds(self.s, 4096, 16)
        for fd in fds:
            os.close(fd)
        return struct.unpack_from('<IIi', data)[2]

    def ask(self, op, body=b''):
        """What it is answered with: 0 or an errno."""
        self.s.send(message(OP[op], 0, body, self.size))
        return self.answer()

    def close(self):
        self.s.close()


def refused(owner, size):
    """Queues for a vector before there is one, or with a channel; a second vector."""
    g = Guest(owner, size)
    try:
        cq = struct.pack('<iIi', 16, 0, OWN)
        got = [g.ask('CREATE_CQ', cq), g.ask('OWN_VECTOR'), g.ask('OWN_VECTOR'), g.ask('CREATE_CQ', struct.pack('<iIi', 16, 1, OWN)),
               g.ask('CREATE_CQ', cq)]
    finally:
        g.close()
    want = [errno.EINVAL, 0, errno.EBUSY, errno.EINVAL, 0]
    return None if got == want else '%s, wanted %s' % (got, want)


def scarce(owner, size):
    """All are taken: the next one is refused, programs are woken by the owner, and with the others gone by the card again."""
    why = owner.empty()
    if why:
        return why
    eqs = owner.app.ask('show device 0')['ports'][0]['eqs']
    guests = [Guest(owner, size) for _ in range(VECTORS + 1)]
    try:
        got = [g.ask('OWN_VECTOR') for g in guests]
        most = owner.app.ask('show device 0')['ports'][0]['eqs']
        with pings(owner, 'recv') as client:
            why = go(client)
    finally:
        for g in guests:
            g.close()
    if got != [0] * VECTORS + [errno.ENOSPC] or most != eqs + VECTORS:
        return '%s, event queues %d and %d' % (got, eqs, most)
    if not tpmd.wait_until(lambda: owner.app.ask('show device 0')['ports'][0]['eqs'] == eqs):
        return 'event queues are left: %s' % owner.app.ask('show device 0')
    return why or woken(owner, 'epoll')


def main():
    owner = Owner()
    size = message_size(owner.socket)
    for wait in WAITS:
        cases.run('woken-' + wait, woken, owner, wait)
    cases.run('refused', refused, owner, size)
    cases.run('scarce', scarce, owner, size)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
