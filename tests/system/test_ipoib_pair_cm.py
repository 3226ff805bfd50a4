#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A failover pair of IPoIB ports in connected mode: the peer's packets come by a connection to the port that carries, before and
after each move, and a stream of echo requests goes on by itself."""

import test_ipoib_pair as pairs
from ib_cases import run_cases
from test_ipoib_pair import A, PEER, PRIMARY, cable, carries, ping, stream
from test_sm import Net

PORTS = [p + ',connected=1' if 'ipoib' in p or 'pair' in p else p for p in pairs.PORTS]


def by_connection(net):
    """Packets of the peer that went and came by a connection; the pair's active port is the only one that it talks to."""
    c = net.ask('show ipoib counters %d' % PEER)
    return c['tx_conn_packets'], c['rx_conn_packets']


def goes_by_connections(net):
    """Echo requests and answers do so, at last."""
    def now():
        before = by_connection(net)
        bad = ping(net, A, '10.10.0.2')
        return bad is None and all(b > a for a, b in zip(before, by_connection(net)))
    return net.until(now, lambda: net.ask('show ipoib counters %d' % PEER))


def connected(net):
    return pairs.come_up(net) or goes_by_connections(net)


def fail_over(net):
    return stream(net, lambda: cable(net, PRIMARY, 'disable'), 'backup') or goes_by_connections(net)


def fail_back(net):
    return stream(net, lambda: cable(net, PRIMARY, 'enable'), 'primary') or goes_by_connections(net)


def by_hand(net):
    """Both ports stay up: the old one's connections end as well."""
    for who in ('backup', 'primary'):
        net.say('ipoib pair active %d %s' % (pairs.PAIR, who))
        bad = carries(net, who) or goes_by_connections(net)
        if bad:
            return '%s: %s' % (who, bad)
    return None


if __name__ == '__main__':
    run_cases('ipoib-pair-cm', ('ibportstate',), lambda: Net(pairs.VDEVS + PORTS), pairs.end, (
        ('connected', connected), ('failover', fail_over), ('failback', fail_back), ('by-hand', by_hand)))
