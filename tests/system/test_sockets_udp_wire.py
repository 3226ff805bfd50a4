#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of datagrams on a port, with Linux at the other end of the wire: tshark reads the frames. The port has an interface of the
kernel, which brings fragments and what ICMP says."""
import os
import re
import subprocess
import tempfile

import tpmd
from share_owner import LIMIT, finish, until_says
from sock_wire import FAR, HERE, NEAR, THERE, WIRE, Owner, far, inside, ip, python

cases = tpmd.Cases()
GROUP = '239.3.2.1'

RECEIVE = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1000000)
s.bind(("", int(sys.argv[1])))
if len(sys.argv) > 3:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(sys.argv[3]) + socket.inet_aton(sys.argv[4]))
print("there", flush=True)
s.settimeout(60)
for n in range(int(sys.argv[2])):
    data, who = s.recvfrom(65535)
    print(len(data), who[0], all(data[i] == i * 7 % 256 for i in range(len(data))), flush=True)
"""
SEND = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 33)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x48)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 7)
for n in map(int, sys.argv[3:]):
    s.sendto(bytes(i * 7 % 256 for i in range(n)), (sys.argv[1], int(sys.argv[2])))
"""
SIZES = (1, 1472, 1473, 5000, 65507)


def transfer(receive, send, port, to, source, sizes, group=()):
    """What the receiver says is wrong."""
    r = receive(*python(RECEIVE, port, len(sizes), *group))
    try:
        said = until_says(r, 'there\n')
        s = send(*python(SEND, to, port, *sizes))
        out = finish(s)
        said += finish(r)
    finally:
        r.kill()
    want = ['there'] + ['%d %s True' % (n, source) for n in sizes]
    return None if sorted(said.splitlines()) == sorted(want) and s.returncode == 0 else '%s %s' % (said, out)


FIELDS = ('ip.dst', 'udp.dstport', 'udp.length', 'ip.ttl', 'ip.dsfield', 'eth.dst', 'ip.checksum.status', 'udp.checksum.status', 'ip.len',
          'ip.flags.mf')


def seen(pcap):
    """Fields of the frames that the port sent, as tshark reads them; a datagram in fragments is whole with the last of them."""
    out = subprocess.run(['tshark', '-n', '-r', pcap, '-o', 'ip.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-o', 'ip.defragment:TRUE',
                          '-Y', 'ip.src == ' + HERE, '-T', 'fields', *[x for f in FIELDS for x in ('-e', f)]],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [dict(zip(FIELDS, line.split('\t'))) for line in out.splitlines()]


def of(frames, where, *fields):
    return sorted(tuple(f[x] for x in fields) for f in frames if where(f))


def by_kernel():
    """Datagrams that the kernel beside the port sent."""
    with subprocess.Popen(inside(NEAR, 'cat', '/proc/net/snmp'), stdout=subprocess.PIPE, text=True) as p:
        names, values = [line.split() for line in p.stdout if line.startswith('Udp:')]
    return int(values[names.index('OutDatagrams')])


def sent(owner):
    """Datagrams of the port: Linux has them, and tshark finds what their options say, and each checksum right."""
    before = by_kernel()
    port, group = tpmd.free_port(), tpmd.free_port()
    with tempfile.TemporaryDirectory() as d:
        pcap = os.path.join(d, 'pcap')
        t = far('dumpcap', '-q', '-P', '-i', WIRE, '-w', pcap)
        try:
            # Its head is written when the interface is open.
            if not tpmd.wait_until(lambda: os.path.exists(pcap) and os.path.getsize(pcap) > 0, LIMIT):
                return 'no capture'
            why = transfer(far, owner.near, port, THERE, HERE, SIZES) or \
                transfer(far, owner.near, group, GROUP, HERE, (10, 4000), (GROUP, THERE))
            frames = []

            def whole():
                frames[:] = seen(pcap)
                return len(of(frames, lambda f: f['udp.dstport'] == str(group))) == 2
            if not why and not tpmd.wait_until(whole, LIMIT):
                why = 'frames: %s' % frames
        finally:
            t.kill()
            finish(t)
        if why:
            return why
    one = of(frames, lambda f: f['udp.dstport'] == str(port), 'udp.length', 'ip.ttl', 'ip.dsfield', 'ip.checksum.status', 'udp.checksum.status')
    many = of(frames, lambda f: f['udp.dstport'] == str(group), 'udp.length', 'ip.ttl', 'eth.dst', 'udp.checksum.status')
    frags = of(frames, lambda f: f['ip.flags.mf'] in ('1', 'True'), 'ip.len', 'ip.checksum.status')
    if one != sorted((str(n + 8), '33', '0x48', '1', '1') for n in SIZES):
        return 'datagrams: %s' % one
    if many != sorted((str(n + 8), '7', '01:00:5e:03:02:01', '1') for n in (10, 4000)):
        return 'to the group: %s' % many
    if by_kernel() != before:
        return 'the kernel sent %d of them' % (by_kernel() - before)
    # Of 1473, 5000 and 65507 octets, and of 4000 to the group: all but the last fragment of each.
    return None if frags == [('1500', '1')] * (1 + 3 + 44 + 2) else '%d fragments: %s' % (len(frags), set(frags))


def received(owner):
    """Of Linux, fragments by way of the port's interface."""
    return transfer(owner.near, far, tpmd.free_port(), HERE, THERE, SIZES)


def group(owner):
    """A group's datagrams and their fragments come by the port."""
    return transfer(owner.near, far, tpmd.free_port(), GROUP, THERE, (10, 1473, 8000), (GROUP, HERE))


REFUSED = """
import errno, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], int(sys.argv[2])))
s.settimeout(60)
s.send(b"x")
def name(call):
    try:
        return call()
    except OSError as e:
        return errno.errorcode[e.errno]
print(name(lambda: s.recv(10)))
s.send(b"x")
import select
print(select.select([s], [], [], 60)[0] != [], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED,
      s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
s.send(b"x")
p = select.poll()
p.register(s, 0)
print(p.poll(60000)[0][1] == select.POLLERR)
print(name(lambda: s.send(b"y")))
print(s.getsockname()[0])
"""


def refused(start, to, source):
    """A port that nobody has: each way to hear of it, once."""
    p = start(*python(REFUSED, to, tpmd.free_port()))
    out = finish(p)
    want = 'ECONNREFUSED\nTrue True 0\nTrue\nECONNREFUSED\n%s\n' % source
    return None if out == want else out


def names(owner, start_server, start_client, at):
    """dig asks dnsmasq, for one that it knows and one that it does not; what is near goes by the port, and not by its kernel."""
    before = by_kernel()
    port = str(tpmd.free_port())
    s = start_server('dnsmasq', '-k', '-p', port, '--user=root', '--no-resolv', '--no-hosts', '--conf-file=/dev/null', '--pid-file=',
                     '--local=/test/', '--host-record=host.test,10.1.2.3', '--listen-address=' + at, '--bind-interfaces', '--log-facility=-')
    try:
        said = until_says(s, 'started')
        ask = ['dig', '@' + at, '-p', port, '+tries=20', '+time=2']
        one = start_client(*ask, '+short', 'host.test')
        out = finish(one)
        two = start_client(*ask, 'other.test')
        other = finish(two)
    finally:
        s.terminate()
        said += finish(s)
    ok = out == '10.1.2.3\n' and re.search(r'status: (NXDOMAIN|REFUSED)', other) and by_kernel() == before
    return None if ok else '%s; %s; %s' % (out[-300:], other[-300:], said[-300:])


ECHO = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
print("there", flush=True)
s.sendto(*s.recvfrom(100))
"""
CALL = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.settimeout(60)
s.sendto(b"x" * int(sys.argv[4]), (sys.argv[2], int(sys.argv[3])))
print(len(s.recv(100)))
"""


def unasked(owner):
    """Callers that know our MAC ask for none, so nobody has theirs: the first datagram is answered the way it came all the same."""
    ip('-n', FAR, 'neigh', 'replace', HERE, 'lladdr', owner.mac, 'dev', WIRE, 'nud', 'permanent')
    for caller, size in (('192.0.2.77', 80), ('192.0.2.78', 1)):
        ip('-n', FAR, 'addr', 'add', caller + '/24', 'dev', WIRE)
        port = tpmd.free_port()
        server = owner.near(*python(ECHO, port))
        try:
            until_says(server, 'there\n')
            out = finish(far(*python(CALL, caller, HERE, port, size)))
        finally:
            server.kill()
            finish(server)
        if out != '%d\n' % size:
            return '%d octets: %s' % (size, out)
    ip('-n', FAR, 'neigh', 'del', HERE, 'dev', WIRE)
    return None


def main():
    owner = Owner()
    cases.run('unasked', unasked, owner)
    cases.run('sent', sent, owner)
    cases.run('received', received, owner)
    cases.run('group', group, owner)
    cases.run('refused-by-linux', refused, owner.near, THERE, HERE)
    cases.run('refused-by-port', refused, far, HERE, THERE)
    cases.run('dig', names, owner, far, owner.near, THERE)
    cases.run('dnsmasq', names, owner, owner.near, far, HERE)
    cases.run('given-back', owner.empty)
    cases.run('no-violation', owner.clean)
    cases.run('ends', owner.end)
    cases.exit()


if __name__ == '__main__':
    main()
