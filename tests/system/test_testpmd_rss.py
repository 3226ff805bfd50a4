#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
RSS in a session of unmodified dpdk-testpmd as DPDK's test plans have it: types, indirection table and key are changed while the
port receives. scapy sends each flow through a tap that is the wire's other end; hash and queue, as testpmd prints them, are those
that a Toeplitz hash of the test's own says.
"""
import os
import random
import re
import shutil

import tpmd
from rss_hash import KEY, toeplitz, tuple_of
from scapy.all import IP, UDP, TCP, Ether, IPv6, sendp

cases = tpmd.Cases()
TAP = 'tpr%d' % (os.getpid() % 100000)
QUEUES, FLOWS = 4, 24
PORT = 1  # behind the wire's
OTHER_KEY = bytes(range(0x21, 0x21 + 40))
FOUR, SIX = ('10.1.2.%d', '10.3.4.5'), ('fd00:1::%x', 'fd00:2::5')
sent = 0


def flows(kind):
    """Of each: the packet above its MACs, and what its hash is over with ports and without."""
    for i in range(FLOWS):
        src, dst = SIX if kind.startswith('v6') else FOUR
        src = src % (i + 1)
        net = IPv6(src=src, dst=dst) if kind.startswith('v6') else IP(src=src, dst=dst)
        l4 = (TCP if 'tcp' in kind else UDP)(sport=1000 + i, dport=2000 + 7 * i)
        yield net / l4, [tuple_of(src, 1000 + i, dst, 2000 + 7 * i, ports) for ports in (True, False)]


def received(t, packets):
    """Hash (None: it has none) and queue of each, told apart by the MAC that it came from."""
    global sent
    macs = []
    for p in packets:
        sent += 1
        macs.append('02:00:00:00:%02X:%02X' % (sent >> 8, sent & 0xff))
        sendp(Ether(src=macs[-1], dst='00:02:c9:a1:b2:01') / p / (b'rss' * 20), iface=TAP, verbose=0)
    for mac in macs:
        t.follow('src=%s' % mac.upper())
        t.follow('\n', 1)
    got = {}
    for queue, text in re.findall(r'port \d+/queue (\d+): received \d+ packets\n((?: +src=.*\n(?: +ol_flags:.*\n)?)+)', t.text):
        for mac, rest in re.findall(r'src=(\S+) - (.*)', text):
            h = re.search(r'RSS hash=0x([0-9a-f]+) - RSS queue=0x([0-9a-f]+)', rest)
            if h and int(h[2], 16) != int(queue):
                raise RuntimeError('%s: two queues, %s and %s' % (mac, queue, h[2]))
            got[mac.upper()] = (int(h[1], 16) if h else None, int(queue))
    return [got.get(mac) for mac in macs]


def judge(t, kind, key, table, over):
    """over: 0 with ports, 1 addresses alone, 2: such packets have a hash of 0; None: there is no RSS."""
    packets, data = zip(*flows(kind))
    got = received(t, packets)
    want = []
    for d in data:
        h = None if over is None else toeplitz(key, d[over]) if over < 2 else 0
        want.append((h, 0 if h is None else table[h % len(table)]))
    bad = [i for i in range(FLOWS) if got[i] != want[i]]
    if bad:
        i = bad[0]
        return '%s: %d of %d flows, the first: %s, wanted %s' % (kind, len(bad), FLOWS, got[i], want[i])
    return None if over in (2, None) or len({q for _, q in got}) > 1 else '%s: all in one queue' % kind


def told(t, line):
    out = t.cmd(line)
    if re.search('rror|Bad|nvalid|fail', out):
        raise RuntimeError('%s: %s' % (line, out[-300:]))
    return out


class Session:
    def __init__(self):
        self.t = tpmd.Testpmd(['net_tap0,iface=' + TAP, 'net_mlx4_model0,ports=1,wire0=ethdev:net_tap0'],
                              # A table at random has a ring for each entry, twice while it changes.
                              ['--forward-mode=rxonly', '--rxq=%d' % QUEUES, '--txq=%d' % QUEUES, '--rxd=512',
                               '--total-num-mbufs=40000'], memory=1024)
        info = self.t.cmd('show port info %d' % PORT)
        self.size = int(re.search(r'Redirection table size: (\d+)', info).group(1))
        self.table = [i % QUEUES for i in range(self.size)]
        self.key = KEY
        told(self.t, 'set promisc %d on' % PORT)
        told(self.t, 'set verbose 1')
        told(self.t, 'start')
        for kind in ('ipv4', 'ipv4-tcp', 'ipv4-udp', 'ipv6', 'ipv6-tcp', 'ipv6-udp'):
            told(self.t, 'port config %d rss-hash-key %s %s' % (PORT, kind, KEY.hex()))

    def judge(self, **over):
        for kind, what in over.items():
            bad = judge(self.t, kind, self.key, self.table, what)
            if bad:
                return bad
        return None


def types(s):
    """Each for itself, live; what is not among them has a hash of 0."""
    t = s.t
    told(t, 'port config all rss ip')
    bad = s.judge(v4tcp=1, v4udp=1, v6tcp=1)
    if not bad:
        told(t, 'port config all rss tcp')
        bad = s.judge(v4tcp=0, v6tcp=0, v4udp=2)
    if not bad:
        told(t, 'port config all rss udp')
        bad = s.judge(v4udp=0, v6udp=0, v6tcp=2)
    if not bad:
        told(t, 'port config all rss none')
        bad = s.judge(v4tcp=None, v6udp=None)
    told(t, 'port config all rss all')
    return bad or s.judge(v4tcp=0, v4udp=0, v6tcp=0, v6udp=0)


def table(s):
    """Entries at random, eight with a command; as shown, and as packets go."""
    rnd = random.Random(7)
    s.table = [rnd.randrange(QUEUES) for _ in range(s.size)]
    for i in range(0, s.size, 8):
        told(s.t, 'port config %d rss reta %s' % (PORT, ','.join('(%d,%d)' % (j, s.table[j]) for j in range(i, i + 8))))
    masks = ','.join(['0xffffffffffffffff'] * (s.size // 64))
    shown = re.findall(r'RSS RETA configuration: hash index=(\d+), queue=(\d+)', told(s.t, 'show port %d rss reta %d (%s)' % (PORT, s.size, masks)))
    if [(int(i), int(q)) for i, q in shown] != list(enumerate(s.table)):
        return 'shown: %s' % shown
    return s.judge(v4tcp=0, v6udp=0)


def one_entry(s):
    """No other changes."""
    flow = toeplitz(s.key, list(flows('v4tcp'))[5][1][0]) % s.size
    s.table[flow] = (s.table[flow] + 1) % QUEUES
    told(s.t, 'port config %d rss reta (%d,%d)' % (PORT, flow, s.table[flow]))
    return s.judge(v4tcp=0)


def bad_entry(s):
    """A queue that is not there is refused, and nothing changes."""
    out = s.t.cmd('port config %d rss reta (0,%d)' % (PORT, QUEUES))
    return s.judge(v4udp=0) if re.search('exceeds the maximum rxq.*return code = -22', out, re.S) else 'taken: ' + out


def key(s):
    s.key = OTHER_KEY
    told(s.t, 'port config %d rss-hash-key ipv4-tcp %s' % (PORT, OTHER_KEY.hex()))
    shown = re.search(r'RSS key:\s*([0-9A-Fa-f]+)', told(s.t, 'show port %d rss-hash key' % PORT))
    if not shown or bytes.fromhex(shown[1]) != OTHER_KEY:
        return 'shown: %s' % (shown and shown[1])
    told(s.t, 'port config all rss all')
    return s.judge(v4tcp=0, v6tcp=0, v4udp=0)


def none_lost(s):
    """What was sent came, each once."""
    s.t.cmd('stop')
    macs = re.findall(r'src=(02:00:00:00:\S+)', s.t.text)
    stats = s.t.xstats(PORT)
    if len(macs) != sent or len(set(macs)) != sent:
        return '%d of %d came, %d of them different' % (len(macs), sent, len(set(macs)))
    lost = {k: v for k, v in stats.items() if v != 0 and re.search('missed|errors|no_buffer|dropped', k)}
    return 'lost: %s' % lost if lost else None


if os.getuid() != 0 or not os.path.exists('/dev/net/tun') or shutil.which('dpdk-testpmd') is None:
    print('skip plan-rss: taps need root and /dev/net/tun, sessions dpdk-testpmd')
else:
    session = Session()
    with session.t:
        for name, f in (('types', types), ('reta', table), ('reta-entry', one_entry), ('reta-refused', bad_entry), ('key', key),
                        ('none-lost', none_lost)):
            cases.run('plan-rss-' + name, f, session)
cases.exit()
