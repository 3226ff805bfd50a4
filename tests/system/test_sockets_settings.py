#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Settings of programs of sockets by their effects, ours and those that the accelerator of the card's time had; and large sends, of
which the card makes segments.
"""
import os
import tempfile

import tpmd
from share_owner import Owner
from sock_ends import SERVER
from test_sockstat import Program, fails, look

cases = tpmd.Cases()


def pair(owner, near, far=None):
    """A server and a client with a connection between them; their environments."""
    server, client = Program(owner, '1', **(far or {})), Program(owner, '0', **near)
    port = tpmd.free_port()
    server.do('l = socket.create_server((%r, %d))' % (SERVER, port))
    client.do('s = socket.create_connection((%r, %d))' % (SERVER, port))
    server.do('c = l.accept()[0]')
    return server, client


def of(env, **want):
    """What a program with these variables has."""
    def case(owner):
        server, client = pair(owner, env)
        with server, client:
            return fails({k: look(client.pid)[k] for k in want}, want, str(env))
    return case


def sends(owner, env, octets):
    """
    The client's rings when it has sent so much by one call, the frames that came at the server for that, without those that were sent
    again since the server had no CPU, and the options that it saw; it says that it has all.
    """
    server, client = pair(owner, env)
    with server, client:
        before = look(server.pid)['rings']['rx_frames']
        client.do('import hashlib', 'd = os.urandom(%d)' % octets)
        want = client.do('s.sendall(d)', 'print(hashlib.sha256(d).hexdigest(), flush=True)')
        got = server.do('import hashlib', 'd = b""', 'while len(d) < %d: d += c.recv(1 << 20)' % octets,
                        'print(hashlib.sha256(d).hexdigest(), flush=True)')
        if got != want:
            raise RuntimeError('other octets: %s, sent %s' % (got, want))
        server.do('i = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)')
        now, options = look(client.pid), int(server.do('print(i[5], flush=True)'))
        return now['rings'], look(server.pid)['rings']['rx_frames'] - before - now['tcp']['retransmits'], options


def large(owner):
    """
    Of one request of the sender the receiver has several frames, full ones but the last (1448 octets beside timestamps).
    """
    rings, frames, _ = sends(owner, {}, 1448 * 700)
    if not 2 * rings['tx_large'] <= rings['tx_large_segments'] <= 8 * rings['tx_large'] or not rings['tx_large'] or not 700 <= frames <= 710:
        return 'frames that came: %d, %s' % (frames, rings)
    return fails(rings['tx_frames'] <= frames - (rings['tx_large_segments'] - rings['tx_large']) + 10, True,
                 'one request for many segments: %d frames, %s' % (frames, rings))


def mss(owner):
    """988 octets a segment, beside timestamps."""
    _, frames, _ = sends(owner, {'VMA_MSS': '1000'}, 988 * 100)
    _, theirs, _ = sends(owner, {'VMA_MTU': '1040'}, 988 * 100)
    _, ours, _ = sends(owner, {'TRIPLANE_SOCKETS_MTU': '1040'}, 988 * 100)
    return fails(all(100 <= n <= 110 for n in (frames, theirs, ours)), True, '%d, %d and %d frames' % (frames, theirs, ours))


def scaling(owner):
    """What the peer saw of the SYN (TCPI_OPT_WSCALE)."""
    seen = [sends(owner, {'VMA_WINDOW_SCALING': v}, 10)[2] & 4 for v in ('-1', '3')]
    return fails(seen, [0, 4], 'window scaling')


def rules(owner):
    """A file of rules, and for whom it is."""
    with tempfile.NamedTemporaryFile('w') as f:
        f.write('application-id * mine\nuse os tcp_server *:*\n')
        f.flush()
        seen = []
        for app in ('mine', 'yours'):
            with Program(owner, '1', VMA_CONFIG_FILE=f.name, VMA_APPLICATION_ID=app) as p:
                p.do('l = socket.create_server(("0.0.0.0", %d))' % tpmd.free_port(), 'l.setblocking(False)', 'l.accept()')
                seen += [s['whose'] for s in look(p.pid)['sockets'] if s['listens'] or s['whose'] == 'os']
    return fails(seen, ['os', 'port'], 'whose')


def said(owner):
    """Lines of a process in a file of its own; what means nothing."""
    with tempfile.TemporaryDirectory() as d:
        env = {'VMA_LOG_FILE': d + '/log.%d', 'VMA_TRACELEVEL': '3', 'VMA_RX_BUFS': 'many', 'VMA_TCP_CC_ALGO': '2', 'VMA_SPEC': '10'}
        server, client = pair(owner, env)
        with server, client:
            pid = client.pid
        with open('%s/log.%d' % (d, pid)) as f:
            log = f.read()
        others = os.listdir(d)
    for line in ('TRIPLANE_SOCKETS_CC=none (by a setting of another name)', 'VMA_RX_BUFS is not a number of 0..100000000; it is left out',
                 'VMA_SPEC means nothing here', 'TRIPLANE_SOCKETS_TRACE=3 (by a setting of another name)'):
        if line + '\n' not in log:
            return 'no %s in %s' % (line, log)
    return fails(others, ['log.%d' % pid], 'files')


def main():
    owner = Owner()
    cases.run('large-sends', large, owner)
    cases.run('frames', of({'VMA_RX_BUFS': '4096'}, mbufs=4096), owner)
    cases.run('ours-first', of({'VMA_RX_BUFS': '4096', 'TRIPLANE_SOCKETS_MBUFS': '2048'}, mbufs=2048), owner)
    cases.run('no-polls', of({'VMA_RX_POLL': '0'}, spin_us=0), owner)
    cases.run('polls-for', of({'VMA_SELECT_POLL': '70', 'VMA_RX_POLL': '-1'}, spin_us=70), owner)
    cases.run('polls-without-end', of({'VMA_SELECT_POLL': '-1'}, spin_us=1000000), owner)
    cases.run('mss', mss, owner)
    cases.run('scaling', scaling, owner)
    cases.run('rules', rules, owner)
    cases.run('said', said, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
