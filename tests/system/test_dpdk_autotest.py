#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own test program, as Debian ships it (dpdk-test of dpdk-dev), on ports of a model: those of its tests that use them."""
import os
import re
import shutil
import subprocess

import tpmd

cases = tpmd.Cases()
# pmd_perf has an lcore of its own for its ports.
LCORES = '0@0,1@1'


def autotest(name, card, limit, memory=1024):
    """What it printed; raises when it does not say that the test passed, and nothing else."""
    args = tpmd.eal('dt%d' % os.getpid(), on=LCORES, memory=memory)
    p = subprocess.run(['dpdk-test', *args, '--vdev=net_mlx4_model0,' + card], capture_output=True, timeout=limit,
                       stdin=subprocess.DEVNULL, env=dict(os.environ, DPDK_TEST=name))
    out = p.stdout.decode(errors='replace') + p.stderr.decode(errors='replace')
    if p.returncode != 0 or re.findall(r'Test (OK|Failed|Skipped)', out) != ['OK']:
        raise RuntimeError('exit status %d: %s' % (p.returncode, out[-600:]))
    return out


def rate():
    """Bursts of both ports in a loop for what its link carries in 4 s: the slower the link, the fewer frames."""
    out = autotest('pmd_perf_autotest', 'wire0=loopback,wire1=loopback,rate0=100,rate1=100', 250)
    ups = re.findall(r'Port (\d) Link up at 100 Mbps', out)
    done = re.search(r'^(\d+) packet, (\d+) drop', out, re.M)
    goal = re.search(r'stop after at least (\d+) packets', out)
    if sorted(set(ups)) != ['0', '1'] or done is None or goal is None or int(done[1]) < int(goal[1]) or int(goal[1]) < 100000:
        return out[-600:]
    return None


def event_receive():
    """An event adapter's queues, interrupts, buffers and statistics; the first port is ours."""
    out = autotest('event_eth_rx_adapter_autotest', 'ports=1,wire0=loopback', 250, memory=3072)
    if 'Port 0 MAC: 00 02 c9 a1 b2 01' not in out:
        return 'not on our port: ' + out[-600:]
    passed = re.findall(r'TestCase \[ *\d+\] : (\w+) succeeded', out)
    return None if len(passed) >= 10 and not re.search(r'Tests Failed : +[1-9]', out) else out[-600:]


if shutil.which('dpdk-test') is None:
    print('skip dpdk-test: it is not installed (package dpdk-dev)')
else:
    cases.run('dpdk-test-pmd-perf', rate)
    cases.run('dpdk-test-event-rx-adapter', event_receive)
cases.exit()
