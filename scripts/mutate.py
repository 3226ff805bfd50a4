#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutate.py [OPTION]... [FILE | FOLDER]...: do unit tests notice when a source says something else?

A mutant is one small change of a source: another operator, a constant that is one off, a condition that is negated, a
statement that is missing, bytes in the wrong order. All mutants of a run are in one build, each behind a switch
(tests/mutants.h). The unit programs run once without any, which shows the switches that each program reads. Then each
mutant is on in the programs that reach it, shortest first, until one fails (killed) or none does (survived). A program may
use a generous multiple of the CPU time that it used before; one that only waits is ended much later.

Copies of the sources and the build are in .tp/mutate. The rest of the tree is not touched.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOME = os.path.join(os.environ.get('TP_CACHE') or os.path.join(ROOT, '.tp'), 'mutate')
SRC, BUILD = os.path.join(HOME, 'src'), os.path.join(HOME, 'src', 'build')
NL = '\n'
STOP = threading.Event()
KILLS = collections.Counter()
MODULES = ['drivers/mlx4', 'lib/roce', 'model', 'lib/mad', 'lib/ipoib', 'lib/dcb', 'apps/triplane-hca']

# clang-format puts blanks around binary operators and around no others, so a text search finds them.
SWAP = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&', '+': '-', '-': '+',
        '<<': '>>', '>>': '<<', '&': '|', '|': '&', '%': '/'}
OPERATOR = re.compile(r'(?<=[\w)\]]) (&&|\|\||<<|>>|[<>=!]=|[<>+\-&|%])(?=\s)')
# Ends of the expression around an operator, at its depth of brackets.
EDGE = re.compile(r'[;,{}?:]|(?<![=!<>])=(?!=)|[+\-*/%&|^]=|<<=|>>=|\b(?:return|case|else|do|goto)\b')
CONSTANT = re.compile(r'(?<![\w.])(?:0x[0-9a-fA-F]+|[0-9]+)[uUlL]*(?![\w.])')
MASK = re.compile(r'\s*(\w+)')
# What a condition is likely to be changes nothing.
HINT = re.compile(r'\b__builtin_expect\(.*, $')
CONDITION = re.compile(r'\b(?:if|while) \(')
STATEMENT = re.compile(r'^\t+(?:(?:\+\+|--|\*)?(?:\(\*)?\w(?:[\w.)]|->|\[[^\]\n]*\])*(?: (?:[+\-*/%&|^]|<<|>>)?= |\(|\+\+|--)'
                       r'|break;|continue;|return;)', re.M)
ERROR_CODE = re.compile(r'\breturn (-E[A-Z]+|false|true);')
BYTES = re.compile(r'\brte_(?:be|cpu)_to_(?:be|cpu)_(?:16|32|64)\(|\b(?:ib_get|tpm_load|be|mlx4_be)(16|32|64)(?:_at)?\(')
# Text of people is not judged, and no test could tell other words by a number.
WORDS = re.compile(r'\b(?:\w*LOG\w*|\w*printf|\w*_log)\(|^\s*#|\b(?:static|_Static_assert|case)\b')
# Where the compiler refuses something: a line of its own, or of a source that calls an intrinsic with it.
BROKEN = (r'^(?:In function [^\n]*\n +inlined from [^\n]* at )?(?:\.\./|/\S*/src/)*(\S+\.c):(\d+):\d+(?:: error|[:,]$)')
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)


def short(text):
    return ' '.join(text.split())


@dataclass
class Mutant:
    """src[begin:end] becomes text; a statement has no value, so it is switched otherwise."""
    path: str
    line: int
    begin: int
    end: int
    text: str
    kind: str
    what: str
    id: int = 0
    state: str = ''
    by: str = ''

    def module(self):
        return next((m for m in MODULES if self.path.startswith(m + '/')), os.path.dirname(self.path))


@dataclass
class Program:
    name: str
    cmd: list
    cpu: float = 0.0
    wall: float = 0.0
    reached: set = field(default_factory=set)


def closing(code, at):
    """Of the bracket that opens there: the index of its end."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in '([{') - (code[i] in ')]}')
        if depth == 0:
            return i
    return len(code) - 1


def around(code, edges, at):
    """The expression with the operator at this index: to the next edge on either side."""
    level, begin, end = 0, at, at
    for begin in range(at, 0, -1):
        c = code[begin - 1]
        level += (c in ')]') - (c in '([')
        if level < 0 or (level == 0 and begin - 1 in edges):
            break
    level = 0
    for end in range(at, len(code)):
        level += (code[end] in '([') - (code[end] in ')]')
        if level < 0 or (level == 0 and end in edges):
            break
    text = code[begin:end]
    return begin + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


def right_side(code, op, at, end):
    """End of what && or || has on its right."""
    level = 0
    for i in range(at + len(op), end):
        level += (code[i] in '([') - (code[i] in ')]')
        if level == 0 and (code.startswith('||', i) or (op == '&&' and code.startswith('&&', i))):
            return i
    return end


def bodies(code):
    """Begin and end of each function's body."""
    for m in re.finditer(r'^\{', code, re.M):
        if re.search(r'\)\s*$', code[max(0, m.start() - 200):m.start()]):
            yield m.start(), closing(code, m.start())


def mutants_of(path, src, rng):
    """All mutants of a source that this program knows."""
    code = HIDDEN.sub(lambda m: re.sub(r'[^\n]', '_' if m.group()[0] in '"\'' else ' ', m.group()), src)
    edges = {i for m in EDGE.finditer(code) for i in range(*m.span())}
    found = []

    def add(begin, end, text, kind, what):
        first = code.rfind('\n', 0, begin) + 1
        statement = code[max(code.rfind(c, 0, begin) for c in ';{}') + 1:end]
        if not WORDS.search(code[first:end]) and not WORDS.search(statement) and '#' not in src[begin:end]:
            found.append(Mutant(path, code.count('\n', 0, begin) + 1, begin, end, text, kind, what))

    def change(at, end, text, kind, what):
        """The expression around, with [at:end] changed."""
        b, e = around(code, edges, at)
        add(b, e, src[b:at] + text + src[end:e], kind, f'{what} in `{short(src[b:e])}`')

    for lo, hi in bodies(code):
        for m in OPERATOR.finditer(code, lo, hi):
            op, at = m.group(1), m.start(1)
            change(at, m.end(1), SWAP[op], 'operator', f'`{op}` -> `{SWAP[op]}`')
            if op in ('&&', '||'):
                cut = right_side(code, op, at, around(code, edges, at)[1])
                change(at, cut, '', 'side', f'without `{short(src[at:cut])}`')
            mask = MASK.match(code, m.end())
            if op == '&' and mask:
                change(mask.start(1), mask.end(1), f'({mask.group(1)} >> 1)', 'mask', f'mask `{mask.group(1)}` >> 1')
        for m in CONSTANT.finditer(code, lo, hi):
            if HINT.search(code[code.rfind('\n', 0, m.start()) + 1:m.start()]):
                continue
            other = f'({m.group()} {rng.choice("+-")} 1)'
            what = f'`{m.group()}` -> `{other[1:-1]}` in `{short(src[src.rfind(NL, 0, m.start()) + 1:src.find(NL, m.end())])}`'
            add(m.start(), m.end(), other, 'constant', what)
        for m in CONDITION.finditer(code, lo, hi):
            b, e = m.end(), closing(code, m.end() - 1)
            add(b, e, f'!({src[b:e]})', 'condition', f'negated `{short(src[b:e])}`')
        for m in STATEMENT.finditer(code, lo, hi):
            b = m.start() + len(m.group()) - len(m.group().lstrip())
            e = code.find(';', b) + 1
            # One that only keeps the compiler quiet does nothing.
            if code[b:e].startswith('RTE_SET_USED('):
                continue
            if code[b:e].count('(') == code[b:e].count(')') and '{' not in code[b:e] and ')\n' not in code[b:e]:
                add(b, e, '', 'statement', f'without `{short(src[b:e])}`')
        for m in ERROR_CODE.finditer(code, lo, hi):
            other = {'false': 'true', 'true': 'false'}.get(m.group(1), '0')
            add(m.start(1), m.end(1), other, 'result', f'`{m.group(1)}` -> `{other}`')
        for m in BYTES.finditer(code, lo, hi):
            call = src[m.start():(e := closing(code, m.end() - 1) + 1)]
            other = f'__builtin_bswap{m.group(1)}({call})' if m.group(1) else src[m.end() - 1:e]
            add(m.start(), e, other, 'order', f'other byte order of `{short(call)}`')
    return found


def choose(mutants, count, rng):
    """Some of them, of each kind as often as of any other."""
    kinds = {}
    for m in mutants:
        kinds.setdefault(m.kind, []).append(m)
    picked = []
    while kinds and (not count or len(picked) < count):
        kind = rng.choice(sorted(kinds))
        picked.append(kinds[kind].pop(rng.randrange(len(kinds[kind]))))
        if not kinds[kind]:
            del kinds[kind]
    return sorted(picked, key=lambda m: m.begin)


def render(src, mutants):
    """The source with all of these behind their switches. One is on at a time, so what a switch chooses has none inside."""
    out, stack, at = [], [], 0
    spans = {}
    for m in mutants:
        spans.setdefault((m.begin, -m.end), []).append(m)
    for (begin, end), group in sorted(spans.items()) + [((len(src), -len(src)), [])]:
        while stack and stack[-1][0] <= begin:
            last, tail = stack.pop()
            out += [src[at:last], tail]
            at = last
        out.append(src[at:begin])
        at = begin
        if stack and -end > stack[-1][0]:
            for m in group:
                m.state = 'dropped'
            continue
        if group and group[0].kind == 'statement':
            out.append(f'{{ if (!tp_mutant({group[0].id})) {{ ')
            stack.append((-end, ' } }'))
        elif group:
            out.append('(' + ''.join(f'tp_mutant({m.id}) ? ({m.text}) : ' for m in group) + '(')
            stack.append((-end, '))'))
    out.append(src[at:])
    return '#include "tests/mutants.h"\n' + ''.join(out)


def write_if_other(path, text):
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_bytes() != text:
        file.write_bytes(text)


def copy_tree(changed):
    """The tree as git knows it, with the changed sources in it."""
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        path = pathlib.Path(ROOT, name)
        if path.is_file():
            write_if_other(os.path.join(SRC, name), changed.get(name) or path.read_bytes())
            os.chmod(os.path.join(SRC, name), path.stat().st_mode)


def build(sources, mutants, tests, jobs):
    """Compiles what these programs need, without the mutants that are no C."""
    env = dict(os.environ, CCACHE_BASEDIR=SRC, CCACHE_NOHASHDIR='1', CCACHE_SLOPPINESS='pch_defines,time_macros')
    sdk = os.path.join(SRC, '.tp', 'dpdk-sdk')
    for attempt in range(12):
        by_path = {}
        for m in mutants:
            if m.state != 'dropped':
                by_path.setdefault(m.path, []).append(m)
        copy_tree({p: render(sources[p], ms).encode() for p, ms in by_path.items()})
        if not os.path.exists(os.path.join(BUILD, 'build.ninja')):
            os.makedirs(os.path.dirname(sdk), exist_ok=True)
            if not os.path.lexists(sdk):
                os.symlink(os.path.join(os.path.dirname(HOME), 'dpdk-sdk'), sdk)
            subprocess.run(['meson', 'setup', BUILD, SRC, '--buildtype=release', f'-Ddriver_sdk={sdk}/include'], env=env,
                           stdout=subprocess.DEVNULL, check=True)
        # Which programs there are, meson knows when it has read what may be new in its files.
        subprocess.run(['ninja', '-C', BUILD, 'build.ninja'], env=env, stdout=subprocess.DEVNULL, check=True)
        targets = {os.path.relpath(p.cmd[0], BUILD) for p in programs(tests)}
        made = subprocess.run(['ninja', '-C', BUILD, '-k', '0', '-j', str(jobs), *targets], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if made.returncode == 0:
            return
        bad = set()
        for path, line in re.findall(BROKEN, made.stdout, re.M):
            if path in by_path:
                text = render(sources[path], by_path[path]).split('\n')[int(line) - 1]
                bad |= {int(i) for i in re.findall(r'tp_mutant\((\d+)\)', text)}
        if not bad:
            break
        for m in mutants:
            if m.id in bad:
                m.state = 'dropped'
    sys.exit(f'mutate.py: the build fails, and not for a mutant:\n{made.stdout[-3000:]}')


def run(cmd, env, cpu, wall):
    """Exit status (None at a limit), CPU seconds, elapsed seconds. All processes that it leaves behind are ended."""
    start = time.monotonic()

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory() as home, subprocess.Popen(
            cmd, env=dict(os.environ, XDG_RUNTIME_DIR=home, **env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, cwd=home, preexec_fn=limit) as p:
        status = None
        while status is None and time.monotonic() < start + wall:
            pid, status_word, usage = os.wait4(p.pid, os.WNOHANG)
            if pid:
                status = p.returncode = os.waitstatus_to_exitcode(status_word)
            else:
                time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        if status is None:
            _, _, usage = os.wait4(p.pid, 0)
            p.returncode = -signal.SIGKILL
    return status, usage.ru_utime + usage.ru_stime, time.monotonic() - start


def programs(patterns):
    """Unit programs of the build, with names like these; None: all."""
    tests = json.loads(subprocess.run(['meson', 'introspect', '--tests', BUILD], stdout=subprocess.PIPE, check=True).stdout)
    return [Program(t['name'], t['cmd']) for t in tests
            if '/tests/unit/' in t['cmd'][0] and any(fnmatch.fnmatch(t['name'], p) for p in patterns or '*')]


def measure(prog, mutants, slow):
    """Runs a program as it is: its time, and which switches it reads. False: it takes too long or fails."""
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(max(m.id for m in mutants) + 1)
        status, prog.cpu, prog.wall = run(prog.cmd, {'TP_MUTANT_REACHED': f.name}, int(2 * slow) + 1, slow)
        prog.reached = {i for i, b in enumerate(f.read()) if b}
    return status == 0


def judge(mutant, progs):
    """Runs one mutant until a program notices it."""
    if STOP.is_set():
        return
    # First those that have killed mutants of this source, then the shortest.
    reach = sorted((p for p in progs if mutant.id in p.reached), key=lambda p: -KILLS[mutant.path, p.name])
    mutant.state = 'survived' if reach else 'unreached'
    for p in reach:
        status, _, _ = run(p.cmd, {'TP_MUTANT': str(mutant.id)}, int(10 * p.cpu) + 3, 10 * p.wall + 20)
        if status != 0:
            KILLS[mutant.path, p.name] += 1
            mutant.state, mutant.by = 'killed', p.name + (' (time)' if status in (None, -signal.SIGXCPU, -signal.SIGKILL) else '')
            break
    print(f'{mutant.state:9} {mutant.path}:{mutant.line}: {mutant.what}', *([f'[{mutant.by}]'] if mutant.by else []), flush=True)


def table(mutants, key):
    """Figures of each group: | name | killed | survived | unreached | rate |."""
    rows = {}
    for m in mutants:
        for name in (key(m), 'all'):
            rows.setdefault(name, dict.fromkeys(('killed', 'survived', 'unreached'), 0))[m.state] += 1
    print('| where | killed | survived | unreached | rate |\n| --- | --- | --- | --- | --- |')
    for name, row in sorted(rows.items(), key=lambda r: (r[0] == 'all', r[0])):
        rate = 100 * row['killed'] // sum(row.values())
        print(f'| {name} | {row["killed"]} | {row["survived"]} | {row["unreached"]} | {rate} % |')


def sources_of(names):
    """Sources of these files and folders, as git knows them."""
    known = subprocess.run(['git', 'ls-files', '*.c'], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        some = [p for p in known if p == name or p.startswith(name.rstrip('/') + '/') or fnmatch.fnmatch(p, name)]
        if not some:
            sys.exit(f"mutate.py: '{name}' is no source and no folder with sources of this tree")
        yield from some


def main():
    signal.signal(signal.SIGINT, lambda *_: STOP.set())
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('names', nargs='*', metavar='FILE|FOLDER', help=f'what is changed; default: {" ".join(MODULES)}')
    ap.add_argument('--only', action='append', default=[], metavar='FILE:LINE', help='all mutants of this line, no others')
    ap.add_argument('--count', type=int, default=4, help='mutants of each source, 0: all (default %(default)s)')
    ap.add_argument('--seed', type=int, default=1, help='others of the same number (default %(default)s)')
    ap.add_argument('--slow', type=float, default=20, help='leave programs out that run longer, in seconds (default %(default)s)')
    ap.add_argument('--tests', action='append', help='only unit programs of these names, such as mad_*; may be said several times')
    ap.add_argument('-j', '--jobs', type=int, default=1, help='processes at a time (default %(default)s)')
    ap.add_argument('--survivors', default=os.path.join(HOME, 'survivors'), help='file of those (default %(default)s)')
    args = ap.parse_args()

    lines = {}
    for place in args.only:
        path, sep, line = place.rpartition(':')
        if not sep or not line.isdigit():
            ap.error(f"--only '{place}': FILE:LINE, such as lib/mad/agent/core.c:73")
        lines.setdefault(path, set()).add(int(line))
    mutants, sources = [], {}
    for path in sorted(set(sources_of(list(lines) or args.names or MODULES))):
        sources[path] = pathlib.Path(ROOT, path).read_text(encoding='utf-8')
        rng = random.Random(f'{args.seed}:{path}')
        some = mutants_of(path, sources[path], rng)
        mutants += [m for m in some if m.line in lines[path]] if lines else choose(some, args.count, rng)
    for i, m in enumerate(mutants):
        m.id = i + 1
    mutants or sys.exit('mutate.py: nothing to change there')
    build(sources, mutants, args.tests, args.jobs)
    mutants = [m for m in mutants if m.state != 'dropped']

    progs = programs(args.tests)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        fit = list(pool.map(lambda p: measure(p, mutants, args.slow), progs))
        slow = ' '.join(p.name for p, ok in zip(progs, fit) if not ok)
        print(f'{len(mutants)} mutants, {sum(fit)} programs; left out: {slow or "none"}', flush=True)
        progs = sorted((p for p, ok in zip(progs, fit) if ok), key=lambda p: p.wall)
        # In any order, so that a run which ^C ends has judged a fair sample.
        list(pool.map(lambda m: judge(m, progs), random.Random(args.seed).sample(mutants, len(mutants))))
    mutants = [m for m in mutants if m.state]
    table(mutants, (lambda m: m.path) if lines or args.names else Mutant.module)
    with open(args.survivors, 'w', encoding='utf-8') as f:
        f.writelines(f'{m.path}:{m.line}: {m.what} ({m.state})\n' for m in mutants if m.state != 'killed')


if __name__ == '__main__':
    main()
