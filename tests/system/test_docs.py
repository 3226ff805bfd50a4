#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: its programs choose their CPUs as if nobody else were there.
"""Runs the commands that the documents show, as they stand there, and compares their output.

A fenced block says by its first word what it is:
  sh                  commands: each must succeed
  console             commands after '$ ', and lines of their output, which must come in this order; '...' stands for
                      any text, a line '...' for any lines. Lines after a prompt ('triplane> ') are typed into the
                      command above them; a block that begins with such a prompt is typed into a triplane with two
                      ports and four queues each, which the blocks of a document share
  text, c, ...        not run
'norun: REASON' behind the first word marks commands that cannot run here, 'any-numbers' output whose numbers vary.
The blocks of a document share one shell and come one after the other. In a source of examples/ the commands are the
lines ' *   $ COMMAND' of the comment at its head.

test_docs.py [FILE...] runs some documents only.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
SHOWN = {'text', 'c', 'layers', 'json', 'ini', 'make', 'python', 'diff'}
PROMPT = re.compile(r'^(triplane|testpmd)> ?(.*)$')
CARD = 'triplane --no-pci --no-telemetry --vdev=net_mlx4_model0 -- --rxq 4 --txq 4'
LIMIT = 150  # seconds for one command, which itself waits for up to 60
failed = 0


def case(name, why=None, text=''):
    global failed
    if why is None:
        print('ok %s' % name)
    else:
        failed += 1
        print('not ok %s: %s' % (name, why))
        for line in text.rstrip().split('\n')[-25:]:
            print('    ' + line)
    sys.stdout.flush()


class Shell:
    """One bash for a document, so that its variables and background programs live from block to block."""

    def __init__(self):
        self.env = dict(os.environ, TERM='dumb')
        self.dir = tempfile.TemporaryDirectory(prefix='tp-docs')
        self.n = 0
        self.start()

    def start(self):
        self.proc = subprocess.Popen(['bash', '--norc'], cwd=ROOT, env=self.env, stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
                                     start_new_session=True)
        self.proc.stdin.write('eval "$(./tp env)"\n')

    def stop(self):
        for sig in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.proc.pid, sig)
                self.proc.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def run(self, text, typed=None, limit=LIMIT):
        """The exit code, 'late' if there is none in time, and what was printed."""
        self.n += 1
        script, out, stdin, done = (self.path('%s%d' % (w, self.n)) for w in ('script', 'out', 'in', 'done'))
        with open(script, 'w') as f:
            f.write(text + '\n')
        with open(stdin, 'w') as f:
            f.write(''.join(line + '\n' for line in typed or []))
        self.proc.stdin.write("tp_rc=0; trap 'tp_rc=$?' ERR; . '%s' <'%s' >'%s' 2>&1 || tp_rc=$?; trap - ERR; "
                              "echo $tp_rc >'%s.tmp'; mv '%s.tmp' '%s'\n" % (script, stdin, out, done, done, done))
        self.proc.stdin.flush()
        end = time.monotonic() + limit
        while not os.path.exists(done) and time.monotonic() < end and self.proc.poll() is None:
            time.sleep(0.02)
        finished = os.path.exists(done)
        if not finished:
            self.stop()
            self.start()
        got = ''
        if os.path.exists(out):
            with open(out, errors='replace') as f:
                got = f.read()
        if not finished:
            return 'late', got
        with open(done) as f:
            return int(f.read()), got

    def close(self):
        self.stop()
        self.dir.cleanup()


def pattern(line, numbers):
    words = []
    for word in line.split():
        parts = [re.escape(p) for p in word.split('...')]
        if numbers:
            parts = [re.sub(r'\d+(\\\.\d+)?', r'[0-9.]+', p) for p in parts]
        words.append('.*'.join(parts))
    return re.compile(r'\s*' + r'\s+'.join(words) + r'\s*')


def missing(want, got, numbers):
    """The first wanted line that does not come in its order."""
    lines = iter(got.split('\n'))
    for line in want:
        if line.strip() in ('', '...'):
            continue
        p = pattern(line, numbers)
        if not any(p.fullmatch(g) for g in lines):
            return line
    return None


class Block:
    def __init__(self, name, line, info, text):
        self.name, self.line, self.text = name, line, text
        self.kind, _, rest = info.partition(' ')
        self.norun = rest[len('norun:'):].strip() if rest.startswith('norun') else None
        self.numbers = 'any-numbers' in rest.split()

    def where(self):
        return '%s:%d' % (self.name, self.line)

    def steps(self):
        """[command or None, what is typed into it, output] of a console block."""
        out = []
        more = False
        for line in self.text.split('\n'):
            typed = PROMPT.match(line)
            if more:
                out[-1][0] += '\n' + line
            elif line.startswith('$ '):
                out.append([line[2:], [], []])
            elif typed and not out:
                out.append([None, [typed.group(2)], []])
            elif typed:
                out[-1][1].append(typed.group(2))
            elif out:
                out[-1][2].append(line)
            more = (more or line.startswith('$ ')) and line.endswith('\\')
        return out


def blocks(path):
    name = os.path.relpath(path, ROOT)
    with open(path) as f:
        lines = f.read().split('\n')
    if path.endswith('.c'):
        text = '\n'.join(lines)
        head = text[:text.index('*/\n', text.index('*/\n') + 1)]
        for m in re.finditer(r'^ \*   \$ ((?:.*\\\n)*.*)$', head, re.M):
            yield Block(name, head.count('\n', 0, m.start()) + 1, 'sh', re.sub(r'\n \*', '\n', m.group(1)))
        return
    info = None
    for n, line in enumerate(lines, 1):
        if info is None and line.startswith('```'):
            info, begun, text = line[3:].strip(), n, []
        elif info is not None and line.startswith('```'):
            yield Block(name, begun, info, '\n'.join(text))
            info = None
        elif info is not None:
            text.append(line)


def judge(name, step, rc, got, numbers):
    command, typed, want = step
    lacks = missing(want, got, numbers)
    stray = [g for g in got.split('\n') if g.startswith('error: ') and
             not any(pattern(w, numbers).fullmatch(g) for w in want if w.strip())]
    if rc == 'late':
        case(name, 'not finished after %d s' % LIMIT, got)
    elif lacks is not None:
        case(name, 'no line %r in its place' % lacks, got)
    elif stray:
        case(name, stray[0], got)
    elif rc != 0 and not any(w.startswith('error: ') for w in want):
        case(name, 'exit code %s' % rc, got)
    else:
        case(name)


def document(path):
    shell = Shell()
    counted = {'run': 0, 'norun': []}
    fragments = []
    try:
        for b in blocks(path):
            if b.kind in SHOWN:
                continue
            if b.norun is not None:
                if not b.norun:
                    case(b.where(), 'norun without a reason')
                counted['norun'].append('%s: %s' % (b.where(), b.norun))
                continue
            if b.kind not in ('sh', 'console'):
                case(b.where(), 'a block of kind %r; known: sh, console, %s' % (b.kind, ', '.join(sorted(SHOWN))))
                continue
            counted['run'] += 1
            if b.kind == 'sh':
                rc, got = shell.run(b.text)
                judge(b.where(), (b.text, [], []), rc, got, False)
                continue
            for i, step in enumerate(b.steps()):
                if step[0] is None:
                    fragments.append((b, step))
                    continue
                rc, got = shell.run(step[0], step[1])
                judge(b.where() + (' #%d' % (i + 1) if i else ''), step, rc, got, b.numbers)
        if fragments:
            together(os.path.relpath(path, ROOT), shell, fragments)
    finally:
        shell.close()
    return counted


def together(name, shell, fragments):
    """All blocks of prompts of a document, in one triplane; each begins with a command that fails with its number."""
    typed = []
    for i, (_, step) in enumerate(fragments):
        typed += ['docs-block-%d' % i] + step[1]
    rc, got = shell.run(CARD, typed + ['docs-block-%d' % len(fragments)])
    parts = re.split(r'^error: .*docs-block-\d+.*\n', got, flags=re.M)
    if rc == 'late' or len(parts) != len(fragments) + 2:
        case(name + ' at the prompt', 'the program ended early (%s)' % rc, got)
        return
    for (b, step), part in zip(fragments, parts[1:]):
        judge(b.where(), step, 0, part, b.numbers)


def main():
    os.chdir(ROOT)
    paths = sys.argv[1:] or ['README.md', 'CONTRIBUTING.md'] + sorted(glob.glob('docs/*.md')) + \
        sorted(glob.glob('examples/**/*.c', recursive=True))
    run, norun = 0, []
    for path in paths:
        c = document(os.path.join(ROOT, path))
        run += c['run']
        norun += c['norun']
    print('%d blocks were run, %d were not:' % (run, len(norun)))
    for line in norun:
        print('  ' + line)
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
