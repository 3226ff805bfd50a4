#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: openmpi-bin libopenmpi-dev
"""
Open MPI over UCX on shared ports: mpi_checks.c with 2 and 4 ranks, each port's half on its own; UCX has no way but RC. Ranks
meet by TCP, in a network of their own.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../system'))

import tpmd  # noqa: E402
from share_owner import DEV, Owner  # noqa: E402

cases = tpmd.Cases()
SHORT = [d[len('net_'):] for d in DEV]
NAMES = ('ring', 'any-source', 'unexpected', 'sums', 'moves', 'put-and-get', 'atomics', 'ring-again')
# An index of GIDs that are not of IPv4: see docs/programs.md.
ENV = {'UCX_TLS': 'rc_verbs,ud_verbs:aux,self', 'UCX_IB_GID_INDEX': '1', 'UCX_WARN_UNUSED_ENV_VARS': 'n'}
MPIRUN = ('mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--mca', 'plm', 'isolated', '--mca',
          'pml', 'ucx', '--mca', 'osc', 'ucx', '--mca', 'btl', 'self', '--mca', 'mtl', '^ofi')


def checks(owner, program, ranks):
    """Each line of rank 0 is a case."""
    half = ['-n', str(ranks // 2)]
    cmd = [*MPIRUN]
    for i, d in enumerate(SHORT):
        cmd += [*([':'] if i else []), *half, '-x', 'UCX_NET_DEVICES=%s:1' % d, program]
    rc, out = owner.run('--short-names', 'unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh', *cmd,
                        env={**os.environ, **ENV})
    said = {name: (word, why) for word, name, why in re.findall(r'^(ok|not ok) ([\w-]+)(?:: (.*))?$', out, re.M)}
    found = '; '.join(re.findall(r'^# (rank .*)$', out, re.M))
    for name in NAMES:
        word, why = said.get(name, ('not ok', 'not reached'))
        cases.run('%d-%s' % (ranks, name), lambda: None if word == 'ok' else '%s: %s' % (why, found))
    return None if rc == 0 and said.keys() == set(NAMES) else 'exit code %d: %s' % (rc, out[-900:])


def main():
    owner = Owner()
    with tpmd.scratch() as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, 'mpi_checks')
        subprocess.run(['mpicc.openmpi', '-O2', '-Wall', '-Wextra', '-Werror', '-o', program, os.path.join(HERE, 'mpi_checks.c')],
                       check=True)
        for ranks in (2, 4):
            cases.run('%d-ranks' % ranks, checks, owner, program, ranks)
    cases.run('given-back', owner.empty)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
