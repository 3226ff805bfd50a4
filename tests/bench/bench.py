#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark tables. Every figure of ours stands next to a peer measured in the same run; see docs/bench.md."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'system'))
import fabric  # noqa: E402
import ipoib_rate  # noqa: E402
import kernel  # noqa: E402
import lines  # noqa: E402
import plot  # noqa: E402
import programs  # noqa: E402
import roce  # noqa: E402
import scale  # noqa: E402
import sockets  # noqa: E402
import tpmd  # noqa: E402

BUILD = os.environ['TP_BUILD']
CACHE = os.environ['TP_CACHE']
BENCH_DIR = os.path.join(BUILD, 'tests/bench')
SIZES = (64, 128, 256, 512, 1024, 1518, 9000)
RUNS = 3
SECONDS = 1.0
BURSTS = 2048
POLICY_BURSTS = 256
LINES_ROUNDS = 32
# What the project set itself: shares of the peer's instructions, instructions, ms, percent.
GOALS = {'plain': 0.4, 'other': 0.6, 'empty': 20, 'bringup': 100, 'idle': 1.0, 'wake': 100, 'awake': 5, 'tcp': 950, 'tcp-flush': 330,
         'tcp-conns': 1.25, 'cc': 1.01, 'cc-qps': 1.1, 'ipoib-cross': 380, 'ipoib-other': 1200, 'ipoib-rate': 0.6, 'inline': 1.3,
         'model': 280}


class Report:
    """Rows as they come; goals in the end. Instructions are a property of the code, so that a goal of theirs can fail a run: other figures depend
    on the machine and on what else it does."""

    def __init__(self, as_json):
        self.json = as_json
        self.goals = []
        self.missed = []

    def title(self, text):
        if not self.json:
            print('\n' + text, flush=True)

    def row(self, bench, case, metric, value, unit, peer=None, peer_value=None):
        if self.json:
            print(json.dumps({'bench': bench, 'case': case, 'metric': metric, 'value': value, 'unit': unit, 'peer': peer,
                              'peer_value': peer_value}), flush=True)
            return
        line = '  %-22s %-24s %12s %-10s' % (case, metric, '-' if value is None else '%.6g' % value, unit)
        if peer is not None:
            line += '  %s %s' % (peer, '-' if peer_value is None else '%.6g' % peer_value)
            if value and peer_value:
                line += '  ratio %.2f' % (value / peer_value)
        print(line, flush=True)

    def goal(self, text, value, limit, unit, at_least=False):
        if value is None:
            self.goals.append('not measured: %s' % text)
            return
        met = value >= limit if at_least else value <= limit
        by = 100.0 * abs(value - limit) / limit if limit else 0.0
        if not met and unit == 'instr':
            self.missed.append(text)
        self.goals.append('%s: %s: %.4g %s, goal %s %.4g (%.1f %% %s)' % (
            'met' if met else 'MISSED', text, value, unit, '>=' if at_least else '<=', limit, by,
            'to spare' if met else 'short'))

    def finish(self):
        if self.goals:
            out = sys.stderr if self.json else sys.stdout
            print('\nGoals', file=out)
            for g in self.goals:
                print('  ' + g, file=out)
        for text in self.missed:
            print('bench: goal missed: %s' % text, file=sys.stderr)


def run(cmd, timeout=300):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    out = p.stdout.decode(errors='replace') + p.stderr.decode(errors='replace')
    if p.returncode != 0:
        raise RuntimeError('%s ended with %d: %s' % (os.path.basename(cmd[0]), p.returncode, out[-600:]))
    return out


def instructions(functions, command):
    """Instructions per packet inside functions, callees included; the command prints how many packets there were."""
    cg = os.path.join(CACHE, 'callgrind.%d' % os.getpid())
    try:
        out = run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + cg, '--collect-atstart=no',
                   *['--toggle-collect=' + f for f in functions], *command])
    finally:
        if os.path.exists(cg):
            os.unlink(cg)
    return int(re.search(r'Collected : (\d+)', out).group(1)) / int(re.search(r'packets (\d+)', out).group(1))


def cycles(command):
    """Median of several runs, or None: the driver cannot do the case."""
    found = [re.search(r'cycles_per_packet ([\d.]+)', run([*command, '65536'])) for _ in range(RUNS)]
    return statistics.median(float(m.group(1)) for m in found) if all(found) else None


def near(cpus):
    """What two CPUs have in common, by what the kernel says: the nearest thing."""
    def listed(path):
        with open('/sys/devices/system/cpu/cpu%d/%s' % (cpus[0], path)) as f:
            parts = [p.split('-') for p in f.read().strip().split(',')]
        return any(int(p[0]) <= cpus[1] <= int(p[-1]) for p in parts)

    try:
        if listed('topology/thread_siblings_list'):
            return 'two threads of one core'
        for i in range(8):
            if listed('cache/index%d/shared_cpu_list' % i):
                with open('/sys/devices/system/cpu/cpu%d/cache/index%d/level' % (cpus[0], i)) as f:
                    return 'two cores with one L%s cache' % f.read().strip()
    except OSError:
        pass
    return 'two cores that share no cache'


def show_machine(rep):
    """By which figures of different machines can be understood."""
    with open('/proc/cpuinfo') as f:
        model = (re.search(r'^model name\s*: (.*)', f.read(), re.M) or [None, 'unknown processor'])[1].strip()
    cpus = sorted(os.sched_getaffinity(0))
    rep.title('machine: %s, %d CPUs' % (model, len(cpus)))
    if len(cpus) > 1:
        out = run([os.path.join(BENCH_DIR, 'bench_line'), str(cpus[0]), str(cpus[1])])
        which = 'CPUs %d and %d: %s' % (cpus[0], cpus[1], near(cpus))
        rep.row('machine', '%s, %s' % (model, which) if rep.json else which, 'a cache line one way',
                float(re.search(r'line_ns ([\d.]+)', out).group(1)), 'ns')


def bench_datapath(rep):
    ours = os.path.join(BENCH_DIR, 'bench_datapath')
    theirs = os.path.join(CACHE, 'bench', 'upstream_mlx4')
    have_peer = os.path.exists(theirs)
    rep.title('datapath: per packet (of 64 B, or 1500 B in two buffers or one), bursts of 32, 512 descriptors; peer: DPDK '
              'net_mlx4 %s%s' % (version('libdpdk'),
                                 '' if have_peer else ' (not available: its source package could not be fetched)'))
    found = {}
    for line in run([ours, 'list']).splitlines():
        direction, name = line.split()
        peer = have_peer and 'n/a' not in run([theirs, direction, name, '1'])
        program = {True: theirs, False: ours}

        def count(is_peer):
            return round(instructions(['mlx4_rx_burst*', 'mlx4_tx_burst*'],
                                      [program[is_peer], direction, name, str(BURSTS)]), 1)

        v, w = count(False), count(True) if peer else None
        case = '%s %s' % (direction, name)
        unit = 'poll' if name == 'empty' else 'packet'
        rep.row('datapath', case, 'instructions/' + unit, v, 'instr', 'net_mlx4', w)
        rep.row('datapath', case, 'cycles/' + unit, cycles([ours, direction, name]), 'cycles', 'net_mlx4',
                cycles([theirs, direction, name]) if peer else None)
        found[case] = v
        if name == 'empty':
            rep.goal('instructions of an empty poll', v, GOALS['empty'], 'instr')
        elif w is not None and not name.endswith('-there') and not name.startswith('one'):
            share = GOALS['plain' if name == 'plain' and direction != 'forward' else 'other']
            rep.goal('instructions of %s against net_mlx4' % case, v, share * w, 'instr')
    for case, plain in (('tx inline', 'tx plain'), ('tx one-blueflame', 'tx one'), ('tx one-inline', 'tx one')):
        rep.goal('instructions of %s against %s' % (case, plain), found[case], GOALS['inline'] * found[plain], 'instr')
    bench_verbs_rings(rep)


# Instructions that the project set itself for verbs on rings, beside a share of the provider's.
VERBS_GOALS = {'send-inline': 90, 'write-inline': 90, 'ud-inline': 90, 'send': 80, 'write': 80, 'read': 80, 'atomic': 80, 'ud': 80,
               'send-16': 45, 'write-16': 45, 'read-16': 45, 'atomic-16': 45, 'ud-16': 45, 'send-inline-16': 45,
               'write-inline-16': 45, 'recv': 45, 'recv-16': 45, 'srq-recv': 45, 'srq-recv-16': 45, 'poll-send-16': 40,
               'poll-read-16': 40, 'poll-recv-16': 40, 'poll-recv-imm-16': 40, 'poll-srq-16': 40, 'poll-ud-16': 40}


def bench_verbs_rings(rep):
    """Requests and completions of verbs on rings that no card reads; peer: rdma-core's provider on its own rings of the same kind."""
    ours = os.path.join(BENCH_DIR, 'bench_verbs_rings')
    theirs = os.path.join(CACHE, 'bench', 'verbs_peer')
    have_peer = os.path.exists(theirs)
    rep.title('datapath, verbs: per request or completion of 64 B, -16: 16 in a call; peer: rdma-core %s%s' % (
        version('libibverbs'), '' if have_peer else ' (not available)'))
    for line in run([ours, 'list']).splitlines():
        case, function = line.split()
        v, w = (round(instructions([function], [p, case, '512']), 1) if p else None
                for p in (ours, theirs if have_peer else None))
        rep.row('datapath', 'verbs ' + case, 'instructions', v, 'instr', 'rdma-core', w)
        rep.row('datapath', 'verbs ' + case, 'cycles', cycles([ours, case]), 'cycles', 'rdma-core',
                cycles([theirs, case]) if have_peer else None)
        if w is not None:
            rep.goal('instructions of verbs, %s, against rdma-core' % case, v, GOALS['other'] * w, 'instr')
        if case in VERBS_GOALS:
            rep.goal('instructions of verbs, %s' % case, v, VERBS_GOALS[case], 'instr')


# What the card carries out, and what was taken off again.
FREE_POLICIES = {'tx-off-again': 'policies that are off', 'tx-classes-pfc': 'classes, shares, limits and PFC when they send',
                 'rx-group-dropless': 'a group, dropless queues, PFC and trust in DSCP when they receive'}


def bench_policy(rep):
    """Each policy beside the same burst without; one that is off must cost nothing, nor one that the card carries out."""
    program = os.path.join(BENCH_DIR, 'bench_policy')
    rep.title('policy: instructions per packet of 64 B with a queue policy, bursts of 32, on a model card')
    plain = {}
    for line in run([program, 'list']).splitlines():
        case, function = line.split()
        d = case[:2]
        v = instructions([function], [program, case, str(POLICY_BURSTS)])
        plain.setdefault(d, v)
        rep.row('policy', case, 'instructions/packet', round(v, 1), 'instr', 'no policy', round(plain[d], 1))
        if case in FREE_POLICIES:
            rep.goal('instructions per packet that %s cost' % FREE_POLICIES[case], v - plain[d], 0.1, 'instr')


def bench_verbs(rep):
    """What the provider of the card takes for a work request and for its completion."""
    program = os.path.join(BENCH_DIR, 'bench_verbs')
    rep.title('verbs: instructions per work request or completion of 64 B on a queue pair of the card; batches are of 16')
    goals = {'send-inline': 70, 'poll': 60}
    for line in run([program, 'list']).splitlines():
        case, function = line.split()
        v = instructions([function], [program, case, '512'])
        rep.row('verbs', case, 'instructions', round(v, 1), 'instr')
        if case in goals:
            rep.goal('instructions of %s for 64 B' % function.replace('mlx4_roce_', ''), v, goals[case], 'instr')


def bench_tcp(rep):
    """Both ends of lib/tcp in one process; what a message costs on both, acknowledgements and all."""
    program, theirs = os.path.join(BENCH_DIR, 'bench_tcp'), os.path.join(CACHE, 'bench', 'lwip_tcp')
    have_peer = os.path.exists(theirs)
    rep.title('tcp: instructions per message or segment, sender and receiver together, with a card that does checksums; peer: lwIP%s' % (
        '' if have_peer else ' (not available: its source package could not be fetched)'))
    found, peer_has = {}, run([theirs, 'list']).splitlines() if have_peer else []
    for case in run([program, 'list']).splitlines():
        found[case] = instructions(['bench_*'], [program, case, '16000'])
        rep.row('tcp', case, 'instructions', round(found[case], 1), 'instr', *(
            ('lwIP', round(instructions(['bench_*'], [theirs, case, '16000']), 1)) if case in peer_has else ()))
    rep.goal('instructions of 100 B in a segment of its own', found['100_B'], GOALS['tcp'], 'instr')
    rep.goal('instructions of 100 B, 16 a flush', found['100_B_16_a_flush'], GOALS['tcp-flush'], 'instr')
    rep.goal('instructions over 1,000 connections against one', found['100_B_1000_connections'],
             GOALS['tcp-conns'] * found['100_B'], 'instr')


def bench_cc(rep):
    """A port of RoCE in software with many queue pairs on one lcore: what congestion control costs a packet."""
    program = os.path.join(BENCH_DIR, 'bench_cc')
    rep.title('cc: instructions of a packet of RoCE in software, each of a list of two, by queue pairs and by what congestion control does')
    found = {}
    for qps in (1000, 10000):
        for how in ('off', 'on', 'limited'):
            rounds = '4'
            found[qps, how] = instructions(['bench_progress'], [program, str(qps), how, rounds])
            rep.row('cc', '%d_%s' % (qps, how), 'instructions', round(found[qps, how], 1), 'instr')
            ns = re.search(r'ns_per_packet ([\d.]+)', run([program, str(qps), how, rounds]))
            rep.row('cc', '%d_%s' % (qps, how), 'CPU time', float(ns.group(1)), 'ns')
        rep.goal('instructions of a packet of one of %d queue pairs that congestion control does not limit, against without it' % qps, found[qps, 'on'],
                 GOALS['cc'] * found[qps, 'off'], 'instr')
    rep.goal('instructions of a packet of one of 10000 limited queue pairs, against one of 1000', found[10000, 'limited'],
             GOALS['cc-qps'] * found[1000, 'limited'], 'instr')


# Who a function is of, by the beginning of its name: what a packet of RoCE in software costs, entry by entry.
PARTS = (('CRC', ('troce_crc32', 'crc32_fold', 'troce_icrc', 'rsw_icrc')), ('copy', ('__mem', 'mem', 'rsw_remote_write', 'rsw_scatter')),
         ('engine', ('tre_', 'ib_', 'send_packet', 'send_ack', 'acknowledge', 'put_')), ('port', ('rsw_', 'troce_', 'tp_roce_', 'trn_', 'take', 'parse_', 'work')),
         ('driver', ('eth_ring', 'rte_', 'common_ring', '0x')))


def parts(command):
    """Instructions of a packet by whose they are, and of all; of functions that bench_* call."""
    with tempfile.TemporaryDirectory() as folder:
        cg = os.path.join(folder, 'callgrind')
        out = run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + cg, '--collect-atstart=no', '--toggle-collect=bench_*', *command])
        packets = int(re.search(r'packets (\d+)', out).group(1))
        listing = run(['callgrind_annotate', '--threshold=100', '--show-percs=no', cg])
    found = {'all': int(re.search(r'Collected : (\d+)', out).group(1)) / packets}
    for n, name in re.findall(r'^ *([\d,]+) +\S*:([\w.@]+)', listing, re.M):
        part = next((p for p, heads in PARTS if name.startswith(heads)), 'other')
        found[part] = found.get(part, 0) + int(n.replace(',', '')) / packets
    return found


def bench_qps(rep):
    """A port of RoCE in software with as many queue pairs as it may have; messages of some of them, and what a packet of 1 KiB costs."""
    program = os.path.join(BENCH_DIR, 'bench_qps')
    rep.title('qps: RC in software; memory of a queue pair with one request each way, and WRITEs of queue pairs in turns, both ends on one core')
    for n, active in ((10000, 1), (10000, 10000), (1000000, 10000), (1000000, 1000000)):
        out = run([program, str(n), str(active), '64', '20' if active == 10000 else '200000' if active == 1 else '1'], timeout=900)
        case = '%d of %d queue pairs' % (active, n)
        if active != 1:
            rep.row('qps', case, 'memory each', int(re.search(r'octets_each (\d+)', out).group(1)), 'octets')
            rep.row('qps', case, 'time to make one', float(re.search(r'us_to_make ([\d.]+)', out).group(1)), 'us')
        rep.row('qps', case, 'WRITEs of 64 B', round(1e3 / float(re.search(r'ns_per_packet ([\d.]+)', out).group(1)), 3), 'M/s')
    for active in (1, 10000):
        for size in (64, 1024):
            rep.row('qps', '%d of 10000, %d B' % (active, size), 'instructions',
                    round(instructions(['bench_*'], [program, '10000', str(active), str(size), '20000' if active == 1 else '2'])), 'instr')
    found = parts([program, '64', '64', '1024', '300'])
    for part, v in sorted(found.items(), key=lambda x: -x[1]):
        rep.row('qps', 'packet of 1 KiB', part, round(v), 'instr')


def bench_lanes(rep):
    """Ports of RoCE in software with a lane for each CPU; what a packet costs that comes to another lane's queue."""
    program = os.path.join(BENCH_DIR, 'bench_lanes')
    cpus = len(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4) if n <= cpus]
    rep.title('lanes: WRITEs of RC in software between two ports, 32 queue pairs a lane; lane i of both ends on CPU i; median of %d interleaved runs' % RUNS)
    found = {(size, n): [] for size in (64, 1024) for n in counts}
    for _ in range(RUNS):
        for (size, n), values in found.items():
            out = run([program, str(n), str(size), '20000', 'same', str(n)])
            values.append([float(v) for v in re.findall(r'ns_per_packet ([\d.]+)', out)])
    rates = {}
    for (size, n), values in found.items():
        wall, cpu = (statistics.median(v) for v in zip(*values))
        rates[size, n] = 1e3 / wall
        rep.row('lanes', '%d lanes, %d B' % (n, size), 'WRITEs', round(1e3 / wall, 3), 'M/s')
        # Beside other programs this says what a lane could do; a lane waits for nothing, so none of it is waiting.
        rep.row('lanes', '%d lanes, %d B' % (n, size), 'CPU time', round(cpu, 1), 'ns')
    for size in (64, 1024):
        same, other = (instructions(['bench_*'], [program, '2', str(size), '300', how]) for how in ('same', 'next'))
        rep.row('lanes', '%d B' % size, 'instructions', round(same), 'instr')
        # Of a WRITE and of its acknowledgement.
        rep.row('lanes', '%d B, each packet to another lane' % size, 'instructions', round(other), 'instr')
    rep.title('plot: %s' % plot.write(os.path.join(CACHE, 'bench'), 'lanes', '10^6 WRITEs a second of a port in software', [
        plot.Panel('lanes, each on a CPU with its peer', counts, [[rates[size, n] for n in counts] for size in (64, 1024)],
                   names=('64 B', '1 KiB'))]))


def bench_ipoib(rep):
    """What lib/ipoib adds to the calls of verbs: the bursts on a card of three functions, without what these take."""
    program = os.path.join(BUILD, 'tests/unit/ipoib/test_ipoib_burst')
    rep.title('ipoib: instructions per packet of lib/ipoib, 74 octets, bursts of 32, one neighbour')
    for way, text, burst, apart, apart_text, verbs, apart_verbs in (
            ('tx', 'send', 'ipoib_tx_burst', 'release', 'free what was sent', ['post_send', 'poll_cq'], []),
            ('rx', 'receive', 'ipoib_rx_burst', 'ipoib_rx_fill', 'post buffers', ['poll_cq'], ['post_recv'])):
        command = [program, way, '512']
        beside = instructions([apart], command)
        v = instructions([burst], command) - instructions(verbs, command) - beside
        if apart_verbs:
            beside -= instructions(apart_verbs, command)
        rep.row('ipoib', text, 'instructions', round(v, 1), 'instr')
        rep.row('ipoib', apart_text, 'instructions', round(beside, 1), 'instr')
        rep.goal('instructions that lib/ipoib takes to ' + text, v, 80, 'instr')
    for wire, text in (('cross', 'the card'), ('other', 'the card, as packets')):
        for size in (64, 960):
            v = instructions(['tp_model_step'], [os.path.join(BENCH_DIR, 'bench_ib_path'), '300', str(size - 18), wire])
            rep.row('ipoib', '%s, %d B' % (text, size), 'instructions', round(v, 1), 'instr')
            if size == 64:
                rep.goal('instructions of a datagram of IPoIB inside %s' % text, v, GOALS['ipoib-' + wire], 'instr')
    ipoib_rate.bench(rep, GOALS['ipoib-rate'])


def version(package):
    return run(['pkg-config', '--modversion', package]).strip()


class Peer:
    """One forwarding lcore on CPU 1; what the other end needs runs on CPU 0."""

    def __init__(self, name, vdevs, other=None, first=8, plugin=False):
        self.name, self.vdevs, self.other, self.first, self.plugin = name, vdevs, other, first, plugin


def peers(folder, size=64):
    bsize = 2048 if size <= 1518 else 9728
    # As many packets on the way: 8 bursts from each of two ports, or 16 from the only one.
    return [
        Peer('model', ['net_mlx4_model0,wire0=cross,cpu=0'], plugin=True),
        Peer('net_null', ['net_null0,size=%d', 'net_null1,size=%d'], first=0),
        Peer('net_ring', ['net_ring0', 'net_ring1']),
        Peer('net_memif', ['net_memif0,role=server,id=0,bsize=%d,socket=%s/memif.sock' % (bsize, folder)],
             other=['net_memif0,role=client,id=0,bsize=%d,socket=%s/memif.sock' % (bsize, folder)], first=16),
        Peer('vhost/virtio-user', ['net_vhost0,iface=%s/vhost.sock' % folder],
             other=['net_virtio_user0,path=%s/vhost.sock,mrg_rxbuf=1' % folder], first=16),
    ]


def testpmd(peer, vdevs, size, cpu, name, plugin):
    # One mbuf holds the frame for every peer. The pool is larger only where buffers are.
    jumbo = size > 1518
    args = ['--forward-mode=io', '--burst=32', '--mbuf-size=%d' % (9984 if jumbo else 2176),
            '--total-num-mbufs=8192', '--txpkts=%d' % size]
    if size > 1518 and plugin:
        args.append('--max-pkt-len=%d' % (size + 18))
    return tpmd.Testpmd([v % size if '%d' in v else v for v in vdevs], args, name=name, plugin=plugin,
                        on='0@0,1@%d' % cpu, memory=1024)


def packet_rate(peer, size, folder):
    """Packets per second that the forwarding lcore receives and sends on."""
    for f in os.listdir(folder):
        os.unlink(os.path.join(folder, f))
    with testpmd(peer, peer.vdevs, size, 1, 'a', peer.plugin) as a:
        b = testpmd(peer, peer.other, size, 0, 'b', False) if peer.other else None
        try:
            if b:
                b.cmd('start')
            time.sleep(0.3)
            a.cmd('start tx_first %d' % peer.first if peer.first else 'start')
            time.sleep(0.3)
            a.cmd('clear port stats all')
            t = time.monotonic()
            time.sleep(SECONDS)
            total = sum(a.stats(p).get('tx-packets', 0) for p in a.ports)
            rate = total / (time.monotonic() - t)
            a.cmd('stop')
        finally:
            if b:
                b.quit()
                b.kill()
    return rate


def bench_pps(rep):
    rep.title('pps: io forwarding, one lcore on CPU 1, the other end (model, peer process) on CPU 0; median of %d '
              'interleaved runs of %.0f s; DPDK %s; Mpps' % (RUNS, SECONDS, version('libdpdk')))
    small = {}
    with tpmd.scratch() as folder:
        for size in SIZES:
            rates = {}
            for _ in range(RUNS):
                for p in peers(folder, size):
                    try:
                        rates.setdefault(p.name, []).append(packet_rate(p, size, folder))
                    except RuntimeError as e:
                        rates.setdefault(p.name, [])
                        print('bench: %s at %d B: %s' % (p.name, size, str(e)[-300:]), file=sys.stderr)
            med = {n: statistics.median(v) / 1e6 if v else None for n, v in rates.items()}
            for n, v in med.items():
                if n != 'model':
                    rep.row('pps', 'io %d B' % size, 'packet rate', med['model'] and round(med['model'], 3), 'Mpps', n,
                            v and round(v, 3))
            if size == 64:
                small = med
    if small.get('net_memif') and small.get('model'):
        rep.goal('io forwarding of 64 B on the model against a net_memif pair', small['model'], small['net_memif'], 'Mpps',
                 at_least=True)
    else:
        rep.goal('io forwarding of 64 B on the model against a net_memif pair', None, 0, 'Mpps')


def card(what, rounds):
    args = tpmd.eal('bench%d' % os.getpid(), on='0@1', memory=256)
    return run([os.path.join(BENCH_DIR, 'bench_card')] + args + ['--', what, str(rounds)])


def bench_bringup(rep):
    rep.title('bringup: a two-port model card, hot-plugged into a running program; median of 7')
    out = card('bringup', 7)
    for key, text in (('probe_ms', 'probe'), ('start_ms', 'configure and start'), ('close_ms', 'close')):
        v = statistics.median(float(x) for x in re.findall(key + r' ([\d.]+)', out))
        rep.row('bringup', text, 'time', round(v, 3), 'ms')
    both = [float(a) + float(b) for a, b in re.findall(r'probe_ms ([\d.]+) start_ms ([\d.]+)', out)]
    rep.goal('bring-up of a card (probe, configure and start of both ports)', statistics.median(both), GOALS['bringup'], 'ms')


def cpu_seconds(pid):
    """Of all threads, in the scheduler's nanoseconds: ticks would round a thread that wakes briefly up or to nothing."""
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/schedstat' % (pid, task)) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def bench_idle(rep):
    rep.title('idle: a started two-port model card that nobody polls, 5 s; wake: one frame through a card idle for 200 ms')
    usage = {}
    for name, vdevs, plugin in (('model', ['net_mlx4_model0,wire0=cross'], True), ('net_null', ['net_null0', 'net_null1'], False)):
        with tpmd.Testpmd(vdevs, name='i', plugin=plugin) as t:
            time.sleep(1)
            before = cpu_seconds(t.proc.pid)
            time.sleep(5)
            usage[name] = 100 * (cpu_seconds(t.proc.pid) - before) / 5
    rep.row('idle', 'two ports', 'CPU', round(usage['model'], 2), '%', 'net_null', round(usage['net_null'], 2))
    rep.goal('CPU of an idle model', usage['model'], GOALS['idle'], '%')
    out = card('wake', 20)
    idle = [float(x) for x in re.findall(r'idle_us ([\d.]+)', out)]
    busy = [float(x) for x in re.findall(r'busy_us ([\d.]+)', out)]
    rep.row('idle', 'frame through idle card', 'median latency', round(statistics.median(idle), 2), 'us', 'awake card',
            round(statistics.median(busy), 2))
    rep.row('idle', 'frame through idle card', 'worst of 20', round(max(idle), 2), 'us', 'awake card', round(max(busy), 2))
    rep.goal('a frame through an idle card, median', statistics.median(idle), GOALS['wake'], 'us')
    rep.goal('a frame through a card that is awake, median', statistics.median(busy), GOALS['awake'], 'us')


def bench_polled(rep):
    """One core does all: the card run by who polls it, and by a thread of its own on that core."""
    program = os.path.join(BENCH_DIR, 'bench_polled')
    rep.title('polled: one core polls both ports of a model card and runs the card (run=poll); peer: the same with run=thread on '
              'that core; median of %d' % RUNS)

    def measure(case, how):
        args = tpmd.eal('polled%d' % os.getpid(), on='0@1', memory=256, plugin=False)
        cmd = ['taskset', '-c', str(tpmd.cpu(1)), program, case, how] + args
        found = [dict((k, float(v)) for v, k in re.findall(r'([\d.]+) (Mpps|p50_us|p99_us)', run(cmd))) for _ in range(RUNS)]
        return {k: statistics.median(f[k] for f in found) for k in found[0]}

    for case, text in (('flowgen', '64 B there and back'), ('echo', 'UDP echo of 64 B, one way'), ('rc', 'RC SEND of 2 B, one way')):
        ours, theirs = measure(case, 'poll'), measure(case, 'thread')
        for key, v in ours.items():
            name, unit = ('packet rate', key) if key == 'Mpps' else (key[:3], 'us')
            rep.row('polled', text, name, v, unit, 'run=thread', theirs[key])
        if case == 'flowgen':
            rep.goal('frames of 64 B that one core makes, forwards and receives', ours['Mpps'], 10, 'Mpps', at_least=True)
        else:
            rep.goal('median of %s on one core' % text, ours['p50_us'], 2, 'us')


def bench_model(rep):
    """Rows come from the program: 'model CASE METRIC VALUE UNIT'."""
    program = os.path.join(BENCH_DIR, 'bench_model_path')
    rep.title('model: the path of a frame through the model, without any driver; one thread')
    for size, rings, rules in ((60, 1, 0), (60, 4, 0), (60, 16, 0), (60, 64, 0), (1514, 1, 0), (114, 1, 50), (1514, 1, 50)):
        rows = re.findall(r'^model (\S+) (\S+) ([\d.]+) (\S+)$', run([program, '20000', str(size), str(rings), str(rules)]), re.M)
        if not rows:
            raise RuntimeError('%s printed no row' % program)
        for case, metric, value, unit in rows:
            rep.row('model', case.replace('_', ' '), metric.replace('_', ' '), float(value), unit)
        v = instructions(['tp_model_step'], [program, '300', str(size), str(rings), str(rules)])
        rep.row('model', rows[0][0].replace('_', ' '), 'instructions', round(v, 1), 'instr')
        if (size, rings, rules) == (60, 1, 0):
            rep.goal('instructions of a frame of 60 B inside the card', v, GOALS['model'], 'instr')


def bench_lines(rep):
    """Cache lines that a frame makes two cores pass to each other: counted from each access to memory, on caches that lose nothing."""
    rep.title('lines: cache lines of a forwarded frame of 64 B that the lcore and the card pass to each other, bursts of 32, 64 frames under way')
    found = lines.count(os.path.join(BENCH_DIR, 'bench_lines'), LINES_ROUNDS)
    for (name, who), n in sorted(found.items(), key=lambda f: -f[1]):
        rep.row('lines', name.replace('_', ' '), 'to the card' if who == lines.CARD else 'to the lcore', round(n, 3), 'lines')
    rep.row('lines', 'all', 'both ways', round(sum(found.values()), 3), 'lines')


def bench_roce(rep):
    roce.bench(rep, BENCH_DIR)


def bench_programs(rep):
    programs.bench(rep)


def bench_sockets(rep):
    sockets.bench(rep, os.path.join(os.environ['TP_BUILD'], 'preload/sockets/libtriplane-sockets.so'), os.path.join(CACHE, 'bench'))


def bench_scale(rep):
    scale.bench(rep, os.path.join(CACHE, 'bench'))


def bench_fabric(rep):
    fabric.bench(rep, os.path.join(BUILD, 'apps/triplane-fabric/triplane-fabric'))


def bench_kernel(rep):
    rep.title('kernel: what an interface of the kernel costs the lcore that polls the port, a packet; a port without one: nothing')
    for case, word in (('a frame of others', 'others'), ('a frame for the kernel', 'own')):
        rep.row('kernel', case, 'instructions', instructions(['tp_kernel_input'], [os.path.join(BENCH_DIR, 'bench_kernel_input'), word]),
                'instr')
    kernel.bench(rep)


def bench_capture(rep):
    rep.title('capture: what a capture costs the lcore that polls the port, a packet of 60 octets; a port without one: nothing')
    for case, word in (('into the ring', 'kept'), ("left out by 'udp dst port 53'", 'filtered'), ('lost, the ring is full', 'full')):
        rep.row('capture', case, 'instructions', instructions(['cap_burst'], [os.path.join(BENCH_DIR, 'bench_capture_burst'), word]),
                'instr')


BENCHES = {'datapath': bench_datapath, 'policy': bench_policy, 'verbs': bench_verbs, 'tcp': bench_tcp, 'cc': bench_cc, 'qps': bench_qps, 'lanes': bench_lanes, 'ipoib': bench_ipoib,
           'pps': bench_pps, 'scale': bench_scale, 'fabric': bench_fabric, 'bringup': bench_bringup, 'idle': bench_idle, 'polled': bench_polled, 'model': bench_model, 'lines': bench_lines, 'roce': bench_roce,
           'verbs-programs': bench_programs, 'kernel': bench_kernel, 'capture': bench_capture, 'sockets': bench_sockets}


def main(argv):
    names = [a for a in argv if a != '--json'] or list(BENCHES)
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        print("bench: unknown name '%s'; known: %s" % (unknown[0], ' '.join(BENCHES)), file=sys.stderr)
        return 2
    if not shutil.which('valgrind'):
        print('bench: valgrind is missing; ./tp setup installs it', file=sys.stderr)
        return 2
    rep = Report('--json' in argv)
    failed = 0
    show_machine(rep)
    for n in names:
        try:
            BENCHES[n](rep)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            print('bench: %s failed: %s' % (n, e), file=sys.stderr)
            failed = 1
    rep.finish()
    return failed or (3 if rep.missed else 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
