#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rte_flow by unmodified dpdk-testpmd: frames of scapy go through the card, their queues and marks are what testpmd says it
received, what leaves the other side is compared by scapy; rules that the card cannot do name their item or action."""
import json
import logging
import os
import re
import subprocess
import time

import tpmd

logging.getLogger('scapy.runtime').setLevel(logging.ERROR)
from scapy.all import Dot1Q, Ether, IP, IPv6, Raw, TCP, UDP, rdpcap, wrpcap  # noqa: E402

cases = tpmd.Cases()
QUEUES = 4
ARGS = ['--rxq=%d' % QUEUES, '--txq=%d' % QUEUES, '--nb-cores=1', '--no-flush-rx']
# Frames come in at port 0, leave the card at its first port (1), come back at its second one (2), and end at port 3.
CARD = 2
OTHER = '02:aa:bb:cc:dd:ee'


def vdevs(folder, frames):
    wrpcap(folder + '/in.pcap', frames)
    wrpcap(folder + '/none.pcap', [])
    into = ['rx_pcap=%s/%s.pcap' % (folder, 'in' if q == 0 else 'none') for q in range(QUEUES)]
    ends = ['tx_pcap=%s/%%s%d.pcap' % (folder, q) for q in range(QUEUES)]
    nothing = ['rx_pcap=%s/none.pcap' % folder] * QUEUES
    return ['net_pcap0,' + ','.join(into + [e % 'back' for e in ends]), 'net_mlx4_model0,wire0=cross,wire1=cross',
            'net_pcap1,' + ','.join(nothing + [e % 'out' for e in ends])]


def number(i, frame):
    """The source says which frame it is."""
    frame = frame.copy()
    frame.src = '02:00:00:00:01:%02x' % i
    return Ether(bytes(frame / Raw(b'x' * max(0, 60 - len(frame)))))


def received(text):
    """Frame number -> (queue, mark or None), of what the card's second port received."""
    got, queue = {}, None
    for line in text.splitlines():
        m = re.search(r'port (\d+)/queue (\d+): received', line)
        if m:
            queue = int(m.group(2)) if int(m.group(1)) == CARD else None
        m = re.search(r'src=02:00:00:00:01:([0-9A-F]{2})', line, re.I)
        if m and queue is not None:
            mark = re.search(r'FDIR matched.* ID=0x([0-9a-f]+)', line)
            i = int(m.group(1), 16)
            if i in got:
                raise RuntimeError('frame %d came twice' % i)
            got[i] = (queue, int(mark.group(1), 16) if mark else None)
    return got


def sent_on(folder):
    out = []
    for q in range(QUEUES):
        path = '%s/out%d.pcap' % (folder, q)
        if os.path.getsize(path) > 24:
            out += [bytes(p) for p in rdpcap(path)]
    return sorted(out)


E = Ether(dst=OTHER)
# A rule, its fate, frames that it takes: a queue, a mark or None; 'drop'.
RULES = [
    ('eth / ipv4 / udp dst is 5000', 'queue index 2', (2, None), [E / IP(dst='10.0.0.2') / UDP(dport=5000)]),
    ('eth / ipv4 src spec 10.1.0.0 src mask 255.255.0.0', 'mark id 77 / queue index 1', (1, 77),
     [E / IP(src='10.1.2.3') / UDP(dport=1), E / IP(src='10.1.255.255') / TCP(dport=2)]),
    ('eth / vlan vid is 100 / ipv4 / tcp', 'mark id 4294967295 / queue index 3', (3, 0xffffffff),
     [E / Dot1Q(vlan=100, prio=5) / IP(dst='10.0.0.2') / TCP(dport=9)]),
    ('eth / ipv6 / udp dst is 4791', 'mark id 5 / queue index 0', (0, 5),
     [E / IPv6(dst='fd00::2') / UDP(dport=4791)]),
    ('eth type is 0x88b5', 'count / queue index 3', (3, None), [E / Raw(b'a')] * 5),
    ('eth / ipv4 / tcp src is 7', 'drop', 'drop', [E / IP(dst='10.9.9.9') / TCP(sport=7)]),
    ('eth dst is 02:11:22:33:44:55', 'rss queues 1 3 end / mark id 9', ((1, 3), 9),
     [Ether(dst='02:11:22:33:44:55') / IP(src='10.2.0.1', dst='10.2.0.%d' % i) / UDP(sport=i) for i in range(16)]),
]


def steer():
    frames, want = [], []
    for pattern, _, fate, list_ in RULES:
        for f in list_:
            if pattern.startswith('eth type'):
                f = f.copy()
                f.type = 0x88b5
            frames.append(number(len(frames), f))
            want.append(fate)
    others = [number(len(frames) + i, E / IP(dst='10.0.0.9') / UDP(dport=6000 + i)) for i in range(4)]
    with tpmd.scratch() as folder:
        with tpmd.Testpmd(vdevs(folder, frames + others), ARGS) as t:
            for i, (pattern, fate, _, _) in enumerate(RULES):
                rule = '%d ingress pattern %s / end actions %s / end' % (CARD, pattern, fate)
                out = t.cmd('flow validate ' + rule)
                if 'Flow rule validated' not in out:
                    return out
                out = t.cmd('flow create ' + rule)
                if 'Flow rule #%d created' % i not in out:
                    return out
            t.cmd('set verbose 1')
            t.cmd('set promisc %d on' % CARD)
            t.cmd('start')
            left, end = len(frames) + len(others) - want.count('drop'), time.monotonic() + 60
            while t.stats(CARD)['rx-packets'] != left and time.monotonic() < end:
                time.sleep(0.1)
            t.cmd('stop')
            query = t.cmd('flow query %d 4 count' % CARD)
            listed = t.cmd('flow list %d' % CARD)
            flushed = t.cmd('flow flush %d' % CARD) + t.cmd('flow list %d' % CARD)
        got = received(t.text)
        passed = sent_on(folder)
    for i, fate in enumerate(want):
        if fate == 'drop':
            if i in got:
                return 'frame %d arrived at %s, wanted a drop' % (i, got[i])
            continue
        queues = fate[0] if isinstance(fate[0], tuple) else (fate[0],)
        if i not in got or got[i][0] not in queues or got[i][1] != fate[1]:
            return 'frame %d: %s, wanted queues %s, mark %s' % (i, got.get(i), queues, fate[1])
    if {got[i][0] for i, f in enumerate(want) if f[0] == (1, 3)} != {1, 3}:
        return 'rss used one queue'
    if any(got.get(len(want) + i, (0, 1))[1] is not None for i in range(4)):
        return 'a frame without a rule was lost or marked'
    if passed != sorted([bytes(f) for f, w in zip(frames, want) if w != 'drop'] + [bytes(f) for f in others]):
        return 'what left differs from what came: %d frames' % len(passed)
    if not re.search(r'hits: 5\b', query) or not re.search(r'bytes: %d\b' % (5 * 60), query):
        return 'counter: ' + query
    if len(re.findall(r'^\d+\s', listed, re.M)) != len(RULES) or re.findall(r'^\d+\s', flushed, re.M):
        return 'list: %s, after flush: %s' % (listed, flushed)
    return None


# What the card cannot do, and what the refusal has to name.
REFUSED = [
    ('ingress pattern eth / ipv6 dst is fd00::1 / end actions queue index 0 / end', 'ipv6: dst'),
    ('ingress pattern eth / ipv4 ttl is 3 / end actions queue index 0 / end', 'ipv4: ttl'),
    ('ingress pattern eth / ipv4 proto is 1 / end actions queue index 0 / end', 'ipv4: proto 1'),
    ('ingress pattern eth / ipv4 / udp src last 9 / end actions queue index 0 / end', 'udp'),
    ('ingress pattern eth / vlan / end actions queue index 0 / end', 'vlan'),
    ('ingress pattern eth / ipv4 / sctp / end actions queue index 0 / end', 'item sctp'),
    ('ingress pattern eth / ipv4 / end actions queue index 4 / end', 'queue 4, want 0..3'),
    ('ingress pattern eth / ipv4 / end actions rss queues 1 9 end / end', 'queue 9, want 0..3'),
    ('ingress pattern eth / ipv4 / end actions drop / count / end', 'drop: with count'),
    ('ingress pattern eth / ipv4 / end actions queue index 1 / drop / end', 'drop: a second fate'),
    ('ingress pattern eth / ipv4 / end actions mark id 1 / end', 'no fate'),
    ('ingress pattern eth / ipv4 / end actions passthru / end', 'action passthru'),
    ('egress pattern eth / ipv4 / end actions queue index 1 / end', 'egress'),
    ('group 1 ingress pattern eth / ipv4 / end actions queue index 1 / end', 'group 1, want 0'),
    ('priority 2048 ingress pattern eth / ipv4 / end actions queue index 1 / end', 'priority 2048, want 0..2047'),
]


def refusals():
    with tpmd.Testpmd(['net_mlx4_model0,wire0=cross,wire1=cross'], ARGS) as t:
        for rule, word in REFUSED:
            for verb in ('validate', 'create'):
                out = t.cmd('flow %s 0 %s' % (verb, rule))
                if 'Caught PMD error' not in out or word not in out:
                    return '%s: %s; wanted "%s"' % (rule, out, word)
        if re.findall(r'^\d+\s', t.cmd('flow list 0'), re.M):
            return 'something was created'
        out = t.cmd('flow isolate 0 1') + t.cmd('flow isolate 0 0')
        if 'Ingress traffic on port 0 is now restricted' not in out or 'not restricted anymore' not in out:
            return 'isolate: ' + out
    return None


def triplane(*commands):
    p = subprocess.run(['triplane', *tpmd.eal('tpf%d' % os.getpid()), '--vdev=net_mlx4_model0,wire0=cross,wire1=cross', '--', '--rxq=4',
                        '--txq=4', '-e', '; '.join(commands)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                       check=False, text=True)
    return p.returncode, p.stdout


# A line, and the words of its answer.
BAD = [
    ('flow create 0', 'rule'),
    ('flow create 0 ingress', "'', want group, priority"),
    ('flow create 0 ingress pattern eth / ipv4 src is 10.0.0.300 / end actions drop / end', "'10.0.0.300', want an address"),
    ('flow create 0 ingress pattern eth / udp dst is 70000 / end actions drop / end', "dst: '70000', want 0..65535"),
    ('flow create 0 ingress pattern eth / sctp / end actions drop / end', "'sctp', want eth, vlan"),
    ('flow create 0 ingress pattern eth bogus is 1 / end actions drop / end', "'bogus', want a field"),
    ('flow create 0 ingress pattern eth / end actions rss queues 0 1', "queues: '', want 0..65535"),
    ('flow create 0 ingress pattern eth / end actions drop / end end', "'end', want nothing"),
    ('flow create 0 ingress pattern eth / end', "'', want actions"),
    ('flow create 0 ingress pattern eth / ipv6 src prefix 8 src spec fd00:: / end actions drop / end', 'ipv6: src'),
    ('flow create 0 ingress pattern eth / end actions queue index 9 / end', 'queue 9, want 0..3'),
    ('flow destroy 0 rule 0', "flow rule 0, want one that 'flow list 0' names"),
    ('flow query 0 7 count', 'flow rule 7'),
    ('flow isolate 0 2', '0..1'),
    ('group add 0 web mac=02:00:00:00:00:01 queues=2; flow isolate 0 1', 'the port has the group web, want none'),
    ('flow isolate 0 1; group add 0 web mac=02:00:00:00:00:01 queues=2', 'group web: the port is isolated'),
]


def command_line():
    rules = ['priority 3 ingress pattern eth / ipv4 src spec 10.0.0.0 src prefix 8 / udp dst is 53 / end actions mark id 7 / '
             'count / queue index 1 / end',
             'ingress pattern eth dst is 02:00:00:00:00:01 / vlan vid is 5 / end actions rss queues 0 1 3 end / end']
    code, out = triplane('start', *['flow create 1 ' + r for r in rules], 'flow validate 1 ' + rules[0].replace('53', '54'),
                         'flow list 1 json', 'flow query 1 0 count json', 'flow isolate 1 1', 'flow destroy 1 rule 1',
                         'flow list 1 json', 'flow flush 1', 'flow list 1 json', 'stop')
    if code != 0:
        return '%d: %s' % (code, out)
    docs = [json.loads(line) for line in out.splitlines() if line.startswith('{')]
    lists = [[r['words'] for r in d['rules']] for d in docs if 'rules' in d]
    if lists != [rules, rules[:1], []] or {'hits': 0, 'bytes': 0} not in docs or 'validated' not in out:
        return out
    for line, word in BAD:
        code, out = triplane(line)
        if code != 1 or word not in out:
            return '%s: %d, %s' % (line, code, out)
    return None


cases.run('flow-testpmd-steer', steer)
cases.run('flow-testpmd-refusals', refusals)
cases.run('flow-command-line', command_line)
cases.exit()
