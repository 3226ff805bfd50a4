#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 Triplane contributors
"""RoCE programs that meet by RDMA CM: tp_rping, tp_perf -R, and the rules for services."""
import collections
import os
import subprocess
import sys
import tempfile

import roce_printed
import rocepair
from roce_printed import CARD, PATIENT, perf, result, run


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


rping()
by_connection()
by_service()
sys.exit(bool(roce_printed.failed))
