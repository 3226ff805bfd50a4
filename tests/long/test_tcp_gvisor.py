#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: runsc
"""lib/tcp against gVisor's TCP over a TAP: runsc takes the namespace's interface for its own stack, and a Python program in the
sandbox is the peer, in both roles, with and without losses and reordering. Octets are compared both ways."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from tcp_linux import SPACE, Transfer  # noqa: E402
from test_ipoib import sh  # noqa: E402

cases = tpmd.Cases()
# runsc takes this file for what only the first namespace has; since Linux 6.14 others have it, too.
HIDDEN = 'mount -t tmpfs none /proc/sys/net/core && exec "$@"'
count = 0


def sandbox(folder, program):
    """The command that runs a program under runsc, with the host's files to read."""
    global count
    count += 1
    bundle = os.path.join(folder, str(count))
    os.mkdir(bundle)
    config = {
        'ociVersion': '1.0.0',
        'process': {'terminal': False, 'user': {'uid': 0, 'gid': 0}, 'cwd': '/', 'env': ['PATH=/usr/bin:/bin'],
                    'args': ['/usr/bin/python3', *program[1:]]},
        'root': {'path': '/', 'readonly': True},
        'mounts': [{'destination': '/proc', 'type': 'proc', 'source': 'proc'}, {'destination': '/tmp', 'type': 'tmpfs', 'source': 'tmpfs'}],
        'linux': {'namespaces': [{'type': 'network', 'path': '/var/run/netns/' + SPACE},
                                 *({'type': t} for t in ('pid', 'ipc', 'uts', 'mount'))]},
    }
    with open(os.path.join(bundle, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump(config, f)
    return ['ip', 'netns', 'exec', SPACE, 'sh', '-c', HIDDEN, 'sh', 'runsc', '--root', os.path.join(folder, 'state'), '--platform=ptrace',
            '--network=sandbox', '--ignore-cgroups', 'run', '--bundle', bundle, '%s-%d' % (SPACE, count)]


def transfer(folder, mode, octets, *words):
    t = Transfer(mode, octets, octets, *words, within=lambda program: sandbox(folder, program))
    if t.wrong:
        return t.wrong
    if t.counters['rx_checksum'] or t.counters['rx_malformed'] or t.counters['snd_mss'] != 1448 or t.counters['options'] != 7:
        return 'the engine counted %s' % t.counters
    return 'nothing was lost' if words and not t.counters['retransmits'] else None


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip tcp-gvisor: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
with tempfile.TemporaryDirectory() as scratch:
    try:
        sh('ip', 'netns', 'add', SPACE, check=True)
        sh('ip', '-n', SPACE, 'link', 'set', 'lo', 'up', check=True)
        for role in ('connect', 'listen'):
            cases.run('tcp-gvisor-' + role, transfer, scratch, role, 2_000_000)
            cases.run('tcp-gvisor-loss-' + role, transfer, scratch, role, 1_000_000, 'loss=100', 'reorder=100')
    finally:
        subprocess.run(['ip', 'netns', 'del', SPACE], check=False)
cases.exit()
