#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tidy.py BUILD FILE...: clang-tidy's findings in these sources, one a line.

What has not changed is not looked at again: a result is kept under a hash of the source, of every header of the tree that
it includes, of its compiler command, of .clang-tidy and of the versions of clang-tidy and DPDK. TP_LINT_CACHE says where;
by default it is the user's cache folder, so that another clone of the same tree finds it, too.

Most of the time goes into DPDK's headers, which each source includes and each check walks through. So sources with the same
compiler command are looked at up to sixteen at a time, joined to one. One in which something is found, or that does not go with the
others, is looked at by itself: what is told is always a source's own.
"""
import bisect
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

TIDY = 'clang-tidy-14'
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)
FINDING = re.compile(r'(warning|error):')
JOINED = 16 # sources at a time, at most
QUOTED = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.M)
INCLUDES = re.compile(r'(?:.*^\s*#\s*include\b[^\n]*\n)?', re.M | re.S)
MACRO = re.compile(r'^\s*#\s*define\s+(\w+)', re.M)
# What a source has at file scope: functions, whose names begin a line; those and objects that it has for itself; tags.
FUNCTION = re.compile(r'^(?!static_assert)([a-z]\w*)\(', re.M)
STATIC = re.compile(r'^static\b(?:.*\n|[^;=({\[]*?\b)(\w+)\s*[;=(\[]', re.M)
TAG = re.compile(r'^(?:static\s+)?(?:const\s+)?(?:struct|enum|union)\s+(\w+)\s*\{', re.M)
CACHE = os.environ.get('TP_LINT_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'triplane', 'tidy')


class Tree:
    """Hashes of files, and of all that they include."""

    def __init__(self, dirs):
        self.dirs, self.seen = dirs, {}

    def file(self, path):
        """Hash of a file, and the files that it names in its #include lines and that are there."""
        if path not in self.seen:
            with open(path, 'rb') as f:
                data = f.read()
            named = []
            for name in INCLUDE.findall(data):
                for d in [os.path.dirname(path)] + self.dirs:
                    p = os.path.normpath(os.path.join(d, name.decode()))
                    if os.path.isfile(p):
                        named.append(p)
                        break
            self.seen[path] = hashlib.sha256(data).hexdigest(), named
        return self.seen[path]

    def closure(self, path):
        """(path, hash) of a file and of all that it includes, in order."""
        done, pending = {}, [path]
        while pending:
            p = pending.pop()
            if p not in done:
                done[p], named = self.file(p)
                pending += named
        return sorted(done.items())


def version(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode()


def plain(command):
    """The compiler's own command, which reads no precompiled header: it is none of clang's, and each source must do without."""
    return re.sub(r'^(\S*/)?ccache ', '', command.replace(' -fpch-preprocess -include dpdk.h ', ' '))


def commands(build, copy):
    """Compiler command of each source, without the names of folders that differ from clone to clone, and whole. clang-tidy
    finds the whole ones in the folder copy."""
    root, found, kept, whole = os.getcwd(), {}, [], {}
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        for c in json.load(f):
            c['command'] = plain(c['command'])
            kept.append(c)
            path = os.path.relpath(os.path.normpath(os.path.join(c['directory'], c['file'])), root)
            words = shlex.split(c['command'])
            found.setdefault(path, ' '.join(w.replace(c['directory'], '@build').replace(root, '@root') for w in words))
            whole.setdefault(path, c)
    with open(os.path.join(copy, 'compile_commands.json'), 'w', encoding='utf-8') as f:
        json.dump(kept, f)
    return found, whole


def tidy(build, path):
    """Exit status and text of clang-tidy."""
    p = subprocess.run([TIDY, '--quiet', '-p', build, '--config-file=.clang-tidy', path], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, check=False)
    return p.returncode, p.stdout.decode(errors='replace')


def look(build, path):
    """(what is kept, what is told) of a source by itself."""
    rc, text = tidy(build, path)
    text = [line for line in text.splitlines() if FINDING.search(line)]
    if rc != 0 and not text:
        return None, ['%s: %s ended with status %s' % (path, TIDY, rc)]
    return text, text


def joined(paths):
    """These sources as one, a text of each. Names that two of them have for themselves become different ones, and a source's macros
    end with it. Nor do the others see the bodies of its functions: the analyzer would follow calls into them, and come less far."""
    texts = []
    for path in paths:
        with open(path, encoding='utf-8') as f:
            texts.append(f.read())
    static = [set(STATIC.findall(t)) for t in texts]
    tags = [set(TAG.findall(t)) for t in texts]
    count = collections.Counter(name for names in static + tags for name in names)
    out = []
    for i, (path, text) in enumerate(zip(paths, texts)):
        place = os.path.dirname(os.path.abspath(path))

        def beside(m, place=place):
            there = os.path.normpath(os.path.join(place, m.group(2)))
            return '%s"%s"' % (m.group(1), there) if os.path.exists(there) else m.group(0)

        text = QUOTED.sub(beside, text)
        given = set(FUNCTION.findall(text)) - static[i]
        names = '|'.join(sorted(given | {name for name in static[i] if count[name] > 1}))
        if names:
            text = re.sub(r'(?<![\w.>"/#])(?<!struct )(?<!enum )(?<!union )(%s)(?![\w"/.])' % names, r'\1__%d' % i, text)
        twice = '|'.join(sorted(name for name in tags[i] if count[name] > 1))
        if twice:
            text = re.sub(r'\b(struct|enum|union) (%s)\b' % twice, r'\1 \2__%d' % i, text)
        head = INCLUDES.match(text).end()
        same = ''.join('extern __typeof__(%s) %s__%d;\n' % (name, name, i) for name in sorted(given - {'main'}))
        out.append(text[:head] + same + text[head:] + ''.join('#undef %s\n' % m for m in sorted(set(MACRO.findall(text)))))
    return out


def unclean(command, paths):
    """(those of these sources in which something is found when they are joined to one, whether they were one that compiles)"""
    with tempfile.TemporaryDirectory() as place:
        one = os.path.join(place, 'joined.c')
        texts = joined(paths)
        with open(one, 'w', encoding='utf-8') as f:
            f.write(''.join(texts))
        c = dict(command, command=re.sub(r' -c \S+$', ' -c ' + one, command['command']), file=one)
        with open(os.path.join(place, 'compile_commands.json'), 'w', encoding='utf-8') as f:
            json.dump([c], f)
        rc, text = tidy(place, one)
    compiles = rc == 0 and ' error: ' not in text
    ends = list(itertools.accumulate(t.count('\n') for t in texts))
    # A finding in a header is followed by the way there, which begins in a source.
    lines = [int(n) for n in re.findall(re.escape(one) + r':(\d+):', text)]
    if not lines and (FINDING.search(text) or not compiles):
        return set(paths), False
    return {paths[bisect.bisect_left(ends, n)] for n in lines}, compiles


def look_joined(build, command, paths):
    """(source, what is kept, what is told) of each."""
    if len(paths) == 1:
        return [(paths[0], *look(build, paths[0]))]
    bad, compiles = unclean(command, paths)
    good = [path for path in paths if path not in bad]
    if not good:
        half = len(paths) // 2
        return look_joined(build, command, paths[:half]) + look_joined(build, command, paths[half:])
    alone = [(path, *look(build, path)) for path in sorted(bad)]
    return alone + ([(path, [], []) for path in good] if compiles else look_joined(build, command, good))


def alike(command):
    """What sources must have in common to be joined: the compiler's command without the names of files."""
    return re.sub(r' -I\S+\.p(?= )| -M[QF] \S+| -o \S+| -c \S+$', '', command)


def main():
    build, sources = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as copy:
        for line in lint(build, sources, copy):
            print(line)


def lint(build, sources, copy):
    """Findings in these sources."""
    cmd, whole = commands(build, copy)
    with open('.clang-tidy', encoding='utf-8') as f:
        common = f.read() + version(TIDY, '--version') + version('pkg-config', '--modversion', 'libdpdk')
    tree = Tree(['include/triplane', 'prm', '.'])
    os.makedirs(CACHE, exist_ok=True)
    findings, pending = set(), {}
    for path in sources:
        if path not in cmd:
            print("# the build does not compile %s" % path, file=sys.stderr)
            continue
        key = hashlib.sha256(repr((common, cmd[path], tree.closure(path))).encode()).hexdigest()
        try:
            with open(os.path.join(CACHE, key), encoding='utf-8') as f:
                findings.update(f.read().splitlines())
        except OSError:
            pending[path] = key
    print('# clang-tidy looks at %d of %d sources, the others have not changed' % (len(pending), len(sources)), file=sys.stderr)
    groups = collections.defaultdict(list)
    for path in pending:
        groups[alike(whole[path]['command'])].append(path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(look_joined, copy, whole[g[i]], g[i:i + JOINED]) for g in groups.values() for i in range(0, len(g), JOINED)]
        for job in concurrent.futures.as_completed(jobs):
            for path, keep, text in job.result():
                findings.update(text)
                if keep is None:
                    continue
                new = os.path.join(CACHE, '%s.%d' % (pending[path], os.getpid()))
                with open(new, 'w', encoding='utf-8') as f:
                    f.write(''.join(t + '\n' for t in keep))
                os.replace(new, os.path.join(CACHE, pending[path]))
    root = os.getcwd() + '/'
    return sorted(f.replace(root, '') for f in findings)


if __name__ == '__main__':
    main()
