#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Programs of libibverbs as Debian ships them on InfiniBand ports that a triplane shares, with a subnet manager of its own: they
address each other by LID, which is all that qperf's tests of UC and UD know.
"""
import os
import re

import tpmd
from share_owner import LIMIT, Sharing, finish, pair

cases = tpmd.Cases()
DEV = ('net_mlx4_model0_1', 'net_mlx4_model0_2')


class Owner(Sharing):
    """Shares both InfiniBand ports of a card, which a cable joins."""

    def __init__(self):
        self.dir = tpmd.scratch()
        self.socket = os.path.join(self.dir.name, 'share')
        self.app = tpmd.Triplane(['net_mlx4_model0,port0=ib,port1=ib'])
        # The socket of OpenSM's tools opens both ports; the subnet manager needs one.
        for line in (tpmd.IDLE, 'ib umad on ' + os.path.join(self.dir.name, 'umad'), 'ib sm on net_mlx4_model0/1',
                     'share on ' + self.socket):
            self.app.tell(line)
        self.show()


def devices(owner):
    """Both get active, with the LIDs that the subnet manager gave."""
    said = []

    def active():
        said[:] = [owner.run('ibv_devinfo', '-d', d, view='off')[1] for d in DEV]
        return all('PORT_ACTIVE (4)' in s and 'link_layer:\t\tInfiniBand' in s for s in said)

    if not tpmd.wait_until(active, LIMIT):
        return 'not active: %s' % said
    lids = [int(re.search(r'port_lid:\s+(\d+)', s)[1]) for s in said]
    return None if all(lids) and lids[0] != lids[1] else 'LIDs: %s' % lids


def both(owner, prog, done, *args):
    port = tpmd.free_port()
    cmd = [prog, *args, '-p', str(port), '-d']
    e = pair(owner.start, cmd + [DEV[0]], cmd + [DEV[1], '127.0.0.1'], lambda _: tpmd.listens(port))
    ok = e.rc == 0 and e.server_rc == 0 and re.search(done, e.out, re.S)
    return None if ok else 'exit codes %d, %d: %s; the server: %s' % (e.rc, e.server_rc, e.out[-400:], e.said[-400:])


def qperf(owner, port, test):
    """It tells a figure of what both ends saw."""
    rc, out = owner.run('qperf', '-lp', str(port), '-t', '1', '-li', DEV[1] + ':1', '-ri', DEV[0] + ':1', '127.0.0.1', test)
    return None if rc == 0 and re.search(r'(latency|bw|msg_rate) += +[1-9]', out) else 'exit code %d: %s' % (rc, out)


QPERF = ('rc_lat', 'uc_lat', 'uc_bw', 'ud_lat', 'ud_bw', 'uc_rdma_write_bw', 'rc_compare_swap_mr')


def main():
    owner = Owner()
    cases.run('devices', devices, owner)
    for prog in ('rc', 'uc', 'srq'):
        cases.run('pingpong-' + prog, both, owner, 'ibv_%s_pingpong' % prog, r'\d+ iters in', '-e', '-c', '-n', '100')
    cases.run('pingpong-ud', both, owner, 'ibv_ud_pingpong', r'\d+ iters in', '-e', '-c', '-n', '100', '-s', '1024')
    cases.run('write-lat', both, owner, 'ib_write_lat', r'\n \d+ +100 ', '-F', '-n', '100')
    port = tpmd.free_port()
    server = owner.start('qperf', '-lp', str(port))
    tpmd.wait_until(lambda: server.poll() is not None or tpmd.listens(port), LIMIT)
    for test in QPERF:
        cases.run('qperf-' + test, qperf, owner, port, test)
    server.kill()
    finish(server)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
