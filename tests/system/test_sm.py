#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The small subnet manager over an InfiniBand switch: the standard tools judge it, Linux stacks ping over IPoIB through it, OpenSM
is its peer."""
import json
import os
import re
import subprocess
import time

from ib_cases import REFUSED, run_cases
from test_opensm import Fabric, expect

ID = os.getpid()
SPACES = ['tpsa%d' % ID, 'tpsb%d' % ID]
TAPS = ['tps%d' % i for i in (0, 1)]
SWITCH = 'sm%d' % ID
GUIDS = (0x0002c90300a1b200, 0x0002c90300a1c200)
PORTS = ['net_mlx4_model0/1', 'net_mlx4_model0/2', 'net_mlx4_model1/1', 'net_mlx4_model1/2']
WIRES = 'port0=ib,port1=ib,wire0=ibswitch:%s,wire1=ibswitch:%s' % (SWITCH, SWITCH)
VDEVS = ['net_mlx4_model%d,guid=0x%x,%s' % (i, g, WIRES) for i, g in enumerate(GUIDS)]
IPOIB = ['net_ipoib0,port=' + PORTS[0], 'net_tap0,iface=' + TAPS[0], 'net_ipoib1,port=' + PORTS[3], 'net_tap1,iface=' + TAPS[1]]
MASTER = PORTS[0]
# OpenSM asks a master that it stands by for every so many ms, and gives it up after so many times.
OPENSM = 'sminfo_polling_timeout 500\npolling_retry_number 2\n'


def sh(*cmd):
    p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return p.returncode, p.stdout.decode(errors='replace')


class Net(Fabric):
    """Four ports of two cards at a switch, two of them with IPoIB between taps."""

    def text(self):
        with open(self.out.name, errors='replace') as f:
            return f.read()

    def ask(self, line):
        pattern = re.compile(r'^(?:triplane> )*(\{.*\})$', re.M)
        before = len(pattern.findall(self.text()))
        self.say(line + ' json')
        self.wait(lambda: len(pattern.findall(self.text())) > before, 120, 'no answer to ' + line)
        return json.loads(pattern.findall(self.text())[-1])

    def close_with(self, spaces):
        ended = self.close()
        for space in spaces:
            sh('ip', 'netns', 'del', space)
        return ended

    def managers(self):
        return {m['device']: m for m in self.ask('ib sm show')['managers']}

    def until(self, what, why, seconds=60):
        """Waits for a condition; why: a function that says what is there instead."""
        end = time.time() + seconds
        while not what():
            if time.time() > end:
                return str(why())[-500:]
            time.sleep(0.1)
        return None

    def up(self):
        return self.until(lambda: self.active() == 4, lambda: (self.managers(), self.run('ibstat')[1]))

    def active(self):
        return len(re.findall('State: Active', self.run('ibstat')[1]))

    def ipoib(self):
        return [p['state'] for p in self.ask('show ipoib')['ports']]


def subnet(net):
    net.say('ib sm on %s priority 3' % MASTER)
    bad = net.up()
    if bad:
        return bad
    return net.until(lambda: {k: net.managers()[MASTER][k] for k in ('role', 'subnet_up', 'nodes', 'switches', 'active_ports')} == {
        'role': 'master', 'subnet_up': True, 'nodes': 3, 'switches': 1, 'active_ports': 8}, net.managers)


TOOLS = [
    ('ibnetdiscover', ['ibnetdiscover'], [r'Switch\t8 "S-[0-9a-f]{16}".*# "Triplane switch %s" base port 0 lid \d+' % SWITCH,
                                          r'Ca\t2 "H-0002c90300a1c200"', r'\[2\]\(2c90300a1c202\).*lid \d+ 4xQDR']),
    ('iblinkinfo', ['iblinkinfo'], [r'CA: Triplane.*Switch: 0x', r'(==\( 4X +10.0 Gbps +Active/ +LinkUp\)==> .*){4}']),
    ('ibswitches', ['ibswitches'], [r'Switch\t: 0x[0-9a-f]{16} ports 8 "Triplane switch %s"' % SWITCH]),
    ('ibhosts', ['ibhosts'], [r'0x0002c90300a1b200 ports 2', r'0x0002c90300a1c200 ports 2']),
    ('sminfo', ['sminfo'], [r'sm guid 0x2c90300a1b201, activity count \d+ priority 3 state 3 SMINFO_MASTER']),
    ('saquery-nodes', ['saquery', 'NR'], [r'(port_guid\.+0x0002c90300a1[bc]20[12].*){4}', r'NodeDescription\.+Triplane switch']),
    ('saquery-ports', ['saquery', 'PIR'], [r'(EndPortLid\.+\d+\n.*){6}']),
    ('saquery-issm', ['saquery', '-s'], [r'IsSM ports\n.*EndPortLid\.+\d+\n.*capability_mask\.+0x251086A']),
    ('saquery-managers', ['saquery', 'SMIR'], [r'GUID\.+0x0002c90300a1b201', r'Priority\.+3', r'SMState\.+3']),
    ('saquery-paths', ['saquery', '-p'], [r'(dgid\.+fe80::2:c903:a1:[bc]20[12]\n.*){16}', r'mtu\.+0x85', r'rate\.+0x87']),
    ('saquery-groups', ['saquery', '-g'], [r'ff12:401b:ffff::ffff:ffff']),
    ('saquery-classinfo', ['saquery', '-c'], [r'Class version\.+2']),
]


def eventually(net, check):
    """Tries until a check has nothing to say: on a busy machine a tool may get no answer, or the one of a moment ago."""
    bad = None

    def good():
        nonlocal bad
        try:
            bad = check()
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            bad = 'a tool said less than it should: %r' % e
        return bad is None
    return net.until(good, lambda: bad)


def tool(net, cmd, patterns):
    return eventually(net, lambda: expect(*net.run(*cmd), *patterns))


def lid_of(net, guid):
    """A port's LID, by the administrator there is, or comes soon."""
    found = None

    def known():
        nonlocal found
        found = re.search(r'lid\.+(\d+)\n(?:(?!lid\.\.).)*port_guid\.+0x%016x' % guid, net.run('saquery', 'NR')[1], re.S)
        return found
    net.wait(known, 40, 'no record of port 0x%x' % guid)
    return found.group(1)


def switch_lid(net):
    found = None

    def known():
        nonlocal found
        found = re.search(r'base port 0 lid (\d+)', net.run('ibnetdiscover')[1])
        return found
    net.wait(known, 40, 'ibnetdiscover finds no switch')
    return found.group(1)


def routes(net):
    """The switch's table: each port's LID leads to a port of its own; ibtracert goes that way."""
    lids = [lid_of(net, g + p) for g in GUIDS for p in (1, 2)]
    switch = switch_lid(net)
    out = ''

    def apart():
        nonlocal out
        out = net.run('ibroute', switch)[1]
        table = dict(re.findall(r'^0x([0-9a-f]{4}) (\d{3}) :', out, re.M))
        exits = {table.get('%04x' % int(lid)) for lid in lids}
        return len(exits) == 4 and None not in exits and table.get('%04x' % int(switch)) == '000'
    return net.until(apart, lambda: out) or tool(net, ['ibtracert', lids[0], lids[3]], [
        r'From ca.*\[1\] -> switch.*\] -> ca', r'To ca .*lid %s' % lids[3]])


def groups(net):
    """Members of the broadcast group are the two IPoIB ports; the switch's table has their ports."""
    bad = net.until(lambda: net.ipoib() == ['up', 'up'], net.ipoib)
    if bad:
        return bad
    net.say('start')
    out = ''

    def there():
        nonlocal out
        out = net.run('saquery', '-m', '0xc000')[1] + net.run('saquery', '-m')[1]
        return all(re.search(r'PortGid\.+fe80::2:c903:a1:%s' % g, out) for g in ('b201', 'c202'))
    return net.until(there, lambda: out) or tool(net, ['ibroute', '-M', switch_lid(net)], [r'0xc000 [ x]*x[ x]*x'])


def ping(net):
    for i, (space, tap) in enumerate(zip(SPACES, TAPS)):
        sh('ip', 'netns', 'add', space)
        sh('ip', 'link', 'set', tap, 'netns', space)
        sh('ip', '-n', space, 'addr', 'add', '10.9.0.%d/24' % (i + 1), 'dev', tap)
        sh('ip', '-n', space, 'link', 'set', tap, 'up')
    for _ in range(8):
        rc, out = sh('ip', 'netns', 'exec', SPACES[0], 'ping', '-n', '-c', '3', '-i', '0.2', '-W', '3', '10.9.0.2')
        if rc == 0 and ' 0% packet loss' in out:
            return None
    return out


def report(net):
    """What the port says of itself is what another port finds out over the wire."""
    return eventually(net, lambda: compare(net))


def compare(net):
    lid = lid_of(net, GUIDS[1] + 2)
    info = net.run('smpquery', 'nodeinfo', lid)[1] + net.run('smpquery', 'portinfo', lid, '2')[1]
    wire = dict(re.findall(r'^(\w+):\.*(.*)$', info, re.M))
    p = net.ask('show ib ' + PORTS[3])['ports'][0]
    pairs = [(p['node_guid'], wire['Guid']), (p['port_guid'], wire['PortGuid']), (p['system_guid'], wire['SystemGuid']),
             (p['state'], wire['LinkState'].upper()), (p['phys_state'], {'LinkUp': 'link-up'}.get(wire['PhysLinkState'])),
             (p['lid'], int(wire['Lid'])), (p['sm_lid'], int(wire['SMLid'])), (p['width'], wire['LinkWidthActive']),
             (p['speed'], {'10.0 Gbps': 'QDR'}.get(wire['LinkSpeedActive'])), (p['gbps'], 40),
             (p['active_mtu'], int(wire['NeighborMTU'])), (p['max_mtu'], int(wire['MtuCap'])),
             (p['pkey_table'], int(wire['PartCap'])), (p['card_port'], int(wire['LocalPort'])),
             (p['firmware'], re.search(r'Firmware version: (\S+)', net.run('ibstat', 'net_mlx4_model1')[1])[1])]
    bad = [pair for pair in pairs if pair[0] != pair[1]]
    if bad or [g['gid'] for g in p['gids']] != ['fe80::2:c903:a1:c202']:
        return 'differ: %s; GIDs %s' % (bad, p['gids'])
    return None


def partitions(net):
    """A key that the manager gives to all ports reaches the tables, and an IPoIB port that waits for it."""
    net.say('ipoib add %s pkey 0x8005' % PORTS[0])
    net.wait(lambda: 'port 4' in net.text(), 120, 'no new port')
    net.say('stop')
    net.say('port start 4')
    bad = net.until(lambda: net.ipoib()[-1] == 'no-pkey', net.ipoib)
    if bad:
        return bad
    net.say('ib sm partitions %s 0x8005 0x0006' % MASTER)
    bad = net.until(lambda: net.ipoib()[-1] == 'up', net.ipoib)
    bad = bad or tool(net, ['smpquery', 'pkeys', lid_of(net, GUIDS[1] + 2), '2'], [r'0: 0xffff 0x8005 0x0006 0x0000'])

    def keys():
        return [(k['index'], k['pkey'], k['member']) for k in net.ask('show ib ' + PORTS[3])['ports'][0]['pkeys']]
    bad = bad or net.until(lambda: keys() == [(0, '0xffff', 'full'), (1, '0x8005', 'full'), (2, '0x0006', 'limited')], keys)
    net.say('ib sm partitions %s none' % MASTER)
    bad = bad or net.until(lambda: net.ipoib()[-1] == 'no-pkey', net.ipoib)
    net.say('ipoib rem 4')
    net.say('start')
    return bad


def cable(net):
    """A switch's port is disabled and enabled again: the manager sees both by its own, and the LID stays."""
    lid = lid_of(net, GUIDS[1] + 1)
    switch, out = switch_lid(net), ''

    def found():
        nonlocal out
        out = net.run('ibnetdiscover')[1]
        return re.search(r'\[(\d)\]\t"H-0002c90300a1c200"\[1\]', out)
    bad = net.until(found, lambda: out)
    if bad:
        return bad
    port = re.search(r'\[(\d)\]\t"H-0002c90300a1c200"\[1\]', out).group(1)
    bad = tool(net, ['ibportstate', switch, port, 'disable'], []) or net.until(
        lambda: net.managers()[MASTER]['active_ports'] == 6, net.managers)
    bad = bad or tool(net, ['ibportstate', switch, port, 'enable'], [])
    bad = bad or net.until(lambda: net.managers()[MASTER]['active_ports'] == 8, net.managers) or net.up()
    return bad or net.until(lambda: lid_of(net, GUIDS[1] + 1) == lid, lambda: 'another LID than ' + lid)


def opensm(net, name, guid, priority):
    conf = os.path.join(net.dir, name + '.conf')
    with open(conf, 'w') as f:
        f.write(OPENSM)
    return net.start('opensm', '-F', conf, '-g', '0x%x' % guid, '-p', str(priority), '-f', os.path.join(net.dir, name + '.log'), '-s', '2')


def role_is(net, role):
    return net.until(lambda: net.managers()[MASTER]['role'] == role, net.managers)


def stronger_opensm(net):
    """OpenSM with a higher priority is handed over to; when it is killed ours is master again, and LIDs stay."""
    lids = [lid_of(net, g + p) for g in GUIDS for p in (1, 2)]
    sm = opensm(net, 'strong', GUIDS[1] + 1, 14)
    bad = role_is(net, 'standby') or net.until(lambda: 'sm guid 0x2c90300a1c201' in net.master(), net.master)
    bad = bad or net.until(lambda: net.managers()[MASTER]['master'] == '0x0002c90300a1c201', net.managers)
    sm.kill()
    sm.wait()
    bad = bad or role_is(net, 'master') or net.until(lambda: 'sm guid 0x2c90300a1b201' in net.master(), net.master) or net.up()
    return bad or net.until(lambda: [lid_of(net, g + p) for g in GUIDS for p in (1, 2)] == lids, lambda: 'other LIDs than %s' % lids)


def weaker_opensm(net):
    """OpenSM with a lower priority stands by for ours, is listed, and takes over when ours ends."""
    sm = opensm(net, 'weak', GUIDS[1] + 1, 1)
    lid = lid_of(net, GUIDS[1] + 1)
    bad = net.until(lambda: 'SMINFO_STANDBY' in net.run('sminfo', lid)[1], lambda: net.run('sminfo', lid)[1])
    bad = bad or net.until(lambda: re.search(r'GUID\.+0x0002c90300a1c201.*SMState\.+2', net.run('saquery', 'SMIR')[1], re.S),
                           lambda: net.run('saquery', 'SMIR')[1])
    net.say('ib sm off ' + MASTER)
    bad = bad or net.until(lambda: 'sm guid 0x2c90300a1c201' in net.master(), net.master)
    net.end(sm)
    return bad


def two_opensms(net):
    """One is master, the other stands by, and takes over when the first is killed."""
    first, second = opensm(net, 'first', GUIDS[0] + 1, 5), None
    bad = net.until(lambda: 'sm guid 0x2c90300a1b201' in net.master(), net.master) or net.up()
    if bad is None:
        second = opensm(net, 'second', GUIDS[1] + 1, 1)
        lid = lid_of(net, GUIDS[1] + 1)
        bad = net.until(lambda: 'SMINFO_STANDBY' in net.run('sminfo', lid)[1], lambda: net.run('sminfo', lid)[1])
    first.kill()
    first.wait()
    bad = bad or net.until(lambda: 'sm guid 0x2c90300a1c201' in net.master(), net.master)
    if second is not None:
        net.end(second)
    return bad


def one_path(net):
    """The path record that 'ib query-path' shows is the one that saquery prints."""
    def same():
        p = net.ask('ib query-path %s fe80::2:c903:a1:c202' % PORTS[1])
        for record in net.run('saquery', '-p')[1].split('PathRecord dump:'):
            f = dict(re.findall(r'^\s*(\w+?)\.\.+(\S+)', record, re.M))
            if (f.get('sgid'), f.get('dgid')) == ('fe80::2:c903:a1:b202', 'fe80::2:c903:a1:c202'):
                break
        else:
            return 'saquery has no such path'
        theirs = [int(f['dlid']), int(f['slid']), 128 << (int(f['mtu'], 0) & 0x3f), int(f['rate'], 0) & 0x3f, int(f['pkt_life'], 0) & 0x3f,
                  f['pkey'].lower()]
        ours = [p['dlid'], p['slid'], p['mtu'], p['rate_code'], p['lifetime_code'], p['pkey']]
        return None if ours == theirs else 'ours %s, saquery %s' % (ours, theirs)
    net.say('ib query-path %s fe80::1234' % PORTS[1])
    net.wait(lambda: 'no path to fe80::1234' in net.text(), 60, 'a path to nowhere')
    return eventually(net, same)


def times(net):
    """How long and how often the administrator is asked is what was set, for who asks later, too (tests/unit/mad/test_sa.c: the effect)."""
    def shown():
        port = [p for p in net.ask('show ib mad')['ports'] if p['device'] == PORTS[1]][0]
        return port['sa_timeout_ms'], port['sa_retries']
    was = shown()
    net.say('ib sa %s timeout 250 retries 3' % PORTS[1])
    net.say('ib sa %s timeout 300' % PORTS[1])
    now = shown()
    return None if (was, now) == ((1000, 10), (300, 3)) else 'times %s, then %s' % (was, now)


def refusals(net):
    net.say('ib sm on nowhere')
    for words in ('sa nowhere timeout 250', 'query-path %s x' % PORTS[1], 'sa %s timeout 249' % PORTS[1], 'sa %s timeout 250 retries 65' % PORTS[1]):
        net.say('ib ' + words)
    net.say('show ib nowhere')
    net.say('ib sm off ' + MASTER)
    net.say('ib sm on %s priority 16' % MASTER)
    net.say('ib sm partitions %s 0x8005' % MASTER)
    net.say('ib sm on ' + MASTER)
    net.say('ib sm on ' + MASTER)
    for keys in ('0x8000', 'x', '0x8005 5', '1 0x10000'):
        net.say('ib sm partitions %s %s' % (MASTER, keys))
    net.ask('ib sm show')
    for want in ("'x' is no GID", '250..60000', '1..64', 'no InfiniBand port nowhere;', 'no InfiniBand port nowhere:', 'has no subnet manager of this program', '0..15', 'has a subnet manager already',
                 "P_Key '0x8000': wanted", "P_Key 'x': wanted", 'one is named twice', "P_Key '0x10000': wanted"):
        if want not in net.text():
            return 'not said: %s in %s' % (want, net.text()[-800:])
    return None


if __name__ == '__main__':
    run_cases('sm', ('opensm', 'ibstat'), lambda: Net(VDEVS + IPOIB), lambda net: net.close_with(SPACES), (
        ('subnet-up', subnet), *((name, tool, cmd, patterns) for name, cmd, patterns in TOOLS),
        *((f.__name__.replace('_', '-'), f) for f in (routes, report, one_path, times, groups, ping, partitions, cable, stronger_opensm, weaker_opensm,
                                                      two_opensms, refusals))), REFUSED)
