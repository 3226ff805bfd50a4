#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Extended verbs of programs on shared ports; programs of ours look at each, and each of their lines is a case."""
import errno
import os
import re
import subprocess
import tempfile

import tpmd
from share_owner import DEV, GID, Owner, pair

cases = tpmd.Cases()
BUILD = os.environ['TP_BUILD']
NAPS = 2000  # a program has some sixty before it polls, then ten thousand a second


def own(owner, name, *args):
    """Cases of a program; None, or how it ended."""
    rc, out = owner.run(os.path.join(BUILD, 'tests/system/verbs_' + name), *args)
    return cases.relay(out, name + '-') or (None if rc == 0 else 'exit code %d: %s' % (rc, out))


TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/verbs-functions.md')


def table():
    """Each function of the table and what it does: 'works', 'never', or an errno; the maker of each that is never called;
    and those that stay with libibverbs."""
    says, maker = {}, {}
    with open(TABLE) as f:
        text = f.read()
    rows = re.findall(r'^\| (`[^|]+) \| ([^|]+) \|$', text, re.M)
    theirs = re.findall(r'`(\w+)`', text[text.index('by libibverbs itself'):])
    for functions, answer in rows:
        for name in re.findall(r'`(\w+)`', functions):
            if name in says:
                raise ValueError('%s has two rows' % name)
            says[name] = re.match(r'\w+', answer).group()
            if says[name] == 'never':
                maker[name] = re.search(r'`(\w+)`', answer).group(1)
    return says, maker, theirs


def complete():
    """The compiler knows what the system's header declares, inline functions among it. What is not inline, libibverbs would
    do, with objects that it does not know."""
    with tempfile.NamedTemporaryFile() as aux:
        subprocess.run(['cc', '-fsyntax-only', '-x', 'c', '-aux-info', aux.name, '-'], check=True, text=True,
                       input='#include <infiniband/verbs.h>\n')
        text = aux.read().decode()
    found = dict(re.findall(r'^/\* \S*/infiniband/verbs\.h:\S+ \*/ (?=[^(]*?(\w+) \()(\w+)', text, re.M))
    says, maker, theirs = table()
    names = found.keys()
    odd = [a for a in says.values() if a not in ('works', 'never') and not hasattr(errno, a)]
    if len(names) < 160 or odd:
        return '%d functions, answers %s' % (len(names), odd)
    missing, more = names - says.keys(), says.keys() - names
    made = [n for n, m in maker.items() if m not in says]
    if missing or more or made:
        return 'no row: %s; no function: %s, %s' % (missing, more, made)
    symbols = subprocess.run(['nm', '-D', '--defined-only', os.path.join(BUILD, 'preload/verbs/libtriplane-verbs.so')],
                             stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    left = [n for n, how in found.items() if how == 'extern' and n not in symbols and n not in theirs]
    return 'libibverbs has them to itself: %s' % left if left else None


def refused(owner):
    """A program calls each function that the table says is refused."""
    rc, out = owner.run(os.path.join(BUILD, 'tests/system/verbs_refused'), DEV[0])
    got = dict(line.split(' ', 1) for line in out.splitlines())
    want = {name: answer for name, answer in table()[0].items() if answer not in ('works', 'never')}
    want['unimported'] = 'works'
    return None if rc == 0 and got == want else 'exit code %d: %s' % (rc, sorted(got.items() ^ want.items()))


def polls(owner, p):
    """A program has a queue pair and polls it in vain: with each further poll the library gives the CPU away for a moment, which makes
    more such moments than anything that is done before."""
    return any(g['pid'] == p.pid and g['qps'] for g in owner.show()['programs']) and tpmd.voluntary('/proc/%d' % p.pid) > NAPS


def raw_pair(owner, prog, *args):
    """perftest's programs of whole frames tell each other nothing, and a server says nothing when its queue pair can receive:
    it polls then, and a frame that comes earlier is lost."""
    mac = ('02:00:00:00:00:01', '02:00:00:00:00:02')
    ends = pair(owner.start, [prog, '--server', '-d', DEV[0], '-B', mac[0], '-E', mac[1], '-F', *args],
                [prog, '--client', '-d', DEV[1], '-B', mac[1], '-E', mac[0], '-F', *args], lambda p: polls(owner, p))
    if ends.rc != 0 or ends.server_rc != 0:
        return '%s: exit code %d: %s; the server: exit code %d: %s' % (prog, ends.rc, ends.out[-400:], ends.server_rc, ends.said[-400:])
    rows = [re.search(r'^ \d+ +(\d+) +', text, re.M) for text in (ends.out, ends.said)]
    return None if all(row and int(row.group(1)) > 0 for row in rows) else 'no figures: %s %s' % (ends.out, ends.said)


def main():
    owner = Owner()
    # Another user may come, but not for whole frames.
    os.chmod(owner.dir.name, 0o711)
    os.chmod(owner.socket, 0o777)
    for name in ('ex', 'mem', 'resize', 'raw'):
        cases.run(name, own, owner, name, *DEV, str(GID))
    cases.run('table', complete)
    cases.run('refused', refused, owner)
    cases.run('raw-lat', raw_pair, owner, 'raw_ethernet_lat', '-s', '100', '-n', '200')
    cases.run('raw-lat-udp', raw_pair, owner, 'raw_ethernet_lat', '-s', '100', '-n', '200', '-J', '192.0.2.7', '-j', '192.0.2.7',
              '-K', '7000', '-k', '7000')
    cases.run('raw-bw', raw_pair, owner, 'raw_ethernet_bw', '-s', '512', '-D', '2')
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
