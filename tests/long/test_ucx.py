#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
UCX by its own program between two ports of a shared card, with RC and with UD: tagged messages, put, get and active messages of
each power of two up to 1 MiB.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from share_owner import DEV, Owner, pair  # noqa: E402

cases = tpmd.Cases()
SHORT = [d.removeprefix('net_') for d in DEV]
ENV = {'UCX_IB_GID_INDEX': '1', 'UCX_WARN_UNUSED_ENV_VARS': 'n'}  # see docs/programs.md
TESTS = ('tag_lat', 'tag_bw', 'ucp_put_lat', 'ucp_put_bw', 'ucp_get', 'ucp_am_lat', 'ucp_am_bw')
SIZES = [1 << n for n in range(21)]
COUNT = 40


def all_sizes(owner, tls, test):
    """A stage for each, one after the other in a connection."""
    port = tpmd.free_port()
    stages = os.path.join(owner.dir.name, 'stages')
    with open(stages, 'w') as f:
        f.writelines('of%d -t %s -s %d\n' % (size, test, size) for size in SIZES)
    cmd = ['--short-names', 'ucx_perftest', '-b', stages, '-n', str(COUNT), '-w', '5', '-p', str(port)]
    env = [{**ENV, 'UCX_TLS': tls, 'UCX_NET_DEVICES': d + ':1'} for d in SHORT]
    ends = pair(owner.start, cmd, cmd + ['127.0.0.1'], lambda _: tpmd.listens(port), True, env)
    done = [int(size) for size, count in re.findall(r'^\+of(\d+)-+\+.*\n(?:\[.*\n)*Final: +(\d+) ', ends.out, re.M) if int(count) == COUNT]
    return None if ends.rc == 0 and done == SIZES else 'exit code %d, sizes %s: %s' % (ends.rc, done, ends.out[-400:] + '; the server: ' + ends.said[-400:])


def main():
    owner = Owner()
    for name, tls in (('rc', 'rc_verbs,ud_verbs:aux,self'), ('ud', 'ud_verbs,self')):
        for test in TESTS:
            cases.run('%s-%s' % (name, test), all_sizes, owner, tls, test)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
