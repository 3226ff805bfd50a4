# SPDX-License-Identifier: BSD-3-Clause
"""Cache lines that an lcore and a card in software pass to each other: each access to memory of bench_lines, which is both in one thread,
by valgrind's lackey, played on two caches that lose nothing."""
import bisect
import os
import re
import subprocess
import tempfile

LINE = 64
SIDES = 0x10000000000  # as bench_lines has it
LCORE, CARD = 1, 2


class Caches:
    """Who has a line; what crosses is counted by line and by who takes it."""

    def __init__(self):
        self.holders = {}
        self.crossed = {}

    def touch(self, who, line, write):
        has = self.holders.get(line, 0)
        # It comes over when one reads what only the other has, or writes what the other has, too.
        if has & (LCORE + CARD - who) and (write or not has & who):
            self.crossed[line, who] = self.crossed.get((line, who), 0) + 1
        self.holders[line] = who if write else has | who


def play(trace, caches):
    """Lines of lackey: ' L address,size' reads, ' S' writes, ' M' does both."""
    who = 0
    for line in trace:
        if line[:1] != ' ' or line[1:2] not in 'LSM':
            continue
        at, _, size = line[3:].partition(',')
        at = int(at, 16)
        if SIDES <= at < SIDES + LINE:
            who = (at - SIDES) // 8
        elif who != 0:
            for n in range(at // LINE, (at + int(size) - 1) // LINE + 1):
                caches.touch(who, n, line[1] != 'L')


def by_region(text, crossed):
    """{(region, who takes the line): how many}, by what the program says is where."""
    found = sorted((int(at, 16), int(at, 16) + int(n), name) for name, at, n in re.findall(r'^region (\S+) (\w+) (\d+)$', text, re.M))
    starts = [f[0] for f in found]
    out = {}
    for (line, who), n in crossed.items():
        i = bisect.bisect_left(starts, (line + 1) * LINE) - 1
        name = found[i][2] if i >= 0 and found[i][1] > line * LINE else 'other'
        out[name, who] = out.get((name, who), 0) + n
    return out


def count(program, rounds):
    """{(region, who takes the line): lines a frame}"""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, 'trace')
        os.mkfifo(log)
        caches = Caches()
        with open(os.path.join(folder, 'out'), 'w+') as out:
            p = subprocess.Popen(['valgrind', '--tool=lackey', '--trace-mem=yes', '--log-file=' + log, program, str(rounds)], stdout=out)
            # Most of it is from before the first store to the words that say who works.
            with subprocess.Popen(['sed', '-n', '/^ S 100000000[01][08],/,${/^ [LSM]/p}', log], stdout=subprocess.PIPE, text=True) as trace:
                play(trace.stdout, caches)
            p.wait()
            out.seek(0)
            text = out.read()
        if p.returncode != 0:
            raise RuntimeError('%s ended with %d' % (os.path.basename(program), p.returncode))
    frames = int(re.search(r'^packets (\d+)', text, re.M).group(1))
    return {k: n / frames for k, n in by_region(text, caches.crossed).items()}
