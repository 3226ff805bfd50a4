#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of plain sockets over the queues of shared ports, and the same programs on the kernel: their calls return the same."""
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
SAME = ('data', 'nonblock', 'flags', 'options', 'ends', 'refused', 'signals', 'epoll', 'select', 'fds')


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
    """A call that waits uses its CPU for the time that it looks for frames itself, and then sleeps."""
    def used(p):
        with open('/proc/%d/stat' % p.pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    p = accepts(owner, TRIPLANE_SOCKETS_SPIN='1000000')
    try:
        begun = used(p)
        if not tpmd.wait_until(lambda: used(p) - begun >= 0.5, LIMIT):
            return 'it looks for %.2f s of CPU' % (used(p) - begun)
    finally:
        gone(p)
    p = accepts(owner, TRIPLANE_SOCKETS_SPIN='0')
    try:
        begun = used(p)
        time.sleep(4)  # eight times
        return None if used(p) - begun < 0.5 else 'without looking: %.2f s of CPU' % (used(p) - begun)
    finally:
        gone(p)


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


def fork(owner):
    """A child has the kernel's half of what its parent had, and sockets of its own."""
    rc, client, server, code = ends(owner, 'fork')
    want = ['listens', 'child: recv: ENOTCONN', 'child: poll: 16', 'child: its own: 0', 'parent: recv: 1', 'child ended: 0']
    return None if (rc, code) == (0, 0) and server == want else 'exit codes %d and %d: %s; %s' % (rc, code, server, client)


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
    cases.run('fork', fork, owner)
    cases.run('both-halves', both_halves, owner)
    for name, text, engine in RULES:
        cases.run('rules-' + name, rules, owner, text, engine)
    cases.run('costs-nothing', costs_nothing, owner)
    cases.run('idle', idle, owner)
    cases.run('spin', spin, owner)
    cases.run('mbufs', mbufs, owner)
    cases.run('killed', killed, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
