#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""RoCE by the commands of triplane, beside forwarding: what one end says that it sent, the other end has."""
import ipaddress
import json
import os
import subprocess
import tempfile
import time

import tpmd

cases = tpmd.Cases()
APP = os.path.join(os.environ['TP_BUILD'], 'apps/triplane')
MODEL = ['net_mlx4_model0']


def eal(name, vdevs):
    return [APP] + tpmd.eal('tproce%s%d' % (name, os.getpid()), plugin=False, memory=512) + ['--vdev=' + v for v in vdevs]


def triplane(vdevs, commands, args=()):
    p = subprocess.run(eal('', vdevs) + ['--', '--json', '-e', '; '.join(commands)] + list(args),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=180)
    return p.returncode, p.stdout.decode(errors='replace'), p.stderr.decode(errors='replace')


def documents(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith('{')]


def last(out, key, n=1):
    """The n-th document from the end that has this member."""
    return [d[key] for d in documents(out) if key in d][-n]


def both(provider, fwd=('rxonly', 'rxonly')):
    return ['roce 0 on v2 %s' % provider, 'roce 1 on v2 %s' % provider, 'roce addr add 0 192.0.2.1/24',
            'roce addr add 1 192.0.2.2/24', 'set fwd %s 0' % fwd[0], 'set fwd %s 1' % fwd[1], 'start']


def qp_of(ports, port, qp=0):
    return [q for q in ports[port]['qps'] if q['qp'] == qp][0]


def expect(found, wanted):
    wrong = {k: (found.get(k), v) for k, v in wanted.items() if found.get(k) != v}
    return 'found, wanted: %s in %s' % (wrong, found) if wrong else None


class Session(tpmd.Triplane):
    """A triplane that was told these lines. What a receiver has counted when its sender is done, it has yet to show."""

    def __init__(self, vdevs, lines):
        super().__init__(vdevs, memory=512)
        for line in lines:
            self.tell(line)

    def qps(self, *received):
        """All queue pairs, when each (port, queue pair, messages) has received so many; or as they are in the end."""
        end = time.monotonic() + 60
        while True:
            ports = self.ask('show roce qp all', 300)['ports']
            if all(qp_of(ports, p, q)['rx_messages'] >= n for p, q, n in received) or time.monotonic() > end:
                return ports
            time.sleep(0.05)


def connected(provider):
    with Session(MODEL, both(provider) + [
            'roce qp create 0 rc 10000 32', 'roce qp create 1 rc 10000 32', 'roce qp pair 0 0 1 0',
            'roce traffic start 0 0 send 10000 0 3000', 'roce traffic wait 0 0 60',
            'roce traffic start 1 0 write 9999 0 1000', 'roce traffic wait 1 0 60',
            'roce traffic start 1 0 read 1 0 500', 'roce traffic wait 1 0 60']) as t:
        first = t.qps((1, 0, 3000))
        for line in ('roce qp modify 0 0 reset', 'roce qp modify 1 0 reset', 'roce qp pair 0 0 1 0',
                     'roce traffic start 1 0 send 100 2000 400', 'roce traffic wait 1 0 60'):
            t.tell(line)
        second = t.qps((0, 0, 400))
        model = t.ask('show model')['ports']
        t.end()
    if any(p['violations'] for p in model):
        return str(model)
    return (expect(qp_of(first, 0), {'state': 'rts', 'tx_messages': 3000, 'tx_bytes': 30000000, 'rx_messages': 0, 'errors': 0})
            or expect(qp_of(first, 1), {'rx_messages': 3000, 'rx_bytes': 30000000, 'rx_lost': 0, 'rx_late': 0,
                                        'tx_messages': 1500, 'tx_bytes': 9999500, 'errors': 0})
            or expect(qp_of(second, 0), {'rx_messages': 400, 'rx_bytes': 40000, 'rx_lost': 0, 'errors': 0})
            # 400 messages at 2000 a second take 0.2 s at the least
            or (None if qp_of(second, 1)['traffic']['seconds'] >= 0.19 else str(qp_of(second, 1))))


def counter(t, port, name):
    """A counter of the port's transport, under the name that both homes have for it."""
    stats = [r for r in t.ask('show roce stats %d' % port)['ports'] if r['port'] == port][0]['counters']
    return stats[name]


def datagrams(provider):
    """All come; what found no receive request is in the transport's counter. None is late."""
    with Session(MODEL, both(provider) + [
            'roce qp create 0 ud 1000', 'roce qp create 1 ud 1000', 'roce qp create 0 uc 3000', 'roce qp create 1 uc 3000',
            'roce qp pair 0 0 1 0', 'roce qp pair 0 1 1 1',
            'roce traffic start 0 0 send 1000 1000 200', 'roce traffic wait 0 0 60',
            'roce traffic start 1 1 send 3000 1000 200', 'roce traffic wait 1 1 60']) as t:
        def through():
            ports = t.ask('show roce qp all', 300)['ports']
            ud = qp_of(ports, 1, 0)['rx_messages'] + counter(t, 1, 'resp_ud_dropped')
            uc, dropped = qp_of(ports, 0, 1)['rx_messages'], counter(t, 0, 'resp_uc_dropped')
            return ud == 200 and (uc == 200 or uc + dropped >= 200)
        if not tpmd.wait_until(through):
            return '%s %s %s' % (t.ask('show roce qp all'), t.ask('show roce stats 0'), t.ask('show roce stats 1'))
        ports = t.qps()
        t.end()
    for port, qp in ((1, 0), (0, 1)):
        q = qp_of(ports, port, qp)
        if q['rx_messages'] == 0 or q['rx_late'] or q['errors']:
            return str(q)
    return None


def stopped(provider):
    """Traffic without an end stops when told so, and goes on when it is started anew; a cable that is pulled is an event."""
    with Session(MODEL, both(provider) + ['roce qp create 0 rc 1000', 'roce qp create 1 rc 1000', 'roce qp pair 0 0 1 0',
                                          'roce traffic start 0 0 send 1000']) as t:
        def sent():
            return qp_of(t.ask('show roce qp all')['ports'], 0)['tx_messages']
        if not tpmd.wait_until(lambda: sent() > 100):
            return 'no traffic: %d' % sent()
        t.tell('roce traffic stop 0 0')
        before = sent()
        for line in ('roce traffic start 1 0 send 1000 0 500', 'roce traffic wait 1 0 60'):
            t.tell(line)
        if sent() != before:
            return '%d messages, %d after it was stopped' % (sent(), before)
        t.tell('model cable 0 out')
        seen = []

        def events():
            seen.extend(e['event'] for p in t.ask('show roce events 0')['ports'] for e in p['events'])
            return seen
        if not tpmd.wait_until(lambda: any('port' in e.lower() for e in events())):
            return 'events: %s' % seen
        t.end()
    return None


def lossy_wire(provider):
    """Of a hundred frames two are lost, by the card's own count; no message is."""
    with Session(['net_mlx4_model0,impair0=drop:20000/seed:7,impair1=drop:20000/seed:8'], both(provider) + [
            'roce qp create 0 rc 4096 16', 'roce qp create 1 rc 4096 16', 'roce qp pair 0 0 1 0',
            'roce traffic start 0 0 send 4096 0 400', 'roce traffic wait 0 0 120']) as t:
        ports, model = t.qps((1, 0, 400)), t.ask('show model')['ports']
        t.end()
    return (expect(qp_of(ports, 1), {'rx_messages': 400, 'rx_lost': 0, 'rx_late': 0, 'errors': 0})
            or (None if sum(p['impair_drops'] for p in model) > 0 else 'no frame was lost: %s' % model))


def tshark(path, filt, *fields):
    cmd = ['tshark', '-n', '--disable-protocol', 'rpcordma', '--disable-protocol', 'smb_direct', '--disable-protocol', 'nvme-rdma',
           '-r', path, '-Y', filt, '-T', 'fields'] + [x for f in fields for x in ('-e', f)]
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True).stdout.decode().split()


def captured(provider):
    """tshark reads each message's packets in the file, on the ports that forward, too, and finds nothing malformed."""
    with tempfile.TemporaryDirectory(prefix='tproce') as tmp:
        path = os.path.join(tmp, 'a.pcapng')
        rc, out, err = triplane(MODEL, both(provider, ('flowgen', 'rxonly')) + [
            'roce capture start 0 %s' % path, 'roce qp create 0 rc 3000', 'roce qp create 1 rc 3000', 'roce qp pair 0 0 1 0',
            'roce traffic start 0 0 send 3000 1000 100', 'roce traffic wait 0 0 60', 'roce traffic start 0 0 read 900 1000 50',
            'roce traffic wait 0 0 60', 'roce capture stop 0', 'show roce stats 0'])
        if rc != 0:
            return err[-400:]
        if tshark(path, '_ws.malformed || !infiniband', 'frame.number'):
            return 'malformed, or not of RoCE'
        ops = tshark(path, 'infiniband', 'infiniband.bth.opcode')
        psns = tshark(path, 'infiniband', 'infiniband.bth.psn')
        want = {'0': 100, '1': 100, '2': 100, '12': 50, '16': 50}
        # What was not acknowledged in time went twice, with the same number.
        once = [op for op, _ in set(zip(ops, psns))]
        found = {k: once.count(k) for k in want}
        if last(out, 'lost') != 0 or last(out, 'packets') != len(ops) or len(psns) != len(ops):
            return '%s packets and %s lost, %d in the file' % (last(out, 'packets'), last(out, 'lost'), len(ops))
        return None if found == want else 'opcodes %s' % found


def bad_captures():
    """Each refusal names what is wrong, and nothing is left to stop."""
    for cmds, text in ((['roce capture start 0 /nowhere/x.pcapng'], "/nowhere/x.pcapng: No such file"),
                       (['roce capture stop 0'], 'no capture runs'),
                       (['roce capture start 0 /dev/null', 'roce capture start 0 /dev/null'], "a capture runs; 'roce capture stop 0' first"),
                       (['roce capture start 0 /dev/null 63'], '64..4352'), (['roce 0 off', 'roce capture stop 0'], 'RoCE is off')):
        rc, _, err = triplane(MODEL, ['roce 0 on v2 sw'] + cmds)
        if rc == 0 or text not in err:
            return '%s: %s' % (cmds, err[-300:])
    return None


def beside_forwarding(provider):
    """Generated flows go to the other port and come back while messages pass on the same ports; the links bound both."""
    with Session(['net_mlx4_model0,rate0=400,rate1=800'], both(provider, ('flowgen', 'macswap')) + [
            'roce qp create 0 rc 4096', 'roce qp create 1 rc 4096', 'roce qp pair 0 0 1 0',
            'roce traffic start 0 0 send 4096 2000 1000', 'roce traffic wait 0 0 120']) as t:
        ports = t.qps((1, 0, 1000))
        t.tell('stop')
        streams = t.ask('show summary')['streams']
        t.end()
    for s in streams:
        if s['rx_packets'] == 0 or s['tx_packets'] == 0:
            return str(streams)
    if len(streams) != 2:
        return 'RoCE is in the table of streams: %s' % streams
    return expect(qp_of(ports, 1),
                  {'rx_messages': 1000, 'rx_bytes': 4096000, 'rx_lost': 0, 'errors': 0})


def addresses():
    """Declared while off, they are there when it is on, again after the port stopped, and go one by one."""
    rc, out, err = triplane(MODEL, [
        'roce addr add 0 192.0.2.1/24', 'roce addr add 0 2001:db8::1/64', 'roce 0 on v2 sw', 'show roce gid 0',
        'roce addr del 0 192.0.2.1', 'roce addr add 0 198.51.100.7/25 vlan 7', 'port stop 0', 'port start 0',
        'show roce gid 0', 'roce 0 off', 'roce 0 on v1', 'show roce gid 0', 'roce 0 off', 'show roce gid 0'])
    if rc != 0:
        return err[-400:]
    v2 = [sorted({g['gid'] for g in d['ports'][0].get('gids', []) if not g['gid'].startswith('fe80')})
          for d in documents(out) if 'gids' in d['ports'][0] or not d['ports'][0].get('on', True)]
    wanted = [['192.0.2.1', '2001:db8::1'], ['198.51.100.7', '2001:db8::1'], ['198.51.100.7', '2001:db8::1'], []]
    return None if v2[:4] == wanted else '%s, wanted %s' % (v2, wanted)


REFUSED = [
    ('roce qp create 0 rc', 'RoCE is off'),
    ('roce 0 on v2 sw; roce 0 on', 'is on'),
    ('roce 0 on v2 sw; set roce 0 mtu 512', 'roce 0 off'),
    ('set roce 0 dscp 64', '0..63'),
    ('set roce 0 mtu 1000; roce 0 on v2 sw', '256, 512, 1024'),
    ('roce addr add 0 192.0.2.1', 'prefix'),
    ('roce addr add 0 192.0.2.x/24', 'ADDRESS/LENGTH'),
    ('roce addr add 0 192.0.2.1/24; roce addr add 0 192.0.2.1/24', 'already'),
    ('roce addr del 0 192.0.2.1', 'was not given'),
    ('roce gateway 0 192.0.2.1/24', 'without a length'),
    ('roce 0 on v2 sw; roce qp create 0 rc 1048577', '1..1048576'),
    ('roce 0 on v2 sw; roce qp destroy 0 3', 'no queue pair 3'),
    ('roce 0 on v2 sw; roce qp create 0 rc; roce qp connect 0 0 192.0.2.9 5', "'start' first"),
    ('roce 0 on v2 sw; roce qp create 0 rc; start; roce qp connect 0 0 192.0.2.9 5', 'no address to reach 192.0.2.9'),
    ('roce 0 on v2 sw; roce qp create 0 rc; start; roce qp connect 0 0 192.0.2 5', 'address or GID'),
    ('roce 0 on v2 sw; roce qp create 0 rc; start; roce traffic start 0 0 send 10', 'has no peer'),
    ('roce 0 on v2 sw; roce 1 on v2 sw; roce qp create 0 rc; roce qp create 1 uc; start; roce qp pair 0 0 1 0',
     'different types'),
    ('roce 0 on v2 sw; roce 1 on v2 sw; roce qp create 0 ud 8192; roce qp create 1 ud 8192; start; roce qp pair 0 0 1 0; '
     'roce traffic start 0 0 send 8000', 'want 1..1024'),
    ('roce 0 on v2 sw; roce 1 on v2 sw; roce qp create 0 ud 64; roce qp create 1 ud 64; start; roce qp pair 0 0 1 0; '
     'roce traffic start 0 0 read 64', 'send only'),
    ('roce 0 on v2 sw; start; roce 0 off', 'forwarding runs'),
]


def refused():
    for commands, words in REFUSED:
        rc, _, err = triplane(MODEL, [commands])
        lines = [line for line in err.splitlines() if line.startswith('error: ') or 'roce: ' in line]
        if rc != 1 or not any(words in line for line in lines):
            return '%s: exit code %d, wanted a line with "%s": %s' % (commands, rc, words, err[-300:])
    return None


class Peer:
    """A triplane of its own that is told commands one by one."""

    def __init__(self, name, vdev):
        self.p = subprocess.Popen(eal(name, [vdev]) + ['--', '--json', '-i'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, bufsize=1)

    def tell(self, *commands):
        for c in commands:
            self.p.stdin.write(c + '\n')
        self.p.stdin.flush()

    def ask(self, command):
        self.tell(command)
        while True:
            line = self.p.stdout.readline()
            if line == '':
                raise EOFError(self.p.stderr.read()[-400:])
            at = line.find('{')
            if at >= 0:
                return json.loads(line[at:])

    def end(self):
        try:
            out, err = self.p.communicate('quit\n', timeout=60)
        except subprocess.TimeoutExpired:
            self.p.kill()
            out, err = self.p.communicate()
        return self.p.returncode, err


def other_program():
    """Two programs on cards of a third: one connects by the other's address and number, and writes to its memory."""
    with tempfile.TemporaryDirectory() as d:
        sock = [os.path.join(d, 'card%d' % i) for i in range(2)]
        hca = subprocess.Popen([os.path.join(os.environ['TP_BUILD'], 'apps/triplane-hca/triplane-hca')] +
                               [a for s in sock for a in ('--card', 'socket=%s,ports=1,wire0=switch:roce' % s)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not all(os.path.exists(s) for s in sock) and hca.poll() is None:
            time.sleep(0.05)
        ends = [Peer('peer%d' % i, 'net_mlx4_user0,socket=%s' % s) for i, s in enumerate(sock)]
        try:
            for i, e in enumerate(ends):
                e.tell('roce 0 on v2 sw', 'roce addr add 0 192.0.2.%d/24' % (i + 1), 'set fwd rxonly', 'start')
            qps = []
            for e in ends:
                e.ask('roce qp create 0 rc 2000')
                qps.append(qp_of(e.ask('show roce qp 0')['ports'], 0))
            for e in ends:
                e.tell('wait link up 0 20')
            for i, e in enumerate(ends):
                o = qps[1 - i]
                e.tell('roce qp connect 0 0 192.0.2.%d %d %d %d' % (2 - i, o['qpn'], 100 + i, 101 - i),
                       'roce qp remote 0 0 %d %d' % (o['address'], o['rkey']))
            ends[1].ask('show roce qp 0')
            ends[0].tell('roce traffic start 0 0 send 2000 0 1000', 'roce traffic wait 0 0 60',
                         'roce traffic start 0 0 write 2000 0 300', 'roce traffic wait 0 0 60')
            sender = qp_of(ends[0].ask('show roce qp 0')['ports'], 0)
            receiver = qp_of(ends[1].ask('show roce qp 0')['ports'], 0)
        except EOFError as e:
            return 'a program ended: %s' % e
        finally:
            results = [e.end() for e in ends]
            hca.terminate()
            hca.wait()
    if any(rc != 0 for rc, _ in results):
        return str(results)
    return (expect(sender, {'tx_messages': 1300, 'errors': 0, 'peer': {'gid': '192.0.2.2', 'qpn': qps[1]['qpn']}})
            or expect(receiver, {'rx_messages': 1000, 'rx_bytes': 2000000, 'rx_lost': 0, 'errors': 0}))


def providers():
    """Software everywhere, and the card where it offers a transport."""
    _, out, _ = triplane(MODEL, ['roce 0 on', 'show roce devices'])
    best = [d.get('provider') for d in last(out, 'devices') if d['port'] == 0][0]
    return sorted({'sw', best})


def link_local(mac):
    """The GID of a MAC: the modified EUI-64 behind fe80::/64 (RFC 4291, appendix A)."""
    o = bytes.fromhex(mac.replace(':', ''))
    return str(ipaddress.IPv6Address(b'\xfe\x80' + bytes(6) + bytes([o[0] ^ 2]) + o[1:3] + b'\xff\xfe' + o[3:]))


def report():
    """What the card's report says of RoCE: mode, GIDs, P_Key and width, as it is opened, in both versions, and closed."""
    with tpmd.Triplane(MODEL, telemetry=True, memory=512) as t:
        for mode, versions in (('v2', (1, 2)), ('v1', (1,))):
            t.tell('roce 0 on %s mlx4' % mode)
            if mode == 'v2':  # the port keeps it
                t.tell('roce addr add 0 192.0.2.1/24')
            t.tell('wait link up all 60')
            d = t.ask('show device 0')['ports'][0]
            want = {(a, v) for a in (link_local(d['mac']), str(ipaddress.IPv6Address('::ffff:192.0.2.1'))) for v in versions}
            found = {(str(ipaddress.IPv6Address(g['gid'])), g['roce_version']) for g in d['gids']}
            if d['roce_mode'] != mode or found != want or [int(k['pkey'], 16) for k in d['pkeys']] != [0xffff] or d['width'] != '4X':
                return '%s, wanted GIDs %s' % (d, want)
            tel = t.tel('/mlx4/info,0')
            told = {(str(ipaddress.IPv6Address(g.split()[2])), int(g.split()[1][1:])) for g in tel['gids']}
            if tel['roce_mode'] != mode or told != want or tel['width'] != '4X':
                return 'telemetry: %s' % tel
            t.tell('roce 0 off')
            d = t.ask('show device 0')['ports'][0]
            if d['roce_mode'] != 'off' or d['gids'] or d['pkeys']:
                return 'off: %s' % d
        t.tell('model cable 0 out')
        if not tpmd.wait_until(lambda: t.ask('show device 0')['ports'][0]['width'] == 'none'):
            return 'without a cable: %s' % t.ask('show device 0')
        t.end()
    return None


for who in providers():
    for name, fn in (('connected', connected), ('datagrams', datagrams), ('lossy-wire', lossy_wire), ('stopped', stopped),
                     ('beside-forwarding', beside_forwarding), ('captured', captured)):
        cases.run('roce-cli-%s-%s' % (name, who), lambda f=fn, w=who: f(w))
cases.run('roce-cli-report', report)
cases.run('roce-cli-addresses', addresses)
cases.run('roce-cli-refused', refused)
cases.run('roce-cli-bad-captures', bad_captures)
cases.run('roce-cli-other-program', other_program)
cases.exit()
