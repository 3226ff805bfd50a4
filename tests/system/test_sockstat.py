#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tp_sockstat: what it says of programs of sockets is what these know that they did, by the port and by the operating system."""
import json
import os
import subprocess

import sock_wire
import tpmd
from share_owner import Owner, until_says
from sock_ends import SERVER
from test_sockets import gone

cases = tpmd.Cases()
STAT = os.path.join(os.environ['TP_BUILD'], 'apps/sockstat/tp_sockstat')

# It does what each line of its input says, and says so.
DOES = """
import socket, sys, os
for line in sys.stdin:
    try:
        exec(line)
    except OSError as e:
        print(e.errno, flush=True)
    print('done', flush=True)
"""


def stat(*args):
    p = subprocess.run([STAT, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.returncode, p.stdout


def look(pid):
    rc, out = stat('--json', '--pid', str(pid))
    if rc != 0:
        raise RuntimeError(out)
    return json.loads(out)['programs'][0]


class Told:
    """A program, self.p, that does what it is told."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        gone(self.p)

    def do(self, *lines):
        said = ''
        for line in lines:
            self.p.stdin.write(line + '\n')
            self.p.stdin.flush()
            said += until_says(self.p, 'done\n').replace('done\n', '')
        return said.strip()


class Program(Told):
    """Of Python, on a port of the owner; space: the network namespace of what does not go by the port."""

    def __init__(self, owner, port, space=None, **env):
        self.p = owner.start('--sockets', '--port', port, '/usr/bin/python3', '-c', DOES, stdin=subprocess.PIPE, env={**os.environ, **env},
                             prefix=sock_wire.inside(space) if space else ())
        self.pid = self.p.pid

    def sockets(self):
        return {s['fd']: s for s in look(self.pid)['sockets']}


def counts(s, *names):
    return [s['counts'][n] for n in names]


def fails(got, want, what):
    return None if got == want else '%s: %s, wanted %s' % (what, got, want)


RX, TX = ('rx_packets', 'rx_bytes', 'rx_errors', 'rx_waits'), ('tx_packets', 'tx_bytes', 'tx_errors', 'tx_waits')


def tcp(owner):
    """Messages one by one, each read before the next is sent; five reads of what is not there; a call after the end."""
    port = tpmd.free_port()
    with Program(owner, '1') as server, Program(owner, '0') as client:
        server.do('l = socket.create_server((%r, %d))' % (SERVER, port))
        client.do('s = socket.create_connection((%r, %d))' % (SERVER, port))
        server.do('c = l.accept()[0]')
        for _ in range(7):
            client.do('s.send(bytes(300))')
            server.do('n = c.recv(300, socket.MSG_WAITALL)', 'c.send(bytes(20))')
            client.do('n = s.recv(20, socket.MSG_WAITALL)')
        client.do('s.setblocking(False)', *['s.recv(1)'] * 5, 's.setblocking(True)')
        fd = int(client.do('print(s.fileno(), flush=True)'))
        one, name = client.sockets()[fd], client.do('print("%s:%d" % s.getsockname(), flush=True)')
        two = [s for s in look(server.pid)['sockets'] if s['remote'] == name]
        listens = [s['local'] for s in look(server.pid)['sockets'] if s['listens']]
        client.do('s.shutdown(socket.SHUT_WR)', 's.send(b"x")')
        after = client.sockets()[fd]
        client.do('s.close()')
        end = look(client.pid)
    at = '%s:%d' % (SERVER, port)
    return (fails((one['type'], one['whose'], one['local'], one['remote']), ('tcp', 'port', name, at), 'the client') or
            fails(counts(one, *RX)[:3], [7, 140, 0], 'received') or fails(one['counts']['rx_waits'] >= 5, True, 'would have waited') or
            fails(counts(one, *TX), [7, 2100, 0, 0], 'sent') or
            fails(len(two) == 1 and counts(two[0], 'rx_packets', 'rx_bytes', 'tx_packets', 'tx_bytes'), [7, 2100, 7, 140], 'the server') or
            fails(listens, [at], 'listens') or fails(after['counts']['tx_errors'], 1, 'an error') or
            fails((end['sockets'], end['closed']['tx_bytes'], end['closed']['rx_packets']), ([], 2100, 7), 'closed'))


def connections(owner):
    """The owner lists the TCP of its programs: who listens and the two ends of a connection, by the names that these know; none once they end."""

    def listed():
        return sorted((c['state'], c['pid'], c['fd'], c['local'], c.get('remote'))
                      for c in owner.app.ask('show connections')['connections'] if c['kind'] == 'tcp')

    port = tpmd.free_port()
    at = '%s:%d' % (SERVER, port)
    before = listed()
    with Program(owner, '1') as server, Program(owner, '0') as client:
        server.do('l = socket.create_server((%r, %d))' % (SERVER, port), 'u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)')
        client.do('s = socket.create_connection((%r, %d))' % (SERVER, port))
        server.do('c = l.accept()[0]')
        fds = [int(fd) for fd in server.do('print(l.fileno(), c.fileno(), flush=True)').split()]
        fd, name = client.do('print(s.fileno(), "%s:%d" % s.getsockname(), flush=True)').split()
        want = [('ESTAB', server.pid, fds[1], at, name), ('ESTAB', client.pid, int(fd), name, at), ('LISTEN', server.pid, fds[0], at, None)]
        got = listed()
        client.do('s.close()')
        server.do('c.close()', 'l.close()')
        left = listed()
    return fails(before, [], 'before') or fails(got, sorted(want), 'connections') or fails(left, [], 'after all are closed')


def kernel_udp(pid, name):
    with open('/proc/%d/net/snmp' % pid) as f:
        names, values = [line.split() for line in f if line.startswith('Udp:')]
    return int(values[names.index(name)])


def udp(owner):
    """Datagrams by the port and by the operating system, of one socket; groups."""
    if os.geteuid() != 0:
        return 'skip only root can make a network namespace, in which nobody else sends'
    space = 'tpst%d' % os.getpid()
    sock_wire.ip('netns', 'add', space)
    try:
        sock_wire.ip('-n', space, 'link', 'set', 'lo', 'up')
        return udp_in(owner, space)
    finally:
        sock_wire.ip('netns', 'del', space)


def udp_in(owner, space):
    port = tpmd.free_port()
    with Program(owner, '1', space) as server, Program(owner, '0', space) as client:
        server.do('s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)', 's.bind(("0.0.0.0", %d))' % port)
        client.do('s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)')
        before = kernel_udp(client.pid, 'OutDatagrams')
        for _ in range(9):
            client.do('n = s.sendto(bytes(50), (%r, %d))' % (SERVER, port))
            server.do('n = s.recv(100)')
        by_port = kernel_udp(client.pid, 'OutDatagrams') - before
        for _ in range(4):
            client.do('n = s.sendto(bytes(60), ("127.0.0.1", %d))' % port)
            server.do('n = s.recv(100)')
        server.do('s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.3") + socket.inet_aton(%r))' % SERVER)
        (one,), (two,) = client.sockets().values(), server.sockets().values()
        groups = look(server.pid)['groups']
    return (fails(by_port, 0, 'by the kernel') or fails((one['type'], two['local']), ('udp', '0.0.0.0:%d' % port), 'names') or
            fails(counts(one, 'tx_packets', 'tx_bytes', 'os_tx_packets', 'os_tx_bytes'), [9, 450, 4, 240], 'sent') or
            fails(counts(two, 'rx_packets', 'rx_bytes', 'os_rx_packets', 'os_rx_bytes'), [9, 450, 4, 240], 'received') or
            fails(groups, ['239.1.2.3'], 'groups'))


def others(owner):
    """A connection of the operating system's, which is not listed at the end that was accepted; a child of fork() counts for itself."""
    port = tpmd.free_port()
    with Program(owner, '0') as p:
        p.do('l = socket.create_server(("127.0.0.1", %d))' % port, 's = socket.create_connection(("127.0.0.1", %d))' % port,
             'c = l.accept()[0]', 'n = s.send(bytes(1000))', 'n = c.recv(1000)', 'n = c.send(bytes(70))', 'n = s.recv(100)',
             'r, w = os.pipe()', 'n = os.write(w, bytes(77))',
             'pid = os.fork() or (s.send(bytes(5)), os._exit(0))', 'n = os.waitpid(pid, 0)')
        fd = int(p.do('print(s.fileno(), flush=True)'))
        got = p.sockets()
    s = got[fd]
    return (fails((s['whose'], s['remote']), ('os', '127.0.0.1:%d' % port), 'names') or
            fails(counts(s, 'os_tx_packets', 'os_tx_bytes', 'tx_packets'), [1, 1000, 0], 'sent') or
            fails(counts(s, 'os_rx_packets', 'os_rx_bytes', 'os_rx_errors'), [1, 70, 0], 'received') or fails(len(got), 2, 'sockets'))


def waits(owner):
    """Calls that look for frames before they sleep, and such that do not; frames and events."""
    def run(spin):
        port = tpmd.free_port()
        with Program(owner, '1') as server, Program(owner, '0', TRIPLANE_SOCKETS_SPIN=spin) as client:
            server.do('l = socket.create_server((%r, %d))' % (SERVER, port))
            client.do('s = socket.create_connection((%r, %d))' % (SERVER, port))
            server.do('c = l.accept()[0]')
            # The answer comes when the call waits already, which the library counts.
            for _ in range(6):
                before = look(client.pid)['sockets'][0]['counts']['sleeps']
                client.p.stdin.write('n = s.recv(1)\n')
                client.p.stdin.flush()
                if not tpmd.wait_until(lambda b=before: look(client.pid)['sockets'][0]['counts']['sleeps'] > b):
                    return None
                server.do('n = c.send(b"x")')
                until_says(client.p, 'done\n')
            p = look(client.pid)
        s = p['sockets'][0]
        return s['counts'], p['rings'], p['spin_us']
    looks, sleeps = run('100'), run('0')
    if looks is None or sleeps is None:
        return 'a call does not sleep'
    return (fails((looks[2], sleeps[2]), (100, 0), 'settings') or
            fails(looks[0]['poll_hits'] + looks[0]['poll_misses'] > 0, True, 'looked: %s' % (looks,)) or
            fails(counts({'counts': sleeps[0]}, 'poll_hits', 'poll_misses'), [0, 0], 'did not look') or
            fails(sleeps[0]['sleeps'] >= 6 and sleeps[1]['events'] >= 6 and sleeps[1]['rx_frames'] >= 6, True, 'slept: %s' % (sleeps,)))


def zero_and_changes(owner):
    """Counts from zero on, for all who look; what changes in a while."""
    port = tpmd.free_port()
    with Program(owner, '1') as server, Program(owner, '0') as client:
        server.do('l = socket.create_server((%r, %d))' % (SERVER, port))
        client.do('s = socket.create_connection((%r, %d))' % (SERVER, port))
        server.do('c = l.accept()[0]')
        client.do('n = s.send(bytes(100))')
        server.do('n = c.recv(100)')
        rc, out = stat('--zero', '--pid', str(client.pid))
        zero = look(client.pid)
        client.do('n = s.send(bytes(11))')
        after = look(client.pid)
        quiet = json.loads(stat('--json', '--pid', str(client.pid), '--interval', '0.2', '--times', '1')[1])['programs'][0]
        text = stat('--pid', str(client.pid))[1]
        watch = subprocess.Popen([STAT, '--json', '--pid', str(client.pid), '--interval', '1', '--times', '100'], stdout=subprocess.PIPE, text=True)
        try:
            watch.stdout.readline()
            client.do('n = s.send(bytes(13))')
            got = 0
            for line in watch.stdout:
                got = json.loads(line)['programs'][0]['sockets'][0]['counts']['tx_bytes']
                if got:
                    break
        finally:
            watch.kill()
            watch.communicate()
    row = [line.split() for line in text.splitlines() if 'tcp  port' in line]
    return (fails((rc, out), (0, ''), '--zero') or fails(counts(zero['sockets'][0], *TX), [0, 0, 0, 0], 'at zero') or
            fails(counts(after['sockets'][0], *TX), [1, 11, 0, 0], 'from zero on') or
            fails(counts(quiet['sockets'][0], *TX), [0, 0, 0, 0], 'no change') or fails(got, 13, 'a change') or
            fails(len(row) == 1 and row[0][8], '1', 'text:\n' + text))


def telemetry():
    """The owner's telemetry has the same of its programs, and of nobody else."""
    owner, port = Owner(telemetry=True), tpmd.free_port()
    tel = owner.app.tel
    with Program(owner, '1') as server, Program(owner, '0') as client:
        server.do('l = socket.create_server((%r, %d))' % (SERVER, port))
        client.do('s = socket.create_connection((%r, %d))' % (SERVER, port), 'u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)')
        server.do('c = l.accept()[0]')
        client.do('n = s.send(bytes(100))')
        server.do('n = c.recv(100)')
        fd, other = (int(client.do('print(%s.fileno(), flush=True)' % s)) for s in 'su')
        pids = tel('/triplane/sockets/list')
        info, own = tel('/triplane/sockets/info,%d' % client.pid), look(client.pid)
        one = tel('/triplane/sockets/socket,%d,%d' % (client.pid, fd))
        seen = {s['fd']: s for s in own['sockets']}[fd]
        nobody = [tel('/triplane/sockets/' + q) for q in ('info,%d' % os.getpid(), 'info,x', 'socket,%d' % client.pid,
                                                          'socket,%d,9999' % client.pid, 'socket,%d,%dx' % (client.pid, fd))]
    return (owner.close() or fails(sorted(pids), sorted([server.pid, client.pid]), 'processes') or
            fails([info[k] for k in ('mbufs', 'spin_us', 'port', 'sockets')], [own['mbufs'], own['spin_us'], 0, 2], 'one') or
            fails(sorted(info['fds']), sorted([fd, other]), 'descriptors') or
            fails(info['tx_frames'] > 0 and 'tcp_tx_segments' in info and 'closed_rx_bytes' in info, True, str(info)) or
            fails([one[k] for k in ('type', 'whose', 'local', 'remote', 'tx_packets', 'tx_bytes')],
                  [seen['type'], seen['whose'], seen['local'], seen['remote'], 1, 100], 'a socket') or
            fails(nobody, [None] * 5, 'nobody'))


def refused():
    """Words and numbers that are none; processes that are none."""
    for args, want, rc in ((('--pid', 'x'), "'x', want 1..4194304", 2), (('--interval', '0'), "'0', want 0.1..3600", 2),
                           (('--interval', '1', '--times', '0'), "'0', want 1..1000000", 2), (('--times', '3'), '--interval', 2),
                           (('words',), "'words', want no such word", 2), (('--pid', '4194304'), 'process 4194304', 1)):
        got = stat(*args)
        if got[0] != rc or want not in got[1]:
            return '%s: %s' % (args, got)
    return None


def main():
    cases.run('refused', refused)
    owner = Owner()
    cases.run('tcp', tcp, owner)
    cases.run('udp', udp, owner)
    cases.run('others', others, owner)
    cases.run('connections-of-the-owner', connections, owner)
    cases.run('telemetry', telemetry)
    cases.run('waits', waits, owner)
    cases.run('zero-and-changes', zero_and_changes, owner)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.close)
    cases.exit()


if __name__ == '__main__':
    main()
