#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB with the largest datagrams, which are the default with mbufs that hold them: OpenSM gives the broadcast group an MTU of 4096, Linux stacks on veth pairs use all of it."""
import os

import test_ipoib
import tpmd
from ib_cases import run_cases
from test_ipoib import A, B, ID, TAPS, ping, sh

MTU = 4092


class LargeLink(test_ipoib.Link):
    """The wire to each Linux stack is a veth pair behind net_pcap, since net_tap takes no frame of this size."""

    # No mtu: mbufs that have room for it make the largest one the default.
    options = ('--mbuf-size', '4608')

    def __init__(self):
        self.near = ['tpn%d%d' % (i, ID) for i in range(2)]
        self.taps = ['net_pcap%d,rx_iface_in=%s,tx_iface=%s' % (i, near, near) for i, near in enumerate(self.near)]
        for i, space in enumerate((A, B)):
            sh('ip', 'netns', 'add', space, check=True)
            sh('ip', 'link', 'add', self.near[i], 'type', 'veth', 'peer', 'name', TAPS[i], 'netns', space, check=True)
            # What leaves the stack here has no card behind it.
            sh('ip', 'netns', 'exec', space, 'ethtool', '-K', TAPS[i], 'tx', 'off', 'tso', 'off', 'gso', 'off', check=True)
            sh('ip', 'link', 'set', self.near[i], 'mtu', '9000', 'up', check=True)
        super().__init__()
        partitions = os.path.join(self.dir, 'partitions')
        with open(partitions, 'w') as f:
            f.write('Default=0x7fff, ipoib, mtu=5, defmember=full : ALL=full, ALL_SWITCHES=full;\n')
        self.sm_options = ('-P', partitions)

    def up(self):
        """When the ports are, so that they hear the reports of membership."""
        for i, space in enumerate((A, B)):
            dev = TAPS[i]
            tpmd.patient(space, dev)
            sh('ip', '-n', space, 'addr', 'add', '10.8.0.%d/24' % (i + 1), 'dev', dev, check=True)
            sh('ip', '-n', space, 'addr', 'add', 'fd00:8::%d/64' % (i + 1), 'dev', dev, 'nodad', check=True)
            sh('ip', '-n', space, 'link', 'set', dev, 'mtu', str(MTU), 'up', check=True)

    def close(self):
        result = super().close()
        for near in self.near:
            sh('ip', 'link', 'del', near)
        return result


def come_up(link):
    link.start_sm()
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'ports do not come up')
    link.up()
    ports = link.ask('show ipoib')['ports']
    told = [link.ask('show settings %d' % p)['objects'][0]['settings']['mtu'] for p in (0, 2)]
    return None if [p['mtu'] for p in ports] == [MTU, MTU] and told == [str(MTU)] * 2 else 'MTUs of the ports: %s, told %s' % (ports, told)


def longest(link):
    return (ping(A, '10.8.0.2', 3) or ping(A, '10.8.0.2', 5, '-s', str(MTU - 28), '-M', 'do') or
            ping(B, '10.8.0.1', 5, '-s', str(MTU - 28), '-M', 'do'))


def longest6(link):
    return ping(A, 'fd00:8::2', 3) or ping(A, 'fd00:8::2', 5, '-s', str(MTU - 48), '-M', 'do')


def tcp(link):
    return test_ipoib.iperf(link, end=('-n', '1M'))


def above(link):
    """One octet more is dropped, and counted by its reason; nothing else is lost by that."""
    sh('ip', '-n', A, 'link', 'set', TAPS[0], 'mtu', '5000', check=True)
    rc, out = test_ipoib.ns(A, 'ping', '-n', '-c', '2', '-i', '0.2', '-W', '1', '-s', str(MTU - 27), '-M', 'do', '10.8.0.2')
    sh('ip', '-n', A, 'link', 'set', TAPS[0], 'mtu', str(MTU), check=True)
    if rc == 0:
        return 'a packet of %d octets arrives' % (MTU + 1)
    link.wait(lambda: link.ask('show ipoib counters 0')['drop_tx_long'] >= 2, 120, 'they are not counted as drop_tx_long')
    want = 'port 0: packet len %d > %d too long to send, dropping' % (MTU + 1, MTU)
    link.wait(lambda: want in link.text(), 120, 'not said: ' + want)
    return ping(A, '10.8.0.2', 3)


if __name__ == '__main__':
    run_cases('ipoib-mtu', ('opensm',), LargeLink, LargeLink.close, (
        ('come-up', come_up), ('longest', longest), ('longest6', longest6), ('tcp', tcp), ('above', above)))
