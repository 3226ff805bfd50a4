#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""triplane-fabric: what congestion control does on switches, judged by the paper's formulas, a fluid model that shares no code, and
for frames tshark and zlib. Time is virtual: no case depends on the machine."""
import collections
import json
import os
import resource
import subprocess
import tempfile
import xml.dom.minidom

import fluid
import tpmd
from roce_icrc import wrong
from scapy.all import IP, UDP, RawPcapReader, rdpcap

FABRIC = os.path.join(os.environ['TP_BUILD'], 'apps', 'triplane-fabric', 'triplane-fabric')
KMIN, KMAX, PMAX = 5000, 200000, 0.01
LINE = 40 * 1000 / 1082  # Gb/s of payload: 1000 octets of 1058, an FCS, a gap and a preamble
cases = tpmd.Cases()


def fabric(*args, status=0):
    p = subprocess.run([FABRIC, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if p.returncode != status:
        raise AssertionError('%s: status %d: %s' % (args, p.returncode, p.stdout))
    return p.stdout


def play(name, *args, **sets):
    return json.loads(fabric(name, *['-D%s=%s' % s for s in sets.items()], *args, '--json', '-'))


def flows(result, start=''):
    return {f['name']: f for f in result['flows'] if f['name'].startswith(start)}


def depth(result, port):
    return next(q for q in result['queues'] if q['port'] == port)


def slope():
    """Gb/s a ms = ai-rate / time-reset, and what stages of bytes add, after the other flow left at 30 ms (sample i ends at (i + 1) / 10 ms)."""
    rate = flows(play('leave'))['stays']['rate_gbps']
    got, mean = (rate[379] - rate[319]) / 6, (rate[379] + rate[319]) / 2
    want = 0.04 / 0.055 + 0.04 * mean / 80 * 1000 / 1000
    return None if abs(got / want - 1) < 0.03 else '%.4f Gb/s a ms, wanted %.4f' % (got, want)


def fair():
    """Each flow has half, 20 ms after the second came and for 30 ms."""
    r = play('fair')
    f = flows(r)
    if r['jain'] < 0.99 or r['dropped'] or r['bad_icrc']:
        return 'Jain %f, dropped %d' % (r['jain'], r['dropped'])
    for name in ('f1', 'f2'):
        late = f[name]['goodput_series_gbps'][250:]
        if abs(sum(late) / len(late) / (LINE / 2) - 1) > 0.1:
            return '%s has %.2f of %.2f' % (name, sum(late) / len(late), LINE)
    return None


def first_cut():
    """With alpha at 1 the first CNP halves the rate, within a round trip and a half of the second flow's start. A stage of time later it is half
    the way back; the next CNP takes half of what alpha is after one update, 255/256."""
    f = flows(play('fair', SAMPLE='10us', END='6ms'))['f2']
    rate = f['rate_gbps']
    first = int(f['first_cnp_us'] / 10)
    if not 5000 < f['first_cnp_us'] < 5030:
        return 'first CNP at %.1f us' % f['first_cnp_us']
    seen = [x for x, before in zip(rate[first - 1:first + 9], rate[first - 2:]) if x != before or x == 40][:4]
    return None if [round(x, 2) for x in seen] == [40, 20, 30, round(30 * (1 - 255 / 512), 2)] else str(rate[first - 1:first + 9])


def fluid_queue(n):
    """The mean depth within 40 % of where the fluid model stands still."""
    def case():
        r = play('steady', N=n)
        q, want = depth(r, 's->r'), fluid.queue(fluid.marked(n), KMIN, KMAX, PMAX)
        if abs(q['mean'] / want - 1) > 0.4 or q['p99'] > KMAX + 60000:
            return 'mean %.0f, fluid %.0f, p99 %.0f' % (q['mean'], want, q['p99'])
        return None
    return case


def incast():
    """Eight to one: pauses fall by 95 % and the line stays full."""
    on, off = play('incast'), play('incast', CC='off')
    if off['pause_frames'] < 500 or off['cnps'] or off['marked'] or off['dropped'] or on['dropped']:
        return 'without: %d pauses, %d CNPs, %d marks, %d dropped' % (off['pause_frames'], off['cnps'], off['marked'], off['dropped'])
    if on['pause_frames'] > 0.05 * off['pause_frames'] or on['total_gbps'] < 0.95 * LINE or on['jain'] < 0.99:
        return '%d pauses of %d, %.2f Gb/s, Jain %.4f' % (on['pause_frames'], off['pause_frames'], on['total_gbps'], on['jain'])
    return None


def ecn_alone():
    """Without pauses what congestion control is too slow for is dropped: at the beginning, and then no more."""
    r = play('incast', PFC='flow:off', BUFFER='buffer:600000')
    early = play('incast', PFC='flow:off', BUFFER='buffer:600000', FROM='0ms', TO='1ms')
    if r['pause_frames'] or early['dropped'] < 100 or r['dropped'] > early['dropped'] / 20:
        return '%d pauses, %d dropped in the first ms, %d later' % (r['pause_frames'], early['dropped'], r['dropped'])
    return None


def victim():
    alone = flows(play('victim', N=1, START='59ms'))['victim']['goodput_gbps']
    on, off = (flows(play('victim', CC=cc))['victim']['goodput_gbps'] for cc in ('paper', 'off'))
    return None if on >= 0.95 * alone and off <= 0.5 * alone else 'alone %.2f, with %.2f, without %.2f' % (alone, on, off)


def unfair():
    """A near sender against three far ones, which share a cable: half by pauses, a quarter by congestion control."""
    on, off = ({n: f['goodput_gbps'] for n, f in flows(play('unfair', CC=cc)).items()} for cc in ('paper', 'off'))
    return None if all(abs(off[n] / LINE * (2 if n == 'near' else 6) - 1) < 0.05 for n in off) and abs(on['near'] / (LINE / 4) - 1) < 0.15 else 'with %s, without %s' % (on, off)


def parking():
    """Three switches in a row. A switch that pauses all who send to it lets each of its ports pass the same: half to the last one to join, half of the
    rest to the one before, and so on. Congestion control gives a quarter to each, wherever it joins."""
    off, on = play('parking', CC='off'), play('parking')
    for name, part in (('c', 1 / 2), ('b', 1 / 4), ('a1', 1 / 8), ('a2', 1 / 8)):
        with_it, without = (flows(r)[name]['goodput_gbps'] / LINE for r in (on, off))
        if abs(without / part - 1) > 0.05 or abs(with_it / 0.25 - 1) > 0.1:
            return '%s has %.3f without, wanted %.3f, and %.3f with' % (name, without, part, with_it)
    # Of 1/2, 1/4, 1/8 and 1/8 Jain's index is 1 / (4 * 11/32).
    if abs(off['jain'] / (32 / 44) - 1) > 0.05 or on['jain'] < 0.99 or off['dropped'] or on['dropped'] or off['cnps'] or not on['cnps']:
        return 'Jain %.4f and %.4f, dropped %d and %d, CNPs %d and %d' % (off['jain'], on['jain'], off['dropped'], on['dropped'], off['cnps'], on['cnps'])
    return None if off['pause_frames'] > 1000 and on['pause_frames'] < 0.05 * off['pause_frames'] else '%d pauses of %d' % (on['pause_frames'], off['pause_frames'])


def one_topology():
    """pfc, ecn and both differ in what they set, and in nothing else."""
    folder, texts = os.path.join(os.path.dirname(__file__), '../../share/fabric'), []
    for name in ('pfc', 'ecn', 'both'):
        with open(os.path.join(folder, name + '.fabric')) as f:
            texts.append([line for line in f if not line.startswith(('#', 'set PFC', 'set CC'))])
    return None if texts[0] == texts[1] == texts[2] and len(texts[0]) > 10 else str(texts)


def pfc_ecn_both():
    """From the first frame on: pauses alone lose nothing, and the flow that passes by has no more than one of the nine that meet; congestion control alone
    gives it its line, and loses what comes before it acts; both do both."""
    pfc, ecn, both = (play(name) for name in ('pfc', 'ecn', 'both'))
    victim = [flows(r)['victim']['goodput_gbps'] / LINE for r in (pfc, ecn, both)]
    said = 'victim %s, pauses %s, dropped %s' % (victim, *([r[k] for r in (pfc, ecn, both)] for k in ('pause_frames', 'dropped')))
    if pfc['dropped'] or pfc['cnps'] or pfc['marked'] or pfc['pause_frames'] < 1000 or abs(victim[0] * 9 - 1) > 0.15:
        return said
    early = play('ecn', END='1ms')['dropped']
    if ecn['pause_frames'] or early < 100 or ecn['dropped'] != early or victim[1] < 0.95:
        return '%s, %d of them in the first ms' % (said, early)
    if both['dropped'] or both['pause_frames'] > 0.05 * pfc['pause_frames'] or victim[2] < 0.95:
        return said
    # In the second half there is no pause; the nine have the same, and fill the line.
    late = sum(both['pause_series_frames'][300:])
    meet = [sum(f['goodput_series_gbps'][300:]) / 300 for name, f in flows(both).items() if name != 'victim']
    jain = sum(meet) ** 2 / (9 * sum(x * x for x in meet))
    return None if late == 0 and sum(meet) > 0.93 * LINE and jain > 0.98 else '%d pauses, %.2f Gb/s, Jain %.4f' % (late, sum(meet), jain)


def burst():
    """The flow that the burst meets falls, the other one hardly; both have the line's half again."""
    f = flows(play('burst'), 'long')
    lows = [min(f[n]['goodput_series_gbps'][200:230]) for n in ('long1', 'long2')]
    late = [sum(f[n]['goodput_series_gbps'][450:]) / 50 for n in ('long1', 'long2')]
    done = [x for x in flows(play('burst'), 'burst').values() if 'done_us' not in x]
    return None if lows[1] < 0.5 * lows[0] and sum(late) > 0.9 * LINE and not done else 'lows %s, late %s, %d not done' % (lows, late, len(done))


def thousand():
    """Pauses fall by 95 % and the queue to where it is not marked as a whole, with nine tenths of the line. That takes a stage of time longer than between
    two packets of a flow: stages of 55 us undo each cut before the next one, so that nothing is left of it."""
    on, off, short = play('thousand'), play('thousand', CC='off'), play('thousand', STAGE=55)
    pauses = [r['pause_frames'] for r in (on, off, short)]
    means = [depth(r, 's->r')['mean'] for r in (on, off)]
    if any(len(r['flows']) != 1000 or r['dropped'] for r in (on, off, short)) or off['cnps'] or pauses[1] < 1000 or means[1] < 5 * KMAX:
        return '%d flows, without: %d CNPs, %d pauses, mean %.0f' % (len(on['flows']), off['cnps'], pauses[1], means[1])
    if pauses[0] > 0.05 * pauses[1] or on['total_gbps'] < 0.87 * LINE or on['jain'] < 0.98 or means[0] > KMAX:
        return '%d pauses of %d, %.2f Gb/s, Jain %.4f, mean %.0f' % (*pauses[:2], on['total_gbps'], on['jain'], means[0])
    return None if pauses[2] > 0.95 * pauses[1] else 'stages of 55 us: %d pauses of %d' % (pauses[2], pauses[1])


def incasts():
    """One to twenty: nothing is lost, all have the same, the line is used as far as the reference figures say (docs/fabric.md), the queue's mean stays
    below Kmax, and pauses are next to none."""
    for n, least in ((1, 0.99), (2, 0.97), (4, 0.97), (12, 0.94), (16, 0.93), (20, 0.92)):
        r = play('incast', N=n)
        q = depth(r, 's->r')
        if r['total_gbps'] < least * LINE or r['jain'] < 0.99 or r['dropped'] or r['pause_frames'] > 20 or q['mean'] > KMAX:
            return '%d: %.2f Gb/s, Jain %.4f, %d dropped, %d pauses, mean %.0f' % (n, r['total_gbps'], r['jain'], r['dropped'], r['pause_frames'], q['mean'])
    return None


def cpu():
    """Seconds of CPU time of the programs that ended: a busy machine is not their fault."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def a_second():
    """A second of sixteen hosts: the same figures as of its first 60 ms, in a minute of CPU time at most."""
    begun = cpu()
    r = play('incast', N=15, END='1000ms', FROM='500ms', TO='1000ms')
    took = cpu() - begun
    return None if r['total_gbps'] > 0.93 * LINE and r['jain'] > 0.99 and not r['dropped'] and not r['pause_frames'] and 0.1 < took <= 60 else \
        '%.2f Gb/s, Jain %.4f, %d dropped, %d pauses, %.1f s of CPU time' % (r['total_gbps'], r['jain'], r['dropped'], r['pause_frames'], took)


def many(cards):
    """Cards under eight switches, of which each has a cable to each other one: a card has its line's part for each of its flows, whoever is the
    receiver. On slow cables the flows share these, over all 56 of their directions."""
    def case():
        us = 16000 // cards
        r = play('scale', N=cards, END='%dus' % us, FROM='%dus' % (us // 2))
        f = flows(r)
        for k, name in enumerate('abcdefg', 1):
            for i in (1, 2, cards):
                flow = f['%s%d' % (name, i)]
                if (flow['from'], flow['to']) != ('h%d' % i, 'h%d' % ((i + k - 1) % cards + 1)):
                    return '%s%d: %s to %s' % (name, i, flow['from'], flow['to'])
        if len(f) != 7 * cards or r['dropped'] or r['bad_icrc'] or not 0.9 * LINE * cards < r['total_gbps'] < 1.01 * LINE * cards or r['jain'] < 0.95:
            return '%d flows, %d dropped, %.2f Gb/s, Jain %.4f' % (len(f), r['dropped'], r['total_gbps'], r['jain'])
        trunk = 1250 * cards / 8
        r = play('scale', N=cards, TRUNK='%d' % trunk, END='%dus' % (2 * us), FROM='%dus' % us)
        want = 56 * trunk / 1000 * 1000 / 1082
        return None if not r['dropped'] and 0.85 * want < r['total_gbps'] < 1.01 * want else '%.2f Gb/s of %.2f, %d dropped' % (r['total_gbps'], want, r['dropped'])
    return case


def qau():
    """802.1Qau: the queue stands at what it is to hold, whatever that is, with the line full and without a pause. What flows have is even where
    messages are frequent."""
    off = play('qau', CC='off', CN='cn-prio:none')
    line = 10 * 1000 / 1086  # a CN-TAG more
    if off['pause_frames'] < 300 or off['cnps']:
        return 'without: %d pauses' % off['pause_frames']
    for n, qeq in ((2, 26000), (8, 26000), (8, 52000)):
        r = play('qau', N=n, QEQ=qeq)
        q = depth(r, 's->r')
        if abs(q['mean'] / qeq - 1) > 0.2 or r['total_gbps'] < 0.97 * line or r['pause_frames'] or r['dropped'] or r['jain'] < (0.95 if qeq == 26000 else 0.5) or not r['cnps']:
            return '%d, %d: mean %.0f, %.2f Gb/s, Jain %.4f, %d pauses' % (n, qeq, q['mean'], r['total_gbps'], r['jain'], r['pause_frames'])
    return None


def qau_frames():
    """Congestion notification messages, octet by octet as manuals of switches have them: back to the source of what was sampled, with its flow."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.pcap')
        r = play('qau', '--pcap', path, END='20ms', FROM='0ms', TO='20ms')
        told, tagged = [], 0
        for h, _ in RawPcapReader(path):
            if h[12:14] == b'\x22\xe9' and h[16:18] == b'\x22\xe7':
                told.append(h)
            elif h[12:14] == b'\x22\xe9' and h[16:18] == b'\x08\0':
                tagged += 1
            elif h[12:14] != b'\x88\x08':
                return 'type %s' % h[12:18].hex()
        types = subprocess.run(['tshark', '-r', path, '-T', 'fields', '-e', 'eth.type'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True,
                               text=True).stdout.split()
    if len(told) < 10 or not r['cnps'] <= len(told) <= r['cnps'] + 4 or tagged < 10000 or types.count('0x22e9') != len(told) + tagged:
        return '%d messages, %d told, %d tagged, %s' % (len(told), r['cnps'], tagged, collections.Counter(types))
    for h in told:
        flow, fb = int.from_bytes(h[14:16], 'big'), int.from_bytes(h[18:20], 'big')
        qoff, qdelta = (int.from_bytes(h[i:i + 2], 'big', signed=True) * 64 for i in (28, 30))
        want = min(63, max(0, (qoff + 2 * qdelta) * 63 // (5 * 26000)))
        # Version and reserved bits are 0; the offset and the change are in units of 64.
        if not 1 <= fb <= 63 or abs(fb - want) > 1 or int.from_bytes(h[32:34], 'big') != 3 << 13 or h[40:42] != b'\0\x40' or len(h) != 18 + 24 + 64:
            return 'Fb %d, wanted %d, of %s' % (fb, want, h.hex())
        # The sampled frame is of the host that is told, to the receiver: IPv4, 10.0.0.flow + 1.
        if h[:6] != bytes([2, 0xfa, 0xb0, 0, 0, flow]) or h[34:40] != bytes([2, 0xfa, 0xb0, 0, 0, 4]) or h[42:44] != b'\x08\0' or h[56:60] != bytes([10, 0, 0, flow + 1]):
            return 'sampled: %s' % h.hex()
    return None


def other_sets():
    """The card's defaults and those of later cards at the thresholds that their vendors give: the line is used, nothing is lost, all have
    their part."""
    for cc, ecn, least in (('card', '100000+400000+200000', 0.85), ('vendor-hpcc', '160000+640000+200000', 0.95)):
        r = play('incast', CC=cc, ECN=ecn, XOFF=500000)
        if r['total_gbps'] < least * LINE or r['jain'] < 0.98 or r['dropped']:
            return '%s: %.2f Gb/s, Jain %.4f, %d dropped' % (cc, r['total_gbps'], r['jain'], r['dropped'])
    return None


# Of a fork of ns-3 (aliyun/ns-3-alibabacloud, c2bfbf4), three seeds: part of the line in %, mean of the queue in packets. It marks what leaves and the model what
# comes, which costs the last one a part of the line.
NS3 = {('2', '5000+200000+10000', 'time-reset:55 threshold:5 ai-rate:40 hai-rate:400 dce-tcp-rtt:55 rate-reduce-monitor-period:50'): (99.5, 45.3),
       ('2', '40000+1000000+1000000', 'time-reset:60 threshold:5 ai-rate:40 hai-rate:200 dce-tcp-rtt:55 rate-reduce-monitor-period:50 clamp-target-rate:1'): (97.3, 12.8),
       ('8', '40000+1000000+1000000', 'time-reset:60 threshold:5 ai-rate:40 hai-rate:200 dce-tcp-rtt:55 rate-reduce-monitor-period:50 clamp-target-rate:1'): (93.9, 25.5),
       ('8', '160000+640000+200000', ''): (100.1, 137.0),
       ('8', '5000+200000+10000', 'time-reset:55 threshold:5 ai-rate:40 hai-rate:400 dce-tcp-rtt:55 rate-reduce-monitor-period:50'): (100.1, 115.0)}


def ns3():
    """Lines and queues are those of a simulator of packets that shares no code: as full within 7 %, as long within 12 %, shared as fairly. A flow that leaves
    gives way at 7.2 Gb/s a ms, as there (25.65 Gb/s, and 36.45 after 1.5 ms)."""
    for (n, ecn, words), (part, mean) in NS3.items():
        r = play('ns3', N=n, ECN=ecn, CC='vendor-hpcc %s cnp-interval:0' % words)
        q = depth(r, 's->r')
        if abs(r['total_gbps'] / LINE * 100 / part - 1) > 0.07 or abs(q['mean'] / 1058 / mean - 1) > 0.12 or r['jain'] < 0.99 or r['dropped'] or r['pause_frames']:
            return '%s, %s: %.1f %% of the line, %.1f packets, Jain %.4f' % (n, ecn, r['total_gbps'] / LINE * 100, q['mean'] / 1058, r['jain'])
    rate = flows(play('leave', CC='vendor-hpcc %s cnp-interval:0' % list(NS3)[0][2]))['stays']['rate_gbps'][310:]
    rise = [b - a for a, b in zip(rate, rate[10:]) if a > 25 and b < 37]
    return None if rise and abs(sum(rise) / len(rise) / 7.2 - 1) < 0.03 else 'rises by %s' % rise


def frames():
    """CNPs as tshark reads them; of one flow at least 50 us apart; each frame's ICRC by zlib."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.pcap')
        r = play('incast', '--pcap', path, END='2ms', FROM='0ms', TO='2ms', N=4)
        out = subprocess.run(['tshark', '-r', path, '-Y', 'infiniband.bth.opcode == 129', '-T', 'fields', '-e', 'frame.time_epoch',
                              '-e', 'infiniband.bth.destqp', '-e', 'ip.dsfield.ecn', '-e', 'ip.dsfield.dscp', '-e', 'ip.len', '-e', 'ip.checksum.status',
                              '-e', 'udp.dstport', '-e', 'udp.payload', '-e', '_ws.malformed', '-o', 'ip.check_checksum:TRUE'],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True, text=True).stdout
        bad = wrong([f[0] for f, _ in zip(RawPcapReader(path), range(3000)) if f[0][12:14] == b'\x08\0'])
        data = next(p for p in rdpcap(path, 50) if UDP in p)
    rows = [line.split('\t') for line in out.splitlines()]
    last = collections.defaultdict(lambda: -1.0)
    if bad or data[IP].tos != 3 << 5 | 2:
        return '%s, TOS %d' % (bad, data[IP].tos)
    if len(rows) < 20 or len(rows) > r['cnps'] + 4:
        return '%d CNPs in the file, %d counted' % (len(rows), r['cnps'])
    for time, qp, ecn, dscp, length, status, port, becn, malformed in rows:
        if (ecn, dscp, length, status, port, malformed) != ('2', '56', '60', '1', '4791', '') or becn[8:10] != '40':
            return 'CNP: %s' % [ecn, dscp, length, status, port, becn, malformed]
        if float(time) - last[qp] < 49.9e-6:
            return 'CNPs of %s %.1f us apart' % (qp, (float(time) - last[qp]) * 1e6)
        last[qp] = float(time)
    return None


def same():
    for name in ('incast', 'parking', 'both'):
        a, b, c = (fabric(name, '-DEND=10ms', '-DFROM=5ms', '-DTO=10ms', '--seed', s, '--json', '-') for s in ('7', '7', '8'))
        if a != b or a == c:
            return '%s: same seed: %s, another: %s' % (name, a == b, a == c)
    return None


def pauses():
    """Pause frames over time are, together, those of the table, and until each sample those that have reached hosts, but for one on its way to each."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.pcap')
        r = play('incast', '--pcap', path, CC='off', END='6ms', FROM='0ms', TO='6ms')
        at = sorted(m.sec * 1000000 + m.usec / 1000 for h, m in RawPcapReader(path) if h[12:14] == b'\x88\x08')
    series = r['pause_series_frames']
    if len(series) != 60 or sum(series) != r['pause_frames'] or r['pause_frames'] < 500:
        return '%d samples, %d frames, %d in all' % (len(series), sum(series), r['pause_frames'])
    for i in range(60):
        sent, came = sum(series[:i + 1]), sum(1 for x in at if x <= (i + 1) * r['sample_us'])
        if not sent - 8 <= came <= sent:
            return 'until sample %d: %d sent, %d came' % (i, sent, came)
    with_it = play('incast')
    half = sum(with_it['pause_series_frames'][300:])
    return None if half == with_it['pause_frames'] <= sum(with_it['pause_series_frames']) else 'window: %d of %d' % (half, with_it['pause_frames'])


def picture():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.svg')
        table = fabric('fair', '--svg', path)
        lines = xml.dom.minidom.parse(path).getElementsByTagName('polyline')
    if len(lines) != 4 or 'Jain' not in table or any(len(line) > 80 for line in table.splitlines() if not line.startswith('total')):
        return '%d lines, %s' % (len(lines), table)
    return None


def listed():
    names = [line.split()[0] for line in fabric('--list').splitlines()]
    return None if {'incast', 'fair', 'leave', 'steady', 'victim', 'unfair', 'parking', 'pfc', 'ecn', 'both', 'burst', 'thousand', 'qau', 'scale', 'ns3'} == set(names) else str(names)


def parameters():
    """Each parameter at its ends, and below, above and of the wrong type, where the line of the refusal names it and its range."""
    rate = 1000000
    dcqcn = {'clamp-target-rate': (0, 1), 'clamp-target-rate-after-time-inc': (0, 1), 'disable-hai-stage': (0, 1), 'max-rate': (0, rate), 'time-reset': (0, 131071), 'byte-reset': (0, 32767), 'threshold': (1, 31), 'ai-rate': (1, rate),
             'hai-rate': (1, rate), 'alpha-to-rate-shift': (0, 11), 'min-dec-fac': (0, 100), 'min-rate': (0, rate), 'rate-on-first-cnp': (0, rate), 'dce-tcp-g': (0, 1023),
             'dce-tcp-rtt': (0, 131071), 'rate-reduce-monitor-period': (0, 4294967294), 'initial-alpha': (0, 1023), 'cnp-interval': (0, 131071), 'cnp-dscp': (0, 63),
             'cnp-802p-prio': (0, 7), 'cnp-prio-mode': (0, 1)}
    cn = {'time-reset': (0, 10000000), 'byte-reset': (0, 1 << 30), 'threshold': (1, 31), 'max-rate': (0, rate), 'ai-rate': (0, rate), 'hai-rate': (0, rate), 'gd': (0, 31),
          'min-dec-fac': (0, 100), 'min-rate': (0, rate)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.fabric')
        with open(path, 'w') as f:
            f.write('switch s\nhost a s\nhost b s\nflow f a b\ncc $CC\ntime 1ms\n')
        for kind, words in (('card', dcqcn), ('qau', cn)):
            for word, (least, most) in words.items():
                for value in (least, most):
                    fabric(path, '-DCC=%s %s:%d' % (kind, word, value))
                for value in (least - 1, most + 1, 1 << 64, 'x', '1.5', '1x', ''):
                    said = fabric(path, '-DCC=%s %s:%s' % (kind, word, value), status=1)
                    if "5: %s '%s': wanted a number %d..%d" % (word, value, least, most) not in said:
                        return '%s %s:%s: %s' % (kind, word, value, said)
    return None


def refused():
    base = 'switch s\nhost a s\nhost b s\nflow f a b\n'
    wrongs = (('swich s\n', "1: 'swich': wanted set, switch"), ('switch s bufer:1\n' + base[9:], "bufer:1"),
              (base + 'host a s\n', "5: host 'a' is there twice"), (base + 'flow g a a\n', "5: flow g: host 'a' sends to itself"),
              (base + 'flow g a c\n', "5: there is no host 'c'"), (base + 'cc papr\n', "5: cc 'papr': wanted off, paper, card, vendor-hpcc or qau"),
              (base + 'cc paper threshold:32\n', "5: threshold '32': wanted a number 1..31"), (base + 'cc paper ai:1\n', "5: cc: 'ai:1': wanted a parameter"), (base + 'cc qau ai:1\n', "5: cc: 'ai:1': wanted a parameter of qau"),
              (base + 'cc qau gd:32\n', "5: gd '32': wanted a number 0..31"), ('switch s cn:1+2\n' + base[9:], 'cn qeq 1: wanted 64..'),
              (base + 'time 5\n', "5: time '5': wanted a time of at most 1000s, such as 20us"), (base + 'measure 5ms 1ms\n', 'two times in order'),
              (base + 'flow g a b payload:6\n', "5: payload '6': wanted a multiple of 4"), (base + 'flow g $X b\n', '5: $X is not set'),
              (base + 'host c[1..99999] s\n', 'wanted a range such as h[1..8]'), ('switch s\nhost a s rate:0\n', "2: rate '0': wanted a number 1..1000000"),
              ('switch s\nhost a s\n', 'there is no flow'), (base + 'link s s\n', "5: link: both ends are 's'"), (base + 'link s t[1..2]\n', "5: there is no switch 't1'"),
              (base + 'host c[1..2] s[1..2]\n', "5: there is no switch 's1'"), (base + 'flow g a b shift:x\n', "5: shift 'x': wanted a number 0..4096"),
              (base + 'flow g[1..2] a b shift:1 to:b\n', "5: 'to:b': wanted start:TIME"), ('', 'there is no flow'),
              ('switch s\nhost a[1..65] s\nflow f a1 a2\n', 'switch s:'), (base + 'sample 1ns\n', "5: sample '1ns': wanted at least 1us"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.fabric')
        for text, said in wrongs:
            with open(path, 'w') as f:
                f.write(text)
            if said not in fabric(path, status=1):
                return '%r: %s' % (text, fabric(path, status=1))
        with open(path, 'w') as f:
            f.write(base)
        for args, status, said in (((path, '--json', '/nowhere/x'), 1, '/nowhere/x: No such file'), (('nothing',), 1, "no experiment 'nothing'"),
                                   (('./nothing',), 1, './nothing: No such file'), ((path, '-D', 'X'), 2, "-D 'X': wanted NAME=VALUE"),
                                   ((path, '--seed', 'x'), 1, "--seed 'x': wanted a number"), ((), 2, 'usage:'), ((path, '--json', '/dev/full'), 1, '/dev/full: could not be written')):
            if said not in fabric(*args, status=status):
                return '%s: %s' % (args, fabric(*args, status=status))
    return None


for name, case in (('slope', slope), ('fair', fair), ('first-cut', first_cut), ('fluid-2', fluid_queue(2)), ('fluid-4', fluid_queue(4)), ('incast', incast),
                   ('ecn-alone', ecn_alone), ('victim', victim), ('unfair', unfair), ('parking', parking), ('one-topology', one_topology), ('pfc-ecn-both', pfc_ecn_both), ('burst', burst), ('thousand', thousand), ('incasts', incasts), ('a-second', a_second), ('many-8', many(8)), ('many-128', many(128)), ('qau', qau), ('qau-frames', qau_frames), ('other-sets', other_sets), ('ns3', ns3),
                   ('frames', frames), ('same', same), ('pauses', pauses), ('picture', picture), ('listed', listed), ('parameters', parameters), ('refused', refused)):
    cases.run('fabric-' + name, case)
cases.exit()
