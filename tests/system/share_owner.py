# SPDX-License-Identifier: BSD-3-Clause
"""A triplane that shares its ports, and other people's programs on them."""
import collections
import json
import os
import re
import select
import socket
import struct
import subprocess
import time

import tpmd

RUN = os.path.join(os.environ['TP_BUILD'], 'apps/triplane-run/triplane-run')
STAT = os.path.join(os.environ['TP_BUILD'], 'apps/sockstat/tp_sockstat')
PRELOAD = os.path.join(os.environ['TP_BUILD'], 'preload/verbs/libtriplane-verbs.so')
DEV = ('net_mlx4_model0_p0', 'net_mlx4_model0_p1')
GID = 3  # of the IPv4 address, as RoCE v2
LIMIT = 120
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../lib/share/proto.h')


# --- programs ------------------------------------------------------------------------------------------------------------


def start(*cmd, **kw):
    kw.setdefault('stdin', subprocess.DEVNULL)
    return subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)


def finish(p):
    try:
        return p.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()[0] + '\n(ended by the test)'


def until_says(p, text):
    """What a program says until it has said this, or has ended. Octet by octet: what comes behind it is finish()'s."""
    said, end = b'', time.monotonic() + LIMIT
    while text.encode() not in said and select.select([p.stdout], [], [], max(0, end - time.monotonic()))[0]:
        octet = os.read(p.stdout.fileno(), 1)
        if not octet:
            break
        said += octet
    return said.decode()


def has_socket(pid, port, listens=False):
    """Waits until a program has a socket at that port of its own, or one that listens there; what its counters say of it."""
    def there():
        p = subprocess.run([STAT, '--json', '--pid', str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        sockets = json.loads(p.stdout)['programs'][0]['sockets'] if p.returncode == 0 else []
        return any(s['local'].endswith(':%s' % port) and (s['listens'] or not listens) for s in sockets)

    return tpmd.wait_until(there, LIMIT)


Ends = collections.namedtuple('Ends', 'rc out server_rc said')  # the client's exit code and output, the server's


def pair(start, server, client, ready, keeps=False, env=({}, {}), client_start=None):
    """
    A server, and its client once ready(server) is true; start: as above, client_start: of the client where it differs. keeps: a
    server that does not end by itself.
    """
    env = [{**os.environ, **e} for e in env]
    s = start(*server, env=env[0])
    try:
        if not tpmd.wait_until(lambda: s.poll() is not None or ready(s), LIMIT):
            raise RuntimeError('%s does not get ready' % server[0])
        c = (client_start or start)(*client, env=env[1])
        out = finish(c)
        if keeps or c.returncode != 0:
            s.kill()
    except BaseException:
        s.kill()
        raise
    said = finish(s)
    return Ends(c.returncode, out, s.returncode, said)


# --- an owner ------------------------------------------------------------------------------------------------------------


class Sharing:
    """A triplane that shares its ports at socket."""

    def show(self):
        return self.app.ask('show share')

    def wait(self, what, limit=60):
        return tpmd.wait_until(lambda: what(self.show()), limit)

    def empty(self):
        """Nothing of guests is left."""
        return None if self.wait(lambda s: s['guests'] == 0 and s['objects'] == 0) else 'left: %s' % self.show()

    def rules(self):
        """Broken rules of the shared card by name, with how often."""
        return self.app.ask('show model')['ports'][0]['violated']

    def clean(self):
        """None, or what rules of cards were broken."""
        broken = [p['violated'] for p in self.app.ask('show model')['ports'] if p['violations'] != 0]
        return 'rules broken: %s' % broken if broken else None

    def start(self, *cmd, view='try', prefix=(), **kw):
        """view: a program with one has a connection beside it, by which its counters go on. prefix: what starts it."""
        return start(*prefix, RUN, '--quiet', '--view', view, '--attach', self.socket, *cmd, **kw)

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


class Owner(Sharing):
    """
    Shares both ports of a card, with a cable between them; its lcores sleep when there is nothing to do. home: 'v2 sw' for RoCE in
    software. card: arguments of the card.
    """

    def __init__(self, vdevs=(), home='', card='', **kw):
        self.dir = tpmd.scratch()
        self.socket = os.path.join(self.dir.name, 'share')
        self.app = tpmd.Triplane(['net_mlx4_model0' + card, *vdevs], **kw)
        for line in ('set fwd rxonly', tpmd.IDLE, 'roce 0 on ' + home, 'roce 1 on ' + home, 'roce addr add 0 192.0.2.1/24',
                     'roce addr add 1 192.0.2.2/24', 'share on ' + self.socket, 'start'):
            self.app.tell(line)
        self.show()


class End(Sharing):
    """One of two with a wire of the kernel between them (rocepair.Veth), RoCE in software at both."""
    DEV = 'net_af_packet0'

    def __init__(self, wire, end, addr):
        self.dir = tpmd.scratch()
        self.socket = os.path.join(self.dir.name, 'share')
        # As many queues each way, and RoCE sends by one of its own.
        self.app = tpmd.Triplane(['%s,iface=roce%d,qpairs=2' % (self.DEV, end)], ['--rxq', '2'], name='end%d' % end, space=wire.ns)
        for line in ('set fwd rxonly', tpmd.IDLE, 'roce 0 on', 'roce addr add 0 ' + addr, 'share on ' + self.socket, 'start'):
            self.app.tell(line)
        self.show()


# --- its messages, without a library -------------------------------------------------------------------------------------


def proto():
    """The version of the protocol; what may be asked for, in the order of the numbers."""
    with open(PROTO) as f:
        text = f.read()
    body = re.search(r'enum share_op \{(.*?)\};', text, re.S)[1]
    return int(re.search(r'#define SHARE_VERSION (\d+)', text)[1]), re.findall(r'^\tSHARE_(\w+)', body, re.M)


VERSION, _names = proto()
OP = {name: number for number, name in enumerate(_names)}  # 'OPS': how many


def message(op, handle, body, size):
    return (struct.pack('<IIiI', op, handle, 0, 0) + body).ljust(size, b'\0')


def hello(size):
    return message(OP['HELLO'], 0, struct.pack('<II', VERSION, 0), size)


def message_size(path):
    """Octets of a message, which are the owner's to say: it ends the connection for any other number."""
    for size in range(200, 2048, 8):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(60)
            s.connect(path)
            s.send(hello(size))
            try:
                answer = s.recv(4096)
            except ConnectionResetError:
                answer = b''
            if answer:
                return len(answer)
    raise RuntimeError('no size of a message is understood')
