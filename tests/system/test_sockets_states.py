#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""States of TCP of programs on a port: what 'show connections' says of an end is what ss(8) says of Linux's, where Linux has that end."""
import subprocess

import tpmd
from share_owner import start
from sock_wire import FAR, HERE, THERE, Owner, inside, ip
from test_sockstat import DOES, Told

cases = tpmd.Cases()
NOBODY = '192.0.2.77'
PYTHON = ['/usr/bin/python3', '-c', DOES]


class Near(Told):
    def __init__(self, owner):
        self.owner, self.addr = owner, HERE
        self.p = owner.near(*PYTHON, stdin=subprocess.PIPE)

    def state(self, local, remote):
        return next((c['state'] for c in self.owner.app.ask('show connections')['connections']
                     if c['kind'] == 'tcp' and (c['local'], c.get('remote')) == (local, remote)), None)


class Linux(Told):
    def __init__(self):
        self.addr = THERE
        self.p = start(*inside(FAR, *PYTHON), stdin=subprocess.PIPE)

    def state(self, local, remote):
        out = subprocess.run(inside(FAR, 'ss', '-tanH'), capture_output=True, text=True, check=True, timeout=60).stdout
        return next((f[0] for f in map(str.split, out.splitlines()) if f[3] == local and f[4] == (remote or '0.0.0.0:*')), None)


def mute(on):
    """Linux can answer no more, and again."""
    ip('-n', FAR, 'route', 'add' if on else 'del', 'blackhole', HERE + '/32')


def life(caller, called):
    """States of both ends from the first word to the last; what is waited for has the names of RFC 9293."""
    port, seen = tpmd.free_port(), {}
    at = '%s:%d' % (called.addr, port)

    def note(what, end, local, remote, state):
        tpmd.wait_until(lambda: end.state(local, remote) == state, 60)
        seen[what] = end.state(local, remote)

    # Who does not answer ARP either is given up after some seconds: an end that is looked at later calls anew.
    for _ in range(20):
        caller.do('n = socket.socket()', 'n.setblocking(False)', 'n.connect((%r, 9))' % NOBODY)
        name = caller.do('print("%s:%d" % n.getsockname(), flush=True)')
        seen['nobody answers'] = caller.state(name, NOBODY + ':9')
        caller.do('n.close()')
        if seen['nobody answers'] == 'SYN-SENT':
            break
    called.do('l = socket.create_server((%r, %d))' % (called.addr, port))
    note('listens', called, at, None, 'LISTEN')
    caller.do('s = socket.create_connection((%r, %d))' % (called.addr, port))
    called.do('s = l.accept()[0]')
    name = caller.do('print("%s:%d" % s.getsockname(), flush=True)')
    note('called', caller, name, at, 'ESTAB')
    note('was called', called, at, name, 'ESTAB')
    mute(True)
    caller.do('s.shutdown(socket.SHUT_WR)')
    note('said its last, unheard', caller, name, at, 'FIN-WAIT-1')
    mute(False)
    note('said its last', caller, name, at, 'FIN-WAIT-2')
    note('heard the last', called, at, name, 'CLOSE-WAIT')
    mute(True)
    called.do('s.shutdown(socket.SHUT_WR)')
    note('said its last too, unheard', called, at, name, 'LAST-ACK')
    mute(False)
    note('both said their last', caller, name, at, 'TIME-WAIT')
    tpmd.wait_until(lambda: called.state(at, name) in (None, 'UNCONN'), 60)
    over = called.state(at, name)
    caller.do('s.close()')
    called.do('s.close()', 'l.close()')
    return seen, over


def states(owner):
    with Near(owner) as near, Linux() as linux:
        ours, over = life(near, linux)
        theirs, ours_over = life(linux, near)
    # An end is the port's in one of them, and Linux's in the other.
    if over is not None or ours_over != 'UNCONN':
        return 'after all: Linux %s, the port %s' % (over, ours_over)
    return None if ours == theirs and len(set(ours.values())) == 8 else 'the port calls: %s; Linux calls: %s' % (ours, theirs)


def main():
    owner = Owner()
    cases.run('states', states, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.end)
    cases.exit()


if __name__ == '__main__':
    main()
