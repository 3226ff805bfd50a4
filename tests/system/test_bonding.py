#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's bonding driver on ports of two model cards, through unmodified testpmd: two bonds that face each other over two
cables, and cables that fail. Which member carries what is read from the members' own counters."""
import collections
import os
import re
import select
import sys
import tempfile
import time

from scapy.all import ARP, Ether, rdpcap, wrpcap

import tpmd

cases = tpmd.Cases()
CARDS = ['net_mlx4_model0,wire0=cross', 'net_mlx4_model1,wire0=cross']
A, B = 4, 5                  # the bonds; members 0 and 2 of one face 1 and 3 of the other
PATIENCE = 60                # seconds for what has to come about at some time
LAYER34 = 'set bonding balance_xmit_policy %d l34' % A
BUSY = 20                    # packets between two looks that count as traffic: more than LACP sends


class Bonds(tpmd.Testpmd):
    """Link events print into the middle of testpmd's prompt. What ends an answer here is a word that no command has; when its
    echo is broken, too, another one follows."""
    words = 0

    def cmd(self, line, timeout=60):
        self.proc.stdin.write((line + '\n').encode())
        out, end = '', time.monotonic() + timeout
        while time.monotonic() < end:
            Bonds.words += 1
            word = 'word%dend' % Bonds.words
            self.proc.stdin.write((word + '\n').encode())
            self.proc.stdin.flush()
            seen = time.monotonic() + 1
            while time.monotonic() < seen:
                if select.select([self.proc.stdout], [], [], 0.1)[0]:
                    data = os.read(self.proc.stdout.fileno(), 65536).decode(errors='replace')
                    if not data:
                        raise RuntimeError('testpmd ended: ' + (self.text + out)[-1500:])
                    out += data
                if re.search(word + r'\s+Command not found', out):
                    self.text += out
                    return out.split('word%dend' % (Bonds.words))[0]
        self.kill()
        raise RuntimeError('testpmd does not answer %r: %s' % (line, (self.text + out)[-1500:]))

    def bond(self, mode, members, *more):
        out = self.cmd('create bonded device %d 0' % mode)
        for m in members:
            out += self.cmd('add bonding slave %d %d' % (m, A if members[0] == 0 else B))
        for line in more:
            out += self.cmd(line)
        if re.search(r'rror|ailed', out):
            raise RuntimeError(out[-800:])

    def traffic(self):
        """(sent, received) by port between two looks."""
        def look():
            return [self.stats(p) for p in range(6)]
        before = look()
        time.sleep(0.2)
        after = look()
        return [(y['tx-packets'] - x['tx-packets'], y['rx-packets'] - x['rx-packets']) for x, y in zip(before, after)]

    def rest(self, ports):
        """What was given to these ports has left their rings."""
        return tpmd.wait_until(lambda: all(self.xstats(p)['tx_port_packets'] >= self.stats(p)['tx-packets'] for p in ports))

    def until(self, what, fits):
        """None when it comes to be, or what there was last."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            t = self.traffic()
            if fits(t):
                return None
        return '%s: never, at last %s, %s' % (what, t, self.cmd('show bonding config %d' % A)[-300:])


def both(t):
    return all(t[p][0] > BUSY for p in (0, 2)) and t[A][1] > BUSY and t[B][1] > BUSY


def only(member):
    other = 2 - member
    return lambda t: (t[member][0] > BUSY and t[member + 1][1] > BUSY and t[other][0] <= 2 and t[A][1] > BUSY and
                      t[B][1] > BUSY)


def mac(t, port):
    return re.search(r'MAC address: (\S+)', t.cmd('show port info %d' % port)).group(1)


def start(mode, *more):
    t = Bonds(CARDS, ['--forward-mode=flowgen'])
    t.cmd('port stop all')
    t.bond(mode, (0, 2), *more)
    t.bond(mode, (1, 3), *(m.replace(' %d' % A, ' %d' % B).replace('primary 0', 'primary 1') for m in more))
    for line in ('port start %d' % A, 'port start %d' % B, 'set promisc %d on' % A, 'set promisc %d on' % B,
                 'set portlist %d,%d' % (A, B), 'start'):
        t.cmd(line)
    return t


def steps(t, wanted):
    """Cables that go and come, with what is to be seen after each."""
    for line, what, fits in wanted:
        if line:
            t.cmd(line)
        why = t.until(what, fits)
        if why:
            return why
    return None


DOWN0, UP0, DOWN2, UP2 = 'set link-down port 1', 'set link-up port 1', 'set link-down port 3', 'set link-up port 3'


def active_backup():
    """Without a primary: who took over keeps the traffic."""
    with start(1) as t:
        if mac(t, A) != mac(t, 0):
            return 'the bond has MAC %s, its first member %s' % (mac(t, A), mac(t, 0))
        # At first it is the one whose link comes first.
        return steps(t, [(DOWN2, 'the first member carries', only(0)), (UP2, 'and keeps it', only(0)),
                         (DOWN0, 'the second takes over', only(2)), (UP0, 'and keeps it', only(2)),
                         (DOWN2, 'the first takes over', only(0)), (UP2, 'and keeps it', only(0))])


def active_backup_failback():
    """With a primary: it gets the traffic back."""
    with start(1, 'set bonding primary 0 %d' % A) as t:
        return steps(t, [(None, 'the primary carries', only(0)), (DOWN0, 'the second takes over', only(2)),
                         (UP0, 'the primary is back', only(0)), (DOWN2, 'the second is not missed', only(0)),
                         (UP2, 'nor wanted', only(0))])


def shared(mode, *more):
    """Both members carry; while one is down, the other one carries all."""
    with start(mode, *more) as t:
        return steps(t, [(None, 'both carry', both), (DOWN0, 'the second carries all', only(2)), (UP0, 'both again', both),
                         (DOWN2, 'the first carries all', only(0)), (UP2, 'both again', both)])


def one(t):
    return only(0)(t) or only(2)(t)


def by_policy(mode):
    """The frames differ in addresses and ports of IP only: by MAC addresses one member carries all, by layers 3 and 4 both do."""
    with start(mode, LAYER34) as t:
        return steps(t, [(None, 'both carry by layers 3 and 4', both), (LAYER34.replace('l34', 'l2'), 'one carries by layer 2', one),
                         (LAYER34, 'both again', both)])


def in_turn():
    """Frame by frame: each member sends one half of as many frames as both rings take whole."""
    with start(0) as t:
        # A member takes part once its link is up.
        why = t.until('both carry', both)
        if why:
            return why
        t.cmd('stop')
        t.cmd('set fwd rxonly')
        # What the rings still have would take room in them, where the card has no CPU for a while.
        if not t.rest((0, 2)):
            return 'members do not send what they have: %s' % [t.stats(p) for p in (0, 2)]
        t.cmd('clear port stats all')
        t.cmd('start tx_first 8')
        sent = lambda: [t.stats(p)['tx-packets'] for p in (0, 2)]
        went = tpmd.wait_until(lambda: sum(sent()) >= 8 * 32)
        t.cmd('stop')
        return None if went and sent() == [128, 128] else 'members sent %s' % sent()


class Wires(Bonds):
    """A bond whose two members have wires that play frames of scapy's over and over and record what is sent."""

    members = (2, 3)

    def __init__(self, folder, frames, args=()):
        self.sent = ['%s/sent%d.pcap' % (folder, i) for i in range(2)]
        wrpcap(folder + '/in.pcap', frames)
        super().__init__(['net_pcap%d,rx_pcap=%s/in.pcap,tx_pcap=%s,infinite_rx=1' % (i, folder, self.sent[i]) for i in range(2)] +
                         ['net_mlx4_model0,wire0=ethdev:net_pcap0,wire1=ethdev:net_pcap1'], ['--disable-device-start', *args])

    def run(self, mode, forward):
        """The bond's MAC and its members'."""
        bond = int(re.search(r'port (\d+)', self.cmd('create bonded device %d 0' % mode)).group(1))
        for m in self.members:
            self.cmd('add bonding slave %d %d' % (m, bond))
        own = [mac(self, m) for m in self.members]
        for line in ('port start %d' % bond, 'set portlist %d' % bond, 'set fwd ' + forward, 'start'):
            self.cmd(line)
        return mac(self, bond), own

    def recorded(self):
        """Frames that left by each member, once testpmd has closed the files."""
        self.cmd('stop')
        self.proc.stdin.write(b'quit\n')
        self.proc.stdin.flush()
        self.proc.communicate(timeout=60)
        return [rdpcap(f) for f in self.sent]


def asks():
    """Four clients want to know the bond's address."""
    return [Ether(src='02:00:00:00:00:%02x' % i, dst='ff:ff:ff:ff:ff:ff') /
            ARP(op=1, hwsrc='02:00:00:00:00:%02x' % i, psrc='10.7.0.%d' % i, pdst='10.7.0.1') for i in range(2, 6)]


def own_address():
    """By load, from the bond's address: a member sends with its own one, so that a switch keeps them apart. Burst by burst: what a full member
    has left goes by the other as it is by then (rte_eth_bond's burst)."""
    with tempfile.TemporaryDirectory() as folder, Wires(folder, asks()) as t:
        bond, own = t.run(5, 'rxonly')

        def both_sent():
            t.cmd('stop')
            t.cmd('start tx_first 1')
            return t.rest(t.members) and all(t.stats(m)['tx-packets'] > BUSY for m in t.members)
        went = tpmd.wait_until(both_sent)
        sources = [collections.Counter(f.src.upper() for f in frames) for frames in t.recorded()]
    good = went and all(set(s) == {own[i]} for i, s in enumerate(sources))
    return None if good else 'bond %s, members %s sent from %s' % (bond, own, sources)


def clients_shared_out():
    """A reply to an ARP request names the member that its client is to talk to: one after the other."""
    # What a full member has left of ARP, rte_eth_bond gives back from a wrong place of its list, and testpmd frees that. Here
    # a member has room for more replies than there can be requests.
    with tempfile.TemporaryDirectory() as folder, Wires(folder, asks(), ['--rxd=256', '--txd=4096']) as t:
        _, own = t.run(6, 'icmpecho')
        # More than the members say by themselves
        went = tpmd.wait_until(lambda: sum(t.stats(m)['tx-packets'] for m in t.members) >= 64)
        # The driver tells what it learnt again from time to time, and not to clients only.
        clients = {a.psrc for a in asks()}
        told = [{(f.hwsrc.upper(), f.pdst) for f in frames if ARP in f and f.op == 2 and f.pdst in clients} for frames in t.recorded()]
    if not went or {ip for replies in told for _, ip in replies} != clients:
        return 'replies: %s' % told
    return None if all(len(r) == 2 and {m for m, _ in r} == {own[i]} for i, r in enumerate(told)) else 'members %s told %s' % (own, told)


def vlan_filter():
    """Frames with a tag reach the bond while it lets their VLAN through, by whichever member they come."""
    none = lambda t: t[B][0] > BUSY and t[A][1] == 0
    with Bonds(CARDS, ['--forward-mode=flowgen']) as t:
        t.cmd('port stop all')
        # Only the primary member receives what is for others: not the one whose link came first, but that of the cable.
        t.bond(1, (0, 2), 'set bonding primary 0 %d' % A)
        t.bond(1, (1, 3), 'set bonding primary 1 %d' % B)
        for line in ('port config %d rx_offload vlan_filter on' % A, 'port config %d tx_offload vlan_insert on' % B, 'tx_vlan set %d 100' % B,
                     'port start %d' % A, 'port start %d' % B,
                     'set promisc %d on' % A, 'set promisc %d on' % B,
                     'set portlist %d,%d' % (A, B), 'start'):
            t.cmd(line)
        return steps(t, [(None, 'no VLAN', none), ('rx_vlan add 100 %d' % A, 'VLAN 100', lambda t: t[A][1] > BUSY),
                         (DOWN0, 'VLAN 100 by the second', lambda t: t[2][1] > BUSY and t[A][1] > BUSY),
                         ('rx_vlan rm 100 %d' % A, 'no VLAN again', none)])


cases.run('bonding-active-backup', active_backup)
cases.run('bonding-active-backup-failback', active_backup_failback)
cases.run('bonding-vlan-filter', vlan_filter)
cases.run('bonding-balance', shared, 2, LAYER34)
cases.run('bonding-802.3ad', shared, 4, LAYER34)
cases.run('bonding-balance-policy', by_policy, 2)
cases.run('bonding-802.3ad-policy', by_policy, 4)
cases.run('bonding-round-robin', shared, 0)
cases.run('bonding-round-robin-in-turn', in_turn)
cases.run('bonding-tlb', shared, 5)
cases.run('bonding-alb', shared, 6)
cases.run('bonding-tlb-own-address', own_address)
cases.run('bonding-alb-clients', clients_shared_out)
sys.exit(1 if cases.failed else 0)
