#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/tcp by the book: each state of RFC 9293 meets the segments of section 3.10.7, with RFC 5961 and RFC 7323. What must come
back is written from the RFCs; packets are scapy's. The engine runs in virtual time (tcp_step)."""
import os
import re
import subprocess
import sys

from scapy.all import ICMP, IP, TCP, Ether, Raw
from scapy.utils import checksum

import tpmd

cases = tpmd.Cases()
PROGRAM = os.path.join(os.environ['TP_BUILD'], 'tests/system/tcp_step')
ESTABLISHED, SYN_SENT, SYN_RECV, FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSED, CLOSE_WAIT, LAST_ACK, LISTEN, CLOSING = range(1, 12)
NAMES = dict(zip(range(1, 12), 'ESTABLISHED SYN-SENT SYN-RECEIVED FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT CLOSED CLOSE-WAIT LAST-ACK '
                               'LISTEN CLOSING'.split()))
IRS = 0x10000000  # the peer's sequence numbers start here
WINDOW = 8192     # ours, which is never scaled in these tables


class Step:
    """The engine, and the peer's view of one connection."""

    def __init__(self):
        self.p = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = 80

    def cmd(self, line):
        """The result; frames that were sent are in self.out, what was read in self.data."""
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()
        self.out, result = [], None
        while (answer := self.p.stdout.readline()) != '.\n':
            word, _, rest = answer.partition(' ')
            if word == 'out':
                self.out.append(Ether(bytes.fromhex(rest)))
            elif word == '=':
                result = int(rest)
            elif word == 'data':
                self.data = bytes.fromhex(rest)
            else:
                raise RuntimeError('tcp_step: ' + (answer or 'it ended'))
        return result

    def put(self, flags, seq, ack=0, data=b'', window=20000, options=(), port=None, tos=0):
        """A segment of the peer; the answers as (flags, seq, ack, length)."""
        frame = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='10.0.0.1', dst='10.0.0.2', tos=tos) / TCP(
            sport=self.peer, dport=port or self.port, flags=flags, seq=seq & 0xffffffff, ack=ack & 0xffffffff, window=window,
            options=list(options))
        self.cmd('in ' + bytes(frame / Raw(data) if data else frame).hex())
        return self.answers()

    def answers(self):
        return [(str(f[TCP].flags), f[TCP].seq, f[TCP].ack, f[IP].len - 20 - 4 * f[TCP].dataofs) for f in self.out]

    def start(self, conf='plain=1 rcvbuf=%d' % WINDOW):
        self.cmd('conf ' + conf)
        self.port, self.peer = 80, 3000

    def passive(self, options=(), ack=True):
        """Our end listens; ESTABLISHED, or SYN-RECEIVED without ack."""
        self.cmd('listen')
        self.put('S', IRS, options=options)
        self.iss = self.out[0][TCP].seq
        self.synack = self.out[0][TCP]
        if ack:
            options = [('NOP', None), ('NOP', None), ('Timestamp', (1001, self.synack_ts()))] if self.synack_ts() is not None else ()
            self.put('A', IRS + 1, self.iss + 1, options=options)
            assert self.cmd('accept') == 1

    def synack_ts(self):
        for name, value in self.synack.options:
            if name == 'Timestamp':
                return value[0]
        return None

    def bring(self, state):
        """Our end into a state; self.nxt and self.rcv are its SND.NXT and RCV.NXT."""
        self.start()
        self.nxt, self.rcv = None, IRS + 1
        if state == LISTEN:
            self.cmd('listen')
            return
        if state == SYN_SENT:
            self.cmd('connect 3000')
            self.iss = self.out[0][TCP].seq
            self.port, self.nxt = 1080, self.iss + 1
            return
        self.passive(ack=state != SYN_RECV)
        self.nxt = self.iss + 1
        if state in (SYN_RECV, ESTABLISHED):
            return
        if state in (CLOSE_WAIT, LAST_ACK):
            self.put('FA', self.rcv, self.nxt)
            self.rcv += 1
        if state != CLOSE_WAIT:
            self.cmd('shutdown')
            self.nxt += 1
        if state == FIN_WAIT2:
            self.put('A', self.rcv, self.nxt)
        if state == CLOSING:
            self.put('FA', self.rcv, self.nxt - 1)
            self.rcv += 1
        if state == TIME_WAIT:
            self.put('FA', self.rcv, self.nxt)
            self.rcv += 1

    def expect(self, before, what, got, want, state):
        if [(f, s & 0xffffffff, a & 0xffffffff) for f, s, a, _ in got] != [(f, s & 0xffffffff, a & 0xffffffff) for f, s, a in want]:
            return '%s, %s: came back %s, not %s' % (NAMES.get(before, before), what, got, want)
        if state is not None:
            now = self.cmd('state')
            if now != state:
                return '%s, %s: then %s, not %s' % (NAMES.get(before, before), what, NAMES.get(now, now), NAMES[state])
        return None


step = Step()
SYNCED = (ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSING, CLOSE_WAIT, LAST_ACK)


def table(rows):
    """Rows (state, what, segment by the step, answers by the step, state behind it)."""
    for before, what, segment, want, behind in rows:
        step.bring(before)
        got = step.put(*segment(step))
        why = step.expect(before, what, got, want(step), behind)
        if why:
            return why
    return None


def nothing(s):
    return []


def ack(s):
    return [('A', s.nxt, s.rcv)]


def no_connection():
    """3.10.7.1"""
    step.start()
    step.cmd('listen')
    for what, args, want in (
            ('SYN', ('S', 500), [('RA', 0, 501)]),
            ('SYN with data', ('S', 500, 0, b'abc'), [('RA', 0, 504)]),
            ('FIN', ('F', 500), [('RA', 0, 501)]),
            ('ACK', ('A', 500, 700), [('R', 700, 0)]),
            ('SYN, ACK', ('SA', 500, 700), [('R', 700, 0)]),
            ('RST', ('R', 500), []), ('RST, ACK', ('RA', 500, 700), [])):
        why = step.expect('no connection', what, step.put(*args, port=81), want, None)
        if why:
            return why
    return None


def listen():
    """3.10.7.2"""
    for what, args, want in (
            ('RST', ('R', 500), []), ('ACK', ('A', 500, 700), [('R', 700, 0)]), ('SYN, ACK', ('SA', 500, 700), [('R', 700, 0)]),
            ('FIN', ('F', 500), []), ('nothing set', ('', 500), []), ('RST, SYN', ('RS', 500), [])):
        step.bring(LISTEN)
        why = step.expect(LISTEN, what, step.put(*args), want, None)
        if why:
            return why
    step.bring(LISTEN)
    got = step.put('S', IRS)
    if len(got) != 1 or got[0][0] != 'SA' or got[0][2] != IRS + 1:
        return 'SYN is answered by %s' % got
    return None


def syn_sent():
    """3.10.7.3"""
    return table([
        (SYN_SENT, 'ACK that is too old', lambda s: ('A', IRS, s.iss), lambda s: [('R', s.iss, 0)], SYN_SENT),
        (SYN_SENT, 'ACK that is too new', lambda s: ('SA', IRS, s.iss + 2), lambda s: [('R', s.iss + 2, 0)], SYN_SENT),
        (SYN_SENT, 'RST with a bad ACK', lambda s: ('RA', IRS, s.iss + 2), nothing, SYN_SENT),
        (SYN_SENT, 'RST without ACK', lambda s: ('R', IRS), nothing, SYN_SENT),
        (SYN_SENT, 'RST with a good ACK', lambda s: ('RA', IRS, s.iss + 1), nothing, CLOSED),
        (SYN_SENT, 'ACK alone', lambda s: ('A', IRS, s.iss + 1), nothing, SYN_SENT),
        (SYN_SENT, 'nothing set', lambda s: ('', IRS), nothing, SYN_SENT),
        (SYN_SENT, 'SYN, ACK', lambda s: ('SA', IRS, s.iss + 1), ack, ESTABLISHED),
        (SYN_SENT, 'SYN', lambda s: ('S', IRS), lambda s: [('SA', s.iss, s.rcv)], SYN_RECV),
    ])


def simultaneous_open():
    """3.5, figure 8"""
    step.bring(SYN_SENT)
    step.put('S', IRS)
    why = step.expect(SYN_RECV, 'ACK of our SYN', step.put('A', IRS + 1, step.iss + 1), [], ESTABLISHED)
    if why:
        return why
    step.bring(SYN_SENT)
    step.put('S', IRS)
    return step.expect(SYN_RECV, 'SYN, ACK (line 6)', step.put('SA', IRS, step.iss + 1), ack(step), ESTABLISHED)


def syn_received():
    """3.10.7.4 for SYN-RECEIVED"""
    for what, segment, want, conns in (
            ('ACK that is too old', lambda s: ('A', s.rcv, s.iss), lambda s: [('R', s.iss, 0)], 1),
            ('ACK that is too new', lambda s: ('A', s.rcv, s.iss + 2), lambda s: [('R', s.iss + 2, 0)], 1),
            ('RST', lambda s: ('R', s.rcv), nothing, 0),
            ('RST in the window', lambda s: ('R', s.rcv + 5), lambda s: [('A', s.nxt, s.rcv)], 1),
            ('RST outside of the window', lambda s: ('R', s.rcv - 5), nothing, 1),
            ('SYN in the window: back to LISTEN', lambda s: ('S', s.rcv + 5), nothing, 0),
            ('its SYN once more', lambda s: ('S', IRS), lambda s: [('SA', s.iss, s.rcv)], 1),
            ('no ACK', lambda s: ('', s.rcv, 0, b'abc'), nothing, 1)):
        step.bring(SYN_RECV)
        why = step.expect(SYN_RECV, what, step.put(*segment(step)), want(step), None)
        if why:
            return why
        if step.cmd('conns') != conns:
            return '%s leaves %d connections, not %d' % (what, step.cmd('conns'), conns)
    return None


def synchronized():
    """3.10.7.4, first to fifth, in each synchronized state; RFC 5961 3.2, 4.2, 5.2"""
    rows = []
    for state in SYNCED:
        rows += [
            (state, 'RST at RCV.NXT', lambda s: ('R', s.rcv), nothing, CLOSED),
            (state, 'RST elsewhere in the window', lambda s: ('R', s.rcv + 1), ack, state),
            (state, 'RST at the window\'s end', lambda s: ('R', s.rcv + WINDOW + 9), nothing, state),
            (state, 'RST before the window', lambda s: ('R', s.rcv - 1), nothing, state),
            (state, 'SYN in the window', lambda s: ('S', s.rcv + 1), ack, state),
            (state, 'SYN before the window', lambda s: ('S', s.rcv - 100), ack, state),
            (state, 'data behind the window', lambda s: ('A', s.rcv + 70000, s.nxt, b'abc'), ack, state),
            (state, 'data before the window', lambda s: ('A', s.rcv - 3, s.nxt - (state in (FIN_WAIT1, CLOSING, LAST_ACK)), b'abc'),
             ack, state),
            (state, 'keepalive', lambda s: ('A', s.rcv - 1, s.nxt - (state in (FIN_WAIT1, CLOSING, LAST_ACK))), ack, state),
            (state, 'no ACK', lambda s: ('', s.rcv, 0, b'abc'), nothing, state),
            (state, 'ACK of what was not sent', lambda s: ('A', s.rcv, s.nxt + 1), ack, state),
            (state, 'ACK older than any window', lambda s: ('A', s.rcv, s.nxt - 70000), ack, state),
        ]
    return table(rows)


def closing():
    """3.10.7.4, fifth and eighth: how connections end"""
    return table([
        (ESTABLISHED, 'FIN', lambda s: ('FA', s.rcv, s.nxt), lambda s: [('A', s.nxt, s.rcv + 1)], CLOSE_WAIT),
        (ESTABLISHED, 'data and FIN', lambda s: ('FA', s.rcv, s.nxt, b'abc'), lambda s: [('A', s.nxt, s.rcv + 4)], CLOSE_WAIT),
        (ESTABLISHED, 'FIN behind a hole', lambda s: ('FA', s.rcv + 3, s.nxt), lambda s: [], ESTABLISHED),
        (FIN_WAIT1, 'ACK of FIN', lambda s: ('A', s.rcv, s.nxt), nothing, FIN_WAIT2),
        (FIN_WAIT1, 'FIN', lambda s: ('FA', s.rcv, s.nxt - 1), lambda s: [('A', s.nxt, s.rcv + 1)], CLOSING),
        (FIN_WAIT1, 'FIN and ACK of ours', lambda s: ('FA', s.rcv, s.nxt), lambda s: [('A', s.nxt, s.rcv + 1)], TIME_WAIT),
        (FIN_WAIT2, 'FIN', lambda s: ('FA', s.rcv, s.nxt), lambda s: [('A', s.nxt, s.rcv + 1)], TIME_WAIT),
        (CLOSING, 'ACK of FIN', lambda s: ('A', s.rcv, s.nxt), nothing, TIME_WAIT),
        (LAST_ACK, 'ACK of FIN', lambda s: ('A', s.rcv, s.nxt), nothing, CLOSED),
        (CLOSE_WAIT, 'FIN again', lambda s: ('FA', s.rcv - 1, s.nxt), ack, CLOSE_WAIT),
        (TIME_WAIT, 'FIN again', lambda s: ('FA', s.rcv - 1, s.nxt), ack, TIME_WAIT),
        (TIME_WAIT, 'data', lambda s: ('A', s.rcv, s.nxt, b'abc'), ack, TIME_WAIT),
        (TIME_WAIT, 'ACK', lambda s: ('A', s.rcv, s.nxt), nothing, TIME_WAIT),
        (TIME_WAIT, 'RST elsewhere', lambda s: ('R', s.rcv + 1), nothing, TIME_WAIT),
        (TIME_WAIT, 'RST before', lambda s: ('R', s.rcv - 1), nothing, TIME_WAIT),
        (TIME_WAIT, 'an old SYN', lambda s: ('S', s.rcv - 100), ack, TIME_WAIT),
        (TIME_WAIT, 'a new SYN (RFC 6191)', lambda s: ('S', s.rcv + 100), lambda s: [('SA', s.out[0][TCP].seq, s.rcv + 101)], TIME_WAIT),
    ])


def wait_refused():
    """3.10.7.3, 3.10.7.4: a peer has the port anew, with numbers below; our last acknowledgement is none of its SYN, and its RST ends the wait"""
    step.bring(TIME_WAIT)
    for what, segment, want in (
            ('an old SYN', ('S', step.rcv - 100), ack(step)),
            ('RST behind', ('R', step.rcv + 1), []),
            ('an old SYN again', ('S', step.rcv - 100), ack(step)),
            ('RST', ('R', step.rcv), []),
            ('ACK of what was', ('A', step.rcv, step.nxt), [('R', step.nxt, 0)]),
            ('SYN', ('S', step.rcv - 100), None)):
        got = step.put(*segment)
        why = step.expect(TIME_WAIT, what, got, [('SA', got[0][1] if got else 0, step.rcv - 99)] if want is None else want, None)
        if why:
            return why
    return None


def challenge_limit():
    """RFC 5961 7: the peer cannot make us talk without end."""
    step.bring(ESTABLISHED)
    answers = sum(len(step.put('R', step.rcv + 1)) for _ in range(50))
    if answers != 10:
        return '%d challenges in 5 s' % answers
    step.cmd('wait 5100000')
    return None if step.put('R', step.rcv + 1) else 'none after 5 s'


def overlaps():
    """3.10.7.4, seventh: each octet once, in order, however segments overlap."""
    text = bytes(range(97, 123))
    for pieces in ([(0, 10), (5, 15), (15, 26)], [(5, 15), (0, 10), (10, 26)], [(10, 20), (5, 25), (0, 26)],
                   [(20, 26), (10, 15), (12, 22), (0, 10)], [(0, 26), (0, 26)], [(3, 5), (7, 9), (11, 13), (0, 26)],
                   [(1, 26), (0, 1)], [(10, 12), (8, 14), (6, 16), (0, 8), (16, 26)]):
        step.bring(ESTABLISHED)
        for a, b in pieces:
            step.put('A', step.rcv + a, step.nxt, text[a:b])
        n = step.cmd('recv 100')
        if step.data != text:
            return '%s gives %d octets: %s' % (pieces, n, step.data)
        step.cmd('wait 100000')
    return None


def window_edges():
    """3.10.7.4: what lies beyond the window is not taken, what lies in it is."""
    step.bring(ESTABLISHED)
    for off in range(0, WINDOW, 1024):
        step.put('A', step.rcv + off, step.nxt, bytes(1024))
    step.cmd('wait 100000')
    if [a[2] for a in step.answers()][-1:] not in ([], [(step.rcv + WINDOW) & 0xffffffff]):
        return 'acknowledges %s' % step.answers()
    got = step.put('A', step.rcv + WINDOW, step.nxt, b'x')
    if [g[:3] for g in got] != [('A', step.nxt, step.rcv + WINDOW)] or step.out[0][TCP].window != 0:
        return 'a probe of the closed window is answered by %s' % got
    if step.cmd('recv 20000') != WINDOW:
        return 'the window is not full'
    if [a[:3] for a in step.answers()] != [('A', step.nxt, step.rcv + WINDOW)] or step.out[0][TCP].window != WINDOW:
        return 'the opening is told by %s' % step.answers()
    return None


def raw_options(raw):
    """A SYN with these octets as options."""
    raw += bytes(-len(raw) % 4)
    seg = bytearray(bytes(TCP(sport=3000, dport=80, flags='S', seq=IRS, window=20000)) + raw)
    seg[12] = (5 + len(raw) // 4) << 4
    ip = IP(src='10.0.0.1', dst='10.0.0.2', proto=6) / Raw(bytes(seg))
    frame = bytearray(bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / ip))
    # Scapy would write the options anew, so only its sum is taken.
    pseudo = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0, 6]) + len(seg).to_bytes(2, 'big')
    seg[16:18] = checksum(pseudo + bytes(seg)).to_bytes(2, 'big')
    frame[34:] = seg
    return frame.hex()


def forged_options():
    """3.1 (MUST-7): options of any length do no harm; RFC 7323 2.3; an MSS of nothing is not believed."""
    for raw in (b'\x02\x00\x05\xb4', b'\x02\x01', b'\x08\x0a\x00', b'\x03\xff', b'\x05', b'\xfe\x28'):
        step.start('rcvbuf=65536')
        step.cmd('listen')
        step.cmd('in ' + raw_options(raw))
        if step.out and 'R' not in str(step.out[0][TCP].flags):
            return '%s is answered by %s' % (raw.hex(), step.answers())
    step.start('rcvbuf=65536')
    step.passive(options=[('MSS', 0), ('WScale', 255)])
    if step.cmd('send 1000') != 1000:
        return 'an MSS of 0 stops sending'
    step.cmd('wait 0')
    sizes = [a[3] for a in step.answers()]
    step.start('rcvbuf=65536')
    step.passive(options=[('MSS', 100)])
    step.cmd('send 1000')
    if max(a[3] for a in step.answers()) > 100:
        return 'segments of %s for an MSS of 100' % [a[3] for a in step.answers()]
    return None if max(sizes, default=0) <= 536 else 'segments of %s' % sizes


def sack_forged():
    """RFC 2018 8: SACK is advice. Blocks of what was never sent change nothing, and data is kept until it is acknowledged."""
    step.start('rcvbuf=65536')
    step.passive(options=[('MSS', 1460), ('SAckOK', b'')])
    nxt = step.iss + 1
    step.cmd('send 3000')
    for block in ((nxt + 1000000, nxt + 2000000), (nxt + 10, nxt + 5), (nxt - 5000, nxt - 1), (nxt, nxt + 3000)):
        step.put('A', IRS + 1, nxt, options=[('NOP', None), ('NOP', None), ('SAck', tuple(b & 0xffffffff for b in block))])
    step.cmd('wait 2000000')
    if not any(a[1] == nxt & 0xffffffff and a[3] for a in step.answers()):
        return 'the first octet is not sent again: %s' % step.answers()
    return None


def timestamps():
    """RFC 7323 3.2, 5.3"""
    step.start('rcvbuf=65536')
    step.passive(options=[('MSS', 1460), ('Timestamp', (1000, 0))])
    nxt, rcv, ours = step.iss + 1, IRS + 1, step.synack_ts()
    if ours is None or dict(step.synack.options)['Timestamp'][1] != 1000:
        return 'SYN is answered with %s' % step.synack.options

    def ts(value):
        return [('NOP', None), ('NOP', None), ('Timestamp', (value, ours))]
    if step.put('A', rcv, nxt, b'abc'):
        return 'a segment without a timestamp is answered'
    if step.cmd('recv 10') != -11:
        return 'a segment without a timestamp is taken'
    got = step.put('A', rcv, nxt, b'abc', options=ts(900))
    if [g[:3] for g in got] != [('A', nxt & 0xffffffff, rcv)]:
        return 'an old timestamp is answered by %s' % got
    if step.cmd('recv 10') != -11:
        return 'an old segment is taken'
    step.put('A', rcv, nxt, b'abc', options=ts(1002))
    step.cmd('recv 10')
    if step.data != b'abc':
        return 'a good segment gives %s' % step.data
    # R3: a segment that is not at the left edge does not set the clock.
    step.cmd('wait 100000')
    step.put('A', rcv + 10, nxt, b'x', options=ts(5000))
    echo = dict(step.out[0][TCP].options)['Timestamp'][1]
    return None if echo == 1002 else 'echoes %d' % echo


def ecn_setup():
    """RFC 3168 6.1.1: what SYN and its answer say, by what the stack is told (0: it agrees, 1: it asks, 2: never)"""
    for ecn in range(3):
        step.start('plain=1 ecn=%d' % ecn)
        for asked, answer in (('S', 'SA'), ('SEC', 'SA' if ecn == 2 else 'SAE'), ('SE', 'SA'), ('SC', 'SA')):
            step.cmd('listen')
            step.peer += 1
            got = step.put(asked, IRS)
            if [g[0] for g in got] != [answer] or step.out[0][IP].tos & 3:
                return '%s is answered by %s with ecn=%d' % (asked, got, ecn)
        step.bring(SYN_SENT)
        step.start('plain=1 ecn=%d' % ecn)
        step.cmd('connect 3000')
        if step.out[0][TCP].flags != ('SEC' if ecn == 1 else 'S') or step.out[0][IP].tos & 3:
            return 'a call with ecn=%d is %s' % (ecn, step.answers())
    return None


def ecn_echo():
    """RFC 3168 6.1.3: each segment says ECE from a marked one on until CWR comes; marked data that is not new counts, too"""
    step.start('plain=1 rcvbuf=%d' % WINDOW)
    step.cmd('listen')
    step.put('SEC', IRS)
    step.iss = step.out[0][TCP].seq
    step.put('A', IRS + 1, step.iss + 1)
    step.cmd('accept')
    step.nxt, step.rcv = step.iss + 1, IRS + 1
    got = step.put('PA', step.rcv, step.nxt, b'abc', tos=3)
    why = step.expect(ESTABLISHED, 'marked data', got, [('AE', step.nxt, step.rcv + 3)], ESTABLISHED)
    if why:
        return why
    # A pure acknowledgement with the same mark is none, and data without a mark changes nothing.
    step.put('PA', step.rcv + 3, step.nxt, b'def', tos=2)
    step.cmd('wait 50000')
    if [a[0] for a in step.answers()] != ['AE']:
        return 'data without a mark ends the echo: %s' % step.answers()
    step.cmd('send 10')
    if [a[0] for a in step.answers()] != ['PAE'] or step.out[0][IP].tos & 3 != 2:
        return 'own data is sent as %s, TOS %#x' % (step.answers(), step.out[0][IP].tos)
    step.nxt += 10
    # CWR ends it; with a mark of its own it begins again.
    step.put('PAC', step.rcv + 6, step.nxt, b'ghi', tos=2)
    step.cmd('wait 50000')
    if [a[0] for a in step.answers()] != ['A']:
        return 'CWR is answered by %s' % step.answers()
    got = step.put('PAC', step.rcv + 9, step.nxt, b'jkl', tos=3)
    return step.expect(ESTABLISHED, 'CWR with a mark', got, [('AE', step.nxt, step.rcv + 12)], ESTABLISHED)


def ecn_cut():
    """RFC 3168 6.1.2, 6.1.5: ECE leads to CWR on the next new data, once; what is sent again is not ECN-capable"""
    step.start('rcvbuf=65536')
    step.cmd('listen')
    step.put('SEC', IRS, options=[('MSS', 1000)], window=60000)
    step.iss = step.out[0][TCP].seq
    step.put('A', IRS + 1, step.iss + 1, window=60000)
    step.cmd('accept')
    nxt, rcv = step.iss + 1, IRS + 1
    step.cmd('send 10000')
    sent = step.answers()
    if len(sent) != 10 or any(f[IP].tos & 3 != 2 or 'C' in f[TCP].flags for f in step.out):
        return 'ten segments leave as %s' % sent
    step.cmd('send 10000')
    before = len(step.out)
    step.put('AE', rcv, nxt + 2000, window=60000)
    if step.out:
        return '%s leaves at once after a mark (%d before)' % (step.answers(), before)
    new = []
    for k in range(3, 11):
        step.put('AE' if k < 10 else 'A', rcv, nxt + 1000 * k, window=60000)
        new += step.out
    if not 3 <= len(new) <= 8 or ['C' in f[TCP].flags for f in new] != [True] + [False] * (len(new) - 1):
        return 'new data leaves as %s' % [(str(f[TCP].flags), f[TCP].seq - nxt) for f in new]
    step.cmd('wait 1000000')
    again = [f for f in step.out if f[TCP].seq - nxt < 20000 and f[IP].len > 60]
    if not again or any(f[IP].tos & 3 for f in again if f[TCP].seq in [n[TCP].seq for n in new]):
        return 'sent again: %s' % [(f[TCP].seq - nxt, f[IP].tos) for f in step.out]
    return None


def ecn_not_agreed():
    """RFC 3168 6.1.1: without an agreement marks and flags mean nothing."""
    step.bring(ESTABLISHED)
    step.put('PAEC', step.rcv, step.nxt, b'abc', tos=3)
    step.cmd('wait 50000')
    if [a[0] for a in step.answers()] != ['A']:
        return 'marked data is answered by %s' % step.answers()
    step.cmd('send 100')
    return None if step.out[0][IP].tos == 0 and step.out[0][TCP].flags == 'PA' else 'data leaves as %s' % step.answers()


def path_mtu():
    """RFC 1191, RFC 5927 4.1: a router's word about a segment that is under way is believed, and no other's"""
    def too_large(quoted, mtu):
        ip = bytes(quoted[IP])[:28]
        step.cmd('in ' + bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='10.0.0.254', dst='10.0.0.2') /
                               ICMP(type=3, code=4, nexthopmtu=mtu) / Raw(ip)).hex())
        return [a[3] for a in step.answers()]
    step.start('plain=1')
    step.cmd('listen')
    step.put('S', IRS, options=[('MSS', 1460)])
    step.iss = step.out[0][TCP].seq
    step.put('A', IRS + 1, step.iss + 1)
    step.cmd('accept')
    step.cmd('send 4380')
    first = step.out
    if [f[IP].len for f in first] != [1500] * 3 or any('DF' not in f[IP].flags for f in first):
        return 'segments leave as %s' % step.answers()
    old = first[0].copy()
    old[TCP].seq -= 1000
    if too_large(old, 1000) or too_large(first[0], 1500):
        return 'a message that cannot be true is believed'
    got = too_large(first[1], 1000)
    if sum(got) != 4380 or max(got) != 960:
        return 'behind a path of 1000 octets segments of %s leave' % got
    if any('DF' not in f[IP].flags for f in step.out):
        return 'a router may cut what is sent again'
    return 'an older message is believed' if too_large(first[2], 1000) else None


def close_calls():
    """3.10.4, 3.10.5: what the calls send in each state"""
    for state, call, flags, behind in (
            (ESTABLISHED, 'shutdown', 'FA', FIN_WAIT1), (CLOSE_WAIT, 'shutdown', 'FA', LAST_ACK), (FIN_WAIT1, 'shutdown', None, FIN_WAIT1),
            (ESTABLISHED, 'abort', 'RA', None), (CLOSE_WAIT, 'abort', 'RA', None), (FIN_WAIT2, 'abort', 'RA', None),
            (SYN_SENT, 'close', None, None), (ESTABLISHED, 'close', 'FA', None)):
        step.bring(state)
        step.cmd(call)
        got = step.answers()
        want = [] if flags is None else [(flags, step.nxt, step.rcv)]
        why = step.expect(state, call, got, want, behind)
        if why:
            return why
    step.bring(ESTABLISHED)
    step.put('A', step.rcv, step.nxt, b'unread')
    step.cmd('close')
    return step.expect(ESTABLISHED, 'close with data unread (RFC 2525 2.17)', step.answers(), [('RA', step.nxt, step.rcv + 6)], None)


def malformed():
    """3.9.2.3 and 3.1: frames that are nobody's, or not whole, are never answered."""
    step.start()
    step.cmd('listen')
    good = bytearray(bytes(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / IP(src='10.0.0.1', dst='10.0.0.2') /
                           TCP(sport=3000, dport=80, flags='S', seq=IRS)))

    def changed(at, value):
        b = bytearray(good)
        b[at] = value
        return b
    for what, frame in [('octet %d' % i, changed(i, good[i] ^ 0x11)) for i in range(14, 54)] + \
                       [('length %d' % n, good[:n]) for n in range(0, 54)]:
        step.cmd('in ' + frame.hex() if frame else 'conns')
        if step.out:
            return '%s: answered by %s' % (what, step.answers())
    for src in ('224.0.0.1', '255.255.255.255', '0.0.0.0'):
        step.cmd('in ' + bytes(Ether() / IP(src=src, dst='10.0.0.2') / TCP(sport=3000, dport=80, flags='S')).hex())
        if step.out:
            return 'from %s: answered' % src
    step.cmd('in ' + good.hex())
    return None if step.out else 'the good one is not answered'


for name, fn in list(globals().items()):
    if callable(fn) and getattr(fn, '__doc__', None) and getattr(fn, '__module__', '') == '__main__' and re.match(r'[a-z_]+$', name) \
            and fn.__code__.co_argcount == 0:
        cases.run('tcp-' + name.replace('_', '-'), fn)
step.p.stdin.close()
if step.p.wait(30) != 0:
    print('not ok tcp-step-end: exit status %d' % step.p.returncode)
    sys.exit(1)
cases.exit()
