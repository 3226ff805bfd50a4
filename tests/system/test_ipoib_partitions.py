#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenSM's partitions file reaches IPoIB ports: a full and two limited members of a P_Key, a Linux stack behind each; who is in
no partition waits for it, keys are taken away and given back while it runs."""
import os
import signal

from ib_cases import run_cases
from test_sm import Net, sh

ID = os.getpid()
SPACES = ['tpq%d%s' % (ID, c) for c in 'abc']
TAPS = ['tpq%d%d' % (i, ID) for i in range(3)]
CARDS = (0x0002c90300a1f200, 0x0002c90300a2f200)
GUIDS = (CARDS[0] + 1, CARDS[0] + 2, CARDS[1] + 1)
MASTER = CARDS[1] + 2
WIRES = 'port0=ib,port1=ib,wire0=ibswitch:pk%d,wire1=ibswitch:pk%d' % (ID, ID)
VDEVS = ['net_mlx4_model%d,guid=0x%x,%s' % (i, g, WIRES) for i, g in enumerate(CARDS)]
for i, port in enumerate(('net_mlx4_model0/1', 'net_mlx4_model0/2', 'net_mlx4_model1/1')):
    VDEVS += ['net_ipoib%d,port=%s,pkey=5' % (i, port), 'net_tap%d,iface=%s' % (i, TAPS[i])]
ADDRESS = ['10.11.0.%d' % (i + 1) for i in range(3)]


def partitions(net, **members):
    """Writes the file; an OpenSM that runs reads it again."""
    path = os.path.join(net.dir, 'partitions.conf')
    with open(path + '.new', 'w') as f:
        f.write('Default=0x7fff,ipoib:ALL=full;\n')
        f.write('Red=0x5,ipoib:0x%x=full%s;\n' % (MASTER, ''.join(',0x%x=%s' % (GUIDS['abc'.index(m)], how)
                                                              for m, how in members.items())))
    os.rename(path + '.new', path)
    if net.sm is not None:
        net.sm.send_signal(signal.SIGHUP)
    return path


def ports(net):
    return [(p['state'], p.get('membership')) for p in net.ask('show ipoib')['ports']]


def become(net, *wanted):
    return net.until(lambda: ports(net) == list(wanted), lambda: (ports(net), net.osm_log()[-600:]), 120)


FULL, LIMITED, NONE = ('up', 'full'), ('up', 'partial'), ('no-pkey', None)


def echo(i, j, count):
    return sh('ip', 'netns', 'exec', SPACES[i], 'ping', '-n', '-c', str(count), '-i', '0.2', '-W', '1', ADDRESS[j])[0] == 0


def ping(net, i, j):
    """Until one is answered."""
    return net.until(lambda: echo(i, j, 1), lambda: '%s does not reach %s' % (ADDRESS[i], ADDRESS[j]))


def silent(i, j):
    """Nobody answers: nothing crosses, however often it is tried."""
    return '%s reaches %s' % (ADDRESS[i], ADDRESS[j]) if echo(i, j, 3) else None


def members(net):
    path = partitions(net, a='full', b='limited', c='limited')
    net.sm = net.start('opensm', '-g', '0x%016x' % MASTER, '-P', path, '-f', net.log, '-s', '2', '-t', '2000')
    bad = become(net, FULL, LIMITED, LIMITED)
    if bad:
        return bad
    if [p['pkey_in_table'] for p in net.ask('show ipoib')['ports']] != ['0x8005', '0x0005', '0x0005']:
        return 'tables: %s' % net.ask('show ipoib')
    net.say('start')
    for space, tap, address in zip(SPACES, TAPS, ADDRESS):
        sh('ip', 'netns', 'add', space)
        sh('ip', 'link', 'set', tap, 'netns', space)
        sh('ip', '-n', space, 'addr', 'add', address + '/24', 'dev', tap)
        sh('ip', '-n', space, 'link', 'set', tap, 'up')
    return ping(net, 0, 1) or ping(net, 2, 0)


def limited_members(net):
    """Two limited members do not hear each other (IBTA 1.4, 10.9.3)."""
    return silent(1, 2) or silent(2, 1) or ping(net, 1, 0)


def taken_away(net):
    partitions(net, a='full', c='limited')
    bad = become(net, FULL, NONE, LIMITED)
    return bad or silent(0, 1) or silent(1, 0) or ping(net, 0, 2)


def given_back(net):
    """As a full member: now all hear each other."""
    partitions(net, a='full', b='full', c='limited')
    return become(net, FULL, FULL, LIMITED) or ping(net, 0, 1) or ping(net, 1, 2) or ping(net, 2, 0)


if __name__ == '__main__':
    run_cases('ipoib-partitions', ('opensm',), lambda: Net(VDEVS), lambda net: net.close_with(SPACES), (
        ('members', members), ('limited', limited_members), ('taken-away', taken_away), ('given-back', given_back)))
