#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces of the kernel beside ports of triplane: two kernels (network namespaces) talk over the ports of a card as over any
interface, beside forwarding and RoCE. MTU, MAC address and link are followed both ways; tshark judges the frames."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import tpmd
from tcp_copy import OCTETS, copied

cases = tpmd.Cases()
ID = os.getpid()
A, B = 'tpka%d' % ID, 'tpkb%d' % ID  # namespaces
IF = ['tk0%d' % ID, 'tk1%d' % ID]
MODEL = ['net_mlx4_model0']
APP = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')


def run(*args, ok=True, timeout=60):
    p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    text = p.stdout.decode(errors='replace')
    if ok and p.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(args), text[-400:]))
    return text


def ip(space, *args, **kw):
    return run('ip', '-n', space, *args, **kw)


def inside(space, *args, **kw):
    return run('ip', 'netns', 'exec', space, *args, **kw)


def link(name, space=None):
    """The interface as the kernel shows it; None: there is none."""
    out = run('ip', *(['-n', space] if space else []), '-j', '-d', 'link', 'show', name, ok=False)
    try:
        return [x for x in json.loads(out) if x][0]
    except (ValueError, IndexError):
        return None


def carrier(name, space):
    return 'LOWER_UP' in link(name, space)['flags']


def until(what, why):
    if not tpmd.wait_until(what):
        raise RuntimeError('never: ' + why)


def triplane(*lines, vdevs=MODEL, args=(), **kw):
    t = tpmd.Triplane(vdevs, args, **kw)
    t.tell(tpmd.IDLE)
    for line in lines:
        t.tell(line)
    return t


def ports(t):
    return {p['port']: p for p in t.ask('show kernel')['interfaces']}


def ended(t):
    """The program's end; what it said of errors. Taps of DPDK say more than that."""
    return '; '.join(re.findall('^error: .*', t.over(), re.M)) or None


class Kernels:
    """Two namespaces, each with the interface of one port."""

    def __init__(self, t, names=IF):
        self.t, self.names = t, names

    def __enter__(self):
        until(lambda: len(ports(self.t)) == 2, 'two interfaces: ' + self.t.said())
        for space in (A, B):
            run('ip', 'netns', 'add', space)
            ip(space, 'link', 'set', 'lo', 'up')
        for n, space in enumerate((A, B)):
            run('ip', 'link', 'set', self.names[n], 'netns', space)
        self.address()
        return self

    def address(self):
        for n, space in enumerate((A, B)):
            tpmd.patient(space, self.names[n])
            ip(space, 'addr', 'add', '10.66.0.%d/24' % (n + 1), 'dev', self.names[n])
            ip(space, 'addr', 'add', 'fd66::%d/64' % (n + 1), 'dev', self.names[n], 'nodad')
            ip(space, 'link', 'set', self.names[n], 'up')

    def up(self):
        for n, space in enumerate((A, B)):
            until(lambda: carrier(self.names[n], space), 'a carrier of ' + self.names[n])

    def __exit__(self, kind, value, tb):
        # The program first: an interface keeps its namespace alive.
        self.t.__exit__(kind, value, tb)
        for space in (A, B):
            run('ip', 'netns', 'del', space, ok=False)


def pinged(space, address, count=3, *args):
    """None when so many were answered; with a deadline ping goes on until then."""
    out = inside(space, 'ping', '-n', '-c', str(count), '-i', '0.05', '-w', '60', *args, address, ok=False, timeout=120)
    got = re.search(r' (\d+) received', out)
    return None if got and int(got[1]) >= count and 'DUP' not in out else out[-300:]


# --- as an interface ---------------------------------------------------------------------------------------------------


def made_as_the_port_is():
    with triplane('kernel 0 on ' + IF[0], 'kernel 1 on', 'set fwd rxonly') as t:
        until(lambda: len(ports(t)) == 2, 'two interfaces: ' + t.said())
        got, port = link(IF[0]), t.ask('show port info 0')['ports'][0]
        want = {'address': port['mac'].lower(), 'mtu': 1500, 'operstate': 'DOWN'}
        if any(got[k] != v for k, v in want.items()) or link('tp1') is None:
            return 'the kernel has %s, the port %s; tp1: %s' % (got, port, link('tp1'))
        run('ip', 'link', 'set', IF[0], 'up')
        run('ip', 'link', 'set', 'tp1', 'up')
        # Nobody polls the port yet
        until(lambda: ports(t)[0]['state'] == "waits for 'start'" and 'NO-CARRIER' in link(IF[0])['flags'], 'it waits without a carrier: %s' % ports(t))
        t.tell('start')
        until(lambda: ports(t)[0]['state'] == 'up' and 'LOWER_UP' in link(IF[0])['flags'], 'it is up, with a carrier: %s' % ports(t))
        t.tell('stop; port stop 1; start')
        until(lambda: ports(t)[0]['state'] == 'no link' and 'NO-CARRIER' in link(IF[0])['flags'], 'its peer went: %s' % ports(t))
        t.tell('stop; port start 1; start')
        until(lambda: ports(t)[0]['state'] == 'up' and 'LOWER_UP' in link(IF[0])['flags'], 'it came back: %s' % ports(t))
        why = ended(t)
    return why or (None if link(IF[0]) is None and link('tp1') is None else 'they are left behind')


def talks():
    """ARP, neighbour discovery, ping, large datagrams, TCP both ways and DHCP."""
    with triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start', telemetry=True) as t, Kernels(t) as k:
        k.up()
        why = pinged(A, '10.66.0.2') or pinged(B, 'fd66::1') or pinged(A, '10.66.0.2', 3, '-s', '6000') or \
            copied(A, B, 'AF_INET', '10.66.0.2') or copied(B, A, 'AF_INET', '10.66.0.1') or \
            copied(A, B, 'AF_INET6', 'fd66::2') or dhcp(t)
        if why:
            return '%s; %s' % (why, ports(t))
        p = ports(t)[0]
        if p['tx_large'] == 0 or p['offloads'] != 'checksums and TCP segments':
            return 'the card cut nothing: %s' % p
        if t.tel('/triplane/kernel/list') != [0, 1]:
            return 'telemetry: %s' % t.tel('/triplane/kernel/list')
        seen = []
        if not tpmd.wait_until(lambda: same_counts(t, seen)):
            return 'the kernel says %s, triplane %s, telemetry %s' % tuple(seen)
        return ended(t)


def same_counts(t, seen):
    """What the kernel counted as sent, the port sent; the other way round there is nothing in between. Kernels send now and then by themselves: so it
    is in a moment in which nothing came."""
    before = ports(t)[0]['rx_packets']
    raw = json.loads(ip(A, '-j', '-s', 'link', 'show', IF[0]))[0]['stats64']
    tel, p = t.tel('/triplane/kernel/info,0'), ports(t)[0]
    seen[:] = raw, p, tel
    return before == raw['rx']['packets'] == tel['rx_packets'] == p['rx_packets'] and (tel['name'], tel['carrier']) == (IF[0], 'yes') and \
        raw['tx']['packets'] - raw['tx']['dropped'] <= p['tx_packets'] + p['drops']['tx_down']


def dhcp(t):
    """A client in one kernel gets an address of a server in the other, as on any network."""
    with tempfile.TemporaryDirectory(prefix='tpk') as d:
        script = os.path.join(d, 'script')
        with open(script, 'w') as f:
            f.write('#!/bin/sh\n[ "$1" = bound ] && echo "$ip $mask" >%s/lease\nexit 0\n' % d)
        os.chmod(script, 0o755)
        server = subprocess.Popen(['ip', 'netns', 'exec', B, 'dnsmasq', '-k', '-C', '/dev/null', '-i', IF[1], '--bind-interfaces', '-p', '0',
                                   '--dhcp-range=10.66.0.100,10.66.0.100,1h', '--dhcp-leasefile=' + d + '/leases', '-u', 'root',
                                   '--dhcp-no-override', '--no-ping'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            out = inside(A, 'udhcpc', '-i', IF[0], '-n', '-q', '-f', '-t', '60', '-T', '2', '-s', script, ok=False, timeout=180)
            with open(d + '/lease') as f:
                lease = f.read().split()
        except FileNotFoundError:
            lease = None
        finally:
            server.kill()
            said = server.communicate()[0].decode(errors='replace')
    return None if lease and lease[0] == '10.66.0.100' else 'lease %s: %s %s' % (lease, out, said)


def frames_are_right():
    """What the card made of large sends and of checksums that were left to it, as the other kernel's interface has it."""
    lines = ['kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start']
    with triplane(*lines) as t, Kernels(t) as k, tempfile.TemporaryDirectory(prefix='tpk') as d:
        k.up()
        path = os.path.join(d, 'frames.pcapng')
        tap = subprocess.Popen(['ip', 'netns', 'exec', B, 'dumpcap', '-q', '-i', IF[1], '-w', path, '-B', '64'], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        until(lambda: os.path.exists(path) and ports(t)[1]['promiscuous'], 'dumpcap listens')
        udp(A, 'x' * 777, '10.66.0.2', 'fd66::2')
        why = copied(A, B, 'AF_INET', '10.66.0.2') or copied(A, B, 'AF_INET6', 'fd66::2') or pinged(A, '10.66.0.2', 3, '-s', '4000')
        want = ports(t)[1]['rx_packets']
        # What is written behind all others
        until(lambda: udp(A, 'the-end', '10.66.0.2') or b'the-end' in contents(path), 'the capture has all')
        if why:
            tap.kill()
            tap.communicate()
            return why
        tap.send_signal(signal.SIGINT)
        tap.communicate(timeout=60)
        out = run('tshark', '-n', '-r', path, '-o', 'tcp.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE',
                  '-Y', 'eth.src==%s' % link(IF[0], A)['address'], '-T', 'fields', '-e', 'frame.len', '-e', 'tcp.checksum.status',
                  '-e', 'udp.checksum.status', '-e', 'ip.checksum.status', '-e', '_ws.malformed', '-e', 'tcp.len', timeout=120)
        rows = [line.split('\t') for line in out.splitlines() if line[:1].isdigit()]
        big = [r for r in rows if int(r[0]) > 1514]
        bad = [r for r in rows if r[1] == '0' or r[2] == '0' or r[3] == '0' or r[4]]
        octets = sum(int(r[5]) for r in rows if r[5])
        full = [r for r in rows if r[0] == '1514']
        udps = [r for r in rows if r[2] == '1']
        if big or bad or octets < 2 * OCTETS or len(full) < 2 * OCTETS // 1600 or len(udps) < 3:
            return '%u frames (%u to the kernel), %u of 1514 octets, %u octets of TCP, %u good sums of UDP; too long: %s, wrong: %s' % (
                len(rows), want, len(full), octets, len(udps), big[:3], bad[:3])
        return ended(t)


def udp(space, text, *addresses):
    code = ('import socket, sys\nfor a in sys.argv[2:]:\n'
            '    s = socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_DGRAM)\n'
            '    s.sendto(sys.argv[1].encode(), (a, 9))\n')
    inside(space, sys.executable, '-c', code, text, *addresses)


def contents(path):
    with open(path, 'rb') as f:
        return f.read()


def joined():
    """Segments that the port joined reach the kernel as one; checksums that the card verified are not looked at again."""
    lines = ['port stop all']
    for n in (0, 1):
        lines += ['set setting %d %s on' % (n, s) for s in ('rx-tcp-lro', 'rx-tcp-cksum', 'rx-ipv4-cksum', 'rx-udp-cksum')]
    lines += ['port start all', 'kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start']
    with triplane(*lines) as t, Kernels(t) as k:
        k.up()
        why = copied(A, B, 'AF_INET', '10.66.0.2') or copied(B, A, 'AF_INET6', 'fd66::1') or pinged(A, '10.66.0.2', 3, '-s', '6000')
        p = ports(t)
        if why or p[0]['rx_joined'] == 0 or p[1]['rx_joined'] == 0:
            return '%s; %s' % (why, p)
        for space in (A, B):
            snmp = inside(space, 'cat', '/proc/net/snmp')
            head, row = re.findall(r'^Tcp: (.*)$', snmp, re.M)
            if dict(zip(head.split(), row.split()))['InCsumErrors'] != '0':
                return 'the kernel found wrong checksums: ' + snmp
        return ended(t)


# --- each side follows the other -----------------------------------------------------------------------------------------


def info(t, port):
    return t.ask('show port info %d' % port)['ports'][0]


def follows():
    with triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start') as t, Kernels(t) as k:
        k.up()
        t.tell('port config 0 mtu 1400')
        until(lambda: link(IF[0], A)['mtu'] == 1400, "the port's MTU")
        ip(A, 'link', 'set', IF[0], 'mtu', '1300')
        until(lambda: info(t, 0)['mtu'] == 1300, "the interface's MTU: %s" % info(t, 0))
        if link(IF[0], A)['mtu'] != 1300:
            return 'MTU %s' % link(IF[0], A)
        ip(A, 'link', 'set', IF[0], 'mtu', '20000')
        until(lambda: ports(t)[0]['refused_changes'] == 1 and link(IF[0], A)['mtu'] == 1300 and 'port 0: MTU 20000, want 600..9600' in t.said(),
              'an MTU that is refused')
        if info(t, 0)['mtu'] != 1300:
            return 'the port has %s' % info(t, 0)
        ip(A, 'link', 'set', IF[0], 'address', '02:00:00:00:66:01')
        until(lambda: info(t, 0)['mac'].lower() == '02:00:00:00:66:01', "the interface's address: %s" % info(t, 0))
        t.tell('port mac set 1 02:00:00:00:66:02')
        until(lambda: link(IF[1], B)['address'] == '02:00:00:00:66:02', "the port's address: %s" % t.said())
        ip(A, 'neigh', 'flush', 'all')
        why = pinged(A, '10.66.0.2')
        if why:
            return why
        # Nobody is there; others of the port's users are not asked.
        ip(A, 'link', 'set', IF[0], 'down')
        until(lambda: ports(t)[0]['state'] == 'down', 'it is down')
        before = ports(t)[0]['drops']['rx_down']
        inside(B, 'ping', '-n', '-c', '2', '-W', '1', '10.66.0.1', ok=False)
        until(lambda: ports(t)[0]['drops']['rx_down'] > before, 'drops of an interface that is down: %s' % ports(t))
        ip(A, 'link', 'set', IF[0], 'up')
        ip(A, 'link', 'set', IF[0], 'down')
        ip(A, 'link', 'set', IF[0], 'name', 'other0')
        ip(A, 'link', 'set', 'other0', 'up')
        until(lambda: ports(t)[0]['interface'] == 'other0' and ports(t)[0]['state'] == 'up', 'it has another name: %s' % ports(t))
        return pinged(B, '10.66.0.1')


def caught(tap, send):
    """What a tshark says that ends with the packets it waits for. An interface is promiscuous for it a moment before it hears something: sent until it
    has all."""
    until(lambda: send() and False or tap.poll() is not None, 'tshark has its packets')
    return tap.communicate()[0].decode()


def listens_to_all():
    """A port that is not promiscuous is while somebody captures, and frames for others come to the kernel and go on."""
    with triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start', args=('--no-promisc',)) as t, \
            Kernels(t) as k:
        k.up()
        why = pinged(A, '10.66.0.2') or pinged(A, 'fd66::2')
        if why or info(t, 1)['promiscuous']:
            return '%s; %s' % (why, info(t, 1))
        ip(A, 'neigh', 'replace', '10.66.0.9', 'lladdr', '02:00:00:00:99:99', 'dev', IF[0])
        tap = subprocess.Popen(['ip', 'netns', 'exec', B, 'tshark', '-n', '-l', '-c', '1', '-i', IF[1], '-f',
                                'ether dst 02:00:00:00:99:99'],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            until(lambda: info(t, 1)['promiscuous'] and ports(t)[1]['promiscuous'], 'the port is promiscuous')
            out = caught(tap, lambda: inside(A, 'ping', '-n', '-c', '2', '-W', '1', '10.66.0.9', ok=False))
        finally:
            tap.kill()
            tap.wait()
        until(lambda: not info(t, 1)['promiscuous'] and not ports(t)[1]['promiscuous'], 'nobody listens any more')
        if '10.66.0.9' not in out:
            return 'tshark has %r' % out
        return ended(t)


def limits():
    """Large sends and MTU as the port has them."""
    with triplane('set setting 0 lso-size 16000', 'set setting 1 lso-min-segments 4', 'kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1],
                  'set fwd rxonly', 'start') as t, Kernels(t) as k:
        k.up()
        if link(IF[0], A)['gso_max_size'] != 16000 or ports(t)[1]['offloads'] != 'checksums':
            return '%s; %s' % (link(IF[0], A), ports(t))
        why = copied(A, B, 'AF_INET', '10.66.0.2') or copied(B, A, 'AF_INET', '10.66.0.1')
        if why or ports(t)[0]['tx_large'] == 0 or ports(t)[1]['tx_large'] != 0 or ports(t)[0]['drops']['tx_refused'] != 0:
            return '%s; %s' % (why, ports(t))
        # Longer than a buffer: it comes in pieces
        t.tell('stop; port stop all; port config all mtu 9000; port start all; start')
        until(lambda: [link(IF[n], s)['mtu'] for n, s in ((0, A), (1, B))] == [9000, 9000], 'both MTUs: ' + t.said())
        k.up()
        return pinged(A, '10.66.0.2', 3, '-M', 'do', '-s', '8972') or copied(A, B, 'AF_INET6', 'fd66::2') or ended(t)


SEND = '''
import sys
from scapy.all import Dot1Q, Ether, IP, UDP, sendp
sendp(Ether(src='02:00:00:00:05:05', dst=sys.argv[2]) / Dot1Q(vlan=5, prio=3) / IP(src='10.5.0.1', dst='10.5.0.2') / UDP() / b'tagged',
      iface=sys.argv[1], count=3, verbose=False)
'''


def tags():
    """A tag that the port takes off is in the frame again; lcores that wait for interrupts notice frames for the kernel."""
    with triplane('port stop all', 'port config all vlan strip on', 'set setting 1 rx-completion interrupt', 'port start all',
                  'kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start') as t, Kernels(t) as k:
        k.up()
        tap = subprocess.Popen(['ip', 'netns', 'exec', B, 'tshark', '-n', '-l', '-c', '3', '-i', IF[1], '-f', 'ether src 02:00:00:00:05:05',
                                '-T', 'fields', '-e', 'vlan.id', '-e', 'vlan.priority', '-e', 'udp.length'], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        try:
            until(lambda: ports(t)[1]['promiscuous'], 'tshark listens')
            out = caught(tap, lambda: inside(A, '/usr/bin/python3', '-c', SEND, IF[0], link(IF[1], B)['address']))
        finally:
            tap.kill()
            tap.wait()
        if out.split() != ['5', '3', '14'] * 3:
            return 'tshark has %r' % out
        return pinged(A, '10.66.0.2') or ended(t)


# --- beside others ---------------------------------------------------------------------------------------------------------


def beside_forwarding():
    """Two more kernels behind the ports: between them triplane is a wire, and each reaches the port's own kernel, too."""
    far = ['tf0%d' % ID, 'tf1%d' % ID]
    vdevs = ['net_tap%d,iface=%s,mac=02:00:00:00:f0:0%d' % (n, far[n], n) for n in (0, 1)]
    vdevs += ['net_mlx4_model0,wire0=ethdev:net_tap0,wire1=ethdev:net_tap1']
    names = [IF[0], IF[1]]
    C, D = A + 'c', B + 'd'
    with triplane(vdevs=vdevs) as t:
        # The taps are the card's
        own = [p['port'] for p in t.ask('show port info all')['ports'] if 'mlx4' in p['driver']]
        t.tell('kernel %d on %s; kernel %d on %s; set fwd io; start' % (own[0], names[0], own[1], names[1]))
        with Kernels(t) as k:
            try:
                for n, space in enumerate((C, D)):
                    run('ip', 'netns', 'add', space)
                    run('ip', 'link', 'set', far[n], 'netns', space)
                    tpmd.patient(space, far[n])
                    ip(space, 'link', 'set', far[n], 'address', '02:00:00:00:cd:0%d' % n)
                    ip(space, 'addr', 'add', '10.66.0.%d/24' % (n + 11), 'dev', far[n])
                    ip(space, 'link', 'set', far[n], 'up')
                k.up()
                # C and D find each other through the ports; C has A, and B behind them, as neighbours.
                return pinged(C, '10.66.0.12') or pinged(D, '10.66.0.11') or pinged(C, '10.66.0.1') or pinged(D, '10.66.0.2') or \
                    pinged(A, '10.66.0.11') or ended(t)
            finally:
                t.proc.kill()
                t.proc.wait()
                for space in (C, D):
                    run('ip', 'netns', 'del', space, ok=False)


def beside_roce(provider):
    """RoCE has its frames, the kernel all others."""
    lines = ['kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'roce 0 on v2 ' + provider, 'roce 1 on v2 ' + provider,
             'roce addr add 0 192.0.2.1/24', 'roce addr add 1 192.0.2.2/24', 'set fwd rxonly', 'start']
    with triplane(*lines) as t, Kernels(t) as k:
        k.up()
        for line in ('roce qp create 0 rc 4000 16', 'roce qp create 1 rc 4000 16', 'roce qp pair 0 0 1 0', 'roce traffic start 0 0 send 4000 0 500'):
            t.tell(line)
        why = pinged(A, '10.66.0.2') or copied(B, A, 'AF_INET', '10.66.0.1')
        t.tell('roce traffic wait 0 0 60')

        def received():
            qps = t.ask('show roce qp all')['ports']
            return [q for p in qps if p['port'] == 1 for q in p['qps']][0]
        if why or not tpmd.wait_until(lambda: received()['rx_messages'] >= 500):
            return '%s; %s; %s' % (why, received(), t.said())
        return ended(t)


def roce_has_its_addresses():
    """RoCE follows the addresses of the interface beside the same port; the kernel answers for them."""
    with triplane('kernel 0 on ' + IF[0], 'set roce-netdev 0 ' + IF[0], 'roce 0 on v2', 'set fwd rxonly', 'start') as t:
        until(lambda: link(IF[0]) is not None, 'an interface: ' + t.said())
        run('ip', 'addr', 'add', '10.67.0.1/24', 'dev', IF[0])
        run('ip', 'link', 'set', IF[0], 'up')
        until(lambda: '10.67.0.1' in str(t.ask('show roce gid 0')), 'a GID: %s' % t.ask('show roce gid 0'))
        run('ip', 'addr', 'del', '10.67.0.1/24', 'dev', IF[0])
        until(lambda: '10.67.0.1' not in str(t.ask('show roce gid 0')), 'it is gone again')
        return ended(t)


def over_infiniband():
    """Between two IPoIB ports: ARP and neighbour discovery are translated, large sends are cut."""
    vdevs = ['net_mlx4_model0,port0=ib,port1=ib', 'net_ipoib0,port=net_mlx4_model0/1', 'net_ipoib1,port=net_mlx4_model0/2']
    lines = ['ib sm on net_mlx4_model0/1', 'kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start']
    with triplane(*lines, vdevs=vdevs) as t, Kernels(t) as k:
        k.up()
        if link(IF[0], A)['mtu'] != 2044:
            return 'MTU: %s' % link(IF[0], A)
        why = pinged(A, '10.66.0.2') or pinged(B, 'fd66::1') or copied(A, B, 'AF_INET', '10.66.0.2') or copied(B, A, 'AF_INET6', 'fd66::1')
        if why or ports(t)[0]['tx_large'] == 0:
            return '%s; %s' % (why, ports(t))
        ip(A, 'link', 'set', IF[0], 'mtu', '1600')
        until(lambda: "port 0: MTU 1600: not while it is started; 'port stop 0; port config 0 mtu 1600; port start 0'" in t.said(), t.said())
        until(lambda: link(IF[0], A)['mtu'] == 2044, 'the MTU is set back')


# --- life ----------------------------------------------------------------------------------------------------------------------


def off_and_on():
    """Its addresses stay while the port stops, and not when it is taken away; another process makes it from a file."""
    with tempfile.TemporaryDirectory(prefix='tpk') as d:
        path = os.path.join(d, 'settings')
        with triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start') as t, Kernels(t) as k:
            k.up()
            t.tell('stop; port stop all; port start all; start')
            k.up()
            why = pinged(A, '10.66.0.2')
            if why:
                return why
            t.tell('stop; save %s; kernel 0 off' % path)
            until(lambda: link(IF[0], A) is None and list(ports(t)) == [1], 'it is off')
            t.tell('kernel 0 on %s; start' % IF[0])
            until(lambda: link(IF[0]) is not None, 'it is on again: ' + t.said())
            run('ip', 'link', 'set', IF[0], 'netns', A)
            tpmd.patient(A, IF[0])
            ip(A, 'addr', 'add', '10.66.0.1/24', 'dev', IF[0])
            ip(A, 'link', 'set', IF[0], 'up')
            k.up()
            why = pinged(A, '10.66.0.2') or ended(t)
            if why:
                return why
        with triplane('load %s; start' % path) as t, Kernels(t) as k:
            k.up()
            return pinged(A, '10.66.0.2') or ended(t)


def killed():
    with triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'start') as t:
        until(lambda: len(ports(t)) == 2, 'two interfaces')
        t.proc.send_signal(signal.SIGKILL)
        t.proc.wait()
        until(lambda: link(IF[0]) is None and link(IF[1]) is None, 'they are gone')


def shut_out():
    """A program that may not enter the namespace of its interface serves it all the same."""
    with tempfile.TemporaryDirectory(prefix='tpk') as d:
        wrap = os.path.join(d, 'triplane')
        with open(wrap, 'w') as f:
            f.write('#!/bin/sh\nexec capsh --drop=cap_sys_admin -- -c \'exec "$0" "$@"\' %s "$@"\n' % APP)
        os.chmod(wrap, 0o755)
        os.environ['TRIPLANE'] = wrap
        try:
            t = triplane('kernel 0 on ' + IF[0], 'kernel 1 on ' + IF[1], 'set fwd rxonly', 'start')
        finally:
            del os.environ['TRIPLANE']
        with t, Kernels(t) as k:
            k.up()
            return pinged(A, '10.66.0.2') or ended(t)


def deleted():
    with triplane('kernel 0 on ' + IF[0], 'set fwd rxonly', 'start') as t:
        until(lambda: link(IF[0]) is not None, 'an interface')
        run('ip', 'link', 'del', IF[0])
        until(lambda: ports(t)[0]['state'] == 'deleted', 'it is known as deleted')
        t.tell('stop; start')
        until(lambda: 'port 0: its kernel interface %s was deleted' % IF[0] in t.said(), 'start says so: ' + t.said())
        t.tell('kernel 0 off; kernel 0 on %s; start' % IF[0])
        until(lambda: link(IF[0]) is not None and ports(t)[0]['carrier'], 'it is there again: ' + t.said())


def refused():
    """Each with a line that says what is wanted; the port is as before."""
    wrong = [('kernel 0 on lo', "port 0: kernel interface 'lo': an interface of that name is there already"),
             ('kernel 0 on abcdefghijklmnop', "'abcdefghijklmnop': want 1..15 characters"),
             ('kernel 0 on a/b', "'a/b': want 1..15 characters without '/', ':', '%' and spaces"),
             ('kernel 0 on tap%d', "'tap%d': want 1..15 characters"),
             ('kernel 0 on ..', "'..': want 1..15 characters"),
             ('kernel 7 on', 'port'),
             ('set setting 0 kernel a/b', 'kernel'),
             ('kernel 0 on %s; kernel 0 on %s' % (IF[0], IF[1]), 'port 0: the kernel has interface %s' % IF[0]),
             ('kernel 1 on ' + IF[0], 'an interface of that name is there already'),
             ('set setting 0 kernel off', "kernel off: not while it is started; 'port stop 0' first"),
             ('port stop 0; set setting 0 kernel lo', 'an interface of that name is there already'),
             ('port start 0; set fwd txonly 0; start', "port 0: mode txonly receives nothing, also for its kernel interface; 'set fwd flowgen 0'"),
             ('set fwd rxonly 0; start; kernel 0 off', "port 0: forwarding runs; 'stop' first"),
             ('kernel 1 on', "port 1: forwarding runs; 'stop' first")]
    with triplane() as t:
        for line, want in wrong:
            seen = len(t.said())
            t.tell(line)
            until(lambda: want in t.said()[seen:], '%r says %r: %r' % (line, want, t.said()[seen:]))
        if list(ports(t)) != [0] or link(IF[0]) is None or link(IF[1]) is not None:
            return str(ports(t))
    # As somebody who may make no interfaces
    with tempfile.TemporaryFile() as f:
        p = subprocess.run(['capsh', '--drop=cap_net_admin', '--', '-c', ' '.join(
            [APP] + ["'%s'" % a for a in tpmd.eal('tpk%d' % ID, plugin=False)] +
            ['--vdev=net_mlx4_model0', '--', '-e', "'kernel 0 on'"])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=f, timeout=60)
    said = p.stderr.decode(errors='replace')
    return None if p.returncode != 0 and 'wants CAP_NET_ADMIN' in said else said[-300:]


def main():
    if not os.path.exists('/dev/net/tun') or os.geteuid() != 0:
        print('skip all: this needs /dev/net/tun and root')
        return
    cases.run('interface made as the port is', made_as_the_port_is)
    cases.run('ping, datagrams, TCP, DHCP', talks)
    cases.run('frames on the wire, by tshark', frames_are_right)
    cases.run('joined segments', joined)
    cases.run('each side follows the other', follows)
    cases.run('somebody listens to all frames', listens_to_all)
    cases.run('limits of the port', limits)
    cases.run('tags', tags)
    cases.run('beside forwarding', beside_forwarding)
    cases.run('beside RoCE on the card', beside_roce, 'mlx4')
    cases.run('beside RoCE in software', beside_roce, 'sw')
    cases.run("RoCE has the interface's addresses", roce_has_its_addresses)
    cases.run('between IPoIB ports', over_infiniband)
    cases.run('off, on, save, load', off_and_on)
    cases.run('killed', killed)
    cases.run('shut out of a namespace', shut_out)
    cases.run('deleted by the kernel', deleted)
    cases.run('refused', refused)


if __name__ == '__main__':
    main()
    sys.exit(cases.failed != 0)
