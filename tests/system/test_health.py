#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The watch over ports in whole programs: what breaks is found and healed while the other port loses nothing; dumps under traffic;
what triplane-inspect makes of them; unmodified testpmd; disks that are full, folders that cannot be written."""
import json
import os
import re
import subprocess
import tempfile

import tpmd

BUILD = os.environ.get('TP_BUILD', 'build')
APP = os.path.join(BUILD, 'apps', 'triplane')
INSPECT = os.path.join(BUILD, 'apps', 'inspect', 'triplane-inspect')
# Three looks: a card in software may stand still for one, where others have the CPUs.
FAST = 'health-time=1,health-checks=3'
cases = tpmd.Cases()
tmp = tempfile.TemporaryDirectory(prefix='tphealth')


def triplane(commands, args=FAST, fails=False):
    """The documents that it printed; what it said."""
    eal = tpmd.eal('th%d' % os.getpid(), plugin=False) + ['--log-level=*:notice', '--vdev=net_mlx4_model0,wire0=loopback,wire1=loopback,' + args]
    p = subprocess.run([APP, *eal, '--', '--json', '-e', tpmd.IDLE, '-e', commands], capture_output=True, text=True, timeout=300,
                       stdin=subprocess.DEVNULL, check=False)
    if (p.returncode != 0) != fails:
        raise RuntimeError('exit status %d: %s %s' % (p.returncode, p.stdout[-300:], p.stderr[-1500:]))
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')], p.stderr


def health(docs, port, which=-1):
    return [p for d in docs if 'ports' in d for p in d['ports'] if p['port'] == port and 'sensors' in p][which]


def sensor(h, name):
    return [s for s in h['sensors'] if s['name'] == name][0]


def inspect(folder):
    p = subprocess.run([INSPECT, '--json', folder], capture_output=True, text=True, check=False, timeout=60)
    if p.returncode != 0:
        raise RuntimeError(p.stderr)
    return json.loads(p.stdout)


class Watched(tpmd.Triplane):
    """One whose ports are looked at each second, and that says what it notices."""

    def __init__(self, name, *lines, args=''):
        super().__init__(['net_mlx4_model0,wire0=loopback,wire1=loopback,' + FAST + args], name=name, log='notice')
        for line in (tpmd.IDLE, *lines):
            self.tell(line)

    def health(self, port):
        return self.ask('show health %d' % port)['ports'][0]

    def until(self, port, fits):
        """What there is when it fits, or at last."""
        tpmd.wait_until(lambda: fits(self.health(port)), 120)
        return self.health(port)


def stuck():
    """Port 0's queue stands still under traffic: dumped, restarted, and sends again; port 1 goes on without a loss."""
    where = os.path.join(tmp.name, 'stuck')
    with Watched('stuck', 'set fwd flowgen', 'start', 'wait counter rx_good_packets 1000 all 60', 'model break 0 queue', 'wait counter health_tx_stuck 1 0 60',
                 'wait counter health_restarts 1 0 60', 'clear port stats 0', 'wait counter rx_good_packets 1000 0 60',
                 args=',rate0=100,rate1=100,health-dump=0x8,dump-path=' + where) as t:
        zero = t.until(0, lambda h: h['state'] == 'well' and h['dumps'] == 1)
        t.tell('stop')
        one, x = t.health(1), t.xstats(1)
        said = t.over()
    if sensor(zero, 'tx-stuck')['alarms'] != 1 or zero['restarts'] != 1 or zero['dumps'] != 1 or zero['state'] != 'well':
        return 'port 0: %s' % zero
    if one['restarts'] or one['alarms'] != '0x00000' or any(s['alarms'] for s in one['sensors']):
        return 'port 1: %s' % one
    lost = {k: x[k] for k in ('rx_missed_errors', 'rx_port_discards', 'rx_stop_drops')}
    if any(lost.values()):
        return 'port 1 lost %s' % lost
    for word in ('[health-alarm] port 0 Tx queue 0: tx-stuck', '[dump-written] port 0: ' + where, '[port-restarted] port 0'):
        if word not in said:
            return 'not said: %r in %s' % (word, said[-800:])
    names = os.listdir(where)
    if len(names) != 1 or not re.fullmatch(r'dmn-net_mlx4_model0_p0-eth-sensor-tx_stuck--\d{8}T\d{6}\.\d{6}Z', names[0]):
        return 'folders: %s' % names
    found = [(f['kind'], f['object']) for f in inspect(os.path.join(where, names[0]))['findings']]
    with open(os.path.join(where, names[0], 'settings.conf'), encoding='utf-8') as f:
        if 'mode=flowgen' not in f.read().replace(' ', ''):
            return 'no settings of the program in the dump of a sensor'
    if ('waits-for-card', 'tx queue 0, priority 0') not in found:
        return 'the dump says %s' % found
    return None


def sleeper():
    """Ports that nobody polls: found, not restarted, and found well when they are polled."""
    with Watched('sleep', 'set fwd txonly', 'start', 'wait counter rx_port_packets 1000 0 60', 'stop') as t:
        first = t.until(0, lambda h: sensor(h, 'rx-completion')['alarm'] and h['restarts_refused'] != 0)
        t.tell('set fwd rxonly; start')
        now = t.until(0, lambda h: h['state'] == 'well')
        tpmd.wait_until(lambda: '[health-cleared] port 0: rx-completion' in t.said())
        t.tell('stop')
        said = t.over()
    if not sensor(first, 'rx-completion')['alarm'] or first['restarts'] != 0 or first['restarts_refused'] != 1:
        return 'while it sleeps: %s' % first
    if now['state'] != 'well' or sensor(now, 'rx-completion')['alarms'] != 1 or '[health-cleared] port 0: rx-completion' not in said:
        return 'awake: %s' % now
    return None


def interrupt():
    """An interrupt that the card does not raise: the link is known to be down all the same, and why it was late is said."""
    with tpmd.Triplane(['net_mlx4_model0,wire0=loopback,wire1=loopback,' + FAST], name='int') as t:
        for line in (tpmd.IDLE, 'wait link up all 30', 'sleep 500', 'model break 0 interrupt', 'model cable 0 out'):
            t.tell(line)

        def now():
            """Asks the card nothing: the answer to a command would tell of the event."""
            return t.ask('show health 0')['ports'][0]

        tpmd.wait_until(lambda: sensor(now(), 'event')['alarms'] == 1, 60)
        h = now()
        link = t.ask('show link 0')['ports'][0]['reason']
    if h['lost_events'] != 1 or sensor(h, 'event')['alarms'] != 1 or h['restarts']:
        return str(h)
    return None if link == 'no-module' and 'no interrupt told of it' in h['last'] else '%s %s' % (link, h['last'])


def under_traffic():
    """Dumps while both ports forward: not a packet is lost. What is in them is what the program shows."""
    where = os.path.join(tmp.name, 'traffic')
    docs, _ = triplane('set fwd flowgen; start; wait counter rx_good_packets 1000 all 60; %s show port xstats all; dump 0 %s; stop; show port xstats all; show device 0'
                       % (('dump 0 %s; ' % where) * 5, where), args=FAST + ',rate0=100,rate1=100')
    lost = re.findall(r'"(rx_missed_errors|rx_port_discards|rx_mbuf_allocation_errors|tx_stop_drops)": ([1-9]\d*)', json.dumps(docs))
    if lost:
        return 'lost: %s' % lost
    paths = [d['dump'] for d in docs if 'dump' in d]
    if len(paths) != 6 or sorted(os.listdir(where)) != [os.path.basename(p) for p in paths]:
        return 'dumps: %s, there are %s' % (paths, os.listdir(where))
    with open(os.path.join(paths[-1], 'dump.json'), encoding='utf-8') as f:
        dump = json.load(f)
    device = [p for d in docs if 'ports' in d for p in d['ports'] if 'board_id' in p][0]
    mine = {'firmware': dump['firmware'], 'board_id': dump['board'], 'qps': dump['objects']['qps'], 'mac': dump['steering']['addresses'][0]}
    if any(str(device[k]).lower() != str(v).lower() for k, v in mine.items()):
        return 'the dump says %s, the device %s' % (mine, device)
    before, after = [p for d in docs if 'ports' in d for p in d['ports'] if p['port'] == 0 and 'rx_port_packets' in p]
    for name in ('rx_port_packets', 'tx_port_packets', 'tx_size_64_packets'):
        if name in before and not 0 < before[name] <= dump['counters'].get(name, before[name]) <= after[name]:
            return '%s: %d, dumped %s, %d' % (name, before[name], dump['counters'].get(name), after[name])
    if not any(c.get('out_mailbox') for c in dump['commands']):
        return 'no command has what the card answered'
    if dump['differences'] != 0 or len(dump['commands']) != 64 or not dump['log'] or not dump['event_queues'] or not dump['registers']:
        return 'differences %s, %d commands' % (dump['differences'], len(dump['commands']))
    with open(os.path.join(paths[-1], 'settings.conf'), encoding='utf-8') as f:
        if 'mode=flowgen' not in f.read().replace(' ', ''):
            return 'no settings of the program'
    return torn(paths[-1]) or explained(paths[-1]) or kinds(dump)


def torn(path):
    """Files that end too early, or have other things in the place of lists, are refused or explained; nothing breaks."""
    with open(os.path.join(path, 'dump.json'), encoding='utf-8') as f:
        whole = f.read()
    other = os.path.join(tmp.name, 'torn.json')
    for cut in [whole[:len(whole) * n // 20] for n in range(20)]:
        with open(other, 'w', encoding='utf-8') as f:
            f.write(cut)
        p = subprocess.run([INSPECT, other], capture_output=True, text=True, check=False, timeout=60)
        if p.returncode != 1 or not re.search(r'line \d+: ', p.stderr):
            return '%d octets: status %d: %s' % (len(cut), p.returncode, p.stderr)
    dump = json.loads(whole)
    for key in dump:
        for value in (7, [[1], 2], {'a': [{}]}):
            with open(other, 'w', encoding='utf-8') as f:
                json.dump({**dump, key: value}, f)
            p = subprocess.run([INSPECT, other], capture_output=True, text=True, check=False, timeout=60)
            if p.returncode not in (0, 1):
                return '%s as %s: status %d' % (key, value, p.returncode)
    return None


def rules():
    """Rules and groups one by one: what they match, where they lead, what they are on the card, and how many frames they took."""
    where = os.path.join(tmp.name, 'rules')
    docs, _ = triplane(
        'port stop all; port config all rxq 4; port config all txq 4; port start all; flow create 0 ingress pattern eth type is 0x88f7 / end actions mark id 77 / queue index 1 / end; '
        'flow create 0 priority 3 ingress pattern eth / ipv4 dst is 192.0.2.7 / end actions drop / end; group add 0 guest mac=02:00:00:00:00:22 vlan=7 queues=3; '
        'dump 0 %s; show model 0' % where)
    with open(os.path.join([d['dump'] for d in docs if 'dump' in d][0], 'dump.json'), encoding='utf-8') as f:
        dump = json.load(f)
    one, two = dump['flow_rules']
    if '88f7' not in one['match'] or (one['queue_of_ring'], one['mark'], one['drops']) != ([1], 77, False) or 'c0000207' not in two['match'] or not two['drops']:
        return 'rules: %s' % dump['flow_rules']
    # What the card was told at last, in mailboxes: the group's address, alone and with the VLAN and its mask.
    boxes = [c['in_mailbox'] for c in dump['commands'] if c['command'] == 'QP_FLOW_STEERING_ATTACH' and 'in_mailbox' in c]
    if not all(any('020000000022' in b and b.endswith(vlan) for b in boxes) for vlan in ('0fff0007', '00000000')):
        return 'mailboxes: %s' % boxes
    group = dump['groups'][0]
    if group['name'] != 'guest' or not group['on_card'] or not {'mac=02:00:00:00:00:22', 'vlan=7', 'queues=3'} <= {w.replace(' ', '') for w in group['declaration']}:
        return 'groups: %s' % dump['groups']
    ids = [r['card_rule'] for r in dump['flow_rules']] + [group[k] for k in ('unicast_rule', 'broadcast_rule', 'multicast_rule') if k in group]
    return None if len(set(ids)) == len(ids) >= 3 and len(dump['groups']) == 1 else 'ids on the card: %s' % ids


def explained(path):
    text = subprocess.run([INSPECT, path], capture_output=True, text=True, check=True, timeout=60).stdout
    return None if 'port 0 (net_mlx4_model0' in text and 'differs' not in text else text


def kinds(dump):
    """Each kind of finding by its cause, put into a dump: it is found, of the right object, and nothing else is that was not there."""
    pair = lambda d: d['tx_queues'][0]['pairs'][0]
    ring = lambda d: d['rx_queues'][0]['sets'][0]
    other = os.path.join(tmp.name, 'kinds.json')
    causes = {
        'card-given-up': (lambda d: d, {'card_given_up': True}, 'card'), 'fatal-error': (lambda d: d['registers'], {'error_buffer_00': '0x1'}, 'card'),
        'command-timeout': (lambda d: d['objects'], {'command_timeouts': 2}, 'card'), 'lost-event': (lambda d: d['objects'], {'lost_events': 3}, 'card'),
        'port-stopped': (lambda d: d, {'started': False}, 'port'), 'link-down': (lambda d: d, {'link_up': False}, 'port'),
        'queue-failed': (pair, {'failed': True}, 'tx queue 0, priority 0'), 'waits-for-card': (pair, {'card_has_to_send': 5}, 'tx queue 0, priority 0'),
        'completion-missing': (pair, {'looks_without_completion': 3}, 'tx queue 0, priority 0'),
        'waits-for-sender': (lambda d: pair(d)['cq'], {'waiting': 2}, 'tx queue 0, priority 0'),
        'cq-failed': (lambda d: pair(d)['cq'], {'card_status': 9}, 'tx queue 0, priority 0'),
        'waits-for-poller': (lambda d: ring(d)['cq'], {'waiting': 4}, 'rx queue 0'), 'no-buffers': (lambda d: ring(d)['rings'][0], {'buffers': 0}, 'rx queue 0'),
        'waits-for-interrupt': (lambda d: d['event_queues'][0], {'entry_waits': True}, 'event queue %d' % dump['event_queues'][0]['eq']),
        'eq-failed': (lambda d: d['event_queues'][1], {'card_status': 9}, 'event queue %d' % dump['event_queues'][1]['eq']),
        'differs': (lambda d: pair(d)['qp']['state'], {'driver': 3, 'card': 6, 'differs': True}, 'tx_queues 0 pairs 0 qp state'),
        'command-failed': (lambda d: d['commands'][7], {'rc': -5}, 'command %d, %s' % (dump['commands'][7]['number'], dump['commands'][7]['command']))}
    listed = re.findall(r'^ *([a-z-]+) ', subprocess.run([INSPECT, '--kinds'], capture_output=True, text=True, check=True, timeout=60).stdout, re.M)
    if set(listed) != set(causes):
        return 'kinds: %s' % sorted(set(listed) ^ set(causes))

    def found(d):
        with open(other, 'w', encoding='utf-8') as f:
            json.dump(d, f)
        return {(f['kind'], f['object']) for f in inspect(other)['findings']}

    # What traffic left of its own is taken away.
    pair(dump).update(card_has_to_send=0, completions_asked=1)
    pair(dump)['cq']['waiting'] = ring(dump)['cq']['waiting'] = 0
    before = found(dump)
    for kind, (place, change, what) in causes.items():
        d = json.loads(json.dumps(dump))
        place(d).update(change)
        if found(d) - before != {(kind, what)}:
            return '%s: %s' % (kind, found(d) - before)
    return None


def refusals():
    """Each mistake is a line that names the value, and an exit status."""
    full = os.path.join(tmp.name, 'full')
    os.mkdir(full)
    mounted = os.geteuid() == 0 and subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=32k', 'none', full], check=False, capture_output=True).returncode == 0
    tries = [('dump 0 /proc/nowhere', '/proc/nowhere: No such file'), ('set setting 0 health-restart 0x1', '0xf0058'),
             ('port stop 0; port restart 0', 'not started'), ('dump 0 %s' % APP, 'Not a directory')]
    if mounted:
        tries.append(('dump 0 ' + full, 'No space left on device'))
    try:
        for command, word in tries:
            _, said = triplane(command, fails=True)
            if word not in said:
                return '%s: %s' % (command, said[-400:])
        if mounted and os.listdir(full):
            return 'a part of a dump is left: %s' % os.listdir(full)
    finally:
        if mounted:
            subprocess.run(['umount', full], check=True)
    for arg, word in (('health-dump=1', '0xf0058'), ('break1=fan:1', 'interrupt:NTH')):
        _, said = triplane('quit', args=arg, fails=True)
        if word not in said:
            return '%s: %s' % (arg, said[-400:])
    for arguments, status, word in (([], 2, 'no folder'), (['a', 'b'], 2, "'b'"), ([tmp.name + '/none'], 1, 'No such file'), ([APP], 1, 'line 1'),
                                    (['--help'], 0, '')):
        p = subprocess.run([INSPECT, *arguments], capture_output=True, text=True, check=False, timeout=60)
        if p.returncode != status or word not in p.stderr:
            return 'triplane-inspect %s: %d %s' % (arguments, p.returncode, p.stderr)
    return None


def testpmd():
    """Unmodified: the queue breaks by a device argument, testpmd hears of the restart, and sends again."""
    t = tpmd.Testpmd(['net_mlx4_model0,wire0=cross,%s,rate0=50,break0=queue:20' % FAST], ['--forward-mode=txonly'], name='health', on='0@0,1@1')
    try:
        t.cmd('start')
        for word in ('error recovering', 'error recovery successful'):
            t.follow(word, 60)
        t.cmd('stop')
        t.cmd('clear port stats all')
        t.cmd('start')
        s = t.until(0, 'tx-packets', 1000)
        x = t.xstats(0)
        t.cmd('stop')
        return None if s['tx-packets'] >= 1000 else 'after the restart: %s %s' % (s, x)
    finally:
        t.kill()


def storm():
    """Control operations of all kinds under traffic, looked at each second: no alarm."""
    eal = [a for a in tpmd.eal('thl%d' % os.getpid(), plugin=False) if not a.startswith('--log-level')]
    p = subprocess.run([os.path.join(BUILD, 'tests', 'system', 'longrun'), *eal, '--log-level=pmd.net.mlx4_vfio:notice',
                        '--vdev=net_mlx4_model0,wire0=cross,health-time=1,health-checks=5', '--', 'seed=11', 'ops=60', 'check=30'],
                       capture_output=True, text=True, timeout=300, check=False)
    if p.returncode != 0:
        return 'exit status %d: %s' % (p.returncode, (p.stdout + p.stderr)[-800:])
    said = re.findall(r'.*\[health-alarm\].*', p.stdout + p.stderr)
    return 'alarms: %s' % said[:3] if said else None


cases.run('health-stuck-queue', stuck)
cases.run('health-sleeping-consumer', sleeper)
cases.run('health-lost-interrupt', interrupt)
cases.run('health-dump-under-traffic', under_traffic)
cases.run('health-dump-rules', rules)
cases.run('health-refusals', refusals)
cases.run('health-testpmd', testpmd)
cases.run('health-storm', storm)
cases.exit()
