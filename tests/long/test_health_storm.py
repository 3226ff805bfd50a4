#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ten minutes of control operations of all kinds under traffic, looked at each second: no alarm, no restart."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402

BUILD = os.environ.get('TP_BUILD', 'build')
SECONDS = 600
cases = tpmd.Cases()


def storm():
    eal = [a for a in tpmd.eal('ths%d' % os.getpid(), plugin=False) if not a.startswith('--log-level')]
    p = subprocess.run([os.path.join(BUILD, 'tests', 'system', 'longrun'), *eal, '--log-level=pmd.net.mlx4_vfio:notice',
                        '--vdev=net_mlx4_model0,wire0=cross,health-time=1', '--', 'seed=5', 'seconds=%d' % SECONDS, 'check=50'],
                       capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    said = re.findall(r'.*\[(?:health-alarm|port-restarted)\].*', p.stdout + p.stderr)
    if p.returncode != 0:
        return 'exit status %d: %s' % (p.returncode, (p.stdout + p.stderr)[-800:])
    return 'said: %s' % said[:3] if said else None


cases.run('health-storm-long', storm)
cases.exit()
