#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of plain sockets over the queues of shared ports, and the same programs on the kernel: their calls return the same."""
import difflib
import os
import re
import signal
import subprocess
import tempfile
import time

import share_owner
import tpmd
from share_owner import LIMIT, RUN, Owner, finish, until_says

cases = tpmd.Cases()
PROG = os.path.join(os.environ['TP_BUILD'], 'tests/system/sock_prog')
SERVER = '192.0.2.2'
SAME = ('data', 'nonblock', 'flags', 'options', 'ends', 'refused', 'signals', 'epoll', 'select', 'fds')


def ends(owner, case, addr=SERVER, env=None):
    """What the server and the client say, on the ports of an owner or, without one, on the kernel."""
    port = str(tpmd.free_port())
    begin = (lambda n, *cmd: owner.start('--sockets', '--port', n, *cmd, env={**os.environ, **(env or {})})) if owner else \
        (lambda n, *cmd: share_owner.start(*cmd))
    server = begin('1', PROG, 'serve', addr, port, case)
    try:
        said = until_says(server, 'listens\n')
        client = begin('0', PROG, 'call', addr, port, case)
        out = finish(client)
        if client.returncode != 0:
            server.kill()
    except BaseException:
        server.kill()
        raise
    return client.returncode, out.splitlines(), (said + finish(server)).splitlines(), server.returncode


def same(owner, case):
    kernel, ours = ends(None, case, '127.0.0.1'), ends(owner, case)
    if kernel[0] != 0 or kernel[3] != 0:
        return 'the kernel: %s' % (kernel,)
    for who, k, o in (('client', kernel[1], ours[1]), ('server', kernel[2], ours[2])):
        if k != o:
            return '%s: %s' % (who, '; '.join(difflib.unified_diff(k, o, 'kernel', 'port', lineterm='', n=0)))
    return None if ours == kernel else 'exit codes %d and %d' % (ours[0], ours[3])


def names(owner):
    """The addresses are the ports', which the kernel knows nothing of."""
    rc, client, server, _ = ends(owner, 'names')
    want = (['getpeername: 0', 'its length: 16', 'peer: 192.0.2.2, its port', 'getsockname: 0', 'here: 192.0.2.1'],
            ['listens', 'getpeername: 0', 'its length: 16', 'peer: 192.0.2.1', 'getsockname: 0', 'here: 192.0.2.2, the port'])
    return None if rc == 0 and (client, server) == want else 'exit code %d: %s, %s' % (rc, client, server)


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


def rule(owner, text, role, engine):
    """Who has the server's port is seen by the queue pairs that programs have."""
    with tempfile.NamedTemporaryFile('w') as f:
        f.write(text)
        f.flush()
        before = owner.show()['connected']
        rc, out, said, _ = ends(owner, 'data', '127.0.0.1' if role == 'os' else SERVER, {'TRIPLANE_SOCKETS_RULES': f.name})
        used = owner.show()['connected'] - before
    return None if rc == 0 and (used > 2) == engine else 'exit code %d, %d connections: %s %s' % (rc, used, out, said)


def no_owner():
    """One line, and the program runs on the kernel."""
    env = {**os.environ, 'LD_PRELOAD': os.path.join(os.environ['TP_BUILD'], 'preload/sockets/libtriplane-sockets.so'),
           'TRIPLANE_SHARE': '/nowhere/share'}
    port = str(tpmd.free_port())
    server = share_owner.start(PROG, 'serve', '0.0.0.0', port, 'data', env=env)
    said = until_says(server, 'listens\n')
    client = share_owner.start(PROG, 'call', '127.0.0.1', port, 'data')
    out, said = finish(client), said + finish(server)
    want = 'triplane-sockets: /nowhere/share, port 0: no process shares a port there; sockets are the operating system\'s\n'
    return None if client.returncode == 0 and want in said else '%s; %s' % (out, said)


def main():
    cases.run('no-owner', no_owner)
    owner = Owner()
    cases.run('names', names, owner)
    for case in SAME:
        cases.run('same-' + case, same, owner, case)
    cases.run('killed', killed, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
