#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB ports with several queues between two Linux stacks: flows come to the queues that a Toeplitz hash of our own says."""
import re
import signal
import subprocess
import time

import test_ipoib
import tpmd
from ib_cases import REFUSED, run_all
from rss_hash import KEY, toeplitz, tuple_of
from test_ipoib import A, B, TAPS, ns, ping, sh

QUEUES = 4
PACKETS = 20
PORT = 2  # the IPoIB port whose receive queues are looked at
OTHER_KEY = bytes(range(0x21, 0x21 + 40))
# Microsoft's verification suite: addresses, ports, hash of the addresses, hash of all.
PUBLISHED = (('66.9.149.187', 2794, '161.142.100.80', 1766, 0x323e8fc2, 0x51ccc178),
             ('38.27.205.30', 48228, '209.142.163.6', 2217, 0x82989176, 0xafc7327f),
             ('3ffe:2501:200:1fff::7', 2794, '3ffe:2501:200:3::1', 1766, 0x2cc18cd5, 0x40207d3d))
# Sends some datagrams of each flow: who sends, from which port, to whom, to which port.
SENDER = '''
import socket, sys
for flow in sys.argv[2:]:
    src, sport, dst, dport = flow.split(',')
    s = socket.socket(socket.AF_INET6 if ':' in src else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((src, int(sport)))
    for _ in range(int(sys.argv[1])):
        s.sendto(b'rss' * 20, (dst, int(dport)))
    s.close()
'''


class RssLink(test_ipoib.Link):
    """One worker lcore polls the queues of every port: the other CPU is the card's, the subnet manager's and the stacks'."""

    options = ('--rxq', str(QUEUES), '--txq', str(QUEUES))
    lcores = '0@0,1@1'

    def spaces(self):
        super().spaces()
        # Nobody but the test sends anything that is hashed.
        for i, space in enumerate((A, B)):
            ns(space, 'ip', 'link', 'set', TAPS[i], 'multicast', 'off')

    def queues(self, port=PORT):
        x = self.ask('show port xstats %d' % port)['ports'][0]
        x = x.get('xstats', x)
        return [x['rx_q%d_packets' % q] for q in range(QUEUES)]


class TwoLcores(RssLink):
    """Two worker lcores share the queues of every port."""

    lcores = '0@0,1@0,2@1'


def send(flows, count=PACKETS):
    rc, out = ns(A, '/usr/bin/python3', '-c', SENDER, str(count), *('%s,%d,%s,%d' % f for f in flows))
    if rc != 0:
        raise RuntimeError(out[-300:])


def flows_of(link, v6=False):
    """Flows of which each queue gets some, as chance has it."""
    src, dst = ('fd00:8::1', 'fd00:8::2') if v6 else ('10.8.0.1', '10.8.0.2')
    return [(src, 20000 + 37 * i, dst, 30000 + 11 * i) for i in range(12)]


def spread(link, flows, where):
    """Sends the flows one by one; the queue of each gets its packets, the others not as many all together."""
    used, late = set(), 0
    for f in flows:
        want = where(f)
        before = link.queues()

        def got():
            return [a - b for a, b in zip(link.queues(), before)]
        # Datagrams may get lost on a busy machine; sent again until enough have come.
        for tries in range(1, 21):
            send([f])
            end = time.time() + 2
            while time.time() < end and got()[want] < PACKETS:
                time.sleep(0.05)
            if got()[want] >= PACKETS:
                break
        n = got()
        # Neighbours are asked now and then, which is not hashed or by other numbers.
        if n[want] < PACKETS or sum(n) - n[want] >= PACKETS + late:
            return '%s: to queue %d, got %s' % (f, want, n)
        # What was sent more than once may come while the next flow is looked at.
        late += tries * PACKETS - min(n[want], tries * PACKETS)
        used.add(want)
    return used


def default_queue(f):
    return toeplitz(KEY, tuple_of(*f)) % QUEUES


def published(link):
    for src, sport, dst, dport, ip, l4 in PUBLISHED:
        if (toeplitz(KEY, tuple_of(src, sport, dst, dport, False)), toeplitz(KEY, tuple_of(src, sport, dst, dport))) != (ip, l4):
            return 'our own Toeplitz is wrong'
    return None


def come_up(link):
    link.start_sm()
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'ports do not come up')
    link.spaces()
    return ping(A, '10.8.0.2') or ping(A, 'fd00:8::2', 3)


def all_queues(link, v6):
    used = spread(link, flows_of(link, v6), default_queue)
    if isinstance(used, str):
        return used
    return None if used == set(range(QUEUES)) else 'the flows use queues %s only' % used


def two_lcores(link):
    text = str(link.ask('show fwd'))
    lcores = {int(n) for n in re.findall(r"'lcore': (\d+)", text)}
    return None if {1, 2} <= lcores else 'lcores %s: %s' % (lcores, text[:300])


def moved(link):
    """Another table: flows go to the entry's queue from then on; it may change while they flow."""
    for table in ([3, 2, 1, 0], [2], [1, 3], [0, 1, 2], list(range(QUEUES))):
        link.say('rss reta %d %s' % (PORT, ','.join(map(str, table))))
        used = spread(link, flows_of(link)[:4], lambda f: table[toeplitz(KEY, tuple_of(*f)) % 128 % len(table)])
        if isinstance(used, str):
            return 'table %s: %s' % (table, used)
    # While packets come: a change loses what comes in its moment, which is long where others have the CPUs, and nothing afterwards.
    p = subprocess.Popen(['ip', 'netns', 'exec', A, 'ping', '-n', '-i', '0.02', '10.8.0.2'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for change in range(12):
            link.say('rss reta %d %d' % (PORT, change % QUEUES))
            link.ask('show ipoib')
            link.wait(lambda: ping(A, '10.8.0.2', 1) is None, 120, 'nothing comes after change %d' % change)
    finally:
        p.send_signal(signal.SIGINT)
        out = p.communicate()[0].decode()
    print('# ipoib-rss-table: %s' % re.search(r'\d+ packets transmitted, \d+ received', out)[0])
    link.say('rss reta %d 0,1,2,3' % PORT)
    return ping(A, '10.8.0.2')


def key_and_types(link):
    link.say('rss key %d %s' % (PORT, OTHER_KEY.hex()))
    used = spread(link, flows_of(link)[:6], lambda f: toeplitz(OTHER_KEY, tuple_of(*f)) % QUEUES)
    if isinstance(used, str):
        return 'another key: ' + used
    link.say('rss key %d %s' % (PORT, KEY.hex()))
    link.say('rss types %d ip' % PORT)
    used = spread(link, flows_of(link)[:4], lambda f: toeplitz(KEY, tuple_of(*f, ports=False)) % QUEUES)
    link.say('rss types %d all' % PORT)
    if isinstance(used, str):
        return 'addresses alone: ' + used
    used = spread(link, flows_of(link)[:4], default_queue)
    return used if isinstance(used, str) else None


def sent_by_several(link):
    """The host behind the other port sees one neighbour, by whichever queue that sends."""
    before = link.ask('show port xstats 0')['ports'][0]
    before = before.get('xstats', before)
    send(flows_of(link) * 4, 10)
    bad = ping(A, '10.8.0.2')
    x = link.ask('show port xstats 0')['ports'][0]
    x = x.get('xstats', x)
    used = sum(x['tx_q%d_packets' % q] > before['tx_q%d_packets' % q] for q in range(QUEUES))
    if bad or used < 2:
        return bad or 'only %d queues have sent' % used
    remote = link.ask('show ipoib endpoints %d remote' % PORT)['remote']
    if len(remote) != 1:
        return 'neighbours: %s' % remote
    # Once they are known, which is the control thread's to learn, packets are not looked at by it.
    def short_way():
        was, control = sum(link.queues()), link.ask('show ipoib counters %d' % PORT)['rx_control_packets']
        send(flows_of(link) * 2, 10)
        came = tpmd.wait_until(lambda: sum(link.queues()) - was >= 240, 10)
        seen.append((came, link.ask('show ipoib counters %d' % PORT)['rx_control_packets'] - control))
        return came and seen[-1][1] < 40
    seen = []
    return None if tpmd.wait_until(short_way) else '240 packets came, so many by the long way: %s' % seen


def tcp(link):
    end = ('-n', '4M')
    return test_ipoib.iperf(link, '-P', '4', end=end) or test_ipoib.iperf(link, '-P', '4', '-R', end=end)


def start_again(link):
    """The link goes down and comes back with what was set; a stop and a start of the port, too."""
    table = [1, 0, 3, 2]
    link.say('rss reta %d 1,0,3,2' % PORT)
    rc, out = sh('ibportstate', '-C', 'net_mlx4_model0', '-P', '2', '-D', '0', '2', 'disable', env=link.env)
    if rc != 0:
        return out[-300:]
    link.wait(lambda: 'up' not in link.states(), 120, 'the link stays up')
    sh('ibportstate', '-C', 'net_mlx4_model0', '-P', '2', '-D', '0', '2', 'enable', env=link.env)
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'the link does not come back')
    bad = ping(A, '10.8.0.2')
    if bad:
        return bad
    used = spread(link, flows_of(link)[:4], lambda f: table[default_queue(f)])
    if isinstance(used, str):
        return used
    link.say('stop')
    link.say('port stop %d' % PORT)
    link.say('port start %d' % PORT)
    link.say('start')
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'not up again')
    link.say('rss reta %d 0,1,2,3' % PORT)
    # It has another number now, which neighbours hear of by what its host asks them.
    ns(B, 'ip', 'neigh', 'flush', 'dev', TAPS[1])
    bad = ping(B, '10.8.0.1') or ping(A, '10.8.0.2')
    if bad:
        return bad
    used = spread(link, flows_of(link)[:4], default_queue)
    return used if isinstance(used, str) else None


def single_queues(link):
    """A queue that is stopped alone gets nothing: the next one has its flows, until it is started again."""
    def switch(*lines):
        link.say('stop')
        for line in lines:
            link.say('port queue %d %s' % (PORT, line))
        link.say('start')
    link.say('port queue %d rxq 1 stop' % PORT)
    link.wait(lambda: 'port %d: forwarding runs' % PORT in link.text(), 120, 'a queue is stopped while it is used')
    switch('rxq 1 stop', 'rxq %d stop' % QUEUES)
    link.wait(lambda: 'rxq %d, want 0..%d' % (QUEUES, QUEUES - 1) in link.text(), 120, 'a queue that is not there')
    before = link.queues()[1]
    used = spread(link, flows_of(link)[:8], lambda f: default_queue(f) + (default_queue(f) == 1))
    if isinstance(used, str) or link.queues()[1] != before:
        return 'stopped: %s, %d packets, then %s' % (used, before, link.queues())
    # By another table, too.
    link.say('rss reta %d 1,0' % PORT)
    used = spread(link, flows_of(link)[:4], lambda f: (2, 0)[default_queue(f) % 2])
    link.say('rss reta %d 0,1,2,3' % PORT)
    if isinstance(used, str) or link.queues()[1] != before:
        return 'stopped, another table: %s, %s' % (used, link.queues())
    switch('rxq 1 start')
    used = spread(link, flows_of(link)[:8], default_queue)
    if isinstance(used, str):
        return 'started again: ' + used
    # What is sent by a queue that is stopped is dropped by name, and by no other.
    switch('txq 0 stop', 'txq 1 stop', 'txq 2 stop', 'txq 3 stop')
    def lost():
        ns(B, 'ping', '-n', '-c', '3', '-i', '0.2', '-W', '1', '10.8.0.1')
        return link.ask('show ipoib counters %d' % PORT)['drop_tx_stopped']
    counted_ones = tpmd.wait_until(lambda: lost() >= 3)
    switch('txq 0 start', 'txq 1 start', 'txq 2 start', 'txq 3 start')
    return ping(B, '10.8.0.1') or (None if counted_ones else 'they are not counted as drop_tx_stopped')


def refusals(link):
    link.say('ipoib set %d mode connected' % PORT)
    link.wait(lambda: '%d transmit queues, connected mode has 1' % QUEUES in link.text(), 120, 'connected mode with several queues')
    link.say('rss reta %d 4' % PORT)
    link.say('rss key %d 00' % PORT)
    link.wait(lambda: 'key of 1 octets, want 40' in link.text(), 120, 'a short key')
    used = spread(link, flows_of(link)[:2], default_queue)
    return used if isinstance(used, str) else None


def counted(link):
    return test_ipoib.drops(link, 0)[1] or test_ipoib.drops(link, 2)[1]


if __name__ == '__main__':
    # What takes two lcores is little: they keep two CPUs busy, and all else has to wait for them.
    run_all(
        ('ipoib-rss', ('opensm',), TwoLcores, TwoLcores.close, (
            ('come-up-two', come_up), ('two-lcores', two_lcores), ('spread', all_queues, False), ('tcp', tcp))),
        ('ipoib-rss', ('opensm',), RssLink, RssLink.close, (
            ('published', published), ('come-up', come_up), ('spread-ipv6', all_queues, True), ('table', moved),
            ('key-and-types', key_and_types), ('transmit-queues', sent_by_several), ('start-again', start_again),
            ('refusals', refusals), ('counters', counted), ('single-queues', single_queues)), REFUSED))
