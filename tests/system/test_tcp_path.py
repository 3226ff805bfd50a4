#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/tcp and Linux's TCP over paths that have something to say: routers that are narrower than both ends, with ICMP and without
(RFC 1191, RFC 4821), and marks of ECN (RFC 3168). Linux is the router and the peer; tshark judges what was on the wire."""
import os
import subprocess
import sys
import tempfile

import tpmd
from tcp_linux import OWN, SPACE, Transfer, frames_of
from test_ipoib import ns, sh

cases = tpmd.Cases()
FAR, FAR_ADDR = SPACE + 'f', '10.78.0.2'
NARROW = 1000


def routed():
    """Another namespace, whose packets the TAP's namespace forwards."""
    sh('ip', 'netns', 'add', FAR, check=True)
    sh('ip', '-n', SPACE, 'link', 'add', 'tpv0', 'type', 'veth', 'peer', 'name', 'tpv1', 'netns', FAR, check=True)
    sh('ip', '-n', SPACE, 'addr', 'add', '10.78.0.1/24', 'dev', 'tpv0', check=True)
    sh('ip', '-n', FAR, 'addr', 'add', FAR_ADDR + '/24', 'dev', 'tpv1', check=True)
    sh('ip', '-n', SPACE, 'link', 'set', 'tpv0', 'up', check=True)
    sh('ip', '-n', FAR, 'link', 'set', 'tpv1', 'up', check=True)
    sh('ip', '-n', FAR, 'route', 'add', 'default', 'via', '10.78.0.1', check=True)
    ns(SPACE, 'sysctl', '-qw', 'net.ipv4.ip_forward=1', check=True)


def narrow(mode, *words, mtu=NARROW):
    """What the engine knew at the end of a transfer behind a router that lets packets of so many octets through; its frames."""
    sh('ip', '-n', SPACE, 'route', 'replace', FAR_ADDR, 'dev', 'tpv0', *(('mtu', 'lock', str(mtu)) if mtu else ()), check=True)
    with tempfile.TemporaryDirectory() as folder:
        pcap = os.path.join(folder, 'x.pcap')
        t = Transfer(mode, 2_000_000, 200_000, *words, capture=pcap, there=FAR, at=FAR_ADDR)
        if t.wrong:
            return t.wrong, None
        if frames_of(pcap, 'ip.src == %s && !icmp && ip.flags.df == 0' % OWN):
            return 'routers may cut what the engine sends', None
        t.counters['icmp'] = len(frames_of(pcap, 'icmp.type == 3 && icmp.code == 4'))
    return None, t.counters


def with_icmp(mode):
    why, c = narrow(mode)
    if why:
        return why
    if not c['icmp'] or c['pmtu'] != NARROW or not c['rx_icmp_mtu'] or c['mtu_black_holes'] or c['timeouts']:
        return 'behind a router that tells of %d octets: %s' % (NARROW, c)
    return None


def without_icmp(mode, *words):
    why, c = narrow(mode, 'no_icmp', *words)
    if why:
        return why
    if not NARROW - 8 <= c['pmtu'] <= NARROW or not c['mtu_black_holes'] or c['rx_icmp_mtu'] or not c['mtu_probes_lost']:
        return 'behind a router that is silent about %d octets: %s' % (NARROW, c)
    return None


def wide():
    why, c = narrow('connect', mtu=None)
    return why or (None if c['pmtu'] == 1500 and c['icmp'] == 0 and c['mtu_probes'] == 0 else 'a path of 1500 octets: %s' % c)


def linux_counters():
    """Of the namespace: those of the TCP and IP extensions, by name."""
    found, lines = {}, ns(SPACE, 'cat', '/proc/net/netstat', check=True)[1].splitlines()
    for names, values in zip(lines[::2], lines[1::2]):
        found.update(zip(names.split()[1:], map(int, values.split()[1:])))
    return found


def fields_of_ecn(pcap):
    """How many frames of a capture say what of ECN: those of the engine, and SYN, ACK of either."""
    seen = dict.fromkeys(('ect', 'empty', 'again', 'cwr', 'ece', 'setup'), 0)
    for line in frames_of(pcap, 'tcp', 'ip.src', 'ip.dsfield.ecn', 'tcp.len', 'tcp.flags', 'tcp.analysis.retransmission'):
        _, source, ecn, octets, flags, again = line.split('\t')
        flags = int(flags, 16)
        seen['setup'] += flags & 0x52 == 0x52
        if source != OWN or flags & 2:
            continue
        seen['cwr'] += flags & 0x80 != 0
        seen['ece'] += flags & 0x40 != 0
        if int(ecn):
            seen['ect' if int(octets) else 'empty'] += 1
            seen['again'] += again != ''
    return seen


def marked(mode, linux, *words, losses=False, octets=2_000_000):
    """A transfer both ways over a wire that marks; what both ends counted, and the capture's own view."""
    # A SYN that is sent again asks for ECN, too: one that was lost changes nothing of what is agreed on.
    ns(SPACE, 'sysctl', '-qw', 'net.ipv4.tcp_ecn=%d' % linux, 'net.ipv4.tcp_ecn_fallback=0', 'net.ipv4.tcp_congestion_control=reno',
       check=True)
    before = linux_counters()
    with tempfile.TemporaryDirectory() as folder:
        pcap = os.path.join(folder, 'x.pcap')
        t = Transfer(mode, octets, octets, 'mark=200', *words, capture=pcap)
        if t.wrong:
            return t.wrong
        c, after, seen = t.counters, linux_counters(), fields_of_ecn(pcap)
    grew = {k: after[k] - before[k] for k in ('InECT0Pkts', 'InCEPkts', 'TCPDeliveredCE')}
    agreed = mode == 'listen' and linux == 1 and 'ecn=2' not in words or mode == 'connect' and linux != 0 and 'ecn=1' in words
    told = '%s; Linux %s; the wire %s' % (c, grew, seen)
    if bool(c['options'] & 8) != agreed or bool(seen['setup']) != agreed:
        return 'agreed on: ' + told
    if seen['empty'] or seen['again'] and not losses:
        return 'ECN-capable, and should not be: ' + told
    if not agreed:
        return None if not (seen['ect'] or seen['cwr'] or seen['ece'] or grew['InCEPkts'] or c['rx_ce']) else 'without an agreement: ' + told
    if not (seen['ect'] > 1000 and grew['InCEPkts'] and c['ecn_cuts'] and c['rx_ce'] and grew['TCPDeliveredCE']):
        return 'marks lead to nothing: ' + told
    # Marks are told in time, so nothing is lost; each cut is told once, or with another one before new data left. A tail that was probed
    # because the answer had no CPU may be a cut, too, which is told as well (RFC 3168, 6.1.2).
    if not losses and (c['retransmits'] > c['tail_probes'] or
                       not c['ecn_cuts'] * 3 // 4 <= seen['cwr'] <= c['ecn_cuts'] + c['tail_probes']):
        return 'told or sent again too often: ' + told
    return None


if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
    print('skip tcp-path: network namespaces and taps need root and /dev/net/tun')
    sys.exit(0)
try:
    sh('ip', 'netns', 'add', SPACE, check=True)
    sh('ip', '-n', SPACE, 'link', 'set', 'lo', 'up', check=True)
    cases.run('tcp-path-ecn', lambda: marked('connect', 2, 'ecn=1'))
    cases.run('tcp-path-ecn-listen', lambda: marked('listen', 1))
    cases.run('tcp-path-ecn-reno', lambda: marked('connect', 1, 'ecn=1', 'reno', 'no_sack'))
    cases.run('tcp-path-ecn-losses', lambda: marked('listen', 1, 'loss=50', losses=True))
    cases.run('tcp-path-ecn-refused', lambda: marked('connect', 0, 'ecn=1', octets=200_000))
    cases.run('tcp-path-ecn-off', lambda: marked('listen', 1, 'ecn=2', octets=200_000))
    routed()
    cases.run('tcp-path-wide', wide)
    cases.run('tcp-path-icmp', lambda: with_icmp('connect'))
    cases.run('tcp-path-icmp-listen', lambda: with_icmp('listen'))
    cases.run('tcp-path-black-hole', lambda: without_icmp('connect'))
    cases.run('tcp-path-black-hole-listen', lambda: without_icmp('listen', 'no_sack'))
finally:
    for space in (SPACE, FAR):
        subprocess.run(['ip', 'netns', 'del', space], stderr=subprocess.DEVNULL, check=False)
cases.exit()
