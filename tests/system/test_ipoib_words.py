#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB ports made at run time with all that a port is made with: Linux stacks, tshark and the fabric see what each word does."""
import os
import re
import subprocess
import time

from ib_cases import REFUSED, run_cases
from test_sm import Net as Switched
from test_sm import sh

ID = os.getpid()
SPACES = A, B = ['tpwa%d' % ID, 'tpwb%d' % ID]
TAPS = ['tpw%d%d' % (i, ID) for i in (0, 1)]
CARD = 'net_mlx4_model0'
GUID = 0x0002c90300a1b200
MASK = 0x7e  # octets 1 to 6 of a GUID, from the left
GROUP = '239.1.2.3'
MGID = 'ff12401bffff0000000000000f010203'
OWN_MAC = '02:00:00:00:AA:01'
# What A is made with; B is made with what follows of its defaults.
WORDS = {'pkey': '0xffff', 'mode': 'connected', 'refuse-incoming': '1', 'cm-mtu': '9000', 'mac': OWN_MAC, 'guid-mask': hex(MASK),
         'mtu': '1800', 'age-interval': '10000', 'age': '1', 'monitor': '1000', 'query-runs': '2', 'leave-runs': '1'}
# Of these, what is set when the port is there.
LATER = {'age-interval': 'ipoib-age-interval', 'monitor': 'ipoib-monitor', 'query-runs': 'ipoib-query-runs'}
SHOWN = {'pkey': '0xffff', 'mode': 'connected', 'refuse_incoming': True, 'connected_mtu': 9000, 'mac': OWN_MAC, 'guid_mask': hex(MASK),
         'mtu': 1800, 'age_interval_ms': 10000, 'age': 1, 'monitor_ms': 1000, 'query_runs': 2, 'leave_runs': 1}


class Net(Switched):
    """One card at a switch that writes what passes the first port; two taps; no IPoIB port yet."""

    def __init__(self):
        self.pcap = '/tmp/tp_words_%d.pcap' % ID
        switch = 'ibswitch:w%d/' % ID
        super().__init__(['%s,guid=0x%x,port0=ib,port1=ib,wire0=%sport:1/capture:%s,wire1=%sport:2' % (CARD, GUID, switch, self.pcap, switch)] +
                         ['net_tap%d,iface=%s' % (i, tap) for i, tap in enumerate(TAPS)])

    def end(self):
        ended = self.close_with(SPACES)
        if os.path.exists(self.pcap):
            os.unlink(self.pcap)
        return ended

    def counters(self, port):
        return self.ask('show ipoib counters %d' % port)

    def port(self, port):
        return [p for p in self.ask('show ipoib')['ports'] if p['port'] == port][0]


def tshark(net, fields, *filters):
    p = subprocess.run(['tshark', '-r', net.pcap, '-Y', ' && '.join(filters), '-T', 'fields', *[x for f in fields for x in ('-e', f)]],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
    return [line.split('\t') for line in p.stdout.decode().splitlines()]


def made(net):
    net.say('ib sm on %s/1' % CARD)
    # In no order that the program has.
    net.say('ipoib add %s/1 %s' % (CARD, ' '.join('%s %s' % item for item in sorted(WORDS.items()) if item[0] not in LATER)))
    net.say('ipoib add %s/2 cm-mtu 4000' % CARD)
    bad = net.until(lambda: len(net.ipoib()) == 2, net.text)
    for port, name, value in [(2, name, WORDS[name.partition('-')[2]]) for name in LATER.values()] + [(3, 'ipoib-mode', 'connected')]:
        net.say('set setting %d %s %s' % (port, name, value))
    if bad:
        return bad
    if net.port(3)['mode'] != 'connected':
        return 'B: %s' % net.port(3)
    p = net.port(2)
    got = {k: p.get(k) for k in SHOWN}
    return None if got == SHOWN else 'made %s, not %s' % (got, SHOWN)


def refused(net):
    """Each with the value and what is wanted; no port comes of it."""
    for words, want in (('mtu 1499', r"mtu '1499' is not in 1500\.\.4092"), ('age 21', r"age '21' is not in 1\.\.20"),
                        ('guid-mask 256', r"guid-mask '256' is not in 0\.\.255"), ('monitor 999', r"monitor '999' is not in 1000\.\.300000"),
                        ('mac 1:2', r"mac '1:2' is no address"), ('mode both', r"mode 'both', want datagram or connected"),
                        ('colour red', r"argument 'colour' is not known, want one of port, mac, pkey"), ('age', 'age without a value'),
                        ('port x/1', "port 'x/1': the port was named before")):
        net.say('ipoib add %s/1 pkey 0x8001 %s' % (CARD, words))
        bad = net.until(lambda: re.search(want, net.text()), lambda: 'not said: %s in %s' % (want, net.text()[-300:]))
        if bad:
            return bad
    net.say('ipoib set 2 leave-runs 11')
    net.say('ipoib set 0 age 2')
    for want in (r"ipoib-leave-runs: '11', want 1\.\.10", 'port 0: .*ipoib-age'):
        bad = net.until(lambda: re.search(want, net.text()), lambda: 'not said: %s in %s' % (want, net.text()[-300:]))
        if bad:
            return bad
    return None if len(net.ipoib()) == 2 else 'ports: %s' % net.ipoib()


def forward(net):
    for line in ('port stop all', 'set peer 0 2', 'set peer 2 0', 'set peer 1 3', 'set peer 3 1', 'port start all', 'start'):
        net.say(line)
    bad = net.until(lambda: net.ipoib() == ['up', 'up'], net.text)
    for i, (space, tap) in enumerate(zip(SPACES, TAPS)):
        for cmd in (('ip', 'netns', 'add', space), ('ip', 'link', 'set', tap, 'netns', space),
                    ('ip', '-n', space, 'addr', 'add', '10.7.0.%d/24' % (i + 1), 'dev', tap), ('ip', '-n', space, 'link', 'set', tap, 'up'),
                    ('ip', '-n', space, 'addr', 'add', GROUP + '/32', 'dev', tap, 'autojoin')):
            rc, out = sh(*cmd)
            if rc != 0:
                return '%s: %s' % (' '.join(cmd), out)
    return bad or net.until(lambda: ping(1000) is None, lambda: ping(1000))


def ping(size):
    rc, out = sh('ip', 'netns', 'exec', A, 'ping', '-n', '-c', '1', '-W', '3', '-M', 'do', '-s', str(size), '10.7.0.2')
    return None if rc == 0 else out[-300:]


def octets(guid, mask):
    """The six octets of a GUID that a mask names, from the left."""
    return ':'.join('%02x' % (guid >> 8 * i & 0xff) for i in range(7, -1, -1) if mask >> i & 1)


def macs(net):
    """A's Linux stack knows B by octets of B's GUID that A's mask names, B's knows A by the vendor's form."""
    def known():
        return [re.findall(r'lladdr (\S+)', sh('ip', '-n', space, 'neigh', 'show', '10.7.0.%d' % to)[1]) for space, to in ((A, 2), (B, 1))]
    want = [[octets(GUID + 2, MASK)], ['00:02:ca:a1:b2:01']]
    # A kernel forgets who did not answer it for three seconds.
    return net.until(lambda: ping(100) is None and known() == want, lambda: 'neighbours %s, want %s' % (known(), want))


def connections(net):
    """A asks and is taken, with the smaller MTU of both; B asks and is told no, on the wire, too."""
    def both():
        return net.counters(2), net.counters(3)

    # More than one connection where A forgot B meanwhile, which it does after ten seconds.
    def taken():
        a, b = both()
        return a['conns_up'] >= 1 and b['conns_accepted'] == a['conns_up'] and a['conns_declined'] >= 1 and b['conns_refused'] >= 1
    bad = net.until(lambda: ping(100) is None and taken(), both)
    if bad:
        return bad
    a, b = both()
    if a['conns_accepted'] != 0 or b['conns_declined'] != 0 or b['conns_up'] != 0:
        return 'A %s, B %s' % (a, b)
    def mtus():
        return [e['connected_mtu'] for e in net.ask('show ipoib endpoints 2 remote')['remote']]
    bad = net.until(lambda: ping(100) is None and mtus() == [4000], lambda: 'MTU of the connection: %s' % mtus())
    if bad:
        return bad

    def rejects():
        # REJ, attribute 0x0012: reason 28 is the consumer's (IBTA 12.6.7.2).
        return [r for r in tshark(net, ['infiniband.lrh.slid', 'infiniband.cm.rej.reason'], 'infiniband.mad.attributeid == 0x0012')]
    lid = str(net.port(2)['lid'])
    return net.until(lambda: any(int(slid, 0) == int(lid) for slid, *_ in rejects()), lambda: 'no REJ of LID %s: %s' % (lid, rejects()))


def accepts_again(net):
    """Told so while it runs, A takes the connection that B asks for next."""
    net.say('ipoib set 2 refuse-incoming 0')
    bad = net.until(lambda: ping(100) is None and net.counters(2)['conns_accepted'] >= 1, lambda: net.counters(2), 240)
    return bad or (None if 'port 2: ipoib-refuse-incoming: on -> off' in net.text() else 'no word about the change')


def monitor(net):
    """A's stack is asked for its memberships by general queries, which B's, with the defaults, is not yet."""
    p = subprocess.run(['ip', 'netns', 'exec', A, 'tshark', '-i', TAPS[0], '-c', '1', '-a', 'duration:60', '-f', 'igmp[0] = 0x11 and dst host 224.0.0.1', '-T', 'fields',
                        '-e', 'igmp.maddr'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if b'0.0.0.0' not in p.stdout:
        return 'no general query: %s' % (p.stdout + p.stderr)[-300:]
    a, b = net.counters(2)['queries'], net.counters(3)['queries']
    return None if a >= 1 and a > b else 'queries: A %d, B %d' % (a, b)


def member(net, port):
    return any(e['mgid'] == MGID and e['receives'] for e in net.ask('show ipoib endpoints %d multicast' % port)['multicast'])


def forgets(net):
    """Nothing passes any more: A leaves the group that nobody reports and forgets the neighbour, B keeps both."""
    # A leaves at the first query that its stack is late to answer, and comes back with the answer.
    bad = net.until(lambda: ping(100) is None and member(net, 2) and member(net, 3), lambda: 'not members of %s at first' % GROUP)
    net.say('stop')
    bad = bad or net.until(lambda: not member(net, 2) and not net.ask('show ipoib endpoints 2 remote')['remote'],
                    lambda: net.ask('show ipoib endpoints 2 remote'), 120)
    return bad or (None if member(net, 3) and net.ask('show ipoib endpoints 3 remote')['remote'] else 'B forgets, too')


if __name__ == '__main__':
    run_cases('ipoib-words', ('tshark',), Net, Net.end, (
        ('made', made), ('refused', refused), ('forward', forward), ('macs', macs), ('connections', connections),
        ('accepts-again', accepts_again), ('monitor', monitor), ('forgets', forgets)), REFUSED)
