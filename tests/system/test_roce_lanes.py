#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tp_perf whose lcores share a port by lanes, against one that has one: what goes by which queue of the ethdev, what tshark sees on the
wire, what is reported, what is refused."""
import collections
import json
import os
import tempfile

import rocepair
import tpmd

cases = tpmd.Cases()
QPS, ITERS = 4, 400


def start(veth, test, server, client, lanes, telemetry=False):
    """Server and client on AF_PACKET ports with a queue a lane; each lane has an lcore."""
    procs, prefixes = [], []
    port = tpmd.free_port()
    for i, (role, args) in enumerate((('server', server), ('client', client))):
        eal = rocepair.eal(role, on=','.join('%d@%d' % (k, i + k) for k in range(lanes[i])), memory=320)
        prefixes.append([a.split('=')[1] for a in eal if a.startswith('--file-prefix=')][0])
        if telemetry:
            eal.remove('--no-telemetry')
        cmd = ['ip', 'netns', 'exec', veth.ns, rocepair.program(test), *eal, '--vdev=net_af_packet0,iface=roce%d,qpairs=%d' % (i, lanes[i]), '--',
               '--addr', '192.0.2.%d/24' % (i + 1), '-p', str(port), '--lanes', str(lanes[i]), '-q', str(QPS), '-u', '18', *args]
        procs.append(rocepair.Process(cmd + ([] if role == 'server' else ['127.0.0.1'])))
    return procs, prefixes


def ended(procs):
    client = procs[1].wait(120)
    return rocepair.Ends(procs[0].wait(120 if client.returncode == 0 else 2), client)


def reported(ends, lanes):
    """None, or what is wrong in the report of who has so many lanes, which came last."""
    if not ends.ok:
        return ends.why()
    docs = [[json.loads(x) for x in e.out.splitlines() if x.startswith('{')][-1] for e in (ends.server, ends.client)]
    for d, n in zip(docs, lanes):
        if d['iterations'] != ITERS or d['mpps'] <= 0 or d['lost'] != 0:
            return str(d)
        rates = d.get('lanes_mpps', [])
        # Lanes begin and end when they do: together they are never slower than all from the first begin to the last end.
        if n > 1 and (len(rates) != n or min(rates) <= 0 or sum(rates) < d['mpps'] * 0.999):
            return '%d lanes: %s' % (n, d)
        if n == 1 and rates:
            return 'one lane: %s' % d
    return None


def on_the_wire(veth, lanes):
    """Each message of each queue pair is on the wire, to the queue pair of the other end that it was for."""
    with tempfile.TemporaryDirectory(prefix='lanes.') as tmp:
        capture = veth.capture(os.path.join(tmp, 'lanes.pcapng'))
        procs, _ = start(veth, 'tp_send_bw', *[['-n', str(ITERS), '-s', '512', '--json']] * 2, lanes)
        ends = ended(procs)
        capture.stop()
        why = reported(ends, lanes)
        if why is not None:
            return why
        sent = collections.defaultdict(set)
        for qp, psn in capture.fields('ip.dst == 192.0.2.1 && infiniband.bth.opcode == 4', 'infiniband.bth.destqp', 'infiniband.bth.psn'):
            sent[qp].add(psn)
    return None if len(sent) == QPS and {len(v) for v in sent.values()} == {ITERS} else str({q: len(v) for q, v in sent.items()})


def both_ways(veth):
    procs, _ = start(veth, 'tp_write_bw', *[['-n', str(ITERS), '-s', '2048', '-b', '--json']] * 2, (1, 2))
    ends = ended(procs)
    return None if ends.ok else ends.why()


def queues(veth):
    """While it runs, the driver of the ethdev counts packets of each of its queues."""
    procs, prefixes = start(veth, 'tp_send_bw', *[['-D', '600', '-s', '512']] * 2, (1, 2), telemetry=True)
    try:
        client = tpmd.Telemetry(prefixes[1])
        seen = {}

        def both_send():
            seen.update(client.tel('/ethdev/xstats,0') or {})
            return all(seen.get('tx_q%d_packets' % q, 0) >= 100 for q in (0, 1))
        sent = tpmd.wait_until(both_send)
    finally:
        for p in procs:
            p.p.terminate()
        for p in procs:
            p.wait(60)
    return None if sent else str({k: v for k, v in seen.items() if '_q' in k})


def refusals(veth):
    tries = [('tp_send_bw', ['--lanes', '3'], 1, "--lanes: '3' is not one of"), ('tp_send_bw', ['--lanes', '32'], 1, '1..16'), ('tp_send_bw', ['--lanes', '2', '-q', '3'], 1, '--qp: 3'),
             ('tp_send_lat', ['--lanes', '2'], 1, 'latency'), ('tp_send_bw', ['--lanes', '2', '-q', '2', '--use-srq'], 1, '--use-srq'),
             ('tp_send_bw', ['--lanes', '2', '-q', '2', '-e'], 1, '--events'), ('tp_send_bw', ['--lanes', '2', '-q', '2'], 1, 'needs 2 lcores, there are 1'),
             ('tp_send_bw', ['--lanes', '2', '-q', '2'], 2, 'queues for 1..1')]
    for prog, args, lcores, word in tries:
        eal = rocepair.eal('refused', on='0@0,1@1' if lcores == 2 else '0@0', memory=320)
        p = rocepair.Process(['ip', 'netns', 'exec', veth.ns, rocepair.program(prog), *eal, '--vdev=net_af_packet0,iface=roce0', '--', '--addr', '192.0.2.1/24',
                              *args]).wait(60)
        if p.returncode == 0 or word not in p.err:
            return '%s %s: %s %s' % (prog, args, p.returncode, p.err)
    return None


with rocepair.Veth() as pair:
    if pair.ok:
        cases.run('roce-lanes-client', on_the_wire, pair, (1, 2))
        cases.run('roce-lanes-server', on_the_wire, pair, (2, 1))
        cases.run('roce-lanes-both-ways', both_ways, pair)
        cases.run('roce-lanes-queues', queues, pair)
        cases.run('roce-lanes-refusals', refusals, pair)
    else:
        cases.run('roce-lanes', lambda: 'skip needs root and network namespaces')
cases.exit()
