# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of InfiniBand ports run: what they need, their cases one after the other, and how triplane ended."""
import os
import shutil
import sys

import tpmd
from test_opensm import PRELOAD

REFUSED = (0, 1)  # triplane's exit codes where commands are refused on purpose


def run_cases(test, tools, make, end, steps, ends=(0,)):
    """Each (NAME, FUNCTION, ARGUMENT...) of steps is called with what make() gives; end() of that: exit code and text."""
    missing = [tool for tool in tools if shutil.which(tool) is None] + ([] if os.path.exists(PRELOAD) else ['libibumad-dev for the build'])
    if os.getuid() != 0 or not os.path.exists('/dev/net/tun'):
        print('skip %s: network namespaces and taps need root and /dev/net/tun' % test)
        return
    if missing:
        print('skip %s: needs %s' % (test, ', '.join(missing)))
        return
    cases = tpmd.Cases()
    link = make()
    try:
        for name, f, *more in steps:
            cases.run('%s-%s' % (test, name), f, link, *more)
    finally:
        rc, text = end(link)
    if rc not in ends:
        print('not ok %s-end: exit code %s: %s' % (test, rc, text[-300:]))
        sys.exit(1)
    cases.exit()


def run_all(*runs):
    """Several calls of run_cases, each a tuple of its arguments; a failure in one does not keep the next from running."""
    failed = 0
    for run in runs:
        try:
            run_cases(*run)
        except SystemExit as e:
            failed |= e.code
    sys.exit(failed)
