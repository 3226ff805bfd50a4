# SPDX-License-Identifier: BSD-3-Clause
"""Programs of sockets on a port, whose cable ends at a TAP in a namespace; the port has an interface of the kernel in another one."""
import os
import subprocess

import share_owner
import tpmd

ID = os.getpid()
NEAR, FAR = 'tpua%d' % ID, 'tpub%d' % ID  # namespaces: of the port's interface, of the wire's other end
IFACE, WIRE = 'tu%d' % ID, 'tw%d' % ID
HERE, THERE = '192.0.2.1', '192.0.2.3'


def ip(*args):
    p = subprocess.run(['ip', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode != 0:
        raise RuntimeError('ip %s: %s' % (' '.join(args), p.stdout))


def inside(space, *cmd):
    return ['ip', 'netns', 'exec', space, *cmd]


class Owner(share_owner.Sharing):
    """One port of a card, whose cable ends at a TAP in a namespace; and its interface in another one."""

    def __init__(self):
        self.dir = tpmd.scratch()
        self.socket = os.path.join(self.dir.name, 'share')
        for space in (NEAR, FAR):
            ip('netns', 'add', space)
            ip('-n', space, 'link', 'set', 'lo', 'up')
        self.app = tpmd.Triplane(['net_tap0,iface=' + WIRE, 'net_mlx4_model0,wire0=ethdev:net_tap0'], space=NEAR)
        port = [p['port'] for p in self.app.ask('show port info all')['ports'] if 'mlx4' in p['driver']][0]
        for line in (tpmd.IDLE, 'set fwd rxonly', 'kernel %d on %s' % (port, IFACE),
                     'set roce-netdev %d %s' % (port, IFACE), 'roce %d on v2' % port, 'share on ' + self.socket, 'start'):
            self.app.tell(line)
        self.show()
        self.mac = next(p['mac'] for p in self.app.ask('show port info all')['ports'] if p['port'] == port)
        ip('-n', NEAR, 'link', 'set', WIRE, 'netns', FAR)
        for space, name, addr in ((NEAR, IFACE, HERE), (FAR, WIRE, THERE)):
            ip('-n', space, 'addr', 'add', addr + '/24', 'dev', name)
            ip('-n', space, 'link', 'set', name, 'up')
            ip('-n', space, 'route', 'add', '224.0.0.0/4', 'dev', name)
        if not tpmd.wait_until(lambda: HERE in str(self.app.ask('show roce gid %d' % port))):
            raise RuntimeError('RoCE has no address: %s' % self.app.said())

    def near(self, *cmd, stdin=subprocess.DEVNULL, **env):
        """A program on the port."""
        return share_owner.start(*inside(NEAR, share_owner.RUN, '--quiet', '--attach', self.socket, '--sockets', *cmd),
                                 stdin=stdin, env={**os.environ, **env})

    def end(self):
        why = self.close()
        for space in (NEAR, FAR):
            subprocess.run(['ip', 'netns', 'del', space])
        return why


def far(*cmd):
    return share_owner.start(*inside(FAR, *cmd))


def python(code, *args):
    return ['/usr/bin/python3', '-c', 'import socket, sys\n' + code, *map(str, args)]
