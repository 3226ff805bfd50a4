#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 Triplane contributors
"""RoCE programs that run for a time or show what comes in each part of it, and those whose other end is wrong, or gone."""
import json
import os
import socket
import sys
import tempfile
import time
import xml.dom.minidom

import roce_printed
import rocepair
import tpmd
from roce_printed import BW_HEAD, PATIENT, result, run, table


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


def refused():
    """Ends that do not fit each other, or are wrong: one line, status 1 or 2, nobody hangs."""
    e = rocepair.memif_pair('tp_send_bw', ['-n', '100', '-s', '512'], ['-n', '100', '-s', '256'])
    result('sw-sizes-differ', None if not e.ok and 'tp_send_bw: ' in e.client.err + e.server.err else e.why())
    p = rocepair.Process([rocepair.program('tp_send_bw'), '--no-pci', '--', '-s', '0']).wait(60)
    result('wrong-option', None if p.returncode == 2 and p.err == "tp_send_bw: --size: '0' is not a number in 1..8388608\n"
           else '%s %r' % (p.returncode, p.err))
    p = rocepair.Process([rocepair.program('tp_pingpong')] + rocepair.eal('none') + ['--', '--addr', '192.0.2.1/24']).wait(60)
    result('no-port', None if p.returncode == 1 and 'at least 1 needed' in p.err else '%s %r' % (p.returncode, p.err))


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


duration()
over_time()
refused()
hung_up()
sys.exit(bool(roce_printed.failed))
