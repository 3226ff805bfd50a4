# SPDX-License-Identifier: BSD-3-Clause
# Packages: nginx wrk
"""Programs of TCP and UDP sockets of Debian on the ports that a triplane shares, and the same programs on the kernel's stack over veth between
two network namespaces, in the same run. All of the card is software here: the model's thread, both ends and the owner share the
CPUs."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import plot
import roce
import tpmd
from share_owner import LIMIT, Owner, finish
from sock_nginx import USER, Nginx, children, with_port, wrk

SERVER = '192.0.2.2'
SECONDS = '3'


def on_port(owner, server, client):
    """What the client says; None: it failed."""
    s = owner.start('--sockets', '--port', '1', *server)
    try:
        if not owner.wait(lambda st: any(p['pid'] == s.pid and p['qps'] for p in st['programs']), LIMIT):
            return None
        c = owner.start('--sockets', '--port', '0', *client)
        out = finish(c)
        return out if c.returncode == 0 else None
    finally:
        s.send_signal(signal.SIGINT)
        finish(s)


def on_veth(veth, server, client):
    return veth.pair(server, client) if veth.ok else None


def both(owner, veth, server, client):
    """The same two commands, with the server's address in them: of a port, of the veth."""
    def at(cmd, addr):
        return [addr if w == '@' else w for w in cmd]
    return (on_port(owner, at(server, SERVER), at(client, SERVER)),
            on_veth(veth, at(server, roce.ADDRS[0]), at(client, roce.ADDRS[0])))


def found(pattern, outs):
    return [roce.number(pattern, o) for o in outs]


def sockperf(owner, veth, mode, pattern, proto=('--tcp',), size=100):
    at = ['-i', '@', '-p', str(tpmd.free_port()), *proto]
    return found(pattern, both(owner, veth, ['sockperf', 'sr', *at], ['sockperf', mode, *at, '-m', str(size), '-t', SECONDS]))


def iperf(owner, veth):
    port = str(tpmd.free_port())
    outs = both(owner, veth, ['iperf3', '-s', '-1', '-B', '@', '-p', port], ['iperf3', '-c', '@', '-p', port, '-t', SECONDS, '-J'])
    return [json.loads(o)['end']['sum_received']['bits_per_second'] / 8e6 if o else None for o in outs]


def redis_ends(port, depth, times=20000, conns=50):
    return (['redis-server', '--bind', '@', '--port', port, '--save', '', '--protected-mode', 'no'],
            ['redis-benchmark', '-h', '@', '-p', port, '-n', str(times * depth), '-P', str(depth), '-c', str(conns), '-t', 'get', '--csv'])


def redis(owner, veth, depth, conns=50):
    return found(r'"GET","([\d.]+)"', both(owner, veth, *redis_ends(str(tpmd.free_port()), depth, conns=conns)))


def redis_alone(veth, depth):
    """Times the kernel's rate at which a stack that costs nothing would end: by what the two programs take of their CPUs themselves."""
    port, took = tpmd.free_port(), []
    ends = [[roce.ADDRS[0] if w == '@' else w for w in cmd] for cmd in redis_ends(str(port), depth, 100000)]
    server = subprocess.Popen(veth.cmd(0, ends[0]), stdout=subprocess.DEVNULL)
    tpmd.wait_until(lambda: tpmd.listens(port, server.pid))
    client = subprocess.Popen(veth.cmd(1, ends[1]), stdout=subprocess.DEVNULL)
    for p in (client, server):
        took.append(os.wait4(p.pid, 0)[2])
        server.kill()
    return max(t.ru_utime + t.ru_stime for t in took) / max(t.ru_utime for t in took)


def nginx(owner, veth, workers):
    """Files of 500 octets by connections that stay. Of the workers on a port one has the load; on the veth all have one CPU."""
    port, outs = tpmd.free_port(), []
    site = Nginx('%s:%d' % (SERVER, port), workers)
    s = owner.start('--sockets', '--port', '1', *site.words())
    try:
        if tpmd.wait_until(lambda: s.poll() is not None or with_port(children(s.pid), port), LIMIT) and s.poll() is None:
            outs.append(finish(owner.start('--sockets', '--port', '0', *wrk('http://%s:%d/small' % (SERVER, port), 3, 32))))
        else:
            outs.append(None)
    finally:
        s.send_signal(signal.SIGINT)
        finish(s)
    site = Nginx('%s:%d' % (roce.ADDRS[0], port), workers)
    # A master that is killed leaves its workers behind, unless they are in a namespace of processes.
    outs.append(veth.pair(['unshare', '--pid', '--fork', '--kill-child', *site.words()],
                          wrk('http://%s:%d/small' % (roce.ADDRS[0], port), 3, 32), port=port) if veth.ok else None)
    return found(r'Requests/sec: +([\d.]+)', outs)


def ls(env):
    """Milliseconds, the least of many."""
    best = 9e9
    for _ in range(100):
        start = time.monotonic()
        subprocess.run(['/bin/ls', '/'], env=env, stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.monotonic() - start)
    return best * 1000


# By size: what is sent one way. By connections: requests of redis-benchmark, one under way each.
SIZES = [14, 100, 400, 1400, 4000, 16000, 64000]
CONNECTIONS = [1, 10, 50, 200, 1000]


def curves(rep, owner, veth, folder):
    """Rows and a plot by size of a message and by number of connections."""
    def rates(axis, values, measure):
        pairs = [measure(v) for v in values]
        for v, (ours, theirs) in zip(values, pairs):
            rep.row('sockets', '%s %d' % (axis, v), 'rate', ours, '/s', 'kernel', theirs)
        return [[v and v / 1e3 for v in series] for series in zip(*pairs)]

    names = ('the port', 'the kernel on veth')
    panels = [plot.Panel('octets of a message, sent one way by TCP', SIZES, rates(
        'octets of a message', SIZES, lambda v: sockperf(owner, veth, 'tp', r'Message Rate is ([\d.]+)', size=v)), names=names)]
    if shutil.which('redis-server'):
        panels.append(plot.Panel('connections of redis-benchmark, a request under way each', CONNECTIONS, rates(
            'connections', CONNECTIONS, lambda v: redis(owner, veth, 1, v)), names=names))
    rep.title('plot: %s' % plot.write(folder, 'sockets', '10^3 messages, or answers, a second', panels))


def bench(rep, library, folder):
    rep.title('sockets: programs of TCP and UDP sockets as Debian ships them, on a shared model card; peers: the same on the kernel over veth')
    # The owner's lcores sleep: the card has their CPU, and EAL's thread of interrupts the other one.
    veth, owner = roce.Veth(), Owner(card=',cpu=%d' % tpmd.cpu(0))
    rows = [('ping-pong 100 B', 'p50', 'us', lambda: sockperf(owner, veth, 'pp', r'percentile 50\.000 = +([\d.]+)'), 0.25),
            ('messages of 100 B', 'sent', '/s', lambda: sockperf(owner, veth, 'tp', r'Message Rate is ([\d.]+)'), 6.6),
            ('UDP, ping-pong 100 B', 'p50', 'us', lambda: sockperf(owner, veth, 'pp', r'percentile 50\.000 = +([\d.]+)', ()), 0.25),
            ('UDP, messages of 100 B', 'sent', '/s', lambda: sockperf(owner, veth, 'tp', r'Message Rate is ([\d.]+)', ()), 3),
            ('iperf3, one stream', 'average', 'MB/s', lambda: iperf(owner, veth), 1)]
    if shutil.which('redis-server'):
        rows += [('redis-benchmark, %d under way' % d, 'GET', '/s', lambda d=d: redis(owner, veth, d), 3) for d in (1, 16)]
    if os.geteuid() == 0 and shutil.which('wrk'):
        os.chmod(owner.dir.name, 0o711)
        for word in ('share-mode 0660', 'share-group ' + USER):
            owner.app.tell('set setting program ' + word)
        owner.show()
        rows += [('nginx, %d of its workers, wrk' % n, 'GET', '/s', lambda n=n: nginx(owner, veth, n), 3) for n in (1, 2)]
    try:
        for case, metric, unit, measure, times in rows:
            ours, theirs = measure()
            rep.row('sockets', case, metric, ours, unit, 'kernel', theirs)
            if ours and theirs:
                rep.goal('%s, %g times the kernel' % (case, times), ours, times * theirs, unit, unit != 'us')
        for d in (1, 16) if veth.ok and shutil.which('redis-server') else ():
            rep.row('sockets', 'redis-benchmark, %d under way, by a stack that costs nothing' % d, 'GET', redis_alone(veth, d), 'times the kernel')
        curves(rep, owner, veth, folder)
        plain = ls({})
        rep.row('sockets', 'ls with the library in front', 'more', round(ls({'LD_PRELOAD': library}) - plain, 3), 'ms')
    finally:
        veth.close()
        owner.close()
