#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: one line that names the value and what is allowed, a non-zero exit, nothing left behind."""
import glob
import os
import subprocess

import tpmd

cases = tpmd.Cases()
APP = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
M = 'net_mlx4_model0'

# name, vdevs, application arguments, what the error line must contain
TABLE = [
    ('unknown-key', [M + ',colour=red'], [], ['colour']),
    ('bad-type', [M + ',type=cx9'], [], ['type', 'cx9', 'cx3']),
    ('bad-firmware-text', [M + ',fw=2.x'], [], ['fw', '2.x']),
    ('old-firmware', [M + ',fw=2.9.1000'], [], ['2.9.1000', '2.30.8000']),
    ('bad-guid', [M + ',guid=0xzz'], [], ['guid', '0xzz']),
    ('bad-ports', [M + ',ports=3'], [], ['ports', '3', '2']),
    ('unknown-wire', [M + ',wire0=string'], [], ['wire0', 'string', 'loopback']),
    ('absent-ethdev', [M + ',wire0=ethdev:net_nothing'], [], ['net_nothing']),
    ('bad-wake', [M + ',wake-us=0'], [], ['wake-us', '0', '1000000']),
    ('bad-inline', [M + ',tx-inline=9999'], [], ['tx-inline', '9999', '104']),
    ('bad-impairment', [M + ',impair0=drop:2000000'], [], ['2000000', '1000000']),
    ('bad-rate', [M + ',rate0=100001'], [], ['rate0', '100001', '100000']),
    ('bad-buffer', [M + ',rxbuf=1000'], [], ['rxbuf', '1000', '16384']),
    ('xoff-outside-buffer', [M + ',rxbuf=20000,xoff=20001'], [], ['xoff', '20001', '20000']),
    ('xon-above-xoff', [M + ',xoff=5000,xon=6000'], [], ['xon', '6000', '5000']),
    ('one-guid-twice', [M + ',guid=0x0002c90300000010', 'net_mlx4_model1,guid=0x0002c90300000010'], [],
     ['2c90300000010', 'net_mlx4_model']),
    ('one-guid-twice-ends', [M + ',guid=0x0002c90300000010', 'net_mlx4_model1,guid=0x0002c90300000010'], [],
     ['error: --vdev=net_mlx4_model1,guid=0x0002c90300000010', 'did not start']),
    ('vdev-without-driver', ['net_nothing0', M], [], ["'net_nothing0'"]),
    ('no-port', [], [], ['found no port', '1 or more']),
    ('command-timeout', [M + ',timeout=INIT_HCA:1'], [], ['INIT_HCA']),
    ('command-fails', [M + ',fail=INIT_HCA:1:3'], [], ['INIT_HCA', '0x03']),
    ('too-many-queues', [M], ['-e', 'port config 0 rxq 4096'], ['4096', '256']),
    ('mtu-too-large', [M], ['-e', 'port config 0 mtu 20000'], ['20000', '9600']),
    ('mtu-too-small', [M], ['-e', 'port config 0 mtu 100'], ['100', '600']),
    ('bad-mac', [M], ['-e', 'port mac add 0 00:11:22'], ['00:11:22']),
    ('unknown-command', [M], ['-e', 'fly'], ['fly']),
    ('unreadable-file', [M], ['--cmdline-file', '/nonexistent/commands'], ['/nonexistent/commands']),
]


def bad(vdevs, args, words):
    prefix = 'tpbad%d' % os.getpid()
    cmd = [APP] + tpmd.eal(prefix, plugin=False, memory=256) + ['--vdev=' + v for v in vdevs] + ['--']
    p = subprocess.run(cmd + (args or ['-e', 'show port info all']), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=240)
    out = p.stdout.decode(errors='replace')
    if p.returncode == 0:
        return 'exit status 0: %s' % out[-300:]
    if p.returncode < 0 or p.returncode >= 128:
        return 'ended by signal %d: %s' % (p.returncode, out[-300:])
    if not any(all(w in line for w in words) for line in out.splitlines()):
        return 'no line has %s: %s' % (words, out[-500:])
    left = glob.glob('%s/%s*/*' % (tpmd.RUN, prefix)) + glob.glob('/dev/shm/*%s*' % prefix)
    return None if not left else 'left behind: %s' % left


def no_hugepages():
    """Without --no-huge and without pages the EAL says so itself; the program ends with an error and no crash."""
    try:
        free = int(open('/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages').read())
    except OSError:
        free = 0
    if free:
        return 'skip this machine has hugepages'
    p = subprocess.run([APP, '--no-pci', '--in-memory', '-m', '64', '--', '-e', 'quit'], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    out = p.stdout.decode(errors='replace')
    return None if 0 < p.returncode < 128 and 'huge' in out.lower() else 'exit %d: %s' % (p.returncode, out[-300:])


for name, vdevs, args, words in TABLE:
    cases.run('bad-' + name, bad, vdevs, args, words)
cases.run('bad-no-hugepages', no_hugepages)
cases.exit()
