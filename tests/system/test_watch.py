#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is shown to those who look after ports: firmware commands against the trace of a card in another process, resources against the
card's own counts, reasons of links against what was done to them, connections against rping and tshark, bursts against counters."""
import collections
import os
import re
import signal
import socket
import subprocess

import tpmd
from share_owner import DEV, Owner

BUILD = os.environ['TP_BUILD']
HCA = os.path.join(BUILD, 'apps/triplane-hca/triplane-hca')
cases = tpmd.Cases()
tmp = tpmd.scratch()


def in_tmp(name):
    return os.path.join(tmp.name, name)


class Talking(tpmd.Testpmd):
    """testpmd with its telemetry, which answers tel()."""

    def __init__(self, vdevs, name):
        self.prefix = 'tp%d%s' % (os.getpid(), name)
        args = tpmd.eal(self.prefix)
        args.remove('--no-telemetry')
        super().__init__(vdevs, eal_args=args)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(60)
        self.sock.connect(os.path.join(tpmd.RUN, self.prefix, 'dpdk_telemetry.v2'))
        self.sock.recv(65536)

    def tel(self, what):
        self.sock.send(what.encode())
        return tpmd.json.loads(self.sock.recv(65536))[what.split(',')[0]]


def commands_traced():
    """The other process writes a line for each command that its card ran: as many of each name as the driver counted."""
    path, trace = in_tmp('hca.sock'), in_tmp('trace.txt')
    card = subprocess.Popen([HCA, '--socket', path, '--trace', trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not tpmd.wait_until(lambda: os.path.exists(path)):
            return 'triplane-hca makes no socket'
        with tpmd.Triplane(['net_mlx4_user0,socket=%s,health-time=0' % path], telemetry=True, name='c') as t:
            t.ask('show port stats 0')

            def ran():
                with open(trace, encoding='utf-8') as f:
                    return dict(collections.Counter(re.findall(r'^dump command (\w+)\(.*INPUT', f.read(), re.M)))

            # An event of a link asks the card between two looks: what did not change around a look is the same moment.
            for _ in range(20):
                before, shown, told = ran(), t.ask('show command-stats 0')['ports'][0], t.tel('/mlx4/commands,0')
                if before == ran():
                    break
            counts = {name: c['count'] for name, c in shown['commands'].items()}
            if ran() != counts:
                return 'ran %s, shown %s' % (ran(), counts)
            if {name: c['count'] for name, c in told.items()} != counts or sum(counts.values()) != shown['count']:
                return 'telemetry has %s' % told
            t.tell('clear command-stats 0')
            if t.ask('show command-stats 0')['ports'][0]['count'] != 0:
                return 'not cleared'
        return None
    finally:
        card.kill()
        card.wait()


def resources():
    """testpmd, unmodified: what the driver says it has is what the card has."""
    with Talking(['net_mlx4_model0'], 'r') as t:
        res, link = t.tel('/mlx4/resources,0'), t.tel('/mlx4/link,0')
        device = t.tel('/mlx4/info,0')
        t.cmd('mac_addr add 0 02:00:00:00:00:09')
        after = t.tel('/mlx4/resources,0')['addresses']
        rules = t.tel('/mlx4/resources,0')['steering_rules']['by_this_port']
        t.cmd('flow create 0 ingress pattern eth / ipv4 / end actions queue index 0 / end')
        rules = t.tel('/mlx4/resources,0')['steering_rules']['by_this_port'] - rules
        t.cmd('set allmulti 0 on')
        let_in = t.tel('/mlx4/filter,0')
        bad = [t.tel(p) for p in ('/mlx4/link,77', '/mlx4/link', '/mlx4/resources,x', '/mlx4/commands,')]
    pairs = {'queue_pairs': 'qps', 'completion_queues': 'cqs', 'memory_keys': 'mrs', 'event_queues': 'eqs', 'translation_entries': 'mtts'}
    wrong = [k for k, v in pairs.items() if res[k]['used'] != device[v] or not res[k]['used'] <= res[k]['limit']]
    if wrong or res['receive_queues']['used'] != 1 or after['used'] != res['addresses']['used'] + 1:
        return '%s: %s, device %s' % (wrong, res, device)
    if rules != 1:
        return 'a flow rule is %d rules' % rules
    if not let_in['all_multicast'] or not let_in['promiscuous'] or '02:00:00:00:00:09' not in let_in['unicast']:
        return 'lets in: %s' % let_in
    return None if link['reason'] == 'up' and link['module'] == 'QSFP+' and bad == [None] * 4 else '%s %s' % (link, bad)


def of_the_card():
    """The model counts what it has by itself; refusals name the value."""
    with tpmd.Triplane(['net_mlx4_model0', 'net_null0'], name='m') as t:
        res, model = t.ask('show resources 0')['ports'][0]['resources'], t.ask('show model 0')['ports'][0]
        if len(t.ask('show resources')['ports']) != 2:
            return 'other ports are not left out'
        said = [t.said() for _ in (t.tell('show link 2'), t.ask('show resources 2'))]
        if 'port 2: show link: not a port of the mlx4 driver' not in said[-1]:
            return 'said: %s' % said
    for name, key in (('completion-queues', 'cqs'), ('event-queues', 'eqs'), ('memory-keys', 'mpts')):
        if res[name]['used'] != model[key]:
            return '%s: %s, the card has %s' % (name, res[name], model[key])
    return None


def of_ports():
    """Programs on both ports that make what they were told: three queue pairs with a shared receive queue, and a queue pair."""
    owner, procs = Owner(), []

    def used():
        shown = [p['resources'] for p in owner.app.ask('show resources')['ports'] if 'queue-pairs' in p['resources']]
        return [{k: v['by_this_port'] for k, v in r.items() if 'by_this_port' in v} for r in shown]

    def more(before, after):
        return [{k: a[k] - b[k] for k in a if k != 'event-queues' and a[k] != b[k]} for a, b in zip(after, before)]

    try:
        before = used()
        cards = owner.app.ask('show model')['ports'][0]['cqs']
        procs.append(owner.start('ibv_srq_pingpong', '-d', DEV[0], '-g', '1', '-q', '3', view='off'))
        procs.append(owner.start('ibv_rc_pingpong', '-d', DEV[1], '-g', '1', '-p', '18516', view='off'))
        if not owner.wait(lambda s: sum(g['qps'] for g in s['programs']) == 4):
            return 'no queue pairs: %s' % owner.show()
        after = used()
        cqs = owner.app.ask('show model')['ports'][0]['cqs'] - cards
    finally:
        for q in procs:
            q.kill()
            q.communicate()
        left = owner.empty()
        end = used()
        owner.over()
    got = more(before, after)
    keys = ('queue-pairs', 'completion-queues', 'shared-receive-queues', 'memory-keys', 'protection-domains')
    want = [(3, 1, 1, 1, 1), (1, 1, 0, 1, 1)]
    if [tuple(g.get(k, 0) for k in keys) for g in got] != want or cqs != 2:
        return 'made %s, the card has %d completion queues more' % (got, cqs)
    return left if left or end == before else 'left: %s' % more(before, end)


def links():
    """Each reason after its cause."""
    with tpmd.Triplane(['net_mlx4_model0'], name='l') as t:

        def reason():
            return t.ask('show link 0')['ports'][0]['reason']

        # Two events that are handled at once show the state behind both: what is counted is waited for, too.
        counted = {'set link 0 down': 1, 'port stop 1': 2}
        steps = [('wait link up all 30', 'up'), ('set link 0 down', 'set-down'), ('set link 0 up; wait link up 0 30', 'up'), ('port stop 1', 'no-signal'),
                 ('model cable 0 out', 'no-module'), ('model cable 0 unsupported; wait link down 0 30', 'bad-module'), ('model cable 0 out', 'no-module'),
                 ('model cable 0 in', 'no-signal'), ('port start 1; wait link up all 30', 'up'), ('port stop 0', 'stopped')]
        for command, want in steps:
            t.tell(command)
            if not tpmd.wait_until(lambda: reason() == want, 30) or \
               not tpmd.wait_until(lambda: t.ask('show link 0')['ports'][0]['downs'] >= counted.get(command, 0), 30):
                return '%s: %s' % (command, t.ask('show link 0'))
        link = t.ask('show link 0')['ports'][0]
        return None if link['downs'] >= 3 and link['bad_modules'] == 1 and link['serial'] else str(link)


def speeds():
    """A peer with a speed that the port's firmware is too old for, and one with a speed that both have."""
    with tpmd.Triplane(['net_mlx4_model0,fw=2.30.8000'], name='s', telemetry=True) as t:
        for speed, want in (('any', ('up', '0.1, 1, 10, 20, 40')), ('56000', ('no-agreement', '56')), ('10000', ('up', '10'))):
            t.tell('model peer 0 ' + speed)
            if not tpmd.wait_until(lambda: t.ask('show link 0')['ports'][0]['reason'] == want[0], 30):
                return 'peer %s: %s' % (speed, t.ask('show link 0'))
            shown, told = t.ask('show link 0')['ports'][0], t.tel('/mlx4/link,0')
            if shown['peer_speeds_gbps'] != want[1] or told['peer_speeds_gbps'] != want[1] or told['reason'] != want[0]:
                return '%s, telemetry %s' % (shown, told)
            if want[0] != 'up' and 'the peer offers 56 GbE' not in shown['why']:
                return shown['why']
        t.tell('model peer 0 25000')
        return None if tpmd.wait_until(lambda: '25000' in t.said() and '10000' in t.said(), 30) else t.said()


def filters():
    """What is let in is what was asked for."""
    with tpmd.Triplane(['net_mlx4_model0'], ['--rxq', '4', '--txq', '4'], name='f') as t:
        for line in ('port config 0 promisc off', 'port config 0 vlan filter on', 'port vlan add 0 5', 'port vlan add 0 4000',
                     'port mcast add 0 01:00:5e:00:00:05', 'port mac add 0 02:00:00:00:00:11',
                     'flow create 0 ingress pattern eth type is 0x88f7 / end actions queue index 0 / end',
                     'group add 0 guest mac=02:00:00:00:00:22 vlan=7 queues=3'):
            t.tell(line)
        f = t.ask('show packet-filter 0')['ports'][0]
        r = t.ask('show resources 0')['ports'][0]['resources']
    # The same, counted, with what there can be: a list of VLANs has the two that were asked for, the group's own passes beside it.
    counts = {'addresses': (2, 127), 'multicast-addresses': (1, 128), 'vlans': (2, 127), 'receive-queues': (4, 256), 'transmit-queues': (4, 256),
              'groups': (1, 127), 'flow-rules': (1, 0)}
    if any((r[k]['used'], r[k].get('limit', 0)) != n for k, n in counts.items()):
        return 'resources: %s' % {k: r.get(k) for k in counts}
    want = {'unicast': 'addresses', 'multicast': 'addresses', 'vlan_filter': True, 'vlans': [5, 7, 4000], 'flow_rules': 1,
            'multicast_addresses': ['01:00:5E:00:00:05']}
    if any(f[k] != v for k, v in want.items()) or '02:00:00:00:00:11' not in f['addresses']:
        return str(f)
    if [(g['name'], g['address'], g['vlan']) for g in f['groups']] != [('guest', '02:00:00:00:00:22', 7)]:
        return str(f['groups'])
    return None if '0x88f7' in f['rules'][0]['text'] else str(f['rules'])


def bursts():
    """Packets in bursts are those that the port counted; once cleared they begin at zero, and a time is that time alone."""
    with tpmd.Triplane(['net_mlx4_model0,wire0=cross'], name='b', telemetry=True) as t:
        for line in (tpmd.IDLE, 'set fwd txonly 0', 'set fwd rxonly 1', 'start', 'wait counter rx_good_packets 20000 1 60'):
            t.tell(line)
        # An lcore may have no CPU for that long.
        for _ in range(100):
            timed = t.ask('show perfstats 1 50')['ports'][0]
            if timed['rx_queues'][0]['polls']:
                break
        t.tell('stop')
        total, x = t.ask('show perfstats all')['ports'], [t.xstats(0), t.xstats(1)]
        told = t.tel('/triplane/perfstats,1')
        t.tell('clear perfstats')
        zero = t.ask('show perfstats 1')['ports'][0]['rx_queues'][0]
        said = t.said()
    tx, rx = total[0]['tx_queues'][0], total[1]['rx_queues'][0]
    if tx['packets'] != x[0]['tx_good_packets'] or rx['packets'] != x[1]['rx_good_packets']:
        return 'sent %s, received %s; the ports: %s' % (tx, rx, [(s['tx_good_packets'], s['rx_good_packets']) for s in x])
    if sum(rx['bursts'].values()) != rx['polls'] or told['rx_queue_0']['packets'] != rx['packets']:
        return '%s, telemetry %s' % (rx, told)
    if abs(rx['packets_per_poll'] - rx['packets'] / rx['polls']) > 0.001 or not 0.05 <= timed['seconds'] < total[1]['seconds']:
        return '%s %s' % (rx['packets_per_poll'], timed['seconds'])
    if not 0 < timed['rx_queues'][0]['polls'] < rx['polls']:
        return 'in the time: %s' % timed
    return None if zero['packets'] == zero['polls'] == 0 and not said else '%s %s' % (zero, said)


def connections():
    """rping's two ends: one listens and is asked, one asks; their queue pairs are those in the packets."""
    owner, frames = Owner(telemetry=True), in_tmp('frames.pcapng')
    procs = []
    try:
        if owner.app.ask('show connections')['connections']:
            return 'connections of nobody'
        procs.append(owner.start('rping', '-s', '-a', '192.0.2.2', '-p', '7471', '-P'))

        def found(state, passive):
            return [c for c in owner.app.ask('show connections')['connections']
                    if c['state'] == state and c['asked_by'] == ('peer' if passive else 'this side') and c['kind'] == 'rdma_cm']

        def doorbells():
            return owner.app.ask('show model 0')['ports'][0]['doorbells']

        if not tpmd.wait_until(lambda: found('listening', False), 60):
            return 'nobody listens: %s' % owner.app.ask('show connections')
        if found('listening', False)[0]['local'] != '192.0.2.2:7471':
            return str(found('listening', False))
        owner.app.tell('roce capture start 0 ' + frames)
        procs.append(owner.start('rping', '-c', '-a', '192.0.2.2', '-p', '7471', '-C', '1000000'))
        if not tpmd.wait_until(lambda: found('established', True) and found('established', False), 60):
            return 'no connection: %s' % owner.app.ask('show connections')
        there, here = found('established', True)[0], found('established', False)[0]
        # The same by telemetry: how many by state, and each by its number.
        sums, told = owner.app.tel('/triplane/rdma/connections'), []
        while True:
            one = owner.app.tel('/triplane/rdma/connection,%d' % len(told))
            if not one:
                break
            told.append((one['kind'], one['state'], one['local'], one['remote'], one['local_qpn'], one['remote_qpn']))
        # Either end sends when it has heard of the other one.
        rung = doorbells()
        if not tpmd.wait_until(lambda: doorbells() >= rung + 40, 60):
            return 'no messages'
        owner.app.ask('roce capture stop 0')
        for p in procs:
            p.send_signal(signal.SIGKILL)
        if not tpmd.wait_until(lambda: not owner.app.ask('show connections')['connections'], 60):
            return 'left: %s' % owner.app.ask('show connections')
    finally:
        for p in procs:
            p.kill()
            p.communicate()
        owner.over()
    for c in (here, there):
        if ('rdma_cm', 'established', c['local'], c['remote'], c['local_qpn'], c['remote_qpn']) not in told:
            return 'telemetry has %s, the command %s' % (told, c)
    if sums != {'connections': len(told), **collections.Counter('state_' + t[1].replace(' ', '_').replace('-', '_') for t in told)}:
        return 'telemetry counts %s of %s' % (sums, told)
    if (here['remote'], there['local']) != ('192.0.2.2:7471', '192.0.2.2:7471') or here['local'] != there['remote']:
        return '%s %s' % (here, there)
    if (here['local_qpn'], here['remote_qpn']) != (there['remote_qpn'], there['local_qpn']):
        return '%s %s' % (here, there)
    out = subprocess.run(['tshark', '-r', frames, '-T', 'fields', '-e', 'ip.src', '-e', 'infiniband.bth.destqp', 'infiniband.bth.opcode <= 22'],
                         capture_output=True, text=True, check=True, timeout=60).stdout
    to = {src: {int(q, 16) for s, q in (line.split('\t') for line in out.splitlines()) if s == src} - {1} for src in ('192.0.2.1', '192.0.2.2')}
    want = {'192.0.2.1': {here['remote_qpn']}, '192.0.2.2': {here['local_qpn']}}
    return None if to == want else 'packets are for %s, shown %s' % (to, want)


def partitions():
    """P_Keys that the subnet manager gave, and the IPoIB port in one of them."""
    with tpmd.Triplane(['net_mlx4_model0,port0=ib,port1=ib,wire0=cross', 'net_mlx4_model1,ports=1,port0=ib,wire0=none'], name='p', telemetry=True) as t:
        def why():
            return {p['device']: p['why'] for p in t.ask('show ib')['ports']}

        # Its key comes with the manager; until then the ports' cable has one and the same reason, and the other card's port another.
        t.tell('ipoib add net_mlx4_model0/1')
        t.tell('ipoib add net_mlx4_model0/2 pkey 0x8005')
        down = {**dict.fromkeys(('net_mlx4_model0/1', 'net_mlx4_model0/2'), 'the cable carries, and no subnet manager has set the port up'),
                'net_mlx4_model1/1': 'no signal: no cable, the peer is off, or it speaks another type'}
        if not tpmd.wait_until(lambda: why() == down, 60):
            return 'why ports are down: %s' % why()
        t.tell('ib sm on net_mlx4_model0/1')
        t.tell('ib sm partitions net_mlx4_model0/1 0x8005')

        def pkeys():
            return {d['device']: {p['pkey']: p for p in d.get('pkeys', [])} for d in t.ask('show pkey')['devices']}

        if not tpmd.wait_until(lambda: '0x8005' in pkeys().get('net_mlx4_model0/2', {}), 60):
            return 'no partition: %s %s' % (pkeys(), t.said())
        # IPoIB ports and management have queues of the card, some of each port.
        used = {d['device']: d['resources'] for d in t.ask('show ib-resources')['devices']}
        for name in ('queue-pairs', 'completion-queues'):
            a, b = (used['net_mlx4_model0/%d' % i][name] for i in (1, 2))
            if a['used'] != b['used'] or not 0 < a['by_this_port'] < a['used'] or not 0 < b['by_this_port'] < a['used']:
                return 'resources: %s of the first port, %s of the second' % (a, b)
        tel = t.tel('/mlx4/ib_resources,net_mlx4_model0/2')['completion_queues']
        if tel != b:
            return 'completion queues: telemetry says %s, the command %s' % (tel, b)
        got = pkeys()['net_mlx4_model0/2']
        ib = {p['device']: p for p in t.ask('show ib')['ports']}['net_mlx4_model0/2']
        if got['0x8005']['member'] != 'full' or len(got['0x8005']['ipoib_ports']) != 1 or got['0xFFFF' if '0xFFFF' in got else '0xffff']['ipoib_ports']:
            return str(got)
        tel = t.tel('/triplane/roce/pkeys,net_mlx4_model0/2')
        if set(tel.values()) != {p.lower() for p in got} or tel[str(got['0x8005']['index'])] != '0x8005':
            return 'telemetry says %s, the command %s' % (tel, got)
        return None if {p['pkey'] for p in ib['pkeys']} == set(got) and ib['why'] == 'the link is up' else str(ib)


cases.run('commands-traced', commands_traced)
cases.run('resources-testpmd', resources)
cases.run('resources-of-the-card', of_the_card)
cases.run('resources-of-ports', of_ports)
cases.run('link-reasons', links)
cases.run('link-speeds', speeds)
cases.run('packet-filter', filters)
cases.run('perfstats', bursts)
cases.run('connections', connections)
cases.run('partitions', partitions)
cases.exit()
