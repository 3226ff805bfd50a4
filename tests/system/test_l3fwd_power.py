#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: it looks at lcores that sleep.
"""
Receive interrupts under DPDK's own example l3fwd-power, unmodified, as its test plan has them: its lcores sleep, a packet for a queue
wakes the lcore that has it and no other, and leaves by the port of its route. scapy makes the packets and judges what leaves.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import tpmd
from scapy.all import IP, UDP, AsyncSniffer, Ether, Raw, sendp

PROGRAM = 'dpdk-l3fwd-power'
TAPS = ['tpl%d%d' % (i, os.getpid() % 10000) for i in (0, 1)]
IN, OUT = 2, 3  # the card's ports, behind those of its wires
QUEUES = 2
ROUTED = '4.1.1.1'  # by the example's own table of routes: to port 3
cases = tpmd.Cases()


class Forwarder:
    """Queue 0 of the first port on lcore 0, queue 1 and the other port on lcore 1."""

    def __init__(self):
        self.log = tempfile.NamedTemporaryFile('r', suffix='.log')
        vdevs = ['net_tap%d,iface=%s' % (i, t) for i, t in enumerate(TAPS)]
        vdevs.append('net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1')
        cmd = ['stdbuf', '-oL', PROGRAM, *tpmd.eal('l3p%d' % os.getpid(), on='0@0,1@1'), *['--vdev=' + v for v in vdevs], '--',
               '-p', hex(1 << IN | 1 << OUT), '-P', '--config=(%d,0,0),(%d,1,1),(%d,0,1)' % (IN, IN, OUT), '--interrupt-only',
               '--parse-ptype']
        with open(self.log.name, 'w') as out:
            self.proc = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        if not tpmd.wait_until(lambda: self.text().count('entering main interrupt loop') == 2):
            raise RuntimeError('it does not start: ' + self.text()[-500:])

    def text(self):
        with open(self.log.name, errors='replace') as f:
            return f.read()

    def woken(self):
        """How often each lcore was woken for each queue of the first port."""
        found = re.findall(r'lcore (\d+) is waked up from rx interrupt on port %d queue (\d+)' % IN, self.text())
        return {(l, q): found.count((str(l), str(q))) for l in range(2) for q in range(QUEUES)}

    def end(self):
        self.proc.send_signal(signal.SIGINT)
        rc = self.proc.wait(30)
        self.log.close()
        return rc


def packet(i):
    return Ether(dst='00:02:c9:a1:b2:01', src='02:00:00:00:00:09') / IP(src='10.9.0.%d' % i, dst=ROUTED, ttl=9) / UDP(
        sport=i, dport=7) / Raw(b'l3fwd%03d' % i + bytes(20))


def wakes(f):
    """One after the other, so that each finds its lcore asleep."""
    got = []
    sniffer = AsyncSniffer(iface=TAPS[1], lfilter=lambda p: IP in p and p[IP].dst == ROUTED, prn=lambda p: got.append(p), store=False)
    sniffer.start()
    if not tpmd.wait_until(lambda: getattr(sniffer, 'running', False) and hasattr(sniffer, 'stop_cb')):
        return 'no sniffer'
    used = set()
    for i in range(1, 17):
        before = f.woken()
        sendp(packet(i), iface=TAPS[0], verbose=0)
        if not tpmd.wait_until(lambda: len(got) >= i):
            return 'packet %d does not come out; woken %s' % (i, f.woken())
        after = f.woken()
        grown = {k for k in after if after[k] != before[k]}
        if not grown or not grown <= {(0, 0), (1, 1)}:
            return 'packet %d woke %s' % (i, grown)
        used |= grown
    sniffer.stop()
    if len(got) != 16 or used != {(0, 0), (1, 1)}:
        return '%d packets came, queues that woke: %s' % (len(got), used)
    for i, p in enumerate(got, 1):
        if p[IP].ttl != 8 or p[UDP].sport != i or p.src != '00:02:c9:a1:b2:02' or not bytes(p[Raw]).startswith(b'l3fwd%03d' % i):
            return 'packet %d: %s' % (i, p.summary())
    return None


def sleeps(f):
    """Nothing is there for them: they take next to no time of a processor. The card's own thread looks at its wires now and then."""
    def quiet():
        before = ticks(f)
        time.sleep(1)
        return ticks(f) - before < os.sysconf('SC_CLK_TCK') // 4
    return None if tpmd.wait_until(quiet) else 'its lcores do not sleep'


def ticks(f):
    with open('/proc/%d/stat' % f.proc.pid) as s:
        return sum(int(n) for n in s.read().rsplit(')', 1)[1].split()[11:13])


if os.getuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip l3fwd-power: taps need root and /dev/net/tun')
elif shutil.which(PROGRAM) is None:
    print('skip l3fwd-power: there is no %s (of DPDK: meson setup -Dexamples=l3fwd-power)' % PROGRAM)
else:
    forwarder = Forwarder()
    cases.run('l3fwd-power-wakes', wakes, forwarder)
    cases.run('l3fwd-power-sleeps', sleeps, forwarder)
    if forwarder.end() != 0:
        cases.run('l3fwd-power-end', lambda: 'exit status %d' % forwarder.proc.returncode)
cases.exit()
