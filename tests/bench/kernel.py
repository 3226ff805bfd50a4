# SPDX-License-Identifier: BSD-3-Clause
"""TCP between two kernels over the ports of a card: interfaces of triplane beside the ports, and taps of DPDK that it forwards
with, in the same namespaces; iperf3 on a veth pair, where no card is in between, shows what the machine can."""
import json
import os
import statistics
import subprocess
import sys

import tpmd

RUNS = 3
SECONDS = 3
A, B = 'tpba%d' % os.getpid(), 'tpbb%d' % os.getpid()
IF = ('tpb0%d' % os.getpid(), 'tpb1%d' % os.getpid())
OFFLOADS = ('rx-tcp-lro', 'rx-ipv4-cksum', 'rx-tcp-cksum', 'rx-udp-cksum')


def sh(*cmd):
    subprocess.run(cmd, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)


def there(name):
    return os.path.exists('/sys/class/net/' + name)


def lines(kind):
    """What makes the interfaces: beside the ports as they are, with all that makes TCP fast, or as ports of their own."""
    if kind == 'net_tap':
        return ['set topology paired', 'set peer 0 2; set peer 2 0; set peer 1 3; set peer 3 1', 'set fwd io', 'start']
    more = []
    if kind == 'tuned':
        more = ['port stop all'] + ['set setting %d %s %s' % (n, s, v) for n in (0, 1)
                                    for s, v in [(s, 'on') for s in OFFLOADS] + [('rx-ring', '4096')]] + ['port start all']
    return more + ['kernel %d on %s' % (n, IF[n]) for n in (0, 1)] + ['set fwd rxonly', 'start']


class Pair:
    """Two namespaces with an interface each."""

    def __init__(self, kind):
        self.program = None
        if kind == 'veth':
            sh('ip', 'link', 'add', IF[0], 'type', 'veth', 'peer', 'name', IF[1])
            return
        taps = ['net_tap%d,iface=%s' % (n, IF[n]) for n in (0, 1)] if kind == 'net_tap' else []
        self.program = tpmd.Triplane(['net_mlx4_model0'] + taps, on='0@0,1@1', memory=1024)
        self.program.tell('set setting program idle-sleep 50')
        for line in lines(kind):
            self.program.tell(line)
        self.program.ask('show port info all')

    def __enter__(self):
        if not tpmd.wait_until(lambda: there(IF[0]) and there(IF[1])):
            raise RuntimeError('no interfaces: %s' % (self.program.said() if self.program else ''))
        for n, space in enumerate((A, B)):
            sh('ip', 'netns', 'add', space)
            sh('ip', 'link', 'set', IF[n], 'netns', space)
            # Taps of DPDK have the address of the port behind them.
            sh('ip', '-n', space, 'link', 'set', IF[n], 'address', '02:00:00:00:be:0%d' % n)
            sh('ip', '-n', space, 'addr', 'add', '192.0.2.%d/24' % (n + 1), 'dev', IF[n])
            sh('ip', '-n', space, 'link', 'set', IF[n], 'up')
        sh('ip', 'netns', 'exec', A, 'ping', '-c', '1', '-w', '30', '192.0.2.2')
        return self

    def __exit__(self, kind, value, tb):
        if self.program is not None:
            self.program.__exit__(kind, value, tb)
        for space in (A, B):
            subprocess.run(['ip', 'netns', 'del', space], stderr=subprocess.DEVNULL, check=False)

    def gbits(self, reverse):
        server = subprocess.Popen(['ip', 'netns', 'exec', B, 'iperf3', '-s', '-1', '--forceflush'], stdout=subprocess.PIPE, text=True)
        try:
            while 'listening' not in server.stdout.readline():
                pass
            out = subprocess.run(['ip', 'netns', 'exec', A, 'iperf3', '-c', '192.0.2.2', '-t', str(SECONDS), '-J'] + ['-R'] * reverse,
                                 stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout
            return json.loads(out)['end']['sum_received']['bits_per_second'] / 1e9
        finally:
            server.kill()
            server.communicate()


def rates(kind):
    """Of both directions; None: it failed."""
    try:
        with Pair(kind) as p:
            return [statistics.median(p.gbits(r) for _ in range(RUNS)) for r in (False, True)]
    except (RuntimeError, KeyError, OSError, subprocess.SubprocessError) as e:
        print('bench: kernel: %s: %s' % (kind, e), file=sys.stderr)
        return [None, None]


def bench(rep):
    rep.title('kernel: one TCP stream of iperf3 between two kernels over the ports of a card; medians of %d runs of %d s, Gbit/s' % (RUNS, SECONDS))
    peer, veth = rates('net_tap'), rates('veth')
    for name, kind in (('as a port is', 'plain'), ('rx-tcp-lro, rx-ring 4096', 'tuned')):
        for way, value, tap in zip(('there', 'back'), rates(kind), peer):
            rep.row('kernel', name, way, value, 'Gbit/s', 'net_tap', tap)
    for way, value in zip(('there', 'back'), veth):
        rep.row('kernel', 'veth, without a card', way, value, 'Gbit/s')
