#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands by what they do: frames made by scapy go from a capture through both ports of a card into another one, which scapy
reads; streams, links and counters where no frame shows them."""
import json
import os
import subprocess

import rss_hash
import tpmd
from scapy.all import ARP, ICMP, IP, TCP, UDP, Dot1Q, Ether, IPv6, Raw, rdpcap, wrpcap

APP = os.environ.get('TRIPLANE', os.path.join(os.environ.get('TP_BUILD', 'build'), 'apps', 'triplane'))
CARD = 'net_mlx4_model0'
A, B, PCAP = 0, 1, 2  # the card's ports, and that of the captures
OWN = '00:02:c9:a1:b2:02'  # of port B
SRC = '02:00:00:00:00:77'
cases = tpmd.Cases()


def run(lines, vdevs=(CARD,), args=()):
    p = subprocess.run([APP, *tpmd.eal('cmd%d' % os.getpid(), '0@0,1@0,2@0', plugin=False), '--log-level=*:error',
                        *('--vdev=' + v for v in vdevs), '--', *args], input='\n'.join(lines) + '\n', capture_output=True, text=True,
                       timeout=300)
    if p.returncode != 0 or p.stderr:
        raise RuntimeError('exit %d: %s' % (p.returncode, p.stderr))
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]


def frame(number, dst=OWN, vlan=None, payload=None):
    head = Ether(dst=dst, src=SRC) if vlan is None else Ether(dst=dst, src=SRC) / Dot1Q(vlan=vlan)
    return head / (payload or IP(src='10.0.0.1', dst='10.0.0.2') / UDP(sport=1000 + number, dport=9) / Raw(bytes(60)))


LAST = Ether(dst='ff:ff:ff:ff:ff:ff', src=SRC) / ARP(pdst='10.0.0.9') / Raw(bytes(40))  # whatever is filtered, it comes


def through(lines, frames, passed, more=(), running=()):
    """Frames that are sent to port B after these commands: those that it forwards, without the last one, and answers to running and more."""
    with tpmd.scratch() as d:
        there, out = os.path.join(d, 'in.pcap'), os.path.join(d, 'out.pcap')
        wrpcap(there, [*frames, LAST])
        answers = run([*lines, 'set peer %d %d' % (PCAP, A), 'set peer %d %d' % (B, PCAP), 'set peer %d %d' % (A, A), 'wait link up %d 60' % B, 'start',
                       'wait counter tx_good_packets %d %d 60' % (passed + 1, PCAP), *running, 'stop', *more],
                      [CARD, 'net_pcap0,rx_pcap=%s,tx_pcap=%s' % (there, out)])
        got = [bytes(p) for p in rdpcap(out)]
    if got[-1:] != [bytes(LAST)]:
        raise RuntimeError('the last frame is not there: %s' % got)
    return got[:-1], answers


def same(lines, frames, wanted):
    got, _ = through(lines, frames, len(wanted))
    return None if got == [bytes(f) for f in wanted] else '%s: %s' % (lines, [Ether(p).summary() for p in got])


ONE, TWO = '02:00:00:00:00:10', '02:00:00:00:00:20'


def macs():
    """What is added is received, what is removed is not, and set takes the place of the card's own."""
    own, one, two = (frame(i, dst) for i, dst in enumerate((OWN, ONE, TWO)))
    off = 'port config %d promisc off' % B
    for lines, wanted in (([], [own]), (['add %d ' + ONE], [own, one]), (['add %d ' + ONE, 'add %d ' + TWO, 'remove %d ' + ONE], [own, two]),
                          (['set %d ' + TWO], [two])):
        why = same([off] + ['port mac ' + line % B for line in lines], [own, one, two], wanted)
        if why:
            return why
    info = run(['port mac set %d %s' % (B, TWO), 'show port info %d json' % B])[0]['ports'][0]
    return None if info['mac'].lower() == TWO else info['mac']


def multicast():
    """Of multicast, only what is listed is received; with more than the list holds all of it, and again what is listed when it fits."""
    five, six, v6, more = (frame(i, dst) for i, dst in enumerate(('01:00:5e:00:00:05', '01:00:5e:00:00:06', '33:33:00:00:00:01', '01:00:5e:7f:00:01')))
    frames = [five, six, v6, more]
    off = ['port config %d promisc off' % B]
    two = off + ['set setting %d mcast-list 64' % B, 'port mcast add %d 01:00:5e:00:00:05' % B, 'port mcast add %d 33:33:00:00:00:01' % B]
    full, over = ['port mcast add %d 03:00:00:00:00:01 count %d' % (B, n) for n in (62, 63)]
    for lines, wanted, listed, overflow in (
            (off, [], 0, False), (two, [five, v6], 2, False), (two + ['port mcast remove %d 01:00:5e:00:00:05' % B], [v6], 1, False),
            (two + [full], [five, v6], 64, False), (two + [over], frames, 65, True),
            (two + [over, 'set setting %d mcast-list 65' % B], [five, v6], 65, False),
            (two + [over, 'port mcast remove %d 03:00:00:00:00:01' % B], [five, v6], 64, False),
            (off + ['set setting %d mcast-addresses 01:00:5e:00:00:05-01:00:5e:00:00:06' % B], [five, six], 2, False)):
        got, answers = through(lines, frames, len(wanted), ['show port mcast %d json' % B])
        shown = answers[0]['ports'][0]
        if got != [bytes(f) for f in wanted] or (shown['listed'], shown['overflow']) != (listed, overflow):
            return '%s: %s, %s listed, overflow %s' % (lines, [Ether(p).summary() for p in got], shown['listed'], shown['overflow'])
    return None


def vlans():
    """The filter lets through what was added, and everything while it is off."""
    plain, five, six = frame(0), frame(1, vlan=5), frame(2, vlan=6)
    on = ['port config %d promisc off' % B, 'port config %d vlan filter on' % B]
    for lines, wanted in ((on, [plain]), (on + ['port vlan add %d 5' % B], [plain, five]),
                          (on + ['port vlan add %d 5' % B, 'port vlan add %d 6' % B, 'port vlan remove %d 5' % B], [plain, six]),
                          (on + ['port config %d vlan filter off' % B], [plain, five, six])):
        why = same(lines, [plain, five, six], wanted)
        if why:
            return why
    return None


def strip():
    """The tag is gone, and nothing else; switched off again, it is there."""
    frames = [frame(0), frame(1, vlan=5)]
    on = 'port config %d vlan strip on' % B
    return (same([on], frames, [frame(0), frame(1)]) or
            same([on, 'port config %d vlan strip off' % B], frames, frames))


def kinds():
    """Frames of each kind that RSS spreads or not are counted on the queues, from when it is on."""
    ip, ip6 = IP(src='10.0.0.1', dst='10.0.0.2'), IPv6(src='fe80::1', dst='fe80::2')
    frames = ([frame(0, payload=ip / UDP(sport=i, dport=9) / Raw(bytes(40))) for i in range(8)] +
              [frame(0, payload=ip / TCP(sport=i, dport=9) / Raw(bytes(40))) for i in range(4)] +
              [frame(0, payload=ip6 / UDP(sport=i, dport=9) / Raw(bytes(40))) for i in range(2)] + [frame(0, payload=ARP() / Raw(bytes(40)))])
    two = ['port stop %d' % B, 'port config %d rxq 2' % B, 'port start %d' % B]
    want = {'rss_ipv4_udp': 8, 'rss_ipv4_tcp': 4, 'rss_ipv6_udp': 2, 'non_rss_other': 2}  # with the last frame
    show = ['show port rss-counters %d json' % B]
    for lines, wanted in ((two + ['rss count %d on' % B], want), (two, {}), (two + ['rss count %d on' % B, 'rss count %d off' % B], {})):
        # queues overtake each other: the last frame need not be the last
        with tpmd.scratch() as d:
            path = os.path.join(d, 'in.pcap')
            wrpcap(path, [*frames, LAST])
            got = run([*lines, 'set peer %d %d' % (PCAP, A), 'set fwd rxonly %d' % B, 'wait link up %d 60' % B, 'start',
                       'wait counter rx_good_packets %d %d 60' % (len(frames) + 1, B), 'stop', *show],
                      [CARD, 'net_pcap0,rx_pcap=%s,tx_pcap=%s' % (path, os.path.join(d, 'out.pcap'))])
        queues = got[0]['ports'][0]['queues']
        sums = {k: sum(q[k] for q in queues) for k in queues[0] if k not in ('queue', 'counting')}
        if len(queues) != 2 or {k: v for k, v in sums.items() if v} != wanted:
            return '%s: %s' % (lines, queues)
        # One lcore polls both.
        lcores = got[0]['ports'][0]['lcores']
        if [(lc['queues'], {k: v for k, v in lc.items() if v and k not in ('lcore', 'queues')}) for lc in lcores] != [(2, wanted)]:
            return '%s: %s' % (lines, lcores)
    return None


V4, V6 = ('10.0.%d.1', '10.9.0.2', IP), ('2001:db8::%d:1', '2001:db8::2', IPv6)
# Flows that differ in address and port: their type, and where the counters have them.
FLOWS = {'ipv4': (V4, None, 'ipv4'), 'tcp4': (V4, TCP, 'ipv4_tcp'), 'udp4': (V4, UDP, 'ipv4_udp'),
         'ipv6': (V6, None, 'ipv6'), 'tcp6': (V6, TCP, 'ipv6_tcp'), 'udp6': (V6, UDP, 'ipv6_udp')}
QUEUES = 4


def hashed(types, kind, i):
    """What a Toeplitz hash that covers these types has of flow i: addresses and ports, addresses, nothing."""
    (src, dst, _), l4, _ = FLOWS[kind]
    if kind in types:
        return rss_hash.toeplitz(rss_hash.KEY, rss_hash.tuple_of(src % i, 1000 + i, dst, 9, l4 is not None))
    if kind[-1] in [t[-1] for t in types if t.startswith('ip')]:
        return rss_hash.toeplitz(rss_hash.KEY, rss_hash.tuple_of(src % i, 0, dst, 0, False))
    return None


def rss_types():
    """Each type apart: what is covered goes to the queue that its hash names, what is not to the first; saved and loaded, too."""
    frames = []
    for (src, dst, ip), l4, _ in FLOWS.values():
        proto = {IP: 'proto', IPv6: 'nh'}[ip]
        for i in range(12):
            head = ip(src=src % i, dst=dst, **({} if l4 else {proto: 253}))
            frames.append(frame(0, payload=(head / l4(sport=1000 + i, dport=9) if l4 else head) / Raw(bytes(40))))
    for types in (['tcp4'], ['udp4'], ['ipv4'], ['ipv6'], ['tcp6'], ['udp6'], ['tcp4', 'ipv6', 'udp6']):
        want = [{} for _ in range(QUEUES)]
        for kind, (_, _, counter) in FLOWS.items():
            for i in range(12):
                h = hashed(types, kind, i)
                queue, name = (0, 'non_rss_') if h is None else (h % 128 % QUEUES, 'rss_')
                want[queue][name + counter] = want[queue].get(name + counter, 0) + 1
        want[0]['non_rss_other'] = 1
        with tpmd.scratch() as d:
            path, saved = os.path.join(d, 'in.pcap'), os.path.join(d, 'saved')
            wrpcap(path, [*frames, LAST])
            vdevs = [CARD, 'net_pcap0,rx_pcap=%s,tx_pcap=%s' % (path, os.path.join(d, 'out.pcap'))]
            run(['port stop %d' % B, 'port config %d rxq %d' % (B, QUEUES), 'port start %d' % B, 'rss key %d %s' % (B, rss_hash.KEY.hex()),
                 'rss types %d %s' % (B, ','.join(types[::-1])), 'set peer %d %d' % (PCAP, A), 'set fwd rxonly %d' % B, 'save ' + saved], vdevs)
            got = run(['load ' + saved, 'rss count %d on' % B, 'wait link up %d 60' % B, 'start',
                       'wait counter rx_good_packets %d %d 60' % (len(frames) + 1, B), 'stop', 'show port rss-counters %d json' % B], vdevs)
        queues = [{k: v for k, v in q.items() if v and k not in ('queue', 'counting')} for q in got[0]['ports'][0]['queues']]
        if queues != want:
            return '%s: %s, want %s' % (types, queues, want)
    return None


# So many frames of each kind, so that a sum of counts tells which they were.
SUMS = {'tcp4': (IP(src='10.0.0.1', dst='10.0.0.2'), TCP, 1), 'udp4': (IP(src='10.0.0.1', dst='10.0.0.2'), UDP, 2),
        'tcp6': (IPv6(src='fe80::1', dst='fe80::2'), TCP, 4), 'udp6': (IPv6(src='fe80::1', dst='fe80::2'), UDP, 8)}
FOURS = sum(n for kind, (_, _, n) in SUMS.items() if kind.endswith('4'))


def with_sums(wrong=()):
    """One frame after the other with checksums by scapy; those of the kinds in wrong do not fit."""
    frames = []
    for kind, (ip, l4, n) in SUMS.items():
        for i in range(n):
            f = Ether(bytes(frame(0, payload=ip / l4(sport=1000 + i, dport=9) / Raw(bytes(range(61))))))
            if 'ipv4' in wrong and kind.endswith('4'):
                f[IP].chksum ^= 0x5555
            if kind in wrong:
                f[l4].chksum ^= 0x5555
            frames.append(Ether(bytes(f)))
    return frames


def counted(directions, way):
    """How many checksums of IPv4, and of TCP and UDP, the card has to do with."""
    used = [kind for kind in ['ipv4', *SUMS] if directions.get(kind, 'both') in (way, 'both')]
    return FOURS if 'ipv4' in used else 0, sum(SUMS[kind][2] for kind in used if kind in SUMS)


def checksums():
    """Each protocol and direction apart: the card's counters have whose checksums it made, the frames have valid ones all the same, and of
    received frames those count that the card is asked about."""
    good, none = with_sums(), with_sums(('ipv4', *SUMS))
    names = ('ipv4', 'udp', 'tcp')
    for directions in ({}, {'ipv4': 'rx'}, {'tcp4': 'off'}, {'udp4': 'rx'}, {'tcp6': 'rx', 'ipv4': 'tx'}, {'udp6': 'off'},
                       {'tcp4': 'tx', 'udp4': 'tx', 'tcp6': 'tx', 'udp6': 'tx'}):
        lines = ['port stop all'] + ['set setting %d tx-%s-cksum on' % (A, n) for n in names] + ['set setting %d rx-%s-cksum on' % (B, n) for n in names]
        lines += ['set setting %d %s-cksum %s' % (port, kind, way) for kind, way in directions.items() for port in (A, B)] + ['port start all']
        got, answers = through(lines + ['set fwd csum %d' % PCAP, 'set fwd csum %d' % B], none, len(good), running=['show model %d json' % A, 'show fwd json'])
        if got != [bytes(f) for f in good]:
            return '%s: %s' % (directions, [Ether(p).summary() for p in got])
        made = answers[0]['ports'][0]
        if (made['tx_ip_sums'], made['tx_l4_sums']) != counted(directions, 'tx'):
            return '%s: made %s' % (directions, made)
        seen = [s for lc in answers[1]['lcores'] for s in lc['streams'] if s['rx_port'] == B][0]
        if (seen['rx_ip_sum_good'], seen['rx_l4_sum_good'], seen['rx_ip_sum_bad'], seen['rx_l4_sum_bad']) != (*counted(directions, 'rx'), 0, 0):
            return '%s: seen %s' % (directions, seen)
    lines = ['port stop all'] + ['set setting %d rx-%s-cksum on' % (B, n) for n in names] + ['set setting %d tcp4-cksum off' % B, 'port start all']
    got, answers = through(lines + ['set fwd csum %d' % B], with_sums(('ipv4', 'tcp4', 'tcp6')), len(good), running=['show fwd json'])
    seen = [s for lc in answers[0]['lcores'] for s in lc['streams'] if s['rx_port'] == B][0]
    return None if (seen['rx_ip_sum_bad'], seen['rx_l4_sum_bad']) == (FOURS, SUMS['tcp6'][2]) else str(seen)


def header_split():
    """Headers and payload in buffers of their own, counted; frames are sent as they came, also those that are mended on the way."""
    frames = with_sums() + [frame(0, payload=IP(src='10.0.0.1', dst='10.0.0.2') / ICMP() / Raw(bytes(60))), frame(1, vlan=5)]
    for state, mode, splits in (('on', 'io', len(frames) - 1), ('on', 'csum', len(frames) - 1), ('off', 'io', 0)):
        lines = ['port stop all', 'set setting %d header-split %s' % (B, state), 'port start all', 'set fwd %s %d' % (mode, B)]
        got, answers = through(lines, frames, len(frames), ['show port xstats %d json' % B])
        counted_ones = answers[0]['ports'][0]
        if got != [bytes(f) for f in frames] or counted_ones['rx_header_splits'] != splits or counted_ones['rx_header_split_nombuf'] != 0:
            return '%s, %s: %d split, %s' % (state, mode, counted_ones['rx_header_splits'], [Ether(p).summary() for p in got])
    return None


PAUSE = Ether(dst='01:80:c2:00:00:01', src=SRC, type=0x8808) / Raw(b'\0\1\xff\xff' + bytes(42))


def held(lines, paused):
    """Frames that a port sends while pause frames come without end, before and after these commands; those of its wire are in a capture."""
    with tpmd.scratch() as d:
        there, out = os.path.join(d, 'in.pcap'), os.path.join(d, 'out.pcap')
        wrpcap(there, [PAUSE] * 8)
        answers = run(['set fwd flowgen 1', *lines, 'wait link up 1 60', 'wait counter rx_port_control_packets 1 1 60', 'start',
                       # The port sends, or has been asked to for as long as a great many pause frames take.
                       'wait counter rx_port_control_packets 20000 1 60' if paused else 'wait counter tx_port_packets 100 1 60',
                       'show port xstats 1 json', 'port config flow_ctrl 1 none', 'wait counter tx_port_packets 100 1 60', 'stop'],
                      ['net_pcap0,rx_pcap=%s,tx_pcap=%s,infinite_rx=1' % (there, out), CARD + ',wire0=ethdev:net_pcap0,rate0=100'])
        return answers[0]['ports'][0], len(rdpcap(out))


def pauses_sent(lines, full):
    """What a port puts on its wire while frames come that nobody receives, until this counter of it has something."""
    with tpmd.scratch() as d:
        there, out = os.path.join(d, 'in.pcap'), os.path.join(d, 'out.pcap')
        wrpcap(there, [frame(i, '00:02:c9:a1:b2:01') for i in range(8)])
        run(['set setting rxq 1 0 dropless 65535', *lines, 'wait counter %s 1 1 60' % full],
            ['net_pcap0,rx_pcap=%s,tx_pcap=%s,infinite_rx=1' % (there, out), CARD + ',rxbuf=65536,wire0=ethdev:net_pcap0'])
        return rdpcap(out)


def flow_ctrl():
    """Received pause frames hold the port up, and it sends its own when it is full: each as the mode says."""
    got = run(['port config flow_ctrl 0 %s\nshow qos 0,1 json' % m for m in ('full', 'rx', 'tx', 'none')])
    pauses = [[(p['rx_pause'], p['tx_pause']) for p in g['ports']] for g in got]
    want = [[pair, (False, False)] for pair in ((True, True), (True, False), (False, True), (False, False))]
    if pauses != want:
        return str(pauses)
    for mode, obeys in (('full', True), ('rx', True), ('tx', False)):
        # At 100 Mb/s a pause lasts 0.3 s. It ends where the card has no CPU for so long: a port that obeys sends nothing in one of some tries.
        for _ in range(10):
            before, written = held(['port config flow_ctrl 1 ' + mode], obeys)
            if before['tx_port_packets'] == 0 or not obeys:
                break
        if (before['tx_port_packets'] == 0) != obeys or written < 100:
            return '%s: %d frames sent, %d in all' % (mode, before['tx_port_packets'], written)
    for mode, sends in (('full', True), ('tx', True), ('rx', False)):
        sent = [bytes(p) for p in pauses_sent(['port config flow_ctrl 1 ' + mode], 'tx_prio0_pause' if sends else 'rx_port_overflow_discards')]
        if bool(sent) != sends or any(p[:6] != bytes(PAUSE)[:6] or p[12:16] != bytes(PAUSE)[12:16] for p in sent):
            return '%s: it sent %s' % (mode, [p.hex() for p in sent[:3]])
    return None


def link():
    """The other end of the cable sees it, too."""
    cards = [CARD + ',wire0=cross']
    got = run(['wait link up all 30', 'set link 0 down', 'wait link down all 30', 'show port info 0,1 json', 'set link 0 up', 'wait link up all 30',
               'show port info 0,1 json'], cards)
    links = [[p['link'] for p in g['ports']] for g in got]
    return None if links == [['down', 'down'], ['up', 'up']] else str(links)


def routes(answer):
    return {s['rx_port']: s['tx_port'] for lc in answer['lcores'] for s in lc['streams']}


def topology():
    """Who forwards to whom among three ports, as planned and as it is done then."""
    lines = []
    for name in ('loop', 'chained', 'paired'):
        lines += ['set topology ' + name, 'show config fwd json', 'start', 'show fwd json', 'stop']
    got = [routes(g) for g in run(lines, [CARD, 'net_null0'])]
    want = [{0: 0, 1: 1, 2: 2}, {0: 1, 1: 2, 2: 0}, {0: 1, 1: 0, 2: 2}]
    return None if got == [w for w in want for _ in range(2)] else str(got)


def interactive():
    """A program with commands to begin with goes on with what it reads."""
    with tpmd.Triplane([CARD], ['-e', 'set fwd macswap', '--interactive', '--corelist', '2'], on='0@0,1@0,2@0') as t:
        plan = t.ask('show config fwd')
        t.end()
    used = [lc['lcore'] for lc in plan['lcores']]
    modes = {s['mode'] for lc in plan['lcores'] for s in lc['streams'] if 'mode' in s}
    return None if used == [2] and modes <= {'macswap'} else str(plan)


def ignore_fcs():
    """All frames come damaged: they are errors, and packets where the port takes such frames."""
    for word, name, none in (('off', 'rx_errors', 'rx_good_packets'), ('on', 'rx_good_packets', 'rx_errors')):
        with tpmd.Triplane([CARD + ',impair1=corrupt:1000000']) as t:
            for line in ('port stop all', 'set setting %d ignore-fcs %s' % (B, word), 'port start all', 'set fwd flowgen %d' % A,
                         'set fwd rxonly %d' % B, 'start'):
                t.tell(line)
            seen = tpmd.wait_until(lambda: t.xstats(B)[name] > 100)
            x = t.xstats(B)
            if not seen or x[none] != 0:
                return '%s: %d packets, %d errors' % (word, x['rx_good_packets'], x['rx_errors'])
            t.tell('stop')
            t.end()
    return None


def corelist():
    """The lcores that forward, in the order of the list; others rest."""
    with tpmd.Triplane([CARD], on='0@0,1@0,2@0') as t:
        for cores, wanted in (('2', [(2, [0, 1])]), ('2,1', [(2, [0]), (1, [1])]), ('1', [(1, [0, 1])])):
            t.tell('set corelist ' + cores)
            plan = t.ask('show config fwd')['lcores']
            t.tell('start')
            if not tpmd.wait_until(lambda: all(lc['rounds'] > 0 for lc in t.ask('show fwd')['lcores'])):
                return '%s: %s' % (cores, t.ask('show fwd'))
            for lcores in (plan, t.ask('show fwd')['lcores']):
                used = [(lc['lcore'], [s['rx_port'] for s in lc['streams']]) for lc in lcores]
                if used != wanted:
                    return '%s: %s' % (cores, used)
            t.tell('stop')
        t.end()
    return None


def generated(*lines):
    with tpmd.scratch() as d:
        none, out = os.path.join(d, 'in.pcap'), os.path.join(d, 'out.pcap')
        wrpcap(none, [LAST])
        run([*lines, 'set fwd flowgen %d' % PCAP, 'start',
             'wait counter tx_good_packets 200 %d 30' % PCAP, 'stop'], [CARD, 'net_pcap0,rx_pcap=%s,tx_pcap=%s' % (none, out)])
        return [bytes(p) for p in rdpcap(out, count=200)]


def seed():
    """The same seed gives the same flows, another one others."""
    five, again, six = generated('set seed 5'), generated('set seed 5'), generated('set seed 6')
    if len(five) != 200 or five != again:
        return '%d and %d frames, not the same' % (len(five), len(again))
    return 'seed 6 has flows of seed 5' if set(five) & set(six) else None


for name, fn in (('port mac', macs), ('port mcast and mcast-list', multicast), ('port vlan and vlan filter', vlans), ('vlan strip', strip), ('rss count', kinds), ('rss types', rss_types), ('checksums by protocol', checksums), ('header-split', header_split), ('flow_ctrl', flow_ctrl),
                 ('set link', link), ('set topology and show config fwd', topology), ('ignore-fcs', ignore_fcs), ('set corelist', corelist), ('options interactive and corelist', interactive), ('set seed', seed)):
    cases.run(name, fn)
cases.exit()
