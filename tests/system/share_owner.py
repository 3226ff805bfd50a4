# SPDX-License-Identifier: BSD-3-Clause
"""A triplane that shares its ports, and other people's programs on them."""
import os
import subprocess

import tpmd

RUN = os.path.join(os.environ['TP_BUILD'], 'apps/triplane-run/triplane-run')
DEV = ('net_mlx4_model0_p0', 'net_mlx4_model0_p1')
LIMIT = 120


class Owner:
    """A triplane that shares both ports of a card, with a cable between them; its lcores sleep when there is nothing to do."""

    def __init__(self, vdevs=(), **kw):
        self.dir = tpmd.scratch()
        self.socket = os.path.join(self.dir.name, 'share')
        self.app = tpmd.Triplane(['net_mlx4_model0', *vdevs], **kw)
        for line in ('set fwd rxonly', tpmd.IDLE, 'roce 0 on', 'roce 1 on', 'roce addr add 0 192.0.2.1/24', 'roce addr add 1 192.0.2.2/24',
                     'share on ' + self.socket, 'start'):
            self.app.tell(line)
        self.show()

    def show(self):
        return self.app.ask('show share')

    def wait(self, what, limit=60):
        return tpmd.wait_until(lambda: what(self.show()), limit)

    def empty(self):
        """Nothing of guests is left."""
        return None if self.wait(lambda s: s['guests'] == 0 and s['objects'] == 0) else 'left: %s' % self.show()

    def start(self, *cmd, **kw):
        kw.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.Popen([RUN, '--quiet', '--attach', self.socket, *cmd], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **kw)

    def run(self, *cmd, **kw):
        p = self.start(*cmd, **kw)
        out = finish(p)
        return p.returncode, out

    def over(self):
        """Ends it; its exit code, and its log."""
        err = self.app.over()
        self.dir.cleanup()
        return self.app.proc.returncode, err

    def close(self):
        """Refusals are lines of its log; its end is in order all the same."""
        code, err = self.over()
        return None if code == 0 else 'exit code %d: %s' % (code, err[-400:])


def finish(p):
    try:
        return p.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()[0] + '\n(ended by the test)'
