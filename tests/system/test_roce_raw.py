#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A raw packet queue pair of a card on a TAP port: scapy answers for it, and the Linux stack on the other side judges the
frames and the checksums that the card puts in; tshark judges those that come."""
import os
import re
import select
import subprocess
import sys
import time

from scapy.all import ARP, ICMP, IP, UDP, Ether, Raw, wrpcap

import tpmd

cases = tpmd.Cases()
ID = os.getpid()
NS, TAP = 'tprw%d' % ID, 'tpwt%d' % ID
PROGRAM = os.path.join(os.environ['TP_BUILD'], 'tests/system/roce_raw')
LINUX, OURS, OUR_MAC, LINUX_MAC = '10.9.0.1', '10.9.0.7', '02:00:00:00:00:77', '02:00:00:00:0e:bb'
PORT, ANSWER_PORT = 4000, 4001
LISTENER = '''
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', %d))
print('ready', flush=True)
while True:
    data, peer = s.recvfrom(2000)
    print(peer[0], peer[1], data.decode(), flush=True)
''' % PORT

SENDER = '''
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(1, 31):
    s.sendto(b'y' * (i * 40), ('%s', 9))
''' % OURS


def sh(*args, ok=True):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    text = p.stdout.decode(errors='replace')
    if ok and p.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(args), text[-300:]))
    return text


def inside(*args, **kw):
    return subprocess.Popen(('ip', 'netns', 'exec', NS) + args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, **kw)


def line_of(proc, timeout=60):
    if not select.select([proc.stdout], [], [], timeout)[0]:
        raise RuntimeError('no line in %d s' % timeout)
    return proc.stdout.readline().decode().strip()


class Host:
    """The queue pair, with just enough of a host behind it."""

    def __init__(self):
        cmd = [PROGRAM] + tpmd.eal('tprw%d' % ID, plugin=False) + \
            ['--vdev=net_tap0,iface=' + TAP, '--vdev=net_mlx4_model0,wire0=ethdev:net_tap0']
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.seen = []  # (what the card says of the sums, frame)
        self.answer()

    def answer(self):
        lines = []
        while not lines or lines[-1] != '=':
            lines.append(line_of(self.proc))
            if self.proc.poll() is not None and not lines[-1]:
                raise RuntimeError('it ended: %s' % lines)
        return lines[:-1]

    def cmd(self, line):
        self.proc.stdin.write(line.encode() + b'\n')
        self.proc.stdin.flush()
        rest = []
        for text in self.answer():
            kind, _, octets = text.partition(' ')
            if kind in ('good', 'plain'):
                self.seen.append((kind, bytes.fromhex(octets)))
            else:
                rest.append(text)
        return rest

    def send(self, frame, how='send'):
        done = self.cmd('%s %s' % (how, bytes(frame).hex()))
        if done != ['0 0']:
            raise RuntimeError('%s: %s' % (how, done))

    def serve(self):
        """Answers what came since; true when something did."""
        start = len(self.seen)
        self.cmd('receive')
        for _, octets in self.seen[start:]:
            p = Ether(octets)
            if ARP in p and p[ARP].op == 1 and p[ARP].pdst == OURS:
                self.send(Ether(dst=p.src, src=OUR_MAC) /
                          ARP(op=2, hwsrc=OUR_MAC, psrc=OURS, hwdst=p[ARP].hwsrc, pdst=p[ARP].psrc))
            elif ICMP in p and p[ICMP].type == 8 and p[IP].dst == OURS:
                self.send(Ether(dst=p.src, src=OUR_MAC) / IP(src=OURS, dst=p[IP].src) /
                          ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / Raw(bytes(p[ICMP].payload)))
        return len(self.seen) > start

    def close(self):
        self.proc.stdin.write(b'quit\n')
        self.proc.stdin.close()
        return self.proc.wait(60)


def rules(host):
    """Frames to our address, and broadcasts of ARP alone."""
    said = host.cmd('rule %s 0' % OUR_MAC) + host.cmd('rule ff:ff:ff:ff:ff:ff 806')
    return None if said == ['0', '0'] else str(said)


def ping(host):
    """Linux finds us by ARP and has each of its echo requests back, each once."""
    p = inside('ping', '-n', '-c', '5', '-i', '0.2', '-s', '1400', '-w', '60', OURS)
    while p.poll() is None:
        if not host.serve():
            time.sleep(0.01)
    out = p.stdout.read().decode()
    got = [int(n) for n in re.findall(r'bytes from .*_seq=(\d+) ', out)]
    return None if got == [1, 2, 3, 4, 5] else out[-300:]


def snmp(name):
    text = sh('ip', 'netns', 'exec', NS, 'cat', '/proc/net/snmp')
    keys, values = [line.split()[1:] for line in text.splitlines() if line.startswith('Udp: ')]
    return int(dict(zip(keys, values))[name])


def sums(host):
    """A datagram with wrong sums of IPv4 and UDP is Linux's only when the card puts in right ones."""
    listener = inside(sys.executable, '-c', LISTENER)
    try:
        if line_of(listener) != 'ready':
            return 'no listener'
        before = snmp('InCsumErrors')

        def datagram(text, ip_sum):
            ip = {'chksum': ip_sum} if ip_sum is not None else {}
            return Ether(dst=LINUX_MAC, src=OUR_MAC) / IP(src=OURS, dst=LINUX, **ip) / \
                UDP(sport=ANSWER_PORT, dport=PORT, chksum=0xdead) / Raw(text)

        host.send(datagram(b'wrong', None))
        for i in range(1, 60):
            host.send(datagram(b'x' * i, 0xbeef), 'sums')
            want = '%s %d %s' % (OURS, ANSWER_PORT, 'x' * i)
            if line_of(listener) != want:
                return 'not ' + want
        bad = snmp('InCsumErrors') - before
        return None if bad == 1 else '%d datagrams with a wrong sum, wanted the one that the card did not touch' % bad
    finally:
        listener.kill()
        listener.wait()


def fields(path, *names):
    args = ['tshark', '-r', path, '-o', 'ip.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-T', 'fields']
    out = subprocess.run(args + [a for n in names for a in ('-e', n)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         timeout=120, check=True).stdout.decode()
    return [line.split('\t') for line in out.splitlines()]


def received(host):
    """What Linux sends comes whole: tshark finds its sums right where the card did, and nothing else came than the rules name."""
    start = len(host.seen)
    sh('ip', 'netns', 'exec', NS, sys.executable, '-c', SENDER)

    def datagrams():
        host.serve()
        return [(k, o) for k, o in host.seen[start:] if UDP in Ether(o)]

    if not tpmd.wait_until(lambda: len(datagrams()) == 30):
        return '%d of 30 datagrams' % len(datagrams())
    path = os.path.join(work.name, 'in.pcap')
    wrpcap(path, [Ether(o) for _, o in datagrams()])
    rows = fields(path, '_ws.malformed', 'ip.checksum.status', 'udp.checksum.status', 'udp.length')
    for i, ((kind, _), row) in enumerate(zip(datagrams(), rows)):
        if row != ['', '1', '1', str(8 + 40 * (i + 1))] or kind != 'good':
            return 'datagram %d: %s, tshark: %s' % (i, kind, row)
    other = [Ether(o).summary() for _, o in host.seen if o[:6] != bytes.fromhex(OUR_MAC.replace(':', '')) and ARP not in Ether(o)]
    return 'nobody asked for: %s' % other[:3] if other else None


def clean(host):
    said = host.cmd('model')
    return None if said and said[0].split()[0] == '0' else str(said)


if os.getuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip roce-raw: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
work = tpmd.scratch()
host = None
sh('ip', 'netns', 'add', NS)
try:
    host = Host()
    sh('ip', 'link', 'set', TAP, 'netns', NS)
    sh('ip', '-n', NS, 'link', 'set', TAP, 'address', LINUX_MAC)
    sh('ip', '-n', NS, 'addr', 'add', LINUX + '/24', 'dev', TAP)
    sh('ip', '-n', NS, 'link', 'set', TAP, 'up')
    # Linux asks for us so often, a second apart, before it gives a datagram up.
    sh('ip', 'netns', 'exec', NS, 'sysctl', '-qw', 'net.ipv4.neigh.%s.mcast_solicit=60' % TAP)
    cases.run('roce-raw-rules', rules, host)
    cases.run('roce-raw-ping', ping, host)
    cases.run('roce-raw-sums', sums, host)
    cases.run('roce-raw-received', received, host)
    cases.run('roce-raw-model', clean, host)
except Exception as e:
    cases.run('roce-raw', lambda why=str(e): why)
finally:
    if host:
        rc = host.close()
        cases.run('roce-raw-end', lambda: None if rc == 0 else 'exit status %s' % rc)
    sh('ip', 'netns', 'del', NS, ok=False)
cases.exit()
