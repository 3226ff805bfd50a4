#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A failover pair of IPoIB ports at an InfiniBand switch, a third port as its peer, a Linux stack behind each: who carries, what
neighbours are told, what is lost. tshark reads the announcements on the wire."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

from ib_cases import REFUSED, run_cases
from test_sm import Net, sh, switch_lid, tool

ID = os.getpid()
A, B = SPACES = ['tppa%d' % ID, 'tppb%d' % ID]    # behind the pair, behind the peer
TAPS = ['tpp%d%d' % (i, ID) for i in (0, 1)]
GUIDS = (0x0002c90300a1d200, 0x0002c90300a1e200)
DIR = tempfile.mkdtemp(prefix='tppair')
MASTER = 'net_mlx4_model1/2'
PAIR, PEER = 0, 4
# Ports of the switch: 1 and 2 are the pair's.
PRIMARY, BACKUP = '1', '2'
MACS = {'primary': '00:02:ca:a1:d2:01', 'backup': '00:02:ca:a1:d2:02'}    # which the peer makes of the GUIDs


def wire(port):
    return 'ibswitch:pr%d/port:%d/capture:%s' % (ID, port, os.path.join(DIR, 'port%d.pcap' % port))


VDEVS = ['net_mlx4_model%d,guid=0x%x,port0=ib,port1=ib,wire0=%s,wire1=%s' % (i, g, wire(2 * i + 1), wire(2 * i + 2))
         for i, g in enumerate(GUIDS)]
PORTS = ['net_ib_pair0,primary=net_mlx4_model0/1,backup=net_mlx4_model0/2', 'net_tap0,iface=' + TAPS[0],
         'net_ipoib0,port=net_mlx4_model1/1', 'net_tap1,iface=' + TAPS[1]]


class PairNet(Net):
    options = ('--rxq', '2', '--txq', '2')


def ns(space, *cmd):
    return sh('ip', 'netns', 'exec', space, *cmd)


def pair(net):
    return net.ask('show ipoib pair')['pairs'][0]


def carries(net, who):
    """Waits until a port of the pair carries, and is up."""
    def now():
        p = pair(net)
        return p['up'] and p['active'] == who
    return net.until(now, lambda: (pair(net), net.text()))


def cable(net, port, what):
    """The switch's port is disabled or enabled."""
    return tool(net, ['ibportstate', switch_lid(net), port, what], [])


def ping(net, space, address):
    """Until one is answered."""
    out = ''

    def answered():
        nonlocal out
        rc, out = ns(space, 'ping', '-n', '-c', '1', '-W', '1', address)
        return rc == 0
    return net.until(answered, lambda: out)


def known_as(net, space, address, mac):
    """Waits until a Linux stack knows an address by a MAC, without asking for it."""
    def seen():
        return sh('ip', '-n', space, 'neigh', 'show', address)[1]
    return net.until(lambda: mac in seen(), seen)


def come_up(net):
    net.say('ib sm on ' + MASTER)
    bad = net.until(lambda: [pair(net)[k] for k in ('primary_state', 'backup_state')] == ['up', 'up'] and net.ipoib() == ['up'],
                    lambda: (pair(net), net.ipoib(), net.managers()))
    bad = bad or carries(net, 'primary')
    if bad:
        return bad
    net.say('start')
    for i, (space, tap) in enumerate(zip(SPACES, TAPS)):
        sh('ip', 'netns', 'add', space)
        sh('ip', 'link', 'set', tap, 'netns', space)
        sh('ip', '-n', space, 'addr', 'add', '10.10.0.%d/24' % (i + 1), 'broadcast', '10.10.0.255', 'dev', tap)
        sh('ip', '-n', space, 'addr', 'add', 'fd00:10::%d/64' % (i + 1), 'dev', tap, 'nodad')
        sh('ip', '-n', space, 'link', 'set', tap, 'up')
    bad = ping(net, A, '10.10.0.2') or ping(net, A, 'fd00:10::2')
    return bad or known_as(net, B, '10.10.0.1', MACS['primary']) or known_as(net, B, 'fd00:10::1', MACS['primary'])


RECEIVER = ('import socket,sys\n'
            's=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n'
            's.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n'
            's.bind(("",int(sys.argv[1])))\n'
            'if sys.argv[2:]: s.setsockopt(socket.IPPROTO_IP,socket.IP_ADD_MEMBERSHIP,socket.inet_aton(sys.argv[2])+'
            'socket.inet_aton("10.10.0.1"))\n'
            'while True: print(s.recv(100).decode(),flush=True)\n')
SENDER = ('import socket,sys\n'
          's=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n'
          's.setsockopt(socket.SOL_SOCKET,socket.SO_BROADCAST,1)\n'
          's.setsockopt(socket.IPPROTO_IP,socket.IP_MULTICAST_IF,socket.inet_aton("10.10.0.2"))\n'
          'for word in sys.argv[3:]: s.sendto(word.encode(),(sys.argv[1],int(sys.argv[2])))\n')


class Listener:
    """What arrives in namespace A at a UDP port, line by line."""

    def __init__(self, name, *args):
        self.path = os.path.join(DIR, name)
        self.out = open(self.path, 'w')
        self.proc = subprocess.Popen(['ip', 'netns', 'exec', A, '/usr/bin/python3', '-c', RECEIVER, *args],
                                     stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT)

    def lines(self):
        with open(self.path) as f:
            return f.read().split()

    def hears(self, net, address, port, word):
        """Sends until the word arrives."""
        def heard():
            ns(B, '/usr/bin/python3', '-c', SENDER, address, port, word)
            return word in self.lines()
        return net.until(heard, self.lines)

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.out.close()


def group_heard(net, mgid):
    """By the port that carries."""
    return any(e['mgid'] == mgid and e['receives'] for e in net.ask('show ipoib endpoints %d multicast' % PAIR)['multicast'])


def fail_over(net):
    """Nobody sends: what the peer's stack learns, it was told. Groups are heard by the other port."""
    mgid = 'ff12401bffff0000000000000f010203'
    before = pair(net)['failovers']
    group = Listener('group', '5000', '239.1.2.3')
    try:
        bad = net.until(lambda: group_heard(net, mgid), lambda: 'not joined') or group.hears(net, '239.1.2.3', '5000', 'before')
        bad = bad or cable(net, PRIMARY, 'disable') or carries(net, 'backup')
        bad = bad or known_as(net, B, '10.10.0.1', MACS['backup']) or known_as(net, B, 'fd00:10::1', MACS['backup'])
        bad = bad or net.until(lambda: group_heard(net, mgid), lambda: 'not joined again') or group.hears(net, '239.1.2.3', '5000', 'after')
    finally:
        group.close()
    if bad:
        return bad
    p = pair(net)
    if (p['failovers'], p['primary_state'], p['backup_state']) != (before + 1, 'link-down', 'up') or 'takes over' not in net.text():
        return 'says %s' % p
    return ping(net, A, '10.10.0.2') or ping(net, B, '10.10.0.1') or ping(net, B, 'fd00:10::1')


def announced(net):
    """The backup's port of the switch saw ARP of IPoIB and neighbour discovery with that port's hardware address."""
    if shutil.which('tshark') is None:
        return 'skip no tshark'
    hw = net.ask('show ipoib endpoints %d remote' % PEER)['remote']
    own = [e['hardware_address'] for e in hw if e['mac'].lower() == MACS['backup']]
    if len(own) != 1:
        return 'the peer knows %s' % hw

    for what in ('arp.opcode==1 && arp.src.proto_ipv4==10.10.0.1 && arp.dst.proto_ipv4==10.10.0.1',
                 'icmpv6.type==136 && icmpv6.nd.na.flag.o==1 && icmpv6.nd.na.flag.s==0 && icmpv6.nd.na.target_address==fd00:10::1'):
        text = subprocess.run(['tshark', '-r', os.path.join(DIR, 'port2.pcap'), '-Y', what, '-V'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=60).stdout.decode()
        if own[0] not in text.replace(':', ''):
            return 'not on the wire: %s of %s; %s' % (what, own[0], text[-1500:])
        if 'Malformed' in text:
            return 'malformed: ' + text[-1500:]
    return None


def once(net):
    """Both ports hear a broadcast; the stack gets it once."""
    heard = Listener('all', '5001')
    try:
        bad = heard.hears(net, '10.10.0.255', '5001', 'first')
        ns(B, '/usr/bin/python3', '-c', SENDER, '10.10.0.255', '5001', *('n%d' % i for i in range(20)))
        bad = bad or heard.hears(net, '10.10.0.255', '5001', 'last')
        lines = heard.lines()
    finally:
        heard.close()
    twice = [w for w in lines if w.startswith('n') and lines.count(w) > 1]
    return bad or ('twice: %s' % twice if twice else None)


def stream(net, change, who):
    """A stream of echo requests while the other port takes over; it goes on by itself. Returns what was lost."""
    path = os.path.join(DIR, 'ping')
    with open(path, 'w') as f:
        p = subprocess.Popen(['ip', 'netns', 'exec', A, 'ping', '-n', '-i', '0.02', '10.10.0.2'], stdin=subprocess.DEVNULL, stdout=f,
                             stderr=subprocess.STDOUT)

    def answers():
        with open(path) as f:
            return len(re.findall('bytes from', f.read()))
    bad = net.until(lambda: answers() > 20, answers)
    bad = bad or change() or carries(net, who)
    before = answers()
    bad = bad or net.until(lambda: answers() > before + 20, answers)
    p.send_signal(signal.SIGINT)
    p.wait()
    with open(path) as f:
        text = f.read()
    count = re.search(r'(\d+) packets transmitted, (\d+) received', text)
    if bad or count is None:
        return bad or text[-300:]
    print('# %s: %d of %s echo requests without an answer' % (who, int(count.group(1)) - int(count.group(2)), count.group(1)))
    return None


def fail_back(net):
    before = pair(net)['failbacks']
    bad = stream(net, lambda: cable(net, PRIMARY, 'enable'), 'primary')
    p = pair(net)
    return bad or (None if p['failbacks'] == before + 1 else 'says %s' % p) or known_as(net, B, '10.10.0.1', MACS['primary'])


def fail_over_stream(net):
    bad = stream(net, lambda: cable(net, PRIMARY, 'disable'), 'backup')
    return bad or stream(net, lambda: cable(net, PRIMARY, 'enable'), 'primary')


def by_hand(net):
    """A port that was asked for is kept; one that is down is refused."""
    bad = net.until(lambda: pair(net)['backup_state'] == 'up', lambda: pair(net))
    net.say('ipoib pair active %d backup' % PAIR)
    bad = bad or carries(net, 'backup')
    p = pair(net)
    if bad or not p['kept'] or p['moves_asked'] != 1:
        return bad or 'says %s' % p
    bad = ping(net, A, '10.10.0.2') or cable(net, PRIMARY, 'disable')
    bad = bad or net.until(lambda: pair(net)['primary_state'] == 'link-down', lambda: pair(net))
    net.say('ipoib pair active %d primary' % PAIR)
    net.say('ipoib pair active %d primary' % PEER)
    for want in ('the primary port is not up', 'port %d is no pair' % PEER):
        bad = bad or net.until(lambda: want in net.text(), lambda: 'not said: ' + want)
    bad = bad or (None if pair(net)['active'] == 'backup' else 'says %s' % pair(net))
    bad = bad or cable(net, PRIMARY, 'enable') or net.until(lambda: pair(net)['primary_state'] == 'up', lambda: pair(net))
    net.say('ipoib pair active %d primary' % PAIR)
    return bad or carries(net, 'primary') or ping(net, A, '10.10.0.2')


def at_run_time(net):
    """A pair in another partition is made and goes; what cannot be one is refused."""
    one, two = 'net_mlx4_model0/1', 'net_mlx4_model0/2'
    for line, want in (('%s %s' % (one, one), 'cannot be primary and backup'), ('%s x' % one, "backup 'x' is no InfiniBand port"),
                       ('%s %s' % (one, two), 'has an IPoIB port of P_Key 0xffff')):
        net.say('ipoib pair add ' + line)
        bad = net.until(lambda: want in net.text(), lambda: 'not said: %s in %s' % (want, net.text()[-400:]))
        if bad:
            return bad
    for _ in range(2):
        before = len(net.ask('show ipoib pair')['pairs'])
        net.say('ipoib pair add %s %s failback off delay 0 pkey 0x8005' % (one, two))
        bad = net.until(lambda: len(net.ask('show ipoib pair')['pairs']) == before + 1, net.text)
        if bad:
            return bad
        p = net.ask('show ipoib pair')['pairs'][-1]
        if p['failback'] or p['failback_ms'] or p['primary_state'] != 'stopped' or (p['primary'], p['backup']) != (one, two):
            return 'made: %s' % p
        net.say('stop')
        net.say('port start %d' % p['port'])
        net.say('ipoib pair rem %d' % p['port'])
        bad = net.until(lambda: len(net.ask('show ipoib pair')['pairs']) == before, net.text)
        net.say('start')
    return bad or ping(net, A, '10.10.0.2')


def queues(net):
    """Both ports of the pair have its table and key; what comes still comes when either carries."""
    net.say('rss reta %d 1' % PAIR)
    net.say('rss key %d %s' % (PAIR, '5a' * 40))
    shown = net.ask('show port rss %d' % PAIR)['ports'][0]
    if set(shown['reta'].split(',')) != {'1'} or shown['key'] != '5a' * 40:
        return 'shown: %s' % shown
    for who in ('backup', 'primary'):
        net.say('ipoib pair active %d %s' % (PAIR, who))
        bad = carries(net, who) or ping(net, B, '10.10.0.1')
        if bad:
            return '%s: %s' % (who, bad)
    return None


def resets(net):
    """Counters are cleared all the time: the summary has every packet that the program received, and queues begin at zero."""
    def clear():
        for _ in range(20):
            net.say('clear port stats all')
            net.say('clear port xstats %d' % PAIR)
            net.ask('show port stats %d' % PAIR)
    net.say('stop')
    net.say('start')
    bad = stream(net, clear, 'primary')
    net.say('stop')
    summary = net.ask('show summary')
    x = net.ask('show port xstats %d' % PAIR)['ports'][0]
    net.say('start')
    for port in (PAIR, PEER):
        shown = next(p['rx_packets'] for p in summary['ports'] if p['port'] == port)
        want = sum(s['rx_packets'] for s in summary['streams'] if s['rx_port'] == port)
        if want < 40 or shown != want:
            bad = bad or 'port %d shows %d of %d packets' % (port, shown, want)
    # The table sends all to the second queue; nobody cleared since.
    rx = [x['rx_q%d_packets' % q] for q in (0, 1)]
    tx = [x['tx_q%d_packets' % q] for q in (0, 1)]
    if x['rx_good_packets'] != sum(rx) or not rx[1] or not 0 < sum(tx) <= x['tx_good_packets'] < 1000:
        bad = bad or 'queues of the pair: %s, %s of %s' % (rx, tx, x)
    return bad


def single_queue(net):
    """The second queue, which the table sends all to, is stopped on both ports: the first one has it, whoever carries."""
    def received():
        x = net.ask('show port xstats %d' % PAIR)['ports'][0]
        return [x['rx_q%d_packets' % q] for q in (0, 1)]

    def switch(state):
        for line in ('stop', 'port queue %d rxq 1 %s' % (PAIR, state), 'start'):
            net.say(line)
        return received()
    was = switch('stop')
    for who in ('backup', 'primary'):
        net.say('ipoib pair active %d %s' % (PAIR, who))
        bad = carries(net, who) or ping(net, B, '10.10.0.1')
        now = received()
        if bad or now[1] != was[1] or now[0] <= was[0]:
            return bad or '%s, stopped: %s, then %s' % (who, was, now)
        was = now
    was = switch('start')
    bad = ping(net, B, '10.10.0.1')
    now = received()
    return bad or (None if now[1] > was[1] else 'started: %s, then %s' % (was, now))


def end(net):
    ended = net.close_with(SPACES)
    shutil.rmtree(DIR, ignore_errors=True)
    return ended


if __name__ == '__main__':
    run_cases('ipoib-pair', ('ibportstate',), lambda: PairNet(VDEVS + PORTS), end, (
        ('come-up', come_up), ('failover', fail_over), ('announced', announced), ('once', once),
        ('failback', fail_back), ('failover-stream', fail_over_stream), ('by-hand', by_hand),
        ('queues', queues), ('resets', resets), ('single-queue', single_queue), ('run-time', at_run_time)), REFUSED)
