#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exports.py HEADERS MAP INTERNAL LIBRARY HEADER...: a library gives programs what its installed headers declare, and nothing
else that looks as if it were for them.

HEADERS is the folder of installed headers. MAP is the library's version script, "-" for a static library. INTERNAL is the
node of the script for those who belong to the library, which no header declares, or "-".
"""
import os
import re
import subprocess
import sys

NAME = r'(?:tp|rte_pmd_mlx4)_\w+'


def declared(path):
    """Functions and variables that a header declares and does not define."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$', '', text, flags=re.M)
    text = re.sub(r'extern "C" \{', '', text)
    # Structures, enumerations and bodies of inline functions.
    while re.search(r'\{[^{}]*\}', text):
        text = re.sub(r'(\)\s*)?\{[^{}]*\}', lambda m: ');' if m.group(1) else ' ', text)
    names = set()
    for statement in text.replace('}', '').split(';'):
        statement = ' '.join(statement.split())
        if statement.startswith('typedef') or 'static inline' in statement:
            continue
        call = re.search(r'\b(%s) ?\(' % NAME, statement)
        if call:
            names.add(call.group(1))
        elif statement.startswith('extern '):
            names.update(re.findall(r'\b(%s)(?:\[\w*\])?$' % NAME, statement))
    return names


def nodes(path):
    """Names of each node of a version script, which has no patterns."""
    with open(path, encoding='utf-8') as f:
        text = re.sub(r'#[^\n]*', '', f.read())
    found = {}
    for node, body in re.findall(r'(\w+)\s*\{(.*?)\}', text, flags=re.S):
        found[node] = set(re.findall(r'([\w*?]+)\s*;', body)) - {'*'}
    return found


def symbols(library):
    """Names that a library gives away: a static one those that look public."""
    shared = '.so' in os.path.basename(library)
    out = subprocess.run(['nm', '-P', '-g', '--defined-only', *(['-D'] if shared else []), library],
                         capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    names = {r[0].split('@')[0] for r in rows if len(r) > 1 and r[1] in 'TDBRVW'}
    return names if shared else {n for n in names if re.fullmatch(NAME, n)}


def main(headers, script, internal, library, *names):
    wanted = set().union(*(declared(os.path.join(headers, n)) for n in names))
    given = symbols(library)
    bad = []
    if script != '-':
        found = nodes(script)
        own = found.pop(internal, set())
        listed = set().union(*found.values())
        bad += ['%s names %s, which no header declares' % (script, n) for n in listed - wanted]
        bad += ['%s lacks %s, which a header declares' % (script, n) for n in wanted - listed]
        bad += ['%s has %s for those inside, which a header declares' % (script, n) for n in own & wanted]
        bad += ['%s exports %s, which %s does not name' % (library, n, script) for n in given - listed - own]
        bad += ['%s does not export %s of %s' % (library, n, script) for n in (listed | own) - given]
    else:
        bad += ['%s defines %s, which no header declares' % (library, n) for n in given - wanted]
        bad += ['%s does not define %s, which a header declares' % (library, n) for n in wanted - given]
    if not wanted:
        bad.append('no function found in %s' % ' '.join(names))
    print('\n'.join(sorted(bad)), end='\n' if bad else '')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
