#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: two processes with a busy lcore each.
"""
Secondary processes on ports of a primary: unmodified dpdk-testpmd beside dpdk-testpmd, each with queues of its own,
dpdk-proc-info, and what becomes of the primary when a secondary is killed. What one process counts the other must see, and what
goes round on the wire must be in the sum of both.
"""
import os
import re
import subprocess

import tpmd
from pages import Pages

# The primary's lcore has the first CPU; the card and the secondary's lcore share the last one.
LAST = tpmd.cpu(1)
cases = tpmd.Cases()


def eal(prefix, pages, *more):
    # Of this kind of pool a process that dies leaves nothing half done.
    return ['--no-telemetry', '--file-prefix=' + prefix, '--huge-dir', pages.folder.name, '--no-pci',
            '--log-level=lib.eal:error', '--mbuf-pool-ops-name=lf_stack', *more, '-d', tpmd.PLUGIN]


QUEUES = ['--rxq=2', '--txq=2', '--rxd=256', '--txd=256', '--num-procs=2']


def primary(prefix, pages, vdevs, *args):
    return tpmd.Testpmd(vdevs, QUEUES + ['--proc-id=0', *args], timeout=60,
                        eal_args=eal(prefix, pages, '--lcores', tpmd.lcores('0@0,1@0'), '--proc-type=primary', '-m', '200'))


def secondary(prefix, pages, *args):
    return tpmd.Testpmd([], QUEUES + ['--proc-id=1', *args], timeout=60,
                        eal_args=eal(prefix, pages, '--lcores', tpmd.lcores('2@1,3@1'), '--proc-type=secondary'))


def proc_info(prefix, pages, *args):
    p = subprocess.run(['dpdk-proc-info'] + eal(prefix, pages) + ['--', *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return p.stdout.decode(errors='replace')


def queues(t, port):
    """Packets by queue: [rx], [tx]."""
    x = t.xstats(port)
    return tuple([x['%s_q%d_packets' % (d, q)] for q in range(2)] for d in ('rx', 'tx'))


def both_send(pages, vdevs, prefix):
    """Each process sends from a queue of its own, and both count the same."""
    with primary(prefix, pages, vdevs, '--forward-mode=txonly') as a, \
            secondary(prefix, pages, '--forward-mode=txonly') as b:
        for t in (a, b):
            t.cmd('set txpkts 64')
        b.cmd('start')
        if not tpmd.wait_until(lambda: queues(a, 0)[1][1] > 1000):
            return 'the primary does not see what the secondary sends: %s' % (queues(a, 0),)
        if queues(a, 0)[1][0] != 0:
            return 'the primary has sent without being told: %s' % (queues(a, 0),)
        a.cmd('start')
        if not tpmd.wait_until(lambda: queues(b, 1)[1][0] > 1000):
            return 'the secondary does not see what the primary sends: %s' % (queues(b, 1),)
        a.cmd('stop')
        b.cmd('stop')
        # Stopped: both processes read the same of the same port.
        if not tpmd.wait_until(lambda: a.stats(0) == b.stats(0) and a.stats(1) == b.stats(1)):
            return 'primary %s, secondary %s' % (a.stats(0), b.stats(0))
    return None


def both_receive(pages, vdevs, prefix):
    """RSS spreads flows over the queues of both processes: every frame is received by one of them or counted as missed."""
    with primary(prefix, pages, vdevs, '--forward-mode=rxonly', '--txonly-multi-flow') as a, \
            secondary(prefix, pages, '--forward-mode=rxonly') as b:
        b.cmd('start')
        a.cmd('set fwd txonly')
        a.cmd('start')
        got = tpmd.wait_until(lambda: min(queues(b, 0)[0][1], queues(b, 1)[0][1]) > 1000)
        a.cmd('stop')
        # What the primary's own queue holds it takes now.
        a.cmd('set fwd rxonly')
        a.cmd('start')

        def settled():
            x = [b.xstats(p) for p in (0, 1)]
            return all(x[p]['tx_good_packets'] == x[1 - p]['rx_good_packets'] + x[1 - p]['rx_missed_errors'] for p in (0, 1))
        whole = tpmd.wait_until(settled)
        a.cmd('stop')
        b.cmd('stop')
        if not got:
            return 'the secondary receives nothing: %s' % (queues(b, 0),)
        if not whole:
            return 'sent is not received + missed: %s' % [a.stats(p) for p in (0, 1)]
    return None


def killed(pages, vdevs, prefix):
    """A secondary dies while it sends and receives; the primary goes on, stops, starts, and another one attaches."""
    with primary(prefix, pages, vdevs, '--forward-mode=txonly', '--txonly-multi-flow') as a:
        for _ in range(3):
            with secondary(prefix, pages, '--forward-mode=txonly') as b:
                b.cmd('start')
                a.cmd('start')
                ok = tpmd.wait_until(lambda: queues(a, 0)[1][1] > 1000)
                b.kill()
            before = queues(a, 0)[1]
            if not ok or not tpmd.wait_until(lambda: queues(a, 0)[1][0] > before[0] + 1000):
                return 'after the death of the secondary: %s, before %s' % (queues(a, 0), before)
            a.cmd('stop')
            a.cmd('port stop all')
            if 'rror' in a.cmd('port start all'):
                return 'start after it: ' + a.text[-500:]
            a.cmd('clear port stats all')
        text = a.text
    return None if a.proc.returncode == 0 and 'mlx4:' not in text else text[-800:]


def info(pages, vdevs, prefix):
    """dpdk-proc-info prints what the primary's own prompt does."""
    with primary(prefix, pages, vdevs, '--forward-mode=txonly') as a:
        a.cmd('start')
        ok = tpmd.wait_until(lambda: queues(a, 0)[1][0] > 1000)
        a.cmd('stop')
        if not ok:
            return 'no traffic'
        want = {}

        def quiet():
            last = dict(want)
            want.update(a.xstats(0))
            del want['device_commands']  # a question is some more of them
            return last == want
        tpmd.wait_until(quiet)
        out = proc_info(prefix, pages, '-p', '1', '--xstats')
        got = {k: int(v) for k, v in re.findall(r'^(\w+): (\d+)\s*$', out, re.M)}
        bad = {k: (v, got.get(k)) for k, v in want.items() if got.get(k) != v}
        if not want or bad:
            return 'xstats differ, primary and dpdk-proc-info: %s; %s' % (bad, out[-300:])
        stats = a.stats(0)
        out = proc_info(prefix, pages, '-p', '1', '--stats')
        tx = re.search(r'TX-packets: *(\d+)', out)
        if not tx or int(tx.group(1)) != stats['tx-packets']:
            return 'stats: %s against %s' % (out[-500:], stats)
        out = proc_info(prefix, pages, '-p', '1', '--show-port')
        if 'Link up at 40 Gbps' not in out or 'driver net_mlx4_model' not in out:
            return 'show-port: ' + out[-500:]
        proc_info(prefix, pages, '-p', '1', '--stats-reset')
        if a.stats(0)['tx-packets'] != 0:
            return 'stats-reset did not: %s' % a.stats(0)
    return None


def refused(pages, vdevs, prefix):
    """What only the primary may do is refused with a line, and the port is as before."""
    with primary(prefix, pages, vdevs, '--forward-mode=txonly') as a, secondary(prefix, pages, '--forward-mode=txonly') as b:
        for line, what in (('port config mtu 0 1400', 'MTU'), ('set promisc 0 off', 'promiscuous mode'),
                           ('mac_addr set 0 02:00:00:00:00:01', 'the MAC address'),
                           ('set allmulti 0 on', 'all-multicast mode'), ('set link-down port 0', 'link down'),
                           ('port 0 rxq 0 stop', 'start or stop of a queue')):
            out = b.cmd(line)
            if 'port 0: %s: only the primary process can do this' % what not in out:
                return '%s: %s' % (line, out)
        # A program that configures every port that it finds.
        p = subprocess.run([os.path.join(os.environ['TP_BUILD'], 'apps/triplane')] +
                           # which has the driver in itself
                           eal(prefix, pages, '--lcores', tpmd.lcores('4@0,5@0'), '--proc-type=secondary')[:-2] +
                           ['--', '--total-num-mbufs=2048', '-e', 'quit'],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        if p.returncode == 0 or b'Operation not supported' not in p.stdout:
            return 'triplane as a secondary: %d %s' % (p.returncode, p.stdout[-500:].decode())
        # And it still works, in both processes.
        b.cmd('start')
        if not tpmd.wait_until(lambda: queues(a, 0)[1][1] > 1000):
            return 'the port does not send any more: %s' % (queues(a, 0),)
        b.cmd('stop')
        if 'up' not in b.cmd('show port info 0').lower():
            return 'link: ' + b.text[-500:]
    return None


def hotplug(pages, vdevs, prefix):
    """A card that the primary plugs in at run time is in both processes, and gone from both when it is pulled out."""
    with primary(prefix, pages, vdevs) as a, secondary(prefix, pages) as b:
        out = a.cmd('port attach net_mlx4_model7,guid=0x7700000000')
        if 'is attached' not in out:
            return 'attach: ' + out
        port = int(re.search(r'Port (\d+) is attached', out).group(1))
        if 'net_mlx4_model7' not in b.cmd('show device info all'):
            return 'the secondary has no such device: ' + b.text[-600:]
        a.cmd('port close %d' % port)
        out = a.cmd('device detach net_mlx4_model7')
        if 'net_mlx4_model7' in b.cmd('show device info all'):
            return 'it stays in the secondary: ' + b.text[-600:]
    return None


def run(fn, pages, name, vdevs):
    if pages.why is not None:
        return 'skip ' + pages.why
    prefix = 'tpsec%d%s' % (os.getpid(), name)
    return fn(pages, vdevs, prefix)


def in_another_process(fn, pages, name):
    """The same on a card that is a process of its own."""
    with tpmd.scratch() as d:
        path = os.path.join(d, 'card.sock')
        hca = subprocess.Popen([os.path.join(os.environ['TP_BUILD'], 'apps/triplane-hca/triplane-hca'), '--socket', path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not tpmd.wait_until(lambda: os.path.exists(path)):
                return 'triplane-hca makes no socket'
            return run(fn, pages, name, ['net_mlx4_user0,socket=' + path])
        finally:
            hca.kill()
            hca.wait()


MODEL = ['net_mlx4_model0,cpu=%d' % LAST]

with Pages() as hugepages:
    for case, case_fn in (('two-send', both_send), ('two-receive', both_receive), ('proc-info', info), ('refused', refused),
                          ('killed', killed), ('hotplug', hotplug)):
        cases.run('secondary-' + case, run, case_fn, hugepages, case, MODEL)
    cases.run('secondary-of-user', in_another_process, both_send, hugepages, 'user')
cases.exit()
