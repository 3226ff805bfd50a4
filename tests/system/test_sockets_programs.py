#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Other people's programs of TCP sockets, as Debian ships them, on two shared ports with a cable between them."""
import json
import os
import re
import shutil
import signal
import tempfile

import tpmd
from share_owner import LIMIT, Owner, finish, has_socket, until_says

cases = tpmd.Cases()
SERVER = '192.0.2.2'


def server(owner, *cmd, **kw):
    return owner.start('--sockets', '--port', '1', *cmd, **kw)


def client(owner, *cmd, **kw):
    p = owner.start('--sockets', '--port', '0', *cmd, **kw)
    out = finish(p)
    return p.returncode, out


def over(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    return finish(p)


def on_port(owner, n, pid):
    """The program has a queue pair, and so the port: the kernel has none of its addresses."""
    return owner.wait(lambda s: sum(p['qps'] for p in s['programs'] if p['pid'] == pid) == n, LIMIT)


def http(owner):
    """curl fetches a file from Python's server, and from nowhere where there is none."""
    with tempfile.TemporaryDirectory() as d:
        data = os.urandom(2000000)
        with open(os.path.join(d, 'file'), 'wb') as f:
            f.write(data)
        port = str(tpmd.free_port())
        web = server(owner, '/usr/bin/python3', '-u', '-m', 'http.server', '-b', SERVER, '-d', d, port)
        try:
            said = until_says(web, 'Serving')
            got = os.path.join(d, 'got')
            for n in range(3):
                rc, out = client(owner, 'curl', '-sS', '-m', str(LIMIT), '-o', got, 'http://%s:%s/file' % (SERVER, port))
                if rc != 0:
                    return 'exit code %d: %s; %s' % (rc, out, said)
                with open(got, 'rb') as f:
                    if f.read() != data:
                        return 'another file, time %d' % n
            rc, out = client(owner, 'curl', '-sS', '-m', str(LIMIT), '-o', got, '-w', '%{http_code} %{local_ip} %{remote_ip}',
                             'http://%s:%s/nothing' % (SERVER, port))
            return None if out == '404 192.0.2.1 192.0.2.2' else out
        finally:
            over(web)


def iperf(owner, *args):
    port = str(tpmd.free_port())
    s = server(owner, 'iperf3', '-s', '-1', '-B', SERVER, '-p', port)
    try:
        if not on_port(owner, 1, s.pid) or not has_socket(s.pid, port, listens=True):
            return 'no queue pair: %s' % owner.show()
        rc, out = client(owner, 'iperf3', '-c', SERVER, '-p', port, '-J', *args)
        said = finish(s)
    finally:
        s.kill()
    if rc != 0 or s.returncode != 0:
        return 'exit codes %d and %d: %s; %s' % (rc, s.returncode, out[-400:], said[-400:])
    end = json.loads(out)['end']
    sent, received = (end[k]['bytes'] for k in ('sum_sent', 'sum_received'))
    return None if sent >= received > 20e6 else '%d octets sent, %d received' % (sent, received)


def whole(rc, out):
    """sockperf's client has all its messages back, each once, and in their order."""
    return rc == 0 and re.search(r'dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0', out) is not None


def sockperf_client(run, least=5):
    """What a client says. It ends by the clock, and a message that has no answer then counts as dropped: where a server had no CPU for a
    while, or no message came at all, once more."""
    for _ in range(8):
        rc, out = run()
        got = re.search(r'SentMessages=\d+; ReceivedMessages=(\d+)', out)
        if whole(rc, out) and got and int(got[1]) >= least:
            break
    return rc, out


def sockperf(owner):
    """Each message comes back once, by epoll and by blocking calls."""
    port = str(tpmd.free_port())
    with tempfile.NamedTemporaryFile('w') as f:
        f.write('T:%s:%s\n' % (SERVER, port))
        f.flush()
        s = server(owner, 'sockperf', 'sr', '-f', f.name, '-F', 'epoll')
        try:
            until_says(s, 'Warmup stage')
            if not on_port(owner, 1, s.pid):
                return 'no queue pair: %s' % owner.show()
            rc, out = sockperf_client(lambda: client(owner, 'sockperf', 'ping-pong', '--tcp', '-i', SERVER, '-p', port, '-t', '1', '-m', '100'))
        finally:
            over(s, signal.SIGINT)
    return None if whole(rc, out) else 'exit code %d: %s' % (rc, out[-600:])


def redis(owner):
    """A server of one thread and epoll; a client of 20 connections, also with 16 requests under way each."""
    port = str(tpmd.free_port())
    s = server(owner, 'redis-server', '--bind', SERVER, '--port', port, '--save', '', '--protected-mode', 'no')
    try:
        until_says(s, 'Ready to accept')
        at = ['-h', SERVER, '-p', port]
        for args in (['-n', '2000'], ['-n', '20000', '-P', '16']):
            rc, out = client(owner, 'redis-benchmark', *at, '-c', '20', '-t', 'set,get,lpush,lrange_100', '--csv', *args)
            if rc != 0 or len(re.findall(r'^"(?:SET|GET|LPUSH|LRANGE)[^"]*","', out, re.M)) < 3:
                return 'exit code %d: %s' % (rc, out)
        rc, out = client(owner, 'redis-cli', *at, 'set', 'key', 'x' * 50000)
        rc2, out2 = client(owner, 'redis-cli', *at, 'get', 'key')
        if (rc, rc2, out, out2) != (0, 0, 'OK\n', 'x' * 50000 + '\n'):
            return 'a large value: %d %d %s %s' % (rc, rc2, out, out2[:80])
        return None
    finally:
        over(s)


def socat(owner):
    """A file one way and its end, by select."""
    port = str(tpmd.free_port())
    with tempfile.TemporaryDirectory() as d:
        data, got = os.urandom(1000000), os.path.join(d, 'got')
        with open(os.path.join(d, 'file'), 'wb') as f:
            f.write(data)
        s = server(owner, 'socat', '-u', 'TCP-LISTEN:%s,bind=%s' % (port, SERVER), 'CREATE:' + got)
        try:
            if not on_port(owner, 1, s.pid) or not has_socket(s.pid, port, listens=True):
                return 'no queue pair: %s' % owner.show()
            rc, out = client(owner, 'socat', '-u', 'FILE:%s/file' % d, 'TCP:%s:%s' % (SERVER, port))
            said = finish(s)
        finally:
            s.kill()
        with open(got, 'rb') as f:
            same = f.read() == data
    return None if same and rc == 0 and s.returncode == 0 else 'exit codes %d and %d: %s %s' % (rc, s.returncode, out, said)


CHILDREN = """
import socket, subprocess, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
f = s.makefile('rwb')
for n in range(3):
    assert subprocess.run(['true'], close_fds=True).returncode == 0
    try:
        subprocess.run(['/no/such/program'])
    except FileNotFoundError:
        pass
    assert subprocess.Popen(['cat'], stdin=subprocess.PIPE).communicate(b'') == (None, None)
    f.write(b'GET /%d HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' % n)
    f.flush()
    line = f.readline()
    length = 0
    while True:
        header = f.readline().strip().lower()
        if header.startswith(b'content-length:'):
            length = int(header.split()[1])
        if not header:
            break
    f.read(length)
    print(line.split()[1].decode())
"""


def children(owner):
    """A program with a connection starts others, which close what they were not given: the connection stays."""
    port = str(tpmd.free_port())
    with tempfile.TemporaryDirectory() as d:
        for n in range(3):
            with open(os.path.join(d, str(n)), 'wb') as f:
                f.write(b'one')
        web = server(owner, '/usr/bin/python3', '-u', '-c',
                     'import http.server as h; h.test(h.SimpleHTTPRequestHandler, h.ThreadingHTTPServer, protocol="HTTP/1.1", '
                     'bind="%s", port=%s)' % (SERVER, port), cwd=d)
        try:
            until_says(web, 'Serving')
            rc, out = client(owner, '/usr/bin/python3', '-c', CHILDREN, SERVER, port)
        finally:
            said = over(web)
    return None if (rc, out) == (0, '200\n200\n200\n') else 'exit code %d: %s; %s' % (rc, out, said[-300:])


def has(program, fn, *args):
    return fn(*args) if shutil.which(program) else 'skip %s is not installed' % program


def main():
    owner = Owner()
    cases.run('curl', has, 'curl', http, owner)
    cases.run('children', children, owner)
    cases.run('iperf3', iperf, owner, '-n', '40M')
    cases.run('iperf3-back', iperf, owner, '-n', '40M', '-R', '-P', '2')
    cases.run('sockperf', sockperf, owner)
    cases.run('redis', has, 'redis-server', redis, owner)
    cases.run('socat', has, 'socat', socat, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
