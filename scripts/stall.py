#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
stall.py PID: until it is ended, one descendant of that process after the other stands still for 0.1 to 2 s: mostly a process
(SIGSTOP), sometimes one of its threads, which has a CPU only where nobody else wants it. Says what it stopped, on standard error.
"""
import contextlib
import os
import random
import signal
import sys
import time

SHORTEST, LONGEST = 0.1, 2  # seconds that it stands still: most of them short, so that the test comes to its end
BETWEEN = (0.2, 2)
SPARED = ('bash', 'timeout', 'meson')  # what runs the test, and what keeps CPUs busy meanwhile


def descendants(pid):
    """All of a process's children and theirs, as far as they are there."""
    found, open_ones = [], [pid]
    while open_ones:
        of = open_ones.pop()
        try:
            for task in os.listdir('/proc/%d/task' % of):
                with open('/proc/%d/task/%s/children' % (of, task)) as f:
                    kids = [int(n) for n in f.read().split()]
                open_ones += kids
                found += kids
        except OSError:
            pass  # it ended meanwhile
    return found


def name(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().rstrip()
    except OSError:
        return ''


def still(pid, seconds):
    """A process is stopped."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        with contextlib.suppress(OSError):  # it ended meanwhile
            os.kill(pid, signal.SIGCONT)


def starved(tid, seconds):
    """A thread runs where the CPU would be idle."""
    os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0))
    try:
        time.sleep(seconds)
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))


def once(pid):
    there = [p for p in descendants(pid) if p != os.getpid() and name(p) not in ('', *SPARED)]
    if not there:
        return
    victim, seconds = random.choice(there), SHORTEST + (LONGEST - SHORTEST) * random.random() ** 3
    threads = os.listdir('/proc/%d/task' % victim)
    how, who = (starved, int(random.choice(threads))) if len(threads) > 1 and random.random() < 0.3 else (still, victim)
    print('%.3f: %s (%d) %s for %.2f s' % (time.monotonic(), name(who), who, how.__name__, seconds), file=sys.stderr, flush=True)
    how(who, seconds)


def main(pid):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # who stands still goes on
    while True:
        time.sleep(random.uniform(*BETWEEN))
        with contextlib.suppress(OSError):
            once(pid)


if len(sys.argv) != 2 or not sys.argv[1].isdigit():
    sys.exit('usage: stall.py PID')
main(int(sys.argv[1]))
