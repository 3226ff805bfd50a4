#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the documents: a heading or a paragraph stands once in a file, links lead somewhere, files and functions that are
named exist, the rows of a table have as many cells, lines are not too long, README stays short."""
import os
import re
import subprocess
import sys

README_LINES = 150
WIDTH = 130  # of a line of text; tables, commands and what a program made may be wider
MADE = {'docs/cli.md', 'docs/settings.md'}
# Where files may be named from.
BASES = ['', 'drivers/mlx4/', 'lib/ipoib/']
LEAST = 40   # shorter paragraphs may stand twice
# Functions of this tree by their names; others are looked for only where the file is named.
OURS = re.compile(r'`((?:mlx4|tpm?|rte_pmd_mlx4|ipoib|troce)_\w+)\(\)`')
PLACED = re.compile(r'`(\w+)\(\)` in `([\w./-]+\.[ch])`')


def anchor(heading):
    return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


def parts(path):
    """(line number, text) of headings and paragraphs outside of fenced blocks; rows of tables are paragraphs."""
    fenced, begun, text = False, 0, []
    with open(path) as f:
        lines = f.read().split('\n') + ['']
    for n, line in enumerate(lines, 1):
        if line.startswith('```'):
            fenced = not fenced
            line = ''
        elif fenced:
            continue
        alone = line.startswith(('#', '|', '* ', '- '))
        if text and (line.strip() == '' or alone):
            yield begun, ' '.join(text)
            text = []
        if line.strip():
            if not text:
                begun = n
            text.append(line.strip())


def anchors(path):
    return {anchor(text.lstrip('# ')) for _, text in parts(path) if text.startswith('#')}


def links(path):
    with open(path) as f:
        for n, line in enumerate(f, 1):
            for target in re.findall(r'\]\(([^)\s]+)\)', line):
                if '://' not in target:
                    yield n, target


def words():
    """Names that sources call or define."""
    sources = subprocess.run(['git', 'grep', '-hoE', r'\w+\(', '--', '*.c', '*.h'], capture_output=True, text=True, check=True)
    return {w[:-1] for w in sources.stdout.split()}


def functions(path, known):
    with open(path) as f:
        for n, line in enumerate(f, 1):
            for name in OURS.findall(line):
                if name not in known:
                    print('%s:%d: names %s(), which does not exist' % (path, n, name))
            for name, place in PLACED.findall(line):
                there = [base + place for base in BASES if os.path.exists(base + place)]
                if there:
                    with open(there[0]) as source:
                        if not re.search(r'\b%s\(' % name, source.read()):
                            print('%s:%d: %s() is not in %s' % (path, n, name, place))


def check(path):
    seen = {}
    for n, text in parts(path):
        # what a table or a list of values says of several rows is the same on purpose
        if text.startswith('#') or (len(text) >= LEAST and not text.startswith(('| ---', '- `'))):
            if text in seen and not text.startswith('|'):
                print('%s:%d: stands in line %d, too: %s' % (path, n, seen[text], text[:60]))
            seen.setdefault(text, n)
    for n, target in links(path):
        name, _, part = target.partition('#')
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(there):
            print('%s:%d: links to %s, which does not exist' % (path, n, there))
        elif part and there.endswith('.md') and part not in anchors(there):
            print('%s:%d: links to %s, which has no such heading' % (path, n, target))
    with open(path) as f:
        lines = f.read().split('\n')
    for n, line in enumerate(lines, 1):
        for name in re.findall(r'`([\w./-]+/[\w.-]+\.(?:c|h|py|sh))`', line):
            if not any(os.path.exists(base + name) for base in BASES):
                print('%s:%d: names %s, which does not exist' % (path, n, name))
    rows = 0
    for n, line in enumerate(lines, 1):
        cells = len(re.findall(r'(?<!\\)\|', line)) if line.startswith('|') else 0
        if cells and rows and cells != rows:
            print('%s:%d: a row of %d cells in a table of %d' % (path, n, cells - 1, rows - 1))
        rows = rows if cells and rows else cells
    fenced = False
    for n, line in enumerate(lines, 1):
        fenced ^= line.startswith('```')
        if path not in MADE and not fenced and len(line) > WIDTH and '|' not in line and '](' not in line:
            print('%s:%d: has %d columns, %d are the limit' % (path, n, len(line), WIDTH))
    if path == 'README.md' and len(lines) > README_LINES + 1:
        print('README.md has %d lines, %d are the limit' % (len(lines) - 1, README_LINES))


def main():
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '*.md'], capture_output=True, text=True,
                           check=True)
    known = words()
    for path in names.stdout.split():
        check(path)
        functions(path, known)
    return 0


if __name__ == '__main__':
    sys.exit(main())
