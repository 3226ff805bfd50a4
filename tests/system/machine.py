#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the machine did meanwhile, by /proc/stat: the evidence of a case that others' use of the CPUs made impossible.

In Python: m = Machine(); ...; why = m.evidence(). In a shell: began=$(machine.py begin); ...; machine.py skip NAME "$began" WHY
prints a skip line, or nothing with status 1 where the CPUs were there: then the case has failed.
"""
import os
import sys

OTHERS = 30  # percent of one CPU that others used
STEAL = 3  # percent of all time that the hypervisor gave to other machines


def now():
    """Seconds since the machine started: all, those that somebody used, those that the hypervisor took."""
    with open('/proc/stat') as f:
        n = [int(w) / os.sysconf('SC_CLK_TCK') for w in f.readline().split()[1:9]]
    return sum(n), n[0] + n[1] + n[2] + n[5] + n[6], n[7]


def own(pid):
    """Seconds of CPU that a process has used, and those of its children that have ended."""
    with open('/proc/%d/stat' % pid) as f:
        return sum(int(n) for n in f.read().rsplit(')', 1)[1].split()[11:15]) / os.sysconf('SC_CLK_TCK')


class Machine:
    """From its making on, seen by the test that is this process or another."""

    def __init__(self, began=None, pid=None):
        self.pid = pid or os.getpid()
        self.began = began or (*now(), own(self.pid))

    def others(self):
        """Seconds of CPU that were used by programs that are not ours; ours count when they have ended."""
        return max(0, now()[1] - self.began[1] - (own(self.pid) - self.began[3]))

    def evidence(self):
        """What kept a case from its CPUs, or None."""
        total, busy, steal = (a - b for a, b in zip(now(), self.began))
        seconds = max(total / os.cpu_count(), 0.001)
        others, steal = 100 * self.others() / seconds, 100 * steal / max(total, 0.001)
        if others < OTHERS and steal < STEAL:
            return None
        return 'in %.1f s others used %.0f %% of a CPU, of %d; steal %.1f %%' % (seconds, others, os.cpu_count(), steal)


if __name__ == '__main__':
    if sys.argv[1:2] == ['begin']:
        print(*Machine(pid=os.getppid()).began)
    elif sys.argv[1:2] == ['skip'] and len(sys.argv) == 5:
        found = Machine(tuple(float(w) for w in sys.argv[3].split()), os.getppid()).evidence()
        if found is None:
            sys.exit(1)
        print('skip %s: the machine %s (%s)' % (sys.argv[2], sys.argv[4], found))
    else:
        sys.exit('usage: machine.py begin | machine.py skip NAME BEGAN WHY')
