#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""versions.py SYSTEM MAP STUBS OURS...: the version script and the rest of a library that takes the place of libibverbs.

SYSTEM is the libibverbs that programs were linked with: each of its symbols gets its version. What none of OURS has is private to
libibverbs and its drivers, or older than 2007: it says EOPNOTSUPP, or gives no object.
"""
import collections
import re
import subprocess
import sys

POINTER = re.compile(r'_?verbs_(init_and_alloc|open)|ibv_(import|reg|open|alloc|create|get_device_(list|name))')


def symbols(path):
    """(name, version, whether that is the one to link with, kind, size) of what a library defines."""
    out = subprocess.run(['readelf', '-W', '--dyn-syms', path], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        w = line.split()
        if len(w) > 7 and w[6] not in ('UND', 'Ndx') and '@' in w[7]:
            name, version = re.split('@+', w[7])
            if name != version:
                yield name, version, '@@' in w[7], w[3], int(w[2], 0)


def defined(path):
    out = subprocess.run(['nm', '--defined-only', '--extern-only', path], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in out.splitlines() if len(line.split()) == 3}


def order(version):
    m = re.match(r'IBVERBS_(\d+)\.(\d+)$', version)
    return (0, int(m.group(1)), int(m.group(2))) if m else (1, 0, 0)


def main():
    system, script, stubs, *ours = sys.argv[1:]
    have = set().union(*map(defined, ours))
    nodes = collections.defaultdict(list)
    text = ['#include <errno.h>', '#define EXPORT __attribute__((visibility("default")))']
    for name, version, current, kind, size in sorted(symbols(system)):
        nodes[version] += [name] if current else []
        if current and name in have:
            continue
        own = name if current else '%s_of_%s' % (name, version.replace('.', '_'))
        if kind == 'OBJECT':
            text.append('EXPORT char %s[%d];' % (own, size))
        else:
            value = '0' if POINTER.match(name) else 'EOPNOTSUPP'
            text.append('EXPORT long %s(void);\nlong %s(void)\n{\n\terrno = EOPNOTSUPP;\n\treturn %s;\n}' % (own, own, value))
        if not current:
            text.append('__asm__(".symver %s, %s@%s");' % (own, name, version))
    with open(stubs, 'w', encoding='utf-8') as f:
        f.write('\n'.join(text) + '\n')
    before = ''
    with open(script, 'w', encoding='utf-8') as f:
        for v in sorted(nodes, key=order):
            # In the last node: in another one it would hide that version's own symbols.
            hide = 'local:\n\t*;\n' if v == max(nodes, key=order) else ''
            body = ''.join('\t%s;\n' % n for n in nodes[v])
            f.write('%s {\n%s%s}%s;\n' % (v, 'global:\n' + body if body else '', hide, before))
            before = ' ' + v


if __name__ == '__main__':
    main()
