#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two programs of TCP sockets on one port of a card at once: each has its own data, and tp_sockstat tells what each of them did."""
import json
import os
import tempfile

import tpmd
from share_owner import LIMIT, Owner, finish, has_socket, until_says
from sock_ends import SERVER
from test_sockstat import Program, look

cases = tpmd.Cases()
ROUNDS = 10


def octets(pid):
    """Received and sent by the port; by the kernel. Of all sockets that the program has or had."""
    p = look(pid)
    all_counts = [s['counts'] for s in p['sockets']] + [p['closed']]
    return tuple(sum(c[n] for c in all_counts) for n in ('rx_bytes', 'tx_bytes')), \
        sum(c['os_rx_bytes'] + c['os_tx_bytes'] for c in all_counts)


def came(server):
    """Octets that it has received by the port; None: it has ended, and its counters with it."""
    try:
        return octets(server.pid)[0][0]
    except RuntimeError:
        server.wait(LIMIT)
        return None


def shares(owner, *pids):
    """Each of them has one queue pair of the same port."""
    got = [p for p in owner.show()['programs'] if p['pid'] in pids and p['qps'] == 1]
    return None if len(got) == len(pids) and len({p['device'] for p in got}) == 1 else 'not each has the port: %s' % owner.show()


def web_server(owner, d, port):
    return owner.start('--sockets', '--port', '1', '/usr/bin/python3', '-u', '-c',
                       'import http.server as h; h.test(h.SimpleHTTPRequestHandler, h.ThreadingHTTPServer, protocol="HTTP/1.1", '
                       'bind="%s", port=%d)' % (SERVER, port), cwd=d)


def in_turn(owner):
    """An echo of socat's and a server of HTTP of Python's, each with a client, all four with connections at once that speak in turn."""
    echo_at, web_at = tpmd.free_port(), tpmd.free_port()
    with tempfile.TemporaryDirectory() as d:
        for n in range(ROUNDS):
            with open(os.path.join(d, str(n)), 'wb') as f:
                f.write(os.urandom(10000 + 7777 * n))
        echo = owner.start('--sockets', '--port', '1', 'socat', 'TCP-LISTEN:%d,bind=%s' % (echo_at, SERVER), 'PIPE')
        web = web_server(owner, d, web_at)
        try:
            until_says(web, 'Serving')
            if not has_socket(echo.pid, echo_at, listens=True):
                return 'socat does not listen'
            with Program(owner, '0') as one, Program(owner, '0') as two:
                one.do('import hashlib', 's = socket.create_connection((%r, %d))' % (SERVER, echo_at))
                two.do('import hashlib', 's = socket.create_connection((%r, %d))' % (SERVER, web_at), 'f = s.makefile("rb")',
                       'asked = came = 0')
                why = shares(owner, echo.pid, web.pid) or shares(owner, one.pid, two.pid)
                sent = 0
                for n in range(ROUNDS):
                    if why:
                        return why
                    size = 1 + 3001 * n
                    sent += size
                    right = one.do('d = os.urandom(%d); s.sendall(d); print(s.recv(%d, socket.MSG_WAITALL) == d, flush=True)' % (size, size))
                    if right != 'True':
                        why = 'the echo, turn %d: %s' % (n, right)
                    why = why or fetched(two, d, n)
                asked, came = map(int, two.do('print(asked, came, flush=True)').split())
                got = [octets(p.pid) for p in (echo, one, web, two)]
        finally:
            for p in (echo, web):
                p.kill()
                finish(p)
    want = [((sent, sent), 0)] * 2 + [((asked, came), 0), ((came, asked), 0)]
    return why or (None if got == want else 'octets received and sent, and by the kernel: %s, wanted %s' % (got, want))


def fetched(p, d, n):
    with open(os.path.join(d, str(n)), 'rb') as f:
        data = f.read()
    said = p.do('s.sendall(b"GET /%d HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); asked += %d; head = [f.readline()]' %
                (n, len('GET /%d HTTP/1.1\r\nHost: x\r\n\r\n' % n)),
                'exec("while head[-1].strip(): head.append(f.readline())")',
                'body = f.read(int([h for h in head if h.lower().startswith(b"content-length")][0].split()[1]))',
                'came += sum(map(len, head)) + len(body)', 'print(body == open(%r, "rb").read(), len(body), flush=True)' % os.path.join(d, str(n)))
    return None if said == 'True %d' % len(data) else 'a file, turn %d: %s' % (n, said)


def at_once(owner, d, data):
    """iperf3 sends while curl fetches a file, each from its server. true: octets of both moved meanwhile; else what is wrong."""
    bulk_at, web_at = tpmd.free_port(), tpmd.free_port()
    bulk = owner.start('--sockets', '--port', '1', 'iperf3', '-s', '-1', '-B', SERVER, '-p', str(bulk_at))
    web = web_server(owner, d, web_at)
    runs = []
    try:
        until_says(web, 'Serving')
        if not has_socket(bulk.pid, bulk_at, listens=True):
            return 'iperf3 does not listen'
        runs.append(owner.start('--sockets', '--port', '0', 'iperf3', '-c', SERVER, '-p', str(bulk_at), '-J', '-n', '2G'))
        if not tpmd.wait_until(lambda: came(bulk) is None or came(bulk) > 100000, LIMIT):
            return 'iperf3 sends nothing'
        got = os.path.join(d, 'got')
        runs.append(owner.start('--sockets', '--port', '0', 'curl', '-sS', '-m', str(LIMIT), '-o', got, '-w',
                                '%{size_header} %{size_download} %{size_request}', 'http://%s:%d/file' % (SERVER, web_at)))
        tpmd.wait_until(lambda: octets(web.pid)[0][1] != 0, LIMIT)
        before = came(bulk)
        out = finish(runs[1])
        seen = octets(web.pid)
        after = came(bulk)
        report = finish(runs[0])
        said = finish(bulk)
    finally:
        for p in [bulk, web, *runs]:
            p.kill()
            finish(p)
    with open(got, 'rb') as f:
        if f.read() != data:
            return 'another file: %s' % out
    header, body, request = map(int, out.split())
    if seen != ((request, header + body), 0):
        return 'the web server: %s, curl: %s' % (seen, out)
    if runs[0].returncode != 0 or bulk.returncode != 0:
        return 'iperf3: %s %s' % (report[-300:], said[-300:])
    end = json.loads(report)['end']
    if end['sum_sent']['bytes'] < end['sum_received']['bytes'] or end['sum_received']['bytes'] < 1e9:
        return 'iperf3: %s' % end
    return None not in (before, after) and after > before


def at_once_seen(owner):
    """Until both were seen to have moved at the same time."""
    with tempfile.TemporaryDirectory() as d:
        data = os.urandom(8000000)
        with open(os.path.join(d, 'file'), 'wb') as f:
            f.write(data)
        for _ in range(ROUNDS):
            said = at_once(owner, d, data)
            if said is not False:
                return None if said is True else said
    return 'one was always over before the other'


def main():
    owner = Owner()
    cases.run('in-turn', in_turn, owner)
    cases.run('at-once', at_once_seen, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
