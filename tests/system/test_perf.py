#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: it tells by the CPUs what a lcore waits for.
"""show perf: each reason for a low packet rate is provoked, and must be the one that is named; DPDK's telemetry agrees."""
import json
import os
import re
import subprocess
import sys

import tpmd
from machine import Machine
from tpmd import Cases, Triplane

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.environ.get('TRIPLANE', os.path.join(BUILD, 'apps', 'triplane'))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
cases = Cases()
LAST = tpmd.cpu(1)
# One forwarding lcore, and the card elsewhere.
ONE = '0@1,1@0'
TRIES = 8
CONTENDED = 0.3  # seconds of CPU that others used in a try, which takes about one


def run(commands, lcores=ONE, model='cpu=%d' % LAST, args=()):
    eal = ['--no-huge', '-m', '512', '--no-shconf', '--no-telemetry', '--no-pci', '--log-level=*:error', '--lcores', tpmd.lcores(lcores),
           '--file-prefix=perf%d' % os.getpid(), '--vdev=net_mlx4_model0,' + model]
    p = subprocess.run([APP, *eal, '--', '--json', *args, '-e', commands], capture_output=True, text=True, timeout=60,
                       stdin=subprocess.DEVNULL)
    rows = [json.loads(line) for line in p.stdout.splitlines()]
    return p.returncode, p.stderr, {r['port']: r for row in rows if 'table' not in row for r in row.get('ports', [])}


def consistent(p):
    """The figures of a port agree with each other."""
    for q in p['rx_queues']:
        low = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        high = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 512]
        n = list(q['bursts'].values())
        # the lcore may be between two of its counters at either end
        if abs(sum(n) - q['polls']) > 2:
            return 'polls %d, bursts %s' % (q['polls'], n)
        if not sum(a * b for a, b in zip(n, low)) - 1024 <= q['packets'] <= sum(a * b for a, b in zip(n, high)) + 1024:
            return 'packets %d, bursts %s' % (q['packets'], n)
        if not 0 <= q['waiting'] <= q['waiting_max'] <= q['ring']:
            return 'waiting %s of %s, ring %s' % (q['waiting'], q['waiting_max'], q['ring'])
    return None


def cause(want, commands, words=(), seconds=200, **kw):
    """want: the limit by port. An lcore that the kernel kept waiting, which no case but one wants, was disturbed, too."""
    waited = [False]

    def judge():
        rc, err, ports = run('%s; start; sleep %d; show perf all 300; stop' % (commands, seconds), **kw)
        if rc != 0 or sorted(ports) != [0, 1]:
            return 'exit status %s: %s' % (rc, err)
        waited[0] = any(p['limit'] == 'cpu' or q.get('waits_for_cpu_percent', 0) >= 10 for p in ports.values() for q in p['rx_queues'])
        for n, limit in want.items():
            if ports[n]['limit'] != limit:
                return 'port %d: %s (%s), wanted %s' % (n, ports[n]['limit'], ports[n]['why'], limit)
            for w in words:
                if w not in ports[n]['why']:
                    return 'port %d: %r without %r' % (n, ports[n]['why'], w)
        return consistent(ports[0]) or consistent(ports[1])
    others, whole = [], Machine()
    for _ in range(TRIES):
        meanwhile = Machine()
        why = judge()
        if why is None:
            return None
        others.append(max(meanwhile.others(), CONTENDED if waited[0] else 0))
    if min(others) >= CONTENDED:
        return 'skip the machine had no CPU for it in any of %d tries, others used %s s (%s); the last one: %s' % (
            TRIES, '/'.join('%.1f' % t for t in others), whole.evidence() or 'an lcore waited for its CPU', why)
    return why


def case(name, *args, **kw):
    cases.run(name, lambda: cause(*args, **kw))


GEN = 'set fwd flowgen 0; set fwd rxonly 1'
# Two streams generate for each one that receives, so that the lcore itself never catches up.
case('slow consumer', {1: 'lcore'}, GEN + '; set work 5000 1', ('lcore 1', 'cycles a packet'), args=['--txq', '2'])
case('small pool', {1: 'pool'}, 'set fwd flowgen 0; set fwd macswap 1', ('queue 0', '--total-num-mbufs'),
     args=['--total-num-mbufs', '1400'])
case('small ring', {1: 'ring'}, 'port stop all; port config 1 rxd 256; port start all; set burst 512;' + GEN +
     '; set work 2000 0', ('256 descriptors', 'rxd'))
case('one packet at a time, received', {1: 'burst'}, GEN + '; set burst 1; set work 1000 1', ('1 packets', 'set burst'),
     args=['--txq', '2'])
case('one packet at a time, sent', {0: 'burst'}, 'set fwd txonly 0; set fwd rxonly 1; set burst 1; set work 5000 0',
     ('1.00 doorbells',))
case('slow wire', {0: 'wire', 1: 'idle'}, GEN, model='cpu=%d,rate0=100' % LAST)
# A switch has to send on at 100 Mb/s what comes at full speed, loses nothing and pauses who sends.
case('paused by the peer', {0: 'pause'}, 'port config flow_ctrl 0 full; ' + GEN, ('transmit queue 0', 'pause frames', 'the peer'),
     model='cpu=%d,wire0=switch:lab/lossless:0/xon:8192/xoff:16384/flow:pause,wire1=switch:lab/rate:100' % LAST)
case('slow generator', {0: 'lcore'}, GEN + '; set work 5000 0', ('transmit queue 0',))
case('two lcores on a CPU', {1: 'cpu'}, GEN + '; set work 3000 1', ('lcore 1',),
     lcores='0@1,1@0,2@0')
case('a queue that nobody polls', {1: 'unpolled'}, 'set fwd txonly', ('queue 0',))
case('no link', {0: 'link'}, GEN + '; model cable 0 out; wait link down 0 10')
case('nothing sent', {0: 'nothing', 1: 'nothing'}, 'set fwd io')


def refusals():
    for cmd, word in (('show perf 0', 'start'), ('start; show perf 7', '7'), ('start; show perf 0 5', '10..60000'),
                      ('set work 1000001 0', '0..1000000'), ('start; set work 1 0', 'forwarding runs')):
        rc, err, _ = run(cmd)
        if rc != 1 or word not in err or err.count('\n') != 1:
            return '%s: exit status %s, %r' % (cmd, rc, err)
    return None


FRAME = 60
# So slow that the ring takes each burst whole, also when the card was just kept from its CPU.
SPARSE = ('port stop all; port config 0 txd 4096; port start all; set fwd txonly 0; set fwd rxonly 1; set work 100000 0;'
          'set burst %d; start; wait counter tx_good_packets 1 0 60')


def shown_bursts(ports, text, burst):
    """Bursts of one size only, times that size, are what the port's own counters of packets and bytes say."""
    tx, rx = ports[0]['tx_queues'][0], ports[1]['rx_queues'][0]
    low = 1 << burst.bit_length() - 1
    name = str(low) if low in (1, 512) else '%d-%d' % (low, 2 * low - 1)
    if tx['blocked_bursts_percent'] != 0:
        return 'bursts that the queue did not take: %s' % tx
    full = tx['bursts'][name]
    if full == 0 or any(n for k, n in tx['bursts'].items() if k not in ('0', name)):
        return 'sent in bursts of %d: %s' % (burst, tx['bursts'])
    octets = ports[0]['tx_mbps'] * 1e6 / 8 * ports[0]['seconds']
    if not 0.95 * octets / FRAME < full * burst < 1.05 * octets / FRAME or abs(full * burst - tx['packets']) > 2 * burst:
        return '%d bursts of %d, %d packets, %.0f octets' % (full, burst, tx['packets'], octets)
    if not re.search(r'tx_queue 0:(\n .*)*\n +bursts:(\n +0: .*)?\n +%s: [1-9]' % name, text.split('port 1:')[0]):
        return 'the table has no %r of what was sent: %s' % (name, text)
    return consistent(ports[1]) or (None if rx['packets'] > 0 else 'nothing received')


def tx_bursts(burst):
    for _ in range(TRIES):
        with Triplane(['net_mlx4_model0,cpu=%d' % LAST], on=ONE) as t:
            t.tell(SPARSE % burst)
            # So long that it matters little how long this lcore waits for its CPU between two of the counters.
            ports = t.ask('show perf all 1000')['ports']
            t.tell('show perf 0 500; quit')
            out, err = t.proc.communicate(timeout=60)
        why = shown_bursts({p['port']: p for p in ports}, out.decode(), burst)
        if why is None:
            return None
    return why


def telemetry():
    """Between two looks at ethdev's own telemetry at least what the histograms have of bursts of one size."""
    with Triplane(['net_mlx4_model0,cpu=%d' % LAST], telemetry=True, on=ONE) as t:
        t.tell(SPARSE % 24)
        t.ask('show fwd')
        for _ in range(TRIES):
            before = t.tel('/ethdev/stats,0')['opackets']
            tx = t.tel('/triplane/perf,0')['tx_queue_0']
            most = t.tel('/ethdev/stats,0')['opackets'] - before
            if tx['blocked_bursts'] == 0 and tx['bursts_16_to_31'] != 0:
                break
        rx = t.tel('/triplane/perf,1')['rx_queue_0']
    bins = {k: v for k, v in tx.items() if k.startswith('bursts_')}
    if sum(bins.values()) != tx['bursts'] or [k for k, v in bins.items() if v and k != 'bursts_0'] != ['bursts_16_to_31']:
        return 'sent: %s' % tx
    if not 0 < bins['bursts_16_to_31'] * 24 <= most + 24:
        return '%s, opackets %d' % (tx, most)
    if sum(v for k, v in rx.items() if k.startswith('bursts_')) != rx['polls'] or rx['bursts_0'] != rx['empty_polls']:
        return 'received: %s' % rx
    return None


def many_queues():
    """More queues than an answer has room for: how many are left out is said, and each can be asked for."""
    with Triplane(['net_mlx4_model0'], args=['--rxq', '64', '--txq', '64', '--rxd', '256', '--txd', '256', '--total-num-mbufs', '50000'], telemetry=True,
                  on=ONE) as t:
        t.tell('start')
        t.ask('show fwd')
        some = t.tel('/triplane/perf,1')
        told = {k for k in some if re.fullmatch(r'[rt]x_queue_\d+', k)}
        fields = [set(some[k]) for k in sorted(told)]
        if (some['rx_queues'], some['tx_queues'], some['queues_left_out']) != (64, 64, 128 - len(told)) or len(told) < 16:
            return '%d told: %s' % (len(told), {k: v for k, v in some.items() if k not in told})
        if some['limit'] != 'nothing' or len(fields[0]) != 18 or len(fields[-1]) != 17:
            return '%s, %s' % (some['limit'], fields)
        for queue in (0, 63):
            pair = t.tel('/triplane/perf,1,%d' % queue)
            if [set(pair[k]) for k in sorted(pair)] != [fields[0], fields[-1]] or set(pair) != {'rx_queue_%d' % queue, 'tx_queue_%d' % queue}:
                return 'queue %d: %s' % (queue, pair)
        for bad in ('1,64', '1,', '1,x', ',1', '1,1,1', '-1', '1 '):
            if t.tel('/triplane/perf,' + bad):
                return '%s: %s' % (bad, t.tel('/triplane/perf,' + bad))
    return None


def one_flow():
    """What four queues send comes to one of four: its stream is called again after each full burst, seven times a round at most."""
    # Where the main lcore loses its CPU between two of the counters they are of two moments.
    for _ in range(TRIES):
        why = rounds_of_one_flow()
        if why is None:
            break
    return why


def rounds_of_one_flow():
    code, err, ports = run('set fwd flowgen 0; set fwd rxonly 1; start; wait counter rx_good_packets 100000 1 20; show perf all; stop',
                           args=('--rxq', '4', '--txq', '4', '--flows', '1'))
    if code != 0:
        return 'exit %d %s' % (code, err)
    queues = sorted(ports[1]['rx_queues'], key=lambda q: q['packets'])
    idle, busy = [q['polls'] for q in queues[:-1]], queues[-1]['polls']
    full = list(queues[-1]['bursts'].values())[6]  # 32 to 63: all that was asked for
    if any(q['packets'] for q in queues[:-1]) or max(idle) - min(idle) > 1:
        return 'polls %s of idle queues, packets %s' % (idle, [q['packets'] for q in queues])
    if full == 0 or not full * 7 // 8 - 8 <= busy - max(idle) <= full + 1:
        return '%d full bursts, polls %d of the busy queue and %d of the idle ones' % (full, busy, max(idle))
    return None


cases.run('refusals', refusals)
cases.run('a busy queue among idle ones', one_flow)
cases.run('telemetry of bursts', telemetry)
cases.run('telemetry of more queues than it has room for', many_queues)
for size in (1, 24, 256):
    cases.run('bursts of %d sent' % size, tx_bursts, size)
sys.exit(1 if cases.failed else 0)
