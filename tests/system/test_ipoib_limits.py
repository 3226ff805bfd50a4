#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""As many IPoIB ports as there are places for: one more is refused and nothing else changes, then all of them go at once."""
import re

from ib_cases import REFUSED, run_cases
from test_sm import Net

CARD = 'net_mlx4_model0'

VDEVS = ['%s,port0=ib,port1=ib,wire0=cross' % CARD]
PLACES = 32  # RTE_MAX_ETHPORTS of the DPDK that this runs with
FIRST = 0x8001


def there(net):
    return [(p['port'], p['device'], p['pkey']) for p in net.ask('show ipoib')['ports']]


def wanted(n):
    return [(i, CARD + '/1', '0x%04x' % (FIRST + i)) for i in range(n)]


def full(net):
    for i in range(PLACES):
        net.say('ipoib add %s/1 pkey 0x%x' % (CARD, FIRST + i))
    got = there(net)
    return None if got == wanted(PLACES) else 'ports: %s' % got


def one_more(net):
    """On the port that is full, and on the other one, whose own limit is far."""
    for port in (1, 2):
        before = len(net.text())
        net.say('ipoib add %s/%d pkey 0x%x' % (CARD, port, FIRST + PLACES))
        got = there(net)
        if got != wanted(PLACES):
            return 'port %d: ports: %s' % (port, got)
        said = net.text()[before:]
        if not re.search('No space left on device', said) or not re.search(r'are taken: DPDK is built for %d ports' % PLACES, said):
            return 'port %d: said %s' % (port, said[-300:])
    return None


def pair_more(net):
    before = len(net.text())
    net.say('ipoib pair add %s/1 %s/2' % (CARD, CARD))
    got = there(net)
    return None if got == wanted(PLACES) and 'error' in net.text()[before:] else 'ports: %s' % got


def of_the_other(net):
    """All of one InfiniBand port, where there is none."""
    net.say('ipoib remall %s/2' % CARD)
    got = there(net)
    return None if got == wanted(PLACES) else 'ports: %s' % got


def all_go(net):
    net.say('ipoib remall')
    got = there(net)
    if got:
        return 'left: %s' % got
    net.say('ipoib add %s/2 pkey 0x%x' % (CARD, FIRST))
    net.say('ipoib add %s/1 pkey 0x%x' % (CARD, FIRST))
    if [d for _, d, _ in there(net)] != [CARD + '/2', CARD + '/1']:
        return 'after that: %s' % there(net)
    net.say('ipoib remall %s/1' % CARD)
    got = [d for _, d, _ in there(net)]
    return None if got == [CARD + '/2'] else 'of one port: %s' % got


if __name__ == '__main__':
    run_cases('ipoib-limits', (), lambda: Net(VDEVS), lambda net: net.close_with([]), (
        ('full', full), ('one-more', one_more), ('pair', pair_more), ('other', of_the_other), ('remall', all_go)), REFUSED)
