#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A flow of lib/tcp and one of Linux, both CUBIC, over one bottleneck (tcp_share.c): what each gets is within 1 : 2 of the other,
where a full queue drops and where a router marks (RFC 3168), whoever began first. The bottleneck counts."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402

BUILD = os.environ['TP_BUILD']
PROGRAM = os.path.join(BUILD, 'tests/long/tcp_share')
cases = tpmd.Cases()


def share(kind, first, seconds, *words):
    p = subprocess.run([PROGRAM, kind, str(first), str(seconds), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=first + seconds + 60)
    m = re.search(r'^share ([\d.]+): .*?; (\d+) marks, (\d+) drops; ([\d.]+) of the rate$', p.stdout, re.M)
    if p.returncode != 0 or not m:
        return p.stdout[-900:]
    print('# ' + m.group(0), flush=True)
    ours, marks, drops, used = float(m.group(1)), int(m.group(2)), int(m.group(3)), float(m.group(4))
    # Without congestion nothing is shared; where all that is sent can be marked, marks are what tells of it.
    if used < 0.8 or (marks if kind == 'mark' else drops) == 0 or kind == 'drop' and marks:
        return 'no congestion: ' + m.group(0)
    return None if 0.5 <= ours <= 2 else m.group(0) + '\n' + p.stdout[-4000:]


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip tcp-share: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
subprocess.run(['ninja', '-C', BUILD, 'tests/long/tcp_share'], stdout=subprocess.DEVNULL, check=True)
cases.run('tcp-share-drop', share, 'drop', 10, 40)
cases.run('tcp-share-drop-ours-late', share, 'drop', 15, 40, 'ours=5000')
cases.run('tcp-share-drop-linux-late', share, 'drop', 15, 40, 'linux=5000')
cases.run('tcp-share-drop-long-way', share, 'drop', 20, 60, 'rtt=60', 'queue=150000')
cases.run('tcp-share-mark', share, 'mark', 10, 40)
cases.run('tcp-share-mark-long-way', share, 'mark', 20, 60, 'rtt=60', 'queue=150000', 'threshold=75000')
cases.exit()
