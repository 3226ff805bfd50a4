#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_told.py: what users can say to our programs and no test says, one a line: settings, commands, device arguments, options.

check_told.py --table: all of them, with the source that has each and the tests that say it, as a table.
"""
import glob
import os
import re
import sys

SOURCES = ('apps/**/*.c', 'drivers/**/*.c', 'lib/**/*.c')
TESTS = ('tests/**/*.py', 'tests/**/*.sh', 'tests/**/*.c', 'tests/**/*.h', 'tests/**/*.txt')
ARGUMENT = re.compile(r'^\t\{"([a-z][a-z0-9-]*)", (?:mlx4_arg_|parse_)\w+,', re.M)
OPTION = re.compile(r'\{"([a-z][\w-]*)", (?:required|no|optional)_argument')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def files(patterns):
    return {path: read(path) for pattern in patterns for path in sorted(glob.glob(pattern, recursive=True))}


def offload(name):
    """A setting of an offload has the word of testpmd behind the direction."""
    return [name, name[3:].replace('-', '_')] if re.match(r'[rt]x-', name) else [name]


def commands():
    """What stands in front of the first argument, and one of several words behind it, which tests may have in a table."""
    for form in re.findall(r'^### `(.*)`$', read('docs/cli.md'), re.M):
        fixed = re.split(r' ?[\[<{]', form)[0]
        choice = re.match(re.escape(fixed) + r' ?\{([\w|-]+)\}', form)
        for word in choice.group(1).split('|') if choice else ['']:
            yield f'{fixed} {word}'.strip(), [fixed] + ([word] if word else [])


def kinds(sources):
    """Kind, what users say, and what a test has that says it: one of these words, or all of them for a command."""
    for name in sorted(set(re.findall(r'^\| `([a-z][\w-]*)` \|', read('docs/settings.md'), re.M))):
        yield 'setting', name, any, offload(name)
    for name, words in sorted(dict(commands()).items()):
        yield 'command', name, all, words
    for kind, pattern, form in (('device argument', ARGUMENT, '%s='), ('option', OPTION, '--%s')):
        for name in sorted({n for text in sources.values() for n in pattern.findall(text)}):
            yield kind, name, any, [form % name]


def says(text, how, words):
    # A plain search first: the pattern of most words is in few of the texts that it would be tried on.
    return how(w in text and re.search(r'(?<![\w-])%s' % re.escape(w) + ('' if w.endswith('=') else r'(?![a-z0-9-])'), text) for w in words)


def main():
    sources, tests = files(SOURCES), files(TESTS)
    if '--table' in sys.argv:
        print('| | | source | tests |\n| --- | --- | --- | --- |')
    for kind, name, how, words in kinds(sources):
        by = (os.path.basename(path) for path, text in tests.items() if says(text, how, words))
        if '--table' in sys.argv:
            home = [path for path, text in sources.items() if '"%s' % name.split(' {')[0] in text]
            print('| %s | `%s` | %s | %s |' % (kind, name, ', '.join(home[:2]), ', '.join(list(by)[:4])))
        elif next(by, None) is None:
            print('%s `%s`: no test says it' % (kind, name))


if __name__ == '__main__':
    main()
