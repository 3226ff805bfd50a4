#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own test suite (Debian's python3-pyverbs) on a shared port, of a card and of RoCE in software: each of its tests is a
case here. What it skips must be for a reason that is known: things that this generation of cards, RoCE in software, or the suite's
list of them, has not, or this machine."""
import collections
import glob
import gzip
import os
import re
import shutil
import subprocess

import tpmd
from share_owner import DEV, Owner

cases = tpmd.Cases()
SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pyverbs_suite.py')
SOURCE = '/usr/share/doc/rdma-core/tests'
LAB = 91  # passed by the kernel's driver on the same card (tests/lab/test_pyverbs.sh)
GID = 3  # of the IPv4 address, as RoCE v2
KNOWN = re.compile('Device memory is not|ODP is not|No ODP caps|Extended QP is not|Extended CQ is not|Create XRCD is not|'
                   'Parent Domain is not|Importing a device is not|Ipv6Spec|Ipv4ExtSpec|WQN must be aligned|'
                   'support UDP with RoCEv2|dmabuf is not|cuda-python|no huge pages of size|'
                   # flags of creation, which it takes by chance
                   'Create (UD|Raw Packet) QP with.* attrs is not')
SOFT = re.compile(KNOWN.pattern + '|Create (QP type 8|Raw Packet QP with.* attrs) is not')


def unpack(folder):
    """The tests as a package of Python, without those of other makers' cards."""
    shutil.copytree(SOURCE, os.path.join(folder, 'tests'))
    for name in glob.glob(os.path.join(folder, 'tests/*.gz')):
        with gzip.open(name) as f, open(name[:-3], 'wb') as to:
            shutil.copyfileobj(f, to)
    for name in glob.glob(os.path.join(folder, 'tests/test_*')):
        if re.match('test_(mlx5|efa)', os.path.basename(name)):
            os.unlink(name)


def verdict(known, word, why):
    if word == 'ok':
        return None
    if word == 'skip':
        return 'skip ' + why if known.search(why) else 'skipped: ' + why
    return why


def suite(folder, prefix, known, home=''):
    """All of it on the ports of a home; names of cases begin with prefix."""
    owner = Owner(home=home)
    rc, out = owner.run('/usr/bin/python3', SUITE, folder, '192.0.2.1', '--dev', DEV[0], '--port', '1', '--gid', str(GID),
                        env=dict(os.environ, PYTHONDONTWRITEBYTECODE='1'))
    results = re.findall(r'^RESULT (ok|skip|fail) (\S+) ?(.*)$', out, re.M)
    for word, test, why in results:
        cases.run(prefix + test.removeprefix('tests.'), verdict, known, word, why)
    words = collections.Counter(word for word, _, _ in results)
    print('# %s%d passed, %d failed, %d skipped' % (prefix, words['ok'], words['fail'], words['skip']))
    for why, n in collections.Counter(why for word, _, why in results if word == 'skip').most_common():
        print('# %s%d: %s' % (prefix, n, why))
    cases.run(prefix + 'more-than-the-kernel', lambda: None if rc == 0 and words['ok'] > LAB else
              'exit code %d, %d passed, wanted more than %d: %s' % (rc, words['ok'], LAB, out[-400:]))
    cases.run(prefix + 'given-back', owner.empty)
    cases.run(prefix + 'ends', owner.close)


def main():
    with tpmd.scratch() as folder:
        unpack(folder)
        suite(folder, '', KNOWN)
        suite(folder, 'soft-', SOFT, 'v2 sw')
    cases.exit()


if __name__ == '__main__':
    main()
