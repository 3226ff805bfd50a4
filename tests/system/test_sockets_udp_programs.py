#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Other people's programs of datagrams, as Debian ships them, on two shared ports with a cable between them."""
import json
import os
import re
import signal
import tempfile

import tpmd
from share_owner import LIMIT, Owner, finish, has_socket, until_says
from test_sockets_programs import sockperf_client, whole

cases = tpmd.Cases()
SERVER, CLIENT = '192.0.2.2', '192.0.2.1'
GROUP = '239.9.9.9'


def server(owner, *cmd, **kw):
    return owner.start('--sockets', '--port', '1', *cmd, **kw)


def client(owner, *cmd, **kw):
    p = owner.start('--sockets', '--port', '0', *cmd, **kw)
    out = finish(p)
    return p.returncode, out


def on_port(owner, pid):
    return owner.wait(lambda s: any(p['qps'] for p in s['programs'] if p['pid'] == pid), LIMIT)


def sockperf(owner, mode, at, at_server=(), at_client=()):
    """Each message comes back once."""
    at = [*at, '-p', str(tpmd.free_port())]
    s = server(owner, 'sockperf', 'sr', *at, *at_server)
    try:
        said = until_says(s, 'Warmup stage')
        if not on_port(owner, s.pid):
            return 'no queue pair: %s; %s' % (said, owner.show())
        rc, out = sockperf_client(lambda: client(owner, 'sockperf', mode, *at, *at_client, '-t', '1', '-m', '100'))
    finally:
        s.send_signal(signal.SIGINT)
        said = finish(s)
    got = re.search(r'SentMessages=\d+; ReceivedMessages=(\d+)', out)
    if not got or int(got[1]) < 5 or not whole(rc, out):
        return 'exit code %d: %s; %s' % (rc, out[-600:], said[-300:])
    return None


def feed(owner):
    """A file of two addresses, one of them a group: the server waits for both by epoll."""
    port = tpmd.free_port()
    with tempfile.NamedTemporaryFile('w') as f:
        f.write('U:%s:%d\nU:%s:%d:%s\n' % (SERVER, port, GROUP, port + 1, SERVER))
        f.flush()
        s = server(owner, 'sockperf', 'sr', '-f', f.name, '-F', 'epoll')
        try:
            said = until_says(s, 'Warmup stage')
            rc, out = sockperf_client(lambda: client(owner, 'sockperf', 'pp', '-i', SERVER, '-p', str(port), '-t', '1'))
        finally:
            s.send_signal(signal.SIGINT)
            said += finish(s)
    return None if whole(rc, out) else 'exit code %d: %s; %s' % (rc, out[-400:], said[-300:])


def iperf(owner, *args):
    """What is sent at a rate arrives but for what is counted as lost; the control connection is one of TCP. Who has no CPU for a while finds
    all of it in its socket's buffer."""
    port = str(tpmd.free_port())
    s = server(owner, 'iperf3', '-s', '-1', '-B', SERVER, '-p', port)
    try:
        if not on_port(owner, s.pid) or not has_socket(s.pid, port, listens=True):
            return 'no queue pair: %s' % owner.show()
        rc, out = client(owner, 'iperf3', '-c', SERVER, '-p', port, '-u', '-b', '20M', '-n', '2M', '-w', '4M', '-J', *args)
        said = finish(s)
    finally:
        s.kill()
    if rc != 0 or s.returncode != 0:
        return 'exit codes %d and %d: %s; %s' % (rc, s.returncode, out[-400:], said[-400:])
    end = json.loads(out)['end']['sum']
    ok = end['packets'] >= 1400 and end['lost_packets'] < end['packets'] / 2
    return None if ok else 'of %d datagrams %d were lost' % (end['packets'], end['lost_packets'])


def socat(owner):
    """A file in datagrams of 1000 octets."""
    port = str(tpmd.free_port())
    with tempfile.TemporaryDirectory() as d:
        data, got = os.urandom(100000), os.path.join(d, 'got')
        with open(os.path.join(d, 'file'), 'wb') as f:
            f.write(data)
        s = server(owner, 'socat', '-u', 'UDP-RECV:%s,bind=%s' % (port, SERVER), 'CREATE:' + got)
        try:
            if not on_port(owner, s.pid) or not has_socket(s.pid, port):
                return 'no queue pair: %s' % owner.show()
            rc, out = client(owner, 'socat', '-u', '-b', '1000', 'FILE:%s/file' % d, 'UDP-SENDTO:%s:%s' % (SERVER, port))
            whole = tpmd.wait_until(lambda: os.path.getsize(got) >= len(data), LIMIT)
        finally:
            s.kill()
            said = finish(s)
        with open(got, 'rb') as f:
            if rc != 0 or not whole or f.read() != data:
                return 'exit code %d, %d octets: %s %s' % (rc, os.path.getsize(got), out, said)
    return None


def main():
    owner = Owner()
    group = ['-i', GROUP]
    cases.run('sockperf', sockperf, owner, 'ping-pong', ['-i', SERVER])
    cases.run('sockperf-load', sockperf, owner, 'under-load', ['-i', SERVER], (), ('--mps', '500', '--reply-every', '10'))
    cases.run('sockperf-group', sockperf, owner, 'ping-pong', group, ('--mc-rx-if', SERVER, '--mc-tx-if', SERVER),
              ('--mc-rx-if', CLIENT, '--mc-tx-if', CLIENT))
    cases.run('sockperf-feed', feed, owner)
    cases.run('iperf3', iperf, owner)
    cases.run('iperf3-back', iperf, owner, '-R')
    cases.run('socat', socat, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
