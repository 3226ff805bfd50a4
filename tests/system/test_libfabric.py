#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
libfabric's verbs provider by libfabric's own programs, on ports that a triplane shares. fi_pingpong talks TCP beside, to the
address that it then calls by RDMA, and libfabric takes a port's address from an interface of the kernel that has it, which is not
"lo": here one of a network namespace.
"""
import os
import re
import subprocess

import tpmd
from share_owner import DEV, Owner, pair

cases = tpmd.Cases()
NS = 'tpfi%d' % os.getpid()
ADDRESSES = ('192.0.2.1', '192.0.2.2')
IN_NS = ('nsenter', '--net=/run/netns/' + NS)
port = 47600


def listens(p):
    """A process listens at the port of this turn."""
    try:
        with open('/proc/%d/net/tcp' % p.pid) as f:
            return any(' 0A ' in line and ':%04X ' % port in line for line in f)
    except OSError:
        return False


def info(owner):
    """Each port is a domain of connections, and one of datagrams."""
    rc, out = owner.run('fi_info', '-p', 'verbs')
    got = set(re.findall(r'provider: verbs\n.*?domain: (\S+)\n.*?type: (\S+)\n', out, re.S))
    want = {(d, 'FI_EP_MSG') for d in DEV} | {(d + '-dgram', 'FI_EP_DGRAM') for d in DEV}
    return None if rc == 0 and got == want else 'exit code %d, %s: %s' % (rc, got ^ want, out[-300:])


def pingpong(owner, provider, endpoint, last, suffix=None):
    """Both ends check what they receive (-c); last: the longest messages, as the program writes it."""
    global port
    port += 1
    cmd = (*IN_NS, 'fi_pingpong', '-p', provider, '-e', endpoint, '-I', '10', '-c')
    domain = [('-d', d + suffix) if suffix is not None else () for d in DEV]
    ends = pair(owner.start, [*cmd, *domain[1], '-B', str(port)], [*cmd, *domain[0], '-P', str(port), ADDRESSES[1]], listens)
    if ends.rc != 0 or ends.server_rc != 0:
        return 'exit codes %d, %d: %s; the server: %s' % (ends.rc, ends.server_rc, ends.out[-400:], ends.said[-400:])
    rows = [re.search(r'^%s +10 +=10 ' % last, text, re.M) for text in (ends.out, ends.said)]
    return None if all(rows) else 'no row: %s %s' % (ends.out, ends.said)


def main():
    if os.geteuid() != 0:
        print('skip libfabric: a network namespace wants root')
        return
    owner = Owner()
    subprocess.run(['ip', 'netns', 'add', NS], check=True)
    try:
        for cmd in ('link set lo up', 'link add net0 type veth peer name net1', 'link set net0 up', 'link set net1 up',
                    *('addr add %s/32 dev net0' % a for a in ADDRESSES)):
            subprocess.run(['ip', '-n', NS, *cmd.split()], check=True)
        cases.run('info', info, owner)
        cases.run('msg', pingpong, owner, 'verbs', 'msg', '1m')
        cases.run('msg-domain', pingpong, owner, 'verbs', 'msg', '1m', '')
        cases.run('dgram', pingpong, owner, 'verbs', 'dgram', '1k', '-dgram')
        cases.run('rdm', pingpong, owner, 'verbs;ofi_rxm', 'rdm', '1m')
    finally:
        subprocess.run(['ip', 'netns', 'del', NS], check=False)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
