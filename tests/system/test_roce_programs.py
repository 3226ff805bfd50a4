#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: each end is a busy lcore; among others it saves nothing.
# Copyright(c) 2026 Triplane contributors
"""tp_pingpong, tp_perf, tp_rping and the examples between two processes over memif, and between the two ports of a card: what they print is read
by column as perftest's readers do, and checked against itself."""
import collections
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

import rocepair
import tpmd

BW_HEAD = ['#bytes', '#iterations', 'BW', 'peak[MB/sec]', 'BW', 'average[MB/sec]', 'MsgRate[Mpps]']
LAT_HEAD = ['#bytes', '#iterations', 't_min[usec]', 't_max[usec]', 't_typical[usec]', 't_avg[usec]', 't_stdev[usec]',
            '99%', 'percentile[usec]', '99.9%', 'percentile[usec]']
CARD = ['net_mlx4_model0,wire0=cross,wire1=cross']
PATIENT = ['-u', '19']  # two seconds, eight times: an end on a busy machine may have no CPU for a while
failed = 0


def result(name, why):
    global failed
    if why:
        failed = 1
        print('not ok %s: %s' % (name, why), flush=True)
    else:
        print('ok ' + name, flush=True)


def table(text, head):
    """Rows of numbers under the head."""
    rows, inside = [], False
    for line in text.splitlines():
        words = line.split()
        if words == head:
            inside = True
        elif inside and words and re.fullmatch(r'\d+', words[0]):
            rows.append([float(w) for w in words])
        elif inside and words:
            inside = False
    return rows


def bad_bw(text, sizes, iters, peak=True):
    rows = table(text, BW_HEAD)
    if [r[0] for r in rows] != sizes:
        return 'sizes %s in %r' % ([r[0] for r in rows], text[-600:])
    for r in rows:
        if len(r) != 5 or r[1] != iters:
            return 'row %s' % r
        # MB/s and millions of messages say the same, as far as the digits go
        if abs(r[3] - r[4] * 1e6 * r[0] / (1 << 20)) > 0.02 + 0.001 * r[3] + 1e-6 * r[0]:
            return 'average and rate disagree: %s' % r
        if r[4] <= 0 or (peak and r[2] < r[3] * 0.999 - 0.01):
            return 'peak below average: %s' % r
    return None


def bad_lat(text, sizes, iters):
    rows = table(text, LAT_HEAD)
    if [r[0] for r in rows] != sizes:
        return 'sizes %s in %r' % ([r[0] for r in rows], text[-600:])
    for _, n, low, high, typical, avg, dev, p99, p999 in rows:
        if n != iters or not 0 < low <= typical <= p99 <= p999 <= high or not low <= avg <= high or dev < 0:
            return 'row %s' % rows
    return None


def run(name, ends, check):
    result(name, ends.why() if not ends.ok else check(ends))


def perf(name, prog, args, sizes, iters, pair=rocepair.memif_pair, server_too=True, peak=True):
    def check(e):
        bad = bad_lat if prog.endswith('_lat') else bad_bw
        more = {} if prog.endswith('_lat') else {'peak': peak}
        why = bad(e.client.out, sizes, iters, **more)
        if why is None and server_too:
            why = bad(e.server.out, sizes, iters, **({} if prog.endswith('_lat') else {'peak': False}))
        return why

    run(name, pair(prog, PATIENT + args), check)


def pingpong(name, args, size, pair=rocepair.memif_pair):
    def check(e):
        rows = [json.loads(x) for x in e.client.out.splitlines() if x.startswith('{')]
        if not rows or rows[-1]['bytes'] != size:
            return 'rows %s' % rows
        for r in rows:
            q = [r[k] for k in ('min_us', 'p50_us', 'p90_us', 'p99_us', 'p999_us', 'max_us')]
            if q != sorted(q) or q[0] <= 0:
                return 'percentiles %s' % r
        return None

    run(name, pair('tp_pingpong', PATIENT + ['--json', '-c'] + args), check)


def hung_up():
    """A server whose client has told its address and left: it does not wait for ever, whether it polls or waits for events."""
    servers = []
    for more in ([], ['-e']):
        port = tpmd.free_port()
        p = rocepair.Process([rocepair.program('tp_pingpong')] + rocepair.eal('hung%d' % port) +
                             ['--vdev=net_null0', '--', '--addr', '192.0.2.1/24', '-p', str(port)] + more)
        # The server's own address: its queue pair finds the way at once, and hears nothing.
        client = call(port)
        client.sendall(b'0000:000001:000001:' + b'0' * 20 + b'ffffc0000201' + b'\0')
        got = client.recv(52, socket.MSG_WAITALL)
        client.sendall(b'done\0')
        client.close()
        servers.append((p, got))
    for (p, got), name in zip(servers, ('hung-up', 'hung-up-events')):
        p.wait(60)
        result(name, None if len(got) == 52 and p.returncode == 1 and 'the other end hung up, and nothing came for 5 s' in p.err else
               '%r, exit code %d: %s' % (got, p.returncode, p.err))


def call(port):
    """A connection to a server that is on its way up."""
    for _ in range(1200):
        try:
            return socket.create_connection(('127.0.0.1', port), timeout=60)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise RuntimeError('nobody listens at %d' % port)


def both_homes(pair, tag):
    pingpong(tag + '-pingpong-rc', ['-n', '300', '-s', '4096'], 4096, pair)
    pingpong(tag + '-pingpong-rc-events', ['-n', '200', '-e'], 4096, pair)
    pingpong(tag + '-pingpong-rc-large', ['-n', '20', '-s', '1000000'], 1000000, pair)
    pingpong(tag + '-pingpong-uc', ['-n', '300', '-C', 'UC'], 4096, pair)
    pingpong(tag + '-pingpong-ud', ['-n', '300', '-C', 'UD'], 1024, pair)
    pingpong(tag + '-pingpong-all', ['-n', '20', '-a'], 1 << 20, pair)
    two = pair is rocepair.memif_pair
    perf(tag + '-send-bw', 'tp_send_bw', ['-n', '1000', '-s', '4096'], [4096], 1000, pair, two)
    perf(tag + '-send-bw-qps', 'tp_send_bw', ['-n', '500', '-s', '512', '-q', '4', '-l', '4', '-Q', '8'], [512], 500, pair,
         two)
    perf(tag + '-send-bw-srq', 'tp_send_bw', ['-n', '500', '-s', '512', '-q', '2', '--use-srq'], [512], 500, pair, two)
    perf(tag + '-send-bw-bidir', 'tp_send_bw', ['-n', '1000', '-s', '2048', '-b'], [2048], 1000, pair, two)
    perf(tag + '-send-bw-uc', 'tp_send_bw', ['-n', '500', '-s', '2048', '-c', 'UC'], [2048], 500, pair, two)
    perf(tag + '-send-bw-ud', 'tp_send_bw', ['-n', '500', '-s', '1024', '-c', 'UD'], [1024], 500, pair, two)
    perf(tag + '-send-bw-events', 'tp_send_bw', ['-n', '500', '-s', '1024', '-e'], [1024], 500, pair, two)
    perf(tag + '-send-lat', 'tp_send_lat', ['-n', '500'], [2], 500, pair, two)
    perf(tag + '-send-lat-ud', 'tp_send_lat', ['-n', '500', '-c', 'UD', '-s', '64'], [64], 500, pair, two)
    perf(tag + '-write-bw', 'tp_write_bw', ['-n', '500', '-s', '16384'], [16384], 500, pair, two)
    perf(tag + '-write-bw-bidir', 'tp_write_bw', ['-n', '500', '-s', '4096', '-b'], [4096], 500, pair, two)
    perf(tag + '-write-lat', 'tp_write_lat', ['-n', '500', '-s', '8'], [8], 500, pair, two)
    perf(tag + '-read-bw', 'tp_read_bw', ['-n', '500', '-s', '8192'], [8192], 500, pair, two)
    perf(tag + '-read-lat', 'tp_read_lat', ['-n', '500', '-s', '100'], [100], 500, pair, False)
    perf(tag + '-atomic-bw', 'tp_atomic_bw', ['-n', '500'], [8], 500, pair, two)
    perf(tag + '-atomic-lat', 'tp_atomic_lat', ['-n', '300', '-A', 'CMP_AND_SWAP'], [8], 300, pair, False)


def all_sizes():
    sizes = [1 << i for i in range(1, 24)]
    perf('sw-send-bw-all', 'tp_send_bw', ['-n', '20', '-a'], sizes, 20)
    perf('sw-write-lat-all', 'tp_write_lat', ['-n', '20', '-a'], sizes, 20)
    perf('sw-send-bw-ud-all', 'tp_send_bw', ['-n', '100', '-a', '-c', 'UD'], [1 << i for i in range(1, 11)], 100)


def duration():
    def check(e):
        rows = table(e.client.out, BW_HEAD)
        if len(rows) != 1 or rows[0][1] < 100 or rows[0][3] <= 0:
            return e.client.out[-300:]
        return None

    run('sw-write-bw-duration', rocepair.memif_pair('tp_write_bw', PATIENT + ['-D', '2', '-s', '4096']), check)
    run('sw-send-bw-duration', rocepair.memif_pair('tp_send_bw', PATIENT + ['-D', '2', '-s', '4096']), check)


def over_time():
    """Four queue pairs meet at a port of 300 Mb/s that marks: lines say that they are limited, to what, and by how many CNPs; the picture has a
    point for each. What --cc sets is what they are limited to: 40 Mb/s at least, and 60 at first, from where no time that passes raises it."""
    switch = 'switch:perf%d' % os.getpid()
    wires = ['net_mlx4_model0,wire0=%s/ecn:30000+60000+1000000/ecn-prio:0/buffer:600000,wire1=%s/rate:300' % (switch, switch)]
    cc = 'on initial-alpha=1023 rate-on-first-cnp=60 clamp-target-rate=1 time-reset=0 byte-reset=0 ai-rate=1 hai-rate=1 min-rate=40 dce-tcp-rtt=100000 ' \
        'rate-reduce-monitor-period=2000 cnp-interval=200'
    cc = [a for w in cc.split() for a in ('--cc', w)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.svg')
        e = rocepair.self_pair('tp_write_bw', ['--provider', 'sw', '-q', '4', '-n', '300', '-u', '18', '--interval', '50', '--plot', path, '--json'] + cc, wires)
        if not e.ok:
            result('sw-over-time', e.why())
            return
        *lines, last = [json.loads(line) for line in e.client.out.splitlines()]
        drawn = {p.getAttribute('class'): p.getAttribute('points').split() for p in xml.dom.minidom.parse(path).getElementsByTagName('polyline')}
    # Of each line the limit at its begin or its end, that is the higher one.
    limited = [(max(a['limited_mbps'], x['limited_mbps']), x) for a, x in zip(lines, lines[1:]) if a['limited_qps'] == x['limited_qps'] == 4]
    why = None
    if len(lines) < 5 or sorted(x['ms'] for x in lines) != [x['ms'] for x in lines] or 'bw_average' not in last:
        why = '%d lines, %s' % (len(lines), last)
    elif len(limited) < 3 or any(not 4 * 40 <= limit <= 4 * 60 for limit, _ in limited) or not sum(x['cnps'] for x in lines):
        why = 'limited: %s' % lines[-5:]
    elif any(x['bw'] * 2**20 * 8 / 1e6 > 2 * limit for limit, x in limited[2:]):
        why = 'faster than the limit: %s' % limited[2:]
    elif len(drawn['b']) != len(lines) or len(drawn['l']) != len([x for x in lines if x['limited_qps']]):
        why = '%d lines, %d and %d points' % (len(lines), len(drawn['b']), len(drawn['l']))
    result('sw-over-time', why)
    for args, said in ((['--cc', 'ai-rate=0'], 'ai-rate 0: wanted 1..'), (['--cc', 'ai=1'], "no parameter 'ai'"), (['--cc', 'ai-rate'], "--cc: 'ai-rate', want on or NAME=VALUE"),
                       (['--cc', 'ai-rate=4x'], "ai-rate '4x', want a number"), (['--interval', '9'], "--interval: '9' is not a number in 10..60000"),
                       (['--plot', 'x'], '--plot: wants --interval'), (['--interval', '10', '--output', 'bandwidth'], '--interval: not with --output bandwidth'),
                       (['--interval', '10', '--plot', '/nowhere/x', '-n', '5'], '--plot /nowhere/x: No such file')):
        e = rocepair.self_pair('tp_write_bw', ['--provider', 'sw'] + args, wires)
        if e.ok or said not in e.client.err + e.client.out:
            result('over-time-refused', '%s: %s' % (args, e.why()))
            return
    result('over-time-refused', None)


def families():
    pingpong('sw-pingpong-ipv6', ['-n', '100'], 4096,
             lambda p, a: rocepair.memif_pair(p, a, addrs=('2001:db8::1/64', '2001:db8::2/64')))
    pingpong('sw-pingpong-vlan', ['-n', '100'], 4096, lambda p, a: rocepair.memif_pair(p, a, common=['--vlan', '7']))
    pingpong('sw-pingpong-v1', ['-n', '100'], 4096, lambda p, a: rocepair.memif_pair(p, a, common=['--mode', 'v1']))
    pingpong('sw-pingpong-udp-port', ['-n', '100'], 4096,
             lambda p, a: rocepair.memif_pair(p, a, common=['--udp-port', '1021']))


def af_packet():
    """On the kernel's interfaces: a wire whose other users a port has to live with."""
    with rocepair.Veth() as wire:
        if not wire.ok:
            print('skip veth: network namespaces need root', flush=True)
            return
        # A machine that is busy with other things stops a process for longer than the usual time-outs last together.
        patient = ['-u', '18']
        pingpong('veth-pingpong-ud', ['-n', '200', '-C', 'UD'], 1024, wire.pair)
        perf('veth-send-bw', 'tp_send_bw', ['-n', '200', '-s', '20000'] + patient, [20000], 200, wire.pair)
        perf('veth-write-bw', 'tp_write_bw', ['-n', '200', '-s', '65536'] + patient, [65536], 200, wire.pair)
        perf('veth-read-lat', 'tp_read_lat', ['-n', '200', '-s', '100'] + patient, [100], 200, wire.pair, False)
        died(wire)


def died(wire):
    """A server whose client dies amid the test: it has nothing to send again, and does not wait for ever."""
    before = wire.received(0)
    server, client = wire.start('tp_send_bw', PATIENT + ['-D', '100', '-s', '4096'])
    sends = tpmd.wait_until(lambda: client.p.poll() is not None or wire.received(0) > before + 1000000)
    client.p.kill()
    client.wait(60)
    server.wait(60)
    result('veth-client-died', None if sends and server.returncode == 1 and 'the other end hung up amid the test' in server.err else
           'client: %s; exit code %d: %s' % (client.err, server.returncode, server.err))


def refused():
    """Ends that do not fit each other, or are wrong: one line, status 1 or 2, nobody hangs."""
    e = rocepair.memif_pair('tp_send_bw', ['-n', '100', '-s', '512'], ['-n', '100', '-s', '256'])
    result('sw-sizes-differ', None if not e.ok and 'tp_send_bw: ' in e.client.err + e.server.err else e.why())
    p = rocepair.Process([rocepair.program('tp_send_bw'), '--no-pci', '--', '-s', '0']).wait(60)
    result('wrong-option', None if p.returncode == 2 and p.err == "tp_send_bw: --size: '0' is not a number in 1..8388608\n"
           else '%s %r' % (p.returncode, p.err))
    p = rocepair.Process([rocepair.program('tp_pingpong')] + rocepair.eal('none') + ['--', '--addr', '192.0.2.1/24']).wait(60)
    result('no-port', None if p.returncode == 1 and 'at least 1 needed' in p.err else '%s %r' % (p.returncode, p.err))


def rping():
    def check(size, n):
        def inner(e):
            return None if '%d pings of %d bytes' % (n, size) in e.client.out else e.why()
        return inner

    def pair(client, server=('-s',), **kw):
        return rocepair.memif_pair('tp_rping', ['-c', '-a', '192.0.2.1', '-V'] + client, server, tcp=False, **kw)

    run('sw-rping', pair(['-C', '50']), check(64, 50))
    run('sw-rping-large', pair(['-C', '20', '-S', '65535', '-p', '7175'], ['-s', '-p', '7175']), check(65535, 20))
    run('sw-rping-source', pair(['-C', '5', '-I', '192.0.2.2'], ['-s', '-a', '192.0.2.1']), check(64, 5))
    run('sw-rping-v1', pair(['-C', '10', '-S', '3000'], common=['--mode', 'v1']), check(3000, 10))
    run('card-rping', rocepair.self_pair('tp_rping', ['-C', '50', '-V', '-S', '3000'], CARD), check(3000, 50))
    # a client that finds nobody listening hears so
    e = pair(['-C', '5', '-p', '7176'], ['-s', '-P'])
    result('sw-rping-refused', None if e.client.returncode == 1 and 'REJECTED' in e.client.err else e.why())
    e = pair(['-v', '-C', '2', '-S', '30'], ['-s', '-v'])
    want = 'ping data: rdma-ping-0: ABCDEFGHIJKLMNOP\nping data: rdma-ping-1: BCDEFGHIJKLMNOPQ\n2 pings of 30 bytes\n'
    result('sw-rping-text', None if e.ok and e.client.out == want and 'server ' + want.splitlines()[1] in e.server.out
           else e.why())


def cm_on_the_wire(path, qps, tos):
    """What tshark reads of connections between the two ends, all to one service, each ended; and of what went over them."""
    names = ['infiniband.mad.attributeid', 'infiniband.cm.req.serviceid.dport', 'infiniband.cm.req.localqpn', 'infiniband.bth.destqp',
             'ip.dsfield', 'infiniband.bth.opcode', 'infiniband.cm.req.ip_cm.sport', 'udp.srcport']
    rows = [dict(zip(names, line.split('\t'))) for line in subprocess.run(
        ['tshark', '-r', path, '-T', 'fields', '-E', 'occurrence=f'] + [a for n in names for a in ('-e', n)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, timeout=60, check=True).stdout.splitlines()]
    count = {a: sum(1 for r in rows if r[names[0]] and int(r[names[0]], 0) == a) for a in (0x10, 0x13, 0x14, 0x15, 0x16)}
    # one more connection than queue pairs of the test; those lost on the way come again
    if any(n < qps + 1 for n in count.values()):
        return 'messages of connection management: %s' % count
    ports = {int(r['infiniband.cm.req.serviceid.dport'], 0) for r in rows if r['infiniband.cm.req.serviceid.dport']}
    if ports != {18515}:
        return 'services %s' % ports
    callers = {int(r['infiniband.cm.req.localqpn'], 0) for r in rows if r['infiniband.cm.req.localqpn']}
    to = {int(r['infiniband.bth.destqp'], 0) for r in rows if r['infiniband.bth.opcode'] and int(r['infiniband.bth.destqp'], 0) != 1}
    if len(callers) != qps + 1 or not callers <= to or len(to) != 2 * (qps + 1):
        return 'queue pairs that called %s, queue pairs on the wire %s' % (callers, to)
    # the UDP source port says which connection it is, at both ends.
    wanted = {(int(r['infiniband.cm.req.ip_cm.sport'], 0) ^ 18515) | 0xc000 for r in rows if r['infiniband.cm.req.ip_cm.sport']}
    data = [r for r in rows if r['infiniband.bth.opcode'] and int(r['infiniband.bth.destqp'], 0) != 1]
    sources = {int(r['udp.srcport']) for r in data}
    if sources != wanted or len(wanted) != qps + 1:
        return 'UDP source ports %s, wanted %s' % (sources, wanted)
    seen = {int(r['ip.dsfield'], 0) & 0xfc for r in data}
    return None if seen == {tos} else 'DSCP and ECN of the connections: %s' % seen


def by_connection():
    """--rdma_cm: no socket is needed, HOST is the other port's address."""
    def pair(prog, args):
        return rocepair.memif_pair(prog, args + ['-R', '192.0.2.1'], args + ['-R'], tcp=False)

    perf('sw-cm-send-bw', 'tp_send_bw', ['-n', '500', '-s', '4096', '-q', '3'], [4096], 500, pair)
    perf('sw-cm-send-bw-bidir', 'tp_send_bw', ['-n', '300', '-s', '2048', '-b'], [2048], 300, pair)
    perf('sw-cm-write-lat', 'tp_write_lat', ['-n', '300', '-s', '8'], [8], 300, pair)
    perf('sw-cm-read-bw', 'tp_read_bw', ['-n', '300', '-s', '8192'], [8192], 300, pair)
    perf('sw-cm-atomic-lat', 'tp_atomic_lat', ['-n', '200'], [8], 200, pair, False)
    e = rocepair.memif_pair('tp_send_bw', ['-n', '100', '-s', '512', '-R', '192.0.2.1'], ['-n', '100', '-s', '512', '-R', '-p', '7000'],
                            tcp=False)
    result('sw-cm-nobody', None if e.client.returncode == 1 and "nobody listens on port 18515 of '192.0.2.1'" in e.client.err else e.why())
    with tempfile.TemporaryDirectory(prefix='roce.') as tmp:
        for tag, pair, files in (('sw', lambda p, a: rocepair.memif_pair(p, a + ['-R', '192.0.2.1', '--capture', tmp + '/sw'], a + ['-R'],
                                                                         tcp=False), 'sw'),
                                 ('card', lambda p, a: rocepair.self_pair(p, a + ['-R', '--capture', tmp + '/card'], CARD), 'card')):
            e = pair('tp_send_bw', PATIENT + ['-n', '20', '-s', '512', '-q', '3', '--tclass', '104'])
            result(tag + '-cm-wire', cm_on_the_wire(os.path.join(tmp, files), 3, 104) if e.ok else e.why())


def by_service():
    """rule=rdma:PORT: connections to that service have its priority and DSCP at both ends, on the card and in software; another one
    has those of the rule for all services. Read off a wire of the kernel's."""
    with rocepair.Veth() as wire:
        if not wire.ok:
            print('skip service: network namespaces need root', flush=True)
            return
        for provider in ('mlx4', 'sw'):
            # with tx-untag-priority a priority alone makes no tag
            for port, prio, dscp, more in ((18515, '6', '46', []), (7000, '5', '7', []), (18515, '', '46', ['--qos', 'tx-untag-priority=on'])):
                with tempfile.TemporaryDirectory(prefix='roce.') as tmp:
                    path = os.path.join(tmp, 'wire')
                    shark = wire.capture(path)
                    try:
                        e = wire.card_pair('tp_send_bw', ['-n', '20', '-s', '512', '-R', '-p', str(port), '--provider', provider, '-u', '18',
                                                          '--qos', 'rule=rdma:18515:6:46', '--qos', 'rule=rdma:*:5:7'] + more)
                    finally:
                        shark.stop()
                    rows = shark.fields('infiniband', 'ip.src', 'vlan.priority', 'ip.dsfield.dscp', 'infiniband.bth.destqp')
                result('%s-service-%d%s' % (provider, port, '-untagged' if more else ''), e.why() if not e.ok else marks(rows, prio, dscp))


def marks(rows, prio, dscp):
    for src in ('192.0.2.1', '192.0.2.2'):
        seen = collections.Counter((r[1], r[2]) for r in rows if r[0] == src and int(r[3], 0) != 1)
        if set(seen) != {(prio, dscp)} or sum(seen.values()) < 20:
            return 'from %s: priority and DSCP %s, wanted %s' % (src, dict(seen), (prio, dscp))
    return None


def against_the_wire():
    """What is reported, judged by what knows nothing of it: a wire of 100 Mb/s, and the clock of this test."""
    wire, rate = ['net_mlx4_model0,rate0=100,rate1=100'], 100e6 / 8
    for prog in ('tp_send_bw', 'tp_write_bw', 'tp_read_bw'):
        began = time.monotonic()
        e = rocepair.self_pair(prog, ['-n', '400', '-s', '8192'], wire)
        seconds = time.monotonic() - began
        rows = table(e.client.out, BW_HEAD) if e.ok else []
        # All of it took no longer than the program ran, and no less than the wire takes.
        ok = len(rows) == 1 and 400 * 8192 / seconds <= rows[0][3] * (1 << 20) <= rate * 1.01
        result('wire-' + prog, None if ok else e.why() if not e.ok else '%s in %.2f s' % (rows, seconds))
    for prog in ('tp_send_lat', 'tp_write_lat', 'tp_read_lat'):
        began = time.monotonic()
        e = rocepair.self_pair(prog, ['-n', '200', '-s', '4096'], wire)
        seconds = time.monotonic() - began
        rows = table(e.client.out, LAT_HEAD) if e.ok else []
        # Half of a round for messages that go to and fro, a whole one for a read, which carries data one way only. The wire
        # hands a packet over when its turn comes: the last of four of 1024 octets waits for three.
        rounds = 1 if prog == 'tp_read_lat' else 2
        ok = len(rows) == 1 and rows[0][2] >= 3 * 1024 / rate * 1e6 and 200 * rounds * rows[0][5] <= seconds * 1e6
        result('wire-' + prog, None if ok else e.why() if not e.ok else '%s in %.2f s' % (rows, seconds))


def examples():
    """The small programs to learn from do what they say."""
    with tempfile.TemporaryDirectory(prefix='roce.') as tmp:
        for name, args, want in (('roce_echo', ['hello', 'world'], ['hello', 'world']),
                                 ('roce_kv', ['k1', 'k9999', 'nothing'], ['k1: value ', 'k9999: value ', 'nothing: (none)'])):
            sock, procs = os.path.join(tmp, name), []
            for i, role in enumerate(('server', 'client')):
                vdev = '--vdev=net_memif0,role=%s,socket=%s,socket-abstract=no,id=0' % (role, sock)
                cmd = [os.path.join(rocepair.BUILD, 'examples', name)] + rocepair.eal(
                    role, on='0@%d' % i) + [vdev, '--', '192.0.2.%d/24' % (i + 1)]
                procs.append(rocepair.Process(cmd + (['192.0.2.1'] + args if i == 1 else [])))
                end = time.monotonic() + 60
                # a memif client needs its server to be there
                while i == 0 and not os.path.exists(sock) and procs[0].p.poll() is None and time.monotonic() < end:
                    time.sleep(0.05)
            client = procs[1].wait(60)
            procs[0].p.terminate()
            procs[0].wait(60)
            lines = client.out.splitlines()
            ok = client.returncode == 0 and all(any(x.startswith(w) for x in lines) for w in want)
            result(name, None if ok else '%s %r' % (client.returncode, (client.out + client.err)[-400:]))


both_homes(rocepair.memif_pair, 'sw')
all_sizes()
duration()
over_time()
families()
af_packet()
refused()
hung_up()
rping()
by_connection()
by_service()
examples()
against_the_wire()
both_homes(lambda p, a: rocepair.self_pair(p, a, CARD), 'card')
sys.exit(failed)
