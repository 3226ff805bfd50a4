# SPDX-License-Identifier: BSD-3-Clause
"""Hugepages for tests of several processes, which share no other memory."""
import subprocess

import tpmd

PAGES = 160
NR = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages'
FREE = '/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages'


def number(path):
    with open(path) as f:
        return int(f.read())


class Pages:
    """Hugepages that processes can share, in a folder; None with a reason when the machine gives none."""

    def __init__(self, pages=PAGES):
        self.pages = pages
        self.folder = tpmd.scratch()
        self.before = self.why = None

    def __enter__(self):
        try:
            if number(FREE) < self.pages:
                self.before = number(NR)
                with open(NR, 'w') as f:
                    f.write(str(self.before + self.pages))
            if number(FREE) < self.pages:
                self.why = 'fewer than %d hugepages are free, and processes share no other memory' % self.pages
        except OSError as e:
            self.why = 'hugepages cannot be reserved: %s' % e
        if self.why is None and subprocess.run(['mount', '-t', 'hugetlbfs', 'none', self.folder.name],
                                               stderr=subprocess.DEVNULL).returncode != 0:
            self.why = 'hugetlbfs cannot be mounted'
        self.mounted = self.why is None
        return self

    def __exit__(self, kind, value, tb):
        if self.mounted:
            subprocess.run(['umount', self.folder.name])
        self.folder.cleanup()
        if self.before is not None:
            try:
                with open(NR, 'w') as f:
                    f.write(str(self.before))
            except OSError:
                pass
