#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB in connected mode between two Linux stacks: packets longer than a datagram, the mode changes while it runs, a peer without connections."""
import os
import re

import test_ipoib
import tpmd
from ib_cases import REFUSED, run_cases
from test_ipoib import A, B, TAPS, iperf, ns, ping, sh

# What net_pcap sends of several buffers; the port itself takes 65520.
MTU = '9600'
LONG = ('-s', '9500', '-M', 'do')
VETH = ('tpcv%d' % os.getpid(), 'tpcw%d' % os.getpid())


class Link(test_ipoib.Link):
    """Each IPoIB port is bridged to one end of a veth pair, whose other end is in a namespace: taps take no long frames."""

    taps = tuple('net_pcap%d,rx_iface_in=%s,tx_iface=%s' % (i, dev, dev) for i, dev in enumerate(VETH))
    ipoib = ',connected=1'
    options = ('--total-num-mbufs', '16384', '--mbuf-size', '4096')

    def __init__(self):
        self.app = None
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    def start(self):
        for i, space in enumerate((A, B)):
            sh('ip', 'netns', 'add', space, check=True)
            sh('ip', 'link', 'add', VETH[i], 'mtu', MTU, 'type', 'veth', 'peer', 'name', TAPS[i], 'mtu', MTU, check=True)
            sh('sysctl', '-qw', 'net.ipv6.conf.%s.disable_ipv6=1' % VETH[i])
            for dev in (VETH[i], TAPS[i]):
                sh('ethtool', '-K', dev, 'tx', 'off', 'rx', 'off', 'gso', 'off', 'tso', 'off', 'gro', 'off', check=True)
            sh('ip', 'link', 'set', VETH[i], 'up', check=True)
            sh('ip', 'link', 'set', TAPS[i], 'netns', space, check=True)
        super().__init__()

    def end(self):
        """What there is of it goes, however far it came."""
        rc, text = self.close() if self.app is not None else (1, '')
        for space in (A, B):
            sh('ip', 'netns', 'del', space)
        for dev in VETH:
            sh('ip', 'link', 'del', dev)
        return rc, text

    def spaces(self):
        """Addresses come when the ports are up, which so hear the reports of membership."""
        for i, space in enumerate((A, B)):
            tpmd.patient(space, TAPS[i])
            sh('ip', '-n', space, 'link', 'set', TAPS[i], 'up', check=True)
            sh('ip', '-n', space, 'link', 'set', 'lo', 'up', check=True)
            sh('ip', '-n', space, 'addr', 'add', '10.8.0.%d/24' % (i + 1), 'dev', TAPS[i], check=True)
            sh('ip', '-n', space, 'addr', 'add', 'fd00:8::%d/64' % (i + 1), 'dev', TAPS[i], 'nodad', check=True)

    def connections(self):
        ports = self.ask('show ipoib')['ports']
        return [(p['connections_out'], p['connections_in']) for p in ports]

    def counter(self, port, name):
        return self.ask('show ipoib counters %d' % port)[name]


def come_up(link):
    for line in ('stop', 'port stop 0,2', *('port config 0,2 tx_offload %s_cksum on' % name for name in ('ipv4', 'udp', 'tcp')),
                 'port start 0,2', 'start'):
        link.say(line)
    link.start_sm()
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'ports do not come up')
    ports = link.ask('show ipoib')['ports']
    if [(p['mode'], p['connected_mtu'], p['hardware_address'][:2]) for p in ports] != [('connected', 65520, '80')] * 2:
        return str(ports)
    return None


def long_packets(link):
    link.spaces()
    # The first ones wait for neighbour, path and connection.
    link.wait(lambda: ping(A, '10.8.0.2', 1, *LONG) is None, 90, 'no long packet gets through')
    bad = ping(A, '10.8.0.2', 5, *LONG) or ping(B, '10.8.0.1', 3, '-s', '9572', '-M', 'do')
    if bad:
        return bad
    link.wait(lambda: link.connections() == [(1, 1), (1, 1)], 120, 'not one connection each way')
    # Each end has both connections: one that it asked for, one that the other did, which is established once its answer was answered.
    def listed():
        return sorted((c['device'], c['asked_by']) for c in link.ask('show connections')['connections']
                      if (c['kind'], c['state']) == ('ib-service', 'established'))
    want = [('net_mlx4_model0/%d' % i, by) for i in (1, 2) for by in ('peer', 'this side')]
    if not tpmd.wait_until(lambda: listed() == want):
        return 'listed: %s' % link.ask('show connections')
    if link.counter(0, 'tx_conn_packets') < 5 or link.counter(2, 'rx_conn_packets') < 5:
        return 'the packets went another way: %s' % link.ask('show ipoib counters 0')
    # The table of neighbours says so as well.
    remote = link.ask('show ipoib endpoints 0 remote')['remote']
    return None if [(e['offers_connections'], e['connected_mtu']) for e in remote] == [(True, 65520)] else str(remote)


def long_ping6(link):
    link.wait(lambda: ping(A, 'fd00:8::2', 1) is None, 90, 'no neighbour is found')
    return ping(A, 'fd00:8::2', 3, '-s', '9500')


def checksums(link):
    """What leaves the stacks has half a checksum; no card completes it on a connection, and the other stack judges."""
    before = link.counter(0, 'tx_conn_packets')
    try:
        for i, space in enumerate((A, B)):
            ns(space, 'ethtool', '-K', TAPS[i], 'tx', 'on', check=True)
        bad = test_ipoib.checksums(link)
    finally:
        for i, space in enumerate((A, B)):
            ns(space, 'ethtool', '-K', TAPS[i], 'tx', 'off')
    sent = link.counter(0, 'tx_conn_packets') - before
    return bad or (None if sent > 200 else 'only %d packets by the connection' % sent)


def counted(link):
    for port in (0, 2):
        c = link.ask('show ipoib counters %d' % port)
        bad = {k: v for k, v in c.items() if v and k in ('drop_tx_error', 'drop_rx_error', 'drop_rx_short', 'drop_tx_no_mbuf', 'drop_rx_conn')}
        if bad:
            return 'port %d drops %s' % (port, bad)
    return None


def datagram_peer(link):
    """B takes no connections from now on: A's stack hears what passes, and its long packets go in parts."""
    link.say('ipoib set 2 mode datagram')
    link.wait(lambda: link.ask('show ipoib')['ports'][0]['connections_out'] == 0, 120, 'the connection stays')
    sh('ip', '-n', B, 'link', 'set', TAPS[1], 'mtu', '2044', check=True)
    # B's address has no flag any more, which A's stack and port learn by asking anew.
    sh('ip', '-n', A, 'neigh', 'flush', 'all')
    sh('ip', '-n', B, 'neigh', 'flush', 'all')

    def told():
        rc, out = ns(A, 'ping', '-n', '-c', '1', '-W', '1', *LONG, '10.8.0.2')
        return rc != 0 and 'mtu=2044' in out.replace(' ', '').lower()
    link.wait(told, 90, 'nobody tells the sender of a long packet')
    if link.counter(0, 'too_big_told') == 0:
        return 'it was told by somebody else'
    link.wait(lambda: ping(A, '10.8.0.2', 1, '-s', '20000', '-M', 'dont') is None, 90, 'no packet gets through in parts')
    return None


def connected_again(link):
    link.say('ipoib set 2 mode connected')
    sh('ip', '-n', B, 'link', 'set', TAPS[1], 'mtu', MTU, check=True)
    link.wait(lambda: link.ask('show ipoib')['ports'][1]['mode'] == 'connected', 120, 'it stays in datagram mode')

    def through():
        # Nobody waits until the stacks forget what passed, and ask for the neighbour anew.
        for space in (A, B):
            sh('ip', '-n', space, 'neigh', 'flush', 'all')
            sh('ip', '-n', space, 'route', 'flush', 'cache')
        return ping(A, '10.8.0.2', 1, *LONG) is None
    link.wait(through, 240, 'no long packet gets through again')  # it is asked again after up to 64 s
    return ping(B, '10.8.0.1', 2, *LONG)


def refusals(link):
    for line in ('ipoib set 1 mode connected', 'ipoib add net_mlx4_model0/1 pkey 0x8009 mtu 2044 mode connected cm-mtu 65521'):
        link.say(line)
    link.wait(lambda: 'port 1 is no IPoIB port' in link.text() and re.search(r'cm-mtu.*65520', link.text()), 120, 'not refused')
    return None


if __name__ == '__main__':
    run_cases('ipoib-cm', ('opensm',), Link, Link.end, (
        ('come-up', come_up), ('long-packets', long_packets), ('long-ping6', long_ping6), ('tcp', iperf),
        ('checksums', checksums), ('counters', counted), ('datagram-peer', datagram_peer),
        ('connected-again', connected_again), ('refusals', refusals)), REFUSED)
