#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Each function of librdmacm's headers, called by a program on shared ports of a card and of RoCE in software: docs/rdmacm-functions.md
has all of them, and says what they say.
"""
import os
import re
import subprocess
import tempfile

import tpmd
from share_owner import Owner

cases = tpmd.Cases()
CALLS = os.path.join(os.environ['TP_BUILD'], 'tests/system/rdmacm_calls')
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/rdmacm-functions.md')


def table():
    """Each function of the table with the first word of what it does."""
    says = {}
    with open(TABLE) as f:
        for functions, answer in re.findall(r'^\| (`[^|]+) \| ([^|]+) \|$', f.read(), re.M):
            for name in re.findall(r'`(\w+)`', functions):
                if name in says:
                    raise ValueError('%s has two rows' % name)
                says[name] = re.match(r'\w+', answer).group()
    return says


def complete():
    """The compiler knows what the system's headers declare, inline functions among it."""
    with tempfile.NamedTemporaryFile() as aux:
        subprocess.run(['cc', '-fsyntax-only', '-x', 'c', '-aux-info', aux.name, '-'], check=True, text=True,
                       input='#include <rdma/rdma_cma.h>\n#include <rdma/rdma_verbs.h>\n')
        text = aux.read().decode()
    names = set(re.findall(r'^/\* \S*/rdma/rdma_(?:cma|verbs)\.h:\S+ \*/ [^(]*?(\w+) \(', text, re.M))
    says = table()
    return None if len(names) > 50 and names == says.keys() else '%d functions, differ: %s' % (len(names), names ^ says.keys())


def called(owner):
    rc, out = owner.run(CALLS, '192.0.2.1', '192.0.2.2')
    got = dict(re.findall(r'^(\w+) (\w+)$', out, re.M))
    lines = set(re.findall(r'^(\w+ \w+)$', out, re.M))
    if rc != 0 or len(lines) != len(got) or got != table():
        return 'exit code %d: %s; %s' % (rc, sorted(got.items() ^ table().items()), out[-300:])
    return owner.empty()


def main():
    cases.run('complete', complete)
    for name, home in (('card', ''), ('soft', 'v2 sw')):
        owner = Owner(home=home)
        cases.run(name, called, owner)
        cases.run(name + '-no-violation', owner.clean)
        cases.run(name + '-ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
