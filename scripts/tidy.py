#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tidy.py BUILD FILE...: clang-tidy's findings in these sources, one a line.

What has not changed is not looked at again: a result is kept under a hash of the source, of every header of the tree that
it includes, of its compiler command, of .clang-tidy and of the versions of clang-tidy and DPDK. TP_LINT_CACHE says where;
by default it is the user's cache folder, so that another clone of the same tree finds it, too.
"""
import concurrent.futures
import hashlib
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
    """Compiler command of each source, without the names of folders that differ from clone to clone. clang-tidy finds the
    commands themselves in the folder copy."""
    root, found, kept = os.getcwd(), {}, []
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        for c in json.load(f):
            c['command'] = plain(c['command'])
            kept.append(c)
            path = os.path.relpath(os.path.normpath(os.path.join(c['directory'], c['file'])), root)
            words = shlex.split(c['command'])
            found.setdefault(path, ' '.join(w.replace(c['directory'], '@build').replace(root, '@root') for w in words))
    with open(os.path.join(copy, 'compile_commands.json'), 'w', encoding='utf-8') as f:
        json.dump(kept, f)
    return found


def look(build, path):
    p = subprocess.run([TIDY, '--quiet', '-p', build, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    text = [line for line in p.stdout.decode(errors='replace').splitlines() if FINDING.search(line)]
    if p.returncode != 0 and not text:
        return None, ['%s: %s ended with status %s' % (path, TIDY, p.returncode)]
    return text, text


def main():
    build, sources = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as copy:
        for line in lint(build, sources, copy):
            print(line)


def lint(build, sources, copy):
    """Findings in these sources."""
    cmd = commands(build, copy)
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
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(look, copy, p): pending[p] for p in pending}
        for job in concurrent.futures.as_completed(jobs):
            keep, text = job.result()
            findings.update(text)
            if keep is None:
                continue
            new = os.path.join(CACHE, '%s.%d' % (jobs[job], os.getpid()))
            with open(new, 'w', encoding='utf-8') as f:
                f.write(''.join(t + '\n' for t in keep))
            os.replace(new, os.path.join(CACHE, jobs[job]))
    root = os.getcwd() + '/'
    return sorted(f.replace(root, '') for f in findings)


if __name__ == '__main__':
    main()
