#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The network side of a RoCE port against the Linux stack: each finds the other, by IPv4 and IPv6, on a VLAN, by a
router; addresses of a kernel interface are followed. Frames are judged by tshark; scapy plays a hostile neighbour."""
import os
import re
import select
import subprocess
import sys
import tempfile
import time

import tpmd

cases = tpmd.Cases()
ID = os.getpid()
NS, TAP = 'tprn%d' % ID, 'tprt%d' % ID
PROGRAM = os.path.join(os.environ['TP_BUILD'], 'tests/system/roce_net')
OUR_MAC = '02:00:00:00:0e:aa'
LL = 'fe80::ff:fe00:eaa'
work = tempfile.mkdtemp(prefix='tproce')


def sh(*args, ok=True, timeout=60):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    text = p.stdout.decode(errors='replace')
    if ok and p.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(args), text[-300:]))
    return text


def ns(*args, **kw):
    return sh('ip', 'netns', 'exec', NS, *args, **kw)


def ip(*args, **kw):
    return sh('ip', '-n', NS, *args, **kw)


class Port:
    """A running roce_net."""

    def __init__(self, vdev, *args, inside=None):
        cmd = (['ip', 'netns', 'exec', inside] if inside else []) + [PROGRAM] + \
            tpmd.eal('tprn%d' % ID, plugin=False) + ['--vdev=' + vdev, '--'] + list(args)
        self.log = open(os.path.join(work, 'log'), 'w+')
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.answer()

    def answer(self, timeout=60):
        end, text = time.monotonic() + timeout, ''
        while not text.endswith('=\n'):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                raise RuntimeError('no answer: ' + text + self.said())
            data = os.read(self.proc.stdout.fileno(), 65536).decode()
            if not data:
                raise RuntimeError('it ended: ' + text + self.said())
            text += data
        return text.splitlines()[:-1]

    def cmd(self, line):
        self.proc.stdin.write(line.encode() + b'\n')
        self.proc.stdin.flush()
        return self.answer()

    def said(self):
        self.log.flush()
        with open(self.log.name) as f:
            return f.read()

    def stat(self, name):
        return {a: int(b) for a, b in (line.split() for line in self.cmd('stats'))}[name]

    def close(self):
        if self.proc.poll() is None:
            self.proc.stdin.write(b'quit\n')
            self.proc.stdin.close()
            try:
                return self.proc.wait(60)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
                return 'it hangs'
        return self.proc.returncode


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.2)
    return False


def unanswered(count, *args, space=NS):
    """None when the first so many echo requests are answered, each once. With a deadline ping waits for late ones."""
    out = sh('ip', 'netns', 'exec', space, 'ping', '-n', '-c', str(count), '-w', '30', *args, ok=False)
    seen = [int(n) for n in re.findall(r'bytes from .*_seq=(\d+) ', out)]
    return None if set(range(1, count + 1)) <= set(seen) and 'DUP' not in out else 'ping: ' + out[-200:]


def neigh(addr, dev):
    words = ip('neigh', 'show', addr, 'dev', dev).split()
    return words[words.index('lladdr') + 1] if 'lladdr' in words else None


def kernel_has_vlans():
    """Some kernels are built without."""
    sh('ip', 'netns', 'add', NS)
    ip('link', 'add', 'veth0', 'type', 'veth', 'peer', 'name', 'veth1', ok=False)
    text = ip('link', 'add', 'link', 'veth0', 'name', 'v5', 'type', 'vlan', 'id', '5', ok=False)
    sh('ip', 'netns', 'del', NS)
    return 'Unknown device type' not in text


def linux_mac():
    return ip('-br', 'link', 'show', TAP).split()[2]


def start_linux():
    """The tap's kernel side in a namespace, with a VLAN on it, is the neighbour."""
    sh('ip', 'netns', 'add', NS)
    sh('ip', 'link', 'set', TAP, 'netns', NS)
    # Another MAC than the port's, which the tap's two sides share at first
    ip('link', 'set', TAP, 'address', '02:00:00:00:0e:bb')
    ip('addr', 'add', '10.9.0.1/24', 'dev', TAP)
    ip('addr', 'add', 'fd00:9::1/64', 'dev', TAP, 'nodad')
    ip('link', 'set', TAP, 'up')
    # It asks for us so often, a second apart, before it gives an echo up.
    for family in ('ipv4', 'ipv6'):
        ns('sysctl', '-qw', 'net.%s.neigh.%s.mcast_solicit=60' % (family, TAP))
    if VLANS:
        ip('link', 'add', 'link', TAP, 'name', 'v5', 'type', 'vlan', 'id', '5')
        ip('addr', 'add', '10.5.0.1/24', 'dev', 'v5')
        ip('addr', 'add', 'fd00:5::1/64', 'dev', 'v5', 'nodad')
        ip('link', 'set', 'v5', 'up')
    ip('link', 'set', 'lo', 'up')
    ip('addr', 'add', '10.77.0.1/32', 'dev', 'lo')
    ip('addr', 'add', 'fd00:77::1/128', 'dev', 'lo', 'nodad')


ADDRS = ['add 10.9.0.2 24', 'add fd00:9::2 64', 'add 10.5.0.2 24 5', 'add fd00:5::2 64 5']
# Index of each one's GID for RoCE v2
A4, A6, V4, V6 = 3, 5, 7, 9


def configured(port):
    for line in ADDRS:
        if port.cmd(line) != ['0']:
            return '%s: %s' % (line, port.said()[-300:])
    want = ['0 %s v1' % LL, '1 %s v2' % LL]
    for i, gid in enumerate(['::ffff:10.9.0.2', 'fd00:9::2', '::ffff:10.5.0.2', 'fd00:5::2']):
        want += ['%d %s v1' % (2 + 2 * i, gid), '%d %s v2' % (3 + 2 * i, gid)]
    got = port.cmd('gids')
    return None if got == want else 'GIDs %s' % got


def pinged(pairs):
    ip('neigh', 'flush', 'all')
    for addr, dev in pairs:
        why = unanswered(3, '-i', '0.2', '-I', dev, addr)
        if why:
            return why
        if neigh(addr, dev) != OUR_MAC:
            return 'Linux thinks that %s is at %s' % (addr, neigh(addr, dev))
    return None


def found(port, pairs):
    mac = linux_mac()
    for index, gid in pairs:
        got = port.cmd('resolve %d %s' % (index, gid))
        if got != [mac]:
            return '%s is at %s, not %s: %s' % (gid, got, mac, port.said()[-300:])
    return None


def linux_finds_us(port):
    why = pinged([('10.9.0.2', TAP), ('fd00:9::2', TAP), (LL, TAP)])
    if why:
        return why
    return unanswered(20, '-i', '0.01', '-s', '1400', '10.9.0.2')


def we_find_linux(port):
    link_local = ip('-6', '-br', 'addr', 'show', TAP, 'scope', 'link').split()[2].split('/')[0]
    return found(port, [(A4, '::ffff:10.9.0.1'), (A4 - 1, '::ffff:10.9.0.1'), (A6, 'fd00:9::1'), (1, link_local)])


def vlan_of_linux(port):
    if not VLANS:
        return 'skip this kernel has no VLAN interfaces'
    return pinged([('10.5.0.2', 'v5'), ('fd00:5::2', 'v5')]) or \
        found(port, [(V4, '::ffff:10.5.0.1'), (V6, 'fd00:5::1')])


VLAN = r'''
import sys, threading
from scapy.all import *
iface, us, me = sys.argv[1], '02:00:00:00:0e:aa', '02:00:00:00:05:01'
tag = Dot1Q(vlan=5)
def answer(p):
    """Who asks for 10.5.0.61 or fd00:5::61 on VLAN 5 finds us."""
    if Dot1Q not in p or p[Dot1Q].vlan != 5 or p.src != us:
        return
    back = Ether(src=me, dst=us) / tag
    if ARP in p and p[ARP].op == 1 and p[ARP].pdst == '10.5.0.61':
        sendp(back / ARP(op=2, hwsrc=me, psrc='10.5.0.61', hwdst=us, pdst=p[ARP].psrc), iface=iface, verbose=0)
    if ICMPv6ND_NS in p and p[ICMPv6ND_NS].tgt == 'fd00:5::61':
        sendp(back / IPv6(src='fd00:5::61', dst=p[IPv6].src, hlim=255) / ICMPv6ND_NA(R=0, S=1, O=1, tgt='fd00:5::61') /
              ICMPv6NDOptDstLLAddr(lladdr=me), iface=iface, verbose=0)
ready = threading.Event()
listener = AsyncSniffer(iface=iface, prn=answer, store=0, started_callback=ready.set)
listener.start()
ready.wait()
bcast, uni = Ether(src=me, dst='ff:ff:ff:ff:ff:ff'), Ether(src=me, dst=us)
asked = {
    'arp': bcast / tag / ARP(op=1, hwsrc=me, psrc='10.5.0.60', pdst='10.5.0.2'),
    'ns': Ether(src=me, dst='33:33:ff:00:00:02') / tag / IPv6(src='fd00:5::60', dst='ff02::1:ff00:2', hlim=255) /
          ICMPv6ND_NS(tgt='fd00:5::2') / ICMPv6NDOptSrcLLAddr(lladdr=me),
    'ping': uni / tag / IP(src='10.5.0.60', dst='10.5.0.2') / ICMP(id=3) / Raw(b'z' * 100),
    'ping6': uni / tag / IPv6(src='fd00:5::60', dst='fd00:5::2') / ICMPv6EchoRequest(id=3, data=b'z' * 100),
}
for name, p in asked.items():
    got = srp1(p, iface=iface, timeout=3, retry=10, verbose=0)
    print(name, got is not None and got.src == us and Dot1Q in got and got[Dot1Q].vlan == 5, flush=True)
# the address is on VLAN 5 only
print('untagged', srp1(bcast / ARP(op=1, hwsrc=me, psrc='10.5.0.60', pdst='10.5.0.2'), iface=iface, timeout=1, verbose=0) is None,
      flush=True)
sys.stdin.readline()
'''


def vlan_of_scapy(port):
    peer = subprocess.Popen(['ip', 'netns', 'exec', NS, '/usr/bin/python3', '-c', VLAN, TAP], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        for name in ('arp', 'ns', 'ping', 'ping6', 'untagged'):
            line = peer.stdout.readline().decode().strip()
            if line != name + ' True':
                return line or 'scapy ended'
        for index, gid in ((V4, '::ffff:10.5.0.61'), (V6, 'fd00:5::61')):
            # It asks three times, a second apart: scapy may be slower than that.
            if not until(lambda: port.cmd('resolve %d %s' % (index, gid)) == ['02:00:00:00:05:01']):
                return '%s is at %s' % (gid, port.cmd('resolve %d %s' % (index, gid)))
    finally:
        peer.stdin.close()
        peer.wait()
    return None


def by_router(port):
    mac = linux_mac()
    for index, router, gid in ((A4, '10.9.0.1', '::ffff:10.77.0.1'), (A6, 'fd00:9::1', 'fd00:77::1')):
        before = port.cmd('resolve %d %s' % (index, gid))
        if before != ['EHOSTUNREACH']:
            return 'without a router: %s' % before
        if port.cmd('gateway ' + router) != ['0'] or port.cmd('resolve %d %s' % (index, gid)) != [mac]:
            return 'by %s: %s' % (router, port.said()[-300:])
    return None


def nobody_there(port):
    sent = port.stat('net_requests_sent')
    t0 = time.monotonic()
    got = port.cmd('resolve %d ::ffff:10.9.0.99' % A4)
    took = time.monotonic() - t0
    sent = port.stat('net_requests_sent') - sent
    if got != ['EHOSTUNREACH'] or not 2.9 < took or sent < 3:
        return '%s after %.1f s and %d questions' % (got, took, sent)
    return None


def neighbour_moves(port):
    """Linux changes its MAC; its announcement is believed."""
    ip('link', 'set', TAP, 'address', '02:00:00:00:0e:cc')
    ns('ping', '-c', '1', '-W', '2', '10.9.0.2', ok=False)
    ok = until(lambda: port.cmd('resolve %d ::ffff:10.9.0.1' % A4) == ['02:00:00:00:0e:cc'])
    return None if ok else 'still at %s' % port.cmd('resolve %d ::ffff:10.9.0.1' % A4)


def linux_detects_us(port):
    """Linux's duplicate address detection asks for an address of ours, and gets an answer."""
    # It waits a second after each of its questions; one answer is enough.
    ns('sysctl', '-qw', 'net.ipv6.conf.%s.dad_transmits=20' % TAP)
    ip('addr', 'add', 'fd00:9::2/64', 'dev', TAP)
    ok = until(lambda: 'dadfailed' in ip('-6', 'addr', 'show', 'dev', TAP))
    ip('addr', 'del', 'fd00:9::2/64', 'dev', TAP)
    return None if ok else 'Linux took our address'


def defended(port):
    before = port.stat('net_address_conflicts')
    ip('addr', 'add', '10.9.0.2/32', 'dev', TAP)
    ns('/usr/bin/python3', '-c', "from scapy.all import *; sendp(Ether(src='02:00:00:00:0e:cc', dst='ff:ff:ff:ff:ff:ff') / "
       "ARP(op=1, hwsrc='02:00:00:00:0e:cc', psrc='10.9.0.2', pdst='10.9.0.2'), iface='%s', verbose=0)" % TAP)
    ok = until(lambda: port.stat('net_address_conflicts') > before)
    ip('addr', 'del', '10.9.0.2/32', 'dev', TAP)
    if not ok or 'has our address 10.9.0.2' not in port.said():
        return 'not seen: %s' % port.said()[-300:]
    return None


HOSTILE = r'''
import random, sys
from scapy.all import *
random.seed(7)
dst, iface = sys.argv[1], sys.argv[2]
good = [bytes(Ether(src='02:00:00:00:0e:dd', dst=dst) / p) for p in (
    ARP(op=1, hwsrc='02:00:00:00:0e:dd', psrc='10.9.0.50', pdst='10.9.0.2'),
    ARP(op=2, hwsrc='02:00:00:00:0e:dd', psrc='10.9.0.51', pdst='10.9.0.2'),
    Dot1Q(vlan=5) / ARP(op=1, hwsrc='02:00:00:00:0e:dd', psrc='10.5.0.50', pdst='10.5.0.2'),
    IPv6(src='fd00:9::50', dst='fd00:9::2', hlim=255) / ICMPv6ND_NS(tgt='fd00:9::2') / ICMPv6NDOptSrcLLAddr(lladdr='02:00:00:00:0e:dd'),
    IPv6(src='fd00:9::51', dst='fd00:9::2', hlim=255) / ICMPv6ND_NA(tgt='fd00:9::51') / ICMPv6NDOptDstLLAddr(lladdr='02:00:00:00:0e:dd'),
    IP(src='10.9.0.50', dst='10.9.0.2') / ICMP() / Raw(b'x' * 40),
    IPv6(src='fd00:9::50', dst='fd00:9::2') / ICMPv6EchoRequest(data=b'x' * 40))]
s = conf.L2socket(iface=iface)
for i in range(4000):
    b = bytearray(random.choice(good))
    for _ in range(random.randint(1, 4)):
        b[random.randrange(12, len(b))] = random.randrange(256)
    s.send(bytes(b[:random.randrange(18, len(b) + 1)]))
'''


def hostile(port):
    before = port.stat('net_malformed')
    ns('/usr/bin/python3', '-c', HOSTILE, OUR_MAC, TAP)
    if not until(lambda: port.stat('net_malformed') > before + 100):
        return 'only %d were refused' % (port.stat('net_malformed') - before)
    return unanswered(2, '-i', '0.2', '10.9.0.2')


def new_mac(port):
    """A new MAC makes other GIDs, and who is told of it believes it."""
    there = NS + 'b'

    def known():
        return sh('ip', '-n', there, 'neigh', 'show', '10.8.0.7')
    # Nobody answers pings beside a kernel, but the question before it is answered.
    old = sh('ip', '-n', NS, '-br', 'link', 'show', 'veth0').split()[2]

    def asked():
        sh('ip', 'netns', 'exec', there, 'ping', '-c', '1', '-W', '1', '10.8.0.7', ok=False)
        return old in known()
    if not until(asked):
        return 'not found before: %s' % known()
    port.cmd('events')
    if port.cmd('mac 02:00:00:00:0e:ab') != ['0']:
        return 'the port takes no new MAC'
    if not until(lambda: port.cmd('gids')[0] == '0 fe80::ff:fe00:eab v1'):
        return 'GIDs %s' % port.cmd('gids')
    # 18: IBV_EVENT_GID_CHANGE
    if not until(lambda: '18' in port.cmd('events')):
        return 'no event'
    return None if until(lambda: '02:00:00:00:0e:ab' in known()) else 'Linux thinks %s' % known()


def judged(pcap):
    """What we sent, by tshark: nothing malformed, no warning, good checksums; and the announcements are there."""
    mine = 'eth.src == %s' % OUR_MAC

    def read(filt):
        return sh('tshark', '-n', '-r', pcap, '-o', 'ip.check_checksum:TRUE', '-Y', '%s && (%s)' % (mine, filt)).splitlines()
    lines = [x for x in read('_ws.malformed || _ws.expert.severity >= "Warning" || icmpv6.checksum.status == "Bad" || '
                             'ip.checksum.status == "Bad" || icmp.checksum.status == "Bad"')
             if 'Running as user' not in x and 'Duplicate IP' not in x and 'duplicate use' not in x]
    if lines:
        return lines[0]
    for what, filt in (('ARP announcements', 'arp.isannouncement && arp.src.proto_ipv4 == 10.9.0.2'),
                       ('announcements on the VLAN', 'vlan.id == 5 && arp.isannouncement'),
                       ('unsolicited advertisements', 'icmpv6.type == 136 && ipv6.dst == ff02::1 && icmpv6.nd.na.flag.o == 1'),
                       ('answers', 'arp.opcode == 2'), ('questions', 'arp.opcode == 1 && arp.dst.proto_ipv4 == 10.9.0.1'),
                       ('solicitations', 'icmpv6.type == 135 && icmpv6.opt.linkaddr == %s' % OUR_MAC),
                       ('solicited advertisements', 'icmpv6.type == 136 && icmpv6.nd.na.flag.s == 1')):
        if not [x for x in read(filt) if OUR_MAC in x or x.strip()[:1].isdigit()]:
            return 'no %s' % what
    return None


def captures(port):
    """What a capture is refused for; an empty one is a good file; one is left to the closing of the port."""
    good = os.path.join(work, 'empty.pcapng')
    for line, want, word in (('stop', 'ENOENT', ''), ('capture %s 63' % good, 'EINVAL', '64..4352'),
                             ('capture %s 4353' % good, 'EINVAL', '64..4352'), ('capture /nowhere/x 0', 'ENOENT', '/nowhere/x'),
                             ('capture %s 64' % good, '0', ''), ('capture %s 0' % good, 'EBUSY', 'already'), ('stop', '0', '')):
        got = port.cmd(line)
        if got != [want] or word not in port.said():
            return '%s: %s, not %s: %s' % (line, got, want, port.said()[-200:])
    ns('ping', '-c', '1', '10.9.0.2', ok=False)
    if [x for x in sh('tshark', '-n', '-r', good).splitlines() if 'Running as' not in x]:
        return 'there is something in the capture'
    port.cmd('capture %s 0' % good)
    return None


def with_linux():
    port = Port('net_tap0,iface=%s,mac=%s' % (TAP, OUR_MAC))
    capture = None
    try:
        start_linux()
        pcap = os.path.join(work, 'tap.pcap')
        capture = subprocess.Popen(['ip', 'netns', 'exec', NS, 'tshark', '-q', '-n', '-i', TAP, '-w', pcap],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The file's head is written when the interface is open.
        if not until(lambda: os.path.exists(pcap) and os.path.getsize(pcap) > 0):
            raise RuntimeError('tshark does not begin to capture')
        for fn in (configured, linux_finds_us, we_find_linux, vlan_of_linux, vlan_of_scapy, by_router, nobody_there, neighbour_moves, linux_detects_us,
                   defended):
            cases.run('roce-net-' + fn.__name__.replace('_', '-'), fn, port)
        capture.terminate()
        capture.wait()
        capture = None
        cases.run('roce-net-judged-by-tshark', judged, pcap)
        for fn in (hostile, captures):
            cases.run('roce-net-' + fn.__name__, fn, port)
    finally:
        if capture:
            capture.terminate()
            capture.wait()
        rc = port.close()
        cases.run('roce-net-closes', lambda: None if rc == 0 else 'exit status %s: %s' % (rc, port.said()[-300:]))
        sh('ip', 'netns', 'del', NS, ok=False)


def gids_are(port, *want):
    return until(lambda: [g.split()[1] for g in port.cmd('gids')[2::2]] == list(want))


def follow(port):
    """Addresses of the kernel's interface appear and go, those of its VLAN interfaces too; each with an event."""
    if not gids_are(port, '::ffff:10.8.0.1') or not until(lambda: port.cmd('events')):
        return 'at first %s' % port.cmd('gids')
    ip('addr', 'add', 'fd00:8::1/64', 'dev', 'veth0', 'nodad')
    if not gids_are(port, '::ffff:10.8.0.1', 'fd00:8::1'):
        return 'added: %s' % port.cmd('gids')
    events = []

    def told():
        events.extend(port.cmd('events'))
        return events
    if not until(told) or events != ['18']:
        return 'events %s' % events
    ip('addr', 'del', '10.8.0.1/24', 'dev', 'veth0')
    if not gids_are(port, 'fd00:8::1'):
        return 'gone: %s' % port.cmd('gids')
    if port.cmd('add 10.8.0.7 24') != ['0']:
        return port.said()[-300:]
    ip('addr', 'flush', 'dev', 'veth0')
    if not gids_are(port, '::ffff:10.8.0.7'):
        return 'the application\'s: %s' % port.cmd('gids')
    return None


def follow_vlan(port):
    if not VLANS:
        return 'skip this kernel has no VLAN interfaces'
    ip('link', 'add', 'link', 'veth0', 'name', 'other', 'type', 'vlan', 'id', '9')
    ip('link', 'set', 'other', 'addrgenmode', 'none')
    ip('addr', 'add', '10.99.0.1/24', 'dev', 'other')
    ip('link', 'set', 'other', 'up')
    if not gids_are(port, '::ffff:10.8.0.7', '::ffff:10.99.0.1'):
        return 'VLAN: %s' % port.cmd('gids')
    ip('link', 'del', 'other')
    if not gids_are(port, '::ffff:10.8.0.7'):
        return 'interface gone: %s' % port.cmd('gids')
    return None


def shared(port):
    """We and the kernel ask for a neighbour and both get the answer; the kernel still answers pings."""
    peer = sh('ip', '-n', NS + 'b', '-br', 'link', 'show', 'veth1').split()[2]
    ip('addr', 'add', '10.8.0.1/24', 'dev', 'veth0')
    if not until(lambda: any('10.8.0.1' in g for g in port.cmd('gids'))):
        return 'the address does not come'
    index = [g.split()[0] for g in port.cmd('gids') if '10.8.0.1' in g][1]
    got = port.cmd('resolve %s ::ffff:10.8.0.2' % index)
    if got != [peer]:
        return 'neighbour at %s, not %s' % (got, peer)
    why = unanswered(3, '-i', '0.2', '10.8.0.1', space=NS + 'b')
    if why:
        return why
    if port.stat('net_echoes_sent') != 0 or port.stat('net_address_conflicts') != 0:
        return 'echoes %d, conflicts %d' % (port.stat('net_echoes_sent'), port.stat('net_address_conflicts'))
    return None


def follower_waits(pid):
    """How long the thread that follows an interface waits for news, by its system call: ms, or -1 for ever."""
    POLL = 7  # of x86-64
    for task in os.listdir('/proc/%d/task' % pid):
        try:
            with open('/proc/%d/task/%s/comm' % (pid, task)) as f:
                if f.read() != 'roce-netdev\n':
                    continue
            with open('/proc/%d/task/%s/syscall' % (pid, task)) as f:
                words = f.read().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that ended meanwhile
        if words[0] == str(POLL):
            ms = int(words[3], 16) & 0xffffffff
            return ms if ms < 1 << 31 else -1
    return None


def poll_setting():
    """The period of looks by the setting of triplane, and none at all."""
    with tpmd.Triplane(['net_null0']) as t:
        for value, want in ((None, 3000), ('10000', 10000), ('0', -1), ('1', 1)):
            if value:
                t.tell('set setting 0 roce-gid-poll %s' % value)
            t.tell('set roce-netdev 0 lo')
            t.tell('roce 0 on')
            if not until(lambda w=want: follower_waits(t.proc.pid) == w):
                return 'roce-gid-poll %s: the thread waits %s ms, not %d' % (value, follower_waits(t.proc.pid), want)
            t.tell('roce 0 off')
    return None


def with_netdev():
    sh('ip', 'netns', 'add', NS)
    sh('ip', 'netns', 'add', NS + 'b')
    port = None
    try:
        ip('link', 'add', 'veth0', 'type', 'veth', 'peer', 'name', 'veth1', 'netns', NS + 'b')
        for where, name in ((NS, 'veth0'), (NS + 'b', 'veth1')):
            sh('ip', '-n', where, 'link', 'set', name, 'addrgenmode', 'none')
            sh('ip', '-n', where, 'link', 'set', name, 'up')
        ip('addr', 'add', '10.8.0.1/24', 'dev', 'veth0')
        sh('ip', '-n', NS + 'b', 'addr', 'add', '10.8.0.2/24', 'dev', 'veth1')
        port = Port('net_af_packet0,iface=veth0,blocksz=4096,framesz=2048,framecnt=512', 'netdev=veth0',
                    'netdev_ms=%d' % 0xffffffff, inside=NS)
        # Its addresses are known by the kernel's word alone.
        cases.run('roce-net-follows-linux', follow, port)
        cases.run('roce-net-follows-vlan', follow_vlan, port)
        cases.run('roce-net-new-mac', new_mac, port)
        cases.run('roce-net-beside-linux', shared, port)
    finally:
        if port:
            rc = port.close()
            cases.run('roce-net-stops-following', lambda: None if rc == 0 else 'exit status %s' % rc)
        sh('ip', 'netns', 'del', NS, ok=False)
        sh('ip', 'netns', 'del', NS + 'b', ok=False)


if os.getuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip roce-net: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
VLANS = kernel_has_vlans()
cases.run('roce-net-poll-setting', poll_setting)
for title, fn in (('tap', with_linux), ('netdev', with_netdev)):
    try:
        fn()
    except Exception as e:
        cases.run('roce-net-' + title, lambda: str(e))
sh('rm', '-rf', work)
cases.exit()
