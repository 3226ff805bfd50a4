#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Alone: three busy lcores.
"""The lcore that a group of queues wants (Q-1, V-7): who polls its queues, by triplane's tables and by the kernel's account of
its threads; it moves while frames of two groups come, and each of them arrives."""
import struct
import tempfile

import tpmd

LCORES = '0@0,1@0,2@1,3@1'
MAC = {'a': '02:00:00:00:00:0a', 'b': '02:00:00:00:00:0b'}
OCTETS = 600  # of a frame: of these a wire of 2 Mb/s takes some 400 a second, and the ring holds those of ten seconds
SETUP = ['port stop 2', 'set setting 2 rx-queues 3', 'set setting 2 rx-ring 4096', 'port start 2', 'set work 400000 0', 'set fwd rxonly 2']

cases = tpmd.Cases()


def capture(path):
    """A frame to each group."""
    one = {g: bytes.fromhex(MAC[g].replace(':', '')) + bytes.fromhex('020000000001' '0800') + bytes(OCTETS - 14) for g in 'ab'}
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for g in 'ab':
            f.write(struct.pack('<IIII', 0, 0, OCTETS, OCTETS) + one[g])


def program(folder, endless=False):
    """endless: its frames come again and again, at about 6000 a second."""
    capture(folder + '/in.pcap')
    t = tpmd.Triplane(['net_pcap0,rx_pcap=%s/in.pcap%s' % (folder, ',infinite_rx=1' if endless else ''), 'net_mlx4_model0,rate0=2'], on=LCORES)
    for line in SETUP:
        t.tell(line)
    return t


def homes(t):
    """The lcore of each receive queue of port 2, and what it received."""
    return {s['rx_queue']: (lc['lcore'], s['rx_packets']) for lc in t.ask('show fwd')['lcores'] for s in lc['streams'] if s['rx_port'] == 2}


def busy(t, lcore):
    """Ticks of CPU that the lcore's thread had."""
    with open(tpmd.lcore_task(t.proc.pid, lcore) + '/stat') as f:
        return sum(int(n) for n in f.read().rsplit(')', 1)[1].split()[11:13])


def rests(t, lcore):
    """It has no CPU while its former queue gets frames."""
    was, frames = busy(t, lcore), homes(t)[1][1]
    return tpmd.wait_until(lambda: homes(t)[1][1] >= frames + 50) and busy(t, lcore) == was


def counts(t):
    return {g['name']: g for g in t.ask('show group 2')['ports'][0]['groups']}


def at_start():
    with tempfile.TemporaryDirectory() as d, program(d) as t:
        t.tell('group add 2 a mac=%s queues=1 lcore=3' % MAC['a'])
        t.tell('start')
        home = homes(t)
        t.tell('stop')
        t.end()
    return None if home[1][0] == 3 else str(home)


def live():
    with tempfile.TemporaryDirectory() as d, program(d, True) as t:
        # Nothing but the queue of group a is on lcore 3.
        t.tell('set corelist 1,2,3')
        t.tell('group add 2 d default=on queues=0 lcore=2')
        t.tell('group add 2 a mac=%s queues=1 lcore=3' % MAC['a'])
        t.tell('group add 2 b mac=%s queues=2 lcore=1' % MAC['b'])
        t.tell('start')
        for lcore in (2, 3, 1, 3, 2, 1, 2, 3):
            t.tell('group modify 2 a lcore=%d' % lcore)
            home = homes(t)
            if home[1][0] != lcore or home[2][0] != 1:
                return 'lcore=%d: %s' % (lcore, home)
            if not tpmd.wait_until(lambda: homes(t)[1][1] >= home[1][1] + 50):
                return 'lcore=%d: its queue is not polled: %s, then %s' % (lcore, home, homes(t))
            if lcore == 3 and not tpmd.wait_until(lambda was=busy(t, 3): busy(t, 3) > was):
                return 'lcore 3 has a queue and uses no CPU'
            # What it was at when the queue went may take it a while.
            if lcore != 3 and not tpmd.wait_until(lambda: rests(t, 3)):
                return 'lcore=%d: lcore 3 has no queue and uses CPU, or the queue is polled no more: %s' % (lcore, homes(t))
        t.tell('group modify 2 a lcore=any')
        stay = homes(t)[1][0]
        # No more frames from the file; those on their way arrive.
        t.tell('stop')
        before = {s['rx_queue']: s['rx_packets'] for s in t.ask('show summary')['streams'] if s['rx_port'] == 2}
        t.tell('set fwd rxonly 0')
        t.tell('start')

        def through():
            s, g, home = t.ask('show port stats all')['ports'], counts(t), homes(t)
            return g['a']['rx_frames'] + g['b']['rx_frames'] == s[1]['tx_packets'] and \
                all(before[1 + i] + home[1 + i][1] == g['ab'[i]]['rx_frames'] for i in (0, 1))
        if not tpmd.wait_until(through, 120):
            return 'frames are missing: %s %s %s and %s' % (t.ask('show port stats all')['ports'], counts(t), before, homes(t))
        missed = t.ask('show port stats 2')['ports'][0]['rx_missed']
        t.tell('stop')
        t.end()
    return None if missed == 0 and stay == 3 else 'missed %d, lcore=any moved it to %d' % (missed, stay)


def refused():
    """Words that cannot come true change nothing."""
    want = [('group add 2 c mac=02:00:00:00:00:0c queues=0 lcore=9', 'lcore: 9, want any or one that forwards: 1 2 3'),
            ('group modify 2 a lcore=0', 'lcore: 0, want any or one that forwards: 1 2 3'),
            ('group modify 2 b lcore=2', 'shares a transmit queue'),
            ('set setting group 2 a lcore 9', 'lcore: 9')]
    with tempfile.TemporaryDirectory() as d, program(d) as t:
        t.tell('group add 2 a mac=%s queues=1 lcore=3' % MAC['a'])
        t.tell('group add 2 b mac=%s queues=2' % MAC['b'])
        # All queues of port 2 send by the one transmit queue of port 0.
        t.tell('set fwd io 2')
        t.tell('set peer 2 0')
        t.tell('start')
        before = homes(t)
        for line, _ in want:
            t.tell(line)
        after, groups = homes(t), counts(t)
        t.tell('stop')
        err = t.over().splitlines()
    if len(err) != len(want) or any(w not in e for e, (_, w) in zip(err, want)):
        return str(err)
    policy = {n: g['policy']['lcore'] for n, g in groups.items()}
    same = {q: lc for q, (lc, _) in before.items()} == {q: lc for q, (lc, _) in after.items()}
    return None if same and policy == {'a': '3', 'b': 'any'} else '%s %s %s' % (before, after, policy)


cases.run('a group starts on its lcore', at_start)
cases.run('a group moves to another lcore under load', live)
cases.run('lcores that cannot be had', refused)
cases.exit()
