#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: it takes hugepages of the machine, and two processes have a busy lcore each.
"""dpdk-dumpcap and dpdk-pdump of the distribution beside triplane and beside dpdk-testpmd, on ports of the card: what they write
is what scapy made."""
import contextlib
import os
import re
import shutil
import signal
import subprocess

from scapy.all import IP, UDP, Ether, Raw, rdpcap, wrpcap

import tpmd
from pages import Pages

LAST = tpmd.cpu(1)
cases = tpmd.Cases()
PATIENCE = 60
CARD = 'net_mlx4_model0'


def eal(prefix, pages, *more):
    return ['--no-telemetry', '--file-prefix=' + prefix, '--huge-dir', pages.folder.name, '--no-pci', '--log-level=lib.eal:error', *more]


def frames(n):
    """Frames by their number."""
    return [Ether(src='02:00:00:00:00:01', dst='02:00:00:00:01:01') / IP(src='192.0.2.1', dst='198.51.100.1') /
            UDP(sport=1000, dport=53 if i % 4 == 0 else 80) / Raw(b'%08d' % i + bytes(20 + i % 900)) for i in range(n)]


# DPDK numbers kinds of mempools in the order in which a process loads them. Of all programs dpdk-testpmd alone brings one by itself,
# and so it and dpdk-dumpcap have no mempools in common, with ports of any driver, unless the others load that one first.
FIRST = re.findall(r'(\S*librte_mempool_\S+)$',
                   subprocess.run(['ldd', shutil.which('dpdk-testpmd')], stdout=subprocess.PIPE, check=True).stdout.decode()
                   .replace(' (0x', '\n'), re.M)


@contextlib.contextmanager
def preloaded(*more):
    """Programs that are started here have the driver loaded, since they know no -d."""
    os.environ['LD_PRELOAD'] = ':'.join([*more, tpmd.PLUGIN])
    try:
        yield
    finally:
        del os.environ['LD_PRELOAD']


class Owner:
    """A primary whose first port receives frames from a file, again and again, and whose second one sends them on."""

    def __init__(self, pages, folder, program):
        self.prefix = 'tpcap%d%s' % (os.getpid(), program[:4])
        self.frames = [bytes(f) for f in frames(200)]
        wrpcap(folder + '/in.pcap', [Ether(f) for f in self.frames])
        vdevs = ['net_pcap0,rx_pcap=%s/in.pcap,tx_pcap=%s/back.pcap,infinite_rx=1' % (folder, folder),
                 'net_null0,no-rx=1', CARD + ',cpu=%d,wire0=ethdev:net_pcap0,wire1=ethdev:net_null0' % LAST]
        args = eal(self.prefix, pages, '--lcores', tpmd.lcores('0@0,1@0'), '--proc-type=primary', '-m', '200')
        self.first = FIRST if program == 'testpmd' else []
        if program == 'testpmd':
            with preloaded():
                self.t = tpmd.Testpmd(vdevs, ['--forward-mode=io', '--rxd=256', '--txd=256'], timeout=60, eal_args=args)
            self.port = self.t.ports[0]
            self.t.cmd('start')
        else:
            self.t = tpmd.Triplane(vdevs, ['--total-num-mbufs=8192'], eal_args=args)
            self.port = min(p['port'] for p in self.t.ask('show port info all')['ports'])
            self.t.tell('start')

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        # A dumpcap that ends stops net_pcap in the primary, too, and frees memory that a poller may still copy into.
        self.t.proc.kill()
        self.t.proc.communicate()

    def ran(self, args, until):
        """A program beside it, until something is true; what it said, and its end."""
        with preloaded(*self.first):
            p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            if not tpmd.wait_until(lambda: p.poll() is not None or until(), PATIENCE):
                raise RuntimeError('%s: nothing within %d s' % (args[0], PATIENCE))
            p.send_signal(signal.SIGINT)
            out = p.communicate(timeout=PATIENCE)[0].decode(errors='replace')
        finally:
            p.kill()
            p.wait()
        return p.returncode, out


def known(own, path):
    """What is not right in a file of frames that went round and round."""
    got = [bytes(f) for f in rdpcap(path)]
    number = {f: i for i, f in enumerate(own.frames)}
    odd = [f for f in got if f not in number]
    if len(got) < 100 or odd:
        return '%d frames, %d of them none of scapy\'s' % (len(got), len(odd))
    return None


def grown(path, octets):
    return lambda: os.path.exists(path) and os.path.getsize(path) > octets


def dumpcap(pages, program):
    with tpmd.scratch() as d, Owner(pages, d, program) as own:
        path = d + '/dump.pcapng'
        rc, out = own.ran(['dpdk-dumpcap', '--file-prefix=' + own.prefix, '-i', str(own.port), '-w', path, '-p', '-c', '400'],
                          lambda: False if not os.path.exists(path) else os.path.getsize(path) > 1 << 20)
        why = known(own, path)
        if rc != 0 or why:
            return 'exit %d, %s: %s' % (rc, why, out[-500:])
        names = subprocess.run(['tshark', '-n', '-r', path, '-T', 'fields', '-e', 'frame.interface_name'], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=60).stdout.decode().split()
        # Names of that library, not the port's.
        if set(names) != {'dpdk:%d' % own.port}:
            return 'interfaces %s' % set(names)
    return None


def filtered(pages, program):
    """By the port's name, and with a filter."""
    with tpmd.scratch() as d, Owner(pages, d, program) as own:
        path = d + '/udp.pcapng'
        rc, out = own.ran(['dpdk-dumpcap', '--file-prefix=' + own.prefix, '-i', CARD + '_p0', '-w', path, '-p', '-c', '100', '-f', 'udp dst port 53'],
                          lambda: False)
        ports = subprocess.run(['tshark', '-n', '-r', path, '-T', 'fields', '-e', 'udp.dstport'], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=60).stdout.decode().split()
        return None if rc == 0 and set(ports) == {'53'} and len(ports) >= 100 else 'exit %d, ports %s: %s' % (rc, set(ports), out[-500:])


def pdump(pages, program):
    with tpmd.scratch() as d, Owner(pages, d, program) as own:
        path = d + '/pdump.pcap'
        rc, out = own.ran(['dpdk-pdump', *eal(own.prefix, pages, '--lcores', tpmd.lcores('2@1')), '--', '--pdump',
                           'port=%d,queue=*,rx-dev=%s,total-num-mbufs=4095' % (own.port, path)], grown(path, 1 << 18))
        why = known(own, path) if os.path.exists(path) else 'no file'
        return None if rc == 0 and not why else 'exit %d, %s: %s' % (rc, why, out[-800:])


def run(fn, pages, *args):
    return fn(pages, *args) if pages.why is None else 'skip ' + pages.why


with Pages() as hugepages:
    for case, case_fn, owner in (('dumpcap', dumpcap, 'triplane'), ('dumpcap', dumpcap, 'testpmd'), ('filter', filtered, 'triplane'),
                                 ('pdump', pdump, 'triplane'), ('pdump', pdump, 'testpmd')):
        cases.run('capture-%s-of-%s' % (case, owner), run, case_fn, hugepages, owner)
cases.exit()
