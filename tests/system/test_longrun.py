#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: traffic, operations and the card fill both CPUs.
"""Mixed control operations under traffic, seeded: sent = received + each drop counter that has a name. By default so many
operations; --seconds N runs each case for N seconds instead, --seed N another sequence."""
import argparse
import os
import re
import subprocess

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
OPERATIONS = 150  # of one case: so many that each of the 19 kinds happens
CARD = 'net_mlx4_model0,wire0=cross'
CPUS = ','.join(map(str, sorted(os.sched_getaffinity(0))))
LCORES = '0@(%s),1@(%s)' % (CPUS, CPUS)  # not bound: a card's thread runs beside them

args = argparse.ArgumentParser(description=__doc__)
args.add_argument('--seconds', type=int, default=0)
args.add_argument('--seed', type=int, default=1)
args = args.parse_args()
cases = tpmd.Cases()


def run(vdevs, options, plus=()):
    eal = [a for a in tpmd.eal('lr%d' % os.getpid(), on=LCORES, plugin=False) if not a.startswith('--log-level')]
    cmd = [os.path.join(BUILD, 'tests', 'system', 'longrun')] + eal + ['--log-level=*:error'] + list(plus)
    cmd += ['--vdev=' + v for v in vdevs] + ['--'] + ['%s=%s' % o for o in options.items()]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=None if args.seconds else 540)
    # one refusal is wanted, and logged each time
    return p.returncode, re.sub(r'mlx4: port \d: MTU 9000: .*\n', '', p.stdout.decode(errors='replace'))


def everything(vdevs, seed, plus=()):
    """All kinds of operations were made, frames flowed between them, and none is missing."""
    options = {'seed': args.seed * 1000 + seed, 'ops': OPERATIONS, 'check': 50}
    if args.seconds:
        options['seconds'] = args.seconds
    rc, out = run(vdevs, options, plus)
    if rc != 0:
        return 'exit status %d: %s' % (rc, out[-1500:])
    n = {k: int(v) for k, v in re.findall(r'^([a-z-]+) (\d+)$', out, re.M)}
    lazy = [k for k, v in n.items() if v == 0]
    if lazy or n['operations'] < OPERATIONS or n['checks'] < OPERATIONS / 50 or n['received'] < 10 * OPERATIONS:
        return 'too little happened (%s): %s' % (', '.join(lazy), out[-1500:])
    print('# %d operations, %d checks, %d frames sent, %d received' % (n['operations'], n['checks'], n['sent'], n['received']))
    return None


def one_is_missed():
    """The check itself: one frame of many thousands that vanishes is told, at the next check."""
    rc, out = run([CARD], {'seed': 7, 'ops': 100, 'check': 50, 'lose': 1000})
    if rc == 0:
        return 'nobody noticed: ' + out[-600:]
    return None if re.search(r'reached the peer \d+, but .* 1 missing', out) else out[-1500:]


cases.run('longrun-one-lost-frame-is-noticed', one_is_missed)
cases.run('longrun-cross-wire', everything, [CARD], 1)
cases.run('longrun-scalar', everything, [CARD], 2, ['--force-max-simd-bitwidth=64'])
cases.run('longrun-bad-wire', everything, [CARD + ',impair0=drop:2000/reorder:2000/seed:3,impair1=drop:2000/corrupt:500/seed:4'], 3)
cases.exit()
