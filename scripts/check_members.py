#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_members.py: members of public structures that nothing uses, one a line; such a member promises what does not happen.

check_members.py --table: all of them, with how often our code and our tests name each.
"""
import collections
import glob
import os
import re
import sys

CODE = ('lib', 'drivers', 'apps', 'model', 'examples')
COMMENT = re.compile(r'/\*.*?\*/', re.S)
STRUCT = re.compile(r'^struct (\w+) \{(.*?)^\};', re.S | re.M)


def text(*patterns):
    out = []
    for pattern in patterns:
        for path in sorted(glob.glob(pattern, recursive=True)):
            with open(path, encoding='utf-8') as f:
                out.append(f.read())
    return '\n'.join(out)


def members(body):
    """Names that a structure declares, also those of structures within it."""
    for decl in re.findall(r'([^;{}]+);', body):
        if '(' in decl:
            yield from re.findall(r'\(\*(\w+)\)', decl)
            continue
        for name in decl.split(','):
            found = re.search(r'(\w+)\s*(?:\[[^]]*\]|:\s*\d+)*\s*$', name)
            if found:
                yield found.group(1)


def main():
    code = COMMENT.sub('', text(*('%s/**/*.[ch]' % d for d in CODE)))
    # designated initialisers, and macros that join names, count, too
    used = collections.Counter(re.findall(r'(?:->|[.(,])\s*(\w+)', code))
    named = collections.Counter(re.findall(r'\w+', text('tests/**/*.[ch]', 'tests/**/*.py', 'tests/**/*.sh')))
    for header in sorted(glob.glob('include/triplane/**/*.h', recursive=True)):
        for struct, body in STRUCT.findall(COMMENT.sub('', text(header))):
            for name in members(body):
                if '--table' in sys.argv:
                    print('%s %s.%s: code %d, tests %d' % (os.path.basename(header), struct, name, used[name], named[name]))
                elif used[name] == 0:
                    print('%s: member %s of struct %s is used by nothing' % (header, name, struct))


if __name__ == '__main__':
    main()
