#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings of ports in every state: stopped, never started, configured again by a load or a profile, made for a guest, of other
drivers, members of a bond. What the card has afterwards decides, and what a saved file brings back."""
import json
import os
import re
import subprocess

import tpmd

APP = os.environ.get('TRIPLANE', os.path.join(os.environ.get('TP_BUILD', 'build'), 'apps', 'triplane'))
CARD = 'net_mlx4_model0'
cases = tpmd.Cases()


def run(lines, vdevs=(CARD,), args=(), level='error', memory=512):
    """Commands by a pipe: exit status, answers in JSON, what was said of errors."""
    p = subprocess.run([APP, *tpmd.eal('setp%d' % os.getpid(), '0@0,1@0,2@0', memory, plugin=False), '--log-level=*:' + level,
                        *('--vdev=' + v for v in vdevs), '--', *args], input='\n'.join(lines) + '\n', capture_output=True, text=True,
                       timeout=180)
    return p.returncode, [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')], p.stderr


def objects(answer):
    return {o['object']: o['settings'] for o in answer['objects']}


def changed(answer):
    """What show settings diff has, as values."""
    return {o: {k: v['current'] for k, v in s.items()} for o, s in objects(answer).items()}


def text(path):
    with open(path) as f:
        return f.read()


def write(path, *lines):
    with open(path, 'w') as f:
        f.write('\n'.join(lines) + '\n')


def queues_to_come():
    """A stopped port that is to have more queues, or fewer: there are those that are set up; so it is after a start that failed."""
    with tpmd.scratch() as d:
        saved = os.path.join(d, 'saved')
        rc, got, err = run(['port stop 0', 'set setting 0 rx-queues 4', 'set setting 0 tx-queues 3', 'show settings 0 json', f'save {saved}',
                            'tune forwarding', 'show settings 0 json', 'set setting 0 rx-queues 4', 'port start 0', 'show settings 0 json',
                            'port stop 0', 'set setting 0 rx-queues 1', 'show settings 0 json', f'load {saved}', 'show settings 0 json',
                            'set setting 0 rx-queues 64', 'set setting 0 rx-ring 4096', 'port start 0', 'show settings 0 json'], memory=256)
        there = [sorted(o for o in objects(g) if o.startswith(('rxq', 'txq'))) for g in got]
        one = ['rxq 0 0', 'txq 0 0']
        four = ['rxq 0 0', 'rxq 0 1', 'rxq 0 2', 'rxq 0 3', 'txq 0 0', 'txq 0 1']
        if there != [one, one, four, ['rxq 0 0', 'txq 0 0', 'txq 0 1'], four, []] or '[rxq 0 1]' in text(saved):
            return f'{there} {text(saved)} {err}'
        return None if err.count('error') == 1 and 'memory' in err else err


# The settings of offloads, by what DPDK calls them.
OFFLOADS = ['rx-vlan-strip', 'rx-vlan-filter', 'rx-ipv4-cksum', 'rx-udp-cksum', 'rx-tcp-cksum', 'rx-scatter', 'rx-rss-hash', 'rx-timestamp',
            'rx-keep-crc', 'rx-qinq-strip', 'rx-outer-ipv4-cksum', 'rx-outer-udp-cksum', 'rx-tcp-lro', 'tx-vlan-insert', 'tx-ipv4-cksum',
            'tx-udp-cksum', 'tx-tcp-cksum', 'tx-tcp-tso', 'tx-multi-segs', 'tx-mbuf-fast-free', 'tx-outer-ipv4-cksum', 'tx-vxlan-tso', 'tx-gre-tso']


def offloads():
    """Those that testpmd finds in the port's capabilities can be switched on, and others cannot, by name."""
    with tpmd.Testpmd([CARD]) as t:
        told = {way: {w.lower().replace('_', '-') for w in re.findall(r'\b[A-Z][A-Z0-9_]+\b', t.cmd('show port 0 %s_offload capabilities' % way))}
                for way in ('rx', 'tx')}
    for name in OFFLOADS:
        rc, got, err = run(['port stop 0', 'set setting 0 rx-queues 2', 'set setting 0 tx-queues 2', 'set setting 0 %s on' % name, 'port start 0',
                            'show settings 0 json'])
        on = got != [] and objects(got[0])['port 0'].get(name) == 'on'
        offered = name[3:].replace('vxlan-tso', 'vxlan-tnl-tso').replace('gre-tso', 'gre-tnl-tso') in told[name[:2]]
        if on != offered or (rc != 0) == offered or (not offered and name not in err):
            return '%s: testpmd says %s, exit status %d, %s: %s' % (name, offered, rc, on, err)
    return None


def rate():
    """Whatever the link does: set while the port is stopped, loaded with what restarts it; beyond the speed it is refused with the range."""
    with tpmd.scratch() as d:
        conf = os.path.join(d, 'conf')
        write(conf, '[port 0]', 'rx-ring=1024', '[txq 0 0]', 'rate=1000')
        rc, got, err = run(['port stop 0', 'set setting txq 0 0 rate 3000', 'port start 0', 'show settings diff json', f'load {conf}',
                            'show settings diff json', 'set setting 0 rx-ring 256', 'wait link up all 30',
                            'set setting txq 0 0 rate 40001', 'set setting txq 0 0 rate 40000', 'show settings diff json'])
        rates = [changed(g)['txq 0 0']['rate'] for g in got]
        if rates != ['3000', '1000', '40000']:
            return f'{rates} {err}'
        errors = err.splitlines()
        return None if len(errors) == 2 and "'40001'" in errors[1] and '0..40000' in errors[1] else err


def dropless():
    """A queue's, whatever makes the queue anew: a profile and its end, a load of something else."""
    with tpmd.scratch() as d:
        conf = os.path.join(d, 'conf')
        write(conf, '[port 0]', 'rx-ring=1024')
        rc, got, err = run(['set qos 0 rx-pause=on tx-pause=on', 'set setting rxq 0 0 dropless 50', 'set setting txq 0 0 prio 3', 'tune forwarding',
                            'show settings diff json', 'tune restore', 'show settings diff json', f'load {conf}', 'show settings diff json',
                            'set setting rxq 0 0 dropless 0', 'port stop 0', 'set setting 0 rx-ring 512', 'port start 0',
                            'show settings diff json'])
        kept = [changed(g).get('rxq 0 0') for g in got]
        if rc != 0 or kept != [{'dropless': '50'}] * 3 + [None] or any(changed(g)['txq 0 0'] != {'prio': '3'} for g in got):
            return f'{rc} {[changed(g) for g in got]} {err}'
    return None


def guest():
    """The port of a guest has the defaults: a file saved with it is loaded with it."""
    with tpmd.scratch() as d:
        saved, again, sock = (os.path.join(d, n) for n in ('saved', 'again', 'sock'))
        rc, got, err = run(['group add 0 web mac=02:00:00:00:00:01 queues=2-3', f'group vhost 0 web {sock}', f'save {saved}',
                            'set setting 0 rx-ring 256', f'load {saved}', f'save {again}', 'show settings 2 json'],
                           args=['--rxq', '4', '--txq', '4'])
        errors = [line for line in err.splitlines() if 'error' in line]
        if len(errors) != 1 or 'port stop 0' not in errors[0] or text(saved) != text(again) or '[port 2]\n' not in text(saved):
            return f'{rc} {err} {text(saved)}'
        port = objects(got[0])['port 2']
        return None if port['rfd-reservation'] == '150' and port['rx-queues'] == '2' else str(port)


def never_started():
    """An IPoIB port that was only made: profiles apply, and its ranges are the device's."""
    rc, got, err = run([f'ipoib add {CARD}/1', 'tune forwarding', 'show settings json', 'tune restore', 'show settings diff json',
                        'set setting 0 rx-queues 200'], [CARD + ',port0=ib,ports=1'])
    wide = re.search(r'rx-queues 200, want 1\.\.(\d+)', err)
    if len(got) != 2 or err.count('error') != 1 or wide is None or not 1 <= int(wide.group(1)) < 200:
        return f'{rc} {got} {err}'
    queues = int(objects(got[0])['port 0']['rx-queues'])
    return None if queues == 2 and 'rx-queues' not in changed(got[1]).get('port 0', {}) else str(got)


def commands(t):
    """What the card was told so far; making queues anew takes dozens of commands, an MTU few."""
    return t.ask('show device 1')['ports'][0]['commands']


def mtu_live():
    """A load of nothing but an MTU that fits the buffers leaves ports and forwarding alone; a larger one makes buffers for it."""
    with tpmd.scratch() as d:
        small, large = os.path.join(d, 'small'), os.path.join(d, 'large')
        write(small, '[port 1]', 'mtu=2000', 'mode=rxonly', 'peer=0')
        write(large, '[port 1]', 'mtu=9000', 'mode=rxonly', 'peer=0')
        with tpmd.Triplane([CARD], on='0@0,1@0,2@0') as t:
            for line in ('set fwd flowgen 0', 'set fwd rxonly 1', 'start', 'wait counter rx_good_packets 1000 1 60'):
                t.tell(line)
            restarted = []
            for path, mtu in ((small, 2000), (large, 9000), (small, 2000), (large, 9000)):
                before = commands(t)
                t.tell(f'load {path}')
                restarted.append(commands(t) - before > 20)
                got = t.ask('show port info 1')['ports'][0]['mtu']
                if got != mtu or not t.ask('show fwd')['running']:
                    return f'{path}: MTU {got}'
            when = objects(t.ask('show settings 1 info'))['port 1']['mtu']['when']
        # buffers that were made for 9000 take it live
        if restarted != [False, True, False, False]:
            return str(restarted)
        return None if when.startswith('live') and 'port stopped' in when else when


def roce_off():
    """Settings of RoCE are taken on a running port while RoCE is off, and the table says so; a load stops nothing for them."""
    with tpmd.scratch() as d:
        conf = os.path.join(d, 'conf')
        write(conf, '[port 0]', 'roce-ttl=7')
        rc, got, err = run(['set setting 0 roce-ttl 5', f'load {conf}', 'show settings 0 info json', 'roce 0 on v2 sw', 'set setting 0 roce-ttl 6'],
                           level='notice')
        row = objects(got[0])['port 0']['roce-ttl']
        if row['when'] != 'RoCE off' or row['current'] != '7':
            return str(row)
        return None if rc == 1 and "'roce 0 off' first" in err else f'{rc} {err}'


def no_switch():
    """Ports that receive all multicast frames whatever is said have no such setting, and profiles go on and off there."""
    with tpmd.scratch() as d:
        for device in ('net_null0', 'net_pcap0,tx_pcap=%s/out.pcap,rx_pcap=%s' % (d, os.path.join(d, 'none'))):
            write(os.path.join(d, 'none'))
            with open(os.path.join(d, 'none'), 'wb') as f:  # a capture without packets
                f.write(bytes.fromhex('d4c3b2a1020004000000000000000000ffff000001000000'))
            rc, got, err = run(['tune multicast', 'show settings json', 'tune restore', 'show settings diff json', 'set setting 0 all-multicast on'],
                               [device, CARD])
            if len(got) != 2 or 'all-multicast' in objects(got[0])['port 0'] or objects(got[0])['port 1']['all-multicast'] != 'on':
                return f'{device}: {rc} {got} {err}'
            if changed(got[1]) != {} or err.count('error') != 1 or 'has no all-multicast' not in err:
                return f'{device}: {changed(got[1])} {err}'
    return None


def peers():
    """With the topology the peers change: each is told, once, also when a file names them."""
    with tpmd.scratch() as d:
        conf = os.path.join(d, 'conf')
        write(conf, '[program]', 'topology=paired', '[port 0]', 'peer=1', '[port 1]', 'peer=0')
        rc, got, err = run(['set topology loop', 'set topology loop', f'load {conf}', 'set setting 0 peer 0'], level='notice')
        events = re.findall(r'\[([a-z]+-setting)\] (.*)', err)
        loop = [('program-setting', 'program: topology: paired -> loop'), ('port-setting', 'port 0: peer: 1 -> 0'),
                ('port-setting', 'port 1: peer: 0 -> 1')]
        back = [('program-setting', 'program: topology: loop -> paired'), ('port-setting', 'port 0: peer: 0 -> 1'),
                ('port-setting', 'port 1: peer: 1 -> 0')]
        return None if events == loop + back + [('port-setting', 'port 0: peer: 1 -> 0')] else str(events)


def peers_of_a_file():
    """A file's own peers count, whatever its topology says; a load that fails leaves those that there were."""
    with tpmd.scratch() as d:
        good, bad = os.path.join(d, 'good'), os.path.join(d, 'bad')
        write(good, '[program]', 'topology=loop', '[port 0]', 'peer=1')
        write(bad, '[program]', 'topology=paired', '[port 0]', 'rx-queues=2', 'rx-moderation=manual', '[rxq 1 3]', 'dropless=5')
        show = 'show settings json'
        rc, got, err = run([f'load {good}', show, 'set setting 1 peer 0', f'load {bad}', show])
        now = [(objects(g)['program']['topology'], objects(g)['port 0']['peer'], objects(g)['port 1']['peer']) for g in got]
        if rc != 1 or err.count('error') != 1 or 'rxq 1 3' not in err:
            return f'{rc} {err}'
        return None if now == [('loop', '1', '1'), ('loop', '1', '0')] else str(now)


def tune_names_who():
    """A profile that a group does not let start: the line has the port that does not start, and no other object."""
    rc, got, err = run(['group add 0 web mac=02:00:00:00:00:01 queues=2-3', 'tune single-stream', 'show settings json'],
                       args=['--rxq', '4', '--txq', '4'])
    errors = [line for line in err.splitlines() if line.startswith('error')]
    if objects(got[0])['port 0']['rx-queues'] != '4':
        return str(got)
    return None if rc == 1 and errors[-1].startswith('error: port 0 does not start') and 'port 1' not in errors[-1] else err


def vlan_hint():
    """What the refusal says is what helps, on the running port."""
    rc, got, err = run(['port vlan add 0 5', 'port config 0 vlan filter on', 'port vlan add 0 5'])
    errors = [line for line in err.splitlines() if line.startswith('error')]
    return None if len(errors) == 1 and "'port config 0 vlan filter on' first" in errors[0] else err


def rss_beside_group():
    """So many queues as were asked for are those that groups leave, also when groups come and go."""
    add = 'group add 0 web mac=02:00:00:00:00:01 queues=0-1'
    rc, got, err = run([add, 'set setting 0 rss-queues 2', 'rss show 0 json', 'group remove 0 web', 'rss show 0 json', add, 'rss show 0 json'],
                       args=['--rxq', '4', '--txq', '4'])
    used = [sorted(set(g['ports'][0]['reta'].split(','))) for g in got]
    return None if rc == 0 and used == [['2', '3'], ['0', '1'], ['2', '3']] else f'{used} {err}'


def bond():
    """The ports of a bond go after it, or are refused; so the program ends without a word."""
    cards = ['net_mlx4_model0', 'net_mlx4_model1', 'net_bonding0,mode=2,slave=0,slave=2']
    for lines in (['port stop all', 'port start all'], ['port close all']):
        rc, got, err = run(lines, cards)
        if rc != 0 or err != '':
            return f'{lines}: {rc} {err}'
    rc, got, err = run(['port close 0', 'port close 4', 'port close 0'], cards)
    return None if rc == 1 and err.count('\n') == 1 and 'port 0: belongs to a bond' in err else f'{rc} {err}'


for name, fn in (('queues of a stopped port', queues_to_come), ('offloads', offloads), ('rate of a queue', rate), ('dropless outlives its queue', dropless),
                 ('a guest in a saved file', guest), ('a port that was never started', never_started), ('mtu is live', mtu_live),
                 ('settings of RoCE while it is off', roce_off), ('no switch for all-multicast', no_switch),
                 ('topology tells the peers', peers), ('peers of a file', peers_of_a_file), ('who does not start', tune_names_who), ('VLAN filter that is off', vlan_hint),
                 ('rss-queues beside a group', rss_beside_group), ('a bond goes first', bond)):
    cases.run(name, fn)
cases.exit()
