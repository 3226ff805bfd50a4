#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Packages: libpython3.11-testsuite
"""
CPython's own tests of sockets, as Debian ships them, with the library of sockets in front and without: what passes without it passes
with it. They use loopback addresses, which are the kernel's, so what is proven is that the library changes nothing of what is not the
port's, and that listeners to any address are both's.
"""
import os
import subprocess
import sys
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import tpmd  # noqa: E402
from share_owner import Owner  # noqa: E402

cases = tpmd.Cases()
FILES = ('test_socket', 'test_select', 'test_poll', 'test_epoll', 'test_selectors', 'test_socketserver', 'test_ssl', 'test_httplib', 'test_ftplib',
         'test_asyncio')
LIMIT = 1800  # for a file of tests; asyncio's take ten minutes beside 15 busy programs


def run(owner, name, folder):
    """How each test ended, by its name. Those of AF_VSOCK wait for ever where the kernel has it without a host."""
    results = os.path.join(folder, 'results.xml')
    cmd = ['/usr/bin/python3', '-m', 'test', '-v', '--timeout', str(LIMIT), '--junit-xml', results, '-u', 'network', '-i', '*VSOCK*', name]
    env = {**os.environ, 'PYTHONPATH': ''}
    if owner:
        p = owner.start('--sockets', '--port', '0', *cmd, env=env)
    else:
        p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, env=env)
    try:
        out = p.communicate(timeout=LIMIT + 60)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        out = p.communicate()[0]
    # What the tests print stands among their names and ends: the file has these by themselves.
    try:
        found = ElementTree.parse(results).iter('testcase')
        os.unlink(results)
    except (FileNotFoundError, ElementTree.ParseError):
        found = ()
    ends = {t.get('name'): ' '.join(how.tag for how in t if how.tag != 'system-out') or 'ok' for t in found}
    return ends, out


def same(owner, name, folder):
    plain, said = run(None, name, folder)
    if len(plain) < 3 or 'Tests result:' not in said:
        return 'without the library only %d tests end: %s' % (len(plain), said[-600:])
    ours, said = run(owner, name, folder)
    if 'Tests result:' not in said:
        return 'with the library only %d of %d tests end: %s' % (len(ours), len(plain), said[-600:])
    wrong = []
    for test in sorted({*plain, *ours}):
        a, b = plain.get(test, 'none'), ours.get(test, 'none')
        if a != b and a == 'ok':
            wrong.append('%s: %s, with the library %s' % (test, a, b))
    passed = [sum(v == 'ok' for v in ends.values()) for ends in (plain, ours)]
    print('# %s: %d tests, %d pass without, %d with' % (name, len(plain), *passed))
    return '; '.join(wrong[:8]) + ('; %d in all; ' % len(wrong)) + said[-200:] if wrong else None


def main():
    owner = Owner()
    with tpmd.scratch() as folder:
        for name in os.environ.get('CPYTHON', ' '.join(FILES)).split():
            cases.run(name, same, owner, name, folder)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
