#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPoIB ports between two Linux stacks: the ports of a card, which an unmodified OpenSM manages, bridged to taps in namespaces."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import tpmd
from ib_cases import REFUSED, run_cases
from test_opensm import PRELOAD

BUILD = os.environ['TP_BUILD']
APP = os.path.join(BUILD, 'apps/triplane')
ID = os.getpid()
A, B = 'tpia%d' % ID, 'tpib%d' % ID
TAPS = ['tpi%d%d' % (i, ID) for i in (0, 1)]
GUID = 0x0002c90300a1b201


def sh(*cmd, timeout=200, check=False, env=None):
    p = subprocess.run(cmd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    out = p.stdout.decode(errors='replace')
    if check and p.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(cmd), out[-300:]))
    return p.returncode, out


def ns(space, *cmd, **kw):
    return sh('ip', 'netns', 'exec', space, *cmd, **kw)


class Link:
    """triplane with two IPoIB ports and two taps, forwarding between each pair."""

    taps = ['net_tap%d,iface=%s' % (i, tap) for i, tap in enumerate(TAPS)]
    card = ipoib = ''
    telemetry = False
    options = ('--tx-offloads', 'ipv4_cksum,udp_cksum,tcp_cksum')
    sm_options = ()
    lcores = '0@0,1@0'

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix='tpipoib')
        self.socket = os.path.join(self.dir, 'umad.sock')
        self.sm_log = os.path.join(self.dir, 'osm.log')
        self.env = dict(os.environ, LD_PRELOAD=PRELOAD, TP_UMAD_SOCKET=self.socket, OSM_CACHE_DIR=self.dir,
                        OSM_TMP_DIR=self.dir)
        self.sm = None
        vdevs = ['net_mlx4_model0,port0=ib,port1=ib,guid=0x%x%s' % (GUID - 1, self.card),
                 'net_ipoib0,port=net_mlx4_model0/1' + self.ipoib, self.taps[0],
                 'net_ipoib1,port=net_mlx4_model0/2' + self.ipoib, self.taps[1]]
        cmd = [APP] + tpmd.eal('tpipoib%d' % ID, self.lcores, plugin=False) + ['--vdev=' + v for v in vdevs]
        if self.telemetry:
            cmd.remove('--no-telemetry')
        cmd += ['--', *self.options]
        self.log = os.path.join(self.dir, 'triplane.log')
        self.out = open(self.log, 'w')
        self.app = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT)
        self.say(tpmd.IDLE)
        self.say('ib umad on ' + self.socket)
        self.wait(lambda: os.path.exists(self.socket), 120, 'triplane serves no socket')
        self.say('start')

    def text(self):
        with open(self.log, errors='replace') as f:
            return f.read()

    def say(self, line):
        self.app.stdin.write((line + '\n').encode())
        self.app.stdin.flush()

    def ask(self, line):
        """A show command's answer."""
        def answers():
            return re.findall(r'^(?:triplane> )*(\{.*\})$', self.text(), re.M)
        before = len(answers())
        self.say(line + ' json')
        self.wait(lambda: len(answers()) > before, 120, 'no answer to ' + line)
        return json.loads(answers()[-1])

    def sm_text(self):
        try:
            with open(self.sm_log, errors='replace') as f:
                return f.read()
        except OSError:
            return 'no log of OpenSM'

    def wait(self, what, seconds, why):
        end = time.time() + seconds
        while not what():
            if time.time() > end or self.app.poll() is not None:
                raise RuntimeError('%s: %s; %s' % (why, self.text()[-300:], self.sm_text()[-300:]))
            time.sleep(0.05)

    def states(self):
        return [p['state'] for p in self.ask('show ipoib')['ports']]

    def start_sm(self):
        # A busy machine answers late, which must not look like a link that is gone.
        self.sm = subprocess.Popen(['opensm', '-g', '0x%016x' % GUID, '-f', self.sm_log, '-s', '2', '-t', '2000', *self.sm_options],
                                   env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)

    def stop_sm(self):
        if self.sm is None or self.sm.poll() is not None:
            return
        self.sm.send_signal(signal.SIGINT)
        try:
            self.sm.wait(60)
        except subprocess.TimeoutExpired:
            self.sm.kill()
            self.sm.wait()

    def spaces(self):
        for i, space in enumerate((A, B)):
            dev = TAPS[i]
            sh('ip', 'netns', 'add', space, check=True)
            sh('ip', 'link', 'set', dev, 'netns', space, check=True)
            tpmd.patient(space, dev)
            sh('ip', '-n', space, 'addr', 'add', '10.8.0.%d/24' % (i + 1), 'dev', dev, check=True)
            sh('ip', '-n', space, 'addr', 'add', 'fd00:8::%d/64' % (i + 1), 'dev', dev, 'nodad', check=True)
            sh('ip', '-n', space, 'link', 'set', dev, 'up', check=True)
            sh('ip', '-n', space, 'link', 'set', 'lo', 'up', check=True)

    def close(self):
        self.stop_sm()
        if self.app.poll() is None:
            try:
                self.app.communicate(b'stop\nquit\n', timeout=30)
            except subprocess.TimeoutExpired:
                self.app.kill()
                self.app.wait()
        self.out.close()
        for space in (A, B):
            sh('ip', 'netns', 'del', space)
        text = self.text()
        shutil.rmtree(self.dir, ignore_errors=True)
        return self.app.returncode, text


def ping(space, address, count=5, *more):
    """The first so many are answered, each of them. With a deadline ping waits for them; without one only two round trips."""
    rc, out = ns(space, 'ping', '-n', '-c', str(count), '-i', '0.2', '-w', '3' if count == 1 else '60', *more, address)
    seen = {int(n) for n in re.findall(r'_seq=(\d+) ttl=', out)}
    return None if rc == 0 and (count == 1 or seen >= set(range(1, count + 1))) else out[-300:]


def come_up(link):
    if link.states() != ['link-down', 'link-down']:
        return 'without a manager: %s' % link.states()
    link.start_sm()
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'ports do not come up')
    ports = link.ask('show ipoib')['ports']
    macs = [p['mac'].lower() for p in ports]
    # 0002c903 00a1b201 by the vendor's rule
    if macs != ['00:02:ca:a1:b2:01', '00:02:ca:a1:b2:02']:
        return 'MACs %s' % macs
    if [p['mtu'] for p in ports] != [2044, 2044] or ports[0]['qkey'] != '0x00000b1b':
        return 'numbers of the broadcast group: %s' % ports
    return None


def first_ping(link):
    link.spaces()
    bad = ping(A, '10.8.0.2')
    if bad:
        return bad
    # Each stack knows the other by the MAC of its GUID, and the tables have its hardware address.
    rc, out = sh('ip', '-n', A, 'neigh')
    remote = link.ask('show ipoib endpoints 0 remote')['remote']
    other = link.ask('show ipoib')['ports'][1]
    if '00:02:ca:a1:b2:02' not in out:
        return 'neighbours of Linux: ' + out
    if [(e['hardware_address'], e['state'], e['lid']) for e in remote] != [(other['hardware_address'], 'known', other['lid'])]:
        return 'remote endpoints %s, the other is %s' % (remote, other)
    return None


def ping6(link):
    return ping(A, 'fd00:8::2') or ping(B, 'fd00:8::1', 3, '-s', '1400')


def long_packets(link):
    return ping(A, '10.8.0.2', 3, '-s', '1472', '-M', 'do') or ping(A, '10.8.0.2', 3, '-s', '8000')


def iperf(link, *more, address='10.8.0.2', end=('-n', '20M')):
    server = subprocess.Popen(['ip', 'netns', 'exec', B, 'iperf3', '-s', '-1', '-J'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if b'5201' in subprocess.run(['ip', 'netns', 'exec', B, 'ss', '-ltn'], stdout=subprocess.PIPE).stdout:
                break
            time.sleep(0.1)
        rc, out = ns(A, 'iperf3', '-c', address, *end, '-J', *more)
    finally:
        server.terminate()
        server.wait()
    if rc != 0:
        return out[-300:]
    end = json.loads(out)['end']
    moved = end['sum_received' if 'sum_received' in end else 'sum']['bytes']
    return None if moved > 100000 else 'only %d octets arrived' % moved


def checksums(link):
    """What comes from the taps leaves with half a checksum, which the cards complete; the Linux stacks judge."""
    link.say('stop')
    link.say('set fwd csum 1,3')
    link.say('start')
    try:
        some = ('-n', '1M')
        # With a small window most of it has arrived when the last of it is written, and is counted.
        window = ('-w', '64K')
        return (ping(A, '10.8.0.2', 3) or iperf(link, *window, end=some) or iperf(link, '-u', '-b', '20M', end=some) or
                iperf(link, '-6', *window, address='fd00:8::2', end=some))
    finally:
        link.say('stop')
        link.say('set fwd io 1,3')
        link.say('start')


def multicast(link):
    """239.1.2.3 is heard by who reported it; 239.129.2.3 has the same MAC and is another group."""
    code = ('import socket,struct,sys\n'
            's=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n'
            's.bind(("",5000))\n'
            's.setsockopt(socket.IPPROTO_IP,socket.IP_ADD_MEMBERSHIP,socket.inet_aton("239.1.2.3")+socket.inet_aton("10.8.0.2"))\n'
            's.settimeout(120)\n'
            'print(s.recv(100).decode(),flush=True)\n')
    send = ('import socket,sys\n'
            's=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n'
            's.setsockopt(socket.IPPROTO_IP,socket.IP_MULTICAST_TTL,4)\n'
            's.setsockopt(socket.IPPROTO_IP,socket.IP_MULTICAST_IF,socket.inet_aton("10.8.0.1"))\n'
            's.sendto(sys.argv[2].encode(),(sys.argv[1],5000))\n')
    receiver = subprocess.Popen(['ip', 'netns', 'exec', B, '/usr/bin/python3', '-c', code], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    mgid = 'ff12401bffff0000000000000f010203'

    def joined():
        return any(e['mgid'] == mgid and e['receives'] for e in link.ask('show ipoib endpoints 2 multicast')['multicast'])
    try:
        link.wait(joined, 120, 'no membership by the report of the host')
        ns(A, '/usr/bin/python3', '-c', send, '239.129.2.3', 'wrong')
        for _ in range(60):
            ns(A, '/usr/bin/python3', '-c', send, '239.1.2.3', 'right')
            try:
                receiver.wait(1)
                break
            except subprocess.TimeoutExpired:
                continue
        out = receiver.communicate(timeout=60)[0].decode()
    finally:
        if receiver.poll() is None:
            receiver.kill()
            receiver.wait()
    return None if out.strip() == 'right' else out


def dhcp(link):
    """A real server behind one port, a real client behind the other."""
    if shutil.which('dnsmasq') is None or shutil.which('udhcpc') is None:
        return 'skip no dnsmasq or udhcpc'
    leases = os.path.join(link.dir, 'leases')
    script = os.path.join(link.dir, 'bound')
    with open(script, 'w') as f:
        f.write('#!/bin/sh\n[ "$1" = bound ] && echo "bound $ip"\nexit 0\n')
    os.chmod(script, 0o755)
    server = subprocess.Popen(['ip', 'netns', 'exec', B, 'dnsmasq', '-k', '-p', '0', '--user=root', '-i', TAPS[1], '-z',
                               '--dhcp-range=10.8.0.50,10.8.0.60,1h', '--dhcp-leasefile=' + leases, '--no-ping', '--conf-file=/dev/null',
                               '--pid-file='], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # It asks until the server is there.
        rc, out = ns(A, 'udhcpc', '-i', TAPS[0], '-n', '-q', '-f', '-t', '30', '-T', '2', '-s', script, timeout=120)
    finally:
        server.terminate()
        server.wait()
    if not re.search(r'bound 10\.8\.0\.(5\d|60)', out):
        return out[-300:]
    # The server saw the neighbour's MAC where IPoIB has none.
    with open(leases) as f:
        lease = f.read()
    return None if re.search(r'00:02:ca:a1:b2:01 10\.8\.0\.', lease) else 'lease: ' + lease


def bounce(link):
    """The port of the other side is disabled and enabled again: the link is seen down, and traffic resumes by itself."""
    if shutil.which('ibportstate') is None:
        return 'skip no ibportstate'
    cmd = ['ibportstate', '-C', 'net_mlx4_model0', '-P', '2', '-D', '0', '2']
    rc, out = sh(*cmd, 'disable', env=link.env)
    if rc != 0:
        return out[-300:]
    link.wait(lambda: 'up' not in link.states(), 120, 'the link stays up')
    rc, out = sh(*cmd, 'enable', env=link.env)
    if rc != 0:
        return out[-300:]
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'the link does not come back')
    return ping(A, '10.8.0.2', 5)


def manager_again(link):
    """Another manager takes over: everybody registers anew, nothing is lost for long."""
    link.stop_sm()
    bad = ping(A, '10.8.0.2', 3)
    if bad:
        return 'without a manager: ' + bad
    link.start_sm()
    link.wait(lambda: 'SMINFO_MASTER' in sh('sminfo', env=link.env)[1], 120, 'no manager again')
    link.wait(lambda: link.states() == ['up', 'up'], 120, 'not up again')
    return ping(A, 'fd00:8::2', 3) or ping(B, '10.8.0.1', 3)


def drops(link, port):
    """Its counters, and what it dropped but for what everybody drops at the beginning."""
    c = link.ask('show ipoib counters %d' % port)
    bad = {k: v for k, v in c.items() if v and k.startswith('drop_') and k not in (
        'drop_tx_down', 'drop_tx_no_member', 'drop_tx_no_path', 'drop_tx_no_neighbour', 'drop_rx_own')}
    return c, 'port %d drops %s %s' % (port, bad, re.findall('packet of type.*', link.text())) if bad else None


def counted(link):
    for port in (0, 2):
        c, bad = drops(link, port)
        if bad:
            return bad
        if c['rx_arp'] == 0 or c['rx_nd'] == 0 or c['tx_control_sent'] == 0:
            return 'port %d: %s' % (port, c)
    return None


def at_run_time(link):
    """Made and removed while others forward; what is refused says why."""
    link.say('ipoib add net_mlx4_model0/1 pkey 65535')
    link.say('ipoib add net_mlx4_model0/7')
    link.say('ipoib add net_mlx4_model0/1 pkey 32768')
    link.say('ipoib add net_mlx4_model0/1 pkey 0x8005')
    link.wait(lambda: 'port 4' in link.text(), 120, 'no new port')
    link.say('stop')
    link.say('port start 4')
    link.wait(lambda: any(p['state'] == 'no-pkey' for p in link.ask('show ipoib')['ports']), 120, 'a P_Key that nobody has works')
    link.say('ipoib rem 1')
    link.say('ipoib rem 4')
    link.wait(lambda: len(link.states()) == 2, 120, 'the port does not go')
    link.say('start')
    for want in ('has an IPoIB port of P_Key 0xffff', 'no IPoIB port on net_mlx4_model0/7', 'bits 0 to 14 are 0',
                 'port 1 is no IPoIB port'):
        if want not in link.text():
            return 'not said: ' + want
    return ping(A, '10.8.0.2', 3)


def guids(link):
    link.say('ipoib guid2mac 0002c90200123456')
    link.say('ipoib guid2mac aabbcc0000000001')
    link.say('ipoib guid2mac 0')
    link.say('ipoib guid2mac aabbcc0000000001 mask 0x7f')
    link.say('ipoib guid2mac x')
    for want in ('00:02:C9:12:34:56', 'suggested_mask: 0xe7', 'give the port one of your own', 'mask 0x7f: six of eight',
                 "guid 'x' is not"):
        link.wait(lambda: want in link.text(), 120, 'not said: ' + want)
    return None


if __name__ == '__main__':
    run_cases('ipoib', ('opensm',), Link, Link.close, (
        ('come-up', come_up), ('ping', first_ping), ('ping6', ping6), ('long-packets', long_packets), ('tcp', iperf),
        ('udp', iperf, '-u', '-b', '20M'), ('checksums', checksums), ('multicast', multicast), ('dhcp', dhcp),
        ('link-bounce', bounce), ('manager-again', manager_again), ('run-time', at_run_time), ('guid2mac', guids),
        ('counters', counted)), REFUSED)
