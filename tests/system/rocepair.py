# SPDX-License-Identifier: BSD-3-Clause
"""Runs the two ends of a RoCE program, each a process with a port of its own, or both in one."""
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time

import tpmd

BUILD = os.path.abspath(os.environ.get('TP_BUILD', 'build'))
_runs = 0


def program(name):
    for folder in ('pingpong', 'perf', 'tp_rping', '.'):
        path = os.path.join(BUILD, 'apps', folder, name)
        if os.path.isfile(path):
            return path
    return name


class Ends:
    """What the server and the client of one run printed, and how they ended."""

    def __init__(self, server, client):
        self.server, self.client = server, client

    @property
    def ok(self):
        return self.server.returncode == 0 and self.client.returncode == 0

    def why(self):
        return 'client %s: %s; server %s: %s' % (
            self.client.returncode, (self.client.out + self.client.err)[-400:].replace('\n', ' | '),
            self.server.returncode, (self.server.out + self.server.err)[-400:].replace('\n', ' | '))


class Process:
    def __init__(self, cmd, env=None):
        self.p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **(env or {})))

    def wait(self, timeout):
        """Until it has ended, or has said nothing for so long: a table of many sizes takes its time where others want the CPUs."""
        said, until = {self.p.stdout: [], self.p.stderr: []}, time.monotonic() + timeout
        quiet = False
        with selectors.DefaultSelector() as sel:
            for f in said:
                sel.register(f, selectors.EVENT_READ)
            while sel.get_map():
                ready = sel.select(None if quiet else max(0, until - time.monotonic()))
                if not ready and not quiet:
                    quiet = True
                    self.p.kill()
                for key, _ in ready:
                    data = os.read(key.fd, 65536)
                    if data:
                        said[key.fileobj].append(data)
                        until = time.monotonic() + timeout
                    else:
                        sel.unregister(key.fileobj)
        self.returncode = self.p.wait()
        self.out, self.err = (b''.join(said[f]).decode(errors='replace') for f in (self.p.stdout, self.p.stderr))
        for f in said:
            f.close()
        if quiet:
            self.err += ' (said nothing for %s s)' % timeout
        return self


def eal(name, memory=256, on='0@0'):
    global _runs
    _runs += 1
    return tpmd.eal('roce%d_%d%s' % (os.getpid(), _runs, name), memory=memory, plugin=False, on=on)


def memif_pair(prog, args, server_args=None, addrs=('192.0.2.1/24', '192.0.2.2/24'), common=(), timeout=60,
               tcp=True, more='bsize=4096'):
    """Both ends over a memif, in software. tcp: they meet by a socket of the host. more: of the port's arguments."""
    with tempfile.TemporaryDirectory(prefix='roce.') as tmp:
        sock, port = os.path.join(tmp, 'memif.sock'), tpmd.free_port()
        procs = []
        for i, role in enumerate(('server', 'client')):
            vdev = '--vdev=net_memif0,role=%s,socket=%s,socket-abstract=no,id=0,%s' % (role, sock, more)
            own = list(server_args if role == 'server' and server_args is not None else args)
            # The link comes with the other end, which may have no CPU for long.
            cmd = [program(prog)] + eal(role, on='0@%d' % i) + [vdev, '--', '--addr', addrs[i], '--link-wait', str(timeout - 10)]
            if tcp:
                cmd += ['-p', str(port)]
            procs.append(Process(cmd + list(common) + own + (['127.0.0.1'] if tcp and role == 'client' else [])))
        client = procs[1].wait(timeout)
        return Ends(procs[0].wait(timeout if client.returncode == 0 else 2), client)


class Veth:
    """Two interfaces joined by a wire of the kernel, in a network namespace of their own; not ok without root."""

    def __init__(self):
        # AF_PACKET ports take the process's number and the interface's together as the name of a group that must be
        # their own: interfaces with neighbouring numbers would be confused by processes with neighbouring numbers.
        self.ns = 'roce%d' % os.getpid()
        self.ok = subprocess.run(['ip', 'netns', 'add', self.ns], stderr=subprocess.DEVNULL).returncode == 0

    def __enter__(self):
        if self.ok:
            self.ok = subprocess.run(['ip', 'netns', 'exec', self.ns, 'sh', '-ec', 'ip link set lo up\n'
                                      'ip link add dev roce0 index 100 type veth peer name roce1 index 20000\n'
                                      'for i in 0 1; do echo 1 >/proc/sys/net/ipv6/conf/roce$i/disable_ipv6; ip link set roce$i up; done'
                                      ]).returncode == 0
        return self

    def __exit__(self, *exc):
        subprocess.run(['ip', 'netns', 'del', self.ns], stderr=subprocess.DEVNULL)

    def start(self, prog, args):
        """Server and client on AF_PACKET ports."""
        procs = []
        for i, role in enumerate(('server', 'client')):
            cmd = ['ip', 'netns', 'exec', self.ns, program(prog)] + eal(role, on='0@%d' % i)
            cmd += ['--vdev=net_af_packet0,iface=roce%d' % i, '--', '--addr', '192.0.2.%d/24' % (i + 1)]
            procs.append(Process(cmd + list(args) + ([] if role == 'server' else ['127.0.0.1'])))
        return procs

    def received(self, end):
        """Octets that an end's interface has got."""
        cmd = ['ip', 'netns', 'exec', self.ns, 'cat', '/sys/class/net/roce%d/statistics/rx_bytes' % end]
        return int(subprocess.run(cmd, stdout=subprocess.PIPE, check=True).stdout)

    def pair(self, prog, args, timeout=60):
        procs = self.start(prog, args)
        client = procs[1].wait(timeout)
        return Ends(procs[0].wait(timeout if client.returncode == 0 else 2), client)

    def card_pair(self, prog, args, timeout=60):
        """Both ends in one process, on the ports of a card, the wire between them."""
        vdevs = ['net_af_packet%d,iface=roce%d' % (i, i) for i in (0, 1)]
        vdevs.append('net_mlx4_model0,' + ','.join('wire%d=ethdev:net_af_packet%d' % (i, i) for i in (0, 1)))
        p = Process(['ip', 'netns', 'exec', self.ns] + self_cmd(prog, vdevs) + ['-d', 'net_mlx4_model0_p0', '--self-dev', 'net_mlx4_model0_p1'] +
                    list(args)).wait(timeout)
        return Ends(p, p)

    def capture(self, path):
        """Of both ends: each sees what it receives; AF_PACKET ports send past those who listen."""
        return Capture(self.ns, ('roce0', 'roce1'), path)


MARK = b'nothing else is sent from here on'
MARKER = '''import socket, sys
for name in ('roce0', 'roce1'):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((name, 0))
        s.send(bytes([255] * 6 + [2] * 6 + [0x88, 0xb5]) + sys.argv[1].encode().ljust(60))
'''


class Capture:
    """Of interfaces of a namespace, for tshark; it has begun when this is made. There is room for all that comes while it has no CPU: in its
    buffer, MiB, and between its threads, of which it has one an interface, packets and octets."""

    def __init__(self, ns, ifaces, path):
        self.ns, self.ifaces, self.path = ns, ifaces, path
        self.p = subprocess.Popen(['ip', 'netns', 'exec', ns, 'dumpcap', '-q', '-B', '64', '-N', '1000000', '-C', '1000000000', '-w', path] +
                                  [x for i in ifaces for x in ('-i', i)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.p.stderr:
            if line.startswith('File: '):
                break

    def stop(self):
        """When all that was sent is in the file: a frame behind that of each end is."""
        subprocess.run(['ip', 'netns', 'exec', self.ns, sys.executable, '-c', MARKER, MARK.decode()], check=True)

        def marked():
            with open(self.path, 'rb') as f:
                return f.read().count(MARK) >= 2 * len(self.ifaces)
        seen = tpmd.wait_until(marked)
        self.p.send_signal(signal.SIGINT)
        self.p.communicate()
        if not seen:
            raise RuntimeError('the last frames are not in the capture')

    def fields(self, filt, *names):
        cmd = ['tshark', '-n', '-r', self.path, '-Y', filt, '-T', 'fields', '-E', 'occurrence=f'] + [x for n in names for x in ('-e', n)]
        out = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60, check=True).stdout
        return [line.split('\t') for line in out.splitlines()]


def self_cmd(prog, vdevs):
    return [program(prog)] + eal('self', 512, '0@0,1@1') + ['--vdev=' + v for v in vdevs] + [
        '--', '--self', '--addr', '192.0.2.1/24', '--self-addr', '192.0.2.2/24']


def self_pair(prog, args, vdevs, timeout=60):
    """Both ends in one process, on its first two ports."""
    p = Process(self_cmd(prog, vdevs) + list(args)).wait(timeout)
    return Ends(p, p)
