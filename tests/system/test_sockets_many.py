#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
10,000 connections of one program of plain sockets on a shared port: all are open at once, each has a message each way, whose answers
are read in another order than they come, all end.
"""
import json
import os
import resource
import subprocess

import share_owner
import tpmd
from share_owner import Owner, finish, until_says

cases = tpmd.Cases()
COUNT = 10000
SERVER = '192.0.2.2'
FRAMES = 5120  # for what comes, by TRIPLANE_SOCKETS_MBUFS as it is
PROG = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sock_many.py')


def sockets(pid):
    """How many sockets tp_sockstat knows of a program, and the states of those of the port that it lists."""
    said = subprocess.run([share_owner.STAT, '--json', '--pid', str(pid)], stdout=subprocess.PIPE, text=True, check=True).stdout
    p = json.loads(said)['programs'][0]
    return p['unlisted'] + len(p['sockets']), {s['state'] for s in p['sockets'] if s['whose'] == 'port' and not s['listens']}, p['tcp']


def resident(pid):
    with open('/proc/%d/status' % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith('RssAnon'))


def many(owner):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < COUNT + 1000:
        return 'skip a program may not have %d descriptors' % (COUNT + 1000)
    at = [SERVER, str(tpmd.free_port()), str(COUNT)]
    server = owner.start('--sockets', '--port', '1', '/usr/bin/python3', PROG, 'server', *at, stdin=subprocess.PIPE)
    client = None
    try:
        said = until_says(server, 'listens\n')
        before = resident(server.pid)
        client = owner.start('--sockets', '--port', '0', '/usr/bin/python3', PROG, 'client', *at, stdin=subprocess.PIPE)
        out = until_says(client, 'connected %d\n' % COUNT)
        said += until_says(server, 'open %d\n' % COUNT)
        counts = sockets(server.pid), sockets(client.pid)
        print('# a connection of the server, idle: %d octets of its memory' % ((resident(server.pid) - before) * 1024 // COUNT))
        client.stdin.write('go\n')
        client.stdin.flush()
        out += until_says(client, 'wrong answers: ') + until_says(client, '\n')
        tcp = sockets(client.pid)[2]
        client.stdin.write('go\n')
        client.stdin.flush()
        out += finish(client)
        server.stdin.close()
        server.stdin = None
        said += finish(server)
    finally:
        for p in (server, client):
            if p is not None:
                p.kill()
    # There are fewer frames than answers, and the one that is read first comes last: the others lie in copies.
    if tcp['rx_copied'] < COUNT - FRAMES or tcp['rx_scarce'] != 0:
        return 'of TCP: %s' % tcp
    if [c[:2] for c in counts] != [(COUNT + 1, {'ESTAB'}), (COUNT, {'ESTAB'})]:
        return 'sockets: %s' % (counts,)
    if (client.returncode, server.returncode) != (0, 0) or not out.endswith('wrong answers: 0\nended: %d\n' % COUNT) or \
            not said.endswith('answers left: 0\n'):
        return 'exit codes %s, %s: %s; %s' % (client.returncode, server.returncode, out[-400:], said[-400:])
    return None


def main():
    owner = Owner()
    cases.run('connections', many, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
