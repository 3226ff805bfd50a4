#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_layers.py [--build=DIR] [--folder=PREFIX]: folders use only themselves and lower floors.

The table of floors is the block of docs/architecture.md that starts with ```layers. A line is a floor, from the ground up;
folders of one line are neighbours, which may not use each other. "never A -> B" forbids a use that the floors would
allow; "circle N" is how many files of one folder may call each other in a circle; "at-most N" how many sources a folder
may have. Uses are seen by #include and, with a build directory, by the symbols of its objects. A finding is a line.
"""
import collections
import json
import os
import re
import subprocess
import sys

TABLE = 'docs/architecture.md'


class Table:
    """The floors and the rules beside them."""

    def __init__(self, text):
        block = re.search(r'^```layers\n(.*?)^```', text, re.M | re.S)
        if not block:
            sys.exit(f'{TABLE} has no block ```layers')
        self.floor, self.never, self.circle, self.at_most = {}, [], 0, 0
        for n, line in enumerate(block.group(1).splitlines()):
            word = line.split('#')[0].split()
            if not word:
                continue
            if word[0] == 'never':
                self.never.append((word[1], word[3]))
            elif word[0] == 'circle':
                self.circle = int(word[1])
            elif word[0] == 'at-most':
                self.at_most = int(word[1])
            else:
                self.floor.update({w: n for w in word})

    def folder(self, path):
        """The folder of the table that a file belongs to: the longest that its path starts with."""
        path = os.path.dirname(path)
        while path and path not in self.floor:
            path = os.path.dirname(path)
        return path or None

    def fault(self, a, b):
        """Why file a may not use file b, or None."""
        for x, y in self.never:
            if (a + '/').startswith(x + '/') and (b + '/').startswith(y + '/'):
                return f'{x} never uses {y}'
        fa, fb = self.folder(a), self.folder(b)
        if fa is None or fb is None or fa == fb or self.floor[fb] < self.floor[fa]:
            return None
        return f'{fa} -> {fb}'


def includes(files, bare):
    """(file, included file) of each #include of one of ours; (file, text) of those that name none or several."""
    known = set(files)
    by_name = collections.defaultdict(list)
    for f in files:
        by_name[os.path.basename(f)].append(f)
    found, odd = [], []
    for f in files:
        with open(f, encoding='utf-8') as src:
            text = src.read()
        for kind, inc in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.M):
            near = os.path.normpath(os.path.join(os.path.dirname(f), inc))
            places = [near] + [os.path.join(d, inc) for d in bare] + [inc]
            hit = next((p for p in (places if kind == '"' else places[1:]) if p in known), None)
            if hit:
                found.append((f, hit, inc))
            elif kind == '"' and by_name[os.path.basename(inc)]:
                odd.append(f'{f}: includes "{inc}", which is none of {" ".join(by_name[os.path.basename(inc)])}')
    return found, odd


def symbols(build, root):
    """Who defines a name, and which names a source wants."""
    owner, wants = {}, collections.defaultdict(set)
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        commands = json.load(f)
    pending = {}
    for cmd in commands:
        src = os.path.relpath(os.path.join(cmd['directory'], cmd['file']), root)
        obj = os.path.join(cmd['directory'], cmd['output'])
        # A source that tests and benchmarks compile once more says nothing new, and a precompiled header is no object.
        if src.endswith('.c') and os.path.exists(obj) and not src.startswith('..') and not cmd['output'].startswith('tests/'):
            pending.setdefault(src, obj)
    # One run for all: a line "OBJECT: NAME KIND ..." a symbol.
    out = subprocess.run(['nm', '-A', '-P', '-g', *pending.values()], capture_output=True, text=True, check=True).stdout if pending else ''
    source = {obj: src for src, obj in pending.items()}
    # Who uses what the C library has, too, means that: a library that is preloaded stands in for it in programs of others.
    libc = subprocess.check_output(['cc', '-print-file-name=libc.so.6'], text=True).strip()
    names = subprocess.check_output(['nm', '-D', '-P', '--defined-only', libc], text=True)
    of_libc = {line.split()[0].split('@')[0] for line in names.splitlines()}
    for line in out.splitlines():
        obj, symbol = line.split(': ', 1)
        name, kind = symbol.split()[:2]
        if name == 'main' or name in of_libc:
            continue
        # What a library that is preloaded has in DPDK's place, for its inline functions, is DPDK's to all others.
        if kind in 'TDBRVWC' and source[obj].startswith('preload/') and re.match(r'(__)?rte_|per_lcore_', name):
            continue
        if kind in 'TDBRVWC':
            owner.setdefault(name, source[obj])
        elif kind == 'U':
            wants[source[obj]].add(name)
    return owner, wants


def circles(arrows):
    """Strongly connected files (Tarjan)."""
    index, low, stack, on, rings = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in sorted(arrows.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            ring = []
            while not ring or ring[-1] != v:
                ring.append(stack.pop())
                on.discard(ring[-1])
            if len(ring) > 1:
                rings.append(sorted(ring))

    for v in sorted(arrows):
        if v not in index:
            visit(v)
    return rings


def main():
    build = next((a.split('=', 1)[1] for a in sys.argv[1:] if a.startswith('--build=')), None)
    only = next((a.split('=', 1)[1] for a in sys.argv[1:] if a.startswith('--folder=')), '')
    build = build and os.path.abspath(build)
    root = subprocess.check_output(['git', 'rev-parse', '--show-toplevel'], text=True).strip()
    os.chdir(root)
    sys.setrecursionlimit(9999)
    with open(TABLE, encoding='utf-8') as f:
        table = Table(f.read())
    listed = subprocess.check_output(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*.c', '*.h'],
                                     text=True).split()
    tracked = sorted({f for f in listed if os.path.exists(f)})
    files = [f for f in tracked if not f.startswith('tests/')]
    bad = [f'{f} is in no folder of the table in {TABLE}' for f in files if table.folder(f) is None]
    found, odd = includes(files, ['include/triplane', 'prm'])
    bad += odd
    for a, b, inc in found:
        why = table.fault(a, b)
        if why:
            bad.append(f'{why}: {a} includes {inc}')
    if build:
        owner, wants = symbols(build, root)
        arrows = collections.defaultdict(set)
        for src, names in wants.items():
            for name in names & owner.keys():
                if owner[name] == src:
                    continue
                why = table.fault(src, owner[name])
                if why:
                    bad.append(f'{why}: {src} uses {name} of {owner[name]}')
                if table.folder(src) and table.folder(src) == table.folder(owner[name]):
                    arrows[src].add(owner[name])
        for ring in circles(arrows):
            if len(ring) > table.circle:
                bad.append(f'circle of {len(ring)} files in {table.folder(ring[0])}: {" ".join(ring)}')
    for folder, n in sorted(collections.Counter(os.path.dirname(f) for f in files).items()):
        if n > table.at_most:
            bad.append(f'{folder} has {n} sources, {table.at_most} is the limit')
    bad = sorted({b for b in bad if only in b})
    print('\n'.join(bad), end='\n' if bad else '')
    sys.exit(bool(bad))


main()
