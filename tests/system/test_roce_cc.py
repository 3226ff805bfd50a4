#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Congestion control of RoCE, in software and on the card: four queue pairs meet at a port of a switch of 300 Mb/s, which marks. The switch counts what
it drops, tshark and zlib judge what the queue pairs say to each other."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import tpmd
from roce_icrc import wrong
from scapy.all import Ether, Raw, RawPcapReader, wrpcap

cases = tpmd.Cases()
APP = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
# A queue pair has 138 KB on its way at most: two of them fill the queue, four overflow it.
SWITCH = 'switch:cc%d/ecn:30000+60000+1000000/ecn-prio:0+3/buffer:600000' % os.getpid()
# The card has the CPU of the lcores: when a busy machine stops one of them it stops all, and nothing piles up between them.
MODEL = ['net_mlx4_model0,cpu=%d,wire0=%s,wire1=%s/rate:300' % (tpmd.cpu(0), SWITCH, SWITCH.split('/', maxsplit=1)[0])]
ADDRESSES = {4: ('192.0.2.1/24', '192.0.2.2/24'), 6: ('2001:db8::1/64', '2001:db8::2/64')}
# The defaults are for 40 Gb/s and queues of microseconds. Here what a receiver says comes when the scheduler lets it: the rate falls at once
# and rises slowly, down to where four queue pairs have half of the line.
SLOW = {'initial-alpha': 1023, 'rate-on-first-cnp': 200, 'clamp-target-rate': 1, 'time-reset': 100000, 'byte-reset': 0, 'ai-rate': 1, 'hai-rate': 5, 'min-rate': 40,
        'dce-tcp-rtt': 100000, 'rate-reduce-monitor-period': 2000, 'cnp-interval': 200}
# The card has no initial-alpha: it grows in ticks of 1 ms. Its link has 1 Gb/s, so that what it sends before the first CNP fits the queue.
CARD = {'rate-on-first-cnp': 200, 'clamp-target-rate': 1, 'time-reset': 100000, 'byte-reset': 0, 'ai-rate': 1, 'hai-rate': 5, 'min-rate': 40, 'dce-tcp-g': 512,
        'dce-tcp-rtt': 1000, 'cnp-interval': 200}
SETS = {'sw': SLOW, 'mlx4': CARD}
QPS = 4
RISE = 50  # Mb/s a second at most: hai-rate each time-reset
TRIES = 8
# Mbit that may have come before and are received late, where nobody had a CPU for that: the queue of the switch, and a ring of 512 frames.
WAITING = (600000 + 512 * 1100) * 8e-6


class Pair(tpmd.Triplane):
    """Ports 0 and 1 of a card at the switch, and queue pairs of both that talk to each other."""

    def __init__(self, on, ip=4, prio=0, sets=None, kind='rc', memory=512, home='sw', more=''):
        self.card = home == 'mlx4'
        super().__init__([MODEL[0] + ',rate0=1000' if self.card else MODEL[0]], memory=memory)
        for port in (0, 1):
            self.tell('set roce %d prio %d' % (port, prio))
            self.tell('roce %d on v2 %s' % (port, home))
            self.tell('roce addr add %d %s%s' % (port, ADDRESSES[ip][port], more))
            self.tell('set fwd rxonly %d' % port)
            for name, value in (SETS[home] if sets is None else sets).items():
                self.tell('roce cc %d %d set %s %d' % (port, prio, name, value))
            if on:
                self.tell('roce cc %d %d on' % (port, prio))
        self.tell('start')
        for qp in range(QPS):
            self.tell('roce qp create 0 %s 65536 32' % kind)
            self.tell('roce qp create 1 %s 65536 32' % kind)
            self.tell('roce qp pair 0 %d 1 %d' % (qp, qp))

    def write(self, messages, size=65536, what='write'):
        for qp in range(QPS):
            self.tell('roce traffic start 0 %d %s %d 0 %d' % (qp, what, size, messages))
        for qp in range(QPS):
            self.tell('roce traffic wait 0 %d 100' % qp)

    def counters(self, port):
        return self.ask('show roce stats %d' % port)['ports'][0]['counters']

    def dropped(self):
        switch = next(iter(self.ask('show switch all')['switches'].values()))
        return sum(v for p in switch['by_port'] for q in p['by_priority'] for k, v in q.items() if k.startswith('drop_'))

    def settle(self):
        """Until nothing is under way: what was sent again in vain may be on its way still when all is acknowledged."""
        def over():
            model, x = self.ask('show model')['ports'], [self.xstats(p) for p in (0, 1)]
            sent, came = (sum(m[k] for m in model) for k in ('tx_frames', 'rx_frames'))
            # What the card's own queue pairs say is none of its driver's.
            return sent == came + self.dropped() and (self.card or sent == sum(s['tx_good_packets'] for s in x) and
                                                      came == sum(s['rx_good_packets'] + s['rx_missed_errors'] for s in x))
        if not tpmd.wait_until(over):
            raise RuntimeError('frames stay on their way')

    def limit_all(self, messages, size, what):
        """Until CNPs have limited each queue pair, and all to what the line takes: what goes before that is a busy machine's to say."""
        for _ in range(40):
            c = self.counters(0)
            if c['cc_limited_qps'] == QPS and c['cc_limited_mbps'] <= 300:
                break
            self.write(messages, size, what)

    def lossy(self, on, messages, size=65536, what='write', first=2):
        """What is dropped and sent again of so many messages of each queue pair, and all counters of both ends after them. With congestion
        control they go once the limits are found; 'limits' are what these are then, and what time may have made of them in the end."""
        for _ in range(TRIES):
            if on:
                self.limit_all(first, size, what)
            before, a, begun = self.dropped(), self.counters(0), time.monotonic()
            self.write(messages, size, what)
            self.settle()
            after = self.counters(0)
            after['limits'] = a['cc_limited_mbps'], a['cc_limited_mbps'] + QPS * RISE * (time.monotonic() - begun)
            # Only software RoCE tells what was sent again.
            dropped, resent, timeouts = (x - y for x, y in ((self.dropped(), before), *((after.get(k, 0), a.get(k, 0)) for k in ('req_resent', 'req_timeouts'))))
            # An end that had no CPU for the time in which an acknowledgement comes brings marks late, and what it has is sent again. What waits
            # in rings while the card has none comes to the switch at once, and each loss is a window that is sent again. Limits rise while
            # this program waits for a CPU.
            if not on or not (timeouts or dropped or a['cc_limited_mbps'] > QPS * 300):
                break
        return dropped, resent, after, self.counters(1)


def losses():
    """Without it the switch drops thousands, with it next to nothing: only where a program of the test stood still for long."""
    found = {}
    for on in (False, True):
        with Pair(on) as t:
            found[on] = t.lossy(on, 60)
            t.end()
    (without, resent, a, b), (with_it, resent_with_it, c, d) = found[False], found[True]
    if without < 300 or resent < 300 or b['ecn_marked'] or a['cnps'] or a['cc_limited_qps']:
        return 'without: %d dropped, %s, %s' % (without, a, b)
    if with_it > without / 10 or resent_with_it > resent / 10:
        return '%d dropped of %d, %d sent again of %d' % (with_it, without, resent_with_it, resent)
    if not QPS * 40 <= c['cc_limited_mbps'] <= c['limits'][1] or c['limits'][0] > QPS * 300:
        return 'limited to %d Mb/s, %s' % (c['cc_limited_mbps'], c['limits'])
    # What one end says that it sent and marked, the other has.
    if d['cc_cnps_sent'] < 10 or c['cc_cnps_handled'] != c['cnps'] or c['cc_cnps_ignored'] or d['cc_marked'] != d['ecn_marked'] or c['cc_limited_qps'] != QPS:
        return 'sender %s, receiver %s' % (c, d)
    return None if c['cnps'] <= d['cc_cnps_sent'] else '%d CNPs of %d' % (c['cnps'], d['cc_cnps_sent'])


def datagrams():
    """Queue pairs of datagrams are limited, too: without it the switch drops most of what they send, with it little once a CNP has reached
    each of them."""
    found = {}
    for on in (False, True):
        with Pair(on, kind='ud') as t:
            found[on] = t.lossy(on, 6000, 1024, 'send', first=500)
            t.end()
    (without, _, a, b), (with_it, _, c, d) = found[False], found[True]
    if without < 300 or b['ecn_marked'] or a['cnps']:
        return 'without: %d dropped, %s, %s' % (without, a, b)
    if with_it > without / 3 or c['cc_limited_qps'] != QPS or not QPS * 40 <= c['cc_limited_mbps'] <= c['limits'][1] or c['limits'][0] > QPS * 200 or \
            c['cc_cnps_ignored'] or d['cc_cnps_sent'] < 10:
        return '%d dropped of %d, sender %s, receiver %s' % (with_it, without, c, d)
    return None


def live():
    """Over a time: what goes is what the limit allows, or less, and marks and CNPs are those of that time; queue pairs that are limited, the slowest first,
    and the queue of the switch that they fill."""
    with Pair(True) as t:
        for qp in range(QPS):
            t.tell('roce traffic start 0 %d write 65536 0' % qp)
        seen, waited, listed, begun, first = None, set(), 0, time.monotonic(), t.counters(1)['rx_bytes']
        for _ in range(40):
            before, came = t.counters(0), t.counters(1)['rx_bytes']
            a, b = t.ask('show roce cc all 250')['ports']
            slow = t.ask('show roce cc 0 10 1')['ports'][0]['limited']
            rates = [q['mbit_per_second'] for q in a['limited']]
            # The first may be limited between the two looks; none is let go.
            if len(rates) > QPS or rates != sorted(rates) or len(slow) not in {1, min(1, len(rates))} or [q for q in rates if not 40 <= q <= 40000] or b['limited']:
                return 'limited: %s, %s, %s' % (rates, slow, b['limited'])
            waited |= {(q['port'], q['priority']) for q in a['live']['queues']}
            listed = max(listed, len(rates))
            after, came = t.counters(0), t.counters(1)['rx_bytes'] - came
            if a['live']['cnps_per_second'] and a['live']['tx_mbit_per_second'] and b['live']['marked_per_second'] and b['live']['rx_mbit_per_second'] and waited and listed == QPS:
                seen = a['live'], after['cnps'] - before['cnps'], b['live'], came, a['counters']
                break
        rate, most = (t.counters(1)['rx_bytes'] - first) * 8e-6, 300 * (time.monotonic() - begun) + WAITING
        for qp in range(QPS):
            t.tell('roce traffic stop 0 %d' % qp)
        t.end()
    if seen is None:
        return 'no traffic in ten seconds: %s, %s, queues %s, %d limited' % (a, b, waited, listed)
    if rate > most:
        return '%.1f Mbit came, at most %.1f' % (rate, most)
    # What is shown of a time was counted around it; each is rounded.
    a, cnps, b, came, counters = seen
    return None if a['cnps_per_second'] * a['seconds'] <= cnps + 1 + a['seconds'] and b['rx_mbit_per_second'] * b['seconds'] <= came * 8e-6 + 0.1 * b['seconds'] and \
        a['tx_mbit_per_second'] < 1000 and a['seconds'] >= 0.25 and counters['cc_limited_mbps'] else '%s of %s CNPs, %s, %s of %d octets' % (a, cnps, counters, b, came)


def losses_card():
    """The same between the card's own queue pairs."""
    found = {}
    for on in (False, True):
        with Pair(on, home='mlx4') as t:
            found[on] = t.lossy(on, 60)
            t.end()
    (without, _, a, b), (with_it, _, c, d) = found[False], found[True]
    if without < 300 or a['cnps'] or a['cc_limited_qps'] or b['cc_marked'] or b['cc_cnps_sent']:
        return 'without: %d dropped, %s, %s' % (without, a, b)
    if with_it > without / 10:
        return '%d dropped of %d' % (with_it, without)
    if d['cc_cnps_sent'] < 10 or c['cc_cnps_handled'] != c['cnps'] or c['cc_cnps_ignored'] or c['cc_limited_qps'] != QPS or d['cc_marked'] < d['cc_cnps_sent']:
        return 'sender %s, receiver %s' % (c, d)
    # Each has min-rate at least, and what the time since the last CNP added.
    if c['cc_limited_mbps'] < QPS * 40:
        return 'limited to %d Mb/s' % c['cc_limited_mbps']
    return None if c['cnps'] <= d['cc_cnps_sent'] else '%d CNPs of %d' % (c['cnps'], d['cc_cnps_sent'])


def on_the_wire_card(ip):
    """At the card that receives: ECT(0) and CE come, CNPs go, each with a good ICRC."""
    def case(tries=8):
        sets = dict(CARD, **{'cnp-dscp': 46, 'cnp-802p-prio': 5, 'cnp-interval': 20000})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'x.pcapng')
            # On a VLAN, without which the card's packets have no place for their priority.
            with Pair(True, ip=ip, sets=sets, home='mlx4', more=' vlan 7') as t:
                t.counters(1)
                begun = time.monotonic()
                t.tell('roce capture start 1 %s' % path)
                t.write(30)
                t.tell('roce capture stop 1')
                counted, took = t.counters(1), time.monotonic() - begun
                t.end()
            frames = [f[0] for f in RawPcapReader(path)]
            rows = subprocess.run(['tshark', '-r', path, '-T', 'fields', '-e', 'frame.time_epoch', '-e', 'infiniband.bth.opcode', '-e', 'infiniband.bth.destqp', '-e',
                                   'ip.dsfield' if ip == 4 else 'ipv6.tclass', '-e', 'udp.dstport', '-e', 'udp.payload', '-e', '_ws.malformed', '-e', 'vlan.priority'],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True, text=True).stdout
        data, to = collections.Counter(), collections.Counter()
        for row in rows.splitlines():
            _, opcode, qp, tclass, port, payload, malformed, prio = row.split('\t')
            if malformed or port != '4791':
                return row
            if opcode != '129':
                data[int(tclass, 0) & 3] += int(opcode) in range(0x0b)
                continue
            if int(tclass, 0) != 46 << 2 | 2 or prio != '5' or payload[8:10] != '40' or payload[24:56] != '0' * 32:
                return 'CNP: %s, priority %s, %s' % (tclass, prio, payload)
            to[qp] += 1
        # Frames that find a full queue of the capture are missing: where these are most of them, once more.
        if tries and sum(to.values()) < counted['cc_cnps_sent'] and (sum(to.values()) < 2 or data[3] < 20):
            return case(tries - 1)
        if set(data) - {0, 2, 3} or data[0] or data[2] + data[3] < 100 or data[3] < 20 or not 2 <= sum(to.values()) <= counted['cc_cnps_sent']:
            return 'codepoints of data %s, %s CNPs, %d counted' % (dict(data), dict(to), counted['cc_cnps_sent'])
        # One in 20 ms; the capture has the time at which it was looked at.
        most = took / 0.02 + 2
        return wrong(frames) or (None if max(to.values()) <= most else '%s CNPs, at most %d' % (to, most))
    return case


def on_the_wire(ip, copied=None):
    """ECT(0) from the sender, CE behind the switch, CNPs back: DSCP, priority and spacing as set, each with a good ICRC. By default CNPs
    have the priority of what was marked (copied), whatever cnp-802p-prio says."""
    def case(tries=8):
        sets = dict(SLOW, **{'cnp-dscp': 46, 'cnp-802p-prio': 5, 'cnp-interval': 20000})
        if copied is None:
            sets['cnp-prio-mode'] = 0
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'x.pcapng')
            with Pair(True, ip=ip, prio=copied or 0, sets=sets) as t:
                t.tell('roce capture start 0 %s' % path)
                t.write(30)
                # What comes faster than it is written is lost, and counted.
                lost = t.ask('roce capture stop 0')['lost']
                counted = t.counters(0)
                t.end()
            frames = [f[0] for f in RawPcapReader(path)]
            rows = subprocess.run(['tshark', '-r', path, '-T', 'fields', '-e', 'frame.time_epoch', '-e', 'infiniband.bth.opcode', '-e', 'infiniband.bth.destqp', '-e',
                                   'ip.dsfield' if ip == 4 else 'ipv6.tclass', '-e', 'udp.dstport', '-e', 'udp.payload', '-e', '_ws.malformed', '-e', 'vlan.priority'],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True, text=True).stdout
        cnps, data, to = 0, collections.Counter(), collections.Counter()
        times = [float(row.split('\t')[0]) for row in rows.splitlines()]
        for row in rows.splitlines():
            at, opcode, qp, tclass, port, payload, malformed, prio = row.split('\t')
            if malformed or port != '4791':
                return row
            if opcode != '129':
                data[int(tclass, 0) & 3] += int(opcode) in range(0x0b)
                continue
            cnps += 1
            if int(tclass, 0) != 46 << 2 | 2 or prio != str(5 if copied is None else copied) or payload[8:10] != '40' or payload[24:56] != '0' * 32:
                return 'CNP: %s, priority %s, %s' % (tclass, prio, payload)
            to[qp] += 1
        # A writer without a CPU has only the beginning.
        if lost and tries and (cnps < 2 or data[2] < 500):
            return case(tries - 1)
        if set(data) - {0, 2} or data[2] < 500 or not 2 <= cnps <= counted['cnps'] or (lost == 0 and cnps != counted['cnps']):
            return 'codepoints of data %s, %d CNPs, %d counted, %d frames lost' % (dict(data), cnps, counted['cnps'], lost)
        # One in 20 ms, whenever the scheduler lets it be sent and seen.
        most = (max(times) - min(times)) / 0.02 + 2
        return wrong(frames) or (None if max(to.values()) <= most else '%s CNPs, at most %d' % (to, most))
    return case


def by_priority_card():
    with Pair(True, prio=3, home='mlx4') as t:
        t.write(30)
        t.settle()
        three = t.counters(1)
        t.tell('roce cc 0 3 off')
        t.tell('roce cc 1 3 off')
        if t.counters(0)['cc_limited_qps']:
            return 'limited after it was switched off: %s' % t.counters(0)
        t.write(30)
        off = t.counters(1)
        t.tell('roce cc 0 4 on')
        t.tell('roce cc 1 4 on')
        t.write(30)
        four = t.counters(1)
        t.end()
    if not three['cc_cnps_sent'] or off['cc_cnps_sent'] != three['cc_cnps_sent'] or four['cc_cnps_sent'] != three['cc_cnps_sent']:
        return '3: %d CNPs, off: %d, 4: %d' % (three['cc_cnps_sent'], off['cc_cnps_sent'], four['cc_cnps_sent'])
    return None


def parameters_card():
    """As in software: what is set is shown, saved and taken back; what the card has not is not shown, and refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'set.json')
        with Pair(True, sets=dict(CARD, **{'min-rate': 99999}), home='mlx4') as t:
            shown = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            if shown['min-rate'] != 1000 or not shown['on'] or shown['rate-on-first-cnp'] != 200 or 'initial-alpha' in shown or 'cnp-prio-mode' in shown:
                return str(shown)
            t.write(30)
            ignored = t.counters(0)
            t.tell('save %s' % path)
            t.tell('roce cc 0 0 defaults')
            back = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            t.tell('load %s' % path)
            again = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            t.end()
    if not ignored['cc_cnps_ignored'] or ignored['cc_cnps_handled'] or ignored['cc_limited_qps']:
        return 'not ignored: %s' % ignored
    return None if (back['min-rate'], back['rate-on-first-cnp'], back['time-reset']) == (1, 1000, 100) and again == shown else '%s, %s' % (back, again)


def by_priority():
    """It is on for the priority that it was switched on for, and for no other."""
    with Pair(True, prio=3) as t:
        t.write(30)
        t.settle()
        three = t.counters(1)
        t.tell('roce cc 0 3 off')
        t.tell('roce cc 1 3 off')
        if t.counters(0)['cc_limited_qps']:
            return 'limited after it was switched off: %s' % t.counters(0)
        t.write(30)
        off = t.counters(1)
        t.tell('roce cc 0 4 on')
        t.tell('roce cc 1 4 on')
        t.write(30)
        four = t.counters(1)
        t.end()
    if not three['cc_cnps_sent'] or off['ecn_marked'] != three['ecn_marked'] or four['cc_cnps_sent'] != three['cc_cnps_sent']:
        return '3: %d CNPs, off: %d marks of %d, 4: %d CNPs' % (three['cc_cnps_sent'], off['ecn_marked'], three['ecn_marked'], four['cc_cnps_sent'])
    return None


def parameters():
    """min-rate holds a queue pair up; min-rate at the line switches it off. What is set is shown, saved and taken back."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'set.json')
        with Pair(True, sets=dict(SLOW, **{'min-rate': 99999})) as t:
            shown = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            if shown['min-rate'] != 40000 or not shown['on'] or shown['rate-on-first-cnp'] != 200:
                return str(shown)
            t.write(30)
            ignored = t.counters(0)
            t.tell('save %s' % path)
            t.tell('roce cc 0 0 defaults')
            back = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            t.tell('load %s' % path)
            again = t.ask('show roce cc 0')['ports'][0]['priorities'][0]
            t.end()
    if not ignored['cc_cnps_ignored'] or ignored['cc_cnps_handled'] or ignored['cc_limited_qps']:
        return 'not ignored: %s' % ignored
    return None if (back['min-rate'], back['rate-on-first-cnp'], back['time-reset']) == (1, 3000, 100) and again == shown else '%s, %s' % (back, again)


def wrong_values():
    """Words that are no number of 32 bits, for each parameter, change nothing; what is above the line's rate is taken for it, and says so."""
    names = [*SLOW, 'max-rate', 'disable-hai-stage', 'threshold', 'alpha-to-rate-shift', 'min-dec-fac', 'dce-tcp-g', 'clamp-target-rate-after-time-inc', 'cnp-dscp', 'cnp-802p-prio', 'cnp-prio-mode']
    words = ('abc', '-1', '4294967296', '18446744073709551617', '1.5', '""')
    lines = ['roce cc 0 0 set %s %s' % (name, word) for name in names for word in words] + ['roce cc 0 0 set %s' % name for name in names]
    lines += ['set setting 0 roce-cc 3:threshold=%s' % word for word in words[:-1]] + ['set setting 0 roce-cc 3:threshold=']
    said = collections.Counter({"error: value: '%s' is not a number in 0..4294967295" % word: len(names) for word in words})
    said.update("error: 'roce cc 0 0 set %s' is not complete; next: <value: 0..4294967295>" % name for name in names)
    said.update("error: port 0: roce-cc: threshold '%s', want 1..31" % word for word in (*words[:-1], ''))
    told = run_lines(['net_mlx4_model0'], lines)
    got = collections.Counter(line for line in told.splitlines() if line.startswith('error: '))
    if got != said or 'roce-cc: none ->' in told:
        return 'missing %s, more %s in %s' % (said - got, got - said, told)
    for home in ('sw', 'mlx4'):
        told = run_lines(['net_mlx4_model0'], ['roce 0 on v2 %s' % home, 'roce cc 0 0 set min-rate 40000', 'roce cc 0 0 set ai-rate 40000', 'roce cc 0 0 set min-rate 99999'])
        if told.count('is above the line rate') != 1 or 'roce: min-rate 99999 is above the line rate: it is 40000 Mb/s' not in told:
            return told
    return None


def seen(t, folder, messages):
    """What port 1 receives of data, and what CNPs it sends, as tshark reads it: ECN codepoints of the one, DSCPs of the other."""
    path = os.path.join(folder, 'seen.pcapng')
    t.tell('roce capture start 1 %s' % path)
    t.write(messages)
    t.ask('roce capture stop 1')
    rows = subprocess.run(['tshark', '-r', path, '-T', 'fields', '-e', 'infiniband.bth.opcode', '-e', 'ip.dsfield'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=120, check=True, text=True).stdout
    os.remove(path)
    fields = [[int(f, 0) for f in row.split('\t')] for row in rows.splitlines()]
    return {tos & 3 for opcode, tos in fields if opcode in range(0x0b)}, {tos >> 2 for opcode, tos in fields if opcode == 129}


def words(home):
    """The vendor's words: what each does is on the wire, and what the card has stored comes back."""
    def case():
        stored = ',cc0=prio:0/rate-on-first-cnp:200/min-rate:40,cc1=prio:0/cnp-dscp:12/cnp-interval:200' if home == 'mlx4' else ''
        MODEL[0] += stored
        try:
            with tempfile.TemporaryDirectory() as folder, Pair(False, home=home) as t:
                steps = []
                for lines, messages, again in ((('roce cc disable 0', 'roce cc disable 1'), 8, None),
                                               (('roce cc enable 0 0', 'roce cc enable 1 0-3', 'roce cc set 1 0 cnp-dscp 46'), 30, 'roce cc enable 0'),
                                               (('roce cc set 1 0 cnp_dscp 10', 'roce cc 1 0 enable'), 30, 'roce cc enable 0'),
                                               (('roce cc defaults 1 0', 'roce cc set 1 0 cnp-interval 200'), 30, 'roce cc enable 0'),
                                               (('roce cc 0 0 disable', 'roce cc 1 0 disable'), 8, None),
                                               (('roce cc restore 0', 'roce cc restore 1 0', 'roce cc restore 1 0'), 30, 'roce cc restore 0' if stored else None)):
                    for line in lines:
                        t.tell(line)
                    steps.append(seen(t, folder, messages))
                    # Queue pairs that are limited already may fill no queue: off and on again, they are not.
                    for _ in range(8):
                        if again is None or steps[-1][1]:
                            break
                        t.tell('roce cc disable 0')
                        t.tell(again)
                        steps[-1] = seen(t, folder, messages)
                got = t.ask('roce cc get 0-1 0 rate-on-first-cnp')['ports'], t.ask('roce cc get 1')['ports'][0]['priorities']
                before = t.counters(1)
                t.tell('roce cc clear 1')
                after = t.counters(1)
                t.end()
        finally:
            MODEL[0] = MODEL[0][:len(MODEL[0]) - len(stored)]
        back = ({2, 3}, {12}) if stored else ({0}, set())
        want = [({0}, set()), ({2, 3}, {46}), ({2, 3}, {10}), ({2, 3}, {0}), ({0}, set()), back]
        if steps != want:
            return '%s, wanted %s' % (steps, want)
        first = [(p['priorities'][0]['on'], len(p['priorities'][0]), p['priorities'][0]['rate-on-first-cnp']) for p in got[0]]
        if len(got[1]) != 8 or first != ([(True, 3, 200), (True, 3, 3000)] if stored else [(False, 3, 3000)] * 2):
            return str(got)
        if not before['cc_cnps_sent'] or after['cc_cnps_sent'] or after['cc_marked']:
            return 'cleared: %s, then %s' % (before, after)
        return None
    return case


def qcn():
    """802.1Qau by words: what is set is shown, of its priorities alone, and taken back; what is none is said."""
    lines = ('qcn set 0 3,5 rpg_ai_rate 7', 'qcn set 0 3 rpg_gd 8', 'qcn enable 0 5', 'qcn clear 0', 'qcn set 0 4 rpg_max_rate 9000', 'qcn defaults 0 4', 'qcn get 0 3-5 json')
    told = run_lines(['net_mlx4_model0'], lines)
    found = re.search(r'\{.*"priorities".*\}', told)
    got = [(p['priority'], p['rpg_enable'], p['rpg_ai_rate'], p['rpg_gd'], p['rpg_max_rate'], p['counters']['cnms_handled']) for p in json.loads(found.group())['ports'][0]['priorities']] if found else []
    if got != [(3, 0, 7, 8, 0, 0), (4, 0, 5, 7, 0, 0), (5, 1, 7, 7, 0, 0)]:
        return told
    for device, line, want in (('', 'qcn set 0 0 rpg_ai 1', "'rpg_ai' is no parameter of 802.1Qau"), ('', 'qcn set 0 0 rpg_min_dec_fac 101', 'rpg_min_dec_fac 101: wanted 0..100 %'),
                               ('', 'qcn enable 0 8', 'priority 8: wanted 0..7'), (',congestion=0', 'qcn get 0', 'the firmware does not offer it'),
                               (',congestion=0', 'qcn enable 0', 'the firmware does not offer it')):
        told = run_lines(['net_mlx4_model0' + device], [line])
        if want not in told:
            return told
    return None


def qcn_wire():
    """What the setting of a file does is on the wire: frames of its priority have a CN-TAG, messages take their rate down to rpg_min_rate and not below; those of
    another priority are ignored. Taken back live, frames have no tag."""
    def message(prio):
        cnm = bytes([0, 63]) + bytes(12) + bytes([prio << 5, 0]) + bytes(8)
        return Ether(dst='00:02:c9:a1:b2:01', src='02:00:00:00:00:09', type=0x22e7) / Raw(cnm)

    with tpmd.scratch() as d:
        conf, there, out = os.path.join(d, 'conf'), os.path.join(d, 'in.pcap'), os.path.join(d, 'out.pcap')
        with open(conf, 'w', encoding='utf-8') as f:
            f.write('[port 1]\nqcn=5:cn_tag=1:rpg_min_rate=30000:rpg_time_reset=0:rpg_byte_reset=0\ntx-queues=1\n[txq 1 0]\nprio=5\n')
        wrpcap(there, [message(5), message(6)])
        with tpmd.Triplane(['net_pcap0,rx_pcap=%s,tx_pcap=%s,infinite_rx=1' % (there, out), 'net_mlx4_model0,ports=1,wire0=ethdev:net_pcap0']) as t:
            t.tell('load %s' % conf)
            t.tell('set fwd txonly 1')
            t.tell('start')
            t.tell('wait counter tx_port_packets 100 1 60')
            for _ in range(200):
                five, six = (p['counters'] for p in t.ask('qcn get 1 5-6')['ports'][0]['priorities'])
                if five['cnms_handled'] and six['cnms_ignored']:
                    break
            t.tell('set setting 1 qcn none')
            sent = t.xstats(1)['tx_port_packets']
            t.tell('wait counter tx_port_packets %d 1 60' % (sent + 2000))
            t.tell('stop')
            t.end()
        heads = [frame[0][12:22] for frame in RawPcapReader(out)]
    if not five['cnms_handled'] or five['cnms_ignored'] or (five['min_mbps'], five['max_mbps'], five['created']) != (30000, 30000, 1) or \
            not six['cnms_ignored'] or six['cnms_handled']:
        return 'counters %s, %s' % (five, six)
    tagged, plain = bytes.fromhex('8100a00022e900050800'), bytes.fromhex('8100a0000800')
    kinds = ['tag' if h == tagged else 'none' if h.startswith(plain) else h.hex() for h in heads]
    last = len(kinds) - kinds[::-1].index('tag') if 'tag' in kinds else 0
    # Those in the card's queue when it was taken back may have one.
    return None if last >= 100 and set(kinds[last:]) == {'none'} and len(kinds) - last >= 1000 and set(kinds) == {'tag', 'none'} else \
        '%d of %d with a tag, %s' % (kinds.count('tag'), len(kinds), set(kinds))


def words_everywhere():
    """One-shot, in a file and at the prompt; names of the vendor's drivers; what is none is said, with an exit code where there is one."""
    lines = ('roce 0 on v2 sw', 'roce cc set 0 3-4 rpgAiRate 40', 'roce cc set 0 3 dceTcpG 7', 'roce cc enable 0 3', 'roce cc variant 0 4,5 vendor', 'roce cc variant 0 5 paper',
             'roce cc set 0 5 threshold 6', 'save {0}', 'roce cc restore 0', 'load {0}', 'roce cc get 0 3-5 json')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'cc.txt')
        lines = [line.format(os.path.join(folder, 'set.json')) for line in lines]
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
        for more, text in ((['-e', '; '.join(lines)], ''), (['--cmdline-file', path, '-e', 'show roce devices'], ''), (['-i'], '\n'.join(lines))):
            p = subprocess.run([APP] + tpmd.eal('tpcc%d' % os.getpid(), plugin=False, memory=256) + ['--vdev=net_mlx4_model0', '--'] + more, input=text,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True, check=False)
            found = re.search(r'\{.*"priorities".*\}', p.stdout)
            shown = json.loads(found.group())['ports'][0]['priorities'] if found else []
            if p.returncode != 0 or [(s['priority'], s['on'], s['variant'], s['ai-rate'], s['dce-tcp-g'], s['threshold']) for s in shown] != \
                    [(3, True, 'card', 40, 7, 5), (4, False, 'vendor-hpcc', 5, 4, 1), (5, False, 'paper', 40, 4, 6)]:
                return '%s: exit %d: %s' % (more[0], p.returncode, p.stdout)
    for line, want in (('roce cc get 0', 'RoCE is off'), ('roce cc enable 0 8', 'priority 8: wanted 0..7'), ('roce 0 on v2 sw; roce cc get 0 9', 'priority 9: wanted 0..7'),
                       ('roce cc get all 0 rpgRate', "'rpgRate' is no parameter"), ('roce cc set 0 0 rpgThreshold 0', 'threshold 0: wanted 1..31'),
                       ('roce 0 on v2 mlx4; roce cc restore 0', 'the firmware has no congestion control'),
                       ('roce 0 on v2 mlx4; roce cc variant 0 0 paper', "congestion control of provider mlx4 is the card's"), ('roce cc variant 0 0 hpcc', "'hpcc' is not one of card|paper|vendor-hpcc|vendor"),
                       ('set setting 0 roce-cc 3:variant=hpcc', "variant 'hpcc', want card, paper or vendor-hpcc")):
        p = subprocess.run([APP] + tpmd.eal('tpcc%d' % os.getpid(), plugin=False, memory=512) + ['--vdev=net_mlx4_model0' + (',congestion=0' if 'restore' in line else ''), '--', '-e', line],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True, check=False)
        if p.returncode != 1 or want not in p.stdout:
            return '%s: exit %d: %s' % (line, p.returncode, p.stdout)
    return None


def run_lines(devices, lines):
    return subprocess.run([APP] + tpmd.eal('tpcc%d' % os.getpid(), plugin=False, memory=512) + ['--vdev=' + d for d in devices] + ['--', '-i'], input='\n'.join(lines),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True, check=False).stdout


def refused():
    said = (('roce cc 0 0 set ai 1', "'ai' is no parameter of congestion control"), ('roce cc 0 0 set threshold 32', 'threshold 32: wanted 1..31'),
            ('roce cc 0 0 set time-reset 131072', 'time-reset 131072: wanted 0..131071 us'), ('roce cc 0 8 on', 'priority 8: wanted 0..7'),
            ('set setting 0 roce-cc 9', "'9', want a priority 0..7"), ('set setting 0 roce-cc -1', "'-1', want parameters of what is off"), ('set setting 0 roce-cc 3:ai-rate', "ai-rate '', want 1.."),
            ('set setting 0 roce-cc 3:x=1', "'x' is no parameter of congestion control"), ('set setting 0 roce-cc 3:cnp-dscp=64', "cnp-dscp '64', want 0..63"))
    p = subprocess.run([APP] + tpmd.eal('tpcc%d' % os.getpid(), plugin=False, memory=256) + ['--vdev=net_mlx4_model0', '--', '-i'], input='\n'.join(line for line, _ in said),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True, check=False)
    missing = [want for _, want in said if want not in p.stdout]
    if missing:
        return 'not said: %s in %s' % (missing, p.stdout)
    # The card has not all of it: it is told nothing.
    told = run_lines(['net_mlx4_model0'], ['roce 0 on v2 mlx4', 'set setting 0 roce-cc 3:threshold=7,4:initial-alpha=5', 'roce cc get 0 3-4 threshold json', 'show settings 0 diff json'])
    found = [json.loads(line[line.index('{'):]) for line in told.splitlines() if '{"' in line]
    if len(found) != 2 or [(p['on'], p['threshold']) for p in found[0]['ports'][0]['priorities']] != [(False, 5)] * 2 or 'roce-cc' in str(found[1]) or 'initial-alpha' not in told:
        return told
    for device, line, want in (('net_mlx4_model0,congestion=0', 'roce cc 0 3 on; roce 0 on v2 mlx4', 'the firmware has no congestion control of RoCE v2'),
                               ('net_mlx4_model0', 'roce 0 on v2 mlx4; roce cc 0 3 set initial-alpha 5', "provider mlx4 has no parameter 'initial-alpha'")):
        p = subprocess.run([APP] + tpmd.eal('tpcc%d' % os.getpid(), plugin=False, memory=512) + ['--vdev=' + device, '--', '-e', line],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True, check=False)
        if p.returncode != 1 or want not in p.stdout:
            return 'exit %d: %s' % (p.returncode, p.stdout)
    return None


for name, case in (('losses', losses), ('datagrams', datagrams), ('live', live), ('wire-4', on_the_wire(4)), ('wire-6', on_the_wire(6)),
                   ('wire-copied-4', on_the_wire(4, 3)), ('wire-copied-6', on_the_wire(6, 3)), ('words', words('sw')), ('words-everywhere', words_everywhere), ('qcn', qcn), ('qcn-wire', qcn_wire), ('wrong-values', wrong_values), ('by-priority', by_priority), ('parameters', parameters),
                   ('refused', refused), ('card-losses', losses_card), ('card-wire-4', on_the_wire_card(4)), ('card-wire-6', on_the_wire_card(6)),
                   ('card-by-priority', by_priority_card), ('card-parameters', parameters_card), ('card-words', words('mlx4'))):
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    cases.run('roce-cc-' + name, case)
cases.exit()
